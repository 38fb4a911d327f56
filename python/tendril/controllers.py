"""`tendril.controller`: a class in Python becomes a controller, as a plugin of MuJoCo; `tendril.predictive_cost`: a
function becomes the cost of one."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from tendril._core import ModelError
from tendril._program import registered
from tendril._sim import register_controller
from tendril._toml import plain_value

#: (default, unit, meaning), or with what is allowed: (low, high) of a number, None for no end; words of a text.
Setting = tuple[Any, str, str] | tuple[Any, str, str, tuple[Any, ...]]
_Row = tuple[str, str, str, str, float | None, float | None, str, str]
_Class = TypeVar("_Class", bound=type)
_Array = npt.NDArray[np.float64]
_Cost = TypeVar("_Cost", bound=Callable[..., npt.ArrayLike])


def controller(
    name: str,
    *,
    kind: str,
    settings: Mapping[str, Setting] | None = None,
    quantities: Mapping[str, tuple[str, str]] | None = None,
    target: str | None = "target",
    obstacles: bool | None = None,
) -> Callable[[_Class], _Class]:
    """Registers a class as the controller `name`: `plugin = "my.reach"` in a robot file, `--controller my.reach`.

    The class has `__init__(self, context)`, `update(self, measurement, memory, next_memory, command, report)` and may
    have `memory_size` (numbers that it keeps between steps, default 0), `reset(self, memory)` (their start values,
    default zeros), of an arm `senses_contacts = True`, `commands = "moments"` or `"tensions"` of an arm, `"torques"` of
    a snake or of joints on a platform (default "setpoints": the coordinates `command.q`), and the line that is drawn,
    (points, 3): `path(self, memory)` of an arm, in its base frame, `path(self, measurement, memory)` of a snake, in the
    world frame. `files = ["weights.npz"]` names the files that the class reads, relative to its own file: they must be
    there, and a sweep counts them among its inputs. `update` is a function of its arguments: it may be called several
    times in a step, and what lasts is in `next_memory`, a copy of `memory` on entry. An exception stops the controller:
    one warning with file and line, status 5, the servos hold; in `__init__` the scene is not loaded.

    :param kind: of the robots: "continuum" (`ArmContext`, `ArmMeasurement`, `ArmCommand`), "snake" (`Snake...`),
        "mobile" (`Mobile...`: joints on a platform), "platform" (`PlatformContext`: a platform with a continuum arm)
    :param settings: own settings: name to (default, unit, meaning), or (default, unit, meaning, allowed). The type is
        the default's: float, int, bool, str, or a list of floats, which must be empty by default. `allowed` is
        (low, high) of numbers, None for no end, or the words that a text may be
    :param quantities: own quantities, which become sensors: name to (unit, meaning)
    :param target: default of the setting `target`, the mocap body that `measurement.target` is of; None: no such
    setting
    :param obstacles: default of the setting `avoidance` of an arm or a platform: whether
        `measurement.obstacles` and `context.obstacles` are those of the scene, which the setting `obstacles` chooses
        (docs/reference/controllers.md); None: no such settings
    :raises ModelError: wrong names or settings; a name that is taken by another plugin, or was registered with other
        settings. The same name with the same settings replaces the class for data made later
    """
    rows = _setting_rows(name, kind, settings or {}, target, obstacles)
    own = _quantity_rows(name, quantities or {})

    def register(cls: _Class) -> _Class:
        if not inspect.isclass(cls) or not callable(getattr(cls, "update", None)):
            raise ModelError(f"{name}: {cls!r}: must be a class with the function update")
        _require_signatures(name, cls, kind)
        _require_files(name, cls)
        register_controller(name, kind, cls, rows, own, _source_of(cls), describe)
        registered.add(name)
        return cls

    return register


def _setting_rows(
    name: str, kind: str, settings: Mapping[str, Setting], target: str | None, obstacles: bool | None
) -> list[_Row]:
    """Returns the rows of own settings, of the target and of the choice of obstacles."""
    rows = [_row(name, key, value) for key, value in settings.items()]
    if target is not None:
        # A text of this name among the settings is the target's, any other is the user's own.
        rows = [("target", "body", *row[2:]) if row[:2] == ("target", "text") else row for row in rows]
        if all(row[0] != "target" for row in rows):
            rows.append(("target", "body", "", target, None, None, "", "mocap body, the target"))
    if obstacles is not None:
        if kind == "snake":
            raise ModelError(f'{name}: obstacles = {obstacles!r}: must be None for kind = "{kind}"')
        default = str(bool(obstacles)).lower()
        rows.append(("avoidance", "flag", "", default, None, None, "", "measure the scene's obstacles"))
        meaning = "geoms and bodies that are obstacles; default: all that can collide with the robot"
        rows.append(("obstacles", "obstacles", "", "", None, None, "", meaning))
    return rows


def _quantity_rows(name: str, quantities: Mapping[str, tuple[str, str]]) -> list[tuple[str, str, str]]:
    """Returns the rows of own quantities: name, unit, meaning."""
    for key, value in quantities.items():
        if not isinstance(value, tuple) or len(value) != 2:
            raise ModelError(f"{name}: quantities: {key} = {value!r}: must be (unit, meaning)")
    return [(key, unit, meaning) for key, (unit, meaning) in quantities.items()]


def _source_of(cls: Any) -> str:
    """Its file; empty if it has none that could be kept, such as in a notebook."""
    try:
        file = Path(inspect.getsourcefile(cls) or "").absolute()
    except TypeError:
        return ""
    return str(file) if file.is_file() else ""


def _require_files(name: str, cls: type) -> None:
    files = getattr(cls, "files", [])
    if not isinstance(files, list | tuple) or not all(isinstance(file, str) for file in files):
        raise ModelError(f"{name}: files = {files!r}: must be a list of names")
    folder = Path(_source_of(cls)).parent
    for file in files:
        if not (folder / file).is_file():
            raise ModelError(f"{name}: files: {folder / file}: No such file")


def _row(controller_name: str, key: str, value: Setting) -> _Row:
    def refuse(what: str, allowed: str) -> ModelError:
        return ModelError(f"{controller_name}: settings: {key} = {what}: must be {allowed}")

    if (
        not isinstance(value, tuple)
        or len(value) not in (3, 4)
        or not all(isinstance(text, str) for text in value[1:3])
    ):
        raise refuse(repr(value), "(default, unit, meaning) or (default, unit, meaning, allowed)")
    default, *allowed = (plain_value(one) for one in (value[0], *(value[3] if len(value) == 4 else ())))
    unit, meaning = value[1:3]
    if isinstance(default, bool):
        return key, "flag", unit, str(default).lower(), None, None, "", meaning
    if isinstance(default, str):
        if not allowed:
            return key, "text", unit, default, None, None, "", meaning
        if default != allowed[0] or any(len(str(word).split()) != 1 for word in allowed):
            raise refuse(repr(default), f"the first of the words {', '.join(map(str, allowed))}")
        return key, "choice", unit, "", None, None, " ".join(allowed), meaning
    low, high = allowed if len(allowed) == 2 else (None, None)
    if isinstance(default, int | float):
        kind = "integer" if isinstance(default, int) else "number"
        return key, kind, unit, repr(default), low, high, "", meaning
    if isinstance(default, list | tuple) and not default:
        return key, "numbers", unit, "", None, None, "", meaning
    raise refuse(repr(default), "a number, a truth value, a text or an empty list")


@dataclass(frozen=True)
class Rollouts:
    """N plans of an arm, predicted over H steps: views, valid during the call, which cannot be written to.

    In the frame of the arm's base, m and rad; prediction k is (k + 1) `timestep` ahead.
    """

    q: _Array  # (N, H, n): smooth coordinates of the body
    feed: _Array  # (N, H): of the base
    tips: _Array  # (N, H, 3): positions
    directions: _Array  # (N, H, 3): unit z axes of the tips
    clearances: _Array  # (N, H): between body and obstacles; `obstacle_margin` where it is more
    rates: _Array  # (N, H): of the commands, over the largest
    costs: _Array  # (N,): those of the settings (docs/theory/control.md, "Prediction")
    targets: _Array  # (H, 3): positions
    target_directions: _Array  # (H, 3): unit z axes
    settings: dict[str, Any]  # own ones
    timestep: float  # from prediction to prediction [s]


def predictive_cost(name: str, *, settings: Mapping[str, Setting] | None = None) -> Callable[[_Cost], _Cost]:
    """Registers a function as the cost of the controller `name`, which is `tendril.predictive` apart from that.

    `cost(rollouts, measurement)` returns the costs of the N plans of `Rollouts`; N is the number of samples in one
    call, and 1, for their mean, in the next. It is a function of its arguments. The controller has the settings of
    `tendril.predictive`, with the default `straight_first = false`. An exception stops it, as one in
    `tendril.controller`.

    :param settings: own settings, as of `tendril.controller`
    :raises ModelError: wrong names or settings, or a name that is taken
    """
    rows = _setting_rows(name, "continuum", settings or {}, None, None)

    def register(cost: _Cost) -> _Cost:
        if not inspect.isfunction(cost):
            raise ModelError(f"{name}: {cost!r}: must be a function")
        try:
            inspect.signature(cost).bind("rollouts", "measurement")
        except TypeError as error:
            wrong = f"{cost.__name__}{inspect.signature(cost)}: must be {cost.__name__}(rollouts, measurement): {error}"
            raise ModelError(f"{_place_of(cost)}: {name}: {wrong}") from None
        register_controller(name, "continuum", cost, rows, [], _source_of(cost), describe, Rollouts)
        registered.add(name)
        return cost

    return register


#: What the functions of a class are called with, besides self.
_ARGUMENTS = {
    "__init__": ("context",),
    "update": ("measurement", "memory", "next_memory", "command", "report"),
    "reset": ("memory",),
}


def _require_signatures(name: str, cls: type, kind: str) -> None:
    path = {"path": ("measurement", "memory") if kind == "snake" else ("memory",)}
    for function, arguments in (_ARGUMENTS | path).items():
        found = inspect.getattr_static(cls, function, None)
        itself = () if isinstance(found, staticmethod | classmethod) else (None,)
        try:
            given = inspect.signature(getattr(cls, function))
        except (AttributeError, TypeError, ValueError):  # the class has none, or it is not in Python
            continue
        try:
            given.bind(*itself, *arguments)
        except TypeError as error:
            raise ModelError(
                f"{_place_of(found, cls)}: {name}: {cls.__name__}.{function}{given}: must be "
                f"{function}(self, {', '.join(arguments)}): {error}"
            ) from None


def _place_of(thing: Any, cls: type | None = None) -> str:
    """`file:line`, of a class if the thing has none; its name if that has none."""
    for one in (thing, cls):
        try:
            return f"{inspect.getsourcefile(one)}:{inspect.getsourcelines(one)[1]}"  # type: ignore[arg-type]
        except (TypeError, OSError):
            continue
    return getattr(cls or thing, "__name__", str(thing))


def describe(error: BaseException, where: TracebackType | None, cls: type | None = None) -> str:
    """`file:line: Type: message`, one line: the innermost line that is not of an installed package, or the class."""
    text = " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")
    if isinstance(error, AttributeError) and text.endswith("has no setter"):
        text += ": an array is written by its numbers, such as command.q[:] = ..."
    frames = traceback.extract_tb(where)
    own = [frame for frame in frames if "-packages" not in frame.filename and not frame.filename.startswith("<frozen")]
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}: {type(error).__name__}: {error.msg}"
    if not (own := own or list(frames)):
        return f"{_place_of(cls)}: {text}" if cls else text
    return f"{own[-1].filename}:{own[-1].lineno}: {text}"


__all__ = ["Rollouts", "controller", "predictive_cost"]
