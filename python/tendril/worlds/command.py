"""`tendril worlds`: many runs of an experiment at once, and what became of some of them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import warp as wp

from tendril._command import make_parser
from tendril._errors import ModelError
from tendril._progress import Line
from tendril._settings import parse_setting
from tendril.worlds.worlds import Worlds

_FAILED = 1  # exit code
_PART = 50  # steps between two looks at the clock


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
    command.add_argument("--judge", type=int, nargs="+", default=[], metavar="WORLD", help="tell checks and verdict")
    command.add_argument("--out", type=Path, help="folder for recordings of the judged worlds, worldN.h5")
    command.add_argument("--check-in-c", action="store_true", help="tell how far judged worlds are from the C engine")
    command.add_argument("--quiet", action="store_true", help="no progress")
    options = command.parse_args(words)
    if not options.judge and (options.out or options.check_in_c):
        raise ModelError("--judge: must name worlds for --out and --check-in-c")
    if options.out is not None and options.out.exists() and not options.out.is_dir():
        raise ModelError(f"--out: {options.out}: is a file: must be a folder")
    wp.config.log_level = wp.LOG_WARNING  # says nothing of each kernel
    settings = dict(parse_setting(text) for text in options.set)
    worlds = Worlds(
        options.experiment, options.count, options.device, options.seed, settings, duration=options.duration
    )
    if options.judge:
        worlds.record(options.judge)
    rate = _run(worlds, options.quiet)
    diverged, overflowed = worlds.diverged.numpy() >= 0, worlds.overflow.numpy() != 0
    print(f"{worlds.count} worlds, {worlds.steps} steps each, on {worlds.device}: {rate:.3g} world steps/s")
    for flags, what in ((diverged, "diverged"), (overflowed, "overflowed: need more room for contacts")):
        if flags.any():
            print(f"{flags.sum()} worlds {what}: {', '.join(map(str, np.flatnonzero(flags)[:10]))}")
    passes = not (diverged.any() or overflowed.any())
    for world in options.judge:
        passes &= _judge(worlds, world, options.out, options.check_in_c)
    return 0 if passes else _FAILED


def _run(worlds: Worlds, quiet: bool) -> float:
    """Steps to the end, and returns world steps a second, without the first step, which compiles."""
    line = Line(quiet)
    line.show("worlds: the first step compiles the kernels")
    worlds.step()
    wp.synchronize_device(worlds.device)
    start = time.perf_counter()
    for done in range(1, worlds.steps, _PART):
        line.show(f"worlds: step {done} of {worlds.steps}")
        worlds.step(min(_PART, worlds.steps - done))
        wp.synchronize_device(worlds.device)
    line.clear()
    return worlds.count * (worlds.steps - 1) / max(time.perf_counter() - start, 1e-9)


def _judge(worlds: Worlds, world: int, out: Path | None, checks_in_c: bool) -> bool:
    file = None
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        file = out / f"world{world}.h5"
    result = worlds.result(world, file)
    said = [f"world {world}, seed {result.summary['seed']}: {result.verdict if result.passes else 'fail'}"]
    for check in result.checks:
        value = "no value" if check["value"] is None else f"{check['value']:.4g}"
        said.append(f"{check['name'] or check['metric']} = {value}")
    if checks_in_c:
        said.append(f"{worlds.distance_from_c(world).max():.1e} from C")
    print("; ".join([*said, *([str(file)] if file else [])]))
    return result.passes
