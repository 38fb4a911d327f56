#!/usr/bin/env python3
"""What a run says is what happened: robots that failed do not pass, and results of two runs are never mixed.

usage: verdict_test.py path/to/tendril path/to/failing_controller.so"""

import json
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

PROGRAM = LIBRARY = ""
SECTION = "[[section]]\nconstant_length = 0.1\nbend_limit = 1.5\nlinks = 4\n"
ARM = 'kind = "continuum"\n' + SECTION + SECTION + '[controller]\nplugin = "{plugin}"\n{settings}'
SCENE = """<mujoco><option timestep="0.002" integrator="discrete" cone="elliptic" impratio="10" iterations="100"/>
<asset><model name="arm" file="{robot}"/></asset><worldbody><attach model="arm" body="base" prefix="A_"/>
<body name="near" mocap="true" pos="0.03 0 0.18"/><body name="far" mocap="true" pos="1 0 0"/></worldbody></mujoco>"""
CHECK = '[[check]]\nmetric = "{metric}"\nmax = {limit}\n'


class Verdict(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name)

    def tearDown(self):
        self.temporary.cleanup()

    def write(self, plugin="tendril.reach", settings="", checks=""):
        (self.folder / "arm.toml").write_text(ARM.format(plugin=plugin, settings=settings))
        (self.folder / "scene.xml").write_text(SCENE.format(robot="arm.toml"))
        (self.folder / "e.toml").write_text('scene = "scene.xml"\nduration = 0.4\n' + checks)

    def run_program(self, *arguments):
        command = [PROGRAM, "run", "e.toml", "--out", "out", "--no-report", *arguments]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=120)

    def summary(self):
        return json.loads((self.folder / "out/summary.json").read_text())

    def test_a_target_that_is_reached_passes_and_the_status_is_told(self):
        self.write(settings='target = "near"\n', checks=CHECK.format(metric="tip_error_end", limit=0.01))
        done = self.run_program()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("A: working at the end", done.stdout)
        self.assertEqual(self.summary()["verdict"], "pass")
        self.assertEqual(self.summary()["robots"][0]["end"], "working")

    def test_a_target_out_of_reach_does_not_pass(self):
        for checks in ("", CHECK.format(metric="tip_error_end", limit=10)):
            self.write(settings='target = "far"\n', checks=checks)
            done = self.run_program()
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn("scene.xml: A: target not reached at the end, first at t = 0 s", done.stderr)
            self.assertIn("A: target not reached at the end", done.stdout)
            self.assertEqual(self.summary()["verdict"], "fail")

    def test_an_experiment_may_check_the_status_itself(self):
        for metric in ("status_end", "sensor:A_status:end"):
            self.write(settings='target = "far"\n', checks=CHECK.format(metric=metric, limit=2))
            done = self.run_program()
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.summary()["failures"], [])

    def test_a_check_of_a_status_excuses_no_fault_that_it_does_not_ask_for(self):
        for limits, passes in (("max = 9", False), ("min = 3\nmax = 8", False), ("min = 5\nmax = 5", True)):
            checks = f'[[check]]\nmetric = "status_end"\n{limits}\n'
            self.write("test.failing", 'failure = "exception"\n', checks)
            done = self.run_program("--plugin", LIBRARY)
            self.assertEqual(done.returncode == 0, passes, done.stdout + done.stderr)
            self.assertEqual(bool(self.summary()["failures"]), not passes)

    def test_a_controller_that_fails_does_not_pass_its_checks(self):
        for failure, message in (("exception", "boom"), ("nan", "the controller's command is not finite")):
            checks = CHECK.format(metric="tip_error_end", limit=1) + CHECK.format(metric="tip_error_rms", limit=1)
            self.write("test.failing", f'failure = "{failure}"\n', checks)
            done = self.run_program("--plugin", LIBRARY)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertRegex(done.stderr, r"notice: t = 0\.1 s: test\.failing, instance 'A_controller': " + message)
            self.assertIn("A: controller fault at t = 0.1 s", done.stderr)
            self.assertEqual(done.stdout.count("FAILED"), 2, done.stdout)
            summary = self.summary()
            self.assertEqual([c["value"] for c in summary["checks"]], [None, None])
            self.assertEqual((summary["verdict"], summary["robots"][0]["end"]), ("fail", "controller fault"))
            self.assertTrue(any(message in text for text in summary["notices"]))

    def test_an_arm_that_is_too_weak_says_so_at_load_and_when_it_shows(self):
        self.write(settings='target = "near"\n', checks=CHECK.format(metric="tip_error_max", limit=1))
        done = self.run_program("--duration", "2", "--set", "robot.section.*.bend_torque_limit=0.001")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("arm.toml: section 2: can hold 0.002 of its bend_limit of 1.5 rad", done.stderr)
        self.assertRegex(
            done.stderr,
            r"notice: t = 1\.\d+ s: A: does not do what is commanded; following_error is "
            r"\d\.\d+ rad, servo A_s\d_[xy] was at its limit of 0\.001",
        )
        self.assertIn("scene.xml: A: not following at the end, first at t = 1", done.stderr)
        self.assertEqual(self.summary()["robots"][0]["end"], "not following")
        self.assertNotEqual(self.summary()["saturated_servos"], [])

    def test_a_new_run_replaces_all_results_of_an_earlier_one(self):
        self.write(settings='target = "near"\n')
        self.assertEqual(self.run_program("--seed", "1").returncode, 0)
        self.assertTrue((self.folder / "out/rollout.h5").exists())
        (self.folder / "out/notes.txt").write_text("mine")
        (self.folder / "out/snapshot_of_mine.png").write_text("mine")
        self.assertEqual(self.run_program("--seed", "2", "--no-record").returncode, 0)
        kept = {"notes.txt", "snapshot_of_mine.png", ".tendril-results"}
        self.assertEqual({p.name for p in (self.folder / "out").iterdir()}, kept | {"summary.json"})
        # A result that is no longer as the run wrote it, and one that no run wrote, are the user's.
        for name in ("summary.json", "video.mp4"):
            (self.folder / "out" / name).write_text("mine")
            done = self.run_program("--no-record")
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"{name}: is not what an earlier run has written", done.stderr)
            self.assertEqual((self.folder / "out" / name).read_text(), "mine")
            (self.folder / "out" / name).unlink()

    def test_files_of_others_are_not_replaced(self):
        self.write(settings='target = "near"\n')
        for name in ("video.mp4", "summary.json", "report.html"):
            folder = self.folder / f"of_mine_{name}"
            folder.mkdir()
            (folder / name).write_text("mine")
            command = [PROGRAM, "run", "e.toml", "--out", folder.name, "--no-report"]
            done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"{name}: is not what an earlier run has written", done.stderr)
            self.assertEqual((folder / name).read_text(), "mine")
            self.assertEqual([p.name for p in folder.iterdir()], [name])

    def test_two_runs_do_not_write_into_one_folder(self):
        self.write(settings='target = "near"\n')
        info = [PROGRAM, "rollout", "info", "out/rollout.h5"]
        first = subprocess.Popen(
            [PROGRAM, "run", "e.toml", "--out", "out", "--no-report", "--duration", "1e5"],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        until = time.monotonic() + 60
        while subprocess.run(info, cwd=self.folder, capture_output=True).returncode != 0:  # it records
            self.assertIsNone(first.poll())
            self.assertLess(time.monotonic(), until)
            time.sleep(0.02)
        second = self.run_program()
        self.assertEqual(second.returncode, 4)
        self.assertIn("out: another run writes its results here", second.stderr)
        first.send_signal(signal.SIGHUP)
        _, errors = first.communicate(timeout=60)
        self.assertEqual(first.returncode, 130, errors)
        after = subprocess.run(info, cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(after.returncode, 0, after.stderr)

    def test_the_default_folder_names_the_seed(self):
        self.write(settings='target = "near"\n')
        command = [PROGRAM, "run", "e.toml", "--no-report", "--no-record", "--seed", "7"]
        self.assertEqual(subprocess.run(command, cwd=self.folder, capture_output=True).returncode, 0)
        self.assertTrue((self.folder / "out/e-seed7/summary.json").exists())


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] in ("-h", "--help"):
        print(__doc__.strip())
        sys.exit(2 if len(sys.argv) < 3 else 0)
    PROGRAM, LIBRARY = (str(Path(sys.argv.pop(1)).resolve()) for _ in range(2))
    unittest.main()
