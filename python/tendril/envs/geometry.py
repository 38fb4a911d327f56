"""Rotations, frames along a rod, and overlap of bodies with obstacles."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from tendril.envs.simulations import Floats


def servo_order(sections: int) -> tuple[npt.NDArray[np.intp], Floats]:
    """Servos in the order of coordinates, and back, and the signs of coordinates at their servos.

    The servos `x` and `y` of a section turn about these axes of its base. Its coordinates, those of
    ContinuumRobot.coordinates, are how far it bends along them.
    """
    return np.arange(2 * sections) ^ 1, np.tile([1.0, -1.0], sections)


def limited(vector: Floats, largest: float) -> Floats:
    """The vector, shortened to a length."""
    result: Floats = vector * min(1.0, largest / max(float(np.linalg.norm(vector)), 1e-9))
    return result


def rotation_vector(end: Floats, start: Floats, scalar: int) -> Floats:
    """The shortest rotation between two orientations, quaternions whose scalar part has this index, in the world."""
    w, end_vector, start_vector = end @ start, np.delete(end, scalar), np.delete(start, scalar)
    vector = start[scalar] * end_vector - end[scalar] * start_vector - np.cross(end_vector, start_vector)
    sine = float(np.linalg.norm(vector))
    turn: Floats = vector * (2.0 * np.arctan2(sine, abs(w)) / max(sine, 1e-9)) * (1.0 if w >= 0 else -1.0)
    return turn


def transported(frame: Floats, tangents: Iterable[Floats]) -> list[Floats]:
    """Frames without twist along tangents, after a first one."""
    frames = []
    for tangent in tangents:
        z = frame[:, 2]
        cross = np.outer(tangent, z) - np.outer(z, tangent)
        frame = frame + cross @ frame + cross @ cross @ frame / (1.0 + z @ tangent)
        frames.append(frame)
    return frames


def rotations(angles: Floats) -> Floats:
    """Rotations by vectors, (n, 3, 3)."""
    angle = np.sqrt((angles * angles).sum(axis=1))
    x, y, z = angles.T
    cross = np.zeros((len(angles), 3, 3))
    cross[:, 0, 1], cross[:, 0, 2], cross[:, 1, 2] = -z, y, -x
    cross[:, 1, 0], cross[:, 2, 0], cross[:, 2, 1] = z, -y, x
    sine, versine = np.sinc(angle / np.pi), np.sinc(angle / (2 * np.pi)) ** 2 / 2
    rotation: Floats = np.eye(3) + sine[:, None, None] * cross + versine[:, None, None] * (cross @ cross)
    return rotation


def overlap(points: Floats, obstacles: Floats, reach: float) -> Floats:
    """By how much points, (shapes, n, 3), are nearer than `reach` to axes of obstacles."""
    start, along = obstacles[:, 0], obstacles[:, 1] - obstacles[:, 0]
    offset = points[:, :, None] - start
    part = np.clip((offset * along).sum(axis=-1) / (along * along).sum(axis=-1), 0.0, 1.0)
    distance = np.linalg.norm(offset - part[..., None] * along, axis=-1).min(axis=-1)
    deep: Floats = np.maximum(reach - distance, 0.0)
    return deep
