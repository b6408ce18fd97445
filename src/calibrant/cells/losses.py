"""The squared residuals and the log loss of all rows: two totals that need no buckets."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calibrant.table.fixed_point import UNIT, score_units
from calibrant.table.pooling import FloatArray, IntArray, NumberArray
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

    def add(self, score: npt.NDArray[np.floating], positives: NumberArray, negatives: NumberArray) -> None:
        """Add what stands at each score: the weight of positives and of negatives."""
        s: FloatArray = score.astype(np.float64)
        for away, chance, weight in ((1.0 - s, s, positives), (s, 1.0 - s, negatives)):
            there = weight > 0
            self._add(away[there], chance[there], weight[there])

    def add_rows(self, rows: CleanRows) -> None:
        """Add rows."""
        for part in rows.pieces(_MOST_AT_ONCE):
            label, score = part.label.astype(np.float64), part.score.astype(np.float64)
            self._add(np.abs(label - score), np.abs((1.0 - label) - score), part.weight)

    def _add(self, away: FloatArray, chance: FloatArray, weight: NumberArray | None) -> None:
        """Add rows by how far the score is from the label, and the probability given to the label."""
        self._squared += _total(score_units(away * away), weight)
        never = chance == 0.0
        if never.any():
            self._impossible |= weight is None or bool((weight[never] > 0).any())
            chance = np.where(never, 1.0, chance)
        self._log_loss += _total((np.log(chance) * -(2.0**LOG_LOSS_BITS) + 0.5).astype(np.int64), weight)

    @property
    def squared(self) -> float:
        """Sum of the squared residuals."""
        return self._squared * UNIT

    @property
    def log_loss(self) -> float:
        """Sum of the log loss; infinite if an outcome was observed that was given probability 0."""
        return float("inf") if self._impossible else self._log_loss * 2.0**-LOG_LOSS_BITS


def _total(units: IntArray, weight: NumberArray | None) -> float:
    """Return the sum of units times weight: a Python integer, of any size, if weights are whole."""
    if weight is None:
        return int(units.sum())
    if weight.dtype.kind == "f":
        return float(np.dot(units.astype(np.float64), weight))
    upper, lower = (int(np.dot(half, weight.astype(np.int64))) for half in (units >> HALF, units & ((1 << HALF) - 1)))
    return (upper << HALF) + lower
