"""Isotonic fit of a score table (Algorithm 1 of Gao, Parameswaran & Peng 2017, PAV), and histogram binning."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from calibrant.errors import DataError
from calibrant.fits.score_map import ScoreMap, interpolate
from calibrant.table.bins import bin_starts, equal_width_bins
from calibrant.table.cumulative_residuals import remembered
from calibrant.table.numbers import short
from calibrant.table.parameters import check_between, check_choice
from calibrant.table.pooling import FloatArray, IndexArray, NumberArray, ScoreArray
from calibrant.table.score_table import ScoreTable
from calibrant.table.table_sums import TableSums
from calibrant.typed_json import Probabilities, Scores, Weights, sized

# A round that leaves more than this share of the blocks is slow, unless they are few.
_SLOW = 0.9
_FEW = 2000


@dataclass(frozen=True, eq=False)
class IsotonicFit:
    """A nondecreasing map given by `b` blocks of scores that share one value; `value` increases strictly.

    `low` and `high` are the first and last score of a block, `n` and `k` its rows and positives.
    """

    low: Scores
    high: Probabilities
    value: Annotated[Scores, sized(1)]
    n: Weights
    k: Weights

    def __post_init__(self) -> None:
        for array in (self.low, self.high, self.value, self.n, self.k):
            array.setflags(write=False)

    def knots(self) -> tuple[FloatArray, FloatArray]:
        """Return the corner points of the map that is flat on blocks and linear in the gaps between them."""
        x = np.column_stack([self.low, self.high]).ravel()
        z = np.repeat(self.value, 2)
        distinct = np.append(True, x[1:] > x[:-1])
        return x[distinct], z[distinct]

    def linear(self, score: ScoreArray) -> FloatArray:
        """Evaluate the map that interpolates in the gaps and is constant outside the range of the table.

        It keeps the value at every score of the table, so what holds there still holds (Claim 5).
        """
        return interpolate(score, *self.knots())

    def step(self, score: ScoreArray) -> FloatArray:
        """Evaluate the map that jumps at the first score of each block."""
        block = np.searchsorted(self.low, score, side="right") - 1
        return np.asarray(self.value[np.maximum(block, 0)], dtype=np.float64)


def isotonic_fit(table: TableSums, *, log_safe: bool = False) -> IsotonicFit:
    """Fit the nondecreasing map that minimises squared error, and every other proper loss; cells count as one score.

    Of outcomes that are any numbers it also minimises the deviances of Poisson, gamma and Tweedie.

    `log_safe` adds half a positive before the first score and half a negative after the last. All values then lie
    strictly between 0 and 1, the map stays monotone, and the calibration error on the table is below ``1 / (2 *
    total)``, not 0.
    """
    if not len(table):
        raise DataError("at least one row to fit", "an empty table", "fit on more data")
    fit = _fit(table)
    if not log_safe:
        return fit
    # The half rows stand outside the scores: no block consists of one of them alone, because the first has the largest
    # and the last the smallest possible mean. Blocks stay whole whatever is added outside.
    return pooled_with(fit, np.concatenate([[0.5], fit.n, [0.5]]), np.concatenate([[0.5], fit.k, [0.0]]))


def pooled_with(fit: IsotonicFit, n: FloatArray, k: FloatArray) -> IsotonicFit:
    """Pool the blocks of a fit anew with rows in front of all scores, and perhaps behind them."""
    starts = block_starts(n, k)
    n, k = np.add.reduceat(n, starts), np.add.reduceat(k, starts)
    first, last = np.maximum(starts - 1, 0), np.append(starts[1:] - 2, len(fit.n) - 1)
    return IsotonicFit(fit.low[first], fit.high[last], k / n, n, k)


@remembered
def _fit(table: TableSums) -> IsotonicFit:
    starts = block_starts(table.n, table.k)
    n, k = (np.add.reduceat(values, starts).astype(np.float64) for values in (table.n, table.k))
    if not (k[1:] / n[1:] > k[:-1] / n[:-1]).all():  # weights add up otherwise at once than step by step
        blocks = block_starts(n, k)
        starts, n, k = starts[blocks], np.add.reduceat(n, blocks), np.add.reduceat(k, blocks)
    ends = np.append(starts[1:], len(table)) - 1
    return IsotonicFit(table.low[starts], table.high[ends], k / n, n, k)


def block_starts(n: NumberArray, k: NumberArray) -> IndexArray:
    """Where the blocks of the isotonic fit start: adjacent violators are pooled, all at once, until none is left.

    All of a run in which the mean does not rise belong to one block. Where outcomes are noisy a few rounds are enough;
    where rounds pool little, SciPy goes on one block at a time. It takes two thirds of the time, but a third of a
    second to be imported.
    """
    starts, before = np.arange(len(n)), math.inf
    while len(starts) < _FEW or len(starts) < _SLOW * before:
        mean = k / n
        rising = mean[1:] > mean[:-1]
        if rising.all():
            return starts
        before = len(starts)
        blocks = np.flatnonzero(np.append(True, rising))
        starts, n, k = starts[blocks], np.add.reduceat(n, blocks), np.add.reduceat(k, blocks)
    from scipy.optimize import isotonic_regression

    blocks = isotonic_regression(k / n, weights=n).blocks[:-1].astype(np.intp)
    # Sums are rounded otherwise than here: what that left equal or out of order is pooled too.
    return np.asarray(starts[blocks[block_starts(np.add.reduceat(n, blocks), np.add.reduceat(k, blocks))]])


@dataclass(frozen=True, eq=False)
class VennAbersFit:
    """The two probabilities of every new score, as nondecreasing step functions.

    Each has values between the scores at which it jumps; at such an edge the lower probability has the value above, the
    upper one the value below.
    """

    lower_edge: Scores
    lower_value: Probabilities
    upper_edge: Scores
    upper_value: Probabilities

    def lower(self, score: FloatArray) -> FloatArray:
        """Return the isotonic fit at each score after a negative has been added there."""
        return np.asarray(self.lower_value[np.searchsorted(self.lower_edge, score, side="right")])

    def upper(self, score: FloatArray) -> FloatArray:
        """Return the isotonic fit at each score after a positive has been added there."""
        return np.asarray(self.upper_value[np.searchsorted(self.upper_edge, score, side="left")])


def venn_abers_fit(table: ScoreTable) -> VennAbersFit:
    """Find both probabilities for every score that a new object, of weight 1, may have (Vovk et al. 2015, section 4).

    Cells count at their mean score. The time is proportional to the length of the table, and the result exact for whole
    numbers of rows, up to the rounding of one quotient.

    The isotonic fit is the slope of the greatest convex minorant of the points ``(n, k)``, rows and positives up to
    each score. A new object with label 1 moves the points to the right of it by ``(1, 1)``, and the fit at the
    object is the slope of the line that touches the points to the left and the moved ones from below. That slope is at
    least the fit without the object. Therefore the touching point on the right is a corner of the minorant of the
    table itself, and while it stays the same, the slope is the largest one from any point on the left. As the object
    moves up, both touching points and the slope only move up, and points to the left of the touching one never matter
    again. At a score the fit is the same as just below it. A label 0 is the mirror image.
    """
    zero = np.zeros(1, dtype=table.n.dtype)
    n, k = np.append(zero, np.cumsum(table.n)), np.append(zero, np.cumsum(table.k))
    m = len(table)
    corner = np.append(np.searchsorted(table.low, isotonic_fit(table).low), m)

    below, last = _touching_points(n, k, corner)
    upper = (k[last] - k[below] + 1) / (n[last] - n[below] + 1)
    upper_edge = table.score[below[1:] - 1]

    misses = n - k
    above, first = _touching_points((n[-1] - n)[::-1], (misses[-1] - misses)[::-1], (m - corner)[::-1])
    last, first = m - above[::-1], m - first[::-1]
    lower = (k[last] - k[first]) / (n[last] - n[first] + 1)
    lower_edge = table.score[last[:-1]]

    # Rounding, of weights that differ, may leave values falling or above 1.
    lower, upper = (np.minimum(np.maximum.accumulate(value), 1.0) for value in (lower, upper))
    return VennAbersFit(lower_edge, lower, upper_edge, upper)


def _touching_points(n: NumberArray, k: NumberArray, corner: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Find where the line through an added positive touches, as the number of scores below the object grows.

    `n` and `k` are rows and positives at the first 0, 1, ... m scores, `corner` the corners of the greatest convex
    minorant of these points, first and last point included. Returns every pair of touching points, the right one before
    it was moved; a pair serves from ``left`` scores below the object until the next pair does.
    """
    slopes_behind = [*(np.diff(k[corner[1:]]) / np.diff(n[corner[1:]])).tolist(), math.inf]
    ends = zip(corner[1:].tolist(), n[corner[1:]].tolist(), k[corner[1:]].tolist(), slopes_behind, strict=True)
    left, right = [], []
    end, n_end, k_end, slope_behind = next(ends)
    steepest = -1.0
    for point, (n_point, k_point) in enumerate(zip(n.tolist(), k.tolist(), strict=True)):
        slope = (k_end - k_point + 1) / (n_end - n_point + 1)
        if slope > steepest:
            while slope >= slope_behind:
                end, n_end, k_end, slope_behind = next(ends)
                slope = (k_end - k_point + 1) / (n_end - n_point + 1)
            left.append(point)
            right.append(end)
            steepest = slope
            if steepest >= 1.0:
                break  # only ones follow, and the points to come may lie behind the corner
    return np.array(left), np.array(right)


@dataclass(eq=False, repr=False, kw_only=True)
class Isotonic(ScoreMap):
    """Best nondecreasing map, as `IsotonicCalibrator` says."""

    interpolation: Literal["linear", "step"] = "linear"
    log_safe: bool = True

    def _fit_table(self, table: ScoreTable) -> None:
        check_choice("interpolation", self.interpolation, ("linear", "step"))
        self.fit_: IsotonicFit = isotonic_fit(table, log_safe=self.log_safe)

    def _predict(self, scores: FloatArray) -> FloatArray:
        return self.fit_.linear(scores) if self.interpolation == "linear" else self.fit_.step(scores)

    def _in_words(self) -> str:
        fit, jumps = self.fit_, self.interpolation == "step"
        if len(fit.value) == 1:
            return f"Maps every score to {short(fit.value[0])}: higher scores do not go with a higher rate."
        return (
            f"Nondecreasing map with {len(fit.value)} levels, from {short(fit.value[0])} for scores up to "
            f"{short(fit.high[0])} to {short(fit.value[-1])} from {short(fit.low[-1])} on; between levels "
            f"{'it jumps' if jumps else 'it is linear'}."
        )


@dataclass(eq=False, repr=False)
class VennAbers(ScoreMap):
    """One number in place of the two of Venn-Abers prediction, as `VennAbersCalibrator` says."""

    def _fit_table(self, table: ScoreTable) -> None:
        self.fit_: VennAbersFit = venn_abers_fit(table)

    def _predict(self, scores: FloatArray) -> FloatArray:
        p0, p1 = self.fit_.lower(scores), self.fit_.upper(scores)
        return np.asarray(p1 / (1.0 - p0 + p1))

    def _in_words(self) -> str:
        low, high = self._predict(np.array([0.0, 1.0]))
        return (
            "Joins two isotonic fits, one in which the new row counts as negative and one in which it counts as "
            f"positive; values rise from {short(low)} to {short(high)}."
        )


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
