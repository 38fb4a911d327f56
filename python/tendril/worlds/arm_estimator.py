"""The recursive estimate of an arm from its sensors, one thread for each world.

The steps of tendril/estimation/arm_estimator.cpp. Source: docs/theory/estimation.md, "Recursion".
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import warp as wp

from tendril.worlds.arm import functions, number, numbers, rows, solve_factored, tables
from tendril.worlds.elastic_arm import (
    DIRECTION,
    ONE,
    ROTATION,
    ZERO,
    Balance,
    Body,
    Sensors,
    factor_step,
    find_residual,
    linearize,
    place_pose,
    position_of,
    set_frames,
)
from tendril.worlds.tables import BoundRobot, Table


@wp.struct
class Noise:
    """ArmEstimatorOptions, of each world or of all."""

    timestep: number
    moment: rows  # of each coordinate
    force: numbers
    friction: numbers  # deviation of the share of a tendon
    keep: numbers  # of that share, in a step
    tension: rows
    has_tension: bool
    start_bend: numbers
    start_rate: numbers
    start_force: numbers


@wp.struct
class Memory:
    """A row for each world: the state and L, of now and of the oldest time; and the ring of times."""

    x: rows
    L: tables
    oldest_x: rows
    oldest_L: tables
    head: wp.array(dtype=int)
    filled: wp.array(dtype=int)
    tension: tables  # of each time
    moment: tables
    base: tables  # feed and spin
    values: tables
    present: wp.array3d(dtype=int)  # whether each value is there


@wp.struct
class Filter:
    """Scratch, a row for each world."""

    x: rows
    L: tables
    F: tables
    stacked: tables
    y: rows
    linearized_at: rows
    gain: rows
    phi: rows


@wp.struct
class Estimator:
    chain: functions.Chain
    body: Body
    balance: Balance
    sensors: Sensors
    noise: Noise
    memory: Memory
    filter: Filter


@wp.func
def _copy(a: rows, b: rows):
    """b = a."""
    for r in range(a.shape[0]):
        for c in range(a.shape[1]):
            b[r, c] = a[r, c]


@wp.func
def _copy_row(a: numbers, b: numbers):
    for i in range(a.shape[0]):
        b[i] = a[i]


@wp.func
def start_estimator(e: Estimator, world: int, q: rows):
    """ArmEstimator::start."""
    n, t, N = e.body.n, e.body.tendons, e.memory.x.shape[1]
    b = world % e.body.rows
    for i in range(N):
        e.memory.oldest_x[world, i] = ZERO
        for j in range(N):
            e.memory.oldest_L[world, i, j] = ZERO
    for k in range(n):
        e.memory.oldest_x[world, k] = q[b, k]
        e.memory.oldest_L[world, k, k] = e.noise.start_bend[b] * e.body.scale[k]
        e.memory.oldest_L[world, n + k, n + k] = e.noise.start_rate[b] * e.body.scale[k]
    for r in range(3):
        e.memory.oldest_L[world, 2 * n + r, 2 * n + r] = e.noise.start_force[b]
    for k in range(2 * n + 3, 2 * n + 3 + t):
        e.memory.oldest_L[world, k, k] = e.noise.friction[b]
    _copy_row(e.memory.oldest_x[world], e.memory.x[world])
    _copy(e.memory.oldest_L[world], e.memory.L[world])
    e.memory.head[world] = 0
    e.memory.filled[world] = 0


@wp.func
def _time(memory: Memory, world: int, back: int):
    """Place in the ring of so many steps ago."""
    count = memory.values.shape[1]
    return (memory.head[world] - back + count) % count


@wp.func
def _load_input(e: Estimator, world: int, at: int):
    _copy_row(e.memory.tension[world][at], e.balance.tension[world])
    _copy_row(e.memory.moment[world][at], e.balance.input_moment[world])
    e.balance.feed[world] = e.memory.base[world, at, 0]
    e.balance.spin[world] = e.memory.base[world, at, 1]


@wp.func
def _triangularize(stacked: rows):
    """Replaces a matrix by its triangular factor R, R^T R = stacked^T stacked, in its first rows."""
    count = stacked.shape[0]
    for k in range(stacked.shape[1]):
        first, rest = stacked[k, k] + ZERO, number(0.0)
        for r in range(k + 1, count):
            rest += stacked[r, k] * stacked[r, k]
        if rest > ZERO:
            beta = -wp.sqrt(first * first + rest)
            if first < ZERO:
                beta = -beta
            tau, below = (beta - first) / beta, first - beta
            for r in range(k + 1, count):
                stacked[r, k] = stacked[r, k] / below
            for c in range(k + 1, stacked.shape[1]):
                sum = stacked[k, c] + ZERO
                for r in range(k + 1, count):
                    sum += stacked[r, k] * stacked[r, c]
                stacked[k, c] = stacked[k, c] - tau * sum
                for r in range(k + 1, count):
                    stacked[r, c] = stacked[r, c] - tau * sum * stacked[r, k]
            stacked[k, k] = beta
            for r in range(k + 1, count):
                stacked[r, k] = ZERO


@wp.func
def _set_rates(e: Estimator, world: int, column: int):
    """Writes A^-1 y to the rates in a column of F, and what it does to the positions."""
    n, h, y = e.body.n, e.noise.timestep, e.filter.y[world]
    solve_factored(e.balance.factor[world], y, n)
    for k in range(n):
        e.filter.F[world, n + k, column] = y[k]
        e.filter.F[world, k, column] = h * y[k]


@wp.func
def _add_noise(e: Estimator, world: int, row: int):
    """The same of a noise, as a row of `stacked`."""
    n, h, y = e.body.n, e.noise.timestep, e.filter.y[world]
    solve_factored(e.balance.factor[world], y, n)
    for k in range(n):
        e.filter.stacked[world, row, n + k] = y[k]
        e.filter.stacked[world, row, k] = h * y[k]


@wp.func
def _predict(e: Estimator, world: int):
    """One step of `filter.x` and `filter.L`: ArmEstimator::predict."""
    body, noise, b = e.body, e.noise, world % e.body.rows
    n, t, N, h = body.n, body.tendons, e.memory.x.shape[1], e.noise.timestep
    x, L, F, stacked, y = (
        e.filter.x[world],
        e.filter.L[world],
        e.filter.F[world],
        e.filter.stacked[world],
        e.filter.y[world],
    )
    keep = noise.keep[b]
    linearize(e.chain, body, x, e.balance, world)
    factor_step(body, h, e.balance, world)
    for r in range(N):
        for c in range(N):
            F[r, c] = ZERO
    for c in range(n):
        for k in range(n):
            y[k] = h * e.balance.by_q[world, k, c]
        _set_rates(e, world, c)
        F[c, c] = F[c, c] + ONE
        for k in range(n):
            y[k] = e.balance.mass[world, k, c]
        _set_rates(e, world, n + c)
    for c in range(3):
        for k in range(n):
            y[k] = h * e.balance.by_force[world, k, c]
        _set_rates(e, world, 2 * n + c)
        F[2 * n + c, 2 * n + c] = ONE
    for c in range(t):
        for k in range(n):
            y[k] = h * e.balance.by_friction[world, k, c]
        _set_rates(e, world, 2 * n + 3 + c)
        F[2 * n + 3 + c, 2 * n + 3 + c] = keep

    for i in range(N):
        for r in range(2 * n):
            sum = number(0.0)
            for c in range(N):
                sum += L[c, i] * F[r, c]
            stacked[i, r] = sum
        for r in range(2 * n, N):
            stacked[i, r] = L[r, i] * F[r, r]
    for r in range(N, stacked.shape[0]):
        for c in range(N):
            stacked[r, c] = ZERO
    for c in range(n):
        for k in range(n):
            y[k] = ZERO
        y[c] = wp.sqrt(h) * noise.moment[b, c]
        _add_noise(e, world, N + c)
    for r in range(3):
        stacked[N + n + r, 2 * n + r] = noise.force[b] * wp.sqrt(h)
    for k in range(t):
        stacked[N + n + 3 + k, 2 * n + 3 + k] = noise.friction[b] * wp.sqrt(ONE - keep * keep)
    if noise.has_tension:
        for c in range(t):
            for k in range(n):
                y[k] = -h * body.lengths_by_q[b, c, k] * noise.tension[b, c] * (ONE + x[2 * n + 3 + c])
            _add_noise(e, world, N + n + 3 + t + c)
    _triangularize(stacked)
    for r in range(N):
        for c in range(N):
            L[r, c] = wp.where(r >= c, stacked[c, r], ZERO)

    for k in range(n):
        rate = h * e.balance.moment[world, k]
        for c in range(n):
            rate += e.balance.mass[world, k, c] * x[n + c]
        y[k] = rate
    solve_factored(e.balance.factor[world], y, n)
    for k in range(n):
        x[n + k] = y[k]
        x[k] = x[k] + h * y[k]
    for k in range(2 * n + 3, N):
        x[k] = keep * x[k]


@wp.func
def _correct(e: Estimator, world: int, at: int):
    """ArmEstimator::correct, with the readings of a time."""
    x, L, N, b = e.filter.x[world], e.filter.L[world], e.memory.x.shape[1], world % e.body.rows
    gain, phi, linearized_at, by_x = (
        e.filter.gain[world],
        e.filter.phi[world],
        e.filter.linearized_at[world],
        e.sensors.by_x[world],
    )
    present = e.memory.present[world][at]
    for s in range(e.sensors.kind.shape[0]):
        first, last = e.sensors.first[s], e.sensors.first[s + 1]
        values = wp.int32(0)
        for i in range(first, last):
            values += present[i]
        needs_all = e.sensors.kind[s] == DIRECTION or e.sensors.kind[s] == ROTATION
        if values == 0 or (needs_all and values < last - first):
            continue
        variance = e.sensors.deviation[b, s] * e.sensors.deviation[b, s]
        _copy_row(x, linearized_at)
        find_residual(e.chain, e.body, e.sensors, s, x, e.balance, e.memory.values[world][at], world)
        for row in range(e.sensors.equations[s]):
            if needs_all or present[first + row] != 0:
                squared, error = number(0.0), e.sensors.residual[world, row] + ZERO
                for c in range(N):
                    sum = number(0.0)
                    for r in range(N):
                        sum += L[r, c] * by_x[row, r]
                    phi[c] = sum
                    squared += sum * sum
                    error -= by_x[row, c] * (x[c] - linearized_at[c])
                expected = squared + variance
                part = ONE / (expected + wp.sqrt(expected * variance))
                for r in range(N):
                    sum = number(0.0)
                    for c in range(N):
                        sum += L[r, c] * phi[c]
                    gain[r] = sum
                for r in range(N):
                    x[r] = x[r] + error / expected * gain[r]
                    for c in range(N):
                        L[r, c] = L[r, c] - gain[r] * (part * phi[c])


@wp.func
def _load_oldest(e: Estimator, world: int):
    _copy_row(e.memory.oldest_x[world], e.filter.x[world])
    _copy(e.memory.oldest_L[world], e.filter.L[world])


@wp.func
def step_estimator(
    e: Estimator,
    world: int,
    tension: numbers,
    moment: numbers,
    feed: number,
    spin: number,
    read: numbers,
    arrived: wp.array(dtype=int),
):
    """ArmEstimator::step; of `read` those count that have arrived."""
    memory = e.memory
    times, filled = memory.values.shape[1], memory.filled[world] + 0
    moves_on = filled == 0 or filled == times
    if moves_on:
        _load_oldest(e, world)
    if filled == times:
        at = _time(memory, world, times - 1)
        _load_input(e, world, at)
        _correct(e, world, at)
    memory.head[world] = (memory.head[world] + 1) % times
    filled = wp.min(filled + 1, times)
    memory.filled[world] = filled
    now = _time(memory, world, 0)
    _copy_row(tension, memory.tension[world][now])
    _copy_row(moment, memory.moment[world][now])
    memory.base[world, now, 0] = feed
    memory.base[world, now, 1] = spin
    for i in range(memory.present.shape[2]):
        memory.present[world, now, i] = 0
    if moves_on:
        _load_input(e, world, _time(memory, world, filled - 1))
        _predict(e, world)
        _copy_row(e.filter.x[world], memory.oldest_x[world])
        _copy(e.filter.L[world], memory.oldest_L[world])

    late = wp.int32(0)  # how many steps ago the first of the readings is from
    for s in range(e.sensors.kind.shape[0]):
        back = e.sensors.delay[s]
        if back >= filled:
            continue  # older than the start
        then = _time(memory, world, back)
        for i in range(e.sensors.first[s], e.sensors.first[s + 1]):
            if arrived[i] != 0:
                memory.values[world, then, i] = read[i]
                memory.present[world, then, i] = 1
                late = wp.max(late, back)

    oldest, back = filled - 1, wp.int32(0)
    if late > 0 or oldest == 0:
        _load_oldest(e, world)
        back = oldest
    else:
        _copy_row(memory.x[world], e.filter.x[world])
        _copy(memory.L[world], e.filter.L[world])
        _load_input(e, world, now)
        _predict(e, world)
    while back >= 0:
        then = _time(memory, world, back)
        _load_input(e, world, then)
        if late > 0 and back < oldest:
            _predict(e, world)
        _correct(e, world, then)
        back -= 1
    _copy_row(e.filter.x[world], memory.x[world])
    _copy(e.filter.L[world], memory.L[world])


@wp.func
def estimated_tip(e: Estimator, world: int):
    """Position and frame of the tip, with its uneven deflection."""
    x, tip = e.memory.x[world], e.body.places.tip
    now = _time(e.memory, world, 0)
    _load_input(e, world, now)
    set_frames(e.chain, x, e.balance, world)
    position, by_force = position_of(e.chain, e.body, tip, x, e.balance, world, e.balance.by_place[world])
    unused, R = place_pose(e.chain, e.body.places, tip, x, e.balance, world, e.balance.jacobian[world])
    return position, R


def estimator_for(
    bound: BoundRobot, sensed: list[Table], chain: Any, body: Any, balance: Any, sensors: Any, timestep: float
) -> Any:
    """The estimators of one arm in all worlds."""
    e = Estimator()
    e.chain, e.body, e.balance, e.sensors = chain, body, balance, sensors
    n, t = body.n, body.tendons
    N = 2 * n + 3 + t
    noise = Noise()
    noise.timestep = timestep
    springs = [one["springs"] for one in sensed]
    held = np.array([[spring["stiffness"] * spring["scale"] for spring in each] for each in springs])
    noise.moment = bound.numbers(np.array([[one["bend_noise"]] for one in sensed]) * held)
    noise.force = bound.numbers([one["force_noise"] for one in sensed])
    noise.friction = bound.numbers([one["friction_deviation"] for one in sensed])
    noise.keep = bound.numbers([math.exp(-timestep / one["friction_time"]) for one in sensed])
    deviations = np.array([one["tension_deviations"] for one in sensed]).reshape(len(sensed), t)
    noise.tension, noise.has_tension = bound.numbers(deviations), bool(np.any(deviations != 0.0))
    for key in ("start_bend", "start_rate", "start_force"):
        setattr(noise, key, bound.numbers([one[key] for one in sensed]))
    e.noise = noise
    values = sum(one["size"] for one in sensed[0]["sensors"])
    times = 1 + max(one["delay"] for one in sensed[0]["sensors"])
    memory = Memory()
    memory.x, memory.L = bound.zeros(N), bound.zeros(N, N)
    memory.oldest_x, memory.oldest_L = bound.zeros(N), bound.zeros(N, N)
    memory.head, memory.filled = bound.zeros(kind=int), bound.zeros(kind=int)
    memory.tension, memory.moment = bound.zeros(times, t), bound.zeros(times, n)
    memory.base, memory.values = bound.zeros(times, 2), bound.zeros(times, values)
    memory.present = bound.zeros(times, values, kind=int)
    e.memory = memory
    of = Filter()
    of.x, of.y, of.linearized_at, of.gain, of.phi = (bound.zeros(N) for _ in range(5))
    of.L, of.F = bound.zeros(N, N), bound.zeros(N, N)
    of.stacked = bound.zeros(N + n + 3 + t + (t if noise.has_tension else 0), N)
    e.filter = of
    return e
