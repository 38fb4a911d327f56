"""Laws of inverse kinematics in Python."""

import pickle
import threading
import time
from typing import Any

import numpy as np
import pytest

import tendril as td

ARM_SOLVERS = ["auto", "levenberg", "fabrikx", "fabrikx-iterative", "jacobian", "fabrikc", "chord"]


def arm() -> td.ContinuumRobot:
    return td.load_robot(td.share / "models/arm_3x10.toml", td.ContinuumRobot)


def youbot() -> td.MobileRobot:
    return td.load_robot(td.share / "models/youbot.toml", td.MobileRobot)


def mobile_targets(n: int) -> Any:
    robot = youbot()
    rng = np.random.default_rng(1)
    low, high = robot.joint_limits.T
    states = np.hstack([rng.uniform(-2, 2, (n, 3)), rng.uniform(low, high, (n, len(robot)))])
    poses = robot.tool_pose(states)
    return poses[(poses[:, 2, 3] > 0.05)]


def fields(result: td.IkResult) -> list[Any]:
    return [
        result.states,
        result.converged,
        result.status,
        result.iterations,
        result.position_error,
        result.angle_error,
        result.jumped,
    ]


@pytest.mark.parametrize("name", ARM_SOLVERS)
def test_results_are_honest(name: str) -> None:
    robot = arm()
    targets = robot.tip_pose(robot.random_states(300, 2))
    result = td.Solver(robot, name, position_tolerance=1e-6, angle_tolerance=1e-4).solve(targets)
    tips = robot.tip_pose(result.states)
    errors = np.linalg.norm(tips[:, :3, 3] - targets[:, :3, 3], axis=-1)
    angles = np.linalg.norm(np.cross(tips[:, :3, 2], targets[:, :3, 2]), axis=-1)
    assert np.allclose(result.position_error, errors, atol=1e-12)
    assert np.array_equal(result.converged, result.status == "converged")
    assert (errors[result.converged] <= 1e-6).all() and (angles[result.converged] <= 1e-4).all()
    assert robot.within_limits(result.states[result.converged]).all()
    assert result.converged.any()


def test_every_reachable_target_is_reached() -> None:
    robot = arm()
    poses = robot.tip_pose(robot.random_states(2000, 3))
    assert td.Solver(robot).solve(poses).converged.all()
    positions = td.Solver(robot).solve(poses[:, :3, 3])
    assert positions.converged.all() and (positions.angle_error == 0).all()


@pytest.mark.parametrize("name", ARM_SOLVERS)
def test_batches_have_the_bits_of_single_calls(name: str) -> None:
    robot = arm()
    solver = td.Solver(robot, name)
    targets = robot.tip_pose(robot.random_states(100, 4)) * [[[1], [1], [1], [1]]]
    targets[::7, :3, 3] *= 3  # out of reach
    starts = robot.random_states(100, 5)
    for goals in (targets, targets[:, :3, 3]):
        for start in (None, starts):
            single = [solver.solve(goals[k], None if start is None else start[k]) for k in range(len(goals))]
            for threads in (0, 1, 2, 5):
                batch = solver.solve(goals, start, threads)
                for field, numbers in enumerate(fields(batch)):
                    assert np.array_equal(numbers, [fields(one)[field] for one in single])


@pytest.mark.parametrize("name", ["auto", "fabrik", "closed_form"])
def test_mobile_robots(name: str) -> None:
    robot = youbot()
    solver = td.Solver(robot, name)
    poses = mobile_targets(150)
    batch = solver.solve(poses, threads=2)
    single = [solver.solve(pose) for pose in poses]
    for field, numbers in enumerate(fields(batch)):
        assert np.array_equal(numbers, [fields(one)[field] for one in single])
    tools = robot.tool_pose(batch.states)
    errors = np.linalg.norm(tools[:, :3, 3] - poses[:, :3, 3], axis=-1)
    assert (errors[batch.converged] <= 1e-5).all()
    assert robot.within_limits(batch.states[batch.converged]).all()
    assert batch.converged.mean() > 0.9


def mobile_arm() -> td.MobileArm:
    return td.load_robot(td.share / "scenes/mobile_arm/robot.toml", td.MobileArm)


@pytest.mark.parametrize("task", ["pose", "position"])
def test_an_arm_on_a_platform(task: str) -> None:
    robot = mobile_arm()
    rng = np.random.default_rng(2)
    poses = robot.tip_pose(rng.uniform(-1, 1, (60, 3)), robot.arm.random_states(60, 2))
    poses = poses[poses[:, 2, 3] > 0]
    targets = poses if task == "pose" else poses[:, :3, 3]
    solver = td.Solver(robot)
    batch = solver.solve(targets, threads=2)
    tips = robot.tip_pose(batch.base, batch.states)
    errors = np.linalg.norm(tips[:, :3, 3] - poses[:, :3, 3], axis=-1)
    assert np.allclose(batch.position_error, errors, atol=1e-12)
    assert batch.converged.mean() > 0.9 and (errors[batch.converged] <= 1e-5).all()
    assert robot.arm.within_limits(batch.states).all()
    assert np.linalg.norm(batch.base[:, :2], axis=-1).max() > 0.5  # the platform helps
    for k, target in enumerate(targets):
        one = solver.solve(target)
        assert np.array_equal(one.states, batch.states[k]) and np.array_equal(one.base, batch.base[k])
    # From where it ended there is nothing to do.
    again = solver.solve(targets, batch.states, base=batch.base)
    assert np.array_equal(again.base[batch.converged], batch.base[batch.converged])


def test_the_platform_of_a_mobile_robot_is_part_of_its_state() -> None:
    result = td.Solver(youbot()).solve(mobile_targets(20))
    assert np.array_equal(result.base, result.states[:, :3])
    with pytest.raises(AttributeError):
        _ = td.Solver(arm()).solve([0.1, 0, 0.2]).base


@pytest.mark.parametrize(
    "make",
    [
        lambda: td.Solver(arm(), "levenberg", position_tolerance=1e-7, max_restarts=3),
        lambda: td.Solver(youbot(), "fabrik", max_iterations=7),
        lambda: td.Solver(mobile_arm(), angle_tolerance=0.1),
    ],
)
def test_solvers_are_pickled(make: Any) -> None:
    solver = make()
    copy = pickle.loads(pickle.dumps(solver))
    rng = np.random.default_rng(4)
    poses = np.tile(np.eye(4), (20, 1, 1))
    poses[:, :3, 3] = rng.uniform([-0.2, -0.2, 0], 0.3, (20, 3))
    for mine, theirs in zip(fields(solver.solve(poses)), fields(copy.solve(poses)), strict=True):
        assert np.array_equal(mine, theirs)


def test_leading_axes_are_kept() -> None:
    robot = arm()
    targets = robot.tip_pose(robot.random_states(12, 6))
    flat, folded = td.Solver(robot).solve(targets), td.Solver(robot).solve(targets.reshape(3, 4, 4, 4))
    assert folded.states.shape == (3, 4, 3, 3) and folded.converged.shape == folded.status.shape == (3, 4)
    assert np.array_equal(folded.states.reshape(12, 3, 3), flat.states)
    one = td.Solver(robot).solve(targets[0, :3, 3])
    assert one.states.shape == (3, 3) and one.converged.shape == () and one.status == "converged"
    none = td.Solver(robot).solve(np.empty((0, 3)))
    assert none.states.shape == (0, 3, 3) and none.converged.shape == (0,)


def test_a_start_serves_all_targets() -> None:
    robot = arm()
    targets, start = robot.tip_pose(robot.random_states(50, 7))[:, :3, 3], robot.random_states(1, 8)[0]
    solver = td.Solver(robot)
    assert np.array_equal(solver.solve(targets, start).states, solver.solve(targets, np.tile(start, (50, 1, 1))).states)


def test_targets_that_are_not_finite_have_a_status() -> None:
    targets = np.array([[0.1, 0.0, 0.2], [np.nan, 0, 0], [np.inf, 0, 0]])
    result = td.Solver(arm()).solve(targets)
    assert list(result.status) == ["converged", "invalid_target", "invalid_target"]
    assert np.isinf(result.position_error[1:]).all()
    poses = np.tile(np.eye(4), (2, 1, 1))
    poses[1, 0, 2] = np.nan
    assert td.Solver(arm()).solve(poses).status[1] == "invalid_target"
    assert td.Solver(youbot()).solve([np.nan, 0, 0, 0, 0, 0]).status == "invalid_target"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: td.Solver(arm(), "newton"), 'solver = "newton", must be one of auto, levenberg, fabrikx, '),
        (
            lambda: td.Solver(youbot(), "levenberg"),
            'solver = "levenberg", for a mobile robot must be one of auto, fabrik, closed_form',
        ),
        (lambda: td.Solver(arm(), position_tolerance=0), "position_tolerance = 0"),
        (lambda: td.Solver(arm(), max_iterations=0), "max_iterations = 0, must be >= 1"),
        (lambda: td.Solver(td.Snake([0.1, 0.1])), "must be a ContinuumRobot, a MobileRobot or a MobileArm"),
        (
            lambda: td.Solver(mobile_arm(), "fabrik"),
            'solver = "fabrik", for a continuum arm on a platform must be auto',
        ),
        (lambda: td.Solver(arm()).solve([0.1, 0, 0.2], base=[0, 0, 0]), "base: must be None: only a MobileArm has"),
        (
            lambda: td.Solver(youbot()).solve([1, 0, 0.3, 0, 0, 0], base=[0, 0, 0]),
            "base: must be None: the platform is",
        ),
        (lambda: td.Solver(mobile_arm()).solve([0.1, 0, 0.2], base=[0, 0]), "base: shape = (2,), must be (..., 3)"),
        (lambda: td.Solver(arm()).solve([1, 2]), "targets: last axis = 2, must be (..., 3) or (..., 4, 4)"),
        (lambda: td.Solver(arm()).solve(np.zeros((3, 4))), "targets: last axis = 4, must be (..., 3) or (..., 4, 4)"),
        (lambda: td.Solver(arm()).solve(2 * np.eye(4)), "targets: length of the z axis of pose 0 = 2"),
        (
            lambda: td.Solver(arm()).solve(np.zeros((5, 3)), np.zeros((4, 3, 3))),
            "start: leading axes = (4,), must be () or (5,)",
        ),
        (lambda: td.Solver(arm()).solve(np.zeros((5, 3)), threads=-1), "threads = -1, must be >= 0"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(call: Any, message: str) -> None:
    with pytest.raises(td.ModelError) as error:
        call()
    assert message in str(error.value) and "\n" not in str(error.value)


def test_the_interpreter_lock_is_released() -> None:
    robot = arm()
    targets = robot.tip_pose(robot.random_states(40_000, 9))
    solver = td.Solver(robot)
    running = threading.Event()
    span: list[float] = []

    def work() -> None:
        running.set()
        begin = time.perf_counter()
        solver.solve(targets, threads=1)
        span.extend([begin, time.perf_counter()])

    thread = threading.Thread(target=work)
    thread.start()
    running.wait()
    ticks: list[float] = []
    while thread.is_alive():
        ticks.append(time.perf_counter())
        time.sleep(0)
    thread.join()
    # With the lock held no tick would fall between the beginning and the end, whatever else the machine does.
    assert sum(span[0] < tick < span[1] for tick in ticks) >= 10


def test_one_solver_serves_several_threads() -> None:
    robot = arm()
    solver = td.Solver(robot)
    targets = robot.tip_pose(robot.random_states(2000, 10))
    expected = solver.solve(targets).states
    found = np.empty_like(expected)

    def work(first: int) -> None:
        for k in range(first, len(targets), 4):
            found[k] = solver.solve(targets[k]).states

    threads = [threading.Thread(target=work, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert np.array_equal(found, expected)


def test_a_base_that_feeds_is_solved_for() -> None:
    arm = td.ContinuumRobot([td.Section(length=0.05)] * 3, feed_limit=0.3)
    states = arm.random_states(100, rng=2)
    feed = np.linspace(0.0, 0.3, 100)
    targets = arm.tip_pose(states, feed=feed)
    result = td.Solver(arm).solve(targets)
    assert result.converged.all()
    assert result.feed.shape == (100,) and (result.feed >= 0).all() and (result.feed <= 0.3).all()
    found = arm.tip_pose(result.states, feed=result.feed)
    assert np.abs(found[:, :3, 3] - targets[:, :3, 3]).max() < 1e-5

    one = td.Solver(arm).solve([0.0, 0.0, 0.32])
    assert one.feed >= 0.17 - 1e-5 and one.spin == 0.0
    kept = td.Solver(arm, max_restarts=0).solve(targets[7], start=states[7], feed=feed[7])
    assert kept.iterations == 0 and kept.feed == feed[7]
    spun = td.Solver(arm).solve([0.05, 0.0, 0.2], spin=0.5)
    tip = arm.tip_pose(spun.states, feed=spun.feed, spin=spun.spin)[:3, 3]
    assert spun.spin == 0.5 and np.abs(tip - [0.05, 0.0, 0.2]).max() < 1e-5
    held = pickle.loads(pickle.dumps(td.Solver(arm, feed_base=False))).solve(targets, feed=0.1)
    assert (held.feed == 0.1).all() and not held.converged.all()
    with pytest.raises(td.ModelError, match=r"feed = 0\.4.* must be in \[0, 0\.3"):
        td.Solver(arm).solve([0.0, 0.0, 0.2], feed=0.4)
