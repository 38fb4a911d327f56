"""Layout of a recording (docs/reference/recording_file.md): checks of datasets, attributes and texts before use."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tendril._errors import ModelError
from tendril._reading import (
    ANYTHING,
    FLAG,
    NUMBER,
    TEXT,
    Kind,
    ListOf,
    Shape,
    Table,
    integer,
    one_of,
    parse_json,
    parse_toml,
    require,
)

if TYPE_CHECKING:
    import h5py

MOST_ROWS = 1 << 40
LATEST = 1e8  #: s; a run has at most 1e6
_MOST_TABLE = 1 << 24  # bytes of a table of names
_FEW_BYTES = 1 << 22  # of a reading that needs no further check
_EXPANSION = 1032  # of deflate, at most
_TIMESTEPS = (1e-9, 1e3)  # s

#: Type (of NumPy) and axes behind the rows; None: any size.
_COLUMNS: dict[str, tuple[str, tuple[int | None, ...]]] = {
    "step": ("i", ()),
    "time": ("f", ()),
    "step_time_us": ("f", ()),
    "qpos": ("f", (None,)),
    "qvel": ("f", (None,)),
    "act": ("f", (None,)),
    "ctrl": ("f", (None,)),
    "sensordata": ("f", (None,)),
    "plugin_state": ("f", (None,)),
    "mocap/pos": ("f", (None, 3)),
    "mocap/quat": ("f", (None, 4)),
    "contact/start": ("i", ()),
    "contact/count": ("i", ()),
    "contact/geom1": ("i", ()),
    "contact/geom2": ("i", ()),
    "contact/distance": ("f", ()),
    "contact/position": ("f", (3,)),
    "contact/force": ("f", (3,)),
    "integration/row": ("i", ()),
    "integration/state": ("f", (None,)),
    "model_mjb": ("u", ()),
}
_JOINT_SIZES = {"free": (7, 6), "ball": (4, 3), "slide": (1, 1), "hinge": (1, 1)}  # in qpos and qvel


# ---- datasets and attributes ----------------------------------------------------------------------------------------


def require_dataset(dataset: Any, name: str) -> h5py.Dataset:
    """Returns the dataset. Throws ValueError unless its type and shape are those of the layout, and its bytes are in
    this file."""
    import h5py

    if not isinstance(dataset, h5py.Dataset):
        raise ValueError(f"{name}: is missing")
    if name in _COLUMNS:
        kind, axes = _COLUMNS[name]
        fits = dataset.dtype.kind == kind and len(dataset.shape or ()) == 1 + len(axes)
        fits = fits and all(want in (None, size) for size, want in zip(dataset.shape[1:], axes, strict=True))
    elif name == "rows":
        fits = dataset.dtype.kind == "i" and dataset.shape == ()
    else:
        fits = dataset.dtype.kind == "S" and dataset.shape == (1,)
    if not fits:
        raise ValueError(f"{name}: has shape {dataset.shape} and type {dataset.dtype}, which no recording has")
    if dataset.is_virtual or dataset.external:
        raise ValueError(f"{name}: is kept in another file")
    size = int(math.prod(dataset.shape)) * dataset.dtype.itemsize
    if size > _FEW_BYTES and size > _EXPANSION * dataset.id.get_storage_size():
        raise ValueError(f"{name}: has {size} bytes, at most {_EXPANSION} times the bytes stored are possible")
    return dataset


def plain_attribute(value: Any) -> Any:
    """Returns an attribute as a number or text. Throws ValueError for others."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, str):
        return value
    if getattr(value, "shape", None) != () or value.dtype.kind not in "iuf":
        raise ValueError("an attribute is neither a number nor a text")
    return value.item()


_ATTRIBUTES = Table(
    {
        "timestep": Kind(
            f"a time in [{_TIMESTEPS[0]:g}, {_TIMESTEPS[1]:g}] s",
            lambda value: isinstance(value, float) and _TIMESTEPS[0] <= value <= _TIMESTEPS[1],
        ),
        "outcome": TEXT,
    },
    {"seed": integer(), "integration_interval": integer(1)},
)


def require_attributes(attributes: dict[str, Any]) -> None:
    require(attributes, _ATTRIBUTES, "attributes")


# ---- texts ----------------------------------------------------------------------------------------------------------

_TABLES: dict[str, Shape] = {
    "sensors": Table({"name": TEXT, "address": integer(), "dimension": integer(), "quantity": TEXT, "unit": TEXT}),
    "joints": Table({"name": TEXT, "type": one_of(*_JOINT_SIZES), "qpos_address": integer(), "dof_address": integer()}),
    "actuators": Table({"name": TEXT, "address": integer(), "dimension": integer()}),
    "bodies": Table({"name": TEXT, "parent": integer()}),
    "geoms": Table({"name": TEXT, "body": integer(), "robot": FLAG}),
    "robots": Table({"prefix": TEXT, "body": integer()}, {"suffix": TEXT}),
}
_SETTINGS = ListOf(Table({"key": TEXT, "value": ANYTHING, "origin": TEXT}))
_TIME = Kind("a time", lambda value: isinstance(value, int | float) and not isinstance(value, bool) and value == value)
_FAULTS = ListOf(
    Table({"kind": TEXT, "name": TEXT}, {"channel": TEXT, "start": NUMBER, "end": _TIME, "duration": NUMBER})
)


def read_tables(texts: Mapping[str, str], sizes: Mapping[str, int]) -> dict[str, list[dict[str, Any]]]:
    """The tables of names, whose numbers are columns of datasets of these sizes and rows of each other. Throws
    ModelError."""
    tables: dict[str, list[dict[str, Any]]] = {}
    for name, row in _TABLES.items():
        text = texts.get(name, "[]")
        if len(text) > _MOST_TABLE:
            raise ModelError(f"{name}: is larger than {_MOST_TABLE >> 20} MiB")
        tables[name] = parse_json(text, name)
        require(tables[name], ListOf(row), name)

    def within(name: str, number: int, last: int, size: int) -> None:
        if last > size:
            raise ModelError(f"{name}[{number}]: is outside the {size} that there are")

    for name, dataset in (("sensors", "sensordata"), ("actuators", "ctrl")):
        for i, element in enumerate(tables[name]):
            within(name, i, element["address"] + element["dimension"], sizes[dataset])
    for i, joint in enumerate(tables["joints"]):
        positions, velocities = _JOINT_SIZES[joint["type"]]
        within("joints", i, joint["qpos_address"] + positions, sizes["qpos"])
        within("joints", i, joint["dof_address"] + velocities, sizes["qvel"])
    for name, key in (("bodies", "parent"), ("geoms", "body"), ("robots", "body")):
        for i, element in enumerate(tables[name]):
            within(name, i, element[key] + 1, len(tables["bodies"]))
    return tables


def read_settings(text: str) -> list[dict[str, Any]]:
    settings: list[dict[str, Any]] = parse_json(text, "settings")
    require(settings, _SETTINGS, "settings")
    return settings


def read_faults(text: str) -> list[dict[str, Any]]:
    """The faults, each with `start` and `end`."""
    faults = parse_toml(text, "faults").get("fault", [])
    require(faults, _FAULTS, "faults")
    found = []
    for fault in faults:
        start = fault.get("start", 0.0)
        end = start + fault.get("duration", 0.0) if fault["kind"] == "kick" else math.inf
        found.append({**fault, "start": start, "end": fault.get("end", end)})
    return found
