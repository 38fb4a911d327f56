#!/usr/bin/env python3
"""Runs `tendril workspace` and checks tables, JSON, pictures and wrong input.

usage: workspace_command_test.py PROGRAM
"""

import csv
import io
import json
import math
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ""
HEAD = 'kind = "continuum"\n'
ONE = HEAD + "[[section]]\nconstant_length = 0.1\nbend_limit = 3.0\n"
TELESCOPIC = HEAD + "[[section]]\nvariable_length = 0.1\nbend_limit = 2.0\n"
FED = HEAD + (
    "[base]\nfeed = 0.05\n"
    "[[section]]\nconstant_length = 0.1\nbend_limit = 6.2831853\nlength_weights = [1, 2, 4]\n"
    "angle_weights = [1, 2, 10]\n"
    "[[section]]\nconstant_length = 0.02\nvariable_length = 0.03\nbend_limit = 1.5\n"
)
QUICK = ("--cells", "12", "--samples", "2000", "--directions", "4")
COLUMNS = ["rho", "z", "sampled", "solved", "converged", "dexterity", "iterations", "time_us"]


def catches_interrupts(pid):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (caught,) = (int(line.split()[1], 16) for line in lines if line.startswith("SigCgt:"))
    return bool(caught >> (signal.SIGINT - 1) & 1)


class WorkspaceCommand(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name)
        for name, text in (("one", ONE), ("telescopic", TELESCOPIC), ("fed", FED)):
            (self.folder / f"{name}.toml").write_text(text)

    def tearDown(self):
        self.temporary.cleanup()

    def program(self, command, *arguments):
        return subprocess.run(
            [PROGRAM, command, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=120
        )

    def output(self, robot, *arguments):
        done = self.program("workspace", f"{robot}.toml", *QUICK, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def study(self, robot, *arguments):
        return json.loads(self.output(robot, "--json", *arguments))

    def refused(self, *arguments):
        done = self.program("workspace", *arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual((len(done.stderr.splitlines()), done.stdout), (1, ""), done.stderr)
        return done.stderr

    def test_forward_kinematics_puts_the_tip_of_each_row_into_its_cell(self):
        for robot in ("one", "telescopic", "fed"):
            edge = self.study(robot, "-o", "cells.csv")["cell_edge"]
            cells = list(csv.DictReader(io.StringIO((self.folder / "cells.csv").read_text())))
            self.assertEqual(list(cells[0])[: len(COLUMNS)], COLUMNS)
            done = self.program("fk", f"{robot}.toml", "cells.csv")
            self.assertEqual(done.returncode, 0, done.stderr)
            tips = list(csv.DictReader(io.StringIO(done.stdout)))
            self.assertEqual(len(tips), len(cells))
            for tip, cell in zip(tips, cells):
                rho = math.hypot(float(tip["x"]), float(tip["y"]))
                self.assertLessEqual(abs(rho - float(cell["rho"])), edge / 2 * (1 + 1e-9))
                self.assertLessEqual(abs(float(tip["z"]) - float(cell["z"])), edge / 2 * (1 + 1e-9))
                self.assertEqual(cell["time_us"] != "", cell["converged"] == "1")
                self.assertTrue(0 <= float(cell["dexterity"]) <= 1)

    def test_a_telescopic_arc_has_the_volume_of_its_closed_form(self):
        # V = 2 pi int sin(a) (sin(a) / a)^3 (L^3 - (L theta / limit)^3) / 3 da, a = theta / 2 from 0 to limit / 2
        steps, limit, length, volume = 4000, 2.0, 0.1, 0.0
        for k in range(steps):
            a = (k + 0.5) * limit / 2 / steps
            shell = length**3 * (1 - (2 * a / limit) ** 3) / 3
            volume += 2 * math.pi * math.sin(a) * (math.sin(a) / a) ** 3 * shell * limit / 2 / steps
        study = self.study("telescopic")
        self.assertAlmostEqual(study["sections"][0]["volume"] / volume, 1, delta=1e-4)
        self.assertAlmostEqual(study["volume"] / volume, 1, delta=0.1)  # 12 cells
        for bend in study["sections"][0]["bends"][1:]:
            self.assertAlmostEqual(bend["k"], 2)
            self.assertAlmostEqual(bend["x"], 0.1 * (1 - math.cos(bend["theta"])) / bend["theta"])
            self.assertAlmostEqual(bend["z"], 0.1 * math.sin(bend["theta"]) / bend["theta"])

    def test_critical_bend_and_k_of_a_published_section(self):
        section, other = self.study("fed")["sections"]
        self.assertAlmostEqual(math.degrees(section["critical_bend"]), 253.31, delta=0.005)
        self.assertAlmostEqual(math.degrees(section["critical_chord_angle"]), 80.907, delta=0.0005)
        (k,) = (b["k"] for b in section["bends"] if abs(math.degrees(b["theta"]) - 30) < 1e-3)
        self.assertAlmostEqual(k, 2.4966, delta=5e-5)
        self.assertIsNone(other["critical_bend"])
        self.assertIn("critical bend 253.31 deg, chord 80.91 deg", self.output("fed"))

    def test_without_times_two_runs_have_the_same_bytes(self):
        one = self.output("fed", "--no-time", "--json", "-o", "1.csv", "--threads", "1")
        two = self.output("fed", "--no-time", "--json", "-o", "2.csv", "--threads", "3")
        self.assertEqual(one, two)
        self.assertEqual((self.folder / "1.csv").read_bytes(), (self.folder / "2.csv").read_bytes())
        self.assertNotIn("time", one)
        self.assertNotIn("time of a solve", self.output("fed", "--no-time"))
        self.assertNotIn("NaN", one)

    def test_the_picture_is_drawn_where_the_tree_has_matplotlib(self):
        done = self.program("workspace", "fed.toml", *QUICK, "--png", "reach.png")
        if not (ROOT / ".venv/bin/python").exists():
            self.assertEqual(done.returncode, 4, done.stderr)
            return
        self.assertEqual(done.returncode, 0, done.stderr)
        picture = (self.folder / "reach.png").read_bytes()
        self.assertEqual(picture[:8], b"\x89PNG\r\n\x1a\n")
        self.assertGreater(min(struct.unpack(">II", picture[16:24])), 1000)
        flat = ("--no-time", "--directions", "0")
        for robot in ("one", "telescopic"):  # a curve; nothing of a time or of directions
            done = self.program("workspace", f"{robot}.toml", *QUICK[:4], *flat, "--png", "reach.png")
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_planar_arm_and_equal_sections_are_told(self):
        (self.folder / "flat.toml").write_text(HEAD + "planar = true\n" + 2 * ONE.removeprefix(HEAD))
        text = self.output("flat")
        self.assertIn("says planar", text)
        self.assertIn("sections 1 to 2: fixed, 0.1 m", text)
        self.assertNotIn("planar", self.output("one"))

    def test_wrong_input_is_one_line_that_says_what_is_allowed(self):
        self.assertIn("must be in [4, 2000]", self.refused("one.toml", "--cells", "3"))
        self.assertIn("directions = -1", self.refused("one.toml", "--directions", "-1"))
        self.assertIn("must be in [100, ", self.refused("one.toml", "--samples", "99"))
        self.assertIn("must be one of auto", self.refused("one.toml", "--solver", "newton"))
        self.assertIn("must be >= 1", self.refused("one.toml", "--max-iterations", "0"))
        self.assertIn("must be a continuum robot", self.refused(str(ROOT / "models/youbot.toml")))
        self.assertIn("is a snake", self.refused(str(ROOT / "scenes/snake_pole/snake.toml")))
        self.assertIn("must be another file", self.refused("one.toml", "-o", "one.toml"))
        self.refused("missing.toml")

    def test_an_interrupted_run_writes_nothing(self):
        process = subprocess.Popen(
            [PROGRAM, "workspace", "fed.toml", "--cells", "1000", "-o", "cells.csv"],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        until = time.monotonic() + 60
        while not catches_interrupts(process.pid):  # the run, which lasts for minutes, has begun
            self.assertIsNone(process.poll())
            self.assertLess(time.monotonic(), until)
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        out, message = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out), (130, ""), message)
        self.assertIn("interrupted", message)
        self.assertFalse((self.folder / "cells.csv").exists())


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] == "--help":
        print(__doc__)
        sys.exit(0 if "--help" in sys.argv else 2)
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
