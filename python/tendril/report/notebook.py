"""What notebooks show of recordings, runs and sweeps: small tables, in which texts of strangers are texts."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tendril._errors import ModelError
from tendril._recorded import RecordedRun
from tendril.report.labels import actuator_rows, unit_of
from tendril.report.page import escape, quantity

MOST_ROWS = 30  # of a table, or lines
_LONGEST = 80  # characters of a cell
_LONGEST_LINE = 300  # characters of a notice
_GOOD, _BAD = "#00897b", "#d9480f"  # readable in light and dark


def text(value: object, longest: int = _LONGEST) -> str:
    """A text of a stranger, escaped, of bounded length."""
    whole = str(value)
    return escape(whole if len(whole) <= longest else whole[: longest - 3] + "...")


def colored(value: object, good: bool) -> str:
    return f'<b style="color:{_GOOD if good else _BAD}">{text(value)}</b>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]], count: int | None = None) -> str:
    """Shows the first rows, whose cells are HTML, and says how many more of all (`count`) there are."""
    all_rows = list(rows)
    if not all_rows:
        return ""
    cells = "".join(f'<th style="text-align:left">{escape(name)}</th>' for name in head)
    body = "".join(
        "<tr>" + "".join(f'<td style="text-align:left">{cell}</td>' for cell in row) + "</tr>"
        for row in all_rows[:MOST_ROWS]
    )
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>" + _more(
        len(all_rows) if count is None else count
    )


def lines(title: str, texts: Sequence[str], bad: bool = False) -> str:
    if not texts:
        return ""
    color = f' style="color:{_BAD}"' if bad else ""
    items = "".join(f"<li>{text(one, _LONGEST_LINE)}</li>" for one in texts[:MOST_ROWS])
    return f"<div{color}>{escape(title)}<ul>{items}</ul></div>{_more(len(texts))}"


def details(title: str, content: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{content}</details>" if content else ""


def _more(count: int) -> str:
    return f"<p>… and {count - MOST_ROWS} more</p>" if count > MOST_ROWS else ""


def of_result(summary: Mapping[str, Any], metrics: Mapping[str, float]) -> str:
    """Checks, failures, notices and metrics of a run."""
    title = summary.get("experiment") or "run"
    verdict, outcome = summary["verdict"], summary["outcome"]
    passes = outcome == "done" and verdict != "fail"
    words = outcome if verdict == "none" else f"{outcome}, {verdict}"
    return (
        f"<div><b>{text(title)}</b>: {colored(words, passes)} {text(summary['reason'])}</div>"
        + table(("check", "metric", "value", "limit", ""), map(_check, summary["checks"]))
        + lines("Failures", summary["failures"], bad=True)
        + lines("Notices", summary["notices"])
        + details("Metrics (SI)", table(("metric", "value"), _metrics(metrics)))
    )


def _check(check: Mapping[str, Any]) -> list[str]:
    unit = check.get("unit", "")
    limits = [
        f"{sign} {quantity(check[side], unit)}"
        for side, sign in (("min", "≥"), ("max", "≤"))
        if check.get(side) is not None
    ]
    holds = bool(check.get("holds"))
    shown = (check.get("name", ""), check.get("metric", ""), quantity(check.get("value"), unit), ", ".join(limits))
    return [*map(text, shown), colored("pass" if holds else "fail", holds)]


def _metrics(metrics: Mapping[str, float]) -> list[list[str]]:
    return [[text(name), text(quantity(value))] for name, value in metrics.items()]


def of_recording(recording: RecordedRun) -> str:
    """Rows, times, sensors and faults of a recording."""
    attributes, texts = recording.attributes, recording.texts
    facts: list[tuple[str, object]] = [
        ("file", recording.file),
        ("scene", texts.get("scene", "")),
        ("outcome", attributes["outcome"]),
        ("rows", recording.rows),
    ]
    if recording.rows:
        first, last = (float(recording.row_of("time", row)) for row in (0, recording.rows - 1))
        facts.append(("time", f"{first:.6g} to {last:.6g} s, time step {quantity(attributes['timestep'], 's')}"))
    facts += [
        ("seed", attributes.get("seed", "")),
        ("robots", _robots(recording)),
        ("controllers", texts.get("plugins")),
    ]
    actuators = actuator_rows(recording.tables)
    sensors = [
        [text(word) for word in (row["name"], row["dimension"], unit_of(actuators, row), row["quantity"])]
        for row in recording.tables["sensors"][: MOST_ROWS + 1]
    ]
    number = len(recording.tables["sensors"])
    faults = [f"{fault['name']}: {fault['kind']}, {_span(fault)}" for fault in recording.faults]
    return (
        f"<div><b>{text(texts.get('experiment_name') or recording.file.name)}</b>: recording</div>"
        + table(("", ""), ([escape(name), text(value)] for name, value in facts if value not in ("", None)))
        + details(f"Sensors ({number})", table(("name", "numbers", "unit", "quantity"), sensors, number))
        + lines("Faults", faults)
    )


def _robots(recording: RecordedRun) -> str:
    names = [row["prefix"] + row.get("suffix", "") for row in recording.tables["robots"]]
    return ", ".join(name.strip("_/-.: ") or "robot" for name in names)


def _span(fault: Mapping[str, Any]) -> str:
    end = f" to {quantity(fault['end'], 's')}" if math.isfinite(fault["end"]) else ""
    return f"from {quantity(fault['start'], 's')}{end}"


def of_sweep(summary: Mapping[str, Any]) -> str:
    """Runs, success rates and differences of a sweep; `summary` is that of its folder."""
    runs = summary["runs"]
    finished = runs["planned"] - runs["missing"]
    rates = [row for row in summary["success"] if row["cell"] is None]
    differences = [row for row in summary["differences"] if row["cell"] is None]
    units = {row["metric"]: row["unit"] for row in summary["compare"]}
    return (
        f"<div><b>{text(summary['sweep'])}</b>: {finished} of {runs['planned']} runs, {runs['passed']} passed, "
        f"{runs['diverged']} diverged, {runs['timeout']} timed out, {runs['crashed']} without result</div>"
        + table(("variant", "success", "95 % interval", "of seeds"), map(_rate, rates))
        + table(
            ("metric", "variant", "difference to the baseline", "95 % interval", ""),
            (_difference(row, units) for row in differences),
        )
    )


def _rate(row: Mapping[str, Any]) -> list[str]:
    if not row["has_checks"] or row["rate"] is None:
        return [text(row["variant"]), "no checks", "", text(row["n"])]
    low, high = row["interval"]
    return [
        text(row["variant"]),
        f"{100 * row['rate']:.1f} %",
        f"{100 * low:.1f} to {100 * high:.1f} %",
        text(row["n"]),
    ]


def _difference(row: Mapping[str, Any], units: Mapping[str, str]) -> list[str]:
    unit = units.get(row["metric"], "")
    ends = ["∞" if end is None else quantity(end, unit) for end in row.get("interval") or ()]
    middle = quantity(row.get("iqm", row.get("difference")), unit)
    return [text(cell) for cell in (row["metric"], row["variant"], middle, " to ".join(ends), row.get("words", ""))]


@dataclass(frozen=True)
class Frame:
    """A page inside a notebook, in a frame without access to it."""

    page: str  #: HTML
    height: int  #: pixels

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{html.escape(self.page)}" sandbox="allow-scripts" width="100%" height="{self.height}" '
            'style="border:0"></iframe>'
        )

    def __repr__(self) -> str:
        return f"Frame of {len(self.page) / 1e6:.1f} MB, shown by a notebook"


def frame(page: str, height: int, largest: float, file: object) -> Frame:
    """Throws ModelError for a page that is larger, in bytes, or a height that no window has."""
    if not 100 <= height <= 10000:
        raise ModelError(f"height: {height}: must be in [100, 10000] pixels")
    size = len(page.encode())
    if size > largest:
        raise ModelError(
            f"{file}: the page has {size / 1e6:.1f} MB, must be at most {largest / 1e6:g} MB: choose a lower fps, "
            "start and end, or a higher largest"
        )
    return Frame(page, height)
