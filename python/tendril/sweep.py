"""Sweeps: one experiment with many seeds, settings and controllers, resumed where it stopped.

A run is one seed in one cell (a combination of the grid) with one variant. Its name, `id`, is a digest of everything
its numbers depend on, so that finished runs are kept whatever is added to the sweep. `_local` starts the runs,
`_journal` keeps their lines, `dataset` reads them.
"""

from __future__ import annotations

import ast
import hashlib
import itertools
import json
import math
import os
import re
import stat
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tendril._errors import ModelError
from tendril._program import find_program

if TYPE_CHECKING:
    from tendril.dataset import Dataset

FORMAT = 1
MOST_RUNS = 10_000_000
PREFIXES = ("robot.", "controller.", "option.", "body.", "geom.", "motion.", "fault.")

Settings = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Variant:
    """What is compared: settings or a controller."""

    name: str
    settings: Settings = ()
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
class Run:
    """One seed in one cell with one variant."""

    id: str
    variant: Variant
    cell: int
    seed: int
    order: int  # of the seed in the sweep


@dataclass(frozen=True)
class Plan:
    """All runs of a sweep, and what their numbers depend on: the content of `sweep.json`."""

    name: str
    experiment: str  # file, as given
    seeds: tuple[int, ...]
    cells: tuple[Settings, ...]
    variants: tuple[Variant, ...]
    baseline: str
    compare: tuple[Comparison, ...]
    record: str | int
    timeout: float
    retries: int
    settings: Settings
    duration: float
    versions: dict[str, str]
    files: dict[str, str]  # SHA-256 by path from the experiment's folder
    named: dict[str, list[str]] = field(default_factory=dict)  # files of `files` that only this setting's value names

    def __len__(self) -> int:
        return len(self.seeds) * len(self.cells) * len(self.variants)

    def settings_of(self, cell: int, variant: Variant) -> Settings:
        """Later ones win."""
        return self.cells[cell] + variant.settings + self.settings

    def runs(self) -> Iterator[Run]:
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
                    yield Run(digest[:16], variant, cell, seed, order)

    def _identity(self, cell: int, variant: Variant) -> tuple[bytes, bytes]:
        """Canonical JSON of what the numbers of a run depend on, before and after the seed."""
        settings = self.settings_of(cell, variant)
        others = {file for files in self.named.values() for file in files}
        own = {
            file
            for value in [variant.python, variant.plugin, *(value for _, value in settings)]
            for file in self.named.get(_text(value), [])
        }
        files = {file: digest for file, digest in self.files.items() if file not in others or file in own}
        mark = "\0"
        text = _canonical(
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
        from dataclasses import asdict

        return {"format": FORMAT, **asdict(self), "timeout": self.timeout if math.isfinite(self.timeout) else None}

    @staticmethod
    def from_json(data: Mapping[str, Any], file: Path) -> Plan:
        """Throws ModelError for a newer format."""
        if data.get("format") != FORMAT:
            raise ModelError(f"{file}: format = {data.get('format')}: must be {FORMAT}: written by a newer tendril")

        def settings(pairs: list[list[Any]]) -> Settings:
            return tuple((key, value) for key, value in pairs)

        fields = {key: value for key, value in data.items() if key in Plan.__dataclass_fields__}
        fields |= {
            "seeds": tuple(data["seeds"]),
            "cells": tuple(settings(cell) for cell in data["cells"]),
            "variants": tuple(
                Variant(v["name"], settings(v["settings"]), v["controller"], v.get("python", ""), v.get("plugin", ""))
                for v in data["variants"]
            ),
            "compare": tuple(Comparison(c["metric"], c["better"], c.get("unit", "")) for c in data["compare"]),
            "settings": settings(data["settings"]),
        }
        return Plan(**fields)

    def cell_name(self, cell: int) -> str:
        return ", ".join(f"{key} = {toml(value)}" for key, value in self.cells[cell])


def _canonical(data: object) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"), default=str)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def toml(value: Any) -> str:
    """A value as `--set` takes it."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {toml(item)}" for key, item in value.items()) + " }"
    return repr(value) if isinstance(value, int | float) else str(value)


def parse_setting(text: str) -> tuple[str, Any]:
    """`key=value` of `--set`: a TOML value or a bare word."""
    key, equals, value = (part.strip() for part in text.partition("="))
    if not key or not value:
        raise ModelError(f"--set: {text}: must be key=value, for example option.timestep=0.002")
    _check_key("--set", key)
    try:
        return key, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        if re.search(r"[\"'\[\]{}=#,\s]", value):
            raise ModelError(f"--set: {key}: {value}: must be a TOML value or a bare word") from None
        return key, value


def _check_key(where: str, key: str) -> None:
    if not key.startswith(PREFIXES) or key in PREFIXES:
        raise ModelError(f"{where}: {key}: unknown key, must begin with {', '.join(PREFIXES[:-1])} or {PREFIXES[-1]}")


# ---- the table [sweep] --------------------------------------------------------------------------------------------


class _Table:
    """A table of the sweep, with messages `file: table: key = value: what is allowed`."""

    def __init__(self, where: str, data: object, known: tuple[str, ...] = ()) -> None:
        self.where = where
        if not isinstance(data, dict):
            raise ModelError(f"{where}: {toml(data)}: must be a table")
        self.data: dict[str, Any] = data
        for key in data:
            if known and key not in known:
                raise ModelError(f"{where}: {key}: unknown key, must be one of {', '.join(known)}")

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

    def settings(self, key: str) -> Settings:
        inner = self.data.get(key, {})
        if not isinstance(inner, dict):
            raise self.refuse(key, "must be a table of settings")
        flat = tuple(_flattened(inner))
        for name, _ in flat:
            _check_key(f"{self.where}: {key}", name)
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


def _seeds(table: _Table) -> tuple[int, ...]:
    if "seeds" not in table.data:
        raise ModelError(f"{table.where}: seeds: is missing: give a number, {{ first, count }} or a list, or --seeds")
    value = table.data["seeds"]
    allowed = "must be a number >= 1, { first = F, count = N } or a list of different integers in [0, 2^63)"
    if isinstance(value, dict) and set(value) == {"first", "count"}:
        first, count = value["first"], value["count"]
    else:
        first, count = 0, value
    if _is_integer(count) and _is_integer(first):
        if not (1 <= count <= MOST_RUNS and 0 <= first and first + count <= 2**63):
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


def _cells(table: _Table) -> tuple[Settings, ...]:
    axes = table.settings("grid")
    for key, values in axes:
        if not isinstance(values, list) or not values:
            raise ModelError(f"{table.where}: grid: {key} = {toml(values)}: must be a list with at least one value")
        if len({*map(_canonical, values)}) < len(values):
            raise ModelError(f"{table.where}: grid: {key} = {toml(values)}: a value is given twice")
    keys = [key for key, _ in axes]
    return tuple(tuple(zip(keys, values, strict=True)) for values in itertools.product(*(v for _, v in axes)))


@dataclass(frozen=True)
class CommandLineOverrides:
    """What a command line says instead of the file."""

    seeds: int | None = None
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
            if not name:
                raise ModelError(f"--variant: {text}: must be 'NAME: key=value; key=value'")
            pairs = tuple(parse_setting(one) for one in settings.split(";") if one.strip())
            rows.append(("--variant", Variant(name, pairs)))
        return rows


def _variants(table: _Table, folder: Path, given: CommandLineOverrides) -> tuple[Variant, ...]:
    rows = given.variant_rows()
    listed = table.data.get("variant", [])
    if not isinstance(listed, list):
        raise table.refuse("variant", "must be [[sweep.variant]]")
    where = f"{table.where}: variant"
    for row in listed if not rows else ():
        one = _Table(where, row, ("name", "set", "controller", "python", "plugin"))
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
        content = (_canonical(variant.settings), variant.controller, variant.python, variant.plugin)
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
    """Those of one of its scenes: all have the same."""
    command = [program, "generate", str(content["family"]), "--difficulty", str(content.get("difficulty", 0.5))]
    with tempfile.TemporaryDirectory(prefix="tendril-") as folder:
        done = subprocess.run([*command, "--out", folder], capture_output=True, text=True)
        if done.returncode != 0:
            raise ModelError(f"{experiment}: {done.stderr.strip().removeprefix('tendril: ')}")
        return _checks(read_toml(Path(done.stdout.strip())))


def _compare(table: _Table) -> tuple[Comparison, ...]:
    rows = table.data.get("compare", [])
    if not isinstance(rows, list):
        raise table.refuse("compare", 'must be a list of { metric = "NAME", better = "lower" }')
    found: dict[str, Comparison] = {}
    for row in rows:
        one = _Table(f"{table.where}: compare", row, ("metric", "better", "unit"))
        metric = one.text("metric")
        if metric in found:
            raise one.refuse("metric", "is given twice")
        if one.text("better") not in ("lower", "higher"):
            raise one.refuse("better", 'must be "lower" or "higher"')
        found[metric] = Comparison(metric, one.text("better"), one.text("unit") if "unit" in row else "")
    return tuple(found.values())


_KEYS = ("experiment", "name", "seeds", "record", "timeout", "retries", "baseline", "compare", "grid", "variant")


def read_toml(file: Path) -> dict[str, Any]:
    try:
        if not stat.S_ISREG(mode := file.stat().st_mode):  # reading would wait for ever, or not end
            raise ModelError(
                f"{file}: is a {'folder' if stat.S_ISDIR(mode) else 'device or a pipe'}: must be a readable file"
            )
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelError(f"{file}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ModelError(f"{file}: {error}") from None


def make_plan(
    source: Path | Mapping[str, Any], program: str, given: CommandLineOverrides = CommandLineOverrides()
) -> Plan:
    """The plan of a file with a table `[sweep]`, or of such a table. Throws ModelError."""
    if isinstance(source, Path):
        document, where, folder = read_toml(source), f"{source}: sweep", source.parent
        data = document.get("sweep", {})
    else:
        document, where, folder, data = {}, "sweep", Path(), dict(source)
    table = _Table(where, data)
    if isinstance(data.get("experiment"), list):
        raise ModelError(f"{where}: experiment: is a list: a suite is run with tendril sweep")
    if "experiment" in data:
        experiment = folder / table.text("experiment")
        content = read_toml(experiment)
    elif isinstance(source, Path) and document.keys() & {"scene", "family"}:
        experiment, content = source, document
    else:
        raise ModelError(f"{where}: experiment: is missing: must be an experiment file")
    return _plan(table, folder, experiment, content, program, given)


_OF_A_ROW = ("file", "name", "seeds", "compare", "grid", "record", "timeout", "retries")


def make_plans(
    files: Sequence[Path], program: str, given: CommandLineOverrides = CommandLineOverrides(), only: Sequence[str] = ()
) -> list[Plan]:
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
    """Whether its table `[sweep]` has a list of experiments."""
    table = read_toml(file).get("sweep", {})
    return isinstance(table, dict) and isinstance(table.get("experiment"), list)


def suite_name(files: Sequence[Path]) -> str:
    name = read_toml(files[0]).get("sweep", {}).get("name", files[0].stem) if len(files) == 1 else "comparison"
    return str(name)


def _suite(file: Path, program: str, given: CommandLineOverrides) -> Iterator[Plan]:
    where = f"{file}: sweep"
    data = read_toml(file)["sweep"]
    _Table(where, data, _KEYS)
    common = {key: value for key, value in data.items() if key not in ("experiment", "name", "variant")}
    rows = [_Table(f"{where}: experiment", row, _OF_A_ROW) for row in data["experiment"]]
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
            _Table(f"{where}: {name}", own),
            file.parent,
            experiment,
            read_toml(experiment),
            program,
            replace(given, seeds=None) if "seeds" in row.data else given,
        )


def _plan(
    table: _Table, folder: Path, experiment: Path, content: dict[str, Any], program: str, given: CommandLineOverrides
) -> Plan:
    """@param folder  that of the file with the table"""
    where = table.where
    data = table.data if given.seeds is None else {**table.data, "seeds": given.seeds}
    table = _Table(where, data, _KEYS)
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
    if "/" in name or name.startswith("."):
        raise table.refuse("name", "must neither contain '/' nor begin with '.'")
    compare = _compare(table) or (
        _family_checks(experiment, content, program) if "family" in content else _checks(content)
    )
    plan = Plan(
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
        duration=float(content.get("duration", 10.0)),
        versions=read_versions(program),
        files={},
        named={},
    )
    if len(plan) > MOST_RUNS:
        raise ModelError(f"{where}: {len(plan)} runs: must be at most 1e7")
    _find_files(plan, experiment, content)
    return plan


@cache
def read_versions(program: str) -> dict[str, str]:
    """Of Tendril and MuJoCo. Throws ModelError."""
    try:
        text = subprocess.run([program, "--version"], capture_output=True, text=True, check=True, timeout=60).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise ModelError(f"{program}: {error}: must be the program tendril: name it with TENDRIL_PROGRAM") from None
    found = re.fullmatch(r"tendril (\S+), MuJoCo (\S+)\s*", text)
    if not found:
        raise ModelError(f"{program}: --version says {text.strip()!r}: must be the program tendril of this version")
    return {"tendril": found[1], "mujoco": found[2]}


# ---- the files that a run reads -----------------------------------------------------------------------------------

_FILE_ATTRIBUTE = re.compile(r"""\bfile\w*\s*=\s*(?:"([^"]+)"|'([^']+)')""")
_FOLDER_ATTRIBUTE = re.compile(r"""\b(?:mesh|texture|asset)dir\s*=\s*(?:"([^"]+)"|'([^']+)')""")


def _texts(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict | list):
        for item in data.values() if isinstance(data, dict) else data:
            yield from _texts(item)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a text that is no name of a file
        return False


def _named_by(path: Path) -> Iterator[Path]:
    """The files that a scene, a robot or a plan names."""
    if path.suffix in (".xml", ".mjcf"):
        text = path.read_text(encoding="utf-8", errors="replace")
        folders = [path.parent] + [path.parent / (a or b) for a, b in _FOLDER_ATTRIBUTE.findall(text)]
        names = [a or b for a, b in _FILE_ATTRIBUTE.findall(text)]
    elif path.suffix in (".toml", ".plan"):
        try:
            names = list(_texts(tomllib.loads(path.read_text(encoding="utf-8"))))
        except ValueError:
            return  # the program says what is wrong with it
        folders = [path.parent]
    else:
        return
    for folder in folders:
        yield from (folder / name for name in names if _is_file(folder / name))


def _with_named(files: list[Path]) -> dict[Path, None]:
    """The files and all that they name, in order of discovery."""
    found: dict[Path, None] = {}
    queue = list(files)
    while queue:
        path = Path(os.path.normpath(queue.pop()))
        if path not in found:
            found[path] = None
            queue += _named_by(path)
    return found


def _with_modules(file: Path) -> list[Path]:
    """A Python file and the modules that it imports from its own folder, and that these import from there."""
    found: list[Path] = []
    queue = [file]
    while queue:
        path = queue.pop(0)
        if path in found:
            continue
        found.append(path)
        try:
            tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError):
            continue  # the run says so
        for node in ast.walk(tree):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                package = path.parent.relative_to(file.parent).parts
                above = [*package[: len(package) - node.level + 1]] if node.level else []
                names = [".".join(filter(None, [*above, node.module, alias.name])) for alias in node.names]
            for name in names:
                parts = name.split(".")
                for end in range(1, len(parts) + 1):
                    place = file.parent.joinpath(*parts[:end])
                    queue += [
                        module for module in (place.with_suffix(".py"), place / "__init__.py") if module.is_file()
                    ]
    return found


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _experiment_digest(content: dict[str, Any]) -> str:
    without = {key: value for key, value in content.items() if key != "sweep"}
    return hashlib.sha256(_canonical(without).encode()).hexdigest()


def require_files(plan: Plan) -> None:
    """Throws ModelError when a file is not the one that the sweep read."""
    experiment = Path(plan.experiment)
    for name, digest in plan.files.items():
        path = experiment.parent / name
        if not path.is_file():
            raise ModelError(f"{path}: No such file or directory")
        if (_experiment_digest(read_toml(path)) if name == experiment.name else _digest(path)) != digest:
            raise ModelError(f"{path}: is not as the sweep read it: its text is files/{digest} of the sweep's folder")


def _find_files(plan: Plan, experiment: Path, content: dict[str, Any]) -> None:
    """Fills `files` with digests of what the experiment names, and what these name, and `named`."""
    folder = experiment.parent
    without = {key: value for key, value in content.items() if key != "sweep"}
    base = _with_named([folder / text for text in _texts(without) if _is_file(folder / text)])

    def name(path: Path) -> str:
        return os.path.relpath(path, folder)

    plan.files[experiment.name] = _experiment_digest(content)
    plan.files.update({name(path): _digest(path) for path in base if name(path) != experiment.name})
    values = {_text(value) for cell in plan.cells for _, value in cell}
    values |= {_text(value) for variant in plan.variants for _, value in variant.settings}
    values |= {_text(value) for _, value in plan.settings}
    for file in {file for variant in plan.variants for file in (variant.python, variant.plugin)} - {""}:
        path = Path(os.path.normpath(file))
        used = _with_modules(path) if path.suffix == ".py" else [path]
        plan.files.update({name(path): _digest(path) for path in used})
        plan.named[file] = [name(path) for path in used]
    folders = {folder, *(path.parent for path in base)}
    for value in sorted(values - {""}):
        for path in _with_named([f / value for f in folders if _is_file(f / value)]):
            if path not in base:
                plan.files[name(path)] = _digest(path)
                plan.named.setdefault(value, []).append(name(path))


class InputChangeDetector:
    """Notices that an input file is changed while a sweep runs."""

    def __init__(self, plan: Plan) -> None:
        folder = Path(plan.experiment).parent
        self._files = {folder / name: _stamp(folder / name) for name in plan.files}

    def changed(self) -> Path | None:
        return next((path for path, stamp in self._files.items() if _stamp(path) != stamp), None)


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def command_of(plan: Plan, run: Run, program: str) -> list[str]:
    """`tendril run ...` without its output options."""
    command = [program, "run", plan.experiment, "--seed", str(run.seed)]
    if run.variant.python:
        command[:1] = [sys.executable, "-P", "-m", "tendril", "--python", run.variant.python]
    if run.variant.plugin:
        command += ["--plugin", run.variant.plugin]
    if run.variant.controller:
        command += ["--controller", run.variant.controller]
    for key, value in plan.settings_of(run.cell, run.variant):
        command += ["--set", f"{key}={toml(value)}"]
    return command


# ---- Python API ---------------------------------------------------------------------------------------------------


class Sweep:
    """A sweep of a file with a table `[sweep]`, or of the content of such a table.

    data = td.Sweep("circle.toml").run("out/circle", jobs=4)
    data.success(), data.compare()
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | Mapping[str, Any],
        *,
        seeds: int | None = None,
        settings: Mapping[str, Any] | None = None,
        program: str | None = None,
    ) -> None:
        """Throws ModelError.

        @param seeds, settings  instead of those of the file, as `--seeds` and `--set`
        @param program          the program `tendril` [see `find_program`]
        """
        self.program = program or find_program()
        texts = tuple(f"{key}={toml(value)}" for key, value in (settings or {}).items())
        where = source if isinstance(source, Mapping) else Path(source)
        self.plan = make_plan(where, self.program, CommandLineOverrides(seeds, texts))

    def run(
        self,
        out: str | os.PathLike[str] | None = None,
        engine: str = "local",
        jobs: int = 0,
        retry_failed: bool = False,
        address: str = "",
    ) -> Dataset:
        """Runs what is not yet done in the folder `out`, and reports on all runs.

        @param engine   "local", or "ray" with the extra `ray`
        @param jobs     processes at a time; 0: one per core
        @param address  of a Ray cluster, "auto" for the one of this machine; without one it has its own for the time being
        Throws ModelError for bad input, OSError when results cannot be written or another sweep runs in the folder,
        KeyboardInterrupt.
        """
        from tendril._local import Options, run_sweep
        from tendril.dataset import Dataset

        folder = Path(out) if out is not None else default_folder(self.plan.name)
        result = run_sweep(
            self.plan,
            folder,
            self.program,
            Options(jobs=jobs, engine=engine, address=address, retry_failed=retry_failed),
        )
        if result.interrupted:
            raise KeyboardInterrupt
        return Dataset(folder)


def default_folder(name: str) -> Path:
    return Path("out") / f"{name}-sweep"
