"""Values of least norm within their limits that make given sums, one thread for each world.

The steps of tendril/kinematics/tension_distribution.cpp: tensions of tendons that make moments, and values of drives
that come nearest to a pose. Source: docs/theory/chain.md, "Tension distribution".
"""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from tendril.worlds.arm import cholesky_solve, multiply_transposed, number, numbers, rows, tables
from tendril.worlds.tables import BoundRobot

# The numbers of the C++ code.
REGULARIZATION, TOLERANCE, CONVERGED, SETTLED = 1e-8, 1e-7, 1e-2, 1e-6
MAX_ITERATIONS = wp.constant(60)  # of Newton's method
ZERO, ONE, NOWHERE = number(0.0), number(1.0), number(1e300)


@wp.struct
class Distribution:
    """The problem of one robot, of numbers one row for each world or one for all."""

    count: int  # of tensions
    moments: int
    unit: tables  # moments of unit tensions: moments x tensions
    low: rows
    regularization: numbers
    tolerance: numbers
    settled: numbers
    # A row for each world.
    most: rows  # upper limits
    moment: rows  # to be made
    tension: rows  # that make it
    # Scratch.
    free: rows
    free_change: rows
    dual: rows
    residual: rows
    direction: rows
    hessian: tables


@wp.func
def _clipped(d: Distribution, b: int, world: int, t: int, tension: number):
    return wp.clamp(tension, d.low[b, t], d.most[world, t])


@wp.func
def _slope(d: Distribution, b: int, world: int, at: number):
    """Derivative of the dual function along the direction, `at` away."""
    slope = number(0.0)
    for i in range(d.moments):
        change = d.direction[world, i]
        dual = d.dual[world, i] + at * change
        slope += change * (d.moment[world, i] - d.regularization[b] * dual)
    for t in range(d.count):
        change = d.free_change[world, t]
        slope -= change * _clipped(d, b, world, t, d.free[world, t] + at * change)
    return slope


@wp.func
def _line_search(d: Distribution, b: int, world: int):
    """The step at which the slope, piecewise linear and falling, is zero."""
    before, after = number(0.0), NOWHERE + ZERO
    for t in range(d.count):
        change = d.free_change[world, t]
        if change != ZERO:
            for side in range(2):
                limit = wp.where(side == 0, d.low[b, t], d.most[world, t])
                kink = (limit - d.free[world, t]) / change
                if kink > before and kink < after:
                    if _slope(d, b, world, kink) > ZERO:
                        before = kink
                    else:
                        after = kink
    if after == NOWHERE:
        after = before + ONE
    at_before, at_after = _slope(d, b, world, before), _slope(d, b, world, after)
    if at_before > at_after:
        return before + (after - before) * at_before / (at_before - at_after)
    return before


@wp.func
def _solve_free(d: Distribution, b: int, world: int, without_limits: bool, y: numbers):
    """y = (P P^T + regularization)^-1 y, of those tensions that are not at a limit."""
    for r in range(d.moments):
        for c in range(r + 1):
            sum = number(0.0)
            for t in range(d.count):
                free = d.free[world, t]
                if without_limits or (free > d.low[b, t] and free < d.most[world, t]):
                    sum += d.unit[b, r, t] * d.unit[b, c, t]
            d.hessian[world, r, c] = sum
        d.hessian[world, r, r] = d.hessian[world, r, r] + d.regularization[b]
    cholesky_solve(d.hessian[world], y, d.moments)


@wp.func
def _miss(d: Distribution, b: int, world: int):
    """Writes tensions and residual of the dual; returns the length of the residual."""
    multiply_transposed(d.unit[b], d.dual[world], d.free[world])
    for t in range(d.count):
        d.tension[world, t] = _clipped(d, b, world, t, d.free[world, t])
    squares = number(0.0)
    for i in range(d.moments):
        residual = d.moment[world, i] - d.regularization[b] * d.dual[world, i]
        for t in range(d.count):
            residual -= d.unit[b, i, t] * d.tension[world, t]
        d.residual[world, i] = residual
        squares += residual * residual
    return wp.sqrt(squares)


@wp.func
def _newton_step(d: Distribution, b: int, world: int):
    """Moves the dual; returns the largest change of a tension, below 0 if there is no step."""
    for i in range(d.moments):
        d.direction[world, i] = d.residual[world, i]
    _solve_free(d, b, world, False, d.direction[world])
    multiply_transposed(d.unit[b], d.direction[world], d.free_change[world])
    length = _line_search(d, b, world)
    if length <= ZERO:
        return -ONE
    for i in range(d.moments):
        d.dual[world, i] = d.dual[world, i] + length * d.direction[world, i]
    change = number(0.0)
    for t in range(d.count):
        tension = _clipped(d, b, world, t, d.free[world, t] + length * d.free_change[world, t])
        change = wp.max(change, wp.abs(tension - d.tension[world, t]))
    return change


@wp.func
def distribute(d: Distribution, b: int, world: int):
    """Tensions of the least norm that make the moments: TensionDistribution::distribute."""
    for i in range(d.moments):
        d.dual[world, i] = d.moment[world, i]
    _solve_free(d, b, world, True, d.dual[world])
    miss, iterations = _miss(d, b, world), wp.int32(0)
    while miss > d.tolerance[b] and iterations < MAX_ITERATIONS:
        iterations += 1
        change = _newton_step(d, b, world)
        if change < ZERO:
            iterations = wp.int32(MAX_ITERATIONS)
        else:
            miss = _miss(d, b, world)
            if change <= d.settled[b]:
                iterations = wp.int32(MAX_ITERATIONS)


def distribution_for(bound: BoundRobot, unit: Any, low: Any, high: Any) -> Any:
    """The problem of all worlds: moments of unit tensions, rows x moments x tensions, and limits, rows x tensions."""
    unit, low, high = (np.asarray(numbers, dtype=float) for numbers in (unit, low, high))
    largest = np.maximum(np.abs(low), np.abs(high))
    squares = (unit**2).sum(axis=(1, 2)) / max(unit.shape[1], 1)
    scale = np.linalg.norm(np.einsum("rit,rt->ri", np.abs(unit), largest), axis=1)
    d = Distribution()
    d.moments, d.count = unit.shape[1:]
    d.unit, d.low = bound.numbers(unit), bound.numbers(low)
    d.most = bound.numbers(np.broadcast_to(high, (bound.count, d.count)))
    d.regularization = bound.numbers(REGULARIZATION * np.maximum(squares, 1e-30))
    d.tolerance = bound.numbers(CONVERGED * TOLERANCE * scale)
    d.settled = bound.numbers(SETTLED * largest.max(axis=1, initial=0.0))
    for key in ("tension", "free", "free_change"):
        setattr(d, key, bound.zeros(d.count))
    for key in ("moment", "dual", "residual", "direction"):
        setattr(d, key, bound.zeros(d.moments))
    d.hessian = bound.zeros(d.moments, d.moments)
    return d
