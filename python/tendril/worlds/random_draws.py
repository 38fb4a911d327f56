"""Random numbers from a state and a counter, as tendril/random_draws.hpp and tendril/ik have them."""

from __future__ import annotations

import warp as wp

GOLDEN = wp.constant(wp.uint64(0x9E3779B97F4A7C15))


@wp.func
def mixed(state: wp.uint64):
    """Output function of splitmix64."""
    x = state + GOLDEN
    x = (x ^ (x >> wp.uint64(30))) * wp.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> wp.uint64(27))) * wp.uint64(0x94D049BB133111EB)
    return x ^ (x >> wp.uint64(31))
