"""From rows, wherever they are, to what a score table is made of: single scores while they are few, else cells."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from calibrant.cells.bucket_sums import BucketSums
from calibrant.cells.grid import Grid
from calibrant.cells.losses import LossTotals
from calibrant.cells.refinement import refine, split_pending
from calibrant.cells.slices import SliceRows, unpack
from calibrant.table.score_table import ScoreTable

if TYPE_CHECKING:
    from calibrant.cells.frame_rows import CheckedRows

# Up to so many different scores each has its own row in a table; beyond, neighbours share cells.
MOST_DISTINCT = 2_000_000
MOST_BUCKETS = 1 << 18  # that hold rows, where the width of buckets is chosen as rows come
MOST_FETCHED = MOST_DISTINCT  # scores, or cells, that an engine hands over at once where it adds up all rows
MOST_CORNERED = 50_000_000  # rows up to which an engine is asked for enough to make the isotonic fit exact
FIRST_BITS = 17  # two to this power buckets, at least, where an engine adds up all rows
FINE_BITS = 21  # the same, at most, where it hands over rows
CELL_BITS = 17  # two to this power cells where no narrower ones are needed


def table_of_rows(checked: CheckedRows) -> ScoreTable:
    """Ask checked rows in an engine or in files for distinct scores, if these are few, else for cells."""
    return replace(_pool(checked), intake=checked.intake)


def _pool(checked: CheckedRows) -> ScoreTable:
    rows, low, high, distinct, slices, _ = checked
    if not 0.0 <= low <= high <= 1.0:  # buckets divide probabilities alone
        return ScoreTable(*rows.pool_scores(None))
    if distinct <= MOST_DISTINCT:
        return ScoreTable.from_counts(*rows.pool_scores(None))
    if slices is not None:
        bits = min(FINE_BITS, _bits_for(distinct) + 3)
        return table_of_slices(SliceRows(lambda: unpack(slices.all()), slices.inside), low, high, bits)
    return _table_from_engine_sums(checked)


def _bits_for(scores: int) -> int:
    """Return the power of two of buckets that keeps the fit from having corners in most of them."""
    return round(math.log2(max(1, scores)) * 2 / 3)


def table_of_slices(rows: SliceRows, low: float, high: float, bits: int) -> ScoreTable:
    """Let NumPy add up rows that an engine, a file or chunks hand over."""
    grid, widest = Grid.over(low, high, bits=bits), Grid.over(low, high, bits=min(bits, CELL_BITS))
    sums, losses, count = rows.all_sums(grid, low, high)
    most = MOST_DISTINCT * float(sums.n.sum()) / count
    first = split_pending(sums, grid, widest)
    del sums
    return table_of_sums(refine(rows, first, most=most, widest=widest), losses)


def _table_from_engine_sums(checked: CheckedRows) -> ScoreTable:
    """Let an engine add up all rows, in three scans, after that which has checked them."""
    rows, low, high, distinct, *_ = checked
    corners = distinct <= MOST_CORNERED
    bits = max(FIRST_BITS, _bits_for(distinct) + 1) if corners else FIRST_BITS
    grid, widest = Grid.over(low, high, bits=bits), Grid.over(low, high, bits=CELL_BITS)
    sums, losses, different = rows.all_sums(grid)
    if rows.weights != "other":
        distinct = different
        if distinct <= MOST_DISTINCT:
            return ScoreTable.from_counts(*rows.pool_scores(None))
    most = MOST_FETCHED * float(sums.n.sum()) / max(1, distinct)  # rows at so many different scores
    first = split_pending(sums, grid, widest, corners=corners)
    return table_of_sums(refine(rows, first, most=most, widest=widest, corners=corners, scans=2), losses)


def table_of_sums(sums: BucketSums, losses: LossTotals) -> ScoreTable:
    """Return the table of cells."""
    return ScoreTable.from_cells(sums.n, sums.k, sums.cells(losses))
