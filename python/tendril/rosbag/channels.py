"""Topics of a scene: which numbers of a recording the messages of each have (docs/guide/rosbag.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tendril._errors import ModelError
from tendril._recorded import RecordedRun
from tendril.playback.scene import RecordedScene

Array = npt.NDArray[Any]
JOINTS = "sensor_msgs/msg/JointState"
POSE = "geometry_msgs/msg/PoseStamped"
POINT = "geometry_msgs/msg/PointStamped"
WRENCH = "geometry_msgs/msg/WrenchStamped"
IMU = "sensor_msgs/msg/Imu"
#: Fields of a message, and how many numbers each has; of JointState as many as names.
FIELDS: dict[str, dict[str, int]] = {
    JOINTS: {"position": 0, "velocity": 0, "effort": 0},
    POSE: {"position": 3, "orientation": 4},
    POINT: {"point": 3},
    WRENCH: {"force": 3, "torque": 3},
    IMU: {"angular_velocity": 3, "linear_acceleration": 3},
}
#: Of a sensor of the engine whose name has this ending: the message, and its field.
_PAIRED = {
    "FRAMEPOS": ("_position", POSE, "position"),
    "FRAMEQUAT": ("_orientation", POSE, "orientation"),
    "FORCE": ("_force", WRENCH, "force"),
    "TORQUE": ("_torque", WRENCH, "torque"),
    "GYRO": ("_gyro", IMU, "angular_velocity"),
    "ACCELEROMETER": ("_accelerometer", IMU, "linear_acceleration"),
}
_EFFORTS = ("ACTUATORFRC", "JOINTACTFRC", "TENDONACTFRC")
_VELOCITIES = ("JOINTVEL", "TENDONVEL", "ACTUATORVEL")
#: Of an arm's sections.
_SECTIONS = {"measured": "section_states", "command": "section_commands"}
READING = "_reading"
Column = tuple[str, int]  # dataset, such as `qpos`, and column in it


@dataclass(frozen=True)
class Channel:
    """A topic, and where the numbers of its messages are."""

    topic: str
    kind: str  #: type of the messages
    frame: str
    fields: Mapping[str, Sequence[Column]]
    names: Sequence[str] = ()  #: of JointState
    every_row: bool = False  #: a message for each row, also of what does not change
    site: str = ""  #: whose pose in its robot's base is told; no number of a recording

    @property
    def columns(self) -> list[Column]:
        return [column for columns in self.fields.values() for column in columns]

    def values(self, recording: RecordedRun, rows: Array) -> Array:
        """(rows, numbers)"""
        if self.site:
            return _site_poses(recording, rows, self.site)
        data = {name: _flat(recording, name)[rows] for name in {name for name, _ in self.columns}}
        return np.column_stack([data[name][:, column] for name, column in self.columns])


def _site_poses(recording: RecordedRun, rows: Array, site: str) -> Array:
    """(rows, 7): position and quaternion of a site in the base of its robot."""
    import mujoco

    robots = _Robots(recording)
    name = robots.owner(site)[0]
    base = next(body for body, robot in robots.bases.items() if robot == name)
    scene, poses = RecordedScene(recording, rows[:1]), np.empty((len(rows), 7))
    data, number = scene.data, scene.model.site(site).id
    for pose, row in zip(poses, rows, strict=True):
        scene.place(int(row))
        R_WB = data.xmat[base].reshape(3, 3)
        pose[:3] = R_WB.T @ (data.site_xpos[number] - data.xpos[base])
        mujoco.mju_mat2Quat(pose[3:], (R_WB.T @ data.site_xmat[number].reshape(3, 3)).ravel())
    return poses


def _flat(recording: RecordedRun, name: str) -> Array:
    values = np.asarray(getattr(recording, name))
    return values.reshape(len(values), -1)


def token(name: str) -> str:
    """A name as part of a topic's: letters, digits and underscores."""
    text = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return f"n{text}" if text[:1].isdigit() else text


class _Robots:
    """The robots of a scene, and which names are theirs."""

    def __init__(self, recording: RecordedRun) -> None:
        table = recording.tables["robots"]
        model = re.search(r'<mujoco model="([^"]*)"', recording.texts.get("model_xml", ""))
        self._unprefixed = token(model[1]) if model else ""
        self._rows = sorted(table, key=lambda row: -len(row["prefix"]) - len(row.get("suffix", "")))
        self.bases = {int(row["body"]): self.name(row) for row in table}

    def name(self, row: dict[str, Any]) -> str:
        """Prefix or suffix, without either the name of the model."""
        return token((row["prefix"] + row.get("suffix", "")).strip("_/")) or self._unprefixed or "robot"

    def owner(self, name: str) -> tuple[str, str, dict[str, Any]]:
        """Robot, its own name for this one, its row; of none: empty, the name."""
        for row in self._rows:
            prefix, suffix = row["prefix"], row.get("suffix", "")
            if name.startswith(prefix) and name.endswith(suffix) and len(name) > len(prefix) + len(suffix):
                return self.name(row), name[len(prefix) : len(name) - len(suffix)], row
        return "", name, {}


def _topic(robot: str, own: str) -> str:
    return "/".join(("", *filter(None, (robot, *map(token, own.split("/"))))))


def _elements(name: str, count: int) -> list[str]:
    return [name] if count == 1 else [f"{name}_{k}" for k in range(count)]


@dataclass(frozen=True)
class _Sensor:
    """A sensor of the recording, and which one of the model it reads: itself, unless it is a reading."""

    robot: str
    own: str  #: name without the robot's prefix and `_reading`
    level: str  #: `ground_truth/` if it has a reading
    base: int
    type: str  #: of the one it reads, such as FRAMEPOS
    quantity: str
    coordinates: Sequence[Sequence[str]]  #: of the robot
    columns: Sequence[Column]


class _Collector:
    """Channels as they are found; those of JointState grow."""

    def __init__(self, recording: RecordedRun) -> None:
        import mujoco

        self.mujoco: Any = mujoco
        self.recording = recording
        self.model: Any = recording.load_model(unknown_do_nothing=True)
        self.tables = recording.tables
        self.robots = _Robots(recording)
        self.found: dict[str, Channel] = {}

    def add(self, channel: Channel) -> None:
        if channel.topic in self.found:
            raise self._taken(channel.topic)
        self.found[channel.topic] = channel

    def _taken(self, topic: str) -> ModelError:
        return ModelError(f"{self.recording.file}: {topic}: two of the scene have this topic: one must be renamed")

    def add_named(self, robot: str, group: str, names: Sequence[str], fields: Mapping[str, Sequence[Column]]) -> None:
        """Appends to a JointState, whose first elements say what its fields are."""
        topic = _topic(robot, group)
        empty = Channel(topic, JOINTS, robot or "world", dict.fromkeys(fields, ()), (), group == "joint_states")
        old = self.found.get(topic, empty)
        if old.kind != JOINTS or len(old.fields) != len(fields) or not set(names).isdisjoint(old.names):
            raise self._taken(topic)
        pairs = zip(old.fields.items(), fields.values(), strict=True)
        longer = {field: (*columns, *new) for (field, columns), new in pairs}
        self.found[topic] = replace(old, names=(*old.names, *names), fields=longer)

    # ---- states and commands --------------------------------------------------------------------------------------

    def joints(self) -> None:
        for i, joint in enumerate(self.tables["joints"]):
            q, v = int(joint["qpos_address"]), int(joint["dof_address"])
            robot, own, _ = self.robots.owner(joint["name"])
            if joint["type"] in ("hinge", "slide") and joint["name"]:
                fields = {"position": [("qpos", q)], "velocity": [("qvel", v)]}
                self.add_named(robot, "joint_states", [own], fields)
            elif joint["type"] == "free":
                self._pose(int(self.model.jnt_bodyid[i]), "qpos", q, "qpos", q + 3, True)

    def mocap_bodies(self) -> None:
        for body in np.flatnonzero(self.model.body_mocapid >= 0):
            k = int(self.model.body_mocapid[body])
            self._pose(int(body), "mocap_pos", 3 * k, "mocap_quat", 4 * k, False)

    def _pose(self, body: int, place: str, first: int, turn: str, second: int, every_row: bool) -> None:
        name = self.tables["bodies"][body]["name"] or f"body_{body}"
        fields = {
            "position": [(place, first + k) for k in range(3)],
            "orientation": [(turn, second + k) for k in range(4)],
        }
        self.add(Channel(f"/bodies/{token(name)}", POSE, "world", fields, (), every_row))

    def actuators(self) -> None:
        for i, actuator in enumerate(self.tables["actuators"]):
            columns = [("ctrl", actuator["address"] + k) for k in range(actuator["dimension"])]
            robot, own, _ = self.robots.owner(actuator["name"])
            names = _elements(own or f"actuator_{i}", len(columns))
            self.add_named(robot, "actuator_commands", names, {"position": columns})

    def tips(self) -> None:
        """Poses of tips, unless a log has no joints."""
        if np.isnan(self.recording.qpos).any():
            return
        for i in range(self.model.nsite):
            robot, own, _ = self.robots.owner(self.model.site(i).name)
            if own == "tip" and robot in self.robots.bases.values():
                self.add(Channel(f"/{robot}/tip", POSE, robot, {}, every_row=True, site=self.model.site(i).name))

    # ---- sensors --------------------------------------------------------------------------------------------------

    def sensors(self) -> None:
        pairs: dict[tuple[str, str], dict[str, _Sensor]] = {}
        for sensor in self._sensors():
            ending, kind, field = _PAIRED.get(sensor.type, ("", "", ""))
            if ending and sensor.own.endswith(ending):
                topic = _topic(sensor.robot, sensor.level + sensor.own.removesuffix(ending))
                pairs.setdefault((topic, kind), {})[field] = sensor
            else:
                self._single(sensor)
        for (topic, kind), fields in pairs.items():
            if len(fields) == 2:
                frame = self._frame(next(iter(fields.values())).base)
                self.add(Channel(topic, kind, frame, {field: fields[field].columns for field in FIELDS[kind]}))
            else:
                self._single(*fields.values())

    def _sensors(self) -> Iterator[_Sensor]:
        """The sensors with a name, in order; in a log others have none."""
        number = {self._name(self.mujoco.mjtObj.mjOBJ_SENSOR, i): i for i in range(self.model.nsensor)}
        for i, sensor in enumerate(self.tables["sensors"]):
            if not (name := sensor["name"]):
                continue
            read = name.removesuffix(READING)
            base = number.get(read, i)
            robot, own, row = self.robots.owner(read if base != i else name)
            columns = [("sensordata", sensor["address"] + k) for k in range(sensor["dimension"])]
            yield _Sensor(
                robot,
                own,
                "ground_truth/" if name + READING in number else "",
                base,
                self.mujoco.mjtSensor(int(self.model.sensor_type[base])).name.removeprefix("mjSENS_"),
                sensor["quantity"],
                row.get("coordinates", []),
                columns,
            )

    def _single(self, sensor: _Sensor) -> None:
        """A point, or elements of a JointState."""
        columns = sensor.columns
        if sensor.type == "FRAMEPOS":
            topic = _topic(sensor.robot, sensor.level + sensor.own)
            return self.add(Channel(topic, POINT, self._frame(sensor.base), {"point": columns}))
        if sensor.quantity in _SECTIONS and len(sensor.coordinates) == len(columns):
            names = [re.sub(r"\W+", "_", str(name)) for name, _ in sensor.coordinates]
            return self.add_named(sensor.robot, _SECTIONS[sensor.quantity], names, {"position": columns})
        group, element = self._group(sensor.base, sensor.own)
        field = "effort" if sensor.type in _EFFORTS else "velocity" if sensor.type in _VELOCITIES else "position"
        if not group:
            group, element, field = "controller" if sensor.quantity else "sensors", sensor.own, "position"
        self.add_named(sensor.robot, sensor.level + group, _elements(element, len(columns)), {field: columns})

    def _group(self, base: int, own: str) -> tuple[str, str]:
        """The table that a sensor of an element is of, and the element: `encoder_t1`, `t1_length`, `gratings_1_x`."""
        objects = self.mujoco.mjtObj
        kind, element = int(self.model.sensor_objtype[base]), ""
        if kind in map(int, (objects.mjOBJ_TENDON, objects.mjOBJ_JOINT, objects.mjOBJ_ACTUATOR)):
            element = self.robots.owner(self._name(kind, int(self.model.sensor_objid[base])))[1]
        if element and own.endswith("_" + element):
            return own.removesuffix("_" + element), element
        if element and own.startswith(element + "_"):
            return own.removeprefix(element + "_"), element
        grating = re.fullmatch(r"(.+)_(\d+_[xy])", own)
        return (grating[1], grating[2]) if grating else ("", own)

    def _name(self, kind: int, number: int) -> str:
        return str(self.mujoco.mj_id2name(self.model, kind, number) or "")

    def _frame(self, base: int) -> str:
        """The robot's name in the frame of its base, else that of the object."""
        model, objects = self.model, self.mujoco.mjtObj
        if (reference := int(model.sensor_refid[base])) >= 0:
            kind = int(model.sensor_reftype[base])
            is_body = kind in (int(objects.mjOBJ_BODY), int(objects.mjOBJ_XBODY))
            return (self.robots.bases.get(reference) if is_body else None) or self._name(kind, reference)
        if self.mujoco.mjtSensor(int(model.sensor_type[base])).name.startswith("mjSENS_FRAME"):
            return "world"
        site = int(model.sensor_objid[base])
        is_base = not model.site_pos[site].any() and np.array_equal(model.site_quat[site], [1, 0, 0, 0])
        robot = self.robots.bases.get(int(model.site_bodyid[site])) if is_base else None
        return robot or self._name(objects.mjOBJ_SITE, site)


def channels(recording: RecordedRun) -> dict[str, Channel]:
    """The topics of the scene of a recording, by name. Throws ModelError for two with one name."""
    found = _Collector(recording)
    found.joints()
    found.mocap_bodies()
    found.actuators()
    found.tips()
    found.sensors()
    return found.found
