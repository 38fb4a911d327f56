#!/usr/bin/env python3
"""Runs `tendril render` and `tendril run --video` and looks at exit codes and files.

usage: render_command_test.py PROGRAM
"""

import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

PROGRAM = ""
SCENE = """<mujoco><option timestep="0.01"/><custom><tuple name="robot"><element objtype="body" objname="base"/>
</tuple></custom>
<worldbody><camera name="front" pos="0 -2 1" xyaxes="1 0 0 0 0 1"/><body name="base" pos="0 0 1">
<joint name="swing" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.02"/></body></worldbody>
</mujoco>"""


def execute(*arguments, cwd, **more):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=120, cwd=cwd, **more)


def told(done):
    """The line of an error without its code."""
    return re.fullmatch(r"(.*) \[[a-z-]+\]\n", done.stderr)[1]


class Render(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.temporary.name)
        (cls.folder / "scene.xml").write_text(SCENE)
        done = execute("run", "scene.xml", "--duration", 2, "--no-report", "--out", "run", cwd=cls.folder)
        assert done.returncode == 0, done.stderr
        cls.inputs = {"scene.xml", "run"}

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def tearDown(self):
        for path in self.folder.iterdir():
            if path.is_file() and path.name != "scene.xml":
                path.unlink()

    def made(self):
        return {path.name for path in self.folder.iterdir()} - self.inputs

    def render(self, *arguments):
        return execute("render", "run/rollout.h5", *arguments, cwd=self.folder)

    def test_an_image_has_the_size_asked_for(self):
        for name, more, size in (
            ("a.png", [], (960, 540)),
            ("b.png", ["--size", "300x200", "--time", 0.5], (300, 200)),
        ):
            done = self.render("-o", name, *more)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(struct.unpack(">II", (self.folder / name).read_bytes()[16:24]), size)
        self.assertEqual(self.made(), {"a.png", "b.png"})

    def test_the_time_chooses_the_image(self):
        images = set()
        for at in (0, 0.2):
            self.render("-o", "a.png", "--time", at, "--camera", "front", "--size", "64x64")
            images.add((self.folder / "a.png").read_bytes())
        self.assertEqual(len(images), 2)

    def test_an_image_of_several_instants_differs_from_that_of_one(self):
        images = []
        for more in (
            ["--time", 0.2],
            ["--strobe", "0,0.2"],
            ["--strobe", 2, "--to", 0.2],
            ["--time", 0.2, "--transparent"],
        ):
            done = self.render("-o", "a.png", "--size", "64x64", *more)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            images.append((self.folder / "a.png").read_bytes())
        one, listed, counted, transparent = images
        self.assertNotEqual(one, listed)
        self.assertEqual(listed, counted)
        self.assertEqual((one[25], transparent[25]), (2, 6))  # PNG: RGB, RGBA

    def test_two_recordings_share_the_size_asked_for(self):
        done = execute("run", "scene.xml", "--duration", 1, "--no-report", "--out", "run/short", cwd=self.folder)
        self.assertEqual(done.returncode, 0)
        for more in (
            ["-o", "a.png", "--size", "101x50"],
            ["-o", "a.mp4", "--size", "100x50", "--fps", 5, "--from", 0.5],
        ):
            done = self.render("run/short/rollout.h5", *more)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(struct.unpack(">II", (self.folder / "a.png").read_bytes()[16:24]), (101, 50))

    def test_a_video_is_written_whole(self):
        done = self.render("-o", "a.mp4", "--size", "64x48", "--from", 0.5, "--to", 1, "--fps", 10)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual((self.folder / "a.mp4").read_bytes()[4:8], b"ftyp")
        self.assertEqual(self.made(), {"a.mp4"})

    def test_what_cannot_be_is_refused_with_what_is_allowed(self):
        for code, message, arguments in (
            (2, "--camera: side: must be a camera of the scene; it has front", ["-o", "a.png", "--camera", "side"]),
            (2, "--size: 15x64: must be WIDTHxHEIGHT, both 16 to 8192 pixels", ["-o", "a.png", "--size", "15x64"]),
            (2, "--size: 64: must be WIDTHxHEIGHT, both 16 to 8192 pixels", ["-o", "a.mp4", "--size", "64"]),
            (2, "--time: 3: must be a time of the recording, 0 to 2 s", ["-o", "a.png", "--time", "3"]),
            (2, "--from: -1: must be a time of the recording, 0 to 2 s", ["-o", "a.mp4", "--from=-1"]),
            (2, "--fps: 0: must be in (0, 1000]", ["-o", "a.mp4", "--fps", "0"]),
            (2, "--fps: 10: is only for videos (.mp4)", ["-o", "a.png", "--fps", "10"]),
            (2, "--time: 1: is only for images (.png)", ["-o", "a.mp4", "--time", "1"]),
            (2, "--strobe: 3: must be a time of the recording, 0 to 2 s", ["-o", "a.png", "--strobe", "1,3"]),
            (2, "--strobe: 3: is only for images (.png)", ["-o", "a.mp4", "--strobe", "3"]),
            (2, "--transparent: is only for images (.png)", ["-o", "a.mp4", "--transparent"]),
            (2, "--from: 1: is only for videos (.mp4) and --strobe", ["-o", "a.png", "--from", "1"]),
            (
                2,
                "scene.xml: is a scene, for tendril run, view and plan: tendril render takes a recording",
                ["scene.xml", "-o", "a.png"],
            ),
            (
                2,
                "--size: 20x64: must be at least 32 pixels wide for two recordings",
                ["run/rollout.h5", "-o", "a.png", "--size", "20x64"],
            ),
            (2, "--output: a.gif: must end with .mp4 or .png", ["-o", "a.gif"]),
            (4, "--output: none/a.png: must be in a folder that exists", ["-o", "none/a.png"]),
        ):
            done = self.render(*arguments)
            self.assertEqual((done.returncode, told(done)), (code, f"tendril: {message}"), arguments)
            self.assertEqual(self.made(), set(), arguments)

    def test_an_interrupt_gives_130_and_leaves_no_file(self):
        process = subprocess.Popen(
            [PROGRAM, "render", "run/rollout.h5", "-o", "a.mp4", "--fps", "1000"],
            cwd=self.folder,
            stderr=subprocess.PIPE,
            text=True,
        )
        while not (self.folder / "a.mp4.part").exists() and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, errors)
        self.assertEqual(errors, "tendril: a.mp4: interrupted: no video is written\n")
        self.assertEqual(self.made(), set())

    def test_a_run_makes_its_video_in_the_same_way(self):
        out = self.folder / "run/video"
        base = ["run", "scene.xml", "--duration", 0.2, "--out", out, "--no-report"]
        done = execute(*base, "--video", "--camera", "front", "--size", "64x48", "--fps", 5, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(
            {p.name for p in out.iterdir()} - {".tendril-results"}, {"summary.json", "rollout.h5", "video.mp4"}
        )
        for message, arguments in (
            ("--camera: side: must be a camera of the scene; it has front", ["--camera", "side"]),
            ("--size: 1x1: must be WIDTHxHEIGHT, both 16 to 8192 pixels", ["--video", "--size", "1x1"]),
            ("--fps: 0: must be in (0, 1000]", ["--video", "--fps", "0"]),
        ):
            done = execute(*base, *arguments, cwd=self.folder)
            self.assertEqual((done.returncode, told(done)), (2, f"tendril: {message}"))
        self.assertEqual(execute(*base, "--fps", 5, cwd=self.folder).returncode, 2)  # without --video

    def test_ctrl_c_during_the_report_gives_130_and_leaves_the_recording_alone(self):
        for last in ("snapshot_02", "snapshot_06"):  # during the images, during the plots
            out = self.folder / "run" / last
            process = subprocess.Popen(
                [PROGRAM, "run", "scene.xml", "--duration", "1", "--out", str(out)],
                cwd=self.folder,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
            while not list(out.glob(f"{last}_*.png")) and process.poll() is None:
                time.sleep(0.01)
            os.killpg(process.pid, signal.SIGINT)  # as a terminal does, also to Python
            _, errors = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 130, errors)
            self.assertEqual(
                errors, "tendril: interrupted after the run: its recording is whole; missing: report.html\n"
            )
            self.assertEqual({p.name for p in out.iterdir()} - {".tendril-results"}, {"summary.json", "rollout.h5"})
            replay = execute("rollout", "replay", out / "rollout.h5", cwd=self.folder)
            self.assertEqual(replay.returncode, 0, replay.stderr)

    def test_a_video_or_report_that_cannot_be_made_is_an_error(self):
        fake = self.folder / "python"
        fake.write_text("#!/bin/sh\necho 'no module named h5py' >&2\nexit 4\n")
        fake.chmod(0o700)
        for environment, arguments, reason in (
            ({"TENDRIL_PYTHON": str(fake)}, [], r"^tendril: report: .*no module named h5py\n$"),
            ({"PATH": "/none"}, ["--no-report", "--video"], r"^tendril: video: ffmpeg is not installed[^\n]*\n$"),
        ):
            out = self.folder / "run" / next(iter(environment))
            done = execute(
                "run",
                "scene.xml",
                "--duration",
                0.1,
                "--out",
                out,
                *arguments,
                cwd=self.folder,
                env=os.environ | environment,
            )
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertRegex(done.stderr, reason)
            self.assertEqual({p.name for p in out.iterdir()} - {".tendril-results"}, {"summary.json", "rollout.h5"})


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    with tempfile.TemporaryDirectory() as trial:
        (Path(trial) / "scene.xml").write_text(SCENE)
        tried = execute("run", "scene.xml", "--duration", 0.01, "--video", "--no-report", cwd=trial)
    if "no OpenGL" in tried.stderr or "ffmpeg is not installed" in tried.stderr:
        print(f"skipped: {tried.stderr.strip()}")
        sys.exit(77)
    unittest.main()
