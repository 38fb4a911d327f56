"""Keys that move the target of a controller."""

from lerobot.processor import RobotAction
from lerobot.teleoperators.keyboard import KeyboardTeleop
from lerobot.utils.decorators import check_if_not_connected

from lerobot_robot_tendril.config_tendril import TendrilKeyboardConfig

#: pairs of keys along x, y and z; the arrows end episodes of lerobot-record
KEYS = (("w", "s"), ("a", "d"), ("r", "f"))


class TendrilKeyboard(KeyboardTeleop):
    """Steps of the target, for `--robot.action=delta`: w and s along x, a and d along y, r and f along z.

    LeRobot 0.4.4 has `keyboard_ee` for this, but its listener drops the arrow keys that it is to be driven by.
    """

    config_class = TendrilKeyboardConfig
    name = "tendril_keyboard"

    @property
    def action_features(self) -> dict[str, type]:
        return dict.fromkeys(("delta_x", "delta_y", "delta_z"), float)

    @property
    def is_calibrated(self) -> bool:
        return True

    @check_if_not_connected
    def get_action(self) -> RobotAction:
        self._drain_pressed_keys()
        is_pressed = self.current_pressed.get
        steps = [float(is_pressed(up, False)) - float(is_pressed(down, False)) for up, down in KEYS]
        return dict(zip(self.action_features, steps, strict=True))
