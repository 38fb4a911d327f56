"""`tendril export`: recordings in formats of tables, data sets and viewers."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tendril._command import Parser, make_parser, require_module
from tendril._errors import ModelError
from tendril._files import refuse_inputs
from tendril._meant import meant
from tendril.export.lerobot import write_lerobot
from tendril.export.mcap import is_own_mcap, write_mcap
from tendril.export.minari import write_minari
from tendril.export.rerun import is_own_rrd, write_rrd
from tendril.export.robomimic import is_own_robomimic, write_robomimic
from tendril.export.rosbag import write_rosbag
from tendril.export.steps import STATE, Choice, Steps, steps_of, unknown_sensors
from tendril.export.table import is_own_csv, is_own_npz, is_own_parquet, write_csv, write_npz, write_parquet
from tendril.recording import Recording
from tendril.sweep.runs import read_plan


@dataclass(frozen=True)
class Format:
    """A format of `--to`: either one file or folder a recording, or one data set of all recordings."""

    is_own: Callable[[Path], bool] | None  # whether an export has written this file; None: a folder is written
    write: Callable[[Recording, Path, Choice], None] | None = None  # one file or folder a recording
    join: Callable[[Iterator[Steps], Path, str], str] | None = None  # all recordings; returns what was written
    ending: str = ""  # of the name of a recording's file
    module: str = ""  # that the format needs
    extra: str = ""  # of the package, that has the module


FORMATS = {
    "parquet": Format(is_own_parquet, write_parquet, ending=".parquet", module="pyarrow", extra="data"),
    "csv": Format(is_own_csv, write_csv, ending=".csv"),
    "npz": Format(is_own_npz, write_npz, ending=".npz"),
    "mcap": Format(is_own_mcap, write_mcap, ending=".mcap", module="mcap", extra="view"),
    "rrd": Format(is_own_rrd, write_rrd, ending=".rrd", module="rerun", extra="view"),
    "rosbag": Format(None, write_rosbag, module="rosbags", extra="rosbag"),
    "minari": Format(None, join=write_minari, module="minari", extra="data"),
    "lerobot": Format(None, join=write_lerobot, module="pyarrow", extra="data"),
    "robomimic": Format(is_own_robomimic, join=write_robomimic),
}


IMAGES = ("lerobot", "robomimic")  # formats that have images


def sources(source: Path) -> list[tuple[str, Path]]:
    """Names and files: the recording, or those of a sweep."""
    if not source.is_dir():
        return [(source.stem, source)]
    if not (source / "sweep.json").exists() and (source / "rollout.h5").is_file():
        raise ModelError(f"{source}: is the folder of one run: its recording is {source / 'rollout.h5'}")
    read_plan(source)
    found = [(file.parent.name, file) for file in sorted(source.glob("runs/[!.]*/rollout.h5"))]
    if not found:
        raise ModelError(f'{source}: has no recordings: set record = "all" in [sweep]')
    return found


@dataclass(frozen=True)
class Request:
    """What a command line asks for."""

    kind: str
    out: Path
    choice: Choice

    def check(self) -> None:
        """Throws ModelError for a format that does not exist, or whose module is not installed."""
        if self.kind not in FORMATS:
            raise ModelError(f"--to: {self.kind}: must be one of {', '.join(FORMATS)}{meant(self.kind, FORMATS)}")
        form = FORMATS[self.kind]
        if form.module:
            require_module(form.module, form.extra, f"--to: {self.kind}")


def export(source: Path, asked: Request) -> str:
    """Exports, and returns for people what was written. Throws ModelError, RecordingError, OSError."""
    kind, out, choice, form = asked.kind, asked.out, asked.choice, FORMATS[asked.kind]
    files = sources(source)
    is_folder = form.is_own is None or (form.write is not None and source.is_dir())
    if is_folder and out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ModelError(f"{out}: is not empty: choose another -o")
    if not is_folder and out.is_dir():
        raise ModelError(f"{out}: is a folder: must be a file")
    if not is_folder and out.is_file() and out.stat().st_size and not (form.is_own and form.is_own(out)):
        raise ModelError(f"{out}: exists, and no export to {kind} has written it: must be another file, or removed")
    if form.write is not None:
        for name, file in files:
            with Recording(file) as recording, recording.reading():
                form.write(recording, out / (name + form.ending) if source.is_dir() else out, choice)
        return f"{out}: {len(files)} recordings" if source.is_dir() else str(out)
    with Recording(files[0][1]) as recording, recording.reading():
        title = recording.texts.get("experiment_name") or files[0][0]
        left_out = unknown_sensors(recording) if "sensordata" in choice.observation else []
    choice = replace(choice, left_out=frozenset(left_out))

    def episodes() -> Iterator[Steps]:
        for name, file in files:
            with Recording(file) as recording:
                with recording.reading():
                    steps = steps_of(name, recording, choice)
                yield steps

    assert form.join is not None
    said = f"{out}: {form.join(episodes(), out, title)}"
    return f"{said}; left out, as they have no value: {', '.join(left_out)}" if left_out else said


def add_choice(command: Parser) -> None:
    """Adds the options of what is exported of every recording."""
    command.add_argument("--fps", help="rows a second [all; mcap, rrd: 50]")
    command.add_argument(
        "--observation",
        action="append",
        metavar="NAME",
        help=f"part of the state, or a sensor; may be repeated [{' '.join(STATE)}]",
    )
    command.add_argument("--action", default="ctrl", help="ctrl, or command: what the controllers report [ctrl]")
    command.add_argument("--reward", metavar="METRIC", help="a sensor or wall_force; --reward=-NAME negates it [0]")
    command.add_argument(
        "--video", action="store_true", help="images of the camera of pictures; with lerobot, robomimic"
    )
    command.add_argument(
        "--camera",
        action="append",
        metavar="NAME",
        help="images of a camera of the scene; with lerobot, robomimic; may be repeated",
    )
    command.add_argument("--size", metavar="WxH", help="of the images [640x480]")


def _size_of(text: str) -> tuple[int, int]:
    """Width and height, even as H.264 has them."""
    found = re.fullmatch(r"(\d{1,4})x(\d{1,4})", text)
    width, height = (int(found[1]), int(found[2])) if found else (0, 0)
    if not (16 <= width <= 4096 and 16 <= height <= 4096) or width % 2 or height % 2:
        raise ModelError(f"--size: {text}: must be WIDTHxHEIGHT of even numbers in [16, 4096], such as 224x224")
    return width, height


def request(kind: str, out: Path, options: argparse.Namespace) -> Request:
    """Throws ModelError for options that do not go together."""
    cameras = ([""] if options.video else []) + list(dict.fromkeys(options.camera or []))
    if cameras and kind not in IMAGES:
        raise ModelError(f"{'--video' if options.video else '--camera'}: must be given with --to {' or '.join(IMAGES)}")
    if options.size is not None and not cameras:
        raise ModelError("--size: must be given with --camera or --video")
    try:
        fps = None if options.fps is None else float(options.fps)
    except ValueError:
        raise ModelError(f"--fps: {options.fps}: must be a number") from None
    observation = tuple(options.observation or STATE)
    size = _size_of(options.size or "640x480")
    asked = Request(kind, out, Choice(fps, observation, options.action, options.reward, cameras, size))
    asked.check()
    return asked


def main(words: Sequence[str]) -> int:
    """`tendril export`."""
    command = make_parser(
        "export",
        "Writes recordings in formats of tables, data sets and viewers (docs/guide/export.md).",
        "Example: tendril export out/tube/rollout.h5 --to parquet -o tube.parquet",
    )
    command.add_argument("source", type=Path, help="recording (.h5), or folder of a sweep")
    command.add_argument("other", nargs="?", help=argparse.SUPPRESS)
    command.add_argument("--to", metavar="FORMAT", help=", ".join(FORMATS))
    command.add_argument("-o", "--output", type=Path, help="file or folder")
    add_choice(command)
    command.add_argument("--quiet", action="store_true", help="print nothing")
    options = command.parse_args(words)
    if options.other:
        raise ModelError(f"{options.other}: must be given with its format: --to FORMAT -o {options.other}")
    if options.to is None or options.output is None:
        command.error("the following arguments are required: --to, -o/--output")
    asked = request(options.to, options.output, options)
    refuse_inputs(options.output, options.source)
    replaced = " (an earlier file is replaced)" if options.output.is_file() else ""
    said = export(options.source, asked)
    if not options.quiet:
        print(said + replaced)
    return 0
