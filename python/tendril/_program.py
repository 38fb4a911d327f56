"""The program `tendril` that this package runs. Standard library alone."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path


def find_program() -> str:
    """The program `tendril`: TENDRIL_PROGRAM, that of the package, or the one on PATH.

    That of the package uses its plugin library and this interpreter, by the environment of its process.
    """
    own, library = Path(__file__).with_name("bin") / "tendril", Path(__file__).with_name("libtendril.so")
    if library.exists():
        os.environ.setdefault("TENDRIL_PLUGIN", str(library))
        os.environ.setdefault("TENDRIL_PYTHON", sys.executable)
    found = os.environ.get("TENDRIL_PROGRAM") or (str(own) if own.exists() else shutil.which("tendril"))
    if not found:
        from tendril._errors import ModelError

        raise ModelError("tendril: the program is not found: name it with TENDRIL_PROGRAM")
    return found
