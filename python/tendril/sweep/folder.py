"""The folder of a sweep: its lock, its inputs, and what killed drivers left in it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tendril._errors import ModelError
from tendril._files import write_atomically
from tendril.sweep.inputs import copy_inputs
from tendril.sweep.plan import DamagedPlan, SweepPlan
from tendril.sweep.runs import read_plan

if sys.platform != "win32":  # where no sweep runs
    import fcntl

_FOLDERS = frozenset(("files", "journal", "runs"))
_OWN = _FOLDERS | {"lock"}  # what a sweep makes before its plan
_RESULTS = frozenset(("runs.csv", "summary.json", "report.html", "repeated", "sweep.json.damaged"))
_PATIENCE = 10.0  # s that an interrupted run has to end, and a killed driver's children


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
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
    """Tells whether the process that has the lock, by its own words, is no longer there."""
    found = re.fullmatch(r"process (\d+) on (.+)", owner)
    return found is not None and found[2] == socket.gethostname() and not Path(f"/proc/{found[1]}").exists()


def is_running(folder: Path) -> bool:
    """Tells whether a driver has the folder."""
    if sys.platform == "win32":
        return False
    try:
        with (folder / "lock").open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


def open_folder(folder: Path, plan: SweepPlan) -> bool:
    """Makes the folder or checks that it is one of this sweep. Returns whether it was empty or made."""
    file = folder / "sweep.json"
    _require_kinds(folder)
    if file.is_file():
        try:
            earlier = read_plan(folder)
        except DamagedPlan:
            file.replace(folder / "sweep.json.damaged")  # the plan is written again; the journal is what counts
            return False
        for key in ("name", "experiment"):
            mine, other = getattr(plan, key), getattr(earlier, key)
            if Path(mine).name != Path(other).name:
                raise ModelError(
                    f"{folder}: {key} = {other}: must be a folder of the sweep {mine}: choose another --out"
                )
        return False
    if folder.exists() and not _has_only_own(folder):
        raise ModelError(f"{folder}: is not empty and no folder of a sweep: choose another --out")
    folder.mkdir(parents=True, exist_ok=True)
    return True


def _require_kinds(folder: Path) -> None:
    """Throws ModelError for a file in the place of a folder, or the other way around."""
    for name in sorted(_OWN | {"sweep.json"}):
        path = folder / name
        if path.exists() and not (path.is_dir() if name in _FOLDERS else path.is_file()):
            kind = "folder" if name in _FOLDERS else "file"
            raise ModelError(f"{path}: must be a {kind} that the sweep has made: remove it, or choose another --out")


def _has_only_own(folder: Path) -> bool:
    """Tells whether a sweep that was stopped, or whose plan is lost, has made all that is in the folder."""
    if not folder.is_dir():
        return False
    names = {entry.name for entry in folder.iterdir() if not (entry.name[0] == "." and entry.name.endswith(".part"))}
    return names <= (_OWN | _RESULTS if "journal" in names else _OWN)


def remove_parts(folder: Path) -> None:
    """Removes what killed drivers left."""
    for part in [*folder.glob("runs/.part-*"), *folder.glob(".*.part"), *folder.glob("files/.*.part")]:
        shutil.rmtree(part) if part.is_dir() else part.unlink(missing_ok=True)


def write_inputs(folder: Path, plan: SweepPlan) -> None:
    copy_inputs(plan, folder / "files")
    write_atomically(folder / "sweep.json", json.dumps(plan.to_json(), indent=1) + "\n")


def keep(files: Path, folder: Path, id: str) -> None:
    kept = folder / "runs" / id
    if kept.exists():
        shutil.rmtree(kept)
    files.rename(kept)
