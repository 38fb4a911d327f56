"""The report of a sweep: one HTML file with its plots inside, without scripts and requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tendril._files import write_atomically
from tendril.report import page
from tendril.statistics import FEWEST
from tendril.sweep.dataset import Dataset
from tendril.sweep.plots import SweepPlots, shown_unit

_MIN_SEEDS = 4  # seeds in pairs and profiles
_MAX_OPEN = 12  # rows of cells that are shown unasked
_MAX_ROWS = 500  # of a table


def rate_text(row: dict[str, Any]) -> str:
    """Returns the rate of a row of `success`."""
    if row["rate"] is None:
        return "no result" if row["has_checks"] else "no checks"
    k, (low, high) = row["successes"], row["interval"]
    counted = (
        f"{k:g} of {row['n']} passed, " if k == int(k) else "passed: "
    )  # with several cells a seed counts by parts
    return f"{counted}{page.percent(row['rate'])} ({100 * low:.1f} to {100 * high:.1f} %)"


def variant_text(variant: dict[str, Any]) -> str:
    """Describes a variant of `summary.json`."""
    texts = [variant[key] for key in ("controller", "python", "plugin") if variant[key]]
    return ", ".join(texts + [f"{key} = {value}" for key, value in variant["set"].items()]) or "as the experiment"


def html(data: Dataset, origin: str = "") -> str:
    """The page. Its numbers are those of `Dataset.summary`.

    @param origin  HTML that says what was run, instead of the experiment's files
    """
    plots, plan = SweepPlots(data), data.plan
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


def write(data: Dataset, report: bool = True) -> list[str]:
    """Writes `runs.csv`, `summary.json` and `report.html` into the folder of the sweep. Returns the names."""
    names = data.write()
    if report:
        write_atomically(data.folder / "report.html", html(data))
        names.append("report.html")
    return names


def _of_metric(data: Dataset, plots: SweepPlots, metric: Any) -> str:
    title = f"<h2>{page.escape(metric.metric)}</h2>"
    if not np.isfinite(data.values(metric)).any():
        return f'{title}<p class="note">No run has a value.</p>'
    body = [
        title,
        '<p class="note">A point per seed, from 500 on their density; below, circle and bar are the mean of the '
        f"middle half and its interval. {metric.better.capitalize()} is better.</p>",
        plots.distributions(metric),
    ]
    if len(data.plan.seeds) < _MIN_SEEDS:
        return "".join(body)
    if len(data.plan.variants) > 1:
        body += [
            '<p class="note">A point per seed; below the diagonal the variant has the smaller value.</p>',
            plots.pairs(metric),
        ]
    sign = "at most" if metric.better == "lower" else "at least"
    return "".join([*body, f'<p class="note">Part of the seeds with a value of {sign} …</p>', plots.profile(metric)])


def _first_lines(data: Dataset) -> str:
    summary = data.summary
    runs = summary["runs"]
    success = [row for row in summary["success"] if row["cell"] is None and (row["n"] or not row["has_checks"])]
    rates = "; ".join(
        f"<b>{page.escape(row['variant'])}</b> passes {page.percent(row['rate'])} "
        f"({100 * row['interval'][0]:.1f} to {100 * row['interval'][1]:.1f} %)"
        f"{', by sensors' if row['variant'] in data.sensed else ''}"
        if row["n"]
        else f"<b>{page.escape(row['variant'])}</b> has no checks"
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
        f'<p class="note">{len(rows) - _MAX_ROWS} more rows are in summary.json.</p>' if len(rows) > _MAX_ROWS else ""
    )
    return rows[:_MAX_ROWS], note


def _overview(data: Dataset) -> str:
    cells = [cell for cell in data.levels if cell is not None]
    if len(cells) * len(data.plan.variants) <= _MAX_OPEN:
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
                page.percent(rate["rate"]) + page.percent_interval(rate["interval"])
                if rate["has_checks"]
                else "no checks",
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
