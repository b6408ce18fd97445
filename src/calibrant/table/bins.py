"""Where scores are, and on which axis to look at them; their bins; and sums over rows that need no sorted table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.table.parameters import check_choice, check_count
from calibrant.table.pooling import FloatArray, IndexArray, IntArray, LabelArray, NumberArray, pool_rows
from calibrant.table.score_table import Labels, Scores, ScoreTable, as_table, need_counts
from calibrant.table.table_sums import TableSums
from calibrant.table.validation import CleanRows, clean_rows

# Scores that cover at least this much of [0, 1] are shown on all of it.
_WIDE = 0.25
# A square-root axis is used if most rows have scores in the lowest part of what there is to show.
_MOST, _LOWEST = 0.9, 0.3
# Margin on either side, as a share of the axis.
_MARGIN = 0.015


class View(NamedTuple):
    """Stretch of scores to show, with a square-root axis if most scores are near 0, as those of rare events."""

    low: float
    high: float
    square_root: bool = False

    @property
    def remark(self) -> str:
        """What the label of the axis adds."""
        return " (square-root scale)" if self.square_root else ""

    def to_axis(self, score: npt.ArrayLike) -> FloatArray:
        """Position of scores along the axis; negative numbers are for its margin."""
        score = np.asarray(score, dtype=np.float64)
        return np.sign(score) * np.sqrt(np.abs(score)) if self.square_root else score

    def from_axis(self, position: npt.ArrayLike) -> FloatArray:
        """Scores at positions along the axis."""
        position = np.asarray(position, dtype=np.float64)
        return position * np.abs(position) if self.square_root else position

    def limits(self) -> tuple[float, float]:
        """Ends of the axis with a margin."""
        left, right = self.to_axis([self.low, self.high])
        margin = _MARGIN * (right - left)
        first, last = self.from_axis([left - margin, right + margin])
        return float(first), float(last)

    def edges(self, n_bins: int) -> FloatArray:
        """Ends of so many bins that are equally wide on the axis."""
        left, right = self.to_axis([self.low, self.high])
        inner = self.from_axis(left + (right - left) * (np.arange(1, n_bins) / n_bins))
        return np.concatenate([[self.low], inner, [self.high]])

    def grid(self, n_points: int) -> FloatArray:
        """Points at equal distances along the axis, without its ends."""
        return self.edges(check_count("n_points", n_points, 1, "99 suit most pictures") + 1)[1:-1]


def score_view(score: FloatArray, weight: NumberArray | None = None) -> View:
    """Stretch to show of scores with so many rows each: all of [0, 1], or where they are if they lie close together."""
    low, high = float(score.min()), float(score.max())
    width = high - low
    weight = np.ones(len(score)) if weight is None else weight
    left, right = low - 0.05 * width, high + 0.05 * width
    if weight[score <= _LOWEST * high].sum() >= _MOST * weight.sum() and low < _LOWEST * high:
        return View(0.0, min(1.0, right), square_root=True)
    if width >= _WIDE:
        return View(0.0, 1.0)
    if width == 0.0:
        # One score only: as far as the nearer end of [0, 1], but not so far that the score is lost in it.
        margin = min(0.05, min(low, 1.0 - low) or 0.05)
        return View(max(0.0, low - margin), min(1.0, high + margin))
    return View(0.0 if low < width else left, 1.0 if 1.0 - high < width else right)


def spread_thresholds(score: FloatArray, weight: NumberArray, n_points: int, *others: float) -> FloatArray:
    """Thresholds to choose from, half over the axis, half over the rows: at most `n_points` of 3 digits, and others."""
    half = n_points // 2
    up_to = np.cumsum(weight)
    over_rows = score[np.searchsorted(up_to, up_to[-1] * ((np.arange(half) + 0.5) / half))]
    over_axis = score_view(score, weight).grid(half)
    # Beyond the picture's grid are scores such as 1e-20, nobody's thresholds; below all scores one treats all.
    inside = over_rows[(over_axis[0] <= over_rows) & (over_rows <= over_axis[-1])]
    over_axis = over_axis[over_axis >= min(over_rows[0], over_axis[-1])]
    chosen = {_three_digits(value) for value in (*over_axis, *inside)} | {*others}
    return np.array([value for value in sorted(chosen) if 0.0 < value < 1.0])


def _three_digits(value: float) -> float:
    """Round a threshold, where that would give 1 its distance from 1."""
    rounded = float(f"{value:.3g}")
    return rounded if rounded < 1.0 else 1.0 - float(f"{1.0 - value:.3g}")


def bin_starts(table: ScoreTable, n_bins: int, strategy: str) -> IndexArray:
    """Return the first row of the table in each bin that is not empty."""
    number = _NUMBERS[check_choice("strategy", strategy, STRATEGIES)]
    bins = number(table, check_bins(n_bins))
    return np.flatnonzero(np.append(True, bins[1:] != bins[:-1]))


def check_bins(n_bins: int) -> int:
    """Return a number of bins as an int if it is one, else raise an `ArgumentError`."""
    return check_count("n_bins", n_bins, 1, "ten bins are customary")


def equal_mass_bins(table: TableSums, n_bins: int) -> IndexArray:
    """Number the bin of each row of the table so that bins hold about equally many rows of the data.

    Equal scores share a bin, so heavy ties leave fewer bins than asked; the numbers have no gaps.
    """
    # Multiplied before it is divided: the quotient is exact where it is a whole number.
    middle = (np.cumsum(table.n) - 0.5 * table.n) * n_bins / table.total
    return _without_gaps(np.minimum(middle.astype(np.intp), n_bins - 1))


def equal_width_bins(table: ScoreTable, n_bins: int) -> IndexArray:
    """Number the bin of each row of the table among `n_bins` of equal width in [0, 1]; 1 joins the last."""
    # Compared with the edges as floats: score * n_bins would put 0.29 below the edge 29 / 100.
    return np.searchsorted(np.arange(1, n_bins) / n_bins, table.score, side="right")


def equal_width_numbers(score: FloatArray, n_bins: int) -> IndexArray:
    """Number the bin of each score as `equal_width_bins` does, quickly also if scores are in any order."""
    scaled = score * n_bins
    number = scaled.astype(np.intp)
    # Only beside an edge can the product be on the other side of it.
    scaled -= np.rint(scaled)
    close = np.flatnonzero(np.abs(scaled, out=scaled) <= 1e-15 * n_bins)
    number[close] = np.searchsorted(np.arange(1, n_bins) / n_bins, score[close], side="right")
    return number


def type7_bins(table: ScoreTable, n_bins: int) -> IndexArray:
    """Number the bin of each row of the table between quantiles of the scores by definition 7 of Hyndman and Fan.

    Quantile j of `n_bins` interpolates between the order statistics around position ``j (N - 1) / n_bins``, counted
    from 0. Bins are `(left, right]`, the first one closed; repeated quantiles make one edge, and the numbers have
    no gaps. A score is at most a quantile exactly if it is at most the order statistic at or below its position, so
    the interpolation itself is not needed.
    """
    need_counts(table, "quantiles by definition 7 are made of order statistics, which need rows")
    up_to = np.cumsum(table.n)
    below = [j * (int(up_to[-1]) - 1) // n_bins for j in range(1, n_bins)]
    reached = np.searchsorted(up_to, np.array(below, dtype=np.int64), side="right")
    return _without_gaps(np.searchsorted(reached, np.arange(len(table)), side="left"))


def _without_gaps(bins: IndexArray) -> IndexArray:
    return np.asarray(np.cumsum(np.append(0, bins[1:] > bins[:-1])), dtype=np.intp)


_NUMBERS = {"quantile": equal_mass_bins, "uniform": equal_width_bins, "type7": type7_bins}
STRATEGIES = tuple(_NUMBERS)


_FEW = 1 << 13  # rows up to which sorting takes no longer
_BLOCK = 1 << 15  # rows of which all temporary arrays fit the cache
_DIGITS = 52  # binary digits of a float after the first

# What a row adds to each of some sums, from labels, 0 and 1, and scores.
Terms = Callable[[LabelArray, FloatArray], Iterable[FloatArray]]


class Bins(NamedTuple):
    """How many bins there are, and which one, numbered from 0, each score is in."""

    n_bins: int
    of: Callable[[FloatArray], IndexArray]


class RowSums(NamedTuple):
    """Rows and positives in each bin, and the sum of each term there."""

    n: IntArray
    k: IntArray
    terms: list[FloatArray]


def rows_or_table(
    y_true: Labels, y_proba: Scores = None, *, pos_label: Any = None, **weights: Any
) -> CleanRows | ScoreTable:
    """Return many rows without weights checked, for `add_rows`, and anything else as the table `as_table` makes of it.

    Sums of weights depend on their order, which a table fixes.
    """
    if isinstance(y_true, ScoreTable) or y_proba is None or any(one is not None for one in weights.values()):
        return as_table(y_true, y_proba, pos_label=pos_label, **weights)
    rows = clean_rows(y_true, y_proba, pos_label=pos_label)
    return rows if len(rows.score) > _FEW else ScoreTable(*pool_rows(rows.label, rows.score))


def add_rows(terms: Terms, rows: CleanRows, bins: Bins | None = None) -> RowSums:
    """Add up terms over all rows without weights, or over those in each bin."""
    n_bins = 1 if bins is None else bins.n_bins
    of_class = np.zeros((n_bins, 2), dtype=np.int64)
    sums: list[_ExactSums] = []
    for start in range(0, len(rows.score), _BLOCK):
        label = rows.label[start : start + _BLOCK]
        score = np.add(rows.score[start : start + _BLOCK], 0.0, dtype=np.float64)  # -0.0 becomes 0.0
        bin_of = None if bins is None else bins.of(score)
        of_class += _count(label, bin_of, n_bins)
        # One term after the other, so that each is added up while it is in the cache.
        for i, added in enumerate(terms(label, score)):
            if i == len(sums):
                sums.append(_ExactSums(n_bins))
            sums[i].add(added, bin_of)
    return RowSums(of_class.sum(axis=1), of_class[:, 1], [total.rounded() for total in sums])


def mean_of_rows(terms: Terms, rows: CleanRows) -> float:
    """Average the one term that there is over all rows without weights."""
    return float(add_rows(terms, rows).terms[0][0]) / len(rows.score)


def _count(label: LabelArray, bin_of: IndexArray | None, n_bins: int) -> IndexArray:
    """Negatives and positives in each bin."""
    if bin_of is None:
        positives = np.count_nonzero(label)
        return np.array([[len(label) - positives, positives]])
    return np.bincount(2 * bin_of + label, minlength=2 * n_bins).reshape(-1, 2)


class _ExactSums:
    """Sums of floats, one for each bin, in which nothing is rounded before `rounded`.

    `calibrant.cells.bucket_sums.LossTotals` also keeps the order of rows out of its sums, but rounds every term to a
    whole number of units first: two losses with weights, as engines can add them up, at ``2**-43`` a row. Here terms
    are any.
    """

    def __init__(self, n_bins: int) -> None:
        self._n_bins = n_bins
        self._parts: list[list[float]] = []
        self._rest: list[tuple[FloatArray, IndexArray | None]] = []
        self._waiting = 0

    def add(self, values: FloatArray, bin_of: IndexArray | None) -> None:
        """Add values; what their first digits leave of a few waits until it is worth a call."""
        rest = self._add_leading(values, bin_of)
        self._rest.append(rest)
        self._waiting += len(rest[0])
        if self._waiting > _BLOCK:
            self._add_rest()

    def _add_rest(self) -> None:
        values = np.concatenate([part for part, _ in self._rest])
        numbers = [bin_of for _, bin_of in self._rest if bin_of is not None]
        bin_of = np.concatenate(numbers) if numbers else None
        self._rest, self._waiting = [], 0
        while len(values):
            values, bin_of = self._add_leading(values, bin_of)

    def _add_leading(self, values: FloatArray, bin_of: IndexArray | None) -> tuple[FloatArray, IndexArray | None]:
        """Add the leading digits of values, and return the others of those that have more, with their bins.

        They are cut into parts that are multiples of one power of 2, with so few digits that the sum of a part is a
        float, in whatever order it is taken (the pre-rounding of Demmel & Nguyen, 2013).
        """
        spare = len(values).bit_length()
        largest = float(max(np.maximum.reduce(values), -np.minimum.reduce(values)))
        if not 0.0 < largest < math.inf:
            self._add_part(values, bin_of)
            return values[:0], None if bin_of is None else bin_of[:0]
        exponent = math.frexp(largest)[1] + spare
        high = _leading_digits(values, exponent)
        self._add_part(high, bin_of)
        low = np.subtract(values, high, out=high)
        middle = _leading_digits(low, exponent + spare - _DIGITS)
        self._add_part(middle, bin_of)
        (rest,) = np.nonzero(low != middle)  # few: values that are far smaller than the largest
        return low[rest] - middle[rest], None if bin_of is None else bin_of[rest]

    def _add_part(self, part: FloatArray, bin_of: IndexArray | None) -> None:
        if bin_of is None:
            self._parts.append([float(np.add.reduce(part))])
        else:
            self._parts.append(np.bincount(bin_of, part, self._n_bins).tolist())

    def rounded(self) -> FloatArray:
        """Return the sums, each rounded once."""
        if self._rest:
            self._add_rest()
        return np.array([math.fsum(parts) for parts in zip(*self._parts, strict=True)])


def _leading_digits(values: FloatArray, exponent: int) -> FloatArray:
    """Round values to multiples of ``2**(exponent - 52)``; they must be at most half of ``2**exponent``."""
    large = math.ldexp(1.5, exponent)
    part = values + large
    part -= large
    return part
