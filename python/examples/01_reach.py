"""Kinematics and inverse kinematics of a continuum arm, without MuJoCo."""

import numpy as np

import tendril as td

arm = td.ContinuumRobot([td.Section(length=0.10), td.Section(length=0.08, bend_limit=2.0)])
solver = td.Solver(arm, position_tolerance=1e-5)

# One target, m, in the base frame.
target = np.array([0.05, 0.02, 0.15])
result = solver.solve(target)
print(f"{result.status}: {result.position_error:.1e} m off after {result.iterations} iterations")
print(arm.tip_pose(result.states))

# Twenty thousand targets, on all cores.
targets = arm.tip_pose(arm.random_states(20_000, rng=1))
results = solver.solve(targets)
print(f"{results.converged.sum()} of {len(targets)} poses reached, at most {results.position_error.max():.1e} m off")

assert result.converged and results.converged.all()
