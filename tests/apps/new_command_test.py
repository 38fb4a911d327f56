#!/usr/bin/env python3
"""`tendril new`: every kind runs at once and passes its checks; nothing is overwritten.

usage: new_command_test.py path/to/tendril"""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = ""


class New(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name)

    def tearDown(self):
        self.temporary.cleanup()

    def run_program(self, *arguments):
        return subprocess.run([PROGRAM, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=600)

    def refused(self, *arguments):
        done = self.run_program("new", *arguments)
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)
        return done.stderr

    def kinds(self):
        return re.findall(r"^  ([a-z]+) {2,}an? ", self.run_program("new", "--help").stdout, re.M)

    def test_every_kind_runs_at_once_and_passes(self):
        self.assertEqual(self.kinds(), ["continuum", "tendon", "pneumatic", "snake", "mobile"])
        for kind in self.kinds():
            with self.subTest(kind):
                done = self.run_program("new", f"my_{kind}", "--kind", kind)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                files = {file.name for file in (self.folder / f"my_{kind}").iterdir()}
                self.assertEqual(files, {"robot.toml", "scene.xml", f"my_{kind}.toml"})
                for file in (self.folder / f"my_{kind}").iterdir():
                    self.assertNotIn("{{", file.read_text())
                done = self.run_program("run", f"my_{kind}/my_{kind}.toml", "--no-record", "--out", f"out/{kind}")
                self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)

    def test_the_next_three_commands_are_printed(self):
        lines = self.run_program("new", "a", "--controller", "--out", "there").stdout.splitlines()
        commands = [line.strip() for line in lines if line.startswith("  tendril ")]
        self.assertEqual(
            commands,
            [
                "tendril view there/a.toml",
                "tendril run there/a.toml --video",
                "tendril run there/a.toml --python there/controller.py --controller my.reach",
            ],
        )
        compile((self.folder / "there/controller.py").read_text(), "controller.py", "exec")

    def test_nothing_is_overwritten(self):
        (self.folder / "a").mkdir()
        self.assertEqual(self.run_program("new", "a").returncode, 0)
        (self.folder / "a/robot.toml").write_text("mine")
        self.assertIn("a: exists", self.refused("a"))
        (self.folder / "file").write_text("mine")
        self.assertIn("file: exists", self.refused("b", "--out", "file"))
        self.assertEqual((self.folder / "a/robot.toml").read_text(), "mine")

    def test_wrong_words_are_one_line(self):
        self.assertIn("(did you mean tendon?)", self.refused("a", "--kind", "tendn"))
        self.assertIn("must go with --kind", self.refused("a", "--kind", "snake", "--controller"))
        for name in ("../a", "1", "a b", "a/b"):
            self.assertIn("must be letters", self.refused(name))
        self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
