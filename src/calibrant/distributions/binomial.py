"""Pointwise intervals for a share, from the positives among independent rows, and their likely numbers."""

from __future__ import annotations

import math

import numpy as np

from calibrant.distributions.brownian import normal_quantile
from calibrant.table.parameters import check_between, check_choice
from calibrant.table.pooling import BoolArray, FloatArray, IntArray, NumberArray

UNLIKELY = 1e-12  # outcomes less likely are not listed, but counted as if they spoke for the hypothesis
_TAIL = 41.5  # exp(-41.5) = 1e-18: what a binomial distribution has beyond the counts looked at


def share_interval(n: NumberArray, k: NumberArray, level: float, method: str) -> tuple[FloatArray, FloatArray]:
    """Ends of the interval of the named method, "wilson" or "clopper-pearson"; NaN if `n` does not count rows."""
    level = check_between("confidence_level", level, 0.0, 1.0)
    method = check_choice("interval", method, ("wilson", "clopper-pearson"))
    if n.dtype.kind != "i":
        return np.full(len(n), np.nan), np.full(len(n), np.nan)
    return wilson(n, k, level) if method == "wilson" else clopper_pearson(n, k, level)


def wilson(n: NumberArray, k: NumberArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Score interval (Wilson 1927): covers the share with probability `level` on average over shares, less at some.

    `n` is at least 1. Where the rows have different probabilities, it covers their average, and if anything more often.
    """
    z = normal_quantile(0.5 + 0.5 * level)
    rate = k / n
    centre = (rate + z * z / (2.0 * n)) / (1.0 + z * z / n)
    half = z * np.sqrt(rate * (1.0 - rate) / n + z * z / (4.0 * n * n)) / (1.0 + z * z / n)
    return np.where(k > 0, centre - half, 0.0), np.where(k < n, centre + half, 1.0)


def clopper_pearson(n: NumberArray, k: NumberArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Exact interval (Clopper & Pearson 1934): covers the share with probability at least `level`, whatever it is.

    Exact for rows of equal probability. The average of different ones may be missed a little more often: with 99 sure
    rows of 100 and one doubtful one, the upper end alone holds with 0.9487 instead of 0.95.
    """
    from scipy.special import betaincinv

    tail = 0.5 - 0.5 * level
    some, all_but_some = np.maximum(k, 1), np.maximum(n - k, 1)
    lower = np.where(k > 0, betaincinv(some, n - k + 1, tail), 0.0)
    upper = np.where(k < n, 1.0 - betaincinv(all_but_some, k + 1, tail), 1.0)
    # SciPy gives up on quantiles at some levels below 1e-200: there is no limit then.
    return np.nan_to_num(lower, nan=0.0), np.nan_to_num(upper, nan=1.0)


def binomial_tails(n: NumberArray, k: NumberArray, mean: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Probabilities of at least, and of at most, `k` positives among `n` independent rows of one probability."""
    from scipy.special import betainc

    mean = np.clip(mean, 0.0, 1.0)
    fewer = n - k
    at_least = np.where(k > 0, betainc(np.maximum(k, 1), fewer + 1, mean), 1.0)
    at_most = np.where(fewer > 0, betainc(np.maximum(fewer, 1), k + 1, 1.0 - mean), 1.0)
    return at_least, at_most


def level_p_values(n: NumberArray, k: NumberArray, mean: FloatArray, equal: BoolArray, side: int = 0) -> FloatArray:
    """P-values of `k` positives among `n` independent rows, whose probabilities have the mean `mean`.

    Twice the smaller tail of the binomial distribution, at most 1, or that of more positives (`side` 1), or of fewer
    (-1): exact where all rows have an `equal` probability, too high otherwise. At least one positive away from its
    expectation, a sum of independent events of different probabilities has thinner tails (Hoeffding 1956, theorem 4);
    nearer to it the p-value of such rows is 1.
    """
    away, (more, fewer) = k - n * np.clip(mean, 0.0, 1.0), binomial_tails(n, k, mean)
    known = equal | ((side * away if side else np.abs(away)) >= 1.0)
    chance = (2.0 * np.minimum(more, fewer), more, fewer)[side]
    return np.asarray(np.where(known, np.minimum(1.0, chance), 1.0))


def mean_limits(n: NumberArray, k: NumberArray, below: float, above: float) -> tuple[FloatArray, FloatArray]:
    """Limits of the mean probability of `n` independent rows, each failing with its own probability of up to 1/4.

    They hold whatever the probabilities of the rows are. A limit of Clopper and Pearson fails where the count is far in
    a tail, which is thinner for unequal probabilities (Hoeffding 1956, theorem 4) from one positive away from the
    expectation on. Only the first count on its side can be nearer to it and still fail: there the limit is that of
    Markov's inequality. Counts further on would have a probability above 1/4 (Doerr 2018).
    """
    lower, upper = clopper_pearson(n, k, 1.0 - 2.0 * below)[0], clopper_pearson(n, k, 1.0 - 2.0 * above)[1]
    lower = np.where(k == 1, np.minimum(lower, below / n), lower)
    return lower, np.where(k == n - 1, np.maximum(upper, 1.0 - above / n), upper)


def likely_counts(n: int, s: float) -> tuple[IntArray, FloatArray]:
    """Numbers of positives among n rows, and their probabilities; by Bernstein's inequality no others matter."""
    variance = n * s * (1.0 - s)
    reach = _TAIL / 3.0 + math.sqrt((_TAIL / 3.0) ** 2 + 2.0 * _TAIL * variance)
    mode = min(n, int((n + 1) * s))
    k = np.arange(max(0, math.floor(n * s - reach)), min(n, math.ceil(n * s + reach)) + 1)
    # From one count to the next: (n - k) / (k + 1) * s / (1 - s).
    steps = np.log((n - k[:-1]) / (k[:-1] + 1.0)) + (math.log(s) - math.log1p(-s))
    logs = np.append(0.0, np.cumsum(steps))
    weight = np.exp(logs - logs[mode - k[0]])
    return k, weight / weight.sum()
