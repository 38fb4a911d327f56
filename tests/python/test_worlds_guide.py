"""Arms that are fed through a guide in many worlds, beside the C engine with the plugin."""

import numpy as np
import pytest

import tendril as td

pytest.importorskip("mujoco_warp", reason="needs warp-lang and mujoco-warp: docs/guide/worlds.md")

from worlds_scenes import REACH, SECTION, written  # noqa: E402

from tendril.worlds import Worlds  # noqa: E402

LENGTH, LINK = 0.12, 0.025  # m: of the guide and of a link


def arm(clearance, controller):
    base = f"[base]\nfeed = 0.2\nfeed_force_limit = 60\nguide_length = {LENGTH}\nguide_clearance = {clearance}\n"
    return 'compliance = "link"\n' + base + 2 * SECTION + controller


def motion(*points):
    """Of a target that rests, then moves away from the guide, which frees links."""
    return f"""
[[motion]]
body = "target"
kind = "waypoints"
times = [0, 0.1, 0.4, 2]
points = {[list(points[0]), *map(list, points), list(points[1])]}
[vary]
"robot.section.*.bending_stiffness" = {{ scale = [0.7, 1.4] }}
"controller.rate_limit" = {{ uniform = [3, 6] }}
"""


UPWARDS = motion((0.03, 0.02, 0.22), (0.06, -0.02, 0.3))


def feeds_of(worlds):
    return worlds.qpos.numpy()[:, worlds.model.joint("arm_feed").qposadr[0]]


def links_in_guide(feeds):
    """How many links, in each world, end in the guide, and how many cross its end."""
    ends = feeds[:, None] + LINK * np.arange(1, 9)
    crossing = (ends > LENGTH) & (ends - LINK < LENGTH)
    return (ends <= LENGTH).sum(axis=1), crossing.sum(axis=1)


def test_an_arm_with_a_guide_reaches_as_in_the_c_engine(tmp_path, beside_c):
    file = written(tmp_path, arm(0.05, REACH), UPWARDS)  # nothing touches the walls
    worlds, runs = Worlds(file, 2, "cpu", seed=3), [td.Experiment(file).start(seed) for seed in (3, 4)]
    hidden, crossed = [], False
    for steps in (30, 120, 150):
        ours, meant, (status,), (expected,) = beside_c(worlds, runs, steps, "status")
        assert np.abs(ours - meant).max() < 1e-6  # rad
        assert (status == expected).all()
        ends, crossing = links_in_guide(feeds_of(worlds))
        hidden.append(ends.min())
        crossed = crossed or crossing.all()
    assert hidden[0] > hidden[-1] and crossed  # links leave the guide, and some are on their way out
    worlds.reset(np.array([True, False]))
    worlds.step(300)
    assert np.abs(worlds.qpos.numpy()[0] - meant[0]).max() < 1e-6
