"""Calibration intercept and slope: a logistic regression of the labels on the log-odds of the scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from calibrant.errors import DataError
from calibrant.fits.log_odds import LogisticFit, LogisticProfile, alike, logistic, logistic_fit
from calibrant.metrics.estimates import SampledRows, Terms, cluster_sums, sampled_rows
from calibrant.table.clusters import Clusters
from calibrant.table.parameters import check_between
from calibrant.table.pooling import BoolArray, FloatArray
from calibrant.table.results import Count, Result
from calibrant.table.score_table import Labels, Scores, ScoreTable, Weights

_REMEDY = "use cutoff_calibration_error, which needs no regression"

# The end of the interval of an infinite slope is sought from this slope, times the range of the log-odds.
_STEEP = 1000.0

Interval = tuple[float, float]
_NOTHING: Interval = (-math.inf, math.inf)


@dataclass(frozen=True)
class CalibrationSlope(Result):
    """Intercept and slope of the logistic recalibration of scores.

    Standard errors (from the Fisher information; of independent clusters if there are any), intervals (each holding
    with probability `confidence_level` by itself) and the p-value are NaN if weights do not count rows.

    Attributes
    ----------
    intercept, intercept_standard_error, intercept_interval
        Ideal is 0 (together with a slope of 1).
    slope, slope_standard_error, slope_interval
        Ideal is 1; below 1 scores are too extreme, above 1 too close to each other. A negative one means that higher
        scores go with fewer positives. Infinite if the scores separate the classes, with an interval that has one end;
        NaN if there is only one score, or one class.
    calibration_intercept, calibration_intercept_standard_error, calibration_intercept_interval
        The intercept if the slope is held at 1. Positive if scores are too low on the whole; infinite if there is only
        one class, with an interval that has one end.
    statistic, p_value : float
        Likelihood ratio statistic for intercept 0 and slope 1, and the upper tail of the chi-squared distribution with
        two degrees of freedom; small values speak against calibration. NaN with clusters.
    confidence_level, clip : float
        As asked.
    n, moved : float
        Rows, or total weight, and how many of them had a score of 0 or 1 that was moved in.
    method : {"asymptotic", "cluster jackknife", "unseen clusters", "none"}
        How the intervals were found.
    note, slope_note : str
        How scores were moved, and why there is no finite slope; empty if there is nothing to say.
    """

    intercept: float
    slope: float
    intercept_standard_error: float
    slope_standard_error: float
    intercept_interval: Interval
    slope_interval: Interval
    calibration_intercept: float
    calibration_intercept_standard_error: float
    calibration_intercept_interval: Interval
    statistic: float
    p_value: float
    confidence_level: float
    clip: float | None
    n: Count
    moved: float
    method: str
    note: str
    slope_note: str


def calibration_slope(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    clip: float | None = None,
    confidence_level: float = 0.95,
    cluster: Clusters | None = None,
    unseen_clusters: bool = False,
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> CalibrationSlope:
    r"""Regress the labels on the log-odds of the scores.

    Parameters
    ----------
    y_true, y_proba, sample_weight, count, pos_label
        Labels, scores (or one `ScoreTable`) and weights, as in `brier_score`. Standard errors need rows or a `count`.
    clip : float, optional
        Move scores into ``[clip, 1 - clip]``, in (0, 0.5). Without it only scores of exactly 0 and 1 are moved, whose
        log-odds are infinite: 0 to half of the smallest score above 0, and 1 as far from the largest one below 1.
    confidence_level : float
        Confidence of each interval by itself, in (0, 1).
    cluster : sequence of length n, optional
        The cluster of each row. Rows of one cluster may then depend on each other.
    unseen_clusters : bool
        With clusters: whether limits also allow for clusters of a kind that none of these shows.

    Returns
    -------
    CalibrationSlope
        Estimates, standard errors, intervals and a test. Each cell of a table counts at its mean score.

    See Also
    --------
    calibration_in_the_large : Whose limits, and treatment of clusters, are used here too.

    Notes
    -----
    .. math:: \operatorname{logit} P(y = 1) = a + b \operatorname{logit}(s)

    a and b are calibration intercept and slope; with b = 1, a is the calibration intercept proper. Scores may have a =
    0, b = 1 and still be miscalibrated in ways that no straight line shows.

    In the population, a and b are those of the line that fits best, also where chances lie off any line (White 1982).
    Their intervals assume no line, and allow for labels against the trend that no row has shown, though not at a single
    score far out: docs/reference/validation.md ("The slope off the line") says how, how often they miss, and how much
    shorter that of the profile likelihood is, which takes the line for granted. The interval of the calibration
    intercept asks for no slope of 1; for independent rows it holds 0 if and only if that of
    `calibration_in_the_large` does.

    With clusters, each is left out in turn, by one step of Newton. With `unseen_clusters` the draws are clusters;
    that is approximate, and if a score separates the classes there is no interval for b
    (docs/theory/12-cluster-intervals.md).

    References
    ----------
    Cox (1958). Two further applications of a model for binary regression. Biometrika.
    Steyerberg (2019). Clinical Prediction Models, 2nd edition, section 15.3.
    White (1982). Maximum likelihood estimation of misspecified models. Econometrica.

    Examples
    --------
    >>> from calibrant.metrics import calibration_slope
    >>> result = calibration_slope([0, 0, 0, 1, 0, 1], [0.1, 0.1, 0.1, 0.1, 0.9, 0.9])
    >>> round(result.intercept, 4), round(result.slope, 4)
    (-0.5493, 0.25)
    """
    rows = sampled_rows(y_true, y_proba, confidence_level, cluster, unseen_clusters, sample_weight, count, pos_label)
    return slope_of(rows, clip)


def slope_of(sample: SampledRows, clip: float | None = None) -> CalibrationSlope:
    """Return what `calibration_slope` finds of these rows."""
    table = sample.table
    scale = log_odds_scale(table, clip)
    logit = scale.of(table.score)
    fixed = _intercept_alone(sample, scale, logit)
    line, slope_note = _line(sample, scale, logit)
    statistic = math.nan
    if table.independent and sample.clusters is None and math.isfinite(line.deviance):
        unchanged = 2.0 * float((table.n * np.logaddexp(0.0, logit) - table.k * logit).sum())
        statistic = max(0.0, unchanged - line.deviance)
    return CalibrationSlope(
        intercept=line.value[0],
        slope=line.value[1],
        intercept_standard_error=line.standard_error[0],
        slope_standard_error=line.standard_error[1],
        intercept_interval=line.interval[0],
        slope_interval=line.interval[1],
        calibration_intercept=fixed.value[0],
        calibration_intercept_standard_error=fixed.standard_error[0],
        calibration_intercept_interval=fixed.interval[0],
        statistic=statistic,
        p_value=math.exp(-0.5 * statistic),
        confidence_level=sample.confidence_level,
        clip=clip,
        n=table.n_rows,
        moved=scale.moved,
        method=sample.method,
        note=scale.note,
        slope_note=slope_note,
    )


def slope_alone(sample: SampledRows) -> tuple[float, float, float]:
    """Return the slope of `calibration_slope` with its limits, for independent rows, without the rest, at less cost."""
    scale = log_odds_scale(sample.table)
    line, _ = _line(sample, scale, scale.of(sample.table.score), columns=(1,))
    return line.value[1], *line.interval[1]


class _Coefficients(NamedTuple):
    """Coefficients with their standard errors and intervals, and the deviance, which is NaN if there is no fit."""

    value: tuple[float, ...]
    standard_error: tuple[float, ...]
    interval: tuple[Interval, ...]
    deviance: float


class _Scale(NamedTuple):
    """Log-odds of scores, none of which is infinite; if there is nothing to scale, because all are 0 or 1, `of` is."""

    of: Callable[[FloatArray], FloatArray]
    moved: float
    note: str


def log_odds_scale(table: ScoreTable, clip: float | None = None) -> _Scale:
    """Return log-odds of scores, with those of 0 and 1 moved in."""
    score, certain = table.score, (table.score == 0.0) | (table.score == 1.0)
    inside, moved = score[~certain], float(table.n[certain].sum())
    if clip is not None:
        low = check_between("clip", clip, 0.0, 0.5, remedy="1e-6 is a common choice; the result depends on it")
        high, note = 1.0 - low, ""
    elif not len(inside):
        low, high = 0.0, 1.0
        note = "all scores are 0 or 1, whose log-odds are infinite"
    else:
        low, high = 0.5 * float(inside[0]), 1.0 - 0.5 * (1.0 - float(inside[-1]))
        ends = [f"{name} to {end:.4g}" for name, end, at in (("0", low, 0), ("1", high, -1)) if certain[at]]
        rows = "1 row with a score of 0 or 1 was" if moved == 1.0 else f"{moved:g} rows with a score of 0 or 1 were"
        note = f"{rows} moved, {' and '.join(ends)}" if ends else ""

    def of(score: FloatArray) -> FloatArray:
        clipped = np.clip(score, low, high)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(clipped) - np.log1p(-clipped))

    return _Scale(of, moved, note)


def _intercept_alone(sample: SampledRows, scale: _Scale, logit: FloatArray) -> _Coefficients:
    """Fit the intercept with the slope held at 1."""
    table = sample.table

    def residual(intercept: float) -> Terms:
        return lambda label, score: label - logistic(intercept + scale.of(score))

    if not np.isfinite(logit).all():
        return _Coefficients((math.nan,), (math.nan,), (_NOTHING,), math.nan)
    if table.positives in (0.0, table.total):
        value, error = -math.inf if table.positives == 0.0 else math.inf, math.nan
        slope = table.mean_variance
    else:
        n, k = table.n.astype(np.float64), table.k.astype(np.float64)
        value = LogisticProfile(logit, n, k).other(1, 1.0, 0.0)
        chance = logistic(value + logit)
        information, error = float(np.dot(n, chance * (1.0 - chance))), math.nan
        slope = information / table.total
        if table.independent and information > 0.0:
            spread = information if sample.clusters is None else sample.variance_of_total(residual(value))
            error = math.sqrt(spread) / information
    if sample.jackknife is not None:
        without = _intercepts_without(sample, scale, value) if math.isfinite(value) else np.array([math.nan])
        return _left_out(sample, (value,), (without,), math.nan)[0]
    estimate = sample.root(residual, value, slope)
    return _Coefficients((value,), (error,), ((estimate.lower, estimate.upper),), math.nan)


def _line(
    sample: SampledRows, scale: _Scale, logit: FloatArray, columns: tuple[int, ...] = (0, 1)
) -> tuple[_Coefficients, str]:
    """Fit intercept and slope, or say why there are none; `columns` are the coefficients whose limits are asked for."""
    table = sample.table
    unknown = (_NOTHING if table.independent else (math.nan, math.nan),) * 2
    no_errors = (math.nan, math.nan)
    none = _Coefficients((math.nan, math.nan), no_errors, unknown, math.nan)
    positive, negative = np.flatnonzero(table.k), np.flatnonzero(table.k < table.n)
    if not (len(positive) and len(negative)):
        of_one = "all rows are positive" if len(positive) else "no row is positive"
        return none, f"no slope, since {of_one}"
    if np.isinf(logit).any() or alike(logit):
        return none, "" if np.isinf(logit).any() else "no slope, since there is only one score"
    short = sample.short
    profile = LogisticProfile(scale.of(short.score), short.n.astype(np.float64), short.k.astype(np.float64))
    # Albert & Anderson (1984): the likelihood has no maximum if no row speaks against a score that separates classes.
    for first, last, slope, why in (
        (negative, positive, math.inf, "no negative has a score above a positive"),
        (positive, negative, -math.inf, "no positive has a score above a negative"),
    ):
        if logit[first[-1]] <= logit[last[0]]:
            least, interval = _deviance_of_tie(table, logit == logit[last[0]]), unknown
            if table.independent and sample.clusters is None:
                width = float(logit[-1] - logit[0])
                scores, steep = _profile_scores(profile, scale, 1, 0.0), math.copysign(_STEEP / width, slope)
                estimate = sample.root(scores, steep, width**2, same_scores=True)
                interval = unknown[0], (estimate.lower, math.inf) if slope > 0.0 else (-math.inf, estimate.upper)
            return _Coefficients((math.nan, slope), no_errors, interval, least), f"the slope is infinite: {why}"
    fit = _fit(table, np.stack([np.ones(len(table)), logit]).T)  # column after column, as it is fitted
    values = tuple(float(v) for v in fit.coefficients)
    if sample.jackknife is not None:
        return _left_out(sample, values, _lines_without(sample, scale, *values), fit.deviance)
    if not table.independent:
        return _Coefficients(values, no_errors, unknown, fit.deviance), ""
    errors, intervals = [math.nan, math.nan], list(unknown)
    for column in columns:
        variance = float(fit.covariance[column, column])
        scores = _profile_scores(profile, scale, column, values[1 - column])
        estimate = sample.root(scores, values[column], 1.0 / (variance * table.total), same_scores=True)
        if sample.clusters is not None:
            # by how much each row moves the coefficient
            variance = sample.variance_of_total(_residual(scale, fit.covariance[column], *values))
        errors[column], intervals[column] = math.sqrt(variance), (estimate.lower, estimate.upper)
    return _Coefficients(values, tuple(errors), tuple(intervals), fit.deviance), ""


def _residual(scale: _Scale, weights: Sequence[float] | FloatArray, intercept: float, slope: float) -> Terms:
    """Residual of a row from a line, times ``weights[0] + weights[1] * x``."""

    def term(label: int, score: FloatArray) -> FloatArray:
        x = scale.of(score)
        return np.asarray((weights[0] + weights[1] * x) * (label - logistic(intercept + slope * x)))

    return term


def _left_out(
    sample: SampledRows, values: tuple[float, ...], without: tuple[FloatArray, ...], deviance: float
) -> tuple[_Coefficients, str]:
    """Limits for coefficients from what they are without each cluster."""
    assert sample.jackknife is not None
    of_line = len(values) > 1  # an intercept alone is of the total
    limits = [sample.left_out(*both, of_classes=of_line) for both in zip(values, without, strict=True)]
    with np.errstate(over="ignore"):
        squares = [((dropped - value) ** 2).sum() for value, dropped in zip(values, without, strict=True)]
    errors = tuple(float(sample.jackknife.deviation(square)) for square in squares)
    return _Coefficients(values, errors, tuple((one.lower, one.upper) for one in limits), deviance), limits[-1].note


def _profile_scores(profile: LogisticProfile, scale: _Scale, column: int, start: float) -> Callable[[float], Terms]:
    """By how much a row speaks for a larger coefficient, at each value of it, where the other one fits best.

    What it says of the other coefficient is taken off, so that this need not be known exactly (the efficient score).
    """

    def terms(at: float) -> Terms:
        other = profile.other(column, at, start)
        intercept, slope = (at, other) if column == 0 else (other, at)
        chance = logistic(intercept + slope * profile.x)
        weight = profile.n * chance * (1.0 - chance)
        own, beside = profile.x**column, profile.x ** (1 - column)
        information = float(np.dot(weight, beside**2))
        share = float(np.dot(weight, own * beside)) / information if information > 0.0 else 0.0
        return _residual(scale, (1.0, -share) if column == 0 else (-share, 1.0), intercept, slope)

    return terms


def _deviance_of_tie(table: ScoreTable, tied: BoolArray) -> float:
    """Least deviance of the rows at one score: all there is left where the others are separated."""
    n, k = float(table.n[tied].sum()), float(table.k[tied].sum())
    return -2.0 * sum(count * math.log(count / n) for count in (k, n - k) if count > 0.0)


def _fit(table: ScoreTable, design: FloatArray) -> LogisticFit:
    fit = logistic_fit(design, table.n, table.k)
    if not fit.converged:
        raise DataError("scores that a logistic regression can be fitted to", f"a fit that is {fit.status}", _REMEDY)
    return fit


def _lines_without(sample: SampledRows, scale: _Scale, intercept: float, slope: float) -> tuple[FloatArray, FloatArray]:
    """Intercept and slope without each cluster: one step of Newton from the line that fits all rows best."""
    (u0, u1), (h0, h1, h2) = _sums(sample, scale, intercept, slope)
    with np.errstate(divide="ignore", invalid="ignore"):
        determinant = h0 * h2 - h1**2
        changes = (h2 * u0 - h1 * u1) / determinant, (h0 * u1 - h1 * u0) / determinant
    known = np.where(sample.one_class_without, np.nan, 1.0)
    return known * (intercept - changes[0]), known * (slope - changes[1])


def _intercepts_without(sample: SampledRows, scale: _Scale, intercept: float) -> FloatArray:
    """Intercept beside a slope of 1 without each cluster: one step of Newton from the one that fits all rows best."""
    (u0, _), (h0, _, _) = _sums(sample, scale, intercept, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(sample.one_class_without, np.nan, intercept - u0 / h0)


def _sums(
    sample: SampledRows, scale: _Scale, intercept: float, slope: float
) -> tuple[list[FloatArray], list[FloatArray]]:
    """Sums of scores by cluster, of powers 0 and 1 of x; and of information over all others, of powers 0 to 2."""
    rows = sample.clusters
    assert rows is not None
    x = scale.of(sample.table.score)
    chance = logistic(intercept + slope * x)
    weight = chance * (1.0 - chance)
    scores = [cluster_sums(rows, x**power * (1.0 - chance), -(x**power) * chance) for power in (0, 1)]
    information = [cluster_sums(rows, weight * x**power, weight * x**power) for power in (0, 1, 2)]
    return scores, [sums.sum() - sums for sums in information]
