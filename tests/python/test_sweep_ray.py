"""`tendril sweep --engine ray` with two nodes: worker, node and driver are killed. Skipped without Ray, but not with
TENDRIL_TEST_EXTRAS in the environment."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench/sweep_kills"


@pytest.mark.skipif(
    importlib.util.find_spec("ray") is None and not os.environ.get("TENDRIL_TEST_EXTRAS"),
    reason="the Python module ray is missing",
)
def test_every_run_once_whatever_is_killed() -> None:
    done = subprocess.run(
        [
            sys.executable,
            BENCH,
            "--tendril",
            Path(sys.executable).with_name("tendril"),
            "--engine",
            "ray",
            "--runs",
            "12",
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "12 runs, each once" in done.stdout
