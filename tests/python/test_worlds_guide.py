"""Arms that are fed through a guide in many worlds, beside the C engine with the plugin."""

import numpy as np
import pytest

import tendril as td

pytest.importorskip("mujoco_warp", reason="needs warp-lang and mujoco-warp: docs/guide/worlds.md")

from worlds_scenes import FOLLOW, REACH, SECTION, written  # noqa: E402

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


VARY = """
[vary]
"robot.section.*.bending_stiffness" = { scale = [0.7, 1.4] }
"controller.speed" = { uniform = [0.1, 0.2] }
"""
POSES = """
[controller]
plugin = "tendril.follow"
start_delay = 0.1
waypoint_time = 0.1
hold_time = 0.1
poses = '''
waypoint,theta_1,phi_1,s_1,theta_2,phi_2,s_2,h
0,0,0,0,0,0,0,0.02
1,0,0,0,0.4,-0.5,0,0.06
2,0,0,0,0.6,0.3,0,0.11
'''
"""
# The controller, what else its experiment has, and how far a joint may be off, rad or m.
CONTROLLERS = {
    "reach": (REACH, UPWARDS, 1e-6),
    "follow": (FOLLOW, VARY, 1e-4),
    "poses": (POSES, VARY.replace("speed", "rate_limit").replace("[0.1, 0.2]", "[1, 4]"), 1e-4),
}


def touches(run):
    """Whether the arm touches its guide."""
    return any("guide" in run.model.geom(geom).name for pair in run.data.contact.geom for geom in pair)


@pytest.mark.parametrize("controller", CONTROLLERS)
@pytest.mark.parametrize("clearance", (0.05, 0.0), ids=("free", "touching"))
def test_an_arm_with_a_guide_moves_as_in_the_c_engine(tmp_path, beside_c, controller, clearance):
    own, text, tolerance = CONTROLLERS[controller]
    tolerance = max(tolerance, 1e-5 if clearance == 0.0 else 0.0)
    file = written(tmp_path, arm(clearance, own), text)
    worlds = Worlds(file, 2, "cpu", seed=3, contacts=200, constraints=800)
    runs = [td.Experiment(file).start(seed) for seed in (3, 4)]
    hidden, crossed, touched = [], False, False
    for steps in (30, 120, 150, 200):
        ours, meant, (status,), (expected,) = beside_c(worlds, runs, steps, "status")
        assert np.abs(ours - meant).max() < tolerance
        assert (status == expected).all()
        ends, crossing = links_in_guide(feeds_of(worlds))
        hidden.append(ends.min())
        crossed = crossed or crossing.all()
        touched = touched or all(map(touches, runs))
    assert hidden[0] > hidden[-1] and crossed  # links leave the guide, and some are on their way out
    assert touched == (clearance == 0.0)
    worlds.reset(np.array([True, False]))
    worlds.step(500)
    assert np.abs(worlds.qpos.numpy()[0] - meant[0]).max() < tolerance
