"""Files of libraries on this system: their names, and where they find each other. Standard library alone."""

import os
import sys
from pathlib import Path


def library_name(name: str, version: str = "") -> str:
    """Of `tendril`: `libtendril.so`; with a version, as the engine's has one: `libmujoco.so.VERSION`."""
    end = f".{version}" if version else ""
    if sys.platform == "win32":
        return f"{name}.dll"
    return f"lib{name}{end}.dylib" if sys.platform == "darwin" else f"lib{name}.so{end}"


def let_libraries_be_found() -> None:
    """On Windows, where no library says in which folders those are that it needs: this package's and the engine's."""
    if sys.platform == "win32":
        package = Path(__file__).parent
        for folder in (package, package / "bin", package.with_name("mujoco")):
            if folder.is_dir():
                os.add_dll_directory(str(folder))
