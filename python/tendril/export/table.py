"""Recordings as tables: CSV, Parquet and NumPy's NPZ."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tendril.export.files import atomic, has_mark
from tendril.export.steps import Choice, stride
from tendril.recording import Recording

Array = npt.NDArray[Any]


def column_names(recording: Recording) -> dict[str, list[str]]:
    """Names of the columns of every part, after the tables of names (docs/guide/export.md)."""
    place, quat = ("x", "y", "z"), ("qw", "qx", "qy", "qz")
    names = {
        part: [f"{part}.{i}" for i in range(getattr(recording, part).shape[1])]
        for part in ("qpos", "qvel", "ctrl", "act", "sensordata", "plugin_state")
    }

    def name(part: str, own: str, address: int, parts: Sequence[str]) -> None:
        for k, ending in enumerate(parts):
            if own:
                names[part][address + k] = ".".join(filter(None, (part, own, ending)))

    def numbered(count: int) -> Sequence[str]:
        return [""] if count == 1 else [str(i) for i in range(count)]

    moves = ("vx", "vy", "vz", "wx", "wy", "wz")
    for joint in recording.tables["joints"]:
        kind = joint["type"]
        name("qpos", joint["name"], joint["qpos_address"], {"free": place + quat, "ball": quat}.get(kind, ("",)))
        name("qvel", joint["name"], joint["dof_address"], {"free": moves, "ball": moves[3:]}.get(kind, ("",)))
    for part, table in (("ctrl", "actuators"), ("sensordata", "sensors")):
        for element in recording.tables[table]:
            name(part, element["name"], element["address"], numbered(element["dimension"]))
    bodies = range(recording.mocap_pos.shape[1])
    names["mocap_pos"] = [f"mocap_pos.{i}.{part}" for i in bodies for part in place]
    names["mocap_quat"] = [f"mocap_quat.{i}.{part}" for i in bodies for part in quat]
    return names


def time_series(recording: Recording, fps: float | None) -> dict[str, Array]:
    """Every m-th row as columns."""
    recording.require_rows()
    rows = np.arange(0, recording.rows, stride(recording, fps))
    columns: dict[str, Array] = {
        "step": recording.step[rows],
        "time": recording.time[rows],
        "step_time_us": recording.step_time_us[rows],
        "contacts": recording.contact_count[rows],
    }
    for part, names in column_names(recording).items():
        values = getattr(recording, part)[rows].reshape(len(rows), -1)
        columns |= {name: values[:, i] for i, name in enumerate(names)}
    return columns


def is_own_csv(file: Path) -> bool:
    """Tells whether write_csv has written the file; so the others."""
    return has_mark(file, b"step,time,step_time_us,contacts,")


def is_own_npz(file: Path) -> bool:
    return has_mark(file, b"PK", b"step_time_us.npy")


def is_own_parquet(file: Path) -> bool:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return bool((pq.read_schema(file).metadata or {}).get(b"format") == b"tendril rollout")
    except (OSError, pa.ArrowException):
        return False


def write_csv(recording: Recording, out: Path, choice: Choice) -> None:
    columns = time_series(recording, choice.fps)
    with atomic(out) as part, open(part, "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(columns)
        table.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))


def write_npz(recording: Recording, out: Path, choice: Choice) -> None:
    """An array for each part with one of its names, and all contacts; `contact_start` points into their columns."""
    recording.require_rows()
    rows = np.arange(0, recording.rows, stride(recording, choice.fps))
    arrays = {name: getattr(recording, name)[rows] for name in ("step", "time", "step_time_us")}
    for part, names in column_names(recording).items():
        arrays[part] = getattr(recording, part)[rows].reshape(len(rows), len(names))
        arrays[part + "_names"] = np.array(names, dtype=np.str_)
    contacts = recording.contact_columns()
    arrays |= {f"contact_{name}": contacts[name][rows] for name in ("start", "count")}
    arrays |= {f"contact_{name}": values for name, values in contacts.items() if name not in ("start", "count")}
    with atomic(out) as part_file, open(part_file, "wb") as stream:
        np.savez_compressed(stream, allow_pickle=False, **arrays)


def write_parquet(recording: Recording, out: Path, choice: Choice) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table(time_series(recording, choice.fps))
    about = {name: str(value) for name, value in recording.attributes.items()}
    with atomic(out) as part:
        pq.write_table(table.replace_schema_metadata(about), part, compression="zstd")
