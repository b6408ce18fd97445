"""From sums of all rows to an exact table: only buckets that can hold an extreme or a block boundary are opened.

How far the cumulative residuals can rise and fall in a bucket is known from its sums, and how far the cumulative sum
diagram of the isotonic fit can sag; so few buckets can hold an extreme of the cumulative residuals, an end of their
largest climb or drop, or a corner of the fit. All others become cells at once. Open buckets are fetched score by score
if their rows are few enough. Else they are divided again, scan by scan: all together, unless a few heavy ones stand
out. These go first: a bucket with half of the rows at one score in it leaves nothing certain until that score stands by
itself. In the end scores are put together again where there was neither. Any source of rows will do that can answer two
questions, both of them plain aggregations.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from calibrant.cells import bounds
from calibrant.cells.bucket_sums import BucketSums
from calibrant.cells.grid import BucketSet, DoubleGrid, Grid
from calibrant.table.pooling import BoolArray, FloatArray, IndexArray, IntArray, Pooled, score_order
from calibrant.table.validation import check_same_rows

LATER_BITS = 17  # into about how many all buckets of one later scan are divided together
_LEAST_BITS = 2  # into how many one of them is divided at least
# Beyond so many rows the largest climb and the largest drop of the walk, the smaller of which is not the calibration
# error, are looked for to this share of the rows. Where scores are too high everywhere, the largest climb is that of a
# few dozen rows however many there are, and nearly every bucket could hold it.
_MANY = 1 << 24
_NEGLIGIBLE = 2.0**-23
_KEPT = 8  # times as many rows can be kept as can be told apart score by score
_HEAVY = 64  # buckets in which the walk can move so many times less wait until the heaviest are divided


class Rows(Protocol):
    """A source of rows that can be asked more than once."""

    def bucket_sums(self, grid: Grid, buckets: BucketSet) -> BucketSums:
        """Add up the buckets of a grid, over the rows in some wider buckets."""

    def pool_scores(self, buckets: BucketSet) -> Pooled:
        """Return distinct scores in some buckets, with rows and positives at each."""

    def limits(self, buckets: BucketSet) -> BucketSums:
        """Return the sums of some buckets with the least and the largest score in each."""

    def double_sums(self, buckets: BucketSet, most: int) -> tuple[BucketSums, Grid]:
        """Divide buckets that are one unit wide, or less, by the doubles in them: into about `most` at most."""

    def keep(self, buckets: BucketSet) -> Rows:
        """Return the rows in some buckets, which are few, in memory if that is where they will be added up."""


class Pending(NamedTuple):
    """Sums of all rows, once it is known where an extreme or a block boundary may be."""

    open: BucketSums  # buckets of `grid` that are to be looked into
    resolved: BucketSums  # cells of all others, in which there is none
    grid: Grid


class _Level(NamedTuple):
    """Buckets of one grid, some of them perhaps to be looked into, and the rows that are asked for that."""

    sums: BucketSums
    grid: Grid
    rows: Rows


def refine(
    rows: Rows, first: Pending, *, most: float, widest: Grid, corners: bool = True, scans: int | None = None
) -> BucketSums:
    """Divide buckets until the cumulative residuals and the isotonic fit are exact; return sums of all rows.

    At most `most` rows, or so much weight, are fetched score by score. The buckets of `widest` are the widest cells of
    the result, see `coarsen`. Without `corners` the isotonic fit is that of the cells. So it is if too many rows are
    left for the last of so many `scans`; then the cumulative residuals may be known within limits only.
    """
    levels, resolved = [_Level(first.open, first.grid, rows)], first.resolved
    while scans is None or scans > 0:
        uncertain = _uncertain([level.sums for level in levels], resolved, corners)
        open_rows = sum(level.sums.n[which].sum() for level, which in zip(levels, uncertain, strict=True))
        if corners and scans == 1 and open_rows > most:
            corners = False
            continue
        if not open_rows:
            break
        spread = [
            np.where(which, level.sums.sums().sum(axis=0), -1.0) for level, which in zip(levels, uncertain, strict=True)
        ]
        widest_spread = int(np.argmax([each.max(initial=-1.0) for each in spread]))
        sums, grid, source = levels[widest_spread]
        chosen = _choose(sums, uncertain[widest_spread], spread[widest_spread], most, open_rows, last=scans == 1)
        if not chosen.any():
            break
        if source is rows and sums.n.sum() <= _KEPT * most:
            source = rows.keep(BucketSet(grid, sums.bucket))
        levels[widest_spread] = _Level(sums.pick(~chosen), grid, source)
        levels.append(_look_into(sums.pick(chosen), grid, source, most))
        scans = None if scans is None else scans - 1
    return coarsen(BucketSums.joined([*(level.sums for level in levels), resolved]), widest)


def _choose(
    sums: BucketSums, uncertain: BoolArray, spread: FloatArray, most: float, open_rows: float, *, last: bool
) -> BoolArray:
    """Choose the buckets of a level that are looked into now; none if no scan is left that could hold one."""
    if open_rows <= most:
        return uncertain
    pure = uncertain & sums.pure
    if sums.n[pure].sum() > most:
        return pure  # of which the limits are all that is wanted
    # What little is known of the heaviest buckets also keeps others open: where they are few, they go first.
    heavy = uncertain & (spread >= spread.max() / _HEAVY)
    chosen = heavy if 2 * heavy.sum() < uncertain.sum() else uncertain.copy()
    if last:
        heaviest = score_order(-spread)
        chosen[heaviest[np.cumsum(sums.n[heaviest]) > most]] = False
    return chosen


def _look_into(part: BucketSums, grid: Grid, source: Rows, most: float) -> _Level:
    """Ask for the rows of some buckets: score by score if they are few, else in narrower buckets.

    Of many buckets of one class, each, only the limits are asked for.
    """
    buckets = BucketSet(grid, part.bucket)
    if part.n.sum() <= most:
        sums = BucketSums.of_scores(*source.pool_scores(buckets))
    elif part.pure.all():
        sums = source.limits(buckets)
    elif grid.shift == 0 or isinstance(grid, DoubleGrid):
        sums, grid = source.double_sums(buckets, most=2 << LATER_BITS)
    else:
        grid = grid.finer(max(_LEAST_BITS, LATER_BITS - len(part).bit_length()))
        sums = source.bucket_sums(grid, buckets)
    if part.n.dtype.kind == "i" and sums.n.dtype.kind == "i":
        check_same_rows(*((int(each.n.sum()), int(each.k.sum())) for each in (part, sums)))
    return _Level(sums, grid, source)


def split_pending(first: BucketSums, grid: Grid, widest: Grid, *, corners: bool = True) -> Pending:
    """Tell, from the sums of all rows over the buckets of a grid, which of them are to be looked into.

    What is put together is proved to hold no extreme and no block boundary even if nothing more is ever known.
    """
    settled = first.settled
    uncertain = _may_hold_part(first, settled, corners)
    starts = _run_starts(widest.bucket_of(first.low))
    alone = settled[starts] & (np.diff(starts, append=len(first)) == 1)
    rise, fall = np.add.reduceat(first.sums(), starts, axis=1)
    turning = _can_turn(rise, fall, alone, float(first.n.sum()))
    cells, begins = _put_together(first, starts, turning, uncertain)
    return Pending(cells.pick(uncertain[begins]), cells.pick(~uncertain[begins]), grid)


def _may_hold_part(sums: BucketSums, settled: BoolArray, corners: bool) -> BoolArray:
    """Tell which buckets, in increasing order, are not settled and hold perhaps an extreme or a block boundary."""
    rise, fall = sums.sums()
    uncertain = _can_turn(rise, fall, settled, float(sums.n.sum()))
    del rise, fall
    if corners:
        # Blocks of the fit are told by their first and last score, so these have to be looked at too.
        uncertain |= bounds.can_hold_corner(sums.n, sums.k) | bounds.beside_corner(sums.n, sums.k)
    return np.asarray(uncertain & ~settled)


def _can_turn(rise: FloatArray, fall: FloatArray, settled: BoolArray, rows: float) -> BoolArray:
    slack = bounds.rounding_slack(rise, fall)
    spare = rows * _NEGLIGIBLE if rows > _MANY else 0.0
    return np.asarray(
        bounds.can_hold_extreme(rise, fall, slack) | bounds.can_hold_turn(rise, fall, settled, slack - spare)
    )


def _put_together(
    sums: BucketSums, starts: IndexArray, turning: BoolArray, apart: BoolArray
) -> tuple[BucketSums, IndexArray]:
    """Make one cell of neighbours in each of the runs that begin at `starts`, and tell where the cells begin.

    Buckets in `turning` runs stay as they are, those `apart` too, and those beside ends of the largest climb or drop of
    the walk or of a block of the isotonic fit.
    """
    rise, fall = sums.sums()
    apart = apart | np.repeat(turning, np.diff(starts, append=len(sums)))
    apart |= bounds.beside_turn(rise, fall, bounds.rounding_slack(rise, fall)) | bounds.beside_corner(sums.n, sums.k)
    begins = np.append(True, apart[1:] | apart[:-1])
    begins[starts] = True
    which = np.flatnonzero(begins)
    return sums.in_runs(which), which


def _uncertain(levels: list[BucketSums], resolved: BucketSums, corners: bool) -> list[BoolArray]:
    """Tell which buckets of each level are still to be looked into; none of those `resolved` is."""
    everything = BucketSums.joined([*levels, resolved])
    order = score_order(everything.low)
    everything = everything.pick(order)
    uncertain = np.empty(len(everything), dtype=np.bool_)
    uncertain[order] = _may_hold_part(everything, everything.settled, corners)
    return np.split(uncertain, np.cumsum([len(sums) for sums in levels]))[:-1]


def coarsen(sums: BucketSums, widest: Grid) -> BucketSums:
    """Put scores together that were looked at one by one where in the end nothing was found.

    `sums` are of all rows, with exact cumulative residuals and isotonic fit. The buckets of `widest` are the widest
    cells; each given one lies in one of them. In the result, in increasing order, the walk and the fit still are exact,
    and it can be seen that no cell hides more of the range of the walk: where a widest cell could, nothing is put
    together.
    """
    sums = sums.pick(score_order(sums.low))
    starts = _run_starts(widest.bucket_of(sums.low))
    rise, fall = sums.sums()
    slack = bounds.rounding_slack(rise, fall)
    turning = bounds.can_hold_extreme(np.add.reduceat(rise, starts), np.add.reduceat(fall, starts), slack)
    return _put_together(sums, starts, turning, np.zeros(len(sums), dtype=np.bool_))[0]


def _run_starts(cell: IntArray) -> IndexArray:
    return np.flatnonzero(np.append(True, cell[1:] != cell[:-1]))
