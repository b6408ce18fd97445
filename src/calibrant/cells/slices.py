"""Rows that come in slices, from chunks or out of an engine, and are added up by NumPy.

Engines add up in millions of groups several times slower than they hand over rows, and far slower where they have to
look up which of a million buckets a row is in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from calibrant.cells.accumulator import pool_together, pooled_batches
from calibrant.cells.bucket_sums import BucketSums
from calibrant.cells.fine_sums import BLOCK, FineSums
from calibrant.cells.first_pass import FirstPass
from calibrant.cells.grid import BucketSet, DoubleGrid, Grid, Intervals
from calibrant.table.pooling import Pooled
from calibrant.table.row_errors import describe_other_rows
from calibrant.table.validation import CleanRows


class Slices(NamedTuple):
    """Ways to have the checked rows of an engine or of files, as often as needed."""

    all: Callable[[], Iterator[CleanRows]]  # all rows, a slice at a time, which is valid until the next is asked for
    inside: Callable[[BucketSet], CleanRows]  # those in some buckets, which the engine is quicker to find


class SliceRows:
    """Rows of which `slices` yields all, the same ones whenever it is called.

    `fetch` returns those in some buckets, where the engine that has the rows is quicker to find them.
    """

    def __init__(
        self, slices: Callable[[], Iterable[CleanRows]], fetch: Callable[[BucketSet], CleanRows] | None = None
    ) -> None:
        self._slices = slices
        self._fetch = fetch

    def read_all(self, bits: int) -> FirstPass:
        """Add up all rows, in at most ``2**bits + 1`` buckets."""
        first = FirstPass(bits)
        for part in self._pieces():
            first.add(part)
        return first

    def bucket_sums(self, grid: Grid, buckets: BucketSet) -> BucketSums:
        """Add up the buckets of a grid, over the rows in some wider buckets."""
        sums = FineSums(grid, buckets)
        for part in self._pieces():
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
        for rows in self._pieces():
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
            fetched = self._fetch(buckets)
            return SliceRows(lambda: [fetched])
        rows = list(self._inside(buckets))
        return SliceRows(lambda: rows)

    def _pieces(self) -> Iterator[CleanRows]:
        """Yield all rows in pieces that stay in the cache."""
        return (part for rows in self._slices() for part in rows.pieces(BLOCK))

    def _inside(self, buckets: BucketSet | Intervals) -> Iterator[CleanRows]:
        """Yield rows in arrays of their own: whoever makes the slices may fill the same arrays again."""
        for rows in self._pieces():
            inside = np.flatnonzero(buckets.index(rows.score) >= 0)
            if len(inside):
                yield rows.pick(inside)
