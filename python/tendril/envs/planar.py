"""Tasks of a planar arm on a table, after ideas of SoMoGym (Graule et al., RA-L 2022); docs/guide/environments.md."""

from __future__ import annotations

from typing import Any

import numpy as np

from tendril.envs.simulations import Flags, Floats, Processor, Rows, Task, norm

SECTIONS, SECTION_LENGTH = 4, 0.1  # m
_PARTS = 10  # of a section, for its shape
_ACTION_COST = 0.001


def hinges(bends: Floats) -> Floats:
    """Middles of parts of the arm, and the tip, (n, 41, 2), for bends (n, 4): positive ones are towards y."""
    turns = np.repeat(bends / _PARTS, _PARTS, axis=1)
    after = np.cumsum(turns, axis=1)
    half = SECTION_LENGTH / _PARTS / 2
    steps = half * np.stack((np.cos(after) + np.cos(after - turns), np.sin(after) + np.sin(after - turns)), axis=2)
    ends = np.cumsum(steps, axis=1)
    last = half * np.stack((np.cos(after), np.sin(after)), axis=2)
    points: Floats = np.concatenate((ends - last, ends[:, -1:]), axis=1)
    return points


class PlanarReach(Task):
    """The tip of four sections to a point."""

    scene, actions, observations, steps = "planar_reach.xml", 4, 12, 200
    rates = np.full(SECTIONS, 2.0)  # rad/s
    _LARGEST_BEND = 1.0  # rad, of a section at a target
    _ARRIVED = 0.005  # m

    def draw(self, row: int, rng: np.random.Generator) -> None:
        bends = rng.uniform(-self._LARGEST_BEND, self._LARGEST_BEND, (1, SECTIONS))
        self.mocap_pos[row, 0, :2] = hinges(bends)[0, -1]

    def begin(self, rows: Rows) -> None:
        pass

    def act(self, rows: Rows, actions: Floats) -> None:
        self.advance(rows, actions)

    def observe(self, rows: Rows) -> Floats:
        sensors = self.sensors[rows]
        tip = sensors[:, 4:6]
        return np.concatenate((self.ctrl[rows], sensors[:, :4], tip, self.mocap_pos[rows, 0, :2] - tip), axis=1)

    def judge(self, rows: Rows, actions: Floats) -> tuple[Floats, Flags, dict[str, Any]]:
        distance = norm(self.sensors[rows, 4:7] - self.mocap_pos[rows, 0])
        return (
            -distance - _ACTION_COST * np.add.reduce(actions * actions, axis=1),
            np.zeros(len(actions), dtype=bool),
            {"is_success": distance < self._ARRIVED, "tip_error": distance},
        )


class PlanarReachPost(PlanarReach):
    """The tip to a point past a post, which the arm may lean on."""

    scene, observations = "planar_post.xml", 14
    _NEAREST, _FARTHEST = np.array([0.16, 0.05]), np.array([0.28, 0.09])  # m, of the post, on either side
    _RADIUS, _ARM_RADIUS = 0.02, 0.012  # m
    _CLEARANCE = 0.005, 0.03  # m, of the arm at the target: at least, at most
    _ON_THE_WAY = np.linspace(0.1, 1.0, 10)[:, None]  # parts of a motion that is free

    def draw(self, row: int, rng: np.random.Generator) -> None:
        post = rng.uniform(self._NEAREST, self._FARTHEST) * [1.0, rng.choice([-1.0, 1.0])]
        least, most = self._CLEARANCE
        while True:
            bends = rng.uniform(-self._LARGEST_BEND, self._LARGEST_BEND, (1, SECTIONS))
            shapes = hinges(self._ON_THE_WAY * bends)
            clear = np.linalg.norm(shapes - post, axis=2).min(axis=1) - self._RADIUS - self._ARM_RADIUS
            if clear.min() >= least and clear[-1] <= most:
                break
        self.mocap_pos[row, 0, :2] = shapes[-1, -1]
        self.mocap_pos[row, 1, :2] = post

    def observe(self, rows: Rows) -> Floats:
        return np.concatenate((super().observe(rows), self.mocap_pos[rows, 1, :2]), axis=1)


class PlanarPush(PlanarReach):
    """A block on the table to a point, pushed by the tip."""

    scene, observations, steps = "planar_push.xml", 16, 400
    _NEAREST, _FARTHEST = np.array([0.32, 0.07]), np.array([0.36, 0.09])  # m, of the block, on either side
    _SHORTEST, _LONGEST = np.array([-0.02, 0.04]), np.array([0.02, 0.08])  # m, of its way
    _ARRIVED = 0.01  # m

    def __init__(self, count: int, processor: Processor) -> None:
        super().__init__(count, processor)
        joint = self.model.joint("block_x").qposadr[0]
        self._block = slice(1 + joint, 3 + joint)  # of its place in the state

    def draw(self, row: int, rng: np.random.Generator) -> None:
        side = [1.0, rng.choice([-1.0, 1.0])]
        self.motion[row, self._block] = rng.uniform(self._NEAREST, self._FARTHEST) * side
        way = rng.uniform(self._SHORTEST, self._LONGEST) * side
        self.mocap_pos[row, 0, :2] = self.motion[row, self._block] + way

    def observe(self, rows: Rows) -> Floats:
        sensors = self.sensors[rows]
        return np.concatenate(
            (self.ctrl[rows], sensors[:, :6], sensors[:, 7:9], sensors[:, 10:12], self.mocap_pos[rows, 0, :2]), axis=1
        )

    def judge(self, rows: Rows, actions: Floats) -> tuple[Floats, Flags, dict[str, Any]]:
        distance = norm(self.sensors[rows, 7:10] - self.mocap_pos[rows, 0])
        reach = norm(self.sensors[rows, 7:10] - self.sensors[rows, 4:7])
        return (
            -distance - 0.1 * reach - _ACTION_COST * np.add.reduce(actions * actions, axis=1),
            np.zeros(len(actions), dtype=bool),
            {"is_success": distance < self._ARRIVED, "tip_error": distance},
        )
