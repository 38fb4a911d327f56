"""A policy without learning for the first two cases of Elastica: docs/results/tasks.md has its returns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tendril.envs.elastica import Elastica, ElasticaOrient, ElasticaTrack, spline_weights
from tendril.envs.simulations import Floats

_SEGMENTS = 10  # between observed points
_LENGTH = 0.1  # m, of a segment
_BENDING_STIFFNESS = 10e6 * np.pi / 4 * 0.05**4  # N m^2
_TWISTING_STIFFNESS = 65.45  # N m^2
_DRAG = 30.0  # N s/m^2, and N s for turning
_MUSCLES = 75.0 * 20 * _LENGTH  # N m, of a segment


class MuscleControl:
    """Velocity control of the tip: the smallest activations that give the tip a velocity against drag and elasticity.

    The model has ten straight segments and no inertia. It is made anew from the observed points in each step.
    """

    _DAMPING, _HOLD_DAMPING = 0.02, 0.02  # m/s and m for an activation of 1
    _TURN_WEIGHT = 0.05  # m
    _DECAY = 1.0  # 1/s, of activations that do not move the tip
    _TRUST = 0.5  # in the velocity that the model predicts for held activations

    def __init__(self, task: Elastica) -> None:
        self._turns = isinstance(task, ElasticaOrient)
        self._moves = isinstance(task, ElasticaTrack)
        self._axes = task.axes
        self._period = task.period
        self._gain, self._hold_gain = (60.0, 15.0) if self._moves else (60.0, 8.0)  # 1/s
        middles = (np.arange(_SEGMENTS) + 0.5) * _LENGTH
        self._muscles = _MUSCLES * spline_weights(task.points, middles)
        self._held = np.zeros(task.actions)

    def __call__(self, observation: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        whole = observation.astype(np.float64)
        points, rest = whole[:33].reshape(11, 3), whole[37:]
        tip_rotation = None
        if self._turns:
            tip_rotation, rest = rest[:4], rest[4:]
        error, ahead, weights = rest[:3] - points[-1], rest[3] * rest[4:7], np.ones(3)
        if self._turns:
            error = np.concatenate((error, _rotation_vector(rest[7:11], tip_rotation)))
            ahead, weights = np.zeros(6), np.repeat([1.0, self._TURN_WEIGHT], 3)
        moving, relaxing, holding = (weights[:, None] * one[: len(error)] for one in self._model(points, tip_rotation))
        error = weights * error
        fast = _limited(self._gain * error, 2.0) + weights * ahead
        slow = _limited(self._hold_gain * error, 1.0) + weights * ahead
        inverse = np.linalg.inv(holding @ holding.T + self._HOLD_DAMPING**2 * np.eye(len(error)))
        decay = -self._DECAY * self._held
        rates = decay + holding.T @ inverse @ (slow - holding @ decay)
        self._held = np.clip(self._held + self._period * rates, -1.0, 1.0)
        damped = moving @ moving.T + self._DAMPING**2 * np.eye(len(error))
        missing = fast - self._TRUST * (relaxing[:, 0] + moving @ self._held)
        action = self._held + moving.T @ np.linalg.solve(damped, missing)
        return (action / max(1.0, np.abs(action).max())).astype(np.float32)

    def _model(self, points: Floats, tip_rotation: Floats | None) -> tuple[Floats, Floats]:
        """Velocity and angular velocity of the tip for activations, (6, actions), and for rates of held activations."""
        axes = self._axes
        tangents = np.diff(points, axis=0)
        tangents /= np.linalg.norm(tangents, axis=1)[:, None]
        frames = np.array(_transported(tangents))
        twist = 0.0
        if tip_rotation is not None:
            rotation = _matrix(tip_rotation)
            relative = frames[-1].T @ rotation
            twist = np.arctan2(relative[1, 0] - relative[0, 1], relative[0, 0] + relative[1, 1])
            for i in range(_SEGMENTS):
                angle = twist * (i + 0.5) / _SEGMENTS
                c, s = np.cos(angle), np.sin(angle)
                frames[i] = frames[i] @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
        # The joint before a segment turns about the axes of the segment.
        joints, count = frames[:, :, :axes], _SEGMENTS * axes
        middles, starts, tip = (points[1:] + points[:-1]) / 2, points[:-1], points[-1]
        turning = np.zeros((_SEGMENTS, 3, _SEGMENTS, axes))
        moving = np.zeros_like(turning)
        for j in range(_SEGMENTS):
            turning[j:, :, j] = joints[j]
            moving[j:, :, j] = np.cross(joints[j].T, (middles[j:] - starts[j])[:, None]).swapaxes(1, 2)
        tip_motion = np.concatenate(
            (np.cross(joints.swapaxes(1, 2), (tip - starts)[:, None]).reshape(-1, 3).T, turning[-1].reshape(3, count))
        )
        turning, moving = turning.reshape(-1, count), moving.reshape(-1, count)
        drag = _DRAG * _LENGTH * (turning.T @ turning + moving.T @ moving)
        # Couples of muscles on segments, about the axes of these.
        couples = np.zeros((_SEGMENTS, 3, axes, self._muscles.shape[1]))
        for axis in range(axes):
            couples[:, :, axis] = frames[:, :, axis, None] * self._muscles[:, None]
        muscles = turning.T @ couples.reshape(3 * _SEGMENTS, -1)
        stiffness = np.full((_SEGMENTS, axes), _BENDING_STIFFNESS / _LENGTH)
        stiffness[:, 2:] = _TWISTING_STIFFNESS / _LENGTH
        stiffness[0] *= 2.0
        before = np.concatenate(([[0.0, 0.0, 1.0]], tangents[:-1]))
        angles = np.zeros((_SEGMENTS, axes))
        angles[:, :2] = np.einsum("ska,sk->sa", joints[:, :, :2], np.cross(before, tangents))
        angles[:, 2:] = twist / _SEGMENTS
        moments = (stiffness * angles).reshape(-1, 1)
        solved = tip_motion @ np.linalg.solve(drag, np.concatenate((muscles, -moments), axis=1))
        return solved[:, :-1], solved[:, -1:], tip_motion @ (muscles / stiffness.reshape(-1, 1))


def _transported(tangents: Floats) -> list[Floats]:
    """Frames without twist along tangents, from that of the world."""
    frame, frames = np.eye(3), []
    for tangent in tangents:
        z = frame[:, 2]
        cross = np.outer(tangent, z) - np.outer(z, tangent)
        frame = frame + cross @ frame + cross @ cross @ frame / (1.0 + z @ tangent)
        frames.append(frame)
    return frames


def _matrix(q: Floats) -> Floats:
    w, x, y, z = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def _rotation_vector(end: Floats, start: Floats) -> Floats:
    """The shortest rotation between two orientations, quaternions (w, x, y, z), in the world."""
    w = end @ start
    vector = start[0] * end[1:] - end[0] * start[1:] - np.cross(end[1:], start[1:])
    sine = float(np.linalg.norm(vector))
    return vector * (2.0 * np.arctan2(sine, abs(w)) / max(sine, 1e-9)) * (1.0 if w >= 0 else -1.0)


def _limited(vector: Floats, largest: float) -> Floats:
    return vector * min(1.0, largest / max(float(np.linalg.norm(vector)), 1e-9))
