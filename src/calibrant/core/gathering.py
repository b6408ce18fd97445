"""From rows, wherever they are, to what a score table is made of: single scores while they are few, else cells."""

from __future__ import annotations

from contextlib import closing

from calibrant.core.accumulator import Accumulator
from calibrant.core.bucket_sums import BucketSums
from calibrant.core.chunk_rows import ChunkRows
from calibrant.core.frames import LazySummary
from calibrant.core.grid import Grid
from calibrant.core.pooling import Pooled
from calibrant.core.refinement import Rows, refined
from calibrant.core.two_scans import Slices, two_scans
from calibrant.core.validate import check_weight_range

__all__ = ["CELL_BITS", "FIRST_BITS", "MOST_BUCKETS", "MOST_DISTINCT", "gather_chunks", "gather_rows"]

# Up to so many different scores each has its own row in a table; beyond, neighbours share cells.
MOST_DISTINCT = 2_000_000
MOST_BUCKETS = 1 << 18  # that hold rows, where the width of buckets is chosen as rows come
FIRST_BITS = 18  # two to this power buckets in a first scan by an engine
CELL_BITS = 17  # two to this power cells where no narrower ones are needed


def gather_chunks(rows: ChunkRows) -> Pooled | BucketSums:
    """Read rows in chunks.

    Parameters
    ----------
    rows : ChunkRows
        Rows, to be read once or again and again.

    Returns
    -------
    Pooled or BucketSums
        Distinct scores with rows and positives at each, if they are few; else sums over cells. If the rows can be read
        only once these are all equally wide.

    Raises
    ------
    DataError
        If a chunk cannot be used.
    """
    found = Accumulator(most_distinct=MOST_DISTINCT, most_buckets=MOST_BUCKETS)
    with closing(rows.batches()) as batches:
        for pooled in batches:
            found.add(pooled)
            if isinstance(found.held, BucketSums) and not rows.once:
                break
    if not isinstance(found.held, BucketSums):
        return found.held
    if rows.once:
        check_weight_range(float(found.held.n.max()), float(found.held.n.sum()))
        return found.held
    del found, batches, pooled
    return _gather_slices(rows, rows.slices, 0.0, 1.0)


def gather_rows(rows: Rows, summary: LazySummary, slices: Slices | None) -> Pooled | BucketSums:
    """Ask checked rows in an engine or in files.

    Parameters
    ----------
    rows : Rows
        The rows.
    summary : LazySummary
        Their range, and about how many different scores there are.
    slices : callable, optional
        Returns the same rows in arrays whenever it is called, where that is the faster way.

    Returns
    -------
    Pooled or BucketSums
        As of `gather_chunks`.
    """
    if summary.distinct <= MOST_DISTINCT:
        return rows.pooled_scores(None)
    if slices is not None:
        return _gather_slices(rows, slices, summary.low, summary.high)
    grid = Grid.over(summary.low, summary.high, bits=FIRST_BITS)
    sums = rows.bucket_sums(grid, None)
    # What can be held is different scores: so much of the weight as so many of them have on average.
    most = MOST_DISTINCT * float(sums.n.sum()) / max(1, summary.distinct)
    return refined(rows, sums, grid, most=most, widest=grid.coarser(max(0, FIRST_BITS - CELL_BITS)))


def _gather_slices(rows: Rows, slices: Slices, low: float, high: float) -> BucketSums:
    found = two_scans(slices, low, high, most_distinct=MOST_DISTINCT, most_buckets=MOST_BUCKETS, cell_bits=CELL_BITS)
    most = MOST_DISTINCT * found.mean_weight
    return refined(rows, found.first, found.grid, most=most, widest=found.widest, settled=found.settled)
