"""Names of two paths."""

from __future__ import annotations

from pathlib import Path

from tendril._errors import ModelError


def names_of(first: Path, second: Path) -> tuple[str, str]:
    """Returns what tells the two paths apart: their ends."""
    a, b = first.absolute().parts, second.absolute().parts
    for length in range(1, max(len(a), len(b)) + 1):
        if a[-length:] != b[-length:]:
            return "/".join(a[-length:]), "/".join(b[-length:])
    raise ModelError(f"{second}: is compared with itself")
