"""`tendril.follow` of poses, one thread for each world: the steps of controllers/arm/follow_poses_controller.cpp.

The schedule of the poses comes from the C++ controller. Source: docs/theory/control.md, "Tip integral".
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

import tendril as td
from tendril.worlds.arm import (
    LENGTH_SCALE,
    SMOOTH_PEAK_RATE,
    Arm,
    Integral,
    Step,
    compensate_deflection,
    feed_force,
    feed_setpoint,
    forget_integral,
    functions,
    integrate,
    mat33,
    number,
    numbers,
    rows,
    smooth_step,
    tables,
    vec3,
)
from tendril.worlds.bound_arm import BoundArm
from tendril.worlds.controller import ControllerOfPath
from tendril.worlds.kinematics import chain_of
from tendril.worlds.tables import Table, stacked

ZERO, ONE = number(0.0), number(1.0)
WORKING, FINISHED, JAMMED = (
    wp.constant(int(status))
    for status in (td.ControllerStatus.WORKING, td.ControllerStatus.FINISHED, td.ControllerStatus.JAMMED)
)


@wp.struct
class _Settings:
    """Of one world."""

    start_delay: number  # s
    rate_limit: number  # rad/s
    jam_tip_error: number  # m
    jam_feed_force: number  # N
    jam_time: number  # s
    duration: number  # of the schedule, s
    steps: int  # from pose to pose


@wp.struct
class _Schedule:
    """Of each array one row for each world, or one for all."""

    chain: functions.Chain
    settings: wp.array(dtype=_Settings)
    poses: tables  # coordinates
    feeds: rows  # m
    spins: rows  # of the base, rad
    begins: rows  # of the step to the next pose, s
    durations: rows


@wp.struct
class _State:
    """The controller's memory in one world, but for its arrays."""

    started: bool
    jammed: bool
    time: number  # on the schedule
    start_time: number  # to the first pose
    start_feed: number
    start_spin: number
    blocked_time: number
    feed_setpoint: number


@wp.struct
class _Memory:
    """The controller's memory, a row for each world; what it reports; and scratch."""

    state: wp.array(dtype=_State)
    start: rows  # coordinates
    true_tip: wp.array(dtype=vec3)
    tip_error: numbers  # of the true tip
    progress: numbers
    status: wp.array(dtype=int)
    rotations: wp.array2d(dtype=mat33)
    ends: wp.array2d(dtype=vec3)


@wp.func
def _smooth_rate(at: number):
    """The derivative of a smooth step."""
    x = wp.clamp(at, ZERO, ONE)
    return number(30.0) * x * x * (ONE - x) * (ONE - x)


@wp.func
def _plan(schedule: _Schedule, world: int, time: number, start: numbers, state: _State, q: numbers, q_rate: numbers):
    """Writes the planned pose and its rates, and returns feed, its rate and spin: FollowPosesController::planned."""
    count = schedule.settings[world % schedule.settings.shape[0]].steps
    begins, durations = schedule.begins[world % schedule.begins.shape[0]], schedule.durations
    poses, feeds = schedule.poses[world % schedule.poses.shape[0]], schedule.feeds[world % schedule.feeds.shape[0]]
    spins = schedule.spins[world % schedule.spins.shape[0]]
    i = count - count
    for k in range(1, count):
        if begins[k] <= time:
            i = k
    duration = durations[world % durations.shape[0], i]
    value, rate = number(0.0), number(0.0)
    if duration > ZERO:
        value = smooth_step((time - begins[i]) / duration)
        rate = _smooth_rate((time - begins[i]) / duration) / duration
    elif time >= begins[i]:
        value = number(1.0)
    fraction, fraction_rate = number(1.0), number(0.0)  # from the start to the first pose
    if time < ZERO:
        fraction = smooth_step(ONE + time / state.start_time)
        fraction_rate = _smooth_rate(ONE + time / state.start_time) / state.start_time
    for k in range(q.shape[0]):
        pose = poses[i, k] + value * (poses[i + 1, k] - poses[i, k])
        q[k] = pose
        q_rate[k] = rate * (poses[i + 1, k] - poses[i, k])
        if time < ZERO:
            q[k] = start[k] + fraction * (pose - start[k])
            q_rate[k] = fraction_rate * (pose - start[k])
    feed = feeds[i] + value * (feeds[i + 1] - feeds[i])
    feed_rate = rate * (feeds[i + 1] - feeds[i])
    spin = spins[i] + value * (spins[i + 1] - spins[i])
    if time < ZERO:
        feed_rate = fraction_rate * (feed - state.start_feed)
        feed = state.start_feed + fraction * (feed - state.start_feed)
        spin = state.start_spin + fraction * (spin - state.start_spin)
    return feed, feed_rate, spin


@wp.func
def _begin(arm: Arm, schedule: _Schedule, world: int, settings: _Settings, step: Step, memory: _Memory):
    """Moving to the first pose takes start_delay, or longer if the rate limit requires it."""
    chain, row = schedule.chain, world % schedule.poses.shape[0]
    feed = schedule.feeds[world % schedule.feeds.shape[0], 0]
    spin = schedule.spins[world % schedule.spins.shape[0], 0]
    length = wp.max(wp.abs(feed - step.feed[world]) / number(LENGTH_SCALE), wp.abs(spin - step.spin[world]))
    for k in range(arm.coordinates):
        memory.start[world, k] = step.q[world, k]
    for i in range(chain.sections):
        k = chain.first_coordinate[i]
        u = schedule.poses[row, 0, k] - memory.start[world, k]
        v = schedule.poses[row, 0, k + 1] - memory.start[world, k + 1]
        length = wp.max(length, wp.sqrt(u * u + v * v))
        if chain.first_coordinate[i + 1] > k + 2:
            s = schedule.poses[row, 0, k + 2] - memory.start[world, k + 2]
            length = wp.max(length, wp.abs(s) / number(LENGTH_SCALE))
    duration = wp.max(settings.start_delay, number(SMOOTH_PEAK_RATE) * length / settings.rate_limit)
    memory.state[world].start_feed = step.feed[world]
    memory.state[world].start_spin = step.spin[world]
    memory.state[world].start_time = duration
    memory.state[world].time = -duration
    memory.state[world].started = True


@wp.kernel(module="unique", enable_backward=False)
def _command(arm: Arm, schedule: _Schedule, integral: Integral, step: Step, memory: _Memory):
    world = wp.tid()
    h, n = arm.timestep, arm.coordinates
    settings = schedule.settings[world % schedule.settings.shape[0]]
    if not memory.state[world].started:
        _begin(arm, schedule, world, settings, step, memory)
    state = memory.state[world]
    q, q_rate, start = step.command[world], step.q_rate[world], memory.start[world]

    # 1. Planned pose now, and the error of the measured tip.
    feed, feed_rate, spin = _plan(schedule, world, state.time, start, state, q, q_rate)
    functions.end_frames(schedule.chain, q, feed, spin, memory.rotations[world], memory.ends[world])
    meant = memory.ends[world, schedule.chain.sections]
    error = meant - step.tip[world]
    memory.tip_error[world] = wp.length(meant - memory.true_tip[world])

    # 2. Jam: tip error or feed force above its limit for the time `jam_time`; it lasts.
    force = wp.abs(feed_force(arm, world, step, state.feed_setpoint))
    blocked = wp.length(error) > settings.jam_tip_error or force >= settings.jam_feed_force
    blocked_time = number(0.0)
    if blocked and state.time >= ZERO:
        blocked_time = state.blocked_time + h
    memory.state[world].blocked_time = blocked_time
    jammed = state.jammed or blocked_time > settings.jam_time
    memory.state[world].jammed = jammed

    # 3. One step of the schedule. A jam stops it.
    time = wp.where(jammed, state.time, wp.min(state.time + h, settings.duration))
    memory.state[world].time = time
    next_feed, next_rate, next_spin = _plan(schedule, world, time, start, state, q, q_rate)
    if time == state.time:
        next_rate = number(0.0)
        for k in range(n):
            q_rate[k] = ZERO
    step.feed_command[world] = next_feed
    step.feed_rate[world] = next_rate
    step.spin_command[world] = next_spin
    memory.state[world].feed_setpoint = feed_setpoint(arm, world, step)

    # 4. Correct on the measured tip.
    integrate(arm, world, error, vec3(), 3, jammed, integral, step)
    for k in range(n):
        q[k] = q[k] + integral.correction[world, k]
    compensate_deflection(arm, world, step)
    status = wp.where(time >= settings.duration, FINISHED, WORKING)
    memory.status[world] = wp.where(jammed, JAMMED, status)
    memory.progress[world] = wp.clamp(time / settings.duration, ZERO, ONE)


@wp.kernel(module="unique", enable_backward=False)
def _forget(chosen: wp.array(dtype=bool), integral: Integral, memory: _Memory):
    world = wp.tid()
    if chosen[world]:
        memory.state[world] = _State()
        forget_integral(world, integral)


class FollowPoses(ControllerOfPath):
    """The controller of one arm in all worlds."""

    def __init__(self, tables: Sequence[Table], model: Any, count: int, device: Any) -> None:
        """
        :param tables: of the arm, from `tendril._sim.controlled_robots`: one, or one for each world
        :raises ModelError: what this controller does not do on a device
        """
        self._bound = bound = BoundArm(tables, model, count, device)
        if any("poses" not in one for one in tables):
            raise td.ModelError(f"{bound.name}: poses: must be given in all worlds, or in none")
        schedule = _Schedule()
        schedule.chain = chain_of(bound.robot, wp.float64, device)
        schedule.settings = wp.array([_settings_of(one) for one in tables], dtype=_Settings, device=device)
        for key in ("poses", "feeds", "begins", "durations"):
            values = stacked([np.asarray(one["poses"][key]) for one in tables])
            setattr(schedule, key, bound.numbers(values))
        schedule.spins = bound.numbers(stacked([_spins_of(one) for one in tables]))
        self._schedule = schedule
        memory = _Memory()
        memory.state, memory.status = bound.zeros(kind=_State), bound.zeros(kind=int)
        memory.start = bound.zeros(bound.arm.coordinates)
        memory.tip_error, memory.progress = bound.zeros(), bound.zeros()
        memory.true_tip = bound.true.tip
        frames = len(bound.robot.sections) + 1
        memory.rotations, memory.ends = bound.zeros(frames, kind=mat33), bound.zeros(frames, kind=vec3)
        self._memory = self._told = memory

    @property
    def tip_error(self) -> Any:
        """Distance of each world's tip from that of the planned pose in the last step, (count,), m."""
        return self._memory.tip_error

    def reset(self, chosen: Any) -> None:
        """Empties the memory of the chosen worlds, (count,) of bool."""
        self._bound.reset(chosen)
        self._bound.launch(_forget, [chosen, self._bound.integral, self._memory])

    def before_actuation(self, model: Any, data: Any) -> None:
        """Reads the positions of this step, and writes `ctrl`."""
        bound = self._bound
        bound.measure(model, data)
        bound.launch(_command, [bound.arm, self._schedule, bound.integral, bound.seen, self._memory])
        bound.write_setpoints(data)


def _spins_of(table: Table) -> Any:
    """Of the base at each pose, rad; 0 of one that does not spin."""
    lines = [line for line in table["settings"]["poses"].splitlines() if line.strip() and not line.startswith("#")]
    return np.array([float(row.get("omega0", 0.0)) for row in csv.DictReader(lines, skipinitialspace=True)])


def _settings_of(table: Table) -> Any:
    texts, settings = table["settings"], _Settings()
    for key in ("start_delay", "rate_limit", "jam_tip_error", "jam_time"):
        setattr(settings, key, float(texts[key]))
    settings.jam_feed_force = jam_feed_force(table)
    settings.duration, settings.steps = table["poses"]["duration"], len(table["poses"]["begins"])
    return settings


def jam_feed_force(table: Table) -> float:
    """At which the feed stops, N."""
    limit = table["servos"][table["feed"]["servo"]]["max_force"] if "feed" in table else math.inf
    return float(table["settings"].get("jam_feed_force") or 0.98 * limit)
