"""TOML: values as text; files are read by `tendril._reading`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def plain_value(value: Any) -> Any:
    """Numbers and arrays of NumPy as those of Python, in tables and lists too."""
    if isinstance(value, Mapping):
        return {key: plain_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple | range):
        return [plain_value(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value


def toml(value: Any) -> str:
    """A value as `--set` takes it."""
    value = plain_value(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {toml(item)}" for key, item in value.items()) + " }"
    return repr(value) if isinstance(value, int | float) else str(value)


__all__ = ["plain_value", "toml"]
