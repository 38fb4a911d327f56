"""Tables of what the sensors of an arm read, and of what its actuators were told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tendril._errors import ModelError, refuse
from tendril._meant import meant_or_all
from tendril._table import TIME, Array, check_times, read_table

if TYPE_CHECKING:
    from tendril._core import Estimator

#: Endings of the columns of a reading, by its numbers.
ENDINGS = {1: ("",), 2: ("_x", "_y"), 3: ("_x", "_y", "_z"), 4: ("_w", "_x", "_y", "_z")}
MOST_STEPS = 50_000_000
_MOST_SILENT = 1000  #: steps for each row


def columns_of(name: str, width: int) -> list[str]:
    """Names of the columns of a reading."""
    return [name + ending for ending in ENDINGS.get(width, tuple(f"_{i}" for i in range(width)))]


@dataclass(frozen=True)
class Log:
    """A row each: SI units, NaN: nothing came."""

    file: Path
    lines: list[int]
    time: Array  #: (rows)
    readings: dict[str, Array]  #: of each reading with a column: (rows, its numbers)
    commands: Array | None  #: (rows, actuators): in force from the row on; None: no column of an actuator
    ignored: list[str]  #: columns of nothing that the robot has

    def steps_at(self, timestep: float) -> npt.NDArray[np.int64]:
        """(rows): the step of each row. Throws ModelError for more steps than a log can have."""
        count = (self.time[-1] - self.time[0]) / timestep
        if count > min(MOST_STEPS, _MOST_SILENT * len(self.time)):
            raise refuse(
                self.file,
                f"t: {len(self.time)} rows in {self.time[-1] - self.time[0]:g} s make {count:.3g} steps of "
                f"{timestep:g} s: t must be in seconds, or name its unit: t_ms",
            )
        return np.rint((self.time - self.time[0]) / timestep).astype(np.int64)

    def rows_of_steps(self, timestep: float) -> Iterator[list[int]]:
        """The rows that came in each step, in order."""
        steps = self.steps_at(timestep)
        row = 0
        for step in range(int(steps[-1]) + 1):
            came = []
            while row < len(steps) and steps[row] == step:
                came.append(row)
                row += 1
            yield came


@dataclass(frozen=True)
class Table:
    """A file whose rows have times."""

    file: Path
    names: dict[str, int]
    values: Array
    lines: list[int]

    @property
    def time(self) -> Array:
        """(rows), s"""
        return self.values[:, self.names[TIME]]

    def columns(self, names: Sequence[str]) -> Array:
        return self.values[:, [self.names[name] for name in names]]


def read_rows_in_time(file: Path) -> Table:
    """Throws ModelError, one line."""
    table = Table(file, *read_table(file))
    if TIME not in table.names:
        raise refuse(f"{file}:1", f"column {TIME} is missing: the time of a row, s")
    check_times(file, table.time, table.lines)
    return table


def log_of(table: Table, estimator: Estimator) -> Log:
    """What of a table the estimator of a robot uses. Throws ModelError, one line."""
    wanted = {name: columns_of(name, width) for name, width in zip(estimator.readings, estimator.widths, strict=True)}
    known = [TIME, *(column for columns in wanted.values() for column in columns), *estimator.actuators]
    ignored = [name for name in table.names if name not in known]
    readings = {}
    for name, columns in wanted.items():
        there = [column in table.names for column in columns]
        if all(there):
            readings[name] = table.columns(columns)
        elif any(there):
            missing = columns[there.index(False)]
            raise refuse(f"{table.file}:1", f"column {missing} is missing: the others of {name} are there")
    if not readings:
        like = meant_or_all((ignored or [TIME])[0], known[1:])
        raise refuse(f"{table.file}:1", f"has no column of a reading: {like}")
    given = [name for name in estimator.actuators if name in table.names]
    if missed := [name for name in estimator.actuators if given and name not in given]:
        raise refuse(f"{table.file}:1", f"column {missed[0]} is missing: the command of an actuator; 0 where it rests")
    return Log(table.file, table.lines, table.time, readings, table.columns(given) if given else None, ignored)


@dataclass(frozen=True)
class Estimates:
    """A row for each step with a row of the log."""

    time: Array  #: (n), s
    q: Array  #: (n, coordinates)
    tip: Array  #: (n, 4, 4)
    force: Array  #: (n, 3), N
    tip_deviation: Array  #: (n, 3): of x, y, z, m
    force_deviation: Array  #: (n, 3), N


def estimate(log: Log, estimator: Estimator, timestep: float) -> Estimates:
    """Steps the estimator through the log. A number that a row lacks has not come; a command holds."""
    commands = np.zeros(len(estimator.actuators))
    rows: list[tuple[float, Array, Array, Array, Array, Array]] = []
    n = 0
    for step, came in enumerate(log.rows_of_steps(timestep)):
        readings = {}
        for row in came:
            for name, numbers in log.readings.items():
                if not np.isnan(numbers[row]).all():
                    readings[name] = numbers[row] if len(numbers[row]) > 1 else numbers[row][0]
        try:
            estimator.step(readings or None, commands)
        except ModelError as error:
            raise refuse(f"{log.file}:{log.lines[came[-1] if came else 0]}", str(error)) from None
        if log.commands is not None:
            for row in came:
                commands = np.where(np.isnan(log.commands[row]), commands, log.commands[row])
        if not came:
            continue
        n = len(estimator.q)
        deviation = np.sqrt(np.diag(estimator.covariance))
        rows.append(
            (
                log.time[0] + step * timestep,
                estimator.q,
                estimator.tip,
                estimator.force,
                np.sqrt(np.diag(estimator.tip_covariance)[:3]),
                deviation[2 * n : 2 * n + 3],
            )
        )
    time, q, tip, force, tip_deviation, force_deviation = (np.array(column) for column in zip(*rows, strict=True))
    return Estimates(time, q, tip, force, tip_deviation, force_deviation)
