#!/usr/bin/env python3
"""The program of the wheel for Windows, which Wine runs, beside that of the wheel for Linux.

The same commands have the same exit codes and, but for rounding, the same numbers; a recording of Windows replays there
bit for bit. Wine is not Windows, and Python is not part of it.
"""

import argparse
import csv
import io
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

#: Between two mathematical libraries, after a run of some seconds.
RELATIVE, ABSOLUTE = 1e-6, 1e-9
#: What depends on the machine in a summary, names files, or is an average of counts that a rounding moves by one.
MACHINES_OWN = re.compile(
    "/(metrics/)?(real_time_factor|step_time_.*|wall_time|command_line|versions|machine|load_average|file|scene|notices"
    "|engine_iterations_mean)"
)


class Program:
    """The program of an unpacked wheel, next to the engine's package."""

    def __init__(self, wheel, engine, folder, command, plugin):
        self.folder = folder
        self._plugin = plugin
        with zipfile.ZipFile(wheel) as opened:
            opened.extractall(folder)
        (folder / "mujoco").symlink_to(engine.resolve())
        program = folder / "tendril/bin" / command[-1]
        program.chmod(0o755)
        self._command = [*command[:-1], str(program)]

    def run(self, *words):
        """Where the wheel is unpacked."""
        environment = {**os.environ, "TENDRIL_PLUGIN": self._plugin}
        return subprocess.run(
            [*self._command, *words], cwd=self.folder, env=environment, capture_output=True, text=True, timeout=300
        )


def same(a, b):
    """Whether two texts or numbers are the same but for rounding."""
    try:
        return math.isclose(float(a), float(b), rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    except (TypeError, ValueError):
        return a == b


def numbers(value, name=""):
    """The leaves of a summary by their names, but for those that depend on the machine."""
    if MACHINES_OWN.fullmatch(name):
        return {}
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    else:
        return {name: value}
    return {key: leaf for part, inner in items for key, leaf in numbers(inner, f"{name}/{part}").items()}


def verdict(summary):
    return {name: summary[name] for name in ("outcome", "verdict", "steps")}


def differences(what, a, b):
    """Lines about the leaves that differ."""
    for name in sorted(a.keys() | b.keys(), key=str):
        if not same(a.get(name), b.get(name)):
            yield f"{what}: {name}: {a.get(name)}: on Linux {b.get(name)}"


def cells(text):
    return {
        (row, key): cell for row, line in enumerate(csv.DictReader(io.StringIO(text))) for key, cell in line.items()
    }


def check(windows, linux):
    def both(code, *words):
        results = [program.run(*words) for program in (windows, linux)]
        for system, result in zip(("Windows", "Linux"), results, strict=True):
            if result.returncode != code:
                said = (result.stderr or result.stdout).strip()[-500:]
                yield f"{' '.join(words)}: exit code {result.returncode} for {system}: must be {code}: {said}"
        yield [result.stdout.replace("\r", "") for result in results]

    def compared(what, read, code, *words):
        *problems, (a, b) = both(code, *words)
        yield from problems or differences(what, read(a), read(b))

    yield from compared("version", lambda text: {"text": text}, 0, "--version")
    yield from compared("no file", lambda text: {"text": text}, 2, "ik", "none.toml", "none.csv")
    robot = "tendril/share/models/arm_3x10.toml"
    yield from compared("ik", cells, 0, "ik", robot, robot.replace(".toml", "_targets.csv"), "--no-time", "--quiet")
    # In the last one a search finds another path after other roundings: there the checks hold, no more.
    readers = {"reach/reach": numbers, "snake_pole/snake_pole": numbers, "mobile_arm/mobile_arm": verdict}
    for scene, read in readers.items():
        out = f"out of {Path(scene).name}"
        run = ("run", f"tendril/share/scenes/{scene}.toml", "--no-report", "--quiet", "--json", "--out", out)
        yield from compared(scene, lambda text, read=read: read(json.loads(text)), 0, *run)
        for program in (windows, linux):
            result = program.run("rollout", "replay", f"{out}/rollout.h5")
            if result.returncode != 0:
                yield f"{scene}: replay: exit code {result.returncode}: {result.stderr.strip()[-500:]}"
    doctor = windows.run("doctor")
    for part in ("EGL", "window", "servos", "sweeps"):
        if not re.search(f"^-- +{part} ", doctor.stdout, re.MULTILINE):
            yield f"doctor: must say that {part} is missing: {doctor.stdout}"
    if doctor.returncode != 0:
        yield f"doctor: exit code {doctor.returncode}: {doctor.stdout}{doctor.stderr}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("engine", type=Path, help="the engine's package for Windows, site-packages/mujoco")
    parser.add_argument("linux", type=Path, help="the wheel for Linux")
    parser.add_argument("linux_engine", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        windows, linux = Path(folder, "windows"), Path(folder, "linux")
        problems = list(
            check(
                Program(
                    options.wheel, options.engine, windows, ["wine", "tendril.exe"], f"Z:{windows}/tendril/tendril.dll"
                ),
                Program(options.linux, options.linux_engine, linux, ["tendril"], f"{linux}/tendril/libtendril.so"),
            )
        )
    for problem in problems:
        print(f"wine_test: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
