"""Folders of sweeps that were damaged, copied or left by killed drivers."""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path
from typing import Any

import pytest

import tendril as td
from tendril._errors import ModelError
from tendril.sweep import journal
from tendril.sweep.folder import open_folder
from tendril.sweep.plan import SweepPlan, Variant
from tendril.sweep.runs import read_plan

RECORD: dict[str, Any] = {
    "id": "0123456789abcdef",
    "outcome": "done",
    "verdict": "pass",
    "checks": [{"name": "a", "metric": "tip_error_end", "value": 1.0, "min": None, "max": 2, "holds": True}],
    "metrics": {"tip_error_end": 1.0, "speed_max": None},
    "error": "",
}


def line(text: bytes) -> bytes:
    return b"%08x %s\n" % (zlib.crc32(text), text)


def test_a_line_is_the_same_with_the_line_ends_of_another_system() -> None:
    written = journal.encode(RECORD)
    assert journal.decode(written) == RECORD
    assert journal.decode(written.replace(b"\n", b"\r\n")) == RECORD
    assert journal.decode(written[:-1]) is None
    assert journal.decode(written.replace(b"pass", b"fail")) is None


@pytest.mark.parametrize(
    "change",
    [
        {"id": 3},
        {"outcome": "fine"},
        {"verdict": ["pass"]},
        {"checks": {}},
        {"checks": [{"name": "a"}]},
        {"checks": [{"name": "a", "metric": "m", "value": "1"}]},
        {"metrics": [1]},
        {"metrics": {"m": "1"}},
        {"error": None},
    ],
)
def test_a_line_with_other_content_does_not_count(change: dict[str, Any]) -> None:
    assert journal.decode(line(json.dumps(RECORD | change).encode())) is None
    missing = {key: value for key, value in RECORD.items() if key not in change or key in ("verdict", "error")}
    if missing != RECORD:
        assert journal.decode(line(json.dumps(missing).encode())) is None


@pytest.mark.parametrize("text", [b"[" * 100_000, b"7", b"[]", b"null", b"{}", b"\xff", b""])
def test_a_line_of_another_kind_does_not_count(text: bytes) -> None:
    assert journal.decode(line(text)) is None


def test_what_is_no_file_in_a_journal_is_left_out(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.jsonl")
    (tmp_path / "b.jsonl").mkdir()
    (tmp_path / "c.jsonl").write_bytes(journal.encode(RECORD))
    assert [record for _, record in journal.read(tmp_path)] == [RECORD]


PLAN = SweepPlan(
    name="reach",
    experiment="reach.toml",
    seeds=(0, 1),
    cells=((),),
    variants=(Variant("default", (), ""),),
    baseline="default",
    compare=(),
    record="none",
    timeout=60.0,
    retries=1,
    settings=(),
    duration=1.0,
    versions={"tendril": td.__version__},
    files={},
)


def saved(folder: Path) -> bytes:
    text = (json.dumps(PLAN.to_json()) + "\n").encode()
    (folder / "sweep.json").write_bytes(text)
    return text


def test_a_plan_is_read_as_it_was_written(tmp_path: Path) -> None:
    saved(tmp_path)
    assert read_plan(tmp_path) == PLAN


@pytest.mark.parametrize(
    "text", ["", "[]", "7", "null", '{"format":1}', '{"format":"1"}', "{", "[" * 100_000, '{"seeds":1}']
)
def test_a_damaged_plan_is_set_aside_and_the_sweep_goes_on(tmp_path: Path, text: str) -> None:
    (tmp_path / "sweep.json").write_text(text)
    with pytest.raises(ModelError, match=r"sweep\.json: is damaged: start the sweep again, its runs are kept"):
        read_plan(tmp_path)
    assert not open_folder(tmp_path, PLAN)  # not new: its journal counts
    assert (tmp_path / "sweep.json.damaged").read_text() == text


def test_half_a_plan_is_damaged(tmp_path: Path) -> None:
    text = saved(tmp_path)
    for length in range(0, len(text) - 3, 7):
        (tmp_path / "sweep.json").write_bytes(text[:length])
        with pytest.raises(ModelError, match="is damaged"):
            read_plan(tmp_path)


def test_a_newer_plan_is_refused_and_stays(tmp_path: Path) -> None:
    (tmp_path / "sweep.json").write_text('{"format": 99}')
    with pytest.raises(ModelError, match="written by a newer tendril"):
        open_folder(tmp_path, PLAN)
    assert (tmp_path / "sweep.json").exists()


def test_a_folder_that_a_killed_driver_has_just_made_is_taken(tmp_path: Path) -> None:
    for name in ("files", "journal", "runs"):
        (tmp_path / name).mkdir()
        (tmp_path / "lock").touch()
        assert open_folder(tmp_path, PLAN)
    (tmp_path / "notes.txt").touch()
    with pytest.raises(ModelError, match="is not empty and no folder of a sweep"):
        open_folder(tmp_path, PLAN)
