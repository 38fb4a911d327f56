"""`tendril.computed_moment` as kernels: the steps of controllers/arm/computed_moment_controller.cpp.

Source: docs/theory/control.md, "Computed moments".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import warp as wp

from tendril.worlds.arm import Arm, Step, number, numbers, rows
from tendril.worlds.controller import Engine
from tendril.worlds.reach import Reach
from tendril.worlds.tables import Table

ZERO, ONE = number(0.0), number(1.0)


@wp.struct
class _Springs:
    """What the body does against each coordinate, and the gains of what drives it; one row, or one for each world."""

    stiffness: rows
    damping: rows
    lag: rows  # with which moments follow their commands, s
    stiffness_gain: numbers
    damping_gain: numbers


@wp.kernel(module="unique", enable_backward=False)
def _command_moments(arm: Arm, springs: _Springs, engine: Engine, qpos_spring: wp.array2d(dtype=float), step: Step):
    """ComputedMomentController::update, of the bends that `tendril.reach` has commanded."""
    world = wp.tid()
    b = world % arm.rows
    for k in range(arm.coordinates):
        stiffness, damping, lag = springs.stiffness[b, k], springs.damping[b, k], springs.lag[b, k]
        gain, damping_gain = springs.stiffness_gain[b] + ZERO, springs.damping_gain[b]
        if lag > ZERO:
            gain = wp.min(gain, (ONE + damping_gain) * damping / (stiffness * lag))
        rest = arm.offset[k] + ZERO
        for i in range(arm.first_joint[k], arm.first_joint[k + 1]):
            spring = qpos_spring[world % qpos_spring.shape[0], engine.qpos_address[arm.joint[i]]]
            rest += arm.sign[k] * number(spring)
        q, rate = step.command[world, k], step.q_rate[world, k]
        moment = stiffness * (q - rest) + (damping + lag * stiffness) * rate - step.moment[world, k]
        moment += gain * stiffness * (q - step.q[world, k])
        moment += damping_gain * damping * (rate - step.measured_rate[world, k])
        step.moment_command[world, k] = moment


class ComputedMoment(Reach):
    """The controller of one arm in all worlds, whose motors or tendons make moments."""

    def __init__(self, tables: Sequence[Table], model: Any, count: int, device: Any) -> None:
        super().__init__(tables, model, count, device)
        bound = self._bound
        bound.arm.takes_moments = True
        springs = _Springs()
        for key in ("stiffness", "damping", "lag"):
            setattr(springs, key, bound.numbers([[spring[key] for spring in _springs_of(one)] for one in tables]))
        for key in ("stiffness_gain", "damping_gain"):
            setattr(springs, key, bound.numbers([float(one["settings"][key]) for one in tables]))
        self._springs = springs

    def _after_command(self, model: Any) -> None:
        bound = self._bound
        inputs = [bound.arm, self._springs, bound.engine, model.qpos_spring, bound.seen]
        bound.launch(_command_moments, inputs)


def _springs_of(table: Table) -> list[dict[str, float]]:
    """Of each coordinate; of one in whose direction a section does not bend, zeros."""
    springs = []
    for row in table["coordinates"]:
        motor = table["servos"][row["servo"]] if row["servo"] >= 0 else {"lag": 0.0, "gain": 0.0}
        # A motor has no damping of its own.
        springs.append({"stiffness": row["stiffness"], "damping": motor["lag"] * motor["gain"], "lag": 0.0})
    for bend in table.get("tendon_drive", {"bends": []})["bends"]:
        springs[bend["coordinate"]] = bend
    return springs
