"""Inverse kinematics with integral action on Tendril/Reach-v0: the baseline for what learns."""

import gymnasium
import numpy as np

import tendril as td

EPISODES, GAIN, LARGEST_RATE = 10, 5.0, 2.0  # 1/s, rad/s

env = gymnasium.make("tendril.envs:Tendril/Reach-v0")
arm = td.ContinuumRobot([td.Section(length=0.1)] * 3)
ik = td.Solver(arm, "auto", position_tolerance=1e-5, max_restarts=0)
rewards, errors = [], []
for episode in range(EPISODES):
    observation, info = env.reset(seed=episode)
    states, integral, over = arm.straight, np.zeros(3), False
    while not over:
        setpoints, tip, error = observation[:6], observation[12:15], observation[15:18]
        integral = np.clip(integral + GAIN * 0.02 * error, -0.05, 0.05)
        states = ik.solve(tip + error + integral, start=states).states
        action = (arm.coordinates(states) - setpoints) / (LARGEST_RATE * 0.02)
        observation, reward, terminated, truncated, info = env.step(np.clip(action, -1, 1).astype(np.float32))
        rewards.append(float(reward))
        over = terminated or truncated
    errors.append(info["tip_error"])
print(
    f"mean reward {np.mean(rewards):.4f}, final error {1e3 * np.mean(errors):.3f} mm (worst {1e3 * max(errors):.3f} mm)"
)
