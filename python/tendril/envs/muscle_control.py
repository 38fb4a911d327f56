"""A policy without learning for the first two cases of Elastica: docs/results/tasks.md has its returns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tendril.envs.elastica import (
    BENDING_STIFFNESS,
    DRAG,
    MUSCLE,
    Elastica,
    ElasticaOrient,
    ElasticaTrack,
    spline_weights,
)
from tendril.envs.geometry import limited, rotation_vector, transported
from tendril.envs.simulations import Floats

_SEGMENTS = 10  # between observed points
_LENGTH = 0.1  # m, of a segment
_TWISTING_STIFFNESS = 65.45  # N m^2
_MUSCLES = MUSCLE * Elastica.elements * _LENGTH  # N m, of a segment


class MuscleControl:
    """Velocity control of the tip against drag and elasticity, on a model that is made anew from the observed points.

    Held activations follow the error slowly: they bend the rod at rest. Activations beside them give the tip its
    velocity at once. Held ones that do not move the tip decay. Without held ones, all follows from the observation.
    """

    _FASTEST, _FASTEST_HELD = 2.0, 1.0  # m/s
    _DAMPING, _HOLD_DAMPING = 0.02, 0.02  # m/s and m for an activation of 1
    _TURN_WEIGHT = 0.05  # m
    _DECAY = 1.0  # 1/s
    _TRUST = 0.5  # in the velocity that the model predicts for held activations

    def __init__(self, task: Elastica, holds: bool = True) -> None:
        self._trust = self._TRUST if holds else 1.0
        self._turns, self._moves = isinstance(task, ElasticaOrient), isinstance(task, ElasticaTrack)
        self._axes, self._period = task.axes, task.period
        self._gain, self._hold_gain = (60.0, 15.0) if self._moves else (60.0, 8.0)  # 1/s
        middles: Floats = (np.arange(_SEGMENTS, dtype=np.float64) + 0.5) * _LENGTH
        self._muscles = _MUSCLES * spline_weights(task.points, middles)
        self._holds, self._held = holds, np.zeros(task.actions)

    def __call__(self, observation: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        whole = observation.astype(np.float64)
        points, rest = whole[:33].reshape(11, 3), whole[37:]
        if self._turns:
            rotation, target, target_rotation = rest[:4], rest[4:7], rest[11:15]
            model = _Segments(points, self._axes, rotation)
            weights, ahead = np.repeat([1.0, self._TURN_WEIGHT], 3), np.zeros(6)
            error = np.concatenate((target - points[-1], rotation_vector(target_rotation, rotation, 0)))
        else:
            model = _Segments(points, self._axes)
            weights, ahead, error = np.ones(3), rest[3] * rest[4:7], rest[:3] - points[-1]
        moving, relaxing, holding = (weights[:, None] * one[: len(error)] for one in model.tip_motions(self._muscles))
        error, ahead = weights * error, weights * ahead
        if self._holds:
            self._hold(holding, limited(self._hold_gain * error, self._FASTEST_HELD) + ahead)
        desired = limited(self._gain * error, self._FASTEST) + ahead
        missing = desired - self._trust * (relaxing[:, 0] + moving @ self._held)
        damped = moving @ moving.T + self._DAMPING**2 * np.eye(len(error))
        action = self._held + moving.T @ np.linalg.solve(damped, missing)
        scaled: npt.NDArray[np.float32] = (action / max(1.0, np.abs(action).max())).astype(np.float32)
        return scaled

    def _hold(self, holding: Floats, desired: Floats) -> None:
        """Changes held activations so that the tip would move as desired at rest."""
        inverse = np.linalg.inv(holding @ holding.T + self._HOLD_DAMPING**2 * np.eye(len(desired)))
        decay = -self._DECAY * self._held
        rates = decay + holding.T @ inverse @ (desired - holding @ decay)
        self._held = np.clip(self._held + self._period * rates, -1.0, 1.0)


class _Segments:
    """Straight segments between the observed points, without inertia. The joint before one turns about its axes."""

    def __init__(self, points: Floats, axes: int, tip_rotation: Floats | None = None) -> None:
        self._points, self._axes = points, axes
        self._tangents = np.diff(points, axis=0)
        self._tangents /= np.linalg.norm(self._tangents, axis=1)[:, None]
        self._frames, self._twist = np.array(transported(np.eye(3), self._tangents)), 0.0
        if tip_rotation is not None:
            relative = self._frames[-1].T @ _matrix(tip_rotation)
            self._twist = float(np.arctan2(relative[1, 0] - relative[0, 1], relative[0, 0] + relative[1, 1]))
            angles = self._twist * (np.arange(_SEGMENTS) + 0.5) / _SEGMENTS
            turns = np.zeros((_SEGMENTS, 3, 3))
            turns[:, 0, 0] = turns[:, 1, 1] = np.cos(angles)
            turns[:, 1, 0], turns[:, 0, 1], turns[:, 2, 2] = np.sin(angles), -np.sin(angles), 1.0
            self._frames = self._frames @ turns

    def tip_motions(self, muscles: Floats) -> tuple[Floats, Floats, Floats]:
        """Velocity and angular velocity of the tip: for activations, (6, actions); without activation, (6, 1); and for
        rates of activations at rest, (6, actions)."""
        turning, moving, tip = self._jacobians()
        drag = DRAG * _LENGTH * (turning.T @ turning + moving.T @ moving)
        couples = np.zeros((_SEGMENTS, 3, self._axes, muscles.shape[1]))  # on segments, about the axes of these
        for axis in range(self._axes):
            couples[:, :, axis] = self._frames[:, :, axis, None] * muscles[:, None]
        torques = turning.T @ couples.reshape(3 * _SEGMENTS, -1)
        stiffness, moments = self._elasticity()
        solved = tip @ np.linalg.solve(drag, np.concatenate((torques, -moments), axis=1))
        return solved[:, :-1], solved[:, -1:], tip @ (torques / stiffness)

    def _jacobians(self) -> tuple[Floats, Floats, Floats]:
        """For rates of joints: angular velocities of segments, (30, joints), velocities of segments, and both of the
        tip, (6, joints)."""
        joints, count = self._frames[:, :, : self._axes], _SEGMENTS * self._axes
        middles, starts = (self._points[1:] + self._points[:-1]) / 2, self._points[:-1]
        moved = np.tri(_SEGMENTS)[:, None, :, None]  # segments by joints before them
        turning = moved * joints.swapaxes(0, 1)
        places = np.concatenate((middles, self._points[-1:]))
        arms = places[:, None, None] - starts[:, None]  # (segments and tip, joints, 1, 3)
        velocities = np.cross(joints.swapaxes(1, 2), arms).transpose(0, 3, 1, 2)
        tip = np.concatenate((velocities[-1], turning[-1])).reshape(6, count)
        return turning.reshape(-1, count), (moved * velocities[:-1]).reshape(-1, count), tip

    def _elasticity(self) -> tuple[Floats, Floats]:
        """Stiffness and moment of each joint, (joints, 1)."""
        stiffness = np.full((_SEGMENTS, self._axes), BENDING_STIFFNESS / _LENGTH)
        stiffness[:, 2:] = _TWISTING_STIFFNESS / _LENGTH
        stiffness[0] *= 2.0
        before = np.concatenate(([[0.0, 0.0, 1.0]], self._tangents[:-1]))
        angles = np.zeros((_SEGMENTS, self._axes))
        angles[:, :2] = np.einsum("ska,sk->sa", self._frames[:, :, :2], np.cross(before, self._tangents))
        angles[:, 2:] = self._twist / _SEGMENTS
        return stiffness.reshape(-1, 1), (stiffness * angles).reshape(-1, 1)


def _matrix(q: Floats) -> Floats:
    w, x, y, z = q
    matrix: Floats = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    return matrix
