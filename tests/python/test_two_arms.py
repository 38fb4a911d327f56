"""The box between two arms: its draws, its rewards, the forces on it, and the policy without learning."""

from typing import Any

import gymnasium
import mujoco
import numpy as np
import pytest

from tendril.envs import baselines

WEIGHT = 9.81  # N/kg
HIGHEST_HALF = np.array([0.12, 0.15, 0.10])  # m


def make() -> Any:
    return gymnasium.make("tendril.envs:Tendril/TwoArmBox-v0")


def task_of(env: Any) -> Any:
    return env.unwrapped._simulations.task


def lifted(env: Any, seed: int, friction: float | None = None) -> tuple[Any, dict[str, Any]]:
    """The last observation and info of an episode with the policy without learning."""
    observation, _ = env.reset(seed=seed)
    task = task_of(env)
    if friction is not None:
        task.own["geom_friction"][0, env.unwrapped.model.geom("box").id, 0] = friction
    policy, over = baselines.make_policy(env), False
    while not over:
        observation, _, terminated, over, info = env.step(policy(observation))
        assert not terminated
    return observation, info


def test_a_box_is_one_that_the_compiler_would_make() -> None:
    """Mass, inertia and what follows from them are those of a compiled box of the observed size."""
    env = make()
    seen = []
    for seed in range(8):
        observation, _ = env.reset(seed=seed)
        model = task_of(env).batch.get_model(0)
        box, half = model.body("box"), model.geom("box").size
        assert observation[45:48] == pytest.approx(half, abs=1e-6)
        assert (half <= HIGHEST_HALF).all()  # the bounds of the compiled one hold for it
        spec = mujoco.MjSpec()
        body = spec.worldbody.add_body()
        body.add_freejoint()
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=half, mass=box.mass[0])
        alone = spec.compile()
        assert box.inertia == pytest.approx(alone.body_inertia[1], rel=1e-12)
        assert model.body_invweight0[box.id] == pytest.approx(alone.body_invweight0[1], rel=1e-9)
        seen.append((*half, box.mass[0], *model.geom("box").friction[:1], *observation[24:27]))
    assert (np.ptp(seen, axis=0) > 0.0).all()


def test_rewards_are_those_of_the_observed_state() -> None:
    env = make()
    env.reset(seed=2)
    rng = np.random.default_rng(0)
    for _ in range(150):
        action = rng.uniform(-1, 1, 12).astype(np.float32)
        observation, reward, _, _, info = env.step(action)
        place, x, y, target = (observation[i : i + 3].astype(float) for i in (24, 27, 30, 48))
        tilt = np.arccos(np.clip(np.cross(x, y)[2], -1.0, 1.0))
        assert info["tip_error"] == pytest.approx(np.linalg.norm(target - place), abs=1e-6)
        assert info["angle_error"] == pytest.approx(tilt, abs=1e-3)
        expected = -info["tip_error"] - 0.1 * info["angle_error"] - 0.001 * (action.astype(float) ** 2).sum()
        assert reward == pytest.approx(expected, abs=1e-9)


def test_arms_that_rest_reach_nothing() -> None:
    env = make()
    start, _ = env.reset(seed=4)
    for _ in range(500):
        observation, _, _, over, info = env.step(np.zeros(12, dtype=np.float32))
    assert over and not info["is_success"] and info["grip_force"] == 0.0
    assert observation[24:27] == pytest.approx(start[24:27], abs=1e-3)


def test_a_box_is_lifted_by_its_weight_and_no_more() -> None:
    """At rest in the air, the measured forces of both arms carry it."""
    env = make()
    for seed in (100, 101, 102, 103):
        observation, info = lifted(env, seed)
        assert info["is_success"], seed
        mass = task_of(env).own["body_mass"][0, env.unwrapped.model.body("box").id]
        forces = observation[33:45].reshape(2, 2, 3)[:, 0].sum(axis=0)
        assert forces == pytest.approx([0.0, 0.0, mass * WEIGHT], abs=0.05 * mass * WEIGHT)


def test_without_friction_no_box_is_lifted() -> None:
    _, info = lifted(make(), 100, friction=0.02)
    assert not info["is_success"]


def test_simulations_of_a_vector_have_boxes_of_their_own() -> None:
    envs = gymnasium.make_vec("tendril.envs:Tendril/TwoArmBox-v0", num_envs=3)
    before = envs.reset(seed=0)[0][:, 45:48]
    assert len({tuple(half) for half in before}) == 3
    after = envs.reset(options={"reset_mask": np.array([False, True, False])})[0][:, 45:48]
    assert (after != before).any(axis=1).tolist() == [False, True, False]
