"""The report of a sweep: one HTML file with its plots inside, without scripts and requests.

Variants are told apart by colour, by the dashes of their lines and by their places, in light and dark.
"""
from __future__ import annotations

import html as html_text
import math
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from tendril.dataset import Dataset

Values = npt.NDArray[np.float64]

_COLOURS = 6
_DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 4", "12 4")
_FROM_HERE_DENSITY = 500  # values
_STYLE = """
:root { color-scheme: light dark; --page: #fff; --text: #1c1c1c; --weak: #6b6b6b; --line: #d5d5d5; --good: #00695c;
  --bad: #b23c00; --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #aa3377; --c4: #b58900; --c5: #555555; }
@media (prefers-color-scheme: dark) { :root { --page: #16181b; --text: #e8e8e8; --weak: #a0a0a0; --line: #3c4046;
  --good: #5fd3bc; --bad: #ff9a66; --c0: #56b4e9; --c1: #ff9a4d; --c2: #3fd6a5; --c3: #e58ac0; --c4: #f0d44c;
  --c5: #c0c0c0; } }
body { background: var(--page); color: var(--text); font: 15px/1.5 system-ui, sans-serif; max-width: 1000px;
  margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.5em; margin-bottom: .2em } h2 { font-size: 1.15em; margin-top: 2em }
p.first { font-size: 1.1em } p.note, td.note { color: var(--weak) }
table { border-collapse: collapse; font-variant-numeric: tabular-nums } .wide { overflow-x: auto }
th, td { border-bottom: 1px solid var(--line); padding: .25em .8em .25em 0; text-align: right; vertical-align: top }
th:first-child, td:first-child, td.text, th.text { text-align: left } code { font-size: .85em }
td.text code { white-space: nowrap }
.better { color: var(--good); font-weight: 600 } .worse { color: var(--bad); font-weight: 600 }
svg { max-width: 100%; height: auto; font: 12px system-ui, sans-serif; display: block }
svg text { fill: var(--text) } svg .weak { fill: var(--weak) } svg .grid { stroke: var(--line) }
svg .axis { stroke: var(--weak) } svg .halo { fill: var(--page) }
"""


def _number(value: float | None) -> str:
    if value is None or math.isnan(value):
        return "none"
    return f"{value:.4g}"


def _escape(text: object) -> str:
    return html_text.escape(str(text))


def _interval(row: Sequence[float | None] | None, scale: float = 1.0, unit: str = "") -> str:
    if not row:
        return ""
    low, high = (_number(None if end is None else end * scale) for end in row)
    return f'<br><small class="note">{low} to {high}{unit}</small>'


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], texts: int = 1) -> str:
    """@param texts  number of columns on the left that are text"""
    def cells(tag: str, row: Sequence[str]) -> str:
        return "<tr>" + "".join(f'<{tag}{" class=text" if i < texts else ""}>{cell}</{tag}>'
                                for i, cell in enumerate(row)) + "</tr>"
    return ('<div class="wide"><table>' + cells("th", head) + "".join(cells("td", row) for row in rows)
            + "</table></div>")


# ---- drawing ------------------------------------------------------------------------------------------------------


class _Scale:
    """Numbers to places along an axis; logarithmic when they are positive and span more than a factor of 100."""

    def __init__(self, values: Values, begin: float, end: float, logarithmic: bool | None = None) -> None:
        finite = values[np.isfinite(values)]
        low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
        self.log = (low > 0 and high > 100 * low) if logarithmic is None else logarithmic
        low, high = (math.log10(low), math.log10(high)) if self.log else (low, high)
        room = (high - low) * 0.04 or (abs(low) * 0.1 or 1.0)
        self._low, self._high, self._begin, self._end = low - room, high + room, begin, end

    def __call__(self, value: Any) -> Any:
        position = np.log10(np.maximum(value, sys.float_info.min)) if self.log else np.asarray(value, dtype=float)
        part = np.clip((position - self._low) / (self._high - self._low), 0.0, 1.0)
        return self._begin + part * (self._end - self._begin)

    def ticks(self) -> list[float]:
        if self.log:
            exponents = range(math.ceil(self._low), math.floor(self._high) + 1)
            return [10.0**e for e in exponents][:: max(1, len(exponents) // 6)]
        raw = (self._high - self._low) / 7
        size = 10.0 ** math.floor(math.log10(raw))
        step = next(size * m for m in (1, 2, 5, 10) if size * m >= raw)
        first, last = math.ceil(self._low / step), math.floor(self._high / step)
        return [i * step for i in range(first, last + 1)]


def _svg(width: float, height: float, parts: Iterable[str], title: str) -> str:
    return (f'<svg viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" role="img" aria-label="{_escape(title)}">'
            + "".join(parts) + "</svg>")


def _text(x: float, y: float, text: object, anchor: str = "start", weak: bool = False) -> str:
    mark = ' class="weak"' if weak else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{mark}>{_escape(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, kind: str = "grid") -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _colour(variant: int) -> str:
    return f"var(--c{variant % _COLOURS})"


def _bottom_axis(scale: _Scale, top: float, bottom: float, label: str) -> list[str]:
    parts = []
    for tick in scale.ticks():
        x = float(scale(tick))
        parts += [_line(x, top, x, bottom), _text(x, bottom + 15, f"{tick:.4g}", "middle", weak=True)]
    middle = (scale._begin + scale._end) / 2
    return [*parts, _line(scale._begin, bottom, scale._end, bottom, "axis"),
            _text(middle, bottom + 32, label, "middle", weak=True)]


def _points(x: Values, y: Values, variant: int, size: float) -> str:
    path = "".join(f"M{a:.1f} {b:.1f}h0" for a, b in zip(x, y, strict=True))
    return (f'<path d="{path}" stroke="{_colour(variant)}" stroke-width="{size}" stroke-linecap="round" fill="none" '
            f'opacity="{0.6 if len(x) < 300 else 0.3}"/>')


def _step_line(x: Values, y: Values, variant: int) -> str:
    path = f"M{x[0]:.1f} {y[0]:.1f}" + "".join(f"H{a:.1f}V{b:.1f}" for a, b in zip(x[1:], y[1:], strict=True))
    return (f'<path d="{path}" stroke="{_colour(variant)}" stroke-dasharray="{_DASHES[variant % _COLOURS]}" '
            f'stroke-width="2" fill="none"/>')


class _Plots:
    """The plots of one data set; all cells together."""

    def __init__(self, data: Dataset) -> None:
        self.data, self.names = data, [variant.name for variant in data.plan.variants]
        self.left = min(220.0, 20 + 7.0 * max(map(len, self.names)))

    def label(self, metric: str) -> str:
        unit = self.data.units.get(metric, "")
        return f"{metric} [{unit}]" if unit else metric

    def distributions(self, metric: Any) -> str:
        """Points, or a density, above the interquartile mean and its interval."""
        all_values = [self.data.by_seed(self.data.values(metric), None, v) for v in range(len(self.names))]
        scale = _Scale(np.concatenate(all_values), self.left, 880)
        height = 62.0
        bottom = 12 + height * len(self.names)
        parts = _bottom_axis(scale, 6, bottom, self.label(metric.metric))
        rows = {row["variant"]: row for row in self.data.summary["metrics"]
                if row["metric"] == metric.metric and row["cell"] is None}
        for v, x in enumerate(all_values):
            base = 12 + height * v
            x = x[~np.isnan(x)]
            finite = x[np.isfinite(x)]
            parts.append(_text(self.left - 10, base + 32, self.names[v], "end"))
            if len(finite) >= _FROM_HERE_DENSITY:
                counts, edges = np.histogram(scale(finite), bins=120)
                heights = base + 40 - 36 * counts / counts.max()
                path = f"M{edges[0]:.1f} {base + 40:.1f}" + "".join(
                    f"V{h:.1f}H{e:.1f}" for h, e in zip(heights, edges[1:], strict=True)) + f"V{base + 40:.1f}Z"
                parts.append(f'<path d="{path}" fill="{_colour(v)}" opacity="0.45"/>')
            else:
                spread: Values = (np.arange(len(finite), dtype=np.float64) * 0.618034) % 1.0
                parts.append(_points(scale(finite), base + 6 + 32 * spread, v, 6))
            row = rows[self.names[v]]
            if row.get("iqm") is not None:
                low, high = row["interval"] or (None, None)
                if low is not None and high is not None:
                    parts.append(f'<line x1="{scale(low):.1f}" x2="{scale(high):.1f}" y1="{base + 48:.1f}" '
                                 f'y2="{base + 48:.1f}" stroke="{_colour(v)}" stroke-width="4"/>')
                parts.append(f'<circle class="halo" cx="{scale(row["iqm"]):.1f}" cy="{base + 48:.1f}" r="4.5" '
                             f'stroke="{_colour(v)}" stroke-width="2.5"/>')
            if len(x) > len(finite):
                parts.append(_text(890, base + 32, f"{len(x) - len(finite)} without", weak=True))
        return _svg(980, bottom + 40, parts, f"distributions of {metric.metric}")

    def forest(self) -> str:
        """Differences to the baseline, a panel per metric with an axis of its own."""
        parts: list[str] = []
        y = 10.0
        rows = [row for row in self.data.compare() if "iqm" in row or "difference" in row]
        for metric in dict.fromkeys(row["metric"] for row in rows):
            panel = [row for row in rows if row["metric"] == metric]
            ends = [end for row in panel for end in (row["interval"] or []) if end is not None]
            means = [row.get("iqm", row.get("difference")) for row in panel]
            known = np.array([0.0, *ends, *(m for m in means if m is not None)])
            scale = _Scale(known, self.left, 640, logarithmic=False)
            bottom = y + 20 + 24 * len(panel)
            arrow = "lower is better" if panel[0]["better"] == "lower" else "higher is better"
            parts.append(_text(self.left, y + 8, f"{self.label(metric)}: {arrow}"))
            parts += _bottom_axis(scale, y + 14, bottom, f"difference to {self.data.plan.baseline}")
            parts.append(_line(float(scale(0)), y + 14, float(scale(0)), bottom, "axis"))
            for i, (row, mean) in enumerate(zip(panel, means, strict=True)):
                middle, v = y + 30 + 24 * i, self.names.index(row["variant"])
                parts.append(_text(self.left - 10, middle + 4, row["variant"], "end"))
                low, high = row["interval"] or (None, None)
                if low is not None and high is not None:
                    parts.append(f'<line x1="{scale(low):.1f}" x2="{scale(high):.1f}" y1="{middle}" y2="{middle}" '
                                 f'stroke="{_colour(v)}" stroke-width="4"/>')
                if mean is not None:
                    parts.append(f'<circle class="halo" cx="{scale(mean):.1f}" cy="{middle}" r="4.5" '
                                 f'stroke="{_colour(v)}" stroke-width="2.5"/>')
                parts.append(_text(655, middle + 4, f"{row['words']}, p = {row['p_holm']:.2g}"))
            y = bottom + 48
        return _svg(980, y, parts, "differences to the baseline") if parts else ""

    def pairs(self, metric: Any) -> str:
        """A point per seed: the baseline across, the variant up."""
        values = self.data.values(metric)
        base = self.names.index(self.data.plan.baseline)
        x = self.data.by_seed(values, None, base)
        parts: list[str] = []
        shown = [v for v in range(len(self.names)) if v != base][:3]
        for place, v in enumerate(shown):
            y = self.data.by_seed(values, None, v)
            finite = np.isfinite(x) & np.isfinite(y)
            size = 5 if finite.sum() < _FROM_HERE_DENSITY else 2
            left = 70.0 + 320 * place
            both = np.concatenate((x[finite], y[finite]))
            across, up = _Scale(both, left, left + 230), _Scale(both, 240, 10)
            parts += _bottom_axis(across, 10, 240, f"{self.data.plan.baseline}: {self.label(metric.metric)}")
            for tick in up.ticks():
                parts += [_line(left, float(up(tick)), left + 230, float(up(tick))),
                          _text(left - 5, float(up(tick)) + 4, f"{tick:.4g}", "end", weak=True)]
            parts += [_line(left, 240, left + 230, 10, "axis"), _points(across(x[finite]), up(y[finite]), v, size),
                      _text(left + 6, 22, self.names[v])]
        return _svg(980, 285, parts, f"pairs of {metric.metric}") if shown else ""

    def profile(self, metric: Any) -> str:
        """Part of the seeds with a value at most (at least) as large."""
        all_values = [self.data.by_seed(self.data.values(metric), None, v) for v in range(len(self.names))]
        scale = _Scale(np.concatenate(all_values), 60, 640)
        parts = _bottom_axis(scale, 10, 210, self.label(metric.metric))
        for part in (0.0, 0.5, 1.0):
            y = 210 - 190 * part
            parts += [_line(60, y, 640, y), _text(52, y + 4, f"{100 * part:.0f} %", "end", weak=True)]
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
            parts.append(_step_line(xs, ys, v))
            parts += [f'<line x1="660" x2="700" y1="{30 + 22 * v}" y2="{30 + 22 * v}" stroke="{_colour(v)}" '
                      f'stroke-dasharray="{_DASHES[v % _COLOURS]}" stroke-width="2"/>',
                      _text(708, 34 + 22 * v, self.names[v])]
        return _svg(980, 250, parts, f"profile of {metric.metric}")

    def heat_map(self, variant: int) -> str:
        """Success rates over two axes of the grid."""
        plan = self.data.plan
        (key_x, _), (key_y, _) = plan.cells[0]
        xs = list(dict.fromkeys(str(cell[0][1]) for cell in plan.cells))
        ys = list(dict.fromkeys(str(cell[1][1]) for cell in plan.cells))
        rows = {row["cell"]: row for row in self.data.summary["success"] if row["variant"] == self.names[variant]}
        width, parts = min(90.0, 700 / len(xs)), [_text(120, 14, f"{self.names[variant]}: passed")]
        for number, cell in enumerate(plan.cells):
            rate = rows[number]["rate"]
            x, y = 120 + width * xs.index(str(cell[0][1])), 24 + 34.0 * ys.index(str(cell[1][1]))
            parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width - 3:.1f}" height="31" fill="{_colour(0)}" '
                         f'fill-opacity="{0.08 + 0.5 * (rate or 0):.2f}"/>')
            parts.append(_text(x + width / 2, y + 20, "none" if rate is None else f"{100 * rate:.0f} %", "middle"))
        bottom = 24 + 34.0 * len(ys)
        parts += [_text(120 + width * (i + 0.5), bottom + 14, x, "middle", weak=True) for i, x in enumerate(xs)]
        parts += [_text(112, 44 + 34.0 * i, y, "end", weak=True) for i, y in enumerate(ys)]
        parts += [_text(120, bottom + 32, f"across: {key_x}; down: {key_y}", weak=True)]
        return _svg(980, bottom + 42, parts, "success over the grid")


# ---- the page -----------------------------------------------------------------------------------------------------


def _first_lines(summary: dict[str, Any]) -> str:
    runs = summary["runs"]
    success = [row for row in summary["success"] if row["cell"] is None and row["n"]]
    rates = "; ".join(f"<b>{_escape(row['variant'])}</b> passes {100 * row['rate']:.1f} % "
                      f"({100 * row['interval'][0]:.1f} to {100 * row['interval'][1]:.1f} %)" for row in success)
    missing = runs["crashed"] + runs["missing"]
    notes = [f"{runs[key]} {text}" for key, text in (("diverged", "diverged"), ("timeout", "timed out"),
             ("of_earlier_state", "of an earlier state of the files are not counted")) if runs[key]]
    return (f'<p class="first">{runs["planned"]} runs: {rates}; {missing} without result.</p>'
            f'<p class="note">{summary["seeds"]} seeds, {len(summary["cells"])} cells, '
            f'{len(summary["variants"])} variants; 95 % intervals over the seeds.{" " + ", ".join(notes) + "." if notes else ""}</p>')


def _overview(data: Dataset) -> str:
    summary, metrics = data.summary, data.plan.compare
    rows = []
    for cell in data.levels:
        where = "all" if cell is None else _escape(data.plan.cell_name(cell))
        for variant in data.plan.variants:
            rate = next(r for r in summary["success"] if r["cell"] == cell and r["variant"] == variant.name)
            row = [where, _escape(variant.name), "none" if rate["rate"] is None else
                   f"{100 * rate['rate']:.1f} %{_interval(rate['interval'], 100, ' %')}"]
            for metric in metrics:
                one = next(r for r in summary["metrics"] if r["metric"] == metric.metric and r["cell"] == cell
                           and r["variant"] == variant.name)
                row.append(f"{_number(one.get('iqm'))}{_interval(one.get('interval'))}")
            rows.append(row)
    units = [f"{_escape(m.metric)} {_escape(data.units.get(m.metric, ''))}" for m in metrics]
    return _table(["cell", "variant", "passed", *units], rows, 2)


def _differences(data: Dataset) -> str:
    rows = []
    for row in data.summary["differences"]:
        mean = row.get("iqm", row.get("difference"))
        ratio = row.get("ratio")
        kind = row["words"].split()[0]
        rows.append([_escape(row["metric"]), _escape(row["variant"]),
                     "all" if row["cell"] is None else _escape(data.plan.cell_name(row["cell"])),
                     f"{_number(mean)}{_interval(row['interval'])}",
                     f"{_number(ratio)}{_interval(row['ratio_interval'])}" if ratio else "",
                     f"{100 * row['chance_better']:.0f} %{_interval(row['chance_interval'], 100, ' %')}"
                     if "chance_better" in row else "",
                     f"{row['p_holm']:.2g}", f'<span class="{kind}">{row["words"]}</span>'])
    return _table(["metric", "variant", "cell", "difference", "ratio", "chance better", "p", ""], rows, 3)


def _checks_and_worst(data: Dataset) -> str:
    summary = data.summary
    text = ""
    if summary["failed_checks"]:
        text += "<h2>What failed</h2>" + _table(["check", "variant", "runs"], (
            [_escape(row["check"]), _escape(row["variant"]), str(row["count"])] for row in summary["failed_checks"]), 2)
    if summary["worst_runs"]:
        text += f"<h2>The worst runs by {_escape(summary['worst_runs'][0]['metric'])}</h2>" + _table(
            ["variant", "cell", "playback, or repeat it with", "seed", "value"],
            ([_escape(row["variant"]), _escape(data.plan.cell_name(row["cell"])), _playback(data, row),
              str(row["seed"]), row["outcome"] if row["outcome"] != "done" else _number(row["value"])]
             for row in summary["worst_runs"]), 3)
    if summary["without_result"]:
        text += "<h2>Without result</h2>" + _table(["run", "error"], (
            [_escape(row["id"]), _escape(row["error"])] for row in summary["without_result"]), 2)
    return text


def _playback(data: Dataset, row: dict[str, Any]) -> str:
    page = data.playback(row["id"])
    link = f'<a href="{page.relative_to(data.folder)}">play.html</a> · ' if page is not None else ""
    return f"{link}<code>{_escape(row['command'])}</code>"


def _provenance(data: Dataset) -> str:
    summary = data.summary
    rows = [["experiment", _escape(summary["experiment"])],
            ["versions", _escape(", ".join(f"{name} {version}" for name, version in summary["versions"].items()))],
            ["machines", _escape(", ".join(f"{name}: {count} runs" for name, count in summary["machines"].items()))]]
    rows += [[f"variant {_escape(v['name'])}", _escape(", ".join(
        [text for text in (v["controller"], v["python"]) if text] + [f"{key} = {value}" for key, value in v["set"].items()])
        or "as the experiment")] for v in summary["variants"]]
    rows += [["--set", _escape(f"{key} = {value}")] for key, value in summary["settings"].items()]
    rows += [[_escape(name), f"<code>{digest[:16]}</code>"] for name, digest in summary["files"].items()]
    return "<h2>What was run</h2>" + _table(["", ""], rows, 2)


def html(data: Dataset) -> str:
    """The page. Its numbers are those of `Dataset.summary`."""
    plots, plan = _Plots(data), data.plan
    title = _escape(plan.name)
    body = [f"<h1>{title}</h1>", _first_lines(data.summary), _overview(data)]
    if data.plan.compare:
        body.append('<p class="note">Metrics: mean of the middle half of the seeds, with its interval; a run that did '
                    'not end has the worst value.</p>')
    if data.summary["differences"]:
        body += [f"<h2>Differences to {_escape(plan.baseline)}, seed by seed</h2>", plots.forest(),
                 _differences(data),
                 '<p class="note">Better or worse: p &lt; 0.05 after Holm\'s correction, and the interval excludes 0.</p>']
    for metric in data.plan.compare if len(data.summary["metrics"]) and data.passed.size else ():
        body += [f"<h2>{_escape(metric.metric)}</h2>", plots.distributions(metric)]
        if len(plan.variants) > 1:
            body += ['<p class="note">A point per seed; below the diagonal the variant has the smaller value.</p>',
                     plots.pairs(metric)]
        sign = "at most" if metric.better == "lower" else "at least"
        body += [f'<p class="note">Part of the seeds with a value of {sign} …</p>', plots.profile(metric)]
    if len(plan.cells) > 1 and len(plan.cells[0]) == 2:
        body += ["<h2>Over the grid</h2>", *(plots.heat_map(v) for v in range(len(plan.variants)))]
    body += [_checks_and_worst(data), _provenance(data)]
    return ('<!doctype html><html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width"><meta http-equiv="Content-Security-Policy" '
            f'content="default-src \'none\'; style-src \'unsafe-inline\'"><title>{title}</title>'
            f"<style>{_STYLE}</style></head><body>{''.join(body)}</body></html>\n")
