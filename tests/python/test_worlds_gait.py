"""Gaits of snakes in many worlds, beside the C engine with the plugin."""

import mujoco
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
    {posts}
    <attach model="snake" body="base" prefix="S_"/>
  </worldbody>
</mujoco>
"""
FREE, GROUND = {"gravity": 0, "floor": -1, "posts": ""}, {"gravity": -9.81, "floor": 0, "posts": ""}
# Between the start, from which the head points along x, and goals beyond.
POSTS = FREE | {"posts": '<geom type="box" size="0.03 0.3 0.1" pos="1.45 0.1 0"/>'}
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


def test_a_carriage_stays_where_it_is(experiment):
    file = experiment(FREE, 'gait = "serpenoid"')
    robot = file.with_name("robot.toml")
    text = robot.read_text().replace("[start]\nposition = [0, 0, 0.001]", 'base = { kind = "carriage", feed = 0.5 }')
    robot.write_text(text)
    file.write_text(file.read_text().replace('keyframe = "S_start"\n', ""))
    worlds, run = Worlds(file, 1, "cpu"), td.Experiment(file).start()
    qpos = worlds.qpos.numpy()
    feed = worlds.model.joint("S_feed").qposadr[0]
    qpos[0, feed] = run.data.qpos[feed] = 0.2
    worlds.qpos.assign(qpos)
    worlds.step(STEPS)
    for _ in range(STEPS):
        run.step()
    assert run.data.qpos[feed] == pytest.approx(0.2, abs=0.1) and np.abs(run.data.qpos).max() > 0.2  # m, rad
    assert worlds.qpos.numpy()[0] == pytest.approx(run.data.qpos, abs=1e-5)


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


@pytest.mark.parametrize(
    ("vary", "message"),
    [
        ('"robot.link_length" = { uniform = [0.05, 0.07] }', "S: length differs between the worlds: must be the same"),
        ('"controller.target" = { choice = ["target", "other"] }', "S: target_mocap differs between the worlds"),
    ],
)
def test_snakes_that_differ_in_what_worlds_share_are_refused(experiment, vary, message):
    scene = FREE | {"posts": '<body name="other" mocap="true"/>'}
    file = experiment(scene, TASKS["target"], "[vary]\n" + vary)
    with pytest.raises(td.ModelError, match=message):
        Worlds(file, 6, "cpu", seed=4)


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


def drifting(file, velocity, seeds=(None,)):
    """Worlds and runs of the C engine whose snakes drift with this velocity, m/s, as nothing pushes them."""
    worlds, runs = Worlds(file, len(seeds), "cpu", seed=seeds[0]), [td.Experiment(file).start(seed) for seed in seeds]
    qvel = worlds.qvel.numpy()
    qvel[:, :2] = velocity
    worlds.qvel.assign(qvel)
    for run in runs:
        run.data.qvel[:2] = velocity
    return worlds, runs


@pytest.fixture
def compared(beside_c):
    def step(worlds, runs, steps):
        """The joints of all worlds and runs after as many steps, and what the controllers report."""
        positions, meant, ours, reported = beside_c(worlds, runs, steps, "status", "progress", "goals")
        return positions[:, 7:], meant[:, 7:], ours, reported

    return step


# Of floating snakes, which their gaits hardly move; speed in m/s: one drifts by more than its length in a period.
STALLS = {
    "steered": ('gait = "serpenoid"', 3.0, 600),
    "goals": ('gait = "sidewinding"\ngoals = [0.6, 1.2]', 0.0, 300),
    "path": ('gait = "vertical_wave"\nground_path = [0, 0, 0.4, 0, 0.8, 0.25]', 0.0, 300),
    "pole": ('gait = "helix"\npole_radius = 0.03\nheights = [0.05]', 0.0, 750),
}


@pytest.mark.parametrize("task", STALLS)
def test_without_progress_the_status_is_that_of_the_c_engine(experiment, compared, task):
    controller, speed, steps = STALLS[task]
    file = experiment(FREE, controller + "\nfrequency = 3\nstall_periods = 0.5")
    worlds, runs = drifting(file, (speed, 0.0))
    statuses = []
    for _ in range(5):
        _, _, ours, reported = compared(worlds, runs, steps // 5)
        statuses.append((int(ours[0][0]), int(reported[0][0])))
    assert all(own == c for own, c in statuses), statuses
    assert td.ControllerStatus.NO_PROGRESS in {own for own, _ in statuses}, statuses


@pytest.mark.parametrize("gait", ["vertical_wave", "sidewinding"])
def test_a_path_on_the_ground_is_followed_as_in_the_c_engine(experiment, compared, gait):
    file = experiment(
        FREE, f'gait = "{gait}"\nground_path = [0, 0, 0.4, 0, 0.8, 0.25, 0.9, 0.7]\ngoal_tolerance = 0.15'
    )
    worlds, runs = drifting(file, (1.2, 0.5))
    bent = 0.0
    for _ in range(6):
        joints, meant, ours, reported = compared(worlds, runs, 75)
        assert joints == pytest.approx(meant, abs=1e-5)  # rad
        for own, c in zip(ours, reported, strict=True):
            assert own == pytest.approx(c, abs=1e-5)
        bent = max(bent, abs(meant[0, ::2].sum()))
    assert bent > 0.1  # rad: along the path, or to steer
    assert ours[1][0] > 0.5


@pytest.mark.parametrize("gait", ["vertical_wave", "sidewinding"])
def test_paths_among_obstacles_are_those_of_the_c_engine(experiment, compared, gait):
    vary = '[vary]\n"controller.goals" = { uniform = [[0.6, -0.1, 2, -0.8], [0.7, 0, 2.3, 1]] }\n'
    file = experiment(
        POSTS,
        f'gait = "{gait}"\navoidance = true\nobstacle_margin = 0.1\ngoal_tolerance = 0.2\ngoals = [0.6, -0.1, 2, 1]',
        vary,
    )
    worlds, runs = drifting(file, (1.5, -0.4), (3, 4))
    spread = 0.0
    for _ in range(6):
        joints, meant, ours, reported = compared(worlds, runs, 75)
        assert joints == pytest.approx(meant, abs=1e-5)  # rad
        for own, c in zip(ours, reported, strict=True):
            assert own == pytest.approx(c, abs=1e-5)
        spread = max(spread, np.ptp(meant, axis=0).max())
    assert spread > 0.01  # rad: the draws matter
    assert (ours[2] == 1).all()


def test_a_snake_that_was_reset_finds_its_path_again(experiment):
    worlds = Worlds(
        experiment(POSTS, 'gait = "vertical_wave"\navoidance = true\nobstacle_margin = 0.1\ngoals = [2, 0.5]'),
        2,
        "cpu",
    )
    worlds.step(60)
    once = worlds.qpos.numpy().copy()
    worlds.reset(np.array([True, False]))
    worlds.step(60)
    assert (worlds.qpos.numpy()[0] == once[0]).all()  # the same bits on a CPU


def test_a_snake_with_scales_runs_by_conjugate_gradients():
    """Newton's method fails there in float32, after 0.25 s."""
    file = td.share / "scenes/snake_travel/serpenoid.toml"
    worlds, run = Worlds(file, 1, "cpu"), td.Experiment(file).start()
    assert worlds.model.opt.solver == mujoco.mjtSolver.mjSOL_CG
    worlds.step(200)
    for _ in range(200):
        run.step()
    assert np.abs(worlds.ctrl.numpy()[0] - run.data.ctrl).max() < 1e-6  # rad
    assert np.abs(worlds.qpos.numpy()[0, :2] - run.data.qpos[:2]).max() < 3e-3  # m
    worlds.step(300)
    assert worlds.diverged.numpy() == -1 and worlds.overflow.numpy() == 0
    assert Worlds(file, 1, "cpu", solver="newton").model.opt.solver == mujoco.mjtSolver.mjSOL_NEWTON
    with pytest.raises(td.ModelError, match="solver: pgs: must be newton or cg"):
        Worlds(file, 1, "cpu", solver="pgs")
