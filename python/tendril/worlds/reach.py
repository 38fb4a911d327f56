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
    BoundArm,
    Integral,
    Step,
    compensate_deflection,
    forget_integral,
    functions,
    in_base,
    integral_gain,
    integrate,
    mat33,
    number,
    numbers,
    rows,
    vec3,
    wide_matrix,
)
from tendril.worlds.batch import BatchKinematics
from tendril.worlds.contacts import BoundContacts, Contacts, correctable
from tendril.worlds.controller import Controller, Engine
from tendril.worlds.tables import Table

LEAD_RATIO = 0.1  # of the integral's gain
SEARCH_ITERATIONS, SEARCH_RESTARTS = 200, 20
FILTER_TIME, JUMP, CORNER, QUIET_TIME, SETTLED_TIME = 0.01, 1e-3, 1e-4, 0.5, 0.05
MIN_TIME, MAX_TIME, MAX_SQUARED_TIME, MAX_OFFSET = -0.02, 0.05, 2e-3, 0.01
SLOW_SPEED, SMALL_ACCELERATION = 0.01, 0.1
# At a wall: distances of the tip, and how far it is lifted for each meter that it lags.
BLOCKED_DISTANCE, STICK_DISTANCE, LIFT_RATIO, HOLD_TIME = 1e-3, 1e-3, 1.0, 0.1
WORKING, NOT_REACHED, BLOCKED = (
    wp.constant(int(status))
    for status in (td.ControllerStatus.WORKING, td.ControllerStatus.NOT_REACHED, td.ControllerStatus.BLOCKED)
)

_ALLOWED = {  # settings that not every value of is known here
    "task": ("position", "direction"),
    "solver": ("auto",),
    "avoidance": ("false",),
}


@wp.struct
class _Aim:
    """The target of the arm and its lead, a row for each world; base frame."""

    mocap: int
    has_direction: bool
    filter_gain: vec3
    target: wp.array(dtype=vec3)
    axis: wp.array(dtype=vec3)
    lead: wp.array(dtype=vec3)
    goal: rows  # for the inverse kinematics: a position or a pose
    start: rows
    start_feed: numbers  # m
    rotations: wp.array2d(dtype=mat33)
    ends: wp.array2d(dtype=vec3)
    tip_error: numbers  # m
    status: wp.array(dtype=int)


@wp.struct
class _Memory:
    """The controller's memory, a row for each world."""

    begun: wp.array(dtype=bool)
    q: rows  # commanded without corrections
    feed: numbers  # of the base, as commanded, m
    known: wp.array(dtype=int)  # whether the target has been seen
    sample: wp.array(dtype=vec3)  # of the target
    motion: wp.array(dtype=mat33)  # of the target: position, velocity, acceleration, a column each
    quiet: numbers  # s
    lead_time: numbers
    lead_squared: numbers
    hold: numbers  # time for which the tip counts as in contact, s
    wall: wp.array(dtype=vec3)  # its normal, towards the arm


@wp.kernel(module="unique", enable_backward=False)
def _take_aim(
    arm: Arm,
    engine: Engine,
    mocap_pos: wp.array2d(dtype=wp.vec3),
    mocap_quat: wp.array2d(dtype=wp.quat),
    memory: _Memory,
    aim: _Aim,
    step: Step,
):
    world = wp.tid()
    zero = number(0.0)
    if not memory.begun[world]:  # the planned base is where it is
        memory.begun[world] = True
        memory.feed[world] = step.feed[world]
        aim.start_feed[world] = step.feed[world]
    to_base = wp.transpose(wide_matrix(engine.xmat[world, arm.base_body]))
    p = in_base(arm, engine, world, mocap_pos[world, aim.mocap])
    aim.target[world] = p
    quat = mocap_quat[world, aim.mocap]  # w, x, y, z
    w, x, y, z = number(quat[0]), number(quat[1]), number(quat[2]), number(quat[3])
    two = number(2.0)
    axis = vec3(two * (x * z + w * y), two * (y * z - w * x), w * w - x * x - y * y + z * z)
    aim.axis[world] = wp.normalize(to_base * axis)

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

    goal = p + lead
    if aim.has_direction:
        for r in range(3):
            aim.goal[world, 4 * r + 2] = aim.axis[world][r]
            aim.goal[world, 4 * r + 3] = goal[r]
    else:
        for r in range(3):
            aim.goal[world, r] = goal[r]


@wp.kernel(module="unique", enable_backward=False)
def _command(
    arm: Arm,
    chain: functions.Chain,
    solution: rows,
    solution_feed: numbers,
    met: wp.array(dtype=bool),
    memory: _Memory,
    aim: _Aim,
    contacts: Contacts,
    integral: Integral,
    step: Step,
):
    world = wp.tid()
    settings = arm.settings[world % arm.rows]
    zero, one = number(0.0), number(1.0)
    n, h = arm.coordinates, arm.timestep

    # 1. Move the commands towards the solution, within the rate.
    largest = number(1e-12)
    for i in range(chain.sections):
        k = chain.first_coordinate[i]
        du, dv = solution[world, k] - memory.q[world, k], solution[world, k + 1] - memory.q[world, k + 1]
        largest = wp.max(largest, wp.sqrt(du * du + dv * dv))
        if chain.first_coordinate[i + 1] > k + 2:
            ds = solution[world, k + 2] - memory.q[world, k + 2]
            largest = wp.max(largest, wp.abs(ds) / number(LENGTH_SCALE))
    scale = wp.min(one, settings.rate_limit * h / largest)
    advance = solution_feed[world] - memory.feed[world]
    if arm.feed_joint >= 0:
        scale = wp.min(scale, settings.feed_speed * h / wp.max(wp.abs(advance), number(1e-12)))
    aim.start_feed[world] = solution_feed[world]
    step.feed_rate[world] = scale * advance / h
    memory.feed[world] = memory.feed[world] + scale * advance
    step.feed_command[world] = memory.feed[world]
    for k in range(n):
        change = scale * (solution[world, k] - memory.q[world, k])
        aim.start[world, k] = solution[world, k]
        step.q_rate[world, k] = change / h
        memory.q[world, k] = memory.q[world, k] + change
    moving = scale < one

    # 2. The integral, on the distance of the measured tip from the planned one.
    functions.end_frames(chain, memory.q[world], memory.feed[world], zero, aim.rotations[world], aim.ends[world])
    R = aim.rotations[world, chain.sections]
    planned_axis, tip_axis = vec3(R[0, 2], R[1, 2], R[2, 2]), step.tip_axis[world]
    off = aim.ends[world, chain.sections] - aim.lead[world] - step.tip[world]
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
    if not frozen and settings.integral_gain > zero:
        adaption = number(LEAD_RATIO) * integral_gain(settings)
        can_adapt = met[world] and not blocked and wp.length(known) <= number(MAX_OFFSET)
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
        step.command[world, k] = memory.q[world, k] + integral.correction[world, k]
    compensate_deflection(arm, world, step)
    aim.tip_error[world] = wp.length(aim.target[world] - step.tip[world])
    status = wp.where(met[world], WORKING, NOT_REACHED)
    if met[world] and not moving and blocked and wp.length(off) > number(BLOCKED_DISTANCE):
        status = BLOCKED
    aim.status[world] = status


@wp.kernel(module="unique", enable_backward=False)
def _forget(
    chosen: wp.array(dtype=bool), straight: numbers, timestep: number, memory: _Memory, aim: _Aim, integral: Integral
):
    world = wp.tid()
    if not chosen[world]:
        return
    for k in range(straight.shape[0]):
        memory.q[world, k] = straight[k]
        aim.start[world, k] = straight[k]
    forget_integral(world, integral)
    memory.begun[world] = False
    memory.known[world] = 0
    memory.motion[world] = mat33()
    memory.quiet[world] = number(0.0)
    memory.lead_time[world] = wp.min(timestep, number(MAX_TIME))
    memory.lead_squared[world] = number(0.0)
    memory.hold[world] = number(0.0)


class Reach(Controller):
    """The controller of one arm in all worlds."""

    def __init__(self, tables: Sequence[Table], model: Any, count: int, device: Any) -> None:
        """
        :param tables: of the arm, from `tendril._sim.controlled_robots`: one, or one for each world
        :raises ModelError: what this controller does not do on a device
        """
        self._bound = bound = BoundArm(tables, model, count, device, _ALLOWED)
        if tables[0]["target_mocap"] < 0:
            raise td.ModelError(f"{bound.name}: target: missing: must be a mocap body in worlds")
        self._inverse = BatchKinematics(bound.robot, count, device, wp.float64)
        self._iterations = int(bound.setting("max_iterations")) + SEARCH_ITERATIONS
        self._tolerances = float(bound.setting("position_tolerance")), float(bound.setting("angle_tolerance"))
        n, sections, h = bound.arm.coordinates, len(bound.robot.sections), model.opt.timestep
        aim = _Aim()
        aim.mocap = tables[0]["target_mocap"]
        aim.has_direction = bound.setting("task") == "direction"
        r = math.exp(-h / FILTER_TIME)
        s = 1.0 - r
        aim.filter_gain = vec3(1.0 - r**3, 1.5 * s * s * (1.0 + r) / h, s**3 / h**2)
        for key in ("target", "axis", "lead"):
            setattr(aim, key, bound.zeros(kind=vec3))
        aim.goal, aim.start = bound.zeros(16 if aim.has_direction else 3), bound.zeros(n)
        aim.start_feed = bound.zeros()
        aim.rotations, aim.ends = bound.zeros(sections + 1, kind=mat33), bound.zeros(sections + 1, kind=vec3)
        aim.tip_error, aim.status = bound.zeros(), bound.zeros(kind=int)
        self._aim = self._told = aim
        self._goal = aim.goal.reshape((count, 4, 4)) if aim.has_direction else aim.goal
        memory = _Memory()
        memory.begun = bound.zeros(kind=bool)
        memory.q, memory.feed = bound.zeros(n), bound.zeros()
        memory.known = bound.zeros(kind=int)
        memory.sample, memory.motion = bound.zeros(kind=vec3), bound.zeros(kind=mat33)
        memory.quiet, memory.lead_time, memory.lead_squared = bound.zeros(), bound.zeros(), bound.zeros()
        memory.hold, memory.wall = bound.zeros(), bound.zeros(kind=vec3)
        self._memory = memory
        self._contacts = BoundContacts(bound, model)
        self._straight = bound.numbers(bound.robot.coordinates(bound.robot.straight))
        self.reset(wp.array(np.ones(count, dtype=bool), dtype=bool, device=device))

    @property
    def tip_error(self) -> Any:
        """Distance of each world's tip from its target in the last step, (count,), m."""
        return self._aim.tip_error

    def reset(self, chosen: Any) -> None:
        """Empties the memory of the chosen worlds, (count,) of bool."""
        inputs = [chosen, self._straight, self._bound.arm.timestep, self._memory, self._aim, self._bound.integral]
        self._bound.launch(_forget, inputs)
        self._contacts.reset(chosen)

    def before_actuation(self, model: Any, data: Any) -> None:
        """Reads the positions of this step, and writes `ctrl`."""
        bound = self._bound
        bound.measure(model, data)
        self._contacts.measure(data)
        inputs = [bound.arm, bound.engine, data.mocap_pos, data.mocap_quat, self._memory, self._aim]
        bound.launch(_take_aim, [*inputs, bound.step])
        position_tolerance, angle_tolerance = self._tolerances
        solution = self._inverse.solve(
            self._goal,
            self._aim.start,
            self._iterations,
            feed=self._aim.start_feed,
            position_tolerance=position_tolerance,
            angle_tolerance=angle_tolerance,
            restarts=SEARCH_RESTARTS,
        )
        inputs = [bound.arm, self._inverse.chain, solution.coordinates, solution.feed, solution.met]
        bound.launch(_command, [*inputs, self._memory, self._aim, self._contacts.contacts, bound.integral, bound.step])
        bound.write_setpoints(data)

    def after_step(self, data: Any) -> None:
        """Reads the forces of this step."""
        self._contacts.read_forces(data)
