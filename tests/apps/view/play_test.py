#!/usr/bin/env python3
"""Plays recordings in a browser: Chromium without a window, rendering in software. Exit code 77: there is none; with
TENDRIL_TEST_EXTRAS in the environment there must be one.

usage: play_test.py PROGRAM
"""

import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = ""
BROWSER = next(
    filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"))), None
)
FIRST_FRAME = 5000  # ms
# A red sphere that moves to the right and a blue one that is stationary.
SCENE = """<mujoco><option timestep="0.002" gravity="0 0 0"/><worldbody>
<geom type="plane" size="2 2 0.1" pos="0 0 -0.5"/>
<camera name="front" pos="0 -3 0" xyaxes="1 0 0 0 0 1"/><geom size="0.15" pos="0 0 0.5" rgba="0 0 0.9 1"/>
<body name="red"><joint type="slide" axis="1 0 0" springref="1" stiffness="40" damping="8"/>
<geom size="0.15" rgba="0.9 0 0 1" mass="1"/></body></worldbody></mujoco>"""


def pixels(png):
    """(width, height, rows of bytes, bytes a pixel) of an 8-bit PNG."""
    data, at, width, channels = b"", 8, 0, 0
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at : at + 8])
        body = png[at + 8 : at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, colors = struct.unpack(">IIBB", body[:10])
            channels = {2: 3, 6: 4}[colors]
            assert depth == 8
        data += body if kind == b"IDAT" else b""
        at += size + 12
    data, rows, before = zlib.decompress(data), [], bytes(width * channels)
    for y in range(height):
        start = y * (width * channels + 1)
        how, line = data[start], bytearray(data[start + 1 : start + 1 + width * channels])
        for i in range(len(line)):
            a = line[i - channels] if i >= channels else 0
            b, c = before[i], before[i - channels] if i >= channels else 0
            p = a + b - c
            paeth = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            line[i] = (line[i] + (0, a, b, (a + b) // 2, paeth)[how]) & 255
        rows.append(line)
        before = line
    return width, height, rows, channels


def middle_of(png, accepts):
    """Mean column of the pixels that `accepts(r, g, b)` chooses, and their number."""
    width, _, rows, channels = pixels(png)
    columns = [x for row in rows for x in range(width) if accepts(*row[x * channels : x * channels + 3])]
    return (sum(columns) / len(columns) if columns else None), len(columns)


class Play(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name)
        (self.folder / "scene.xml").write_text(SCENE)

    def tearDown(self):
        self.temporary.cleanup()

    def run_program(self, *words, code=0):
        done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def record(self, file, *options, code=0):
        self.run_program("run", file, "--out", self.folder / "out", "--no-report", "--quiet", *options, code=code)
        return self.folder / "out/rollout.h5"

    def browse(self, page, *options, at=None):
        """(what the page says about itself, its text, standard output) after the first frame."""
        log = self.folder / "net.json"
        command = [
            BROWSER,
            "--headless",
            "--no-sandbox",
            "--use-angle=swiftshader",
            "--enable-unsafe-swiftshader",
            "--disable-background-networking",
            "--disable-component-update",
            "--no-first-run",
            f"--log-net-log={log}",
            "--hide-scrollbars",
            "--window-size=800,500",
            "--virtual-time-budget=4000",
            *options,
            page.resolve().as_uri() + (f"#t={at}" if at is not None else ""),
        ]
        for profile in ("profile", "other profile"):  # where many processes run, the browser sometimes does not start
            try:
                done = subprocess.run(
                    [*command, f"--user-data-dir={self.folder / profile}"], capture_output=True, timeout=120
                )
                break
            except subprocess.TimeoutExpired:
                if profile != "profile":
                    raise
        requests = set(re.findall(r'"url":"((?:https?|wss?|ftp):[^"]*)"', log.read_text(errors="replace")))
        self.assertEqual(requests, set())
        return done.stdout

    def page_of(self, page, at):
        for budget in (4000, 16000, 64000):  # ms: a busy machine is still loading after the first
            text = self.browse(page, "--dump-dom", f"--virtual-time-budget={budget}", at=at).decode()
            said = dict(re.findall(r'data-([a-z-]+)="([^"]*)"', re.search(r"<html[^>]*>", text)[0]))
            if said.get("state") != "loading":
                break
        return said, text

    def image(self, page, at, *options):
        file = self.folder / "image.png"
        file.unlink(missing_ok=True)
        self.browse(page, f"--screenshot={file}", *options, at=at)
        return file.read_bytes()

    def play(self, recording):
        page = recording.with_name("play.html")
        self.run_program("play", recording, "--quiet")
        return page

    def test_every_robot_is_drawn_without_errors_and_requests(self):
        for name in ("tube_insertion", "snake_obstacles", "youbot_clutter"):
            page = self.play(self.record(ROOT / f"scenes/{name}/{name}.toml", "--duration", "0.5", code=1))
            begin = time.monotonic()
            said, text = self.page_of(page, 0.32)
            self.assertEqual((said.get("state"), said.get("errors")), ("ready", None), (name, said))
            self.assertLess(int(said["first-frame"]), FIRST_FRAME)
            self.assertLess(time.monotonic() - begin, 30)
            self.assertIn('<output id="time">0.32 s</output>', text)

    def test_what_moves_is_where_it_was(self):
        page = self.play(self.record(self.folder / "scene.xml", "--duration", "1"))

        def red(r, g, b):
            return r > 120 and g < 90 and b < 90

        def blue(r, g, b):
            return b > 120 and r < 90 and g < 90

        start, end = self.image(page, 0), self.image(page, 1)
        before, count = middle_of(start, red)
        after, _ = middle_of(end, red)
        still, _ = middle_of(start, blue)
        self.assertGreater(count, 100)
        self.assertGreater(after, before + 50)
        self.assertAlmostEqual(middle_of(end, blue)[0], still, delta=1)
        light, dark = (
            middle_of(image, lambda r, g, b: min(r, g, b) > 200)[1]
            for image in (start, self.image(page, 0, "--blink-settings=preferredColorScheme=0"))
        )
        self.assertGreater(light, 200_000)
        self.assertLess(dark, 20_000)

    def test_the_gallery_shows_its_images_in_light_and_dark(self):
        out = self.folder / "gallery"
        done = subprocess.run(
            [
                ROOT / "scripts/gallery",
                "--only",
                "reach-zero_g",
                "--duration",
                "0.1",
                "--tendril",
                Path(PROGRAM).resolve(),
                "--out",
                out,
            ],
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        page = out / "index.html"
        shown = [
            pixels(self.image(page, None, *options)) for options in ([], ["--blink-settings=preferredColorScheme=0"])
        ]
        for (width, height, rows, channels), inside in zip(shown, ((lambda v: v > 240), (lambda v: v < 40))):
            self.assertTrue(inside(max(rows[height - 1][:3])))  # the page's margin
            # The image of the card: more colors than text has.
            colors = {bytes(row[x * channels : x * channels + 3]) for row in rows[::4] for x in range(0, width, 4)}
            self.assertGreater(len(colors), 300)
        said, _ = self.page_of(out / "reach-zero_g/play.html", 0)
        self.assertEqual(said.get("state"), "ready")

    def test_a_recording_of_a_killed_run_plays(self):
        out = self.folder / "out"
        process = subprocess.Popen(
            [PROGRAM, "run", self.folder / "scene.xml", "--duration", "1e5", "--out", out, "--no-report", "--quiet"]
        )
        end = time.monotonic() + 60
        while not (out / "rollout.h5").exists() or (out / "rollout.h5").stat().st_size < 400_000:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.run_program("play", out / "rollout.h5", "--fps", "5", "-o", out / "killed.html")
        said, text = self.page_of(out / "killed.html", 0)
        self.assertEqual(said.get("state"), "ready")
        self.assertIn(", running</p>", text)

    def test_a_browser_without_webgl_2_is_told_so(self):
        page = self.play(self.record(self.folder / "scene.xml", "--duration", "0.1"))
        text = self.browse(page, "--dump-dom", "--disable-gpu", "--disable-3d-apis").decode()
        self.assertIn("This browser has no WebGL 2", text)

    def test_the_report_links_the_playback(self):
        self.run_program(
            "run", self.folder / "scene.xml", "--duration", "0.1", "--out", self.folder / "report", "--quiet"
        )
        self.assertIn('<a href="play.html">', (self.folder / "report/report.html").read_text())
        said, _ = self.page_of(self.folder / "report/play.html", 0.05)
        self.assertEqual(said.get("state"), "ready")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    PROGRAM = sys.argv.pop(1)
    if BROWSER is None:
        print("no Chromium: skipped (Debian: chromium-headless-shell)")
        sys.exit(1 if os.environ.get("TENDRIL_TEST_EXTRAS") else 77)
    unittest.main()
