"""The examples of docs/guide run as they are on the page.

A comment before a code block says what it is:

    <!-- file: NAME -->    the text of a file, written into a folder of the page
    <!-- run -->           commands, run in that folder; `tendril`, `python` are those of the package
    <!-- run: 1 -->        the same, with this exit code of the last one
    <!-- run: if MODULE --> only where this Python module is installed
    <!-- from: FILE -->    lines of a file of the tree
"""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tendril as td

ROOT = Path(__file__).resolve().parents[2]
MARK = re.compile(r"^<!-- (?:file|run|from)\b", re.MULTILINE)
PAGES = sorted(path for path in (ROOT / "docs/guide").glob("*.md") if MARK.search(path.read_text("utf-8")))
BLOCK = re.compile(r"^<!-- (file|run|from)(?:: (.*?))? -->\n```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(commands: str, argument: str, folder: Path) -> None:
    expected = int(argument) if argument.isdigit() else 0
    programs = folder / "bin"
    programs.mkdir(exist_ok=True)
    program = Path(sys.executable).with_name("tendril")
    scripts = {  # no reports: their images take longer than the runs
        "python": f'exec "{sys.executable}" "$@"',
        "tendril": f'[ "$1" != run ] || set -- "$@" --no-report\nexec "{program}" "$@"',
    }
    for name, script in scripts.items():
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    path = f"{programs}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-ec", commands], cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    assert done.returncode == expected, f"{commands}{done.stdout}{done.stderr}"


def unindented(text: str) -> str:
    return "\n".join(line.strip() for line in text.splitlines())


def is_missing(argument: str) -> bool:
    module = argument.removeprefix("if ")
    return module != argument and importlib.util.find_spec(module) is None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_of_a_page_run(page: Path, tmp_path: Path) -> None:
    text = page.read_text("utf-8")
    blocks = BLOCK.findall(text)
    assert len(blocks) == len(MARK.findall(text)), "a mark is not directly before a code block"
    for kind, argument, content in blocks:
        if kind == "file":
            (tmp_path / argument).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / argument).write_text(content)
        elif kind == "from":
            assert unindented(content) in unindented((ROOT / argument).read_text("utf-8")), argument
        elif not is_missing(argument):
            run(content, argument, tmp_path)
    for robot in tmp_path.glob("*.toml"):
        if re.search('(?m)^kind = "(continuum|snake|mobile)"$', robot.read_text()):
            td.load_robot(robot)
