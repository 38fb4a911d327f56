"""Shapes and their motions, for viewers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tendril.export.steps import stride
from tendril.playback.scene import HEIGHT_FIELD, MESH, RecordedScene
from tendril.recording import Recording

Array = npt.NDArray[Any]
VIEWER_FPS = 50.0


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


class MovingShapes:
    """Frames, their poses, and shapes of a recording."""

    def __init__(self, recording: Recording, fps: float) -> None:
        self.rows = np.arange(0, recording.rows, stride(recording, fps))
        self.scene = scene = RecordedScene(recording, self.rows)
        model = scene.model
        self.frames = [model.body(int(body)).name or f"body_{body}" for body in scene.moving]
        self.times = recording.time[self.rows]
        index = {int(body): i for i, body in enumerate(scene.moving)}
        colors = scene.colors()
        self.shapes = []
        for geom in map(int, scene.geoms):
            body = index.get(int(model.geom_bodyid[geom]), -1)
            kind = int(model.geom_type[geom])
            pose = (
                (model.geom_pos[geom], model.geom_quat[geom])
                if body >= 0
                else (scene.static_pos[geom], scene.static_quat[geom])
            )
            mesh = scene.mesh(kind, int(model.geom_dataid[geom])) if kind in (MESH, HEIGHT_FIELD) else None
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
