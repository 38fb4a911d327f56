"""Recordings as a data set of LeRobot."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tendril._errors import ModelError
from tendril.export.files import atomic
from tendril.export.images import images
from tendril.export.steps import Steps, observed_columns
from tendril.export.table import column_names

Array = npt.NDArray[Any]
LEROBOT_VERSION, LEROBOT_CHUNK = "v3.0", 1000
VIDEO_SAMPLES = 100  # of the images of a video, for statistics
VIDEO_PATH = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"


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


def _feature_of(camera: str) -> str:
    return f"observation.images.{camera or 'scene'}"


def _ffmpeg(size: tuple[int, int], fps: float, file: Path) -> list[str]:
    """The command that makes a video of images on its stdin."""
    source = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", "{}x{}".format(*size), "-r", f"{fps:g}", "-i", "-"]
    codec = ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-g", "2", "-crf", "23"]
    return ["ffmpeg", "-loglevel", "error", *source, *codec, str(file)]


def _write_video(steps: Steps, camera: str, file: Path) -> dict[str, list[Any]]:
    """The states before the steps as H.264, by ffmpeg. Returns statistics of some of its images, in [0, 1]."""
    frames = images(steps, camera, steps.rows[:-1])
    first = next(frames)  # before ffmpeg is started: it says why there are no images
    every = max(1, len(steps.actions) // VIDEO_SAMPLES)
    seen: list[Array] = []
    file.parent.mkdir(parents=True, exist_ok=True)
    command = _ffmpeg(steps.choice.size, steps.fps, file)
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    except FileNotFoundError:
        raise OSError("ffmpeg: is missing: --video and --camera need it") from None
    try:
        for number, frame in enumerate(chain([first], frames)):
            assert process.stdin is not None
            process.stdin.write(frame.tobytes())
            if number % every == 0:
                seen.append(frame[::8, ::8].reshape(-1, 3) / 255)
    except BrokenPipeError:
        pass  # it says why
    finally:
        _, said = process.communicate()
    if process.returncode != 0:
        raise OSError(f"{file.name}: ffmpeg: {said.decode(errors='replace').strip().rpartition(chr(10))[2]}")
    found = _statistics(np.concatenate(seen))
    return {name: value if name == "count" else [[[number]] for number in value] for name, value in found.items()}


def _joined(videos: list[dict[str, list[Any]]]) -> dict[str, list[Any]]:
    """Statistics of all videos: means of quantiles, mean and deviation of all images."""
    counts = np.array([video["count"][0] for video in videos], dtype=float)
    weights = counts / counts.sum()

    def mean(values: Array) -> Array:
        return np.tensordot(weights, values, axes=1)

    each = {name: np.array([video[name] for video in videos]) for name in videos[0]}
    found = {name: mean(values) for name, values in each.items()}
    found |= {
        "min": each["min"].min(axis=0),
        "max": each["max"].max(axis=0),
        "std": np.sqrt(mean(each["std"] ** 2 + each["mean"] ** 2) - found["mean"] ** 2),
        "count": each["count"].sum(axis=0),
    }
    return {name: value.tolist() for name, value in found.items()}


#: As pandas writes a table with the tasks as its index.
_TASK_INDEX = {
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


def _video_feature(size: tuple[int, int], fps: int) -> dict[str, Any]:
    width, height = size
    return {
        "dtype": "video",
        "shape": [height, width, 3],
        "names": ["height", "width", "channels"],
        "info": {
            "video.height": height,
            "video.width": width,
            "video.codec": "h264",
            "video.pix_fmt": "yuv420p",
            "video.is_depth_map": False,
            "video.fps": fps,
            "video.channels": 3,
            "has_audio": False,
        },
    }


def _state_names(steps: Steps) -> list[str]:
    names = column_names(steps.recording)
    names["sensordata"] = [names["sensordata"][i] for i in observed_columns(steps.recording, steps.choice)]
    return [
        label
        for observed, values in steps.observations.items()
        for label in names.get(observed, [f"{observed}.{i}" for i in range(values.shape[1])])
    ]


def _features(columns: dict[str, Array], steps: Steps) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {
        name: {"dtype": str(values.dtype), "shape": [values.shape[1] if values.ndim > 1 else 1], "names": None}
        for name, values in columns.items()
    }
    found["observation.state"]["names"] = _state_names(steps)
    return found


class _DataSet:
    """The folder of a data set, episode by episode."""

    def __init__(self, folder: Path, title: str) -> None:
        self._folder, self._title = folder, title
        self._rows: list[dict[str, Any]] = []  # of the table of episodes
        self._parts: dict[str, list[Array]] = {}
        self._videos: dict[str, list[dict[str, list[Any]]]] = {}
        self._features: dict[str, dict[str, Any]] = {}
        self._total = self._fps = 0

    def add(self, steps: Steps) -> None:
        self._fps = round(steps.fps)
        if abs(steps.fps - self._fps) > 1e-6:
            raise ModelError(f"--fps: {steps.fps:g}: must be a whole number for lerobot")
        columns = self._columns(steps)
        self._features = _features(columns, steps)
        self._write_data(columns)
        row = self._row(len(steps.actions))
        for camera in steps.choice.cameras:
            row |= self._video(steps, camera)
        for name, values in columns.items():
            row |= {f"stats/{name}/{key}": value for key, value in _statistics(values).items()}
            self._parts.setdefault(name, []).append(values)
        self._rows.append(row)
        self._total += len(steps.actions)

    def _chunk_and_file(self) -> tuple[int, int]:
        """Chunk and file of the next episode."""
        return divmod(len(self._rows), LEROBOT_CHUNK)

    def _columns(self, steps: Steps) -> dict[str, Array]:
        n, number = len(steps.actions), len(self._rows)
        return {
            "observation.state": steps.states[:-1].astype(np.float32),
            "action": steps.actions.astype(np.float32),
            "next.reward": steps.rewards.astype(np.float32),
            "next.done": np.arange(n) == n - 1,
            "timestamp": (np.arange(n) / self._fps).astype(np.float32),
            "frame_index": np.arange(n),
            "episode_index": np.full(n, number),
            "index": np.arange(self._total, self._total + n),
            "task_index": np.zeros(n, np.int64),
        }

    def _write_data(self, columns: dict[str, Array]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        chunk, file = self._chunk_and_file()
        table = {
            name: pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), values.shape[1])
            if values.ndim > 1
            else pa.array(values)
            for name, values in columns.items()
        }
        target = self._folder / f"data/chunk-{chunk:03d}/file-{file:03d}.parquet"
        target.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(table), target)

    def _row(self, n: int) -> dict[str, Any]:
        chunk, file = self._chunk_and_file()
        return {
            "episode_index": len(self._rows),
            "tasks": [self._title],
            "length": n,
            "data/chunk_index": chunk,
            "data/file_index": file,
            "dataset_from_index": self._total,
            "dataset_to_index": self._total + n,
            "meta/episodes/chunk_index": 0,
            "meta/episodes/file_index": 0,
        }

    def _video(self, steps: Steps, camera: str) -> dict[str, Any]:
        """Writes the video of an episode. Returns its part of the row."""
        chunk, file = self._chunk_and_file()
        name = _feature_of(camera)
        target = self._folder / VIDEO_PATH.format(video_key=name, chunk_index=chunk, file_index=file)
        statistics = _write_video(steps, camera, target)
        self._videos.setdefault(name, []).append(statistics)
        self._features[name] = _video_feature(steps.choice.size, self._fps)
        place = {
            "chunk_index": chunk,
            "file_index": file,
            "from_timestamp": 0.0,
            "to_timestamp": len(steps.actions) / self._fps,
        }
        row: dict[str, Any] = {f"videos/{name}/{key}": value for key, value in place.items()}
        return row | {f"stats/{name}/{key}": value for key, value in statistics.items()}

    def finish(self) -> str:
        """Writes what the data set has apart from its episodes. Returns its size, for people."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        meta = self._folder / "meta"
        (meta / "episodes/chunk-000").mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist(self._rows), meta / "episodes/chunk-000/file-000.parquet")
        tasks = pa.table({"task_index": pa.array([0], pa.int64()), "__index_level_0__": [self._title]})
        pq.write_table(tasks.replace_schema_metadata({"pandas": json.dumps(_TASK_INDEX)}), meta / "tasks.parquet")
        stats = {name: _statistics(np.concatenate(values)) for name, values in self._parts.items()}
        stats |= {name: _joined(videos) for name, videos in self._videos.items()}
        (meta / "stats.json").write_text(json.dumps(stats, indent=4))
        (meta / "info.json").write_text(json.dumps(self._info(), indent=4))
        return f"{len(self._rows)} episodes, {self._total} frames"

    def _info(self) -> dict[str, Any]:
        return {
            "codebase_version": LEROBOT_VERSION,
            "robot_type": "tendril",
            "total_episodes": len(self._rows),
            "total_frames": self._total,
            "total_tasks": 1,
            "chunks_size": LEROBOT_CHUNK,
            "data_files_size_in_mb": 100,
            "video_files_size_in_mb": 500,
            "fps": self._fps,
            "splits": {"train": f"0:{len(self._rows)}"},
            "features": self._features,
            "video_path": VIDEO_PATH if self._videos else None,
            "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
        }


def write_lerobot(episodes: Iterator[Steps], out: Path, title: str) -> str:
    with atomic(out) as part:
        data = _DataSet(part, title)
        for steps in episodes:
            data.add(steps)
        return data.finish()
