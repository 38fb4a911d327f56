"""Environments with MuJoCo Warp as the engine, beside those with MuJoCo."""

import numpy as np
import pytest

import tendril as td

wp = pytest.importorskip("warp", reason="warp-lang is not installed")
pytest.importorskip("mujoco_warp", reason="needs warp-lang and mujoco-warp: docs/guide/worlds.md")
pytest.importorskip("gymnasium")

from tendril.envs import VectorEnvironment  # noqa: E402

TOLERANCE = {"Reach": 1e-6, "SnakeGoal": 2e-4}  # of observations of order 1; with contacts more


@pytest.mark.parametrize("task", TOLERANCE)
def test_a_device_gives_the_numbers_of_the_threads(task):
    """Also of episodes that begin again, each at its own time."""
    pair = VectorEnvironment(task, 2, threads=1), VectorEnvironment(task, 2, device="cpu")
    observations = [envs.reset(seed=3)[0] for envs in pair]
    assert observations[0] == pytest.approx(observations[1], abs=TOLERANCE[task])
    rng = np.random.default_rng(0)
    for step in range(6):
        if step == 2:
            for envs in pair:
                envs.reset(options={"reset_mask": np.array([False, True])})
        actions = rng.uniform(-1, 1, pair[0].action_space.shape).astype(np.float32)
        plain, device = (envs.step(actions) for envs in pair)
        assert plain[0] == pytest.approx(device[0], abs=TOLERANCE[task])
        assert plain[1] == pytest.approx(device[1], abs=TOLERANCE[task])
        assert (plain[2] == device[2]).all()
    assert np.ptp(plain[0], axis=0).max() > 0.01  # two episodes


def test_a_diverged_simulation_is_told_and_does_not_stop_the_others():
    envs = VectorEnvironment("Reach", 2, device="cpu")
    envs.reset(seed=0)
    envs._simulations.task.batch.bind("qvel")[0] = np.nan
    _, rewards, terminated, _, infos = envs.step(np.zeros((2, 6), dtype=np.float32))
    assert infos["diverged"].tolist() == terminated.tolist() == [True, False]
    assert rewards[0] == -10


def test_a_reset_of_one_simulation_sends_its_row_alone(monkeypatch):
    envs = VectorEnvironment("Reach", 3, device="cpu")
    envs.reset(seed=0)
    envs.step(np.full((3, 6), 0.5, dtype=np.float32))
    sent, assign = [], wp.array.assign

    def counted(array, numbers):
        sent.append(len(numbers))
        return assign(array, numbers)

    monkeypatch.setattr(wp.array, "assign", counted)
    envs.reset(options={"reset_mask": np.array([False, True, False])})
    assert set(sent) == {1}


def test_a_device_that_is_not_there_is_refused():
    with pytest.raises(td.ModelError, match="device: cuda:77: must be one of "):
        VectorEnvironment("Reach", 1, device="cuda:77")


@pytest.mark.parametrize(("task", "what"), [("TwoArmBox", "geom_size"), ("GuidewireArch", "vessels")])
def test_a_task_whose_simulations_differ_is_refused(task, what):
    with pytest.raises(td.ModelError, match=f"device: cpu: must be None: simulations of this task differ in {what}"):
        VectorEnvironment(task, 1, device="cpu")
