"""Files that appear when they are whole."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from tendril._errors import ModelError

Values = npt.NDArray[np.float64]
_MANIFEST = ".tendril-results"
_PAGES = ("report.html", "play.html")
Column = npt.NDArray[Any]


@contextlib.contextmanager
def atomic_file(file: Path) -> Iterator[IO[bytes]]:
    """Replaces a file at the end: a reader finds the old one or the new one, whole."""
    part = file.with_name(f".{file.name}.{os.getpid()}.part")
    part.unlink(missing_ok=True)  # a link of this name would be followed
    try:
        with part.open("xb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        part.replace(file)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def refuse_inputs(out: Path | None, *inputs: Path | None) -> None:
    """Throws ModelError for an output that is an input, or lies in a folder that is one."""
    for given in inputs:
        if out is None or given is None or not given.exists():
            continue
        whole, place = out.resolve(), given.resolve()
        if whole == place or place in whole.parents or (out.exists() and out.samefile(given)):
            raise ModelError(f"{out}: is an input of this command, or lies in one: must be another file")


def write_atomically(file: Path, content: str | bytes) -> None:
    with atomic_file(file) as out:
        out.write(content.encode() if isinstance(content, str) else content)


def write_page(file: Path, content: str) -> None:
    """Writes a page. In the folder of a run, whose manifest lists what the next run may replace
    (simulation/files/manifest.hpp), a page with the name of a run's own becomes one."""
    write_atomically(file, content)
    manifest = file.parent / _MANIFEST
    if file.name in _PAGES and manifest.is_file():
        with manifest.open("a", encoding="utf-8") as out:
            out.write(file.name + "\n")


def plain(value: Any) -> Any:
    """Returns the value for JSON: what is not finite is null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value
