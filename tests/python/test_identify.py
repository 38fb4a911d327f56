"""`tendril identify`: what made the data is found again, within the stated errors; what the data do not tell is
refused."""

import csv
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tendril import ModelError
from tendril.identify import fit as fitting
from tendril.identify.command import Request, run
from tendril.identify.data import Data, Marker, read_table
from tendril.identify.fit import Fit, MotionFit, held_out_rows
from tendril.identify.motions import inputs
from tendril.identify.recordings import read_recording
from tendril.identify.robot_file import RobotFile

PROGRAM = Path(sys.executable).with_name("tendril")
FOLDER = Path(__file__).resolve().parents[2] / "docs/guide/identification"
TRUTH = {"section.1.bending_stiffness": 0.061, "section.2.bending_stiffness": 0.027, "tendon.*.stiffness": 13500.0}
NOISE = 0.0003  # of a coordinate in poses.csv, m

ARM = """kind = "continuum"
[[section]]
constant_length = 0.2
bend_limit = 3.0
links = 4
mass = 0.05
bending_stiffness = 0.04      # of the rod
[[tendon]]
angle = 0.0
distance = 0.01
command = "tension"
max_tension = 20
[[tendon]]
angle = 3.1415926
distance = 0.01
command = "tension"
max_tension = 20
"""
COLUMNS = "tendon_1_N,tendon_2_N,tip_x_mm,tip_y_mm,tip_z_mm"


def tendril(*words: Any, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, *map(str, words)], capture_output=True, text=True, env={**os.environ, **environment}
    )


def test_the_documented_command_finds_what_made_the_poses(tmp_path: Path) -> None:
    out, numbers, image = tmp_path / "fitted.toml", tmp_path / "fit.json", tmp_path / "fit.svg"
    done = tendril(
        "identify",
        FOLDER / "arm.toml",
        FOLDER / "poses.csv",
        "--parameters",
        ",".join(TRUTH),
        "--starts",
        1,
        "-o",
        out,
        "--json",
        numbers,
        "--plot",
        image,
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr and "held out, 8 poses" in done.stdout
    found = json.loads(numbers.read_text())
    for entry in found["parameters"]:
        assert abs(entry["value"] - TRUTH[entry["name"]]) < 4 * entry["standard_error"] < 0.2 * entry["value"]
        assert abs(entry["start"] - TRUTH[entry["name"]]) > 4 * entry["standard_error"]
    noise = NOISE * np.sqrt(3)  # of a point
    assert found["errors_m"]["held_out"]["rms_before"] > 5 * noise
    assert 0.7 * noise < found["errors_m"]["held_out"]["rms_after"] < 1.4 * noise
    before, after = (FOLDER / "arm.toml").read_text().splitlines(), out.read_text().splitlines()
    differing = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
    assert len(differing) == 2 + 6 and all("stiffness" in b for _, b in differing)
    assert all(a.partition("#")[2] == b.partition("#")[2] for a, b in differing)
    assert tendril("model", out, "-o", tmp_path / "arm.xml").returncode == 0
    assert image.read_text().startswith("<?xml")


def test_the_poses_of_the_page_are_those_of_their_script(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, FOLDER / "make_poses.py", tmp_path / "poses.csv"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    tables = [np.loadtxt(folder / "poses.csv", delimiter=",", skiprows=1) for folder in (FOLDER, tmp_path)]
    np.testing.assert_allclose(*tables, atol=0.02)  # mm


def rest(
    tmp_path: Path, pulls: Any, force: Any = None, text: str = ARM, markers: dict[str, Marker] | None = None
) -> tuple[RobotFile, Data]:
    """Poses of an arm under its tendons, without noise."""
    file = tmp_path / "arm.toml"
    file.write_text(text)
    robot = RobotFile(file)
    n = len(pulls)
    markers = markers or {"tip": Marker("tip")}
    none = np.zeros((n, len(markers), 3))
    forces = none.copy()
    forces[:, 0] = 0 if force is None else force  # the first is the tip
    data = Data(
        tmp_path / "poses.csv",
        markers,
        [f"poses.csv:{k + 2}" for k in range(n)],
        np.array(pulls, dtype=float),
        np.tile([0, 0, -9.81], (n, 1)),
        forces,
        none,
        none,
        np.ones(n),
        np.zeros(n, dtype=bool),
    )
    data.measured = Fit(robot, data, [], "none").predict(np.empty(0), range(n), slopes=False).places
    return robot, data


PULLS = [(t, 0) for t in (2, 4, 6, 8)] + [(0, t) for t in (1, 3, 5, 7)]
FORCES = 0.5 * np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [-1, 0, 0], [0, 0, 0], [0.5, 1, 0], [0, -1, 0], [1, 1, -1]])


@pytest.mark.parametrize("align", ["none", "offset", "pose"])
def test_derivatives_are_those_of_the_residuals(tmp_path: Path, align: str) -> None:
    text = ARM.replace("links = 4", "links = 4\npoisson_ratio = 0.3")
    markers = {"tip": Marker("tip"), "half": Marker(None, 0.11, (0.01, 0.0, 0.002))}
    robot, data = rest(tmp_path, PULLS, FORCES, text, markers)
    names = [
        "section.1.bending_stiffness",
        "section.1.constant_length",
        "tendon.*.distance",
        "tendon.1.angle",
        "section.1.mass",
    ]
    fit = Fit(robot, data, [robot.parameter(name, {}) for name in names], align)
    frame = np.array([0.02, 0.01, -0.03, 0.2, -0.1, 0.15])[: fit.frame_count]
    x = np.concatenate((fit.base / fit.scales * 1.02, frame))
    rows = list(range(data.count))
    _, slopes, failed = fit.residuals(x, rows)
    assert not failed.any()
    for i in range(len(x)):
        step = 1e-5 * np.eye(len(x))[i]
        difference = (
            fit.residuals(x + step, rows, slopes=False)[0] - fit.residuals(x - step, rows, slopes=False)[0]
        ) / 2e-5
        np.testing.assert_allclose(slopes[..., i], difference, atol=1e-6)


def test_stated_errors_are_those_of_repeated_measurements(tmp_path: Path) -> None:
    robot, data = rest(tmp_path, PULLS, FORCES)
    parameters = [robot.parameter(name, {}) for name in ("section.*.bending_stiffness", "tendon.*.distance")]
    random = np.random.default_rng(3)
    scores = []
    for _ in range(16):
        noisy = replace(data, measured=data.measured + random.normal(0, 5e-4, data.measured.shape))
        result = fitting.identify(Fit(robot, noisy, parameters, "none"), data.held_out, 1, 0)
        scores.append((result.values - [0.04, 0.01]) / result.errors)
    spread = np.std(scores, axis=0)
    assert (spread > 0.5).all() and (spread < 1.6).all()  # 16 draws of a normal distribution: 1 +- 0.18
    assert np.abs(np.mean(scores, axis=0)).max() < 0.9  # 0 +- 0.25


def fitted(robot: RobotFile, data: Data, held_out: Any = None, align: str = "none", starts: int = 1) -> Any:
    fit = Fit(robot, data, [robot.parameter("section.*.bending_stiffness", {})], align)
    return fitting.identify(fit, data.held_out if held_out is None else np.array(held_out), starts, 0)


def test_what_is_held_out_or_has_no_weight_does_not_count(tmp_path: Path) -> None:
    robot, data = rest(tmp_path, PULLS, FORCES)
    data.measured = data.measured + np.random.default_rng(0).normal(0, 3e-4, data.measured.shape)
    wrong = data.measured.copy()
    wrong[5:] += 0.05
    held_out = np.arange(8) >= 5
    right, spoilt = fitted(robot, data, held_out), fitted(robot, replace(data, measured=wrong), held_out)
    assert right.values == spoilt.values
    assert fitting.rms(spoilt.after[1]) > 0.05 > fitting.rms(right.after[1])
    unweighted = fitted(robot, replace(data, measured=wrong, weight=np.where(held_out, 0.0, 1.0)))
    assert unweighted.values == pytest.approx(right.values, rel=1e-6)


def test_a_frame_that_is_turned_and_shifted_is_found(tmp_path: Path) -> None:
    markers = {"tip": Marker("tip"), "half": Marker(None, 0.11)}
    robot, data = rest(tmp_path, PULLS, FORCES, markers=markers)
    turn, shift = np.array([0.1, -0.3, 0.2]), np.array([0.05, -0.02, 0.01])
    data.measured = data.measured @ fitting.rotation_matrix(turn).T + shift
    result = fitted(robot, data, align="pose")
    np.testing.assert_allclose(result.values, [0.04, *shift, *turn], rtol=1e-4)


def test_a_point_that_was_not_seen_is_left_out(tmp_path: Path) -> None:
    robot, data = rest(tmp_path, PULLS, FORCES)
    data.measured[2] = np.nan
    result = fitted(robot, data, starts=2)
    assert result.values == pytest.approx([0.04], rel=1e-6)
    assert len(result.after[0]) == 7 and len(result.costs) == 2


# ---- refusals -------------------------------------------------------------------------------------------------------


def row(pull: float, tip: str = "20,0,190") -> str:
    return f"{pull},0,{tip}"


GOOD = "\n".join([COLUMNS, *(row(t, f"{10 * t},0,{198 - 4 * t}") for t in range(6))]) + "\n"
STIFFNESS = "section.*.bending_stiffness"


def changed(old: str, new: str) -> Callable[[str], str]:
    def change(text: str) -> str:
        assert old in text
        return text.replace(old, new, 1)

    return change


@pytest.mark.parametrize(
    ("data", "options", "words"),
    [
        (
            GOOD,
            ["--parameters", "section.*.bending_stifness"],
            ["arm.toml: section 1: bending_stifness", "did you mean bending_stiffness?"],
        ),
        (GOOD, ["--parameters", "sectoin.*.radius"], ["--parameters", "did you mean section?"]),
        (GOOD, ["--parameters", "section.2.mass"], ["there are 1 of [[section]]"]),
        (GOOD, ["--parameters", f"{STIFFNESS},{STIFFNESS}"], ["must be named once"]),
        (GOOD, ["--parameters", "section.1.links"], ["links", "must be another key"]),
        (GOOD, ["--parameters", STIFFNESS, "--bounds", f"{STIFFNESS}=1,2"], ["--bounds", "must contain 0.04"]),
        (
            GOOD,
            ["--parameters", STIFFNESS, "--bounds", f"{STIFFNESS}=-1,2"],
            ["--bounds", "[-1, 2]", "bending_stiffness = -1"],
        ),
        (GOOD, ["--parameters", STIFFNESS, "--bounds", "section.*.mass=0.1,2"], ["is not among --parameters"]),
        (GOOD, ["--parameters", STIFFNESS, "--align", "pos"], ["--align: pos: must be one of"]),
        (GOOD, ["--parameters", STIFFNESS, "--held-out", "1"], ["--held-out: 1: must be in [0, 1)"]),
        (GOOD, ["--parameters", STIFFNESS, "--gravity", "0,0"], ["--gravity", "three numbers"]),
        (GOOD, ["--parameters", STIFFNESS, "--json", "none/x.json"], ["none/x.json", "no such folder"]),
        (GOOD, ["--parameters", STIFFNESS, "--plot", "x.gif"], ["x.gif", "must be one of .png, .svg, .pdf"]),
        (
            GOOD,
            ["--parameters", f"{STIFFNESS},section.*.damping_time"],
            ["arm.toml: section 1: damping_time: is not in the file"],
        ),
        (GOOD.replace("tendon_2_N", "tendon_3_N"), [], ["poses.csv:1: column tendon_3: unknown: did you mean tendon_"]),
        (GOOD.replace("tip_z_mm", "tipp_z_mm"), [], ["poses.csv:1: column tipp_x: no such point: did you mean tip?"]),
        ("\n".join(line.partition(",")[2] for line in GOOD.splitlines()), [], ["column tendon_1 is missing"]),
        ("\n".join(line.rpartition(",")[0] for line in GOOD.splitlines()), [], ["column tip_z is missing"]),
        (GOOD.replace("194", "nan"), [], ['poses.csv:3: tip_z_mm: "nan": must be a finite number']),
        (GOOD.replace("194", ""), [], ["poses.csv:3: tip: has some of x, y, z"]),
        (GOOD.replace("\n3,0", "\n,0"), [], ["poses.csv:5: tendon_1: is empty"]),
        (GOOD.replace("194", "194,1"), [], ["poses.csv:3: has 6 cells: must have 5"]),
        (GOOD.replace("_mm", ""), [], ["poses.csv: points are up to", "are they in mm?", "tip_x_mm"]),
        (
            GOOD.replace("\n5,0", "\n5000,0"),
            [],
            ["poses.csv: tendon_1: commands of up to 5000", "1000 times too large?"],
        ),
        (
            "\n".join(GOOD.splitlines()[:2]),
            ["--held-out", "0", "--parameters", f"{STIFFNESS},section.*.mass,tendon.*.distance"],
            ["1 poses to fit, 3 numbers measured: must be more than the 3 unknowns"],
        ),
        (GOOD, ["--gravity", "0,0,0", "--parameters", f"{STIFFNESS},section.*.mass"], ["do not tell section.*.mass"]),
        (
            GOOD,
            ["--gravity", "0,0,0", "--parameters", f"{STIFFNESS},tendon.*.distance"],
            ["do not tell", STIFFNESS, "tendon.*.distance apart: leave one out"],
        ),
        (GOOD.splitlines()[0], [], ["has no rows"]),
        (
            GOOD.replace(COLUMNS, COLUMNS + ",held_out").replace("\n3,0,30,0,186", "\n3,0,30,0,186,2"),
            [],
            ["has 5 cells: must have 6"],
        ),
    ],
    ids=lambda value: "" if isinstance(value, str) else str(value[-1:])[:40],
)
def test_bad_input_is_refused_in_one_line(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    data: str,
    options: list[str],
    words: list[str],
) -> None:
    from tendril._command import run

    monkeypatch.chdir(tmp_path)
    Path("arm.toml").write_text(ARM)
    Path("poses.csv").write_text(data)
    if "--parameters" not in options:
        options = [*options, "--parameters", STIFFNESS]
    assert run("identify", ["arm.toml", "poses.csv", "-o", "fitted.toml", *options]) == 2
    said = capsys.readouterr().err
    assert said.startswith("tendril: ") and said.count("\n") == 1, said
    assert all(word in said for word in words), said
    assert not Path("fitted.toml").exists()


def test_other_robots_and_missing_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "snake.toml").write_text('kind = "snake"\nlink_length = 0.1\n')
    (tmp_path / "poses.csv").write_text(GOOD)
    with pytest.raises(ModelError, match='must be "continuum"'):
        run(Request(tmp_path / "snake.toml", [tmp_path / "poses.csv"], ["section.*.mass"]))
    done = tendril("identify", tmp_path / "none.toml", tmp_path / "poses.csv", "--parameters", "section.*.mass")
    assert done.returncode != 0 and done.stderr.count("\n") == 1 and "none.toml" in done.stderr


def test_a_factor_in_common_keeps_ratios(tmp_path: Path) -> None:
    (tmp_path / "arm.toml").write_text(ARM.replace("distance = 0.01", "distance = [0.01, 0.005]", 1))
    robot = RobotFile(tmp_path / "arm.toml")
    parameters = [
        robot.parameter("tendon.*.distance+section.1.bending_stiffness", {}),
        robot.parameter("tendon.*.angle", {}),
    ]
    document = tomllib.loads(robot.with_values(parameters, np.array([0.02, 0.25])))
    assert [tendon["distance"] for tendon in document["tendon"]] == [[0.02, 0.01], 0.02]
    assert document["section"][0]["bending_stiffness"] == pytest.approx(0.08)
    assert [tendon["angle"] for tendon in document["tendon"]] == pytest.approx([0.25, 3.3915926])


def test_tables_are_read_in_any_unit(tmp_path: Path) -> None:
    with open(tmp_path / "table.csv", "w", newline="") as file:
        csv.writer(file).writerows(
            [["# made by hand"], ["tip_x_mm", "spin_deg", "s1_end_x", "weight"], [12, 180, 0.5, 2]]
        )
    names, values, lines = read_table(tmp_path / "table.csv")
    assert list(names) == ["tip_x", "spin", "s1_end_x", "weight"] and lines == [3]
    np.testing.assert_allclose(values, [[0.012, np.pi, 0.5, 2]])


# ---- motions --------------------------------------------------------------------------------------------------------

MOVED = {
    "section.1.bending_stiffness": 0.061,
    "section.2.bending_stiffness": 0.027,
    "section.*.damping_time": 0.033,
    "tendon.*.stiffness": 13500.0,
    "tendon.*.damping_time": 0.003,
}


def test_the_documented_command_finds_what_made_the_motion(tmp_path: Path) -> None:
    out, numbers, image = tmp_path / "fitted.toml", tmp_path / "fit.json", tmp_path / "fit.svg"
    done = tendril(
        "identify",
        FOLDER / "arm.toml",
        FOLDER / "motion.csv",
        "--timestep",
        0.001,
        "--parameters",
        ",".join(MOVED),
        "--starts",
        1,
        "-o",
        out,
        "--json",
        numbers,
        "--plot",
        image,
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr and "held out, 40 samples" in done.stdout
    found = json.loads(numbers.read_text())
    for entry in found["parameters"]:
        assert abs(entry["value"] - MOVED[entry["name"]]) < 3 * entry["standard_error"] < 0.15 * entry["value"]
        assert abs(entry["start"] - MOVED[entry["name"]]) > 4 * entry["standard_error"]
    noise = NOISE * np.sqrt(3)
    assert found["errors_m"]["held_out"]["rms_before"] > 5 * noise
    assert 0.8 * noise < found["errors_m"]["held_out"]["rms_after"] < 1.2 * noise
    assert tomllib.loads(out.read_text())["section"][0]["damping_time"] == pytest.approx(
        found["parameters"][2]["value"], rel=1e-5
    )
    assert image.read_text().startswith("<?xml")


def test_the_motion_of_the_page_is_that_of_its_script(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, FOLDER / "make_motion.py", tmp_path / "motion.csv"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    tables = [np.loadtxt(folder / "motion.csv", delimiter=",", skiprows=1) for folder in (FOLDER, tmp_path)]
    np.testing.assert_allclose(*tables, atol=0.02)  # mm


SWINGING = ARM.replace("bending_stiffness", "damping_time = 0.03\nbending_stiffness").replace(
    'kind = "continuum"', "timestep = 0.001"
)
LOADED = np.array([0.4, 0.2, -0.1])


def motion(
    tmp_path: Path, rows: int = 80, pulls: Any = None, text: str = SWINGING, load: Any = LOADED, moment: Any = 0
) -> MotionFit:
    """An arm that is let go after 20 ms; with what it does, sampled every 5 ms at its tip and its middle, as
    measured."""
    (tmp_path / "arm.toml").write_text(text)
    robot = RobotFile(tmp_path / "arm.toml")
    time = 0.005 * np.arange(rows)
    forces, moments = np.zeros((2, rows, 2, 3))
    forces[:4, 0], moments[:4, 1] = load, moment
    ctrl = np.zeros((rows, 2)) if pulls is None else np.asarray(pulls, dtype=float)
    data = Data(
        tmp_path / "motion.csv",
        {"tip": Marker("tip"), "half": Marker(None, 0.1, (0.01, 0.0, 0.0))},
        [f"motion.csv:{k + 2}" for k in range(rows)],
        ctrl,
        np.tile([0, 0, -9.81], (rows, 1)),
        forces,
        moments,
        np.zeros((rows, 2, 3)),
        np.ones(rows),
        np.zeros(rows, dtype=bool),
        time,
        np.zeros(rows, dtype=int),
    )
    data.measured = MotionFit(robot, data, [], "none").predict(np.empty(0), range(rows), slopes=False).places
    return MotionFit(robot, data, [], "none")


def test_a_motion_is_that_of_the_engine(tmp_path: Path) -> None:
    import mujoco

    fit = motion(tmp_path, moment=(0.02, 0.05, 0.0), pulls=[(3, 1)] * 30 + [(0, 4)] * 50)
    model = fit.robot.model([], np.empty(0), 0.001)
    data, tip = mujoco.MjData(model), model.site("_tip")
    (_, (body, _)), _ = fitting.points_of(model, fit.data.markers)
    assert model.opt.timestep == 0.001

    def step(count: int, loaded: bool, pulls: tuple[float, float]) -> None:
        for _ in range(count):
            data.ctrl[:] = pulls
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            data.qfrc_applied[:] = 0
            if loaded:
                mujoco.mj_applyFT(
                    model, data, LOADED, np.zeros(3), data.site_xpos[tip.id], int(tip.bodyid[0]), data.qfrc_applied
                )
                mujoco.mj_applyFT(
                    model, data, np.zeros(3), np.array([0.02, 0.05, 0.0]), data.xpos[body], body, data.qfrc_applied
                )
            mujoco.mj_step(model, data)

    step(3000, True, (3, 1))
    assert np.abs(data.qvel).max() < 1e-8
    for row in range(fit.data.count):
        mujoco.mj_kinematics(model, data)
        np.testing.assert_allclose(fit.data.measured[row, 0], data.site_xpos[tip.id], atol=1e-9)
        step(5, row < 4, (3, 1) if row < 30 else (0, 4))
    moved = np.ptp(fit.data.measured[:, 0], axis=0)
    assert moved.max() > 0.03


def test_what_acts_in_a_step_is_the_mean_of_its_rows(tmp_path: Path) -> None:
    fit = motion(tmp_path, rows=8)
    data = replace(
        fit.data,
        time=np.array([0, 0.0025, 0.004, 0.006, 0.01, 0.02, 0.0204, 0.03]),
        ctrl=np.arange(16.0).reshape(8, 2) ** 2,
    )
    assert data.time is not None
    for between in ("hold", "linear"):
        (found,) = inputs(data, range(8), 0.002, between)
        assert found.ctrl.shape == (16, 2) and (found.ctrl[0] == data.ctrl[0]).all()
        fine = (np.arange(15000) + 0.5) * 2e-6
        values = (
            data.ctrl[np.searchsorted(data.time, fine, side="right") - 1]
            if between == "hold"
            else np.stack([np.interp(fine, data.time, column) for column in data.ctrl.T], axis=1)
        )
        if between == "hold":
            means = values.reshape(15, 1000, 2).mean(axis=1)
        else:
            means = values.reshape(15, 1000, 2)[:, 499:501].mean(axis=1)  # at the middle
        np.testing.assert_allclose(found.ctrl[1:], means, rtol=1e-9)
        np.testing.assert_allclose(found.steps, data.time / 0.002)
    (part,) = inputs(data, [2, 4], 0.002, "hold")  # ends with the last row that is asked for
    assert len(part.ctrl) == 1 + 5 and part.rows == [2, 4]


def test_points_between_steps_lie_on_their_way(tmp_path: Path) -> None:
    fit = motion(tmp_path)
    assert fit.data.time is not None
    shifted = replace(fit.data, time=fit.data.time + np.where(np.arange(80) > 5, 0.0004, 0.0))
    between = MotionFit(fit.robot, shifted, [], "none").predict(np.empty(0), range(80), slopes=False).places
    ahead = replace(fit.data, time=fit.data.time + np.where(np.arange(80) > 5, 0.001, 0.0))
    after = MotionFit(fit.robot, ahead, [], "none").predict(np.empty(0), range(80), slopes=False).places
    np.testing.assert_allclose(between[6:], 0.6 * fit.data.measured[6:] + 0.4 * after[6:], atol=1e-12)


def test_several_noises_give_the_truth_within_the_stated_errors(tmp_path: Path) -> None:
    fit = motion(tmp_path, rows=60)
    names = ("section.*.damping_time", "section.*.bending_stiffness")
    parameters = [fit.robot.parameter(name, {}, "samples") for name in names]
    random = np.random.default_rng(1)
    scores = []
    for _ in range(5):
        noisy = replace(fit.data, measured=fit.data.measured + random.normal(0, 5e-4, fit.data.measured.shape))
        result = fitting.identify(MotionFit(fit.robot, noisy, parameters, "none"), held_out_rows(noisy, 0.3, 0), 1, 0)
        assert (np.array(result.rows[1]) >= 42).all() and len(result.rows[1]) == 18  # the last part
        scores.append((result.values - [0.03, 0.04]) / result.errors)
        assert (result.errors < 0.05 * result.values).all()
    assert np.abs(scores).max() < 3 and np.std(scores) > 0.4


def test_motions_of_several_files_are_fitted_at_once(tmp_path: Path) -> None:
    wrong = SWINGING.replace("damping_time = 0.03", "damping_time = 0.05").replace("mass = 0.05", "mass = 0.07")
    for number, load in enumerate(([0.5, 0, 0], [0, 0.4, 0.2], [0.3, -0.4, 0])):
        fit = motion(tmp_path, load=np.array(load))
        tip, time = fit.data.measured[:, 0], fit.data.time
        assert time is not None
        with open(tmp_path / f"m{number}.csv", "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(
                [
                    "t_ms",
                    "tendon_1",
                    "tendon_2",
                    "tip_force_x",
                    "tip_force_y",
                    "tip_force_z",
                    "tip_x_mm",
                    "tip_y_mm",
                    "tip_z_mm",
                ]
            )
            writer.writerows(
                [1e3 * (t + 7), 0, 0, *force, *(1e3 * p)]
                for t, force, p in zip(time, fit.data.forces[:, 0], tip, strict=True)
            )
    (tmp_path / "arm.toml").write_text(wrong)
    request = Request(
        tmp_path / "arm.toml",
        [tmp_path / "m0.csv", tmp_path / "m1.csv"],
        ["section.*.damping_time", "section.*.mass"],
        held_out=0.0,
        starts=1,
        held_out_files=[tmp_path / "m2.csv"],
    )
    result = run(request)
    np.testing.assert_allclose(result.values, [0.03, 0.05], rtol=1e-4)
    assert result.rows == (list(range(160)), list(range(160, 240)))
    assert fitting.rms(result.after[1]) < 1e-5 < 1e-3 < fitting.rms(result.before[1])


def test_friction_of_tendons_is_found(tmp_path: Path) -> None:
    pulls = [(4 + 3 * np.sin(0.2 * k), 4 - 3 * np.sin(0.2 * k)) for k in range(80)]
    text = SWINGING.replace("max_tension = 20", "max_tension = 20\nfriction = 1.0")
    fit = motion(tmp_path, pulls=pulls, text=text)
    (tmp_path / "arm.toml").write_text(text.replace("friction = 1.0", "friction = 0.7"))
    robot = RobotFile(tmp_path / "arm.toml")
    parameters = [robot.parameter("tendon.*.friction", {}, "samples")]
    result = fitting.identify(MotionFit(robot, fit.data, parameters, "none"), fit.data.held_out, 1, 0)
    assert result.values == pytest.approx([1.0], rel=1e-3)


SERVOS = """timestep = 0.001
[base]
feed = 0.1
[[section]]
constant_length = 0.2
bend_limit = 3.0
links = 4
mass = 0.08
bending_stiffness = 0.05
bend_gain = 1.0
bend_damping_time = 0.04
bend_torque_limit = 20
"""


def test_gains_of_servos_and_masses_are_found(tmp_path: Path) -> None:
    pulls = [
        (0.03 + 0.02 * np.sign(np.sin(0.07 * k)), 0.5 * np.sign(np.sin(0.06 * k)), 0.3 * np.sign(np.sin(0.085 * k + 1)))
        for k in range(80)
    ]
    fit = motion(tmp_path, pulls=pulls, text=SERVOS, load=np.zeros(3))
    (tmp_path / "arm.toml").write_text(
        SERVOS.replace("bend_gain = 1.0", "bend_gain = 1.6").replace("mass = 0.08", "mass = 0.1")
    )
    robot = RobotFile(tmp_path / "arm.toml")
    parameters = [robot.parameter(name, {}, "samples") for name in ("section.1.bend_gain", "section.1.mass")]
    result = fitting.identify(MotionFit(robot, fit.data, parameters, "none"), fit.data.held_out, 1, 0)
    np.testing.assert_allclose(result.values, [1.0, 0.08], rtol=1e-3)


def test_an_equilibrium_is_found_where_servos_begin_at_their_limits(tmp_path: Path) -> None:
    fit = motion(tmp_path, rows=2, pulls=[(0.05, 0.3, 0.2)] * 2, text=SERVOS, load=np.zeros(3))
    far = motion(tmp_path, rows=2, pulls=[(0.1, 0.3, 0.2)] * 2, text=SERVOS, load=np.zeros(3))
    np.testing.assert_allclose(
        far.data.measured - fit.data.measured, np.broadcast_to([0, 0, 0.05], (2, 2, 3)), atol=1e-5
    )
    (tmp_path / "arm.toml").write_text(
        SERVOS.replace("[[section]]", "feed_force_limit = 0.5\n[[section]]")
    )  # cannot carry 0.8 N
    with pytest.raises(ModelError, match="no equilibrium found"):
        MotionFit(RobotFile(tmp_path / "arm.toml"), fit.data, [], "none").distances(np.empty(0), [0, 1])


SWING = (
    "t,tendon_1,tendon_2,tip_x_mm,tip_y_mm,tip_z_mm\n"
    + "\n".join(f"{0.01 * k:g},{k % 5},0,{9 * (k % 5)},0,{198 - k % 5}" for k in range(20))
    + "\n"
)
DAMPING = "section.*.damping_time"


@pytest.mark.parametrize(
    ("data", "options", "words"),
    [
        (SWING.replace("\n0.05,", "\n0.04,"), [], ["motion.csv:7: t: 0.04: must be later than the row before, 0.04"]),
        (
            SWING,
            ["--timestep", "0.02"],
            ["motion.csv:3: t: 0.01 s after the row before, less than the time step of 0.02 s"],
        ),
        (
            SWING.replace("t,", "t_ms,", 1),
            [],
            ["less than the time step of 0.001 s", "are the times 1000 times too small?"],
        ),
        (SWING.replace("0.19,", "1900,"), [], ["motion.csv: t: 1900 s, more than 1000000 steps", "t_ms"]),
        (SWING.replace("_mm", ""), [], ["motion.csv: points are up to", "are they in mm?"]),
        ("\n".join(SWING.splitlines()[:2]), [], ["t: must have at least two rows"]),
        (
            "\n".join(SWING.splitlines()[:3]),
            ["--held-out", "0.5", "--parameters", f"{DAMPING},{STIFFNESS},section.*.mass"],
            ["1 samples to fit, 3 numbers measured: must be more than the 3 unknowns"],
        ),
        (
            SWING,
            ["--parameters", f"{DAMPING},tendon.*.max_tension"],
            ["these samples do not tell tendon.*.max_tension"],
        ),
        (SWING, ["--parameters", f"{DAMPING},section.1.links"], ["motions without contact do not tell it"]),
        (
            SWING,
            ["--gravity", "0,0,0", "--parameters", f"{STIFFNESS},section.*.mass,tendon.*.distance"],
            ["do not tell", "apart: leave one out"],
        ),
        (SWING, ["--between", "spline"], ["--between: spline: must be one of hold, linear"]),
        (SWING, ["--timestep", "0"], ["--timestep: 0: must be in (0, 0.1]"]),
        (
            "\n".join(line + (",0" if k else ",tip_force_x") for k, line in enumerate(SWING.splitlines())),
            [],
            ["column tip_force_y is missing"],
        ),
        (
            SWING.replace("tip_x_mm,tip_y_mm,tip_z_mm", "tip_force_x,tip_force_y,tip_force_z"),
            [],
            ["has no measured point"],
        ),
        (
            SWING.replace("tip_x_mm,tip_y_mm,tip_z_mm", "elbow_force_x,elbow_force_y,elbow_force_z"),
            [],
            ["column elbow_force_x: no such point"],
        ),
        (SWING, ["--held-out", "poses.csv"], ["poses.csv: must have a column t or none, as motion.csv"]),
    ],
    ids=lambda value: "" if isinstance(value, str) else str(value[-1:])[:40],
)
def test_bad_motions_are_refused_in_one_line(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    data: str,
    options: list[str],
    words: list[str],
) -> None:
    from tendril._command import run

    monkeypatch.chdir(tmp_path)
    Path("arm.toml").write_text(SWINGING)
    Path("motion.csv").write_text(data)
    Path("poses.csv").write_text(GOOD)
    if "--parameters" not in options:
        options = [*options, "--parameters", DAMPING]
    assert run("identify", ["arm.toml", "motion.csv", "-o", "fitted.toml", "--starts", "1", *options]) == 2
    said = capsys.readouterr().err
    assert said.startswith("tendril: ") and said.count("\n") == 1, said
    assert all(word in said for word in words), said
    assert not Path("fitted.toml").exists()


SENSED = (
    """kind = "continuum"
[[section]]
constant_length = 0.2
bend_limit = 3.0
links = 8
radius = 0.005
mass = 0.04
bending_stiffness = 0.04
"""
    + "".join(
        f"[[tendon]]\nangle = {angle}\ndistance = 0.005\nmax_tension = 40\nstiffness = 20000\npretension = 4\n"
        for angle in (0.0, 2.0944, 4.1888)
    )
    + """[controller]
plugin = "tendril.reach"
target = "target"
[[sensor]]
kind = "tip_tracker"
name = "tracker"
noise = [0.0003, 0.003]
rate = 50
delay = 0.02
[[sensor]]
kind = "markers"
name = "dots"
places = [0.5]
noise = 0.0005
"""
)


def _recorded(tmp_path: Path, factor: float) -> Path:
    """A run of the arm with another stiffness, on a target that circles."""
    (tmp_path / "arm.toml").write_text(SENSED)
    (tmp_path / "circle.toml").write_text(
        'scene = "arm.toml"\nduration = 2\n[[motion]]\nbody = "target"\nkind = "circle"\n'
        "center = [0.0, 0, 0.185]\nnormal = [0, 0, 1]\nradius = 0.05\nspeed = 0.15\n"
    )
    out = tmp_path / f"run{factor}"
    done = tendril(
        "run",
        tmp_path / "circle.toml",
        "--out",
        out,
        "--no-report",
        "--set",
        f"robot.section.*.bending_stiffness={{scale={factor}}}",
    )
    assert done.returncode in (0, 1), done.stderr  # 1: its one section does not reach all of the circle
    return out / "rollout.h5"


def test_a_recording_tells_the_stiffness_of_its_robot(tmp_path: Path) -> None:
    recording, numbers = _recorded(tmp_path, 0.75), tmp_path / "fit.json"
    words = ("identify", tmp_path / "arm.toml", recording, "--parameters", "section.*.bending_stiffness")
    done = tendril(*words, "--starts", 1, "--json", numbers)
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(numbers.read_text())["parameters"]
    assert abs(found["value"] - 0.75 * 0.04) < 4 * found["standard_error"] < 0.02 * found["value"]


def test_samples_of_a_recording_are_where_they_were_taken(tmp_path: Path) -> None:
    import h5py
    import tomlkit

    recording = _recorded(tmp_path, 1.0)
    robot = RobotFile(tmp_path / "arm.toml")
    model = robot.model([], np.empty(0))
    sensors = tomlkit.parse(SENSED).unwrap()["sensor"]
    data = read_recording(recording, model, sensors, (0.0, 0.0, -9.81))
    with h5py.File(recording) as file:
        rollout = file["rollout_0"]
        table = {sensor["name"]: sensor["address"] for sensor in json.loads(rollout["texts/sensors"][0])}
        timestep = rollout.attrs["timestep"]
        true = rollout["sensordata"][1:, table["tracker_position"] : table["tracker_position"] + 3]
    tip = list(data.markers).index("tip")
    seen = data.seen[:, tip]
    assert data.time is not None and np.isclose(np.diff(data.time[seen]), 0.02).all()
    error = data.measured[seen, tip] - true[seen]
    assert 0.7 < np.sqrt((error**2).mean()) / 0.0003 < 1.3  # its noise alone: no delay is left
    assert len(data.markers) == 2

    # The log of a robot behind a link of 10 ms: readings are later by that, and its clock is never exactly in time.
    with h5py.File(recording, "r+") as file:
        rollout = file["rollout_0"]
        lateness = np.random.default_rng(3).uniform(0, 0.9 * timestep, len(rollout["time"]))
        rollout["time"][:] += lateness
        values = rollout["sensordata"][:]
        del rollout["sensordata"]
        rollout["sensordata"] = np.column_stack([values, lateness])
        sensors_text = json.loads(rollout["texts/sensors"][0])
        sensors_text.append({**sensors_text[-1], "name": "driver_late", "address": values.shape[1], "dimension": 1})
        texts = rollout["texts"]
        del texts["sensors"]
        for name, text in (
            ("log", "udp:robot:7400"),
            ("driver", json.dumps({"link_delay": 0.01})),
            ("sensors", json.dumps(sensors_text)),
        ):
            value = text.encode()
            texts.create_dataset(name, data=np.array([value], h5py.string_dtype("utf-8", len(value))))
    late = read_recording(recording, model, sensors, (0.0, 0.0, -9.81))
    assert late.time is not None
    assert np.allclose(late.time[:-1], data.time)
    rows = round(0.01 / timestep)
    k = np.flatnonzero(seen)[5]
    assert (late.measured[k + 1 - rows, tip] == data.measured[k, tip]).all()  # its row 0 is a step


def test_recordings_that_tell_nothing_are_refused(tmp_path: Path) -> None:
    recording = _recorded(tmp_path, 1.0)
    blind = tmp_path / "blind.toml"
    blind.write_text(SENSED[: SENSED.index("[[sensor]]")])
    other = tmp_path / "other.toml"
    other.write_text(SENSED.replace("[[tendon]]", '[[tendon]]\nname = "left"', 1))
    for robot, text in (
        (blind, "rollout.h5: has no readings of a tip_tracker or markers of the robot file"),
        (other, "rollout.h5: actuator left: is missing"),
    ):
        done = tendril("identify", robot, recording, "--parameters", "section.1.bending_stiffness")
        assert done.returncode == 2 and text in done.stderr, done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
