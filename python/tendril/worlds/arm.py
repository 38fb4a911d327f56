"""What the controllers of arms have in common on a device: the measurement, the tip integral and the servo law.

The steps of controllers/arm/arm_mechanics.cpp and tip_integral.cpp, one thread for each world, in float64 whatever the
engine's numbers are. Source: docs/theory/control.md, "Servo law" and "Tip integral".
"""

from __future__ import annotations

import warp as wp

from tendril.worlds import kinematics
from tendril.worlds.controller import Engine

LENGTH_SCALE = 0.05  # m: a length change of this size counts as 1 rad
DIRECTION_ARM = 0.05  # m: a direction error of 1 rad counts as this distance
STABILITY_FRACTION = 0.5  # of the damping of the fundamental mode
ERROR_LIMIT = 0.03  # m, of the integral
RATE_LIMIT = 3.0  # rad/s, likewise
FRACTION_OF_LIMIT = 0.98  # of a servo's force
SMOOTH_PEAK_RATE = 1.875  # of a smooth step

functions = kinematics.functions(wp.float64)
number, vec3, mat33 = wp.float64, functions.vec3, functions.mat33
vec6 = wp.types.vector(6, wp.float64)
numbers, rows, tables = (wp.array(dtype=wp.float64, ndim=n) for n in (1, 2, 3))


@wp.struct
class ArmSettings:
    """Of one world."""

    gravity: vec3
    feed_forward: number
    rate_limit: number  # rad/s
    feed_speed: number  # m/s
    guide_length: number  # m; 0: no guide
    integral_gain: number  # 1/s
    integral_damping: number  # m
    integral_limit: number  # rad
    delay: int  # of the tip's measurement, steps
    stability: number  # of the fundamental mode: 2 zeta omega, 1/s
    swing: number  # range of a tip that swings, m
    compensates_deflection: bool


@wp.struct
class Arm:
    """An arm as bound to the model; what `[vary]` may change has `rows` rows, 1 or one for each world."""

    rows: int
    base_body: int
    tip_site: int
    target_mocap: int  # -1: none
    coordinates: int
    first_joint: wp.array(dtype=int)  # of each coordinate, and their number
    joint: wp.array(dtype=int)  # of the model
    fraction: numbers  # of its coordinate
    mass: rows  # of all bodies that it moves, kg
    joint_servo: wp.array(dtype=int)
    link_start: numbers  # of its link along the straight arm, m
    link_length: numbers
    sign: numbers  # of each coordinate
    offset: numbers
    servo: wp.array(dtype=int)  # of the whole section, or -1
    shares: wp.array(dtype=int)  # a servo of the whole section, or tendons
    is_passive: wp.array(dtype=int)
    is_slide: wp.array(dtype=int)
    stiffness: rows
    scale: numbers  # 1, or LENGTH_SCALE; 0: the section does not bend in this direction
    control: wp.array(dtype=int)  # of each servo, in ctrl
    gain: rows
    servo_stiffness: rows
    damping: rows
    lag: rows
    servo_offset: rows
    min_force: rows
    max_force: rows
    feed_joint: int  # of the model; -1: none
    feed_servo: int
    feed_mass: numbers  # that it moves, kg
    spin_joint: int  # of the base, likewise
    spin_servo: int
    spin_mass: numbers
    takes_moments: bool  # instead of setpoints
    is_driven_in_part: bool
    projector: tables  # then: on what the drives move
    timestep: number
    settings: wp.array(dtype=ArmSettings)


@wp.struct
class Step:
    """The measurement and the command of one step, a row for each world; base frame."""

    q: rows  # coordinates
    measured_rate: rows
    sum: rows  # of each coordinate's joints
    speed: rows
    load: rows
    moment: rows  # of gravity on each coordinate
    joint_load: rows
    pull: rows  # of tendons on each coordinate's joints
    jacobian: tables  # of the tip: (worlds, 6, coordinates)
    swing: wp.array(dtype=vec6)  # of the tip by twist: displacement, m, and rotation, rad
    tip_twist: numbers  # rad
    deflection: wp.array(dtype=vec3)  # of the tip, by an uneven load within the sections
    uneven: wp.array2d(dtype=vec3)  # the same of each coordinate's section
    tip: wp.array(dtype=vec3)
    tip_frame: wp.array(dtype=mat33)
    target: wp.array(dtype=vec3)
    target_frame: wp.array(dtype=mat33)
    tip_error: numbers  # distance of the tip from the target, m
    feed: numbers  # m
    feed_position: numbers  # the same as its servo has it, whatever the controller sees
    feed_speed: numbers
    feed_load: numbers  # N
    spin: numbers  # of the base, rad
    command: rows  # coordinates
    q_rate: rows
    moment_command: rows  # of an arm that takes moments
    feed_command: numbers
    feed_rate: numbers
    spin_command: numbers
    change: rows  # of a damped step
    unprojected: rows
    normal: tables  # its equations
    solved: rows


@wp.struct
class Integral:
    """The memory of the tip integral, a row for each world."""

    correction: rows
    late: wp.array2d(dtype=vec6)  # errors of the last steps, of a tip whose measurement has a delay
    oldest: wp.array(dtype=int)


@wp.func
def forget_integral(world: int, integral: Integral):
    for k in range(integral.correction.shape[1]):
        integral.correction[world, k] = number(0.0)
    for i in range(integral.late.shape[1]):
        integral.late[world, i] = vec6()
    integral.oldest[world] = 0


@wp.func
def smooth_step(at: number):
    """tendril/path/smooth_step.hpp."""
    x = wp.clamp(at, number(0.0), number(1.0))
    return x * x * x * (number(10.0) - x * (number(15.0) - number(6.0) * x))


@wp.func
def wide(v: wp.vec3):
    return vec3(number(v[0]), number(v[1]), number(v[2]))


@wp.func
def skew(a: vec3):
    """The matrix of the cross product with a."""
    zero = number(0.0)
    return mat33(zero, -a[2], a[1], a[2], zero, -a[0], -a[1], a[0], zero)


@wp.func
def wide_matrix(m: wp.mat33):
    result = mat33()
    for r in range(3):
        for c in range(3):
            result[r, c] = number(m[r, c])
    return result


@wp.func
def in_base(arm: Arm, engine: Engine, world: int, p: wp.vec3):
    """A point of the world in the frame of the arm's base."""
    to_base = wp.transpose(wide_matrix(engine.xmat[world, arm.base_body]))
    return to_base * (wide(p) - wide(engine.xpos[world, arm.base_body]))


@wp.kernel(module="unique", enable_backward=False)
def measure(arm: Arm, engine: Engine, out: Step):
    """ArmMechanics::measure."""
    world = wp.tid()
    b = world % arm.rows
    zero, gravity = number(0.0), arm.settings[b].gravity
    to_base = wp.transpose(wide_matrix(engine.xmat[world, arm.base_body]))
    base = wide(engine.xpos[world, arm.base_body])
    tip = wide(engine.site_xpos[world, arm.tip_site])
    out.tip[world] = to_base * (tip - base)
    out.tip_frame[world] = to_base * wide_matrix(engine.site_xmat[world, arm.tip_site])
    if arm.target_mocap >= 0:
        out.target[world] = in_base(arm, engine, world, engine.mocap_pos[world, arm.target_mocap])
        quat = engine.mocap_quat[world, arm.target_mocap]  # w, x, y, z
        w, x, y, z = number(quat[0]), number(quat[1]), number(quat[2]), number(quat[3])
        frame = wp.quat_to_matrix(wp.normalize(wp.quaternion(x, y, z, w, dtype=number)))
        out.target_frame[world] = to_base * frame
        out.tip_error[world] = wp.length(out.target[world] - out.tip[world])

    deflection = vec3(zero, zero, zero)
    # Sections end in their last joints. What turns the end of one displaces that of the next.
    start, sag_turn = base + vec3(zero, zero, zero), vec3(zero, zero, zero)
    first, has_end = number(1.0), number(0.0)  # of the two bends of a section
    for k in range(arm.coordinates):
        sum, speed, load = number(0.0), number(0.0), number(0.0)
        move, turn, loaded = vec3(zero, zero, zero), vec3(zero, zero, zero), vec3(zero, zero, zero)
        own_move, own_loaded = vec3(zero, zero, zero), vec3(zero, zero, zero)  # of the section's end
        loaded_turn = vec3(zero, zero, zero)
        end = tip
        if arm.first_joint[k + 1] > arm.first_joint[k]:
            end = wide(engine.xanchor[world, arm.joint[arm.first_joint[k + 1] - 1]])
        for i in range(arm.first_joint[k], arm.first_joint[k + 1]):
            joint = arm.joint[i]
            anchor, direction = wide(engine.xanchor[world, joint]), wide(engine.xaxis[world, joint])
            sum += number(engine.qpos[world, engine.qpos_address[joint]])
            speed += number(engine.qvel[world, engine.dof_address[joint]])
            fraction = arm.fraction[i]
            rate = direction
            weight = arm.mass[b, i] * wp.dot(direction, gravity)
            if arm.is_slide[k] == 0:
                rate = wp.cross(direction, tip - anchor)
                turn += fraction * direction
                com = wide(engine.subtree_com[world, engine.joint_body[joint]])
                weight = arm.mass[b, i] * wp.dot(direction, wp.cross(com - anchor, gravity))
                own_rate = wp.cross(direction, end - anchor)
                own_move += fraction * own_rate
                own_loaded += (fraction * weight) * own_rate
                loaded_turn += (fraction * weight) * direction
            out.joint_load[world, i] = weight
            load += fraction * weight
            move += fraction * rate
            loaded += (fraction * weight) * rate
        sign = arm.sign[k]
        out.q[world, k] = sign * sum + arm.offset[k]
        out.measured_rate[world, k] = sign * speed
        out.sum[world, k] = sum
        out.speed[world, k] = speed
        out.load[world, k] = load
        out.moment[world, k] = sign * load
        move_in_base, turn_in_base = to_base * (sign * move), to_base * (sign * turn)
        for r in range(3):
            out.jacobian[world, r, k] = move_in_base[r]
            out.jacobian[world, r + 3, k] = turn_in_base[r]
        out.uneven[world, k] = vec3(zero, zero, zero)
        if arm.shares[k] != 0 and arm.stiffness[b, k] > zero:
            deflection += (loaded - load * move) / arm.stiffness[b, k]
            out.uneven[world, k] = to_base * ((own_loaded - load * own_move) / arm.stiffness[b, k])
        if arm.is_slide[k] == 0:
            if first > zero:
                has_end = zero
            if has_end == zero and arm.first_joint[k + 1] > arm.first_joint[k]:
                out.uneven[world, k] = out.uneven[world, k] + to_base * wp.cross(sag_turn, end - start)
                start = end
                has_end = number(1.0)
            if arm.shares[k] != 0 and arm.stiffness[b, k] > zero:
                sag_turn += (loaded_turn - load * turn) / arm.stiffness[b, k]
            first = number(1.0) - first
    out.deflection[world] = to_base * deflection
    if arm.feed_joint >= 0:
        out.feed[world] = number(engine.qpos[world, engine.qpos_address[arm.feed_joint]])
        out.feed_position[world] = out.feed[world]
        out.feed_speed[world] = number(engine.qvel[world, engine.dof_address[arm.feed_joint]])
        out.feed_load[world] = arm.feed_mass[b] * wp.dot(wide(engine.xaxis[world, arm.feed_joint]), gravity)
    if arm.spin_joint >= 0:
        out.spin[world] = number(engine.qpos[world, engine.qpos_address[arm.spin_joint]])


@wp.func
def _rotate(c: number, s: number, values: numbers, k: int):
    x, y = values[k] + number(0.0), values[k + 1] + number(0.0)  # read before they are written
    values[k] = c * x - s * y
    values[k + 1] = s * x + c * y


@wp.func
def untwist(world: int, k: int, angle: number, rate: number, step: Step):
    """Measured coordinates and columns of a section whose frame is turned to those of one that is not: TurnedFrames."""
    c, s = wp.cos(angle), wp.sin(angle)
    _rotate(c, s, step.q[world], k)
    _rotate(c, s, step.measured_rate[world], k)
    step.measured_rate[world, k] = step.measured_rate[world, k] - rate * step.q[world, k + 1]
    step.measured_rate[world, k + 1] = step.measured_rate[world, k + 1] + rate * step.q[world, k]
    _rotate(c, s, step.moment[world], k)
    for r in range(6):
        _rotate(c, s, step.jacobian[world, r], k)


@wp.func
def twist(world: int, k: int, angle: number, step: Step):
    """The inverse, of commanded coordinates and rates."""
    c, s = wp.cos(angle), wp.sin(angle)
    _rotate(c, -s, step.command[world], k)
    _rotate(c, -s, step.q_rate[world], k)


@wp.func
def twist_moment(world: int, k: int, angle: number, step: Step):
    """The same of commanded moments."""
    _rotate(wp.cos(angle), -wp.sin(angle), step.moment_command[world], k)


@wp.func
def cholesky_factor(A: rows, n: int):
    """Overwrites the lower half of n rows of a positive definite A with its factor."""
    for r in range(n):
        for c in range(r + 1):
            value = A[r, c]
            for j in range(c):
                value -= A[r, j] * A[c, j]
            if r == c:
                A[r, r] = wp.sqrt(value)
            else:
                A[r, c] = value / A[c, c]


@wp.func
def solve_factored(A: rows, y: numbers, n: int):
    """y = A^-1 y, with the factor of n rows of A in its lower half."""
    for r in range(n):
        value = y[r]
        for j in range(r):
            value -= A[r, j] * y[j]
        y[r] = value / A[r, r]
    for back in range(n):
        r = n - 1 - back
        value = y[r]
        for j in range(r + 1, n):
            value -= A[j, r] * y[j]
        y[r] = value / A[r, r]


@wp.func
def cholesky_solve(A: rows, y: numbers, n: int):
    """y = A^-1 y of n rows of a positive definite A, whose lower half is overwritten."""
    cholesky_factor(A, n)
    solve_factored(A, y, n)


@wp.func
def multiply_transposed(A: rows, x: numbers, y: numbers):
    """y = A^T x."""
    for c in range(A.shape[1]):
        sum = number(0.0)
        for r in range(A.shape[0]):
            sum += A[r, c] * x[r]
        y[c] = sum


@wp.func
def project(arm: Arm, b: int, values: numbers, scratch: numbers):
    """Leaves of a row of coordinates what the drives move; the projector is symmetric."""
    for k in range(arm.coordinates):
        scratch[k] = values[k]
    multiply_transposed(arm.projector[b], scratch, values)


@wp.func
def damped_step(arm: Arm, world: int, damping: number, e: vec6, equations: int, step: Step):
    """step.change = J^T (J J^T + lambda^2 I)^-1 e over the first equations, in scaled coordinates.

    Of an arm that is driven in part, J is that of what its drives move, and so is the step.
    """
    J, A, y = step.jacobian[world], step.normal[world], step.solved[world]
    for r in range(equations):
        for c in range(r + 1):
            A[r, c] = number(0.0)
    for k in range(arm.coordinates):
        scale = arm.scale[k]
        for r in range(equations):
            wr = scale
            if r > 2:
                wr = scale * number(DIRECTION_ARM)
            for c in range(r + 1):
                wc = scale
                if c > 2:
                    wc = scale * number(DIRECTION_ARM)
                A[r, c] = A[r, c] + wr * J[r, k] * wc * J[c, k]
    for r in range(equations):
        A[r, r] = A[r, r] + damping * damping
        y[r] = e[r]
    cholesky_solve(A, y, equations)
    for k in range(arm.coordinates):
        sum = number(0.0)
        for r in range(equations):
            weight = number(1.0)
            if r > 2:
                weight = number(DIRECTION_ARM)
            sum += weight * J[r, k] * y[r]
        step.change[world, k] = arm.scale[k] * arm.scale[k] * sum
    if arm.is_driven_in_part:
        project(arm, world % arm.rows, step.change[world], step.unprojected[world])


@wp.func
def largest_change(chain: functions.Chain, a: numbers, b: numbers):
    """Of a coordinate between two poses; a length of LENGTH_SCALE counts as 1."""
    largest = number(0.0)
    for i in range(chain.sections):
        k = chain.first_coordinate[i]
        u, v = a[k] - b[k], a[k + 1] - b[k + 1]
        largest = wp.max(largest, wp.sqrt(u * u + v * v))
        if chain.first_coordinate[i + 1] > k + 2:
            largest = wp.max(largest, wp.abs(a[k + 2] - b[k + 2]) / number(LENGTH_SCALE))
    return largest


@wp.func
def integral_gain(settings: ArmSettings):
    return wp.min(settings.integral_gain, number(STABILITY_FRACTION) * settings.stability)


@wp.func
def integrate(
    arm: Arm,
    world: int,
    position: vec3,
    turn: vec3,
    equations: int,
    frozen: bool,
    integral: Integral,
    step: Step,
):
    """One step of the tip integral against these errors, m, and that of the position known now: TipIntegral::update.

    `turn` is a rotation times DIRECTION_ARM, and counts with 6 equations.
    """
    h, settings, swing = arm.timestep, arm.settings[world % arm.rows], step.swing[world]
    # Without the swing of the twist, which the integral would excite.
    moved, turned = vec3(swing[0], swing[1], swing[2]), vec3(swing[3], swing[4], swing[5])
    R = step.tip_frame[world]
    axis = vec3(R[0, 2], R[1, 2], R[2, 2])
    turned = number(DIRECTION_ARM) * (turned - wp.dot(axis, turned) * axis)
    known, angle = position + moved, turn + turned
    if settings.delay > 0:
        i = integral.oldest[world]
        late = integral.late[world, i] + vec6()
        integral.late[world, i] = vec6(known[0], known[1], known[2], angle[0], angle[1], angle[2])
        integral.oldest[world] = (i + 1) % settings.delay
        known = vec3(late[0], late[1], late[2])
        angle = vec3(late[3], late[4], late[5])
    if frozen or settings.integral_gain <= number(0.0):
        return known
    one, tiny, limit = number(1.0), number(1e-30), number(ERROR_LIMIT)
    p, a = known + moved, angle + turned  # once more: the loop damps it
    p *= wp.min(one, limit / wp.max(wp.length(p), tiny))
    a *= wp.min(one, limit / wp.max(wp.length(a), tiny))
    e = vec6(p[0], p[1], p[2], a[0], a[1], a[2])
    damped_step(arm, world, settings.integral_damping, e, equations, step)
    factor = integral_gain(settings) * h
    longest = number(0.0)
    for k in range(arm.coordinates):
        longest = wp.max(longest, wp.abs(factor * step.change[world, k]) / wp.max(arm.scale[k], tiny))
    factor *= wp.min(one, number(RATE_LIMIT) * h / wp.max(longest, tiny))
    for k in range(arm.coordinates):
        bound = settings.integral_limit * arm.scale[k]
        correction = integral.correction[world, k] + factor * step.change[world, k]
        integral.correction[world, k] = wp.clamp(correction, -bound, bound)
    return known


@wp.func
def keep_within_lengths(chain: functions.Chain, least: numbers, q: numbers, world: int, integral: Integral):
    """A length at the end of its range takes no correction past it, which would only be stored up."""
    for i in range(chain.sections):
        k = chain.first_coordinate[i] + 2
        if chain.first_coordinate[i + 1] > k:
            low, high = least[i] - q[k], chain.variable_length[i] - q[k]
            correction = integral.correction[world, k]
            integral.correction[world, k] = wp.clamp(correction, wp.min(number(0.0), low), wp.max(number(0.0), high))


@wp.func
def _setpoint(arm: Arm, b: int, s: int, desired: number, load: number, position: number, velocity: number):
    """ArmMechanics::compensated."""
    wanted = desired - load / arm.gain[b, s]
    if arm.max_force[b, s] > arm.min_force[b, s] and wp.isfinite(arm.max_force[b, s]):
        passive = -arm.servo_stiffness[b, s] * position - arm.damping[b, s] * velocity + arm.servo_offset[b, s]
        low = (number(FRACTION_OF_LIMIT) * arm.min_force[b, s] - passive) / arm.gain[b, s]
        high = (number(FRACTION_OF_LIMIT) * arm.max_force[b, s] - passive) / arm.gain[b, s]
        return wp.clamp(wanted, low, high)
    return wanted


@wp.func
def compensate_deflection(arm: Arm, world: int, step: Step):
    """Of the tip, by an uneven load within the sections: TipIntegral::compensate_gravity_deflection."""
    settings, d = arm.settings[world % arm.rows], step.deflection[world]
    if settings.compensates_deflection and wp.length_sq(d) > number(0.0):
        zero = number(0.0)
        damped_step(arm, world, settings.integral_damping, vec6(-d[0], -d[1], -d[2], zero, zero, zero), 3, step)
        for k in range(arm.coordinates):
            step.command[world, k] = step.command[world, k] + step.change[world, k]


@wp.func
def feed_force(arm: Arm, world: int, step: Step, setpoint: number):
    """Of the feed servo: Servo::force."""
    if arm.feed_joint < 0:
        return number(0.0)
    b, s = world % arm.rows, arm.feed_servo
    passive = -arm.servo_stiffness[b, s] * step.feed_position[world] - arm.damping[b, s] * step.feed_speed[world]
    force = arm.gain[b, s] * setpoint + passive + arm.servo_offset[b, s]
    return wp.clamp(force, arm.min_force[b, s], arm.max_force[b, s])


@wp.func
def feed_setpoint(arm: Arm, world: int, step: Step):
    """Of the feed servo, in ArmMechanics::setpoints; without one it is the command."""
    if arm.feed_joint < 0:
        return step.feed_command[world]
    b, s = world % arm.rows, arm.feed_servo
    rate = arm.settings[b].feed_forward * step.feed_rate[world]
    return step.feed_command[world] + arm.lag[b, s] * rate - step.feed_load[world] / arm.gain[b, s]


@wp.func
def hinge_setpoint(arm: Arm, engine: Engine, world: int, joint: int, s: int, mass: number, desired: number):
    """Of the servo of one hinge that moves this mass."""
    b = world % arm.rows
    axis, anchor = wide(engine.xaxis[world, joint]), wide(engine.xanchor[world, joint])
    com = wide(engine.subtree_com[world, engine.joint_body[joint]])
    load = mass * wp.dot(axis, wp.cross(com - anchor, arm.settings[b].gravity))
    position = number(engine.qpos[world, engine.qpos_address[joint]])
    velocity = number(engine.qvel[world, engine.dof_address[joint]])
    return float(_setpoint(arm, b, s, desired, load, position, velocity))


@wp.func
def _exposure(arm: Arm, guide_length: number, i: int, feed: number):
    """Fraction of a joint's link that is outside the guide, and its derivative by the feed, 1/m: guide_exposure."""
    fraction, rate = number(1.0), number(0.0)
    if guide_length > number(0.0):
        length = arm.link_length[i]
        exposed = (feed + arm.link_start[i] + length - guide_length) / length
        fraction = wp.clamp(exposed, number(0.0), number(1.0))
        if exposed > number(0.0) and exposed < number(1.0):
            rate = number(1.0) / length
    return fraction, rate


@wp.kernel(module="unique", enable_backward=False)
def write_setpoints(arm: Arm, engine: Engine, step: Step, ctrl: wp.array2d(dtype=float)):
    """ArmMechanics::setpoints."""
    world = wp.tid()
    b = world % arm.rows
    feed_forward = arm.settings[b].feed_forward
    for k in range(arm.coordinates):
        desired = step.command[world, k] - arm.offset[k]
        s = arm.servo[k]
        if s >= 0 and arm.takes_moments:
            moment = arm.sign[k] * step.moment_command[world, k] - step.pull[world, k]
            ctrl[world, arm.control[s]] = float(wp.clamp(moment, arm.min_force[b, s], arm.max_force[b, s]))
        elif s >= 0:
            ctrl[world, arm.control[s]] = float(
                _setpoint(
                    arm,
                    b,
                    s,
                    arm.sign[k] * (desired + arm.lag[b, s] * feed_forward * step.q_rate[world, k]),
                    step.load[world, k] + step.pull[world, k],
                    step.sum[world, k],
                    step.speed[world, k],
                )
            )
        else:
            for i in range(arm.first_joint[k], arm.first_joint[k + 1]):
                s = arm.joint_servo[i]
                if s >= 0:
                    joint = arm.joint[i]
                    out, out_rate = _exposure(arm, arm.settings[b].guide_length, i, step.feed[world])
                    rate = feed_forward * (out * step.q_rate[world, k] + out_rate * step.feed_rate[world] * desired)
                    ctrl[world, arm.control[s]] = float(
                        _setpoint(
                            arm,
                            b,
                            s,
                            arm.sign[k] * arm.fraction[i] * (out * desired + arm.lag[b, s] * rate),
                            step.joint_load[world, i] + step.pull[world, k],
                            number(engine.qpos[world, engine.qpos_address[joint]]),
                            number(engine.qvel[world, engine.dof_address[joint]]),
                        )
                    )
    if arm.feed_joint >= 0:
        ctrl[world, arm.control[arm.feed_servo]] = float(feed_setpoint(arm, world, step))
    if arm.spin_joint >= 0:
        ctrl[world, arm.control[arm.spin_servo]] = hinge_setpoint(
            arm, engine, world, arm.spin_joint, arm.spin_servo, arm.spin_mass[b], step.spin_command[world]
        )
