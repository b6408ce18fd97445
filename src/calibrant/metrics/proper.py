"""Proper scoring rules: averages that are best, in expectation, at the true probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.table.arguments import Labels, Scores, Weights
from calibrant.table.pooling import FloatArray
from calibrant.table.row_sums import mean_of_rows, rows_or_table
from calibrant.table.score_table import ScoreTable
from calibrant.table.validation import need_binary


def brier_score(
    y_true: Labels, y_proba: Scores = None, *, sample_weight: Weights = None, pos_label: Any = None
) -> float:
    """Mean squared difference between label and score.

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
        In [0, 1]; smaller is better. From a table with cells exact to 2**-43.

    Raises
    ------
    DataError
        If the input cannot be used: this holds for every function of labels and scores.

    References
    ----------
    Brier (1950). Verification of forecasts expressed in terms of probability. Monthly Weather Review.

    Examples
    --------
    >>> from calibrant.metrics import brier_score
    >>> brier_score([0, 1], [0.25, 0.5])
    0.15625
    """
    rows = rows_or_table(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label)
    if isinstance(rows, ScoreTable):
        return rows.squared_total / rows.total
    return mean_of_rows(lambda label, score: [(label - score) ** 2], rows)


def log_loss(y_true: Labels, y_proba: Scores = None, *, sample_weight: Weights = None, pos_label: Any = None) -> float:
    """Mean of minus the natural logarithm of the probability given to the observed label (Good 1952).

    Parameters
    ----------
    y_true, y_proba, sample_weight, pos_label
        As in `brier_score`.

    Returns
    -------
    float
        Non-negative; smaller is better. Infinite if a score of 0 or 1 was wrong even once: nothing is clipped. From a
        table with cells exact to 2**-37.

    Examples
    --------
    >>> from calibrant.metrics import log_loss
    >>> round(log_loss([0, 1], [0.5, 0.25]), 4)
    1.0397
    >>> log_loss([1], [0.0])
    inf
    """
    rows = rows_or_table(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label)
    if isinstance(rows, ScoreTable):
        need_binary(rows, "the log loss is of a probability given to a label")
        return rows.log_loss_total / rows.total
    return mean_of_rows(_log_losses, rows)


def _log_losses(label: npt.NDArray[np.int8], score: FloatArray) -> list[FloatArray]:
    with np.errstate(divide="ignore"):
        return [0.0 - np.where(label == 1, np.log(score), np.log1p(-score))]  # 0 - 0 has no sign, unlike -0


def squared_loss_of(label: int, score: FloatArray) -> FloatArray:
    """Return what a row with that label adds to the Brier score, at each of these scores."""
    return (label - score) ** 2


def log_loss_of(label: int, score: FloatArray) -> FloatArray:
    """Return what a row with that label adds to the log loss, at each of these scores."""
    with np.errstate(divide="ignore"):
        return -np.log(score) if label else -np.log1p(-score)
