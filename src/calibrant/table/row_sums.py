"""Sums over rows that need no sorted table.

A sum is of one term for each row and is rounded once, at its end: the order of the rows does not show in a bit of it.
From a table, where equal rows are pooled, a sum of terms of one sign differs by less than 1e-15 of itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from calibrant.table.pooling import FloatArray, IndexArray, IntArray, LabelArray, pool_rows
from calibrant.table.score_table import Labels, Scores, ScoreTable, Weights, as_table
from calibrant.table.validation import CleanRows, clean_rows

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
    y_true: Labels,
    y_proba: Scores = None,
    *,
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> CleanRows | ScoreTable:
    """Return many rows without weights checked, for `add_rows`, and anything else as the table `as_table` makes of it.

    Sums of weights depend on their order, which a table fixes.
    """
    if isinstance(y_true, ScoreTable) or y_proba is None or sample_weight is not None or count is not None:
        return as_table(y_true, y_proba, sample_weight=sample_weight, count=count, pos_label=pos_label)
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

    `calibrant.cells.losses.LossTotals` also keeps the order of rows out of its sums, but rounds every term to a whole
    number of units first: two losses with weights, as engines can add them up, at ``2**-43`` a row. Here terms are any.
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
