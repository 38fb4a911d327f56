"""`tendril.follow` of a given path, one thread for each world: the steps of controllers/arm/follow_controller.cpp.

The shapes along the path are fitted when the controller is made, and interpolated here. Source: docs/theory/control.md,
"Fitting an arm to a path" and "Tip integral".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

import tendril as td
from tendril.worlds.arm import Arm, BoundArm, Step, functions, integrate, mat33, number, numbers, rows, tables, vec3
from tendril.worlds.kinematics import chain_of
from tendril.worlds.tables import Table, require

# The numbers of the C++ code.
MAX_SETTLING_TIME, SETTLED_TIME = number(5.0), number(0.25)  # s
NEAR_FRACTION, STILL_FRACTION = number(0.5), number(0.25)  # of the tip error at which the feed stops
SLOW_DOWNS = 4
DEFLECTION_DAMPING = number(0.003)  # m
MAX_BEND = number(0.3)  # rad, of a section's compensation
ZERO, HALF, ONE, TWO = (number(x) for x in (0.0, 0.5, 1.0, 2.0))
WORKING, FINISHED, NOT_REACHED, JAMMED = (
    wp.constant(int(status))
    for status in (
        td.ControllerStatus.WORKING,
        td.ControllerStatus.FINISHED,
        td.ControllerStatus.NOT_REACHED,
        td.ControllerStatus.JAMMED,
    )
)
_ALLOWED = {"poses": ("",), "jam_retries": ("0",)}


@wp.struct
class _Settings:
    """Of one world."""

    speed: number  # m/s
    acceleration: number
    start_delay: number  # s
    jam_tip_error: number  # m
    jam_feed_force: number  # N
    jam_time: number  # s
    follows_body: bool  # fit = "body"
    spacing: number  # of the shapes, m
    limit: number  # of the advance, m


@wp.struct
class _Path:
    """The path and the shapes along it; of settings and of shapes one row for each world, or one for all."""

    settings: wp.array(dtype=_Settings)
    q: tables  # (rows, shapes, coordinates)
    tip: wp.array2d(dtype=vec3)  # the path's point for the tip
    chain: functions.Chain
    halves: functions.Chain  # whose sections are the first halves


@wp.struct
class _State:
    """The controller's memory in one world, but for its arrays."""

    started: bool
    feeding: bool
    jammed: bool
    time: number
    advanced: number  # m
    speed: number  # m/s
    settled_time: number
    blocked_time: number
    still_tip: vec3  # since it has been still
    feed_setpoint: number


@wp.struct
class _Memory:
    """The controller's memory, a row for each world; what it reports; and scratch."""

    state: wp.array(dtype=_State)
    q: rows  # commanded without corrections
    correction: rows  # of the integral
    tip_error: numbers
    progress: numbers
    status: wp.array(dtype=int)
    candidate: rows
    measured: rows
    rotations: wp.array2d(dtype=mat33)
    ends: wp.array2d(dtype=vec3)
    columns: wp.array2d(dtype=vec3)  # of a point's Jacobian
    normal: tables
    gradient: rows


@wp.func
def _settings_in(path: _Path, world: int):
    return path.settings[world % path.settings.shape[0]]


@wp.func
def _place(path: _Path, world: int, advance: number):
    """Row and index of the shape before an advance, and how far it is on to the next."""
    x = advance / _settings_in(path, world).spacing
    i = wp.clamp(int(x), 0, path.tip.shape[1] - 2)
    return world % path.tip.shape[0], i, wp.clamp(x - number(i), ZERO, ONE)


@wp.func
def _tip_at(path: _Path, world: int, advance: number):
    row, i, x = _place(path, world, advance)
    return path.tip[row, i] + x * (path.tip[row, i + 1] - path.tip[row, i])


@wp.func
def _shape_at(path: _Path, world: int, advance: number, q: numbers):
    row, i, x = _place(path, world, advance)
    for k in range(q.shape[0]):
        q[k] = path.q[row, i, k] + x * (path.q[row, i + 1, k] - path.q[row, i, k])


@wp.func
def _reference(path: _Path, world: int, q: numbers, advance: number, memory: _Memory):
    """Where the tip of a commanded shape should be."""
    settings = _settings_in(path, world)
    if not settings.follows_body or advance >= settings.limit:
        return _tip_at(path, world, advance)
    functions.end_frames(path.chain, q, advance, ZERO, memory.rotations[world], memory.ends[world])
    return memory.ends[world, path.chain.sections]


@wp.func
def _settle(world: int, settings: _Settings, tip: vec3, deviation: number, h: number, memory: _Memory):
    """Whether the arm has settled once after the start delay, and is fed."""
    state = memory.state[world]
    waited = state.time >= settings.start_delay + MAX_SETTLING_TIME
    near = deviation <= wp.where(waited, ONE, NEAR_FRACTION) * settings.jam_tip_error
    still = state.started and wp.length(tip - state.still_tip) <= STILL_FRACTION * settings.jam_tip_error
    if not still:
        memory.state[world].still_tip = tip
    settled_time = number(0.0)
    if near and (still or waited or not state.started):
        settled_time = state.settled_time + h
    memory.state[world].settled_time = wp.min(settled_time, TWO * SETTLED_TIME)
    settled = settled_time >= wp.min(SETTLED_TIME, state.time)
    memory.state[world].feeding = state.feeding or (state.time >= settings.start_delay and settled)


@wp.func
def _is_jam(world: int, settings: _Settings, deviation: number, feed_force: number, h: number, memory: _Memory):
    """Whether a jam begins: JamDetector::step. A jam lasts."""
    state = memory.state[world]
    watched = state.feeding or state.time >= settings.start_delay + MAX_SETTLING_TIME
    blocked = deviation > settings.jam_tip_error or wp.abs(feed_force) >= settings.jam_feed_force
    blocked_time = number(0.0)
    if watched and blocked:
        blocked_time = state.blocked_time + h
    memory.state[world].blocked_time = blocked_time
    if state.jammed or blocked_time <= settings.jam_time:
        return False
    memory.state[world].jammed = True
    return True


@wp.func
def _largest_change(chain: functions.Chain, a: numbers, b: numbers):
    largest = number(0.0)
    for i in range(chain.sections):
        k = chain.first_coordinate[i]
        u, v = a[k] - b[k], a[k + 1] - b[k + 1]
        largest = wp.max(largest, wp.sqrt(u * u + v * v))
    return largest


@wp.func
def _feed(path: _Path, world: int, rate_limit: number, h: number, memory: _Memory):
    """One step of advance, slowed down until every section keeps its rate limit: FeedDrive::step."""
    state = memory.state[world]
    settings = _settings_in(path, world)
    remaining = settings.limit - state.advanced
    speed = wp.min(settings.speed, wp.max(state.speed, ZERO) + settings.acceleration * h)
    speed = wp.min(speed, wp.min(wp.sqrt(TWO * settings.acceleration * remaining), remaining / h))
    ratio = number(0.0)
    for attempt in range(SLOW_DOWNS):
        if attempt == 0 or ratio > ONE:
            if attempt > 0:
                speed *= number(0.9) / ratio
            _shape_at(path, world, state.advanced + speed * h, memory.candidate[world])
            ratio = _largest_change(path.chain, memory.candidate[world], memory.q[world]) / (rate_limit * h)
    if ratio > ONE:
        speed /= ratio
        for k in range(memory.q.shape[1]):
            q = memory.q[world, k]
            memory.candidate[world, k] = q + (memory.candidate[world, k] - q) / ratio
    memory.state[world].advanced = state.advanced + speed * h
    memory.state[world].speed = speed


@wp.func
def _solve(A: rows, y: numbers):
    """y = A^-1 y of a positive definite A, which is overwritten: Cholesky."""
    n = y.shape[0]
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
def _add_point(path: _Path, world: int, i: int, is_half: bool, d: vec3, memory: _Memory):
    """Adds |d + J dq|^2 of the middle or the end of section i to the normal equations of all bends."""
    chain = path.chain
    base, start = memory.rotations[world, i], memory.ends[world, i]
    q = functions.coordinates(chain, memory.measured[world], i)
    point = memory.ends[world, i + 1]
    w_u, w_v, p_u, p_v, p_s = functions.section_rates(chain, i, q)
    if is_half:
        rotation, middle = functions.section_pose(path.halves, i, q)
        point = start + base * middle
        w_u, w_v, p_u, p_v, p_s = functions.section_rates(path.halves, i, q)
    memory.columns[world, 2 * i] = base * p_u
    memory.columns[world, 2 * i + 1] = base * p_v
    for m in range(i):
        w_u, w_v, p_u, p_v, p_s = functions.section_rates(chain, m, functions.coordinates(chain, memory.measured[world], m))
        before, arm = memory.rotations[world, m], point - memory.ends[world, m + 1]
        memory.columns[world, 2 * m] = before * p_u + wp.cross(before * w_u, arm)
        memory.columns[world, 2 * m + 1] = before * p_v + wp.cross(before * w_v, arm)
    for r in range(2 * i + 2):
        J = memory.columns[world, r]
        memory.gradient[world, r] = memory.gradient[world, r] - wp.dot(J, d)
        for c in range(r + 1):
            memory.normal[world, r, c] = memory.normal[world, r, c] + wp.dot(J, memory.columns[world, c])


@wp.func
def _compensate(arm: Arm, path: _Path, world: int, step: Step, memory: _Memory):
    """The uneven deflection of the whole body: BodyDeflection::compensate."""
    chain = path.chain
    largest = number(0.0)
    for k in range(arm.coordinates):
        memory.measured[world, k] = arm.sign[k] * step.sum[world, k] + arm.offset[k]
        largest = wp.max(largest, wp.length(step.uneven[world, k]))
    if largest == ZERO:
        return
    bends = 2 * chain.sections
    for r in range(bends):
        memory.gradient[world, r] = ZERO
        for c in range(r + 1):
            memory.normal[world, r, c] = ZERO
    functions.end_frames(chain, memory.measured[world], step.feed[world], ZERO, memory.rotations[world], memory.ends[world])
    before = vec3()  # deflection at the section's start
    for i in range(chain.sections):
        k = chain.first_coordinate[i]
        own = step.uneven[world, k] + step.uneven[world, k + 1]
        _add_point(path, world, i, True, before + HALF * own, memory)
        _add_point(path, world, i, False, before + own, memory)
        before += own
    for r in range(bends):
        memory.normal[world, r, r] = memory.normal[world, r, r] + DEFLECTION_DAMPING * DEFLECTION_DAMPING
    _solve(memory.normal[world], memory.gradient[world])
    largest = number(0.0)
    for r in range(bends):
        largest = wp.max(largest, wp.abs(memory.gradient[world, r]))
    scale = MAX_BEND / wp.max(largest, MAX_BEND)
    for i in range(chain.sections):
        k = chain.first_coordinate[i]
        for r in range(2):
            step.command[world, k + r] = step.command[world, k + r] + scale * memory.gradient[world, 2 * i + r]


@wp.kernel(module="unique", enable_backward=False)
def _command(arm: Arm, path: _Path, step: Step, memory: _Memory):
    world = wp.tid()
    b = world % arm.rows
    n, h, s = arm.coordinates, arm.timestep, arm.feed_servo
    settings = _settings_in(path, world)
    tip = step.tip[world]
    if not memory.state[world].started:
        _shape_at(path, world, ZERO, memory.q[world])

    # 1. The start, and jams.
    deviation = wp.length(tip - _reference(path, world, memory.q[world], memory.state[world].advanced, memory))
    _settle(world, settings, tip, deviation, h, memory)
    memory.state[world].started = True
    passive = -arm.servo_stiffness[b, s] * step.feed[world] - arm.damping[b, s] * step.feed_speed[world]
    force = arm.gain[b, s] * memory.state[world].feed_setpoint + passive + arm.servo_offset[b, s]
    force = wp.clamp(force, arm.min_force[b, s], arm.max_force[b, s])
    if _is_jam(world, settings, deviation, force, h, memory):
        # The commanded advance returns to the measured one, so that no servo force is stored.
        memory.state[world].advanced = wp.clamp(step.feed[world], ZERO, memory.state[world].advanced)

    # 2. The advance.
    before = memory.state[world].advanced
    for k in range(n):
        memory.candidate[world, k] = memory.q[world, k]
    if memory.state[world].feeding and not memory.state[world].jammed and before < settings.limit:
        _feed(path, world, arm.settings[b].rate_limit, h, memory)
    else:
        memory.state[world].speed = ZERO
    advance = memory.state[world].advanced
    for k in range(n):
        step.q_rate[world, k] = (memory.candidate[world, k] - memory.q[world, k]) / h
        memory.q[world, k] = memory.candidate[world, k]
    step.feed_command[world] = advance
    step.feed_rate[world] = (advance - before) / h
    rate = arm.settings[b].feed_forward * step.feed_rate[world]
    setpoint = advance + arm.lag[b, s] * rate - step.feed_load[world] / arm.gain[b, s]
    memory.state[world].feed_setpoint = setpoint

    # 3. The corrections.
    if not memory.state[world].jammed:
        off = _reference(path, world, memory.q[world], advance, memory) - tip
        integrate(arm, world, off, vec3(), 3, memory.correction, step)
    for k in range(n):
        step.command[world, k] = memory.q[world, k] + memory.correction[world, k]
    if arm.settings[b].compensates_deflection:
        _compensate(arm, path, world, step, memory)

    memory.tip_error[world] = wp.length(_tip_at(path, world, advance) - tip)
    memory.progress[world] = advance / settings.limit
    on_path = memory.tip_error[world] <= settings.jam_tip_error
    at_end = wp.where(on_path, FINISHED, NOT_REACHED)
    status = wp.where(advance >= settings.limit, at_end, WORKING)
    memory.status[world] = wp.where(memory.state[world].jammed, JAMMED, status)
    memory.state[world].time = memory.state[world].time + h


@wp.kernel(module="unique", enable_backward=False)
def _forget(chosen: wp.array(dtype=bool), memory: _Memory):
    world = wp.tid()
    if not chosen[world]:
        return
    memory.state[world] = _State()
    for k in range(memory.correction.shape[1]):
        memory.correction[world, k] = ZERO


class Follow:
    """The controller of one arm in all worlds; `before_actuation` is called between the halves of a step."""

    def __init__(self, tables: Sequence[Table], model: Any, count: int, device: Any) -> None:
        """
        :param tables: of the arm, from `tendril._sim.controlled_robots`: one, or one for each world
        :raises ModelError: what this controller does not do on a device
        """
        self._bound = bound = BoundArm(tables, model, count, device)
        for table in tables:
            require(table, _ALLOWED)
        if "shapes" not in tables[0] or any(section.variable_length > 0 for section in bound.robot.sections):
            raise td.ModelError(
                f"{bound.name}: has a trail of its target, or sections of variable length: must have a path of "
                "waypoints, arcs or a centerline, and a feed, in worlds"
            )
        n, sections = bound.arm.coordinates, len(bound.robot.sections)
        path = _Path()
        path.settings = wp.array([_settings_of(one) for one in tables], dtype=_Settings, device=device)
        path.q = bound.numbers(_stacked([one["shapes"]["q"] for one in tables]))
        path.tip = bound.numbers(_stacked([one["shapes"]["tip"] for one in tables]), vec3)
        path.chain = chain_of(bound.robot, wp.float64, device)
        path.halves = chain_of(bound.robot, wp.float64, device, 0.5)
        self._path = path
        memory = _Memory()
        memory.state, memory.status = bound.zeros(kind=_State), bound.zeros(kind=int)
        memory.tip_error, memory.progress = bound.zeros(), bound.zeros()
        for key in ("q", "correction", "candidate", "measured"):
            setattr(memory, key, bound.zeros(n))
        memory.rotations, memory.ends = bound.zeros(sections + 1, kind=mat33), bound.zeros(sections + 1, kind=vec3)
        memory.columns = bound.zeros(2 * sections, kind=vec3)
        memory.normal, memory.gradient = bound.zeros(2 * sections, 2 * sections), bound.zeros(2 * sections)
        self._memory = memory

    @property
    def tip_error(self) -> Any:
        """Distance of each world's tip from its point of the path in the last step, (count,), m."""
        return self._memory.tip_error

    @property
    def progress(self) -> Any:
        """Of each world's advance, (count,), 0 to 1."""
        return self._memory.progress

    @property
    def status(self) -> Any:
        """Of each world, (count,): tendril.ControllerStatus."""
        return self._memory.status

    def reset(self, chosen: Any) -> None:
        """Empties the memory of the chosen worlds, (count,) of bool."""
        self._bound.launch(_forget, [chosen, self._memory])

    def before_actuation(self, model: Any, data: Any) -> None:
        """Reads the positions of this step, and writes `ctrl`."""
        bound = self._bound
        bound.measure(model, data)
        bound.launch(_command, [bound.arm, self._path, bound.step, self._memory])
        bound.write_setpoints(data)


def _settings_of(table: Table) -> Any:
    texts, settings = table["settings"], _Settings()
    for key in ("speed", "acceleration", "start_delay", "jam_tip_error", "jam_time"):
        setattr(settings, key, float(texts[key]))
    feed_servo = table["servos"][table["feed"]["servo"]]
    settings.jam_feed_force = float(texts.get("jam_feed_force") or 0.98 * feed_servo["max_force"])
    settings.follows_body = texts["fit"] == "body"
    settings.spacing = table["shapes"]["spacing"]
    settings.limit = settings.spacing * (len(table["shapes"]["q"]) - 1)
    return settings


def _stacked(columns: Sequence[Any]) -> Any:
    """The tables of all worlds, the shorter ones continued by their last row; one row where all are the same."""
    if all(np.array_equal(one, columns[0]) for one in columns):
        columns = columns[:1]
    longest = max(len(one) for one in columns)
    return np.stack([np.pad(one, ((0, longest - len(one)), (0, 0)), mode="edge") for one in columns])
