"""`tendril play`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from tendril._command import make_parser
from tendril._errors import ModelError
from tendril._files import refuse_inputs
from tendril._recorded import RecordedRun
from tendril.playback.page import page, write


def main(words: Sequence[str]) -> int:
    """`tendril play`."""

    command = make_parser(
        "play",
        "Writes a recording as a page that plays it in a browser: one file, which loads nothing.",
        "Example: tendril play out/tube_insertion/rollout.h5",
    )
    command.add_argument("file", type=Path, help="recording (.h5), finished or not")
    command.add_argument("-o", "--output", type=Path, help="page [play.html next to the recording]")
    command.add_argument("--fps", default="50", help="frames per second of the run, interpolated between")
    command.add_argument("--from", dest="start", metavar="S", help="start, s")
    command.add_argument("--to", dest="end", metavar="S", help="end, s")
    command.add_argument("--quiet", action="store_true", help="print nothing")
    options = command.parse_args(words)

    def number(name: str, text: str | None) -> float | None:
        try:
            value = None if text is None else float(text)
        except ValueError:
            value = math.nan
        if value is not None and not math.isfinite(value):
            raise ModelError(f"{name}: {text}: must be a number")
        return value

    fps = number("--fps", options.fps)
    assert fps is not None
    out = options.output or options.file.with_name("play.html")
    if out.suffix != ".html":
        raise ModelError(f'{out}: extension: "{out.suffix}": must be .html')
    refuse_inputs(out, options.file)
    with RecordedRun(options.file) as recording, recording.reading():
        text = page(recording, fps, number("--from", options.start), number("--to", options.end))
    write(out, text)
    if not options.quiet:
        print(f"{out}: {len(text.encode()) / 1000:.0f} kB: open it in a browser")
    return 0
