"""`tendril compare A B`: two recordings, row by row, or two sweeps, seed by seed; one page."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tendril import _journal
from tendril import _page as page
from tendril._command import parser as make_parser
from tendril._errors import ModelError
from tendril._sweep_report import html, rate_text, variant_text
from tendril.dataset import Dataset, plain
from tendril.recording import Recording
from tendril.sweep import Plan, Run, Settings, Variant, toml

Values = npt.NDArray[np.float64]

_FIELDS = ("qpos", "qvel", "act", "ctrl", "sensordata", "plugin_state", "mocap_pos", "mocap_quat")
_TABLES = {
    "qpos": ("joints", "qpos_address"),
    "qvel": ("joints", "dof_address"),
    "ctrl": ("actuators", ""),
    "sensordata": ("sensors", "address"),
}
_MOST_PLOTS = 8


# ---- sweeps -------------------------------------------------------------------------------------------------------


class Pair(Dataset):
    """Two sweeps as the two variants of one, over the seeds and cells that both have.

    Where both have several variants, those with the same name are compared: they are cells.
    """

    def __init__(self, first: Dataset, second: Dataset) -> None:
        """Throws ModelError for sweeps that have nothing in common."""
        parts = (first, second)
        self.parts = parts
        self.names = _names(first.folder, second.folder)
        self.folder = first.folder
        common = [
            variant.name
            for variant in first.plan.variants
            if variant.name in {other.name for other in second.plan.variants}
        ]
        by_name = max(len(part.plan.variants) for part in parts) > 1
        if by_name and not common:
            raise ModelError(
                f"{second.folder}: has no variant of {first.folder}: must have one of "
                f"{', '.join(variant.name for variant in first.plan.variants)}"
            )

        def key(plan: Plan, run: Run) -> str:
            return json.dumps([_cell(plan, run.cell, run.variant.name if by_name else "")])

        cells: dict[str, Settings] = {}
        theirs = {
            json.dumps([_cell(second.plan, cell, name)])
            for cell in range(len(second.plan.cells))
            for name in (common if by_name else [""])
        }
        for name in common if by_name else [""]:
            for cell in range(len(first.plan.cells)):
                if (text := json.dumps([_cell(first.plan, cell, name)])) in theirs:
                    cells[text] = _cell(first.plan, cell, name)
        if not cells:
            raise ModelError(f"{second.folder}: has no cell of {first.folder}")
        known = set(second.plan.seeds)
        seeds = {seed: order for order, seed in enumerate(seed for seed in first.plan.seeds if seed in known)}
        if not seeds:
            raise ModelError(f"{second.folder}: has no seed of {first.folder}")
        metrics = {comparison.metric for comparison in second.plan.compare}
        self.plan = replace(
            first.plan,
            name=" and ".join(self.names),
            seeds=tuple(seeds),
            cells=tuple(cells.values()),
            variants=tuple(map(Variant, self.names)),
            baseline=self.names[0],
            settings=(),
            files={},
            named={},
            compare=tuple(one for one in first.plan.compare if one.metric in metrics),
        )
        places = {text: place for place, text in enumerate(cells)}
        rows: list[tuple[int, int, Run]] = []
        for number, part in enumerate(parts):
            for row, run in enumerate(part._runs):
                place, order = places.get(key(part.plan, run)), seeds.get(run.seed)
                if place is not None and order is not None:
                    rows.append(
                        (number, row, replace(run, variant=self.plan.variants[number], cell=place, order=order))
                    )
        self._take(rows)

    def _take(self, rows: list[tuple[int, int, Run]]) -> None:
        """@param rows  number of the part, row in it, and the run here"""
        self._origins = [number for number, _, _ in rows]
        self._runs = [run for _, _, run in rows]
        self.planned = len(self.plan)
        self.torn, self.repeated, self.earlier = [], 0, 0
        self._values = {}
        own = [[row for number, row, _ in rows if number == part] for part in (0, 1)]

        def joined(columns: Sequence[Any]) -> Any:
            return np.concatenate([column[taken] for column, taken in zip(columns, own, strict=True)])

        self.outcome = joined([part.outcome for part in self.parts])
        self.verdict = joined([part.verdict for part in self.parts])
        nothing = [np.full(len(part.outcome), np.nan) for part in self.parts]
        names = sorted({name for part in self.parts for name in part._columns})
        self._columns = {
            name: joined([part._columns.get(name, nothing[number]) for number, part in enumerate(self.parts)])
            for name in names
        }
        self._metric_of = {**self.parts[1]._metric_of, **self.parts[0]._metric_of}
        self.units = {**self.parts[1].units, **self.parts[0].units}
        self.errors = {**self.parts[1].errors, **self.parts[0].errors}
        self.machines = {}
        for part in self.parts:
            for machine, count in part.machines.items():
                self.machines[machine] = self.machines.get(machine, 0) + count
        place = {(number, row): here for here, (number, row, _) in enumerate(rows)}
        self.failed_checks = [
            (place[number, row], name)
            for number, part in enumerate(self.parts)
            for row, name in part.failed_checks
            if (number, row) in place
        ]

    def playback(self, id: str) -> None:
        """None: the page stands elsewhere."""

    def folder_of(self, row: int) -> Path:
        return self.parts[self._origins[row]].folder

    def unpaired(self) -> list[str]:
        """What the same seed has drawn differently in the two."""
        both: dict[tuple[int, int], list[int]] = {}
        for row, run in enumerate(self._runs):
            both.setdefault((run.cell, run.order), []).append(row)
        pairs = np.array([pair for pair in both.values() if len(pair) == 2]).reshape(-1, 2)
        return [
            name.removeprefix("drawn.")
            for name, column in self._columns.items()
            if name.startswith("drawn.")
            and not np.array_equal(column[pairs[:, 0]], column[pairs[:, 1]], equal_nan=True)
        ]

    def origins(self) -> list[list[str]]:
        """What the two are, and what differs: a row of three texts each."""
        a, b = (part.plan for part in self.parts)
        rows = [
            ["folder", *(str(part.folder) for part in self.parts)],
            ["experiment", a.experiment, b.experiment],
            ["versions", *(", ".join(f"{k} {v}" for k, v in plan.versions.items()) for plan in (a, b))],
        ]
        texts = [{v["name"]: variant_text(v) for v in part.variants} for part in self.parts]
        rows += [[f"variant {name}", *(text.get(name, "") for text in texts)] for name in {**texts[0], **texts[1]}]
        settings = [{key: toml(value) for key, value in plan.settings} for plan in (a, b)]
        rows += [[f"--set {key}", *(one.get(key, "") for one in settings)] for key in {**settings[0], **settings[1]}]
        rows += [
            [file, *(plan.files.get(file, "")[:16] for plan in (a, b))]
            for file in {**a.files, **b.files}
            if a.files.get(file) != b.files.get(file)
        ]
        return rows


def _cell(plan: Plan, cell: int, variant: str) -> Settings:
    return ((("variant", variant),) if variant else ()) + plan.cells[cell]


def _names(first: Path, second: Path) -> tuple[str, str]:
    """What tells the two paths apart: their ends."""
    a, b = first.absolute().parts, second.absolute().parts
    for length in range(1, max(len(a), len(b)) + 1):
        if a[-length:] != b[-length:]:
            return "/".join(a[-length:]), "/".join(b[-length:])
    raise ModelError(f"{second}: is compared with itself")


def _sweeps(first: Path, second: Path) -> tuple[str, dict[str, Any]]:
    """Page and summary."""
    pair = Pair(Dataset(first), Dataset(second))
    origins, unpaired = pair.origins(), pair.unpaired()
    summary = {**pair.summary, "origins": origins, "unpaired": unpaired}
    note = ""
    if unpaired:
        note = (
            f'<p class="worse">The same seed draws other values of {page.escape(", ".join(unpaired))} in the two: they are '
            "no pairs.</p>"
        )
    table = page.table(["", *map(page.escape, pair.names)], [list(map(page.escape, row)) for row in origins], 3)
    for row in pair.success().values():
        print(f"{row['variant']}: {rate_text(row)}")
    for row in pair.compare():
        print(f"{row['variant']} against {row['baseline']}: {row['metric']}: {row['words']} (p = {row['p_holm']:.2g})")
    return html(pair, f"{note}<h2>What is compared</h2>{table}"), summary


# ---- recordings ---------------------------------------------------------------------------------------------------


def _element(recording: Recording, field: str, index: int) -> str:
    """Name of a number of a row."""
    table, address = _TABLES.get(field, ("", ""))
    if not table:
        return f"{field}[{index}]"
    rows = recording.tables[table]
    places = [int(row[address]) if address else place for place, row in enumerate(rows)]
    found = [(place, row["name"]) for place, row in zip(places, rows, strict=True) if place <= index]
    if not found:
        return f"{field}[{index}]"
    place, name = max(found)
    return f"{field} {name}" + (f"[{index - place}]" if index != place else "")


class RecordingPair:
    """Two recordings at the times that both have."""

    def __init__(self, first: Recording, second: Recording) -> None:
        """Throws ModelError for recordings with no time in common."""
        self.parts = (first, second)
        self.names = _names(first.file, second.file)
        ticks = [np.rint(part.time * 1e9).astype(np.int64) for part in self.parts]
        _, mine, theirs = np.intersect1d(ticks[0], ticks[1], return_indices=True)
        if len(mine) < 2:
            raise ModelError(f"{second.file}: has no times of {first.file}")
        self.rows = (mine, theirs)
        self.time: Values = first.time[mine]

    def _both(self, field: str) -> list[npt.NDArray[Any]]:
        return [
            np.asarray(getattr(part, field)).reshape(part.rows, -1)[rows]
            for part, rows in zip(self.parts, self.rows, strict=True)
        ]

    def same_fields(self) -> list[str]:
        """Those of which every number has a counterpart."""

        def shape(part: Recording, field: str) -> Any:
            table = _TABLES.get(field, ("", ""))[0]
            width = np.asarray(getattr(part, field)).reshape(part.rows, -1).shape[1]
            return width, [row["name"] for row in part.tables[table]] if table else None

        return [field for field in _FIELDS if shape(self.parts[0], field) == shape(self.parts[1], field)]

    def summary(self) -> dict[str, Any]:
        """All numbers of the page."""
        fields = self.same_fields()
        firsts, states = [], []
        for field in fields:
            a, b = self._both(field)
            if a.shape[1] == 0:
                continue
            different = ~((a == b) | (np.isnan(a) & np.isnan(b)))
            row: dict[str, Any] = {
                "field": field,
                "numbers": a.shape[1],
                "rows_that_differ": int(different.any(axis=1).sum()),
            }
            if different.any():
                at = int(np.argmax(different.any(axis=1)))
                index = int(np.argmax(different[at]))
                firsts.append(
                    (
                        at,
                        {
                            "row": int(self.rows[0][at]),
                            "time": float(self.time[at]),
                            "number": _element(self.parts[0], field, index),
                            "a": float(a[at, index]),
                            "b": float(b[at, index]),
                        },
                    )
                )
                gap = np.nan_to_num(np.abs(a - b), nan=np.inf)
                largest = np.unravel_index(int(np.argmax(gap)), gap.shape)
                row |= {
                    "largest": float(gap[largest]),
                    "time": float(self.time[largest[0]]),
                    "number": _element(self.parts[0], field, int(largest[1])),
                }
            states.append(row)
        rows = [part.rows for part in self.parts]
        first = min(firsts, key=lambda pair: pair[0])[1] if firsts else None
        others = [field for field in _FIELDS if field not in fields]
        return {
            "a": str(self.parts[0].file),
            "b": str(self.parts[1].file),
            "rows": rows,
            "common_rows": len(self.time),
            "identical": first is None and not others and rows[0] == rows[1] == len(self.time),
            "first_difference": first,
            "other_shape": others,
            "states": states,
            "metrics": self._metrics(),
            "signals": self._signals(),
        }

    def _metrics(self) -> list[dict[str, Any]]:
        """Of the `summary.json` beside the recordings."""
        found = []
        for part in self.parts:
            try:
                data = json.loads((part.file.parent / "summary.json").read_text())
                checks = {check["name"]: (check["value"], check["unit"]) for check in data["checks"]}
                found.append(checks | {name: (value, "") for name, value in data["metrics"].items()})
            except (OSError, ValueError, KeyError):
                return []
        both = [(name, unit, a, found[1][name][0]) for name, (a, unit) in found[0].items() if name in found[1]]
        return [
            {"name": name, "unit": unit, "a": a, "b": b, "difference": None if a is None or b is None else b - a}
            for name, unit, a, b in both
        ]

    def signals_of(self, name: str) -> list[Values]:
        """A sensor in both, its norm if it is a vector."""
        found = []
        for part, rows in zip(self.parts, self.rows, strict=True):
            values = np.asarray(part.sensor(name), dtype=np.float64).reshape(part.rows, -1)[rows]
            found.append(values[:, 0] if values.shape[1] == 1 else np.linalg.norm(values, axis=1))
        return found

    def _signals(self) -> list[dict[str, Any]]:
        """The sensors of both that differ, the most different ones first."""
        known = {row["name"] for row in self.parts[1].tables["sensors"]}
        rows = []
        for sensor in self.parts[0].tables["sensors"]:
            if sensor["name"] not in known:
                continue
            a, b = self.signals_of(sensor["name"])
            finite = np.isfinite(a) & np.isfinite(b)
            if not finite.any() or np.array_equal(a, b, equal_nan=True):
                continue
            gap = np.abs(a - b)[finite]
            size = max(float(np.ptp(np.concatenate((a[finite], b[finite])))), np.finfo(float).tiny)
            rows.append(
                {
                    "sensor": sensor["name"],
                    "unit": sensor.get("unit", ""),
                    "largest": float(gap.max()),
                    "rms": float(np.sqrt(np.mean(gap**2))),
                    "relative": float(np.sqrt(np.mean(gap**2)) / size),
                }
            )
        return sorted(rows, key=lambda row: -float(row["relative"]))

    # ---- the page -------------------------------------------------------------------------------------------------

    def html(self, summary: dict[str, Any]) -> str:
        escape = page.escape
        files = [
            f"{name}: <code>{escape(summary[key])}</code>, {page.count(rows, 'row')}; "
            for name, key, rows in zip("AB", "ab", summary["rows"], strict=True)
        ]
        body = [
            f"<h1>{escape(self.names[0])} and {escape(self.names[1])}</h1>",
            f'<p class="first">{escape(said(summary))}</p>',
            f'<p class="note">{"".join(files)}{summary["common_rows"]} at the same times.</p>',
        ]
        differing = [row for row in summary["states"] if "largest" in row]
        if differing:
            body += [
                "<h2>States over time</h2>",
                self._gaps([row["field"] for row in differing]),
                page.table(
                    ["state", "numbers", "rows that differ", "largest difference", "of", "at s"],
                    [
                        [
                            escape(row["field"]),
                            str(row["numbers"]),
                            str(row["rows_that_differ"]),
                            page.number(row["largest"]),
                            escape(row["number"]),
                            page.number(row["time"]),
                        ]
                        for row in differing
                    ],
                ),
            ]
        if summary["other_shape"]:
            body.append(
                f'<p class="note">Not compared, because the models differ: {", ".join(summary["other_shape"])}.</p>'
            )
        equal = [row for row in summary["metrics"] if row["a"] == row["b"]]
        if summary["metrics"]:
            body += [
                "<h2>Metrics that differ</h2>",
                self._metric_table([row for row in summary["metrics"] if row not in equal]),
            ]
        if equal:
            body.append(page.in_details(page.count(len(equal), "equal metric"), self._metric_table(equal)))
        if summary["signals"]:
            body.append("<h2>Sensors that differ</h2>")
            body += [self._overlay(row) for row in summary["signals"][:_MOST_PLOTS]]
            body.append(
                page.table(
                    ["sensor", "unit", "largest difference", "rms"],
                    [
                        [
                            escape(row["sensor"]),
                            escape(row["unit"]),
                            page.number(row["largest"]),
                            page.number(row["rms"]),
                        ]
                        for row in summary["signals"]
                    ],
                    2,
                )
            )
        return page.page(" and ".join(self.names), "".join(body))

    def _metric_table(self, rows: Sequence[dict[str, Any]]) -> str:
        return page.table(
            ["metric", "A", "B", "B - A"],
            [
                [
                    f"{page.escape(row['name'])} {page.escape(row['unit'])}",
                    page.number(row["a"]),
                    page.number(row["b"]),
                    page.number(row["difference"]),
                ]
                for row in rows
            ],
        )

    def _gaps(self, fields: list[str]) -> str:
        series = []
        for field in fields[:6]:
            a, b = self._both(field)
            series.append((field, np.nan_to_num(np.abs(a - b), nan=0.0).max(axis=1)))
        return page.line_plot(self.time, series, "largest difference", logarithmic=True)

    def _overlay(self, row: dict[str, Any]) -> str:
        series = list(zip(("A", "B"), self.signals_of(row["sensor"]), strict=True))
        label = f"{row['sensor']} [{row['unit']}]" if row["unit"] else row["sensor"]
        return page.line_plot(self.time, series, label)


def said(summary: dict[str, Any]) -> str:
    """In a sentence."""
    first = summary["first_difference"]
    if summary["identical"]:
        return f"Identical: {summary['common_rows']} rows, bit for bit."
    if first is None:
        return "No number differs at the times that both have."
    return (
        f"The first row that differs is row {first['row']}, at {first['time']:.6g} s: {first['number']} is "
        f"{first['a']:.10g} in A and {first['b']:.10g} in B."
    )


def _recordings(first: Path, second: Path) -> tuple[str, dict[str, Any]]:
    """Page and summary."""
    with Recording(first) as a, Recording(second) as b:
        pair = RecordingPair(a, b)
        summary = pair.summary()
        print(said(summary))
        for row in summary["metrics"]:
            if row["difference"]:
                print(f"{row['name']}: {page.number(row['a'])}, {page.number(row['b'])} {row['unit']}".rstrip())
        return pair.html(summary), summary


# ---- the command --------------------------------------------------------------------------------------------------


def _recording_of(path: Path) -> Path:
    return path / "rollout.h5" if path.is_dir() else path


def main(words: Sequence[str]) -> int:
    """The exit code of `tendril compare WORDS`."""
    parser = make_parser(
        "compare",
        "Compares two recordings row by row, or two sweeps seed by seed, on one page.",
        "Example: tendril compare out/before-sweep out/after-sweep\n"
        "Exit codes: 0 done, 2 bad input, 4 input or output failed",
    )
    parser.add_argument("a", type=Path, help="recording, folder of a run, or folder of a sweep")
    parser.add_argument("b", type=Path, help="the same; a sweep b is said to be better or worse than a")
    parser.add_argument("-o", "--output", type=Path, default=Path("out/compare.html"), help="[out/compare.html]")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also writes all numbers of the page")
    options = parser.parse_args(words)
    both = (options.a, options.b)
    for path in both:
        if (path / "suite.json").is_file():
            raise ModelError(f"{path}: is the folder of a suite: name that of one of its experiments")
    sweeps = [(path / "sweep.json").is_file() for path in both]
    if sweeps[0] != sweeps[1]:
        raise ModelError(
            f"{both[sweeps.index(False)]}: is no folder of a sweep, and {both[sweeps.index(True)]} is one: must "
            "be two recordings or two sweeps"
        )
    text, summary = _sweeps(*both) if sweeps[0] else _recordings(*map(_recording_of, both))
    options.output.parent.mkdir(parents=True, exist_ok=True)
    _journal.write_atomically(options.output, text)
    if options.json:
        _journal.write_atomically(options.json, json.dumps(plain(summary), indent=1) + "\n")
    print(shlex.quote(str(options.output)))
    return 0
