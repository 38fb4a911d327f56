"""Planners in Python give what `tendril plan` gives."""
import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tendril as td

PROGRAM = Path(__file__).resolve().parents[2] / "build/release/bin/tendril"
CONTACT = td.share / "scenes/plans/case_1.toml"
GRASP = td.share / "scenes/plans/grasp_post.toml"
PATH = td.share / "scenes/tube_narrow/plan.toml"

built = pytest.mark.skipif(not PROGRAM.exists(), reason="build/release/bin/tendril is not built")


def tendril(*arguments: Any) -> str:
    return subprocess.run([PROGRAM, "plan", *arguments], check=True, capture_output=True, text=True).stdout


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_times(item) for key, item in value.items() if key != "time"}
    return [without_times(item) for item in value] if isinstance(value, list) else value


def test_solutions_of_a_plan_with_contact() -> None:
    plan = td.plan(CONTACT)
    assert plan.status == plan.content["status"] and len(plan.solutions) == len(plan.content["solutions"]) > 0
    for solution in plan.solutions:
        assert np.isclose(sum(arc["length"] for arc in solution.arcs), solution.length)
        assert max(abs(arc["curvature"]) for arc in solution.arcs) == solution.max_curvature
        assert solution.min_clearance >= -1e-12  # bracing arcs touch


@built
@pytest.mark.parametrize("file", [CONTACT, GRASP])
def test_the_program_gives_the_same_plans(file: Path) -> None:
    assert td.plan(file).content == json.loads(tendril(file, "--json"))


@built
def test_the_program_saves_the_same_plan(tmp_path: Path) -> None:
    td.plan(CONTACT).solutions[1].save(tmp_path / "python.plan")
    tendril(CONTACT, "--solution", "2", "--plan", tmp_path / "program.plan")
    assert (tmp_path / "python.plan").read_text() == (tmp_path / "program.plan").read_text()


@built
def test_the_program_gives_the_same_path(tmp_path: Path) -> None:
    path = td.plan_path(PATH)
    assert without_times(path.content) == without_times(json.loads(tendril(PATH, "--json", "--path", tmp_path / "program.csv")))
    path.save(tmp_path / "python.csv")
    assert (tmp_path / "python.csv").read_text() == (tmp_path / "program.csv").read_text()
    assert path.reached == path.waypoint_count and path.states.shape[0] == path.content["poses"]


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
