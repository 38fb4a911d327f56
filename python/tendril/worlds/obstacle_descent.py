"""Inverse kinematics among obstacles, one thread for each world.

The steps of tendril/avoidance/obstacle_descent.cpp and, without restarts, of obstacle_solver.cpp.
Source: docs/theory/obstacles.md, "Descent around obstacles".
"""

from __future__ import annotations

from typing import Any

import warp as wp

from tendril.worlds.arm import cholesky_solve, functions, mat33, number, numbers, rows, tables, vec3
from tendril.worlds.obstacles import (
    HALF,
    ONE,
    STRAIGHT,
    TOUCH_DISTANCE,
    TWO,
    ZERO,
    Obstacles,
    arc_point,
    body_distance,
    from_arc,
    from_obstacle,
    nearest_to_point,
    search_below,
    section_arc,
)
from tendril.worlds.solver import (
    FIRST_DAMPING,
    GROW,
    MAX_DAMPING,
    NO_BEND,
    SHRINK,
    SLOW_STEPS,
    solver_functions,
)

TIP_ROWS, CONTACT_ROWS = wp.constant(6), wp.constant(24)
CONTACT_WEIGHT = number(3.0)  # of a clearance against the tip's position
LEAST_DAMPING, LEAST_PROGRESS = number(1e-10), number(1e-2)
AT_LIMIT = number(1e-9)  # ratio of a limit: this near counts as on it
SEARCH_TOLERANCE, SEARCH_STEPS = number(1e-4), wp.constant(40)
CHECK_TOLERANCE, CHECK_STEPS = number(1e-5), wp.constant(100)
MAX_COST = number(30.0)  # squared margins; one below may only be the margin's
PER_DESCENT = wp.constant(150)  # poses that one descent may evaluate
PUSH_OUT = number(1e-9)  # m past the surface that a point is pushed to
PUSHES = wp.constant(20)
CONVERGED, STALLED, SPENT = wp.constant(0), wp.constant(1), wp.constant(2)
REACHED, NOT_REACHED, BASE_INSIDE, TARGET_INSIDE = (wp.constant(i) for i in range(4))

solver = solver_functions(wp.float64)


@wp.struct
class Room:
    """What the body keeps free of, the same in all worlds."""

    rails: int  # sections before the arm's own
    safety: number  # distance that the backbone keeps, m
    straight: numbers  # coordinates of the straight arm


@wp.struct
class Descent:
    """Memory of one descent, a row for each world."""

    q: rows  # its start, then its end
    accepted: rows
    rotations: wp.array2d(dtype=mat33)
    ends: wp.array2d(dtype=vec3)
    residual: rows  # of the tip, then of the contacts, m
    previous: rows
    section: tables  # columns of u, v and s of one section
    directions: wp.array2d(dtype=vec3)  # three of each section that it may move in: (du, dv, ds)
    columns: tables  # of the residual along them
    normal: tables
    factor: tables
    solved: rows
    cost: numbers
    depth: numbers  # deepest entry into the room to keep free, m
    iterations: wp.array(dtype=int)
    contacts: wp.array(dtype=int)
    contact_section: wp.array2d(dtype=int)
    contact_fraction: rows  # of the section's length
    contact_excess: rows  # of the margin over the clearance, m
    contact_point: wp.array2d(dtype=vec3)
    contact_normal: wp.array2d(dtype=vec3)
    free_point: wp.array(dtype=vec3)  # nearest to a target inside an obstacle


@wp.func
def _keep_contact(
    w: Descent, obstacles: Obstacles, world: int, k: int, section: int, fraction: number, excess: number, point: vec3
):
    i = w.contacts[world] + 0
    if i < CONTACT_ROWS:
        w.contacts[world] = i + 1
    else:
        i = wp.int32(0)
        for other in range(1, CONTACT_ROWS):
            if w.contact_excess[world, other] < w.contact_excess[world, i]:
                i = other
        if w.contact_excess[world, i] >= excess:
            return
    distance, normal = from_obstacle(obstacles, world, k, point)
    w.contact_section[world, i] = section
    w.contact_fraction[world, i] = fraction
    w.contact_excess[world, i] = excess
    w.contact_point[world, i] = point
    w.contact_normal[world, i] = normal


@wp.func
def _find_contacts(
    chain: functions.Chain, room: Room, obstacles: Obstacles, near: number, w: Descent, world: int, i: int
):
    """Of section i; returns their part of the cost."""
    cost = number(0.0)
    c, R = functions.coordinates(chain, w.q[world], i), w.rotations[world, i]
    x, y, z = vec3(R[0, 0], R[1, 0], R[2, 0]), vec3(R[0, 1], R[1, 1], R[2, 1]), vec3(R[0, 2], R[1, 2], R[2, 2])
    theta = wp.sqrt(c[0] * c[0] + c[1] * c[1])
    side, p, first = x + vec3(), w.ends[world, i] + vec3(), number(0.0)
    if theta > STRAIGHT:
        side = (c[0] * x + c[1] * y) / theta
    search = search_below(near, SEARCH_TOLERANCE, SEARCH_STEPS)
    for j in range(chain.first_arc[i], chain.first_arc[i + 1]):
        arc = section_arc(chain, j, p, z, side, theta, chain.length[i] + c[2])
        for at in range(obstacles.count):
            k = obstacles.order[world, at]
            distance, s = from_arc(obstacles, world, k, arc, search)
            if s >= ZERO:
                excess = near - distance
                cost += CONTACT_WEIGHT * CONTACT_WEIGHT * excess * excess
                w.depth[world] = wp.max(w.depth[world], room.safety - distance)
                fraction = first + ZERO
                if arc.length > ZERO:
                    fraction += chain.arc_length[j] * s / arc.length
                _keep_contact(w, obstacles, world, k, i, fraction, excess, arc_point(arc, s))
        angle = TWO * chain.arc_half[j] * theta
        p = arc_point(arc, arc.length)
        z = wp.cos(angle) * arc.tangent + wp.sin(angle) * arc.side
        side = wp.cos(angle) * arc.side - wp.sin(angle) * arc.tangent
        first += chain.arc_length[j]
    return cost


@wp.func
def evaluate(
    chain: functions.Chain, goal: solver.Goal, room: Room, obstacles: Obstacles, margin: number, w: Descent, world: int
):
    """Frames, contacts, residual and cost of w.q."""
    functions.end_frames(chain, w.q[world], ZERO, obstacles.spin[world], w.rotations[world], w.ends[world])
    r = solver.residual(chain, goal, w.rotations[world, chain.sections], w.ends[world, chain.sections], ZERO)
    for k in range(TIP_ROWS):
        w.residual[world, k] = r[k]
    cost = wp.dot(r, r)
    w.contacts[world] = 0
    w.depth[world] = -margin
    for i in range(room.rails, chain.sections):
        cost += _find_contacts(chain, room, obstacles, room.safety + margin, w, world, i)
    for k in range(w.contacts[world]):
        w.residual[world, TIP_ROWS + k] = CONTACT_WEIGHT * w.contact_excess[world, k]
    return cost


@wp.func
def _point_rates(chain: functions.Chain, i: int, q: vec3, fraction: number):
    """Translations per unit of u, v and s of a point of section i that keeps its fraction of its length."""
    t = q[0] * q[0] + q[1] * q[1]
    x, z, dx, dz, done = number(0.0), number(0.0), number(0.0), number(0.0), number(0.0)
    for j in range(chain.first_arc[i], chain.first_arc[i + 1]):
        whole = chain.arc_length[j]
        part = wp.clamp((fraction - done) / wp.max(whole, number(1e-30)), ZERO, ONE)
        done += whole
        h = part * chain.arc_half[j]
        m = chain.arc_middle[j] - chain.arc_half[j] + h
        length = part * whole
        chord, middle = functions.stumpff(h * h * t), functions.stumpff(m * m * t)
        d_chord = HALF * h * h * (chord[3] - chord[2])
        d_middle = HALF * m * m * (middle[3] - middle[2])
        x += length * m * chord[1] * middle[1]
        z += length * chord[1] * middle[0]
        dx += length * m * (d_middle * chord[1] + middle[1] * d_chord)
        dz += length * (d_chord * middle[0] - HALF * m * m * chord[1] * middle[1])
    length = chain.length[i] + q[2]
    stretch = TWO * length * vec3(dx * q[0], dx * q[1], dz)
    return (
        vec3(length * x, ZERO, ZERO) + q[0] * stretch,
        vec3(ZERO, length * x, ZERO) + q[1] * stretch,
        vec3(x * q[0], x * q[1], z),
    )


@wp.func
def _section_columns(chain: functions.Chain, goal: solver.Goal, w: Descent, world: int, i: int, n: int):
    """Columns of the residual for u, v and s of section i."""
    q, base = functions.coordinates(chain, w.q[world], i), w.rotations[world, i]
    R = w.rotations[world, chain.sections]
    arm = w.ends[world, chain.sections] - w.ends[world, i + 1]
    w_u, w_v, p_u, p_v, p_s = functions.section_rates(chain, i, q)
    w_u = base * w_u
    w_v = base * w_v
    p_u = base * p_u
    p_v = base * p_v
    p_s = base * p_s
    column_u = solver.tip_column(chain, goal, R, p_u + wp.cross(w_u, arm), w_u)
    column_v = solver.tip_column(chain, goal, R, p_v + wp.cross(w_v, arm), w_v)
    column_s = solver.tip_column(chain, goal, R, p_s, vec3())
    for r in range(TIP_ROWS):
        w.section[world, 0, r] = column_u[r]
        w.section[world, 1, r] = column_v[r]
        w.section[world, 2, r] = column_s[r]
    for r in range(TIP_ROWS, n):
        k = r - TIP_ROWS
        g = CONTACT_WEIGHT * w.contact_normal[world, k]
        at = w.contact_section[world, k]
        u, v, s = number(0.0), number(0.0), number(0.0)
        if i < at:
            torque = wp.cross(w.contact_point[world, k] - w.ends[world, i + 1], g)
            u = wp.dot(g, p_u) + wp.dot(w_u, torque)
            v = wp.dot(g, p_v) + wp.dot(w_v, torque)
            s = wp.dot(g, p_s)
        elif i == at:
            along_u, along_v, along_s = _point_rates(chain, i, q, w.contact_fraction[world, k])
            local = wp.transpose(base) * g
            u = wp.dot(local, along_u)
            v = wp.dot(local, along_v)
            s = wp.dot(local, along_s)
        w.section[world, 0, r] = u
        w.section[world, 1, r] = v
        w.section[world, 2, r] = s


@wp.func
def _along(w: Descent, world: int, r: int, direction: vec3):
    """Entry r of the column of a direction."""
    section = w.section[world]
    return direction[0] * section[0, r] + direction[1] * section[1, r] + direction[2] * section[2, r]


@wp.func
def _gain(w: Descent, world: int, n: int, direction: vec3):
    """Half the rate at which the cost falls along a direction."""
    sum = number(0.0)
    for r in range(n):
        sum += w.residual[world, r] * _along(w, world, r, direction)
    return sum


@wp.func
def _free_directions(chain: functions.Chain, w: Descent, world: int, i: int, n: int):
    """The directions of section i that its limits leave, and the columns along them."""
    q = functions.coordinates(chain, w.q[world], i)
    bends, lengthen = chain.bends[i], vec3(ZERO, ZERO, chain.length_scale)
    first, second = vec3(bends[0], ZERO, ZERO), vec3(ZERO, bends[1], ZERO)
    limit = functions.bend_limit(chain, i, q[2])
    square = q[0] * q[0] + q[1] * q[1]
    if square >= limit * limit * (ONE - TWO * AT_LIMIT):
        radial = first + vec3()
        if square > ZERO:
            radial = vec3(q[0], q[1], ZERO) / wp.sqrt(square)
        if _gain(w, world, n, radial) > ZERO:
            first = vec3()
            second = bends[0] * bends[1] * vec3(-radial[1], radial[0], ZERO)
            if chain.variable_length[i] > ZERO:  # along the cone of limits a longer section may bend more
                lengthen += chain.length_scale * chain.bend_limit[i] / chain.variable_length[i] * radial
    if limit <= number(NO_BEND):
        first = vec3()
        second = vec3()
    longest, gain = chain.variable_length[i], _gain(w, world, n, lengthen)
    if (
        longest <= ZERO
        or (q[2] <= AT_LIMIT * longest and gain < ZERO)
        or (q[2] >= (ONE - AT_LIMIT) * longest and gain > ZERO)
    ):
        lengthen = vec3()
    w.directions[world, 3 * i] = first
    w.directions[world, 3 * i + 1] = second
    w.directions[world, 3 * i + 2] = lengthen
    for r in range(n):
        w.columns[world, 3 * i, r] = _along(w, world, r, first)
        w.columns[world, 3 * i + 1, r] = _along(w, world, r, second)
        w.columns[world, 3 * i + 2, r] = _along(w, world, r, lengthen)


@wp.func
def differentiate(chain: functions.Chain, goal: solver.Goal, w: Descent, world: int, n: int):
    """Directions, columns and normal matrix of w.q; returns the matrix's trace."""
    for i in range(chain.sections):
        _section_columns(chain, goal, w, world, i, n)
        _free_directions(chain, w, world, i, n)
    trace = number(0.0)
    for r in range(n):
        for c in range(r + 1):
            sum = number(0.0)
            for k in range(3 * chain.sections):
                sum += w.columns[world, k, r] * w.columns[world, k, c]
            w.normal[world, r, c] = sum
        trace += w.normal[world, r, r]
    return trace


@wp.func
def _step(chain: functions.Chain, w: Descent, world: int, n: int, damping: number):
    """w.q = w.accepted and the damped step, inside the limits."""
    for r in range(n):
        for c in range(r + 1):
            w.factor[world, r, c] = w.normal[world, r, c]
        w.factor[world, r, r] = w.factor[world, r, r] + damping
        w.solved[world, r] = w.previous[world, r]
    cholesky_solve(w.factor[world], w.solved[world], n)
    for i in range(chain.sections):
        q = functions.coordinates(chain, w.accepted[world], i)
        for k in range(3 * i, 3 * i + 3):
            amount = number(0.0)
            for r in range(n):
                amount += w.columns[world, k, r] * w.solved[world, r]
            q += amount * w.directions[world, k]
        functions.set_coordinates(chain, w.q[world], i, functions.clamped(chain, i, q))


@wp.func
def _descend(
    chain: functions.Chain,
    goal: solver.Goal,
    budget: solver.Budget,
    room: Room,
    obstacles: Obstacles,
    margin: number,
    most: int,
    w: Descent,
    world: int,
):
    """From w.q until the target is met with the body free, nothing helps any more, or w.iterations is `most`."""
    unit = chain.length_scale * chain.length_scale
    cost = evaluate(chain, goal, room, obstacles, margin, w, world)
    damping = wp.clamp(cost / unit, LEAST_DAMPING, number(FIRST_DAMPING))
    slow, end = wp.int32(0), wp.int32(-1)
    while end < 0:
        r = solver.row()
        for k in range(TIP_ROWS):
            r[k] = w.residual[world, k]
        n = TIP_ROWS + w.contacts[world]
        if solver.is_met(chain, budget, r) and w.depth[world] <= ZERO:
            end = CONVERGED
        elif slow >= SLOW_STEPS or differentiate(chain, goal, w, world, n) <= ZERO:
            end = STALLED
        else:
            solver.copy(w.q[world], w.accepted[world])
            solver.copy(w.residual[world], w.previous[world])
            improved = wp.bool(False)
            while not improved and end < 0:
                if w.iterations[world] >= most or damping > number(MAX_DAMPING):
                    end = wp.where(w.iterations[world] >= most, SPENT, STALLED)
                    solver.copy(w.accepted[world], w.q[world])
                    cost = evaluate(chain, goal, room, obstacles, margin, w, world)
                else:
                    _step(chain, w, world, n, damping * unit)
                    w.iterations[world] = w.iterations[world] + 1
                    trial = evaluate(chain, goal, room, obstacles, margin, w, world)
                    if trial < cost:
                        slow = wp.where(trial > (ONE - LEAST_PROGRESS) * cost, slow + 1, 0)
                        damping = wp.max(LEAST_DAMPING, damping * number(SHRINK))
                        cost = trial
                        improved = wp.bool(True)
                    else:
                        damping *= number(GROW)
    w.cost[world] = cost
    return end


@wp.func
def is_free(chain: functions.Chain, room: Room, q: numbers, obstacles: Obstacles, world: int):
    """ObstacleSolver::is_free."""
    below = room.safety - TOUCH_DISTANCE
    search = search_below(below, CHECK_TOLERANCE, CHECK_STEPS)
    return body_distance(chain, room.rails, q, obstacles, world, search) >= below


@wp.func
def solve(
    chain: functions.Chain,
    goal: solver.Goal,
    budget: solver.Budget,
    room: Room,
    obstacles: Obstacles,
    w: Descent,
    world: int,
):
    """ObstacleSolver::solve from the pose in w.q, where the best one is then: one descent with smaller margins."""
    for i in range(chain.sections):
        c = functions.coordinates(chain, w.q[world], i)
        functions.set_coordinates(chain, w.q[world], i, functions.clamped(chain, i, c))
    w.iterations[world] = 0
    below = room.safety - TOUCH_DISTANCE
    point, inside = goal.position + vec3(), wp.bool(False)
    for _ in range(PUSHES):
        distance, normal = nearest_to_point(obstacles, world, point, below)
        if distance >= below:
            break
        inside = wp.bool(True)
        point += (room.safety - distance + PUSH_OUT) * normal
    w.free_point[world] = point
    if room.rails == 0:
        distance, normal = nearest_to_point(obstacles, world, vec3(), below)
        if distance < below:
            return BASE_INSIDE
    if inside:
        return TARGET_INSIDE
    most = wp.min(budget.iterations, PER_DESCENT)
    margin = number(1e-3)
    for attempt in range(3):
        if attempt == 1:
            margin = number(2e-4)
        elif attempt == 2:
            margin = number(1e-6)
        end = _descend(chain, goal, budget, room, obstacles, margin, most, w, world)
        if end == CONVERGED and is_free(chain, room, w.q[world], obstacles, world):
            return REACHED
        if w.iterations[world] >= most or w.cost[world] > MAX_COST * margin * margin:
            break
    r = solver.row()
    for k in range(TIP_ROWS):
        r[k] = w.residual[world, k]
    if solver.is_met(chain, budget, r) and is_free(chain, room, w.q[world], obstacles, world):
        return REACHED
    return NOT_REACHED


def descent_for(bound: Any, sections: int, coordinates: int) -> Any:
    """Memory for descents of all worlds, all zero."""
    most = int(TIP_ROWS) + int(CONTACT_ROWS)
    shapes = {
        "q": (coordinates,),
        "accepted": (coordinates,),
        "section": (3, most),
        "columns": (3 * sections, most),
        "normal": (most, most),
        "factor": (most, most),
        **dict.fromkeys(("residual", "previous", "solved"), (most,)),
        **dict.fromkeys(("contact_fraction", "contact_excess"), (int(CONTACT_ROWS),)),
    }
    kinds = {
        "rotations": (mat33, sections + 1),
        "ends": (vec3, sections + 1),
        "directions": (vec3, 3 * sections),
        "iterations": (int,),
        "contacts": (int,),
        "contact_section": (int, int(CONTACT_ROWS)),
        "contact_point": (vec3, int(CONTACT_ROWS)),
        "contact_normal": (vec3, int(CONTACT_ROWS)),
        "free_point": (vec3,),
    }
    work = Descent()
    for name in Descent.vars:
        kind, *shape = kinds.get(name, (number, *shapes.get(name, ())))
        setattr(work, name, bound.zeros(*shape, kind=kind))
    return work
