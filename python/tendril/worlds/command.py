"""`tendril worlds`: many runs of an experiment at once, and what became of some of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tendril._command import make_parser
from tendril._errors import ModelError
from tendril.worlds import require_warp


def main(words: Sequence[str]) -> int:
    """`tendril worlds`."""
    command = make_parser(
        "worlds",
        "Steps many runs of an experiment at once by MuJoCo Warp (docs/guide/worlds.md).",
        "Exit codes: 0 no world diverged or overflowed, and those of --judge pass; 1 some did not; 2 bad input\n"
        "Example: tendril worlds scenes/reach/reach.toml --count 16 --judge 0 1 --check-in-c --out out/worlds",
    )
    command.add_argument("experiment", type=Path, help="experiment, scene or robot file")
    command.add_argument("--count", type=int, default=16, help="worlds; world i has the draws of seed + i [16]")
    command.add_argument("--device", help="such as cpu or cuda:0 [a GPU if there is one]")
    command.add_argument("--seed", type=int, help="of the first world [that of the experiment]")
    command.add_argument("--duration", type=float, help="simulated time, s [that of the experiment]")
    command.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting; may be repeated")
    for option, what in (("--contacts", "contacts"), ("--constraints", "constraint rows")):
        command.add_argument(option, type=int, help=f"room for {what} in each world [by the geoms that move]")
    command.add_argument("--solver", help="of constraints: newton or cg [newton, but cg for a snake with scales]")
    command.add_argument("--judge", type=int, nargs="+", default=[], metavar="WORLD", help="tell checks and verdict")
    command.add_argument("--out", type=Path, help="folder for recordings of the judged worlds, worldN.h5")
    command.add_argument("--check-in-c", action="store_true", help="tell how far judged worlds are from the C engine")
    command.add_argument("--quiet", action="store_true", help="no progress")
    options = command.parse_args(words)
    if not options.judge and (options.out or options.check_in_c):
        raise ModelError("--judge: must name worlds for --out and --check-in-c")
    if options.out is not None and options.out.exists() and not options.out.is_dir():
        raise ModelError(f"--out: {options.out}: is a file: must be a folder")
    require_warp()
    from tendril.worlds.judged_run import run

    return run(options)
