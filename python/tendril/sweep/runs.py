"""The finished runs of a sweep as columns.

Every id counts once. Of several lines one with a result wins over a timeout, that over a crash; then the first one.
"""

from __future__ import annotations

import json
import marshal
import math
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tendril._errors import ModelError
from tendril._reading import read_json
from tendril.sweep import journal
from tendril.sweep.plan import Comparison, DamagedPlan, SweepPlan, SweepRun

Values = npt.NDArray[np.float64]
Column = npt.NDArray[Any]

#: Metrics that depend on the machine and its load.
OF_THE_MACHINE = ("real_time_factor", "step_time_mean", "step_time_p999")
_MOST_PLAN = 1 << 28  # bytes: 1e7 seeds
RANK = {"done": 0, "diverged": 0, "timeout": 1, "crashed": 2}


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """State of one id, as far as it is known."""

    origin: str  # file:line
    outcome: str
    failed: bool
    numbers: int  # digest of what no machine may change


def read_plan(folder: Path) -> SweepPlan:
    """Throws ModelError: no plan, one of a newer format; DamagedPlan."""
    file = folder / "sweep.json"
    if not file.is_file():
        raise ModelError(f"{folder}: has no sweep.json: must be a folder of tendril sweep")
    try:
        data = read_json(file, _MOST_PLAN)
    except ModelError as error:
        reason = str(error).removeprefix(f"{file}: ")
        raise DamagedPlan(f"{file}: is damaged: start the sweep again, its runs are kept ({reason})") from None
    return SweepPlan.from_json(data, file)


def numbers_of(record: journal.Record) -> int:
    """Digest, in this process, of what is the same whenever and wherever a run is repeated."""
    checks = [
        (check["name"], None if check["metric"] in OF_THE_MACHINE else check["value"]) for check in record["checks"]
    ]
    metrics = dict(record["metrics"])
    for name in OF_THE_MACHINE:
        metrics.pop(name, None)
    return hash(marshal.dumps((record["outcome"], checks, sorted(metrics.items())), 2))


def read_entries(folder: Path) -> dict[str, JournalEntry]:
    """The line that counts of every id. Throws ModelError when two runs of one id have different results."""
    lines: dict[str, JournalEntry] = {}
    for _ in _each_record(folder, lines, [], []):
        pass
    return lines


def _each_record(
    folder: Path, lines: dict[str, JournalEntry], torn: list[str], repeated: list[str]
) -> Iterator[journal.Record]:
    """The records that count; one that counts more than an earlier one of its id comes later. Fills the others."""
    for origin, record in journal.read(folder / "journal"):
        if record is None:
            torn.append(origin)
            continue
        outcome = record["outcome"]
        line = JournalEntry(origin, outcome, journal.has_failed(record), numbers_of(record))
        before = lines.get(record["id"])
        if before is not None:
            repeated.append(origin)
        if before is None or RANK[outcome] < RANK[before.outcome]:
            lines[record["id"]] = line
            yield record
        elif RANK[outcome] == RANK[before.outcome] == 0 and line.numbers != before.numbers:
            raise ModelError(
                f"{origin}: {record['id']}: other numbers than at {before.origin}: one run has one "
                f"result: remove one of the two"
            )


class FinishedRuns:
    """The finished runs of a folder of a sweep: a column per number, a row per run."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Throws ModelError for a folder that is not that of a sweep, and for two results of one run."""
        self.folder = Path(folder)
        self.plan = read_plan(self.folder)
        self.torn: list[str] = []
        self.repeated = 0
        self.planned = len(self.plan)
        self._values: dict[str, Values] = {}
        self._load()

    def _load(self) -> None:
        runs = list(self.plan.runs())
        indices = {run.id: index for index, run in enumerate(runs)}
        outcome, verdict = np.full(len(runs), "", dtype="U8"), np.full(len(runs), "", dtype="U4")
        measured = np.full(len(runs), "truth", dtype="U7")
        machine: dict[int, str] = {}
        failed: dict[int, list[str]] = {}
        self.errors: dict[str, str] = {}
        self._metric_of: dict[str, str] = {}  # check by metric
        self._limits: dict[str, tuple[float | None, float | None, str]] = {}  # of checks, with unit
        self.units: dict[str, str] = {}
        columns: dict[str, Values] = {}

        def put(column: str, index: int, value: float | None) -> None:
            if column not in columns:
                columns[column] = np.full(len(runs), np.nan)
            if value is not None:
                columns[column][index] = value

        lines: dict[str, JournalEntry] = {}
        repeated: list[str] = []
        for record in _each_record(self.folder, lines, self.torn, repeated):
            index = indices.get(record["id"])
            if index is None:
                continue
            outcome[index], verdict[index] = record["outcome"], record["verdict"] or ""
            measured[index] = record.get("measured", "truth")
            machine[index] = record["machine"]
            self.errors.pop(record["id"], None)
            if record["error"]:
                self.errors[record["id"]] = record["error"]
            for check in record["checks"]:
                name = check["name"]
                put("check." + name, index, check["value"])
                self._metric_of.setdefault(check["metric"], name)
                self._limits.setdefault(name, (check.get("min"), check.get("max"), check["unit"]))
                self.units[name] = self.units[check["metric"]] = check["unit"]
            failed[index] = [check["name"] for check in record["checks"] if not check["holds"]] + record["failures"]
            for name, value in record["metrics"].items():
                put("metric." + name, index, value)
            for key, value in record["drawn"].items():
                for name, number in _drawn_numbers("drawn." + key, value):
                    put(name, index, number)
        done = np.flatnonzero(outcome != "")
        self.repeated, self.earlier = len(repeated), len(lines) - len(done)
        self._runs: list[SweepRun] = [runs[index] for index in done]
        self.outcome: Column = outcome[done]
        self.verdict: Column = verdict[done]
        self.measured: Column = measured[done]
        self.machines: dict[str, int] = dict(Counter(machine.values()))
        self.failed_checks: list[tuple[int, str]] = [  # row, name
            (row, name) for row, index in enumerate(done.tolist()) for name in failed[index]
        ]
        self._columns = {
            name: column[done]
            for name, column in sorted(columns.items())
            if not name.startswith("drawn.") or len(done) == 1 or len(np.unique(column[done])) > 1
        }

    @cached_property
    def runs(self) -> dict[str, Column]:
        """A column by name, a row per finished run: id, variant, seed, outcome, verdict, measured (truth or sensors:
        what controllers saw), `cell.<key>`, `check.<name>`, `metric.<name>`, `drawn.<key>` for what the seed has drawn
        (a factor for a scale, `drawn.<key>.1` ... for the numbers of a list). What a run does not have is NaN."""
        table: dict[str, Column] = {
            "id": np.array([run.id for run in self._runs], dtype="U16"),
            "variant": np.array([run.variant.name for run in self._runs], dtype=str),
            "seed": np.array([run.seed for run in self._runs], dtype=np.int64),
            "outcome": self.outcome,
            "verdict": self.verdict,
            "measured": self.measured,
        }
        for axis, (key, _) in enumerate(self.plan.cells[0]):
            values = [self.plan.cells[run.cell][axis][1] for run in self._runs]
            numeric = all(isinstance(value, int | float) for value in values)
            table["cell." + key] = np.array(values if numeric else [json.dumps(value) for value in values])
        return table | self._columns

    @cached_property
    def sensed(self) -> set[str]:
        """Names of the variants whose controllers saw their sensors, not the truth."""
        pairs = zip(self._runs, self.measured, strict=True)
        return {run.variant.name for run, measured in pairs if measured == "sensors"}

    def unit(self, metric: str) -> str:
        own = (comparison.unit for comparison in self.plan.compare if comparison.metric == metric)
        return self.units.get(metric) or next(own, "")

    def values(self, metric: Comparison) -> Values:
        """A number per run; the worst infinity where the run has none or did not end."""
        if metric.metric not in self._values:
            self._values[metric.metric] = self._values_of(metric)
        return self._values[metric.metric]

    def _values_of(self, metric: Comparison) -> Values:
        known = (
            "check." + metric.metric,
            "metric." + metric.metric,
            "check." + self._metric_of.get(metric.metric, metric.metric),
        )
        column = next((self._columns[name] for name in known if name in self._columns), None)
        worst = math.inf if metric.better == "lower" else -math.inf
        if column is None:
            return np.full(len(self._runs), worst)
        valid = (self.outcome == "done") & ~np.isnan(column)
        return np.where(valid, column, worst)

    @cached_property
    def successes(self) -> Values:
        """A number per run: 1 passed, 0 failed, NaN for one that ended and has no checks."""
        passed = np.where(self.verdict == "pass", 1.0, np.where(self.verdict == "fail", 0.0, np.nan))
        return np.where(self.outcome == "done", passed, 0.0)

    @cached_property
    def variants_without_checks(self) -> set[str]:
        """Names of variants whose runs all ended without checks."""
        names = np.array([run.variant.name for run in self._runs], dtype=str)
        has_none = np.isnan(self.successes)
        return set(names[has_none].tolist()) - set(names[~has_none].tolist())

    @cached_property
    def _indices(self) -> Column:
        """Row of each (seed, cell, variant), -1 without result."""
        names = {variant.name: i for i, variant in enumerate(self.plan.variants)}
        indices = np.full((len(self.plan.seeds), len(self.plan.cells), len(names)), -1)
        for row, run in enumerate(self._runs):
            if self.outcome[row] != "crashed":
                indices[run.order, run.cell, names[run.variant.name]] = row
        return indices

    def by_seed(self, values: Values, cell: int | None, variant: int) -> Values:
        """A number per seed, NaN without result; all cells together: the mean over the cells, if the seed has all."""
        rows = self._indices[:, slice(None) if cell is None else slice(cell, cell + 1), variant]
        found = np.where(rows < 0, np.nan, values[rows] if len(values) else np.nan)
        means: Values = found.mean(axis=1)
        return means

    @property
    def levels(self) -> list[int | None]:
        """All cells together, then each cell when there are several."""
        return [None, *(range(len(self.plan.cells)) if len(self.plan.cells) > 1 else ())]

    def cell_label(self, cell: int | None) -> str:
        return "" if cell is None else self.plan.cell_name(cell)

    @property
    def variants(self) -> list[dict[str, Any]]:
        return [
            {
                "name": v.name,
                "controller": v.controller,
                "python": v.python,
                "plugin": v.plugin,
                "set": dict(v.settings),
            }
            for v in self.plan.variants
        ]

    @property
    def checks(self) -> list[str]:
        """Returns what passes a run: a text for each check."""
        texts = []
        for name, (low, high, unit) in self._limits.items():
            ends = [f"{end:g}" for end in (low, high) if end is not None]
            sign = (
                f"{' to '.join(ends)}"
                if len(ends) == 2
                else f"at {'least' if high is None else 'most'} {''.join(ends)}"
            )
            texts.append(f"{name}: {sign} {unit}".rstrip())
        return texts

    def folder_of(self, row: int) -> Path:
        """Returns the folder where a run can be repeated."""
        return self.folder


def _drawn_numbers(name: str, value: Any) -> Iterator[tuple[str, float]]:
    """The numbers of a setting, with the names of their columns."""
    if isinstance(value, dict) and list(value) == ["scale"]:
        value = value["scale"]
    if isinstance(value, list):
        for number, one in enumerate(value, 1):
            yield from _drawn_numbers(f"{name}.{number}", one)
    elif isinstance(value, int | float):
        yield name, float(value)
