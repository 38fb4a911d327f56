"""The examples run, and they, the tutorials' controller and the package pass strict type checking."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted(ROOT.glob("python/examples/*.py"))
TUTORIALS = sorted(ROOT.glob("docs/start/scripts/*.py"))  # test_tutorials.py runs them


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_example_runs(file: Path, tmp_path: Path) -> None:
    result = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout and not result.stderr


def test_the_cloned_controller_runs_its_network(tmp_path: Path) -> None:
    """One whose outputs are constant rates."""
    controller = tmp_path / "imitated.py"
    controller.write_text((ROOT / "python/examples/learning/imitated.py").read_text())
    sizes, rates = (15, 4, 4, 6), np.array([0.3, -0.2, 0.1, 0.0, 0.2, -0.1])  # rad/s
    parts = {f"w{i}": np.zeros(shape) for i, shape in enumerate(zip(sizes, sizes[1:], strict=False))}
    parts |= {"b0": np.zeros(4), "b1": np.zeros(4), "b2": rates / 2.0}
    np.savez(tmp_path / "imitated.npz", mean=np.zeros(15), deviation=np.ones(15), scale=2.0, **parts)
    code = (
        f"import importlib, sys; sys.path.insert(0, {str(tmp_path)!r}); import imitated; import tendril as td\n"
        "with td.Experiment(td.share / 'scenes/reach/reach.toml').start(controller='example.imitated') as run:\n"
        "    for _ in range(51): run.step()\n"
        "print(*run.data.sensor('arm_command').data)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    commands = np.array(result.stdout.split(), dtype=float)
    assert commands == pytest.approx(rates * 51 * 0.002, abs=1.1 * rates.max() * 0.002)  # the sensor may be a step old


PACKAGE = [
    "-m",
    "tendril.__main__",
    "-m",
    "tendril._plugin",
    "-m",
    "tendril._core",
    "-m",
    "tendril._sim",
    "-m",
    "tendril.experiment",
    "-m",
    "tendril.controllers",
    "-m",
    "tendril._recording_file",
    "-p",
    "tendril.playback",
    "-p",
    "tendril.report",
    "-p",
    "tendril.sweep",
    "-p",
    "tendril.compare",
    "-p",
    "tendril.export",
    "-p",
    "tendril.rosbag",
    "-p",
    "tendril.identify",
    "-m",
    "tendril.envs",
    "-m",
    "tendril",
]


@pytest.mark.parametrize(
    "what", [PACKAGE, *([str(file)] for file in EXAMPLES + TUTORIALS)], ids=lambda what: Path(what[-1]).stem
)
def test_types(what: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    cache = tmp_path_factory.getbasetemp() / "mypy"
    result = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(cache), *what],
        capture_output=True,
        text=True,
        cwd=cache.parent,
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_pyright(tmp_path: Path) -> None:
    """Allows pyright only what it does not know of another package: MuJoCo's has no types."""
    if not os.environ.get("TENDRIL_TEST_EXTRAS"):
        pytest.importorskip("basedpyright")
    (tmp_path / "pyrightconfig.json").write_text(
        json.dumps(
            {
                "include": [*map(str, EXAMPLES), str(ROOT / "docs/start/scripts")],
                "typeCheckingMode": "standard",
                "venvPath": str(Path(sys.prefix).parent),
                "venv": Path(sys.prefix).name,
            }
        )
    )
    result = subprocess.run(
        [sys.executable, "-m", "basedpyright", "-p", str(tmp_path), "--outputjson"], capture_output=True, text=True
    )
    report = json.loads(result.stdout)
    assert report["summary"]["filesAnalyzed"] >= len(EXAMPLES)
    found = [
        f"{entry['file']}:{entry['range']['start']['line'] + 1}: {entry['message']}"
        for entry in report["generalDiagnostics"]
    ]
    assert not [line for line in found if 'of module "mujoco"' not in line]
