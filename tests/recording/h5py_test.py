"""Opens a recording with h5py as docs/reference/recording_file.md says: finished, in progress, after kill -9.

Usage: h5py_test.py PATH/TO/write_recording
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import h5py
import numpy as np

BLOCK = 256


def check(rollout, rows):
    """Checks what the layout promises about the first `rows` rows."""
    assert rollout["rows"][()] == rows, rollout["rows"][()]
    assert (rollout["step"][:rows] == np.arange(rows)).all()
    assert np.allclose(rollout["time"][:rows], 0.002 * np.arange(rows), rtol=0, atol=1e-12)
    shapes = dict(qpos=(61,), qvel=(61,), ctrl=(7,), act=(0,), sensordata=(60,), plugin_state=(60,), step_time_us=())
    shapes |= {"mocap/pos": (1, 3), "mocap/quat": (1, 4)}
    for name, shape in shapes.items():
        values = rollout[name][:rows]
        assert values.shape == (rows, *shape), (name, values.shape)
        assert ((values >= 1) & (values < 2)).all(), name  # what the writer invents
    start, count = rollout["contact/start"][:rows], rollout["contact/count"][:rows]
    assert (np.diff(start) == count[:-1]).all()
    end = int(start[-1] + count[-1])
    for name in ("position", "force"):
        values = rollout["contact/" + name][:end]
        assert values.shape == (end, 3) and ((values >= 1) & (values < 2)).all(), name
    assert (rollout["contact/distance"][:end] < 0).all()
    stored = rollout["integration/row"][:]
    assert (stored[stored < rows] == np.arange(0, rows, 100)).all()
    assert rollout["integration/state"].shape[1] == 439
    assert rollout.attrs["seed"] == 7 and rollout.attrs["timestep"] == 0.002
    assert rollout["texts/model_xml"][0].decode() == "x" * 100_000 + "é"
    assert bytes(rollout["model_mjb"][:]) == b"\1\2\3"


def run_examples_of_the_document(folder):
    """The Python programs of docs/reference/recording_file.md on rollout.h5 in this folder. Returns what they print."""
    document = Path(__file__).resolve().parents[2] / "docs/reference/recording_file.md"
    programs = re.findall(r"^```python\n(.*?)^```", document.read_text(encoding="utf-8"), re.M | re.S)
    whole = [program for program in programs if "import h5py" in program]
    assert len(whole) == 2
    return [
        subprocess.run([sys.executable, "-c", program], cwd=folder, check=True, capture_output=True, text=True).stdout
        for program in whole
    ]


def main():
    writer = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        done = os.path.join(folder, "done.h5")
        subprocess.run([writer, done, "1000", "close"], check=True)
        with h5py.File(done) as file:
            check(file["rollout_0"], 1000)
            assert file["rollout_0"].attrs["outcome"].decode() == "done"
            largest = file["rollout_0/sensordata"][:, 5].max()
        os.rename(done, os.path.join(folder, "rollout.h5"))
        printed = run_examples_of_the_document(folder)
        assert printed == ["7 done\n", f"A_tip_error: {largest:.4g} m, seed 7\n"], printed

        live = os.path.join(folder, "live.h5")
        process = subprocess.Popen([writer, live, "1100", "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.stdout.readline() == b"ready\n"
        full_rows = 1100 // BLOCK * BLOCK
        deadline = time.monotonic() + 20
        while True:
            with h5py.File(live, "r", swmr=True, libver="latest") as file:
                if file["rollout_0/rows"][()] == full_rows:
                    check(file["rollout_0"], full_rows)
                    break
            assert time.monotonic() < deadline
            time.sleep(0.01)

        process.send_signal(signal.SIGKILL)
        process.wait()
        with h5py.File(live, "r", swmr=True, libver="latest") as file:
            check(file["rollout_0"], full_rows)
            assert file["rollout_0"].attrs["outcome"].decode() == "running"


main()
