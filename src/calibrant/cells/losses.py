"""The squared residuals and the log loss of all rows: two totals that need no buckets."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from calibrant.table.fixed_point import BITS, UNIT, Scratch, write_units
from calibrant.table.pooling import FloatArray, NumberArray
from calibrant.table.validation import CleanRows

# -log(p) reaches 745 where p is the smallest double, so it is kept in coarser units than scores are.
LOG_LOSS_BITS = 36
HALF = 21  # terms are split here: sums of either half stay in 64 bits for up to `fixed_point.MOST_ROWS` rows

_MOST_AT_ONCE = 1 << 15  # terms are below 745 * 2**LOG_LOSS_BITS < 2**46


class LossTotals:
    """Totals over rows, each times its weight, in whole units; in floats if weights are not numbers of rows.

    `squared` is of ``(y - s)**2``, `log_loss` of ``-log`` of the probability given to the observed label where that is
    not 0, and `impossible` says whether it was.
    """

    def __init__(self, squared: float = 0, log_loss: float = 0, *, impossible: bool = False) -> None:
        self._squared, self._log_loss, self._impossible = squared, log_loss, impossible

    @cached_property
    def _scratch(self) -> Scratch:
        return Scratch(_MOST_AT_ONCE)

    def add(self, score: npt.NDArray[np.floating], positives: NumberArray, negatives: NumberArray) -> None:
        """Add what stands at each score: the weight of positives and of negatives."""
        for label, weight in ((1, positives), (0, negatives)):
            there = np.flatnonzero(weight > 0)
            self.add_rows(CleanRows(np.full(len(there), label, dtype=np.int8), score[there], weight[there]))

    def add_rows(self, rows: CleanRows) -> None:
        """Add rows."""
        for label, score, weight, *_ in rows.pieces(_MOST_AT_ONCE):
            away, chance = self._scratch.floats(len(score))
            np.subtract(label, score, out=away, dtype=np.float64)
            np.subtract(1, label, out=chance, dtype=np.float64)
            chance -= score
            np.abs(chance, out=chance)
            self._add(away, chance, weight)

    def _add(self, away: FloatArray, chance: FloatArray, weight: NumberArray | None) -> None:
        """Add rows by how far the score is from the label, and the probability given to it; both are overwritten."""
        away *= away
        self._squared += self._total(away, 2.0**BITS, weight)
        if chance.min(initial=1.0) == 0.0:
            never = chance == 0.0
            self._impossible |= weight is None or bool((weight[never] > 0).any())
            chance[never] = 1.0
        np.log(chance, out=chance)
        self._log_loss += self._total(chance, -(2.0**LOG_LOSS_BITS), weight)

    def _total(self, values: FloatArray, scale: float, weight: NumberArray | None) -> float:
        """Return the sum of values in units times weight: a Python integer, of any size, if weights are whole."""
        units = self._scratch.whole(len(values))[0]
        write_units(values, scale, values, units)
        if weight is None:
            return int(units.sum())
        if weight.dtype.kind == "f":
            return float(np.dot(units.astype(np.float64), weight))
        weight = weight.astype(np.int64, copy=False)
        upper, lower = (int(np.dot(half, weight)) for half in (units >> HALF, units & ((1 << HALF) - 1)))
        return (upper << HALF) + lower

    @property
    def squared(self) -> float:
        """Sum of the squared residuals."""
        return self._squared * UNIT

    @property
    def log_loss(self) -> float:
        """Sum of the log loss; infinite if an outcome was observed that was given probability 0."""
        return float("inf") if self._impossible else self._log_loss * 2.0**-LOG_LOSS_BITS
