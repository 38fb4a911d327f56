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
