"""The program of the package: the console script `tendril`."""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tendril as td
from tendril import _engine


def tendril(*arguments: Any, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs it without what a build tree or a shell may have set."""
    bare = {"PATH": "/usr/bin:/bin", **environment}
    return subprocess.run(
        [Path(sys.executable).with_name("tendril"), *arguments], capture_output=True, text=True, env=bare
    )


def test_version() -> None:
    result = tendril("--version")
    assert result.returncode == 0 and td.__version__ in result.stdout
    module = subprocess.run([sys.executable, "-m", "tendril", "--version"], capture_output=True, text=True)
    assert module.stdout == result.stdout


def test_the_program_needs_only_what_every_system_has() -> None:
    """The C and C++ libraries and zlib, as manylinux allows: no HDF5, curl, window or graphics library."""
    program = Path(td.__file__).with_name("bin") / "tendril"
    site = str(Path(td.__file__).parents[1])
    found = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    outside = {
        line.split()[0].split(".so")[0]
        for line in found.splitlines()
        if "=>" in line and not os.path.realpath(line.split()[2]).startswith(site)
    }
    assert outside <= {"libc", "libdl", "libgcc_s", "libm", "libpthread", "librt", "libstdc++", "libz"}


def test_a_scene_is_run_recorded_and_replayed(tmp_path: Path) -> None:
    result = tendril(
        "run", td.share / "scenes/reach/reach.xml", "--duration", "0.1", "--out", tmp_path / "out", "--no-report"
    )
    assert result.returncode == 0, result.stderr
    assert json.loads((tmp_path / "out/summary.json").read_text())
    replay = tendril("rollout", "replay", tmp_path / "out/rollout.h5")
    assert replay.returncode == 0 and "identical" in replay.stdout, replay.stderr


def test_there_is_no_window() -> None:
    result = tendril("view", td.share / "scenes/reach/reach.xml")
    assert result.returncode == 2
    assert result.stderr.startswith("tendril: view: this program has no window") and result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("model", "columns"),
    [("arm_3x10", ["x", "y", "z", "zx", "zy", "zz"]), ("youbot", ["x", "y", "z", "roll", "pitch", "yaw"])],
)
def test_inverse_kinematics_has_the_bits_of_the_solver(model: str, columns: list[str], tmp_path: Path) -> None:
    robot, table = td.share / f"models/{model}.toml", td.share / f"models/{model}_targets.csv"
    with open(table) as file:
        targets = np.array([[float(row[name]) for name in columns if name in row] for row in csv.DictReader(file)])
    if model == "arm_3x10" and targets.shape[1] == 6:
        poses = np.tile(np.eye(4), (len(targets), 1, 1))
        poses[:, :3, 3], poses[:, :3, 2] = targets[:, :3], targets[:, 3:]
        targets = poses
    result = td.Solver(td.load_robot(robot)).solve(targets)
    out = tmp_path / "out.csv"
    assert tendril("ik", robot, table, "-o", out, "--no-time", "--quiet").returncode == 0
    with open(out) as file:
        rows = list(csv.DictReader(file))
    states = result.states.reshape(len(targets), -1)
    assert [row["status"] for row in rows] == list(result.status)
    assert [int(row["iterations"]) for row in rows] == list(result.iterations)
    for row, state in zip(rows, states, strict=True):
        assert [float(value) for value in list(row.values())[5 : 5 + len(state)]] == list(state)


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_times(item) for key, item in value.items() if key != "time"}
    return [without_times(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", ["scenes/plans/case_1.toml", "scenes/plans/grasp_post.toml"])
def test_plans_with_contact_are_the_same(name: str, tmp_path: Path) -> None:
    plan = td.plan(td.share / name)
    assert plan.content == json.loads(tendril("plan", td.share / name, "--json").stdout)
    if "grasp" not in name:
        plan.solutions[1].save(tmp_path / "python.plan")
        tendril("plan", td.share / name, "--solution", "2", "--plan", tmp_path / "program.plan")
        assert (tmp_path / "python.plan").read_text() == (tmp_path / "program.plan").read_text()


def test_paths_among_obstacles_are_the_same(tmp_path: Path) -> None:
    file = td.share / "scenes/tube_narrow/plan.toml"
    path = td.plan_path(file)
    result = tendril("plan", file, "--json", "--path", tmp_path / "program.csv")
    assert without_times(path.content) == without_times(json.loads(result.stdout))
    path.save(tmp_path / "python.csv")
    assert (tmp_path / "python.csv").read_text() == (tmp_path / "program.csv").read_text()


@pytest.fixture(scope="module", params=["4.0.0", ""])
def other_engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package with an engine of another version, or none."""
    source, site = Path(td.__file__).parents[1], tmp_path_factory.mktemp("site")
    for entry in source.iterdir():
        if entry.name not in ("tendril", "mujoco"):
            (site / entry.name).symlink_to(entry)
    shutil.copytree(source / "tendril", site / "tendril")
    if request.param:
        shutil.copytree(source / "mujoco", site / "mujoco")
        next((site / "mujoco").glob("libmujoco.so.*")).rename(site / f"mujoco/libmujoco.so.{request.param}")
    return site


@pytest.mark.parametrize(
    "words",
    [
        ["tendril/bin/tendril", "doctor"],
        ["tendril/bin/tendril", "--version"],
        ["-m", "tendril", "doctor"],
        ["-m", "tendril", "--version"],
        ["-m", "tendril", "--python", "x.py", "run", "x.toml"],
        ["-c", "import tendril as td\ntry: td.load_scene('x')\nexcept ImportError as e: print(e)"],
        ["-c", "import tendril as td\ntry: td.Experiment\nexcept ImportError as e: print(e)"],
    ],
)
def test_another_engine_is_named_in_one_line(other_engine: Path, words: list[str]) -> None:
    (other_engine / "x.py").touch()
    command = [sys.executable, "-s", *words] if words[0].startswith("-") else [other_engine / words[0], *words[1:]]
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(other_engine)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=other_engine)
    there = "MuJoCo 4.0.0 is installed" if (other_engine / "mujoco").exists() else "no MuJoCo is installed"
    said = done.stdout + done.stderr
    assert f"{there}, must be {td.mujoco_version}: pip install mujoco-core=={td.mujoco_version}" in said
    assert said.count("\n") == 1


def test_the_version_of_the_engine_is_in_its_header() -> None:
    """Where the name of its library has none, as on Windows."""
    assert _engine._version_of_header() == td.mujoco_version


@pytest.mark.parametrize("other_engine", ["3.17.0"], indirect=True)
@pytest.mark.parametrize("words", [["-m", "tendril", "doctor"], ["-c", "import tendril as td; td.Experiment"]])
def test_files_of_mujoco_over_those_of_the_engine_are_named_with_what_mends_them(
    other_engine: Path, words: list[str]
) -> None:
    (other_engine / f"mujoco/libmujoco.so.{td.mujoco_version}").touch()  # that of mujoco-core remains
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(other_engine)}
    command = [sys.executable, "-s", *words]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=other_engine)
    mends = f"pip uninstall -y mujoco && pip install --force-reinstall --no-deps mujoco-core=={td.mujoco_version}"
    assert f"MuJoCo 3.17.0 is installed, must be {td.mujoco_version}: {mends}" in done.stdout + done.stderr


def test_what_a_file_says_does_not_reach_the_terminal(tmp_path: Path) -> None:
    text = 'name = "\\u001b]0;x\\u0007\\u009b\\u202e"\n'
    experiment = tmp_path / "e.toml"
    scene = td.share / "scenes/reach/reach.xml"
    check = f'[[check]]\n{text}metric = "tip_error_end"\nmax = 1\n'
    experiment.write_text(f'scene = "{scene}"\nduration = 0.02\n{check}')
    runs = [tendril("run", experiment, "--no-report", "--out", tmp_path / "out")]
    runs.append(tendril("sweep", experiment, "--seeds", "1", "--no-report", "--out", tmp_path / "s"))
    runs.append(tendril("compare", tmp_path / "out", tmp_path / "out" / "rollout.h5", "-o", tmp_path / "\x1b.html"))
    experiment.write_text(f'scene = "{scene}"\n{text}[[check]]\nmetric = "\\u001bx"\nmax = 1\n')
    runs.append(tendril("run", experiment))
    runs.append(tendril("sweep", tmp_path / "\x1b\x9b.toml"))
    for done in runs:
        assert not re.search("[\0-\x09\x0b-\x1f\x7f-\x9f\u202e]", done.stdout + done.stderr)
    assert "\\u001b]0;x\\u0007\\u009b\\u202e" in runs[0].stdout and "\\u001b" in runs[3].stderr.lower()
