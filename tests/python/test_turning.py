"""Sections that turn on their base, the roll of the tip, and what is sent to drives; by own kinematics."""

import csv
import io
import pickle
import subprocess
import sys

import numpy as np
import pytest

import tendril as td

SECTION = """[[section]]
constant_length = 0.1
bend_limit = 1.75
rotation = "{rotation}"
"""


def rotation(axis, angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]] if axis == "z" else [[c, 0, s], [0, 1, 0], [-s, 0, c]])


def tip_frame(sections, states, feed=0.0, spin=0.0):
    """The product (2.6) of arcs: rotation and position of the tip; sections: length and whether it turns."""
    R, p = rotation("z", spin), np.array([0.0, 0.0, feed])
    for (length, turns), (theta, phi, _) in zip(sections, states, strict=True):
        R = R @ rotation("z", phi)
        x, z = ((1 - np.cos(theta)) / theta, np.sin(theta) / theta) if theta > 1e-9 else (0.0, 1.0)
        p = p + R @ np.array([length * x, 0, length * z])
        R = R @ rotation("y", theta)
        if not turns:
            R = R @ rotation("z", -phi)
    return R, p


TURNS = [True, False, True]
SECTIONS = [(0.1, turns) for turns in TURNS]


def run_program(*arguments, cwd):
    return subprocess.run(
        [sys.executable, "-m", "tendril", *arguments], cwd=cwd, check=True, capture_output=True, text=True
    )


@pytest.fixture
def robot():
    return td.ContinuumRobot(
        [td.Section(length=0.1, bend_limit=1.75, rotation="turning" if turns else "bending") for turns in TURNS],
        spin=True,
    )


@pytest.fixture
def states():
    random = np.random.default_rng(1)
    return np.stack([random.uniform(0, 1.75, (50, 3)), random.uniform(-3, 3, (50, 3)), np.zeros((50, 3))], axis=2)


def test_poses_are_the_product_of_turns_and_arcs(robot, states):
    spin = np.random.default_rng(2).uniform(-3, 3, 50)
    poses = robot.tip_pose(states, spin=spin)
    ends = robot.section_poses(states, spin=spin)
    line = robot.backbone(states, points=4, spin=spin)
    for k in range(50):
        R, p = tip_frame(SECTIONS, states[k], spin=spin[k])
        np.testing.assert_allclose(poses[k, :3, :3], R, atol=1e-12)
        np.testing.assert_allclose(poses[k, :3, 3], p, atol=1e-12)
        for i in range(3):
            R, p = tip_frame(SECTIONS[: i + 1], states[k, : i + 1], spin=spin[k])
            np.testing.assert_allclose(ends[k, i, :3, :3], R, atol=1e-12)
            np.testing.assert_allclose(line[k, i + 1], p, atol=1e-12)


def test_coordinates_and_states_are_inverse(robot, states):
    again = robot.states(robot.coordinates(states))
    np.testing.assert_allclose(again[..., 0], states[..., 0], atol=1e-12)
    np.testing.assert_allclose(np.exp(1j * again[..., 1]), np.exp(1j * states[..., 1]), atol=1e-9)
    assert robot.sections[0].rotation == "turning"
    assert pickle.loads(pickle.dumps(robot)).sections == robot.sections


def test_a_solution_has_the_turns(robot, states):
    targets = robot.tip_pose(states)
    free = td.Solver(robot).solve(targets)
    assert free.converged.all()
    whole = td.Solver(robot, roll=True).solve(targets)
    assert whole.converged.all()
    for k in range(50):
        R, p = tip_frame(SECTIONS, free.states[k])
        np.testing.assert_allclose(p, targets[k, :3, 3], atol=1.001e-5)
        np.testing.assert_allclose(R[:, 2], targets[k, :3, 2], atol=1.001e-3)
        R, p = tip_frame(SECTIONS, whole.states[k], spin=whole.spin[k])
        np.testing.assert_allclose(p, targets[k, :3, 3], atol=1.001e-5)
        np.testing.assert_allclose(R, targets[k, :3, :3], atol=1.5e-3)


def test_what_cannot_have_a_roll_is_refused(robot):
    with pytest.raises(td.ModelError, match=r'^roll: solver = "fabrikx" meets none, must be auto or levenberg$'):
        td.Solver(robot, "fabrikx", roll=True)
    with pytest.raises(td.ModelError, match=r"^targets: must be poses"):
        td.Solver(robot, roll=True).solve([0.1, 0.0, 0.2])
    with pytest.raises(td.ModelError, match=r"right angles"):
        td.Solver(robot, roll=True).solve(np.diag([-1.0, 1.0, 1.0, 1.0]))
    with pytest.raises(td.ModelError, match=r"must be 'bending' or 'turning'"):
        td.Section(length=0.1, rotation="twisting")


def test_tables_have_turns_rolls_and_drives(tmp_path):
    (tmp_path / "arm.toml").write_text(
        "[base]\nspin = true\n" + "".join(SECTION.format(rotation=r) for r in ("turning", "bending", "turning"))
    )
    state = [(0.9, 0.4, 0.0), (0.7, -1.3, 0.0), (1.1, 2.0, 0.0)]
    R, p = tip_frame(SECTIONS, state, spin=0.6)
    header = ",".join(f"theta_{i},phi_{i},s_{i}" for i in (1, 2, 3)) + ",omega0"
    row = ",".join(f"{value:.17g}" for section in state for value in section) + ",0.6"
    (tmp_path / "states.csv").write_text(f"{header}\n{row}\n")
    poses = run_program("fk", "arm.toml", "states.csv", cwd=tmp_path).stdout
    (pose,) = csv.DictReader(io.StringIO(poses))
    np.testing.assert_allclose([float(pose[name]) for name in ("x", "y", "z")], p, atol=1e-9)
    np.testing.assert_allclose([float(pose[name]) for name in ("zx", "zy", "zz")], R[:, 2], atol=1e-9)

    (tmp_path / "targets.csv").write_text(poses)
    found = run_program("ik", "arm.toml", "targets.csv", "--roll", "--drives", "--quiet", cwd=tmp_path).stdout
    (row,) = csv.DictReader(io.StringIO(found))
    assert row["status"] == "converged"
    solved = [tuple(float(row[f"{name}_{i}"]) for name in ("theta", "phi", "s")) for i in (1, 2, 3)]
    frame, tip = tip_frame(SECTIONS, solved, spin=float(row["omega0"]))
    np.testing.assert_allclose(tip, p, atol=1.001e-5)
    np.testing.assert_allclose(frame, R, atol=1.5e-3)
    assert float(row["drive s1_turn [rad]"]) == pytest.approx(solved[0][1])
    assert float(row["drive s1_y [rad]"]) == pytest.approx(solved[0][0])
    assert float(row["drive s2_x [rad]"]) == pytest.approx(-solved[1][0] * np.sin(solved[1][1]))

    values, held = td.Drives(tmp_path / "arm.toml").values(solved, spin=float(row["omega0"]))
    assert held
    names = td.Drives(tmp_path / "arm.toml").names
    assert values[names.index("s3_turn")] == pytest.approx(solved[2][1])
    (tmp_path / "states.csv").write_text(found)
    assert run_program("fk", "arm.toml", "states.csv", cwd=tmp_path).returncode == 0


def test_sections_that_bend_in_one_plane_do_so():
    planes = ("xz", "yz", "any")
    robot = td.ContinuumRobot([td.Section(length=0.1, bend_limit=2.0, bend_plane=plane) for plane in planes])
    copied = pickle.loads(pickle.dumps(robot.sections[1]))
    assert copied == robot.sections[1]
    assert copied.bend_plane == "yz"
    assert copied != robot.sections[0]
    draw = np.random.default_rng(4)
    theta, phi = draw.uniform(0.1, 1.2, (20, 3)), draw.uniform(-3.0, 3.0, (20, 3))
    phi[:, 0], phi[:, 1] = draw.choice((0.0, np.pi), 20), draw.choice((-0.5, 0.5), 20) * np.pi
    targets = robot.tip_pose(np.stack((theta, phi, np.zeros_like(theta)), axis=-1))[:, :3, 3]
    found = td.Solver(robot).solve(targets)
    assert found.converged.all()
    u, v = (found.states[..., 0] * f(found.states[..., 1]) for f in (np.cos, np.sin))
    np.testing.assert_allclose(u[:, 1], 0.0, atol=1e-12)
    np.testing.assert_allclose(v[:, 0], 0.0, atol=1e-12)
    with pytest.raises(td.ModelError, match=r"must be auto or levenberg for sections that bend in one plane"):
        td.Solver(robot, "fabrikx")
    with pytest.raises(td.ModelError, match=r"must be 'any', 'xz' or 'yz'"):
        td.Section(length=0.1, bend_plane="xy")
    with pytest.raises(td.ModelError, match=r"a section that turns bends in any plane"):
        td.Section(length=0.1, rotation="turning", bend_plane="xz")
