"""The commands in Python: the list in `commands.txt`, which the program reads too. Standard library alone."""

from __future__ import annotations

from pathlib import Path


def packages() -> dict[str, str]:
    """The package of each command; its module `command` has `main`."""
    text = Path(__file__).with_name("commands.txt").read_text(encoding="utf-8")
    rows = [line.split() for line in text.splitlines() if not line.startswith("#")]
    return {row[0]: row[1] for row in rows}
