"""The tasks; docs/guide/environments.md has them in a table."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

import tendril as td
from tendril import _sim
from tendril.envs.dismech import DisMech4D, DisMechFollow, DisMechObstacles2D, DisMechObstacles3D
from tendril.envs.elastica import ElasticaNest, ElasticaOrient, ElasticaTrack, ElasticaWall
from tendril.envs.geometry import servo_order
from tendril.envs.guidewire import GuidewireArch
from tendril.envs.hands import AntipodalGrip, InHand, InHandInverted, PenSpinner
from tendril.envs.planar import PlanarPush, PlanarReach, PlanarReachPost
from tendril.envs.simulations import Flags, Floats, Processor, Rows, Task, norm
from tendril.envs.two_arms import TwoArmBox

_ACTION_COST = 0.001
_SET_POINT_RATE = 2.0  # rad/s, of the coordinates of a section
_ORDER, _SIGNS = servo_order(3)


def _effort(actions: Floats) -> Floats:
    cost: Floats = _ACTION_COST * np.add.reduce(actions * actions, axis=1)
    return cost


class Reach(Task):
    """Three sections, horizontal, under gravity: the tip to a point."""

    scene, actions, observations, steps = "reach.xml", 6, 18, 200
    rates = np.full(6, _SET_POINT_RATE)
    _LARGEST_BEND = 1.2  # rad, of a section at a target

    def __init__(self, count: int, processor: Processor) -> None:
        super().__init__(count, processor)
        self._arm = td.ContinuumRobot([td.Section(length=0.1)] * 3)
        data = mujoco.MjData(self.model)
        mujoco.mj_kinematics(self.model, data)
        base = data.body("arm_base")
        self._base, self._axes = base.xpos.copy(), base.xmat.reshape(3, 3).copy()

    def draw(self, row: int, rng: np.random.Generator) -> None:
        states = np.zeros((3, 3))
        states[:, 0] = rng.uniform(0.0, self._LARGEST_BEND, 3)
        states[:, 1] = rng.uniform(-np.pi, np.pi, 3)
        self.mocap_pos[row, 0] = self._base + self._axes @ self._arm.tip_pose(states)[:3, 3]

    def begin(self, rows: Rows) -> None:
        pass

    def act(self, rows: Rows, actions: Floats) -> None:
        self.advance(rows, (actions * _SIGNS).take(_ORDER, axis=1))

    def observe(self, rows: Rows) -> Floats:
        sensors = self.sensors[rows]
        tip = sensors[:, 6:9]
        return np.concatenate(
            (
                self.ctrl[rows].take(_ORDER, axis=1) * _SIGNS,
                sensors.take(_ORDER, axis=1) * _SIGNS,
                tip,
                sensors[:, 9:12] - tip,
            ),
            axis=1,
        )

    def judge(self, rows: Rows, actions: Floats) -> tuple[Floats, Flags, dict[str, Any]]:
        sensors = self.sensors[rows]
        distance = norm(sensors[:, 9:12] - sensors[:, 6:9])
        return (
            -distance - _effort(actions),
            np.zeros(len(actions), dtype=bool),
            {"is_success": distance < 0.001, "tip_error": distance},
        )


class Insert(Task):
    """Three sections on a feed into a bent tube, whose place varies."""

    scene, actions, observations, steps = "insert.xml", 7, 21, 600
    rates = np.array([0.1, *[_SET_POINT_RATE] * 6])  # of the feed, m/s, and the sections
    _FEED_FIRST, _FEED_LAST = np.array([6, *_ORDER]), np.array([*_SIGNS, 1.0])  # of the servos, of the action
    _WAYPOINTS = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.54), (-0.2, 0.0, 0.54))  # the tube's centerline, extended to the base
    _CORNER_RADIUS = 0.12
    _SPACING = 0.001
    _START, _END = 0.3, 0.62  # m, of the tip on the path; arm and feed together have 0.63
    _AHEAD = 0.01  # m, of the point to go for
    _LARGEST_FORCE = 50.0  # N
    _OFFSET = 0.003  # m

    def __init__(self, count: int, processor: Processor) -> None:
        super().__init__(count, processor)
        whole = np.array(_sim.path_points(self._WAYPOINTS, self._CORNER_RADIUS, self._SPACING))
        self._path = whole[: round(self._END / self._SPACING) + 1]
        # Of a point of the path as the nearest one: progress, 0 .. 1, and the point to go for.
        index, last = np.arange(len(self._path)), len(self._path) - 1
        start, ahead = round(self._START / self._SPACING), round(self._AHEAD / self._SPACING)
        self._progress_at = np.maximum(index - start, 0) / (last - start)
        self._next_at = self._path[np.minimum(index + ahead, last)]
        self._progress, self._next, self._force = np.zeros(count), np.zeros((count, 3)), np.zeros(count)

    def draw(self, row: int, rng: np.random.Generator) -> None:
        self.mocap_pos[row, 0, 1:] += rng.uniform(-self._OFFSET, self._OFFSET, 2)  # across the feed

    def begin(self, rows: Rows) -> None:
        """Progress, in the base frame the point to go for, and the sum of the normal forces."""
        sensors = self.sensors[rows]
        place = sensors[:, 9:12]  # of the path
        nearest = _sim.nearest_rows(self._path, sensors[:, 6:9] - place)
        self._progress[rows] = self._progress_at.take(nearest)
        self._next[rows] = self._next_at.take(nearest, axis=0) + place
        self._force[rows] = np.add.reduce(np.abs(sensors[:, 13::3]), axis=1)

    def act(self, rows: Rows, actions: Floats) -> None:
        self.advance(rows, (actions * self._FEED_LAST).take(self._FEED_FIRST, axis=1))

    def observe(self, rows: Rows) -> Floats:
        sensors = self.sensors[rows]
        tip = sensors[:, 6:9]
        return np.concatenate(
            (
                self.ctrl[rows].take(_ORDER + 1, axis=1) * _SIGNS,
                sensors.take(_ORDER, axis=1) * _SIGNS,
                tip,
                self._next[rows] - tip,
                sensors[:, 12:13],
                self._progress[rows, None],
                self._force[rows, None],
            ),
            axis=1,
        )

    def judge(self, rows: Rows, actions: Floats) -> tuple[Floats, Flags, dict[str, Any]]:
        before = self._progress[rows].copy()
        self.begin(rows)
        progress, force = self._progress[rows], self._force[rows]
        distance = norm(self._next[rows] - self.sensors[rows, 6:9])
        reward = 10.0 * (progress - before) - 0.01 * force - _effort(actions)
        success = self.lasting(rows, (progress > 0.999) & (distance < 0.002), 0.2)
        too_hard = force > self._LARGEST_FORCE
        return (
            reward - 10.0 * too_hard,
            success | too_hard,
            {"is_success": success & ~too_hard, "tip_error": distance, "wall_force": force, "progress": progress},
        )


class SnakeGoal(Task):
    """A snake of 16 joints on the ground: its head to a goal."""

    scene, actions, observations, steps = "snake_goal.xml", 16, 38, 1000
    rates = np.full(16, 6.0)  # rad/s
    _NEAREST, _FARTHEST = 0.8, 1.5  # m, of a goal from the origin
    _ARRIVED = 0.1  # m

    def __init__(self, count: int, processor: Processor) -> None:
        super().__init__(count, processor)
        self._distance = np.zeros(count)

    def draw(self, row: int, rng: np.random.Generator) -> None:
        angle, distance = rng.uniform(-np.pi, np.pi), rng.uniform(self._NEAREST, self._FARTHEST)
        self.mocap_pos[row, 0] = distance * np.cos(angle), distance * np.sin(angle), 0.0

    def begin(self, rows: Rows) -> None:
        self._distance[rows] = norm(self.sensors[rows, 32:35])

    def act(self, rows: Rows, actions: Floats) -> None:
        self.advance(rows, actions)

    def observe(self, rows: Rows) -> Floats:
        return self.sensors[rows]

    def judge(self, rows: Rows, actions: Floats) -> tuple[Floats, Flags, dict[str, Any]]:
        distance = norm(self.sensors[rows, 32:35])
        reward = 10.0 * (self._distance[rows] - distance) - _effort(actions)
        self._distance[rows] = distance
        success = distance < self._ARRIVED
        return reward, success, {"is_success": success, "tip_error": distance}


class SnakeRun(SnakeGoal):
    """The snake on the ground: as far as possible to its left in 10 s."""

    scene, observations, steps = "snake_run.xml", 38, 500

    def draw(self, row: int, rng: np.random.Generator) -> None:
        joints = slice(8, 8 + self.actions)  # after the time and the free joint
        self.motion[row, joints] += rng.uniform(-self._BENT, self._BENT, self.actions)

    _BENT = 0.05  # rad, of a joint at the start

    def begin(self, rows: Rows) -> None:
        self._distance[rows] = self.sensors[rows, 33]

    def judge(self, rows: Rows, actions: Floats) -> tuple[Floats, Flags, dict[str, Any]]:
        place = self.sensors[rows, 33]
        reward = 10.0 * (place - self._distance[rows]) - _effort(actions)
        self._distance[rows] = place
        return (
            reward,
            np.zeros(len(actions), dtype=bool),
            {"is_success": place > 1.0, "tip_error": np.maximum(1.0 - place, 0.0)},
        )


class YoubotReach(Task):
    """The youBot: its tool to a pose."""

    scene, actions, observations, steps = "youbot_reach.xml", 8, 22, 400
    rates = np.array([0.8, 0.8, 1.2, *[np.pi / 2] * 5])  # m/s, rad/s: the speed limits
    _AREA = 0.8  # m, half the side of the square in which platforms of targets are
    _LOWEST = 0.1  # m, of a target
    _JOINT_RANGE = 0.8  # part of the joint limits that targets use

    def __init__(self, count: int, processor: Processor) -> None:
        super().__init__(count, processor)
        self._robot = td.load_robot(td.share / "models/youbot.toml", td.MobileRobot)
        self._rotation = np.zeros((count, 3))  # of the target in the tool frame, a rotation vector

    def draw(self, row: int, rng: np.random.Generator) -> None:
        low, high = self._JOINT_RANGE * self._robot.joint_limits.T
        while True:
            platform = [*rng.uniform(-self._AREA, self._AREA, 2), rng.uniform(-np.pi, np.pi)]
            pose = self._robot.tool_pose(np.array([*platform, *rng.uniform(low, high)]))
            if pose[2, 3] > self._LOWEST:
                break
        self.mocap_pos[row, 0] = pose[:3, 3]
        quaternion = np.zeros(4)
        mujoco.mju_mat2Quat(quaternion, pose[:3, :3].flatten())
        self.mocap_quat[row, 0] = quaternion

    def begin(self, rows: Rows) -> None:
        for row in np.arange(self.count)[rows]:
            mujoco.mju_quat2Vel(self._rotation[row], self.sensors[row, 19:23], 1.0)

    def act(self, rows: Rows, actions: Floats) -> None:
        self.advance(rows, actions)

    def observe(self, rows: Rows) -> Floats:
        return np.concatenate((self.sensors[rows, :19], self._rotation[rows]), axis=1)

    def judge(self, rows: Rows, actions: Floats) -> tuple[Floats, Flags, dict[str, Any]]:
        self.begin(rows)
        distance, angle = norm(self.sensors[rows, 16:19]), norm(self._rotation[rows])
        success = self.lasting(rows, (distance < 0.003) & (angle < np.deg2rad(1.0)), 0.5)
        return (
            -distance - 0.1 * angle - _effort(actions),
            success,
            {"is_success": success, "tip_error": distance, "angle_error": angle},
        )


#: by the name in `Tendril/<name>-v0`
TASKS: dict[str, type[Task]] = {
    "Reach": Reach,
    "Insert": Insert,
    "SnakeGoal": SnakeGoal,
    "YoubotReach": YoubotReach,
    "DisMechFollow": DisMechFollow,
    "DisMech4D": DisMech4D,
    "DisMechObstacles2D": DisMechObstacles2D,
    "DisMechObstacles3D": DisMechObstacles3D,
    "ElasticaTrack": ElasticaTrack,
    "ElasticaOrient": ElasticaOrient,
    "ElasticaWall": ElasticaWall,
    "ElasticaNest": ElasticaNest,
    "PlanarReach": PlanarReach,
    "PlanarReachPost": PlanarReachPost,
    "PlanarPush": PlanarPush,
    "SnakeRun": SnakeRun,
    "AntipodalGrip": AntipodalGrip,
    "InHand": InHand,
    "InHandInverted": InHandInverted,
    "PenSpinner": PenSpinner,
    "TwoArmBox": TwoArmBox,
    "GuidewireArch": GuidewireArch,
}
