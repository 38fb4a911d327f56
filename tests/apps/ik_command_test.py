#!/usr/bin/env python3
"""Runs `tendril ik` and `tendril fk` on tables, good and bad.

usage: ik_command_test.py PROGRAM
"""

import csv
import io
import json
import math
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

PROGRAM = ""
REPOSITORY = Path(__file__).resolve().parents[2]
USAGE, IO = 2, 4
FIXED = 'kind = "continuum"\n' + "[[section]]\nconstant_length = 0.1\nbend_limit = 3.0\n" * 3
MIXED = (
    'kind = "continuum"\n[base]\nfeed = 0.3\nspin = true\n'
    "[[section]]\nconstant_length = 0.05\nvariable_length = 0.05\nbend_limit = 2.0\n"
    "[[section]]\nvariable_length = 0.1\nbend_limit = 2.0\n"
    "[[section]]\nconstant_length = 0.1\nbend_limit = 2.5\n"
)
TARGETS = "x,y,z\n0.05,0.02,0.2\n0.03,-0.1,0.15\n"
RESULT_COLUMNS = ["status", "iterations", "position_error", "angle_error", "time_us"]
FIXED_STATES = [f"{name}_{i}" for i in (1, 2, 3) for name in ("theta", "phi", "s")]
POSITION_TOLERANCE, ANGLE_TOLERANCE = 1e-5, 1e-3  # m, rad: defaults of the program
ROUNDING = 1e-12  # m: kinematics in Python against kinematics in C++
ANGLE_ROUNDING = 1e-7  # rad: acos near 1


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


def tip_of_arcs(row, lengths):
    """Tip position and direction of sections of constant curvature by turning and shifting vectors."""

    def rotated(v, axis, angle):
        c, s = math.cos(angle), math.sin(angle)
        cross = [axis[1] * v[2] - axis[2] * v[1], axis[2] * v[0] - axis[0] * v[2], axis[0] * v[1] - axis[1] * v[0]]
        along = sum(a * b for a, b in zip(axis, v))
        return [c * v[k] + s * cross[k] + (1 - c) * along * axis[k] for k in range(3)]

    p, z = [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]
    for i in reversed(range(len(lengths))):
        theta, phi = float(row[f"theta_{i + 1}"]), float(row[f"phi_{i + 1}"])
        length = lengths[i] + float(row.get(f"s_{i + 1}") or 0)
        axis = [-math.sin(phi), math.cos(phi), 0.0]
        p, z = rotated(p, axis, theta), rotated(z, axis, theta)
        side = length * (1 - math.cos(theta)) / theta if theta else 0.0
        along = length * math.sin(theta) / theta if theta else length
        p = [p[0] + side * math.cos(phi), p[1] + side * math.sin(phi), p[2] + along]
    omega0 = float(row.get("omega0") or 0)
    p, z = rotated(p, [0.0, 0.0, 1.0], omega0), rotated(z, [0.0, 0.0, 1.0], omega0)
    return [p[0], p[1], p[2] + float(row.get("h") or 0)], z


class TableCommand(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name)
        self.write("fixed.toml", FIXED)
        self.write("mixed.toml", MIXED)
        self.write("targets.csv", TARGETS)

    def tearDown(self):
        self.temporary.cleanup()

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def run_program(self, *arguments, text=None):
        return subprocess.run(
            [PROGRAM, *arguments], cwd=self.folder, input=text, capture_output=True, text=True, timeout=120
        )

    def output(self, *arguments, text=None):
        done = self.run_program(*arguments, text=text)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def refusal(self, exit_code, *arguments, text=None):
        """The one line that the program ends with, without its code."""
        done = self.run_program(*arguments, text=text)
        self.assertEqual(done.returncode, exit_code, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("tendril: "), done.stderr)
        line, code = re.fullmatch(r"tendril: (.*) \[([a-z-]+)\]\n", done.stderr, re.S).groups()
        self.assertTrue(code)
        return line

    def random_targets(self, robot, count, seed=1):
        """Tip poses of random states inside the limits, as the program computes them."""
        draw = random.Random(seed)
        rows = ["theta_1,phi_1,s_1,theta_2,phi_2,s_2,theta_3,phi_3,s_3"]
        for _ in range(count):
            s = [0.0] * 3 if robot == "fixed.toml" else [draw.uniform(0.02, 0.05), draw.uniform(0.04, 0.1), 0.0]
            share = [1.0] * 3 if robot == "fixed.toml" else [s[0] / 0.05, s[1] / 0.1, 1.0]
            rows.append(",".join(f"{draw.uniform(0.1, 1.8) * share[i]},{draw.uniform(-3, 3)},{s[i]}" for i in range(3)))
        return self.output("fk", robot, "-", text="\n".join(rows) + "\n")

    # ---- what comes out

    def test_columns_stand_as_documented(self):
        rows = self.output("ik", "fixed.toml", "targets.csv").splitlines()
        self.assertEqual(rows[0].split(","), RESULT_COLUMNS + FIXED_STATES)
        self.assertEqual(len(rows), 3)
        mixed = self.output("ik", "mixed.toml", "targets.csv").splitlines()
        self.assertEqual(mixed[0].split(","), RESULT_COLUMNS + FIXED_STATES + ["h", "omega0"])
        self.assertEqual(self.output("fk", "fixed.toml", "-", text=rows[0]), "x,y,z,zx,zy,zz,roll\n")

    def test_sections_that_bend_in_one_plane_do_so(self):
        part = "[[section]]\nconstant_length = 0.1\nbend_limit = 3.0\n"
        planes = [f'{part}bend_plane = "{plane}"\n' for plane in ("xz", "yz", "any")]
        self.write("wrist.toml", 'kind = "continuum"\n' + "".join(planes))
        draw, right = random.Random(3), math.pi / 2
        rows = ["theta_1,phi_1,s_1,theta_2,phi_2,s_2,theta_3,phi_3,s_3"]
        for _ in range(50):
            bends = [draw.uniform(0.1, 1.2) for _ in range(3)]
            phis = [draw.choice((0.0, math.pi)), draw.choice((-right, right)), draw.uniform(-3, 3)]
            rows.append(",".join(f"{bend},{phi},0" for bend, phi in zip(bends, phis)))
        tips = self.output("fk", "wrist.toml", "-", text="\n".join(rows) + "\n")
        found = table(self.output("ik", "wrist.toml", "-", "--drives", text=tips))
        self.assertEqual({row["status"] for row in found}, {"converged"})
        for row, tip in zip(found, table(tips), strict=True):
            theta, phi = ([float(row[f"{name}_{i}"]) for i in (1, 2)] for name in ("theta", "phi"))
            self.assertAlmostEqual(theta[0] * math.sin(phi[0]), 0.0, delta=1e-12)
            self.assertAlmostEqual(theta[1] * math.cos(phi[1]), 0.0, delta=1e-12)
            self.assertAlmostEqual(float(row["drive s1_y [rad]"]), theta[0] * math.cos(phi[0]), delta=1e-12)
            self.assertAlmostEqual(float(row["drive s2_x [rad]"]), -theta[1] * math.sin(phi[1]), delta=1e-12)
            self.assertNotIn("drive s1_x [rad]", row)
            p, _ = tip_of_arcs(row, [0.1] * 3)
            self.assertLess(math.dist(p, [float(tip[name]) for name in "xyz"]), 2 * POSITION_TOLERANCE)
        refusal = self.refusal(USAGE, "ik", "wrist.toml", "targets.csv", "--solver", "fabrikx")
        self.assertIn('solver = "fabrikx": must be auto or levenberg for sections that bend in one plane', refusal)
        for row in table(self.output("ik", "wrist.toml", "-", "--solver", "levenberg", text=tips)):
            self.assertEqual(row["status"], "converged")
            self.assertAlmostEqual(float(row["theta_1"]) * math.sin(float(row["phi_1"])), 0.0, delta=1e-12)

    def test_fk_agrees_with_arcs(self):
        draw = random.Random(2)
        names = FIXED_STATES + ["h", "omega0"]
        rows = [{name: draw.uniform(0.01, 2) for name in names} for _ in range(50)]
        rows[0].update(theta_1=0, theta_2=0)
        text = "\n".join([",".join(names)] + [",".join(str(row[name]) for name in names) for row in rows])
        for row, tip in zip(rows, table(self.output("fk", "mixed.toml", "-", text=text)), strict=True):
            p, z = tip_of_arcs(row, [0.05, 0.0, 0.1])  # far outside the limits: still defined
            for name, value in zip(("x", "y", "z", "zx", "zy", "zz"), p + z):
                self.assertAlmostEqual(float(tip[name]), value, delta=10 * ROUNDING)

    def test_fk_names_states_outside_the_limits(self):
        """A section bends by bend_limit s / variable_length: of 2 rad on 0.05 m, 0.8 rad at 0.02 m."""
        head = "theta_1,phi_1,s_1,theta_2,phi_2,s_2,theta_3,phi_3,s_3"
        inside, outside, straight = (
            f"{bend},0,{s},0,0,0.05,1,0,0" for bend, s in ((0.79, 0.02), (0.81, 0.02), (0.1, 0))
        )

        def notice(*rows, options=()):
            done = self.run_program("fk", "mixed.toml", "-", *options, text="\n".join([head, *rows]) + "\n")
            self.assertEqual((done.returncode, len(done.stdout.splitlines())), (0, len(rows) + 1))
            return done.stderr

        self.assertEqual(notice(inside), "")
        self.assertEqual(
            notice(inside, outside),
            "tendril: notice: stdin: row 3, section 1: theta = 0.81 rad, must be in [0, 0.8] at s = 0.02 m of 0.05 m"
            " [states-outside-limits]\n",
        )
        self.assertIn("row 2, section 1: theta = 0.1 rad, must be in [0, 0] at s = 0 m", notice(straight))
        self.assertIn("; 2 such rows [", notice(straight, inside, outside))
        self.assertEqual(notice(straight, options=["--quiet"]), "")

    def test_ik_then_fk_meets_the_targets(self):
        for robot in ("fixed.toml", "mixed.toml"):
            targets = self.random_targets(robot, 200)
            solutions = self.output("ik", robot, "-", text=targets)
            tips = table(self.output("fk", robot, "-", text=solutions))
            converged = 0
            for target, solution, tip in zip(table(targets), table(solutions), tips, strict=True):
                distance = math.dist([float(target[k]) for k in "xyz"], [float(tip[k]) for k in "xyz"])
                cosine = sum(float(target[k]) * float(tip[k]) for k in ("zx", "zy", "zz"))
                angle = math.acos(min(1.0, max(-1.0, cosine)))
                self.assertAlmostEqual(distance, float(solution["position_error"]), delta=ROUNDING)
                self.assertAlmostEqual(angle, float(solution["angle_error"]), delta=ANGLE_ROUNDING)
                if solution["status"] == "converged":
                    converged += 1
                    self.assertLessEqual(distance, POSITION_TOLERANCE + ROUNDING)
                    self.assertLessEqual(angle, ANGLE_TOLERANCE + ANGLE_ROUNDING)
            self.assertGreaterEqual(converged, 180)  # floor of the pipeline, not of the solver

    def test_every_solver_of_the_help_text_works(self):
        listed = self.output("ik", "--help").split("Solvers:\n")[1].split("Example")[0]
        names = [line.split()[0] for line in listed.splitlines() if line.startswith("  ")]
        self.assertIn("levenberg", names)
        for name in names:
            done = self.run_program("ik", "fixed.toml", "targets.csv", "--solver", name)
            if done.returncode != 0:  # some solvers refuse some robots: in words
                self.assertEqual((done.returncode, len(done.stderr.splitlines())), (USAGE, 1), done.stderr)
            else:
                self.assertEqual(len(table(done.stdout)), 2, name)

    def test_single_section_methods_solve_a_robot_of_one_section(self):
        section = "[[section]]\nconstant_length = 0.05\nvariable_length = 0.05\nbend_limit = 1.5\n"
        self.write("one.toml", 'kind = "continuum"\n[base]\nfeed = 0.1\n' + section)
        draw = random.Random(2)
        states = [f"{0.9 * s / 0.05},{draw.uniform(-3, 3)},{s},{draw.uniform(0, 0.1)}" for s in (0.01, 0.03, 0.05) * 20]
        targets = ["x,y,z"]
        for row in table("\n".join(["theta_1,phi_1,s_1,h", *states])):
            targets.append(",".join(map(repr, tip_of_arcs(row, [0.05])[0])))
        for method in ("section-iterative", "section-newton", "section-polynomial"):
            arguments = ("targets.csv", "--solver", method)
            self.write("targets.csv", "\n".join(targets))
            rows = table(self.output("ik", "one.toml", *arguments, "--strict"))
            for row, target in zip(rows, table("\n".join(targets)), strict=True):
                tip = tip_of_arcs(row, [0.05])[0]
                self.assertLessEqual(math.dist(tip, map(float, target.values())), POSITION_TOLERANCE + ROUNDING)
            self.assertGreater(max(float(row["h"]) for row in rows), 0.05)
            self.assertEqual(
                self.refusal(USAGE, "ik", "fixed.toml", *arguments),
                "section solver: number of the robot's sections = 3, must be 1",
            )

    def test_the_answer_is_the_same_bytes_on_any_number_of_threads_and_in_any_company(self):
        targets = self.random_targets("mixed.toml", 5000)  # more than one block
        runs = [self.output("ik", "mixed.toml", "-", "--no-time", "--threads", str(n), text=targets) for n in (1, 2, 5)]
        self.assertEqual(runs[0], runs[1])
        self.assertEqual(runs[0], runs[2])
        lines = targets.splitlines()
        last = self.output("ik", "mixed.toml", "-", "--no-time", text="\n".join([lines[0]] + lines[-100:]))
        self.assertEqual(runs[0].splitlines()[-100:], last.splitlines()[1:])

    def test_no_time_leaves_the_column_empty(self):
        self.assertEqual(
            {row["time_us"] for row in table(self.output("ik", "fixed.toml", "targets.csv", "--no-time"))}, {""}
        )
        for row in table(self.output("ik", "fixed.toml", "targets.csv")):
            self.assertGreater(float(row["time_us"]), 0)

    def test_fixed_sections_need_no_s(self):
        row = "theta_1,phi_1,theta_2,phi_2,theta_3,phi_3\n0.1,0.2,0.3,0.4,0.5,0.6\n"
        full = "theta_1,phi_1,s_1,theta_2,phi_2,s_2,theta_3,phi_3,s_3\n0.1,0.2,0,0.3,0.4,0,0.5,0.6,0\n"
        self.assertEqual(
            self.output("fk", "fixed.toml", "-", text=row), self.output("fk", "fixed.toml", "-", text=full)
        )

    def test_directions_of_few_digits_are_normalized(self):
        exact, short = (
            table(self.output("ik", "fixed.toml", "-", text=f"x,y,z,zx,zy,zz\n0.05,0.02,0.2,{zx},0,0\n"))[0]
            for zx in ("1", "0.9995")
        )
        self.assertEqual(exact["status"], "converged")
        for name in FIXED_STATES:  # rounding of the direction, magnified by the solve
            self.assertAlmostEqual(float(exact[name]), float(short[name]), delta=1e-9)

    # ---- summary and exit codes

    def test_the_summary_counts(self):
        done = self.run_program("ik", "fixed.toml", "-", text=TARGETS + "0,0,7\n")
        self.assertEqual(done.returncode, 0)
        self.assertEqual([row["status"] == "converged" for row in table(done.stdout)], [True, True, False])
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertTrue(done.stderr.startswith("tendril ik: 2 of 3 rows converged (66.6667 %), 1 "), done.stderr)
        self.assertEqual(self.run_program("ik", "fixed.toml", "targets.csv", "--quiet").stderr, "")
        (self.folder / "far.csv").write_text("x,y,z\n9,9,9\n")
        done = self.run_program("ik", "fixed.toml", "far.csv")
        self.assertTrue(done.stderr.startswith("tendril ik: no target was reached: 0 of 1 rows converged"), done.stderr)

    def test_json_prints_the_summary(self):
        self.write("far.csv", TARGETS + "0,0,7\n")
        summary = json.loads(self.output("ik", "fixed.toml", "far.csv", "-o", "o.csv", "--json"))
        self.assertEqual((summary["rows"], summary["converged"], sum(summary["failures"].values())), (3, 2, 1))
        rows = table((self.folder / "o.csv").read_text())
        self.assertEqual(summary["position_error"]["worst"], max(float(row["position_error"]) for row in rows))
        self.assertIn("-o FILE", self.refusal(USAGE, "ik", "fixed.toml", "targets.csv", "--json"))

    def test_strict_turns_a_miss_into_1_with_a_complete_table(self):
        self.write("far.csv", TARGETS + "0,0,7\n")
        done = self.run_program("ik", "fixed.toml", "far.csv", "--strict", "-o", "o.csv")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(table((self.folder / "o.csv").read_text())), 3)
        self.assertEqual(self.run_program("ik", "fixed.toml", "targets.csv", "--strict").returncode, 0)

    def test_a_table_without_rows_is_answered_by_one(self):
        self.assertEqual(
            self.output("ik", "fixed.toml", "-", "--strict", text="x,y,z\n").splitlines(),
            [",".join(RESULT_COLUMNS + FIXED_STATES)],
        )
        summary = json.loads(self.output("ik", "fixed.toml", "-", "-o", "o.csv", "--json", text="x,y,z\n"))
        self.assertEqual((summary["rows"], summary["rate"]), (0, None))

    def test_tolerances_and_budget_reach_the_solver(self):
        tight = table(self.output("ik", "fixed.toml", "targets.csv", "--position-tolerance", "1e-12"))
        self.assertTrue(all(float(row["position_error"]) <= 1e-12 for row in tight))
        short = table(self.output("ik", "fixed.toml", "targets.csv", "--max-iterations", "1"))
        self.assertEqual({(row["status"], row["iterations"]) for row in short}, {("max_iterations", "1")})

    # ---- mobile robots

    def mobile(self, command, *arguments, text=None):
        return table(self.output(command, str(REPOSITORY / "models/youbot.toml"), *arguments, text=text))

    def test_a_mobile_robot_takes_poses_and_gives_poses(self):
        targets = str(REPOSITORY / "models/youbot_targets.csv")
        for solver in ("auto", "fabrik", "closed_form"):
            rows = self.mobile("ik", targets, "--solver", solver, "--strict", "-o", "o.csv") or table(
                (self.folder / "o.csv").read_text()
            )
            self.assertEqual(
                list(rows[0]), RESULT_COLUMNS + ["base_x", "base_y", "base_heading"] + [f"q_{j}" for j in range(1, 6)]
            )
            self.assertEqual(len(rows), 20)
            tools = self.mobile("fk", "o.csv")
            for desired, tool in zip(table(Path(targets).read_text()), tools):
                distance = math.dist(*([float(row[c]) for c in "xyz"] for row in (desired, tool)))
                self.assertLess(distance, POSITION_TOLERANCE + ROUNDING)
                axes = []
                for row in (desired, tool):
                    pitch, yaw = float(row["pitch"]), float(row["yaw"])
                    axes.append([math.cos(yaw) * math.cos(pitch), math.sin(yaw) * math.cos(pitch), math.sin(pitch)])
                self.assertLess(math.dist(*axes), ANGLE_TOLERANCE)

    def test_a_mobile_robot_says_why_it_cannot(self):
        header = "x,y,z,roll,pitch,yaw\n"
        rows = self.mobile("ik", "-", "--no-time", text=header + "1,0,2,0,0,0\n1,0,-0.1,0,0,0\n1,0,0.3,0,0,0\n")
        self.assertEqual([row["status"] for row in rows], ["unreachable_height", "under_floor", "converged"])
        for row in rows:  # a pose is there in any case
            self.assertTrue(all(math.isfinite(float(row[f"q_{j}"])) for j in range(1, 6)))
            self.assertTrue(math.isfinite(float(row["position_error"])))
        youbot = str(REPOSITORY / "models/youbot.toml")
        self.assertIn(
            'solver = "chord", for a mobile robot must be one of auto, fabrik, closed_form',
            self.refusal(USAGE, "ik", youbot, "-", "--solver", "chord", text=header),
        )
        self.assertIn("column roll", self.refusal(USAGE, "ik", youbot, "-", text="x,y,z\n1,2,3\n"))
        self.assertIn("base_heading", self.refusal(USAGE, "fk", youbot, "-", text="base_x,base_y\n1,2\n"))
        self.write("bad.toml", 'kind = "mobile"\n')
        self.assertIn("bad.toml:1: platform: is missing", self.refusal(USAGE, "fk", "bad.toml", "-", text=""))

    # ---- files and pipes

    def test_the_readme_example_works(self):
        done = subprocess.run(
            [PROGRAM, "ik", "models/arm_3x10.toml", "models/arm_3x10_targets.csv", "--strict"],
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_commands_form_a_pipe(self):
        done = subprocess.run(
            f'"{PROGRAM}" ik fixed.toml - < targets.csv | "{PROGRAM}" fk fixed.toml - | tail -n 1',
            cwd=self.folder,
            shell=True,
            capture_output=True,
            text=True,
            timeout=60,
        )
        tip = [float(value) for value in done.stdout.split(",")]
        self.assertLess(math.dist(tip[:3], [0.03, -0.1, 0.15]), POSITION_TOLERANCE + ROUNDING)

    def test_a_reader_that_goes_away_ends_the_program_quietly(self):
        self.write("many.csv", "x,y,z\n" + "0.05,0.02,0.2\n" * 20000)
        for ignores in (False, True):  # the signal of a closed pipe may be ignored by the parent
            process = subprocess.Popen(
                [PROGRAM, "ik", "fixed.toml", "many.csv"],
                cwd=self.folder,
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                restore_signals=not ignores,
            )
            self.assertTrue(process.stdout.readline().startswith("status,"))
            process.stdout.close()
            errors = process.stderr.read()
            process.stderr.close()
            code = process.wait(timeout=60)
            if ignores:
                self.assertEqual(
                    (code, errors), (IO, "tendril: stdout: Broken pipe: could not be written [input-output]\n")
                )
            else:
                self.assertEqual((code, errors), (-13, ""))

    def test_an_error_leaves_the_old_output_alone(self):
        self.write("o.csv", "old\n")
        self.write("late.csv", "x,y,z\n" + "0.05,0.02,0.2\n" * 5000 + "0.05,0.02,oops\n")
        message = self.refusal(USAGE, "ik", "fixed.toml", "late.csv", "-o", "o.csv")
        self.assertEqual(message, 'late.csv: row 5002, column z: "oops": must be a finite number')
        self.assertEqual((self.folder / "o.csv").read_text(), "old\n")
        self.assertFalse((self.folder / "o.csv.part").exists())

    def test_an_interrupt_removes_the_unfinished_table(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            process = subprocess.Popen(
                [PROGRAM, "ik", "fixed.toml", "-", "-o", "cut.csv"],
                cwd=self.folder,
                stdin=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            process.stdin.write(TARGETS)
            process.stdin.flush()
            part = self.folder / "cut.csv.part"
            until = time.monotonic() + 20
            while not part.exists() and time.monotonic() < until:
                time.sleep(0.01)
            process.send_signal(number)
            process.communicate(timeout=20)
            self.assertEqual(process.returncode, 130)
            self.assertEqual([file.name for file in self.folder.glob("cut.csv*")], [])

    def test_an_input_is_no_output(self):
        (self.folder / "link.csv").symlink_to("targets.csv")
        for name in ("targets.csv", "fixed.toml", "./targets.csv", "link.csv"):
            before = (self.folder / name).read_text()
            self.assertEqual(
                self.refusal(USAGE, "ik", "fixed.toml", "targets.csv", "-o", name),
                f"--output: {name}: is an input of this command, or lies in one: must be another file",
            )
            self.assertEqual((self.folder / name).read_text(), before)

    def test_output_that_cannot_be_written_gives_4(self):
        for command, file in (("ik", "targets.csv"), ("fk", "states.csv")):
            self.write("states.csv", "theta_1,phi_1,theta_2,phi_2,theta_3,phi_3\n0,0,0,0,0,0\n")
            self.assertEqual(
                self.refusal(IO, command, "fixed.toml", file, "-o", "/dev/full"),
                "/dev/full: No space left on device: could not be written",
            )
            self.assertEqual(
                self.refusal(IO, command, "fixed.toml", file, "-o", "none/o.csv"),
                "none/o.csv: No such file or directory: could not be written",
            )
            self.assertEqual(
                self.refusal(IO, command, "fixed.toml", file, "-o", "."), ".: Is a directory: could not be written"
            )
            with open("/dev/full", "w") as full:
                done = subprocess.run(
                    [PROGRAM, command, "fixed.toml", file],
                    cwd=self.folder,
                    stdout=full,
                    stderr=subprocess.PIPE,
                    text=True,
                    timeout=60,
                )
            self.assertEqual(
                (done.returncode, done.stderr),
                (IO, "tendril: stdout: No space left on device: could not be written [input-output]\n"),
            )

    def test_a_program_without_stdin_and_stdout_writes_its_file(self):
        done = subprocess.run(
            f'"{PROGRAM}" ik fixed.toml targets.csv -o o.csv <&- >&-',
            cwd=self.folder,
            shell=True,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(table((self.folder / "o.csv").read_text())), 2)

    def test_a_pipe_by_name_is_written_directly(self):
        os.mkfifo(self.folder / "o.csv")
        with subprocess.Popen(["cat", "o.csv"], cwd=self.folder, stdout=subprocess.PIPE, text=True) as reader:
            self.output("ik", "fixed.toml", "targets.csv", "-o", "o.csv")
            self.assertEqual(len(reader.stdout.read().splitlines()), 3)

    # ---- bad input

    def test_bad_targets_are_refused(self):
        cases = [
            ("", "stdin: is empty: must begin with a line of column names: x,y,z[,zx,zy,zz[,roll]]"),
            ("x,y\n", "stdin: row 1, column z: is missing: the columns must be x,y,z[,zx,zy,zz[,roll]]"),
            ("x,y,z,zx,zz\n", "stdin: row 1, column zy: is missing: the columns must be x,y,z[,zx,zy,zz[,roll]]"),
            (
                "x,y,z,w\n",
                'stdin: row 1, column 4: "w": is not known: '
                "the first line must name the columns x,y,z[,zx,zy,zz[,roll]]",
            ),
            ("x,y,z,x\n", "stdin: row 1, column x: is repeated"),
            ("x,y,z\n0,0,nan\n", 'stdin: row 2, column z: "nan": must be a finite number'),
            ("x,y,z\n0,0\n", "stdin: row 2: has 2 columns: must have 3, as the header"),
            ("x,y,z\n1e200,0,0\n", "stdin: row 2, columns x,y,z: 1e+200, 0, 0: must be within 1000000000 m"),
            (
                "x,y,z,zx,zy,zz\n0,0,0.2,0,0,0\n",
                "stdin: row 2, columns zx,zy,zz: 0, 0, 0: must have length 1 (within 0.001)",
            ),
            (
                "x,y,z,zx,zy,zz\n0,0,0.2,0,0,1.002\n",
                "stdin: row 2, columns zx,zy,zz: 0, 0, 1.002: must have length 1 (within 0.001)",
            ),
            (
                "x,y,z,zx,zy,zz\n0,0,0.2,1e300,1e300,0\n",
                "stdin: row 2, columns zx,zy,zz: 1e+300, 1e+300, 0: must have length 1 (within 0.001)",
            ),
        ]
        for text, message in cases:
            with self.subTest(text):
                self.assertEqual(self.refusal(USAGE, "ik", "fixed.toml", "-", text=text), message)

    def test_bad_states_are_refused(self):
        states = ",".join(FIXED_STATES)
        allowed = "theta_1,phi_1,s_1,theta_2,...,s_3"
        cases = [
            (
                "fixed.toml",
                "theta_1,phi_1\n",
                f"stdin: row 1, column theta_2: is missing: the columns must be {allowed}",
            ),
            (
                "fixed.toml",
                states + ",theta_4\n",
                f'stdin: row 1, column 10: "theta_4": is not known: the first line must name the columns {allowed}',
            ),
            (
                "fixed.toml",
                states + ",h\n",
                f'stdin: row 1, column 10: "h": is not known: the first line must name the columns {allowed}',
            ),
            (
                "mixed.toml",
                states.replace("s_2,", "") + "\n",
                f"stdin: row 1, column s_2: is missing: the columns must be {allowed}[,h][,omega0]",
            ),
            (
                "fixed.toml",
                states + "\n0,0,0,0,0,0,0,inf,0\n",
                'stdin: row 2, column phi_3: "inf": must be a finite number',
            ),
            (
                "fixed.toml",
                states + "\n0,0,1e308,0,0,1e308,0,0,0\n",
                f"stdin: row 2, columns {allowed}: the tip pose is not finite",
            ),
        ]
        for robot, text, message in cases:
            with self.subTest(text):
                self.assertEqual(self.refusal(USAGE, "fk", robot, "-", text=text), message)

    def test_bad_files_and_options_are_refused(self):
        cases = [
            (["targets.csv", "--solver", "magic"], ["magic", "must be one of", "levenberg"]),
            (["targets.csv", "--position-tolerance", "0"], ["position_tolerance = 0", "> 0"]),
            (["targets.csv", "--position-tolerance", "nan"], ["position_tolerance", "nan", "> 0"]),
            (["targets.csv", "--angle-tolerance", "-1"], ["angle_tolerance = -1", "> 0"]),
            (["targets.csv", "--angle-tolerance", "wide"], ["--angle-tolerance", "wide"]),
            (["targets.csv", "--max-iterations", "0"], ["--max-iterations: 0", ">= 1"]),
            (["targets.csv", "--threads", "-2"], ["--threads: -2", ">= 0"]),
            (["none.csv"], ["none.csv", "No such file", "readable file"]),
            (["."], [".: is a folder", "readable file"]),
            ([], ["targets"]),
        ]
        for arguments, pieces in cases:
            with self.subTest(arguments):
                message = self.refusal(USAGE, "ik", "fixed.toml", *arguments)
                for piece in pieces:
                    self.assertIn(piece, message)
        self.assertIn("none.toml", self.refusal(USAGE, "ik", "none.toml", "targets.csv"))
        self.assertIn("none.toml", self.refusal(USAGE, "fk", "none.toml", "targets.csv"))

    def test_help_shows_an_example(self):
        for command in ("ik", "fk"):
            self.assertIn("Example: tendril ik models/arm_3x10.toml", self.output(command, "--help"))


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__.strip())
        sys.exit(0 if len(sys.argv) > 1 else 2)
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
