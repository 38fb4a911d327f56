#!/usr/bin/env python3
"""Runs `tendril run` and checks exit codes, output files and what is printed.

usage: run_command_test.py PROGRAM
"""

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

PROGRAM = ""
PENDULUM = """<mujoco><option timestep="0.01"/><worldbody><body name="base" pos="0 0 1">
<joint name="swing" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.02"/></body></worldbody>
<sensor><jointpos name="angle" joint="swing"/></sensor></mujoco>"""
UNSTABLE = """<mujoco><option timestep="0.01"><flag eulerdamp="disable"/></option><worldbody><body name="b">
<joint name="runaway" type="slide"/><geom size="0.1" mass="1"/></body></worldbody><actuator>
<general joint="runaway" biastype="affine" biasprm="0.01 0 90"/></actuator></mujoco>"""
EXPERIMENT = """scene = "pendulum.xml"
duration = 0.5
[[check]]
metric = "sensor:angle:max"
max = {limit}
"""


class RunCommand(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name)
        (self.folder / "pendulum.xml").write_text(PENDULUM)
        (self.folder / "unstable.xml").write_text(UNSTABLE)
        (self.folder / "good.toml").write_text(EXPERIMENT.format(limit=10))
        (self.folder / "bad.toml").write_text(EXPERIMENT.format(limit=0))

    def tearDown(self):
        self.temporary.cleanup()

    def run_program(self, *arguments):
        return subprocess.run([PROGRAM, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=120)

    def test_checks_that_hold_give_0_and_a_table(self):
        done = self.run_program("run", "good.toml", "--no-report")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        self.assertRegex(done.stdout, r"sensor:angle:max .* ok")
        self.assertNotIn("\033", done.stdout)  # not a terminal: no color
        self.assertTrue((self.folder / "out/good-seed0/rollout.h5").exists())
        self.assertEqual(json.loads((self.folder / "out/good-seed0/summary.json").read_text())["verdict"], "pass")

    def test_a_check_that_fails_gives_1(self):
        done = self.run_program("run", "bad.toml", "--no-report")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stdout, r"sensor:angle:max .* FAILED")

    def test_divergence_gives_3_and_names_the_joint(self):
        done = self.run_program("run", "unstable.xml", "--no-report")
        self.assertEqual(done.returncode, 3)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertRegex(done.stderr, r"^tendril: unstable.xml: diverged at step \d+, t = [\d.]+ s: joint 'runaway': ")
        summary = json.loads((self.folder / "out/unstable-seed0/summary.json").read_text())
        self.assertEqual(summary["outcome"], "diverged")
        self.assertFalse((self.folder / "MUJOCO_LOG.TXT").exists())

    def test_json_prints_the_summary_and_nothing_else(self):
        done = self.run_program("run", "good.toml", "--json", "--no-report", "--seed", "7", "--out", "here")
        summary = json.loads(done.stdout)
        self.assertEqual(summary["seed"], 7)
        self.assertEqual(summary["checks"][0]["metric"], "sensor:angle:max")
        self.assertIn("--json", summary["command_line"])
        self.assertEqual(done.stdout, (self.folder / "here/summary.json").read_text())

    def test_the_report_is_written_or_its_absence_is_an_error_with_a_reason(self):
        done = self.run_program("run", "good.toml")
        if done.returncode == 0:
            self.assertTrue((self.folder / "out/good-seed0/report.html").exists())
            self.assertEqual(done.stderr, "")
        else:
            self.assertEqual(done.returncode, 4)
            self.assertIn("tendril: report: ", done.stderr)

    def test_a_sensed_run_says_so_holds_its_checks_and_replays(self):
        tube = Path(__file__).resolve().parents[2] / "scenes/tube_insertion"
        done = self.run_program("run", str(tube / "sensed.toml"), "--no-report", "--out", "tube")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"(?m)^arm, by its sensors: finished at the end")
        summary = json.loads((self.folder / "tube/summary.json").read_text())
        self.assertEqual((summary["verdict"], summary["measured"]), ("pass", "sensors"))
        self.assertEqual([robot["measured"] for robot in summary["robots"]], ["sensors"])
        replayed = self.run_program("rollout", "replay", "tube/rollout.h5", "--quiet")
        self.assertEqual(replayed.returncode, 0, replayed.stdout + replayed.stderr)
        # The same by an option, of an arm that has sensors; one that has none is refused in a line.
        sensors = tube.parent / "sensors/sensors.toml"
        short = ("--no-record", "--quiet", "--json", "--duration", "0.1")
        for arguments, measured in (((), "truth"), (("--sensed",), "sensors")):
            done = self.run_program("run", str(sensors), *short, *arguments)
            self.assertEqual(json.loads(done.stdout)["measured"], measured)
        done = self.run_program("run", str(tube / "tube_insertion.toml"), *short, "--sensed")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"^tendril: .*the robot file has no \[\[sensor\]\] that tells the shape.*\n$")

    def test_no_record_leaves_no_recording(self):
        self.run_program("run", "good.toml", "--no-record")
        names = {p.name for p in (self.folder / "out/good-seed0").iterdir()}
        self.assertEqual(names, {"summary.json", ".tendril-results"})

    def test_an_interrupt_gives_130_and_closes_the_recording(self):
        process = subprocess.Popen(
            [PROGRAM, "run", "pendulum.xml", "--duration", "1e5", "--no-report"],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        until = time.monotonic() + 60
        while self.run_program("rollout", "info", "out/pendulum-seed0/rollout.h5").returncode != 0:  # it records
            self.assertIsNone(process.poll())
            self.assertLess(time.monotonic(), until)
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, errors)
        self.assertIn("interrupted at step", errors)
        info = self.run_program("rollout", "info", "out/pendulum-seed0/rollout.h5")
        self.assertEqual(info.returncode, 0, info.stderr)
        self.assertIn("interrupted at step", info.stdout)

    def test_a_recording_names_the_controller_library_that_is_missing(self):
        library = Path(PROGRAM).resolve().parents[1] / "lib/example_controller.so"
        if not library.exists():
            self.skipTest("the example controller is not built")
        scene = Path(__file__).resolve().parents[2] / "apps/examples/circle.xml"
        done = self.run_program("run", str(scene), "--plugin", str(library), "--duration", "0.2", "--no-report")
        self.assertEqual(done.returncode, 0, done.stderr)
        for command in (["rollout", "replay"], ["view", "--screenshot", "x.png"]):
            done = self.run_program(*command, "out/circle-seed0/rollout.h5")
            self.assertIn(done.returncode, (2, 4), command)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            if command[0] == "view" and "display" in done.stderr:
                continue
            self.assertIn("example.circle", done.stderr)
            self.assertIn("--plugin FILE.so", done.stderr)
        done = self.run_program("rollout", "replay", "out/circle-seed0/rollout.h5", "--plugin", str(library))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.run_program("rollout", "info", "out/circle-seed0/rollout.h5").returncode, 0)

    def test_a_full_disk_gives_4(self):
        def no_room():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

        done = subprocess.run(
            [PROGRAM, "run", "good.toml", "--no-record", "--quiet"],
            cwd=self.folder,
            text=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=120,
            preexec_fn=no_room,
        )
        self.assertEqual(done.returncode, 4)
        self.assertRegex(
            done.stderr, r"^tendril: out/good-seed0/.tendril-results: File too large: [^\n]* \[input-output\]\n$"
        )

    def test_a_file_in_the_way_of_the_output_folder_gives_4(self):
        (self.folder / "out").write_text("")
        done = self.run_program("run", "good.toml")
        self.assertEqual(done.returncode, 4)
        self.assertIn("must be a writable folder", done.stderr)

    def test_every_command_has_help_with_an_example(self):
        commands = ["run", "view", "model", "rollout", "doctor"]
        for command in commands:
            done = self.run_program(command, "--help")
            self.assertEqual(done.returncode, 0, command)
            self.assertIn("Example", done.stdout, command)

    def test_doctor_finds_what_simulation_needs(self):
        done = self.run_program("doctor")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("tendril.reach", done.stdout)
        missing = subprocess.run(
            [PROGRAM, "doctor"],
            env={**os.environ, "TENDRIL_PLUGIN": "/none.so"},
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertEqual(missing.returncode, 1)
        self.assertIn("MISSING", missing.stdout)


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__.strip())
        sys.exit(0 if len(sys.argv) > 1 else 2)
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
