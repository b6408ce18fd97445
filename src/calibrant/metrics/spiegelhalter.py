"""Spiegelhalter's test: the Brier score against its expectation."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.table.arguments import Labels, Scores, Weights
from calibrant.table.pooling import FloatArray
from calibrant.table.results import Count, Result
from calibrant.table.row_sums import add_rows, rows_or_table
from calibrant.table.score_table import ScoreTable


@dataclass(frozen=True)
class Spiegelhalter(Result):
    """The Brier score compared with its expectation under calibration.

    Attributes
    ----------
    statistic : float
        Difference of the two, in standard deviations; positive if the Brier score is too large, as for scores that are
        too extreme. NaN if weights are not whole numbers.
    p_value : float
        Two-sided, from the normal distribution; small values speak against calibration. NaN as the statistic.
    brier, expected_brier : float
        Brier score, and the mean of ``s (1 - s)``, which that of calibrated scores is on average.
    n : float
        Rows, or total weight.
    """

    statistic: float
    p_value: float
    brier: float
    expected_brier: float
    n: Count


def spiegelhalter(
    y_true: Labels, y_proba: Scores = None, *, sample_weight: Weights = None, pos_label: Any = None
) -> Spiegelhalter:
    r"""Test calibration by the distance of the Brier score from its expectation.

    `calibrant.certificates.calibration_test` sees every kind of miscalibration, and is exact for any number of rows.

    Parameters
    ----------
    y_true, y_proba, sample_weight, pos_label
        Labels, scores (or one `ScoreTable`) and weights, as in `brier_score`. The test needs whole weights.

    Returns
    -------
    Spiegelhalter
        The statistic and its two-sided p-value. Some implementations report one tail only, that is half of this p-value
        or one minus half of it.

    Notes
    -----
    .. math:: z = \frac{\sum (y_i - s_i)(1 - 2 s_i)}{\sqrt{\sum (1 - 2 s_i)^2 s_i (1 - s_i)}}

    Errors that cancel in the sum go unseen: scores of 1/2 carry no weight, and too low scores on one side may make up
    for others. Where all scores are 0, 1/2 or 1, chance has no part in z; it is 0 (p-value 1) if no score of 0 or 1 was
    wrong, else infinite (p-value 0). The normal distribution is a limit for many events: where 0.1 events are expected
    in 400 rows at one score, any event gives a p-value below 0.01, and there is one in 9.5% of samples. From a table
    with cells, each cell counts at its mean score.

    References
    ----------
    Spiegelhalter (1986). Probabilistic prediction in patient management and clinical trials. Statistics in Medicine.

    Examples
    --------
    >>> from calibrant.metrics import spiegelhalter
    >>> result = spiegelhalter([0, 0, 0, 1, 1], [0.2, 0.2, 0.8, 0.8, 0.8])
    >>> round(result.statistic, 4), round(result.p_value, 4)
    (0.0, 1.0)
    """
    rows = rows_or_table(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label)
    if isinstance(rows, ScoreTable):
        n, brier, expected = rows.total, rows.squared_total / rows.total, rows.mean_variance
        statistic = _statistic(*_excess_of_table(rows)) if rows.independent else math.nan
    else:
        squared, excess, variance = (float(total[0]) for total in add_rows(_excesses, rows).terms)
        n = float(len(rows.score))
        brier, expected = squared / n, (squared - excess) / n
        statistic = _statistic(excess, variance)
    return Spiegelhalter(
        statistic=statistic,
        p_value=math.erfc(abs(statistic) / math.sqrt(2.0)),
        brier=brier,
        expected_brier=expected,
        n=n,
    )


def _excess_of_table(table: ScoreTable) -> tuple[float, float]:
    slope = 1.0 - 2.0 * table.score
    excess = float(np.dot(table.residual_sums(), slope))
    return excess, float(np.dot(table.n, slope**2 * table.score * (1.0 - table.score)))


def _excesses(label: npt.NDArray[np.int8], score: FloatArray) -> Iterator[FloatArray]:
    """Squared residual of each row, how far it exceeds its expectation ``s (1 - s)``, and the variance of that."""
    # New arrays cost more than what is computed here.
    residual, slope = label.astype(np.float64), -2.0 * score
    residual -= score
    slope += 1.0
    yield residual * residual
    residual *= slope
    yield residual
    slope *= slope
    slope *= score
    slope *= 1.0 - score
    yield slope


def _statistic(excess: float, variance: float) -> float:
    if variance == 0.0:
        return math.copysign(math.inf, excess) if excess else 0.0
    return excess / math.sqrt(variance)
