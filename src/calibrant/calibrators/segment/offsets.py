"""What segments add to the log-odds: an intercept and a slope for each, shrunk by empirical Bayes.

With z the log-odds of a calibrated probability and t the same standardised and cut, the model is z plus the sum of
``a + b t`` over the segments that a row belongs to: one for each column, and one for each pair of columns. In a table,
which holds the segments of one column or pair, the a are independent ``N(0, v)``, and so are the b with another v.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt

from calibrant.distributions.bisection import bisect
from calibrant.fits.log_odds import probability
from calibrant.table.pooling import FloatArray, IntArray, distinct_numbers
from calibrant.typed_json import Finite, Positive, sized, within

BinaryLabels = npt.NDArray[np.int8]

CUT = 2.5  # standard deviations beyond which slopes have no further effect
_ORDINARY = 10.0  # log-odds beyond it are brought to it before mean and standard deviation are taken
# Log-odds whose standard deviation is below this have no slopes: their odds differ by some 5%, so it takes tens of
# thousands of rows of a segment to tell whether that difference is half as large there, and a division by a smaller
# number would blow up the last digits of logarithms.
_LEAST_SPREAD = 0.05
_SWEEPS = 50
_STILL = 1e-5  # largest change, in log-odds, of a sweep after which no other follows
_LONGEST = 1.0  # change of a coefficient in one step
_NO_INFORMATION = 1e-9
_LARGEST_VARIANCE = 100.0


@dataclass(frozen=True, eq=False)
class OffsetTable:
    """Offsets of the segments of one column, or of those that two columns make together.

    Attributes
    ----------
    columns : tuple of int
        Numbers of the column, or of both.
    codes : ndarray of int64, shape (m, 1) or (m, 2)
        The segment of each column, in increasing order.
    intercept, slope : ndarray of float64, shape (m,)
        What is added to the log-odds: ``intercept + slope * t``.
    variances : tuple of two floats
        Estimated variances of intercepts and slopes in the population; 0 where nothing is added.
    """

    columns: Annotated[tuple[int, ...], sized(1, 2)]
    codes: Annotated[IntArray, sized(1)]
    intercept: Annotated[FloatArray, within()]
    slope: Annotated[FloatArray, within()]
    variances: tuple[Finite, Finite]

    def scaled(self, share: float) -> OffsetTable:
        """Return the table with a share of every offset."""
        return OffsetTable(self.columns, self.codes, share * self.intercept, share * self.slope, self.variances)


@dataclass(frozen=True, eq=False)
class LogOddsOffsets:
    """Tables of offsets, and how log-odds are standardised for their slopes."""

    centre: Finite
    scale: Positive
    tables: tuple[OffsetTable, ...]

    def standardised(self, log_odds: FloatArray) -> FloatArray:
        """Return t, what slopes are multiplied by."""
        return np.asarray(np.clip((log_odds - self.centre) / self.scale, -CUT, CUT))

    def of(self, log_odds: FloatArray, codes: Sequence[IntArray]) -> FloatArray:
        """Return what is added to the log-odds of each row, 0 where a row belongs to no segment."""
        t, total = self.standardised(log_odds), np.zeros(len(log_odds))
        for table in self.tables:
            index, known = _places(table.codes, [codes[column] for column in table.columns])
            total += np.where(known, table.intercept[index] + table.slope[index] * t, 0.0)
        return total

    def scaled(self, share: float) -> LogOddsOffsets:
        """Return a share of all offsets."""
        return LogOddsOffsets(self.centre, self.scale, tuple(table.scaled(share) for table in self.tables))


def fit_offsets(log_odds: FloatArray, codes: Sequence[IntArray], label: BinaryLabels) -> LogOddsOffsets:
    """Fit the offsets of all columns and of all pairs of them.

    Intercepts, then slopes, of one table after the other are brought to the maximum of their posterior density, given
    all others, until none moves. Equal rows in another order give the same but for rounding. Where log-odds hardly
    differ there are intercepts only.
    """
    ordinary = np.clip(log_odds, -_ORDINARY, _ORDINARY)
    centre, spread = float(ordinary.mean()), float(ordinary.std())
    scale = max(spread, _LEAST_SPREAD)
    regressors = [np.ones(len(log_odds))]
    if spread >= _LEAST_SPREAD:
        regressors.append(LogOddsOffsets(centre, scale, ()).standardised(log_odds))
    families = [*itertools.combinations(range(len(codes)), 1), *itertools.combinations(range(len(codes)), 2)]
    cells = [_cells([codes[column] for column in family]) for family in families]
    effects = [[np.zeros(len(there)), np.zeros(len(there))] for there, _ in cells]
    variances = [[0.0, 0.0] for _ in cells]
    total = log_odds.copy()
    for _ in range(_SWEEPS):
        moved = 0.0
        for (there, cell), effect, variance in zip(cells, effects, variances, strict=True):
            for i, x in enumerate(regressors):
                p = probability(total)
                information = sums(cell, p * (1.0 - p) * x * x, len(there))
                score = sums(cell, (label - p) * x, len(there)) + information * effect[i]
                variance[i] = variance_between(score, information)
                step = np.clip(shrunken(score, information, variance[i]) - effect[i], -_LONGEST, _LONGEST)
                total += step[cell] * x
                effect[i] = effect[i] + step
                moved = max(moved, float(np.abs(step).max()))
        if moved < _STILL:
            break
    tables = (
        OffsetTable(family, there, effect[0], effect[1], (variance[0], variance[1]))
        for family, (there, _), effect, variance in zip(families, cells, effects, variances, strict=True)
        if any(variance)
    )
    return LogOddsOffsets(centre, scale, tuple(tables))


def sums(cell: IntArray, values: FloatArray, cells: int) -> FloatArray:
    """Add up values by cell."""
    return np.bincount(cell, values, cells).astype(np.float64)


def variance_between(score: FloatArray, information: FloatArray) -> float:
    """Return the variance v of effects that are estimated by ``score / information`` with variance ``1 / information``.

    It is that of Paule and Mandel: ``sum (effect**2 / (v + 1 / information))`` is the number of effects. Where that sum
    at ``v = 0`` is within one standard deviation of what chance alone gives, v is 0.
    """
    told = information > _NO_INFORMATION
    squared, noise = (score[told] / information[told]) ** 2, 1.0 / information[told]
    count = len(noise)
    if (squared / noise).sum() <= count + np.sqrt(2.0 * count):
        return 0.0
    return bisect(lambda v: bool((squared / (v + noise)).sum() > count), 0.0, _LARGEST_VARIANCE, rtol=1e-9)[1]


def shrunken(score: FloatArray, information: FloatArray, variance: float) -> FloatArray:
    """Return the posterior means of effects around 0 with that variance."""
    return score / (information + 1.0 / variance) if variance > 0.0 else np.zeros(len(score))


def _cells(codes: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
    """Return the combinations of segments that occur, in increasing order, and which of them each row has."""
    sizes = [1 + int(code.max()) for code in codes]
    key = np.ravel_multi_index(tuple(codes), sizes)
    there = distinct_numbers(key)
    return np.stack(np.unravel_index(there, sizes), axis=1), np.searchsorted(there, key)


def _places(there: IntArray, codes: Sequence[IntArray]) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """Return the index of each row's combination among those of a table, and whether it is there."""
    sizes = [1 + max(int(own.max()), int(code.max(initial=0))) for own, code in zip(there.T, codes, strict=True)]
    # A code of -1, of no segment, is clipped to 0 and so may have the key of a combination that is there: asked below.
    keys, key = (np.ravel_multi_index(tuple(part), sizes, mode="clip") for part in (there.T, codes))
    index = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
    in_segments = np.all([code >= 0 for code in codes], axis=0)
    return index, (keys[index] == key) & in_segments
