"""What the controller of an arm sees by its sensors, one thread for each world.

The steps of controllers/arm/sensed_arm.cpp and plugin/drum_sensors.cpp. Source:
docs/theory/estimation.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

import tendril as td
from tendril.worlds.arm import Arm, Step, mat33, number, numbers, rows, tables, vec3, wide, wide_matrix
from tendril.worlds.arm_estimator import Estimator, estimated_tip, estimator_for, start_estimator, step_estimator
from tendril.worlds.controller import Engine, engine_of
from tendril.worlds.elastic_arm import ROTATION, ZERO, balance_for, body_for, tendon_length
from tendril.worlds.measurement_faults import rotation_by, rotation_vector
from tendril.worlds.seen_data import SeenData
from tendril.worlds.sensor_readings import Readings, SensorReadings
from tendril.worlds.tables import BoundRobot, Table
from tendril.worlds.tendons import Tendons, gain_at

vec10 = wp.types.vector(length=10, dtype=float)
SLACK = number(6.0)  # deviations of the tension: no noise makes a slack tendon taut


@wp.struct
class Uses:
    """Where the readings go: ArmObservations::Use."""

    value: wp.array(dtype=int)  # first of the estimator's, or -1
    is_rotation: wp.array(dtype=int)  # of an orientation: else its direction counts
    factor: numbers
    offset: numbers
    tension_of: wp.array(dtype=int)
    drum_of: wp.array(dtype=int)
    tension_deviation: rows  # of each tendon


@wp.struct
class Sensed:
    estimator: Estimator
    readings: Readings
    uses: Uses
    tendons: Tendons
    drums: tables  # of each tendon: pretension, stiffness and damping time of what is between it and its drum
    gravity: wp.array(dtype=vec3)  # world frame
    start: rows
    is_motor: wp.array(dtype=int)
    # Memory, a row for each world.
    began: wp.array(dtype=bool)
    commands: rows  # of the tendons in the last step
    moment: rows  # of servos and motors in the last step
    tension: rows  # measured last
    drum: rows  # read last
    # Scratch.
    read: rows  # values of the estimator's sensors,
    arrived: wp.array2d(dtype=int)  # and whether they have arrived
    input_tension: rows
    tip: wp.array(dtype=vec3)  # estimate, base frame
    tip_frame: wp.array(dtype=mat33)


@wp.func
def _tension(tendons: Tendons, b: int, t: int, command: number, length: number):
    """ArmTendon::tension at rest."""
    tension = gain_at(tendons, b, t, length) * command
    if tendons.takes_length[t]:
        tension = tendons.stiffness[b, t] * (length - command) + tendons.offset[b, t]
    return wp.clamp(tension, tendons.limit[b, t], tendons.max_tension[b, t])


@wp.func
def _held(tendons: Tendons, b: int, t: int):
    if tendons.takes_length[t]:
        return tendons.stiffness[b, t]
    return ZERO + number(0.0)


@wp.func
def _receive(s: Sensed, world: int, b: int):
    """SensedArm::read and read_drums: values of the estimator's sensors that have arrived."""
    readings, uses, tendons = s.readings, s.uses, s.tendons
    for i in range(s.arrived.shape[1]):
        s.arrived[world, i] = 0
    for i in range(readings.count):
        first, width, value = readings.first[i], readings.width[i], uses.value[i]
        head = readings.numbers[world, first]
        if uses.tension_of[i] >= 0 and wp.isfinite(head):
            s.tension[world, uses.tension_of[i]] = head
        if readings.has_arrived[world, i] == 0 or value < 0 or uses.drum_of[i] >= 0:
            continue
        if readings.is_orientation[i] != 0:
            R = rotation_by(vec3(head, readings.numbers[world, first + 1], readings.numbers[world, first + 2]))
            v = vec3(R[0, 2], R[1, 2], R[2, 2])
            if uses.is_rotation[i] != 0:
                v = rotation_vector(R)
            for c in range(3):
                s.read[world, value + c] = v[c]
                s.arrived[world, value + c] = wp.where(wp.isfinite(v[c]), 1, 0)
        else:
            for c in range(width):
                seen = uses.factor[i] * readings.numbers[world, first + c] + uses.offset[i]
                s.read[world, value + c] = seen
                s.arrived[world, value + c] = wp.where(wp.isfinite(seen), 1, 0)
    for i in range(readings.count):
        t, place = uses.drum_of[i] + 0, uses.value[i] + 0
        drum = readings.numbers[world, readings.first[i]] + ZERO
        if t >= 0 and wp.isfinite(drum) and readings.has_arrived[world, i] != 0:
            s.drum[world, t] = drum
            tension = s.tension[world, t]
            if place >= 0 and tension > SLACK * uses.tension_deviation[b, t]:
                s.read[world, place] = drum + (tension - tendons.offset[b, t]) / tendons.stiffness[b, t]
                s.arrived[world, place] = 1


@wp.kernel(module="unique", enable_backward=False)
def _sense(s: Sensed, arm: Arm, engine: Engine, act: wp.array2d(dtype=float), actual: Step, seen: Engine):
    """SensedArm::sense, up to the positions of the joints and the tendons."""
    world = wp.tid()
    e, tendons, b = s.estimator, s.tendons, world % s.estimator.body.rows
    e.balance.gravity[world] = wp.transpose(wide_matrix(engine.xmat[world, arm.base_body])) * s.gravity[b]
    for t in range(tendons.count):
        if tendons.activation[t] >= 0:
            s.commands[world, t] = number(act[world, tendons.activation[t]])
    if not s.began[world]:
        s.began[world] = True
        start_estimator(e, world, s.start)
        for t in range(tendons.count):
            s.drum[world, t] = s.commands[world, t]
    _receive(s, world, b)
    # Tensions at the commands of the last step, or where the drums are, at the shape that was estimated then.
    q = e.memory.x[world]
    for t in range(tendons.count):
        length, held = tendon_length(e.body, b, t, q), _held(tendons, b, t)
        s.input_tension[world, t] = _tension(tendons, b, t, s.commands[world, t], length) - held * length
    for i in range(s.readings.count):
        t = s.uses.drum_of[i]
        if t >= 0:
            length, held = tendon_length(e.body, b, t, q), _held(tendons, b, t)
            s.input_tension[world, t] = _tension(tendons, b, t, s.drum[world, t], length) - held * length
    for i in range(s.readings.count):
        t = s.uses.tension_of[i]
        if t >= 0:
            length, held = tendon_length(e.body, b, t, q), _held(tendons, b, t)
            s.input_tension[world, t] = s.tension[world, t] - held * length
    step_estimator(
        e,
        world,
        s.input_tension[world],
        s.moment[world],
        actual.feed[world],
        actual.spin[world],
        s.read[world],
        s.arrived[world],
    )
    tip, tip_frame = estimated_tip(e, world)
    s.tip[world] = tip
    s.tip_frame[world] = tip_frame
    for k in range(e.body.n):
        for i in range(arm.first_joint[k], arm.first_joint[k + 1]):
            share, joint = arm.sign[k] * arm.fraction[i], arm.joint[i]
            seen.qpos[world, seen.qpos_address[joint]] = float(share * (q[k] - arm.offset[k]))
            seen.qvel[world, seen.dof_address[joint]] = float(share * q[e.body.n + k])
    for t in range(tendons.count):
        speed = number(0.0)
        for k in range(e.body.n):
            speed += e.body.lengths_by_q[b, t, k] * q[e.body.n + k]
        length = tendon_length(e.body, b, t, q) + tendons.rest_length[t]
        seen.ten_length[world, tendons.tendon[t]] = float(length)
        seen.ten_velocity[world, tendons.tendon[t]] = float(speed)


@wp.kernel(module="unique", enable_backward=False)
def _place_tip(s: Sensed, arm: Arm, seen: Engine):
    """Its pose is that of the estimate, with its uneven deflection."""
    world = wp.tid()
    R, p = wide_matrix(seen.xmat[world, arm.base_body]), wide(seen.xpos[world, arm.base_body])
    tip, frame = p + R * s.tip[world], R * s.tip_frame[world]
    seen.site_xpos[world, arm.tip_site] = wp.vec3(float(tip[0]), float(tip[1]), float(tip[2]))
    narrow = wp.mat33()
    for r in range(3):
        for c in range(3):
            narrow[r, c] = float(frame[r, c])
    seen.site_xmat[world, arm.tip_site] = narrow


@wp.func
def _beyond_spring(arm: Arm, b: int, i: int, setpoint: number, at: number, rate: number):
    """Moment of a servo without what the spring of the body has of it."""
    force = (
        arm.gain[b, i] * setpoint - arm.servo_stiffness[b, i] * at - arm.damping[b, i] * rate + arm.servo_offset[b, i]
    )
    force = wp.clamp(force, arm.min_force[b, i], arm.max_force[b, i])
    return force - arm.servo_offset[b, i] + arm.servo_stiffness[b, i] * at + arm.damping[b, i] * rate


@wp.kernel(module="unique", enable_backward=False)
def _keep(s: Sensed, arm: Arm, seen: Engine, ctrl: wp.array2d(dtype=float)):
    """SensedArm::command."""
    world = wp.tid()
    b = world % arm.rows
    for k in range(arm.coordinates):
        moment, position, speed = number(0.0), number(0.0), number(0.0)
        for i in range(arm.first_joint[k], arm.first_joint[k + 1]):
            joint, servo = arm.joint[i], arm.joint_servo[i]
            at = number(seen.qpos[world, seen.qpos_address[joint]])
            rate = number(seen.qvel[world, seen.dof_address[joint]])
            position += at
            speed += rate
            if servo >= 0 and arm.servo[k] < 0:
                setpoint = number(ctrl[world, arm.control[servo]])
                if s.is_motor[k] != 0:
                    moment += arm.fraction[i] * wp.clamp(setpoint, arm.min_force[b, servo], arm.max_force[b, servo])
                else:
                    moment += arm.fraction[i] * _beyond_spring(arm, b, servo, setpoint, at, rate)
        own = arm.servo[k] + 0
        if own >= 0:
            wanted = number(ctrl[world, arm.control[own]])
            if s.is_motor[k] != 0:
                moment = wp.clamp(wanted, arm.min_force[b, own], arm.max_force[b, own])
            else:
                moment = _beyond_spring(arm, b, own, wanted, position, speed)
        s.moment[world, k] = wp.where(wp.isfinite(moment), arm.sign[k] * moment, ZERO)
    for t in range(s.tendons.count):
        s.commands[world, t] = number(ctrl[world, s.tendons.control[t]])


@wp.struct
class Actuators:
    """Numbers of the engine's actuators."""

    gain: wp.array2d(dtype=vec10)
    bias: wp.array2d(dtype=vec10)
    range: wp.array2d(dtype=wp.vec2)


@wp.kernel(module="unique", enable_backward=False)
def _write_drums(
    s: Sensed,
    actuators: Actuators,
    ten_length: wp.array2d(dtype=float),
    ten_velocity: wp.array2d(dtype=float),
    ctrl: wp.array2d(dtype=float),
):
    """DrumSensors::write, for the readings of the next step."""
    world = wp.tid()
    b = world % s.estimator.body.rows
    for i in range(s.readings.count):
        t = s.uses.drum_of[i]
        if t < 0:
            continue
        a, id = s.tendons.actuator[t], s.tendons.tendon[t]
        gain = actuators.gain[world % actuators.gain.shape[0], a]
        bias = actuators.bias[world % actuators.bias.shape[0], a]
        most = number(actuators.range[world % actuators.range.shape[0], a][1])
        stretched, speed = number(ten_length[world, id]), number(ten_velocity[world, id])
        tension = number(gain[0]) * number(ctrl[world, s.tendons.control[t]]) + number(bias[0])
        tension -= number(bias[1]) * stretched + number(bias[2]) * speed
        length = stretched - s.tendons.rest_length[t]
        stretch = (wp.min(tension, most) - s.drums[b, t, 0]) / s.drums[b, t, 1]
        drum = length + s.drums[b, t, 2] * speed - stretch
        if wp.isfinite(drum):
            s.readings.late[world, s.readings.first[i]] = drum


@wp.kernel(module="unique", enable_backward=False)
def _forget(chosen: wp.array(dtype=bool), s: Sensed):
    world = wp.tid()
    if not chosen[world]:
        return
    s.began[world] = False
    for k in range(s.moment.shape[1]):
        s.moment[world, k] = ZERO
    for t in range(s.commands.shape[1]):
        s.commands[world, t] = ZERO
        s.tension[world, t] = ZERO


class SensedArm:
    """One arm in all worlds, as its sensors tell it."""

    def __init__(self, bound: BoundRobot, model: Any, robot: Any, arm: Any, tendons: Any) -> None:
        """
        :param tendons: of the arm; None: it has none
        :raises ModelError: what worlds cannot sense
        """
        self._bound, self._arm = bound, arm
        all_sensed = [table["sensed"] for table in bound.tables]
        _require_sensed(bound, all_sensed)
        self._sensed = sensed = Sensed()
        sensed.tendons = tendons or Tendons()
        sensed.drums = bound.numbers([np.array(one["drums"]).reshape(-1, 3) for one in all_sensed])
        drives = [table.get("tendon_drive", {"tendons": []})["tendons"] for table in bound.tables]
        chain, body, sensors = body_for(bound, robot, all_sensed, drives)
        balance = balance_for(bound, body, len(robot.sections))
        h = model.opt.timestep
        sensed.estimator = estimator_for(bound, all_sensed, chain, body, balance, sensors, h)
        sensed.gravity = bound.numbers([one["gravity"] for one in all_sensed], vec3)
        sensed.start = bound.numbers([one["start"] for one in all_sensed])
        sensed.is_motor = bound.integers([spring["is_motor"] for spring in all_sensed[0]["springs"]])
        self._readings = SensorReadings(bound, [one["readings"] for one in all_sensed], model)
        sensed.readings = self._readings.readings
        sensed.uses = self._uses(all_sensed)
        n, t, values = body.n, body.tendons, sum(one["size"] for one in all_sensed[0]["sensors"])
        sensed.began, sensed.moment = bound.zeros(kind=bool), bound.zeros(n)
        sensed.commands, sensed.tension, sensed.drum, sensed.input_tension = (bound.zeros(t) for _ in range(4))
        sensed.read, sensed.arrived = bound.zeros(values), bound.zeros(values, kind=int)
        sensed.tip, sensed.tip_frame = bound.zeros(kind=vec3), bound.zeros(kind=mat33)
        self._actuators = Actuators()
        self._seen = SeenData()

    def reset(self, chosen: Any) -> None:
        """Empties the memory of the chosen worlds, (count,) of bool."""
        self._readings.reset(chosen)
        self._bound.launch(_forget, [chosen, self._sensed])

    def sense(self, model: Any, data: Any, engine: Any, actual: Any) -> Any:
        """The arrays that the engine would have if the arm were as its sensors tell.

        :param actual: the measured `Step`, whose feed and spin the motors of the base tell
        """
        seen, bound = engine_of(model, self._seen.copy(data)), self._bound
        self._readings.read(data)
        bound.launch(_sense, [self._sensed, self._arm, engine, data.act, actual, seen])
        self._seen.place(model)
        bound.launch(_place_tip, [self._sensed, self._arm, seen])
        return seen

    def keep(self, model: Any, data: Any, seen: Any) -> None:
        """Keeps the command of this step."""
        self._actuators.gain, self._actuators.bias = model.actuator_gainprm, model.actuator_biasprm
        self._actuators.range = model.actuator_forcerange
        self._bound.launch(_keep, [self._sensed, self._arm, seen, data.ctrl])

    def end_step(self, data: Any) -> None:
        """Keeps what is read of this step in the next one."""
        self._readings.end_step(data)
        inputs = [self._sensed, self._actuators, data.ten_length, data.ten_velocity, data.ctrl]
        self._bound.launch(_write_drums, inputs)

    def _uses(self, all_sensed: Sequence[Table]) -> Any:
        bound, first = self._bound, all_sensed[0]
        starts = np.cumsum([0, *(one["size"] for one in first["sensors"])])
        kinds = [one["kind"] for one in first["sensors"]]
        uses = Uses()
        uses.value = bound.integers(
            [starts[use["sensor"]] + use["index"] if use["sensor"] >= 0 else -1 for use in first["uses"]]
        )
        uses.is_rotation = bound.integers(
            [use["sensor"] >= 0 and kinds[use["sensor"]] == ROTATION for use in first["uses"]]
        )
        for key in ("factor", "offset"):
            setattr(uses, key, bound.numbers([use[key] for use in first["uses"]]))
        for key in ("tension_of", "drum_of"):
            setattr(uses, key, bound.integers([use[key] for use in first["uses"]]))
        uses.tension_deviation = bound.numbers([one["tension_deviations"] for one in all_sensed])
        return uses


def _require_sensed(bound: BoundRobot, all_sensed: Sequence[Table]) -> None:
    """:raises ModelError: what worlds cannot sense"""
    table = bound.tables[0]
    for is_there, what in (
        (all_sensed[0]["disturbed"] or table["guide_length"] > 0.0, "the arm has a guide"),
        ("turns" in table, "its sections turn"),
        ("twists" in table, "its links twist"),
    ):
        if is_there:
            raise td.ModelError(f"{bound.name}: measured = sensors: {what}: must be truth in worlds")
