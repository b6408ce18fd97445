"""What could be wrong with the scores: components of the evidence, their weights, and their factors row by row.

A component is a hypothesis about how labels depart from the scores; its factor at a row has a mean of at most 1 where
the null holds, whatever came before. docs/theory/11-monitor.md has the formulas (2) to (4).
"""

from __future__ import annotations

import math
from typing import NamedTuple

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
    found: dict[tuple[float, float], Interval] = {}
    for level in range(1, depth + 1):
        step, number = CELLS // 2 ** (level + 1), 2 ** (level + 1) - 1
        for first in range(0, number * step, step):
            low, high = ends[first], ends[first + 2 * step]
            if low < high and (low, high) != (-math.inf, math.inf):
                before = found[low, high].weight if (low, high) in found else 0.0
                found[low, high] = Interval(first, first + 2 * step, low, high, before + 1.0 / (depth * number))
    total = math.fsum(interval.weight for interval in found.values())
    return [interval._replace(weight=interval.weight / total) for interval in found.values()]


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
    shifts: FloatArray, y: FloatArray, other: FloatArray, slack: float, out: FloatArray
) -> None:
    """Write inverse factors of shifts of the log odds, which are the same for all rows; else as `inverse_ratios`."""
    by_label = np.stack([np.where(y > 0.0, 0.0, other).ravel(), np.where(y > 0.0, other, 0.0).ravel()])

    def inverse(moves: FloatArray, out: FloatArray | None) -> FloatArray:
        found = np.matmul(np.stack([np.expm1(moves), np.expm1(-moves)], axis=1), by_label, out=out)
        found += 1.0
        return found

    found = inverse(shifts, out.reshape(len(shifts), y.size))
    if slack:
        found /= inverse(np.clip(shifts, -slack, slack), None)
