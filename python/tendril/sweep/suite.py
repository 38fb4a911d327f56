"""Suites: sweeps of several experiments in one folder, and their scorecard.

Every experiment is a sweep in a separate folder below that of the suite, with everything that sweeps have: the
scorecard reads what these found.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from tendril import statistics as st
from tendril._errors import ModelError
from tendril._files import plain, write_atomically
from tendril._reading import TEXT, DictOf, Kind, ListOf, Table, integer, read_json, require
from tendril.report import page, plots
from tendril.sweep import report as sweep_report
from tendril.sweep.dataset import Dataset, merge
from tendril.sweep.driver import Options, Rejected
from tendril.sweep.engine import SweepResult, connected, run_sweep
from tendril.sweep.plan import SweepPlan

FORMAT = 1
_FILE = "suite.json"
_NAME = Kind("a name of a folder", lambda value: re.fullmatch(r"[^./][^/]*", str(value)) is not None)
_SUITE = Table({"name": TEXT, "experiments": ListOf(_NAME), "refused": DictOf(TEXT)})


def is_suite_folder(folder: Path) -> bool:
    return (folder / _FILE).is_file()


def _open(folder: Path, name: str) -> None:
    """Throws ModelError for a folder of something else."""
    if is_suite_folder(folder):
        if (other := _read(folder)["name"]) != name:
            raise ModelError(f"{folder}: name = {other}: must be a folder of the suite {name}: choose another --out")
    elif folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ModelError(f"{folder}: is not empty and no folder of a suite: choose another --out")


def _read(folder: Path) -> dict[str, Any]:
    file = folder / _FILE
    try:
        data: dict[str, Any] = read_json(file)
        require(data, Table({"format": integer()}), "suite")
        if data["format"] == FORMAT:
            require(data, _SUITE, "suite")
    except ModelError as error:
        reason = str(error).removeprefix(f"{file}: ")
        raise ModelError(f"{file}: is damaged: start the suite again, its runs are kept ({reason})") from None
    if data["format"] != FORMAT:
        raise ModelError(f"{file}: format = {data['format']}: must be {FORMAT}: written by a newer tendril")
    return data


def _write(folder: Path, name: str, experiments: Sequence[str], refused: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    content = {"format": FORMAT, "name": name, "experiments": list(experiments), "refused": refused}
    write_atomically(folder / _FILE, json.dumps(content, indent=1) + "\n")


def run_suite(
    name: str, plans: Sequence[SweepPlan], folder: Path, program: str, options_of: Callable[[SweepPlan], Options]
) -> SweepResult:
    """Runs what is not yet done of all sweeps, one after the other.

    An experiment that refuses what it is given, such as a controller for another kind of robot, is left out and told;
    if all do, that is an error. Throws ModelError, OSError.
    """
    _open(folder, name)
    total = SweepResult()
    refused: dict[str, str] = {}
    names = [plan.name for plan in plans]
    _write(folder, name, names, refused)
    with connected(options_of(plans[0])):
        for plan in plans:
            try:
                one = run_sweep(plan, folder / plan.name, program, options_of(plan))
            except Rejected as error:
                refused[plan.name] = str(error)
                _write(folder, name, names, refused)
                continue
            total.add(one)
            if one.interrupted:
                return total
    if len(refused) == len(plans):
        (folder / _FILE).unlink()
        raise ModelError(next(iter(refused.values())))
    return total


def merge_suites(folders: Sequence[Path], out: Path) -> Scorecard:
    """Joins folders of one suite, such as its shards."""
    contents = [_read(folder) for folder in folders]
    for folder, content in zip(folders, contents, strict=True):
        if content != contents[0]:
            raise ModelError(
                f"{folder}: is a folder of another suite, or of other experiments of it, than {folders[0]}"
            )
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ModelError(f"{out}: is not empty: choose another --out")
    out.mkdir(parents=True, exist_ok=True)
    for name in contents[0]["experiments"]:
        if name not in contents[0]["refused"]:
            sweep_report.write(merge([folder / name for folder in folders], out / name))
    _write(out, contents[0]["name"], contents[0]["experiments"], contents[0]["refused"])
    return Scorecard(out)


class Scorecard:
    """Success and main metric of every variant in every experiment of a suite.

    The main metric is the first that the experiment compares. Variants are compared with the baseline of the experiment
    seed by seed, with Holm's correction over success and main metric of all experiments and variants.
    """

    def __init__(self, folder: Path) -> None:
        """Throws ModelError."""
        self.folder = folder
        content = _read(folder)
        self.name, self.refused = str(content["name"]), dict(content["refused"])
        self.data = {
            name: Dataset(folder / name)
            for name in content["experiments"]
            if (folder / name / "sweep.json").is_file() and name not in self.refused
        }
        self.missing = [name for name in content["experiments"] if name not in self.data and name not in self.refused]
        if not self.data:
            raise ModelError(f"{folder}: no experiment of the suite has been run")

    @cached_property
    def variants(self) -> list[str]:
        return list(dict.fromkeys(variant.name for data in self.data.values() for variant in data.plan.variants))

    @cached_property
    def summary(self) -> dict[str, Any]:
        """All numbers of the scorecard: the content of `summary.json`."""
        rows = [
            self._row(name, data, variant.name) for name, data in self.data.items() for variant in data.plan.variants
        ]
        compared = [difference for row in rows for difference in row["differences"].values()]
        for difference, p in zip(compared, st.holm([difference["p"] for difference in compared]), strict=True):
            difference["p_holm"] = p
            difference["words"] = st.words(p, difference["interval"], difference["better"])
        first = next(iter(self.data.values()))
        runs = [data.summary["runs"] for data in self.data.values()]
        found: dict[str, Any] = plain(
            {
                "format": FORMAT,
                "suite": self.name,
                "versions": first.plan.versions,
                "variants": self.variants,
                "experiments": [
                    {
                        "name": name,
                        "file": data.plan.experiment,
                        "seeds": len(data.plan.seeds),
                        "baseline": data.plan.baseline,
                        "checks": data.checks,
                    }
                    for name, data in self.data.items()
                ],
                "rows": rows,
                "refused": self.refused,
                "not_run": self.missing,
                "runs": {key: sum(one[key] for one in runs) for key in runs[0]},
            }
        )
        return found

    def _row(self, name: str, data: Dataset, variant: str) -> dict[str, Any]:
        summary = data.summary
        success = next(row for row in summary["success"] if row["cell"] is None and row["variant"] == variant)
        row = {
            "experiment": name,
            "variant": variant,
            "measured": "sensors" if variant in data.sensed else "truth",
            "success": {key: success[key] for key in ("has_checks", "n", "successes", "rate", "interval")},
            "metric": None,
            "differences": {},
        }
        main = data.plan.compare[0].metric if data.plan.compare else ""
        for found in summary["metrics"]:
            if found["metric"] == main and found["variant"] == variant and found["cell"] is None:
                row["metric"] = {
                    "name": main,
                    "unit": data.unit(main),
                    "better": data.plan.compare[0].better,
                    **{key: found.get(key) for key in ("iqm", "interval", "worst")},
                }
        keys = ("better", "n", "iqm", "difference", "interval", "p")
        row["differences"] = {
            found["metric"]: {key: found.get(key) for key in keys}
            for found in data.results["differences"]
            if found["variant"] == variant and found["cell"] is None and found["metric"] in ("success", main)
        }
        return row

    def write(self, report: bool = True) -> list[str]:
        """Writes the files of every sweep, `summary.json` and `report.html`. Returns the names of the latter."""
        for data in self.data.values():
            sweep_report.write(data, report)
        write_atomically(self.folder / "summary.json", json.dumps(self.summary, indent=1) + "\n")
        if not report:
            return ["summary.json"]
        write_atomically(self.folder / "report.html", self.html())
        return ["summary.json", "report.html"]

    @property
    def exit_code(self) -> int:
        """5: runs or experiments without result; 1: a run failed; 0."""
        if self.refused or self.missing:
            return 5
        return max(data.exit_code for data in self.data.values())

    # ---- shown ----------------------------------------------------------------------------------------------------

    def print(self) -> None:
        rows = self.summary["rows"]
        cells = [("experiment", "variant", "passed", "main metric")]
        cells += [(row["experiment"], row["variant"], _passed(row), _metric(row)) for row in rows]
        widths = [max(len(cell[i]) for cell in cells) for i in range(3)]
        for number, cell in enumerate(cells):
            first = cell[0] if number < 2 or cell[0] != cells[number - 1][0] else ""
            print(f"{first:{widths[0]}}  {cell[1]:{widths[1]}}  {cell[2]:{widths[2]}}  {cell[3]}".rstrip())
        for name, line in self.refused.items():
            print(f"tendril: {name}: not run: {line}", file=sys.stderr)
        for name in self.missing:
            print(f"tendril: {name}: not run", file=sys.stderr)

    def html(self) -> str:
        """The page. Its numbers are those of `summary`."""
        escape, summary = page.escape, self.summary
        totals = []
        for variant in self.variants:
            rows = [row for row in summary["rows"] if row["variant"] == variant and row["success"]["n"]]
            whole = sum(row["success"]["rate"] == 1.0 for row in rows)
            totals.append(f"<b>{escape(variant)}</b> passes all runs of {whole} of {len(rows)} experiments")
        body = [
            f"<h1>{escape(self.name)}</h1>",
            f'<p class="first">{page.count(summary["runs"]["planned"], "run")}: {"; ".join(totals)}.</p>',
            '<p class="note">Passed: runs of which all checks hold, and the interval in which the rate lies with 95 % '
            "confidence: one run says little. Metric: the first that the experiment compares, mean of the middle half "
            "of the seeds, with its interval from 8 seeds on. Better, worse: than the experiment's first variant, seed "
            "by seed, p &lt; 0.05 after Holm's correction over the whole page. An experiment's name leads to its "
            "report.</p>",
            self._table(),
            "<h2>Passed</h2>",
            self._rates(),
        ]
        if self.refused or self.missing:
            lines = self.refused | dict.fromkeys(self.missing, "not started")
            body += [
                "<h2>Not run</h2>",
                page.table(["experiment", "why"], [list(map(escape, row)) for row in lines.items()], 2),
            ]
        versions = ", ".join(f"{name} {version}" for name, version in summary["versions"].items())
        command = shlex.join(["tendril", "sweep", "report", str(self.folder)])
        rows = [
            [escape(one["name"]), f"<code>{escape(one['file'])}</code>", escape("; ".join(one["checks"]))]
            for one in summary["experiments"]
        ]
        body += [
            "<h2>What passes</h2>",
            page.table(["experiment", "file", "checks"], rows, 3),
            "<h2>Variants</h2>",
            page.table(["variant", "what it is"], self._variant_rows(), 2),
            f'<p class="note">{escape(versions)}. <code>{escape(command)}</code> writes this page again.</p>',
        ]
        return page.page(self.name, "".join(body))

    def _variant_rows(self) -> list[list[str]]:
        """Settings of a variant differ from experiment to experiment."""
        found: dict[tuple[str, str], list[str]] = {}
        for name, data in self.data.items():
            for variant in data.variants:
                found.setdefault((variant["name"], sweep_report.variant_text(variant)), []).append(name)
        rows = []
        for (title, text), names in found.items():
            several = sum(one == title for one, _ in found) > 1
            rows.append(
                [
                    page.escape(title),
                    page.escape(text)
                    + (f'<br><small class="note">{page.escape(", ".join(names))}</small>' if several else ""),
                ]
            )
        return rows

    def _table(self) -> str:
        rows = []
        for name in self.data:
            line = [f'<a href="{quote(name)}/report.html">{page.escape(name)}</a>']
            found = {row["variant"]: row for row in self.summary["rows"] if row["experiment"] == name}
            metric = next(iter(found.values()))["metric"]
            line.append(page.escape(metric["name"]) if metric else "")
            for variant in self.variants:
                if variant not in found:
                    line.append('<span class="note">–</span>')
                    continue
                row = found[variant]
                words = [
                    f'<span class="{d["words"].split()[0]}">{what} {d["words"]}</span>'
                    for what, d in (
                        ("metric" if key != "success" else "success", d) for key, d in row["differences"].items()
                    )
                    if d["words"] != "no difference shown"
                ]
                values = [f"<small>{text}</small>" for text in (_value(row["metric"]) if row["metric"] else ()) if text]
                line.append("<br>".join([f"<b>{_share(row['success'])}</b>{_sensed(row)}", *values, *words]))
            rows.append(line)
        return page.table(["experiment", "metric", *map(page.escape, self.variants)], rows, 2)

    def _rates(self) -> str:
        """A line per experiment and variant: the rate and its interval."""
        parts: list[str] = []
        left, right, y = 230.0, 640.0, 10.0
        top = y
        scale = plots.Scale(np.array([0.0, 1.0]), left, right, logarithmic=False)
        for name in self.data:
            rows = [row for row in self.summary["rows"] if row["experiment"] == name and row["success"]["n"]]
            for index, row in enumerate(rows):
                v = self.variants.index(row["variant"])
                if index == 0:
                    parts.append(plots.text(left - 10, y + 9, name, "end"))
                parts += plots.interval_mark(scale, row["success"]["interval"], row["success"]["rate"], y + 5, v)
                parts.append(plots.text(right + 15, y + 9, f"{row['variant']}: {_share(row['success'])}"))
                y += 16
            y += 8
        axis = plots.bottom_axis(scale, top, y, "part of the runs that pass", [0, 0.25, 0.5, 0.75, 1])
        return plots.svg(980, y + 40, [*axis, *parts], "rates")


def _passed(row: dict[str, Any]) -> str:
    success = row["success"]
    if not success["n"]:
        return _share(success)
    low, high = success["interval"]
    return f"{_share(success)} ({100 * low:.0f} to {100 * high:.0f} %){_sensed(row)}"


def _sensed(row: dict[str, Any]) -> str:
    return ", by sensors" if row["measured"] == "sensors" else ""


def _share(success: dict[str, Any]) -> str:
    """Returns the fraction of successes; with several cells a seed counts by parts."""
    if not success["n"]:
        return "no result" if success["has_checks"] else "no checks"
    k = success["successes"]
    return f"{k:g} of {success['n']}" if k == int(k) else page.percent(success["rate"])


def _value(metric: dict[str, Any]) -> tuple[str, str]:
    """Returns the value with its unit; the interval, if there is one."""
    if metric["iqm"] is None:
        return "no value", ""
    ends = metric["interval"] or []
    factor, unit = page.shown(metric["unit"], [metric["iqm"], *ends])
    return (
        f"{page.number(metric['iqm'], factor, 3)} {unit}".rstrip(),
        " to ".join(page.end(one, factor) for one in ends),
    )


def _metric(row: dict[str, Any]) -> str:
    if row["metric"] is None:
        return ""
    value, ends = _value(row["metric"])
    words = [f"[{d['words']}]" for key, d in row["differences"].items() if key != "success"]
    return " ".join([value, *([f"({ends})"] if ends else []), row["metric"]["name"], *words])
