"""Distribution of Kuiper's statistic: the range of the deviation of an empirical distribution from the true one."""

from __future__ import annotations

import math

from calibrant.distributions.bisection import bisect
from calibrant.table.parameters import check_between

__all__ = ["kuiper_survival", "kuiper_upper_quantile"]


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
