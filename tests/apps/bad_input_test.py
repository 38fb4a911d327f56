#!/usr/bin/env python3
"""Feeds `tendril` input that is wrong in one place each time.

Every case must end with the documented exit code and exactly one line on stderr that names
the file or option, the field, the value and what is allowed; never a crash, never a run.

usage: bad_input_test.py PROGRAM
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

USAGE, IO = 2, 4
SECTION = "[[section]]\nconstant_length = 0.1\nbend_limit = 1.5\nlinks = 4\n"
ROBOT = 'kind = "continuum"\n' + SECTION
REACH = ROBOT + '[controller]\nplugin = "tendril.reach"\ntarget = "target"\n'
FOLLOW = (
    'kind = "continuum"\n[base]\nfeed = 0.05\n'
    + SECTION
    + '[controller]\nplugin = "tendril.follow"\ncorner_radius = 0.12\n'
    "waypoints = [[0, 0, 0], [0, 0, 0.3], [0.2, 0, 0.3]]\n"
)
SCENE = """<mujoco><compiler conflict="merge"/><asset><model name="arm" file="{arm}"/></asset>
<worldbody>{bodies}<attach model="arm" body="base" prefix="A_"/></worldbody></mujoco>"""
TWICE = """<mujoco><asset><model name="arm" file="good.toml"/></asset><worldbody>
<attach model="arm" body="base" prefix="A_"/><attach model="arm" body="base" prefix="A_"/></worldbody></mujoco>"""
MOCAP = '<body name="target" mocap="true" pos="0 0 0.1"/>'
FIXED = '<body name="target" pos="0 0 0.1"/>'
EXPERIMENT = 'scene = "good.xml"\nduration = 0.01\n'
CHECK = '[[check]]\nmetric = "tip_error_end"\nmax = 1\n'
PICTURE = '<mujoco><worldbody><camera name="front"/><camera name="top"/></worldbody></mujoco>'
KEYS = '<mujoco><keyframe><key name="home"/><key name="start"/></keyframe></mujoco>'
CIRCLE = '[[motion]]\nbody = "target"\nkind = "circle"\nradius = 0.1\nspeed = 0.1\n'

FILES = {
    "good.toml": REACH,
    "good.xml": SCENE.format(arm="good.toml", bodies=MOCAP),
    "good_experiment.toml": EXPERIMENT + CHECK + '[[check]]\nmetric = "status_end"\nmax = 2\n' + CIRCLE,
    "fixed.xml": SCENE.format(arm="good.toml", bodies=FIXED),
    "lacking.xml": SCENE.format(arm="good.toml", bodies=""),
}


# a file of each kind, its name in messages, and the commands that take it
KINDS = {
    "good_experiment.toml": ("an experiment", {"run", "view", "plan"}),
    "good.xml": ("a scene", {"run", "view", "plan"}),
    "good.toml": ("a robot file", {"run", "view", "model", "ik", "fk", "march"}),
    "tube.toml": ("a tube file", {"view", "model"}),
    "shell.toml": ("a shell file", {"view", "model"}),
    "plan.toml": ("a plan file", {"plan"}),
    "path_plan.toml": ("a plan file", {"plan"}),
    "table.csv": ("a table", {"ik ROBOT", "fk ROBOT", "march ROBOT"}),
    "rollout.h5": ("a recording", {"view", "rollout"}),
    "mesh.obj": ("a mesh", set()),
}
KIND_FILES = {
    "tube.toml": 'kind = "tube"\n',
    "shell.toml": 'kind = "shell"\n',
    "plan.toml": "target = [0.1, 0.2]\n",
    "path_plan.toml": 'robot = "good.toml"\n',
    "table.csv": "x,y,z\n0,0,0.1\n",
    "rollout.h5": "",
    "mesh.obj": "",
}
COMMANDS = {
    "run": lambda file: run(file),
    "view": lambda file: ["view", file],
    "model": lambda file: ["model", file],
    "plan": lambda file: ["plan", file],
    "ik": lambda file: ["ik", file, "table.csv"],
    "ik ROBOT": lambda file: ["ik", "good.toml", file],
    "fk": lambda file: ["fk", file, "table.csv"],
    "fk ROBOT": lambda file: ["fk", "good.toml", file],
    "march": lambda file: ["march", file, "table.csv"],
    "march ROBOT": lambda file: ["march", "good.toml", file],
    "rollout": lambda file: ["rollout", "info", file],
}


def robot(change, old=""):
    """The robot file with one piece of text replaced, or added at its end."""
    return ROBOT.replace(old, change) if old else ROBOT + change


def follow(old, new):
    """A path-following robot with one piece of text replaced."""
    assert old in FOLLOW
    return {"r.toml": FOLLOW.replace(old, new)}


def run(file, *options):
    return ["run", file, "--no-record", "--duration", "0.01", *options]


# name, files to write, arguments, exit code, pieces that stderr must contain
CASES = [
    # command line
    ("no command", {}, [], USAGE, []),
    ("unknown command", {}, ["rnu"], USAGE, ["rnu", "run"]),
    ("unknown option", {}, ["run", "good.xml", "--sede", "1"], USAGE, ["--sede"]),
    ("no file", {}, ["run"], USAGE, ["file"]),
    ("missing file", {}, run("none.toml"), USAGE, ["none.toml", "No such file"]),
    ("missing scene file", {}, run("none.xml"), USAGE, ["none.xml", "No such file"]),
    ("a folder", {}, run("."), USAGE, ["is a folder"]),
    ("unknown kind of file", {"a.txt": "x"}, run("a.txt"), USAGE, ["a.txt", ".txt", "must be an experiment"]),
    ("seed is a word", {}, run("good.xml", "--seed", "abc"), USAGE, ["--seed", "abc", "integer"]),
    ("seed is negative", {}, run("good.xml", "--seed=-1"), USAGE, ["--seed", "-1", "integer"]),
    ("seed is a fraction", {}, run("good.xml", "--seed", "1.5"), USAGE, ["--seed", "1.5", "integer"]),
    ("seed is too large", {}, run("good.xml", "--seed", "9" * 30), USAGE, ["--seed", "integer"]),
    ("seed is given no value", {}, run("good.xml", "--seed"), USAGE, ["--seed"]),
    ("duration is zero", {}, ["run", "good.xml", "--duration", "0"], USAGE, ["--duration", "0", "(0, 1e6]"]),
    ("duration is negative", {}, ["run", "good.xml", "--duration=-3"], USAGE, ["--duration", "-3", "(0, 1e6]"]),
    ("duration is NaN", {}, ["run", "good.xml", "--duration", "nan"], USAGE, ["--duration", "nan", "(0, 1e6]"]),
    ("duration is infinite", {}, ["run", "good.xml", "--duration", "inf"], USAGE, ["--duration", "inf", "(0, 1e6]"]),
    ("duration is a word", {}, ["run", "good.xml", "--duration", "10s"], USAGE, ["--duration", "10s", "(0, 1e6]"]),
    ("set without value", {}, run("good.xml", "--set", "option.timestep"), USAGE, ["--set", "key=value"]),
    ("set of an unknown key", {}, run("good.xml", "--set", "speed=1"), USAGE, ["--set", "speed", "option."]),
    ("set of an option", {}, run("good.xml", "--set", "duration=1"), USAGE, ["must be given as --duration 1"]),
    ("set of no TOML", {}, run("good.xml", "--set", "controller.x=a, b"), USAGE, ["a, b: must", """'"a, b"'"""]),
    (
        "set of a prefix that the scene does not have",
        {},
        run("good.xml", "--set", "controller.B_.rate_limit=1"),
        USAGE,
        ["controller.B_.rate_limit", "'B_' is no prefix of a robot: the scene has A_"],
    ),
    (
        "a prefix twice",
        {"two.xml": TWICE},
        run("two.xml"),
        USAGE,
        ["two.xml", "element base already exists with prefix A_"],
    ),
    (
        "set of a bad timestep",
        {},
        run("good.xml", "--set", "option.timestep=-1"),
        USAGE,
        ["option.timestep", "-1", "must be"],
    ),
    ("set of an unknown body", {}, run("good.xml", "--set", "body.x.mass=1"), USAGE, ["body.x.mass", "no such body"]),
    ("set of an unknown robot key", {}, run("good.xml", "--set", "robot.section.1.lnks=3"), USAGE, ["lnks"]),
    ("set of a bad robot value", {}, run("good.xml", "--set", "robot.section.1.links=0"), USAGE, ["links", "0"]),
    (
        "unknown controller",
        {},
        run("good.xml", "--controller", "tendril.nope"),
        USAGE,
        ["controller.plugin", "tendril.nope", "tendril.reach"],
    ),
    (
        "output folder in a place that cannot be written",
        {},
        ["run", "good.xml", "--out", "/proc/none"],
        IO,
        ["/proc/none", "writable folder"],
    ),
    (
        "check that can never fail: an error is never negative",
        {"e.toml": EXPERIMENT + '[[check]]\nmetric = "tip_error_end"\nmin = 0\n'},
        run("e.toml"),
        USAGE,
        ["e.toml", "min = 0", "can never fail"],
    ),
    (
        "check that can never fail: the last status",
        {"e.toml": EXPERIMENT + '[[check]]\nmetric = "status_max"\nmax = 13\n'},
        run("e.toml"),
        USAGE,
        ["e.toml", "max = 13", "can never fail"],
    ),
    (
        "settling without an end",
        {"e.toml": EXPERIMENT + '[[check]]\nmetric = "settle_time"\nthreshold = 1\nmin = 0\n'},
        run("e.toml"),
        USAGE,
        ["e.toml", "max", "never settles"],
    ),
    *(
        (
            f"flag {flag} = disable",
            {
                "e.toml": EXPERIMENT.replace("good.xml", "off.xml") + CHECK,
                "off.xml": SCENE.format(arm="good.toml", bodies=MOCAP).replace(
                    "<asset>", f'<option><flag {flag}="disable"/></option><asset>'
                ),
            },
            run("e.toml"),
            USAGE,
            ["off.xml", flag, "disable", "must be"],
        )
        for flag in ("sensor", "constraint", "spring", "damper", "actuation")
    ),
    (
        "contacts are switched off",
        {
            "e.toml": EXPERIMENT.replace("good.xml", "off.xml") + CHECK.replace("tip_error_end", "wall_force_max"),
            "off.xml": SCENE.format(arm="good.toml", bodies=MOCAP).replace(
                "<asset>", '<option><flag contact="disable"/></option><asset>'
            ),
        },
        run("e.toml"),
        USAGE,
        ["e.toml", "wall_force_max", "contacts are switched off", "disable"],
    ),
    (
        "a wall that cannot be touched",
        {
            "e.toml": EXPERIMENT.replace("good.xml", "off.xml") + CHECK.replace("tip_error_end", "penetration_max"),
            "off.xml": SCENE.format(
                arm="good.toml",
                bodies=MOCAP + '<geom name="wall" type="box" size="1 1 .01" pos="0 0 .3" contype="0" conaffinity="0"/>',
            ),
        },
        run("e.toml"),
        USAGE,
        ["e.toml", "penetration_max", "no geom of the scene can touch a robot"],
    ),
    (
        "replicated bodies after a robot",
        {
            "s.xml": SCENE.format(arm="good.toml", bodies=MOCAP).replace(
                "</worldbody>", '<replicate count="3" offset=".1 0 0"><geom size=".01"/></replicate></worldbody>'
            )
        },
        run("s.xml"),
        USAGE,
        ["s.xml:2: replicate", "must come before", "<attach>"],
    ),
    (
        "start of a snake in degrees",
        {"snake.toml": 'kind = "snake"\njoints = 4\nlink_length = 0.1\n[start]\nyaw = [34, 1, 0]\n'},
        ["model", "snake.toml"],
        USAGE,
        ["snake.toml:5", "yaw", "34 rad", "in degrees?"],
    ),
    ("output folder is a file", {}, ["run", "good.xml", "--out", "good.xml"], USAGE, ["good.xml", "input"]),
    ("model output cannot be written", {}, ["model", "good.toml", "-o", "/proc/none/a.xml"], IO, ["/proc/none/a.xml"]),
    (
        "model output is a scene",
        {"mine.xml": "<mujoco/>"},
        ["model", "good.toml", "-o", "mine.xml"],
        IO,
        ["--output: mine.xml", "has not written it"],
    ),
    (
        "plain model of an experiment",
        {},
        ["model", "--plain", "good_experiment.toml"],
        USAGE,
        ["good_experiment.toml: is an experiment", "a scene"],
    ),
    ("model of a missing file", {}, ["model", "none.toml"], USAGE, ["none.toml", "No such file"]),
    ("duration is empty", {}, ["run", "good.xml", "--duration", ""], USAGE, ["--duration", "empty"]),
    ("seed is empty", {}, run("good.xml", "--seed="), USAGE, ["--seed", "empty"]),
    ("file is empty text", {}, ["run", ""], USAGE, ["file", "empty"]),
    (
        "camera of the window is unknown",
        {"s.xml": PICTURE},
        ["view", "s.xml", "--camera", "tpo"],
        USAGE,
        ["--camera: tpo", "it has front, top"],
    ),
    (
        "screenshot into a folder that is missing",
        {},
        ["view", "good.xml", "--screenshot", "no/x.png"],
        IO,
        ["--screenshot: no/x.png", "folder"],
    ),
    ("plugin library is missing", {}, run("good.xml", "--plugin", "none.so"), USAGE, ["--plugin", "none.so"]),
    ("plugin library is text", {"text.so": "x"}, run("good.xml", "--plugin", "text.so"), USAGE, ["text.so"]),
    # experiments
    (
        "experiment: window after the end",
        {"e.toml": 'scene = "good.xml"\nduration = 6\n' + CHECK + "after = 20\n"},
        run("e.toml"),
        USAGE,
        ["e.toml:6", "after = 20", "the run ends at 6 s, the window begins at 20 s"],
    ),
    ("experiment: TOML syntax", {"e.toml": "scene = "}, run("e.toml"), USAGE, ["e.toml:1:"]),
    ("experiment: empty", {"e.toml": ""}, run("e.toml"), USAGE, ["e.toml", "scene", "missing"]),
    (
        "experiment: unknown key",
        {"e.toml": EXPERIMENT + "sede = 1\n"},
        run("e.toml"),
        USAGE,
        ["e.toml:3", "sede", "must be one of"],
    ),
    (
        "experiment: scene is missing",
        {"e.toml": 'scene = "none.xml"\n'},
        run("e.toml"),
        USAGE,
        ["e.toml:1: scene", "none.xml", "No such file"],
    ),
    (
        "experiment: duration NaN",
        {"e.toml": 'scene = "good.xml"\nduration = nan\n'},
        run("e.toml"),
        USAGE,
        ["e.toml:2", "duration", "nan", "(0, 1e6]"],
    ),
    (
        "experiment: duration negative",
        {"e.toml": 'scene = "good.xml"\nduration = -1\n'},
        run("e.toml"),
        USAGE,
        ["e.toml:2", "duration", "-1"],
    ),
    (
        "experiment: seed negative",
        {"e.toml": EXPERIMENT + "seed = -1\n"},
        run("e.toml"),
        USAGE,
        ["e.toml:3", "seed", "-1"],
    ),
    (
        "experiment: unknown metric",
        {"e.toml": EXPERIMENT + CHECK.replace("tip", "tpi")},
        run("e.toml"),
        USAGE,
        ["e.toml:4", "metric", "tpi_error_end", "tip_error"],
    ),
    (
        "experiment: limit NaN",
        {"e.toml": EXPERIMENT + CHECK.replace("= 1", "= nan")},
        run("e.toml"),
        USAGE,
        ["e.toml:5", "max", "nan", "finite"],
    ),
    (
        "experiment: sensor is missing",
        {"e.toml": EXPERIMENT + CHECK.replace("tip_error_end", "sensor:x:max")},
        run("e.toml"),
        USAGE,
        ["e.toml", "sensor:x:max", "no sensor 'x'"],
    ),
    (
        "experiment: unknown keyframe",
        {"s.xml": KEYS, "e.toml": 'scene = "s.xml"\nkeyframe = "strat"\n'},
        run("e.toml"),
        USAGE,
        ["e.toml:2", "keyframe = strat", "it has home, start"],
    ),
    (
        "experiment: motion of a missing body",
        {"e.toml": EXPERIMENT + CIRCLE.replace("target", "x")},
        run("e.toml"),
        USAGE,
        ["e.toml:4", "body = x", "mocap", "it has target"],
    ),
    (
        "experiment: motion of a joint's body",
        {"e.toml": EXPERIMENT + CIRCLE.replace("target", "A_s1_l1")},
        run("e.toml"),
        USAGE,
        ["e.toml", "A_s1_l1", "mocap"],
    ),
    (
        "experiment: radius negative",
        {"e.toml": EXPERIMENT + CIRCLE.replace("radius = 0.1", "radius = -1")},
        run("e.toml"),
        USAGE,
        ["e.toml", "radius", "-1", "(0, 1e6]"],
    ),
    (
        "experiment: unknown setting",
        {"e.toml": EXPERIMENT + "[set]\nspeed = 1\n"},
        run("e.toml"),
        USAGE,
        ["e.toml:4", "speed", "option."],
    ),
    (
        "experiment: bad setting",
        {"e.toml": EXPERIMENT + '[set]\n"option.timestep" = 0\n'},
        run("e.toml"),
        USAGE,
        ["e.toml:4", "option.timestep", "0", "must be"],
    ),
    (
        "robot: text without quotes",
        {"r.toml": "kind = continuum\n"},
        ["model", "r.toml"],
        USAGE,
        ["r.toml:1:8", "must be in quotes"],
    ),
    (
        "experiment: bad draw",
        {"e.toml": EXPERIMENT + '[vary]\n"option.timestep" = { uniform = [1] }\n'},
        run("e.toml"),
        USAGE,
        ["e.toml:4", "option.timestep", "uniform"],
    ),
    # robots
    ("robot: TOML syntax", {"r.toml": ROBOT + "links =\n"}, run("r.toml"), USAGE, ["r.toml:"]),
    ("robot: unknown kind", {"r.toml": 'kind = "octopus"\n'}, run("r.toml"), USAGE, ["r.toml", "kind", "octopus"]),
    ("robot: no section", {"r.toml": 'kind = "continuum"\n'}, run("r.toml"), USAGE, ["r.toml", "section"]),
    ("robot: unknown key", {"r.toml": robot("lnks = 3\n")}, run("r.toml"), USAGE, ["r.toml:6", "lnks"]),
    (
        "robot: length NaN",
        {"r.toml": robot("= nan", "= 0.1")},
        run("r.toml"),
        USAGE,
        ["r.toml:3", "constant_length", "nan"],
    ),
    (
        "robot: length negative",
        {"r.toml": robot("= -0.1", "= 0.1")},
        run("r.toml"),
        USAGE,
        ["r.toml:3", "constant_length", "-0.1"],
    ),
    (
        "robot: bend limit infinite",
        {"r.toml": robot("= inf", "= 1.5")},
        run("r.toml"),
        USAGE,
        ["r.toml:4", "bend_limit", "inf"],
    ),
    (
        "robot: bend limit a string",
        {"r.toml": robot('= "big"', "= 1.5")},
        run("r.toml"),
        USAGE,
        ["r.toml:4", "bend_limit", "big"],
    ),
    ("robot: no links", {"r.toml": robot("= 0", "= 4")}, run("r.toml"), USAGE, ["r.toml:5", "links", "0"]),
    (
        "robot: 100000 links",
        {"r.toml": robot("= 100000", "= 4")},
        run("r.toml"),
        USAGE,
        ["r.toml:5", "links", "100000"],
    ),
    ("robot: links a fraction", {"r.toml": robot("= 2.5", "= 4")}, run("r.toml"), USAGE, ["r.toml:5", "links", "2.5"]),
    ("robot: mass zero", {"r.toml": robot("mass = 0\n")}, run("r.toml"), USAGE, ["r.toml:6", "mass", "0"]),
    (
        "robot: stiffness negative",
        {"r.toml": robot("bending_stiffness = -1\n")},
        run("r.toml"),
        USAGE,
        ["r.toml:6", "bending_stiffness", "-1"],
    ),
    (
        "robot: model of a bad file",
        {"r.toml": robot("= 0", "= 4")},
        ["model", "r.toml"],
        USAGE,
        ["r.toml:5", "links", "0"],
    ),
    (
        "robot: plugin is unknown",
        {"r.toml": REACH.replace("tendril.reach", "tendril.x")},
        run("r.toml"),
        USAGE,
        ["r.toml:7", "plugin", "tendril.x", "tendril.reach", "--plugin FILE.so"],
    ),
    (
        "robot: controller setting is unknown",
        {"r.toml": REACH + "gian = 1\n"},
        run("r.toml"),
        USAGE,
        ["r.toml", "gian"],
    ),
    (
        "robot: bad robot in a scene",
        {"r.toml": robot("= 0", "= 4"), "s.xml": SCENE.format(arm="r.toml", bodies="")},
        run("s.xml"),
        USAGE,
        ["r.toml:5", "links", "0"],
    ),
    # scenes
    ("scene: XML syntax", {"s.xml": "<mujoco><worldbody></mujoco>"}, run("s.xml"), USAGE, ["s.xml"]),
    (
        "scene: unknown element",
        {"s.xml": "<mujoco><worldbody><geon/></worldbody></mujoco>"},
        run("s.xml"),
        USAGE,
        ["s.xml", "geon"],
    ),
    (
        "scene: robot file is missing",
        {"s.xml": SCENE.format(arm="none.toml", bodies="")},
        run("s.xml"),
        USAGE,
        ["s.xml:1: model", "none.toml", "No such file"],
    ),
    ("scene: target body is missing", {}, run("lacking.xml"), USAGE, ["lacking.xml", "target"]),
    (
        "path: one point",
        follow("[[0, 0, 0], [0, 0, 0.3], [0.2, 0, 0.3]]", "[[0, 0, 0]]"),
        run("r.toml"),
        USAGE,
        ["r.toml", "controller", "waypoints", "two points"],
    ),
    (
        "path: repeated points",
        follow("[0, 0, 0.3], ", "[0, 0, 0.3], [0, 0, 0.3], "),
        run("r.toml"),
        USAGE,
        ["waypoints", "waypoint 3", "apart from waypoint 2"],
    ),
    (
        "path: a bend that no section can follow",
        follow(
            "0.12\nwaypoints = [[0, 0, 0], [0, 0, 0.3], [0.2, 0, 0.3]]",
            "0.02\nwaypoints = [[0, 0, 0], [0, 0, 0.12], [0.2, 0, 0.12]]",
        ),
        run("r.toml"),
        USAGE,
        ["waypoints", "radius", "section 1", "at least"],
    ),
    (
        "path: corners that do not fit",
        follow("corner_radius = 0.12", "corner_radius = 0.5"),
        run("r.toml"),
        USAGE,
        ["corner_radius = 0.5", "waypoint 2", "at most"],
    ),
    (
        "path: negative speed",
        follow("corner_radius", "speed = -1\ncorner_radius"),
        run("r.toml"),
        USAGE,
        ["controller", "speed = -1", "(0, 10]"],
    ),
    ("path: no feed", follow("[base]\nfeed = 0.05\n", ""), run("r.toml"), USAGE, ["base.feed = 0", "> 0"]),
    ("scene: target body is not mocap", {}, run("fixed.xml"), USAGE, ["fixed.xml", "target", "mocap"]),
]

CASES += [
    (
        f"wrong kind of file: {command}",
        KIND_FILES,
        make(file),
        USAGE,
        [f"{file}: is {kind}", f"tendril {command} takes"],
    )
    for command, make in COMMANDS.items()
    for file, (kind, takers) in KINDS.items()
    if command not in takers
]


def verdict(program, name, files, arguments, exit_code, pieces):
    """Returns what is wrong with the program's solution to one case; empty when nothing is."""
    with tempfile.TemporaryDirectory() as folder:
        for file, text in {**FILES, **files}.items():
            (Path(folder) / file).write_text(text)
        if arguments and arguments[0] == "run" and "--out" not in arguments:
            arguments = [*arguments, "--out", "out"] if arguments[-1] != "--seed" else arguments
        done = subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True, timeout=60)
        stray = [p for p in Path(folder).rglob("MUJOCO_LOG.TXT")]
    problems = []
    if done.returncode != exit_code:
        problems.append(f"exit code {done.returncode}, desired {exit_code}")
    lines = done.stderr.splitlines()
    if len(lines) != 1 or not lines[0].startswith("tendril: "):
        problems.append("stderr must be one line that begins with 'tendril: '")
    problems += [f"stderr does not mention {piece!r}" for piece in pieces if piece not in done.stderr]
    if done.stdout:
        problems.append("stdout must stay empty")
    if stray:
        problems.append("MUJOCO_LOG.TXT was written")
    if problems:
        problems.append("stderr: " + done.stderr.strip())
    return problems


def good_input_works(program):
    """The files that the cases are made of are good themselves."""
    with tempfile.TemporaryDirectory() as folder:
        for file, text in FILES.items():
            (Path(folder) / file).write_text(text)
        for file in ("good.toml", "good.xml", "good_experiment.toml"):
            done = subprocess.run(
                [program, *run(file), "--quiet"], cwd=folder, capture_output=True, text=True, timeout=60
            )
            if done.returncode != 0 or done.stderr:
                return [f"{file}: exit code {done.returncode}: {done.stderr}"]
    return []


def main():
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__.strip())
        return 0 if sys.argv[1:] in (["-h"], ["--help"]) else 2
    program = os.path.abspath(sys.argv[1])
    failed = 0
    for problem in good_input_works(program):
        failed += 1
        print(f"FAILED good input: {problem}")
    for name, files, arguments, exit_code, pieces in CASES:
        problems = verdict(program, name, files, arguments, exit_code, pieces)
        if problems:
            failed += 1
            print(f"FAILED {name}: {' '.join(arguments)}")
            for problem in problems:
                print(f"    {problem}")
    print(f"{len(CASES) - failed} of {len(CASES)} cases pass")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
