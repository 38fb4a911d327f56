"""Commands of the program with `--python FILE`: in this process, which has the controllers."""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import os
import sys
from pathlib import Path

from tendril import _engine
from tendril._errors import ModelError, not_compiled
from tendril._library import library_name
from tendril._notices import EXIT_USAGE, error_line, notice
from tendril._program import find_program, registered
from tendril._terminal import visible

_DIFFERENT, _INTERRUPTED = 1, 130  # exit codes
#: What may be wrong with a controller whose numbers are others the next time.
NOT_REPEATED = (
    "numbers are different the next time if a controller keeps something outside its memory, such as in self, or draws "
    "random numbers (docs/guide/python.md#controllers)"
)


def files_in(words: list[str]) -> list[str]:
    """Returns the files of `--python FILE` and `--python=FILE`."""
    files = [word.removeprefix("--python=") for word in words if word.startswith("--python=")]
    return files + [file for option, file in zip(words, words[1:], strict=False) if option == "--python"]


def load(file: str | os.PathLike[str]) -> None:
    """Runs a Python file, which registers controllers (`tendril.controller`).

    Throws ModelError, one line: no such file, an error in it, or no controller registered.
    """
    try:
        from tendril import controllers
    except ImportError as error:
        if text := _engine.problem():
            raise ModelError(text) from None
        raise not_compiled(f"--python: {file}", error) from None
    path = Path(file)
    if not path.is_file():
        raise ModelError(f"--python: {file}: {'must be a Python file (.py)' if path.exists() else 'no such file'}")
    sys.path.insert(0, str(path.parent.absolute()))
    before = set(registered)
    specification = importlib.util.spec_from_file_location(path.stem, path)
    if specification is None or specification.loader is None:
        raise ModelError(f"--python: {file}: must be a Python file (.py)")
    module = importlib.util.module_from_spec(specification)
    sys.modules[path.stem] = module
    try:
        specification.loader.exec_module(module)
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(f"--python: {controllers.describe(error, error.__traceback__)}") from None
    if registered == before:
        raise ModelError(f"--python: {file}: must register a controller (tendril.controller)")


def main(words: list[str]) -> int:
    """The exit code of the program."""
    find_program()  # sets what the program needs of its environment
    library = Path(__file__).with_name("bin") / library_name("tendril_program")
    try:
        for file in files_in(words):
            load(file)
        program = ctypes.CDLL(str(library))
    except KeyboardInterrupt:
        return _INTERRUPTED
    except (ModelError, OSError) as error:
        print(visible(error_line(error, EXIT_USAGE)), file=sys.stderr)
        return EXIT_USAGE
    sys.stdout.flush()
    arguments = [word.encode(errors="surrogateescape") for word in ("tendril", *words)]
    code = _INTERRUPTED  # what a controller that was interrupted leaves behind
    with contextlib.suppress(KeyboardInterrupt):
        code = int(program.tendril_main(len(arguments), (ctypes.c_char_p * (len(arguments) + 1))(*arguments), 1))
    if words[:2] == ["rollout", "replay"] and code == _DIFFERENT:
        line = notice("not-repeated", f"{', '.join(files_in(words))}: {NOT_REPEATED}")
        print(visible(line), file=sys.stderr)
    return code
