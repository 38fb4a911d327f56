"""Results of an identification: as numbers, as text, and drawn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tendril._table import AXES
from tendril.identify.fit import Identification, rms
from tendril.report import STYLE
from tendril.report.figure import save

Array = npt.NDArray[np.float64]


def summary(result: Identification) -> dict[str, Any]:
    """Returns the summary for --json."""
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


def text(result: Identification) -> str:
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
                f"{what}, {len(rows)} {result.fit.data.what}: rms error of points {1e3 * rms(first):.3g} mm -> "
                f"{1e3 * rms(then):.3g} mm, largest {1e3 * first.max():.3g} -> {1e3 * then.max():.3g} mm"
            )
    least = min(result.costs)
    if len(result.costs) > 1:
        lines.append(
            f"{sum(cost < 1.01 * least for cost in result.costs)} of {len(result.costs)} starts came to this minimum"
        )
    return "\n".join(lines)


def draw(result: Identification, out: Path) -> None:
    """Points before and after in two views, and how many have which error; of motions coordinates over time."""
    from matplotlib import style
    from matplotlib.figure import Figure

    style.use(STYLE)
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
    save(figure, out)


def _compared(result: Identification) -> Iterator[tuple[Array, str, str]]:
    """All points of the model, (n, markers, 3) mm, before and after, with color and label."""
    data = result.fit.data
    for x, label, color in ((result.before_x, "before", "C1"), (result.x, "after", "C0")):
        yield 1e3 * (data.measured + result.fit.residuals(x, range(data.count), slopes=False)[0]), color, label


def _draw_places(result: Identification, axes: Any) -> None:
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


def _draw_motion(result: Identification, axes: Any) -> None:
    """Draws the point that moves most, the motions one after another."""
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
