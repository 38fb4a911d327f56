"""The console script `tendril`, and `python -m tendril`: the commands that run in Python, and the program for the
others."""

import os
import subprocess
import sys
from pathlib import Path

from tendril._commands import packages
from tendril._program import OWN_LIBRARY
from tendril._terminal import visible


def main() -> int:
    """The exit code of a command in Python; for other commands the program replaces this process."""
    words = sys.argv[1:]
    if words and words[0] in packages():
        from tendril._command import run  # loads the compiled module

        return run(words[0], words[1:])
    is_help = "-h" in words or "--help" in words
    if words[:1] == ["view"] and OWN_LIBRARY.exists() and not is_help:  # the package's program has no window
        from tendril._command import run_module

        return run_module("tendril._window", words[1:])
    if any(word == "--python" or word.startswith("--python=") for word in words):
        from tendril._python_command import main as in_python

        return in_python(words)
    if words == ["--cmake-dir"]:
        return cmake_dir()
    from tendril._engine import problem
    from tendril._program import find_program

    # The program has its engine even where another package's modules are what Python imports as mujoco.
    if words[:1] == ["doctor"] and not is_help and (text := problem()):
        print(visible(f"tendril: {text} [not-loaded]"), file=sys.stderr)
        return 2
    try:
        if sys.platform == "win32":  # where no program takes the place of another one
            return subprocess.run([find_program(), *words]).returncode
        os.execv(find_program(), ["tendril", *words])
    except (ValueError, OSError) as error:
        print(visible(f"tendril: {error} [not-loaded]"), file=sys.stderr)
        return 2


def cmake_dir() -> int:
    """Prints the folder that CMake takes as `tendril_DIR`; docs/guide/python.md, "Command line and CMake"."""
    folder = Path(__file__).with_name("cmake")
    if not (folder / "tendrilConfigVersion.cmake").is_file():
        print("tendril: --cmake-dir: must be that of an installed package [bad-input]", file=sys.stderr)
        return 2
    print(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
