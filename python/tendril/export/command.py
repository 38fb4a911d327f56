"""`tendril export`: recordings in formats of tables, data sets and viewers."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy.typing as npt

from tendril._command import make_parser
from tendril._errors import ModelError
from tendril._files import refuse_inputs
from tendril.export.lerobot import write_lerobot
from tendril.export.mcap import write_mcap
from tendril.export.minari import write_minari
from tendril.export.rerun import write_rrd
from tendril.export.robomimic import write_robomimic
from tendril.export.steps import STATE, Choice, Steps, steps_of, unknown_sensors
from tendril.export.table import write_csv, write_npz, write_parquet
from tendril.recording import Recording
from tendril.sweep.runs import read_plan

Array = npt.NDArray[Any]
#: One file a recording; its ending and writer.
SINGLE: dict[str, tuple[str, Callable[[Recording, Path, Choice], None]]] = {
    "parquet": (".parquet", write_parquet),
    "csv": (".csv", write_csv),
    "npz": (".npz", write_npz),
    "mcap": (".mcap", write_mcap),
    "rrd": (".rrd", write_rrd),
}
#: One data set of all recordings.
JOINT: dict[str, Callable[[Iterator[Steps], Path, str], str]] = {
    "minari": write_minari,
    "lerobot": write_lerobot,
    "robomimic": write_robomimic,
}
#: How a file of a format begins, and what only those have in their first or last bytes that were written here.
MARKS: dict[str, tuple[bytes, bytes]] = {
    "csv": (b"step,time,step_time_us,contacts,", b""),
    "npz": (b"PK", b"step_time_us.npy"),
    "mcap": (b"\x89MCAP0", b"tendril"),
    "rrd": (b"RRF", b"tendril"),
}
_LOOKED_AT = 1 << 16  # bytes at each end
EXTRAS = {"parquet": "data", "minari": "data", "lerobot": "data", "mcap": "view", "rrd": "view"}


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


def _is_own(file: Path, kind: str) -> bool:
    """Tells whether an export of this format has written the file."""
    if kind == "robomimic":
        import h5py

        try:
            with h5py.File(file, "r") as data:
                return "data" in data and {"action_low", "env_args"} <= data["data"].attrs.keys()
        except OSError:
            return False
    if kind == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            return (pq.read_schema(file).metadata or {}).get(b"format") == b"tendril rollout"
        except (OSError, pa.ArrowException):
            return False
    with open(file, "rb") as stream:
        begin = stream.read(_LOOKED_AT)
        stream.seek(max(0, stream.seek(0, 2) - _LOOKED_AT))
        end = stream.read()
    first, token = MARKS[kind]
    return not begin or begin.startswith(first) and (token in begin or token in end)


def export(source: Path, kind: str, out: Path, choice: Choice) -> str:
    """Exports, and returns for people what was written. Throws ModelError, RecordingError, OSError."""
    if kind not in SINGLE and kind not in JOINT:
        raise ModelError(f"--to: {kind}: must be one of {', '.join([*SINGLE, *JOINT])}")
    files = sources(source)
    refuse_inputs(out, source)
    folder = kind in ("minari", "lerobot") or (kind in SINGLE and source.is_dir())
    if folder and out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ModelError(f"{out}: is not empty: choose another -o")
    if not folder and out.is_dir():
        raise ModelError(f"{out}: is a folder: must be a file")
    if not folder and out.is_file() and not _is_own(out, kind):
        raise ModelError(f"{out}: exists, and no export to {kind} has written it: must be another file, or removed")
    if kind in SINGLE:
        ending, write = SINGLE[kind]
        for name, file in files:
            with Recording(file) as recording, recording.reading():
                write(recording, out / (name + ending) if folder else out, choice)
        return f"{out}: {len(files)} recordings" if folder else str(out)
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

    said = f"{out}: {JOINT[kind](episodes(), out, title)}"
    return f"{said}; left out, as they have no value: {', '.join(left_out)}" if left_out else said


def main(words: Sequence[str]) -> int:
    """`tendril export`."""
    command = make_parser(
        "export",
        "Writes recordings in formats of tables, data sets and viewers (docs/recording.md).",
        "Example: tendril export out/tube/rollout.h5 --to parquet -o tube.parquet",
    )
    command.add_argument("source", type=Path, help="recording (.h5), or folder of a sweep")
    command.add_argument("other", nargs="?", help=argparse.SUPPRESS)
    command.add_argument("--to", metavar="FORMAT", help=", ".join([*SINGLE, *JOINT]))
    command.add_argument("-o", "--output", type=Path, help="file or folder")
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
        "--video", action="store_true", help="with lerobot: videos from the camera of the images, 640 x 480"
    )
    command.add_argument("--quiet", action="store_true", help="print nothing")
    options = command.parse_args(words)
    if options.other:
        raise ModelError(f"{options.other}: must be given with its format: --to FORMAT -o {options.other}")
    if options.to is None or options.output is None:
        command.error("the following arguments are required: --to, -o/--output")
    if options.video and options.to != "lerobot":
        raise ModelError("--video: must be given with --to lerobot")
    try:
        fps = None if options.fps is None else float(options.fps)
    except ValueError:
        raise ModelError(f"--fps: {options.fps}: must be a number") from None
    choice = Choice(fps, tuple(options.observation or STATE), options.action, options.reward, options.video)
    replaced = " (an earlier file is replaced)" if options.output.is_file() else ""
    try:
        said = export(options.source, options.to, options.output, choice)
    except ImportError as error:
        if error.name in (None, "h5py", "mujoco", "numpy") or options.to not in EXTRAS:
            raise
        package = {"rerun": "rerun-sdk"}.get(error.name, error.name)
        raise ModelError(
            f"--to: {options.to}: Python module {error.name} is missing: pip install {package}, or with all others "
            f'"tendril-mujoco[{EXTRAS[options.to]}]"'
        ) from None
    if not options.quiet:
        print(said + replaced)
    return 0
