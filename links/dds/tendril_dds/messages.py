"""Messages of ROS 2 under the names that its DDS layer gives them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.types import float64, int32, sequence, uint32
from cyclonedds.topic import Topic


@dataclass
class Time(IdlStruct, typename="builtin_interfaces::msg::dds_::Time_"):
    sec: int32 = 0
    nanosec: uint32 = 0


@dataclass
class Header(IdlStruct, typename="std_msgs::msg::dds_::Header_"):
    stamp: Time = field(default_factory=Time)
    frame_id: str = ""


@dataclass
class JointState(IdlStruct, typename="sensor_msgs::msg::dds_::JointState_"):
    header: Header = field(default_factory=Header)
    name: sequence[str] = field(default_factory=list)
    position: sequence[float64] = field(default_factory=list)
    velocity: sequence[float64] = field(default_factory=list)
    effort: sequence[float64] = field(default_factory=list)


@dataclass
class Point(IdlStruct, typename="geometry_msgs::msg::dds_::Point_"):
    x: float64 = 0.0
    y: float64 = 0.0
    z: float64 = 0.0


@dataclass
class Quaternion(IdlStruct, typename="geometry_msgs::msg::dds_::Quaternion_"):
    x: float64 = 0.0
    y: float64 = 0.0
    z: float64 = 0.0
    w: float64 = 1.0


@dataclass
class Pose(IdlStruct, typename="geometry_msgs::msg::dds_::Pose_"):
    position: Point = field(default_factory=Point)
    orientation: Quaternion = field(default_factory=Quaternion)


@dataclass
class PoseStamped(IdlStruct, typename="geometry_msgs::msg::dds_::PoseStamped_"):
    header: Header = field(default_factory=Header)
    pose: Pose = field(default_factory=Pose)


_NORM_TOLERANCE = 1e-3  # of a quaternion
_SECOND = 1_000_000_000  # ns


def topic_of(participant: DomainParticipant, root: str, name: str, kind: type[Any]) -> Topic[Any]:
    """The DDS topic of the topic `root`/`name` of ROS 2."""
    return Topic(participant, f"rt{root}/{name}", kind)


def stamped(time_ns: int, frame: str = "") -> Header:
    return Header(Time(*divmod(time_ns, _SECOND)), frame)


def stamp_of(message: JointState | PoseStamped) -> int:
    """ns"""
    stamp = message.header.stamp
    return int(stamp.sec * _SECOND + stamp.nanosec)


def named_numbers(message: JointState, field: str) -> dict[str, Any] | None:
    """Numbers of a field by name, without those that are not finite; None if it has more or fewer than names."""
    numbers = getattr(message, field)
    if len(numbers) != len(message.name):
        return None
    return {name: number for name, number in zip(message.name, numbers, strict=True) if math.isfinite(number)}


def pose_numbers(message: PoseStamped, frame: str) -> dict[str, Any] | None:
    """`position`, and `orientation` as w, x, y, z; None in another frame, or if it is no pose."""
    p, q = message.pose.position, message.pose.orientation
    position, orientation = np.array([p.x, p.y, p.z]), np.array([q.w, q.x, q.y, q.z])
    norm = np.linalg.norm(orientation)
    if message.header.frame_id != frame or not np.isfinite(position).all() or not abs(norm - 1.0) < _NORM_TOLERANCE:
        return None
    return {"position": position, "orientation": orientation / norm}


def matrix_of(pose: Mapping[str, Any]) -> npt.NDArray[np.float64]:
    """(4, 4)"""
    w, x, y, z = pose["orientation"]
    matrix = np.eye(4)
    matrix[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    matrix[:3, 3] = pose["position"]
    return matrix


def pose_message(matrix: npt.NDArray[np.float64]) -> Pose:
    """Of a pose (4, 4)."""
    R = matrix[:3, :3]
    # The eigenvector to the largest eigenvalue of a symmetric matrix is the quaternion (Bar-Itzhack 2000).
    K = np.array(
        [
            [R[0, 0] - R[1, 1] - R[2, 2], R[1, 0] + R[0, 1], R[2, 0] + R[0, 2], R[2, 1] - R[1, 2]],
            [0.0, R[1, 1] - R[0, 0] - R[2, 2], R[2, 1] + R[1, 2], R[0, 2] - R[2, 0]],
            [0.0, 0.0, R[2, 2] - R[0, 0] - R[1, 1], R[1, 0] - R[0, 1]],
            [0.0, 0.0, 0.0, np.trace(R)],
        ]
    )
    quaternion = np.linalg.eigh(K, UPLO="U").eigenvectors[:, -1]
    return Pose(Point(*matrix[:3, 3].tolist()), Quaternion(*quaternion.tolist()))
