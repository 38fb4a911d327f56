"""Names and units of what recordings and reports show."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any, NamedTuple

from tendril._recorded import RecordedRun
from tendril.report.plots import Values

Tables = dict[str, list[dict[str, Any]]]
#: Units of the sensors NAME_KIND of a tendon, muscle or chamber NAME.
DRIVES = {"tension": "N", "pressure": "Pa", "length": "m", "volume": "m³"}


def robot_of(sensor: dict[str, Any]) -> str:
    """Returns what tells the robot of a controller's sensor from others; earlier recordings have it in the name."""
    return str(sensor.get("robot", sensor["name"].removesuffix(sensor["quantity"])))


def drive_of(actuators: Container[str], sensor: dict[str, Any]) -> tuple[str, str]:
    """Returns the actuator and the kind (a key of DRIVES) of the tendon or chamber that a sensor measures; "": none."""
    name = sensor["name"]
    for kind in DRIVES:
        before, mark, after = name.rpartition("_" + kind)
        if mark and before + after in actuators:
            return before + after, kind
    return "", ""


def actuator_rows(tables: Tables) -> dict[str, dict[str, Any]]:
    """Returns the rows of the actuators by name."""
    return {row["name"]: row for row in tables["actuators"] if row["name"]}


def unit_of(actuators: Container[str], sensor: dict[str, Any]) -> str:
    """Returns the unit of a sensor; "": it has none, or none is known."""
    return DRIVES.get(drive_of(actuators, sensor)[1]) or str(sensor["unit"])


def force_units(tables: Tables) -> dict[str, str]:
    """Returns the units of the forces of tendons, N, and chambers, Pa, by actuator."""
    rows = actuator_rows(tables)
    found = (drive_of(rows, sensor) for sensor in tables["sensors"])
    return {actuator: DRIVES[kind] for actuator, kind in found if kind in ("tension", "pressure")}


class Drive(NamedTuple):
    """A tendon, muscle or chamber of a robot."""

    name: str  #: in the robot file
    command: Values  #: (rows,), of its actuator: N, m or Pa
    measured: Values  #: (rows,), of its sensor


def drives(recording: RecordedRun, kind: str) -> dict[str, list[Drive]]:
    """Returns the tendons or chambers with a sensor of the kind, by robot."""
    rows = actuator_rows(recording.tables)
    found: dict[str, list[Drive]] = {}
    for sensor in recording.tables["sensors"]:
        actuator, measured = drive_of(rows, sensor)
        if measured == kind and sensor["dimension"] == 1:
            robot, own = _robot_and_name(recording.tables, actuator)
            command = recording.ctrl[:, rows[actuator]["address"]]
            found.setdefault(robot, []).append(Drive(own, command, recording.sensordata[:, sensor["address"]]))
    return found


def _robot_and_name(tables: Tables, actuator: str) -> tuple[str, str]:
    """Splits a name into that of the robot and the name in the robot file."""
    best = ("", actuator)
    for row in tables["robots"]:
        prefix, suffix = row["prefix"], row.get("suffix", "")
        rest = actuator.removeprefix(prefix).removesuffix(suffix)
        if len(rest) == len(actuator) - len(prefix + suffix) and len(prefix + suffix) > len(best[0]):
            best = (prefix + suffix, rest)
    return best


def components(tables: Tables, sensor: dict[str, Any], unit: str) -> list[tuple[str, str]]:
    """Returns name and unit of every number of a sensor."""
    name, dimension = sensor["name"], sensor["dimension"]
    if dimension == 1:
        return [(name, unit)]
    if sensor["quantity"] in ("command", "measured"):
        labels = section_labels(tables, robot_of(sensor))
        if len(labels) != dimension:
            labels = coordinate_labels(tables, robot_of(sensor), sensor)
        return [(f"{name}: {label}", own) for label, own in labels]
    ends: Iterable[object] = "xyz" if dimension == 3 else range(dimension)
    return [(f"{name}: {end}", unit) for end in ends]


def section_labels(tables: Tables, robot: str) -> list[tuple[str, str]]:
    """Returns name and unit of an arm's coordinates; of another robot none."""
    for row in tables["robots"]:
        if row["prefix"] + row.get("suffix", "") == robot and "coordinates" in row:
            return [(name, unit) for name, unit in row["coordinates"]]
    return _sections_by_name(tables, robot)


def _sections_by_name(tables: Tables, prefix: str) -> list[tuple[str, str]]:
    """The same by the names of links and joints, as earlier recordings have them."""
    labels = []
    moved = {row["name"] for kind in ("actuators", "joints") for row in tables[kind]}
    bodies = {body["name"] for body in tables["bodies"]}
    section = 1
    while f"{prefix}s{section}_l1" in bodies:
        labels += [(f"section {section}, u", "rad"), (f"section {section}, v", "rad")]
        if not moved.isdisjoint((f"{prefix}s{section}_z", f"{prefix}s{section}_l1_z")):
            labels.append((f"section {section}, length change", "m"))
        section += 1
    return labels


def coordinate_labels(tables: Tables, prefix: str, sensor: dict[str, Any]) -> list[tuple[str, str]]:
    """Name and unit of the coordinates of another robot: its actuators, a feed left out, or numbers."""
    dimension, unit = sensor["dimension"], sensor["unit"]
    mounted = tuple(
        other["name"].removesuffix("command")
        for other in tables["sensors"]
        if other["quantity"] == "command" and other["name"].startswith(prefix) and other["name"] != sensor["name"]
    )
    names = [
        actuator["name"][len(prefix) :]
        for actuator in tables["actuators"]
        if actuator["name"].startswith(prefix) and not actuator["name"].startswith(mounted)
    ]
    if len(names) == dimension + 1 and names[0] == "feed":
        names = names[1:]
    if len(names) != dimension:
        return [(f"command {i + 1}", unit if "," not in unit else "") for i in range(dimension)]
    # A platform moves along x and y and turns.
    return [(name, ("m" if name in ("x", "y") else "rad") if unit == "m, rad" else unit) for name in names]
