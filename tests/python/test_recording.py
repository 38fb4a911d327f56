"""Recordings: what is read is what was written, in any state of the file; a row is found again bitwise."""

import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import h5py
import mujoco
import numpy as np
import pytest

import tendril as td
from tendril._program import find_program

PROGRAM = Path(sys.executable).with_name("tendril")
STATE = mujoco.mjtState.mjSTATE_INTEGRATION


def run(experiment: Path, out: Path, *options: str) -> Path:
    done = subprocess.run(
        [PROGRAM, "run", experiment, "--out", out, "--no-report", "--quiet", *options], capture_output=True, text=True
    )
    assert done.returncode in (0, 1), done.stderr
    return out / "rollout.h5"


@pytest.fixture(scope="module")
def tube(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(td.share / "scenes/tube_insertion/tube_insertion.toml", tmp_path_factory.mktemp("tube"))


@pytest.fixture(scope="module")
def snake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(
        td.share / "scenes/snake_obstacles/snake_obstacles.toml", tmp_path_factory.mktemp("snake"), "--duration", "0.6"
    )


def test_what_is_read_is_what_is_in_the_file(tube: Path) -> None:
    with h5py.File(tube) as file, td.Recording(tube) as recording:
        group = file["rollout_0"]
        assert recording.rows == group["rows"][()] == 2051
        for name in ("time", "step", "step_time_us", "qpos", "qvel", "act", "ctrl", "sensordata", "plugin_state"):
            assert np.array_equal(getattr(recording, name), group[name][:], equal_nan=True)
        assert recording.attributes["outcome"] == "done" and recording.attributes["timestep"] == 0.004
        assert recording.texts["model_xml"].startswith("<mujoco") and "scene_files/arm.toml" in recording.texts
        assert [setting["key"] for setting in recording.settings] == ["option.timestep"]
        assert np.array_equal(recording.sensor("arm_tip_error"), recording.sensordata[:, 2])
        assert recording.sensor("arm_target").shape == (2051, 3)
        assert recording.model.nq == recording.qpos.shape[1]


@pytest.mark.parametrize("row", [0, 1, 999, 1000, 1001, 2050])
def test_a_row_is_found_again_bit_for_bit(tube: Path, row: int) -> None:
    with td.Recording(tube) as recording, h5py.File(tube) as file:
        data = recording.seek(row)
        for name in ("qpos", "qvel", "ctrl", "plugin_state", "sensordata"):
            assert getattr(data, name).tobytes() == getattr(recording, name)[row].tobytes(), name
        if row in (0, 1000):
            state = np.empty(mujoco.mj_stateSize(recording.model, STATE))
            mujoco.mj_getState(recording.model, data, state, STATE)
            assert state.tobytes() == file["rollout_0/integration/state"][row // 1000].tobytes()


def test_a_row_with_its_contacts_is_found_again(snake: Path) -> None:
    with td.Recording(snake) as recording:
        last = recording.rows - 1
        for row in (last - 7, last):
            data, found = recording.seek(row), recording.contacts(row)
            assert len(found.row) == data.ncon > 0 and set(found.row) == {row}
            assert np.array_equal(found.geom1, data.contact.geom1) and np.array_equal(found.position, data.contact.pos)
        whole = recording.contacts()
        assert np.array_equal(whole.force[whole.row == last], recording.contacts(last).force)


def test_a_run_with_faults_is_found_again(tmp_path: Path) -> None:
    scene = td.share / "scenes/reach/reach.xml"
    (tmp_path / "fault.toml").write_text(
        f'scene = "{scene}"\nduration = 0.5\n[[fault]]\nkind = "gravity"\nvalue = [0, 1, -5]\n'
        'start = 0.2\nend = 0.4\n[[fault]]\nkind = "actuator_stuck"\nactuator = "*s1*"\nstart = 0.1\n'
    )
    file = run(tmp_path / "fault.toml", tmp_path / "out")
    with td.Recording(file) as recording:
        for row in (recording.rows // 2, recording.rows - 1, 3):
            assert recording.seek(row).qpos.tobytes() == recording.qpos[row].tobytes()
        assert recording.replay().identical


def test_replay_says_what_the_program_says(tube: Path, tmp_path: Path) -> None:
    with td.Recording(tube) as recording:
        assert recording.replay() == td.Replay(True, 2051, 2050, None)
    other = tmp_path / "other.h5"
    other.write_bytes(tube.read_bytes())
    with h5py.File(other, "r+") as file:
        data = file["rollout_0/qpos"]
        values = data[:]
        values[7, 3] += 1e-9
        kept = dict(data.attrs)
        del file["rollout_0/qpos"]
        file["rollout_0"].create_dataset(
            "qpos", data=values, chunks=(256, values.shape[1]), maxshape=(None, values.shape[1])
        )
        file["rollout_0/qpos"].attrs.update(kept)
    with td.Recording(other) as recording:
        found = recording.replay()
        assert not found.identical and found.first_difference
        assert (found.first_difference["step"], found.first_difference["field"], found.first_difference["index"]) == (
            7,
            "qpos",
            3,
        )
        with pytest.raises(td.RecordingError, match=r"row 7: qpos: not the one recorded"):
            recording.seek(7)


def test_a_file_is_read_while_it_is_written_and_after_its_writer_was_killed(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [
            PROGRAM,
            "run",
            td.share / "scenes/reach/reach.xml",
            "--duration",
            "1e5",
            "--out",
            tmp_path / "out",
            "--no-report",
            "--quiet",
        ]
    )
    try:
        file, end = tmp_path / "out/rollout.h5", time.monotonic() + 30
        while not file.exists():
            assert time.monotonic() < end
            time.sleep(0.01)
        with td.Recording(file) as recording:
            while (before := recording.refresh()) == 0:
                assert time.monotonic() < end
                time.sleep(0.02)
            while recording.refresh() == before:
                assert time.monotonic() < end
                time.sleep(0.02)
            assert recording.rows > before and len(recording.qpos) == recording.rows
            assert recording.attributes["outcome"] == "running"
    finally:
        process.kill()
        process.wait()
    with td.Recording(file) as recording:
        assert recording.rows >= before and np.all(np.diff(recording.time) > 0)
        assert recording.seek(recording.rows - 1).time == recording.time[-1]
        assert recording.to_html().startswith("<!doctype html>")


def test_bad_files_are_refused_with_the_words_of_the_program(tmp_path: Path, tube: Path) -> None:
    (tmp_path / "text.h5").write_text("not HDF5")
    with h5py.File(tmp_path / "empty.h5", "w"):
        pass
    for name, attributes in (("plain.h5", {}), ("old.h5", {"format_version": 1})):
        with h5py.File(tmp_path / name, "w") as file:
            file.create_group("rollout_0").attrs.update(attributes)
    for name in ("none.h5", "text.h5", "empty.h5", "plain.h5", "old.h5"):
        with pytest.raises(td.RecordingError) as error:
            td.Recording(tmp_path / name)
        said = subprocess.run([PROGRAM, "play", tmp_path / name], capture_output=True, text=True)
        assert said.returncode == 2
        assert re.fullmatch(re.escape(f"tendril: {error.value}") + r" \[[a-z-]+\]\n", said.stderr)
        if name not in ("none.h5", "text.h5"):  # the program tells by its content what else a file may be
            info = subprocess.run([PROGRAM, "rollout", "info", tmp_path / name], capture_output=True, text=True)
            assert info.stderr == said.stderr
    with pytest.raises(td.RecordingError, match="is not a file"):
        td.Recording(tmp_path)
    with td.Recording(tube) as recording:
        with pytest.raises(td.ModelError, match=r"row 2051, must be in \[0, 2051\)"):
            recording.seek(2051)
        with pytest.raises(td.ModelError, match=r"sensor: nose: must be one of arm_status, "):
            recording.sensor("nose")
        assert json.dumps(recording.tables)


def test_a_damaged_or_cut_file_is_refused_at_once(tube: Path, tmp_path: Path) -> None:
    """HDF5 would wait for a writer: a hundred tries with longer and longer pauses."""
    whole, file = tube.read_bytes(), tmp_path / "damaged.h5"
    begin = time.monotonic()
    tried = 0
    for at in range(8, 48):
        for bit in (0, 2, 7):
            file.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :])
            with pytest.raises(td.RecordingError):
                td.Recording(file)
            tried += 1
    for part in (0.1, 0.4, 0.9):
        file.write_bytes(whole[: int(part * len(whole))])
        with pytest.raises(td.RecordingError):
            td.Recording(file)
        tried += 1
    assert time.monotonic() - begin < 2 * tried  # each of them takes minutes if HDF5 waits


def with_text(source: Path, out: Path, name: str, text: str) -> Path:
    """A recording in which a text is another one."""
    shutil.copy(source, out)
    with h5py.File(out, "r+") as file:
        texts = file["rollout_0/texts"]
        if name in texts:
            del texts[name]
        texts.create_dataset(name, data=np.array([text.encode()], dtype=f"S{max(len(text), 1)}"))
    return out


SENSOR = {"name": "a", "address": 0, "dimension": 1, "quantity": "", "unit": ""}
JOINT = {"name": "a", "type": "hinge", "qpos_address": 0, "dof_address": 0}


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        *(("sensors", [SENSOR | change]) for change in ({"address": 10**9}, {"dimension": -1}, {"dimension": 0.5})),
        *(("sensors", [SENSOR | change]) for change in ({"name": None}, {"address": True}, {"unit": 5})),
        ("sensors", {"a": 1}),
        ("sensors", [1]),
        ("joints", [JOINT | {"type": "free", "qpos_address": 10**6}]),
        ("joints", [JOINT | {"type": "tree"}]),
        ("actuators", [{"name": "a", "address": 0, "dimension": 10**9}]),
        ("bodies", [{"name": "a", "parent": 1}]),
        ("geoms", [{"name": "a", "body": -1, "robot": False}]),
        ("geoms", [{"name": "a", "body": 0, "robot": "yes"}]),
    ],
)
def test_tables_of_names_that_cannot_be_are_damage(snake: Path, tmp_path: Path, name: str, rows: object) -> None:
    with td.Recording(with_text(snake, tmp_path / "a.h5", name, json.dumps(rows))) as recording:
        with pytest.raises(td.RecordingError, match=rf"a\.h5: is damaged: {name}"):
            print(recording.tables)


@pytest.mark.parametrize("text", ["[[[", "fault = 1", "fault = [{kind = 5}]", "a" + ".a" * 60_000 + " = 1"])
def test_faults_that_cannot_be_are_damage(snake: Path, tmp_path: Path, text: str) -> None:
    with td.Recording(with_text(snake, tmp_path / "a.h5", "faults", text)) as recording:
        with pytest.raises(td.RecordingError, match=r"a\.h5: is damaged: faults"):
            print(recording.faults)


@pytest.mark.parametrize(
    ("name", "value"), [("timestep", 0.0), ("timestep", np.nan), ("timestep", "x"), ("seed", -5), ("outcome", [1, 2])]
)
def test_attributes_that_cannot_be_are_damage(snake: Path, tmp_path: Path, name: str, value: object) -> None:
    shutil.copy(snake, tmp_path / "a.h5")
    with h5py.File(tmp_path / "a.h5", "r+") as file:
        file["rollout_0"].attrs[name] = value
    with pytest.raises(td.RecordingError, match=r"a\.h5: is damaged: .*attribute"):
        td.Recording(tmp_path / "a.h5")


@pytest.mark.parametrize("rows", [-3, 2**62])
def test_rows_that_cannot_be_are_damage(snake: Path, tmp_path: Path, rows: int) -> None:
    shutil.copy(snake, tmp_path / "a.h5")
    with h5py.File(tmp_path / "a.h5", "r+") as file:
        file["rollout_0/rows"][...] = rows
    with pytest.raises(td.RecordingError, match="is damaged: rows"):
        td.Recording(tmp_path / "a.h5")


@pytest.mark.parametrize("what", ["geom", "count", "start"])
def test_contacts_that_cannot_be_are_damage(snake: Path, tmp_path: Path, what: str) -> None:
    shutil.copy(snake, tmp_path / "a.h5")
    with h5py.File(tmp_path / "a.h5", "r+") as file:
        dataset = file["rollout_0/contact"][{"geom": "geom1"}.get(what, what)]
        dataset[0 if what == "geom" else -1] = 10**8
    with td.Recording(tmp_path / "a.h5") as recording, pytest.raises(td.RecordingError, match="is damaged: contact"):
        recording.wall_force()


@pytest.mark.parametrize("kind", ["link", "external", "virtual", "type", "shape", "huge"])
def test_datasets_of_another_kind_are_damage(snake: Path, tmp_path: Path, kind: str) -> None:
    (tmp_path / "secret").write_bytes(bytes(8 * 1000))
    shutil.copy(snake, tmp_path / "a.h5")
    shutil.copy(snake, tmp_path / "b.h5")
    with h5py.File(tmp_path / "a.h5", "r+") as file:
        group = file["rollout_0"]
        shape = group["qpos"].shape
        del group["qpos"]
        if kind == "link":
            group["qpos"] = h5py.ExternalLink("b.h5", "/rollout_0/qpos")
        elif kind == "external":
            group.create_dataset("qpos", shape=(100, 10), dtype="f8", external=[(tmp_path / "secret", 0, 8000)])
        elif kind == "virtual":
            layout = h5py.VirtualLayout(shape, "f8")
            layout[:] = h5py.VirtualSource("b.h5", "rollout_0/qpos", shape)
            group.create_virtual_dataset("qpos", layout)
        elif kind == "type":
            group.create_dataset("qpos", data=np.zeros(shape, "i4"))
        elif kind == "shape":
            group.create_dataset("qpos", data=np.zeros(shape[0]))
        else:
            group.create_dataset("qpos", shape=(10**12, shape[1]), chunks=(256, shape[1]), dtype="f8")
    with td.Recording(tmp_path / "a.h5") as recording, pytest.raises(td.RecordingError, match="is damaged: qpos"):
        print(recording.qpos)


def test_a_controller_of_this_process_is_replayed_in_it(tmp_path: Path) -> None:
    @td.controller("test.session", kind="continuum")
    class Session:
        def __init__(self, context: td.ArmContext) -> None:
            pass

        def update(self, m: Any, memory: Any, next_memory: Any, command: Any, report: Any) -> None:
            command.q[:] = 0.1

    scene = td.share / "scenes/reach/reach.xml"
    td.Experiment(scene).run(controller="test.session", duration=0.1, record=tmp_path / "a.h5")
    with td.Recording(tmp_path / "a.h5") as recording:
        assert recording.replay() == td.Replay(True, recording.rows, recording.rows - 1, None)


def test_a_page_of_a_run_written_again_is_still_one_that_the_next_run_replaces(tmp_path: Path) -> None:
    run = [find_program(), "run", str(td.share / "scenes/reach/reach.toml"), "--duration", "0.02", "--out", "out"]
    subprocess.run(run, cwd=tmp_path, capture_output=True, check=False)
    assert (tmp_path / "out/play.html").exists()
    with td.Recording(tmp_path / "out/rollout.h5") as recording:
        recording.to_html(tmp_path / "out/play.html", fps=10)
        recording.to_html(tmp_path / "out/mine.html")
    again = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert again.returncode in (0, 1), again.stderr
    assert (tmp_path / "out/mine.html").exists()
    (tmp_path / "out/play.html").write_text("mine")
    refused = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert refused.returncode == 2 and "play.html: is not what an earlier run has written" in refused.stderr
