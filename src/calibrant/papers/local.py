"""Measures of Fernandes Machado et al. (2024): their local calibration score, weighted MSE and divergence of scores."""

from __future__ import annotations

import math
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError, DataError
from calibrant.fits.local_polynomial import check_smoother, nearest_windows
from calibrant.metrics.local import LocalCalibration, calibration_at
from calibrant.table.bins import bin_starts
from calibrant.table.parameters import check_choice, check_count
from calibrant.table.pooling import FloatArray
from calibrant.table.score_table import ScoreTable, as_table, need_counts
from calibrant.table.validation import clean_scores

_LEAST_GRID = 512  # of the kernel density in R


def accuracy_ece(y_true: npt.ArrayLike | ScoreTable, y_proba: Any = None, *, n_bins: int = 10) -> float:
    """Mean distance, over bins, between mean score and share of rows classified correctly, from above 1/2 as positive.

    Parameters
    ----------
    y_true, y_proba : array-like of shape (n,)
        Labels and probabilities; or a `ScoreTable` of rows in place of both.
    n_bins : int
        Wanted number of bins, those of ``strategy="type7"`` of `calibrant.metrics.expected_calibration_error`.

    Returns
    -------
    float
        In [0, 1]. It follows the multi-class definition of Pakdaman Naeini, Cooper & Hauskrecht (2015) to the letter.
        For the score of the positive class that is no calibration error: perfectly calibrated scores do not attain 0,
        because below 1/2 a small score goes with a large accuracy.

    Examples
    --------
    >>> from calibrant.papers import accuracy_ece
    >>> accuracy_ece([0, 0, 0, 1, 0, 1], [0.0, 0.0, 0.0, 1.0, 0.0, 1.0])
    0.66...
    """
    table = as_table(y_true, y_proba)
    right = np.where(table.score > 0.5, table.k, table.n - table.k)
    gaps = np.add.reduceat(right - table.n * table.score, bin_starts(table, n_bins, "type7"))
    return float(np.abs(gaps).sum()) / table.total


def lcs(
    y_true: npt.ArrayLike | ScoreTable, y_proba: Any = None, *, span: float = 0.15, n_points: int = 100
) -> LocalCalibration:
    """Local calibration score (LCS) of the talk, with its points.

    Parameters
    ----------
    y_true, y_proba : array-like of shape (n,)
        Labels and probabilities; or a `ScoreTable` of rows in place of both.
    span : float
        Share of the rows in each window, in (0, 1].
    n_points : int
        Number of points, evenly spaced on [0, 1], at least 2; those outside the observed scores are left out.

    Returns
    -------
    LocalCalibration
        As of `calibrant.metrics.local_calibration`, with a kernel density of the scores reflected at 0 and 1 for
        weights, which is several times too wide, hence nearly flat: to compare with published numbers. The curve is
        fitted at each point; the authors add noise to the scores and interpolate between vertices.

    Examples
    --------
    >>> from calibrant.papers import lcs
    >>> lcs([0, 1, 0, 1], [0.25, 0.25, 0.75, 0.75], n_points=5).value
    0.041...
    """
    table, points, density = _rows_and_points(y_true, y_proba, n_points)
    inside = (points >= table.low[0]) & (points <= table.high[-1])
    if not inside.any():
        support = f"scores from {table.low[0]:g} to {table.high[-1]:g}"
        raise DataError(f"one of {n_points} points of [0, 1] within the observed scores", support, "take more points")
    return calibration_at(table, points[inside], density[inside] / density[inside].sum(), span=span)


def wmse(y_true: npt.ArrayLike | ScoreTable, y_proba: Any = None, *, span: float = 0.15, n_points: int = 100) -> float:
    """Weighted mean squared distance between nearest-neighbour averages of the labels and points of all of [0, 1].

    Parameters
    ----------
    y_true, y_proba, n_points
        As in `lcs`.
    span : float
        Share of the rows in each window, rounded to the nearest whole number of rows, but at least 1.

    Returns
    -------
    float
        In [0, 1]; smaller is better, but calibrated scores do not attain 0: where no scores are, the average still
        comes from the nearest. All rows at the same distance are in or out together; in the authors' companion code
        they are cut off in their order.

    Examples
    --------
    >>> from calibrant.papers import wmse
    >>> wmse([0, 1], [0.0, 1.0], n_points=2)
    0.0
    """
    table, points, density = _rows_and_points(y_true, y_proba, n_points)
    span, _, _ = check_smoother(span, 0, "rectangular")
    windows = nearest_windows(table, points, max(1, round(table.total * span)))
    return float(np.dot(density, (windows.k / windows.n - points) ** 2) / density.sum())


def _rows_and_points(y_true: Any, y_proba: Any, n_points: int) -> tuple[ScoreTable, FloatArray, FloatArray]:
    table = as_table(y_true, y_proba)
    need_counts(table, "the bandwidth depends on the number of rows")
    points = np.linspace(0.0, 1.0, check_count("n_points", n_points, 2, "the authors take 100"))
    return table, points, reflected_density(np.repeat(table.score, table.n), points)


def reflected_density(score: FloatArray, at: FloatArray) -> FloatArray:
    """Density at some points of [0, 1] of the scores and their images in 0 and 1.

    What ``density(c(-s, s, 2 - s), from = 0, to = 1, n = length(at))$y`` gives in R before version 4.4: Gaussian kernel
    with the bandwidth of Silverman's rule for the 3 n values, linear binning, and R's spacing of the kernel. The
    bandwidth is several times that of the scores themselves, so the density is nearly flat.
    """
    value = np.concatenate([-score, score, 2.0 - score])
    lower, upper = np.quantile(value, [0.25, 0.75])
    # The images put a third of the values at or below 0 and a third at or above 1: neither is ever 0.
    bandwidth = 0.9 * min(value.std(ddof=1), (upper - lower) / 1.34) * len(value) ** -0.2
    size = max(_LEAST_GRID, 1 << (len(at) - 1).bit_length())
    low, high = -4.0 * bandwidth, 1.0 + 4.0 * bandwidth
    # Each value is shared between the two neighbouring points of the grid; the image beyond an end is lost there.
    position = (value - low) * (size - 1) / (high - low)
    position = position[(position >= -1.0) & (position < size)]
    below = np.floor(position)
    left, over = below.astype(np.intp) + 1, position - below
    mass = np.bincount(left, 1.0 - over, size + 2) + np.bincount(left + 1, over, size + 2)
    lag = np.arange(1 - size, size) * (2.0 * (high - low) / (2 * size - 1)) / bandwidth
    kernel = np.exp(-0.5 * lag * lag) / (math.sqrt(2.0 * math.pi) * bandwidth * len(value))
    density = np.convolve(mass[1:-1], kernel)[size - 1 : 2 * size - 1]
    return np.interp(at, np.linspace(low, high, size), density)


# What the authors put in place of an empty bin of the reference, and the share of a bin's width by which the edges
# of R's hist() are moved up, so that scores on an edge but for rounding stay below it.
_TALK_EMPTY = 1e-5
_TALK_FUZZ = 1e-7
# Distribution functions of libraries are right up to this.
_ROUNDING = 1e-12


@runtime_checkable
class Distribution(Protocol):
    """What a reference distribution must offer; frozen SciPy distributions do."""

    def cdf(self, x: FloatArray, /) -> Any:
        """Return the probability of values up to each x."""


def score_divergence(
    scores: npt.ArrayLike | ScoreTable,
    reference: npt.ArrayLike | ScoreTable | Distribution,
    *,
    n_bins: int = 20,
    empty: Literal["infinite", "machado2024"] = "infinite",
) -> float:
    r"""Kullback-Leibler divergence of the distribution of scores from a reference distribution.

    Parameters
    ----------
    scores : array-like of shape (n,) or ScoreTable
        Predicted probabilities, in [0, 1]. Labels play no part.
    reference : array-like of shape (m,), ScoreTable, or object with a `cdf` method
        True probabilities, other scores, or a distribution on [0, 1] such as ``scipy.stats.beta(2, 2)``.
    n_bins : int
        Number of bins of equal width ``(a, b]`` on [0, 1]; the first one contains 0.
    empty : {"infinite", "machado2024"}
        What to do with a bin that holds scores and nothing of the reference. "infinite" follows the definition.
        "machado2024" does as Fernandes Machado et al. (2024): its share is taken to be 1e-5, without making the shares
        sum to 1 again, and edges are moved up by 1e-7 of the width of a bin.

    Returns
    -------
    float
        In bits; smaller is closer, 0 means equal shares in all bins. Infinite if scores stand in a bin where
        the reference has nothing. With "machado2024" it is finite, and may be slightly negative. A cell of a table is
        in the bin of its mean score.

    Notes
    -----
    .. math:: D = \sum_b q_b \log_2 \frac{q_b}{r_b}

    with q the shares of the scores in the bins and r those of the reference; bins without scores add nothing. It is
    not symmetric. It compares distributions, not rows: scores can have the distribution of the true probabilities
    and still be useless, so read it beside measures of calibration and discrimination.

    Two samples of one distribution have a positive divergence, by the chi-squared limit about
    ``(n_bins - 1) / 2 * (1 / n + 1 / m) / log(2)`` if no bin is rare.

    References
    ----------
    Kullback & Leibler (1951). On information and sufficiency. Annals of Mathematical Statistics.

    Examples
    --------
    >>> from scipy.stats import beta
    >>> from calibrant.papers import score_divergence
    >>> score_divergence([0.2, 0.3, 0.7, 0.8], [0.1, 0.6, 0.8, 0.9], n_bins=2)
    0.20...
    >>> score_divergence([0.2, 0.3, 0.7, 0.8], beta(1, 1), n_bins=2)
    0.0
    >>> score_divergence([0.2, 0.8], [0.2, 0.3], n_bins=2)
    inf
    """
    n_bins = check_count("n_bins", n_bins, 1, "twenty bins are customary")
    check_choice("empty", empty, ("infinite", "machado2024"))
    edges = np.arange(1, n_bins) / n_bins
    if empty == "machado2024":
        edges += _TALK_FUZZ / n_bins
    shares = _shares(_table_of(scores), edges)
    if isinstance(reference, Distribution):
        expected = _probabilities(reference, edges)
    else:
        expected = _shares(_table_of(reference), edges)
    if empty == "machado2024":
        expected = np.where(expected == 0.0, _TALK_EMPTY, expected)
    filled = shares > 0.0
    if not expected[filled].all():
        return math.inf
    divergence = float(np.dot(shares[filled], np.log2(shares[filled] / expected[filled])))
    return divergence if empty == "machado2024" else max(0.0, divergence)


def _table_of(scores: npt.ArrayLike | ScoreTable) -> ScoreTable:
    if isinstance(scores, ScoreTable):
        return scores
    values = clean_scores(scores)
    return ScoreTable.from_scores(np.zeros(len(values), dtype=np.int8), values)


def _shares(table: ScoreTable, edges: FloatArray) -> FloatArray:
    """Share of the rows up to the first edge, between neighbouring edges, and above the last."""
    ends = np.append(np.searchsorted(table.score, edges, side="right"), len(table))
    up_to = np.append(0, np.cumsum(table.n))[ends]
    return np.asarray(np.diff(up_to, prepend=0) / table.total, dtype=np.float64)


def _probabilities(distribution: Distribution, edges: FloatArray) -> FloatArray:
    below, end = np.asarray(distribution.cdf(np.array([np.nextafter(0.0, -1.0), 1.0])), dtype=np.float64)
    if not (below <= _ROUNDING and end >= 1.0 - _ROUNDING):
        expected = "a reference distribution on [0, 1]"
        remedy = "pass a distribution of probabilities, such as scipy.stats.beta(a, b)"
        raise ArgumentError(expected, f"probability {below:.4g} below 0 and {1.0 - end:.4g} above 1", remedy)
    up_to = np.append(np.asarray(distribution.cdf(edges), dtype=np.float64), 1.0)
    return np.diff(up_to, prepend=0.0)
