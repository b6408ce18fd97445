"""Histogram binning: the share of positives in each bin of the scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from calibrant.fits.score_map import ScoreMap
from calibrant.table.bins import bin_starts, equal_width_bins
from calibrant.table.numbers import short
from calibrant.table.parameters import check_between, check_choice
from calibrant.table.pooling import FloatArray
from calibrant.table.score_table import ScoreTable


@dataclass(eq=False, repr=False, kw_only=True)
class Histogram(ScoreMap):
    """Histogram binning, as `HistogramCalibrator` says."""

    n_bins: int = 10
    strategy: Literal["quantile", "uniform"] = "quantile"
    smoothing: float = 0.5

    def _fit_table(self, table: ScoreTable) -> None:
        check_choice("strategy", self.strategy, ("quantile", "uniform"))
        starts = bin_starts(table, self.n_bins, self.strategy)
        smoothing = check_between("smoothing", self.smoothing, 0.0, np.inf, closed="left")
        n = np.add.reduceat(table.n, starts).astype(np.float64)
        k = np.add.reduceat(table.k, starts).astype(np.float64)
        if self.strategy == "quantile":
            last, first = table.high[starts[1:] - 1], table.low[starts[1:]]
            middle = last + 0.5 * (first - last)
            self.edges_ = np.where(middle > last, middle, first)  # neighbouring floats have nothing between them
        else:  # the common edge of neighbours, or the middle of the empty bins between them
            filled = equal_width_bins(table, int(self.n_bins))[starts]
            self.edges_ = (filled[:-1] + 1 + filled[1:]) / (2 * int(self.n_bins))
        self.value_ = (k + smoothing) / (n + 2.0 * smoothing)
        self.count_ = n

    def _predict(self, scores: FloatArray) -> FloatArray:
        return np.asarray(self.value_[np.searchsorted(self.edges_, scores, side="right")])

    def _falls(self) -> bool:
        return bool((np.diff(self.value_) < 0.0).any())

    def _in_words(self) -> str:
        bins = f"each of {len(self.value_)} bins" if len(self.value_) > 1 else "one bin"
        extent = f"from {short(self.value_.min())} to {short(self.value_.max())}"
        return f"Maps a score to the share of positives in {bins}, {extent}."
