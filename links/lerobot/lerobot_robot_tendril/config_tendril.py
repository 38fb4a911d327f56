"""Settings of the robot and of the keyboard."""

import math
from dataclasses import dataclass, field
from pathlib import Path

from lerobot.robots import RobotConfig
from lerobot.teleoperators import TeleoperatorConfig
from lerobot.teleoperators.keyboard import KeyboardTeleopConfig

ACTIONS = ("commands", "target", "delta")


@RobotConfig.register_subclass("tendril")
@dataclass(kw_only=True)
class TendrilConfig(RobotConfig):
    file: Path  #: robot file; in a simulation also a scene or an experiment
    address: str = ""  #: HOST:PORT of a robot on the network; "": simulation
    #: "commands" of the actuators; "target", where the robot's controller brings the tip; "delta", steps of the target
    action: str = "commands"
    fps: float = 30.0  #: actions a second, as of the data set; one is in force for 1/fps of simulated time
    speed_limit: float = 1.0  #: of commands, ranges of their actuators per second
    target_speed: float = 0.1  #: of the target, m/s
    leash: float = 0.05  #: the target is no farther from the tip, m

    # of a simulation
    prefix: str = ""  #: of the robot's names in the scene
    target: str = "target"  #: mocap body of the scene that the controller brings the tip to
    sensed: bool = False  #: the controller sees an estimate from the readings, which is then part of observations
    seed: int | None = None  #: of the experiment
    views: list[str] = field(default_factory=list)  #: cameras of the scene, for observations
    view_size: tuple[int, int] = (320, 240)  #: width, height

    # of a robot on the network
    stale_after: float = 0.1  #: without a message for so long the robot is to hold, s
    link_delay: float = 0.0  #: of messages, both ways, s

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.action not in ACTIONS:
            raise ValueError(f"action = {self.action}: must be {', '.join(ACTIONS[:-1])} or {ACTIONS[-1]}")
        for name in ("fps", "speed_limit", "target_speed", "leash", "stale_after"):
            value = getattr(self, name)
            if not (value > 0 and math.isfinite(value)):
                raise ValueError(f"{name} = {value}: must be a positive number")
        if self.sensed and self.action == "commands":
            raise ValueError("sensed = true: action must be target or delta, for which there is a controller")
        if self.address and self.views:
            raise ValueError(f"views = {', '.join(self.views)}: must be empty for a robot on the network")


@TeleoperatorConfig.register_subclass("tendril_keyboard")
@dataclass
class TendrilKeyboardConfig(KeyboardTeleopConfig):
    pass
