"""Histogram binning: the share of positives in each bin of scores."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from calibrant.calibrators.base import Calibrator
from calibrant.table.bins import bin_starts, equal_width_bins
from calibrant.table.numbers import short
from calibrant.table.parameters import check_between, check_choice
from calibrant.table.pooling import FloatArray
from calibrant.table.score_table import ScoreTable


class HistogramCalibrator(Calibrator):
    """Histogram binning: every score of a bin is mapped to the share of positives in that bin.

    The map has few values and need not be monotone, so statements about monotone recalibration do not cover it.

    Parameters
    ----------
    n_bins : int, default=10
        Number of bins, at least 1.
    strategy : {"quantile", "uniform"}, default="quantile"
        Bins that hold about equally many rows, or bins of equal width. Equal scores share a bin, so heavy ties leave
        fewer quantile bins than asked.
    smoothing : float, default=0.5
        Positives and negatives added to each bin: the value is ``(k + smoothing) / (n + 2 smoothing)``. With 1/2, the
        estimate of Krichevsky & Trofimov (1981), no bin is certain and the log loss stays finite. 0 gives the plain
        share.

    Attributes
    ----------
    edges_ : ndarray of float64, shape (b - 1,)
        Scores at which the next bin begins. Quantile bins meet in the middle between their scores; bins of equal width
        that are empty are shared by their neighbours, each taking half.
    value_ : ndarray of float64, shape (b,)
        Probability of each bin that holds rows.
    count_ : ndarray of float64, shape (b,)
        Rows, or weight, in each bin.

    References
    ----------
    Zadrozny & Elkan (2001). Obtaining calibrated probability estimates from decision trees and naive Bayesian
    classifiers. ICML. Krichevsky & Trofimov (1981). The performance of universal encoding.

    Examples
    --------
    >>> from calibrant.calibrators import HistogramCalibrator
    >>> scores, y = [0.1, 0.2, 0.3, 0.6, 0.7, 0.8], [0, 0, 1, 0, 1, 1]
    >>> fitted = HistogramCalibrator(n_bins=2, smoothing=0).fit(scores, y)
    >>> fitted.edges_.round(6).tolist(), fitted.predict([0.0, 0.44, 0.46]).round(6).tolist()
    ([0.45], [0.333333, 0.333333, 0.666667])
    """

    def __init__(
        self, *, n_bins: int = 10, strategy: Literal["quantile", "uniform"] = "quantile", smoothing: float = 0.5
    ) -> None:
        self.n_bins = n_bins
        self.strategy = strategy
        self.smoothing = smoothing

    def _fit_table(self, table: ScoreTable) -> None:
        check_choice("strategy", self.strategy, ("quantile", "uniform"))
        starts = bin_starts(table, self.n_bins, self.strategy)
        smoothing = check_between("smoothing", self.smoothing, 0.0, np.inf, closed="left")
        n = np.add.reduceat(table.n, starts).astype(np.float64)
        k = np.add.reduceat(table.k, starts).astype(np.float64)
        if self.strategy == "quantile":
            self.edges_ = _between_scores(table, starts)
        else:
            self.edges_ = _between_bins(equal_width_bins(table, int(self.n_bins))[starts], int(self.n_bins))
        self.value_ = (k + smoothing) / (n + 2.0 * smoothing)
        self.count_ = n

    def _predict(self, scores: FloatArray) -> FloatArray:
        return np.asarray(self.value_[np.searchsorted(self.edges_, scores, side="right")])

    def _in_words(self) -> str:
        bins = f"each of {len(self.value_)} bins" if len(self.value_) > 1 else "one bin"
        extent = f"from {short(self.value_.min())} to {short(self.value_.max())}"
        return f"Maps a score to the share of positives in {bins}, {extent}."


def _between_scores(table: ScoreTable, starts: npt.NDArray[np.intp]) -> FloatArray:
    last, first = table.high[starts[1:] - 1], table.low[starts[1:]]
    middle = last + 0.5 * (first - last)
    return np.where(middle > last, middle, first)  # neighbouring floats have nothing between them


def _between_bins(filled: npt.NDArray[np.intp], n_bins: int) -> FloatArray:
    """Return the common edge of neighbours, or the middle of the empty bins between them."""
    return np.asarray((filled[:-1] + 1 + filled[1:]) / (2 * n_bins), dtype=np.float64)
