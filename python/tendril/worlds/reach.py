"""`tendril.reach` as kernels, one thread for each world: the steps of controllers/arm/reach_controller.cpp.

Source: docs/theory/control.md, "Tip integral" and "Moving targets".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

import tendril as td
from tendril.worlds.arm import (
    DIRECTION_ARM,
    LENGTH_SCALE,
    Arm,
    Integral,
    Step,
    compensate_deflection,
    forget_integral,
    functions,
    integral_gain,
    integrate,
    keep_within_lengths,
    largest_change,
    mat33,
    number,
    numbers,
    rows,
    vec3,
)
from tendril.worlds.avoidance import Avoidance, Plan, Planning, plan_motion
from tendril.worlds.bound_arm import BoundArm
from tendril.worlds.contacts import BoundContacts, Contacts, correctable
from tendril.worlds.controller import Controller, Engine
from tendril.worlds.driven_part import (
    DrivenPart,
    driven_part_for,
    forget_body,
    limit_to_drives,
    measure_body,
    solve_drives,
)
from tendril.worlds.fabrikx import fabrikx_functions, reaching_for
from tendril.worlds.kinematics import chain_of
from tendril.worlds.move_timing import MoveTiming, forget_move, time_move, timing_for
from tendril.worlds.obstacle_descent import Descent
from tendril.worlds.pose_search import Trees
from tendril.worlds.solver import LEAST_PROGRESS, solver_functions, work_for
from tendril.worlds.tables import Table
from tendril.worlds.watch import Settling, swings

LEAD_RATIO = 0.1  # of the integral's gain
# Of the search for another pose: more iterations, restarts, and motions of the target after which it is repeated.
SEARCH_ITERATIONS, SEARCH_RESTARTS = 200, 20
ROLL_SEARCH_ITERATIONS, ROLL_SEARCH_RESTARTS = 4000, 300
SEARCH_DISTANCE, SEARCH_ANGLE = 1e-3, 0.02
# Of an arm that is driven in part: budget of the search, and motion of the body after which it is repeated.
PART_ITERATIONS, PART_RESTARTS, SEARCH_BEND = 1000, 50, 0.05
# Of FABRIKx: more iterations of the search, and those between two rotations.
LEVENBERG_RESTARTS = 50
REACHING_SEARCH_ITERATIONS, REACHING_ROTATION_PERIOD = 300, 25
BETTER = 0.9  # of the error: where nothing meets the target, another pose is
# Of one whose body gives way: errors of a tip that is there, and time that corrections may take, s.
MET_DISTANCE, MET_ANGLE, OFF_TIME = 1e-3, 0.02, 2.0
# Of AutoSolver, for the closest pose: iterations reserved, progress of a step, farthest target in lengths of the arm.
APPROACH_ITERATIONS, APPROACH_PROGRESS, FARTHEST = 400, 1e-9, 3.0
ROLL_RATIO = 0.3  # of the integral's gain
MAX_ROLL_MISS, MAX_ROLL_OFFSET, MAX_ROLL_ERROR = 1e-3, 0.3, 0.03
FILTER_TIME, JUMP, CORNER, QUIET_TIME, SETTLED_TIME = 0.01, 1e-3, 1e-4, 0.5, 0.05
MIN_TIME, MAX_TIME, MAX_SQUARED_TIME, MAX_OFFSET = -0.02, 0.05, 2e-3, 0.01
SLOW_SPEED, SMALL_ACCELERATION = 0.01, 0.1
SHORTEST = 0.01  # of a telescope without a constant part
# At a wall: distances of the tip, and how far it is lifted for each meter that it lags.
BLOCKED_DISTANCE, STICK_DISTANCE, LIFT_RATIO, HOLD_TIME = 1e-3, 1e-3, 1.0, 0.1
REST_RATE = 0.04  # rad/s, of a command at rest
WORKING, NOT_REACHED, BLOCKED, SWINGING = (
    wp.constant(int(status))
    for status in (
        td.ControllerStatus.WORKING,
        td.ControllerStatus.NOT_REACHED,
        td.ControllerStatus.BLOCKED,
        td.ControllerStatus.SWINGING,
    )
)

_ALLOWED = {  # settings that not every value of is known here
    "task": ("position", "direction", "pose"),
    "solver": ("auto", "levenberg", "fabrikx"),
}


solver, fabrikx = solver_functions(wp.float64), fabrikx_functions(wp.float64)


@wp.struct
class _Aim:
    """The target of the arm and its lead, a row for each world; base frame."""

    has_direction: bool
    has_roll: bool
    avoids: bool  # obstacles
    there: wp.array(dtype=bool)  # then: the planned pose is where the plan leads
    filter_gain: vec3
    retracted: numbers  # variable length of each section, m
    target: wp.array(dtype=vec3)  # as measured
    frame: wp.array(dtype=mat33)
    lead: wp.array(dtype=vec3)
    start: rows  # of the inverse kinematics
    start_feed: numbers  # m
    start_spin: numbers  # rad
    rotations: wp.array2d(dtype=mat33)
    ends: wp.array2d(dtype=vec3)
    status: wp.array(dtype=int)


@wp.struct
class _Memory:
    """The controller's memory, a row for each world."""

    begun: wp.array(dtype=bool)
    q: rows  # commanded without corrections, less the pose of the body
    feed: numbers  # of the base, as commanded, m
    spin: numbers  # likewise, rad
    timing: MoveTiming
    known: wp.array(dtype=int)  # whether the target has been seen
    sample: wp.array(dtype=vec3)  # of the target
    motion: wp.array(dtype=mat33)  # of the target: position, velocity, acceleration, a column each
    quiet: numbers  # s
    lead_time: numbers
    lead_squared: numbers
    failed: wp.array(dtype=bool)  # the search for another pose; at this target
    failed_target: wp.array(dtype=vec3)
    failed_frame: wp.array(dtype=mat33)
    failed_body: rows
    off_time: numbers  # since when the tip is off its target, s
    roll_offset: numbers  # added to the target's roll, rad
    settling: wp.array(dtype=Settling)
    hold: numbers  # time for which the tip counts as in contact, s
    wall: wp.array(dtype=vec3)  # its normal, towards the arm


@wp.kernel(module="unique", enable_backward=False)
def _take_aim(arm: Arm, memory: _Memory, aim: _Aim, step: Step):
    world = wp.tid()
    zero = number(0.0)
    if not memory.begun[world]:  # the planned base is where it is
        memory.begun[world] = True
        memory.feed[world] = step.feed[world]
        aim.start_feed[world] = step.feed[world]
        memory.spin[world] = step.spin[world]
        aim.start_spin[world] = step.spin[world]
    p = step.target[world]

    # Where the target will be: TargetLead::step.
    h = arm.timestep
    lead = vec3(zero, zero, zero)
    if arm.settings[world % arm.rows].integral_gain > zero:
        last = memory.motion[world]
        p0 = vec3(last[0, 0], last[1, 0], last[2, 0])
        v0 = vec3(last[0, 1], last[1, 1], last[2, 1])
        a0 = vec3(last[0, 2], last[1, 2], last[2, 2])
        predicted = p0 + h * v0 + number(0.5) * h * h * a0
        innovation = p - predicted
        jumps = memory.known[world] == 0 or wp.length(p - memory.sample[world] - h * v0) > number(JUMP)
        v, a = v0 + h * a0 + aim.filter_gain[1] * innovation, a0 + aim.filter_gain[2] * innovation
        p1 = predicted + aim.filter_gain[0] * innovation
        if jumps:
            p1, v, a = p, vec3(zero, zero, zero), vec3(zero, zero, zero)
        quiet = wp.min(memory.quiet[world] + h, number(QUIET_TIME))
        if jumps or wp.length(innovation) > number(CORNER):
            quiet = number(0.0)
        memory.known[world] = 1
        memory.sample[world] = p
        memory.quiet[world] = quiet
        memory.motion[world] = mat33(p1[0], v[0], a[0], p1[1], v[1], a[1], p1[2], v[2], a[2])
        lead = memory.lead_time[world] * v
        if quiet >= number(SETTLED_TIME):
            lead += memory.lead_squared[world] * a
        lead *= number(MAX_OFFSET) / wp.max(wp.length(lead), number(MAX_OFFSET))
    aim.lead[world] = lead


@wp.func
def column(R: mat33, k: int):
    return vec3(R[0, k], R[1, k], R[2, k])


@wp.func
def rotation_angle(A: mat33, B: mat33):
    """Of the rotation from one orientation to another, rad."""
    R = wp.transpose(A) * B
    twice_sine = vec3(R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1])
    return wp.atan2(wp.length(twice_sine), wp.trace(R) - number(1.0))


@wp.func
def goal_of(aim: _Aim, roll_offset: number, world: int):
    """The target where it will be."""
    goal = solver.Goal()
    R = aim.frame[world]
    c, s = wp.cos(roll_offset), wp.sin(roll_offset)
    goal.position = aim.target[world] + aim.lead[world]
    goal.direction = column(R, 2)
    goal.x_axis = c * column(R, 0) + s * column(R, 1)
    goal.has_direction = aim.has_direction
    goal.has_roll = aim.has_roll
    return goal


@wp.func
def goal_frame(goal: solver.Goal):
    x, z = goal.x_axis, goal.direction
    y = wp.cross(z, x)
    return mat33(x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2])


@wp.func
def track(
    chain: functions.Chain,
    goal: solver.Goal,
    budget: solver.Budget,
    work: solver.Work,
    world: int,
):
    """A descent from `work.pose`; failing that, the position alone, as close as it comes: AutoSolver::solve."""
    zero, farthest = number(0.0), number(FARTHEST) * chain.reach
    part = solver.Budget()
    part.position_tolerance = budget.position_tolerance
    part.angle_tolerance = budget.angle_tolerance
    part.least_progress = budget.least_progress
    part.iterations = budget.iterations - wp.min(budget.iterations / 4, APPROACH_ITERATIONS)
    solver.solve(chain, goal, part, work, world)
    part.iterations = budget.iterations - work.iterations[world]
    if work.met[world] or part.iterations <= 0:
        return
    position = solver.Goal()
    base = vec3(zero, zero, work.feed[world])
    away = goal.position - base
    position.position = base + away * (farthest / wp.max(wp.length(away), farthest))
    part.least_progress = number(APPROACH_PROGRESS)
    solver.solve(chain, position, part, work, world)
    solver.judge(chain, goal, part, work, world)


@wp.func
def begin_at_last(aim: _Aim, work: solver.Work, world: int):
    """Begins a solve from the last solution."""
    solver.copy(aim.start[world], work.pose[world])
    work.feed[world] = aim.start_feed[world]
    work.spin[world] = aim.start_spin[world]


@wp.func
def keep_found(aim: _Aim, work: solver.Work, world: int):
    """Makes the solution found the last one; the next solve begins at its pose and at the base of the one before."""
    feed, spin = work.feed[world] + number(0.0), work.spin[world] + number(0.0)
    solver.copy(work.pose[world], aim.start[world])
    work.feed[world] = aim.start_feed[world]
    work.spin[world] = aim.start_spin[world]
    aim.start_feed[world] = feed
    aim.start_spin[world] = spin


@wp.func
def begin_search(memory: _Memory, aim: _Aim, goal: solver.Goal, work: solver.Work, world: int):
    """Whether other poses are to be tried: from the pose found, which is kept in `aim.start`, and the last base."""
    tried = memory.failed[world] and wp.length(goal.position - memory.failed_target[world]) < number(SEARCH_DISTANCE)
    if aim.has_roll:
        tried = tried and rotation_angle(memory.failed_frame[world], goal_frame(goal)) < number(SEARCH_ANGLE)
    if tried:
        return False
    keep_found(aim, work, world)
    return True


@wp.func
def end_search(memory: _Memory, aim: _Aim, goal: solver.Goal, work: solver.Work, world: int):
    """Returns to the pose that was kept, where the search has failed."""
    if not work.met[world]:
        begin_at_last(aim, work, world)
        memory.failed_target[world] = goal.position
        memory.failed_frame[world] = goal_frame(goal)


@wp.kernel(module="unique", enable_backward=False)
def _solve(
    chain: functions.Chain,
    tracker: solver.Budget,
    searcher: solver.Budget,
    memory: _Memory,
    aim: _Aim,
    work: solver.Work,
):
    """ReachController::inverse_kinematics: into `work.pose`, `work.feed` and `work.met`."""
    world = wp.tid()
    goal = goal_of(aim, memory.roll_offset[world], world)
    begin_at_last(aim, work, world)
    track(chain, goal, tracker, work, world)
    if not work.met[world]:
        if begin_search(memory, aim, goal, work, world):
            solver.solve(chain, goal, searcher, work, world)
            end_search(memory, aim, goal, work, world)
    memory.failed[world] = not work.met[world]


@wp.kernel(module="unique", enable_backward=False)
def _solve_by_levenberg(chain: functions.Chain, budget: solver.Budget, memory: _Memory, aim: _Aim, work: solver.Work):
    """In place of `_solve`: with `solver = "levenberg"`."""
    world = wp.tid()
    begin_at_last(aim, work, world)
    solver.solve(chain, goal_of(aim, memory.roll_offset[world], world), budget, work, world)


@wp.kernel(module="unique", enable_backward=False)
def _solve_by_fabrikx(
    chain: functions.Chain,
    tracker: solver.Budget,
    searcher: solver.Budget,
    reaching: fabrikx.Reaching,
    memory: _Memory,
    aim: _Aim,
    work: solver.Work,
):
    """In place of `_solve`: with `solver = "fabrikx"`."""
    world = wp.tid()
    goal = goal_of(aim, number(0.0), world)
    begin_at_last(aim, work, world)
    fabrikx.reach(chain, goal, tracker, reaching, work, world)
    if not work.met[world]:
        if begin_search(memory, aim, goal, work, world):
            fabrikx.reach(chain, goal, searcher, reaching, work, world)
            end_search(memory, aim, goal, work, world)
    memory.failed[world] = not work.met[world]


@wp.func
def weighed_error(work: solver.Work, world: int):
    return work.position_error[world] + number(DIRECTION_ARM) * work.angle_error[world]


@wp.kernel(module="unique", enable_backward=False)
def _solve_drives(
    arm: Arm,
    chain: functions.Chain,
    tracker: solver.Budget,
    searcher: solver.Budget,
    memory: _Memory,
    aim: _Aim,
    part: DrivenPart,
    work: solver.Work,
):
    """In place of `_solve`: of an arm that is driven in part."""
    world = wp.tid()
    b, goal, body = world % arm.rows, goal_of(aim, number(0.0), world), part.body[world]
    begin_at_last(aim, work, world)
    solve_drives(chain, goal, tracker, part, b, world, work)
    if work.met[world]:
        memory.failed[world] = False
        return
    tried = memory.failed[world] and wp.length(goal.position - memory.failed_target[world]) < number(SEARCH_DISTANCE)
    for k in range(arm.coordinates):
        tried = tried and wp.abs(body[k] - memory.failed_body[world, k]) < number(SEARCH_BEND)
    if not tried:
        near_error = weighed_error(work, world)
        keep_found(aim, work, world)
        solve_drives(chain, goal, searcher, part, b, world, work)
        if work.met[world]:
            memory.failed[world] = False
            return
        memory.failed_target[world] = goal.position
        solver.copy(body, memory.failed_body[world])
        if not part.gives_way or weighed_error(work, world) >= number(BETTER) * near_error:
            begin_at_last(aim, work, world)
    memory.failed[world] = True


@wp.kernel(module="unique", enable_backward=False, module_options={"max_unroll": 4})
def _avoid(
    arm: Arm,
    engine: Engine,
    planning: Planning,
    plan: Plan,
    descent: Descent,
    trees: Trees,
    aim: _Aim,
    step: Step,
    work: solver.Work,
):
    """In place of `_solve`: the next planned pose among obstacles; the base keeps its spin."""
    world = wp.tid()
    work.spin[world] = aim.start_spin[world]
    goal = goal_of(aim, number(0.0), world)
    aim.there[world] = plan_motion(arm, engine, planning, goal, plan, descent, trees, step, work, world)


@wp.func
def correct_roll(arm: Arm, R: mat33, world: int, reached: bool, moving: bool, memory: _Memory, aim: _Aim, step: Step):
    """ReachController::correct_roll; R is the measured frame of the tip."""
    miss = wp.length(step.tip[world] - aim.target[world])
    if moving or (reached and miss > number(MAX_ROLL_MISS)):
        return
    gain = number(ROLL_RATIO) * arm.settings[world % arm.rows].integral_gain
    offset = memory.roll_offset[world]
    turn = -offset  # back, where the target is out of reach with it
    if reached:
        left = wp.transpose(R) * aim.frame[world]
        limit = number(MAX_ROLL_ERROR)
        turn = wp.clamp(wp.atan2(left[1, 0] - left[0, 1], left[0, 0] + left[1, 1]), -limit, limit)
    limit = number(MAX_ROLL_OFFSET)
    memory.roll_offset[world] = wp.clamp(offset + wp.min(number(1.0), gain * arm.timestep) * turn, -limit, limit)


@wp.func
def judge(moving: bool, h: number, world: int, memory: _Memory, aim: _Aim, step: Step):
    """ReachController::judge: whether the measured tip is at the target, or may still come there."""
    is_there = wp.length(step.tip[world] - aim.target[world]) <= number(MET_DISTANCE)
    goal = goal_of(aim, number(0.0), world)
    is_there = is_there and solver.angle_error(goal, step.tip_frame[world], number(0.0)) <= number(MET_ANGLE)
    off = wp.min(number(OFF_TIME), memory.off_time[world] + h)
    if is_there or moving:
        off = number(0.0)
    memory.off_time[world] = off
    return off < number(OFF_TIME)


@wp.kernel(module="unique", enable_backward=False)
def _command(
    arm: Arm,
    chain: functions.Chain,
    solution: rows,
    solution_feed: numbers,
    solution_spin: numbers,
    met: wp.array(dtype=bool),
    memory: _Memory,
    aim: _Aim,
    part: DrivenPart,
    contacts: Contacts,
    integral: Integral,
    step: Step,
):
    world = wp.tid()
    settings = arm.settings[world % arm.rows]
    zero, one = number(0.0), number(1.0)
    n, h = arm.coordinates, arm.timestep

    # 1. Move the commands towards the solution, within the rate.
    for k in range(n):
        step.command[world, k] = solution[world, k] - part.body[world, k]
    largest = wp.max(number(1e-12), largest_change(chain, step.command[world], memory.q[world]))
    scale = time_move(memory.timing, settings.rate_limit * h / largest, h, world)
    advance = solution_feed[world] - memory.feed[world]
    if arm.feed_joint >= 0:
        scale = wp.min(scale, settings.feed_speed * h / wp.max(wp.abs(advance), number(1e-12)))
    turn = solution_spin[world] - memory.spin[world]
    if arm.spin_joint >= 0:
        scale = wp.min(scale, settings.rate_limit * h / wp.max(wp.abs(turn), number(1e-12)))
    moving = scale < one
    if aim.avoids:
        scale = number(1.0)
        moving = not aim.there[world]
    aim.start_feed[world] = solution_feed[world]
    aim.start_spin[world] = solution_spin[world]
    memory.spin[world] = memory.spin[world] + scale * turn
    step.spin_command[world] = memory.spin[world]
    step.feed_rate[world] = scale * advance / h
    memory.feed[world] = memory.feed[world] + scale * advance
    step.feed_command[world] = memory.feed[world]
    for k in range(n):
        change = scale * (step.command[world, k] - memory.q[world, k])
        aim.start[world, k] = solution[world, k]
        step.q_rate[world, k] = change / h
        memory.q[world, k] = memory.q[world, k] + change
        step.command[world, k] = memory.q[world, k] + part.body[world, k]

    R_tip, reached = step.tip_frame[world], wp.bool(met[world])
    if part.gives_way:
        reached = judge(moving, h, world, memory, aim, step)
    if aim.has_roll:
        correct_roll(arm, R_tip, world, reached, moving, memory, aim, step)

    # 2. The integral, on the distance of the measured tip from the planned one.
    functions.end_frames(
        chain, step.command[world], memory.feed[world], memory.spin[world], aim.rotations[world], aim.ends[world]
    )
    # Of a body that is not where the kinematics have it, the tip itself is moved.
    R = wp.where(part.gives_way, aim.frame[world], aim.rotations[world, chain.sections])
    planned = wp.where(part.gives_way, aim.target[world], aim.ends[world, chain.sections] - aim.lead[world])
    planned_axis, tip_axis = column(R, 2), column(R_tip, 2)
    off = planned - step.tip[world]
    along = correctable(contacts, world, off, True)
    memory.hold[world] = wp.max(zero, memory.hold[world] - h)
    if wp.length_sq(along - off) > zero:
        memory.hold[world] = number(HOLD_TIME)
        memory.wall[world] = wp.normalize(along - off)
    blocked, frozen, error = memory.hold[world] > zero, moving, off
    if blocked:
        normal = memory.wall[world]
        error -= wp.min(zero, wp.dot(normal, error)) * normal
        lag = wp.length(error)
        frozen = moving or lag <= number(STICK_DISTANCE)
        error += (number(LIFT_RATIO) * (lag - number(STICK_DISTANCE))) * normal
    cross = wp.cross(tip_axis, planned_axis)
    sine = wp.length(cross)
    angle = vec3(zero, zero, zero)
    if sine >= number(1e-12):
        angle = cross * (number(DIRECTION_ARM) * wp.atan2(sine, wp.dot(tip_axis, planned_axis)) / sine)
    known = integrate(arm, world, error, angle, wp.where(aim.has_direction, 6, 3), frozen, integral, step)
    keep_within_lengths(chain, aim.retracted, step.command[world], world, integral)
    if not frozen and settings.integral_gain > zero:
        adaption = number(LEAD_RATIO) * integral_gain(settings)
        can_adapt = reached and not blocked and wp.length(known) <= number(MAX_OFFSET)
        if can_adapt and memory.quiet[world] >= number(QUIET_TIME):
            motion = memory.motion[world]
            v, a = vec3(motion[0, 1], motion[1, 1], motion[2, 1]), vec3(motion[0, 2], motion[1, 2], motion[2, 2])
            v0, a0 = number(SLOW_SPEED), number(SMALL_ACCELERATION)
            memory.lead_time[world] = wp.clamp(
                memory.lead_time[world] + adaption * h * wp.dot(known, v) / (wp.dot(v, v) + v0 * v0),
                number(MIN_TIME),
                number(MAX_TIME),
            )
            memory.lead_squared[world] = wp.clamp(
                memory.lead_squared[world] + adaption * h * wp.dot(known, a) / (wp.dot(a, a) + a0 * a0),
                -number(MAX_SQUARED_TIME),
                number(MAX_SQUARED_TIME),
            )
    for k in range(n):
        step.command[world, k] = step.command[world, k] + integral.correction[world, k]
    compensate_deflection(arm, world, step)
    if part.exists:
        limit_to_drives(part, world % arm.rows, world, step.command[world])
    status = wp.where(reached, WORKING, NOT_REACHED)
    if reached and not moving and blocked and wp.length(off) > number(BLOCKED_DISTANCE):
        status = BLOCKED
    rests = scale * largest <= number(REST_RATE) * h
    rests = rests and wp.abs(step.feed_rate[world]) <= number(REST_RATE) * number(LENGTH_SCALE)
    arrived = reached and not moving and rests and not (part.gives_way and memory.off_time[world] > zero)
    swinging = swings(memory.settling, world, arrived, step.tip[world], aim.target[world], settings.swing, h)
    if swinging and status == WORKING:
        status = SWINGING
    aim.status[world] = status


@wp.kernel(module="unique", enable_backward=False)
def _forget(
    chosen: wp.array(dtype=bool),
    straight: numbers,
    planned: rows,
    timestep: number,
    memory: _Memory,
    aim: _Aim,
    part: DrivenPart,
    integral: Integral,
):
    world = wp.tid()
    if not chosen[world]:
        return
    for k in range(straight.shape[0]):
        memory.q[world, k] = planned[world % planned.shape[0], k]
        aim.start[world, k] = straight[k]
    memory.off_time[world] = number(0.0)
    forget_body(world, part)
    forget_integral(world, integral)
    memory.begun[world] = False
    forget_move(world, memory.timing)
    memory.known[world] = 0
    memory.motion[world] = mat33()
    memory.quiet[world] = number(0.0)
    memory.lead_time[world] = wp.min(timestep, number(MAX_TIME))
    memory.lead_squared[world] = number(0.0)
    memory.failed[world] = False
    memory.roll_offset[world] = number(0.0)
    memory.hold[world] = number(0.0)
    memory.settling[world] = Settling()


class Reach(Controller):
    """The controller of one arm in all worlds."""

    def __init__(self, tables: Sequence[Table], model: Any, count: int, device: Any) -> None:
        """
        :param tables: of the arm, from `tendril._sim.controlled_robots`: one, or one for each world
        :raises ModelError: what this controller does not do on a device
        """
        self._bound = bound = BoundArm(tables, model, count, device, _ALLOWED)
        avoids = bound.setting("avoidance") == "true"
        method = bound.setting("solver")
        in_part = "actuation" in tables[0] and not avoids and method == "auto" and bound.setting("task") != "pose"
        if tables[0]["target_mocap"] < 0:
            raise td.ModelError(f"{bound.name}: target: missing: must be a mocap body in worlds")
        self._chain = chain_of(bound.robot, wp.float64, device)
        self._work = work_for(bound.robot, count, wp.float64, device)
        self._reaching = None
        if method == "fabrikx":
            self._reaching = reaching_for(bound.robot, count, wp.float64, device, REACHING_ROTATION_PERIOD, True)
        n, sections, h = bound.arm.coordinates, len(bound.robot.sections), model.opt.timestep
        aim = _Aim()
        aim.has_direction, aim.has_roll = bound.setting("task") != "position", bound.setting("task") == "pose"
        self._aim = self._told = aim
        self._part = driven_part_for(bound, in_part)
        most = int(bound.setting("max_iterations"))
        self._budgets = (self._budget(most, 0), self._search_budget(most))
        if method == "levenberg":
            self._budgets[0].is_levenberg, self._budgets[0].restarts = True, LEVENBERG_RESTARTS
        r = math.exp(-h / FILTER_TIME)
        s = 1.0 - r
        aim.filter_gain = vec3(1.0 - r**3, 1.5 * s * s * (1.0 + r) / h, s**3 / h**2)
        aim.retracted = bound.numbers(
            [0.0 if one.length > 0.0 else SHORTEST * one.variable_length for one in bound.robot.sections]
        )
        aim.target, aim.frame, aim.lead = bound.seen.target, bound.seen.target_frame, bound.zeros(kind=vec3)
        aim.start, aim.start_feed, aim.start_spin = bound.zeros(n), bound.zeros(), bound.zeros()
        aim.rotations, aim.ends = bound.zeros(sections + 1, kind=mat33), bound.zeros(sections + 1, kind=vec3)
        aim.status = bound.zeros(kind=int)
        memory = _Memory()
        memory.begun = bound.zeros(kind=bool)
        memory.q, memory.timing = bound.zeros(n), timing_for(bound)
        memory.feed, memory.spin = bound.zeros(), bound.zeros()
        memory.known = bound.zeros(kind=int)
        memory.sample, memory.motion = bound.zeros(kind=vec3), bound.zeros(kind=mat33)
        memory.quiet, memory.lead_time, memory.lead_squared = bound.zeros(), bound.zeros(), bound.zeros()
        memory.failed, memory.failed_target = bound.zeros(kind=bool), bound.zeros(kind=vec3)
        memory.failed_frame, memory.roll_offset = bound.zeros(kind=mat33), bound.zeros()
        memory.failed_body, memory.off_time = bound.zeros(n), bound.zeros()
        memory.settling = bound.zeros(kind=Settling)
        memory.hold, memory.wall = bound.zeros(), bound.zeros(kind=vec3)
        self._memory = memory
        aim.avoids, aim.there = avoids, bound.zeros(kind=bool)
        self._avoidance = Avoidance(bound, model) if aim.avoids else None
        self._contacts = BoundContacts(bound, model)
        straight = bound.robot.coordinates(bound.robot.straight)
        driven = [one["actuation"]["driven"] if in_part else np.eye(n) for one in tables]
        self._straight, self._planned = bound.numbers(straight), bound.numbers([one @ straight for one in driven])
        self.reset(wp.array(np.ones(count, dtype=bool), dtype=bool, device=device))

    def _search_budget(self, most: int) -> Any:
        if self._reaching is not None:
            return self._budget(most + REACHING_SEARCH_ITERATIONS, 0)
        if self._part.exists:
            return self._budget(PART_ITERATIONS, PART_RESTARTS)
        if self._aim.has_roll:
            return self._budget(most + ROLL_SEARCH_ITERATIONS, ROLL_SEARCH_RESTARTS)
        return self._budget(most + SEARCH_ITERATIONS, SEARCH_RESTARTS)

    def _budget(self, iterations: int, restarts: int) -> Any:
        budget = solver.Budget()
        budget.iterations, budget.restarts = iterations, restarts
        budget.position_tolerance = float(self._bound.setting("position_tolerance"))
        budget.angle_tolerance = float(self._bound.setting("angle_tolerance"))
        budget.least_progress, budget.seed = LEAST_PROGRESS, wp.uint64(1)
        return budget

    @property
    def tip_error(self) -> Any:
        """Distance of each world's tip from its target in the last step, (count,), m."""
        return self._bound.true.tip_error

    def reset(self, chosen: Any) -> None:
        """Empties the memory of the chosen worlds, (count,) of bool."""
        bound = self._bound
        bound.reset(chosen)
        inputs = [chosen, self._straight, self._planned, bound.arm.timestep, self._memory, self._aim, self._part]
        bound.launch(_forget, [*inputs, bound.integral])
        self._contacts.reset(chosen)
        if self._avoidance is not None:
            self._avoidance.reset(chosen)

    def before_actuation(self, model: Any, data: Any) -> None:
        """Reads the positions of this step, and writes `ctrl`."""
        bound = self._bound
        bound.measure(model, data)
        self._contacts.measure(data)
        bound.launch(_take_aim, [bound.arm, self._memory, self._aim, bound.seen])
        work = self._work
        if self._part.exists:
            bound.launch(measure_body, [bound.arm, self._part, bound.seen])
            inputs = [bound.arm, self._chain, *self._budgets, self._memory, self._aim, self._part, work]
            bound.launch(_solve_drives, inputs)
        elif self._budgets[0].is_levenberg:
            bound.launch(_solve_by_levenberg, [self._chain, self._budgets[0], self._memory, self._aim, work])
        elif self._reaching is not None:
            inputs = [self._chain, *self._budgets, self._reaching, self._memory, self._aim, work]
            bound.launch(_solve_by_fabrikx, inputs)
        elif self._avoidance is None:
            bound.launch(_solve, [self._chain, *self._budgets, self._memory, self._aim, work])
        else:
            inputs = [bound.arm, bound.engine, *self._avoidance.inputs(model)]
            bound.launch(_avoid, [*inputs, self._aim, bound.seen, work])
        inputs = [bound.arm, self._chain, work.pose, work.feed, work.spin, work.met]
        inputs += [self._memory, self._aim, self._part, self._contacts.contacts, bound.integral, bound.seen]
        bound.launch(_command, inputs)
        self._after_command(model)
        bound.write_setpoints(data)

    def _after_command(self, model: Any) -> None:
        """Adds to the command of the step."""

    def after_step(self, data: Any) -> None:
        """Reads the forces of this step."""
        super().after_step(data)
        self._contacts.read_forces(data)
