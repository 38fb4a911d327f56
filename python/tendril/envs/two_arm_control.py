"""A policy without learning for the box between two arms: squeeze by the measured force, lift by resolved rates."""

from __future__ import annotations

import mujoco
import numpy as np
import numpy.typing as npt

import tendril as td
from tendril.envs.geometry import limited
from tendril.envs.simulations import Floats
from tendril.envs.two_arms import TwoArmBox

_UP = np.array([0.0, 0.0, 1.0])


class TwoArmControl:
    """The last section of each arm lies along a side of the box.

    It comes beside the box, moves inward until the measured force is the desired one, and then moves with the box to
    the target. Setpoints are the integrals of damped resolved rates. Mass and friction of the box are not known.
    """

    _GAIN, _TURN_GAIN, _FASTEST = 3.0, 2.0, 0.2  # 1/s, 1/s, m/s
    _DAMPING = 0.03
    _WEIGHTS = np.array([1.0, 0.3, 1.0, 0.2, 0.1, 0.2])  # of the position and of the direction, m
    _LEAD = 0.8  # rad, by which setpoints may be ahead of the measured bends
    _ROOM, _ARRIVED, _LATEST = 0.02, 0.01, 3.0  # m, m, s: beside the box before the squeeze
    _GRIP, _LEAST, _MOST = 3.0, 15.0, 70.0  # of the force along the side, N, N
    _COMPLIANCE, _INWARD = 0.008, 0.06  # m/s/N, m/s
    _TOE_GAIN, _LARGEST_TOE, _FELT = 5.0, 0.4, 2.0  # rad/m/s, rad, N
    _GRIPPED = 0.8  # of the force, from which the box is lifted
    _SPEED = 0.06  # m/s, of the box
    _SMALL = 1e-4  # rad, of a difference

    def __init__(self, task: TwoArmBox) -> None:
        self._period, self._stride = task.period, task.period * task.rates[0]
        bodies = [task.model.body(name) for name in ("L_base", "R_base")]
        self._bases = [body.pos.copy() for body in bodies]
        axes = np.zeros(9)
        mujoco.mju_quat2Mat(axes, bodies[0].quat)
        self._axes = axes.reshape(3, 3)
        self._radius = float(task.model.geom_size[task.model.geom("L_s3_l1").id, 0])
        self._arm = td.ContinuumRobot([td.Section(length=length) for length in (0.2, 0.2, 0.1)])
        self._time, self._squeezes, self._lifted = 0.0, False, -1.0
        self._toe, self._start = np.zeros(2), np.zeros(3)

    def __call__(self, observation: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        whole = observation.astype(np.float64)
        setpoints, bends, contacts = (part.reshape(2, 6) for part in (whole[:12], whole[12:24], whole[33:45]))
        box, x, y, half, target = whole[24:27], whole[27:30], whole[30:33], whole[45:48], whole[48:51]
        pressed, off = np.abs(contacts[:, :3] @ x), (contacts[:, 3:] - box) @ y
        load = float(np.linalg.norm(np.cross(contacts[:, :3], x), axis=1).max())
        force = min(max(self._GRIP * load, self._LEAST), self._MOST)
        if self._squeezes:
            toe = self._toe - self._TOE_GAIN * self._period * off * (pressed > self._FELT)
            self._toe = np.clip(toe, -self._LARGEST_TOE, self._LARGEST_TOE)
        points, jacobians = zip(*(self._points(one, base) for one, base in zip(bends, self._bases, strict=True)))
        beside = [box + side * (half[0] + self._radius + self._ROOM) * x for side in (-1.0, 1.0)]
        self._proceed([float(np.linalg.norm((b - p[:3])[[0, 2]])) for b, p in zip(beside, points)], box, pressed)
        velocity, spin = self._motion_of_box(box, x, y, target)
        action = np.zeros((2, 6))
        for i, side in enumerate((-1.0, 1.0)):
            place, direction = points[i][:3], points[i][3:]
            if self._squeezes:
                closing = np.clip(self._COMPLIANCE * (force - pressed[i]), -self._INWARD, self._INWARD)
                rate = velocity + np.cross(spin, place - box) - side * closing * x
            else:
                rate = limited(self._GAIN * (beside[i] - place), self._FASTEST)
            turning = self._TURN_GAIN * (y - side * self._toe[i] * x - direction) + np.cross(spin, direction)
            action[i] = self._rates(np.concatenate((rate, turning)), jacobians[i])
        change = np.clip(setpoints + action * self._period, bends - self._LEAD, bends + self._LEAD) - setpoints
        action = change.ravel() / self._stride
        scaled: npt.NDArray[np.float32] = (action / max(1.0, np.abs(action).max())).astype(np.float32)
        return scaled

    def _proceed(self, off: list[float], box: Floats, pressed: Floats) -> None:
        """From beside the box to the squeeze, and from there to the lift."""
        self._time += self._period
        self._squeezes = self._squeezes or max(off) < self._ARRIVED or self._time > self._LATEST
        if self._lifted < 0.0 and self._squeezes and pressed.min() > self._GRIPPED * self._LEAST:
            self._lifted, self._start = 0.0, box.copy()

    def _motion_of_box(self, box: Floats, x: Floats, y: Floats, target: Floats) -> tuple[Floats, Floats]:
        """Velocity and angular velocity with which the box comes to the target, upright."""
        if self._lifted < 0.0:
            return np.zeros(3), np.zeros(3)
        way = target - self._start
        self._lifted = min(self._lifted + self._SPEED * self._period / float(np.linalg.norm(way)), 1.0)
        velocity = limited(self._GAIN * (self._start + self._lifted * way - box), self._FASTEST)
        return velocity, self._TURN_GAIN * np.cross(np.cross(x, y), _UP)

    def _points(self, bends: Floats, base: Floats) -> tuple[Floats, Floats]:
        """Middle and direction of the last section in the world, (6,), and their derivatives, (6, 6)."""
        tried = np.concatenate((bends[None], bends + self._SMALL * np.eye(6)))
        tried[:, 4:] /= 2.0  # up to the middle
        poses = self._arm.tip_pose(np.array([self._arm.states(one) for one in tried]), threads=1)
        whole = np.concatenate((base + poses[:, :3, 3] @ self._axes.T, poses[:, :3, 2] @ self._axes.T), axis=1)
        return whole[0], (whole[1:] - whole[0]).T / self._SMALL

    def _rates(self, desired: Floats, jacobian: Floats) -> Floats:
        weighted = self._WEIGHTS[:, None] * jacobian
        damped = weighted @ weighted.T + self._DAMPING**2 * np.eye(6)
        rates: Floats = weighted.T @ np.linalg.solve(damped, self._WEIGHTS * desired)
        return rates
