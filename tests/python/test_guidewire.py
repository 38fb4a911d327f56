"""The guidewire in random vessels: routes, rewards, what the image shows, walls, and the policy without learning."""

from typing import Any

import gymnasium
import mujoco
import numpy as np
import pytest

from tendril.envs import VectorEnvironment, baselines
from tendril.envs.vessels import vessels

SHEATH = 0.33  # m, where the vessels begin


def make() -> Any:
    return gymnasium.make("tendril.envs:Tendril/GuidewireArch-v0")


def task_of(env: Any) -> Any:
    return env.unwrapped._simulations.task


def test_lengths_to_the_target_are_those_along_the_centerlines() -> None:
    for seed in (0, 3, 5):
        drawn = vessels(seed)
        assert drawn is not None
        steps = np.linalg.norm(np.diff(drawn.path, axis=0), axis=1)
        remaining = np.append(np.cumsum(steps[::-1])[::-1], 0.0)
        along = [drawn.left[drawn.nearest(place)] for place in drawn.path]
        assert along == pytest.approx(remaining, abs=1e-9)
        goal = drawn.path[-1]
        assert np.linalg.norm(goal - drawn.target) < 1e-5  # the target is on a centerline
        assert (drawn.left >= np.linalg.norm(drawn.points - goal, axis=1) - 1e-9).all()


def test_vessels_are_of_one_layout_and_those_of_their_seed() -> None:
    one, two = vessels(0), vessels(1)
    assert one is not None and two is not None
    for size in ("nq", "nv", "nu", "ngeom", "nbvh", "nsite", "nmesh", "nsensordata"):
        assert getattr(one.model, size) == getattr(two.model, size), size
    assert np.linalg.norm(one.target - two.target) > 1e-3
    vessels.cache_clear()
    again = vessels(0)
    assert again is not None and np.array_equal(again.model.geom_pos, one.model.geom_pos)


def test_rewards_are_those_of_the_way_that_is_left() -> None:
    env = make()
    env.reset(seed=3)
    before = task_of(env)._left[0]
    rng = np.random.default_rng(0)
    for _ in range(25):
        _, reward, _, _, info = env.step(rng.uniform([0, -1], 1, 2).astype(np.float32))
        assert reward == pytest.approx(before - info["path_left"] - 0.005 + info["is_success"], abs=1e-12)
        before = info["path_left"]
    assert before < task_of(env).vessels(0).left[0] - SHEATH


def test_the_image_shows_the_wire_and_the_target_in_its_plane() -> None:
    env = make()
    observation, _ = env.reset(seed=5)
    task = task_of(env)
    assert observation[[0, 2, 4]] == pytest.approx([0.3, 0.3 - 0.5 * 0.02, 0.3 - 0.02], abs=3e-3)  # straight on x
    action = np.array([1.0, -0.5], dtype=np.float32)
    for _ in range(20):
        observation, *_, info = env.step(action)
    tip, target = observation[:2], observation[6:8]
    plane = task.vessels(0).plane
    assert plane @ plane.T == pytest.approx(np.eye(2), abs=1e-12)
    hidden = np.cross(*plane) @ (task.mocap_pos[0, 0] - task.sensors[0, :3])
    assert np.hypot(np.linalg.norm(target - tip), hidden) == pytest.approx(info["tip_error"], abs=1e-6)
    assert observation[8:] == pytest.approx(action)


def test_a_wire_at_rest_reaches_nothing_and_one_that_is_withdrawn_is_back() -> None:
    env = make()
    start, _ = env.reset(seed=4)
    for _ in range(10):
        observation, reward, terminated, _, info = env.step(np.zeros(2, dtype=np.float32))
        assert reward == pytest.approx(-0.005, abs=1e-12) and not terminated
    assert observation[:6] == pytest.approx(start[:6], abs=2e-3)
    for feed, steps in ((1.0, 12), (-1.0, 14)):
        for _ in range(steps):
            observation = env.step(np.array([feed, 0.0], dtype=np.float32))[0]
        assert (observation[0] > 0.34) == (feed > 0)
    assert observation[0] == pytest.approx(0.3, abs=3e-3)


def test_the_policy_of_a_simulation_in_a_vector_is_that_of_its_episode() -> None:
    vector = VectorEnvironment("GuidewireArch", 2)
    seen, _ = vector.reset(seed=100)
    for row in (0, 1):
        env = make()
        observation, _ = env.reset(seed=100 + row)
        assert (seen[row] == observation).all()
        ours, meant = baselines.make_policy(vector, row=row), baselines.make_policy(env)
        for _ in range(3):
            action = meant(observation)
            assert (ours(seen[row]) == action).all() and np.abs(action).max() > 0.0
    vector.close()


def test_the_policy_reaches_targets_and_the_wire_stays_in_the_vessels() -> None:
    env, reached = make(), 0
    for seed in range(100, 104):
        observation, _ = env.reset(seed=seed)
        policy, over = baselines.make_policy(env), False
        while not over:
            observation, _, terminated, truncated, info = env.step(policy(observation))
            over = terminated or truncated
        reached += info["is_success"]
        assert terminated == info["is_success"] == (info["tip_error"] < 0.005)
        task = task_of(env)
        drawn, data = task.vessels(0), task.batch.get_data(0)
        mujoco.mj_kinematics(drawn.model, data)
        wire = [i for i in range(drawn.model.nbody) if drawn.model.body(i).name.startswith("wire_")]
        inside = data.xpos[wire][data.xpos[wire, 0] > SHEATH]
        to_lines = np.linalg.norm(inside[:, None] - drawn.points, axis=2)
        assert len(inside) > 3
        assert (to_lines - drawn.radii).min(axis=1).max() < 1e-3
    assert reached >= 3
