#!/usr/bin/env python3
"""A C++ project for another system finds the wheel of that system by `find_package`: it compiles and links, and its
program runs where there is an emulator.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: The position of the tip that the program asks for, by rows of the pose that it prints [m].
TARGET = (0.05, 0.02, 0.15)
TOLERANCE = 2e-5  # the solver's and that of six digits


def done(*words, **options):
    """The output of a command, or nothing and a line about it."""
    result = subprocess.run(
        list(map(str, words)), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options
    )
    if result.returncode == 0:
        return result.stdout
    print(f"consumer_test: {' '.join(map(str, words[:3]))}: exit code {result.returncode}\n{result.stdout}")
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("engine", type=Path, help="the engine's package for that system, site-packages/mujoco")
    parser.add_argument("toolchain", type=Path, help="file for CMake")
    parser.add_argument("--emulator", nargs=argparse.REMAINDER, help="the rest of the line: what runs a program")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        package, build = folder / "site-packages", folder / "build"
        with zipfile.ZipFile(options.wheel) as wheel:
            wheel.extractall(package)
        (package / "mujoco").symlink_to(options.engine.resolve())
        settings = {
            "CMAKE_TOOLCHAIN_FILE": options.toolchain.resolve(),
            "tendril_DIR": package / "tendril/cmake",
            "components": "core;model;plugin_host",
        }
        configure = ("cmake", "-S", ROOT / "tests/install/consumer", "-B", build, "-G", "Ninja")
        if done(*configure, *(f"-D{key}={value}" for key, value in settings.items())) is None:
            return 1
        if done("cmake", "--build", build, "-j", 2) is None:
            return 1
        if not options.emulator:
            return 0
        # Windows looks for libraries in the folders of PATH, not where the program was linked with them.
        libraries = (package / "tendril", package / "tendril/bin", package / "mujoco")
        environment = {**os.environ, "WINEPATH": ";".join(f"Z:{library}" for library in libraries)}
        (program,) = (file for file in build.glob("consumer*") if file.suffix in ("", ".exe"))
        said = done(*options.emulator, program, env=environment)
        if said is None:
            return 1
        tip = [float(line.split()[3]) for line in said.splitlines()[-4:-1]]
        if any(abs(a - b) > TOLERANCE for a, b in zip(tip, TARGET, strict=True)):
            print(f"consumer_test: the tip is at {tip}: must be at {TARGET}")
            return 1
        return 0


if __name__ == "__main__":
    sys.exit(main())
