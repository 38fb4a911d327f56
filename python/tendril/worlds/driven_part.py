"""Arms whose drives do not move everything, one thread for each world: their body's pose, and inverse kinematics.

The steps of controllers/arm/driven_part.cpp and tendril/ik/driven_solver.cpp. Source: docs/theory/control.md, "Arms
that are driven in part"; docs/theory/ik.md, "What drives move".
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import warp as wp

from tendril.worlds.arm import STABILITY_FRACTION, Arm, Step, cholesky_solve, functions, number, numbers, project, rows
from tendril.worlds.arm import tables as matrices
from tendril.worlds.bound_arm import BoundArm
from tendril.worlds.distribution import Distribution, distribute, distribution_for
from tendril.worlds.solver import solver_functions

BODY_RATE = 5.0  # of the filter of the body's pose, 1/s
# Of the damping, in units of the squared length scale.
FIRST_DAMPING, LEAST_DAMPING, MAX_DAMPING = number(1e-3), number(1e-9), number(1e3)
SHRINK, GROW = number(0.2), number(5.0)
LEAST_PROGRESS = number(1e-3)  # of the cost in a step
SLOW_STEPS = wp.constant(4)  # in a row that gain less: a stall
TIP_ROWS = wp.constant(6)  # of the residual: position, and direction times the length scale; then one for each section
CONVERGED, STALLED, BUDGET_SPENT = (wp.constant(end) for end in range(3))  # ends of a descent
ZERO, ONE, PI = number(0.0), number(1.0), number(math.pi)

solver = solver_functions(wp.float64)


@wp.struct
class DrivenPart:
    """What the drives of one arm move, of numbers one row for each world or one for all."""

    exists: bool  # otherwise they move all that bends, and the body's pose is 0
    gives_way: bool  # the body is not where the commands have it
    drives: int
    unknowns: int  # and feed and spin of the base
    feed: int  # its index; -1: none
    spin: int  # likewise
    length_scale: number  # m
    directions: matrices  # coordinates x unknowns
    low: rows
    high: rows
    driven: matrices
    rest: rows
    compliance: rows
    nearest: Distribution  # drives for a pose
    # Memory, a row for each world.
    known: wp.array(dtype=bool)
    body: rows  # pose that no drive holds
    # Scratch, a row for each world.
    x: rows  # values of the drives, then of the base
    before: rows
    best: rows
    cost: numbers
    residual: rows
    tip_jacobian: matrices
    jacobian: matrices  # of the residual
    gradient: rows
    change: rows
    normal: matrices
    damped: matrices


@wp.kernel(module="unique", enable_backward=False)
def measure_body(arm: Arm, part: DrivenPart, step: Step):
    """BodyPose::update; and the tip Jacobian becomes that of what the drives move."""
    world = wp.tid()
    b = world % arm.rows
    rate = wp.min(number(BODY_RATE), number(STABILITY_FRACTION) * arm.settings[b].stability)
    fraction = number(1.0)
    if part.known[world]:
        fraction = wp.min(ONE, rate * arm.timestep)
    for k in range(arm.coordinates):
        pose = step.q[world, k]
        for j in range(arm.coordinates):
            free = part.rest[b, j] + part.compliance[b, j] * step.moment[world, j]
            pose += part.driven[b, k, j] * (free - step.q[world, j])
        part.body[world, k] = part.body[world, k] + fraction * (pose - part.body[world, k])
    part.known[world] = True
    for r in range(6):
        project(arm, b, step.jacobian[world, r], step.unprojected[world])


@wp.func
def forget_body(world: int, part: DrivenPart):
    if part.exists:
        part.known[world] = False
        for k in range(part.body.shape[1]):
            part.body[world, k] = ZERO


@wp.func
def _nearest(part: DrivenPart, b: int, world: int, q: numbers):
    """Values of the drives, in part.nearest.tension, that make of the body the pose nearest to q."""
    for k in range(part.body.shape[1]):
        part.nearest.moment[world, k] = q[k] - part.body[world, k]
    distribute(part.nearest, b, world)


@wp.func
def limit_to_drives(part: DrivenPart, b: int, world: int, q: numbers):
    """DrivenSolver::limit."""
    _nearest(part, b, world, q)
    for k in range(part.body.shape[1]):
        pose = part.body[world, k]
        for j in range(part.drives):
            pose += part.directions[b, k, j] * part.nearest.tension[world, j]
        q[k] = pose


@wp.func
def _place(chain: functions.Chain, part: DrivenPart, b: int, world: int, work: solver.Work):
    """Pose and frames of part.x, into work.trial."""
    for k in range(part.body.shape[1]):
        pose = part.body[world, k]
        for j in range(part.unknowns):
            pose += part.directions[b, k, j] * part.x[world, j]
        work.trial[world, k] = pose
    if part.feed >= 0:
        work.feed[world] = part.x[world, part.feed]
    if part.spin >= 0:
        work.spin[world] = part.x[world, part.spin]
    functions.end_frames(
        chain, work.trial[world], work.feed[world], work.spin[world], work.rotations[world], work.ends[world]
    )


@wp.func
def _evaluate(chain: functions.Chain, goal: solver.Goal, part: DrivenPart, b: int, world: int, work: solver.Work):
    """Residual and cost of the pose of part.x."""
    _place(chain, part, b, world, work)
    R, scale, residual = work.rotations[world, chain.sections], part.length_scale, part.residual[world]
    miss = work.ends[world, chain.sections] - goal.position
    for r in range(3):
        residual[r] = miss[r]
        residual[r + 3] = ZERO
        if goal.has_direction:
            residual[r + 3] = scale * (R[r, 2] - goal.direction[r])
    for i in range(chain.sections):
        q = functions.coordinates(chain, work.trial[world], i)
        bend = wp.sqrt(q[0] * q[0] + q[1] * q[1])
        limit = functions.bend_limit(chain, i, wp.clamp(q[2], ZERO, chain.variable_length[i]))
        residual[TIP_ROWS + i] = scale * wp.max(ZERO, bend - limit)
    cost = number(0.0)
    for r in range(TIP_ROWS + chain.sections):
        cost += residual[r] * residual[r]
    part.cost[world] = cost


@wp.func
def _is_met(
    chain: functions.Chain, goal: solver.Goal, budget: solver.Budget, part: DrivenPart, world: int, work: solver.Work
):
    R, miss = work.rotations[world, chain.sections], work.ends[world, chain.sections] - goal.position
    met = wp.length(miss) <= budget.position_tolerance and solver.angle_error(goal, R, ZERO) <= budget.angle_tolerance
    for i in range(chain.sections):
        met = met and part.residual[world, TIP_ROWS + i] <= ZERO
    return met


@wp.func
def _build_system(chain: functions.Chain, goal: solver.Goal, part: DrivenPart, b: int, world: int, work: solver.Work):
    """Normal equations of the pose evaluated last, without drives at a limit that the descent presses on."""
    J, J_tip, n = part.jacobian[world], part.tip_jacobian[world], part.body.shape[1]
    functions.tip_jacobian(chain, work.trial[world], work.rotations[world], work.ends[world], J_tip)
    for j in range(part.unknowns):
        for r in range(TIP_ROWS):
            sum = number(0.0)
            if r < 3 or goal.has_direction:
                for k in range(n):
                    sum += J_tip[r, k] * part.directions[b, k, j]
            J[r, j] = wp.where(r < 3, ONE, part.length_scale) * sum
        if j == part.feed:
            J[2, j] = ONE
        if j == part.spin:
            tip, R = work.ends[world, chain.sections], work.rotations[world, chain.sections]
            J[0, j] = -tip[1]
            J[1, j] = tip[0]
            if goal.has_direction:
                J[3, j] = -part.length_scale * R[1, 2]
                J[4, j] = part.length_scale * R[0, 2]
        for i in range(chain.sections):
            rate = number(0.0)
            if part.residual[world, TIP_ROWS + i] > ZERO:
                k = chain.first_coordinate[i]
                u, v = work.trial[world, k], work.trial[world, k + 1]
                along = u * part.directions[b, k, j] + v * part.directions[b, k + 1, j]
                rate = part.length_scale * along / wp.sqrt(u * u + v * v)
            J[TIP_ROWS + i, j] = rate
    for j in range(part.unknowns):
        gradient = number(0.0)
        for r in range(TIP_ROWS + chain.sections):
            gradient += J[r, j] * part.residual[world, r]
        x = part.x[world, j]
        if (x <= part.low[b, j] and gradient > ZERO) or (x >= part.high[b, j] and gradient < ZERO):
            gradient = ZERO + ZERO
            for r in range(TIP_ROWS + chain.sections):
                J[r, j] = ZERO
        part.gradient[world, j] = gradient
    for i in range(part.unknowns):
        for j in range(i + 1):
            sum = number(0.0)
            for r in range(TIP_ROWS + chain.sections):
                sum += J[r, i] * J[r, j]
            part.normal[world, i, j] = sum


@wp.func
def _step(part: DrivenPart, damping: number, b: int, world: int):
    """part.x = part.before and the damped step, inside the limits."""
    for i in range(part.unknowns):
        for j in range(i + 1):
            part.damped[world, i, j] = part.normal[world, i, j]
        part.damped[world, i, i] = part.damped[world, i, i] + damping
        part.change[world, i] = part.gradient[world, i]
    cholesky_solve(part.damped[world], part.change[world], part.unknowns)
    for j in range(part.unknowns):
        part.x[world, j] = wp.clamp(part.before[world, j] - part.change[world, j], part.low[b, j], part.high[b, j])


@wp.func
def _descend(
    chain: functions.Chain,
    goal: solver.Goal,
    budget: solver.Budget,
    part: DrivenPart,
    b: int,
    world: int,
    work: solver.Work,
):
    """One descent from part.x, which ends at the best pose found."""
    unit = part.length_scale * part.length_scale
    damping, slow, end = FIRST_DAMPING + ZERO, wp.int32(0), wp.int32(-1)
    _evaluate(chain, goal, part, b, world, work)
    work.iterations[world] = work.iterations[world] + 1
    while end < 0:
        if _is_met(chain, goal, budget, part, world, work):
            end = wp.int32(CONVERGED)
        else:
            _build_system(chain, goal, part, b, world, work)
            solver.copy(part.x[world], part.before[world])
            cost = part.cost[world]
            improved = wp.bool(False)
            while not improved and end < 0:
                if work.iterations[world] >= budget.iterations or damping > MAX_DAMPING:
                    solver.copy(part.before[world], part.x[world])
                    end = wp.where(damping > MAX_DAMPING, STALLED, BUDGET_SPENT)
                else:
                    _step(part, damping * unit, b, world)
                    work.iterations[world] = work.iterations[world] + 1
                _evaluate(chain, goal, part, b, world, work)
                improved = part.cost[world] < cost
                if improved:
                    damping = wp.max(LEAST_DAMPING, SHRINK * damping)
                else:
                    damping *= GROW
            if end < 0:
                slow = wp.where(part.cost[world] > (ONE - LEAST_PROGRESS) * cost, slow + 1, 0)
                if slow == SLOW_STEPS:
                    end = wp.int32(STALLED)
    return end


@wp.func
def _draw(part: DrivenPart, budget: solver.Budget, restart: int, b: int, world: int):
    """Drives elsewhere."""
    for j in range(part.unknowns):
        low, high = part.low[b, j] + ZERO, part.high[b, j] + ZERO
        if j < part.drives:
            high = wp.min(high, wp.max(low, ZERO) + PI)  # tendons may bend by far more than sections do
        if j == part.spin:
            low, high = -PI, ONE * PI
        part.x[world, j] = low + (high - low) * solver.uniform(budget.seed, restart * part.unknowns + j)


@wp.func
def solve_drives(
    chain: functions.Chain,
    goal: solver.Goal,
    budget: solver.Budget,
    part: DrivenPart,
    b: int,
    world: int,
    work: solver.Work,
):
    """DrivenSolver::solve, from `work.pose`, `work.feed` and `work.spin`, which it replaces by the solution."""
    _nearest(part, b, world, work.pose[world])
    for j in range(part.drives):
        part.x[world, j] = part.nearest.tension[world, j]
    if part.feed >= 0:
        part.x[world, part.feed] = wp.clamp(work.feed[world], part.low[b, part.feed], part.high[b, part.feed])
    if part.spin >= 0:
        part.x[world, part.spin] = work.spin[world]
    work.iterations[world] = 0
    least, end, restart = number(wp.inf), wp.int32(STALLED), wp.int32(0)
    while restart <= budget.restarts and end == STALLED:
        if restart > 0:
            _draw(part, budget, restart - 1, b, world)
        end = _descend(chain, goal, budget, part, b, world, work)
        if end == CONVERGED or part.cost[world] < least:
            least = part.cost[world]
            solver.copy(part.x[world], part.best[world])
        restart += 1
    solver.copy(part.best[world], part.x[world])
    _place(chain, part, b, world, work)
    for i in range(chain.sections):
        q = functions.clamped(chain, i, functions.coordinates(chain, work.trial[world], i))
        functions.set_coordinates(chain, work.pose[world], i, q)
    solver.judge(chain, goal, budget, work, world)


def driven_part_for(bound: BoundArm, exists: bool) -> Any:
    """What the drives of an arm move in all worlds; if it exists, bound.arm is changed to correct no more than that."""
    n = bound.arm.coordinates
    part = DrivenPart()
    part.exists = exists
    part.body = bound.zeros(n)
    if not exists:
        return part
    tables = [one["actuation"] for one in bound.tables]
    sections, feeds, spins = len(bound.robot.sections), bound.robot.feed_limit > 0.0, bound.robot.spin
    part.gives_way = bound.tables[0].get("gives_way", False)
    directions = np.stack([one["directions"] for one in tables])
    low, high = (np.stack([one[key] for one in tables]) for key in ("low", "high"))
    part.nearest = distribution_for(bound, directions, low, high)
    part.drives = directions.shape[2]
    part.unknowns = part.drives + feeds + spins
    part.feed, part.spin = part.drives if feeds else -1, part.unknowns - 1 if spins else -1
    least, most = [0.0] * feeds + [-math.inf] * spins, [bound.robot.feed_limit] * feeds + [math.inf] * spins
    part.directions = bound.numbers(np.pad(directions, ((0, 0), (0, 0), (0, feeds + spins))))
    part.low = bound.numbers([[*row, *least] for row in low])
    part.high = bound.numbers([[*row, *most] for row in high])
    for key in ("driven", "rest", "compliance"):
        setattr(part, key, bound.numbers([one[key] for one in tables]))
    bound.arm.is_driven_in_part = True
    bound.arm.projector = bound.numbers([one["projector"] for one in tables])
    part.length_scale = sum(one.length + one.variable_length for one in bound.robot.sections) / sections
    part.known, part.cost = bound.zeros(kind=bool), bound.zeros()
    for key in ("x", "before", "best", "gradient", "change"):
        setattr(part, key, bound.zeros(part.unknowns))
    part.residual, part.tip_jacobian = bound.zeros(6 + sections), bound.zeros(6, n)
    part.jacobian = bound.zeros(6 + sections, part.unknowns)
    part.normal, part.damped = (bound.zeros(part.unknowns, part.unknowns) for _ in range(2))
    return part
