"""The known name that a misspelled one may mean. Standard library alone."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

_LEAST_LIKE = 0.7  #: of difflib, 1: the same word
_LEAST_PREFIX = 3  #: letters


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Returns the known name that is most like a misspelled one; without such a name the shortest that shares a
    prefix."""
    names = list(known)
    found = difflib.get_close_matches(name, names, 1, _LEAST_LIKE)
    found += sorted((one for one in names if _share_prefix(name, one)), key=len)
    return found[0] if found else None


def meant(name: str, known: Iterable[str]) -> str:
    """Returns ` (did you mean NAME?)`, or nothing if no known name is near."""
    found = nearest(name, known)
    return f" (did you mean {found}?)" if found else ""


def meant_or_all(name: str, known: Sequence[str]) -> str:
    """Returns the end of a message: the known name that is most like it, else all of them."""
    found = nearest(name, known)
    return f"did you mean {found}?" if found else f"must be one of {', '.join(known)}"


def _share_prefix(one: str, other: str) -> bool:
    return min(len(one), len(other)) >= _LEAST_PREFIX and (one.startswith(other) or other.startswith(one))
