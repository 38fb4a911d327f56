"""The engine `local`: processes of the program `tendril run`, one per core."""

from __future__ import annotations

import ctypes
import errno
import os
import selectors
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tendril._errors import ModelError
from tendril.report.summary import read_summary
from tendril.sweep import journal
from tendril.sweep.driver import DISK_FULL, Driver, Finish, Interrupt, Options, record_of
from tendril.sweep.plan import SweepPlan, SweepRun, command_of

_MIN_FREE = 1 << 16  # bytes
_PATIENCE = 10.0  # s that an interrupted run has to end, and a killed driver's children
_PAGE_TIMEOUT = 600.0  # s for the playback of a run
_PR_SET_PDEATHSIG = 1
if sys.platform != "win32":
    _libc = ctypes.CDLL(None, use_errno=True)


def _die_with(parent: int) -> Callable[[], None]:
    def prepare() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)  # the driver died meanwhile

    return prepare


class _Child:
    """One process of `tendril run`, then one of `tendril play` if its recording is kept."""

    def __init__(self, plan: SweepPlan, run: SweepRun, program: str, scratch: Path, attempt: int) -> None:
        self.run, self.scratch, self.attempt = run, scratch, attempt
        self.recorded = run.order < plan.record if isinstance(plan.record, int) else plan.record != "none"
        self._program = program
        self.line: journal.Record | None = None  # when the run has ended
        scratch.mkdir()
        self._start(
            [
                *command_of(plan, run, program),
                "--out",
                str(scratch),
                "--quiet",
                "--no-report" if self.recorded else "--no-record",
            ],
            plan.timeout,
        )

    def _start(self, command: list[str], timeout: float) -> None:
        self.begin = time.monotonic()
        self.deadline = self.begin + timeout
        self.killed = ""  # why
        with (self.scratch / "stderr.txt").open("ab") as errors:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
                preexec_fn=_die_with(os.getpid()),
            )
        self.descriptor = os.pidfd_open(self.process.pid)

    def end_run(self, plan: SweepPlan) -> journal.Record:
        self.line = record_of(plan, self.run, self.attempt, *self._outcome(), time.monotonic() - self.begin)
        return self.line

    def play(self) -> None:
        """Writes `play.html` next to the recording; why it could not is in `stderr.txt`."""
        self._start([self._program, "play", str(self.scratch / "rollout.h5"), "--quiet"], _PAGE_TIMEOUT)

    def kill(self, reason: str, number: signal.Signals = signal.SIGKILL) -> None:
        self.killed = reason
        signal.pidfd_send_signal(self.descriptor, number)

    def error(self) -> str:
        """The last line of its stderr."""
        text = (self.scratch / "stderr.txt").read_text(errors="replace").strip()
        return text.rpartition("\n")[2].removeprefix("tendril: ")[-1000:]

    def _outcome(self) -> tuple[str, dict[str, Any], str]:
        """Outcome, summary, error."""
        code = self.process.returncode
        if self.killed:
            return self.killed, {}, ""
        if code == 2:
            return "rejected", {}, self.error()
        expected = {0: "done", 1: "done", 3: "diverged"}.get(code)
        try:
            summary = read_summary(self.scratch / "summary.json") if expected else {}
        except ModelError:
            summary = {}
        if expected is None or summary.get("outcome") != expected:
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            error = self.error() or (os.strerror(errno.ENOSPC) if _is_full(self.scratch) else "")
            return "crashed", {}, f"{how}: {error}".rstrip(": ")
        return expected, summary, str(summary.get("reason", ""))

    def discard(self) -> None:
        shutil.rmtree(self.scratch, ignore_errors=True)


class LocalDriver(Driver):
    """Keeps as many processes as there are jobs, until all runs have a line."""

    def __init__(self, plan: SweepPlan, folder: Path, program: str, options: Options, interrupt: Interrupt) -> None:
        super().__init__(plan, folder, program, options, interrupt)
        self._jobs = options.jobs or len(os.sched_getaffinity(0))
        self._selector = selectors.DefaultSelector()
        self._selector.register(interrupt.reader, selectors.EVENT_READ)
        self._children: dict[int, _Child] = {}

    def each(self, runs: Iterator[SweepRun], finish: Finish) -> None:
        ordered = 0
        try:
            while True:
                while not self.ended and len(self._children) < self._jobs and (one := self._next(runs)) is not None:
                    self._start(*one)
                if not self._children:
                    return
                self._wait(finish)
                ordered = self._handle_interrupts(ordered)
        finally:
            for child in self._children.values():
                child.kill("ended")
                child.process.wait()
                child.discard()
            self._selector.close()

    def _start(self, run: SweepRun, attempt: int) -> None:
        self._watch(_Child(self._plan, run, self._program, self._scratch(run), attempt))

    def _watch(self, child: _Child) -> None:
        self._children[child.descriptor] = child
        self._selector.register(child.descriptor, selectors.EVENT_READ)

    def _wait(self, finish: Finish) -> None:
        deadline = min(child.deadline for child in self._children.values())
        for key, _ in self._selector.select(min(max(0.0, deadline - time.monotonic()), 3600.0)):
            if key.fd == self._interrupt.reader:
                os.read(self._interrupt.reader, 100)
            else:
                self._finish(self._children[key.fd], finish)
        for child in self._children.values():
            if time.monotonic() >= child.deadline:
                child.kill(child.killed or "timeout")
                child.deadline = float("inf")

    def _finish(self, child: _Child, finish: Finish) -> None:
        child.process.wait()
        self._selector.unregister(child.descriptor)
        os.close(child.descriptor)
        del self._children[child.descriptor]
        try:
            line = child.line
            if line is None:
                line = child.end_run(self._plan)
                if not self._counts(child.run, line):
                    return
                kept = child.recorded and (self._plan.record != "failed" or journal.has_failed(line))
                if kept and (child.scratch / "rollout.h5").exists():
                    child.play()
                    self._watch(child)
                else:
                    finish(line, child.scratch if kept else None)
            elif any(text in child.error() for text in DISK_FULL):
                raise OSError(child.error())
            elif not self.ended:
                finish(line, child.scratch)
        finally:
            if child.descriptor not in self._children:
                child.discard()

    def _handle_interrupts(self, ordered: int) -> int:
        """Ctrl-C ends the runs, a second one kills them."""
        count = self._interrupt.count
        if count > ordered:
            self.ended = True
            for child in self._children.values():
                child.kill("ended", signal.SIGTERM if count == 1 else signal.SIGKILL)
                child.deadline = time.monotonic() + _PATIENCE
        return count


def _is_full(folder: Path) -> bool:
    """A full disk has no room for a message either."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize < _MIN_FREE
