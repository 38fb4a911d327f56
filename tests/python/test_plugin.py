"""`import mujoco` alone knows robot files and controllers."""

import copy
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import mujoco
import mujoco.rollout
import numpy as np
import pytest

import tendril as td

ALL_KINDS = """
<mujoco>
  <option integrator="discrete" cone="elliptic" impratio="10"/>
  <asset>
    <model name="arm" file="models/arm_mixed.toml"/>
    <model name="snake" file="scenes/snake_travel/snake.toml"/>
    <model name="mobile" file="models/youbot.toml"/>
    <model name="tube" file="scenes/tube_insertion/tube.toml"/>
  </asset>
  <worldbody>
    <body name="target" mocap="true"/>
    <attach model="arm" body="base" prefix="arm_"/>
    <attach model="snake" body="base" prefix="snake_"/>
    <attach model="mobile" body="base" prefix="mobile_"/>
    <attach model="tube" body="tube" prefix="tube_"/>
  </worldbody>
</mujoco>
"""


def python(code: str, *arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    """A separate process: MuJoCo takes entry points once, when it is imported."""
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, **options)


def test_import_of_mujoco_loads_robots_of_every_kind(tmp_path: Path) -> None:
    scene = tmp_path / "scene.xml"
    scene.write_text(ALL_KINDS.replace('file="', f'file="{td.share}/'))
    result = python(
        "import mujoco, sys; model = mujoco.MjModel.from_xml_path(sys.argv[1])\n"
        "print(sorted({model.body(i).name.split('_')[0] for i in range(model.nbody)}))",
        str(scene),
    )
    assert result.stderr == ""
    assert result.stdout == "['arm', 'mobile', 'snake', 'target', 'tube', 'world']\n"


@pytest.mark.parametrize(
    "scene",
    [
        "reach/reach.xml",
        "tube_insertion/tube_insertion.xml",
        "snake_travel/flat.xml",
        "youbot_targets/youbot_targets.xml",
        "mobile_arm/mobile_arm.xml",
    ],
)
def test_scenes_of_the_package_step_with_their_controllers(scene: str, tmp_path: Path) -> None:
    result = python(
        "import mujoco, sys; model = mujoco.MjModel.from_xml_path(sys.argv[1])\n"
        "data = mujoco.MjData(model)\n"
        "for _ in range(5): mujoco.mj_step(model, data)\n"
        "print(model.nplugin > 0, data.time > 0)",
        str(td.share / "scenes" / scene),
        cwd=tmp_path,
    )
    assert (result.stdout, result.stderr) == ("True True\n", "")


def test_another_version_of_mujoco_is_told_in_one_line_and_works_on() -> None:
    result = python("import tendril._plugin as plugin; plugin.mujoco_version = '4.9.9'\nimport mujoco; print('works')")
    assert result.stdout == "works\n"
    told = [line for line in result.stderr.splitlines() if "tendril" in line and "warn" not in line.split(":")[0]]
    assert len(told) == 1 and f"tendril {td.__version__}" in told[0]
    assert f"is built for MuJoCo 4.9.9, this process has MuJoCo {td.mujoco_version}" in told[0]
    assert "pip install mujoco-core==4.9.9" in told[0]


def test_loading_again_does_nothing() -> None:
    result = python(
        "import tendril._plugin as plugin; plugin.load(); plugin.load()\n"
        "import mujoco; plugin.load(); first = plugin._loaded; plugin.load(); print(plugin._loaded is first)"
    )
    assert (result.stdout, result.stderr) == ("True\n", "")


def test_import_of_tendril_loads_neither_mujoco_nor_numpy() -> None:
    result = python("import sys, tendril; print([name for name in ('mujoco', 'numpy') if name in sys.modules])")
    assert (result.stdout, result.stderr) == ("[]\n", "")


def test_a_second_copy_of_the_library_is_harmless(tmp_path: Path) -> None:
    second = shutil.copy(Path(td.__file__).with_name("libtendril.so"), tmp_path)
    result = python(
        "import mujoco, sys; mujoco.mj_loadPluginLibrary(sys.argv[1])\n"
        "print(mujoco.MjModel.from_xml_path(sys.argv[2]).nplugin)",
        second,
        str(td.share / "scenes/reach/reach.xml"),
        cwd=tmp_path,
    )
    assert (result.stdout, result.stderr) == ("1\n", "")


def reach(steps: int = 200) -> tuple[mujoco.MjModel, mujoco.MjData]:
    model = mujoco.MjModel.from_xml_path(str(td.share / "scenes/reach/reach.xml"))
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, steps)
    return model, data


def state_of(model: mujoco.MjModel, data: mujoco.MjData) -> bytes:
    state = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_INTEGRATION))
    mujoco.mj_getState(model, data, state, mujoco.mjtState.mjSTATE_INTEGRATION)
    return state.tobytes() + data.sensordata.tobytes()


@pytest.mark.parametrize(
    "duplicate",
    [copy.copy, copy.deepcopy, lambda data: pickle.loads(pickle.dumps(data))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_a_duplicate_of_the_data_goes_on_bit_for_bit(duplicate: Callable[[mujoco.MjData], mujoco.MjData]) -> None:
    model, data = reach()
    again = duplicate(data)
    third = duplicate(again)
    for _ in range(200):
        mujoco.mj_step(model, data)
        mujoco.mj_step(again.model, again)
        assert state_of(model, data) == state_of(again.model, again)
    del data, again
    mujoco.mj_step(third.model, third)


def test_pickled_data_goes_on_in_another_process(tmp_path: Path) -> None:
    model, data = reach()
    (tmp_path / "data").write_bytes(pickle.dumps(data))
    mujoco.mj_step(model, data, 200)
    result = python(
        "import mujoco, pickle, sys; data = pickle.load(open(sys.argv[1], 'rb'))\n"
        "mujoco.mj_step(data.model, data, 200)\n"
        "print(data.qpos.tobytes().hex(), data.plugin_state.tobytes().hex())",
        str(tmp_path / "data"),
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == f"{data.qpos.tobytes().hex()} {data.plugin_state.tobytes().hex()}\n"


def test_rollout_has_the_same_bits_on_threads() -> None:
    model, _ = reach(0)
    data = [mujoco.MjData(model) for _ in range(2)]
    full = mujoco.mjtState.mjSTATE_FULLPHYSICS
    start = np.empty((6, mujoco.mj_stateSize(model, full)))
    for i, row in enumerate(start):
        mujoco.mj_resetData(model, data[0])
        mujoco.mj_step(model, data[0], 1 + 7 * i)
        mujoco.mj_getState(model, data[0], row, full)
    one = mujoco.rollout.rollout(model, data[:1], start, nstep=50)
    two = mujoco.rollout.rollout(model, data, start, nstep=50)
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
