"""Sidewinding that is steered to the goal on Tendril/SnakeGoal-v0: the baseline for what learns."""

import gymnasium
import numpy as np
from numpy.typing import NDArray

import tendril as td

EPISODES, JOINTS, PERIOD = 10, 16, 0.02  # s, of a step
FREQUENCY, YAW, PITCH, WAVES = 1.0, 0.6, 0.25, 1.25  # Hz, rad; as tendril.gait
LARGEST_RATE, AVERAGED = 6.0, 0.5  # rad/s, s

env = gymnasium.make("tendril.envs:Tendril/SnakeGoal-v0")
snake = td.Snake([0.06] * JOINTS, rear_length=0.06)
number = np.arange(1, JOINTS + 1)
is_yaw = number % 2 == 1
lead = np.where(is_yaw, 0.0, np.pi / 2) - 2 * np.pi * WAVES / JOINTS * number
growing = (2 * number - JOINTS - 1) / JOINTS  # from -1 at the tail to 1 at the head


def bearing(observation: NDArray[np.float32]) -> complex:
    """Direction of the goal, seen from the head, against that from tail to head: a unit number."""
    joints, goal, up = observation[:JOINTS], observation[32:35], observation[35:38]
    frames = snake.frames(joints)
    points = (frames[:, :3, 3] - frames[-1, :3, 3]) @ frames[-1, :3, :3]  # in the head's frame
    along = points[-1] - points[0]
    along = along - (along @ up) * up
    found = complex(goal @ along, goal @ np.cross(up, along))
    return found / max(abs(found), 1e-12)


rewards, arrived, times = [], [], []
for episode in range(EPISODES):
    observation, info = env.reset(seed=episode)
    setpoints, phase, over, steps = observation[:JOINTS].astype(float), 0.0, False, 0
    direction, side, turn, total = bearing(observation), 0.0, 0.0, 0.0
    side_target = 1.0 if direction.imag > 0 else -1.0
    while not over:
        direction += PERIOD / AVERAGED * (bearing(observation) - direction)
        error = np.angle(direction * np.exp(-0.5j * np.pi * side_target))  # it moves to its left or right
        if abs(error) > np.deg2rad(100):
            side_target = -side_target
        turn += np.clip(np.clip(error / np.deg2rad(45), -1, 1) - turn, -0.08, 0.08)
        side += np.clip(side_target - side, -0.08, 0.08)
        phase += 2 * np.pi * FREQUENCY * PERIOD
        wave = np.sin(phase + lead)
        desired = np.where(is_yaw, YAW * wave, PITCH * (side * (1 - abs(turn)) + 1.5 * turn * growing) * wave)
        action = np.clip((desired - setpoints) / (LARGEST_RATE * PERIOD), -1, 1).astype(np.float32)
        setpoints += action * LARGEST_RATE * PERIOD
        observation, reward, terminated, truncated, info = env.step(action)
        total, steps, over = total + float(reward), steps + 1, terminated or truncated
    rewards.append(total)
    arrived.append(info["is_success"])
    times.append(steps * PERIOD)
print(
    f"{sum(arrived)} of {EPISODES} goals reached, in {np.mean(times):.1f} s on average; mean return "
    f"{np.mean(rewards):.2f}"
)
