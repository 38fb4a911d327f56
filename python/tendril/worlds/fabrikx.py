"""FABRIKx as Warp functions: the steps of `tendril/ik/fabrikx_solver.cpp` over arcs, with Newton steps inside.

`fabrikx_functions(dtype)` gives them, for kernels with one thread for each world. Source: [FABRIKx] sec. 2.3.2.
"""

import functools
import types
from typing import Any

import warp as wp

import tendril
from tendril.worlds import kinematics
from tendril.worlds.section_reach import section_functions
from tendril.worlds.solver import UNDETERMINED_BEND, rounded, solver_functions

# The numbers of the C++ code.
ROTATION_PERIOD, ROTATION_DIVISOR = 100, 3.0
AT_REST = 1e-13  # of the robot's length: motion of a section's end
ON_BASE_AXIS = 1e-11  # m
ALIGNED = 1e-9  # rad, a smaller rotation moves nothing
SAME_SCORE = 1e-9  # ratio: two rests are the same fixed point
COINCIDENT, PARALLEL, MUCH_SMALLER = 1e-14, 1e-12, 1e-12


@functools.cache
def fabrikx_functions(dtype: type) -> types.SimpleNamespace:
    """The functions and types for numbers of `dtype`, wp.float32 or wp.float64.

    `Reaching`          options and memory of the solves: `reaching_for`
    `reach(chain, goal, budget, reaching, work, world)`  solves as `solve` of `solver_functions`, to the same fields of
                        `work`. The budget counts forward and backward passes, and has neither restarts nor a seed. A
                        goal has no roll
    """
    f, s = kinematics.functions(dtype), solver_functions(dtype)
    vec3, mat33, Chain = f.vec3, f.mat33, f.Chain
    Goal, Budget, Work, copy, judge = s.Goal, s.Budget, s.Work, s.copy, s.judge
    coordinates, set_coordinates, clamped, section_pose = f.coordinates, f.set_coordinates, f.clamped, f.section_pose
    section = section_functions(dtype)
    place_section, reach_section = section.place_section, section.reach_section
    numbers, rows, points = wp.array(dtype=dtype), wp.array2d(dtype=dtype), wp.array2d(dtype=vec3)
    zero, one = dtype(0.0), dtype(1.0)

    at_rest, on_base_axis, aligned, same_score, coincident, parallel, much_smaller, straight = (
        rounded(dtype, x)
        for x in (AT_REST, ON_BASE_AXIS, ALIGNED, SAME_SCORE, COINCIDENT, PARALLEL, MUCH_SMALLER, UNDETERMINED_BEND)
    )
    rotation_divisor = dtype(ROTATION_DIVISOR)

    @wp.struct
    class Reaching:
        rotation_period: int  # iterations; 0: the robot is never rotated about its tip
        keeps_free_direction: bool  # of the tip, where none is desired
        # Of each world and section: the running pose as tangent links, and the best one.
        theta: rows
        extension: rows  # m
        direction: points  # of the bend, unit, perpendicular to the section's base axis
        first: rows  # tangent links, m
        second: rows
        tangent_point: points
        end: points
        goal: points  # where the forward stage wants the end
        best_theta: rows
        best_extension: rows
        best_direction: points
        best_feed: numbers  # of each world, m
        best_score: numbers
        score: numbers  # the larger of the errors over their tolerances
        feed: numbers  # of the running pose, m
        tip_axis: wp.array(dtype=vec3)

    @wp.func
    def direction_of(v: vec3, otherwise: vec3):
        squared = wp.length_sq(v)
        if squared > coincident * coincident:
            return v / wp.sqrt(squared)
        return otherwise

    @wp.func
    def any_perpendicular(v: vec3):
        if wp.abs(v[0]) > much_smaller * wp.abs(v[2]) or wp.abs(v[1]) > much_smaller * wp.abs(v[2]):
            return vec3(-v[1], v[0], zero) / wp.sqrt(v[0] * v[0] + v[1] * v[1])
        return vec3(zero, -v[2], v[1]) / wp.sqrt(v[1] * v[1] + v[2] * v[2])

    @wp.func
    def unit_perpendicular(e: vec3, z: vec3):
        rest = e - wp.dot(e, z) * z
        length = wp.length(rest)
        if length > parallel:
            return rest / length
        return any_perpendicular(z)

    @wp.func
    def missing_rotation(chain: Chain, goal: Goal, reaching: Reaching, world: int):
        """Rotation vector from the tip's direction to the desired one, or to that of (2.37), rad."""
        axis = reaching.tip_axis[world]
        desired = goal.direction
        if not goal.has_direction:
            desired = direction_of(goal.position - reaching.tangent_point[world, chain.sections - 1], axis)
        across = wp.cross(axis, desired)
        sine = wp.length(across)
        unit = any_perpendicular(axis)
        if sine > zero:
            unit = across / sine
        return wp.atan2(sine, wp.dot(axis, desired)) * unit

    @wp.func
    def rotated(v: vec3, axis: vec3, c: dtype, s: dtype):
        return c * v + s * wp.cross(axis, v) + (one - c) * wp.dot(axis, v) * axis

    @wp.func
    def rotate_about_tip(chain: Chain, goal: Goal, reaching: Reaching, world: int):
        missing = missing_rotation(chain, goal, reaching, world)
        angle = wp.length(missing)
        if not angle > zero:
            return
        axis = missing / angle
        c, s = wp.cos(angle / rotation_divisor), wp.sin(angle / rotation_divisor)
        tip = reaching.end[world, chain.sections - 1]
        for i in range(chain.sections):
            reaching.tangent_point[world, i] = tip + rotated(reaching.tangent_point[world, i] - tip, axis, c, s)
            reaching.end[world, i] = tip + rotated(reaching.end[world, i] - tip, axis, c, s)
        reaching.tip_axis[world] = rotated(reaching.tip_axis[world], axis, c, s)

    @wp.func
    def place(chain: Chain, reaching: Reaching, work: Work, world: int):
        """Places the chain of tangent links on the pose in work.pose."""
        c, s = wp.cos(work.spin[world]), wp.sin(work.spin[world])
        R = mat33(c, -s, zero, s, c, zero, zero, zero, one)
        p = vec3(zero, zero, reaching.feed[world])
        for i in range(chain.sections):
            q = clamped(chain, i, coordinates(chain, work.pose[world], i))
            theta, bend = wp.sqrt(q[0] * q[0] + q[1] * q[1]), vec3(one, zero, zero)
            if theta >= straight:
                bend = vec3(q[0] / theta, q[1] / theta, zero)
            own = place_section(chain, i, theta, q[2])
            reaching.theta[world, i] = theta
            reaching.extension[world, i] = q[2]
            reaching.direction[world, i] = R * bend
            reaching.first[world, i] = own.first
            reaching.second[world, i] = own.second
            reaching.tangent_point[world, i] = p + own.first * vec3(R[0, 2], R[1, 2], R[2, 2])
            rotation, end = section_pose(chain, i, q)
            p += R * end
            R = R * rotation
            reaching.end[world, i] = p
        reaching.tip_axis[world] = vec3(R[0, 2], R[1, 2], R[2, 2])

    @wp.func
    def forward_reach(chain: Chain, goal: Goal, reaching: Reaching, world: int):
        """Tip to base over the tangent links, without limits: where the end of every section should lie."""
        last = chain.sections - 1
        at, v = goal.position + vec3(), -goal.direction  # (2.35), (2.36)
        if not goal.has_direction:
            v = -reaching.tip_axis[world]
            if not reaching.keeps_free_direction:
                v = direction_of(reaching.tangent_point[world, last] - at, v)  # (2.37)
        for k in range(last):
            i = last - k
            reaching.goal[world, i] = at
            tangent_point = at + reaching.second[world, i] * v  # (2.38)
            v = direction_of(reaching.tangent_point[world, i - 1] - tangent_point, v)  # (2.39)
            at = tangent_point + reaching.first[world, i] * v  # (2.40)
        reaching.goal[world, 0] = at

    @wp.func
    def backward_reach(chain: Chain, reaching: Reaching, world: int):
        """Base to tip over true sections, each reaching for its goal; the largest motion of a section's end, m."""
        p, z, moved = vec3(zero, zero, reaching.feed[world]), vec3(zero, zero, one), dtype(0.0)
        if chain.feed_limit > zero:
            p = vec3()  # the first section looks at its goal from the base without a feed
        for i in range(chain.sections):
            d = reaching.goal[world, i] - p
            along = wp.dot(d, z)
            lateral = d - along * z
            rho = wp.length(lateral)
            e = unit_perpendicular(reaching.direction[world, i], z)
            if rho > on_base_axis:
                e = lateral / rho
            own = reach_section(chain, i, rho, along, reaching.theta[world, i])
            if i == 0 and chain.feed_limit > zero:
                reaching.feed[world] = own.feed
                p = vec3(zero, zero, own.feed)
            reaching.theta[world, i] = own.theta
            reaching.extension[world, i] = own.extension
            reaching.direction[world, i] = e
            reaching.first[world, i] = own.first
            reaching.second[world, i] = own.second
            reaching.tangent_point[world, i] = p + own.first * z  # (2.34)
            p += own.x * e + own.z * z
            z = own.cosine * z + own.sine * e
            moved = wp.max(moved, wp.length(p - reaching.end[world, i]))
            reaching.end[world, i] = p
        reaching.tip_axis[world] = z
        return moved

    @wp.func
    def keep_if_best(chain: Chain, goal: Goal, budget: Budget, reaching: Reaching, world: int):
        miss = wp.length(reaching.end[world, chain.sections - 1] - goal.position)
        angle, axis = dtype(0.0), reaching.tip_axis[world]
        if goal.has_direction:
            angle = wp.atan2(wp.length(wp.cross(axis, goal.direction)), wp.dot(axis, goal.direction))
        score = wp.max(miss / budget.position_tolerance, angle / budget.angle_tolerance)
        reaching.score[world] = score
        if score < reaching.best_score[world]:
            reaching.best_score[world] = score
            reaching.best_feed[world] = reaching.feed[world]
            copy(reaching.theta[world], reaching.best_theta[world])
            copy(reaching.extension[world], reaching.best_extension[world])
            for i in range(chain.sections):
                reaching.best_direction[world, i] = reaching.direction[world, i]

    @wp.func
    def report(chain: Chain, goal: Goal, budget: Budget, reaching: Reaching, work: Work, world: int):
        """The best pose into `work`, with its errors; whether it meets the goal."""
        c, s = wp.cos(work.spin[world]), wp.sin(work.spin[world])
        R = mat33(c, -s, zero, s, c, zero, zero, zero, one)
        for i in range(chain.sections):
            e, theta = wp.transpose(R) * reaching.best_direction[world, i], reaching.best_theta[world, i]
            across = wp.sqrt(e[0] * e[0] + e[1] * e[1])
            q = vec3(theta, zero, reaching.best_extension[world, i])
            if across > zero:
                q = vec3(theta * e[0] / across, theta * e[1] / across, q[2])
            set_coordinates(chain, work.pose[world], i, q)
            rotation, _end = section_pose(chain, i, q)
            R = R * rotation
        work.feed[world] = reaching.best_feed[world]
        judge(chain, goal, budget, work, world)
        return work.met[world]

    @wp.func
    def iterations_to_rotation(period: int, iteration: int, most: int):
        if period == 0:
            return most
        return (period - iteration % period) % period

    @wp.func
    def reach(chain: Chain, goal: Goal, budget: Budget, reaching: Reaching, work: Work, world: int):
        """FabrikxSolver::solve."""
        period, most = reaching.rotation_period, budget.iterations + 0
        reaching.feed[world] = wp.clamp(work.feed[world], zero, chain.feed_limit)
        reaching.best_score[world] = dtype(wp.inf)
        place(chain, reaching, work, world)
        keep_if_best(chain, goal, budget, reaching, world)
        met, rest_score, i = wp.bool(False), dtype(-1.0), wp.int32(0)
        if not wp.isfinite(wp.length_sq(goal.position)) or not wp.isfinite(wp.length_sq(goal.direction)):
            most = wp.int32(0)
        elif reaching.score[world] <= one:
            met = report(chain, goal, budget, reaching, work, world)
        while i < most and not met:
            i += 1
            if i > 1 and iterations_to_rotation(period, i - 1, most) == 0:
                rotate_about_tip(chain, goal, reaching, world)
            forward_reach(chain, goal, reaching, world)
            moved = backward_reach(chain, reaching, world)
            keep_if_best(chain, goal, budget, reaching, world)
            score = reaching.score[world]
            if score <= one:
                met = report(chain, goal, budget, reaching, work, world)
            if not met and moved <= at_rest * chain.reach:
                # Iterations until the next rotation would change nothing: they count, but do not run.
                is_back = wp.abs(score - rest_score) <= same_score * score
                missing = wp.length(missing_rotation(chain, goal, reaching, world))
                if period == 0 or missing <= aligned or is_back:
                    break
                rest_score = score
                i = wp.min(i + iterations_to_rotation(period, i, most), most)
        if not met:
            report(chain, goal, budget, reaching, work, world)
        work.iterations[world] = i

    return types.SimpleNamespace(Reaching=Reaching, reach=reach)


def reaching_for(
    robot: tendril.ContinuumRobot,
    count: int,
    dtype: type,
    device: Any = None,
    rotation_period: int = ROTATION_PERIOD,
    keeps_free_direction: bool = False,
) -> Any:
    """Memory for solves of `count` worlds.

    :param rotation_period: iterations, after which the robot is rotated about its tip; 0: never
    :param keeps_free_direction: of the tip, where none is desired; for tracking
    """
    sections, vec3 = robot.sections, kinematics.functions(dtype).vec3
    reaching = fabrikx_functions(dtype).Reaching()
    reaching.rotation_period, reaching.keeps_free_direction = rotation_period, keeps_free_direction
    for name in ("theta", "extension", "first", "second", "best_theta", "best_extension"):
        setattr(reaching, name, wp.zeros((count, len(sections)), dtype=dtype, device=device))
    for name in ("direction", "tangent_point", "end", "goal", "best_direction"):
        setattr(reaching, name, wp.zeros((count, len(sections)), dtype=vec3, device=device))
    for name in ("best_feed", "best_score", "score", "feed"):
        setattr(reaching, name, wp.zeros(count, dtype=dtype, device=device))
    reaching.tip_axis = wp.zeros(count, dtype=vec3, device=device)
    return reaching
