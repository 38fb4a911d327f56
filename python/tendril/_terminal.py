"""Text on a terminal: what a file or a recording says must not move the cursor, set titles or turn the direction of
what follows. Standard library alone."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any

#: As in tendril/visible_text.cpp: control characters but line breaks and tabs, those without width or that turn the
#: direction of text, and bytes that were no text.
_HIDDEN = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    """The text with escapes, such as `\\\\u001b`, for hidden characters."""
    return _HIDDEN.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if 0xDC80 <= code <= 0xDCFF:  # a byte of the file system's names, or of the command line
        return f"\\x{code - 0xDC00:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


class VisibleStream:
    """A text stream in which hidden characters are escaped."""

    def __init__(self, stream: IO[str], before: Callable[[], None] = lambda: None) -> None:
        """@param before  called before every write"""
        self._stream, self._before = stream, before

    def write(self, text: str) -> int:
        self._before()
        self._stream.write(visible(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def visible_streams(before: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Meanwhile all that is printed is visible, and `before` is called first."""
    out, errors = VisibleStream(sys.stdout, before), VisibleStream(sys.stderr, before)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        yield
