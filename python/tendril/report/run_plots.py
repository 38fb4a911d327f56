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
from tendril.report.labels import coordinate_labels, drives, robot_of, section_labels
from tendril.report.page import axis_unit, quantity
from tendril.report.plots import Limit, Scale, Values

WIDTH = 470.0  # of a plot, two of which are side by side
WIDE = 980.0  # of a plot across the page
_MAX_LIMIT = 20.0  # times the largest value: a limit above it would flatten the line
_MIN_SPAN = 1e-3  # of an axis of commands: rounding errors are not magnified

Plot = tuple[str, str, str]  #: title, SVG, sentence; without SVG the sentence says why there is none
Spans = list[tuple[float, float]]


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
            *self._drives("tension", "N", "Tensions", "At the base, of each tendon or muscle."),
            *self._drives("pressure", "Pa", "Pressures", "Relative to the surroundings, in each chamber."),
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
        if not self.recording.has_robot_contacts:
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
        measured_by_robot = {robot_of(sensor): values for sensor, values in self.recording.sensors_of("measured")}
        for sensor, command in self.recording.sensors_of("command"):
            robot = robot_of(sensor)
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
                    self._panels(labels, {"commanded": command, "measured": measured}),
                    "u and v are the bend of a section about its two axes: bend angle times the cosine and sine of its "
                    "direction."
                    if is_arm
                    else "",
                )
            )
        return found or [("Commands", "", "No sensors of the scene show the quantities “command” and “measured”.")]

    def _drives(self, kind: str, unit: str, title: str, note: str) -> list[Plot]:
        """Tensions of tendons or pressures of chambers, of each robot that has any."""
        found = []
        for robot, driven in drives(self.recording, kind).items():
            curves = {"measured": np.stack([drive.measured for drive in driven], axis=1)}
            if kind == "pressure":  # of a tendon the command may be a length
                curves = {"commanded": np.stack([drive.command for drive in driven], axis=1)} | curves
            panels = self._panels([(drive.name, unit) for drive in driven], curves)
            found.append((f"{title} of {robot.strip('_/-.: ') or 'robot'}", panels, note))
        return found

    def _panels(self, labels: list[tuple[str, str]], curves: dict[str, Values]) -> str:
        """A small plot for each column of the curves, whose names and units are the labels."""
        columns = 1 if len(labels) == 1 else 2 if len(labels) <= 12 else 4
        width, height = WIDE / columns, 130.0
        rows = math.ceil(len(labels) / columns)
        keys: list[plots.Key] = [(partial(plots.legend_line, variant=v), name) for v, name in enumerate(curves)]
        parts = plots.legend_rows(keys, 70, WIDE, 14)[0] if len(curves) > 1 else []
        for i, label in enumerate(labels):
            row, column = divmod(i, columns)
            corner = (width * column, 24 + height * row)
            is_lowest = i + columns >= len(labels)
            parts += self._panel(label, [values[:, i] for values in curves.values()], corner, width, is_lowest)
        return plots.svg(WIDE, 24 + height * rows + 22, parts, " and ".join(curves))

    def _panel(
        self, label: tuple[str, str], curves: list[Values], corner: tuple[float, float], width: float, is_lowest: bool
    ) -> list[str]:
        name, unit = label
        all_values = np.stack(curves)
        largest = float(np.abs(all_values[np.isfinite(all_values)]).max(initial=0.0))
        factor, shown = (1.0, unit) if unit == "rad" else axis_unit(unit, max(largest, 1e-3))
        x, y = corner
        across = Scale(self.recording.time, x + 70, x + width - 12, logarithmic=False, room=0.01)
        up = Scale(all_values.ravel() * factor, y + 105, y + 25, logarithmic=False, least=2 * _MIN_SPAN * factor)
        parts = plots.shaded(across, up, self.spans)
        parts += plots.panel(across, up, f"{name} [{shown}]" if shown else name, "time [s]" if is_lowest else "")
        for v, values in enumerate(all_values):
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
