"""How scores are spread over [0, 1], by class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.core.bins import equal_width_bins
from calibrant.core.parameters import check_count
from calibrant.core.results import Result
from calibrant.core.table import FloatArray, NumberArray, ScoreTable, as_table

__all__ = ["Histogram", "score_histogram"]


@dataclass(frozen=True, eq=False)
class Histogram(Result):
    """Rows in bins of equal width.

    Attributes
    ----------
    edges : ndarray of float64, shape (b + 1,)
        Ends of the bins, from 0 to 1; the last bin includes 1.
    positives, negatives : ndarray of float64, shape (b,)
        Rows of each class, or their weight.
    """

    edges: FloatArray
    positives: FloatArray
    negatives: FloatArray


def score_histogram(
    y_true: npt.ArrayLike | ScoreTable,
    y_proba: npt.ArrayLike | None = None,
    *,
    n_bins: int = 40,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Any = None,
) -> Histogram:
    """Count the rows of each class in bins of equal width on [0, 1].

    Parameters
    ----------
    y_true : array-like of shape (n,) or ScoreTable
        Labels, or a table that holds labels and scores.
    y_proba : array-like of shape (n,)
        Predicted probabilities of the positive class, in [0, 1].
    n_bins : int
        Number of bins, at least 1.
    sample_weight : array-like of shape (n,), optional
        Non-negative weights.
    pos_label : scalar, optional
        The label value that counts as 1.

    Returns
    -------
    Histogram
        Counts by class. A cell of the table counts where its mean score lies.

    Examples
    --------
    >>> from calibrant.curves import score_histogram
    >>> score_histogram([0, 1, 1], [0.1, 0.6, 1.0], n_bins=2).positives.tolist()
    [0.0, 2.0]
    """
    table = as_table(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label)
    n_bins = check_count("n_bins", n_bins, 1, "40 bins suit most pictures")
    bins = equal_width_bins(table, n_bins)
    return Histogram(
        edges=np.linspace(0.0, 1.0, n_bins + 1),
        positives=_totals(bins, table.k, n_bins),
        negatives=_totals(bins, table.n - table.k, n_bins),
    )


def _totals(bins: npt.NDArray[np.intp], weight: NumberArray, n_bins: int) -> FloatArray:
    return np.asarray(np.bincount(bins, weights=weight, minlength=n_bins), dtype=np.float64)
