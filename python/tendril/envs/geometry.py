"""Rotations, and overlap of bodies with obstacles, for many shapes at once."""

from __future__ import annotations

import numpy as np

from tendril.envs.simulations import Floats


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
