#!/usr/bin/env python3
"""`tendril explain`: every code is explained, the page is what the program prints, and names that are nearly right are
suggested.

usage: explain_command_test.py path/to/tendril"""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ""
ARM = 'kind = "continuum"\n[[section]]\nconstant_length = 0.1\nbend_limit = 1.5\n{}[controller]\nplugin = "{}"\n{}'
SCENE = """<mujoco><option timestep="0.002" integrator="discrete" cone="elliptic" impratio="10" iterations="100"/>
<asset><model name="arm" file="arm.toml"/></asset><worldbody><attach model="arm" body="base" prefix="A_"/>
<body name="target" mocap="true" pos="0.03 0 0.08"/></worldbody></mujoco>"""


def run(*arguments, cwd=ROOT):
    return subprocess.run([PROGRAM, *arguments], cwd=cwd, capture_output=True, text=True, timeout=120)


class Explain(unittest.TestCase):
    def printed(self, *arguments):
        done = run("explain", *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""), arguments)
        return done.stdout

    def test_the_page_is_what_the_program_prints(self):
        page = ROOT / "docs/reference/messages.md"
        self.assertEqual(page.read_text(), self.printed("--markdown"), "tendril explain --markdown > " + str(page))

    def test_every_code_that_is_listed_is_explained(self):
        codes = re.findall(r"^  (?: ?\d+ )?([a-z0-9-]+) ", self.printed(), re.M)
        self.assertGreater(len(codes), 60)
        self.assertEqual(len(codes), len(set(codes)))
        for code in codes:
            first, meaning, remedy = self.printed(code).splitlines()
            self.assertTrue(first.startswith(code + " ("), first)
            self.assertTrue(meaning.endswith(".") and remedy.strip(), code)

    def test_a_status_has_a_number_a_name_and_words(self):
        wanted = self.printed("8")
        self.assertIn("status 8", wanted)
        for name in ("not_following", "not-following", "not following"):
            self.assertEqual(self.printed(name), wanted)

    def test_a_printed_line_is_explained(self):
        self.assertIn("implausible-size", self.printed("tendril: notice: arm.toml: radius = 8 m [implausible-size]"))
        for line, code in (
            ("tendril: arm.toml:4: section 1: unknown key 'bend', must be one of: a, b", "unknown-key"),
            ("tendril: arm.toml:4: section 1: bend_limit = -1: must be in (0, 6.28]", "out-of-range"),
            ("tendril: none.toml: No such file or directory: must be a readable file", "missing-file"),
        ):
            self.assertTrue(self.printed(line).startswith(code), line)

    def test_an_unknown_code_is_one_line(self):
        done = run("explain", "not_folowing")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(
            done.stderr,
            "tendril: not_folowing: unknown code (did you mean not-following?); "
            "tendril explain lists all [bad-input]\n",
        )

    def test_codes_of_the_commands_in_python_are_listed(self):
        used = set()
        for file in (ROOT / "python/tendril").rglob("*.py"):
            used |= set(re.findall(r'\bnotice\(\s*"([^"]+)"', file.read_text()))
        self.assertGreater(len(used), 4)
        listed = self.printed()
        self.assertEqual([code for code in sorted(used) if f"  {code} " not in listed], [])


class DidYouMean(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name)
        self.arm()
        (self.folder / "scene.xml").write_text(SCENE)

    def tearDown(self):
        self.temporary.cleanup()

    def arm(self, section="", plugin="tendril.reach", settings=""):
        (self.folder / "arm.toml").write_text(ARM.format(section, plugin, settings))

    def experiment(self, text):
        (self.folder / "e.toml").write_text('scene = "scene.xml"\nduration = 0.01\n' + text)

    def refused(self, *arguments):
        done = run(*arguments, cwd=self.folder)
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)
        self.assertRegex(done.stderr, r" \[[a-z-]+\]\n$")
        return done.stderr

    def test_commands_and_options(self):
        self.assertIn("(did you mean render?)", self.refused("rendr"))
        self.assertIn("(did you mean --seed?)", self.refused("run", "arm.toml", "--sede", "1"))
        self.assertNotIn("did you mean", self.refused("xyzzy"))

    def test_keys_of_robot_files_and_settings(self):
        self.arm(section="bend_limt = 1\n")
        self.assertIn("(did you mean bend_limit?)", self.refused("run", "arm.toml"))
        self.arm(section="damping = 1\n")
        self.assertIn("(did you mean damping_time?)", self.refused("run", "arm.toml"))
        self.arm(plugin="tendril.raech")
        self.assertIn("(did you mean tendril.reach?)", self.refused("run", "arm.toml"))
        self.arm(settings="targt = 1\n")
        self.assertIn("(did you mean target?)", self.refused("run", "arm.toml"))

    def test_experiments_and_set(self):
        for key, name in (
            ("robots.x=1", "robot."),
            ("option.timstep=0.001", "timestep"),
            ("body.target.ofset=[0,0,0]", "offset"),
            ("body.targt.offset=[0,0,0]", "target"),
            ("robot.section.1.bend_limti=1", "bend_limit"),
        ):
            self.assertIn(f"(did you mean {name}?)", self.refused("run", "scene.xml", "--set", key))
        self.experiment("duratoin = 1\n")
        self.assertIn("(did you mean duration?)", self.refused("run", "e.toml"))

    def test_metrics_and_sensors(self):
        for metric, name in (
            ("tip_error_maximum", "tip_error_max"),
            ("tip_eror_max", "tip_error"),
            ("sensor:A_tip_eror:max", "A_tip_error"),
        ):
            self.experiment(f'[[check]]\nmetric = "{metric}"\nmax = 1e-9\n')
            self.assertIn(f"(did you mean {name}?)", self.refused("run", "e.toml"))


if __name__ == "__main__":
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
