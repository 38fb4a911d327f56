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
        self.assertIn("3.1, 3.3, 3.4, 3.5, 3.6, 3.9, 3.11, article, clutter, mobile", message)
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

    def test_plots_are_drawn_or_their_absence_explained(self):
        done = self.run_program("3.5", "3.6", "article", "--samples", "1", "--method", "auto", "--plot")
        self.assertEqual(done.returncode, 0, done.stderr)
        drawn = {path.name for path in (self.folder / "out/tables").glob("*.png")}
        if "no plots" not in done.stderr:
            self.assertEqual(drawn, {"coverage_3.5.png", "success_3.6.png", "matrix_article.png"})

    def test_an_interrupted_run_goes_on_where_it_was(self):
        process = subprocess.Popen(
            [PROGRAM, "tables", "3.6", "--samples", "200000", "--method", "auto", "--method", "fabrikx"],
            cwd=self.folder,
            stderr=subprocess.PIPE,
            text=True,
        )
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        _, message = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, message)
        self.assertIn("interrupted", message)
        kept = self.folder / "out/tables/results.jsonl"
        if kept.exists():
            for line in kept.read_text().splitlines():
                json.loads(line)


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] == "--help":
        print(__doc__)
        sys.exit(0 if "--help" in sys.argv else 2)
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
