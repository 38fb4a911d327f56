"""Sections that turn on their bases, one thread for each world: the steps of controllers/arm/section_turns.cpp.

Source: docs/theory/control.md, "Sections that turn".
"""

from __future__ import annotations

import math
from typing import Any

import warp as wp

from tendril.worlds.arm import Arm, Step, hinge_setpoint, number, rows, twist, untwist
from tendril.worlds.controller import Engine
from tendril.worlds.tables import BoundRobot

NO_DIRECTION = number(1e-4)  # rad, a smaller bend keeps its turn
LEAST_BEND = number(0.05)  # rad, for the rate of a turn
TURN_LIMIT = number(4.0 * math.pi)  # rad, of a section's drive, either way
ZERO, WHOLE_TURN = number(0.0), number(2.0 * math.pi)


@wp.struct
class Turns:
    """The turns of one arm's sections, of numbers one row for each world or one for all."""

    sections: int
    bend: wp.array(dtype=int)  # coordinate u of each section; v is the next one
    joint: wp.array(dtype=int)  # of the model; -1: the section does not turn
    servo: wp.array(dtype=int)
    mass: rows  # of all bodies that a turn moves, kg
    angle: rows  # memory: commanded last, rad, a row for each world


@wp.kernel(module="unique", enable_backward=False)
def measure_turns(turns: Turns, engine: Engine, step: Step):
    """SectionTurns::measure, of the arm that `measure` has measured."""
    world = wp.tid()
    psi, psi_rate = number(0.0), number(0.0)
    for i in range(turns.sections):
        joint = turns.joint[i]
        if joint >= 0:
            psi += number(engine.qpos[world, engine.qpos_address[joint]])
            psi_rate += number(engine.qvel[world, engine.dof_address[joint]])
        untwist(world, turns.bend[i], psi, psi_rate, step)


@wp.kernel(module="unique", enable_backward=False)
def write_turns(arm: Arm, turns: Turns, engine: Engine, step: Step, ctrl: wp.array2d(dtype=float)):
    """SectionTurns::twist: commanded coordinates and rates become those of the joints; and the turns' `ctrl`."""
    world = wp.tid()
    b = world % arm.rows
    psi, psi_rate = number(0.0), number(0.0)
    for i in range(turns.sections):
        k, joint, s = turns.bend[i], turns.joint[i], turns.servo[i]
        u, v = step.command[world, k] + ZERO, step.command[world, k + 1] + ZERO
        u_rate, v_rate = step.q_rate[world, k] + ZERO, step.q_rate[world, k + 1] + ZERO
        if joint >= 0:
            theta = wp.sqrt(u * u + v * v)
            angle, rate = turns.angle[world, i] + ZERO, number(0.0)
            if theta > NO_DIRECTION:
                change = wp.atan2(v, u) - psi - angle
                angle += change - WHOLE_TURN * wp.rint(change / WHOLE_TURN)
                if wp.abs(angle) > TURN_LIMIT:
                    angle -= wp.sign(angle) * WHOLE_TURN
                bend = wp.max(theta, LEAST_BEND)
                rate = (u * v_rate - v * u_rate) / (bend * bend) - psi_rate
            turns.angle[world, i] = angle
            psi += angle
            psi_rate += rate
            desired = angle + arm.settings[b].feed_forward * arm.lag[b, s] * rate
            ctrl[world, arm.control[s]] = hinge_setpoint(arm, engine, world, joint, s, turns.mass[b, i], desired)
        step.q_rate[world, k] = u_rate + psi_rate * v
        step.q_rate[world, k + 1] = v_rate - psi_rate * u
        twist(world, k, psi, step)
        if joint >= 0:
            step.command[world, k + 1] = ZERO
            step.q_rate[world, k + 1] = ZERO


@wp.kernel(module="unique", enable_backward=False)
def forget_turns(chosen: wp.array(dtype=bool), turns: Turns):
    world = wp.tid()
    if chosen[world]:
        for i in range(turns.sections):
            turns.angle[world, i] = ZERO


def turns_for(bound: BoundRobot) -> Any:
    """The turns of an arm in all worlds; none: no section turns."""
    if "turns" not in bound.tables[0]:
        return None
    sections = bound.tables[0]["turns"]
    turns = Turns()
    turns.sections = len(sections)
    for key in ("bend", "joint", "servo"):
        setattr(turns, key, bound.integers([section[key] for section in sections]))
    turns.mass = bound.numbers([[section["mass"] for section in one["turns"]] for one in bound.tables])
    turns.angle = bound.zeros(turns.sections)
    return turns
