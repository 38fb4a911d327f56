"""Motions for `tendril identify`: an arm that is at rest under the first row of a table, stepped by the engine under
the others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from tendril._errors import refuse
from tendril.identify.data import Data
from tendril.identify.statics import Point, Statics

Array = npt.NDArray[np.float64]
MOST_STEPS = 1_000_000  #: of a motion
LARGEST_RATE = 1e6  #: of a coordinate, 1/s or m/s: above, a simulation has diverged


@dataclass(frozen=True)
class Inputs:
    """Inputs of one motion: first on the arm at rest, then in each step."""

    ctrl: Array  # (1 + steps, nu)
    gravity: Array  # (1 + steps, 3)
    forces: Array  # (1 + steps, markers, 3)
    moments: Array  # (1 + steps, markers, 3)
    rows: list[int]
    steps: Array  # of the rows, in steps from the first


def check_times(data: Data, timestep: float) -> None:
    """Refuses rows that are closer than steps, and motions of too many steps."""
    assert data.time is not None
    for number in range(int(data.motion[-1]) + 1):
        rows = np.flatnonzero(data.motion == number)
        time = data.time[rows]
        apart, long = np.diff(time), float(time[-1] - time[0])
        file = data.origins[rows[0]].rpartition(":")[0]
        is_close = apart < timestep * (1 - 1e-9)
        if is_close.any():
            row = int(np.argmax(is_close))
            hint = "; are the times 1000 times too small?" if long < 20 * timestep else ""
            raise refuse(
                data.origins[rows[row + 1]],
                f"t: {apart[row]:g} s after the row before, less than the time step of {timestep:g} s: must be at "
                f"least that, or --timestep less{hint}",
            )
        if long > MOST_STEPS * timestep:
            raise refuse(
                file,
                f"t: {long:g} s, more than {MOST_STEPS} steps of {timestep:g} s: are they ms? Then name the column "
                f"t_ms",
            )


def inputs(data: Data, rows: Sequence[int], timestep: float, between: str) -> list[Inputs]:
    """Returns the inputs of the motions that these rows are of, each up to its last row."""
    assert data.time is not None
    found = []
    for number in sorted({int(data.motion[row]) for row in rows}):
        own = [row for row in rows if data.motion[row] == number]
        table = np.flatnonzero(data.motion == number)
        time = data.time[table] - data.time[table[0]]
        steps = (data.time[own] - data.time[table[0]]) / timestep
        ends = np.arange(math.ceil(steps.max() - 1e-9) + 1) * timestep
        ctrl, gravity, forces, moments = (
            _acting(time, values[table], ends, between)
            for values in (data.ctrl, data.gravity, data.forces, data.moments)
        )
        found.append(Inputs(ctrl, gravity, forces, moments, own, steps))
    return found


def _acting(time: Array, values: Array, ends: Array, between: str) -> Array:
    """The first row, and the mean values in the steps between `ends`."""
    flat = values.reshape(len(values), -1)
    if between == "linear":
        middle = (ends[:-1] + ends[1:]) / 2
        acting = np.array([np.interp(middle, time, column) for column in flat.T]).reshape(flat.shape[1], len(middle)).T
    else:
        near = 1e-9 * (time[-1] - time[0])  # rounding: a row at the end of a step is of the next
        first = np.searchsorted(time, ends[:-1] + near, side="right") - 1
        last = np.searchsorted(time, ends[1:] - near, side="right") - 1
        fraction = np.where(first == last, 0.0, (ends[1:] - time[last]) / np.diff(ends))[
            :, None
        ]  # rows are not closer than steps
        acting = (1 - fraction) * flat[first] + fraction * flat[last]
    return np.concatenate((flat[:1], acting)).reshape(-1, *values.shape[1:])


def simulate(model: Any, points: Sequence[Point], given: Inputs) -> Array | None:
    """Places of the points at the rows, (rows, points, 3) m, between two steps in proportion; None: no equilibrium to
    start from, or the simulation diverged. Raises ValueError for a model that Statics cannot hold."""
    statics = Statics(model, points, most_parts=8)
    data = statics.data
    low, high = np.where(model.actuator_ctrllimited.astype(bool), model.actuator_ctrlrange.T, [[-np.inf], [np.inf]])
    ctrl = np.clip(given.ctrl, low, high)
    try:
        rest = statics.solve(given.gravity[0], list(given.forces[0]), list(given.moments[0]), ctrl[0])
    except ArithmeticError:
        return None
    mujoco.mj_resetData(model, data)
    data.qpos[:] = rest
    filtered = np.flatnonzero(model.actuator_actadr >= 0)
    data.act[model.actuator_actadr[filtered]] = ctrl[0][filtered]
    before = np.floor(given.steps + 1e-9).astype(int)
    requested = set(before) | set(before + 1)
    places: dict[int, Array] = {}
    for step in range(len(ctrl)):
        now = step + 1
        loads = [
            k
            for k in range(len(points))
            if now < len(ctrl) and (given.forces[now, k].any() or given.moments[now, k].any())
        ]
        if step in requested or loads:
            statics.move_to(np.array(data.qpos))
            places[step] = statics.places()
        if now == len(ctrl):
            break
        data.qfrc_applied[:] = 0.0
        for k in loads:
            mujoco.mj_applyFT(
                model,
                data,
                given.forces[now, k],
                given.moments[now, k],
                statics.place(k),
                points[k][0],
                data.qfrc_applied,
            )
        data.ctrl[:] = ctrl[now]
        model.opt.gravity[:] = given.gravity[now]
        mujoco.mj_step(model, data)
        if not np.abs(data.qvel).max(initial=0.0) < LARGEST_RATE:
            return None
    fraction = np.maximum(given.steps - before, 0.0)[:, None, None]
    after = np.minimum(before + 1, len(ctrl) - 1)
    return np.asarray(
        (1 - fraction) * np.stack([places[k] for k in before]) + fraction * np.stack([places[k] for k in after])
    )
