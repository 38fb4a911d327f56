"""The motion of an arm among obstacles, one thread for each world: the steps of controllers/arm/reactive_planner.cpp.

Source: docs/guide/clutter.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

import tendril as td
from tendril.worlds.arm import (
    Arm,
    ArmSettings,
    Step,
    functions,
    largest_change,
    number,
    numbers,
    rows,
    tables,
    vec3,
)
from tendril.worlds.bound_arm import BoundArm
from tendril.worlds.controller import Engine
from tendril.worlds.kinematics import chain_of
from tendril.worlds.move_timing import MoveTiming, forget_move, time_move, timing_for
from tendril.worlds.obstacle_descent import REACHED, TARGET_INSIDE, Descent, Room, descent_for, solver
from tendril.worlds.obstacle_descent import solve as solve_among
from tendril.worlds.obstacles import HALF, KINDS, ONE, TWO, ZERO, obstacles_of, place
from tendril.worlds.pose_search import (
    FOUND,
    MAX_NODES,
    MAX_WAYPOINTS,
    SEARCHING,
    STEP_RATIO,
    Space,
    Trees,
    add,
    are_equal,
    away,
    begin,
    blend,
    clearance,
    is_free,
    line_is_free,
    resume,
    trees_for,
)

PATH_MARGIN, GUARD_MARGIN = 0.75, 0.5  # of the margin, of paths that are searched and followed
RETARGET = number(0.02)  # of the robot's length: motion of the target after which a search begins again
MAX_GOALS, TRIES, TRY_PAUSE, TRY_PERIOD = (wp.constant(i) for i in (24, 100, 50, 3))
TRY_ITERATIONS, TIP_ITERATIONS = 60, 25
MIN_GOAL_DIFFERENCE = number(0.1)  # rad: of poses that are different goals
TIP_STEP = number(0.08)  # of the robot's length
TIP_STEPS, TIP_PERIOD, AIM_AT_GOAL = wp.constant(2), wp.constant(2), wp.constant(wp.uint64(4))
CHECKS, MAX_TREES, PATH_PAUSE, STALL_TIMEOUT = (wp.constant(i) for i in (48, 12, 10, 250))
MIN_RESOLUTION, MAX_RESOLUTION = 1.5e-3, 5e-3  # m
APPROACH_HALVINGS = wp.constant(6)
MIN_OBSTACLE_SPEED = number(2e-3)  # m/s, of one that moves
BACK_OFF = number(1e-4)  # m more than the margin when backing away
ESCAPES = wp.constant(12)  # poses that are tried there
GAIN, MIN_GAIN, MAX_LOSS, ESCAPE = number(1e-4), number(1e-9), number(1e-4), number(0.1)  # m, m, m, rad
SHIFT = wp.constant(2)  # of a robot on a rail: the coordinate of its feed
NO_CHANGE = number(1e-12)
RAIL_BEND = 1e-10  # rad, its limit


@wp.struct
class Planning:
    """What a plan follows from, the same in all worlds."""

    space: Space  # of paths
    room: Room  # that solutions keep free
    tracker: solver.Budget
    searcher: solver.Budget
    stepper: solver.Budget
    slack: number  # of a path that is followed, m
    length: number  # of the robot, m
    waits_for_base: bool


@wp.struct
class Plan:
    """The planned motion, a row for each world."""

    pose: rows
    solution: rows
    timing: MoveTiming
    rail_known: wp.array(dtype=bool)
    searching: wp.array(dtype=bool)
    searched_target: wp.array(dtype=vec3)
    search_steps: wp.array(dtype=int)
    goal_count: wp.array(dtype=int)
    goals: tables  # solutions found
    growing: wp.array(dtype=bool)
    trees_begun: wp.array(dtype=int)
    tip_count: wp.array(dtype=int)  # of the poses reached: known positions of their tips
    tips: wp.array2d(dtype=vec3)
    waypoint_count: wp.array(dtype=int)
    next_waypoint: wp.array(dtype=int)
    waypoints: tables
    start: rows  # scratch: the last solution
    last: rows  # planned pose
    next: rows
    found: rows  # solution of this step
    goal: rows  # where the step leads
    direction: rows


@wp.func
def _fraction_at_limit(planning: Planning, settings: ArmSettings, timestep: number, a: numbers, b: numbers):
    """Of the line between two poses, that the rates allow in one step; above 1 it takes less time."""
    change = largest_change(planning.space.chain, a, b)
    fraction = settings.rate_limit * timestep / wp.max(change, NO_CHANGE)
    if planning.room.rails > 0:
        fraction = wp.min(fraction, settings.feed_speed * timestep / wp.max(wp.abs(b[SHIFT] - a[SHIFT]), NO_CHANGE))
    return fraction


@wp.func
def _step_fraction(planning: Planning, settings: ArmSettings, timestep: number, a: numbers, b: numbers):
    """Of the line between two poses, covered in one step within the rates."""
    return wp.min(ONE, _fraction_at_limit(planning, settings, timestep, a, b))


@wp.func
def _fastest(planning: Planning, world: int, slowest: bool):
    """Speed of the obstacle that moves fastest, or slowest; 0 without any."""
    speed = number(0.0)
    for k in range(planning.space.obstacles.moving):
        other = planning.space.obstacles.speed[world, k]
        if k == 0 or (slowest and other < speed) or (not slowest and other > speed):
            speed = other
    return speed


@wp.func
def _find_solution(planning: Planning, target: solver.Goal, plan: Plan, descent: Descent, world: int):
    """From the last one, into plan.found; a target inside an obstacle is moved out of it, to descent.free_point."""
    chain, room, obstacles = planning.space.chain, planning.room, planning.space.obstacles
    solver.copy(plan.start[world], descent.q[world])
    status = solve_among(chain, target, planning.tracker, room, obstacles, descent, world)
    if status == TARGET_INSIDE:
        goal = solver.Goal()
        goal.position = descent.free_point[world]
        goal.direction = target.direction
        goal.has_direction = target.has_direction
        solver.copy(plan.start[world], descent.q[world])
        status = solve_among(chain, goal, planning.tracker, room, obstacles, descent, world)
        descent.free_point[world] = goal.position
    solver.copy(descent.q[world], plan.found[world])
    return status == REACHED


@wp.func
def _approach(planning: Planning, plan: Plan, world: int):
    """A target that nothing reaches: along the line from the last solution to the best pose, as far as it is free."""
    if is_free(planning.space, plan.found[world], world, ZERO):
        return
    free, blocked = number(0.0), number(1.0)
    for _ in range(APPROACH_HALVINGS):
        middle = HALF * (free + blocked)
        blend(plan.start[world], plan.found[world], middle, plan.next[world])
        if is_free(planning.space, plan.next[world], world, ZERO):
            free = middle
        else:
            blocked = middle
    blend(plan.start[world], plan.found[world], free, plan.found[world])
    solver.copy(plan.found[world], plan.solution[world])


@wp.func
def _forget_path(plan: Plan, world: int):
    plan.waypoint_count[world] = 0
    plan.next_waypoint[world] = 0


@wp.func
def _line_is_free(planning: Planning, plan: Plan, to: numbers, slack: number, trees: Trees, world: int):
    return line_is_free(planning.space, plan.last[world], to, slack, trees, world)


@wp.func
def _find_path(planning: Planning, plan: Plan, trees: Trees, world: int):
    """The next pose reached by a straight step, into plan.goal; whether there is one."""
    if _line_is_free(planning, plan, plan.found[world], ZERO, trees, world):
        _forget_path(plan, world)
        solver.copy(plan.found[world], plan.goal[world])
        return True
    count, next = plan.waypoint_count[world] + 0, plan.next_waypoint[world] + 0
    if next + 1 < count:
        if _line_is_free(planning, plan, plan.waypoints[world, next + 1], ZERO, trees, world):
            next += 1
    if next < count:
        if _line_is_free(planning, plan, plan.waypoints[world, next], planning.slack, trees, world):
            plan.next_waypoint[world] = next
            solver.copy(plan.waypoints[world, next], plan.goal[world])
            return True
    elif count > 0:
        if _line_is_free(planning, plan, plan.found[world], planning.slack, trees, world):
            solver.copy(plan.found[world], plan.goal[world])
            return True
    _forget_path(plan, world)
    return False


@wp.func
def _keep_goal(planning: Planning, plan: Plan, q: numbers, trees: Trees, world: int):
    count = plan.goal_count[world]
    for i in range(count):
        if largest_change(planning.space.chain, plan.goals[world, i], q) < MIN_GOAL_DIFFERENCE:
            return
    if count < MAX_GOALS:
        solver.copy(q, plan.goals[world, count])
        plan.goal_count[world] = count + 1
    if plan.growing[world]:
        add(trees, world, 1, q, -1)


@wp.func
def _try_for_goal(
    planning: Planning, goal: solver.Goal, plan: Plan, descent: Descent, trees: Trees, world: int, steps: int
):
    """Another solution, from a random pose or one that is reached."""
    chain, stream = planning.space.chain, wp.uint64(steps)
    solver.random_pose(chain, stream, 0, descent.q[world])
    if plan.growing[world] and steps / TRY_PERIOD % 2 == 1:
        count = trees.size[world, 0]
        node = int(solver.bits(stream, 3 * chain.sections) % wp.uint64(count))
        solver.copy(trees.nodes[world, 0, node], descent.q[world])
    else:
        bend = solver.uniform(stream, 3 * chain.sections)  # poses with smaller bends are easier to reach
        for i in range(chain.sections):
            c = functions.coordinates(chain, descent.q[world], i)
            functions.set_coordinates(chain, descent.q[world], i, vec3(bend * c[0], bend * c[1], c[2]))
    status = solve_among(chain, goal, planning.searcher, planning.room, planning.space.obstacles, descent, world)
    if status == REACHED:
        solver.copy(descent.q[world], plan.goal[world])
        _keep_goal(planning, plan, plan.goal[world], trees, world)


@wp.func
def _add_tips(planning: Planning, plan: Plan, descent: Descent, trees: Trees, world: int):
    """Tips of the poses that are reached, as far as they are not known."""
    chain, spin = planning.space.chain, planning.space.obstacles.spin[world]
    for i in range(plan.tip_count[world], trees.size[world, 0]):
        functions.end_frames(chain, trees.nodes[world, 0, i], ZERO, spin, descent.rotations[world], descent.ends[world])
        plan.tips[world, i] = descent.ends[world, chain.sections]
    plan.tip_count[world] = trees.size[world, 0]


@wp.func
def _grow_tip(planning: Planning, goal: solver.Goal, plan: Plan, descent: Descent, trees: Trees, world: int):
    """Moves the tip of a reached pose some steps towards a random point or the goal, sliding along the obstacles."""
    chain, length = planning.space.chain, TIP_STEP * planning.length
    _add_tips(planning, plan, descent, trees, world)
    stream = (wp.uint64(plan.search_steps[world]) << wp.uint64(32)) + wp.uint64(plan.trees_begun[world])
    aim, at_goal, draw = goal.position + vec3(), wp.bool(True), wp.int32(1)
    if solver.bits(stream, 0) % AIM_AT_GOAL != wp.uint64(0):
        at_goal = wp.bool(False)
        aim = vec3(TWO * planning.length, ZERO, ZERO)
        while wp.length(aim) > planning.length:
            for k in range(3):
                aim[k] = (TWO * solver.uniform(stream, draw + k) - ONE) * planning.length
            draw += 3
    goes_on = wp.bool(True)
    for _ in range(TIP_STEPS):
        if goes_on:
            nearest = plan.tip_count[world] - 1
            for i in range(plan.tip_count[world]):
                if wp.length_sq(plan.tips[world, i] - aim) < wp.length_sq(plan.tips[world, nearest] - aim):
                    # Otherwise a trapped tip would be tried indefinitely.
                    if solver.bits(stream, draw) % wp.uint64(2) == wp.uint64(0):
                        nearest = i
                    draw += 1
            tip = plan.tips[world, nearest]
            distance = wp.length(aim - tip)
            point = solver.Goal()
            point.position = aim
            if distance > length:
                point.position = tip + length / distance * (aim - tip)
            solver.copy(trees.nodes[world, 0, nearest], plan.next[world])
            solver.copy(plan.next[world], descent.q[world])
            status = solve_among(
                chain, point, planning.stepper, planning.room, planning.space.obstacles, descent, world
            )
            goes_on = status == REACHED
            if goes_on:
                solver.copy(descent.q[world], plan.goal[world])
                goes_on = line_is_free(planning.space, plan.next[world], plan.goal[world], ZERO, trees, world)
            if goes_on:
                add(trees, world, 0, plan.goal[world], nearest)
                if distance <= length and at_goal:
                    _keep_goal(planning, plan, plan.goal[world], trees, world)
                _add_tips(planning, plan, descent, trees, world)
    solver.copy(plan.last[world], plan.next[world])


@wp.func
def _begin_trees(planning: Planning, plan: Plan, trees: Trees, world: int):
    """From the solutions that are free as the obstacles are now; false: there is none."""
    count = wp.int32(0)
    for i in range(plan.goal_count[world]):
        if is_free(planning.space, plan.goals[world, i], world, ZERO):
            if i > count:
                solver.copy(plan.goals[world, i], plan.goals[world, count])
            count += 1
    plan.goal_count[world] = count
    if count == 0:
        return False
    begin(trees, world, plan.last[world], plan.goals[world, 0], plan.trees_begun[world])
    for i in range(1, count):
        add(trees, world, 1, plan.goals[world, i], -1)
    plan.growing[world] = True
    plan.tip_count[world] = 0
    plan.trees_begun[world] = plan.trees_begun[world] + 1
    return True


@wp.func
def _grow(planning: Planning, plan: Plan, trees: Trees, world: int):
    if not plan.growing[world]:
        if not _begin_trees(planning, plan, trees, world):
            return
    progress = resume(planning.space, CHECKS, trees, world)
    if progress == SEARCHING:
        return
    plan.growing[world] = False
    if progress == FOUND:
        count = trees.found_size[world]
        for i in range(count):
            solver.copy(trees.found[world, i], plan.waypoints[world, i])
        plan.waypoint_count[world] = count
        plan.next_waypoint[world] = 0
        solver.copy(trees.path[world, trees.path_size[world] - 1], plan.found[world])
        solver.copy(plan.found[world], plan.solution[world])


@wp.func
def _search(
    planning: Planning,
    goal: solver.Goal,
    reached: bool,
    plan: Plan,
    descent: Descent,
    trees: Trees,
    world: int,
):
    """One step of a search for a path to any pose that reaches the goal."""
    moved = wp.length(goal.position - plan.searched_target[world])
    if not plan.searching[world] or moved > RETARGET * planning.length:
        plan.searching[world] = True
        plan.searched_target[world] = goal.position
        plan.search_steps[world] = 0
        plan.goal_count[world] = 0
        plan.trees_begun[world] = 0
        plan.growing[world] = False
        if reached:
            _keep_goal(planning, plan, plan.found[world], trees, world)
    steps, goals = plan.search_steps[world] + 0, plan.goal_count[world] + 0
    plan.search_steps[world] = steps + 1
    tries = steps % TRY_PERIOD == 0
    if goals == 0:
        tries = steps < TRIES or steps % TRY_PAUSE == 0
    if tries:
        _try_for_goal(planning, goal, plan, descent, trees, world, steps)
    elif goals > 0 and (plan.trees_begun[world] <= MAX_TREES or steps % PATH_PAUSE == 0):
        if plan.growing[world] and steps % TIP_PERIOD == 0:
            _grow_tip(planning, goal, plan, descent, trees, world)
        else:
            _grow(planning, plan, trees, world)


@wp.func
def _back_away(planning: Planning, settings: ArmSettings, h: number, plan: Plan, trees: Trees, world: int):
    """From an obstacle that has come too near: towards the solution, along the clearance's gradient, or farther off."""
    space = planning.space
    last, next, goal, direction = plan.last[world], plan.next[world], plan.goal[world], plan.direction[world]
    _forget_path(plan, world)
    here = clearance(space, last, world)
    solver.copy(last, next)
    most, enough = here + MIN_GAIN, here + wp.min(GAIN, BACK_OFF - here)
    blend(last, plan.found[world], _step_fraction(planning, settings, h, last, plan.found[world]), direction)
    there = clearance(space, direction, world)
    if there > most:
        most = there
        solver.copy(direction, next)
        if most > enough:
            return
    away(space, last, trees, world, direction)
    for k in range(goal.shape[0]):
        goal[k] = last[k] + (BACK_OFF - here) * direction[k]
    for i in range(space.chain.sections):
        c = functions.coordinates(space.chain, goal, i)
        functions.set_coordinates(space.chain, goal, i, functions.clamped(space.chain, i, c))
    blend(last, goal, _step_fraction(planning, settings, h, last, goal), direction)
    there = clearance(space, direction, world)
    if there > most:
        most = there
        solver.copy(direction, next)
        if not is_free(space, plan.found[world], world, ZERO):
            solver.copy(goal, plan.solution[world])
    if most > enough:
        return
    stream, farthest, found = wp.cast(here, wp.uint64), most + ZERO, wp.bool(False)
    for i in range(ESCAPES):
        solver.random_pose(space.chain, stream, 3 * space.chain.sections * i, direction)
        change = wp.max(largest_change(space.chain, last, direction), NO_CHANGE)
        blend(last, direction, wp.min(ONE, ESCAPE / change), direction)
        there = clearance(space, direction, world)
        if there > farthest:
            farthest = there
            found = wp.bool(True)
            solver.copy(direction, goal)
    if found:
        blend(last, goal, _step_fraction(planning, settings, h, last, goal), direction)
        if clearance(space, direction, world) >= here - MAX_LOSS:
            solver.copy(direction, next)


@wp.func
def _follow(planning: Planning, settings: ArmSettings, h: number, slack: number, plan: Plan, world: int):
    """One step towards plan.goal, if it is free."""
    at_limit = _fraction_at_limit(planning, settings, h, plan.last[world], plan.goal[world])
    scale = time_move(plan.timing, at_limit, h, world)
    blend(plan.last[world], plan.goal[world], scale, plan.next[world])
    if not is_free(planning.space, plan.next[world], world, slack):
        solver.copy(plan.last[world], plan.next[world])
    elif scale == ONE and plan.next_waypoint[world] < plan.waypoint_count[world]:
        plan.next_waypoint[world] = plan.next_waypoint[world] + 1


@wp.func
def plan_step(
    arm: Arm,
    planning: Planning,
    target: solver.Goal,
    feed: number,
    plan: Plan,
    descent: Descent,
    trees: Trees,
    world: int,
):
    """ReactivePlanner::step: moves plan.pose; whether the target is reached."""
    settings, h, space = arm.settings[world % arm.rows], arm.timestep, planning.space
    last = plan.last[world]
    solver.copy(plan.pose[world], last)
    if planning.room.rails > 0 and not plan.rail_known[world]:
        last[SHIFT] = feed
    plan.rail_known[world] = True
    solver.copy(plan.solution[world], plan.start[world])
    reached = _find_solution(planning, target, plan, descent, world)
    goal = solver.Goal()
    goal.position = descent.free_point[world]
    goal.direction = target.direction
    goal.has_direction = target.has_direction
    is_outside = wp.length_sq(goal.position - target.position) == ZERO
    solver.copy(plan.found[world], plan.solution[world])
    solver.copy(last, plan.next[world])

    # A pose that an obstacle has pushed between others gets out again when nothing moves any more.
    slack = planning.slack + ZERO
    near = not is_free(space, last, world, slack)
    if near and _fastest(planning, world, False) <= MIN_OBSTACLE_SPEED:
        slack = TWO * slack
        near = not is_free(space, last, world, slack)
    if near:
        plan.growing[world] = False
        _back_away(planning, settings, h, plan, trees, world)
        return reached and is_outside
    all_move = space.obstacles.moving > 0 and space.obstacles.moving == space.obstacles.count
    waits_for_base = planning.waits_for_base and all_move and _fastest(planning, world, True) > MIN_OBSTACLE_SPEED
    has_path = wp.bool(False)
    if not waits_for_base and reached:
        has_path = _find_path(planning, plan, trees, world)
    if waits_for_base or has_path:
        plan.searching[world] = False
    else:
        _search(planning, goal, reached, plan, descent, trees, world)
    waits = not has_path and plan.goal_count[world] > 0
    is_reached = is_outside and (has_path or (waits and plan.search_steps[world] <= STALL_TIMEOUT))
    if waits_for_base:
        is_reached = wp.bool(True)
    if not has_path and not waits and not planning.waits_for_base:
        _approach(planning, plan, world)
        has_path = _find_path(planning, plan, trees, world)
    if has_path:
        _follow(planning, settings, h, slack, plan, world)
    return is_reached


@wp.func
def plan_motion(
    arm: Arm,
    engine: Engine,
    planning: Planning,
    target: solver.Goal,
    plan: Plan,
    descent: Descent,
    trees: Trees,
    step: Step,
    work: solver.Work,
    world: int,
):
    """The next planned pose, into `work`, and whether it is where the plan leads."""
    place(planning.space.obstacles, arm, engine, planning.length, world)
    planning.space.obstacles.spin[world] = step.spin[world]
    work.met[world] = plan_step(arm, planning, target, step.feed[world], plan, descent, trees, world)
    pose = plan.pose[world]
    solver.copy(plan.next[world], pose)
    first = (SHIFT + 1) * planning.room.rails
    for k in range(arm.coordinates):
        work.pose[world, k] = pose[first + k]
    work.feed[world] = step.feed[world]
    if planning.room.rails > 0:
        work.feed[world] = pose[SHIFT]
    return are_equal(pose, plan.found[world])


@wp.kernel(module="unique", enable_backward=False)
def _forget(chosen: wp.array(dtype=bool), planning: Planning, plan: Plan):
    world = wp.tid()
    if not chosen[world]:
        return
    solver.copy(planning.room.straight, plan.pose[world])
    solver.copy(planning.room.straight, plan.solution[world])
    plan.rail_known[world] = False
    forget_move(world, plan.timing)
    plan.searching[world] = False
    plan.growing[world] = False
    plan.goal_count[world] = 0
    plan.waypoint_count[world] = 0
    plan.next_waypoint[world] = 0
    planning.space.obstacles.known[world] = False
    for k in range(planning.space.obstacles.moving):
        planning.space.obstacles.speed[world, k] = ZERO


class Avoidance:
    """Plans of one arm in all worlds: what `plan_motion` takes."""

    def __init__(self, bound: BoundArm, model: Any) -> None:
        """:raises ModelError: obstacles that have no equal on a device"""
        self._bound = bound
        table = bound.tables[0]["obstacles"]
        if any(one["obstacles"] != table for one in bound.tables):
            raise td.ModelError(f"{bound.name}: obstacles: differ between the worlds: must be the same geoms")
        if table["has_hollow"]:
            raise td.ModelError(f"{bound.name}: obstacles: one is hollowed at the arm's base: not supported in worlds")
        if not set(model.geom_type[table["geoms"]]) <= {int(kind) for kind in KINDS}:
            raise td.ModelError(f"{bound.name}: obstacles: a mesh: must be other geoms in worlds")
        robot, rails = bound.robot, int(bound.robot.feed_limit > 0)
        if rails:
            rail = td.Section(variable_length=robot.feed_limit, bend_limit=RAIL_BEND)
            robot = td.ContinuumRobot([rail, *robot.sections])
        straight = robot.coordinates(robot.straight)
        if rails:
            straight[int(SHIFT)] = 0.0
        margin, radius = float(bound.setting("obstacle_margin")), bound.tables[0]["body_radius"]
        planning = Planning()
        space = planning.space
        space.chain = chain_of(robot, wp.float64, bound.device)
        space.obstacles = obstacles_of(bound, model)
        lengths = [section.length + section.variable_length for section in robot.sections]
        space.reach = bound.numbers(np.cumsum(lengths[::-1])[::-1])
        space.resolution = min(max(0.5 * margin, MIN_RESOLUTION), MAX_RESOLUTION)
        space.max_step = STEP_RATIO * sum(lengths)
        for room, part in ((planning.room, 1.0), (space.room, PATH_MARGIN)):
            room.rails, room.safety, room.straight = rails, radius + part * margin, bound.numbers(straight)
        for budget, iterations in (
            (planning.tracker, int(bound.setting("max_iterations"))),
            (planning.searcher, TRY_ITERATIONS),
            (planning.stepper, TIP_ITERATIONS),
        ):
            budget.iterations = iterations
            budget.position_tolerance = float(bound.setting("position_tolerance"))
            budget.angle_tolerance = float(bound.setting("angle_tolerance"))
        planning.slack, planning.length = (PATH_MARGIN - GUARD_MARGIN) * margin, sum(lengths)
        planning.waits_for_base = bound.setting("wait_for_base") == "true"
        self._planning, self._plan = planning, _plan_for(bound, len(straight))
        self._descent = descent_for(bound, len(robot.sections), len(straight))
        self._trees = trees_for(bound, len(straight))

    def reset(self, chosen: Any) -> None:
        """Forgets the plans of the chosen worlds, (count,) of bool."""
        self._bound.launch(_forget, [chosen, self._planning, self._plan])

    def inputs(self, model: Any) -> list[Any]:
        """Of a kernel: `planning`, `plan`, `descent` and `trees`."""
        self._planning.space.obstacles.size = model.geom_size
        return [self._planning, self._plan, self._descent, self._trees]


def _plan_for(bound: BoundArm, coordinates: int) -> Any:
    """Memory for plans of all worlds, all zero."""
    kinds = {
        **dict.fromkeys(("rail_known", "searching", "growing"), (wp.bool,)),
        **dict.fromkeys(("search_steps", "goal_count", "trees_begun", "tip_count"), (int,)),
        **dict.fromkeys(("waypoint_count", "next_waypoint"), (int,)),
        "searched_target": (vec3,),
        "tips": (vec3, int(MAX_NODES)),
        "goals": (number, int(MAX_GOALS), coordinates),
        "waypoints": (number, int(MAX_WAYPOINTS), coordinates),
    }
    plan = Plan()
    plan.timing = timing_for(bound)
    for name in Plan.vars.keys() - {"timing"}:
        kind, *shape = kinds.get(name, (number, coordinates))
        setattr(plan, name, bound.zeros(*shape, kind=kind))
    return plan
