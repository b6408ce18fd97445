"""Proper scoring rules with their three parts, and the tests of Spiegelhalter, and of Hosmer and Lemeshow."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError
from calibrant.fits.isotonic import isotonic_fit
from calibrant.fits.score_map import shortened
from calibrant.table.bins import add_rows, bin_starts, mean_of_rows, rows_or_table
from calibrant.table.pooling import FloatArray, NumberArray
from calibrant.table.results import Count, Result, Tabular
from calibrant.table.score_table import Labels, Scores, ScoreTable, Weights, as_table
from calibrant.table.seeding import generator_for


def brier_score(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> float:
    """Mean squared difference between label and score.

    Parameters
    ----------
    y_true : array-like of shape (n,) or ScoreTable
        Labels, or a table that holds labels and scores.
    y_proba : array-like of shape (n,)
        Predicted probabilities of the positive class, in [0, 1].
    sample_weight : array-like of shape (n,), optional
        Non-negative weights, of which only the ratios matter.
    count : array-like of shape (n,), optional
        Whole numbers: each row stands for so many equal rows. Not together with `sample_weight`.
    pos_label : scalar, optional
        The label value that counts as 1.

    Returns
    -------
    float
        In [0, 1]; smaller is better. From a table with cells exact to 2**-43.

    Raises
    ------
    DataError
        If the input cannot be used: this holds for every function of labels and scores.

    References
    ----------
    Brier (1950). Verification of forecasts expressed in terms of probability. Monthly Weather Review.

    Examples
    --------
    >>> from calibrant.metrics import brier_score
    >>> brier_score([0, 1], [0.25, 0.5])
    0.15625
    """
    rows = rows_or_table(y_true, y_proba, sample_weight=sample_weight, count=count, pos_label=pos_label)
    if isinstance(rows, ScoreTable):
        return rows.squared_total / rows.total
    return mean_of_rows(lambda label, score: [(label - score) ** 2], rows)


def log_loss(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> float:
    """Mean of minus the natural logarithm of the probability given to the observed label (Good 1952).

    Parameters
    ----------
    y_true, y_proba, sample_weight, count, pos_label
        As in `brier_score`.

    Returns
    -------
    float
        Non-negative; smaller is better. Infinite if a score of 0 or 1 was wrong even once: nothing is clipped. From a
        table with cells exact to 2**-37.

    Examples
    --------
    >>> from calibrant.metrics import log_loss
    >>> round(log_loss([0, 1], [0.5, 0.25]), 4)
    1.0397
    >>> log_loss([1], [0.0])
    inf
    """
    rows = rows_or_table(y_true, y_proba, sample_weight=sample_weight, count=count, pos_label=pos_label)
    if isinstance(rows, ScoreTable):
        return rows.log_loss_total / rows.total
    return mean_of_rows(_log_losses, rows)


def _log_losses(label: npt.NDArray[np.int8], score: FloatArray) -> list[FloatArray]:
    with np.errstate(divide="ignore"):
        return [0.0 - np.where(label == 1, np.log(score), np.log1p(-score))]  # 0 - 0 has no sign, unlike -0


def squared_loss_of(label: int, score: FloatArray) -> FloatArray:
    """Return what a row with that label adds to the Brier score, at each of these scores."""
    return (label - score) ** 2


def log_loss_of(label: int, score: FloatArray) -> FloatArray:
    """Return what a row with that label adds to the log loss, at each of these scores."""
    with np.errstate(divide="ignore"):
        return -np.log(score) if label else -np.log1p(-score)


# Labels are simulated at no more scores than this, but for some at either end, and so many in all, or so often.
_GROUPS, _SCORES, _FEWEST, _MOST = 8192, 1 << 18, 16, 200


@dataclass(frozen=True)
class ScoreDecomposition(Result):
    """A mean score as ``miscalibration - discrimination + uncertainty``.

    Attributes
    ----------
    value : float
        The mean score; smaller is better.
    miscalibration : float
        How much the best nondecreasing recalibration on these rows would take off; not negative, smaller is better.
    discrimination : float
        How much better the recalibrated scores are than the base rate, or mean outcome, alone; not negative, larger is
        better.
    uncertainty : float
        Mean score of the base rate: a property of the labels alone.
    skill : float
        ``1 - value / uncertainty``: 1 is perfect, 0 as good as the base rate, negative worse. NaN if there is only
        one class, or all outcomes are equal.
    """

    value: float
    miscalibration: float
    discrimination: float
    uncertainty: float
    skill: float


def brier_decomposition(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> ScoreDecomposition:
    r"""Brier score as miscalibration minus discrimination plus uncertainty, without bins.

    Parameters
    ----------
    y_true, y_proba, sample_weight, count, pos_label
        Labels, scores (or one `ScoreTable`) and weights, as in `brier_score`.

    Returns
    -------
    ScoreDecomposition
        From a table with cells `value` and `uncertainty` are exact. So are `miscalibration` and `discrimination` if its
        rows could be read again; if not, they are lower limits, since rows of one cell are recalibrated together.

    Notes
    -----
    With S the mean score of the scores, :math:`S_C` that of their isotonic recalibration on the same rows and
    :math:`S_R` that of the base rate,

    .. math:: S = (S - S_C) - (S_R - S_C) + S_R = MCB - DSC + UNC

    which is the CORP decomposition of [1]_. The isotonic fit minimises the Brier score and the logarithmic score
    alike, so no part is negative. It also follows the noise: perfectly calibrated scores have a positive
    miscalibration, which vanishes as rows are added; an audit tells its mean.

    References
    ----------
    .. [1] Dimitriadis, Gneiting & Jordan (2021). Stable reliability diagrams for probabilistic classifiers. PNAS.

    Examples
    --------
    >>> from calibrant.metrics import brier_decomposition
    >>> parts = brier_decomposition([0, 0, 1, 1], [0.5, 0.5, 0.5, 1.0])
    >>> round(parts.miscalibration, 4), round(parts.discrimination, 4), parts.uncertainty, parts.value
    (0.0208, 0.0833, 0.25, 0.1875)
    """
    return _decomposed(
        as_table(y_true, y_proba, sample_weight=sample_weight, count=count, pos_label=pos_label), brier_score
    )


def log_loss_decomposition(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> ScoreDecomposition:
    """Log loss as miscalibration minus discrimination plus uncertainty, defined as in `brier_decomposition`.

    Parameters
    ----------
    y_true, y_proba, sample_weight, count, pos_label
        As in `brier_decomposition`.

    Returns
    -------
    ScoreDecomposition
        In nats. If a score of 0 or 1 was wrong even once, `value` and `miscalibration` are infinite and `skill` is
        minus infinity; nothing is clipped. From a table with cells as in `brier_decomposition`.

    Examples
    --------
    >>> from calibrant.metrics import log_loss_decomposition
    >>> parts = log_loss_decomposition([0, 1, 0, 1], [0.5, 0.5, 0.5, 0.5])
    >>> parts.miscalibration, parts.discrimination, round(parts.uncertainty, 4), parts.skill
    (0.0, 0.0, 0.6931, 0.0)
    """
    return _decomposed(
        as_table(y_true, y_proba, sample_weight=sample_weight, count=count, pos_label=pos_label), log_loss
    )


def _decomposed(table: ScoreTable, mean_score: Callable[[ScoreTable], float]) -> ScoreDecomposition:
    rate, n, k = (np.array([number]) for number in (table.base_rate, table.total, table.positives))
    overall = ScoreTable(rate, n, k)
    uncertainty = mean_score(overall)
    return decompose(mean_score(table), _recalibrated(table, mean_score), uncertainty)


def decompose(value: float, recalibrated: float, uncertainty: float) -> ScoreDecomposition:
    """Split a mean score, given that of the isotonic recalibration and that of the base rate or mean alone."""
    # Neither is negative but for rounding: the fit minimises the score, and the base rate is a candidate.
    miscalibration, discrimination = max(0.0, value - recalibrated), max(0.0, uncertainty - recalibrated)
    skill = 1.0 - value / uncertainty if uncertainty > 0.0 else math.nan
    return ScoreDecomposition(value, miscalibration, discrimination, uncertainty, skill)


def _recalibrated(table: ScoreTable, mean_score: Callable[[ScoreTable], float]) -> float:
    fit = isotonic_fit(table)
    return mean_score(ScoreTable(fit.value, fit.n, fit.k))


def calibrated_miscalibration(table: ScoreTable) -> tuple[float, float]:
    """Mean miscalibration (Brier score) under perfect calibration, and the standard error of finding it by simulation.

    Labels are drawn from the scores, with numbers seeded by the rows. Neighbours of long tables are joined for it. NaN
    if weights do not count rows.
    """
    if not table.independent:
        return math.nan, math.nan
    short, rng = shortened(table, _GROUPS), generator_for(table, 0)
    simulated = np.empty(min(_MOST, max(_FEWEST, _SCORES // len(short))))
    for i in range(len(simulated)):
        drawn = ScoreTable(short.score, short.n, rng.binomial(short.n, short.score))
        simulated[i] = brier_score(drawn) - _recalibrated(drawn, brier_score)
    return float(simulated.mean()), float(simulated.std(ddof=1)) / math.sqrt(len(simulated))


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
