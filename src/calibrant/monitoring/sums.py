"""Sums over the rows so far, now and at earlier rows: what a monitor's picture and its diagnosis are made of.

Which earlier rows are kept depends on the number of rows alone, not on how they came: up to 64 at equal distances for
the picture, and the last few multiples of every power of two for the search of a change.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from calibrant.monitoring.components import CELLS, log_odds
from calibrant.table.pooling import FloatArray

__all__ = ["PLACES", "Moment", "Read", "Sums", "by_place", "moment_of"]

PLACES = CELLS // 2  # pairs of cells
# What is added up over rows, where z is the log odds: 1, s (1 - s), y - s, z (y - s), z s (1 - s),
# z^2 s (1 - s), (y - s)^2 and z^2 (y - s)^2; then for the bias; then by pair of cells, see `by_place`.
_SUMS = 8
_BIAS = 3
_GRAIN = 16  # rows between which nothing earlier is kept
_PICTURE = 64
_EACH = 6  # multiples of every power of two
_LARGEST_ODDS = 10.0  # what scores of 0 and 1 count as


class Read(NamedTuple):
    """Rows that were read, an entry each: label, score and cell, or None as long as there are no cells.

    `terms` are what the average bias is the mean of, `counted` is how many of them became known at each row, and `path`
    the evidence after it.
    """

    y: FloatArray
    score: FloatArray
    cell: Any
    terms: FloatArray
    counted: FloatArray
    path: FloatArray

    def part(self, part: slice) -> Read:
        """Return some of the rows."""
        columns: list[Any] = [None if column is None else column[part] for column in self]
        return Read(*columns)


class Moment(NamedTuple):
    """What is kept of an earlier row: the time, the evidence, sums for the bias, and perhaps all sums up to there."""

    time: Any
    evidence: float
    bias: FloatArray
    sums: FloatArray | None


def moment_of(time: Any, evidence: float, sums: FloatArray) -> Moment:
    """Return a moment from all sums, or those of the bias alone."""
    return Moment(time, evidence, *((sums, None) if len(sums) == _BIAS else (sums[_SUMS : _SUMS + _BIAS], sums)))


class Sums:
    """Sums over all rows, and at earlier rows.

    Attributes
    ----------
    total : ndarray
        Sums over rows; for the bias the number of terms, their sum and the sum of their squares; and by pair of cells.
    moments : dict
        Earlier rows, in their order.
    """

    def __init__(self) -> None:
        self.total = np.zeros(_SUMS + _BIAS + 3 * PLACES)
        self.moments: dict[int, Moment] = {}

    @property
    def rows(self) -> int:
        """Number of rows so far."""
        return int(self.total[0])

    def add(self, read: Read, placed_at: int, times: Any) -> None:
        """Add rows; cells mean something after the row `placed_at`, and times are found by index."""
        y, score, cell, terms, counted, path = read
        first, n = self.rows, len(y)
        wanted = [row for row in sorted(_kept(first + n)) if row > first]
        ends = np.array([*(row - first for row in wanted), n], dtype=np.int64)
        segment = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
        begin = max(0, placed_at - first) if cell is not None else n
        odds = np.clip(log_odds(score), -_LARGEST_ODDS, _LARGEST_ODDS)
        residual, spread = y - score, score * (1.0 - score)
        columns = [np.ones(n), spread, residual, residual * odds, spread * odds, spread * odds * odds]
        columns += [residual * residual, (residual * odds) ** 2, counted, terms, terms * terms]
        added = np.zeros((len(ends), len(self.total)))
        for i, column in enumerate(columns):
            added[:, i] = np.bincount(segment, weights=column, minlength=len(ends))
        if cell is not None:
            place = segment[begin:] * PLACES + (cell[begin:] >> 1)
            for i, column in enumerate((residual, spread, residual * residual)):
                found = np.bincount(place, weights=column[begin:], minlength=len(ends) * PLACES)
                at = len(columns) + i * PLACES
                added[:, at : at + PLACES] = found.reshape(len(ends), PLACES)
        upto = self.total + np.cumsum(added, axis=0)
        for row, sums in zip(wanted, upto, strict=False):
            i = row - first - 1
            self.moments[row] = moment_of(None if times is None else times[i], float(path[i]), sums)
        self.total = upto[-1]
        kept, whole = _kept(self.rows), _latest(self.rows)
        self.moments = {
            row: moment if row in whole else moment._replace(sums=None)
            for row, moment in self.moments.items()
            if row in kept
        }

    @property
    def bias(self) -> FloatArray:
        """Number of terms of the bias so far, their sum, and that of their squares."""
        return self.total[_SUMS : _SUMS + _BIAS]

    def pictured(self) -> dict[int, Moment]:
        """Return moments at equal distances."""
        step = _picture_step(self.rows)
        return {row: moment for row, moment in self.moments.items() if row % step == 0}


def _picture_step(rows: int) -> int:
    step = _GRAIN
    while rows // step > _PICTURE:
        step *= 2
    return step


def _kept(rows: int) -> set[int]:
    """Return the rows that are kept after so many."""
    step = _picture_step(rows)
    return {*range(step, rows + 1, step), *_latest(rows)}


def _latest(rows: int) -> set[int]:
    """Return the last few multiples of every power of two, of which all sums are kept."""
    found: set[int] = set()
    step = _GRAIN
    while step <= rows:
        last = rows // step * step
        found.update(range(max(step, last - (_EACH - 1) * step), last + 1, step))
        step *= 2
    return found


def by_place(sums: FloatArray) -> FloatArray:
    """Return the sums of y - s, of s (1 - s) and of (y - s)^2, by pair of cells."""
    return sums[_SUMS + _BIAS :].reshape(3, PLACES)
