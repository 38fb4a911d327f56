"""`tendril compare A B`: two recordings or two sweeps on one page."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path

from tendril._command import make_parser
from tendril._errors import ModelError
from tendril._files import plain, refuse_inputs, write_atomically
from tendril.compare.recordings import compare_recordings
from tendril.compare.sweeps import compare_sweeps


def _recording_of(path: Path) -> Path:
    return path / "rollout.h5" if path.is_dir() else path


def main(words: Sequence[str]) -> int:
    """The exit code of `tendril compare WORDS`."""
    parser = make_parser(
        "compare",
        "Compares two recordings row by row, or two sweeps seed by seed, on one page.",
        "Example: tendril compare out/before-sweep out/after-sweep\n"
        "Exit codes: 0 done, 2 bad input, 4 input or output failed",
    )
    parser.add_argument("a", type=Path, help="recording, folder of a run, or folder of a sweep")
    parser.add_argument("b", type=Path, help="the same; a sweep b is said to be better or worse than a")
    parser.add_argument("-o", "--output", type=Path, default=Path("out/compare.html"), help="[out/compare.html]")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also writes all numbers of the page")
    options = parser.parse_args(words)
    both = (options.a, options.b)
    for path in both:
        if (path / "suite.json").is_file():
            raise ModelError(f"{path}: is the folder of a suite: name that of one of its experiments")
    sweeps = [(path / "sweep.json").is_file() for path in both]
    if sweeps[0] != sweeps[1]:
        raise ModelError(
            f"{both[sweeps.index(False)]}: is no folder of a sweep, and {both[sweeps.index(True)]} is one: must "
            "be two recordings or two sweeps"
        )
    for out in (options.output, options.json):
        refuse_inputs(out, *both)
    text, summary = compare_sweeps(*both) if sweeps[0] else compare_recordings(*map(_recording_of, both))
    options.output.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(options.output, text)
    if options.json:
        write_atomically(options.json, json.dumps(plain(summary), indent=1) + "\n")
    print(shlex.quote(str(options.output)))
    return 0
