#!/usr/bin/env python3
"""Runs `tendril drive` in a simulation, by a log, and against a robot on the loopback.

usage: drive_command_test.py PROGRAM
"""

import json
import math
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

PROGRAM = ""
FOLDER = Path(__file__).resolve().parents[2] / "docs/guide/drive"
sys.path.insert(0, str(FOLDER))
import robot as example  # noqa: E402

ARM = (FOLDER / "arm.toml").read_text()
SCENE = """<mujoco><option timestep="0.002" integrator="discrete" cone="elliptic" impratio="10" iterations="100"/>
<asset><model name="arm" file="arm.toml"/></asset><worldbody><body name="target" mocap="true" pos="0.06 0.03 0.17"/>
<attach model="arm" body="base" prefix="A_"/></worldbody></mujoco>"""
EXPERIMENT = """scene = "scene.xml"
duration = 1.5
[[check]]
metric = "tip_error_end"
max = 0.002
"""
TARGET = (0.06, 0.03, 0.17)


class Robot(example.Robot, threading.Thread):
    """The robot of the guide, with 5 ms from order to order whatever the machine does."""

    def __init__(self, readings=example.READINGS, damage=False, silent_after=None, target=TARGET):
        example.Robot.__init__(self, readings=readings, target=target)
        threading.Thread.__init__(self, daemon=True)
        self.address = f"udp:127.0.0.1:{self.port}"
        self.orders, self.damage, self.silent_after, self.closed = [], damage, silent_after, False
        self.start()

    def run(self):
        while True:
            datagram, peer = self.socket.recvfrom(4096)
            if self.closed:
                return
            self.orders.append(struct.unpack_from(f"<{(len(datagram) - 28) // 8}d", datagram, 24))
            order = self.order(datagram)
            if order is not None and order[0] == example.COMMAND:
                self.apply(order[1])
            message = self.message(self.read(0.005))
            if self.silent_after is not None and self.number > self.silent_after:
                continue
            if self.damage and self.number % 3 == 0:
                message = message[:40] + bytes([message[40] ^ 1]) + message[41:]
            self.socket.sendto(message, peer)

    def close(self):
        self.closed = True
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as wake:
            wake.sendto(b"end", ("127.0.0.1", self.port))
        self.join()
        self.socket.close()

    def tip(self):
        """Of two sections of constant curvature."""
        pose = [[float(i == j) for j in range(4)] for i in range(4)]
        for u, v in (self.bends[:2], self.bends[2:]):
            theta, phi = math.hypot(u, v), math.atan2(v, u)
            c, s, cp, sp = math.cos(theta), math.sin(theta), math.cos(phi), math.sin(phi)
            r = 0.1 / theta if theta > 1e-9 else None
            p = (r * (1 - c) * cp, r * (1 - c) * sp, r * s) if r else (0.0, 0.0, 0.1)
            section = [
                [cp * cp * (c - 1) + 1, sp * cp * (c - 1), cp * s, p[0]],
                [sp * cp * (c - 1), sp * sp * (c - 1) + 1, sp * s, p[1]],
                [-cp * s, -sp * s, c, p[2]],
                [0.0, 0.0, 0.0, 1.0],
            ]
            pose = [[sum(pose[i][k] * section[k][j] for k in range(4)) for j in range(4)] for i in range(4)]
        return [row[3] for row in pose[:3]]


class DriveCommand(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name)
        (self.folder / "arm.toml").write_text(ARM)
        (self.folder / "scene.xml").write_text(SCENE)
        (self.folder / "reach.toml").write_text(EXPERIMENT)
        self.addCleanup(self.temporary.cleanup)

    def drive(self, *arguments, robot="arm.toml"):
        report = () if "--json" in arguments or "--no-report" in arguments else ("--no-report",)
        return self.run_program("drive", robot, *arguments, *report)

    def run_program(self, *words):
        return subprocess.run(
            [PROGRAM, *words],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def robot(self, **keys):
        robot = Robot(**keys)
        self.addCleanup(robot.close)
        return robot

    def test_a_simulated_robot_and_its_log(self):
        link = ("--delay", "0.004", "--jitter", "0.002", "--loss", "0.1")
        result = self.drive("--link", "sim:reach.toml", *link, "--out", "out", "--json", "--no-report")
        self.assertEqual(result.returncode, 0, result.stderr)
        summary = json.loads(result.stdout)
        self.assertTrue(all(check["holds"] for check in summary["checks"]))
        result = self.drive("--link", "log:out/rollout.h5", *link)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("750 steps: every command is bitwise identical", result.stdout)
        result = self.drive("--link", "log:out/rollout.h5")  # another link
        self.assertEqual(result.returncode, 1)
        self.assertIn("largest difference", result.stdout)

    def test_a_stopped_robot_fails_the_run(self):
        result = self.drive("--link", "sim:reach.toml", "--stop", "0.2", "--out", "out", "--no-report")
        self.assertEqual(result.returncode, 1)
        self.assertIn("driver: stopped at the end", result.stdout)

    def test_a_robot_on_the_network_reaches_its_target(self):
        robot = self.robot()
        result = self.drive("--link", robot.address, "--rate", "200", "--duration", "4", "--stale", "3", "--quiet")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("driver: running at the end", result.stdout)
        self.assertLess(math.dist(robot.tip(), TARGET), 2e-3)
        self.assertEqual(robot.orders[0][0], example.HELLO)
        self.assertEqual(robot.orders[-1][0], example.HOLD)
        log = self.folder / "out/arm-drive/rollout.h5"
        result = self.run_program("rollout", "replay", log)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("identical", result.stdout)
        result = self.drive("--link", f"log:{log}")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        info = json.loads(self.run_program("rollout", "info", log, "--json").stdout)
        commands = sum(order[0] == example.COMMAND for order in robot.orders)
        self.assertLessEqual(commands, info["rows"])
        self.assertEqual(info["outcome"], "done")
        self.assertEqual(info["attributes"]["log"], robot.address)
        result = self.drive("--link", f"log:{log}", "--delay", "0.01")
        self.assertEqual(result.returncode, 2)
        self.assertIn("the log of a robot has its link", result.stderr)

    def test_a_driver_that_is_killed_leaves_its_log(self):
        robot = self.robot()
        log = self.folder / "out/rollout.h5"
        driver = subprocess.Popen(
            [PROGRAM, "drive", "arm.toml", "--link", robot.address, "--rate", "500", "--out", "out", "--stale", "3"],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.addCleanup(driver.wait)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            info = self.run_program("rollout", "info", log, "--json")
            if info.returncode == 0 and json.loads(info.stdout)["rows"] > 0:
                break
            time.sleep(0.05)
        driver.kill()
        driver.wait()
        result = self.run_program("rollout", "replay", log)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("identical", result.stdout)

    def test_ctrl_c_ends_the_drive_and_its_log_is_whole(self):
        robot = self.robot()
        driver = subprocess.Popen(
            [PROGRAM, "drive", "arm.toml", "--link", robot.address, "--out", "out", "--stale", "3", "--no-report"],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        deadline = time.monotonic() + 60
        while len(robot.orders) < 50 and time.monotonic() < deadline:
            time.sleep(0.01)
        driver.send_signal(signal.SIGINT)
        output, errors = driver.communicate(timeout=60)
        self.assertEqual(driver.returncode, 0, errors)
        self.assertIn("rollout.h5", output)
        self.assertEqual(robot.orders[-1][0], example.HOLD)
        result = self.run_program("rollout", "replay", self.folder / "out/rollout.h5")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_a_robot_without_a_target_gets_one(self):
        robot = self.robot(target=(math.nan,) * 3)
        result = self.drive("--link", robot.address, "--rate", "200", "--duration", "0.5", "--quiet")
        self.assertEqual(result.returncode, 1)
        self.assertIn("--target does", result.stderr)
        self.assertTrue(all(order[0] != example.COMMAND for order in robot.orders))
        robot = self.robot(target=(math.nan,) * 3)
        where = ("--target", ",".join(map(str, TARGET)))
        result = self.drive("--link", robot.address, "--rate", "200", "--duration", "4", "--stale", "3", *where)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertLess(math.dist(robot.tip(), TARGET), 2e-3)

    def test_damaged_messages_are_dropped(self):
        robot = self.robot(damage=True)
        result = self.drive("--link", robot.address, "--rate", "200", "--duration", "4", "--stale", "3", "--quiet")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn(" 0 damaged", result.stdout)
        self.assertLess(math.dist(robot.tip(), TARGET), 2e-3)

    def test_a_silent_robot_is_held(self):
        robot = self.robot(silent_after=20)
        result = self.drive("--link", robot.address, "--rate", "200", "--duration", "3", "--quiet")
        self.assertEqual(result.returncode, 1)
        self.assertIn("driver: held: no message of the robot at the end", result.stdout)
        held = [commands for order, *commands in robot.orders if order == example.HOLD]
        self.assertTrue(held)
        self.assertTrue(all(commands == held[0] for commands in held))

    def test_another_robot_is_not_moved(self):
        robot = self.robot(readings={"bend_s1_y": 1, "bend_s1_x": 1, "bend_s2_y": 1, "other": 1})
        result = self.drive("--link", robot.address, "--duration", "0.5", "--quiet")
        self.assertEqual(result.returncode, 1)
        self.assertIn("sends messages of another robot", result.stderr)
        self.assertTrue(all(order[0] != example.COMMAND for order in robot.orders))

    def test_bad_input_is_one_line(self):
        (self.folder / "blind.toml").write_text(ARM[: ARM.index("[[sensor]]")])
        for arguments, robot, text in (
            (("--link", "can0"), "arm.toml", "--link: can0: must be sim:EXPERIMENT"),
            (("--link", "udp:localhost"), "arm.toml", "must be udp:HOST:PORT"),
            (("--link", "udp:localhost:7400", "--rate", "0"), "arm.toml", "--rate: 0: must be in [1, 10000] Hz"),
            (("--link", "udp:localhost:7400", "--target", "1,2"), "arm.toml", "--target: 1,2: must be three numbers"),
            (("--link", "sim:reach.toml", "--delay", "-1"), "arm.toml", "must be in [0, 10] s"),
            (("--link", "sim:reach.toml", "--loss", "2"), "arm.toml", "must be in [0, 1]"),
            (("--link", "sim:reach.toml", "--bits", "40"), "arm.toml", "--bits: 40: must be an integer in [0, 32]"),
            (("--link", "sim:reach.toml", "--stale", "0"), "arm.toml", "--stale: 0: must be positive"),
            (("--link", "sim:reach.toml"), "blind.toml", "blind.toml: sensor: none more"),
            (("--link", "udp:localhost:7400"), "blind.toml", "no [[sensor]] that tells the shape"),
            (("--link", "sim:none.toml"), "arm.toml", "none.toml"),
            (("--link", "log:arm.toml"), "arm.toml", "arm.toml"),
        ):
            with self.subTest(text=text):
                result = self.drive(*arguments, robot=robot)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(text, result.stderr)
                self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] == "--help":
        print(__doc__.strip())
        sys.exit(0 if sys.argv[1:] else 2)
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
