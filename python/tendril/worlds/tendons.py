"""Tendons and chambers of arms, one thread for each world: commands that hold the commanded bends.

The steps of controllers/arm/tendon_drive.cpp and tendril/kinematics/tension_distribution.cpp. Source:
docs/theory/chain.md, "Tendons between controllers and body" and "Tension distribution".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from tendril.worlds.arm import FRACTION_OF_LIMIT, Arm, Step, cholesky_solve, number, numbers, rows, tables
from tendril.worlds.controller import Engine
from tendril.worlds.tables import BoundRobot, Table, require_same

# The numbers of the C++ code.
MIN_GAIN = number(1e-3)  # of a muscle, relative to that of the straight arm
REGULARIZATION, TOLERANCE, CONVERGED, SETTLED = 1e-8, 1e-7, 1e-2, 1e-6
MAX_ITERATIONS = wp.constant(60)  # of Newton's method
ZERO, ONE, NOWHERE = number(0.0), number(1.0), number(1e300)

_TENDON = ("stiffness", "damping", "offset", "max_tension", "gain", "gain_slope")
_SPRING = ("stiffness", "damping", "rest", "lag")


@wp.struct
class Tendons:
    """The tendons of one arm, of numbers one row for each world or one for all; the bends are what only they hold."""

    count: int
    bends: int
    feeds_back: bool
    tendon: wp.array(dtype=int)  # of the model
    control: wp.array(dtype=int)
    rest_length: numbers  # of the straight arm, m
    takes_length: wp.array(dtype=bool)
    stiffness: rows
    damping: rows
    offset: rows
    max_tension: rows
    gain: rows
    gain_slope: rows
    jacobian: tables  # tendons x coordinates
    coordinate: wp.array(dtype=int)  # of each bend
    body_stiffness: rows
    body_damping: rows
    body_rest: rows
    body_lag: rows
    weight: rows
    # Of the distribution: moments of unit tensions, limits, and when it is done.
    moments: tables  # bends x tendons
    low: rows
    high: rows
    regularization: numbers
    tolerance: numbers
    settled: numbers
    # Scratch, a row for each world.
    length: rows
    speed: rows
    moment: rows
    tension: rows
    most: rows  # tension of a muscle of this length
    free: rows
    free_change: rows
    dual: rows
    residual: rows
    direction: rows
    hessian: tables


@wp.func
def _gain_at(tendons: Tendons, b: int, t: int, length: number):
    slope = tendons.gain_slope[b, t]
    at = tendons.gain[b, t] + slope * length
    if slope > ZERO:
        at = wp.max(at, MIN_GAIN * tendons.gain[b, t])  # a muscle as short as it gets has no force left
    return at


@wp.func
def _desired(arm: Arm, step: Step, world: int, k: int):
    """Commanded coordinate, from the straight arm on."""
    return step.command[world, k] - arm.offset[k]


@wp.func
def _rate(arm: Arm, step: Step, world: int, k: int):
    return arm.settings[world % arm.rows].feed_forward * step.q_rate[world, k]


@wp.func
def _hold(arm: Arm, tendons: Tendons, world: int, step: Step):
    """Weighted moments that the tendons are to make."""
    b = world % arm.rows
    for i in range(tendons.bends):
        k = tendons.coordinate[i]
        stiffness, damping = tendons.body_stiffness[b, i], tendons.body_damping[b, i]
        desired, rate = _desired(arm, step, world, k), _rate(arm, step, world, k)
        moment = stiffness * (desired - tendons.body_rest[b, i]) + (damping + tendons.body_lag[b, i] * stiffness) * rate
        moment -= arm.sign[k] * step.load[world, k]
        if tendons.feeds_back:
            moment += stiffness * (desired - arm.sign[k] * step.sum[world, k])
            moment += damping * (rate - arm.sign[k] * step.speed[world, k])
        tendons.moment[world, i] = tendons.weight[b, i] * moment


@wp.func
def _clipped(tendons: Tendons, b: int, world: int, t: int, tension: number):
    return wp.clamp(tension, tendons.low[b, t], tendons.most[world, t])


@wp.func
def _slope(tendons: Tendons, b: int, world: int, at: number):
    """Derivative of the dual function along the direction, `at` away."""
    slope = number(0.0)
    for i in range(tendons.bends):
        d = tendons.direction[world, i]
        dual = tendons.dual[world, i] + at * d
        slope += d * (tendons.moment[world, i] - tendons.regularization[b] * dual)
    for t in range(tendons.count):
        change = tendons.free_change[world, t]
        slope -= change * _clipped(tendons, b, world, t, tendons.free[world, t] + at * change)
    return slope


@wp.func
def _line_search(tendons: Tendons, b: int, world: int):
    """The step at which the slope, piecewise linear and falling, is zero."""
    before, after = number(0.0), NOWHERE + ZERO
    for t in range(tendons.count):
        change = tendons.free_change[world, t]
        if change != ZERO:
            for side in range(2):
                limit = wp.where(side == 0, tendons.low[b, t], tendons.most[world, t])
                kink = (limit - tendons.free[world, t]) / change
                if kink > before and kink < after:
                    if _slope(tendons, b, world, kink) > ZERO:
                        before = kink
                    else:
                        after = kink
    if after == NOWHERE:
        after = before + ONE
    at_before, at_after = _slope(tendons, b, world, before), _slope(tendons, b, world, after)
    if at_before > at_after:
        return before + (after - before) * at_before / (at_before - at_after)
    return before


@wp.func
def _project(tendons: Tendons, b: int, world: int, dual: numbers, to: numbers):
    """Tensions of a dual, without limits."""
    for t in range(tendons.count):
        sum = number(0.0)
        for i in range(tendons.bends):
            sum += tendons.moments[b, i, t] * dual[i]
        to[t] = sum


@wp.func
def _solve_free(tendons: Tendons, b: int, world: int, without_limits: bool, y: numbers):
    """y = (P P^T + regularization)^-1 y, of those tendons that are not at a limit."""
    for r in range(tendons.bends):
        for c in range(r + 1):
            sum = number(0.0)
            for t in range(tendons.count):
                free = tendons.free[world, t]
                if without_limits or (free > tendons.low[b, t] and free < tendons.most[world, t]):
                    sum += tendons.moments[b, r, t] * tendons.moments[b, c, t]
            tendons.hessian[world, r, c] = sum
        tendons.hessian[world, r, r] = tendons.hessian[world, r, r] + tendons.regularization[b]
    cholesky_solve(tendons.hessian[world], y, tendons.bends)


@wp.func
def _miss(tendons: Tendons, b: int, world: int):
    """Writes tensions and residual of the dual; returns the length of the residual."""
    _project(tendons, b, world, tendons.dual[world], tendons.free[world])
    for t in range(tendons.count):
        tendons.tension[world, t] = _clipped(tendons, b, world, t, tendons.free[world, t])
    squares = number(0.0)
    for i in range(tendons.bends):
        residual = tendons.moment[world, i] - tendons.regularization[b] * tendons.dual[world, i]
        for t in range(tendons.count):
            residual -= tendons.moments[b, i, t] * tendons.tension[world, t]
        tendons.residual[world, i] = residual
        squares += residual * residual
    return wp.sqrt(squares)


@wp.func
def _newton_step(tendons: Tendons, b: int, world: int):
    """Moves the dual; returns the largest change of a tension, below 0 if there is no step."""
    for i in range(tendons.bends):
        tendons.direction[world, i] = tendons.residual[world, i]
    _solve_free(tendons, b, world, False, tendons.direction[world])
    _project(tendons, b, world, tendons.direction[world], tendons.free_change[world])
    length = _line_search(tendons, b, world)
    if length <= ZERO:
        return -ONE
    for i in range(tendons.bends):
        tendons.dual[world, i] = tendons.dual[world, i] + length * tendons.direction[world, i]
    change = number(0.0)
    for t in range(tendons.count):
        tension = _clipped(tendons, b, world, t, tendons.free[world, t] + length * tendons.free_change[world, t])
        change = wp.max(change, wp.abs(tension - tendons.tension[world, t]))
    return change


@wp.func
def distribute(tendons: Tendons, b: int, world: int):
    """Tensions of the least norm that make the moments: TensionDistribution::distribute."""
    for i in range(tendons.bends):
        tendons.dual[world, i] = tendons.moment[world, i]
    _solve_free(tendons, b, world, True, tendons.dual[world])
    miss, iterations = _miss(tendons, b, world), wp.int32(0)
    while miss > tendons.tolerance[b] and iterations < MAX_ITERATIONS:
        iterations += 1
        change = _newton_step(tendons, b, world)
        if change < ZERO:
            iterations = wp.int32(MAX_ITERATIONS)
        else:
            miss = _miss(tendons, b, world)
            if change <= tendons.settled[b]:
                iterations = wp.int32(MAX_ITERATIONS)


@wp.func
def _limit_muscles(tendons: Tendons, b: int, world: int):
    for t in range(tendons.count):
        most = tendons.high[b, t]
        if tendons.gain_slope[b, t] != ZERO:
            part = _gain_at(tendons, b, t, tendons.length[world, t]) / tendons.gain[b, t]
            most = number(FRACTION_OF_LIMIT) * tendons.max_tension[b, t] * wp.min(part, ONE)
        tendons.most[world, t] = wp.max(most, tendons.low[b, t])


@wp.func
def _command(arm: Arm, tendons: Tendons, world: int, t: int, step: Step):
    """Of a tendon with its tension: a length, a tension or a pressure."""
    b, tension = world % arm.rows, tendons.tension[world, t]
    if not tendons.takes_length[t]:
        return tension / _gain_at(tendons, b, t, tendons.length[world, t])
    length, speed = number(0.0), number(0.0)
    for k in range(arm.coordinates):
        length += tendons.jacobian[b, t, k] * _desired(arm, step, world, k)
        speed += tendons.jacobian[b, t, k] * _rate(arm, step, world, k)
    stiffness, damping, offset = tendons.stiffness[b, t], tendons.damping[b, t], tendons.offset[b, t]
    desired = length + (damping * speed + offset - tension) / stiffness
    # Not more than the limit now: a tendon at its limit is integrated without its damping.
    limit = number(FRACTION_OF_LIMIT) * tendons.max_tension[b, t]
    shortest = tendons.length[world, t] + (damping * tendons.speed[world, t] + offset - limit) / stiffness
    return wp.max(desired, shortest)


@wp.kernel(module="unique", enable_backward=False)
def write_tendons(arm: Arm, tendons: Tendons, engine: Engine, step: Step, ctrl: wp.array2d(dtype=float)):
    """TendonDrive::commands, and what the tendons do to coordinates with servos, into step.pull."""
    world = wp.tid()
    b = world % arm.rows
    for t in range(tendons.count):
        tendons.length[world, t] = number(engine.ten_length[world, tendons.tendon[t]]) - tendons.rest_length[t]
        tendons.speed[world, t] = number(engine.ten_velocity[world, tendons.tendon[t]])
    _limit_muscles(tendons, b, world)
    _hold(arm, tendons, world, step)
    distribute(tendons, b, world)
    for t in range(tendons.count):
        ctrl[world, tendons.control[t]] = float(_command(arm, tendons, world, t, step))
    for k in range(arm.coordinates):
        pull = number(0.0)
        for t in range(tendons.count):
            pull -= tendons.jacobian[b, t, k] * tendons.tension[world, t]
        step.pull[world, k] = arm.sign[k] * pull


def tendons_for(bound: BoundRobot, model: Any) -> Any:
    """The tendons of an arm in all worlds; none: it has none."""
    if "tendon_drive" not in bound.tables[0]:
        return None
    drives = [one["tendon_drive"] for one in bound.tables]
    for key in ("tendons", "bends"):
        require_same(bound.tables, key, [len(drive[key]) for drive in drives])
    drive, tendons = drives[0], Tendons()
    tendons.count, tendons.bends, tendons.feeds_back = len(drive["tendons"]), len(drive["bends"]), drive["feeds_back"]
    actuators = [tendon["actuator"] for tendon in drive["tendons"]]
    ids = model.actuator_trnid[actuators, 0]
    tendons.tendon, tendons.control = bound.integers(ids), bound.integers(model.actuator_ctrladr[actuators])
    tendons.rest_length = bound.numbers(model.tendon_length0[ids])
    takes_length = [tendon["takes_length"] for tendon in drive["tendons"]]
    tendons.takes_length = wp.array(takes_length, dtype=bool, device=bound.device)
    for key in _TENDON:
        setattr(tendons, key, bound.numbers([[one[key] for one in drive["tendons"]] for drive in drives]))
    for key in _SPRING:
        values = [[one[key] for one in drive["bends"]] for drive in drives]
        setattr(tendons, f"body_{key}", bound.numbers(values))
    tendons.coordinate = bound.integers([bend["coordinate"] for bend in drive["bends"]])
    tendons.jacobian = bound.numbers([_jacobian(one) for one in bound.tables])
    tendons.weight = bound.numbers([drive["weights"] for drive in drives])
    set_distribution(tendons, bound, drives)
    set_scratch(tendons, bound)
    return tendons


def _jacobian(table: Table) -> Any:
    """dl/dq, tendons x coordinates."""
    joints = np.array([tendon["joints"] for tendon in table["tendon_drive"]["tendons"]])
    columns, first = [], 0
    for row in table["coordinates"]:
        last = first + len(row["joints"])
        fractions = np.array([joint[1] for joint in row["joints"]])
        columns.append(row["sign"] * joints[:, first:last] @ fractions)
        first = last
    return np.stack(columns, axis=1)


def set_distribution(tendons: Any, bound: BoundRobot, drives: Sequence[Table]) -> None:
    moments = np.array([drive["moments"] for drive in drives])
    most = np.array([[one["max_tension"] for one in drive["tendons"]] for drive in drives])
    high = FRACTION_OF_LIMIT * most
    low = np.minimum([[one["min_tension"] for one in drive["tendons"]] for drive in drives], high)
    largest = np.maximum(np.abs(low), np.abs(high))
    squares = (moments**2).sum(axis=(1, 2)) / max(tendons.bends, 1)
    scale = np.linalg.norm(np.einsum("rit,rt->ri", np.abs(moments), largest), axis=1)
    tendons.moments, tendons.low, tendons.high = bound.numbers(moments), bound.numbers(low), bound.numbers(high)
    tendons.regularization = bound.numbers(REGULARIZATION * np.maximum(squares, 1e-30))
    tendons.tolerance = bound.numbers(CONVERGED * TOLERANCE * scale)
    tendons.settled = bound.numbers(SETTLED * largest.max(axis=1))


def set_scratch(tendons: Any, bound: BoundRobot) -> None:
    for key in ("length", "speed", "tension", "most", "free", "free_change"):
        setattr(tendons, key, bound.zeros(tendons.count))
    for key in ("moment", "dual", "residual", "direction"):
        setattr(tendons, key, bound.zeros(tendons.bends))
    tendons.hessian = bound.zeros(tendons.bends, tendons.bends)
