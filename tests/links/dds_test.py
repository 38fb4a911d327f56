#!/usr/bin/env python3
"""The bridge of links/dds and a second participant, which plays robot and target; exit code 77: Cyclone DDS is missing.

usage: dds_test.py
"""

import copy
import math
import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "links/dds"))
LOOPBACK = """<General><Interfaces><NetworkInterface name="lo"/></Interfaces><AllowMulticast>false</AllowMulticast>
</General><Discovery><Peers><Peer address="127.0.0.1"/></Peers><ParticipantIndex>auto</ParticipantIndex></Discovery>"""
os.environ["CYCLONEDDS_URI"] = LOOPBACK

try:
    from cyclonedds.domain import DomainParticipant
    from cyclonedds.pub import DataWriter
    from cyclonedds.qos import Policy, Qos
    from cyclonedds.sub import DataReader
    from cyclonedds.topic import Topic
    from cyclonedds.util import duration
    from tendril_dds import Bridge
    from tendril_dds.messages import (
        Header,
        JointState,
        Point,
        Pose,
        PoseStamped,
        Quaternion,
        Time,
        matrix_of,
        pose_message,
        pose_numbers,
    )

    import tendril as td
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
try:
    from rosbags.typesys import Stores, get_typestore
except ImportError:
    get_typestore = None

ARM = ROOT / "docs/guide/drive/arm.toml"
SENSORS = ROOT / "scenes/sensors/arm.toml"
DOMAIN = 100 + os.getpid() % 100
STEP = 0.01
SIGNS = np.array([1.0, -1.0, 1.0, -1.0])  # encoders read angles about y and -x
TARGET = (0.06, 0.03, 0.17)
ROS_DEFAULT = Qos(Policy.Reliability.Reliable(duration(milliseconds=100)), Policy.History.KeepLast(10))
SENSOR_DATA = Qos(Policy.Reliability.BestEffort, Policy.History.KeepLast(5))


class Robot:
    """An arm whose sections go where they are commanded to be, with a lag of 20 ms, on topics of its own."""

    def __init__(self, names, bends=(0.0, 0.0, 0.0, 0.0), namespace="arm", domain=DOMAIN):
        self.names, self.bends, self.number = names, np.array(bends), 0
        self.participant = DomainParticipant(domain)
        self.root = f"rt/{namespace}" if namespace else "rt"
        self.sensors = self.writer("sensors", JointState, SENSOR_DATA)
        self.states = self.writer("joint_states", JointState)
        self.target = self.writer("target", PoseStamped)
        self.commands = self.reader("actuator_commands", JointState)
        self.tips = self.reader("tip", PoseStamped)

    def writer(self, name, kind, qos=ROS_DEFAULT):
        return DataWriter(self.participant, Topic(self.participant, f"{self.root}/{name}", kind), qos)

    def reader(self, name, kind, qos=ROS_DEFAULT):
        return DataReader(self.participant, Topic(self.participant, f"{self.root}/{name}", kind), qos)

    def header(self, frame=""):
        self.number += 1
        return Header(Time(self.number // 1000, self.number % 1000 * 1_000_000), frame)

    def joints(self, names, numbers):
        return JointState(self.header(), list(names), [float(number) for number in numbers])

    def pose(self, position=TARGET, orientation=(0.0, 0.0, 0.0, 1.0), frame="arm"):
        return PoseStamped(self.header(frame), Pose(Point(*position), Quaternion(*orientation)))

    def tell(self):
        self.sensors.write(self.joints([f"bend_{name}" for name in self.names], self.bends))
        self.states.write(self.joints(self.names, self.bends * SIGNS))

    def follow(self, seconds):
        """Takes the newest commands; returns them, or None."""
        messages = self.commands.take(100)
        if messages:
            self.goal = np.array([dict(zip(messages[-1].name, messages[-1].position))[name] for name in self.names])
        if hasattr(self, "goal"):
            self.bends = self.bends + min(1.0, seconds / 0.02) * (self.goal * SIGNS - self.bends)
        return self.goal if messages else None

    def tip_error(self):
        """By forward kinematics of the sections, m."""
        states = [[math.hypot(u, v), math.atan2(v, u), 0.0] for u, v in self.bends.reshape(2, 2)]
        return np.linalg.norm(td.load_robot(ARM).tip_pose(states)[:3, 3] - TARGET)


def without_load_cell(text):
    """A robot file without the sensor that has no topic."""
    start = text.find("# A load cell")
    return text if start < 0 else text[:start] + text[text.index("[controller]") :]


def bridge_and_robot(test, bends=(0.0, 0.0, 0.0, 0.0), **settings):
    bridge = Bridge(ARM, timestep=STEP, domain=DOMAIN, namespace=test, **settings)
    return bridge, Robot(bridge.driver.actuators, bends, test)


class Messages(unittest.TestCase):
    @unittest.skipIf(get_typestore is None, "rosbags is missing")
    def test_their_bytes_are_those_of_ros_2(self):
        """As another library writes the definitions of Jazzy."""
        store = get_typestore(Stores.ROS2_JAZZY)
        types = store.types
        header_of = lambda h: types["std_msgs/msg/Header"](
            types["builtin_interfaces/msg/Time"](h.stamp.sec, h.stamp.nanosec), h.frame_id
        )
        rng = np.random.default_rng(5)
        for _ in range(50):
            count, others = rng.integers(0, 5, 2)
            names = ["n" * rng.integers(1, 9) for _ in range(count)]
            header = Header(Time(int(rng.integers(2**31)), int(rng.integers(10**9))), "f" * rng.integers(0, 6))
            fields = rng.normal(size=count), rng.normal(size=others), rng.normal(size=0)
            ours = JointState(header, names, *[numbers.tolist() for numbers in fields])
            theirs = types["sensor_msgs/msg/JointState"](header_of(header), names, *fields)
            self.assertEqual(ours.serialize(), bytes(store.serialize_cdr(theirs, "sensor_msgs/msg/JointState")))
            p, q = rng.normal(size=3), rng.normal(size=4)
            pose = types["geometry_msgs/msg/Pose"](
                types["geometry_msgs/msg/Point"](*p), types["geometry_msgs/msg/Quaternion"](*q)
            )
            theirs = types["geometry_msgs/msg/PoseStamped"](header_of(header), pose)
            ours = PoseStamped(header, Pose(Point(*p.tolist()), Quaternion(*q.tolist())))
            self.assertEqual(ours.serialize(), bytes(store.serialize_cdr(theirs, "geometry_msgs/msg/PoseStamped")))
        self.assertEqual(
            [kind.__idl__.idl_transformed_typename for kind in (JointState, PoseStamped)],
            ["sensor_msgs::msg::dds_::JointState_", "geometry_msgs::msg::dds_::PoseStamped_"],
        )

    def test_poses_are_those_of_the_quaternion(self):
        rng = np.random.default_rng(2)
        for angle in (0.0, 1e-9, 0.3, 2.0, math.pi - 1e-9, math.pi):
            axis = rng.normal(size=3)
            axis /= np.linalg.norm(axis)
            cross = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
            matrix = np.eye(4)
            matrix[:3, :3] += math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross  # Rodrigues
            matrix[:3, 3] = rng.normal(size=3)
            message = PoseStamped(Header(Time(), "arm"), pose_message(matrix))
            q = message.pose.orientation
            sign = 1.0 if np.dot([q.x, q.y, q.z], axis) * math.sin(angle / 2) + q.w * math.cos(angle / 2) > 0 else -1.0
            expected = sign * np.array([*axis * math.sin(angle / 2), math.cos(angle / 2)])
            self.assertTrue(np.allclose([q.x, q.y, q.z, q.w], expected, atol=1e-8))
            self.assertTrue(np.allclose(matrix_of(pose_numbers(message, "arm")), matrix, atol=1e-8))


class Topics(unittest.TestCase):
    @unittest.skipIf(get_typestore is None, "rosbags is missing")
    def test_they_are_those_of_an_exported_bag(self):
        from rosbags.highlevel import AnyReader

        for file, scene in ((ARM, ARM), (SENSORS, ROOT / "scenes/sensors/sensors.xml")):
            with tempfile.TemporaryDirectory() as folder:
                robot = Path(folder) / "arm.toml"
                robot.write_text(without_load_cell(file.read_text()))
                bridge = Bridge(robot, timestep=STEP, domain=DOMAIN, namespace="arm")
                td.Experiment(scene).run(duration=0.1, record=Path(folder) / "rollout.h5")
                words = ["export", f"{folder}/rollout.h5", "--to", "rosbag", "-o", f"{folder}/bag"]
                subprocess.run([sys.executable, "-m", "tendril", *words], check=True, capture_output=True)
                with AnyReader([Path(folder) / "bag"]) as reader:
                    names = {
                        connection.topic: list(reader.deserialize(data, connection.msgtype).name)
                        for connection, _, data in reader.messages()
                        if connection.msgtype == "sensor_msgs/msg/JointState"
                    }
                    poses = [c.topic for c in reader.connections if c.msgtype == "geometry_msgs/msg/PoseStamped"]
            for topic, elements in bridge.topics.items():
                if elements == ["position", "orientation"]:
                    self.assertIn(topic, poses)
                else:
                    self.assertEqual(set(elements), set(names[topic]))
            self.assertIn("/arm/actuator_commands", names)
            self.assertIn("/arm/tip", poses)

    def test_bad_files_are_one_line(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "arm.toml"
            for text, line in (
                (SENSORS.read_text(), "sensor cell: kind = base_force: must be bend_encoder, "),
                (ARM.read_text().replace('"bend"', '"tip"'), "sensor tip: name: must not be sensors, "),
                (ARM.read_text().replace("[controller]", "[control]"), "control"),
            ):
                file.write_text(text)
                with self.assertRaises(td.ModelError) as caught:
                    Bridge(file, timestep=STEP, domain=DOMAIN)
                self.assertIn(line, str(caught.exception))
                self.assertNotIn("\n", str(caught.exception))


class Driving(unittest.TestCase):
    def test_commands_are_those_of_the_driver(self):
        """Whatever else comes: messages that are damaged, old or of another robot, and silence, are as none at all."""
        start = [0.2, -0.1, 0.1, 0.05]
        for noisy in (False, True):
            bridge, robot = bridge_and_robot(f"twin_{noisy}", start)
            twin = td.Driver(ARM, timestep=STEP, stale_after=0.1, speed_limit=1.0)
            twin.commands = np.array(start) * SIGNS
            target, rng = np.eye(4), np.random.default_rng(11)
            target[:3, 3] = TARGET
            old = robot.joints(["bend_s1_y"], [1.0])
            robot.target.write(robot.pose(frame="arm"))
            for k in range(300):
                is_silent = 150 <= k < 180
                if noisy:
                    robot.sensors.write(robot.joints(["bend_s1_y", "bend_s1_x"], [2.0]))  # lacks a number
                    robot.sensors.write(
                        robot.joints(["bend_s1_y", "foreign"], [math.nan, 3.0]) if not is_silent else old
                    )
                    robot.target.write(robot.pose((0.0, 0.0, math.inf)))
                    robot.target.write(robot.pose((0.1, 0.0, 0.1), (0.0, 0.0, 0.0, 0.9)))
                    robot.target.write(robot.pose((0.1, 0.0, 0.1), frame="world"))
                    robot.states.write(robot.joints(["another"], [1.0]))
                readings = None
                if not is_silent:
                    bends = robot.bends + 1e-4 * rng.normal(size=4)
                    robot.sensors.write(robot.joints([f"bend_{name}" for name in robot.names], bends))
                    robot.states.write(robot.joints(robot.names, robot.bends * SIGNS))
                    readings = dict(zip(twin.readings, bends))
                    if noisy:
                        robot.sensors.write(copy.deepcopy(old))  # by its stamp
                        robot.sensors.write(robot.joints(["bend_s2_x"], [math.nan]))  # after a good one
                        robot.states.write(robot.joints(["s1_y"], [math.inf]))
                state = bridge.step(k * STEP)
                expected = twin.step(k * STEP, readings, target)
                self.assertEqual(state, twin.state)
                commands = robot.follow(STEP)
                if state == "running":
                    self.assertTrue(np.array_equal(commands, expected))
                else:
                    self.assertIsNone(commands)
            self.assertEqual(twin.state, "running")
            tip = robot.tips.take(1000)[-1]
            self.assertEqual(tip.header.frame_id, "arm")
            self.assertTrue(np.allclose(matrix_of(pose_numbers(tip, "arm")), twin.tip, atol=1e-9))
            self.assertEqual(bridge.dropped > 0, noisy)

    def test_nothing_is_commanded_before_robot_and_target_have_come(self):
        bridge, robot = bridge_and_robot("early", [0.3, 0.0, 0.0, 0.0])
        for k in range(10):
            self.assertEqual(bridge.step(k * STEP), "waiting for the robot")
        robot.target.write(robot.pose(frame="arm"))
        robot.sensors.write(robot.joints([f"bend_{name}" for name in robot.names], robot.bends))
        bridge.step(10 * STEP)
        self.assertIsNone(robot.follow(STEP))  # where the actuators are is unknown

        bridge, robot = bridge_and_robot("aimless", [0.3, 0.0, 0.0, 0.0])
        for k in range(10):
            robot.tell()
            robot.states.write(robot.joints(["s1_y"], [math.nan]))
            self.assertEqual(bridge.step(k * STEP), "running")
            self.assertIsNone(robot.follow(STEP))
        robot.bends = np.array([0.5, 0.0, 0.0, 0.0])  # by hand, before the first command
        robot.target.write(robot.pose(frame="arm"))
        robot.tell()
        bridge.step(10 * STEP)
        most = 1.0 * STEP * np.diff(bridge.driver.ranges, axis=1)[:, 0]
        robot.follow(STEP)
        self.assertTrue(np.all(np.abs(robot.goal - np.array([0.5, 0, 0, 0])) <= most * (1 + 1e-9)))

    def test_drums_have_a_topic_of_their_own(self):
        bridge = Bridge(ROOT / "tests/links/tendon_arm.toml", timestep=STEP, domain=DOMAIN, namespace="drums")
        tendons = bridge.topics["/drums/drum"]
        self.assertEqual([f"drum_{name}" for name in tendons], bridge.driver.readings)
        robot = Robot(bridge.driver.actuators, namespace="drums")
        robot.writer("drum", JointState).write(robot.joints(tendons, range(len(tendons))))
        deadline = time.monotonic() + 10.0
        while not (seen := bridge._read()) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual([seen[f"drum_{name}"] for name in tendons], list(range(len(tendons))))

    def test_tensions_and_feed_come_from_their_messages(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "arm.toml"
            cells = '[[sensor]]\nkind = "tendon_force"\nname = "cells"\n[base]\nfeed = 0.1\n'
            file.write_text(without_load_cell(SENSORS.read_text()) + cells)
            bridge = Bridge(file, timestep=STEP, domain=DOMAIN)
            self.assertEqual(bridge.topics["/arm/cells"], [f"t{i}" for i in range(1, 7)])
            robot = Robot(bridge.driver.actuators)
            cells, encoder = robot.writer("cells", JointState), robot.writer("encoder", JointState)
            tensions, zeros = [2.0, 2.1, 2.2, 2.3, 2.4, 2.5], [0.0] * 6
            tendons = bridge.topics["/arm/cells"]
            cells.write(JointState(robot.header(), tendons, [], [], tensions))
            encoder.write(robot.joints(tendons, zeros))
            actuators = bridge.driver.actuators
            rates = [0.01 * (name == "feed") for name in actuators]
            robot.states.write(JointState(robot.header(), actuators, [0.02] * len(actuators), rates))
            robot.target.write(robot.pose((0.0, 0.0, 0.2)))
            seen = bridge._read()
            self.assertEqual([seen[f"cells_{name}"] for name in tendons], tensions)
            self.assertEqual([seen[f"encoder_{name}"] for name in tendons], zeros)
            self.assertEqual((seen["feed"], seen["feed_rate"]), (0.02, 0.01))
            cells.write(JointState(robot.header(), tendons, [], [], tensions))
            self.assertEqual(bridge.step(0.0), "running")
            self.assertEqual(set(robot.commands.take(10)[-1].name), set(actuators))


class Program(unittest.TestCase):
    def test_another_process_drives_the_robot_in_real_time(self):
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "ROS_DOMAIN_ID": str(DOMAIN)}
        program = [sys.executable, "-m", "tendril_dds", ARM, "--namespace", "", "--duration", "30"]
        process = subprocess.Popen(program, env=environment, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        robot = Robot(["s1_y", "s1_x", "s2_y", "s2_x"], namespace="")
        self.assertIn("waiting for the robot", process.stdout.readline())
        deadline, last = time.monotonic() + 25, time.monotonic()
        while time.monotonic() < deadline and robot.tip_error() > 1e-3:
            robot.target.write(robot.pose(frame="arm"))
            robot.tell()
            time.sleep(0.005)
            robot.follow(time.monotonic() - last)
            last = time.monotonic()
        self.assertLess(robot.tip_error(), 1e-3)
        time.sleep(0.5)  # silence
        robot.commands.take(100)
        time.sleep(0.2)
        self.assertEqual(robot.commands.take(100), [])
        process.send_signal(2)
        lines = process.stdout.read().splitlines()
        states = [line.split(": ", 1)[1] for line in lines[:-1]]
        self.assertEqual((states[0], states[-1]), ("running", "held: no message of the robot"))
        self.assertRegex(lines[-1], "^held: no message of the robot at the end; [0-9]+ messages dropped$")
        self.assertEqual(process.wait(), 1)

    def test_bad_input_is_one_line(self):
        program = [sys.executable, "-m", "tendril_dds", ROOT / "models/snake.toml"]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        result = subprocess.run(program, env=environment, capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stderr.count("\n")), (2, 1), result.stderr)
        self.assertIn("tendril-dds: ", result.stderr)


if __name__ == "__main__":
    unittest.main()
