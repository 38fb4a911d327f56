"""Policies without learning for the tasks of the planar arm and of the running snake."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tendril.envs.geometry import limited
from tendril.envs.planar import SECTIONS, PlanarPush, PlanarReach, PlanarReachPost, hinges
from tendril.envs.simulations import Floats, Task


class PlanarControl:
    """Resolved rates of the tip on the measured bends, damped. Points of the arm near the post go away from it."""

    _GAIN, _FASTEST, _PUSHING = 5.0, 0.4, 0.15  # 1/s, m/s
    _DAMPING = 0.02  # m
    _LEAD = 0.3  # rad, by which setpoints may be ahead of the measured bends
    _MARGIN, _ESCAPE = 0.045, 10.0  # m from the middle of the post, 1/s
    _BEHIND, _PUSH = 0.05, 0.02  # m, from the middle of the block

    def __init__(self, task: PlanarReach) -> None:
        self._posted, self._pushes = isinstance(task, PlanarReachPost), isinstance(task, PlanarPush)
        self._stride = float(task.rates[0]) * task.period  # rad
        self._period, self._fastest = task.period, self._PUSHING if self._pushes else self._FASTEST

    def __call__(self, observation: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        whole = observation.astype(np.float64)
        setpoints, bends, tip = whole[:4], whole[4:8], whole[8:10]
        wanted = self._behind_block(tip, whole[10:12], whole[14:16]) if self._pushes else tip + whole[10:12]
        points = hinges(bends[None])[0]
        rows, rates = [_jacobian(points, len(points) - 1)], [limited(self._GAIN * (wanted - tip), self._fastest)]
        if self._posted:
            for point in range(0, len(points), 2):
                away = points[point] - whole[12:14]
                distance = float(np.linalg.norm(away))
                if distance < self._MARGIN:
                    rows.append(away[None] / distance @ _jacobian(points, point))
                    rates.append(np.array([self._ESCAPE * (self._MARGIN - distance)]))
        jacobian, velocity = np.concatenate(rows), np.concatenate(rates)
        damped = jacobian @ jacobian.T + self._DAMPING**2 * np.eye(len(velocity))
        change = jacobian.T @ np.linalg.solve(damped, velocity) * self._period
        change = np.clip(setpoints + change, bends - self._LEAD, bends + self._LEAD) - setpoints
        action = change / self._stride
        scaled: npt.NDArray[np.float32] = (action / max(1.0, np.abs(action).max())).astype(np.float32)
        return scaled

    def _behind_block(self, tip: Floats, block: Floats, target: Floats) -> Floats:
        """The point to go for: behind the block, seen from the target; from there into it."""
        way = target - block
        left = float(np.linalg.norm(way))
        ahead = way / max(left, 1e-9)
        if left < 0.003:
            return tip
        aside = np.array([-ahead[1], ahead[0]]) @ (tip - block)
        lined_up = abs(aside) < 0.01 and ahead @ (tip - block) < 0.0
        return block - (self._PUSH if lined_up else self._BEHIND) * ahead


class Sidewinding:
    """The gait sidewinding at a frequency, without feedback."""

    _FREQUENCY, _YAW, _PITCH, _WAVES = 1.5, 0.6, 0.25, 1.25  # Hz, rad; waves on the body

    def __init__(self, task: Task, row: int) -> None:
        self._stride, self._period, self._phase = task.rates * task.period, task.period, 0.0
        number = np.arange(1, task.actions + 1)
        self._yaw = number % 2 == 1
        self._lead = np.where(self._yaw, 0.0, np.pi / 2) - 2 * np.pi * self._WAVES / task.actions * number
        self._setpoints = task.ctrl[row].copy()

    def __call__(self, observation: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        self._phase += 2 * np.pi * self._FREQUENCY * self._period
        desired = np.where(self._yaw, self._YAW, self._PITCH) * np.sin(self._phase + self._lead)
        action = np.clip((desired - self._setpoints) / self._stride, -1.0, 1.0).astype(np.float32)
        self._setpoints += action * self._stride
        return action


def _jacobian(points: Floats, point: int) -> Floats:
    """Velocity of a point of the arm for rates of the bends, (2, 4)."""
    arms = points[point] - points[:point]
    turned = np.stack((-arms[:, 1], arms[:, 0]))
    parts = (len(points) - 1) // SECTIONS
    jacobian = np.zeros((2, SECTIONS))
    for section in range(SECTIONS):
        jacobian[:, section] = turned[:, section * parts : (section + 1) * parts].sum(axis=1) / parts
    return jacobian
