"""Sums over the rows so far, now and at earlier rows: what a monitor's picture and its diagnosis are made of.

Which earlier rows are kept depends on the number of rows alone, not on how they came: up to 64 at equal distances for
the picture, and the last few multiples of every power of two for the search of a change.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

import numpy as np

from calibrant.monitoring.components import CELLS, GROUP, log_odds
from calibrant.monitoring.rows import Time, shown_time
from calibrant.table.pooling import FloatArray
from calibrant.typed_json import sized, within

PLACES = CELLS // 2  # pairs of cells
# What is added up over rows, where z is the log odds: 1, s (1 - s), y - s, z (y - s), z s (1 - s),
# z^2 s (1 - s), (y - s)^2 and z^2 (y - s)^2; then, by pair of cells, y - s and s (1 - s).
_SUMS = 8
_BIAS = 3
_GRAIN = GROUP  # rows between which nothing earlier is kept
_PICTURE = 64
_EACH = 4  # multiples of every power of two
_LARGEST_ODDS = 10.0  # what scores of 0 and 1 count as


# Log odds count as 10 at most, so that no term of a sum is above 100; 2^53 rows are more than can be counted.
_WITHIN = within(-(2.0**60), 2.0**60)
AllSums = Annotated[FloatArray, _WITHIN, sized(_SUMS + 2 * PLACES, _SUMS + 2 * PLACES)]
BiasSums = Annotated[FloatArray, _WITHIN, sized(_BIAS, _BIAS)]


class Read(NamedTuple):
    """Rows that were read, an entry each: label, score and cell, or None as long as there are no cells.

    `terms` are what the average bias is the mean of, `counted` is how many of them became known at each row, `path` the
    evidence after it, and `time` its time as a number, or None where there are no times.
    """

    y: FloatArray
    score: FloatArray
    cell: Any
    terms: FloatArray
    counted: FloatArray
    path: FloatArray
    time: Any

    def part(self, part: slice) -> Read:
        """Return some of the rows."""
        columns: list[Any] = [None if column is None else column[part] for column in self]
        return Read(*columns)


class Moment(NamedTuple):
    """What a picture needs to know of an earlier row: the time, the evidence, and sums for the bias."""

    time: Time
    evidence: Annotated[float, within(0.0, math.inf)]
    bias: BiasSums


@dataclass(frozen=True)
class StoredSums:
    """What the state of a monitor holds of sums.

    The number of rows says after which rows there are `moments`, and from which rows on there are sums `since`. What
    only estimates are made of is rounded.
    """

    total: AllSums = field(default_factory=lambda: np.zeros(_SUMS + 2 * PLACES))
    bias: BiasSums = field(default_factory=lambda: np.zeros(_BIAS))
    moments: list[Moment] = field(default_factory=list)
    since: list[AllSums] = field(default_factory=list)

    @property
    def rows(self) -> float:
        """Number of rows; whole, unless somebody wrote another."""
        return float(self.total[0])

    def kept(self) -> tuple[list[int], list[int]]:
        """Return after which rows there are moments, and since which rows sums."""
        return sorted(_kept(int(self.rows))), sorted(_latest(int(self.rows)))


class Sums:
    """Sums over all rows, and at earlier rows.

    Attributes
    ----------
    total : ndarray
        Sums over rows, and by pair of cells.
    bias : ndarray
        Number of terms of the bias so far, their sum, and that of their squares.
    moments : dict
        Earlier rows, in their order.
    earlier : dict
        What `total` was at some of them.
    """

    def __init__(self, stored: StoredSums) -> None:
        upto, self.total, self.bias = stored.total, stored.total, stored.bias
        pictured, latest = stored.kept()
        self.moments = dict(zip(pictured, stored.moments, strict=True))
        self.earlier = dict.fromkeys(latest, upto)
        for row, since in zip(reversed(latest), reversed(stored.since), strict=True):
            upto = self.earlier[row] = upto - since

    def stored(self) -> StoredSums:
        """Return these sums; those from each of the rows in `earlier` to the next are short numbers."""
        upto = [*self.earlier.values(), self.total]
        moments = [Moment(time, float(f"{m:.5g}"), _short(bias)) for time, m, bias in self.moments.values()]
        since = [_short(after - before) for before, after in itertools.pairwise(upto)]
        return StoredSums(self.total, self.bias, moments, since)

    @property
    def rows(self) -> int:
        """Number of rows so far."""
        return int(self.total[0])

    def add(self, read: Read, placed_at: int, kind: str | None) -> None:
        """Add rows, if there are any; cells mean something after the row `placed_at`, and times are of a kind."""
        y, score, cell, terms, counted, path, time = read
        first, n = self.rows, len(y)
        if not n:
            return
        new = [row for row in sorted(_kept(first + n)) if row > first]
        ends = np.array([row - first for row in new if row < first + n] + [n])
        odds = np.clip(log_odds(score), -_LARGEST_ODDS, _LARGEST_ODDS)
        residual, spread = y - score, score * (1.0 - score)
        columns = [counted, terms, terms * terms, np.ones(n), spread, residual, residual * odds, spread * odds]
        columns += [spread * odds * odds, residual * residual, (residual * odds) ** 2]
        starts = np.append(0, ends[:-1])
        added = [np.add.reduceat(column, starts) for column in columns]
        begin = max(0, placed_at - first) if cell is not None else n
        pair = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))[begin:] * PLACES
        if cell is not None:
            pair += cell[begin:] >> 1
        for column in (residual, spread):
            by_pair = np.bincount(pair, weights=column[begin:], minlength=len(ends) * PLACES)
            added += list(by_pair.reshape(-1, PLACES).T)
        upto = np.append(self.bias, self.total) + np.cumsum(np.stack(added, axis=1), axis=0)
        for row, sums in zip(new, upto, strict=False):
            i = row - first - 1
            shown = None if time is None else shown_time(time[i], kind)
            self.moments[row] = Moment(shown, float(path[i]), sums[:_BIAS])
            self.earlier[row] = sums[_BIAS:]
        self.bias, self.total = upto[-1, :_BIAS], upto[-1, _BIAS:]
        history_rows, latest = _kept(self.rows), _latest(self.rows)
        self.moments = {row: moment for row, moment in self.moments.items() if row in history_rows}
        self.earlier = {row: sums for row, sums in self.earlier.items() if row in latest}

    def pictured(self) -> dict[int, Moment]:
        """Return moments at equal distances."""
        step = _picture_step(self.rows)
        return {row: moment for row, moment in self.moments.items() if row % step == 0}


def _short(sums: FloatArray) -> FloatArray:
    """Round sums, but for the number of rows: to few digits, as those over rare events are small, and noise to 0."""
    return np.array([sums[0], *(round(float(f"{x:.5g}"), 9) for x in sums[1:].tolist())])


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
    latest: set[int] = set()
    step = _GRAIN
    while step <= rows:
        last = rows // step * step
        latest.update(range(max(step, last - (_EACH - 1) * step), last + 1, step))
        step *= 2
    return latest


def by_place(sums: FloatArray) -> FloatArray:
    """Return the sums of y - s and of s (1 - s), by pair of cells."""
    return sums[_SUMS:].reshape(2, PLACES)
