"""The cumulative residuals, and the score interval on which it moves the most.

Gao, Parameswaran & Peng (2017), Definition 2: the empirical calibration error of a classifier is the largest
average residual `|mean (y - s) 1{a < s <= b}|` over all score intervals, which is the range (highest minus lowest
point) of the walk that adds up residuals in the order of the scores, read only where a score ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from calibrant.table.pooling import FloatArray
from calibrant.table.table_sums import UNIT, TableSums

_Source = TypeVar("_Source")
_Found = TypeVar("_Found")


def remembered(function: Callable[[_Source], _Found]) -> Callable[[_Source], _Found]:
    """Keep what a function of one object that never changes returns, for as long as that object lives.

    Objects are told apart by identity. What is returned is shared, so its arrays must be read-only.
    """
    known: WeakKeyDictionary[_Source, _Found] = WeakKeyDictionary()

    @wraps(function)
    def once(source: _Source) -> _Found:
        result = known.get(source)
        if result is None:
            result = known[source] = function(source)
        return result

    return once


@dataclass(frozen=True, eq=False)
class ResidualPath:
    """The walk at the end of each row of the table."""

    score: FloatArray  # the largest score of each row of the table
    value: FloatArray  # sum of residuals y - s over all rows up to there, divided by the total unit
    above: FloatArray  # limits of the walk inside each row of the table that holds several scores, between its ends
    below: FloatArray
    resolution: float = UNIT  # a range up to it is rounding

    def __post_init__(self) -> None:
        for array in (self.value, self.above, self.below):
            array.setflags(write=False)


@dataclass(frozen=True)
class Extremes:
    """Where a walk rises and falls the most."""

    value: float  # range of the walk, the cutoff calibration error, as far as it is seen at the ends of rows
    at_most: float  # of the range; more than `value` only if cells can hide the highest or lowest point
    under: float  # largest rise: more positives than predicted
    over: float  # largest fall: fewer than predicted
    low: float  # (low, high] attains `value`; -inf if it starts below the smallest score, NaN if there is none
    high: float
    sign: int  # 1 if the walk climbs over that interval, -1 if it drops, 0 if there is none
    ks: float  # largest distance of the walk from 0
    mean_residual: float  # end of the walk: base rate minus mean score

    def rows(self, score: FloatArray) -> slice:
        """Which of increasing scores lie in the interval."""
        return slice(*np.searchsorted(score, (self.low, self.high), side="right").tolist())


@remembered
def cumulative_residuals(table: TableSums) -> ResidualPath:
    """Add up the residuals in the order of the scores; at the ends of rows the walk is exact, cells or not."""
    value = table.cumulative_residual_sums() / table.total_unit
    above = below = value[:0]
    if table.cells is not None:
        hidden = np.flatnonzero((table.low < table.high) & (table.k > 0) & (table.negatives > 0))
        # The walk is highest if the positives of a cell come first, and lowest if its negatives do.
        above = value[hidden] + table.fall[hidden] / table.total_unit
        below = value[hidden] - table.rise[hidden] / table.total_unit
    return ResidualPath(table.high, value, above, below, table.resolution)


@remembered
def extremes(walk: ResidualPath) -> Extremes:
    """Find the range of a walk, its largest climb and drop, and the interval between its extreme points.

    Of several intervals that attain the same value, the one between the first highest and the first lowest point
    is reported.
    """
    value = np.concatenate([[0.0], walk.value])
    if np.ptp(value) <= walk.resolution:
        value[:] = 0.0
    top, bottom = int(np.argmax(value)), int(np.argmin(value))
    first, last = min(top, bottom), max(top, bottom)
    sign = int(np.sign(value[last] - value[first]))
    return Extremes(
        value=float(value[top] - value[bottom]),
        at_most=_range_at_most(float(value[top]), float(value[bottom]), walk),
        under=float((value - np.minimum.accumulate(value)).max()),
        over=float((np.maximum.accumulate(value) - value).max()),
        low=(float(walk.score[first - 1]) if first else -np.inf) if sign else np.nan,
        high=float(walk.score[last - 1]) if sign else np.nan,
        sign=sign,
        ks=float(np.abs(value).max()),
        mean_residual=float(value[-1]),
    )


def _range_at_most(top: float, bottom: float, cumulative: ResidualPath) -> float:
    """Limit the range of a walk that goes from `bottom` to `top` at the ends of cells and may go further inside."""
    highest, lowest = float(cumulative.above.max(initial=top)), float(cumulative.below.min(initial=bottom))
    if highest == top or lowest == bottom or np.argmax(cumulative.above) != np.argmin(cumulative.below):
        return highest - lowest
    # One cell cannot have its positives first and its negatives first: it reaches one limit, and the rest the other.
    others = np.arange(len(cumulative.above)) != np.argmax(cumulative.above)
    top, bottom = float(cumulative.above[others].max(initial=top)), float(cumulative.below[others].min(initial=bottom))
    return max(highest - bottom, top - lowest)


def largest_move(table: TableSums, side: int = 0) -> Extremes:
    """Extremes of a table, in which only its largest rise (`side` 1: predictions too low) or fall (-1) may count.

    In `at_most`, cells may have both the highest and the lowest point that they could have.
    """
    path = cumulative_residuals(table)
    both = extremes(path)
    if side == 0 or both.value == 0.0:
        return both
    value = side * np.append(0.0, path.value)
    top, bottom = value.copy(), value.copy()
    if table.cells is not None:
        hidden = (table.low < table.high) / table.total_unit
        up, down = (table.fall, table.rise) if side == 1 else (table.rise, table.fall)
        top[1:] += hidden * up
        bottom[1:] -= hidden * down
    last = int(np.argmax(value - np.minimum.accumulate(value)))
    first = int(np.argmin(value[: last + 1]))
    return replace(
        both,
        value=float(value[last] - value[first]),
        at_most=min(both.at_most, float((top - np.minimum.accumulate(bottom)).max())),
        low=float(path.score[first - 1]) if first else -np.inf,
        high=float(path.score[last - 1]) if last else -np.inf,
        sign=side if first < last else 0,
    )
