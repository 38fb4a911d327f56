"""An arm from a robot file follows a circle: every solution starts from the last one."""

import numpy as np

import tendril as td

arm = td.load_robot(td.share / "models/arm_3x10.toml", td.ContinuumRobot)
solver = td.Solver(arm, max_restarts=0)  # remains near the start

angles = np.linspace(0, 2 * np.pi, 200)
circle = np.stack([0.1 * np.cos(angles), 0.1 * np.sin(angles), np.full_like(angles, 0.22)], axis=-1)
states = solver.solve(circle[0]).states
steps = []
for point in circle:
    result = solver.solve(point, states)
    steps.append(np.abs(arm.coordinates(result.states) - arm.coordinates(states)).max())
    states = result.states
    assert result.converged
print(f"largest change of a bend: {max(steps):.3f} rad a step")
print("middle of the last shape, m:", arm.backbone(states, points=3)[1])
