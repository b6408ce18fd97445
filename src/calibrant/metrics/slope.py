"""Calibration intercept and slope: a logistic regression of the labels on the log-odds of the scores."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.distributions.brownian import normal_quantile
from calibrant.errors import DataError
from calibrant.fits.logistic import LogisticFit, logistic_fit
from calibrant.metrics.ranking import need_both_classes
from calibrant.table.arguments import as_table
from calibrant.table.parameters import check_between
from calibrant.table.results import Count, Result
from calibrant.table.score_table import FloatArray, ScoreTable

__all__ = ["CalibrationSlope", "calibration_slope"]

_REMEDY = "use cutoff_calibration_error, which needs no regression"


@dataclass(frozen=True)
class CalibrationSlope(Result):
    """Intercept and slope of the logistic recalibration of scores.

    Standard errors (from the Fisher information), intervals (normal, each holding with probability `confidence_level`
    by itself for many rows) and the p-value are NaN if weights are not whole numbers.

    Attributes
    ----------
    intercept, intercept_standard_error, intercept_interval
        Ideal is 0 (together with a slope of 1).
    slope, slope_standard_error, slope_interval
        Ideal is 1; below 1 scores are too extreme, above 1 too close to each other. A negative one means that higher
        scores go with fewer positives.
    calibration_intercept, calibration_intercept_standard_error, calibration_intercept_interval
        Calibration in the large: the intercept if the slope is held at 1. Positive if scores are too low on the whole.
    statistic, p_value : float
        Likelihood ratio statistic for intercept 0 and slope 1, and the upper tail of the chi-squared distribution with
        two degrees of freedom; small values speak against calibration.
    confidence_level, clip : float
        As asked.
    n : float
        Rows, or total weight.
    """

    intercept: float
    slope: float
    intercept_standard_error: float
    slope_standard_error: float
    intercept_interval: tuple[float, float]
    slope_interval: tuple[float, float]
    calibration_intercept: float
    calibration_intercept_standard_error: float
    calibration_intercept_interval: tuple[float, float]
    statistic: float
    p_value: float
    confidence_level: float
    clip: float | None
    n: Count


def calibration_slope(
    y_true: npt.ArrayLike | ScoreTable,
    y_proba: npt.ArrayLike | None = None,
    *,
    clip: float | None = None,
    confidence_level: float = 0.95,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Any = None,
) -> CalibrationSlope:
    r"""Regress the labels on the log-odds of the scores.

    Parameters
    ----------
    y_true, y_proba, sample_weight, pos_label
        Labels, scores (or one `ScoreTable`) and weights, as in `brier_score`. Standard errors need whole weights.
    clip : float, optional
        Move scores into ``[clip, 1 - clip]``, in (0, 0.5). Scores of 0 and 1 have infinite log-odds and are refused
        without it; the result then depends on the number chosen.
    confidence_level : float
        Confidence of each interval by itself, in (0, 1).

    Returns
    -------
    CalibrationSlope
        Estimates, standard errors, intervals and a test. Each cell of a table counts at its mean score. Rows of one
        class, with one score, or with classes that a score separates, are refused.

    Notes
    -----
    .. math:: \operatorname{logit} P(y = 1) = a + b \operatorname{logit}(s)

    a and b are calibration intercept and slope; with b = 1, a is calibration in the large. Scores may have a = 0,
    b = 1 and still be miscalibrated in ways that no straight line shows.

    References
    ----------
    Cox (1958). Two further applications of a model for binary regression. Biometrika.
    Steyerberg (2019). Clinical Prediction Models, 2nd edition, section 15.3.

    Examples
    --------
    >>> from calibrant.metrics import calibration_slope
    >>> result = calibration_slope([0, 0, 0, 1, 0, 1], [0.1, 0.1, 0.1, 0.1, 0.9, 0.9])
    >>> round(result.intercept, 4), round(result.slope, 4)
    (-0.5493, 0.25)
    """
    table = as_table(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label)
    z = normal_quantile(0.5 + 0.5 * check_between("confidence_level", confidence_level, 0.0, 1.0))
    logit = _log_odds(table, clip)
    _check_overlap(table, logit)
    ones = np.ones(len(table))
    free = _fit(table, np.stack([ones, logit]).T)  # column after column, as it is fitted
    fixed = _fit(table, ones[:, None], offset=logit)
    unchanged = 2.0 * float((table.n * np.logaddexp(0.0, logit) - table.k * logit).sum())
    statistic = max(0.0, unchanged - free.deviance) if table.counts else math.nan
    intercept_standard_error, slope_standard_error = _standard_errors(table, free)
    (calibration_intercept_standard_error,) = _standard_errors(table, fixed)
    intercept, slope = (float(v) for v in free.coefficients)
    calibration_intercept = float(fixed.coefficients[0])
    return CalibrationSlope(
        intercept=intercept,
        slope=slope,
        intercept_standard_error=intercept_standard_error,
        slope_standard_error=slope_standard_error,
        intercept_interval=(intercept - z * intercept_standard_error, intercept + z * intercept_standard_error),
        slope_interval=(slope - z * slope_standard_error, slope + z * slope_standard_error),
        calibration_intercept=calibration_intercept,
        calibration_intercept_standard_error=calibration_intercept_standard_error,
        calibration_intercept_interval=(
            calibration_intercept - z * calibration_intercept_standard_error,
            calibration_intercept + z * calibration_intercept_standard_error,
        ),
        statistic=statistic,
        p_value=math.exp(-0.5 * statistic),
        confidence_level=confidence_level,
        clip=clip,
        n=table.total,
    )


def _log_odds(table: ScoreTable, clip: float | None) -> FloatArray:
    score = table.score
    if clip is not None:
        clip = check_between("clip", clip, 0.0, 0.5, remedy="1e-6 is a common choice; the result depends on it")
        score = np.clip(score, clip, 1.0 - clip)
    elif score[0] == 0.0 or score[-1] == 1.0:
        raise DataError(
            "scores strictly between 0 and 1",
            f"{table.n[(score == 0.0) | (score == 1.0)].sum():g} rows with a score of 0 or 1",
            "their log-odds are infinite: say how far to move them in, as in clip=1e-6 (the result depends on it), or "
            "use cutoff_calibration_error, which takes scores as they are",
        )
    if score[0] == score[-1]:
        raise DataError("at least two different scores", f"only {score[0]:g}", "a slope needs scores that differ")
    return np.log(score) - np.log1p(-score)


def _check_overlap(table: ScoreTable, logit: FloatArray) -> None:
    """Refuse data for which the likelihood has no finite maximum (Albert & Anderson 1984)."""
    need_both_classes(table)
    positive, negative = (logit[np.flatnonzero(rows)[[0, -1]]] for rows in (table.k, table.n - table.k))
    for low, high, found in (
        (negative, positive, "no negative above a positive"),
        (positive, negative, "no positive above a negative"),
    ):
        if low[-1] <= high[0]:
            remedy = f"the best slope is infinite on these rows; pass more rows, or {_REMEDY}"
            raise DataError("classes whose scores overlap", found, remedy)


def _fit(table: ScoreTable, design: FloatArray, offset: FloatArray | None = None) -> LogisticFit:
    fit = logistic_fit(design, table.n, table.k, offset=offset)
    if not fit.converged:
        raise DataError("scores that a logistic regression can be fitted to", f"a fit that is {fit.status}", _REMEDY)
    return fit


def _standard_errors(table: ScoreTable, fit: LogisticFit) -> list[float]:
    return [math.sqrt(v) if table.counts else math.nan for v in np.diag(fit.covariance)]
