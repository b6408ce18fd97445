"""A test of calibration after Kolmogorov and Smirnov: the largest distance of the cumulative residuals from 0."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.distributions.brownian import LEAST_EVENTS, distance_survival
from calibrant.distributions.null_distribution import calibrated_p_value
from calibrant.table.arguments import Labels, Scores, Weights, as_table
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes
from calibrant.table.results import Count, Result
from calibrant.table.score_table import ScoreTable


@dataclass(frozen=True)
class KsCalibrationTest(Result):
    """Largest average residual over the rows up to some score, with its p-value.

    Attributes
    ----------
    statistic : float
        The error, in [0, 1]; smaller is better, 0 is perfect.
    score : float
        The rows with scores up to this one attain it.
    p_value : float
        Small values speak against calibration. NaN if weights are not whole numbers, or if n times the mean of
        ``s (1 - s)`` is below 25, where the asymptotic distribution does not hold.
    n : float
        Rows, or total weight.
    """

    statistic: float
    score: float
    p_value: float
    n: Count


def ks_calibration_test(
    y_true: Labels, y_proba: Scores = None, *, sample_weight: Weights = None, pos_label: Any = None
) -> KsCalibrationTest:
    r"""Test calibration by the largest distance of the cumulative residuals from 0.

    `calibrant.certificates.calibration_test` looks at all intervals of scores, and is exact for any number of rows.

    Parameters
    ----------
    y_true, y_proba, sample_weight, pos_label
        Labels, scores (or one `ScoreTable`) and weights, as in `brier_score`. A p-value needs whole weights.

    Returns
    -------
    KsCalibrationTest
        From a table with cells, the walk is read at the ends of cells; if its rows could be read only once, the error
        may be too small and the p-value too large.

    Notes
    -----
    .. math:: \sup_t \Big| \frac1n \sum_i (y_i - s_i)\, 1\{s_i \le t\} \Big|

    The error is the KS calibration error of [1]_ and the maximum absolute deviation of [2]_, with equal scores never
    separated. It is between half the cutoff calibration error and the whole.

    The p-value is the smallest p for which :math:`n\,\mathrm{error} > h_{1-p} \sqrt{V} + \max(1/2, \log(1/p) / 3 -
    0.9)`, with V the sum of s (1 - s) and h the quantile of the largest distance of a Brownian motion on [0, 1] from 0.
    The last term keeps the test safe where V comes from few events (Check 6.8 in docs/theory/6-null.md).

    References
    ----------
    .. [1] Gupta et al. (2021). Calibration of neural networks using splines. ICLR.
    .. [2] Arrieta-Ibarra et al. (2022). Metrics of calibration for probabilistic predictions. JMLR.

    Examples
    --------
    >>> from calibrant.metrics import ks_calibration_test
    >>> result = ks_calibration_test([0] * 60 + [1] * 40 + [1] * 100, [0.6] * 100 + [0.8] * 100)
    >>> round(result.statistic, 4), result.score, round(result.p_value, 4)
    (0.1, 0.6, 0.005)
    """
    table = as_table(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label)
    residuals = cumulative_residuals(table)
    statistic = extremes(residuals).ks
    return KsCalibrationTest(
        statistic=statistic,
        score=float(residuals.score[np.argmax(np.abs(residuals.value))]),
        p_value=_p_value(table, statistic),
        n=table.total,
    )


def _p_value(table: ScoreTable, statistic: float) -> float:
    variance = table.total * table.mean_variance
    if not table.independent or variance < LEAST_EVENTS:
        return math.nan
    return calibrated_p_value(table.total * statistic, variance, distance_survival)
