"""Controllers in Python in the program: `--python FILE` of `tendril run`, `rollout replay` and `sweep`."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import tendril as td

CONTROLLER = """
import numpy as np

import tendril as td


@td.controller("my.reach", kind="continuum", settings={"gain": (5.0, "1/s", "of the integral")})
class Reach:
    memory_size = 3

    def __init__(self, context):
        self.solver, self.gain = td.Solver(context.robot, max_iterations=50), context.settings["gain"]

    def update(self, m, memory, next_memory, command, report):
        error = m.target[:3, 3] - m.tip[:3, 3]
        next_memory[:] = np.clip(memory + self.gain * m.timestep * error, -0.02, 0.02)
        command.q[:] = td.coordinates(self.solver.solve(m.target[:3, 3] + memory).states)
        report.tip_error = np.linalg.norm(error)
"""
EXPERIMENT = """
scene = "reach.xml"
duration = 0.3

[vary]
"robot.section.*.mass" = { uniform = [0.03, 0.06] }

[[check]]
name = "the tip arrives"
metric = "tip_error_end"
max = 0.05
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The scene of tendril.reach, an experiment, and a controller in Python."""
    shutil.copytree(td.share / "scenes/reach", tmp_path, dirs_exist_ok=True)
    (tmp_path / "own.toml").write_text(EXPERIMENT)
    (tmp_path / "my_ctrl.py").write_text(CONTROLLER)
    return tmp_path


def tendril(folder: Path, *words: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [Path(sys.executable).with_name("tendril"), *words], capture_output=True, text=True, cwd=folder
    )


RUN = ("run", "own.toml", "--seed", 7, "--no-report", "--out", "out")


def words(*values: Any) -> tuple[str, ...]:
    return tuple(map(str, values))


def test_a_run_is_that_of_the_program(folder: Path) -> None:
    own = tendril(folder, *words(*RUN), "--python", "my_ctrl.py", "--controller", "my.reach")
    assert (own.returncode, own.stderr) == (0, "")
    assert "the tip arrives" in own.stdout and "out/: summary.json rollout.h5" in own.stdout
    summary = json.loads((folder / "out/summary.json").read_text())
    assert summary["verdict"] == "pass"

    # The same in a separate process.
    code = (
        "import json, sys, my_ctrl, tendril as td\n"
        "print(json.dumps(td.Experiment('own.toml').run(seed=7, controller='my.reach').summary['metrics']))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=folder)
    metrics = json.loads(result.stdout)
    timed = ("step_time", "real_time")
    assert {k: v for k, v in metrics.items() if not k.startswith(timed)} == {
        k: v for k, v in summary["metrics"].items() if not k.startswith(timed)
    }

    # A controller in C++ says the same in a process of Python.
    def lines(*more: str) -> list[str]:
        shutil.rmtree(folder / "out")
        result = tendril(folder, *words(*RUN), *more)
        assert (result.returncode, result.stderr) == (0, "")
        return [line for line in result.stdout.splitlines() if "real time" not in line]

    assert lines("--python=my_ctrl.py") == lines()


def test_a_recording_keeps_the_file_and_replays_with_it(folder: Path) -> None:
    assert tendril(folder, *words(*RUN), "--python", "my_ctrl.py", "--controller", "my.reach").returncode == 0
    replay = tendril(folder, "rollout", "replay", "out/rollout.h5", "--python", "my_ctrl.py")
    assert (replay.returncode, replay.stderr) == (0, "")
    assert replay.stdout == "out/rollout.h5: identical: 150 steps, bit for bit\n"
    text = tendril(folder, "rollout", "info", "out/rollout.h5", "--attribute", "scene_files/my_ctrl.py")
    assert text.stdout == CONTROLLER

    without = tendril(folder, "rollout", "replay", "out/rollout.h5")
    assert without.returncode == 2 and without.stderr.count("\n") == 1
    assert (
        "my.reach: not loaded: give its library with --plugin FILE.so or its file with --python FILE.py"
        in without.stderr
    )
    (folder / "my_ctrl.py").write_text(CONTROLLER.replace("0.02, 0.02", "0.01, 0.0001"))
    other = tendril(folder, "rollout", "replay", "out/rollout.h5", "--python", "my_ctrl.py")
    assert other.returncode == 1 and "different: step" in other.stdout
    assert "my_ctrl.py: numbers are different the next time if a controller keeps something" in other.stderr


def test_a_pipe_is_no_python_file(folder: Path) -> None:
    os.mkfifo(folder / "pipe.py")
    result = tendril(folder, *words(*RUN), "--python", "pipe.py")
    assert (result.returncode, result.stderr) == (
        2,
        "tendril: --python: pipe.py: must be a Python file (.py) [out-of-range]\n",
    )


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        ("none.py", None, "--python: none.py: no such file"),
        ("empty.py", "", "--python: empty.py: must register a controller (tendril.controller)"),
        ("text.txt", "", "--python: text.txt: must be a Python file (.py)"),
        ("broken.py", "x = (\n", "broken.py:1: SyntaxError: '(' was never closed"),
        ("failing.py", "\nundefined\n", "failing.py:2: NameError: name 'undefined' is not defined"),
        ("wrong.py", CONTROLLER.replace('"continuum"', '"arm"'), 'my.reach: kind = "arm": must be one of continuum'),
    ],
)
def test_wrong_files(file: str, text: str | None, told: str, folder: Path) -> None:
    if text is not None:
        (folder / file).write_text(text)
    result = tendril(folder, *words(*RUN), "--python", file)
    assert result.returncode == 2
    assert result.stderr.startswith("tendril: ") and told in result.stderr and result.stderr.count("\n") == 1
    assert not (folder / "out").exists()


def test_a_controller_that_fails_fails_the_run(folder: Path) -> None:
    (folder / "my_ctrl.py").write_text(CONTROLLER + "        if m.time > 0.1: 1 / 0\n")
    result = tendril(folder, *words(*RUN), "--python", "my_ctrl.py", "--controller", "my.reach")
    assert result.returncode == 1
    assert "my_ctrl.py:19: ZeroDivisionError" in result.stderr
    assert "controller fault" in result.stdout


def test_a_controller_that_no_file_registers(folder: Path) -> None:
    result = tendril(folder, *words(*RUN), "--python", "my_ctrl.py", "--controller", "my.other")
    assert result.returncode == 2 and result.stderr.count("\n") == 1
    assert "controller.plugin = my.other: must be a loaded plugin" in result.stderr and "my.reach" in result.stderr


SWEEP = """
[sweep]
seeds = 3
record = 1

[[sweep.variant]]
name = "in C++"
[[sweep.variant]]
name = "in Python"
controller = "my.reach"
python = "my_ctrl.py"
"""


def test_a_sweep_compares_controllers_in_python(folder: Path) -> None:
    (folder / "own.toml").write_text(EXPERIMENT + SWEEP)
    before = {run.id for run in td.Sweep(folder / "own.toml").plan.runs() if run.variant.name == "in C++"}
    result = tendril(folder, "sweep", "own.toml", "--out", "swept", "--quiet")
    assert (result.returncode, result.stderr) == (0, "")
    data = td.Dataset(folder / "swept")
    assert [row["successes"] for row in data.success().values()] == [3, 3]
    plan = json.loads((folder / "swept/sweep.json").read_text())
    assert "my_ctrl.py" in plan["files"]
    kept = {
        variant: run
        for run, variant in zip(data.runs["id"], data.runs["variant"], strict=True)
        if (folder / f"swept/runs/{run}/rollout.h5").exists()
    }
    assert set(kept) == {"in C++", "in Python"}
    assert all((folder / f"swept/runs/{run}/play.html").exists() for run in kept.values())
    replay = tendril(
        folder, "rollout", "replay", f"swept/runs/{kept['in Python']}/rollout.h5", "--python", "my_ctrl.py"
    )
    assert "identical" in replay.stdout

    # Another text of the file makes other runs of the variant that has it, and of no other.
    (folder / "my_ctrl.py").write_text(CONTROLLER + "\n")
    plan = td.Sweep(folder / "own.toml").plan
    assert {run.id for run in plan.runs() if run.variant.name == "in C++"} == before
    assert not {run.id for run in plan.runs() if run.variant.name == "in Python"} & set(data.runs["id"])


def test_modules_beside_the_file_are_part_of_a_run(folder: Path) -> None:
    (folder / "own.toml").write_text(EXPERIMENT + SWEEP)
    (folder / "my_ctrl.py").write_text("import parts.gain as g, json\n" + CONTROLLER)
    (folder / "parts").mkdir()
    files = {
        "parts/__init__.py": "",
        "parts/gain.py": "from . import limits\nfrom .limits import LARGEST",
        "parts/limits.py": "LARGEST = 1",
        "parts/other.py": "",
        "json_like.py": "",
    }
    for name, text in files.items():
        (folder / name).write_text(text)

    def ids() -> dict[str, set[str]]:
        plan = td.Sweep(folder / "own.toml").plan
        assert {name for name in plan.files if name.endswith(".py")} == {
            "my_ctrl.py",
            "parts/__init__.py",
            "parts/gain.py",
            "parts/limits.py",
        }
        return {name: {run.id for run in plan.runs() if run.variant.name == name} for name in ("in C++", "in Python")}

    before = ids()
    (folder / "parts/limits.py").write_text("LARGEST = 2")
    after = ids()
    assert before["in C++"] == after["in C++"] and not before["in Python"] & after["in Python"]


def test_a_sweep_without_its_file_is_refused(folder: Path) -> None:
    (folder / "own.toml").write_text(EXPERIMENT + SWEEP.replace("my_ctrl", "none"))
    result = tendril(folder, "sweep", "own.toml", "--out", "swept")
    assert result.returncode == 2 and "python = " in result.stderr and "none.py" in result.stderr
    assert not (folder / "swept").exists()


def test_an_interrupt_ends_a_controller_that_never_returns(folder: Path) -> None:
    endless = CONTROLLER.replace(
        "def update(", "def update(self, *all):\n        open('runs', 'w')\n        while True: pass\n\n    def other("
    )
    assert endless != CONTROLLER
    (folder / "my_ctrl.py").write_text(endless)
    command = [sys.executable, "-m", "tendril", *words(*RUN), "--python", "my_ctrl.py", "--controller", "my.reach"]
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    try:
        deadline = time.monotonic() + 60
        while not (folder / "runs").exists():
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        errors = process.communicate(timeout=60)[1]
        assert process.returncode == 130 and "Traceback" not in errors
    finally:
        process.kill()
        process.communicate()
