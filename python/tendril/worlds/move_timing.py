"""Times moves to a target that has jumped, of an arm that swings: controllers/arm/move_timing.hpp.

Source: docs/theory/control.md, "Rate limit by time scaling".
"""

from __future__ import annotations

from typing import Any

import warp as wp

from tendril.worlds.arm import SMOOTH_PEAK_RATE, number, numbers, smooth_step
from tendril.worlds.bound_arm import BoundArm

PERIODS = 2.0
JUMP = number(2.0)  # steps at the rate limit by which a goal moves away
ZERO, ONE = number(0.0), number(1.0)


@wp.struct
class MoveTiming:
    """The memory of one arm's moves, a row for each world."""

    least: numbers  # duration of a move, s; one row, or one for each world
    ahead: numbers  # of the move, 1 to 0; 0: none is under way
    duration: numbers  # of the move, s
    line: numbers  # that is left of it, in steps at the rate limit


def timing_for(bound: BoundArm) -> Any:
    """Memory for moves of all worlds, none under way."""
    timing = MoveTiming()
    timing.least = bound.numbers(
        [float(one["settings"]["move_time"] or PERIODS * one["swing_period"]) for one in bound.tables]
    )
    for name in ("ahead", "duration", "line"):
        setattr(timing, name, bound.zeros())
    return timing


@wp.func
def forget_move(world: int, timing: MoveTiming):
    timing.ahead[world] = ZERO


@wp.func
def time_move(timing: MoveTiming, at_limit: number, h: number, world: int):
    """Fraction of the line to the goal that is covered in this step; the rate limit allows `at_limit`."""
    least, ahead = timing.least[world % timing.least.shape[0]], timing.ahead[world] + ZERO
    if least <= ZERO or (ahead <= ZERO and at_limit >= ONE):
        timing.ahead[world] = ZERO
        return wp.min(ONE, at_limit)
    line = ONE / at_limit  # steps at the rate limit
    if ahead <= ZERO or line > timing.line[world] + JUMP:
        ahead = number(1.0)
        timing.duration[world] = wp.max(least, number(SMOOTH_PEAK_RATE) * line * h)
    rest = wp.max(ZERO, ahead - h / timing.duration[world])
    # 1 - smooth_step(x) = smooth_step(1 - x)
    taken = wp.min(ONE - smooth_step(rest) / smooth_step(ahead), at_limit)
    timing.ahead[world] = rest
    timing.line[world] = line * (ONE - taken)
    return taken
