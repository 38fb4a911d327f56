"""docs/reference/commands.md has the help of every command, as the program prints it."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/reference/commands.md"
BEGIN, END = "<!-- commands: generated -->\n", "<!-- end of commands -->"


def help_of(*command: str) -> str:
    """What `tendril COMMAND --help` prints."""
    program = Path(sys.executable).with_name("tendril")
    environment = {"PATH": "/usr/bin:/bin", "COLUMNS": "100", "NO_COLOR": "1"}
    printed = subprocess.run(
        [program, *command, "--help"], check=True, capture_output=True, text=True, env=environment
    ).stdout
    return "\n".join(line.rstrip() for line in printed.strip().splitlines())


def commands_in(text: str) -> list[str]:
    """The names under "Subcommands:"."""
    _, _, rows = text.partition("\nSubcommands:\n")
    return re.findall(r"^  (\w+) ", rows, re.MULTILINE)


def sections(*command: str) -> str:
    """The sections of a command and of the commands below it."""
    text = help_of(*command)
    title = "#" * (len(command) + 1) + f" `{' '.join(['tendril', *command])}`\n\n" if command else ""
    below = "".join(sections(*command, name) for name in commands_in(text))
    return f"{title}```text\n{text}\n```\n\n{below}"


def words(text: str) -> list[str]:
    """Without the line breaks of argparse, which differ between versions of Python."""
    return text.split()


def test_commands_are_those_of_the_program() -> None:
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    expected = before + BEGIN + "\n" + sections() + END + after
    if os.environ.get("TENDRIL_UPDATE_DOCS"):
        PAGE.write_text(expected, encoding="utf-8")
    assert words(PAGE.read_text(encoding="utf-8")) == words(expected), "run scripts/reference"
