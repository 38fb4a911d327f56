"""Makes robot files and controllers known to MuJoCo: the entry point `mujoco.plugins`, which `import mujoco` calls.

Standard library alone: it runs in every program that imports mujoco.
"""

import ctypes
import importlib
import sys
from pathlib import Path

from tendril._library import library_name
from tendril._remedy import remedy
from tendril._version import __version__, mujoco_version

library = Path(__file__).with_name(library_name("tendril"))
_loaded: ctypes.CDLL | None = None


def load() -> None:
    """Loads the plugin library into this process, once.

    Raises ImportError, one line, when the process has another version of MuJoCo than the library is built for.
    """
    global _loaded
    if _loaded is not None:
        return
    if "mujoco" not in sys.modules:
        importlib.import_module("mujoco")  # which calls this function
        return
    found = sys.modules["mujoco"].mj_versionString()
    if found != mujoco_version:
        raise ImportError(
            f"tendril {__version__} is built for MuJoCo {mujoco_version}, this process has MuJoCo "
            f"{found}: {remedy(mujoco_version)}"
        )
    _loaded = ctypes.CDLL(str(library))
