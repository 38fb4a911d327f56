"""Learns Tendril/Reach-v0 by the cross-entropy method: rates of the setpoints that are linear in the tip's error."""

import sys

import numpy as np

from tendril.envs import VectorEnvironment

CANDIDATES, ELITE, STEPS = 16, 4, 60
generations = int(sys.argv[1]) if len(sys.argv) > 1 else 4

envs = VectorEnvironment(
    "Reach", num_envs=CANDIDATES
)  # that of gymnasium.make_vec("tendril.envs:Tendril/Reach-v0", ...)
rng = np.random.default_rng(1)
mean, spread = np.zeros((6, 3)), np.full((6, 3), 4.0)
for generation in range(generations):
    gains = mean + spread * rng.standard_normal((CANDIDATES, 6, 3))
    gains[0] = mean
    total = np.zeros(CANDIDATES)
    observations, info = envs.reset(seed=[generation % 2] * CANDIDATES)  # two targets in turn, the same for all
    for _ in range(STEPS):
        actions = np.einsum("nij,nj->ni", gains, observations[:, 15:18])
        observations, rewards, terminated, truncated, info = envs.step(np.clip(actions, -1, 1).astype(np.float32))
        total += rewards
    best = gains[np.argsort(total)[-ELITE:]]
    mean, spread = best.mean(axis=0), best.std(axis=0) + 0.5
    print(
        f"generation {generation}: mean reward of the best {total.max() / STEPS:.4f}, of the mean "
        f"{total[0] / STEPS:.4f}"
    )
