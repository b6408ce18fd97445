"""Bins of a score table: which rows belong together."""

from __future__ import annotations

import numpy as np

from calibrant.table.parameters import check_choice, check_count
from calibrant.table.pooling import FloatArray, IndexArray
from calibrant.table.score_table import ScoreTable, need_counts
from calibrant.table.table_sums import TableSums


def bin_starts(table: ScoreTable, n_bins: int, strategy: str) -> IndexArray:
    """Return the first row of the table in each bin that is not empty."""
    number = _NUMBERS[check_choice("strategy", strategy, STRATEGIES)]
    bins = number(table, check_bins(n_bins))
    return np.flatnonzero(np.append(True, bins[1:] != bins[:-1]))


def check_bins(n_bins: int) -> int:
    """Return a number of bins as an int if it is one, else raise an `ArgumentError`."""
    return check_count("n_bins", n_bins, 1, "ten bins are customary")


def equal_mass_bins(table: TableSums, n_bins: int) -> IndexArray:
    """Number the bin of each row of the table so that bins hold about equally many rows of the data.

    Equal scores share a bin, so heavy ties leave fewer bins than asked; the numbers have no gaps.
    """
    # Multiplied before it is divided: the quotient is exact where it is a whole number.
    middle = (np.cumsum(table.n) - 0.5 * table.n) * n_bins / table.total
    return _without_gaps(np.minimum(middle.astype(np.intp), n_bins - 1))


def equal_width_bins(table: ScoreTable, n_bins: int) -> IndexArray:
    """Number the bin of each row of the table among `n_bins` of equal width in [0, 1]; 1 joins the last."""
    # Compared with the edges as floats: score * n_bins would put 0.29 below the edge 29 / 100.
    return np.searchsorted(np.arange(1, n_bins) / n_bins, table.score, side="right")


def equal_width_numbers(score: FloatArray, n_bins: int) -> IndexArray:
    """Number the bin of each score as `equal_width_bins` does, quickly also if scores are in any order."""
    scaled = score * n_bins
    number = scaled.astype(np.intp)
    # Only beside an edge can the product be on the other side of it.
    scaled -= np.rint(scaled)
    close = np.flatnonzero(np.abs(scaled, out=scaled) <= 1e-15 * n_bins)
    number[close] = np.searchsorted(np.arange(1, n_bins) / n_bins, score[close], side="right")
    return number


def type7_bins(table: ScoreTable, n_bins: int) -> IndexArray:
    """Number the bin of each row of the table between quantiles of the scores by definition 7 of Hyndman and Fan.

    Quantile j of `n_bins` interpolates between the order statistics around position ``j (N - 1) / n_bins``, counted
    from 0. Bins are `(left, right]`, the first one closed; repeated quantiles make one edge, and the numbers have
    no gaps. A score is at most a quantile exactly if it is at most the order statistic at or below its position, so
    the interpolation itself is not needed.
    """
    need_counts(table, "quantiles by definition 7 are made of order statistics, which need rows")
    up_to = np.cumsum(table.n)
    below = [j * (int(up_to[-1]) - 1) // n_bins for j in range(1, n_bins)]
    reached = np.searchsorted(up_to, np.array(below, dtype=np.int64), side="right")
    return _without_gaps(np.searchsorted(reached, np.arange(len(table)), side="left"))


def _without_gaps(bins: IndexArray) -> IndexArray:
    return np.asarray(np.cumsum(np.append(0, bins[1:] > bins[:-1])), dtype=np.intp)


_NUMBERS = {"quantile": equal_mass_bins, "uniform": equal_width_bins, "type7": type7_bins}
STRATEGIES = tuple(_NUMBERS)
