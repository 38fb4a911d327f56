"""Scenes as the program loads them, in MuJoCo's own objects."""

import copy
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import mujoco
import numpy as np
import pytest

import tendril as td

REACH = td.share / "scenes/reach/reach.xml"


def test_the_model_is_mujocos_own() -> None:
    scene = td.load_scene(REACH, {"option.timestep": 0.004, "controller.integral_gain": 3})
    assert isinstance(scene.model, mujoco.MjModel)
    assert scene.model.opt.timestep == 0.004
    assert scene.notices == []
    assert set(scene.source_files) == {"reach.xml", "arm.toml"}
    assert mujoco.MjModel.from_xml_string(scene.model_xml).opt.timestep == 0.004


def test_it_steps_as_the_model_that_mujoco_loads() -> None:
    states = []
    for model in td.load_scene(REACH).model, mujoco.MjModel.from_xml_path(str(REACH)):
        data = mujoco.MjData(model)
        for _ in range(20):
            mujoco.mj_step(model, data)
        states.append(np.concatenate([data.qpos, data.qvel, data.sensordata]))
    assert np.array_equal(states[0], states[1])


def test_the_model_outlives_the_scene_and_is_freed_with_its_object() -> None:
    code = (
        "import resource, sys, tendril as td\n"
        "def size(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "for _ in range(5): model = td.load_scene(sys.argv[1]).model\n"
        "before = size()\n"
        "for _ in range(60): model = td.load_scene(sys.argv[1]).model\n"
        "print(model.nq, size() - before)"
    )
    result = subprocess.run([sys.executable, "-c", code, str(REACH)], capture_output=True, text=True, check=True)
    joints, growth = map(int, result.stdout.split())
    assert joints > 0 and growth < 20_000  # kB; a model takes about 1000


def test_a_lone_robot_is_a_scene() -> None:
    scene = td.load_scene(td.share / "models/arm_3x10.toml")
    assert scene.model.nu > 0 and list(scene.source_files) == ["arm_3x10.toml"]


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"option.timestep": 0}, "set: option.timestep: 0: must be"),
        ({"option.nothing": 1}, "set: option.nothing: 1: "),
        ({"controller.nothing": 1}, "set: "),
        ({"option.timestep": None}, "set: option.timestep: None: must be a number"),
        ({"option.gravity": np.zeros(2)}, "set: option.gravity: [0.0, 0.0]: "),
    ],
)
def test_a_wrong_setting_is_one_line(settings: dict[str, object], line: str) -> None:
    with pytest.raises(td.ModelError) as error:
        td.load_scene(REACH, settings)
    assert str(error.value).startswith(line) and "\n" not in str(error.value)


def test_a_wrong_file_is_one_line(tmp_path: Path) -> None:
    scene = tmp_path / "scene.xml"
    with pytest.raises(td.ModelError, match=r"^\S*scene.xml: No such file or directory: must be a readable file$"):
        td.load_scene(scene)
    scene.write_text("<mujoco><worldbody><geom type='sphere' size='-1'/></worldbody></mujoco>")
    with pytest.raises(td.ModelError, match="scene.xml: ") as error:
        td.load_scene(scene)
    assert "\n" not in str(error.value)


def test_warnings_of_the_engine_are_notices_and_the_own_handler_remains(tmp_path: Path) -> None:
    """Messages of calls of Tendril are Tendril's, all others MuJoCo's, also while another thread is in such a call."""
    code = (
        "import mujoco, sys, threading, tendril as td\n"
        "heard = []\n"
        "mujoco.set_mju_user_warning(heard.append)\n"
        "model = mujoco.MjModel.from_xml_string("
        "'<mujoco><worldbody><body><freejoint/><geom size=\"1\"/></body></worldbody></mujoco>')\n"
        "def diverge():\n"
        "    data = mujoco.MjData(model); data.qvel[0] = float('nan'); mujoco.mj_step(model, data)\n"
        "loads = threading.Thread(target=lambda: [td.load_scene(sys.argv[1]) for _ in range(5)])\n"
        "loads.start()\n"
        "while loads.is_alive(): diverge()\n"
        "loads.join(); count = len(heard); diverge()\n"
        "print(count > 0, len(heard) - count, td.load_scene(sys.argv[1]).notices)"
    )
    result = subprocess.run([sys.executable, "-c", code, str(REACH)], capture_output=True, text=True, cwd=tmp_path)
    assert (result.stdout, result.stderr) == ("True 1 []\n", "")


def test_scenes_are_loaded_by_several_threads() -> None:
    models: list[bytes] = []
    threads = [
        threading.Thread(target=lambda: models.append(td.load_scene(REACH).model_xml.encode())) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(models) == 4 and len(set(models)) == 1


def test_a_copy_steps_as_the_scene() -> None:
    scene = td.load_scene(td.share / "scenes/reach/reach.xml")
    for other in (copy.copy(scene), copy.deepcopy(scene), pickle.loads(pickle.dumps(scene))):
        assert other.model is not scene.model
        assert (other.notices, other.source_files, other.model_xml) == (
            scene.notices,
            scene.source_files,
            scene.model_xml,
        )
        states = []
        for model in (scene.model, other.model):
            data = mujoco.MjData(model)
            for _ in range(20):
                mujoco.mj_step(model, data)
            states.append(data.qpos.tobytes())
        assert states[0] == states[1]


def test_experiments_and_recordings_are_copied_by_their_files(tmp_path: Path) -> None:
    experiment = td.Experiment(td.share / "scenes/reach/reach.xml")
    with pickle.loads(pickle.dumps(experiment)).start(duration=0.02, record=tmp_path / "a.h5") as run:
        run.run()
    with td.Recording(tmp_path / "a.h5") as recording, copy.deepcopy(recording) as other:
        assert other.rows == recording.rows and np.array_equal(other.qpos, recording.qpos)


def test_numbers_of_numpy_are_numbers() -> None:
    arm = td.ContinuumRobot([td.Section(length=np.float32(0.1))] * 2, spin=np.bool_(True))  # type: ignore[arg-type]
    states = arm.random_states(np.int64(3), np.uint32(1))  # type: ignore[arg-type]
    assert np.array_equal(states, arm.random_states(3, 1))
    for count in (True - 2, 1.5, "3", np.float64(3), np.array([3])):
        with pytest.raises(td.ModelError, match="n = .*, must be >= 0"):
            arm.random_states(count, 1)  # type: ignore[arg-type]
    with pytest.raises(td.ModelError, match="spin: 2, must be True or False"):
        td.ContinuumRobot([td.Section(length=0.1)], spin=2)  # type: ignore[arg-type]


def test_masked_numbers_are_refused() -> None:
    arm = td.ContinuumRobot([td.Section(length=0.1)] * 2)
    mask = np.zeros((2, 3), bool)
    numbers = np.ma.masked_array(np.zeros((2, 3)), mask=mask)
    assert np.array_equal(arm.tip_pose(numbers), arm.tip_pose(np.zeros((2, 3))))
    numbers[1, 2] = np.ma.masked
    for value in (numbers, [numbers, np.zeros((2, 3))], numbers.astype("f4")):
        with pytest.raises(td.ModelError, match="states: some are masked"):
            arm.tip_pose(value)
    with pytest.raises(td.ModelError, match="feed: some are masked"):
        arm.tip_pose(np.zeros((1, 2, 3)), feed=np.ma.masked_array([0.0], mask=[True]))
