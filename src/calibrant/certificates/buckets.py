"""Equal buckets of the scores, fixed before any row is seen; a cell that reading rows makes lies within one.

How the cells of a table divide a bucket depends on outcomes, and on how the rows were read; which bucket a row is in
does not. So a statement from sums of buckets is the same for every way of reading the same rows.
"""

from __future__ import annotations

import numpy as np

from calibrant.cells import gathering
from calibrant.cells.gathering import CELL_BITS
from calibrant.cells.grid import Grid
from calibrant.table.fixed_point import BITS, UNIT, IntArray, score_units
from calibrant.table.pooling import FloatArray, IndexArray
from calibrant.table.score_table import ScoreTable

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
    low, high = (BUCKETS.bucket_of(score_units(ends)) for ends in (table.low, table.high))
    return low if np.array_equal(low, high) else None


def run_starts(bucket: IntArray) -> IndexArray:
    """Return where the rows of each bucket begin."""
    return np.flatnonzero(np.append(True, bucket[1:] != bucket[:-1]))


def bucket_middles(bucket: IntArray) -> FloatArray:
    """Return a score in the middle of each bucket; the last holds 1 alone."""
    return np.asarray(np.minimum((bucket + 0.5) * 2.0**-CELL_BITS, 1.0))
