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

__all__ = [
    "CELLS",
    "Interval",
    "bet_shares",
    "cell_of",
    "cut_points",
    "intervals_of",
    "likelihood_ratio",
    "log_odds",
    "moved_and_allowed",
    "ratio_moves",
]

SHIFTS = (0.12, 0.2, 0.33, 0.55, 0.9, 1.5)  # of the log odds
SLOPES = (0.2, 0.4, 0.7)  # logarithms of the slope
LOCAL_SHIFTS = (0.4, 1.0)  # of the log odds inside an interval
FARTHEST = 3.0  # how far any component moves the log odds of a row
BETS = tuple(0.95 * 2.0**-k for k in range(6))  # shares of the largest bet
LOCAL_BETS = BETS[1::2] + BETS[:1]
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
    return np.searchsorted(cuts, scores).astype(np.uint8)


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


def likelihood_ratio(
    y: FloatArray, score: FloatArray, moved: FloatArray, allowed: FloatArray | None, out: FloatArray
) -> None:
    """Write the factors of components that move the log odds of rows, equations (2) and (3).

    It is the likelihood ratio of the moved score and of the score, where the latter may itself move, by what is
    allowed, towards the former. The moves are given as ``exp(move) - 1``.
    """
    below = score * moved
    below += 1.0
    if allowed is None:
        np.multiply(y, moved, out=out)
        out += 1.0
    else:
        out[:] = np.where(y > 0.0, (1.0 + moved) / (1.0 + allowed), 1.0)
        out *= 1.0 + score * allowed
    out /= below


def moved_and_allowed(move: FloatArray, slack: float) -> tuple[FloatArray, FloatArray | None]:
    """Return moves of the log odds, and as far as `slack` allows them, as ``exp(move) - 1``."""
    return np.expm1(move), np.expm1(np.clip(move, -slack, slack)) if slack else None


class Moves(NamedTuple):
    """Components of all scores: fixed shifts, then slopes minus 1 about a centre, in log odds, and all weights."""

    shifts: FloatArray
    slopes: FloatArray
    centres: FloatArray
    weights: FloatArray


def ratio_moves(shares: tuple[float, float], slack: float, centre: float, size: float | None) -> Moves:
    """Return the shifts and slopes that share these weights; with a `size` only shifts by so much, up and down."""
    sizes = SHIFTS if size is None else (size,)
    shifts = [sign * (slack + d) for sign in (1, -1) for d in sizes]
    slopes = [math.expm1(sign * b) for about in (0, 1) for sign in (1, -1) for b in SLOPES]
    centres = np.repeat([0.0, centre], len(slopes) // 2)
    weights = [shares[0] / len(shifts)] * len(shifts) + [shares[1] / len(slopes)] * len(slopes)
    return Moves(np.array(shifts), np.array(slopes), centres, np.array(weights))


def bet_shares(interval: Interval | None) -> tuple[float, ...]:
    """Return the sizes of bets on all scores, or on an interval, as shares of the largest that could be paid."""
    return BETS if interval is None else LOCAL_BETS
