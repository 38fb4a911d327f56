"""The results of a sweep: runs as columns, rates and intervals, comparisons to the baseline.

Every id counts once. Of several lines one with a result wins over a timeout, that over a crash; then the first one.
"""

from __future__ import annotations

import csv
import io
import json
import marshal
import math
import os
import shlex
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tendril import _journal
from tendril._errors import ModelError
from tendril._program import find_program
from tendril.sweep import Comparison, Plan, Run, command_of, require_files

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Column = npt.NDArray[Any]
    Values = npt.NDArray[np.float64]

#: Metrics that depend on the machine and its load.
OF_THE_MACHINE = ("real_time_factor", "step_time_mean", "step_time_p999")
_RANK = {"done": 0, "diverged": 0, "timeout": 1, "crashed": 2}
WORST_RUNS = 10
_ROWS = 1000  # of runs.csv in memory at once


@dataclass(frozen=True, slots=True)
class Line:
    """What is known of one id."""

    origin: str  # file:line
    outcome: str
    passed: bool
    numbers: int  # digest of what no machine may change


def plain(value: Any) -> Any:
    """For JSON: what is not finite is null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


class Dataset:
    """A folder of a sweep, or the result of `td.Sweep.run`."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Throws ModelError for a folder that is none of a sweep, and for two results of one run."""
        self.folder = Path(folder)
        self.plan = self.read_plan(self.folder)
        self.torn: list[str] = []
        self.repeated = 0
        self.planned = len(self.plan)
        self._values: dict[str, Values] = {}
        self._load()

    # ---- reading --------------------------------------------------------------------------------------------------

    @staticmethod
    def read_plan(folder: Path) -> Plan:
        file = folder / "sweep.json"
        try:
            data = json.loads(file.read_text())
        except FileNotFoundError:
            raise ModelError(f"{folder}: has no sweep.json: must be a folder of tendril sweep") from None
        except ValueError:
            raise ModelError(f"{file}: is damaged: start the sweep again, its runs are kept") from None
        return Plan.from_json(data, file)

    @staticmethod
    def numbers(record: _journal.Record) -> int:
        """Digest, in this process, of what is the same whenever and wherever a run is repeated."""
        checks = [
            (check["name"], None if check["metric"] in OF_THE_MACHINE else check["value"]) for check in record["checks"]
        ]
        metrics = dict(record["metrics"])
        for name in OF_THE_MACHINE:
            metrics.pop(name, None)
        return hash(marshal.dumps((record["outcome"], checks, sorted(metrics.items())), 2))

    @staticmethod
    def read_lines(folder: Path) -> dict[str, Line]:
        """The line that counts of every id. Throws ModelError when two runs of one id have different results."""
        lines: dict[str, Line] = {}
        for _ in Dataset._each(folder, lines, [], []):
            pass
        return lines

    @staticmethod
    def _each(folder: Path, lines: dict[str, Line], torn: list[str], repeated: list[str]) -> Iterator[_journal.Record]:
        """The records that count; one that counts more than an earlier one of its id comes later. Fills the others."""
        for origin, record in _journal.read(folder / "journal"):
            if record is None:
                torn.append(origin)
                continue
            outcome = record["outcome"]
            line = Line(origin, outcome, outcome == "done" and record["verdict"] != "fail", Dataset.numbers(record))
            before = lines.get(record["id"])
            if before is not None:
                repeated.append(origin)
            if before is None or _RANK[outcome] < _RANK[before.outcome]:
                lines[record["id"]] = line
                yield record
            elif _RANK[outcome] == _RANK[before.outcome] == 0 and line.numbers != before.numbers:
                raise ModelError(
                    f"{origin}: {record['id']}: other numbers than at {before.origin}: one run has one "
                    f"result: remove one of the two"
                )

    def _load(self) -> None:
        import numpy as np

        runs = list(self.plan.runs())
        places = {run.id: place for place, run in enumerate(runs)}
        outcome, verdict = np.full(len(runs), "", dtype="U8"), np.full(len(runs), "", dtype="U4")
        machine: dict[int, str] = {}
        failed: dict[int, list[str]] = {}
        self.errors: dict[str, str] = {}
        self._metric_of: dict[str, str] = {}  # check by metric
        self._limits: dict[str, tuple[float | None, float | None, str]] = {}  # of checks, with unit
        self.units: dict[str, str] = {}
        columns: dict[str, Values] = {}

        def put(column: str, place: int, value: float | None) -> None:
            if column not in columns:
                columns[column] = np.full(len(runs), np.nan)
            if value is not None:
                columns[column][place] = value

        lines: dict[str, Line] = {}
        repeated: list[str] = []
        for record in self._each(self.folder, lines, self.torn, repeated):
            place = places.get(record["id"])
            if place is None:
                continue
            outcome[place], verdict[place] = record["outcome"], record["verdict"] or ""
            machine[place] = record["machine"]
            self.errors.pop(record["id"], None)
            if record["error"]:
                self.errors[record["id"]] = record["error"]
            for check in record["checks"]:
                name = check["name"]
                put("check." + name, place, check["value"])
                self._metric_of.setdefault(check["metric"], name)
                self._limits.setdefault(name, (check.get("min"), check.get("max"), check["unit"]))
                self.units[name] = self.units[check["metric"]] = check["unit"]
            failed[place] = [check["name"] for check in record["checks"] if not check["holds"]] + record["failures"]
            for name, value in record["metrics"].items():
                put("metric." + name, place, value)
            for key, value in record["drawn"].items():
                for name, number in _drawn_numbers("drawn." + key, value):
                    put(name, place, number)
        done = np.flatnonzero(outcome != "")
        self.repeated, self.earlier = len(repeated), len(lines) - len(done)
        self._runs: list[Run] = [runs[place] for place in done]
        self.outcome: Column = outcome[done]
        self.verdict: Column = verdict[done]
        self.machines: dict[str, int] = dict(Counter(machine.values()))
        self.failed_checks: list[tuple[int, str]] = [  # row, name
            (row, name) for row, place in enumerate(done.tolist()) for name in failed[place]
        ]
        self._columns = {
            name: column[done]
            for name, column in sorted(columns.items())
            if not name.startswith("drawn.") or len(done) == 1 or len(np.unique(column[done])) > 1
        }

    # ---- what users ask for ---------------------------------------------------------------------------------------

    @cached_property
    def runs(self) -> dict[str, Column]:
        """A column by name, a row per finished run: id, variant, seed, outcome, verdict, `cell.<key>`, `check.<name>`,
        `metric.<name>`, `drawn.<key>` for what the seed has drawn (a factor for a scale, `drawn.<key>.1` ... for the
        numbers of a list). What a run does not have is NaN."""
        import numpy as np

        table: dict[str, Column] = {
            "id": np.array([run.id for run in self._runs], dtype="U16"),
            "variant": np.array([run.variant.name for run in self._runs], dtype=str),
            "seed": np.array([run.seed for run in self._runs], dtype=np.int64),
            "outcome": self.outcome,
            "verdict": self.verdict,
        }
        for axis, (key, _) in enumerate(self.plan.cells[0]):
            values = [self.plan.cells[run.cell][axis][1] for run in self._runs]
            numeric = all(isinstance(value, int | float) for value in values)
            table["cell." + key] = np.array(values if numeric else [json.dumps(value) for value in values])
        return table | self._columns

    def table(self) -> Any:
        """`runs` as a pyarrow table."""
        import pyarrow  # type: ignore[import-not-found,unused-ignore]

        return pyarrow.table(self.runs)

    def success(self) -> dict[str, dict[str, Any]]:
        """Success rate of each variant over all cells: n, successes, rate, interval."""
        return {row["variant"]: row for row in self.summary["success"] if row["cell"] is None}

    def compare(self) -> list[dict[str, Any]]:
        """Differences of each variant to the baseline over all cells: a row per metric and variant."""
        return [row for row in self.summary["differences"] if row["cell"] is None]

    def recording(self, id: str) -> Path:
        """The recording of a run. Throws ModelError when it is not kept."""
        file = self.folder / "runs" / self._run(id).id / "rollout.h5"
        if not file.exists():
            raise ModelError(f"{self.folder}: {id}: its recording is not kept: tendril sweep repeat {self.folder} {id}")
        return file

    def repeat(self, id: str, arguments: Sequence[str] = (), program: str | None = None) -> int:
        """Runs a run again, with recording and report, into `repeated/<id>`. Returns its exit code."""
        run = self._run(id)
        require_files(self.plan)
        out = self.folder / "repeated" / run.id
        command = [*command_of(self.plan, run, program or find_program()), "--out", str(out), *arguments]
        return subprocess.run(command, check=False).returncode

    def playback(self, id: str) -> Path | None:
        """The page that plays a run: of its kept recording, or of its repetition."""
        pages = (self.folder / folder / id / "play.html" for folder in ("runs", "repeated"))
        return next((page for page in pages if page.exists()), None)

    def _run(self, id: str) -> Run:
        for run in self.plan.runs():
            if run.id == id:
                return run
        raise ModelError(f"{self.folder}: {id}: no run of this sweep: its ids are in runs.csv")

    # ---- statistics -----------------------------------------------------------------------------------------------

    def unit(self, metric: str) -> str:
        own = (comparison.unit for comparison in self.plan.compare if comparison.metric == metric)
        return self.units.get(metric) or next(own, "")

    def values(self, metric: Comparison) -> Values:
        """A number per run; the worst infinity where the run has none or did not end."""
        if metric.metric not in self._values:
            self._values[metric.metric] = self._values_of(metric)
        return self._values[metric.metric]

    def _values_of(self, metric: Comparison) -> Values:
        import numpy as np

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
    def passed(self) -> npt.NDArray[np.bool_]:
        passed: npt.NDArray[np.bool_] = (self.outcome == "done") & (self.verdict != "fail")
        return passed

    @cached_property
    def _places(self) -> Column:
        """Row of each (seed, cell, variant), -1 without result."""
        import numpy as np

        names = {variant.name: i for i, variant in enumerate(self.plan.variants)}
        places = np.full((len(self.plan.seeds), len(self.plan.cells), len(names)), -1)
        for row, run in enumerate(self._runs):
            if self.outcome[row] != "crashed":
                places[run.order, run.cell, names[run.variant.name]] = row
        return places

    def by_seed(self, values: Values, cell: int | None, variant: int) -> Values:
        """A number per seed, NaN without result; all cells together: the mean over the cells, if the seed has all."""
        import numpy as np

        rows = self._places[:, slice(None) if cell is None else slice(cell, cell + 1), variant]
        found = np.where(rows < 0, np.nan, values[rows] if len(values) else np.nan)
        means: Values = found.mean(axis=1)
        return means

    @property
    def levels(self) -> list[int | None]:
        """All cells together, then each cell when there are several."""
        return [None, *(range(len(self.plan.cells)) if len(self.plan.cells) > 1 else ())]

    def _label(self, cell: int | None) -> str:
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

    @cached_property
    def summary(self) -> dict[str, Any]:
        """All numbers of the report: the content of `summary.json`."""
        return plain(self.results)  # type: ignore[no-any-return]

    @cached_property
    def results(self) -> dict[str, Any]:
        """`summary` with its infinities, which JSON does not have."""
        import numpy as np

        plan = self.plan
        counts = {name: int(np.sum(self.outcome == name)) for name in _RANK}
        started = sum(counts.values())
        return {
            "format": 1,
            "sweep": plan.name,
            "experiment": plan.experiment,
            "versions": plan.versions,
            "runs": {
                "planned": self.planned,
                **counts,
                "missing": self.planned - started,
                "passed": int(self.passed.sum()),
                "of_earlier_state": self.earlier,
                "torn_lines": len(self.torn),
                "repeated_lines": self.repeated,
            },
            "seeds": len(plan.seeds),
            "cells": [dict(cell) for cell in plan.cells],
            "variants": self.variants,
            "baseline": plan.baseline,
            "settings": dict(plan.settings),
            "compare": [
                {"metric": c.metric, "better": c.better, "unit": self.unit(c.metric)} for c in self.plan.compare
            ],
            "success": [self._success(cell, v) for cell in self.levels for v in range(len(plan.variants))],
            "metrics": [
                self._distribution(c, cell, v)
                for c in self.plan.compare
                for cell in self.levels
                for v in range(len(plan.variants))
            ],
            "differences": self._differences(),
            "failed_checks": self._failures(),
            "worst_runs": self._worst(),
            "without_result": [
                {"id": run.id, "error": self.errors.get(run.id, "")}
                for row, run in enumerate(self._runs)
                if self.outcome[row] == "crashed"
            ][:100],
            "machines": self.machines,
            "files": plan.files,
        }

    def _success(self, cell: int | None, variant: int) -> dict[str, Any]:
        import numpy as np

        from tendril import statistics as st

        rates = self.by_seed(self.passed.astype(float), cell, variant)
        rates = rates[~np.isnan(rates)]
        n, k = len(rates), float(rates.sum())
        return {
            "variant": self.plan.variants[variant].name,
            "cell": cell,
            "n": n,
            "successes": k,
            "rate": k / n if n else None,
            "interval": st.wilson(k, n) if n else None,
        }

    def _distribution(self, metric: Comparison, cell: int | None, variant: int) -> dict[str, Any]:
        import numpy as np

        from tendril import statistics as st

        name = self.plan.variants[variant].name
        x = self.by_seed(self.values(metric), cell, variant)
        x = np.sort(x[~np.isnan(x)])
        row: dict[str, Any] = {"metric": metric.metric, "variant": name, "cell": cell, "n": len(x)}
        if len(x) == 0:
            return row
        seed = st.seed_of(self.plan.name, metric.metric, self._label(cell), name)
        return row | {
            "median": st.percentile(x, 0.5),
            "quartiles": [st.percentile(x, 0.25), st.percentile(x, 0.75)],
            "worst": float(x[-1] if metric.better == "lower" else x[0]),
            "undefined": int(np.sum(~np.isfinite(x))),
            "iqm": st.interquartile_mean(x),
            "interval": st.iqm_interval(x, seed),
        }

    def _differences(self) -> list[dict[str, Any]]:
        """Of every metric and of success, with Holm's correction: all cells together are one family, the cells another."""
        from tendril import statistics as st

        names = [variant.name for variant in self.plan.variants]
        base = names.index(self.plan.baseline)
        rows: list[dict[str, Any]] = []
        for cell in self.levels:
            for other in (i for i in range(len(names)) if i != base):
                if cell is not None or len(self.plan.cells) == 1:
                    rows.append(self._success_difference(cell, other, base))
                rows += [self._difference(metric, cell, other, base) for metric in self.plan.compare]
        rows = [row for row in rows if row["n"] > 0]
        for whole in (True, False):
            family = [row for row in rows if (row["cell"] is None) == whole]
            for row, p in zip(family, st.holm([row["p"] for row in family]), strict=True):
                row["p_holm"] = p
                row["words"] = st.words(p, row["interval"], row["better"])
        return rows

    def _pairs(self, values: Values, cell: int | None, variant: int, base: int) -> tuple[Values, Values]:
        import numpy as np

        a, b = self.by_seed(values, cell, variant), self.by_seed(values, cell, base)
        both = ~np.isnan(a) & ~np.isnan(b)
        return a[both], b[both]

    def _difference(self, metric: Comparison, cell: int | None, variant: int, base: int) -> dict[str, Any]:
        from tendril import statistics as st

        name = self.plan.variants[variant].name
        row: dict[str, Any] = {
            "metric": metric.metric,
            "better": metric.better,
            "variant": name,
            "baseline": self.plan.baseline,
            "cell": cell,
        }
        a, b = self._pairs(self.values(metric), cell, variant, base)
        if len(a) == 0:
            return row | {"n": 0}
        d = st.paired_differences(a, b)
        seed = st.seed_of(self.plan.name, metric.metric, self._label(cell), name)
        ratio = st.geometric_mean_ratio(a, b)
        chance, chance_interval = st.chance_better(d, "lower" if metric.better == "lower" else "higher")
        return row | {
            "n": len(d),
            "iqm": st.interquartile_mean(d),
            "interval": st.iqm_interval(d, seed),
            "ratio": ratio and ratio[0],
            "ratio_interval": ratio and ratio[1],
            "chance_better": chance,
            "chance_interval": chance_interval,
            "p": st.sign_rank_p(d, seed),
        }

    def _success_difference(self, cell: int | None, variant: int, base: int) -> dict[str, Any]:
        from tendril import statistics as st

        a, b = self._pairs(self.passed.astype(float), cell, variant, base)
        row: dict[str, Any] = {
            "metric": "success",
            "better": "higher",
            "variant": self.plan.variants[variant].name,
            "baseline": self.plan.baseline,
            "cell": cell,
            "n": len(a),
        }
        if len(a) == 0:
            return row
        only_variant, only_baseline = int((a > b).sum()), int((b > a).sum())
        difference, interval = st.bonett_price(only_variant, only_baseline, len(a))
        return row | {
            "only_variant": only_variant,
            "only_baseline": only_baseline,
            "difference": difference,
            "interval": interval,
            "p": st.mcnemar(only_variant, only_baseline),
        }

    def _failures(self) -> list[dict[str, Any]]:
        counts: dict[tuple[str, str], int] = {}
        for row, name in self.failed_checks:
            key = (name, self._runs[row].variant.name)
            counts[key] = counts.get(key, 0) + 1
        for row, run in enumerate(self._runs):
            if self.outcome[row] in ("diverged", "timeout"):
                key = (str(self.outcome[row]), run.variant.name)
                counts[key] = counts.get(key, 0) + 1
        return [
            {"check": name, "variant": variant, "count": count}
            for (name, variant), count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        ]

    def folder_of(self, row: int) -> Path:
        """Where a run can be repeated."""
        return self.folder

    def _worst(self) -> list[dict[str, Any]]:
        """Runs that did not end, then those with the worst value of the first compared metric."""
        import numpy as np

        if not self.plan.compare:
            return []
        first = self.plan.compare[0]
        values = self.values(first)
        badness = np.where(np.isnan(values), np.inf, values if first.better == "lower" else -values)
        rows = [int(row) for row in np.argsort(-badness, kind="stable")[:WORST_RUNS] if self.outcome[row] != "crashed"]
        return [
            {
                "id": run.id,
                "variant": run.variant.name,
                "cell": run.cell,
                "seed": run.seed,
                "outcome": str(self.outcome[row]),
                "metric": first.metric,
                "value": float(values[row]),
                "command": f"tendril sweep repeat {shlex.quote(str(self.folder_of(row)))} {run.id}",
            }
            for row in rows
            for run in [self._runs[row]]
        ]

    # ---- writing --------------------------------------------------------------------------------------------------

    def write(self, report: bool = True) -> list[str]:
        """Writes `runs.csv`, `summary.json` and `report.html`. Returns the names."""
        table = self.runs
        with _journal.atomic_file(self.folder / "runs.csv") as file:
            text = io.TextIOWrapper(file, "utf-8", newline="")
            rows = csv.writer(text, lineterminator="\n")
            rows.writerow(table)
            for begin in range(0, len(self._runs), _ROWS):
                rows.writerows(
                    zip(*(_csv_column(column[begin : begin + _ROWS]) for column in table.values()), strict=True)
                )
            text.detach()
        _journal.write_atomically(self.folder / "summary.json", json.dumps(self.summary, indent=1) + "\n")
        if not report:
            return ["runs.csv", "summary.json"]
        from tendril._sweep_report import html

        _journal.write_atomically(self.folder / "report.html", html(self))
        return ["runs.csv", "summary.json", "report.html"]

    @property
    def checks(self) -> list[str]:
        """What passes a run: a text for each check."""
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

    @property
    def exit_code(self) -> int:
        """5: runs without result; 1: a run failed; 0."""
        runs = self.summary["runs"]
        if runs["crashed"] + runs["missing"]:
            return 5
        return 0 if runs["passed"] == runs["planned"] else 1


def _drawn_numbers(name: str, value: Any) -> Iterator[tuple[str, float]]:
    """The numbers of a setting, with the names of their columns."""
    if isinstance(value, dict) and list(value) == ["scale"]:
        value = value["scale"]
    if isinstance(value, list):
        for number, one in enumerate(value, 1):
            yield from _drawn_numbers(f"{name}.{number}", one)
    elif isinstance(value, int | float):
        yield name, float(value)


def _csv_column(column: Column) -> list[Any]:
    """NaN is empty."""
    values: list[Any] = column.tolist()
    return ["" if value != value else value for value in values] if column.dtype.kind == "f" else values


def merge(folders: Sequence[Path], out: Path) -> Dataset:
    """Joins folders of one sweep, such as its shards. Throws ModelError, before anything is written."""
    plans = [Dataset.read_plan(folder) for folder in folders]
    for folder, plan in zip(folders, plans, strict=True):
        if plan.to_json() != plans[0].to_json():
            raise ModelError(
                f"{folder}: is a folder of another sweep, or of another state of its files, than {folders[0]}"
            )
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ModelError(f"{out}: is not empty: choose another --out")
    known: dict[str, Line] = {}
    for folder in folders:
        for name, line in Dataset.read_lines(folder).items():
            before = known.setdefault(name, line)
            if _RANK[before.outcome] == _RANK[line.outcome] == 0 and before.numbers != line.numbers:
                raise ModelError(
                    f"{line.origin}: {name}: other numbers than at {before.origin}: one run has one result"
                )
    part = out.with_name(f".{out.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    for name in ("files", "journal", "runs"):
        (part / name).mkdir(parents=True)
    for number, folder in enumerate(folders):
        for file in sorted((folder / "journal").glob("*.jsonl")):
            shutil.copyfile(file, part / "journal" / f"{number}-{file.name}")
        for file in (folder / "files").iterdir():
            shutil.copyfile(file, part / "files" / file.name)
        for run in (folder / "runs").glob("[!.]*"):
            shutil.copytree(run, part / "runs" / run.name, dirs_exist_ok=True)
    _journal.write_atomically(part / "sweep.json", json.dumps(plans[0].to_json(), indent=1) + "\n")
    if out.exists():
        out.rmdir()
    part.rename(out)
    return Dataset(out)


__all__ = ["Dataset", "Line", "merge"]
