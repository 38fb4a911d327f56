"""Files and folders that appear when they are whole."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]


@contextmanager
def whole(out: Path) -> Iterator[Path]:
    """A path to write to, which gets its name when it is whole."""
    part = out.with_name(out.name + ".part")
    _remove(part)
    out.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield part
        os.replace(part, out)
    finally:
        _remove(part)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
