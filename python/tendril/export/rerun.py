"""Recordings for the viewer Rerun."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tendril.export.files import atomic, has_mark
from tendril.export.geometry import VIEWER_FPS, MovingShapes
from tendril.export.steps import Choice
from tendril.playback.scene import BOX, CAPSULE, CYLINDER, ELLIPSOID, PLANE, SPHERE
from tendril.recording import Recording

Array = npt.NDArray[Any]


def is_own_rrd(file: Path) -> bool:
    """Tells whether write_rrd has written the file."""
    return has_mark(file, b"RRF", b"tendril")


def write_rrd(recording: Recording, out: Path, choice: Choice) -> None:
    import rerun as rr

    motion = MovingShapes(recording, choice.fps or VIEWER_FPS)
    with atomic(out) as part:
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
            if shape.kind in (BOX, PLANE):
                half = [x, y, z] if shape.kind == BOX else [x or 10, y or 10, 0.0005]
                stream.log(path, rr.Boxes3D(half_sizes=[half], **fill), static=True)
            elif shape.kind in (SPHERE, ELLIPSOID):
                half = [x, x, x] if shape.kind == SPHERE else [x, y, z]
                stream.log(path, rr.Ellipsoids3D(half_sizes=[half], **fill), static=True)
            elif shape.kind == CAPSULE:  # its origin is the center of one end
                stream.log(
                    path, rr.Capsules3D(lengths=[2 * y], radii=[x], translations=[[0, 0, -y]], **fill), static=True
                )
            elif shape.kind == CYLINDER:
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
