"""Plots of reports, as SVG.

Variants are distinguished by color, by the dashes of their lines and by their places, in light and dark.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tendril.report.page import escape

Values = npt.NDArray[np.float64]
COLORS = 6
_STRETCHES = 500  # of a line
_MAX_TICKS = 9
Key = tuple[Callable[[float, float], list[str]], str]  #: of a legend: draws its mark at a place; its name
_SHADES = 5
DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 4", "12 4")


class Scale:
    """Numbers to places along an axis; logarithmic when they are positive and span more than a factor of 100."""

    def __init__(
        self,
        values: Values,
        begin: float,
        end: float,
        logarithmic: bool | None = None,
        room: float = 0.04,
        least: float = 0.0,
        whole: bool = False,
    ) -> None:
        """@param room   part of the range that is free at either end
        @param least  smallest range, so that rounding errors are not magnified
        @param whole  whether ticks are whole numbers"""
        finite = values[np.isfinite(values)]
        low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
        self.log = (low > 0 and high > 100 * low) if logarithmic is None else logarithmic
        low, high = (math.log10(low), math.log10(high)) if self.log else (low, high)
        space = max((high - low) * room or (abs(low) * 0.1 or 1.0), (least - (high - low)) / 2)
        self._low, self._high, self.begin, self.end, self._integer = low - space, high + space, begin, end, whole

    def __call__(self, value: Any) -> Any:
        position = np.log10(np.maximum(value, sys.float_info.min)) if self.log else np.asarray(value, dtype=float)
        part = np.clip((position - self._low) / (self._high - self._low), 0.0, 1.0)
        return self.begin + part * (self.end - self.begin)

    def ticks(self) -> list[float]:
        if self.log:
            inside = log_ticks(10.0**self._low, 10.0**self._high)
            return [tick for tick in inside if self._low <= math.log10(tick) <= self._high]
        places = abs(self.end - self.begin) / (50 if self.end > self.begin else 25)  # room for a number
        raw = (self._high - self._low) / min(7.0, max(4.0, places))
        size = 10.0 ** math.floor(math.log10(raw))
        step = next(size * m for m in (1, 2, 5, 10) if size * m >= raw)
        step = max(1.0, step) if self._integer else step
        first, last = math.ceil(self._low / step), math.floor(self._high / step)
        return [i * step for i in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Round numbers from low to high for a logarithmic axis: the coarsest usual steps that give at least four."""
    ticks: list[float] = []
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for mantissas in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7), [t / 10 for t in range(10, 100)]):
        ticks = [
            t * 10.0**e for e in range(first, last + 1) for t in mantissas if low * 0.95 <= t * 10.0**e <= high * 1.05
        ]
        if len(ticks) >= 4:
            break
    return ticks[:: (len(ticks) + _MAX_TICKS - 1) // _MAX_TICKS]


def tick_labels(values: Sequence[float]) -> list[str]:
    """Numbers with as many decimals as tell neighbors apart, and no -0."""
    ticks = np.asarray(values, float)
    steps = np.diff(np.unique(ticks))
    step = float(steps.min()) if len(steps) else abs(float(ticks[0])) if len(ticks) else 1.0
    largest = float(np.abs(ticks).max()) if len(ticks) else 0.0
    if largest >= 1e6 or 0.0 < largest < 1e-4:
        return ["0" if value == 0.0 else f"{value:.3g}" for value in ticks]
    decimals = 0
    while decimals < 12 and np.any(np.abs(np.round(ticks, decimals) - ticks) > 1e-3 * step):
        decimals += 1
    return [f"{0.0 if abs(value) < 1e-6 * step else value:.{decimals}f}" for value in ticks]


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
    shown = list(ticks or scale.ticks())
    numbers = [f"{tick:g}" for tick in shown] if scale.log else tick_labels(shown)
    for tick, number in zip(shown, numbers, strict=True):
        x = float(scale(tick))
        parts += [line(x, top, x, bottom), text(x, bottom + 15, number, "middle", weak=True)]
    middle = (scale.begin + scale.end) / 2
    return [
        *parts,
        line(scale.begin, bottom, scale.end, bottom, "axis"),
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


@dataclass(frozen=True)
class Limit:
    """A bound on a line, drawn from `first` to `last`."""

    value: float
    text: str
    first: float
    last: float
    at_end: bool = False  #: it holds at the last time alone


def thinned(x: Values, y: Values, points: int = _STRETCHES) -> tuple[Values, Values]:
    """Returns at most 2 * points points, with the minimum and the maximum of every interval, so that no peak is
    lost."""
    if len(x) <= 2 * points:
        return x, y
    edges = np.linspace(0, len(x), points + 1).astype(int)
    kept: list[int] = []
    for begin, end in itertools.pairwise(edges.tolist()):
        part = y[begin:end]
        if not np.all(np.isnan(part)):
            kept += sorted({begin + int(np.nanargmin(part)), begin + int(np.nanargmax(part))})
    return x[kept], y[kept]


def path(x: Values, y: Values, variant: int, steps: bool = False, width: float = 1.5) -> str:
    """A line through places of the drawing, interrupted at NaN; with steps it continues level to the next point."""
    pieces: list[str] = []
    pen = "M"
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        if not math.isfinite(b):
            pen = "M"
            continue
        if steps and pen == "L":
            pieces.append(f"H{a:.1f}")
        pieces.append(f"{pen}{a:.1f} {b:.1f}")
        pen = "L"
    return (
        f'<path d="{"".join(pieces)}" stroke="{color(variant)}" stroke-dasharray="{DASHES[variant % COLORS]}" '
        f'stroke-width="{width}" fill="none"/>'
    )


def panel(across: Scale, up: Scale, title: str, label: str = "") -> list[str]:
    """Grid, axes and numbers of a plot; the title is above it, the label of the axis across below it."""
    left, right, bottom, top = across.begin, across.end, up.begin, up.end
    parts = bottom_axis(across, top, bottom, label)
    ticks = up.ticks()
    for tick, number in zip(ticks, [f"{tick:g}" for tick in ticks] if up.log else tick_labels(ticks), strict=True):
        y = float(up(tick))
        parts += [line(left, y, right, y), text(left - 5, y + 4, number, "end", weak=True)]
    return [*parts, text(left, top - 8, title)]


def shaded(across: Scale, up: Scale, spans: Iterable[tuple[float, float]]) -> list[str]:
    """Spans of the axis across."""
    parts = []
    for first, last in spans:
        x = [float(across(end)) for end in (first, last)]
        parts.append(
            f'<rect class="span" x="{x[0]:.1f}" y="{up.end:.1f}" width="{x[1] - x[0]:.1f}" '
            f'height="{up.begin - up.end:.1f}"/>'
        )
    return parts


def line_plot(
    x: Values,
    series: Sequence[tuple[str, Values]],
    label: str,
    logarithmic: bool = False,
    limits: Sequence[Limit] = (),
    spans: Iterable[tuple[float, float]] = (),
    steps: bool = False,
    width: float = 980.0,
) -> str:
    """Lines over time, with their names on the right, or below a narrow plot."""
    wide = width > 700
    left, right, top, bottom = 70.0, width - 200 if wide else width - 10, 22.0, 190.0
    values = np.concatenate([*(y for _, y in series), [limit.value for limit in limits]])
    positive = values[values > 0]
    logarithmic = logarithmic and len(positive) > 0
    across = Scale(x, left, right, logarithmic=False, room=0.01)
    up = Scale(positive if logarithmic else values, bottom, top, logarithmic, whole=steps)
    parts = [*shaded(across, up, spans), *panel(across, up, label, "time [s]")]
    for v, (_, y) in enumerate(series):
        known = np.where(np.isfinite(y) & ((y > 0) if logarithmic else True), y, np.nan)
        at, heights = thinned(x, known)
        parts.append(path(across(at), up(heights), v, steps))
    for limit in limits:
        (first, last), height = (float(across(end)) for end in (limit.first, limit.last)), float(up(limit.value))
        parts.append(line(first, height, last, height, "limit end" if limit.at_end else "limit"))
    keys: list[Key] = [(partial(legend_line, variant=v), name) for v, (name, _) in enumerate(series)]
    if not wide and len(series) == 1 and not limits:
        keys = []
    kinds = dict.fromkeys((limit.text, limit.at_end) for limit in limits)
    keys += [(partial(limit_line, at_end=at_end), name) for name, at_end in kinds]
    if wide:
        return svg(width, bottom + 42, [*parts, *legend_column(keys, right + 20, 30)], label)
    legend, end = legend_rows(keys, left, right, bottom + 50)
    return svg(width, end, [*parts, *legend], label)


def legend_column(keys: Sequence[Key], x: float, y: float) -> list[str]:
    return [
        part
        for i, (mark, name) in enumerate(keys)
        for part in (*mark(x, y + 22 * i), text(x + 48, y + 22 * i + 4, name))
    ]


def legend_rows(keys: Sequence[Key], left: float, right: float, y: float) -> tuple[list[str], float]:
    """The keys from left to right, in as many rows as they need, and where these end."""
    parts: list[str] = []
    x = left
    for mark, name in keys:
        size = 70.0 + 7 * len(name)
        if x > left and x + size > right:
            x, y = left, y + 20
        parts += [*mark(x, y), text(x + 48, y + 4, name)]
        x += size
    return parts, y + (12 if keys else -8)


def limit_line(x: float, y: float, at_end: bool) -> list[str]:
    return [line(x, y, x + 40, y, "limit end" if at_end else "limit")]


def legend_line(x: float, y: float, variant: int) -> list[str]:
    return [
        f'<line x1="{x:.0f}" x2="{x + 40:.0f}" y1="{y:.0f}" y2="{y:.0f}" stroke="{color(variant)}" '
        f'stroke-dasharray="{DASHES[variant % COLORS]}" stroke-width="2"/>'
    ]
