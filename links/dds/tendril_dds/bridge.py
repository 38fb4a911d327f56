"""The controller of a robot file between DDS topics."""

from __future__ import annotations

import os
import re
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from cyclonedds.domain import DomainParticipant
from cyclonedds.pub import DataWriter
from cyclonedds.qos import Policy, Qos
from cyclonedds.sub import DataReader
from cyclonedds.util import duration

import tendril as td
from tendril_dds.messages import (
    JointState,
    PoseStamped,
    matrix_of,
    named_numbers,
    pose_message,
    pose_numbers,
    stamp_of,
    stamped,
    topic_of,
)

#: Of a kind of sensor: whether it has a topic of its own, and the field of its messages; docs/guide/rosbag.md
_KINDS = {
    "bend_encoder": (False, "position"),
    "length_encoder": (False, "position"),
    "tendon_encoder": (True, "position"),
    "drum_encoder": (True, "position"),
    "curvature": (True, "position"),
    "tendon_force": (True, "effort"),
    "motor_current": (True, "effort"),
    "tip_tracker": (True, "pose"),
}
_TAKEN = ("sensors", "joint_states", "target", "actuator_commands", "tip")
_QUEUE = 100  # messages that wait for a step
#: Reads what is published with any reliability; writes what any subscriber of ROS 2 gets, and waits for none.
_READS = Qos(Policy.Reliability.BestEffort, Policy.History.KeepLast(_QUEUE))
_WRITES = Qos(Policy.Reliability.Reliable(duration(milliseconds=1)), Policy.History.KeepLast(1))


class _Input:
    """A topic, and what its messages say. One that is damaged, or not newer than the last, did not come."""

    def __init__(self, reader: DataReader[Any], parse: Callable[[Any], dict[str, Any] | None]) -> None:
        self._reader, self._parse = reader, parse
        self._newest = -1  # stamp, ns
        self.dropped = 0

    def take(self) -> Iterator[dict[str, Any]]:
        for message in self._reader.take(_QUEUE):
            numbers = self._parse(message) if hasattr(message, "header") else None  # others tell of a writer's end
            if numbers is None or stamp_of(message) <= self._newest:
                self.dropped += 1
                continue
            self._newest = stamp_of(message)
            yield numbers


class Bridge:
    """Readings and a target come by topics; commands, and the tip as estimated, go out by topics."""

    def __init__(
        self,
        file: str | os.PathLike[str],
        *,
        timestep: float,
        namespace: str | None = None,
        domain: int = 0,
        stale_after: float = 0.1,
        speed_limit: float = 1.0,
    ) -> None:
        """
        :param file: robot file of a continuum arm with sensors and a controller
        :param timestep: of the steps, s
        :param namespace: of the topics, such as "arm"; "": none; default: name of the robot
        :param domain: as ROS_DOMAIN_ID
        :param stale_after: commands are held without a message for so long, s
        :param speed_limit: of a command, ranges of its actuator per second
        :raises ModelError: that of td.Driver; a sensor whose kind has no topic
        """
        self.driver = td.Driver(file, timestep=timestep, stale_after=stale_after, speed_limit=speed_limit)
        description = tomllib.loads(Path(file).read_text())
        self.frame = re.sub(r"[^A-Za-z0-9_]", "_", description.get("name", Path(file).stem))
        self.root = f"/{self.frame if namespace is None else namespace}".rstrip("/")
        self._participant = DomainParticipant(domain)
        self._sensors: dict[str, tuple[_Input, dict[str, str]]] = {}
        for sensor in description.get("sensor", []):
            if sensor["kind"] not in _KINDS:
                raise td.ModelError(
                    f"{file}: sensor {sensor['name']}: kind = {sensor['kind']}: must be {', '.join(_KINDS)}"
                )
            if sensor["name"] in _TAKEN:
                raise td.ModelError(f"{file}: sensor {sensor['name']}: name: must not be {', '.join(_TAKEN)}")
            self._add(sensor["name"], *_KINDS[sensor["kind"]])
        sensed = {reading for _, readings in self._sensors.values() for reading in readings.values()}
        self._own = [name for name in self.driver.readings if name not in sensed]  # of actuators, such as feed
        self._states = self._input("joint_states", JointState, self._state_numbers)
        self._targets = self._input("target", PoseStamped, lambda message: pose_numbers(message, self.frame))
        self._commands = self._output("actuator_commands", JointState)
        self._tip = self._output("tip", PoseStamped)
        self._told: dict[str, float] = {}  # of actuators
        self._target: Any = None
        self._commanding = False

    def _input(self, name: str, kind: type[Any], parse: Callable[[Any], dict[str, Any] | None]) -> _Input:
        return _Input(DataReader(self._participant, topic_of(self._participant, self.root, name, kind), _READS), parse)

    def _output(self, name: str, kind: type[Any]) -> DataWriter[Any]:
        return DataWriter(self._participant, topic_of(self._participant, self.root, name, kind), _WRITES)

    def _add(self, sensor: str, has_topic: bool, field: str) -> None:
        own = [reading for reading in self.driver.readings if reading.startswith(sensor + "_")]
        topic = sensor if has_topic else "sensors"
        if topic not in self._sensors:
            if field == "pose":
                new = self._input(topic, PoseStamped, lambda message: pose_numbers(message, self.frame))
            else:
                new = self._input(topic, JointState, lambda message: named_numbers(message, field))
            self._sensors[topic] = new, {}
        self._sensors[topic][1].update({r.removeprefix(sensor + "_") if has_topic else r: r for r in own})

    @staticmethod
    def _state_numbers(message: JointState) -> dict[str, Any] | None:
        positions = named_numbers(message, "position")
        rates = named_numbers(message, "velocity") if message.velocity else {}
        if positions is None or rates is None:
            return None
        return positions | {f"{name}_rate": rate for name, rate in rates.items()}

    @property
    def topics(self) -> dict[str, list[str]]:
        """Of the sensors: the names that its messages may have."""
        return {f"{self.root}/{topic}": list(readings) for topic, (_, readings) in self._sensors.items()}

    @property
    def dropped(self) -> int:
        """Messages that were damaged, old, or of another frame."""
        inputs = [topic for topic, _ in self._sensors.values()]
        return sum(topic.dropped for topic in [*inputs, self._states, self._targets])

    def step(self, now: float) -> str:
        """Makes a step, and publishes what it commands.

        :param now: s, from any start
        :returns: the state of the driver
        """
        readings = self._read()
        driver = self.driver
        if not self._commanding:
            if any(name not in self._told for name in [*driver.actuators, *self._own]):
                return driver.state
            driver.commands = [self._told[name] for name in driver.actuators]
            readings |= {name: self._told[name] for name in self._own} if readings else {}
        before = driver.commands
        commands = driver.step(now, readings or None, self._target)
        has_task = self._target is not None or not np.array_equal(commands, before)
        if driver.state == "running" and has_task:
            self._commanding = True
            header = stamped(time.time_ns(), self.frame)
            self._commands.write(JointState(header, driver.actuators, commands.tolist()))
            self._tip.write(PoseStamped(header, pose_message(driver.tip)))
        return driver.state

    def _read(self) -> dict[str, Any]:
        """What has come since the last step."""
        readings: dict[str, Any] = {}
        for topic, names in self._sensors.values():
            for numbers in topic.take():
                readings |= {names[name]: number for name, number in numbers.items() if name in names}
        for numbers in self._states.take():
            self._told |= numbers
            readings |= {name: number for name, number in numbers.items() if name in self._own}
        for numbers in self._targets.take():
            self._target = matrix_of(numbers)
        return readings
