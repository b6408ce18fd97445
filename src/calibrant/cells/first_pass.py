"""The first look at all rows: sums in narrow buckets, losses, and how many scores are different."""

from __future__ import annotations

import numpy as np

from calibrant.cells.bucket_sums import GridSums
from calibrant.cells.fine_sums import FineSums
from calibrant.cells.grid import BucketSet, Grid
from calibrant.cells.losses import LossTotals
from calibrant.table.pooling import ScoreArray
from calibrant.table.row_errors import describe_no_rows, describe_other_rows
from calibrant.table.validation import CleanRows
from calibrant.table.weights import WeightSums

_SIFT_BITS = 10  # one score in two to this power is remembered, to estimate how many are different
_SIFTED = 1 << 12  # so many are remembered at most
_ODD = np.int64(-7046029254386353131)  # the bits of a number times this one look random


class FirstPass:
    """Rows with weight, added up in buckets that are as narrow as their number and the range of the scores allow.

    There are at most ``2**bits + 1`` buckets. Which they are depends in the end on the rows alone, not on their order:
    whenever the range grows, what was added up before is put into wider ones, or into the same ones elsewhere.
    """

    def __init__(self, bits: int) -> None:
        self._bits = bits
        self.rows = 0
        self.low, self.high = 1.0, 0.0
        self.losses = LossTotals()
        self.weights = WeightSums()
        self._fine: FineSums | None = None
        self._remembered: set[float] = set()
        self._side = 0  # on which the spare buckets are: -1 below, 1 beyond, 0 both

    def add(self, rows: CleanRows) -> None:
        """Add rows; those without weight are passed over."""
        if rows.weight is not None and not rows.weight.all():
            rows = rows.pick(np.flatnonzero(rows.weight))
            if not len(rows.score):
                return
        low, high = float(rows.score.min()), float(rows.score.max())
        if not 0.0 <= low <= high <= 1.0:  # as of a NaN
            raise describe_other_rows("a score that is no number from 0 to 1 where the first reading had none")
        self._cover(low, high).add(rows)
        self.losses.add_rows(rows)
        self.rows += len(rows.score)
        if rows.weight is not None:
            self.weights += WeightSums.of(rows.weight)
        if len(self._remembered) < _SIFTED:
            self._sift(rows.score)

    @property
    def different(self) -> int:
        """About how many scores are different: 2% is a usual error. Beyond four million all numbers are alike."""
        return len(self._remembered) << _SIFT_BITS

    def sums(self, bits: int) -> GridSums:
        """Return the sums over at most ``2**bits + 1`` buckets, no more than asked for at first; ends the pass."""
        if self._fine is None:
            raise describe_no_rows()
        return self._fine.sums().coarser(Grid.over(self.low, self.high, bits=bits))

    @property
    def whole(self) -> bool:
        """Whether all weights are whole numbers, and so small that they are added up as such."""
        return self._fine is not None and self._fine.whole

    def _cover(self, low: float, high: float) -> FineSums:
        """See to it that scores in a range have buckets."""
        below, beyond = low < self.low, high > self.high
        if self._fine is not None and not below and not beyond:
            return self._fine
        self.low, self.high = min(low, self.low), max(high, self.high)
        grid = Grid.over(self.low, self.high, bits=self._bits)
        first, last = grid.bucket_of(np.array([self.low, self.high])).tolist()
        before = self._fine
        if before is not None and before.grid == grid and before.inside.spans(first, last):
            return before
        # Spare buckets are on the side on which scores went beyond the range: they may be sorted. They are on both if
        # scores did so on the other side the last time.
        spare, side = (1 << self._bits) - (last - first), beyond - below
        if side == -self._side:
            side = 0
        start = max(0, first - {-1: spare, 0: spare // 2, 1: 0}[side])
        self._side = side
        self._fine = FineSums(grid, BucketSet(grid, np.arange(start, start + (1 << self._bits) + 1)))
        if before is not None:
            self._fine.put(before.sums().coarser(grid))
        return self._fine

    def _sift(self, score: ScoreArray) -> None:
        mixed = (score.astype(np.float64) + 0.0).view(np.int64) * _ODD  # -0.0 becomes 0.0
        self._remembered.update(score[mixed >> (64 - _SIFT_BITS) == 0].tolist())
