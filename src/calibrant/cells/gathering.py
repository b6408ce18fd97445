"""From rows, wherever they are, to what a score table is made of: single scores while they are few, else cells."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from calibrant.cells.bucket_sums import BucketSums, Grid, LossTotals
from calibrant.cells.refinement import refine, split_pending
from calibrant.cells.slices import SliceRows
from calibrant.table.score_table import ScoreTable

if TYPE_CHECKING:
    from calibrant.cells.frame_rows import LazyRows, Seen
    from calibrant.cells.slices import FirstPass, Slices

# Up to so many different scores each has its own row in a table; beyond, neighbours share cells.
MOST_DISTINCT = 2_000_000
MOST_BUCKETS = 1 << 18  # that hold rows, where the width of buckets is chosen as rows come
MOST_FETCHED = MOST_DISTINCT  # scores, or cells, that an engine hands over at once where it adds up all rows
MOST_CORNERED = 50_000_000  # rows up to which an engine is asked for enough to make the isotonic fit exact
FIRST_BITS = 17  # two to this power buckets, at least, where an engine adds up all rows
FINE_BITS = 21  # the same, at most, where it hands over rows
CELL_BITS = 17  # two to this power cells where no narrower ones are needed


def table_of_rows(rows: LazyRows, seen: Seen, slices: Slices | None) -> ScoreTable:
    """Ask checked rows in an engine or in files for distinct scores, if these are few, else for cells.

    `slices` are perhaps a faster way to all of them.
    """
    buckets = 0.0 <= seen.low <= seen.high <= 1.0  # which divide probabilities alone
    if not buckets or seen.distinct <= MOST_DISTINCT:
        table = ScoreTable(*rows.pool_scores(None))
    else:
        table = _table_from_engine_sums(rows, seen) if slices is None else table_of_slices(SliceRows(*slices))
    table = replace(table, intake=seen.intake)
    return table if seen.sums is None else table.weighing(seen.sums)


def _bits_for(scores: int) -> int:
    """Return the power of two of buckets that keeps the fit from having corners in most of them."""
    return round(math.log2(max(1, scores)) * 2 / 3)


def bits_for_rows(rows: int) -> int:
    """Return the power of two of buckets into which NumPy puts so many rows."""
    return min(FINE_BITS, max(CELL_BITS, _bits_for(rows) + 3))


def table_of_slices(rows: SliceRows, first: FirstPass | None = None) -> ScoreTable:
    """Let NumPy add up rows that an engine, a file or chunks hand over, if a `first` pass has not done so.

    The buckets depend on how many rows there are and on the range of their scores, so they are the same on every way.
    """
    first = rows.read_all(FINE_BITS) if first is None else first
    bits = bits_for_rows(first.rows)
    sums = first.sums(bits)
    most = MOST_DISTINCT * float(sums.n.sum()) / first.rows
    widest, losses = Grid.over(first.low, first.high, bits=min(bits, CELL_BITS)), first.losses
    pending = split_pending(sums, sums.grid, widest)
    del sums, first
    return table_of_sums(refine(rows, pending, most=most, widest=widest), losses)


def _table_from_engine_sums(rows: LazyRows, seen: Seen) -> ScoreTable:
    """Let an engine add up all rows, in three scans, after that which has checked them."""
    distinct, low, high = seen.distinct, seen.low, seen.high
    corners = distinct <= MOST_CORNERED
    bits = max(FIRST_BITS, _bits_for(distinct) + 1) if corners else FIRST_BITS
    grid, widest = Grid.over(low, high, bits=bits), Grid.over(low, high, bits=CELL_BITS)
    sums, losses, different = rows.all_sums(grid)
    if rows.weights != "other":
        distinct = different
        if distinct <= MOST_DISTINCT:
            return ScoreTable(*rows.pool_scores(None))
    most = MOST_FETCHED * float(sums.n.sum()) / max(1, distinct)  # rows at so many different scores
    first = split_pending(sums, grid, widest, corners=corners)
    return table_of_sums(refine(rows, first, most=most, widest=widest, corners=corners, scans=2), losses)


def table_of_sums(sums: BucketSums, losses: LossTotals) -> ScoreTable:
    """Return the table of cells."""
    return ScoreTable.from_cells(sums.n, sums.k, sums.cells(losses))
