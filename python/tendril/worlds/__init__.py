"""Many worlds of one scene at once, on a CPU or a GPU, by MuJoCo Warp; docs/guide/worlds.md."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tendril.worlds.batch import BatchKinematics, Solution
    from tendril.worlds.worlds import Worlds

_MODULES = {"BatchKinematics": "batch", "Solution": "batch", "Worlds": "worlds"}


def require_warp() -> None:
    """:raises ImportError: MuJoCo Warp is missing; the line names the command that installs it."""
    try:
        import mujoco_warp  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"tendril.worlds needs warp-lang and mujoco-warp ({error}): pip install 'tendril-mujoco[worlds]' && "
            "pip install --no-deps mujoco-warp==4.0.0"
        ) from None


def __getattr__(name: str) -> Any:
    """The classes, loaded when they are first used: `tendril worlds --help` needs no Warp."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    require_warp()
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


__all__ = ["BatchKinematics", "Solution", "Worlds", "require_warp"]
