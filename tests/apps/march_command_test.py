#!/usr/bin/env python3
"""Runs `tendril march` and checks its joint angles by forward kinematics of the MJCF of `tendril model`.

usage: march_command_test.py PROGRAM
"""

import csv
import io
import json
import math
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

PROGRAM = ""
USAGE = 2
NEAR = 2e-4  # m: the path through the points of an arc against the arc
ROUNDING = 1e-9  # m: twelve digits of the MJCF
RADIUS, STRAIGHT = 0.4, 0.5  # m: of the path, which bends upwards by a quarter of a circle
UNIVERSAL = 'kind = "snake"\njoint = "universal"\njoint_limit = 1.2\njoints = 16\n'
HINGES = 'kind = "snake"\njoints = 16\nlink_length = 0.06\n'
FIXED, CARRIAGE = 'base = "fixed"\n', '[base]\nkind = "carriage"\nfeed = 0.5\n'


def path_text(after=0.0):
    rows = [(0, 0, 0), (STRAIGHT, 0, 0)]
    for i in range(1, 41):
        angle = math.pi / 2 * i / 40
        rows.append((STRAIGHT + RADIUS * math.sin(angle), 0, RADIUS * (1 - math.cos(angle))))
    rows += [(STRAIGHT + RADIUS, 0, RADIUS + after * i / 10) for i in range(1, 11) if after]
    return "x,y,z\n" + "".join(f"{x},{y},{z}\n" for x, y, z in rows)


def off_path(p):
    """Distance from the exact line, arc and line."""
    x, y, z = p
    if x <= STRAIGHT:
        return math.hypot(y, z)
    if z <= RADIUS:
        return math.hypot(y, math.hypot(x - STRAIGHT, z - RADIUS) - RADIUS)
    return math.hypot(y, x - STRAIGHT - RADIUS)


def product(a, b):
    return [[sum(a[i][k] * b[k][j] for k in range(3)) for j in range(3)] for i in range(3)]


def rotated(r, v):
    return [sum(r[i][k] * v[k] for k in range(3)) for i in range(3)]


def rotation(axis, angle):
    x, y, z = axis
    c, s, d = math.cos(angle), math.sin(angle), 1 - math.cos(angle)
    return [
        [c + d * x * x, d * x * y - s * z, d * x * z + s * y],
        [d * x * y + s * z, c + d * y * y, d * y * z - s * x],
        [d * x * z - s * y, d * y * z + s * x, c + d * z * z],
    ]


def of_quaternion(w, x, y, z):
    angle = 2 * math.atan2(math.sqrt(x * x + y * y + z * z), w)
    length = math.sqrt(x * x + y * y + z * z) or 1.0
    return rotation((x / length, y / length, z / length), angle)


def numbers(text):
    return [float(word) for word in text.split()]


def sites_and_links(body, row, p, r, found):
    """Positions of the bodies and sites of an MJCF element, by its own joints and offsets."""
    p = [p[i] + v for i, v in enumerate(rotated(r, numbers(body.get("pos", "0 0 0"))))]
    for joint in body.findall("joint"):
        axis, value = numbers(joint.get("axis")), float(row[joint.get("name")])
        if joint.get("type") == "slide":
            p = [p[i] + value * v for i, v in enumerate(rotated(r, axis))]
        else:
            r = product(r, rotation(axis, value))
    if body.find("freejoint") is not None or any(j.get("type") == "free" for j in body.findall("joint")):
        raise AssertionError("only the base moves freely")
    found[body.get("name")] = p
    for site in body.findall("site"):
        found[site.get("name")] = [p[i] + v for i, v in enumerate(rotated(r, numbers(site.get("pos", "0 0 0"))))]
    for child in body.findall("body"):
        sites_and_links(child, row, p, r, found)


class MarchCommand(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, name, text):
        (Path(self.folder.name) / name).write_text(text)

    def run_program(self, *arguments):
        environment = {**os.environ, "NO_COLOR": "1"}
        return subprocess.run(
            [PROGRAM, *arguments], cwd=self.folder.name, env=environment, capture_output=True, text=True, check=False
        )

    def output(self, *arguments):
        result = self.run_program(*arguments)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def refusal(self, *arguments):
        result = self.run_program(*arguments)
        self.assertEqual((result.returncode, result.stdout), (USAGE, ""))
        self.assertEqual(result.stderr.count("\n"), 1)
        return result.stderr

    def marched(self, robot, path, *options):
        """Rows of the table, and where the MJCF's bodies and sites are in each."""
        self.write("robot.toml", robot)
        self.write("path.csv", path)
        rows = list(csv.DictReader(io.StringIO(self.output("march", "robot.toml", "path.csv", *options))))
        base = ElementTree.fromstring(self.output("model", "robot.toml")).find("worldbody/body[@name='base']")
        places = []
        for row in rows:
            found, p, r = {}, [0.0, 0.0, 0.0], rotation((0, 0, 1), 0.0)
            if "qw" in row:  # the free joint's place replaces the body's
                p = [float(row[name]) for name in "xyz"]
                r = of_quaternion(*(float(row[name]) for name in ("qw", "qx", "qy", "qz")))
                base.set("pos", "0 0 0")
                for joint in base.findall("freejoint") + [j for j in base.findall("joint") if j.get("type") == "free"]:
                    base.remove(joint)
            sites_and_links(base, row, p, r, found)
            places.append(found)
        return rows, places

    def test_universal_joints_on_a_fixed_base_are_all_on_the_path(self):
        robot = UNIVERSAL + FIXED + "link_lengths = [0.12, 0.13, 0.14, 0.12, 0.12, 0.13, 0.12, 0.12]\n"
        for root in ("newton", "chord", "bisection"):
            rows, places = self.marched(robot, path_text(), "--root", root)
            self.assertEqual(len(rows), 1)  # the path is longer than the body
            names = [*(f"link_{k}" for k in range(1, 9)), "tip"]
            self.assertLess(max(off_path(places[0][name]) for name in names), NEAR)
            self.assertLess(math.dist(places[0]["tail"], (0, 0, 0)), ROUNDING)
            self.assertLess(math.dist(places[0]["link_1"], (0, 0, 0)), ROUNDING)

    def test_the_head_follows_the_path_as_a_fixed_body_unfolds(self):
        for robot in (UNIVERSAL + FIXED + "link_length = 0.12\n", HINGES + FIXED):
            robot = robot.replace("joints = 16", "joints = 20")
            rows, places = self.marched(robot, path_text(), "--fold", "0.3", "--step", "0.02")
            self.assertGreater(len(rows), 10)
            self.assertLess(max(off_path(found["tip"]) for found in places), NEAR)
            heights = [found["tip"][2] for found in places]
            self.assertEqual(heights, sorted(heights))
            self.assertLess(max(math.dist(found["link_1"], (0, 0, 0)) for found in places), ROUNDING)

    def test_a_carriage_and_a_free_base_feed_the_body(self):
        for joints in (UNIVERSAL + "link_length = 0.12\n", HINGES):
            rows, places = self.marched(joints + CARRIAGE, path_text(0.4), "--joints", "even")
            self.assertGreater(len(rows), 30)
            for row, found in zip(rows, places, strict=True):
                self.assertLess(math.dist(found["tail"], (float(row["feed"]), 0, 0)), ROUNDING)
                self.assertLess(off_path(found["tip"]), NEAR)
            rows, places = self.marched(joints, path_text(0.4))
            self.assertGreater(len(rows), 10)
            universal = "universal" in joints
            for found in places:
                self.assertLess(off_path(found["tip"]), NEAR)
                self.assertLess(off_path(found["link_1"]), NEAR)
                if universal:
                    self.assertLess(off_path(found["tail"]), NEAR)
                    self.assertLess(max(off_path(found[f"link_{k}"]) for k in range(1, 9)), NEAR)

    def test_the_refitted_path_drifts_and_the_summary_says_how_far(self):
        self.write("robot.toml", HINGES)
        self.write("path.csv", path_text(1.0))
        even = {}
        for path in ("kept", "refit"):
            summary = json.loads(self.output("march", "robot.toml", "path.csv", "--path", path, "--summary"))
            self.assertEqual((summary["march"], summary["path"]), ("torus", path))
            even[path] = summary["even_max"]
        self.assertLess(even["kept"], ROUNDING)
        self.assertGreater(even["refit"], 5e-4)

    def test_bad_input_is_one_line(self):
        self.write("fixed.toml", HINGES + FIXED)
        self.write("free.toml", HINGES)
        self.write("no_limit.toml", UNIVERSAL.replace("joint_limit = 1.2\n", "") + "link_length = 0.1\n")
        self.write("head.toml", HINGES + "[head]\npayload_radius = 0.1\n")
        self.write("arm.toml", 'kind = "continuum"\n[[section]]\nconstant_length = 0.1\nbend_limit = 3.0\n')
        self.write("path.csv", path_text())
        self.write("far.csv", "x,y,z\n0,0,0\n0.5,0,0\n1.5,0,0\n")
        self.write("aside.csv", "x,y,z\n0,0.1,0\n0.5,0.1,0\n")
        self.write("short.csv", "x,y,z\n0,0,0\n0.1,0,0\n0.2,0.01,0\n")
        self.write("one.csv", "x,y,z\n0,0,0\n")
        for arguments, text in (
            (("fixed.toml", "far.csv"), "far.csv: point 3 (1.5 0 0): leaves the reach of the fixed base: 1.5 m"),
            (("fixed.toml", "aside.csv"), "aside.csv: point 1 (0 0.1 0): must be 0 0 0: the path begins at the base"),
            (("fixed.toml", "short.csv"), "short.csv: is 0.2005 m long, the body 0.96 m: must be longer"),
            (("fixed.toml", "one.csv"), "one.csv: 1 points: must be at least two"),
            (("free.toml", "short.csv"), "short.csv: with the head at 0.2005 m: module"),
            (("fixed.toml", "path.csv", "--path", "refit"), '--path = refit: needs base.kind = "free"'),
            (("free.toml", "path.csv", "--fold", "0.1"), '--fold: needs base.kind = "fixed"'),
            (
                ("fixed.toml", "path.csv", "--root", "secant"),
                "--root = secant: must be one of newton, chord, bisection",
            ),
            (("fixed.toml", "path.csv", "--step", "0"), "--step = 0: must be > 0"),
            (("fixed.toml", "path.csv", "--fold", "nan"), "--fold"),
            (("no_limit.toml", "path.csv"), 'no_limit.toml:1: joint_limit: is missing: joint = "universal"'),
            (("head.toml", "path.csv"), "head.toml:4: head: payload: "),
            (("arm.toml", "path.csv"), 'arm.toml: must be a robot of kind = "snake"'),
        ):
            with self.subTest(arguments=arguments):
                self.assertIn(text, self.refusal("march", *arguments))


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        sys.exit(0 if len(sys.argv) > 1 else 2)
    PROGRAM = sys.argv.pop(1)
    unittest.main()
