"""Distance of the scores from the true probabilities, where those are known because the data were simulated."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calibrant.errors import DataError
from calibrant.metrics.proper import brier_score
from calibrant.table.pooling import FloatArray
from calibrant.table.row_sums import mean_of_rows, rows_or_table
from calibrant.table.score_table import ScoreTable
from calibrant.table.validation import clean_scores


def true_mse(p_true: npt.ArrayLike, y_proba: npt.ArrayLike, *, sample_weight: npt.ArrayLike | None = None) -> float:
    """Mean squared difference between true probability and score, for simulated data, where the truth is known.

    The expected Brier score is this plus the mean of ``p (1 - p)``, which no score can go below.

    Parameters
    ----------
    p_true, y_proba : array-like of shape (n,)
        True and predicted probabilities of the positive class, in [0, 1].
    sample_weight : array-like of shape (n,), optional
        Non-negative weights.

    Returns
    -------
    float
        In [0, 1]; smaller is better.

    Examples
    --------
    >>> from calibrant.papers import true_mse
    >>> true_mse([0.25, 0.75], [0.5, 0.75])
    0.03125
    """
    return brier_score(*_distances(p_true, y_proba), sample_weight=sample_weight)


def l1_error(p_true: npt.ArrayLike, y_proba: npt.ArrayLike, *, sample_weight: npt.ArrayLike | None = None) -> float:
    """Mean absolute difference between true probability and score.

    Parameters
    ----------
    p_true, y_proba, sample_weight
        As in `true_mse`.

    Returns
    -------
    float
        In [0, 1]; smaller is better. It cannot be estimated from labels: theorem 1 of Gao, Parameswaran & Peng (2017).

    Examples
    --------
    >>> from calibrant.papers import l1_error
    >>> l1_error([0.25, 0.75], [0.5, 0.75])
    0.125
    """
    rows = rows_or_table(*_distances(p_true, y_proba), sample_weight=sample_weight)
    return rows.mean_score if isinstance(rows, ScoreTable) else mean_of_rows(lambda label, score: [score], rows)


def _distances(p_true: npt.ArrayLike, y_proba: npt.ArrayLike) -> tuple[npt.NDArray[np.int8], FloatArray]:
    """Absolute differences, as scores of negatives."""
    score = clean_scores(y_proba)
    try:
        truth = clean_scores(p_true)
    except DataError as error:
        raise error.but(expected=f"p_true like scores: {error.expected}") from None
    if len(truth) != len(score):
        raise DataError(
            "as many true probabilities as scores",
            f"{len(truth)} and {len(score)}",
            "pass two columns of the same table",
        )
    distance = np.abs(truth.astype(np.float64) - score.astype(np.float64))
    return np.zeros(len(score), dtype=np.int8), distance
