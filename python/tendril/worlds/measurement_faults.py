"""Faults between what is true and what the controller of an arm measures, one thread for each world.

The steps of controllers/interface/measurement_faults.cpp, with the same draws. Source:
docs/reference/experiment_file.md, "Of measurements".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

import tendril as td
from tendril.worlds.arm import Step, mat33, number, rows, vec3
from tendril.worlds.model import flat
from tendril.worlds.physical_faults import LATE, step_at
from tendril.worlds.random_draws import mixed
from tendril.worlds.tables import BoundRobot, Table

#: in the order of fault::OfMeasurement::kind
NOISE, BIAS, SCALE, DRIFT, BACKLASH, QUANTIZE, RATE, DROPOUT, FREEZE, DELAY = (wp.constant(i) for i in range(10))
_LAST_OF_VALUE = BACKLASH  #: kinds up to it act on a channel in the order of the file, the others in their own
#: channels, and what they are of a step; tip_direction: an orientation
_CHANNELS = {
    "q": "q",
    "feed": "feed",
    "tip": "tip",
    "tip_direction": "tip_frame",
    "target": "target",
    "q_rate": "measured_rate",
    "gravity_moment": "moment",
}
_UNUSED = ("tendon_length", "tendon_tension", "moment")  # by the controllers of worlds
DRAWS_OF_STEP, DRAWS_OF_NORMAL = wp.uint64(65536), 12
OF_DRAW = number(2.0**-53)
ZERO, HALF, ONE = number(0.0), number(0.5), number(1.0)


@wp.struct
class _Fault:
    """One fault; of what `[vary]` may change there is a row for each world, or one."""

    kind: int
    start: wp.array(dtype=int)  # first step
    end: wp.array(dtype=int)  # step after the last
    start_time: wp.array(dtype=number)  # s
    strength: rows
    steps: wp.array(dtype=int)  # of the period, duration or delay
    interval: wp.array(dtype=int)  # steps between those in which a dropout may begin
    keep: wp.array(dtype=number)  # of noise with a correlation time
    probability: wp.array(dtype=number)
    gives_zero: bool
    draws: wp.array(dtype=wp.uint64)  # state of RandomDraws
    began: wp.array(dtype=int)  # memory, a row for each world
    remaining: wp.array(dtype=int)
    sample: rows


@wp.func
def _uniform(draws: wp.uint64, counter: wp.uint64):
    return number(mixed(draws + counter) >> wp.uint64(11)) * OF_DRAW


@wp.func
def _normal(draws: wp.uint64, first: wp.uint64):
    sum = number(-6.0)
    for i in range(DRAWS_OF_NORMAL):
        sum += _uniform(draws, first + wp.uint64(i))
    return sum


@wp.func
def _remember(fault: _Fault, world: int, x: rows):
    for i in range(x.shape[1]):
        fault.sample[world, i] = x[world, i]


@wp.func
def _recall(fault: _Fault, world: int, x: rows):
    for i in range(x.shape[1]):
        x[world, i] = fault.sample[world, i]


@wp.func
def _drops_out(fault: _Fault, world: int, k: int, active: bool):
    left, b = 0, world % fault.start.shape[0]
    if active:
        left = fault.remaining[world] + 0
        last = wp.uint64(k + 1) * DRAWS_OF_STEP - wp.uint64(1)
        if left == 0 and k % fault.interval[b] == 0 and _uniform(fault.draws[b], last) < fault.probability[b]:
            left = fault.steps[b] + 0
    fault.remaining[world] = wp.max(0, left - 1)
    return left > 0


@wp.kernel(module="unique", enable_backward=False)
def _see(fault: _Fault, step: wp.array(dtype=int), timestep: number, x: rows):
    """The effect on the numbers of a channel, (worlds, width): MeasurementFaults::Effect."""
    world = wp.tid()
    b, k, width = world % fault.start.shape[0], step[world], x.shape[1]
    active = k >= fault.start[b] and k < fault.end[b]
    first = wp.uint64(k) * DRAWS_OF_STEP
    if fault.kind == NOISE:
        if active:
            keep = fault.keep[b]
            for i in range(width):
                draw = _normal(fault.draws[b], first + wp.uint64(DRAWS_OF_NORMAL * i))
                noise = fault.strength[b, i] * draw
                if keep > ZERO:
                    if fault.began[world] != 0:
                        noise = keep * fault.sample[world, i] + wp.sqrt(ONE - keep * keep) * noise
                    fault.sample[world, i] = noise
                x[world, i] = x[world, i] + noise
            fault.began[world] = 1
    elif fault.kind == BACKLASH:
        for i in range(width):
            half = HALF * fault.strength[b, i]
            if active and fault.began[world] != 0:
                x[world, i] = wp.clamp(fault.sample[world, i], x[world, i] - half, x[world, i] + half)
        fault.began[world] = wp.where(active, 1, 0)
        _remember(fault, world, x)
    elif fault.kind == RATE:
        if k % fault.steps[b] == 0:
            _remember(fault, world, x)
        elif active:
            _recall(fault, world, x)
    elif fault.kind == DROPOUT:
        if k == 0:
            _remember(fault, world, x)
        if not _drops_out(fault, world, k, active):
            _remember(fault, world, x)
        elif fault.gives_zero:
            for i in range(width):
                x[world, i] = ZERO
        else:
            _recall(fault, world, x)
    elif fault.kind == FREEZE:
        if k < fault.start[b] or k == 0:
            _remember(fault, world, x)
        elif active:
            _recall(fault, world, x)
    elif fault.kind == DELAY:
        if fault.steps[b] > 0:
            offset = (k % fault.steps[b]) * width
            old = wp.where(k < fault.steps[b], 0, offset)
            for i in range(width):
                now = x[world, i] + ZERO
                if active and k > 0:
                    x[world, i] = fault.sample[world, old + i]
                fault.sample[world, offset + i] = now
    elif active:
        for i in range(width):
            strength = fault.strength[b, i]
            if fault.kind == BIAS:
                x[world, i] = x[world, i] + strength
            elif fault.kind == SCALE:
                x[world, i] = strength * x[world, i]
            elif fault.kind == DRIFT:
                x[world, i] = x[world, i] + strength * (number(k) * timestep - fault.start_time[b])
            elif fault.kind == QUANTIZE and strength != ZERO:
                x[world, i] = strength * wp.floor(x[world, i] / strength + HALF)


@wp.func
def rotation_vector(R: mat33):
    q = wp.quat_from_matrix(R)
    if q[3] < ZERO:
        q = -q
    v = vec3(q[0], q[1], q[2])
    sine = wp.length(v)
    return v * wp.where(sine > ZERO, number(2.0) * wp.atan2(sine, q[3]) / wp.max(sine, number(1e-300)), ZERO)


@wp.func
def rotation_by(v: vec3):
    angle = wp.length(v)
    if angle > ZERO:
        return wp.quat_to_matrix(wp.quat_from_axis_angle(v / angle, angle))
    return wp.identity(n=3, dtype=number)


@wp.kernel(module="unique", enable_backward=False)
def _to_vectors(frames: wp.array(dtype=mat33), vectors: wp.array(dtype=vec3)):
    """Rotation vectors of orientations."""
    world = wp.tid()
    vectors[world] = rotation_vector(frames[world])


@wp.kernel(module="unique", enable_backward=False)
def _to_frames(frames: wp.array(dtype=mat33), vectors: wp.array(dtype=vec3)):
    world = wp.tid()
    frames[world] = rotation_by(vectors[world])


@wp.kernel(module="unique", enable_backward=False)
def _forget(chosen: wp.array(dtype=bool), step: wp.array(dtype=int)):
    world = wp.tid()
    if chosen[world]:
        step[world] = 0


@wp.kernel(module="unique", enable_backward=False)
def _forget_fault(chosen: wp.array(dtype=bool), fault: _Fault):
    world = wp.tid()
    if chosen[world]:
        fault.began[world] = 0
        fault.remaining[world] = 0


@wp.kernel(module="unique", enable_backward=False)
def _count(step: wp.array(dtype=int)):
    world = wp.tid()
    step[world] = step[world] + 1


class Effects:
    """Faults on arrays of numbers of all worlds, in their order, and the number of the step."""

    def __init__(self, bound: BoundRobot, timestep: float) -> None:
        self._bound, self._timestep, self.step = bound, timestep, bound.zeros(kind=int)
        self._faults: list[tuple[Any, Any]] = []

    def add(self, same: Sequence[Table], x: Any, has_stamp: bool = False) -> None:
        """
        :param same: one fault, of each world or of all
        :param x: what it changes, (worlds, width)
        :param has_stamp: the last column is not a value but the number of the step in which it was sampled
        """
        bound, timestep, kind, width = self._bound, self._timestep, same[0]["kind"], x.shape[1]

        def steps_of(time: float) -> int:
            return max(1, min(math.floor(time / timestep + 0.5), LATE))

        def duration_of(one: Table) -> int:
            return math.floor(one["time"] / timestep + 0.5) if kind == DELAY else steps_of(one["time"])

        def keep_of(one: Table) -> float:
            time = one["correlation_time"]
            return math.exp(-timestep / time) if time > 0.0 else 0.0

        def strength_of(one: Table) -> Any:
            strength = np.broadcast_to(one["strength"] or 0.0, width).astype(float)
            if has_stamp:
                strength[-1] = float(kind == SCALE)
            return strength

        fault = _Fault()
        fault.kind = kind
        fault.start = bound.integers([step_at(one["start"], timestep) for one in same])
        fault.end = bound.integers([step_at(one["end"], timestep) for one in same])
        fault.start_time = bound.numbers([one["start"] for one in same])
        fault.strength = bound.numbers([strength_of(one) for one in same])
        fault.steps = bound.integers([duration_of(one) for one in same])
        fault.interval = bound.integers([steps_of(one["interval"]) for one in same])
        fault.keep = bound.numbers([keep_of(one) for one in same])
        fault.probability = bound.numbers([one["probability"] for one in same])
        fault.gives_zero = same[0]["gives_zero"]
        states = np.array([one["draws"] for one in same], dtype=np.uint64)
        fault.draws = wp.array(states, dtype=wp.uint64, device=bound.device)
        fault.began, fault.remaining = bound.zeros(kind=int), bound.zeros(kind=int)
        samples = max(duration_of(one) for one in same) if kind == DELAY else 1
        fault.sample = bound.zeros(max(samples, 1) * width)
        self._faults.append((fault, x))

    def reset(self, chosen: Any) -> None:
        """Forgets the chosen worlds, (count,) of bool."""
        self._bound.launch(_forget, [chosen, self.step])
        for fault, _ in self._faults:
            self._bound.launch(_forget_fault, [chosen, fault])

    def apply(self) -> None:
        for fault, x in self._faults:
            self._bound.launch(_see, [fault, self.step, self._timestep, x])
        self._bound.launch(_count, [self.step])


class MeasurementFaults:
    """Those of one arm in all worlds."""

    def __init__(self, bound: BoundRobot, measured: Any, timestep: float) -> None:
        """
        :param measured: the `Step` of the arm
        :raises ModelError: a channel that worlds do not have
        """
        self._bound, self._effects = bound, Effects(bound, timestep)
        lists = [_faults_of(table) for table in bound.tables]
        self.seen = Step()  #: the step as the controller sees it: with faults
        for name in measured._cls.vars:
            setattr(self.seen, name, getattr(measured, name))
        self._copies = []
        self._turned: tuple[Any, ...] = ()  # orientations, and their rotation vectors
        for channel in sorted({one["channel"] for one in lists[0]}):
            source = getattr(measured, _CHANNELS[channel])
            seen = wp.empty_like(source)
            setattr(self.seen, _CHANNELS[channel], seen)
            self._copies.append((seen, source))
            if source.dtype is mat33:
                self._turned = seen, bound.zeros(kind=vec3)
                seen = self._turned[1]
            of_channel = [[one for one in each if one["channel"] == channel] for each in lists]
            for same in zip(*of_channel, strict=True):
                self._effects.add(same, flat(seen, bound.count))

    def reset(self, chosen: Any) -> None:
        """Forgets the chosen worlds, (count,) of bool."""
        self._effects.reset(chosen)

    def apply(self) -> None:
        """Makes what is seen in this step from what is measured."""
        if not self._copies:
            return
        for seen, source in self._copies:
            wp.copy(seen, source)
        if self._turned:
            self._bound.launch(_to_vectors, [*self._turned])
        self._effects.apply()
        if self._turned:
            self._bound.launch(_to_frames, [*self._turned])


def in_order(faults: Sequence[Table]) -> list[Table]:
    """In the order in which they act on a channel."""
    return sorted(faults, key=lambda one: max(one["kind"], _LAST_OF_VALUE))


def _faults_of(table: Table) -> list[Table]:
    """Of one world, in the order in which they act on a channel."""
    faults = [one for one in table["measurement_faults"] if one["channel"] not in _UNUSED]
    for one in faults:
        if one["channel"] not in _CHANNELS:
            raise td.ModelError(
                f"fault {one['name']}: channel = {one['channel']}: must be {' or '.join(_CHANNELS)} in worlds"
            )
    return in_order(faults)
