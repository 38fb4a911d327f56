"""Recordings as ROS 2 bags: MCAP, with messages in CDR."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tendril.export.files import atomic
from tendril.export.steps import Choice, stride
from tendril.recording import Recording
from tendril.rosbag.channels import Channel, channels
from tendril.rosbag.messages import NS, Messages

Array = npt.NDArray[Any]


def message_rows(values: Array) -> Array:
    """Rows at which a topic has a message: the first one, and those at the rate of its changes.

    All changes are at rows `first + k period`; a lost sample, or one equal to that before, leaves no gap. What is less
    than rounding is no change.
    """
    sizes = np.abs(np.where(np.isfinite(values), values, 0.0)).max(axis=0, initial=0.0)
    rounding = 4 * np.finfo(float).eps * sizes
    gaps = np.abs(np.diff(values, axis=0)) > rounding
    gaps |= np.diff(np.isnan(values), axis=0)
    changes = 1 + np.flatnonzero(gaps.any(axis=1))
    if len(changes) < 2:
        return np.concatenate([[0], changes])
    period = int(np.gcd.reduce(np.diff(changes)))
    return np.union1d([0], np.arange(changes[0] % period, len(values), period))


def write_rosbag(recording: Recording, out: Path, choice: Choice) -> None:
    """Writes a folder."""
    from rosbags.rosbag2 import StoragePlugin, Writer

    recording.require_rows()
    rows = np.arange(0, recording.rows, stride(recording, choice.fps))
    stamps = np.rint(recording.time[rows] * NS).astype(np.int64)
    messages = Messages()
    with atomic(out) as part:
        bag = part / out.name  # the library names its files after the folder
        with Writer(bag, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
            sources: list[tuple[Channel, Any, Array]] = []
            queue: list[tuple[int, int]] = []
            for channel in channels(recording).values():
                values = channel.values(recording, rows)
                if np.isnan(values).all():
                    continue
                connection = writer.add_connection(channel.topic, channel.kind, typestore=messages.store)
                at = np.arange(len(rows)) if channel.every_row else message_rows(values)
                queue += [(int(row), len(sources)) for row in at]
                sources.append((channel, connection, values))
            for row, number in sorted(queue):
                channel, connection, values = sources[number]
                stamp = int(stamps[row])
                writer.write(connection, stamp, messages.encode(channel, stamp, values[row]))
        for file in list(bag.iterdir()):
            file.rename(part / file.name)
        bag.rmdir()
