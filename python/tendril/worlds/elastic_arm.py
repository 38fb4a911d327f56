"""An arm of springs and masses, and what its sensors read, one thread for each world.

The equations of tendril/estimation/elastic_arm.cpp and sensors.cpp, for arms without a guide and without disturbances.
Source: docs/theory/estimation.md, "The body" and "Sensors".
"""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from tendril.worlds.arm import cholesky_factor, functions, mat33, number, numbers, rows, skew, tables, vec3
from tendril.worlds.kinematics import chain_of
from tendril.worlds.measurement_faults import rotation_by, rotation_vector
from tendril.worlds.tables import BoundRobot, Table

DIFFERENCE = number(1e-6)  # of a coordinate, in units of its scale
ZERO, HALF, ONE, TWO, THREE = (number(value) for value in (0.0, 0.5, 1.0, 2.0, 3.0))
#: in the order of SensorKind
COORDINATES, TENDON_LENGTH, POSITION, DIRECTION, ROTATION, CURVATURE, BASE_FORCE, BASE_MOMENT = (
    wp.constant(i) for i in range(8)
)
_SPRING = ("stiffness", "damping", "rest")
_UNEVEN = ("compliance", "mean", "variance", "own", "beyond")


@wp.struct
class Places:
    """Points of the backbone: those of the masses, the middles of the sections, the tip, those of the sensors."""

    section: wp.array(dtype=int)
    part: wp.array(dtype=int)  # in `parts`
    fraction: numbers  # of the section's arc
    bend: numbers  # of the section, up to the point
    bend_ratio: numbers  # w / W of the arc that it is on
    parts: functions.Chain  # from the start of each section to each of the fractions
    middles: int  # first of them
    tip: int


@wp.struct
class Body:
    """Of one arm; of what `[vary]` may change one row for each world, or one of all."""

    rows: int
    n: int  # coordinates
    tendons: int
    masses: int  # places, the first ones
    mass: rows
    stiffness: rows  # of each coordinate
    damping: rows
    rest: rows
    scale: numbers
    compliance: rows  # of each section: ElasticArm::UnevenBend
    mean: rows
    variance: rows
    own: rows
    beyond: rows
    lengths: rows  # of tendons at q = 0, m
    lengths_by_q: tables
    held_stiffness: rows
    held_damping: rows
    tendon_compliance: rows
    places: Places


@wp.struct
class Balance:
    """Inputs, and the balance of the coordinates, a row for each world: ElasticArm::Balance; and its scratch."""

    gravity: wp.array(dtype=vec3)  # base frame
    feed: numbers
    spin: numbers
    tension: rows
    input_moment: rows
    moment: rows
    mass: tables  # n x n
    by_q: tables
    by_force: tables  # n x 3
    by_friction: tables  # n x tendons
    factor: tables  # of the step
    q: rows
    load: rows
    shifted_load: rows
    rotations: wp.array2d(dtype=mat33)
    ends: wp.array2d(dtype=vec3)
    jacobian: tables  # 6 x n
    other_jacobian: tables
    by_place: tables  # 3 x n


@wp.func
def _column(R: mat33, k: int):
    return vec3(R[0, k], R[1, k], R[2, k])


@wp.func
def _of_jacobian(jacobian: rows, first: int, k: int):
    return vec3(jacobian[first, k], jacobian[first + 1, k], jacobian[first + 2, k])


@wp.func
def _bent(q: vec3, bend: number):
    return vec3(bend * q[0], bend * q[1], q[2])


@wp.func
def set_frames(chain: functions.Chain, q: numbers, balance: Balance, world: int):
    functions.end_frames(
        chain, q, balance.feed[world], balance.spin[world], balance.rotations[world], balance.ends[world]
    )


@wp.func
def place_pose(
    chain: functions.Chain, places: Places, p: int, q: numbers, balance: Balance, world: int, jacobian: rows
):
    """Position and frame of a place, and the derivatives of position and direction: after `set_frames`."""
    rotations, ends = balance.rotations[world], balance.ends[world]
    i, part, bend = places.section[p], places.part[p], places.bend[p]
    own = functions.coordinates(chain, q, i)
    turned, unused_end = functions.section_pose(chain, i, _bent(own, bend))
    unused_rotation, end = functions.section_pose(places.parts, part, own)
    R = rotations[i] * turned
    position = ends[i] + rotations[i] * end
    direction = _column(R, 2)
    for j in range(chain.sections):
        k = chain.first_coordinate[j]
        if j > i:
            for c in range(k, chain.first_coordinate[j + 1]):
                for r in range(6):
                    jacobian[r, c] = ZERO
            continue
        base = rotations[j]
        w_u, w_v, p_u, p_v, p_s = functions.section_rates(chain, j, functions.coordinates(chain, q, j))
        arm = position - ends[j + 1]
        if j == i:
            w_u, w_v, p_u, p_v, p_s = functions.section_rates(chain, i, _bent(own, bend))
            w_u = bend * w_u
            w_v = bend * w_v
            unused_u, unused_v, p_u, p_v, p_s = functions.section_rates(places.parts, part, own)
            arm = vec3(ZERO, ZERO, ZERO)
        turn_u, turn_v = base * w_u, base * w_v
        functions.set_column(jacobian, k, base * p_u + wp.cross(turn_u, arm), wp.cross(turn_u, direction))
        functions.set_column(jacobian, k + 1, base * p_v + wp.cross(turn_v, arm), wp.cross(turn_v, direction))
        if chain.first_coordinate[j + 1] > k + 2:
            functions.set_column(jacobian, k + 2, base * p_s, vec3(ZERO, ZERO, ZERO))
    return position, R


@wp.func
def _rotation_jacobian(
    chain: functions.Chain, places: Places, p: int, q: numbers, balance: Balance, world: int, jacobian: rows
):
    """Angular velocity of a place for unit rates of q: after `set_frames`."""
    i, bend = places.section[p], places.bend[p]
    for k in range(jacobian.shape[1]):
        for r in range(3):
            jacobian[r, k] = ZERO
    for j in range(i + 1):
        part = wp.where(j == i, bend, ONE)
        first, base = chain.first_coordinate[j], balance.rotations[world][j]
        w_u, w_v, p_u, p_v, p_s = functions.section_rates(chain, j, _bent(functions.coordinates(chain, q, j), part))
        turn_u, turn_v = base * (part * w_u), base * (part * w_v)
        for r in range(3):
            jacobian[r, first] = turn_u[r]
            jacobian[r, first + 1] = turn_v[r]


@wp.func
def _shear_force(body: Body, b: int, i: int, gravity: vec3, force: vec3):
    """The mean one of a section."""
    return (body.beyond[b, i] + HALF * body.own[b, i]) * gravity + force


@wp.func
def force_of(body: Body, x: numbers):
    return vec3(x[2 * body.n], x[2 * body.n + 1], x[2 * body.n + 2])


@wp.func
def position_of(chain: functions.Chain, body: Body, p: int, x: numbers, balance: Balance, world: int, by_q: rows):
    """ElasticArm::position and its derivative by the force at the tip: after `set_frames`."""
    places, b = body.places, world % body.rows
    gravity, force = balance.gravity[world], force_of(body, x)
    position, R = place_pose(chain, places, p, x, balance, world, balance.jacobian[world])
    for k in range(body.n):
        for r in range(3):
            by_q[r, k] = balance.jacobian[world, r, k]
    by_force = mat33()
    last = places.section[p]
    for i in range(last + 1):
        c = wp.where(i < last, ONE, places.fraction[p])
        length = chain.length[i] + functions.coordinates(chain, x, i)[2]
        compliance = body.variance[b, i] * body.compliance[b, i] * length * length * c * c * (THREE - TWO * c)
        F = _shear_force(body, b, i, gravity, force)
        other = balance.other_jacobian[world]
        unused_position, R_middle = place_pose(chain, places, places.middles + i, x, balance, world, other)
        t = _column(R_middle, 2)
        across = F - wp.dot(t, F) * t
        position += compliance * across
        by_force += compliance * (wp.identity(n=3, dtype=number) - wp.outer(t, t))
        for k in range(body.n):
            turned = _of_jacobian(other, 3, k)
            change = compliance * (wp.dot(t, F) * turned + wp.dot(F, turned) * t)
            for r in range(3):
                by_q[r, k] = by_q[r, k] - change[r]
        first = chain.first_coordinate[i]
        if chain.first_coordinate[i + 1] > first + 2:
            for r in range(3):
                by_q[r, first + 2] = by_q[r, first + 2] + TWO * compliance / length * across[r]
    return position, by_force


@wp.func
def _curvature_of(chain: functions.Chain, body: Body, p: int, x: numbers, balance: Balance, world: int, by_q: rows):
    """ElasticArm::curvature: after `set_frames`; the last component is 0."""
    places, b, i = body.places, world % body.rows, body.places.section[p]
    unused, R = place_pose(chain, places, p, x, balance, world, balance.jacobian[world])
    to_place = wp.transpose(R)
    ratio = places.bend_ratio[p]
    compliance = ratio * body.compliance[b, i] * (body.mean[b, i] - places.fraction[p])
    F = _shear_force(body, b, i, balance.gravity[world], force_of(body, x))
    _rotation_jacobian(chain, places, p, x, balance, world, by_q)
    for k in range(body.n):
        turned = compliance * (to_place * wp.cross(F, _of_jacobian(by_q, 0, k)))
        for r in range(3):
            by_q[r, k] = turned[r]
    first = chain.first_coordinate[i]
    length = chain.length[i] + functions.coordinates(chain, x, i)[2]
    even = ratio / length * vec3(x[first], x[first + 1], ZERO)
    by_q[0, first] = by_q[0, first] + ratio / length
    by_q[1, first + 1] = by_q[1, first + 1] + ratio / length
    if chain.first_coordinate[i + 1] > first + 2:
        for r in range(2):
            by_q[r, first + 2] = by_q[r, first + 2] - even[r] / length
    return even + compliance * (to_place * F), compliance * to_place


@wp.func
def tendon_length(body: Body, b: int, t: int, q: numbers):
    """Change from the straight arm with variable lengths at half their range, m."""
    length = body.lengths[b, t] + ZERO
    for k in range(body.n):
        length += body.lengths_by_q[b, t, k] * q[k]
    return length


@wp.func
def _load(
    chain: functions.Chain, body: Body, q: numbers, force: vec3, balance: Balance, world: int, load: numbers, full: bool
):
    """Moments of gravity and of the force at the tip; where `full`, also the matrix of the masses and J^T."""
    b, gravity, jacobian = world % body.rows, balance.gravity[world], balance.jacobian[world]
    set_frames(chain, q, balance, world)
    for k in range(body.n):
        load[k] = ZERO
    for j in range(body.masses):
        unused_position, unused_R = place_pose(chain, body.places, j, q, balance, world, jacobian)
        mass = body.mass[b, j]
        for k in range(body.n):
            of_k = mass * _of_jacobian(jacobian, 0, k)
            load[k] = load[k] + wp.dot(of_k, gravity)
            if full:
                for c in range(body.n):
                    balance.mass[world, k, c] = balance.mass[world, k, c] + wp.dot(of_k, _of_jacobian(jacobian, 0, c))
    unused_position, unused_R = place_pose(chain, body.places, body.places.tip, q, balance, world, jacobian)
    for k in range(body.n):
        of_k = _of_jacobian(jacobian, 0, k)
        load[k] = load[k] + wp.dot(of_k, force)
        if full:
            for r in range(3):
                balance.by_force[world, k, r] = of_k[r]


@wp.func
def linearize(chain: functions.Chain, body: Body, x: numbers, balance: Balance, world: int):
    """ElasticArm::linearize."""
    b, n, q = world % body.rows, body.n, balance.q[world]
    force = force_of(body, x)
    for k in range(n):
        q[k] = x[k]
        for c in range(n):
            balance.mass[world, k, c] = ZERO
    _load(chain, body, q, force, balance, world, balance.load[world], True)
    for t in range(body.tendons):
        tension = balance.tension[world, t] + body.held_stiffness[b, t] * tendon_length(body, b, t, q)
        for k in range(n):
            balance.by_friction[world, k, t] = -body.lengths_by_q[b, t, k] * tension
    for k in range(n):
        moment = balance.input_moment[world, k] + balance.load[world, k]
        moment -= body.stiffness[b, k] * (q[k] - body.rest[b, k])
        for t in range(body.tendons):
            moment += balance.by_friction[world, k, t] * (ONE + x[2 * n + 3 + t])
        balance.moment[world, k] = moment
        for c in range(n):
            balance.by_q[world, c, k] = ZERO
    for k in range(n):
        if body.scale[k] > ZERO:
            step, at = DIFFERENCE * body.scale[k], q[k] + ZERO
            q[k] = at + step
            _load(chain, body, q, force, balance, world, balance.shifted_load[world], False)
            q[k] = at
            for c in range(n):
                balance.by_q[world, c, k] = (balance.shifted_load[world, c] - balance.load[world, c]) / step
    for k in range(n):
        balance.by_q[world, k, k] = balance.by_q[world, k, k] - body.stiffness[b, k]
    for t in range(body.tendons):
        held = body.held_stiffness[b, t] * (ONE + x[2 * n + 3 + t])
        if held != ZERO:
            for k in range(n):
                for c in range(n):
                    change = held * body.lengths_by_q[b, t, k] * body.lengths_by_q[b, t, c]
                    balance.by_q[world, k, c] = balance.by_q[world, k, c] - change
    for k in range(n):
        if body.scale[k] == ZERO:  # its section bends across it
            balance.moment[world, k] = -body.stiffness[b, k] * q[k]
            for c in range(n):
                balance.mass[world, k, c] = ZERO
                balance.mass[world, c, k] = ZERO
                balance.by_q[world, k, c] = ZERO
            balance.by_q[world, k, k] = -body.stiffness[b, k]
            for r in range(3):
                balance.by_force[world, k, r] = ZERO
            for t in range(body.tendons):
                balance.by_friction[world, k, t] = ZERO


@wp.func
def factor_step(body: Body, h: number, balance: Balance, world: int):
    """ElasticArm::step_factor, into `balance.factor`."""
    b, n, A = world % body.rows, body.n, balance.factor[world]
    for k in range(n):
        for c in range(n):
            held = ZERO + number(0.0)
            if body.scale[k] > ZERO and body.scale[c] > ZERO:
                for t in range(body.tendons):
                    of_t = h * body.held_damping[b, t] + h * h * body.held_stiffness[b, t]
                    held += of_t * body.lengths_by_q[b, t, k] * body.lengths_by_q[b, t, c]
            A[k, c] = balance.mass[world, k, c] + held
        A[k, k] = A[k, k] + h * body.damping[b, k] + h * h * body.stiffness[b, k]
    cholesky_factor(A, n)


@wp.struct
class Sensors:
    """Of the estimator: ArmSensors."""

    kind: wp.array(dtype=int)
    place: wp.array(dtype=int)
    first: wp.array(dtype=int)  # of its values among all, and their number
    equations: wp.array(dtype=int)
    delay: wp.array(dtype=int)  # steps
    deviation: rows
    # Scratch, a row for each world.
    expected: rows
    by_x: tables
    residual: rows


@wp.func
def _set_by_x(by_x: rows, count: int, n: int, by_q: rows, by_force: mat33):
    for r in range(count):
        for k in range(n):
            by_x[r, k] = by_q[r, k]
        for c in range(3):
            by_x[r, 2 * n + c] = by_force[r, c]


@wp.func
def _expect_wrench(
    chain: functions.Chain, body: Body, x: numbers, balance: Balance, world: int, is_moment: bool, by_x: rows
):
    """ArmSensors::expect_wrench."""
    b, n, by_q, gravity = world % body.rows, body.n, balance.by_place[world], balance.gravity[world]
    sum = vec3(ZERO, ZERO, ZERO)
    by_own = wp.identity(n=3, dtype=number)
    for j in range(body.masses + 1):
        p, force = body.places.tip + 0, force_of(body, x)
        if j < body.masses:
            p = j + 0
            force = body.mass[b, j] * gravity
        if not is_moment:
            sum += force
        else:
            position, by_force = position_of(chain, body, p, x, balance, world, by_q)
            sum += wp.cross(position, force)
            across = skew(force)
            by_f = across * by_force
            for r in range(3):
                for k in range(n):
                    change = ZERO + number(0.0)
                    for c in range(3):
                        change += across[r, c] * by_q[c, k]
                    by_x[r, k] = by_x[r, k] - change
                for c in range(3):
                    by_x[r, 2 * n + c] = by_x[r, 2 * n + c] - by_f[r, c]
            by_own = skew(position)
    for r in range(3):
        for c in range(3):
            by_x[r, 2 * n + c] = by_x[r, 2 * n + c] + by_own[r, c]
    return sum


@wp.func
def find_residual(
    chain: functions.Chain,
    body: Body,
    sensors: Sensors,
    s: int,
    x: numbers,
    balance: Balance,
    values: numbers,
    world: int,
):
    """ArmSensors::residual of the values of sensor s, into `sensors.residual` and `sensors.by_x`."""
    b, n, first, size = world % body.rows, body.n, sensors.first[s], sensors.first[s + 1] - sensors.first[s]
    by_x, by_q, expected = sensors.by_x[world], balance.by_place[world], sensors.expected[world]
    kind, p, places = sensors.kind[s], sensors.place[s], body.places
    for r in range(by_x.shape[0]):
        for k in range(by_x.shape[1]):
            by_x[r, k] = ZERO
    set_frames(chain, x, balance, world)
    if kind == COORDINATES:
        for k in range(n):
            expected[k] = x[k]
            by_x[k, k] = ONE
    elif kind == TENDON_LENGTH:
        for t in range(body.tendons):
            stretch = body.tendon_compliance[b, t] * balance.tension[world, t]
            expected[t] = tendon_length(body, b, t, x) - stretch * (ONE + x[2 * n + 3 + t])
            for k in range(n):
                by_x[t, k] = body.lengths_by_q[b, t, k]
            by_x[t, 2 * n + 3 + t] = -stretch
    elif kind == DIRECTION or kind == ROTATION:
        unused, R = place_pose(chain, places, p, x, balance, world, balance.jacobian[world])
        read = vec3(values[first], values[first + 1], values[first + 2])
        if kind == DIRECTION:
            for r in range(2):
                sensors.residual[world, r] = wp.dot(_column(R, r), read)
                for k in range(n):
                    by_x[r, k] = wp.dot(_column(R, r), _of_jacobian(balance.jacobian[world], 3, k))
        else:
            apart = rotation_vector(rotation_by(read) * wp.transpose(R))
            _rotation_jacobian(chain, places, p, x, balance, world, by_q)
            for r in range(3):
                sensors.residual[world, r] = apart[r]
                for k in range(n):
                    by_x[r, k] = by_q[r, k]
    else:
        number_of = vec3(ZERO, ZERO, ZERO)
        if kind == POSITION:
            place, by_force = position_of(chain, body, p, x, balance, world, by_q)
            number_of = place
            _set_by_x(by_x, 3, n, by_q, by_force)
        elif kind == CURVATURE:
            curvature, by_force = _curvature_of(chain, body, p, x, balance, world, by_q)
            number_of = curvature
            _set_by_x(by_x, 2, n, by_q, by_force)
        else:
            number_of = _expect_wrench(chain, body, x, balance, world, kind == BASE_MOMENT, by_x)
        for r in range(size):
            expected[r] = number_of[r]
    if kind != DIRECTION and kind != ROTATION:
        for r in range(size):
            sensors.residual[world, r] = values[first + r] - expected[r]


def chain_with_parts(bound: BoundRobot, robot: Any, places: list[tuple[int, float]]) -> tuple[Any, Any]:
    """The arm, and these places of it: section and fraction of each."""
    fractions = sorted({fraction for _, fraction in places})
    out = Places()
    out.parts = chain_of(robot, wp.float64, bound.device, fractions)
    out.section = bound.integers([section for section, _ in places])
    out.part = bound.integers([len(fractions) * section + fractions.index(at) for section, at in places])
    out.fraction = bound.numbers([at for _, at in places])
    bends, ratios = [], []
    for section, at in places:
        lengths, weights = (
            np.asarray(one or [1.0]) / sum(one or [1.0])
            for one in (robot.sections[section].length_weights, robot.sections[section].angle_weights)
        )
        ends = np.cumsum(lengths)
        bends.append(np.interp(at, [0.0, *ends], [0.0, *np.cumsum(weights)]))
        j = min(int(np.searchsorted(ends, at)), len(ends) - 1)
        ratios.append(weights[j] / lengths[j])
    out.bend, out.bend_ratio = bound.numbers(bends), bound.numbers(ratios)
    return chain_of(robot, wp.float64, bound.device), out


def body_for(bound: BoundRobot, robot: Any, sensed: list[Table], tendons: list[list[Table]]) -> tuple[Any, Any, Any]:
    """The chain of an arm, its body, and its sensors.

    :param sensed: what the estimators of its worlds work with
    :param tendons: tendons of the drive, of each world
    """
    first, sections = sensed[0], len(robot.sections)
    places = [(section, fraction) for section, fraction, _ in first["masses"]]
    middles = len(places)
    places += [(i, 0.5) for i in range(sections)]
    tip = len(places)
    places.append((sections - 1, 1.0))
    of_sensors = len(places)
    places += [(one["section"], one["fraction"]) for one in first["sensors"]]
    body = Body()
    chain, body.places = chain_with_parts(bound, robot, places)
    body.places.middles, body.places.tip = middles, tip
    body.rows, body.n, body.masses = len(sensed), len(first["springs"]), middles
    body.tendons = len(first["lengths"])
    body.mass = bound.numbers([[mass for _, _, mass in one["masses"]] for one in sensed])
    for key in _SPRING:
        setattr(body, key, bound.numbers([[spring[key] for spring in one["springs"]] for one in sensed]))
    body.scale = bound.numbers([spring["scale"] for spring in first["springs"]])
    for key in _UNEVEN:
        setattr(body, key, bound.numbers([[bend[key] for bend in one["uneven"]] for one in sensed]))
    body.lengths = bound.numbers([one["lengths"] for one in sensed])
    body.lengths_by_q = bound.numbers([one["lengths_by_q"] for one in sensed])
    body.tendon_compliance = bound.numbers([one["tendon_compliances"] for one in sensed])
    for key in ("stiffness", "damping"):
        of_all = [[t[key] if t["takes_length"] else 0.0 for t in tendons] for tendons in tendons]
        setattr(body, f"held_{key}", bound.numbers(of_all))
    sensors = Sensors()
    all_of = first["sensors"]
    sensors.kind = bound.integers([one["kind"] for one in all_of])
    sensors.place = bound.integers([of_sensors + i for i in range(len(all_of))])
    sensors.first = bound.integers(np.cumsum([0, *(one["size"] for one in all_of)]))
    sensors.equations = bound.integers([one["rows"] for one in all_of])
    sensors.delay = bound.integers([one["delay"] for one in all_of])
    sensors.deviation = bound.numbers([[one["deviation"] for one in each["sensors"]] for each in sensed])
    most = max(3, *(one["size"] for one in all_of))
    size = 2 * body.n + 3 + body.tendons
    sensors.expected, sensors.residual, sensors.by_x = bound.zeros(most), bound.zeros(most), bound.zeros(most, size)
    return chain, body, sensors


def balance_for(bound: BoundRobot, body: Any, sections: int) -> Any:
    """Room for the balance of each world."""
    n, t, balance = body.n, body.tendons, Balance()
    balance.gravity = bound.zeros(kind=vec3)
    balance.feed, balance.spin = bound.zeros(), bound.zeros()
    balance.tension = bound.zeros(t)
    for key in ("input_moment", "moment", "q", "load", "shifted_load"):
        setattr(balance, key, bound.zeros(n))
    for key in ("mass", "by_q", "factor"):
        setattr(balance, key, bound.zeros(n, n))
    balance.by_force, balance.by_friction = bound.zeros(n, 3), bound.zeros(n, t)
    balance.rotations = bound.zeros(sections + 1, kind=mat33)
    balance.ends = bound.zeros(sections + 1, kind=vec3)
    balance.jacobian, balance.other_jacobian = bound.zeros(6, n), bound.zeros(6, n)
    balance.by_place = bound.zeros(3, n)
    return balance
