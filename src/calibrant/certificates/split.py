"""A lower bound on the true error: one part of the rows chooses the interval, the other part judges it.

Several splits are made, so that no single one decides.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from calibrant.cells import gathering
from calibrant.cells.gathering import CELL_BITS
from calibrant.cells.grid import Grid
from calibrant.distributions.mean_limits import mean_width
from calibrant.distributions.repeated_splits import PROPOSE, repeated_lower_bound, repeated_width
from calibrant.table.cumulative_residuals import Extremes, largest_move
from calibrant.table.fixed_point import BITS, UNIT
from calibrant.table.parameters import SIDES, Direction, check_choice, check_random_state, failure_probability
from calibrant.table.pooling import FloatArray, IndexArray, IntArray, NumberArray
from calibrant.table.score_table import Labels, Scores, ScoreTable, Weights, as_table, need_counts
from calibrant.table.seeding import generator_for
from calibrant.table.splitting import split_counts


def split_lower_bound(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    confidence_level: float = 0.95,
    direction: Direction = "either",
    random_state: int | np.random.Generator = 0,
    count: Weights = None,
    pos_label: Any = None,
) -> float:
    """Bound the true cutoff calibration error from below, for every number of rows and every distribution.

    For tables with cells that was checked by simulation, not proved.

    Parameters
    ----------
    y_true, y_proba : array-like of shape (n,)
        Labels, and probabilities of the positive class in [0, 1]; or a `ScoreTable` in place of both.
    confidence_level : float
        Probability with which the statement holds, in (0, 1).
    direction : {"either", "too low", "too high"}
        Which errors count, as in `certify`.
    random_state : int or numpy.random.Generator
        Seeds the split, together with a digest of the rows, so that another sample is split anew and the same rows in
        any order are split alike. Choose it before seeing bounds: the largest of several is not a bound.
    count, pos_label : optional
        How many equal, independent rows each row stands for; the label value that counts as 1.

    Returns
    -------
    float
        In [0, 1): above the true error with probability at most ``1 - confidence_level``.

    Raises
    ------
    ArgumentError
        If `confidence_level` is out of range, or `random_state` is no seed.

    See Also
    --------
    monotone_width : A band for all intervals at once; it needs no split and is wider.

    Notes
    -----
    A third of the rows, chosen at random, proposes an interval I and a sign, those of its own error; given them, the
    mean of ``sign * (y - s)`` in I over the other rows bounds the error, by the inequality behind `default_width`
    (Theorem 2.1 of docs/theory/2-lower-bound.md). So that no single split decides, there are 8 of them up to 100,000
    rows, each with a quarter of the probability of failure, and the second largest of their bounds is returned; with
    more rows, the largest of 4 (Theorem 2.3). The digest makes the split as good as independent of the draw
    (Proposition 7.2, docs/theory/7-seeds.md).

    Beyond a million distinct scores the scores of ``2**17`` equal buckets are taken to be in the middle, and half the
    width of a bucket, 3.8e-6, is subtracted (Corollary 2.4): so it makes no difference whether the rows were in memory,
    in a file or in an engine. A table whose cells reach over borders of buckets, which no way of reading rows makes,
    gets 0: its cells may have been chosen by looking at outcomes.

    Examples
    --------
    >>> from calibrant import ScoreTable
    >>> from calibrant.certificates import split_lower_bound
    >>> from calibrant.certificates.widths import monotone_width
    >>> table = ScoreTable.from_counts([0.2, 0.8], [5000, 5000], [1500, 4500])  # the error seems to be 0.1
    >>> 0.1 - monotone_width(10_000) < split_lower_bound(table) < 0.1
    True
    """
    table = as_table(y_true, y_proba, count=count, pos_label=pos_label)
    need_counts(table, "a lower bound needs rows")
    delta = failure_probability(confidence_level)
    side = SIDES[check_choice("direction", direction, tuple(SIDES))]
    check_random_state(random_state)
    if keeps_scores(table):
        return _repeated(table, delta, random_state, side)
    bucket = buckets_of(table)
    if bucket is None:
        return 0.0
    starts = run_starts(bucket)
    n, k = (np.add.reduceat(counts, starts) for counts in (table.n, table.k))
    middles = np.minimum((bucket[starts] + 0.5) * 2.0**-CELL_BITS, 1.0)  # the last bucket holds 1 alone
    return max(0.0, _repeated(ScoreTable(middles, n, k), delta, random_state, side) - HALF_WIDTH)


def _repeated(table: ScoreTable, delta: float, random_state: int | np.random.Generator, side: int) -> float:
    rng = generator_for(table, random_state)
    return repeated_lower_bound(table.total, delta, rng, partial(_bound, table, side))


def split_width(n: float, brier: float, delta: float = 0.05) -> float:
    """About how far below the error `split_lower_bound` lies on n rows with this Brier score, for planning."""

    def width(rows: float, delta: float) -> float:
        return float(mean_width(rows, brier, delta, expected=max(brier, 1.0 / n)))

    return repeated_width(n, math.sqrt(brier), delta, width)


def _bound(table: ScoreTable, side: int, delta: float, rng: np.random.Generator) -> float:
    """Lower bound of one split: a third of the rows proposes interval and sign, the others judge them."""
    n, k = next(split_counts(table.n, table.k, (PROPOSE, 1.0 - PROPOSE), rng))
    chosen, others = table.with_counts(n, k), table.total - float(n.sum(dtype=np.int64))
    if not len(chosen) or not others:
        return 0.0
    interval = largest_move(chosen, side)
    if interval.sign == 0:
        return 0.0
    centre = interval.value  # the mean of X on the rows that chose
    above, below = 1.0 - max(interval.low, 0.0), interval.high  # how far a positive and a negative in I move the walk
    highest, lowest = (above, -below) if interval.sign > 0 else (below, -above)
    _, guess = _moments(chosen.score, chosen.n, chosen.k, interval, chosen.total)
    mean, squares = _moments(table.score, table.n - n, table.k - k, interval, others)
    top, reach = centre - lowest, highest - lowest
    expected = guess + top**2 / chosen.total  # kept above 0, though a few rows may all agree
    largest = max(top, highest - centre)
    width = mean_width(others, squares, delta, top=top, largest=largest, reach=reach, expected=expected)
    return max(0.0, mean - float(width))


def _moments(score: FloatArray, n: NumberArray, k: NumberArray, interval: Extremes, rows: float) -> tuple[float, float]:
    """Mean of X over so many rows, and mean square of its distance from the interval's value; X is 0 outside I."""
    inside = interval.rows(score)
    hits = k[inside].astype(np.float64)
    missed, of_miss = n[inside] - hits, -interval.sign * score[inside]
    mean = float(interval.sign * hits.sum() + np.dot(hits, of_miss) + np.dot(missed, of_miss)) / rows
    outside = rows - float(hits.sum() + missed.sum())
    of_miss -= interval.value
    squares = float(np.dot(missed, of_miss**2))
    of_miss += interval.sign
    return mean, (squares + float(np.dot(hits, of_miss**2)) + outside * interval.value**2) / rows


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


def run_starts(bucket: IntArray) -> IndexArray:
    """Return where the rows of each bucket begin."""
    return np.flatnonzero(np.append(True, bucket[1:] != bucket[:-1]))
