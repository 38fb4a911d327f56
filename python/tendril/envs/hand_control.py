"""Policies without learning for the tasks of hands with soft fingers. Moments are fractions of the largest ones."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tendril.envs.simulations import Floats

Numbers = npt.NDArray[np.float32]


def _action(moments: Floats) -> Numbers:
    limited: Numbers = np.clip(moments, -1.0, 1.0).astype(np.float32)
    return limited


class GripAndLift:
    """Closes both fingers while the hand sinks, and lifts while both touch the cube."""

    _SINKING = 25  # steps
    _MOMENTS = 0.08, 0.3  # of the first and the second section
    _TOUCHING = 0.037  # m, from the middle of the cube to the axis of a finger

    def __init__(self) -> None:
        self._step = 0

    def __call__(self, observation: Numbers) -> Numbers:
        self._step += 1
        touching = np.abs(observation[169:173:2]).max() < self._TOUCHING
        lift = -1.0 if self._step <= self._SINKING else 1.0 if touching else 0.0
        return _action(np.array([*self._MOMENTS, *self._MOMENTS, lift]))


class FingerGait:
    """Opposite fingers grip and turn the cube while the other two return; then they change parts. All four grip a cube
    that is off the middle of the palm, and fingers press more on the side to which it is off."""

    _STEP, _PERIOD = 0.01, 0.67  # s
    _DUTY = 0.63  # fraction of the period in which a finger grips
    _GRIP, _AWAY = 0.2, -0.28  # moments inward, of fingers that grip and that return
    _SWEEP = 0.08  # moment sideways at the ends
    _CENTERING = 2.0  # 1/m
    _LARGEST_OFFSET = 0.01  # m, of the cube
    _OUTWARD = np.array([[0.0, -1.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])  # from the palm to each finger
    _LEAD = np.array([0.0, 0.5, 0.0, 0.5])  # of their phases

    def __init__(self, last: float = np.inf) -> None:
        """:param last: yaw at which the fingers let go, rad"""
        self._last, self._over = last, False
        self._phase, self._off = 0.0, False

    def __call__(self, observation: Numbers) -> Numbers:
        self._over |= bool(observation[5] > self._last)
        if self._over:
            return np.zeros(8, dtype=np.float32)
        offset = observation[:2].astype(np.float64)
        self._off = bool(np.linalg.norm(offset) > self._LARGEST_OFFSET * (0.5 if self._off else 1.0))
        grip = self._GRIP + self._CENTERING * self._OUTWARD @ offset
        if self._off:
            return _action(np.stack((grip, np.zeros(4)), axis=1).ravel())
        phase = (self._phase + self._LEAD) % 1.0
        self._phase += self._STEP / self._PERIOD
        returned = (phase - self._DUTY) / (1.0 - self._DUTY)  # negative while it grips
        inward = np.where(returned < 0.0, grip, self._AWAY)
        sideways = self._SWEEP * np.where(returned < 0.0, 2.0 * phase / self._DUTY - 1.0, 1.0 - 2.0 * returned)
        return _action(np.stack((inward, sideways), axis=1).ravel())


class PenControl:
    """Each finger controls the place of the pen across, at the finger, by proportional and integral feedback of its
    moment inward. Moments sideways are proportional to the error along the pen."""

    _STEP = 0.005  # s
    _PLACES = np.array([0.0, 0.0, -0.04, 0.04, 0.08])  # m, of the fingers along the pen
    _SIDES = np.array([-1.0, 1.0, 1.0, 1.0, 1.0])  # of the pen
    _PRESS = 0.04  # inward, without error
    _PROPORTIONAL, _INTEGRAL, _ALONG = 7.0, 40.0, 5.0  # 1/m, 1/(m s), 1/m

    def __init__(self) -> None:
        self._sum = np.zeros(5)  # m s

    def __call__(self, observation: Numbers) -> Numbers:
        along, across = -observation[14:16].astype(np.float64)
        yaw = -2.0 * float(observation[18])  # to the target, which is near
        errors = across + self._PLACES * yaw
        self._sum += self._STEP * errors
        inward = self._PRESS - self._SIDES * (self._PROPORTIONAL * errors + self._INTEGRAL * self._sum)
        sideways = self._SIDES * self._ALONG * along
        return _action(np.stack((inward, sideways, inward, sideways), axis=1).ravel())
