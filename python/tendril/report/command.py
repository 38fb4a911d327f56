"""`tendril plot`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from tendril._command import make_parser, require_module
from tendril.recording import Recording
from tendril.report.figure import check_output


def main(words: Sequence[str]) -> int:
    """The exit code of `tendril plot WORDS`."""
    parser = make_parser(
        "plot",
        "Draws sensors of a recording over time (docs/guide/plots.md).",
        "Example: tendril plot out/tube_insertion/rollout.h5 'arm_*_error' -o errors.png\n"
        "Exit codes: 0 done, 2 bad input, 4 input or output failed",
    )
    parser.add_argument("file", type=Path, help="recording (.h5), finished or not")
    parser.add_argument(
        "sensors", nargs="*", metavar="SENSOR", help="names or patterns; wall_force; penetration [tip and path errors]"
    )
    parser.add_argument(
        "--compare", type=Path, action="append", default=[], metavar="FILE", help="another recording; may be repeated"
    )
    parser.add_argument("-o", "--output", type=Path, help=".png, .svg or .pdf [plot.png next to the recording]")
    parser.add_argument("--quiet", action="store_true", help="print nothing")
    options = parser.parse_args(words)
    out = options.output or options.file.with_name("plot.png")
    check_output(out)
    require_module("matplotlib", "report", "plot")
    import matplotlib

    matplotlib.use("Agg")
    with ExitStack() as stack:
        first, *others = [stack.enter_context(Recording(file)) for file in (options.file, *options.compare)]
        first.plot(*options.sensors, compare=others, out=out)
    if not options.quiet:
        print(shlex.quote(str(out)))
    return 0
