#!/usr/bin/env python3
"""Every header compiles alone: it includes what it uses, whatever comes before it.

usage: headers_test.py [--cache FILE] [--include FOLDER ...] --compiler COMPILER ... FOLDER ...

Compiles each header below the folders (paths from the source root) with each compiler that is there. What has
compiled before and has not changed since, with all that it includes of this project, is not compiled again.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
# Most of the time of a header that needs them: read once for all headers that include the same of them.
HEAVY = re.compile("Eigen/|mujoco/")


class Headers:
    """Text and includes of headers, with all that these include."""

    def __init__(self):
        self.read = {}

    def closure(self, name):
        """Files of this project that a header represents, and the names in <> that they include."""
        own, others, left = set(), set(), [name]
        while left:
            at = left.pop()
            if at in own:
                continue
            own.add(at)
            if at not in self.read:
                text = (ROOT / at).read_text()
                found = INCLUDE.findall(text)
                self.read[at] = text, [a for a, _ in found if a and (ROOT / a).exists()], {b for _, b in found if b}
            _, more, system = self.read[at]
            left += more
            others |= system
        return own, others

    def digest(self, name, command):
        own, _ = self.closure(name)
        texts = "\0".join(self.read[file][0] for file in sorted(own))
        return hashlib.sha256("\0".join([*command, name, texts]).encode()).hexdigest()


class Precompiler:
    """Makes headers of other projects known to a compiler, each set of them once."""

    def __init__(self, compiler, flags, folder):
        self.command, self.folder, self.made = [compiler, *flags, "-x", "c++-header"], folder, {}
        version = subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout
        self.is_clang = "clang" in version

    def options(self, names):
        """The options with which the compiler has read these headers already."""
        if names and names not in self.made:
            header = self.folder / f"{len(self.made)}_{Path(self.command[0]).name}.hpp"
            header.write_text("".join(f"#include <{name}>\n" for name in names))
            made = Path(f"{header}.{'pch' if self.is_clang else 'gch'}")
            subprocess.run([*self.command, str(header), "-o", str(made)], check=True)
            self.made[names] = ["-include-pch", str(made)] if self.is_clang else ["-include", str(header)]
        return self.made.get(names, [])


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cache", type=Path, help="file that remembers what has compiled")
    parser.add_argument("--include", action="append", default=[], metavar="FOLDER", help="of headers of other projects")
    parser.add_argument("--compiler", action="append", required=True, help="passed over if it is not there")
    parser.add_argument("folder", nargs="+")
    options = parser.parse_args()
    includes = [flag for folder in options.include for flag in ("-isystem", folder)]
    flags = [*FLAGS, f"-I{ROOT}", *includes]
    headers = Headers()
    names = sorted(str(file.relative_to(ROOT)) for folder in options.folder for file in (ROOT / folder).rglob("*.hpp"))
    names = [name for name in names if not name.startswith("tendril/system/windows/")]  # of another system
    try:
        passed = set(json.loads(options.cache.read_text()))
    except (OSError, ValueError, AttributeError):
        passed = set()

    kept, jobs, failed = set(), [], []
    with tempfile.TemporaryDirectory() as folder:
        for compiler in filter(shutil.which, dict.fromkeys(options.compiler)):
            command = [compiler, *flags]
            needed = [(name, headers.digest(name, command)) for name in names]
            kept |= {digest for _, digest in needed if digest in passed}
            needed = [(name, digest) for name, digest in needed if digest not in passed]
            precompiler = Precompiler(compiler, flags, Path(folder))
            for name, digest in needed:
                heavy = tuple(sorted(other for other in headers.closure(name)[1] if HEAVY.match(other)))
                # The header as the main file would be warned of its "#pragma once".
                source = Path(folder) / f"{Path(compiler).name}_{name.replace('/', '_')}.cpp"
                source.write_text(f'#include "{name}"\n')
                jobs.append((name, digest, [*command, *precompiler.options(heavy), "-fsyntax-only", str(source)]))

        def compile_one(job):
            name, digest, command = job
            done = subprocess.run(command, capture_output=True, text=True)
            return name, digest, command[0], done.returncode, done.stderr

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for name, digest, compiler, status, message in pool.map(compile_one, jobs):
                if status == 0:
                    kept.add(digest)
                else:
                    failed.append(name)
                    print(f"headers_test: {name} does not compile alone with {compiler}:\n{message}")
    if options.cache:
        options.cache.write_text(json.dumps(sorted(kept)))
    print(f"headers_test: {len(names)} headers, {len(jobs)} compiled, {len(failed)} failed")
    return 1 if failed or not names else 0


if __name__ == "__main__":
    sys.exit(main())
