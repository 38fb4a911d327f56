"""Pages of reports: style, tables, numbers, without scripts and requests."""

from __future__ import annotations

import html as html_text
import math
from collections.abc import Iterable, Sequence
from typing import Any

from tendril._terminal import visible

PREFIXED = ("m", "s", "rad", "N", "m/s")  # units that small values have with a prefix
_DEGREE = math.pi / 180.0
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
svg .axis { stroke: var(--weak) } svg .halo { fill: var(--page) } svg .span { fill: var(--bad); opacity: .1 }
svg .limit { stroke: var(--bad); stroke-dasharray: 6 3 } svg .limit.end { stroke-dasharray: 1 3 }
"""


def number(value: float | None, factor: float = 1.0, digits: int = 4) -> str:
    if value is None or math.isnan(value):
        return "none"
    return f"{value * factor:.{digits}g}"


def _three_digits(value: float) -> str:
    """Three significant digits, without an exponent where people do not expect one."""
    return f"{value:.0f}" if 1000.0 <= abs(value) < 1e9 else f"{value:.3g}"


def quantity(value: Any, unit: str = "") -> str:
    """`1.84 mm` for 0.00184 m, as on the console, with a space that does not break; a dash: not measured."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    size = abs(value)
    if unit in PREFIXED and 0.0 < size < 0.1:
        if size < 1e-9:
            return f"{'> -' if value < 0.0 else '< '}1e-9\u00a0{unit}".replace(" ", "\u00a0")
        return f"{1e6 * value:.3f}\u00a0µ{unit}" if size < 1e-6 else f"{_three_digits(1e3 * value)}\u00a0m{unit}"
    if unit == "us":
        return f"{_three_digits(value / 1e3)}\u00a0ms" if size >= 1e4 else f"{_three_digits(value)}\u00a0µs"
    return f"{_three_digits(value)}\u00a0{unit}" if unit else _three_digits(value)


def end(value: float | None, factor: float = 1.0) -> str:
    """Returns the end of an interval; null represents infinity."""
    return "∞" if value is None else number(value, factor, 3)


def shown(unit: str, values: Iterable[float | None]) -> tuple[float, str]:
    """Factor and unit in which these values read well: lengths below 0.1 m in mm."""
    finite = [abs(value) for value in values if value is not None and math.isfinite(value)]
    return (1e3, "mm") if unit == "m" and finite and max(finite) < 0.1 else (1.0, unit)


def axis_unit(unit: str, largest: float) -> tuple[float, str]:
    """Factor and unit of an axis: angles in degrees, and a prefix so that the largest value reads 0.1 or more."""
    if unit == "rad":
        if largest >= 0.1 * _DEGREE:
            return 1.0 / _DEGREE, "deg"
    elif unit == "Pa" and largest >= 1e3:
        return 1e-3, "kPa"
    elif unit == "m" and 0.1 <= largest < 1.0:
        return 1e3, "mm"
    if unit not in PREFIXED:
        return 1.0, unit
    for factor, prefix in ((1.0, ""), (1e3, "m"), (1e6, "µ")):
        if largest >= 0.1 / factor:
            return factor, prefix + unit
    return 1e9, "n" + unit


def percent(part: float | None, digits: int = 1) -> str:
    return "none" if part is None else f"{100 * part:.{digits}f} %"


def count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def escape(text: object) -> str:
    return html_text.escape(visible(str(text)))


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


def page(title: str, body: str, style: str = "") -> str:
    """@param title  plain text; @param body  HTML; @param style  CSS on top of that of all pages"""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><meta http-equiv="Content-Security-Policy" '
        f"content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src data:\">"
        f"<title>{escape(title)}</title><style>{_STYLE}{style}</style></head><body>{body}</body></html>\n"
    )
