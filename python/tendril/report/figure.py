"""Plots of recordings, drawn by Matplotlib in the style of all reports."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tendril._errors import ModelError, OutputError
from tendril._files import atomic_file, refuse_inputs
from tendril._recorded import RecordedRun
from tendril._terminal import visible
from tendril.report.labels import actuator_rows, components, unit_of
from tendril.report.page import axis_unit
from tendril.report.plots import COLORS, DASHES, Values, thinned
from tendril.report.style import STYLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INSTALL = 'pip install "tendril-mujoco[report]"'
MOST_LINES = 60
ENDINGS = (".png", ".svg", ".pdf")
_MOST_NAMES = 40  # in a message
_LONGEST = 60  # characters of a label
_POINTS = 4000  # of a line
_FAULT, _STATUS = "#b23c00", "#555555"
_CONTACTS = {"wall_force": "N", "penetration": "m"}  # of all robots, as in reports
_WELL = (0, 1)  # statuses: working, finished


@dataclass(frozen=True)
class Line:
    """Numbers over time."""

    name: str
    unit: str
    values: Values  #: (rows,)


def lines_of(recording: RecordedRun, patterns: Sequence[str]) -> list[Line]:
    """Returns the lines of sensors; of a vector one for each number. Throws ModelError for a pattern without sensor."""
    known, chosen = _names(recording), dict[str, None]()
    for pattern in patterns or _defaults(recording):
        matches = [name for name in known if fnmatchcase(name, pattern)]
        if not matches:
            raise ModelError(f"{recording.file}: sensor: {pattern}: {_choices(known)}")
        chosen |= dict.fromkeys(matches)
    found = [line for name in list(chosen)[: MOST_LINES + 1] for line in _lines(recording, name)]
    if len(found) > MOST_LINES:
        raise ModelError(f"{recording.file}: more than {MOST_LINES} lines: name fewer sensors")
    return found


def _names(recording: RecordedRun) -> list[str]:
    """Names of sensors, and of what contacts give."""
    sensors = [sensor["name"] for sensor in recording.tables["sensors"] if sensor["name"]]
    return list(dict.fromkeys(sensors + (list(_CONTACTS) if recording.has_robot_contacts else [])))


def _choices(names: Sequence[str]) -> str:
    more = f", ... ({len(names)} in all)" if len(names) > _MOST_NAMES else ""
    return f"must match one of {', '.join(names[:_MOST_NAMES]) or '(there are none)'}{more}"


def _defaults(recording: RecordedRun) -> list[str]:
    """The errors that controllers report; without any the first sensor."""
    shown = ("tip_error", "path_error")
    names = [sensor["name"] for sensor in recording.tables["sensors"] if sensor["quantity"] in shown]
    return names or _names(recording)[:1] or ["*"]


def _lines(recording: RecordedRun, name: str) -> list[Line]:
    sensor = next((row for row in recording.tables["sensors"] if row["name"] == name), None)
    if sensor is None:
        return [Line(name, _CONTACTS[name], getattr(recording, name)())]
    first, unit = sensor["address"], unit_of(actuator_rows(recording.tables), sensor)
    return [
        Line(label, own, recording.sensordata[:, first + i])
        for i, (label, own) in enumerate(components(recording.tables, sensor, unit))
    ]


def plot(
    recordings: Sequence[RecordedRun],
    patterns: Sequence[str],
    axes: Axes | None = None,
    shade: bool = True,
    out: str | os.PathLike[str] | None = None,
) -> list[Axes]:
    """Draws sensors of recordings over time; see `Recording.plot`."""
    try:
        from matplotlib import pyplot, rcParams, style
    except ImportError as error:
        raise ImportError(f"Python module {error.name or error} is missing: {INSTALL}", name=error.name) from None
    if out is not None:
        check_output(Path(out))
        refuse_inputs(Path(out), *(recording.file for recording in recordings))
    sets = []
    for recording in recordings:
        recording.require_rows()
        with recording.reading():
            sets.append(lines_of(recording, patterns))
    units = list(dict.fromkeys(line.unit for lines in sets for line in lines))
    if axes is not None and len(units) > 1:
        raise ModelError(f"axes: sensors have the units {', '.join(units)}: must be one for one Axes")
    with style.context([STYLE, {"text.parse_math": False}]):
        colors = rcParams["axes.prop_cycle"].by_key()["color"]
        panels = [axes] if axes is not None else _panels(pyplot, len(units))
        for unit, panel in zip(units, panels, strict=True):
            _draw(panel, unit, recordings, colors, [[line for line in lines if line.unit == unit] for lines in sets])
        if shade and len(recordings) == 1:
            with recordings[0].reading():
                _shade(panels, recordings[0])
        for panel in panels:
            if len(handles := panel.get_legend_handles_labels()[0]) > 1 or len(recordings) > 1:
                panel.legend(handles=handles, ncols=1 + len(handles) // 8, fontsize="small")
        panels[-1].set_xlabel("time [s]")
        if out is not None:
            save(panels[0].figure, Path(out))
    return panels


def check_output(out: Path) -> None:
    """Throws ModelError for another ending than those of pictures."""
    if out.suffix not in ENDINGS:
        raise ModelError(f'{out}: extension: "{out.suffix}": must be one of {", ".join(ENDINGS)}')


def save(figure: Any, out: Path) -> None:
    """Writes a figure, the same bytes in every run. Throws OutputError."""
    from matplotlib import rc_context

    metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(out.suffix)
    try:
        with rc_context({"svg.hashsalt": "tendril"}), atomic_file(out) as file:
            figure.savefig(file, dpi=150, format=out.suffix[1:], metadata=metadata)
    except OSError as error:
        raise OutputError(f"{out}: could not be written: {error.strerror or error}") from None


def _panels(pyplot: Any, count: int) -> list[Axes]:
    size = (7.0, 0.8 + 2.0 * count)
    return list(pyplot.subplots(count, squeeze=False, sharex=True, layout="constrained", figsize=size)[1][:, 0])


def _draw(
    panel: Axes,
    unit: str,
    recordings: Sequence[RecordedRun],
    colors: Sequence[str],
    sets: Sequence[Sequence[Line]],
) -> None:
    """Draws the lines of one unit: a color for each line, or for each of several recordings."""
    finite = [np.abs(line.values[np.isfinite(line.values)]).max(initial=0.0) for lines in sets for line in lines]
    factor, shown = axis_unit(unit, max(map(float, finite), default=0.0))
    names = list(dict.fromkeys(line.name for lines in sets for line in lines))
    several = len(recordings) > 1
    for r, (recording, lines, title) in enumerate(zip(recordings, sets, distinct([one.file for one in recordings]))):
        for line in lines:
            n = names.index(line.name)
            label = f"{title}: {line.name}" if several and len(names) > 1 else title if several else line.name
            time, values = thinned(recording.time, np.where(np.isfinite(line.values), line.values, np.nan), _POINTS)
            panel.plot(
                time,
                values * factor,
                color=colors[(r if several else n) % COLORS],
                linestyle=_linestyle(n if several else n // COLORS),
                label=_label(label),
            )
    what = names[0] if len(names) == 1 else ""
    panel.set_ylabel(_label(f"{what} [{shown}]".strip() if shown else what))


def _linestyle(number: int) -> Any:
    dashes = DASHES[number % len(DASHES)]
    return (0, tuple(0.5 * float(part) for part in dashes.split())) if dashes else "-"


def _label(text: str) -> str:
    """A text of a stranger for a legend, which leaves out those that begin with an underscore."""
    text = visible(text).replace("\n", " ").replace("\t", " ")
    text = text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
    return f" {text}" if text.startswith("_") else text


def _shade(panels: Sequence[Axes], recording: RecordedRun) -> None:
    """Marks the times of faults, and those of statuses that are not well."""
    first, last = float(recording.time[0]), float(recording.time[-1])
    for fault in recording.faults:
        start, end = max(fault["start"], first), min(fault["end"], last)
        if start < end and (start, end) != (first, last):
            _span(panels, start, end, _FAULT, f"fault: {fault['name']}")
    for _, values in recording.sensors_of("status"):
        for start, end, status in _spans(recording.time, values[:, 0]):
            _span(panels, start, end, _STATUS, f"status {status}")


def _spans(time: Values, values: Values) -> Iterator[tuple[float, float, int]]:
    """Start, end and status of the first spans that are not well."""
    statuses = np.nan_to_num(values, nan=-1.0, posinf=-1.0, neginf=-1.0).astype(int)
    edges = np.flatnonzero(np.diff(statuses)) + 1
    starts = np.concatenate(([0], edges))
    ends = np.append(edges, len(time) - 1)
    wrong = [(s, e) for s, e in zip(starts, ends) if s < e and statuses[s] not in (-1, *_WELL)]
    for start, end in wrong[:200]:
        yield float(time[start]), float(time[end]), int(statuses[start])


def _span(panels: Sequence[Axes], start: float, end: float, color: str, label: str) -> None:
    for panel in panels:
        known = panel.get_legend_handles_labels()[1]
        label = _label(label)
        panel.axvspan(start, end, color=color, alpha=0.12, lw=0, label=None if label in known else label)


def distinct(files: Sequence[Path]) -> list[str]:
    """Returns a name for each file: its stem, or as many folders as tell it from the others."""
    stems = [file.with_suffix("").parts for file in map(Path, files)]
    for count in range(1, max(map(len, stems), default=0) + 1):
        names = ["/".join(parts[-count:]) for parts in stems]
        if len(set(names)) == len(names):
            break
    if all(name.endswith("/rollout") for name in names):
        names = [name.removesuffix("/rollout") for name in names]
    return names
