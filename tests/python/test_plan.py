"""Planners in Python; test_program.py compares them with `tendril plan`."""

from pathlib import Path

import numpy as np
import pytest

import tendril as td

CONTACT = td.share / "scenes/plans/case_1.toml"
GRASP = td.share / "scenes/plans/grasp_post.toml"
PATH = td.share / "scenes/tube_narrow/plan.toml"


def test_solutions_of_a_plan_with_contact() -> None:
    plan = td.plan(CONTACT)
    assert plan.status == plan.content["status"] and len(plan.solutions) == len(plan.content["solutions"]) > 0
    for solution in plan.solutions:
        assert np.isclose(sum(arc["length"] for arc in solution.arcs), solution.length)
        assert max(abs(arc["curvature"]) for arc in solution.arcs) == solution.max_curvature
        assert solution.min_clearance >= -1e-12  # bracing arcs touch


def test_a_path_among_obstacles_reaches_all_waypoints() -> None:
    path = td.plan_path(PATH)
    robot = td.load_robot(PATH.with_name("arm.toml"), td.ContinuumRobot)
    assert path.reached == path.waypoint_count and path.states.shape[0] == path.content["poses"]
    assert path.min_clearance > 0 and robot.within_limits(path.states).all()


def test_what_is_wrong_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(td.ModelError, match="plan.toml: robot: is a path among obstacles: tendril.plan_path"):
        td.plan(PATH)
    with pytest.raises(td.ModelError, match="case_1.toml: robot: is missing: plans with contact: tendril.plan"):
        td.plan_path(CONTACT)
    with pytest.raises(td.ModelError, match="no grasps"):
        td.plan(GRASP).solutions[0].save(tmp_path / "grasp.plan")
    with pytest.raises(OSError):
        td.plan(CONTACT).solutions[0].save(tmp_path / "none" / "file.plan")
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(CONTACT.read_text().replace("max_curvature", "max_curvatur"))
    with pytest.raises(td.ModelError, match="max_curvatur"):
        td.plan(wrong)


FED = (
    """[base]
feed = 0.3
"""
    + 3
    * """[[section]]
constant_length = 0.05
bend_limit = 2.0
radius = 0.006
"""
)


def test_a_base_that_feeds_is_planned_too(tmp_path: Path) -> None:
    (tmp_path / "arm.toml").write_text(FED)
    file = tmp_path / "plan.toml"
    file.write_text(
        """robot = "arm.toml"
margin = 0.002
position_tolerance = 1e-5
[[waypoint]]
position = [0, 0, 0.32]
[[waypoint]]
position = [0.04, 0, 0.2]
[[obstacle]]
sphere = { center = [0.03, 0, 0.12], radius = 0.01 }
"""
    )
    plan = td.plan_path(file)
    assert plan.reached == 2
    ahead, beside = plan.content["waypoints"]
    assert 0.17 - 1e-4 <= ahead["h"] <= 0.3 and 0 <= beside["h"] <= 0.3
    robot = td.load_robot(tmp_path / "arm.toml")
    plan.save(tmp_path / "path.csv")
    rows = np.genfromtxt(tmp_path / "path.csv", delimiter=",", names=True)
    for waypoint, goal in ((1, [0, 0, 0.32]), (2, [0.04, 0, 0.2])):
        row = rows[rows["waypoint"] == waypoint][0]
        states = [[row[f"{name}_{i}"] for name in ("theta", "phi", "s")] for i in (1, 2, 3)]
        tip = robot.tip_pose(states, feed=row["h"])[:3, 3]
        assert np.linalg.norm(tip - goal) < 1.1e-5
