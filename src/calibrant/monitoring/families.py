"""The components of one monitor: likelihood ratios of single rows, or bets on the residuals of rows or of blocks.

Both say by what the evidence of each component is multiplied over groups of rows, or over blocks.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.monitoring import components
from calibrant.monitoring.components import BETS, CELLS, GROUP, SLOPES, Cells, Growth, Interval, intervals_of
from calibrant.table.pooling import FloatArray, key_order

_LEAST_LOSS = 1e-100
_LEAST_FACTOR = 0.01  # less only in rows outside the intervals of a factor, where it does not matter
_BET_DEPTH = 3  # bets on smaller intervals gain little and would double the time of a row
_HIGHEST_RATE = 6  # bets on an interval are up to about 2 to this power as high as on all scores


class GroupedRows(NamedTuple):
    """Rows in groups: labels 0.0 and 1.0 and scores of shape (rows of a group, groups), cells the other way round.

    Where there is no row, label and score are 0, of which every factor is 1, and the cell is `CELLS`.
    """

    y: FloatArray
    score: FloatArray
    cell: Cells

    @property
    def other(self) -> FloatArray:
        """Scores of the labels that were not seen."""
        return np.where(self.y > 0.0, 1.0 - self.score, self.score)

    def by_cell(self, *columns: FloatArray) -> list[FloatArray]:
        """Return columns with the rows of each group in the order of their cells."""
        groups, size = self.cell.shape
        order = key_order((np.arange(groups)[:, None] * (CELLS + 1) + self.cell).ravel())
        return [np.ascontiguousarray(column.T.ravel()[order].reshape(groups, size).T) for column in columns]


class Blocks(NamedTuple):
    """Complete blocks of rows in their order, an entry each: number of rows, sum of `spread_of`, and means by cell.

    `impossible` says whether a label was one that its score rules out. The others are sums over each cell, which is the
    last axis, divided by the rows of the block: `residual` adds up y - s; `most` is what the sum of s - y, and that of
    y - s, can reach (middle axis); `slack` how far the sum of y may lie above, and below, that of s under the null
    hypothesis.
    """

    rows: FloatArray
    spread: FloatArray
    impossible: Any
    residual: FloatArray
    most: FloatArray
    slack: FloatArray


class Ratios:
    """Likelihood ratios of every row: scores are right, or their log odds are off by at most `slack`.

    `shares` are the weights of shifts, slopes and intervals; with a `size`, shifts have that size.
    """

    def __init__(self, shares: tuple[float, float, float], slack: float, size: float | None) -> None:
        self._shares, self._slack = shares, slack
        shift, slope, _ = shares
        self._shifts = (
            components.shift_sizes(slack, components.SHIFTS if size is None else (size,)) if shift else np.empty(0)
        )
        self._local = components.shift_sizes(slack, components.LOCAL_SHIFTS)
        self._centre: float | None = None
        turned = 2 * len(SLOPES) if slope else 0  # about 0 and about the centre of the scores
        self._fixed = len(self._shifts) + turned
        sizes = [len(self._shifts), turned]
        self._weights_on_all = np.repeat([shift / max(1, sizes[0]), slope / max(1, turned)], sizes)
        self.kinds = {
            "shift": slice(0, len(self._shifts)),
            "slope": slice(len(self._shifts), self._fixed),
            "interval": slice(self._fixed, None),
        }
        self._set_intervals([])

    def _set_intervals(self, intervals: list[Interval]) -> None:
        """List the components of intervals; where there are none, one takes their place whose factors are 1."""
        number = len(self._local)
        first, last = (np.array([interval[end] for interval in intervals] * number, dtype=np.intp) for end in (0, 1))
        self._where = _Where(np.repeat(np.arange(number), len(intervals)), first, last)
        each = [interval.weight / number for interval in intervals] * number or [1.0]
        self.weights = np.append(self._weights_on_all, self._shares[2] * np.array(each) if self._shares[2] else [])

    def place(self, cuts: FloatArray, centre: float) -> None:
        """Begin with intervals of scores and slopes about their centre: until now their factors were 1."""
        self._centre = centre
        if self._shares[2]:
            self._set_intervals(intervals_of(cuts))

    def growth(self, rows: GroupedRows) -> Growth:
        """Return by what W is multiplied over groups."""
        growth = Growth(*np.ones((2, rows.y.shape[1], len(self.weights))))
        product, largest = growth.product.T, growth.largest.T
        self._on_all(rows, product[: self._fixed], largest[: self._fixed])
        if len(self._where.first):
            y, other = rows.by_cell(rows.y, rows.other)
            factors = components.inverse_ratios_of_shifts(self._local, y, other, self._slack)
            np.divide(1.0, factors, out=factors)
            ones = np.ones(len(self._local))
            _inside(factors, ones, rows.cell, self._where, product[self._fixed :], largest[self._fixed :])
        return growth

    def _on_all(self, rows: GroupedRows, product: FloatArray, largest: FloatArray) -> None:
        inverse = np.ones((self._fixed, *rows.y.shape))
        shifted = inverse[self.kinds["shift"]]
        components.inverse_ratios_of_shifts(self._shifts, rows.y, rows.other, self._slack, out=shifted)
        if self._shares[1]:
            self._of_slopes(rows, inverse[self.kinds["slope"]])
        components.accumulate(inverse)
        np.divide(1.0, inverse[:, -1], out=product)
        np.divide(1.0, inverse.min(axis=1), out=largest)

    def _of_slopes(self, rows: GroupedRows, out: FloatArray) -> None:
        """Write inverse factors of slopes, about 0 and, once it is known, about the centre: until then 1."""
        other, number = rows.other, len(SLOPES)
        with np.errstate(divide="ignore", over="ignore"):
            components.powers(other / (1.0 - other), out[:number])
            if self._centre is not None:
                for slope, about_zero, about_centre in zip(SLOPES, out[:number], out[number:], strict=True):
                    move = (slope - 1.0) * self._centre
                    np.multiply(about_zero, np.where(rows.y > 0.0, math.exp(move), math.exp(-move)), out=about_centre)
        farthest = math.exp(components.FARTHEST)
        np.clip(out, 1.0 / farthest, farthest, out=out)
        components.inverse_ratios(out if self._centre is not None else out[:number], other, self._slack)


class Bets:
    """Bets that residuals of all scores, or of an interval, add up to more than a tolerance, equation (4).

    A bet is made on every row, or on the mean over a block of rows, whose labels may then depend on each other.
    `scores_first` says whether the scores of a block are known when the bet is made, and the null holds given them.
    """

    def __init__(self, shares: tuple[float, float], tolerance: float, *, scores_first: bool) -> None:
        self._shares, self._tolerance, self._scores_first = shares, tolerance, scores_first
        self._set_components([])

    def _set_components(self, intervals: list[Interval]) -> None:
        """List all bets: those on all scores come first."""
        listed = []
        everywhere = [(Interval(0, CELLS, 0.0, 1.0, 1.0), self._shares[0])] if self._shares[0] else []
        for where, share in [*everywhere, *((i, self._shares[1] * i.weight) for i in intervals)]:
            bets = BETS if (where.first, where.last) == (0, CELLS) else components.LOCAL_BETS
            for sign in (1.0, -1.0):
                most = min(1.0, where.high) if sign > 0 else 1.0 - max(0.0, where.low)
                # Rates are common to intervals, so that a row has few factors.
                worst = max(most + self._tolerance, 2.0**-_HIGHEST_RATE)
                scale = 2.0 ** int(np.log2((1.0 + self._tolerance) / worst)) / (1.0 + self._tolerance)
                if self._scores_first:
                    scale = 0.0  # each block says how much can be bet on it
                listed += [(where.first, where.last, sign, bet, bet * scale, share / 2 / len(bets)) for bet in bets]
        on_all = len(BETS) * 2 if self._shares[0] else 0
        if self._shares[1] and not intervals:
            listed.append((0, 0, 1.0, 0.0, 0.0, self._shares[1]))  # until intervals are known
        first, last, *columns = (np.array(column) for column in zip(*listed, strict=True))
        self._sign, self._bet, self._rate, self.weights = columns
        self.kinds = {"all scores": slice(0, on_all), "interval": slice(on_all, None)}
        cells = np.arange(CELLS)[:, None]
        self._inside = ((cells >= first) & (cells < last)).astype(float)
        elsewhere = 1.0 - self._rate * self._tolerance
        kind_of = list(zip(self._sign * self._rate / elsewhere, elsewhere, strict=True))
        kinds = list(dict.fromkeys(kind_of))
        self._slopes, self._elsewhere_of_kind = np.array(kinds).T
        self._where = _Where(np.array([kinds.index(kind) for kind in kind_of]), first, last)
        self._elsewhere = elsewhere ** np.arange(GROUP + 1.0)[:, None]

    def place(self, cuts: FloatArray, centre: float) -> None:
        """Begin with bets on intervals: until now their factors were 1."""
        if self._shares[1]:
            # An interval of a share of the scores up to the tolerance cannot break it.
            depth = _BET_DEPTH if self._tolerance == 0.0 else min(_BET_DEPTH, -2.0 - np.log2(self._tolerance))
            self._set_components(intervals_of(cuts, max(1, int(depth))))

    def growth(self, rows: GroupedRows | Blocks) -> Growth:
        """Return by what W is multiplied over groups of rows, or over blocks."""
        return self._of_rows(rows) if isinstance(rows, GroupedRows) else self._of_blocks(rows)

    def _of_rows(self, rows: GroupedRows) -> Growth:
        growth = Growth(*np.ones((2, len(rows.cell), len(self.weights))))
        (residual,) = rows.by_cell(rows.y - rows.score)
        # Rows elsewhere have the factor 1 - rate * tolerance; this is by how much more it is inside.
        factors = self._slopes[:, None, None] * residual
        factors += 1.0
        _inside(factors, self._elsewhere_of_kind, rows.cell, self._where, growth.product.T, growth.largest.T)
        growth.product[:] *= self._elsewhere[(rows.cell < CELLS).sum(axis=1)]
        return growth

    def _of_blocks(self, blocks: Blocks) -> Growth:
        residual, up = self._sign * (blocks.residual @ self._inside), self._sign > 0
        slack = np.where(up, *(blocks.slack[:, side] @ self._inside for side in (0, 1)))
        if self._scores_first:
            worst = np.where(up, *(blocks.most[:, side] @ self._inside for side in (0, 1))) + slack
            # Where nothing can be lost nothing is bet; a bet has an end where floats have theirs.
            rate = np.where(worst > 0.0, self._bet / np.maximum(worst, _LEAST_LOSS), 0.0)
        else:
            slack, rate = np.full_like(residual, self._tolerance), self._rate
        product = 1.0 + rate * (residual - slack)
        return Growth(product, product)


class _Where(NamedTuple):
    """For each component, which of several factors of a row is its own, and between which cells it is multiplied."""

    factor: npt.NDArray[np.intp]
    first: npt.NDArray[np.intp]
    last: npt.NDArray[np.intp]


def _inside(
    factors: FloatArray, elsewhere: FloatArray, cell: Cells, where: _Where, product: FloatArray, largest: FloatArray
) -> None:
    """Write the products of factors over the rows of each group that lie in an interval, and the most they can be.

    The `factors`, which are written over, have the shape (kinds, rows of a group, groups), where the rows of a group
    are in the order of their cells, and are divided by the factor that such a component has `elsewhere`, which is at
    most 1; products have the shape (components, groups).
    """
    kinds, size, groups = factors.shape
    # How many rows of each group lie in cells before each, of shape (CELLS + 1, groups).
    counted = np.arange(groups)[:, None] * (CELLS + 1) + cell
    number = np.bincount(counted.ravel(), minlength=groups * (CELLS + 1)).reshape(groups, CELLS + 1).T
    before = np.concatenate([np.zeros((1, groups), dtype=np.intp), np.cumsum(number[:CELLS], axis=0)])
    ends = before * groups + np.arange(groups)
    so_far = np.ones((kinds, size + 1, groups))
    for out, scale, least in ((product, None, _LEAST_FACTOR), (largest, elsewhere, 1.0)):
        if scale is not None:
            factors *= scale[:, None, None]
        np.maximum(factors, least, out=so_far[:, 1:])
        components.accumulate(so_far)
        upto = np.take(so_far.reshape(kinds, -1), ends, axis=1)
        np.divide(upto[where.factor, where.last], upto[where.factor, where.first], out=out)
