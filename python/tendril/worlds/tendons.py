"""Tendons and chambers of arms, one thread for each world: commands that hold the commanded bends.

The steps of controllers/arm/tendon_drive.cpp. Source: docs/theory/chain.md, "Tendons between controllers and body".
"""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from tendril.worlds.arm import FRACTION_OF_LIMIT, Arm, Step, number, numbers, rows, tables
from tendril.worlds.controller import Engine
from tendril.worlds.distribution import Distribution, distribute, distribution_for
from tendril.worlds.tables import BoundRobot, Table, require_same

# The numbers of the C++ code.
MIN_GAIN = number(1e-3)  # of a muscle, relative to that of the straight arm
ZERO, ONE = number(0.0), number(1.0)

_TENDON = ("stiffness", "damping", "offset", "limit", "max_tension", "gain", "gain_slope")
_SPRING = ("stiffness", "damping", "rest", "lag")


@wp.struct
class Tendons:
    """The tendons of one arm, of numbers one row for each world or one for all; the bends are what only they hold."""

    count: int
    bends: int
    feeds_back: bool
    tendon: wp.array(dtype=int)  # of the model
    actuator: wp.array(dtype=int)
    control: wp.array(dtype=int)
    activation: wp.array(dtype=int)  # address of its own; -1: none
    rest_length: numbers  # of the straight arm, m
    takes_length: wp.array(dtype=bool)
    stiffness: rows
    damping: rows
    offset: rows
    limit: rows  # least tension that there can be
    max_tension: rows
    gain: rows
    gain_slope: rows
    jacobian: tables  # tendons x coordinates
    coordinate: wp.array(dtype=int)  # of each bend
    body_stiffness: rows
    body_damping: rows
    body_rest: rows
    body_lag: rows
    weight: rows
    high: rows  # limits of tensions
    tensions: Distribution  # that make the moments
    # Scratch, a row for each world.
    length: rows
    speed: rows


@wp.func
def gain_at(tendons: Tendons, b: int, t: int, length: number):
    slope = tendons.gain_slope[b, t]
    at = tendons.gain[b, t] + slope * length
    if slope > ZERO:
        at = wp.max(at, MIN_GAIN * tendons.gain[b, t])  # a muscle as short as it gets has no force left
    return at


@wp.func
def _desired(arm: Arm, step: Step, world: int, k: int):
    """Commanded coordinate, from the straight arm on; a passive one is where it is."""
    if arm.is_passive[k] != 0:
        return arm.sign[k] * step.sum[world, k]
    return step.command[world, k] - arm.offset[k]


@wp.func
def _rate(arm: Arm, step: Step, world: int, k: int):
    if arm.is_passive[k] != 0:
        return ZERO + number(0.0)
    return arm.settings[world % arm.rows].feed_forward * step.q_rate[world, k]


@wp.func
def _hold(arm: Arm, tendons: Tendons, world: int, step: Step):
    """Weighted moments that the tendons are to make."""
    b = world % arm.rows
    for i in range(tendons.bends):
        k = tendons.coordinate[i]
        if arm.takes_moments:
            tendons.tensions.moment[world, i] = tendons.weight[b, i] * step.moment_command[world, k]
            continue
        stiffness, damping = tendons.body_stiffness[b, i], tendons.body_damping[b, i]
        desired, rate = _desired(arm, step, world, k), _rate(arm, step, world, k)
        moment = stiffness * (desired - tendons.body_rest[b, i]) + (damping + tendons.body_lag[b, i] * stiffness) * rate
        moment -= arm.sign[k] * step.load[world, k]
        if tendons.feeds_back:
            moment += stiffness * (desired - arm.sign[k] * step.sum[world, k])
            moment += damping * (rate - arm.sign[k] * step.speed[world, k])
        tendons.tensions.moment[world, i] = tendons.weight[b, i] * moment


@wp.func
def _limit_muscles(tendons: Tendons, b: int, world: int):
    for t in range(tendons.count):
        most = tendons.high[b, t]
        if tendons.gain_slope[b, t] != ZERO:
            part = gain_at(tendons, b, t, tendons.length[world, t]) / tendons.gain[b, t]
            most = number(FRACTION_OF_LIMIT) * tendons.max_tension[b, t] * wp.min(part, ONE)
        tendons.tensions.most[world, t] = wp.max(most, tendons.tensions.low[b, t])


@wp.func
def _command(arm: Arm, tendons: Tendons, world: int, t: int, step: Step):
    """Of a tendon with its tension: a length, a tension or a pressure."""
    b, tension = world % arm.rows, tendons.tensions.tension[world, t]
    if arm.takes_moments or not tendons.takes_length[t]:
        return tension / gain_at(tendons, b, t, tendons.length[world, t])
    length, speed = number(0.0), number(0.0)
    for k in range(arm.coordinates):
        length += tendons.jacobian[b, t, k] * _desired(arm, step, world, k)
        speed += tendons.jacobian[b, t, k] * _rate(arm, step, world, k)
    stiffness, damping, offset = tendons.stiffness[b, t], tendons.damping[b, t], tendons.offset[b, t]
    desired = length + (damping * speed + offset - tension) / stiffness
    # Not more than the limit now: a tendon at its limit is integrated without its damping.
    limit = number(FRACTION_OF_LIMIT) * tendons.max_tension[b, t]
    shortest = tendons.length[world, t] + (damping * tendons.speed[world, t] + offset - limit) / stiffness
    return wp.max(desired, shortest)


@wp.kernel(module="unique", enable_backward=False)
def write_tendons(arm: Arm, tendons: Tendons, engine: Engine, step: Step, ctrl: wp.array2d(dtype=float)):
    """TendonDrive::commands, and what the tendons do to coordinates with servos, into step.pull."""
    world = wp.tid()
    b = world % arm.rows
    for t in range(tendons.count):
        tendons.length[world, t] = number(engine.ten_length[world, tendons.tendon[t]]) - tendons.rest_length[t]
        tendons.speed[world, t] = number(engine.ten_velocity[world, tendons.tendon[t]])
    _limit_muscles(tendons, b, world)
    _hold(arm, tendons, world, step)
    distribute(tendons.tensions, b, world)
    for t in range(tendons.count):
        ctrl[world, tendons.control[t]] = float(_command(arm, tendons, world, t, step))
    for k in range(arm.coordinates):
        pull = number(0.0)
        for t in range(tendons.count):
            pull -= tendons.jacobian[b, t, k] * tendons.tensions.tension[world, t]
        step.pull[world, k] = arm.sign[k] * pull


def tendons_for(bound: BoundRobot, model: Any) -> Any:
    """The tendons of an arm in all worlds; none: it has none."""
    if "tendon_drive" not in bound.tables[0]:
        return None
    drives = [one["tendon_drive"] for one in bound.tables]
    for key in ("tendons", "bends"):
        require_same(bound.tables, key, [len(drive[key]) for drive in drives])
    drive, tendons = drives[0], Tendons()
    tendons.count, tendons.bends, tendons.feeds_back = len(drive["tendons"]), len(drive["bends"]), drive["feeds_back"]
    actuators = [tendon["actuator"] for tendon in drive["tendons"]]
    ids = model.actuator_trnid[actuators, 0]
    tendons.tendon, tendons.control = bound.integers(ids), bound.integers(model.actuator_ctrladr[actuators])
    tendons.actuator, tendons.activation = bound.integers(actuators), bound.integers(model.actuator_actadr[actuators])
    tendons.rest_length = bound.numbers(model.tendon_length0[ids])
    takes_length = [tendon["takes_length"] for tendon in drive["tendons"]]
    tendons.takes_length = wp.array(takes_length, dtype=bool, device=bound.device)
    for key in _TENDON:
        setattr(tendons, key, bound.numbers([[one[key] for one in drive["tendons"]] for drive in drives]))
    for key in _SPRING:
        values = [[one[key] for one in drive["bends"]] for drive in drives]
        setattr(tendons, f"body_{key}", bound.numbers(values))
    tendons.coordinate = bound.integers([bend["coordinate"] for bend in drive["bends"]])
    tendons.jacobian = bound.numbers([_jacobian(one) for one in bound.tables])
    tendons.weight = bound.numbers([drive["weights"] for drive in drives])
    limits = np.array([[(one["min_tension"], one["max_tension"]) for one in drive["tendons"]] for drive in drives])
    high = FRACTION_OF_LIMIT * limits[:, :, 1]
    low = np.minimum(limits[:, :, 0], high)
    tendons.high = bound.numbers(high)
    tendons.tensions = distribution_for(bound, [drive["moments"] for drive in drives], low, high)
    tendons.length, tendons.speed = bound.zeros(tendons.count), bound.zeros(tendons.count)
    return tendons


def _jacobian(table: Table) -> Any:
    """dl/dq, tendons x coordinates."""
    joints = np.array([tendon["joints"] for tendon in table["tendon_drive"]["tendons"]])
    columns, first = [], 0
    for row in table["coordinates"]:
        last = first + len(row["joints"])
        fractions = np.array([joint[1] for joint in row["joints"]])
        columns.append(row["sign"] * joints[:, first:last] @ fractions)
        first = last
    return np.stack(columns, axis=1)
