"""Which MuJoCo is installed: looked at before anything of it is loaded. Standard library alone."""

from __future__ import annotations

import re
import sys

from tendril._program import OWN_LIBRARY

try:
    from tendril._version import mujoco_version
except ImportError:  # a build tree of the program
    mujoco_version = ""

__all__ = ["mujoco_version", "problem", "require"]

_PREFIX = "libmujoco.so."


def problem() -> str:
    """One line: what is installed instead of the engine that this package is built for, and the command that mends
    it; "" if it is that one, or in a build tree."""
    if not OWN_LIBRARY.exists():
        return ""
    if "mujoco" in sys.modules:
        found = getattr(sys.modules["mujoco"], "__version__", mujoco_version)
    else:
        found = _installed()
    if found == mujoco_version:
        return ""
    what = f"MuJoCo {found} is installed" if found else "no MuJoCo is installed"
    return f"{what}, must be {mujoco_version}: pip install mujoco-core=={mujoco_version}"


def require() -> None:
    """Raises ImportError, one line, for another engine."""
    if text := problem():
        raise ImportError(f"tendril: {text}", name="mujoco")


def _installed() -> str:
    """The version of the engine that would be loaded; "" if there is none."""
    folder = OWN_LIBRARY.parent.parent / "mujoco"  # where the library looks for it
    libraries = sorted(file.name.removeprefix(_PREFIX) for file in folder.glob(_PREFIX + "*"))
    if mujoco_version not in libraries:
        return libraries[-1] if libraries else ""
    try:  # another package may have put its modules over those of mujoco-core
        text = (folder / "_version.py").read_text(encoding="utf-8")
    except (OSError, ValueError):
        return mujoco_version
    version = re.search(r"""__version__\s*=\s*["']([^"']+)["']""", text)
    return version[1] if version else mujoco_version
