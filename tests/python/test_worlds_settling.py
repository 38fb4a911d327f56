"""Whether a tip swings about its target at rest, in many worlds, beside the C engine with the plugin."""

import numpy as np
import pytest

import tendril as td

pytest.importorskip("mujoco_warp", reason="needs warp-lang and mujoco-warp: docs/guide/worlds.md")

from worlds_scenes import REACH, SCENE, SECTION, tips_of, written  # noqa: E402

from tendril.worlds import Worlds  # noqa: E402

# A late measurement of the tip makes the integral swing, unless its gain is small.
LATE = "sensor_delay = 0.4\nintegral_limit = 0.05\nfollowing_time = 10\n"  # without status 8
MOTION = """
[[motion]]
body = "target"
kind = "waypoints"
times = [0, 0.2, 0.204, 2]
points = [[0.02, 0.01, 0.195], [0.02, 0.01, 0.195], [0.08, -0.03, 0.17], [0.08, -0.03, 0.17]]
[vary]
"controller.integral_gain" = { uniform = [1, 10] }
"""


def test_a_tip_that_keeps_swinging_is_found_as_in_the_c_engine(tmp_path, beside_c):
    section = SECTION.replace("links = 4", "links = 2\ndamping_time = 0.04")
    file = written(tmp_path, 2 * section + REACH + LATE, MOTION, SCENE.replace('timestep="0.002"', 'timestep="0.004"'))
    worlds, runs = (
        Worlds(file, 2, "cpu", seed=5, duration=8),
        [td.Experiment(file).start(s, duration=8) for s in (5, 6)],
    )
    told = []
    for _ in range(35):
        _, _, (status,), (expected,) = beside_c(worlds, runs, 50, "status")
        ours, meant = tips_of(worlds, runs)
        assert np.abs(ours - meant).max() < 1e-4  # m
        assert (status == expected).all()
        told.append(status.copy())
    assert sorted(told[-1]) == [td.ControllerStatus.WORKING, td.ControllerStatus.SWINGING]
    assert not np.any(np.array(told[:28]) == td.ControllerStatus.SWINGING)  # not before three windows
