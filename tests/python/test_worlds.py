"""Many worlds on Warp's CPU backend: the laws that hold there hold on a GPU up to rounding."""

from pathlib import Path

import mujoco
import numpy as np
import pytest

import tendril as td

pytest.importorskip("mujoco_warp", reason="needs warp-lang and mujoco-warp: docs/guide/worlds.md")

from tendril.worlds import Worlds  # noqa: E402
from tendril.worlds.model import differing, plain_model  # noqa: E402

SECTION = """
[[section]]
constant_length = 0.1
bend_limit = 1.5
links = 4
radius = 0.008
mass = 0.05
bending_stiffness = 0.05
"""
ROBOT = 'kind = "continuum"\nname = "arm"\n' + 2 * SECTION
CONTROLLER = """
[controller]
plugin = "tendril.reach"
target = "target"
"""
SCENE = """
<mujoco>
  <option timestep="0.002" integrator="discrete" cone="elliptic" impratio="10"/>
  <asset><model name="arm" file="robot.toml"/></asset>
  <worldbody>
    <body name="target" mocap="true" pos="0.05 0.03 0.16"/>
    <attach model="arm" body="base" prefix="arm_"/>
  </worldbody>
</mujoco>
"""
EXPERIMENT = """
scene = "scene.xml"
duration = 2
[[motion]]
body = "target"
kind = "circle"
center = [0.05, 0, 0.16]
radius = 0.03
normal = [0, 0, 1]
speed = 0.1
"""
VARY = """
[vary]
"robot.section.*.bending_stiffness" = { scale = [0.5, 2] }
"""
STEPS = 150


@pytest.fixture
def experiment(tmp_path):
    def written(more="", controller=CONTROLLER):
        (tmp_path / "robot.toml").write_text(ROBOT + controller)
        (tmp_path / "scene.xml").write_text(SCENE)
        file = tmp_path / "experiment.toml"
        file.write_text(EXPERIMENT + more)
        return file

    return written


def test_worlds_with_their_own_draws_move_as_the_runs_of_their_seeds(experiment):
    file = experiment(VARY)
    worlds = Worlds(file, 3, "cpu", seed=5)
    runs = [td.Experiment(file).start(seed) for seed in (5, 6, 7)]
    worlds.step(STEPS)
    for run in runs:
        for _ in range(STEPS):
            run.step()
    meant = np.stack([run.data.qpos for run in runs])
    assert np.ptp(meant, axis=0).max() > 1e-4  # the draws matter
    assert worlds.qpos.numpy() == pytest.approx(meant, abs=2e-6)  # rad, of a motion of about 1 rad
    assert worlds.time.numpy() == pytest.approx(STEPS * 0.002, abs=1e-5)
    assert not worlds.overflow.numpy().any()
    errors = [run.data.sensor("arm_tip_error").data[0] for run in runs if run.model.nsensor > 0]
    for error, controller in zip(errors, worlds.controllers[0].tip_error.numpy(), strict=False):
        assert controller == pytest.approx(error, abs=1e-5)


def test_worlds_are_reset_one_by_one(experiment):
    worlds = Worlds(experiment(), 2, "cpu")
    worlds.step(20)
    moved = worlds.qpos.numpy().copy()
    worlds.reset(np.array([True, False]))
    assert not worlds.qpos.numpy()[0].any()
    assert (worlds.qpos.numpy()[1] == moved[1]).all()
    worlds.step(20)
    assert (worlds.qpos.numpy()[0] == moved[0]).all()  # the same bits on a CPU


def test_a_diverged_world_is_told_and_does_not_stop_the_others(experiment):
    worlds = Worlds(experiment(), 2, "cpu")
    alone = Worlds(experiment(), 1, "cpu")
    qvel = worlds.qvel.numpy()
    qvel[0, 0] = np.nan
    worlds.qvel.assign(qvel)
    worlds.step(5)
    alone.step(5)
    assert worlds.diverged.numpy().tolist() == [1, -1]
    assert (worlds.qpos.numpy()[1] == alone.qpos.numpy()[0]).all()


def test_without_controllers_the_controls_are_the_callers(experiment):
    worlds = Worlds(experiment(), 2, "cpu", controllers=False)
    model = worlds.model
    ctrl = np.array([[0.3] * model.nu, [-0.2] * model.nu], dtype=np.float32)
    worlds.ctrl.assign(ctrl)
    worlds.step(30)
    for row in range(2):
        data = mujoco.MjData(model)
        data.ctrl[:] = ctrl[row]
        mujoco.mj_step(model, data, 30)
        assert worlds.qpos.numpy()[row] == pytest.approx(data.qpos, abs=1e-6)


def test_a_plain_model_has_the_elements_of_the_scene_and_no_plugin(experiment):
    run = td.Experiment(experiment()).start()
    plain = plain_model(run.mjcf, Path())
    assert plain.nplugin == 0
    for name in ("nq", "nv", "nu", "nbody", "ngeom", "nsite", "ntendon", "nmocap"):
        assert getattr(plain, name) == getattr(run.model, name)
    assert plain.body_mass == pytest.approx(run.model.body_mass, rel=1e-9)
    assert plain.actuator_gainprm == pytest.approx(run.model.actuator_gainprm, rel=1e-9)


def test_models_with_other_elements_are_refused():
    one = mujoco.MjModel.from_xml_string("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>")
    two = mujoco.MjModel.from_xml_string("<mujoco><worldbody><geom size='1'/><geom size='1'/></worldbody></mujoco>")
    with pytest.raises(td.ModelError, match="worlds must have the same elements"):
        differing([one, two], [])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"count": 0}, "count: 0: must be >= 1"),
        ({"device": "cuda:77"}, "device: cuda:77: must be one of "),
        ({"set": {"controller.avoidance": True}}, "arm: avoidance = true: must be false in worlds"),
        (
            {"set": {"controller.plugin": "tendril.computed_moment", "robot.section.*.bend_command": "moment"}},
            "must be tendril.reach",
        ),
    ],
)
def test_what_has_no_equal_on_a_device_is_refused_in_one_line(experiment, change, message):
    arguments = {"count": 1, "device": "cpu"} | change
    with pytest.raises(td.ModelError) as caught:
        Worlds(experiment(), **arguments)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_faults_are_not_left_out_silently(experiment):
    fault = '[[fault]]\nname = "stiffness"\nkind = "stiffness"\nfactor = 0.5\n'
    with pytest.raises(td.ModelError, match="fault: not supported in worlds"):
        Worlds(experiment(fault), 1, "cpu")


def test_a_mask_of_another_size_is_refused(experiment):
    worlds = Worlds(experiment(controller=""), 2, "cpu")
    with pytest.raises(td.ModelError, match="worlds: must be 2 truth values"):
        worlds.reset(np.array([True]))
    with pytest.raises(td.ModelError, match="sensor: none: must be a sensor of the scene"):
        worlds.sensor("none")
