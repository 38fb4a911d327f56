"""`tendril import`."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path

from tendril._command import make_parser, require_module
from tendril._errors import ModelError
from tendril._files import refuse_inputs
from tendril._recorded import RecordedRun
from tendril.rosbag.log import import_bag


def main(words: Sequence[str]) -> int:
    """`tendril import`."""
    command = make_parser(
        "import",
        "Makes a recording of a ROS 2 bag: the log of a robot, or what an export to rosbag has written "
        "(docs/guide/rosbag.md).",
        "Example: tendril import out/bag scenes/sensors/sensors.toml --out out/log",
    )
    command.add_argument("bag", type=Path, help="folder of a bag, or its .mcap or .db3")
    command.add_argument("scene", type=Path, help="robot (.toml), scene (.xml) or experiment (.toml) of the log")
    command.add_argument("--out", type=Path, required=True, help="folder; the recording is rollout.h5 there")
    command.add_argument("--timestep", metavar="S", help="evenly spaced rows [a row for each time of a message]")
    command.add_argument(
        "--remap",
        action="append",
        default=[],
        metavar="FROM:=TO",
        help="reads a topic of the bag as another; repeatable",
    )
    command.add_argument("--quiet", action="store_true", help="print no notices and results")
    options = command.parse_args(words)
    require_module("rosbags", "rosbag", "import")
    out = options.out / "rollout.h5"
    refuse_inputs(out, options.bag, options.scene)
    notices = import_bag(options.bag, options.scene, out, _timestep(options.timestep), _renamed(options.remap))
    if options.quiet:
        return 0
    for line in notices:
        print(line, file=sys.stderr)
    with RecordedRun(out) as recording:
        sensors = sum(bool(sensor["name"]) for sensor in recording.tables["sensors"])
        print(f"{out}: {recording.rows} rows, {recording.time[-1]:.6g} s, {sensors} sensors")
    return 0


def _timestep(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 1e-9 <= value <= 1e3:
        raise ModelError(f"--timestep: {text}: must be a number in [1e-9, 1000] s")
    return value


def _renamed(texts: Sequence[str]) -> dict[str, str]:
    renamed = {}
    for text in texts:
        source, given, target = text.partition(":=")
        if not (source.startswith("/") and given and target.startswith("/")):
            raise ModelError(f"--remap: {text}: must be FROM:=TO, two topics such as /imu/data:=/arm/imu")
        renamed[source] = target
    return renamed
