"""The numbers of a sweep's report: rates and intervals, comparisons to the baseline."""

from __future__ import annotations

import shlex
from typing import Any

import numpy as np

from tendril import statistics as st
from tendril.sweep.plan import Comparison
from tendril.sweep.runs import RANK, FinishedRuns, Values

MAX_WORST_RUNS = 10


def summarize(data: FinishedRuns) -> dict[str, Any]:
    """`summary` with its infinities, which JSON does not have."""
    plan = data.plan
    counts = {name: int(np.sum(data.outcome == name)) for name in RANK}
    started = sum(counts.values())
    return {
        "format": 1,
        "sweep": plan.name,
        "experiment": plan.experiment,
        "versions": plan.versions,
        "runs": {
            "planned": data.planned,
            **counts,
            "missing": data.planned - started,
            "passed": int(np.sum(data.successes == 1.0)),
            "without_checks": int(np.sum(np.isnan(data.successes))),
            "of_earlier_state": data.earlier,
            "torn_lines": len(data.torn),
            "repeated_lines": data.repeated,
        },
        "seeds": len(plan.seeds),
        "cells": [dict(cell) for cell in plan.cells],
        "variants": data.variants,
        "baseline": plan.baseline,
        "settings": dict(plan.settings),
        "compare": [{"metric": c.metric, "better": c.better, "unit": data.unit(c.metric)} for c in data.plan.compare],
        "success": [_success(data, cell, v) for cell in data.levels for v in range(len(plan.variants))],
        "metrics": [
            _distribution(data, c, cell, v)
            for c in data.plan.compare
            for cell in data.levels
            for v in range(len(plan.variants))
        ],
        "differences": _differences(data),
        "failed_checks": _failures(data),
        "worst_runs": _worst(data),
        "without_result": [
            {"id": run.id, "error": data.errors.get(run.id, "")}
            for row, run in enumerate(data._runs)
            if data.outcome[row] == "crashed"
        ][:100],
        "machines": data.machines,
        "files": plan.files,
    }


def _success(data: FinishedRuns, cell: int | None, variant: int) -> dict[str, Any]:
    rates = data.by_seed(data.successes, cell, variant)
    rates = rates[~np.isnan(rates)]
    n, k = len(rates), float(rates.sum())
    name = data.plan.variants[variant].name
    return {
        "variant": name,
        "cell": cell,
        "has_checks": name not in data.variants_without_checks,
        "n": n,
        "successes": k,
        "rate": k / n if n else None,
        "interval": st.wilson(k, n) if n else None,
    }


def _distribution(data: FinishedRuns, metric: Comparison, cell: int | None, variant: int) -> dict[str, Any]:
    name = data.plan.variants[variant].name
    x = data.by_seed(data.values(metric), cell, variant)
    x = np.sort(x[~np.isnan(x)])
    row: dict[str, Any] = {"metric": metric.metric, "variant": name, "cell": cell, "n": len(x)}
    if len(x) == 0:
        return row
    seed = st.seed_of(data.plan.name, metric.metric, data.cell_label(cell), name)
    return row | {
        "median": st.percentile(x, 0.5),
        "quartiles": [st.percentile(x, 0.25), st.percentile(x, 0.75)],
        "worst": float(x[-1] if metric.better == "lower" else x[0]),
        "undefined": int(np.sum(~np.isfinite(x))),
        "iqm": st.interquartile_mean(x),
        "interval": st.iqm_interval(x, seed),
    }


def _differences(data: FinishedRuns) -> list[dict[str, Any]]:
    """Returns the differences of every metric and of success, with Holm's correction: all cells together are one
    family, the cells another."""
    names = [variant.name for variant in data.plan.variants]
    base = names.index(data.plan.baseline)
    rows: list[dict[str, Any]] = []
    for cell in data.levels:
        for other in (i for i in range(len(names)) if i != base):
            if cell is not None or len(data.plan.cells) == 1:
                rows.append(_success_difference(data, cell, other, base))
            rows += [_difference(data, metric, cell, other, base) for metric in data.plan.compare]
    rows = [row for row in rows if row["n"] > 0]
    for whole in (True, False):
        family = [row for row in rows if (row["cell"] is None) == whole]
        for row, p in zip(family, st.holm([row["p"] for row in family]), strict=True):
            row["p_holm"] = p
            row["words"] = st.words(p, row["interval"], row["better"])
    return rows


def _pairs(data: FinishedRuns, values: Values, cell: int | None, variant: int, base: int) -> tuple[Values, Values]:
    a, b = data.by_seed(values, cell, variant), data.by_seed(values, cell, base)
    both = ~np.isnan(a) & ~np.isnan(b)
    return a[both], b[both]


def _difference(data: FinishedRuns, metric: Comparison, cell: int | None, variant: int, base: int) -> dict[str, Any]:
    name = data.plan.variants[variant].name
    row: dict[str, Any] = {
        "metric": metric.metric,
        "better": metric.better,
        "variant": name,
        "baseline": data.plan.baseline,
        "cell": cell,
    }
    a, b = _pairs(data, data.values(metric), cell, variant, base)
    if len(a) == 0:
        return row | {"n": 0}
    d = st.paired_differences(a, b)
    seed = st.seed_of(data.plan.name, metric.metric, data.cell_label(cell), name)
    ratio = st.geometric_mean_ratio(a, b)
    chance, chance_interval = st.chance_better(d, "lower" if metric.better == "lower" else "higher")
    return row | {
        "n": len(d),
        "iqm": st.interquartile_mean(d),
        "interval": st.iqm_interval(d, seed),
        "ratio": ratio and ratio[0],
        "ratio_interval": ratio and ratio[1],
        "chance_better": chance,
        "chance_interval": chance_interval,
        "p": st.sign_rank_p(d, seed),
    }


def _success_difference(data: FinishedRuns, cell: int | None, variant: int, base: int) -> dict[str, Any]:
    a, b = _pairs(data, data.successes, cell, variant, base)
    row: dict[str, Any] = {
        "metric": "success",
        "better": "higher",
        "variant": data.plan.variants[variant].name,
        "baseline": data.plan.baseline,
        "cell": cell,
        "n": len(a),
    }
    if len(a) == 0:
        return row
    only_variant, only_baseline = int((a > b).sum()), int((b > a).sum())
    difference, interval = st.bonett_price(only_variant, only_baseline, len(a))
    return row | {
        "only_variant": only_variant,
        "only_baseline": only_baseline,
        "difference": difference,
        "interval": interval,
        "p": st.mcnemar(only_variant, only_baseline),
    }


def _failures(data: FinishedRuns) -> list[dict[str, Any]]:
    counts: dict[tuple[str, str], int] = {}
    for row, name in data.failed_checks:
        key = (name, data._runs[row].variant.name)
        counts[key] = counts.get(key, 0) + 1
    for row, run in enumerate(data._runs):
        if data.outcome[row] in ("diverged", "timeout"):
            key = (str(data.outcome[row]), run.variant.name)
            counts[key] = counts.get(key, 0) + 1
    return [
        {"check": name, "variant": variant, "count": count}
        for (name, variant), count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]


def _worst(data: FinishedRuns) -> list[dict[str, Any]]:
    """Runs that did not end, then those with the worst value of the first compared metric."""
    if not data.plan.compare:
        return []
    first = data.plan.compare[0]
    values = data.values(first)
    badness = np.where(np.isnan(values), np.inf, values if first.better == "lower" else -values)
    rows = [int(row) for row in np.argsort(-badness, kind="stable")[:MAX_WORST_RUNS] if data.outcome[row] != "crashed"]
    return [
        {
            "id": run.id,
            "variant": run.variant.name,
            "cell": run.cell,
            "seed": run.seed,
            "outcome": str(data.outcome[row]),
            "metric": first.metric,
            "value": float(values[row]),
            "command": f"tendril sweep repeat {shlex.quote(str(data.folder_of(row)))} {run.id}",
        }
        for row in rows
        for run in [data._runs[row]]
    ]
