"""Distributions of the size of a Brownian motion on [0, 1], the limit of cumulative residuals under calibration.

Of its range, its largest distance from 0, and of the range of a Brownian bridge, which is Kuiper's statistic.
"""

from __future__ import annotations

import math
from functools import lru_cache

from calibrant.distributions.bisection import bisect
from calibrant.table.parameters import check_between

# Mean of the range: 2 sqrt(2 / pi) (Feller 1951).
MEAN_RANGE = 2.0 * math.sqrt(2.0 / math.pi)

# Below this expected sum of s (1 - s), a few events decide, and the asymptotic distribution is wrong whatever n is.
LEAST_EVENTS = 25.0


def range_survival(r: float) -> float:
    """Probability that the range of a Brownian motion on [0, 1] exceeds `r`.

    ``8 sum_{k>=1} (-1)**(k-1) k Q(k r)``, with Q the upper tail of the standard normal (Feller 1951).
    """
    if r < 0.35:
        return 1.0  # the range stays below 0.35 with a probability of less than 1e-15
    terms = ((-1) ** (k - 1) * k * math.erfc(k * r / math.sqrt(2.0)) for k in range(1, 2 + math.ceil(9.0 / r)))
    return min(1.0, max(0.0, 4.0 * math.fsum(terms)))


def range_quantile(probability: float) -> float:
    """Return the value that the range of a Brownian motion stays below with the given probability."""
    return range_upper_quantile(1.0 - check_between("probability", probability, 0.0, 1.0))


@lru_cache(maxsize=256)
def range_upper_quantile(delta: float) -> float:
    """Return the value that the range of a Brownian motion exceeds with probability `delta`, however small."""
    check_between("delta", delta, 0.0, 1.0)
    return 0.5 * sum(bisect(lambda r: range_survival(r) > delta, 0.0, 60.0, atol=1e-12))


def kuiper_survival(v: float) -> float:
    """Probability that the range of a Brownian bridge exceeds `v` (Kuiper 1960).

    ``2 sum_{j>=1} (4 j**2 v**2 - 1) exp(-2 j**2 v**2)``.
    """
    if v < 0.4:
        return 1.0  # the range stays below 0.4 with a probability of less than 1e-10
    squares = ((j * v) ** 2 for j in range(1, 2 + math.ceil(5.0 / v)))
    return min(1.0, max(0.0, 2.0 * math.fsum((4.0 * s - 1.0) * math.exp(-2.0 * s) for s in squares)))


def kuiper_upper_quantile(delta: float) -> float:
    """Return the value that the range of a Brownian bridge exceeds with probability `delta`, however small."""
    check_between("delta", delta, 0.0, 1.0)
    return 0.5 * sum(bisect(lambda v: kuiper_survival(v) > delta, 0.0, 20.0, atol=1e-12))


def normal_quantile(probability: float) -> float:
    """Return the quantile of the standard normal distribution."""
    from statistics import NormalDist

    return NormalDist().inv_cdf(probability)
