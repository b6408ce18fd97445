"""Classical tests of calibration, after Kolmogorov and Smirnov, Spiegelhalter, and Hosmer and Lemeshow."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from calibrant.distributions.brownian import LEAST_EVENTS, distance_survival
from calibrant.distributions.null_distribution import calibrated_p_value
from calibrant.errors import ArgumentError
from calibrant.table.bins import bin_starts
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes
from calibrant.table.pooling import FloatArray, NumberArray
from calibrant.table.results import Count, Result, Tabular
from calibrant.table.row_sums import add_rows, rows_or_table
from calibrant.table.score_table import Labels, Scores, ScoreTable, Weights, as_table


@dataclass(frozen=True)
class KsCalibrationTest(Result):
    """Largest average residual over the rows up to some score, with its p-value.

    Attributes
    ----------
    statistic : float
        The error, in [0, 1]; smaller is better, 0 is perfect.
    score : float
        The rows with scores up to this one attain it.
    p_value : float
        Small values speak against calibration. NaN if weights do not count rows, or if n times the mean of
        ``s (1 - s)`` is below 25, where the asymptotic distribution does not hold.
    n : float
        Rows, or total weight.
    """

    statistic: float
    score: float
    p_value: float
    n: Count


def ks_calibration_test(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> KsCalibrationTest:
    r"""Test calibration by the largest distance of the cumulative residuals from 0.

    `calibrant.certificates.calibration_test` looks at all intervals of scores, and is exact for any number of rows.

    Parameters
    ----------
    y_true, y_proba, sample_weight, count, pos_label
        Labels, scores (or one `ScoreTable`) and weights, as in `brier_score`. A p-value needs rows, or a `count`.

    Returns
    -------
    KsCalibrationTest
        From a table with cells, the walk is read at the ends of cells; if its rows could be read only once, the error
        may be too small and the p-value too large.

    Notes
    -----
    .. math:: \sup_t \Big| \frac1n \sum_i (y_i - s_i)\, 1\{s_i \le t\} \Big|

    The error is the KS calibration error of [1]_ and the maximum absolute deviation of [2]_, with equal scores never
    separated. It is between half the cutoff calibration error and the whole.

    The p-value is the smallest p for which :math:`n\,\mathrm{error} > h_{1-p} \sqrt{V} + \max(1/2, \log(1/p) / 3 -
    0.9)`, with V the sum of s (1 - s) and h the quantile of the largest distance of a Brownian motion on [0, 1] from 0.
    The last term keeps the test safe where V comes from few events (Check 6.8 in docs/theory/6-null.md).

    References
    ----------
    .. [1] Gupta et al. (2021). Calibration of neural networks using splines. ICLR.
    .. [2] Arrieta-Ibarra et al. (2022). Metrics of calibration for probabilistic predictions. JMLR.

    Examples
    --------
    >>> from calibrant.metrics import ks_calibration_test
    >>> result = ks_calibration_test([0] * 60 + [1] * 40 + [1] * 100, [0.6] * 100 + [0.8] * 100)
    >>> round(result.statistic, 4), result.score, round(result.p_value, 4)
    (0.1, 0.6, 0.005)
    """
    table = as_table(y_true, y_proba, sample_weight=sample_weight, count=count, pos_label=pos_label)
    residuals = cumulative_residuals(table)
    statistic = extremes(residuals).ks
    score = float(residuals.score[np.argmax(np.abs(residuals.value))])
    variance, p_value = table.total * table.mean_variance, math.nan
    if table.independent and variance >= LEAST_EVENTS:
        p_value = calibrated_p_value(table.total * statistic, variance, distance_survival)
    return KsCalibrationTest(statistic, score, p_value, table.total)


@dataclass(frozen=True)
class Spiegelhalter(Result):
    """The Brier score compared with its expectation under calibration.

    Attributes
    ----------
    statistic : float
        Difference of the two, in standard deviations; positive if the Brier score is too large, as for scores that are
        too extreme. NaN if weights do not count rows.
    p_value : float
        Two-sided, from the normal distribution; small values speak against calibration. NaN as the statistic.
    brier, expected_brier : float
        Brier score, and the mean of ``s (1 - s)``, which that of calibrated scores is on average.
    n : float
        Rows, or total weight.
    """

    statistic: float
    p_value: float
    brier: float
    expected_brier: float
    n: Count


def spiegelhalter(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> Spiegelhalter:
    r"""Test calibration by the distance of the Brier score from its expectation.

    `calibrant.certificates.calibration_test` sees every kind of miscalibration, and is exact for any number of rows.

    Parameters
    ----------
    y_true, y_proba, sample_weight, count, pos_label
        Labels, scores (or one `ScoreTable`) and weights, as in `brier_score`. The test needs rows, or a `count`.

    Returns
    -------
    Spiegelhalter
        The statistic and its two-sided p-value. Some implementations report one tail only, that is half of this p-value
        or one minus half of it.

    Notes
    -----
    .. math:: z = \frac{\sum (y_i - s_i)(1 - 2 s_i)}{\sqrt{\sum (1 - 2 s_i)^2 s_i (1 - s_i)}}

    Errors that cancel in the sum go unseen: scores of 1/2 carry no weight, and too low scores on one side may make up
    for others. Where all scores are 0, 1/2 or 1, chance has no part in z; it is 0 (p-value 1) if no score of 0 or 1 was
    wrong, else infinite (p-value 0). The normal distribution is a limit for many events: where 0.1 events are expected
    in 400 rows at one score, any event gives a p-value below 0.01, and there is one in 9.5% of samples. From a table
    with cells, each cell counts at its mean score.

    References
    ----------
    Spiegelhalter (1986). Probabilistic prediction in patient management and clinical trials. Statistics in Medicine.

    Examples
    --------
    >>> from calibrant.metrics import spiegelhalter
    >>> result = spiegelhalter([0, 0, 0, 1, 1], [0.2, 0.2, 0.8, 0.8, 0.8])
    >>> round(result.statistic, 4), round(result.p_value, 4)
    (0.0, 1.0)
    """
    rows = rows_or_table(y_true, y_proba, sample_weight=sample_weight, count=count, pos_label=pos_label)
    if isinstance(rows, ScoreTable):
        n, brier, expected = rows.total, rows.squared_total / rows.total, rows.mean_variance
        slope, statistic = 1.0 - 2.0 * rows.score, math.nan
        if rows.independent:
            variance = float(np.dot(rows.n, slope**2 * rows.score * (1.0 - rows.score)))
            statistic = _statistic(float(np.dot(rows.residual_sums(), slope)), variance)
    else:
        squared, excess, variance = (float(total[0]) for total in add_rows(_excesses, rows).terms)
        n = float(len(rows.score))
        brier, expected = squared / n, (squared - excess) / n
        statistic = _statistic(excess, variance)
    return Spiegelhalter(statistic, math.erfc(abs(statistic) / math.sqrt(2.0)), brier, expected, n)


def _excesses(label: npt.NDArray[np.int8], score: FloatArray) -> Iterator[FloatArray]:
    """Squared residual of each row, how far it exceeds its expectation ``s (1 - s)``, and the variance of that."""
    # New arrays cost more than what is computed here.
    residual, slope = label.astype(np.float64), -2.0 * score
    residual -= score
    slope += 1.0
    yield residual * residual
    residual *= slope
    yield residual
    slope *= slope
    slope *= score
    slope *= 1.0 - score
    yield slope


def _statistic(excess: float, variance: float) -> float:
    if variance == 0.0:
        return math.copysign(math.inf, excess) if excess else 0.0
    return excess / math.sqrt(variance)


@dataclass(frozen=True, eq=False)
class HosmerLemeshow(Tabular):
    """Observed and expected positives in bins, and what the chi-squared test makes of them.

    Attributes
    ----------
    statistic : float
        Sum of squared differences between observed and expected positives, each divided by its variance. Infinite
        if a bin of scores 0 or 1 was wrong. NaN if weights do not count rows.
    degrees_of_freedom : int
        Bins in which chance has a part, less two for scores fitted on these rows.
    p_value : float
        Upper tail of the chi-squared distribution; small values speak against calibration. NaN as the statistic.
    least_expected : float
        Smallest expected number of positives or negatives in any bin in which chance has a part. Below about 5 the
        asymptotic distribution may not hold: at 0.1, one event gives a p-value below 0.01, in 9.5% of samples.
    in_sample : bool
        As asked.
    n, score, observed, expected : ndarray
        Of each bin: rows, or their weight, mean score, positives, and the sum of the scores.
    """

    statistic: float
    degrees_of_freedom: int
    p_value: float
    least_expected: float
    in_sample: bool
    n: NumberArray
    score: FloatArray
    observed: NumberArray
    expected: FloatArray


def hosmer_lemeshow(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    n_bins: int = 10,
    strategy: Literal["quantile", "uniform"] = "quantile",
    in_sample: bool = False,
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> HosmerLemeshow:
    r"""Test calibration by comparing observed and expected positives in bins of the score.

    `calibrant.certificates.calibration_test` needs no bins and is exact for any number of rows.

    Parameters
    ----------
    y_true, y_proba, sample_weight, count, pos_label
        Labels, scores (or one `ScoreTable`) and weights, as in `brier_score`. The test needs rows, or a `count`.
    n_bins : int
        Wanted number of bins; empty ones are left out, and equal scores are never separated.
    strategy : {"quantile", "uniform"}
        Bins with about equally many rows (the "deciles of risk", statistic C), or of equal width (statistic H).
    in_sample : bool
        Whether a logistic regression fitted on these same rows gave the scores. It takes two degrees of freedom, so
        that fewer than three bins are refused.

    Returns
    -------
    HosmerLemeshow
        The test and the bins; `to_frame()` gives the bins. A cell of a table joins a bin as a whole, so each bin has up
        to two cells' rows more or fewer.

    Notes
    -----
    .. math:: \hat C = \sum_{g} \frac{(O_g - n_g \bar s_g)^2}{n_g \bar s_g (1 - \bar s_g)}

    chi-squared with g degrees of freedom for scores made before these rows were seen, g - 2 for a logistic regression
    fitted on them [1]_. Other bins give another p-value. The variance is that of equal scores within a bin, as in
    [1]_; it is slightly too large, so the test rejects slightly too seldom where bins are wide.

    References
    ----------
    .. [1] Hosmer, Lemeshow & Sturdivant (2013). Applied Logistic Regression, 3rd edition, section 5.2.2.

    Examples
    --------
    >>> from calibrant.metrics import hosmer_lemeshow
    >>> result = hosmer_lemeshow([0] * 9 + [1] + [0] * 4 + [1] * 6, [0.1] * 10 + [0.5] * 10, n_bins=2)
    >>> round(result.statistic, 4), result.degrees_of_freedom, round(result.p_value, 4)
    (0.4, 2, 0.8187)
    """
    table = as_table(y_true, y_proba, sample_weight=sample_weight, count=count, pos_label=pos_label)
    starts = bin_starts(table, n_bins, strategy)
    n, observed = np.add.reduceat(table.n, starts), np.add.reduceat(table.k, starts)
    expected = np.add.reduceat(table.n * table.score, starts)
    score = expected / n
    variance = expected * (1.0 - score)
    by_chance = variance > 0.0
    freedom = int(np.count_nonzero(by_chance)) - 2 * in_sample
    if in_sample and freedom < 1:
        needed = "at least three bins with scores other than 0 and 1, for scores fitted on these rows"
        remedy = "ask for more bins; scores with only one or two values cannot be tested this way"
        raise ArgumentError(needed, f"{freedom + 2}", remedy)
    statistic = p_value = math.nan
    if table.independent:
        impossible = bool((observed != expected)[~by_chance].any())
        with np.errstate(over="ignore"):  # a positive at a score of 1e-320 is as good as impossible
            statistic = float(((observed - expected)[by_chance] ** 2 / variance[by_chance]).sum())
        statistic = math.inf if impossible else statistic
        p_value = _upper_tail(statistic, freedom)
    least = float(np.minimum(expected, n - expected).min(where=by_chance, initial=math.inf))
    return HosmerLemeshow(statistic, freedom, p_value, least, in_sample, n, score, observed, expected)


def _upper_tail(statistic: float, freedom: int) -> float:
    """Probability that a chi-squared variable exceeds the statistic; without freedom it is 0."""
    if freedom == 0 or math.isinf(statistic):
        return 0.0 if statistic > 0.0 else 1.0
    from scipy.special import chdtrc

    return float(chdtrc(freedom, statistic))
