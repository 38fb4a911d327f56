"""What the controller of a snake sees by its sensors, one thread for each world: the steps of binding/sensed_snake.cpp.

Source: docs/theory/estimation.md, "Snakes".
"""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import warp as wp

from tendril.worlds.arm import mat33, number, rows, vec3, wide, wide_matrix
from tendril.worlds.controller import Engine, engine_of
from tendril.worlds.measurement_faults import rotation_by
from tendril.worlds.seen_data import SeenData
from tendril.worlds.sensor_readings import Readings, SensorReadings
from tendril.worlds.snake_estimator import (
    ONE,
    STATES,
    TWO,
    ZERO,
    Ground,
    Head,
    HeadOptions,
    Joints,
    angular_velocity,
    axis_of,
    correct_height,
    correct_velocity,
    filter_joint,
    start_head,
    start_joint,
    start_odometry,
    step_head,
    step_odometry,
    vec2,
)
from tendril.worlds.tables import BoundRobot, Table

# The numbers of the C++ code.
SLIP, LOST_SLIP, LEAST_SLIP = number(0.1), number(1.0), number(1e-3)
SLIP_TIME, HEIGHT_DEVIATION = number(0.1), number(5e-3)  # s, m
#: in the order of SensedSnake::Base and SnakeObservations::Part
KNOWN, MEASURED, UNKNOWN = (wp.constant(i) for i in range(3))
RATE, FORCE = wp.constant(1), wp.constant(2)


@wp.struct
class Sensed:
    readings: Readings
    joints: Joints
    head: Head
    ground: Ground
    base: int
    base_body: int
    tail_site: int
    tip_site: int
    free: int  # address of the base's free joint; -1: it has none
    joint: wp.array(dtype=int)  # of the model
    link_length: rows
    joint_limit: rows
    to_now: wp.array2d(dtype=mat33)
    to_unit: wp.array2d(dtype=mat33)
    joint_of: wp.array(dtype=int)  # of each reading; -1: of none
    part_of: wp.array(dtype=int)  # of each reading
    base_from_tail: mat33  # orientation and place of the base in the frame of the tail
    base_at: vec3
    # Memory, a row for each world.
    began: wp.array(dtype=bool)
    rate: wp.array(dtype=vec3)  # of the unit, read last
    force: wp.array(dtype=vec3)
    start_frame: wp.array(dtype=mat33)  # of the tail
    start_center: wp.array(dtype=vec3)  # of mass


@wp.func
def _begin(s: Sensed, world: int, engine: Engine):
    s.began[world] = True
    for j in range(s.joint.shape[0]):
        start_joint(s.joints, world, j, number(engine.qpos[world, engine.qpos_address[s.joint[j]]]))
    if s.base == MEASURED:
        frame = wide_matrix(engine.site_xmat[world, s.tip_site])
        start_head(s.head, world, frame, wide(engine.site_xpos[world, s.tip_site]))
        start_odometry(s.ground, world)
    s.start_frame[world] = wide_matrix(engine.site_xmat[world, s.tail_site])
    s.start_center[world] = wide(engine.subtree_com[world, s.base_body])


@wp.func
def _collect(s: Sensed, world: int):
    """Whether the unit has sent a sample."""
    for j in range(s.joint.shape[0]):
        s.joints.has_value[world, j] = 0
    samples = wp.int32(0)
    for i in range(s.readings.count):
        first, joint, part = s.readings.first[i], s.joint_of[i], s.part_of[i]
        head = s.readings.numbers[world, first]
        if s.readings.has_arrived[world, i] == 0 or not wp.isfinite(head):
            continue
        if joint >= 0:
            s.joints.value[world, joint] = head
            s.joints.has_value[world, joint] = 1
        elif part == RATE or part == FORCE:
            read = vec3(head, s.readings.numbers[world, first + 1], s.readings.numbers[world, first + 2])
            if part == RATE:
                s.rate[world] = read
            else:
                s.force[world] = read
            samples += part
    return samples == RATE + FORCE


@wp.func
def _clamped(s: Sensed, world: int, angle: number):
    limit = s.joint_limit[world % s.joint_limit.shape[0], 0]
    return wp.clamp(angle, -limit, limit)


@wp.func
def _move_head(s: Sensed, world: int, has_sample: bool):
    """SensedSnake::move_head."""
    head, ground = s.head, s.ground
    advanced = step_head(head, world, has_sample, s.rate[world], s.force[world])
    if advanced == ZERO:
        return
    for j in range(s.joint.shape[0]):
        x = s.to_unit[world % s.to_unit.shape[0], j] * s.joints.state[world, j]
        ground.angle[world, j] = _clamped(s, world, x[0])
        ground.rate[world, j] = x[1]
    velocity, height, link_speed = step_odometry(ground, world, head.R[world], angular_velocity(head, world), advanced)
    # White noise as strong as what is correlated over SLIP_TIME.
    strength = wp.sqrt(wp.max(ONE, TWO * SLIP_TIME / advanced))
    slip = wp.where(head.has_unit[world], SLIP, LOST_SLIP) * link_speed
    correct_velocity(head, world, velocity, strength * wp.sqrt(slip * slip + LEAST_SLIP * LEAST_SLIP))
    correct_height(head, world, height, strength * HEIGHT_DEVIATION)


@wp.func
def _write_base(s: Sensed, world: int, frame: mat33, tail: vec3, seen: Engine):
    """The free joint, by the pose of the tail."""
    p = tail + frame * s.base_at
    q = wp.quat_from_matrix(frame * s.base_from_tail)
    for i in range(3):
        seen.qpos[world, s.free + i] = float(p[i])
        seen.qpos[world, s.free + 4 + i] = float(q[i])
    seen.qpos[world, s.free + 3] = float(q[3])


@wp.kernel(module="unique", enable_backward=False)
def _sense(s: Sensed, engine: Engine, seen: Engine):
    """SensedSnake::sense, up to the places of the links."""
    world = wp.tid()
    if not s.began[world]:
        _begin(s, world, engine)
    has_sample = _collect(s, world)
    n = s.joint.shape[0]
    for j in range(n):
        filter_joint(s.joints, world, j)
        x = s.to_now[world % s.to_now.shape[0], j] * s.joints.state[world, j]
        seen.qpos[world, seen.qpos_address[s.joint[j]]] = float(_clamped(s, world, x[0]))
        seen.qvel[world, seen.dof_address[s.joint[j]]] = float(x[1])
    if s.base == MEASURED:
        _move_head(s, world, has_sample)
        head, b = s.head, world % s.link_length.shape[0]
        age = head.options[world % head.options.shape[0]].delay + head.age[world]
        R = rotation_by(age * angular_velocity(head, world)) * head.R[world]
        p = head.p[world] + age * head.v[world]
        for back in range(n):
            k = n - back
            angle = number(seen.qpos[world, seen.qpos_address[s.joint[k - 1]]])
            p -= s.link_length[b, k] * vec3(R[0, 0], R[1, 0], R[2, 0])
            R = R * rotation_by(-angle * axis_of(k - 1))
        p -= s.link_length[b, 0] * vec3(R[0, 0], R[1, 0], R[2, 0])
        _write_base(s, world, R, p, seen)
    if s.base == UNKNOWN:
        _write_base(s, world, s.start_frame[world], vec3(ZERO, ZERO, ZERO), seen)


@wp.kernel(module="unique", enable_backward=False)
def _center(s: Sensed, seen: Engine):
    """Brings the center of mass to where it started."""
    world = wp.tid()
    tail = s.start_center[world] - wide(seen.subtree_com[world, s.base_body])
    _write_base(s, world, s.start_frame[world], tail, seen)


@wp.kernel(module="unique", enable_backward=False)
def _forget(chosen: wp.array(dtype=bool), s: Sensed):
    world = wp.tid()
    if chosen[world]:
        s.began[world] = False
        s.rate[world] = vec3(ZERO, ZERO, ZERO)
        s.force[world] = vec3(ZERO, ZERO, ZERO)


class SensedSnake:
    """One snake in all worlds, as its sensors tell it."""

    def __init__(self, bound: BoundRobot, model: Any) -> None:
        """
        :raises ModelError: what worlds cannot sense
        """
        self._bound, tables = bound, bound.tables
        all_sensed = [table["sensed"] for table in tables]
        first, n = all_sensed[0], len(all_sensed[0]["deviations"])
        self._readings = SensorReadings(bound, [one["readings"] for one in all_sensed], model)
        self._seen = SeenData()
        self._sensed = s = Sensed()
        s.readings, s.base = self._readings.readings, first["base"]
        for key in ("base_body", "tail_site", "tip_site"):
            setattr(s, key, bound.same(key))
        s.free = int(model.jnt_qposadr[model.body_jntadr[s.base_body]]) if s.base != KNOWN else -1
        s.joint = bound.integers([joint for joint, _ in tables[0]["joints"][:n]])
        s.link_length = bound.numbers([one["link_lengths"] for one in all_sensed])
        s.joint_limit = bound.numbers([[one["joint_limit"]] for one in all_sensed])
        s.to_now, s.to_unit = (bound.numbers([one[key] for one in all_sensed], mat33) for key in ("to_now", "to_unit"))
        s.joint_of, s.part_of = bound.integers(first["joints"]), bound.integers(first["parts"])
        s.base_from_tail, s.base_at = _base_in_tail(model, s.tail_site)
        s.joints = self._joints(all_sensed, n)
        if s.base == MEASURED:
            s.head, s.ground = self._head(all_sensed, model.opt.timestep), self._ground(all_sensed, n)
        s.began = bound.zeros(kind=bool)
        s.rate, s.force, s.start_center = (bound.zeros(kind=vec3) for _ in range(3))
        s.start_frame = bound.zeros(kind=mat33)

    def reset(self, chosen: Any) -> None:
        """Empties the memory of the chosen worlds, (count,) of bool."""
        self._readings.reset(chosen)
        self._bound.launch(_forget, [chosen, self._sensed])

    def sense(self, model: Any, data: Any) -> Any:
        """The data that the engine would have if the snake were as its sensors tell."""
        seen = self._seen.copy(data)
        self._readings.read(data)
        self._bound.launch(_sense, [self._sensed, engine_of(model, data), engine_of(model, seen)])
        self._seen.place(model)
        if self._sensed.base == UNKNOWN:
            self._bound.launch(_center, [self._sensed, engine_of(model, seen)])
            self._seen.place(model)
        return seen

    def end_step(self, data: Any) -> None:
        """Keeps what is read of this step in the next one."""
        self._readings.end_step(data)

    def _joints(self, all_sensed: list[Table], n: int) -> Any:
        bound, joints = self._bound, Joints()
        joints.transition = bound.numbers([one["process"][0] for one in all_sensed], mat33)
        joints.noise = bound.numbers([one["process"][1] for one in all_sensed], mat33)
        joints.deviation = bound.numbers([one["deviations"] for one in all_sensed])
        joints.start = bound.numbers([one["start"] for one in all_sensed], vec3)
        joints.state, joints.covariance = bound.zeros(n, kind=vec3), bound.zeros(n, kind=mat33)
        joints.value, joints.has_value = bound.zeros(n), bound.zeros(n, kind=int)
        return joints

    def _head(self, all_sensed: list[Table], timestep: float) -> Any:
        bound, head = self._bound, Head()

        def options_of(one: Table, gravity: Any) -> Any:
            options = HeadOptions()
            options.gravity = vec3(*gravity)
            for key, value in one["head"].items():
                setattr(options, key, value)
            return options

        all_options = [options_of(one, table["gravity"]) for one, table in zip(all_sensed, bound.tables, strict=True)]
        head.options = wp.array(all_options, dtype=HeadOptions, device=bound.device)
        head.timestep = timestep
        head.R, head.has_unit, head.age = bound.zeros(kind=mat33), bound.zeros(kind=bool), bound.zeros()
        for key in ("v", "p", "b", "rate", "force"):
            setattr(head, key, bound.zeros(kind=vec3))
        for key in ("P", "F", "moved"):
            setattr(head, key, bound.zeros(STATES, STATES))
        head.by_error, head.across = bound.zeros(2, STATES), bound.zeros(STATES, 2)
        return head

    def _ground(self, all_sensed: list[Table], n: int) -> Any:
        bound, ground = self._bound, Ground()
        lengths, masses = (np.array([one[key] for one in all_sensed]) for key in ("link_lengths", "link_masses"))
        ground.length, ground.mass = bound.numbers(lengths), bound.numbers(masses.sum(axis=1))
        ground.share = bound.numbers(masses / masses.sum(axis=1, keepdims=True))
        for key in ("radius", "friction_along", "friction_across"):
            setattr(ground, key, bound.numbers([one[key] for one in all_sensed]))
        ground.gravity = bound.numbers([-table["gravity"][2] for table in bound.tables])
        ground.stiffness, ground.slip_speed = all_sensed[0]["stiffness"], all_sensed[0]["slip_speed"]
        points = 2 * int(np.sum(lengths[0] > 0.0))
        ground.points = bound.integers([points])
        ground.plane, ground.began = bound.zeros(kind=vec3), bound.zeros(kind=bool)
        ground.center, ground.velocity = bound.zeros(kind=vec2), bound.zeros(kind=vec2)
        ground.angle, ground.rate = bound.zeros(n), bound.zeros(n)
        ground.position, ground.speed = bound.zeros(points, kind=vec3), bound.zeros(points, kind=vec3)
        ground.along, ground.force = bound.zeros(points, kind=vec2), bound.zeros(points)
        ground.center_of_mass, ground.center_velocity = bound.zeros(kind=vec3), bound.zeros(kind=vec3)
        return ground


def _base_in_tail(model: Any, site: int) -> tuple[Any, Any]:
    """Orientation and place of a site's body in the frame of the site."""
    R = np.empty(9)
    mujoco.mju_quat2Mat(R, model.site_quat[site])
    R = R.reshape(3, 3)
    return mat33(*R.T.ravel()), vec3(*(-R.T @ model.site_pos[site]))
