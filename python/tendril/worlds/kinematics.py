"""Kinematics of continuum robots as Warp functions: the map of a section, the chain and its Jacobian.

`functions(dtype)` gives them in float32 or float64, for kernels with one thread for each world. They calculate as
`tendril/kinematics` does, in the coordinates u, v and, if the section is extensible, s of each section
(`ContinuumRobot.coordinates`). docs/theory/kinematics.md, "Tip Jacobian in u, v, s".
"""

import functools
import math
import types
from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

import tendril

SERIES_LIMIT = 1.0  # of t, below it the Stumpff functions are series
SERIES_TERMS = 10  # exact to rounding in float64


@functools.cache
def functions(dtype: type) -> types.SimpleNamespace:
    """The functions and types for numbers of `dtype`, wp.float32 or wp.float64.

    `Chain`                                  parameters of a robot, the same for all worlds: `chain_of`
    `shape(chain, i, t)`                     end of the section of unit length at t = theta^2: x/theta, z and their
                                             derivatives by t
    `section_pose(chain, i, q)`              rotation and end of section i in the frame of its base
    `end_frames(chain, row, feed, spin, rotations, ends)`   frames of the base and of all sections' ends
    `add_frames(chain, row, rotations, ends)`   the same, from a base that is there already
    `section_rates(chain, i, q)`             rotations and translations of that end per unit of u, v and s
    `tip_jacobian(chain, row, rotations, ends, jacobian)`   from these frames; `set_column` writes a column of it
    `coordinates(chain, row, i)`             u, v, s of section i; `set_coordinates` writes them
    `clamped(chain, i, q)`                   q inside the limits, in the plane of a section that bends in one
    """
    vec3, vec4 = wp.types.vector(3, dtype), wp.types.vector(4, dtype)
    mat33 = wp.types.matrix((3, 3), dtype)
    numbers, rows = wp.array(dtype=dtype), wp.array2d(dtype=dtype)
    zero, half, one, two = dtype(0.0), dtype(0.5), dtype(1.0), dtype(2.0)
    series_limit = dtype(SERIES_LIMIT)
    versine_series, residue_series = (_series(dtype, first) for first in (2, 3))
    terms = wp.constant(SERIES_TERMS)

    @wp.struct
    class Chain:
        sections: int
        first_coordinate: wp.array(dtype=int)  # of each section, and their number
        first_arc: wp.array(dtype=int)  # of each section, and their number
        length: numbers  # m
        variable_length: numbers  # largest, m
        bend_limit: numbers  # at full variable length, rad
        bends: wp.array(dtype=vec3)  # 1 of u, v and s; 0 of a direction in which a section does not bend
        restart_bend: numbers  # largest of a random pose, up to which the chord angle determines the bend, rad
        chord_limit: numbers  # that chord angle, rad
        small_chord_ratio: numbers  # chord angle per bend, in the limit of a straight section
        arc_length: numbers  # W of the arcs, normalized
        arc_half: numbers  # half of their w
        arc_middle: numbers  # their middle tangent's part of the bend
        length_scale: dtype  # of a change of length or a direction error of 1 rad, m
        reach: dtype  # largest length, m
        feed_limit: dtype  # of the base, m
        spins: bool  # the base
        last_turning: int  # section that turns on its base; -1: none

    @wp.func
    def stumpff(t: dtype):
        """cos y, sin(y)/y, (1 - cos y)/y^2, (y - sin y)/y^3 for t = y^2 >= 0, smooth through 0."""
        if t < series_limit:
            versine, residue = versine_series[0], residue_series[0]
            for j in range(1, terms):
                versine = versine * t + versine_series[j]
                residue = residue * t + residue_series[j]
            return vec4(one - t * versine, one - t * residue, versine, residue)
        y = wp.sqrt(t)
        cosine, sinc = wp.cos(y), wp.sin(y) / y
        return vec4(cosine, sinc, (one - cosine) / t, (one - sinc) / t)

    @wp.func
    def shape(chain: Chain, i: int, t: dtype):
        """X/theta and Z of the unit-length end of section i at t = theta^2, and their derivatives by t."""
        x, z, dx, dz = dtype(0.0), dtype(0.0), dtype(0.0), dtype(0.0)
        for j in range(chain.first_arc[i], chain.first_arc[i + 1]):
            length, h, m = chain.arc_length[j], chain.arc_half[j], chain.arc_middle[j]
            chord, middle = stumpff(h * h * t), stumpff(m * m * t)
            d_chord = half * h * h * (chord[3] - chord[2])
            d_middle = half * m * m * (middle[3] - middle[2])
            x += length * m * chord[1] * middle[1]
            z += length * chord[1] * middle[0]
            dx += length * m * (d_middle * chord[1] + middle[1] * d_chord)
            dz += length * (d_chord * middle[0] - half * m * m * chord[1] * middle[1])
        return vec4(x, z, dx, dz)

    @wp.func
    def section_pose(chain: Chain, i: int, q: vec3):
        """Rotation and position of the end of section i in the frame of its base, for q = (u, v, s)."""
        u, v = q[0], q[1]
        t = u * u + v * v
        bend, end = stumpff(t), shape(chain, i, t)
        sine, versine = bend[1], bend[2]
        rotation = mat33(
            one - versine * u * u, -versine * u * v, sine * u,
            -versine * u * v, one - versine * v * v, sine * v,
            -sine * u, -sine * v, bend[0],
        )  # fmt: skip
        length = chain.length[i] + q[2]
        return rotation, vec3(length * end[0] * u, length * end[0] * v, length * end[1])

    @wp.func
    def section_rates(chain: Chain, i: int, q: vec3):
        """Rotations of the end of section i per unit of u and v, and its translations per unit of u, v and s."""
        u, v = q[0], q[1]
        t = u * u + v * v
        bend, end = stumpff(t), shape(chain, i, t)
        sine, versine, residue = bend[1], bend[2], bend[3]
        length = chain.length[i] + q[2]
        axis = vec3(-v, u, zero)
        stretch = two * length * vec3(end[2] * u, end[2] * v, end[3])
        return (
            vec3(zero, sine, -versine * v) + residue * u * axis,
            vec3(-sine, zero, versine * u) + residue * v * axis,
            vec3(length * end[0], zero, zero) + u * stretch,
            vec3(zero, length * end[0], zero) + v * stretch,
            vec3(end[0] * u, end[0] * v, end[1]),
        )

    @wp.func
    def coordinates(chain: Chain, row: numbers, i: int):
        k = chain.first_coordinate[i]
        s = dtype(0.0)
        if chain.first_coordinate[i + 1] > k + 2:
            s = row[k + 2]
        return vec3(row[k], row[k + 1], s)

    @wp.func
    def set_coordinates(chain: Chain, row: numbers, i: int, q: vec3):
        k = chain.first_coordinate[i]
        row[k] = q[0]
        row[k + 1] = q[1]
        if chain.first_coordinate[i + 1] > k + 2:
            row[k + 2] = q[2]

    @wp.func
    def bend_limit(chain: Chain, i: int, s: dtype):
        limit = chain.bend_limit[i]
        if chain.variable_length[i] > zero:
            limit *= s / chain.variable_length[i]
        return limit

    @wp.func
    def clamped(chain: Chain, i: int, q: vec3):
        s = wp.clamp(q[2], zero, chain.variable_length[i])
        limit = bend_limit(chain, i, s)
        squared = q[0] * q[0] + q[1] * q[1]
        scale = dtype(1.0)
        if squared > limit * limit:
            scale = limit / wp.sqrt(squared)
        return wp.cw_mul(chain.bends[i], vec3(scale * q[0], scale * q[1], s))

    @wp.func
    def add_frames(chain: Chain, row: numbers, rotations: wp.array(dtype=mat33), ends: wp.array(dtype=vec3)):
        for i in range(chain.sections):
            rotation, end = section_pose(chain, i, coordinates(chain, row, i))
            rotations[i + 1] = rotations[i] * rotation
            ends[i + 1] = ends[i] + rotations[i] * end

    @wp.func
    def end_frames(
        chain: Chain,
        row: numbers,
        feed: dtype,
        spin: dtype,
        rotations: wp.array(dtype=mat33),
        ends: wp.array(dtype=vec3),
    ):
        c, s = wp.cos(spin), wp.sin(spin)
        rotations[0] = mat33(c, -s, zero, s, c, zero, zero, zero, one)
        ends[0] = vec3(zero, zero, feed)
        add_frames(chain, row, rotations, ends)

    @wp.func
    def tip_jacobian(
        chain: Chain, row: numbers, rotations: wp.array(dtype=mat33), ends: wp.array(dtype=vec3), jacobian: rows
    ):
        """Rows 0 to 2: tip position, 3 to 5: its z axis; columns: coordinates."""
        tip = ends[chain.sections]
        R = rotations[chain.sections]
        direction = vec3(R[0, 2], R[1, 2], R[2, 2])
        for i in range(chain.sections):
            w_u, w_v, p_u, p_v, p_s = section_rates(chain, i, coordinates(chain, row, i))
            base, arm = rotations[i], tip - ends[i + 1]
            k = chain.first_coordinate[i]
            set_column(jacobian, k, base * p_u + wp.cross(base * w_u, arm), wp.cross(base * w_u, direction))
            set_column(jacobian, k + 1, base * p_v + wp.cross(base * w_v, arm), wp.cross(base * w_v, direction))
            if chain.first_coordinate[i + 1] > k + 2:
                set_column(jacobian, k + 2, base * p_s, vec3(zero, zero, zero))

    @wp.func
    def set_column(jacobian: rows, k: int, position: vec3, direction: vec3):
        for r in range(3):
            jacobian[r, k] = position[r]
            jacobian[r + 3, k] = direction[r]

    return types.SimpleNamespace(
        dtype=dtype, vec3=vec3, mat33=mat33, mat44=wp.types.matrix((4, 4), dtype), Chain=Chain, stumpff=stumpff,
        shape=shape, section_pose=section_pose, section_rates=section_rates, coordinates=coordinates,
        set_coordinates=set_coordinates, bend_limit=bend_limit, clamped=clamped, end_frames=end_frames,
        add_frames=add_frames, tip_jacobian=tip_jacobian, set_column=set_column,
    )  # fmt: skip


def chain_of(
    robot: tendril.ContinuumRobot, dtype: type, device: Any = None, fractions: Sequence[float] = (1.0,)
) -> Any:
    """The parameters of a tendril.ContinuumRobot as a `Chain` on `device`.

    :param fractions: n of each section's length, for points on the body: for section n i + k `section_pose` has the
        position of the point k of section i, at the whole section's coordinates, and `section_rates` its translations
    """
    sections = robot.sections
    lengths, weights = [], []
    for section in sections:
        length, weight = _normalized(section.length_weights), _normalized(section.angle_weights)
        for fraction in fractions:
            part = np.clip((fraction - np.cumsum(length) + length) / length, 0.0, 1.0)
            lengths.append(part * length)
            weights.append(part * weight)
    middles = [np.cumsum(w) - w / 2 for w in weights]
    reach = sum(section.length + section.variable_length for section in sections)

    def array(values: Any, kind: type = dtype) -> wp.array:
        return wp.array(np.asarray(values, dtype=float), dtype=kind, device=device)

    chain = functions(dtype).Chain()
    chain.sections = len(sections)
    chain.first_coordinate = array(first_coordinates(robot), int)
    chain.first_arc = array(np.cumsum([0, *map(len, lengths)]), int)
    chain.length = array(np.repeat([section.length for section in sections], len(fractions)))
    chain.variable_length = array([section.variable_length for section in sections])
    chain.bend_limit = array([section.bend_limit for section in sections])
    chain.bends = array([directions(section) for section in sections], functions(dtype).vec3)
    bends, angles, ratios = zip(*map(_chord_limits, sections), strict=True)
    chain.restart_bend, chain.chord_limit, chain.small_chord_ratio = array(bends), array(angles), array(ratios)
    chain.arc_length = array(np.concatenate(lengths))
    chain.arc_half = array(np.concatenate(weights) / 2)
    chain.arc_middle = array(np.concatenate(middles))
    chain.length_scale = reach / len(sections) / 2
    chain.reach = reach
    chain.feed_limit, chain.spins = robot.feed_limit, robot.spin
    turning = [i for i, section in enumerate(sections) if section.rotation == "turning"]
    chain.last_turning = max(turning, default=-1)
    return chain


def first_coordinates(robot: tendril.ContinuumRobot) -> Any:
    """Of each section, and their number."""
    return np.cumsum([0, *(2 + (section.variable_length > 0) for section in robot.sections)])


def directions(section: tendril.Section) -> list[bool]:
    """Whether a section has u, v and s, which one without a variable length keeps at 0."""
    return [section.bend_plane != "yz", section.bend_plane != "xz", True]


def _normalized(weights: list[float]) -> np.ndarray:
    weights = np.asarray(weights or [1.0])
    return weights / weights.sum()


def _chord_limits(section: tendril.Section) -> tuple[float, float, float]:
    """The bend up to which the chord angle determines it, that angle, and their ratio in the limit of small bends."""
    alone = tendril.section_workspace(section, bends=2)
    bend = alone.invertible_bend
    if len(section.length_weights) <= 1:
        return bend, bend / 2.0, 0.5
    end = tendril.ContinuumRobot([section]).tip_pose([[bend, 0.0, section.variable_length]])
    return bend, math.atan2(abs(end[0, 3]), end[2, 3]), 1.0 / alone.ratio[0]


def _series(dtype: type, first: int) -> Any:
    """Coefficients of sum_j (-t)^j / (2 j + first)!, the highest first."""
    values, value = [], 1.0 / float(np.prod(np.arange(1.0, first + 1)))
    for j in range(SERIES_TERMS):
        values.append(value)
        value /= -(2 * j + first + 1) * (2 * j + first + 2)
    return wp.constant(wp.types.vector(SERIES_TERMS, dtype)(*reversed(values)))
