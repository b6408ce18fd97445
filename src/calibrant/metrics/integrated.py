"""Integrated calibration index: how far, on average over the rows, scores are from a local regression of the labels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from calibrant.fits.local_polynomial import LocalFit, LocalRegression
from calibrant.fits.maps import interpolate
from calibrant.table.pooling import FloatArray, NumberArray, distinct_numbers, score_order
from calibrant.table.results import Count, Result
from calibrant.table.score_table import Labels, Scores, ScoreTable, Weights, as_table

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
