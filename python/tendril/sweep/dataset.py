"""The results of a sweep, for users."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from tendril._errors import ModelError
from tendril._files import atomic_file, plain, write_atomically
from tendril._program import find_program
from tendril.report import notebook
from tendril.sweep.inputs import require_files
from tendril.sweep.plan import SweepRun, command_of
from tendril.sweep.runs import RANK, Column, FinishedRuns, JournalEntry, read_entries, read_plan
from tendril.sweep.summary import summarize

_ROWS = 1000  # of runs.csv in memory at once


class Dataset(FinishedRuns):
    """A folder of a sweep, or the result of `td.Sweep.run`."""

    def table(self) -> Any:
        """`runs` as a pyarrow table."""
        import pyarrow  # type: ignore[import-not-found,unused-ignore]

        return pyarrow.table(self.runs)

    def success(self) -> dict[str, dict[str, Any]]:
        """Success rate of each variant over all cells: n, successes, rate, interval. n is 0 without `has_checks`."""
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

    def _run(self, id: str) -> SweepRun:
        for run in self.plan.runs():
            if run.id == id:
                return run
        raise ModelError(f"{self.folder}: {id}: no run of this sweep: its ids are in runs.csv")

    @cached_property
    def summary(self) -> dict[str, Any]:
        """All numbers of the report: the content of `summary.json`."""
        return plain(self.results)  # type: ignore[no-any-return]

    @cached_property
    def results(self) -> dict[str, Any]:
        """`summary` with its infinities, which JSON does not have."""
        return summarize(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: runs, success rates, differences to the baseline."""
        return notebook.of_sweep(self.summary)

    def write(self) -> list[str]:
        """Writes `runs.csv` and `summary.json`; the report is `tendril.sweep.report.write`. Returns the names."""
        table = self.runs
        with atomic_file(self.folder / "runs.csv") as file:
            text = io.TextIOWrapper(file, "utf-8", newline="")
            rows = csv.writer(text, lineterminator="\n")
            rows.writerow(table)
            for begin in range(0, len(self._runs), _ROWS):
                rows.writerows(
                    zip(*(_csv_column(column[begin : begin + _ROWS]) for column in table.values()), strict=True)
                )
            text.detach()
        write_atomically(self.folder / "summary.json", json.dumps(self.summary, indent=1) + "\n")
        return ["runs.csv", "summary.json"]

    @property
    def exit_code(self) -> int:
        """5: runs without result; 1: a run failed; 0."""
        runs = self.summary["runs"]
        if runs["crashed"] + runs["missing"]:
            return 5
        return 0 if runs["passed"] + runs["without_checks"] == runs["planned"] else 1


def _csv_column(column: Column) -> list[Any]:
    """NaN is empty."""
    values: list[Any] = column.tolist()
    return ["" if value != value else value for value in values] if column.dtype.kind == "f" else values


def merge(folders: Sequence[Path], out: Path) -> Dataset:
    """Joins folders of one sweep, such as its shards. Throws ModelError, before anything is written."""
    plans = [read_plan(folder) for folder in folders]
    for folder, plan in zip(folders, plans, strict=True):
        if plan.to_json() != plans[0].to_json():
            raise ModelError(
                f"{folder}: is a folder of another sweep, or of another state of its files, than {folders[0]}"
            )
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ModelError(f"{out}: is not empty: choose another --out")
    known: dict[str, JournalEntry] = {}
    for folder in folders:
        for name, line in read_entries(folder).items():
            before = known.setdefault(name, line)
            if RANK[before.outcome] == RANK[line.outcome] == 0 and before.numbers != line.numbers:
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
    write_atomically(part / "sweep.json", json.dumps(plans[0].to_json(), indent=1) + "\n")
    if out.exists():
        out.rmdir()
    part.rename(out)
    return Dataset(out)


__all__ = ["Dataset", "merge"]
