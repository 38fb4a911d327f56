"""What the controllers of arms have in common on a device: the measurement, the tip integral and the servo law.

The steps of controllers/arm/arm_mechanics.cpp and tip_integral.cpp, one thread for each world, in float64 whatever the
engine's numbers are. Source: docs/theory/control.md, "Servo law" and "Tip integral".
"""

from __future__ import annotations

import pickle
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import warp as wp

import tendril as td
from tendril.worlds import kinematics
from tendril.worlds.controller import Engine, engine_of
from tendril.worlds.tables import BoundRobot, Table

LENGTH_SCALE = 0.05  # m: a length change of this size counts as 1 rad
DIRECTION_ARM = 0.05  # m: a direction error of 1 rad counts as this distance
STABILITY_FRACTION = 0.5  # of the damping of the fundamental mode
ERROR_LIMIT = 0.03  # m, of the integral
RATE_LIMIT = 3.0  # rad/s, likewise
FRACTION_OF_LIMIT = 0.98  # of a servo's force
SMOOTH_PEAK_RATE = 1.875  # of a smooth step

_ALLOWED: Mapping[str, Sequence[str]] = {"measurement_faults": ("",)}
_CONTROLLER = re.compile(r"^\[controller\].*?(?=^\[+[\w.]+\]+\s*(?:#.*)?$|\Z)", re.M | re.S)  # of a robot file
_SERVO = {  # field of Arm: key of the table
    "gain": "gain",
    "servo_stiffness": "stiffness",
    "damping": "damping",
    "lag": "lag",
    "servo_offset": "offset",
    "min_force": "min_force",
    "max_force": "max_force",
}

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
    integral_gain: number  # 1/s
    integral_damping: number  # m
    integral_limit: number  # rad
    delay: int  # of the tip's measurement, steps
    stability: number  # of the fundamental mode: 2 zeta omega, 1/s
    compensates_deflection: bool


@wp.struct
class Arm:
    """An arm as bound to the model; what `[vary]` may change has `rows` rows, 1 or one for each world."""

    rows: int
    base_body: int
    tip_site: int
    coordinates: int
    first_joint: wp.array(dtype=int)  # of each coordinate, and their number
    joint: wp.array(dtype=int)  # of the model
    fraction: numbers  # of its coordinate
    mass: rows  # of all bodies that it moves, kg
    joint_servo: wp.array(dtype=int)
    sign: numbers  # of each coordinate
    offset: numbers
    servo: wp.array(dtype=int)  # of the whole section, or -1
    is_slide: wp.array(dtype=int)
    stiffness: rows
    scale: numbers  # 1, or LENGTH_SCALE
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
    timestep: number
    settings: wp.array(dtype=ArmSettings)


@wp.struct
class Step:
    """The measurement and the command of one step, a row for each world; base frame."""

    sum: rows  # of each coordinate's joints
    speed: rows
    load: rows
    joint_load: rows
    jacobian: tables  # of the tip: (worlds, 6, coordinates)
    deflection: wp.array(dtype=vec3)  # of the tip, by an uneven load within the sections
    uneven: wp.array2d(dtype=vec3)  # the same of each coordinate's section
    tip: wp.array(dtype=vec3)
    tip_frame: wp.array(dtype=mat33)
    feed: numbers  # m
    feed_speed: numbers
    feed_load: numbers  # N
    command: rows  # coordinates
    q_rate: rows
    feed_command: numbers
    feed_rate: numbers
    change: rows  # of a damped step
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

    deflection = vec3(zero, zero, zero)
    for k in range(arm.coordinates):
        sum, speed, load = number(0.0), number(0.0), number(0.0)
        move, turn, loaded = vec3(zero, zero, zero), vec3(zero, zero, zero), vec3(zero, zero, zero)
        own_move, own_loaded = vec3(zero, zero, zero), vec3(zero, zero, zero)  # of the section's end
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
        out.uneven[world, k] = vec3(zero, zero, zero)
        if arm.servo[k] >= 0 and arm.stiffness[b, k] > zero:
            deflection += (loaded - load * move) / arm.stiffness[b, k]
            out.uneven[world, k] = to_base * ((own_loaded - load * own_move) / arm.stiffness[b, k])
    out.deflection[world] = to_base * deflection
    if arm.feed_joint >= 0:
        out.feed[world] = number(engine.qpos[world, engine.qpos_address[arm.feed_joint]])
        out.feed_speed[world] = number(engine.qvel[world, engine.dof_address[arm.feed_joint]])
        out.feed_load[world] = arm.feed_mass[b] * wp.dot(wide(engine.xaxis[world, arm.feed_joint]), gravity)


@wp.func
def cholesky_solve(A: rows, y: numbers, n: int):
    """y = A^-1 y of n rows of a positive definite A, whose lower half is overwritten."""
    for r in range(n):
        for c in range(r + 1):
            value = A[r, c]
            for j in range(c):
                value -= A[r, j] * A[c, j]
            if r == c:
                A[r, r] = wp.sqrt(value)
            else:
                A[r, c] = value / A[c, c]
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
def damped_step(arm: Arm, world: int, damping: number, e: vec6, equations: int, step: Step):
    """step.change = J^T (J J^T + lambda^2 I)^-1 e over the first equations, in scaled coordinates."""
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
    h, settings = arm.timestep, arm.settings[world % arm.rows]
    known, angle = position + vec3(), turn + vec3()
    if settings.delay > 0:
        i = integral.oldest[world]
        late = integral.late[world, i] + vec6()
        integral.late[world, i] = vec6(position[0], position[1], position[2], turn[0], turn[1], turn[2])
        integral.oldest[world] = (i + 1) % settings.delay
        known = vec3(late[0], late[1], late[2])
        angle = vec3(late[3], late[4], late[5])
    if frozen or settings.integral_gain <= number(0.0):
        return known
    one, tiny, limit = number(1.0), number(1e-30), number(ERROR_LIMIT)
    p = known * wp.min(one, limit / wp.max(wp.length(known), tiny))
    a = angle * wp.min(one, limit / wp.max(wp.length(angle), tiny))
    e = vec6(p[0], p[1], p[2], a[0], a[1], a[2])
    damped_step(arm, world, settings.integral_damping, e, equations, step)
    factor = integral_gain(settings) * h
    longest = number(0.0)
    for k in range(arm.coordinates):
        longest = wp.max(longest, wp.abs(factor * step.change[world, k]) / arm.scale[k])
    factor *= wp.min(one, number(RATE_LIMIT) * h / wp.max(longest, tiny))
    for k in range(arm.coordinates):
        bound = settings.integral_limit * arm.scale[k]
        correction = integral.correction[world, k] + factor * step.change[world, k]
        integral.correction[world, k] = wp.clamp(correction, -bound, bound)
    return known


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
    passive = -arm.servo_stiffness[b, s] * step.feed[world] - arm.damping[b, s] * step.feed_speed[world]
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


@wp.kernel(module="unique", enable_backward=False)
def write_setpoints(arm: Arm, engine: Engine, step: Step, ctrl: wp.array2d(dtype=float)):
    """ArmMechanics::setpoints."""
    world = wp.tid()
    b = world % arm.rows
    feed_forward = arm.settings[b].feed_forward
    for k in range(arm.coordinates):
        desired, rate = step.command[world, k] - arm.offset[k], feed_forward * step.q_rate[world, k]
        s = arm.servo[k]
        if s >= 0:
            ctrl[world, arm.control[s]] = float(
                _setpoint(
                    arm,
                    b,
                    s,
                    arm.sign[k] * (desired + arm.lag[b, s] * rate),
                    step.load[world, k],
                    step.sum[world, k],
                    step.speed[world, k],
                )
            )
        else:
            for i in range(arm.first_joint[k], arm.first_joint[k + 1]):
                s = arm.joint_servo[i]
                joint = arm.joint[i]
                ctrl[world, arm.control[s]] = float(
                    _setpoint(
                        arm,
                        b,
                        s,
                        arm.sign[k] * arm.fraction[i] * (desired + arm.lag[b, s] * rate),
                        step.joint_load[world, i],
                        number(engine.qpos[world, engine.qpos_address[joint]]),
                        number(engine.qvel[world, engine.dof_address[joint]]),
                    )
                )
    if arm.feed_joint >= 0:
        ctrl[world, arm.control[arm.feed_servo]] = float(feed_setpoint(arm, world, step))


class BoundArm(BoundRobot):
    """One arm in all worlds: its tables on the device, and the memory of a step."""

    def __init__(
        self, tables: Sequence[Table], model: Any, count: int, device: Any, allowed: Mapping[str, Sequence[str]] = {}
    ) -> None:
        """
        :param tables: of the arm, from `tendril._sim.controlled_robots`: one, or one for each world
        :param allowed: values of settings that its controller knows
        :raises ModelError: what its controller, or none of arms, does on a device
        """
        super().__init__(tables, count, device)
        table = tables[0]
        self.require({**_ALLOWED, **allowed})
        if table["parts"]:
            raise td.ModelError(f"{self.name}: has {', '.join(table['parts'])}: not supported in worlds")
        if not all(servo["works"] for one in tables for servo in one["servos"]):
            raise td.ModelError(
                f"{self.name}: has a servo without a gain or a range of forces: not supported in worlds"
            )
        robots = _robots_of(tables)
        self.robot = robots[0]
        if any(pickle.dumps(other) != pickle.dumps(self.robot) for other in robots):
            raise td.ModelError(f"{self.name}: lengths differ between the worlds: must be the same")
        self.arm = self._bind(model)
        self.step = self._step()
        self.integral = self._integral(model.opt.timestep)

    def measure(self, model: Any, data: Any) -> None:
        """Measures, from the positions of this step."""
        self.engine = engine_of(model, data)
        self.launch(measure, [self.arm, self.engine, self.step])

    def write_setpoints(self, data: Any) -> None:
        """Writes `ctrl` from the command of the step."""
        self.launch(write_setpoints, [self.arm, self.engine, self.step, data.ctrl])

    def _bind(self, model: Any) -> Any:
        tables, table = self.tables, self.tables[0]
        coordinates, servos = table["coordinates"], table["servos"]
        joints = [joint for row in coordinates for joint in row["joints"]]
        arm = Arm()
        arm.rows, arm.coordinates = len(tables), len(coordinates)
        arm.base_body, arm.tip_site = table["base_body"], table["tip_site"]
        arm.first_joint = self.integers(np.cumsum([0, *(len(row["joints"]) for row in coordinates)]))
        arm.joint, arm.joint_servo = self.integers([j[0] for j in joints]), self.integers([j[3] for j in joints])
        arm.fraction = self.numbers([j[1] for j in joints])
        arm.mass = self.numbers([[j[2] for row in one["coordinates"] for j in row["joints"]] for one in tables])
        arm.sign = self.numbers([row["sign"] for row in coordinates])
        arm.offset = self.numbers([row["offset"] for row in coordinates])
        arm.stiffness = self.numbers([[row["stiffness"] for row in one["coordinates"]] for one in tables])
        arm.servo = self.integers([row["servo"] for row in coordinates])
        arm.is_slide = self.integers([row["is_slide"] for row in coordinates])
        arm.scale = self.numbers([LENGTH_SCALE if row["is_slide"] else 1.0 for row in coordinates])
        arm.control = self.integers([model.actuator_ctrladr[servo["actuator"]] for servo in servos])
        for field, key in _SERVO.items():
            setattr(arm, field, self.numbers([[servo[key] for servo in one["servos"]] for one in tables]))
        none = {"joint": -1, "servo": -1, "mass": 0.0}
        arm.feed_joint, arm.feed_servo = (table.get("feed", none)[key] for key in ("joint", "servo"))
        arm.feed_mass = self.numbers([one.get("feed", none)["mass"] for one in tables])
        arm.timestep = model.opt.timestep
        arm.settings = wp.array(
            [_settings_of(one, arm.timestep) for one in tables], dtype=ArmSettings, device=self.device
        )
        return arm

    def _integral(self, timestep: float) -> Any:
        integral = Integral()
        integral.correction, integral.oldest = self.zeros(self.arm.coordinates), self.zeros(kind=int)
        integral.late = self.zeros(max(_delay_of(one, timestep) for one in self.tables), kind=vec6)
        return integral

    def _step(self) -> Any:
        n, joints = self.arm.coordinates, self.arm.joint.shape[0]
        step = Step()
        for key in ("sum", "speed", "load", "q_rate", "command", "change"):
            setattr(step, key, self.zeros(n))
        step.joint_load, step.jacobian = self.zeros(joints), self.zeros(6, n)
        step.normal, step.solved = self.zeros(6, 6), self.zeros(6)
        step.uneven = self.zeros(n, kind=vec3)
        step.deflection, step.tip, step.tip_frame = (self.zeros(kind=kind) for kind in (vec3, vec3, mat33))
        for key in ("feed", "feed_speed", "feed_load", "feed_command", "feed_rate"):
            setattr(step, key, self.zeros())
        return step


def _delay_of(table: Table, timestep: float) -> int:
    return int(float(table["settings"]["sensor_delay"]) / timestep + 0.5)


def _settings_of(table: Table, timestep: float) -> Any:
    texts, settings = table["settings"], ArmSettings()
    settings.delay = _delay_of(table, timestep)
    settings.gravity = vec3(*table["gravity"])
    settings.feed_forward = float(table["velocity_feed_forward"])
    settings.stability = min(table["fundamental_mode_damping"], 1e30)
    for key in ("rate_limit", "integral_gain", "integral_damping", "integral_limit"):
        setattr(settings, key, float(texts[key]))
    settings.feed_speed = float(texts.get("feed_speed", "inf"))
    settings.compensates_deflection = texts["deflection_compensation"] == "true"
    return settings


def _robots_of(tables: Sequence[Table]) -> list[td.ContinuumRobot]:
    """The kinematics of the arms."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "robot.toml"

        def robot_of(table: Table) -> td.ContinuumRobot:
            file.write_text(_CONTROLLER.sub("", table["settings"]["robot"]))
            return td.load_robot(file, td.ContinuumRobot)

        return [robot_of(table) for table in tables]
