"""Rows that come in slices, from chunks or out of an engine, and are added up by NumPy.

Engines add up in millions of groups several times slower than they hand over one packed column, and far slower where
they have to look up which of a million buckets a row is in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from calibrant.cells.accumulator import pool_together, pooled_batches
from calibrant.cells.bucket_sums import BucketSums, GridSums
from calibrant.cells.fine_sums import BLOCK, FineSums
from calibrant.cells.grid import BucketSet, DoubleGrid, Grid, Intervals
from calibrant.cells.losses import LossTotals
from calibrant.table.pooling import FloatArray, NumberArray, Pooled
from calibrant.table.row_errors import describe_other_rows
from calibrant.table.validation import CleanRows


class PackedRows(NamedTuple):
    """Checked rows: scores, those of negatives times -1 (0 becomes -0.0); and weights, or None."""

    value: FloatArray
    weight: NumberArray | None


class Slices(NamedTuple):
    """Ways to have the rows of an engine or of files packed, as often as needed."""

    all: Callable[[], Iterator[PackedRows]]  # all rows, a slice at a time
    inside: Callable[[BucketSet], PackedRows]  # those in some buckets, which the engine is quicker to find


def unpack(slices: Iterable[PackedRows]) -> Iterator[CleanRows]:
    """Yield the rows in pieces that stay in the cache."""
    for value, weight in slices:
        for start in range(0, len(value), BLOCK):
            part = slice(start, start + BLOCK)
            positive = ~np.signbit(value[part])
            yield CleanRows(positive.view(np.int8), np.abs(value[part]), None if weight is None else weight[part])


class SliceRows:
    """Rows of which `slices` yields all, the same ones whenever it is called.

    `fetch` returns those in some buckets, where the engine that has the rows is quicker to find them.
    """

    def __init__(
        self, slices: Callable[[], Iterable[CleanRows]], fetch: Callable[[BucketSet], PackedRows] | None = None
    ) -> None:
        self._slices = slices
        self._fetch = fetch

    def all_sums(self, grid: Grid, low: float, high: float) -> tuple[GridSums, LossTotals, int]:
        """Add up all rows, whose scores go from `low` to `high`; return also their losses, and how many have weight."""
        sums, losses, rows, weighty = FineSums(grid, BucketSet.over(grid, low, high)), LossTotals(), 0, 0
        for part in self._slices():
            sums.add(part)
            losses.add_rows(part)
            rows += len(part.score)
            weighty += len(part.score) if part.weight is None else int(np.count_nonzero(part.weight))
        if sums.rows != rows:
            raise describe_other_rows("scores outside the range of those of the first reading")
        return sums.sums(), losses, weighty

    def bucket_sums(self, grid: Grid, buckets: BucketSet) -> BucketSums:
        """Add up the buckets of a grid, over the rows in some wider buckets."""
        sums = FineSums(grid, buckets)
        for part in self._slices():
            sums.add(part)
        if not sums.rows:
            raise describe_other_rows("no row where the first reading had some")
        return sums.sums().of_each()

    def pool_scores(self, buckets: BucketSet | Intervals) -> Pooled:
        """Return distinct scores in some buckets, with rows and positives at each."""
        pooled = list(pooled_batches(self._inside(buckets)))
        if not pooled:
            raise describe_other_rows("no row where the first reading had some")
        return pool_together(pooled)

    def limits(self, buckets: BucketSet) -> BucketSums:
        """Return the sums of some buckets with the least and the largest score in each."""
        sums, low, high = FineSums(buckets.grid, buckets), np.ones(len(buckets.numbers)), np.zeros(len(buckets.numbers))
        for rows in self._slices():
            sums.add(rows)
            index = buckets.index(rows.score)
            weighty = np.flatnonzero(index >= 0 if rows.weight is None else (index >= 0) & (rows.weight > 0))
            index, score = index[weighty], rows.score[weighty]
            np.minimum.at(low, index, score)
            np.maximum.at(high, index, score)
        if not sums.rows:
            raise describe_other_rows("no row where the first reading had some")
        filled = low <= high
        attained = np.ones(int(filled.sum()), dtype=np.bool_)
        return replace(sums.sums().of_each(), low=low[filled], high=high[filled], attained=attained)

    def double_sums(self, grid: DoubleGrid) -> BucketSums:
        """Add up the buckets of a grid of doubles."""
        parts = (BucketSums.of_scores(*pooled, grid) for pooled in pooled_batches(self._inside(grid.divided)))
        sums = next(parts, None)
        if sums is None:
            raise describe_other_rows("no row where the first reading had some")
        return sum(parts, sums)

    def keep(self, buckets: BucketSet | Intervals) -> SliceRows:
        """Return the rows in some buckets, in memory."""
        if self._fetch is not None and isinstance(buckets, BucketSet):
            packed = self._fetch(buckets)
            return SliceRows(lambda: unpack([packed]))
        rows = list(self._inside(buckets))
        return SliceRows(lambda: rows)

    def _inside(self, buckets: BucketSet | Intervals) -> Iterator[CleanRows]:
        """Yield rows in arrays of their own: whoever makes the slices may fill the same arrays again."""
        for rows in self._slices():
            inside = np.flatnonzero(buckets.index(rows.score) >= 0)
            if len(inside):
                yield rows.pick(inside)
