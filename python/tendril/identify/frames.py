"""Plausibility of measured points: whether they are in the frame and unit of the model, and whether they were seen."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tendril._errors import refuse
from tendril._table import AXES
from tendril.identify.data import Data

Array = npt.NDArray[np.float64]
FAR_OFF = 0.03  #: of the arm's length: errors below it are those of a model that is to be fitted
BETTER = 0.3  #: another frame has this part of the errors: the file's is a mistake
MOVES = 0.02  #: of the arm's length: a point whose commands move it so far is not measured at one place
NO_FIT = 0.1  #: of the arm's length: an error after the fit that is no fit
SCALES = {"cm": 10.0, "dm": 100.0, "inch": 25.4}  #: millimeters


@dataclass(frozen=True)
class Frame:
    """Another reading of the measured points: what they would be, and what helps."""

    errors: float  # rms, m
    what: str
    help: str


def check_points(data: Data, places: Array, rest: Array, length: float, align: str) -> None:
    """Refuses points that were not seen, or are in another frame.

    :param places: of the points by the model as it is, (n, markers, 3); NaN: it has no equilibrium
    :param rest: of the points of the straight arm, (markers, 3)
    :raises ModelError: with the rows, and what may help
    """
    _refuse_zeros(data, rest, length)
    _refuse_frozen(data, places, length)
    _refuse_frame(data, places, length, align)


def no_fit(data: Data, errors: Array, length: float) -> str | None:
    """Returns a notice if a model does not come near the points whose errors are given."""
    error = float(np.sqrt(np.mean(errors**2)))
    if error <= NO_FIT * length:
        return None
    return (
        f"{data.file}: the model does not fit: rms error of points {1e3 * error:.3g} mm, {error / length:.0%} of the "
        f"arm's length: are frame, units and signs of the commands right, was every marker seen?"
    )


def _refuse_zeros(data: Data, rest: Array, length: float) -> None:
    for k, name in enumerate(data.markers):
        lost = np.flatnonzero((data.measured[:, k] == 0).all(axis=1))
        if len(lost) and np.linalg.norm(rest[k]) > MOVES * length:
            raise refuse(
                data.origins[lost[0]],
                f"{name}: is at 0, 0, 0, in {len(lost)} of {data.count} {data.what}: where a marker was lost its "
                f"cells must be empty",
            )


def _refuse_frozen(data: Data, places: Array, length: float) -> None:
    fewest = 3 if data.time is None else max(3, data.count // 2)  # a motion may pause
    for k, name in enumerate(data.markers):
        _, group = np.unique(data.measured[:, k], axis=0, return_inverse=True)
        for number in range(int(group.max()) + 1):
            rows = np.flatnonzero((group.ravel() == number) & ~np.isnan(data.measured[:, k]).any(axis=1))
            rows = rows[~np.isnan(places[rows, k]).any(axis=1)]
            if len(rows) < fewest or float(np.ptp(places[rows, k], axis=0).max()) < MOVES * length:
                continue
            raise refuse(
                data.origins[rows[0]],
                f"{name}: is at the same place in {len(rows)} of {data.count} {data.what} whose commands move it: "
                f"where a marker was lost its cells must be empty",
            )


def _refuse_frame(data: Data, places: Array, length: float, align: str) -> None:
    seen = data.seen & ~np.isnan(places[..., 0])
    measured, model = data.measured[seen], places[seen]
    if len(measured) < 4:
        return
    now = _aligned(measured, model, align)
    if now <= FAR_OFF * length:
        return
    found = list(_frames(measured, model))
    least = min(frame.errors for frame in found)
    if least > BETTER * now:
        return
    best = next(frame for frame in found if frame.errors <= 1.5 * least)
    raise refuse(
        data.file,
        f"the points do not fit the base frame of the arm, z along it: rms error {1e3 * now:.3g} mm; they would be "
        f"{best.what}, with {1e3 * best.errors:.3g} mm: {best.help}",
    )


def _aligned(measured: Array, model: Array, align: str) -> float:
    if align == "pose":
        return _rigid(measured, model, 1.0)
    return _rms(measured - model, with_offset=align == "offset")


def _rms(errors: Array, with_offset: bool) -> float:
    """Root mean square of distances, of errors without their mean if an offset is allowed."""
    if with_offset:
        errors = errors - errors.mean(axis=0)
    return float(np.sqrt(np.mean(np.sum(errors**2, axis=1))))


def _rigid(measured: Array, model: Array, sign: float) -> float:
    """Errors after the best rotation and offset, mirrored if the sign is -1 (Kabsch)."""
    a, b = measured - measured.mean(axis=0), model - model.mean(axis=0)
    u, _, v = np.linalg.svd(b.T @ a)
    signs = np.diag([1.0, 1.0, sign * float(np.sign(np.linalg.det(u @ v)))])
    return _rms(a - b @ u @ signs @ v, with_offset=False)


def _frames(measured: Array, model: Array) -> Iterator[Frame]:
    """Other frames, the likely ones first."""
    yield Frame(_rms(measured - model, True), "shifted", "try --align offset")
    for unit, size in SCALES.items():
        for factor in (size, 1.0 / size):
            errors = _rms(measured * factor - model, False) * max(1.0, 1.0 / factor)
            yield Frame(errors, f"{factor:.3g} times as far from the base", f"is the unit {unit}, or mm?")
    for order in itertools.permutations(range(3)):
        for signs in itertools.product((1.0, -1.0), repeat=3):
            yield _permuted(measured, model, order, signs)
    yield Frame(_rigid(measured, model, 1.0), "turned", "try --align pose")
    yield Frame(_rigid(measured, model, -1.0), "mirrored and turned", "mirror one axis, then try --align pose")


def _permuted(measured: Array, model: Array, order: Sequence[int], signs: Sequence[float]) -> Frame:
    axes = ", ".join(("-" if sign < 0 else "") + AXES[axis] for axis, sign in zip(order, signs, strict=True))
    turn = np.zeros((3, 3))
    turn[range(3), order] = signs
    is_mirrored = math.isclose(float(np.linalg.det(turn)), -1.0)
    return Frame(
        _rms(measured[:, order] * signs - model, True),
        f"right with {axes} of the file as x, y, z{', a mirrored frame' if is_mirrored else ''}",
        "rename the columns" + ("" if is_mirrored else ", or try --align pose"),
    )
