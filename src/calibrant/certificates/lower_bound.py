"""The lower bound on the true error of probabilities, the same for every way of reading the rows."""

from __future__ import annotations

from functools import partial

import numpy as np

from calibrant.cells import gathering
from calibrant.cells.bucket_sums import Grid
from calibrant.cells.gathering import CELL_BITS
from calibrant.distributions.mean_of_bets import DrawKinds, KeyedRows, lower_limit, worst_event
from calibrant.table.pooling import IntArray, run_starts
from calibrant.table.score_table import ScoreTable
from calibrant.table.seeding import generator_for
from calibrant.table.table_sums import BITS, UNIT


def lower_bound(table: ScoreTable, delta: float, random_state: int | np.random.Generator, side: int = 0) -> float:
    """Bound the true cutoff calibration error from below, on one `side` or on both: Theorem 2.1.

    Beyond a million distinct scores the scores of ``2**17`` equal buckets are taken to be in the middle, and half the
    width of a bucket, 3.8e-6, is subtracted (Corollary 2.4): so it makes no difference whether the rows were in memory,
    in a file or in an engine. A table whose cells reach over borders of buckets, which no way of reading rows makes,
    gets 0: its cells may have been chosen by looking at outcomes.
    """
    if keeps_scores(table):
        return _mean_of_bets(table, delta, random_state, side)
    bucket = buckets_of(table)
    if bucket is None:
        return 0.0
    starts = run_starts(bucket)
    n, k = (np.add.reduceat(counts, starts) for counts in (table.n, table.k))
    middles = np.minimum((bucket[starts] + 0.5) * 2.0**-CELL_BITS, 1.0)  # the last bucket holds 1 alone
    return max(0.0, _mean_of_bets(ScoreTable(middles, n, k), delta, random_state, side) - HALF_WIDTH)


def _mean_of_bets(table: ScoreTable, delta: float, random_state: int | np.random.Generator, side: int) -> float:
    positive, negatives = table.k > 0, table.negatives
    both = positive & (negatives > 0)
    # Of a score with positives and negatives these come first.
    at = np.repeat(np.arange(len(table)), 1 + both) if both.any() else slice(None)
    score = table.score[at]
    negative = ~positive[at] | np.append(False, score[1:] == score[:-1])
    draws = DrawKinds(np.where(negative, negatives[at], table.k[at]))
    propose = partial(worst_event, [KeyedRows(score, ~negative - score)], sides=(side,) if side else (1, -1))
    return lower_limit(draws, delta, generator_for(table, random_state), propose)


# Equal buckets of the scores, fixed before any row is seen; a cell that reading rows makes lies within one. How the
# cells of a table divide a bucket depends on outcomes, and on how the rows were read; which bucket a row is in does
# not. So a statement from sums of buckets is the same for every way of reading the same rows.
BUCKETS = Grid(BITS - CELL_BITS)
# How far a score is from the middle of its bucket at most; scores are put into buckets after rounding to units.
HALF_WIDTH = 2.0 ** (BUCKETS.shift - 1) * UNIT + UNIT


def keeps_scores(table: ScoreTable) -> bool:
    """Whether a table has few enough scores to be kept one by one on every way of reading its rows.

    Ways of reading count different scores approximately, and put neighbours into cells from `MOST_DISTINCT` on; half of
    it is far enough below.
    """
    return table.cells is None and 2 * len(table) <= gathering.MOST_DISTINCT


def buckets_of(table: ScoreTable) -> IntArray | None:
    """Return the bucket of each row of a table; None if one reaches over a border, as no way of reading makes it."""
    low, high = (BUCKETS.bucket_of(ends) for ends in (table.low, table.high))
    return low if np.array_equal(low, high) else None
