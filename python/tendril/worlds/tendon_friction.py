"""Friction of tendons that grows with tension and bend, one thread for each world.

The steps of controllers/arm/tendon_friction.cpp. Source: docs/theory/chain.md, "Friction of tendons".
"""

from __future__ import annotations

import tomllib
from typing import Any

import mujoco
import numpy as np
import warp as wp

from tendril.worlds.arm import Step, number, rows
from tendril.worlds.kinematics import first_coordinates
from tendril.worlds.tables import BoundRobot

TENDON = wp.constant(int(mujoco.mjtConstraint.mjCNSTR_FRICTION_TENDON))
LEAST = number(1e-15)  # N, mjMINVAL
ZERO, ONE = number(0.0), number(1.0)


@wp.struct
class Friction:
    """Of the tendons of one arm; of coefficients one row for each world, or one for all."""

    bend: wp.array(dtype=int)  # coordinate u of each section; v is the next one
    coefficient: rows
    actuator: wp.array(dtype=int)  # of each tendon
    place: wp.array(dtype=int)  # in `drop`, of each tendon of the model; -1: it has none
    # Memory of the last step, a row for each world.
    tension: rows  # at the base, N
    drop: rows  # of each tendon's tension in each section, N
    limit: rows  # scratch: of the drop, either way


@wp.struct
class Constraints:
    """Of the engine, a row for each world."""

    equalities: wp.array(dtype=int)  # their number
    frictions: wp.array(dtype=int)  # which come after them
    kind: wp.array2d(dtype=int)
    tendon: wp.array2d(dtype=int)  # of the model
    limit: wp.array2d(dtype=float)
    force: wp.array2d(dtype=float)


@wp.func
def _place_of(friction: Friction, constraints: Constraints, world: int, row: int):
    if constraints.kind[world, row] == TENDON:
        return friction.place[constraints.tendon[world, row]]
    return -1


@wp.func
def _last_row(constraints: Constraints, world: int):
    return wp.min(constraints.equalities[world] + constraints.frictions[world], constraints.kind.shape[1])


@wp.kernel(module="unique", enable_backward=False)
def limit_friction(friction: Friction, step: Step, constraints: Constraints):
    """tendon_friction_limits, into the engine's constraints."""
    world = wp.tid()
    sections = friction.bend.shape[0]
    for t in range(friction.actuator.shape[0]):
        coefficient = friction.coefficient[world % friction.coefficient.shape[0], t]
        tension = friction.tension[world, t] + ZERO
        for i in range(sections):
            u, v = step.q[world, friction.bend[i]], step.q[world, friction.bend[i] + 1]
            grip, drop = coefficient * wp.sqrt(u * u + v * v), friction.drop[world, sections * t + i]
            tension = wp.max(tension, ZERO)
            friction.limit[world, sections * t + i] = tension * wp.where(
                drop >= ZERO, ONE - wp.exp(-grip), wp.exp(grip) - ONE
            )
            tension -= drop
    for row in range(constraints.equalities[world], _last_row(constraints, world)):
        place = _place_of(friction, constraints, world, row)
        if place >= 0:
            constraints.limit[world, row] = float(wp.max(friction.limit[world, place], LEAST))


@wp.kernel(module="unique", enable_backward=False)
def keep_friction(friction: Friction, actuator_force: wp.array2d(dtype=float), constraints: Constraints):
    """At the end of a step."""
    world = wp.tid()
    for t in range(friction.actuator.shape[0]):
        force = number(actuator_force[world, friction.actuator[t]])
        friction.tension[world, t] = wp.where(wp.isfinite(force), force, ZERO)
    for row in range(constraints.equalities[world], _last_row(constraints, world)):
        place = _place_of(friction, constraints, world, row)
        if place >= 0:
            force = number(constraints.force[world, row])
            friction.drop[world, place] = wp.where(wp.isfinite(force), force, ZERO)


@wp.kernel(module="unique", enable_backward=False)
def forget_friction(chosen: wp.array(dtype=bool), friction: Friction):
    world = wp.tid()
    if chosen[world]:
        for t in range(friction.tension.shape[1]):
            friction.tension[world, t] = ZERO
        for i in range(friction.drop.shape[1]):
            friction.drop[world, i] = ZERO


def constraints_of(data: Any) -> Any:
    """The engine's constraints."""
    constraints = Constraints()
    constraints.equalities, constraints.frictions = data.ne, data.nf
    constraints.kind, constraints.tendon = data.efc.type, data.efc.id
    constraints.limit, constraints.force = data.efc.frictionloss, data.efc.force
    return constraints


def friction_for(bound: BoundRobot, model: Any, robot: Any) -> Any:
    """The friction of an arm's tendons in all worlds; none: it has none."""
    if not bound.tables[0]["has_tendon_friction"]:
        return None
    friction, table = Friction(), bound.tables[0]
    actuators = [one["actuator"] for one in table["tendon_drive"]["tendons"]]
    coefficients = np.zeros((len(bound.tables), len(actuators)))  # of chambers, too
    for row, one in zip(coefficients, bound.tables, strict=True):
        tendons = tomllib.loads(one["settings"]["robot"])["tendon"]
        row[: len(tendons)] = [tendon.get("friction_coefficient", 0.0) for tendon in tendons]
    sections = len(robot.sections)
    place = np.full(model.ntendon, -1)
    for t, actuator in enumerate(actuators):
        name = model.tendon(model.actuator_trnid[actuator, 0]).name
        for i in range(sections):
            of_section = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_TENDON, f"{name}_friction_{i + 1}")
            if of_section >= 0:
                place[of_section] = sections * t + i
    friction.bend, friction.coefficient = bound.integers(first_coordinates(robot)[:-1]), bound.numbers(coefficients)
    friction.actuator, friction.place = bound.integers(actuators), bound.integers(place)
    friction.tension = bound.zeros(len(actuators))
    friction.drop, friction.limit = (bound.zeros(sections * len(actuators)) for _ in range(2))
    return friction
