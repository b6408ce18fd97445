"""Scan by scan to the answer: which buckets can hold it is known from sums, and only these are looked into.

The first scan adds up buckets. How far the residual walk can climb and drop inside a bucket is known from its sums,
and how far the cumulative sum diagram of the isotonic fit can sag; so few buckets can hold an extreme of the walk or a
corner of the fit. Those are divided again, scan by scan, until their rows are few enough to be fetched score by score.
The heaviest go first: a bucket with half of the rows at one score in it leaves nothing certain until that score stands
by itself. All other buckets stay cells. Any source of rows will do that can answer two questions, both of them plain
aggregations.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from calibrant.core.bounds import can_hold_corner, can_hold_extreme, can_hold_turn
from calibrant.core.bucket_sums import BucketSums
from calibrant.core.grid import Grid, Zone
from calibrant.core.pooling import Pooled, score_order

__all__ = ["FIRST_BITS", "MOST_BUCKETS", "MOST_DISTINCT", "Rows", "refined"]

# Up to so many different scores each has its own row in a table; beyond, neighbours share cells.
MOST_DISTINCT = 2_000_000
MOST_BUCKETS = 1 << 18  # that hold rows, in a first scan that chooses their width as it goes
FIRST_BITS = 18  # two to this power buckets in a first scan that cannot
LATER_BITS = 17  # into how many all buckets of one later scan are divided together
_LEAST_BITS = 2  # into how many one of them is divided at least
_HEAVY = 64  # buckets in which the walk can move so many times less wait until the heaviest are divided


class Rows(Protocol):
    """A source of rows that can be asked more than once."""

    def bucket_sums(self, grid: Grid, zone: Zone | None) -> BucketSums:
        """Add up the buckets of a grid, over the rows in a zone or over all."""
        ...

    def pooled_scores(self, zone: Zone | None) -> Pooled:
        """Return distinct scores in a zone, or all, with rows and positives at each."""
        ...


def refined(rows: Rows, first: BucketSums, grid: Grid, *, most: float) -> BucketSums:
    """Divide buckets until the residual walk and the isotonic fit are exact.

    Parameters
    ----------
    rows : Rows
        Where to look again.
    first : BucketSums
        Sums over the buckets of `grid`, of all rows.
    grid : Grid
        The buckets of the first scan.
    most : float
        Rows, or weight, that may be fetched score by score.

    Returns
    -------
    BucketSums
        Sums of all rows, in any order. Where the answer can lie each has a single score.
    """
    held, grids = [first], [grid]
    while True:
        wanted = _wanted(held)
        open_rows = sum(sums.n[which].sum() for sums, which in zip(held, wanted, strict=True))
        if not open_rows:
            return BucketSums.joined(held)
        spread = [np.where(which, sums.sums()[:2].sum(axis=0), 0.0) for sums, which in zip(held, wanted, strict=True)]
        level = int(np.argmax([each.max(initial=0.0) for each in spread]))
        chosen = wanted[level]
        if open_rows > most:
            # What little is known of the heaviest buckets also keeps others open, so these wait for them.
            chosen &= spread[level] >= spread[level].max() / _HEAVY
        part, grid = held[level].pick(chosen), grids[level]
        held[level] = held[level].pick(~chosen)
        zone = Zone(grid, part.bucket)
        if part.n.sum() <= most or grid.shift == 0:
            held.append(BucketSums.of_scores(*rows.pooled_scores(zone)))
        else:
            grid = grid.finer(max(_LEAST_BITS, LATER_BITS - len(part).bit_length()))
            held.append(rows.bucket_sums(grid, zone))
        grids.append(grid)


def _wanted(held: list[BucketSums]) -> list[npt.NDArray[np.bool_]]:
    """Tell which buckets hold several scores and perhaps a part of the answer."""
    everything = BucketSums.joined(held)
    order = score_order(everything.low)
    everything = everything.pick(order)
    rise, fall, *_ = everything.sums()
    slack = 1e-9 * max(1.0, float(rise.sum()), float(fall.sum()))
    single = everything.low == everything.high
    possible = can_hold_extreme(rise, fall, slack) | can_hold_turn(rise, fall, single, slack)
    possible |= can_hold_corner(everything.n, everything.k)
    wanted = np.empty_like(single)
    wanted[order] = possible & ~single
    return np.split(wanted, np.cumsum([len(sums) for sums in held])[:-1])
