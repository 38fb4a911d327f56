"""Laws of sections whose kinematics the user gives."""

import pickle
from typing import Any

import numpy as np
import pytest

import tendril as td

LENGTH, LIMIT = 0.1, np.radians(100.0)  # m, rad
PARTS, WEIGHTS = (np.polynomial.legendre.leggauss(20) + np.array([[1], [0]])) / 2  # of the length
TABLE_ERROR = 1e-6  # m, rad: of cubics between 41 rows, for three sections


def measured(bend: float, extension: float = 0.0) -> tuple[float, float, float]:
    """The measured section, not an arc: its tangent turns by less than the bend and faster near the base. The pose is
    the integral of the tangent along the backbone, by Gauss's rule."""
    tangent = bend * (1 - 0.1 * bend) * (PARTS + 0.2 * np.sin(np.pi * PARTS))
    x, z = (LENGTH * WEIGHTS) @ np.array([np.sin(tangent), np.cos(tangent)]).T
    return x, z, bend * (1 - 0.1 * bend)


def inverse(x: float, z: float) -> tuple[float, float]:
    """By bisection of the chord angle."""
    low, high = 0.0, LIMIT
    for _ in range(50):
        middle = (low + high) / 2
        end = measured(middle)
        low, high = (middle, high) if np.arctan2(end[0], end[1]) < np.arctan2(x, z) else (low, middle)
    return low, 0.0


def poses(rows: int = 41) -> Any:
    table = np.array([(bend, *measured(bend)) for bend in np.linspace(0.0, LIMIT, rows)])
    table[0, 1] = 0.0
    return table


def arm() -> td.ContinuumRobot:
    return td.ContinuumRobot([td.Section(length=LENGTH, bend_limit=LIMIT)] * 3)


def tip_pose(states: Any) -> Any:
    """Of three measured sections, as a product of elementary rotations."""
    pose = np.eye(4)
    for bend, phi, _ in states:
        x, z, tangent = measured(bend)
        about_z, about_y, shift = np.eye(4), np.eye(4), np.eye(4)
        about_z[:2, :2] = [[np.cos(phi), -np.sin(phi)], [np.sin(phi), np.cos(phi)]]
        about_y[0, [0, 2]], about_y[2, [0, 2]] = (
            [np.cos(tangent), np.sin(tangent)],
            [-np.sin(tangent), np.cos(tangent)],
        )
        shift[[0, 2], 3] = x, z
        pose = pose @ about_z @ shift @ about_y @ about_z.T
    return pose


def solver(section_map: td.SectionMap, **options: Any) -> td.Solver:
    return td.Solver(arm(), "fabrikx", section_maps=[section_map] * 3, **options)


def test_a_table_of_measured_poses_has_its_rows() -> None:
    section = td.SectionMap.from_poses(poses())
    for bend, *end in poses():
        assert np.allclose(section.end(bend), end, rtol=0, atol=1e-12)
    for bend in np.linspace(0, LIMIT, 300):
        assert np.allclose(section.end(bend), measured(bend), rtol=0, atol=TABLE_ERROR)


def test_sections_of_measured_poses_meet_their_targets() -> None:
    states = arm().random_states(500, 3)
    targets = np.array([tip_pose(state) for state in states])[:, :3, 3]
    result = solver(td.SectionMap.from_poses(poses())).solve(targets)
    tips = np.array([tip_pose(state) for state in result.states])
    errors = np.linalg.norm(tips[:, :3, 3] - targets, axis=-1)
    assert np.allclose(errors, result.position_error, rtol=0, atol=TABLE_ERROR)
    assert (errors[result.converged] < 1e-5 + TABLE_ERROR).all()
    assert arm().within_limits(result.states).all()
    assert result.converged.mean() > 0.9  # measured 0.932
    # The solutions of arcs miss.
    arcs = td.Solver(arm(), "fabrikx").solve(targets)
    wrong = np.array([tip_pose(state) for state in arcs.states])[:, :3, 3]
    assert np.linalg.norm(wrong - targets, axis=-1).min() > 1e-4


@pytest.mark.parametrize("functions", [(measured,), (measured, inverse)])
def test_functions_have_the_solutions_of_their_table(functions: Any) -> None:
    states = arm().random_states(12, 3)
    targets = np.array([tip_pose(state) for state in states])
    by_functions, by_table = (
        solver(section, max_iterations=20).solve(targets)
        for section in (td.SectionMap(*functions), td.SectionMap.from_poses(poses()))
    )
    assert np.array_equal(by_functions.status, by_table.status)
    both = by_functions.converged & by_table.converged
    assert both.sum() >= 6
    assert np.allclose(by_functions.states[both], by_table.states[both], rtol=0, atol=1e-3)  # of directions too


def test_sections_without_a_map_keep_their_arcs() -> None:
    robot = arm()
    targets = robot.tip_pose(robot.random_states(50, 4))
    plain = td.Solver(robot, "fabrikx").solve(targets)
    none = td.Solver(robot, "fabrikx", section_maps=[None] * 3).solve(targets)
    assert np.array_equal(none.states, plain.states)


def test_batches_have_the_bits_of_single_calls() -> None:
    targets = np.array([tip_pose(state) for state in arm().random_states(40, 5)])
    ik = solver(td.SectionMap.from_poses(poses()))
    batch = ik.solve(targets, threads=2)
    assert np.array_equal(batch.states, [ik.solve(target).states for target in targets])


class Unplugged(Exception):
    pass


def test_what_a_function_raises_comes_out() -> None:
    calls = [0, 10_000_000]

    def forward(bend: float, extension: float) -> tuple[float, float, float]:
        calls[0] += 1
        if calls[0] > calls[1]:
            raise Unplugged("camera")
        return measured(bend)

    targets = np.array([tip_pose(state) for state in arm().random_states(70, 6)])
    ik = solver(td.SectionMap(forward), max_iterations=5)
    good = ik.solve(targets[0])
    for goals in (targets[0], targets):
        calls[:] = [0, 8]
        with pytest.raises(Unplugged, match="camera"):
            ik.solve(goals, threads=2)
        assert calls[0] == 9  # nothing is called after it
    calls[:] = [0, 10_000_000]
    assert np.array_equal(ik.solve(targets[0]).states, good.states)
    calls[:] = [0, 8]
    with pytest.raises(Unplugged):
        solver(td.SectionMap(forward))
    with pytest.raises(Unplugged):
        td.SectionMap(forward).end(0.5)

    def interrupted(x: float, z: float) -> tuple[float, float]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solver(td.SectionMap(measured, interrupted)).solve(targets)


def test_maps_are_pickled() -> None:
    targets = np.array([tip_pose(state) for state in arm().random_states(2, 7)])
    for section in (td.SectionMap.from_poses(poses(), "measured.csv"), td.SectionMap(measured, inverse)):
        ik = solver(section, max_iterations=10)
        copy = pickle.loads(pickle.dumps(ik))
        assert np.array_equal(copy.solve(targets).states, ik.solve(targets).states)
        assert pickle.loads(pickle.dumps(section)).end(1.0) == section.end(1.0)
    assert repr(td.SectionMap.from_poses(poses(), "measured.csv")) == "<SectionMap of 'measured.csv'>"


def spoiled(row: int, column: int, value: float) -> Any:
    table = poses(5)
    table[row, column] = value
    return table


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: td.SectionMap.from_poses(poses()[:3]), "section table: rows = 3, must be >= 4"),
        (lambda: td.SectionMap.from_poses(poses()[:, :3]), "poses: shape = (41, 3), must be (..., 4)"),
        (
            lambda: td.SectionMap.from_poses(spoiled(2, 1, np.nan), name="measured.csv"),
            "measured.csv: row 3: x = nan m, must be finite",
        ),
        (
            lambda: td.SectionMap.from_poses(spoiled(3, 0, 0.5), name="measured.csv"),
            "measured.csv: row 4: theta = 0.5 rad, must be > 0.872665, that of the row before",
        ),
        (lambda: td.SectionMap.from_poses(spoiled(4, 1, 0.0)), "section table: row 5: chord angle = "),
        (lambda: td.SectionMap.from_poses(spoiled(0, 3, 0.1)), "row 1: tangent = 0.1 rad, must be 0: the first row"),
        (lambda: td.SectionMap("measured.csv"), "forward = 'measured.csv', must be a function"),  # type: ignore[arg-type]
        (
            lambda: solver(td.SectionMap(lambda bend, extension: (0.0, 0.1))),
            "forward returned (0.0, 0.1), must return x, z, tangent",
        ),
        (
            lambda: solver(td.SectionMap(lambda bend, extension: (0.0, np.nan, bend))),
            "section 1: forward(0, 0): z = nan m, must be finite",
        ),
        (
            lambda: td.Solver(arm(), "fabrikx", section_maps=[td.SectionMap(measured)]),
            "number of section_maps = 1, must be 3, one for each section, or 0",
        ),
        (
            lambda: td.Solver(arm(), "fabrikx", section_maps=[measured] * 3),  # type: ignore[list-item]
            "must be a SectionMap or None",
        ),
        (
            lambda: td.Solver(arm(), section_maps=[None] * 3),
            "section_maps: must be none: only fabrikx, fabrikx-iterative and fabrikx-polynomial take them",
        ),
        (
            lambda: td.Solver(
                td.ContinuumRobot([td.Section(length=LENGTH, bend_limit=2.0)]),
                "fabrikx",
                section_maps=[td.SectionMap.from_poses(poses())],
            ),
            "section 1: bend limit = 2 rad, must be <= 1.74533, the largest bend of its map",
        ),
        (
            lambda: td.Solver(td.load_robot(td.share / "models/youbot.toml"), section_maps=[td.SectionMap(measured)]),
            "section_maps: must be None: only a ContinuumRobot takes them",
        ),
    ],
)
def test_what_is_wrong_is_told_in_one_line(call: Any, message: str) -> None:
    with pytest.raises(td.ModelError) as error:
        call()
    assert message in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["section-iterative", "section-newton", "section-polynomial"])
def test_single_section_methods(name: str) -> None:
    one = td.ContinuumRobot([td.Section(length=0.05, variable_length=0.05, bend_limit=1.5)], feed_limit=0.1)
    states = one.random_states(200, 8)
    targets = one.tip_pose(states, feed=np.linspace(0, 0.1, 200))[:, :3, 3]
    result = td.Solver(one, name).solve(targets)
    assert result.converged.all() and result.feed.max() > 0.05
    bend, phi, extension = result.states[:, 0].T
    length = 0.05 + extension
    half = np.where(bend > 1e-9, bend / 2, 1e-9)
    chord = length * np.sin(half) / half  # of an arc
    tips = np.stack([chord * np.sin(half) * np.cos(phi), chord * np.sin(half) * np.sin(phi), chord * np.cos(half)], -1)
    tips[:, 2] += result.feed
    assert np.abs(tips - targets).max() < 1.1e-5
    with pytest.raises(td.ModelError, match="number of the robot's sections = 3, must be 1"):
        td.Solver(arm(), name)
