"""`tendril.follow` in many worlds, beside the C engine with the plugin."""

import numpy as np
import pytest

import tendril as td

pytest.importorskip("mujoco_warp", reason="needs warp-lang and mujoco-warp: docs/guide/worlds.md")

from tendril.worlds import Worlds  # noqa: E402

SECTION = """
[[section]]
constant_length = 0.1
bend_limit = 1.7
links = 4
radius = 0.008
mass = 0.05
bending_stiffness = 0.05
"""
ROBOT = 'kind = "continuum"\nname = "arm"\n[base]\nfeed = 0.2\nfeed_force_limit = 10\n' + 2 * SECTION
CONTROLLER = """
[controller]
plugin = "tendril.follow"
waypoints = [[0, 0, 0], [0, 0, 0.32], [0.1, 0.1, 0.32]]
corner_radius = 0.09
start_delay = 0.1
acceleration = 2
speed = 0.2
jam_retries = 0
"""
# The feed axis lies along x of the world, under gravity.
SCENE = """
<mujoco>
  <option timestep="0.002" integrator="discrete" cone="elliptic" impratio="10"/>
  <asset><model name="arm" file="robot.toml"/></asset>
  <worldbody>
    <geom type="box" size="0.01 0.2 0.2" pos="{wall} 0 0" euler="0 20 0"/>
    <body name="target" mocap="true"/>
    <frame euler="0 90 0"><attach model="arm" body="base" prefix="arm_"/></frame>
  </worldbody>
</mujoco>
"""
FREE, WALL = 1.0, 0.32  # m
STEPS = 500


@pytest.fixture
def experiment(tmp_path):
    def written(controller=CONTROLLER, wall=FREE, more=""):
        (tmp_path / "robot.toml").write_text(ROBOT + controller)
        (tmp_path / "scene.xml").write_text(SCENE.format(wall=wall))
        file = tmp_path / "experiment.toml"
        file.write_text('scene = "scene.xml"\nduration = 2\n' + more)
        return file

    return written


def tips_of(file, seeds, steps):
    """The tip's places in the runs of the C engine, and the status of the last."""
    tips = []
    for seed in seeds:
        run = td.Experiment(file).start(seed)
        for _ in range(steps):
            run.step()
        tips.append(run.data.site("arm_tip").xpos.copy())
    return np.stack(tips), int(run.data.sensor("arm_status").data[0])


def tips_in(worlds):
    return worlds._data.site_xpos.numpy()[:, worlds.model.site("arm_tip").id]


@pytest.mark.parametrize("fit", ["tip", "body"])
def test_in_free_motion_the_tip_is_where_the_c_engine_has_it(experiment, fit):
    vary = (
        '[vary]\n"robot.section.*.bending_stiffness" = { scale = [0.5, 2] }\n'
        '"controller.integral_gain" = { uniform = [2, 8] }\n"controller.speed" = { uniform = [0.05, 0.15] }\n'
    )
    file = experiment(CONTROLLER + f'fit = "{fit}"\n', more=vary)
    worlds = Worlds(file, 3, "cpu", seed=2)
    worlds.step(STEPS)
    tips, _ = tips_of(file, (2, 3, 4), STEPS)
    assert np.ptp(tips, axis=0).max() > 0.01  # m: the draws matter
    assert np.abs(tips_in(worlds) - tips).max() < 1e-4  # m


def test_at_the_end_of_its_path_it_has_finished(experiment):
    file = experiment()
    worlds = Worlds(file, 1, "cpu")
    worlds.step(720)
    tips, status = tips_of(file, (None,), 720)
    assert worlds.controllers[0].status.numpy()[0] == status == td.ControllerStatus.FINISHED
    assert np.abs(tips_in(worlds) - tips).max() < 1e-4  # m


def test_a_jam_at_a_wall_stops_the_feed_as_in_the_c_engine(experiment):
    file = experiment(wall=WALL)
    worlds = Worlds(file, 1, "cpu")
    worlds.step(STEPS)
    tips, status = tips_of(file, (None,), STEPS)
    assert worlds.controllers[0].status.numpy()[0] == status == td.ControllerStatus.JAMMED
    assert np.abs(tips_in(worlds) - tips).max() < 2e-3  # m


def test_after_a_jam_it_draws_back_and_tries_again_as_in_the_c_engine(experiment):
    file = experiment(CONTROLLER.replace("jam_retries = 0", "jam_retries = 2"), wall=WALL)
    worlds = Worlds(file, 1, "cpu")
    run = td.Experiment(file).start()
    feed, feeds = worlds.model.joint("arm_feed").qposadr[0], []
    for _ in range(STEPS // 20):
        worlds.step(20)
        for _ in range(20):
            run.step()
        feeds.append((worlds.qpos.numpy()[0, feed], run.data.qpos[feed]))
    ours, meant = np.array(feeds).T
    for advance in (ours, meant):
        assert np.diff(advance).min() < -1e-3  # m: it has drawn back
    assert run.data.sensor("arm_jams").data[0] >= 1
    assert np.abs(ours - meant).max() < 2e-3  # m
    assert np.abs(tips_in(worlds)[0] - run.data.site("arm_tip").xpos).max() < 3e-3  # m


TRAIL = """
[controller]
plugin = "tendril.follow"
target = "target"
start_delay = 0.1
acceleration = 2
speed = 0.2
"""
DRAGGED = """
[[motion]]
body = "target"
kind = "waypoints"
times = [0, 0.2, 1]
points = [[0.2, 0, 0], [0.22, 0, 0], [0.34, 0.04, 0.02]]
[vary]
"controller.trail_spacing" = { uniform = [0.002, 0.02] }
"controller.speed" = { uniform = [0.05, 0.3] }
"""


def test_the_trail_of_a_target_is_followed_as_in_the_c_engine(experiment):
    file = experiment(TRAIL, more=DRAGGED)
    worlds = Worlds(file, 2, "cpu", seed=3)
    worlds.step(STEPS)
    tips, status = tips_of(file, (3, 4), STEPS)
    assert np.ptp(tips, axis=0).max() > 0.005  # m: the draws matter
    assert tips[:, 0].min() > 0.23 and tips[:, 1].max() > 0.01  # m: along the trail
    assert np.abs(tips_in(worlds) - tips).max() < 2e-5  # m
    assert worlds.controllers[0].status.numpy()[1] == status == td.ControllerStatus.WORKING
    worlds.reset(np.array([True, False]))  # with a new trail
    worlds.step(STEPS)
    assert np.abs(tips_in(worlds)[0] - tips[0]).max() < 2e-5


GROWING = (
    'kind = "continuum"\nname = "arm"\n'
    + 2 * SECTION.replace("constant_length = 0.1", "constant_length = 0.06\nvariable_length = 0.05")
    + CONTROLLER.replace("[0, 0, 0.32], [0.1, 0.1, 0.32]", "[0, 0, 0.212], [0.002, 0.001, 0.225]").replace(
        "0.09", "0.07"
    )
)


@pytest.mark.parametrize("growth", ["base", "tip"])
def test_sections_grow_along_the_path_as_in_the_c_engine(experiment, growth):
    # At the start half of the lengths are out, and are drawn in first.
    file = experiment(more='[vary]\n"controller.speed" = { uniform = [0.08, 0.2] }\n')
    file.with_name("robot.toml").write_text(GROWING + f'growth = "{growth}"\n')
    worlds = Worlds(file, 2, "cpu", seed=3)
    worlds.step(STEPS)
    tips, status = tips_of(file, (3, 4), STEPS)
    assert np.ptp(tips, axis=0).max() > 0.005  # m: the draws matter
    assert tips[:, 0].max() > 0.16  # m: beyond the start
    assert np.abs(tips_in(worlds) - tips).max() < 2e-5  # m
    assert worlds.controllers[0].status.numpy()[1] == status


POSES = """
[controller]
plugin = "tendril.follow"
start_delay = 0.1
waypoint_time = 0.2
hold_time = 0.1
poses = '''
waypoint,theta_1,phi_1,s_1,theta_2,phi_2,s_2,h
0,0.1,0.3,0,0,0,0,0.01
1,0.4,0.3,0,0.2,-0.5,0,0.03
1.5,0.3,0.5,0,0.1,-0.5,0,0.08
2,0.2,0.9,0,0.1,0,0,0.14
'''
"""


@pytest.mark.parametrize("plane", ["any", "xz"])
def test_planned_poses_are_followed_as_in_the_c_engine(experiment, plane):
    poses = POSES.replace("-0.5", "0") if plane == "xz" else POSES  # those that the second section has
    file = experiment(poses, more='[vary]\n"controller.rate_limit" = { uniform = [1, 4] }\n')
    robot = file.with_name("robot.toml")
    first, section, rest = robot.read_text().rpartition("[[section]]\n")
    robot.write_text(f'{first}{section}bend_plane = "{plane}"\n{rest}')
    worlds = Worlds(file, 2, "cpu", seed=3)
    worlds.step(STEPS)
    tips, status = tips_of(file, (3, 4), STEPS)
    assert np.ptp(tips, axis=0).max() > 0.005  # m: the draws matter
    assert np.abs(tips_in(worlds) - tips).max() < 2e-5  # m
    assert worlds.controllers[0].status.numpy()[1] == status
    worlds.reset(np.array([True, False]))
    worlds.step(STEPS)
    assert np.abs(tips_in(worlds)[0] - tips[0]).max() < 2e-5


SPUN = """waypoint,theta_1,phi_1,s_1,theta_2,phi_2,s_2,h,omega0
0,0.1,0.3,0,0,0,0,0.01,0.2
1,0.4,0.3,0,0.2,-0.5,0,0.03,0.8
1.5,0.3,0.8,0,0.1,-0.9,0,0.08,0.5
2,0.2,1.2,0,0.3,-1.4,0,0.14,-0.6
"""


def test_planned_poses_of_a_spin_and_sections_that_turn_are_followed_as_in_the_c_engine(experiment):
    head, _, rest = POSES.partition("waypoint,")
    file = experiment(
        head + SPUN + rest[rest.index("'''") :], more='[vary]\n"controller.rate_limit" = { uniform = [1, 4] }\n'
    )
    robot = file.with_name("robot.toml")
    turning = 'rotation = "turning"\n'
    first, section, rest = robot.read_text().replace("[base]\n", "[base]\nspin = true\n").rpartition("[[section]]\n")
    robot.write_text(first + section + turning + rest)
    worlds = Worlds(file, 2, "cpu", seed=3)
    spread, largest = 0.0, np.zeros(2)  # m, rad
    joints = [worlds.model.jnt_qposadr[worlds.model.joint(f"arm_{name}").id] for name in ("spin", "s2_turn")]
    for steps in range(250, 1001, 250):
        worlds.step(250)
        tips, status = tips_of(file, (3, 4), steps)
        assert np.abs(tips_in(worlds) - tips).max() < 1e-4  # m
        assert worlds.controllers[0].status.numpy()[1] == status
        spread = max(spread, float(np.ptp(tips, axis=0).max()))
        largest = np.maximum(largest, np.abs(worlds.qpos.numpy()[0][joints]))
    assert spread > 1e-3 and largest.min() > 0.3  # m, rad: the draws, the spin and the turn matter
    again = Worlds(file, 2, "cpu", seed=3)
    again.step(1000)
    assert (again.qpos.numpy() == worlds.qpos.numpy()).all()


def test_a_wall_stops_planned_poses_as_in_the_c_engine(experiment):
    file = experiment(POSES + "jam_tip_error = 0.004\n", wall=0.27)
    worlds = Worlds(file, 1, "cpu")
    worlds.step(STEPS)
    tips, status = tips_of(file, (None,), STEPS)
    assert worlds.controllers[0].status.numpy()[0] == status == td.ControllerStatus.JAMMED
    assert np.abs(tips_in(worlds) - tips).max() < 2e-3  # m
