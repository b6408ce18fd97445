"""From sums of all rows to the answer: which buckets can hold a part of it is told by sums, and only these are opened.

How far the cumulative residuals can rise and fall in a bucket is known from its sums, and how far the cumulative sum
diagram of the isotonic fit can sag; so few buckets can hold an extreme of the walk, an end of its largest climb or
drop, or a corner of the fit. All others become cells at once. Open buckets are fetched score by score if their rows
are few enough. Else they are divided again, scan by scan: all together, unless a few heavy ones stand out. These go
first: a bucket with half of the rows at one score in it leaves nothing certain until that score stands by itself. In
the end scores are put together again where nothing was found. Any source of rows will do that can answer two
questions, both of them plain aggregations.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from calibrant.cells.bounds import (
    beside_corner,
    beside_turn,
    can_hold_corner,
    can_hold_extreme,
    can_hold_turn,
    rounding_slack,
)
from calibrant.cells.bucket_sums import BucketSums
from calibrant.cells.grid import BucketSet, Grid
from calibrant.table.fixed_point import IntArray, score_units
from calibrant.table.pooling import FloatArray, Pooled, score_order
from calibrant.table.validation import check_same_rows

__all__ = ["Opened", "Rows", "coarsened", "opened", "refined"]

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
        ...

    def pooled_scores(self, buckets: BucketSet) -> Pooled:
        """Return distinct scores in some buckets, with rows and positives at each."""
        ...

    def kept(self, buckets: BucketSet) -> Rows:
        """Return the rows in some buckets, which are few, in memory if that is where they will be added up."""
        ...


class Opened(NamedTuple):
    """Sums of all rows, once it is known where a part of the answer may be."""

    held: BucketSums  # buckets of `grid` that are to be looked into
    rest: BucketSums  # cells of all others, in which there is no part of the answer
    grid: Grid


def refined(
    rows: Rows, first: Opened, *, most: float, widest: Grid, corners: bool = True, scans: int | None = None
) -> BucketSums:
    """Divide buckets until the cumulative residuals and the isotonic fit are exact; return sums of all rows.

    At most `most` rows, or so much weight, are fetched score by score. The buckets of `widest` are the widest cells of
    the result, see `coarsened`. Without `corners` the isotonic fit is that of the cells. So it is if too many rows are
    left for the last of so many `scans`; then the cumulative residuals may be known within limits only.
    """
    held, grids, sources, rest = [first.held], [first.grid], [rows], first.rest
    while scans is None or scans > 0:
        wanted = _wanted(held, rest, corners)
        open_rows = sum(sums.n[which].sum() for sums, which in zip(held, wanted, strict=True))
        if corners and scans == 1 and open_rows > most:
            corners = False
            continue
        if not open_rows:
            break
        spread = [np.where(which, sums.sums().sum(axis=0), -1.0) for sums, which in zip(held, wanted, strict=True)]
        level = int(np.argmax([each.max(initial=-1.0) for each in spread]))
        chosen = wanted[level]
        if open_rows > most:
            # What little is known of the heaviest buckets also keeps others open: where they are few, they go first.
            heavy = chosen & (spread[level] >= spread[level].max() / _HEAVY)
            chosen = heavy if 2 * heavy.sum() < chosen.sum() else chosen
            if scans == 1:
                heaviest = score_order(-spread[level])
                chosen = chosen.copy()
                chosen[heaviest[np.cumsum(held[level].n[heaviest]) > most]] = False
                if not chosen.any():
                    break
        grid = grids[level]
        if sources[level] is rows and held[level].n.sum() <= _KEPT * most:
            sources[level] = rows.kept(BucketSet(grid, held[level].bucket))
        part, source = held[level].pick(chosen), sources[level]
        held[level] = held[level].pick(~chosen)
        buckets = BucketSet(grid, part.bucket)
        if part.n.sum() <= most or grid.shift == 0:
            found = BucketSums.of_scores(*source.pooled_scores(buckets))
        else:
            grid = grid.finer(max(_LEAST_BITS, LATER_BITS - len(part).bit_length()))
            found = source.bucket_sums(grid, buckets)
        if part.n.dtype.kind == "i" and found.n.dtype.kind == "i":
            check_same_rows(*((int(sums.n.sum()), int(sums.k.sum())) for sums in (part, found)))
        held.append(found)
        grids.append(grid)
        sources.append(source)
        scans = None if scans is None else scans - 1
    return coarsened(BucketSums.joined([*held, rest]), widest)


def opened(first: BucketSums, grid: Grid, widest: Grid, *, corners: bool = True) -> Opened:
    """Tell, from the sums of all rows over the buckets of a grid, which of them are to be looked into.

    What is put together is proved to have no part of the answer even if nothing more is ever known of the rest.
    """
    single = first.low == first.high
    wanted = _may_hold_part(first, single, corners)
    starts = _run_starts(widest.place(score_units(first.low)))
    alone = single[starts] & (np.diff(starts, append=len(first)) == 1)
    rise, fall = np.add.reduceat(first.sums(), starts, axis=1)
    turning = _can_turn(rise, fall, alone, float(first.n.sum()))
    cells, begins = _put_together(first, starts, turning, wanted)
    return Opened(cells.pick(wanted[begins]), cells.pick(~wanted[begins]), grid)


def _may_hold_part(sums: BucketSums, single: npt.NDArray[np.bool_], corners: bool) -> npt.NDArray[np.bool_]:
    """Tell which buckets, in increasing order, hold several scores and perhaps a part of the answer."""
    rise, fall = sums.sums()
    turns = _can_turn(rise, fall, single, float(sums.n.sum()))
    del rise, fall
    if not corners:
        return np.asarray(turns & ~single)
    # Blocks of the fit are told by their first and last score, so these have to be looked at too.
    return np.asarray((turns | can_hold_corner(sums.n, sums.k) | beside_corner(sums.n, sums.k)) & ~single)


def _can_turn(rise: FloatArray, fall: FloatArray, single: npt.NDArray[np.bool_], rows: float) -> npt.NDArray[np.bool_]:
    slack = rounding_slack(rise, fall)
    spare = rows * _NEGLIGIBLE if rows > _MANY else 0.0
    return np.asarray(can_hold_extreme(rise, fall, slack) | can_hold_turn(rise, fall, single, slack - spare))


def _put_together(
    sums: BucketSums, starts: npt.NDArray[np.intp], turning: npt.NDArray[np.bool_], apart: npt.NDArray[np.bool_]
) -> tuple[BucketSums, npt.NDArray[np.intp]]:
    """Make one cell of neighbours in each of the runs that begin at `starts`, and tell where the cells begin.

    Buckets in `turning` runs stay as they are, those `apart` too, and those beside ends of the largest climb or drop of
    the walk or of a block of the isotonic fit.
    """
    rise, fall = sums.sums()
    apart = apart | np.repeat(turning, np.diff(starts, append=len(sums)))
    apart |= beside_turn(rise, fall, rounding_slack(rise, fall)) | beside_corner(sums.n, sums.k)
    begins = np.append(True, apart[1:] | apart[:-1])
    begins[starts] = True
    which = np.flatnonzero(begins)
    return sums.in_runs(which), which


def _wanted(held: list[BucketSums], rest: BucketSums, corners: bool) -> list[npt.NDArray[np.bool_]]:
    """Tell which buckets held are still to be looked into; none of the `rest` is."""
    everything = BucketSums.joined([*held, rest])
    order = score_order(everything.low)
    everything = everything.pick(order)
    single = everything.low == everything.high
    wanted = np.empty_like(single)
    wanted[order] = _may_hold_part(everything, single, corners)
    return np.split(wanted, np.cumsum([len(sums) for sums in held]))[:-1]


def coarsened(sums: BucketSums, widest: Grid) -> BucketSums:
    """Put scores together that were looked at one by one where in the end nothing was found.

    `sums` are of all rows, with exact cumulative residuals and isotonic fit. The buckets of `widest` are the widest
    cells; each given one lies in one of them. In the result, in increasing order, the walk and the fit still are exact,
    and it can be seen that no cell hides more of the range of the walk: where a widest cell could, nothing is put
    together.
    """
    sums = sums.pick(score_order(sums.low))
    starts = _run_starts(widest.place(score_units(sums.low)))
    rise, fall = sums.sums()
    slack = rounding_slack(rise, fall)
    turning = can_hold_extreme(np.add.reduceat(rise, starts), np.add.reduceat(fall, starts), slack)
    return _put_together(sums, starts, turning, np.zeros(len(sums), dtype=np.bool_))[0]


def _run_starts(cell: IntArray) -> npt.NDArray[np.intp]:
    return np.flatnonzero(np.append(True, cell[1:] != cell[:-1]))
