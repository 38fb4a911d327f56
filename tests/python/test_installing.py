"""The wheel beside a package that asks for `mujoco`: what pip makes of all orders, in fresh environments, from PyPI.

With TENDRIL_TEST_EXTRAS in the environment only: 500 MB, 5 min."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tendril as td

ROOT = Path(__file__).resolve().parent.parent.parent
WHEELS = sorted(ROOT.glob("out/wheel/*.whl"))
OTHER = "mujoco-warp==4.0.0"  # asks for mujoco, without saying which
SIMULATE = "import tendril as td; print(td.Experiment(td.share / 'scenes/reach/reach.xml').run(duration=0.01).outcome)"

pytestmark = pytest.mark.skipif(
    not os.environ.get("TENDRIL_TEST_EXTRAS") or not WHEELS, reason="with TENDRIL_TEST_EXTRAS, from scripts/wheel"
)


def said(*command: str | Path) -> tuple[int, str]:
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=environment)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    "order",
    [
        [["wheel"], ["other"]],  # pip then takes mujoco 4.0.0, with the engine of that version
        [["other"], ["wheel"]],
        [["wheel", "other"]],  # mujoco 3.17.0, whose files replace those of the engine
    ],
    ids=["wheel first", "wheel last", "together"],
)
def test_another_mujoco_is_named_and_mended_by_the_command_that_is_named(
    tmp_path: Path, order: list[list[str]]
) -> None:
    python = tmp_path / "bin/python"
    assert said(sys.executable, "-m", "venv", tmp_path)[0] == 0
    for packages in order:
        files = [WHEELS[-1] if package == "wheel" else OTHER for package in packages]
        code, text = said(python, "-m", "pip", "install", "--quiet", *files)
        assert code == 0, text

    code, text = said(tmp_path / "bin/tendril", "doctor")
    found = re.search(
        rf"MuJoCo \S+ is installed, must be {td.mujoco_version}: (pip [^\[\n]*?)(?: \[.*\])?$", text, re.MULTILINE
    )
    if order[-1] != ["wheel"]:
        assert found is not None, text
    if found is not None:
        assert code != 0
        code, text = said(python, "-c", SIMULATE)
        assert code == 1 and found[1] in text.splitlines()[-1], text
        for command in found[1].split(" && "):
            code, text = said(python, "-m", *command.split())
            assert code == 0, text
        code, text = said(tmp_path / "bin/tendril", "doctor")
    assert code == 0, text
    assert said(python, "-c", SIMULATE) == (0, "done\n")
