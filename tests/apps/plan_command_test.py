#!/usr/bin/env python3
"""Runs `tendril plan` on plan files, good and bad.

usage: plan_command_test.py PROGRAM
"""

import csv
import io
import json
import math
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

PROGRAM = ""
REPOSITORY = Path(__file__).resolve().parents[2]
USAGE, IO = 2, 4
CURVATURE, LENGTH = 1e-3, 1e-4  # tolerances of the worked values: 1/m, m
FREE = "target = { x = 0.1, z = 0.4 }\n"
POST = FREE + "[[obstacle]]\ndisc = { x = 0.0, z = 0.2, radius = 0.05 }\n"

# contact, side, curvature, length of every arc, of every solution
CASES = {
    "case_1": [
        [(7, -1, 9.4675, 0.1328), (-1, 0, -3.0694, 0.7458)],
        [(6, 1, -9.9502, 0.1483), (1, -1, 4.2288, 0.4318), (-1, 0, 2.3882, 0.5485)],
    ],
    "case_2": [
        [(1, -1, 3.1406, 0.3930), (-1, 0, -4.1117, 0.4142)],
        [(0, 1, 0.9912, 0.5406), (2, -1, 5.7641, 0.0789), (-1, 0, 1.9277, 0.1697)],
    ],
    "case_3": [[(4, -1, 2.4969, 0.2660), (1, -1, 0.2687, 0.2971), (-1, 0, -4.7295, 0.2325)]],
    "case_4": [[(4, -1, 1.4766, 0.3505), (-1, 0, 0.3724, 0.5077)]],
}
CASE_4_LOCAL = CASES["case_4"] + [[(0, 1, -1.1054, 0.4882), (7, -1, 10.0685, 0.2404), (-1, 0, -2.9072, 0.4481)]]

ROBOT = """kind = "continuum"
[[section]]
constant_length = 0.05
variable_length = 0.1
bend_limit = 3.0
radius = 0.008
[[section]]
constant_length = 0.05
variable_length = 0.1
bend_limit = 3.0
radius = 0.006
"""
NOT_FOUND = (
    r"\Atendril: notice: .*: (\d+ of \d+ waypoints reached \[path-not-complete\]|"
    r"\w+: 0 solutions \[contact-plan-not-found\])\n\Z"
)
BODY = 0.008  # m, the larger radius
PATH = 'robot = "arm.toml"\n'
PATH_POINTS = [(0.06, 0, 0.2), (0.1, 0, 0.18), (0.12, 0, 0.14)]
PATH_OBSTACLES = f"""margin = 0.002
waypoints = {[list(p) for p in PATH_POINTS]}
[[obstacle]]
sphere = {{ center = [0.06, 0, 0.12], radius = 0.02 }}
[[obstacle]]
capsule = {{ from = [-0.02, -1, 0.16], to = [-0.02, 1, 0.16], radius = 0.01 }}
"""
SAME_POSE = 1e-6  # rad, m: other rounding may end a solve in another digit


def bend(row, i):
    return (row[f"theta_{i}"] * math.cos(row[f"phi_{i}"]), row[f"theta_{i}"] * math.sin(row[f"phi_{i}"]))


def between(a, b, share):
    """The pose a fraction of the path from row a to row b: bend vectors and lengths linear."""
    pose = {}
    for i in (1, 2):
        u, v = (p + share * (q - p) for p, q in zip(bend(a, i), bend(b, i)))
        pose[f"theta_{i}"], pose[f"phi_{i}"] = math.hypot(u, v), math.atan2(v, u)
        pose[f"s_{i}"] = a[f"s_{i}"] + share * (b[f"s_{i}"] - a[f"s_{i}"])
    return pose


def centerline(row, steps=40):
    """Points of a body of two arcs: the tangent turns evenly about the axis across the bend direction."""
    point, frame, points = [0.0, 0.0, 0.0], [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [(0.0, 0.0, 0.0)]
    for i in (1, 2):
        theta, phi, length = row[f"theta_{i}"], row[f"phi_{i}"], 0.05 + row[f"s_{i}"]
        x, y, z = ([frame[r][c] for r in range(3)] for c in range(3))
        side = [math.cos(phi) * a + math.sin(phi) * b for a, b in zip(x, y)]
        for k in range(1, steps + 1):
            angle = theta * k / steps
            across, along = ((1 - math.cos(angle)) / theta, math.sin(angle) / theta) if theta > 1e-9 else (0, k / steps)
            points.append(tuple(p + length * (across * s + along * t) for p, s, t in zip(point, side, z)))
        point = points[-1]
        c, s = math.cos(theta), math.sin(theta)
        other = [-math.sin(phi) * a + math.cos(phi) * b for a, b in zip(x, y)]
        new_side, new_z = [c * a - s * b for a, b in zip(side, z)], [s * a + c * b for a, b in zip(side, z)]
        new_x = [math.cos(phi) * a - math.sin(phi) * b for a, b in zip(new_side, other)]
        new_y = [math.sin(phi) * a + math.cos(phi) * b for a, b in zip(new_side, other)]
        frame = [list(column) for column in zip(new_x, new_y, new_z)]
    return points


# A box of half extents 10, 20, 30 mm.
CORNERS = [[(1 if i & 1 << axis else -1) * half for axis, half in enumerate((0.01, 0.02, 0.03))] for i in range(8)]
FACES = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]


def box_obj():
    return "".join("v {} {} {}\n".format(*p) for p in CORNERS) + "".join(
        "f " + " ".join(f"{i + 1}/1" for i in face) + "\n" for face in FACES
    )


def box_stl():
    """Returns a box as binary and as text."""
    triangles = [(f[0], f[i], f[i + 1]) for f in FACES for i in (1, 2)]
    binary = b"solid in spite of that".ljust(80) + struct.pack("<I", len(triangles))
    text = "solid box\n"
    for triangle in triangles:
        binary += struct.pack("<12fH", 0, 0, 0, *(x for i in triangle for x in CORNERS[i]), 0)
        text += (
            "facet normal 0 0 0\nouter loop\n"
            + "".join("vertex {} {} {}\n".format(*CORNERS[i]) for i in triangle)
            + "endloop\nendfacet\n"
        )
    return binary, text + "endsolid box\n"


class PlanTest(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name)

    def tearDown(self):
        self.temporary.cleanup()

    def write(self, text, name="plan.toml"):
        (self.folder / name).write_text(text)
        return name

    def run_program(self, *arguments):
        return subprocess.run(
            [PROGRAM, "plan", *arguments], cwd=self.folder, capture_output=True, text=True, timeout=120
        )

    def passing_metrics(self, experiment):
        ran = subprocess.run(
            [PROGRAM, "run", experiment, "--no-record", "--json"], cwd=self.folder, capture_output=True, text=True
        )
        self.assertEqual(ran.returncode, 0, ran.stderr + ran.stdout)
        return json.loads(ran.stdout)["metrics"]

    def output(self, *arguments):
        done = self.run_program(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        if done.stderr:  # one line, of a plan that was not found
            self.assertRegex(done.stderr, NOT_FOUND)
        return done.stdout

    def solution(self, text):
        return json.loads(self.output(self.write(text), "--json"))

    def refusal(self, text, *arguments):
        """Returns what follows `tendril: plan.toml:` in the one line that the program ends with."""
        done = self.run_program(self.write(text), *arguments)
        self.assertEqual(done.returncode, USAGE, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("tendril: plan.toml"), done.stderr)
        return done.stderr[len("tendril: plan.toml:") :].strip()


class PlanCommand(PlanTest):
    def check_solutions(self, plan, desired):
        self.assertEqual(plan["status"], "solved")
        self.assertEqual(len(plan["solutions"]), len(desired))
        for solution, arcs in zip(plan["solutions"], desired, strict=True):
            self.assertGreaterEqual(solution["min_clearance"], -1e-6)
            for arc, (contact, side, curvature, length) in zip(solution["arcs"], arcs, strict=True):
                self.assertEqual((arc["contact"], arc["side"]), (contact, side))
                self.assertAlmostEqual(arc["curvature"], curvature, delta=CURVATURE)
                self.assertAlmostEqual(arc["length"], length, delta=LENGTH)
            self.assertAlmostEqual(solution["length"], sum(arc["length"] for arc in solution["arcs"]), delta=1e-9)

    # ---- what comes out

    def test_the_plans_of_the_scenes_are_what_the_plan_files_give(self):
        for case, solution, name in (
            ("case_1", 1, "case_1_short"),
            ("case_1", 2, "case_1_long"),
            ("case_2", 1, "case_2_long"),
            ("case_2", 2, "case_2_short"),
            ("case_3", 1, "case_3"),
        ):
            with self.subTest(name):
                out = self.folder / "way.plan"
                self.output(REPOSITORY / f"scenes/plans/{case}.toml", "--solution", str(solution), "--plan", out)
                lines = [line.split() for line in out.read_text().splitlines() if not line.startswith("#")]
                kept = (REPOSITORY / f"scenes/wrap_reach/{name}.plan").read_text()
                desired = [line.split() for line in kept.splitlines() if not line.startswith("#")]
                self.assertEqual([line[0] for line in lines], [line[0] for line in desired])
                for line, want in zip(lines, desired):
                    for a, b in zip(line[1:], want[1:], strict=True):
                        self.assertAlmostEqual(float(a), float(b), delta=1e-9)

    def test_only_paths_to_a_target_can_be_executed(self):
        done = self.run_program(REPOSITORY / "scenes/plans/grasp_post.toml", "--plan", self.folder / "way.plan")
        self.assertEqual(done.returncode, USAGE)
        self.assertIn("--plan: of paths to a target, not of grasps", done.stderr)

    def test_the_cases_have_their_solutions(self):
        for name, desired in CASES.items():
            file = REPOSITORY / "scenes" / "plans" / f"{name}.toml"
            self.check_solutions(json.loads(self.output(str(file), "--json")), desired)
            self.assertIn(f"{len(desired)} solution", self.output(str(file)))
        local = (REPOSITORY / "scenes/plans/case_4.toml").read_text().replace('"persistent"', '"local"')
        self.check_solutions(self.solution(local), CASE_4_LOCAL)

    def test_the_grasp_goes_three_quarters_round(self):
        file = str(REPOSITORY / "scenes/plans/grasp_post.toml")
        solutions = json.loads(self.output(file, "--json"))["solutions"]
        self.assertEqual(len(solutions), 2)
        found = {s["arcs"][0]["side"]: s for s in solutions}
        for side, curvature, length in ((1, 1.1905, 0.3316), (-1, 3.5714, 0.3026)):
            approach, hug = found[side]["arcs"]
            self.assertAlmostEqual(approach["curvature"], curvature, delta=CURVATURE)
            self.assertAlmostEqual(approach["length"], length, delta=LENGTH)
            self.assertAlmostEqual(hug["curvature"], side * 16.667, delta=CURVATURE)
            self.assertAlmostEqual(hug["length"], 0.2827, delta=LENGTH)
            self.assertAlmostEqual(math.degrees(found[side]["wrap_angle"]), 270, delta=1e-6)
            self.assertEqual(found[side]["end"], "complete")

    def test_two_runs_print_the_same_bytes(self):
        file = str(REPOSITORY / "scenes/plans/case_1.toml")
        self.assertEqual(self.output(file, "--json"), self.output(file, "--json"))

    def test_the_text_has_the_time(self):
        first = self.output(str(REPOSITORY / "scenes/plans/case_1.toml")).splitlines()[0]
        self.assertRegex(first, r"^case 1: solved: 2 solutions; 99 arcs tried, 6 chains, \d+\.\d\d ms$")

    def test_every_refused_arc_has_its_reason(self):
        solution = json.loads(self.output(str(REPOSITORY / "scenes/plans/case_2.toml"), "--json"))
        counts = dict.fromkeys(solution["refused"], 0)
        for arc in solution["refused_arcs"]:
            counts[arc["reason"]] += 1
            self.assertEqual(arc["reason"] == "obstacle", "obstacle" in arc)
        self.assertEqual(counts, solution["refused"])

    def test_the_path_runs_along_the_arcs(self):
        file = str(REPOSITORY / "scenes/plans/case_2.toml")
        solution = json.loads(self.output(file, "--json"))["solutions"][1]
        self.output(file, "--path", "way.csv", "--solution", "2", "--spacing", "0.001")
        rows = list(csv.DictReader(io.StringIO((self.folder / "way.csv").read_text())))
        self.assertEqual([float(rows[0][name]) for name in ("s", "x", "z")], [0, 0, 0])
        self.assertAlmostEqual(float(rows[-1]["s"]), solution["length"], delta=1e-9)
        self.assertAlmostEqual(float(rows[-1]["x"]), 0.35, delta=1e-9)
        self.assertAlmostEqual(float(rows[-1]["z"]), 0.64, delta=1e-9)
        self.assertEqual([row["contact"] for row in rows if row["contact"]], ["0", "2"])
        for a, b in zip(rows, rows[1:]):
            chord = math.dist([float(a["x"]), float(a["z"])], [float(b["x"]), float(b["z"])])
            self.assertLessEqual(chord, 0.001 + 1e-9)
            self.assertAlmostEqual(chord, float(b["s"]) - float(a["s"]), delta=1e-7)

    def words_of(self, name="plan.svg"):
        """Returns what is written in a drawing."""
        root = xml.etree.ElementTree.parse(self.folder / name).getroot()
        return [element.text for element in root.iter() if element.tag.endswith("}text")]

    def test_the_drawing_shows_obstacles_contacts_and_paths(self):
        file = str(REPOSITORY / "scenes/plans/case_3.toml")
        dashed = {}
        for shown in ("none", "near", "all"):
            self.output(file, "--svg", "plan.svg", "--refused", shown)
            dashed[shown] = (self.folder / "plan.svg").read_text().count("stroke-dasharray")
            words = self.words_of()
            for word in (
                "case 3: solved",
                "0",
                "1",
                "c0",
                "c4",
                "base",
                "target",
                "x [m]",
                "z [m]",
                "body 20 mm wide",
                "1: length 0.7955 m, clearance 0.00 mm",
            ):
                self.assertIn(word, words)
            self.assertTrue(any("contact 4 (-): curvature +2.4969 1/m, length 0.2660 m" in word for word in words))
            self.assertTrue(any(word.startswith("refused: ") and "obstacle " in word for word in words))
            self.assertEqual(any(word.startswith("obstacle ") for word in words), shown != "none")
        self.assertEqual(dashed["none"], 0)
        self.assertGreater(dashed["near"], 2)
        self.assertGreater(dashed["all"], dashed["near"])

    def test_the_drawing_of_a_grasp_shows_how_far_it_goes_round(self):
        self.output(str(REPOSITORY / "scenes/plans/grasp_post.toml"), "--svg", "plan.svg")
        words = " ".join(self.words_of())
        for word in (
            "grasp a post: solved",
            "270\N{DEGREE SIGN} around the object",
            "wrap: curvature +16.6667 1/m",
            "object (-)",
        ):
            self.assertIn(word, words)

    def test_without_a_solution_the_deepest_chain_is_drawn(self):
        text = (REPOSITORY / "scenes/plans/case_3.toml").read_text()
        solution = self.solution("max_length = 0.4\n" + text.replace("max_length", "# max_length"))
        self.assertEqual((solution["status"], solution["solutions"]), ("no_solution", []))
        deepest = solution["drawing"]["deepest"]
        self.assertEqual(
            [(a["contact"], a["side"]) for a in deepest], [(a["contact"], a["side"]) for a in solution["deepest"]]
        )
        self.assertTrue(all(a["length"] > 0 for a in deepest) and deepest)
        self.output("plan.toml", "--svg", "plan.svg")
        self.assertIn("no solution: the chain with the most contacts", self.words_of())

    def test_the_json_has_what_a_drawing_needs(self):
        solution = json.loads(self.output(str(REPOSITORY / "scenes/plans/case_1.toml"), "--json"))
        drawing = solution["drawing"]
        self.assertEqual(drawing["base"], {"x": 0, "z": 0, "heading": 0})
        self.assertEqual(drawing["target"], {"x": 0.14, "z": 0.69})
        self.assertEqual(drawing["body_radius"], 0.01)
        self.assertEqual(
            drawing["obstacles"][0], {"polygon": [[-0.44, 0.42], [-0.3, 0.42], [-0.3, 0.64], [-0.44, 0.64]]}
        )
        self.assertEqual(len(drawing["refused_from"]), len(solution["refused_arcs"]))
        first = solution["solutions"][0]["arcs"][0]
        k, length = first["curvature"], first["length"]
        ends = {"x": (1 - math.cos(k * length)) / k, "z": math.sin(k * length) / k, "heading": k * length}
        continued = 0
        for arc, start in zip(solution["refused_arcs"], drawing["refused_from"], strict=True):
            if [(a["contact"], a["side"]) for a in arc["after"]] == [(first["contact"], first["side"])]:
                continued += 1
                for key, value in ends.items():
                    self.assertAlmostEqual(start[key], value, delta=1e-9)
            elif not arc["after"]:
                self.assertEqual(start, drawing["base"])
        self.assertGreater(continued, 0)
        self.assertEqual(self.solution(POST)["drawing"]["obstacles"], [{"disc": {"x": 0, "z": 0.2, "radius": 0.05}}])
        grasp = json.loads(self.output(str(REPOSITORY / "scenes/plans/grasp_post.toml"), "--json"))["drawing"]
        self.assertEqual((grasp["object"], "target" in grasp), (0, False))

    def test_the_image_is_a_png(self):
        self.output(str(REPOSITORY / "scenes/plans/grasp_post.toml"), "--png", "plan.png")
        image = (self.folder / "plan.png").read_bytes()
        self.assertEqual(image[:8], b"\x89PNG\r\n\x1a\n")
        width, height = struct.unpack(">II", image[16:24])
        self.assertTrue(400 < width < 4000 and 400 < height < 4000, (width, height))
        self.assertEqual([p.name for p in self.folder.iterdir()], ["plan.png"])

    def test_two_drawings_have_the_same_bytes(self):
        file = str(REPOSITORY / "scenes/plans/case_2.toml")
        self.output(file, "--svg", "a.svg", "--png", "a.png")
        self.output(file, "--svg", "b.svg", "--png", "b.png")
        for kind in ("svg", "png"):
            self.assertEqual((self.folder / f"a.{kind}").read_bytes(), (self.folder / f"b.{kind}").read_bytes())

    def test_without_python_or_matplotlib_one_line_says_what_is_missing(self):
        bare = self.folder / "bare_python"
        bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
        bare.chmod(0o755)
        for python, desired in (
            (self.folder / "no_python", "TENDRIL_PYTHON"),
            (bare, "matplotlib is missing: install it with"),
        ):
            done = subprocess.run(
                [PROGRAM, "plan", self.write(FREE), "--svg", "plan.svg"],
                cwd=self.folder,
                capture_output=True,
                text=True,
                timeout=120,
                env={**os.environ, "TENDRIL_PYTHON": str(python)},
            )
            self.assertEqual((done.returncode, done.stdout), (IO, ""), done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertIn(desired, done.stderr)
            self.assertFalse((self.folder / "plan.svg").exists())

    # ---- statuses

    def test_a_free_path_needs_no_contact(self):
        solution = self.solution(FREE)
        self.assertEqual((solution["status"], len(solution["solutions"])), ("solved", 1))
        self.assertIsNone(solution["solutions"][0]["min_clearance"])
        self.assertEqual(solution["solutions"][0]["arcs"][0]["contact"], -1)

    def test_base_or_target_in_an_obstacle_is_a_status(self):
        self.assertEqual(
            self.solution(POST + "[[obstacle]]\ndisc = { x = 0.0, z = 0.0, radius = 0.05 }\n")["status"],
            "base_in_obstacle",
        )
        self.assertEqual(
            self.solution(POST + "[[obstacle]]\nbox = { x = [0, 0.2], z = [0.35, 0.45] }\n")["status"],
            "target_in_obstacle",
        )

    def test_strict_turns_no_solution_into_1(self):
        file = self.write("max_length = 0.1\n" + FREE)
        self.assertEqual(self.run_program(file).returncode, 0)
        self.assertEqual(self.run_program(file, "--strict").returncode, 1)
        self.assertIn("no_solution", self.run_program(file, "--strict").stdout)
        self.assertEqual(
            self.run_program(file).stderr,
            f"tendril: notice: {file}: no_solution: 0 solutions [contact-plan-not-found]\n",
        )

    def test_a_contact_listed_twice_counts_once(self):
        text = (REPOSITORY / "scenes/plans/case_3.toml").read_text()
        self.check_solutions(self.solution(text + "[[contact]]\ncorner = { x = 0.27, z = 0.48 }\n"), CASES["case_3"])

    def test_the_budget_ends_the_search_as_partial(self):
        text = (REPOSITORY / "scenes/plans/case_1.toml").read_text()
        self.assertEqual(self.solution("max_arcs = 20\n" + text)["status"], "partial")

    def test_the_pruned_search_has_the_same_solutions(self):
        for name in ("case_1", "case_2", "case_3", "case_4"):
            text = (REPOSITORY / f"scenes/plans/{name}.toml").read_text()
            self.check_solutions(self.solution('search = "pruned"\n' + text), CASES[name])

    def test_ten_thousand_contacts_end_as_partial(self):
        text = (REPOSITORY / "scenes/plans/case_1.toml").read_text()
        places = [(i * 0.6180339887 % 1.0 - 0.5, (i + 0.5) / 10_000) for i in range(10_000)]
        text += "".join(f"[[contact]]\ncorner = {{ x = {x:.6f}, z = {z:.6f} }}\n" for x, z in places)
        self.assertEqual(self.solution(text)["status"], "partial")
        pruned = self.solution('search = "pruned"\n' + text)
        self.assertEqual(pruned["status"], "partial")
        self.assertTrue(pruned["solutions"])

    def test_overlapping_obstacles_and_contacts_inside_them_are_no_error(self):
        text = (REPOSITORY / "scenes/plans/case_1.toml").read_text()
        box = "[[obstacle]]\nbox = { x = [-0.17, 0.02], z = [0.36, 0.49] }\n"  # in a box of the scene
        corner, post = "corner = { x = -0.07, z = 0.42 }", "post = { x = -0.07, z = 0.42, radius = 0.03 }"
        inside = f"[[contact]]\n{corner}\n[[contact]]\n{post}\n"
        self.check_solutions(self.solution(text + box + inside), CASES["case_1"])

    def test_contacts_may_be_named_by_obstacle_or_by_place(self):
        boxed = FREE + "[[obstacle]]\nbox = { x = [-0.05, 0.1], z = [0.2, 0.3] }\n[[contact]]\n"
        self.assertEqual(len(self.solution(boxed + "obstacle = 0\n")["contacts"]), 4)
        near = self.solution(boxed + "point = { x = 0.1, z = 0.21 }\nslack = 0.02\n")
        self.assertEqual([(c["x"], c["z"]) for c in near["contacts"]], [(0.1, 0.2)])
        posts = self.solution(POST + "[[contact]]\npoint = { x = 0.05, z = 0.2 }\nslack = 0.01\n")
        self.assertEqual(posts["contacts"], [{"x": 0.0, "z": 0.2, "radius": 0.05}])

    # ---- paths of a robot among obstacles

    def write_robot(self):
        self.write(ROBOT, "arm.toml")
        self.write(box_obj(), "box.obj")

    def path_answer(self, text, *arguments):
        self.write_robot()
        return json.loads(self.output(self.write(PATH + text), "--json", *arguments))

    def poses(self, name="poses.csv"):
        rows = list(csv.DictReader(io.StringIO((self.folder / name).read_text())))
        return [{key: float(value) for key, value in row.items()} for row in rows]

    def test_the_poses_of_the_tube_scene_are_what_its_plan_gives(self):
        scene = REPOSITORY / "scenes" / "tube_narrow"
        self.output(str(scene / "plan.toml"), "--path", "poses.csv", "--strict")
        desired = list(csv.reader((scene / "poses.csv").read_text().splitlines()))
        written = list(csv.reader((self.folder / "poses.csv").read_text().splitlines()))
        self.assertEqual(written[0], desired[0])
        self.assertEqual(len(written), len(desired))
        for a, b in zip(written[1:], desired[1:], strict=True):
            for x, y in zip(a, b, strict=True):
                self.assertAlmostEqual(float(x), float(y), delta=SAME_POSE)

    def test_a_path_meets_its_waypoints_and_keeps_its_margin(self):
        """Against forward kinematics of arcs and distances of sampled points, written down here again."""
        solution = self.path_answer(PATH_OBSTACLES, "--path", "poses.csv")
        self.assertEqual(solution["reached"], 3)
        rows = self.poses()
        self.assertEqual([row["waypoint"] for row in rows if row["waypoint"] == int(row["waypoint"])], [0, 1, 2, 3])
        for row in rows:
            if row["waypoint"] and row["waypoint"] == int(row["waypoint"]):
                tip = centerline(row)[-1]
                self.assertLessEqual(math.dist(tip, PATH_POINTS[int(row["waypoint"]) - 1]), 1e-4)
        least = math.inf
        for a, b in zip(rows, rows[1:]):
            for k in range(21):
                for p in centerline(between(a, b, k / 20)):
                    least = min(
                        least,
                        math.dist(p, (0.06, 0.0, 0.12)) - 0.02 - BODY,
                        math.hypot(p[0] + 0.02, p[2] - 0.16) - 0.01 - BODY,
                    )
        self.assertGreaterEqual(least, 0.002 - 1e-6)
        self.assertAlmostEqual(least, solution["min_clearance"], delta=1e-4)

    def test_a_waypoint_that_is_not_reached_has_its_reason_and_is_left_out(self):
        solution = self.path_answer(
            PATH_OBSTACLES + "[[obstacle]]\nsphere = { center = [0.10, 0, 0.18], radius = 0.001 }\n",
            "--path",
            "poses.csv",
            "--svg",
            "plan.svg",
        )
        self.assertEqual([w["status"] for w in solution["waypoints"]], ["reached", "target_in_obstacle", "reached"])
        self.assertEqual(solution["waypoints"][1]["steps"], 0)
        self.assertEqual(sorted({math.ceil(row["waypoint"]) for row in self.poses()}), [0, 1, 3])
        words = self.words_of()
        self.assertIn("2 target_in_obstacle", words)
        self.assertIn("plan: 2 of 3 waypoints reached", words)
        self.assertIn("not reached", words)
        self.assertEqual(self.run_program("plan.toml", "--strict").returncode, 1)

    def test_what_cannot_be_reached_is_a_status(self):
        far = self.path_answer("waypoints = [[0, 0, 5]]\n")
        self.assertEqual(far["waypoints"][0]["status"], "not_reached")
        self.assertIsNone(far["waypoints"][0]["clearance"])
        self.assertEqual(
            self.run_program("plan.toml").stderr,
            "tendril: notice: plan.toml: 0 of 1 waypoints reached [path-not-complete]\n",
        )
        inside = self.path_answer(
            "waypoints = [[0, 0, 0.2]]\n[[obstacle]]\nsphere = { center = [0, 0, 0], radius = 0.01 }\n"
        )
        self.assertEqual(inside["waypoints"][0]["status"], "base_in_obstacle")
        done = self.run_program("plan.toml", "--path", "poses.csv")
        self.assertEqual(
            (done.returncode, done.stderr),
            (USAGE, "tendril: --path: no waypoint was reached: there is no path [bad-input]\n"),
        )

    def test_every_shape_stands_where_it_is_put(self):
        """The clearance of a straight body on the z axis, 0.2 m long, from a shape 50 mm aside."""
        for shape in (
            "sphere = { center = [0.07, 0, 0.1], radius = 0.02 }",
            "capsule = { from = [0.07, -0.1, 0.1], to = [0.07, 0.1, 0.1], radius = 0.02 }",
            "box = { half_extents = [0.01, 0.02, 0.03], center = [0.07, 0, 0.1], rotation = [0, 0, 1.5707963267948966] "
            "}",
            "prism = { corners = [[0, 0], [0.02, 0], [0, 0.02]], half_height = 0.01, center = [0.05, 0, 0.1] }",
            "polygon = [[0.05, 0.05], [0.09, 0.05], [0.09, 0.1]]",
            "half_space = { point = [0.05, 3, 4], normal = [-2, 0, 0] }",
            'mesh = { file = "box.obj", center = [0.06, 0, 0.1] }',
        ):
            solution = self.path_answer("waypoints = [[0, 0, 0.2]]\n[[obstacle]]\n" + shape + "\n", "--svg", "plan.svg")
            self.assertAlmostEqual(solution["waypoints"][0]["clearance"], 0.05 - BODY, delta=1e-6, msg=shape)
            self.assertEqual(solution["waypoints"][0]["obstacle"], "0")
        row = self.path_answer(
            "waypoints = [[0, 0, 0.2]]\n[[obstacle]]\nsphere = { center = [0.17, 0, 0.1], radius = 0.02 }\n"
            "repeat = { count = 6, step = [-0.02, 0, 0] }\n"
        )
        self.assertAlmostEqual(row["waypoints"][0]["clearance"], 0.05 - BODY, delta=1e-9)
        self.assertEqual(row["waypoints"][0]["obstacle"], "0[5]")

    def test_an_stl_file_is_the_same_mesh(self):
        text = 'waypoints = [[0, 0, 0.2]]\n[[obstacle]]\nmesh = { file = "%s", center = [0.06, 0, 0.1] }\n'
        binary, words = box_stl()
        self.write_robot()
        (self.folder / "binary.stl").write_bytes(binary)
        (self.folder / "text.stl").write_text(words)
        for name in ("binary.stl", "text.stl"):
            self.assertAlmostEqual(self.path_answer(text % name)["waypoints"][0]["clearance"], 0.05 - BODY, delta=1e-6)

    def test_a_path_in_space_with_contact_is_written_pose_by_pose(self):
        plan = REPOSITORY / "scenes" / "plans" / "space.toml"
        result = json.loads(self.output(plan, "--contact", "--json"))
        self.assertEqual(result["status"], "reached")
        self.assertTrue(result["contacts"])
        for contact in result["contacts"]:
            self.assertGreater(contact["gap"], 0)
            self.assertGreater(contact["force"], 0)
        for place, target in zip(result["poses"][-1]["tip"], (0.25, 0.2, 0.95), strict=True):
            self.assertAlmostEqual(place, target, delta=1e-4)
        path = self.folder / "space.csv"
        self.output(plan, "--contact", "--path", path, "--svg", "plan.svg")
        self.assertIn(f"contacts at the target: {len(result['contacts'])}", self.words_of())
        rows = list(csv.DictReader(path.read_text().splitlines()))
        self.assertEqual(len(rows), len(result["poses"]))
        for row in rows:
            self.assertLessEqual(float(row["length"]), 0.7 + 1e-9)
            for k in (1, 2):
                self.assertLessEqual(math.hypot(float(row[f"k{k}_x"]), float(row[f"k{k}_y"])), 3.0 / 0.35 + 1e-9)

    def test_paths_with_contact_are_refused_for_arms_that_cannot_have_them(self):
        tube = REPOSITORY / "scenes" / "tube_narrow" / "plan.toml"
        flat = REPOSITORY / "scenes" / "plans" / "case_1.toml"
        for file, reason in (tube, "waypoints: 13 of them: must be 1"), (flat, "--contact: for arms in space"):
            done = self.run_program(file, "--contact")
            self.assertEqual(done.returncode, USAGE)
            self.assertEqual(len(done.stderr.splitlines()), 1)
            self.assertIn(reason, done.stderr)

    def test_the_drawing_of_a_path_has_one_view_or_three(self):
        self.path_answer(PATH_OBSTACLES, "--svg", "plan.svg", "--png", "plan.png")
        words = self.words_of()
        self.assertEqual(
            [w for w in words if w.endswith("[m]")], ["x [m]", "z [m]", "y [m]", "z [m]", "x [m]", "y [m]"]
        )
        for word in ("1", "2", "3", "base", "start", "waypoint 1", "waypoint 3", "path of the tip", "body 16 mm wide"):
            self.assertIn(word, words)
        self.assertTrue(any(w.startswith("least clearance ") and w.endswith("mm, margin 2 mm") for w in words))
        self.assertEqual((self.folder / "plan.png").read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        self.path_answer("planar = true\n" + PATH_OBSTACLES, "--svg", "plan.svg")
        self.assertEqual([w for w in self.words_of() if w.endswith("[m]")], ["x [m]", "z [m]"])

    def test_the_json_has_the_bodies_of_a_path(self):
        """Against forward kinematics of arcs, written down here again."""
        solution = self.path_answer(PATH_OBSTACLES, "--path", "poses.csv")
        drawing = solution["drawing"]
        self.assertEqual((drawing["planar"], drawing["body_radius"], drawing["margin"]), (False, BODY, 0.002))
        at_waypoints = [row for row in self.poses() if row["waypoint"] == int(row["waypoint"])]
        for row, drawn in zip(at_waypoints, [drawing["start"], *drawing["waypoints"]], strict=True):
            desired = centerline(row, steps=(len(drawn) - 1) // 2)
            for p, q in zip(drawn, desired, strict=True):
                self.assertLessEqual(math.dist(p, q), 2e-7)  # they are rounded
        self.assertEqual(drawing["tip"][0], drawing["start"][-1])
        self.assertEqual(drawing["tip"][-1], drawing["waypoints"][-1][-1])
        self.assertEqual(
            drawing["obstacles"],
            [
                {"kind": "capsule", "radius": 0.02, "outlines": [[[0.06, 0, 0.12]] * 2]},
                {"kind": "capsule", "radius": 0.01, "outlines": [[[-0.02, -1, 0.16], [-0.02, 1, 0.16]]]},
            ],
        )

    def test_the_json_has_the_shapes_of_obstacles(self):
        texts = (
            "box = { half_extents = [0.01, 0.02, 0.03], center = [0.2, 0, 0.1], rotation = [0, 0, 1.5707963267948966] "
            "}",
            "prism = { corners = [[0, 0], [0.02, 0], [0, 0.02]], half_height = 0.01, center = [0.2, 0, 0.1] }",
            "polygon = [[0.2, 0.05], [0.3, 0.05], [0.3, 0.1]]",
            "half_space = { point = [0.2, 3, 4], normal = [-2, 0, 0] }",
            'mesh = { file = "box.obj", center = [0.2, 0, 0.1] }\nrepeat = { count = 3, step = [0.1, 0, 0] }',
        )
        solution = self.path_answer(
            "waypoints = [[0, 0, 0.2]]\n" + "".join(f"[[obstacle]]\n{text}\n" for text in texts)
        )
        box, prism, polygon, half_space, mesh = solution["drawing"]["obstacles"]
        self.assertEqual(
            [s["kind"] for s in (box, prism, polygon, half_space, mesh)],
            ["solid", "solid", "prism", "half_space", "solid"],
        )
        for shape, faces, low, high in (
            (box, 6, (0.18, -0.01, 0.07), (0.22, 0.01, 0.13)),
            (prism, 5, (0.2, 0, 0.09), (0.22, 0.02, 0.11)),
            (mesh, 12, (0.19, -0.02, 0.07), (0.21, 0.02, 0.13)),
        ):
            self.assertEqual(len(shape["outlines"]), faces)
            points = [p for face in shape["outlines"] for p in face]
            for axis in range(3):
                self.assertAlmostEqual(min(p[axis] for p in points), low[axis], delta=1e-12)
                self.assertAlmostEqual(max(p[axis] for p in points), high[axis], delta=1e-12)
        self.assertEqual(polygon["outlines"], [[[0.2, 0, 0.05], [0.3, 0, 0.05], [0.3, 0, 0.1]]])
        self.assertEqual((half_space["outlines"], half_space["normal"]), ([[[0.2, 3, 4]]], [-2, 0, 0]))
        self.assertEqual(mesh["repeat"], {"count": 3, "step": [0.1, 0, 0]})

    def test_bad_path_plans_are_refused_with_the_place(self):
        self.write_robot()
        cut = box_obj().rpartition("f ")[0]
        self.write(cut, "open.obj")
        self.write("v 0 0 0\nv 1 0 x\n", "word.obj")
        self.write("v 0 0 0\nf 1 2 3\n", "missing.obj")
        self.write("solid\n", "empty.stl")
        (self.folder / "cut.stl").write_bytes(b"S" + box_stl()[0][1:-1])
        one = "waypoints = [[0, 0, 0.2]]\n"
        thing = one + "[[obstacle]]\n"
        for text, desired in (
            ("", "1: must have one of: waypoints, waypoint"),
            ("waypoints = []\n", "2: waypoints = []: must be a list, not empty"),
            ("waypoints = 3\n", "2: waypoints = 3: must be a list, not empty, of lists of 3 numbers"),
            ("waypoints = [[0, 0]]\n", "2: waypoints = "),
            ("waypoints = [[0, nan, 0.1]]\n", "]: must be in [-1e9, 1e9]"),
            (one + "[[waypoint]]\nposition = [0, 0, 1]\n", "waypoints and waypoint: must be one of them"),
            ("[[waypoint]]\n", "2: waypoint 1: position: is missing, must be three numbers, [x, y, z]"),
            ("[[waypoint]]\nposition = [0, 0, 1]\ndirection = [0, 0, 0]\n", "4: waypoint 1: direction = "),
            ("planar = true\nwaypoints = [[0, 0.1, 0.1]]\n", "y must be 0 in a planar plan"),
            (one + "margin = nan\n", "3: margin = nan: must be in [0, 1e9]"),
            (one + "margin = -1\n", "3: margin = -1: must be in [0, 1e9]"),
            (one + "position_tolerance = 0\n", "3: position_tolerance = 0: must be in (0, 1]"),
            (one + "target = 1\n", "3: unknown key 'target', must be one of: name, robot"),
            (one + "start = { s = [0.02] }\n", "3: start: s = "),
            (one + "start = { s = [0.02, 0.2] }\n", "section 2: must be in [0, 0.1]"),
            (one + "start = { s = [0.05, 0.05], theta = [2.0, 0] }\n", "section 1: must be in [0, 1.5] with s = 0.05"),
            (one + "start = { h = 0.1 }\n", "3: start: h = 0.1: must be in [0, 0], the feed of the robot's base"),
            (thing, "3: obstacle 0: must have one of: sphere, capsule, box, prism, polygon, half_space, mesh"),
            (thing + "sphere = { center = [0, 0, 1] }\n", "4: obstacle 0: sphere: radius: is missing"),
            (
                thing + "sphere = { center = [0, 0, 1], radius = -1 }\n",
                "4: obstacle 0: sphere: radius = -1: must be in [0, 1e9]",
            ),
            (thing + "sphere = { center = [0, nan, 1], radius = 1 }\n", "4: obstacle 0: sphere: center = ["),
            (
                thing + "box = { half_extents = [0, 1, 1] }\n",
                "4: obstacle 0: box: half_extents = [ 0, 1, 1 ]: must be in (0, 1e9]",
            ),
            (thing + "half_space = { point = [0, 0, 0], normal = [0, 0, 0] }\n", "3: obstacle 0: half space: "),
            (thing + "polygon = [[0, 1], [1, 2]]\n", "3: obstacle 0: polygon: number of vertices"),
            (
                thing + "prism = { corners = [[0, 0], [1, 1], [1, 0], [0, 1]], half_height = 1 }\n",
                "3: obstacle 0: polygon: it has no area",
            ),
            (thing + 'mesh = { file = "open.obj" }\n', "3: obstacle 0: mesh: edge"),
            (thing + 'mesh = { file = "no.obj" }\n', "no.obj: No such file"),
            (thing + 'mesh = { file = "arm.toml" }\n', "arm.toml: must be an .obj or .stl file"),
            (thing + 'mesh = { file = "word.obj" }\n', "word.obj:2: x: must be a finite number"),
            (thing + 'mesh = { file = "missing.obj" }\n', "missing.obj:2: 2: must be the number of a vertex above"),
            (thing + 'mesh = { file = "empty.stl" }\n', "empty.stl: has no triangles"),
            (thing + 'mesh = { file = "cut.stl" }\n', "cut.stl: is not an STL file, or is truncated"),
            (
                thing + "sphere = { center = [0, 0, 1], radius = 1 }\nrepeat = { count = 0, step = [0, 0, 1] }\n",
                "5: obstacle 0: repeat: count = 0: must be an integer in [1, 10000]",
            ),
        ):
            with self.subTest(text):
                self.assertIn(desired, self.refusal(PATH + text))
        done = self.run_program(self.write(PATH + thing + "sphere = { center = [0, 0, 0.1], radius = 0.01 }\n"))
        self.assertEqual(
            (done.returncode, done.stderr),
            (
                USAGE,
                "tendril: start: the body's clearance from obstacle 0 is -18.000 mm: must be at least the "
                "margin, 0.000 mm [out-of-range]\n",
            ),
        )
        self.assertIn("no.toml: No such file", self.run_program(self.write('robot = "no.toml"\n' + one)).stderr)
        self.assertIn("robot = 3: must be", self.refusal("robot = 3\n" + one))

    # ---- bad input

    def test_bad_files_are_refused_with_the_place(self):
        box = FREE + "[[obstacle]]\n"
        for text, desired in (
            ("", "must have one of: target, grasp"),
            ("target = 3\n", "1: target = 3: must be a table of x, z"),
            ("target = { x = 1 }\n", "1: target: z: is missing, must be in [-1e9, 1e9]"),
            ("target = { x = nan, z = 1.0 }\n", "1: target: x = nan: must be in [-1e9, 1e9]"),
            (FREE + "base = { x = inf, z = 0.0 }\n", "2: base: x = inf: must be in [-1e9, 1e9]"),
            (FREE + "max_curvature = 0\n", "2: max_curvature = 0: must be in (0, 1e9]"),
            (FREE + "max_length = 0.0\n", "2: max_length = 0: must be in (0, 1e9]"),
            (FREE + "max_bend = 7.0\n", "2: max_bend = 7: must be in (0, 2 pi]"),
            (FREE + "body_radius = -0.01\n", "2: body_radius = -0.01: must be in [0, 1e9]"),
            (FREE + 'rule = "lose"\n', '2: rule = \'lose\': must be "persistent" or "local"'),
            (FREE + 'search = "quick"\n', '2: search = \'quick\': must be "exhaustive" or "pruned"'),
            (FREE + "sections = 0\n", "2: sections = 0: must be an integer in [1, 10000000]"),
            (
                FREE + "obstacles = 1\n",
                "2: unknown key 'obstacles' (did you mean obstacle?), must be one of: name, base",
            ),
            (FREE + "obstacle = 1\n", "2: obstacle = 1: must be tables, each headed [[obstacle]]"),
            (box, "2: obstacle 0: must have one of: box, polygon, disc"),
            (box + "box = { x = [0, 0], z = [1, 2] }\n", "3: obstacle 0: box: x = "),
            (box + "box = { x = [0, 1] }\n", "3: obstacle 0: box: z: is missing, must be [low, high]"),
            (box + "disc = { x = 0, z = 1, radius = -1 }\n", "3: obstacle 0: disc: radius = -1: must be in [0, 1e9]"),
            (box + "polygon = []\n", "3: obstacle 0: polygon = []: must be a list, not empty, of lists of 2 numbers"),
            (box + "polygon = [[0, 0], [1, 0]]\n", "2: obstacle 0: polygon: number of corners = 2, must be >= 3"),
            (
                box + "polygon = [[0, 0], [1, 1], [1, 0], [0, 1]]\n",
                "2: obstacle 0: polygon: edges 0 and 2 cross or touch, must keep apart",
            ),
            (box + "polygon = [[0, 0], [1, 1], [nan, 0]]\n", "3: obstacle 0: polygon = "),
            (box + 'mesh = "open.obj"\n', "3: obstacle 0: unknown key 'mesh', must be one of: box, polygon, disc"),
            (
                box + "disc = { x = 0, z = 9, radius = 1 }\npolygon = [[0, 0], [1, 1], [0, 1]]\n",
                "2: obstacle 0: polygon and disc: must be one of them",
            ),
            (FREE + "[[contact]]\ncorner = { x = 0, y = 1 }\n", "3: contact 0: corner: unknown key 'y'"),
            (FREE + "[[contact]]\nslack = 1.0\n", "2: contact 0: must have one of: corner, post, obstacle, point"),
            (POST + "[[contact]]\nobstacle = 1\n", "5: contact 0: obstacle = 1: must be an integer in [0, 0]"),
            (POST + "[[contact]]\npoint = { x = 1, z = 1 }\nslack = 0.0\n", "5: contact 0: point = "),
            (POST + "[grasp]\nobject = 0\nwrap_angle = 1.0\n", "target and grasp: must be one of them"),
            ("[grasp]\nobject = 0\nwrap_angle = 1.0\n", "2: grasp: object = 0: there is no obstacle"),
            ("target = { x = 1, z = 1 \n", ""),
        ):
            with self.subTest(text):
                self.assertIn(desired, self.refusal(text))
        concave = "[[obstacle]]\npolygon = [[1, 0], [3, 0], [3, 2], [2, 1], [1, 2]]\n[grasp]\nobject = 0\nwrap_angle = "
        done = self.run_program(self.write(concave + "1.0\n"))
        self.assertEqual(
            (done.returncode, done.stderr),
            (USAGE, "tendril: grasp: object = 0, must be a disc or a convex polygon [out-of-range]\n"),
        )
        self.assertIn("wrap_angle = 7: must be in (0, 2 pi)", self.refusal(concave + "7.0\n"))

    def test_bad_options_are_refused(self):
        file = self.write(FREE)
        for arguments, code, desired in (
            (("--refused", "some"), USAGE, "--refused: some: must be one of: none, near, all"),
            (("--solution", "0"), USAGE, "--solution: 0: must be >= 1"),
            (
                ("--path", "o.csv", "--solution", "2"),
                USAGE,
                "--solution: 2: must be at most the number of solutions, 1",
            ),
            (("--spacing", "0"), USAGE, "--spacing: 0: must be in"),
            (("--svg", "no/plan.svg"), IO, "no/plan.svg"),
        ):
            done = self.run_program(file, *arguments)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertIn(desired, done.stderr)
        self.assertIn("missing.toml: No such file", self.run_program("missing.toml").stderr)


GEOMS = """<geom name="ball" type="sphere" size="0.02" pos="0.06 0 0.12"/>
<geom name="bar" type="capsule" size="0.01" fromto="-0.02 -1 0.16 -0.02 1 0.16"/>
<geom name="block" type="box" size="0.01 0.02 0.03" pos="0.14 0 0.2" euler="0 0.4 0"/>"""
SAME_OBSTACLES = """[[obstacle]]
sphere = { center = [0.06, 0, 0.12], radius = 0.02 }
[[obstacle]]
capsule = { from = [-0.02, -1, 0.16], to = [-0.02, 1, 0.16], radius = 0.01 }
[[obstacle]]
box = { half_extents = [0.01, 0.02, 0.03], center = [0.14, 0, 0.2], rotation = [0, 0.4, 0] }
"""


class Scenes(PlanTest):
    """The plan of a scene."""

    def write_scene(
        self,
        geoms=GEOMS,
        target="0.1 0 0.18",
        controller='[controller]\nplugin = "tendril.reach"\n',
        frame="",
        more="",
        name="scene.xml",
    ):
        (self.folder / "arm.toml").write_text(f'name = "arm"\n{ROBOT}{controller}')
        return self.write(
            f"""<mujoco><compiler angle="radian"/>
<option timestep="0.002" integrator="discrete" cone="elliptic" impratio="10"
iterations="100"/><asset><model name="arm" file="arm.toml"/></asset><worldbody><frame {frame}>
<attach model="arm" body="base" prefix="a_"/>{geoms}<body name="target" mocap="true" pos="{target}"><site name="goal"/>
</body>
</frame></worldbody>{more}</mujoco>""",
            name,
        )

    def planned(self, *arguments):
        return json.loads(self.output(*arguments, "--json"))

    def test_the_geoms_are_the_obstacles_of_a_plan_file_with_the_same_shapes(self):
        found = self.planned(self.write_scene(), "--margin", "0.002")
        self.write(ROBOT, "arm.toml")
        same = self.solution(f"{PATH}margin = 0.002\nwaypoints = [[0.1, 0, 0.18]]\n{SAME_OBSTACLES}")
        self.assertEqual(found["reached"], 1)
        self.assertEqual(found["poses"], same["poses"])
        self.assertAlmostEqual(found["min_clearance"], same["min_clearance"], delta=1e-6)
        self.assertGreaterEqual(found["min_clearance"], 0.002)
        self.assertEqual(
            found["waypoints"][0]["obstacle"], "geom " + ("ball", "bar", "block")[int(same["waypoints"][0]["obstacle"])]
        )
        for mine, other in zip(found["drawing"]["obstacles"], same["drawing"]["obstacles"], strict=True):
            for key in ("kind", "radius"):
                self.assertEqual(mine.get(key), other.get(key))

    def test_the_frame_of_the_base_changes_nothing(self):
        found = self.planned(self.write_scene())
        turned = self.planned(self.write_scene(frame='pos="1 2 3" euler="0.3 -0.7 1.1"'))
        self.assertAlmostEqual(found["min_clearance"], turned["min_clearance"], delta=1e-6)
        for a, b in zip(found["waypoints"][0]["position"], turned["waypoints"][0]["position"], strict=True):
            self.assertAlmostEqual(a, b, delta=1e-9)

    def test_the_start_is_the_pose_of_the_scene_and_the_target_may_be_a_site(self):
        file = self.write_scene()
        self.write(
            'scene = "scene.xml"\n[[motion]]\nbody = "target"\nkind = "waypoints"\ntimes = [0]\n'
            "points = [[0.05, 0, 0.2]]\n",
            "e.toml",
        )
        for named, place in (
            ((file,), [0.1, 0, 0.18]),
            ((file, "--target", "goal"), [0.1, 0, 0.18]),
            (("e.toml",), [0.05, 0, 0.2]),
        ):
            plan = self.planned(*named)
            for a, b in zip(plan["waypoints"][0]["position"], place, strict=True):
                self.assertAlmostEqual(a, b)
            for a, b in zip(plan["drawing"]["start"][-1], [0, 0, 0.2], strict=True):
                self.assertAlmostEqual(a, b)

    def test_a_path_of_a_scene_is_executed_without_a_touch(self):
        scene = REPOSITORY / "scenes/reach_clutter/reach_clutter.xml"
        done = self.run_program(scene, "--margin", "0.006", "--path", "poses.csv")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 obstacles can move relative to the arm's base", done.stderr)
        arm = (scene.parent / "arm.toml").read_text().split("[controller]")[0]
        (self.folder / "arm.toml").write_text(
            arm + '[controller]\nplugin = "tendril.follow"\nposes = { file = "poses.csv" }\n'
            "waypoint_time = 1.5\nhold_time = 1.0\n"
        )
        shutil.copy(scene, self.folder)
        self.write(
            'scene = "reach_clutter.xml"\nduration = 5\n[[check]]\nmetric = "wall_force_max"\nmax = 0\n'
            '[[check]]\nmetric = "status_end"\nmin = 1\nmax = 1\n',
            "e.toml",
        )
        self.passing_metrics("e.toml")

    def test_a_robot_made_for_a_plan_grows_past_the_obstacles_without_a_touch(self):
        plan = REPOSITORY / "scenes/plans/case_2.toml"
        self.output(plan, "--solution", "2", "--robot", "arm.toml")
        for part in ("table.xml", "obstacles_2.xml"):
            shutil.copy(REPOSITORY / "scenes/wrap_reach" / part, self.folder)
        self.write(
            '<mujoco><include file="table.xml"/><include file="obstacles_2.xml"/>'
            '<asset><model name="arm" file="arm.toml"/></asset><worldbody><frame euler="-90 0 0">'
            '<attach model="arm" body="base" prefix="a_"/></frame></worldbody></mujoco>',
            "scene.xml",
        )
        self.write(
            'scene = "scene.xml"\nkeyframe = "a_start"\nduration = 11\n[set]\n"controller.speed" = 0.1\n'
            '"option.timestep" = 0.004\n[[check]]\nmetric = "wall_force_max"\nmax = 0\n[[check]]\n'
            'metric = "tip_error_end"\nmax = 0.0005\n[[check]]\nmetric = "status_end"\nmin = 1\nmax = 1\n',
            "e.toml",
        )
        self.assertEqual(self.passing_metrics("e.toml")["progress_end"], 1.0)
        self.write(ROBOT, "arm.toml")
        for file, told in (
            (self.write(PATH + PATH_OBSTACLES), "--robot: for paths with contacts"),
            (REPOSITORY / "scenes/plans/grasp_post.toml", "--robot: of paths to a target, not of grasps"),
        ):
            done = self.run_program(file, "--robot", "out.toml")
            self.assertEqual(done.returncode, USAGE, done.stderr)
            self.assertIn(told, done.stderr)

    def test_named_geoms_are_the_obstacles(self):
        scene = self.write_scene()
        every = self.planned(scene)["drawing"]["obstacles"]
        named = self.planned(scene, "--obstacles", "block  ball")["drawing"]["obstacles"]
        self.assertEqual((named, len(every)), ([every[0], every[2]], 3))

    def test_the_floor_below_the_base_is_avoided_beyond_the_base(self):
        floor = '<geom name="floor" type="plane" size="1 1 1"/>'
        for target, reached in (("0.1 0 0.06", 1), ("0.1 0 0.004", 0)):
            found = self.planned(self.write_scene(geoms=floor, target=target), "--margin", "0.002")
            self.assertEqual(found["reached"], reached, target)
            self.assertGreaterEqual(found["min_clearance"], 0.002)
        housing = '<geom name="housing" type="box" size="0.1 0.1 0.5"/>'
        done = self.run_program(self.write_scene(geoms=housing))
        self.assertIn("geom housing: contains the straight arm from its base on", done.stderr)
        self.assertIn("[obstacle-left-out]", done.stderr)

    def test_what_cannot_be_planned_is_refused_in_one_line(self):
        for scene, arguments, told in (
            (dict(), ("--target", "nothing"), "--target: nothing: must be a body or a site of the scene"),
            (dict(), ("--prefix", "b_"), '--prefix: b_: must be one of "a_"'),
            (dict(), ("--margin", "-1"), "--margin: -1: must be a distance in [0, 1000] m"),
            (dict(controller=""), (), "scene.xml: has no continuum arm with a controller"),
            (dict(), ("--obstacles", "ball bal"), "--obstacles = bal: must be a geom or a body of the scene"),
        ):
            done = self.run_program(self.write_scene(**scene), *arguments)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (USAGE, 1), done.stderr)
            self.assertIn(told, done.stderr)
        done = self.run_program(self.write(FREE), "--margin", "0.1")
        self.assertEqual(done.returncode, USAGE)
        self.assertIn("plan.toml: --prefix, --target, --obstacles, --margin and --seed are for", done.stderr)

    def test_a_target_that_cannot_be_met_is_a_status(self):
        for target, status in (("0.06 0 0.12", "target_in_obstacle"), ("1 0 1", "not_reached")):
            done = self.run_program(self.write_scene(target=target), "--json", "--strict")
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertEqual(json.loads(done.stdout)["waypoints"][0]["status"], status)


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__.strip())
        sys.exit(2 if len(sys.argv) < 2 else 0)
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
