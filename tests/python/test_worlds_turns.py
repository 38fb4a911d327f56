"""Sections that turn on their bases, and bases that spin, in many worlds, beside the C engine with the plugin."""

import numpy as np
import pytest

import tendril as td

pytest.importorskip("mujoco_warp", reason="needs warp-lang and mujoco-warp: docs/guide/worlds.md")

from worlds_scenes import FOLLOW, IN_PLANE, REACH, SECTION, SIDEWAYS, tips_of, written  # noqa: E402

from tendril.worlds import Worlds  # noqa: E402

TURNING, SPIN = SECTION + 'rotation = "turning"\n', "[base]\nspin = true\n"
# A target beside the axis jumps once and then moves, with axes of its own.
MOTION = """
[[motion]]
body = "target"
kind = "waypoints"
times = [0, 0.2, 0.202, 2]
points = [{points}]
angles_deg = [[10, 80, 20], [10, 80, 20], [20, 70, 40], [40, 90, 0]]
[vary]
"robot.section.*.bending_stiffness" = {{ scale = [0.7, 1.4] }}
"controller.rate_limit" = {{ uniform = [3, 6] }}
"""
TWO = "[0.17, 0.03, -0.05], [0.17, 0.03, -0.05], [0.17, 0.06, 0.02], [0.18, 0.02, 0.06]"
THREE = "[0.24, 0.05, -0.1], [0.24, 0.05, -0.1], [0.24, 0.09, -0.06], [0.27, 0.02, -0.08]"
ROBOTS = {  # and the controller's task, and the target's places
    "two turns": (2 * TURNING, "position", TWO),
    "a turn, then bends": (TURNING + SECTION, "position", TWO),
    "turns that twist": (2 * (TURNING + "torsional_stiffness = 0.03\n"), "position", TWO),
    "a spin alone": (SPIN + 3 * SECTION, "pose", THREE),
    "a spin and a plane": (SPIN + SECTION + IN_PLANE + SECTION, "pose", THREE),
    "a spin and turns": (SPIN + 3 * TURNING, "pose", THREE),
}


@pytest.mark.parametrize("robot", ROBOTS)
def test_an_arm_with_turns_reaches_as_in_the_c_engine(tmp_path, beside_c, robot):
    tables, task, points = ROBOTS[robot]
    file = written(tmp_path, tables + REACH + f'task = "{task}"\n', MOTION.format(points=points), SIDEWAYS)
    worlds = Worlds(file, 2, "cpu", seed=5)
    runs = [td.Experiment(file).start(seed) for seed in (5, 6)]
    spread, turned = 0.0, 0.0  # m, rad
    turns = [i for i in range(worlds.model.njnt) if worlds.model.joint(i).name.endswith(("_turn", "_spin"))]
    for steps in (90, 60, 250):
        _, positions, (status,), (expected,) = beside_c(worlds, runs, steps, "status")
        ours, meant = tips_of(worlds, runs)
        assert np.abs(ours - meant).max() < 1e-4  # m
        assert (status == expected).all()
        spread = max(spread, float(np.ptp(meant, axis=0).max()))
        turned = max(turned, float(np.abs(positions[:, worlds.model.jnt_qposadr[turns]]).max()))
    assert spread > 1e-4 and turned > 0.3  # m, rad: the draws and the turns matter
    worlds.reset(np.array([True, False]))
    worlds.step(400)
    assert np.abs(tips_of(worlds, runs)[0][0] - meant[0]).max() < 1e-4


def test_an_arm_with_turns_follows_a_path_as_in_the_c_engine(tmp_path, beside_c):
    robot = SPIN + "feed = 0.2\nfeed_force_limit = 10\n" + TURNING + SECTION + FOLLOW
    file = written(tmp_path, robot, "", SIDEWAYS)
    worlds, runs = Worlds(file, 1, "cpu"), [td.Experiment(file).start()]
    for steps in (250, 250):
        _, _, (status,), (expected,) = beside_c(worlds, runs, steps, "status")
        ours, meant = tips_of(worlds, runs)
        assert np.abs(ours - meant).max() < 1e-4  # m
        assert status == expected
    assert meant[0, 0] > 0.25  # m
