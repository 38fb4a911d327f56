"""The table `[sweep]` of a file, and what a command line says instead of it; docs/guide/sweeps.md."""

from __future__ import annotations

import itertools
import json
import math
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from tendril._errors import ModelError
from tendril._meant import meant
from tendril._reading import is_number, parse_json, read_toml
from tendril._settings import check_key, parse_setting
from tendril._toml import toml
from tendril.sweep.inputs import find_files
from tendril.sweep.plan import MAX_RUNS, Comparison, SettingPairs, SweepPlan, Variant, canonical, read_versions

_KEYS = ("experiment", "name", "seeds", "record", "timeout", "retries", "baseline", "compare", "grid", "variant")
_OF_A_ROW = ("file", "name", "seeds", "compare", "grid", "record", "timeout", "retries")


class SweepTable:
    """A table of the sweep, with messages `file: table: key = value: what is allowed`."""

    def __init__(self, where: str, data: object, known: tuple[str, ...] = ()) -> None:
        self.where = where
        if not isinstance(data, dict):
            raise ModelError(f"{where}: {toml(data)}: must be a table")
        self.data: dict[str, Any] = data
        for key in data:
            if known and key not in known:
                raise ModelError(f"{where}: {key}: unknown key{meant(key, known)}, must be one of {', '.join(known)}")

    def refuse(self, key: str, allowed: str) -> ModelError:
        return ModelError(f"{self.where}: {key} = {toml(self.data[key])}: {allowed}")

    def text(self, key: str, default: str | None = None) -> str:
        if key not in self.data and default is not None:
            return default
        if key not in self.data:
            raise ModelError(f"{self.where}: {key}: is missing")
        value = self.data[key]
        if not isinstance(value, str) or not value:
            raise self.refuse(key, "must be a text")
        return value

    def integer(self, key: str, default: int, low: int, high: int) -> int:
        value = self.data.get(key, default)
        if not _is_integer(value) or not low <= value <= high:
            raise self.refuse(key, f"must be an integer in [{low}, {high}]")
        return int(value)

    def settings(self, key: str) -> SettingPairs:
        inner = self.data.get(key, {})
        if not isinstance(inner, dict):
            raise self.refuse(key, "must be a table of settings")
        flat = tuple(_flattened(inner))
        for name, _ in flat:
            check_key(f"{self.where}: {key}", name)
        return flat


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _flattened(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """`a.b = 1` is a table of tables."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flattened(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _seeds(table: SweepTable) -> tuple[int, ...]:
    if "seeds" not in table.data:
        raise ModelError(f"{table.where}: seeds: is missing: give a number, {{ first, count }} or a list, or --seeds")
    value = table.data["seeds"]
    allowed = "must be a number >= 1, { first = F, count = N } or a list of different integers in [0, 2^63)"
    if isinstance(value, dict) and set(value) == {"first", "count"}:
        first, count = value["first"], value["count"]
    else:
        first, count = 0, value
    if _is_integer(count) and _is_integer(first):
        if not (1 <= count <= MAX_RUNS and 0 <= first and first + count <= 2**63):
            raise table.refuse("seeds", allowed)
        return tuple(range(first, first + count))
    if (
        not isinstance(value, list)
        or not value
        or len({*map(str, value)}) < len(value)
        or not all(_is_integer(seed) and 0 <= seed < 2**63 for seed in value)
    ):
        raise table.refuse("seeds", allowed)
    return tuple(value)


def _cells(table: SweepTable) -> tuple[SettingPairs, ...]:
    axes = table.settings("grid")
    for key, values in axes:
        if not isinstance(values, list) or not values:
            raise ModelError(f"{table.where}: grid: {key} = {toml(values)}: must be a list with at least one value")
        if len({*map(canonical, values)}) < len(values):
            raise ModelError(f"{table.where}: grid: {key} = {toml(values)}: a value is given twice")
    if math.prod(len(values) for _, values in axes) > MAX_RUNS:
        raise ModelError(f"{table.where}: grid: must have at most {MAX_RUNS} cells")
    keys = [key for key, _ in axes]
    return tuple(tuple(zip(keys, values, strict=True)) for values in itertools.product(*(v for _, v in axes)))


@dataclass(frozen=True)
class CommandLineOverrides:
    """Values that a command line gives instead of the file."""

    seeds: int | Sequence[int] | None = None
    settings: tuple[str, ...] = ()  # of `--set`
    python: str = ""  # of the variants that name none
    plugin: str = ""
    controllers: tuple[str, ...] = ()  # variants instead of the file's; "default": the experiment's own
    variants: tuple[str, ...] = ()  # as well: "name: key=value; key=value"

    def __post_init__(self) -> None:
        for option in ("python", "plugin"):
            if (file := getattr(self, option)) and not Path(file).is_file():
                raise ModelError(f"--{option}: {file}: no such file")

    def variant_rows(self) -> list[tuple[str, Variant]]:
        """The option and the variant that it gives."""
        rows = [("--controller", Variant(name, (), "" if name == "default" else name)) for name in self.controllers]
        for text in self.variants:
            name, _, settings = (part.strip() for part in text.partition(":"))
            if not name or "=" in name:
                raise ModelError(f"--variant: {text}: must be 'NAME: key=value; key=value'")
            pairs = tuple(parse_setting(one) for one in settings.split(";") if one.strip())
            rows.append(("--variant", Variant(name, pairs)))
        return rows


def _variants(table: SweepTable, folder: Path, given: CommandLineOverrides) -> tuple[Variant, ...]:
    rows = given.variant_rows()
    listed = table.data.get("variant", [])
    if not isinstance(listed, list):
        raise table.refuse("variant", "must be [[sweep.variant]]")
    where = f"{table.where}: variant"
    for row in listed if not rows else ():
        one = SweepTable(where, row, ("name", "set", "controller", "python", "plugin"))
        files = {key: str(folder / one.text(key)) if key in row else "" for key in ("python", "plugin")}
        for key, file in files.items():
            if file and not Path(file).is_file():
                raise one.refuse(key, "no such file")
        controller = one.text("controller", "") if "controller" in row else ""
        rows.append((where, Variant(one.text("name"), one.settings("set"), controller, **files)))
    found: dict[str, Variant] = {}
    same: dict[tuple[str, ...], str] = {}
    for origin, row in rows or [(where, Variant("default"))]:
        if row.name in found:
            raise ModelError(f"{origin}: name = {toml(row.name)}: is given twice")
        variant = replace(row, python=row.python or given.python, plugin=row.plugin or given.plugin)
        found[row.name] = variant
        content = (canonical(variant.settings), variant.controller, variant.python, variant.plugin)
        other = same.setdefault(content, row.name)
        if other != row.name:
            raise ModelError(f"{origin}: {row.name}: is the same as {other}")
    return tuple(found.values())


def _checks(content: Mapping[str, Any]) -> tuple[Comparison, ...]:
    """The checks of an experiment; what is wrong in them the program says."""
    rows = content.get("check", [])
    names = {
        str(row.get("name", row.get("metric"))): "lower" if "max" in row else "higher"
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, dict)
    }
    return tuple(Comparison(name, better) for name, better in names.items())


def _family_checks(experiment: Path, content: Mapping[str, Any], program: str) -> tuple[Comparison, ...]:
    """Returns the checks of one of its scenes: all have the same."""
    command = [program, "generate", str(content["family"]), "--difficulty", str(content.get("difficulty", 0.5))]
    with tempfile.TemporaryDirectory(prefix="tendril-") as folder:
        done = subprocess.run([*command, "--out", folder], capture_output=True, text=True)
        if done.returncode != 0:
            raise ModelError(f"{experiment}: {done.stderr.strip().removeprefix('tendril: ')}")
        return _checks(read_toml(Path(done.stdout.strip())))


def _compare(table: SweepTable) -> tuple[Comparison, ...]:
    rows = table.data.get("compare", [])
    if not isinstance(rows, list):
        raise table.refuse("compare", 'must be a list of { metric = "NAME", better = "lower" }')
    found: dict[str, Comparison] = {}
    for row in rows:
        if not isinstance(row, dict):
            raise table.refuse("compare", 'must be a list of { metric = "NAME", better = "lower" }')
        one = SweepTable(f"{table.where}: compare", row, ("metric", "better", "unit"))
        metric = one.text("metric")
        if metric in found:
            raise one.refuse("metric", "is given twice")
        if "better" not in row:
            raise one.refuse("metric", 'better is missing, must be "lower" or "higher"')
        if one.text("better") not in ("lower", "higher"):
            raise one.refuse("better", 'must be "lower" or "higher"')
        found[metric] = Comparison(metric, one.text("better"), one.text("unit") if "unit" in row else "")
    return tuple(found.values())


def _read_document(file: Path) -> dict[str, Any]:
    if file.suffix.lower() in (".xml", ".mjcf"):
        raise ModelError(
            f'{file}: is a scene: tendril sweep takes an experiment, a file (.toml) with scene = "{file.name}", '
            f"duration and what varies (docs/reference/experiment_file.md)"
        )
    return read_toml(file)


def overruled(plan: SweepPlan) -> list[str]:
    """Returns the keys of the grid that the experiment's `[vary]` has too: nothing is drawn for them."""
    varied: list[str] = []
    for key, value in _flattened(read_toml(Path(plan.experiment)).get("vary", {})):
        varied += value if key.endswith(".keys") and isinstance(value, list) else [key.rpartition(".")[0]]
    return [
        key
        for key, _ in plan.cells[0]
        if any(fnmatchcase(key, str(other)) or fnmatchcase(str(other), key) for other in varied)
    ]


def make_plan(
    source: Path | Mapping[str, Any], program: str, given: CommandLineOverrides = CommandLineOverrides()
) -> SweepPlan:
    """The plan of a file with a table `[sweep]`, or of such a table. Throws ModelError."""
    if isinstance(source, Path):
        document, where, folder = _read_document(source), f"{source}: sweep", source.parent
        data = document.get("sweep", {})
    else:
        document, where, folder, data = {}, "sweep", Path(), dict(source)
    table = SweepTable(where, data)
    if isinstance(data.get("experiment"), list):
        raise ModelError(f"{where}: experiment: is a list: a suite is run with tendril sweep")
    if "experiment" in data:
        experiment = folder / table.text("experiment")
        content = _read_document(experiment)
    elif isinstance(source, Path) and document.keys() & {"scene", "family"}:
        experiment, content = source, document
    else:
        raise ModelError(f"{where}: experiment: is missing: must be an experiment file")
    return _plan(table, folder, experiment, content, program, given)


def make_plans(
    files: Sequence[Path], program: str, given: CommandLineOverrides = CommandLineOverrides(), only: Sequence[str] = ()
) -> list[SweepPlan]:
    """The plans of a suite: of several files, or of one whose table `[sweep]` has a list `experiment`.

    Of several files that have names in common, each has its folder before its name.
    @param only  patterns of names; none: all
    Throws ModelError.
    """
    if len(files) > 1:
        plans = [make_plan(file, program, given) for file in files]
        if len({plan.name for plan in plans}) < len(plans):
            plans = [
                replace(plan, name=f"{file.absolute().parent.name}-{plan.name}")
                for file, plan in zip(files, plans, strict=True)
            ]
    else:
        plans = list(_suite(files[0], program, given))
    names = [plan.name for plan in plans]
    for name in names:
        if names.count(name) > 1:
            raise ModelError(f"{files[0]}: sweep: experiment: name = {toml(name)}: is given twice")
    for pattern in only:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise ModelError(f"--only: {pattern}: matches none of {', '.join(names)}")
    return [plan for plan in plans if not only or any(fnmatchcase(plan.name, pattern) for pattern in only)]


def is_suite(file: Path) -> bool:
    """Tells whether its table `[sweep]` has a list of experiments."""
    table = _read_document(file).get("sweep", {})
    return isinstance(table, dict) and isinstance(table.get("experiment"), list)


def suite_name(files: Sequence[Path]) -> str:
    name = _read_document(files[0]).get("sweep", {}).get("name", files[0].stem) if len(files) == 1 else "comparison"
    _require_name(f"{files[0]}: sweep", str(name))
    return str(name)


def _require_name(where: str, name: str) -> None:
    """Refuses the name of a sweep, which becomes that of a folder, if it would be another folder."""
    if "/" in name or "\0" in name or name[:1] in ("", "."):
        raise ModelError(f"{where}: name = {toml(name)}: must neither contain '/' nor begin with '.'")


def _suite(file: Path, program: str, given: CommandLineOverrides) -> Iterator[SweepPlan]:
    where = f"{file}: sweep"
    data = _read_document(file)["sweep"]
    SweepTable(where, data, _KEYS)
    common = {key: value for key, value in data.items() if key not in ("experiment", "name", "variant")}
    rows = [SweepTable(f"{where}: experiment", row, _OF_A_ROW) for row in data["experiment"]]
    if not rows:
        raise ModelError(f"{where}: experiment = []: must have at least one file")
    names = [row.text("name", Path(row.text("file")).stem) for row in rows]
    listed = data.get("variant", [])
    if not isinstance(listed, list) or not all(isinstance(variant, dict) for variant in listed):
        raise ModelError(f"{where}: variant: must be [[sweep.variant]]")
    for variant in listed:
        patterns = variant.get("experiments", ["*"])
        if not isinstance(patterns, list):
            raise ModelError(f"{where}: variant: experiments = {toml(patterns)}: must be a list of names")
        for pattern in patterns:
            if not isinstance(pattern, str) or not any(fnmatchcase(name, pattern) for name in names):
                raise ModelError(f"{where}: variant: experiments: {toml(pattern)}: matches none of {', '.join(names)}")
    for row, name in zip(rows, names, strict=True):
        own = {**common, **row.data, "name": name}
        own["variant"] = [
            {key: value for key, value in one.items() if key != "experiments"}
            for one in listed
            if any(fnmatchcase(name, pattern) for pattern in one.get("experiments", ["*"]))
        ]
        experiment = file.parent / own.pop("file")
        yield _plan(
            SweepTable(f"{where}: {name}", own),
            file.parent,
            experiment,
            _read_document(experiment),
            program,
            replace(given, seeds=None) if "seeds" in row.data else given,
        )


def _plan(
    table: SweepTable,
    folder: Path,
    experiment: Path,
    content: dict[str, Any],
    program: str,
    given: CommandLineOverrides,
) -> SweepPlan:
    """@param folder  that of the file with the table"""
    where = table.where
    seeds = list(given.seeds) if isinstance(given.seeds, Sequence) else given.seeds
    data = table.data if seeds is None else {**table.data, "seeds": seeds}
    table = SweepTable(where, data, _KEYS)
    if not content.keys() & {"scene", "family"}:
        raise ModelError(f"{experiment}: scene: is missing: must be an experiment file")
    variants = _variants(table, folder, given)
    baseline = variants[0].name if given.controllers or given.variants else table.text("baseline", variants[0].name)
    if baseline not in {variant.name for variant in variants}:
        raise table.refuse("baseline", f"must be a variant: {', '.join(v.name for v in variants)}")
    record = data.get("record", "none")
    if record not in ("none", "failed", "all") and not (_is_integer(record) and record >= 0):
        raise table.refuse("record", 'must be "none", "failed", "all" or a number of seeds')
    timeout = data.get("timeout", 3600)
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout <= 1e6:
        raise table.refuse("timeout", "must be a time in (0, 1e6] s")
    name = table.text("name", str(content.get("name", experiment.stem)) if "name" not in data else "")
    _require_name(where, name)
    duration = content.get("duration", 10.0)
    if not is_number(duration):
        raise ModelError(f"{experiment}: duration = {toml(duration)}: must be a time in (0, 1e6] s")
    compare = _compare(table) or (
        _family_checks(experiment, content, program) if "family" in content else _checks(content)
    )
    plan = SweepPlan(
        name=name,
        experiment=str(experiment),
        seeds=_seeds(table),
        cells=_cells(table),
        variants=variants,
        baseline=baseline,
        compare=compare,
        record=record,
        timeout=float(timeout),
        retries=table.integer("retries", 2, 0, 100),
        settings=tuple(map(parse_setting, given.settings)),
        duration=float(duration),
        versions=read_versions(program),
        files={},
        named={},
    )
    if len(plan) > MAX_RUNS:
        raise ModelError(f"{where}: {len(plan)} runs: must be at most 1e7")
    _require_plain(where, plan)
    find_files(plan, program)
    return plan


def _require_plain(where: str, plan: SweepPlan) -> None:
    """Throws ModelError for a setting that `sweep.json` cannot have: a date, what is not finite, more than 64 bits."""
    settings = [*plan.cells, *(variant.settings for variant in plan.variants), plan.settings]
    for key, value in {id(value): (key, value) for pairs in settings for key, value in pairs}.values():
        try:
            parse_json(json.dumps(value, allow_nan=False), where)
        except (ModelError, TypeError, ValueError):
            raise ModelError(
                f"{where}: {key} = {toml(value)}: must be of texts, truth values and finite numbers"
            ) from None
