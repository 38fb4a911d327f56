"""Messages of the topics, to and from CDR, by the library `rosbags`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tendril._errors import ModelError
from tendril.rosbag.channels import FIELDS, IMU, JOINTS, POINT, POSE, WRENCH, Channel

Array = npt.NDArray[Any]
NS = 1_000_000_000


class Message(NamedTuple):
    """What a message says."""

    stamp: int  #: ns
    places: Array | slice  #: of the values among the numbers of the topic
    values: Array


class Messages:
    """Encoder and decoder, with the types of ROS 2 Jazzy."""

    def __init__(self) -> None:
        from rosbags.typesys import Stores, get_typestore

        self.store: Any = get_typestore(Stores.ROS2_JAZZY)
        types = self.store.types
        self._time, self._header = types["builtin_interfaces/msg/Time"], types["std_msgs/msg/Header"]
        self._vector, self._point = types["geometry_msgs/msg/Vector3"], types["geometry_msgs/msg/Point"]
        self._turn, self._pose = types["geometry_msgs/msg/Quaternion"], types["geometry_msgs/msg/Pose"]
        self._wrench = types["geometry_msgs/msg/Wrench"]
        self._types = {kind: types[kind] for kind in FIELDS}
        self._none, self._unknown = np.empty(0), np.zeros(9)
        self._no_orientation = np.array([-1.0] + 8 * [0.0])  # as sensor_msgs/Imu says
        self._indices: dict[tuple[str, tuple[str, ...]], Array] = {}

    def encode(self, channel: Channel, stamp: int, values: Array) -> bytes:
        header = self._header(self._time(stamp // NS, stamp % NS), channel.frame)
        return bytes(self.store.serialize_cdr(self._content(channel, header, values), channel.kind))

    def _content(self, channel: Channel, header: Any, values: Array) -> Any:
        kind = self._types[channel.kind]
        if channel.kind == JOINTS:
            fields, n = {}, len(channel.names)
            for k, field in enumerate(channel.fields):
                fields[field] = np.ascontiguousarray(values[k * n : (k + 1) * n])
            return kind(header, list(channel.names), *(fields.get(field, self._none) for field in FIELDS[JOINTS]))
        numbers = values.tolist()
        if channel.kind == POSE:
            w, x, y, z = numbers[3:]
            return kind(header, self._pose(self._point(*numbers[:3]), self._turn(x, y, z, w)))
        if channel.kind == POINT:
            return kind(header, self._point(*numbers))
        first, second = self._vector(*numbers[:3]), self._vector(*numbers[3:])
        if channel.kind == WRENCH:
            return kind(header, self._wrench(first, second))
        assert channel.kind == IMU
        turn = self._turn(0.0, 0.0, 0.0, 1.0)
        return kind(header, turn, self._no_orientation, first, self._unknown, second, self._unknown)

    def decode(self, channel: Channel, data: bytes) -> Message:
        """Throws ModelError, `at TIME s: FIELD: ...`, for what the topic does not allow."""
        message = self.store.deserialize_cdr(data, channel.kind)
        stamp = message.header.stamp.sec * NS + message.header.stamp.nanosec
        try:
            return Message(stamp, *self._numbers(channel, message))
        except ModelError as error:
            raise ModelError(f"at {seconds(stamp)}: {error}") from None

    def _numbers(self, channel: Channel, message: Any) -> tuple[Array | slice, Array]:
        if channel.kind == JOINTS:
            return self._named(channel, message)
        if message.header.frame_id != channel.frame:
            raise ModelError(f'frame_id: "{message.header.frame_id}": must be "{channel.frame}"')
        if channel.kind == POSE:
            p, q = message.pose.position, message.pose.orientation
            numbers = [p.x, p.y, p.z, q.w, q.x, q.y, q.z]
        elif channel.kind == POINT:
            numbers = [message.point.x, message.point.y, message.point.z]
        else:
            inner = message.wrench if channel.kind == WRENCH else message
            numbers = [getattr(getattr(inner, field), axis) for field in FIELDS[channel.kind] for axis in "xyz"]
        return slice(None), np.array(numbers)

    def _named(self, channel: Channel, message: Any) -> tuple[Array, Array]:
        names = tuple(message.name)
        if (places := self._indices.get((channel.topic, names))) is None:
            for name in names:
                if name not in channel.names or names.count(name) > 1:
                    raise ModelError(f"name: {name}: must be one of {', '.join(channel.names)}, once")
            places = np.array([channel.names.index(name) for name in names], int)
            self._indices[channel.topic, names] = places
        index, values = [], []
        for k, field in enumerate(channel.fields):
            given = getattr(message, field)
            if len(given) not in (0, len(names)):
                raise ModelError(f"{field}: has {len(given)} numbers, must be {len(names)}, one a name, or none")
            if len(given):
                index.append(places + k * len(channel.names))
                values.append(given)
        if not index:
            return np.empty(0, int), np.empty(0)
        return np.concatenate(index), np.concatenate(values)


def seconds(stamp: int) -> str:
    """Returns a stamp in s, with all its digits."""
    whole, rest = divmod(abs(stamp), NS)
    return f"{'-' if stamp < 0 else ''}{whole}.{rest:09d}".rstrip("0").rstrip(".") + " s"
