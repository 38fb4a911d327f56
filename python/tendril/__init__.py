"""Continuum and snake robots in MuJoCo."""
from pathlib import Path

from tendril._version import __version__, mujoco_version

#: Folder of the robot files (`models`) and scenes (`scenes`) that come with the package.
share = Path(__file__).with_name("share")

__all__ = ["__version__", "mujoco_version", "share"]
