"""Makes a recording of the messages of a bag."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tendril._errors import ModelError
from tendril._recorded import RecordedRun
from tendril._recording_layout import LATEST
from tendril.experiment import Experiment
from tendril.export.files import atomic_hdf5
from tendril.rosbag.channels import channels
from tendril.rosbag.messages import NS, seconds
from tendril.rosbag.reader import Track, read_tracks

Array = npt.NDArray[Any]
_MOST_ROWS = 10_000_000
#: Of a row: the datasets of what a log may have, and of what it never has.
_KNOWN = ("qpos", "qvel", "ctrl", "sensordata")
_UNKNOWN = ("act", "plugin_state")
#: What the scene says where the log has none.
_SCENE = ("mocap/pos", "mocap/quat")


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
    with tempfile.TemporaryDirectory(prefix="tendril-") as folder:
        with Experiment(scene).start(duration=1e-9) as run:
            run.record(Path(folder) / "empty.h5", f"a robot ({bag.name})")
            run.run()
        with RecordedRun(Path(folder) / "empty.h5") as empty:
            tracks, notices = read_tracks(bag, channels(empty), renamed)
            stamps = _stamps(bag, tracks, timestep)
            with atomic_hdf5(out) as (file, _):
                empty.copy_to(file)
                _write(file["rollout_0"], bag, tracks, stamps)
    return notices


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


def _write(group: Any, bag: Path, tracks: Sequence[Track], stamps: npt.NDArray[np.int64]) -> None:
    """Replaces the rows of a recording of the scene."""
    n = len(stamps)
    rows = {name: np.full((n, *group[name].shape[1:]), np.nan) for name in (*_KNOWN, *_UNKNOWN, *_SCENE)}
    for name in _SCENE:
        rows[name][:] = group[name][0]
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
