"""Obstacles of an arm: signed distances of geoms, and how far the arcs of its body are from them.

The steps of tendril/geometry/signed_distance.cpp and body_clearance.cpp, one thread for each world.
Source: docs/theory/obstacles.md, "Distance of an arc".
"""

from __future__ import annotations

import math
from typing import Any

import mujoco
import warp as wp

from tendril.worlds.arm import Arm, functions, in_base, mat33, number, numbers, rows, vec3, wide, wide_matrix
from tendril.worlds.controller import Engine

SPHERE, CAPSULE, CYLINDER, BOX, ELLIPSOID, PLANE = KINDS = tuple(
    wp.constant(int(getattr(mujoco.mjtGeom, f"mjGEOM_{name}")))
    for name in ("SPHERE", "CAPSULE", "CYLINDER", "BOX", "ELLIPSOID", "PLANE")
)
TOUCH_DISTANCE = number(1e-7)  # m: an overlap up to this is free
STRAIGHT = number(1e-9)  # rad: smaller bends count as none
SERIES = number(1e-6)  # rad
SAMPLES, INTERVALS = wp.constant(9), wp.constant(8)  # before the search along an arc is refined
HALVINGS = wp.constant(60)
ELLIPSOID_ITERATIONS = wp.constant(50)
ZERO, HALF, ONE, TWO = number(0.0), number(0.5), number(1.0), number(2.0)
INFINITY = number(math.inf)
LOOK_AHEAD, MAX_GROWTH, SPEED_TIME = number(0.05), number(0.02), number(0.05)  # s, m, s

_Samples = wp.types.vector(9, wp.float64)


@wp.struct
class Obstacles:
    """Geoms, those that may move first, in the frame of the arm's base; a row for each world."""

    count: int
    moving: int
    geom: wp.array(dtype=int)
    kind: wp.array(dtype=int)
    size: wp.array2d(dtype=wp.vec3)  # of all geoms of the model; one row, or one for each world
    position: wp.array2d(dtype=vec3)
    rotation: wp.array2d(dtype=mat33)
    speed: rows  # of those that move, m/s
    growth: rows  # by which an obstacle is larger, m
    known: wp.array(dtype=bool)  # where they were in the previous step
    spin: numbers  # of the arm's base, rad
    order: wp.array2d(dtype=int)  # along x, then y and z; within the tolerance of a search a distance depends on it


@wp.struct
class Arc:
    """Of the body: it leaves its start along the tangent and bends to the side."""

    start: vec3
    tangent: vec3
    side: vec3
    curvature: number  # 1/m
    length: number  # m


@wp.struct
class Search:
    """Along an arc."""

    below: number  # only distances below it are searched for, m
    tolerance: number  # the distance found is above the least one by at most this, m
    most_steps: int  # evaluations; after them steps grow and the bound is lost


@wp.func
def search_below(below: number, tolerance: number, most_steps: int):
    search = Search()
    search.below = below
    search.tolerance = tolerance
    search.most_steps = most_steps
    return search


@wp.func
def _sign(x: number):
    return wp.where(x < ZERO, -ONE, ONE)


@wp.func
def _from_core(away: vec3, radius: number):
    length = wp.length(away)
    gradient = vec3(ONE, ZERO, ZERO)
    if length > ZERO:
        gradient = away / length
    return length - radius, gradient


@wp.func
def _from_cylinder(size: vec3, p: vec3):
    from_axis = wp.sqrt(p[0] * p[0] + p[1] * p[1])
    out = vec3(ONE, ZERO, ZERO)
    if from_axis > ZERO:
        out = vec3(p[0] / from_axis, p[1] / from_axis, ZERO)
    cap = vec3(ZERO, ZERO, _sign(p[2]))
    radial, over = from_axis - size[0], wp.abs(p[2]) - size[1]
    if radial <= ZERO or over <= ZERO:
        return wp.max(radial, over), wp.where(over <= radial, out, cap)
    length = wp.sqrt(radial * radial + over * over)
    return length, (radial * out + over * cap) / length


@wp.func
def _from_box(size: vec3, p: vec3):
    over, out, gradient = vec3(), vec3(), vec3()
    nearest = wp.int32(0)
    for k in range(3):
        over[k] = wp.abs(p[k]) - size[k]
        out[k] = wp.max(over[k], ZERO)
        if over[k] > over[nearest]:
            nearest = k
    length = wp.length(out)
    if over[nearest] <= ZERO:
        length = over[nearest]
        gradient[nearest] = _sign(p[nearest])
    else:
        for k in range(3):
            gradient[k] = _sign(p[k]) * out[k] / length
    return length, gradient


@wp.func
def _from_ellipsoid(half: vec3, p: vec3):
    shortest = wp.int32(0)
    for k in range(3):
        if half[k] < half[shortest]:
            shortest = k
    pole = -half[shortest] * half[shortest]
    t = pole + wp.abs(p[shortest]) * half[shortest]
    for _ in range(ELLIPSOID_ITERATIONS):
        sum, slope = number(0.0), number(0.0)
        for k in range(3):
            if p[k] != ZERO:
                shifted = t + half[k] * half[k]
                ratio = wp.abs(p[k]) * half[k] / shifted
                sum += ratio * ratio
                slope += ratio * ratio / shifted
        if not (sum > ONE) or not wp.isfinite(slope):
            break
        next = t + sum * (wp.sqrt(sum) - ONE) / slope
        if not (next > t):
            break
        t = next
    normal, rest = vec3(), number(1.0)
    for k in range(3):
        if p[k] != ZERO:
            x = half[k] * half[k] * wp.abs(p[k]) / (t + half[k] * half[k])
            normal[k] = _sign(p[k]) * x / (half[k] * half[k])
            rest -= (x / half[k]) * (x / half[k])
    if t == pole and p[shortest] == ZERO:  # in the middle: two nearest points
        normal[shortest] = wp.sqrt(wp.max(ZERO, rest)) / half[shortest]
    length = wp.length(normal)
    return t * length, normal / length


@wp.func
def distance_to(kind: int, size: vec3, p: vec3):
    """Signed distance of a point from a geom in its own frame, m, and its gradient."""
    distance, gradient = p[2], vec3(ZERO, ZERO, ONE)  # from a plane
    if kind == SPHERE:
        distance, gradient = _from_core(p, size[0])
    elif kind == CAPSULE:
        distance, gradient = _from_core(p - vec3(ZERO, ZERO, wp.clamp(p[2], -size[1], size[1])), size[0])
    elif kind == CYLINDER:
        distance, gradient = _from_cylinder(size, p)
    elif kind == BOX:
        distance, gradient = _from_box(size, p)
    elif kind == ELLIPSOID:
        distance, gradient = _from_ellipsoid(size, p)
    return distance, gradient


@wp.func
def bounding_radius(kind: int, size: vec3):
    if kind == SPHERE:
        return size[0]
    if kind == CAPSULE:
        return size[0] + size[1]
    if kind == CYLINDER:
        return wp.sqrt(size[0] * size[0] + size[1] * size[1])
    if kind == BOX:
        return wp.length(size)
    if kind == ELLIPSOID:
        return wp.max(size)
    return INFINITY


@wp.func
def size_of(obstacles: Obstacles, world: int, k: int):
    return wide(obstacles.size[world % obstacles.size.shape[0], obstacles.geom[k]])


@wp.func
def _is_before(obstacles: Obstacles, world: int, a: int, b: int):
    p, q = obstacles.position[world, a], obstacles.position[world, b]
    for axis in range(3):
        if p[axis] != q[axis]:
            return p[axis] < q[axis]
    p_radius = bounding_radius(obstacles.kind[a], size_of(obstacles, world, a)) + obstacles.growth[world, a]
    return p_radius < bounding_radius(obstacles.kind[b], size_of(obstacles, world, b)) + obstacles.growth[world, b]


@wp.func
def place(obstacles: Obstacles, arm: Arm, engine: Engine, reach: number, world: int):
    """ReactivePlanner::place_obstacles, for an arm of this length."""
    h, to_base = arm.timestep, wp.transpose(wide_matrix(engine.xmat[world, arm.base_body]))
    for k in range(obstacles.count):
        geom = obstacles.geom[k]
        p = in_base(arm, engine, world, engine.geom_xpos[world, geom])
        R = to_base * wide_matrix(engine.geom_xmat[world, geom])
        if k < obstacles.moving:
            speed = number(0.0)
            if obstacles.known[world]:
                extent = wp.min(bounding_radius(obstacles.kind[k], size_of(obstacles, world, k)), reach)
                turn = wp.transpose(obstacles.rotation[world, k]) * R
                sine = vec3(turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1])
                angle = wp.atan2(wp.length(sine), wp.trace(turn) - ONE)
                moved = wp.length(p - obstacles.position[world, k]) + extent * angle
                last = obstacles.speed[world, k]
                speed = last + wp.min(ONE, h / SPEED_TIME) * (moved / h - last)
            obstacles.speed[world, k] = speed
            obstacles.growth[world, k] = wp.min(MAX_GROWTH, speed * (LOOK_AHEAD + h))
        obstacles.position[world, k] = p
        obstacles.rotation[world, k] = R
    obstacles.known[world] = True
    for k in range(obstacles.count):
        i = k + 0
        while i > 0 and _is_before(obstacles, world, k, obstacles.order[world, wp.max(i - 1, 0)]):
            obstacles.order[world, i] = obstacles.order[world, i - 1]
            i -= 1
        obstacles.order[world, i] = k


@wp.func
def from_obstacle(obstacles: Obstacles, world: int, k: int, p: vec3):
    """Signed distance of a point from obstacle k, m, and its gradient."""
    R = obstacles.rotation[world, k]
    local = wp.transpose(R) * (p - obstacles.position[world, k])
    distance, gradient = distance_to(obstacles.kind[k], size_of(obstacles, world, k), local)
    return distance - obstacles.growth[world, k], R * gradient


@wp.func
def nearest_to_point(obstacles: Obstacles, world: int, p: vec3, below: number):
    """The least distance that is below this, or `below`; and its gradient."""
    least, normal = below + ZERO, vec3()
    for at in range(obstacles.count):
        k = obstacles.order[world, at]
        distance, gradient = from_obstacle(obstacles, world, k, p)
        if distance < least:
            least = distance
            normal = gradient
    return least, normal


@wp.func
def plane_point(curvature: number, s: number):
    """Of an arc in its bend plane: along the side and along the tangent."""
    u = curvature * s
    if wp.abs(u) < SERIES:
        return HALF * u * s * (ONE - u * u / number(12.0)), s * (ONE - u * u / number(6.0))
    half = wp.sin(HALF * u)
    return TWO * half * half / curvature, wp.sin(u) / curvature


@wp.func
def arc_point(arc: Arc, s: number):
    x, z = plane_point(arc.curvature, s)
    return arc.start + x * arc.side + z * arc.tangent


@wp.func
def _nearest_arc_length(arc: Arc, p: vec3):
    d = p - arc.start
    x, z, k = wp.dot(d, arc.side), wp.dot(d, arc.tangent), arc.curvature
    if wp.abs(k) * arc.length < STRAIGHT:
        return wp.clamp(z, ZERO, arc.length)
    angle = _sign(k) * wp.atan2(k * z, ONE - k * x)
    if angle < ZERO:
        angle += number(2.0 * math.pi)
    s = angle / wp.abs(k)
    if s <= arc.length:
        return s
    end_x, end_z = plane_point(k, arc.length)
    from_end = (x - end_x) * (x - end_x) + (z - end_z) * (z - end_z)
    return wp.where(x * x + z * z <= from_end, ZERO, arc.length)


@wp.func
def _at(obstacles: Obstacles, world: int, k: int, arc: Arc, s: number):
    """Distance at a point of the arc, and its slope."""
    u = arc.curvature * s
    distance, gradient = from_obstacle(obstacles, world, k, arc_point(arc, s))
    return distance, wp.dot(gradient, wp.cos(u) * arc.tangent + wp.sin(u) * arc.side)


@wp.func
def _local_minimum(obstacles: Obstacles, world: int, k: int, arc: Arc, from_s: number, to_s: number, search: Search):
    """By halving, between a point where the distance falls and one where it rises."""
    a, b = from_s + ZERO, to_s + ZERO
    at_a, slope = _at(obstacles, world, k, arc, a)
    at_b, slope = _at(obstacles, world, k, arc, b)
    resolution = number(1e-9) + number(0.01) * search.tolerance
    steps = wp.int32(0)
    while steps < HALVINGS and b - a > resolution:
        middle = HALF * (a + b)
        distance, slope = _at(obstacles, world, k, arc, middle)
        steps += 1
        if slope > ZERO:
            b = middle
            at_b = distance
        else:
            a = middle
            at_a = distance
    return wp.min(at_a, at_b), wp.where(at_a < at_b, a, b), steps


@wp.func
def _safe_step(arc: Arc, distance: number, slope: number, least: number, left: number, over: bool, tolerance: number):
    """Over which nothing relevant is missed: along it the distance bends down by no more than the arc does."""
    above = wp.max(ZERO, distance - least) + tolerance
    k = wp.abs(arc.curvature)
    root = wp.sqrt(slope * slope + TWO * k * above)
    safe = left + ZERO
    if slope < ZERO:
        safe = TWO * above / (root - slope)
    elif k > ZERO:
        safe = (slope + root) / k
    step = wp.max(above, safe)
    if over:
        step = wp.max(step, left / number(4.0) + number(1e-6))
    return step


@wp.func
def _may_hold(a: number, b: number, apart: number, least: number, tolerance: number):
    """Whether a relevant distance fits between two samples, which changes by no more than s does."""
    return HALF * (a + b - apart) < least - tolerance


@wp.func
def _arc_minimum(obstacles: Obstacles, world: int, k: int, arc: Arc, search: Search):
    """The least distance that is below the search's, and where; -1: there is none."""
    least, found, tolerance = search.below + ZERO, number(-1.0), search.tolerance
    distances, slopes = _Samples(), _Samples()
    spacing = arc.length / number(8.0)
    at, end = number(0.0), number(0.0)
    for i in range(SAMPLES):
        distance, slope = _at(obstacles, world, k, arc, end)
        distances[i] = distance
        slopes[i] = slope
        if distance < least:
            least = distance
            found = end + ZERO
        end += spacing
    if spacing <= ZERO:
        return least, found
    evaluations = wp.int32(9)
    end = number(0.0)
    for i in range(INTERVALS):
        at = end + ZERO
        end += spacing
        if (
            slopes[i] < ZERO
            and slopes[i + 1] > ZERO
            and _may_hold(distances[i], distances[i + 1], spacing, least, tolerance)
        ):
            distance, s, steps = _local_minimum(obstacles, world, k, arc, at, end, search)
            evaluations += steps
            if distance < least:
                least = distance
                found = s
    end = number(0.0)
    for i in range(INTERVALS):
        at = end + ZERO
        end += spacing
        distance, slope = distances[i] + ZERO, slopes[i] + ZERO
        at_end = distances[i + 1]
        while at < end and _may_hold(distance, at_end, end - at, least, tolerance):
            over = evaluations > search.most_steps
            step = _safe_step(arc, distance, slope, least, end - at, over, tolerance)
            if at + step >= end:
                break
            at += step
            next, next_slope = _at(obstacles, world, k, arc, at)
            evaluations += 1
            is_better = next < least - tolerance
            if next < least:
                least = next
                found = at + ZERO
            if is_better and next_slope < ZERO:
                lowest, s, steps = _local_minimum(obstacles, world, k, arc, at, end, search)
                evaluations += steps
                if lowest < least:
                    least = lowest
                    found = s
            distance = next
            slope = next_slope
    return least, found


@wp.func
def from_arc(obstacles: Obstacles, world: int, k: int, arc: Arc, search: Search):
    """Distance of an arc from obstacle k if it is below the search's, and where on the arc; -1: it is not."""
    kind, size, growth = obstacles.kind[k], size_of(obstacles, world, k), obstacles.growth[world, k]
    middle = HALF * (arc.start + arc_point(arc, arc.length))
    reach = HALF * arc.length + search.below
    away = wp.length(obstacles.position[world, k] - middle)
    if away >= reach + bounding_radius(kind, size) + growth:
        return search.below, -ONE
    if kind == SPHERE:
        s = _nearest_arc_length(arc, obstacles.position[world, k])
        distance = wp.length(arc_point(arc, s) - obstacles.position[world, k]) - size[0] - growth
        return distance, wp.where(distance < search.below, s, -ONE)
    distance, gradient = from_obstacle(obstacles, world, k, middle)
    if distance >= reach:
        return search.below, -ONE
    distance, s = _arc_minimum(obstacles, world, k, arc, search)
    return distance, s


@wp.func
def section_arc(chain: functions.Chain, j: int, start: vec3, tangent: vec3, side: vec3, theta: number, length: number):
    """Arc j of the chain, in a section of this bend and length."""
    arc = Arc()
    arc.start = start
    arc.tangent = tangent
    arc.side = side
    arc.length = chain.arc_length[j] * length
    arc.curvature = ZERO
    if arc.length > ZERO:
        arc.curvature = TWO * chain.arc_half[j] * theta / arc.length
    return arc


@wp.func
def body_distance(chain: functions.Chain, rails: int, q: numbers, obstacles: Obstacles, world: int, search: Search):
    """Least distance of the backbone from the obstacles, if it is below the search's, which it is otherwise."""
    least = search_below(search.below, search.tolerance, search.most_steps)
    cos_spin, sin_spin = wp.cos(obstacles.spin[world]), wp.sin(obstacles.spin[world])
    x, y, z = vec3(cos_spin, sin_spin, ZERO), vec3(-sin_spin, cos_spin, ZERO), vec3(ZERO, ZERO, ONE)
    p = vec3()
    for i in range(chain.sections):
        c = functions.coordinates(chain, q, i)
        theta = wp.sqrt(c[0] * c[0] + c[1] * c[1])
        cosine, sine = number(1.0), number(0.0)
        if theta >= STRAIGHT:
            cosine = c[0] / theta
            sine = c[1] / theta
        side, across = cosine * x + sine * y, cosine * y - sine * x
        for j in range(chain.first_arc[i], chain.first_arc[i + 1]):
            arc = section_arc(chain, j, p, z, side, theta, chain.length[i] + c[2])
            if i >= rails:
                for at in range(obstacles.count):
                    distance, s = from_arc(obstacles, world, obstacles.order[world, at], arc, least)
                    if s >= ZERO:
                        least.below = distance
            angle = TWO * chain.arc_half[j] * theta
            p = arc_point(arc, arc.length)
            z = wp.cos(angle) * arc.tangent + wp.sin(angle) * arc.side
            side = wp.cos(angle) * arc.side - wp.sin(angle) * arc.tangent
        x = cosine * side - sine * across
        y = sine * side + cosine * across
    return least.below


def obstacles_of(bound: Any, model: Any) -> Any:
    """The obstacles that the tables of an arm name; their sizes are those of the device's model."""
    table = bound.tables[0]["obstacles"]
    obstacles = Obstacles()
    obstacles.count, obstacles.moving = len(table["geoms"]), table["moving"]
    obstacles.geom = bound.integers(table["geoms"])
    obstacles.kind = bound.integers(model.geom_type[table["geoms"]])
    obstacles.position, obstacles.rotation = (bound.zeros(obstacles.count, kind=kind) for kind in (vec3, mat33))
    obstacles.speed, obstacles.growth = bound.zeros(obstacles.count), bound.zeros(obstacles.count)
    obstacles.known, obstacles.order = bound.zeros(kind=bool), bound.zeros(obstacles.count, kind=int)
    obstacles.spin = bound.zeros()
    return obstacles
