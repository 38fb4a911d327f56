"""Paths of an arm's poses among obstacles, one thread for each world.

The steps of tendril/avoidance/arm_path_planner.cpp and of the two trees of tendril/geometry/rrt_connect.hpp. A search
is spread over many steps. Source: docs/theory/obstacles.md.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from tendril.worlds.arm import functions, number, numbers, rows, tables
from tendril.worlds.obstacle_descent import Room, solver
from tendril.worlds.obstacles import HALF, INFINITY, ONE, ZERO, Obstacles, body_distance, search_below

MAX_NODES, MAX_CHECKS, MAX_WAYPOINTS = wp.constant(256), wp.constant(20000), wp.constant(24)
MAX_LINE_CHECKS = number(100.0)
STEP_RATIO = 0.25  # of the robot's length: one step of a tree
DIFFERENCE = number(1e-6)  # rad, m
TOLERANCE, STEPS = number(1e-4), wp.constant(60)  # of a check; this deep is still free
SLOPE_TOLERANCE = number(1e-7)  # m
FAR = number(0.015)  # m: larger clearances are not distinguished
MIN_SLOPE = number(1e-3)  # m/rad: no direction in which to move away
SHORTENING_CHECKS, AIM_PERIOD = wp.constant(100), wp.constant(4)
SEARCHING, FOUND, FAILED = wp.constant(0), wp.constant(1), wp.constant(2)


@wp.struct
class Space:
    """Of poses, the same in all worlds."""

    chain: functions.Chain
    room: Room  # that lines keep free
    obstacles: Obstacles
    reach: numbers  # length of the robot from each section's start on, m
    resolution: number  # the body moves by so much between two checks at an obstacle, m
    max_step: number  # of a tree, m


@wp.struct
class Trees:
    """Two trees of poses, and the path that joined them last; a row for each world."""

    nodes: wp.array(dtype=wp.float64, ndim=4)
    parents: wp.array3d(dtype=int)
    size: wp.array2d(dtype=int)
    seed: wp.array(dtype=int)
    total: wp.array(dtype=int)  # checks of this search
    samples: wp.array(dtype=int)
    growing: wp.array(dtype=int)  # the tree that the next sample is for
    connecting: wp.array(dtype=bool)  # the other tree grows towards this node of that one
    node: wp.array(dtype=int)
    path: tables
    path_size: wp.array(dtype=int)
    found: tables  # waypoints of it, without its ends
    found_size: wp.array(dtype=int)
    aim: rows  # scratch
    middle: rows
    checks: wp.array(dtype=int)  # made in this call


@wp.func
def is_free(space: Space, q: numbers, world: int, slack: number):
    below = space.room.safety - slack - TOLERANCE
    search = search_below(below, TOLERANCE, STEPS)
    return body_distance(space.chain, space.room.rails, q, space.obstacles, world, search) >= below


@wp.func
def clearance(space: Space, q: numbers, world: int):
    search = search_below(INFINITY, SLOPE_TOLERANCE, STEPS)
    return body_distance(space.chain, space.room.rails, q, space.obstacles, world, search) - space.room.safety


@wp.func
def distance_of(space: Space, a: numbers, b: numbers):
    """No point of the body moves farther than this between two poses, m."""
    sum, chain = number(0.0), space.chain
    for i in range(chain.sections):
        k = chain.first_coordinate[i]
        u, v = a[k] - b[k], a[k + 1] - b[k + 1]
        sum += space.reach[i] * wp.sqrt(u * u + v * v)
        if chain.first_coordinate[i + 1] > k + 2:
            sum += wp.abs(a[k + 2] - b[k + 2])
    return sum


@wp.func
def blend(a: numbers, b: numbers, fraction: number, to: numbers):
    for k in range(to.shape[0]):
        to[k] = a[k] + fraction * (b[k] - a[k])


@wp.func
def are_equal(a: numbers, b: numbers):
    for k in range(a.shape[0]):
        if a[k] != b[k]:
            return False
    return True


@wp.func
def line_is_free(space: Space, a: numbers, b: numbers, slack: number, trees: Trees, world: int):
    """Where the distance is not kept at `a`, no more than the clearance at `a` is required before `b`."""
    length = distance_of(space, a, b)
    trees.checks[world] = trees.checks[world] + 1
    if not is_free(space, b, world, slack):  # first: it is the likeliest to collide
        return False
    least_step = wp.max(space.resolution, length / MAX_LINE_CHECKS)
    search = search_below(space.room.safety + FAR, TOLERANCE, STEPS)
    traveled = least_step + ZERO
    while traveled < length:
        blend(a, b, traveled / length, trees.middle[world])
        trees.checks[world] = trees.checks[world] + 1
        near = body_distance(space.chain, space.room.rails, trees.middle[world], space.obstacles, world, search)
        distance = near - space.room.safety + slack
        if distance < -TOLERANCE:
            if distance < clearance(space, a, world) + slack - TOLERANCE:
                return False
        traveled += wp.max(least_step, distance)
    return True


@wp.func
def away(space: Space, q: numbers, trees: Trees, world: int, direction: numbers):
    """The least change of pose that gains clearance, of length 1 for each meter; zero where there is none."""
    here, middle, stiff = clearance(space, q, world), trees.middle[world], 2 * space.room.rails
    solver.copy(q, middle)
    slope = number(0.0)
    for k in range(q.shape[0]):
        gain = number(0.0)
        if k >= stiff:
            middle[k] = q[k] + DIFFERENCE
            gain = (clearance(space, middle, world) - here) / DIFFERENCE
            middle[k] = q[k]
        direction[k] = gain
        slope += gain * gain
    scale = number(0.0)
    if slope > MIN_SLOPE * MIN_SLOPE and wp.isfinite(slope):
        scale = ONE / slope
    for k in range(q.shape[0]):
        direction[k] = scale * direction[k]


@wp.func
def begin(trees: Trees, world: int, start: numbers, end: numbers, seed: int):
    solver.copy(start, trees.nodes[world, 0, 0])
    solver.copy(end, trees.nodes[world, 1, 0])
    for tree in range(2):
        trees.size[world, tree] = 1
        trees.parents[world, tree, 0] = -1
    trees.seed[world] = seed
    trees.total[world] = 0
    trees.samples[world] = 0
    trees.growing[world] = 0
    trees.connecting[world] = False
    trees.node[world] = 0


@wp.func
def add(trees: Trees, world: int, tree: int, q: numbers, parent: int):
    """A node, towards which the other tree grows next; -1 as its parent: a root."""
    i = trees.size[world, tree]
    if i < MAX_NODES:
        solver.copy(q, trees.nodes[world, tree, i])
        trees.parents[world, tree, i] = parent
        trees.size[world, tree] = i + 1
        trees.growing[world] = tree
        trees.connecting[world] = True
        trees.node[world] = i


@wp.func
def _extend(space: Space, trees: Trees, world: int, tree: int):
    """One step towards the aim; the new node, or the one that is there; -1: none."""
    nearest, least = wp.int32(0), INFINITY + ZERO
    for i in range(trees.size[world, tree]):
        distance = distance_of(space, trees.nodes[world, tree, i], trees.aim[world])
        if distance < least:
            least = distance
            nearest = i
    if are_equal(trees.nodes[world, tree, nearest], trees.aim[world]):
        return nearest
    new = trees.size[world, tree]
    if new == MAX_NODES:
        return wp.int32(-1)
    fraction = number(1.0)
    if least > ZERO:
        fraction = wp.min(ONE, space.max_step / least)
    if fraction == ONE:
        solver.copy(trees.aim[world], trees.nodes[world, tree, new])
    else:
        blend(trees.nodes[world, tree, nearest], trees.aim[world], fraction, trees.nodes[world, tree, new])
    if not line_is_free(space, trees.nodes[world, tree, nearest], trees.nodes[world, tree, new], ZERO, trees, world):
        return wp.int32(-1)
    trees.parents[world, tree, new] = nearest
    trees.size[world, tree] = new + 1
    return new


@wp.func
def _join(trees: Trees, world: int, at_first: int, at_second: int):
    """The path from the first tree's root to where the trees meet, and on to a root of the second."""
    count, i = wp.int32(0), at_first + 0
    while i >= 0:
        count += 1
        i = trees.parents[world, 0, i]
    i = at_first + 0
    for back in range(count):
        solver.copy(trees.nodes[world, 0, i], trees.path[world, count - 1 - back])
        i = trees.parents[world, 0, i]
    i = at_second + 0
    while i >= 0:
        if i != at_second or not are_equal(trees.nodes[world, 1, i], trees.path[world, count - 1]):
            solver.copy(trees.nodes[world, 1, i], trees.path[world, count])
            count += 1
        i = trees.parents[world, 1, i]
    trees.path_size[world] = count


@wp.func
def _sample(space: Space, trees: Trees, world: int, attempt: int):
    """First the straight arm and the ends of the path bent half as much; then random poses that are bent less."""
    chain, q, straight = space.chain, trees.aim[world], space.room.straight
    if attempt == 0:
        solver.copy(straight, q)
    elif attempt == 1:
        blend(straight, trees.nodes[world, 0, 0], HALF, q)
    elif attempt == 2:
        blend(straight, trees.nodes[world, 1, 0], HALF, q)
    else:
        stream = (wp.uint64(trees.seed[world]) << wp.uint64(32)) + wp.uint64(attempt)
        solver.random_pose(chain, stream, 0, q)
        bend = solver.uniform(stream, 3 * chain.sections)
        for i in range(chain.sections):
            k = chain.first_coordinate[i]
            q[k] = bend * q[k]
            q[k + 1] = bend * q[k + 1]


@wp.func
def _shorten(space: Space, trees: Trees, world: int):
    """Leaves out what a free straight line makes needless; false: too many waypoints are left."""
    first_check, last, at = trees.checks[world] + 0, trees.path_size[world] - 1, wp.int32(0)
    trees.found_size[world] = 0
    while at < last:
        next, far = at + 1, last + 0
        while far > at + 1 and trees.checks[world] - first_check < SHORTENING_CHECKS:
            if line_is_free(space, trees.path[world, at], trees.path[world, far], ZERO, trees, world):
                next = far + 0
                far = at
            far -= 1
        if next < last:
            count = trees.found_size[world]
            if count == MAX_WAYPOINTS:
                return False
            solver.copy(trees.path[world, next], trees.found[world, count])
            trees.found_size[world] = count + 1
        at = next + 0
    return True


@wp.func
def _grow(space: Space, most: int, trees: Trees, world: int):
    """RrtConnect::resume: until the trees meet, nothing more can be tried, or `most` checks are made."""
    trees.checks[world] = 0
    before = trees.total[world] + 0
    if before == 0:
        if line_is_free(space, trees.nodes[world, 0, 0], trees.nodes[world, 1, 0], ZERO, trees, world):
            _join(trees, world, 0, 0)
            return FOUND
        if not is_free(space, trees.nodes[world, 1, 0], world, ZERO):
            return FAILED
    while trees.checks[world] < most:
        growing = trees.growing[world] + 0
        connecting = wp.bool(trees.connecting[world])  # a copy: an `else` reads its condition again
        if connecting:
            node = trees.node[world]
            solver.copy(trees.nodes[world, growing, node], trees.aim[world])
            grown = _extend(space, trees, world, 1 - growing)
            if grown >= 0:
                if are_equal(trees.nodes[world, 1 - growing, grown], trees.aim[world]):
                    _join(trees, world, wp.where(growing == 0, node, grown), wp.where(growing == 0, grown, node))
                    return FOUND
            else:
                trees.connecting[world] = False
                trees.growing[world] = 1 - growing
        else:
            if trees.size[world, growing] == MAX_NODES:
                growing = 1 - growing
            attempt = trees.samples[world] + 0
            other = 1 - growing
            is_over = trees.checks[world] >= MAX_CHECKS - before or attempt >= MAX_CHECKS
            if is_over or trees.size[world, growing] == MAX_NODES:
                return FAILED
            if attempt % AIM_PERIOD == AIM_PERIOD - 1:  # at the other tree
                solver.copy(
                    trees.nodes[world, other, attempt / AIM_PERIOD % trees.size[world, other]], trees.aim[world]
                )
            else:
                _sample(space, trees, world, attempt)
            trees.samples[world] = attempt + 1
            grown = _extend(space, trees, world, growing)
            trees.connecting[world] = grown >= 0
            if grown >= 0:
                trees.growing[world] = growing
                trees.node[world] = grown
            else:
                trees.growing[world] = 1 - growing
    trees.total[world] = wp.min(trees.checks[world], MAX_CHECKS - before) + before
    return SEARCHING


@wp.func
def resume(space: Space, most: int, trees: Trees, world: int):
    """Continues a search for about `most` more poses; what is found is in `trees.path` and `trees.found`."""
    progress = _grow(space, most, trees, world)
    if progress == FOUND:
        if not _shorten(space, trees, world):
            return FAILED
    return progress


def trees_for(bound: Any, coordinates: int) -> Any:
    """Memory for searches of all worlds, all zero."""
    nodes, waypoints = int(MAX_NODES), int(MAX_WAYPOINTS)
    trees = Trees()
    trees.nodes = bound.zeros(2, nodes, coordinates)
    trees.parents, trees.size = bound.zeros(2, nodes, kind=int), bound.zeros(2, kind=int)
    for name in ("seed", "total", "samples", "growing", "node", "path_size", "found_size", "checks"):
        setattr(trees, name, bound.zeros(kind=int))
    trees.connecting = bound.zeros(kind=bool)
    trees.path, trees.found = bound.zeros(2 * nodes, coordinates), bound.zeros(waypoints, coordinates)
    trees.aim, trees.middle = bound.zeros(coordinates), bound.zeros(coordinates)
    return trees
