"""Tables of static poses and motions for `tendril identify`: commands of a robot, and where points of it were
measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tendril._errors import refuse
from tendril._meant import meant_or_all
from tendril._table import AXES, TIME, UNITS, Array, check_times, read_rows, read_table

LOADS = ("force", "moment")  #: at the tip; after the name of a point and `_`, at that point
ROWS_NAMED = {"weight": 1.0, "held_out": 0.0}  #: columns of every kind of file, and their values where there is none
THOUSAND_LOW, THOUSAND_HIGH = 20.0, 0.02  #: sizes that make no sense in the unit that is stated


@dataclass(frozen=True)
class Marker:
    """A measured point: by a site of the model, or at an arc length of the straight arm, with a place in the frame
    there."""

    site: str | None
    arc: float = 0.0
    local: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass
class Data:
    """Static poses, a row each, or motions; SI units."""

    file: Path  # the first of them
    markers: dict[str, Marker]
    origins: list[str]  # of the rows: file and line
    ctrl: Array  # (n, nu)
    gravity: Array  # (n, 3)
    forces: Array  # (n, markers, 3)
    moments: Array  # (n, markers, 3)
    measured: Array  # (n, markers, 3); NaN: not seen
    weight: Array  # (n)
    held_out: npt.NDArray[np.bool_]  # (n)
    time: Array | None = None  # (n); None: static poses
    motion: npt.NDArray[np.int_] = field(
        default_factory=lambda: np.zeros(0, dtype=int)
    )  # (n), the file that a row is of

    @property
    def count(self) -> int:
        return len(self.origins)

    @property
    def what(self) -> str:
        """A word for the rows."""
        return "poses" if self.time is None else "samples"

    @property
    def seen(self) -> npt.NDArray[np.bool_]:
        """(n, markers)"""
        return np.asarray(~np.isnan(self.measured[..., 0]))


def read_markers(file: Path) -> dict[str, Marker]:
    header, *cells = read_rows(file) or [[]]
    if not header or header[0] != "point":
        raise refuse(file, "the first column must be point, the others arc, x, y, z")
    rows = [dict(zip(header, row, strict=False)) for row in cells if row]
    markers = {}
    for line, row in enumerate(rows, 2):
        numbers = {}
        for text, cell in row.items():
            stem, _, unit = str(text).rpartition("_")
            name, factor = (stem, UNITS[unit]) if stem and unit in UNITS else (str(text), 1.0)
            if name == "point":
                continue
            try:
                numbers[name] = float(cell) * factor
            except (TypeError, ValueError):
                raise refuse(f"{file}:{line}", f'{text}: "{cell}": must be a number') from None
        if set(numbers) != {"arc", *AXES} or not all(map(math.isfinite, numbers.values())):
            raise refuse(f"{file}:{line}", "must have arc, x, y and z, finite numbers")
        markers[row["point"]] = Marker(None, numbers["arc"], (numbers["x"], numbers["y"], numbers["z"]))
    return markers


@dataclass
class _Table:
    """Rows of a file, and the three columns of every vector that it may have."""

    file: Path
    names: dict[str, int]
    values: Array
    lines: list[int]
    vectors: dict[str, list[str]] = field(default_factory=dict)

    def vector(self, name: str, default: Sequence[float] = (0.0, 0.0, 0.0)) -> Array:
        if self.vectors[name][0] in self.names:
            return self.values[:, [self.names[column] for column in self.vectors[name]]]
        return np.tile(np.asarray(default, dtype=float), (len(self.lines), 1))

    def numbers(self, name: str) -> Array:
        if name in self.names:
            return self.values[:, self.names[name]]
        return np.full(len(self.lines), ROWS_NAMED[name])

    def check_columns(self, actuators: Sequence[str], points: set[str]) -> None:
        """Refuses unknown columns, commands that are missing, and vectors without all of their columns."""
        expected = [*actuators, TIME, *ROWS_NAMED, *(column for columns in self.vectors.values() for column in columns)]
        for name in self.names:
            if name not in expected:
                raise refuse(f"{self.file}:1", f"column {name}: unknown: {meant_or_all(name, expected)}")
        for name in actuators:
            if name not in self.names:
                raise refuse(
                    f"{self.file}:1", f"column {name} is missing: the command of the actuator {name}; 0 where it rests"
                )
        for name, columns in self.vectors.items():
            there = [column in self.names for column in columns]
            if not all(there) and (name in points or any(there)):
                raise refuse(f"{self.file}:1", f"column {columns[there.index(False)]} is missing")

    def check_cells(self, points: set[str]) -> None:
        """Refuses empty cells of columns that are not of a measured point."""
        point_columns = {self.names[column] for name in points for column in self.vectors[name]}
        for row, line in enumerate(self.lines):
            for name, column in self.names.items():
                if column not in point_columns and np.isnan(self.values[row, column]):
                    raise refuse(f"{self.file}:{line}", f"{name}: is empty: must be a number")

    def check_ranges(self) -> None:
        """Refuses values of ROWS_NAMED that are not allowed."""
        for name, allowed in (("weight", "must be >= 0"), ("held_out", "must be 0 or 1")):
            right = self.numbers(name) >= 0 if name == "weight" else np.isin(self.numbers(name), (0, 1))
            if not right.all():
                row = int(np.argmin(right))
                raise refuse(f"{self.file}:{self.lines[row]}", f"{name}: {self.numbers(name)[row]:g}: {allowed}")

    def measured(self, markers: Sequence[str], points: set[str]) -> Array:
        """Returns where the markers were seen, (n, markers, 3); NaN: not seen."""
        unseen = np.full((len(self.lines), 3), np.nan)
        measured = np.stack([self.vector(name) if name in points else unseen for name in markers], axis=1)
        lacking = np.isnan(measured).sum(axis=2)
        if ((lacking > 0) & (lacking < 3)).any():
            row, k = np.argwhere((lacking > 0) & (lacking < 3))[0]
            raise refuse(
                f"{self.file}:{self.lines[row]}",
                f"{markers[k]}: has some of x, y, z: must have all, or none where it was not seen",
            )
        return measured

    def loads(self, kind: str, markers: Sequence[str], loaded: Mapping[tuple[str, str], str]) -> Array:
        """Returns the forces or moments at the markers, (n, markers, 3)."""
        nothing = np.zeros((len(self.lines), 3))
        return np.stack(
            [self.vector(loaded[kind, name]) if (kind, name) in loaded else nothing for name in markers], axis=1
        )


def _loaded_points(file: Path, stems: set[str]) -> dict[tuple[str, str], str]:
    """Returns the vectors that are loads, by kind and point."""
    for load in LOADS:
        if {load, f"tip_{load}"} <= stems:
            raise refuse(f"{file}:1", f"column tip_{load}_x: is that of {load}_x: must be stated once")
    return {
        (stem if stem in LOADS else stem.rpartition("_")[2], "tip" if stem in LOADS else stem.rpartition("_")[0]): stem
        for stem in sorted(stems)
        if stem.rpartition("_")[2] in LOADS
    }


def _markers_of(
    file: Path,
    points: set[str],
    loaded: Mapping[tuple[str, str], str],
    given: Mapping[str, Marker],
    sites: Sequence[str],
) -> dict[str, Marker]:
    """Returns the measured and the loaded points: those given, otherwise sites of the model."""
    markers = {}
    for name in sorted(points | {point for _, point in loaded}):
        if name not in given and name not in sites:
            stem = name if name in points else next(stem for (_, point), stem in loaded.items() if point == name)
            raise refuse(f"{file}:1", f"column {stem}_x: no such point: {meant_or_all(name, [*given, *sites])}")
        markers[name] = given.get(name, Marker(name))
    if not points:
        raise refuse(f"{file}:1", "has no measured point: must have columns such as tip_x, tip_y, tip_z")
    return markers


def read_data(file: Path, model: Any, gravity: Sequence[float], given: dict[str, Marker]) -> Data:
    """The rows of a file for a model. Throws ModelError, one line."""
    table = _Table(file, *read_table(file))
    names, values, lines = table.names, table.values, table.lines
    actuators = [model.actuator(i).name[1:] for i in range(model.nu)]
    sites = [model.site(i).name[1:] for i in range(model.nsite)]
    stems = {name[:-2] for name in names if name[-2:] in ("_x", "_y", "_z") and name not in actuators} - {"gravity"}
    loaded = _loaded_points(file, stems)
    points = stems - set(loaded.values())
    markers = _markers_of(file, points, loaded, given, sites)
    table.vectors = {
        name: [f"{name}_{axis}" for axis in AXES] for name in [*sorted(points), "gravity", *LOADS, *loaded.values()]
    }
    table.check_columns(actuators, points)
    table.check_cells(points)
    measured = table.measured(list(markers), points)
    table.check_ranges()
    time = values[:, names[TIME]] if TIME in names else None
    if time is not None:
        check_times(file, time, lines)
    return Data(
        file,
        markers,
        [f"{file}:{line}" for line in lines],
        values[:, [names[name] for name in actuators]] if actuators else np.zeros((len(lines), 0)),
        table.vector("gravity", gravity),
        table.loads("force", list(markers), loaded),
        table.loads("moment", list(markers), loaded),
        measured,
        table.numbers("weight"),
        table.numbers("held_out") == 1,
        time,
        np.zeros(len(lines), dtype=int),
    )


def joined(tables: Sequence[Data]) -> Data:
    """The rows of several files in one, which has to have the same points in all."""
    first = tables[0]
    for other in tables[1:]:
        if (other.time is None) != (first.time is None):
            raise refuse(other.file, f"must have a column t or none, as {first.file}")
        if other.markers != first.markers:
            raise refuse(
                other.file,
                f"has the points {', '.join(other.markers)}: must have those of {first.file}, "
                f"{', '.join(first.markers)}, measured or loaded",
            )

    def stacked(name: str) -> Any:
        return np.concatenate([getattr(table, name) for table in tables])

    return replace(
        first,
        origins=[origin for table in tables for origin in table.origins],
        **{name: stacked(name) for name in ("ctrl", "gravity", "forces", "moments", "measured", "weight", "held_out")},
        time=None if first.time is None else stacked("time"),
        motion=np.repeat(np.arange(len(tables)), [table.count for table in tables]),
    )


def check_units(data: Data, model: Any, length: float) -> None:
    """Refuses numbers that are about 1000 times off."""
    if not data.seen.any():
        raise refuse(data.file, "no point was seen in any row")
    with np.errstate(over="ignore"):
        reach = float(np.nanmax(np.linalg.norm(data.measured, axis=2)))
    name = next(name for k, name in enumerate(data.markers) if data.seen[:, k].any())
    if reach > THOUSAND_LOW * length:
        raise refuse(
            data.file,
            f"points are up to {reach:g} m from the base of an arm of {length:g} m: are they in mm? "
            f"Then name the columns {name}_x_mm, ...",
        )
    if reach < THOUSAND_HIGH * length:
        raise refuse(
            data.file,
            f"points are at most {reach:g} m from the base of an arm of {length:g} m: are they 1000 times too small?",
        )
    for i in range(model.nu):
        low, high = model.actuator_ctrlrange[i]
        largest = float(np.abs(data.ctrl[:, i]).max())
        if model.actuator_ctrllimited[i] and largest > THOUSAND_LOW * max(abs(low), abs(high)):
            actuator = model.actuator(i).name[1:]
            raise refuse(
                data.file,
                f"{actuator}: commands of up to {largest:g}, above {high:g}, its largest: are they 1000 times too "
                f"large? Lengths in mm need a column {actuator}_mm",
            )
