"""Add up rows as they come, in memory that does not grow with their number."""

from __future__ import annotations

import bisect
from collections.abc import Generator, Iterable

import numpy as np

from calibrant.cells.bucket_sums import BucketSums
from calibrant.cells.grid import Grid
from calibrant.table.fixed_point import BITS, MOST_ROWS, score_units
from calibrant.table.pooling import Pooled, pool_counts, pool_rows, pool_weighted
from calibrant.table.validation import CleanRows

_BATCH = 1 << 20  # rows that are pooled together


class Accumulator:
    """Rows added up score by score as long as there are few different scores, and in buckets from then on.

    Buckets have equal width: the smallest power of two, in units, at which no more than `most_buckets` (at least 2)
    hold rows. So what is held depends on the rows alone, bit for bit if weights are whole numbers: not on their order,
    nor on how they were cut into chunks.
    """

    def __init__(self, *, most_distinct: int, most_buckets: int) -> None:
        self._most_distinct = most_distinct
        self._most_buckets = most_buckets
        none = np.zeros(0, dtype=np.int64)
        self.sums: Pooled | BucketSums = (np.zeros(0), none, none)
        self.grid = Grid(0)

    def add(self, pooled: Pooled) -> None:
        """Add distinct scores with rows and positives at each."""
        if isinstance(self.sums, BucketSums):
            self.sums += BucketSums.of_scores(*pooled, self.grid)
            if not self.sums.n.sum(dtype=np.float64) < MOST_ROWS:
                self.sums = self.sums.as_weights()
            while len(self.sums) > self._most_buckets:
                self.sums, self.grid = self.sums.coarser(1), self.grid.coarser(1)
            return
        self.sums = pool_together([self.sums, pooled])
        if len(self.sums[0]) > self._most_distinct:
            self.grid = self._narrowest(self.sums)
            self.sums = BucketSums.of_scores(*self.sums, self.grid)

    def _narrowest(self, pooled: Pooled) -> Grid:
        """Return the narrowest buckets of which few enough hold rows."""
        units = score_units(pooled[0])

        def few(shift: int) -> bool:
            return int(np.count_nonzero(np.diff(units >> shift))) < self._most_buckets

        return Grid(bisect.bisect_left(range(BITS), 1, key=few))


def pool_together(parts: list[Pooled]) -> Pooled:
    """Add up what several parts hold at the same score."""
    score, n, k = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    if n.dtype.kind == "i" and not n.sum(dtype=np.float64) < MOST_ROWS:
        n, k = n.astype(np.float64), k.astype(np.float64)
    return pool_counts(score, n, k)


def pooled_batches(parts: Iterable[CleanRows]) -> Generator[Pooled]:
    """Add up rows at each score, many parts at a time, whatever their size."""
    batch: list[CleanRows] = []
    size = 0
    for part in parts:
        batch.append(part)
        size += len(part.score)
        if size >= _BATCH:
            yield _pool(batch)
            batch, size = [], 0
    if batch:
        yield _pool(batch)


def _pool(slices: list[CleanRows]) -> Pooled:
    label, score = (np.concatenate(columns) for columns in list(zip(*slices, strict=True))[:2])
    if all(rows.weight is None for rows in slices):
        return pool_rows(label, score)
    weights = [np.ones(len(rows.score), dtype=np.int64) if rows.weight is None else rows.weight for rows in slices]
    # Each slice has whole weights that can be added up, but perhaps not all of them together.
    return pool_together([pool_weighted(label, score, np.concatenate(weights))])
