"""Arms that are not rigid in torsion in many worlds, beside the C engine with the plugin."""

import numpy as np
import pytest

import tendril as td

pytest.importorskip("mujoco_warp", reason="needs warp-lang and mujoco-warp: docs/guide/worlds.md")

from worlds_scenes import CHAMBERS, FOLLOW, REACH, SECTION, SIDEWAYS, SOFT, tips_of, written  # noqa: E402

from tendril.worlds import Worlds  # noqa: E402

# Lying along x of the world: gravity twists an arm that is bent sideways.
TWISTING, SOFT_TWISTING = SECTION + "torsional_stiffness = 0.03\n", SOFT + "torsional_stiffness = 0.008\n"
ROBOTS = {
    "both sections": 2 * TWISTING,
    "the last section": SECTION + TWISTING,
    "chambers": 2 * SOFT_TWISTING + CHAMBERS,
}
MOTION = """
[[motion]]
body = "target"
kind = "waypoints"
times = [0, 0.2, 0.202, 2]
points = [[0.195, 0.01, -0.02], [0.195, 0.01, -0.02], [0.185, -0.05, -0.03], [0.185, 0.05, 0.03]]
[vary]
"robot.section.*.bending_stiffness" = { scale = [0.7, 1.4] }
"""


def largest_twist(run):
    hinges = [i for i in range(run.model.njnt) if run.model.joint(i).name.endswith("_twist")]
    return np.abs(run.data.qpos[run.model.jnt_qposadr[hinges]].sum())


@pytest.mark.parametrize("robot", ROBOTS)
def test_an_arm_that_twists_reaches_as_in_the_c_engine(tmp_path, beside_c, robot):
    file = written(tmp_path, ROBOTS[robot] + REACH, MOTION, SIDEWAYS)
    worlds = Worlds(file, 2, "cpu", seed=3)
    runs = [td.Experiment(file).start(seed) for seed in (3, 4)]
    twist, spread = 0.0, 0.0  # rad, m
    for steps in (90, 60, 250):
        _, _, (status,), (expected,) = beside_c(worlds, runs, steps, "status")
        ours, meant = tips_of(worlds, runs)
        assert np.abs(ours - meant).max() < 1e-6  # m: commands without the twist are more than that off
        assert (status == expected).all()
        twist, spread = max(twist, largest_twist(runs[0])), max(spread, float(np.ptp(meant, axis=0).max()))
    assert twist > 2e-3  # rad
    assert spread > 1e-4  # m: the draws matter
    worlds.reset(np.array([True, False]))
    worlds.step(400)
    assert np.abs(tips_of(worlds, runs)[0][0] - meant[0]).max() < 1e-6


def test_an_arm_that_twists_follows_a_path_as_in_the_c_engine(tmp_path, beside_c):
    robot = "[base]\nfeed = 0.2\nfeed_force_limit = 10\n" + 2 * TWISTING + FOLLOW
    file = written(tmp_path, robot, "", SIDEWAYS)
    worlds = Worlds(file, 1, "cpu")
    runs = [td.Experiment(file).start()]
    _, _, (status,), (expected,) = beside_c(worlds, runs, 500, "status")
    ours, meant = tips_of(worlds, runs)
    assert meant[0, 0] > 0.25 and largest_twist(runs[0]) > 2e-3  # m, rad
    assert np.abs(ours - meant).max() < 1e-6  # m
    assert status == expected
