"""Tables of measurements: CSV files whose columns have names, which may end with a unit."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tendril._errors import refuse
from tendril._reading import read_text

Array = npt.NDArray[np.float64]
UNITS = {"m": 1.0, "mm": 1e-3, "N": 1.0, "Nm": 1.0, "rad": 1.0, "deg": math.pi / 180, "s": 1.0, "ms": 1e-3}
AXES = ("x", "y", "z")
TIME = "t"
MOST_TABLE = 1 << 26  #: bytes of a file


def read_rows(file: Path) -> list[list[str]]:
    """The cells of a CSV file."""
    try:
        return list(csv.reader(io.StringIO(read_text(file, MOST_TABLE).removeprefix("\ufeff"), newline="")))
    except csv.Error as error:
        raise refuse(file, f"must be a table: {error}") from None


def read_table(file: Path) -> tuple[dict[str, int], Array, list[int]]:
    """Columns by their names without unit, the numbers in SI units (NaN: empty), and the lines of the rows."""
    rows = [(i + 1, row) for i, row in enumerate(read_rows(file)) if row and not row[0].startswith("#")]
    if len(rows) < 2:
        raise refuse(file, "has no rows: must have a line of names and rows of numbers")
    names: dict[str, int] = {}
    factors = []
    for column, text in enumerate(cell.strip() for cell in rows[0][1]):
        stem, _, unit = text.rpartition("_")
        known = stem and unit in UNITS
        name = stem if known else text
        if not name or name in names:
            raise refuse(
                f"{file}:{rows[0][0]}", f'column {column + 1}: "{text}": must be a name that no other column has'
            )
        names[name] = column
        factors.append(UNITS[unit] if known else 1.0)
    values = np.full((len(rows) - 1, len(names)), np.nan)
    for i, (line, cells) in enumerate(rows[1:]):
        if len(cells) != len(names):
            raise refuse(f"{file}:{line}", f"has {len(cells)} cells: must have {len(names)}")
        for column, cell in enumerate(cells):
            if not cell.strip():
                continue
            try:
                number = float(cell)
            except ValueError:
                number = math.nan
            if not math.isfinite(number):
                raise refuse(f"{file}:{line}", f'{rows[0][1][column].strip()}: "{cell}": must be a finite number')
            values[i, column] = number * factors[column]
    return names, values, [line for line, _ in rows[1:]]


def check_times(file: Path, time: Array, lines: list[int]) -> None:
    """Throws ModelError for times that do not rise from row to row."""
    if len(time) < 2:
        raise refuse(file, f"{TIME}: must have at least two rows")
    for row, line in enumerate(lines):
        now, before = time[row], time[max(0, row - 1)]
        if np.isnan(now):
            raise refuse(f"{file}:{line}", f"{TIME}: is empty: must be a number")
        if row > 0 and now <= before:
            raise refuse(f"{file}:{line}", f"{TIME}: {now:g}: must be later than the row before, {before:g}")
