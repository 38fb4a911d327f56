"""Whether a snake makes progress, one thread for each world: the steps of controllers/watch/progress_watch.hpp."""

import warp as wp

number = wp.float64
ZERO, TWO = number(0.0), number(2.0)
MIN_MOTION, ANGLE, MAX_TURNING = number(0.05), number(0.2), number(6.28)  # of the body's length, rad, rad
NEARER_FACTOR = number(10.0)
USUAL_FRACTION, MIN_ADVANCE, AVERAGE = number(0.2), number(0.03), number(5.0)  # of the body's length; periods


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
