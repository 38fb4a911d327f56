"""Paths on the ground for a snake, one thread for each world: the steps of controllers/snake/ground_path_follower.cpp.

A path that is given, the map of obstacles and the times of travel to the goals come from the C++ controller. Source:
docs/theory/snakes.md, "Along a path", "Among obstacles".
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import warp as wp

import tendril as td
from tendril.worlds.tables import BoundRobot, Table, require_same, stacked

number, vec2 = wp.float64, wp.vec2d
PI, TURN = number(math.pi), number(2.0 * math.pi)
ZERO, HALF, ONE, TWO = (number(x) for x in (0.0, 0.5, 1.0, 2.0))
INFINITY = number(math.inf)
# The numbers of the C++ code, and of tendril/avoidance/ground_map.cpp.
RETRACE_FRACTION = number(0.1)  # of the body: motion after which a path is sought again
SAMPLES, LAST_SAMPLE = wp.constant(9), number(8.0)  # of the segment on which the body lies
MAX_STEP = number(0.02)  # of the position along the path, m
RETRIES = wp.constant(3)  # new paths that may be longer than the last one, in a row
BLOCKED, FARTHEST = number(1e9), number(1e8)
NEAR_SPEED = number(0.25)
DIRECTIONS, FREE_DIRECTIONS = wp.constant(9), wp.constant(32)
OPENINGS, OPENING = wp.constant(8), number(math.pi / 4.0)  # turns to one side with which a path may begin; rad


@wp.struct
class Settings:
    """Of one world."""

    is_planned: bool  # among obstacles; else the path is given
    is_head_first: bool
    footprint_length: number  # of the body, m
    body_length: number  # of the segment on which the body lies, m
    look_ahead: number  # m
    max_curvature: number  # 1/m
    clearance: number  # from obstacles, m
    tolerance: number  # m
    goal_tolerance: number
    spacing: number  # between points of a path, m
    point_count: int  # of a path that is given
    columns: int  # of the map
    rows: int
    cell: number  # m
    center: vec2  # of the first cell


@wp.struct
class Ground:
    """Of settings and tables there is one row for each world, or one for all; of none: no snake follows a path."""

    settings: wp.array(dtype=Settings)
    link_lengths: wp.array2d(dtype=number)
    heading_weights: wp.array2d(dtype=number)
    path: wp.array2d(dtype=vec2)
    goals: wp.array2d(dtype=vec2)
    distances: wp.array2d(dtype=number)  # of cells from obstacles, m
    times: wp.array3d(dtype=number)  # of travel to each goal, from cells


@wp.struct
class _State:
    begun: bool
    has_path: bool
    on_path: bool
    finished: bool
    s: number  # of the foremost guided point on the path, m
    nearest: number  # least remaining length so far, m
    retries: int
    traced_at: vec2  # where the last path began
    goal: int
    point_count: int


@wp.struct
class Memory:
    """Of the follower, a row for each world; and the offsets of the yaw joints with which the body bends."""

    state: wp.array(dtype=_State)
    points: wp.array2d(dtype=vec2)  # of the planned path
    bends: wp.array2d(dtype=number)


@wp.struct
class Guidance:
    direction: number  # of the motion, rad
    path_error: number  # m
    gained: number  # decrease of the least remaining length so far, m
    remaining: number  # along the path, m
    progress: number
    goals: int
    goal: vec2
    finished: bool
    has_path: bool


@wp.struct
class _Location:
    tangent: number
    along: vec2
    aside: number


@wp.struct
class _Start:
    position: vec2
    heading: number
    max_curvature: number  # infinite: the heading does not matter
    arrival: number


@wp.func
def wrapped(angle: number):
    return angle - TURN * wp.rint(angle / TURN)


@wp.func
def _row(rows: int, world: int):
    return world % rows


@wp.func
def settings_in(ground: Ground, world: int):
    return ground.settings[_row(ground.settings.shape[0], world)]


@wp.func
def _unit(angle: number):
    return vec2(wp.cos(angle), wp.sin(angle))


# The map: GroundMap and GroundPaths.


@wp.func
def _contains(g: Settings, p: vec2):
    q = (p - g.center) / g.cell + vec2(HALF, HALF)
    return q[0] >= ZERO and q[1] >= ZERO and q[0] <= number(g.columns) and q[1] <= number(g.rows)


@wp.func
def _interpolate(g: Settings, table: wp.array(dtype=number), p: vec2):
    q = (p - g.center) / g.cell
    c = wp.clamp(int(wp.floor(q[0])), 0, g.columns - 2)
    r = wp.clamp(int(wp.floor(q[1])), 0, g.rows - 2)
    x, y = wp.clamp(q[0] - number(c), ZERO, ONE), wp.clamp(q[1] - number(r), ZERO, ONE)
    i = r * g.columns + c
    low = (ONE - x) * table[i] + x * table[i + 1]
    high = (ONE - x) * table[i + g.columns] + x * table[i + g.columns + 1]
    return (ONE - y) * low + y * high


@wp.func
def _clearance(g: Settings, distances: wp.array(dtype=number), p: vec2):
    if not _contains(g, p):
        return -ONE
    return _interpolate(g, distances, p)


@wp.func
def _time(g: Settings, times: wp.array(dtype=number), p: vec2):
    """Of travel from p; infinite where there is no path."""
    if not _contains(g, p):
        return INFINITY
    t = _interpolate(g, times, p)
    if t < FARTHEST:
        return t
    q = (p - g.center) / g.cell  # next to a closed cell: from an open one
    least = number(wp.inf)
    for k in range(4):
        c, r = int(wp.floor(q[0])) + k // 2, int(wp.floor(q[1])) + k % 2
        if c >= 0 and r >= 0 and c < g.columns and r < g.rows and times[r * g.columns + c] < FARTHEST:
            away = wp.length(g.center + g.cell * vec2(number(c), number(r)) - p)
            least = wp.min(least, times[r * g.columns + c] + away / NEAR_SPEED)
    return least


@wp.func
def _slowness(g: Settings, clearance: number):
    speed = NEAR_SPEED + (ONE - NEAR_SPEED) * (clearance - g.clearance) / g.clearance
    return ONE / wp.clamp(speed, NEAR_SPEED, ONE)


@wp.func
def _downhill(
    g: Settings,
    distances: wp.array(dtype=number),
    times: wp.array(dtype=number),
    p: vec2,
    heading: number,
    largest_turn: number,
    directions: int,
    leaving: bool,
):
    """The direction of least time among `directions` around a heading, and whether there is one."""
    best, chosen = number(wp.inf), heading + ZERO
    reach = wp.max(g.spacing, TWO * g.cell)  # looked at a little farther, where directions differ more
    for k in range(directions):
        part = number(0.0)
        if directions > 1:
            part = TWO * number(k) / number(directions - 1) - ONE
        direction = heading + largest_turn * wp.where(directions == 1, ONE, part)
        there = p + reach * _unit(direction)
        clearance = _clearance(g, distances, there)
        if clearance >= ZERO:
            t = BLOCKED * (TWO - clearance / g.clearance)
            if not leaving:
                t = _interpolate(g, times, there)
            if t < best:
                best = t
                chosen = direction
    return chosen, best < INFINITY


@wp.func
def _descend(
    g: Settings,
    distances: wp.array(dtype=number),
    times: wp.array(dtype=number),
    goal: vec2,
    start: _Start,
    opening_curvature: number,
    opening_length: number,
    points: wp.array(dtype=vec2),
):
    """The number of points of a path, 0: none, and the time to the goal: GroundPaths::descend."""
    is_free = not wp.isfinite(start.max_curvature)
    p, heading, spent, s = start.position + vec2(), start.heading + ZERO, number(0.0), number(0.0)
    leaving = _clearance(g, distances, p) < g.clearance  # pushed too near to an obstacle
    points[0] = p
    count = wp.int32(1)
    while count < points.shape[0]:
        if wp.length(goal - p) <= wp.max(start.arrival, HALF * g.spacing):
            return count, spent
        turn = wp.where(is_free, PI, start.max_curvature * g.spacing)
        directions = wp.where(is_free, FREE_DIRECTIONS, DIRECTIONS)
        if s < opening_length:
            turn = opening_curvature * g.spacing
            directions = wp.int32(1)
        chosen, found = _downhill(g, distances, times, p, heading, turn, directions, leaving)
        if not found:
            return 0, INFINITY
        heading = chosen
        p += g.spacing * _unit(heading)
        clearance = _clearance(g, distances, p)
        leaving = leaving and clearance < g.clearance
        if clearance < wp.where(leaving, ZERO, g.clearance - g.cell) or (leaving and s > TWO * g.clearance):
            return 0, INFINITY
        spent += g.spacing * _slowness(g, clearance)
        points[count] = p
        count += 1
        s += g.spacing
    return count, spent + _time(g, times, p)


@wp.func
def _find_path(
    g: Settings,
    distances: wp.array(dtype=number),
    times: wp.array(dtype=number),
    goal: vec2,
    start: _Start,
    points: wp.array(dtype=vec2),
):
    """Writes the points of a path, and returns their number; 0: none. GroundPaths::trace."""
    best_curvature, best_length = number(0.0), number(0.0)
    best, found = number(wp.inf), wp.int32(0)
    tries = wp.where(wp.isfinite(start.max_curvature), 2 * OPENINGS + 1, 0)
    for k in range(tries + 1):  # straight on, turns to either side, and the best of them again
        curvature = wp.where(k % 2 == 1, start.max_curvature, -start.max_curvature)
        length = OPENING * number((k + 1) // 2) / start.max_curvature
        if k == tries:
            curvature = best_curvature
            length = best_length
        count, time = _descend(g, distances, times, goal, start, curvature, length, points)
        found = count
        if time < best:
            best = time
            best_curvature = curvature
            best_length = length
    return wp.where(best < FARTHEST, found, 0)


# The present path: GroundPathFollower.


@wp.func
def _line(ground: Ground, world: int, s: number, memory: Memory):
    """Point of the path; past its ends it continues straight."""
    g = settings_in(ground, world)
    x = s / g.spacing
    if g.is_planned:
        i = wp.clamp(int(wp.floor(x)), 0, memory.state[world].point_count - 2)
        p = memory.points[world, i]
        return p + (x - number(i)) * (memory.points[world, i + 1] - p)
    row = _row(ground.path.shape[0], world)
    i = wp.clamp(int(wp.floor(x)), 0, g.point_count - 2)
    p = ground.path[row, i]
    return p + (x - number(i)) * (ground.path[row, i + 1] - p)


@wp.func
def _line_length(ground: Ground, world: int, memory: Memory):
    g = settings_in(ground, world)
    return number(wp.where(g.is_planned, memory.state[world].point_count, g.point_count) - 1) * g.spacing


@wp.func
def _line_direction(ground: Ground, world: int, s: number, ds: number, memory: Memory):
    d = _line(ground, world, s + ds, memory) - _line(ground, world, s, memory)
    return wp.atan2(d[1], d[0])


@wp.func
def _goal(ground: Ground, world: int, index: int):
    g = settings_in(ground, world)
    if not g.is_planned:
        return ground.path[_row(ground.path.shape[0], world), g.point_count - 1]
    return ground.goals[_row(ground.goals.shape[0], world), wp.min(index, ground.goals.shape[1] - 1)]


@wp.func
def _trace(ground: Ground, world: int, center: vec2, heading: number, memory: Memory):
    """The path to the present goal from where the snake is."""
    g, index = settings_in(ground, world), memory.state[world].goal
    distances = ground.distances[_row(ground.distances.shape[0], world)]
    times, goal = ground.times[_row(ground.times.shape[0], world), index], _goal(ground, world, index)
    start = _Start()
    start.position = center + HALF * g.body_length * _unit(heading)
    start.heading = heading
    start.arrival = HALF * g.goal_tolerance
    count = wp.int32(0)
    for k in range(wp.where(g.is_head_first, 2, 1)):
        # Rather a path that it cannot quite follow than no path.
        start.max_curvature = wp.where(g.is_head_first and k == 0, g.max_curvature, INFINITY)
        if count < 2:
            count = _find_path(g, distances, times, goal, start, memory.points[world])
    memory.state[world].has_path = count >= 2
    memory.state[world].traced_at = center
    memory.state[world].point_count = wp.max(count, 2)
    memory.state[world].s = ZERO
    if memory.state[world].retries < RETRIES:
        memory.state[world].retries = memory.state[world].retries + 1
        memory.state[world].nearest = _line_length(ground, world, memory)


@wp.func
def _begin(ground: Ground, world: int, center: vec2, memory: Memory):
    """Where the snake is on a path that is given."""
    g = settings_in(ground, world)
    if not g.is_planned:
        along = _unit(_line_direction(ground, world, ZERO, g.spacing, memory))
        off = wp.dot(center - _line(ground, world, ZERO, memory), along)
        memory.state[world].s = wp.min(g.body_length, off + HALF * g.body_length)
        memory.state[world].nearest = _line_length(ground, world, memory) - memory.state[world].s


@wp.func
def _locate(ground: Ground, world: int, center: vec2, memory: Memory):
    """The snake is next to the mean of the segment on which its body lies."""
    g, s = settings_in(ground, world), memory.state[world].s
    mean = vec2()
    for i in range(SAMPLES):
        mean += _line(ground, world, s - g.body_length * number(i) / LAST_SAMPLE, memory) / (LAST_SAMPLE + ONE)
    location = _Location()
    if g.is_head_first:
        location.tangent = _line_direction(ground, world, s - g.body_length, g.body_length, memory)
    else:
        location.tangent = _line_direction(ground, world, s, g.look_ahead, memory)
    along = _unit(location.tangent)
    off = center - mean
    location.along = along
    location.aside = along[0] * off[1] - along[1] * off[0]
    memory.state[world].s = s + wp.clamp(wp.dot(off, along), -MAX_STEP, MAX_STEP)
    return location


@wp.func
def _next_goal(ground: Ground, world: int, memory: Memory):
    """Goes on to the next goal, or finishes; whether there is another path to be found."""
    if settings_in(ground, world).is_planned:
        memory.state[world].goal = memory.state[world].goal + 1
        memory.state[world].retries = 0
        if memory.state[world].goal < ground.goals.shape[1]:
            return True
    memory.state[world].finished = True
    return False


@wp.func
def _has_left(ground: Ground, world: int, location: _Location, memory: Memory):
    """Whether the snake has passed the end of its path, or left it."""
    g, length = settings_in(ground, world), _line_length(ground, world, memory)
    passed = memory.state[world].s > length + HALF * g.goal_tolerance
    if not passed and wp.abs(location.aside) <= g.tolerance:
        return False
    end = _line(ground, world, length, memory)
    if wp.length(end - _goal(ground, world, memory.state[world].goal)) > g.goal_tolerance:
        memory.state[world].retries = 0  # the memory had no room for the rest
    return True


@wp.func
def guide(ground: Ground, world: int, center: vec2, heading: number, memory: Memory):
    """GroundPathFollower::step."""
    g = settings_in(ground, world)
    seeks = not memory.state[world].begun and g.is_planned
    if not memory.state[world].begun:
        memory.state[world].begun = True
        _begin(ground, world, center, memory)
    guidance = Guidance()
    guidance.has_path = True
    guidance.direction = heading
    guidance.goals = memory.state[world].goal
    goal = _goal(ground, world, guidance.goals)
    guidance.goal = goal
    if memory.state[world].finished:  # stays
        guidance.finished = True
        guidance.progress = ONE
        guidance.path_error = wp.length(goal - center - HALF * g.body_length * _unit(heading))
        return guidance
    if not memory.state[world].has_path:  # sought again once the snake has moved
        moved = wp.length(center - memory.state[world].traced_at)
        seeks = moved > RETRACE_FRACTION * g.footprint_length
    if seeks:
        _trace(ground, world, center, heading, memory)
    if not memory.state[world].has_path:
        guidance.has_path = False
        guidance.remaining = wp.length(goal - center)
        return guidance

    location = _locate(ground, world, center, memory)
    s, length = memory.state[world].s, _line_length(ground, world, memory)
    guidance.gained = wp.max(ZERO, memory.state[world].nearest - (length - s))
    memory.state[world].nearest = memory.state[world].nearest - guidance.gained
    short, aside = wp.min(ZERO, length - s), location.aside
    guidance.path_error = wp.sqrt(aside * aside + short * short)
    guidance.direction = location.tangent - wp.atan2(aside, g.look_ahead)
    guidance.remaining = wp.max(ZERO, length - s)
    guided = _line(ground, world, s, memory) + aside * vec2(-location.along[1], location.along[0])
    if wp.length(guided - goal) <= g.goal_tolerance:
        seeks = _next_goal(ground, world, memory)
    else:
        seeks = g.is_planned and _has_left(ground, world, location, memory)
    if seeks:
        _trace(ground, world, center, heading, memory)
    guidance.finished = memory.state[world].finished
    guidance.goals = memory.state[world].goal
    guidance.progress = wp.clamp(memory.state[world].s / length, ZERO, ONE)
    if guidance.finished:
        guidance.progress = ONE
    elif g.is_planned:
        guidance.progress = (number(guidance.goals) + guidance.progress) / number(ground.goals.shape[1])
    return guidance


@wp.func
def desired_bend(ground: Ground, world: int, joint: int, from_head: number, memory: Memory):
    """Offset of a yaw joint, `from_head` behind the head along the body, with which the body lies on its path."""
    g = settings_in(ground, world)
    if joint % 2 != 0 or not (g.is_head_first and memory.state[world].begun and memory.state[world].has_path):
        return ZERO
    row = _row(ground.link_lengths.shape[0], world)
    total = number(0.0)
    for i in range(ground.link_lengths.shape[1]):
        total += ground.link_lengths[row, i]
    contraction = g.body_length / total
    s = memory.state[world].s - contraction * from_head
    module = contraction * (ground.link_lengths[row, joint] + ground.link_lengths[row, joint + 1])
    after = _line_direction(ground, world, s, module, memory)
    return wrapped(after - _line_direction(ground, world, s - module, module, memory))


@wp.func
def forget(world: int, memory: Memory):
    state = _State()
    state.has_path = True
    state.point_count = 2
    memory.state[world] = state
    for j in range(memory.bends.shape[1]):
        memory.bends[world, j] = ZERO


def _settings_of(table: Table) -> Any:
    settings, values = Settings(), table["ground"]
    for key in ("is_head_first", "footprint_length", "body_length", "look_ahead", "max_curvature"):
        setattr(settings, key, values[key])
    settings.clearance, settings.tolerance, settings.spacing = (
        values[key] for key in ("clearance", "tolerance", "spacing")
    )
    settings.goal_tolerance = float(table["settings"]["goal_tolerance"])
    settings.point_count = len(values["path"])
    settings.is_planned = settings.point_count == 0
    if settings.is_planned:
        settings.rows, settings.columns = values["distances"].shape
        settings.cell, settings.center = values["cell"], vec2(*values["center"])
    return settings


def ground_of(bound: BoundRobot) -> Any:
    """The tables of the C++ controllers on the device.

    :raises ModelError: worlds with and without a path that is given, or with other numbers of goals
    """
    grounds = [table["ground"] for table in bound.tables if "ground" in table]
    ground = Ground()
    if not grounds:
        return ground
    given = [len(one["path"]) > 0 for one in grounds]
    if len(grounds) < len(bound.tables) or any(given) != all(given):
        raise td.ModelError(f"{bound.name}: ground_path, avoidance: must be given in all worlds, or in none")
    ground.settings = wp.array([_settings_of(one) for one in bound.tables], dtype=Settings, device=bound.device)
    ground.link_lengths = bound.numbers(stacked([one["link_lengths"] for one in grounds]))
    ground.heading_weights = bound.numbers(stacked([one["heading_weights"] for one in grounds]))
    if all(given):
        ground.path = bound.numbers(stacked([one["path"] for one in grounds]), vec2)
        return ground
    goals = [one["goals"] for one in grounds]
    require_same(bound.tables, "goals", [len(some) for some in goals])
    ground.goals = bound.numbers(stacked([np.stack(some) for some in goals]), vec2)
    ground.distances = bound.numbers(stacked([one["distances"].ravel() for one in grounds]))
    times = stacked([np.stack([time.ravel() for time in one["times"]], axis=1) for one in grounds])
    ground.times = bound.numbers(times.transpose(0, 2, 1))
    return ground


def memory_of(bound: BoundRobot, joints: int) -> Any:
    """Memory for as many points of a path as the C++ controller has."""
    memory = Memory()
    room = bound.tables[0].get("ground", {}).get("room", 0)
    memory.state, memory.points = bound.zeros(kind=_State), bound.zeros(room, kind=vec2)
    memory.bends = bound.zeros(joints)
    return memory
