"""Calibration errors over bins of the score: the expected calibration error in its forms, with what is noise in it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from calibrant.table.bins import bin_starts, check_bins, equal_width_numbers
from calibrant.table.parameters import check_between, check_choice
from calibrant.table.pooling import FloatArray, IndexArray, NumberArray, pool_rows
from calibrant.table.results import Tabular
from calibrant.table.row_sums import Bins, add_rows, rows_or_table
from calibrant.table.score_table import Labels, Scores, ScoreTable, Weights, as_table
from calibrant.table.validation import CleanRows

Strategy = Literal["quantile", "uniform", "type7"]
Compare = Literal["frequency", "accuracy"]
Norm = Literal["l1", "l2", "max"]

_MOST_UNSORTED = 100  # bins beyond which adding rows up in any order is no faster


@dataclass(frozen=True, eq=False)
class BinnedCalibration(Tabular):
    """A calibration error over bins, with its bins and with what chance alone would make of it.

    Attributes
    ----------
    low, high, n : ndarray
        Smallest and largest score in each bin (of cells, limits of these), and its rows, or their weight. A bin holds
        all rows from one to the other; empty bins are left out.
    score, rate : ndarray of float64
        Mean score and share of positives in each bin; for ``compare="accuracy"`` the share of rows classified
        correctly.
    value : float
        The error; smaller is better.
    null_mean : float
        What perfectly calibrated scores would show in these bins, on average over the labels. For "l1" an upper
        limit of that average, close where bins are narrow and exact where all scores of a bin are equal. For "l2"
        the root of the average square, which is exact. NaN for "max" and where weights do not count rows.
    debiased_square : float
        For "l2" and "frequency", an estimate of the squared error without the upward bias of `value` squared; it
        may be negative. NaN otherwise, where a bin holds a single row, and where weights do not count rows.
    strategy, compare, norm : str
        As asked.
    """

    low: FloatArray
    high: FloatArray
    n: NumberArray
    score: FloatArray
    rate: FloatArray
    value: float
    null_mean: float
    debiased_square: float
    strategy: str
    compare: str
    norm: str


def expected_calibration_error(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    n_bins: int = 10,
    strategy: Strategy = "quantile",
    compare: Compare = "frequency",
    norm: Norm = "l1",
    threshold: float = 0.5,
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> float:
    r"""Average distance, over bins of the score, between observed rate and mean score.

    Parameters
    ----------
    y_true, y_proba, sample_weight, count, pos_label
        Labels, scores (or one `ScoreTable`) and weights, as in `brier_score`. "type7" takes rows, or a `count`.
    n_bins : int
        Wanted number of bins; equal scores are never separated, so there may be fewer.
    strategy : {"quantile", "uniform", "type7"}
        Bins with about equally many rows (tied scores go where the middle of them belongs), of equal width
        ``[a, b)``, or ``(a, b]`` between quantiles as R's ``quantile`` and ``numpy.quantile`` compute them,
        with repeated ones removed, which are the bins of [1]_.
    compare : {"frequency", "accuracy"}
        What the mean score of a bin is compared with: the share of positives, or the share of rows classified
        correctly. See the notes before using the latter.
    norm : {"l1", "l2", "max"}
        Mean of the distances over rows, root of their mean square, or the largest.
    threshold : float
        For "accuracy": rows with a score strictly above it are classified as positive.

    Returns
    -------
    float
        In [0, 1]; smaller is better. From a table with cells, a cell that the border of a bin divides is in one bin as
        a whole. With "uniform" or "quantile", "frequency" and "l1" the number is then off by at most twice the sum,
        over these at most ``n_bins - 1`` cells, of the larger of their `rise` and `fall`, divided by n.

    Notes
    -----
    .. math:: ECE = \sum_b \frac{n_b}{n} \Big| \frac1{n_b} \sum_{i \in b} y_i - \frac1{n_b} \sum_{i \in b} s_i \Big|

    The number depends on the bins: errors of opposite sign in one bin cancel, and chance alone makes it positive,
    the more so the more bins there are: `binned_calibration` says how much. `cutoff_calibration_error` needs no bins.

    With "accuracy" it follows the multi-class definition of [2]_ to the letter, as [1]_ do. For the score of the
    positive class that is not a calibration error: perfectly calibrated scores do not attain 0, because below the
    threshold a small score goes with a large accuracy.

    References
    ----------
    .. [1] Fernandes Machado et al. (2024). From Uncertainty to Precision.
    .. [2] Pakdaman Naeini, Cooper & Hauskrecht (2015). Obtaining Well Calibrated Probabilities Using Bayesian Binning.

    Examples
    --------
    >>> from calibrant.metrics import expected_calibration_error
    >>> expected_calibration_error([0, 1, 1, 1], [0.25, 0.25, 0.75, 0.75], n_bins=2)
    0.25
    >>> expected_calibration_error([0, 0, 0, 1, 0, 1], [0.0, 0.0, 0.0, 1.0, 0.0, 1.0], compare="accuracy")
    0.66...
    """
    _check(compare, norm, threshold)
    rows = _reader(strategy)(y_true, y_proba, sample_weight=sample_weight, count=count, pos_label=pos_label)
    return combine_gaps(*bin_gaps(rows, n_bins, strategy, compare, threshold), norm)


def binned_calibration(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    n_bins: int = 10,
    strategy: Strategy = "quantile",
    compare: Compare = "frequency",
    norm: Norm = "l1",
    threshold: float = 0.5,
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> BinnedCalibration:
    r"""Calibration error over bins, with the bins and the part that is noise.

    Parameters
    ----------
    y_true, y_proba, n_bins, strategy, compare, norm, threshold, sample_weight, count, pos_label
        As in `expected_calibration_error`.

    Returns
    -------
    BinnedCalibration
        Its ``to_frame()`` has one row per bin. From a table with cells as in `expected_calibration_error`.

    Notes
    -----
    Noise: let each label be drawn with its score as probability, scores and bins fixed. For "l2" and "frequency",

    .. math:: E[\mathrm{value}^2] = \sum_b \frac{1}{n\, n_b} \sum_{i \in b} s_i (1 - s_i)

    exactly. For "l1" the positives of a bin are a sum of independent indicators with mean m; by [1]_ the mean of a
    convex function of it is at most that under the binomial with the same mean, and
    :math:`E|K - m|` of a binomial K has a closed form; where the root of the mean square is smaller, that is taken.
    For "accuracy" the same is done with the number of correctly classified rows and its distance from the sum of
    the scores, which does not vanish with more rows.

    Subtracting the noise from an "l1" error does not make that unbiased.

    Debiased square, with r the residuals y - s in a bin:

    .. math:: \sum_b \frac{n_b}{n} \Big( \bar r_b^2 - \frac{1}{n_b (n_b - 1)} \sum_{i \in b} (r_i - \bar r_b)^2 \Big)

    Each bracket is unbiased for the squared mean residual if rows are independent and the bin was fixed in advance
    ("uniform"); bins chosen by the scores make it so only nearly. With one score per bin it is the estimator of
    [2]_; the same correction of the Brier score's reliability term is in [3]_.

    References
    ----------
    .. [1] Hoeffding (1956). On the distribution of the number of successes in independent trials, theorem 3.
    .. [2] Kumar, Liang & Ma (2019). Verified Uncertainty Calibration. NeurIPS, section 5.
    .. [3] Ferro & Fricker (2012). A bias-corrected decomposition of the Brier score.

    Examples
    --------
    >>> from calibrant.metrics import binned_calibration
    >>> found = binned_calibration([0, 1, 1, 1], [0.25, 0.25, 0.75, 0.75], n_bins=2, norm="l2")
    >>> found.score.tolist(), found.rate.tolist()
    ([0.25, 0.75], [0.5, 1.0])
    >>> found.value, round(found.null_mean, 4), found.debiased_square
    (0.25, 0.3062, -0.0625)
    """
    table = as_table(y_true, y_proba, sample_weight=sample_weight, count=count, pos_label=pos_label)
    _check(compare, norm, threshold)
    starts = bin_starts(table, n_bins, strategy)
    n, score, rate = _means_of_table(table, starts, compare, threshold)
    ends = np.append(starts[1:], len(table)) - 1
    null_mean = debiased = math.nan
    if table.independent and norm != "max":
        null_mean = _null_mean(table, starts, compare, threshold, norm)
    if table.independent and norm == "l2" and compare == "frequency" and n.min() > 1:
        scatter = np.maximum(0.0, np.add.reduceat(table.squared, starts) - n * (rate - score) ** 2) / (n - 1)
        debiased = float(np.dot(n, (rate - score) ** 2 - scatter / n)) / float(n.sum())
    return BinnedCalibration(
        low=table.low[starts],
        high=table.high[ends],
        n=n,
        score=score,
        rate=rate,
        value=combine_gaps(n, rate - score, norm),
        null_mean=null_mean,
        debiased_square=debiased,
        strategy=strategy,
        compare=compare,
        norm=norm,
    )


def quantile_mean_squared_error(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    n_bins: int = 10,
    strategy: Strategy = "type7",
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> float:
    """Mean square, over quantile bins, of the difference between share of positives and mean score (QMSE).

    It is the square of `expected_calibration_error` with ``norm="l2"``.

    Parameters
    ----------
    y_true, y_proba, n_bins, strategy, sample_weight, count, pos_label
        As in `expected_calibration_error`. Fernandes Machado et al. (2024) use the bins "type7".

    Returns
    -------
    float
        In [0, 1]; smaller is better. A cell of a table joins a bin as a whole.

    Examples
    --------
    >>> from calibrant.metrics import quantile_mean_squared_error
    >>> quantile_mean_squared_error([0, 1, 1, 1], [0.25, 0.25, 0.75, 0.75], n_bins=2)
    0.0625
    """
    rows = _reader(strategy)(y_true, y_proba, sample_weight=sample_weight, count=count, pos_label=pos_label)
    return _mean_square(*bin_gaps(rows, n_bins, strategy, "frequency", 0.5))


def _check(compare: str, norm: str, threshold: float) -> None:
    check_choice("compare", compare, ("frequency", "accuracy"))
    check_choice("norm", norm, ("l1", "l2", "max"))
    check_between("threshold", threshold, 0.0, 1.0, closed="both")


def _reader(strategy: str) -> Callable[..., ScoreTable | CleanRows]:
    """What takes labels and scores: rows are not pooled where bins do not need it."""
    return rows_or_table if strategy == "uniform" else as_table


def bin_gaps(
    rows: ScoreTable | CleanRows, n_bins: int, strategy: str, compare: str, threshold: float
) -> tuple[NumberArray, FloatArray]:
    """Rows of each bin, and the share of hits less the mean score."""
    if not isinstance(rows, ScoreTable) and check_bins(n_bins) > _MOST_UNSORTED:
        rows = ScoreTable(*pool_rows(rows.label, rows.score))
    if isinstance(rows, ScoreTable):
        n, score, rate = _means_of_table(rows, bin_starts(rows, n_bins, strategy), compare, threshold)
    else:
        n, score, rate = _means_of_rows(rows, check_bins(n_bins), compare, threshold)
    return n, rate - score


def _means_of_rows(
    rows: CleanRows, n_bins: int, compare: str, threshold: float
) -> tuple[NumberArray, FloatArray, FloatArray]:
    def score_and_hit(label: npt.NDArray[np.int8], score: FloatArray) -> list[FloatArray]:
        return [score] if compare == "frequency" else [score, (label == (score > threshold)).astype(np.float64)]

    sums = add_rows(score_and_hit, rows, Bins(n_bins, lambda score: equal_width_numbers(score, n_bins)))
    hits = sums.k if compare == "frequency" else sums.terms[1]
    filled = sums.n > 0
    n = sums.n[filled].astype(np.float64)
    return n, sums.terms[0][filled] / n, hits[filled] / n


def _means_of_table(
    table: ScoreTable, starts: IndexArray, compare: str, threshold: float
) -> tuple[NumberArray, FloatArray, FloatArray]:
    hits = _hits(table, table.k, compare, threshold)
    n = np.add.reduceat(table.n, starts)
    return n, np.add.reduceat(table.n * table.score, starts) / n, np.add.reduceat(hits, starts) / n


def _hits(table: ScoreTable, positives: NumberArray, compare: str, threshold: float) -> NumberArray:
    return positives if compare == "frequency" else np.where(table.score > threshold, positives, table.n - positives)


def combine_gaps(n: NumberArray, gap: FloatArray, norm: str) -> float:
    """Mean of the distances over rows, root of their mean square, or the largest."""
    if norm == "max":
        return float(np.abs(gap).max())
    if norm == "l2":
        return math.sqrt(_mean_square(n, gap))
    return float(np.dot(n, np.abs(gap))) / float(n.sum())


def _mean_square(n: NumberArray, gap: FloatArray) -> float:
    return float(np.dot(n, gap**2)) / float(n.sum())


def _null_mean(table: ScoreTable, starts: IndexArray, compare: str, threshold: float, norm: str) -> float:
    mean_predicted = table.n * table.score
    expected = _hits(table, mean_predicted, compare, threshold)
    n, mean_predicted, expected = (np.add.reduceat(values, starts) for values in (table.n, mean_predicted, expected))
    square = np.add.reduceat(table.variance, starts) + (expected - mean_predicted) ** 2
    if norm == "l2":
        return math.sqrt(float((square / n).sum()) / table.total)
    return float(np.minimum(_mean_distance(n, expected / n, mean_predicted), np.sqrt(square)).sum()) / table.total


def _mean_distance(n: NumberArray, rate: FloatArray, centre: FloatArray) -> FloatArray:
    """Mean of `|K - centre|` for binomial K, from ``E (K - c)+ = n p P(K' > c - 1) - c P(K > c)``, K' of n - 1 rows."""
    last = np.floor(centre)
    excess = n * rate * _at_least(n - 1, rate, last) - centre * _at_least(n, rate, last + 1)
    return np.maximum(0.0, centre - n * rate + 2.0 * excess)


def _at_least(n: NumberArray, rate: FloatArray, k: FloatArray) -> FloatArray:
    """Probability that a binomial number is at least `k`."""
    from scipy.special import betainc

    inside = np.clip(k, 1, np.maximum(n, 1))
    chance = betainc(inside, np.maximum(n, 1) - inside + 1, rate)
    return np.where(k <= 0, 1.0, np.where(k > n, 0.0, chance))
