"""The four tasks of DisMech-RL (Choi and Tong, arXiv 2511.06667) on our bodies; docs/guide/environments.md."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from tendril.envs.simulations import Flags, Floats, Processor, Rows, Task, norm

_POINTS = 10  # of the rod that are observed, the last one being the tip
_SECTIONS = 5
_NEAR = 0.05  # m
_BEND_LIMIT, _TWIST_LIMIT = 2.0, np.pi / 2  # rad, of the natural bend and twist of a section
_BOX = np.array([[-0.6, 0.6], [-0.6, 0.6], [0.3, 0.9]])  # m, of targets


def _distance_reward(distance: Floats) -> Floats:
    reward: Floats = 2.0 * (distance < _NEAR) + 0.5 * ((distance > _NEAR) & (distance < 2 * _NEAR)) - distance**2
    return reward


class DisMech(Task):
    """A clamped rod of five sections, whose natural curvature an action changes.

    Of an action, each section has two numbers, the changes of its natural bend along the first and the second axis of
    the rod, those of ContinuumRobot.coordinates. The setpoints of the servos are the natural bends.
    """

    parts = 2
    axes: tuple[int, ...] = (0, 1, 2)  #: of the world, which are observed
    scale = 0.05  #: rad, of a change
    _servos = tuple(f"rod_s{s}_{axis}" for s in range(1, _SECTIONS + 1) for axis in "yx")
    _signs: tuple[float, ...] = (1.0, -1.0) * _SECTIONS  # the servo `x` bends towards -y

    def __init__(self, count: int, processor: Processor) -> None:
        self.rates = np.full(self.actions, self.scale / self.period)
        super().__init__(count, processor)
        self._order = np.array([self.model.actuator(name).id for name in self._servos])
        self._signed = np.array(self._signs)
        limits = np.where([name.startswith("twist") for name in self._servos], _TWIST_LIMIT, _BEND_LIMIT)
        self._low[self._order], self._high[self._order] = -limits, limits
        self._place = np.argsort(self._order)
        numbers = np.arange(3 * _POINTS).reshape(_POINTS, 3)[:, self.axes].ravel()
        self._observed = np.concatenate((numbers, 3 * _POINTS + numbers))  # positions and velocities
        self._tip = 3 * _POINTS - 3 + np.array(self.axes)

    def draw(self, row: int, rng: np.random.Generator) -> None:
        pass

    def begin(self, rows: Rows) -> None:
        pass

    def act(self, rows: Rows, actions: Floats) -> None:
        self.advance(rows, (actions * self._signed).take(self._place, axis=1))

    def setpoints(self, rows: Rows) -> Floats:
        """Natural bends and twists in the order of the action."""
        natural: Floats = self.ctrl[rows].take(self._order, axis=1) * self._signed
        return natural

    def observe(self, rows: Rows) -> Floats:
        return np.concatenate(
            (
                self.sensors[rows].take(self._observed, axis=1),
                self.setpoints(rows),
                self.mocap_pos[rows, 0].take(self.axes, axis=1),
            ),
            axis=1,
        )

    def distance(self, rows: Rows) -> Floats:
        """From the tip to the target."""
        return norm(self.sensors[rows, 3 * _POINTS - 3 : 3 * _POINTS] - self.mocap_pos[rows, 0])

    def obstacles(self, row: int) -> tuple[Floats, float]:
        """Ends of the axes of the obstacles of a simulation, (n, 2, 3), and their radius, m."""
        return np.zeros((0, 2, 3)), 0.0

    def judge(self, rows: Rows, actions: Floats) -> tuple[Floats, Flags, dict[str, Any]]:
        distance = self.distance(rows)
        return (
            _distance_reward(distance),
            np.zeros(len(actions), dtype=bool),
            {"is_success": distance < _NEAR, "tip_error": distance},
        )


class DisMechFollow(DisMech):
    """The tip to a target that moves at 0.5 m/s and changes its direction at random."""

    scene, actions, observations, steps, period = "dismech_follow.xml", 10, 76, 500, 0.1
    _SPEED = 0.5  # m/s
    _TURNING = 0.025  # probability of a new direction in a step

    def __init__(self, count: int, processor: Processor) -> None:
        super().__init__(count, processor)
        self._velocity = np.zeros((count, 3))
        self._turns = np.zeros((count, self.steps), dtype=bool)
        self._turned = np.zeros((count, self.steps, 3))  # the velocities after turns
        self._step = np.zeros(count, dtype=np.int64)

    def draw(self, row: int, rng: np.random.Generator) -> None:
        a, b = rng.uniform(0.0, 2 * np.pi, (2, self.steps + 1))
        velocities = self._SPEED * np.stack((np.cos(a) * np.sin(b), np.sin(a) * np.sin(b), np.cos(b)), axis=1)
        self.mocap_pos[row, 0] = rng.uniform(*_BOX.T)
        self._velocity[row], self._turned[row] = velocities[0], velocities[1:]
        self._turns[row] = rng.uniform(size=self.steps) < self._TURNING
        self._step[row] = 0

    def act(self, rows: Rows, actions: Floats) -> None:
        super().act(rows, actions)
        numbers, step = np.arange(self.count)[rows], self._step[rows]
        outside = (self.mocap_pos[rows, 0] < _BOX[:, 0]) | (self.mocap_pos[rows, 0] > _BOX[:, 1])
        turns = self._turns[numbers, step] & ~outside.any(axis=1)
        velocity = np.where(outside, -self._velocity[rows], self._velocity[rows])
        self._velocity[rows] = np.where(turns[:, None], self._turned[numbers, step], velocity)
        self.mocap_pos[rows, 0] += self.period * self._velocity[rows]
        self._step[rows] = np.minimum(step + 1, self.steps - 1)

    def observe(self, rows: Rows) -> Floats:
        return np.concatenate((super().observe(rows), self._velocity[rows]), axis=1)


class DisMech4D(DisMech):
    """The tip to a point, upright, with a given yaw; natural twist is driven too."""

    scene, actions, observations, steps, period = "dismech_4d.xml", 15, 86, 100, 0.1
    _servos = (*DisMech._servos, *(f"twist_{s}" for s in range(1, _SECTIONS + 1)))
    _signs = (*DisMech._signs, *[1.0] * _SECTIONS)
    _XYZW = np.array([1, 2, 3, 0])

    def draw(self, row: int, rng: np.random.Generator) -> None:
        self.mocap_pos[row, 0] = rng.uniform(*_BOX.T)
        half_yaw = rng.uniform(-np.pi / 4, np.pi / 4)
        self.mocap_quat[row, 0] = np.cos(half_yaw), 0.0, 0.0, np.sin(half_yaw)

    def observe(self, rows: Rows) -> Floats:
        return np.concatenate(
            (
                self.sensors[rows].take(self._observed, axis=1),
                self.sensors[rows, -4:].take(self._XYZW, axis=1),
                self.setpoints(rows),
                self.mocap_pos[rows, 0],
                self.mocap_quat[rows, 0].take(self._XYZW, axis=1),
            ),
            axis=1,
        )

    def judge(self, rows: Rows, actions: Floats) -> tuple[Floats, Flags, dict[str, Any]]:
        distance = self.distance(rows)
        off = (
            1.0 - np.add.reduce(self.sensors[rows, -4:] * self.mocap_quat[rows, 0], axis=1) ** 2
        )  # 0: same orientation
        near, nearer = (distance > _NEAR) & (distance < 2 * _NEAR), distance < _NEAR
        reward = (
            -(distance**2)
            - 0.5 * off**2
            + near * (np.where(off > 0.1, 1.0, 1.5) - 0.5 * off)
            + nearer * (np.where(off > 0.1, 4.0, np.where(off < 0.05, 6.0, 4.5)) - 2.0 * off)
        )
        return (
            reward,
            np.zeros(len(actions), dtype=bool),
            {
                "is_success": nearer & (off < 0.05),
                "tip_error": distance,
                "angle_error": 2.0 * np.arcsin(np.sqrt(np.clip(off, 0.0, 1.0))),
            },
        )


class DisMechObstacles2D(DisMech):
    """In the plane: the tip between discs to a point."""

    scene, actions, observations, steps, period = "dismech_obstacles_2d.xml", 5, 47, 50, 0.5
    parts, scale, axes = 10, 0.25, (0, 2)
    _servos, _signs = DisMech._servos[::2], DisMech._signs[::2]

    def obstacles(self, row: int) -> tuple[Floats, float]:
        discs = np.flatnonzero(self.model.geom_type == mujoco.mjtGeom.mjGEOM_CAPSULE)
        discs = discs[self.model.geom_bodyid[discs] == 0]
        middles = self.model.geom_pos[discs]
        return np.stack((middles - [0.0, 1.0, 0.0], middles + [0.0, 1.0, 0.0]), axis=1), self.model.geom_size[
            discs[0], 0
        ]


class DisMechObstacles3D(DisMech):
    """The tip between eight rods, placed anew in every episode, to a point."""

    scene, actions, observations, steps, period = "dismech_obstacles_3d.xml", 10, 121, 50, 0.5
    parts, scale = 10, 0.25
    _OBSTACLES = 8
    _REGION = np.array([[0.3, 0.6], [-0.6, 0.6], [-0.1, 0.8]])  # m, of the axes
    _HALF_LENGTH, _RADIUS = 0.5, 0.03  # m
    _LEAST_GAP = 0.015  # m, between axes
    _TRIALS = 1000

    def draw(self, row: int, rng: np.random.Generator) -> None:
        placed: list[Floats] = []
        while len(placed) < self._OBSTACLES:
            middles = rng.uniform(self._REGION[:, 0], self._REGION[:, 1], (self._TRIALS, 3))
            directions = rng.normal(size=(self._TRIALS, 3))
            directions *= self._HALF_LENGTH / norm(directions)[:, None]
            tried = np.stack((middles - directions, middles + directions), axis=1)
            inside = ((tried >= self._REGION[:, 0]) & (tried <= self._REGION[:, 1])).all(axis=(1, 2))
            clear = (ends for ends in tried[inside] if all(_gap(ends, old) >= self._LEAST_GAP for old in placed))
            ends = next(clear, None)
            placed = [] if ends is None else [*placed, ends]  # from the beginning if no trial succeeds
        for i, ends in enumerate(placed, start=1):
            self.mocap_pos[row, i] = ends.mean(axis=0)
            mujoco.mju_quatZ2Vec(self.mocap_quat[row, i], (ends[1] - ends[0]) / (2 * self._HALF_LENGTH))

    def obstacles(self, row: int) -> tuple[Floats, float]:
        return self._ends(np.array([row]))[0], self._RADIUS

    def _ends(self, rows: Rows) -> Floats:
        w, x, y, z = np.moveaxis(self.mocap_quat[rows, 1:], 2, 0)
        axes = np.stack((2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)), axis=2)
        ends = [self.mocap_pos[rows, 1:] + side * self._HALF_LENGTH * axes for side in (-1.0, 1.0)]
        return np.stack(ends, axis=2)

    def observe(self, rows: Rows) -> Floats:
        obstacles = self._ends(rows)
        return np.concatenate((super().observe(rows), obstacles.reshape(len(obstacles), -1)), axis=1)


def _gap(first: Floats, second: Floats) -> float:
    """Distance of two segments of the given ends."""
    u, v, w = first[1] - first[0], second[1] - second[0], first[0] - second[0]
    a, b, c, d, e = u @ u, u @ v, v @ v, u @ w, v @ w
    s = np.clip((b * e - c * d) / max(a * c - b * b, 1e-12), 0.0, 1.0)
    t = np.clip((b * s + e) / c, 0.0, 1.0)
    s = np.clip((b * t - d) / a, 0.0, 1.0)
    return float(np.linalg.norm(w + s * u - t * v))
