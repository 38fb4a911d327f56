"""`tendril identify`: fits keys of a robot file to recorded static poses or motions (docs/identification.md).

Nonlinear least squares with bounds (SciPy) over equilibria of the engine's model, the derivatives by the parameters being those of
the equilibrium, by the implicit function theorem; or over simulations of motions, with differences of simulations.
"""

from __future__ import annotations

import copy
import json
import math
import os
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, ClassVar
from xml.sax.saxutils import quoteattr

import numpy as np
import numpy.typing as npt

from tendril._errors import ModelError
from tendril._poses import AXES, Data, Marker, check_units, joined, nearest, read_data, read_markers, refuse
from tendril.sweep import toml

Array = npt.NDArray[np.float64]

ALIGNMENTS = ("none", "offset", "pose")
BETWEEN = ("hold", "linear")  #: commands and loads between rows of a motion
UNIDENTIFIABLE = {
    "poses": ("links", "feed", "friction"),
    "samples": ("links", "feed"),
}  #: keys that such data do not tell
RATIO, SHIFT = 10.0, 0.5  #: default bounds: a tenth to ten times the value; of angles, rad
SPREAD = 3.0  #: other starts are drawn between a third and three times the value
RELATIVE_STEP = {
    "poses": 1e-4,
    "samples": 1e-3,
}  #: of parameters, for differences; motions have steps where servos reach their limits
LEAST_SINGULAR = 1e-5  #: of the scaled Jacobian, to the largest: below it a direction cannot be identified


# ---- parameters -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """A number of the robot file."""

    keys: tuple[str | int, ...]
    start: float


@dataclass(frozen=True)
class Parameter:
    """One unknown: numbers of the file that keep their ratios, or, angles, their differences."""

    name: str
    places: tuple[Place, ...]
    is_shift: bool
    low: float
    high: float

    @property
    def start(self) -> float:
        return self.places[0].start

    @property
    def scale(self) -> float:
        """A change of it that is of order 1 beside it."""
        return 1.0 if self.is_shift else abs(self.start)

    def values(self, value: float) -> Iterator[tuple[Place, float]]:
        for place in self.places:
            yield place, place.start + (value - self.start) if self.is_shift else place.start * (value / self.start)


class RobotFile:
    """The text of a robot file, and the model of it with other values."""

    def __init__(self, file: Path) -> None:
        import tomlkit
        from tomlkit.exceptions import TOMLKitError

        self.file = file
        try:
            self.document = tomlkit.parse(file.read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            raise refuse(file, "must be a robot file, text in UTF-8") from None
        except TOMLKitError as error:
            raise refuse(file, f"must be TOML: {error}") from None
        self.tables: dict[str, Any] = self.document.unwrap()
        if self.document.get("kind", "continuum") != "continuum":
            raise refuse(
                file, f'kind: "{self.document["kind"]}": must be "continuum": other robots cannot be identified'
            )

    def parameter(self, name: str, bounds: dict[str, tuple[float, float]], rows: str = "poses") -> Parameter:
        """`+` joins keys that have a factor in common. `rows`: the word of the data for them."""
        places = tuple(place for part in name.split("+") for place in self._found(part))
        return self._bounded(
            name, [str(key) for place in places for key in place.keys if isinstance(key, str)][-1], places, bounds, rows
        )

    def _found(self, name: str) -> list[Place]:
        words = name.split(".")
        table = words[0] if words[0] in self.document else words[0].removesuffix("s")
        tables = [
            key
            for key, value in self.document.items()
            if isinstance(value, list | dict) and key not in ("controller", "start")
        ]
        if len(words) < 2 or table not in tables:
            raise refuse(
                "--parameters",
                f"{name}: unknown: must be like section.*.bending_stiffness or section.2.radius; "
                + nearest(table, tables),
            )
        found = self.tables[table]
        numbers = list(range(len(found))) if isinstance(found, list) else []
        rest = words[1:]
        if isinstance(found, list) and re.fullmatch(r"\*|\d+(-\d+)?", rest[0]):
            numbers = self._numbers(name, table, rest.pop(0), len(found))
        places: list[Place] = []
        for number in numbers if isinstance(found, list) else [None]:
            owner = found if number is None else found[number]
            where = table if number is None else f"{table} {number + 1}"
            keys: list[str | int] = [table] if number is None else [table, number]
            if len(rest) not in (1, 2) or (len(rest) == 2 and not rest[1].isdecimal()):
                raise refuse("--parameters", f"{name}: must be TABLE.KEY, TABLE.NUMBER.KEY or TABLE.*.KEY")
            if rest[0] not in owner:
                known = [key for key, value in owner.items() if _numbers_in(value)]
                raise refuse(
                    self.file,
                    f"{where}: {rest[0]}: is not in the file, which must state where the search starts; "
                    + nearest(rest[0], known),
                )
            places += self._places(name, where, [*keys, rest[0]], owner[rest[0]], rest[1:])
        return places

    @staticmethod
    def _numbers(name: str, table: str, text: str, count: int) -> list[int]:
        if text == "*":
            return list(range(count))
        first, _, last = text.partition("-")
        numbers = list(range(int(first) - 1, int(last or first)))
        if not numbers or numbers[0] < 0 or numbers[-1] >= count:
            raise refuse("--parameters", f"{name}: there are {count} of [[{table}]]: must be 1 to {count}, or *")
        return numbers

    @staticmethod
    def _places(name: str, where: str, keys: list[str | int], value: Any, element: list[str]) -> list[Place]:
        if isinstance(value, list) and _numbers_in(value):
            chosen = list(range(len(value))) if not element else [int(element[0]) - 1]
            if not 0 <= chosen[0] < len(value):
                raise refuse("--parameters", f"{name}: {where}: {keys[-1]} has {len(value)} numbers")
            return [Place((*keys, i), float(value[i])) for i in chosen]
        if not _numbers_in(value) or element:
            raise refuse("--parameters", f"{name}: {where}: {keys[-1]} = {value}: must be a number")
        return [Place(tuple(keys), float(value))]

    @staticmethod
    def _bounded(
        name: str, key: str, places: tuple[Place, ...], bounds: dict[str, tuple[float, float]], rows: str
    ) -> Parameter:
        start = places[0].start
        if key in UNIDENTIFIABLE[rows]:
            what = "static poses" if rows == "poses" else "motions"
            raise refuse("--parameters", f"{name}: {what} without contact do not tell it: must be another key")
        is_shift = key == "angle" or any(place.start == 0.0 for place in places)
        if name in bounds:
            low, high = bounds[name]
        elif key == "angle":
            low, high = start - SHIFT, start + SHIFT
        elif is_shift:
            raise refuse("--bounds", f"{name}: is missing: needed where a search starts at 0")
        else:
            low, high = sorted((start / RATIO, start * RATIO))
        if not low <= start <= high or low == high:
            raise refuse("--bounds", f"{name}: [{low:g}, {high:g}]: must contain {start:g}, where the search starts")
        return Parameter(name, places, is_shift, low, high)

    def with_values(self, parameters: Sequence[Parameter], values: Array) -> str:
        """The text of the file with these values, to six digits, and all that it says besides."""
        import tomlkit

        return tomlkit.dumps(_changed(copy.deepcopy(self.document), parameters, values, 6))

    def model(self, parameters: Sequence[Parameter], values: Array, timestep: float | None = None) -> Any:
        """The `mujoco.MjModel`, without the controller, with another time step than that of the file. Throws ModelError."""
        tables = _changed(copy.deepcopy(self.tables), parameters, values, 15)
        if timestep is not None:
            tables["timestep"] = timestep
        text = "\n".join(
            f"{key} = {toml(value)}" for key, value in tables.items() if key not in ("controller", "start")
        )
        return _compiled(self.file, text, tables.get("integrator", "discrete"), tables.get("timestep", 0.002))


def _changed(document: Any, parameters: Sequence[Parameter], values: Array, digits: int) -> Any:
    for parameter, value in zip(parameters, values, strict=True):
        for place, number in parameter.values(float(value)):
            owner: Any = document
            for key in place.keys[:-1]:
                owner = owner[key]
            owner[place.keys[-1]] = float(f"{number:.{digits}g}")
    return document


def _numbers_in(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(map(_numbers_in, value))
    return isinstance(value, int | float) and not isinstance(value, bool)


@cache
def _engine() -> Any:
    """MuJoCo with the plugin, also in a build tree of the program."""
    import mujoco

    if not Path(__file__).with_name("libtendril.so").exists():
        library = os.environ.get("TENDRIL_PLUGIN", "")
        if not Path(library).is_file():
            raise ModelError("libtendril.so: not found: set TENDRIL_PLUGIN to the file")
        mujoco.mj_loadPluginLibrary(library)
    return mujoco


def _compiled(file: Path, text: str, integrator: Any, timestep: Any) -> Any:
    mujoco = _engine()
    scene = f"""<mujoco><option integrator={quoteattr(str(integrator))} timestep={quoteattr(str(timestep))} cone="elliptic" impratio="10"/>
      <asset><model name="robot" file="robot.toml"/></asset><worldbody><attach model="robot" body="base" prefix="_"/></worldbody></mujoco>"""
    try:
        return mujoco.MjModel.from_xml_string(scene, {"robot.toml": text.encode()})
    except ValueError as error:
        said = re.sub(r"^.*?tendril: robot\.toml(:\d+)?: ?", "", str(error).splitlines()[0])
        raise refuse(file, said) from None


# ---- model ----------------------------------------------------------------------------------------------------------


def points_of(model: Any, markers: dict[str, Marker]) -> tuple[list[tuple[int, Array]], float]:
    """Bodies and places of the markers in a model, and the length of the straight arm."""
    mujoco = _engine()
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


@dataclass
class Prediction:
    places: Array  # (n, markers, 3), of the model, in its frame
    slopes: Array  # (n, markers, 3, parameters)
    failed: npt.NDArray[np.bool_]  # (n): no equilibrium found


@dataclass
class Fit:
    """A least-squares problem over some rows. An unknown is a parameter over its scale; those of the frame come after them."""

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
        _, self.length = points_of(self.robot.model([], np.empty(0)), self.data.markers)

    @property
    def unknowns(self) -> list[str]:
        frame = [f"frame.{name}_{axis}" for name in ("offset", "rotation") for axis in AXES]
        return [*(parameter.name for parameter in self.parameters), *frame[: self.frame_count]]

    @property
    def units(self) -> Array:
        """What one of the solver's unknowns is."""
        return np.array([*self.scales, *([self.length] * 3), *([1.0] * 3)][: len(self.scales) + self.frame_count])

    def _statics(self, values: Array) -> Any:
        from tendril._statics import Statics

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
        """Of a model with these values of the parameters."""
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
        "no equilibrium found under the first row, or the simulation diverges: are signs and units right, the time step small?"
    )

    def __post_init__(self) -> None:
        from tendril._motions import check_times

        super().__post_init__()
        if not self.timestep:
            self.timestep = float(self.robot.model([], np.empty(0)).opt.timestep)
        check_times(self.data, self.timestep)

    def predict(self, values: Array, rows: Sequence[int], slopes: bool = True) -> Prediction:
        from tendril._motions import inputs, simulate

        count = len(self.parameters) if slopes else 0
        ends = self._sides(values, count)
        wanted = [
            values,
            *(np.where(np.arange(len(values)) == p, end, values) for p in range(count) for end in ends[p]),
        ]
        motions = inputs(self.data, rows, self.timestep, self.between)
        models = [self.robot.model(self.parameters, value, self.timestep) for value in wanted for _ in motions]

        def run(i: int) -> Array | None:
            return simulate(models[i], points_of(models[i], self.data.markers)[0], motions[i % len(motions)])

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            try:
                simulated = list(pool.map(run, range(len(models))))
            except ValueError as error:
                raise refuse(self.robot.file, f"the model {error} to be identified") from None
        shape = (len(rows), len(self.data.markers), 3)
        places = np.full((len(wanted), *shape), np.nan)
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
class Result:
    """What was found, for rows that were fitted and rows held out."""

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


def identify(fit: Fit, held_out: npt.NDArray[np.bool_], starts: int, seed: int) -> Result:
    """Fits the rows that are not held out. Throws ModelError for what cannot be identified."""
    from scipy.optimize import least_squares
    from scipy.special import stdtrit

    data = fit.data
    train, rest = [int(i) for i in np.flatnonzero(~held_out)], [int(i) for i in np.flatnonzero(held_out)]
    seen = data.seen[train] & (data.weight[train] > 0)[:, None]
    numbers, unknowns = 3 * int(seen.sum()), len(fit.unknowns)
    if numbers <= unknowns:
        raise refuse(
            data.file,
            f"{len(train)} {data.what} to fit, {numbers} numbers measured: must be more than the {unknowns} unknowns",
        )
    weights = np.sqrt(data.weight[train])[:, None, None] * np.ones_like(data.measured[train])
    used = np.broadcast_to(seen[..., None], weights.shape)
    frame = np.zeros(fit.frame_count)
    before_x = np.concatenate((fit.base / fit.scales, frame))
    fit.distances(before_x, [*train, *rest])  # refuses what has no equilibrium
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
        x = before_x.copy()
        if number:
            for p, parameter in enumerate(fit.parameters):
                draw = random.uniform(-1, 1)
                value = parameter.start + draw * SHIFT / 2 if parameter.is_shift else parameter.start * SPREAD**draw
                x[p] = min(max(value, parameter.low), parameter.high) / parameter.scale
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
    return Result(
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
    """Refuses bounds beyond what the robot file allows."""
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


# ---- results --------------------------------------------------------------------------------------------------------


def summary(result: Result) -> dict[str, Any]:
    """For --json."""
    names, values = result.fit.unknowns, result.values
    parameters = []
    for i, name in enumerate(names):
        entry: dict[str, Any] = {
            "name": name,
            "value": values[i],
            "standard_error": result.errors[i],
            "interval": [values[i] - result.student * result.errors[i], values[i] + result.student * result.errors[i]],
            "start": (result.before_x * result.fit.units)[i],
        }
        if i < len(result.fit.parameters):
            entry |= {
                "bounds": [result.fit.parameters[i].low, result.fit.parameters[i].high],
                "at_bound": result.at_bound(i),
            }
        parameters.append(entry)

    def errors(before: Array, after: Array, rows: list[int]) -> dict[str, Any]:
        return {
            result.fit.data.what: len(rows),
            "rms_before": rms(before),
            "rms_after": rms(after),
            "median_after": float(np.median(after)),
            "largest_after": float(after.max()),
        }

    parts = zip(("fitted", "held_out"), result.before, result.after, result.rows, strict=True)
    return {
        "robot": str(result.fit.robot.file),
        "data": str(result.fit.data.file),
        "parameters": parameters,
        "correlations": result.correlations.tolist(),
        "starts": result.costs,
        "errors_m": {name: errors(before, after, rows) for name, before, after, rows in parts if rows},
    }


def text(result: Result) -> str:
    names = result.fit.unknowns
    width = max(map(len, names))
    before, values = result.before_x * result.fit.units, result.values
    lines = [f"{'':{width}}  {'start':>10}  {'fitted':>10}  {'95 %':>11}"]
    for i, name in enumerate(names):
        mark = "  at its bound" if i < len(result.fit.parameters) and result.at_bound(i) else ""
        lines.append(
            f"{name:{width}}  {before[i]:>10.5g}  {values[i]:>10.5g}  +-{result.student * result.errors[i]:>9.2g}{mark}"
        )
    upper = np.triu(np.abs(result.correlations), 1)
    if upper.any():
        a, b = divmod(int(np.argmax(upper)), len(names))
        lines.append(f"largest correlation: {result.correlations[a, b]:+.2f}, {names[a]} and {names[b]}")
    for what, first, then, rows in zip(("fitted", "held out"), result.before, result.after, result.rows, strict=True):
        if rows:
            lines.append(
                f"{what}, {len(rows)} {result.fit.data.what}: rms error of points {1e3 * rms(first):.3g} mm -> {1e3 * rms(then):.3g} mm, "
                f"largest {1e3 * first.max():.3g} -> {1e3 * then.max():.3g} mm"
            )
    least = min(result.costs)
    if len(result.costs) > 1:
        lines.append(
            f"{sum(cost < 1.01 * least for cost in result.costs)} of {len(result.costs)} starts came to this minimum"
        )
    return "\n".join(lines)


def draw(result: Result, out: Path) -> None:
    """Points before and after in two views, and how many have which error; of motions coordinates over time."""
    import matplotlib
    import matplotlib.style
    from matplotlib.figure import Figure

    for folder in (
        Path(__file__).parent / "share/tendril",
        Path(__file__).parents[2] / "apps/report",
        Path(__file__).parents[2],
    ):
        if (folder / "tendril.mplstyle").is_file():
            matplotlib.style.use(folder / "tendril.mplstyle")
            break
    is_motion = result.fit.data.time is not None
    figure = Figure(figsize=(12 if is_motion else 10, 3.6), layout="constrained")
    axes = figure.subplots(1, 4 if is_motion else 3)
    (_draw_motion if is_motion else _draw_places)(result, axes)
    axes[0].legend()
    for distances, color, when in ((result.before, "C1", "before"), (result.after, "C0", "after")):
        for values, dashes, which in zip(distances, ("-", "--"), ("fitted", "held out"), strict=True):
            if len(values):
                axes[-1].plot(
                    1e3 * np.sort(values),
                    np.arange(1, len(values) + 1) / len(values) * 100,
                    dashes,
                    color=color,
                    label=f"{when}, {which}",
                )
    axes[-1].set(xlabel="error of a point, mm", ylabel="points with at most that, %", xlim=(0, None), ylim=(0, 100))
    axes[-1].legend()
    part = out.with_name(out.name + ".part")
    matplotlib.rcParams["svg.hashsalt"] = "identify"
    figure.savefig(part, format=out.suffix[1:], dpi=150, metadata={"Date": None} if out.suffix == ".svg" else None)
    os.replace(part, out)


def _compared(result: Result) -> Iterator[tuple[Array, str, str]]:
    """All points of the model, (n, markers, 3) mm, before and after, with color and label."""
    data = result.fit.data
    for x, label, color in ((result.before_x, "before", "C1"), (result.x, "after", "C0")):
        yield 1e3 * (data.measured + result.fit.residuals(x, range(data.count), slopes=False)[0]), color, label


def _draw_places(result: Result, axes: Any) -> None:
    seen = result.fit.data.seen
    measured = 1e3 * result.fit.data.measured[seen]
    for places, color, label in _compared(result):
        points = places[seen]
        for axis, (i, j) in zip(axes, ((0, 2), (0, 1)), strict=False):
            axis.plot(points[:, i], points[:, j], ".", color=color, markersize=4, label=label)
    for axis, (i, j) in zip(axes, ((0, 2), (0, 1)), strict=False):
        axis.plot(
            measured[:, i],
            measured[:, j],
            "o",
            color="0.3",
            markersize=5,
            fillstyle="none",
            markeredgewidth=0.7,
            label="measured",
        )
        axis.set(xlabel=f"{AXES[i]}, mm", ylabel=f"{AXES[j]}, mm", aspect="equal")


def _draw_motion(result: Result, axes: Any) -> None:
    """Of the point that moves most, the motions one after another."""
    data = result.fit.data
    assert data.time is not None
    k = int(
        np.argmax(
            [
                np.ptp(data.measured[data.seen[:, k], k], axis=0).max() if data.seen[:, k].any() else 0.0
                for k in range(len(data.markers))
            ]
        )
    )
    firsts = np.flatnonzero(np.diff(data.motion, prepend=-1))
    ends = np.cumsum(
        [0.0, *(data.time[rows[-1]] - data.time[rows[0]] for rows in np.split(np.arange(data.count), firsts[1:]))]
    )
    time = data.time - data.time[firsts][data.motion] + ends[data.motion]
    seen = data.seen[:, k]
    held_out = np.zeros(data.count, dtype=bool)
    held_out[result.rows[1]] = True
    compared = list(_compared(result))
    for i, axis in enumerate(axes[:3]):
        for rows, color, label in (
            (seen & ~held_out, "0.3", "measured, fitted"),
            (seen & held_out, "C2", "measured, held out"),
        ):
            if rows.any():
                axis.plot(
                    time[rows],
                    1e3 * data.measured[rows, k, i],
                    "o",
                    color=color,
                    markersize=3,
                    fillstyle="none",
                    markeredgewidth=0.6,
                    label=label,
                )
        for places, color, label in compared:
            for number in range(len(firsts)):
                rows = seen & (data.motion == number)
                axis.plot(
                    time[rows], places[rows, k, i], color=color, linewidth=1, label=label if number == 0 else None
                )
        for end in ends[1:-1]:
            axis.axvline(end, color="0.8", linewidth=0.8)
        axis.set(xlabel="t, s", ylabel=f"{list(data.markers)[k]}, {AXES[i]}, mm")


# ---- command --------------------------------------------------------------------------------------------------------


def _number(option: str, text: str, kind: type = float) -> Any:
    try:
        value = kind(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise refuse(option, f"{text}: must be a {'whole ' if kind is int else ''}number")
    return value


def _bounds(texts: Sequence[str], parameters: Sequence[str]) -> dict[str, tuple[float, float]]:
    bounds = {}
    for text in texts:
        name, equals, ends = text.partition("=")
        numbers = ends.split(",")
        if not equals or len(numbers) != 2:
            raise refuse("--bounds", f"{text}: must be PARAMETER=LOW,HIGH")
        if name not in parameters:
            raise refuse("--bounds", f"{name}: is not among --parameters: {nearest(name, parameters)}")
        bounds[name] = (_number("--bounds", numbers[0]), _number("--bounds", numbers[1]))
    return bounds


def held_out_rows(data: Data, share: float, seed: int) -> npt.NDArray[np.bool_]:
    """Those of the column `held_out`, or a share: of poses drawn, of every motion the last."""
    if data.held_out.any():
        return data.held_out
    rows = np.zeros(data.count, dtype=bool)
    if data.time is not None:
        for number in range(int(data.motion[-1]) + 1):
            own = np.flatnonzero(data.motion == number)
            rows[own[len(own) - round(share * len(own)) :]] = True
        return rows
    rows[np.random.default_rng(seed).permutation(data.count)[: round(share * data.count)]] = True
    return rows


def main(words: Sequence[str]) -> int:
    """`tendril identify`."""
    from tendril._command import parser

    command = parser(
        "identify",
        "Fits keys of a robot file to recorded static poses or motions (docs/identification.md).",
        "Example: tendril identify arm.toml poses.csv --parameters section.*.bending_stiffness -o fitted.toml",
    )
    command.add_argument("robot", type=Path, metavar="ROBOT.toml")
    command.add_argument(
        "data",
        type=Path,
        nargs="+",
        metavar="DATA.csv",
        help="commands and measured points, a pose a row; with a column t a motion, a sample a row",
    )
    command.add_argument(
        "--parameters",
        required=True,
        metavar="KEY,...",
        help="section.*.KEY: one factor for all, section.2.KEY, tendon.1-3.KEY, base.KEY",
    )
    command.add_argument(
        "--bounds", action="append", default=[], metavar="KEY=LOW,HIGH", help="[a tenth to ten times; angles 0.5 rad]"
    )
    command.add_argument("--points", type=Path, metavar="FILE.csv", help="places of the points: point, arc, x, y, z")
    command.add_argument(
        "--align", default="none", help="frame of the measurements: none, or offset or pose, identified too [none]"
    )
    command.add_argument("--gravity", default="0,0,-9.81", metavar="X,Y,Z", help="in the base frame, m/s^2 [0,0,-9.81]")
    command.add_argument(
        "--held-out",
        default="0.25",
        metavar="SHARE|FILE.csv,...",
        help="not fitted, if no column held_out: of the poses; of motions the last part; or other files [0.25]",
    )
    command.add_argument("--timestep", metavar="S", help="of the simulation of motions [that of the robot file]")
    command.add_argument(
        "--between", default="hold", help="rows of a motion commands and loads hold, or are linear [hold]"
    )
    command.add_argument("--starts", default="3", metavar="N", help="[3]")
    command.add_argument("--seed", default="0", help="of the share held out and the starts [0]")
    command.add_argument(
        "-o", "--output", type=Path, metavar="FITTED.toml", help="the robot file with the fitted values"
    )
    command.add_argument("--json", type=Path, metavar="FILE", help="also writes all numbers")
    command.add_argument("--plot", type=Path, metavar="FILE.svg", help="before and after; .svg or .png")
    command.add_argument("--quiet", action="store_true", help="print nothing")
    options = command.parse_args(words)
    if options.align not in ALIGNMENTS:
        raise refuse("--align", f"{options.align}: must be one of {', '.join(ALIGNMENTS)}")
    if options.plot is not None and options.plot.suffix not in (".svg", ".png"):
        raise refuse(options.plot, f'extension: "{options.plot.suffix}": must be .svg or .png')
    for file in (options.output, options.json, options.plot):
        if file is not None and not file.parent.is_dir():
            raise refuse(file, f"{file.parent}: no such folder")
    gravity = [_number("--gravity", word) for word in options.gravity.split(",")]
    if len(gravity) != 3:
        raise refuse("--gravity", f"{options.gravity}: must be three numbers")
    if options.between not in BETWEEN:
        raise refuse("--between", f"{options.between}: must be one of {', '.join(BETWEEN)}")
    timestep = 0.0
    if options.timestep is not None:
        timestep = _number("--timestep", options.timestep)
        if not 0 < timestep <= 0.1:
            raise refuse("--timestep", f"{options.timestep}: must be in (0, 0.1] s")
    others = [Path(word) for word in options.held_out.split(",")] if options.held_out.endswith(".csv") else []
    share, starts = 0.0 if others else _number("--held-out", options.held_out), _number("--starts", options.starts, int)
    seed = _number("--seed", options.seed, int)
    if not 0 <= share < 1:
        raise refuse("--held-out", f"{options.held_out}: must be in [0, 1)")
    if not 1 <= starts <= 1000 or seed < 0:
        raise refuse(
            "--starts" if starts < 1 or starts > 1000 else "--seed",
            "must be 1 to 1000" if seed >= 0 else "must be >= 0",
        )
    try:
        result = run(
            options.robot,
            options.data,
            options.parameters.split(","),
            options.bounds,
            options.points,
            options.align,
            gravity,
            share,
            starts,
            seed,
            others,
            timestep,
            options.between,
        )
        if options.plot is not None:
            draw(result, options.plot)
    except ImportError as error:
        if error.name and error.name.split(".")[0] in ("scipy", "tomlkit", "matplotlib"):
            raise ModelError(
                f'identify: Python module {error.name} is missing: pip install "tendril-mujoco[identify]"'
            ) from None
        raise
    if options.output is not None:
        fit = result.fit
        options.output.write_text(
            fit.robot.with_values(fit.parameters, result.values[: len(fit.parameters)]), encoding="utf-8"
        )
    if options.json is not None:
        options.json.write_text(json.dumps(summary(result), indent=1) + "\n", encoding="utf-8")
    if not options.quiet:
        print(text(result))
    return 0


def run(
    robot_file: Path,
    data_files: Sequence[Path],
    names: Sequence[str],
    bound_texts: Sequence[str] = (),
    points: Path | None = None,
    align: str = "none",
    gravity: Sequence[float] = (0, 0, -9.81),
    share: float = 0.25,
    starts: int = 3,
    seed: int = 0,
    held_out_files: Sequence[Path] = (),
    timestep: float = 0.0,
    between: str = "hold",
) -> Result:
    """What the command does. Throws ModelError, OSError."""
    robot = RobotFile(robot_file)
    if len(set(names)) < len(names):
        raise refuse("--parameters", f"{max(names, key=names.count)}: must be named once")
    model = robot.model([], np.empty(0))
    bounds = _bounds(bound_texts, names)
    markers = {} if points is None else read_markers(points)
    tables = [read_data(file, model, gravity, markers) for file in [*data_files, *held_out_files]]
    for table in tables[len(data_files) :]:
        table.held_out[:] = True
    data = joined(tables)
    parameters = [robot.parameter(name, bounds, data.what) for name in names]
    _, length = points_of(model, data.markers)
    for table in tables:
        check_units(table, model, length)
    fit = (
        Fit(robot, data, parameters, align)
        if data.time is None
        else MotionFit(robot, data, parameters, align, {}, timestep, between)
    )
    return identify(fit, held_out_rows(data, share, seed), starts, seed)
