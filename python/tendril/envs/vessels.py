"""Random vessels of the family `vessel`, as models of one layout."""

from __future__ import annotations

import csv
import re
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import mujoco
import numpy as np

from tendril._program import find_program
from tendril.envs.simulations import Floats

_GEOMS = 3600  # of every model
_DISTANCE, _COLOR = 0.6, [0.8, 0.3, 0.3, 0.06]  # m, of the camera; of the walls
_SCENES = Path(__file__).with_name("scenes")
_WORLD = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])  # of the frame of the vessels


class Vessels(NamedTuple):
    """Vessels with a target, in the world; points are those of all centerlines."""

    model: mujoco.MjModel
    target: Floats  #: (3,)
    points: Floats  #: (n, 3)
    radii: Floats  #: (n,), of the lumen
    left: Floats  #: (n,), length of the centerlines from a point to the target
    path: Floats  #: (m, 3), centerline from the base to the target
    plane: Floats  #: (2, 3), axes of the image: the feed axis, and the one across it along which vessels spread most

    def nearest(self, place: Floats) -> int:
        """The point of the centerlines that is nearest."""
        return int(np.argmin(((self.points - place) ** 2).sum(axis=1)))


@lru_cache(maxsize=64)
def vessels(seed: int) -> Vessels | None:
    """The vessels of a seed; None if they need more staves than a model has."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [find_program(), "generate", "vessel", "--seed", str(seed), "--out", name]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        for file in ("guidewire_arch.xml", "guidewire.toml"):
            (folder / file).write_bytes((_SCENES / file).read_bytes())
        spec = mujoco.MjSpec.from_file(str(folder / "guidewire_arch.xml"))
        with open(folder / "vessel.csv", encoding="utf-8") as opened:
            rows = list(csv.DictReader(opened))
        robot = (folder / "arm.toml").read_text(encoding="utf-8")
    if len(spec.geoms) > _GEOMS:
        return None
    points = np.array([[float(row[key]) for key in "xyz"] for row in rows]) @ _WORLD.T
    radii = np.array([float(row["radius"]) for row in rows])
    found = re.search(r"^path_end = \[(.*)\]$", robot, re.MULTILINE)
    assert found is not None
    target = _WORLD @ np.array([float(number) for number in found[1].split(",")])
    goal = int(np.argmin(np.linalg.norm(points - target, axis=1)))
    left, after = _routes(points, [row["branch"] for row in rows], goal)
    path = [0]
    while path[-1] != goal:
        path.append(after[path[-1]])
    tree = points[2:]  # without the sheath
    spread = np.linalg.svd((tree - tree.mean(axis=0))[:, 1:], full_matrices=False)[2][0]
    plane = np.array([[1.0, 0.0, 0.0], [0.0, *spread]])
    _complete(spec, plane, (tree.min(axis=0) + tree.max(axis=0)) / 2.0)
    return Vessels(spec.compile(), target, points, radii, left, points[path], plane)


def _complete(spec: mujoco.MjSpec, plane: Floats, middle: Floats) -> None:
    """Gives a model the layout of all others, and a camera that looks at the plane of the image."""
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    tree, spare = spec.body("tree_tube"), spec.body("spare")
    for part in [spec.geom("tree_tube_wall"), *spec.meshes, *tree.sites]:  # what differs in number, and touches nothing
        spec.delete(part)
    for geom in tree.geoms:
        geom.group, geom.rgba = 0, _COLOR
    for _ in range(_GEOMS - len(spec.geoms)):
        spare.add_geom(size=[0.001, 0.0, 0.0], pos=[0.0, 0.0, -10.0], contype=0)
    camera = spec.camera("report")
    camera.pos = middle + _DISTANCE * np.cross(*plane)
    camera.alt.type, camera.alt.xyaxes = mujoco.mjtOrientation.mjORIENTATION_XYAXES, plane.ravel()


def _routes(points: Floats, names: list[str], goal: int) -> tuple[Floats, list[int]]:
    """Lengths along the centerlines from each point to a goal, and the next point on the way there."""
    near: list[list[int]] = [[] for _ in names]
    for i in range(1, len(names)):
        j = i - 1 if names[i] == names[i - 1] else int(np.argmin(np.linalg.norm(points[:i] - points[i], axis=1)))
        near[i].append(j)
        near[j].append(i)
    left, after, reached = np.full(len(names), np.inf), [goal] * len(names), [goal]
    left[goal] = 0.0
    for i in reached:  # grows: a tree has one way to each point
        for j in near[i]:
            if np.isinf(left[j]):
                left[j], after[j] = left[i] + float(np.linalg.norm(points[i] - points[j])), i
                reached.append(j)
    return left, after
