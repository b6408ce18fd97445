"""What could be wrong with the scores: components of the evidence, their weights, their factors and their recursion.

A component is a hypothesis about how labels depart from the scores; its factor at a row has a mean of at most 1 where
the null holds, whatever came before. docs/theory/11-monitor.md has the formulas: (2) to (4) of factors, and (1) of the
recursion of all components over groups of rows.

Evidence begins anew, with more mass, only where a group begins: within a group W is multiplied and nothing else. So a
group needs no more than the products of all its factors, and a bound on W on the way tells whether the rows of the
group have to be followed one by one.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.table.pooling import FloatArray

SHIFTS = (0.12, 0.2, 0.33, 0.55, 0.9, 1.5)  # of the log odds
SLOPES = (8 / 16, 11 / 16, 13 / 16, 20 / 16, 24 / 16, 32 / 16)
LOCAL_SHIFTS = (0.4, 1.0)  # of the log odds inside an interval
FARTHEST = 3.0  # how far any component moves the log odds of a row
BETS = tuple(0.95 * 2.0**-k for k in range(6))  # shares of the largest bet
LOCAL_BETS = BETS[:5]
DEPTH = 4  # intervals hold a half, a quarter, ... of the scores
CELLS = 2 ** (DEPTH + 1)
GROUP = 32  # rows
Cells = npt.NDArray[np.uint8]


class Interval(NamedTuple):
    """Cells `first` to before `last`, which are scores in (low, high], and the share of the interval's weight."""

    first: int
    last: int
    low: float
    high: float
    weight: float


def cut_points(scores: FloatArray) -> FloatArray:
    """Return scores that cut a sample of them into cells of equal numbers of rows, as far as ties allow."""
    ranks = np.arange(1, CELLS) / CELLS
    return np.asarray(np.quantile(scores, ranks, method="inverted_cdf"), dtype=np.float64)


def cell_of(scores: FloatArray, cuts: FloatArray) -> Cells:
    """Return the cell of each score: the number of cut points below it."""
    return np.asarray((scores > cuts[:, None]).sum(axis=0, dtype=np.uint8))


def intervals_of(cuts: FloatArray, depth: int = DEPTH) -> list[Interval]:
    """Return intervals that hold 1/2, 1/4, ... of the scores, and those halfway between them; no two are the same.

    Each depth has the same weight, and all weights add up to 1. None contains all scores.
    """
    ends = [-math.inf, *cuts.tolist(), math.inf]
    intervals: dict[tuple[float, float], Interval] = {}
    for level in range(1, depth + 1):
        step, number = CELLS // 2 ** (level + 1), 2 ** (level + 1) - 1
        for first in range(0, number * step, step):
            low, high = ends[first], ends[first + 2 * step]
            if low < high and (low, high) != (-math.inf, math.inf):
                before = intervals[low, high].weight if (low, high) in intervals else 0.0
                intervals[low, high] = Interval(first, first + 2 * step, low, high, before + 1.0 / (depth * number))
    total = math.fsum(interval.weight for interval in intervals.values())
    return [interval._replace(weight=interval.weight / total) for interval in intervals.values()]


def log_odds(score: FloatArray) -> FloatArray:
    """Return ln(s / (1 - s)), infinite for scores of 0 and 1."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(score) - np.log1p(-score))


def shift_sizes(slack: float, sizes: tuple[float, ...]) -> FloatArray:
    """Return shifts of the log odds by these sizes beyond a slack, up and down."""
    return np.array([sign * (slack + d) for sign in (1, -1) for d in sizes])


def powers(odds: FloatArray, out: FloatArray) -> None:
    """Write odds to the power of each of `SLOPES` minus 1: by square roots, which take less time than exponentials."""
    half = np.sqrt(odds)
    quarter = np.sqrt(half)
    eighth = np.sqrt(quarter)
    sixteenth = np.sqrt(eighth)
    np.stack([1.0 / half, 1.0 / (quarter * sixteenth), 1.0 / (eighth * sixteenth), quarter, half, odds], out=out)


def inverse_ratios(odds: FloatArray, other: FloatArray, slack: float) -> None:
    """Turn odds into inverse factors of components, equations (2) and (3), in place.

    `other` is the score of the label that was not seen, and `odds` is what a component multiplies its odds by. The
    inverse factor is the likelihood ratio of the score, whose odds may be multiplied by as much as the slack allows,
    and of the component.
    """

    def invert(odds: FloatArray) -> None:
        odds -= 1.0
        odds *= other
        odds += 1.0

    allowed = np.clip(odds, math.exp(-slack), math.exp(slack)) if slack else None
    invert(odds)
    if allowed is not None:
        invert(allowed)
        odds /= allowed


def inverse_ratios_of_shifts(
    shifts: FloatArray, y: FloatArray, other: FloatArray, slack: float, out: FloatArray | None = None
) -> FloatArray:
    """Return inverse factors of shifts of the log odds, which are the same for all rows; else as `inverse_ratios`.

    They are written to `out`, if it is given, an array without gaps: a copy of them would take as long as they do.
    """
    by_label = np.stack([np.where(y > 0.0, 0.0, other).ravel(), np.where(y > 0.0, other, 0.0).ravel()])

    def inverse(moves: FloatArray, out: FloatArray | None = None) -> FloatArray:
        ratio: FloatArray = np.matmul(np.stack([np.expm1(moves), np.expm1(-moves)], axis=1), by_label, out=out)
        ratio += 1.0
        return ratio

    ratios = inverse(shifts, None if out is None else out.reshape(len(shifts), y.size))
    if slack:
        ratios /= inverse(np.clip(shifts, -slack, slack))
    return ratios.reshape(len(shifts), *y.shape)


class Growth(NamedTuple):
    """By what W is multiplied over each group, and at most on the way, of shape (groups, components)."""

    product: FloatArray
    largest: FloatArray


class Grouping:
    """Where rows lie in groups: a group begins at row 1 and after every `size` rows, whatever is passed at a time.

    With a `size` of 1, rows are followed one by one; evidence begins anew with every `GROUP` of them all the same.
    """

    def __init__(self, before: int, n: int, size: int) -> None:
        self.size = size
        self._offset, self._n = before % size, n
        self.groups = -(-(self._offset + n) // size)
        first = before - self._offset + size * np.arange(self.groups)
        starts = (first % GROUP == 0) & (first >= before)
        self.first = np.maximum(first, before)  # rows before those of each group that are passed
        self.last = np.minimum(first + size, before + n) - before - 1  # row, of those passed, that ends it
        self._start = np.maximum.accumulate(np.where(starts, np.arange(self.groups), -1))

    def of(self, column: Any, beyond: float = 0.0) -> Any:
        """Return a column in groups, of shape (groups, size), with `beyond` where there is no row."""
        padded = np.full(self.groups * self.size, beyond, dtype=column.dtype)
        padded[self._offset : self._offset + self._n] = column
        return padded.reshape(self.groups, self.size)

    def since_start(self, found: FloatArray, before: float) -> FloatArray:
        """Return what was found where the latest group of `GROUP` rows began, or held before if none did."""
        return np.where(self._start < 0, before, found[self._start])


def accumulate(factors: FloatArray) -> None:
    """Multiply each row by all before it in its group, in place; `factors` has shape (kinds, rows of a group, groups).

    A row of all groups at a time takes less time than `np.multiply.accumulate`, which goes along each group.
    """
    for i in range(1, factors.shape[1]):
        factors[:, i] *= factors[:, i - 1]


def follow(
    before: FloatArray, growth: Growth, masses: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Follow the recursion over groups.

    Parameters
    ----------
    before : ndarray of shape (components,)
        W before the first row.
    growth : Growth
        Products of the factors.
    masses : ndarray of shape (groups,)
        What is added to W before each group.
    weights : ndarray of shape (components,)
        What W is multiplied by where components are added up.

    Returns
    -------
    path : ndarray of shape (groups,)
        Weighted sum of the components after every group.
    peak : ndarray of shape (groups,)
        At least what that sum reaches after any row of the group.
    after : ndarray of shape (components,)
        W after the last group.
    """
    begun, w = np.empty_like(growth.product), before
    for now, mass, factor in zip(begun, masses.tolist(), growth.product, strict=True):
        np.add(w, mass, out=now)
        w = now * factor
    path, peak = (np.einsum("gc,gc,c->g", begun, factor, weights) for factor in growth)
    return path, peak, w
