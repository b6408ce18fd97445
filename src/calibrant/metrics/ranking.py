"""How well scores rank positives above negatives, whatever their values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.core.brownian import normal_quantile
from calibrant.core.parameters import check_between
from calibrant.core.results import Result, Tabular
from calibrant.core.table import FloatArray, NumberArray, ScoreTable, as_table
from calibrant.errors import DataError

__all__ = ["RocAuc", "RocCurve", "roc_auc", "roc_auc_interval", "roc_auc_limits", "roc_curve"]


@dataclass(frozen=True)
class RocAuc(Result):
    """Area under the ROC curve with its uncertainty.

    Attributes
    ----------
    value : float
        The area; larger is better, 0.5 is chance.
    standard_error : float
        By the method of DeLong; 0 if the classes are told apart without error. NaN if weights are not whole numbers or
        a class has fewer than two rows.
    lower, upper : float
        Interval that holds with probability `level` for many rows; NaN where the standard error is.
    level : float
        Confidence of the interval.
    n_positives, n_negatives : float
        Rows of each class, or their weight.
    """

    value: float
    standard_error: float
    lower: float
    upper: float
    level: float
    n_positives: float
    n_negatives: float


@dataclass(frozen=True, eq=False)
class RocCurve(Tabular):
    """True positive rate against false positive rate, from the highest threshold to the lowest.

    Attributes
    ----------
    threshold : ndarray of float64
        Scores of at least this are called positive; the first is infinite, where none is.
    false_positive_rate : ndarray of float64
        Share of negatives called positive.
    true_positive_rate : ndarray of float64
        Share of positives called positive.
    auc : float
        Area under the straight lines between the points.
    """

    threshold: FloatArray
    false_positive_rate: FloatArray
    true_positive_rate: FloatArray
    auc: float


def roc_auc(
    y_true: npt.ArrayLike | ScoreTable,
    y_proba: npt.ArrayLike | None = None,
    *,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    """Probability that a random positive scores above a random negative; ties count half.

    Parameters
    ----------
    y_true : array-like of shape (n,) or ScoreTable
        Labels, or a table that holds labels and scores.
    y_proba : array-like of shape (n,)
        Predicted probabilities of the positive class, in [0, 1].
    sample_weight : array-like of shape (n,), optional
        Non-negative weights.
    pos_label : scalar, optional
        The label value that counts as 1.

    Returns
    -------
    float
        In [0, 1]; larger is better, 0.5 is chance. From a table with cells, the middle of `roc_auc_limits`.

    Raises
    ------
    DataError
        If there is only one class.

    Examples
    --------
    >>> from calibrant.metrics import roc_auc
    >>> roc_auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    """
    table = as_table(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label)
    low, high = roc_auc_limits(table)
    return 0.5 * (low + high)


def roc_auc_limits(table: ScoreTable) -> tuple[float, float]:
    """Smallest and largest area under the ROC curve that a table allows.

    Parameters
    ----------
    table : ScoreTable
        In a cell the order of positives and negatives is not known.

    Returns
    -------
    low, high : float
        Equal if the table is exact.
    """
    positives, negatives = _shares_of_classes(table)
    below = np.cumsum(negatives) - negatives
    wins = float(np.dot(positives, below + 0.5 * negatives))
    unknown = float(np.dot(positives, 0.5 * negatives * (table.low < table.high)))
    return wins - unknown, wins + unknown


def roc_auc_interval(
    y_true: npt.ArrayLike | ScoreTable,
    y_proba: npt.ArrayLike | None = None,
    *,
    level: float = 0.95,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Any = None,
) -> RocAuc:
    """Area under the ROC curve with the standard error of DeLong and an interval.

    Parameters
    ----------
    y_true, y_proba, sample_weight, pos_label
        As in `roc_auc`.
    level : float
        Confidence of the interval, in (0, 1).

    Returns
    -------
    RocAuc
        Without standard error and interval if weights are not whole numbers. From a table with cells, the order
        within a cell is taken for a tie.

    Raises
    ------
    DataError
        If there is only one class.

    Notes
    -----
    The standard error of [1]_ is found from the table in one pass. The interval is normal on the log-odds of the area,
    so it stays inside [0, 1]; it is a limit for many rows of both classes. Where all pairs are ordered rightly, no
    standard error can tell how far the area may be from 1. The lower end is then ``((1 - level) / 2) ** (1 / m)`` with
    m the rows of the rarer class: m pairs without common rows are all right with probability at most ``area ** m``.

    References
    ----------
    .. [1] DeLong, DeLong & Clarke-Pearson (1988). Comparing the areas under two or more correlated receiver operating
       characteristic curves. Biometrics.

    Examples
    --------
    >>> from calibrant.metrics import roc_auc_interval
    >>> result = roc_auc_interval([0, 0, 0, 1, 1, 1], [0.1, 0.3, 0.6, 0.4, 0.8, 0.9])
    >>> round(result.value, 4), round(result.standard_error, 4)
    (0.8889, 0.1571)
    """
    table = as_table(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label)
    check_between("level", level, 0.0, 1.0)
    n_positives, n_negatives = table.positives, float((table.n - table.k).sum())
    value = roc_auc(table)
    error = lower = upper = math.nan
    if table.counts and min(n_positives, n_negatives) >= 2:
        error = _delong(table, value)
        z = normal_quantile(0.5 + 0.5 * level)
        lower, upper = _beyond_doubt(table, level) or _interval(value, z * error)
    return RocAuc(value, error, lower, upper, level, n_positives, n_negatives)


def roc_curve(
    y_true: npt.ArrayLike | ScoreTable,
    y_proba: npt.ArrayLike | None = None,
    *,
    corners_only: bool = True,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Any = None,
) -> RocCurve:
    """Share of positives against share of negatives at or above each score.

    Parameters
    ----------
    y_true, y_proba, sample_weight, pos_label
        As in `roc_auc`.
    corners_only : bool
        Leave out points inside horizontal and vertical pieces.

    Returns
    -------
    RocCurve
        From (0, 0) to (1, 1). From a table with cells, a straight line is drawn across each cell.

    Raises
    ------
    DataError
        If there is only one class.

    Examples
    --------
    >>> from calibrant.metrics import roc_curve
    >>> curve = roc_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> curve.threshold.tolist()
    [inf, 0.8, 0.4, 0.35, 0.1]
    >>> curve.true_positive_rate.tolist()
    [0.0, 0.5, 0.5, 1.0, 1.0]
    """
    table = as_table(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label)
    auc = roc_auc(table)
    up, right = table.k[::-1], (table.n - table.k)[::-1]
    ends = np.arange(len(table) + 1)
    if corners_only:
        onward = ((up[:-1] == 0) & (up[1:] == 0)) | ((right[:-1] == 0) & (right[1:] == 0))
        ends = np.flatnonzero(np.concatenate([[True], ~onward, [True]]))
    return RocCurve(
        threshold=np.append(np.inf, table.low[::-1])[ends],
        false_positive_rate=_climb(right)[ends],
        true_positive_rate=_climb(up)[ends],
        auc=auc,
    )


def _climb(steps: NumberArray) -> FloatArray:
    heights = np.cumsum(steps)
    return np.append(0.0, heights / heights[-1])


def _shares_of_classes(table: ScoreTable) -> tuple[FloatArray, FloatArray]:
    """Positives and negatives of each row of the table, as shares of their class."""
    positives, negatives = table.k.astype(np.float64), (table.n - table.k).astype(np.float64)
    if not (positives.any() and negatives.any()):
        raise DataError(
            "rows of both classes",
            f"only {'positives' if positives.any() else 'negatives'}",
            "check which value is the positive class (pos_label) and how the rows were selected",
        )
    # Shares instead of weights: products of very large or very small weights would leave the range of floats.
    return positives / positives.sum(), negatives / negatives.sum()


def _delong(table: ScoreTable, value: float) -> float:
    """Root of the variance of DeLong: for each row, the share of the other class on its right side is its placement."""
    positives, negatives = _shares_of_classes(table)
    of_positives = np.cumsum(negatives) - 0.5 * negatives
    of_negatives = 1.0 - (np.cumsum(positives) - 0.5 * positives)
    n_positives, n_negatives = table.positives, table.total - table.positives
    spread_of_positives = float(np.dot(positives, (of_positives - value) ** 2))
    spread_of_negatives = float(np.dot(negatives, (of_negatives - value) ** 2))
    return math.sqrt(spread_of_positives / (n_positives - 1.0) + spread_of_negatives / (n_negatives - 1.0))


def _interval(value: float, half: float) -> tuple[float, float]:
    logit, half = math.log(value) - math.log1p(-value), half / (value * (1.0 - value))
    return 1.0 / (1.0 + math.exp(half - logit)), 1.0 / (1.0 + math.exp(-half - logit))


def _beyond_doubt(table: ScoreTable, level: float) -> tuple[float, float] | None:
    """Interval if all pairs are ordered rightly, or all wrongly; None otherwise."""
    positives, negatives = np.flatnonzero(table.k), np.flatnonzero(table.k < table.n)
    pairs = min(table.positives, table.total - table.positives)
    reach = (0.5 - 0.5 * level) ** (1.0 / pairs)
    if positives[0] > negatives[-1]:
        return reach, 1.0
    return (0.0, 1.0 - reach) if negatives[0] > positives[-1] else None
