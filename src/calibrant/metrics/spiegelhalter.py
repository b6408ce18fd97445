"""Spiegelhalter's test: is the Brier score what it should be if the scores were the probabilities?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.table.results import Result
from calibrant.table.score_table import ScoreTable, as_table

__all__ = ["Spiegelhalter", "spiegelhalter"]


@dataclass(frozen=True)
class Spiegelhalter(Result):
    """The Brier score compared with its expectation under calibration.

    Attributes
    ----------
    statistic : float
        Difference of the two, in standard deviations; positive if the Brier score is too large, as for scores that are
        too extreme. NaN if weights are not whole numbers.
    p_value : float
        Two-sided, from the normal distribution; small values speak against calibration. NaN if weights are not whole
        numbers.
    brier : float
        Brier score.
    expected_brier : float
        Mean of ``s (1 - s)``, which the Brier score of calibrated scores has on average.
    n : float
        Rows, or total weight.
    """

    statistic: float
    p_value: float
    brier: float
    expected_brier: float
    n: float


def spiegelhalter(
    y_true: npt.ArrayLike | ScoreTable,
    y_proba: npt.ArrayLike | None = None,
    *,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Any = None,
) -> Spiegelhalter:
    r"""Test calibration by the distance of the Brier score from its expectation.

    Parameters
    ----------
    y_true : array-like of shape (n,) or ScoreTable
        Labels, or a table that holds labels and scores.
    y_proba : array-like of shape (n,)
        Predicted probabilities of the positive class, in [0, 1].
    sample_weight : array-like of shape (n,), optional
        Non-negative weights. The test is made only for whole numbers.
    pos_label : scalar, optional
        The label value that counts as 1.

    Returns
    -------
    Spiegelhalter
        The statistic and its two-sided p-value.

    See Also
    --------
    calibrant.certificates.calibration_test : Sees every kind of miscalibration, and is exact for any number of rows.

    Notes
    -----
    .. math:: z = \frac{\sum (y_i - s_i)(1 - 2 s_i)}{\sqrt{\sum (1 - 2 s_i)^2 s_i (1 - s_i)}}

    Some implementations report one tail only, that is half of this p-value or one minus half of it.

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
    table = as_table(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label)
    statistic = _statistic(table) if table.counts else math.nan
    return Spiegelhalter(
        statistic=statistic,
        p_value=math.erfc(abs(statistic) / math.sqrt(2.0)),
        brier=float(table.squared.sum()) / table.total,
        expected_brier=table.mean_variance,
        n=table.total,
    )


def _statistic(table: ScoreTable) -> float:
    slope = 1.0 - 2.0 * table.score
    excess = float(np.dot(table.k - table.n * table.score, slope))
    variance = float(np.dot(table.n, slope**2 * table.score * (1.0 - table.score)))
    if variance == 0.0:
        return math.copysign(math.inf, excess) if excess else 0.0
    return excess / math.sqrt(variance)
