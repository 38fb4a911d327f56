"""JSON and TOML that anyone may have written: bounded in size and depth, and of the shape that the reader expects.

Everything that is not so raises ModelError, one line `where: what is wrong`. Standard library alone.
"""

from __future__ import annotations

import json
import math
import re
import stat
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from tendril._errors import ModelError

DEEPEST = 64  #: levels of tables and lists, as in the program
MOST_TOML = 1 << 20  #: bytes; a second of tomllib
MOST_JSON = 1 << 24  #: bytes
_LARGEST_INTEGER = 2**63
_MANY_DIGITS = re.compile(r"[0-9_]{19}")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_JSON_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
_TOML_TOKEN = re.compile(
    r'"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*(?:"{3,5}|\\?\Z)'
    r"|'''[^']*(?:'(?!'')[^']*)*(?:'{3,5}|\Z)"
    r'|"[^"\\\n]*(?:\\.[^"\\\n]*)*"?'
    r"|'[^'\n]*'?|\#[^\n]*|[.,\n\[\]{}]",
    re.DOTALL,
)


# ---- files ----------------------------------------------------------------------------------------------------------


def read_text(file: Path, most: int) -> str:
    """The text of a regular file of at most so many bytes."""
    try:
        status = file.stat()
        if not stat.S_ISREG(status.st_mode):  # reading would wait indefinitely, or not end
            what = "folder" if stat.S_ISDIR(status.st_mode) else "device or a pipe"
            raise ModelError(f"{file}: is a {what}: must be a readable file")
        with file.open("rb") as stream:
            content = stream.read(min(status.st_size or most, most) + 1)  # which is what it takes of memory
        if len(content) > most:
            raise ModelError(f"{file}: is larger than {most >> 20} MiB")
        return content.decode("utf-8")
    except (OSError, ValueError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"{file}: {getattr(error, 'strerror', None) or error}") from None


def read_json(file: Path, most: int = MOST_JSON) -> Any:
    return parse_json(read_text(file, most), file)


def read_toml(file: Path) -> dict[str, Any]:
    """The tables of a file, shared by all who read the same text: not to be changed."""
    return parse_toml(read_text(file, MOST_TOML), file)


# ---- texts ----------------------------------------------------------------------------------------------------------


def parse_json(text: str, where: object) -> Any:
    """The value of a JSON text, without NaN, infinities, duplicate names and integers of more than 64 bits."""
    if text.count("[") + text.count("{") > DEEPEST:
        _require_shallow_json(text, where)
    try:
        value = json.loads(
            text,
            parse_float=_finite,
            parse_constant=_finite,
            parse_int=_small if _MANY_DIGITS.search(text) else None,
            object_pairs_hook=_unique,
        )
        if _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()  # half a character cannot be written
        return value
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{where}: must be JSON: {_line(error)}") from None


def parse_toml(text: str, where: object) -> dict[str, Any]:
    """The tables of a TOML text, shared by all who read the same text: not to be changed."""
    if len(text) > MOST_TOML:
        raise ModelError(f"{where}: is larger than {MOST_TOML >> 20} MiB")
    _require_shallow_toml(text, where)
    try:
        return _toml_tables(text)
    except (ValueError, RecursionError) as error:  # that of a syntax error, of a date, of too many digits
        raise ModelError(f"{where}: {_line(error)}") from None


@lru_cache(maxsize=8)
def _toml_tables(text: str) -> dict[str, Any]:
    tables = tomllib.loads(text)
    if _MANY_DIGITS.search(text):
        _require_small(tables)
    return tables


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]}: must be finite")
    return value


def _small(text: str) -> int:
    value = int(text)
    if not -_LARGEST_INTEGER <= value < 2 * _LARGEST_INTEGER:
        raise ValueError(f"{text[:40]}: must have at most 64 bits")
    return value


def _require_small(value: Any) -> None:
    if isinstance(value, int):
        _small(str(value))
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            _require_small(item)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)}: is given twice")
    return table


def _require_shallow_json(text: str, where: object) -> None:
    depth = 0
    for token in _JSON_TOKEN.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)
        if depth > DEEPEST:
            raise _too_deep(where, text, token.start())


def _require_shallow_toml(text: str, where: object) -> None:
    """Counts open brackets and the dots of the keys before them: the parser recurses into each."""
    dots, depth = [0], 0  # of the present key at each level of brackets; all
    for token in _TOML_TOKEN.finditer(text):
        mark = token[0]
        if mark == ".":
            dots[-1] += 1
            depth += 1
        elif mark in ("[", "{"):
            dots.append(0)
            depth += 1
        elif mark in ("]", "}"):
            if len(dots) == 1:
                return  # an error that the parser reports
            depth -= dots.pop() + 1
        elif mark in (",", "\n"):
            depth -= dots[-1]
            dots[-1] = 0
        if depth > DEEPEST:
            raise _too_deep(where, text, token.start())


def _too_deep(where: object, text: str, offset: int) -> ModelError:
    line = text.count("\n", 0, offset) + 1
    return ModelError(f"{where}:{line}: must have at most {DEEPEST} levels of tables and lists")


# ---- shapes ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kind:
    """What a value may be, and a word for it."""

    what: str
    fits: Callable[[Any], bool]


@dataclass(frozen=True)
class ListOf:
    """A list, every item of one shape."""

    item: Shape
    most: int = 10_000_000


@dataclass(frozen=True)
class DictOf:
    """A table with any keys, every value of one shape."""

    item: Shape


@dataclass(frozen=True)
class Table:
    """A table with these keys; it may have others."""

    needed: Mapping[str, Shape]
    optional: Mapping[str, Shape] = field(default_factory=dict)


Shape = Kind | ListOf | DictOf | Table


def is_number(value: Any) -> bool:
    """Tells whether a value is a finite number, and no truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def integer(low: int = 0, high: int = _LARGEST_INTEGER - 1) -> Kind:
    def fits(value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high

    return Kind(f"an integer in [{low}, {high}]", fits)


def one_of(*values: str | None) -> Kind:
    def fits(value: Any) -> bool:
        return (value is None or isinstance(value, str)) and value in values

    return Kind(f"one of {', '.join(map(str, values))}", fits)


TEXT = Kind("a text", lambda value: isinstance(value, str))
FLAG = Kind("true or false", lambda value: isinstance(value, bool))
NUMBER = Kind("a number", is_number)
NUMBER_OR_NULL = Kind("a number or null", lambda value: value is None or is_number(value))
ANYTHING = Kind("anything", lambda value: True)


def require(value: Any, shape: Shape, where: str) -> None:
    """Throws ModelError, `where: key[2].key: ...`, unless the value has the shape."""
    if isinstance(shape, Kind):
        if not shape.fits(value):
            raise ModelError(f"{where}: {_brief(value)}: must be {shape.what}")
    elif isinstance(shape, ListOf):
        if not isinstance(value, list) or len(value) > shape.most:
            raise ModelError(f"{where}: must be a list of at most {shape.most} items")
        if isinstance(shape.item, Kind) and all(map(shape.item.fits, value)):
            return
        for number, item in enumerate(value):
            require(item, shape.item, f"{where}[{number}]")
    elif not isinstance(value, dict):
        raise ModelError(f"{where}: {_brief(value)}: must be a table")
    elif isinstance(shape, DictOf):
        for key, item in value.items():
            require(item, shape.item, f"{where}.{key}")
    else:
        for key, item in shape.needed.items():
            if key not in value:
                raise ModelError(f"{where}: {key}: is missing")
            require(value[key], item, f"{where}.{key}")
        for key, item in shape.optional.items():
            if key in value:
                require(value[key], item, f"{where}.{key}")


def _brief(value: Any) -> str:
    text = "a list" if isinstance(value, list) else "a table" if isinstance(value, dict) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
