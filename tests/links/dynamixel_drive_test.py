#!/usr/bin/env python3
"""`tendril drive` with servos of a bus, against an emulated arm whose body is not that of the robot file.

usage: dynamixel_drive_test.py PROGRAM
"""

import math
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import numpy as np
from dynamixel_emulator import WATCHDOG_STOP, Emulator, Servo
from emulated_arm import EmulatedArm

PROGRAM = ""
FOLDER = Path(__file__).parent
ROBOT, BUS = FOLDER / "tendon_arm.toml", FOLDER / "tendon_arm_bus.toml"
SERVO_ARM = FOLDER.parents[1] / "scenes/servo_arm/arm.toml"  # with a tracker
TARGET = (0.06, 0.03, 0.17)  # m
TARGET_WORD = "0.06,0.03,0.17"
RATE = 50  # Hz
STEP = 2 * math.pi / 4096  # rad
DEADLINE = 300.0  # s, for what takes seconds
ATTEMPTS = 5
CURRENTS = '[[sensor]]\nkind = "tendon_force"\nname = "force"\nnoise = 0.2\n\n'


class DriveTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def model(self, stiffness, friction, robot=ROBOT):
        """The plain model of an arm whose stiffness is another than that of the robot file, by a factor."""
        text = re.sub(
            r"(bending_stiffness) = (\S+)", lambda m: f"{m[1]} = {stiffness * float(m[2])}", robot.read_text()
        )
        text = re.sub(r"(max_tension = .*)", rf"\1\nfriction = {friction}", text) if friction else text
        Path(self.folder, "real.toml").write_text(text)
        model = self.folder / "real.xml"
        words = [PROGRAM, "model", "--plain", self.folder / "real.toml", "-o", model]
        subprocess.run(words, check=True, capture_output=True)
        return model

    def with_currents(self):
        """A robot file that measures tensions too."""
        file = self.folder / "with_currents.toml"
        file.write_text(ROBOT.read_text().replace("[controller]", CURRENTS + "[controller]"))
        return file

    def emulated(self, stiffness=1.0, tendon_friction=0.0, model=ROBOT, **options):
        arm = EmulatedArm(self.model(stiffness, tendon_friction, model), BUS, 1 / RATE, **options)
        self.addCleanup(arm.__exit__)
        return arm

    def drive(self, bus, *more, robot=ROBOT, target=TARGET_WORD):
        """Starts the program with the text of a bus file."""
        file = self.folder / "bus.toml"
        file.write_text(bus)
        words = ["--rate", RATE, "--target", target, "--stale", 5, "--quiet", *more]
        words += ["--out", self.folder / "out", "--no-report"]
        process = subprocess.Popen(
            [PROGRAM, "drive", robot, "--link", f"dynamixel:{file}", *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def wait(self, condition, process):
        end = time.monotonic() + DEADLINE
        while not condition():
            if process.poll() is not None:
                self.fail("".join(process.communicate()))
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def end(self, process):
        """Exit code and all that it wrote."""
        out, err = process.communicate(timeout=DEADLINE)
        return process.returncode, out + err

    def reach(self, largest, *words, robot, target=TARGET_WORD, seconds=8.0, **options):
        """Drives a new arm for so long: its tip is then less than so far from the target, m. Returns what was printed.

        Answers come within the time of a step only if the machine gives the emulator its part of it: else again.
        """
        for _ in range(ATTEMPTS):
            arm = self.emulated(**options)
            tracker = ["--link", f"udp:127.0.0.1:{arm.tracker.link.port}"] if arm.tracker else []
            process = self.drive(arm.text, *tracker, *words, robot=robot, target=target)
            self.wait(lambda arm=arm: arm.data.time > seconds, process)
            error = float(np.linalg.norm(arm.tip - TARGET))
            process.send_signal(signal.SIGINT)
            code, text = self.end(process)
            print(f"{robot.name}: tip error {1e3 * error:.2f} mm\n{text}")
            self.assertEqual(code, 0, text)
            self.assertEqual([winch.get("torque_enable") for winch in arm.winches], [0] * 6)
            self.check_replay()
            answered, asked = map(int, re.search(r"servos: (\d+) of (\d+) reads answered", text).groups())
            if error < largest:
                return text
            self.assertLess(answered, 0.98 * asked, text)
        self.fail(f"{ATTEMPTS} times the machine was too slow")

    def check_replay(self):
        log = [PROGRAM, "rollout", "replay", self.folder / "out/rollout.h5"]
        replay = subprocess.run(log, capture_output=True, text=True, check=False)
        self.assertEqual(replay.returncode, 0, replay.stdout + replay.stderr)

    def servos(self, arm, *words):
        file = self.folder / "bus.toml"
        file.write_text(arm.text)
        command = [PROGRAM, "servos", file, *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=DEADLINE)
        return done.returncode, done.stdout + done.stderr

    def test_reaches_its_target(self):
        # 15 % softer than its file says, with friction of 0.2 N in the guides of its tendons: 1.4 mm.
        self.reach(2e-3, robot=ROBOT, stiffness=0.85, tendon_friction=0.2)

    def test_reaches_its_target_with_tensions_from_currents(self):
        # Gears without friction: 0.3 mm.
        self.reach(1e-3, robot=self.with_currents(), friction=0.0)

    def test_tracker_beside_the_servos(self):
        # 15 % softer, with friction: the tracker sees what the drums do not, and the log has the readings of both.
        targets = self.folder / "targets.csv"
        targets.write_text("t,x,y,z\n0,-0.03,0.02,0.19\n3,0.06,0.03,0.17\n")
        body = {"stiffness": 0.85, "tendon_friction": 0.2, "model": SERVO_ARM, "tracker": SERVO_ARM}
        # By the drums alone it is 4 mm.
        text = self.reach(1.5e-3, robot=SERVO_ARM, target=str(targets), seconds=9.0, **body)
        self.assertGreater(int(re.search(r"messages: (\d+) received, 0 missing", text)[1]), 300)

    def test_finds_the_zeros_of_a_held_arm(self):
        zeros = [2.1, 2.7, 3.0, 3.3, 3.6, 4.0]
        arm = self.emulated(tendon_friction=0.1, model=SERVO_ARM, zeros=zeros, slack=0.004, is_held=True)
        code, text = self.servos(arm)
        self.assertEqual(code, 0, text)
        self.assertEqual(
            re.findall(r"(t\d\d) .* (\S+ N)\n", text), [(f"t{s}{i}", "0.00 N") for s in "12" for i in "123"]
        )
        zeroed = self.folder / "zeroed.toml"
        code, text = self.servos(arm, "--zero", SERVO_ARM, "-o", zeroed)
        self.assertEqual(code, 0, text)
        found = [float(zero) for zero in re.findall(r"(?m)^zero = (\S+)", zeroed.read_text())]
        # 5 % of the pretension of 2 N, and 10 % by the gears, are 60 um of rope, 0.006 rad; a step is 0.0015 rad.
        self.assertLess(np.abs(np.subtract(found, zeros)).max(), 0.0076)
        self.assertEqual([winch.get("torque_enable") for winch in arm.winches], [0] * 6)

    def test_names_a_tendon_that_does_not_tighten(self):
        arm = self.emulated(model=SERVO_ARM, is_held=True)
        arm.winches[4].position += 50000
        arm.winches[4].tell(0.0)
        zeroed = self.folder / "zeroed.toml"
        code, text = self.servos(arm, "--zero", SERVO_ARM, "-o", zeroed)
        self.assertEqual(code, 1, text)
        self.assertIn("servo 5 (t22): pulls 0.00 N after it has wound up 50 mm", text)
        self.assertFalse(zeroed.exists())
        self.assertEqual([winch.get("torque_enable") for winch in arm.winches], [0] * 6)

    def test_killed_driver_leaves_servos_to_their_watchdogs(self):
        numbers = [int(number) for number in re.findall(r"(?m)^id = (\d+)", BUS.read_text())]
        emulator = Emulator(*(Servo(number, 1200) for number in numbers))
        self.addCleanup(emulator.__exit__)
        process = self.drive(re.sub(r"(?m)^port = .*$", f'port = "{emulator.port}"', BUS.read_text()))
        servos = emulator.servos.values()
        self.wait(lambda: all(servo.get("bus_watchdog") for servo in servos) and len(emulator.requests) > 200, process)
        process.kill()
        process.communicate()
        time.sleep(0.02 * max(servo.get("bus_watchdog") for servo in servos) + 0.1)
        for servo in servos:
            servo.hear()
            self.assertEqual(servo.get("bus_watchdog"), WATCHDOG_STOP)
            before = servo.position
            servo.write(116, (0).to_bytes(4, "little"))
            time.sleep(0.05)
            servo.move()
            self.assertEqual(servo.position, before)

    def test_ends_when_a_servo_fails(self):
        def hardware(arm):
            arm.winches[2].set("hardware_error", 0x20)

        def restart(arm):
            arm.winches[2].set("bus_watchdog", 0)

        def silence(arm):
            arm.winches[2].lost = 10**9

        for fault, message in (
            (hardware, "servo 3 (t13): hardware_error = 0x20"),
            (restart, "servo 3 (t13): its watchdog has stopped it, or it has restarted"),
            (silence, "servo 3 (t13): no answer for 2.5 s"),
        ):
            with self.subTest(fault=fault.__name__):
                arm = self.emulated()
                process = self.drive(arm.text)
                self.wait(lambda arm=arm: arm.data.time > 0.5, process)
                fault(arm)
                if fault is restart:  # the driver looks at watchdogs after a servo has been silent
                    arm.winches[2].lost = 2
                code, text = self.end(process)
                self.assertEqual(code, 1, text)
                self.assertIn(message, text)
                others = [
                    winch.get("torque_enable") for winch in arm.winches if fault is not silence or winch.number != 3
                ]
                self.assertEqual(others, [0] * len(others), text)

    def test_leaves_no_log_of_servos_that_do_not_start(self):
        arm = self.emulated()
        winch = arm.winches[2]
        write, torque_enable = winch.write, 64
        winch.write = lambda address, data: 1 if (address, data) == (torque_enable, b"\x01") else write(address, data)
        code, text = self.end(self.drive(arm.text))
        self.assertEqual(code, 2, text)
        self.assertIn("servo 3", text)
        self.assertEqual(len(text.splitlines()), 1, text)
        self.assertFalse((self.folder / "out/rollout.h5").exists())

    def test_ends_when_the_cable_is_pulled(self):
        arm = self.emulated()
        process = self.drive(arm.text)
        self.wait(lambda: arm.data.time > 0.5, process)
        arm.close()
        code, text = self.end(process)
        self.assertNotEqual(code, 0)
        self.assertIn("the port has gone", text)

    def test_refuses_what_servos_cannot_do(self):
        arm = self.emulated()
        robot_text = ROBOT.read_text()
        tracker = robot_text + '\n[[sensor]]\nkind = "tip_tracker"\nname = "tracker"\n'
        for name, bus, robot, message in (
            ("servo", re.sub(r"id = 6", "id = 9", arm.text), robot_text, "servo 9: no answer"),
            ("sensor", arm.text, tracker, "sensor tracker: servos do not measure it: must be a drum_encoder, a"),
            (
                "actuator",
                re.sub('"t23"', '"t24"', arm.text),
                robot_text,
                "servo 6: actuator = t24: must be one of the",
            ),
            ("tendon", arm.text, robot_text.replace("t23", "t24"), "servo 6: actuator = t23: must be one of the"),
            ("gear", re.sub(r"radius = 0.01", "gear = 2", arm.text), robot_text, "is a tendon: must have a radius"),
            (
                "constant",
                re.sub(r"torque_constant.*", "", arm.text),
                self.with_currents().read_text(),
                "torque_constant: is missing",
            ),
        ):
            with self.subTest(name):
                file = self.folder / "robot.toml"
                file.write_text(robot)
                code, text = self.end(self.drive(bus, robot=file))
                self.assertEqual(code, 2, text)
                self.assertIn(message, text)
                self.assertEqual(len(text.splitlines()), 1, text)
                self.assertEqual([winch.get("torque_enable") for winch in arm.winches], [0] * 6)

    def snake(self, word="gear = 1", more=""):
        """An emulated snake whose joints are servos, its robot file, and its bus file."""
        joints = 6
        emulator = Emulator(*(Servo(number, 1200) for number in range(1, joints + 1)))
        self.addCleanup(emulator.__exit__)
        file = self.folder / "snake.toml"
        file.write_text(
            f'kind = "snake"\njoints = {joints}\nlink_length = 0.06\n'
            '[controller]\nplugin = "tendril.snake"\ngait = "serpenoid"\n'
            f'[[sensor]]\nkind = "joint_encoder"\nname = "encoder"\nresolution = 1.5e-3\n{more}'
        )
        bus = f'port = "{emulator.port}"\nwatchdog = 2.5\n' + "".join(
            f'[[servo]]\nid = {number}\nmodel = "xl330"\nactuator = "joint_{number}"\n{word}\nzero = 3.1416\n'
            for number in range(1, joints + 1)
        )
        return emulator, file, bus

    def test_drives_a_snake_whose_joints_are_servos(self):
        emulator, file, bus = self.snake()
        process = self.drive(bus, robot=file)
        places = [[servo.position] for servo in emulator.servos.values()]

        def has_moved():
            for servo, seen in zip(emulator.servos.values(), places, strict=True):
                seen.append(servo.position)
            return min(max(seen) - min(seen) for seen in places[::2]) > 0.2 / STEP

        self.wait(has_moved, process)  # joints about z; the others stay
        process.send_signal(signal.SIGINT)
        code, text = self.end(process)
        self.assertEqual(code, 0, text)
        self.check_replay()
        for word, more, message in (
            ("radius = 0.01", "", "is a joint: must have no radius"),
            ("gear = 1", '[base]\nkind = "carriage"\nfeed = 0.5\n', "no actuator = feed"),
            ("gear = 1", '[[sensor]]\nkind = "imu"\nname = "imu"\n', "sensor imu: servos do not measure it"),
        ):
            with self.subTest(message):
                _, file, bus = self.snake(word, more)
                code, text = self.end(self.drive(bus, robot=file))
                self.assertEqual(code, 2, text)
                self.assertIn(message, text)
                self.assertEqual(len(text.splitlines()), 1, text)

    def test_refuses_links_and_targets(self):
        arm = self.emulated()
        table = self.folder / "targets.csv"
        for rows, words, message in (
            ("0,1,2,3", ["--link", "sim:a.toml"], "--link: sim:a.toml: must be udp:HOST:PORT beside a first link"),
            ("0,1,2,3\n0,1,2,3", [], "targets.csv: row 3, column t: 0: must be later than the row before"),
            ("", [], "targets.csv: no rows: must have a target"),
        ):
            with self.subTest(message):
                table.write_text("t,x,y,z\n" + rows)
                code, text = self.end(self.drive(arm.text, *words, target=str(table)))
                self.assertEqual(code, 2, text)
                self.assertIn(message, text)
                self.assertEqual(len(text.splitlines()), 1, text)

    def test_refuses_zeros_of_what_is_no_tendon(self):
        arm = self.emulated()
        for robot, message in (
            (ROBOT.read_text().replace("t23", "t24"), "servo 6: actuator = t23: must be a tendon of"),
            (ROBOT.read_text().replace("stiffness = 5000", "stiffness = 5000\npretension = 0"), "has no pretension in"),
        ):
            with self.subTest(message):
                file = self.folder / "robot.toml"
                file.write_text(robot)
                code, text = self.servos(arm, "--zero", file, "-o", self.folder / "zeroed.toml")
                self.assertEqual(code, 2, text)
                self.assertIn(message, text)
                self.assertEqual(len(text.splitlines()), 1, text)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
