"""The report of a run: report.html of its folder.

Reads DIR/summary.json, DIR/rollout.h5, DIR/snapshot_*.png and DIR/video.mp4; each of them may be missing, and what it
would have shown is then left out with a sentence. The page is one file: images and plots are inside it. It links
DIR/play.html, the playback of the recording, which is written too.
"""

from __future__ import annotations

import argparse
import base64
import datetime
import math
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tendril import _engine
from tendril._errors import ModelError
from tendril._files import write_page
from tendril._terminal import visible_streams
from tendril.recording import Recording
from tendril.report.labels import force_units
from tendril.report.page import axis_unit, escape, in_details, page, quantity
from tendril.report.run_plots import WIDE, Plot, RunPlots
from tendril.report.summary import Summary, read_summary

MAX_VIDEO = 1_000_000  # bytes embedded in the page; a larger video is linked

STYLE = """
header { display: flex; gap: 16px; align-items: baseline; flex-wrap: wrap } h1 { margin: 0; overflow-wrap: anywhere }
.badge { padding: 2px 12px; border-radius: 999px; font-weight: 600; color: var(--page); background: var(--weak) }
.badge.good { background: var(--good) } .badge.bad { background: var(--bad) } .badge { white-space: nowrap }
.good { color: var(--good); font-weight: 600 } .bad { color: var(--bad); font-weight: 600 }
.badge.good, .badge.bad { color: var(--page) } .sub, .note, figcaption, footer { color: var(--weak) }
.numbers { display: grid; grid-template-columns: repeat(auto-fit, minmax(140px, 1fr)); gap: 1em; margin: 1em 0 }
.numbers b { display: block; font-size: 1.4em } .numbers span { color: var(--weak); font-size: .85em }
th, td { text-align: left; overflow-wrap: anywhere } tbody th { color: var(--weak); font-weight: 400; width: 12em }
td.number { white-space: nowrap } figure { margin: 0 } figure img, video { width: 100%; display: block }
.images { display: grid; grid-template-columns: repeat(auto-fill, minmax(300px, 1fr)); gap: 12px }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(460px, 100%), 1fr)); gap: 0 16px }
.plots .across { grid-column: 1 / -1 } footer { margin-top: 2em; font-size: .85em }
@media print { section { break-inside: avoid } }
"""


def write_playback(recording: Recording, folder: Path) -> str:
    """Writes play.html, next to the report. Returns why there is none, or ""."""
    try:
        recording.to_html(folder / "play.html")
    except ImportError as error:
        needed = f"pip install {_engine.requirement()}"
        return f"There is no playback: Python module {error.name or error} is missing: {needed}"
    except (OSError, LookupError, TypeError, ValueError, RuntimeError) as error:
        return f"There is no playback: {error}"
    return ""


def words_of(recording: Recording | None) -> dict[str, Any]:
    return recording.attributes | recording.texts if recording else {}


def data_uri(path: Path, kind: str) -> str:
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"


def held(check: dict[str, Any]) -> bool:
    return bool(check.get("holds", check.get("passed", False)))


def verdict(summary: Summary, recording: Recording | None) -> tuple[str, str]:
    """Text and class of the badge."""
    outcome = summary.get("outcome") or words_of(recording).get("outcome", "")
    if str(outcome).startswith(("diverged", "stopped")):
        return "diverged", "bad"
    if outcome not in ("", "done", "running"):
        return str(outcome), "bad"
    checks = summary.get("checks", [])
    failed = sum(not held(check) for check in checks)
    if summary.get("failures") and not failed:
        return "a robot did not do its task", "bad"
    if checks:
        sensed = ", by sensors" if summary.get("measured") == "sensors" else ""
        return (
            (f"{failed} of {len(checks)} checks failed{sensed}", "bad")
            if failed
            else (f"all {len(checks)} checks hold{sensed}", "good")
        )
    return {"done": ("done, no checks", ""), "running": ("unfinished", "bad"), "": ("no results", "bad")}.get(
        outcome, (str(outcome), "bad")
    )


def percent(part: float, whole: float) -> str:
    share = 100.0 * part / max(1, whole)
    return "<\u00a00.1\u00a0%" if share < 0.1 else f"{share:.3g}\u00a0%"


def robots_section(summary: Summary, recording: Recording | None) -> str:
    """Shows what the controllers reported, servos at their limits, what was touched; empty without any of these."""
    steps = summary.get("steps", 0)
    units = force_units(recording.tables) if recording else {}

    def row(*cells: str) -> str:
        return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"

    def limit(servo: dict[str, Any]) -> str:
        factor, unit = axis_unit(units.get(servo["actuator"], ""), abs(servo["limit"]))
        return quantity(servo["limit"] * factor, unit)

    def during(entry: dict[str, Any]) -> tuple[str, str, str]:
        return percent(entry["steps"], steps), f"{entry['first']:.4g}\u00a0s", f"{entry['last']:.4g}\u00a0s"

    rows = [
        row(
            robot["robot"] + (", by its sensors" if robot.get("measured") == "sensors" else ""),
            status["status"],
            *during(status),
        )
        for robot in summary.get("robots", [])
        for status in robot["statuses"]
    ]
    rows += [
        row(f"servo {servo['actuator']}", "at its limit of " + limit(servo), *during(servo))
        for servo in summary.get("saturated_servos", [])
    ]
    rows += [
        row(f"touched {touched['geom']}", "at most " + quantity(touched["largest_force"], "N"), *during(touched))
        for touched in summary.get("touched", [])[:20]
    ]
    if not rows:
        return ""
    failures = "".join(f"<p class=bad>{escape(failure)}</p>" for failure in summary.get("failures", []))
    return (
        "<section><h2>Robots</h2>"
        + failures
        + "<div class=wide><table><thead><tr><th></th><th></th><th>of the steps</th>"
        f"<th>from</th><th>to</th></tr></thead><tbody>{''.join(rows)}</tbody></table></div></section>"
    )


def checks_section(summary: Summary) -> str:
    checks = summary.get("checks", [])
    if not checks:
        return "<section><h2>Checks</h2><p class=note>The experiment has no checks.</p></section>"
    rows = []
    for check in checks:
        unit = check.get("unit", "")
        limits = [
            f"{sign}\u00a0{quantity(check[side], unit)}"
            for side, sign in (("min", "≥"), ("max", "≤"))
            if check.get(side) is not None
        ]
        window = []
        if check.get("after"):
            window.append(f"from {check['after']:g}\u00a0s")
        if check.get("before") is not None:
            window.append(f"to {check['before']:g}\u00a0s")
        good = held(check)
        rows.append(
            f"<tr><td>{escape(check.get('name', ''))}</td><td><code>{escape(check.get('metric', ''))}</code>"
            f"{' ' + escape(' '.join(window)) if window else ''}</td>"
            f"<td class=number>{escape(quantity(check.get('value'), unit))}</td>"
            f"<td class=number>{escape(', '.join(limits))}</td>"
            f"<td class={'good' if good else 'bad'}>{'holds' if good else 'failed'}</td></tr>"
        )
    return (
        "<section><h2>Checks</h2><div class=wide><table><thead><tr><th>check</th><th>metric</th><th>value</th>"
        f"<th>limit</th><th>verdict</th></tr></thead><tbody>{''.join(rows)}</tbody></table></div></section>"
    )


def numbers_row(summary: Summary) -> str:
    metrics = summary.get("metrics", {})
    cards = [
        ("tip error at the end", metrics.get("tip_error_end"), "m"),
        ("largest tip error", metrics.get("tip_error_max"), "m"),
        ("largest wall force", metrics.get("wall_force_max"), "N"),
        ("deepest penetration", metrics.get("penetration_max"), "m"),
        ("times real time", summary.get("real_time_factor"), ""),
        ("a step, on average", summary.get("step_time_us", {}).get("mean"), "us"),
    ]
    shown = [
        f"<div><b>{escape(quantity(value, unit))}</b><span>{escape(text)}</span></div>"
        for text, value, unit in cards
        if value is not None
    ]
    return f"<div class=numbers>{''.join(shown)}</div>" if shown else ""


def images_section(folder: Path) -> str:
    figures = []
    for path in sorted(folder.glob("snapshot_*.png")):
        time = re.search(r"_(-?\d+(?:\.\d+)?)s\.png$", path.name)
        caption = escape(f"t = {float(time.group(1)):.2f} s" if time else path.stem)
        figures.append(
            f'<figure><img alt="the scene, {caption}" src="{data_uri(path, "image/png")}">'
            f"<figcaption>{caption}</figcaption></figure>"
        )
    body = f"<div class=images>{''.join(figures)}</div>" if figures else "<p class=note>No snapshots were rendered.</p>"
    video = folder / "video.mp4"
    if video.is_file():
        size = video.stat().st_size
        if size <= MAX_VIDEO:
            body += f'<p><video controls loop muted src="{data_uri(video, "video/mp4")}"></video></p>'
        else:
            body += f'<p class=note><a href="video.mp4">video.mp4</a> ({size / 1e6:.1f} MB) is next to this page.</p>'
    return f"<section><h2>Images</h2>{body}</section>"


def plots_section(plots: Sequence[Plot]) -> str:
    parts = []
    missing = []
    for title, svg, sentence in plots:
        if not svg:
            missing.append(f"<li><b>{escape(title)}.</b> {escape(sentence)}</li>")
            continue
        across = " class=across" if f'width="{WIDE:.0f}"' in svg else ""
        parts.append(f"<section{across}><h2>{escape(title)}</h2>{svg}<p class=note>{escape(sentence)}</p></section>")
    text = f"<div class=plots>{''.join(parts)}</div>" if parts else ""
    if missing:
        text += f"<section><h2>Not shown</h2><ul>{''.join(missing)}</ul></section>"
    return text


def fault_line(fault: dict[str, Any]) -> str:
    """`camera: noise of tip, sigma = 0.001; from 2 s`"""
    known = ("name", "kind", "channel", "start", "end")
    fields = "".join(f", {key} = {value}" for key, value in fault.items() if key not in known)
    end = f" to {quantity(fault['end'], 's')}" if math.isfinite(fault["end"]) else ""
    of = f" of {fault['channel']}" if "channel" in fault else ""
    return f"{fault['name']}: {fault['kind']}{of}{fields}; from {quantity(fault['start'], 's')}{end}"


def run_rows(summary: Summary, recording: Recording | None) -> list[tuple[str, Any]]:
    """Returns what was run, on which machine, and how long it took; None: unknown."""
    attributes = words_of(recording)
    versions = summary.get("versions") or {
        k.removesuffix("_version"): v for k, v in attributes.items() if k in ("tendril_version", "mujoco_version")
    }
    settings = summary.get("settings", [])
    timestep = summary.get("timestep", attributes.get("timestep"))
    return [
        ("command line", summary.get("command_line") or attributes.get("command_line")),
        ("experiment file", summary.get("file")),
        ("scene", summary.get("scene") or attributes.get("scene")),
        ("seed", summary.get("seed", attributes.get("seed"))),
        ("settings", "\n".join(f"{s.get('key')} = {s.get('value')}  ({s.get('origin')})" for s in settings)),
        ("faults (their times are shaded)", "\n".join(map(fault_line, recording.faults)) if recording else None),
        ("time step", quantity(float(timestep), "s") if timestep else None),
        *time_rows(summary),
        ("notices", "\n".join(summary.get("notices", []))),
        ("versions", ", ".join(f"{k} {v}" for k, v in versions.items())),
        *machine_rows(summary),
        (
            "recording",
            f"{recording.rows} rows, outcome “{attributes.get('outcome', 'unknown')}”" if recording else None,
        ),
    ]


def time_rows(summary: Summary) -> list[tuple[str, Any]]:
    times = summary.get("step_time_us") or summary.get("step_time") or {}
    return [
        (
            "simulated",
            f"{summary['simulated_time']:g} of {summary['duration']:g}\u00a0s, {summary.get('steps', '?')} steps"
            if "simulated_time" in summary and "duration" in summary
            else None,
        ),
        ("wall time", quantity(summary.get("wall_time"), "s") if "wall_time" in summary else None),
        ("step times", ", ".join(f"{k.removesuffix('_us')} {quantity(v, 'us')}" for k, v in times.items())),
    ]


def machine_rows(summary: Summary) -> list[tuple[str, Any]]:
    machine, load = summary.get("machine", {}), summary.get("load_average")
    return [
        ("machine", ", ".join(f"{v} cores" if k == "cores" else str(v) for k, v in machine.items())),
        ("load average", ", ".join(f"{v:.2f}" for v in load) if load else None),
    ]


def run_section(summary: Summary, recording: Recording | None) -> str:
    body = "".join(
        f"<tr><th>{escape(k)}</th><td>{escape(v).replace(chr(10), '<br>')}</td></tr>"
        for k, v in run_rows(summary, recording)
        if v not in (None, "")
    )
    metrics = "".join(
        f"<tr><th>{escape(k)}</th><td class=number>{escape(quantity(v))}</td></tr>"
        for k, v in summary.get("metrics", {}).items()
    )
    table = f"<table><tbody>{metrics}</tbody></table>"
    more = in_details("All metrics (SI units, times in µs)", table) if metrics else ""
    return f"<section><h2>Run</h2><table><tbody>{body}</tbody></table>{more}</section>"


def report_page(
    folder: Path, summary: Summary, recording: Recording | None, plots: Sequence[Plot], problems: Sequence[str]
) -> str:
    words = words_of(recording)
    title = summary.get("experiment") or words.get("experiment_name", "") or folder.name
    text, kind = verdict(summary, recording)
    reason = summary.get("reason") or ""
    stop = f"<p class=bad>{escape(reason)}</p>" if reason else ""
    notes = "".join(f"<section><p class=note>{escape(p)}</p></section>" for p in problems)
    scene = summary.get("scene") or words.get("scene", "")
    seed = f", seed {summary['seed']}" if "seed" in summary else ""
    playback = ' · <a href="play.html">Playback in 3D</a>' if (folder / "play.html").is_file() else ""
    body = (
        f'<header><h1>{escape(title)}</h1><span class="badge {kind}">{escape(text)}</span></header>'
        f"<p class=sub>{escape(scene)}{escape(seed)}{playback}</p>{stop}{numbers_row(summary)}{checks_section(summary)}"
        f"{robots_section(summary, recording)}{images_section(folder)}{notes}{plots_section(plots)}"
        f"{run_section(summary, recording)}"
        f"<footer>Written {datetime.datetime.now().astimezone():%Y-%m-%d %H:%M %Z} by Tendril</footer>"
    )
    return page(f"{title}: {text}", body, STYLE)


class Failure(Exception):
    """Why there is no report, one line, and the exit code."""

    def __init__(self, text: str, code: int = 4) -> None:
        super().__init__(f"report: {text}")
        self.code = code


def summary_of(folder: Path) -> Summary:
    """The summary of a folder; empty without one."""
    if not folder.is_dir():
        raise Failure(f"{folder}: must be a folder", 2)
    file = folder / "summary.json"
    try:
        return read_summary(file) if file.exists() else {}
    except ModelError as error:
        raise Failure(str(error), 2) from None


def read_recording(folder: Path, summary: Summary) -> tuple[Recording | None, list[Plot], list[str]]:
    """Recording, its plots, and what is to be said along with them; writes the playback too."""
    recording: Recording | None = None
    plots: list[Plot] = []
    problems: list[str] = []
    try:
        recording = Recording(folder / "rollout.h5")
        with recording.reading():
            run_rows(summary, recording)  # what the page says of it
            plots = RunPlots(recording, summary).all() if recording.rows else []
        if recording.rows:
            problems += filter(None, [write_playback(recording, folder)])
        if not recording.has_tables:
            problems.append(
                "The recording has no tables of names: an older version wrote it. The plots of sensors and contacts "
                "are missing; run the experiment again to have them."
            )
    except ImportError as error:
        raise Failure(f"Python module {error.name or error} is missing: pip install numpy h5py") from None
    except (OSError, ValueError) as error:  # RecordingError, ModelError
        recording = None
        problems.append(f"rollout.h5 could not be read: {error}")
    return recording, plots, problems


def write_report(folder: Path) -> None:
    """Throws Failure."""
    summary = summary_of(folder)
    if (folder / "rollout.h5").is_file():
        recording, plots, problems = read_recording(folder, summary)
    elif not summary:
        raise Failure(f"{folder}: has neither summary.json nor rollout.h5")
    else:
        recording, plots, problems = None, [], ["The run was not recorded, so there are no plots."]
    try:
        write_page(folder / "report.html", report_page(folder, summary, recording, plots, problems))
    except OSError as error:
        raise Failure(str(error)) from None


def main(words: Sequence[str] | None = None) -> int:
    """The exit code of `python -m tendril.report WORDS`."""
    parser = argparse.ArgumentParser(
        prog="python -m tendril.report",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="example: python -m tendril.report out/tube_insertion",
    )
    parser.add_argument("folder", metavar="DIR", type=Path, help="folder of one run's results")
    with visible_streams():
        try:
            write_report(parser.parse_args(words).folder)
        except Failure as failure:
            print(failure, file=sys.stderr)
            return failure.code
    return 0
