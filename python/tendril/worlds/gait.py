"""Gaits of `tendril.snake` as kernels, one thread for each world: the steps of controllers/snake/gait_controller.cpp.

In float64, whatever the engine's numbers are. Source: docs/theory/snakes.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np
import warp as wp

import tendril as td
from tendril.worlds import ground as on_ground
from tendril.worlds import watch
from tendril.worlds.arm import smooth_step, wide
from tendril.worlds.bound_snake import BoundSnake
from tendril.worlds.controller import ControllerOfPath
from tendril.worlds.tables import Table, require_same

_number, _vec2, _vec3 = wp.float64, wp.vec2d, wp.vec3d
_Ground, _GroundMemory, _Guidance = on_ground.Ground, on_ground.Memory, on_ground.Guidance
_guide, _desired_bend, _forget_path, _remainder = (
    on_ground.guide, on_ground.desired_bend, on_ground.forget, on_ground.wrapped
)  # fmt: skip
_Progress, _Advance, _progresses, _add_advance = watch.Progress, watch.Advance, watch.progresses, watch.add_advance
PI, TURN = on_ground.PI, on_ground.TURN
FULL_TURN_ERROR, SIDE_CHANGE_ERROR = _number(math.radians(45.0)), _number(math.radians(100.0))
SIDE_CHANGE_PAUSE, SIDE_FADE_TIME = _number(2.0), _number(0.5)  # s
TURN_RATE, FREQUENCY_RATE = _number(4.0), _number(4.0)  # 1/s
TURN_TWIST = _number(1.5)
YAW_OFFSET_GAIN, MAX_YAW_OFFSET = _number(0.42), _number(0.35)  # rad/rad, rad
SLOW_DISTANCE, MIN_FACTOR = _number(0.35), _number(0.4)  # m
SETTLE_TIME = _number(1.0)  # s
WRAPPED_FRACTION, WRAP_PITCH = _number(0.7), _number(0.5)
SLOW_HEIGHT, MIN_CLIMB_FACTOR = _number(0.03), _number(0.25)  # m
FRONT_LENGTH = _number(0.6)  # of the body
SPEED_PERIODS, MIN_SPEED_FACTOR = _number(2.0), _number(0.05)
ZERO, HALF, ONE, TWO = (_number(x) for x in (0.0, 0.5, 1.0, 2.0))
BINS = 40  # of a period
WORKING, FINISHED, INVALID_TARGET, NO_PROGRESS, NOT_REACHED = (
    wp.constant(int(status))
    for status in (
        td.ControllerStatus.WORKING,
        td.ControllerStatus.FINISHED,
        td.ControllerStatus.INVALID_TARGET,
        td.ControllerStatus.NO_PROGRESS,
        td.ControllerStatus.NOT_REACHED,
    )
)
_KINDS = ("sidewinding", "vertical_wave", "serpenoid", "anguilliform", "rolling", "helix")
SIDEWINDING, LAST_YAWING = wp.constant(0), wp.constant(3)  # vertical_wave to anguilliform turn by a yaw offset
VERTICAL_WAVE = wp.constant(1)
_WRAPS = ("no", "left", "right")
NO_WRAP, RIGHT = wp.constant(0), wp.constant(2)
CLOSING, ROLLING, HOLDING, RELEASING = (wp.constant(i) for i in range(4))

_ALLOWED = {  # settings that not every value of is known here
    "mode": ("gait",),
    "measured": ("truth", "sensors"),
    "measurement_faults": ("",),
}


@wp.struct
class _Stage:
    """A gait of the schedule."""

    time: _number  # begins, s
    kind: int
    yaw_amplitude: _number
    pitch_amplitude: _number
    yaw_lead: _number
    pitch_lead: _number
    lag: _number
    frequency: _number
    growth: _number


@wp.struct
class _Settings:
    """Of one world."""

    fade_time: _number
    ramp_time: _number
    steering: _number
    speed: _number
    goal_tolerance: _number
    stall_periods: _number
    hold_time: _number
    release_time: _number  # 0: it holds
    joint_limit: _number
    wrap: int


@wp.struct
class _Snake:
    """A snake as bound to the model; of `settings`, `stages`, `goals` and `heights` there is one row for each world,
    or one for all."""

    base_body: int
    tail_site: int
    tip_site: int
    target_mocap: int  # -1: no target
    length: _number  # of the body, m
    joint: wp.array(dtype=int)
    control: wp.array(dtype=int)  # of each joint, in ctrl
    slide: int  # of the carriage, which stays where it is; -1: none
    slide_control: int
    timestep: _number
    settings: wp.array(dtype=_Settings)
    stages: wp.array2d(dtype=_Stage)
    goals: wp.array2d(dtype=_vec2)
    heights: wp.array2d(dtype=_number)


@wp.struct
class _State:
    """The controller's memory in one world, but for its arrays."""

    started: bool
    time: _number
    phase: _number
    factor: _number
    from_stage: int
    to_stage: int
    fade_start: _number
    side: _number
    side_target: _number
    side_time: _number
    turn: _number
    roll: _number
    goal: int
    climbing: int
    height: int
    stage_time: _number
    held: _number
    speed_factor: _number
    start_center: _vec3
    last_center: _vec3
    nearest: _number  # least distance from the present height, m
    bin: int
    heading: _number
    mean_speed: _number


@wp.struct
class _Memory:
    """The controller's memory, a row for each world; and what it reports."""

    state: wp.array(dtype=_State)
    start_angles: wp.array2d(dtype=_number)
    segment: wp.array(dtype=_vec2)
    bin_time: wp.array2d(dtype=_number)
    bin_center: wp.array2d(dtype=_vec3)
    bin_heading: wp.array2d(dtype=_vec2)
    watch: wp.array(dtype=_Progress)
    advance: wp.array(dtype=_Advance)
    status: wp.array(dtype=int)
    progress: wp.array(dtype=_number)
    goals: wp.array(dtype=int)


@wp.func
def _towards(value: _number, goal: _number, step: _number):
    return value + wp.clamp(goal - value, -step, step)


@wp.func
def _row(rows: int, world: int):
    return world % rows


@wp.func
def _gait(snake: _Snake, world: int, stage: int):
    return snake.stages[_row(snake.stages.shape[0], world), stage]


@wp.struct
class _Motion:
    """In one step, by which a task is evaluated."""

    moved: _vec3  # by the center of mass, m
    periods: _number  # of the gait


@wp.struct
class _Steering:
    """GaitSteering."""

    yaw_offset: _number
    side: _number
    twist: _number
    roll: _number


@wp.func
def _angle(gait: _Stage, j: int, joints: int, phase: _number, steering: _Steering):
    """Of joint j = 1..n: gait_angles."""
    x, n = _number(j), _number(joints)
    wave = phase - gait.lag * x
    here = _number(1.0)
    if gait.growth != ZERO:
        here = ONE - gait.growth * (x - ONE) / (n - ONE)
    yaw = gait.yaw_amplitude * here * wp.sin(wave + gait.yaw_lead) + steering.yaw_offset
    weight = steering.side + steering.twist * (TWO * x - n - ONE) / n
    pitch = gait.pitch_amplitude * weight * wp.sin(wave + gait.pitch_lead)
    c, s = wp.cos(steering.roll), wp.sin(steering.roll)
    return wp.where(j % 2 == 1, c * yaw + s * pitch, c * pitch - s * yaw)


@wp.func
def _steered(gait: _Stage, j: int, joints: int, state: _State, follows_path: bool):
    """The same, with GaitController::steering."""
    steering = _Steering()
    steering.side = ONE
    if gait.kind == VERTICAL_WAVE and not follows_path:
        steering.roll = state.roll
    if gait.kind == SIDEWINDING:
        steering.side = state.side * (ONE - wp.abs(state.turn))
        steering.twist = TURN_TWIST * state.turn
    elif gait.kind <= LAST_YAWING:
        steering.yaw_offset = MAX_YAW_OFFSET * state.turn
    return _angle(gait, j, joints, state.phase, steering)


@wp.func
def _begin(snake: _Snake, world: int, center: _vec3, along: _vec3, memory: _Memory):
    gait, wrap = _gait(snake, world, 0), snake.settings[_row(snake.settings.shape[0], world)].wrap
    memory.state[world].started = True
    memory.state[world].side_time = -SIDE_CHANGE_PAUSE
    memory.state[world].start_center = center
    memory.state[world].last_center = center
    memory.segment[world] = _vec2(center[0], center[1])
    memory.state[world].heading = wp.atan2(along[1], along[0])
    if wrap != NO_WRAP:
        middle = HALF * _number(snake.joint.shape[0] + 1)
        memory.state[world].phase = _remainder(gait.lag * middle + wp.where(wrap == RIGHT, PI, ZERO))


@wp.func
def _fade(snake: _Snake, world: int, settings: _Settings, memory: _Memory):
    """Begins the change to the next gait of the schedule."""
    state = memory.state[world]
    duration = wp.where(state.from_stage < 0, settings.ramp_time, settings.fade_time)
    following = state.to_stage + 1
    if state.time < state.fade_start + duration or following >= snake.stages.shape[1]:
        return
    if state.time < _gait(snake, world, following).time:
        return
    memory.state[world].from_stage = state.to_stage
    memory.state[world].to_stage = following
    memory.state[world].fade_start = state.time
    memory.advance[world] = _Advance()


@wp.func
def _require_progress(
    snake: _Snake, world: int, settings: _Settings, gained: _number, angle: _number, motion: _Motion, memory: _Memory
):
    if not _progresses(memory.watch, world, gained, angle, motion.periods, snake.length, settings.stall_periods):
        memory.status[world] = NO_PROGRESS


@wp.func
def _average(snake: _Snake, world: int, settings: _Settings, center: _vec3, along: _vec3, memory: _Memory):
    """Heading and speed over the last period."""
    state = memory.state[world]
    fraction = state.phase / TURN
    fraction -= wp.floor(fraction)
    bin = wp.clamp(int(fraction * _number(40.0)), 0, BINS - 1)
    if bin == state.bin:
        return
    memory.state[world].bin = bin
    last = memory.bin_time[world, bin]
    if last >= ZERO and state.time > last:
        advance = wp.length(center - memory.bin_center[world, bin])
        memory.state[world].mean_speed = advance / (state.time - last)
        _add_advance(memory.advance, world, advance, ONE / _number(40.0), snake.length, settings.stall_periods)
    memory.bin_time[world, bin] = state.time
    memory.bin_center[world, bin] = center
    memory.bin_heading[world, bin] = _vec2(along[0], along[1])
    sum = _vec2()
    for b in range(BINS):
        sum += memory.bin_heading[world, b]
    memory.state[world].heading = wp.atan2(sum[1], sum[0])


@wp.func
def _set_turn(world: int, turn: _number, h: _number, memory: _Memory):
    memory.state[world].turn = _towards(memory.state[world].turn, wp.clamp(turn, -ONE, ONE), TURN_RATE * h)


@wp.func
def _turn_to(world: int, kind: int, direction: _number, heading: _number, h: _number, memory: _Memory):
    """Turns the motion towards a direction, and returns how far it is from it, >= 0."""
    state = memory.state[world]
    error = _remainder(direction - heading)
    turn = YAW_OFFSET_GAIN * error / MAX_YAW_OFFSET
    side_target = state.side_target
    if kind == SIDEWINDING:
        error = _remainder(error - side_target * HALF * PI)
        if wp.abs(error) > SIDE_CHANGE_ERROR and state.time >= state.side_time + SIDE_CHANGE_PAUSE:
            side_target = -side_target
            memory.state[world].side_time = state.time
            error = _remainder(error + PI)
        turn = error / FULL_TURN_ERROR
    _set_turn(world, turn, h, memory)
    memory.state[world].side_target = side_target
    memory.state[world].side = _towards(state.side, side_target, TWO / SIDE_FADE_TIME * h)
    return wp.abs(error)


@wp.func
def _steer(
    snake: _Snake, world: int, settings: _Settings, center: _vec3, target: _vec3, motion: _Motion, memory: _Memory
):
    """To goals or a target, or as steered; the factor of the frequency."""
    h = snake.timestep
    p = _vec2(center[0], center[1])
    row, count = _row(snake.goals.shape[0], world), snake.goals.shape[1]
    index = memory.state[world].goal
    if index < count and wp.length(snake.goals[row, index] - p) <= settings.goal_tolerance:
        index += 1
        memory.state[world].goal = index
        memory.segment[world] = p
        memory.watch[world] = _Progress()
    memory.goals[world] = index
    if index >= count and snake.target_mocap < 0:
        if count == 0:
            _set_turn(world, settings.steering, h, memory)
            if memory.advance[world].stalled > settings.stall_periods:
                memory.status[world] = NO_PROGRESS
            return ONE
        _set_turn(world, ZERO, h, memory)
        lost = wp.length(snake.goals[row, count - 1] - p) > TWO * settings.goal_tolerance
        memory.status[world] = wp.where(lost, NO_PROGRESS, FINISHED)
        memory.progress[world] = ONE
        return ZERO
    goal = _vec2(target[0], target[1])
    if index < count:
        goal = snake.goals[row, index]
    to_goal = goal - p
    distance = wp.length(to_goal)
    if not wp.isfinite(distance):
        memory.status[world] = INVALID_TARGET
        memory.progress[world] = ZERO
        return ZERO
    part = wp.clamp(ONE - distance / wp.length(goal - memory.segment[world]), ZERO, ONE)
    memory.progress[world] = (_number(index) + part) / _number(wp.max(count, 1))
    if snake.target_mocap >= 0 and distance <= settings.goal_tolerance:
        memory.status[world] = FINISHED
        memory.watch[world] = _Progress()
        _set_turn(world, ZERO, h, memory)
        return ZERO
    kind = _gait(snake, world, memory.state[world].to_stage).kind
    angle = _turn_to(world, kind, wp.atan2(to_goal[1], to_goal[0]), memory.state[world].heading, h, memory)
    gained = wp.dot(to_goal, _vec2(motion.moved[0], motion.moved[1])) / distance
    _require_progress(snake, world, settings, gained, angle, motion, memory)
    return wp.clamp(distance / SLOW_DISTANCE, MIN_FACTOR, ONE)


@wp.func
def _bend_along_path(snake: _Snake, world: int, ground: _Ground, path: _GroundMemory):
    """Moves the offsets of the yaw joints towards those with which the body lies on its path."""
    n = snake.joint.shape[0]
    row = _row(ground.link_lengths.shape[0], world)
    from_head = _number(0.0)
    for back in range(n):
        j = n - 1 - back
        from_head += ground.link_lengths[row, j + 1]
        desired = _desired_bend(ground, world, j, from_head, path)
        desired = wp.clamp(desired, -MAX_YAW_OFFSET, MAX_YAW_OFFSET)
        path.bends[world, j] = _towards(path.bends[world, j], desired, TURN_RATE * MAX_YAW_OFFSET * snake.timestep)


@wp.func
def _follow(
    snake: _Snake,
    world: int,
    settings: _Settings,
    center: _vec3,
    target: _vec3,
    heading: _number,
    motion: _Motion,
    ground: _Ground,
    path: _GroundMemory,
    memory: _Memory,
):
    """Along a path, or to goals among obstacles; the factor of the frequency."""
    h = snake.timestep
    guidance = _guide(ground, world, _vec2(center[0], center[1]), heading, path)
    _bend_along_path(snake, world, ground, path)
    if guidance.goals > memory.goals[world]:
        memory.watch[world] = _Progress()
    memory.goals[world] = guidance.goals
    memory.progress[world] = guidance.progress
    if snake.target_mocap >= 0:
        moved = wp.length(_vec2(target[0], target[1]) - guidance.goal)
        if not moved <= settings.goal_tolerance:
            memory.status[world] = INVALID_TARGET
            return ZERO
    if guidance.finished:
        lost = guidance.path_error > TWO * settings.goal_tolerance
        memory.status[world] = wp.where(lost, NO_PROGRESS, FINISHED)
        _set_turn(world, ZERO, h, memory)
        return ZERO
    if not guidance.has_path:
        memory.status[world] = NOT_REACHED
        return ZERO
    kind = _gait(snake, world, memory.state[world].to_stage).kind
    angle = _turn_to(world, kind, guidance.direction, heading, h, memory)
    _require_progress(snake, world, settings, guidance.gained, angle, motion, memory)
    return wp.clamp(guidance.remaining / SLOW_DISTANCE, MIN_FACTOR, ONE)


@wp.func
def _enter(world: int, climbing: int, memory: _Memory):
    memory.state[world].climbing = climbing
    memory.state[world].stage_time = memory.state[world].time


@wp.func
def _begin_roll(snake: _Snake, world: int, rise: _number, memory: _Memory):
    _enter(world, ROLLING, memory)
    height = snake.heights[_row(snake.heights.shape[0], world), memory.state[world].height]
    memory.state[world].nearest = wp.abs(height - rise)
    memory.watch[world] = _Progress()


@wp.func
def _roll(snake: _Snake, world: int, settings: _Settings, rise: _number, motion: _Motion, memory: _Memory):
    """Towards the height; holds once it is passed. The factor of the frequency."""
    state = memory.state[world]
    row = _row(snake.heights.shape[0], world)
    height = snake.heights[row, state.height]
    before = _number(0.0)
    if state.height > 0:
        before = snake.heights[row, state.height - 1]
    remaining = height - rise
    memory.state[world].nearest = wp.min(state.nearest, wp.abs(remaining))
    _require_progress(snake, world, settings, wp.sign(remaining) * motion.moved[2], ZERO, motion, memory)
    if wp.abs(remaining) > memory.state[world].nearest + settings.goal_tolerance:
        memory.status[world] = NO_PROGRESS
    if (height - before) * remaining <= ZERO:
        _enter(world, HOLDING, memory)
        memory.state[world].held = rise
        return ZERO
    gait = _gait(snake, world, state.to_stage)
    factor = wp.clamp(wp.abs(remaining) / SLOW_HEIGHT, MIN_CLIMB_FACTOR, ONE)
    return -wp.sign(gait.lag * gait.frequency) * wp.sign(remaining) * factor


@wp.func
def _hold(snake: _Snake, world: int, settings: _Settings, rise: _number, memory: _Memory):
    """For the hold time; then rolls to the next height, or releases the pole."""
    state = memory.state[world]
    row = _row(snake.heights.shape[0], world)
    settled = state.stage_time + SETTLE_TIME
    if state.factor != ZERO or state.time < settled:
        memory.state[world].held = rise
    if state.time >= settled + settings.hold_time:
        if state.height + 1 < snake.heights.shape[1]:
            memory.state[world].height = state.height + 1
            _begin_roll(snake, world, rise, memory)
        elif settings.release_time > ZERO:
            _enter(world, RELEASING, memory)
        else:
            memory.status[world] = FINISHED
    if wp.abs(snake.heights[row, state.height] - rise) > settings.goal_tolerance:
        memory.status[world] = NO_PROGRESS


@wp.func
def _climb(snake: _Snake, world: int, settings: _Settings, rise: _number, motion: _Motion, memory: _Memory):
    """Closes the helix; then, for each height, rolls there and holds; then releases. The factor of the frequency."""
    state = memory.state[world]
    factor = _number(0.0)
    if state.climbing == CLOSING:
        if state.time >= state.stage_time + settings.ramp_time + SETTLE_TIME:
            _begin_roll(snake, world, rise, memory)
    elif state.climbing == ROLLING:
        factor = _roll(snake, world, settings, rise, motion, memory)
    elif state.climbing == HOLDING:
        _hold(snake, world, settings, rise, memory)
    elif state.time >= state.stage_time + settings.release_time:
        memory.status[world] = FINISHED
    goals = memory.state[world].height + wp.where(memory.state[world].climbing >= HOLDING, 1, 0)
    memory.goals[world] = goals
    memory.progress[world] = _number(goals) / _number(snake.heights.shape[1])
    return factor


@wp.func
def _keep_speed(snake: _Snake, world: int, settings: _Settings, memory: _Memory):
    """The frequency factor at which the measured speed is the desired one."""
    state = memory.state[world]
    if settings.speed <= ZERO:
        return ONE
    frequency = wp.abs(_gait(snake, world, state.to_stage).frequency) * state.speed_factor
    if state.mean_speed > ZERO and frequency > ZERO:
        ratio = wp.clamp(settings.speed / state.mean_speed, HALF, TWO)
        desired = wp.clamp(ratio * state.speed_factor, MIN_SPEED_FACTOR, ONE)
        share = wp.min(ONE, snake.timestep * frequency / SPEED_PERIODS)
        memory.state[world].speed_factor = state.speed_factor + (desired - state.speed_factor) * share
    return memory.state[world].speed_factor


@wp.kernel(module="unique", enable_backward=False)
def _update(
    snake: _Snake,
    qpos_address: wp.array(dtype=int),
    qpos: wp.array2d(dtype=float),
    subtree_com: wp.array2d(dtype=wp.vec3),
    site_xpos: wp.array2d(dtype=wp.vec3),
    site_xmat: wp.array2d(dtype=wp.mat33),
    mocap_pos: wp.array2d(dtype=wp.vec3),
    ground: _Ground,
    path: _GroundMemory,
    memory: _Memory,
    ctrl: wp.array2d(dtype=float),
):
    world = wp.tid()
    settings = snake.settings[_row(snake.settings.shape[0], world)]
    n, h = snake.joint.shape[0], snake.timestep
    center = wide(subtree_com[world, snake.base_body])
    along = wide(site_xpos[world, snake.tip_site]) - wide(site_xpos[world, snake.tail_site])
    target = _vec3()
    if snake.target_mocap >= 0:
        target = wide(mocap_pos[world, snake.target_mocap])
    memory.status[world] = WORKING
    memory.progress[world] = ZERO
    if not memory.state[world].started:
        _begin(snake, world, center, along, memory)
        for i in range(n):
            memory.start_angles[world, i] = _number(qpos[world, qpos_address[snake.joint[i]]])
    _fade(snake, world, settings, memory)
    _average(snake, world, settings, center, along, memory)
    motion = _Motion()
    motion.moved = center - memory.state[world].last_center
    frequency = _gait(snake, world, memory.state[world].to_stage).frequency
    motion.periods = wp.abs(frequency * memory.state[world].factor) * h
    memory.state[world].last_center = center

    # 1. The task: the factor of the frequency.
    factor = _number(1.0)
    follows_path = ground.settings.shape[0] > 0
    if follows_path:
        heading = memory.state[world].heading
        if on_ground.settings_in(ground, world).is_head_first:
            tail = site_xmat[world, snake.tail_site]
            heading = wp.atan2(_number(tail[1, 0]), _number(tail[0, 0]))
            row = _row(ground.heading_weights.shape[0], world)
            for i in range(n):
                q = _number(qpos[world, qpos_address[snake.joint[i]]])
                heading += ground.heading_weights[row, i] * q
        factor = _follow(snake, world, settings, center, target, heading, motion, ground, path, memory)
    elif snake.heights.shape[1] > 0:
        factor = _climb(snake, world, settings, center[2] - memory.state[world].start_center[2], motion, memory)
    else:
        factor = _steer(snake, world, settings, center, target, motion, memory)
    factor *= _keep_speed(snake, world, settings, memory)
    memory.state[world].factor = _towards(memory.state[world].factor, factor, FREQUENCY_RATE * h)
    if memory.state[world].factor != ZERO:
        up = site_xmat[world, snake.tail_site][2] + site_xmat[world, snake.tip_site][2]
        memory.state[world].roll = wp.atan2(_number(up[1]), _number(up[2]))

    # 2. The blend of two gaits on ONE phase, or of the start pose and the first gait.
    state = memory.state[world]
    from_start = state.from_stage < 0
    wraps = from_start and settings.wrap != NO_WRAP
    passed = (state.time - state.fade_start) / wp.where(from_start, settings.ramp_time, settings.fade_time)
    fraction = smooth_step(passed)
    to = _gait(snake, world, state.to_stage)
    opened = to  # the coil that closes around the pole
    phase = state.phase
    if wraps:
        fraction = smooth_step(passed / WRAPPED_FRACTION)
        stretch = smooth_step((passed - WRAPPED_FRACTION) / (ONE - WRAPPED_FRACTION))
        pitch = WRAP_PITCH * fraction + (ONE - WRAP_PITCH) * stretch
        opened.lag = to.lag * pitch
        phase = state.phase - (to.lag - opened.lag) * HALF * _number(n + 1)
    frequency = fraction * to.frequency
    since = _gait(snake, world, wp.max(state.from_stage, 0))
    if not from_start:
        frequency += (ONE - fraction) * since.frequency
    unsteered = _Steering()
    unsteered.side = ONE
    front = _number(0.0)  # of the straightening that runs from head to tail
    if state.climbing == RELEASING:
        front = (ONE + FRONT_LENGTH) * (state.time - state.stage_time) / settings.release_time
    for i in range(n):
        begin = memory.start_angles[world, i]
        end = _number(0.0)
        if wraps:
            end = _angle(opened, i + 1, n, phase, unsteered)
        else:
            end = _steered(to, i + 1, n, state, follows_path) + path.bends[world, i]
        if not from_start:
            begin = _steered(since, i + 1, n, state, follows_path)
        angle = wp.clamp((ONE - fraction) * begin + fraction * end, -settings.joint_limit, settings.joint_limit)
        from_head = ONE - _number(i) / _number(n - 1)
        ctrl[world, snake.control[i]] = float(angle * (ONE - smooth_step((front - from_head) / FRONT_LENGTH)))
    if snake.slide >= 0:
        ctrl[world, snake.slide_control] = qpos[world, qpos_address[snake.slide]]
    memory.state[world].phase = _remainder(state.phase + TURN * frequency * state.factor * h)
    memory.state[world].time = state.time + h


@wp.kernel(module="unique", enable_backward=False)
def _forget(chosen: wp.array(dtype=bool), fresh: _State, path: _GroundMemory, memory: _Memory):
    world = wp.tid()
    if not chosen[world]:
        return
    _forget_path(world, path)
    memory.state[world] = fresh
    memory.status[world] = WORKING
    memory.progress[world] = ZERO
    memory.goals[world] = 0
    memory.watch[world] = _Progress()
    memory.advance[world] = _Advance()
    for b in range(BINS):
        memory.bin_time[world, b] = _number(-1.0)
        memory.bin_heading[world, b] = _vec2()


class Gait(ControllerOfPath):
    """The controller of one snake in all worlds."""

    def __init__(self, tables: Sequence[Table], model: Any, count: int, device: Any) -> None:
        """
        :param tables: of the snake, from `tendril._sim.controlled_robots`: one, or one for each world
        :raises ModelError: what this controller does not do on a device
        """
        self._bound = bound = BoundSnake(tables, model, count, device)
        bound.require(_ALLOWED)
        table = tables[0]
        joints = [joint for joint, _ in table["joints"]]
        controls = [model.actuator_ctrladr[actuator] for _, actuator in table["joints"]]

        def numbers_of(key: str, kind: Any, *item: int) -> Any:
            rows = [np.array(one["settings"].get(key, "").split(), dtype=np.float64) for one in tables]
            require_same(tables, key, [len(row) for row in rows])
            return bound.numbers(np.stack(rows).reshape((len(rows), -1, *item)), kind)

        snake = _Snake()
        for key in ("base_body", "tail_site", "tip_site", "target_mocap", "length"):
            setattr(snake, key, bound.same(key))
        snake.slide = -1
        if model.jnt_type[joints[-1]] == mujoco.mjtJoint.mjJNT_SLIDE:
            snake.slide, snake.slide_control = joints.pop(), controls.pop()
        snake.joint, snake.control = bound.integers(joints), bound.integers(controls)
        snake.timestep = model.opt.timestep
        snake.settings = wp.array([_settings_of(one) for one in tables], dtype=_Settings, device=device)
        stages = [[_stage_of(row) for row in one["stages"]] for one in tables]
        require_same(tables, "schedule", [len(row) for row in stages])
        snake.stages = wp.array(sum(stages, []), dtype=_Stage, device=device).reshape((len(stages), -1))
        snake.goals, snake.heights = numbers_of("goals", _vec2, 2), numbers_of("heights", _number)
        self._snake = snake
        self._ground, self._path = on_ground.ground_of(bound), on_ground.memory_of(bound, len(joints))

        memory = _Memory()
        memory.state, memory.segment = bound.zeros(kind=_State), bound.zeros(kind=_vec2)
        memory.start_angles = bound.zeros(len(joints))
        memory.bin_time, memory.bin_center = bound.zeros(BINS), bound.zeros(BINS, kind=_vec3)
        memory.bin_heading = bound.zeros(BINS, kind=_vec2)
        memory.watch, memory.advance = bound.zeros(kind=_Progress), bound.zeros(kind=_Advance)
        memory.status, memory.progress, memory.goals = bound.zeros(kind=int), bound.zeros(), bound.zeros(kind=int)
        self._memory = self._told = memory
        fresh = _State()
        fresh.side = fresh.side_target = fresh.speed_factor = 1.0
        fresh.from_stage = fresh.bin = -1
        self._fresh = fresh

    @property
    def goals(self) -> Any:
        """Goals or heights that each world has reached, (count,)."""
        return self._memory.goals

    def reset(self, chosen: Any) -> None:
        """Empties the memory of the chosen worlds, (count,) of bool."""
        self._bound.reset(chosen)
        self._bound.launch(_forget, [chosen, self._fresh, self._path, self._memory])

    def before_actuation(self, model: Any, data: Any) -> None:
        """Reads the positions of this step, and writes `ctrl`."""
        seen = self._bound.seen(model, data)
        inputs = [self._snake, model.jnt_qposadr, seen.qpos, seen.subtree_com, seen.site_xpos]
        inputs += [seen.site_xmat, data.mocap_pos, self._ground, self._path, self._memory, data.ctrl]
        self._bound.launch(_update, inputs)


def _settings_of(table: Table) -> Any:
    texts, settings = table["settings"], _Settings()
    for key in (
        "fade_time",
        "ramp_time",
        "steering",
        "speed",
        "goal_tolerance",
        "hold_time",
        "release_time",
        "stall_periods",
    ):
        setattr(settings, key, float(texts.get(key) or 0.0))
    settings.joint_limit = table["joint_limit"]
    settings.wrap = _WRAPS.index(texts["wrap"])
    return settings


def _stage_of(row: Table) -> Any:
    stage = _Stage()
    for key, value in row.items():
        setattr(stage, key, _KINDS.index(value) if key == "kind" else value)
    return stage
