"""Kinematics and inverse kinematics of worlds on a device, against the library."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tendril as td

wp = pytest.importorskip("warp", reason="warp-lang is not installed")
pytest.importorskip("mujoco_warp", reason="mujoco-warp is not installed")

from tendril.worlds import BatchKinematics  # noqa: E402
from tendril.worlds.kinematics import chain_of, functions  # noqa: E402

wp.config.log_level = wp.LOG_ERROR
DTYPES = [wp.float64, wp.float32]
TOLERANCE = {wp.float64: 1e-12, wp.float32: 1e-6}
LIMIT_SLACK = {wp.float64: 1e-9, wp.float32: 1e-6}  # rad and m
COUNT = 500


def fixed(**more: Any) -> td.Section:
    return td.Section(length=0.1, **more)


ROBOTS: dict[str, td.ContinuumRobot] = {
    "fixed": td.ContinuumRobot([fixed()] * 3),
    "variable": td.ContinuumRobot([td.Section(length=0.05, variable_length=0.05)] * 3),
    "telescopic": td.ContinuumRobot([td.Section(variable_length=0.1, bend_limit=2.0)] * 2),
    "weights": td.ContinuumRobot([fixed(length_weights=[1, 2, 3], angle_weights=[3, 0, 1], bend_limit=6.2)] * 3),
    "planes": td.ContinuumRobot(
        [fixed(bend_plane="yz"), td.Section(length=0.05, variable_length=0.05, bend_plane="xz"), fixed()]
    ),
    "mixed, on a base that feeds and spins": td.ContinuumRobot(
        [
            fixed(length_weights=[2, 1], angle_weights=[1, 4]),
            td.Section(variable_length=0.08),
            td.Section(length=0.02, variable_length=0.06),
        ],
        feed_limit=0.1,
        spin=True,
    ),
}


def poses(robot: td.ContinuumRobot, count: int, seed: int) -> tuple[Any, Any, Any]:
    """Random states, some of them almost straight or straight; feed and spin, 0 where the base has none."""
    states = robot.random_states(count, seed)
    rng = np.random.default_rng(seed)
    states[::2, :, 0] *= 10.0 ** rng.uniform(-12.0, 0.0, (len(states[::2]), len(robot.sections)))
    states[::10, :, 0] = 0.0
    feed = rng.uniform(0.0, 1.0, count) * robot.feed_limit
    spin = rng.uniform(-np.pi, np.pi, count) * robot.spin
    return states, feed, spin


def on_device(value: Any, dtype: Any, **more: Any) -> Any:
    return wp.array(value, dtype=dtype, device="cpu", **more)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ROBOTS)
def test_poses_and_jacobians_are_those_of_the_library(name: str, dtype: Any) -> None:
    robot = ROBOTS[name]
    batch = BatchKinematics(robot, COUNT, "cpu", dtype)
    for seed in range(3):
        states, feed, spin = poses(robot, COUNT, seed)
        given = [on_device(value, dtype) for value in (robot.coordinates(states), feed, spin)]
        tip = robot.tip_pose(states, feed=feed, spin=spin)
        jacobian = robot.tip_jacobian(states, feed=feed, spin=spin)
        assert np.abs(batch.tip_pose(*given).numpy() - tip).max() < TOLERANCE[dtype]
        assert np.abs(batch.jacobian(*given).numpy() - jacobian).max() < TOLERANCE[dtype]


def test_a_kernel_of_a_user_calls_the_functions() -> None:
    robot = ROBOTS["weights"]
    f = functions(wp.float64)

    @wp.kernel(enable_backward=False)
    def ends(chain: f.Chain, q: wp.array2d(dtype=f.dtype), R: wp.array2d(dtype=f.mat33), p: wp.array2d(dtype=f.vec3)):
        world = wp.tid()
        f.end_frames(chain, q[world], f.dtype(0.0), f.dtype(0.0), R[world], p[world])  # feed and spin

    states = poses(robot, COUNT, 1)[0]
    rotations, points = (wp.zeros((COUNT, 4), dtype=kind, device="cpu") for kind in (f.mat33, f.vec3))
    inputs = [chain_of(robot, wp.float64, "cpu"), on_device(robot.coordinates(states), wp.float64), rotations, points]
    wp.launch(ends, COUNT, inputs=inputs, device="cpu")
    expected = robot.section_poses(states)
    assert np.allclose(rotations.numpy()[:, 1:], expected[..., :3, :3], rtol=0.0, atol=1e-12)
    assert np.allclose(points.numpy()[:, 1:], expected[..., :3, 3], rtol=0.0, atol=1e-12)


def gradient(batch: BatchKinematics, call: Callable[..., Any], q: Any, weights: Any) -> Any:
    """Of sum(weights * call(q)) with respect to q, by a tape."""
    coordinates = on_device(q, wp.float64, requires_grad=True)
    with wp.Tape() as tape:
        output = call(batch, coordinates)
    tape.backward(grads={output: on_device(weights, wp.float64)})
    return coordinates.grad.numpy()


@pytest.mark.parametrize("call", ["tip_pose", "jacobian"])
@pytest.mark.parametrize("name", ["weights", "mixed, on a base that feeds and spins"])
def test_a_tape_has_the_gradients_of_central_differences(name: str, call: str) -> None:
    robot = ROBOTS[name]
    q = robot.coordinates(poses(robot, 40, 7)[0])
    function = getattr(BatchKinematics, call)
    batch = BatchKinematics(robot, len(q), "cpu", wp.float64, requires_grad=True)
    weights = np.random.default_rng(7).normal(size=function(batch, on_device(q, wp.float64)).shape)
    taped = gradient(batch, function, q, weights)
    library = {"tip_pose": robot.tip_pose, "jacobian": robot.tip_jacobian}[call]
    step = 1e-5
    for k in range(q.shape[1]):
        change = step * np.eye(q.shape[1])[k]
        difference = library(robot.states(q + change)) - library(robot.states(q - change))
        expected = (weights * difference).sum(axis=(1, 2)) / (2.0 * step)
        assert np.allclose(taped[:, k], expected, rtol=0.0, atol=1e-7)


def solved(robot: td.ContinuumRobot, targets: Any, dtype: Any, **options: Any) -> Any:
    batch = BatchKinematics(robot, len(targets), "cpu", dtype)
    return batch.solve(on_device(targets, dtype), **options)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("name", ROBOTS)
def test_solutions_are_honest(name: str, directed: bool, dtype: Any) -> None:
    robot = ROBOTS[name]
    states, feed = robot.random_states(COUNT, 3), poses(robot, COUNT, 3)[1]
    targets = robot.tip_pose(states, feed=feed)
    found = solved(robot, targets if directed else np.ascontiguousarray(targets[:, :3, 3]), dtype)
    met = found.met.numpy()
    states = robot.states(found.coordinates.numpy().astype(float))
    tips = robot.tip_pose(states, feed=found.feed.numpy().astype(float))
    misses = np.linalg.norm(tips[:, :3, 3] - targets[:, :3, 3], axis=-1)
    turns = np.linalg.norm(np.cross(tips[:, :3, 2], targets[:, :3, 2]), axis=-1)
    assert np.allclose(found.position_error.numpy(), misses, atol=TOLERANCE[dtype])
    assert (misses[met] <= 1e-5 + TOLERANCE[dtype]).all()
    assert robot.within_limits(states, tolerance=LIMIT_SLACK[dtype]).all()
    if directed:
        assert (turns[met] <= 1e-3 + TOLERANCE[dtype]).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_targets_are_met_as_often_as_by_the_library(dtype: Any) -> None:
    met, converged = [], []
    for seed, robot in enumerate(ROBOTS.values()):
        poses_of_tip = robot.tip_pose(robot.random_states(COUNT, seed))
        for targets in (poses_of_tip, np.ascontiguousarray(poses_of_tip[:, :3, 3])):
            met.append(solved(robot, targets, dtype).met.numpy())
            converged.append(td.Solver(robot).solve(targets).converged)
    assert np.mean(met) >= np.mean(converged) - 1e-3


KEEP_PLANES = [name for name in ROBOTS if name != "planes"]  # of others FABRIKx does not


def reached(robot: td.ContinuumRobot, targets: Any, dtype: Any, iterations: int = 300) -> Any:
    batch = BatchKinematics(robot, len(targets), "cpu", dtype, solver="fabrikx")
    return batch.solve(on_device(targets, dtype), iterations=iterations)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("name", KEEP_PLANES)
def test_fabrikx_takes_the_steps_of_the_library(name: str, directed: bool) -> None:
    robot = ROBOTS[name]
    states, feed, _ = poses(robot, COUNT, 3)
    targets = robot.tip_pose(states, feed=feed)
    goals = targets if directed else np.ascontiguousarray(targets[:, :3, 3])
    for iterations in (1, 20):
        found = reached(robot, goals, wp.float64, iterations)
        library = td.Solver(robot, "fabrikx", max_iterations=iterations).solve(goals)
        assert (found.met.numpy() == library.converged).all()
        assert (found.iterations.numpy() == library.iterations).all()
        off = np.abs(found.coordinates.numpy() - robot.coordinates(library.states)).max(axis=1)
        off = np.maximum(off, np.abs(found.feed.numpy() - library.feed))
        # The least miss of a section that is fed is flat: its bend is known to 1e-7 rad, and later ones follow it.
        assert np.quantile(off, 0.85) < 1e-12
        assert robot.feed_limit > 0 or off[library.converged].max() < 1e-12


@pytest.mark.parametrize("dtype", DTYPES)
def test_fabrikx_meets_targets_as_often_as_that_of_the_library(dtype: Any) -> None:
    met, converged = [], []
    for seed, name in enumerate(KEEP_PLANES):
        robot = ROBOTS[name]
        poses_of_tip = robot.tip_pose(robot.random_states(COUNT, seed))
        for targets in (poses_of_tip, np.ascontiguousarray(poses_of_tip[:, :3, 3])):
            found = reached(robot, targets, dtype)
            met.append(found.met.numpy())
            converged.append(td.Solver(robot, "fabrikx").solve(targets).converged)
            states = robot.states(found.coordinates.numpy().astype(float))
            assert robot.within_limits(states, tolerance=LIMIT_SLACK[dtype]).all()
    assert abs(np.sum(met) - np.sum(converged)) <= 1e-3 * np.size(met)


TYPES = {
    "fixed": {"length": 0.05},
    "variable": {"length": 0.025, "variable_length": 0.025},
    "telescopic": {"variable_length": 0.05},
}


@pytest.mark.parametrize("dtype", DTYPES)
def test_published_mixtures_of_sections_are_solved_as_often_as_by_the_library(dtype: Any) -> None:
    """Table 3.9, reduced: 1 um and 1 mrad."""
    tolerances = {"position_tolerance": 1e-6, "angle_tolerance": 1e-3}
    met, converged = [], []
    for k, first in enumerate(TYPES.values()):
        for second in TYPES.values():
            for limit in np.radians([9.0, 45.0, 90.0, 180.0]):
                kinds = [first, second, list(TYPES.values())[k - 1]]
                robot = td.ContinuumRobot([td.Section(bend_limit=limit, **kind) for kind in kinds])
                targets = robot.tip_pose(robot.random_states(60, len(met)))
                met.append(solved(robot, targets, dtype, **tolerances).met.numpy())
                converged.append(td.Solver(robot, **tolerances).solve(targets).converged)
    assert np.mean(met) >= np.mean(converged) - 1e-3


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_world_has_the_same_bits_whatever_the_others_are(dtype: Any) -> None:
    robot = ROBOTS["variable"]
    targets = robot.tip_pose(robot.random_states(COUNT, 5))
    order = np.random.default_rng(5).permutation(COUNT)
    first, again, shuffled = (solved(robot, t, dtype) for t in (targets, targets, targets[order]))
    for field in first._fields:
        bits = getattr(first, field).numpy()
        assert bits.tobytes() == getattr(again, field).numpy().tobytes()
        assert bits[order].tobytes() == getattr(shuffled, field).numpy().tobytes()


def test_a_start_of_a_solve_is_brought_inside_the_limits() -> None:
    robot = ROBOTS["mixed, on a base that feeds and spins"]
    outside = on_device(np.full((COUNT, robot.coordinate_count), 9.0), wp.float32)
    feed = on_device(np.full(COUNT, 9.0), wp.float32)
    targets = robot.tip_pose(robot.random_states(COUNT, 4))
    found = solved(robot, targets, wp.float32, start=outside, feed=feed, iterations=1)
    states = robot.states(found.coordinates.numpy())
    assert robot.within_limits(states, tolerance=LIMIT_SLACK[wp.float32]).all()
    assert found.feed.numpy().max() <= np.float32(robot.feed_limit)


def test_a_solve_from_the_solution_stays_there() -> None:
    robot = ROBOTS["mixed, on a base that feeds and spins"]
    states, feed, spin = (value[:100] for value in poses(robot, COUNT, 6))
    targets = robot.tip_pose(states, feed=feed, spin=spin)
    start, feeds, spins = (on_device(value, wp.float64) for value in (robot.coordinates(states), feed, spin))
    found = solved(robot, targets, wp.float64, start=start, feed=feeds, spin=spins, restarts=0)
    assert found.met.numpy().all() and not found.iterations.numpy().any()
    assert np.array_equal(found.coordinates.numpy(), start.numpy())


def test_targets_out_of_reach_or_not_finite_are_not_met() -> None:
    robot = ROBOTS["fixed"]
    targets = np.array([[0.0, 0.0, 1.0], [np.nan, 0.0, 0.1], [0.0, np.inf, 0.1], [0.0, 0.05, 0.25]])
    for found in (solved(robot, targets, wp.float64), reached(robot, targets, wp.float64)):
        assert found.met.numpy().tolist() == [False, False, False, True]
        assert np.isfinite(found.coordinates.numpy()).all()


def test_the_budget_bounds_the_iterations() -> None:
    robot = ROBOTS["fixed"]
    targets = robot.tip_pose(robot.random_states(COUNT, 8))
    found = solved(robot, targets, wp.float64, iterations=7)
    assert found.iterations.numpy().max() == 7
    assert 0.0 < found.met.numpy().mean() < 1.0


def test_arrays_are_taken_without_a_copy() -> None:
    robot = ROBOTS["fixed"]
    batch = BatchKinematics(robot, 3, "cpu", wp.float64)
    q = robot.coordinates(robot.random_states(3, 9))
    assert np.array_equal(batch.tip_pose(q).numpy(), batch.tip_pose(on_device(q, wp.float64)).numpy())
    solution = batch.solve(batch.tip_pose(q))
    assert solution.met.numpy().all() and solution.coordinates.ptr == batch.solve(batch.tip_pose(q)).coordinates.ptr


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda b: b.tip_pose(np.zeros((2, 6))), r"coordinates: shape = \(2, 6\), must be \(3, 6\)"),
        (lambda b: b.tip_pose(np.zeros((3, 6), np.float32)), "coordinates: dtype = float32, must be float64"),
        (lambda b: b.tip_pose([[0.0] * 6] * 3), "coordinates: type = list, must be an array of Warp or with DLPack"),
        (lambda b: b.solve(np.zeros((3, 4))), r"targets: shape = \(3, 4\), must be \(3, 3\) or \(3, 4, 4\)"),
        (lambda b: b.solve(np.zeros((3, 3)), iterations=0), "iterations = 0, must be >= 1"),
        (lambda b: b.solve(np.zeros((3, 3)), angle_tolerance=0.0), "angle_tolerance = 0.0, must be > 0"),
        (lambda b: BatchKinematics(b.robot, 0), "count = 0, must be >= 1"),
        (lambda b: BatchKinematics(b.robot, 1, dtype=wp.float16), "dtype = .*, must be wp.float32 or wp.float64"),
        (lambda b: BatchKinematics(b.robot, 1, "cpu", solver="chord"), "solver = 'chord', must be auto or fabrikx"),
        (
            lambda _: BatchKinematics(ROBOTS["planes"], 1, "cpu", solver="fabrikx"),
            'solver = "fabrikx": must be auto or levenberg for sections that bend in one plane',
        ),
        (
            lambda _: BatchKinematics(td.ContinuumRobot([fixed(rotation="turning")]), 1, "cpu"),
            "section 1: rotation = 'turning', must be 'bending'",
        ),
    ],
)  # fmt: skip
def test_mistakes_are_named(call: Callable[[BatchKinematics], Any], message: str) -> None:
    with pytest.raises(td.ModelError, match=message):
        call(BatchKinematics(ROBOTS["fixed"], 3, "cpu", wp.float64))
