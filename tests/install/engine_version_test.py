#!/usr/bin/env python3
"""The version of MuJoCo has one place, scripts/requirements.txt.

Sources take it from there. The lists of other tools and the pages that name it agree with it.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLACE = "scripts/requirements.txt"
#: Must pin it, as the tools that read them take no variable; and how often.
LISTS = {"pyproject.toml": 2, "scripts/requirements-wheel.txt": 1, "scripts/requirements-wheel-test.txt": 1}
REFUSED = "4.0.0"  # named where it is refused
#: Name versions of the past, or any.
HISTORY = re.compile(r"(docs/results|tests|bench)/|docs/guide/two_robots\.md|CHANGELOG\.md")


def main():
    if sys.argv[1:] == ["--help"]:
        print(f"usage: engine_version_test.py\n{__doc__}")
        return 0
    pin = re.compile(r"mujoco-core==([0-9.]*[0-9])")
    required = pin.findall((ROOT / PLACE).read_text(encoding="utf-8"))
    if len(required) != 1:
        print(f"engine_version_test: {PLACE}: must have one line mujoco-core==VERSION")
        return 1
    version = required[0]
    problems = []
    listed = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True, check=True).stdout
    for name in listed.splitlines():
        file = ROOT / name
        if name == PLACE or HISTORY.match(name) or not file.is_file():
            continue
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        pins = pin.findall(text)
        if len(pins) != LISTS.get(name, len(pins)):
            problems.append(f"{name}: {len(pins)} times mujoco-core==VERSION: must be {LISTS[name]} times")
        for other in {*pins, *re.findall(r"(?:MuJoCo|mujoco-core`) (4\.[0-9]+\.[0-9]+)", text)} - {version, REFUSED}:
            problems.append(f"{name}: MuJoCo {other}: must be {version}, which {PLACE} has")
        if version in text and name not in LISTS and not name.endswith(".md"):
            problems.append(f"{name}: has {version}: must take it from {PLACE}")
    for problem in problems:
        print(f"engine_version_test: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
