"""How files of libraries are named on this system. Standard library alone."""

import sys


def library_name(name: str, version: str = "") -> str:
    """Of `tendril`: `libtendril.so`; with a version, as the engine's has one: `libmujoco.so.VERSION`."""
    end = f".{version}" if version else ""
    if sys.platform == "win32":
        return f"{name}.dll"
    return f"lib{name}{end}.dylib" if sys.platform == "darwin" else f"lib{name}.so{end}"
