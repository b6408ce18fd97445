"""Do the rows contradict an event rate that never falls as the score rises?"""

from __future__ import annotations

import numpy as np

from calibrant.certificates.expected_error.cells import Units, cut_evenly, positions
from calibrant.table.pooling import FloatArray

_BLOCKS = 64


def reversal_p_value(units: Units) -> float:
    """Test the hypothesis that the event rate is nondecreasing, for every number of rows (Proposition 4.6).

    The smallest p-value of Fisher's one-sided test for "higher on the left" over neighbouring blocks of 1, 2, 4, ... of
    about 64 cells, times the number of pairs of that size, times the number of sizes.
    """
    starts = cut_evenly(units, positions(units), _BLOCKS)
    n, k = (np.append(0.0, np.cumsum(np.add.reduceat(values, starts))) for values in (units.n, units.k))
    best, sizes, size = 1.0, 0, 1
    while 2 * size < len(n):
        left = np.arange(0, len(n) - 2 * size, size)
        middle, right = left + size, left + 2 * size
        tail = hypergeometric_tail(k[middle] - k[left], n[middle] - n[left], k[right] - k[left], n[right] - n[left])
        best = min(best, len(left) * float(tail.min()))
        sizes, size = sizes + 1, 2 * size
    return min(1.0, best * max(sizes, 1))


def hypergeometric_tail(seen: FloatArray, drawn: FloatArray, good: FloatArray, total: FloatArray) -> FloatArray:
    """Bound the chance of at least `seen` good ones among those drawn; sharp in the tail, for any size of numbers.

    Ratios of neighbouring probabilities fall, so a geometric series is above the tail.
    """
    from scipy.special import gammaln

    def log_choose(a: FloatArray, b: FloatArray) -> FloatArray:
        return np.asarray(gammaln(a + 1.0) - gammaln(b + 1.0) - gammaln(a - b + 1.0))

    log_first = log_choose(good, seen) + log_choose(total - good, drawn - seen) - log_choose(total, drawn)
    ratio = (good - seen) * (drawn - seen) / ((seen + 1.0) * (total - good - drawn + seen + 1.0))
    gap = 1.0 - ratio
    return np.where(gap > 0.0, np.minimum(np.exp(log_first) / np.where(gap > 0.0, gap, 1.0), 1.0), 1.0)
