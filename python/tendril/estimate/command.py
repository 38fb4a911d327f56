"""`tendril estimate`: the shape of an arm from a table of its readings (docs/guide/sensors.md)."""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tendril._command import Parser, check_outputs, make_parser, number, require_module, vector
from tendril._errors import not_compiled, refuse
from tendril._files import write_atomically
from tendril._notices import notice
from tendril.estimate.log import Estimates, Log, estimate, log_of, read_rows_in_time
from tendril.report import STYLE
from tendril.report.figure import check_output, save

if TYPE_CHECKING:
    from tendril._core import ContinuumRobot, Estimator

_BAND = 2.0  # deviations on each side


def _parser() -> Parser:
    command = make_parser(
        "estimate",
        "Estimates the shape of an arm and the force on its tip from a table of readings (docs/guide/sensors.md).",
        "Example: tendril estimate arm.toml log.csv -o shape.csv --plot shape.svg\n"
        "Exit codes: 0 done, 2 bad input, 4 input/output",
    )
    command.add_argument("robot", type=Path, metavar="ROBOT.toml", help="robot file of a continuum arm with sensors")
    command.add_argument(
        "log",
        type=Path,
        metavar="LOG.csv",
        help="a row each: t (s, or t_ms), readings by the names of td.Estimator (of several numbers NAME_x, NAME_y, "
        "..., an orientation NAME_w, ...), and commands by the names of the actuators; empty: nothing has come",
    )
    command.add_argument(
        "-o", "--output", type=Path, metavar="FILE.csv", help="instead of stdout: t, states, tip, force, deviations"
    )
    command.add_argument(
        "--plot", type=Path, metavar="FILE.svg", help="tip, coordinates and force over time; .svg, .png, .pdf"
    )
    command.add_argument("--timestep", metavar="S", help="of the estimator [the median of the times between two rows]")
    command.add_argument("--gravity", default="0,0,-9.81", metavar="X,Y,Z", help="in the base frame, m/s^2 [0,0,-9.81]")
    command.add_argument("--quiet", action="store_true", help="no notices")
    return command


def _text(estimates: Estimates, robot: ContinuumRobot) -> str:
    """The CSV file; states are named as by `tendril ik`."""
    states = robot.states(estimates.q)
    header = ["t"]
    header += [f"{name}_{i}" for i in range(1, states.shape[1] + 1) for name in ("theta", "phi", "s")]
    header += ["x", "y", "z", "zx", "zy", "zz", "fx", "fy", "fz"]
    header += [f"{name}_deviation" for name in ("x", "y", "z", "fx", "fy", "fz")]
    columns = (
        estimates.time[:, None],
        states.reshape(len(states), -1),
        estimates.tip[:, :3, 3],
        estimates.tip[:, :3, 2],
        estimates.force,
        estimates.tip_deviation,
        estimates.force_deviation,
    )
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(header)
    table.writerows(np.hstack(columns).tolist())
    return out.getvalue()


def _draw(estimates: Estimates, robot: ContinuumRobot, out: Path) -> None:
    """Tip, coordinates and force over time; bands of two deviations."""
    from matplotlib import style
    from matplotlib.figure import Figure

    names = [
        f"{name}_{i}"
        for i, section in enumerate(robot.sections, 1)
        for name in (("u", "v", "s") if section.variable_length > 0 else ("u", "v"))
    ]
    with style.context([STYLE]):
        figure = Figure(figsize=(7.0, 6.8), layout="constrained")
        panels = figure.subplots(3, 1, sharex=True)
        for panel, values, deviations, scale, labels, title in (
            (panels[0], estimates.tip[:, :3, 3], estimates.tip_deviation, 1e3, "xyz", "tip [mm]"),
            (panels[1], estimates.q, None, 1.0, names, "coordinates [rad], [m]"),
            (panels[2], estimates.force, estimates.force_deviation, 1.0, "xyz", "force on the tip [N]"),
        ):
            for k, label in enumerate(labels):
                (line,) = panel.plot(estimates.time, scale * values[:, k], label=label)
                if deviations is not None:
                    middle, half = scale * values[:, k], _BAND * scale * deviations[:, k]
                    panel.fill_between(
                        estimates.time, middle - half, middle + half, color=line.get_color(), alpha=0.2, linewidth=0
                    )
            panel.set_ylabel(title)
            panel.legend(fontsize="small", ncols=2)
        panels[-1].set_xlabel("time [s]")
        save(figure, out)


def _tell(log: Log, estimator: Estimator, estimates: Estimates, timestep: float) -> None:
    if log.ignored:
        names = ", ".join(log.ignored)
        print(notice("columns-ignored", f"{log.file}: of nothing that the robot has: {names}"), file=sys.stderr)
    if log.commands is None:
        names = ", ".join(estimator.actuators)
        print(notice("no-commands", f"{log.file}: has no column of {names}: commands are taken as 0"), file=sys.stderr)
    lacking = [name for name in estimator.readings if name not in log.readings]
    without = f", without {', '.join(lacking)}" if lacking else ""
    deviation = 1e3 * float(np.linalg.norm(estimates.tip_deviation[-1]))
    print(
        f"tendril estimate: {len(log.time)} rows in steps of {1e3 * timestep:.4g} ms{without}; "
        f"at the end the deviation of the tip is {deviation:.2g} mm",
        file=sys.stderr,
    )


def _options(words: Sequence[str]) -> argparse.Namespace:
    """Throws ModelError for a value out of range."""
    options = _parser().parse_args(words)
    options.gravity = vector("--gravity", options.gravity)
    if options.timestep is not None:
        options.timestep = number("--timestep", options.timestep)
        if not 0 < options.timestep <= 1:
            raise refuse("--timestep", f"{options.timestep:g}: must be in (0, 1] s")
    if options.plot is not None:
        check_output(options.plot)
        require_module("matplotlib", "report", "--plot")
    check_outputs((options.output, options.plot), options.robot, options.log)
    return options


def main(words: Sequence[str]) -> int:
    """`tendril estimate`."""
    options = _options(words)
    try:
        from tendril import _core
    except ImportError as error:
        raise not_compiled("estimate", error) from None
    robot = _core.load_robot(options.robot, _core.ContinuumRobot)
    table = read_rows_in_time(options.log)
    # Differences of times have rounding in their last digits.
    timestep = options.timestep or float(f"{np.median(np.diff(table.time)):.9g}")
    estimator = _core.Estimator(options.robot, timestep=timestep, gravity=options.gravity)
    log = log_of(table, estimator)
    estimates = estimate(log, estimator, timestep)
    if options.plot is not None:
        _draw(estimates, robot, options.plot)
    text = _text(estimates, robot)
    if options.output is None:
        sys.stdout.write(text)
    else:
        write_atomically(options.output, text)
    if not options.quiet:
        _tell(log, estimator, estimates, timestep)
    return 0
