"""Common parts of the commands in Python."""

from __future__ import annotations

import argparse
import importlib.util
import math
import re
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from tendril import _engine
from tendril._commands import packages
from tendril._errors import ModelError, RecordingError, refuse
from tendril._files import refuse_inputs
from tendril._meant import meant
from tendril._notices import EXIT_OUTPUT, EXIT_USAGE, error_line
from tendril._progress import waiting
from tendril._terminal import visible_streams

_WITHOUT_PROGRESS = (["status"], ["report"], ["merge"])  # of `tendril sweep`
EXIT_INTERRUPTED = 130
_PACKAGES = {"rerun": "rerun-sdk"}  # of modules with another name


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        if found := re.fullmatch(r"argument (?:\S+/)?(--?[\w-]+): expected one argument", message):
            message += f": a value that begins with - is given as {found[1]}=-..."
        if found := re.match(r"unrecognized arguments: (--[\w-]+)", message):
            message += meant(found[1], self._option_string_actions)
        raise ModelError(message)


def make_parser(command: str, description: str, epilog: str = "") -> Parser:
    return Parser(
        prog=f"tendril {command}",
        description=description,
        epilog=epilog,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def require_module(module: str, extra: str, what: str) -> None:
    """Throws ModelError, with the commands that install it, for a module that is not there."""
    if importlib.util.find_spec(module) is None:
        raise ModelError(
            f"{what}: Python module {module} is missing: pip install {_PACKAGES.get(module, module)}, or with all "
            f'others "tendril-mujoco[{extra}]"'
        )


def number(option: str, text: str, kind: type = float) -> Any:
    """Throws ModelError for what is not a finite number."""
    try:
        value = kind(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise refuse(option, f"{text}: must be a {'whole ' if kind is int else ''}number")
    return value


def vector(option: str, text: str) -> list[float]:
    """The numbers of X,Y,Z. Throws ModelError."""
    numbers = [number(option, word) for word in text.split(",")]
    if len(numbers) != 3:
        raise refuse(option, f"{text}: must be three numbers")
    return numbers


def check_outputs(outputs: Iterable[Path | None], *inputs: Path | None) -> None:
    """Throws ModelError for an output that has no folder, or is an input."""
    for file in outputs:
        if file is not None and not file.parent.is_dir():
            raise refuse(file, f"{file.parent}: no such folder")
        refuse_inputs(file, *inputs)


def run(command: str, words: Sequence[str]) -> int:
    """The exit code of `tendril COMMAND WORDS`."""
    shows_progress = command == "sweep" and list(words[:1]) not in _WITHOUT_PROGRESS
    waiting_for = "" if shows_progress or "--quiet" in words else command
    return run_module(f"tendril.{packages()[command]}.command", words, waiting_for)


def run_module(module: str, words: Sequence[str], waiting_for: str = "") -> int:
    """The exit code of `main(words)` of a module; what it throws is one line.

    @param waiting_for  shown on a terminal until the first output, with the seconds that have passed
    """
    with waiting(waiting_for, quiet=not waiting_for) as end, visible_streams(end):
        return _run(module, words)


def _run(module: str, words: Sequence[str]) -> int:
    try:
        return int(import_module(module).main(words))
    except (ModelError, RecordingError) as error:
        print(error_line(error, EXIT_USAGE), file=sys.stderr)
        return EXIT_USAGE
    except ImportError as error:
        needed = f"pip install numpy h5py {_engine.requirement()}"
        missing = f"Python module {error.name} is missing: {needed}" if error.name else str(error)
        what = _engine.problem() or missing
        print(f"tendril: {what} [not-loaded]", file=sys.stderr)
        return EXIT_OUTPUT
    except OSError as error:
        print(error_line(error, EXIT_OUTPUT), file=sys.stderr)
        return EXIT_OUTPUT
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
