#!/usr/bin/env python3
"""The robot of links/lerobot in LeRobot's own programs, simulated and on the network; exit code 77: LeRobot is missing.

usage: lerobot_test.py
"""

import importlib
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
import unittest
from pathlib import Path

import numpy as np

try:
    from lerobot.datasets.lerobot_dataset import LeRobotDataset
    from lerobot.datasets.utils import hw_to_dataset_features
    from lerobot.processor import make_default_processors
    from lerobot.robots import RobotConfig, make_robot_from_config
    from lerobot.scripts.lerobot_record import record_loop
    from lerobot.teleoperators import Teleoperator, TeleoperatorConfig, make_teleoperator_from_config
    from lerobot.utils.errors import DeviceAlreadyConnectedError, DeviceNotConnectedError
    from lerobot.utils.import_utils import register_third_party_plugins

    import tendril as td
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

ROOT = Path(__file__).resolve().parents[2]
ARM = ROOT / "docs/guide/drive/arm.toml"
SENSORS = ROOT / "scenes/sensors"
FPS = 30
FOLDER = tempfile.TemporaryDirectory(prefix="lerobot-")
SITE = Path(FOLDER.name) / "site"


def setUpModule():
    """Installs the package as a user does, and lets LeRobot look for it."""
    source = Path(FOLDER.name) / "lerobot"
    shutil.copytree(ROOT / "links/lerobot", source, ignore=shutil.ignore_patterns("__pycache__"))
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--target"]
    subprocess.run([*pip, SITE, source], check=True)
    sys.path.insert(0, str(SITE))
    importlib.invalidate_caches()
    register_third_party_plugins()


def tearDownModule():
    FOLDER.cleanup()


def robot_of(file=ARM, **settings):
    return make_robot_from_config(RobotConfig.get_choice_class("tendril")(file=file, **settings))


def actions_of(robot, numbers):
    return dict(zip(robot.action_features, np.atleast_1d(numbers).tolist(), strict=True))


def vector(values, name):
    return np.array([values[f"{name}.{axis}"] for axis in "xyz"])


class Script(Teleoperator):
    """Actions from a table."""

    name, config_class = "script", TeleoperatorConfig
    feedback_features, is_connected, is_calibrated = {}, True, True

    def __init__(self, robot, table):
        self.robot, self.rows = robot, iter(table)

    @property
    def action_features(self):
        return self.robot.action_features

    def get_action(self):
        return actions_of(self.robot, next(self.rows))

    def connect(self, calibrate=True): ...
    def calibrate(self): ...
    def configure(self): ...
    def send_feedback(self, feedback): ...
    def disconnect(self): ...


class Features(unittest.TestCase):
    def test_the_type_alone_names_it(self):
        self.assertEqual(type(robot_of()).__name__, "Tendril")
        self.assertTrue(sys.modules[type(robot_of()).__module__].__file__.startswith(str(SITE)))

    def test_they_are_those_of_the_robot_file(self):
        text = tomllib.loads((SENSORS / "arm.toml").read_text())
        tendons = [tendon["name"] for tendon in text["tendon"]]
        robot = robot_of(SENSORS / "arm.toml")
        self.assertEqual(list(robot.action_features), tendons)
        driver = td.Driver(SENSORS / "arm.toml", timestep=0.01)
        axes = {1: [""], 3: [".x", ".y", ".z"], 4: [".w", ".x", ".y", ".z"]}
        readings = [name + axis for name, width in zip(driver.readings, driver.widths) for axis in axes[width]]
        self.assertLess(set(readings + tendons), set(robot.observation_features))
        controlled = robot_of(SENSORS / "sensors.xml", prefix="arm_", action="target", sensed=True)
        target, tip = ([f"{name}.{axis}" for axis in "xyz"] for name in ("target", "tip"))
        self.assertEqual(list(controlled.observation_features), readings + tendons + target + tip)
        self.assertEqual(list(controlled.action_features), target)

    def test_observations_have_them(self):
        robot = robot_of(SENSORS / "sensors.xml", prefix="arm_", action="delta", sensed=True)
        robot.connect()
        observation = robot.get_observation()
        self.assertEqual(list(observation), list(robot.observation_features))
        self.assertTrue(all(type(value) is float for value in observation.values()))
        self.assertTrue(robot.is_calibrated)
        robot.disconnect()

    def test_images_of_cameras(self):
        robot = robot_of(
            SENSORS / "sensors.xml", prefix="arm_", action="target", views=["report"], view_size=(64, 48), leash=0.2
        )
        self.assertEqual(robot.observation_features["report"], (48, 64, 3))
        robot.connect()
        before = robot.get_observation()["report"]
        for _ in range(FPS):
            robot.send_action(actions_of(robot, [0.08, 0.0, 0.15]))
        after = robot.get_observation()["report"]
        self.assertEqual((before.shape, before.dtype), ((48, 64, 3), np.uint8))
        self.assertGreater(np.count_nonzero(before != after), 50)
        robot.disconnect()


class Limits(unittest.TestCase):
    def test_commands_keep_to_ranges_and_speed(self):
        for seed in range(5):
            rng = np.random.default_rng(seed)
            robot = robot_of(speed_limit=0.4)
            ranges = dict(zip((driver := td.Driver(ARM, timestep=0.01)).actuators, driver.ranges))
            low, high = np.array([ranges[name] for name in robot.action_features]).T
            most = 0.4 / FPS * (high - low)
            robot.connect()
            before = np.array([robot.get_observation()[name] for name in robot.action_features])
            reached = np.zeros(len(low))
            for _ in range(150):
                if rng.random() < 0.05 or not reached.any():
                    goal = rng.uniform(-20, 20, len(low))
                sent = np.array(list(robot.send_action(actions_of(robot, goal)).values()))
                in_force = np.array([robot.get_observation()[name] for name in robot.action_features])
                self.assertTrue(np.array_equal(sent, in_force))
                self.assertTrue(np.all(np.abs(sent - before) <= most * (1 + 1e-9)))
                self.assertTrue(np.all((low <= sent) & (sent <= high)))
                before, reached = sent, np.maximum(reached, np.abs(sent))
            self.assertTrue(np.all(reached > 0.5 * high))
            robot.disconnect()

    def test_nothing_moves_before_an_action_and_by_a_bad_one(self):
        for action in ("commands", "target", "delta"):
            robot = robot_of(action=action)
            robot.connect()
            start = robot.get_observation()
            names = list(robot.action_features)
            good = actions_of(robot, np.zeros(len(names)))
            for bad, line in (
                (good | {names[1]: float("nan")}, f"{names[1]} = nan: must be a finite number"),
                (good | {names[0]: float("inf")}, f"{names[0]} = inf: must be a finite number"),
                (good | {names[0]: [1.0, 2.0]}, f"{names[0]} = [1.0, 2.0]: must be a finite number"),
                (good | {names[0]: "fast"}, f"{names[0]} = fast: must be a finite number"),
                (
                    {names[0]: 0.0, "gripper": 1.0},
                    f"has gripper and lacks {', '.join(names[1:])}: must have {names[0]}",
                ),
            ):
                with self.assertRaises(ValueError) as caught:
                    robot.send_action(bad)
                self.assertIn("action: " + line, str(caught.exception))
                self.assertNotIn("\n", str(caught.exception))
            self.assertEqual(robot.get_observation(), start)
            robot.send_action(good | {names[0]: 0.5})
            self.assertNotEqual(robot.get_observation(), start)
            robot.disconnect()

    def test_a_target_keeps_to_its_speed(self):
        robot = robot_of(action="target", target_speed=0.2, leash=10.0)
        robot.connect()
        before = vector(robot.get_observation(), "target")
        for goal in np.repeat([[0.05, 0.0, 0.19], [0.0, -0.06, 0.18]], 20, axis=0):
            sent = np.array(list(robot.send_action(actions_of(robot, goal)).values()))
            self.assertTrue(np.array_equal(sent, vector(robot.get_observation(), "target")))
            expected = min(0.2 / FPS, np.linalg.norm(goal - before))
            self.assertAlmostEqual(np.linalg.norm(sent - before), expected, places=12)
            self.assertAlmostEqual(
                np.linalg.norm(sent - before) + np.linalg.norm(goal - sent), np.linalg.norm(goal - before)
            )
            before = sent
        robot.disconnect()

    def test_a_target_is_on_its_leash(self):
        robot = robot_of(action="target", sensed=True, target_speed=0.2, leash=0.03)
        robot.connect()
        goals = np.random.default_rng(7).uniform([-0.3, -0.3, 0.0], [0.3, 0.3, 0.4], (6, 3))
        tip = vector(robot.get_observation(), "tip")
        farthest = 0.0
        for goal in np.repeat(goals, 20, axis=0):
            distance = np.linalg.norm(list(robot.send_action(actions_of(robot, goal)).values()) - tip)
            farthest = max(farthest, distance)
            tip = vector(robot.get_observation(), "tip")
        self.assertAlmostEqual(farthest, 0.03, places=9)
        robot.disconnect()

    def test_bad_settings_are_one_line(self):
        for settings, line in (
            ({"action": "joints"}, "action = joints: must be commands, target or delta"),
            ({"fps": 0.0}, "fps = 0.0: must be a positive number"),
            ({"speed_limit": float("nan")}, "speed_limit = nan: must be a positive number"),
            ({"sensed": True}, "sensed = true: action must be target or delta"),
            ({"address": "robot"}, "address = robot: must be HOST:PORT"),
            ({"action": "target", "target": "goal"}, "target = goal: must be a mocap body of the scene: target"),
            (
                {"file": SENSORS / "sensors.xml", "prefix": "leg_"},
                "prefix = leg_: must be that of a robot with actuators",
            ),
            (
                {"file": SENSORS / "sensors.xml", "action": "target"},
                "prefix = : must be that of an arm of sections: the scene has arm_",
            ),
            (
                {"action": "target", "file": ROOT / "models/snake.toml"},
                "action = target: the robot must have a controller",
            ),
            (
                {"action": "target", "file": ROOT / "scenes/snake_travel/flat.xml", "prefix": "S_"},
                "prefix = S_: must be that of an arm of sections: the scene has S_",
            ),
            ({"views": ["eye"]}, "camera: eye: must be a camera of the scene"),
        ):
            with self.subTest(line), self.assertRaises(ValueError) as caught:
                robot_of(**settings)
            self.assertIn(line, str(caught.exception))

    def test_an_experiment_that_moves_the_target_is_refused(self):
        file = Path(FOLDER.name) / "moved.toml"
        file.write_text(
            f'scene = "{SENSORS}/sensors.xml"\nduration = 1\n[[motion]]\nbody = "target"\nkind = "circle"\n'
            "center = [0.17, 0, 0.05]\nradius = 0.01\nspeed = 0.1\n"
        )
        robot = robot_of(file, prefix="arm_", action="target")
        robot.connect()
        with self.assertRaisesRegex(ValueError, "target = target: a motion of the experiment moves it"):
            robot.send_action(actions_of(robot, [0.0, 0.0, 0.2]))
        robot.disconnect()


class Motion(unittest.TestCase):
    def test_the_tip_comes_to_a_target_in_the_frame_of_the_base(self):
        for file, prefix, goal in (
            (ARM, "", [0.06, 0.03, 0.17]),
            (SENSORS / "sensors.xml", "arm_", [0.05, -0.05, 0.17]),  # its base lies on the side
        ):
            robot = robot_of(file, prefix=prefix, action="target", sensed=True)
            robot.connect()
            for _ in range(4 * FPS):
                robot.send_action(actions_of(robot, goal))
            self.assertLess(np.linalg.norm(vector(robot.get_observation(), "tip") - goal), 2e-3)
            robot.disconnect()

    def test_readings_tell_where_the_tip_is(self):
        """By forward kinematics of the encoders, without the simulation's own tip."""
        goal = [0.06, 0.03, 0.17]
        robot = robot_of(action="target")
        robot.connect()
        for _ in range(4 * FPS):
            robot.send_action(actions_of(robot, goal))
        seen = robot.get_observation()
        states = [
            [np.hypot(u, v), np.arctan2(v, u), 0.0]
            for u, v in ((seen[f"bend_s{k}_y"], seen[f"bend_s{k}_x"]) for k in (1, 2))
        ]
        self.assertLess(np.linalg.norm(td.load_robot(ARM).tip_pose(states)[:3, 3] - goal), 2e-3)
        robot.disconnect()

    def test_simulated_time_is_that_of_the_actions(self):
        """0.1 s after a step of the commands the sections swing in the same way, however many actions that took."""
        seen = []
        for fps in (10, 20, 50):
            robot = robot_of(fps=fps, speed_limit=1e6)
            robot.connect()
            for _ in range(fps // 10):
                robot.send_action(actions_of(robot, [0.5] * 4))
            seen.append(list(robot.get_observation().values())[:4])
            robot.send_action(actions_of(robot, [0.5] * 4))
            self.assertFalse(np.allclose(list(robot.get_observation().values())[:4], seen[-1], atol=1e-4))
            robot.disconnect()
        self.assertEqual(seen[0], seen[1])
        self.assertEqual(seen[0], seen[2])

    def test_disconnect_and_connect_again(self):
        robot = robot_of()
        for call in (robot.get_observation, robot.disconnect, lambda: robot.send_action({})):
            self.assertRaises(DeviceNotConnectedError, call)
        robot.connect()
        self.assertRaises(DeviceAlreadyConnectedError, robot.connect)
        start = robot.get_observation()
        robot.send_action(actions_of(robot, [0.4] * 4))
        self.assertNotEqual(robot.get_observation(), start)
        robot.disconnect()
        self.assertFalse(robot.is_connected)
        self.assertRaises(DeviceNotConnectedError, robot.get_observation)
        robot.connect()
        self.assertEqual(robot.get_observation(), start)
        robot.disconnect()


class Recording(unittest.TestCase):
    def test_a_data_set_of_the_record_loop_is_read_back_and_replayed(self):
        robot = robot_of(fps=FPS)
        features = hw_to_dataset_features(robot.action_features, "action") | hw_to_dataset_features(
            robot.observation_features, "observation"
        )
        folder = Path(FOLDER.name) / "dataset"
        dataset = LeRobotDataset.create("tendril/test", FPS, features, root=folder, use_videos=False)
        table = np.random.default_rng(3).uniform(-1, 1, (1000, 4)).astype(np.float32)
        events = {"exit_early": False}
        robot.connect()
        teleop, robot_action, observation = make_default_processors()
        record_loop(robot, events, FPS, teleop, robot_action, observation, dataset, Script(robot, table),
                    control_time_s=1.0, single_task="move")  # fmt: skip
        dataset.save_episode()
        dataset.finalize()
        robot.disconnect()

        read = LeRobotDataset("tendril/test", root=folder)
        self.assertEqual(read.features["action"]["names"], list(robot.action_features))
        self.assertGreater(len(read), 0.3 * FPS)
        robot.connect()
        names = read.features["observation.state"]["names"]
        for k in range(len(read)):
            seen = robot.get_observation()
            state = np.array([seen[name] for name in names], dtype=np.float32)
            self.assertTrue(np.array_equal(read[k]["observation.state"].numpy(), state))
            self.assertTrue(np.array_equal(read[k]["action"].numpy(), table[k]))
            robot.send_action(actions_of(robot, read[k]["action"].numpy()))
        robot.disconnect()


class Teleoperation(unittest.TestCase):
    def test_steps_of_the_gamepad_move_the_target(self):
        class Pad:
            def update(self): ...
            def get_deltas(self):
                return 0.5, 0.0, -1.0

        config = TeleoperatorConfig.get_choice_class("gamepad")(use_gripper=False)
        teleop = make_teleoperator_from_config(config)
        teleop.gamepad = Pad()
        robot = robot_of(action="delta", target_speed=0.06, leash=1.0)
        robot.connect()
        start = vector(robot.get_observation(), "target")
        for _ in range(FPS // 2):
            robot.send_action(teleop.get_action())
        moved = vector(robot.get_observation(), "target") - start
        speed = np.array([0.5, 0.0, -1.0])
        expected = 0.5 * 0.06 * speed / max(1.0, np.linalg.norm(speed))
        self.assertTrue(np.allclose(moved, expected, atol=1e-12), moved)
        robot.disconnect()

    @unittest.skipUnless(shutil.which("Xvfb"), "Xvfb is missing")
    def test_keys_move_the_target_in_lerobot_record(self):
        """The program itself, with keys of a screen."""
        reading, writing = os.pipe()
        screen = subprocess.Popen(
            ["Xvfb", "-displayfd", str(writing), "-screen", "0", "64x64x24"],
            pass_fds=[writing],
            stderr=subprocess.DEVNULL,
        )
        self.addCleanup(screen.wait)
        self.addCleanup(screen.terminate)
        display = ":" + os.read(reading, 16).decode().strip()
        folder = Path(FOLDER.name) / "keys"
        environment = os.environ | {"DISPLAY": display, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        words = f"""--robot.type=tendril --robot.file={ARM} --robot.action=delta --robot.sensed=true
            --teleop.type=tendril_keyboard --dataset.repo_id=tendril/keys --dataset.root={folder} --dataset.fps={FPS}
            --dataset.num_episodes=1 --dataset.episode_time_s=3 --dataset.reset_time_s=0 --dataset.video=false
            --dataset.push_to_hub=false --dataset.single_task=keys --play_sounds=false"""
        program = [sys.executable, "-m", "lerobot.scripts.lerobot_record", *words.split()]
        keys = """
import time
from Xlib import X, XK
from Xlib.display import Display
from Xlib.ext import xtest
display = Display()
while True:
    for key in "wdr":
        for event in (X.KeyPress, X.KeyRelease):
            xtest.fake_input(display, event, display.keysym_to_keycode(XK.string_to_keysym(key)))
            display.sync()
            time.sleep(0.15)
"""
        press = subprocess.Popen([sys.executable, "-c", keys], env=environment)
        try:
            result = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=240)
        finally:
            press.kill()
            press.wait()
        self.assertEqual(result.returncode, 0, result.stderr[-3000:])
        read = LeRobotDataset("tendril/keys", root=folder)
        names = read.features["observation.state"]["names"]
        actions = np.array([read[k]["action"].numpy() for k in range(len(read))])
        states = np.array([read[k]["observation.state"].numpy() for k in range(len(read))])
        target, tip = (states[:, [names.index(f"{name}.{axis}") for axis in "xyz"]] for name in ("target", "tip"))
        self.assertEqual(read.features["action"]["names"], ["delta_x", "delta_y", "delta_z"])
        self.assertEqual(set(np.unique(actions[:, 0])), {0.0, 1.0})
        self.assertEqual(set(np.unique(actions[:, 1])), {0.0, -1.0})
        self.assertEqual(set(np.unique(actions[:, 2])), {0.0, 1.0})
        leashed = np.linalg.norm(target[1:] - tip[:-1], axis=1) > 0.0499
        steps = 0.1 / FPS * actions[:-1]
        steps /= np.maximum(1.0, np.linalg.norm(actions[:-1], axis=1, keepdims=True))
        self.assertLess(np.abs(np.diff(target, axis=0) - steps)[~leashed].max(), 1e-6)
        self.assertGreater(np.count_nonzero(np.linalg.norm(steps[~leashed], axis=1)), 5)


class Listener:
    """docs/guide/drive/robot.py on a thread, which can fall silent, and keeps its orders."""

    def __init__(self):
        sys.path.insert(0, str(ROOT / "docs/guide/drive"))
        import robot as example

        self.robot, self.orders, self.silent = example.Robot(), [], False
        self.robot.socket.settimeout(0.05)
        self.running = True
        self.example = example
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()
        self.address = f"127.0.0.1:{self.robot.port}"

    def serve(self):
        last = time.monotonic()
        while self.running:
            try:
                datagram, peer = self.robot.socket.recvfrom(4096)
            except TimeoutError:
                continue
            order = self.robot.order(datagram)
            if order is None:
                continue
            self.orders.append(order)
            now = time.monotonic()
            if order[0] == self.example.COMMAND:
                self.robot.apply(order[1])
            readings, last = self.robot.read(now - last), now
            if not self.silent:
                message = bytearray(self.robot.message(readings))
                self.robot.socket.sendto(message, peer)
                struct.pack_into("<Qd", message, 8, self.robot.number + 1, 0.0)  # a newer one, which is damaged
                struct.pack_into("<d", message, 24, 9.0)
                self.robot.socket.sendto(message, peer)

    def close(self):
        self.running = False
        self.thread.join()
        self.robot.socket.close()


class Network(unittest.TestCase):
    def setUp(self):
        self.listener = Listener()
        self.addCleanup(self.listener.close)

    def test_commands_come_to_the_robot_and_it_holds_in_silence_and_at_the_end(self):
        robot = robot_of(address=self.listener.address, speed_limit=0.5, stale_after=0.2)
        self.assertEqual(list(robot.action_features), ["s1_y", "s1_x", "s2_y", "s2_x"])
        self.listener.robot.commands = [0.1, 0.0, 0.0, 0.0]
        self.listener.robot.bends = [0.1, 0.0, 0.0, 0.0]
        robot.connect()
        self.assertTrue(all(what == 0.0 for what, _ in self.listener.orders))  # hello
        self.assertEqual(robot.get_observation()["s1_y"], 0.1)
        goal = np.array([0.5, -0.3, 0.2, 0.4])
        for _ in range(30):
            robot.send_action(actions_of(robot, goal))
            time.sleep(1 / FPS)
        seen = robot.get_observation()
        self.assertTrue(np.allclose([seen[name] for name in robot.action_features], goal))
        self.assertTrue(
            np.allclose([seen[f"bend_{name}"] for name in robot.action_features], goal * [1, -1, 1, -1], atol=1e-3)
        )
        commands = np.array([[0.1, 0, 0, 0]] + [numbers for what, numbers in self.listener.orders if what == 1.0])
        self.assertLessEqual(np.abs(np.diff(commands, axis=0)).max(), 0.5 * 4.5 / FPS * (1 + 1e-9))

        self.listener.silent = True
        with self.assertLogs(level="WARNING") as logs:
            for _ in range(15):
                robot.send_action(actions_of(robot, -goal))
                time.sleep(1 / FPS)
        self.assertEqual(len(logs.output), 1)
        self.assertIn("commands are held: no message of the robot", logs.output[0])
        what, held = self.listener.orders[-1]
        self.assertEqual(what, 2.0)
        self.assertGreater(held[0], -0.4)
        self.listener.silent = False
        for _ in range(40):
            robot.send_action(actions_of(robot, -goal))
            time.sleep(1 / FPS)
        self.assertTrue(np.allclose(self.listener.robot.commands, -goal))
        robot.disconnect()
        time.sleep(0.2)
        self.assertEqual(self.listener.orders[-1], (2.0, (-goal).tolist()))
        robot.connect()
        self.assertTrue(np.allclose([robot.get_observation()[name] for name in robot.action_features], -goal))
        robot.disconnect()

    def test_the_controller_brings_the_tip_to_the_target(self):
        goal = np.array([0.06, 0.03, 0.17])
        robot = robot_of(address=self.listener.address, action="target")
        robot.connect()
        start = vector(robot.get_observation(), "tip")
        self.assertTrue(np.allclose(start, [0, 0, 0.2], atol=1e-6))
        for _ in range(5):
            robot.send_action(actions_of(robot, start))
            time.sleep(1 / FPS)
        self.assertLess(np.abs(self.listener.robot.commands).max(), 0.02)
        for _ in range(5 * FPS):
            robot.send_action(actions_of(robot, goal))
            time.sleep(1 / FPS)
        self.assertLess(np.linalg.norm(vector(robot.get_observation(), "tip") - goal), 2e-3)
        states = [[np.hypot(u, v), np.arctan2(v, u), 0.0] for u, v in np.reshape(self.listener.robot.bends, (2, 2))]
        self.assertLess(np.linalg.norm(td.load_robot(ARM).tip_pose(states)[:3, 3] - goal), 2e-3)
        robot.disconnect()

    def test_names_are_those_of_the_simulation(self):
        for settings in ({}, {"action": "target"}, {"action": "delta"}):
            simulated = robot_of(sensed="action" in settings, **settings)
            networked = robot_of(address=self.listener.address, **settings)
            self.assertEqual(networked.observation_features, simulated.observation_features)
            self.assertEqual(networked.action_features, simulated.action_features)

    def test_the_first_command_is_that_of_a_new_driver(self):
        """Finding the tip leaves nothing behind in the controller."""
        bends = [0.4, 0.1, -0.3, 0.2]
        self.listener.robot.bends, self.listener.robot.commands = list(bends), [0.4, -0.1, -0.3, -0.2]
        robot = robot_of(address=self.listener.address, action="target")
        robot.connect()
        tip = vector(robot.get_observation(), "tip")
        robot.send_action(actions_of(robot, tip))
        time.sleep(0.2)
        driver, target = td.Driver(ARM, timestep=1 / FPS), np.eye(4)
        driver.commands = [0.4, -0.1, -0.3, -0.2]
        target[:3, 3] = tip
        expected = driver.step(0.0, dict(zip(driver.readings, bends)), target)
        first = next(numbers for what, numbers in self.listener.orders if what == 1.0)
        self.assertTrue(np.allclose(first, expected, atol=1e-9), (first, expected))
        robot.disconnect()

    def test_a_robot_that_is_not_there_or_another_is_one_line(self):
        with self.assertRaisesRegex(ConnectionError, "address = 127.0.0.1:1: no bend_s1_y, .* of this robot in 2 s"):
            robot_of(address="127.0.0.1:1").connect()
        other = Path(FOLDER.name) / "other.toml"
        other.write_text(ARM.read_text().replace('name = "bend"', 'name = "angle"'))
        robot = robot_of(other, address=self.listener.address)
        with self.assertRaisesRegex(ConnectionError, "no angle_s1_y, "):
            robot.connect()
        self.assertFalse(robot.is_connected)
        self.assertEqual(self.listener.orders, [])


if __name__ == "__main__":
    unittest.main()
