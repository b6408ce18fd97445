"""Two scans of rows that come in arrays: count them in narrow buckets, then add up the few cells cut from these.

Counts are enough to cut cells, and there are so few of these that what is added up stays in the cache. No row is sorted
except where the answer can lie.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from calibrant.ingest.accumulator import Accumulator, pick, pooled_batches
from calibrant.ingest.bucket_sums import HALF, HALF_MASK, LOG_LOSS_BITS, BucketSums, carried
from calibrant.ingest.grid import Grid
from calibrant.ingest.histogram import BucketCounts, blocks
from calibrant.ingest.partition import Partition, cut
from calibrant.ingest.refinement import Resolved
from calibrant.table.fixed_point import BITS, IntArray, score_units
from calibrant.table.pooling import FloatArray, NumberArray
from calibrant.table.validation import CleanRows, check_same_rows, check_weight_range, describe_other_rows

__all__ = ["FINE_BITS", "Scanned", "Slices", "two_scans"]

Slices = Callable[[], Iterable[CleanRows]]

FINE_BITS = 22  # two to this power buckets of which rows and positives are counted
_FEW_ROWS = 1 << 17  # terms of sums are below 2**46, so those of so many rows add up in one word


class Scanned(NamedTuple):
    """What two scans find."""

    # rows where the answer can lie, by single scores if these are few; else in buckets, to be refined
    first: BucketSums
    grid: Grid  # the buckets of `first`
    resolved: Resolved  # cells of all other rows; `low` and `high` are limits of their scores
    widest: Grid  # no cell is wider than the buckets of this grid
    mean_weight: float  # of a row


def two_scans(
    slices: Slices, low: float, high: float, *, most_distinct: int, most_buckets: int, cell_bits: int
) -> Scanned:
    """Add up rows, checked, in as few cells as can be: at most ``2**cell_bits`` where the answer cannot lie.

    `low` and `high` are the range of the scores, or a wider one. Where the answer can lie, up to `most_distinct` scores
    are held one by one, or else up to `most_buckets` buckets. What is returned depends neither on the order of the rows
    nor on how they were cut into slices.
    """
    counts = BucketCounts(Grid.over(low, high, bits=FINE_BITS), low, high, bits=max(0, FINE_BITS - cell_bits))
    for block in blocks(slices()):
        counts.add(block)
    counts.finish()
    check_weight_range(float(counts.n.max()), float(counts.n.sum()))
    cells = cut(counts)
    # So many buckets that those which are pending never have to be put together.
    found = Accumulator(most_distinct=most_distinct, most_buckets=max(most_buckets, 2 * int(cells.pending.sum())))
    resolved = _CellSums(counts, cells)
    rows = positives = 0

    def pending_rows() -> Iterator[CleanRows]:
        nonlocal rows, positives
        for block in blocks(slices()):
            cell = resolved.add(block)
            rows += len(block.score) if block.weight is None else int(np.count_nonzero(block.weight))
            positives += int(np.count_nonzero(block.label))
            pending = np.flatnonzero(cells.pending[cell])
            if block.weight is not None:
                pending = pending[block.weight[pending] > 0]
            if len(pending):
                yield pick(block, pending)

    for pooled in pooled_batches(pending_rows()):
        found.add(pooled)
    check_same_rows((counts.rows, counts.positives), (rows, positives))
    if not _all_there(found, cells):
        raise describe_other_rows("as many, but other scores or weights")
    first = found.held if isinstance(found.held, BucketSums) else BucketSums.of_scores(*found.held)
    return Scanned(
        first,
        found.grid,
        Resolved(resolved.sums().pick(~cells.pending), counts.grid),
        counts.grid.coarser(counts.bits),
        float(cells.n.sum()) / counts.rows,
    )


class _CellSums:
    """Sums over cells, see `BucketSums`."""

    def __init__(self, counts: BucketCounts, cells: Partition) -> None:
        self._counts, self._cells = counts, cells
        begins = np.zeros(counts.size, dtype=np.int32)
        begins[cells.starts[1:]] = 1
        self._cell_of = np.cumsum(begins, dtype=np.int32)
        kind = cells.n.dtype
        self._few = kind.kind == "i" and int(cells.n.max()) <= _FEW_ROWS
        self._distance = _Words(2 * len(cells.n), kind, self._few)  # of negatives at even, of positives at odd places
        self._squared = _Words(len(cells.n), kind, self._few)
        self._log_loss = _Words(len(cells.n), kind, self._few)
        self._impossible = np.zeros(len(cells.n), dtype=kind)

    def add(self, rows: CleanRows) -> IntArray:
        """Add rows, and return their cells."""
        label, score, weight = rows
        units = score_units(score)
        cell = self._cell_of[self._counts.place(units)].astype(np.int64)
        sided = cell << 1
        sided |= label
        np.subtract(np.left_shift(label, BITS, dtype=np.int64), units, out=units)
        self._distance.add(sided, np.abs(units, out=units), weight)
        chance = np.abs(np.subtract(label ^ 1, score, dtype=np.float64))  # of the observed label
        if not chance.min() > 0.0:
            never = np.flatnonzero(chance == 0.0)
            np.add.at(self._impossible, cell[never], 1 if weight is None else weight[never])
            chance[never] = 1.0
        self._log_loss.add(cell, _whole(np.log(chance), -(2.0**LOG_LOSS_BITS)), weight)
        away = np.subtract(label, score, dtype=np.float64)
        away *= away
        self._squared.add(cell, _whole(away, 2.0**BITS), weight)
        return cell

    def sums(self) -> BucketSums:
        cells, counts = self._cells, self._counts
        distance, squared, log_loss_sum = (sums.words() for sums in (self._distance, self._squared, self._log_loss))
        upper, lower = (
            np.stack([sided[1::2], sided[::2], *others])
            for sided, *others in zip(distance, squared, log_loss_sum, strict=True)
        )
        # Units are the nearest multiples, so a bucket begins half a unit before its first.
        edges = (np.append(cells.starts, cells.ends) + counts.first) << counts.grid.shift
        low, above = np.split(np.clip((edges - 0.5) * 2.0**-BITS, 0.0, 1.0), 2)
        return BucketSums(
            cells.starts + counts.first,
            low,
            np.where(above < 1.0, np.nextafter(above, 0.0), 1.0),
            np.stack([cells.n, cells.k, self._impossible]),
            upper,
            lower,
        )


class _Words:
    """Sums of whole numbers that are too large for 64 bits, or of such numbers times other weights."""

    def __init__(self, size: int, kind: np.dtype[np.generic], few: bool) -> None:
        self._few = few
        self._lower: NumberArray = np.zeros(size, dtype=kind)
        self._upper: NumberArray = self._lower if few else np.zeros(size, dtype=kind)

    def add(self, place: IntArray, value: IntArray, weight: NumberArray | None) -> None:
        if self._few:
            np.add.at(self._lower, place, value if weight is None else value * weight)
        elif self._upper.dtype.kind == "f":
            np.add.at(self._upper, place, value * 2.0**-32 * (1.0 if weight is None else weight))
        else:
            for total, part in ((self._upper, value >> HALF), (self._lower, value & HALF_MASK)):
                np.add.at(total, place, part if weight is None else part * weight)

    def words(self) -> tuple[NumberArray, NumberArray]:
        if self._few:
            return carried(np.zeros_like(self._lower), self._lower)
        return carried(self._upper, self._lower, word=HALF)


def _all_there(pending: Accumulator, cells: Partition) -> bool:
    """Tell whether pending rows are as many as were counted, where weights can be compared."""
    found = pending.held
    n, k = (found.n, found.k) if isinstance(found, BucketSums) else found[1:]
    if n.dtype.kind == "f" or cells.n.dtype.kind == "f":
        return True
    return bool(n.sum() == cells.n[cells.pending].sum() and k.sum() == cells.k[cells.pending].sum())


def _whole(values: FloatArray, factor: float) -> IntArray:
    values = values * factor
    values += 0.5
    return values.astype(np.int64)
