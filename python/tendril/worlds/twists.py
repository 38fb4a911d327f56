"""Twist of arms, one thread for each world: the steps of controllers/arm/section_twists.cpp.

Source: docs/theory/control.md, "Tip integral".
"""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from tendril.worlds.arm import (
    Arm,
    Step,
    number,
    numbers,
    rows,
    twist,
    twist_moment,
    untwist,
    vec3,
    vec6,
    wide,
    wide_matrix,
)
from tendril.worlds.controller import Engine
from tendril.worlds.tables import BoundRobot

RATE_FRACTION = number(0.5)  # of the damping of the twist's swing, the rate of the means
SWING_RATE = number(0.3)  # of the mean of what twist does to the tip, of the frequency of its swing
ZERO, HALF, ONE = number(0.0), number(0.5), number(1.0)


@wp.struct
class Twists:
    """The hinges of one arm about its links' axes, of numbers one row for each world or one for all."""

    sections: int
    bend: wp.array(dtype=int)  # coordinate u of each section; v is the next one
    first_hinge: wp.array(dtype=int)  # of each section, and their number
    joint: wp.array(dtype=int)  # of the model
    inertia: wp.array(dtype=int)  # address of the diagonal in the engine's M
    mass: rows  # of all bodies that a hinge moves, kg
    stiffness: rows  # N m/rad
    damping_time: numbers  # least of the hinges, s
    # Memory, a row for each world.
    mean: rows  # of what the sections' twist differs from gravity's, rad
    swing_mean: wp.array(dtype=vec6)  # of what is left of its displacement of the tip: m, rad
    # Of this step: twist up to the middle of each section, rad.
    measured: rows
    by_gravity: rows
    frequency: numbers  # lower bound of the slowest swing, rad/s


@wp.kernel(module="unique", enable_backward=False)
def measure_twists(arm: Arm, twists: Twists, engine: Engine, M: wp.array2d(dtype=float), step: Step):
    """SectionTwists::measure, of the arm that `measure` has measured."""
    world = wp.tid()
    b = world % arm.rows
    gravity, tip = arm.settings[b].gravity, wide(engine.site_xpos[world, arm.tip_site])
    to_base = wp.transpose(wide_matrix(engine.xmat[world, arm.base_body]))
    # Displacements by sums of small rotations about hinges, turn x p - offset: by gravity's twist in excess of that up
    # to the middles of the sections, and by what the measured twist differs from gravity's.
    excess, excess_offset, swing, swing_offset = vec3(), vec3(), vec3(), vec3()
    measured, measured_rate, by_gravity, squares = number(0.0), number(0.0), number(0.0), number(0.0)
    start = vec3()  # displacement of the section's start
    for i in range(twists.sections):
        first, last = twists.first_hinge[i], twists.first_hinge[i + 1]
        before, middle_by_gravity = by_gravity + ZERO, by_gravity + ZERO
        to_middle, middle_rate = measured + ZERO, measured_rate + ZERO
        for j in range(first, last):
            joint = twists.joint[j]
            axis, anchor = wide(engine.xaxis[world, joint]), wide(engine.xanchor[world, joint])
            com = wide(engine.subtree_com[world, engine.joint_body[joint]])
            angle = twists.mass[b, j] * wp.dot(axis, wp.cross(com - anchor, gravity)) / twists.stiffness[b, j]
            position = number(engine.qpos[world, engine.qpos_address[joint]])
            rate = number(engine.qvel[world, engine.dof_address[joint]])
            excess += angle * axis
            excess_offset += angle * wp.cross(axis, anchor)
            swing += (position - angle) * axis
            swing_offset += (position - angle) * wp.cross(axis, anchor)
            part = (number(last - j) - HALF) / number(last - first)
            to_middle += part * position
            middle_rate += part * rate
            middle_by_gravity += part * angle
            measured += position
            measured_rate += rate
            by_gravity += angle
            squares += number(M[world, twists.inertia[j]]) / twists.stiffness[b, j]
        for end in range(2):
            if last > first:
                joint = twists.joint[wp.where(end == 0, first, last - 1)]
                axis, anchor = wide(engine.xaxis[world, joint]), wide(engine.xanchor[world, joint])
                angle = wp.where(end == 0, before - middle_by_gravity, middle_by_gravity - by_gravity)
                excess += angle * axis
                excess_offset += angle * wp.cross(axis, anchor)
        twists.measured[world, i] = to_middle
        twists.by_gravity[world, i] = middle_by_gravity
        k = twists.bend[i]
        untwist(world, k, to_middle, middle_rate, step)
        last_joint = arm.first_joint[k + 1] - 1
        if arm.first_joint[k + 1] == arm.first_joint[k]:
            last_joint = arm.first_joint[k + 2] - 1  # it bends in the other plane alone
        anchor = wide(engine.xanchor[world, arm.joint[last_joint]])
        moved = wp.cross(excess, anchor) - excess_offset
        step.uneven[world, k] = step.uneven[world, k] + to_base * (moved - start)
        start = moved
    step.deflection[world] = step.deflection[world] + to_base * (wp.cross(excess, tip) - excess_offset)
    p, turn = to_base * (wp.cross(swing, tip) - swing_offset), to_base * swing
    step.swing[world] = vec6(p[0], p[1], p[2], turn[0], turn[1], turn[2]) - twists.swing_mean[world]
    step.tip_twist[world] = measured
    twists.frequency[world] = ONE / wp.sqrt(squares)


@wp.kernel(module="unique", enable_backward=False)
def twist_command(arm: Arm, twists: Twists, step: Step):
    """SectionTwists::twist: commanded coordinates and rates become those of the joints."""
    world = wp.tid()
    h, frequency = arm.timestep, twists.frequency[world]
    rate = RATE_FRACTION * twists.damping_time[world % arm.rows] * frequency * frequency
    part = wp.min(ONE, rate * h)
    for i in range(twists.sections):
        by_gravity, last = twists.by_gravity[world, i], twists.mean[world, i]
        mean = last + part * (twists.measured[world, i] - by_gravity - last)
        twists.mean[world, i] = mean
        twist(world, twists.bend[i], by_gravity + mean, step)
        if arm.takes_moments:
            twist_moment(world, twists.bend[i], twists.measured[world, i], step)
    part = wp.min(ONE, SWING_RATE * frequency * h)
    twists.swing_mean[world] = twists.swing_mean[world] + part * step.swing[world]


@wp.kernel(module="unique", enable_backward=False)
def forget_twists(chosen: wp.array(dtype=bool), twists: Twists):
    world = wp.tid()
    if chosen[world]:
        twists.swing_mean[world] = vec6()
        for i in range(twists.sections):
            twists.mean[world, i] = ZERO


def twists_for(bound: BoundRobot, model: Any) -> Any:
    """The twist of an arm in all worlds; none: it is rigid in torsion."""
    if "twists" not in bound.tables[0]:
        return None
    sections = [one["twists"] for one in bound.tables]
    hinges = [[hinge for section in one for hinge in section["hinges"]] for one in sections]
    twists = Twists()
    twists.sections = len(sections[0])
    twists.bend = bound.integers([section["bend"] for section in sections[0]])
    twists.first_hinge = bound.integers(np.cumsum([0, *(len(section["hinges"]) for section in sections[0])]))
    joints = [hinge[0] for hinge in hinges[0]]
    dofs = model.jnt_dofadr[joints]
    twists.joint = bound.integers(joints)
    twists.inertia = bound.integers(model.M_rowadr[dofs] + model.M_rownnz[dofs] - 1)
    twists.mass = bound.numbers([[hinge[1] for hinge in one] for one in hinges])
    twists.stiffness = bound.numbers([[hinge[2] for hinge in one] for one in hinges])
    twists.damping_time = bound.numbers([min(hinge[3] / hinge[2] for hinge in one) for one in hinges])
    n = twists.sections
    twists.mean, twists.measured, twists.by_gravity = bound.zeros(n), bound.zeros(n), bound.zeros(n)
    twists.swing_mean, twists.frequency = bound.zeros(kind=vec6), bound.zeros()
    return twists
