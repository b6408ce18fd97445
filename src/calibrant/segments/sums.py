"""What is known of each cell of a family: rows, positives, powers of residuals, range of the cumulative residuals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from calibrant.table.pooling import FloatArray, NumberArray, key_order

IntArray = npt.NDArray[np.int64]
# Residuals are added up as whole numbers, so that the order of equal scores cannot show; in fewer binary digits the
# more rows there are, so that all sums fit 63 bits.
_MOST_BITS, _WORD = 42, 62


@dataclass(frozen=True, eq=False)
class CellTotals:
    """Totals of the cells of a family, one entry per cell; zeros where a cell has no rows."""

    n: IntArray  # rows
    k: IntArray  # positives
    rise: FloatArray  # sum of 1 - s over positives
    fall: FloatArray  # sum of s over negatives
    squares: FloatArray  # sums of squared residuals and of their squares
    fourths: FloatArray
    value: FloatArray  # range of the cumulative residuals over the rows of the cell: its calibration error
    at_most: FloatArray  # more than `value` only where buckets of scores can hide the highest or lowest point
    low: FloatArray  # (low, high] attains the error; -inf if it starts below all scores, NaN if there is none
    high: FloatArray
    sign: IntArray  # 1 if residuals add up to more than 0 over that interval, -1 if to less, 0 if there is none

    def pick(self, which: npt.NDArray[np.generic]) -> CellTotals:
        """Return some of the cells."""
        return CellTotals(*(getattr(self, field.name)[which] for field in fields(self)))

    @property
    def mean_predicted(self) -> FloatArray:
        """Mean score."""
        return np.asarray((self.k - self.rise + self.fall) / self.n)

    @property
    def brier(self) -> FloatArray:
        """Mean squared residual."""
        return np.asarray(self.squares / self.n)

    @property
    def null_variance(self) -> FloatArray:
        """Mean of s (1 - s), the Brier score expected if scores were right."""
        return np.asarray(np.maximum(0.0, self.rise + self.fall - self.squares) / self.n)


@dataclass(frozen=True, eq=False)
class SortedRows:
    """Rows in the order of their scores."""

    score: FloatArray
    positive: npt.NDArray[np.bool_]

    def totals(self, code: IntArray, cells: int) -> CellTotals:
        """Add up the rows of each cell, of which `code` is the number of that of each row, from 0 to ``cells - 1``."""
        away = np.where(self.positive, 1.0 - self.score, self.score)
        squares = away * away
        n = np.bincount(code, minlength=cells).astype(np.int64)
        k = np.bincount(code[self.positive], minlength=cells).astype(np.int64)
        risen = _added(code[self.positive], away[self.positive], cells)
        squared, fourths = (_added(code, each, cells) for each in (squares, squares * squares))
        sums = (n, k, risen, _added(code, away, cells) - risen, squared, fourths)
        del away, squares
        bits = min(_MOST_BITS, _WORD - math.ceil(math.log2(len(code) + 1)))
        order = key_order(code)
        score = self.score[order]
        units = (score * 2.0**bits + 0.5).astype(np.int64)
        steps = np.where(self.positive[order], (1 << bits) - units, -units)
        same_cell = np.repeat(np.arange(cells), n)
        ends = np.append((score[1:] != score[:-1]) | (same_cell[1:] != same_cell[:-1]), True)
        value, low, high, sign = _ranges(n, np.cumsum(steps), score, ends)
        value = value * (2.0**-bits / np.maximum(n, 1))
        return CellTotals(*sums, value, value, low, high, sign)


def bucket_totals(
    code: IntArray, cells: int, bucket: IntArray, sums: Sequence[NumberArray], width: float
) -> CellTotals:
    """Add up sums of rows by cell and bucket of scores, as `SortedRows.totals`: an entry for each, in any order.

    `sums` are the first six of `CellTotals`. Buckets are counted from 0; scores are known as their ends.
    """
    order = key_order(code * (int(bucket.max(initial=0)) + 1) + bucket)
    code, bucket = code[order], bucket[order]
    starts = np.flatnonzero(np.append(True, (np.diff(code) != 0) | (np.diff(bucket) != 0))[: len(code)])
    n, k, rise, fall, squares, fourths = (np.add.reduceat(each[order], starts) for each in sums)
    code, end = code[starts], np.minimum(1.0, (bucket[starts] + 1) * width)
    entries = np.bincount(code, minlength=cells)
    after = np.cumsum(rise - fall)
    value, low, high, sign = _ranges(entries, after, end, np.ones(len(after), dtype=bool))
    # Inside a bucket the walk is never above where all that raises it comes first, nor below where it comes last.
    before = after - (rise - fall)
    base = before[np.repeat(np.cumsum(entries) - entries, entries)]
    top, bottom = np.zeros(cells), np.zeros(cells)
    np.maximum.at(top, code, before - base + rise)
    np.minimum.at(bottom, code, before - base - fall)
    rows, positives = (np.round(_added(code, each, cells)).astype(np.int64) for each in (n, k))
    rise, fall, squares, fourths = (_added(code, each, cells) for each in (rise, fall, squares, fourths))
    total = np.maximum(rows, 1)
    at_most = np.minimum(1.0, (top - bottom) / total)
    return CellTotals(rows, positives, rise, fall, squares, fourths, value / total, at_most, low, high, sign)


def _added(code: IntArray, values: NumberArray, cells: int) -> FloatArray:
    return np.bincount(code, values, cells).astype(np.float64)


def _ranges(
    n: IntArray, after: NumberArray, score: FloatArray, ends: npt.NDArray[np.bool_]
) -> tuple[FloatArray, FloatArray, FloatArray, IntArray]:
    """Range of a walk within each cell, and the interval and direction of it.

    The walk is `after` each entry, in the order of cells, of `n` entries each, and of scores; it is read at `ends`.
    """
    cells = len(n)
    value, low, high = np.zeros(cells), np.full(cells, np.nan), np.full(cells, np.nan)
    sign = np.zeros(cells, dtype=np.int64)
    there = np.flatnonzero(n)
    if not len(there):
        return value, low, high, sign
    starts = (np.cumsum(n) - n)[there]
    base = np.append(np.zeros(1, dtype=after.dtype), after)[starts]
    read = np.flatnonzero(ends)
    firsts = np.searchsorted(read, starts)
    walk = after[read] - np.repeat(base, np.diff(firsts, append=len(read)))
    points = score[read]
    top, at_top = _extreme(walk, firsts)
    bottom, at_bottom = _extreme(-walk, firsts)
    value[there] = (top + bottom).astype(np.float64)
    climbs = np.where(at_bottom < 0, True, np.where(at_top < 0, False, at_top > at_bottom))
    begin, end = np.where(climbs, at_bottom, at_top), np.where(climbs, at_top, at_bottom)
    some = (top + bottom) > 0
    low[there] = np.where(some, np.where(begin < 0, -np.inf, points[begin]), np.nan)
    high[there] = np.where(some, points[end], np.nan)
    sign[there] = np.where(some, np.where(climbs, 1, -1), 0)
    return value, low, high, sign


def _extreme(walk: NumberArray, firsts: IntArray) -> tuple[NumberArray, IntArray]:
    """Return the highest point of each walk, at least its start at 0, and the first place it is at; -1 at its start."""
    top = np.maximum(np.maximum.reduceat(walk, firsts), 0)
    reached = np.where(walk == np.repeat(top, np.diff(firsts, append=len(walk))), np.arange(len(walk)), len(walk))
    place = np.minimum.reduceat(reached, firsts)
    return top, np.where(top > 0, place, -1)
