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
PATIENCE = 60  # s until a command counts as waiting indefinitely
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
    (["model", "short_tube.toml"], USAGE, ["short_tube.toml:1: centerline: the tube must be longer"]),
    (["model", "many_staves.toml"], USAGE, ["many_staves.toml:1: staves: are 101", "must be at most 50000"]),
    (["plan", "rows.toml"], USAGE, ["rows.toml:33: obstacle 10: are 110000 obstacles, must be at most 100000"]),
    (["run", "deep.xml"], USAGE, ["deep.xml"]),
    (["run", "include_itself.xml"], USAGE, ["include_itself.xml"]),
    (["run", "entities.xml"], USAGE, ["entities.xml"]),
    (["run", "nameless_model.xml"], USAGE, ["nameless_model.xml:2: model: file: missing"]),
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
# every other file that a command reads
IS_NONE = "is a device or a pipe"
NAMING = {  # a file that names {kind}.{ending}, and what is said of it
    "exp_{kind}.toml": ('scene = "{kind}.xml"\n', "{kind}.xml: " + IS_NONE),
    "include_{kind}.xml": ('<mujoco><include file="{kind}.xml"/></mujoco>', "{kind}.xml: " + IS_NONE),
    "robot_{kind}.xml": (
        '<mujoco><asset><model name="m" file="{kind}.toml"/></asset></mujoco>',
        "{kind}.toml: " + IS_NONE,
    ),
    "model_{kind}.xml": (
        '<mujoco><asset><model name="m" file="{kind}.xml"/></asset></mujoco>',
        "model_{kind}.xml:1: model: file = {kind}.xml: " + IS_NONE,
    ),
    "mesh_{kind}.xml": (
        '<mujoco>\n<asset><mesh name="m" file="{kind}.obj"/></asset></mujoco>',
        "mesh_{kind}.xml:2: mesh: file = {kind}.obj: " + IS_NONE,
    ),
    "meshdir_{kind}.xml": (
        '<mujoco><compiler meshdir="below"/><asset><mesh name="m" file="deep_{kind}.obj"/></asset></mujoco>',
        "mesh: file = below/deep_{kind}.obj: " + IS_NONE,
    ),
    "nested_{kind}.xml": (
        '<mujoco><asset><model name="m" file="mesh_{kind}.xml"/></asset></mujoco>',
        "mesh_{kind}.xml:2: mesh",
    ),
    "texture_{kind}.xml": (
        '<mujoco><asset><texture name="t" type="cube" fileleft="{kind}.png"/></asset></mujoco>',
        "texture: fileleft = {kind}.png: " + IS_NONE,
    ),
    "field_{kind}.xml": (
        '<mujoco><asset><hfield name="t" size="1 1 1 1" file="{kind}.png"/></asset></mujoco>',
        "hfield: file = {kind}.png: " + IS_NONE,
    ),
    "poses_{kind}.toml": (
        'kind = "continuum"\n[[section]]\nconstant_length = 0.1\nbend_limit = 1.5\nlinks = 4\n[controller]\n'
        'plugin = "tendril.follow"\nposes = {{ file = "{kind}.csv" }}\n',
        "poses_{kind}.toml:8: controller: poses",
    ),
}
PLANS = {
    "plan_{kind}.toml": ('robot = "{kind}.toml"\nwaypoints = [[0, 0, 0.1]]\n', "{kind}.toml: " + IS_NONE),
    "obstacle_{kind}.toml": (
        'robot = "arm.toml"\nwaypoints = [[0, 0, 0.1]]\n[[obstacle]]\nmesh = {{ file = "{kind}.obj" }}\n',
        "obstacle_{kind}.toml:3: obstacle 0: {kind}.obj: " + IS_NONE,
    ),
}
ENDINGS = ("toml", "xml", "csv", "h5", "obj", "png", "so")
for kind in ("pipe", "endless"):
    CASES += [
        ([command, name.format(kind=kind)], USAGE, [says.format(kind=kind)])
        for command, files in (("run", NAMING), ("plan", PLANS))
        for name, (_, says) in files.items()
    ]
    CASES += [
        (["run", f"{kind}.xml"], USAGE, [f"{kind}.xml: {IS_NONE}"]),
        (["view", f"mesh_{kind}.xml"], USAGE, [IS_NONE]),
        (["run", "arm.toml", "--plugin", f"{kind}.so"], USAGE, [f"--plugin: {kind}.so: must be a plugin library"]),
        (["ik", f"{kind}.toml", "zero_bytes.csv"], USAGE, [f"{kind}.toml: {IS_NONE}"]),
        (["fk", f"{kind}.toml", "zero_bytes.csv"], USAGE, [f"{kind}.toml: {IS_NONE}"]),
        (["ik", "arm.toml", f"{kind}.csv"], USAGE, [f"{kind}.csv: "]),
        (["fk", "arm.toml", f"{kind}.csv"], USAGE, [f"{kind}.csv: "]),
    ]
    CASES += [
        ([*command, f"{kind}.h5", *more], USAGE, [f"{kind}.h5: {IS_NONE}"])
        for command, *more in (
            (("view",),),
            (("render",), "-o", "x.png"),
            (("rollout", "info"),),
            (("rollout", "replay"),),
            (("rollout", "verify"),),
            (("rollout", "recover"), "x.h5"),
        )
    ]


def prepare(folder):
    """Copies of the corpus, and the files that cannot be kept in a repository."""
    for file in filter(Path.is_file, CORPUS.iterdir()):
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
    (folder / "below").mkdir()
    for file in (*("{kind}." + ending for ending in ENDINGS), "below/deep_{kind}.obj"):
        (folder / file.format(kind="endless")).symlink_to("/dev/zero")
        os.mkfifo(folder / file.format(kind="pipe"))
    for kind in ("pipe", "endless"):
        for name, (text, _) in {**NAMING, **PLANS}.items():
            (folder / name.format(kind=kind)).write_text(text.format(kind=kind))


def verdict(program, folder, arguments, exit_code, pieces):
    """Returns what is wrong with the answer to one case; empty when nothing is."""
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
    for arguments in (
        ["doctor"],
        ["--help"],
        ["model", "arm.toml"],
        ["run", "arm.toml", "--no-record", "--duration", "0.01", "--out", "out"],
        ["run", "arm.toml", "--no-record", "--duration", "0.01", "--out", "out", "--json"],
    ):
        with tempfile.TemporaryDirectory() as name, open("/dev/full", "w", encoding="ascii") as full:
            prepare(Path(name))
            done = subprocess.run(
                [program, *arguments], cwd=name, stdout=full, stderr=subprocess.PIPE, text=True, timeout=PATIENCE
            )
        if done.returncode != IO or done.stderr != "tendril: stdout: could not be written [input-output]\n":
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
