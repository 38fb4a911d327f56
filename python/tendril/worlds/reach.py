"""`tendril.reach` as kernels, one thread for each world: the steps of controllers/arm/reach_controller.cpp.

In float64, whatever the engine's numbers are. Source: docs/theory/control.md, "Servo law", "Tip integral" and "Moving
targets".
"""

from __future__ import annotations

import math
import pickle
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import warp as wp

import tendril as td
from tendril.worlds import kinematics
from tendril.worlds.batch import BatchKinematics

LENGTH_SCALE = 0.05  # m: a length change of this size counts as 1 rad
DIRECTION_ARM = 0.05  # m: a direction error of 1 rad counts as this distance
STABILITY_FRACTION = 0.5  # of the damping of the fundamental mode
ERROR_LIMIT = 0.03  # m, of the integral
RATE_LIMIT = 3.0  # rad/s, likewise
LEAD_RATIO = 0.1  # of the integral's gain
SEARCH_ITERATIONS, SEARCH_RESTARTS = 200, 20
FILTER_TIME, JUMP, CORNER, QUIET_TIME, SETTLED_TIME = 0.01, 1e-3, 1e-4, 0.5, 0.05
MIN_TIME, MAX_TIME, MAX_SQUARED_TIME, MAX_OFFSET = -0.02, 0.05, 2e-3, 0.01
SLOW_SPEED, SMALL_ACCELERATION = 0.01, 0.1
FRACTION_OF_LIMIT = 0.98  # of a servo's force

_ALLOWED = {  # settings that not every value of is known here
    "task": ("position", "direction"),
    "solver": ("auto",),
    "avoidance": ("false",),
    "sensor_delay": ("0",),
    "measurement_faults": ("",),
}

_f = kinematics.functions(wp.float64)
_number, _vec3, _mat33 = wp.float64, _f.vec3, _f.mat33
_vec6 = wp.types.vector(6, wp.float64)
_mat66 = wp.types.matrix((6, 6), wp.float64)
_numbers, _rows, _tables = (wp.array(dtype=wp.float64, ndim=n) for n in (1, 2, 3))


@wp.struct
class _Arm:
    """An arm as bound to the model; what `[vary]` may change has `rows` rows, 1 or one for each world."""

    rows: int
    base_body: int
    tip_site: int
    target_mocap: int
    coordinates: int
    first_joint: wp.array(dtype=int)  # of each coordinate, and their number
    joint: wp.array(dtype=int)  # of the model
    fraction: _numbers  # of its coordinate
    mass: _rows  # of all bodies that it moves, kg
    joint_servo: wp.array(dtype=int)
    sign: _numbers  # of each coordinate
    offset: _numbers
    servo: wp.array(dtype=int)  # of the whole section, or -1
    is_slide: wp.array(dtype=int)
    stiffness: _rows
    scale: _numbers  # 1, or LENGTH_SCALE
    actuator: wp.array(dtype=int)  # of each servo
    gain: _rows
    servo_stiffness: _rows
    damping: _rows
    lag: _rows
    servo_offset: _rows
    min_force: _rows
    max_force: _rows
    gravity: _vec3
    feed_forward: wp.float64
    timestep: wp.float64
    rate_limit: wp.float64  # rad/s
    has_direction: bool
    integral_gain: wp.float64  # 1/s
    integral_damping: wp.float64  # m
    integral_limit: wp.float64  # rad
    stability: _numbers  # of the fundamental mode: 2 zeta omega, 1/s
    compensates_deflection: bool
    filter_gain: _vec3


@wp.struct
class _Memory:
    """The controller's memory, a row for each world."""

    q: _rows  # commanded without corrections
    correction: _rows  # of the integral
    known: wp.array(dtype=int)  # whether the target has been seen
    sample: wp.array(dtype=_vec3)  # of the target
    motion: wp.array(dtype=_mat33)  # of the target: position, velocity, acceleration, a column each
    quiet: _numbers  # s
    lead_time: _numbers
    lead_squared: _numbers


@wp.struct
class _Scratch:
    """Of one step, a row for each world."""

    sum: _rows  # of each coordinate's joints
    speed: _rows
    load: _rows
    joint_load: _rows
    jacobian: _tables  # (worlds, 6, coordinates)
    q_rate: _rows  # commanded
    command: _rows
    step: _rows
    deflection: wp.array(dtype=_vec3)
    tip: wp.array(dtype=_vec3)
    tip_axis: wp.array(dtype=_vec3)
    target: wp.array(dtype=_vec3)
    target_axis: wp.array(dtype=_vec3)
    lead: wp.array(dtype=_vec3)
    goal: _rows  # for the inverse kinematics: a position or a pose
    start: _rows
    rotations: wp.array2d(dtype=_mat33)
    ends: wp.array2d(dtype=_vec3)
    tip_error: _numbers  # m
    status: wp.array(dtype=int)


@wp.func
def _wide(v: wp.vec3):
    return _vec3(wp.float64(v[0]), wp.float64(v[1]), wp.float64(v[2]))


@wp.func
def _wide_matrix(m: wp.mat33):
    result = _mat33()
    for r in range(3):
        for c in range(3):
            result[r, c] = wp.float64(m[r, c])
    return result


@wp.kernel(module="unique", enable_backward=False)
def _measure(
    arm: _Arm,
    qpos_address: wp.array(dtype=int),
    dof_address: wp.array(dtype=int),
    joint_body: wp.array(dtype=int),
    qpos: wp.array2d(dtype=float),
    qvel: wp.array2d(dtype=float),
    xanchor: wp.array2d(dtype=wp.vec3),
    xaxis: wp.array2d(dtype=wp.vec3),
    subtree_com: wp.array2d(dtype=wp.vec3),
    xpos: wp.array2d(dtype=wp.vec3),
    xmat: wp.array2d(dtype=wp.mat33),
    site_xpos: wp.array2d(dtype=wp.vec3),
    site_xmat: wp.array2d(dtype=wp.mat33),
    mocap_pos: wp.array2d(dtype=wp.vec3),
    mocap_quat: wp.array2d(dtype=wp.quat),
    memory: _Memory,
    out: _Scratch,
):
    world = wp.tid()
    b = world % arm.rows
    zero = wp.float64(0.0)
    to_base = wp.transpose(_wide_matrix(xmat[world, arm.base_body]))
    base = _wide(xpos[world, arm.base_body])
    tip = _wide(site_xpos[world, arm.tip_site])
    tip_frame = to_base * _wide_matrix(site_xmat[world, arm.tip_site])
    out.tip[world] = to_base * (tip - base)
    out.tip_axis[world] = _vec3(tip_frame[0, 2], tip_frame[1, 2], tip_frame[2, 2])
    out.target[world] = to_base * (_wide(mocap_pos[world, arm.target_mocap]) - base)
    quat = mocap_quat[world, arm.target_mocap]  # w, x, y, z
    w, x, y, z = wp.float64(quat[0]), wp.float64(quat[1]), wp.float64(quat[2]), wp.float64(quat[3])
    two = wp.float64(2.0)
    axis = _vec3(two * (x * z + w * y), two * (y * z - w * x), w * w - x * x - y * y + z * z)
    out.target_axis[world] = wp.normalize(to_base * axis)

    deflection = _vec3(zero, zero, zero)
    for k in range(arm.coordinates):
        sum, speed, load = wp.float64(0.0), wp.float64(0.0), wp.float64(0.0)
        move, turn, loaded = _vec3(zero, zero, zero), _vec3(zero, zero, zero), _vec3(zero, zero, zero)
        for i in range(arm.first_joint[k], arm.first_joint[k + 1]):
            joint = arm.joint[i]
            anchor, direction = _wide(xanchor[world, joint]), _wide(xaxis[world, joint])
            sum += wp.float64(qpos[world, qpos_address[joint]])
            speed += wp.float64(qvel[world, dof_address[joint]])
            fraction = arm.fraction[i]
            rate = direction
            weight = arm.mass[b, i] * wp.dot(direction, arm.gravity)
            if arm.is_slide[k] == 0:
                rate = wp.cross(direction, tip - anchor)
                turn += fraction * direction
                com = _wide(subtree_com[world, joint_body[joint]])
                weight = arm.mass[b, i] * wp.dot(direction, wp.cross(com - anchor, arm.gravity))
            out.joint_load[world, i] = weight
            load += fraction * weight
            move += fraction * rate
            loaded += (fraction * weight) * rate
        sign = arm.sign[k]
        out.sum[world, k] = sum
        out.speed[world, k] = speed
        out.load[world, k] = load
        move_in_base, turn_in_base = to_base * (sign * move), to_base * (sign * turn)
        for r in range(3):
            out.jacobian[world, r, k] = move_in_base[r]
            out.jacobian[world, r + 3, k] = turn_in_base[r]
        if arm.servo[k] >= 0 and arm.stiffness[b, k] > zero:
            deflection += (loaded - load * move) / arm.stiffness[b, k]
    out.deflection[world] = to_base * deflection

    # Where the target will be: TargetLead::step.
    h = arm.timestep
    lead = _vec3(zero, zero, zero)
    if arm.integral_gain > zero:
        p = out.target[world]
        last = memory.motion[world]
        p0 = _vec3(last[0, 0], last[1, 0], last[2, 0])
        v0 = _vec3(last[0, 1], last[1, 1], last[2, 1])
        a0 = _vec3(last[0, 2], last[1, 2], last[2, 2])
        predicted = p0 + h * v0 + wp.float64(0.5) * h * h * a0
        innovation = p - predicted
        jumps = memory.known[world] == 0 or wp.length(p - memory.sample[world] - h * v0) > wp.float64(JUMP)
        v, a = v0 + h * a0 + arm.filter_gain[1] * innovation, a0 + arm.filter_gain[2] * innovation
        p1 = predicted + arm.filter_gain[0] * innovation
        if jumps:
            p1, v, a = p, _vec3(zero, zero, zero), _vec3(zero, zero, zero)
        quiet = wp.min(memory.quiet[world] + h, wp.float64(QUIET_TIME))
        if jumps or wp.length(innovation) > wp.float64(CORNER):
            quiet = wp.float64(0.0)
        memory.known[world] = 1
        memory.sample[world] = p
        memory.quiet[world] = quiet
        memory.motion[world] = _mat33(p1[0], v[0], a[0], p1[1], v[1], a[1], p1[2], v[2], a[2])
        lead = memory.lead_time[world] * v
        if quiet >= wp.float64(SETTLED_TIME):
            lead += memory.lead_squared[world] * a
        lead *= wp.float64(MAX_OFFSET) / wp.max(wp.length(lead), wp.float64(MAX_OFFSET))
    out.lead[world] = lead

    aim = out.target[world] + lead
    if arm.has_direction:
        for r in range(3):
            out.goal[world, 4 * r + 2] = out.target_axis[world][r]
            out.goal[world, 4 * r + 3] = aim[r]
    else:
        for r in range(3):
            out.goal[world, r] = aim[r]


@wp.func
def _damped_step(arm: _Arm, J: _rows, e: _vec6, rows: int, step: _numbers):
    """step = J^T (J J^T + lambda^2 I)^-1 e over the first rows, in scaled coordinates."""
    A = _mat66()
    for k in range(arm.coordinates):
        scale = arm.scale[k]
        for r in range(rows):
            wr = scale
            if r > 2:
                wr = scale * wp.float64(DIRECTION_ARM)
            for c in range(r + 1):
                wc = scale
                if c > 2:
                    wc = scale * wp.float64(DIRECTION_ARM)
                A[r, c] = A[r, c] + wr * J[r, k] * wc * J[c, k]
    y = e
    for r in range(rows):
        A[r, r] = A[r, r] + arm.integral_damping * arm.integral_damping
    for r in range(rows):  # Cholesky
        for c in range(r + 1):
            value = A[r, c]
            for j in range(c):
                value -= A[r, j] * A[c, j]
            if r == c:
                A[r, r] = wp.sqrt(value)
            else:
                A[r, c] = value / A[c, c]
    for r in range(rows):
        value = y[r]
        for j in range(r):
            value -= A[r, j] * y[j]
        y[r] = value / A[r, r]
    for b in range(rows):
        r = rows - 1 - b
        value = y[r]
        for j in range(r + 1, rows):
            value -= A[j, r] * y[j]
        y[r] = value / A[r, r]
    for k in range(arm.coordinates):
        sum = wp.float64(0.0)
        for r in range(rows):
            weight = wp.float64(1.0)
            if r > 2:
                weight = wp.float64(DIRECTION_ARM)
            sum += weight * J[r, k] * y[r]
        step[k] = arm.scale[k] * arm.scale[k] * sum


@wp.func
def _setpoint(
    arm: _Arm, b: int, s: int, desired: wp.float64, load: wp.float64, position: wp.float64, velocity: wp.float64
):
    """ArmMechanics::compensated."""
    wanted = desired - load / arm.gain[b, s]
    if arm.max_force[b, s] > arm.min_force[b, s] and wp.isfinite(arm.max_force[b, s]):
        passive = -arm.servo_stiffness[b, s] * position - arm.damping[b, s] * velocity + arm.servo_offset[b, s]
        low = (wp.float64(FRACTION_OF_LIMIT) * arm.min_force[b, s] - passive) / arm.gain[b, s]
        high = (wp.float64(FRACTION_OF_LIMIT) * arm.max_force[b, s] - passive) / arm.gain[b, s]
        return wp.clamp(wanted, low, high)
    return wanted


@wp.kernel(module="unique", enable_backward=False)
def _command(
    arm: _Arm,
    chain: _f.Chain,
    solution: _rows,
    met: wp.array(dtype=bool),
    qpos_address: wp.array(dtype=int),
    dof_address: wp.array(dtype=int),
    qpos: wp.array2d(dtype=float),
    qvel: wp.array2d(dtype=float),
    memory: _Memory,
    out: _Scratch,
    ctrl: wp.array2d(dtype=float),
):
    world = wp.tid()
    b = world % arm.rows
    zero, one = wp.float64(0.0), wp.float64(1.0)
    n, h = arm.coordinates, arm.timestep

    # 1. Move the commands towards the solution, within the rate.
    largest = wp.float64(1e-12)
    for i in range(chain.sections):
        k = chain.first_coordinate[i]
        du, dv = solution[world, k] - memory.q[world, k], solution[world, k + 1] - memory.q[world, k + 1]
        largest = wp.max(largest, wp.sqrt(du * du + dv * dv))
        if chain.first_coordinate[i + 1] > k + 2:
            ds = solution[world, k + 2] - memory.q[world, k + 2]
            largest = wp.max(largest, wp.abs(ds) / wp.float64(LENGTH_SCALE))
    scale = wp.min(one, arm.rate_limit * h / largest)
    for k in range(n):
        change = scale * (solution[world, k] - memory.q[world, k])
        out.start[world, k] = solution[world, k]
        out.q_rate[world, k] = change / h
        memory.q[world, k] = memory.q[world, k] + change
    moving = scale < one

    # 2. The integral, on the distance of the measured tip from the planned one.
    _f.end_frames(chain, memory.q[world], zero, zero, out.rotations[world], out.ends[world])
    R = out.rotations[world, chain.sections]
    planned_axis, tip_axis = _vec3(R[0, 2], R[1, 2], R[2, 2]), out.tip_axis[world]
    off = out.ends[world, chain.sections] - out.lead[world] - out.tip[world]
    if not moving and arm.integral_gain > zero:
        tiny, limit = wp.float64(1e-30), wp.float64(ERROR_LIMIT)
        cross = wp.cross(tip_axis, planned_axis)
        sine = wp.length(cross)
        angle = _vec3(zero, zero, zero)
        if sine >= wp.float64(1e-12):
            angle = cross * (wp.float64(DIRECTION_ARM) * wp.atan2(sine, wp.dot(tip_axis, planned_axis)) / sine)
        position = off * wp.min(one, limit / wp.max(wp.length(off), tiny))
        angle = angle * wp.min(one, limit / wp.max(wp.length(angle), tiny))
        e = _vec6(position[0], position[1], position[2], angle[0], angle[1], angle[2])
        _damped_step(arm, out.jacobian[world], e, wp.where(arm.has_direction, 6, 3), out.step[world])
        factor = wp.min(arm.integral_gain, wp.float64(STABILITY_FRACTION) * arm.stability[b]) * h
        longest = wp.float64(0.0)
        for k in range(n):
            longest = wp.max(longest, wp.abs(factor * out.step[world, k]) / arm.scale[k])
        factor *= wp.min(one, wp.float64(RATE_LIMIT) * h / wp.max(longest, tiny))
        for k in range(n):
            bound = arm.integral_limit * arm.scale[k]
            memory.correction[world, k] = wp.clamp(
                memory.correction[world, k] + factor * out.step[world, k], -bound, bound
            )
        adaption = wp.float64(LEAD_RATIO) * wp.min(arm.integral_gain, wp.float64(STABILITY_FRACTION) * arm.stability[b])
        if met[world] and memory.quiet[world] >= wp.float64(QUIET_TIME) and wp.length(off) <= wp.float64(MAX_OFFSET):
            motion = memory.motion[world]
            v, a = _vec3(motion[0, 1], motion[1, 1], motion[2, 1]), _vec3(motion[0, 2], motion[1, 2], motion[2, 2])
            v0, a0 = wp.float64(SLOW_SPEED), wp.float64(SMALL_ACCELERATION)
            memory.lead_time[world] = wp.clamp(
                memory.lead_time[world] + adaption * h * wp.dot(off, v) / (wp.dot(v, v) + v0 * v0),
                wp.float64(MIN_TIME),
                wp.float64(MAX_TIME),
            )
            memory.lead_squared[world] = wp.clamp(
                memory.lead_squared[world] + adaption * h * wp.dot(off, a) / (wp.dot(a, a) + a0 * a0),
                -wp.float64(MAX_SQUARED_TIME),
                wp.float64(MAX_SQUARED_TIME),
            )
    for k in range(n):
        out.command[world, k] = memory.q[world, k] + memory.correction[world, k]
    if arm.compensates_deflection and wp.length_sq(out.deflection[world]) > zero:
        d = out.deflection[world]
        _damped_step(arm, out.jacobian[world], _vec6(-d[0], -d[1], -d[2], zero, zero, zero), 3, out.step[world])
        for k in range(n):
            out.command[world, k] = out.command[world, k] + out.step[world, k]
    out.tip_error[world] = wp.length(out.target[world] - out.tip[world])
    out.status[world] = wp.where(met[world], 0, 1)

    # 3. The servos' setpoints: ArmMechanics::command_section and command_joints.
    for k in range(n):
        desired, rate = out.command[world, k] - arm.offset[k], arm.feed_forward * out.q_rate[world, k]
        s = arm.servo[k]
        if s >= 0:
            ctrl[world, arm.actuator[s]] = float(
                _setpoint(
                    arm,
                    b,
                    s,
                    arm.sign[k] * (desired + arm.lag[b, s] * rate),
                    out.load[world, k],
                    out.sum[world, k],
                    out.speed[world, k],
                )
            )
        else:
            for i in range(arm.first_joint[k], arm.first_joint[k + 1]):
                s = arm.joint_servo[i]
                joint = arm.joint[i]
                ctrl[world, arm.actuator[s]] = float(
                    _setpoint(
                        arm,
                        b,
                        s,
                        arm.sign[k] * arm.fraction[i] * (desired + arm.lag[b, s] * rate),
                        out.joint_load[world, i],
                        wp.float64(qpos[world, qpos_address[joint]]),
                        wp.float64(qvel[world, dof_address[joint]]),
                    )
                )


@wp.kernel(module="unique", enable_backward=False)
def _forget(chosen: wp.array(dtype=bool), straight: _numbers, timestep: wp.float64, memory: _Memory, out: _Scratch):
    world = wp.tid()
    if not chosen[world]:
        return
    for k in range(straight.shape[0]):
        memory.q[world, k] = straight[k]
        out.start[world, k] = straight[k]
        memory.correction[world, k] = wp.float64(0.0)
    memory.known[world] = 0
    memory.motion[world] = _mat33()
    memory.quiet[world] = wp.float64(0.0)
    memory.lead_time[world] = wp.min(timestep, wp.float64(MAX_TIME))
    memory.lead_squared[world] = wp.float64(0.0)


def robots_of(tables: Sequence[dict[str, Any]]) -> list[td.ContinuumRobot]:
    """The kinematics of the arms."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "robot.toml"

        def robot_of(table: dict[str, Any]) -> td.ContinuumRobot:
            file.write_text(table["settings"]["robot"])
            return td.load_robot(file, td.ContinuumRobot)

        return [robot_of(table) for table in tables]


class Reach:
    """The controller of one arm in all worlds; `before_actuation` is called between the halves of a step."""

    def __init__(self, tables: Sequence[dict[str, Any]], model: Any, count: int, device: Any) -> None:
        """
        :param tables: of the arm, from `tendril._sim.arms`: one, or one for each world
        :raises ModelError: what this controller does not do on a device
        """
        table = tables[0]
        settings = table["settings"]
        name = table["prefix"].rstrip("_") or "robot"
        if table["parts"]:
            raise td.ModelError(f"{name}: has {', '.join(table['parts'])}: not supported in worlds")
        for key, allowed in _ALLOWED.items():
            if settings[key] not in allowed:
                raise td.ModelError(f"{name}: {key} = {settings[key]}: must be {' or '.join(allowed)} in worlds")
        if table["target_mocap"] < 0:
            raise td.ModelError(f"{name}: target: missing: must be a mocap body in worlds")
        if not all(servo["works"] for one in tables for servo in one["servos"]):
            raise td.ModelError(f"{name}: has a servo without a gain or a range of forces: not supported in worlds")
        robots = robots_of(tables)
        robot = robots[0]
        differs = any(one["gravity"] != table["gravity"] for one in tables)
        differs |= any(one["settings"] | {"robot": settings["robot"]} != settings for one in tables)
        if differs or any(pickle.dumps(other) != pickle.dumps(robot) for other in robots):
            raise td.ModelError(f"{name}: lengths, settings or gravity differ between the worlds: must be the same")
        self.robot, self._count, self._device = robot, count, device
        self._inverse = BatchKinematics(robot, count, device, wp.float64)
        self._iterations = int(settings["max_iterations"]) + SEARCH_ITERATIONS
        self._tolerances = float(settings["position_tolerance"]), float(settings["angle_tolerance"])

        def integers(values: Any) -> Any:
            return wp.array(np.asarray(values, dtype=np.int32), dtype=int, device=device)

        def numbers(values: Any) -> Any:
            return wp.array(np.asarray(values, dtype=np.float64), dtype=wp.float64, device=device)

        def zeros(*shape: int, kind: Any = wp.float64) -> Any:
            return wp.zeros((count, *shape), dtype=kind, device=device)

        coordinates, servos = table["coordinates"], table["servos"]
        joints = [joint for row in coordinates for joint in row["joints"]]
        n = len(coordinates)
        arm = _Arm()
        for key in ("base_body", "tip_site", "target_mocap"):
            setattr(arm, key, table[key])
        arm.rows, arm.coordinates = len(tables), n
        arm.first_joint = integers(np.cumsum([0, *(len(row["joints"]) for row in coordinates)]))
        arm.joint, arm.joint_servo = integers([j[0] for j in joints]), integers([j[3] for j in joints])
        arm.fraction = numbers([j[1] for j in joints])
        arm.mass = numbers([[j[2] for row in one["coordinates"] for j in row["joints"]] for one in tables])
        arm.sign, arm.offset = (
            numbers([row["sign"] for row in coordinates]),
            numbers([row["offset"] for row in coordinates]),
        )
        arm.stiffness = numbers([[row["stiffness"] for row in one["coordinates"]] for one in tables])
        arm.servo = integers([row["servo"] for row in coordinates])
        arm.is_slide = integers([row["is_slide"] for row in coordinates])
        arm.scale = numbers([LENGTH_SCALE if row["is_slide"] else 1.0 for row in coordinates])
        arm.actuator = integers([model.actuator_ctrladr[servo["actuator"]] for servo in servos])
        for key, source in (
            ("gain", "gain"),
            ("servo_stiffness", "stiffness"),
            ("damping", "damping"),
            ("lag", "lag"),
            ("servo_offset", "offset"),
            ("min_force", "min_force"),
            ("max_force", "max_force"),
        ):
            setattr(arm, key, numbers([[servo[source] for servo in one["servos"]] for one in tables]))
        h = model.opt.timestep
        arm.gravity = _vec3(*table["gravity"])
        arm.feed_forward = float(table["velocity_feed_forward"])
        arm.timestep = h
        arm.rate_limit = float(settings["rate_limit"])
        arm.has_direction = settings["task"] == "direction"
        arm.integral_gain = float(settings["integral_gain"])
        arm.integral_damping = float(settings["integral_damping"])
        arm.integral_limit = float(settings["integral_limit"])
        arm.stability = numbers([min(one["fundamental_mode_damping"], 1e30) for one in tables])
        arm.compensates_deflection = settings["deflection_compensation"] == "true"
        r = math.exp(-h / FILTER_TIME)
        s = 1.0 - r
        arm.filter_gain = _vec3(1.0 - r**3, 1.5 * s * s * (1.0 + r) / h, s**3 / h**2)
        self._arm = arm

        memory = _Memory()
        memory.q, memory.correction = zeros(n), zeros(n)
        memory.known = zeros(kind=int)
        memory.sample, memory.motion = zeros(kind=_vec3), zeros(kind=_mat33)
        memory.quiet, memory.lead_time, memory.lead_squared = zeros(), zeros(), zeros()
        self._memory = memory
        scratch = _Scratch()
        for key in ("sum", "speed", "load", "q_rate", "command", "step", "start"):
            setattr(scratch, key, zeros(n))
        scratch.joint_load, scratch.jacobian = zeros(len(joints)), zeros(6, n)
        for key in ("deflection", "tip", "tip_axis", "target", "target_axis", "lead"):
            setattr(scratch, key, zeros(kind=_vec3))
        scratch.goal = zeros(16 if arm.has_direction else 3)
        scratch.rotations = zeros(len(robot.sections) + 1, kind=_mat33)
        scratch.ends = zeros(len(robot.sections) + 1, kind=_vec3)
        scratch.tip_error, scratch.status = zeros(), zeros(kind=int)
        self._scratch = scratch
        self._goal = scratch.goal.reshape((count, 4, 4)) if arm.has_direction else scratch.goal
        self._straight = numbers(robot.coordinates(robot.straight))
        self.reset(wp.array(np.ones(count, dtype=bool), dtype=bool, device=device))

    @property
    def tip_error(self) -> Any:
        """Distance of each world's tip from its target in the last step, (count,), m."""
        return self._scratch.tip_error

    @property
    def status(self) -> Any:
        """0: working; 1: the target is not reached, (count,)."""
        return self._scratch.status

    def reset(self, chosen: Any) -> None:
        """Empties the memory of the chosen worlds, (count,) of bool."""
        inputs = [chosen, self._straight, self._arm.timestep, self._memory, self._scratch]
        wp.launch(_forget, self._count, inputs=inputs, device=self._device)

    def before_actuation(self, model: Any, data: Any) -> None:
        """Reads the positions of this step, and writes `ctrl`."""
        addresses = [model.jnt_qposadr, model.jnt_dofadr]
        inputs = [self._arm, *addresses, model.jnt_bodyid, data.qpos, data.qvel, data.xanchor, data.xaxis]
        inputs += [data.subtree_com, data.xpos, data.xmat, data.site_xpos, data.site_xmat]
        inputs += [data.mocap_pos, data.mocap_quat, self._memory, self._scratch]
        wp.launch(_measure, self._count, inputs=inputs, device=self._device)
        position_tolerance, angle_tolerance = self._tolerances
        solution = self._inverse.solve(
            self._goal,
            self._scratch.start,
            self._iterations,
            position_tolerance=position_tolerance,
            angle_tolerance=angle_tolerance,
            restarts=SEARCH_RESTARTS,
        )
        inputs = [self._arm, self._inverse.chain, solution.coordinates, solution.met, *addresses, data.qpos, data.qvel]
        wp.launch(_command, self._count, inputs=[*inputs, self._memory, self._scratch, data.ctrl], device=self._device)
