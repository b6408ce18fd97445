"""Local regressions of the labels on the scores: their distance from the diagonal, squared or not (the ICI)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from calibrant.fits.local_polynomial import LocalFit, LocalRegression, check_smoother, evenly_spaced, local_fit
from calibrant.fits.score_map import interpolate
from calibrant.table.pooling import FloatArray, NumberArray, distinct_numbers, score_order
from calibrant.table.results import Count, Result, Tabular
from calibrant.table.score_table import Labels, Scores, ScoreTable, Weights, as_table


@dataclass(frozen=True, eq=False)
class LocalCalibration(Tabular):
    """The local calibration score with its points.

    Attributes
    ----------
    score, rate : ndarray of float64
        Points of the scores at which the curve is fitted, and the fitted share of positives there, in [0, 1].
    mean_predicted : ndarray of float64
        What `rate` would be on average if every score were its own probability, limits to [0, 1] aside. Differs
        from `score` only for degree 0, by the smoothing bias.
    weight, n : ndarray
        Weight of each point, which sum to 1, and the rows in its window, or their weight.
    value : float
        The score, in [0, 1]; smaller is better.
    null_mean : float
        Mean value for labels drawn anew with the scores as their probabilities, limits to [0, 1] aside: the weighted
        mean of the variance of `rate` (for degree 0 about mean ``s (1 - s)`` over rows in a window) and of the squared
        smoothing bias. Exact for degree 0. NaN if weights do not count rows.
    excess : float
        `value` minus `null_mean`. Its mean is 0 for calibrated scores, so it may be negative.
    """

    score: FloatArray
    rate: FloatArray
    mean_predicted: FloatArray
    weight: FloatArray
    n: NumberArray
    value: float
    null_mean: float
    excess: float


def local_calibration_score(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    span: float = 0.15,
    degree: int = 0,
    n_points: int = 100,
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> float:
    r"""Weighted mean squared distance between a local regression of the labels and the scores.

    Parameters
    ----------
    y_true, y_proba, span, degree, sample_weight, count, pos_label
        As in `calibrant.curves.local_curve`, with equal weights in a window. A cell of a table counts as standing at
        its mean score.
    n_points : int
        Number of points, at least 2, evenly spaced from the smallest to the largest score, each with the share of the
        rows nearest to it. [1]_ take other weights, see `calibrant.papers.lcs`.

    Returns
    -------
    float
        In [0, 1]; smaller is better. `local_calibration` has its points, and what chance alone would make of it.

    Notes
    -----
    .. math:: LCS = \sum_j w_j \big( \hat g(l_j) - l_j \big)^2, \qquad \sum_j w_j = 1

    Equation 5 of [1]_. It is not 0 for calibrated scores, nor smallest there: chance and, for degree 0, smoothing add
    to it. The curve is fitted at each point, where [1]_ add noise to the scores and interpolate between vertices; that
    moves the score by less than .001 in their simulations, except for isotonic recalibration.

    References
    ----------
    .. [1] Fernandes Machado et al. (2024). From Uncertainty to Precision.

    Examples
    --------
    >>> from calibrant.metrics import local_calibration_score
    >>> local_calibration_score([0, 1, 0, 1], [0.25, 0.25, 0.75, 0.75], n_points=2)
    0.0625
    """
    options: Any = {"sample_weight": sample_weight, "count": count, "pos_label": pos_label}
    return local_calibration(y_true, y_proba, span=span, degree=degree, n_points=n_points, **options).value


def local_calibration(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    span: float = 0.15,
    degree: int = 0,
    n_points: int = 100,
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> LocalCalibration:
    """Local calibration score with its points and its null mean.

    Parameters
    ----------
    y_true, y_proba, span, degree, n_points, sample_weight, count, pos_label
        As in `local_calibration_score`, cells of a table too.

    Returns
    -------
    LocalCalibration
        A standard error is not given: the values at neighbouring points share most of their rows, and no formula for
        their squares is known to us that holds at and away from calibration.

    Examples
    --------
    >>> from calibrant.metrics import local_calibration
    >>> found = local_calibration([0, 1, 0, 1], [0.25, 0.25, 0.75, 0.75], n_points=2)
    >>> found.value, found.null_mean, found.excess
    (0.0625, 0.09375, -0.03125)
    """
    table = as_table(y_true, y_proba, sample_weight=sample_weight, count=count, pos_label=pos_label)
    points, weight = _by_mass(table, n_points)
    return calibration_at(table, points, weight, span=span, degree=degree)


def calibration_at(
    table: ScoreTable, points: FloatArray, weight: FloatArray, *, span: float, degree: int = 0
) -> LocalCalibration:
    """Return the score of a local regression at some points, whose weights add up to 1."""
    span, degree, _ = check_smoother(span, degree, "rectangular")
    fit = local_fit(table, points, span=span, degree=degree, variance="calibrated")
    value = float(np.dot(weight, (fit.rate - points) ** 2))
    null_mean = float(np.dot(weight, (fit.mean_predicted - points) ** 2 + fit.variance))
    return LocalCalibration(
        score=points,
        rate=fit.rate,
        mean_predicted=fit.mean_predicted,
        weight=weight,
        n=fit.windows.n,
        value=value,
        null_mean=null_mean,
        excess=value - null_mean,
    )


def _by_mass(table: ScoreTable, n_points: int) -> tuple[FloatArray, FloatArray]:
    """Points from the smallest to the largest score, and the share of the rows nearest to each."""
    points = evenly_spaced(table, n_points)
    up_to = np.append(0, np.cumsum(table.n))
    middles = 0.5 * (points[1:] + points[:-1])
    # Rows in the middle between two points count half for each.
    below, reached = (up_to[np.searchsorted(table.score, middles, side)] for side in ("left", "right"))
    nearer = 0.5 * (below + reached)
    return points, np.diff(nearer, prepend=0.0, append=up_to[-1]) / up_to[-1]


# Up to so many distinct scores the curve is fitted at each of them. Plain averages are fast, and jump.
_EXACT_SCORES, _EXACT_AVERAGES = 2_000, 20_000
# Beyond, at so many points at equal distances and as many in each window. Every interval is halved so often, and on
# until its middle is no more than so far from a straight line, but not more often than this, as where the curve jumps.
_FIRST = 12
_HALVINGS = 2
_OFF = 5e-5
_MOST_STEPS = 16
_MOST_POINTS = 2_000  # at which halving ends, as where windows are so small that the curve follows single rows
_BINS = 1 << 16  # of distances, to find a quantile in


@dataclass(frozen=True)
class IntegratedCalibration(Result):
    """Distances between the scores and a local regression of the labels on them.

    Attributes
    ----------
    ici, emax : float
        Mean distance over the rows, the integrated calibration index, and the largest; in [0, 1], smaller is better.
    e50, e90 : float
        Smallest distances that at least 50% and 90% of the rows do not exceed.
    null_mean : float
        Mean `ici` for labels drawn anew with the scores as their probabilities; a normal approximation, good where
        windows hold many rows of each class. NaN if weights do not count rows.
    n_points, exact : int and bool
        At how many scores the curve was fitted, and whether these are all; else it is interpolated between them.
    n : float
        Rows, or total weight.
    """

    ici: float
    e50: float
    e90: float
    emax: float
    null_mean: float
    n_points: int
    exact: bool
    n: Count


def integrated_calibration_index(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    span: float = 0.75,
    degree: int = 2,
    kernel: Literal["rectangular", "tricube"] = "tricube",
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> IntegratedCalibration:
    r"""Mean, median, 90% quantile and maximum of the distance between scores and a local regression of the labels.

    Parameters
    ----------
    y_true, y_proba, span, degree, kernel, sample_weight, count, pos_label
        As in `calibrant.curves.local_curve`. The defaults are those of ``loess`` in R, which [1]_ use; loess itself
        interpolates its fit between vertices, and other software smooths with splines.

    Returns
    -------
    IntegratedCalibration
        Exact up to 2000 distinct scores, plain averages (degree 0, rectangular) up to 20,000. Beyond, the curve is
        fitted at some scores, as many as it takes for straight lines between them to be as good: in our tests that
        moved `ici` by less than 5e-5 and the others by less than 1e-4, or 3e-4 for windows of some hundred scores. From
        32,769 distinct scores in a window on, neighbours share cells there, which moved no field by 2e-5. No standard
        error is given, since none is known to us that holds at calibration.

    Notes
    -----
    .. math:: ICI = \frac1n \sum_i \big| \hat g(s_i) - s_i \big|

    The smoother decides the number. Chance makes it positive for calibrated scores too: compare it with `null_mean`.

    References
    ----------
    .. [1] Austin & Steyerberg (2019). The Integrated Calibration Index (ICI) and related metrics. Statistics in
       Medicine.

    Examples
    --------
    >>> from calibrant.metrics import integrated_calibration_index
    >>> found = integrated_calibration_index([0, 1, 0, 1], [0.25, 0.25, 0.75, 0.75])
    >>> found.ici, found.e50, found.emax
    (0.25, 0.25, 0.25)
    """
    table = as_table(y_true, y_proba, sample_weight=sample_weight, count=count, pos_label=pos_label)
    curve = LocalRegression(table, span=span, degree=degree, kernel=kernel, variance="calibrated")
    exact = len(table) <= (_EXACT_AVERAGES if curve.averages else _EXACT_SCORES)
    points, values = (table.score, _values(curve, table.score)) if exact else _refined(curve, table, span)
    rate, by_chance = values if exact else (interpolate(table.score, points, column) for column in values)
    distance = np.abs(rate - table.score)
    e50, e90 = _quantiles(distance, table.n)
    ici, null_mean = _mean(distance, table.n), _mean(by_chance, table.n)
    return IntegratedCalibration(ici, e50, e90, float(distance.max()), null_mean, len(points), exact, table.total)


def _values(curve: LocalRegression, points: FloatArray) -> FloatArray:
    """Return the curve at each point, and its mean distance from it by chance; shape (2, p)."""
    fit = curve.fit(points)
    return np.stack([fit.rate, _mean_distance(fit)])


def _refined(curve: LocalRegression, table: ScoreTable, span: float) -> tuple[FloatArray, FloatArray]:
    """Fit at points so close that straight lines between them are the curve, as far as it is printed.

    The first points are spread over the rows, and over the scores, since few rows may stand far from all others. Every
    interval with scores inside is then halved in scores and in rows, and so on as long as a new point is off the line.
    """
    score, up_to = table.score, np.cumsum(table.n)
    shares = np.linspace(0.0, 1.0, min(_MOST_POINTS // 4, math.ceil(_FIRST / span)))
    by_rows = np.minimum(np.searchsorted(up_to, shares * up_to[-1]), len(table) - 1)
    rows = distinct_numbers(by_rows, np.searchsorted(score, np.linspace(score[0], score[-1], _FIRST)))
    values = _values(curve, score[rows])
    halvings = np.full(len(rows) - 1, _HALVINGS)  # that an interval still needs
    for step in range(_MOST_STEPS):
        pending = np.flatnonzero((halvings > 0) & (rows[1:] - rows[:-1] > 1))
        if not len(pending) or len(rows) > _MOST_POINTS:
            break
        low, high = rows[pending], rows[pending + 1]
        middle = (low + high) // 2
        if step % 2 == 0:
            middle = np.clip(np.searchsorted(score, 0.5 * (score[low] + score[high])), low + 1, high - 1)
        part = (score[middle] - score[low]) / (score[high] - score[low])
        fitted = _values(curve, score[middle])
        off = np.abs(fitted - (values[:, pending] * (1.0 - part) + values[:, pending + 1] * part))
        off = np.fmax(*off)  # without rows to count, what chance makes is NaN
        halvings[pending] = np.where(off > _OFF, 1, halvings[pending] - 1)
        rows, halvings = np.insert(rows, pending + 1, middle), np.insert(halvings, pending, halvings[pending])
        values = np.insert(values, pending + 1, fitted, axis=1)
    return score[rows], values


def _quantiles(values: FloatArray, n: NumberArray) -> tuple[float, float]:
    """Smallest values that at least 50% and 90% of the weight do not exceed, of values in [0, 1]."""
    bins = (values * _BINS).astype(np.intp)
    below = np.cumsum(np.append(0.0, np.bincount(bins, n)))

    def quantile(tenths: int) -> float:
        at = int(np.searchsorted(10.0 * below[1:], tenths * below[-1]))
        inside = np.flatnonzero(bins == at)
        inside = inside[score_order(values[inside])]
        reached = 10.0 * (below[at] + np.cumsum(n[inside]))
        return float(values[inside[min(int(np.searchsorted(reached, tenths * below[-1])), len(inside) - 1)]])

    return quantile(5), quantile(9)


def _mean_distance(fit: LocalFit) -> FloatArray:
    """Mean distance of the curve from its points by chance: of a normal variable with its bias and variance."""
    from scipy.special import ndtr

    bias, deviation = fit.mean_predicted - fit.windows.at, np.sqrt(fit.variance)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(deviation > 0.0, bias / deviation, 0.0)
    spread = deviation * math.sqrt(2.0 / math.pi) * np.exp(-0.5 * ratio * ratio) + bias * (1.0 - 2.0 * ndtr(-ratio))
    return np.asarray(np.where(deviation == 0.0, np.abs(bias), spread), dtype=np.float64)


def _mean(values: FloatArray, n: NumberArray) -> float:
    return float((n * values).sum() / n.sum())
