"""Readers in Python take or refuse every input of the corpus of their fuzz targets."""

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
CORPUS = TESTS / "corpus/fuzz"
sys.path.insert(0, str(TESTS / "fuzz"))
from python_readers import TARGETS  # noqa: E402


@pytest.mark.parametrize("target", TARGETS)
def test_an_input_of_the_corpus_is_read_or_refused(target: str, tmp_path: Path) -> None:
    command = [sys.executable, TESTS / "fuzz/python_readers.py", target, f"-artifact_prefix={tmp_path}/"]
    done = subprocess.run([*command, *CORPUS.joinpath(target).iterdir()], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "read_units: 0" not in done.stdout, "no input is right"
