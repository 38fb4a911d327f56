"""Running a sweep: what has no line in the journal, with the engine of choice."""

from __future__ import annotations

import contextlib
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path

from tendril._meant import meant
from tendril.sweep import journal
from tendril.sweep.driver import Driver, Interrupt, Options, Rejected
from tendril.sweep.folder import keep, locked, open_folder, remove_parts, write_inputs
from tendril.sweep.local import LocalDriver
from tendril.sweep.plan import SweepPlan, SweepRun
from tendril.sweep.ray import RayDriver, cluster
from tendril.sweep.runs import numbers_of, read_entries


@dataclass
class SweepResult:
    """Result of one driver."""

    planned: int = 0  # runs of the sweep, or of the shard
    done: int = 0  # of these, in the journal, earlier ones included
    interrupted: bool = False
    verified: int = 0
    differing: list[str] = field(default_factory=list)  # a line for each run with other numbers
    notices: list[str] = field(default_factory=list)  # of the engine, one line each

    def add(self, other: SweepResult) -> None:
        self.planned, self.done = self.planned + other.planned, self.done + other.done
        self.interrupted |= other.interrupted
        self.verified += other.verified
        self.differing += other.differing
        self.notices += other.notices


def in_shard(run: SweepRun, shard: tuple[int, int]) -> bool:
    return int(run.id, 16) % shard[1] == shard[0]


def _check_metrics(plan: SweepPlan, record: journal.Record) -> None:
    known = {*record["metrics"], *(check[key] for check in record["checks"] for key in ("name", "metric"))}
    for comparison in plan.compare:
        if comparison.metric not in known:
            raise Rejected(
                f"{plan.experiment}: sweep: compare: metric = {comparison.metric}: must be one of "
                f"{', '.join(sorted(known))}{meant(comparison.metric, known)}"
            )


def connected(options: Options) -> contextlib.AbstractContextManager[None]:
    """The cluster of several sweeps, if the engine has one."""
    if options.engine == "ray":
        return cluster(options)
    return contextlib.nullcontext()


def _driver(plan: SweepPlan, folder: Path, program: str, options: Options, interrupt: Interrupt) -> Driver:
    if options.engine == "ray":
        return RayDriver(plan, folder, program, options, interrupt)
    return LocalDriver(plan, folder, program, options, interrupt)


def run_sweep(plan: SweepPlan, folder: Path, program: str, options: Options) -> SweepResult:
    """Runs what has no line in the journal. Throws ModelError, OSError."""
    fresh = open_folder(folder, plan)
    writer = journal.Writer(folder / "journal")
    interrupt = Interrupt()
    try:
        with locked(folder):
            for name in ("files", "journal", "runs"):
                (folder / name).mkdir(exist_ok=True)
            remove_parts(folder)
            write_inputs(folder, plan)
            try:
                return _run_all(plan, folder, program, options, writer, interrupt)
            except Rejected:
                if fresh and not any((folder / "journal").iterdir()):
                    shutil.rmtree(folder)
                raise
    finally:
        writer.close()
        interrupt.close()


def _run_all(
    plan: SweepPlan, folder: Path, program: str, options: Options, writer: journal.Writer, interrupt: Interrupt
) -> SweepResult:
    lines = read_entries(folder)
    again = ("crashed", "timeout") if options.retry_failed else ()
    done = {name for name, line in lines.items() if line.outcome not in again}
    result = SweepResult()
    failed = 0
    for run in plan.runs():
        if in_shard(run, options.shard):
            result.planned += 1
            if run.id in done:
                result.done += 1
                failed += lines[run.id].failed
    del lines

    def tell() -> None:
        if options.on_progress is not None:
            options.on_progress(result.done, result.planned, failed)

    def finish(record: journal.Record, kept: Path | None) -> None:
        nonlocal failed
        if record["outcome"] in ("done", "diverged"):
            _check_metrics(plan, record)
        if kept is not None:
            keep(kept, folder, record["id"])
        writer.append(record)
        result.done += 1
        failed += journal.has_failed(record)
        tell()

    tell()
    if result.done == result.planned and options.verify == 0:
        return result
    with connected(options):
        driver = _driver(plan, folder, program, options, interrupt)
        driver.each((run for run in plan.runs() if in_shard(run, options.shard) and run.id not in done), finish)
        result.interrupted, result.notices = driver.ended, driver.notices
        if options.verify > 0 and not driver.ended:
            _verify(plan, folder, program, options, interrupt, result)
    return result


def _verify(
    plan: SweepPlan, folder: Path, program: str, options: Options, interrupt: Interrupt, result: SweepResult
) -> None:
    """Runs a part of the finished runs again, chosen by their ids, and compares all numbers bitwise."""
    lines = read_entries(folder)
    limit = options.verify * 2.0**64
    chosen = [
        run
        for run in plan.runs()
        if in_shard(run, options.shard)
        and run.id in lines
        and lines[run.id].outcome in ("done", "diverged")
        and int(run.id[::-1], 16) <= limit
    ]

    def compare(record: journal.Record, kept: Path | None) -> None:
        result.verified += 1
        found = journal.decode(journal.encode(record))
        if found is None or numbers_of(found) != lines[record["id"]].numbers:
            result.differing.append(f"{record['id']}: other numbers than at {lines[record['id']].origin}")

    driver = _driver(replace(plan, record="none"), folder, program, options, interrupt)
    driver.each(iter(chosen), compare)
    result.interrupted = driver.ended
