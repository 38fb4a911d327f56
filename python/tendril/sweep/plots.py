"""The plots of a sweep's report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tendril.report import page, plots
from tendril.sweep.dataset import Dataset

Values = npt.NDArray[np.float64]
_MIN_FOR_DENSITY = 500  # values


class SweepPlots:
    """The plots of one data set; all cells together."""

    def __init__(self, data: Dataset) -> None:
        self.data, self.names = data, [variant.name for variant in data.plan.variants]
        self.left = min(220.0, 20 + 7.0 * max(map(len, self.names)))

    def label(self, metric: str) -> str:
        unit = shown_unit(self.data, metric)[1]
        return f"{metric} [{unit}]" if unit else metric

    def _by_seed(self, metric: Any, variant: int) -> Values:
        """Returns the values in the unit that is shown."""
        return self.data.by_seed(self.data.values(metric), None, variant) * shown_unit(self.data, metric.metric)[0]

    def distributions(self, metric: Any) -> str:
        """Points, or a density, above the interquartile mean and its interval."""
        all_values = [self._by_seed(metric, v) for v in range(len(self.names))]
        factor = shown_unit(self.data, metric.metric)[0]
        scale = plots.Scale(np.concatenate(all_values), self.left, 850)
        height = 62.0
        bottom = 12 + height * len(self.names)
        parts = plots.bottom_axis(scale, 6, bottom, self.label(metric.metric))
        rows = {
            row["variant"]: row
            for row in self.data.summary["metrics"]
            if row["metric"] == metric.metric and row["cell"] is None
        }
        for v, x in enumerate(all_values):
            base = 12 + height * v
            x = x[~np.isnan(x)]
            finite = x[np.isfinite(x)]
            parts.append(plots.text(self.left - 10, base + 32, self.names[v], "end"))
            if len(finite) >= _MIN_FOR_DENSITY:
                counts, edges = np.histogram(scale(finite), bins=120)
                heights = base + 40 - 36 * counts / counts.max()
                path = (
                    f"M{edges[0]:.1f} {base + 40:.1f}"
                    + "".join(f"V{h:.1f}H{e:.1f}" for h, e in zip(heights, edges[1:], strict=True))
                    + f"V{base + 40:.1f}Z"
                )
                parts.append(f'<path d="{path}" fill="{plots.color(v)}" opacity="0.45"/>')
            else:
                spread: Values = (np.arange(len(finite), dtype=np.float64) * 0.618034) % 1.0
                parts.append(plots.points(scale(finite), base + 6 + 32 * spread, v, 6))
            row = rows[self.names[v]]
            (middle,) = scaled([row.get("iqm")], factor)
            parts += plots.interval_mark(scale, scaled(row.get("interval"), factor), middle, base + 48, v)
            if len(x) > len(finite):
                parts.append(plots.text(978, base + 32, f"{len(x) - len(finite)} without a value", "end", weak=True))
        return plots.svg(980, bottom + 40, parts, f"distributions of {metric.metric}")

    def forest(self) -> str:
        """Differences to the baseline, a panel per metric with a separate axis."""
        parts: list[str] = []
        y = 10.0
        rows = [row for row in self.data.compare() if "iqm" in row or "difference" in row]
        for metric in dict.fromkeys(row["metric"] for row in rows):
            panel = [row for row in rows if row["metric"] == metric]
            factor = shown_unit(self.data, metric)[0]
            ends = [end for row in panel for end in scaled(row["interval"], factor) if end is not None]
            means = scaled([row.get("iqm", row.get("difference")) for row in panel], factor)
            known = np.array([0.0, *ends, *(m for m in means if m is not None)])
            scale = plots.Scale(known, self.left, 640, logarithmic=False)
            bottom = y + 20 + 24 * len(panel)
            arrow = "lower is better" if panel[0]["better"] == "lower" else "higher is better"
            parts.append(plots.text(self.left, y + 8, f"{self.label(metric)}: {arrow}"))
            parts += plots.bottom_axis(scale, y + 14, bottom, f"difference to {self.data.plan.baseline}")
            parts.append(plots.line(float(scale(0)), y + 14, float(scale(0)), bottom, "axis"))
            for i, (row, mean) in enumerate(zip(panel, means, strict=True)):
                middle, v = y + 30 + 24 * i, self.names.index(row["variant"])
                parts.append(plots.text(self.left - 10, middle + 4, row["variant"], "end"))
                parts += plots.interval_mark(scale, scaled(row["interval"], factor), mean, middle, v)
                parts.append(plots.text(655, middle + 4, f"{row['words']}, p = {row['p_holm']:.2g}"))
            y = bottom + 48
        return plots.svg(980, y, parts, "differences to the baseline") if parts else ""

    def pairs(self, metric: Any) -> str:
        """A point per seed: the baseline across, the variant up."""
        base = self.names.index(self.data.plan.baseline)
        x = self._by_seed(metric, base)
        parts: list[str] = []
        shown = [v for v in range(len(self.names)) if v != base][:3]
        for index, v in enumerate(shown):
            y = self._by_seed(metric, v)
            finite = np.isfinite(x) & np.isfinite(y)
            few = finite.sum() < _MIN_FOR_DENSITY
            left = 70.0 + 320 * index
            both = np.concatenate((x[finite], y[finite]))
            across, up = plots.Scale(both, left, left + 230), plots.Scale(both, 250, 22)
            parts += plots.bottom_axis(across, 22, 250, f"{self.data.plan.baseline}: {self.label(metric.metric)}")
            for tick in up.ticks():
                parts += [
                    plots.line(left, float(up(tick)), left + 230, float(up(tick))),
                    plots.text(left - 5, float(up(tick)) + 4, f"{tick:.4g}", "end", weak=True),
                ]
            drawn = (across(x[finite]), up(y[finite]), v)
            parts += [
                plots.line(left, 250, left + 230, 22, "axis"),
                plots.points(*drawn, 5) if few else plots.density(*drawn),
                plots.text(left, 14, self.names[v]),
            ]
        return plots.svg(980, 295, parts, f"pairs of {metric.metric}") if shown else ""

    def profile(self, metric: Any) -> str:
        """Part of the seeds with a value at most (at least) as large."""
        all_values = [self._by_seed(metric, v) for v in range(len(self.names))]
        scale = plots.Scale(np.concatenate(all_values), 60, 640)
        parts = plots.bottom_axis(scale, 10, 210, self.label(metric.metric))
        for part in (0.0, 0.5, 1.0):
            y = 210 - 190 * part
            parts += [plots.line(60, y, 640, y), plots.text(52, y + 4, f"{100 * part:.0f} %", "end", weak=True)]
        for v, values in enumerate(all_values):
            x = values[~np.isnan(values)]
            finite = np.sort(x[np.isfinite(x)])
            if len(finite) == 0:
                continue
            passed_by = np.arange(1, len(finite) + 1)
            rank = (passed_by if metric.better == "lower" else len(finite) - passed_by) / len(x)
            start = 0.0 if metric.better == "lower" else len(finite) / len(x)
            kept = np.unique(np.linspace(0, len(finite) - 1, 400).astype(int))
            xs = np.concatenate(([60.0], scale(finite[kept]), [640.0]))
            ys = 210 - 190 * np.concatenate(([start], rank[kept], rank[-1:]))
            parts.append(plots.step_line(xs, ys, v))
            parts += [*plots.legend_line(660, 30 + 22 * v, v), plots.text(708, 34 + 22 * v, self.names[v])]
        return plots.svg(980, 250, parts, f"profile of {metric.metric}")

    def heat_map(self, variant: int) -> str:
        """Success rates over two axes of the grid."""
        plan = self.data.plan
        (key_x, _), (key_y, _) = plan.cells[0]
        xs = list(dict.fromkeys(str(cell[0][1]) for cell in plan.cells))
        ys = list(dict.fromkeys(str(cell[1][1]) for cell in plan.cells))
        rows = {row["cell"]: row for row in self.data.summary["success"] if row["variant"] == self.names[variant]}
        width, parts = min(90.0, 700 / len(xs)), [plots.text(120, 14, f"{self.names[variant]}: passed")]
        for number, cell in enumerate(plan.cells):
            rate = rows[number]["rate"]
            x, y = 120 + width * xs.index(str(cell[0][1])), 24 + 34.0 * ys.index(str(cell[1][1]))
            parts.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{width - 3:.1f}" height="31" fill="{plots.color(0)}" '
                f'fill-opacity="{0.08 + 0.5 * (rate or 0):.2f}"/>'
            )
            parts.append(plots.text(x + width / 2, y + 20, "none" if rate is None else f"{100 * rate:.0f} %", "middle"))
        bottom = 24 + 34.0 * len(ys)
        parts += [plots.text(120 + width * (i + 0.5), bottom + 14, x, "middle", weak=True) for i, x in enumerate(xs)]
        parts += [plots.text(112, 44 + 34.0 * i, y, "end", weak=True) for i, y in enumerate(ys)]
        parts += [plots.text(120, bottom + 32, f"across: {key_x}; down: {key_y}", weak=True)]
        return plots.svg(980, bottom + 42, parts, "success over the grid")


def scaled(values: Sequence[float | None] | None, factor: float) -> list[float | None]:
    return [None if value is None else value * factor for value in values or ()]


def shown_unit(data: Dataset, metric: str) -> tuple[float, str]:
    """Factor and unit in which a metric is shown."""
    rows = [row for row in data.summary["metrics"] if row["metric"] == metric and row["cell"] is None]
    return page.shown(data.unit(metric), [row.get(key) for row in rows for key in ("iqm", "median", "worst")])
