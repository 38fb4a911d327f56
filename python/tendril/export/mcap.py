"""Recordings for Foxglove, as MCAP."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tendril.export.files import atomic, has_mark
from tendril.export.geometry import VIEWER_FPS, MovingShapes, Shape
from tendril.export.steps import Choice
from tendril.playback.scene import BOX, CAPSULE, CYLINDER, ELLIPSOID, PLANE, SPHERE
from tendril.recording import Recording

Array = npt.NDArray[Any]


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
    if kind == BOX:
        entity["cubes"] = [{"pose": pose(), "size": size(x, y, z), "color": color}]
    elif kind == PLANE:
        entity["cubes"] = [{"pose": pose(-0.001), "size": size(x or 10, y or 10, 0.001), "color": color}]
    elif kind in (SPHERE, ELLIPSOID):
        entity["spheres"] = [
            {"pose": pose(), "size": size(x, x, x) if kind == SPHERE else size(x, y, z), "color": color}
        ]
    elif kind in (CAPSULE, CYLINDER):
        entity["cylinders"] = [
            {"pose": pose(), "size": size(x, x, y), "bottom_scale": 1.0, "top_scale": 1.0, "color": color}
        ]
        if kind == CAPSULE:
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


def _add_channels(writer: Any, sensors: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Registers the topics; returns their channels."""
    kinds = {sensor["name"]: "number" if sensor["dimension"] == 1 else "array" for sensor in sensors}
    channels = {}
    for topic, title, properties in (
        ("/tf", "foxglove.FrameTransforms", {"transforms": "array"}),
        ("/scene", "foxglove.SceneUpdate", {"deletions": "array", "entities": "array"}),
        ("/sensors", "tendril.Sensors", kinds),
    ):
        schema = writer.register_schema(name=title, encoding="jsonschema", data=_schema(title, **properties))
        channels[topic] = writer.register_channel(topic=topic, message_encoding="json", schema_id=schema)
    return channels


def _transforms(motion: MovingShapes, i: int, stamp: dict[str, int]) -> dict[str, Any]:
    """A foxglove.FrameTransforms of one moment."""
    poses = zip(motion.frames, motion.scene.positions[i], motion.scene.quaternions[i], strict=True)
    return {
        "transforms": [
            {
                "timestamp": stamp,
                "parent_frame_id": "world",
                "child_frame_id": frame,
                "translation": _vector(place),
                "rotation": _turn(turn),
            }
            for frame, place, turn in poses
        ]
    }


def is_own_mcap(file: Path) -> bool:
    """Tells whether write_mcap has written the file."""
    return has_mark(file, b"\x89MCAP0", b"tendril")


def write_mcap(recording: Recording, out: Path, choice: Choice) -> None:
    from mcap.writer import Writer

    motion = MovingShapes(recording, choice.fps or VIEWER_FPS)
    sensors = [sensor for sensor in recording.tables["sensors"] if sensor["name"]]
    with atomic(out) as part, open(part, "wb") as file:
        writer = Writer(file)
        writer.start(library="tendril")
        channels = _add_channels(writer, sensors)
        named = [(sensor["name"], recording.sensor(sensor["name"])) for sensor in sensors]
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
            add("/tf", _transforms(motion, i, stamp))
            values = {name: values[row].tolist() for name, values in named}
            add("/sensors", {name: value if np.all(np.isfinite(value)) else None for name, value in values.items()})
        writer.finish()  # type: ignore[no-untyped-call,unused-ignore]  # that of mcap has none
