"""Motions for `tendril identify` from recordings: of a run, or the log of a robot that `tendril drive` drove."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from tendril._errors import ModelError, refuse
from tendril._meant import meant_or_all
from tendril._recorded import RecordedRun
from tendril.identify.data import Data, Marker

Array = npt.NDArray[np.float64]
ENDING = ".h5"
READING = "_reading"


def read_recording(file: Path, model: Any, sensors: Sequence[Mapping[str, Any]], gravity: Sequence[float]) -> Data:
    """The rows of a recording as a motion: commands, and where trackers and markers were when they were sampled.

    :param model: of the robot file, whose names begin with `_`
    :param sensors: the `[[sensor]]` tables of the robot file
    :raises ModelError: one line
    """
    with RecordedRun(file) as recording:
        prefix = _prefix(recording)
        late = json.loads(recording.texts["driver"])["link_delay"] if "driver" in recording.texts else 0.0
        timestep = float(recording.attributes["timestep"])
        first = 0 if recording.is_log else 1  # of a run, row 0 is from before the first step
        time = _times(recording)[first:]
        ctrl = _commands(recording, model, prefix)[first:]
        markers: dict[str, Marker] = {}
        measured = []
        for name, site, delay in _places(model, sensors):
            try:
                readings = recording.sensor(prefix + name + READING)[first:]
            except ModelError:
                continue
            markers[site] = Marker(site)
            measured.append(_sampled(readings, round((delay + late) / timestep)))
    if not markers:
        raise refuse(file, "has no readings of a tip_tracker or markers of the robot file: must have some")
    n = len(ctrl)
    nothing = np.zeros((n, len(markers), 3))
    return Data(
        file,
        markers,
        [f"{file}:{row}" for row in range(first, first + n)],
        ctrl,
        np.tile(np.asarray(gravity, dtype=float), (n, 1)),
        nothing,
        nothing.copy(),
        np.stack(measured, axis=1),
        np.ones(n),
        np.zeros(n, dtype=bool),
        time - time[0],
        np.zeros(n, dtype=int),
    )


def _times(recording: RecordedRun) -> Array:
    time = recording.due_time
    if len(time) < 3 or (np.diff(time) <= 0).any():
        raise refuse(recording.file, "must have at least three rows, each later than the one before")
    return time


def _prefix(recording: RecordedRun) -> str:
    robots = recording.tables["robots"]
    if len(robots) != 1 or robots[0]["suffix"]:
        raise refuse(recording.file, f"has {len(robots)} robots: must have one, without a suffix")
    return str(robots[0]["prefix"])


def _commands(recording: RecordedRun, model: Any, prefix: str) -> Array:
    """(rows, nu)"""
    addresses = {actuator["name"]: actuator["address"] for actuator in recording.tables["actuators"]}
    columns = []
    for i in range(model.nu):
        name = prefix + model.actuator(i).name[1:]
        if name not in addresses:
            raise refuse(recording.file, f"actuator {name}: is missing: {meant_or_all(name, list(addresses))}")
        columns.append(addresses[name])
    return np.asarray(recording.ctrl[:, columns])


def _places(model: Any, sensors: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, float]]:
    """Name, site and delay, s, of the sensors that tell where a point of the robot is."""
    found = []
    for i in range(model.nsensor):
        sensor = model.sensor(i)
        if sensor.type[0] != mujoco.mjtSensor.mjSENS_FRAMEPOS or sensor.objtype[0] != mujoco.mjtObj.mjOBJ_SITE:
            continue
        name = sensor.name[1:]
        table = next((table for table in sensors if name.startswith(f"{table.get('name')}_")), None)
        if table is not None:
            found.append((name, model.site(int(sensor.objid[0])).name[1:], float(table.get("delay", 0.0))))
    return found


def _sampled(readings: Array, delay: int) -> Array:
    """Where the point was at the rows in which it was sampled; NaN: not seen.

    :param delay: rows from the sample to its reading
    """
    is_new: npt.NDArray[np.bool_] = np.asarray(np.isfinite(readings).all(axis=1))
    is_new[1:] &= (readings[1:] != readings[:-1]).any(axis=1)
    is_new[0] = False  # what was there before
    seen = np.full_like(readings, np.nan)
    rows = np.flatnonzero(is_new)
    rows = rows[rows >= delay]
    seen[rows - delay] = readings[rows]
    return seen
