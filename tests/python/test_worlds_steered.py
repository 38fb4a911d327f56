"""`tendril.follow` of a driven tip behind a passive shaft in many worlds, beside the C engine with the plugin."""

import numpy as np
import pytest

import tendril as td

pytest.importorskip("mujoco_warp", reason="needs warp-lang and mujoco-warp: docs/guide/worlds.md")

from worlds_scenes import SECTION, tips_of, written  # noqa: E402

from tendril.worlds import Worlds  # noqa: E402

SHAFT = SECTION.replace("links = 4", "links = 4\nbend_servo = false").replace("= 0.05\n", "= 0.2\n")
WIRED = SECTION.replace("links = 4", "links = 4\nbend_servo = false")
WIRES = "".join(
    f"[[tendon]]\nsection = [2, 2]\nangle = {angle}\ndistance = 0.006\nmax_tension = 60\nstiffness = 20000\n"
    for angle in (0.2, 2.3, 4.4)
)
BASE = "[base]\nfeed = 0.2\nfeed_force_limit = 20\n"
FOLLOW = """
[controller]
plugin = "tendril.follow"
waypoints = [[0, 0, 0], [0, 0, 0.22], [0.06, 0.04, 0.3]]
corner_radius = 0.09
start_delay = 0.1
acceleration = 2
speed = 0.1
jam_tip_error = 0.04
"""
VARY = """
[vary]
"robot.section.*.bending_stiffness" = { scale = [0.8, 1.3] }
"controller.speed" = { uniform = [0.05, 0.15] }
"""
ROBOTS = {
    "two sections": (SHAFT + 2 * SECTION.replace("0.1\n", "0.05\n"), "tip"),
    "wires": (SHAFT + WIRED + WIRES, "tip"),
    "a spin": ("spin = true\n" + SHAFT + SECTION, "tip"),
    "a section that turns": (SHAFT + SECTION + 'rotation = "turning"\n', "tip"),
    "twist": (SHAFT + SECTION + "torsional_stiffness = 0.03\n", "tip"),
    "a body on the path": (SHAFT + SHAFT.replace("0.1\n", "0.03\n") + SECTION, "body"),
}


@pytest.mark.parametrize("robot", ROBOTS)
def test_a_tip_behind_a_passive_shaft_follows_as_in_the_c_engine(tmp_path, beside_c, robot):
    tables, fit = ROBOTS[robot]
    file = written(tmp_path, BASE + tables + FOLLOW + f'fit = "{fit}"\n', VARY)
    worlds = Worlds(file, 2, "cpu", seed=3)
    runs = [td.Experiment(file).start(seed) for seed in (3, 4)]
    for steps in (100, 150, 150):
        _, _, (status, progress), (expected, meant_progress) = beside_c(worlds, runs, steps, "status", "progress")
        ours, meant = tips_of(worlds, runs)
        assert np.abs(ours - meant).max() < 1e-4  # m
        assert (status == expected).all()
    assert (meant_progress > 0.05).all() and np.ptp(meant_progress) > 0.01  # it is fed, and the draws matter
    assert np.allclose(progress, meant_progress, atol=1e-4)
    worlds.reset(np.array([True, False]))
    worlds.step(400)
    assert np.abs(tips_of(worlds, runs)[0][0] - meant[0]).max() < 1e-4
