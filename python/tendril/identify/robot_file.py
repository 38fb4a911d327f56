"""The robot file that is identified: its keys as parameters, and its model with other values."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np
import numpy.typing as npt

from tendril._errors import refuse
from tendril._meant import meant_or_all
from tendril._program import OWN_LIBRARY, find_library
from tendril._reading import parse_toml, read_text
from tendril._toml import toml

Array = npt.NDArray[np.float64]
UNIDENTIFIABLE = {
    "poses": ("links", "feed", "friction"),
    "samples": ("links", "feed"),
}  #: keys that such data do not tell
MOST_ROBOT = 1 << 17  #: bytes of a robot file; tomlkit is slow
RATIO, SHIFT = 10.0, 0.5  #: default bounds: a tenth to ten times the value; of angles, rad


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
        """A change of it that is of order 1 compared with it."""
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
        text = read_text(file, MOST_ROBOT)
        parse_toml(text, file)
        try:
            self.document = tomlkit.parse(text)
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
                + meant_or_all(table, tables),
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
                    + meant_or_all(rest[0], known),
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
        """The `mujoco.MjModel`, without the controller, with another time step than that of the file. Throws
        ModelError."""
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
def engine() -> Any:
    """MuJoCo with the plugin, also in a build tree of the program."""
    import mujoco

    library = find_library()
    if library != OWN_LIBRARY:  # which `import mujoco` has loaded
        mujoco.mj_loadPluginLibrary(str(library))
    return mujoco


def _compiled(file: Path, text: str, integrator: Any, timestep: Any) -> Any:
    mujoco = engine()
    scene = f"""<mujoco>
<option integrator={quoteattr(str(integrator))} timestep={quoteattr(str(timestep))} cone="elliptic" impratio="10"/>
      <asset><model name="robot" file="robot.toml"/></asset><worldbody><attach model="robot" body="base" prefix="_"/>
</worldbody></mujoco>"""
    try:
        return mujoco.MjModel.from_xml_string(scene, {"robot.toml": text.encode()})
    except ValueError as error:
        said = re.sub(r"^.*?tendril: robot\.toml(:\d+)?: ?", "", str(error).splitlines()[0])
        raise refuse(file, said) from None
