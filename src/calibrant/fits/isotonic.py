"""Isotonic fit of a score table: Algorithm 1 of Gao, Parameswaran & Peng (2017), pool adjacent violators.

Equal scores are pooled before the fit. Without that neither the zero calibration error nor the loss guarantee of
their Claim 5 holds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt

from calibrant.errors import DataError
from calibrant.fits.interpolation import interpolate
from calibrant.table.pooling import FloatArray, NumberArray
from calibrant.table.remember import remembered
from calibrant.table.score_table import ScoreTable
from calibrant.typed_json import Probabilities, Scores, Size, Weights

# A round that leaves more than this share of the blocks is slow, unless they are few.
_SLOW = 0.9
_FEW = 2000


@dataclass(frozen=True, eq=False)
class IsotonicFit:
    """A nondecreasing map given by `b` blocks of scores that share one value; `value` increases strictly.

    `low` and `high` are the first and last score of a block, `n` and `k` its rows and positives.
    """

    low: Scores
    high: Probabilities
    value: Annotated[Scores, Size(1)]
    n: Weights
    k: Weights

    def __post_init__(self) -> None:
        for array in (self.low, self.high, self.value, self.n, self.k):
            array.setflags(write=False)

    def knots(self) -> tuple[FloatArray, FloatArray]:
        """Return the corner points of the map that is flat on blocks and linear in the gaps between them."""
        x = np.column_stack([self.low, self.high]).ravel()
        z = np.repeat(self.value, 2)
        kept = np.append(True, x[1:] > x[:-1])
        return x[kept], z[kept]

    def linear(self, score: npt.NDArray[np.floating]) -> FloatArray:
        """Evaluate the map that interpolates in the gaps and is constant outside the range of the table.

        It keeps the value at every score of the table, so what holds there still holds (Claim 5).
        """
        return interpolate(score, *self.knots())

    def step(self, score: npt.NDArray[np.floating]) -> FloatArray:
        """Evaluate the map that jumps at the first score of each block."""
        block = np.searchsorted(self.low, score, side="right") - 1
        return np.asarray(self.value[np.maximum(block, 0)], dtype=np.float64)


def isotonic_fit(table: ScoreTable, *, log_safe: bool = False) -> IsotonicFit:
    """Fit the nondecreasing map that minimises squared error, and every other proper loss; cells count as one score.

    `log_safe` adds half a positive before the first score and half a negative after the last. All values then lie
    strictly between 0 and 1, the map stays monotone, and the calibration error on the table is below ``1 / (2 *
    total)``, not 0.
    """
    if not len(table):
        raise DataError("at least one row to fit", "an empty table", "fit on more data")
    fit = _fit(table)
    if not log_safe:
        return fit
    # The half rows stand outside the scores: no block consists of one of them alone, because the first has the largest
    # and the last the smallest possible mean. Blocks stay whole whatever is added outside.
    n, k = np.concatenate([[0.5], fit.n, [0.5]]), np.concatenate([[0.5], fit.k, [0.0]])
    starts = block_starts(n, k)
    n, k = np.add.reduceat(n, starts), np.add.reduceat(k, starts)
    first, last = np.maximum(starts - 1, 0), np.append(starts[1:] - 2, len(fit.n) - 1)
    return IsotonicFit(fit.low[first], fit.high[last], k / n, n, k)


@remembered
def _fit(table: ScoreTable) -> IsotonicFit:
    starts = block_starts(table.n, table.k)
    n, k = (np.add.reduceat(values, starts).astype(np.float64) for values in (table.n, table.k))
    if not (k[1:] / n[1:] > k[:-1] / n[:-1]).all():  # weights add up otherwise at once than step by step
        kept = block_starts(n, k)
        starts, n, k = starts[kept], np.add.reduceat(n, kept), np.add.reduceat(k, kept)
    ends = np.append(starts[1:], len(table)) - 1
    return IsotonicFit(table.low[starts], table.high[ends], k / n, n, k)


def block_starts(n: NumberArray, k: NumberArray) -> npt.NDArray[np.intp]:
    """Where the blocks of the isotonic fit start: adjacent violators are pooled, all at once, until none is left.

    All of a run in which the mean does not rise belong to one block. Where outcomes are noisy a few rounds are enough;
    where rounds pool little, SciPy goes on one block at a time. It takes two thirds of the time, but a third of a
    second to be imported.
    """
    starts, before = np.arange(len(n)), math.inf
    while len(starts) < _FEW or len(starts) < _SLOW * before:
        mean = k / n
        rising = mean[1:] > mean[:-1]
        if rising.all():
            return starts
        before = len(starts)
        kept = np.flatnonzero(np.append(True, rising))
        starts, n, k = starts[kept], np.add.reduceat(n, kept), np.add.reduceat(k, kept)
    from scipy.optimize import isotonic_regression

    kept = isotonic_regression(k / n, weights=n).blocks[:-1].astype(np.intp)
    # Sums are rounded otherwise than here: what that left equal or out of order is pooled too.
    return np.asarray(starts[kept[block_starts(np.add.reduceat(n, kept), np.add.reduceat(k, kept))]])
