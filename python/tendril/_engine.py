"""Which MuJoCo is installed: looked at before anything of it is loaded. Standard library alone."""

from __future__ import annotations

import re
import sys

from tendril._library import library_name
from tendril._program import OWN_LIBRARY
from tendril._remedy import FOLDER, remedy

try:
    from tendril._version import mujoco_version
except ImportError:  # a build tree of the program
    mujoco_version = ""

__all__ = ["mujoco_version", "problem", "require", "requirement"]


def requirement() -> str:
    """What pip is asked for; in a build tree, which has no version, the engine alone."""
    return "mujoco-core" + (f"=={mujoco_version}" if mujoco_version else "")


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
    return f"{what}, must be {mujoco_version}: {remedy(mujoco_version)}"


def require() -> None:
    """Raises ImportError, one line, for another engine."""
    if text := problem():
        raise ImportError(f"tendril: {text}", name="mujoco")


def _installed() -> str:
    """The version of the engine that would be loaded; "" if there is none."""
    pattern = library_name("mujoco", "*")
    if "*" not in pattern:
        return _version_of_header() if (FOLDER / pattern).exists() else ""
    before, _, after = pattern.partition("*")
    libraries = sorted(file.name.removeprefix(before).removesuffix(after) for file in FOLDER.glob(pattern))
    others = [version for version in libraries if version != mujoco_version]
    # Another package may have put its modules over those of mujoco-core, next to whose library its own is then.
    return others[-1] if others else "".join(libraries)


def _version_of_header() -> str:
    """Where the name of the library has no version: that of the header next to it."""
    try:
        text = (FOLDER / "include/mujoco/mujoco.h").read_text(encoding="utf-8")
    except OSError:
        return ""
    found = re.search(r"#define mjVERSION_HEADER (\d+)", text)
    number = int(found[1]) if found else 0
    return f"{number // 1_000_000}.{number // 1_000 % 1_000}.{number % 1_000}"
