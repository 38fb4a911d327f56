"""The files that the runs of a sweep read: found, digested, watched."""

from __future__ import annotations

import ast
import hashlib
import os
import subprocess
from pathlib import Path

from tendril._errors import ModelError
from tendril._files import write_atomically
from tendril._reading import parse_json, parse_toml
from tendril.sweep.plan import SettingPairs, Stamp, SweepPlan, canonical, files_key, set_options

_REFUSED = 2  # exit code of the program
_ATTEMPTS = 3  # of reading a file that is being written


def _data_files(module: Path, node: ast.ClassDef) -> list[Path]:
    """The files that a controller names: `files = ["weights.npz"]`, relative to its module's folder."""
    is_controller = any("controller" in ast.unparse(decorator) for decorator in node.decorator_list)
    found: list[Path] = []
    for statement in node.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        if not any(isinstance(target, ast.Name) and target.id == "files" for target in targets):
            continue
        try:
            names = ast.literal_eval(statement.value)  # type: ignore[attr-defined]
            found += [Path(os.path.normpath(module.parent / name)) for name in names]
        except (ValueError, TypeError):
            if is_controller:
                raise ModelError(
                    f"{module}:{statement.lineno}: {node.name}: files: must be a list of names, written out"
                ) from None
        if is_controller and (missing := [file for file in found if not file.is_file()]):
            raise ModelError(f"{module}:{statement.lineno}: {node.name}: files: {missing[0]}: No such file")
    return [file for file in found if file.is_file()]


def _with_modules(file: Path) -> list[Path]:
    """A Python file, the modules that it imports from its own folder, and that these import from there, and the files
    that their controllers name. Throws ModelError."""
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
            if isinstance(node, ast.ClassDef):
                found += [data for data in _data_files(path, node) if data not in found]
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


def _digest(plan: SweepPlan, name: str, content: bytes) -> str:
    """The digest of a file of the sweep; of the experiment without its table `[sweep]`. Throws ModelError."""
    experiment = Path(plan.experiment)
    if name != experiment.name:
        return hashlib.sha256(content).hexdigest()
    tables = parse_toml(content.decode(errors="replace"), experiment)
    without = {key: value for key, value in tables.items() if key != "sweep"}
    return hashlib.sha256(canonical(without).encode()).hexdigest()


def require_files(plan: SweepPlan) -> None:
    """Throws ModelError when a file is not the one that the sweep read."""
    for name, digest in plan.files.items():
        path = Path(plan.experiment).parent / name
        if not path.is_file():
            raise ModelError(f"{path}: No such file or directory")
        if _digest(plan, name, path.read_bytes()) != digest:
            raise ModelError(f"{path}: is not as the sweep read it: its text is files/{digest} of the sweep's folder")


def _experiment_files(plan: SweepPlan, program: str, settings: SettingPairs) -> list[Path]:
    """The files that a run reads, by the program's own list; none that the program refuses: the run says so."""
    command = [program, "run", plan.experiment, "--list-files", *set_options(settings)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode == _REFUSED:
        return []
    if answer.returncode != 0:
        raise OSError(f"{plan.experiment}: its files could not be listed: exit code {answer.returncode}")
    return [Path(name) for name in parse_json(answer.stdout, "tendril run --list-files")]


def find_files(plan: SweepPlan, program: str) -> None:
    """Fills `files`, `named` and `stamps` with what each run reads. Throws ModelError, OSError."""
    experiment = Path(plan.experiment)

    def names(paths: list[Path]) -> list[str]:
        return [os.path.relpath(path, experiment.parent) for path in paths]

    base = dict.fromkeys(names([experiment, *_experiment_files(plan, program, ())]))
    for variant in plan.variants:
        for cell in range(len(plan.cells)):
            settings = plan.settings_of(cell, variant)
            if (key := files_key(settings)) and key not in plan.named:
                plan.named[key] = [
                    name for name in names(_experiment_files(plan, program, settings)) if name not in base
                ]
        for file in {variant.python, variant.plugin} - {""}:
            path = Path(os.path.normpath(file))
            plan.named[file] = names(_with_modules(path) if path.suffix == ".py" else [path])
    for name in [*base, *(name for named in plan.named.values() for name in named)]:
        if name not in plan.files:
            plan.files[name], plan.stamps[name] = _read(plan, name)


def _read(plan: SweepPlan, name: str) -> tuple[str, Stamp]:
    """Digest and stamp of one moment."""
    path = Path(plan.experiment).parent / name
    for _ in range(_ATTEMPTS):
        stamp = _stamp(path)
        digest = _digest(plan, name, path.read_bytes())
        if stamp is not None and stamp == _stamp(path):
            return digest, stamp
    raise OSError(f"{path}: is being written: start the sweep when it is complete")


class InputChangeDetector:
    """Notices that an input file is changed after the sweep has read it."""

    def __init__(self, plan: SweepPlan) -> None:
        """Throws ModelError when a file of a plan from elsewhere is not the one that the sweep read."""
        if not plan.stamps:
            require_files(plan)
        self._plan = plan
        self._folder = Path(plan.experiment).parent
        self._stamps = {name: plan.stamps.get(name) or _stamp(self._folder / name) for name in plan.files}

    def changed(self) -> Path | None:
        for name, stamp in self._stamps.items():
            path = self._folder / name
            now = _stamp(path)
            if now == stamp:
                continue
            if (
                now is None
                or stamp is None
                or now[:3] != stamp[:3]
                or _digest(self._plan, name, path.read_bytes()) != self._plan.files[name]
            ):
                return path
            self._stamps[name] = now  # links or permissions, the same content
        return None


def copy_inputs(plan: SweepPlan, folder: Path) -> None:
    """Copies each file to `folder` by its digest. Throws OSError when one is no longer as the plan read it."""
    for name, digest in plan.files.items():
        kept, path = folder / digest, Path(plan.experiment).parent / name
        if kept.exists():
            continue
        content = path.read_bytes()
        if _digest(plan, name, content) != digest or (name in plan.stamps and _stamp(path) != plan.stamps[name]):
            raise OSError(f"{path}: was changed while the sweep was read: start the sweep again")
        write_atomically(kept, content)


def _stamp(path: Path) -> Stamp | None:
    """Time of the last change of content, size, number of the file, and time of its last change of any kind."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino, status.st_ctime_ns
