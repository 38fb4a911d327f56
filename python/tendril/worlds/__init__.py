"""Many worlds of one scene at once, on a CPU or a GPU, by MuJoCo Warp; docs/guide/worlds.md."""

try:
    import mujoco_warp  # noqa: F401
except ImportError as _error:
    raise ImportError(
        f"tendril.worlds needs warp-lang and mujoco-warp ({_error}): pip install 'tendril-mujoco[worlds]' && "
        "pip install --no-deps mujoco-warp==4.0.0"
    ) from None

from tendril.worlds.batch import BatchKinematics, Solution
from tendril.worlds.worlds import Worlds

__all__ = ["BatchKinematics", "Solution", "Worlds"]
