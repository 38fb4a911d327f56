"""Progress of commands: one line on a terminal, nothing elsewhere. Standard library alone."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

from tendril._terminal import visible

_CLEAR = "\r\033[K"
_INTERVAL = 0.1  # s between two lines
_PATIENCE = 1.0  # s before the first line of `waiting`
_WIDTH = 100  # characters


class Line:
    """The line; as it is cleared with an escape, it is written past streams that escape what they are given."""

    def __init__(self, quiet: bool = False, stream: IO[str] | None = None) -> None:
        self._stream: IO[str] = stream or sys.__stderr__ or sys.stderr
        self.shown = not quiet and self._stream.isatty()  #: whether there is a terminal to show it
        self._last = 0.0

    def show(self, text: str, is_last: bool = False) -> None:
        """Shows a text in place of the last one, unless that is too new; the last text is always shown."""
        now = time.monotonic()
        if self.shown and (is_last or now - self._last >= _INTERVAL):
            self._last = now
            self._write(_CLEAR + visible(text.replace("\n", " "))[:_WIDTH])

    def clear(self) -> None:
        if self.shown:
            self._write(_CLEAR)

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


@contextmanager
def waiting(text: str, quiet: bool = False, stream: IO[str] | None = None) -> Iterator[Callable[[], None]]:
    """Meanwhile shows the text and how many seconds have passed, from the first second on.

    Yields a function that ends this, for what writes to the terminal.
    """
    line, begin, ended = Line(quiet, stream), time.monotonic(), threading.Event()

    def tell() -> None:
        wait = _PATIENCE
        while not ended.wait(wait):
            line.show(f"{text}: {time.monotonic() - begin:.0f} s")
            wait = _INTERVAL

    teller = threading.Thread(target=tell, daemon=True)

    def end() -> None:
        if not ended.is_set():
            ended.set()
            teller.join()
            line.clear()

    if not line.shown:
        yield lambda: None
        return
    teller.start()
    try:
        yield end
    finally:
        end()
