"""Two soft arms lift a box between them; docs/guide/environments.md."""

from __future__ import annotations

from typing import Any

import numpy as np

from tendril.envs.geometry import servo_order
from tendril.envs.simulations import Flags, Floats, Processor, Rows, Task, norm

_ACTION_COST, _TILT_COST = 0.001, 0.1
_ORDER, _SIGNS = servo_order(6)


class TwoArmBox(Task):
    """A box on a table to a point above it, held between two arms. Each episode has another box."""

    scene, actions, observations, steps = "two_arm_box.xml", 12, 51, 500
    varied = ("geom_size", "geom_friction", "body_mass", "body_inertia")
    rates = np.full(12, 1.0)  # rad/s
    _SMALLEST, _LARGEST = np.array([0.08, 0.10, 0.06]), np.array([0.12, 0.15, 0.10])  # m, half sizes of a box
    _MASS, _FRICTION = (0.5, 2.0), (0.5, 1.0)  # kg
    _OFFSET, _YAW = 0.03, 0.2  # m, rad, of a box at the start, on either side
    _ASIDE, _BACK, _LIFT = 0.03, 0.02, (0.10, 0.16)  # m, of the target
    _NEAR, _LARGEST_TILT, _HELD = 0.03, np.deg2rad(10.0), 1.0  # m, rad, s: of a success

    def __init__(self, count: int, processor: Processor) -> None:
        super().__init__(count, processor)
        self._body, self._geom = self.model.body("box").id, self.model.geom("box").id
        joint = self.model.joint("box").qposadr[0]
        self._pose = slice(1 + joint, 8 + joint)  # of the box in the state

    def draw(self, row: int, rng: np.random.Generator) -> None:
        half, mass = rng.uniform(self._SMALLEST, self._LARGEST), rng.uniform(*self._MASS)
        self.own["geom_size"][row, self._geom] = half
        self.own["geom_friction"][row, self._geom, 0] = rng.uniform(*self._FRICTION)
        self.own["body_mass"][row, self._body] = mass
        self.own["body_inertia"][row, self._body] = mass / 3.0 * (half @ half - half * half)
        x, y = rng.uniform(-self._OFFSET, self._OFFSET, 2)
        half_yaw = rng.uniform(-self._YAW, self._YAW) / 2.0
        self.motion[row, self._pose] = x, y, half[2], np.cos(half_yaw), 0.0, 0.0, np.sin(half_yaw)
        aside = rng.uniform(-self._ASIDE, self._ASIDE)
        self.mocap_pos[row, 0] = x + aside, y - self._BACK, half[2] + rng.uniform(*self._LIFT)

    def begin(self, rows: Rows) -> None:
        pass

    def act(self, rows: Rows, actions: Floats) -> None:
        self.advance(rows, (actions * _SIGNS).take(_ORDER, axis=1))

    def observe(self, rows: Rows) -> Floats:
        sensors = self.sensors[rows]
        return np.concatenate(
            (
                self.ctrl[rows].take(_ORDER, axis=1) * _SIGNS,
                sensors.take(_ORDER, axis=1) * _SIGNS,
                sensors[:, 12:33],
                self.own["geom_size"][rows, self._geom],
                self.mocap_pos[rows, 0],
            ),
            axis=1,
        )

    def judge(self, rows: Rows, actions: Floats) -> tuple[Floats, Flags, dict[str, Any]]:
        sensors = self.sensors[rows]
        distance = norm(sensors[:, 12:15] - self.mocap_pos[rows, 0])
        up = np.cross(sensors[:, 15:18], sensors[:, 18:21])
        tilt = np.arctan2(np.hypot(up[:, 0], up[:, 1]), up[:, 2])
        force = np.maximum(norm(sensors[:, 21:24]), norm(sensors[:, 27:30]))
        held = self.lasting(rows, (distance < self._NEAR) & (tilt < self._LARGEST_TILT), self._HELD)
        return (
            -distance - _TILT_COST * tilt - _ACTION_COST * np.add.reduce(actions * actions, axis=1),
            np.zeros(len(actions), dtype=bool),
            {"is_success": held, "tip_error": distance, "angle_error": tilt, "grip_force": force},
        )
