"""Two sweeps, seed by seed."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tendril._errors import ModelError
from tendril._notices import notice
from tendril._toml import toml
from tendril.compare.names import names_of
from tendril.report import page
from tendril.sweep.dataset import Dataset
from tendril.sweep.plan import SettingPairs, SweepPlan, SweepRun, Variant
from tendril.sweep.report import html, rate_text, variant_text


class Pair(Dataset):
    """Two sweeps as the two variants of one, over the seeds and cells that both have.

    Where both have several variants, those with the same name are compared: they are cells.
    """

    def __init__(self, first: Dataset, second: Dataset) -> None:
        """Throws ModelError for sweeps that have nothing in common."""
        parts = (first, second)
        self.parts = parts
        self.names = names_of(first.folder, second.folder)
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

        def key(plan: SweepPlan, run: SweepRun) -> str:
            return json.dumps([_cell(plan, run.cell, run.variant.name if by_name else "")])

        cells: dict[str, SettingPairs] = {}
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
        indices = {text: index for index, text in enumerate(cells)}
        rows: list[tuple[int, int, SweepRun]] = []
        for number, part in enumerate(parts):
            for row, run in enumerate(part._runs):
                index, order = indices.get(key(part.plan, run)), seeds.get(run.seed)
                if index is not None and order is not None:
                    rows.append(
                        (number, row, replace(run, variant=self.plan.variants[number], cell=index, order=order))
                    )
        self._take(rows)

    def _take(self, rows: list[tuple[int, int, SweepRun]]) -> None:
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
        self.measured = joined([part.measured for part in self.parts])
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
        index = {(number, row): here for here, (number, row, _) in enumerate(rows)}
        self.failed_checks = [
            (index[number, row], name)
            for number, part in enumerate(self.parts)
            for row, name in part.failed_checks
            if (number, row) in index
        ]

    def playback(self, id: str) -> None:
        """Returns None: the page is elsewhere."""

    def folder_of(self, row: int) -> Path:
        return self.parts[self._origins[row]].folder

    def unpaired(self) -> list[str]:
        """Lists what the same seed has drawn differently in the two."""
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
        """Returns what the two are, and what differs: a row of three texts each."""
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
        return rows + [[file, *(plan.files.get(file, "")[:16] for plan in (a, b))] for file in self.changed_files()]

    def changed_files(self) -> list[str]:
        """Returns the files that are not the same in the two, by their names from the experiments' folders."""
        a, b = (part.plan.files for part in self.parts)
        return [file for file in {**a, **b} if a.get(file) != b.get(file)]


def _cell(plan: SweepPlan, cell: int, variant: str) -> SettingPairs:
    return ((("variant", variant),) if variant else ()) + plan.cells[cell]


def _doubts(pair: Pair, unpaired: list[str]) -> list[str]:
    """Returns why the two cannot be compared seed by seed."""
    found = []
    names = [Path(part.plan.experiment).name for part in pair.parts]
    if names[0] != names[1]:
        found.append(f"The two are of different experiments, {names[0]} and {names[1]}: equal seeds are no pairs.")
    if unpaired:
        found.append(f"The same seed draws other values of {', '.join(unpaired)} in the two: they are no pairs.")
    return found


def compare_sweeps(first: Path, second: Path) -> tuple[str, dict[str, Any]]:
    """Page and summary."""
    pair = Pair(Dataset(first), Dataset(second))
    origins, unpaired = pair.origins(), pair.unpaired()
    summary = {**pair.summary, "origins": origins, "unpaired": unpaired}
    note = ""
    for words in _doubts(pair, unpaired):
        print(notice("sweep-difference", words), file=sys.stderr)
        note += f'<p class="worse">{page.escape(words)}</p>'
    if changed := pair.changed_files():
        print(f"files that differ: {', '.join(changed)}")
    table = page.table(["", *map(page.escape, pair.names)], [list(map(page.escape, row)) for row in origins], 3)
    for row in pair.success().values():
        print(f"{row['variant']}: {rate_text(row)}")
    for row in pair.compare():
        print(f"{row['variant']} against {row['baseline']}: {row['metric']}: {row['words']} (p = {row['p_holm']:.2g})")
    return html(pair, f"{note}<h2>What is compared</h2>{table}"), summary
