"""Statistics of sweeps: formulas against brute force, intervals against simulation.

TENDRIL_FULL=1 simulates ten times as often, with as many resamples as a sweep.
"""

import itertools
import math
import os

import numpy as np
import pytest

from tendril import statistics as st

FULL = bool(os.environ.get("TENDRIL_FULL"))
TRIALS = {n: 10 * count if FULL else count for n, count in {10: 6_000, 20: 2_000, 50: 2_000}.items()}
RESAMPLES = st.RESAMPLES if FULL else 500


def lognormal_iqm():
    """Interquartile mean of the lognormal distribution: the mean of exp(z) between the quartiles of z.

    exp(1/2) (Phi(q - 1) - Phi(-q - 1)) / (1/2), q the upper quartile of the normal distribution.
    """

    def phi(x):
        return (1 + math.erf(x / math.sqrt(2))) / 2

    q = 0.6744897501960817
    return 2 * math.exp(0.5) * (phi(q - 1) - phi(-q - 1))


def test_the_interquartile_mean_of_a_multiple_of_four_is_the_mean_of_the_middle_half():
    x = np.random.default_rng(1).normal(size=20)
    assert st.interquartile_mean(x) == pytest.approx(np.mean(np.sort(x)[5:15]), abs=1e-14)


def test_the_interquartile_mean_is_the_mean_of_the_middle_half_of_many_copies():
    for n in range(1, 30):  # every value four times: the count is a multiple of four
        x = np.random.default_rng(n).normal(size=n)
        copies = np.sort(np.repeat(x, 4))
        assert st.interquartile_mean(x) == pytest.approx(np.mean(copies[n : 3 * n]), abs=1e-12) or n in (1, 2, 3)
    assert st.interquartile_mean([3.0]) == 3.0


def test_an_infinity_counts_only_where_it_has_weight():
    x = list(range(10))
    assert st.interquartile_mean([*x, math.inf]) == pytest.approx(st.interquartile_mean([*x, 1e9]))
    assert st.interquartile_mean([*x[:3], *[math.inf] * 8]) == math.inf
    low, high = st.iqm_interval([*x, math.inf, math.inf], 1)
    assert math.isfinite(low) and not math.isnan(high)


@pytest.mark.parametrize("n", [8, 9, 10, 11, 13, 40, 1000])
def test_the_interval_is_that_of_resampling_and_sorting(n):
    """As many means of sorted resamples lie below each end as should, within five standard deviations."""
    x = np.random.default_rng(n).lognormal(size=n)
    resamples, brute = 100_000, 100_000 if n < 100 else 10_000
    random = np.random.default_rng(7)
    means = np.sort(
        np.concatenate(
            [iqm_of_rows(np.sort(x[random.integers(0, n, size=(1000, n))], axis=1)) for _ in range(brute // 1000)]
        )
    )
    low, high = st.iqm_interval(x, 7, resamples)
    deviation = math.sqrt(0.025 * 0.975 * (1 / brute + 1 / resamples))
    assert np.searchsorted(means, low) / brute == pytest.approx(0.025, abs=5 * deviation)
    assert np.searchsorted(means, high) / brute == pytest.approx(0.975, abs=5 * deviation)


def iqm_of_rows(ordered):
    return np.array([st.interquartile_mean(row) for row in ordered])


def test_the_interval_depends_on_values_and_seed_only():
    x = np.random.default_rng(3).normal(size=30)
    assert st.iqm_interval(x, 7) == st.iqm_interval(x[::-1], 7) != st.iqm_interval(x, 8)
    assert st.iqm_interval(x[:7], 7) is None


@pytest.mark.parametrize("n", [10, 20, 50])
def test_coverage_of_the_interquartile_mean_of_skewed_values(n):
    truth = lognormal_iqm()
    random = np.random.default_rng(n)
    covered = 0
    for trial in range(TRIALS[n]):
        low, high = st.iqm_interval(random.lognormal(size=n), trial, RESAMPLES)
        covered += low <= truth <= high
    assert 0.93 <= covered / TRIALS[n] <= 0.97


@pytest.mark.parametrize("n", [10, 20, 50])
def test_coverage_of_the_interquartile_mean_of_differences(n):
    random = np.random.default_rng(100 + n)
    covered = 0
    for trial in range(TRIALS[n]):  # symmetric about 0
        d = st.paired_differences(random.lognormal(size=n), random.lognormal(size=n))
        low, high = st.iqm_interval(d, trial, RESAMPLES)
        covered += low <= 0 <= high
    assert 0.93 <= covered / TRIALS[n] <= 0.97


@pytest.mark.parametrize("n", [20, 50, 100])
@pytest.mark.parametrize("rates", [(0.05, 0.05), (0.3, 0.1), (0.02, 0.2), (0.0, 0.02)])
def test_coverage_of_bonett_and_price(n, rates):
    """Exact: every pair (b, c) with its probability."""
    p, q = rates
    covered = 0.0
    for b in range(n + 1):
        for c in range(n + 1 - b):
            probability = math.comb(n, b) * math.comb(n - b, c) * p**b * q**c * (1 - p - q) ** (n - b - c)
            low, high = st.bonett_price(b, c, n)[1]
            covered += probability * (low <= p - q <= high)
    assert covered >= 0.94


def test_wilson_solves_its_equation():
    """The ends are the rates p0 with |p - p0| = z sqrt(p0 (1 - p0) / n)."""
    for n in (1, 5, 40):
        for k in range(n + 1):
            for end in st.wilson(k, n):
                assert abs(k / n - end) == pytest.approx(st.Z * math.sqrt(max(0, end * (1 - end)) / n), abs=1e-9)


def test_students_quantile():
    tables = {1: 12.7062047, 2: 4.3026527, 3: 3.1824463, 9: 2.2621572, 30: 2.0422725, 1000: 1.9623391}
    for degrees, value in tables.items():
        assert st.t_quantile(degrees) == pytest.approx(value, abs=1e-6)


def test_the_geometric_mean_ratio_of_a_constant_factor_is_the_factor():
    x = np.random.default_rng(5).lognormal(size=12)
    ratio, (low, high) = st.geometric_mean_ratio(3 * x, x)
    assert (ratio, low, high) == pytest.approx((3, 3, 3))
    ratio, (low, high) = st.geometric_mean_ratio(x, x[::-1])
    assert ratio == pytest.approx(1) and low < 1 < high and low * high == pytest.approx(1)
    assert st.geometric_mean_ratio([1, 0, 2], [1, 1, 1]) is None


def test_exact_sign_ranks_are_those_of_all_signs():
    random = np.random.default_rng(9)
    for n in range(1, 11):
        d = np.round(random.normal(0.4, 1, size=n), 1)  # with ties and zeros
        kept = d[d != 0]
        if len(kept) == 0:
            continue
        size = np.abs(kept)
        ranks = np.array([np.sum(size < x) + (np.sum(size == x) + 1) / 2 for x in size])
        observed = abs(np.sum(np.sign(kept) * ranks))
        sums = [abs(np.dot(signs, ranks)) for signs in itertools.product((-1, 1), repeat=len(kept))]
        assert st.sign_rank_p(d, 1) == pytest.approx(np.mean(np.array(sums) >= observed - 1e-9), abs=1e-15)


def test_drawn_sign_ranks_are_close_to_the_exact_ones():
    d = np.random.default_rng(2).normal(0.4, 1, size=16)
    exact = st.sign_rank_p(d, 1)
    more = np.concatenate((d, [0.0]))  # a zero is dropped
    assert st.sign_rank_p(more, 1) == exact
    most_exact, st.MOST_EXACT = st.MOST_EXACT, 0
    try:
        assert st.sign_rank_p(d, 1) == pytest.approx(exact, abs=5 * math.sqrt(exact / st.DRAWS))
    finally:
        st.MOST_EXACT = most_exact


def test_p_values_of_equal_variants_are_uniform():
    random = np.random.default_rng(4)
    p = [st.sign_rank_p(random.normal(size=12), 1) for _ in range(500)]
    assert np.mean(np.array(p) < 0.05) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 500)


def test_holm():
    assert st.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert st.holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    assert st.holm([]) == []


def test_exact_mcnemar_is_the_sign_test():
    for b in range(9):
        for c in range(9):
            outcomes = [
                abs(2 * sum(coin_flip) - b - c) >= abs(b - c) for coin_flip in itertools.product((0, 1), repeat=b + c)
            ]
            assert st.mcnemar(b, c) == pytest.approx(np.mean(outcomes), abs=1e-12)
    assert 0 < st.mcnemar(900, 1100) < 1e-4


def test_a_few_failures_of_both_variants_do_not_hide_a_difference():
    """A seed on which one variant fails gives an infinity of either sign; only many of both leave the interval open."""
    x = np.random.default_rng(3).normal(-1, 0.3, 1000)
    x[:3], x[3:6] = math.inf, -math.inf
    low, high = st.iqm_interval(x, 1)
    assert -1.1 < low < high < -0.9
    some = st.iqm_interval([*x[:6], *x[6:12]], 1)  # half of the values
    assert some == (-math.inf, math.inf)
    assert st.percentile(np.array([-math.inf, 0.0, 1.0]), 0.1) == -math.inf


def test_infinite_differences():
    inf = math.inf
    d = st.paired_differences([inf, inf, 1, 2], [inf, 1, inf, 1])
    assert d.tolist() == [0, inf, -inf, 1]
    assert st.chance_better(d, "lower")[0] == (1 + 0.5) / 4


def test_words():
    assert st.words(0.01, (0.1, 0.2), "higher") == "better"
    assert st.words(0.01, (0.1, 0.2), "lower") == "worse"
    assert st.words(0.06, (0.1, 0.2), "lower") == "no difference shown"
    assert st.words(0.01, (-0.1, 0.2), "lower") == "no difference shown"
    assert st.words(0.01, None, "lower") == "no difference shown"
