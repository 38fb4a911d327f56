"""The engine `ray`: runs as tasks of a Ray cluster, whose nodes share no file system.

The inputs travel as one archive through the object store, and are unpacked once per node. What a run has found comes
back as its line, with the files that are kept. A task is the engine `local` with one run: a run that loses its worker
or its node goes elsewhere, and a run whose worker is killed dies with it.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import shutil
import socket
import stat
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tendril._errors import ModelError
from tendril._program import find_program
from tendril.sweep import journal
from tendril.sweep.driver import Driver, Finish, Interrupt, Options, Rejected, record_of
from tendril.sweep.local import LocalDriver
from tendril.sweep.plan import SettingPairs, SweepPlan, SweepRun, Variant, read_versions

_RETRIES = 4  # of a task whose worker or node is lost
_IN_FLIGHT = 2  # tasks per processor: a worker finds its next one waiting
_LARGEST_REPLY = 64 << 20  # bytes of kept files that travel between machines
_session: list[Path] = []  # folder of the cluster of our own


def _import() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise ModelError(
            f"engine: ray: Python module {error.name} is missing: pip install 'tendril-mujoco[ray]'"
        ) from None
    return ray


@dataclass(frozen=True)
class _Inputs:
    """All files of a sweep under the folder that they have in common."""

    digest: str
    archive: bytes
    plan: SweepPlan  # with its paths below that folder; without seeds and cells
    absolute: dict[str, str]  # path below that folder by the absolute one that a setting gives


def _pack(plan: SweepPlan) -> _Inputs:
    folder = Path(plan.experiment).absolute().parent
    paths = {name: Path(os.path.normpath(folder / name)) for name in plan.files}
    root = Path(os.path.commonpath([folder, *(path.parent for path in paths.values())]))
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in paths.values():
            archive.write(path, path.relative_to(root))
    below = {str(path): str(path.relative_to(root)) for path in paths.values()}
    variants = tuple(replace(v, python=_below(v.python, below), plugin=_below(v.plugin, below)) for v in plan.variants)
    text = repr(sorted((below[str(path)], plan.files[name]) for name, path in paths.items()))
    return _Inputs(
        hashlib.sha256(text.encode()).hexdigest()[:16],
        content.getvalue(),
        replace(
            plan,
            experiment=below[str(folder / Path(plan.experiment).name)],
            variants=variants,
            seeds=(),
            cells=(),
            stamps={},  # of this machine's files; on a node their digests count
        ),
        below,
    )


def _below(file: str, below: dict[str, str]) -> str:
    return below[os.path.normpath(Path(file).absolute())] if file else ""


def _moved(settings: SettingPairs, paths: dict[str, str], root: Path) -> SettingPairs:
    """Absolute paths among the values, in the folder of the node."""
    return tuple(
        (key, str(root / paths[value]) if isinstance(value, str) and value in paths else value)
        for key, value in settings
    )


def _node_folder(session: str) -> Path:
    """Returns the folder for inputs and for recordings that are too large to travel: of the sweep's own cluster, or in
    the cache of this user. Throws OSError for one that others can write."""
    folder = Path(session) if session else _cache() / "tendril" / "sweeps"
    if not session:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _require_private(folder)
    return folder


def _cache() -> Path:
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return given if given.is_absolute() else Path.home() / ".cache"


def _require_private(folder: Path) -> None:
    """Throws OSError for a link, a folder of another user, or one that others may enter."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise OSError(f"{folder}: must be a folder, and no link to one")
    if found.st_uid != os.getuid():
        raise OSError(f"{folder}: belongs to another user: remove it")
    if found.st_mode & 0o077:
        raise OSError(f"{folder}: mode = {found.st_mode & 0o777:o}: must be 700, for this user alone")


def _require_inputs(folder: Path, plan: SweepPlan) -> None:
    """Throws OSError unless the folder is private and has the files of the plan and no others; their digests are looked
    at where they are read."""
    _require_private(folder)
    place = (folder / plan.experiment).parent
    expected = {os.path.normpath(place / name) for name in plan.files}
    for path in folder.rglob("*"):
        if path.is_symlink() or not (path.is_dir() or str(path) in expected):
            raise OSError(f"{path}: is none of the sweep's inputs: remove {folder}")


def _unpacked(parent: Path, digest: str, archive: Callable[[], bytes]) -> Path:
    """The folder of the inputs, unpacked if this is the node's first task with them."""
    folder = parent / digest
    if not folder.exists():
        part = Path(tempfile.mkdtemp(prefix=f".{digest}-", dir=parent))
        zipfile.ZipFile(io.BytesIO(archive())).extractall(part)
        try:
            part.rename(folder)
        except OSError:  # another task was faster
            shutil.rmtree(part)
    return folder


def run_on_node(order: dict[str, Any]) -> dict[str, Any]:
    """The body of a task. Returns `line` and `files`, or why there are none: `refused` (bad input), `failed`."""
    host = socket.gethostname()
    try:
        program = find_program()
        versions = read_versions(program)
        if versions != order["versions"]:
            have, need = (
                ", ".join(f"{name} {version}" for name, version in both.items())
                for both in (versions, order["versions"])
            )
            return {"refused": f"node {host}: {have}: must be {need}"}
        return _run(order, program, host)
    except ModelError as error:
        return {"refused": f"node {host}: {error}"}
    except OSError as error:
        return {"failed": f"node {host}: {error}"}


def _run(order: dict[str, Any], program: str, host: str) -> dict[str, Any]:
    import ray

    parent = _node_folder(order["session"])
    shared = ray.get(order["shared"])
    root = _unpacked(parent, shared["digest"], lambda: ray.get(shared["archive"]))
    plan: SweepPlan = shared["plan"]
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"  # of the runs: the inputs stay as they are
    _require_inputs(root, plan)
    variant = next(v for v in plan.variants if v.name == order["variant"])
    paths = shared["absolute"]
    own = Variant(
        variant.name,
        _moved(variant.settings, paths, root),
        variant.controller,
        *(str(root / file) if file else "" for file in (variant.python, variant.plugin)),
    )
    plan = replace(
        plan,
        experiment=str(root / plan.experiment),
        variants=(own,),
        retries=0,
        timeout=order["timeout"],
        cells=(_moved(order["cell"], paths, root),),
        settings=_moved(plan.settings, paths, root),
        record=order["record"],
    )
    folder = Path(tempfile.mkdtemp(prefix="run-", dir=parent))
    (folder / "runs").mkdir()
    reply: dict[str, Any] = {}

    def finish(line: journal.Record, files: Path | None) -> None:
        reply["line"] = line | {"attempt": order["attempt"], "cell": dict(order["cell"])}
        if files is None:
            return
        found = [file for file in files.iterdir() if file.is_file()]
        if order["session"] or sum(file.stat().st_size for file in found) <= _LARGEST_REPLY:
            reply["files"] = {file.name: file.read_bytes() for file in found}
        else:
            left = parent / f"left-{order['id']}"
            shutil.rmtree(left, ignore_errors=True)
            files.rename(left)
            reply["files"] = {"left.txt": f"{host}:{left}\n".encode()}

    interrupt = Interrupt(listens=False)
    try:
        run = SweepRun(order["id"], own, 0, order["seed"], 0)
        LocalDriver(plan, folder, program, Options(jobs=1), interrupt).each(iter([run]), finish)
    except Rejected as error:
        return {"refused": str(error).replace(f"{root}/", "")}
    finally:
        interrupt.close()
        shutil.rmtree(folder, ignore_errors=True)
    return reply


def _make_task(needed: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """A function that travels by value: it tells a node without this package from one with another one."""

    def tendril_run(order: dict[str, Any]) -> dict[str, Any]:
        import socket

        try:
            from tendril.sweep import ray
        except ImportError as error:
            return {
                "refused": f"node {socket.gethostname()}: Python module {error.name} is missing: must have "
                f"tendril-mujoco {needed}"
            }
        return ray.run_on_node(order)

    return tendril_run


def _remove_sessions() -> None:
    """Folders of clusters whose drivers were killed."""
    for folder in Path(tempfile.gettempdir()).glob("tendril-ray-*-*"):
        process = folder.name.split("-")[2]
        if process.isdigit() and not Path(f"/proc/{process}").exists() and folder.stat().st_uid == os.getuid():
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def cluster(options: Options) -> Iterator[None]:
    """Connects to the cluster at the address, or has one for the time being; nested ones are the outermost."""
    if not options.address:
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # elsewhere too Ray then remains on the loopback
    ray = _import()
    if ray.is_initialized():
        yield
        return
    session = ""
    own: dict[str, Any] = {}
    if not options.address:
        _remove_sessions()
        session = tempfile.mkdtemp(prefix=f"tendril-ray-{os.getpid()}-")
        _session.append(Path(session))
        own = _own_cluster(ray, options, Path(session))
    try:
        try:
            ray.init(address=options.address or "local", log_to_driver=False, logging_level="CRITICAL", **own)
        except (OSError, RuntimeError, ValueError, AssertionError) as error:
            line = " ".join(str(error).split())[:300]
            raise ModelError(
                f"--address: {options.address}: must be that of a Ray cluster with a node here: {line}"
                if options.address
                else f"engine: ray: does not start: {line}"
            ) from None
        # Ray prints many lines on lost workers; what becomes of their runs is in the results.
        with Path(os.devnull).open("w") as silence, contextlib.redirect_stdout(silence):
            yield
    finally:
        ray.shutdown()
        if session:
            _session.pop()
            shutil.rmtree(session, ignore_errors=True)


def _own_cluster(ray: Any, options: Options, session: Path) -> dict[str, Any]:
    """Returns how the sweep's own cluster is started: on this machine's loopback, where nobody else can reach it."""
    with contextlib.suppress(AttributeError):  # Ray was imported before the environment said so
        ray._private.ray_constants.ENABLE_RAY_CLUSTER = False
    return {
        "num_cpus": options.jobs or len(os.sched_getaffinity(0)),
        "include_dashboard": False,
        "_node_ip_address": "127.0.0.1",
        "_temp_dir": str(session / "ray"),  # which Ray opens to everyone; what is above it is private
    }


class RayDriver(Driver):
    """Keeps twice as many tasks in flight as the cluster has processors; `--jobs` limits them."""

    def __init__(self, plan: SweepPlan, folder: Path, program: str, options: Options, interrupt: Interrupt) -> None:
        super().__init__(plan, folder, program, options, interrupt)
        self._ray = _import()
        interrupt.listen()
        inputs = _pack(plan)
        shared = {
            "digest": inputs.digest,
            "archive": self._ray.put(inputs.archive),
            "plan": inputs.plan,
            "absolute": inputs.absolute,
        }
        self._shared = self._ray.put(shared)
        self._task = self._ray.remote(num_cpus=1, max_retries=_RETRIES)(_make_task(plan.versions["tendril"]))
        self._flying: dict[Any, tuple[SweepRun, int]] = {}

    def each(self, runs: Iterator[SweepRun], finish: Finish) -> None:
        try:
            while True:
                most = self._most()
                while len(self._flying) < most and (one := self._next(runs)) is not None:
                    self._start(*one)
                if not self._flying:
                    return
                ready, _ = self._ray.wait(list(self._flying), num_returns=1, timeout=0.5)
                if self._interrupt.count:
                    self.ended = True
                    return
                for reference in ready:
                    run, attempt = self._flying.pop(reference)
                    self._finish(reference, run, attempt, finish)
        finally:
            for reference in self._flying:
                self._ray.cancel(reference, force=True)
            self._flying.clear()

    def _most(self) -> int:
        processors = int(self._ray.cluster_resources().get("CPU", 0))
        most = _IN_FLIGHT * max(1, processors)
        return min(most, self._options.jobs) if self._options.jobs and self._options.address else most

    def _start(self, run: SweepRun, attempt: int) -> None:
        plan = self._plan
        order = {
            "versions": plan.versions,
            "shared": self._shared,
            "id": run.id,
            "variant": run.variant.name,
            "cell": plan.cells[run.cell],
            "seed": run.seed,
            "attempt": attempt,
            "timeout": plan.timeout,
            "session": str(_session[-1]) if _session else "",
            "record": plan.record if isinstance(plan.record, str) else "all" if run.order < plan.record else "none",
        }
        self._flying[self._task.remote(order)] = run, attempt

    def _finish(self, reference: Any, run: SweepRun, attempt: int, finish: Finish) -> None:
        try:
            reply = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            raise OSError(f"engine: ray: {' '.join(str(error.cause).split())}") from None
        except self._ray.exceptions.RayError as error:
            reply = {"line": record_of(self._plan, run, attempt, "crashed", {}, f"Ray: {type(error).__name__}", 0.0)}
        if "refused" in reply:
            raise Rejected(reply["refused"])
        if "failed" in reply:
            raise OSError(reply["failed"])
        if not self._counts(run, reply["line"]):
            return
        kept = None
        if "files" in reply:
            kept = self._scratch(run)
            kept.mkdir()
            for name, content in reply["files"].items():
                (kept / name).write_bytes(content)
            if "left.txt" in reply["files"]:
                place = reply["files"]["left.txt"].decode().strip()
                self.notices.append(f"{run.id}: its recording is larger than 64 MB and is left at {place}")
        finish(reply["line"], kept)
