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
        if left == 0 and _uniform(fault.draws[b], last) < fault.probability[b]:
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


@wp.kernel(module="unique", enable_backward=False)
def _to_vectors(frames: wp.array(dtype=mat33), vectors: wp.array(dtype=vec3)):
    """Rotation vectors of orientations."""
    world = wp.tid()
    q = wp.quat_from_matrix(frames[world])
    if q[3] < ZERO:
        q = -q
    v = vec3(q[0], q[1], q[2])
    sine = wp.length(v)
    vectors[world] = v * wp.where(sine > ZERO, number(2.0) * wp.atan2(sine, q[3]) / wp.max(sine, number(1e-300)), ZERO)


@wp.kernel(module="unique", enable_backward=False)
def _to_frames(frames: wp.array(dtype=mat33), vectors: wp.array(dtype=vec3)):
    world = wp.tid()
    v = vectors[world]
    angle = wp.length(v)
    if angle > ZERO:
        frames[world] = wp.quat_to_matrix(wp.quat_from_axis_angle(v / angle, angle))
    else:
        frames[world] = wp.identity(n=3, dtype=number)


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


class MeasurementFaults:
    """Those of one arm in all worlds."""

    def __init__(self, bound: BoundRobot, true: Any, timestep: float) -> None:
        """
        :param true: the `Step` of the arm, as measured
        :raises ModelError: a channel that worlds do not have
        """
        self._bound, self._timestep, self._step = bound, timestep, bound.zeros(kind=int)
        lists = [_faults_of(table) for table in bound.tables]
        self.seen = Step()  #: the step as the controller sees it: with faults
        for name in true._cls.vars:
            setattr(self.seen, name, getattr(true, name))
        self._copies, self._faults = [], []
        self._turned: tuple[Any, ...] = ()  # orientations, and their rotation vectors
        for channel in sorted({one["channel"] for one in lists[0]}):
            source = getattr(true, _CHANNELS[channel])
            seen = wp.empty_like(source)
            setattr(self.seen, _CHANNELS[channel], seen)
            self._copies.append((seen, source))
            if source.dtype is mat33:
                self._turned = seen, bound.zeros(kind=vec3)
                seen = self._turned[1]
            x = flat(seen, bound.count)
            of_channel = [[one for one in each if one["channel"] == channel] for each in lists]
            for same in zip(*of_channel, strict=True):
                self._faults.append((self._fault(same, x.shape[1]), x))

    def reset(self, chosen: Any) -> None:
        """Forgets the chosen worlds, (count,) of bool."""
        self._bound.launch(_forget, [chosen, self._step])
        for fault, _ in self._faults:
            self._bound.launch(_forget_fault, [chosen, fault])

    def apply(self) -> None:
        """Makes what is seen in this step from what is true."""
        for seen, source in self._copies:
            wp.copy(seen, source)
        if self._turned:
            self._bound.launch(_to_vectors, [*self._turned])
        for fault, x in self._faults:
            self._bound.launch(_see, [fault, self._step, self._timestep, x])
        if self._turned:
            self._bound.launch(_to_frames, [*self._turned])
        if self._faults:
            self._bound.launch(_count, [self._step])

    def _fault(self, same: Sequence[Table], width: int) -> Any:
        """One fault of all worlds."""
        bound, timestep, kind = self._bound, self._timestep, same[0]["kind"]

        def steps_of(one: Table) -> int:
            whole = math.floor(one["time"] / timestep + 0.5)
            return whole if kind == DELAY else max(1, min(whole, LATE))

        def keep_of(one: Table) -> float:
            time = one["correlation_time"]
            return math.exp(-timestep / time) if time > 0.0 else 0.0

        fault = _Fault()
        fault.kind = kind
        fault.start = bound.integers([step_at(one["start"], timestep) for one in same])
        fault.end = bound.integers([step_at(one["end"], timestep) for one in same])
        fault.start_time = bound.numbers([one["start"] for one in same])
        fault.strength = bound.numbers([np.broadcast_to(one["strength"] or 0.0, width) for one in same])
        fault.steps = bound.integers([steps_of(one) for one in same])
        fault.keep = bound.numbers([keep_of(one) for one in same])
        fault.probability = bound.numbers([one["probability"] for one in same])
        fault.gives_zero = same[0]["gives_zero"]
        states = np.array([one["draws"] for one in same], dtype=np.uint64)
        fault.draws = wp.array(states, dtype=wp.uint64, device=bound.device)
        fault.began, fault.remaining = bound.zeros(kind=int), bound.zeros(kind=int)
        samples = max(steps_of(one) for one in same) if kind == DELAY else 1
        fault.sample = bound.zeros(max(samples, 1) * width)
        return fault


def _faults_of(table: Table) -> list[Table]:
    """Of one world, in the order in which they act on a channel."""
    faults = [one for one in table["measurement_faults"] if one["channel"] not in _UNUSED]
    for one in faults:
        if one["channel"] not in _CHANNELS:
            raise td.ModelError(
                f"fault {one['name']}: channel = {one['channel']}: must be {' or '.join(_CHANNELS)} in worlds"
            )
    return sorted(faults, key=lambda one: max(one["kind"], _LAST_OF_VALUE))
