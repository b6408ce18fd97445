"""Cut the scores into cells, wide where neither the cumulative residuals nor the isotonic fit can turn."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from calibrant.ingest.bounds import beside_corner, can_hold_corner, can_hold_extreme, can_hold_turn, rounding_slack
from calibrant.ingest.histogram import BucketCounts
from calibrant.table.fixed_point import BITS, IntArray
from calibrant.table.pooling import FloatArray, NumberArray

__all__ = ["Partition", "cut"]

_STEP = 4  # into how many a run of buckets is divided at a time
_TINY = 2.0**-60  # more than nothing: it is not known whether the walk stands still inside a run
_HEAVY = 2.0**-12  # share of all rows from which on a bucket is looked into anyway


@dataclass(frozen=True, eq=False)
class Partition:
    """Cells, each a run of buckets, some of which may hold no row."""

    starts: IntArray  # first bucket of each cell
    ends: IntArray  # one after its last bucket
    n: NumberArray  # rows, or weight; all positive
    k: NumberArray  # positives, or their weight
    # Cells, of one bucket each, in which a part of the answer may be; no part is in the others if the heaviest
    # buckets hold a single score each.
    pending: npt.NDArray[np.bool_]


def cut(counts: BucketCounts) -> Partition:
    """Divide the blocks that can hold a part of the answer until each part of it is in a single bucket.

    The cells are in increasing order and together hold all rows; none is wider than a block.
    """
    # A bucket with half of the rows, such as at one score, would leave nothing certain anywhere. So the heaviest are
    # taken to be single scores, and pending.
    heavy = counts.n > _HEAVY * counts.n.sum(dtype=np.float64)
    runs = _first_runs(counts, heavy)
    while True:
        single = (runs.width == 1) & heavy[runs.start]
        walk = _can_turn(counts, runs, single)
        # Blocks of the fit are told by their first and last score, so these have to be looked at too.
        wanted = walk | single | can_hold_corner(runs.n, runs.k) | beside_corner(runs.n, runs.k)
        wide = wanted & (runs.width > 1)
        if not wide.any():
            return _joined(runs, wanted)
        runs = _divided(counts, runs, wide, walk)


@dataclass(frozen=True, eq=False)
class _Runs:
    """Runs of buckets that hold rows, in increasing order; `n` to `fall` as `BucketCounts.sums` gives them."""

    start: IntArray  # first bucket
    width: IntArray  # how many buckets
    # Where the widest run begins of which it is a part and of which it is known that the walk cannot turn in it.
    home: IntArray
    resolved: npt.NDArray[np.bool_]  # whether there is one
    n: NumberArray
    k: NumberArray
    rise: FloatArray
    fall: FloatArray

    def pick(self, which: npt.NDArray[np.generic]) -> _Runs:
        return _Runs(*(getattr(self, field.name)[which] for field in fields(self)))


def _runs(
    counts: BucketCounts, start: IntArray, width: IntArray, home: IntArray, resolved: npt.NDArray[np.bool_]
) -> _Runs:
    sums = counts.sums(start, start + width)
    return _Runs(start, width, home, resolved, *sums).pick(np.flatnonzero(sums[0] > 0))


def _first_runs(counts: BucketCounts, heavy: npt.NDArray[np.bool_]) -> _Runs:
    """Return the blocks; in place of those with a heavy bucket, their buckets."""
    size = 1 << counts.bits
    width = np.where(np.logical_or.reduceat(heavy, np.arange(0, counts.size, size)), 1, size)
    width = np.repeat(width, size // width)
    start = np.cumsum(width) - width
    return _runs(counts, start, width, start, np.zeros(len(start), dtype=np.bool_))


def _divided(counts: BucketCounts, runs: _Runs, which: npt.NDArray[np.bool_], walk: npt.NDArray[np.bool_]) -> _Runs:
    """Divide some runs; `walk` tells of all in which the walk could turn."""
    parents, others = runs.pick(which), runs.pick(~which)
    width = np.maximum(1, parents.width // _STEP)
    parts = parents.width // width
    number = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
    width, begin, home, resolved = (
        np.repeat(values, parts) for values in (width, parents.start, parents.home, parents.resolved | ~walk[which])
    )
    start = begin + number * width
    children = _runs(counts, start, width, np.where(resolved, home, start), resolved)
    place = np.searchsorted(others.start, children.start)
    return _Runs(
        *(np.insert(getattr(others, field.name), place, getattr(children, field.name)) for field in fields(_Runs))
    )


def _made_exact(counts: BucketCounts, runs: _Runs) -> tuple[FloatArray, FloatArray]:
    """Put what the middles of buckets get wrong in a block on its last run, so that sums over blocks are exact."""
    block = runs.start >> counts.bits
    begins = np.flatnonzero(np.append(True, block[1:] != block[:-1]))
    last = np.append(begins[1:], len(block)) - 1
    rise, fall = runs.rise.copy(), runs.fall.copy()
    for values, exact in zip((rise, fall), counts.block_sums(), strict=True):
        values[last] += exact[block[last]] - np.add.reduceat(values, begins)
    # The rest may be negative. Adding the same to both moves no edge and only widens what the walk can reach inside.
    short = np.maximum(0.0, -np.minimum(rise, fall)) + _TINY
    return rise + short, fall + short


def _can_turn(counts: BucketCounts, runs: _Runs, single: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    rise, fall = _made_exact(counts, runs)
    # Four places of the walk are compared, each off by up to half the width of a bucket for every row of its block,
    # and as much again where the last run of the block makes up for it.
    slack = 4.0 * counts.most_in_block() * 2.0 ** (counts.grid.shift - BITS)
    slack += rounding_slack(rise, fall)
    found = can_hold_extreme(rise, fall, slack)
    if runs.k.any() and (runs.k < runs.n).any():  # of one class the walk goes one way only, from end to end
        found |= can_hold_turn(rise, fall, single, slack)
    return found


def _joined(runs: _Runs, wanted: npt.NDArray[np.bool_]) -> Partition:
    """Make cells of the runs: one of neighbours that hold no part of the answer and have the same home.

    An edge at which blocks of the fit meet is between cells that are wanted.
    """
    begins = np.append(True, wanted[1:] | wanted[:-1] | (runs.home[1:] != runs.home[:-1]))
    first = np.flatnonzero(begins)
    last = np.append(first[1:], len(begins)) - 1
    n, k = np.add.reduceat(runs.n, first), np.add.reduceat(runs.k, first)
    return Partition(runs.start[first], runs.start[last] + runs.width[last], n, k, wanted[first])
