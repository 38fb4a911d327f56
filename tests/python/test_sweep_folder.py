"""Folders of sweeps that were damaged, copied or left by killed drivers."""

from __future__ import annotations

import json
import os
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tendril as td
from tendril._errors import ModelError
from tendril._program import find_program
from tendril.sweep import journal
from tendril.sweep.driver import Options
from tendril.sweep.folder import open_folder
from tendril.sweep.inputs import InputChangeDetector, copy_inputs, find_files
from tendril.sweep.plan import SweepPlan, Variant
from tendril.sweep.runs import read_plan

RECORD: dict[str, Any] = {
    "id": "0123456789abcdef",
    "outcome": "done",
    "verdict": "pass",
    "checks": [
        {"name": "a", "metric": "tip_error_end", "value": 1.0, "unit": "m", "min": None, "max": 2, "holds": True}
    ],
    "failures": [],
    "metrics": {"tip_error_end": 1.0, "speed_max": None},
    "drawn": {"option.timestep": 0.002},
    "machine": "here",
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
        {"failures": "no"},
        {"drawn": []},
        {"machine": None},
        {"metrics": {"m": float("inf")}},
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
    versions={"tendril": td.__version__, "mujoco": td.mujoco_version},
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


def test_a_folder_whose_plan_is_lost_is_taken_and_a_folder_of_other_results_is_not(tmp_path: Path) -> None:
    for name in ("runs.csv", "summary.json", ".sweep.json.x.part"):
        (tmp_path / name).touch()
    with pytest.raises(ModelError, match="is not empty and no folder of a sweep"):
        open_folder(tmp_path, PLAN)
    (tmp_path / "journal").mkdir()
    assert open_folder(tmp_path, PLAN)


@pytest.mark.parametrize("name", ["lock", "sweep.json"])
def test_a_folder_in_the_place_of_a_file_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(ModelError, match=f"{name}: must be a file"):
        open_folder(tmp_path, PLAN)


@pytest.mark.parametrize("name", ["files", "journal", "runs"])
def test_a_file_in_the_place_of_a_folder_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    with pytest.raises(ModelError, match=f"{name}: must be a folder"):
        open_folder(tmp_path, PLAN)


def plan_of(folder: Path, python: str = "") -> SweepPlan:
    """A plan of an experiment whose only other file is one in Python."""
    (folder / "reach.toml").write_text('scene = "reach.xml"\n')
    (folder / "reach.xml").write_text("<mujoco/>")
    variants = (Variant("default", (), "", str(folder / python) if python else ""),)
    plan = replace(PLAN, experiment=str(folder / "reach.toml"), variants=variants, files={}, named={}, stamps={})
    find_files(plan, find_program())
    return plan


def test_digests_stamps_and_copies_are_of_one_moment(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    assert set(plan.files) == {"reach.toml", "reach.xml"} and set(plan.stamps) == set(plan.files)
    assert read_plan_of(plan) == plan  # and no stamps in it
    detector = InputChangeDetector(plan)
    copies = tmp_path / "copies"
    copies.mkdir()
    copy_inputs(plan, copies)
    assert {file.name for file in copies.iterdir()} == set(plan.files.values())
    scene = tmp_path / "reach.xml"
    os.link(scene, tmp_path / "link.xml")  # no change of its content
    assert detector.changed() is None
    scene.write_text("<mujoco> </mujoco>")
    assert detector.changed() == scene
    scene.write_text("<mujoco/>")  # a run may have read the other text
    assert detector.changed() == scene
    for file in copies.iterdir():
        file.unlink()
    with pytest.raises(OSError, match=r"reach\.xml: was changed while the sweep was read"):
        copy_inputs(plan, copies)
    assert plan.files["reach.xml"] not in {file.name for file in copies.iterdir()}


def test_a_plan_from_elsewhere_is_held_to_its_digests(tmp_path: Path) -> None:
    plan = read_plan_of(plan_of(tmp_path))
    assert InputChangeDetector(plan).changed() is None
    (tmp_path / "reach.xml").write_text("<mujoco> </mujoco>")
    with pytest.raises(ModelError, match=r"reach\.xml: is not as the sweep read it"):
        InputChangeDetector(plan)


def read_plan_of(plan: SweepPlan) -> SweepPlan:
    return SweepPlan.from_json(json.loads(json.dumps(plan.to_json())), Path("sweep.json"))


def test_another_system_than_linux_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(ModelError, match="^sweep: darwin: must be linux"):
        Options()


CONTROLLER = """import tendril as td
@td.controller("my.one", kind="continuum")
class One:
    {line}
"""


@pytest.mark.parametrize("line", ['files = ["w.txt"]', 'files: list[str] = ["w.txt"]', 'files = ("sub/../w.txt",)'])
def test_files_that_a_controller_names_are_inputs(tmp_path: Path, line: str) -> None:
    (tmp_path / "w.txt").write_text("1")
    (tmp_path / "own.py").write_text(CONTROLLER.format(line=line))
    plan = plan_of(tmp_path, "own.py")
    assert set(plan.files) == {"reach.toml", "reach.xml", "own.py", "w.txt"}
    ids = {run.id for run in plan.runs()}
    (tmp_path / "w.txt").write_text("2")
    assert not ids & {run.id for run in plan_of(tmp_path, "own.py").runs()}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("files = list_them()", "must be a list of names, written out"),
        ("files = [3]", "must be a list of names, written out"),
        ('files = ["none.txt"]', r"none\.txt: No such file"),
    ],
)
def test_files_that_cannot_be_counted_are_refused(tmp_path: Path, line: str, reason: str) -> None:
    (tmp_path / "own.py").write_text(CONTROLLER.format(line=line))
    with pytest.raises(ModelError, match=rf"own\.py:4: One: files: .*{reason}|own\.py:4: One: files: {reason}"):
        plan_of(tmp_path, "own.py")


@pytest.mark.parametrize(
    "change",
    [
        {"seeds": ["1"]},
        {"seeds": [True]},
        {"seeds": []},
        {"cells": []},
        {"cells": [[["a", 1]], []]},
        {"cells": [[["a"]]]},
        {"variants": []},
        {"variants": [{"name": "default"}]},
        {"baseline": "other"},
        {"compare": [{"metric": "m", "better": "worse"}]},
        {"record": 1.5},
        {"record": ["all"]},
        {"timeout": "1"},
        {"retries": -1},
        {"duration": None},
        {"versions": {"tendril": 1, "mujoco": ""}},
        {"files": {"a": "../../x"}},
        {"named": {"a": [1]}},
        {"name": 5},
    ],
)
def test_a_plan_with_other_content_is_damaged(tmp_path: Path, change: dict[str, Any]) -> None:
    (tmp_path / "sweep.json").write_text(json.dumps(PLAN.to_json() | change))
    with pytest.raises(ModelError, match="is damaged"):
        read_plan(tmp_path)
