"""How well scores rank positives above negatives, whatever their values."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.core.table import ScoreTable, as_table
from calibrant.errors import DataError

__all__ = ["roc_auc", "roc_auc_limits"]


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
    positives, negatives = table.k.astype(np.float64), (table.n - table.k).astype(np.float64)
    if not (positives.any() and negatives.any()):
        raise DataError(
            "rows of both classes",
            f"only {'positives' if positives.any() else 'negatives'}",
            "check which value is the positive class (pos_label) and how the rows were selected",
        )
    # Shares instead of weights: products of very large or very small weights would leave the range of floats.
    positives, negatives = positives / positives.sum(), negatives / negatives.sum()
    below = np.cumsum(negatives) - negatives
    wins = float(np.dot(positives, below + 0.5 * negatives))
    unknown = float(np.dot(positives, 0.5 * negatives * (table.low < table.high)))
    return wins - unknown, wins + unknown
