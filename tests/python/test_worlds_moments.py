"""`tendril.computed_moment` in many worlds, beside the C engine with the plugin."""

import numpy as np
import pytest

import tendril as td

pytest.importorskip("mujoco_warp", reason="needs warp-lang and mujoco-warp: docs/guide/worlds.md")

from test_worlds_tendons import MOTION, TENSIONS, tendons  # noqa: E402
from worlds_scenes import CHAMBERS, IN_PLANE, REACH, SECTION, SOFT, tips_of, written  # noqa: E402

from tendril.worlds import Worlds  # noqa: E402

MOTOR = 'bend_command = "moment"\n'
CONTROLLER = REACH.replace("tendril.reach", "tendril.computed_moment")
ROBOTS = {
    "motors": SECTION + MOTOR + "natural_bend = 0.3\n" + SECTION + MOTOR,
    "a section in a plane": SECTION + MOTOR + IN_PLANE + MOTOR,
    "twist": 2 * (SECTION + MOTOR + "torsional_stiffness = 0.03\n"),
    "tensions and twist": 2 * (SECTION + "torsional_stiffness = 0.03\n") + TENSIONS,
    "tensions": 2 * SECTION + TENSIONS,
    "slow chambers": 2 * SOFT + CHAMBERS.replace("area", "time_constant = 0.02\narea"),
    "tendons past motors": SECTION
    + "bend_servo = true\n"
    + MOTOR
    + SECTION
    + tendons('command = "tension"\nmax_tension = 200', (2,)),
}
VARY = """
[vary]
"robot.section.*.bending_stiffness" = { scale = [0.7, 1.4] }
"controller.stiffness_gain" = { uniform = [2, 8] }
"controller.rate_limit" = { uniform = [3, 6] }
"""
DRAWN_BEND = '"robot.section.1.natural_bend" = { uniform = [0.1, 0.5] }\n'


@pytest.mark.parametrize("robot", ROBOTS)
def test_computed_moments_reach_as_in_the_c_engine(tmp_path, beside_c, robot):
    vary = VARY + DRAWN_BEND * (robot == "motors")
    file = written(tmp_path, ROBOTS[robot] + CONTROLLER, MOTION + vary)
    worlds, runs = Worlds(file, 2, "cpu", seed=3), [td.Experiment(file).start(seed) for seed in (3, 4)]
    spread = 0.0  # m
    for steps in (90, 30, 880):
        _, _, (status,), (expected,) = beside_c(worlds, runs, steps, "status")
        ours, meant = tips_of(worlds, runs)
        assert np.abs(ours - meant).max() < 1e-4  # m
        assert (status == expected).all()
        spread = max(spread, float(np.ptp(meant, axis=0).max()))
    assert spread > 1e-4  # m: the draws matter
    again = Worlds(file, 2, "cpu", seed=3)
    again.step(1000)
    assert (again.qpos.numpy() == worlds.qpos.numpy()).all()
