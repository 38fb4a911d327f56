#!/usr/bin/env python3
"""Runs `tendril rollout verify, recover` and `tendril export` on whole, unfinished and damaged recordings.

usage: rollout_command_test.py PROGRAM
"""

import csv
import json
import os
import pty
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import h5py
import numpy as np

PROGRAM = ""
ROWS = 601
BLOCK = 256
# A ball joint, a free joint, contacts, a mocap body, and a name that CSV must quote.
SCENE = """<mujoco><option timestep="0.002"/><worldbody><geom type="plane" size="1 1 .1"/>
<body name="hand" mocap="true" pos="0 0 1"/>
<body name="a" pos="0 0 .06"><freejoint name="loose"/><geom type="box" size=".05 .05 .05"/></body>
<body name="b" pos="1 0 1"><joint name="knee" type="ball"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".02"/>
</body>
<body name="c" pos="2 0 1"><joint name="a,&quot;b&quot;" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 .3 0 0" size=".02"/></body>
</worldbody><actuator><motor name="push" joint="a,&quot;b&quot;"/></actuator>
<sensor><jointpos name="angle" joint="a,&quot;b&quot;"/><framepos name="where" objtype="body" objname="a"/></sensor>
</mujoco>"""
DATASETS = (
    "step",
    "time",
    "qpos",
    "qvel",
    "ctrl",
    "act",
    "sensordata",
    "plugin_state",
    "mocap/pos",
    "mocap/quat",
    "contact/count",
)


def run_program(*arguments, **environment):
    return subprocess.run(
        [PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=60, env=dict(os.environ, **environment)
    )


def export(file, out):
    """Exports by the Python package, which needs h5py."""
    return run_program("export", file, "--to", Path(out).suffix[1:], "-o", out, TENDRIL_PYTHON=sys.executable)


def content(file):
    with h5py.File(file) as opened:
        return {name: opened["rollout_0"][name][()] for name in DATASETS}


class RolloutCommand(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.temporary.name)
        (cls.folder / "scene.xml").write_text(SCENE)
        done = run_program(
            "run", cls.folder / "scene.xml", "--duration", "1.2", "--no-report", "--quiet", "--out", cls.folder / "out"
        )
        assert done.returncode == 0, done.stderr
        cls.whole = cls.folder / "out/rollout.h5"
        cls.bytes = cls.whole.read_bytes()
        cls.reference = content(cls.whole)
        assert len(cls.reference["step"]) == ROWS

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def copy(self, name, change=None):
        """A copy of the recording with a change made through h5py."""
        file = self.folder / name
        shutil.copy(self.whole, file)
        if change:
            with h5py.File(file, "r+") as opened:
                change(opened["rollout_0"])
        return file

    def damaged(self, data):
        file = self.folder / "damaged.h5"
        file.write_bytes(data)
        return file

    def with_damaged_block(self, dataset, row):
        with h5py.File(self.whole) as opened:
            values = opened["rollout_0"][dataset]
            chunk = values.id.get_chunk_info_by_coord((row,) + (0,) * (values.ndim - 1))
        data = bytearray(self.bytes)
        data[chunk.byte_offset + chunk.size // 2] ^= 1
        return self.damaged(data)

    def refused(self, done, code, *texts):
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for text in texts:
            self.assertIn(text, done.stderr)

    def rows_recovered(self, file):
        steps = self.recovered(file)
        return 0 if steps is None else len(steps)

    def recovered(self, file):
        """The rows that `recover` saves, compared with those of the undamaged recording; None if it refuses."""
        out = self.folder / "recovered.h5"
        out.unlink(missing_ok=True)
        done = run_program("rollout", "recover", file, out)
        self.assertFalse(Path(str(out) + ".part").exists())
        if done.returncode != 0:
            self.refused(done, 2)
            self.assertFalse(out.exists())
            return None
        found = content(out)
        steps = found["step"]
        for name, values in found.items():
            self.assertEqual(values.tobytes(), self.reference[name][steps].tobytes(), f"{name}: {done.stdout}")
        return steps

    # ---- verify ----

    def test_a_whole_recording_is_whole(self):
        done = run_program("rollout", "verify", self.whole)
        self.assertEqual((done.returncode, done.stdout), (0, f"{self.whole}: whole: {ROWS} rows\n"), done.stderr)
        report = json.loads(run_program("rollout", "verify", self.whole, "--json").stdout)
        self.assertEqual((report["verdict"], report["rows"], report["finished"]), ("whole", ROWS, True))

    def test_verify_shows_on_a_terminal_how_many_rows_are_read(self):
        for options, shown in (([], f"{BLOCK} of {ROWS} rows"), (["--quiet"], "")):
            terminal, end = pty.openpty()
            with subprocess.Popen(
                [PROGRAM, "rollout", "verify", self.whole, *options], stdout=subprocess.PIPE, stderr=end
            ) as process:
                os.close(end)
                text = os.read(terminal, 10_000).decode() if shown else ""
                self.assertIn(shown, text)
                self.assertIn(b"whole", process.communicate()[0])
            os.close(terminal)

    def test_sensors_of_the_scene_have_units(self):
        with h5py.File(self.whole) as opened:
            rows = json.loads(opened["rollout_0/texts/sensors"][0])
        self.assertEqual({row["name"]: row["unit"] for row in rows}, {"angle": "rad", "where": "m"})

    def test_verify_names_the_first_row_of_the_damaged_block_of_every_dataset(self):
        for dataset in ("step", "qpos", "sensordata", "mocap/quat", "contact/start", "contact/count"):
            with self.subTest(dataset):
                file = self.with_damaged_block(dataset, 300)
                done = run_program("rollout", "verify", file)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertEqual(done.stdout.count("\n"), 1)
                self.assertIn(
                    f"damaged from row {BLOCK} on: rows {BLOCK} to {2 * BLOCK - 1} of {ROWS} rows", done.stdout
                )
                self.assertIn(dataset, done.stdout)
                report = json.loads(run_program("rollout", "verify", file, "--json").stdout)
                self.assertEqual(
                    (report["verdict"], report["first_bad_row"], report["bad_rows"]), ("damaged", BLOCK, BLOCK)
                )

    def test_verify_names_a_damaged_model_and_a_damaged_text(self):
        done = run_program("rollout", "verify", self.with_damaged_block("model_mjb", 0))
        self.assertEqual(done.returncode, 1)
        self.assertIn("model_mjb", done.stdout)
        done = run_program("rollout", "verify", self.with_damaged_block("texts/model_xml", 0))
        self.assertEqual(done.returncode, 1)
        self.assertIn("texts/model_xml", done.stdout)

    def test_a_dataset_that_is_shorter_than_the_others_is_damage(self):
        def shorten(rollout):
            rollout["qvel"].resize(BLOCK, axis=0)

        done = run_program("rollout", "verify", self.copy("short.h5", shorten))
        self.assertEqual(done.returncode, 1)
        self.assertIn("qvel", done.stdout)

    def test_texts_of_variable_length_are_refused_unread(self):
        def add(rollout):
            rollout.attrs["note"] = "on a heap without checksum"

        self.refused(run_program("rollout", "info", self.copy("heap.h5", add)), 2, "attribute note")

    def test_recordings_of_the_old_format_are_named(self):
        def age(rollout):
            rollout.attrs["format_version"] = 1

        file = self.copy("old.h5", age)
        for command in ("info", "verify", "replay"):
            self.refused(run_program("rollout", command, file), 2, "format_version = 1, this program reads 2")

    def test_no_change_of_a_byte_goes_unnoticed_where_there_is_a_checksum(self):
        """Rows, texts, model and metadata; contacts and what HDF5 leaves unused have none."""
        rng = random.Random(3)
        unnoticed = 0
        for _ in range(20):
            data = bytearray(self.bytes)
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            file = self.damaged(data)
            done = run_program("rollout", "verify", file)
            self.assertIn(done.returncode, (0, 1, 2), done.stderr)
            if done.returncode == 0:
                unnoticed += 1
                found = content(file)
                for name in DATASETS:
                    self.assertEqual(found[name].tobytes(), self.reference[name].tobytes(), name)
        self.assertLess(unnoticed, 20)

    # ---- recover ----

    def test_recover_leaves_out_only_the_damaged_block(self):
        steps = self.recovered(self.with_damaged_block("qvel", 300))
        self.assertEqual(list(steps), [*range(BLOCK), *range(2 * BLOCK, ROWS)])
        with h5py.File(self.folder / "recovered.h5") as opened:
            outcome = opened["rollout_0"].attrs["outcome"].decode()
            self.assertEqual(opened["rollout_0/texts/recovered_from"][0].decode(), str(self.folder / "damaged.h5"))
        self.assertEqual(outcome, f"recovered: {ROWS - BLOCK} of {ROWS} rows; done")
        self.assertEqual(run_program("rollout", "verify", self.folder / "recovered.h5").returncode, 0)

    def test_any_damage_of_the_superblock_costs_nothing(self):
        for at in range(0, 48, 5):
            data = bytearray(self.bytes)
            data[at] ^= 1 << at % 8
            self.assertEqual(self.rows_recovered(self.damaged(data)), ROWS, at)

    def test_a_flipped_bit_in_the_metadata_costs_rows_or_is_one_line(self):
        rng = random.Random(1)
        places = [found.start() for found in re.finditer(rb"OHDR|OCHK|EAHD|EAIB|EADB", self.bytes)]
        for _ in range(20):
            data = bytearray(self.bytes)
            data[rng.choice(places) + rng.randrange(100)] ^= 1 << rng.randrange(8)
            file = self.damaged(data)
            for command in ("info", "verify"):
                self.assertIn(run_program("rollout", command, file).returncode, (0, 1, 2))
            self.recovered(file)

    def test_half_written_metadata_costs_no_row(self):
        """Each block of metadata that changes while rows are written, with its older second half."""
        earlier = self.folder / "earlier.h5"
        steps = str(2 * BLOCK * 0.002)
        done = run_program(
            "run",
            self.folder / "scene.xml",
            "--duration",
            steps,
            "--no-report",
            "--quiet",
            "--out",
            self.folder / "early",
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        shutil.copy(self.folder / "early/rollout.h5", earlier)
        old = earlier.read_bytes()
        torn = 0
        for found in re.finditer(rb"OHDR|OCHK|EAHD|EAIB", self.bytes):
            at = found.start()
            if old[at : at + 4] != self.bytes[at : at + 4] or old[at : at + 200] == self.bytes[at : at + 200]:
                continue
            data = bytearray(self.bytes)
            data[at + 40 : at + 200] = old[at + 40 : at + 200]
            steps = self.recovered(self.damaged(data))
            torn += steps is not None
        self.assertGreater(torn, 0)

    def test_garbage_in_the_metadata_is_survived(self):
        rng = random.Random(2)
        places = [found.start() for found in re.finditer(rb"OHDR|OCHK|EAHD|EAIB|EADB", self.bytes)]
        for _ in range(12):
            data = bytearray(self.bytes)
            at = rng.choice(places) + rng.randrange(8, 60)
            data[at : at + 8] = rng.randbytes(8)
            file = self.damaged(data)
            self.assertIn(run_program("rollout", "verify", file).returncode, (0, 1, 2))
            self.recovered(file)

    def test_a_truncated_file_gives_the_rows_before_the_end_or_one_line(self):
        saved = []
        for part in range(10):
            file = self.damaged(self.bytes[: len(self.bytes) * part // 10])
            verified = run_program("rollout", "verify", file)
            self.assertIn(verified.returncode, (1, 2))
            saved.append(self.rows_recovered(file))
        self.assertEqual(saved, sorted(saved))
        self.assertGreaterEqual(saved[-1], BLOCK)

    def test_what_a_killed_run_leaves_becomes_a_recording_that_replays(self):
        out = self.folder / "killed"
        file = out / "rollout.h5"
        process = subprocess.Popen(
            [PROGRAM, "run", self.folder / "scene.xml", "--duration", "1000", "--no-report", "--quiet", "--out", out]
        )
        deadline = time.monotonic() + 30
        seen = 0
        while seen < 2 * BLOCK and time.monotonic() < deadline:
            if file.exists():
                with h5py.File(file, "r", swmr=True, libver="latest") as opened:
                    seen = int(opened["rollout_0/rows"][()])
            time.sleep(0.01)
        process.kill()
        process.wait()
        done = run_program("rollout", "verify", file)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("not finished or its process was killed", done.stdout)
        saved = self.folder / "saved.h5"
        done = run_program("rollout", "recover", file, saved)
        self.assertEqual(done.returncode, 0, done.stderr)
        with h5py.File(saved) as opened:
            self.assertGreaterEqual(len(opened["rollout_0/step"]), seen)
            self.assertIn("it was not finished", opened["rollout_0"].attrs["outcome"].decode())
            self.assertEqual(opened["rollout_0"].attrs["timestep"], 0.002)
        done = run_program("rollout", "replay", saved, "--quiet")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_recover_never_writes_over_its_input(self):
        link = self.folder / "link.h5"
        link.symlink_to(self.whole)
        for out in (self.whole, link):
            self.refused(run_program("rollout", "recover", self.whole, out), 2, "must be another file")
        self.assertEqual(self.whole.read_bytes(), self.bytes)

    def test_a_failed_recovery_leaves_an_earlier_file_alone(self):
        out = self.folder / "precious.h5"
        out.write_text("precious")
        self.refused(run_program("rollout", "recover", self.damaged(b"x" * 5000), out), 2)
        self.assertEqual(out.read_text(), "precious")
        self.refused(run_program("rollout", "recover", self.whole, self.folder / "none/x.h5"), 4, "none/x.h5")

    def test_a_recording_without_rows_says_so_in_one_line(self):
        def empty(rollout):
            kind = rollout.attrs.get_id("outcome").dtype
            rollout["rows"][()] = 0
            rollout.attrs.get_id("outcome").write(np.array(b"running", dtype=kind))

        file = self.copy("empty.h5", empty)
        for command in (
            ["rollout", "replay", file],
            ["export", file, "--to", "csv", "-o", self.folder / "x.csv"],
            ["view", file, "--screenshot", self.folder / "x.png"],
        ):
            done = run_program(*command, TENDRIL_PYTHON=sys.executable)
            self.assertIn(done.returncode, (2, 4), command)
            self.assertEqual(done.stderr.count("\n"), 1)
            self.assertIn("has no rows: its process was killed", done.stderr)
        self.assertIn("whole: 0 rows", run_program("rollout", "verify", file).stdout)

    def test_a_recording_that_was_not_created_to_its_end_says_so(self):
        file = self.folder / "rollout.h5.part"
        file.write_bytes(self.bytes[:3000])
        for command in ("info", "verify", "replay"):
            self.refused(run_program("rollout", command, file), 2, "is unfinished")

    # ---- export ----

    def test_csv_has_named_columns_and_every_number(self):
        out = self.folder / "rows.csv"
        done = export(self.whole, out)
        self.assertEqual((done.returncode, done.stdout), (0, f"{out}\n"), done.stderr)
        with open(out, newline="") as stream:
            header, *rows = csv.reader(stream)
        expected = [
            "step",
            "time",
            "step_time_us",
            "contacts",
            *(f"qpos.loose.{part}" for part in ("x", "y", "z", "qw", "qx", "qy", "qz")),
            *(f"qpos.knee.{part}" for part in ("qw", "qx", "qy", "qz")),
            'qpos.a,"b"',
            *(f"qvel.loose.{part}" for part in ("vx", "vy", "vz", "wx", "wy", "wz")),
            *(f"qvel.knee.{part}" for part in ("wx", "wy", "wz")),
            'qvel.a,"b"',
            "ctrl.push",
            "sensordata.angle",
            "sensordata.where.0",
            "sensordata.where.1",
            "sensordata.where.2",
            *(f"mocap_pos.0.{part}" for part in ("x", "y", "z")),
            *(f"mocap_quat.0.{part}" for part in ("qw", "qx", "qy", "qz")),
        ]
        self.assertEqual(header, expected)
        values = np.array(rows, dtype=float)
        columns = {name: index for index, name in enumerate(header)}
        for name, dataset, column in (
            ("step", "step", ()),
            ("time", "time", ()),
            ("contacts", "contact/count", ()),
            ("qpos.knee.qz", "qpos", 10),
            ('qvel.a,"b"', "qvel", 9),
            ("sensordata.where.2", "sensordata", 3),
            ("mocap_pos.0.z", "mocap/pos", (0, 2)),
        ):
            stored = self.reference[dataset].reshape(ROWS, -1) if column == () else self.reference[dataset]
            stored = stored[:, 0] if column == () else stored[(slice(None), *np.atleast_1d(column))]
            self.assertTrue((values[:, columns[name]] == stored).all(), name)

    def test_npz_has_arrays_with_names(self):
        out = self.folder / "rows.npz"
        done = export(self.whole, out)
        self.assertEqual(done.returncode, 0, done.stderr)
        with np.load(out) as arrays, h5py.File(self.whole) as opened:
            rollout = opened["rollout_0"]
            for name in ("step", "time", "qpos", "qvel", "ctrl", "sensordata"):
                self.assertTrue((arrays[name] == rollout[name][()]).all(), name)
            self.assertTrue((arrays["contact_force"] == rollout["contact/force"][()]).all())
            self.assertEqual(list(arrays["sensordata_names"])[0], "sensordata.angle")
            for name in ("qpos", "qvel", "ctrl", "act", "sensordata", "plugin_state", "mocap_pos", "mocap_quat"):
                self.assertEqual(arrays[name].shape, (ROWS, len(arrays[name + "_names"])))

    def test_the_former_command_names_this_one(self):
        former = run_program("rollout", "export", self.whole, self.folder / "x.csv")
        self.refused(former, 2, "tendril export FILE --to csv|npz")

    def test_what_cannot_be_exported_is_one_line(self):
        (self.folder / "file").write_text("")
        for ending in ("csv", "npz"):
            self.refused(export(self.whole, self.folder / f"file/x.{ending}"), 4, "file")
        damaged = self.with_damaged_block("qvel", 300)
        for out in ("z.csv", "z.npz"):
            self.refused(export(damaged, self.folder / out), 2, "qvel", "recover")
            self.assertFalse((self.folder / out).exists())
            self.assertFalse((self.folder / (out + ".part")).exists())


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
