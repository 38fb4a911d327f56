"""The journal of a sweep: a line per finished run, valid after the death of any process.

A line is CRC-32 of the JSON (8 hexadecimal digits), a blank, JSON. Every driver writes a separate file.
"""

from __future__ import annotations

import json
import os
import socket
import time
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from tendril._reading import ANYTHING, FLAG, NUMBER_OR_NULL, TEXT, DictOf, ListOf, Table, one_of, parse_json, require

Record = dict[str, Any]
OUTCOMES = ("done", "diverged", "timeout", "crashed")
_LONGEST = 1 << 20  # bytes of a line
_CHECK = Table(
    {"name": TEXT, "metric": TEXT, "value": NUMBER_OR_NULL, "unit": TEXT, "holds": FLAG},
    {"min": NUMBER_OR_NULL, "max": NUMBER_OR_NULL},
)
_RECORD = Table(
    {
        "id": TEXT,
        "outcome": one_of(*OUTCOMES),
        "verdict": one_of(None, "pass", "fail", "none"),
        "checks": ListOf(_CHECK),
        "failures": ListOf(TEXT),
        "metrics": DictOf(NUMBER_OR_NULL),
        "drawn": DictOf(ANYTHING),
        "machine": TEXT,
        "error": TEXT,
    },
    {"measured": one_of("truth", "sensors")},
)


def has_failed(record: Record) -> bool:
    return bool(record["outcome"] != "done" or record["verdict"] == "fail")


def encode(record: Record) -> bytes:
    text = json.dumps(record, separators=(",", ":"), allow_nan=False).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def decode(line: bytes) -> Record | None:
    """Returns the record of a line; None for a truncated one."""
    text = line.removesuffix(b"\n").removesuffix(b"\r")[9:]  # a copy may have other ends of lines
    try:
        if not line.endswith(b"\n") or int(line[:8], 16) != zlib.crc32(text):
            return None
        record: Record = parse_json(text.decode(), "journal")
        require(record, _RECORD, "journal")
    except ValueError:  # ModelError is one
        return None
    return record


def read(folder: Path) -> Iterator[tuple[str, Record | None]]:
    """All lines of all files, as `file:line` and record; None: truncated."""
    for file in sorted(folder.glob("*.jsonl")):
        if not file.is_file():  # a pipe would not end
            continue
        with file.open("rb") as lines:
            for number, line in enumerate(iter(partial(lines.readline, _LONGEST), b""), 1):
                yield f"{file}:{number}", decode(line)


class Writer:
    """Appends whole lines to a new file. A line that does not fit on the disk is taken back."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = -1
        self._length = 0
        self._synced = 0.0

    def append(self, record: Record) -> None:
        if self._file < 0:
            self._open()
        line = encode(record)
        try:
            written = os.write(self._file, line)
            if written != len(line):
                os.write(self._file, line[written:])  # raises when the disk is full
        except OSError:
            os.ftruncate(self._file, self._length)
            raise
        self._length += len(line)
        if time.monotonic() - self._synced > 1:
            self._sync()

    def close(self) -> None:
        if self._file >= 0:
            self._sync()
            os.close(self._file)
            self._file = -1

    def _open(self) -> None:
        n = 0
        while self._file < 0:
            name = self._folder / f"{socket.gethostname()}-{os.getpid()}-{n}.jsonl"
            try:
                self._file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o666)
            except FileExistsError:
                n += 1

    def _sync(self) -> None:
        os.fsync(self._file)
        self._synced = time.monotonic()
