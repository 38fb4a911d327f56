"""What the computer of a robot reads of its sensors, one thread for each world: plugin/sensor_readings.cpp."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

import tendril as td
from tendril.worlds.arm import number, rows
from tendril.worlds.measurement_faults import Effects, in_order, rotation_vector
from tendril.worlds.tables import BoundRobot, Table


@wp.struct
class Readings:
    """Sensors of the engine that are read; their numbers are in one row for each world."""

    count: int
    first: wp.array(dtype=int)  # column of each, and of what comes after the last
    width: wp.array(dtype=int)  # numbers; 3 of an orientation, a rotation vector. The number of the step comes after
    address: wp.array(dtype=int)  # in sensordata; -1: something else writes `late`
    is_orientation: wp.array(dtype=int)
    is_late: wp.array(dtype=int)
    numbers: rows
    late: rows  # memory: of the end of the last step
    sample: wp.array2d(dtype=int)  # memory: number of the step of the last one
    has_arrived: wp.array2d(dtype=int)  # in this step


@wp.kernel(module="unique", enable_backward=False)
def _sample(readings: Readings, step: wp.array(dtype=int), sensordata: wp.array2d(dtype=float)):
    """The numbers of this step, without faults."""
    world = wp.tid()
    for i in range(readings.count):
        first, width, address = readings.first[i], readings.width[i], readings.address[i]
        if readings.is_late[i] != 0:
            for c in range(width):
                readings.numbers[world, first + c] = readings.late[world, first + c]
        elif readings.is_orientation[i] != 0:
            w, x = number(sensordata[world, address]), number(sensordata[world, address + 1])
            y, z = number(sensordata[world, address + 2]), number(sensordata[world, address + 3])
            frame = wp.quat_to_matrix(wp.normalize(wp.quaternion(x, y, z, w, dtype=number)))
            v = rotation_vector(frame)
            for c in range(3):
                readings.numbers[world, first + c] = v[c]
        else:
            for c in range(width):
                readings.numbers[world, first + c] = number(sensordata[world, address + c])
        readings.numbers[world, first + width] = number(step[world])


@wp.kernel(module="unique", enable_backward=False)
def _receive(readings: Readings):
    world = wp.tid()
    for i in range(readings.count):
        at = wp.int32(wp.rint(readings.numbers[world, readings.first[i] + readings.width[i]]))
        # The first sample of a late one is of before the first step.
        arrives = at != readings.sample[world, i] and not (readings.is_late[i] != 0 and at == 0)
        readings.sample[world, i] = at
        readings.has_arrived[world, i] = wp.where(arrives, 1, 0)


@wp.kernel(module="unique", enable_backward=False)
def _keep_late(readings: Readings, sensordata: wp.array2d(dtype=float)):
    world = wp.tid()
    for i in range(readings.count):
        if readings.is_late[i] != 0 and readings.address[i] >= 0:
            for c in range(readings.width[i]):
                value = number(sensordata[world, readings.address[i] + c])
                if wp.isfinite(value):
                    readings.late[world, readings.first[i] + c] = value


@wp.kernel(module="unique", enable_backward=False)
def _forget(chosen: wp.array(dtype=bool), readings: Readings):
    world = wp.tid()
    if chosen[world]:
        for i in range(readings.count):
            readings.sample[world, i] = -1
        for i in range(readings.late.shape[1]):
            readings.late[world, i] = number(0.0)


class SensorReadings:
    """Those of one robot in all worlds."""

    def __init__(self, bound: BoundRobot, lists: Sequence[Sequence[Table]], model: Any) -> None:
        """
        :param lists: of the readings, of each world or one of all
        :raises ModelError: a sensor that worlds do not have
        """
        self._bound, self._effects = bound, Effects(bound, model.opt.timestep)
        first, prefix = lists[0], bound.tables[0]["prefix"]
        for one in first:
            if one["is_seen"]:
                raise td.ModelError(f"{bound.name}: sensor {one['name']}: camera: must not be given in worlds")
        widths = [3 if one["is_orientation"] else one["width"] for one in first]
        starts = np.cumsum([0, *(width + 1 for width in widths)])
        self.readings = readings = Readings()
        readings.count = len(first)
        readings.first, readings.width = bound.integers(starts), bound.integers(widths)
        readings.address = bound.integers(
            [model.sensor(prefix + one["name"]).adr[0] if one["drum"] < 0 else -1 for one in first]
        )
        for key in ("is_orientation", "is_late"):
            setattr(readings, key, bound.integers([one[key] for one in first]))
        readings.numbers, readings.late = bound.zeros(int(starts[-1])), bound.zeros(int(starts[-1]))
        readings.sample, readings.has_arrived = (bound.zeros(len(first), kind=int) for _ in range(2))
        for i, (start, end) in enumerate(zip(starts[:-1], starts[1:], strict=True)):
            for same in zip(*(in_order(each[i]["faults"]) for each in lists), strict=True):
                self._effects.add(same, readings.numbers[:, int(start) : int(end)], has_stamp=True)

    def reset(self, chosen: Any) -> None:
        """Forgets the chosen worlds, (count,) of bool."""
        self._effects.reset(chosen)
        self._bound.launch(_forget, [chosen, self.readings])

    def read(self, data: Any) -> None:
        """Those of this step."""
        self._bound.launch(_sample, [self.readings, self._effects.step, data.sensordata])
        self._effects.apply()
        self._bound.launch(_receive, [self.readings])

    def end_step(self, data: Any) -> None:
        """Keeps what is read of this step in the next one."""
        self._bound.launch(_keep_late, [self.readings, data.sensordata])
