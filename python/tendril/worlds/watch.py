"""Whether a snake makes progress, and whether a tip swings, one thread for each world.

The steps of controllers/watch/progress_watch.hpp and settling_watch.hpp.
"""

import warp as wp

number, vec3 = wp.float64, wp.vec3d
ZERO, HALF, TWO = number(0.0), number(0.5), number(2.0)
MIN_MOTION, ANGLE, MAX_TURNING = number(0.05), number(0.2), number(6.28)  # of the body's length, rad, rad
NEARER_FACTOR = number(10.0)
USUAL_FRACTION, MIN_ADVANCE, AVERAGE = number(0.2), number(0.03), number(5.0)  # of the body's length; periods
WINDOW, WINDOWS = number(2.0), wp.constant(3)  # s, and how many in which a tip swings
MAX_CREEP, MAX_TARGET_RATIO = number(0.5), number(0.1)  # of the tip's range, of the tolerance


@wp.struct
class Progress:
    """Towards a goal. Since the last progress: motion in m, largest angle in rad, periods."""

    gained: number
    angle: number
    waited: number
    turned: number  # since the last motion
    net: number  # since it was nearest
    apart: number


@wp.struct
class Advance:
    """Of a gait."""

    usual: number  # in a period, m
    stalled: number  # periods
    seen: number  # of which `usual` is the mean


@wp.func
def progresses(
    watches: wp.array(dtype=Progress),
    world: int,
    towards: number,
    angle: number,
    periods: number,
    length: number,
    most: number,
):
    """Whether there has been progress in the last `most` periods: ProgressWatch::step.

    `towards` is the motion towards the goal in this step, m; `angle` that between motion and goal, >= 0.
    """
    last = watches[world]
    now = Progress()
    gained, largest = last.gained + towards, wp.max(last.angle, angle)
    moves = gained >= MIN_MOTION * length
    turns = angle <= largest - ANGLE and last.turned < MAX_TURNING
    progress = moves or turns
    now.gained = wp.where(progress, ZERO, gained)
    now.angle = wp.where(progress, angle, largest)
    now.waited = wp.where(progress, ZERO, wp.min(last.waited + periods, TWO * most))
    now.turned = wp.where(moves, ZERO, last.turned) + wp.where(turns, ANGLE, ZERO)
    net = last.net + towards
    nearer = net >= MIN_MOTION * length
    now.net = wp.where(nearer, ZERO, net)
    now.apart = wp.where(nearer, ZERO, wp.min(last.apart + periods, TWO * NEARER_FACTOR * most))
    watches[world] = now
    return now.waited <= most and now.apart <= NEARER_FACTOR * most


@wp.func
def add_advance(
    watches: wp.array(dtype=Advance), world: int, advance: number, periods: number, length: number, most: number
):
    """A sample of the distance from where the body was one period ago: AdvanceWatch::step."""
    last = watches[world]
    usual = last.usual
    if advance <= length and (usual < MIN_ADVANCE * length or advance >= USUAL_FRACTION * usual):
        seen = wp.min(last.seen + periods, AVERAGE)
        watches[world].usual = usual + periods / wp.max(seen, periods) * (advance - usual)
        watches[world].seen = seen
        watches[world].stalled = ZERO
    else:
        watches[world].stalled = wp.min(last.stalled + periods, TWO * most)


@wp.struct
class Settling:
    """Of a tip at a target at rest."""

    time: number  # since the window began, s; 0: no window
    windows: int  # in sequence in which the tip swings
    target: vec3
    low: vec3  # range of the tip
    high: vec3
    center: vec3  # of the last window


@wp.func
def swings(
    watches: wp.array(dtype=Settling), world: int, arrived: bool, tip: vec3, target: vec3, tolerance: number, h: number
):
    """One step of h: whether the tip swings about its target: SettlingWatch::step."""
    last, now = watches[world], Settling()
    if arrived:
        rests = last.time > ZERO and wp.length(target - last.target) <= MAX_TARGET_RATIO * tolerance
        begins = not rests or last.time >= WINDOW
        now.target = wp.where(rests, last.target, target)
        now.windows = wp.where(rests, last.windows, 0)
        now.center = last.center
        now.low = wp.where(begins, tip, wp.min(last.low, tip))
        now.high = wp.where(begins, tip, wp.max(last.high, tip))
        now.time = wp.where(begins, h, last.time + h)
        if now.time >= WINDOW:
            center, size = HALF * (now.low + now.high), wp.length(now.high - now.low)
            creeps = now.windows > 0 and wp.length(center - now.center) > MAX_CREEP * size
            now.windows = wp.where(size > tolerance and not creeps, wp.min(now.windows + 1, WINDOWS), 0)
            now.center = center
    watches[world] = now
    return now.windows == WINDOWS
