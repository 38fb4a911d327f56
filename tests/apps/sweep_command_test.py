#!/usr/bin/env python3
"""Runs `tendril sweep` and checks its guarantees: kills, truncated lines, full disks, runs that are done twice.

usage: sweep_command_test.py PROGRAM
"""

import csv
import fcntl
import io
import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import types
import unittest
import zlib
from pathlib import Path
from xml.etree import ElementTree

import h5py
import numpy as np

NO_PAGES = "TENDRIL_SANITIZED" in os.environ
PROGRAM = ""
PENDULUM = """<mujoco><option timestep="0.01"/><worldbody><body name="base" pos="0 0 1">
<joint name="swing" axis="0 1 0"/><geom name="rod" type="capsule" fromto="0 0 0 0.5 0 0" size="0.02"/></body>
</worldbody>
<sensor><jointpos name="angle" joint="swing"/></sensor></mujoco>"""
UNSTABLE = """<mujoco><option timestep="0.01"><flag eulerdamp="disable"/></option><worldbody><body name="b">
<joint name="runaway" type="slide"/><geom size="0.1" mass="1"/></body></worldbody><actuator>
<general joint="runaway" biastype="affine" biasprm="0.01 0 90"/></actuator></mujoco>"""
EXPERIMENT = """scene = "pendulum.xml"
duration = {duration}
[[check]]
metric = "sensor:angle:max"
max = {limit}
[vary]
"option.gravity" = {{ uniform = [[0, 0, -10], [0, 0, -5]] }}
[sweep]
seeds = {seeds}
{more}
"""
TWO_VARIANTS = """[[sweep.variant]]
name = "fine"
[[sweep.variant]]
name = "coarse"
set = { "option.timestep" = 0.02 }
"""


def children_of(process):
    """Its processes of `tendril run`."""
    children = map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split())
    return [child for child in children if words_of(child)[1:2] == [b"run"]]


def words_of(process):
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def is_alive(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def has_pending_signal(process):
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return False
    return any(int(line.split()[1], 16) for line in lines if line.startswith(("SigPnd:", "ShdPnd:")))


def wait_for(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("timed out")
        time.sleep(0.005)


class SweepTest(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name)
        self.out = self.folder / "out"
        (self.folder / "pendulum.xml").write_text(PENDULUM)
        (self.folder / "unstable.xml").write_text(UNSTABLE)

    def tearDown(self):
        self.temporary.cleanup()

    def write(self, seeds=4, more="", limit=10, duration=0.1, name="e.toml"):
        (self.folder / name).write_text(EXPERIMENT.format(seeds=seeds, more=more, limit=limit, duration=duration))
        return name

    def command(self, *arguments):
        return [PROGRAM, "sweep", *map(str, arguments)]

    def run_sweep(self, *arguments, **options):
        return subprocess.run(
            self.command(*arguments), cwd=self.folder, capture_output=True, text=True, timeout=120, **options
        )

    def sweep(self, *arguments, code=0, **options):
        done = self.run_sweep("e.toml", "--out", self.out, "--quiet", "--no-report", *arguments, **options)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def start(self, *arguments):
        return subprocess.Popen(
            self.command("e.toml", "--out", self.out, "--quiet", "--no-report", *arguments),
            cwd=self.folder,
            stderr=subprocess.PIPE,
            text=True,
        )

    def runs_of(self, process):
        """The children that are runs: the sweep has its plan by then, and asks the program nothing any more."""
        return children_of(process) if (self.out / "sweep.json").exists() else []

    def lines(self, out=None):
        files = sorted((out or self.out).glob("journal/*.jsonl"))
        return [line for file in files for line in file.read_bytes().splitlines(True)]

    def records(self, out=None):
        return [json.loads(line[9:]) for line in self.lines(out)]

    def summary(self, out=None):
        return json.loads(((out or self.out) / "summary.json").read_text())

    def numbers(self, out=None):
        """Returns the numbers that no machine may change, by id."""
        own = ("real_time_factor", "step_time_mean", "step_time_p999")
        return {
            r["id"]: (r["outcome"], r["checks"], {k: v for k, v in r["metrics"].items() if k not in own})
            for r in self.records(out)
        }

    def refused(self, *arguments, text):
        done = self.run_sweep(*arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn(text, done.stderr)
        self.assertFalse(self.out.exists())


class Runs(SweepTest):
    def test_runs_without_checks_pass_nothing(self):
        self.write(seeds=2)
        text = (self.folder / "e.toml").read_text()
        checks, rest = text.split("[[check]]")[0], text[text.index("[vary]") :]
        (self.folder / "e.toml").write_text(checks + rest)
        done = self.run_sweep("e.toml", "--out", self.out, "--no-report")
        self.assertEqual((done.returncode, done.stdout.splitlines()[0]), (0, "default  no checks"), done.stderr)
        summary = self.summary()
        self.assertEqual((summary["runs"]["passed"], summary["runs"]["without_checks"]), (0, 2))
        self.assertEqual([(row["n"], row["rate"]) for row in summary["success"]], [(0, None)])

    def test_every_seed_of_every_cell_with_every_variant_runs_once(self):
        self.write(seeds=3, more='[sweep.grid]\n"geom.rod.friction" = [0.1, 0.3]\n' + TWO_VARIANTS)
        self.sweep()
        found = {(r["seed"], r["cell"]["geom.rod.friction"], r["variant"]) for r in self.records()}
        self.assertEqual(len(found), 12)
        self.assertEqual(len(self.records()), 12)
        self.assertEqual(self.summary()["runs"]["passed"], 12)
        rows = (self.out / "runs.csv").read_text().splitlines()
        self.assertEqual(len(rows), 13)
        self.assertIn("cell.geom.rod.friction,check.sensor:angle:max", rows[0])

    def test_a_seed_draws_the_same_in_all_variants_and_as_in_tendril_run(self):
        self.write(seeds=3, more=TWO_VARIANTS)
        self.sweep()
        drawn = {}
        for r in self.records():
            self.assertEqual(drawn.setdefault(r["seed"], r["drawn"]), r["drawn"])
        done = subprocess.run(
            [PROGRAM, "run", "e.toml", "--seed", "2", "--no-record", "--json"],
            cwd=self.folder,
            capture_output=True,
            text=True,
        )
        alone = json.loads(done.stdout)["metrics"]["speed_max"]
        self.assertIn(alone, [r["metrics"]["speed_max"] for r in self.records() if r["seed"] == 2])

    def test_what_was_drawn_is_a_number_in_the_results(self):
        self.write(seeds=3)
        text = (self.folder / "e.toml").read_text()
        (self.folder / "e.toml").write_text(text.replace("[vary]\n", '[vary]\n"body.base.mass" = { scale = [2, 3] }\n'))
        self.sweep()
        rows = list(csv.DictReader(io.StringIO((self.out / "runs.csv").read_text())))
        self.assertEqual(
            [name for name in rows[0] if name.startswith("drawn.")], ["drawn.body.base.mass", "drawn.option.gravity.3"]
        )  # the others are the same in every run
        for row in rows:
            self.assertTrue(2 <= float(row["drawn.body.base.mass"]) < 3, row)
            self.assertTrue(-10 <= float(row["drawn.option.gravity.3"]) < -5, row)

    def test_each_seed_of_a_family_is_its_own_scene(self):
        (self.folder / "e.toml").write_text('family = "clutter"\ndifficulty = 0.2\n[sweep]\nseeds = 2\n')
        done = self.run_sweep("e.toml", "--out", self.out, "--no-report")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("vary", done.stderr)
        self.assertEqual(self.summary()["metrics"][0]["metric"], "tip error at the end")
        for record in self.records():
            scene = self.folder / "scene"
            subprocess.run(
                [PROGRAM, "generate", "clutter", "--seed", str(record["seed"]), "--difficulty", "0.2", "--out", scene],
                check=True,
                capture_output=True,
            )
            run = subprocess.run(
                [PROGRAM, "run", scene / "clutter.toml", "--no-record", "--json", "--out", self.folder / "one"],
                capture_output=True,
                text=True,
            )
            self.assertEqual(record["metrics"]["tip_error_end"], json.loads(run.stdout)["metrics"]["tip_error_end"])
        self.assertNotEqual(*(record["metrics"]["tip_error_rms"] for record in self.records()))
        (self.folder / "e.toml").write_text('family = "cluter"\n[sweep]\nseeds = 2\n')
        shutil.rmtree(self.out)
        self.refused(
            "e.toml",
            "--out",
            self.out,
            text="e.toml: family: cluter: must be one of cable, clutter, coil, maze, mobile_clutter, moving, path, "
            "pole, reach_around, shelf, touch, tube, two_arms, underactuated, vessel, winding_tube",
        )

    def test_later_settings_win(self):
        """The cell's over those that are drawn, the variant's over the cell's, --set over all."""
        cell = '[sweep.grid]\n"option.gravity" = [[0, 0, -1]]\n[[sweep.variant]]\nname = "v"\n'
        steps = {}
        for name, more, arguments in (
            ("cell", cell, ()),
            ("variant", cell + 'set = { "option.gravity" = [0, 0, -2] }\n', ()),
            ("option", cell, ("--set", "option.gravity=[0, 0, -3]")),
        ):
            self.write(seeds=2, more=more)
            out = self.folder / name
            self.assertEqual(self.run_sweep("e.toml", "--out", out, *arguments).returncode, 0)
            steps[name] = {r["metrics"]["speed_end"] for r in self.records(out)}
            self.assertEqual(len(steps[name]), 1)
        self.assertLess(max(steps["cell"]), min(steps["variant"]))
        self.assertLess(max(steps["variant"]), min(steps["option"]))

    def test_exit_codes_and_outcomes(self):
        self.write(limit=0)
        self.sweep(code=1)
        (self.folder / "e.toml").write_text('scene = "unstable.xml"\nduration = 100\n[sweep]\nseeds = 2\n')
        self.out = self.folder / "unstable"
        self.sweep(code=1)
        self.assertEqual(self.summary()["runs"]["diverged"], 2)
        (self.folder / "e.toml").write_text(
            'scene = "pendulum.xml"\nduration = 1e6\n[sweep]\nseeds = 1\ntimeout = 0.3\n'
        )
        self.out = self.folder / "long"
        self.sweep(code=1)
        self.assertEqual(self.summary()["runs"]["timeout"], 1)

    def test_recordings_that_are_kept(self):
        for record, kept in (('"all"', 3), ('"failed"', 0), ("1", 1)):
            self.write(seeds=3, more=f"record = {record}")
            self.out = self.folder / f"out{kept}"
            self.sweep()
            for name in ("rollout.h5",) if NO_PAGES else ("rollout.h5", "play.html"):
                self.assertEqual(len(list(self.out.glob(f"runs/*/{name}"))), kept)
            self.assertEqual(list(self.out.glob("runs/.part*")), [])
        self.write(seeds=3, more='record = "failed"', limit=0)
        self.out = self.folder / "failed"
        self.sweep(code=1)
        self.assertEqual(len(list(self.out.glob("runs/*/rollout.h5"))), 3)

    def test_repeat_gives_the_numbers_of_the_run(self):
        self.write()
        self.sweep()
        one = self.records()[0]
        done = self.run_sweep("repeat", self.out, one["id"])
        self.assertEqual(done.returncode, 0, done.stderr)
        again = json.loads((self.out / "repeated" / one["id"] / "summary.json").read_text())
        self.assertEqual(again["metrics"]["speed_max"], one["metrics"]["speed_max"])

    @unittest.skipIf(NO_PAGES, "Python, which makes the pages, does not load a sanitized library")
    def test_the_worst_runs_are_linked_to_their_playback(self):
        self.write(seeds=3, more="record = 2")
        self.assertEqual(self.run_sweep("e.toml", "--out", self.out).returncode, 0)
        ids = {r["seed"]: r["id"] for r in self.records()}

        def links():
            return set(re.findall('href="([^"]*)"', (self.out / "report.html").read_text()))

        self.assertEqual(links(), {f"runs/{ids[seed]}/play.html" for seed in (0, 1)})
        browser = self.folder / "browser"
        browser.write_text(f'#!/bin/sh\necho "$1" >{self.folder}/opened\n')
        browser.chmod(0o755)
        done = self.run_sweep("repeat", self.out, ids[2], "--play", env=os.environ | {"BROWSER": f"{browser} %s"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(
            (self.folder / "opened").read_text(), (self.out / f"repeated/{ids[2]}/play.html").as_uri() + "\n"
        )
        self.assertEqual(self.run_sweep("report", self.out).returncode, 0)
        self.assertIn(f"repeated/{ids[2]}/play.html", links())

    def test_dry_run_writes_nothing(self):
        self.write()
        done = self.run_sweep("e.toml", "--out", self.out, "--dry-run")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("4 runs, 0 of them done", done.stdout)
        self.assertFalse(self.out.exists())


class HostileFiles(SweepTest):
    def test_pipes_and_files_without_end_are_refused(self):
        for kind in ("pipe", "endless"):
            for ending in ("toml", "h5"):
                file = self.folder / f"{kind}.{ending}"
                os.mkfifo(file) if kind == "pipe" else file.symlink_to("/dev/zero")
            (self.folder / "named.toml").write_text(f'[sweep]\nexperiment = "{kind}.toml"\nseeds = 2\n')
            (self.folder / "suite.toml").write_text(f'[sweep]\nexperiment = [{{ file = "{kind}.toml" }}]\nseeds = 2\n')
            for file in (f"{kind}.toml", "named.toml", "suite.toml"):
                self.refused(
                    file, "--out", self.out, text=f"{kind}.toml: is a device or a pipe: must be a readable file"
                )
            for command in (["compare", f"{kind}.h5", f"{kind}.h5"], ["play", f"{kind}.h5"]):
                done = subprocess.run(
                    [PROGRAM, *command], cwd=self.folder, capture_output=True, text=True, timeout=60, check=False
                )
                self.assertEqual(
                    (done.returncode, done.stderr), (2, f"tendril: {kind}.h5: is not a file [missing-file]\n")
                )


class Guarantees(SweepTest):
    def test_1_a_torn_line_does_not_count_and_is_told(self):
        self.write()
        self.sweep()
        file = next(self.out.glob("journal/*.jsonl"))
        whole = file.read_bytes()
        expected = self.numbers()
        damaged = bytearray(whole)
        damaged[len(whole) // 8] ^= 1
        for content, lost in ((whole[:-30], 1), (whole[:-1], 1), (bytes(damaged), 1)):
            file.write_bytes(content)
            told = self.run_sweep("status", self.out).stderr
            self.assertIn("1 torn lines", told)
            self.assertIn(f"{lost} runs are not done", told)
        file.write_bytes(whole[:-30])
        self.sweep()
        self.assertEqual({r["id"] for r in map(self.decode, self.lines()) if r}, set(expected))

    @staticmethod
    def decode(line):
        text = line[9:-1]
        return json.loads(text) if line.endswith(b"\n") and int(line[:8], 16) == zlib.crc32(text) else None

    def test_2_and_4_a_killed_driver_loses_runs_under_way_only_and_no_child_outlives_it(self):
        self.write(seeds=24, duration=20)
        kills = 0
        for moment in (1, 5, 11):
            process = self.start("--jobs", "2")
            wait_for(lambda m=moment: len(self.lines()) >= m)
            children = children_of(process.pid)
            process.kill()
            process.communicate()
            kills += process.returncode == -signal.SIGKILL
            wait_for(lambda c=children: not any(map(is_alive, c)))
        self.assertGreaterEqual(kills, 1)
        before = len(self.lines())
        self.assertGreater(before, 0)
        self.sweep()
        self.assertEqual(len(self.records()), 24)  # what was done was not run again
        self.assertEqual(len({r["id"] for r in self.records()}), 24)
        self.assertEqual(list(self.out.glob("runs/.part*")), [])
        self.assertEqual(self.summary()["runs"]["passed"], 24)

    def test_2_a_killed_child_is_tried_again_and_then_without_result(self):
        self.write(seeds=1, duration=1e6, more="retries = 1")
        process = self.start("--jobs", "1")
        for _ in range(2):
            wait_for(lambda: self.runs_of(process.pid))
            child = self.runs_of(process.pid)[0]
            os.kill(child, signal.SIGKILL)
            wait_for(lambda c=child: not is_alive(c))
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 5)
        (record,) = self.records()
        self.assertEqual((record["outcome"], record["attempt"]), ("crashed", 2))
        self.assertIn("signal 9", record["error"])
        self.assertEqual(self.summary()["success"][0]["n"], 0)  # in no rate
        self.sweep(code=5)
        self.assertEqual(len(self.records()), 1)

    def test_3_every_id_counts_once_and_other_numbers_are_an_error(self):
        self.write()
        self.sweep()
        file = next(self.out.glob("journal/*.jsonl"))
        first = self.lines()[0]
        file.write_bytes(file.read_bytes() + first)
        self.sweep()
        self.assertEqual(self.summary()["runs"]["done"], 4)
        self.assertEqual(self.summary()["runs"]["repeated_lines"], 1)
        other = json.loads(first[9:])
        other["metrics"]["real_time_factor"] *= 2  # of the machine
        self.append(file, other)
        self.sweep()
        other["metrics"]["speed_max"] *= 1 + 1e-15
        other["metrics"]["speed_max"] += 1e-12
        self.append(file, other)
        done = self.sweep(code=2)
        self.assertRegex(done.stderr, rf"jsonl:7: {other['id']}: other numbers than at .*jsonl:1: ")

    @staticmethod
    def append(file, record):
        text = json.dumps(record, separators=(",", ":")).encode()
        file.write_bytes(file.read_bytes() + b"%08x %s\n" % (zlib.crc32(text), text))

    def test_5_one_driver_a_folder(self):
        self.write(seeds=1, duration=1e6)
        process = self.start("--jobs", "1")
        wait_for(lambda: (self.out / "sweep.json").exists() and children_of(process.pid))
        done = self.sweep(code=4)
        self.assertIn(f"another sweep runs here: process {process.pid}", done.stderr)
        self.assertIn("running, 0 of 1 runs", self.run_sweep("status", self.out).stdout)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)

    def test_5_a_lock_that_a_killed_driver_left_is_waited_for(self):
        """Its child that was just being started has the lock until it runs."""
        self.write(seeds=1)
        self.out.mkdir()
        with (self.out / "lock").open("w") as lock:
            lock.write(f"process 4194305 on {socket.gethostname()}\n")  # more than the most processes of a machine
            lock.flush()
            fcntl.flock(lock, fcntl.LOCK_EX)
            process = self.start()
            with self.assertRaises(subprocess.TimeoutExpired):
                process.wait(timeout=1)
        errors = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 0, errors)

    def test_6_a_full_disk_stops_the_sweep_and_what_is_written_stays_valid(self):
        """Limits of the size of a file: the journal stops at a line, then a recording at a row."""
        self.write(seeds=40, duration=0.02)
        self.sweep("--seeds", "1")
        line = len(self.lines()[0])
        limit = 6 * line + line // 2
        done = self.sweep(code=4, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        self.assertEqual(done.stderr.count("\n"), 1)
        whole = self.lines()
        self.assertTrue(all(self.decode(one) for one in whole))
        self.assertLess(1, len(whole))
        self.assertLess(len(whole), 40)
        self.write(seeds=4, duration=20, more='record = "all"')
        self.out = self.folder / "recorded"
        done = self.sweep(
            code=4,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000)),
            env=os.environ | {"ASAN_OPTIONS": "detect_leaks=0"},
        )  # HDF5 loses names after a failed write
        self.assertIn("rollout.h5", done.stderr)
        self.assertEqual(list(self.out.glob("runs/.part*")), [])
        self.assertEqual(self.lines(), [])
        self.sweep()
        self.assertEqual(self.summary()["runs"]["passed"], 4)

    def test_6_a_full_disk(self):
        """A file system of 200 kB: recordings fill it."""
        self.write(seeds=16, duration=20, more='record = "all"')
        script = (
            f'mount -t tmpfs -o size=200k tmpfs out || exit 77; "{PROGRAM}" sweep e.toml --out out/s --quiet '
            "--no-report; code=$?; cp -r out kept; exit $code"
        )
        self.out.mkdir()
        done = subprocess.run(
            ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script],
            cwd=self.folder,
            capture_output=True,
            text=True,
            env=os.environ | {"ASAN_OPTIONS": "detect_leaks=0"},
        )
        if done.returncode in (1, 77) and "sweep" not in done.stderr:
            self.skipTest(f"no file system can be mounted: {done.stderr.strip()}")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (4, 1), done.stderr)
        self.assertIn("No space left on device", done.stderr)
        self.out = self.folder / "kept/s"
        whole = self.records()
        self.assertTrue(all(self.decode(line) for line in self.lines()))
        self.assertLess(len(whole), 16)
        # Recordings are moved into place before the line of their run: the disk may be full between the two.
        kept = {file.parent.name for file in self.out.glob("runs/*/rollout.h5")}
        finished = {r["id"] for r in whole}
        self.assertTrue(finished <= kept, (finished, kept))
        self.sweep()
        self.assertEqual(self.summary()["runs"]["passed"], 16)

    def test_2_a_driver_that_is_killed_keeps_no_half_recording(self):
        """Recordings and their playback are moved into place before the line of their run."""
        self.write(seeds=8, duration=20, more='record = "all"')
        for moment in (1, 3):
            process = self.start("--jobs", "2")
            wait_for(lambda m=moment: len(self.lines()) >= m)
            process.kill()
            process.communicate()
            finished = {r["id"] for r in self.records()}
            kept = {file.parent.name for file in self.out.glob("runs/[!.]*/rollout.h5")}
            self.assertTrue(finished <= kept, (finished, kept))
        self.sweep()
        self.assertEqual(
            {file.parent.name for file in self.out.glob("runs/*/rollout.h5")}, {r["id"] for r in self.records()}
        )
        for file in self.out.glob("runs/*/rollout.h5"):
            done = subprocess.run([PROGRAM, "rollout", "verify", file], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_7_the_numbers_depend_neither_on_jobs_nor_shards_nor_order(self):
        self.write(seeds=6, more=TWO_VARIANTS)
        self.sweep("--jobs", "1")
        expected = self.numbers()
        parts = []
        for shard in (1, 0):
            part = self.folder / f"part{shard}"
            done = self.run_sweep("e.toml", "--out", part, "--jobs", "3", "--shard", f"{shard}/2", "--quiet")
            self.assertEqual(done.returncode, 0, done.stderr)
            parts.append(part)
        self.assertEqual(len(self.records(parts[0])) + len(self.records(parts[1])), 12)
        merged = self.folder / "merged"
        done = self.run_sweep("merge", *parts, "--out", merged)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.numbers(merged), expected)
        same = ("success", "metrics", "differences", "worst_runs")
        mine, theirs = self.summary(), self.summary(merged)
        for key in same[:3]:
            self.assertEqual(mine[key], theirs[key])

    def test_7_merging_refuses_other_numbers(self):
        self.write()
        self.sweep()
        other = self.folder / "other"
        self.assertEqual(self.run_sweep("e.toml", "--out", other, "--quiet").returncode, 0)
        file = next(other.glob("journal/*.jsonl"))
        record = json.loads(self.lines(other)[0][9:])
        record["metrics"]["speed_max"] += 1
        file.write_bytes(b"")
        self.append(file, record)
        done = self.run_sweep("merge", self.out, other, "--out", self.folder / "merged")
        self.assertEqual(done.returncode, 2)
        self.assertIn("other numbers than at", done.stderr)
        self.assertFalse((self.folder / "merged").exists())

    def test_8_verify_finds_a_number_that_is_not_repeated(self):
        self.write()
        self.sweep()
        done = self.run_sweep("e.toml", "--out", self.out, "--verify", "1")
        self.assertIn("4 runs repeated, 0 with other numbers", done.stdout)
        file = next(self.out.glob("journal/*.jsonl"))
        records = self.records()
        records[2]["metrics"]["speed_max"] += 1e-12
        file.write_bytes(b"")
        for record in records:
            self.append(file, record)
        done = self.sweep("--verify", "1", code=4)
        self.assertIn(records[2]["id"], done.stderr)

    def test_9_an_interrupt_ends_runs_and_writes_no_line_of_them(self):
        self.write(seeds=3, duration=1e6)
        process = self.start("--jobs", "2")
        wait_for(lambda: len(self.runs_of(process.pid)) == 2)
        children = self.runs_of(process.pid)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertFalse(any(map(is_alive, children)))
        self.assertEqual(self.lines(), [])
        self.assertEqual(list(self.out.glob("runs/.part*")), [])

    def test_9_a_second_interrupt_kills(self):
        self.write(seeds=1, duration=1e6)
        process = self.start("--jobs", "1")
        wait_for(lambda: self.runs_of(process.pid))
        (child,) = self.runs_of(process.pid)
        os.kill(child, signal.SIGSTOP)  # before or after it has a handler: it must end in any case
        process.send_signal(signal.SIGINT)
        wait_for(lambda: has_pending_signal(child) or not is_alive(child))  # the first interrupt is passed on
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertFalse(is_alive(child))


class Resuming(SweepTest):
    def test_more_seeds_cells_and_variants_keep_finished_runs(self):
        self.write(seeds=2)
        self.sweep()
        before = {r["id"] for r in self.records()}
        self.write(
            seeds=4,
            more='[[sweep.variant]]\nname = "default"\n[[sweep.variant]]\nname = "b"\n'
            'set = { "option.timestep" = 0.02 }',
        )
        self.sweep()
        self.assertEqual(len(self.records()), 8)
        self.assertTrue(before < {r["id"] for r in self.records()})
        self.assertEqual(self.summary()["runs"]["of_earlier_state"], 0)

    def test_runs_of_an_earlier_state_of_the_files_are_in_no_statistic(self):
        self.write()
        self.sweep()
        (self.folder / "pendulum.xml").write_text(PENDULUM.replace("0.5 0 0", "0.4 0 0"))
        self.sweep()
        self.assertEqual(len(self.records()), 8)
        self.assertEqual(self.summary()["runs"]["of_earlier_state"], 4)
        self.assertEqual(self.summary()["success"][0]["n"], 4)

    def test_comments_and_the_table_itself_are_no_other_state(self):
        self.write()
        self.sweep()
        (self.folder / "e.toml").write_text("# a comment\n" + (self.folder / "e.toml").read_text() + "timeout = 50\n")
        self.sweep()
        self.assertEqual(len(self.records()), 4)

    def test_a_file_that_is_changed_meanwhile_stops_the_sweep(self):
        self.write(seeds=1, duration=20000)
        process = self.start("--jobs", "1")
        wait_for(lambda: self.runs_of(process.pid))
        (self.folder / "pendulum.xml").write_text(PENDULUM + "\n")
        _, errors = process.communicate(timeout=100)
        self.assertEqual(process.returncode, 4)
        self.assertIn("pendulum.xml: was changed while the sweep ran", errors)
        self.assertEqual(self.lines(), [])

    def test_timeouts_are_tried_again_on_request(self):
        self.write(seeds=1, duration=1e6, more="timeout = 0.2")
        self.sweep(code=1)
        self.sweep(code=1)
        self.assertEqual(len(self.records()), 1)
        self.sweep("--retry-failed", code=1)
        self.assertEqual(len(self.records()), 2)


class Results(SweepTest):
    def test_the_report_is_one_valid_file_without_requests(self):
        self.write(
            seeds=9,
            limit=1.9,
            duration=0.5,
            more='[sweep.grid]\n"geom.rod.friction" = [0.1, 0.3]\n"option.tolerance" = [1e-8, 1e-9]\n' + TWO_VARIANTS,
        )
        done = self.run_sweep("e.toml", "--out", self.out, "--json")
        self.assertEqual(done.returncode, 1, done.stderr)
        summary = json.loads(done.stdout)
        self.assertEqual(summary, self.summary())
        page = (self.out / "report.html").read_text()
        self.assertNotRegex(page, "<script|https?:|url\\(|<img|<link")
        plots = re.findall("<svg.*?</svg>", page, re.DOTALL)
        self.assertEqual(len(plots), 1 + 3 + 2)  # differences; distribution, pairs and profile; a grid for each variant
        for plot in plots:
            ElementTree.fromstring(plot)
        failed = sum(row["count"] for row in summary["failed_checks"])
        self.assertEqual(summary["runs"]["passed"] + failed, 72)
        for row in summary["success"]:
            self.assertIn(f"{100 * row['rate']:.1f} %", page)
        self.assertEqual(len(summary["worst_runs"]), 10)
        self.assertIn(summary["worst_runs"][0]["command"], page)

    def test_a_bad_variant_is_worse_and_an_equal_one_is_not(self):
        more = (
            '[[sweep.variant]]\nname = "base"\n[[sweep.variant]]\nname = "same"\nset = { "geom.rod.friction" = 0.7 }\n'
            '[[sweep.variant]]\nname = "fast"\nset = { "option.gravity" = [0, 0, -30] }\n'
        )
        self.write(seeds=12, duration=0.3, more='compare = [{ metric = "speed_max", better = "lower" }]\n' + more)
        self.sweep()
        words = {(r["metric"], r["variant"]): r["words"] for r in self.summary()["differences"]}
        self.assertEqual(words[("speed_max", "same")], "no difference shown")
        self.assertEqual(words[("speed_max", "fast")], "worse")

    def test_runs_that_did_not_end_have_the_worst_value(self):
        self.write(seeds=9, duration=1e6, more="timeout = 0.05")
        self.sweep(code=1)
        (row,) = self.summary()["metrics"]
        self.assertEqual((row["n"], row["undefined"], row["iqm"]), (9, 9, None))
        self.assertEqual(self.summary()["success"][0]["rate"], 0)

    def test_python(self):
        self.write(seeds=3)
        code = (
            "import tendril as td; data = td.Sweep('e.toml', settings={'option.timestep': 0.02}).run('out', jobs=2)\n"
            "assert data.runs['seed'].tolist() == [0, 1, 2] and data.success()['default']['successes'] == 3\n"
            "assert set(data.runs['outcome']) == {'done'} and data.compare() == []\n"
            "try: td.Sweep({'seeds': 0, 'experiment': 'e.toml'})\n"
            "except ValueError as error: assert str(error).startswith('sweep: seeds = 0: must be'), error\n"
            "else: raise AssertionError"
        )
        path = Path(__file__).resolve().parents[2] / "python"
        done = subprocess.run(
            [sys.executable, "-B", "-c", code],
            cwd=self.folder,
            capture_output=True,
            text=True,
            env=os.environ | {"PYTHONPATH": str(path), "TENDRIL_PROGRAM": PROGRAM},
        )
        self.assertEqual(done.returncode, 0, done.stderr)


SUITE = """[sweep]
seeds = 9
[[sweep.experiment]]
file = "e.toml"
[[sweep.experiment]]
name = "once"
file = "e.toml"
seeds = 1
[[sweep.variant]]
name = "fine"
[[sweep.variant]]
name = "coarse"
set = { "option.timestep" = 0.02 }
experiments = ["e"]
"""


class Suites(SweepTest):
    def write_suite(self, text=SUITE, **more):
        self.write(**more)
        (self.folder / "s.toml").write_text(text)

    def suite(self, *arguments, code=0, file="s.toml"):
        done = self.run_sweep(file, "--out", self.out, *arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def test_a_scorecard_of_every_experiment_and_variant(self):
        self.write_suite()
        printed = self.suite("--seeds", "3").stdout
        self.assertRegex(printed, r"e +fine +3 of 3 \(44 to 100 %\)")
        rows = {(row["experiment"], row["variant"]): row for row in self.summary()["rows"]}
        self.assertEqual(
            {key: row["success"]["n"] for key, row in rows.items()},
            {("e", "fine"): 3, ("e", "coarse"): 3, ("once", "fine"): 1},
        )
        self.assertEqual(rows["e", "coarse"]["metric"]["name"], "sensor:angle:max")
        page = (self.out / "report.html").read_text()
        self.assertNotRegex(page, "<script|https?:|url\\(|<img|<link")
        self.assertIn('<a href="once/report.html">', page)
        self.assertTrue((self.out / "once/report.html").is_file())
        self.suite("--seeds", "3")
        self.assertEqual(len(self.lines(self.out / "e")), 6)  # resumed
        self.assertIn("e: complete, 6 of 6 runs", self.run_sweep("status", self.out).stdout)

    def test_a_scorecard_says_which_variant_saw_its_sensors(self):
        sensors = Path(__file__).resolve().parents[2] / "scenes/sensors"
        for name in ("arm.toml", "sensors.xml"):
            shutil.copy(sensors / name, self.folder)
        check = '[[check]]\nmetric = "status_end"\nmax = 2\n'
        (self.folder / "e.toml").write_text(f'scene = "sensors.xml"\nduration = 0.1\n{check}')
        (self.folder / "s.toml").write_text('[sweep]\n[[sweep.experiment]]\nfile = "e.toml"\n')
        variants = ("--variant", "truth: controller.measured=truth", "--variant", "lab: controller.measured=sensors")
        printed = self.suite("--seeds", "2", *variants).stdout
        self.assertRegex(printed, r"lab +2 of 2 \(34 to 100 %\), by sensors")
        self.assertNotRegex(printed, r"truth .*by sensors")
        rows = {row["variant"]: row["measured"] for row in self.summary()["rows"]}
        self.assertEqual(rows, {"truth": "truth", "lab": "sensors"})
        self.assertEqual({record["measured"] for record in self.records(self.out / "e")}, {"truth", "sensors"})
        self.assertIn("</b>, by sensors", (self.out / "report.html").read_text())
        done = self.run_sweep("e.toml", "--out", self.folder / "one", "--seeds", "1", "--sensed", "--no-report")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([record["measured"] for record in self.records(self.folder / "one")], ["sensors"])

    def test_words_are_corrected_over_the_whole_scorecard(self):
        self.write_suite(SUITE.replace('experiments = ["e"]\n', "").replace("seeds = 1\n", ""))
        self.suite()
        differences = [d for row in self.summary()["rows"] for d in row["differences"].values()]
        self.assertEqual(len(differences), 4)
        p = sorted(d["p"] for d in differences)
        self.assertAlmostEqual(min(d["p_holm"] for d in differences), min(1, 4 * p[0]))
        own = json.loads((self.out / "e/summary.json").read_text())["differences"]
        self.assertLess(min(d["p_holm"] for d in own), min(d["p_holm"] for d in differences))

    def test_controllers_settings_and_several_files_in_one_command(self):
        self.write_suite()
        self.write(name="f.toml")
        done = self.run_sweep(
            "e.toml",
            "f.toml",
            "--out",
            self.out,
            "--controller",
            "default",
            "--variant",
            "strong: option.gravity=[0, 0, -30]; option.timestep=0.005",
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.summary()["variants"], ["default", "strong"])
        self.assertEqual([one["name"] for one in self.summary()["experiments"]], ["e", "f"])
        set_of = {v["name"]: v["set"] for v in json.loads((self.out / "e/summary.json").read_text())["variants"]}
        (self.folder / "sub").mkdir()
        for name in ("e.toml", "pendulum.xml"):
            shutil.copy(self.folder / name, self.folder / "sub")
        done = self.run_sweep("e.toml", "sub/e.toml", "--out", self.folder / "same_names", "--seeds", "1")
        self.assertEqual(
            [one["name"] for one in self.summary(self.folder / "same_names")["experiments"]],
            [f"{self.folder.name}-e", "sub-e"],
        )
        self.assertEqual(set_of, {"default": {}, "strong": {"option.gravity": [0, 0, -30], "option.timestep": 0.005}})

    def test_an_experiment_that_does_not_know_the_variant_is_told_and_the_others_run(self):
        self.write_suite()
        (self.folder / "other.xml").write_text(PENDULUM.replace("rod", "bar"))
        (self.folder / "f.toml").write_text((self.folder / "e.toml").read_text().replace("pendulum.xml", "other.xml"))
        done = self.run_sweep("e.toml", "f.toml", "--out", self.out, "--variant", "rough: geom.bar.friction=0.3")
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn("e: not run: ", done.stderr)
        self.assertEqual(list(self.summary()["refused"]), ["e"])
        self.out = self.folder / "none"
        self.refused("e.toml", "--only", "e", "--out", self.out, text="--only: needs a suite")
        done = self.run_sweep("e.toml", "f.toml", "--out", self.out, "--variant", "rough: geom.none.friction=0.3")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)

    def test_shards_are_merged(self):
        self.write_suite()
        self.suite()
        whole = self.summary()
        parts = [self.folder / f"part{i}" for i in (0, 1)]
        for i, part in enumerate(parts):
            self.assertEqual(self.run_sweep("s.toml", "--out", part, "--shard", f"{i}/2", "--quiet").returncode, 0)
        done = self.run_sweep("merge", *parts, "--out", self.folder / "merged")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.summary(self.folder / "merged")["rows"], whole["rows"])

    def test_bad_input(self):
        for change, text in (
            (("[sweep]\n", "[sweep]\nfamily = 1\n"), "family: unknown key"),
            (('file = "e.toml"\nseeds', 'file = "none.toml"\nseeds'), "none.toml: No such file"),
            (('name = "once"', 'name = "e"'), 'name = "e": is given twice'),
            (('["e"]', '["nothing"]'), 'experiments: "nothing": matches none of e, once'),
            (('["e"]', '"e"'), 'experiments = "e": must be a list of names'),
            ((SUITE, "[sweep]\nexperiment = []\n"), "experiment = []: must have at least one file"),
            (('file = "e.toml"\n[[', "[["), "experiment: file: is missing"),
            (("seeds = 1\n", "seeds = 0\n"), "seeds = 0: must be"),
        ):
            with self.subTest(text):
                self.write_suite(SUITE.replace(*change))
                self.refused("s.toml", "--out", self.out, text=text)
        self.write_suite()
        self.refused("s.toml", "--out", self.out, "--only", "x*", text="--only: x*: matches none of e, once")
        self.refused("s.toml", "--out", self.out, "--variant", ": a=1", text="--variant: : a=1: must be")
        self.refused("s.toml", "--out", self.out, "--plugin", "none.so", text="--plugin: none.so: no such file")


class Compare(SweepTest):
    def compare(self, *arguments, code=0):
        done = subprocess.run(
            [PROGRAM, "compare", *map(str, arguments), "-o", self.folder / "c.html", "--json", self.folder / "c.json"],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=120,
        )
        self.assertEqual(done.returncode, code, done.stderr)
        if code == 0:
            self.found = json.loads((self.folder / "c.json").read_text())
            self.page = (self.folder / "c.html").read_text()
            self.assertNotRegex(self.page, "<script|https?:|url\\(|<img|<link")
            for plot in re.findall("<svg.*?</svg>", self.page, re.DOTALL):
                ElementTree.fromstring(plot)
        return done

    def record(self, name, *arguments):
        done = subprocess.run(
            [PROGRAM, "run", "e.toml", "--out", name, "--no-report", "--quiet", *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_sweeps_are_paired_by_seed(self):
        self.write(seeds=12, duration=0.3, more='compare = [{ metric = "speed_max", better = "lower" }]')
        self.sweep()
        fast = self.folder / "fast"
        self.run_sweep("e.toml", "--seeds", "10", "--out", fast, "--set", "option.gravity=[0, 0, -30]", "--quiet")
        done = self.compare(self.out, fast)
        self.assertIn("fast against out: speed_max: worse", done.stdout)
        (row,) = [row for row in self.found["differences"] if row["metric"] == "speed_max"]
        self.assertEqual((row["n"], row["words"]), (10, "worse"))
        speeds = [{r["seed"]: r["metrics"]["speed_max"] for r in self.records(folder)} for folder in (self.out, fast)]
        differences = sorted(speeds[1][seed] - speeds[0][seed] for seed in range(10))
        self.assertTrue(differences[2] <= row["iqm"] <= differences[7], (differences, row))
        self.compare(fast, self.out)
        self.assertEqual([r["words"] for r in self.found["differences"] if r["metric"] == "speed_max"], ["better"])

    def test_variants_of_the_same_name_are_compared_and_other_draws_are_told(self):
        self.write(seeds=9, more=TWO_VARIANTS)
        self.sweep()
        text = (self.folder / "e.toml").read_text()
        (self.folder / "e.toml").write_text(text.replace("[0, 0, -5]", "[0, 0, -4]"))
        other = self.folder / "other"
        self.run_sweep("e.toml", "--out", other, "--quiet")
        done = self.compare(self.out, other)
        self.assertEqual([cell["variant"] for cell in self.found["cells"]], ["fine", "coarse"])
        self.assertEqual(self.found["unpaired"], ["option.gravity.3"])
        self.assertIn("draws other values of option.gravity.3 in the two: they are no pairs", done.stderr)
        self.assertIn("files that differ: e.toml\n", done.stdout)

    def test_sweeps_of_different_experiments_are_no_pairs(self):
        self.write()
        self.sweep()
        self.write(name="other.toml")
        other = self.folder / "other"
        self.run_sweep("other.toml", "--out", other, "--quiet")
        self.assertIn("different experiments, e.toml and other.toml", self.compare(self.out, other).stderr)

    def test_the_first_row_that_differs_is_named(self):
        self.write(duration=1)
        self.record("a")
        self.record("b")
        self.assertIn("Identical: 101 rows, bit for bit", self.compare("a", "b").stdout)
        file = h5py.File(self.folder / "b/rollout.h5", "r+")
        qvel = file["rollout_0/qvel"]
        qvel[40, 0] = np.nextafter(qvel[40, 0], 10)
        file.close()
        self.compare("a/rollout.h5", "b")
        first = self.found["first_difference"]
        self.assertEqual((first["row"], first["number"]), (40, "qvel swing"))
        self.assertFalse(self.found["identical"])

    def test_other_timesteps_and_models_are_compared_where_they_can_be(self):
        self.write(duration=1)
        self.record("a")
        self.record("b", "--set", "option.timestep=0.02")
        self.compare("a", "b")
        self.assertEqual((self.found["rows"], self.found["common_rows"]), ([101, 51], 51))
        (self.folder / "pendulum.xml").write_text(
            PENDULUM.replace("</worldbody>", '<body><freejoint/><geom size=".1"/></body></worldbody>')
        )
        self.record("c")
        self.compare("a", "c")
        self.assertIn("qpos", self.found["other_shape"])

    def test_bad_input(self):
        self.write(seeds=2)
        self.sweep()
        self.record("a")
        for a, b, text in (
            (self.out, "a", "a: is no folder of a sweep, and"),
            ("a", "none", "none: no such file"),
            ("a", "a", "is compared with itself"),
        ):
            with self.subTest(text):
                done = self.compare(a, b, code=2)
                self.assertIn(text, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)
        other = self.folder / "other"
        self.run_sweep("e.toml", "--out", other, "--quiet")
        plan = json.loads((other / "sweep.json").read_text())
        (other / "sweep.json").write_text(json.dumps(plan | {"seeds": [7, 8]}))
        self.assertIn("has no seed of", self.compare(self.out, other, code=2).stderr)


class RayNode(SweepTest):
    """Task of Ray on a node, without Ray; bench/sweep_kills has real clusters."""

    def setUp(self):
        super().setUp()
        sys.modules["ray"] = types.SimpleNamespace(get=lambda value: value)
        os.environ["TENDRIL_PROGRAM"] = PROGRAM
        self.node = self.folder / "node/tendril/sweeps"
        self.cache, os.environ["XDG_CACHE_HOME"] = os.environ.get("XDG_CACHE_HOME", ""), str(self.folder / "node")
        self.cwd = os.getcwd()
        os.chdir(self.folder)

    def tearDown(self):
        os.chdir(self.cwd)
        os.environ["XDG_CACHE_HOME"] = self.cache
        del sys.modules["ray"]
        super().tearDown()

    def order(self, **more):
        from tendril.sweep import ray
        from tendril.sweep.table import make_plan

        plan = make_plan(Path("sub/e.toml"), PROGRAM)
        inputs = ray._pack(plan)
        run = next(plan.runs())
        shared = {
            "digest": inputs.digest,
            "archive": inputs.archive,
            "plan": inputs.plan,
            "absolute": inputs.absolute,
        }
        return {
            "versions": plan.versions,
            "shared": shared,
            "id": run.id,
            "variant": run.variant.name,
            "cell": plan.cells[run.cell],
            "seed": run.seed,
            "attempt": 3,
            "timeout": 60.0,
            "record": "all",
            "session": "",
        } | more

    def write_below(self):
        (self.folder / "sub").mkdir()
        self.write(name="sub/e.toml")
        text = (self.folder / "sub/e.toml").read_text().replace('"pendulum.xml"', '"../pendulum.xml"')
        (self.folder / "sub/e.toml").write_text(text)

    def test_inputs_are_unpacked_once_and_nothing_else_is_read(self):
        from tendril.sweep import ray

        self.write_below()
        order = self.order()
        (self.folder / "pendulum.xml").unlink()  # no shared file system
        (self.folder / "sub/e.toml").unlink()
        reply = ray.run_on_node(order)
        self.assertEqual(
            (reply["line"]["outcome"], reply["line"]["attempt"], reply["line"]["id"]), ("done", 3, order["id"])
        )
        self.assertEqual(set(reply["files"]) & {"rollout.h5", "summary.json"}, {"rollout.h5", "summary.json"})
        scene = json.loads(reply["files"]["summary.json"])["scene"]
        self.assertTrue(scene.startswith(str(self.node)), scene)
        order["shared"]["archive"] = b"unused"
        again = ray.run_on_node(order)
        self.assertEqual(again["line"]["checks"], reply["line"]["checks"])
        left = [entry.name for entry in self.node.iterdir()]
        self.assertEqual(left, [order["shared"]["digest"]])
        self.assertEqual(self.node.stat().st_mode & 0o777, 0o700)

    def test_inputs_that_are_not_those_of_the_sweep_are_refused(self):
        from tendril.sweep import ray

        self.write_below()
        order = self.order()
        self.assertIn("line", ray.run_on_node(order))
        inputs = self.node / order["shared"]["digest"]
        scene = inputs / "pendulum.xml"
        text = scene.read_text()
        scene.write_text(text + " ")
        self.assertRegex(ray.run_on_node(order)["refused"], "pendulum.xml: is not as the sweep read it")
        scene.write_text(text)
        self.assertIn("line", ray.run_on_node(order))
        (inputs / "more.py").touch()
        self.assertRegex(ray.run_on_node(order)["failed"], "more.py: is none of the sweep's inputs")
        (inputs / "more.py").unlink()
        scene.rename(inputs / "other")
        scene.symlink_to("other")
        self.assertRegex(ray.run_on_node(order)["failed"], "is none of the sweep's inputs")
        scene.unlink()
        (inputs / "other").rename(scene)
        for folder in (inputs, self.node):
            folder.chmod(0o755)
            self.assertRegex(ray.run_on_node(order)["failed"], "mode = 755: must be 700")
            folder.chmod(0o700)
        self.assertIn("line", ray.run_on_node(order))

    def test_a_large_recording_stays_and_the_place_is_told(self):
        from tendril.sweep import ray

        self.write_below()
        ray._LARGEST_REPLY, before = 1000, ray._LARGEST_REPLY
        try:
            reply = ray.run_on_node(self.order())
        finally:
            ray._LARGEST_REPLY = before
        self.assertEqual(list(reply["files"]), ["left.txt"])
        host, _, place = reply["files"]["left.txt"].decode().strip().partition(":")
        self.assertEqual(host, reply["line"]["machine"])
        self.assertTrue((Path(place) / "rollout.h5").is_file())

    def test_other_versions_and_bad_input_are_refused_in_one_line(self):
        from tendril.sweep import ray

        self.write_below()
        reply = ray.run_on_node(self.order(versions={"tendril": "0.0.1", "mujoco": "4.0.1"}))
        self.assertRegex(
            reply["refused"], r"^node \S+: tendril \S+, mujoco 4.0.1: must be tendril 0.0.1, mujoco 4.0.1$"
        )
        reply = ray.run_on_node(self.order(cell=(("geom.no_such.friction", 1),)))
        self.assertIn("geom.no_such.friction", reply["refused"])
        self.assertNotIn(str(self.node), reply["refused"])

    def test_a_missing_module_is_told(self):
        self.write()
        empty = self.folder / "empty"
        empty.mkdir()
        (empty / "ray.py").write_text("raise ModuleNotFoundError(name='ray')")
        done = self.run_sweep(
            "e.toml", "--out", self.out, "--engine", "ray", env=os.environ | {"PYTHONPATH": str(empty)}
        )
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(
            done.stderr,
            "tendril: engine: ray: Python module ray is missing: pip install 'tendril-mujoco[ray]' [not-loaded]\n",
        )


class BadInput(SweepTest):
    def test_one_line_and_nothing_is_written(self):
        for more, text in (
            ("sedes = 3", "sweep: sedes: unknown key"),
            ('record = "some"', 'record = "some": must be "none"'),
            ("timeout = 0", "timeout = 0: must be a time in (0, 1e6] s"),
            ("retries = -1", "retries = -1: must be an integer in [0, 100]"),
            ('baseline = "x"', 'baseline = "x": must be a variant: default'),
            ('compare = [{ metric = "a", better = "more" }]', 'better = "more": must be "lower" or "higher"'),
            ('compare = [{ metric = "a" }]', 'better is missing, must be "lower" or "higher"'),
            ('compare = ["a"]', 'sweep: compare = ["a"]: must be a list of { metric = "NAME", better = "lower" }'),
            ('compare = [{ metric = "no_such", better = "lower" }]', "metric = no_such: must be one of"),
            ('[sweep.grid]\n"option.timestep" = []', "option.timestep = []: must be a list with at least one value"),
            ('[sweep.grid]\n"speed" = [1]', "grid: speed: unknown key, must begin with robot."),
            ('[sweep.grid]\n"geom.no_such.friction" = [1]', "geom.no_such.friction"),
            ('[[sweep.variant]]\nname = "a"\n[[sweep.variant]]\nname = "a"', 'name = "a": is given twice'),
            ('[[sweep.variant]]\nname = "a"\n[[sweep.variant]]\nname = "b"', "variant: b: is the same as a"),
            ("[[sweep.variant]]\nset = {}", "variant: name: is missing"),
            ('[[sweep.variant]]\nname = "a"\npython = "b.py"', "b.py"),
        ):
            with self.subTest(more):
                self.write(more=more)
                self.refused("e.toml", "--out", self.out, text=text)
        for seeds in ("0", "[1, 1]", "[-1]", "[]", "true", "{ first = 3 }", '"a"', "100000000"):
            with self.subTest(seeds):
                self.write(seeds=seeds)
                self.refused("e.toml", "--out", self.out, text="sweep: seeds = ")
        self.write()
        for arguments, text in (
            (("--shard", "5/4"), "--shard: 5/4: must be I/N"),
            (("--seeds", "0"), "--seeds: 0: must be an integer in"),
            (("--jobs", "x"), "--jobs: x: must be"),
            (("--engine", "dask"), "engine: dask: must be local or ray"),
            (("--address", "auto"), "address: auto: needs the engine ray"),
            (("--verify", "2"), "--verify: 2: must be a part"),
            (("--set", "a"), "--set: a: must be"),
            (("--set", "option.x=a, b"), """a, b: must be a TOML value or bare words, such as '"a, b"'"""),
            (("--variant", "a option.timestep=1"), "a option.timestep=1: must be 'NAME: key=value; key=value'"),
            (("--no-such",), "unrecognized arguments: --no-such"),
        ):
            with self.subTest(arguments):
                self.refused("e.toml", "--out", self.out, *arguments, text=text)
        self.refused("none.toml", "--out", self.out, text="none.toml: No such file or directory")
        (self.folder / "e.toml").write_text("scene = ")
        self.refused("e.toml", "--out", self.out, text="e.toml: ")

    def test_a_refused_setting_is_named_where_the_sweep_has_it(self):
        for more, arguments, place in (
            ('[sweep.grid]\n"geom.no_such.friction" = [1]', (), "e.toml: sweep.grid: geom.no_such.friction"),
            (TWO_VARIANTS.replace("option.timestep", "option.no_such"), (), "variant coarse: option.no_such"),
            ("", ("--set", "option.no_such=1"), "--set: option.no_such"),
        ):
            with self.subTest(more):
                self.write(more=more)
                done = self.run_sweep("e.toml", "--out", self.out, *arguments)
                self.assertEqual(done.returncode, 2)
                self.assertIn(f"tendril: {place}", done.stderr)

    def test_what_the_grid_takes_from_vary_is_told(self):
        for key, told in (("option.gravity", True), ("option.timestep", False)):
            with self.subTest(key):
                self.write(more=f'[sweep.grid]\n"{key}" = [{"[0, 0, -5]" if told else 0.01}]')
                done = self.run_sweep("e.toml", "--out", self.out, "--dry-run")
                self.assertEqual(f"vary: {key}: is in sweep.grid" in done.stderr, told, done.stderr)

    def test_a_folder_of_something_else(self):
        self.write()
        self.sweep()
        self.write(name="other.toml")
        done = self.run_sweep("other.toml", "--out", self.out)
        self.assertEqual(done.returncode, 2)
        self.assertIn("must be a folder of the sweep other", done.stderr)
        plain = self.folder / "plain"
        plain.mkdir()
        (plain / "mine.txt").write_text("mine")
        done = self.run_sweep("e.toml", "--out", plain)
        self.assertEqual(done.returncode, 2)
        self.assertIn("is not empty and no folder of a sweep", done.stderr)
        self.assertEqual([file.name for file in plain.iterdir()], ["mine.txt"])
        data = json.loads((self.out / "sweep.json").read_text())
        (self.out / "sweep.json").write_text(json.dumps(data | {"format": 99}))
        self.assertEqual(self.run_sweep("e.toml", "--out", self.out).returncode, 2)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
    unittest.main(verbosity=1)
