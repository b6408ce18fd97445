"""Limits at every score for a share of positives that never falls as the score rises."""

from __future__ import annotations

import math

import numpy as np

from calibrant.table.pooling import FloatArray, IndexArray, NumberArray
from calibrant.table.score_table import ScoreTable

# Groups per cube root of rows. The best window grows like n**(2/3) rows, and a tenth of it is fine enough: between 2
# and 12 the mean width changes by a few per cent.
_GROUPS = 4.0
_MOST_GROUPS = 400


def binomial_limits(table: ScoreTable, delta: float) -> tuple[FloatArray, FloatArray]:
    """Lower and upper limits from exact binomial limits on runs of groups of rows.

    In a run, every share is at least that of its first score. So its positives are stochastically more than binomial
    with that share, and their exact upper limit for a binomial share holds for it; likewise below for its last score.
    Groups follow from the rows at each score alone, and `delta` is divided by twice the number of runs.
    """
    from scipy.special import betaincinv

    starts = _group_starts(table.n)
    groups = len(starts)
    first, last = np.triu_indices(groups)
    sums = (np.add.reduceat(values, starts) for values in (table.n, table.k))
    up_to = (np.insert(np.cumsum(values, dtype=np.float64), 0, 0.0) for values in sums)
    rows, hits = (values[last + 1] - values[first] for values in up_to)
    misses, each = rows - hits, 0.5 * delta / len(first)
    at_most = np.where(misses > 0.0, betaincinv(hits + 1.0, np.maximum(misses, 1.0), 1.0 - each), 1.0)
    at_least = np.where(hits > 0.0, betaincinv(np.maximum(hits, 1.0), misses + 1.0, each), 0.0)
    upper, lower = np.ones(groups), np.zeros(groups)
    # SciPy gives up on quantiles at some levels below 1e-200: there is no limit then.
    np.minimum.at(upper, first, np.nan_to_num(at_most, nan=1.0))
    np.maximum.at(lower, last, np.nan_to_num(at_least, nan=0.0))
    return _at_rows(table, starts, np.maximum.accumulate(lower), np.minimum.accumulate(upper[::-1])[::-1])


def walk_limits(table: ScoreTable, slack: float) -> tuple[FloatArray, FloatArray]:
    """Lower and upper limits from a band for all intervals: no sum of ``y - eta`` is above `slack`, in size."""
    upper = _least_means(table.n, table.k, slack)
    lower = 1.0 - _least_means(table.n[::-1], table.negatives[::-1], slack)[::-1]
    return _at_rows(table, np.arange(len(table)), lower, upper)


def _group_starts(n: NumberArray) -> IndexArray:
    """Cut the rows of a table into groups of about equally many, where a score with that many stands alone."""
    total = int(n.sum())
    wanted = min(_MOST_GROUPS, math.ceil(_GROUPS * total ** (1.0 / 3.0)))
    middle = np.cumsum(n) - 0.5 * n
    slot = np.floor(middle * (wanted / total))
    heavy = n * float(wanted) >= total
    return np.flatnonzero(np.append(True, (slot[1:] != slot[:-1]) | heavy[1:] | heavy[:-1]))


def _at_rows(
    table: ScoreTable, starts: IndexArray, lower: FloatArray, upper: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Limits at the rows of a table from those at the last and first score of each group.

    A score is bounded above by groups that start with it or later. Inside a cell scores are not told apart, so only
    groups beyond it count.
    """
    row, cell = np.arange(len(table)), table.low < table.high
    ends = np.append(starts[1:], len(table)) - 1
    after = np.searchsorted(starts, row + cell)
    before = np.searchsorted(ends, row - cell, side="right")
    return np.insert(lower, 0, 0.0)[before], np.append(upper, 1.0)[after]


def _least_means(n: NumberArray, k: NumberArray, slack: float) -> FloatArray:
    """At each row of a table, the least of ``(K + slack) / N`` over runs of rows that start there or later; at most 1.

    A run is a line from the point (N, K) before it to a point, raised by slack, at its end, and its value the slope.
    Only ends on the lower hull of those further on can be least. Going from right to left the least value only falls,
    so the ends it can come from only move to the left: every point enters the hull once and leaves it once.
    """
    across, up = [0.0, *np.cumsum(n).tolist()], [0.0, *np.cumsum(k).tolist()]
    hull_x: list[float] = []
    hull_y: list[float] = []
    last = 0  # the hull runs from its last entry, to the left, to this one, to the right
    least = 1.0
    limits = np.empty(len(n))
    for i in range(len(n), 0, -1):
        x, y = across[i], up[i] + slack
        while len(hull_x) - last >= 2 and (hull_y[-1] - y) * (hull_x[-2] - hull_x[-1]) >= (hull_y[-2] - hull_y[-1]) * (
            hull_x[-1] - x
        ):
            hull_x.pop()
            hull_y.pop()
        hull_x.append(x)
        hull_y.append(y)
        x, y = across[i - 1], up[i - 1]
        while True:
            while len(hull_x) - last >= 2 and hull_y[last] - hull_y[last + 1] >= least * (
                hull_x[last] - hull_x[last + 1]
            ):
                last += 1
            slope = (hull_y[last] - y) / (hull_x[last] - x)
            if slope >= least:
                break
            least = slope
        limits[i - 1] = least
    return limits
