"""Curves over the scores: observed rates, cumulative residuals, and how the scores are distributed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from calibrant.distributions.binomial import share_interval
from calibrant.distributions.brownian import normal_quantile
from calibrant.distributions.cluster_jackknife import LOG_ODDS, Jackknife
from calibrant.errors import ArgumentError
from calibrant.fits.isotonic import isotonic_fit
from calibrant.fits.local_polynomial import check_smoother, evenly_spaced, local_fit
from calibrant.table.bins import View, bin_starts, score_view
from calibrant.table.clusters import ClusteredRows, cluster_blocks
from calibrant.table.cumulative_residuals import cumulative_residuals as residuals_of
from calibrant.table.cumulative_residuals import extremes
from calibrant.table.parameters import check_between, check_count
from calibrant.table.pooling import FloatArray, IndexArray, NumberArray
from calibrant.table.results import Drawable
from calibrant.table.score_table import Labels, Scores, Weights, as_table


@dataclass(frozen=True, eq=False)
class Curve(Drawable):
    """Share of positives along the scores.

    Attributes
    ----------
    score, rate : ndarray of float64
        Where the curve is known (mean score of a bin, end of a block, or point of a local fit), and the share there.
    lower, upper : ndarray of float64
        Pointwise interval for the share, each holding with probability `confidence_level`; NaN if there is none.
    n : ndarray
        Rows behind each point.
    confidence_level : float
        Of each interval by itself.
    method : {"binned", "isotonic", "local"}
        How the curve was made.
    interval : {"wilson", "clopper-pearson", "normal"} or None
        How the intervals were made; None if there are none.
    degree : ndarray of int64 or None
        Of a local fit: the degree used at each point.
    """

    _display = "plots.reliability.ReliabilityDisplay"

    score: FloatArray
    rate: FloatArray
    lower: FloatArray
    upper: FloatArray
    n: NumberArray
    confidence_level: float
    method: str
    interval: str | None = None
    degree: npt.NDArray[np.int64] | None = None


def binned_curve(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    n_bins: int = 10,
    strategy: Literal["quantile", "uniform", "type7"] = "quantile",
    interval: Literal["wilson", "clopper-pearson"] = "wilson",
    confidence_level: float = 0.95,
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> Curve:
    """Share of positives in bins of the score, with an interval for each.

    Parameters
    ----------
    y_true, y_proba, sample_weight, count, pos_label
        Labels, scores (or one `ScoreTable`) and weights, as in `calibrant.metrics.brier_score`. Intervals need whole
        weights.
    n_bins, strategy
        As in `calibrant.metrics.expected_calibration_error`.
    interval : {"wilson", "clopper-pearson"}
        Interval for the average probability of the rows in a bin. Wilson's is shorter and covers it with probability
        `confidence_level` on average over rates; that of Clopper and Pearson covers every rate at least so often, if
        the rows of a bin have equal probabilities.
    confidence_level : float
        Confidence of each interval by itself, in (0, 1).

    Returns
    -------
    Curve
        One point per bin. A cell of a table joins a bin as a whole.

    References
    ----------
    Wilson (1927). Probable inference, the law of succession, and statistical inference. Journal of the American
    Statistical Association.

    Clopper & Pearson (1934). The use of confidence or fiducial limits illustrated in the case of the binomial.
    Biometrika.

    Examples
    --------
    >>> from calibrant.curves import binned_curve
    >>> curve = binned_curve([0, 1, 0, 1], [0.2, 0.2, 0.8, 0.8], n_bins=2)
    >>> curve.score.tolist(), curve.rate.tolist()
    ([0.2, 0.8], [0.5, 0.5])
    """
    table = as_table(y_true, y_proba, sample_weight=sample_weight, count=count, pos_label=pos_label)
    starts = bin_starts(table, n_bins, strategy)
    n, k = np.add.reduceat(table.n, starts), np.add.reduceat(table.k, starts)
    score = np.add.reduceat(table.n * table.score, starts) / n
    lower, upper = share_interval(n, k, confidence_level, interval)
    if not table.independent:  # rows may depend on each other, or weights are no numbers of rows
        lower = upper = np.full(len(n), np.nan)
    return Curve(score, k / n, lower, upper, n, confidence_level, "binned", interval if table.independent else None)


def isotonic_curve(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> Curve:
    """Best nondecreasing fit to the labels: flat blocks, given by their first and last score.

    Parameters
    ----------
    y_true, y_proba, sample_weight, count, pos_label
        As in `binned_curve`.

    Returns
    -------
    Curve
        Two points per block (one if it is a single score), without intervals. From a table with cells exact if its rows
        could be read again; if not, the rows of a cell are kept together.

    Examples
    --------
    >>> from calibrant.curves import isotonic_curve
    >>> isotonic_curve([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.9]).rate.tolist()
    [0.0, 0.5, 0.5, 1.0]
    """
    table = as_table(y_true, y_proba, sample_weight=sample_weight, count=count, pos_label=pos_label)
    fit = isotonic_fit(table)
    score, rate = fit.knots()
    n = fit.n[np.searchsorted(fit.low, score, side="right") - 1]
    none = np.full(len(score), np.nan)
    return Curve(score, rate, none, none, n, math.nan, "isotonic")


def cluster_bins(rows: ClusteredRows, confidence_level: float, n_bins: int = 10) -> Curve:
    """Observed rate in bins of about equally many rows, with limits from leaving out one cluster at a time."""
    curve, starts = binned_curve(rows.table, n_bins=n_bins), bin_starts(rows.table, n_bins, "quantile")
    at_score = np.repeat(np.arange(len(rows.table)), np.diff(rows.ends, prepend=-1))  # of each entry
    bins = np.searchsorted(starts, at_score, side="right") - 1
    positives, squares = curve.rate * curve.n, np.zeros(len(starts))
    with np.errstate(divide="ignore", invalid="ignore"):
        for _, (n, k) in cluster_blocks(rows.cluster, len(rows.size), bins, len(starts), rows.n, rows.k):
            without = (positives - k) / (curve.n - n)
            squares += ((LOG_ODDS.to(without) - LOG_ODDS.to(curve.rate)) ** 2).sum(axis=0)
    lower, upper = Jackknife(rows.size).limits_of_many(curve.rate, squares, confidence_level, LOG_ODDS)
    return replace(curve, lower=lower, upper=upper, interval="cluster jackknife", confidence_level=confidence_level)


def local_curve(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    span: float = 0.15,
    degree: int = 0,
    kernel: Literal["rectangular", "tricube"] = "rectangular",
    at: npt.ArrayLike | None = None,
    n_points: int = 100,
    interval: Literal["wilson", "clopper-pearson"] | None = None,
    confidence_level: float = 0.95,
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> Curve:
    """Share of positives near each score, by local regression on the nearest rows.

    Parameters
    ----------
    y_true, y_proba, sample_weight, count, pos_label
        Labels, scores (or one `ScoreTable`) and weights, as in `calibrant.metrics.brier_score`. A cell of a table
        counts as standing at its mean score. Weights give no intervals.
    span : float
        Share of the rows (or weight) in each window, in (0, 1]: ``floor(n * span)`` of them, at least 1, and all that
        stand as far from the point as the last. Equal scores are never separated.
    degree : {0, 1, 2}
        Degree of the polynomial fitted in a window. 0 averages; 1 and 2 follow slopes, which matters most at the ends.
    kernel : {"rectangular", "tricube"}
        Rows of a window count alike, or less the farther they are.
    at : float or array-like of shape (p,), optional
        Points. Outside the observed scores the curve is NaN: no row tells anything about them.
    n_points : int
        Without `at`: number of points, evenly spaced from the smallest to the largest score.
    interval : {"wilson", "clopper-pearson"}, optional
        Interval for degree 0 with the rectangular kernel, by default Wilson's. The other fits have a normal interval.
    confidence_level : float
        Confidence of each interval by itself, in (0, 1).

    Returns
    -------
    Curve
        One point per entry of `at`, in its order. `degree` is what was used: less than asked where a window has no more
        distinct scores than that. Rates are limited to [0, 1].

    Notes
    -----
    Every point is fitted by itself. The R package locfit [1]_ by default fits at some vertices and interpolates, which
    moves the curve by up to some hundredths at any number of rows.

    The intervals are pointwise, and they cover what the smoother estimates, not the probability at the point: the
    two differ by the smoothing bias. For degree 0 with the rectangular kernel that is the average probability of the
    rows in the window. For the other fits it is the local polynomial of the probabilities; their interval is normal
    with the heteroscedastic variance HC2 [2]_. It is NaN where one row decides its own fitted value, and where fewer
    than 5 effective rows of a class are in the window, a rule of thumb: without it, intervals at rare events missed in
    up to 19 of 100 samples instead of 5; with it in 7 or fewer, in simulations with 100 to 1000 rows in a window.

    References
    ----------
    .. [1] Loader (1999). Local Regression and Likelihood. Springer.
    .. [2] MacKinnon & White (1985). Journal of Econometrics 29, 305-325.

    Examples
    --------
    >>> from calibrant.curves import local_curve
    >>> curve = local_curve([0, 1, 0, 1], [0.2, 0.4, 0.6, 0.8], span=0.5, at=[0.25, 0.75, 0.9])
    >>> curve.rate.tolist(), curve.n.tolist()
    ([0.5, 0.5, nan], [2, 2, 0])
    """
    table = as_table(y_true, y_proba, sample_weight=sample_weight, count=count, pos_label=pos_label)
    span, degree, kernel_name = check_smoother(span, degree, kernel)
    confidence_level = check_between("confidence_level", confidence_level, 0.0, 1.0)
    averages = degree == 0 and kernel_name == "rectangular"
    if interval is not None and not averages:
        expected = "no interval to be chosen, or degree=0 with kernel='rectangular'"
        remedy = "leave interval out: other fits than plain averages have the normal interval"
        raise ArgumentError(expected, f"interval={interval!r} with degree={degree}, kernel={kernel_name!r}", remedy)
    points = evenly_spaced(table, n_points) if at is None else _points(at)
    inside = (points >= table.low[0]) & (points <= table.high[-1])
    fit = local_fit(
        table, points[inside], span=span, degree=degree, kernel=kernel_name, variance="none" if averages else "robust"
    )
    method = interval or "wilson" if averages else "normal"
    if averages:
        lower, upper = share_interval(fit.windows.n, fit.windows.k, confidence_level, method)
    else:
        half = normal_quantile(0.5 + 0.5 * confidence_level) * np.sqrt(fit.variance)
        lower, upper = np.clip(fit.value - half, 0.0, 1.0), np.clip(fit.value + half, 0.0, 1.0)

    def over_all_points(values: NumberArray, outside: float) -> NumberArray:
        whole = np.full(len(points), outside, dtype=values.dtype)
        whole[inside] = values
        return whole

    rate, lower, upper = (over_all_points(values, np.nan) for values in (fit.rate, lower, upper))
    n, fitted = over_all_points(fit.windows.n, 0), over_all_points(fit.degree, 0)
    shown = method if table.independent else None
    return Curve(points, rate, lower, upper, n, confidence_level, "local", shown, fitted)


def _points(at: npt.ArrayLike) -> FloatArray:
    try:
        points = np.atleast_1d(np.array(at, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise ArgumentError("points as numbers", str(error), "pass the scores at which to fit") from error
    if points.ndim != 1 or not np.isfinite(points).all():
        invalid = f"shape {points.shape}" if points.ndim != 1 else f"{points[~np.isfinite(points)][0]} among them"
        raise ArgumentError("at to be a finite score or a list of them", invalid, "pass the scores at which to fit")
    return points


@dataclass(frozen=True, eq=False)
class CumulativeResiduals(Drawable):
    """Points of the cumulative residuals.

    Attributes
    ----------
    score, share : ndarray of float64
        Increasing scores, and the share of the rows with scores up to there, in [0, 1].
    value : ndarray of float64
        Sum of residuals ``y - s`` over these rows, divided by the number of all rows. Where it climbs, scores
        are too low; where it falls, too high.
    interval : tuple of float or None
        Scores `(low, high]` between its highest and lowest point.
    """

    _display = "plots.cumulative_residuals.CumulativeResidualsDisplay"

    score: FloatArray
    share: FloatArray
    value: FloatArray
    interval: tuple[float, float] | None


def cumulative_residuals(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    n_points: int | None = None,
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> CumulativeResiduals:
    """Add up residuals in the order of the scores.

    Parameters
    ----------
    y_true, y_proba, sample_weight, count, pos_label
        Labels, scores (or one `ScoreTable`) and weights, as in `calibrant.metrics.brier_score`.
    n_points : int, optional
        Thin the walk to about so many points, keeping the highest and lowest of each stretch, so that its range
        is unchanged. By default every distinct score is kept.

    Returns
    -------
    CumulativeResiduals
        Its range, 0 included, is the cutoff calibration error. From a table with cells every point is exact, and there
        is one for the end of each cell.

    Examples
    --------
    >>> from calibrant.curves import cumulative_residuals
    >>> cumulative_residuals([0, 1], [0.25, 0.75]).value.tolist()
    [-0.125, 0.0]
    """
    table = as_table(y_true, y_proba, sample_weight=sample_weight, count=count, pos_label=pos_label)
    if n_points is not None:
        n_points = check_count("n_points", n_points, 4, "leave it out to keep every point")
    residuals = residuals_of(table)
    largest = extremes(residuals)
    share = np.cumsum(table.n) / table.total
    points = slice(None) if n_points is None or len(share) <= n_points else thin(share, residuals.value, n_points)
    interval = (largest.low, largest.high) if largest.sign else None
    return CumulativeResiduals(residuals.score[points], share[points], residuals.value[points], interval)


def thin(share: FloatArray, value: FloatArray, n_points: int) -> IndexArray:
    """Keep the highest, the lowest and the last point of each of n_points / 3 stretches of equal mass."""
    stretches = max(1, n_points // 3)
    stretch = np.minimum((share * stretches).astype(np.intp), stretches - 1)
    starts = np.flatnonzero(np.append(True, stretch[1:] != stretch[:-1]))
    ends = np.append(starts[1:], len(value))
    points = [ends - 1]
    for values in (value, -value):
        top = np.maximum.reduceat(values, starts)
        hit = np.flatnonzero(values == np.repeat(top, ends - starts))
        points.append(hit[np.searchsorted(hit, starts)])
    flags = np.zeros(len(value), dtype=bool)
    flags[np.concatenate(points)] = True
    return np.flatnonzero(flags)


@dataclass(frozen=True, eq=False)
class ScoreHistogram(Drawable):
    """Rows of each class in bins of the score.

    Attributes
    ----------
    edges : ndarray of float64, shape (b + 1,)
        Ends of the bins; each bin includes its lower end, the last one its upper end too.
    positives, negatives : ndarray of float64, shape (b,)
        Rows of each class, or their weight.
    square_root : bool
        Whether the bins are equally wide in the square root of the score, not in the score.
    """

    _display = "plots.reliability.DistributionDisplay"

    edges: FloatArray
    positives: FloatArray
    negatives: FloatArray
    square_root: bool = False

    @property
    def view(self) -> View:
        """Stretch of scores that the bins divide."""
        return View(float(self.edges[0]), float(self.edges[-1]), self.square_root)

    def columns(self) -> dict[str, NumberArray]:
        """Return the ends of the bins and the rows in them, one entry per bin."""
        ends = {"low": self.edges[:-1], "high": self.edges[1:]}
        return ends | {"positives": self.positives, "negatives": self.negatives}


def score_histogram(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    n_bins: int = 40,
    within: tuple[float, float] | Literal["data"] = (0.0, 1.0),
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> ScoreHistogram:
    """Count the rows of each class in bins of equal width.

    Parameters
    ----------
    y_true, y_proba, sample_weight, count, pos_label
        Labels, scores (or one `ScoreTable`) and weights, as in `calibrant.metrics.brier_score`.
    n_bins : int
        Number of bins, at least 1.
    within : (float, float) or "data"
        Stretch of scores in [0, 1] that is divided into bins; rows with scores outside are not counted. "data" is where
        the scores are, in bins of equal width in the square root of the score if most are near 0.

    Returns
    -------
    ScoreHistogram
        Counts by class. A cell of the table counts where its mean score lies.

    Examples
    --------
    >>> from calibrant.curves import score_histogram
    >>> score_histogram([0, 1, 1], [0.1, 0.6, 1.0], n_bins=2).positives.tolist()
    [0.0, 2.0]
    """
    table = as_table(y_true, y_proba, sample_weight=sample_weight, count=count, pos_label=pos_label)
    n_bins = check_count("n_bins", n_bins, 1, "40 bins suit most pictures")
    if isinstance(within, str) and within == "data":
        view = score_view(table.score, table.n)
    else:
        remedy = "pass (low, high) with low below high"
        if np.shape(within) != (2,):
            raise ArgumentError("within to be a pair of scores, or 'data'", repr(within), remedy)
        high = check_between("upper end of within", within[1], 0.0, 1.0, closed="right", remedy=remedy)
        low = check_between("lower end of within", within[0], 0.0, high, closed="left", remedy=remedy)
        view = View(low, high)
    edges = view.edges(n_bins)
    # The last bin has its upper end too. What lies outside goes to a first and a last place that are not returned.
    bins = np.searchsorted(edges, table.score, side="right")
    bins[table.score == edges[-1]] = n_bins
    positives, negatives = (
        np.bincount(bins, weights=rows, minlength=n_bins + 2)[1:-1].astype(np.float64)
        for rows in (table.k, table.negatives)
    )
    return ScoreHistogram(edges, positives, negatives, view.square_root)
