"""The Python programs of the guide run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

GUIDE = Path(__file__).resolve().parents[2] / "docs/guide"


def blocks(page: str, language: str) -> list[str]:
    text = (GUIDE / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def run(program: str, folder: Path) -> str:
    file = folder / "program.py"  # the source of a controller must be a file
    file.write_text(program)
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_programs_of_the_python_page_run_one_after_the_other(tmp_path: Path) -> None:
    assert run("\n".join(blocks("python.md", "python")), tmp_path).startswith("1.0 (1000, 2, 3)\n")


def test_the_controller_of_the_python_page_passes_the_experiment_that_the_page_names(tmp_path: Path) -> None:
    program = blocks("python.md", "python")[-1]
    program += 'result = td.Experiment(td.share / "scenes/reach/moves.toml").run(controller="my.reach")\n'
    assert run(program + "print(result.verdict)\n", tmp_path) == "pass\n"


def test_the_programs_of_the_environments_page_run(tmp_path: Path) -> None:
    """With the files that the page says to save; their first line has the name."""
    pytest.importorskip("gymnasium")
    for text in blocks("environments.md", "(?:toml|xml)"):
        name = re.search(r"[\w.]+\.(?:toml|xml)", text.splitlines()[0])
        assert name
        (tmp_path / name[0]).write_text(text)
    run("\n".join(blocks("environments.md", "python")), tmp_path)
