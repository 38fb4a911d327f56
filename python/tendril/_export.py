"""`tendril export`: recordings in formats of data sets and viewers.

Observation k is the state of row m k, action k the controls of row m k + 1: what was in force in the step after it.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tendril import _playback
from tendril._errors import ModelError
from tendril.recording import Recording

if TYPE_CHECKING:
    Array = npt.NDArray[Any]

STATE = ("qpos", "qvel", "sensordata")
PARTS = ("qpos", "qvel", "act", "sensordata", "plugin_state", "mocap_pos", "mocap_quat")
VIEWER_FPS = 50.0
LEROBOT_VERSION, LEROBOT_CHUNK = "v3.0", 1000
FILM, FILM_SIZE, FILM_SAMPLES = "observation.images.scene", (640, 480), 100  # of its pictures, for statistics
VIDEO_PATH = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"


@dataclass(frozen=True)
class Choice:
    """What of every recording is exported."""

    fps: float | None = None  #: default: every row; of mcap and rrd 50
    observation: Sequence[str] = STATE
    action: str = "ctrl"
    reward: str | None = None  #: sensor or wall_force, after the step; with a leading minus: negated; default: 0
    video: bool = False  #: of lerobot: a film of the scene's camera
    left_out: frozenset[str] = frozenset()  #: sensors that are not in `sensordata`


@dataclass(frozen=True)
class Steps:
    """A recording as n steps."""

    name: str
    seed: int
    fps: float
    rows: Array  # (n + 1)
    time: Array  # (n + 1)
    observations: dict[str, Array]  # (n + 1, d)
    actions: Array  # (n, d)
    rewards: Array  # (n)
    diverged: bool
    recording: Recording
    choice: Choice

    @property
    def states(self) -> Array:
        """(n + 1, d): the observations side by side."""
        return np.concatenate(list(self.observations.values()), axis=1)


# ---- reading --------------------------------------------------------------------------------------------------------


def stride(recording: Recording, fps: float | None) -> int:
    """Rows between two steps."""
    highest = 1.0 / float(recording.attributes["timestep"])
    if fps is None:
        return 1
    if not 0 < fps <= highest * (1 + 1e-9):
        raise ModelError(f"--fps: {fps:g}: must be in (0, {highest:g}]")
    every = round(highest / fps)
    if abs(every * fps / highest - 1) > 1e-6:
        raise ModelError(f"--fps: {fps:g}: must be {highest:g} divided by a whole number, such as {highest / every:g}")
    return every


def _part(recording: Recording, name: str) -> Array:
    if name in PARTS:
        values = getattr(recording, name)
        return np.asarray(values.reshape(len(values), -1))
    try:
        values = recording.sensor(name)
    except ModelError:
        known = ", ".join([*PARTS, *(sensor["name"] for sensor in recording.tables["sensors"] if sensor["name"])])
        raise ModelError(f"--observation: {name}: must be one of {known}") from None
    return np.asarray(values.reshape(len(values), -1))


def unknown_sensors(recording: Recording) -> list[str]:
    """Those that are NaN in every row: quantities that this use of a controller does not have."""
    unknown: Array = np.asarray(np.isnan(recording.sensordata).all(axis=0))
    return [
        sensor["name"]
        for sensor in recording.tables["sensors"]
        if sensor["name"] and unknown[sensor["address"] : sensor["address"] + sensor["dimension"]].all()
    ]


def _observed(recording: Recording, choice: Choice) -> Array:
    """The columns of `sensordata` that are not left out."""
    columns = [
        np.arange(sensor["address"], sensor["address"] + sensor["dimension"])
        for sensor in recording.tables["sensors"]
        if sensor["name"] not in choice.left_out
    ]
    return np.concatenate([np.empty(0, int), *columns])


def _observation(recording: Recording, name: str, choice: Choice) -> Array:
    values = _part(recording, name)
    return values[:, _observed(recording, choice)] if name == "sensordata" else values


def _actions(recording: Recording, action: str) -> Array:
    if action == "ctrl":
        values: Array = recording.ctrl
    elif action == "command":
        values = np.concatenate(
            [recording.sensordata[:, :0]]
            + [
                recording.sensordata[:, sensor["address"] : sensor["address"] + sensor["dimension"]]
                for sensor in recording.tables["sensors"]
                if sensor["quantity"] == "command"
            ],
            axis=1,
        )
    else:
        raise ModelError(f"--action: {action}: must be ctrl or command")
    if values.shape[1] == 0:
        raise ModelError(f"{recording.file}: {action}: has none: a data set needs actions")
    return values


def _rewards(recording: Recording, reward: str | None) -> Array:
    if reward is None:
        return np.zeros(recording.rows)
    name, sign = reward.removeprefix("-"), -1.0 if reward.startswith("-") else 1.0
    if name == "wall_force":
        return sign * recording.wall_force()
    try:
        values = recording.sensor(name)
    except ModelError:
        values = np.empty((0, 0))
    if values.ndim != 1:
        known = ", ".join(
            [
                "wall_force",
                *(
                    sensor["name"]
                    for sensor in recording.tables["sensors"]
                    if sensor["name"] and sensor["dimension"] == 1
                ),
            ]
        )
        raise ModelError(f"--reward: {reward}: must be one of {known}, or with a leading minus")
    return np.asarray(sign * values)


def steps_of(name: str, recording: Recording, choice: Choice) -> Steps:
    """Throws ModelError for a choice that the recording does not have."""
    if recording.rows < 2:
        raise ModelError(f"{recording.file}: has {recording.rows} rows: a data set needs a step")
    every = stride(recording, choice.fps)
    rows = np.arange(0, recording.rows, every)
    if len(rows) < 2:
        raise ModelError(f"{recording.file}: has {recording.rows} rows, a step {every}: a data set needs a step")
    after = rows[:-1] + 1
    return Steps(
        name,
        int(recording.attributes.get("seed", 0)),
        1.0 / (every * float(recording.attributes["timestep"])),
        rows,
        recording.time[rows],
        {part: _observation(recording, part, choice)[rows] for part in choice.observation},
        _actions(recording, choice.action)[after],
        _rewards(recording, choice.reward)[rows[1:]],
        str(recording.attributes["outcome"]).startswith("diverged"),
        recording,
        choice,
    )


def sources(source: Path) -> list[tuple[str, Path]]:
    """Names and files: the recording, or those of a sweep."""
    if not source.is_dir():
        return [(source.stem, source)]
    from tendril.dataset import Dataset

    Dataset.read_plan(source)
    found = [(file.parent.name, file) for file in sorted(source.glob("runs/[!.]*/rollout.h5"))]
    if not found:
        raise ModelError(f'{source}: has no recordings: set record = "all" in [sweep]')
    return found


def column_names(recording: Recording) -> dict[str, list[str]]:
    """Names of the columns of every part, as `tendril rollout export` gives them."""
    place, quat = ("x", "y", "z"), ("qw", "qx", "qy", "qz")
    names = {
        part: [f"{part}.{i}" for i in range(getattr(recording, part).shape[1])]
        for part in ("qpos", "qvel", "ctrl", "act", "sensordata", "plugin_state")
    }

    def name(part: str, own: str, address: int, parts: Sequence[str]) -> None:
        for k, ending in enumerate(parts):
            if own:
                names[part][address + k] = ".".join(filter(None, (part, own, ending)))

    def numbered(count: int) -> Sequence[str]:
        return [""] if count == 1 else [str(i) for i in range(count)]

    moves = ("vx", "vy", "vz", "wx", "wy", "wz")
    for joint in recording.tables["joints"]:
        kind = joint["type"]
        name("qpos", joint["name"], joint["qpos_address"], {"free": place + quat, "ball": quat}.get(kind, ("",)))
        name("qvel", joint["name"], joint["dof_address"], {"free": moves, "ball": moves[3:]}.get(kind, ("",)))
    for part, table in (("ctrl", "actuators"), ("sensordata", "sensors")):
        for element in recording.tables[table]:
            name(part, element["name"], element["address"], numbered(element["dimension"]))
    bodies = range(recording.mocap_pos.shape[1])
    names["mocap_pos"] = [f"mocap_pos.{i}.{part}" for i in bodies for part in place]
    names["mocap_quat"] = [f"mocap_quat.{i}.{part}" for i in bodies for part in quat]
    return names


def time_series(recording: Recording, fps: float | None) -> dict[str, Array]:
    """Every m-th row as columns."""
    rows = np.arange(0, recording.rows, stride(recording, fps))
    columns: dict[str, Array] = {
        "step": recording.step[rows],
        "time": recording.time[rows],
        "step_time_us": recording.step_time_us[rows],
        "contacts": recording.contact_count[rows],
    }
    for part, names in column_names(recording).items():
        values = getattr(recording, part)[rows].reshape(len(rows), -1)
        columns |= {name: values[:, i] for i, name in enumerate(names)}
    return columns


# ---- writing --------------------------------------------------------------------------------------------------------


@contextmanager
def _whole(out: Path) -> Iterator[Path]:
    """A path to write to, which gets its name when it is whole."""
    part = out.with_name(out.name + ".part")
    _remove(part)
    out.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield part
        os.replace(part, out)
    finally:
        _remove(part)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def write_csv(recording: Recording, out: Path, choice: Choice) -> None:
    columns = time_series(recording, choice.fps)
    with _whole(out) as part, open(part, "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(columns)
        table.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))


def write_parquet(recording: Recording, out: Path, choice: Choice) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table(time_series(recording, choice.fps))
    about = {name: str(value) for name, value in recording.attributes.items()}
    with _whole(out) as part:
        pq.write_table(table.replace_schema_metadata(about), part, compression="zstd")


def write_minari(episodes: Iterator[Steps], out: Path, title: str) -> str:
    import minari
    from gymnasium.spaces import Box, Dict
    from minari.data_collector import EpisodeBuffer

    buffers, first, command_line = [], None, ""
    for number, steps in enumerate(episodes):
        if first is None:
            first, command_line = steps, steps.recording.texts.get("command_line", title)
        ends = np.zeros(len(steps.actions), bool)
        ends[-1] = True
        buffers.append(
            EpisodeBuffer(
                id=number,
                seed=steps.seed,
                observations=steps.observations,
                actions=steps.actions,
                rewards=steps.rewards.tolist(),
                terminations=(ends & steps.diverged).tolist(),
                truncations=(ends & (not steps.diverged)).tolist(),
            )
        )
    assert first is not None

    def space(values: Array) -> Any:
        return Box(-np.inf, np.inf, values.shape[1:], np.float64)

    name = f"tendril/{title}-v0"
    with _whole(out) as part:
        part.mkdir()
        before = os.environ.get("MINARI_DATASETS_PATH")
        os.environ["MINARI_DATASETS_PATH"] = str(part)
        try:
            minari.create_dataset_from_buffers(
                name,
                buffers,
                action_space=space(first.actions),
                algorithm_name="tendril",
                author="tendril",
                author_email="none",
                code_permalink="none",
                description=command_line,
                observation_space=Dict({part_: space(values) for part_, values in first.observations.items()}),
            )
        finally:
            if before is None:
                del os.environ["MINARI_DATASETS_PATH"]
            else:
                os.environ["MINARI_DATASETS_PATH"] = before
    return f"MINARI_DATASETS_PATH={out} reads it as {name}"


def write_robomimic(episodes: Iterator[Steps], out: Path, title: str) -> str:
    import h5py

    total = 0
    with _whole(out) as part, h5py.File(part, "w") as file:
        data = file.create_group("data")
        for number, steps in enumerate(episodes):
            demo, n = data.create_group(f"demo_{number}"), len(steps.actions)
            demo.attrs["num_samples"], demo.attrs["model_file"] = n, steps.recording.texts.get("model_xml", "")
            demo.attrs["source"] = steps.name
            ends = np.zeros(n, np.int64)
            ends[-1] = 1
            rows = steps.rows[:-1]
            states = np.concatenate(
                [steps.time[:-1, None], steps.recording.qpos[rows], steps.recording.qvel[rows]], axis=1
            )
            for name, values in (
                ("actions", steps.actions),
                ("rewards", steps.rewards),
                ("dones", ends),
                ("states", states),
            ):
                demo.create_dataset(name, data=values, compression="gzip")
            for name, values in steps.observations.items():
                demo.create_dataset(f"obs/{name}", data=values[:-1], compression="gzip")
                demo.create_dataset(f"next_obs/{name}", data=values[1:], compression="gzip")
            total += n
            data.attrs["env_args"] = json.dumps(
                {
                    "env_name": title,
                    "type": 2,
                    "env_version": steps.recording.texts.get("tendril_version", ""),
                    "env_kwargs": {},
                }
            )
        data.attrs["total"] = total
    return f"{total} steps"


def _statistics(values: Array) -> dict[str, list[Any]]:
    values = values.reshape(len(values), -1).astype(np.float64)
    found: dict[str, Any] = {
        "min": values.min(axis=0),
        "max": values.max(axis=0),
        "mean": values.mean(axis=0),
        "std": values.std(axis=0),
        "count": np.array([len(values)]),
    }
    found |= {f"q{part:02d}": np.quantile(values, part / 100, axis=0) for part in (1, 10, 50, 90, 99)}
    return {name: value.tolist() for name, value in found.items()}


def _write_film(steps: Steps, file: Path) -> dict[str, list[Any]]:
    """The states before the steps as H.264, by ffmpeg. Returns statistics of some of its pictures, in [0, 1]."""
    import mujoco

    from tendril import _sim

    scene = _playback.Scene(steps.recording, steps.rows[:1])
    width, height = FILM_SIZE
    renderer = _sim.Renderer(scene.model, width, height)
    every = max(1, len(steps.actions) // FILM_SAMPLES)
    seen: list[Array] = []
    file.parent.mkdir(parents=True, exist_ok=True)
    command = [
        "ffmpeg",
        "-loglevel",
        "error",
        "-f",
        "rawvideo",
        "-pix_fmt",
        "rgb24",
        "-s",
        f"{width}x{height}",
        "-r",
        f"{steps.fps:g}",
        "-i",
        "-",
        "-c:v",
        "libx264",
        "-pix_fmt",
        "yuv420p",
        "-g",
        "2",
        "-crf",
        "23",
        str(file),
    ]
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    except FileNotFoundError:
        raise OSError("ffmpeg: is missing: --video needs it") from None
    try:
        for number, row in enumerate(steps.rows[:-1]):
            scene.place(int(row))
            mujoco.mj_fwdPosition(scene.model, scene.data)
            picture = renderer.render(scene.data)
            assert process.stdin is not None
            process.stdin.write(picture.tobytes())
            if number % every == 0:
                seen.append(picture[::8, ::8].reshape(-1, 3) / 255)
    except BrokenPipeError:
        pass  # it says why
    finally:
        _, said = process.communicate()
    if process.returncode != 0:
        raise OSError(f"{file.name}: ffmpeg: {said.decode(errors='replace').strip().rpartition(chr(10))[2]}")
    found = _statistics(np.concatenate(seen))
    return {name: value if name == "count" else [[[number]] for number in value] for name, value in found.items()}


def _joined(films: list[dict[str, list[Any]]]) -> dict[str, list[Any]]:
    """Statistics of all films: means of quantiles, mean and deviation of all pictures."""
    counts = np.array([film["count"][0] for film in films], dtype=float)
    weights = counts / counts.sum()

    def mean(values: Array) -> Array:
        return np.tensordot(weights, values, axes=1)

    each = {name: np.array([film[name] for film in films]) for name in films[0]}
    found = {name: mean(values) for name, values in each.items()}
    found |= {
        "min": each["min"].min(axis=0),
        "max": each["max"].max(axis=0),
        "std": np.sqrt(mean(each["std"] ** 2 + each["mean"] ** 2) - found["mean"] ** 2),
        "count": each["count"].sum(axis=0),
    }
    return {name: value.tolist() for name, value in found.items()}


def write_lerobot(episodes: Iterator[Steps], out: Path, title: str) -> str:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows: list[dict[str, Any]] = []
    parts: dict[str, list[Array]] = {}
    films: list[dict[str, list[Any]]] = []
    features: dict[str, dict[str, Any]] = {}
    total, fps = 0, 0
    with _whole(out) as part:
        for number, steps in enumerate(episodes):
            fps, n = round(steps.fps), len(steps.actions)
            if abs(steps.fps - fps) > 1e-6:
                raise ModelError(f"--fps: {steps.fps:g}: must be a whole number for lerobot")
            chunk, file = divmod(number, LEROBOT_CHUNK)
            columns: dict[str, Array] = {
                "observation.state": steps.states[:-1].astype(np.float32),
                "action": steps.actions.astype(np.float32),
                "next.reward": steps.rewards.astype(np.float32),
                "next.done": np.arange(n) == n - 1,
                "timestamp": (np.arange(n) / fps).astype(np.float32),
                "frame_index": np.arange(n),
                "episode_index": np.full(n, number),
                "index": np.arange(total, total + n),
                "task_index": np.zeros(n, np.int64),
            }
            names = column_names(steps.recording)
            names["sensordata"] = [names["sensordata"][i] for i in _observed(steps.recording, steps.choice)]
            features = {
                name: {"dtype": str(values.dtype), "shape": [values.shape[1] if values.ndim > 1 else 1], "names": None}
                for name, values in columns.items()
            }
            features["observation.state"]["names"] = [
                label
                for observed, values in steps.observations.items()
                for label in names.get(observed, [f"{observed}.{i}" for i in range(values.shape[1])])
            ]
            table = {
                name: pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), values.shape[1])
                if values.ndim > 1
                else pa.array(values)
                for name, values in columns.items()
            }
            target = part / f"data/chunk-{chunk:03d}/file-{file:03d}.parquet"
            target.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.table(table), target)
            row: dict[str, Any] = {
                "episode_index": number,
                "tasks": [title],
                "length": n,
                "data/chunk_index": chunk,
                "data/file_index": file,
                "dataset_from_index": total,
                "dataset_to_index": total + n,
                "meta/episodes/chunk_index": 0,
                "meta/episodes/file_index": 0,
            }
            if steps.choice.video:
                row |= {
                    f"videos/{FILM}/{key}": value
                    for key, value in {
                        "chunk_index": chunk,
                        "file_index": file,
                        "from_timestamp": 0.0,
                        "to_timestamp": n / fps,
                    }.items()
                }
                films.append(
                    _write_film(steps, part / VIDEO_PATH.format(video_key=FILM, chunk_index=chunk, file_index=file))
                )
                row |= {f"stats/{FILM}/{key}": value for key, value in films[-1].items()}
                features[FILM] = {
                    "dtype": "video",
                    "shape": [FILM_SIZE[1], FILM_SIZE[0], 3],
                    "names": ["height", "width", "channels"],
                    "info": {
                        "video.height": FILM_SIZE[1],
                        "video.width": FILM_SIZE[0],
                        "video.codec": "h264",
                        "video.pix_fmt": "yuv420p",
                        "video.is_depth_map": False,
                        "video.fps": fps,
                        "video.channels": 3,
                        "has_audio": False,
                    },
                }
            for name, values in columns.items():
                row |= {f"stats/{name}/{key}": value for key, value in _statistics(values).items()}
                parts.setdefault(name, []).append(values)
            rows.append(row)
            total += n
        meta = part / "meta"
        (meta / "episodes/chunk-000").mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist(rows), meta / "episodes/chunk-000/file-000.parquet")
        # As pandas writes a table with the tasks as its index.
        index = {
            "index_columns": ["__index_level_0__"],
            "pandas_version": "2.0.0",
            "column_indexes": [
                {
                    "name": None,
                    "field_name": None,
                    "pandas_type": "unicode",
                    "numpy_type": "object",
                    "metadata": {"encoding": "UTF-8"},
                }
            ],
            "columns": [
                {
                    "name": "task_index",
                    "field_name": "task_index",
                    "pandas_type": "int64",
                    "numpy_type": "int64",
                    "metadata": None,
                },
                {
                    "name": None,
                    "field_name": "__index_level_0__",
                    "pandas_type": "unicode",
                    "numpy_type": "object",
                    "metadata": None,
                },
            ],
        }
        tasks = pa.table({"task_index": pa.array([0], pa.int64()), "__index_level_0__": [title]})
        pq.write_table(tasks.replace_schema_metadata({"pandas": json.dumps(index)}), meta / "tasks.parquet")
        stats = {name: _statistics(np.concatenate(values)) for name, values in parts.items()}
        if films:
            stats[FILM] = _joined(films)
        (meta / "stats.json").write_text(json.dumps(stats, indent=4))
        (meta / "info.json").write_text(
            json.dumps(
                {
                    "codebase_version": LEROBOT_VERSION,
                    "robot_type": "tendril",
                    "total_episodes": len(rows),
                    "total_frames": total,
                    "total_tasks": 1,
                    "chunks_size": LEROBOT_CHUNK,
                    "data_files_size_in_mb": 100,
                    "video_files_size_in_mb": 500,
                    "fps": fps,
                    "splits": {"train": f"0:{len(rows)}"},
                    "features": features,
                    "video_path": VIDEO_PATH if films else None,
                    "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
                },
                indent=4,
            )
        )
    return f"{len(rows)} episodes, {total} frames"


# ---- viewers --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shape:
    """A geom in the frame of its body."""

    name: str
    frame: str
    kind: int
    place: list[float]
    rotation: list[float]  # w, x, y, z
    size: list[float]
    color: list[float]
    mesh: tuple[Array, Array] | None


class Motion:
    """Frames, their poses, and shapes of a recording."""

    def __init__(self, recording: Recording, fps: float) -> None:
        self.rows = np.arange(0, recording.rows, stride(recording, fps))
        self.scene = scene = _playback.Scene(recording, self.rows)
        model = scene.model
        self.frames = [model.body(int(body)).name or f"body_{body}" for body in scene.moving]
        self.times = recording.time[self.rows]
        place = {int(body): i for i, body in enumerate(scene.moving)}
        colors = scene.colors()
        self.shapes = []
        for geom in map(int, scene.geoms):
            body = place.get(int(model.geom_bodyid[geom]), -1)
            kind = int(model.geom_type[geom])
            pose = (
                (model.geom_pos[geom], model.geom_quat[geom])
                if body >= 0
                else (scene.static_pos[geom], scene.static_quat[geom])
            )
            mesh = (
                scene.mesh(kind, int(model.geom_dataid[geom]))
                if kind in (_playback.MESH, _playback.HEIGHT_FIELD)
                else None
            )
            self.shapes.append(
                Shape(
                    model.geom(geom).name or f"geom_{geom}",
                    self.frames[body] if body >= 0 else "world",
                    kind,
                    pose[0].tolist(),
                    pose[1].tolist(),
                    model.geom_size[geom].tolist(),
                    colors[geom].tolist(),
                    mesh,
                )
            )


def _vector(values: Sequence[float]) -> dict[str, float]:
    return dict(zip("xyz", map(float, values), strict=False))


def _turn(values: Sequence[float]) -> dict[str, float]:
    return dict(zip("wxyz", map(float, values), strict=True))


def _entity(shape: Shape, stamp: dict[str, int]) -> dict[str, Any]:
    """A foxglove.SceneEntity."""
    x, y, z = shape.size
    color = dict(zip("rgba", shape.color, strict=True))
    entity: dict[str, Any] = {
        "timestamp": stamp,
        "frame_id": shape.frame,
        "id": shape.name,
        "lifetime": {"sec": 0, "nsec": 0},
        "frame_locked": True,
        "metadata": [],
        "arrows": [],
        "cubes": [],
        "spheres": [],
        "cylinders": [],
        "lines": [],
        "triangles": [],
        "texts": [],
        "models": [],
    }

    def pose(along: float = 0.0) -> dict[str, Any]:
        w, u = shape.rotation[0], np.array(shape.rotation[1:])
        axis = np.array([0.0, 0.0, along])
        return {
            "position": _vector(np.array(shape.place) + axis + 2 * np.cross(u, np.cross(u, axis) + w * axis)),
            "orientation": _turn(shape.rotation),
        }

    def size(*values: float) -> dict[str, float]:
        return _vector([2 * value for value in values])

    kind = shape.kind
    if kind == _playback.BOX:
        entity["cubes"] = [{"pose": pose(), "size": size(x, y, z), "color": color}]
    elif kind == _playback.PLANE:
        entity["cubes"] = [{"pose": pose(-0.001), "size": size(x or 10, y or 10, 0.001), "color": color}]
    elif kind in (_playback.SPHERE, _playback.ELLIPSOID):
        entity["spheres"] = [
            {"pose": pose(), "size": size(x, x, x) if kind == _playback.SPHERE else size(x, y, z), "color": color}
        ]
    elif kind in (_playback.CAPSULE, _playback.CYLINDER):
        entity["cylinders"] = [
            {"pose": pose(), "size": size(x, x, y), "bottom_scale": 1.0, "top_scale": 1.0, "color": color}
        ]
        if kind == _playback.CAPSULE:
            entity["spheres"] = [{"pose": pose(end), "size": size(x, x, x), "color": color} for end in (-y, y)]
    elif shape.mesh is not None:
        points, faces = shape.mesh
        entity["triangles"] = [
            {
                "pose": pose(),
                "points": [_vector(point) for point in points],
                "color": color,
                "colors": [],
                "indices": faces.ravel().tolist(),
            }
        ]
    return entity


def _schema(title: str, **properties: str) -> bytes:
    kinds = {name: {"type": kind} for name, kind in properties.items()}
    return json.dumps(
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": title,
            "type": "object",
            "properties": kinds,
        }
    ).encode()


def write_mcap(recording: Recording, out: Path, choice: Choice) -> None:
    from mcap.writer import Writer

    motion = Motion(recording, choice.fps or VIEWER_FPS)
    with _whole(out) as part, open(part, "wb") as file:
        writer = Writer(file)
        writer.start(library="tendril")
        channels = {}
        for topic, title, properties in (
            ("/tf", "foxglove.FrameTransforms", {"transforms": "array"}),
            ("/scene", "foxglove.SceneUpdate", {"deletions": "array", "entities": "array"}),
            (
                "/sensors",
                "tendril.Sensors",
                {
                    sensor["name"]: "number" if sensor["dimension"] == 1 else "array"
                    for sensor in recording.tables["sensors"]
                    if sensor["name"]
                },
            ),
        ):
            schema = writer.register_schema(name=title, encoding="jsonschema", data=_schema(title, **properties))
            channels[topic] = writer.register_channel(topic=topic, message_encoding="json", schema_id=schema)
        named = [
            (sensor["name"], recording.sensor(sensor["name"]))
            for sensor in recording.tables["sensors"]
            if sensor["name"]
        ]
        for i, (row, time) in enumerate(zip(motion.rows, motion.times, strict=True)):
            moment = round(float(time) * 1e9)
            stamp = {"sec": moment // 10**9, "nsec": moment % 10**9}

            def add(topic: str, message: dict[str, Any], moment: int = moment) -> None:
                writer.add_message(
                    channel_id=channels[topic],
                    log_time=moment,
                    publish_time=moment,
                    data=json.dumps(message, separators=(",", ":")).encode(),
                )

            if i == 0:
                add("/scene", {"deletions": [], "entities": [_entity(shape, stamp) for shape in motion.shapes]})
            add(
                "/tf",
                {
                    "transforms": [
                        {
                            "timestamp": stamp,
                            "parent_frame_id": "world",
                            "child_frame_id": frame,
                            "translation": _vector(place),
                            "rotation": _turn(turn),
                        }
                        for frame, place, turn in zip(
                            motion.frames, motion.scene.positions[i], motion.scene.quaternions[i], strict=True
                        )
                    ]
                },
            )
            values = {name: values[row].tolist() for name, values in named}
            add("/sensors", {name: value if np.all(np.isfinite(value)) else None for name, value in values.items()})
        writer.finish()  # type: ignore[no-untyped-call,unused-ignore]  # that of mcap has none


def write_rrd(recording: Recording, out: Path, choice: Choice) -> None:
    import rerun as rr

    motion = Motion(recording, choice.fps or VIEWER_FPS)
    with _whole(out) as part:
        stream = rr.RecordingStream("tendril", recording_id=recording.texts.get("experiment_name", recording.file.stem))
        stream.save(str(part))
        stream.log("world", rr.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
        for shape in motion.shapes:
            path = f"world/{shape.frame}/{shape.name}" if shape.frame != "world" else f"world/{shape.name}"
            color = [round(255 * value) for value in shape.color]
            place, turn = shape.place, rr.Quaternion(xyzw=[*shape.rotation[1:], shape.rotation[0]])
            x, y, z = shape.size
            stream.log(path, rr.Transform3D(translation=place, quaternion=turn), static=True)
            fill: dict[str, Any] = {"colors": [color], "fill_mode": "solid"}
            if shape.kind in (_playback.BOX, _playback.PLANE):
                half = [x, y, z] if shape.kind == _playback.BOX else [x or 10, y or 10, 0.0005]
                stream.log(path, rr.Boxes3D(half_sizes=[half], **fill), static=True)
            elif shape.kind in (_playback.SPHERE, _playback.ELLIPSOID):
                half = [x, x, x] if shape.kind == _playback.SPHERE else [x, y, z]
                stream.log(path, rr.Ellipsoids3D(half_sizes=[half], **fill), static=True)
            elif shape.kind == _playback.CAPSULE:  # its origin is the center of one end
                stream.log(
                    path, rr.Capsules3D(lengths=[2 * y], radii=[x], translations=[[0, 0, -y]], **fill), static=True
                )
            elif shape.kind == _playback.CYLINDER:
                stream.log(path, rr.Cylinders3D(lengths=[2 * y], radii=[x], **fill), static=True)
            elif shape.mesh is not None:
                stream.log(
                    path,
                    rr.Mesh3D(vertex_positions=shape.mesh[0], triangle_indices=shape.mesh[1], albedo_factor=color),
                    static=True,
                )
        times = rr.TimeColumn("time", duration=motion.times)
        for i, frame in enumerate(motion.frames):
            quats = motion.scene.quaternions[:, i]
            stream.send_columns(
                f"world/{frame}",
                indexes=[times],
                columns=rr.Transform3D.columns(
                    translation=motion.scene.positions[:, i], quaternion=np.roll(quats, -1, axis=1)
                ),
            )
        for sensor in recording.tables["sensors"]:
            if sensor["name"]:
                values = recording.sensor(sensor["name"])[motion.rows]
                for k, line in enumerate(values.reshape(len(values), -1).T):
                    path = f"sensors/{sensor['name']}" + (f"/{k}" if sensor["dimension"] > 1 else "")
                    stream.send_columns(path, indexes=[times], columns=rr.Scalars.columns(scalars=line))
        stream.flush()
        stream.disconnect()


# ---- command --------------------------------------------------------------------------------------------------------

#: One file a recording; its ending and writer.
SINGLE: dict[str, tuple[str, Callable[[Recording, Path, Choice], None]]] = {
    "parquet": (".parquet", write_parquet),
    "csv": (".csv", write_csv),
    "mcap": (".mcap", write_mcap),
    "rrd": (".rrd", write_rrd),
}
#: One data set of all recordings.
JOINT: dict[str, Callable[[Iterator[Steps], Path, str], str]] = {
    "minari": write_minari,
    "lerobot": write_lerobot,
    "robomimic": write_robomimic,
}
EXTRAS = {"parquet": "data", "minari": "data", "lerobot": "data", "mcap": "view", "rrd": "view"}


def export(source: Path, kind: str, out: Path, choice: Choice) -> str:
    """What was written, for people. Throws ModelError, RecordingError, OSError."""
    if kind not in SINGLE and kind not in JOINT:
        raise ModelError(f"--to: {kind}: must be one of {', '.join([*SINGLE, *JOINT])}")
    files = sources(source)
    folder = kind in ("minari", "lerobot") or (kind in SINGLE and source.is_dir())
    if folder and out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ModelError(f"{out}: is not empty: choose another -o")
    if not folder and out.is_dir():
        raise ModelError(f"{out}: is a folder: must be a file")
    if kind in SINGLE:
        ending, write = SINGLE[kind]
        for name, file in files:
            with Recording(file) as recording:
                write(recording, out / (name + ending) if folder else out, choice)
        return f"{out}: {len(files)} recordings" if folder else str(out)
    with Recording(files[0][1]) as recording:
        title = recording.texts.get("experiment_name") or files[0][0]
        left_out = unknown_sensors(recording) if "sensordata" in choice.observation else []
    choice = replace(choice, left_out=frozenset(left_out))

    def episodes() -> Iterator[Steps]:
        for name, file in files:
            with Recording(file) as recording:
                yield steps_of(name, recording, choice)

    said = f"{out}: {JOINT[kind](episodes(), out, title)}"
    return f"{said}; left out, as they have no value: {', '.join(left_out)}" if left_out else said


def main(words: Sequence[str]) -> int:
    """`tendril export`."""
    from tendril._command import parser

    command = parser(
        "export",
        "Writes recordings in formats of data sets and viewers (docs/recording.md).",
        "Example: tendril export out/tube/rollout.h5 --to parquet -o tube.parquet",
    )
    command.add_argument("source", type=Path, help="recording (.h5), or folder of a sweep")
    command.add_argument("--to", required=True, metavar="FORMAT", help=", ".join([*SINGLE, *JOINT]))
    command.add_argument("-o", "--output", type=Path, required=True, help="file or folder")
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
        "--video", action="store_true", help="with lerobot: films of the camera of the pictures, 640 x 480"
    )
    command.add_argument("--quiet", action="store_true", help="print nothing")
    options = command.parse_args(words)
    if options.video and options.to != "lerobot":
        raise ModelError("--video: must be given with --to lerobot")
    try:
        fps = None if options.fps is None else float(options.fps)
    except ValueError:
        raise ModelError(f"--fps: {options.fps}: must be a number") from None
    choice = Choice(fps, tuple(options.observation or STATE), options.action, options.reward, options.video)
    try:
        said = export(options.source, options.to, options.output, choice)
    except ImportError as error:
        if error.name in (None, "h5py", "mujoco", "numpy") or options.to not in EXTRAS:
            raise
        raise ModelError(
            f"--to: {options.to}: Python module {error.name} is missing: pip install "
            f'"tendril-mujoco[{EXTRAS[options.to]}]"'
        ) from None
    if not options.quiet:
        print(said)
    return 0
