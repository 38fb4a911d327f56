"""The tasks of DisMech-RL: their draws, rewards and statics, and the policies without learning."""

from typing import Any

import gymnasium
import mujoco
import numpy as np
import pytest

import tendril.envs
from tendril.envs import baselines
from tendril.envs.tasks import TASKS

NAMES = ["DisMechFollow", "DisMech4D", "DisMechObstacles2D", "DisMechObstacles3D"]


def make(name: str) -> Any:
    return gymnasium.make(f"tendril.envs:Tendril/{name}-v0").unwrapped


def run(name: str, seed: int) -> tuple[float, Any]:
    """Return of the policy, and its environment."""
    env = make(name)
    observation, _ = env.reset(seed=seed)
    policy = baselines.make_policy(env, seed)
    total, over = 0.0, False
    while not over:
        observation, reward, terminated, truncated, _ = env.step(policy(observation))
        total += reward
        over = terminated or truncated
    return total, env


@pytest.mark.parametrize("name", NAMES)
def test_the_rod_has_the_published_length_mass_and_stiffness(name: str) -> None:
    env = make(name)
    observation, _ = env.reset(seed=0)
    dimensions = 2 if name == "DisMechObstacles2D" else 3
    heights = observation[: 10 * dimensions].reshape(10, dimensions)[:, -1]
    assert heights == pytest.approx(np.linspace(0.1, 1.0, 10))
    model = env.model
    assert model.body("rod_base").subtreemass[0] == pytest.approx(1000 * np.pi * 0.05**2)
    bends = [model.joint(f"rod_s{s}_l{i}_y").stiffness[0] for s in range(1, 6) for i in range(1, 5)]
    assert np.sum(1 / np.array(bends)) == pytest.approx(1.0 / (10e6 * np.pi / 4 * 0.05**4))  # L / EI
    if name == "DisMech4D":
        twists = [model.joint(f"rod_s{s}_l{i}_twist").stiffness[0] for s in range(1, 6) for i in range(1, 5)]
        assert np.sum(1 / np.array(twists)) == pytest.approx(1.5 / (10e6 * np.pi / 4 * 0.05**4))  # L / GJ
        gains = [model.actuator(f"twist_{s}").gainprm[0] for s in range(1, 6)]
        assert gains == pytest.approx(np.array(twists[::4]) / 4)  # holds a twist, spread over four hinges


@pytest.mark.parametrize("name", NAMES)
def test_actions_move_natural_bends_within_their_limits(name: str) -> None:
    env = make(name)
    env.reset(seed=0)
    task = env._simulations.task
    generator = np.random.default_rng(0)
    twists = slice(10, None) if name == "DisMech4D" else slice(0, 0)
    limits = np.full(task.actions, 2.0)
    limits[twists] = np.pi / 2
    expected = np.zeros(task.actions)
    for _ in range(20):
        action = generator.uniform(-1, 1, task.actions).astype(np.float32)
        expected = np.clip(expected + task.scale * action.astype(float), -limits, limits)
        env.step(action)
        assert task.setpoints(slice(None))[0] == pytest.approx(expected)


def test_positive_actions_bend_along_the_axes_of_the_rod() -> None:
    """Which lie along -x and -y of the world."""
    for number, direction in ((8, [-1, 0]), (9, [0, -1])):
        env = make("DisMechFollow")
        observation, _ = env.reset(seed=0)
        action = np.zeros(10, dtype=np.float32)
        action[number] = 1.0
        for _ in range(20):
            observation = env.step(action)[0]
        tip = observation[27:29]
        assert tip @ direction > 0.05 and tip @ direction == pytest.approx(np.linalg.norm(tip))


@pytest.mark.parametrize("seed", range(3))
def test_the_rod_rests_in_a_shape_whose_weight_its_natural_bends_hold(seed: int) -> None:
    """Statics of the chain, against the simulation."""
    generator = np.random.default_rng(seed)
    shape = generator.uniform(-0.7, 0.7, (1, 5, 2))
    natural = baselines._holding(shape).ravel()
    env = make("DisMechFollow")
    observation, _ = env.reset(seed=0)
    now = np.zeros(10)
    for _ in range(150):
        action = np.clip((natural - now) / 0.05, -1, 1).astype(np.float32)
        now = now + 0.05 * action
        observation = env.step(action)[0]
    expected = baselines._chain(shape)[0][0, 2::2]
    assert np.abs(observation[:30].reshape(10, 3) - expected).max() < 0.005  # sections bend evenly only without weight
    assert np.abs(observation[30:60]).max() < 0.001


def test_the_target_moves_evenly_and_stays_near_the_box() -> None:
    env = make("DisMechFollow")
    turns, steps = 0, 0
    for seed in range(4):
        before, _ = env.reset(seed=seed)
        for _ in range(500):
            after = env.step(np.zeros(10, dtype=np.float32))[0]
            assert after[70:73] - before[70:73] == pytest.approx(0.1 * after[73:76], abs=1e-6)
            assert np.linalg.norm(after[73:76]) == pytest.approx(0.5, abs=1e-6)
            assert (np.abs(after[70:72]) <= 0.65).all() and 0.25 <= after[72] <= 0.95
            turns += not np.allclose(np.abs(after[73:76]), np.abs(before[73:76]))
            steps, before = steps + 1, after
    assert 0.015 < turns / steps < 0.035  # 0.025, four standard deviations of 2000 steps being 0.014


def test_rewards_are_the_published_ones() -> None:
    """Of the observation, with the target at set distances from the tip."""
    generator = np.random.default_rng(0)
    for name in NAMES:
        env = make(name)
        env.reset(seed=0)
        task = env._simulations.task
        for distance in (0.01, 0.049, 0.051, 0.099, 0.101, 0.8):
            direction = generator.normal(size=3)
            direction[1] *= name != "DisMechObstacles2D"
            task.mocap_pos[0, 0] = task.sensors[0, 27:30] + distance * direction / np.linalg.norm(direction)
            reward = task.judge(slice(None), np.zeros((1, task.actions)))[0][0]
            bonus = 2.0 if distance < 0.05 else 0.5 if distance < 0.1 else 0.0
            if name != "DisMech4D":
                assert reward == pytest.approx(bonus - distance**2)
                continue
            for turn in (0.05, 0.5, 1.5):  # of the target from the tip, about any axis
                other = np.zeros(4)
                axis = generator.normal(size=3)
                mujoco.mju_axisAngle2Quat(other, axis / np.linalg.norm(axis), turn)
                mujoco.mju_mulQuat(task.mocap_quat[0, 0], task.sensors[0, -4:], other)
                off = np.sin(turn / 2) ** 2
                bonus = 0.0
                if distance < 0.05:
                    bonus = (4.0 if off > 0.1 else 6.0 if off < 0.05 else 4.5) - 2 * off
                elif distance < 0.1:
                    bonus = (1.0 if off > 0.1 else 1.5) - 0.5 * off
                reward = task.judge(slice(None), np.zeros((1, task.actions)))[0][0]
                assert reward == pytest.approx(bonus - distance**2 - 0.5 * off**2)


def test_the_tip_starts_half_a_turn_from_the_middle_of_the_yaws() -> None:
    env = make("DisMech4D")
    for seed in range(10):
        observation, _ = env.reset(seed=seed)
        assert np.abs(observation[60:64]) == pytest.approx([0, 0, 1, 0], abs=1e-6)
        x, y, z, w = observation[82:86]
        assert (x, y) == (0, 0) and np.abs(2 * np.arctan2(z, w)) <= np.pi / 2


def test_obstacles_are_rods_of_one_meter_in_their_region() -> None:
    env = make("DisMechObstacles3D")
    along = np.linspace(0, 1, 101)[:, None]
    for seed in range(10):
        observation, _ = env.reset(seed=seed)
        ends = observation[-48:].reshape(8, 2, 3).astype(float)
        assert np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1) == pytest.approx(np.ones(8))
        assert (ends > np.array([0.3, -0.6, -0.1]) - 1e-6).all() and (ends < np.array([0.6, 0.6, 0.8]) + 1e-6).all()
        points = [start + along * (end - start) for start, end in ends]
        for i in range(8):
            geom = env.model.body(f"obstacle_{i + 1}").geomadr[0]
            assert env.model.geom_size[geom, :2] == pytest.approx([0.03, 0.5])
            for j in range(i):
                distances = np.linalg.norm(points[i][:, None] - points[j], axis=2)
                assert distances.min() > 0.015 - 1e-6  # of samples: not less than the true one


def test_rate_control_returns_more_than_was_learned() -> None:
    assert np.mean([run("DisMechFollow", seed)[0] for seed in range(50, 53)]) > 99
    assert np.mean([run("DisMech4D", seed)[0] for seed in range(50, 56)]) > 197


def test_a_plan_returns_what_its_search_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baselines.Plan, "_IN_SPACE", (2, 1))
    monkeypatch.setattr(baselines.Plan, "_SEARCHES", 1)
    monkeypatch.setattr(baselines.Plan, "_STARTS", 1)
    found: list[float] = []
    returns_of = baselines._returns

    def returns(*arguments: Any) -> Any:
        values = returns_of(*arguments)
        found.append(values.max())
        return values

    monkeypatch.setattr(baselines, "_returns", returns)
    total, _ = run("DisMechObstacles3D", 0)
    assert total == pytest.approx(max(found), abs=1e-9)


def test_other_tasks_have_no_policy_here() -> None:
    with pytest.raises(ValueError, match=r"env: Reach: must be a task that docs/results/tasks\.md lists"):
        baselines.make_policy(make("Reach"))
    assert set(NAMES) < set(TASKS) and tendril.envs.Environment is not None
