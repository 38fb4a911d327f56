"""TOML: files, and values as text."""

from __future__ import annotations

import json
import stat
import tomllib
from pathlib import Path
from typing import Any

from tendril._errors import ModelError


def toml(value: Any) -> str:
    """A value as `--set` takes it."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {toml(item)}" for key, item in value.items()) + " }"
    return repr(value) if isinstance(value, int | float) else str(value)


def read_toml(file: Path) -> dict[str, Any]:
    try:
        if not stat.S_ISREG(mode := file.stat().st_mode):  # reading would wait indefinitely, or not end
            raise ModelError(
                f"{file}: is a {'folder' if stat.S_ISDIR(mode) else 'device or a pipe'}: must be a readable file"
            )
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelError(f"{file}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ModelError(f"{file}: {error}") from None
