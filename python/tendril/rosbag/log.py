"""Makes a recording of the messages of a bag."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tendril._errors import ModelError, OutputError
from tendril._recorded import RecordedRun
from tendril._recording_layout import LATEST
from tendril.experiment import Experiment
from tendril.rosbag.channels import channels
from tendril.rosbag.messages import NS, seconds
from tendril.rosbag.reader import Track, read_tracks

Array = npt.NDArray[Any]
_MOST_ROWS = 10_000_000
#: Of a row: the datasets of what a log may have, and of what it never has.
_KNOWN = ("qpos", "qvel", "ctrl", "sensordata", "mocap/pos", "mocap/quat")
_UNKNOWN = ("act", "plugin_state")


def import_bag(
    bag: Path, scene: Path, out: Path, timestep: float | None = None, renamed: Mapping[str, str] = {}
) -> list[str]:
    """Writes the recording; returns notices.

    :param scene: robot, scene or experiment
    :param timestep: of rows that are evenly spaced, s; none: a row for each time of a message
    :param renamed: topics of the scene by those of the bag
    :raises ModelError: one line
    """
    _require_own(out)
    part = out.with_name(f".{out.stem}.{os.getpid()}.h5")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with Experiment(scene).start(duration=1e-9) as run:
            run.record(part, f"a robot ({bag.name})")
            run.run()
        with RecordedRun(part) as empty:
            tracks, notices = read_tracks(bag, channels(empty), renamed)
            mocap = {name: np.array(empty.row_of(name, 0)) for name in ("mocap/pos", "mocap/quat")}
        stamps = _stamps(bag, tracks, timestep)
        _write(part, bag, tracks, stamps, mocap)
        os.replace(part, out)
        return notices
    except OSError as error:
        if error.errno is None:
            raise
        raise OutputError(f"{out}: could not be written: {os.strerror(error.errno)}") from None
    finally:
        part.unlink(missing_ok=True)


def _require_own(out: Path) -> None:
    """Throws ModelError for a file that is no log."""
    if out.exists():
        with RecordedRun(out) as earlier:
            if not earlier.is_log:
                raise ModelError(f"{out}: exists, and no import has written it: must be another folder")


def _stamps(bag: Path, tracks: Sequence[Track], timestep: float | None) -> npt.NDArray[np.int64]:
    """The times of the rows, ns."""
    union = np.unique(np.concatenate([np.empty(0, np.int64), *(track.stamps for track in tracks)]))
    if len(union) < 2:
        raise ModelError(f"{bag}: has messages of {len(union)} times: must have two")
    if union[-1] - union[0] > LATEST * NS:
        early = next(track for track in tracks if track.stamps[0] == union[0])
        limit = f"must be at most {LATEST:g} s before the last, {seconds(int(union[-1]))}"
        raise ModelError(f"{bag}: {early.channel.topic}: at {seconds(int(union[0]))}: stamp: {limit}")
    if timestep is None:
        return union
    count = int((union[-1] - union[0]) / NS / timestep) + 1
    if count > _MOST_ROWS:
        raise ModelError(f"--timestep: {timestep:g}: makes {count} rows: must be at most {_MOST_ROWS}")
    return np.asarray(union[0] + np.rint(np.arange(count) * (timestep * NS)).astype(np.int64))


def _write(
    part: Path, bag: Path, tracks: Sequence[Track], stamps: npt.NDArray[np.int64], mocap: Mapping[str, Array]
) -> None:
    """Replaces the rows of a recording of the scene."""
    import h5py

    n = len(stamps)
    with h5py.File(part, "r+", libver=("v110", "v110")) as file:
        group = file["rollout_0"]
        rows = {name: np.full((n, *group[name].shape[1:]), np.nan) for name in (*_KNOWN, *_UNKNOWN)}
        for name, pose in mocap.items():  # the scene's, where the log has none
            rows[name][:] = pose
        known = _fill(rows, tracks, stamps)
        rows |= {"time": (stamps - stamps[0]) / NS, "step": np.arange(n), "step_time_us": np.zeros(n)}
        rows |= {name: np.zeros(n, int) for name in ("contact/start", "contact/count")}
        lengths = {f"contact/{name}": 0 for name in ("geom1", "geom2", "distance", "position", "force")}
        lengths |= {"integration/row": 1, "integration/state": 1}
        for name, length in (lengths | dict.fromkeys(rows, n)).items():
            group[name].resize(length, axis=0)
        for name, values in rows.items():
            group[name][...] = values
        group["rows"][()] = n
        group.attrs.modify("timestep", float(np.median(np.diff(stamps))) / NS)
        _write_texts(group["texts"], bag, known)


def _fill(rows: Mapping[str, Array], tracks: Sequence[Track], stamps: npt.NDArray[np.int64]) -> set[int]:
    """Returns the columns of `sensordata` that messages have."""
    known = set()
    for track in tracks:
        values = track.at(stamps)
        for k, (name, column) in enumerate(track.channel.columns):
            if track.given[k]:
                rows[name.replace("mocap_", "mocap/")].reshape(len(stamps), -1)[:, column] = values[:, k]
                if name == "sensordata":
                    known.add(column)
    return known


def _write_texts(texts: Any, bag: Path, known: set[int]) -> None:
    """Names the bag, and takes the names of sensors without messages and what was simulated alone."""
    import h5py

    sensors = json.loads(texts["sensors"][0])
    for sensor in sensors:
        if not known.issuperset(range(sensor["address"], sensor["address"] + sensor["dimension"])):
            sensor |= {"name": "", "quantity": ""}
    for name, text in (("sensors", json.dumps(sensors)), ("log", str(bag)), ("faults", "")):
        if name in texts:
            del texts[name]
        if text:
            data = text.encode()
            texts.create_dataset(name, data=np.array([data], h5py.string_dtype("utf-8", len(data))))
