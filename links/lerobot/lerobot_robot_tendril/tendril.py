"""A robot of Tendril, simulated or on the network, as a robot of LeRobot."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from lerobot.processor import RobotAction, RobotObservation
from lerobot.robots import Robot
from lerobot.utils.decorators import check_if_already_connected, check_if_not_connected

from lerobot_robot_tendril.config_tendril import TendrilConfig
from lerobot_robot_tendril.networked import Networked
from lerobot_robot_tendril.simulated import Simulated

Floats = npt.NDArray[np.float64]
_AXES = {1: ("",), 3: (".x", ".y", ".z"), 4: (".w", ".x", ".y", ".z")}
_TARGET = ("target.x", "target.y", "target.z")
_DELTA = ("delta_x", "delta_y", "delta_z")  # as LeRobot's gamepad names them


class Body(Protocol):
    """The robot behind the interface: `Simulated` or `Networked`."""

    readings: dict[str, int]  #: numbers of each
    actuators: list[str]
    ranges: Floats  #: (actuators, 2)
    tells_tip: bool
    images: dict[str, tuple[int, int, int]]

    def start(self) -> None: ...
    def stop(self) -> None: ...
    @property
    def commands(self) -> Floats:
        """In force."""

    @property
    def tip(self) -> Floats:
        """As the controller sees it, base frame, m."""

    def read(self) -> dict[str, Floats]: ...
    def look(self, view: str) -> npt.NDArray[np.uint8]: ...
    def elapsed(self) -> float:
        """Since the last action, at most 1/fps, s."""

    def command(self, commands: Floats) -> None: ...
    def reach(self, target: Floats) -> None: ...


def _expanded(name: str, width: int) -> list[str]:
    return [name + axis for axis in _AXES.get(width, tuple(f".{i}" for i in range(width)))]


class Tendril(Robot):
    """Its features are those of the robot file; docs/guide/lerobot.md. SI units; positions in the frame of the base."""

    config_class = TendrilConfig
    name = "tendril"

    def __init__(self, config: TendrilConfig) -> None:
        super().__init__(config)
        self.config = config
        self._connected = False
        self._body: Body = Networked(config) if config.address else Simulated(config)
        self.cameras = self._body.images  # their number is what LeRobot's programs ask for
        self._names = {"commands": tuple(self._body.actuators), "target": _TARGET, "delta": _DELTA}[config.action]

    @property
    def observation_features(self) -> dict[str, Any]:
        """Readings, commands in force, with a controller its target, the tip if it is estimated, images."""
        names = [axis for name, width in self._body.readings.items() for axis in _expanded(name, width)]
        names += self._body.actuators
        if self.config.action != "commands":
            names += _TARGET
        if self._body.tells_tip:
            names += _expanded("tip", 3)
        return dict.fromkeys(names, float) | self._body.images

    @property
    def action_features(self) -> dict[str, type]:
        return dict.fromkeys(self._names, float)

    @property
    def is_connected(self) -> bool:
        return self._connected

    @property
    def is_calibrated(self) -> bool:
        """The robot file is the calibration."""
        return True

    def calibrate(self) -> None:
        pass

    def configure(self) -> None:
        pass

    @check_if_already_connected
    def connect(self, calibrate: bool = True) -> None:
        """Starts the simulation, or waits for messages of the robot; moves nothing."""
        self._body.start()
        self._target = self._body.tip if self.config.action != "commands" else np.zeros(3)
        self._connected = True

    @check_if_not_connected
    def disconnect(self) -> None:
        """The robot is to hold; a simulation ends."""
        self._connected = False
        self._body.stop()

    @check_if_not_connected
    def get_observation(self) -> RobotObservation:
        read = self._body.read()
        numbers = [np.atleast_1d(read[name]) for name in self._body.readings] + [self._body.commands]
        if self.config.action != "commands":
            numbers.append(self._target)
        if self._body.tells_tip:
            numbers.append(self._body.tip)
        values = np.concatenate(numbers).tolist()
        names = [name for name, kind in self.observation_features.items() if kind is float]
        return dict(zip(names, values, strict=True)) | {view: self._body.look(view) for view in self._body.images}

    @check_if_not_connected
    def send_action(self, action: RobotAction) -> RobotAction:
        """Brings the robot towards the action, no faster than the limits allow.

        :returns: what is in force: the commands, the target, or its step
        :raises ValueError: one line; the robot then does not move
        """
        numbers = self._numbers(action)
        elapsed = self._body.elapsed()
        if self.config.action == "commands":
            low, high = self._body.ranges.T
            before = self._body.commands
            most = self.config.speed_limit * (high - low) * elapsed
            sent = before + np.clip(np.clip(numbers, low, high) - before, -most, most)
            self._body.command(sent)
        else:
            before, most = self._target, self.config.target_speed * elapsed
            step = numbers - before if self.config.action == "target" else np.clip(numbers, -1.0, 1.0) * most
            tip = self._body.tip
            self._target = tip + _shortened(before + _shortened(step, most) - tip, self.config.leash)
            self._body.reach(self._target)
            sent = self._target if self.config.action == "target" else (self._target - before) / max(most, 1e-12)
        return dict(zip(self._names, sent.tolist(), strict=True))

    def _numbers(self, action: RobotAction) -> Floats:
        unknown, missing = [n for n in action if n not in self._names], [n for n in self._names if n not in action]
        if unknown or missing:
            what = [f"{text} {', '.join(names)}" for text, names in (("has", unknown), ("lacks", missing)) if names]
            raise ValueError(f"action: {' and '.join(what)}: must have {', '.join(self._names)}")
        numbers = np.zeros(len(self._names))
        for i, name in enumerate(self._names):
            try:
                value = np.asarray(action[name], dtype=float)
            except (TypeError, ValueError):
                value = np.array(np.nan)
            if value.size != 1 or not np.isfinite(value).all():
                raise ValueError(f"action: {name} = {action[name]}: must be a finite number")
            numbers[i] = value.item()
        return numbers


def _shortened(vector: Floats, most: float) -> Floats:
    length = float(np.linalg.norm(vector))
    return vector if length <= most else vector * (most / length)
