"""The plots of a run's report."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tendril.recording import Recording
from tendril.report import plots
from tendril.report.page import PREFIXED, quantity
from tendril.report.plots import Limit, Scale, Values

DEGREE = math.pi / 180.0
WIDTH = 470.0  # of a plot, two of which are side by side
_MAX_LIMIT = 20.0  # times the largest value: a limit above it would flatten the line
_MIN_SPAN = 1e-3  # of an axis of commands: rounding errors are not magnified

Plot = tuple[str, str, str]  #: title, SVG, sentence; without SVG the sentence says why there is none
Spans = list[tuple[float, float]]


def axis_unit(unit: str, largest: float) -> tuple[float, str]:
    """Factor and unit of an axis: angles in degrees, and a prefix so that the largest value reads 0.1 or more."""
    if unit == "rad":
        if largest >= 0.1 * DEGREE:
            return 1.0 / DEGREE, "deg"
    elif unit == "m" and 0.1 <= largest < 1.0:
        return 1e3, "mm"
    if unit not in PREFIXED:
        return 1.0, unit
    for factor, prefix in ((1.0, ""), (1e3, "m"), (1e6, "µ")):
        if largest >= 0.1 / factor:
            return factor, prefix + unit
    return 1e9, "n" + unit


def limits_of(summary: dict[str, Any], signal: str, end: float) -> list[Limit]:
    """Limits that checks set on a signal, in their windows or at the end."""
    found = []
    for check in summary.get("checks", []):
        match = re.fullmatch(re.escape(signal) + r"_(end|max|min)", check.get("metric", ""))
        if not signal or not match:
            continue
        at_end = match[1] == "end"
        last = min(end, end if check.get("before") is None else check["before"])
        first = last - 0.1 * end if at_end else check.get("after") or 0.0
        found += [
            Limit(check[side], "limit at the end" if at_end else "limit", first, last, at_end)
            for side in ("max", "min")
            if check.get(side) is not None
        ]
    return found


class RunPlots:
    """The plots of one recording; what the run lacks is said in a sentence."""

    def __init__(self, recording: Recording, summary: dict[str, Any]) -> None:
        self.recording, self.summary = recording, summary
        self.first, self.last = float(recording.time[0]), float(recording.time[-1])
        faults = [(fault["start"], fault["end"]) for fault in recording.faults]
        self.spans: Spans = [
            (max(start, self.first), min(end, self.last))
            for start, end in faults
            if (start > 0 or math.isfinite(end)) and start < self.last and end > self.first
        ]

    def all(self) -> list[Plot]:
        found = self._of_tables() if self.recording.has_tables else []
        return [*found, self._step_times()]

    def _of_tables(self) -> list[Plot]:
        recording = self.recording
        found = [self._sensors("Tip error", "tip_error", "Distance of the tip from its desired position.")]
        if recording.sensors_of("path_error"):
            found.append(self._sensors("Path error", "path_error", "Distance of a snake from its path."))
        # All 0: no direction is prescribed.
        if any(np.nanmax(np.abs(values), initial=0.0) > 0 for _, values in recording.lines_of("angle_error")):
            found.append(self._sensors("Angle error", "angle_error"))
        forces = "Sum over the contacts between the robot and its environment."
        overlap = "Overlap of bodies at the deepest contact: a property of the contact model, not of wear."
        found += [
            self._contacts("Wall force", "sum of normal forces", "wall_force", "N", recording.wall_force, forces),
            self._contacts("Penetration", "deepest overlap", "penetration", "m", recording.penetration, overlap),
            *self._commands(),
            self._sensors(
                "IK iterations", "ik_iterations", "Of the inverse kinematics, in each control step.", steps=True
            ),
        ]
        return found

    def _sensors(self, title: str, quantity: str, note: str = "", steps: bool = False) -> Plot:
        lines = self.recording.lines_of(quantity)
        if not lines:
            return title, "", f"No sensor of the scene shows the quantity “{quantity}”."
        if not any(np.isfinite(values).any() for _, values in lines):
            return title, "", "It was never known."
        unit = self.recording.sensors_of(quantity)[0][0]["unit"]
        label = title if title.startswith("IK") else title.lower()
        return title, self._lines(lines, label, quantity, unit, steps), note

    def _contacts(
        self, title: str, label: str, signal: str, unit: str, values: Callable[[], Values], note: str
    ) -> Plot:
        if not self.recording.has_robot:
            return title, "", "The scene has no robot."
        if not len(self.recording.robot_contacts().row):
            return title, "", "The robot touched nothing."
        return title, self._lines([(signal, values())], label, signal, unit), note

    def _lines(self, lines: list[tuple[str, Values]], label: str, signal: str, unit: str, steps: bool = False) -> str:
        """Lines over time with the limits of the checks on `signal`."""
        lines = [(name, np.where(np.isfinite(values), values, np.nan)) for name, values in lines]
        top = max(float(np.nanmax(np.abs(values), initial=0.0)) for _, values in lines)
        limits = [
            limit
            for limit in limits_of(self.summary, signal, self.last)
            if top == 0.0 or abs(limit.value) < _MAX_LIMIT * top
        ]
        factor, shown = axis_unit(unit, max([top, *(abs(limit.value) for limit in limits)]))
        return plots.line_plot(
            self.recording.time,
            [(name, values * factor) for name, values in lines],
            f"{label} [{shown}]" if shown else label,
            limits=[Limit(one.value * factor, one.text, one.first, one.last, one.at_end) for one in limits],
            spans=self.spans,
            steps=steps,
            width=WIDTH,
        )

    # ---- commands -------------------------------------------------------------------------------------------------

    def _commands(self) -> list[Plot]:
        """Commands and measured values of each robot."""
        found = []
        tables = self.recording.tables
        measured_by_robot = {_robot_of(sensor): values for sensor, values in self.recording.sensors_of("measured")}
        for sensor, command in self.recording.sensors_of("command"):
            robot = _robot_of(sensor)
            measured = measured_by_robot.get(robot)
            if measured is None or measured.shape != command.shape or command.shape[1] == 0:
                continue
            sections = section_labels(tables, robot)
            is_arm = len(sections) == command.shape[1]
            labels = sections if is_arm else coordinate_labels(tables, robot, sensor)
            found.append(
                (
                    f"{'Sections' if is_arm else 'Coordinates'} of {robot.strip('_/-.: ') or 'robot'}: commanded and "
                    "measured",
                    self._command_panels(labels, command, measured),
                    "u and v are the bend of a section about its two axes: bend angle times the cosine and sine of its "
                    "direction."
                    if is_arm
                    else "",
                )
            )
        return found or [("Commands", "", "No sensors of the scene show the quantities “command” and “measured”.")]

    def _command_panels(self, labels: list[tuple[str, str]], command: Values, measured: Values) -> str:
        """A small plot for each coordinate."""
        columns = 1 if len(labels) == 1 else 2 if len(labels) <= 12 else 4
        width, height = 980.0 / columns, 130.0
        rows = math.ceil(len(labels) / columns)
        keys: list[plots.Key] = [
            (partial(plots.legend_line, variant=v), name) for v, name in enumerate(("commanded", "measured"))
        ]
        parts, _ = plots.legend_rows(keys, 70, 980, 14)
        for i, label in enumerate(labels):
            row, column = divmod(i, columns)
            corner = (width * column, 24 + height * row)
            is_lowest = i + columns >= len(labels)
            parts += self._command_panel(label, command[:, i], measured[:, i], corner, width, is_lowest)
        return plots.svg(980, 24 + height * rows + 22, parts, "commanded and measured")

    def _command_panel(
        self,
        label: tuple[str, str],
        command: Values,
        measured: Values,
        corner: tuple[float, float],
        width: float,
        is_lowest: bool,
    ) -> list[str]:
        name, unit = label
        both = np.stack([command, measured])
        largest = float(np.abs(both[np.isfinite(both)]).max(initial=0.0))
        factor, shown = (1.0, unit) if unit == "rad" else axis_unit(unit, max(largest, 1e-3))
        x, y = corner
        across = Scale(self.recording.time, x + 70, x + width - 12, logarithmic=False, room=0.01)
        up = Scale(both.ravel() * factor, y + 105, y + 25, logarithmic=False, least=2 * _MIN_SPAN * factor)
        parts = plots.shaded(across, up, self.spans)
        parts += plots.panel(across, up, f"{name} [{shown}]" if shown else name, "time [s]" if is_lowest else "")
        for v, values in enumerate(both):
            at, heights = plots.thinned(self.recording.time, values * factor, 200)
            parts.append(plots.path(across(at), up(heights), v))
        return parts

    # ---- step times -----------------------------------------------------------------------------------------------

    def _step_times(self) -> Plot:
        times = self.recording.step_time_us[1:]
        times = times[np.isfinite(times) & (times > 0)]
        if not len(times):
            return "Step time", "", "The recording has no step times."
        return "Step time", step_time_plot(times), "Controller and physics together."


def _robot_of(sensor: dict[str, Any]) -> str:
    """Returns what tells the robot of a controller's sensor from others; earlier recordings have it in the name."""
    return str(sensor.get("robot", sensor["name"].removesuffix(sensor["quantity"])))


def section_labels(tables: dict[str, list[dict[str, Any]]], robot: str) -> list[tuple[str, str]]:
    """Returns name and unit of an arm's coordinates; of another robot none."""
    for row in tables["robots"]:
        if row["prefix"] + row.get("suffix", "") == robot and "coordinates" in row:
            return [(name, unit) for name, unit in row["coordinates"]]
    return _sections_by_name(tables, robot)


def _sections_by_name(tables: dict[str, list[dict[str, Any]]], prefix: str) -> list[tuple[str, str]]:
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


def coordinate_labels(
    tables: dict[str, list[dict[str, Any]]], prefix: str, sensor: dict[str, Any]
) -> list[tuple[str, str]]:
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


def step_time_plot(times: Values) -> str:
    """Plots how many steps took how long."""
    low, high = float(times.min()), float(times.max())
    is_wide = high > 1.5 * low
    edges = np.geomspace(low, high * 1.0001, 61) if is_wide else np.linspace(low, max(high, low * 1.0001), 31)
    counts, _ = np.histogram(times, bins=edges)
    across = Scale(edges, 70, WIDTH - 10, logarithmic=is_wide)
    up = Scale(np.array([0.7, float(counts.max())]), 190, 22, logarithmic=True)
    parts = plots.panel(across, up, "steps", "wall time of a step [µs]")
    for count, left, right in zip(counts.tolist(), across(edges[:-1]), across(edges[1:]), strict=True):
        if count:
            top = float(up(count))
            parts.append(
                f'<rect x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{190 - top:.1f}" '
                f'fill="{plots.color(0)}" opacity="0.7"/>'
            )
    keys: list[plots.Key] = []
    for v, name, value in ((1, "mean", np.mean(times)), (3, "99.9 %", np.quantile(times, 0.999))):
        x = across(np.array([value, value]))
        parts.append(plots.path(x, np.array([190.0, 22.0]), v))
        keys.append((partial(plots.legend_line, variant=v), f"{name} {quantity(float(value), 'us')}"))
    legend, height = plots.legend_rows(keys, 70, WIDTH - 10, 240)
    return plots.svg(WIDTH, height, [*parts, *legend], "step times")
