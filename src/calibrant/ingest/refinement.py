"""Scan by scan to the answer: which buckets can hold it is known from sums, and only these are looked into.

The first query is for sums of buckets. How far the cumulative residuals can rise and fall in a bucket is known from
its sums, and how far the cumulative sum diagram of the isotonic fit can sag; so few buckets can hold an extreme of the
walk or a corner of the fit. Those are divided again, scan by scan, until their rows are few enough to be fetched score
by score. The heaviest go first: a bucket with half of the rows at one score in it leaves nothing certain until that
score stands by itself. All other buckets stay cells. Any source of rows will do that can answer two questions, both of
them plain aggregations.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from calibrant.ingest.bounds import (
    beside_corner,
    beside_turn,
    can_hold_corner,
    can_hold_extreme,
    can_hold_turn,
    rounding_slack,
)
from calibrant.ingest.bucket_sums import BucketSums
from calibrant.ingest.grid import BucketSet, Grid
from calibrant.table.fixed_point import score_units
from calibrant.table.pooling import Pooled, score_order

__all__ = ["Resolved", "Rows", "coarsened", "refined"]

LATER_BITS = 17  # into how many all buckets of one later scan are divided together
_LEAST_BITS = 2  # into how many one of them is divided at least
_HEAVY = 64  # buckets in which the walk can move so many times less wait until the heaviest are divided


class Rows(Protocol):
    """A source of rows that can be asked more than once."""

    def bucket_sums(self, grid: Grid, buckets: BucketSet | None) -> BucketSums:
        """Add up the buckets of a grid, over the rows in some buckets or over all."""
        ...

    def pooled_scores(self, buckets: BucketSet | None) -> Pooled:
        """Return distinct scores in some buckets, or all, with rows and positives at each."""
        ...


class Resolved(NamedTuple):
    """Cells in which no part of the answer is expected, and the grid of the buckets that they are made of.

    Between two cells no bucket is cut, and no block of the isotonic fit ends inside one.
    """

    sums: BucketSums
    grid: Grid

    def buckets(self, which: npt.NDArray[np.bool_]) -> BucketSet:
        """Return the buckets of some of them."""
        low, high = (self.grid.place(score_units(ends[which])) for ends in (self.sums.low, self.sums.high))
        count = high - low + 1
        within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        return BucketSet(self.grid, np.repeat(low, count) + within)


def refined(
    rows: Rows, first: BucketSums, grid: Grid, *, most: float, widest: Grid, resolved: Resolved | None = None
) -> BucketSums:
    """Divide buckets until the cumulative residuals and the isotonic fit are exact; return sums of all rows.

    `first` has sums over the buckets of `grid`, or over single scores, of all rows that are not in `resolved`; if the
    walk turns out to be able to turn in there, those rows are looked at again. At most `most` rows, or so much weight,
    are fetched score by score. The buckets of `widest` are the widest cells of the result, see `coarsened`.
    """
    held, grids = [first], [grid]
    rest = [] if resolved is None else [resolved.sums]
    while True:
        *wanted, doubtful = _wanted(held, rest)
        open_rows = sum(sums.n[which].sum() for sums, which in zip(held, wanted, strict=True))
        if not open_rows:
            if resolved is None or not doubtful.any():
                return coarsened(BucketSums.joined([*held, *rest]), widest)
            buckets = resolved.buckets(doubtful)
            resolved = Resolved(resolved.sums.pick(~doubtful), resolved.grid)
            rest = [resolved.sums]
            held.append(rows.bucket_sums(resolved.grid, buckets))
            grids.append(resolved.grid)
            continue
        spread = [np.where(which, sums.sums()[:2].sum(axis=0), 0.0) for sums, which in zip(held, wanted, strict=True)]
        level = int(np.argmax([each.max(initial=0.0) for each in spread]))
        chosen = wanted[level]
        if open_rows > most:
            # What little is known of the heaviest buckets also keeps others open, so these wait for them.
            chosen &= spread[level] >= spread[level].max() / _HEAVY
        part, grid = held[level].pick(chosen), grids[level]
        held[level] = held[level].pick(~chosen)
        buckets = BucketSet(grid, part.bucket)
        if part.n.sum() <= most or grid.shift == 0:
            held.append(BucketSums.of_scores(*rows.pooled_scores(buckets)))
        else:
            grid = grid.finer(max(_LEAST_BITS, LATER_BITS - len(part).bit_length()))
            held.append(rows.bucket_sums(grid, buckets))
        grids.append(grid)


def _wanted(held: list[BucketSums], rest: list[BucketSums]) -> list[npt.NDArray[np.bool_]]:
    """Tell which buckets hold several scores and perhaps a part of the answer; of the rest, a turn of the walk."""
    everything = BucketSums.joined([*held, *rest])
    order = score_order(everything.low)
    everything = everything.pick(order)
    rise, fall, *_ = everything.sums()
    slack = rounding_slack(rise, fall)
    single = everything.low == everything.high
    turns = can_hold_extreme(rise, fall, slack) | can_hold_turn(rise, fall, single, slack)
    corners = can_hold_corner(everything.n, everything.k)
    corners &= order < sum(map(len, held))
    wanted = np.empty_like(single)
    wanted[order] = (turns | corners) & ~single
    return np.split(wanted, np.cumsum([len(sums) for sums in held]))


def coarsened(sums: BucketSums, widest: Grid) -> BucketSums:
    """Put scores together that were looked at one by one where in the end nothing was found.

    `sums` are of all rows, with exact cumulative residuals and isotonic fit. The buckets of `widest` are the widest
    cells; each given one lies in one of them. In the result, in increasing order, the walk and the fit still are exact,
    and it can be seen that no cell hides more of the range of the walk: where a widest cell could, nothing is put
    together.
    """
    sums = sums.pick(score_order(sums.low))
    cell = widest.place(score_units(sums.low))
    first = np.flatnonzero(np.append(True, cell[1:] != cell[:-1]))
    rise, fall, *_ = sums.sums()
    slack = rounding_slack(rise, fall)
    turning = can_hold_extreme(np.add.reduceat(rise, first), np.add.reduceat(fall, first), slack)
    apart = np.repeat(turning, np.diff(first, append=len(cell)))
    apart |= beside_turn(rise, fall, slack) | beside_corner(sums.n, sums.k)
    begins = np.append(True, apart[1:] | apart[:-1] | (cell[1:] != cell[:-1]))
    return sums.in_runs(np.flatnonzero(begins))
