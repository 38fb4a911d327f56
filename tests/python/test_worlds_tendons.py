"""Arms with tendons, chambers and muscles in many worlds, beside the C engine with the plugin."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear

import tendril as td

wp = pytest.importorskip("warp", reason="warp-lang is not installed")
pytest.importorskip("mujoco_warp", reason="needs warp-lang and mujoco-warp: docs/guide/worlds.md")

from worlds_scenes import CHAMBERS, REACH, SCENE, SECTION, SOFT, tips_of, written  # noqa: E402

from tendril.worlds import Worlds  # noqa: E402
from tendril.worlds.distribution import Distribution, distribute, distribution_for  # noqa: E402
from tendril.worlds.tables import BoundRobot  # noqa: E402

WITH_SERVOS = "bend_servo = true\n"
MOTION = """
[[motion]]
body = "target"
kind = "waypoints"
times = [0, 0.2, 0.202, 2]
points = [[0.02, 0.01, 0.195], [0.02, 0.01, 0.195], [0.05, -0.03, 0.185], [0.03, 0.05, 0.185]]
"""
VARY = """
[vary]
"robot.section.*.bending_stiffness" = { scale = [0.7, 1.4] }
"""


def tendon(section, angle, more):
    return f"[[tendon]]\nsection = {section}\nangle = {angle}\ndistance = 0.006\n{more}\n"


def tendons(more, sections=(1, 2)):
    """Three that end in each section."""
    return "".join(tendon(i, 0.35 * i + 2.0944 * k, more) for i in sections for k in range(3))


LENGTHS = tendons("max_tension = 300\npretension = 2\nstiffness = 20000")
TIGHT = tendons("max_tension = 16\npretension = 2\nstiffness = 20000")  # less than the target takes
TENSIONS = tendons('command = "tension"\nmax_tension = 200\npretension = 1')
SHEATHS = "friction_coefficient = 0.2"  # of Capstan friction
MUSCLES = "".join(
    f'[[chamber]]\nkind = "mckibben"\nsection = {i}\nangle = {k * 2.0944}\ndistance = 0.018\nradius = 0.0045\n'
    "braid_angle = 0.44\nmax_pressure = 3e5\ntime_constant = 0.05\n"
    for i in (1, 2)
    for k in range(3)
)
ROBOTS = {
    "lengths": 2 * SECTION + LENGTHS,
    "limits": 2 * SECTION + TIGHT,
    "tensions": 2 * SECTION + TENSIONS,
    "friction by lengths": 2 * SECTION + tendons(f"max_tension = 300\npretension = 2\nstiffness = 20000\n{SHEATHS}"),
    "friction by tensions": 2 * SECTION + tendons(f'command = "tension"\nmax_tension = 200\npretension = 1\n{SHEATHS}'),
    "chambers": 2 * SOFT + CHAMBERS,
    "muscles": 2 * SECTION.replace("radius = 0.008", "radius = 0.025\ndamping_time = 0.03") + MUSCLES,
    "past servos": SECTION + WITH_SERVOS + SECTION + tendons("max_tension = 300\nstiffness = 20000", (2,)),
}


@pytest.mark.parametrize("robot", ROBOTS)
def test_tendons_reach_as_in_the_c_engine(tmp_path, beside_c, robot):
    file = written(tmp_path, ROBOTS[robot] + REACH, MOTION + VARY)
    worlds, seeds = Worlds(file, 2, "cpu", seed=3), (3, 4)
    runs = [td.Experiment(file).start(seed) for seed in seeds]
    spread = 0.0  # m
    for steps in (90, 60, 350):
        _, _, (status,), (expected,) = beside_c(worlds, runs, steps, "status")
        ours, meant = tips_of(worlds, runs)
        assert np.abs(ours - meant).max() < 1e-4  # m
        assert (status == expected).all()
        spread = max(spread, float(np.ptp(meant, axis=0).max()))
    assert (status == td.ControllerStatus.WORKING).all()
    assert spread > 1e-4  # m: the draws matter
    worlds.reset(np.array([True, False]))
    worlds.step(500)
    assert np.abs(tips_of(worlds, runs)[0][0] - meant[0]).max() < 1e-4


def test_friction_of_tendons_matters(tmp_path):
    """The tip of the C engine with friction is not that without: the comparison above can fail."""
    tips = []
    for robot in ("tensions", "friction by tensions"):
        folder = tmp_path / robot
        folder.mkdir()
        run = td.Experiment(written(folder, ROBOTS[robot] + REACH, MOTION)).start(3)
        for _ in range(150):
            run.step()
        tips.append(run.data.site_xpos.copy())
    assert np.abs(tips[0] - tips[1]).max() > 1e-3  # m


ON_PATH = """
[controller]
plugin = "tendril.follow"
waypoints = [[0, 0, 0], [0, 0, 0.28], [0.08, 0.06, 0.3]]
corner_radius = 0.09
start_delay = 0.1
acceleration = 2
speed = 0.15
fit = "body"
jam_retries = 0
"""


def follow(tmp_path, more=""):
    scene = SCENE.replace("<worldbody>", "<worldbody>" + more).replace('pos="0.05 0.03 0.16"', "")
    base = "[base]\nfeed = 0.2\nfeed_force_limit = 30\n"
    return written(tmp_path, base + ROBOTS["lengths"] + ON_PATH, VARY, scene)


def test_tendons_follow_a_path_as_in_the_c_engine(tmp_path, beside_c):
    file = follow(tmp_path)
    worlds = Worlds(file, 2, "cpu", seed=3)
    runs = [td.Experiment(file).start(seed) for seed in (3, 4)]
    _, _, (status,), (expected,) = beside_c(worlds, runs, 700, "status")
    ours, meant = tips_of(worlds, runs)
    assert meant[:, 2].min() > 0.25 and meant[:, 0].min() > 0.02  # m: around the corner
    assert np.abs(ours - meant).max() < 1e-4  # m
    assert (status == expected).all()


def test_tendons_jam_at_a_wall_as_in_the_c_engine(tmp_path, beside_c):
    file = follow(tmp_path, '<geom type="box" size="0.2 0.2 0.01" pos="0 0 0.27" euler="0 20 0"/>')
    worlds = Worlds(file, 1, "cpu", seed=3)
    runs = [td.Experiment(file).start(3)]
    _, _, (status,), (expected,) = beside_c(worlds, runs, 600, "status")
    ours, meant = tips_of(worlds, runs)
    assert status == expected == td.ControllerStatus.JAMMED
    assert np.abs(ours - meant).max() < 2e-3  # m


@wp.kernel(enable_backward=False)
def distributed(problem: Distribution):
    distribute(problem, 0, wp.tid())


def test_tensions_are_the_least_that_make_the_moments_within_limits():
    rng, count, samples = np.random.default_rng(1), 7, 200
    P = rng.uniform(-0.01, 0.01, (4, count))  # m
    low, high = np.full(count, 2.0), 0.98 * rng.uniform(20, 60, count)  # N
    bound = BoundRobot([{"prefix": "arm_"}], samples, "cpu")
    problem = distribution_for(bound, [P], [low], [high])
    between = P @ rng.uniform(low, high, (samples, count)).T  # that tensions make
    moments = np.where(np.arange(samples) < 100, between, 3 * between).T  # and some that none make
    problem.moment = bound.numbers(moments)
    wp.launch(distributed, samples, inputs=[problem], device="cpu")
    weight = 1 / np.sqrt(1e-8 * (P**2).sum() / 4)
    for moment, tensions in zip(moments, problem.tension.numpy(), strict=True):
        A, y = np.vstack([np.eye(count), weight * P]), np.concatenate([np.zeros(count), weight * moment])
        assert tensions == pytest.approx(lsq_linear(A, y, (low, high), method="bvls").x, abs=1e-3)  # N
