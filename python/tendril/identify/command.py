"""`tendril identify`: fits keys of a robot file to recorded static poses or motions (docs/guide/identification.md)."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tendril._command import Parser, check_outputs, make_parser, number, require_module, vector
from tendril._errors import refuse
from tendril._files import write_atomically
from tendril._meant import meant_or_all
from tendril._notices import notice
from tendril.identify.data import check_units, joined, read_data, read_markers
from tendril.identify.fit import ALIGNMENTS, BETWEEN, Fit, Identification, MotionFit, held_out_rows, identify, points_of
from tendril.identify.frames import no_fit
from tendril.identify.recordings import ENDING, read_recording
from tendril.identify.results import draw, summary, text
from tendril.identify.robot_file import RobotFile
from tendril.report.figure import check_output


def _bounds(texts: Sequence[str], parameters: Sequence[str]) -> dict[str, tuple[float, float]]:
    bounds = {}
    for given in texts:
        name, equals, ends = given.partition("=")
        numbers = ends.split(",")
        if not equals or len(numbers) != 2:
            raise refuse("--bounds", f"{given}: must be PARAMETER=LOW,HIGH")
        if name not in parameters:
            raise refuse("--bounds", f"{name}: is not among --parameters: {meant_or_all(name, parameters)}")
        bounds[name] = (number("--bounds", numbers[0]), number("--bounds", numbers[1]))
    return bounds


@dataclass(frozen=True)
class Request:
    """Request to fit a model to data."""

    robot: Path
    data: Sequence[Path]
    parameters: Sequence[str]
    bounds: Sequence[str] = ()  #: KEY=LOW,HIGH
    points: Path | None = None
    align: str = "none"
    gravity: Sequence[float] = (0, 0, -9.81)
    held_out: float = 0.25  #: share of the rows, if no file is held out
    held_out_files: Sequence[Path] = ()
    starts: int = 3
    seed: int = 0
    timestep: float = 0.0  #: of motions; 0: that of the robot file
    between: str = "hold"


def run(request: Request) -> Identification:
    """Runs the command. Throws ModelError, OSError."""
    robot, names = RobotFile(request.robot), request.parameters
    if len(set(names)) < len(names):
        raise refuse("--parameters", f"{max(names, key=names.count)}: must be named once")
    model = robot.model([], np.empty(0))
    bounds = _bounds(request.bounds, names)
    markers = {} if request.points is None else read_markers(request.points)
    files = [*request.data, *request.held_out_files]
    sensors = robot.tables.get("sensor", [])
    tables = [
        read_recording(file, model, sensors, request.gravity)
        if file.suffix == ENDING
        else read_data(file, model, request.gravity, markers)
        for file in files
    ]
    for table in tables[len(request.data) :]:
        table.held_out[:] = True
    data = joined(tables)
    parameters = [robot.parameter(name, bounds, data.what) for name in names]
    _, length = points_of(model, data.markers)
    for table in tables:
        check_units(table, model, length)
    fit = (
        Fit(robot, data, parameters, request.align)
        if data.time is None
        else MotionFit(robot, data, parameters, request.align, {}, request.timestep, request.between)
    )
    return identify(fit, held_out_rows(data, request.held_out, request.seed), request.starts, request.seed)


def _parser() -> Parser:
    command = make_parser(
        "identify",
        "Fits keys of a robot file to recorded static poses or motions (docs/guide/identification.md).",
        "Example: tendril identify arm.toml poses.csv --parameters section.*.bending_stiffness -o fitted.toml",
    )
    command.add_argument("robot", type=Path, metavar="ROBOT.toml")
    command.add_argument(
        "data",
        type=Path,
        nargs="+",
        metavar="DATA.csv|LOG.h5",
        help="commands and measured points, a pose a row; with a column t a motion, a sample a row; or recordings of "
        "one robot with a tip_tracker or markers, of runs or of a real one",
    )
    command.add_argument(
        "--parameters",
        required=True,
        metavar="KEY,...",
        help="section.*.KEY: one factor for all, section.2.KEY, tendon.1-3.KEY, base.KEY",
    )
    command.add_argument(
        "--bounds", action="append", default=[], metavar="KEY=LOW,HIGH", help="[a tenth to ten times; angles 0.5 rad]"
    )
    command.add_argument("--points", type=Path, metavar="FILE.csv", help="places of the points: point, arc, x, y, z")
    command.add_argument(
        "--align", default="none", help="frame of the measurements: none, or offset or pose, identified too [none]"
    )
    _add_choices(command)
    return command


def _add_choices(command: Parser) -> None:
    command.add_argument("--gravity", default="0,0,-9.81", metavar="X,Y,Z", help="in the base frame, m/s^2 [0,0,-9.81]")
    command.add_argument(
        "--held-out",
        default="0.25",
        metavar="SHARE|FILE,...",
        help="not fitted, if no column held_out: of the poses; of motions the last part; or other files [0.25]",
    )
    command.add_argument("--timestep", metavar="S", help="of the simulation of motions [that of the robot file]")
    command.add_argument(
        "--between", default="hold", help="rows of a motion commands and loads hold, or are linear [hold]"
    )
    command.add_argument("--starts", default="3", metavar="N", help="[3]")
    command.add_argument("--seed", default="0", help="of the share held out and the starts [0]")
    command.add_argument(
        "-o", "--output", type=Path, metavar="FITTED.toml", help="the robot file with the fitted values"
    )
    command.add_argument("--json", type=Path, metavar="FILE", help="also writes all numbers")
    command.add_argument("--plot", type=Path, metavar="FILE.svg", help="before and after; .svg, .png, .pdf")
    command.add_argument("--quiet", action="store_true", help="print nothing")


def _request(options: argparse.Namespace) -> Request:
    """Throws ModelError for a value out of range."""
    if options.align not in ALIGNMENTS:
        raise refuse("--align", f"{options.align}: must be one of {', '.join(ALIGNMENTS)}")
    if options.between not in BETWEEN:
        raise refuse("--between", f"{options.between}: must be one of {', '.join(BETWEEN)}")
    timestep = 0.0
    if options.timestep is not None:
        timestep = number("--timestep", options.timestep)
        if not 0 < timestep <= 0.1:
            raise refuse("--timestep", f"{options.timestep}: must be in (0, 0.1] s")
    is_file = options.held_out.endswith((".csv", ENDING))
    others = [Path(word) for word in options.held_out.split(",")] if is_file else []
    share, starts = 0.0 if others else number("--held-out", options.held_out), number("--starts", options.starts, int)
    seed = number("--seed", options.seed, int)
    if not 0 <= share < 1:
        raise refuse("--held-out", f"{options.held_out}: must be in [0, 1)")
    if not 1 <= starts <= 1000:
        raise refuse("--starts", "must be 1 to 1000")
    if seed < 0:
        raise refuse("--seed", "must be >= 0")
    return Request(
        options.robot,
        options.data,
        options.parameters.split(","),
        options.bounds,
        options.points,
        options.align,
        vector("--gravity", options.gravity),
        share,
        others,
        starts,
        seed,
        timestep,
        options.between,
    )


def _check_outputs(options: argparse.Namespace) -> None:
    if options.plot is not None:
        check_output(options.plot)
    check_outputs((options.output, options.json, options.plot), options.robot, options.points, *options.data)


def main(words: Sequence[str]) -> int:
    """`tendril identify`."""
    options = _parser().parse_args(words)
    _check_outputs(options)
    for module in ("scipy", "tomlkit", *(["matplotlib"] if options.plot is not None else [])):
        require_module(module, "identify", "identify")
    result = run(_request(options))
    if options.plot is not None:
        draw(result, options.plot)
    if options.output is not None:
        fit = result.fit
        fitted = fit.robot.with_values(fit.parameters, result.values[: len(fit.parameters)])
        write_atomically(options.output, fitted)
    if options.json is not None:
        write_atomically(options.json, json.dumps(summary(result), indent=1) + "\n")
    if (doubt := no_fit(result.fit.data, result.after[0], result.fit.length)) is not None:
        print(notice("fit-far-off", doubt), file=sys.stderr)
    if not options.quiet:
        print(text(result))
    return 0
