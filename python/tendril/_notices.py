"""Lines of notices and errors of the commands in Python. Their codes are those of the program:
docs/reference/messages.md."""

from __future__ import annotations

import re
import subprocess

from tendril._errors import ModelError
from tendril._program import find_program

EXIT_USAGE, EXIT_OUTPUT = 2, 4
_OTHER = {EXIT_USAGE: "bad-input", EXIT_OUTPUT: "input-output"}
_WITH_CODE = re.compile(r" \[[a-z]+(-[a-z]+)*\]$")


def notice(code: str, text: str) -> str:
    """Returns the line of a notice, which ends with its code."""
    return f"tendril: notice: {text} [{code}]"


def error_line(error: object, exit_code: int) -> str:
    """Returns the line of an error, which ends with its code. What the program has said has one already."""
    text = " ".join(str(error).split())
    return f"tendril: {text}" if _WITH_CODE.search(text) else f"tendril: {text} [{_code_of(text, exit_code)}]"


def _code_of(text: str, exit_code: int) -> str:
    """The program knows errors by their words."""
    other = _OTHER[exit_code]
    try:
        command = [find_program(), "explain", f"error: {text}"]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=10, check=True)
    except (ModelError, OSError, ValueError, subprocess.SubprocessError):
        return other
    code = done.stdout.partition(" ")[0]
    return other if code in ("", *_OTHER.values()) else code
