"""Progress of commands: on a terminal a line that is cleared before anything else is written; elsewhere nothing."""

import os
import pty
import subprocess
import sys
import time
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

import tendril as td
from tendril import _progress


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_progress, "_PATIENCE", 0.02)
    monkeypatch.setattr(_progress, "_INTERVAL", 0.01)


def test_a_terminal_shows_what_is_waited_for_until_the_end() -> None:
    stream = Terminal()
    with _progress.waiting("export", stream=stream) as end:
        time.sleep(0.3)
        assert "export: 0 s" in stream.getvalue()
        end()
        shown = stream.getvalue()
        assert shown.endswith("\r\033[K")
        time.sleep(0.05)
    assert stream.getvalue() == shown


@pytest.mark.parametrize(("stream", "quiet"), [(StringIO(), False), (Terminal(), True)])
def test_without_a_terminal_or_with_quiet_nothing_is_written(stream: Any, quiet: bool) -> None:
    with _progress.waiting("export", quiet, stream) as end:
        time.sleep(0.1)
        end()
    line = _progress.Line(quiet, stream)
    line.show("text", is_last=True)
    line.clear()
    assert stream.getvalue() == ""


def test_a_line_is_one_line_of_visible_text() -> None:
    stream = Terminal()
    _progress.Line(stream=stream).show("a\nb\x1b[2J" + "x" * 500)
    text = stream.getvalue().removeprefix("\r\033[K")
    assert "\n" not in text and "\x1b" not in text and len(text) <= 100


def on_terminal(program: str, *words: Any) -> str:
    """What a terminal gets of a program."""
    terminal, end = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", program, *map(str, words)], stdout=end, stderr=end, stdin=end)
    os.close(end)
    shown = b""
    while True:
        try:
            shown += os.read(terminal, 10_000)
        except OSError:  # closed
            break
    os.close(terminal)
    assert process.wait() == 0, shown
    return shown.decode()


@pytest.mark.parametrize("options", [[], ["--quiet"]])
def test_a_command_shows_that_it_works_until_its_first_output(tmp_path: Path, options: list[str]) -> None:
    file = tmp_path / "run.h5"
    td.Experiment(td.share / "scenes/reach/reach.xml").run(duration=0.05, record=file)
    program = (
        "import sys, time\nfrom tendril import _command, _progress\nfrom tendril.export import command\n"
        "_progress._PATIENCE = 0.01\nwrite = command.export\n"
        "command.export = lambda *rest: (time.sleep(0.5), write(*rest))[1]\n"
        "sys.exit(_command.run('export', sys.argv[1:]))\n"
    )
    shown = on_terminal(program, file, "--to", "csv", "-o", tmp_path / "out.csv", *options)
    if options:
        assert shown == ""
    else:
        before, _, after = shown.rpartition("\r\033[K")
        assert "export: 0 s" in before and after.strip() == str(tmp_path / "out.csv")
