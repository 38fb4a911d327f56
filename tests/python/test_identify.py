"""`tendril identify`: what made the data is found again, within the stated errors; what the data do not tell is refused."""
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

from tendril import ModelError, _identify
from tendril._identify import Fit, RobotFile
from tendril._poses import Data, Marker, read_table

PROGRAM = Path(sys.executable).with_name("tendril")
FOLDER = Path(__file__).resolve().parents[2] / "docs/identification"
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
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, env={**os.environ, **environment})


def test_the_documented_command_finds_what_made_the_poses(tmp_path: Path) -> None:
    out, numbers, picture = tmp_path / "fitted.toml", tmp_path / "fit.json", tmp_path / "fit.svg"
    done = tendril("identify", FOLDER / "arm.toml", FOLDER / "poses.csv", "--parameters", ",".join(TRUTH), "--starts", 1,
                   "-o", out, "--json", numbers, "--plot", picture)
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
    assert picture.read_text().startswith("<?xml")


def test_the_poses_of_the_page_are_those_of_their_script(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, FOLDER / "make_poses.py", tmp_path / "poses.csv"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    tables = [np.loadtxt(folder / "poses.csv", delimiter=",", skiprows=1) for folder in (FOLDER, tmp_path)]
    np.testing.assert_allclose(*tables, atol=0.02)  # mm


def rest(tmp_path: Path, pulls: Any, force: Any = None, text: str = ARM, markers: dict[str, Marker] | None = None) -> tuple[RobotFile, Data]:
    """Poses of an arm under its tendons, without noise."""
    file = tmp_path / "arm.toml"
    file.write_text(text)
    robot = RobotFile(file)
    n = len(pulls)
    markers = markers or {"tip": Marker("tip")}
    data = Data(tmp_path / "poses.csv", markers, list(range(2, n + 2)), np.array(pulls, dtype=float), np.tile([0, 0, -9.81], (n, 1)),
                np.zeros((n, 3)) if force is None else force, np.zeros((n, len(markers), 3)), np.ones(n), np.zeros(n, dtype=bool))
    data.measured = Fit(robot, data, [], "none").predict(np.empty(0), range(n), slopes=False).places
    return robot, data


PULLS = [(t, 0) for t in (2, 4, 6, 8)] + [(0, t) for t in (1, 3, 5, 7)]
FORCES = 0.5 * np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [-1, 0, 0], [0, 0, 0], [0.5, 1, 0], [0, -1, 0], [1, 1, -1]])


@pytest.mark.parametrize("align", ["none", "offset", "pose"])
def test_derivatives_are_those_of_the_residuals(tmp_path: Path, align: str) -> None:
    text = ARM.replace("links = 4", "links = 4\npoisson_ratio = 0.3")
    markers = {"tip": Marker("tip"), "half": Marker(None, 0.11, (0.01, 0.0, 0.002))}
    robot, data = rest(tmp_path, PULLS, FORCES, text, markers)
    names = ["section.1.bending_stiffness", "section.1.constant_length", "tendon.*.distance", "tendon.1.angle", "section.1.mass"]
    fit = Fit(robot, data, [robot.parameter(name, {}) for name in names], align)
    frame = np.array([0.02, 0.01, -0.03, 0.2, -0.1, 0.15])[:fit.frame_count]
    x = np.concatenate((fit.base / fit.scales * 1.02, frame))
    rows = list(range(data.count))
    _, slopes, failed = fit.residuals(x, rows)
    assert not failed.any()
    for i in range(len(x)):
        step = 1e-5 * np.eye(len(x))[i]
        difference = (fit.residuals(x + step, rows, slopes=False)[0] - fit.residuals(x - step, rows, slopes=False)[0]) / 2e-5
        np.testing.assert_allclose(slopes[..., i], difference, atol=1e-6)


def test_stated_errors_are_those_of_repeated_measurements(tmp_path: Path) -> None:
    robot, data = rest(tmp_path, PULLS, FORCES)
    parameters = [robot.parameter(name, {}) for name in ("section.*.bending_stiffness", "tendon.*.distance")]
    random = np.random.default_rng(3)
    scores = []
    for _ in range(16):
        noisy = replace(data, measured=data.measured + random.normal(0, 5e-4, data.measured.shape))
        result = _identify.identify(Fit(robot, noisy, parameters, "none"), data.held_out, 1, 0)
        scores.append((result.values - [0.04, 0.01]) / result.errors)
    spread = np.std(scores, axis=0)
    assert (spread > 0.5).all() and (spread < 1.6).all()  # 16 draws of a normal distribution: 1 +- 0.18
    assert np.abs(np.mean(scores, axis=0)).max() < 0.9  # 0 +- 0.25


def fitted(robot: RobotFile, data: Data, held_out: Any = None, align: str = "none", starts: int = 1) -> Any:
    fit = Fit(robot, data, [robot.parameter("section.*.bending_stiffness", {})], align)
    return _identify.identify(fit, data.held_out if held_out is None else np.array(held_out), starts, 0)


def test_what_is_held_out_or_has_no_weight_does_not_count(tmp_path: Path) -> None:
    robot, data = rest(tmp_path, PULLS, FORCES)
    data.measured = data.measured + np.random.default_rng(0).normal(0, 3e-4, data.measured.shape)
    wrong = data.measured.copy()
    wrong[5:] += 0.05
    held_out = np.arange(8) >= 5
    right, spoilt = fitted(robot, data, held_out), fitted(robot, replace(data, measured=wrong), held_out)
    assert right.values == spoilt.values
    assert _identify.rms(spoilt.after[1]) > 0.05 > _identify.rms(right.after[1])
    unweighted = fitted(robot, replace(data, measured=wrong, weight=np.where(held_out, 0.0, 1.0)))
    assert unweighted.values == pytest.approx(right.values, rel=1e-6)


def test_a_frame_that_is_turned_and_shifted_is_found(tmp_path: Path) -> None:
    markers = {"tip": Marker("tip"), "half": Marker(None, 0.11)}
    robot, data = rest(tmp_path, PULLS, FORCES, markers=markers)
    turn, shift = np.array([0.1, -0.3, 0.2]), np.array([0.05, -0.02, 0.01])
    data.measured = data.measured @ _identify.rotation_matrix(turn).T + shift
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


@pytest.mark.parametrize(("data", "options", "words"), [
    (GOOD, ["--parameters", "section.*.bending_stifness"], ["arm.toml: section 1: bending_stifness", "did you mean bending_stiffness?"]),
    (GOOD, ["--parameters", "sectoin.*.radius"], ["--parameters", "did you mean section?"]),
    (GOOD, ["--parameters", "section.2.mass"], ["there are 1 of [[section]]"]),
    (GOOD, ["--parameters", f"{STIFFNESS},{STIFFNESS}"], ["must be named once"]),
    (GOOD, ["--parameters", "section.1.links"], ["links", "must be another key"]),
    (GOOD, ["--parameters", STIFFNESS, "--bounds", f"{STIFFNESS}=1,2"], ["--bounds", "must contain 0.04"]),
    (GOOD, ["--parameters", STIFFNESS, "--bounds", f"{STIFFNESS}=-1,2"], ["--bounds", "[-1, 2]", "bending_stiffness = -1"]),
    (GOOD, ["--parameters", STIFFNESS, "--bounds", "section.*.mass=0.1,2"], ["is not among --parameters"]),
    (GOOD, ["--parameters", STIFFNESS, "--align", "pos"], ["--align: pos: must be one of"]),
    (GOOD, ["--parameters", STIFFNESS, "--held-out", "1"], ["--held-out: 1: must be in [0, 1)"]),
    (GOOD, ["--parameters", STIFFNESS, "--gravity", "0,0"], ["--gravity", "three numbers"]),
    (GOOD, ["--parameters", STIFFNESS, "--json", "none/x.json"], ["none/x.json", "no such folder"]),
    (GOOD, ["--parameters", STIFFNESS, "--plot", "x.gif"], ["x.gif", "must be .svg or .png"]),
    (GOOD, ["--parameters", f"{STIFFNESS},section.*.damping_time"], ["arm.toml: section 1: damping_time: is not in the file"]),
    (GOOD.replace("tendon_2_N", "tendon_3_N"), [], ["poses.csv:1: column tendon_3: unknown: did you mean tendon_"]),
    (GOOD.replace("tip_z_mm", "tipp_z_mm"), [], ["poses.csv:1: column tipp_x: no such point: did you mean tip?"]),
    ("\n".join(line.partition(",")[2] for line in GOOD.splitlines()), [], ["column tendon_1 is missing"]),
    ("\n".join(line.rpartition(",")[0] for line in GOOD.splitlines()), [], ["column tip_z is missing"]),
    (GOOD.replace("194", "nan"), [], ["poses.csv:3: tip_z_mm: \"nan\": must be a finite number"]),
    (GOOD.replace("194", ""), [], ["poses.csv:3: tip: has some of x, y, z"]),
    (GOOD.replace("\n3,0", "\n,0"), [], ["poses.csv:5: tendon_1: is empty"]),
    (GOOD.replace("194", "194,1"), [], ["poses.csv:3: has 6 cells: must have 5"]),
    (GOOD.replace("_mm", ""), [], ["poses.csv: points are up to", "are they in mm?", "tip_x_mm"]),
    (GOOD.replace("\n5,0", "\n5000,0"), [], ["poses.csv: tendon_1: commands of up to 5000", "1000 times too large?"]),
    ("\n".join(GOOD.splitlines()[:2]), ["--held-out", "0", "--parameters", f"{STIFFNESS},section.*.mass,tendon.*.distance"],
     ["1 poses to fit, 3 numbers measured: must be more than the 3 unknowns"]),
    (GOOD, ["--gravity", "0,0,0", "--parameters", f"{STIFFNESS},section.*.mass"], ["do not tell section.*.mass"]),
    (GOOD, ["--gravity", "0,0,0", "--parameters", f"{STIFFNESS},tendon.*.distance"],
     ["do not tell", STIFFNESS, "tendon.*.distance apart: leave one out"]),
    (GOOD.splitlines()[0], [], ["has no rows"]),
    (GOOD.replace(COLUMNS, COLUMNS + ",held_out").replace("\n3,0,30,0,186", "\n3,0,30,0,186,2"), [], ["has 5 cells: must have 6"]),
], ids=lambda value: "" if isinstance(value, str) else str(value[-1:])[:40])
def test_bad_input_is_refused_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
                                          data: str, options: list[str], words: list[str]) -> None:
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
    with pytest.raises(ModelError, match="must be \"continuum\""):
        _identify.run(tmp_path / "snake.toml", tmp_path / "poses.csv", ["section.*.mass"])
    done = tendril("identify", tmp_path / "none.toml", tmp_path / "poses.csv", "--parameters", "section.*.mass")
    assert done.returncode != 0 and done.stderr.count("\n") == 1 and "none.toml" in done.stderr


def test_a_factor_in_common_keeps_ratios(tmp_path: Path) -> None:
    (tmp_path / "arm.toml").write_text(ARM.replace("distance = 0.01", "distance = [0.01, 0.005]", 1))
    robot = RobotFile(tmp_path / "arm.toml")
    parameters = [robot.parameter("tendon.*.distance+section.1.bending_stiffness", {}), robot.parameter("tendon.*.angle", {})]
    document = tomllib.loads(robot.with_values(parameters, np.array([0.02, 0.25])))
    assert [tendon["distance"] for tendon in document["tendon"]] == [[0.02, 0.01], 0.02]
    assert document["section"][0]["bending_stiffness"] == pytest.approx(0.08)
    assert [tendon["angle"] for tendon in document["tendon"]] == pytest.approx([0.25, 3.3915926])


def test_tables_are_read_in_any_unit(tmp_path: Path) -> None:
    with open(tmp_path / "table.csv", "w", newline="") as file:
        csv.writer(file).writerows([["# made by hand"], ["tip_x_mm", "spin_deg", "s1_end_x", "weight"], [12, 180, 0.5, 2]])
    names, values, lines = read_table(tmp_path / "table.csv")
    assert list(names) == ["tip_x", "spin", "s1_end_x", "weight"] and lines == [3]
    np.testing.assert_allclose(values, [[0.012, np.pi, 0.5, 2]])
