#!/usr/bin/env python3
"""Feeds `tendril` the hostile files of tests/corpus, and files that are none.

Each must be refused with the documented exit code and one line on stderr in less than two seconds
of processor time: never a crash, never a wait for a file without end.

usage: corpus_test.py PROGRAM
"""
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

USAGE, IO = 2, 4
CORPUS = Path(__file__).resolve().parent.parent / "corpus"
LIMIT = 2.0  # s of processor time
PATIENCE = 60  # s until a command counts as waiting for ever
LARGEST = 64 << 20  # bytes of a text file

# arguments, exit code, pieces that stderr must contain
CASES = [
    (["model", "deep_key.toml"], USAGE, ["deep_key.toml:2", "64 levels"]),
    (["run", "deep_key.toml"], USAGE, ["deep_key.toml:2", "64 levels"]),
    (["view", "deep_key.toml"], USAGE, ["deep_key.toml:2", "64 levels"]),
    (["plan", "deep_key.toml"], USAGE, ["deep_key.toml:2", "64 levels"]),
    (["ik", "deep_key.toml", "zero_bytes.csv"], USAGE, ["deep_key.toml:2", "64 levels"]),
    (["model", "deep_header.toml"], USAGE, ["deep_header.toml:2", "64 levels"]),
    (["model", "deep_list.toml"], USAGE, ["deep_list.toml:2", "64 levels"]),
    (["model", "deep_tables.toml"], USAGE, ["deep_tables.toml:2", "64 levels"]),
    (["model", "deep_key_after_string.toml"], USAGE, ["deep_key_after_string.toml:3", "64 levels"]),
    (["model", "dots_in_text.toml"], USAGE, ["controller.plugin = a.a.a."]),
    (["model", "open_string.toml"], USAGE, ["open_string.toml:"]),
    (["model", "zero_bytes.toml"], USAGE, ["zero_bytes.toml:2"]),
    (["model", "not_utf8.toml"], USAGE, ["not_utf8.toml:2"]),
    (["model", "empty.toml"], USAGE, ["empty.toml:1: section"]),
    (["model", "huge_number.toml"], USAGE, ["huge_number.toml:3"]),
    (["model", "short_tube.toml"], USAGE, ["short_tube.toml:1: centreline: the tube must be longer"]),
    (["model", "many_staves.toml"], USAGE, ["many_staves.toml:1: staves: are 101", "must be at most 50000"]),
    (["plan", "rows.toml"], USAGE, ["rows.toml:33: obstacle 10: are 110000 obstacles, must be at most 100000"]),
    (["run", "deep.xml"], USAGE, ["deep.xml"]),
    (["run", "include_itself.xml"], USAGE, ["include_itself.xml"]),
    (["run", "entities.xml"], USAGE, ["entities.xml"]),
    (["run", "missing_mesh.xml"], USAGE, ["missing_mesh.xml", "nothere.obj"]),
    (["ik", "arm.toml", "zero_bytes.csv"], USAGE, ["zero_bytes.csv: row 2"]),
    (["ik", "arm.toml", "long_line.csv"], USAGE, ["long_line.csv"]),
    (["rollout", "info", "cut_short.h5"], USAGE, ["cut_short.h5"]),
    (["rollout", "replay", "cut_short.h5"], USAGE, ["cut_short.h5"]),
    (["plan", "mesh_plan.toml"], USAGE, ["open.obj:5", "9"]),
    (["plan", "corners.toml"], USAGE, ["corners.toml:2: obstacle 0: polygon: has 10001 corners"]),
    (["run", "arm.toml", "--set", "robot." + "a." * 40000 + "a=1"], USAGE, ["--set", "at most 64"]),
    (["run", "arm.toml", "--set", "robot.a={" + "a." * 40000 + "a=1}"], USAGE, ["64 levels"]),
]
# what is no text file, or one that is too large or cannot be read
for command in ("model", "run", "plan", "view"):
    CASES += [
        ([command, "pipe.toml"], USAGE, ["pipe.toml: is a device or a pipe"]),
        ([command, "endless.toml"], USAGE, ["endless.toml: is a device or a pipe"]),
        ([command, "folder.toml"], USAGE, ["folder.toml: is a folder"]),
        ([command, "large.toml"], USAGE, ["large.toml: has more than 64 MiB"]),
        ([command, "unreadable.toml"], IO, ["unreadable.toml", "could not be read"]),
    ]
CASES += [
    (["run", "pipe.xml"], USAGE, ["pipe.xml: is a device or a pipe"]),
    (["run", "endless.xml"], USAGE, ["endless.xml: is a device or a pipe"]),
    (["view", "pipe.h5"], USAGE, ["pipe.h5: is a device or a pipe"]),
    (["rollout", "info", "pipe.h5"], USAGE, ["pipe.h5: is a device or a pipe"]),
    (["rollout", "replay", "endless.h5"], USAGE, ["endless.h5: is a device or a pipe"]),
    (["ik", "arm.toml", "endless.csv"], USAGE, ["endless.csv"]),
    (["ik", "arm.toml", "pipe.csv"], USAGE, ["pipe.csv: is empty"]),
    (["fk", "arm.toml", "pipe.csv"], USAGE, ["pipe.csv: is empty"]),
]


def prepare(folder):
    """Copies of the corpus, and the files that cannot be kept in a repository."""
    for file in CORPUS.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    (folder / "long_line.csv").write_text("x,y,z\n0,0," + "0" * 1100000 + "\n")
    corners = ", ".join(f"[{i}, {i * i}]" for i in range(10001))
    (folder / "corners.toml").write_text(f"target = {{ x = 0.1, z = 0.6 }}\n[[obstacle]]\npolygon = [{corners}]\n")
    rows = "[[obstacle]]\nsphere = { center = [1, 1, 1], radius = 0.1 }\nrepeat = { count = 10000, step = [0, 0, 1] }\n"
    (folder / "rows.toml").write_text('robot = "arm.toml"\nwaypoints = [[0, 0, 0.1]]\n' + 11 * rows)
    (folder / "cut_short.h5").write_bytes(b"\x89HDF\r\n\x1a\n\x03\x08\x08\x00" + bytes(500))
    (folder / "folder.toml").mkdir()
    with open(folder / "large.toml", "wb") as file:
        file.truncate(LARGEST + 1)
    (folder / "unreadable.toml").symlink_to("/proc/self/mem")  # a regular file; its first byte is an error
    for ending in ("toml", "xml", "csv", "h5"):
        (folder / f"endless.{ending}").symlink_to("/dev/zero")
    for ending in ("toml", "xml", "csv", "h5"):
        os.mkfifo(folder / f"pipe.{ending}")


def verdict(program, folder, arguments, exit_code, pieces):
    """What is wrong with the answer to one case; empty when nothing is."""
    if arguments[0] == "run":
        arguments = [*arguments, "--no-record", "--out", "out"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return [f"no answer within {PATIENCE} s"]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    time = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    problems = []
    if done.returncode != exit_code:
        problems.append(f"exit code {done.returncode}, desired {exit_code}")
    lines = done.stderr.splitlines()
    if len(lines) != 1 or not lines[0].startswith("tendril: "):
        problems.append("stderr must be one line that begins with 'tendril: '")
    problems += [f"stderr does not mention {piece!r}" for piece in pieces if piece not in done.stderr]
    if time > LIMIT:
        problems.append(f"took {time:.1f} s of processor time, at most {LIMIT} s")
    if problems:
        problems.append("stderr: " + done.stderr.strip()[:500])
    return problems


def full_device(program):
    """Commands whose output cannot be written must end with exit code 4 and one line."""
    problems = []
    for arguments in (["doctor"], ["--help"], ["model", "arm.toml"],
                      ["run", "arm.toml", "--no-record", "--duration", "0.01", "--out", "out"],
                      ["run", "arm.toml", "--no-record", "--duration", "0.01", "--out", "out", "--json"]):
        with tempfile.TemporaryDirectory() as name, open("/dev/full", "w", encoding="ascii") as full:
            prepare(Path(name))
            done = subprocess.run([program, *arguments], cwd=name, stdout=full, stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
        if done.returncode != IO or done.stderr != "tendril: stdout: could not be written\n":
            problems.append(f"{' '.join(arguments)} > /dev/full: exit code {done.returncode}: {done.stderr.strip()}")
    return problems


def main():
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__.strip())
        return 0 if sys.argv[1:] in (["-h"], ["--help"]) else 2
    program = os.path.abspath(sys.argv[1])
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        prepare(Path(name))
        for arguments, exit_code, pieces in CASES:
            problems = verdict(program, Path(name), arguments, exit_code, pieces)
            if problems:
                failed += 1
                print("FAILED " + " ".join(arguments)[:100])
                for problem in problems:
                    print(f"    {problem}")
    print(f"{len(CASES) - failed} of {len(CASES)} cases pass")
    problems = full_device(program)
    for problem in problems:
        print(f"FAILED {problem}")
    return 1 if failed or problems else 0


if __name__ == "__main__":
    sys.exit(main())
