"""Recordings as steps of data sets.

Observation k is the state of row m k, action k the controls of row m k + 1: what was in force in the step after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tendril._errors import ModelError
from tendril._meant import meant
from tendril.recording import Recording

Array = npt.NDArray[Any]
STATE = ("qpos", "qvel", "sensordata")
PARTS = ("qpos", "qvel", "act", "sensordata", "plugin_state", "mocap_pos", "mocap_quat")


@dataclass(frozen=True)
class Choice:
    """Choice of what is exported of every recording."""

    fps: float | None = None  #: default: every row; of mcap and rrd 50
    observation: Sequence[str] = STATE
    action: str = "ctrl"
    reward: str | None = None  #: sensor or wall_force, after the step; with a leading minus: negated; default: 0
    cameras: Sequence[
        str
    ] = ()  #: of lerobot and robomimic: whose images are observations; empty name: that of pictures
    size: tuple[int, int] = (640, 480)  #: width and height of the images
    left_out: frozenset[str] = frozenset()  #: sensors that are not in `sensordata`


@dataclass(frozen=True)
class Steps:
    """A recording as n steps."""

    name: str
    seed: int
    fps: float
    rows: Array  # (n + 1)
    time: Array  # (n + 1)
    observations: dict[str, Array]  # (n + 1, d)
    actions: Array  # (n, d)
    rewards: Array  # (n)
    diverged: bool
    recording: Recording
    choice: Choice

    def scaled_actions(self) -> tuple[Array, Array, Array]:
        """Actions from the limits of the actuators to [-1, 1], and the limits; what has none is unchanged, with the
        limits -1 and 1: an actuator without, and what controllers report."""
        actions = self.actions.astype(float)
        low, high = -np.ones(actions.shape[1]), np.ones(actions.shape[1])
        if self.choice.action == "ctrl":
            model = self.recording.load_model(unknown_do_nothing=True)
            for i in np.flatnonzero(model.actuator_ctrllimited):
                if model.actuator_ctrlnum[i] == 1:
                    k = model.actuator_ctrladr[i]
                    low[k], high[k] = model.actuator_ctrlrange[i]
                    actions[:, k] = np.clip(2.0 * (actions[:, k] - low[k]) / (high[k] - low[k]) - 1.0, -1.0, 1.0)
        return actions, low, high

    @property
    def states(self) -> Array:
        """(n + 1, d): the observations side by side."""
        return np.concatenate(list(self.observations.values()), axis=1)


def stride(recording: Recording, fps: float | None) -> int:
    """Rows between two steps."""
    highest = 1.0 / float(recording.attributes["timestep"])
    if fps is None:
        return 1
    if not 0 < fps <= highest * (1 + 1e-9):
        raise ModelError(f"--fps: {fps:g}: must be in (0, {highest:g}]")
    every = round(highest / fps)
    if abs(every * fps / highest - 1) > 1e-6:
        raise ModelError(f"--fps: {fps:g}: must be {highest:g} divided by a whole number, such as {highest / every:g}")
    if recording.is_log and np.abs(np.diff(recording.time) * highest - 1).max(initial=0.0) > 1e-3:
        raise ModelError(f"{recording.file}: its rows are not evenly spaced: tendril import --timestep makes such rows")
    return every


def _part(recording: Recording, name: str) -> Array:
    if name in PARTS:
        values = getattr(recording, name)
        return np.asarray(values.reshape(len(values), -1))
    try:
        values = recording.sensor(name)
    except ModelError:
        known = [*PARTS, *(sensor["name"] for sensor in recording.tables["sensors"] if sensor["name"])]
        raise ModelError(f"--observation: {name}: must be one of {', '.join(known)}{meant(name, known)}") from None
    return np.asarray(values.reshape(len(values), -1))


def unknown_sensors(recording: Recording) -> list[str]:
    """Returns the sensors that are NaN in every row: quantities that this use of a controller does not have."""
    unknown: Array = np.asarray(np.isnan(recording.sensordata).all(axis=0))
    return [
        sensor["name"]
        for sensor in recording.tables["sensors"]
        if sensor["name"] and unknown[sensor["address"] : sensor["address"] + sensor["dimension"]].all()
    ]


def observed_columns(recording: Recording, choice: Choice) -> Array:
    """The columns of `sensordata` that are not left out."""
    columns = [
        np.arange(sensor["address"], sensor["address"] + sensor["dimension"])
        for sensor in recording.tables["sensors"]
        if sensor["name"] not in choice.left_out
    ]
    return np.concatenate([np.empty(0, int), *columns])


def _observation(recording: Recording, name: str, choice: Choice) -> Array:
    values = _part(recording, name)
    return values[:, observed_columns(recording, choice)] if name == "sensordata" else values


def _actions(recording: Recording, action: str) -> Array:
    if action == "ctrl":
        values: Array = recording.ctrl
    elif action == "command":
        values = np.concatenate(
            [recording.sensordata[:, :0]]
            + [
                recording.sensordata[:, sensor["address"] : sensor["address"] + sensor["dimension"]]
                for sensor in recording.tables["sensors"]
                if sensor["quantity"] == "command"
            ],
            axis=1,
        )
    else:
        raise ModelError(f"--action: {action}: must be ctrl or command")
    if values.shape[1] == 0:
        raise ModelError(f"{recording.file}: {action}: has none: a data set needs actions")
    return values


def _rewards(recording: Recording, reward: str | None) -> Array:
    if reward is None:
        return np.zeros(recording.rows)
    name, sign = reward.removeprefix("-"), -1.0 if reward.startswith("-") else 1.0
    if name == "wall_force":
        return sign * recording.wall_force()
    try:
        values = recording.sensor(name)
    except ModelError:
        values = np.empty((0, 0))
    if values.ndim != 1:
        sensors = recording.tables["sensors"]
        known = ["wall_force", *(s["name"] for s in sensors if s["name"] and s["dimension"] == 1)]
        raise ModelError(
            f"--reward: {reward}: must be one of {', '.join(known)}, or with a leading minus{meant(reward, known)}"
        )
    return np.asarray(sign * values)


def steps_of(name: str, recording: Recording, choice: Choice) -> Steps:
    """Throws ModelError for a choice that the recording does not have."""
    if recording.rows < 2:
        raise ModelError(f"{recording.file}: has {recording.rows} rows: a data set needs a step")
    every = stride(recording, choice.fps)
    rows = np.arange(0, recording.rows, every)
    if len(rows) < 2:
        raise ModelError(f"{recording.file}: has {recording.rows} rows, a step {every}: a data set needs a step")
    after = rows[:-1] + 1
    return Steps(
        name,
        int(recording.attributes.get("seed", 0)),
        1.0 / (every * float(recording.attributes["timestep"])),
        rows,
        recording.time[rows],
        {part: _observation(recording, part, choice)[rows] for part in choice.observation},
        _actions(recording, choice.action)[after],
        _rewards(recording, choice.reward)[rows[1:]],
        str(recording.attributes["outcome"]).startswith("diverged"),
        recording,
        choice,
    )
