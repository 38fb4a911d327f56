"""Gaits of snakes in many worlds, beside the C engine with the plugin."""

import numpy as np
import pytest

import tendril as td

pytest.importorskip("mujoco_warp", reason="needs warp-lang and mujoco-warp: docs/guide/worlds.md")

from tendril.worlds import Worlds  # noqa: E402

ROBOT = """
kind = "snake"
name = "snake"
joints = 8
link_length = 0.06
radius = 0.025
link_mass = 0.15
gain = 20
torque_limit = 6
[start]
position = [0, 0, 0.001]
[controller]
plugin = "tendril.snake"
ramp_time = 0.2
fade_time = 0.1
"""
SCENE = """
<mujoco>
  <option timestep="0.002" integrator="discrete" cone="elliptic" impratio="10" gravity="0 0 {gravity}"/>
  <asset><model name="snake" file="robot.toml"/></asset>
  <worldbody>
    <geom type="plane" size="5 5 0.01" pos="0 0 {floor}" friction="0.7" solref="0.004 1" solimp="0.95 0.99 0.0005"/>
    <body name="target" mocap="true" pos="-1 -2 0"/>
    <attach model="snake" body="base" prefix="S_"/>
  </worldbody>
</mujoco>
"""
FREE, GROUND = {"gravity": 0, "floor": -1}, {"gravity": -9.81, "floor": 0}
TASKS = {
    "goals": 'gait = "sidewinding"\ngoals = [-0.4, 0.3, 0.5, 0.5]',
    "target": 'gait = "vertical_wave"\ntarget = "target"\nspeed = 0.02',
    "schedule": 'schedule = "0 sidewinding 1 0.25 rolling 2 0.5 anguilliform -1.5"\nsteering = 0.4',
    "pole": 'gait = "helix"\npole_radius = 0.03\nwrap = "right"\nheights = [0.05]\nrelease_time = 0.4',
}
STEPS = 400


@pytest.fixture
def experiment(tmp_path):
    def written(scene, controller, more=""):
        (tmp_path / "robot.toml").write_text(ROBOT + controller)
        (tmp_path / "scene.xml").write_text(SCENE.format(**scene))
        file = tmp_path / "experiment.toml"
        file.write_text('scene = "scene.xml"\nduration = 2\nkeyframe = "S_start"\n' + more)
        return file

    return written


def run_of(file, seed, steps, **arguments):
    run = td.Experiment(file).start(seed, arguments.get("set", {}))
    for _ in range(steps):
        run.step()
    return run


@pytest.mark.parametrize("task", TASKS)
def test_in_free_motion_the_joints_are_those_of_the_c_engine(experiment, task):
    file = experiment(FREE, TASKS[task])
    worlds = Worlds(file, 1, "cpu")
    worlds.step(STEPS)
    run = run_of(file, None, STEPS)
    joints = run.data.qpos[7:]
    assert np.abs(joints).max() > 0.2  # rad
    assert worlds.qpos.numpy()[0, 7:] == pytest.approx(joints, abs=1e-5)  # rad


def test_each_world_has_its_own_settings(experiment):
    vary = (
        '[vary]\n"controller.frequency" = { uniform = [0.5, 2] }\n'
        '"controller.goals" = { uniform = [[-1, -1], [1, 1]] }\n'
    )
    file = experiment(FREE, 'gait = "sidewinding"\ngoals = [-0.4, 0.3]', vary)
    worlds = Worlds(file, 3, "cpu", seed=4)
    worlds.step(STEPS)
    meant = np.stack([run_of(file, seed, STEPS).data.qpos for seed in (4, 5, 6)])
    assert np.ptp(meant[:, 7:], axis=0).max() > 0.1  # rad: the draws matter
    assert worlds.qpos.numpy()[:, 7:] == pytest.approx(meant[:, 7:], abs=1e-5)


def test_on_the_ground_it_moves_as_far_as_in_the_c_engine(experiment):
    file = experiment(GROUND, 'gait = "sidewinding"')
    worlds = Worlds(file, 1, "cpu")
    worlds.step(500)
    run = run_of(file, None, 500)
    moved, meant = worlds.qpos.numpy()[0, :2], run.data.qpos[:2]
    assert np.linalg.norm(meant) > 0.1  # m
    assert moved == pytest.approx(meant, abs=0.05 * np.linalg.norm(meant))


def test_a_reset_world_begins_again(experiment):
    worlds = Worlds(experiment(FREE, TASKS["goals"]), 2, "cpu")
    worlds.step(60)
    once = worlds.qpos.numpy().copy()
    worlds.reset(np.array([True, False]))
    worlds.step(60)
    assert (worlds.qpos.numpy()[0] == once[0]).all()  # the same bits on a CPU
    assert (worlds.qpos.numpy()[1] != once[1]).any()


@pytest.mark.parametrize(
    ("controller", "message"),
    [
        ('gait = "sidewinding"\nground_path = [0, 0, 1, 0]', "S: ground_path = 0 0 1 0: must not be given in worlds"),
        ('gait = "sidewinding"\ngoals = [1, 1]\navoidance = true', "S: avoidance = true: must be false in worlds"),
    ],
)
def test_what_has_no_equal_on_a_device_is_refused_in_one_line(experiment, controller, message):
    with pytest.raises(td.ModelError) as caught:
        Worlds(experiment(FREE, controller), 1, "cpu")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
