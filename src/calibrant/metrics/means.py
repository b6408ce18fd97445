"""Numbers that describe how good predicted means are: of claims, counts, shares, demand or any other amount."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from calibrant.distributions.total_ratio import by_draw, ratio_limits
from calibrant.errors import DataError
from calibrant.fits.isotonic import isotonic_fit
from calibrant.metrics.proper import ScoreDecomposition, decompose
from calibrant.table.clusters import Clusters
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes
from calibrant.table.numbers import short
from calibrant.table.outcome_table import Outcomes, OutcomeTable, as_outcome_table
from calibrant.table.parameters import check_between, check_choice
from calibrant.table.pooling import FloatArray
from calibrant.table.results import Estimate, Result
from calibrant.table.score_table import Scores, Weights

Deviance = Literal["squared", "poisson", "gamma"]

# Measures of the rows at hand need no limits of outcomes.
_table = partial(as_outcome_table, limits=(None, None), relative_to="exposure")


def mean_calibration_error(
    y_true: Outcomes,
    y_pred: Scores = None,
    *,
    exposure: Weights = None,
    sample_weight: Weights = None,
    relative_to: str = "predicted",
) -> float:
    r"""Largest sum of residuals over all intervals of predictions, as a share of all that was predicted.

    Parameters
    ----------
    y_true : array-like of shape (n,) or OutcomeTable
        Outcomes, or a table that holds outcomes and predictions.
    y_pred : array-like of shape (n,)
        Predicted means.
    exposure : array-like of shape (n,), optional
        Length of time, number of trials, ... of each row. Outcomes are then totals of the rows, and predictions rates
        per unit of exposure.
    sample_weight : array-like of shape (n,), optional
        Weights, where outcomes are rates per unit as the predictions are. Not both.
    relative_to : {"predicted", "exposure", "observed", "rows"}
        What the sum is divided by: all that was predicted, all exposure (or weight), all that was observed, or the
        number of rows. A table knows its own.

    Returns
    -------
    float
        Not negative; smaller is better, 0 is perfect. Equal predictions are never separated, and no order of rows
        shows.

    Raises
    ------
    DataError
        If the input cannot be used: this holds for every function of outcomes and predictions.

    Notes
    -----
    .. math:: c = \sup_{a<b} \Big| \sum_i w_i (z_i - f_i)\, 1\{a < f_i \le b\} \Big| \Big/ \sum_i w_i f_i

    Of any band of predictions that holds a share m of the total predicted, observed and predicted totals differ by at
    most c / m of it. A constant prediction at the mean has c = 0, so read c together with `concentration` or a
    deviance.

    For scikit-learn: ``make_scorer(mean_calibration_error, greater_is_better=False)``.

    Examples
    --------
    >>> from calibrant.metrics import mean_calibration_error
    >>> mean_calibration_error([0, 1, 3, 4], [1.0, 1.0, 2.0, 4.0])
    0.125
    """
    table = _table(y_true, y_pred, exposure=exposure, sample_weight=sample_weight, relative_to=relative_to)
    return extremes(cumulative_residuals(table)).value


@dataclass(frozen=True)
class MeanBias(Result):
    """Observed and predicted means over all rows, as a difference and as a ratio.

    Attributes
    ----------
    observed, predicted : float
        Totals of outcomes and of predictions, per unit of exposure or weight.
    observed_minus_predicted : Estimate
        Calibration in the large: above 0 predictions are too low on the whole.
    balance : Estimate
        Observed over predicted: above 1 predictions are too low on the whole.
    """

    observed: float
    predicted: float
    observed_minus_predicted: Estimate
    balance: Estimate


def mean_bias(
    y_true: Outcomes,
    y_pred: Scores = None,
    *,
    exposure: Weights = None,
    sample_weight: Weights = None,
    cluster: Clusters | None = None,
    confidence_level: float = 0.95,
) -> MeanBias:
    """Compare observed and predicted means over all rows.

    Parameters
    ----------
    y_true, y_pred, exposure, sample_weight
        As in `mean_calibration_error`.
    cluster : sequence of length n, optional
        The cluster of each row, such as the customer of a policy. Rows of one cluster may depend on each other.
    confidence_level : float
        Confidence of each interval, in (0, 1).

    Returns
    -------
    MeanBias
        Intervals are asymptotic.

    Notes
    -----
    Each row, or cluster, is left out in turn (jackknife). Limits of the balance are those of Student's distribution on
    the scale of logarithms (unless there are negative outcomes), and those of the bias are the same, less 1 and times
    the predicted mean. Where one row has more than 1/25 of the squared residuals, and the largest outcome is more than
    three times the median of those other than 0, a limit is no nearer than that for a mean with an end of the range
    (Gaffke 2005): the cap of an `OutcomeTable`, or one, two or three times the largest outcome where the tail index is
    above 2.5, below, or below 1.5. Of 20 or fewer such outcomes there are no limits without a cap. How often they miss
    is counted in docs/reference/mean_measures.md; `calibrant.certify` says what is proved.

    Examples
    --------
    >>> from calibrant.metrics import mean_bias
    >>> result = mean_bias([0, 1, 3, 0] * 25, [0.5, 0.5, 1.5, 1.5] * 25)
    >>> result.observed, result.predicted, result.observed_minus_predicted.value, result.balance.value
    (1.0, 1.0, 0.0, 1.0)
    >>> round(result.balance.lower, 2), round(result.balance.upper, 2)
    (0.8, 1.25)
    """
    check_between("confidence_level", confidence_level, 0.0, 1.0)
    table = _table(y_true, y_pred, exposure=exposure, sample_weight=sample_weight, cluster=cluster)
    rows = table.rows
    method = "asymptotic" if rows.cluster is None else "cluster jackknife"
    sums = by_draw(rows.cluster, rows.outcome, rows.expected, rows.weight, table.caps)
    observed, predicted = (float(part.sum() / sums[2].sum()) for part in sums[:2])
    lower, upper, note = ratio_limits(sums, confidence_level)
    chance = confidence_level, method, note if rows.cluster is not None else note.replace("cluster", "row")
    below, above = sorted([predicted * (lower - 1.0), predicted * (upper - 1.0)])
    ratio = observed / predicted if predicted else math.nan
    return MeanBias(
        observed=observed,
        predicted=predicted,
        observed_minus_predicted=Estimate(observed - predicted, below, above, *chance),
        balance=Estimate(ratio, lower, upper, *chance),
    )


def mean_deviance(
    y_true: Outcomes,
    y_pred: Scores = None,
    *,
    deviance: Deviance = "poisson",
    exposure: Weights = None,
    sample_weight: Weights = None,
) -> float:
    """Mean deviance of predicted means, per unit of exposure or weight.

    Parameters
    ----------
    y_true, y_pred, exposure, sample_weight
        As in `mean_calibration_error`.
    deviance : {"poisson", "squared", "gamma"}
        Which: Poisson's for outcomes and predictions that are not negative, such as counts and claims; that of the
        gamma distribution for positive ones; the squared error for all.

    Returns
    -------
    float
        Not negative; smaller is better. Infinite for Poisson's if a prediction is 0 where the outcome is not.

    Notes
    -----
    All three are smallest, in expectation, for the true means. Squared error of amounts with heavy tails is decided by
    few rows.

    Examples
    --------
    >>> from calibrant.metrics import mean_deviance
    >>> round(mean_deviance([0, 1, 3], [0.5, 1.0, 2.0]), 4)
    0.4776
    """
    table = _table(y_true, y_pred, exposure=exposure, sample_weight=sample_weight)
    return _mean_deviance(table, _check_deviance(table, deviance), table.rows.prediction)


def mean_decomposition(
    y_true: Outcomes,
    y_pred: Scores = None,
    *,
    deviance: Deviance = "poisson",
    exposure: Weights = None,
    sample_weight: Weights = None,
) -> ScoreDecomposition:
    """Mean deviance as miscalibration minus discrimination plus uncertainty, without bins (Murphy).

    Parameters
    ----------
    y_true, y_pred, deviance, exposure, sample_weight
        As in `mean_deviance`.

    Returns
    -------
    ScoreDecomposition
        As of `brier_decomposition`, with the mean outcome in place of the base rate. No part is negative.

    Notes
    -----
    The isotonic recalibration on the same rows minimises all three deviances [1]_. A block of it in which all outcomes
    are 0 predicts 0, and adds nothing to Poisson's deviance.

    References
    ----------
    .. [1] Jordan, Mühlemann & Ziegel (2022). Characterizing the optimal solutions to the isotonic regression problem
       for identifiable functionals. Annals of the Institute of Statistical Mathematics.

    Examples
    --------
    >>> from calibrant.metrics import mean_decomposition
    >>> parts = mean_decomposition([0, 0, 1, 3], [0.5, 0.5, 0.5, 2.0], deviance="squared")
    >>> round(parts.miscalibration, 4), round(parts.discrimination, 4), parts.uncertainty, parts.value
    (0.2708, 1.3333, 1.5, 0.4375)
    """
    table = _table(y_true, y_pred, exposure=exposure, sample_weight=sample_weight)
    _check_deviance(table, deviance)
    rows = table.rows
    mean = np.full(len(rows.prediction), rows.outcome.sum() / rows.weight.sum())
    predictions = rows.prediction, isotonic_fit(table).step(rows.prediction), mean
    return decompose(*(_mean_deviance(table, deviance, prediction) for prediction in predictions))


def _check_deviance(table: OutcomeTable, deviance: str) -> str:
    """Return the name of a deviance if outcomes and predictions are such that it exists."""
    check_choice("deviance", deviance, ("poisson", "squared", "gamma"))
    least = min(float(values.min()) for values in (table.rows.outcome, table.rows.prediction))
    if deviance == "poisson" and least < 0.0:
        raise DataError("outcomes and predictions of at least 0", short(least), "choose deviance='squared'")
    if deviance == "gamma" and least <= 0.0:
        raise DataError("positive outcomes and predictions", short(least), "choose deviance='poisson', or 'squared'")
    return deviance


def _mean_deviance(table: OutcomeTable, deviance: str, prediction: FloatArray) -> float:
    outcome, weight = table.rows.outcome, table.rows.weight
    expected = weight * prediction
    with np.errstate(divide="ignore", invalid="ignore"):
        if deviance == "squared":
            of_rows = weight * (outcome / weight - prediction) ** 2
        elif deviance == "poisson":
            of_rows = 2.0 * (np.where(outcome > 0.0, outcome * np.log(outcome / expected), 0.0) - outcome + expected)
        else:
            of_rows = 2.0 * weight * (np.log(expected / outcome) + outcome / expected - 1.0)
    return float(of_rows.sum() / weight.sum())


@dataclass(frozen=True)
class Concentration(Result):
    """How far predictions tell rows apart, and how far they say that they do.

    Attributes
    ----------
    gini : float
        Gini index: twice the area between the diagonal and the concentration curve, which is the share of all outcomes
        in the rows with the smallest predictions. 0 for predictions that tell nothing; larger is better.
    gini_predicted : float
        The same of the Lorenz curve, the share of all that was predicted: what `gini` would be if the predictions were
        right.
    area : float
        Area between the two curves (ABC), half of ``gini_predicted - gini``; above 0 predictions are too far apart.
    """

    gini: float
    gini_predicted: float
    area: float


def concentration(
    y_true: Outcomes, y_pred: Scores = None, *, exposure: Weights = None, sample_weight: Weights = None
) -> Concentration:
    """Gini index of predictions, and the area between concentration and Lorenz curve.

    Parameters
    ----------
    y_true, y_pred, exposure, sample_weight
        As in `mean_calibration_error`.

    Returns
    -------
    Concentration
        Of rows in the order of their predictions, each as wide as its exposure; curves are straight where predictions
        are equal. NaN if outcomes, or predictions, add up to 0.

    Notes
    -----
    The area is 0 for calibrated predictions, but not only for these: errors in opposite directions cancel in it [1]_.
    If all that was predicted equals all that was observed, the range of the difference of the two curves is
    `mean_calibration_error`, which is 0 for calibrated predictions only.

    References
    ----------
    .. [1] Denuit, Sznajder & Trufin (2019). Model selection based on Lorenz and concentration curves, Gini indices and
       convex order. Insurance: Mathematics and Economics.

    Examples
    --------
    >>> from calibrant.metrics import concentration
    >>> result = concentration([0, 0, 1, 3], [0.5, 0.5, 1.0, 2.0])
    >>> round(result.gini, 3), round(result.gini_predicted, 3), round(result.area, 3)
    (0.625, 0.312, -0.156)
    """
    table = _table(y_true, y_pred, exposure=exposure, sample_weight=sample_weight)
    share = np.append(0.0, np.cumsum(table.n) / table.total)
    with np.errstate(divide="ignore", invalid="ignore"):
        curves = (np.append(0.0, np.cumsum(part) / part.sum()) for part in (table.k, table.n * table.score))
        gini, predicted = (1.0 - 2.0 * float(np.trapezoid(curve, share)) for curve in curves)
    return Concentration(gini, predicted, 0.5 * (predicted - gini))
