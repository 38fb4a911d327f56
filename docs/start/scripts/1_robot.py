"""1: a robot file, and what can be calculated of the arm that it describes."""

# %% A robot file describes an arm: here two sections of 120 mm.
from pathlib import Path

import numpy as np

import tendril as td

Path("arm.toml").write_text("""
kind = "continuum"
name = "arm"

[[section]]
constant_length = 0.12
bend_limit = 2.0
radius = 0.008
mass = 0.06

[[section]]
constant_length = 0.12
bend_limit = 2.0
radius = 0.008
mass = 0.04
""")
arm = td.load_robot("arm.toml", td.ContinuumRobot)
print(arm)

# %% A state is a bend angle, a direction and an extension for each section: angles in rad, lengths in m.
state = np.array([[0.8, 0.0, 0.0], [0.5, np.pi / 2, 0.0]])
print("tip, m:", arm.tip_pose(state)[:3, 3])
print("middle of the backbone, m:", arm.backbone(state, points=3)[1])

# %% Every function takes a batch, with any leading axes: a thousand states, a thousand poses.
states = arm.random_states(1000, rng=1)
tips = arm.tip_pose(states)[:, :3, 3]
print("the tips lie within", tips.min(axis=0).round(3), "and", tips.max(axis=0).round(3))

# %% Inverse kinematics: states that bring the tip to these points.
found = td.Solver(arm).solve(tips)
print(f"{found.converged.mean():.1%} converged, largest error {found.position_error[found.converged].max():.1e} m")
assert found.converged.all()
assert np.allclose(arm.tip_pose(found.states)[:, :3, 3], tips, atol=1e-5)
