"""Four tasks of hands with soft fingers, those of SoMoGym (Graule et al., RA-L 2022); docs/guide/environments.md.

An action of a finger is the moment in a section, as a fraction of the largest one. Moments follow at a limited rate.
"""

from __future__ import annotations

from typing import Any, ClassVar

import mujoco
import numpy as np

from tendril import share
from tendril.envs.simulations import Flags, Floats, Processor, Rows, Task, norm

SCENES = share / "scenes/hands"
UNIT = 0.05  # m, in which rewards measure lengths


def euler(quaternions: Floats) -> Floats:
    """Roll, pitch and yaw, (n, 3), of orientations (n, 4): turns about the fixed x, y and z, in this order."""
    w, x, y, z = quaternions.T
    roll = np.arctan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
    pitch = np.arcsin(np.minimum(np.maximum(2.0 * (w * y - z * x), -1.0), 1.0))
    yaw = np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
    return np.stack((roll, pitch, yaw), axis=1)


class Hand(Task):
    """Soft fingers and an object, whose position, orientation and velocity are the first sensors of the scene."""

    period, steps = 0.01, 1000
    fingers: ClassVar[str]  #: the prefix of each
    links: ClassVar[int]  #: of a finger that are observed, the last ones
    servos: ClassVar[tuple[str, ...]]  #: of a finger, in the order of its actions
    rate: ClassVar[float] = 2.0  #: of a moment, in parts of the largest one a second

    def __init__(self, count: int, processor: Processor) -> None:
        super().__init__(count, processor)
        names = [f"{finger}_{servo}" for finger in self.fingers for servo in self.servos]
        self._driven = np.array([self.model.actuator(name).id for name in names])
        self._largest = self._high[self._driven]
        self._change = self.rate * self.period
        self.moments = np.zeros((count, len(names)))  #: fractions of the largest ones
        self._start = np.zeros((count, 3))  # of the object
        observed = len(self.fingers) * self.links
        self._links = slice(self.model.nsensordata - 6 * observed, self.model.nsensordata - 3 * observed)
        self._link_speeds = slice(self._links.stop, self.model.nsensordata)

    def load(self) -> mujoco.MjModel:
        """The scene, with sensors of positions and velocities of links."""
        spec = mujoco.MjSpec.from_string(self.compiled().model_xml)
        bodies = [body.name for body in spec.bodies]
        links = [[name for name in bodies if name.startswith(f"{finger}_s")][-self.links :] for finger in self.fingers]
        for kind in (mujoco.mjtSensor.mjSENS_FRAMEPOS, mujoco.mjtSensor.mjSENS_FRAMELINVEL):
            for link in sum(links, []):
                spec.add_sensor(type=kind, objtype=mujoco.mjtObj.mjOBJ_BODY, objname=link)
        return spec.compile()

    def begin(self, rows: Rows) -> None:
        self.moments[rows] = 0.0
        self._start[rows] = self.position(rows)

    def act(self, rows: Rows, actions: Floats) -> None:
        now = self.moments[rows]
        goal = actions[:, : now.shape[1]]
        self.moments[rows] = now + np.minimum(np.maximum(goal - now, -self._change), self._change)
        ctrl = self.ctrl[rows]
        ctrl[:, self._driven] = self.moments[rows] * self._largest
        self.ctrl[rows] = ctrl

    def position(self, rows: Rows) -> Floats:
        """Of the object."""
        return self.sensors[rows, :3]

    def angles(self, rows: Rows) -> Floats:
        """Roll, pitch and yaw of the object."""
        return euler(self.sensors[rows, 3:7])

    def moved(self, rows: Rows) -> Floats:
        """Distances of the object from its start along x, y and z, their sum, in units."""
        distances: Floats = np.add.reduce(np.abs(self.position(rows) - self._start[rows]), axis=1) / UNIT
        return distances


class AntipodalGrip(Hand):
    """Two fingers that bend in one plane, on a hand that moves up and down: grip a cube and lift it."""

    scene, actions, observations = f"{SCENES}/antipodal_grip.xml", 5, 178
    fingers, links = "ab", 20
    servos = "s1_y", "s2_y"
    _STRIDE = 0.00025  # m, of the hand in a step
    _HIGH = 0.1  # m, of the middle of a cube that is lifted
    _OFFSET = 0.0025  # m, of the start

    def __init__(self, count: int, processor: Processor) -> None:
        super().__init__(count, processor)
        self._lift = self.model.actuator("lift").id
        self._speed = np.zeros((count, 1))
        first = 1 + self.model.joint("object_x").qposadr[0]
        self._place = slice(first, first + 2)  # x and y of the cube in the state

    def draw(self, row: int, rng: np.random.Generator) -> None:
        self.motion[row, self._place] = rng.uniform(-self._OFFSET, self._OFFSET, 2)
        self._speed[row] = 0.0

    def act(self, rows: Rows, actions: Floats) -> None:
        super().act(rows, actions)
        self._speed[rows] = actions[:, 4:]
        height = self.ctrl[rows, self._lift] + self._STRIDE * actions[:, 4]
        self.ctrl[rows, self._lift] = np.minimum(np.maximum(height, self._low[self._lift]), self._high[self._lift])

    def nearest(self, rows: Rows) -> Floats:
        """From the object to the nearest link of each finger, (rows, fingers, 3)."""
        links = self.sensors[rows, self._links].reshape(-1, len(self.fingers), self.links, 3)
        offsets = links - self.position(rows)[:, None, None]
        nearest = np.argmin(np.add.reduce(offsets * offsets, axis=3), axis=2)
        found: Floats = np.take_along_axis(offsets, nearest[:, :, None, None], axis=2)[:, :, 0]
        return found

    def observe(self, rows: Rows) -> Floats:
        sensors = self.sensors[rows]
        count = len(sensors)

        def in_plane(vectors: Floats) -> Floats:
            plane: Floats = vectors.reshape(count, -1, 3)[:, :, 1:].reshape(count, -1)
            return plane

        return np.concatenate(
            (
                self.position(rows),
                self.angles(rows),
                self.sensors[rows, 7:10],
                in_plane(sensors[:, self._links]),
                in_plane(sensors[:, self._link_speeds]),
                in_plane(self.nearest(rows)),
                self.moments[rows],
                self._speed[rows],
            ),
            axis=1,
        )

    def judge(self, rows: Rows, actions: Floats) -> tuple[Floats, Flags, dict[str, Any]]:
        height = self.position(rows)[:, 2].copy()
        distances = np.add.reduce(norm(self.nearest(rows).reshape(-1, 3)).reshape(-1, len(self.fingers)), axis=1)
        return (
            10.0 * (height - distances) / UNIT,
            np.zeros(len(actions), dtype=bool),
            {"is_success": height >= self._HIGH, "height": height},
        )


class InHand(Hand):
    """Four fingers around a palm: turn the cube on it about the vertical."""

    scene, actions, observations = f"{SCENES}/in_hand.xml", 8, 258
    fingers, links = "abcd", 10
    servos = "s1_y", "s1_x"
    _OFFSET, _YAW = 0.0025, 0.1  # m, rad, of the start
    _TURNED = np.pi / 4
    _LOST = 0.25  # m from the start
    _PENALTY = 100.0

    def __init__(self, count: int, processor: Processor) -> None:
        super().__init__(count, processor)
        self._yaw, self._turned, self._first = np.zeros(count), np.zeros(count), np.zeros((count, 3))
        first = 1 + self.model.joint("object").qposadr[0]
        self._pose = slice(first, first + 7)  # of the cube in the state

    def draw(self, row: int, rng: np.random.Generator) -> None:
        offset, half = rng.uniform(-self._OFFSET, self._OFFSET, 2), rng.uniform(-self._YAW, self._YAW) / 2
        pose = self.motion[row, self._pose]
        pose[:2] = offset
        pose[3:] = np.cos(half), 0.0, 0.0, np.sin(half)

    def begin(self, rows: Rows) -> None:
        super().begin(rows)
        self._first[rows] = self.angles(rows)
        self._yaw[rows], self._turned[rows] = self._first[rows, 2], 0.0

    def observe(self, rows: Rows) -> Floats:
        return np.concatenate(
            (
                self.position(rows),
                self.angles(rows),
                self.sensors[rows, 7:10],
                self.sensors[rows, self._links],
                self.sensors[rows, self._link_speeds],
                self.moments[rows],
            )
            + self.turned(rows),
            axis=1,
        )

    def turned(self, rows: Rows) -> tuple[Floats, ...]:
        """What is observed beside: by how much the cube has turned, over more than one turn."""
        return (self._turned[rows, None],)

    def judge(self, rows: Rows, actions: Floats) -> tuple[Floats, Flags, dict[str, Any]]:
        yaw = self.angles(rows)[:, 2]
        change = yaw - self._yaw[rows]
        self._turned[rows] += change - 2 * np.pi * np.round(change / (2 * np.pi))
        self._yaw[rows] = yaw
        lost = norm(self.position(rows) - self._start[rows]) >= self._LOST
        turned = self._turned[rows].copy()
        return (
            self.reward(rows) - self._PENALTY * lost,
            lost,
            {"is_success": (turned >= self._TURNED) & ~lost, "turned": turned},
        )

    def reward(self, rows: Rows) -> Floats:
        """Of a step in which the cube is not lost."""
        reward: Floats = 100.0 * self._turned[rows] - 10.0 * self.moved(rows)
        return reward


class InHandInverted(InHand):
    """The hand over a table: z points down, and the cube lies on the table."""

    scene, observations = f"{SCENES}/in_hand_inverted.xml", 257
    _PENALTY = 0.0

    def turned(self, rows: Rows) -> tuple[Floats, ...]:
        return ()

    def reward(self, rows: Rows) -> Floats:
        roll, pitch, yaw = (self.angles(rows) - self._first[rows]).T
        reward: Floats = 100.0 * yaw - np.abs(roll) - np.abs(pitch) - self.moved(rows)
        return reward


class PenSpinner(Hand):
    """A thumb and four fingers over a table: turn the pen on it to a target."""

    scene, actions, observations, period = f"{SCENES}/pen_spinner.xml", 20, 230, 0.005
    fingers, links, rate = "abcde", 6, 1.0
    servos = "s1_y", "s1_x", "s2_y", "s2_x"
    _YAW = 0.2, 0.3  # rad, of the target
    _NEAR = 0.0125  # m, of both ends

    def draw(self, row: int, rng: np.random.Generator) -> None:
        half = rng.uniform(*self._YAW) / 2
        c, s = np.cos(half), np.sin(half)
        self.mocap_quat[row, 0] = np.sqrt(0.5) * np.array([c, -s, c, s])

    def observe(self, rows: Rows) -> Floats:
        position, orientation = self.position(rows), self.sensors[rows, 3:7]
        goal, goal_orientation = self.mocap_pos[rows, 0], self.mocap_quat[rows, 0]
        return np.concatenate(
            (
                position,
                orientation,
                goal,
                goal_orientation,
                position - goal,
                _between(orientation, goal_orientation),
                self.sensors[rows, 7:10],
                self.sensors[rows, self._links],
                self.sensors[rows, self._link_speeds],
                self.moments[rows],
                self.sensors[rows, 16:22] - self.sensors[rows, 10:16],
            ),
            axis=1,
        )

    def judge(self, rows: Rows, actions: Floats) -> tuple[Floats, Flags, dict[str, Any]]:
        orientation, goal = self.sensors[rows, 3:7], self.mocap_quat[rows, 0]
        apart = np.minimum(
            np.sqrt(np.add.reduce((orientation - goal) ** 2, axis=1)),
            np.sqrt(np.add.reduce((orientation + goal) ** 2, axis=1)),
        )
        ends = self.sensors[rows, 16:22] - self.sensors[rows, 10:16]
        end, front = norm(ends[:, :3]), norm(ends[:, 3:])
        distance = norm(self.position(rows) - self.mocap_pos[rows, 0])
        return (
            -100.0 * (apart + (end + front + distance) / UNIT),
            np.zeros(len(actions), dtype=bool),
            {"is_success": np.maximum(end, front) <= self._NEAR, "end_error": np.maximum(end, front)},
        )


def _between(start: Floats, end: Floats) -> Floats:
    """Rotations from orientations to others, in the frames of the first, quaternions (n, 4)."""
    w, x, y, z = start.T
    matrix = np.array([[w, x, y, z], [-x, w, z, -y], [-y, -z, w, x], [-z, y, -x, w]])
    rotation: Floats = np.einsum("ijn,nj->ni", matrix, end)
    return rotation
