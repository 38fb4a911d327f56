"""The files that the runs of a sweep read: found, digested, watched."""

from __future__ import annotations

import ast
import hashlib
import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tendril._errors import ModelError
from tendril._toml import read_toml
from tendril.sweep.plan import SweepPlan, canonical, text_of

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
    return hashlib.sha256(canonical(without).encode()).hexdigest()


def require_files(plan: SweepPlan) -> None:
    """Throws ModelError when a file is not the one that the sweep read."""
    experiment = Path(plan.experiment)
    for name, digest in plan.files.items():
        path = experiment.parent / name
        if not path.is_file():
            raise ModelError(f"{path}: No such file or directory")
        if (_experiment_digest(read_toml(path)) if name == experiment.name else _digest(path)) != digest:
            raise ModelError(f"{path}: is not as the sweep read it: its text is files/{digest} of the sweep's folder")


def find_files(plan: SweepPlan, experiment: Path, content: dict[str, Any]) -> None:
    """Fills `files` with digests of what the experiment names, and what these name, and `named`."""
    folder = experiment.parent
    without = {key: value for key, value in content.items() if key != "sweep"}
    base = _with_named([folder / text for text in _texts(without) if _is_file(folder / text)])

    def name(path: Path) -> str:
        return os.path.relpath(path, folder)

    plan.files[experiment.name] = _experiment_digest(content)
    plan.files.update({name(path): _digest(path) for path in base if name(path) != experiment.name})
    values = {text_of(value) for cell in plan.cells for _, value in cell}
    values |= {text_of(value) for variant in plan.variants for _, value in variant.settings}
    values |= {text_of(value) for _, value in plan.settings}
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

    def __init__(self, plan: SweepPlan) -> None:
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
