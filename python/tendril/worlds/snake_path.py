"""`tendril.snake` along a path, one thread for each world: the steps of controllers/snake/snake_path_controller.cpp.

The C++ controller makes the whole motion of a snake that nothing hinders when it is loaded. Source:
docs/theory/snakes.md, "March from the base", "Growing path".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

import tendril as td
from tendril.worlds.arm import smooth_step, wide, wide_matrix
from tendril.worlds.bound_snake import BoundSnake
from tendril.worlds.controller import ControllerOfPath, Engine, engine_of
from tendril.worlds.tables import Table, require_same, stacked

number, vec3 = wp.float64, wp.vec3d
ZERO, HALF, ONE = number(0.0), number(0.5), number(1.0)
WORKING, JAMMED = wp.constant(int(td.ControllerStatus.WORKING)), wp.constant(int(td.ControllerStatus.JAMMED))
_ALLOWED = {"mode": ("path",), "target": ("",), "measured": ("truth", "sensors"), "measurement_faults": ("",)}


@wp.struct
class _Settings:
    """Of one world."""

    start_delay: number  # s
    gravity_factor: number
    jam_path_error: number  # m
    last: int  # row of the motion


@wp.struct
class _Snake:
    """A snake as bound to the model; of tables there is one row for each world, or one for all."""

    tail_site: int
    tip_site: int
    hinges: int
    joint: wp.array(dtype=int)  # the hinges, then the carriage's slide if it has one
    control: wp.array(dtype=int)  # of each joint, in ctrl
    gain: wp.array2d(dtype=number)
    lag: wp.array2d(dtype=number)  # s
    mass: wp.array2d(dtype=number)  # of all bodies that a joint moves, kg
    gravity: vec3
    timestep: number
    steps: int  # in a period
    settings: wp.array(dtype=_Settings)
    # The motion, a column for each period.
    angles: wp.array3d(dtype=number)
    feed: wp.array2d(dtype=number)  # m
    progress: wp.array2d(dtype=number)
    status: wp.array2d(dtype=int)
    references: wp.array(dtype=vec3, ndim=4)  # next to joints and head: position on the path and its derivatives


@wp.struct
class _State:
    """The controller's memory in one world, but for its arrays."""

    started: bool
    time: number
    step: int  # of the period
    last: int  # period of the last setpoint, and of the next
    next: int
    jammed: bool


@wp.struct
class _Memory:
    """The controller's memory, a row for each world; and what it reports."""

    state: wp.array(dtype=_State)
    start_angles: wp.array2d(dtype=number)
    status: wp.array(dtype=int)
    progress: wp.array(dtype=number)
    path_error: wp.array(dtype=number)


@wp.func
def _settings_in(snake: _Snake, world: int):
    return snake.settings[world % snake.settings.shape[0]]


@wp.func
def _position(snake: _Snake, engine: Engine, world: int, j: int):
    return number(engine.qpos[world, engine.qpos_address[snake.joint[j]]])


@wp.func
def _distance(at: vec3, first: vec3, second: vec3, p: vec3):
    """Of p from a path near `at`, by its osculating parabola there."""
    offset = p - at
    if wp.length_sq(first) == ZERO:
        return wp.length(offset)
    ds = wp.dot(offset, first) / wp.length_sq(first)
    return wp.length(offset - ds * first - HALF * ds * ds * second)


@wp.func
def _path_error(snake: _Snake, engine: Engine, world: int, period: int):
    """Largest distance of a joint or the head from the path."""
    to_base = wp.transpose(wide_matrix(engine.site_xmat[world, snake.tail_site]))
    tail = wide(engine.site_xpos[world, snake.tail_site])
    feed = vec3()
    if snake.joint.shape[0] > snake.hinges:
        feed[0] = _position(snake, engine, world, snake.hinges)
    row = world % snake.references.shape[0]
    largest = number(0.0)
    for j in range(snake.hinges + 1):
        p = wide(engine.site_xpos[world, snake.tip_site])
        if j < snake.hinges:
            p = wide(engine.xanchor[world, snake.joint[j]])
        at, first = snake.references[row, period, j, 0], snake.references[row, period, j, 1]
        second = snake.references[row, period, j, 2]
        largest = wp.max(largest, _distance(at, first, second, to_base * (p - tail) + feed))
    return largest


@wp.func
def _plan(snake: _Snake, engine: Engine, world: int, settings: _Settings, memory: _Memory):
    """Once per period."""
    state = memory.state[world]
    memory.path_error[world] = _path_error(snake, engine, world, state.next)
    memory.state[world].last = state.next
    late = state.time >= settings.start_delay and memory.path_error[world] > settings.jam_path_error
    memory.state[world].jammed = state.jammed or late
    if not memory.state[world].jammed:
        memory.state[world].next = wp.min(state.next + 1, settings.last)


@wp.func
def _load(snake: _Snake, engine: Engine, world: int, j: int):
    """Of gravity on all that a joint moves."""
    joint = snake.joint[j]
    axis, weight = wide(engine.xaxis[world, joint]), snake.mass[world % snake.mass.shape[0], j] * snake.gravity
    if j == snake.hinges:
        return wp.dot(axis, weight)
    com = wide(engine.subtree_com[world, engine.joint_body[joint]])
    return wp.dot(axis, wp.cross(com - wide(engine.xanchor[world, joint]), weight))


@wp.kernel(module="unique", enable_backward=False)
def _update(snake: _Snake, engine: Engine, memory: _Memory, ctrl: wp.array2d(dtype=float)):
    world = wp.tid()
    settings = _settings_in(snake, world)
    if not memory.state[world].started:
        memory.state[world].started = True
        for j in range(snake.hinges):
            memory.start_angles[world, j] = _position(snake, engine, world, j)
    if memory.state[world].step == 0:
        _plan(snake, engine, world, settings, memory)
    state = memory.state[world]

    # Interpolate between the last setpoint and the next; initially from the measured pose.
    fraction = number(state.step + 1) / number(snake.steps)
    duration = number(snake.steps) * snake.timestep
    fade = number(1.0)
    if state.time < settings.start_delay:
        fade = smooth_step(state.time / settings.start_delay)
    row, s = world % snake.angles.shape[0], world % snake.gain.shape[0]
    for j in range(snake.joint.shape[0]):
        desired, rate = number(0.0), number(0.0)
        if j < snake.hinges:
            last = snake.angles[row, state.last, j]
            change = snake.angles[row, state.next, j] - last
            start = memory.start_angles[world, j]
            desired = start + fade * (last + fraction * change - start)
            rate = fade * change / duration
        else:
            i = world % snake.feed.shape[0]
            change = snake.feed[i, state.next] - snake.feed[i, state.last]
            desired = snake.feed[i, state.last] + fraction * change
            rate = change / duration
        load = settings.gravity_factor * _load(snake, engine, world, j)
        ctrl[world, snake.control[j]] = float(desired + snake.lag[s, j] * rate - load / snake.gain[s, j])

    i = world % snake.progress.shape[0]
    before = snake.progress[i, state.last]
    memory.progress[world] = before + fraction * (snake.progress[i, state.next] - before)
    memory.status[world] = wp.where(state.jammed, JAMMED, snake.status[world % snake.status.shape[0], state.next])
    memory.state[world].step = wp.where(state.step + 1 < snake.steps, state.step + 1, 0)
    memory.state[world].time = state.time + snake.timestep


@wp.kernel(module="unique", enable_backward=False)
def _forget(chosen: wp.array(dtype=bool), memory: _Memory):
    world = wp.tid()
    if chosen[world]:
        memory.state[world] = _State()
        memory.status[world] = WORKING
        memory.progress[world] = ZERO
        memory.path_error[world] = ZERO


class SnakePath(ControllerOfPath):
    """The controller of one snake in all worlds."""

    def __init__(self, tables: Sequence[Table], model: Any, count: int, device: Any) -> None:
        """
        :param tables: of the snake, from `tendril._sim.controlled_robots`: one, or one for each world
        :raises ModelError: what this controller does not do on a device
        """
        self._bound = bound = BoundSnake(tables, model, count, device)
        bound.require(_ALLOWED)
        if not all(servo["works"] for one in tables for servo in one["servos"]):
            raise td.ModelError(f"{bound.name}: has a servo without a gain: not supported in worlds")
        motions = [one["motion"] for one in tables]
        require_same(tables, "period", [one["steps"] for one in motions])
        joints = [joint for joint, _ in tables[0]["joints"]]
        snake = _Snake()
        snake.tail_site, snake.tip_site = tables[0]["tail_site"], tables[0]["tip_site"]
        snake.hinges = motions[0]["angles"].shape[1]
        snake.joint = bound.integers(joints)
        snake.control = bound.integers([model.actuator_ctrladr[actuator] for _, actuator in tables[0]["joints"]])
        for key in ("gain", "lag"):
            setattr(snake, key, bound.numbers([[servo[key] for servo in one["servos"]] for one in tables]))
        snake.mass, snake.gravity = bound.numbers([one["masses"] for one in tables]), vec3(*tables[0]["gravity"])
        snake.timestep, snake.steps = model.opt.timestep, motions[0]["steps"]
        snake.settings = wp.array([_settings_of(one) for one in tables], dtype=_Settings, device=device)

        def rows(key: str) -> Any:
            return stacked([np.asarray(one[key]) for one in motions])

        snake.angles, snake.feed, snake.progress = (bound.numbers(rows(key)) for key in ("angles", "feed", "progress"))
        snake.status, snake.references = bound.integers(rows("status")), bound.numbers(rows("references"), vec3)
        self._snake = snake
        memory = _Memory()
        memory.state, memory.status = bound.zeros(kind=_State), bound.zeros(kind=int)
        memory.start_angles = bound.zeros(snake.hinges)
        memory.progress, memory.path_error = bound.zeros(), bound.zeros()
        self._memory = self._told = memory

    @property
    def path_error(self) -> Any:
        """Largest distance of a joint of each world from its path, at the last period, (count,), m."""
        return self._memory.path_error

    def reset(self, chosen: Any) -> None:
        """Empties the memory of the chosen worlds, (count,) of bool."""
        self._bound.reset(chosen)
        self._bound.launch(_forget, [chosen, self._memory])

    def before_actuation(self, model: Any, data: Any) -> None:
        """Reads the positions of this step, and writes `ctrl`."""
        engine = engine_of(model, self._bound.seen(model, data))
        self._bound.launch(_update, [self._snake, engine, self._memory, data.ctrl])


def _settings_of(table: Table) -> Any:
    texts, settings = table["settings"], _Settings()
    for key in ("start_delay", "gravity_factor", "jam_path_error"):
        setattr(settings, key, float(texts[key]))
    settings.last = len(table["motion"]["feed"]) - 1
    return settings
