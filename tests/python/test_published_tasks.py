"""Tasks that others published: what their pages say, and that the policies without learning solve episodes."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import mujoco
import numpy as np
import pytest

from tendril.envs import baselines, muscle_plan
from tendril.envs.elastica import spline_weights
from tendril.envs.planar import hinges

REPOSITORY = Path(__file__).resolve().parents[2]
STIFFNESS = 10e6 * np.pi / 4 * 0.05**4  # N m^2, of the rod of Elastica


def make(name: str) -> Any:
    return gymnasium.make(f"tendril.envs:Tendril/{name}-v0")


def task_of(env: Any) -> Any:
    return env.unwrapped._simulations.task


def run(name: str, seed: int, steps: int | None = None) -> tuple[float, dict[str, Any]]:
    """Return and last info of an episode with the policy without learning."""
    env = make(name)
    observation, info = env.reset(seed=seed)
    policy, total = baselines.make_policy(env, seed), 0.0
    for _ in range(steps or task_of(env).steps):
        observation, reward, _, _, info = env.step(policy(observation))
        total += float(reward)
    return total, info


def test_splines_reproduce_cubics_that_vanish_at_both_ends() -> None:
    places = np.linspace(0.0, 1.0, 23)
    for points in ((0.4, 0.9), (0.2, 0.4, 0.6, 0.8), tuple(np.arange(1, 7) / 7)):
        for a, b in ((1.0, 0.0), (0.3, -2.0)):

            def cubic(x: Any, a: float = a, b: float = b) -> Any:
                return x * (1.0 - x) * (a + b * x)

            assert spline_weights(points, places) @ cubic(np.array(points)) == pytest.approx(cubic(places), abs=1e-12)


@pytest.mark.parametrize(("name", "density"), [("ElasticaWall", 75 * 50), ("ElasticaTrack", 75 * 20)])
def test_couples_bend_the_rod_of_elastica_as_a_beam(name: str, density: float) -> None:
    """At rest the moment at s is the sum of the couples beyond it: the tip turns by the integral of s c(s) / EI."""
    env = make(name)
    env.reset(seed=0)
    task = task_of(env)
    action = np.zeros(task.actions, dtype=np.float32)
    action[1] = -0.02
    for _ in range(2000):
        env.step(action)
    s = (np.arange(2000) + 0.5) / 2000
    couple = density * spline_weights(task.points, s)[:, 1] * -0.02
    expected = (s * couple).mean() / STIFFNESS
    quaternion = task.sensors[0, -4:]
    angle = 2.0 * np.arcsin(np.linalg.norm(quaternion[1:]))
    assert angle == pytest.approx(abs(expected), rel=0.02)
    axis = {"ElasticaWall": [0, 1, 0], "ElasticaTrack": [1, 0, 0]}[name]
    assert quaternion[1:] / np.linalg.norm(quaternion[1:]) @ axis == pytest.approx(-1.0, abs=1e-6)


def test_drag_slows_a_turning_link_as_documented() -> None:
    """Each muscle resists the turning of its link in the world: 30 N m s/rad for each m."""
    env = make("ElasticaOrient")
    env.reset(seed=0)
    model = env.unwrapped.model
    data = mujoco.MjData(model)
    data.qvel[model.joint("rod_s1_l1_y").dofadr[0]] = 0.1  # the whole rod turns
    mujoco.mj_forward(model, data)
    power = data.qfrc_actuator @ data.qvel
    assert power == pytest.approx(-30.0 * 0.975 * 0.1**2, rel=1e-6)  # 25 mm are in the wall


def test_rewards_of_elastica_are_as_documented() -> None:
    for name in ("ElasticaTrack", "ElasticaWall", "ElasticaOrient"):
        env = make(name)
        env.reset(seed=1)
        task = task_of(env)
        still = np.zeros(task.actions, dtype=np.float32)
        for offset in (0.04, 0.08, 0.3):
            tip = task.sensors[0, 27:30].copy()
            task.mocap_pos[0, 0] = tip + [0.0, 0.0, -offset]
            task.mocap_quat[0, 0] = 1.0, 0.0, 0.0, 0.0
            _, reward, _, _, info = env.step(still)
            d = info["tip_error"]
            assert d == pytest.approx(offset, abs=2e-3)
            expected = -(d**2) + (2.0 if offset < 0.05 else 0.5 if offset < 0.1 else 0.0)
            if name == "ElasticaOrient":  # the tip is upright
                expected = -(d**2) + (6.0 if offset < 0.05 else 1.5 if offset < 0.1 else 0.0)
            assert reward == pytest.approx(expected, abs=1e-6)


def test_the_target_of_elastica_moves_in_its_box_and_turns() -> None:
    env = make("ElasticaTrack")
    env.reset(seed=3)
    task = task_of(env)
    free = task._free[0]
    still, places = np.zeros(12, dtype=np.float32), [task.mocap_pos[0, 0].copy()]
    for _ in range(2500):
        env.step(still)
        places.append(task.mocap_pos[0, 0].copy())
    moved = np.diff(places, axis=0)
    speeds = np.linalg.norm(moved[:, free], axis=1) / task.period
    assert speeds.max() <= 0.5 + 1e-9 and np.median(speeds) > 0.2
    low, high = np.array([-0.6, -0.6, 0.3]) + 0.05, np.array([0.6, 0.6, 0.9]) - 0.05
    assert (np.array(places)[:, free] >= low[free]).all() and (np.array(places)[:, free] <= high[free]).all()
    turns = np.flatnonzero(np.linalg.norm(np.diff(np.abs(moved), axis=0), axis=1) > 1e-6) + 1
    assert {500, 1000, 1500, 2000} <= set(turns) | set(turns + 1)


def test_activations_among_obstacles_change_by_at_most_100_a_second() -> None:
    env = make("ElasticaNest")
    env.reset(seed=0)
    task = task_of(env)
    for k in range(1, 10):
        env.step(np.array([1.0, -1.0, 0.3, 0.0], dtype=np.float32))
        limit = min(0.14 * k, 1.0)
        assert task._activation[0] == pytest.approx([limit, -limit, min(limit, 0.3), 0.0], abs=1e-7)


def test_obstacles_of_elastica_are_observed_where_they_are() -> None:
    for name, count, radius in (("ElasticaWall", 8, 0.1), ("ElasticaNest", 12, 0.03)):
        env = make(name)
        observation, _ = env.reset(seed=0)
        ends, found = task_of(env).obstacles()
        assert len(ends) == count and found == radius
        seen = observation[40:].reshape(count, 5, 3)
        assert seen[:, 0] == pytest.approx(ends[:, 0], abs=1e-6) and seen[:, 4] == pytest.approx(ends[:, 1], abs=1e-6)
        assert seen[:, 2] == pytest.approx(ends.mean(axis=1), abs=1e-6)


def test_muscles_take_the_tip_to_a_target_and_stay() -> None:
    env = make("ElasticaTrack")
    observation, _ = env.reset(seed=1)
    task = task_of(env)
    policy, far = baselines.make_policy(env), 0
    for step in range(1500):
        observation, _, _, _, info = env.step(policy(observation))
        far += step >= 700 and info["tip_error"] > 0.05
    assert far == 0 and task.steps == 7142


def test_shapes_of_a_plan_are_those_of_the_simulation_at_rest() -> None:
    """In space, where the couples turn with the rod; the tip bends by 40 degrees."""
    env = make("ElasticaNest")
    env.reset(seed=0)
    task = task_of(env)
    activations = np.array([[0.02, -0.015, 0.025, 0.01]])
    for _ in range(2500):
        env.step(activations[0].astype(np.float32))
    expected = muscle_plan._Kinematics(task).shapes(activations)[0]
    points = task.sensors[0, :30].reshape(10, 3)
    assert points == pytest.approx(expected[1::2], abs=2e-3)
    assert np.abs(points[-1] - [0.0, 0.0, 1.0]).max() > 0.1


def test_a_motion_passes_its_waypoints_at_their_times() -> None:
    motion = np.array([[[0.2, -0.4, 0.5], [0.6, 0.0, 0.25]]])  # two activations and the duration
    for time, expected in (
        (0.0, [0, 0]),
        (0.25, [0.1, -0.2]),
        (0.5, [0.2, -0.4]),
        (0.625, [0.4, -0.2]),
        (2.0, [0.6, 0]),
    ):
        assert muscle_plan._at(motion, time)[0] == pytest.approx(expected, abs=1e-12)


def test_kinematics_of_the_planar_arm_are_those_of_the_simulation() -> None:
    env = make("PlanarReach")
    observation, _ = env.reset(seed=0)
    for _ in range(60):
        observation = env.step(np.array([0.4, -0.2, 0.6, 0.1], dtype=np.float32))[0]
    assert hinges(observation[None, 4:8].astype(float))[0, -1] == pytest.approx(observation[8:10], abs=2e-3)


@pytest.mark.parametrize("name", ["PlanarReach", "PlanarReachPost"])
def test_the_planar_arm_reaches(name: str) -> None:
    for seed in range(100, 108):
        _, info = run(name, seed)
        assert info["is_success"], seed


def test_the_planar_arm_pushes_most_blocks_to_their_targets() -> None:
    """14 of 16 were, with seeds 0 to 15."""
    assert sum(run("PlanarPush", seed)[1]["is_success"] for seed in range(16)) >= 12


def test_the_snake_runs() -> None:
    total, info = run("SnakeRun", 5)
    assert info["is_success"] and total > 15.0  # 10 for a meter


def test_the_leaderboard_replaces_its_rows_and_keeps_the_others(tmp_path: Path) -> None:
    page = tmp_path / "tasks.md"
    page.write_text((REPOSITORY / "docs/results/tasks.md").read_text())
    command = [sys.executable, str(REPOSITORY / "bench/tasks"), "--only", "PlanarReach", "--rate", "0.05", "--write"]
    subprocess.run([*command, str(page), "--episodes", "3"], check=True, timeout=60)

    def rows(text: str) -> dict[str, list[str]]:
        cells = ([cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line[:3] == "| `")
        return {row[0]: row for row in cells}

    before, after = rows((REPOSITORY / "docs/results/tasks.md").read_text()), rows(page.read_text())
    row = after.pop("`PlanarReach-v0`")
    before.pop("`PlanarReach-v0`", None)
    assert after == before
    returns = [run("PlanarReach", seed)[0] for seed in (1000, 1001, 1002)]
    assert row[2].split()[0] == f"{np.mean(returns):.4g}" and row[3] == f"{min(returns):.4g}"
    assert row[4:7] == ["-", "1000 to 1002", "3 of 3"]
    page.write_text(page.read_text().replace("| - | 1000 to 1002 |", "| -5 | 1000 to 1002 |"))
    subprocess.run([*command, str(page), "--episodes", "1"], check=True, timeout=60)
    assert rows(page.read_text())["`PlanarReach-v0`"][4:6] == ["-5", "1000"]
