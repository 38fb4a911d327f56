"""The program `tendril` and the plugin library that this package uses. Standard library alone."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from tendril._library import library_name

#: Names of the controllers of this process that are in Python.
registered: set[str] = set()
OWN_LIBRARY = Path(__file__).with_name(library_name("tendril"))  #: of the package; a build tree has none here


def find_library() -> Path:
    """The plugin library: that of the package, or TENDRIL_PLUGIN in a build tree."""
    file = OWN_LIBRARY if OWN_LIBRARY.exists() else Path(os.environ.get("TENDRIL_PLUGIN", ""))
    if not file.is_file():
        from tendril._errors import ModelError

        raise ModelError(f"{OWN_LIBRARY.name}: not found: set TENDRIL_PLUGIN to the file")
    return file


def find_program() -> str:
    """The program `tendril`: TENDRIL_PROGRAM, that of the package, or the one on PATH.

    That of the package uses its plugin library and this interpreter, by the environment of its process.
    """
    own = Path(__file__).with_name("bin") / ("tendril.exe" if sys.platform == "win32" else "tendril")
    if OWN_LIBRARY.exists():
        os.environ.setdefault("TENDRIL_PLUGIN", str(OWN_LIBRARY))
        os.environ.setdefault("TENDRIL_PYTHON", sys.executable)
    found = os.environ.get("TENDRIL_PROGRAM") or (str(own) if own.exists() else shutil.which("tendril"))
    if not found:
        from tendril._errors import ModelError

        raise ModelError("tendril: the program is not found: name it with TENDRIL_PROGRAM")
    return found
