"""Bounds inside a bucket from its sums."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from calibrant.cells.bucket_sums import BucketSet, BucketSums, DoubleGrid, Grid, GridSums, Intervals
from calibrant.fits.isotonic import block_starts
from calibrant.table.pooling import (
    BoolArray,
    FloatArray,
    IndexArray,
    NumberArray,
    Pooled,
    merged_order,
    run_starts,
    score_order,
)
from calibrant.table.validation import check_same_rows


def rounding_slack(rise: FloatArray, fall: FloatArray) -> float:
    """Return how far the walk, added up in floats from these sums, can be off; far more than it is."""
    return 1e-9 * max(1.0, float(rise.sum()), float(fall.sum()))


def can_hold_extreme(rise: FloatArray, fall: FloatArray, slack: float) -> BoolArray:
    """Tell which buckets can hold the highest or lowest point of the walk strictly inside them.

    `rise` and `fall` are sums of `1 - s` over the positives and of `s` over the negatives of each bucket, in the order
    of scores; `slack` is how far they can be off by rounding. False only where the walk provably stays within what its
    bucket edges show: it is highest if all positives come first, ``before + rise``, which is ``after + fall``.
    """
    after = np.cumsum(rise - fall)
    before = after - (rise - fall)
    top, bottom = max(float(after.max()), 0.0), min(float(after.min()), 0.0)
    above, below = before + rise > top - slack, before - fall < bottom + slack
    return np.asarray((above | below) & (rise + fall > 0.0))


def can_hold_turn(rise: FloatArray, fall: FloatArray, closed: BoolArray, slack: float) -> BoolArray:
    """Tell which buckets can hold an end of the largest climb or drop of the walk, inside or at an edge.

    The inside of a `closed` bucket does not count: it holds one score, or no such end is there. The rest is as for
    `can_hold_extreme`: False only where a climb or drop that begins or ends there is provably not the largest; with a
    negative slack, where it is not larger than that at bucket edges by more than so much.
    """
    after = np.cumsum(rise - fall)
    before = after - (rise - fall)
    top = np.where(closed, np.maximum(before, after), before + rise)
    bottom = np.where(closed, np.minimum(before, after), before - fall)
    possible = np.zeros(len(rise), dtype=np.bool_)
    if rise.any():  # else every place ends a climb of 0, the largest
        possible |= _can_end(np.append(0.0, after), top, bottom, slack)
    if fall.any():
        possible |= _can_end(np.append(0.0, -after), -bottom, -top, slack)
    return np.asarray(possible & (rise + fall > 0.0))


def _can_end(edges: FloatArray, top: FloatArray, bottom: FloatArray, slack: float) -> BoolArray:
    """Tell where the largest climb can begin or end, from the walk at the edges and its limits inside buckets.

    A climb inside one bucket is at most its rise, which is how far its top is above the edge before it.
    """
    enough = float((edges - np.minimum.accumulate(edges)).max()) - slack
    lowest_before = np.minimum.accumulate(np.minimum(edges[:-1], np.append(np.inf, bottom[:-1])))
    highest_after = np.maximum.accumulate(np.maximum(edges[1:], np.append(top[1:], -np.inf))[::-1])[::-1]
    return np.asarray((top - lowest_before > enough) | (highest_after - bottom > enough))


def find_corners(n: NumberArray, k: NumberArray) -> tuple[BoolArray, BoolArray]:
    """Tell which buckets can hold an end of a block of the isotonic fit strictly inside, and which lie beside one.

    All `n` are positive. The first is False only where neither the plain fit nor the log-safe one can have such an end.
    Blocks end at corners of the greatest convex minorant of the points (rows, positives) added up in the order of
    scores. Inside a bucket these points lie on or above the path that takes all its negatives first. If the turn of
    that path is on or above the minorant of the bucket edges, the minorant of all points has no corner inside. The half
    rows of the log-safe fit are further points, so its minorant is nowhere higher and needs no test of its own.

    The second tells which buckets begin or end a block of the isotonic fit of the buckets. Half rows before the first
    score and after the last, as in the log-safe fit, add no other: the corners of a minorant of more points are corners
    of that of fewer.
    """
    rows, positives = n.astype(np.float64), k.astype(np.float64)
    starts = block_starts(rows, positives)
    slope = np.repeat(
        np.add.reduceat(positives, starts) / np.add.reduceat(rows, starts), np.diff(starts, append=len(rows))
    )
    minorant = np.cumsum(slope * rows) - slope * rows
    before = np.cumsum(positives) - positives
    slack = 1e-9 * max(1.0, float(rows.sum()))
    sags = before < minorant + slope * (rows - positives) + slack
    beside = np.zeros(len(n), dtype=np.bool_)
    beside[starts] = True
    beside[starts - 1] = True  # that before the first block is the last bucket
    return np.asarray(sags & (positives > 0.0) & (positives < rows)), beside


def beside_turn(rise: FloatArray, fall: FloatArray, slack: float) -> BoolArray:
    """Tell which buckets lie on either side of an end of the largest climb or drop of the walk, unless that is 0."""
    edges = np.append(0.0, np.cumsum(rise - fall))
    end = np.zeros(len(edges), dtype=np.bool_)
    if rise.any():
        end |= _ends_climb(edges, slack)
    if fall.any():
        end |= _ends_climb(-edges, slack)
    return np.asarray(end[1:] | end[:-1])


def _ends_climb(edges: FloatArray, slack: float) -> BoolArray:
    """Tell at which edges the largest climb of a walk begins or ends."""
    up_to = edges - np.minimum.accumulate(edges)
    from_here = np.maximum.accumulate(edges[::-1])[::-1] - edges
    enough = float(up_to.max()) - slack
    return np.asarray((up_to >= enough) | (from_here >= enough))


LATER_BITS = 17  # into about how many all buckets of one later scan are divided together
_LEAST_BITS = 2  # into how many one of them is divided at least
# Beyond so many rows the largest climb and the largest drop of the walk, the smaller of which is not the calibration
# error, are looked for to this share of the rows. Where scores are too high everywhere, the largest climb is that of a
# few dozen rows however many there are, and nearly every bucket could hold it.
_MANY = 1 << 24
_NEGLIGIBLE = 2.0**-23
_KEPT = 8  # times as many rows can be kept as can be told apart score by score
_PARTS = 4  # rows in memory can be asked again and again, so only a part as many are looked at score by score at once
_NARROWER_BITS = 5  # by so much narrower cells are tried where the walk may turn in a wider one
_HEAVY = 64  # buckets in which the walk can move so many times less wait until the heaviest are divided


class RowSource(Protocol):
    """A source of rows that can be asked more than once."""

    def bucket_sums(self, grid: Grid, buckets: BucketSet) -> BucketSums:
        """Add up the buckets of a grid, over the rows in some wider buckets."""

    def pool_scores(self, buckets: BucketSet | Intervals) -> Pooled:
        """Return distinct scores in some buckets, with rows and positives at each."""

    def limits(self, buckets: BucketSet) -> BucketSums:
        """Return the sums of some buckets with the least and the largest score in each."""

    def double_sums(self, grid: DoubleGrid) -> BucketSums:
        """Add up the buckets of a grid of doubles, or of a finer one."""

    def keep(self, buckets: BucketSet | Intervals) -> RowSource:
        """Return the rows in some buckets, which are few, in memory if that is where they will be added up."""


class Pending(NamedTuple):
    """Sums of all rows, once it is known where an extreme or a block boundary may be."""

    open: BucketSums  # buckets of `grid` that are to be looked into
    resolved: BucketSums  # cells of all others, in which there is none
    grid: Grid


class _Level(NamedTuple):
    """Buckets of one grid, some of them perhaps to be looked into, and the rows that are asked for that."""

    sums: BucketSums
    grid: Grid | DoubleGrid
    rows: RowSource


def refine(
    rows: RowSource, first: Pending, *, most: float, widest: Grid, corners: bool = True, scans: int | None = None
) -> BucketSums:
    """Divide buckets until the cumulative residuals and the isotonic fit are exact; return sums of all rows.

    At most `most` rows, or so much weight, are fetched score by score. The buckets of `widest` are the widest cells of
    the result, see `coarsen`. Without `corners` the isotonic fit is that of the cells. So it is if too many rows are
    left for the last of so many `scans`; then the cumulative residuals may be known within limits only.
    """
    levels, resolved = [_Level(first.open, first.grid, rows)], first.resolved
    while scans is None or scans > 0:
        open_rows = sum(level.sums.n.sum() for level in levels)
        if corners and scans == 1 and open_rows > most:
            corners = False
            levels, resolved = _settle(levels, resolved, widest, corners)
            continue
        if not open_rows:
            break
        spread = [level.sums.sums().sum(axis=0) for level in levels]
        widest_spread = int(np.argmax([each.max(initial=-1.0) for each in spread]))
        sums, grid, source = levels[widest_spread]
        if source is rows and sums.n.sum() <= _KEPT * most:
            source = rows.keep(_buckets(sums, grid))
        at_once = most if source is rows else most / _PARTS
        chosen = _choose(sums, spread[widest_spread], at_once, open_rows, scans)
        if not chosen.any():
            break
        levels[widest_spread] = _Level(sums.pick(~chosen), grid, source)
        levels.append(_look_into(sums.pick(chosen), grid, source, at_once))
        del sums
        levels, resolved = _settle(levels, resolved, widest, corners)
        scans = None if scans is None else scans - 1
    return coarsen(BucketSums.joined([*(level.sums for level in levels), resolved]), widest)


def _choose(sums: BucketSums, spread: FloatArray, most: float, open_rows: float, scans: int | None) -> BoolArray:
    """Choose the buckets of a level that are looked into now; none if none of the `scans` left could hold one."""
    everything = np.ones(len(sums), dtype=np.bool_)
    if open_rows <= most:
        return everything
    pure = sums.pure
    if scans is None and sums.n[pure].sum() > max(most, 0.0):
        return pure  # of which the limits are all that is wanted; few scans, as of engines, are to divide others
    # What little is known of the heaviest buckets also keeps others open: where they are few, they go first.
    heavy = spread >= spread.max() / _HEAVY
    chosen = heavy if 2 * heavy.sum() < len(sums) else everything
    if scans == 1:
        heaviest = score_order(-spread)
        chosen[heaviest[np.cumsum(sums.n[heaviest]) > most]] = False
    return chosen


def _buckets(sums: BucketSums, grid: Grid | DoubleGrid) -> BucketSet | Intervals:
    return BucketSet(grid, sums.bucket) if isinstance(grid, Grid) else Intervals(sums.low, sums.high)


def _look_into(part: BucketSums, grid: Grid | DoubleGrid, source: RowSource, most: float) -> _Level:
    """Ask for the rows of some buckets: score by score if they are few, else in narrower buckets.

    Of many buckets of one class, each, only the limits are asked for.
    """
    buckets, bits = _buckets(part, grid), max(_LEAST_BITS, LATER_BITS - len(part).bit_length())
    if part.n.sum() <= most:
        sums = BucketSums.of_scores(*source.pool_scores(buckets))
    elif isinstance(buckets, BucketSet) and part.pure.all():
        sums = source.limits(buckets)
    elif isinstance(buckets, BucketSet) and buckets.grid.shift:
        grid = buckets.grid.finer(bits)
        sums = source.bucket_sums(grid, buckets)
    else:
        grid = DoubleGrid(buckets, part.low, part.high, bits)
        sums = source.double_sums(grid)
    if part.n.dtype.kind == "i" and sums.n.dtype.kind == "i":
        check_same_rows(*((int(each.n.sum()), int(each.k.sum())) for each in (part, sums)))
    return _Level(sums, grid, source)


def split_pending(first: BucketSums | GridSums, grid: Grid, widest: Grid, *, corners: bool = True) -> Pending:
    """Tell, from the sums of all rows over the buckets of a grid, which of them are to be looked into."""
    uncertain, resolved = _sort_out(first, np.ones(len(first.bucket), dtype=np.bool_), widest, corners)
    return Pending(first.pick(uncertain), resolved, grid)


def _settle(levels: list[_Level], resolved: BucketSums, widest: Grid, corners: bool) -> tuple[list[_Level], BucketSums]:
    """Keep of each level what is still to be looked into, and put the rest together with what is `resolved`."""
    ends = np.cumsum([len(level.sums) for level in levels])
    everything = BucketSums.joined([*(level.sums for level in levels), resolved])
    order = merged_order(everything.low)
    which = np.empty(len(everything), dtype=np.bool_)
    which[order], resolved = _sort_out(everything.pick(order), order < ends[-1], widest, corners)
    del everything
    uncertain = np.split(which, ends)
    settled = [level._replace(sums=level.sums.pick(each)) for level, each in zip(levels, uncertain, strict=False)]
    return settled, resolved


def _sort_out(
    sums: BucketSums | GridSums, unresolved: BoolArray, widest: Grid, corners: bool
) -> tuple[BoolArray, BucketSums]:
    """Tell which `unresolved` buckets, of all in increasing order, are to be looked into; put the others together.

    What is put together is proved to hold no extreme, no end of the largest climb or drop, and no block boundary even
    if nothing more is ever known.
    """
    rise, fall = sums.sums()
    rows, slack = float(sums.n.sum()), rounding_slack(rise, fall)
    spare = rows * _NEGLIGIBLE if rows > _MANY else 0.0
    looked_into = sums.settled | ~unresolved
    turning = can_hold_turn(rise, fall, looked_into, slack - spare)
    uncertain, beside = find_corners(sums.n, sums.k)
    # Blocks of the fit are told by their first and last score, so these have to be looked at too.
    uncertain = (uncertain | beside) & corners
    uncertain |= turning | can_hold_extreme(rise, fall, slack)
    uncertain &= ~looked_into
    begins = _cell_starts(sums.low, rise, fall, uncertain | turning | beside, widest)
    cells = sums.in_runs(begins)
    return uncertain, cells.pick(~uncertain[begins])


def _cell_starts(low: FloatArray, rise: FloatArray, fall: FloatArray, apart: BoolArray, widest: Grid) -> IndexArray:
    """Tell where cells begin that are put together of neighbours in the same bucket of `widest`.

    Where that could hide more of the range of the walk they are in the same narrower one. Those `apart` stay as they
    are, and those beside ends of the largest climb or drop of the walk.
    """
    slack = rounding_slack(rise, fall)
    begins = np.zeros(len(low), dtype=np.bool_)
    inside, grid = np.arange(len(low)), widest
    while True:
        begins[inside[run_starts(grid.bucket_of(low[inside]))]] = True
        starts = np.flatnonzero(begins)
        hiding = can_hold_extreme(np.add.reduceat(rise, starts), np.add.reduceat(fall, starts), slack)
        inside = np.flatnonzero(np.repeat(hiding, np.diff(starts, append=len(low))))
        if not grid.shift or not len(inside):
            break
        grid = grid.finer(_NARROWER_BITS)
    apart = apart | beside_turn(rise, fall, slack)
    apart[inside] = True
    begins[1:] |= apart[1:] | apart[:-1]
    return np.flatnonzero(begins)


def coarsen(sums: BucketSums, widest: Grid) -> BucketSums:
    """Put scores together that were looked at one by one where in the end nothing was found.

    `sums` are of all rows, with exact cumulative residuals and isotonic fit. The buckets of `widest` are the widest
    cells; each given one lies in one of them. In the result, in increasing order, the walk and the fit still are exact,
    and it can be seen that no cell hides more of the range of the walk: where one could, cells are narrower.
    """
    sums = sums.pick(score_order(sums.low))
    rise, fall = sums.sums()
    _, beside = find_corners(sums.n, sums.k)
    return sums.in_runs(_cell_starts(sums.low, rise, fall, beside, widest))
