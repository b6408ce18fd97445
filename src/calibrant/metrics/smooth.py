"""The smooth calibration error: residuals are smoothed by a kernel before their sizes are averaged."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from calibrant.errors import DataError
from calibrant.table.parameters import check_between
from calibrant.table.pooling import FloatArray, NumberArray
from calibrant.table.score_table import LabelsOrSums, Scores, Weights, as_sums

# Sharing residuals between nodes at spacing h, and joining nodes by straight lines, each err by at most
# (h / sigma)**2 / 8 times 0.968, the integral of the size of the second derivative of the normal density.
_NODES_PER_BANDWIDTH = 128
_MOST_NODES = 1 << 19
_LEAST_BANDWIDTH = 1e-4  # with the most nodes the error is 0.242 / (1e-4 * 2**19)**2 < 1e-4
_REACH = 10.0  # bandwidths beyond which the kernel is nothing
_TOLERANCE = 1e-10  # relative width at which the search for the bandwidth ends


def smooth_calibration_error(
    y_true: LabelsOrSums,
    y_proba: Scores = None,
    *,
    bandwidth: float | None = None,
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> float:
    r"""Average size of the residuals after they are smoothed by a Gaussian kernel (smECE).

    Parameters
    ----------
    y_true, y_proba, sample_weight, count, pos_label
        Labels, scores (or one `ScoreTable`) and weights, as in `brier_score`; or an `OutcomeTable` with predictions in
        [0, 1], of which it is the error per unit of weight.
    bandwidth : float, optional
        Standard deviation of the kernel, at least 1e-4. By default the one that equals the error found with it: the
        error does not increase with the bandwidth, so there is exactly one.

    Returns
    -------
    float
        In [0, 1]; smaller is better. It lies between the distance of base rate and mean score and the calibration
        error with one bin per distinct score. Calibrated scores show a positive value, since rows are few.

    Notes
    -----
    .. math:: \mathrm{smECE}_\sigma = \int_0^1 \Big| \frac1n \sum_i (y_i - s_i) K_\sigma(t, s_i) \Big| dt

    with K the normal density of standard deviation :math:`\sigma` around the score, reflected at 0 and 1
    (definition 1 of [1]_).

    Residuals are shared between the two nearest nodes of a grid and smoothed as a cosine series. A default result of
    2.5e-4 or more is off by at most 1.6e-5, a smaller one by at most 2.5e-4, and with a bandwidth of your own by at
    most 1e-4; usual are 1e-6 and less. From a table with cells, each cell counts at its mean score; with a bandwidth of
    your own that moves the error by at most ``sqrt(2 / pi) / bandwidth`` times the width of the widest cell times the
    mean of ``|y - s|``.

    References
    ----------
    .. [1] Błasiok & Nakkiran (2024). Smooth ECE: Principled Reliability Diagrams via Kernel Smoothing. ICLR.

    Examples
    --------
    >>> from calibrant.metrics import smooth_calibration_error
    >>> round(smooth_calibration_error([0, 1, 1, 1], [0.3, 0.4, 0.6, 0.7]), 4)
    0.25
    >>> smooth_calibration_error([0, 1], [0.0, 1.0])
    0.0
    """
    table = as_sums(y_true, y_proba, sample_weight=sample_weight, count=count, pos_label=pos_label)
    if table.low[0] < 0.0 or table.high[-1] > 1.0:
        remedy = "divide outcomes and predictions by the largest prediction that there can be"
        raise DataError("predictions in [0, 1]", f"{table.low[0]:g} to {table.high[-1]:g}", remedy)
    if bandwidth is not None:
        remedy = "leave it out to have it chosen"
        bandwidth = check_between("bandwidth", bandwidth, _LEAST_BANDWIDTH, math.inf, closed="left", remedy=remedy)
    residual = (table.rise - table.fall) / table.total
    least, most = abs(float(residual.sum())), float(np.abs(residual).sum())
    if most == 0.0:
        return 0.0
    smoothed = _Smoothed(table.score, residual, _REACH * (most if bandwidth is None else bandwidth))
    return _fixed_point(smoothed, least, most) if bandwidth is None else smoothed.error(bandwidth)


def _fixed_point(smoothed: _Smoothed, low: float, high: float) -> float:
    """Return the bandwidth that equals its error. Errors fall with the bandwidth, so each one found is a bound too."""
    unseen = 0.5 * smoothed.length / _MOST_NODES  # half a node
    while high - low > _TOLERANCE * high and high > unseen:
        # in ratios, since the answer may be any power of ten, but not so far down that grids become fine for nothing
        middle = math.sqrt(max(low, 1e-3 * high) * high)
        error = smoothed.error(middle)
        low, high = (middle, min(high, error)) if error > middle else (max(low, error), middle)
    return 0.5 * (low + high)


class _Smoothed:
    """Residuals as a cosine series on the part of [0, 1] that they reach.

    The kernel reflected at both ends multiplies the coefficient of `cos(pi m t)` by `exp(-(pi m sigma)**2 / 2)`.
    """

    def __init__(self, score: FloatArray, residual: FloatArray, reach: float) -> None:
        low = max(0.0, float(score[0]) - reach)
        self.length = min(1.0, float(score[-1]) + reach) - low
        self.place = (score - low) / self.length
        self.residual = residual
        self.coefficients = np.zeros(0)

    def error(self, bandwidth: float) -> float:
        """Integral of the size of the smoothed residuals, each piece between two nodes as a straight line."""
        sigma = bandwidth / self.length
        nodes = max(1024, 1 << math.ceil(math.log2(min(_NODES_PER_BANDWIDTH / sigma, _MOST_NODES))))
        if len(self.coefficients) != nodes + 1:
            self.coefficients = self._transform(nodes)
        damping = np.exp(-0.5 * (np.pi * sigma * np.arange(nodes + 1)) ** 2)
        value = _cosine_series(self.coefficients * damping)
        left, right = np.abs(value[:-1]), np.abs(value[1:])
        both = left + right
        crossed = value[:-1] * value[1:] < 0.0
        area = np.divide(left**2 + right**2, both, out=both.copy(), where=crossed)
        return 0.5 * float(area.sum()) / nodes

    def _transform(self, nodes: int) -> FloatArray:
        position = self.place * nodes
        node = np.minimum(position.astype(np.intp), nodes - 1)
        upper = self.residual * (position - node)
        shares = np.bincount(node, self.residual - upper, nodes + 1) + np.bincount(node + 1, upper, nodes + 1)
        # the series counts every node but the first and the last twice
        shares[0] *= 2.0
        shares[-1] *= 2.0
        return 0.5 * _cosine_series(shares)


def _cosine_series(coefficients: NumberArray) -> FloatArray:
    """Sum of the cosine series at as many nodes as it has terms; the inner ones count twice."""
    nodes = len(coefficients) - 1
    return np.asarray(np.fft.hfft(coefficients, 2 * nodes)[: nodes + 1])
