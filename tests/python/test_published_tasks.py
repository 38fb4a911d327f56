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


def test_the_policy_of_muscles_without_memory_repeats_itself() -> None:
    env = make("ElasticaTrack")
    first, _ = env.reset(seed=0)
    for remembers in (True, False):
        policy = baselines.make_policy(env, remembers=remembers)
        action, seen = policy(first), first
        for _ in range(20):
            seen = env.step(policy(seen))[0]
        assert (policy(first) == action).all() != remembers
        env.reset(seed=0)


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


HANDS = ["AntipodalGrip", "InHand", "InHandInverted", "PenSpinner"]


@pytest.mark.parametrize(
    ("name", "bend"),
    [
        ("AntipodalGrip", 10 * 25 / 87.4286),  # joints of a section, torque and stiffness of SoMoGym's files
        ("InHand", 10 * 65 / 87.4286),
        ("PenSpinner", 3 * 80 / 87.4286),
    ],
)
def test_the_largest_moment_bends_a_finger_as_published(name: str, bend: float) -> None:
    """Without gravity and contact, a tenth of it bends each section outward by a tenth of the angle."""
    env = make(name)
    env.reset(seed=0)
    task, model = task_of(env), env.unwrapped.model
    action = np.zeros(task.actions, dtype=np.float32)
    action[: len(task.servos)] = [-0.1 * servo.endswith("_y") for servo in task.servos]
    for _ in range(30):
        env.step(action)
    model.opt.gravity[:] = 0.0
    model.geom_contype[:] = model.geom_conaffinity[:] = 0
    data = mujoco.MjData(model)
    data.ctrl[:] = task.ctrl[0]
    mujoco.mj_step(model, data, 2000)
    for section in {servo[:2] for servo in task.servos}:
        joints = [model.joint(i) for i in range(model.njnt)]
        bends = [data.qpos[j.qposadr[0]] for j in joints if j.name.startswith(f"a_{section}") and j.name.endswith("_y")]
        assert sum(bends) == pytest.approx(-0.1 * bend, rel=1e-3)


@pytest.mark.parametrize("name", HANDS)
def test_moments_of_fingers_follow_at_the_published_rate(name: str) -> None:
    env = make(name)
    env.reset(seed=0)
    task = task_of(env)
    action = np.full(task.actions, 0.05, dtype=np.float32)
    rate = {"PenSpinner": 80 / 80}.get(name, 130 / 65) * task.period  # in a step
    for step in range(1, 15):
        env.step(action)
        assert task.moments[0] == pytest.approx(min(0.05, rate * step), abs=1e-7)


def place(env: Any, quaternion: Any, position: Any) -> None:
    """Puts the object of a hand somewhere, at rest."""
    task = task_of(env)
    model, joint = task.model, "object" if task.model.nmocap or task.actions == 8 else "object_x"
    first, speed = 1 + model.joint(joint).qposadr[0], 1 + model.nq + model.joint(joint).dofadr[0]
    origin = [0.0, 0.0, 0.025] if joint == "object_x" else np.zeros(3)
    task.motion[0, first : first + 3] = np.array(position) - origin
    task.motion[0, first + 3 : first + 7] = quaternion
    task.motion[0, speed : speed + 6] = 0.0


def test_the_reward_of_the_antipodal_grip_is_the_published_one() -> None:
    """Ten times the height, less ten times the distances to the nearest links, in units of 50 mm."""
    env = make("AntipodalGrip")
    env.reset(seed=2)
    place(env, [1.0, 0.0, 0.0, 0.0], [0.002, 0.004, 0.08])
    observation, reward, _, _, info = env.step(np.array([0.1, 0.0, 0.0, 0.1, 1.0], dtype=np.float32))
    model, task = env.unwrapped.model, task_of(env)
    data = mujoco.MjData(model)
    data.qpos[:] = task.motion[0, 1 : 1 + model.nq]
    mujoco.mj_forward(model, data)
    object_place = data.body("object").xpos
    nearest = []
    for finger in "ab":
        links = [i for i in range(model.nbody) if model.body(i).name.startswith(f"{finger}_s")]
        nearest.append(min((data.xipos[links] - object_place).tolist(), key=np.linalg.norm))
    expected = 10 * object_place[2] - 10 * sum(np.linalg.norm(nearest, axis=1))
    assert reward == pytest.approx(expected / 0.05, abs=1e-6)
    assert observation[:3] == pytest.approx(object_place, abs=1e-6)
    assert observation[169:173] == pytest.approx(np.array(nearest)[:, 1:].ravel(), abs=1e-6)


def test_the_rewards_of_in_hand_manipulation_are_the_published_ones() -> None:
    for name in ("InHand", "InHandInverted"):
        env = make(name)
        start, _ = env.reset(seed=3)
        task, total = task_of(env), 0.0
        for yaw in (2.5, -2.5, 0.0, 2.0):  # across the seam of angles, and on
            before = total if name == "InHand" else 0.0
            turn = np.array([np.cos(yaw / 2), 0.0, 0.0, np.sin(yaw / 2)])
            place(env, turn, [0.01, -0.004, 0.15])
            observation, reward, _, _, info = env.step(np.zeros(8, dtype=np.float32))
            moved = np.abs(observation[:3] - start[:3]).sum() / 0.05
            change = observation[5] - (start[5] + before)
            total = before + (change + np.pi) % (2 * np.pi) - np.pi
            assert info["turned"] == pytest.approx(total, abs=1e-5) or name == "InHandInverted"
            if name == "InHand":
                assert reward == pytest.approx(100 * total - 10 * moved, abs=1e-3)
                assert observation[-1] == pytest.approx(total, abs=1e-5)
            else:
                tilt = np.abs(observation[3:5] - start[3:5]).sum()
                assert reward == pytest.approx(100 * (observation[5] - start[5]) - tilt - moved, abs=1e-3)
        assert task.observations == {"InHand": 258, "InHandInverted": 257}[name]


def test_a_cube_that_is_lost_ends_the_episode() -> None:
    for name, penalty in (("InHand", 100.0), ("InHandInverted", 0.0)):
        env = make(name)
        start, _ = env.reset(seed=0)
        place(env, [1.0, 0.0, 0.0, 0.0], [0.27, 0.0, 0.1])
        observation, reward, terminated, _, info = env.step(np.zeros(8, dtype=np.float32))
        assert terminated and not info["is_success"]
        factor = {"InHand": 10.0, "InHandInverted": 1.0}[name]
        moved = factor * np.abs(observation[:3] - start[:3]).sum() / 0.05
        assert reward == pytest.approx(-moved - penalty - 100 * start[5], abs=12.0)


def test_the_reward_of_the_pen_is_the_published_one() -> None:
    env = make("PenSpinner")
    env.reset(seed=1)
    place(env, np.array([0.7, -0.1, 0.7, 0.05]) / np.linalg.norm([0.7, -0.1, 0.7, 0.05]), [0.01, -0.02, 0.06])
    observation, reward, _, _, info = env.step(np.zeros(20, dtype=np.float32))
    position, quaternion, goal, goal_quaternion = np.split(observation[:14].astype(float), [3, 7, 10])

    def point(place: Any, orientation: Any, local: list[float]) -> Any:
        turned = np.zeros(3)
        mujoco.mju_rotVecQuat(turned, np.array(local), orientation)
        return place + turned

    errors = [
        np.linalg.norm(point(goal, goal_quaternion, local) - point(position, quaternion, local))
        for local in ([0.0, 0.0125, 0.1125], [0.0, 0.0, -0.1125])
    ]
    apart = min(np.linalg.norm(quaternion - goal_quaternion), np.linalg.norm(quaternion + goal_quaternion))
    expected = -100 * (apart + (sum(errors) + np.linalg.norm(position - goal)) / 0.05)
    assert reward == pytest.approx(expected, abs=1e-3)
    assert info["end_error"] == pytest.approx(max(errors), abs=1e-6)
    inverse, between = quaternion * [1, -1, -1, -1], np.zeros(4)
    mujoco.mju_mulQuat(between, inverse, goal_quaternion)
    assert observation[17:21] == pytest.approx(between, abs=1e-6)
    assert 0.2 <= 2 * np.arctan2(-goal_quaternion[1], goal_quaternion[0]) <= 0.3


@pytest.mark.parametrize("name", HANDS)
def test_without_action_a_hand_does_nothing(name: str) -> None:
    env = make(name)
    start, _ = env.reset(seed=4)
    still = np.zeros(task_of(env).actions, dtype=np.float32)
    for _ in range(300):
        observation, _, terminated, _, info = env.step(still)
    assert not terminated and not info["is_success"]
    assert observation[:3] == pytest.approx(start[:3], abs=3e-3)


@pytest.mark.parametrize("name", HANDS)
def test_hands_succeed(name: str) -> None:
    for seed in range(100, 104):
        assert run(name, seed)[1]["is_success"], seed


def test_a_cube_in_the_hand_turns_more_than_once() -> None:
    assert run("InHand", 100, 600)[1]["turned"] > 2 * np.pi


def test_the_leaderboard_replaces_its_rows_and_keeps_the_others(tmp_path: Path) -> None:
    page = tmp_path / "tasks.md"
    page.write_text((REPOSITORY / "docs/results/tasks.md").read_text())
    command = [sys.executable, str(REPOSITORY / "bench/tasks"), "--only", "PlanarReach", "--rate", "0.05", "--write"]
    subprocess.run([*command, str(page), "--episodes", "3"], check=True, timeout=60)

    def rows(text: str) -> dict[str, list[str]]:
        lines = text[text.index("bench/tasks: begin") : text.index("bench/tasks: end")].splitlines()
        cells = ([cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line[:3] == "| `")
        return {row[0]: row for row in cells}

    before, after = rows((REPOSITORY / "docs/results/tasks.md").read_text()), rows(page.read_text())
    row = after.pop("`PlanarReach-v0`")
    learned = before.pop("`PlanarReach-v0`")[4]
    assert after == before
    returns = [run("PlanarReach", seed)[0] for seed in (1000, 1001, 1002)]
    assert row[2].split()[0] == f"{np.mean(returns):.4g}" and row[3] == f"{min(returns):.4g}"
    assert row[4:7] == [learned, "1000 to 1002", "3 of 3"]

    # A learned policy holds its actions, and changes its own cell alone.
    env, hold = gymnasium.make("Tendril/PlanarReach-v0"), 7
    inputs, outputs = env.observation_space.shape[0], env.action_space.shape[0]
    w = np.random.default_rng(5).normal(scale=0.1, size=(inputs, outputs))
    layer = {"w0": w, "b0": np.zeros(outputs), "hold": hold}
    np.savez(tmp_path / "PlanarReach.npz", mean=np.zeros(inputs), deviation=np.ones(inputs), **layer)
    subprocess.run([*command, str(page), "--episodes", "1", "--learned", str(tmp_path)], check=True, timeout=60)
    observation, _ = env.reset(seed=1000)
    total, over, step, action = 0.0, False, 0, np.zeros(outputs)
    while not over:
        if step % hold == 0:
            action = np.clip(np.clip(observation, -10, 10).astype(np.float32) @ w, -1, 1)
        observation, reward, terminated, truncated, _ = env.step(action)
        total, over, step = total + float(reward), terminated or truncated, step + 1
    assert rows(page.read_text())["`PlanarReach-v0`"] == [*row[:4], f"{total:.4g}", *row[5:]]
