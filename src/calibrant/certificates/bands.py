"""Limits that hold at every score at once, for a share of positives that never falls."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from calibrant.certificates.widths.fixed_design import cumulative_width
from calibrant.errors import ArgumentError
from calibrant.fits.isotonic import isotonic_fit
from calibrant.table.numbers import at_least
from calibrant.table.parameters import check_choice, failure_probability
from calibrant.table.pooling import FloatArray, IndexArray, NumberArray
from calibrant.table.results import Drawable
from calibrant.table.score_table import Labels, Scores, ScoreTable, Weights, as_table, need_counts
from calibrant.table.statements import FIXED_CLASSIFIER, Statement

# Groups per cube root of rows. The best window grows like n**(2/3) rows, and a tenth of it is fine enough: between 2
# and 12 the mean width changes by a few per cent.
_GROUPS = 4.0
_MOST_GROUPS = 400
# Relative rounding, at most, of what decides whether the limit of a run is worth computing.
_ROUNDING = 1e-6


def binomial_limits(table: ScoreTable, delta: float) -> tuple[FloatArray, FloatArray]:
    """Lower and upper limits from exact binomial limits on runs of groups of rows.

    In a run, every share is at least that of its first score. So its positives are stochastically more than binomial
    with that share, and their exact upper limit for a binomial share holds for it; likewise below for its last score.
    Groups follow from the rows at each score alone, and `delta` is divided by twice the number of runs.
    """
    from scipy.special import betaincinv

    starts = _group_starts(table.n)
    rows, hits = (_run_sums(np.add.reduceat(values, starts)) for values in (table.n, table.k))
    misses = rows - hits
    each = 0.5 * delta / (len(starts) * (len(starts) + 1) // 2)

    # SciPy gives up on quantiles at some levels below 1e-200: there is no limit then.
    def at_most(hit: FloatArray, miss: FloatArray) -> FloatArray:
        limit = np.where(miss > 0.0, betaincinv(hit + 1.0, np.maximum(miss, 1.0), 1.0 - each), 1.0)
        return np.nan_to_num(limit, nan=1.0)

    def at_least(miss: FloatArray, hit: FloatArray) -> FloatArray:
        limit = np.where(hit > 0.0, betaincinv(np.maximum(hit, 1.0), miss + 1.0, each), 0.0)
        return -np.nan_to_num(limit, nan=0.0)

    upper = _least_limits(hits, misses, 1.0 - (1.0 - each), at_most, 0.0)
    # From right to left and with the classes exchanged, a lower limit is 1 minus an upper one.
    lower = -_least_limits(misses[::-1, ::-1].T, hits[::-1, ::-1].T, each, at_least, 1.0)[::-1]
    return _at_rows(table, starts, lower, upper)


def _run_sums(values: NumberArray) -> FloatArray:
    """Sums from each group, the row, to each, the column; without meaning below the diagonal."""
    up_to = np.insert(np.cumsum(values, dtype=np.float64), 0, 0.0)
    return np.asarray(up_to[1:] - up_to[:-1, None])


def _least_limits(
    hits: FloatArray,
    misses: FloatArray,
    level: float,
    limit: Callable[[FloatArray, FloatArray], FloatArray],
    shift: float,
) -> FloatArray:
    """Least upper limit, less `shift`, of the runs that start at each group or later.

    Quantiles of the binomial distribution are slow, and most runs are far from binding. By the inequality of Zubkov &
    Serov (2013), at most k of n are positive with probability at least ``Phi(-sqrt(2 n kl(k / n, p)))``: where that is
    above the level at some p, the limit is above p. Runs known so to be above a limit found already are left out, which
    changes no bit.
    """
    from scipy.special import ndtri, rel_entr

    z = min(40.0, -float(ndtri(level)))  # infinite only where the level is 0 in floating point
    first, last = np.triu_indices(len(hits))
    hit, miss = hits[first, last], misses[first, last]
    rate = hit / (hit + miss)

    def with_runs(least: FloatArray, runs: IndexArray) -> FloatArray:
        least = least.copy()
        np.minimum.at(least, first[runs], limit(hit[runs], miss[runs]))
        return np.asarray(np.minimum.accumulate(least[::-1])[::-1])

    # Near the least are the runs with the least limit by Wilson (1927), one for each group at which runs start.
    part = z * z / (hit + miss)
    guess = np.full(hits.shape, np.inf)
    guess[first, last] = (rate + 0.5 * part + np.sqrt(part * (rate * (1.0 - rate) + 0.25 * part))) / (1.0 + part)
    own = np.ravel_multi_index((np.arange(len(hits)), guess.argmin(axis=1)), hits.shape)
    least = with_runs(np.full(len(hits), 1.0 - shift), np.searchsorted(first * len(hits) + last, own))
    share = least[first] + shift
    distance = (hit + miss) * (rel_entr(rate, share) + rel_entr(1.0 - rate, 1.0 - share))
    return with_runs(least, np.flatnonzero((rate < share) & (distance > (0.5 - _ROUNDING) * z * z)))


def walk_limits(table: ScoreTable, slack: float) -> tuple[FloatArray, FloatArray]:
    """Lower and upper limits from a band for all intervals: no sum of ``y - eta`` is above `slack`, in size."""
    upper = least_means(table.n, table.k, slack)
    lower = 1.0 - least_means(table.n[::-1], table.negatives[::-1], slack)[::-1]
    return _at_rows(table, np.arange(len(table)), lower, upper)


def _group_starts(n: NumberArray) -> IndexArray:
    """Cut the rows of a table into groups of about equally many, where a score with that many stands alone."""
    total = int(n.sum())
    n_groups = min(_MOST_GROUPS, math.ceil(_GROUPS * total ** (1.0 / 3.0)))
    middle = np.cumsum(n) - 0.5 * n
    slot = np.floor(middle * (n_groups / total))
    heavy = n * float(n_groups) >= total
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


def least_means(n: NumberArray, k: NumberArray, slack: float) -> FloatArray:
    """At each row of a table, the least of 1 and ``(K + slack) / N`` over runs of rows that start there or later.

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


ROWS = (
    "The rows are independent draws: no repeated measurements of the same case, no over-sampling.",
    FIXED_CLASSIFIER,
    "The confidence level was chosen before looking at the outcomes.",
)
_NONDECREASING = "The event rate is nondecreasing in the score."


@dataclass(frozen=True, eq=False)
class Band(Statement, Drawable):
    """Limits for the true share of positives along the scores that hold at all of them together.

    Attributes
    ----------
    claim, confidence_level, assumptions, references
        What is claimed, with which probability, on which assumptions, and keys of `calibrant.references`.
    score : ndarray of float64
        Where the limits hold.
    rate : ndarray of float64
        Estimated share of positives there.
    lower, upper : ndarray of float64
        Limits for the true share, in [0, 1].
    n : ndarray
        Rows behind each point.
    width : float or None
        Half-width of the band for sums of ``y - eta`` over any score interval, divided by the number of all rows, from
        which the limits follow. All that follows from it holds together. None for "binomial", which does not use it.
    consistent : bool
        False if the rows contradict what is assumed about the curve: then that is refuted with confidence
        ``1 - delta``, and limits may cross. Always True where nothing is assumed about it.
    method : {"binomial", "fixed_design"}
        Where the limits are from.
    """

    _display = "plots.reliability.ReliabilityDisplay"

    score: FloatArray
    rate: FloatArray
    lower: FloatArray
    upper: FloatArray
    n: NumberArray
    width: float | None
    consistent: bool
    method: str


def isotonic_band(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    confidence_level: float = 0.95,
    method: Literal["binomial", "fixed_design"] | None = None,
    count: Weights = None,
    pos_label: Any = None,
) -> Band:
    r"""Limits for the true share of positives at every score at once, if it never falls as the score rises.

    Parameters
    ----------
    y_true, y_proba : array-like of shape (n,)
        Labels, and probabilities of the positive class in [0, 1]; or a `ScoreTable` in place of both.
    confidence_level : float
        Probability with which the statement holds, in (0, 1).
    method : {"binomial", "fixed_design"}, optional
        Choose before seeing the outcomes. "binomial", the default, was narrower on average in every world tried, by 3
        to 96 per cent. "fixed_design" holds together with all that follows from `width`. It is
        the default, and the only choice, for tables with cells, which may have been chosen by outcomes.
    count, pos_label : optional
        How many equal, independent rows each row stands for; the label value that counts as 1.

    Returns
    -------
    Band
        One point per row of the table; `rate` is the isotonic fit. Between two scores the lower limit is that of the
        one to the left, the upper limit that of the one to the right. For cells, the limits hold for every score in
        the cell.

    Raises
    ------
    ArgumentError
        If a parameter is out of range, or "binomial" is asked of a table with cells.
    DataError
        If the input cannot be used, or, for "fixed_design", there are 5 rows or fewer.

    Notes
    -----
    A nondecreasing share is, at a score j, at most what it is on any interval that starts there or later, and at least
    what it is on any that ends there or before.

    "binomial": the limit of Clopper & Pearson (1934) for such an interval therefore holds at j. Scores are cut into at
    most 400 groups of about equally many rows, and the probability of failure is divided by twice the number of
    intervals of groups; without the cut it is the band of Dimitriadis, Duembgen, Henzi, Puke & Ziegel (2023).

    "fixed_design": the sum of outcomes less true shares is at most :math:`n w` on every interval, w being
    `cumulative_width` (docs/theory/8-these-cases.md), so :math:`\eta_j` lies between the largest
    :math:`(K_{a..b} - n w) / N_{a..b}` over :math:`a \le b \le j` and the smallest :math:`(K_{a..b} + n w) / N_{a..b}`
    over :math:`j \le a \le b`, with K positives among N rows: about :math:`\pm \sqrt{2 w}` for uniform scores where the
    share rises with slope 1. If some nondecreasing curve agrees with the rows, the isotonic fit lies within the limits.
    The time is proportional to the length of the table.

    Examples
    --------
    >>> from calibrant import ScoreTable
    >>> from calibrant.certificates import isotonic_band
    >>> band = isotonic_band(ScoreTable.from_counts([0.2, 0.8], [5_000, 5_000], [1_000, 4_000]))
    >>> band.lower.round(3).tolist(), band.upper.round(3).tolist()
    ([0.187, 0.786], [0.214, 0.813])
    """
    delta = failure_probability(confidence_level)
    if method is not None:
        check_choice("method", method, ("binomial", "fixed_design"))
    table = as_table(y_true, y_proba, count=count, pos_label=pos_label)
    need_counts(table, "a band needs rows")
    if method == "binomial" and not table.exact:
        remedy = "leave the method out: cells may have been chosen by outcomes, which only the other one allows"
        raise ArgumentError("method 'fixed_design' for tables with cells", "method 'binomial'", remedy)
    method = method or ("binomial" if table.exact else "fixed_design")
    rate = isotonic_fit(table).step(table.score)
    width = None
    if method == "binomial":
        lower, upper = binomial_limits(table, delta)
        consistent = bool((lower <= upper).all())
    else:
        width = cumulative_width(table, delta)
        lower, upper = walk_limits(table, table.total * width)
        consistent = bool((np.cumsum(table.k) - np.cumsum(table.n * rate)).max() <= table.total * width)
    return Band(
        score=table.score,
        rate=rate,
        lower=lower,
        upper=upper,
        n=table.n,
        width=width,
        consistent=consistent,
        method=method,
        confidence_level=confidence_level,
        claim=f"With probability at least {at_least(confidence_level)} the event rate is within the limits at "
        f"every score simultaneously, if it is nondecreasing in the score.",
        assumptions=(*ROWS, _NONDECREASING),
        references=("gao2017",) if method == "binomial" else ("gao2017", "feller1951"),
    )
