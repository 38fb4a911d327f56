"""Follow the leader by inverse kinematics on Tendril/Insert-v0: the baseline for what learns."""

import gymnasium
import numpy as np
from numpy.typing import NDArray

import tendril as td

EPISODES, PERIOD = 10, 0.02  # s, of a step
LENGTH, START, END = 0.3, 0.3, 0.62  # m: of the arm; of the tip on the path at the beginning and at the end
STRAIGHT, RADIUS = 0.42, 0.12  # m: of the path, up to its bend of 90 degrees
SPEED, BEND_RATE, FEED_RATE, GAIN = 0.08, 2.0, 0.1, 0.5  # m/s; those of the environment; 1/s

env = gymnasium.make("tendril.envs:Tendril/Insert-v0")
arm = td.ContinuumRobot([td.Section(length=0.1)] * 3)
ik = td.Solver(arm, "auto", position_tolerance=1e-5, max_restarts=0)


def angle_at(place: float) -> float:
    """Returns the angle of the path's tangent against the feed axis, rad."""
    return float(np.clip((place - STRAIGHT) / RADIUS, 0, np.pi / 2))


def pose(place: float, offset: NDArray[np.float64]) -> NDArray[np.float64]:
    """Pose on the path, along its tangent; the path leaves the base along z and bends towards -x."""
    angle = angle_at(place)
    straight_end = max(place - STRAIGHT - RADIUS * np.pi / 2, 0)
    found = np.eye(4)
    found[:3, 0], found[:3, 2] = (np.cos(angle), 0, np.sin(angle)), (-np.sin(angle), 0, np.cos(angle))
    found[:3, 3] = (RADIUS * (np.cos(angle) - 1) - straight_end, 0, min(place, STRAIGHT) + RADIUS * np.sin(angle))
    found[:3, 3] += offset
    return found


def follower(place: float) -> NDArray[np.float64]:
    """States whose sections bend as much as the part of the path that they lie on."""
    angles = np.array([angle_at(place + behind) for behind in (-0.3, -0.2, -0.1, 0.0)])
    return np.stack([np.diff(angles), np.full(3, np.pi), np.zeros(3)], axis=1)


returns, successes, errors, forces, times = [], [], [], [], []
for episode in range(EPISODES):
    observation, info = env.reset(seed=episode)
    place, integral, feed_integral, total, force, steps, over = START, np.zeros(3), 0.0, 0.0, 0.0, 0, False
    while not over:
        tip, ahead, feed, progress = observation[12:15], observation[15:18], observation[18], observation[19]
        # Where the path is: the point to go for is 10 mm ahead of the nearest one.
        known = pose(min(START + progress * (END - START) + 0.01, END), np.zeros(3))[:3, 3]
        offset = tip + ahead - known
        place = min(place + SPEED * PERIOD, END)
        goal = pose(place, offset)
        error, along = goal[:3, 3] - tip, goal[:3, 2]
        integral = np.clip(integral + GAIN * PERIOD * error, -0.01, 0.01)
        integral -= (integral @ along) * along  # along the path it is the feed's
        feed_integral = np.clip(feed_integral + GAIN * PERIOD * (error @ along), -0.01, 0.01)
        goal[:3, 3] += integral - (0, 0, place - LENGTH)  # from the end of the feed
        states = ik.solve(goal, start=follower(place)).states
        bends = (arm.coordinates(states) - observation[:6]) / (BEND_RATE * PERIOD)
        action = np.clip([*bends, (place - LENGTH + feed_integral - feed) / (FEED_RATE * PERIOD)], -1, 1).astype(
            np.float32
        )
        observation, reward, terminated, truncated, info = env.step(action)
        total, force, steps = total + float(reward), max(force, info["wall_force"]), steps + 1
        over = terminated or truncated
    returns.append(total)
    successes.append(info["is_success"])
    errors.append(info["tip_error"])
    forces.append(force)
    times.append(steps * PERIOD)
print(
    f"{sum(successes)} of {EPISODES} inserted, in {np.mean(times):.1f} s on average; mean return "
    f"{np.mean(returns):.2f}, final error "
    f"{1e3 * np.mean(errors):.2f} mm (worst {1e3 * max(errors):.2f} mm), largest wall force {max(forces):.2f} N"
)
