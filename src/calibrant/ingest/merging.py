"""Make one cell of neighbours that turned out to hold no part of the answer."""

from __future__ import annotations

import numpy as np

from calibrant.ingest.bounds import beside_corner, beside_turn, can_hold_extreme, rounding_slack
from calibrant.ingest.bucket_sums import BucketSums
from calibrant.ingest.grid import Grid
from calibrant.table.fixed_point import score_units
from calibrant.table.pooling import score_order

__all__ = ["coarsened"]


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
