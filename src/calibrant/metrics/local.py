"""Local calibration score: squared distance between a local regression of the labels and the diagonal."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from calibrant.errors import DataError
from calibrant.fits.local_polynomial import check_smoother, evenly_spaced, local_fit, nearest_windows
from calibrant.table.parameters import check_choice, check_count
from calibrant.table.pooling import FloatArray, NumberArray
from calibrant.table.results import Tabular
from calibrant.table.score_table import Labels, Scores, ScoreTable, Weights, as_table, need_counts

PointWeights = Literal["density", "machado2024"]
Form = Literal["gap", "residual"]

_LEAST_GRID = 512  # of the kernel density in R


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
        Mean value for labels drawn anew with the scores as their probabilities, limits to [0, 1] aside: for "residual"
        the weighted mean of the variance of `rate` (for degree 0 about mean ``s (1 - s)`` over rows in a window),
        for "gap" the squared smoothing bias on top. Exact for degree 0. NaN if weights do not count rows.
    excess : float
        `value` minus `null_mean`. Its mean is 0 for calibrated scores, so it may be negative.
    form, weights : str
        As asked.
    """

    score: FloatArray
    rate: FloatArray
    mean_predicted: FloatArray
    weight: FloatArray
    n: NumberArray
    value: float
    null_mean: float
    excess: float
    form: str
    weights: str


def local_calibration_score(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    span: float = 0.15,
    degree: int = 0,
    n_points: int = 100,
    weights: PointWeights = "density",
    form: Form = "gap",
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
        Number of points, at least 2.
    weights : {"density", "machado2024"}
        "density": points evenly spaced from the smallest to the largest score, each with the share of the rows
        nearest to it. "machado2024": as [1]_ compute it, points evenly spaced on [0, 1] of which those within the
        observed scores are kept, with a kernel density of the scores reflected at 0 and 1, normalised. That density
        is several times too wide, hence nearly flat; use it to compare with their numbers. It takes rows, or a `count`.
    form : {"gap", "residual"}
        Distance of the curve from the diagonal, or from the same smoother applied to the scores, which takes away
        the smoothing bias of degree 0. The same for degrees 1 and 2, which have none.

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
    table = as_table(y_true, y_proba, sample_weight=sample_weight, count=count, pos_label=pos_label)
    return _calibration_of(table, span, degree, n_points, weights, form).value


def local_calibration(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    span: float = 0.15,
    degree: int = 0,
    n_points: int = 100,
    weights: PointWeights = "density",
    form: Form = "gap",
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> LocalCalibration:
    """Local calibration score with its points and its null mean.

    Parameters
    ----------
    y_true, y_proba, span, degree, n_points, weights, form, sample_weight, count, pos_label
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
    return _calibration_of(table, span, degree, n_points, weights, form)


def weighted_mean_squared_error(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    span: float = 0.15,
    n_points: int = 100,
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> float:
    """Weighted mean squared distance between nearest-neighbour averages of the labels and points of all of [0, 1].

    Parameters
    ----------
    y_true, y_proba, sample_weight, count, pos_label
        As in `local_calibration_score`, cells of a table too; rows, or a `count`.
    span : float
        Share of the rows in each window, in (0, 1], rounded to the nearest whole number of rows, but at least 1.
    n_points : int
        Number of points, evenly spaced on [0, 1], at least 2.

    Returns
    -------
    float
        In [0, 1]; smaller is better, but calibrated scores do not attain 0: where no scores are, the average still
        comes from the nearest and is compared with a point far from them. `local_calibration_score` looks only at
        points within the observed scores.

    Notes
    -----
    The WMSE of the companion code of Fernandes Machado et al. (2024), with its weights ("machado2024" of
    `local_calibration_score`). There equal distances are cut off in the order of the rows; here all rows at the same
    distance are in or out together, so that the number does not depend on the order.

    Examples
    --------
    >>> from calibrant.metrics import weighted_mean_squared_error
    >>> weighted_mean_squared_error([0, 1], [0.0, 1.0], n_points=2)
    0.0
    """
    table = as_table(y_true, y_proba, sample_weight=sample_weight, count=count, pos_label=pos_label)
    span, _, _ = check_smoother(span, 0, "rectangular")
    n_points = check_count("n_points", n_points, 2, "the authors take 100")
    density = reflected_density(table, n_points)
    points = np.linspace(0.0, 1.0, n_points)
    windows = nearest_windows(table, points, max(1, round(table.total * span)))
    return float(np.dot(density, (windows.k / windows.n - points) ** 2) / density.sum())


def _calibration_of(
    table: ScoreTable, span: float, degree: int, n_points: int, weights: PointWeights, form: Form
) -> LocalCalibration:
    span, degree, _ = check_smoother(span, degree, "rectangular")
    check_choice("weights", weights, ("density", "machado2024"))
    check_choice("form", form, ("gap", "residual"))
    points, weight = _by_mass(table, n_points) if weights == "density" else _by_machado2024(table, n_points)
    fit = local_fit(table, points, span=span, degree=degree, variance="calibrated")
    target = points if form == "gap" else fit.mean_predicted
    value = float(np.dot(weight, (fit.rate - target) ** 2))
    null_mean = float(np.dot(weight, (fit.mean_predicted - target) ** 2 + fit.variance))
    return LocalCalibration(
        score=points,
        rate=fit.rate,
        mean_predicted=fit.mean_predicted,
        weight=weight,
        n=fit.windows.n,
        value=value,
        null_mean=null_mean,
        excess=value - null_mean,
        form=form,
        weights=weights,
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


def _by_machado2024(table: ScoreTable, n_points: int) -> tuple[FloatArray, FloatArray]:
    """Points of [0, 1] within the observed scores, and the authors' density there, normalised."""
    n_points = check_count("n_points", n_points, 2, "the authors take 100")
    points = np.linspace(0.0, 1.0, n_points)
    inside = (points >= table.low[0]) & (points <= table.high[-1])
    if not inside.any():
        support, remedy = f"scores from {table.low[0]:g} to {table.high[-1]:g}", "use weights='density', or more points"
        raise DataError(f"one of {n_points} points of [0, 1] within the observed scores", support, remedy)
    density = reflected_density(table, n_points)[inside]
    return points[inside], density / density.sum()


def reflected_density(table: ScoreTable, n_points: int) -> FloatArray:
    """Density of the scores at `n_points` even points from 0 to 1, from the scores and their images in 0 and 1.

    What ``density(c(-s, s, 2 - s), from = 0, to = 1, n = n_points)$y`` gives in R before version 4.4: Gaussian kernel
    with the bandwidth of Silverman's rule for the 3 n values, linear binning, and R's spacing of the kernel. The
    bandwidth is several times that of the scores themselves, so the density is nearly flat.
    """
    need_counts(table, "the bandwidth depends on the number of rows")
    value = np.concatenate([-table.score[::-1], table.score, 2.0 - table.score[::-1]])
    n = np.concatenate([table.n[::-1], table.n, table.n[::-1]])
    bandwidth = _silverman(value, n)
    size = max(_LEAST_GRID, 1 << (n_points - 1).bit_length())
    low, high = -4.0 * bandwidth, 1.0 + 4.0 * bandwidth
    # Each value is shared between the two neighbouring points of the grid; the image beyond an end is lost there.
    position = (value - low) * (size - 1) / (high - low)
    below = np.floor(position)
    near = (below >= -1) & (below <= size - 1)
    left, over, share = below[near].astype(np.intp) + 1, position[near] - below[near], n[near] / n.sum()
    mass = np.bincount(left, share * (1.0 - over), size + 2) + np.bincount(left + 1, share * over, size + 2)
    lag = np.arange(1 - size, size) * (2.0 * (high - low) / (2 * size - 1)) / bandwidth
    kernel = np.exp(-0.5 * lag * lag) / (math.sqrt(2.0 * math.pi) * bandwidth)
    density = np.convolve(mass[1:-1], kernel)[size - 1 : 2 * size - 1]
    return np.interp(np.linspace(0.0, 1.0, n_points), np.linspace(low, high, size), density)


def _silverman(value: FloatArray, n: NumberArray) -> float:
    """Return ``bw.nrd0``: 0.9 times the smaller of standard deviation and IQR / 1.34, times N**-0.2."""
    total = int(n.sum())
    mean = float(np.dot(n, value)) / total
    deviation = math.sqrt(float(np.dot(n, (value - mean) ** 2)) / (total - 1))
    up_to = np.cumsum(n)

    def quantile(share: float) -> float:
        position = (total - 1) * share
        rank = math.floor(position)
        lower, upper = value[np.searchsorted(up_to, [rank, math.ceil(position)], side="right")]
        return float(lower + (position - rank) * (upper - lower))

    # The images put a third of the values at or below 0 and a third at or above 1: neither is ever 0.
    return float(0.9 * min(deviation, (quantile(0.75) - quantile(0.25)) / 1.34) * total**-0.2)
