"""Recordings as a data set of robomimic."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tendril.export.files import atomic_hdf5
from tendril.export.images import images
from tendril.export.steps import Steps

Array = npt.NDArray[Any]


def is_own_robomimic(file: Path) -> bool:
    """Tells whether write_robomimic has written the file."""
    import h5py

    try:
        with h5py.File(file, "r") as data:
            return "data" in data and {"action_low", "env_args"} <= data["data"].attrs.keys()
    except OSError:
        return False


def _write_images(demo: Any, steps: Steps, camera: str) -> None:
    """Images of a camera before and after the steps, one a chunk."""
    n, (width, height) = len(steps.actions), steps.choice.size
    now, after = (
        demo.create_dataset(
            f"{group}/{camera or 'scene'}_image",
            (n, height, width, 3),
            np.uint8,
            chunks=(1, height, width, 3),
            compression="gzip",
        )
        for group in ("obs", "next_obs")
    )
    for k, image in enumerate(images(steps, camera, steps.rows)):
        if k < n:
            now[k] = image
        if k > 0:
            after[k - 1] = image


def write_robomimic(episodes: Iterator[Steps], out: Path, title: str) -> str:
    """Actions are scaled from the ranges of the actuators to [-1, 1], which robomimic takes them for; the ranges are
    the attributes `action_low` and `action_high` of `data`."""
    total, largest = 0, 0.0
    with atomic_hdf5(out) as (file, check):
        data = file.create_group("data")
        for number, steps in enumerate(episodes):
            actions, low, high = steps.scaled_actions()
            largest = max(largest, float(np.abs(actions).max()))
            demo, n = data.create_group(f"demo_{number}"), len(actions)
            demo.attrs["num_samples"], demo.attrs["model_file"] = n, steps.recording.texts.get("model_xml", "")
            demo.attrs["source"] = steps.name
            ends = np.zeros(n, np.int64)
            ends[-1] = 1
            rows = steps.rows[:-1]
            states = np.concatenate(
                [steps.time[:-1, None], steps.recording.qpos[rows], steps.recording.qvel[rows]], axis=1
            )
            for name, values in (("actions", actions), ("rewards", steps.rewards), ("dones", ends), ("states", states)):
                demo.create_dataset(name, data=values, compression="gzip")
            for name, values in steps.observations.items():
                demo.create_dataset(f"obs/{name}", data=values[:-1], compression="gzip")
                demo.create_dataset(f"next_obs/{name}", data=values[1:], compression="gzip")
            for camera in steps.choice.cameras:
                _write_images(demo, steps, camera)
            total += n
            check()
            data.attrs["action_low"], data.attrs["action_high"] = low, high
            data.attrs["env_args"] = json.dumps(
                {
                    "env_name": title,
                    "type": 2,
                    "env_version": steps.recording.texts.get("tendril_version", ""),
                    "env_kwargs": {},
                }
            )
        data.attrs["total"] = total
    notice = f"; notice: actions are up to {largest:.3g}, robomimic takes them to be in [-1, 1]" if largest > 1 else ""
    return f"{total} steps{notice}"
