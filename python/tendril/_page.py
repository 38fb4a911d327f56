"""What the pages of reports have in common: style, tables, numbers, and plots as SVG, without scripts and requests.

Variants are told apart by color, by the dashes of their lines and by their places, in light and dark.
"""

from __future__ import annotations

import html as html_text
import math
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

COLORS = 6
_STRETCHES = 500  # of a line
_SHADES = 5
DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 4", "12 4")
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
summary { cursor: pointer; margin: .8em 0 } ul.first { padding-left: 1.2em } a { color: var(--c0) }
th, td { border-bottom: 1px solid var(--line); padding: .25em .8em .25em 0; text-align: right; vertical-align: top }
th:first-child, td:first-child, td.text, th.text { text-align: left } code { font-size: .85em }
td.text code, td small { white-space: nowrap } td.text { max-width: 30em }
.better { color: var(--good); font-weight: 600 } .worse { color: var(--bad); font-weight: 600 }
.better, .worse { white-space: nowrap }
svg { max-width: 100%; height: auto; font: 12px system-ui, sans-serif; display: block }
svg text { fill: var(--text) } svg .weak { fill: var(--weak) } svg .grid { stroke: var(--line) }
svg .axis { stroke: var(--weak) } svg .halo { fill: var(--page) }
"""


def number(value: float | None, factor: float = 1.0, digits: int = 4) -> str:
    if value is None or math.isnan(value):
        return "none"
    return f"{value * factor:.{digits}g}"


def end(value: float | None, factor: float = 1.0) -> str:
    """Of an interval; null stands for infinity."""
    return "∞" if value is None else number(value, factor, 3)


def shown(unit: str, values: Iterable[float | None]) -> tuple[float, str]:
    """Factor and unit in which these values read well: lengths below 0.1 m in mm."""
    finite = [abs(value) for value in values if value is not None and math.isfinite(value)]
    return (1e3, "mm") if unit == "m" and finite and max(finite) < 0.1 else (1.0, unit)


def percent(part: float | None, digits: int = 1) -> str:
    return "none" if part is None else f"{100 * part:.{digits}f} %"


def count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def escape(text: object) -> str:
    return html_text.escape(str(text))


def interval(ends: Sequence[float | None] | None, factor: float = 1.0) -> str:
    if not ends:
        return ""
    low, high = (end(one, factor) for one in ends)
    return f'<br><small class="note">{low} to {high}</small>'


def percent_interval(ends: Sequence[float] | None, digits: int = 1) -> str:
    if not ends:
        return ""
    return f'<br><small class="note">{100 * ends[0]:.{digits}f} to {100 * ends[1]:.{digits}f} %</small>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]], texts: int = 1) -> str:
    """@param texts  number of columns on the left that are text"""

    def cells(tag: str, row: Sequence[str]) -> str:
        return (
            "<tr>"
            + "".join(f"<{tag}{' class=text' if i < texts else ''}>{cell}</{tag}>" for i, cell in enumerate(row))
            + "</tr>"
        )

    return (
        '<div class="wide"><table>' + cells("th", head) + "".join(cells("td", row) for row in rows) + "</table></div>"
    )


def in_details(title: str, content: str) -> str:
    """Shown when it is opened."""
    return f"<details><summary>{title}</summary>{content}</details>"


# ---- drawing ------------------------------------------------------------------------------------------------------


class Scale:
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


def svg(width: float, height: float, parts: Iterable[str], title: str) -> str:
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" role="img" aria-label="{escape(title)}">'
        + "".join(parts)
        + "</svg>"
    )


def text(x: float, y: float, text: object, anchor: str = "start", weak: bool = False) -> str:
    mark = ' class="weak"' if weak else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{mark}>{escape(text)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str = "grid") -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def color(variant: int) -> str:
    return f"var(--c{variant % COLORS})"


def bottom_axis(scale: Scale, top: float, bottom: float, label: str, ticks: Sequence[float] = ()) -> list[str]:
    parts = []
    for tick in ticks or scale.ticks():
        x = float(scale(tick))
        parts += [line(x, top, x, bottom), text(x, bottom + 15, f"{tick:.4g}", "middle", weak=True)]
    middle = (scale._begin + scale._end) / 2
    return [
        *parts,
        line(scale._begin, bottom, scale._end, bottom, "axis"),
        text(middle, bottom + 32, label, "middle", weak=True),
    ]


def interval_mark(
    scale: Scale, ends: Sequence[float | None] | None, middle: float | None, y: float, variant: int
) -> list[str]:
    """A bar from end to end, and a circle."""
    parts = []
    low, high = ends or (None, None)
    if low is not None and high is not None:
        parts.append(
            f'<line x1="{scale(low):.1f}" x2="{scale(high):.1f}" y1="{y:.1f}" y2="{y:.1f}" '
            f'stroke="{color(variant)}" stroke-width="4"/>'
        )
    if middle is not None:
        parts.append(
            f'<circle class="halo" cx="{scale(middle):.1f}" cy="{y:.1f}" r="4.5" '
            f'stroke="{color(variant)}" stroke-width="2.5"/>'
        )
    return parts


def points(x: Values, y: Values, variant: int, size: float) -> str:
    path = "".join(f"M{a:.1f} {b:.1f}h0" for a, b in zip(x, y, strict=True))
    return (
        f'<path d="{path}" stroke="{color(variant)}" stroke-width="{size}" stroke-linecap="round" fill="none" '
        f'opacity="{0.6 if len(x) < 300 else 0.3}"/>'
    )


def density(x: Values, y: Values, variant: int) -> str:
    """Squares of 2 px, the darker the more points they have."""
    places, counts = np.unique(np.rint(np.column_stack((x, y)) / 2).astype(int), axis=0, return_counts=True)
    level = np.minimum(_SHADES, np.ceil(_SHADES * np.log1p(counts) / math.log1p(counts.max()))).astype(int)
    drawn = ""
    for shade in range(1, _SHADES + 1):
        path = "".join(f"M{2 * a - 1} {2 * b}h2" for a, b in places[level == shade].tolist())
        drawn += (
            f'<path d="{path}" stroke="{color(variant)}" stroke-width="2" fill="none" opacity="{shade / _SHADES:.2f}"/>'
        )
    return drawn


def step_line(x: Values, y: Values, variant: int) -> str:
    path = f"M{x[0]:.1f} {y[0]:.1f}" + "".join(f"H{a:.1f}V{b:.1f}" for a, b in zip(x[1:], y[1:], strict=True))
    return (
        f'<path d="{path}" stroke="{color(variant)}" stroke-dasharray="{DASHES[variant % COLORS]}" '
        f'stroke-width="2" fill="none"/>'
    )


def line_plot(x: Values, series: Sequence[tuple[str, Values]], label: str, logarithmic: bool = False) -> str:
    """Lines over time; of many points, the least and the largest of every stretch."""
    parts: list[str] = []
    left, right, top, bottom = 70.0, 780.0, 22.0, 190.0
    values = np.concatenate([y for _, y in series])
    positive = values[values > 0]
    across = Scale(x, left, right, logarithmic=False)
    logarithmic = logarithmic and len(positive) > 0
    up = Scale(positive if logarithmic else values, bottom, top, logarithmic)
    parts += bottom_axis(across, top, bottom, "time [s]")
    for tick in up.ticks():
        y = float(up(tick))
        parts += [line(left, y, right, y), text(left - 5, y + 4, f"{tick:.4g}", "end", weak=True)]
    parts.append(text(left, 14, label))
    size = max(1, len(x) // _STRETCHES)
    for v, (name, heights) in enumerate(series):
        pieces: list[str] = []
        pen = "M"
        for begin in range(0, len(x), size):
            piece = heights[begin : begin + size]
            finite = piece[np.isfinite(piece)]
            if logarithmic:
                finite = finite[finite > 0]
            if len(finite) == 0:
                pen = "M"
                continue
            at = float(across(x[begin]))
            for value in dict.fromkeys((finite.min(), finite.max())):
                pieces.append(f"{pen}{at:.1f} {float(up(value)):.1f}")
                pen = "L"
        parts += [
            f'<path d="{"".join(pieces)}" stroke="{color(v)}" stroke-dasharray="{DASHES[v % COLORS]}" '
            f'stroke-width="1.5" fill="none"/>',
            *legend_line(right + 20, 30 + 22 * v, v),
            text(right + 68, 34 + 22 * v, name),
        ]
    return svg(980, bottom + 42, parts, label)


def legend_line(x: float, y: float, variant: int) -> list[str]:
    return [
        f'<line x1="{x:.0f}" x2="{x + 40:.0f}" y1="{y:.0f}" y2="{y:.0f}" stroke="{color(variant)}" '
        f'stroke-dasharray="{DASHES[variant % COLORS]}" stroke-width="2"/>'
    ]


def page(title: str, body: str) -> str:
    """@param title  plain text; @param body  HTML"""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><meta http-equiv="Content-Security-Policy" '
        f"content=\"default-src 'none'; style-src 'unsafe-inline'\"><title>{escape(title)}</title>"
        f"<style>{_STYLE}</style></head><body>{body}</body></html>\n"
    )
