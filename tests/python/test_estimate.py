"""`tendril estimate`: against the estimator that it steps, and what it refuses."""

import csv

import numpy as np
import pytest

import tendril as td
from tendril._command import run

ARM = """
kind = "continuum"
[[section]]
constant_length = 0.1
bend_limit = 1.5
links = 5
radius = 0.006
mass = 0.02
bending_stiffness = 0.02
[[sensor]]
kind = "bend_encoder"
name = "bend"
[[sensor]]
kind = "tip_tracker"
name = "tracker"
noise = [0.0005, 0.005]
delay = 0.02
"""
STEP = 0.01
TRACKER = [f"tracker_position_{axis}" for axis in "xyz"] + [f"tracker_orientation_{axis}" for axis in "wxyz"]
HEADER = ["t", "bend_s1_y", "bend_s1_x", *TRACKER, "s1_y", "s1_x"]


@pytest.fixture
def arm(tmp_path):
    file = tmp_path / "arm.toml"
    file.write_text(ARM)
    return file


def rows_of(count):
    """Encoders at all times, the tracker at some."""
    robot = td.ContinuumRobot([td.Section(length=0.1, bend_limit=1.5)])
    for k in range(count):
        u, v = 0.5 * np.sin(0.05 * k), 0.3 * np.cos(0.05 * k)
        tip = robot.tip_pose([[np.hypot(u, v), np.arctan2(v, u), 0.0]])
        position = [repr(float(x)) for x in tip[:3, 3]] if k % 4 == 0 else [""] * 3
        yield [
            repr(k * STEP),
            repr(float(u)),
            repr(float(-v)),
            *position,
            "",
            "",
            "",
            "",
            repr(float(u)),
            repr(float(-v)),
        ]


def write(file, rows, header=HEADER):
    with file.open("w", newline="") as out:
        csv.writer(out).writerows([header, *rows])
    return file


def read(file):
    with file.open(newline="") as opened:
        return list(csv.DictReader(opened))


def test_it_steps_the_estimator(arm, tmp_path, capsys):
    rows = list(rows_of(200))
    log, out, plot = write(tmp_path / "log.csv", rows), tmp_path / "shape.csv", tmp_path / "shape.svg"
    assert run("estimate", [str(arm), str(log), "-o", str(out), "--plot", str(plot), "--gravity", "0,0,0"]) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert "200 rows in steps of 10 ms; at the end the deviation of the tip is" in said.err
    assert plot.read_text().startswith("<?xml")
    estimator, robot = td.Estimator(arm, timestep=STEP, gravity=(0, 0, 0)), td.load_robot(arm)
    commands = [0.0, 0.0]
    for row, found in zip(rows, read(out), strict=True):
        numbers = dict(zip(HEADER, row, strict=True))
        readings = {"bend_s1_y": float(numbers["bend_s1_y"]), "bend_s1_x": float(numbers["bend_s1_x"])}
        if numbers["tracker_position_x"]:
            readings["tracker_position"] = [float(numbers[name]) for name in TRACKER[:3]]
        estimator.step(readings, commands)
        commands = [float(numbers["s1_y"]), float(numbers["s1_x"])]
        assert [float(found[name]) for name in ("x", "y", "z")] == estimator.tip[:3, 3].tolist()
        assert [float(found[name]) for name in ("fx", "fy", "fz")] == estimator.force.tolist()
        assert float(found["x_deviation"]) == np.sqrt(estimator.tip_covariance[0, 0])
        state = [float(found[f"{name}_1"]) for name in ("theta", "phi", "s")]
        assert np.array_equal(state, robot.states(estimator.q)[0])


def test_times_make_steps(arm, tmp_path, capsys):
    """Rows of one step count together, steps without a row pass; units are named in the header."""
    rows = list(rows_of(40))
    whole = write(tmp_path / "whole.csv", rows)
    apart = []
    for row in rows:
        early, late = [""] * len(row), list(row)
        early[0], late[0] = repr(1e3 * float(row[0]) - 1), repr(1e3 * float(row[0]) + 1)
        early[1], late[1] = row[1], ""
        apart += [early, late]
    apart[1][1] = rows[0][1]
    split = write(tmp_path / "split.csv", apart[1:], ["t_ms", *HEADER[1:]])  # steps count from the first row
    tables = []
    for log in (whole, split):
        out = tmp_path / f"{log.stem}_shape.csv"
        assert run("estimate", [str(arm), str(log), "-o", str(out), "--timestep", "0.01", "--quiet"]) == 0
        tables.append(read(out))
    assert [float(row["t"]) - 0.001 for row in tables[1]] == pytest.approx([float(row["t"]) for row in tables[0]])
    without_time = [[{**row, "t": ""} for row in table] for table in tables]
    assert without_time[0] == without_time[1]
    silent = write(tmp_path / "silent.csv", [rows[0], *rows[20:]])
    assert run("estimate", [str(arm), str(silent), "--timestep", "0.01", "--quiet"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1 + 21


def test_what_it_tells(arm, tmp_path, capsys):
    rows = [[*row[:3], "note"] for row in rows_of(5)]
    log = write(tmp_path / "log.csv", [[*row[:3], 7] for row in rows], ["t", "bend_s1_y", "bend_s1_x", "lab"])
    assert run("estimate", [str(arm), str(log), "-o", str(tmp_path / "out.csv")]) == 0
    said = capsys.readouterr().err
    assert "of nothing that the robot has: lab [columns-ignored]" in said
    assert "has no column of s1_y, s1_x: commands are taken as 0 [no-commands]" in said
    assert "without tracker_position, tracker_orientation;" in said


@pytest.mark.parametrize(
    ("header", "cells", "what"),
    [
        (HEADER[1:], None, "log.csv:1: column t is missing"),
        (["t", "bend"], [["0", "1"], ["1", "2"]], "log.csv:1: has no column of a reading: did you mean bend_s1_"),
        (["t", "tracker_position_x"], [["0", "1"], ["1", "2"]], "column tracker_position_y is missing: the others of"),
        (["t", "bend_s1_y", "s1_y"], [["0", "0", "1"], ["1", "0", "2"]], "column s1_x is missing: the command"),
        (["t", "bend_s1_y"], [["0", "0"], ["0", "0"]], "log.csv:3: t: 0: must be later than the row before, 0"),
        (["t", "bend_s1_y"], [["", "0"], ["1", "0"]], "log.csv:2: t: is empty"),
        (["t", "bend_s1_y"], [["0", "0"], ["1", "left"]], 'log.csv:3: bend_s1_y: "left": must be a finite number'),
        (["t", "bend_s1_y"], [["0", "0"]], "must have at least two rows"),
        (["t", "bend_s1_y"], [["0", "0"], ["0.01", "0"], ["9000", "0"]], "t: 3 rows in 9000 s make"),
    ],
)
def test_what_it_refuses(arm, tmp_path, capsys, header, cells, what):
    log = write(tmp_path / "log.csv", cells or [row[1:] for row in rows_of(3)], header)
    words = [] if "make" not in what else ["--timestep", "0.01"]
    assert run("estimate", [str(arm), str(log), *words]) == 2
    said = capsys.readouterr()
    assert what in said.err and said.err.count("\n") == 1
    assert said.out == ""


def test_options_are_checked(arm, tmp_path, capsys):
    log = write(tmp_path / "log.csv", list(rows_of(3)))
    for words, what in (
        (["--timestep", "0"], "--timestep: 0: must be in (0, 1] s"),
        (["--gravity", "1,2"], "--gravity: 1,2: must be three numbers"),
        (["--plot", "a.gif"], 'extension: ".gif"'),
        (["-o", str(log)], "log.csv"),
        (["-o", str(tmp_path / "no/out.csv")], "no such folder"),
    ):
        assert run("estimate", [str(arm), str(log), *words]) == 2
        assert what in capsys.readouterr().err
