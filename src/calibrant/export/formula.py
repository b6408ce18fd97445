"""What a fitted calibrator computes, as data: calibrators are turned into it, and every export is written from it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from calibrant.calibrators.segment.repair import SegmentRepair
from calibrant.segments.columns import SegmentColumn
from calibrant.table.pooling import BoolArray, FloatArray


@dataclass(frozen=True, eq=False)
class Lines:
    """Level or straight pieces, each from its first score up to the first score of the next.

    Piece 0 is what comes before ``start[0]``; piece i is ``slope[i] * (score - start[i - 1]) + value[i]``.
    """

    start: FloatArray  # scores at which pieces 1 to m begin, strictly increasing, shape (m,)
    value: FloatArray  # value of each piece at its start, shape (m + 1,)
    slope: FloatArray  # finite, 0 for piece 0, shape (m + 1,)
    most: float = math.inf  # of a map of means: larger values become this
    after: BoolArray | None = None  # pieces 1 to m that begin just after a score of the rows, rather than at one


@dataclass(frozen=True)
class LogOdds:
    """``of_score * log(score) + of_rest * log(1 - score) + constant``, with scores kept away from 0 and 1."""

    of_score: float
    of_rest: float
    constant: float
    clip: tuple[float, float]  # distance from 0 and from 1 at which scores are clipped, both positive


@dataclass(frozen=True)
class Logistic:
    """``1 / (1 + exp(-logit))``, kept inside (0, 1)."""

    logit: Lines | LogOdds


@dataclass(frozen=True)
class PowerOf:
    """``exp(intercept + exponent * log(prediction))``, with an exponential that is neither 0 nor infinite."""

    exponent: float
    intercept: float
    most: float = math.inf  # larger values become this


@dataclass(frozen=True)
class Mixture:
    """Weighted sum of other formulas, kept inside (0, 1); the first of them is added first."""

    parts: tuple[tuple[float, Formula], ...]


@dataclass(frozen=True)
class PriorShift:
    """``ratio * p / (ratio * p + (1 - p))`` of what another formula gives: its odds times a ratio."""

    base: Formula
    ratio: float


@dataclass(frozen=True, eq=False)
class Shifted:
    """The map for all rows, with what a row's segments add to the log-odds that it gives."""

    base: Formula
    columns: tuple[SegmentColumn, ...]  # of the segments, as `repair` numbers them
    repair: SegmentRepair


@dataclass(frozen=True)
class Chained:
    """Formulas of which each takes what the one before gives."""

    parts: tuple[Formula, ...]


Formula = Lines | Logistic | PowerOf | Mixture | PriorShift | Shifted | Chained


def columns_of(formula: Formula) -> tuple[SegmentColumn, ...]:
    """Return the columns of segments that a formula takes beside the score."""
    if isinstance(formula, Chained):
        return tuple(column for part in formula.parts for column in columns_of(part))
    return formula.columns if isinstance(formula, Shifted) else ()


IDENTITY = Lines(np.zeros(1), np.zeros(2), np.array([0.0, 1.0]))


def steps(start: FloatArray, value: FloatArray, after: BoolArray | None = None) -> Lines:
    """Return the map that has ``value[i]`` from ``start[i - 1]`` on; steps of no height are left out."""
    new_step = np.append(True, value[1:] != value[:-1])
    after = None if after is None else after[new_step[1:]]
    return Lines(start[new_step[1:]], value[new_step], np.zeros(np.count_nonzero(new_step)), after=after)


def lines_through(knot: FloatArray, value: FloatArray) -> Lines:
    """Return the map that `calibrant.fits.score_map.interpolate` evaluates, with the same arithmetic."""
    with np.errstate(over="ignore"):
        slope = np.diff(value) / np.diff(knot)
    slope[~np.isfinite(slope)] = 0.0  # there it jumps
    value, slope = np.append(value[0], value), np.concatenate([[0.0], slope, [0.0]])
    level = slope == 0.0
    new_piece = np.append(True, ~(level[1:] & level[:-1] & (value[1:] == value[:-1])))
    return Lines(knot[new_piece[1:]], value[new_piece], slope[new_piece])
