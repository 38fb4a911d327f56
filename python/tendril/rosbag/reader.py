"""Reads the messages of a bag, topic by topic; every error is one line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tendril._errors import ModelError
from tendril._meant import meant
from tendril._notices import notice
from tendril.rosbag.channels import Channel
from tendril.rosbag.messages import Message, Messages, seconds

Array = npt.NDArray[Any]
#: A silence is a gap if it is longer than so many times the median between messages.
GAP = 10


@dataclass(frozen=True)
class Track:
    """The messages of a topic. A message that names some joints alone leaves the others as they were."""

    channel: Channel
    stamps: npt.NDArray[np.int64]  #: ns, ascending
    values: Array  #: (messages, numbers); NaN: not yet given
    given: npt.NDArray[np.bool_]  #: (numbers,): whether a message has it

    def at(self, stamps: npt.NDArray[np.int64]) -> Array:
        """Values of the last message at or before each stamp, NaN before the first."""
        index = np.searchsorted(self.stamps, stamps, "right") - 1
        return np.where(index[:, None] < 0, np.nan, self.values[index])


@contextmanager
def _one_line(bag: Path, topic: str = "") -> Iterator[None]:
    try:
        yield
    except ModelError as error:
        raise ModelError(f"{bag}: {topic}: {error}") from None
    except Exception as error:  # the library passes on what its parsers raise
        what = " ".join(str(error).split()) or type(error).__name__
        where = f"{topic}: a message" if topic else "is not a ROS 2 bag, or"
        raise ModelError(f"{bag}: {where} cannot be read: {what}") from None


def read_tracks(
    bag: Path, channels: Mapping[str, Channel], renamed: Mapping[str, str]
) -> tuple[list[Track], list[str]]:
    """The topics of the bag that the scene has, and notices.

    :param renamed: topics of the scene by those of the bag
    :raises ModelError: one line
    """
    from rosbags.rosbag2 import Reader

    if not bag.exists():
        raise ModelError(f"{bag}: no such file or folder: must be a ROS 2 bag")
    messages, found = Messages(), dict[str, list[Message]]()
    with _one_line(bag):
        reader = Reader(bag)
        reader.open()
    try:
        known, notices = _known(bag, reader.connections, channels, renamed)
        stream = reader.messages([one for one in reader.connections if one.topic in known])
        while True:
            with _one_line(bag):
                item = next(stream, None)
            if item is None:
                break
            connection, _, data = item
            topic = known[connection.topic]
            with _one_line(bag, connection.topic):
                _append(found.setdefault(topic, []), messages.decode(channels[topic], data))
    finally:
        reader.close()
    tracks = [_track(channels[topic], rows) for topic, rows in found.items()]
    return tracks, notices + [line for track in tracks for line in _gap(bag, track)]


def _known(
    bag: Path, connections: Sequence[Any], channels: Mapping[str, Channel], renamed: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """The topics of the scene by those of the bag, and notices of the others."""
    names = [connection.topic for connection in connections]
    for source in renamed:
        if source not in names:
            raise ModelError(f"--remap: {source}: must be a topic of the bag{meant(source, names)}")
    known, notices = dict[str, str](), list[str]()
    for connection in connections:
        topic = renamed.get(connection.topic, connection.topic)
        if topic not in channels:
            text = f"{bag}: {connection.topic}: is left out: the scene has no such topic"
            notices.append(notice("topic-left-out", text + meant(topic, channels)))
        elif topic in known.values() and connection.topic not in known:
            raise ModelError(f"{bag}: {topic}: is in the bag twice, renamed and as it is: must be once")
        elif connection.msgtype != channels[topic].kind:
            what = f"has messages of {connection.msgtype}: must be {channels[topic].kind}"
            raise ModelError(f"{bag}: {connection.topic}: {what}")
        else:
            known[connection.topic] = topic
    if not known:
        raise ModelError(f"{bag}: has no topic of the scene: must have one of {', '.join(channels)}")
    return known, notices


def _append(rows: list[Message], message: Message) -> None:
    if rows and message.stamp <= rows[-1].stamp:
        raise ModelError(
            f"at {seconds(message.stamp)}: stamp: must be after that of the message before, {seconds(rows[-1].stamp)}"
        )
    rows.append(message)


def _track(channel: Channel, rows: list[Message]) -> Track:
    size = len(channel.columns)
    values, given = np.full((len(rows), size), np.nan), np.zeros(size, bool)
    for i, (_, places, numbers) in enumerate(rows if size else ()):
        if i > 0:
            values[i] = values[i - 1]
        values[i, places] = numbers
        given[places] = True
    return Track(channel, np.array([row.stamp for row in rows], np.int64), values, given)


def _gap(bag: Path, track: Track) -> list[str]:
    """A notice of the longest silence of a topic with a rate."""
    if len(track.stamps) < 4:
        return []
    steps = np.diff(track.stamps)
    usual, longest = int(np.median(steps)), int(np.argmax(steps))
    if steps[longest] <= GAP * usual:
        return []
    text = (
        f"{bag}: {track.channel.topic}: at {seconds(int(track.stamps[longest]))}: no message for "
        f"{seconds(int(steps[longest]))}, usual are {seconds(usual)}: the values before are held"
    )
    return [notice("topic-has-gap", text)]
