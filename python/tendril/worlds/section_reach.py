"""The section of FABRIKx as Warp functions: the steps of `tendril/ik/section_reach.cpp` and `section_ik.cpp` over arcs.

`section_functions(dtype)` gives them. Sources: [FABRIKx]; docs/theory/ik.md, "Base shift".
"""

import functools
import math
import types

import warp as wp

from tendril.worlds import kinematics
from tendril.worlds.solver import rounded

# The numbers of the C++ code.
SECTION_ITERATIONS, POSITION_TOLERANCE, ANGLE_TOLERANCE = 50, 1e-9, 1e-10
EXACT = 1e-14
STRAIGHT, ROUNDING = 1e-12, 1e-14  # rad
LARGEST_LINK_BEND = 3.0  # rad
ON_AXIS = 1e-12  # of the target's distance: no lateral offset
ROOT_STEP, DIP_WIDTH, GOLDEN, ROOT_ITERATIONS = 0.05, 1e-7, 0.381966, 100


@functools.cache
def section_functions(dtype: type) -> types.SimpleNamespace:
    """The functions and types for numbers of `dtype`, wp.float32 or wp.float64.

    `Placed`                                    a section in its bend plane, and the tangent links that stand for it
    `place_section(chain, i, theta, extension)` section i with this bend and variable length
    `reach_section(chain, i, rho, z, start)`    section i with its end at (rho, z) of its bend plane, or as near as its
                                                limits allow, from the bend `start`; the first one of a base that
                                                feeds shifts it
    """
    f = kinematics.functions(dtype)
    vec4, Chain = wp.types.vector(4, dtype), f.Chain
    shape, bend_limit = f.shape, f.bend_limit
    zero, half, one, two = (dtype(x) for x in (0.0, 0.5, 1.0, 2.0))
    position_tolerance, angle_tolerance, exact, straight, rounding, on_axis, dip_width = (
        rounded(dtype, x) for x in (POSITION_TOLERANCE, ANGLE_TOLERANCE, EXACT, STRAIGHT, ROUNDING, ON_AXIS, DIP_WIDTH)
    )
    largest_link_bend, root_step, golden = (dtype(x) for x in (LARGEST_LINK_BEND, ROOT_STEP, GOLDEN))
    cos_half_link, sin_link = dtype(math.cos(LARGEST_LINK_BEND / 2.0)), dtype(math.sin(LARGEST_LINK_BEND))
    section_iterations, root_iterations = wp.constant(SECTION_ITERATIONS), wp.constant(ROOT_ITERATIONS)

    @wp.struct
    class Placed:
        """A section in its bend plane, and its tangent links."""

        theta: dtype
        extension: dtype
        feed: dtype
        x: dtype
        z: dtype
        cosine: dtype  # of the last tangent
        sine: dtype
        first: dtype
        second: dtype

    @wp.func
    def end_of(chain: Chain, i: int, theta: dtype):
        """End of the section of unit length in its bend plane, x and z, and its derivatives by the bend."""
        t = theta * theta
        end = shape(chain, i, t)
        return vec4(theta * end[0], end[1], end[0] + two * t * end[2], two * theta * end[3])

    @wp.func
    def chord_of(chain: Chain, i: int, theta: dtype):
        """Chord angle, without a jump at pi, and its derivative by the bend."""
        end = end_of(chain, i, theta)
        middle = half * theta
        c, s = wp.cos(middle), wp.sin(middle)
        across, along = end[0] * c - end[1] * s, end[0] * s + end[1] * c
        squared = end[0] * end[0] + end[1] * end[1]
        rate = dtype(0.0)
        if squared > zero:
            rate = (end[1] * end[2] - end[0] * end[3]) / squared
        return middle + wp.atan2(across, along), rate

    @wp.func
    def is_single_arc(chain: Chain, i: int):
        return chain.first_arc[i + 1] == chain.first_arc[i] + 1

    @wp.func
    def place_section(chain: Chain, i: int, theta: dtype, extension: dtype):
        """SectionReach::placed and tangent_links."""
        end, length = end_of(chain, i, theta), chain.length[i] + extension
        own = Placed()
        own.theta = theta
        own.extension = extension
        own.x = length * end[0]
        own.z = length * end[1]
        own.cosine = wp.cos(theta)
        own.sine = wp.sin(theta)
        if theta < straight:
            own.first = length * (one - chain.small_chord_ratio[i])
            own.second = length * chain.small_chord_ratio[i]
        elif theta <= largest_link_bend:
            own.second = own.x / own.sine
            own.first = own.z - own.second * own.cosine
        else:
            chord = wp.sqrt(own.x * own.x + own.z * own.z)
            alpha = half * theta
            if not is_single_arc(chain, i):
                alpha = wp.atan2(end[0], end[1])
            alpha *= largest_link_bend / theta
            own.first = chord * wp.sin(largest_link_bend - alpha) / sin_link
            own.second = chord * wp.sin(alpha) / sin_link
        return own

    @wp.func
    def reach_with_arc(chain: Chain, i: int, rho: dtype, z: dtype):
        """SectionReach::reach_with_arc."""
        n = wp.sqrt(rho * rho + z * z)
        theta = two * wp.atan2(rho, z)
        cosine, sine = dtype(1.0), dtype(0.0)  # of theta / 2
        if n > zero:
            cosine, sine = z / n, rho / n
        own = Placed()
        if chain.variable_length[i] > zero:
            if theta > chain.bend_limit[i]:
                theta = chain.bend_limit[i]
                cosine, sine = wp.cos(half * theta), wp.sin(half * theta)
            ratio = dtype(1.0)
            if theta >= straight:
                ratio = sine / (half * theta)
            own.extension = chain.variable_length[i]
            if ratio > zero:
                own.extension = wp.clamp(n / ratio - chain.length[i], zero, chain.variable_length[i])
        limit = bend_limit(chain, i, own.extension)
        if theta > limit:
            theta = limit
            cosine, sine = wp.cos(half * theta), wp.sin(half * theta)
        chord = chain.length[i] + own.extension
        if theta >= straight:
            chord *= sine / (half * theta)
        own.theta = theta
        own.x = chord * sine
        own.z = chord * cosine
        own.cosine = (cosine - sine) * (cosine + sine)
        own.sine = two * sine * cosine
        own.first = chord / (two * wp.where(theta > largest_link_bend, cos_half_link, cosine))
        own.second = own.first
        return own

    @wp.func
    def find_bend(
        chain: Chain,
        i: int,
        n: dtype,
        alpha: dtype,
        start: dtype,
        most_off: dtype,
        most_turned: dtype,
    ):
        """Bend at which the chord angle is alpha, between 0 and its limit, within these tolerances in m and rad."""
        inverted, chord_limit = chain.restart_bend[i], chain.chord_limit[i]
        theta = start + zero
        if not theta > zero:
            t = alpha / chord_limit
            k = one / chain.small_chord_ratio[i]
            theta = alpha * (k + t * t * (inverted / chord_limit - k))
        theta = wp.min(theta, inverted)
        low, high = dtype(0.0), inverted + zero
        for _ in range(section_iterations):
            angle, rate = chord_of(chain, i, theta)
            error = alpha - angle
            step = error / rate
            is_close = wp.abs(error) <= most_turned and n * step * step <= most_off * rate
            if is_close or wp.abs(step) <= rounding:
                return wp.clamp(theta + step, low, high)
            if error > zero:
                low = theta
            else:
                high = theta
            theta += step
            if not (theta > low and theta < high):
                theta = half * (low + high)
        return theta

    @wp.func
    def with_limits(chain: Chain, i: int, rho: dtype, z: dtype, feed: dtype, theta: dtype, extension: dtype):
        """The section inside its limits, and whether it reaches the target: (2.24) to (2.27)."""
        s = wp.clamp(extension, zero, chain.variable_length[i])
        own = place_section(chain, i, wp.min(theta, bend_limit(chain, i, s)), s)
        own.feed = feed
        ahead = z - feed
        cross, dot = wp.abs(rho * own.z - ahead * own.x), rho * own.x + ahead * own.z
        off = (rho - own.x) * (rho - own.x) + (ahead - own.z) * (ahead - own.z)
        reached = off <= position_tolerance * position_tolerance and wp.atan2(cross, dot) <= angle_tolerance
        return own, reached

    @wp.func
    def section_at(chain: Chain, i: int, rho: dtype, z: dtype, theta: dtype):
        """section_solution_at: with the length that puts the end at the target's distance."""
        extension = dtype(0.0)
        if chain.variable_length[i] > zero:
            end = end_of(chain, i, theta)
            squared = end[0] * end[0] + end[1] * end[1]
            extension = chain.variable_length[i]
            if squared > zero:
                extension = wp.sqrt((rho * rho + z * z) / squared) - chain.length[i]
        own, reached = with_limits(chain, i, rho, z, zero, theta, extension)
        return own, reached

    @wp.func
    def reach_with_newton(chain: Chain, i: int, rho: dtype, z: dtype, start: dtype):
        """solve_section_newton."""
        alpha = wp.atan2(rho, z)
        theta = two * alpha
        if alpha >= chain.chord_limit[i]:
            theta = chain.restart_bend[i]
        elif not is_single_arc(chain, i) and alpha != zero:
            n = wp.sqrt(rho * rho + z * z)
            theta = find_bend(chain, i, n, alpha, start, position_tolerance, angle_tolerance)
        own, reached = section_at(chain, i, rho, z, theta)
        return own, reached

    @wp.func
    def length_at_limit(chain: Chain, i: int, theta: dtype):
        """Least length at which the section bends by theta, m."""
        if chain.variable_length[i] > zero:
            return chain.length[i] + chain.variable_length[i] * (theta / chain.bend_limit[i])
        return chain.length[i]

    @wp.func
    def lateral_miss(chain: Chain, i: int, rho: dtype, is_longest: bool, theta: dtype):
        """Of the end from a distance rho of the base axis, at the greatest length or the least one of this bend, m."""
        end = end_of(chain, i, theta)
        length = chain.length[i] + chain.variable_length[i]
        if not is_longest:
            length = length_at_limit(chain, i, theta)
        return length * end[0] - rho

    @wp.func
    def false_position(
        chain: Chain, i: int, rho: dtype, is_longest: bool, first: dtype, f_first: dtype, last: dtype, f_last: dtype
    ):
        """A root of the lateral miss between two bends: tendril/ik/false_position.hpp."""
        a, f_a, b, f_b = first + zero, f_first + zero, last + zero, f_last + zero
        for _ in range(root_iterations):
            if f_b == zero:
                return b
            c = b - f_b * (b - a) / (f_b - f_a)
            if not (c > wp.min(a, b) and c < wp.max(a, b)):
                return b
            f_c = lateral_miss(chain, i, rho, is_longest, c)
            if (f_c < zero) != (f_b < zero):
                a, f_a = b, f_b
            else:
                f_a *= half
            b, f_b = c, f_c
        return b

    @wp.func
    def search_dip(chain: Chain, i: int, rho: dtype, is_longest: bool, a: dtype, f_a: dtype, b: dtype, f_b: dtype,
                   c: dtype, f_c: dtype, sign: dtype):  # fmt: skip
        """Golden sections towards the least miss around b: the first root, or whether there is none, and the least."""
        left, middle, f_middle, right = a + zero, b + zero, f_b + zero, c + zero
        for _ in range(root_iterations):
            if right - left > dip_width:
                to_right = right - middle > middle - left
                t = middle + golden * (wp.where(to_right, right, left) - middle)
                f_t = lateral_miss(chain, i, rho, is_longest, t)
                if sign * f_t <= zero:
                    return True, false_position(chain, i, rho, is_longest, a, f_a, t, f_t), zero
                if sign * f_t < sign * f_middle:
                    if to_right:
                        left = middle
                    else:
                        right = middle
                    middle, f_middle = t, f_t
                elif to_right:
                    right = t
                else:
                    left = t
        return False, middle, f_middle

    @wp.func
    def first_root(chain: Chain, i: int, rho: dtype, is_longest: bool, low: dtype, high: dtype):
        """The first bend at which the lateral miss changes its sign, or at which it is least."""
        f_low = lateral_miss(chain, i, rho, is_longest, low)
        if f_low == zero:
            return low
        sign = wp.where(f_low < zero, -one, one)
        best, least = low + zero, wp.abs(f_low)
        steps = wp.max(2, int(wp.ceil((high - low) / root_step)))
        dip = dip_width * (high - low)
        a, f_a, b, f_b = low + zero, f_low + zero, low + zero, f_low + zero
        for k in range(steps + 2):
            c = low + (high - low) * dtype(k) / dtype(steps)
            if k == 0:
                c = low + dip
            elif k == steps:
                c = high - dip
            elif k == steps + 1:
                c = high + zero
            f_c = lateral_miss(chain, i, rho, is_longest, c)
            if sign * f_c <= zero:
                return false_position(chain, i, rho, is_longest, b, f_b, c, f_c)
            if k > 0 and sign * f_b <= sign * f_a and sign * f_b <= sign * f_c:
                found, theta, f_theta = search_dip(chain, i, rho, is_longest, a, f_a, b, f_b, c, f_c, sign)
                if found:
                    return theta
                if wp.abs(f_theta) < least:
                    least = wp.abs(f_theta)
                    best = theta
            if wp.abs(f_c) < least:
                least = wp.abs(f_c)
                best = c
            a, f_a, b, f_b = b, f_b, c, f_c
        return best

    @wp.func
    def bend_at(chain: Chain, i: int, rho: dtype, z: dtype):
        """Bend whose chord points at the target."""
        alpha = wp.atan2(rho, z)
        if alpha >= chain.chord_limit[i]:
            return chain.restart_bend[i]
        return find_bend(chain, i, wp.sqrt(rho * rho + z * z), alpha, -one, exact, exact)

    @wp.func
    def reach_with_feed(chain: Chain, i: int, rho: dtype, z: dtype):
        """solve_section_with_feed."""
        own, reached = reach_with_newton(chain, i, rho, z, -one)
        if reached or wp.atan2(rho, z) >= chain.chord_limit[i]:
            return own
        least, range, feed_limit = chain.length[i], chain.variable_length[i], chain.feed_limit
        if rho <= on_axis * wp.sqrt(rho * rho + z * z):  # straight ahead
            s = wp.clamp(z - least, zero, range)
            ahead, _ahead_reached = with_limits(chain, i, rho, z, wp.clamp(z - least - s, zero, feed_limit), zero, s)
            return ahead
        low = bend_at(chain, i, rho, z)
        high = wp.max(low, bend_at(chain, i, rho, z - feed_limit))
        end = end_of(chain, i, low)
        is_too_far = (least + range) * end[0] < rho
        if not is_too_far and length_at_limit(chain, i, low) * end[0] <= rho:
            return own
        theta = first_root(chain, i, rho, is_too_far, low, high)
        length = least + range
        if not is_too_far:
            length = length_at_limit(chain, i, theta)
        end = end_of(chain, i, theta)
        feed = wp.clamp(z - length * end[1], zero, feed_limit)
        fed, _fed_reached = with_limits(chain, i, rho, z, feed, theta, length - least)
        return fed

    @wp.func
    def reach_section(chain: Chain, i: int, rho: dtype, z: dtype, start: dtype):
        """SectionReach::reach."""
        if i == 0 and chain.feed_limit > zero:
            return reach_with_feed(chain, i, rho, z)
        if is_single_arc(chain, i):
            return reach_with_arc(chain, i, rho, z)
        own, _reached = reach_with_newton(chain, i, rho, z, start)
        return own

    return types.SimpleNamespace(Placed=Placed, place_section=place_section, reach_section=reach_section)
