"""Two recordings, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tendril._errors import ModelError
from tendril.compare.names import names_of
from tendril.recording import Recording
from tendril.report import page, plots
from tendril.report.summary import read_summary

Values = npt.NDArray[np.float64]
_FIELDS = ("qpos", "qvel", "act", "ctrl", "sensordata", "plugin_state", "mocap_pos", "mocap_quat")
_TABLES = {
    "qpos": ("joints", "qpos_address"),
    "qvel": ("joints", "dof_address"),
    "ctrl": ("actuators", ""),
    "sensordata": ("sensors", "address"),
}
_MAX_PLOTS = 8


def _element(recording: Recording, field: str, index: int) -> str:
    """Name of a number of a row."""
    table, address = _TABLES.get(field, ("", ""))
    if not table:
        return f"{field}[{index}]"
    rows = recording.tables[table]
    starts = [int(row[address]) if address else start for start, row in enumerate(rows)]
    found = [(start, row["name"]) for start, row in zip(starts, rows, strict=True) if start <= index]
    if not found:
        return f"{field}[{index}]"
    start, name = max(found)
    return f"{field} {name}" + (f"[{index - start}]" if index != start else "")


class RecordingPair:
    """Two recordings at the times that both have."""

    def __init__(self, first: Recording, second: Recording) -> None:
        """Throws ModelError for recordings with no time in common."""
        self.parts = (first, second)
        self.names = names_of(first.file, second.file)
        ticks = [np.rint(part.due_time * 1e9).astype(np.int64) for part in self.parts]
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
        """Returns the fields of which every number has a counterpart."""

        def shape(part: Recording, field: str) -> Any:
            table = _TABLES.get(field, ("", ""))[0]
            width = np.asarray(getattr(part, field)).reshape(part.rows, -1).shape[1]
            return width, [row["name"] for row in part.tables[table]] if table else None

        def is_absent(part: Recording, field: str) -> bool:
            values = np.asarray(getattr(part, field))
            return part.is_log and values.size > 0 and bool(np.isnan(values).all())

        return [
            field
            for field in _FIELDS
            if shape(self.parts[0], field) == shape(self.parts[1], field)
            and not any(is_absent(part, field) for part in self.parts)
        ]

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
        """Compares the metrics of the `summary.json` next to the recordings."""
        found = []
        for part in self.parts:
            try:
                data = read_summary(part.file.parent / "summary.json")
            except ModelError:
                return []
            checks = {one["name"]: (one.get("value"), one.get("unit", "")) for one in data.get("checks", [])}
            found.append(checks | {name: (value, "") for name, value in data.get("metrics", {}).items()})
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
        body += [*self._states(summary), *self._metrics_that_differ(summary), *self._sensors_that_differ(summary)]
        return page.page(" and ".join(self.names), "".join(body))

    def _states(self, summary: dict[str, Any]) -> list[str]:
        body = []
        differing = [row for row in summary["states"] if "largest" in row]
        if differing:
            body += [
                "<h2>States over time</h2>",
                self._gaps([row["field"] for row in differing]),
                page.table(
                    ["state", "numbers", "rows that differ", "largest difference", "of", "at s"],
                    [
                        [
                            page.escape(row["field"]),
                            str(row["numbers"]),
                            str(row["rows_that_differ"]),
                            page.number(row["largest"]),
                            page.escape(row["number"]),
                            page.number(row["time"]),
                        ]
                        for row in differing
                    ],
                ),
            ]
        if summary["other_shape"]:
            fields = ", ".join(summary["other_shape"])
            body.append(f'<p class="note">Not compared, because the models differ or a log has none: {fields}.</p>')
        return body

    def _metrics_that_differ(self, summary: dict[str, Any]) -> list[str]:
        body = []
        equal = [row for row in summary["metrics"] if row["a"] == row["b"]]
        if summary["metrics"]:
            body += [
                "<h2>Metrics that differ</h2>",
                self._metric_table([row for row in summary["metrics"] if row not in equal]),
            ]
        if equal:
            body.append(page.in_details(page.count(len(equal), "equal metric"), self._metric_table(equal)))
        return body

    def _sensors_that_differ(self, summary: dict[str, Any]) -> list[str]:
        if not summary["signals"]:
            return []
        rows = [
            [
                page.escape(row["sensor"]),
                page.escape(row["unit"]),
                page.number(row["largest"]),
                page.number(row["rms"]),
            ]
            for row in summary["signals"]
        ]
        return [
            "<h2>Sensors that differ</h2>",
            *(self._overlay(row) for row in summary["signals"][:_MAX_PLOTS]),
            page.table(["sensor", "unit", "largest difference", "rms"], rows, 2),
        ]

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
        return plots.line_plot(self.time, series, "largest difference", logarithmic=True)

    def _overlay(self, row: dict[str, Any]) -> str:
        series = list(zip(("A", "B"), self.signals_of(row["sensor"]), strict=True))
        label = f"{row['sensor']} [{row['unit']}]" if row["unit"] else row["sensor"]
        return plots.line_plot(self.time, series, label)


def said(summary: dict[str, Any]) -> str:
    """Returns the comparison in a sentence."""
    first = summary["first_difference"]
    if summary["identical"]:
        return f"Identical: {summary['common_rows']} rows, bit for bit."
    if first is None:
        return "No number differs at the times that both have."
    return (
        f"The first row that differs is row {first['row']}, at {first['time']:.6g} s: {first['number']} is "
        f"{first['a']:.10g} in A and {first['b']:.10g} in B."
    )


def compare_recordings(first: Path, second: Path) -> tuple[str, dict[str, Any]]:
    """Page and summary."""
    with Recording(first) as a, Recording(second) as b, a.reading(), b.reading():
        pair = RecordingPair(a, b)
        summary = pair.summary()
        print(said(summary))
        for row in summary["metrics"]:
            if row["difference"]:
                print(f"{row['name']}: {page.number(row['a'])}, {page.number(row['b'])} {row['unit']}".rstrip())
        return pair.html(summary), summary
