"""Common parts of the commands in Python."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from importlib import import_module

from tendril import _engine
from tendril._commands import packages
from tendril._errors import ModelError, RecordingError
from tendril._meant import meant
from tendril._terminal import visible_streams

EXIT_USAGE, EXIT_OUTPUT, EXIT_INTERRUPTED = 2, 4, 130


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


def run(command: str, words: Sequence[str]) -> int:
    """The exit code of `tendril COMMAND WORDS`."""
    with visible_streams():
        return _run(command, words)


def _run(command: str, words: Sequence[str]) -> int:
    try:
        return int(import_module(f"tendril.{packages()[command]}.command").main(words))
    except (ModelError, RecordingError) as error:
        print(f"tendril: {error}", file=sys.stderr)
        return EXIT_USAGE
    except ImportError as error:
        needed = f"pip install numpy h5py mujoco-core=={_engine.mujoco_version or '4.0.1'}"
        what = _engine.problem() or f"Python module {error.name or error} is missing: {needed}"
        print(f"tendril: {what}", file=sys.stderr)
        return EXIT_OUTPUT
    except OSError as error:
        print(f"tendril: {' '.join(str(error).split())}", file=sys.stderr)
        return EXIT_OUTPUT
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
