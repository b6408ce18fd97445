"""Sums over rows that need no sorted table.

A sum is of terms, one for each row, and is rounded once, at its end. Hence neither the order of the rows, nor whether
equal rows are pooled first, shows in a bit of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.table.fixed_point import MOST_ROWS
from calibrant.table.pooling import FloatArray, NumberArray
from calibrant.table.score_table import ScoreTable, as_table
from calibrant.table.validation import clean_rows

__all__ = ["Bins", "RowSums", "Terms", "add_rows", "mean_over_rows"]

_BLOCK = 1 << 15  # rows of which all temporary arrays fit the cache
_DIGITS = 52  # binary digits of a float after the first

IndexArray = npt.NDArray[np.intp]


class Terms(NamedTuple):
    """What a row adds to each of some sums, as a function of its label, 0 or 1, and its score.

    `of_cells` says what of a table with cells holds each of the sums. Where there is none, each cell counts at its mean
    score.
    """

    of_row: Callable[[Any, FloatArray], Sequence[FloatArray]]
    of_cells: Sequence[Callable[[ScoreTable], FloatArray] | None]


class Bins(NamedTuple):
    """How many bins there are, and which one, numbered from 0, each score is in."""

    n_bins: int
    of: Callable[[FloatArray], IndexArray]


class RowSums(NamedTuple):
    """Rows, or their weight, and positives in each bin, and the sum of each term; `counts` as in `ScoreTable`."""

    n: NumberArray
    k: NumberArray
    terms: list[FloatArray]
    counts: bool


def add_rows(
    terms: Terms,
    y_true: npt.ArrayLike | ScoreTable,
    y_proba: npt.ArrayLike | None = None,
    *,
    bins: Bins | None = None,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Any = None,
) -> RowSums:
    """Add up terms over all rows, or over those in each bin; rows are given as to `as_table`.

    Rows with weights are pooled first: sums of weights depend on their order, which a table fixes.
    """
    if isinstance(y_true, ScoreTable) or y_proba is None or sample_weight is not None:
        table = as_table(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label)
        return _add_table(terms, table, bins)
    rows = clean_rows(y_true, y_proba, pos_label=pos_label)
    n_bins = 1 if bins is None else bins.n_bins
    of_class = np.zeros((n_bins, 2), dtype=np.int64)
    sums = [_ExactSums(n_bins) for _ in terms.of_cells]
    for start in range(0, len(rows.score), _BLOCK):
        label = rows.label[start : start + _BLOCK]
        score = np.add(rows.score[start : start + _BLOCK], 0.0, dtype=np.float64)  # -0.0 becomes 0.0
        bin_of = None if bins is None else bins.of(score)
        of_class += _count(label, bin_of, n_bins)
        for total, values in zip(sums, terms.of_row(label.astype(np.float64), score), strict=True):
            total.add(values, bin_of)
    return RowSums(of_class.sum(axis=1), of_class[:, 1], [total.rounded() for total in sums], counts=True)


def mean_over_rows(
    terms: Terms,
    y_true: npt.ArrayLike | ScoreTable,
    y_proba: npt.ArrayLike | None = None,
    *,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    """Average the one term that there is over all rows."""
    sums = add_rows(terms, y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label)
    return float(sums.terms[0][0]) / float(sums.n[0])


def _add_table(terms: Terms, table: ScoreTable, bins: Bins | None) -> RowSums:
    n_bins, bin_of = (1, None) if bins is None else (bins.n_bins, bins.of(table.score))
    sums = [_ExactSums(n_bins) for _ in terms.of_cells]
    for label, n in ((1.0, table.k), (0.0, table.n - table.k)):
        kept = np.flatnonzero(n)
        of_kept, times = None if bin_of is None else bin_of[kept], n[kept]
        for total, values in zip(sums, terms.of_row(label, table.score[kept]), strict=True):
            if table.counts and table.total < MOST_ROWS:
                total.add(values, of_kept, times)
            else:
                total.add(values * times, of_kept)
    found = [total.rounded() for total in sums]
    if table.cells is not None:
        found = [
            values if sums_of is None else _by_bin(sums_of(table), bin_of, n_bins)
            for sums_of, values in zip(terms.of_cells, found, strict=True)
        ]
    n, k = _by_bin(table.n, bin_of, n_bins), _by_bin(table.k, bin_of, n_bins)
    return RowSums(n, k, found, table.counts)


def _count(label: npt.NDArray[np.int8], bin_of: IndexArray | None, n_bins: int) -> npt.NDArray[np.intp]:
    """Negatives and positives in each bin."""
    if bin_of is None:
        positives = np.count_nonzero(label)
        return np.array([[len(label) - positives, positives]])
    return np.bincount(2 * bin_of + label, minlength=2 * n_bins).reshape(-1, 2)


def _by_bin(values: NumberArray, bin_of: IndexArray | None, n_bins: int) -> NumberArray:
    if bin_of is None:
        return np.asarray(values.sum(keepdims=True))
    return np.bincount(bin_of, values, n_bins).astype(values.dtype)


class _ExactSums:
    """Sums of floats, one for each bin, in which nothing is rounded before `rounded`."""

    def __init__(self, n_bins: int) -> None:
        self._n_bins = n_bins
        self._parts: list[FloatArray] = []

    def add(self, values: FloatArray, bin_of: IndexArray | None, counts: npt.NDArray[np.int64] | None = None) -> None:
        """Add values, each as often as `counts` says.

        They are cut into parts that are multiples of one power of 2, with so few digits that the sum of a part is a
        float, in whatever order it is taken (the pre-rounding of Demmel & Nguyen, 2013).
        """
        spare = int(len(values) if counts is None else counts.sum()).bit_length()
        while len(values):
            largest = float(max(values.max(), -values.min()))
            if not 0.0 < largest < math.inf:
                self._parts.append(_by_bin(values, bin_of, self._n_bins))
                return
            exponent = math.frexp(largest)[1] + spare
            high = _leading_digits(values, exponent)
            low = values - high
            middle = _leading_digits(low, exponent + spare - _DIGITS)
            for part in (high, middle):
                self._parts.append(_by_bin(part if counts is None else part * counts, bin_of, self._n_bins))
            rest = np.flatnonzero(low != middle)  # few: values that are far smaller than the largest
            values = low[rest] - middle[rest]
            bin_of, counts = (None if of_all is None else of_all[rest] for of_all in (bin_of, counts))

    def rounded(self) -> FloatArray:
        """Return the sums, each rounded once."""
        return np.array([math.fsum(parts) for parts in np.reshape(self._parts, (-1, self._n_bins)).T.tolist()])


def _leading_digits(values: FloatArray, exponent: int) -> FloatArray:
    """Round values to multiples of ``2**(exponent - 52)``; they must be at most half of ``2**exponent``."""
    large = math.ldexp(1.5, exponent)
    part = values + large
    part -= large
    return part
