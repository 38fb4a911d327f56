"""Drivers of a sweep: what all engines have in common.

Everything that may be lost is lost with its process: a child dies with the driver, its files lie in a folder that the
next driver removes, and a run counts when its line is in the journal.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tendril._errors import ModelError
from tendril.sweep import journal
from tendril.sweep.inputs import InputChangeDetector
from tendril.sweep.plan import SweepPlan, SweepRun, refusal_text

DISK_FULL = ("No space left on device", "File too large", "Disk quota exceeded")


@dataclass(frozen=True)
class Options:
    """Options of running a sweep, on which no number depends."""

    jobs: int = 0  # processes at a time; 0: one per core
    engine: str = "local"  # or "ray"
    address: str = ""  # of a Ray cluster; without one the sweep starts its own
    shard: tuple[int, int] = (0, 1)  # runs whose id modulo the second is the first
    retry_failed: bool = False
    verify: float = 0.0  # part of the finished runs that is run again
    on_progress: Callable[[int, int, int], None] | None = None  # done, of how many, failed

    def __post_init__(self) -> None:
        if not sys.platform.startswith("linux"):
            raise ModelError(f"sweep: {sys.platform}: must be linux, which ends a process with the one that started it")
        if self.engine not in ("local", "ray"):
            raise ModelError(f"engine: {self.engine}: must be local or ray")
        if self.address and self.engine != "ray":
            raise ModelError(f"address: {self.address}: needs the engine ray")


class Rejected(ModelError):
    """The program refuses what it is given."""


def record_of(
    plan: SweepPlan, run: SweepRun, attempt: int, outcome: str, summary: dict[str, Any], error: str, wall_time: float
) -> journal.Record:
    own = {"--set", "--controller"}
    return {
        "id": run.id,
        "variant": run.variant.name,
        "cell": dict(plan.cells[run.cell]),
        "seed": run.seed,
        "outcome": outcome,
        "verdict": summary.get("verdict"),
        "measured": summary.get("measured", "truth"),
        "checks": [
            {key: check.get(key) for key in ("name", "metric", "value", "unit", "min", "max", "holds")}
            for check in summary.get("checks", [])
        ],
        "failures": summary.get("failures", []),
        "metrics": summary.get("metrics", {}),
        "drawn": {s["key"]: s["value"] for s in summary.get("settings", []) if s["origin"] not in own},
        "wall_time": round(wall_time, 6),
        "real_time_factor": summary.get("real_time_factor"),
        "machine": socket.gethostname(),
        "attempt": attempt,
        "error": error,
    }


#: Takes the line of a run that has ended, and the folder with its files if they are kept.
Finish = Callable[[journal.Record, Path | None], None]


class Interrupt:
    """Counts SIGINT and SIGTERM, and wakes the driver."""

    def __init__(self, listens: bool = True) -> None:
        self.count = 0
        self.reader, self._writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._before: dict[signal.Signals, Any] = {}
        self._wakeup_before: int | None = None
        if listens:
            self.listen()

    def listen(self) -> None:
        """Again, after a library has put its own handlers in place."""
        if threading.current_thread() is threading.main_thread():
            # Python calls handlers between its own instructions: a signal just before the driver waits would wait, too.
            wakeup_before = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
            if self._wakeup_before is None:
                self._wakeup_before = wakeup_before
            for number in (signal.SIGINT, signal.SIGTERM):
                before = signal.signal(number, self._on_signal)
                self._before.setdefault(number, before)

    def _on_signal(self, *_: object) -> None:
        self.count += 1
        with contextlib.suppress(BlockingIOError):
            os.write(self._writer, b"!")

    def close(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._wakeup_before is not None:
            signal.set_wakeup_fd(self._wakeup_before)
        os.close(self.reader)
        os.close(self._writer)


class Driver:
    """Common part of the engines: the order of the runs, and what becomes of their results."""

    def __init__(self, plan: SweepPlan, folder: Path, program: str, options: Options, interrupt: Interrupt) -> None:
        self._plan, self._folder, self._program, self._options = plan, folder, program, options
        self._interrupt = interrupt
        self._again: deque[tuple[SweepRun, int]] = deque()
        self._guard = InputChangeDetector(plan)
        self._names = 0
        self.ended = False  # nothing new begins
        self.notices: list[str] = []

    def each(self, runs: Iterator[SweepRun], finish: Finish) -> None:
        """Runs all; `finish` is called with every result but those of crashes to be tried again."""
        raise NotImplementedError

    def _next(self, runs: Iterator[SweepRun]) -> tuple[SweepRun, int] | None:
        run = next(runs, None)
        if run is not None:
            return run, 1
        return self._again.popleft() if self._again else None

    def _scratch(self, run: SweepRun) -> Path:
        self._names += 1
        return self._folder / "runs" / f".part-{run.id}-{self._names}"

    def _counts(self, run: SweepRun, line: journal.Record) -> bool:
        """Tells whether this is the result of a run; one of a crash may be tried again."""
        outcome, error, attempt = line["outcome"], line["error"], line["attempt"]
        if self.ended or outcome == "ended":
            return False
        if changed := self._guard.changed():
            raise OSError(f"{changed}: was changed while the sweep ran: start the sweep again")
        if outcome == "rejected":
            raise Rejected(refusal_text(self._plan, run, error))
        if outcome == "crashed" and any(text in error for text in DISK_FULL):
            raise OSError(error)
        if outcome == "crashed" and attempt <= self._plan.retries:
            self._again.append((run, attempt + 1))
            return False
        return True
