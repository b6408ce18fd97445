"""Calibration errors: of cutoffs, exact and without bins; over bins, with what is noise in them; and the smooth one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from calibrant.cells.pruning import pruned_range
from calibrant.distributions.null_distribution import null_limit, null_mean
from calibrant.errors import DataError
from calibrant.table.bins import Bins, add_rows, bin_starts, check_bins, equal_width_numbers, rows_or_table
from calibrant.table.cumulative_residuals import Extremes, cumulative_residuals, extremes
from calibrant.table.parameters import check_between, check_choice
from calibrant.table.pooling import FloatArray, IndexArray, NumberArray, pool_rows
from calibrant.table.results import Count, Result, Tabular
from calibrant.table.score_table import Labels, LabelsOrSums, Scores, ScoreTable, Weights, as_sums, as_table
from calibrant.table.table_sums import TableSums
from calibrant.table.validation import CleanRows, clean_rows

# Below this many rows pooling into a table is faster than two passes over buckets.
_FEW_ROWS = 1 << 15


@dataclass(frozen=True)
class CutoffCalibration(Result):
    """The cutoff calibration error with the interval that attains it.

    Attributes
    ----------
    value, value_upper : float
        The error, in [0, 1]; smaller is better, 0 is perfect. That of the rows is at most `value_upper`, which is
        the same unless the table has cells that can hide more: those of rows that could be read only once, or of
        tables that were merged.
    under, over : float
        Its one-sided parts, of which `value` is the larger: observed rate above the mean prediction, and below it. The
        smaller may be too small by up to 1.2e-7 in a table of cells made of more than 16 million rows.
    interval : tuple of float or None
        Scores `(low, high]` that attain `value`; `low` is `-inf` where it starts below the smallest score.
        None if the error is 0.
    direction : {"too low", "too high", "none"}
        Whether the scores in the interval are too low or too high.
    share, mean_predicted, observed_rate : float
        Of the interval: share of all rows, mean score and share of positives; NaN if there is none.
        ``share * |observed_rate - mean_predicted| == value``.
    null_mean, null_q95 : float
        Mean and 95% limit of the error for labels drawn from the scores, that is of a perfectly calibrated classifier
        with these scores. The mean is that of the asymptotic distribution, which allows for ties. The limit is exceeded
        with probability at most 0.05; it depends on the scores and not on the labels seen, and holds where few events
        are expected too (docs/theory/6-null.md). NaN if weights do not count rows.
    mean_residual : float
        Share of positives minus mean score, over all rows.
    ks : float
        Largest average residual over the intervals that start at the smallest score.
    n : float
        Rows, or total weight.
    """

    value: float
    value_upper: float
    under: float
    over: float
    interval: tuple[float, float] | None
    direction: str
    share: float
    mean_predicted: float
    observed_rate: float
    null_mean: float
    null_q95: float
    mean_residual: float
    ks: float
    n: Count


def cutoff_calibration_error(
    y_true: LabelsOrSums,
    y_proba: Scores = None,
    *,
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> float:
    r"""Largest average residual over all intervals of scores.

    Parameters
    ----------
    y_true, y_proba, sample_weight, count, pos_label
        Labels, scores (or one `ScoreTable`) and weights, as in `brier_score`; or an `OutcomeTable`, of which it is the
        error relative to what the table says.

    Returns
    -------
    float
        Of labels in [0, 1]; smaller is better. The number does not depend on the order of the rows, to the last bit.
        From a table of rows that could be read only once it may be too small. `cutoff_calibration` tells the interval
        too.

    Notes
    -----
    .. math:: c = \sup_{a<b} \Big| \frac1n \sum_i (y_i - s_i)\, 1\{a < s_i \le b\} \Big|

    Definition 2 of [1]_; the name is that of [2]_. For any band of scores that holds a share m of the rows,
    observed rate and mean score differ by at most c / m. Equal scores are never separated. The constant
    classifier that predicts the base rate has c = 0, so read c together with a measure of resolution such as
    `roc_auc` or `brier_score`.

    Large unweighted arrays are not sorted: two passes over buckets find the few rows that matter.

    References
    ----------
    .. [1] Gao, Parameswaran & Peng (2017). On the Interpretability of Conditional Probability Estimates. AISTATS.
    .. [2] Rossellini et al. (2025). Can a calibration metric be both testable and actionable? COLT.

    Examples
    --------
    >>> from calibrant.metrics import cutoff_calibration_error
    >>> cutoff_calibration_error([1, 1, 1, 1, 1, 1, 1, 1, 1, 1], [0.5] * 10)
    0.5
    >>> cutoff_calibration_error([0, 1] * 500, [0.5] * 1000)
    0.0
    """
    weighted = sample_weight is not None or count is not None
    if isinstance(y_true, TableSums) or y_proba is None or weighted:
        table = as_sums(y_true, y_proba, sample_weight=sample_weight, count=count, pos_label=pos_label)
        return extremes(cumulative_residuals(table)).value
    rows = clean_rows(y_true, y_proba, pos_label=pos_label)
    value = pruned_range(rows.label, rows.score) if len(rows.score) >= _FEW_ROWS else None
    if value is None:
        value = extremes(cumulative_residuals(ScoreTable.from_scores(rows.label, rows.score))).value
    return value


def cutoff_calibration(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> CutoffCalibration:
    """Cutoff calibration error with the score interval that attains it.

    Parameters
    ----------
    y_true, y_proba, sample_weight, count, pos_label
        As in `cutoff_calibration_error`.

    Returns
    -------
    CutoffCalibration
        From a table with cells everything is read at the ends of cells. Tables of rows that can be read again have
        single scores wherever that would make a difference, so nothing is lost; with others `value`, `under`, `over`
        and `ks` may be too small, and the error of the rows lies between `value` and `value_upper`.

    Examples
    --------
    >>> from calibrant.metrics import cutoff_calibration
    >>> result = cutoff_calibration([0, 0, 1, 0, 1, 1], [0.1, 0.6, 0.6, 0.7, 0.7, 0.9])
    >>> result.interval, result.direction
    ((-inf, 0.7), 'too high')
    >>> round(result.mean_predicted, 2), round(result.observed_rate, 2)
    (0.54, 0.4)
    """
    table = as_table(y_true, y_proba, sample_weight=sample_weight, count=count, pos_label=pos_label)
    largest = extremes(cumulative_residuals(table))
    share, mean_predicted, observed_rate = _inside(table, largest)
    return CutoffCalibration(
        value=largest.value,
        value_upper=largest.at_most,
        under=largest.under,
        over=largest.over,
        interval=(largest.low, largest.high) if largest.sign else None,
        direction={1: "too low", -1: "too high", 0: "none"}[largest.sign],
        share=share,
        mean_predicted=mean_predicted,
        observed_rate=observed_rate,
        null_mean=null_mean(table),
        null_q95=null_limit(table, 0.95),
        mean_residual=largest.mean_residual,
        ks=largest.ks,
        n=table.n_rows,
    )


def _inside(table: ScoreTable, largest: Extremes) -> tuple[float, float, float]:
    """Share of rows, mean score and share of positives in the interval."""
    if not largest.sign:
        return 0.0, math.nan, math.nan
    rows = largest.rows(table.high)
    n, k = float(table.n[rows].sum()), float(table.k[rows].sum())
    mean_predicted = float(np.dot(table.n[rows], table.score[rows]))
    return n / table.total, mean_predicted / n, k / n


Strategy = Literal["quantile", "uniform", "type7"]
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
        Mean score and share of positives in each bin.
    value : float
        The error; smaller is better.
    null_mean : float
        What perfectly calibrated scores would show in these bins, on average over the labels. For "l1" an upper
        limit of that average, close where bins are narrow and exact where all scores of a bin are equal. For "l2"
        the root of the average square, which is exact. NaN for "max" and where weights do not count rows.
    debiased_square : float
        For "l2", an estimate of the squared error without the upward bias of `value` squared; it
        may be negative. NaN otherwise, where a bin holds a single row, and where weights do not count rows.
    strategy, norm : str
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
    norm: str


def expected_calibration_error(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    n_bins: int = 10,
    strategy: Strategy = "quantile",
    norm: Norm = "l1",
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
    norm : {"l1", "l2", "max"}
        Mean of the distances over rows, root of their mean square, or the largest.

    Returns
    -------
    float
        In [0, 1]; smaller is better. From a table with cells, a cell that the border of a bin divides is in one bin as
        a whole. With "uniform" or "quantile" and "l1" the number is then off by at most twice the sum,
        over these at most ``n_bins - 1`` cells, of the larger of their `rise` and `fall`, divided by n.

    Notes
    -----
    .. math:: ECE = \sum_b \frac{n_b}{n} \Big| \frac1{n_b} \sum_{i \in b} y_i - \frac1{n_b} \sum_{i \in b} s_i \Big|

    The number depends on the bins: errors of opposite sign in one bin cancel, and chance alone makes it positive,
    the more so the more bins there are: `binned_calibration` says how much. `cutoff_calibration_error` needs no bins.

    [1]_ compare the mean score with the share of rows classified correctly, see `calibrant.papers.accuracy_ece`.

    References
    ----------
    .. [1] Fernandes Machado et al. (2024). From Uncertainty to Precision.

    Examples
    --------
    >>> from calibrant.metrics import expected_calibration_error
    >>> expected_calibration_error([0, 1, 1, 1], [0.25, 0.25, 0.75, 0.75], n_bins=2)
    0.25
    """
    check_choice("norm", norm, ("l1", "l2", "max"))
    rows = _reader(strategy)(y_true, y_proba, sample_weight=sample_weight, count=count, pos_label=pos_label)
    return combine_gaps(*bin_gaps(rows, n_bins, strategy), norm)


def binned_calibration(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    n_bins: int = 10,
    strategy: Strategy = "quantile",
    norm: Norm = "l1",
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> BinnedCalibration:
    r"""Calibration error over bins, with the bins and the part that is noise.

    Parameters
    ----------
    y_true, y_proba, n_bins, strategy, norm, sample_weight, count, pos_label
        As in `expected_calibration_error`.

    Returns
    -------
    BinnedCalibration
        Its ``to_frame()`` has one row per bin. From a table with cells as in `expected_calibration_error`.

    Notes
    -----
    Noise: let each label be drawn with its score as probability, scores and bins fixed. For "l2",

    .. math:: E[\mathrm{value}^2] = \sum_b \frac{1}{n\, n_b} \sum_{i \in b} s_i (1 - s_i)

    exactly. For "l1" the positives of a bin are a sum of independent indicators with mean m; by [1]_ the mean of a
    convex function of it is at most that under the binomial with the same mean, and
    :math:`E|K - m|` of a binomial K has a closed form; where the root of the mean square is smaller, that is taken.
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
    check_choice("norm", norm, ("l1", "l2", "max"))
    starts = bin_starts(table, n_bins, strategy)
    n, score, rate = _means_of_table(table, starts)
    ends = np.append(starts[1:], len(table)) - 1
    null_mean = debiased = math.nan
    if table.independent and norm != "max":
        null_mean = _null_mean(table, starts, norm)
    if table.independent and norm == "l2" and n.min() > 1:
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
        norm=norm,
    )


def _reader(strategy: str) -> Callable[..., ScoreTable | CleanRows]:
    """What takes labels and scores: rows are not pooled where bins do not need it."""
    return rows_or_table if strategy == "uniform" else as_table


def bin_gaps(rows: ScoreTable | CleanRows, n_bins: int, strategy: str) -> tuple[NumberArray, FloatArray]:
    """Rows of each bin, and the share of positives less the mean score."""
    if not isinstance(rows, ScoreTable) and check_bins(n_bins) > _MOST_UNSORTED:
        rows = ScoreTable(*pool_rows(rows.label, rows.score))
    if isinstance(rows, ScoreTable):
        n, score, rate = _means_of_table(rows, bin_starts(rows, n_bins, strategy))
    else:
        n, score, rate = _means_of_rows(rows, check_bins(n_bins))
    return n, rate - score


def _means_of_rows(rows: CleanRows, n_bins: int) -> tuple[NumberArray, FloatArray, FloatArray]:
    bins = Bins(n_bins, lambda score: equal_width_numbers(score, n_bins))
    sums = add_rows(lambda label, score: [score], rows, bins)
    filled = sums.n > 0
    n = sums.n[filled].astype(np.float64)
    return n, sums.terms[0][filled] / n, sums.k[filled] / n


def _means_of_table(table: ScoreTable, starts: IndexArray) -> tuple[NumberArray, FloatArray, FloatArray]:
    n, score, k = (np.add.reduceat(values, starts) for values in (table.n, table.n * table.score, table.k))
    return n, score / n, k / n


def combine_gaps(n: NumberArray, gap: FloatArray, norm: str) -> float:
    """Mean of the distances over rows, root of their mean square, or the largest."""
    if norm == "max":
        return float(np.abs(gap).max())
    if norm == "l2":
        return math.sqrt(float(np.dot(n, gap**2)) / float(n.sum()))
    return float(np.dot(n, np.abs(gap))) / float(n.sum())


def _null_mean(table: ScoreTable, starts: IndexArray, norm: str) -> float:
    n, expected = (np.add.reduceat(values, starts) for values in (table.n, table.n * table.score))
    square = np.add.reduceat(table.variance, starts)
    if norm == "l2":
        return math.sqrt(float((square / n).sum()) / table.total)
    return float(np.minimum(_mean_distance(n, expected / n, expected), np.sqrt(square)).sum()) / table.total


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


# Sharing residuals between nodes at spacing h, and joining nodes by straight lines, each err by at most
# (h / sigma)**2 / 8 times 0.968, the integral of the size of the second derivative of the normal density.
_NODES_PER_BANDWIDTH = 128
_MOST_NODES = 1 << 19
_LEAST_BANDWIDTH = 1e-4  # with the most nodes the error is 0.242 / (1e-4 * 2**19)**2 < 1e-4
_REACH = 10.0  # bandwidths beyond which the kernel is nothing
_TOLERANCE = 1e-10  # relative width at which the search for the bandwidth ends


def smooth_calibration_error(
    y_true: LabelsOrSums,
    y_proba: Scores = None,
    *,
    bandwidth: float | None = None,
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> float:
    r"""Average size of the residuals after they are smoothed by a Gaussian kernel (smECE).

    Parameters
    ----------
    y_true, y_proba, sample_weight, count, pos_label
        Labels, scores (or one `ScoreTable`) and weights, as in `brier_score`; or an `OutcomeTable` with predictions in
        [0, 1], of which it is the error per unit of weight.
    bandwidth : float, optional
        Standard deviation of the kernel, at least 1e-4. By default the one that equals the error found with it: the
        error does not increase with the bandwidth, so there is exactly one.

    Returns
    -------
    float
        In [0, 1]; smaller is better. It lies between the distance of base rate and mean score and the calibration
        error with one bin per distinct score. Calibrated scores show a positive value, since rows are few.

    Notes
    -----
    .. math:: \mathrm{smECE}_\sigma = \int_0^1 \Big| \frac1n \sum_i (y_i - s_i) K_\sigma(t, s_i) \Big| dt

    with K the normal density of standard deviation :math:`\sigma` around the score, reflected at 0 and 1
    (definition 1 of [1]_).

    Residuals are shared between the two nearest nodes of a grid and smoothed as a cosine series. A default result of
    2.5e-4 or more is off by at most 1.6e-5, a smaller one by at most 2.5e-4, and with a bandwidth of your own by at
    most 1e-4; usual are 1e-6 and less. From a table with cells, each cell counts at its mean score; with a bandwidth of
    your own that moves the error by at most ``sqrt(2 / pi) / bandwidth`` times the width of the widest cell times the
    mean of ``|y - s|``.

    References
    ----------
    .. [1] Błasiok & Nakkiran (2024). Smooth ECE: Principled Reliability Diagrams via Kernel Smoothing. ICLR.

    Examples
    --------
    >>> from calibrant.metrics import smooth_calibration_error
    >>> round(smooth_calibration_error([0, 1, 1, 1], [0.3, 0.4, 0.6, 0.7]), 4)
    0.25
    >>> smooth_calibration_error([0, 1], [0.0, 1.0])
    0.0
    """
    table = as_sums(y_true, y_proba, sample_weight=sample_weight, count=count, pos_label=pos_label)
    if table.low[0] < 0.0 or table.high[-1] > 1.0:
        remedy = "divide outcomes and predictions by the largest prediction that there can be"
        raise DataError("predictions in [0, 1]", f"{table.low[0]:g} to {table.high[-1]:g}", remedy)
    if bandwidth is not None:
        remedy = "leave it out to have it chosen"
        bandwidth = check_between("bandwidth", bandwidth, _LEAST_BANDWIDTH, math.inf, closed="left", remedy=remedy)
    residual = (table.rise - table.fall) / table.total
    least, most = abs(float(residual.sum())), float(np.abs(residual).sum())
    if most == 0.0:
        return 0.0
    smoothed = _Smoothed(table.score, residual, _REACH * (most if bandwidth is None else bandwidth))
    return _fixed_point(smoothed, least, most) if bandwidth is None else smoothed.error(bandwidth)


def _fixed_point(smoothed: _Smoothed, low: float, high: float) -> float:
    """Return the bandwidth that equals its error. Errors fall with the bandwidth, so each one found is a bound too."""
    unseen = 0.5 * smoothed.length / _MOST_NODES  # half a node
    while high - low > _TOLERANCE * high and high > unseen:
        # in ratios, since the answer may be any power of ten, but not so far down that grids become fine for nothing
        middle = math.sqrt(max(low, 1e-3 * high) * high)
        error = smoothed.error(middle)
        low, high = (middle, min(high, error)) if error > middle else (max(low, error), middle)
    return 0.5 * (low + high)


class _Smoothed:
    """Residuals as a cosine series on the part of [0, 1] that they reach.

    The kernel reflected at both ends multiplies the coefficient of `cos(pi m t)` by `exp(-(pi m sigma)**2 / 2)`.
    """

    def __init__(self, score: FloatArray, residual: FloatArray, reach: float) -> None:
        low = max(0.0, float(score[0]) - reach)
        self.length = min(1.0, float(score[-1]) + reach) - low
        self.place = (score - low) / self.length
        self.residual = residual
        self.coefficients = np.zeros(0)

    def error(self, bandwidth: float) -> float:
        """Integral of the size of the smoothed residuals, each piece between two nodes as a straight line."""
        sigma = bandwidth / self.length
        nodes = max(1024, 1 << math.ceil(math.log2(min(_NODES_PER_BANDWIDTH / sigma, _MOST_NODES))))
        if len(self.coefficients) != nodes + 1:
            self.coefficients = self._transform(nodes)
        damping = np.exp(-0.5 * (np.pi * sigma * np.arange(nodes + 1)) ** 2)
        value = _cosine_series(self.coefficients * damping)
        left, right = np.abs(value[:-1]), np.abs(value[1:])
        both = left + right
        crossed = value[:-1] * value[1:] < 0.0
        area = np.divide(left**2 + right**2, both, out=both.copy(), where=crossed)
        return 0.5 * float(area.sum()) / nodes

    def _transform(self, nodes: int) -> FloatArray:
        position = self.place * nodes
        node = np.minimum(position.astype(np.intp), nodes - 1)
        upper = self.residual * (position - node)
        shares = np.bincount(node, self.residual - upper, nodes + 1) + np.bincount(node + 1, upper, nodes + 1)
        # the series counts every node but the first and the last twice
        shares[0] *= 2.0
        shares[-1] *= 2.0
        return 0.5 * _cosine_series(shares)


def _cosine_series(coefficients: NumberArray) -> FloatArray:
    """Sum of the cosine series at as many nodes as it has terms; the inner ones count twice."""
    nodes = len(coefficients) - 1
    return np.asarray(np.fft.hfft(coefficients, 2 * nodes)[: nodes + 1])
