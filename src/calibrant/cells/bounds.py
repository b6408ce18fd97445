"""Bounds inside a bucket from its sums."""

from __future__ import annotations

import numpy as np

from calibrant.fits.isotonic import block_starts
from calibrant.table.pooling import BoolArray, FloatArray, NumberArray


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
