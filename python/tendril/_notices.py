"""Notices of the commands in Python. Their codes are those of the program: docs/reference/messages.md."""

from __future__ import annotations


def notice(code: str, text: str) -> str:
    """Returns the line of a notice, which ends with its code."""
    return f"tendril: notice: {text} [{code}]"
