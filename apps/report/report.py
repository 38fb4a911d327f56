#!/usr/bin/env python3
"""Writes report.html for the results of one run.

Reads DIR/summary.json, DIR/rollout.h5, DIR/snapshot_*.png and DIR/video.mp4; each of them may be missing, and what it
would have shown is then left out with a sentence. The page is one file: pictures and plots are inside it. It links
DIR/play.html, the playback of the recording, which is written too.
"""

import argparse
import base64
import datetime
import html
import io
import json
import math
import pathlib
import re
import sys

POINTS_PER_LINE = 600  # of a plot, as pairs of minimum and maximum, so that no peak is lost
LARGEST_VIDEO = 1_000_000  # bytes embedded in the page; a larger video is linked
DEGREE = math.pi / 180.0
PREFIXED = ("m", "s", "rad", "N", "m/s")  # units that small values have with a prefix
STYLE_OF_PLOTS = pathlib.Path(__file__).with_name("tendril.mplstyle")


# ---- reading -----------------------------------------------------------------------------------------------------


# The package tendril: of the installation, of the source tree, or of the interpreter's own packages.
for place in (pathlib.Path(__file__).with_name("python"), pathlib.Path(__file__).parents[2] / "python"):
    if (place / "tendril").is_dir():
        sys.path.insert(0, str(place))
        break
import tendril.recording


class Recording(tendril.recording.Recording):
    """rollout.h5 with what the plots need, as numpy arrays over the rows."""

    @property
    def words(self):
        return self.attributes | self.texts

    @property
    def has_tables(self):
        """Whether it names sensors, actuators, bodies and geoms; older recordings do not."""
        return "sensors" in self.texts

    def sensors(self, quantity):
        """[(row of the table, values with shape (rows, dimension))] of the sensors that show a quantity."""
        return [
            (sensor, self.sensordata[:, sensor["address"] : sensor["address"] + sensor["dimension"]])
            for sensor in self.tables["sensors"]
            if sensor["quantity"] == quantity
        ]

    def lines(self, quantity):
        """[(name, values over the rows)] of the sensors that show a quantity; of a vector its length."""
        import numpy as np

        return [
            (sensor["name"], values[:, 0] if sensor["dimension"] == 1 else np.linalg.norm(values, axis=1))
            for sensor, values in self.sensors(quantity)
        ]

    def has_robot(self):
        return any(geom["robot"] for geom in self.tables["geoms"])

    def penetration(self):
        """Deepest overlap of a robot with its surroundings over the rows, m."""
        import numpy as np

        found = self.robot_contacts()
        depth = np.zeros(self.rows)
        np.maximum.at(depth, found.row, -found.distance)
        return depth


def write_playback(recording, folder):
    """play.html, beside the report. Returns why there is none, or ""."""
    try:
        recording.to_html(folder / "play.html")
    except ImportError as error:
        return f"There is no playback: Python module {error.name or error} is missing: pip install mujoco-core==4.0.1"
    except (OSError, LookupError, TypeError, ValueError, RuntimeError) as error:
        return f"There is no playback: {error}"
    return ""


# ---- plots -------------------------------------------------------------------------------------------------------


def decimated(x, y, points=POINTS_PER_LINE):
    """A polyline of at most 2 * points points with the minimum and maximum of every interval."""
    import numpy as np

    n = len(x)
    if n <= 2 * points:
        return x, y
    edges = np.linspace(0, n, points + 1).astype(int)
    keep = []
    for a, b in zip(edges[:-1], edges[1:]):
        part = y[a:b]
        if np.all(np.isnan(part)):
            continue
        keep += sorted({a + int(np.nanargmin(part)), a + int(np.nanargmax(part))})
    keep = np.array(keep, int)
    return x[keep], y[keep]


def axis_unit(unit, largest):
    """(factor, unit) of an axis: angles in degrees, and a prefix so that the largest value reads 0.1 or more."""
    if unit == "rad":
        if largest >= 0.1 * DEGREE:
            return 1.0 / DEGREE, "deg"
    elif unit == "m" and 0.1 <= largest < 1.0:
        return 1e3, "mm"
    if unit not in PREFIXED:
        return 1.0, unit
    for factor, prefix in ((1.0, ""), (1e3, "m"), (1e6, "µ")):
        if largest >= 0.1 / factor:
            return factor, prefix + unit
    return 1e9, "n" + unit


def tick_labels(values):
    """Numbers with as many decimals as tell neighbors apart, and no -0."""
    import numpy as np

    values = np.asarray(values, float)
    steps = np.diff(np.unique(values))
    step = float(steps.min()) if len(steps) else abs(float(values[0])) if len(values) else 1.0
    largest = float(np.abs(values).max()) if len(values) else 0.0
    if largest >= 1e6 or 0.0 < largest < 1e-4:
        return ["0" if value == 0.0 else f"{value:.3g}" for value in values]
    decimals = 0
    while decimals < 12 and np.any(np.abs(np.round(values, decimals) - values) > 1e-3 * step):
        decimals += 1
    return [f"{0.0 if abs(value) < 1e-6 * step else value:.{decimals}f}" for value in values]


class Plotter:
    """Matplotlib settings for small, reproducible SVG in the font of the page."""

    def __init__(self, faults=()):
        import matplotlib

        matplotlib.use("svg")
        import matplotlib.pyplot as pyplot

        pyplot.style.use(STYLE_OF_PLOTS)
        matplotlib.rcParams.update({"font.family": ["sans-serif"], "font.size": 9.5})  # the font of the page
        self.colors = matplotlib.rcParams["axes.prop_cycle"].by_key()["color"]

        class Ticks(matplotlib.ticker.Formatter):
            def __call__(self, value, position=None):
                return tick_labels([value])[0]

            def format_ticks(self, values):
                return tick_labels(values)

        self.ticks = Ticks
        self.matplotlib = matplotlib
        self.pyplot = pyplot
        self.count = 0
        self.faults = [fault for fault in faults if fault["start"] > 0 or math.isfinite(fault["end"])]

    def figure(self, rows=1, columns=1, height=2.5):
        figure, axes = self.pyplot.subplots(rows, columns, figsize=(7.0, height), squeeze=False, layout="constrained")
        for axis in axes.flat:
            axis.xaxis.set_major_formatter(self.ticks())
            axis.yaxis.set_major_formatter(self.ticks())
        return figure, axes

    def svg(self, figure, over_time=True):
        self.count += 1
        for axis in figure.axes if over_time else ():
            if not axis.lines:
                continue
            first, last = axis.get_xlim()
            for fault in self.faults:
                axis.axvspan(
                    max(first, fault["start"]), min(last, fault["end"]), color="#c0392b", alpha=0.08, linewidth=0
                )
            axis.set_xlim(first, last)
        # Names inside an SVG are global to the page: the salt makes those of two plots different.
        self.matplotlib.rcParams["svg.hashsalt"] = f"plot{self.count}"
        out = io.StringIO()
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        self.pyplot.close(figure)
        text = out.getvalue()
        text = text[text.index("<svg") :]
        text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
        text = re.sub(
            r' id="(?:figure|axes|patch|line2d|xtick|ytick|text|matplotlib\.axis|legend|PathCollection)_\d+"', "", text
        )
        # Hundredths of a point are enough for what is drawn, not for what is read.
        text = re.sub(r'"[^"]*"', lambda quoted: re.sub(r"(\d+\.\d\d)\d+", r"\1", quoted.group()), text)
        return re.sub(r"\n\s*", "\n", text)


def limits_of(summary, signal, end):
    """[(limit, label, first time, last time)] set by checks on a signal, in their windows or at the end."""
    found = []
    for check in summary.get("checks", []):
        match = re.fullmatch(re.escape(signal) + r"_(end|max|min)", check.get("metric", ""))
        if not signal or not match:
            continue
        last = min(end, end if check.get("before") is None else check["before"])
        at_end = match.group(1) == "end"
        first = last - 0.1 * end if at_end else check.get("after") or 0.0
        found += [
            (check[side], "limit at the end" if at_end else "limit", first, last)
            for side in ("max", "min")
            if check.get(side) is not None
        ]
    return found


def line_plot(plotter, summary, time, lines, label, signal="", unit="", step=False):
    """One plot of lines [(name, values)] over time with the limits of the checks on `signal`."""
    import numpy as np

    figure, axes = plotter.figure()
    axis = axes[0, 0]
    lines = [(name, np.where(np.isfinite(values), values, np.nan)) for name, values in lines]
    top = max(np.nanmax(np.abs(values), initial=0.0) for _, values in lines)
    limits = [
        limit for limit in limits_of(summary, signal, float(time[-1])) if top == 0.0 or abs(limit[0]) < 20.0 * top
    ]  # a limit far outside would flatten the line
    scale, shown = axis_unit(unit, max([top] + [abs(value) for value, *_ in limits]))
    for name, values in lines:
        axis.plot(*decimated(time, values * scale), label=name, drawstyle="steps-post" if step else "default")
    for value, text, first, last in limits:
        axis.hlines(
            value * scale,
            first,
            last,
            color="#c0392b",
            linestyle=":" if "end" in text else "--",
            linewidth=1.0,
            label=text,
        )
    if step:
        axis.yaxis.set_major_locator(plotter.matplotlib.ticker.MaxNLocator(integer=True, min_n_ticks=1))
    if limits or len(lines) > 1:
        handles = dict(zip(*reversed(axis.get_legend_handles_labels())))
        axis.legend(handles.values(), handles.keys(), fontsize=8.5)
    axis.set_xlabel("time [s]")
    axis.set_ylabel(f"{label} [{shown}]" if shown else label)
    axis.margins(x=0.01)
    return plotter.svg(figure)


def section_labels(tables, prefix):
    """(name, unit) of an arm's coordinates: u and v of each section, then its extension if it has one."""
    labels = []
    actuators = {actuator["name"] for actuator in tables["actuators"]}
    bodies = {body["name"] for body in tables["bodies"]}
    section = 1
    while f"{prefix}s{section}_l1" in bodies:
        labels += [(f"section {section}, u", "rad"), (f"section {section}, v", "rad")]
        if f"{prefix}s{section}_z" in actuators:
            labels.append((f"section {section}, length change", "m"))
        section += 1
    return labels


def coordinate_labels(tables, prefix, sensor):
    """(name, unit) of the coordinates of another robot: its actuators, a feed left out, or numbers."""
    dimension, unit = sensor["dimension"], sensor["unit"]
    mounted = tuple(
        other["name"][: -len("command")]
        for other in tables["sensors"]
        if other["quantity"] == "command" and other["name"].startswith(prefix) and other["name"] != sensor["name"]
    )
    names = [
        actuator["name"][len(prefix) :]
        for actuator in tables["actuators"]
        if actuator["name"].startswith(prefix) and not actuator["name"].startswith(mounted)
    ]
    if len(names) == dimension + 1 and names[0] == "feed":
        names = names[1:]
    if len(names) != dimension:
        return [(f"command {i + 1}", unit if "," not in unit else "") for i in range(dimension)]
    # A platform moves along x and y and turns.
    return [(name, ("m" if name in ("x", "y") else "rad") if unit == "m, rad" else unit) for name in names]


def command_plots(plotter, recording):
    """[(robot, whether it is an arm, figure)]: commands and measured values of each robot."""
    import numpy as np

    plots = []
    measured_by_name = {sensor["name"]: values for sensor, values in recording.sensors("measured")}
    for sensor, command in recording.sensors("command"):
        prefix = sensor["name"][: -len("command")]
        measured = measured_by_name.get(prefix + "measured")
        dimension = sensor["dimension"]
        if measured is None or measured.shape != command.shape or dimension == 0:
            continue
        columns = 1 if dimension == 1 else 2 if dimension <= 12 else 4
        rows = math.ceil(dimension / columns)
        figure, axes = plotter.figure(rows, columns, 0.7 + 1.55 * rows)
        labels = section_labels(recording.tables, prefix)
        is_arm = len(labels) == dimension
        if not is_arm:
            labels = coordinate_labels(recording.tables, prefix, sensor)
        for i, (label, unit) in enumerate(labels):
            axis = axes[i // columns, i % columns]
            both = np.stack([command[:, i], measured[:, i]])
            largest = np.abs(both[np.isfinite(both)]).max(initial=0.0)
            factor, shown = (1.0, unit) if unit == "rad" else axis_unit(unit, max(largest, 1e-3))
            for values, color, style, text in (
                (both[0], plotter.colors[0], "-", "commanded"),
                (both[1], plotter.colors[1], "--", "measured"),
            ):
                axis.plot(*decimated(recording.time, values * factor, 200), style, color=color, label=text)
            axis.set_title(f"{label} [{shown}]" if shown else label, fontsize=9.5, loc="left", color="#3e4c59")
            axis.margins(x=0.01)
            low, high = axis.get_ylim()
            least = 1e-3 * factor
            if high - low < least:  # do not magnify rounding errors
                axis.set_ylim((low + high) / 2 - least, (low + high) / 2 + least)
            if i // columns == rows - 1 or i + columns >= dimension:
                axis.set_xlabel("time [s]")
        for i in range(dimension, rows * columns):
            axes[i // columns, i % columns].axis("off")
        figure.legend(*axes[0, 0].get_legend_handles_labels(), fontsize=8.5, ncols=2, loc="outside upper right")
        plots.append((prefix.rstrip("_/") or "robot", is_arm, plotter.svg(figure)))
    return plots


def log_ticks(low, high):
    """Round numbers for a logarithmic axis from low to high: the coarsest of the usual steps that gives at least four."""
    ticks = []
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for mantissas in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7), [t / 10 for t in range(10, 100)]):
        ticks = [
            t * 10.0**e for e in range(first, last + 1) for t in mantissas if low * 0.95 <= t * 10.0**e <= high * 1.05
        ]
        if len(ticks) >= 4:
            break
    return ticks[:: (len(ticks) + 8) // 9]


def step_time_plot(plotter, times):
    import numpy as np

    figure, axes = plotter.figure()
    axis = axes[0, 0]
    low, high = float(times.min()), float(times.max())
    if high > 1.5 * low:
        axis.hist(times, bins=np.geomspace(low, high * 1.0001, 60), color=plotter.colors[0])
        axis.set_xscale("log")
        ticks = log_ticks(low, high)
        axis.set_xticks(ticks, [f"{t:g}" for t in ticks])
        axis.xaxis.minorticks_off()
    else:
        axis.hist(times, bins=30, color=plotter.colors[0])
    axis.set_yscale("log")
    axis.axvline(
        float(np.mean(times)),
        color=plotter.colors[1],
        linewidth=1.3,
        label="mean " + number(float(np.mean(times)), "us"),
    )
    axis.axvline(
        float(np.quantile(times, 0.999)),
        color=plotter.colors[3],
        linewidth=1.3,
        label="99.9 % " + number(float(np.quantile(times, 0.999)), "us"),
    )
    figure.legend(*axis.get_legend_handles_labels(), fontsize=8.5, ncols=2, loc="outside upper right")
    axis.set_xlabel("wall time of a step [µs]")
    axis.set_ylabel("steps")
    return plotter.svg(figure, over_time=False)


def make_plots(recording, summary):
    """[(title, svg or "", sentence)]: with an empty svg the sentence is the reason why there is no plot."""
    import numpy as np

    plotter = Plotter(recording.faults)
    time = recording.time
    plots = []

    def by_sensor(title, quantity, step=False, note=""):
        lines = recording.lines(quantity)
        if not lines:
            plots.append((title, "", f"No sensor of the scene shows the quantity “{quantity}”."))
            return
        if not any(np.isfinite(values).any() for _, values in lines):
            plots.append((title, "", "It was never known."))
            return
        unit = recording.sensors(quantity)[0][0]["unit"]
        label = title if title.startswith("IK") else title.lower()
        plots.append((title, line_plot(plotter, summary, time, lines, label, quantity, unit, step), note))

    def by_contact(title, label, signal, unit, values, note):
        if not recording.has_robot():
            plots.append((title, "", "The scene has no robot."))
        elif not len(recording.robot_contacts().row):
            plots.append((title, "", "The robot touched nothing."))
        else:
            svg = line_plot(plotter, summary, time, [(signal, values())], label, signal, unit)
            plots.append((title, svg, note))

    if recording.has_tables:
        by_sensor("Tip error", "tip_error", note="Distance of the tip from its desired position.")
        if recording.sensors("path_error"):
            by_sensor("Path error", "path_error", note="Distance of a snake from its path.")
        # All 0: no direction is prescribed.
        if any(np.nanmax(np.abs(values), initial=0.0) > 0 for _, values in recording.lines("angle_error")):
            by_sensor("Angle error", "angle_error")
        by_contact(
            "Wall force",
            "sum of normal forces",
            "wall_force",
            "N",
            recording.wall_force,
            "Sum over the contacts between the robot and its environment.",
        )
        by_contact(
            "Penetration",
            "deepest overlap",
            "penetration",
            "m",
            recording.penetration,
            "Overlap of bodies at the deepest contact: a property of the contact model, not of wear.",
        )
        commands = command_plots(plotter, recording)
        for robot, is_arm, svg in commands:
            plots.append(
                (
                    f"{'Sections' if is_arm else 'Coordinates'} of {robot}: commanded and measured",
                    svg,
                    "u and v are the bend of a section about its two axes: bend angle times the cosine and sine "
                    "of its direction."
                    if is_arm
                    else "",
                )
            )
        if not commands:
            plots.append(("Commands", "", "No sensors of the scene show the quantities “command” and “measured”."))
        by_sensor("IK iterations", "ik_iterations", step=True, note="Of the inverse kinematics, in each control step.")
    steps = recording.step_time_us[1:]
    steps = steps[np.isfinite(steps) & (steps > 0)]
    if len(steps):
        plots.append(("Step time", step_time_plot(plotter, steps), "Controller and physics together."))
    else:
        plots.append(("Step time", "", "The recording has no step times."))
    return plots


# ---- page --------------------------------------------------------------------------------------------------------

STYLE = """
:root { --ink: #1f2933; --soft: #52606d; --faint: #9aa5b1; --line: #e4e7eb; --good: #1b7f4b; --bad: #b42318; }
* { box-sizing: border-box; }
body { margin: 0; background: #f5f7fa; color: var(--ink); font: 15px/1.5 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 32px 24px 64px; }
h1 { font-size: 28px; margin: 0; overflow-wrap: anywhere; } h2 { font-size: 18px; margin: 0 0 12px; }
header { display: flex; gap: 16px; align-items: baseline; flex-wrap: wrap; margin-bottom: 4px; }
.badge { padding: 3px 12px; border-radius: 999px; font-weight: 600; color: #fff; background: var(--soft); white-space: nowrap; }
.badge.good { background: var(--good); } .badge.bad { background: var(--bad); }
.sub { color: var(--soft); margin: 0 0 20px; overflow-wrap: anywhere; }
section { background: #fff; border: 1px solid var(--line); border-radius: 10px; padding: 20px; margin: 16px 0; }
.stop { border-color: var(--bad); color: var(--bad); }
.numbers { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px; margin: 16px 0; }
.numbers div { background: #fff; border: 1px solid var(--line); border-radius: 10px; padding: 12px 16px; }
.numbers b { display: block; font-size: 22px; font-weight: 600; } .numbers span { color: var(--soft); font-size: 13px; }
table { border-collapse: collapse; width: 100%; } .scroll { overflow-x: auto; }
th, td { text-align: left; padding: 7px 12px 7px 0; border-top: 1px solid var(--line); vertical-align: top; }
thead th { border-top: 0; color: var(--soft); font-weight: 600; font-size: 13px; }
tbody th { color: var(--soft); font-weight: 400; width: 190px; } td.number { font-variant-numeric: tabular-nums; white-space: nowrap; }
td { overflow-wrap: anywhere; } .good { color: var(--good); font-weight: 600; } .bad { color: var(--bad); font-weight: 600; }
.badge.good, .badge.bad { color: #fff; }
.pictures { display: grid; grid-template-columns: repeat(auto-fill, minmax(300px, 1fr)); gap: 12px; }
figure { margin: 0; } figure img, video { width: 100%; display: block; border-radius: 6px; } figcaption { color: var(--soft); font-size: 13px; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(460px, 100%), 1fr)); gap: 16px; } .plots section { margin: 0; }
.plots .wide { grid-column: 1 / -1; }
svg { width: 100%; height: auto; display: block; } svg text { font-family: system-ui, "Segoe UI", Helvetica, Arial, sans-serif !important; }
.note { color: var(--soft); font-size: 13.5px; margin: 6px 0 0; } code { font-size: 13px; }
details summary { cursor: pointer; color: var(--soft); } footer { color: var(--faint); font-size: 13px; margin-top: 24px; }
@media print { body { background: #fff; } section { break-inside: avoid; } }
"""


def escape(value):
    return html.escape(str(value))


def digits(value):
    """Three significant digits, without an exponent where people do not expect one."""
    return f"{value:.0f}" if 1000.0 <= abs(value) < 1e9 else f"{value:.3g}"


def number(value, unit=""):
    """`1.84 mm` for 0.00184 m, as on the console, with a space that does not break; a dash for what was not measured."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    size = abs(value)
    if unit in PREFIXED and 0.0 < size < 0.1:
        if size < 1e-9:
            return f"{'> -' if value < 0.0 else '< '}1e-9\u00a0{unit}".replace(" ", "\u00a0")
        return f"{1e6 * value:.3f}\u00a0µ{unit}" if size < 1e-6 else f"{digits(1e3 * value)}\u00a0m{unit}"
    if unit == "us":
        return f"{digits(value / 1e3)}\u00a0ms" if size >= 1e4 else f"{digits(value)}\u00a0µs"
    return f"{digits(value)}\u00a0{unit}" if unit else digits(value)


def data_uri(path, kind):
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"


def held(check):
    return bool(check.get("holds", check.get("passed", False)))


def verdict(summary, recording):
    """(text, class) of the badge."""
    outcome = summary.get("outcome") or (recording.words.get("outcome", "") if recording else "")
    if str(outcome).startswith(("diverged", "stopped")):
        return "diverged", "bad"
    checks = summary.get("checks", [])
    failed = sum(not held(check) for check in checks)
    if summary.get("failures") and not failed:
        return "a robot did not do its task", "bad"
    if checks:
        return (
            (f"{failed} of {len(checks)} checks failed", "bad")
            if failed
            else (f"all {len(checks)} checks hold", "good")
        )
    return {"done": ("done, no checks", ""), "running": ("unfinished", "bad"), "": ("no results", "bad")}.get(
        outcome, (str(outcome), "bad")
    )


def percent(part, whole):
    share = 100.0 * part / max(1, whole)
    return "<\u00a00.1\u00a0%" if share < 0.1 else f"{share:.3g}\u00a0%"


def robots_section(summary):
    """What the controllers reported, servos at their limits, what was touched; empty without any of these."""
    steps = summary.get("steps", 0)

    def row(*cells):
        return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"

    def during(entry):
        return percent(entry["steps"], steps), f"{entry['first']:.4g}\u00a0s", f"{entry['last']:.4g}\u00a0s"

    rows = [
        row(robot["robot"], status["status"], *during(status))
        for robot in summary.get("robots", [])
        for status in robot["statuses"]
    ]
    rows += [
        row(f"servo {servo['actuator']}", f"at its limit of {servo['limit']:.3g}", *during(servo))
        for servo in summary.get("saturated_servos", [])
    ]
    rows += [
        row(f"touched {touched['geom']}", "at most " + number(touched["largest_force"], "N"), *during(touched))
        for touched in summary.get("touched", [])[:20]
    ]
    if not rows:
        return ""
    failures = "".join(f"<p class=bad>{escape(failure)}</p>" for failure in summary.get("failures", []))
    return (
        "<section><h2>Robots</h2>"
        + failures
        + "<div class=scroll><table><thead><tr><th></th><th></th><th>of the steps</th>"
        f"<th>from</th><th>to</th></tr></thead><tbody>{''.join(rows)}</tbody></table></div></section>"
    )


def checks_section(summary):
    checks = summary.get("checks", [])
    if not checks:
        return "<section><h2>Checks</h2><p class=note>The experiment has no checks.</p></section>"
    rows = []
    for check in checks:
        unit = check.get("unit", "")
        limits = [
            f"{sign}\u00a0{number(check[side], unit)}"
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
            f"<td class=number>{escape(number(check.get('value'), unit))}</td>"
            f"<td class=number>{escape(', '.join(limits))}</td>"
            f"<td class={'good' if good else 'bad'}>{'holds' if good else 'failed'}</td></tr>"
        )
    return (
        "<section><h2>Checks</h2><div class=scroll><table><thead><tr><th>check</th><th>metric</th><th>value</th>"
        f"<th>limit</th><th>verdict</th></tr></thead><tbody>{''.join(rows)}</tbody></table></div></section>"
    )


def numbers_row(summary):
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
        f"<div><b>{escape(number(value, unit))}</b><span>{escape(text)}</span></div>"
        for text, value, unit in cards
        if value is not None
    ]
    return f"<div class=numbers>{''.join(shown)}</div>" if shown else ""


def pictures_section(folder):
    figures = []
    for path in sorted(folder.glob("snapshot_*.png")):
        time = re.search(r"_(-?\d+(?:\.\d+)?)s\.png$", path.name)
        caption = f"t = {float(time.group(1)):.2f} s" if time else path.stem
        figures.append(
            f'<figure><img alt="the scene, {caption}" src="{data_uri(path, "image/png")}">'
            f"<figcaption>{caption}</figcaption></figure>"
        )
    body = (
        f"<div class=pictures>{''.join(figures)}</div>" if figures else "<p class=note>No snapshots were rendered.</p>"
    )
    video = folder / "video.mp4"
    if video.is_file():
        size = video.stat().st_size
        if size <= LARGEST_VIDEO:
            body += f'<p><video controls loop muted src="{data_uri(video, "video/mp4")}"></video></p>'
        else:
            body += f'<p class=note><a href="video.mp4">video.mp4</a> ({size / 1e6:.1f} MB) lies beside this page.</p>'
    return f"<section><h2>Pictures</h2>{body}</section>"


def plots_section(plots):
    parts = []
    missing = []
    for title, svg, sentence in plots:
        if not svg:
            missing.append(f"<li><b>{escape(title)}.</b> {escape(sentence)}</li>")
            continue
        wide = " class=wide" if title.endswith("commanded and measured") else ""
        parts.append(f"<section{wide}><h2>{escape(title)}</h2>{svg}<p class=note>{escape(sentence)}</p></section>")
    text = f"<div class=plots>{''.join(parts)}</div>" if parts else ""
    if missing:
        text += f"<section><h2>Not shown</h2><ul>{''.join(missing)}</ul></section>"
    return text


def fault_line(fault):
    """`camera: noise of tip, sigma = 0.001; from 2 s`"""
    known = ("name", "kind", "channel", "start", "end")
    fields = "".join(f", {key} = {value}" for key, value in fault.items() if key not in known)
    end = f" to {number(fault['end'], 's')}" if math.isfinite(fault["end"]) else ""
    of = f" of {fault['channel']}" if "channel" in fault else ""
    return f"{fault['name']}: {fault['kind']}{of}{fields}; from {number(fault['start'], 's')}{end}"


def settings_section(summary, recording):
    attributes = recording.words if recording else {}
    versions = summary.get("versions") or {
        k.removesuffix("_version"): v for k, v in attributes.items() if k in ("tendril_version", "mujoco_version")
    }
    machine = summary.get("machine", {})
    load = summary.get("load_average")
    times = summary.get("step_time_us", summary.get("step_time", {}))
    settings = summary.get("settings", [])
    rows = [
        ("command line", summary.get("command_line") or attributes.get("command_line")),
        ("experiment file", summary.get("file")),
        ("scene", summary.get("scene") or attributes.get("scene")),
        ("seed", summary.get("seed", attributes.get("seed"))),
        (
            "settings",
            "\n".join(f"{s.get('key')} = {s.get('value')}  ({s.get('origin')})" for s in settings)
            if isinstance(settings, list)
            else json.dumps(settings),
        ),
        ("faults (their times are shaded)", "\n".join(map(fault_line, recording.faults)) if recording else None),
        ("time step", number(float(t), "s") if (t := summary.get("timestep", attributes.get("timestep"))) else None),
        (
            "simulated",
            f"{summary['simulated_time']:g} of {summary['duration']:g}\u00a0s, {summary.get('steps', '?')} steps"
            if "simulated_time" in summary and "duration" in summary
            else None,
        ),
        ("wall time", number(summary.get("wall_time"), "s") if "wall_time" in summary else None),
        ("step times", ", ".join(f"{k.removesuffix('_us')} {number(v, 'us')}" for k, v in times.items())),
        ("notices", "\n".join(summary.get("notices", []))),
        ("versions", ", ".join(f"{k} {v}" for k, v in versions.items())),
        (
            "machine",
            ", ".join(f"{v} cores" if k == "cores" else str(v) for k, v in machine.items())
            if isinstance(machine, dict)
            else str(machine),
        ),
        ("load average", ", ".join(f"{v:.2f}" for v in load) if load else None),
        (
            "recording",
            f"{recording.rows} rows, outcome “{attributes.get('outcome', 'unknown')}”" if recording else None,
        ),
    ]
    body = "".join(
        f"<tr><th>{escape(k)}</th><td>{escape(v).replace(chr(10), '<br>')}</td></tr>"
        for k, v in rows
        if v not in (None, "")
    )
    metrics = "".join(
        f"<tr><th>{escape(k)}</th><td class=number>{escape(number(v))}</td></tr>"
        for k, v in summary.get("metrics", {}).items()
    )
    more = (
        f"<details><summary>All metrics (SI units, times in µs)</summary><table><tbody>{metrics}</tbody></table></details>"
        if metrics
        else ""
    )
    return f"<section><h2>Run</h2><table><tbody>{body}</tbody></table>{more}</section>"


def page(folder, summary, recording, plots, problems):
    title = summary.get("experiment") or (recording.words.get("experiment_name") if recording else "") or folder.name
    text, kind = verdict(summary, recording)
    reason = summary.get("reason") or ""
    stop = f'<section class="stop"><b>{escape(reason)}</b></section>' if reason else ""
    notes = "".join(f"<section><p class=note>{escape(p)}</p></section>" for p in problems)
    scene = summary.get("scene") or (recording.words.get("scene", "") if recording else "")
    seed = f", seed {summary['seed']}" if "seed" in summary else ""
    playback = ' · <a href="play.html">Playback in 3D</a>' if (folder / "play.html").is_file() else ""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}: {escape(text)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head><body><main>'
        f'<header><h1>{escape(title)}</h1><span class="badge {kind}">{escape(text)}</span></header>'
        f"<p class=sub>{escape(scene)}{escape(seed)}{playback}</p>{stop}{numbers_row(summary)}{checks_section(summary)}{robots_section(summary)}"
        f"{pictures_section(folder)}{notes}{plots_section(plots)}{settings_section(summary, recording)}"
        f"<footer>Written {datetime.datetime.now().astimezone():%Y-%m-%d %H:%M %Z} by apps/report/report.py</footer>"
        "</main></body></html>\n"
    )


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="example: report.py out/tube_insertion",
    )
    parser.add_argument("folder", metavar="DIR", type=pathlib.Path, help="folder of one run's results")
    folder = parser.parse_args(arguments).folder
    if not folder.is_dir():
        print(f"report: {folder}: must be a folder", file=sys.stderr)
        return 2
    try:
        summary_file = folder / "summary.json"
        summary = json.loads(summary_file.read_text(encoding="utf-8")) if summary_file.is_file() else {}
    except (OSError, ValueError) as error:
        print(f"report: {summary_file}: {error}", file=sys.stderr)
        return 4
    recording, plots, problems = None, [], []
    recording_file = folder / "rollout.h5"
    if recording_file.is_file():
        try:
            recording = Recording(recording_file)
            if recording.rows:
                plots = make_plots(recording, summary)
                problems += filter(None, [write_playback(recording, folder)])
            if not recording.has_tables:
                problems.append(
                    "The recording has no tables of names: an older version wrote it. The plots of sensors and "
                    "contacts are missing; run the experiment again to have them."
                )
        except ImportError as error:
            print(
                f"report: Python module {error.name or error} is missing: pip install numpy h5py matplotlib",
                file=sys.stderr,
            )
            return 4
        except (OSError, LookupError, TypeError, ValueError) as error:
            problems.append(f"rollout.h5 could not be read: {error}")
    elif not summary:
        print(f"report: {folder}: has neither summary.json nor rollout.h5", file=sys.stderr)
        return 4
    else:
        problems.append("The run was not recorded, so there are no plots.")
    part = folder / "report.html.part"
    try:
        part.write_text(page(folder, summary, recording, plots, problems), encoding="utf-8")
        part.replace(folder / "report.html")
    except OSError as error:
        print(f"report: {error}", file=sys.stderr)
        return 4
    finally:
        part.unlink(missing_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
