"""Proper scoring rules with their three parts."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.fits.isotonic import isotonic_fit
from calibrant.fits.score_map import shortened
from calibrant.table.bins import mean_of_rows, rows_or_table
from calibrant.table.pooling import FloatArray
from calibrant.table.results import Result
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
