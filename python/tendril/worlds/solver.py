"""The default inverse kinematics as Warp functions: descents from a start, then from random poses.

`solver_functions(dtype)` gives them, for kernels with one thread for each world. A descent is bounded
Levenberg-Marquardt as in `tendril/ik/tip_descent.hpp`; docs/theory/ik.md, "Bounded Levenberg-Marquardt". Restarts are
those of `AutoSolver`, whose search for the closest pose is left out, or those of `LevenbergSolver`.
"""

import functools
import math
import types
from typing import Any

import warp as wp

import tendril
from tendril.worlds import kinematics
from tendril.worlds.random_draws import GOLDEN, mixed

# Damping in units of the squared length scale.
FIRST_DAMPING, MAX_DAMPING, GROW, SHRINK = 1e-2, 1e4, 8.0, 0.1
LEAST_PROGRESS = 1e-3  # of the cost in a step
SLOW_STEPS = 5  # in a row that gain less: a stall
NO_BEND = 1e-9  # rad, a smaller limit leaves no bend
OPPOSITE = 1e-12  # of (2 cos(angle / 2))^2
LEAST_ROLL_FACTOR = 0.1  # of a direction that is nearly opposite
UNDETERMINED_BEND = 1e-12  # rad, a smaller bend has no direction
LEAST_TURNING_BEND = 0.01  # rad, for the rate of a turn
PRECISION = {wp.float32: 1.2e-7, wp.float64: 2.3e-16}


def rounded(dtype: type, tolerance: float) -> Any:
    """A tolerance, but not below the rounding of numbers."""
    return dtype(max(tolerance, 4.0 * PRECISION[dtype]))


@functools.cache
def solver_functions(dtype: type) -> types.SimpleNamespace:
    """The functions and types for numbers of `dtype`, wp.float32 or wp.float64.

    `Goal`              position and, if `has_direction`, z axis (unit) of the tip, if `has_roll`, its x axis, too; in
                        the robot's base frame
    `Budget`            iterations, tolerances, seed, greatest number of restarts, `least_progress` of a step; with
                        `is_levenberg` restarts do not end where the target is out of reach, and the closest pose is
                        that of both errors
    `Work`              memory of the solves, one row for each world: `work_for`
    `straight_start(chain, goal, feed, row)`       the straight arm, its variable lengths set by the distance
    `solve(chain, goal, budget, work, world)`  from the pose in `work.pose[world]`, `work.feed[world]` and
                        `work.spin[world]`, which it replaces by the solution, or the closest pose found; errors, status
                        and iterations beside. It keeps the spin of a goal without a roll
    `judge(chain, goal, budget, work, world)`  errors and status of the pose there
    """
    f = kinematics.functions(dtype)
    vec3, mat33, Chain = f.vec3, f.mat33, f.Chain
    Row, Normal = wp.types.vector(6, dtype), wp.types.matrix((6, 6), dtype)
    rows = wp.constant(6)
    coordinates, set_coordinates, bend_limit, clamped = f.coordinates, f.set_coordinates, f.bend_limit, f.clamped
    end_frames, section_rates = f.end_frames, f.section_rates
    zero, one, two, four = (dtype(x) for x in (0.0, 1.0, 2.0, 4.0))
    least_damping = dtype(max(1e-12, 10 * PRECISION[dtype]))
    at_limit = dtype(max(1e-9, 4 * PRECISION[dtype]))  # ratio of a limit: this near counts as on it
    first_damping, max_damping, grow, shrink = (dtype(x) for x in (FIRST_DAMPING, MAX_DAMPING, GROW, SHRINK))
    least_roll_factor = dtype(LEAST_ROLL_FACTOR)
    undetermined_bend, least_turning_bend = dtype(UNDETERMINED_BEND), dtype(LEAST_TURNING_BEND)
    slow_steps = wp.constant(SLOW_STEPS)
    no_bend, opposite, pi = dtype(NO_BEND), dtype(OPPOSITE), dtype(math.pi)
    numbers = wp.array2d(dtype=dtype)

    @wp.struct
    class Goal:
        position: vec3  # m
        direction: vec3
        x_axis: vec3
        has_direction: bool
        has_roll: bool

    @wp.struct
    class Budget:
        iterations: int  # tip poses evaluated
        restarts: int
        seed: wp.uint64
        position_tolerance: dtype  # m
        angle_tolerance: dtype  # rad
        least_progress: dtype  # of the cost in a step; several steps in a row below it are a stall
        is_levenberg: bool

    @wp.struct
    class Work:
        pose: numbers  # coordinates: start and solution
        feed: wp.array(dtype=dtype)  # of the base, m: start and solution
        spin: wp.array(dtype=dtype)  # of the base, rad: likewise
        met: wp.array(dtype=wp.bool)
        iterations: wp.array(dtype=int)
        position_error: wp.array(dtype=dtype)  # m
        angle_error: wp.array(dtype=dtype)  # rad
        begun: numbers  # where the descent began: its directions are those of straight sections
        trial: numbers
        accepted: numbers
        rotations: wp.array2d(dtype=mat33)
        ends: wp.array2d(dtype=vec3)
        directions: wp.array2d(dtype=vec3)  # three of each section that it may move in: (du, dv, ds)
        columns: wp.array2d(dtype=Row)  # of the residual along them, m

    @wp.func
    def axis(R: mat33, column: int):
        return vec3(R[0, column], R[1, column], R[2, column])

    @wp.func
    def roll_left(chain: Chain, goal: Goal, R: mat33, row: wp.array(dtype=dtype)):
        """Turn about the desired direction, after the least rotation of the tip to it, rad: TipMap::evaluate_roll.

        R is the tip's frame without the turns of sections, which lead its x axis to the direction of the last one's
        bend; a straight section turns as it is desired.
        """
        if not goal.has_roll:
            return dtype(0.0)
        x, z, direction = axis(R, 0), axis(R, 2), goal.direction
        if chain.last_turning >= 0:
            q = coordinates(chain, row, chain.last_turning)
            bend = wp.sqrt(q[0] * q[0] + q[1] * q[1])
            if bend < undetermined_bend:
                return dtype(0.0)
            x = (q[0] / bend) * x + (q[1] / bend) * axis(R, 1)
        there = x - wp.dot(x, direction) / wp.max(one + wp.dot(z, direction), opposite) * (z + direction)
        return wp.atan2(wp.dot(wp.cross(there, goal.x_axis), direction), wp.dot(there, goal.x_axis))

    @wp.func
    def roll_axis(goal: Goal, R: mat33):
        """Along which the part of a rotation of the tip is gained of the roll."""
        z = axis(R, 2)
        return (z + goal.direction) / wp.max(one + wp.dot(z, goal.direction), least_roll_factor)

    @wp.func
    def residual(chain: Chain, goal: Goal, R: mat33, tip: vec3, roll: dtype):
        """Position and, times the length scale, rotation that are left, m; `roll` is that about the direction, rad."""
        miss = goal.position - tip
        turn_x, turn_y = dtype(0.0), dtype(0.0)
        if goal.has_direction:
            square = wp.max(zero, two * (one + wp.dot(axis(R, 2), goal.direction)))  # (2 cos(angle / 2))^2
            turn_x = four * chain.length_scale  # opposite: any rotation helps
            if square > opposite:
                factor = chain.length_scale * two * four / (square + two * wp.sqrt(square))
                turn_x = factor * wp.dot(axis(R, 0), goal.direction)
                turn_y = factor * wp.dot(axis(R, 1), goal.direction)
        return Row(miss[0], miss[1], miss[2], turn_x, turn_y, chain.length_scale * roll)

    @wp.func
    def angle_error(goal: Goal, R: mat33, roll: dtype):
        if not goal.has_direction:
            return dtype(0.0)
        x, y = wp.dot(axis(R, 0), goal.direction), wp.dot(axis(R, 1), goal.direction)
        off = wp.atan2(wp.sqrt(x * x + y * y), wp.dot(axis(R, 2), goal.direction))
        if not goal.has_roll:
            return off
        half = roll / two
        sine, cosine = wp.sin(off / two), wp.cos(off / two)  # the two rotations are about axes at a right angle
        across = cosine * wp.sin(half)
        return two * wp.atan2(wp.sqrt(sine * sine + across * across), wp.abs(cosine * wp.cos(half)))

    @wp.func
    def is_met(chain: Chain, budget: Budget, r: Row):
        turn = chain.length_scale * budget.angle_tolerance
        return (
            r[0] * r[0] + r[1] * r[1] + r[2] * r[2] <= budget.position_tolerance * budget.position_tolerance
            and r[3] * r[3] + r[4] * r[4] + r[5] * r[5] <= turn * turn
        )

    @wp.func
    def evaluate(chain: Chain, goal: Goal, feed: dtype, spin: dtype, work: Work, world: int):
        """Frames and residual of work.trial."""
        end_frames(chain, work.trial[world], feed, spin, work.rotations[world], work.ends[world])
        R = work.rotations[world, chain.sections]
        return residual(chain, goal, R, work.ends[world, chain.sections], roll_left(chain, goal, R, work.trial[world]))

    @wp.func
    def tip_column(chain: Chain, goal: Goal, R: mat33, position: vec3, rotation: vec3):
        turn_x, turn_y, roll = dtype(0.0), dtype(0.0), dtype(0.0)
        if goal.has_direction:
            turn_x = chain.length_scale * wp.dot(rotation, axis(R, 1))
            turn_y = -chain.length_scale * wp.dot(rotation, axis(R, 0))
        if goal.has_roll:
            roll = chain.length_scale * wp.dot(rotation, roll_axis(goal, R))
        return Row(position[0], position[1], position[2], turn_x, turn_y, roll)

    @wp.func
    def free_directions(chain: Chain, goal: Goal, r: Row, work: Work, world: int, i: int):
        """Writes the directions that the limits of section i leave, and the residual's columns along them."""
        q = coordinates(chain, work.accepted[world], i)
        R = work.rotations[world, chain.sections]
        arm = work.ends[world, chain.sections] - work.ends[world, i + 1]
        w_u, w_v, p_u, p_v, p_s = section_rates(chain, i, q)
        base = work.rotations[world, i]
        w_u, w_v = base * w_u, base * w_v
        column_u = tip_column(chain, goal, R, base * p_u + wp.cross(w_u, arm), w_u)
        column_v = tip_column(chain, goal, R, base * p_v + wp.cross(w_v, arm), w_v)
        if goal.has_roll and i == chain.last_turning:  # the twist is apart from the rotation
            squared = wp.max(q[0] * q[0] + q[1] * q[1], least_turning_bend * least_turning_bend)
            column_u[5] -= chain.length_scale * q[1] / squared
            column_v[5] += chain.length_scale * q[0] / squared
        p_s = base * p_s
        column_s = Row(p_s[0], p_s[1], p_s[2], zero, zero, zero)

        none, bends = vec3(zero, zero, zero), chain.bends[i]
        first, second = vec3(bends[0], zero, zero), vec3(zero, bends[1], zero)
        lengthen = vec3(zero, zero, chain.length_scale)
        limit = bend_limit(chain, i, q[2])
        square = q[0] * q[0] + q[1] * q[1]
        if square >= limit * limit * (one - two * at_limit):
            radial = vec3(q[0], q[1], zero)
            if square <= zero:
                begun = coordinates(chain, work.begun[world], i)
                radial = vec3(begun[0], begun[1], zero)
            radial = wp.where(wp.length_sq(radial) > zero, wp.normalize(radial), first)
            if wp.dot(r, radial[0] * column_u + radial[1] * column_v) > zero:
                first, second = none, bends[0] * bends[1] * vec3(-radial[1], radial[0], zero)
                if chain.variable_length[i] > zero:  # along the cone of limits a longer section may bend more
                    slope = chain.length_scale * chain.bend_limit[i] / chain.variable_length[i]
                    lengthen += slope * radial
        if limit <= no_bend:
            first, second = none, none
        along = lengthen[0] * column_u + lengthen[1] * column_v + lengthen[2] * column_s
        gain = wp.dot(r, along)
        longest = chain.variable_length[i]
        if (
            longest <= zero
            or (q[2] <= at_limit * longest and gain < zero)
            or (q[2] >= (one - at_limit) * longest and gain > zero)
        ):
            lengthen, along = none, Row()

        work.directions[world, 3 * i] = first
        work.directions[world, 3 * i + 1] = second
        work.directions[world, 3 * i + 2] = lengthen
        work.columns[world, 3 * i] = first[0] * column_u + first[1] * column_v
        work.columns[world, 3 * i + 1] = second[0] * column_u + second[1] * column_v
        work.columns[world, 3 * i + 2] = along

    @wp.func
    def differentiate(chain: Chain, goal: Goal, r: Row, feed_moves: bool, work: Work, world: int):
        """J J^T of the free directions, of the pose evaluated last, and the spin's column of J."""
        normal, spin = Normal(), Row()
        for i in range(chain.sections):
            free_directions(chain, goal, r, work, world, i)
            for k in range(3 * i, 3 * i + 3):
                normal += wp.outer(work.columns[world, k], work.columns[world, k])
        if feed_moves:
            normal[2, 2] += chain.length_scale * chain.length_scale
        if goal.has_roll and chain.spins:
            tip = work.ends[world, chain.sections]
            R = work.rotations[world, chain.sections]
            spin = tip_column(chain, goal, R, vec3(-tip[1], tip[0], zero), vec3(zero, zero, one))
            normal += wp.outer(spin, spin)
        return normal, spin

    @wp.func
    def solved(A: Normal, y: Row):
        """A^-1 y of a positive definite A, by L D L^T."""
        for c in range(rows):
            for r in range(c + 1, rows):
                ratio = A[r, c] / A[c, c]
                for k in range(c + 1, r + 1):
                    A[r, k] -= ratio * A[k, c]
                y[r] -= ratio * y[c]
        for back in range(rows):
            r = rows - 1 - back
            for k in range(r + 1, rows):
                y[r] -= A[k, r] * y[k]
            y[r] /= A[r, r]
        return y

    @wp.func
    def step(chain: Chain, normal: Normal, damping: dtype, r: Row, work: Work, world: int):
        """work.trial = work.accepted and the damped step, inside the limits; returns the solution of the rows."""
        y = solved(normal + damping * wp.identity(n=rows, dtype=dtype), r)
        for i in range(chain.sections):
            q = coordinates(chain, work.accepted[world], i)
            for k in range(3 * i, 3 * i + 3):
                q += wp.dot(work.columns[world, k], y) * work.directions[world, k]
            set_coordinates(chain, work.trial[world], i, clamped(chain, i, q))
        return y

    @wp.func
    def bits(seed: wp.uint64, draw: int):
        """Number `draw` of the stream of SplitMix64."""
        return mixed(seed + wp.uint64(draw) * GOLDEN)

    @wp.func
    def uniform(seed: wp.uint64, draw: int):
        """The same, in [0, 1)."""
        return dtype(bits(seed, draw) >> wp.uint64(11)) * dtype(1.1102230246251565e-16)

    @wp.func
    def random_pose(chain: Chain, seed: wp.uint64, first_draw: int, row: wp.array(dtype=dtype)):
        for i in range(chain.sections):
            draw = first_draw + 3 * i
            s = uniform(seed, draw) * chain.variable_length[i]
            theta = uniform(seed, draw + 1) * wp.min(bend_limit(chain, i, s), chain.restart_bend[i])
            phi = (two * uniform(seed, draw + 2) - one) * pi
            u, v, half = theta * wp.cos(phi), theta * wp.sin(phi), wp.where(phi < zero, -theta, theta)
            if chain.bends[i][1] == zero:
                u = -half
            if chain.bends[i][0] == zero:
                v = half
            set_coordinates(chain, row, i, wp.cw_mul(chain.bends[i], vec3(u, v, s)))

    @wp.func
    def copy(source: wp.array(dtype=dtype), to: wp.array(dtype=dtype)):
        for k in range(source.shape[0]):
            to[k] = source[k]

    @wp.func
    def straight_start(chain: Chain, goal: Goal, feed: dtype, row: wp.array(dtype=dtype)):
        """[FABRIKx] (2.30), as `tendril/ik/start_pose.hpp`."""
        constant, variable = dtype(0.0), dtype(0.0)
        for i in range(chain.sections):
            constant += chain.length[i]
            variable += chain.variable_length[i]
        ratio = dtype(0.0)
        if variable > zero:
            distance = wp.length(goal.position - vec3(zero, zero, feed))
            ratio = wp.clamp((distance - constant) / variable, zero, one)
        for i in range(chain.sections):
            set_coordinates(chain, row, i, vec3(zero, zero, ratio * chain.variable_length[i]))

    @wp.func
    def judge(chain: Chain, goal: Goal, budget: Budget, work: Work, world: int):
        copy(work.pose[world], work.trial[world])
        r = evaluate(chain, goal, work.feed[world], work.spin[world], work, world)
        work.position_error[world] = wp.length(vec3(r[0], r[1], r[2]))
        work.angle_error[world] = angle_error(goal, work.rotations[world, chain.sections], r[5] / chain.length_scale)
        work.met[world] = is_met(chain, budget, r)

    @wp.func
    def solve(chain: Chain, goal: Goal, budget: Budget, work: Work, world: int):
        """One iteration is one tip pose. Bits depend on the arguments of this world only."""
        unit = chain.length_scale * chain.length_scale
        start_feed = wp.clamp(work.feed[world], zero, chain.feed_limit)
        feed, trial_feed = start_feed, start_feed
        spin, trial_spin = work.spin[world] + zero, work.spin[world] + zero
        spin_moves = goal.has_roll and chain.spins
        for i in range(chain.sections):
            q = coordinates(chain, work.pose[world], i)
            set_coordinates(chain, work.trial[world], i, clamped(chain, i, q))
        restarts = budget.restarts
        distance = wp.length(goal.position - vec3(zero, zero, start_feed))
        out_of_reach = distance > chain.reach + chain.feed_limit and not budget.is_levenberg
        if out_of_reach or not wp.isfinite(distance):
            restarts = wp.int32(0)
        draws_a_restart = 3 * chain.sections
        if chain.feed_limit > zero:
            draws_a_restart += 1
        if spin_moves:
            draws_a_restart += 1

        restart, iterations, slow = wp.int32(0), wp.int32(0), wp.int32(0)
        damping, cost, best = dtype(0.0), dtype(0.0), dtype(wp.inf)
        r, normal, spin_column = Row(), Normal(), Row()
        feed_moves, begins, improved, met = wp.bool(False), wp.bool(True), wp.bool(False), wp.bool(False)
        while True:
            if begins:  # a descent, from work.trial
                copy(work.trial[world], work.begun[world])
                r = evaluate(chain, goal, trial_feed, trial_spin, work, world)
                cost = wp.dot(r, r)
                damping = wp.clamp(cost / unit, least_damping, first_damping)
                slow = wp.int32(0)
                improved = wp.bool(True)
                begins = wp.bool(False)
            if improved:
                copy(work.trial[world], work.accepted[world])
                feed, spin = trial_feed, trial_spin
                met = is_met(chain, budget, r)
                if not met and slow < slow_steps:
                    feed_moves = (feed > zero or r[2] > zero) and (feed < chain.feed_limit or r[2] < zero)
                    feed_moves = feed_moves and chain.feed_limit > zero
                    normal, spin_column = differentiate(chain, goal, r, feed_moves, work, world)
            stalled = slow >= slow_steps or damping > max_damping or wp.trace(normal) <= zero
            if met or stalled or iterations >= budget.iterations:
                miss = wp.length(vec3(r[0], r[1], r[2]))
                if budget.is_levenberg:
                    miss = cost
                if met or miss < best:
                    best = miss
                    copy(work.accepted[world], work.pose[world])
                    work.feed[world] = feed
                    work.spin[world] = spin
                if met or iterations >= budget.iterations or restart >= restarts:
                    break
                first_draw = restart * draws_a_restart
                random_pose(chain, budget.seed, first_draw, work.trial[world])
                if chain.feed_limit > zero:
                    trial_feed = uniform(budget.seed, first_draw + 3 * chain.sections) * chain.feed_limit
                if spin_moves:
                    last_draw = first_draw + draws_a_restart - 1
                    trial_spin = (two * uniform(budget.seed, last_draw) - one) * pi
                restart += 1
                begins = wp.bool(True)
                continue

            y = step(chain, normal, damping * unit, r, work, world)
            if feed_moves:
                trial_feed = wp.clamp(feed + unit * y[2], zero, chain.feed_limit)
            trial_spin = spin + wp.dot(spin_column, y)
            iterations += 1
            trial_r = evaluate(chain, goal, trial_feed, trial_spin, work, world)
            trial_cost = wp.dot(trial_r, trial_r)
            improved = trial_cost < cost
            if improved:
                slow = wp.where(trial_cost > (one - budget.least_progress) * cost, slow + 1, 0)
                r, cost = trial_r, trial_cost
                damping = wp.max(least_damping, damping * shrink)
            else:
                trial_feed, trial_spin = feed, spin
                damping *= grow

        judge(chain, goal, budget, work, world)
        work.iterations[world] = iterations

    return types.SimpleNamespace(
        Goal=Goal, Budget=Budget, Work=Work, straight_start=straight_start, solve=solve, judge=judge, copy=copy,
        row=Row, bits=bits, uniform=uniform, random_pose=random_pose, residual=residual, tip_column=tip_column,
        is_met=is_met, angle_error=angle_error,
    )  # fmt: skip


def work_for(robot: tendril.ContinuumRobot, count: int, dtype: type, device: Any = None) -> Any:
    """Memory for solves of `count` worlds, all zero."""
    f, solver = kinematics.functions(dtype), solver_functions(dtype)
    sections, coordinates = len(robot.sections), robot.coordinate_count
    items = {  # type and number in a world where it is not one number
        "met": (wp.bool,),
        "iterations": (int,),
        "rotations": (f.mat33, sections + 1),
        "ends": (f.vec3, sections + 1),
        "directions": (f.vec3, 3 * sections),
        "columns": (solver.row, 3 * sections),
        **dict.fromkeys(("pose", "begun", "trial", "accepted"), (dtype, coordinates)),
    }
    work = solver.Work()
    for name in solver.Work.vars:
        kind, *shape = items.get(name, (dtype,))
        setattr(work, name, wp.zeros((count, *shape), dtype=kind, device=device))
    return work
