#!/usr/bin/env python3
"""Kinematics, inverse kinematics and planners of two machines' wheels, bit for bit on the same random inputs.

Each of the two interpreters has its wheel installed; one may run in an emulator. A row says how many results differ and
by how much. Results may differ only where functions of the C library do. Kinematics agree within rounding then.
"""

import argparse
import ctypes
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROUNDING = 1e-12  # of results of size 1, as in tests/python/test_kinematics.py
#: Of the C library, and how many arguments they have.
FUNCTIONS = {"sin": 1, "cos": 1, "tan": 1, "asin": 1, "acos": 1, "atan": 1, "atan2": 2}
KINEMATICS = ("tip poses", "Jacobians", "tool poses", "joint positions")
SOLVERS = ("auto", "levenberg", "fabrikx", "fabrikx-iterative", "jacobian", "fabrikc", "chord")
PATHS = 200
ARM = 'kind = "continuum"\n' + 3 * "[[section]]\nconstant_length = 0.1\nbend_limit = 2.0\nradius = 0.006\n"
PATH = """robot = "arm.toml"
margin = 0.002
[[waypoint]]
position = {}
[[obstacle]]
sphere = {{ center = {}, radius = 0.01 }}
"""


def points(rng, n, reach):
    """Points in a ball, uniform. Made without functions of the C library, like all inputs."""
    cube = rng.uniform(-reach, reach, (4 * n, 3))
    return cube[(cube**2).sum(axis=1) < reach**2][:n]


def of_c_library(rng):
    """Its functions that Tendril calls. Python and NumPy have some of their own."""
    library = ctypes.CDLL("libm.so.6")
    numbers = rng.uniform(-1, 1, (20_000, 2))
    for name, count in FUNCTIONS.items():
        function = library[name]
        function.restype, function.argtypes = ctypes.c_double, count * [ctypes.c_double]
        yield name, np.array([function(*row[:count]) for row in numbers])


def of_kinematics(rng):
    import tendril as td

    for name in ("arm_3x10", "arm_mixed"):
        robot = td.load_robot(td.share / f"models/{name}.toml", td.ContinuumRobot)
        states = robot.clamp(rng.uniform([0, -3, 0], [2, 3, 0.05], (5000, len(robot), 3)))
        yield f"tip poses, {name}", robot.tip_pose(states)
        yield f"Jacobians, {name}", robot.tip_jacobian(states)
    robot = td.load_robot(td.share / "models/youbot.toml", td.MobileRobot)
    low, high = robot.joint_limits.T
    states = np.hstack([rng.uniform(-2, 2, (5000, 3)), rng.uniform(low, high, (5000, len(robot)))])
    yield "tool poses, youbot", robot.tool_pose(states)
    robot = td.load_robot(td.share / "models/snake.toml", td.Snake)
    yield "joint positions, snake", robot.points(rng.uniform(-0.5, 0.5, (5000, len(robot))))


def of_solvers(rng):
    import tendril as td

    robot = td.load_robot(td.share / "models/arm_3x10.toml", td.ContinuumRobot)
    targets = points(rng, 1000, 0.9 * robot.max_length)
    for name in SOLVERS:
        result = td.Solver(robot, name).solve(targets)
        yield f"converged, {name}", result.converged
        yield f"states, {name}", result.states
    robot = td.load_robot(td.share / "models/youbot.toml", td.MobileRobot)
    poses = rng.uniform([-2, -2, 0.1, -3, -1, -3], [2, 2, 0.6, 3, 1, 3], (1000, 6))
    result = td.Solver(robot).solve(poses)
    yield "converged, youbot", result.converged
    yield "states, youbot", result.states


def numbers_of(value):
    """All numbers of a plan, one after the other."""
    if isinstance(value, dict):
        return [number for name, item in value.items() if "time" not in name for number in numbers_of(item)]
    if isinstance(value, list):
        return [number for item in value for number in numbers_of(item)]
    return [] if value is None or isinstance(value, str) else [float(value)]


def of_planners(rng):
    import tendril as td

    for file in sorted((td.share / "scenes/plans").glob("case_*.toml")):
        yield f"plan with contact, {file.stem}", np.array(numbers_of(td.plan(file).content))
    goals, obstacles = points(rng, PATHS, 0.25), points(rng, PATHS, 0.2)
    obstacles[:, 0] += np.where(obstacles[:, 0] > 0, 0.04, -0.04)  # beside the straight arm
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "arm.toml").write_text(ARM)
        file, paths = Path(folder, "plan.toml"), []
        for goal, obstacle in zip(goals, obstacles, strict=True):
            file.write_text(PATH.format(goal.tolist(), obstacle.tolist()))
            paths.append(td.plan_path(file))
    yield "waypoints reached, paths", np.array([path.reached for path in paths])
    yield "poses, paths", np.array([len(path.states) for path in paths])
    yield "states at the end, paths", np.array([path.states[-1] for path in paths])


def write(file, seed):
    rng = np.random.default_rng(seed)
    results = {}
    for make in (of_c_library, of_kinematics, of_solvers, of_planners):
        results |= {name: np.asarray(values) for name, values in make(rng)}
    np.savez(file, **results)


def differences(one, other):
    """Of each result that differs: its name, the number of rows, the largest difference. Prints all in a table."""
    found = []
    print(f"| {'result':32} | {'differ':>6} | {'of':>6} | by at most |\n|---|---:|---:|---:|")
    for name in one:
        a, b = one[name], other[name]
        rows, most = len(a), math.inf
        if a.shape == b.shape:
            rows = int((a != b).reshape(len(a), -1).any(axis=1).sum())
            most = np.abs(a.astype(float) - b.astype(float)).max()
        print(f"| {name:32} | {rows:6} | {len(a):6} | {most:10.2g} |")
        found += [(name, most)] if rows else []
    return found


def problems_of(found):
    of_library = {name for name, _ in found} & FUNCTIONS.keys()
    for name, most in found:
        if not of_library:
            yield f"{name}: differ, though no function of the C library does"
        if name.startswith(KINEMATICS) and most > ROUNDING:
            yield f"{name}: differ by {most:.2g}: must be at most {ROUNDING}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python", nargs="*", help="two interpreters, each with a wheel")
    parser.add_argument("--seed", type=int, default=1, help="of the inputs")
    parser.add_argument("--write", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        write(options.write, options.seed)
        return 0
    if len(options.python) != 2:
        parser.error("two interpreters")
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, f"{i}.npz") for i in range(2)]
        for python, file in zip(options.python, files, strict=True):
            subprocess.run([python, __file__, "--write", file, "--seed", str(options.seed)], check=True)
        problems = list(problems_of(differences(*(dict(np.load(file)) for file in files))))
    for problem in problems:
        print(f"machines_test: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
