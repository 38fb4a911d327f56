"""The youBot reaches for tool poses."""

import numpy as np

import tendril as td

robot = td.load_robot(td.share / "models/youbot.toml", td.MobileRobot)
solver = td.Solver(robot)
#                    x    y    z    roll pitch yaw
targets = np.array([[1.0, 0.0, 0.3, 0.0, -0.5, 0.0], [0.0, 1.5, 0.4, 0.3, 0.2, 1.0]])
result = solver.solve(targets)
for target, status, state in zip(targets, result.status, result.states, strict=True):
    print(target[:3], status, "platform at", state[:3].round(3), "joints", state[3:].round(3))

assert result.converged.all() and robot.within_limits(result.states).all()
