"""Statistics of sweeps: rates, interquartile means, paired differences, with 95 % intervals.

Seeds are what is drawn: one value is one seed, and two variants are compared seed by seed. A value that a run does not
have counts as the worst one, an infinity. Random numbers are NumPy's PCG64, seeded by the caller: the same values and
the same seed give the same bits.

Sources: [Wilson] Wilson 1927, JASA 22:209. [IQM] Agarwal et al. 2021, NeurIPS, "Deep reinforcement learning at the edge
of the statistical precipice". [Holm] Holm 1979, Scand. J. Stat. 6:65. [BonettPrice] Bonett and Price 2012, Stat. Med.
31:366. [McNemar] McNemar 1947, Psychometrika 12:153. [AS] Abramowitz and Stegun 1964, 26.7. [Devroye] Devroye 1986,
"Non-uniform random variate generation".
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]
Interval = tuple[float, float]
Better = Literal["lower", "higher"]

#: 97.5 % quantile of the normal distribution.
Z = 1.959964
RESAMPLES = 10_000
DRAWS = 100_000
#: Fewest values with an interval of the interquartile mean.
FEWEST = 8
#: Most differences of which all signs are enumerated.
MOST_EXACT = 16

_CHUNK = 25_000  # numbers at once, so that they stay in the cache


def seed_of(*names: str) -> int:
    """The seed of the random numbers of one statistic: the first 8 bytes of SHA-256 of the names, joined by '/'."""
    return int.from_bytes(hashlib.sha256("/".join(names).encode()).digest()[:8], "big")


def wilson(successes: float, n: int) -> Interval:
    """Wilson's interval of a rate.

        (p + z^2/2n +- z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n),   p = successes / n

    Source: [Wilson].
    """
    p, z2 = successes / n, Z * Z
    half = Z * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n))
    center, scale = p + z2 / (2 * n), 1 + z2 / n
    return max(0.0, (center - half) / scale), min(1.0, (center + half) / scale)


def _iqm_weights(n: int) -> Values:
    """w_i = min(1, max(0, min(i - n/4, 3n/4 - i + 1))), i = 1 ... n: the middle half of n ordered values."""
    i = np.arange(1, n + 1, dtype=np.float64)
    weights: Values = np.clip(np.minimum(i - n / 4, 3 * n / 4 - i + 1), 0.0, 1.0)
    return weights


def interquartile_mean(values: npt.ArrayLike) -> float:
    """Mean of the middle half of the values: sum w_i x_(i) / sum w_i over the ascending values.

    Infinite when an infinite value has weight, NaN when both infinities have. Source: [IQM].
    """
    x = np.sort(np.asarray(values, dtype=np.float64))
    weights = _iqm_weights(len(x))
    used = weights > 0
    return float(np.sum(weights[used] * x[used]) / np.sum(weights))


def percentile(ordered: Values, fraction: float) -> float:
    """Returns a percentile of ascending values, with linear interpolation; between infinities no NaN."""
    position = fraction * (len(ordered) - 1)
    below = math.floor(position)
    low, high = float(ordered[below]), float(ordered[math.ceil(position)])
    if low == high or position == below or low == -math.inf:
        return low
    return low + (position - below) * (high - low)


def _resampled_means(x: Values, resamples: int, random: np.random.Generator) -> Values:
    """Interquartile means of resamples of ascending values; n > 1.

    The indices of a resample in the ordered values are n u, of n uniform numbers u. The mean needs their order
    statistics m + 1 ... n - m, m = floor(n / 4). The first and the last of these are sums of exponential numbers, as
    parts of all n + 1; those between are uniform between the two, in any order: nothing is sorted, and half is drawn.
    Source: [Devroye], V.3.1.
    """
    n, m = len(x), len(x) // 4
    sums = np.cumsum(random.standard_gamma([m + 1, n - 2 * m - 1, m + 1], size=(resamples, 3)), axis=1)
    first, last = n * sums[:, :1] / sums[:, 2:], n * sums[:, 1:2] / sums[:, 2:]

    def totals(indices: Values) -> Values:
        values: Values = x.take(indices.astype(np.intp), mode="clip").sum(axis=1)
        return values

    means: Values = (1 - n / 4 + m) * totals(np.hstack((first, last)))
    between = n - 2 * m - 2
    rows = max(1, _CHUNK // max(1, between))
    for begin in range(0, resamples, rows):
        some = slice(begin, begin + rows)
        means[some] += totals(first[some] + (last - first)[some] * random.random((len(means[some]), between)))
    return means / (n / 2)


def iqm_interval(values: npt.ArrayLike, seed: int, resamples: int = RESAMPLES) -> Interval | None:
    """Bootstrap interval of the interquartile mean: percentiles 2.5 and 97.5 of the resamples. None for n < 8.

    A resample in which both infinities have weight counts as the worse one at each end. Held by: test_statistics,
    coverage by simulation.
    """
    x = np.sort(np.asarray(values, dtype=np.float64))
    if len(x) < FEWEST:
        return None
    with np.errstate(invalid="ignore"):
        means = _resampled_means(x, resamples, np.random.Generator(np.random.PCG64(seed)))
    undefined = np.isnan(means)  # both infinities have weight
    low, high = (np.sort(np.where(undefined, end, means)) for end in (-math.inf, math.inf))
    return percentile(low, 0.025), percentile(high, 0.975)


def paired_differences(variant: npt.ArrayLike, baseline: npt.ArrayLike) -> Values:
    """variant - baseline, seed by seed; 0 where both are the same infinity."""
    a, b = np.asarray(variant, dtype=np.float64), np.asarray(baseline, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        differences: Values = np.where(a == b, 0.0, a - b)
    return differences


def _two_sided_t(t: float, degrees: int) -> float:
    """P(|T| <= t) of Student's distribution. Source: [AS] 26.7.3 and 26.7.4."""
    angle = math.atan(t / math.sqrt(degrees))
    sine, cosine2 = math.sin(angle), math.cos(angle) ** 2
    odd = degrees % 2 == 1
    if degrees == 1:
        return 2 * angle / math.pi
    terms = degrees // 2
    k = np.arange(1, terms)
    factors = 2 * k / (2 * k + 1) if odd else (2 * k - 1) / (2 * k)
    series = float(np.sum(np.cumprod(np.concatenate(([1.0], factors * cosine2)))))
    return 2 / math.pi * (angle + sine * math.cos(angle) * series) if odd else sine * series


def t_quantile(degrees: int) -> float:
    """97.5 % quantile of Student's distribution."""
    low, high = 0.0, 13.0  # 12.7 with one degree of freedom
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _two_sided_t(middle, degrees) < 0.95 else (low, middle)
    return (low + high) / 2


def geometric_mean_ratio(variant: npt.ArrayLike, baseline: npt.ArrayLike) -> tuple[float, Interval] | None:
    """exp(mean r +- t_(n-1, 0.975) s / sqrt(n)), r = ln(variant / baseline).

    None unless all values are positive and finite, n >= 2.
    """
    a, b = np.asarray(variant, dtype=np.float64), np.asarray(baseline, dtype=np.float64)
    both = np.concatenate((a, b))
    if len(a) < 2 or not (np.isfinite(both).all() and (both > 0).all()):
        return None
    r = np.log(a / b)
    mean = float(np.mean(r))
    half = t_quantile(len(r) - 1) * float(np.std(r, ddof=1)) / math.sqrt(len(r))
    low, high = (math.exp(x) if x < 700 else math.inf for x in (mean - half, mean + half))
    return math.exp(mean) if mean < 700 else math.inf, (low, high)


def chance_better(differences: npt.ArrayLike, better: Better) -> tuple[float, Interval]:
    """(number better + half of the equal) / n, with Wilson's interval: of the next seed, that the variant is better."""
    d = np.asarray(differences, dtype=np.float64)
    wins = int(np.sum(d < 0 if better == "lower" else d > 0)) + int(np.sum(d == 0)) / 2
    return wins / len(d), wilson(wins, len(d))


def _mean_ranks(values: Values) -> Values:
    """1 ... n in ascending order; equal values have the mean of their ranks."""
    _, index, count = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Values = (np.cumsum(count) - (count - 1) / 2)[index]
    return ranks


def _exact_sign_rank(doubled: npt.NDArray[np.int64], observed: int) -> float:
    """P(|sum of +- ranks| >= observed) over all signs; the ranks are doubled, so that they are integers."""
    total = int(doubled.sum())
    counts = np.zeros(2 * total + 1, dtype=np.int64)  # of the sums -total ... total
    counts[total] = 1
    for rank in doubled:
        up, down = np.roll(counts, rank), np.roll(counts, -rank)
        counts = up + down
    sums = np.abs(np.arange(-total, total + 1))
    return float(counts[sums >= observed].sum() / 2.0 ** len(doubled))


def _sign_sums(ranks: Values, random: np.random.Generator) -> Values:
    """DRAWS sums of the ranks with random signs; a random byte is the signs of eight ranks."""
    signs = 2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, np.newaxis], axis=1) - 1.0
    sums = np.zeros(DRAWS)
    for begin in range(0, DRAWS, _CHUNK):
        some = sums[begin : begin + _CHUNK]
        for eight in np.pad(ranks, (0, -len(ranks) % 8)).reshape(-1, 8):
            some += (signs @ eight).take(np.frombuffer(random.bytes(len(some)), dtype=np.uint8))
    return sums


def sign_rank_p(differences: npt.ArrayLike, seed: int) -> float:
    """Two-sided p value that differences are symmetric about 0: their ranks with random signs.

    Zeros are dropped, ties have mean ranks. All signs for n <= 16, else 100 000 draws of PCG64: (hits + 1) / (draws +
    1).
    """
    d = np.asarray(differences, dtype=np.float64)
    d = d[d != 0]
    if len(d) == 0:
        return 1.0
    ranks = _mean_ranks(np.abs(d))
    observed = abs(float(np.sum(np.sign(d) * ranks)))
    if len(d) <= MOST_EXACT:
        return _exact_sign_rank(np.rint(2 * ranks).astype(np.int64), round(2 * observed))
    random = np.random.Generator(np.random.PCG64(seed))
    hits = int(np.sum(np.abs(_sign_sums(ranks, random)) >= observed))
    return (hits + 1) / (DRAWS + 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """The p values corrected for their number, in their order. Source: [Holm]."""
    n = len(p_values)
    corrected, largest = [0.0] * n, 0.0
    for rank, i in enumerate(sorted(range(n), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (n - rank) * p_values[i]))
        corrected[i] = largest
    return corrected


def bonett_price(only_variant: int, only_baseline: int, n: int) -> tuple[float, Interval]:
    """Difference of two paired success rates, (b - c) / n, with its interval.

        q1 - q2 +- z sqrt((q1 + q2 - (q1 - q2)^2) / (n + 2)),   q1 = (b + 1) / (n + 2), q2 = (c + 1) / (n + 2)

    @param only_variant, only_baseline  b, c: seeds on which only the variant, only the baseline succeeds
    Source: [BonettPrice].
    """
    q1, q2 = (only_variant + 1) / (n + 2), (only_baseline + 1) / (n + 2)
    half = Z * math.sqrt((q1 + q2 - (q1 - q2) ** 2) / (n + 2))
    return (only_variant - only_baseline) / n, (max(-1.0, q1 - q2 - half), min(1.0, q1 - q2 + half))


def mcnemar(only_variant: int, only_baseline: int) -> float:
    """Exact p value that two paired success rates are equal: min(1, 2 P[Bin(b + c, 1/2) <= min(b, c)]).

    Source: [McNemar], with the binomial distribution.
    """
    n, least = only_variant + only_baseline, min(only_variant, only_baseline)
    logarithms = (math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) for k in range(least + 1))
    return min(1.0, 2 * math.fsum(math.exp(x - n * math.log(2)) for x in logarithms))


def words(corrected_p: float, interval: Interval | None, better: Better) -> str:
    """ "better" or "worse" when Holm's p < 0.05 and the interval excludes 0, else "no difference shown"."""
    if interval is None or not corrected_p < 0.05 or not (interval[0] > 0 or interval[1] < 0):
        return "no difference shown"
    return "better" if (interval[1] < 0) == (better == "lower") else "worse"
