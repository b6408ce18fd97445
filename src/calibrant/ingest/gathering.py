"""From rows, wherever they are, to what a score table is made of: single scores while they are few, else cells."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from calibrant.errors import DataError
from calibrant.ingest.accumulator import Accumulator
from calibrant.ingest.bucket_sums import BucketSums
from calibrant.ingest.chunk_rows import ChunkRows, Chunks
from calibrant.ingest.faults import Columns
from calibrant.ingest.frame_rows import CheckedRows
from calibrant.ingest.frames import FrameArrays, open_frame
from calibrant.ingest.grid import Grid
from calibrant.ingest.refinement import Rows, refined
from calibrant.ingest.two_scans import Slices, two_scans
from calibrant.table.score_table import ScoreTable
from calibrant.table.validation import check_weight_range

__all__ = [
    "CELL_BITS",
    "FIRST_BITS",
    "MOST_BUCKETS",
    "MOST_DISTINCT",
    "table_of_chunks",
    "table_of_frame",
    "table_of_rows",
]

# Up to so many different scores each has its own row in a table; beyond, neighbours share cells.
MOST_DISTINCT = 2_000_000
MOST_BUCKETS = 1 << 18  # that hold rows, where the width of buckets is chosen as rows come
FIRST_BITS = 18  # two to this power buckets in a first scan by an engine
CELL_BITS = 17  # two to this power cells where no narrower ones are needed


def table_of_chunks(chunks: Chunks, pos_label: Any) -> ScoreTable:
    """Read rows in chunks, see `ScoreTable.from_chunks`."""
    rows = ChunkRows(chunks, pos_label)
    found = Accumulator(most_distinct=MOST_DISTINCT, most_buckets=MOST_BUCKETS)
    with closing(rows.batches()) as batches:
        for pooled in batches:
            found.add(pooled)
            if isinstance(found.held, BucketSums) and not rows.once:
                break
    if not isinstance(found.held, BucketSums):
        return ScoreTable.from_counts(*found.held)
    if rows.once:
        check_weight_range(float(found.held.n.max()), float(found.held.n.sum()))
        return _table(found.held)
    del found, batches, pooled
    return _gather_slices(rows, rows.slices, 0.0, 1.0)


def table_of_frame(frame: Any, *, label: str, score: str, weight: str | None, pos_label: Any) -> ScoreTable:
    """Pool the rows of a dataframe, see `ScoreTable.from_frame`."""
    found = open_frame(frame, Columns(label, score, weight, pos_label))
    if not isinstance(found, FrameArrays):
        return table_of_rows(found)
    try:
        return ScoreTable.from_scores(found.labels, found.scores, sample_weight=found.weights, pos_label=pos_label)
    except DataError as error:
        raise found.locate(error) from None


def table_of_rows(found: CheckedRows) -> ScoreTable:
    """Ask checked rows in an engine or in files for distinct scores, if these are few, else for cells."""
    rows, low, high, distinct, slices = found
    if distinct <= MOST_DISTINCT:
        return ScoreTable.from_counts(*rows.pooled_scores(None))
    if slices is not None:
        return _gather_slices(rows, slices, low, high)
    grid = Grid.over(low, high, bits=FIRST_BITS)
    sums = rows.bucket_sums(grid, None)
    # What can be held is different scores: so much of the weight as so many of them have on average.
    most = MOST_DISTINCT * float(sums.n.sum()) / max(1, distinct)
    return _table(refined(rows, sums, grid, most=most, widest=grid.coarser(max(0, FIRST_BITS - CELL_BITS))))


def _gather_slices(rows: Rows, slices: Slices, low: float, high: float) -> ScoreTable:
    found = two_scans(slices, low, high, most_distinct=MOST_DISTINCT, most_buckets=MOST_BUCKETS, cell_bits=CELL_BITS)
    most = MOST_DISTINCT * found.mean_weight
    return _table(refined(rows, found.first, found.grid, most=most, widest=found.widest, resolved=found.resolved))


def _table(sums: BucketSums) -> ScoreTable:
    return ScoreTable.from_cells(sums.n, sums.k, sums.cells())
