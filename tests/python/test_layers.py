"""Floors of the Python package: a module imports modules of its floor or below, without a cycle, at its top."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "python/tendril"
#: Modules and packages, the lowest floor first.
FLOORS = (
    (
        *("_commands", "_core", "_errors", "_library", "_meant", "_plugin", "_remedy", "_sim", "_superblock"),
        *("_terminal", "_version"),
    ),
    ("_notices", "_program", "_progress", "_reading"),
    ("_engine", "_files", "_recording_layout", "_settings", "_table", "_toml"),
    ("_binary_model", "_command", "_recording_file", "controllers", "report.page", "statistics"),
    ("_copies", "report.plots"),
    ("_python_command", "_recorded"),
    ("experiment", "playback", "report.figure", "report.labels", "report.notebook", "report.style"),
    ("recording",),
    ("_window", "report"),
    ("export", "rosbag", "sweep"),
    ("compare", "estimate", "identify"),
    ("tendril", "__main__"),  # what users import, and what starts the commands
    ("envs", "worlds"),
)
FLOOR = {name: number for number, names in enumerate(FLOORS) for name in names}
#: May be imported in a function: what a build tree does not have, or few runs need.
LATE = {
    "_core",
    "_engine",
    "_errors",
    "_recording_file",
    "_sim",
    "controllers",
    "sweep.ray",
    "worlds.device_batch",
    "worlds.judged_run",
}


def name_of(file: Path) -> str:
    parts = file.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__") or "tendril"


FILES = {name_of(file): file for file in PACKAGE.rglob("*.py")}


def imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    """The own modules that a statement loads."""
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, ast.unparse(node)
        names = [f"{node.module}.{alias.name}" for alias in node.names]
    else:
        names = [alias.name for alias in node.names]
    own = [name.partition(".")[2] for name in names if name.split(".")[0] == "tendril"]
    return [name if name in FILES or name in FLOOR else name.rpartition(".")[0] or "tendril" for name in own]


def arrows(name: str) -> list[tuple[str, bool]]:
    """The own modules that a module imports, and whether it does so in a function."""
    tree = ast.parse(FILES[name].read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    late = {id(inner) for function in functions for inner in ast.walk(function)}
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    return [(other, id(node) in late) for node in found for other in imported(node)]


def floor_of(name: str) -> int:
    return FLOOR[name] if name in FLOOR else FLOOR[name.split(".")[0]]


def test_imports_go_down() -> None:
    pairs = [(name, other) for name in FILES for other, _ in arrows(name)]
    assert not [f"{name} imports {other}" for name, other in pairs if floor_of(other) > floor_of(name)]


def test_no_module_is_in_a_cycle() -> None:
    TopologicalSorter({name: [other for other, _ in arrows(name) if other != name] for name in FILES}).prepare()


def test_own_modules_are_imported_at_the_top() -> None:
    late = [(name, other) for name in FILES if name != "__main__" for other, is_late in arrows(name) if is_late]
    assert not [f"{name} imports {other} in a function" for name, other in late if other not in LATE]
