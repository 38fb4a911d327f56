"""Joints and pose of a snake from its encoders and the inertial unit in its head, one thread for each world.

The steps of tendril/estimation/joint_filter.cpp, head_estimator.cpp and ground_odometry.cpp. Source:
docs/theory/estimation.md, "Snakes".
"""

from __future__ import annotations

import warp as wp

from tendril.worlds.arm import mat33, number, numbers, rows, skew, tables, vec3
from tendril.worlds.measurement_faults import rotation_by

vec2, mat22 = wp.vec2d, wp.mat22d
ZERO, HALF, ONE, TWO = (number(value) for value in (0.0, 0.5, 1.0, 2.0))
# Of the head's error: orientation, velocity, position, bias.
ANGLE, VELOCITY, POSITION, BIAS, STATES = (wp.constant(i) for i in (0, 3, 6, 9, 12))
FORCE_ITERATIONS, VELOCITY_ITERATIONS, FORCE_TOLERANCE = 20, 10, number(1e-6)
PLANE_DAMPING = number(1e-3)  # m^2, where the body does not hold the plane


@wp.struct
class Joints:
    """JointFilter; tables are of each world or of all."""

    transition: wp.array(dtype=mat33)
    noise: wp.array(dtype=mat33)
    deviation: rows
    start: wp.array(dtype=vec3)  # deviations
    state: wp.array2d(dtype=vec3)  # memory
    covariance: wp.array2d(dtype=mat33)
    value: rows  # of each encoder in this step, scratch
    has_value: wp.array2d(dtype=int)


@wp.func
def start_joint(joints: Joints, world: int, j: int, angle: number):
    deviation = joints.start[world % joints.start.shape[0]]
    joints.state[world, j] = vec3(angle, ZERO, ZERO)
    joints.covariance[world, j] = wp.diag(wp.cw_mul(deviation, deviation))


@wp.func
def filter_joint(joints: Joints, world: int, j: int):
    """JointFilter::step, of one joint."""
    b = world % joints.deviation.shape[0]
    F = joints.transition[b]
    x = F * joints.state[world, j]
    P = F * joints.covariance[world, j] * wp.transpose(F) + joints.noise[b]
    if joints.has_value[world, j] != 0:
        variance = P[0, 0] + joints.deviation[b, j] * joints.deviation[b, j]
        across = vec3(P[0, 0], P[1, 0], P[2, 0])
        x += across * ((joints.value[world, j] - x[0]) / variance)
        P -= wp.outer(across, across / variance)
    joints.state[world, j] = x
    joints.covariance[world, j] = HALF * (P + wp.transpose(P))


@wp.struct
class HeadOptions:
    """HeadEstimatorOptions."""

    gravity: vec3
    rate_noise: number
    force_noise: number
    bias_drift: number
    start_angle: number
    start_velocity: number
    start_position: number
    start_bias: number
    lost_after: number
    lost_rate: number
    lost_acceleration: number
    lost_time: number
    delay: number


@wp.struct
class Head:
    """HeadEstimator; memory and scratch have a row for each world."""

    options: wp.array(dtype=HeadOptions)
    timestep: number
    R: wp.array(dtype=mat33)
    v: wp.array(dtype=vec3)
    p: wp.array(dtype=vec3)
    b: wp.array(dtype=vec3)
    P: tables
    rate: wp.array(dtype=vec3)
    force: wp.array(dtype=vec3)
    has_unit: wp.array(dtype=bool)
    age: numbers
    F: tables  # scratch
    moved: tables
    by_error: tables
    across: tables


@wp.func
def _options(head: Head, world: int):
    return head.options[world % head.options.shape[0]]


@wp.func
def _set_diagonal(P: rows, first: int, value: number):
    for i in range(first, first + 3):
        P[i, i] = value


@wp.func
def start_head(head: Head, world: int, R: mat33, p: vec3):
    options, P = _options(head, world), head.P[world]
    head.R[world] = R
    head.v[world] = vec3(ZERO, ZERO, ZERO)
    head.p[world] = p
    head.b[world] = vec3(ZERO, ZERO, ZERO)
    for r in range(STATES):
        for c in range(STATES):
            P[r, c] = ZERO
    _set_diagonal(P, ANGLE, options.start_angle * options.start_angle)
    _set_diagonal(P, VELOCITY, options.start_velocity * options.start_velocity)
    _set_diagonal(P, POSITION, options.start_position * options.start_position)
    _set_diagonal(P, BIAS, options.start_bias * options.start_bias)
    head.rate[world] = vec3(ZERO, ZERO, ZERO)
    head.force[world] = -(wp.transpose(R) * options.gravity)
    head.has_unit[world] = True
    head.age[world] = ZERO


@wp.func
def _move_covariance(head: Head, world: int, angle: number, velocity: number, bias: number):
    """P <- F P F^T + these on the diagonal."""
    F, P, moved = head.F[world], head.P[world], head.moved[world]
    for r in range(STATES):
        for c in range(STATES):
            sum = number(0.0)
            for k in range(STATES):
                sum += F[r, k] * P[k, c]
            moved[r, c] = sum
    for r in range(STATES):
        for c in range(r + 1):
            sum = number(0.0)
            for k in range(STATES):
                sum += moved[r, k] * F[c, k]
            P[r, c] = sum
            P[c, r] = sum
    for i in range(3):
        P[ANGLE + i, ANGLE + i] = P[ANGLE + i, ANGLE + i] + angle
        P[VELOCITY + i, VELOCITY + i] = P[VELOCITY + i, VELOCITY + i] + velocity
        P[BIAS + i, BIAS + i] = P[BIAS + i, BIAS + i] + bias


@wp.func
def _begin_transition(head: Head, world: int, time: number):
    F = head.F[world]
    for r in range(STATES):
        for c in range(STATES):
            F[r, c] = wp.where(r == c, ONE, ZERO)
    for i in range(3):
        F[POSITION + i, VELOCITY + i] = time


@wp.func
def _set_block(F: rows, r: int, c: int, block: mat33):
    for i in range(3):
        for j in range(3):
            F[r + i, c + j] = block[i, j]


@wp.func
def _advance(head: Head, world: int, now_rate: vec3, now_force: vec3, time: number):
    """HeadEstimator::advance."""
    options, R, F = _options(head, world), head.R[world], head.F[world]
    rate = HALF * (head.rate[world] + now_rate) - head.b[world]
    force = HALF * (head.force[world] + now_force)
    R_middle = R * rotation_by(HALF * time * rate)
    acceleration = R_middle * force + options.gravity
    turned = R * rotation_by(time * rate)
    straight = number(3.0) * wp.identity(n=3, dtype=number) - wp.transpose(turned) * turned
    head.R[world] = HALF * (turned * straight)
    head.p[world] = head.p[world] + time * head.v[world] + HALF * time * time * acceleration
    head.v[world] = head.v[world] + time * acceleration
    _begin_transition(head, world, time)
    pushed = -time * skew(R_middle * force)
    _set_block(F, ANGLE, BIAS, -time * R_middle)
    _set_block(F, VELOCITY, ANGLE, pushed)
    _set_block(F, POSITION, ANGLE, HALF * time * pushed)
    angle, velocity = time * options.rate_noise, time * options.force_noise
    drift = time * options.bias_drift * options.bias_drift
    _move_covariance(head, world, angle * angle, velocity * velocity, drift)
    head.rate[world] = now_rate
    head.force[world] = now_force


@wp.func
def _advance_lost(head: Head, world: int, time: number):
    """HeadEstimator::advance_lost."""
    options = _options(head, world)
    head.p[world] = head.p[world] + time * head.v[world]
    _begin_transition(head, world, time)
    density = TWO * options.lost_time * time
    angle = density * options.lost_rate * options.lost_rate
    velocity = density * options.lost_acceleration * options.lost_acceleration
    _move_covariance(head, world, angle, velocity, time * options.bias_drift * options.bias_drift)
    head.rate[world] = head.b[world]  # no angular velocity


@wp.func
def step_head(head: Head, world: int, has_sample: bool, rate: vec3, force: vec3):
    """HeadEstimator::step: by how much time the state advanced, s."""
    options, age = _options(head, world), head.age[world] + head.timestep
    head.age[world] = ZERO
    if has_sample:
        if not head.has_unit[world]:  # it is back
            head.rate[world] = rate
            head.force[world] = force
            head.has_unit[world] = True
        _advance(head, world, rate, force, age)
        return age
    if head.has_unit[world] and age < options.lost_after:
        head.age[world] = age
        return ZERO + number(0.0)
    head.has_unit[world] = False
    _advance_lost(head, world, age)
    return age


@wp.func
def angular_velocity(head: Head, world: int):
    return head.R[world] * (head.rate[world] - head.b[world])


@wp.func
def _correct(head: Head, world: int, residual: vec2, deviation: number):
    """HeadEstimator::correct, by the two rows of `by_error`."""
    P, H, across = head.P[world], head.by_error[world], head.across[world]
    S = mat22(deviation * deviation, ZERO, ZERO, deviation * deviation)
    for r in range(STATES):
        for i in range(2):
            sum = number(0.0)
            for c in range(STATES):
                sum += P[r, c] * H[i, c]
            across[r, i] = sum
    for i in range(2):
        for j in range(2):
            sum = S[i, j]
            for r in range(STATES):
                sum += H[i, r] * across[r, j]
            S[i, j] = sum
    inverse = wp.inverse(S)
    gain = inverse * residual
    for r in range(STATES):
        for c in range(r + 1):
            changed = P[r, c] + ZERO
            for i in range(2):
                for j in range(2):
                    changed -= across[r, i] * inverse[i, j] * across[c, j]
            P[r, c] = changed
            P[c, r] = changed
    angle, velocity, position, bias = vec3(), vec3(), vec3(), vec3()
    for i in range(3):
        angle[i] = across[ANGLE + i, 0] * gain[0] + across[ANGLE + i, 1] * gain[1]
        velocity[i] = across[VELOCITY + i, 0] * gain[0] + across[VELOCITY + i, 1] * gain[1]
        position[i] = across[POSITION + i, 0] * gain[0] + across[POSITION + i, 1] * gain[1]
        bias[i] = across[BIAS + i, 0] * gain[0] + across[BIAS + i, 1] * gain[1]
    head.R[world] = rotation_by(angle) * head.R[world]
    head.v[world] = head.v[world] + velocity
    head.p[world] = head.p[world] + position
    head.b[world] = head.b[world] + bias


@wp.func
def _clear_rows(H: rows):
    for i in range(2):
        for c in range(STATES):
            H[i, c] = ZERO


@wp.func
def correct_velocity(head: Head, world: int, velocity: vec2, deviation: number):
    v, H = head.v[world], head.by_error[world]
    _clear_rows(H)
    H[0, VELOCITY] = ONE
    H[1, VELOCITY + 1] = ONE
    H[0, ANGLE + 2] = v[1]
    H[1, ANGLE + 2] = -v[0]
    _correct(head, world, velocity - vec2(v[0], v[1]), deviation)


@wp.func
def correct_height(head: Head, world: int, height: number, deviation: number):
    H = head.by_error[world]
    _clear_rows(H)
    H[0, POSITION + 2] = ONE
    _correct(head, world, vec2(height - head.p[world][2], ZERO), deviation)


@wp.struct
class Ground:
    """GroundOdometry; numbers of the body are of each world or of all, memory and scratch of each world."""

    length: rows  # of each link, m
    share: rows  # of the mass
    mass: numbers
    radius: numbers
    friction_along: numbers
    friction_across: numbers
    gravity: numbers
    stiffness: number
    slip_speed: number
    plane: wp.array(dtype=vec3)  # height, slopes
    center: wp.array(dtype=vec2)  # velocity
    velocity: wp.array(dtype=vec2)  # of the head
    began: wp.array(dtype=bool)
    angle: rows  # of the joints, rad
    rate: rows
    # Relative to the head, two points of each link that has a length.
    points: wp.array(dtype=int)
    position: wp.array2d(dtype=vec3)
    speed: wp.array2d(dtype=vec3)
    along: wp.array2d(dtype=vec2)
    force: rows
    center_of_mass: wp.array(dtype=vec3)
    center_velocity: wp.array(dtype=vec3)


@wp.func
def axis_of(joint: int):
    """Of a joint, from 0, in the frame of the link before it."""
    if joint % 2 == 0:
        return vec3(ZERO, ZERO, ONE)
    return vec3(ZERO, -ONE, ZERO)


@wp.func
def _level(v: vec3):
    return vec2(v[0], v[1])


@wp.func
def start_odometry(ground: Ground, world: int):
    ground.plane[world] = vec3(ZERO, ZERO, ZERO)
    ground.center[world] = vec2(ZERO, ZERO)
    ground.velocity[world] = vec2(ZERO, ZERO)
    ground.began[world] = False


@wp.func
def _place(ground: Ground, world: int, R_head: mat33, rate_head: vec3):
    """Places the links from the head to the tail."""
    b = world % ground.length.shape[0]
    R, rate = R_head + mat33(), rate_head + vec3()
    end, end_velocity = vec3(ZERO, ZERO, ZERO), vec3(ZERO, ZERO, ZERO)
    center, center_velocity = vec3(ZERO, ZERO, ZERO), vec3(ZERO, ZERO, ZERO)
    following = wp.int32(0)
    links = ground.length.shape[1]
    for back in range(links):
        k = links - 1 - back
        length = ground.length[b, k]
        if length > ZERO:
            x = vec3(R[0, 0], R[1, 0], R[2, 0])
            start = end - length * x
            start_velocity = end_velocity - length * wp.cross(rate, x)
            of_ground = wp.cross(rate, vec3(ZERO, ZERO, -ground.radius[b]))
            size = wp.length(_level(x))
            along = vec2(ONE, ZERO)
            if size > number(1e-9):
                along = _level(x) / size
            ground.position[world, following] = start
            ground.speed[world, following] = start_velocity + of_ground
            ground.position[world, following + 1] = end
            ground.speed[world, following + 1] = end_velocity + of_ground
            ground.along[world, following] = along
            ground.along[world, following + 1] = along
            following += 2
            half = HALF * ground.share[b, k]
            center += half * (start + end)
            center_velocity += half * (start_velocity + end_velocity)
            end = start
            end_velocity = start_velocity
        if k > 0:
            axis = axis_of(k - 1)
            rate -= ground.rate[world, k - 1] * (R * axis)
            R = R * rotation_by(-ground.angle[world, k - 1] * axis)
    ground.center_of_mass[world] = center
    ground.center_velocity[world] = center_velocity


@wp.func
def _arms(ground: Ground, world: int, i: int):
    at = ground.position[world, i] - ground.center_of_mass[world]
    return vec3(ONE, at[0], at[1])


@wp.func
def _cost(ground: Ground, world: int, weight: number, plane: vec3):
    sum = -weight * plane[0]
    for i in range(ground.points[0]):
        depth = wp.dot(_arms(ground, world, i), plane) - ground.position[world, i][2]
        if depth > ZERO:
            sum += HALF * ground.stiffness * depth * depth
    return sum


@wp.func
def _find_forces(ground: Ground, world: int):
    """Spreads the weight over the ends of the links: Newton's method on the plane."""
    b, k = world % ground.length.shape[0], ground.stiffness
    weight, points = ground.mass[b] * ground.gravity[b], ground.points[0]
    plane = ground.plane[world] + vec3()
    if not ground.began[world]:
        lowest = ground.position[world, 0][2]
        for i in range(points):
            lowest = wp.min(lowest, ground.position[world, i][2])
        plane = vec3(lowest + weight / (k * number(points)), ZERO, ZERO)
        ground.began[world] = True
    now, left = _cost(ground, world, weight, plane), wp.int32(FORCE_ITERATIONS)
    while left > 0:
        left -= 1
        gradient = vec3(-weight, ZERO, ZERO)
        curvature = (k * PLANE_DAMPING) * wp.identity(n=3, dtype=number)
        for i in range(points):
            arm = _arms(ground, world, i)
            depth = wp.dot(arm, plane) - ground.position[world, i][2]
            if depth > ZERO:
                gradient += k * depth * arm
                curvature += k * wp.outer(arm, arm)
        if wp.length(gradient) < FORCE_TOLERANCE * weight:
            left = 0
        else:
            step = -(wp.inverse(curvature) * gradient)
            fraction, then = number(1.0), _cost(ground, world, weight, plane + step)
            while then > now and fraction > number(1e-3):
                fraction *= HALF
                then = _cost(ground, world, weight, plane + fraction * step)
            if then <= now:
                plane += fraction * step
                now = then
            else:
                left = 0
    for i in range(points):
        depth = wp.dot(_arms(ground, world, i), plane) - ground.position[world, i][2]
        ground.force[world, i] = k * wp.max(ZERO, depth)
    ground.plane[world] = plane


@wp.func
def _find_velocity(ground: Ground, world: int, time: number):
    """Minimizes by weights that are renewed: |D v| is |D v|^2 over its last size."""
    b = world % ground.length.shape[0]
    along, across, mass = ground.friction_along[b], ground.friction_across[b], ground.mass[b]
    least = across * ground.slip_speed
    v = ground.velocity[world] + vec2()
    left = wp.int32(VELOCITY_ITERATIONS)
    while left > 0:
        left -= 1
        A = (mass / time) * wp.identity(n=2, dtype=number)
        y = (mass / time) * (ground.center[world] - _level(ground.center_velocity[world]))
        for i in range(ground.points[0]):
            force, ahead = ground.force[world, i], ground.along[world, i]
            if force != ZERO:
                aside, own = vec2(-ahead[1], ahead[0]), _level(ground.speed[world, i])
                slip = own + v
                part_along, part_across = along * wp.dot(ahead, slip), across * wp.dot(aside, slip)
                weight = force / wp.sqrt(part_along * part_along + part_across * part_across + least * least)
                A += weight * along * along * wp.outer(ahead, ahead)
                A += weight * across * across * wp.outer(aside, aside)
                y -= weight * along * along * wp.dot(ahead, own) * ahead
                y -= weight * across * across * wp.dot(aside, own) * aside
        v = wp.inverse(A) * y
    return v


@wp.func
def step_odometry(ground: Ground, world: int, R_head: mat33, rate_head: vec3, time: number):
    """GroundOdometry::step: velocity of the head, its height, and the speed of the links."""
    _place(ground, world, R_head, rate_head)
    _find_forces(ground, world)
    v = _find_velocity(ground, world, time)
    ground.velocity[world] = v
    ground.center[world] = v + _level(ground.center_velocity[world])
    sum, depth, force = number(0.0), number(0.0), number(0.0)
    points = ground.points[0]
    for i in range(points):
        sum += wp.length_sq(_level(ground.speed[world, i]) + v)
        depth += ground.force[world, i] * ground.force[world, i] / ground.stiffness
        force += ground.force[world, i]
    plane, center = ground.plane[world], ground.center_of_mass[world]
    height = ground.radius[world % ground.length.shape[0]] - (plane[0] - plane[1] * center[0] - plane[2] * center[1])
    if force > ZERO:
        height += depth / force  # the mean depth is softness
    return v, height, wp.sqrt(sum / number(points))
