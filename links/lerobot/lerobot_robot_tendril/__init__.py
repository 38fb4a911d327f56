"""Robots of Tendril in LeRobot: `--robot.type=tendril`, `--teleop.type=tendril_keyboard`; docs/guide/lerobot.md.

LeRobot imports every installed package named lerobot_robot_*, and finds the classes here by those of their settings.
"""

# lerobot-record offers the gamepad only if something has imported it.
from lerobot.teleoperators import gamepad as _gamepad  # noqa: F401

from lerobot_robot_tendril.config_tendril import TendrilConfig, TendrilKeyboardConfig
from lerobot_robot_tendril.tendril import Tendril
from lerobot_robot_tendril.tendril_keyboard import TendrilKeyboard

__all__ = ["Tendril", "TendrilConfig", "TendrilKeyboard", "TendrilKeyboardConfig"]
