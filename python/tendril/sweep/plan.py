"""The plan of a sweep: its runs, and what their numbers depend on.

A run is one seed in one cell (a combination of the grid) with one variant. Its name, `id`, is a digest of everything
its numbers depend on, so that finished runs are kept whatever is added to the sweep.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from tendril._errors import ModelError
from tendril._reading import NUMBER, NUMBER_OR_NULL, TEXT, DictOf, Kind, ListOf, Table, integer, one_of, require
from tendril._toml import toml

FORMAT = 2
MAX_RUNS = 10_000_000
SettingPairs = tuple[tuple[str, Any], ...]
Stamp = tuple[int, ...]  # of a file: what changes with its content


@dataclass(frozen=True)
class Variant:
    """Variant that is compared: settings or a controller."""

    name: str
    settings: SettingPairs = ()
    controller: str = ""
    python: str = ""  # file with the controller, as given
    plugin: str = ""  # library with the controller


@dataclass(frozen=True)
class Comparison:
    """A check by name, or a metric, and which of its values are better."""

    metric: str
    better: str
    unit: str = ""  # if the check has none


@dataclass(frozen=True, slots=True)
class SweepRun:
    """One seed in one cell with one variant."""

    id: str
    variant: Variant
    cell: int
    seed: int
    order: int  # of the seed in the sweep


@dataclass(frozen=True)
class SweepPlan:
    """All runs of a sweep, and what their numbers depend on: the content of `sweep.json`."""

    name: str
    experiment: str  # file, as given
    seeds: tuple[int, ...]
    cells: tuple[SettingPairs, ...]
    variants: tuple[Variant, ...]
    baseline: str
    compare: tuple[Comparison, ...]
    record: str | int
    timeout: float
    retries: int
    settings: SettingPairs
    duration: float
    versions: dict[str, str]
    files: dict[str, str]  # SHA-256 by path from the experiment's folder
    named: dict[str, list[str]] = field(default_factory=dict)
    """Files of `files` that only the runs with these settings (`files_key`), this Python file or this library read."""
    stamps: dict[str, Stamp] = field(default_factory=dict, compare=False)  # of `files` when they were read; not kept

    def __len__(self) -> int:
        return len(self.seeds) * len(self.cells) * len(self.variants)

    def settings_of(self, cell: int, variant: Variant) -> SettingPairs:
        """Later ones win."""
        return self.cells[cell] + variant.settings + self.settings

    def runs(self) -> Iterator[SweepRun]:
        """Seed by seed, so that a sweep that is stopped has all variants of the first seeds."""
        coin_flip = {
            (cell, variant.name): self._identity(cell, variant)
            for cell in range(len(self.cells))
            for variant in self.variants
        }
        for order, seed in enumerate(self.seeds):
            for cell in range(len(self.cells)):
                for variant in self.variants:
                    before, after = coin_flip[cell, variant.name]
                    digest = hashlib.sha256(b"%s%d%s" % (before, seed, after)).hexdigest()
                    yield SweepRun(digest[:16], variant, cell, seed, order)

    def _identity(self, cell: int, variant: Variant) -> tuple[bytes, bytes]:
        """Canonical JSON of what the numbers of a run depend on, before and after the seed."""
        settings = self.settings_of(cell, variant)
        others = {file for files in self.named.values() for file in files}
        own = {
            file for key in (variant.python, variant.plugin, files_key(settings)) for file in self.named.get(key, [])
        }
        files = {file: digest for file, digest in self.files.items() if file not in others or file in own}
        mark = "\0"
        text = canonical(
            {
                "format": FORMAT,
                **self.versions,
                "files": files,
                "settings": settings,
                "controller": variant.controller,
                "seed": mark,
                "duration": self.duration,
            }
        )
        before, after = text.split(json.dumps(mark), 1)
        return before.encode(), after.encode()

    def to_json(self) -> dict[str, Any]:
        data = asdict(replace(self, stamps={}))
        del data["stamps"]
        return {"format": FORMAT, **data, "timeout": self.timeout if math.isfinite(self.timeout) else None}

    @staticmethod
    def from_json(data: Mapping[str, Any], file: Path) -> SweepPlan:
        """Throws ModelError for a newer format, DamagedPlan for what is no plan."""
        given = data.get("format") if isinstance(data, Mapping) else None
        if integer(FORMAT + 1).fits(given):
            raise ModelError(f"{file}: format = {given}: must be {FORMAT}: written by a newer tendril")
        try:
            _require_plan(data)
        except ModelError as error:
            raise DamagedPlan(f"{file}: is damaged: start the sweep again, its runs are kept ({error})") from None

        def settings(pairs: list[list[Any]]) -> SettingPairs:
            return tuple((key, value) for key, value in pairs)

        fields = {key: value for key, value in data.items() if key in SweepPlan.__dataclass_fields__}
        fields |= {
            "seeds": tuple(data["seeds"]),
            "cells": tuple(settings(cell) for cell in data["cells"]),
            "variants": tuple(
                Variant(v["name"], settings(v["settings"]), v["controller"], v.get("python", ""), v.get("plugin", ""))
                for v in data["variants"]
            ),
            "compare": tuple(Comparison(c["metric"], c["better"], c.get("unit", "")) for c in data["compare"]),
            "settings": settings(data["settings"]),
            "timeout": math.inf if data["timeout"] is None else data["timeout"],
        }
        return SweepPlan(**fields)

    def cell_name(self, cell: int) -> str:
        return ", ".join(f"{key} = {toml(value)}" for key, value in self.cells[cell])


class DamagedPlan(ModelError):
    """A `sweep.json` that cannot be read."""


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and isinstance(value[0], str)


def _is_choice_of_recordings(value: Any) -> bool:
    return value in ("none", "failed", "all") if isinstance(value, str) else integer().fits(value)


_PAIRS = ListOf(Kind("a key and a value", _is_pair))
_PLAN = Table(
    {
        "format": integer(FORMAT, FORMAT),
        "name": TEXT,
        "experiment": TEXT,
        "seeds": ListOf(integer()),
        "cells": ListOf(_PAIRS),
        "variants": ListOf(
            Table({"name": TEXT, "settings": _PAIRS, "controller": TEXT}, {"python": TEXT, "plugin": TEXT})
        ),
        "baseline": TEXT,
        "compare": ListOf(Table({"metric": TEXT, "better": one_of("lower", "higher")}, {"unit": TEXT})),
        "record": Kind("none, failed, all or a number of seeds", _is_choice_of_recordings),
        "timeout": NUMBER_OR_NULL,
        "retries": integer(0, 100),
        "settings": _PAIRS,
        "duration": NUMBER,
        "versions": Table({"tendril": TEXT, "mujoco": TEXT}, {}),
        "files": DictOf(Kind("a digest", lambda value: bool(re.fullmatch(r"[0-9a-f]{64}", str(value))))),
    },
    {"named": DictOf(ListOf(TEXT))},
)


def _require_plan(data: Any) -> None:
    """Throws ModelError, without the file, for what is not the content of `sweep.json`."""
    require(data, _PLAN, "sweep")
    names = [variant["name"] for variant in data["variants"]]
    keys = {tuple(key for key, _ in cell) for cell in data["cells"]}
    if len(keys) != 1 or len({*names}) < len(names) or data["baseline"] not in names:
        raise ModelError("sweep: cells or variants: are not those of one sweep")
    if not 1 <= len(data["seeds"]) * len(data["cells"]) * len(names) <= MAX_RUNS:
        raise ModelError(f"sweep: seeds: must give 1 to {MAX_RUNS} runs")


def canonical(data: object) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"), default=str)


def _has_text(value: object) -> bool:
    if isinstance(value, dict | list | tuple):
        return any(map(_has_text, value.values() if isinstance(value, dict) else value))
    return isinstance(value, str)


def files_key(settings: SettingPairs) -> str:
    """Returns the settings that may name files as one text; empty if there are none."""
    texts = [pair for pair in settings if _has_text(pair[1])]
    return canonical(texts) if texts else ""


@cache
def read_versions(program: str) -> dict[str, str]:
    """Reads the versions of Tendril and MuJoCo. Throws ModelError."""
    try:
        text = subprocess.run([program, "--version"], capture_output=True, text=True, check=True, timeout=60).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise ModelError(f"{program}: {error}: must be the program tendril: name it with TENDRIL_PROGRAM") from None
    found = re.fullmatch(r"tendril (\S+), MuJoCo (\S+)\s*", text)
    if not found:
        raise ModelError(f"{program}: --version says {text.strip()!r}: must be the program tendril of this version")
    return {"tendril": found[1], "mujoco": found[2]}


def command_of(plan: SweepPlan, run: SweepRun, program: str) -> list[str]:
    """`tendril run ...` without its output options."""
    command = [program, "run", plan.experiment, "--seed", str(run.seed)]
    if run.variant.python:
        command[:1] = [sys.executable, "-P", "-m", "tendril", "--python", run.variant.python]
    if run.variant.plugin:
        command += ["--plugin", run.variant.plugin]
    if run.variant.controller:
        command += ["--controller", run.variant.controller]
    return command + set_options(plan.settings_of(run.cell, run.variant))


def refusal_text(plan: SweepPlan, run: SweepRun, error: str) -> str:
    """Returns what the program says of a setting that it was given by `--set`, with the sweep's place of it."""
    if not error.startswith("--set: "):
        return error
    places: dict[str, SettingPairs] = {
        f"{plan.experiment}: sweep.grid": plan.cells[run.cell],
        f"variant {run.variant.name}": run.variant.settings,
        "--set": plan.settings,
    }
    named = [
        place
        for place, settings in places.items()
        if any(re.search(rf"\b{re.escape(key.rpartition('.')[2])}\b", error) for key, _ in settings)
    ]
    places_of_it = named or [place for place, settings in places.items() if settings]
    return f"{' or '.join(places_of_it)}: {error.removeprefix('--set: ')}"


def set_options(settings: SettingPairs) -> list[str]:
    """Returns the options of `tendril run`."""
    return [word for key, value in settings for word in ("--set", f"{key}={toml(value)}")]


def default_folder(name: str) -> Path:
    return Path("out") / f"{name}-sweep"
