"""Nonlinear least squares with bounds (SciPy): over equilibria of the engine's model, the derivatives by the parameters
being those of the equilibrium, by the implicit function theorem; or over simulations of motions, with differences of
simulations.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tendril._errors import ModelError, refuse
from tendril._table import AXES
from tendril.identify.data import Data, Marker
from tendril.identify.frames import check_points
from tendril.identify.motions import check_times, inputs, simulate
from tendril.identify.robot_file import SHIFT, Parameter, RobotFile, engine
from tendril.identify.statics import Statics

Array = npt.NDArray[np.float64]
ALIGNMENTS = ("none", "offset", "pose")
BETWEEN = ("hold", "linear")  #: commands and loads between rows of a motion
SPREAD = 3.0  #: other starts are drawn between a third and three times the value
RELATIVE_STEP = {
    "poses": 1e-4,
    "samples": 1e-3,
}  #: of parameters, for differences; motions have steps where servos reach their limits
LEAST_SINGULAR = 1e-5  #: of the scaled Jacobian, to the largest: below it a direction cannot be identified


def points_of(model: Any, markers: dict[str, Marker]) -> tuple[list[tuple[int, Array]], float]:
    """Bodies and places of the markers in a model, and the length of the straight arm."""
    mujoco = engine()
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    tip = model.site("_tip")
    chain = sorted({int(body) for body in model.jnt_bodyid} | {int(model.body("_base").id)})
    heights = data.xpos[:, 2] - data.xpos[model.body("_base").id, 2]
    points = []
    for marker in markers.values():
        if marker.site is not None:
            site = model.site("_" + marker.site)
            points.append((int(site.bodyid[0]), np.array(site.pos)))
            continue
        body = [b for b in chain if heights[b] <= marker.arc + 1e-12][-1]
        points.append((body, np.array(marker.local) + [0.0, 0.0, marker.arc - heights[body]]))
    return points, float(data.site_xpos[tip.id][2] - data.xpos[model.body("_base").id, 2])


def _straight(model: Any, points: Sequence[tuple[int, Array]]) -> Array:
    """Places of the points on the arm as it is built, in the frame of its base."""
    mujoco = engine()
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    base = data.xpos[model.body("_base").id]
    return np.array([data.xpos[body] + data.xmat[body].reshape(3, 3) @ place - base for body, place in points])


@dataclass
class Prediction:
    places: Array  # (n, markers, 3), of the model, in its frame
    slopes: Array  # (n, markers, 3, parameters)
    failed: npt.NDArray[np.bool_]  # (n): no equilibrium found


@dataclass
class Fit:
    """A least-squares problem over some rows. An unknown is a parameter over its scale; those of the frame come after
    them."""

    robot: RobotFile
    data: Data
    parameters: list[Parameter]
    align: str
    rest: dict[int, Array] = field(default_factory=dict)  # coordinates of the last equilibrium of a row
    failure: ClassVar[str] = "no equilibrium found with these commands: are their signs and units right?"

    def __post_init__(self) -> None:
        self.base = np.array([parameter.start for parameter in self.parameters])
        self.scales = np.array([parameter.scale for parameter in self.parameters])
        self.frame_count = {"none": 0, "offset": 3, "pose": 6}[self.align]
        model = self.robot.model([], np.empty(0))
        points, self.length = points_of(model, self.data.markers)
        self.straight = _straight(model, points)

    @property
    def unknowns(self) -> list[str]:
        frame = [f"frame.{name}_{axis}" for name in ("offset", "rotation") for axis in AXES]
        return [*(parameter.name for parameter in self.parameters), *frame[: self.frame_count]]

    @property
    def units(self) -> Array:
        """Size of one of each of the solver's unknowns."""
        return np.array([*self.scales, *([self.length] * 3), *([1.0] * 3)][: len(self.scales) + self.frame_count])

    def _statics(self, values: Array) -> Any:
        model = self.robot.model(self.parameters, values)
        points, _ = points_of(model, self.data.markers)
        try:
            return Statics(model, points, most_parts=8)
        except ValueError as error:
            raise refuse(self.robot.file, f"the model {error} to be identified") from None

    def _sides(self, values: Array, count: int) -> list[list[float]]:
        """Larger and smaller values of the first parameters, for differences."""
        steps = RELATIVE_STEP[self.data.what] * np.maximum(np.abs(values), 0.1 * self.scales)
        return [
            [min(max(values[p] + side * steps[p], self.parameters[p].low), self.parameters[p].high) for side in (1, -1)]
            for p in range(count)
        ]

    def predict(self, values: Array, rows: Sequence[int], slopes: bool = True) -> Prediction:
        """Predicts with a model with these values of the parameters."""
        statics = self._statics(values)
        markers, count = len(self.data.markers), len(self.parameters) if slopes else 0
        ends = self._sides(values, count)
        others = [
            [self._statics(np.where(np.arange(len(values)) == p, end, values)) for end in ends[p]] for p in range(count)
        ]
        found = Prediction(
            np.zeros((len(rows), markers, 3)), np.zeros((len(rows), markers, 3, count)), np.zeros(len(rows), dtype=bool)
        )
        for i, row in enumerate(rows):
            gravity, ctrl = self.data.gravity[row], self.data.ctrl[row]
            forces, moments = list(self.data.forces[row]), list(self.data.moments[row])
            try:
                q = statics.solve(gravity, forces, moments, ctrl, start=self.rest.get(row))
            except ArithmeticError:
                found.failed[i] = True
                continue
            self.rest[row] = q
            _, tangent = statics.residual_and_tangent(q, 1.0, gravity, forces, moments, ctrl)
            found.places[i] = statics.places()
            if not count:
                continue
            change = np.zeros((statics.model.nv, count))
            for p, pair in enumerate(others):
                sides = []
                for other in pair:
                    force, _ = other.residual_and_tangent(q, 1.0, gravity, forces, moments, ctrl, with_tangent=False)
                    sides.append((force, other.places()))
                width = ends[p][0] - ends[p][1]
                change[:, p] = (sides[0][0] - sides[1][0]) / width
                found.slopes[i, :, :, p] = (sides[0][1] - sides[1][1]) / width
            moved = np.linalg.solve(tangent, -change)
            for k in range(markers):
                found.slopes[i, k] += statics.jacobian(k) @ moved
        return found

    def split(self, x: Array) -> tuple[Array, Array, Array]:
        """Parameters, offset [m] and rotation vector of the measuring frame."""
        all_values = x * self.units
        frame = np.concatenate((all_values[len(self.parameters) :], np.zeros(6)))
        return all_values[: len(self.parameters)], frame[:3], frame[3:6] if self.align == "pose" else np.zeros(3)

    def residuals(
        self, x: Array, rows: Sequence[int], slopes: bool = True
    ) -> tuple[Array, Array, npt.NDArray[np.bool_]]:
        """Predicted minus measured points (n, markers, 3), their derivative by x, and the rows without equilibrium."""
        values, offset, rotation = self.split(x)
        found = self.predict(values, rows, slopes)
        turn = rotation_matrix(rotation)
        turned = found.places @ turn.T
        errors = turned + offset - self.data.measured[rows]
        frame = np.zeros((*errors.shape, self.frame_count))
        if self.frame_count:
            frame[..., :3] = np.eye(3)
        if self.frame_count == 6:
            for axis in range(3):
                step = 1e-6 * np.eye(3)[axis]
                change = rotation_matrix(rotation + step) - rotation_matrix(rotation - step)
                frame[..., 3 + axis] = found.places @ change.T / 2e-6
        by_values = np.einsum("ab,nkbp->nkap", turn, found.slopes)
        errors[found.failed] = self.length  # of a pose that the model does not have
        parts = (by_values, frame) if slopes else (frame,)
        jacobian = np.concatenate(parts, axis=3) * (self.units if slopes else self.units[len(self.parameters) :])
        jacobian[found.failed] = 0.0
        return errors, jacobian, found.failed

    def check_points(self) -> None:
        """Refuses points that were not seen, or are in another frame."""
        rest = dict(self.rest)
        found = self.predict(self.base, range(self.data.count), slopes=False)
        self.rest = rest  # the fit begins where it did
        found.places[found.failed] = np.nan
        check_points(self.data, found.places, self.straight, self.length, self.align)

    def distances(self, x: Array, rows: Sequence[int]) -> Array:
        """Errors of the points seen, m."""
        errors, _, failed = self.residuals(x, rows, slopes=False)
        if failed.any():
            raise refuse(self.data.origins[rows[int(np.argmax(failed))]], self.failure)
        return np.asarray(np.linalg.norm(errors, axis=2)[self.data.seen[rows]])


@dataclass
class MotionFit(Fit):
    """Rows are samples of motions, each of which begins at rest."""

    timestep: float = 0.0  # 0: that of the robot file
    between: str = "hold"
    failure: ClassVar[str] = (
        "no equilibrium found under the first row, or the simulation diverges: are signs and units right, the time "
        "step small?"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.timestep:
            self.timestep = float(self.robot.model([], np.empty(0)).opt.timestep)
        check_times(self.data, self.timestep)

    def predict(self, values: Array, rows: Sequence[int], slopes: bool = True) -> Prediction:
        count = len(self.parameters) if slopes else 0
        ends = self._sides(values, count)
        variants = [
            values,
            *(np.where(np.arange(len(values)) == p, end, values) for p in range(count) for end in ends[p]),
        ]
        motions = inputs(self.data, rows, self.timestep, self.between)
        models = [self.robot.model(self.parameters, value, self.timestep) for value in variants for _ in motions]

        def run(i: int) -> Array | None:
            return simulate(models[i], points_of(models[i], self.data.markers)[0], motions[i % len(motions)])

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            try:
                simulated = list(pool.map(run, range(len(models))))
            except ValueError as error:
                raise refuse(self.robot.file, f"the model {error} to be identified") from None
        shape = (len(rows), len(self.data.markers), 3)
        places = np.full((len(variants), *shape), np.nan)
        index = {row: i for i, row in enumerate(rows)}
        for i, found in enumerate(simulated):
            if found is not None:
                places[i // len(motions)][[index[row] for row in motions[i % len(motions)].rows]] = found
        failed = np.isnan(places).any(axis=(0, 2, 3))
        places[:, failed] = 0.0
        differences = [(places[1 + 2 * p] - places[2 + 2 * p]) / (ends[p][0] - ends[p][1]) for p in range(count)]
        return Prediction(places[0], np.stack(differences, axis=-1) if count else np.zeros((*shape, 0)), failed)


def rotation_matrix(vector: Array) -> Array:
    angle = float(np.linalg.norm(vector))
    x, y, z = vector
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    if angle < 1e-8:
        return np.asarray(np.eye(3) + cross)
    return np.asarray(np.eye(3) + math.sin(angle) / angle * cross + (1 - math.cos(angle)) / angle**2 * cross @ cross)


def rms(distances: Array) -> float:
    return float(np.sqrt(np.mean(distances**2))) if len(distances) else math.nan


@dataclass
class Identification:
    """Result of an identification, for rows that were fitted and rows held out."""

    fit: Fit
    x: Array
    errors: Array  # standard errors of the unknowns, in their own units
    correlations: Array
    before: tuple[Array, Array]  # distances, m: fitted, held out
    after: tuple[Array, Array]
    costs: list[float]  # of every start: rms of weighted errors, m
    rows: tuple[list[int], list[int]]
    before_x: Array
    student: float  # errors times this: half of the 95 % interval

    @property
    def values(self) -> Array:
        return np.asarray(self.x * self.fit.units)

    def at_bound(self, p: int) -> bool:
        parameter = self.fit.parameters[p]
        near = 1e-3 * (parameter.high - parameter.low)
        return not parameter.low + near < self.values[p] < parameter.high - near


def identify(fit: Fit, held_out: npt.NDArray[np.bool_], starts: int, seed: int) -> Identification:
    """Fits the rows that are not held out. Throws ModelError for what cannot be identified."""
    from scipy.optimize import least_squares
    from scipy.special import stdtrit

    data = fit.data
    train, rest = [int(i) for i in np.flatnonzero(~held_out)], [int(i) for i in np.flatnonzero(held_out)]
    seen = data.seen[train] & (data.weight[train] > 0)[:, None]
    numbers, unknowns = 3 * int(seen.sum()), len(fit.unknowns)
    _check_count(data, len(train), numbers, unknowns)
    weights = np.sqrt(data.weight[train])[:, None, None] * np.ones_like(data.measured[train])
    used = np.broadcast_to(seen[..., None], weights.shape)
    frame = np.zeros(fit.frame_count)
    before_x = np.concatenate((fit.base / fit.scales, frame))
    fit.distances(before_x, [*train, *rest])  # refuses what has no equilibrium
    fit.check_points()
    if fit.frame_count:
        before_x = _best_frame(fit, before_x, train, weights, used)
    low = np.concatenate(([p.low / p.scale for p in fit.parameters], frame - np.inf))
    high = np.concatenate(([p.high / p.scale for p in fit.parameters], frame + np.inf))
    _check_bounds(fit, low, high)

    def residual_at(x: Array) -> Array:
        return np.asarray((fit.residuals(x, train, slopes=False)[0] * weights)[used])

    def jacobian_at(x: Array) -> Array:
        return np.asarray((fit.residuals(x, train)[1] * weights[..., None])[used])

    best, costs = None, []
    random = np.random.default_rng(seed)
    for number in range(starts):
        x = _drawn_start(fit, before_x, random) if number else before_x.copy()
        found = least_squares(
            residual_at, np.clip(x, low, high), jac=jacobian_at, bounds=(low, high), x_scale="jac", max_nfev=100
        )
        costs.append(math.sqrt(2 * found.cost / max(float((weights[..., 0] ** 2)[seen].sum()), 1e-300)))
        if best is None or found.cost < best.cost:
            best = found
    assert best is not None
    x = np.asarray(best.x)
    fit.rest.clear()  # from here on equilibria that begin at the straight arm
    residual, jacobian = residual_at(x), jacobian_at(x)
    _check_rank(fit, jacobian, x)
    freedom = numbers - unknowns
    inverse = np.linalg.inv(jacobian.T @ jacobian)
    deviations = np.sqrt(np.diag(inverse))
    errors = deviations * math.sqrt(float(residual @ residual) / freedom) * fit.units
    return Identification(
        fit,
        x,
        errors,
        inverse / np.outer(deviations, deviations),
        (fit.distances(before_x, train), fit.distances(before_x, rest)),
        (fit.distances(x, train), fit.distances(x, rest)),
        costs,
        (train, rest),
        before_x,
        float(stdtrit(freedom, 0.975)),
    )


def _check_count(data: Data, rows: int, numbers: int, unknowns: int) -> None:
    if numbers <= unknowns:
        raise refuse(
            data.file,
            f"{rows} {data.what} to fit, {numbers} numbers measured: must be more than the {unknowns} unknowns",
        )


def _drawn_start(fit: Fit, before_x: Array, random: np.random.Generator) -> Array:
    """Returns unknowns with the parameters drawn about their start, within their bounds."""
    x = before_x.copy()
    for p, parameter in enumerate(fit.parameters):
        draw = random.uniform(-1, 1)
        value = parameter.start + draw * SHIFT / 2 if parameter.is_shift else parameter.start * SPREAD**draw
        x[p] = min(max(value, parameter.low), parameter.high) / parameter.scale
    return x


def _best_frame(fit: Fit, x: Array, rows: Sequence[int], weights: Array, used: npt.NDArray[np.bool_]) -> Array:
    """The frame alone fitted, with the parameters as they are."""
    from scipy.optimize import least_squares

    count = len(fit.parameters)
    places = fit.predict(x[:count] * fit.scales, rows, slopes=False).places

    def errors(frame: Array) -> Array:
        _, offset, rotation = fit.split(np.concatenate((x[:count], frame)))
        return np.asarray(((places @ rotation_matrix(rotation).T + offset - fit.data.measured[rows]) * weights)[used])

    return np.concatenate((x[:count], least_squares(errors, x[count:], x_scale="jac").x))


def _check_bounds(fit: Fit, low: Array, high: Array) -> None:
    """Refuses bounds outside what the robot file allows."""
    for p, parameter in enumerate(fit.parameters):
        for end in (low[p], high[p]):
            values = fit.base.copy()
            values[p] = end * parameter.scale
            try:
                fit.robot.model(fit.parameters, values)
            except ModelError as error:
                raise refuse(
                    "--bounds", f"{parameter.name}: [{parameter.low:g}, {parameter.high:g}]: {error}"
                ) from None


def _check_rank(fit: Fit, jacobian: Array, x: Array) -> None:
    """Names what the data do not tell apart."""
    scaled = jacobian * np.where(np.arange(len(x)) < len(fit.parameters), np.maximum(np.abs(x), 0.1), 1.0)
    _, singular, directions = np.linalg.svd(scaled, full_matrices=False)
    names = fit.unknowns
    for size, direction in zip(singular, directions, strict=True):
        if size > LEAST_SINGULAR * singular[0]:
            continue
        mixed = [names[i] for i in np.flatnonzero(np.abs(direction) > 0.1)]
        raise refuse(
            fit.data.file,
            f"these {fit.data.what} do not tell {mixed[0]}"
            if len(mixed) == 1
            else f"these {fit.data.what} do not tell {', '.join(mixed[:-1])} and {mixed[-1]} apart: leave one out",
        )


def held_out_rows(data: Data, fraction: float, seed: int) -> npt.NDArray[np.bool_]:
    """Returns the rows of the column `held_out`, or a fraction: of poses drawn, of every motion the last."""
    if data.held_out.any():
        return data.held_out
    rows = np.zeros(data.count, dtype=bool)
    if data.time is not None:
        for number in range(int(data.motion[-1]) + 1):
            own = np.flatnonzero(data.motion == number)
            rows[own[len(own) - round(fraction * len(own)) :]] = True
        return rows
    rows[np.random.default_rng(seed).permutation(data.count)[: round(fraction * data.count)]] = True
    return rows
