"""`tendril.follow` of a path or a trail, one thread for each world: the steps of controllers/arm/follow_controller.cpp.

A path that is given comes as points from the C++ controller. Source: docs/theory/control.md, "Fitting an arm to a path"
and "Tip integral".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import warp as wp

import tendril as td
from tendril.worlds.arm import (
    Arm,
    Integral,
    Step,
    cholesky_solve,
    compensate_deflection,
    feed_force,
    feed_setpoint,
    forget_integral,
    functions,
    integrate,
    keep_within_lengths,
    largest_change,
    mat33,
    number,
    numbers,
    project,
    rows,
    smooth_step,
    tables,
    vec3,
)
from tendril.worlds.bound_arm import BoundArm
from tendril.worlds.contacts import BoundContacts, Contacts, correctable, push
from tendril.worlds.controller import ControllerOfPath
from tendril.worlds.kinematics import chain_of, first_coordinates
from tendril.worlds.poses import jam_feed_force
from tendril.worlds.tables import Table, stacked

# The numbers of the C++ code.
MAX_SETTLING_TIME, SETTLED_TIME = number(5.0), number(0.25)  # s
NEAR_FRACTION, STILL_FRACTION = number(0.5), number(0.25)  # of the tip error at which the feed stops
SLOW_DOWNS = 4
DEFLECTION_DAMPING = number(0.003)  # m
MAX_BEND = number(0.3)  # rad, of a section's compensation
FIRST_FIT, FIT, STEERED_FIT = wp.constant(30), wp.constant(2), wp.constant(3)  # steps of ShapeFit
PROJECTIONS = wp.constant(3)  # of a point on the path, from where it was
FEED_GAIN = number(2.0)  # of the correction of the feed, against that of the bends
MAX_LAG = number(0.5)  # rad, of the bends behind the path, at which the tip waits
FIT_DAMPING, TIP_WEIGHT = number(1e-6), number(4.0)
RETRACTED = number(1e-9)  # lengths are equal up to this, m
MIN_WEIGHT, SMALL_DEVIATION = number(0.01), number(1e-5)  # of the fit of the body; m
PASSES, LIMIT_TOLERANCE = 3, number(1e-9)  # of a step of the fit; rad
QUARTERS, QUARTER = wp.constant(4), number(0.25)
ZERO, HALF, ONE, TWO = (number(x) for x in (0.0, 0.5, 1.0, 2.0))
WORKING, FINISHED, NOT_REACHED, JAMMED = (
    wp.constant(int(status))
    for status in (
        td.ControllerStatus.WORKING,
        td.ControllerStatus.FINISHED,
        td.ControllerStatus.NOT_REACHED,
        td.ControllerStatus.JAMMED,
    )
)
# Jams, in radii of the body.
RETREAT_RADII, SHIFT_RADII, SAME_PLACE_RADII = number(2.0), number(0.5), number(4.0)
SMALL_PUSH, ACROSS_STEP = number(1e-3), number(1e-3)  # N; m
_ALLOWED = {"poses": ("",)}
vec4 = wp.vec4d


@wp.struct
class _Settings:
    """Of one world."""

    speed: number  # m/s
    acceleration: number
    start_delay: number  # s
    jam_tip_error: number  # m
    jam_feed_force: number  # N
    jam_time: number  # s
    jam_retries: int
    follows_body: bool  # fit = "body"
    spacing: number  # of the points of a path that is given, m
    trail_spacing: number  # least distance of a new point of a trail, m
    trail_capacity: int
    limit: number  # of the advance, m


@wp.struct
class _Path:
    """The path in the base frame; of settings and of points one row for each world, or one for all."""

    settings: wp.array(dtype=_Settings)
    points: wp.array2d(dtype=vec3)
    target_mocap: int  # whose trail is the path; -1: the path is given
    trail: wp.array2d(dtype=vec4)  # points and their arc lengths, a row for each world
    trail_count: wp.array(dtype=int)
    length: number  # of the arm before it has advanced, m
    start_extension: numbers  # of each section then
    grows: bool  # sections grow after the feed, one after the other
    grows_from_tip: bool
    radius: number  # of the body, m
    shaft: int  # coordinates of a passive shaft, which the sections below are behind; 0: none
    feed_limit: number  # m
    tip_length: number  # of these sections, straight, m
    chain: functions.Chain
    quarters: functions.Chain  # points on the body: `chain_of`


@wp.struct
class _State:
    """The controller's memory in one world, but for its arrays."""

    started: bool
    feeding: bool
    jammed: bool
    time: number
    advanced: number  # m
    speed: number  # m/s
    settled_time: number
    blocked_time: number
    still_tip: vec3  # since it has been still
    feed_setpoint: number
    attempts: int  # after jams at one place
    retreating: bool  # to where the next attempt begins
    retreat_to: number  # advance, m
    jam_at: number  # arc length of the tip at the last jam, m
    shift: vec3  # of the path from there on
    slack: number  # of the feed, by which a passive shaft lags, m
    start: vec3  # where the sections behind it begin, measured, and their frame there
    start_frame: mat33


@wp.struct
class _Memory:
    """The controller's memory, a row for each world; what it reports; and scratch."""

    state: wp.array(dtype=_State)
    q: rows  # commanded without corrections
    true_tip: wp.array(dtype=vec3)
    tip_error: numbers  # of the true tip
    progress: numbers
    status: wp.array(dtype=int)
    candidate: rows
    last: rows  # q before this step
    measured: rows
    rotations: wp.array2d(dtype=mat33)
    planned: wp.array2d(dtype=vec3)  # middles and ends of the sections
    ends: wp.array2d(dtype=vec3)
    columns: wp.array2d(dtype=vec3)  # of a point's Jacobian
    normal: tables  # equations of all bends
    gradient: rows
    factor: tables
    bends: rows  # their solution


@wp.func
def _settings_in(path: _Path, world: int):
    return path.settings[world % path.settings.shape[0]]


@wp.func
def _trail_point(path: _Path, world: int, s: number):
    """Point of the trail at an arc length."""
    high = path.trail_count[world] - 1
    low = high - high
    while high - low > 1:
        middle = (low + high) // 2
        if path.trail[world, middle][3] <= s:
            low = middle
        else:
            high = middle
    a, b = path.trail[world, low], path.trail[world, high]
    p = a + (s - a[3]) / (b[3] - a[3]) * (b - a)
    return vec3(p[0], p[1], p[2])


@wp.func
def _curve(path: _Path, world: int, s: number):
    """Point of the path at an arc length."""
    if path.target_mocap >= 0:
        return _trail_point(path, world, s)
    row = world % path.points.shape[0]
    x = s / _settings_in(path, world).spacing
    i = wp.clamp(int(x), 0, path.points.shape[1] - 2)
    p = path.points[row, i]
    return p + (x - number(i)) * (path.points[row, i + 1] - p)


@wp.func
def _shifted_curve(path: _Path, world: int, s: number, memory: _Memory):
    """The path with what the last jam has shown."""
    last = path.chain.sections - 1
    ramp = path.chain.length[last] + path.chain.variable_length[last]
    fraction = smooth_step((s - memory.state[world].jam_at) / ramp + ONE)
    return _curve(path, world, s) + fraction * memory.state[world].shift


@wp.func
def _across(path: _Path, world: int, s: number, v: vec3):
    """The component of v across the path."""
    along = wp.normalize(_curve(path, world, s + ACROSS_STEP) - _curve(path, world, s - ACROSS_STEP))
    return v - wp.dot(along, v) * along


@wp.func
def _apply(path: _Path, advance: number, q: numbers):
    """Sets the variable lengths of q to those at an advance, and returns the feed there: Advance::apply."""
    chain = path.chain
    feed = wp.min(advance, chain.feed_limit)
    growth = advance - feed
    for k in range(chain.sections):
        i = wp.where(path.grows_from_tip, chain.sections - 1 - k, k)
        own = functions.coordinates(chain, q, i)
        grown = wp.clamp(growth, ZERO, chain.variable_length[i] - path.start_extension[i])
        growth -= grown
        own[2] = path.start_extension[i] + grown
        functions.set_coordinates(chain, q, i, functions.clamped(chain, i, own))
    return feed


@wp.func
def _measured_advance(path: _Path, world: int, feed: number, memory: _Memory):
    """Advance::measured."""
    advance = feed - memory.state[world].slack
    for i in range(path.chain.sections):
        if path.grows and path.chain.variable_length[i] > ZERO:
            advance += functions.coordinates(path.chain, memory.measured[world], i)[2] - path.start_extension[i]
    return advance


@wp.func
def _reference(path: _Path, world: int, q: numbers, advance: number, memory: _Memory):
    """Where the tip of a commanded shape should be."""
    settings = _settings_in(path, world)
    if path.shaft > 0 or not settings.follows_body or advance >= settings.limit:
        return _shifted_curve(path, world, advance + path.length, memory)
    feed = wp.min(advance, path.chain.feed_limit)
    _body_frames(path, world, feed, ZERO, q, memory)
    return memory.ends[world, path.chain.sections]


@wp.func
def _settle(world: int, settings: _Settings, tip: vec3, deviation: number, h: number, memory: _Memory):
    """Whether the arm has settled once after the start delay, and is fed."""
    state = memory.state[world]
    waited = state.time >= settings.start_delay + MAX_SETTLING_TIME
    near = deviation <= wp.where(waited, ONE, NEAR_FRACTION) * settings.jam_tip_error
    still = state.started and wp.length(tip - state.still_tip) <= STILL_FRACTION * settings.jam_tip_error
    if not still:
        memory.state[world].still_tip = tip
    settled_time = number(0.0)
    if near and (still or waited or not state.started):
        settled_time = state.settled_time + h
    memory.state[world].settled_time = wp.min(settled_time, TWO * SETTLED_TIME)
    settled = settled_time >= wp.min(SETTLED_TIME, state.time)
    memory.state[world].feeding = state.feeding or (state.time >= settings.start_delay and settled)


@wp.func
def _is_jam(
    world: int, settings: _Settings, retracted: bool, deviation: number, feed_force: number, h: number, memory: _Memory
):
    """Whether a jam begins: JamDetector::step. A jam lasts."""
    state = memory.state[world]
    begun = state.feeding or state.time >= settings.start_delay + MAX_SETTLING_TIME
    watched = retracted and begun and not state.retreating
    blocked = deviation > settings.jam_tip_error or wp.abs(feed_force) >= settings.jam_feed_force
    blocked_time = number(0.0)
    if watched and blocked:
        blocked_time = state.blocked_time + h
    memory.state[world].blocked_time = blocked_time
    if state.jammed or blocked_time <= settings.jam_time:
        return False
    memory.state[world].jammed = True
    return True


@wp.func
def _begin_equations(chain: functions.Chain, world: int, memory: _Memory):
    for r in range(2 * chain.sections):
        memory.gradient[world, r] = ZERO
        for c in range(2 * chain.sections):
            memory.normal[world, r, c] = ZERO


@wp.func
def _body_frames(path: _Path, world: int, feed: number, spin: number, q: numbers, memory: _Memory):
    """Writes the frames of a pose to the memory; sections behind a passive shaft begin where it ends."""
    if path.shaft > 0:
        memory.rotations[world, 0] = memory.state[world].start_frame
        memory.ends[world, 0] = memory.state[world].start
        functions.add_frames(path.chain, q, memory.rotations[world], memory.ends[world])
    else:
        functions.end_frames(path.chain, q, feed, spin, memory.rotations[world], memory.ends[world])


@wp.func
def _body_point(path: _Path, world: int, i: int, quarter: int, q: numbers, memory: _Memory):
    """Point of section i, of the pose whose frames are in the memory."""
    rotation, p = functions.section_pose(
        path.quarters, QUARTERS * i + quarter - 1, functions.coordinates(path.chain, q, i)
    )
    return memory.ends[world, i] + memory.rotations[world, i] * p


@wp.func
def _add_equations(
    path: _Path, world: int, i: int, quarter: int, q: numbers, p: vec3, error: vec3, weight: number, memory: _Memory
):
    """Adds weight |error - J dq|^2 of a point of section i to the normal equations of all bends."""
    chain, base = path.chain, memory.rotations[world, i]
    own = functions.coordinates(chain, q, i)
    w_u, w_v, p_u, p_v, p_s = functions.section_rates(path.quarters, QUARTERS * i + quarter - 1, own)
    memory.columns[world, 2 * i] = chain.bends[i][0] * (base * p_u)
    memory.columns[world, 2 * i + 1] = chain.bends[i][1] * (base * p_v)
    for m in range(i):
        w_u, w_v, p_u, p_v, p_s = functions.section_rates(chain, m, functions.coordinates(chain, q, m))
        before, arm = memory.rotations[world, m], p - memory.ends[world, m + 1]
        memory.columns[world, 2 * m] = chain.bends[m][0] * (before * p_u + wp.cross(before * w_u, arm))
        memory.columns[world, 2 * m + 1] = chain.bends[m][1] * (before * p_v + wp.cross(before * w_v, arm))
    for r in range(2 * i + 2):
        J = weight * memory.columns[world, r]
        memory.gradient[world, r] = memory.gradient[world, r] + wp.dot(J, error)
        for c in range(2 * i + 2):
            memory.normal[world, r, c] = memory.normal[world, r, c] + wp.dot(J, memory.columns[world, c])


@wp.func
def _solve_equations(chain: functions.Chain, world: int, memory: _Memory):
    """Writes the bends that solve the normal equations."""
    for r in range(2 * chain.sections):
        memory.bends[world, r] = memory.gradient[world, r]
        for c in range(r + 1):
            memory.factor[world, r, c] = memory.normal[world, r, c]
    cholesky_solve(memory.factor[world], memory.bends[world], 2 * chain.sections)


@wp.func
def _fix(chain: functions.Chain, world: int, section: int, bend: vec3, memory: _Memory):
    """Makes the update of a section a constant of the normal equations: ShapeFit::fix."""
    for k in range(2):
        column = 2 * section + k
        for r in range(2 * chain.sections):
            memory.gradient[world, r] = memory.gradient[world, r] - memory.normal[world, r, column] * bend[k]
        for r in range(2 * chain.sections):
            memory.normal[world, r, column] = ZERO
            memory.normal[world, column, r] = ZERO
        memory.normal[world, column, column] = ONE
        memory.gradient[world, column] = bend[k]


@wp.func
def _step_within_limits(chain: functions.Chain, world: int, q: numbers, memory: _Memory):
    """ShapeFit::solve_within_limits."""
    within = wp.bool(False)
    for _attempt in range(PASSES):
        if not within:
            _solve_equations(chain, world, memory)
            within = wp.bool(True)
            for i in range(chain.sections):
                own = functions.coordinates(chain, q, i)
                limit = functions.bend_limit(chain, i, own[2])
                bend = vec3(own[0], own[1], ZERO)
                after = bend + vec3(memory.bends[world, 2 * i], memory.bends[world, 2 * i + 1], ZERO)
                if wp.length(after) > limit + LIMIT_TOLERANCE:
                    within = wp.bool(False)
                    _fix(chain, world, i, after * (limit / wp.length(after)) - bend, memory)
    for i in range(chain.sections):
        change = vec3(memory.bends[world, 2 * i], memory.bends[world, 2 * i + 1], ZERO)
        own = functions.coordinates(chain, q, i) + change
        functions.set_coordinates(chain, q, i, functions.clamped(chain, i, own))


@wp.func
def _weight(follows_body: bool, is_tip: bool, deviation: number, largest: number):
    """ShapeFit::point_weight."""
    if not follows_body:
        return wp.where(is_tip, TIP_WEIGHT, ONE)
    if largest < SMALL_DEVIATION:
        return ONE
    ratio = deviation / largest
    return wp.min(ONE, ratio * ratio) + MIN_WEIGHT


@wp.func
def _fit(path: _Path, world: int, feed: number, steps: int, q: numbers, memory: _Memory):
    """Improves the bends of q, for which the body lies on the path: ShapeFit::fit.

    The first section begins at the arc length `feed`. With fit = "body" the first pass only finds the largest
    deviation.
    """
    chain = path.chain
    follows_body = _settings_in(path, world).follows_body
    stride = wp.where(follows_body, 1, 2)
    largest = number(0.0)
    for k in range(steps + 1):
        if k > 0 or follows_body:
            _body_frames(path, world, feed, ZERO, q, memory)
            _begin_equations(chain, world, memory)
            s = feed + ZERO  # at the start of the section
            farthest = number(0.0)
            for i in range(chain.sections):
                length = chain.length[i] + functions.coordinates(chain, q, i)[2]
                for quarter in range(stride, QUARTERS + 1, stride):
                    p = _body_point(path, world, i, quarter, q, memory)
                    error = _shifted_curve(path, world, s + length * number(quarter) * QUARTER, memory) - p
                    is_tip = i == chain.sections - 1 and quarter == QUARTERS
                    weight = _weight(follows_body, is_tip, wp.length(error), largest)
                    farthest = wp.max(farthest, wp.length(error))
                    if k > 0:
                        _add_equations(path, world, i, quarter, q, p, error, weight, memory)
                s += length
            largest = farthest
            if k > 0:
                for r in range(2 * chain.sections):
                    memory.normal[world, r, r] = memory.normal[world, r, r] + FIT_DAMPING
                    if follows_body:
                        memory.gradient[world, r] = memory.gradient[world, r] / number(3.0)
                _step_within_limits(chain, world, q, memory)


@wp.func
def _next_speed(settings: _Settings, last_speed: number, remaining: number, h: number):
    """FeedDrive::Limits::next_speed."""
    speed = wp.min(settings.speed, wp.max(last_speed, ZERO) + settings.acceleration * h)
    return wp.min(speed, wp.min(wp.sqrt(TWO * settings.acceleration * remaining), remaining / h))


@wp.func
def _feed(path: _Path, world: int, goal: number, rate_limit: number, h: number, memory: _Memory):
    """One step of advance towards a goal, slowed down until every section keeps its rate limit: FeedDrive::step."""
    state = memory.state[world]
    settings = _settings_in(path, world)
    direction = wp.where(goal < state.advanced, -ONE, ONE)
    speed = _next_speed(settings, direction * state.speed, wp.abs(goal - state.advanced), h)
    ratio = number(0.0)
    for attempt in range(SLOW_DOWNS):
        if attempt == 0 or ratio > ONE:
            if attempt > 0:
                speed *= number(0.9) / ratio
            for k in range(memory.q.shape[1]):
                memory.candidate[world, k] = memory.q[world, k]
            feed = _apply(path, state.advanced + direction * speed * h, memory.candidate[world])
            _fit(path, world, feed, FIT, memory.candidate[world], memory)
            ratio = largest_change(path.chain, memory.candidate[world], memory.q[world]) / (rate_limit * h)
    if ratio > ONE:
        speed /= ratio
        for k in range(memory.q.shape[1]):
            q = memory.q[world, k]
            memory.candidate[world, k] = q + (memory.candidate[world, k] - q) / ratio
        feed = _apply(path, state.advanced + direction * speed * h, memory.candidate[world])
    memory.state[world].advanced = state.advanced + direction * speed * h
    memory.state[world].speed = direction * speed


@wp.func
def _begin_retreat(path: _Path, world: int, tip: vec3, measured: number, contacts: Contacts, memory: _Memory):
    """FollowController::begin_retreat."""
    state = memory.state[world]
    at = state.advanced + path.length
    memory.state[world].attempts = state.attempts + 1
    memory.state[world].jam_at = at
    side = _across(path, world, at, push(contacts, world))
    shift = _across(path, world, at, tip - _curve(path, world, at))
    if wp.length(side) > SMALL_PUSH:
        shift += SHIFT_RADII * path.radius * wp.normalize(side)
    memory.state[world].shift = shift
    memory.state[world].retreat_to = wp.max(ZERO, wp.min(measured, state.advanced) - RETREAT_RADII * path.radius)
    memory.state[world].retreating = True
    memory.state[world].jammed = False
    memory.state[world].blocked_time = ZERO


@wp.func
def _compensate(arm: Arm, path: _Path, world: int, step: Step, memory: _Memory):
    """The uneven deflection of the whole body: BodyDeflection::compensate."""
    chain = path.chain
    largest = number(0.0)
    for k in range(arm.coordinates):
        largest = wp.max(largest, wp.length(step.uneven[world, k]))
    if largest == ZERO:
        return
    # Where the planned bends would have the middles and ends, with the measured lengths.
    for k in range(arm.coordinates):
        memory.candidate[world, k] = wp.where(arm.is_slide[k] == 0, memory.q[world, k], memory.measured[world, k])
    _body_frames(path, world, step.feed[world], step.spin[world], memory.candidate[world], memory)
    for i in range(chain.sections):
        for half in range(1, 3):
            memory.planned[world, 2 * i + half - 1] = _body_point(
                path, world, i, 2 * half, memory.candidate[world], memory
            )
    _begin_equations(chain, world, memory)
    _body_frames(path, world, step.feed[world], step.spin[world], memory.measured[world], memory)
    before = vec3()  # deflection at the section's start
    for i in range(chain.sections):
        k = chain.first_coordinate[i]
        own = step.uneven[world, k] + step.uneven[world, k + 1]
        for half in range(1, 3):
            p = _body_point(path, world, i, 2 * half, memory.measured[world], memory)
            error = memory.planned[world, 2 * i + half - 1] - p - before - wp.where(half == 1, HALF, ONE) * own
            _add_equations(path, world, i, 2 * half, memory.measured[world], p, error, ONE, memory)
        before += own
    for i in range(chain.sections):
        for c in range(2):
            r, k = 2 * i + c, chain.first_coordinate[i] + c
            memory.normal[world, r, r] = memory.normal[world, r, r] + DEFLECTION_DAMPING * DEFLECTION_DAMPING
            memory.gradient[world, r] = memory.gradient[world, r] - DEFLECTION_DAMPING * DEFLECTION_DAMPING * (
                memory.measured[world, k] - memory.q[world, k]
            )
    _solve_equations(chain, world, memory)
    largest = number(0.0)
    for i in range(chain.sections):
        for c in range(2):
            r, k = 2 * i + c, chain.first_coordinate[i] + c
            memory.bends[world, r] = memory.bends[world, r] + memory.measured[world, k] - memory.q[world, k]
            largest = wp.max(largest, wp.abs(memory.bends[world, r]))
    scale = MAX_BEND / wp.max(largest, MAX_BEND)
    for i in range(chain.sections):
        k = chain.first_coordinate[i]
        for r in range(2):
            step.command[world, k + r] = step.command[world, k + r] + scale * memory.bends[world, 2 * i + r]


@wp.kernel(module="unique", enable_backward=False)
def _extend_trail(step: Step, path: _Path):
    """FollowController::extend_trail."""
    world = wp.tid()
    settings, count = _settings_in(path, world), path.trail_count[world]
    target = step.target[world]
    last = path.trail[world, count - 1]
    distance = wp.length(target - vec3(last[0], last[1], last[2]))
    if count >= settings.trail_capacity or not wp.isfinite(distance) or distance < settings.trail_spacing:
        return
    path.trail[world, count] = vec4(target[0], target[1], target[2], last[3] + distance)
    path.trail_count[world] = count + 1


@wp.func
def _end(path: _Path, world: int, limit: number, last: number):
    """The advance up to which the path is known."""
    if path.target_mocap < 0:
        return limit
    length = path.trail[world, path.trail_count[world] - 1][3]
    return wp.min(limit, wp.max(length - path.length, last))


@wp.func
def _load_shape(path: _Path, world: int, longest: number, memory: _Memory):
    """Whether the lengths of the shape commanded last are those of the advance; FollowController::load_shape.

    If not, as at the start of an arm that grows, they become so, `longest` a step. In the first step the shape is
    fitted to the path.
    """
    chain, state, farthest = path.chain, memory.state[world], number(0.0)
    for k in range(memory.q.shape[1]):
        memory.last[world, k] = memory.q[world, k]
    for i in range(chain.sections):
        k = chain.first_coordinate[i] + 2
        if not state.started and chain.first_coordinate[i + 1] > k:
            memory.last[world, k] = memory.measured[world, k]
    for k in range(memory.q.shape[1]):
        memory.q[world, k] = memory.last[world, k]
        memory.candidate[world, k] = memory.last[world, k]
    feed = _apply(path, state.advanced, memory.candidate[world])
    for i in range(chain.sections):
        own = functions.coordinates(chain, memory.q[world], i)
        missing = functions.coordinates(chain, memory.candidate[world], i)[2] - own[2]
        farthest = wp.max(farthest, wp.abs(missing))
        own[2] = own[2] + wp.clamp(missing, -longest, longest)
        functions.set_coordinates(chain, memory.q[world], i, functions.clamped(chain, i, own))
    if not state.started:
        _fit(path, world, feed, FIRST_FIT, memory.q[world], memory)
        for k in range(memory.q.shape[1]):
            memory.last[world, k] = memory.q[world, k]
    return farthest <= RETRACTED


@wp.func
def _watch_jam(
    arm: Arm,
    path: _Path,
    world: int,
    retracted: bool,
    end: number,
    contacts: Contacts,
    step: Step,
    memory: _Memory,
):
    """The start, and jams; FollowController::watch_jam. Returns the goal of the advance, and whether it moves there."""
    settings, tip, h = _settings_in(path, world), step.tip[world], arm.timestep
    state = memory.state[world]
    memory.state[world].retreating = state.retreating and state.advanced > state.retreat_to
    deviation = wp.length(tip - _reference(path, world, memory.q[world], memory.state[world].advanced, memory))
    if retracted:
        _settle(world, settings, tip, deviation, h, memory)
    memory.state[world].started = True
    force = feed_force(arm, world, step, memory.state[world].feed_setpoint)
    state = memory.state[world]
    if retracted and state.feeding and state.advanced >= end:
        deviation = number(0.0)  # a tip that swings at the end of the path is no jam
    begins = _is_jam(world, settings, retracted, deviation, force, h, memory)
    state = memory.state[world]
    feeding = retracted and state.feeding
    measured = _measured_advance(path, world, step.feed[world], memory)
    if state.advanced + path.length > state.jam_at + SAME_PLACE_RADII * path.radius:
        memory.state[world].attempts = 0
    if begins and feeding and memory.state[world].attempts < settings.jam_retries:
        _begin_retreat(path, world, tip, measured, contacts, memory)
    elif begins:
        # The commanded advance returns to the measured one, so that no servo force is stored.
        memory.state[world].advanced = wp.clamp(measured, ZERO, state.advanced)

    state = memory.state[world]
    goal = wp.where(state.retreating, state.retreat_to, end)
    advances = feeding and state.advanced < end
    return goal, not state.jammed and state.advanced != goal and (state.retreating or advances)


@wp.func
def _report(arm: Arm, path: _Path, world: int, tip: vec3, memory: _Memory):
    """FollowController::report_motion."""
    settings, advance = _settings_in(path, world), memory.state[world].advanced
    meant = _curve(path, world, advance + path.length)
    memory.tip_error[world] = wp.length(meant - memory.true_tip[world])
    memory.progress[world] = advance / settings.limit
    on_path = wp.length(meant - tip) <= settings.jam_tip_error
    at_end = wp.where(on_path, FINISHED, NOT_REACHED)
    status = wp.where(path.target_mocap < 0 and advance >= settings.limit, at_end, WORKING)
    memory.status[world] = wp.where(memory.state[world].jammed, JAMMED, status)
    memory.state[world].time = memory.state[world].time + arm.timestep


@wp.kernel(module="unique", enable_backward=False)
def _command(arm: Arm, path: _Path, contacts: Contacts, integral: Integral, step: Step, memory: _Memory):
    world = wp.tid()
    b = world % arm.rows
    n, h = arm.coordinates, arm.timestep
    settings = _settings_in(path, world)
    tip = step.tip[world]
    end = _end(path, world, settings.limit, memory.state[world].advanced)
    for k in range(n):
        memory.measured[world, k] = step.q[world, k]
    retracted = _load_shape(path, world, settings.speed * h, memory)
    goal, moves = _watch_jam(arm, path, world, retracted, end, contacts, step, memory)

    # 1. The advance.
    before = memory.state[world].advanced
    for k in range(n):
        memory.candidate[world, k] = memory.q[world, k]
    if moves:
        _feed(path, world, goal, arm.settings[b].rate_limit, h, memory)
    else:
        memory.state[world].speed = ZERO
    advance = memory.state[world].advanced
    for k in range(n):
        step.q_rate[world, k] = (memory.candidate[world, k] - memory.last[world, k]) / h
        memory.q[world, k] = memory.candidate[world, k]
    step.feed_command[world] = wp.min(advance, path.chain.feed_limit)
    step.feed_rate[world] = (step.feed_command[world] - wp.min(before, path.chain.feed_limit)) / h
    memory.state[world].feed_setpoint = feed_setpoint(arm, world, step)

    # 2. The corrections.
    off = correctable(contacts, world, _reference(path, world, memory.q[world], advance, memory) - tip, False)
    integrate(arm, world, off, vec3(), 3, memory.state[world].jammed, integral, step)
    if path.grows:
        keep_within_lengths(path.chain, path.start_extension, memory.q[world], world, integral)
    for k in range(n):
        step.command[world, k] = memory.q[world, k] + integral.correction[world, k]
    if arm.settings[b].compensates_deflection:
        _compensate(arm, path, world, step, memory)

    _report(arm, path, world, tip, memory)


@wp.func
def _tangent(path: _Path, world: int, s: number):
    spacing = _settings_in(path, world).spacing
    return wp.normalize(_curve(path, world, s + spacing) - _curve(path, world, s - spacing))


@wp.func
def _nearest_on(path: _Path, world: int, point: vec3, start: number):
    """Arc length of the path where it is nearest to a point, searched from `start`."""
    s, length = start + ZERO, _settings_in(path, world).limit + path.length
    for _projection in range(PROJECTIONS):
        along = wp.dot(_tangent(path, world, s), point - _curve(path, world, s))
        s = wp.clamp(s + along, ZERO, length)
    return s


@wp.func
def _locate(path: _Path, world: int, step: Step, memory: _Memory):
    """Where the shaft ends, from the measured tip and its measured bends: SteeredTip::locate."""
    for k in range(memory.measured.shape[1]):
        memory.measured[world, k] = step.q[world, path.shaft + k]
    functions.end_frames(path.chain, memory.measured[world], ZERO, ZERO, memory.rotations[world], memory.ends[world])
    last, turn = path.chain.sections, step.tip_twist[world] + ZERO  # of the tip's frame about its axis
    if path.chain.last_turning >= 0:
        q = functions.coordinates(path.chain, memory.measured[world], path.chain.last_turning)
        turn += wp.atan2(q[1], q[0])
    c, s = wp.cos(turn), wp.sin(turn)
    untwisted = step.tip_frame[world] * mat33(c, s, ZERO, -s, c, ZERO, ZERO, ZERO, ONE)
    R = untwisted * wp.transpose(memory.rotations[world, last])
    memory.state[world].start_frame = R
    memory.state[world].start = step.tip[world] - R * memory.ends[world, last]


@wp.func
def _bend(path: _Path, world: int, rate_limit: number, h: number, memory: _Memory):
    """Bends that lay the tip on the path, as far as the rate limit allows; returns what it leaves: SteeredTip::bend."""
    start = _nearest_on(
        path, world, memory.state[world].start, memory.state[world].advanced + path.length - path.tip_length
    )
    for k in range(memory.q.shape[1]):
        memory.last[world, k] = memory.q[world, k]
        memory.candidate[world, k] = memory.q[world, k]
    _fit(path, world, start, STEERED_FIT, memory.candidate[world], memory)
    lag = largest_change(path.chain, memory.candidate[world], memory.last[world])
    for k in range(memory.q.shape[1]):
        change = (memory.candidate[world, k] - memory.last[world, k]) / wp.max(ONE, lag / (rate_limit * h))
        memory.q[world, k] = memory.last[world, k] + change
    return lag


@wp.kernel(module="unique", enable_backward=False)
def _steer(arm: Arm, path: _Path, contacts: Contacts, integral: Integral, step: Step, memory: _Memory):
    """In place of `_command`: of sections behind a passive shaft."""
    world = wp.tid()
    b, h, tip = world % arm.rows, arm.timestep, step.tip[world]
    settings = _settings_in(path, world)
    for r in range(6):
        project(arm, b, step.jacobian[world, r], step.unprojected[world])
    last_feed = wp.clamp(memory.state[world].advanced + memory.state[world].slack, ZERO, path.feed_limit)
    _locate(path, world, step, memory)
    goal, moves = _watch_jam(arm, path, world, True, settings.limit, contacts, step, memory)

    # 1. The advance, slower while the bends are behind: FollowController::advance_tip.
    lag = _bend(path, world, arm.settings[b].rate_limit, h, memory)
    last, speed = memory.state[world].advanced, number(0.0)
    if moves:
        direction = wp.where(goal < last, -ONE, ONE)
        speed = direction * _next_speed(settings, direction * memory.state[world].speed, wp.abs(goal - last), h)
        speed *= wp.clamp(ONE - lag / MAX_LAG, ZERO, ONE)
    advance = last + speed * h
    memory.state[world].speed = speed
    memory.state[world].advanced = advance

    # 2. The corrections: of the bends across the path, of the feed along it; FollowController::correct_tip.
    at = advance + path.length
    off = correctable(contacts, world, _shifted_curve(path, world, at, memory) - tip, False)
    along = _tangent(path, world, at)
    integrate(arm, world, off - wp.dot(along, off) * along, vec3(), 3, memory.state[world].jammed, integral, step)
    for k in range(arm.coordinates):
        step.q_rate[world, k] = ZERO
        step.command[world, k] = step.q[world, k] + integral.correction[world, k]
    for k in range(memory.q.shape[1]):
        j = path.shaft + k
        step.q_rate[world, j] = (memory.q[world, k] - memory.last[world, k]) / h
        step.command[world, j] = memory.q[world, k] + integral.correction[world, j]
    compensate_deflection(arm, world, step)
    rate = wp.clamp(FEED_GAIN * arm.settings[b].integral_gain * wp.dot(along, off), -settings.speed, settings.speed)
    slack = memory.state[world].slack + wp.where(memory.state[world].jammed, ZERO, h * rate)
    memory.state[world].slack = slack
    step.feed_command[world] = wp.clamp(advance + slack, ZERO, path.feed_limit)
    step.feed_rate[world] = (step.feed_command[world] - last_feed) / h
    memory.state[world].feed_setpoint = feed_setpoint(arm, world, step)
    _report(arm, path, world, tip, memory)


@wp.kernel(module="unique", enable_backward=False)
def _forget(chosen: wp.array(dtype=bool), path: _Path, integral: Integral, memory: _Memory):
    world = wp.tid()
    if not chosen[world]:
        return
    if path.target_mocap >= 0:  # initially the trail is the arm's own straight line
        path.trail[world, 1] = vec4(ZERO, ZERO, path.length, path.length)
        path.trail_count[world] = 2
    memory.state[world] = _State()
    forget_integral(world, integral)
    for k in range(memory.q.shape[1]):
        memory.q[world, k] = ZERO


class Follow(ControllerOfPath):
    """The controller of one arm in all worlds."""

    def __init__(self, tables: Sequence[Table], model: Any, count: int, device: Any) -> None:
        """
        :param tables: of the arm, from `tendril._sim.controlled_robots`: one, or one for each world
        :raises ModelError: what this controller does not do on a device
        """
        self._bound = bound = BoundArm(tables, model, count, device, _ALLOWED)
        path = _Path()
        steered = self._steered(path)
        n, sections = steered.coordinate_count, len(steered.sections)
        path.settings = wp.array([_settings_of(one) for one in tables], dtype=_Settings, device=device)
        path.target_mocap = -1
        if all("path" in one for one in tables):
            path.points = bound.numbers(stacked([one["path"] for one in tables]), vec3)
        else:
            self._begin_trail(path)
        advance = tables[0]["advance"]
        path.length, path.radius = advance["start_length"], tables[0]["body_radius"]
        path.start_extension = bound.numbers(advance["start_extensions"])
        path.grows, path.grows_from_tip = advance["grows"], advance["from_tip"]
        if any(one["advance"] != advance for one in tables):
            raise td.ModelError(f"{bound.name}: growth differs between the worlds: must be the same")
        path.chain = chain_of(steered, wp.float64, device)
        path.quarters = chain_of(steered, wp.float64, device, (0.25, 0.5, 0.75, 1.0))
        self._path, self._kernel = path, _steer if path.shaft > 0 else _command
        self._contacts = BoundContacts(bound, model)
        memory = _Memory()
        memory.state, memory.status = bound.zeros(kind=_State), bound.zeros(kind=int)
        memory.tip_error, memory.progress = bound.zeros(), bound.zeros()
        memory.true_tip = bound.true.tip
        for key in ("q", "candidate", "last", "measured"):
            setattr(memory, key, bound.zeros(n))
        memory.rotations, memory.ends = bound.zeros(sections + 1, kind=mat33), bound.zeros(sections + 1, kind=vec3)
        memory.planned = bound.zeros(2 * sections, kind=vec3)
        memory.columns = bound.zeros(2 * sections, kind=vec3)
        memory.normal, memory.factor = (bound.zeros(2 * sections, 2 * sections) for _ in range(2))
        memory.gradient, memory.bends = bound.zeros(2 * sections), bound.zeros(2 * sections)
        self._memory = self._told = memory

    def _steered(self, path: Any) -> td.ContinuumRobot:
        """The sections that are laid on the path: all, or those behind a passive shaft."""
        bound, robot = self._bound, self._bound.robot
        rows, starts = bound.tables[0]["coordinates"], first_coordinates(robot)
        passive = [i for i, k in enumerate(starts[:-1]) if rows[k]["is_passive"] or rows[k + 1]["is_passive"]]
        if not passive:
            return robot
        first = passive[-1] + 1
        tip = td.ContinuumRobot(robot.sections[first:])
        path.shaft, path.feed_limit = int(starts[first]), robot.feed_limit
        path.tip_length = sum(section.length + section.variable_length / 2 for section in tip.sections)
        bound.correct_from(path.shaft)
        return tip

    def _begin_trail(self, path: Any) -> None:
        bound = self._bound
        if any("path" in one for one in bound.tables):
            raise td.ModelError(f"{bound.name}: waypoints: must be given in all worlds, or in none")
        path.target_mocap = bound.same("target_mocap")
        if path.target_mocap < 0:
            raise td.ModelError(f"{bound.name}: target: missing: must be a mocap body in worlds")
        path.trail = bound.zeros(max(_trail_capacity(one) for one in bound.tables), kind=vec4)
        path.trail_count = bound.zeros(kind=int)

    @property
    def tip_error(self) -> Any:
        """Distance of each world's tip from its point of the path in the last step, (count,), m."""
        return self._memory.tip_error

    def reset(self, chosen: Any) -> None:
        """Empties the memory of the chosen worlds, (count,) of bool."""
        self._bound.reset(chosen)
        self._bound.launch(_forget, [chosen, self._path, self._bound.integral, self._memory])
        self._contacts.reset(chosen)

    def before_actuation(self, model: Any, data: Any) -> None:
        """Reads the positions of this step, and writes `ctrl`."""
        bound = self._bound
        bound.measure(model, data)
        self._contacts.measure(data)
        if self._path.target_mocap >= 0:
            bound.launch(_extend_trail, [bound.seen, self._path])
        bound.launch(
            self._kernel, [bound.arm, self._path, self._contacts.contacts, bound.integral, bound.seen, self._memory]
        )
        bound.write_setpoints(data)

    def after_step(self, data: Any) -> None:
        """Reads the forces of this step."""
        super().after_step(data)
        self._contacts.read_forces(data)


def _trail_capacity(table: Table) -> int:
    """At most what the advance can use, plus the two points of the arm's initial line."""
    return math.ceil(table["advance"]["limit"] / float(table["settings"]["trail_spacing"])) + 3


def _settings_of(table: Table) -> Any:
    texts, settings = table["settings"], _Settings()
    for key in ("speed", "acceleration", "start_delay", "jam_tip_error", "jam_time", "trail_spacing"):
        setattr(settings, key, float(texts[key]))
    settings.jam_feed_force = jam_feed_force(table)
    settings.jam_retries = int(texts["jam_retries"])
    settings.follows_body = texts["fit"] == "body"
    settings.trail_capacity = _trail_capacity(table)
    settings.limit = table["advance"]["limit"]
    if "path" in table:
        settings.spacing = table["path_length"] / (len(table["path"]) - 1)
        settings.limit = table["path_length"] - table["advance"]["start_length"]
    return settings
