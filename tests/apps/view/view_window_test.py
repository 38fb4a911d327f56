#!/usr/bin/env python3
"""Opens the window of `tendril view` on a virtual screen and looks at its screenshots.

usage: view_window_test.py PROGRAM
"""

import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zlib
from pathlib import Path

PROGRAM = ""
SCENE = """<mujoco><option timestep="0.01"/><visual><headlight ambient="1 1 1" diffuse="0 0 0"/></visual><worldbody>
<camera name="front" pos="0 -2 1" xyaxes="1 0 0 0 0 1"/>
<body name="base" pos="0 0 1"><joint type="slide" axis="0 0 1"/><geom size="0.1" rgba="1 0 0 1"/></body></worldbody>
</mujoco>"""
LIFT = """<mujoco><option timestep="0.01" gravity="0 0 0"/><visual><headlight ambient="1 1 1" diffuse="0 0 0"/></visual>
<worldbody><camera name="front" pos="0 -2 1" xyaxes="1 0 0 0 0 1"/><body name="ball" pos="0 0 0.8">
<joint name="lift" type="slide" axis="0 0 1" range="0 0.5" damping="5"/><geom size="0.1" rgba="1 0 0 1"/></body>
</worldbody>
<actuator><position name="lift" joint="lift" kp="100" ctrlrange="0 0.5"/></actuator></mujoco>"""
SLIDERS = ((56, 115, 166), (36, 56, 77))  # colors: filled, empty
INJECT = (-240, 244)  # the button, without a list of robots; from the upper right corner of the window
UNSTABLE = """<mujoco><option timestep="0.01"><flag eulerdamp="disable"/></option><worldbody><body name="b">
<joint name="runaway" type="slide"/><geom size="0.1" mass="1"/></body></worldbody><actuator>
<general joint="runaway" biastype="affine" biasprm="0.01 0 90"/></actuator></mujoco>"""


def read_png(path):
    """(width, height, rows of RGB bytes) of a PNG of eight-bit RGB."""
    data, at, packed = path.read_bytes(), 8, b""
    width, height = struct.unpack(">II", data[16:24])
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        packed += data[at + 8 : at + 8 + size] if kind == b"IDAT" else b""
        at += size + 12
    raw, stride, rows = zlib.decompress(packed), 3 * width + 1, [bytearray(3 * width)]
    for y in range(height):
        kind, line, up = raw[y * stride], bytearray(raw[y * stride + 1 : (y + 1) * stride]), rows[-1]
        for x in range(len(line)):
            a, b, c = (line[x - 3] if x > 2 else 0), up[x], (up[x - 3] if x > 2 else 0)
            nearest = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
            line[x] = (line[x] + (0, a, b, (a + b) // 2, nearest)[kind]) & 255
        rows.append(line)
    return width, height, rows[1:]


def red_pixels(path):
    """Number of red pixels and the mean of their rows."""
    width, _, rows = read_png(path)
    found = [
        y
        for y, line in enumerate(rows)
        for x in range(width)
        if line[3 * x] > 150 and line[3 * x + 1] < 80 and line[3 * x + 2] < 80
    ]
    return len(found), sum(found) / max(1, len(found))


def sliders(path):
    """(left, right, row) of the sliders of the panel, from the top."""
    width, _, rows = read_png(path)
    x, found, last = width - 60, [], -2
    for y, line in enumerate(rows):
        if any(max(abs(line[3 * x + i] - c[i]) for i in range(3)) < 4 for c in SLIDERS):
            if y > last + 1:
                found.append((width - 172, width - 34, y + 8))
            last = y
    return found


class Window(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        from_server, to_us = os.pipe()
        cls.server = subprocess.Popen(
            ["Xvfb", "-displayfd", str(to_us), "-screen", "0", "1024x768x24", "-nolisten", "tcp"],
            pass_fds=[to_us],
            stderr=subprocess.DEVNULL,
        )
        os.close(to_us)
        with os.fdopen(from_server) as solution:  # the number of a free display, once it accepts clients
            cls.display = ":" + solution.readline().strip()

    @classmethod
    def tearDownClass(cls):
        cls.server.terminate()
        cls.server.wait()

    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name)
        (self.folder / "scene.xml").write_text(SCENE)
        (self.folder / "unstable.xml").write_text(UNSTABLE)

    def tearDown(self):
        self.temporary.cleanup()

    def view(self, *arguments):
        # No leak check in a sanitized build: OpenGL drivers leave memory behind when they are unloaded.
        return subprocess.run(
            [PROGRAM, "view", *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=120,
            env=os.environ | {"DISPLAY": self.display, "ASAN_OPTIONS": "detect_leaks=0"},
        )

    def shot(self, file, at, *arguments):
        screenshot = self.folder / f"shot_{at}.png"
        done = self.view(
            file,
            "--screenshot",
            screenshot,
            "--at",
            at,
            "--camera",
            "front",
            "--width",
            400,
            "--height",
            300,
            *arguments,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return screenshot

    def test_a_falling_sphere_is_lower_later(self):
        first, later = (red_pixels(self.shot(self.folder / "scene.xml", at)) for at in (0, 0.2))
        self.assertGreater(first[0], 300)
        self.assertGreater(later[1], first[1] + 5)  # rows count from the top

    def test_a_recording_is_shown_at_its_time_as_it_ran(self):
        out = self.folder / "out"
        done = subprocess.run(
            [PROGRAM, "run", str(self.folder / "scene.xml"), "--duration", "0.3", "--out", str(out), "--quiet"],
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        played = red_pixels(self.shot(out / "rollout.h5", 0.2))
        ran = red_pixels(self.shot(self.folder / "scene.xml", 0.2))
        self.assertAlmostEqual(played[1], ran[1], delta=1.0)

    def open_window(self, file, *options, size=(400, 300)):
        """A window that takes keys: functions that press one, and that write its image and give its path."""
        if shutil.which("xdotool") is None:
            self.assertNotIn("TENDRIL_TEST_EXTRAS", os.environ, "xdotool is not installed")
            self.skipTest("xdotool is not installed")
        environment = os.environ | {"DISPLAY": self.display, "ASAN_OPTIONS": "detect_leaks=0"}
        window = subprocess.Popen(
            [PROGRAM, "view", str(file), "--paused", "--width", str(size[0]), "--height", str(size[1]), *options],
            cwd=self.folder,
            env=environment,
            stderr=subprocess.DEVNULL,
        )
        self.addCleanup(window.wait)
        self.addCleanup(window.kill)

        def do(*words):
            return subprocess.run(
                ["xdotool", *words], env=environment, capture_output=True, text=True, timeout=60
            ).stdout

        found = do("search", "--sync", "--onlyvisible", "--name", file.name).split()[0]

        def press(key, times=1):
            do("key", "--window", found, "--repeat", str(times), key)

        def drag(start, end):
            """Drags with the left button; an image after each event proves that the window has handled it."""
            for words in (
                ("mousemove", "--window", found, *map(str, start)),
                ("mousedown", "1"),
                ("mousemove", "--window", found, *map(str, end)),
                ("mouseup", "1"),
            ):
                do(*words)
                screenshot()

        def screenshot():
            number = len(list(self.folder.glob("tendril_*.png"))) + 1
            file, until = self.folder / f"tendril_{number:03}.png", time.monotonic() + 60
            press("F2")
            while time.monotonic() < until and not (file.exists() and file.read_bytes().endswith(b"IEND\xaeB`\x82")):
                time.sleep(0.05)
            return file

        return window, press, drag, screenshot

    def open_scene(self):
        window, press, _, screenshot = self.open_window(self.folder / "scene.xml", "--camera", "front")
        return window, press, lambda: red_pixels(screenshot())

    def test_keys_change_what_is_shown_and_write_screenshots(self):
        window, press, screenshot = self.open_scene()
        first = screenshot()
        for _ in range(3):
            press("shift+Right")
        lower = screenshot()
        press("BackSpace")
        again = screenshot()
        press("q")
        self.assertEqual(window.wait(60), 0)
        self.assertGreater(first[0], 300)
        self.assertGreater(lower[1], first[1] + 3)
        self.assertEqual(again, first)

    def test_a_scene_whose_file_changes_is_loaded_again(self):
        scene = self.folder / "scene.xml"
        _, press, screenshot = self.open_scene()
        press("shift+Right")
        first = screenshot()
        scene.write_text("<mujoco>")  # told in the window, which continues
        time.sleep(1.0)  # nothing must change, so there is nothing to wait for
        self.assertEqual(screenshot()[0], first[0])
        scene.write_text(SCENE.replace('pos="0 0 1"', 'pos="0 0 1.2"'))
        until = time.monotonic() + 60
        while time.monotonic() < until and screenshot()[1] > first[1] - 5:
            time.sleep(0.2)
        self.assertLess(screenshot()[1], first[1] - 5)

    def columns(self, recording):
        """The columns of a recording by name, as numbers."""
        table = self.folder / "table.csv"
        done = subprocess.run(
            [PROGRAM, "export", str(recording), "--to", "csv", "-o", str(table)], capture_output=True, text=True
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        names, *rows = [line.split(",") for line in table.read_text().splitlines()]
        return {name: [float(row[i]) for row in rows] for i, name in enumerate(names)}

    def test_sliders_drive_and_the_recording_shows_it(self):
        (self.folder / "lift.xml").write_text(LIFT)
        window, press, drag, screenshot = self.open_window(
            self.folder / "lift.xml", "--camera", "front", size=(700, 520)
        )
        press("F3")
        first = screenshot()
        command, joint = sliders(first)
        first_row = red_pixels(first)[1]
        press("r")
        press("shift+Right", 5)
        drag((command[0] + 5, command[2]), (command[1] - 2, command[2]))
        press("shift+Right", 30)
        driven = screenshot()
        press("r")
        drag((joint[1] - 20, joint[2]), (joint[0] + 2, joint[2]))  # a joint, while paused
        moved = screenshot()
        press("q")
        self.assertEqual(window.wait(60), 0)
        self.assertLess(red_pixels(driven)[1], first_row - 40)
        self.assertGreater(red_pixels(moved)[1], red_pixels(driven)[1] + 40)
        recording = self.folder / "out/lift-window1/rollout.h5"
        columns = self.columns(recording)
        self.assertEqual(len(columns["time"]), 351)
        self.assertEqual(columns["ctrl.lift"][50], 0.0)
        self.assertGreater(columns["ctrl.lift"][-1], 0.45)
        self.assertAlmostEqual(columns["qpos.lift"][-1], columns["ctrl.lift"][-1], delta=0.02)
        last = self.folder / "last.png"
        done = subprocess.run(
            [PROGRAM, "render", str(recording), "-o", str(last), "--size", "390x520"], capture_output=True, text=True
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertAlmostEqual(red_pixels(last)[1], red_pixels(driven)[1], delta=3)

    def test_a_section_has_one_slider_that_bends_all_its_links(self):
        arm = self.folder / "arm.toml"
        arm.write_text(
            'kind = "continuum"\nname = "arm"\ncompliance = "link"\n'
            + 2 * ("[[section]]\nconstant_length = 0.1\nbend_limit = 3.0\nlinks = 5\nbending_stiffness = 0.05\n")
        )
        window, press, drag, screenshot = self.open_window(arm, size=(700, 700))
        press("F3")
        found = sliders(screenshot())
        self.assertGreaterEqual(
            len(found), 8
        )  # of commands and joints: bend x and y of two sections each; not of links
        press("r")
        press("shift+Right", 5)
        left, right, row = found[0]
        drag(((left + right) / 2, row), (left + 0.75 * (right - left), row))
        press("shift+Right", 20)
        press("r")
        press("q")
        self.assertEqual(window.wait(60), 0)
        columns = self.columns(next(self.folder.glob("out/*/rollout.h5")))
        bends = {name: values[-1] for name, values in columns.items() if name.startswith("ctrl.")}
        first = [value for name, value in bends.items() if name.startswith("ctrl.s1_") and name.endswith("_x")]
        self.assertGreater(len(first), 3)
        self.assertGreater(min(first), 0.1)  # all links, by their shares
        self.assertTrue(
            all(value == 0.0 for name, value in bends.items() if name.startswith("ctrl.s2_") or name.endswith("_y"))
        )

    def test_a_fault_from_the_menu_acts_at_once_and_is_taken_back(self):
        scene = Path(__file__).resolve().parents[3] / "scenes/reach/reach.toml"
        window, press, drag, screenshot = self.open_window(scene, "--show-panel", size=(700, 520))
        screenshot()  # the window is there
        press("shift+Right", 60)
        press("r")
        press("shift+Right", 20)
        inject = (700 + INJECT[0], INJECT[1])
        drag(inject, inject)  # the first of the list: the tip is not seen any more
        press("shift+Right", 60)
        drag((inject[0] + 130, inject[1]), (inject[0] + 130, inject[1]))
        press("shift+Right", 150)
        press("q")
        self.assertEqual(window.wait(60), 0)
        errors = [
            self.columns(self.folder / f"out/reach-window{i}/rollout.h5")["sensordata.arm_tip_error"] for i in (1, 2, 3)
        ]
        self.assertLess(max(errors[0]), 0.001)
        self.assertGreater(max(errors[1]), 0.01)
        self.assertLess(errors[2][-1], 0.001)
        self.assertEqual([len(e) for e in errors], [201, 601, 1501])

    def test_a_divergence_is_reported_and_shown(self):
        screenshot = self.folder / "stopped.png"
        done = self.view(self.folder / "unstable.xml", "--screenshot", screenshot, "--at", 60)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("runaway", done.stderr)
        self.assertTrue(screenshot.is_file())

    def test_without_a_display_there_is_one_line(self):
        environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
        done = subprocess.run(
            [PROGRAM, "view", str(self.folder / "scene.xml")],
            capture_output=True,
            text=True,
            env=environment,
            timeout=60,
        )
        self.assertEqual(done.returncode, 4)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn("display", done.stderr.lower())

    def test_bad_input_is_refused_before_a_window_opens(self):
        scene = self.folder / "scene.xml"
        (self.folder / "bad.h5").write_text("not a recording")
        for code, arguments in (
            (2, [scene, "--speed", 0]),
            (2, [scene, "--at", "nan"]),
            (2, [self.folder / "none.xml"]),
            (2, [self.folder / "bad.h5", "--seed", 1]),
            (4, [self.folder / "bad.h5"]),
            (2, [scene, "--width", 1]),
        ):
            done = subprocess.run(
                [PROGRAM, "view", *map(str, arguments)],
                capture_output=True,
                text=True,
                timeout=60,
                env={k: v for k, v in os.environ.items() if k != "DISPLAY"},
            )
            self.assertEqual(done.returncode, code, (arguments, done.stderr))
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    PROGRAM = sys.argv.pop(1)
    if shutil.which("Xvfb") is None:
        print("Xvfb is not installed: skipped")
        sys.exit(77)
    unittest.main()
