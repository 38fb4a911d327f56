"""`tendril sweep`."""

from __future__ import annotations

import argparse
import json
import re
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tendril._command import EXIT_INTERRUPTED, Parser, make_parser
from tendril._errors import ModelError
from tendril._notices import EXIT_OUTPUT, notice
from tendril._program import find_program
from tendril._progress import Line
from tendril._python_command import NOT_REPEATED
from tendril._reading import read_toml
from tendril.export.command import FORMATS, Request, add_choice, export, request
from tendril.sweep import report as sweep_report
from tendril.sweep.dataset import Dataset, merge
from tendril.sweep.driver import Options
from tendril.sweep.engine import SweepResult, in_shard, run_sweep
from tendril.sweep.folder import is_running
from tendril.sweep.plan import MAX_RUNS, SweepPlan, command_of, default_folder
from tendril.sweep.runs import read_entries
from tendril.sweep.suite import Scorecard, is_suite_folder, merge_suites, run_suite
from tendril.sweep.table import CommandLineOverrides, is_suite, make_plan, make_plans, overruled, suite_name

SWEEP = """Runs an experiment with many seeds, settings and controllers; the same command resumes where it stopped.

usage: tendril sweep FILE.toml ... [options]
       tendril sweep status DIR | report DIR | merge DIR ... --out DIR | repeat DIR ID [--video] [--play]

FILE.toml is an experiment, with or without a table [sweep], or a file with [sweep] that names one
(docs/guide/sweeps.md), or several: a suite, with a scorecard.
"""
EPILOG = """Example: tendril sweep scenes/wrap_button/wrap_button.toml --seeds 50 --jobs 4
Exit codes: 0 all runs done and all checks hold, 1 a run failed, diverged or timed out, 2 bad input, 4 input or output
failed, 5 runs without result, 130 interrupted"""


def _shard(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    shard = (int(found[1]), int(found[2])) if found else (0, 0)
    if not shard[0] < shard[1] <= 1_000_000:
        raise ModelError(f"--shard: {text}: must be I/N with 0 <= I < N <= 1e6")
    return shard


def _number(name: str, low: int, high: int, text: str | None) -> int | None:
    if text is None:
        return None
    if not re.fullmatch(r"\d{1,9}", text) or not low <= int(text) <= high:
        raise ModelError(f"{name}: {text}: must be an integer in [{low}, {high}]")
    return int(text)


def _seeds(text: str | None) -> int | range | None:
    if found := re.fullmatch(r"(\d{1,9})-(\d{1,9})", text or ""):
        first, last = int(found[1]), int(found[2])
        if first <= last < first + MAX_RUNS:
            return range(first, last + 1)
        raise ModelError(f"--seeds: {text}: must be FIRST-LAST with FIRST <= LAST, at most {MAX_RUNS} seeds")
    return _number("--seeds", 1, MAX_RUNS, text)


def _part(text: str) -> float:
    try:
        part = float(text)
    except ValueError:
        part = -1.0
    if not 0 <= part <= 1:
        raise ModelError(f"--verify: {text}: must be a part in [0, 1]")
    return part


def _short(value: float | None) -> str:
    return "none" if value is None else f"{value:.4g}"


def _print_results(data: Dataset | Scorecard) -> None:
    if isinstance(data, Scorecard):
        data.print()
        return
    summary = data.summary
    width = max(len(variant["name"]) for variant in summary["variants"])
    for row in data.success().values():
        print(f"{row['variant']:{width}}  {sweep_report.rate_text(row)}")
    for row in summary["metrics"]:
        if row["cell"] is None and row["n"]:
            low, high = row["interval"] or (None, None)
            unit = data.unit(row["metric"])
            interval = f" ({_short(low)} to {_short(high)})" if row["interval"] else ""
            print(
                f"{row['variant']:{width}}  {row['metric']}: {_short(row['iqm'])}{interval} {unit}, worst "
                f"{_short(row['worst'])}".replace(" ,", ",")
            )
    for row in data.compare():
        print(f"{row['variant']} against {row['baseline']}: {row['metric']}: {row['words']} (p = {row['p_holm']:.2g})")


def _notes(data: Dataset | Scorecard) -> None:
    if isinstance(data, Scorecard):
        for one in data.data.values():
            _notes(one)
        return
    runs = data.summary["runs"]
    for count, text in (
        (runs["crashed"], "runs without result: --retry-failed tries them again"),
        (runs["missing"], "runs are not done: the same command resumes"),
        (runs["of_earlier_state"], "runs are of an earlier state of the files, and are in no statistic"),
        (runs["torn_lines"], "torn lines in the journal, of processes that were killed"),
    ):
        if count:
            print(f"tendril: {data.folder}: {count} {text}", file=sys.stderr)
    for run in data.summary["without_result"][:3]:
        print(f"tendril: {run['id']}: {run['error']}", file=sys.stderr)


class Progress:
    """The runs of a sweep, as a line on a terminal."""

    def __init__(self, name: str = "") -> None:
        self._line, self._name = Line(), f"{name}: " if name else ""
        self._begin = time.monotonic()
        self._first: int | None = None
        self.clear = self._line.clear

    def __call__(self, done: int, planned: int, failed: int) -> None:
        if self._first is None:
            self._first = done
        ran = done - self._first
        left = f", {(planned - done) * (time.monotonic() - self._begin) / ran:.0f} s left" if ran else ""
        left = left if done < planned else ""
        self._line.show(f"{self._name}{done} of {planned} runs, {failed} failed{left}", is_last=done == planned)


class ProgressOf:
    """The line of the sweep that runs, one sweep after the other."""

    def __init__(self, with_names: bool) -> None:
        self._with_names, self._shown = with_names, Progress()

    def start(self, plan: SweepPlan) -> Progress:
        self._shown = Progress(name=plan.name if self._with_names else "")
        return self._shown

    def clear(self) -> None:
        self._shown.clear()


def _sweep_parser() -> Parser:
    parser = make_parser("sweep", SWEEP, EPILOG)
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help="experiments, or files with [sweep]")
    parser.add_argument("--out", type=Path, help="folder of the results [out/<name>-sweep]")
    parser.add_argument("--jobs", help="processes at a time [one per core]")
    parser.add_argument("--engine", default="local", help="local or ray [local]")
    parser.add_argument(
        "--address", default="", metavar="A", help="Ray cluster; auto: that of this machine [a separate one]"
    )
    parser.add_argument(
        "--shard", type=str, default="0/1", metavar="I/N", help="only this part of the runs; merge joins"
    )
    _add_overrides(parser)
    parser.add_argument("--only", action="append", default=[], metavar="PATTERN", help="of a suite, these experiments")
    parser.add_argument("--retry-failed", action="store_true", help="run again what crashed or timed out")
    parser.add_argument("--verify", default="0", metavar="P", help="run this part again and compare all numbers")
    parser.add_argument("--dry-run", action="store_true", help="say what would be run, write nothing")
    parser.add_argument(
        "--export",
        default="",
        metavar="'FORMAT ...'",
        help="record all runs, and export them into DIR/FORMAT; with options of tendril export",
    )
    parser.add_argument("--no-report", action="store_true", help="do not write report.html")
    parser.add_argument("--json", action="store_true", help="print summary.json")
    parser.add_argument("--quiet", action="store_true", help="no progress, no results")
    return parser


def _add_overrides(parser: Parser) -> None:
    """Adds the options that replace the file."""
    parser.add_argument(
        "--seeds", metavar="N", help="seeds 0 ... N-1, or FIRST-LAST such as 1000-1049, instead of those of the file"
    )
    parser.add_argument("--set", action="append", default=[], metavar="key=value", help="a setting; may be repeated")
    parser.add_argument(
        "--sensed",
        action="append_const",
        dest="set",
        const="controller.measured=sensors",
        help="controllers see what an estimator makes of the robots' sensors, not the truth",
    )
    parser.add_argument(
        "--controller",
        action="append",
        default=[],
        metavar="NAME",
        help="a variant with this controller, "
        "instead of the file's variants; default: the experiment's own; may be repeated",
    )
    parser.add_argument(
        "--variant",
        action="append",
        default=[],
        metavar="'NAME: key=value; ...'",
        help="a variant with these settings, instead of the file's; may be repeated",
    )
    parser.add_argument(
        "--python", default="", metavar="FILE", help="Python file with controllers, of variants that name none"
    )
    parser.add_argument(
        "--plugin", default="", metavar="FILE", help="library with controllers, of variants that name none"
    )


def _overrides(options: argparse.Namespace) -> CommandLineOverrides:
    return CommandLineOverrides(
        _seeds(options.seeds),
        tuple(options.set),
        options.python,
        options.plugin,
        tuple(options.controller),
        tuple(options.variant),
    )


def _run_options(options: argparse.Namespace) -> Options:
    return Options(
        _number("--jobs", 1, 10_000, options.jobs) or 0,
        options.engine,
        options.address,
        _shard(options.shard),
        options.retry_failed,
        _part(options.verify),
    )


def _sweep(words: Sequence[str]) -> int:
    options = _sweep_parser().parse_args(words)
    given, run, program = _overrides(options), _run_options(options), find_program()
    several = len(options.files) > 1 or is_suite(options.files[0])
    if options.only and not several:
        raise ModelError("--only: needs a suite")
    plans = (
        make_plans(options.files, program, given, options.only)
        if several
        else [make_plan(options.files[0], program, given)]
    )
    name = suite_name(options.files) if several else plans[0].name
    folder = options.out or default_folder(name)
    asked = _export_request(options.export, folder, several or run.shard[1] > 1) if options.export else None
    if asked:
        plans = [replace(plans[0], record="all")]
    if not options.quiet:
        _warn_of_seeds(plans)
    if options.dry_run:
        for plan in plans:
            _tell_plan(plan, folder / plan.name if several else folder, run.shard)
        return 0
    progress = ProgressOf(several)

    def options_of(plan: SweepPlan) -> Options:
        return run if options.quiet else replace(run, on_progress=progress.start(plan))

    if several:
        result = run_suite(name, plans, folder, program, options_of)
    else:
        result = run_sweep(plans[0], folder, program, options_of(plans[0]))
    progress.clear()
    code = _tell_result(result, folder, run, options)
    if asked and code in (0, 1):
        said = export(folder, asked)
        if not options.quiet and not options.json:
            print(said)
    return code


def _export_request(text: str, folder: Path, in_parts: bool) -> Request:
    """What `--export` asks for, refused before the first run."""
    if in_parts:
        raise ModelError(
            "--export: must be of one whole sweep: tendril export takes the folders of a suite, or the merged one"
        )
    try:
        kind, *words = shlex.split(text) or [""]
    except ValueError as error:
        raise ModelError(f"--export: {text}: {error}") from None
    parser = make_parser("sweep --export 'FORMAT ...'", "Options of tendril export.")
    add_choice(parser)
    form = FORMATS.get(kind)
    is_file = form is not None and form.write is None and form.is_own is not None
    out = folder / (f"{kind}.hdf5" if is_file else kind)
    asked = request(kind, out, parser.parse_args(words))
    if out.exists():
        raise ModelError(f"--export: {out}: is there: remove it to export again")
    return asked


def _warn_of_seeds(plans: Sequence[SweepPlan]) -> None:
    for plan in plans:
        if len(plan.seeds) > 1 and not read_toml(Path(plan.experiment)).keys() & {"vary", "family"}:
            print(
                notice(
                    "same-for-all-seeds",
                    f"{plan.experiment}: vary: is missing: all seeds give the same run, which says nothing about "
                    "others",
                ),
                file=sys.stderr,
            )
        for key in overruled(plan):
            print(
                notice(
                    "vary-and-grid",
                    f"{plan.experiment}: vary: {key}: is in sweep.grid, whose values are taken: it is not drawn",
                ),
                file=sys.stderr,
            )


def _tell_result(result: SweepResult, folder: Path, run: Options, options: argparse.Namespace) -> int:
    """Writes and prints what was found. Returns the exit code."""
    for line in result.notices:
        print(notice("recording-left", line), file=sys.stderr)
    if result.interrupted:
        print(
            f"tendril: {folder}: interrupted, {result.done} of {result.planned} runs done: the same command resumes",
            file=sys.stderr,
        )
        return EXIT_INTERRUPTED
    if run.shard[1] > 1:
        if not options.quiet:
            print(
                f"{folder}: {result.done} runs of shard {options.shard} are done: tendril sweep merge joins the shards"
            )
        return EXIT_OUTPUT if _tell_differing(result) else 0
    data = _open(folder)
    files = _write(data, not options.no_report)
    if options.json:
        print(json.dumps(data.summary, indent=1))
    elif not options.quiet:
        _print_results(data)
        if result.verified:
            print(f"{result.verified} runs repeated, {len(result.differing)} with other numbers")
        print(f"{folder}/: {' '.join(files)}")
    if not options.quiet:
        _notes(data)
    return EXIT_OUTPUT if _tell_differing(result) else data.exit_code


def _open(folder: Path) -> Dataset | Scorecard:
    return Scorecard(folder) if is_suite_folder(folder) else Dataset(folder)


def _tell_plan(plan: SweepPlan, folder: Path, shard: tuple[int, int]) -> None:
    done = read_entries(folder) if (folder / "sweep.json").exists() else {}
    runs = [run for run in plan.runs() if in_shard(run, shard)]
    left = [run for run in runs if run.id not in done]
    print(
        f"{len(plan.variants)} variants x {len(plan.cells)} cells x {len(plan.seeds)} seeds; {len(runs)} runs, "
        f"{len(runs) - len(left)} of them done; {folder}"
    )
    if left:
        print("first: " + shlex.join(command_of(plan, left[0], "tendril")))


def _tell_differing(result: SweepResult) -> bool:
    for line in result.differing:
        print(f"tendril: {line}", file=sys.stderr)
    if result.differing:
        print(notice("not-repeated", NOT_REPEATED), file=sys.stderr)
    return bool(result.differing)


def _status(words: Sequence[str]) -> int:
    parser = make_parser("sweep status", "Counts the runs of a sweep, also of one that runs.")
    parser.add_argument("folder", type=Path)
    found = _open(parser.parse_args(words).folder)
    for data in found.data.values() if isinstance(found, Scorecard) else [found]:
        runs = data.summary["runs"]
        finished = runs["planned"] - runs["missing"]
        state = "running" if is_running(data.folder) else "complete" if not runs["missing"] else "stopped"
        without_checks = f"{runs['without_checks']} without checks, " if runs["without_checks"] else ""
        print(
            f"{data.plan.name}: {state}, {finished} of {runs['planned']} runs: {runs['passed']} passed, "
            f"{without_checks}{runs['diverged']} diverged, {runs['timeout']} timed out, "
            f"{runs['crashed']} without result"
        )
    _notes(found)
    return 0


def _write(data: Dataset | Scorecard, report: bool = True) -> list[str]:
    return data.write(report) if isinstance(data, Scorecard) else sweep_report.write(data, report)


def _tell(data: Dataset | Scorecard) -> None:
    files = _write(data)
    _print_results(data)
    print(f"{data.folder}/: {' '.join(files)}")
    _notes(data)


def _report(words: Sequence[str]) -> int:
    parser = make_parser("sweep report", "Writes runs.csv, summary.json and report.html of what is done.")
    parser.add_argument("folder", type=Path)
    _tell(_open(parser.parse_args(words).folder))
    return 0


def _merge(words: Sequence[str]) -> int:
    parser = make_parser("sweep merge", "Joins folders of one sweep, such as its shards.")
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(words)
    suites = all(map(is_suite_folder, options.folders))
    data = merge_suites(options.folders, options.out) if suites else merge(options.folders, options.out)
    _tell(data)
    return data.exit_code


def _repeat(words: Sequence[str]) -> int:
    parser = make_parser("sweep repeat", "Runs one run again, with recording and report, into DIR/repeated/ID.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("id", help="of runs.csv")
    parser.add_argument("--video", action="store_true", help="with video.mp4")
    parser.add_argument("--play", action="store_true", help="open play.html in a browser")
    options = parser.parse_args(words)
    data = Dataset(options.folder)
    code = data.repeat(options.id, ["--video"] if options.video else [])
    if options.play and code in (0, 1, 3):
        import webbrowser

        page = (data.folder / "repeated" / options.id / "play.html").resolve()
        if not page.exists() or not webbrowser.open(page.as_uri()):
            raise OSError(
                f"{page}: " + ("could not be opened in a browser" if page.exists() else "could not be written")
            )
    return code


_COMMANDS = {"status": _status, "report": _report, "merge": _merge, "repeat": _repeat}


def main(words: Sequence[str]) -> int:
    """The exit code of `tendril sweep WORDS`."""
    if words and words[0] in _COMMANDS:
        return _COMMANDS[words[0]](words[1:])
    return _sweep(words)
