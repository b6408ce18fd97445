"""How scores are spread over [0, 1], by class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from calibrant.errors import ArgumentError
from calibrant.table.parameters import check_between, check_count
from calibrant.table.pooling import FloatArray, NumberArray
from calibrant.table.results import Drawable
from calibrant.table.score_table import Labels, Scores, Weights, as_table
from calibrant.table.visible_scores import View, score_view


@dataclass(frozen=True, eq=False)
class ScoreHistogram(Drawable):
    """Rows of each class in bins of the score.

    Attributes
    ----------
    edges : ndarray of float64, shape (b + 1,)
        Ends of the bins; each bin includes its lower end, the last one its upper end too.
    positives, negatives : ndarray of float64, shape (b,)
        Rows of each class, or their weight.
    square_root : bool
        Whether the bins are equally wide in the square root of the score, not in the score.
    """

    _display = "DistributionDisplay"

    edges: FloatArray
    positives: FloatArray
    negatives: FloatArray
    square_root: bool = False

    @property
    def view(self) -> View:
        """Stretch of scores that the bins divide."""
        return View(float(self.edges[0]), float(self.edges[-1]), self.square_root)

    def columns(self) -> dict[str, NumberArray]:
        """Return the ends of the bins and the rows in them, one entry per bin."""
        ends = {"low": self.edges[:-1], "high": self.edges[1:]}
        return ends | {"positives": self.positives, "negatives": self.negatives}


def score_histogram(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    n_bins: int = 40,
    within: tuple[float, float] | Literal["data"] = (0.0, 1.0),
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> ScoreHistogram:
    """Count the rows of each class in bins of equal width.

    Parameters
    ----------
    y_true, y_proba, sample_weight, count, pos_label
        Labels, scores (or one `ScoreTable`) and weights, as in `calibrant.metrics.brier_score`.
    n_bins : int
        Number of bins, at least 1.
    within : (float, float) or "data"
        Stretch of scores in [0, 1] that is divided into bins; rows with scores outside are not counted. "data" is where
        the scores are, in bins of equal width in the square root of the score if most are near 0.

    Returns
    -------
    ScoreHistogram
        Counts by class. A cell of the table counts where its mean score lies.

    Examples
    --------
    >>> from calibrant.curves import score_histogram
    >>> score_histogram([0, 1, 1], [0.1, 0.6, 1.0], n_bins=2).positives.tolist()
    [0.0, 2.0]
    """
    table = as_table(y_true, y_proba, sample_weight=sample_weight, count=count, pos_label=pos_label)
    n_bins = check_count("n_bins", n_bins, 1, "40 bins suit most pictures")
    if isinstance(within, str) and within == "data":
        view = score_view(table.score, table.n)
    else:
        remedy = "pass (low, high) with low below high"
        if np.shape(within) != (2,):
            raise ArgumentError("within to be a pair of scores, or 'data'", repr(within), remedy)
        high = check_between("upper end of within", within[1], 0.0, 1.0, closed="right", remedy=remedy)
        low = check_between("lower end of within", within[0], 0.0, high, closed="left", remedy=remedy)
        view = View(low, high)
    edges = view.edges(n_bins)
    # The last bin has its upper end too. What lies outside goes to a first and a last place that are not returned.
    bins = np.searchsorted(edges, table.score, side="right")
    bins[table.score == edges[-1]] = n_bins
    positives, negatives = (
        np.bincount(bins, weights=rows, minlength=n_bins + 2)[1:-1].astype(np.float64)
        for rows in (table.k, table.negatives)
    )
    return ScoreHistogram(edges, positives, negatives, view.square_root)
