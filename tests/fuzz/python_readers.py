#!/usr/bin/env python3
"""Feeds inputs to a reader in Python: files, or mutations of a corpus, all in one process.

usage: python_readers.py TARGET [-runs=N] [-max_total_time=S] [-seed=N] [-max_len=BYTES] [-dict=FILE]
                         [-artifact_prefix=PREFIX] FOLDER ... | FILE ...

Needs an environment with the package. Options and output are those of libFuzzer: scripts/fuzz runs both. An input is
read or refused with ModelError or RecordingError; another exception, a warning, a crash, 2 s of processor time, 30 s of
waiting or 1 GB more is a finding. An input whose answer differs from all before in more than numbers joins the corpus.
"""

from __future__ import annotations

import contextlib
import faulthandler
import hashlib
import io
import json
import mmap
import os
import random
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

LIMIT_S, PATIENCE_S, LIMIT_BYTES = 2.0, 30.0, 1 << 30
FOUND = 77  # exit code
MOST_RIGHT = 200  # inputs kept that were read
HEAD = 24  # bytes of the numbers in the shared memory

Read = Callable[[Path, bytes], object]


# --- targets: each gets a separate folder and an input ---------------------------------------------------------------

PLAN = {
    "name": "a",
    "experiment": "a.toml",
    "seeds": [0, 1],
    "cells": [[["option.timestep", 0.002]]],
    "variants": [{"name": "default", "settings": [], "controller": "", "python": "", "plugin": ""}],
    "baseline": "default",
    "compare": [{"metric": "tip_error_end", "better": "lower", "unit": "m"}],
    "record": "none",
    "timeout": 3600.0,
    "retries": 2,
    "settings": [],
    "duration": 10.0,
    "versions": {"tendril": "0.1.0", "mujoco": "4.0.1"},
    "files": {"a.toml": "0" * 64},
    "named": {},
}
MOST_RUNS = 1000  # of a plan that is read further


def read_runs(folder: Path) -> None:
    from tendril.sweep.runs import FinishedRuns, read_entries, read_plan

    read_entries(folder)
    if len(read_plan(folder)) <= MOST_RUNS:
        found = FinishedRuns(folder)
        for one in found.plan.compare:
            found.by_seed(found.values(one), None, 0)
        json.dumps([found.variants, found.checks, found.levels, found.machines])
        assert all(len(column) == len(found.runs["id"]) for column in found.runs.values())


def journal(folder: Path, data: bytes) -> None:
    from tendril.sweep.plan import FORMAT

    (folder / "journal").mkdir(exist_ok=True)
    (folder / "sweep.json").write_text(json.dumps({"format": FORMAT, **PLAN}))
    (folder / "journal/a.jsonl").write_bytes(data)
    read_runs(folder)


def sweep(folder: Path, data: bytes) -> None:
    (folder / "sweep.json").write_bytes(data)
    read_runs(folder)


def sweep_table(folder: Path, data: bytes) -> None:
    from tendril.sweep import table
    from tendril.sweep.table import is_suite, make_plan, suite_name

    table.read_versions, table.find_files = (lambda program: PLAN["versions"]), (lambda *plan: None)  # no program
    (file := folder / "a.toml").write_bytes(data)
    for name in "a.xml", "a.py":
        (folder / name).touch()
    if not is_suite(file):
        json.dumps(make_plan(file, "tendril").to_json(), allow_nan=False)
    suite_name([file])


def identify(folder: Path, data: bytes) -> None:
    from tendril.identify.data import check_units, joined, read_data, read_markers

    (file := folder / "a.csv").write_bytes(data)
    names = ["/tendon_1", "/tendon_2"]
    model = SimpleNamespace(
        nu=2,
        nsite=1,
        actuator=lambda i: SimpleNamespace(name=names[i]),
        site=lambda i: SimpleNamespace(name="/tip"),
        actuator_ctrlrange=[(0.0, 20.0), (0.0, 20.0)],
        actuator_ctrllimited=[True, False],
    )
    markers = {}
    with contextlib.suppress(*refusals()):
        markers = read_markers(file)
    rows = read_data(file, model, (0.0, 0.0, -9.81), markers)
    check_units(joined([rows, rows]), model, 0.2)


def python_recording(folder: Path, data: bytes) -> None:
    (file := folder / "a.h5").write_bytes(data)
    read_recording(file)


def read_recording(file: Path) -> None:
    from tendril._recorded import RecordedRun

    with RecordedRun(file) as run:
        json.dumps([run.attributes, run.texts, run.faults, run.settings], allow_nan=True)
        for name in ("step", "time", "qpos", "qvel", "act", "ctrl", "sensordata", "mocap_pos", "mocap_quat"):
            assert len(getattr(run, name)) == run.rows
        run.contacts()
        if run.rows:
            run.contact_columns()
        if run.has_tables:
            run.penetration(), run.wall_force(), run.lines_of("tip_error")
            for sensor in run.tables["sensors"]:
                run.sensor(sensor["name"])


def texts(folder: Path, data: bytes) -> None:
    """The texts of a recording, one per line: name and text."""
    import h5py
    import numpy as np

    (file := folder / "a.h5").write_bytes(small_recording())
    with h5py.File(file, "r+") as opened:
        group = opened["rollout_0/texts"]
        for line in data.split(b"\n")[:8]:
            name, _, text = line.partition(b" ")
            if not re.fullmatch(rb"\w+", name):
                continue
            if name in group:
                del group[name]
            group[name] = np.array([text.replace(b"\\n", b"\n")], dtype=f"S{max(len(text), 1)}")
    read_recording(file)


def small_recording() -> bytes:
    return next(iter(sorted((Path(__file__).parents[1] / "corpus/fuzz/python_recording").glob("*.h5")))).read_bytes()


def refusals() -> tuple[type[Exception], ...]:
    from tendril._errors import ModelError, RecordingError

    return ModelError, RecordingError


# --- mutations ------------------------------------------------------------------------------------------------------

NUMBERS = [
    "0",
    "-1",
    "1e308",
    "1e-320",
    "-0.0",
    "9223372036854775808",
    "nan",
    "inf",
    "NaN",
    "Infinity",
    "1e999",
    "9" * 400,
]
VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    2**63,
    10**400,
    1e308,
    float("nan"),
    "",
    "\ud800",
    "\x1b[31m<script>",
    [],
    {},
]


class Mutator:
    """Makes inputs of inputs."""

    def __init__(self, draw: random.Random, words: list[bytes], longest: int, target: Target) -> None:
        self.draw, self.words, self.longest, self.target = draw, words or [b"\n"], longest, target
        self.pool: list[bytes] = []  # a kind of answer each
        self.right: list[bytes] = []  # inputs that were read

    def make(self) -> bytes:
        draw = self.draw
        data = draw.choice(self.right if self.right and draw.random() < 0.5 else self.pool)
        if self.target.edit is not None and draw.random() < 0.8:
            with contextlib.suppress(ArithmeticError, LookupError, OSError, RuntimeError, TypeError, ValueError):
                return self.target.edit(draw, data)[: self.longest]
        for _ in range(draw.choice((1, 1, 2, 4, 8))):
            data = draw.choice((self.bytes, self.number, self.word, self.lines, self.splice))(data)
        return data[: self.longest]

    def bytes(self, data: bytes) -> bytes:
        draw, at = self.draw, self.draw.randrange(len(data) + 1)
        end = min(at + draw.choice((0, 1, 1, 2, 4, 64)), len(data))
        new = draw.choice((b"", draw.randbytes(end - at), data[at:end] * draw.choice((2, 2, 100)), draw.randbytes(1)))
        return data[:at] + new + data[end:]

    def number(self, data: bytes) -> bytes:
        found = list(re.finditer(rb"-?\d[\d.e+-]*", data[:20000]))
        if not found:
            return data
        one = self.draw.choice(found)
        return data[: one.start()] + self.draw.choice(NUMBERS).encode() + data[one.end() :]

    def word(self, data: bytes) -> bytes:
        at = self.draw.randrange(len(data) + 1)
        found = list(re.finditer(rb"\w+", data[:20000]))
        if found and self.draw.random() < 0.5:
            one = self.draw.choice(found)
            return data[: one.start()] + self.draw.choice(self.words) + data[one.end() :]
        return data[:at] + self.draw.choice(self.words) + data[at:]

    def lines(self, data: bytes) -> bytes:
        lines = data.splitlines(keepends=True)
        if not lines:
            return data
        at = self.draw.randrange(len(lines))
        lines[at : at + 1] = self.draw.choice(([], [lines[at]] * 2, [lines[at], self.draw.choice(lines)]))
        return b"".join(lines)

    def splice(self, data: bytes) -> bytes:
        other = self.draw.choice(self.pool)
        return data[: self.draw.randrange(len(data) + 1)] + other[self.draw.randrange(len(other) + 1) :]


def edit_json(draw: random.Random, data: bytes) -> bytes:
    """Replaces, removes or repeats a value of a JSON text."""
    tree = [json.loads(data)]
    places: list[tuple[Any, Any]] = []
    queue: list[Any] = [tree]
    while queue:
        node = queue.pop()
        for key in list(node) if isinstance(node, dict) else range(len(node)):
            places.append((node, key))
            if isinstance(node[key], list | dict):
                queue.append(node[key])
    for _ in range(draw.choice((1, 1, 2, 3))):
        node, key = draw.choice(places)
        if isinstance(node, list) and key >= len(node) or isinstance(node, dict) and key not in node:
            continue
        kind, (other, place) = draw.randrange(5), draw.choice(places)
        if kind == 0 and node is not tree:
            del node[key]
        elif kind == 1 and isinstance(node, list):
            node += [node[key]] * draw.choice((1, 3, 100))
        elif kind == 2 and (place in other if isinstance(other, dict) else place < len(other)):
            node[key] = json.loads(json.dumps(other[place]))
        elif kind == 3 and isinstance(node[key], int | float):
            node[key] = draw.choice((node[key] + 1, -node[key], 1000 * node[key], float("inf")))
        else:
            node[key] = draw.choice(VALUES)
    return json.dumps(tree[0]).encode()


def edit_journal(draw: random.Random, data: bytes) -> bytes:
    """Edits lines and keeps their checksums right."""
    lines = [line[9:] for line in data.splitlines() if len(line) > 9]
    at = draw.randrange(len(lines))
    lines.insert(at, edit_json(draw, lines[at]))
    if draw.random() < 0.7:
        del lines[at + 1]
    return b"".join(b"%08x %s\n" % (zlib.crc32(line), line) for line in lines)


def edit_texts(draw: random.Random, data: bytes) -> bytes:
    lines = data.splitlines()
    at = draw.randrange(len(lines))
    name, _, text = lines[at].partition(b" ")
    lines[at] = name + b" " + edit_json(draw, text)
    return b"\n".join(lines)


def edit_recording(draw: random.Random, data: bytes) -> bytes:
    """Changes datasets and attributes: bytes that are changed in a file are refused for a checksum."""
    import h5py
    import numpy as np

    image = io.BytesIO(data)
    with h5py.File(image, "r+") as opened:
        group = opened["rollout_0"]
        names: list[str] = []
        group.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
        for _ in range(draw.choice((1, 1, 2, 3))):
            name, other, kind = draw.choice(names), draw.choice(names), draw.randrange(6)
            if name not in group:
                continue
            if kind == 0:
                del group[name]
            elif kind == 1 and group[name].chunks and len(group[name]) <= 1 << 20:
                group[name].resize(draw.choice((0, 1, 4, 6, 1 << 20, 1 << 40)), axis=0)
            elif kind == 2 and other in group and other != name:
                del group[name]
                group[name] = group[other]
            elif kind == 3 and 0 < group[name].size < 1 << 20 and group[name].dtype.kind in "iuf":
                values = group[name][()].reshape(-1)
                values[draw.randrange(len(values))] = draw.choice((0, 1, -1, 1000, 2**31 - 1, -(2**31)))
                group[name][...] = values.reshape(group[name].shape)
            elif kind == 4:
                del group[name]
                shape = tuple(draw.choice((0, 1, 3, 5, 1 << 30)) for _ in range(draw.randrange(4)))
                group.create_dataset(name, shape, dtype=draw.choice(("<i8", "<f8", "S3", "<i4", "<c16")))
            elif kind == 5:
                group.attrs[draw.choice(("seed", "outcome", "format_version", "a"))] = draw.choice(
                    (2, -1, 2.0, "done", np.zeros(3), np.bytes_(b"\xff"), h5py.Empty("f8"))
                )
    return image.getvalue()


# --- the loop -------------------------------------------------------------------------------------------------------


@dataclass
class Target:
    read: Read
    edit: Callable[[random.Random, bytes], bytes] | None = None


TARGETS = {
    "journal": Target(journal, edit_journal),
    "sweep": Target(sweep, edit_json),
    "sweep_table": Target(sweep_table),
    "identify": Target(identify),
    "texts": Target(texts, edit_texts),
    "python_recording": Target(python_recording, edit_recording),
}


def limits(seconds: float, patience: float) -> None:
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, patience)


def answer(target: Target, folder: Path, data: bytes) -> str:
    """Returns what the reader says of an input, without its numbers. Throws what it must not throw."""
    limits(LIMIT_S, PATIENCE_S)
    try:
        target.read(folder, data)
        said = "read"
    except refusals() as error:
        said = str(error)
        if "\n" in said.replace("\\n", ""):
            raise AssertionError(f"a message of several lines: {said!r}") from error
    limits(0, 0)
    return re.sub(r"[-+]?\d[\d.]*(e[-+]?\d+)?|\"[^\"]*\"|'[^']*'", "#", said.replace(str(folder), ""))[:200]


def child(name: str, options: dict[str, str], files: list[Path], shared: mmap.mmap) -> None:
    """Runs the inputs; in the shared memory are the number of runs, that of those read, and the input: size, bytes."""
    parent = os.getppid()
    target, runs = TARGETS[name], int(options.get("runs", 1 << 62))
    size = sum(int(value) for value in Path("/proc/self/statm").read_text().split()[:1]) * mmap.PAGESIZE
    resource.setrlimit(resource.RLIMIT_AS, (size + LIMIT_BYTES, -1))
    words = [
        one.encode().decode("unicode_escape").encode("latin-1")
        for one in re.findall(r'"(.*)"', Path(options["dict"]).read_text() if "dict" in options else "")
    ]
    mutator = Mutator(random.Random(int(options.get("seed", 0))), words, int(options.get("max_len", 4096)), target)
    seeds = [file.read_bytes() for file in files]
    end = time.monotonic() + float(options.get("max_total_time", 1e9))
    known: set[str] = set()
    count = read = 0
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        while count != max(runs, len(seeds)) and time.monotonic() < end and os.getppid() == parent:
            data = seeds[count] if count < len(seeds) else mutator.make()
            shared[:HEAD] = b"".join(number.to_bytes(8, "little") for number in (count, read, len(data)))
            shared[HEAD : HEAD + len(data)] = data
            said = answer(target, Path(place), data)
            if said not in known or count < len(seeds):
                known.add(said)
                mutator.pool.append(data)
            if said == "read" and (count < len(seeds) or len(mutator.right) < MOST_RIGHT):
                mutator.right.append(data)
            count, read = count + 1, read + (said == "read")
    shared[:16] = count.to_bytes(8, "little") + read.to_bytes(8, "little")


def run(name: str, options: dict[str, str], files: list[Path]) -> int:
    """Runs the loop in a process that may die of an input."""
    shared = mmap.mmap(-1, (1 << 22) + HEAD)
    if (process := os.fork()) == 0:
        faulthandler.enable()
        warnings.simplefilter("error")
        for number in signal.SIGPROF, signal.SIGALRM:
            signal.signal(number, signal.SIG_DFL)
            faulthandler.register(number, all_threads=False, chain=True)
        try:
            child(name, options, files, shared)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(FOUND)
    status = os.wait4(process, 0)
    code = os.waitstatus_to_exitcode(status[1])
    count, read, size = (int.from_bytes(shared[at : at + 8], "little") for at in (0, 8, 16))
    print(f"stat::number_of_executed_units: {count}\nstat::number_of_read_units: {read}")
    print(f"stat::peak_rss_mb: {status[2].ru_maxrss >> 10}")
    if code == 0:
        return 0
    data = shared[HEAD : HEAD + size]
    kind = "timeout" if code in (-signal.SIGPROF, -signal.SIGALRM) else "crash"
    found = Path(f"{options.get('artifact_prefix', '')}{kind}-{hashlib.sha1(data).hexdigest()}")
    found.write_bytes(data)
    print(f"{name}: {found}: exit code {code}")
    return FOUND


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] not in TARGETS:
        print(__doc__, "\nTargets:", ", ".join(TARGETS))
        return 2
    try:
        import h5py  # noqa: F401
        import mujoco  # noqa: F401
        import tendril._core  # noqa: F401
    except ImportError as error:
        print(f"python_readers.py: {error}: needs an environment with the package: scripts/wheel", file=sys.stderr)
        return 3
    options = dict(one[1:].split("=", 1) for one in arguments[1:] if one.startswith("-"))
    given = [Path(one) for one in arguments[1:] if not one.startswith("-")]
    files = [file for one in given for file in (sorted(one.iterdir()) if one.is_dir() else [one])]
    if not any(one.is_dir() for one in given):
        options["runs"] = "0"
    return run(arguments[0], options, files)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
