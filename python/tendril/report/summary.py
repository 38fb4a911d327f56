"""The `summary.json` of a run, as `tendril run` writes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tendril._reading import (
    ANYTHING,
    FLAG,
    NUMBER,
    NUMBER_OR_NULL,
    TEXT,
    DictOf,
    Kind,
    ListOf,
    Table,
    integer,
    one_of,
    read_json,
    require,
)

Summary = dict[str, Any]
_DURING = {"steps": NUMBER, "first": NUMBER, "last": NUMBER}
_WORD = Kind("a text or a number", lambda value: isinstance(value, str) or NUMBER.fits(value))
_SHAPE = Table(
    {},
    {
        **dict.fromkeys(("experiment", "file", "scene", "outcome", "reason", "command_line"), TEXT),
        "verdict": one_of("pass", "fail", "none"),
        "measured": one_of("truth", "sensors"),
        "seed": integer(),
        "failures": ListOf(TEXT),
        "notices": ListOf(TEXT),
        "checks": ListOf(
            Table(
                {"name": TEXT, "metric": TEXT},
                {
                    **dict.fromkeys(("value", "min", "max", "after", "before"), NUMBER_OR_NULL),
                    "unit": TEXT,
                    "holds": FLAG,
                    "passed": FLAG,
                },
            )
        ),
        "robots": ListOf(Table({"robot": TEXT, "statuses": ListOf(Table({"status": TEXT, **_DURING}))})),
        "saturated_servos": ListOf(Table({"actuator": TEXT, "limit": NUMBER, **_DURING})),
        "touched": ListOf(Table({"geom": TEXT, "largest_force": NUMBER, **_DURING})),
        "metrics": DictOf(NUMBER_OR_NULL),
        **dict.fromkeys(("duration", "simulated_time", "timestep", "steps"), NUMBER),
        **dict.fromkeys(("wall_time", "real_time_factor"), NUMBER_OR_NULL),
        "step_time_us": DictOf(NUMBER_OR_NULL),
        "step_time": DictOf(NUMBER_OR_NULL),
        "settings": ListOf(Table({"key": TEXT, "value": ANYTHING, "origin": TEXT})),
        "versions": DictOf(TEXT),
        "machine": DictOf(_WORD),
        "load_average": ListOf(NUMBER, 3),
    },
)


def read_summary(file: Path) -> Summary:
    """Throws ModelError for any other file."""
    summary: Summary = read_json(file)
    require(summary, _SHAPE, f"{file}: summary")
    return summary
