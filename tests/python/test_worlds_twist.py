"""Arms that are not rigid in torsion in many worlds, beside the C engine with the plugin."""

import numpy as np
import pytest

import tendril as td

pytest.importorskip("mujoco_warp", reason="needs warp-lang and mujoco-warp: docs/guide/worlds.md")

from tendril.worlds import Worlds  # noqa: E402

STIFF = """
[[section]]
constant_length = 0.1
bend_limit = 1.5
links = 4
radius = 0.008
mass = 0.05
bending_stiffness = 0.05
"""
TWISTING = STIFF + "torsional_stiffness = 0.03\n"
SOFT = """
[[section]]
constant_length = 0.085
variable_length = 0.03
unloaded_length = 0.085
bend_limit = 1.2
links = 4
radius = 0.015
mass = 0.05
bending_stiffness = 0.0119
axial_stiffness = 2120
torsional_stiffness = 0.008
damping_time = 0.03
"""
CHAMBERS = "".join(
    f"[[chamber]]\nsection = {i}\nangle = {k * 2.0944}\ndistance = 0.009\narea = 1.2e-4\nmax_pressure = 2e5\n"
    for i in (1, 2)
    for k in range(3)
)
ROBOTS = {"both sections": 2 * TWISTING, "the last section": STIFF + TWISTING, "chambers": 2 * SOFT + CHAMBERS}
# The arm lies along x of the world: gravity twists it where it is bent sideways.
SCENE = """
<mujoco>
  <option timestep="0.002" integrator="discrete" cone="elliptic" impratio="10"/>
  <asset><model name="arm" file="robot.toml"/></asset>
  <worldbody>
    <body name="target" mocap="true"/>
    <frame euler="0 90 0"><attach model="arm" body="base" prefix="arm_"/></frame>
  </worldbody>
</mujoco>
"""
REACH = """
[controller]
plugin = "tendril.reach"
target = "target"
"""
MOTION = """
[[motion]]
body = "target"
kind = "waypoints"
times = [0, 0.2, 0.202, 2]
points = [[0.195, 0.01, -0.02], [0.195, 0.01, -0.02], [0.185, -0.05, -0.03], [0.185, 0.05, 0.03]]
[vary]
"robot.section.*.bending_stiffness" = { scale = [0.7, 1.4] }
"""


@pytest.fixture
def experiment(tmp_path):
    def written(robot, more):
        (tmp_path / "robot.toml").write_text('kind = "continuum"\nname = "arm"\n' + robot)
        (tmp_path / "scene.xml").write_text(SCENE)
        file = tmp_path / "experiment.toml"
        file.write_text('scene = "scene.xml"\nduration = 2\n' + more)
        return file

    return written


def tips_beside_c(worlds, runs):
    tip = worlds.model.site("arm_tip").id
    return worlds._data.site_xpos.numpy()[:, tip], np.stack([run.data.site_xpos[tip] for run in runs])


def largest_twist(run):
    hinges = [i for i in range(run.model.njnt) if run.model.joint(i).name.endswith("_twist")]
    return np.abs(run.data.qpos[run.model.jnt_qposadr[hinges]].sum())


@pytest.mark.parametrize("robot", ROBOTS)
def test_an_arm_that_twists_reaches_as_in_the_c_engine(experiment, beside_c, robot):
    file = experiment(ROBOTS[robot] + REACH, MOTION)
    worlds = Worlds(file, 2, "cpu", seed=3)
    runs = [td.Experiment(file).start(seed) for seed in (3, 4)]
    twist, spread = 0.0, 0.0  # rad, m
    for steps in (90, 60, 250):
        _, _, (status,), (expected,) = beside_c(worlds, runs, steps, "status")
        ours, meant = tips_beside_c(worlds, runs)
        assert np.abs(ours - meant).max() < 1e-6  # m: commands without the twist are more than that off
        assert (status == expected).all()
        twist, spread = max(twist, largest_twist(runs[0])), max(spread, float(np.ptp(meant, axis=0).max()))
    assert twist > 2e-3  # rad
    assert spread > 1e-4  # m: the draws matter
    worlds.reset(np.array([True, False]))
    worlds.step(400)
    assert np.abs(tips_beside_c(worlds, runs)[0][0] - meant[0]).max() < 1e-6


FOLLOW = """
[controller]
plugin = "tendril.follow"
waypoints = [[0, 0, 0], [0, 0, 0.28], [0.05, 0.08, 0.3]]
corner_radius = 0.09
start_delay = 0.1
acceleration = 2
speed = 0.2
jam_tip_error = 0.02
"""


def test_an_arm_that_twists_follows_a_path_as_in_the_c_engine(experiment, beside_c):
    file = experiment("[base]\nfeed = 0.2\nfeed_force_limit = 10\n" + 2 * TWISTING + FOLLOW, "")
    worlds = Worlds(file, 1, "cpu")
    runs = [td.Experiment(file).start()]
    _, _, (status,), (expected,) = beside_c(worlds, runs, 500, "status")
    ours, meant = tips_beside_c(worlds, runs)
    assert meant[0, 0] > 0.25 and largest_twist(runs[0]) > 2e-3  # m, rad
    assert np.abs(ours - meant).max() < 1e-6  # m
    assert status == expected
