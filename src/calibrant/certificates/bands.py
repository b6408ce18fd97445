"""Limits that hold everywhere at once: at every score, and in every bin and window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from calibrant.certificates.monotone_limits import binomial_limits, walk_limits
from calibrant.certificates.widths.fixed_design import cumulative_width
from calibrant.curves import Curve
from calibrant.errors import ArgumentError, DataError
from calibrant.fits.isotonic import isotonic_fit
from calibrant.fits.local_polynomial import nearest_windows
from calibrant.table.numbers import at_least
from calibrant.table.parameters import check_choice, failure_probability
from calibrant.table.pooling import FloatArray, NumberArray
from calibrant.table.results import Drawable
from calibrant.table.score_table import Labels, Scores, ScoreTable, Weights, as_table, need_counts
from calibrant.table.statements import FIXED_CLASSIFIER, Statement

ROWS = (
    "The rows are independent draws: no repeated measurements of the same case, no over-sampling.",
    FIXED_CLASSIFIER,
    "The confidence level was chosen before looking at the outcomes; bins and windows need not have been.",
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
    method : {"binomial", "fixed_design", "windows"}
        Where the limits are from; "windows" of `window_band`, whose limits hold at the points and not between them.
    """

    _display = "ReliabilityDisplay"

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
        to 96 per cent. "fixed_design" follows from the event behind `window_band` and `cumulative_band` and holds
        together with them. It is the default, and the only choice, for tables with cells, which may have been chosen by
        outcomes.
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


def window_band(
    curve: Curve,
    y_true: Labels,
    y_proba: Scores = None,
    *,
    confidence_level: float = 0.95,
    count: Weights = None,
    pos_label: Any = None,
) -> Band:
    """Limits around a curve of averages over bins or windows that hold for all of its points at once.

    Parameters
    ----------
    curve : Curve
        Each point the share of positives among all rows of a score interval: binned or isotonic curves, or a local one
        of degree 0 with the rectangular kernel.
    y_true : array-like of shape (n,) or ScoreTable
        The labels behind the curve, or a table that holds labels and scores.
    y_proba : array-like of shape (n,)
        Predicted probabilities of the positive class, in [0, 1].
    confidence_level : float
        Probability with which the statement holds, in (0, 1).
    count, pos_label : optional
        How many equal, independent rows each row stands for; the label value that counts as 1.

    Returns
    -------
    Band
        Limits for the mean true probability among the rows of each bin or window. Number, edges and bandwidth may have
        been chosen by looking at the rows.

    Raises
    ------
    DataError
        If the input cannot be used, there are 5 rows or fewer, or a point of the curve
        is no average over all rows of a bin, block or window of these rows.

    See Also
    --------
    calibrant.certificates.widths.cumulative_width : The width behind it, divided by the share of the rows in a window.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.certificates import window_band
    >>> from calibrant.curves import binned_curve
    >>> p = np.repeat([0.2, 0.8], 5_000)
    >>> y = np.arange(10_000) % 10 < 10 * p
    >>> band = window_band(binned_curve(y, p, n_bins=2), y, p)
    >>> (band.upper - band.rate).round(4).tolist()
    [0.0216, 0.0216]
    """
    table = as_table(y_true, y_proba, count=count, pos_label=pos_label)
    width = cumulative_width(table, failure_probability(confidence_level))
    if not ((curve.n >= 1.0) & (curve.n <= table.total)).all():
        expected, remedy = f"windows of 1 to {table.total:g} rows", "pass the rows in each window and the rows in all"
        raise DataError(expected, "others", remedy)
    hits, expected = curve.rate * curve.n, "a curve of plain averages over bins or windows"
    if not (np.abs(hits - np.rint(hits)) <= 1e-9 * table.total).all():
        remedy = "use a binned curve, or a local one of degree 0 with the rectangular kernel"
        raise DataError(expected, "points that no whole number of positives gives", remedy)
    if not _belongs_to(curve, table):
        remedy = "pass the rows, or the table, that the curve was made from"
        raise DataError(f"{expected} of these rows", "points with other rows or other positives", remedy)
    half = width * table.total / curve.n
    lower, upper = np.maximum(0.0, curve.rate - half), np.minimum(1.0, curve.rate + half)
    return Band(
        score=curve.score,
        rate=curve.rate,
        lower=lower,
        upper=upper,
        n=curve.n,
        width=width,
        consistent=True,
        method="windows",
        confidence_level=confidence_level,
        claim=f"With probability at least {at_least(confidence_level)}, given the scores, the mean true "
        f"probability in every bin or window is within its limits, simultaneously and however these were chosen.",
        assumptions=ROWS,
        references=("gao2017", "feller1951"),
    )


def _belongs_to(curve: Curve, table: ScoreTable) -> bool:
    """Whether every point of a curve has the rows and positives of the bin, block or window of the table there."""
    hits = np.rint(curve.rate * curve.n)
    if curve.kind == "local":
        windows = nearest_windows(table, curve.score, curve.n)
        return bool((windows.n == curve.n).all() and (windows.k == hits).all())
    first = np.ones(len(curve.n), dtype=bool)
    if curve.kind == "isotonic":  # a block has a point at either end
        first[1:] = (np.diff(curve.n) != 0) | (np.diff(curve.rate) != 0)
    n_up_to, ends = np.cumsum(table.n), np.cumsum(curve.n[first])
    last = np.searchsorted(n_up_to, ends)  # the last score of each bin
    if ends[-1] != table.total or (n_up_to[last] != ends).any():
        return False
    k = np.diff(np.cumsum(table.k)[last], prepend=0)
    starts, of_point = np.append(0, last[:-1] + 1), np.cumsum(first) - 1
    # A mean score may be rounded to beyond the scores it is the mean of.
    after = curve.score >= table.low[starts][of_point] - 1e-9
    before = curve.score <= table.high[last][of_point] + 1e-9
    return bool((k == hits[first]).all() and after.all() and before.all())
