#!/usr/bin/env python3
"""Runs `tendril tables` and checks exit codes, files and what is printed.

usage: tables_command_test.py PROGRAM
"""

import json
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ""


class TablesCommand(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name)

    def tearDown(self):
        self.temporary.cleanup()

    def run_program(self, *arguments):
        return subprocess.run(
            [PROGRAM, "tables", *arguments], cwd=self.folder, capture_output=True, text=True, timeout=300
        )

    def refused(self, *arguments):
        done = self.run_program(*arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_wrong_input_is_one_line_that_says_what_is_allowed(self):
        message = self.refused("3.2")
        self.assertIn("3.2", message)
        self.assertIn("3.1, 3.3, 3.4, 3.5, 3.6, 3.9, 3.11, 3.12, article, clutter, mobile", message)
        self.assertIn("fabrikx", self.refused("3.6", "--method", "newton"))
        self.assertIn("samples", self.refused("--samples", "0"))
        self.refused("--samples", "many")
        self.refused("--samples", "5", "--full")
        self.refused("--threads", "-1")
        self.refused("--json", "--markdown")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_table_is_printed_kept_and_taken_from_there(self):
        arguments = ("3.6", "--samples", "4", "--method", "fabrikx", "--method", "auto")
        first = self.run_program(*arguments)
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertRegex(first.stdout, r"3 sections +fabrikx +\d")
        self.assertIn("6 results computed, 0 taken from out/tables", first.stderr)
        second = self.run_program(*arguments)
        self.assertIn("0 results computed, 6 taken from out/tables", second.stderr)
        rows = first.stdout.splitlines()[1:]  # the first line has the unit of the run
        self.assertEqual(second.stdout.splitlines()[1:], rows)

    def test_json_and_page(self):
        done = self.run_program("3.3", "3.6", "--samples", "2", "--method", "auto", "--json")
        data = json.loads(done.stdout)
        self.assertEqual([table["name"] for table in data["tables"]], ["3.3", "3.6"])
        self.assertEqual(data["tables"][1]["rows"][0]["false_claims"], 0)
        self.assertEqual(done.stdout, (self.folder / "out/tables/tables.json").read_text())
        page = self.run_program("3.6", "--samples", "2", "--method", "auto", "--markdown", "--out", "here").stdout
        self.assertTrue(page.startswith("# Results of the published experiments\n"))
        self.assertIn("## Table 3.6", page)
        self.assertTrue((self.folder / "here/results.jsonl").exists())

    def test_solvers_are_compared_on_a_robot(self):
        robot = self.folder / "arm.toml"
        section = "[[section]]\nconstant_length = 0.1\nbend_limit = 2.0\n"
        robot.write_text(f'kind = "continuum"\n[base]\nfeed = 0.1\n{section}{section}')
        arguments = ("--robot", "arm.toml", "--samples", "20")
        data = json.loads(self.run_program(*arguments, "--json").stdout)
        rows = data["tables"][0]["rows"]
        self.assertEqual({row["row"] for row in rows}, {"position", "position and direction"})
        self.assertEqual(len(rows), 2 * len({row["method"] for row in rows}))
        (auto,) = (row for row in rows if (row["row"], row["method"]) == ("position", "auto"))
        self.assertEqual((auto["success_percent"], auto["samples"]), (100, 20))
        self.assertEqual({row["false_claims"] for row in rows}, {0})
        again = self.run_program(*arguments)
        self.assertIn(f"0 results computed, {len(rows)} taken", again.stderr)
        self.assertRegex(again.stdout, r"- position: take \S+: 100 %, 99 % of its successes within")
        self.assertNotIn("published", again.stdout)
        robot.write_text(robot.read_text().replace("feed = 0.1", "feed = 0.2"))  # another robot
        self.assertIn("0 taken", self.run_program(*arguments).stderr)
        page = self.run_program(*arguments, "--markdown").stdout
        self.assertTrue(page.startswith("# Solvers compared on a robot\n"))
        self.assertIn("must be > 0", self.refused("--robot", "arm.toml", "--position-tolerance", "0"))
        self.assertIn("--robot", self.refused("--position-tolerance", "1"))
        self.assertIn("--robot", self.refused("3.6", "--robot", "arm.toml"))
        self.assertIn("must be a continuum robot", self.refused("--robot", str(ROOT / "models/youbot.toml")))

    def test_plans_have_the_published_number_of_solutions(self):
        data = json.loads(self.run_program("3.12", "--samples", "2", "--json").stdout)
        rows = data["tables"][0]["rows"]
        self.assertEqual([row["solutions"] for row in rows], [2, 2, 1])
        self.assertEqual([row["published"][0]["solutions"] for row in rows], [2, 2, 1])
        self.assertEqual([row["published"][0]["mean_time_us"] for row in rows], [70000, 60000, 40000])
        for number, row in enumerate(rows, 1):  # the same as tendril plan
            file = ROOT / f"scenes/plans/case_{number}.toml"
            plan = subprocess.run([PROGRAM, "plan", str(file), "--json"], capture_output=True, text=True, timeout=60)
            self.assertEqual(len(json.loads(plan.stdout)["solutions"]), row["solutions"])
        text = self.run_program("3.12", "--samples", "2").stdout
        self.assertRegex(text, r"case 3 +contact +1 +1 +100 ")

    def test_plots_are_drawn_where_the_tree_has_matplotlib(self):
        done = self.run_program("3.5", "3.6", "article", "--samples", "100", "--method", "auto", "--plot")
        self.assertEqual(done.returncode, 0, done.stderr)
        drawn = {path.name for path in (self.folder / "out/tables").glob("*.png")}
        if (ROOT / ".venv/bin/python").exists():
            self.assertEqual(
                drawn,
                {"coverage_3.5.png", "time_3.5.png", "matrix_article.png", "curves_article.png"}
                | {f"{kind}_3.6.png" for kind in ("success", "histograms", "spread")},
                done.stderr,
            )
        else:
            self.assertEqual(drawn, set())
            self.assertIn("no plots", done.stderr)

    def test_an_interrupted_run_continues_where_it_was(self):
        command = ["3.6", "--samples", "4000", "--method", "auto", "--method", "fabrikx"]
        process = subprocess.Popen(
            [PROGRAM, "tables", *command], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        file = self.folder / "out/tables/results.jsonl"
        until = time.monotonic() + 60
        while not (file.exists() and file.read_text().count("\n")):  # the first of six results is there
            self.assertIsNone(process.poll())
            self.assertLess(time.monotonic(), until)
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        _, message = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, message)
        kept = file.read_text().splitlines()
        self.assertTrue(0 < len(kept) < 6, kept)
        self.assertIn(f"interrupted; {len(kept)} results are kept in ", message)
        done = self.run_program(*command)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"{6 - len(kept)} results computed, {len(kept)} taken from out/tables", done.stderr)
        lines = file.read_text().splitlines()
        self.assertEqual(lines[: len(kept)], kept)
        self.assertEqual(len({(r["row"], r["method"]) for r in map(json.loads, lines)}), 6)


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] == "--help":
        print(__doc__)
        sys.exit(0 if "--help" in sys.argv else 2)
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
