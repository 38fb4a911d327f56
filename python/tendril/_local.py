"""Drivers of a sweep, and the engine `local`: processes of the program `tendril run`, one per core.

Everything that may be lost is lost with its process: a child dies with the driver, its files lie in a folder that the
next driver removes, and a run counts when its line is in the journal.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import re
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from tendril import _journal
from tendril._errors import ModelError
from tendril.dataset import Dataset
from tendril.sweep import InputChangeDetector, Plan, Run, command_of

_DISK_FULL = ("No space left on device", "File too large", "Disk quota exceeded")
_LEAST_FREE = 1 << 16  # bytes
_PATIENCE = 10.0  # s that an interrupted run has to end, and a killed driver's children
_PAGE_TIMEOUT = 600.0  # s for the playback of a run
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Options:
    """How a sweep is run, which no number depends on."""

    jobs: int = 0  # processes at a time; 0: one per core
    engine: str = "local"  # or "ray"
    address: str = ""  # of a Ray cluster; without one the sweep starts its own
    shard: tuple[int, int] = (0, 1)  # runs whose id modulo the second is the first
    retry_failed: bool = False
    verify: float = 0.0  # part of the finished runs that is run again
    on_progress: Callable[[int, int, int], None] | None = None  # done, of how many, failed

    def __post_init__(self) -> None:
        if self.engine not in ("local", "ray"):
            raise ModelError(f"engine: {self.engine}: must be local or ray")
        if self.address and self.engine != "ray":
            raise ModelError(f"address: {self.address}: needs the engine ray")


@dataclass
class SweepResult:
    """What one driver did."""

    planned: int = 0  # runs of the sweep, or of the shard
    done: int = 0  # of these, in the journal, earlier ones included
    interrupted: bool = False
    verified: int = 0
    differing: list[str] = field(default_factory=list)  # a line for each run with other numbers
    notices: list[str] = field(default_factory=list)  # of the engine, a line each

    def add(self, other: SweepResult) -> None:
        self.planned, self.done = self.planned + other.planned, self.done + other.done
        self.interrupted |= other.interrupted
        self.verified += other.verified
        self.differing += other.differing
        self.notices += other.notices


class Rejected(ModelError):
    """The program refuses what it is given."""


def in_shard(run: Run, shard: tuple[int, int]) -> bool:
    return int(run.id, 16) % shard[1] == shard[0]


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Throws OSError when another driver has the folder."""
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                owner = os.pread(descriptor, 100, 0).decode(errors="replace").strip()
            if not _was_killed(owner) or time.monotonic() > end:
                raise OSError(f"{folder}: another sweep runs here: {owner or 'another process'}") from None
            time.sleep(0.05)  # a child of the killed driver that was just being started has the lock
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _was_killed(owner: str) -> bool:
    """Whether the process that has the lock, by its own words, is no longer there."""
    found = re.fullmatch(r"process (\d+) on (.+)", owner)
    return found is not None and found[2] == socket.gethostname() and not Path(f"/proc/{found[1]}").exists()


def is_running(folder: Path) -> bool:
    """Whether a driver has the folder."""
    try:
        with (folder / "lock").open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


def _open_folder(folder: Path, plan: Plan) -> bool:
    """Makes the folder or checks that it is one of this sweep. Returns whether it was empty or made."""
    file = folder / "sweep.json"
    if file.exists():
        earlier = Dataset.read_plan(folder)
        for key in ("name", "experiment"):
            mine, other = getattr(plan, key), getattr(earlier, key)
            if Path(mine).name != Path(other).name:
                raise ModelError(
                    f"{folder}: {key} = {other}: must be a folder of the sweep {mine}: choose another --out"
                )
        return False
    if folder.exists() and (not folder.is_dir() or any(entry.name != "lock" for entry in folder.iterdir())):
        raise ModelError(f"{folder}: is not empty and no folder of a sweep: choose another --out")
    folder.mkdir(parents=True, exist_ok=True)
    return True


def _remove_parts(folder: Path) -> None:
    """What killed drivers left."""
    for part in [*folder.glob("runs/.part-*"), *folder.glob(".*.part"), *folder.glob("files/.*.part")]:
        shutil.rmtree(part) if part.is_dir() else part.unlink(missing_ok=True)


def _write_inputs(folder: Path, plan: Plan) -> None:
    root = Path(plan.experiment).parent
    for name, digest in plan.files.items():
        if not (kept := folder / "files" / digest).exists():
            _journal.write_atomically(kept, (root / name).read_bytes())
    _journal.write_atomically(folder / "sweep.json", json.dumps(plan.to_json(), indent=1) + "\n")


def _die_with(parent: int) -> Callable[[], None]:
    def prepare() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)  # the driver died meanwhile

    return prepare


class _Child:
    """One process of `tendril run`, then one of `tendril play` if its recording is kept."""

    def __init__(self, plan: Plan, run: Run, program: str, scratch: Path, attempt: int) -> None:
        self.run, self.scratch, self.attempt = run, scratch, attempt
        self.recorded = run.order < plan.record if isinstance(plan.record, int) else plan.record != "none"
        self._program = program
        self.line: _journal.Record | None = None  # when the run has ended
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

    def end_run(self, plan: Plan) -> _journal.Record:
        self.line = record_of(plan, self.run, self.attempt, *self._outcome(), time.monotonic() - self.begin)
        return self.line

    def play(self) -> None:
        """Writes `play.html` beside the recording; why it could not is in `stderr.txt`."""
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
            summary = json.loads((self.scratch / "summary.json").read_text()) if expected else {}
        except (OSError, ValueError):
            summary = {}
        if expected is None or summary.get("outcome") != expected:
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            error = self.error() or (os.strerror(errno.ENOSPC) if _is_full(self.scratch) else "")
            return "crashed", {}, f"{how}: {error}".rstrip(": ")
        return expected, summary, str(summary.get("reason", ""))

    def discard(self) -> None:
        shutil.rmtree(self.scratch, ignore_errors=True)


def record_of(
    plan: Plan, run: Run, attempt: int, outcome: str, summary: dict[str, Any], error: str, wall_time: float
) -> _journal.Record:
    own = {"--set", "--controller"}
    return {
        "id": run.id,
        "variant": run.variant.name,
        "cell": dict(plan.cells[run.cell]),
        "seed": run.seed,
        "outcome": outcome,
        "verdict": summary.get("verdict"),
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
Finish = Callable[[_journal.Record, Path | None], None]


class Interrupt:
    """Counts SIGINT and SIGTERM, and wakes the driver."""

    def __init__(self, listens: bool = True) -> None:
        self.count = 0
        self.reader, self._writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._before: dict[signal.Signals, Any] = {}
        if listens:
            self.listen()

    def listen(self) -> None:
        """Again, after a library has put its own handlers in place."""
        if threading.current_thread() is threading.main_thread():
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
        os.close(self.reader)
        os.close(self._writer)


class Driver:
    """What engines have in common: the order of the runs, and what becomes of their results."""

    def __init__(self, plan: Plan, folder: Path, program: str, options: Options, interrupt: Interrupt) -> None:
        self._plan, self._folder, self._program, self._options = plan, folder, program, options
        self._interrupt = interrupt
        self._again: deque[tuple[Run, int]] = deque()
        self._guard = InputChangeDetector(plan)
        self._names = 0
        self.ended = False  # nothing new begins
        self.notices: list[str] = []

    def each(self, runs: Iterator[Run], finish: Finish) -> None:
        """Runs all; `finish` is called with every result that is none of a crash to be tried again."""
        raise NotImplementedError

    def _next(self, runs: Iterator[Run]) -> tuple[Run, int] | None:
        run = next(runs, None)
        if run is not None:
            return run, 1
        return self._again.popleft() if self._again else None

    def _scratch(self, run: Run) -> Path:
        self._names += 1
        return self._folder / "runs" / f".part-{run.id}-{self._names}"

    def _counts(self, run: Run, line: _journal.Record) -> bool:
        """Whether this is the result of a run; one of a crash may be tried again."""
        outcome, error, attempt = line["outcome"], line["error"], line["attempt"]
        if self.ended or outcome == "ended":
            return False
        if changed := self._guard.changed():
            raise OSError(f"{changed}: was changed while the sweep ran: start the sweep again")
        if outcome == "rejected":
            raise Rejected(error)
        if outcome == "crashed" and any(text in error for text in _DISK_FULL):
            raise OSError(error)
        if outcome == "crashed" and attempt <= self._plan.retries:
            self._again.append((run, attempt + 1))
            return False
        return True


class LocalDriver(Driver):
    """Keeps as many processes as there are jobs, until all runs have a line."""

    def __init__(self, plan: Plan, folder: Path, program: str, options: Options, interrupt: Interrupt) -> None:
        super().__init__(plan, folder, program, options, interrupt)
        self._jobs = options.jobs or len(os.sched_getaffinity(0))
        self._selector = selectors.DefaultSelector()
        self._selector.register(interrupt.reader, selectors.EVENT_READ)
        self._children: dict[int, _Child] = {}

    def each(self, runs: Iterator[Run], finish: Finish) -> None:
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

    def _start(self, run: Run, attempt: int) -> None:
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
                kept = child.recorded and not (self._plan.record == "failed" and has_passed(line))
                if kept and (child.scratch / "rollout.h5").exists():
                    child.play()
                    self._watch(child)
                else:
                    finish(line, child.scratch if kept else None)
            elif any(text in child.error() for text in _DISK_FULL):
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
    return disk.f_bavail * disk.f_frsize < _LEAST_FREE


def has_passed(record: _journal.Record) -> bool:
    return bool(record["outcome"] == "done" and record["verdict"] != "fail")


def _check_metrics(plan: Plan, record: _journal.Record) -> None:
    known = {*record["metrics"], *(check[key] for check in record["checks"] for key in ("name", "metric"))}
    for comparison in plan.compare:
        if comparison.metric not in known:
            raise Rejected(
                f"{plan.experiment}: sweep: compare: metric = {comparison.metric}: must be one of "
                f"{', '.join(sorted(known))}"
            )


def _keep(files: Path, folder: Path, id: str) -> None:
    kept = folder / "runs" / id
    if kept.exists():
        shutil.rmtree(kept)
    files.rename(kept)


def connected(options: Options) -> contextlib.AbstractContextManager[None]:
    """The cluster of several sweeps, if the engine has one."""
    if options.engine == "ray":
        from tendril._ray import cluster

        return cluster(options)
    return contextlib.nullcontext()


def _driver(plan: Plan, folder: Path, program: str, options: Options, interrupt: Interrupt) -> Driver:
    if options.engine == "ray":
        from tendril._ray import RayDriver

        return RayDriver(plan, folder, program, options, interrupt)
    return LocalDriver(plan, folder, program, options, interrupt)


def run_sweep(plan: Plan, folder: Path, program: str, options: Options) -> SweepResult:
    """Runs what has no line in the journal. Throws ModelError, OSError."""
    fresh = _open_folder(folder, plan)
    journal = _journal.Writer(folder / "journal")
    interrupt = Interrupt()
    try:
        with _locked(folder):
            for name in ("files", "journal", "runs"):
                (folder / name).mkdir(exist_ok=True)
            _remove_parts(folder)
            _write_inputs(folder, plan)
            try:
                return _run_all(plan, folder, program, options, journal, interrupt)
            except Rejected:
                if fresh and not any((folder / "journal").iterdir()):
                    shutil.rmtree(folder)
                raise
    finally:
        journal.close()
        interrupt.close()


def _run_all(
    plan: Plan, folder: Path, program: str, options: Options, journal: _journal.Writer, interrupt: Interrupt
) -> SweepResult:
    lines = Dataset.read_lines(folder)
    again = ("crashed", "timeout") if options.retry_failed else ()
    done = {name for name, line in lines.items() if line.outcome not in again}
    result = SweepResult()
    failed = 0
    for run in plan.runs():
        if in_shard(run, options.shard):
            result.planned += 1
            if run.id in done:
                result.done += 1
                failed += not lines[run.id].passed
    del lines

    def tell() -> None:
        if options.on_progress is not None:
            options.on_progress(result.done, result.planned, failed)

    def finish(record: _journal.Record, kept: Path | None) -> None:
        nonlocal failed
        if record["outcome"] in ("done", "diverged"):
            _check_metrics(plan, record)
        if kept is not None:
            _keep(kept, folder, record["id"])
        journal.append(record)
        result.done += 1
        failed += not has_passed(record)
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
    plan: Plan, folder: Path, program: str, options: Options, interrupt: Interrupt, result: SweepResult
) -> None:
    """Runs a part of the finished runs again, chosen by their ids, and compares all numbers bit for bit."""
    lines = Dataset.read_lines(folder)
    limit = options.verify * 2.0**64
    chosen = [
        run
        for run in plan.runs()
        if in_shard(run, options.shard)
        and run.id in lines
        and lines[run.id].outcome in ("done", "diverged")
        and int(run.id[::-1], 16) <= limit
    ]

    def compare(record: _journal.Record, kept: Path | None) -> None:
        result.verified += 1
        found = _journal.decode(_journal.encode(record))
        if found is None or Dataset.numbers(found) != lines[record["id"]].numbers:
            result.differing.append(f"{record['id']}: other numbers than at {lines[record['id']].origin}")

    driver = _driver(replace(plan, record="none"), folder, program, options, interrupt)
    driver.each(iter(chosen), compare)
    result.interrupted = driver.ended


class Progress:
    """One line on a terminal, nothing elsewhere."""

    def __init__(self, stream: IO[str] = sys.stderr, name: str = "") -> None:
        self._stream = stream
        self._name = f"{name}: " if name else ""
        self._shown = stream.isatty()
        self._begin = time.monotonic()
        self._first: int | None = None
        self._last = 0.0

    def __call__(self, done: int, planned: int, failed: int) -> None:
        now = time.monotonic()
        if self._first is None:
            self._first = done
        if not self._shown or (now - self._last < 0.1 and done < planned):
            return
        self._last = now
        ran = done - self._first
        left = f", {(planned - done) * (now - self._begin) / ran:.0f} s left" if ran and done < planned else ""
        self._stream.write(f"\r\033[K{self._name}{done} of {planned} runs, {failed} not passed{left}")
        self._stream.flush()

    def clear(self) -> None:
        if self._shown:
            self._stream.write("\r\033[K")
            self._stream.flush()
