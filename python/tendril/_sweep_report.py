"""The report of a sweep: one HTML file with its plots inside, without scripts and requests.

Variants are told apart by color, by the dashes of their lines and by their places, in light and dark.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tendril import _page as page
from tendril.statistics import FEWEST

if TYPE_CHECKING:
    from tendril.dataset import Dataset

Values = npt.NDArray[np.float64]

_FROM_HERE_DENSITY = 500  # values
_FEWEST_SHOWN = 4  # seeds in pairs and profiles
_MOST_OPEN = 12  # rows of cells that are shown unasked
_MOST_ROWS = 500  # of a table


class _Plots:
    """The plots of one data set; all cells together."""

    def __init__(self, data: Dataset) -> None:
        self.data, self.names = data, [variant.name for variant in data.plan.variants]
        self.left = min(220.0, 20 + 7.0 * max(map(len, self.names)))

    def label(self, metric: str) -> str:
        unit = shown_unit(self.data, metric)[1]
        return f"{metric} [{unit}]" if unit else metric

    def _by_seed(self, metric: Any, variant: int) -> Values:
        """In the unit that is shown."""
        return self.data.by_seed(self.data.values(metric), None, variant) * shown_unit(self.data, metric.metric)[0]

    def distributions(self, metric: Any) -> str:
        """Points, or a density, above the interquartile mean and its interval."""
        all_values = [self._by_seed(metric, v) for v in range(len(self.names))]
        factor = shown_unit(self.data, metric.metric)[0]
        scale = page.Scale(np.concatenate(all_values), self.left, 850)
        height = 62.0
        bottom = 12 + height * len(self.names)
        parts = page.bottom_axis(scale, 6, bottom, self.label(metric.metric))
        rows = {
            row["variant"]: row
            for row in self.data.summary["metrics"]
            if row["metric"] == metric.metric and row["cell"] is None
        }
        for v, x in enumerate(all_values):
            base = 12 + height * v
            x = x[~np.isnan(x)]
            finite = x[np.isfinite(x)]
            parts.append(page.text(self.left - 10, base + 32, self.names[v], "end"))
            if len(finite) >= _FROM_HERE_DENSITY:
                counts, edges = np.histogram(scale(finite), bins=120)
                heights = base + 40 - 36 * counts / counts.max()
                path = (
                    f"M{edges[0]:.1f} {base + 40:.1f}"
                    + "".join(f"V{h:.1f}H{e:.1f}" for h, e in zip(heights, edges[1:], strict=True))
                    + f"V{base + 40:.1f}Z"
                )
                parts.append(f'<path d="{path}" fill="{page.color(v)}" opacity="0.45"/>')
            else:
                spread: Values = (np.arange(len(finite), dtype=np.float64) * 0.618034) % 1.0
                parts.append(page.points(scale(finite), base + 6 + 32 * spread, v, 6))
            row = rows[self.names[v]]
            (middle,) = scaled([row.get("iqm")], factor)
            parts += page.interval_mark(scale, scaled(row.get("interval"), factor), middle, base + 48, v)
            if len(x) > len(finite):
                parts.append(page.text(978, base + 32, f"{len(x) - len(finite)} without a value", "end", weak=True))
        return page.svg(980, bottom + 40, parts, f"distributions of {metric.metric}")

    def forest(self) -> str:
        """Differences to the baseline, a panel per metric with an axis of its own."""
        parts: list[str] = []
        y = 10.0
        rows = [row for row in self.data.compare() if "iqm" in row or "difference" in row]
        for metric in dict.fromkeys(row["metric"] for row in rows):
            panel = [row for row in rows if row["metric"] == metric]
            factor = shown_unit(self.data, metric)[0]
            ends = [end for row in panel for end in scaled(row["interval"], factor) if end is not None]
            means = scaled([row.get("iqm", row.get("difference")) for row in panel], factor)
            known = np.array([0.0, *ends, *(m for m in means if m is not None)])
            scale = page.Scale(known, self.left, 640, logarithmic=False)
            bottom = y + 20 + 24 * len(panel)
            arrow = "lower is better" if panel[0]["better"] == "lower" else "higher is better"
            parts.append(page.text(self.left, y + 8, f"{self.label(metric)}: {arrow}"))
            parts += page.bottom_axis(scale, y + 14, bottom, f"difference to {self.data.plan.baseline}")
            parts.append(page.line(float(scale(0)), y + 14, float(scale(0)), bottom, "axis"))
            for i, (row, mean) in enumerate(zip(panel, means, strict=True)):
                middle, v = y + 30 + 24 * i, self.names.index(row["variant"])
                parts.append(page.text(self.left - 10, middle + 4, row["variant"], "end"))
                parts += page.interval_mark(scale, scaled(row["interval"], factor), mean, middle, v)
                parts.append(page.text(655, middle + 4, f"{row['words']}, p = {row['p_holm']:.2g}"))
            y = bottom + 48
        return page.svg(980, y, parts, "differences to the baseline") if parts else ""

    def pairs(self, metric: Any) -> str:
        """A point per seed: the baseline across, the variant up."""
        base = self.names.index(self.data.plan.baseline)
        x = self._by_seed(metric, base)
        parts: list[str] = []
        shown = [v for v in range(len(self.names)) if v != base][:3]
        for place, v in enumerate(shown):
            y = self._by_seed(metric, v)
            finite = np.isfinite(x) & np.isfinite(y)
            few = finite.sum() < _FROM_HERE_DENSITY
            left = 70.0 + 320 * place
            both = np.concatenate((x[finite], y[finite]))
            across, up = page.Scale(both, left, left + 230), page.Scale(both, 250, 22)
            parts += page.bottom_axis(across, 22, 250, f"{self.data.plan.baseline}: {self.label(metric.metric)}")
            for tick in up.ticks():
                parts += [
                    page.line(left, float(up(tick)), left + 230, float(up(tick))),
                    page.text(left - 5, float(up(tick)) + 4, f"{tick:.4g}", "end", weak=True),
                ]
            drawn = (across(x[finite]), up(y[finite]), v)
            parts += [
                page.line(left, 250, left + 230, 22, "axis"),
                page.points(*drawn, 5) if few else page.density(*drawn),
                page.text(left, 14, self.names[v]),
            ]
        return page.svg(980, 295, parts, f"pairs of {metric.metric}") if shown else ""

    def profile(self, metric: Any) -> str:
        """Part of the seeds with a value at most (at least) as large."""
        all_values = [self._by_seed(metric, v) for v in range(len(self.names))]
        scale = page.Scale(np.concatenate(all_values), 60, 640)
        parts = page.bottom_axis(scale, 10, 210, self.label(metric.metric))
        for part in (0.0, 0.5, 1.0):
            y = 210 - 190 * part
            parts += [page.line(60, y, 640, y), page.text(52, y + 4, f"{100 * part:.0f} %", "end", weak=True)]
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
            parts.append(page.step_line(xs, ys, v))
            parts += [*page.legend_line(660, 30 + 22 * v, v), page.text(708, 34 + 22 * v, self.names[v])]
        return page.svg(980, 250, parts, f"profile of {metric.metric}")

    def heat_map(self, variant: int) -> str:
        """Success rates over two axes of the grid."""
        plan = self.data.plan
        (key_x, _), (key_y, _) = plan.cells[0]
        xs = list(dict.fromkeys(str(cell[0][1]) for cell in plan.cells))
        ys = list(dict.fromkeys(str(cell[1][1]) for cell in plan.cells))
        rows = {row["cell"]: row for row in self.data.summary["success"] if row["variant"] == self.names[variant]}
        width, parts = min(90.0, 700 / len(xs)), [page.text(120, 14, f"{self.names[variant]}: passed")]
        for number, cell in enumerate(plan.cells):
            rate = rows[number]["rate"]
            x, y = 120 + width * xs.index(str(cell[0][1])), 24 + 34.0 * ys.index(str(cell[1][1]))
            parts.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{width - 3:.1f}" height="31" fill="{page.color(0)}" '
                f'fill-opacity="{0.08 + 0.5 * (rate or 0):.2f}"/>'
            )
            parts.append(page.text(x + width / 2, y + 20, "none" if rate is None else f"{100 * rate:.0f} %", "middle"))
        bottom = 24 + 34.0 * len(ys)
        parts += [page.text(120 + width * (i + 0.5), bottom + 14, x, "middle", weak=True) for i, x in enumerate(xs)]
        parts += [page.text(112, 44 + 34.0 * i, y, "end", weak=True) for i, y in enumerate(ys)]
        parts += [page.text(120, bottom + 32, f"across: {key_x}; down: {key_y}", weak=True)]
        return page.svg(980, bottom + 42, parts, "success over the grid")


# ---- the page -----------------------------------------------------------------------------------------------------


def scaled(values: Sequence[float | None] | None, factor: float) -> list[float | None]:
    return [None if value is None else value * factor for value in values or ()]


def shown_unit(data: Dataset, metric: str) -> tuple[float, str]:
    """Factor and unit in which a metric is shown."""
    rows = [row for row in data.summary["metrics"] if row["metric"] == metric and row["cell"] is None]
    return page.shown(data.unit(metric), [row.get(key) for row in rows for key in ("iqm", "median", "worst")])


def _first_lines(data: Dataset) -> str:
    summary = data.summary
    runs = summary["runs"]
    success = [row for row in summary["success"] if row["cell"] is None and row["n"]]
    rates = "; ".join(
        f"<b>{page.escape(row['variant'])}</b> passes {page.percent(row['rate'])} "
        f"({100 * row['interval'][0]:.1f} to {100 * row['interval'][1]:.1f} %)"
        for row in success
    )
    notes = [
        f"{runs[key]} {text}"
        for key, text in (
            ("diverged", "diverged"),
            ("timeout", "timed out"),
            ("of_earlier_state", "of an earlier state of the files are not counted"),
        )
        if runs[key]
    ]
    size = ", ".join(
        page.count(number, noun)
        for number, noun in (
            (summary["seeds"], "seed"),
            (len(summary["cells"]), "cell"),
            (len(summary["variants"]), "variant"),
        )
    )
    few = (
        " Fewer than 8 seeds: metrics have no intervals, and no difference can be shown."
        if summary["seeds"] < FEWEST
        else ""
    )
    return (
        f'<p class="first">{page.count(runs["planned"], "run")}: {rates}; {runs["crashed"] + runs["missing"]} without '
        f'result.</p>{_verdicts(data)}<p class="note">{size}; in parentheses 95 % intervals over the seeds.'
        f"{' ' + ', '.join(notes) + '.' if notes else ''}{few}</p>"
    )


def _verdicts(data: Dataset) -> str:
    """A line per variant: what is better and what is worse than with the baseline."""
    lines = []
    for variant in data.plan.variants:
        rows = [row for row in data.compare() if row["variant"] == variant.name]
        said = []
        for kind in ("better", "worse", "no difference shown"):
            names = [page.escape(row["metric"]) for row in rows if row["words"] == kind]
            if names:
                said.append(f'<span class="{kind.split()[0]}">{kind}</span>: {", ".join(names)}')
        if said:
            lines.append(
                f"<li><b>{page.escape(variant.name)}</b> against {page.escape(data.plan.baseline)}: "
                f"{'; '.join(said)}</li>"
            )
    return f'<ul class="first">{"".join(lines)}</ul>' if lines else ""


def _shortened(rows: list[list[str]]) -> tuple[list[list[str]], str]:
    """The first rows, and what to say of the others."""
    note = (
        f'<p class="note">{len(rows) - _MOST_ROWS} more rows are in summary.json.</p>' if len(rows) > _MOST_ROWS else ""
    )
    return rows[:_MOST_ROWS], note


def _overview(data: Dataset) -> str:
    cells = [cell for cell in data.levels if cell is not None]
    if len(cells) * len(data.plan.variants) <= _MOST_OPEN:
        return _overview_of(data, data.levels)
    return _overview_of(data, [None]) + page.in_details("Each cell", _overview_of(data, cells))


def _overview_of(data: Dataset, levels: Sequence[int | None]) -> str:
    summary, metrics = data.summary, data.plan.compare
    rates = {(row["cell"], row["variant"]): row for row in summary["success"]}
    found = {(row["metric"], row["cell"], row["variant"]): row for row in summary["metrics"]}
    factors = {m.metric: shown_unit(data, m.metric) for m in metrics}
    several = len(data.levels) > 1
    rows = []
    for cell in levels:
        where = ("all cells" if cell is None else page.escape(data.plan.cell_name(cell))) if several else ""
        for variant in data.plan.variants:
            rate = rates[cell, variant.name]
            row = [where] * several + [
                page.escape(variant.name),
                page.percent(rate["rate"]) + page.percent_interval(rate["interval"]),
            ]
            for metric in metrics:
                one, (factor, _) = found[metric.metric, cell, variant.name], factors[metric.metric]
                row.append(f"{page.number(one.get('iqm'), factor)}{page.interval(one.get('interval'), factor)}")
            rows.append(row)
            where = ""
    head = [f"{page.escape(m.metric)} {page.escape(factors[m.metric][1])}".rstrip() for m in metrics]
    kept, note = _shortened(rows)
    return page.table(["cell"] * several + ["variant", "passed", *head], kept, 1 + several) + note


def _differences(data: Dataset) -> str:
    whole = [row for row in data.summary["differences"] if row["cell"] is None]
    cells = [row for row in data.summary["differences"] if row["cell"] is not None]
    each = page.in_details("Differences in each cell", _differences_of(data, cells)) if cells else ""
    return _differences_of(data, whole) + each


def _differences_of(data: Dataset, differences: Sequence[dict[str, Any]]) -> str:
    rows = []
    with_cell = any(row["cell"] is not None for row in differences)
    units = {m.metric: shown_unit(data, m.metric) for m in data.plan.compare} | {"success": (100.0, "%")}
    for row in differences:
        mean, ratio = row.get("iqm", row.get("difference")), row.get("ratio")
        factor, unit = units[row["metric"]]
        rows.append(
            [
                page.escape(row["metric"]),
                page.escape(row["variant"]),
                *([page.escape(data.plan.cell_name(row["cell"]))] if with_cell else []),
                f"{page.number(mean, factor)} {page.escape(unit)}{page.interval(row['interval'], factor)}",
                f"{page.number(ratio)}{page.interval(row['ratio_interval'])}" if ratio else "",
                f"{page.percent(row['chance_better'], 0)}{page.percent_interval(row['chance_interval'], 0)}"
                if "chance_better" in row
                else "",
                f"{row['p_holm']:.2g}",
                f'<span class="{row["words"].split()[0]}">{row["words"]}</span>',
            ]
        )
    kept, note = _shortened(rows)
    head = ["metric", "variant", *(["cell"] if with_cell else []), "difference", "ratio", "chance better", "p", ""]
    return page.table(head, kept, 3 if with_cell else 2) + note


def _checks_and_worst(data: Dataset) -> str:
    summary = data.summary
    text = ""
    if summary["failed_checks"]:
        text += "<h2>What failed</h2>" + page.table(
            ["check", "variant", "runs"],
            (
                [page.escape(row["check"]), page.escape(row["variant"]), str(row["count"])]
                for row in summary["failed_checks"]
            ),
            2,
        )
    if summary["worst_runs"]:
        text += f"<h2>The worst runs by {page.escape(summary['worst_runs'][0]['metric'])}</h2>" + page.table(
            ["variant", "cell", "playback, or repeat it with", "seed", "value"],
            (
                [
                    page.escape(row["variant"]),
                    page.escape(data.plan.cell_name(row["cell"])),
                    _playback(data, row),
                    str(row["seed"]),
                    row["outcome"] if row["outcome"] != "done" else _value(data, row),
                ]
                for row in summary["worst_runs"]
            ),
            3,
        )
    if summary["without_result"]:
        text += "<h2>Without result</h2>" + page.table(
            ["run", "error"],
            ([page.escape(row["id"]), page.escape(row["error"])] for row in summary["without_result"]),
            2,
        )
    return text


def _playback(data: Dataset, row: dict[str, Any]) -> str:
    file = data.playback(row["id"])
    link = f'<a href="{file.relative_to(data.folder)}">play.html</a> · ' if file is not None else ""
    return f"{link}<code>{page.escape(row['command'])}</code>"


def _value(data: Dataset, row: dict[str, Any]) -> str:
    factor, unit = shown_unit(data, row["metric"])
    return f"{page.number(row['value'], factor)} {page.escape(unit)}"


def _provenance(data: Dataset) -> str:
    summary = data.summary
    rows = [
        ["experiment", page.escape(summary["experiment"])],
        ["versions", page.escape(", ".join(f"{name} {version}" for name, version in summary["versions"].items()))],
        ["machines", page.escape(", ".join(f"{name}: {count} runs" for name, count in summary["machines"].items()))],
    ]
    rows += [[f"variant {page.escape(v['name'])}", page.escape(variant_text(v))] for v in summary["variants"]]
    rows += [["--set", page.escape(f"{key} = {value}")] for key, value in summary["settings"].items()]
    rows += [[page.escape(name), f"<code>{digest[:16]}</code>"] for name, digest in summary["files"].items()]
    return "<h2>What was run</h2>" + page.table(["", ""], rows, 2)


def rate_text(row: dict[str, Any]) -> str:
    """Of a row of `success`."""
    if row["rate"] is None:
        return "no result"
    k, (low, high) = row["successes"], row["interval"]
    counted = (
        f"{k:g} of {row['n']} passed, " if k == int(k) else "passed: "
    )  # with several cells a seed counts by parts
    return f"{counted}{page.percent(row['rate'])} ({100 * low:.1f} to {100 * high:.1f} %)"


def variant_text(variant: dict[str, Any]) -> str:
    """What a variant of `summary.json` is."""
    texts = [variant[key] for key in ("controller", "python", "plugin") if variant[key]]
    return ", ".join(texts + [f"{key} = {value}" for key, value in variant["set"].items()]) or "as the experiment"


def html(data: Dataset, origin: str = "") -> str:
    """The page. Its numbers are those of `Dataset.summary`.

    @param origin  HTML that says what was run, instead of the experiment's files
    """
    plots, plan = _Plots(data), data.plan
    body = [f"<h1>{page.escape(plan.name)}</h1>", _first_lines(data), _overview(data)]
    if plan.compare:
        body.append(
            '<p class="note">Metrics: mean of the middle half of the seeds, with its interval; a run that did '
            "not end has the worst value.</p>"
        )
    if len(plan.cells) > 1 and len(plan.cells[0]) == 2:
        body += ["<h2>Passed, over the grid</h2>", *(plots.heat_map(v) for v in range(len(plan.variants)))]
    if data.summary["differences"]:
        body += [
            f"<h2>Differences to {page.escape(plan.baseline)}, seed by seed</h2>",
            plots.forest(),
            _differences(data),
            '<p class="note">Better or worse: p &lt; 0.05 after Holm\'s correction, and the interval excludes 0. '
            "Chance better: that the variant is better at the next seed.</p>",
        ]
    body += [_of_metric(data, plots, metric) for metric in plan.compare]
    body += [_checks_and_worst(data), origin or _provenance(data)]
    return page.page(plan.name, "".join(body))


def _of_metric(data: Dataset, plots: _Plots, metric: Any) -> str:
    title = f"<h2>{page.escape(metric.metric)}</h2>"
    if not np.isfinite(data.values(metric)).any():
        return f'{title}<p class="note">No run has a value.</p>'
    body = [
        title,
        '<p class="note">A point per seed, from 500 on their density; below, circle and bar are the mean of the '
        f"middle half and its interval. {metric.better.capitalize()} is better.</p>",
        plots.distributions(metric),
    ]
    if len(data.plan.seeds) < _FEWEST_SHOWN:
        return "".join(body)
    if len(data.plan.variants) > 1:
        body += [
            '<p class="note">A point per seed; below the diagonal the variant has the smaller value.</p>',
            plots.pairs(metric),
        ]
    sign = "at most" if metric.better == "lower" else "at least"
    return "".join([*body, f'<p class="note">Part of the seeds with a value of {sign} …</p>', plots.profile(metric)])
