"""The tutorials in docs/start: files that they show are those of docs/start/scripts, commands run, outputs agree.

A fenced block after a paragraph that names a file (`NAME`:) is that file; a Python block without a name runs; a block
`text` has lines of the output of the commands before it, with other numbers. Without TENDRIL_TEST_EXTRAS in the
environment sweeps have two seeds, and what takes longest is left out.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
START = ROOT / "docs/start"
PAGES = sorted(START.glob("[1-9]_*.md"))
IS_WHOLE = bool(os.environ.get("TENDRIL_TEST_EXTRAS"))
SLOW = ("cmake ", "my_reach.so", "scenes/reach/random.toml")  # commands of the slow tier
NO_PACKAGE = ("tendril view ",)  # the wheel has no window
FAILS = ("tendril sweep ", "speed=0.6")  # checks may fail (exit code 1), as the page says
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"`([\w.]+)`:\s*\Z")
NUMBER = re.compile(r"[-+]?\d[\d.]*(?:e-?\d+)?")


class Block(NamedTuple):
    language: str  # "command" of an indented line
    text: str
    name: str = ""


def blocks(page: Path) -> list[Block]:
    """Returns commands and fenced blocks in their order."""
    text, found, end = page.read_text(encoding="utf-8"), [], 0
    for match in FENCE.finditer(text):
        before = text[end : match.start()]
        found += [Block("command", line) for line in re.findall(r"^    (\S.*)$", before, re.MULTILINE)]
        name = NAMED.search(before)
        found.append(Block(match[1], match[2], name[1] if name else ""))
        end = match.end()
    return found + [Block("command", line) for line in re.findall(r"^    (\S.*)$", text[end:], re.MULTILINE)]


def masked(line: str) -> str:
    """A line of output without its numbers and the width of its columns."""
    return re.sub(r"\s+", " ", NUMBER.sub("#", line)).strip().removesuffix(" ...").rstrip("; ")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the folder in which the reader works."""
    top = tmp_path_factory.mktemp("start")
    shutil.copytree(START / "scripts", top / "docs/start/scripts")
    (top / "scenes").symlink_to(ROOT / "scenes")
    return top / "docs/start/scripts"


def run(folder: Path, command: str) -> str:
    """Runs a command as the reader does, and returns its output."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    allowed = (0, 1) if any(part in command for part in FAILS) else (0,)
    assert done.returncode in allowed, f"{command}\n{done.stdout}"
    return done.stdout


def runs_here(command: str) -> bool:
    return not any(part in command for part in NO_PACKAGE) and (IS_WHOLE or not any(part in command for part in SLOW))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_files_are_those_of_the_folder(page: Path) -> None:
    shown = [block for block in blocks(page) if block.name]
    assert all(block.text == (START / "scripts" / block.name).read_text(encoding="utf-8") for block in shown)
    assert all(block.name or block.language in ("text", "python", "command") for block in blocks(page))


def test_every_file_is_shown() -> None:
    shown = {block.name for page in PAGES for block in blocks(page)}
    assert shown - {""} == {file.name for file in (START / "scripts").iterdir() if file.is_file()}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_and_outputs(page: Path, folder: Path) -> None:
    output: str | None = ""  # of the last command; None if it was left out or ran with fewer seeds
    is_short = False
    for block in blocks(page):
        if block.language == "command" and runs_here(block.text):
            command = block.text if IS_WHOLE else re.sub(r"--seeds \d+", "--seeds 2", block.text)
            is_short = is_short or command != block.text
            printed = run(folder, command)
            output = None if is_short else printed
        elif block.language == "command":
            output = None
        elif block.language == "python" and not block.name:
            run(folder, shlex.join([sys.executable, "-c", block.text]))
        elif block.language == "text" and output is not None:
            lines = {masked(line) for line in output.splitlines()}
            for line in filter(lambda line: line != "...", block.text.splitlines()):
                assert any(one.startswith(masked(line)) for one in lines), f"{line}\n{output}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_ends_with_what_is_next(page: Path) -> None:
    assert page.read_text(encoding="utf-8").strip().split("\n\n")[-1].startswith("**Next**: ")
