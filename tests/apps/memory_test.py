#!/usr/bin/env python3
"""Lets single allocations of `tendril run` fail, spread over all of a run, those of the engine too.

The program must end with exit code 4 (or 2, where the engine blames the file) and say so in its last
line on stderr, or continue. The engine and HDF5 do not test all that malloc returns: a failure may crash in
them, which is then a crash and not the message of another error. At least a quarter of the failures
must end with a message. What happens before `main`, in constructors of libraries, is left out.

usage: memory_test.py PROGRAM
"""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SHIM = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

static long count, failing = -1;

static int fails(void) {
  if (failing < 0) {
    const char* text = getenv("FAILING_ALLOCATION");
    failing = text ? atol(text) : 0;
  }
  if (__sync_add_and_fetch(&count, 1) != failing) return 0;
  errno = ENOMEM;
  return 1;
}
void* malloc(size_t size) { return fails() ? NULL : __libc_malloc(size); }
void* calloc(size_t n, size_t size) { return fails() ? NULL : __libc_calloc(n, size); }
void* realloc(void* old, size_t size) { return fails() ? NULL : __libc_realloc(old, size); }
void* aligned_alloc(size_t a, size_t size) { return fails() ? NULL : __libc_memalign(a, size); }
int posix_memalign(void** out, size_t a, size_t size) {
  if (fails()) return ENOMEM;
  *out = __libc_memalign(a, size);
  return *out ? 0 : ENOMEM;
}
__attribute__((destructor)) static void say(void) {
  const char* file = getenv("ALLOCATION_COUNT");
  FILE* out = file ? fopen(file, "w") : NULL;
  if (!out) return;
  fprintf(out, "%ld", count);
  fclose(out);
}
"""
INJECTIONS = 30
CRASHES = (-signal.SIGSEGV, -signal.SIGABRT, 255)  # HDF5 leaves with -1
PATIENCE = 60  # s


def main():
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__.strip())
        return 0 if sys.argv[1:] in (["-h"], ["--help"]) else 2
    program = os.path.abspath(sys.argv[1])
    problems = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "shim.c").write_text(SHIM)
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", folder / "shim.so", folder / "shim.c"], check=True)

        def run(**variables):
            command = [
                program,
                "run",
                ROOT / "scenes/reach/reach.xml",
                "--duration",
                "0.05",
                "--no-report",
                "--quiet",
                "--out",
                folder / "out",
            ]
            return subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                check=False,
                env=dict(os.environ, LD_PRELOAD=str(folder / "shim.so"), **variables),
            )

        done = run(ALLOCATION_COUNT=str(folder / "count"))
        count = int((folder / "count").read_text())
        if done.returncode != 0 or count < INJECTIONS:
            print(f"without a failure: exit code {done.returncode}, {count} allocations: {done.stderr}")
            return 1
        failed = crashed = 0
        for k in range(INJECTIONS):
            first = count // 15  # in `main`
            at = first + (2 * k + 1) * (count - first) // (2 * INJECTIONS)
            done = run(FAILING_ALLOCATION=str(at))
            if done.returncode == 0:  # not needed, or tried again
                continue
            failed += 1
            if done.returncode in CRASHES:
                crashed += 1
                continue
            lines = done.stderr.splitlines()
            if done.returncode not in (2, 4) or not lines or not lines[-1].startswith("tendril: "):
                problems += 1
                print(f"allocation {at} of {count}: exit code {done.returncode}: {done.stderr.strip()[:300]}")
        if failed - crashed < INJECTIONS // 4:
            print(
                f"only {failed - crashed} of {INJECTIONS} failures ended with a message, {crashed} crashed in a library"
            )
            problems += 1
    print("holds" if problems == 0 else f"{problems} problems")
    return 0 if problems == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
