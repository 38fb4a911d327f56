#!/usr/bin/env python3
"""Writes the rows of a recording as arrays for numpy.load.

usage: export_npz.py RECORDING.h5 OUT.npz < NAMES.json

NAMES.json: {"rows": N, "names": {"qpos": [name of every column, ...], ...}}, from `tendril rollout export`.
"""

import json
import os
import sys

import h5py
import numpy as np


def arrays(rollout, rows, names):
    for name in ("step", "time", "step_time_us"):
        yield name, rollout[name][:rows]
    for name, columns in names.items():
        values = rollout[name.replace("mocap_", "mocap/")][:rows]
        yield name, values.reshape(rows, len(columns))
        yield name + "_names", np.array(columns, dtype=np.str_)
    start, count = rollout["contact/start"][:rows], rollout["contact/count"][:rows]
    yield "contact_start", start
    yield "contact_count", count
    for name in ("geom1", "geom2", "distance", "position", "force"):
        yield "contact_" + name, rollout["contact/" + name][: int(start[-1]) + int(count[-1])]


def main():
    recording, out = sys.argv[1:]
    selection = json.load(sys.stdin)
    part = out + ".part"
    try:
        with h5py.File(recording, "r", swmr=True, libver="latest") as file:
            content = dict(arrays(file["rollout_0"], selection["rows"], selection["names"]))
        with open(part, "wb") as stream:
            np.savez_compressed(stream, **content)
        os.replace(part, out)
    except OSError as error:
        if os.path.exists(part):
            os.remove(part)
        sys.exit(error.strerror or str(error))


main()
