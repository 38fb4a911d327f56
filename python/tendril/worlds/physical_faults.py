"""Faults of the body and its surroundings: what they change of the model, and forces and setpoints that they impose.

What they change is computed by the C++ code when the worlds are made, for each span of steps between two changes.
Source: docs/reference/experiment_file.md, "Of the body and its surroundings".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import mujoco
import mujoco_warp as mjw
import numpy as np
import numpy.typing as npt
import warp as wp

from tendril import _sim
from tendril.worlds.model import GRAVITY, Numbers, batched_fields, flat, numbers_of, what_differs
from tendril.worlds.tables import stacked

FORCES = "xfrc_applied"
LATE = 2**31 - 1  # a step that is never made
LARGEST_SUM = 1e7  # steps whose times are added up


@wp.kernel(module="unique", enable_backward=False)
def _change(
    step: wp.array(dtype=int),
    first: wp.array2d(dtype=int),  # steps of the spans, a row for each world, or one
    table: wp.array3d(dtype=float),  # (rows, spans, entries)
    place: wp.array(dtype=int),  # of each entry
    numbers: wp.array2d(dtype=float),  # of a field, a row for each world
):
    world, entry = wp.tid()
    span = wp.int32(0)
    for later in range(1, first.shape[1]):
        if step[world] >= first[world % first.shape[0], later]:
            span = later
    numbers[world, place[entry]] = table[world % table.shape[0], span, entry]


@wp.struct
class _Stuck:
    """Stuck actuators, one after the other: the later one counts."""

    start: wp.array2d(dtype=int)  # steps, a row for each world, or one
    end: wp.array2d(dtype=int)
    control: wp.array(dtype=int)
    held: wp.array2d(dtype=float)  # setpoints, a row for each world
    wanted: wp.array2d(dtype=float)


@wp.kernel(module="unique", enable_backward=False)
def _catch(step: wp.array(dtype=int), stuck: _Stuck, ctrl: wp.array2d(dtype=float)):
    """The setpoints of the last step, at the beginning of this one."""
    world = wp.tid()
    for k in range(stuck.control.shape[0]):
        if step[world] == stuck.start[world % stuck.start.shape[0], k]:
            stuck.held[world, k] = ctrl[world, stuck.control[k]]


@wp.kernel(module="unique", enable_backward=False)
def _hold(step: wp.array(dtype=int), stuck: _Stuck, ctrl: wp.array2d(dtype=float)):
    world = wp.tid()
    row = world % stuck.start.shape[0]
    for k in range(stuck.control.shape[0]):
        i = stuck.control[k]
        stuck.wanted[world, k] = ctrl[world, i]
        if step[world] >= stuck.start[row, k] and step[world] < stuck.end[row, k]:
            ctrl[world, i] = stuck.held[world, k]


@wp.kernel(module="unique", enable_backward=False)
def _release(stuck: _Stuck, ctrl: wp.array2d(dtype=float)):
    world = wp.tid()
    for j in range(stuck.control.shape[0]):
        k = stuck.control.shape[0] - 1 - j
        ctrl[world, stuck.control[k]] = stuck.wanted[world, k]


@lru_cache(maxsize=1024)
def step_at(time: float, timestep: float) -> int:
    """The first step that begins at this time, s, or later; as the engine adds up the time."""
    steps = time / timestep + 2.0
    if not steps < LATE:
        return LATE
    if steps > LARGEST_SUM:
        return math.ceil(time / timestep)
    return int(np.searchsorted(np.cumsum(np.full(int(steps), timestep)), time)) + 1 if time > 0.0 else 0


class Spans:
    """What the faults of one seed do, in each span of steps between two changes."""

    def __init__(self, faults: str, model: mujoco.MjModel) -> None:
        """Puts those that act in the first step into the model.

        :param faults: text, as of `Run.faults`
        :param model: without faults
        """
        physical, fields, h = _sim.PhysicalFaults(faults, model), batched_fields(mjw.Model), model.opt.timestep
        #: (control, first step, step after the last)
        self.stuck = [
            (int(model.actuator_ctrladr[actuator]), step_at(start, h), step_at(end, h))
            for actuators, start, end in physical.take_stuck()
            for actuator in actuators
        ]
        self.model, times = model, physical.change_times()
        last = {step_at(time, h): time for time in (0.0, *times)}  # change at these steps
        last.pop(LATE, None)
        self.first = list(last)  #: steps of the spans
        self.changes: Numbers = {}  #: fields that change, and forces, a row for each span
        if not times:
            return
        data, numbers = mujoco.MjData(model), []
        for time in last.values():
            data.time = time
            physical.apply(model, data)
            now = numbers_of(model, fields) | {FORCES: data.xfrc_applied}
            numbers.append({name: value.copy() for name, value in now.items()})
        data.time = last[0]
        physical.apply(model, data)
        self.changes = what_differs(numbers)
        if numbers[0][FORCES].any():
            self.changes[FORCES] = np.stack([one[FORCES] for one in numbers])

    def rows(self, name: str) -> npt.NDArray[Any]:
        """The numbers of a field in each span, or in all of them."""
        if name in self.changes:
            return self.changes[name].reshape((len(self.first), -1))
        if name == FORCES:
            return np.zeros((1, 6 * self.model.nbody))
        return numbers_of(self.model, [name])[name].reshape((1, -1))


class PhysicalFaults:
    """Faults of all worlds that begin or end, on the present device."""

    def __init__(self, spans: Sequence[Spans], model: Any, data: Any) -> None:
        """
        :param spans: one, or one for each world
        :param model: MuJoCo Warp's, with a row for each world of all that changes
        """
        count = data.nworld
        self._count, self._data = count, data
        first = stacked([np.array(one.first + [LATE], dtype=np.int32) for one in spans])
        self._first = wp.array(first, dtype=int)
        self._changes = []
        for name in sorted({name for one in spans for name in one.changes}):
            rows = stacked([one.rows(name) for one in spans])
            same = 0.0 if name == FORCES else rows[:, :1]
            place = np.flatnonzero((rows != same).any(axis=(0, 1)))
            owner = {FORCES: data, GRAVITY: model.opt}.get(name, model)
            table = wp.array(rows[:, :, place], dtype=float), wp.array(place.astype(np.int32), dtype=int)
            self._changes.append((*table, flat(getattr(owner, name), count)))
        self._stuck = None
        if spans[0].stuck:
            stuck = self._stuck = _Stuck()
            bounds = stacked([np.array(one.stuck, dtype=np.int32) for one in spans])  # (rows, stuck, 3)
            stuck.control = wp.array(bounds[0, :, 0], dtype=int)
            stuck.start, stuck.end = wp.array(bounds[:, :, 1], dtype=int), wp.array(bounds[:, :, 2], dtype=int)
            stuck.held, stuck.wanted = (wp.zeros((count, bounds.shape[1]), dtype=float) for _ in range(2))

    def begin_step(self, step: Any) -> None:
        """
        :param step: of each world
        """
        for table, place, numbers in self._changes:
            inputs = [step, self._first, table, place, numbers]
            wp.launch(_change, (self._count, len(place)), inputs=inputs)
        if self._stuck is not None:
            wp.launch(_catch, self._count, inputs=[step, self._stuck, self._data.ctrl])

    def before_actuation(self, step: Any) -> None:
        """After the controllers."""
        if self._stuck is not None:
            wp.launch(_hold, self._count, inputs=[step, self._stuck, self._data.ctrl])

    def end_step(self) -> None:
        if self._stuck is not None:
            wp.launch(_release, self._count, inputs=[self._stuck, self._data.ctrl])
