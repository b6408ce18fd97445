"""The components of the evidence of one monitor: what could be wrong, their weights, factors and recursion."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.table.pooling import FloatArray, key_order

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
        self._shifts = shift_sizes(slack, SHIFTS if size is None else (size,)) if shift else np.empty(0)
        self._local = shift_sizes(slack, LOCAL_SHIFTS)
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
            factors = inverse_ratios_of_shifts(self._local, y, other, self._slack)
            np.divide(1.0, factors, out=factors)
            ones = np.ones(len(self._local))
            _inside(factors, ones, rows.cell, self._where, product[self._fixed :], largest[self._fixed :])
        return growth

    def _on_all(self, rows: GroupedRows, product: FloatArray, largest: FloatArray) -> None:
        inverse = np.ones((self._fixed, *rows.y.shape))
        shifted = inverse[self.kinds["shift"]]
        inverse_ratios_of_shifts(self._shifts, rows.y, rows.other, self._slack, out=shifted)
        if self._shares[1]:
            self._of_slopes(rows, inverse[self.kinds["slope"]])
        accumulate(inverse)
        np.divide(1.0, inverse[:, -1], out=product)
        np.divide(1.0, inverse.min(axis=1), out=largest)

    def _of_slopes(self, rows: GroupedRows, out: FloatArray) -> None:
        """Write inverse factors of slopes, about 0 and, once it is known, about the centre: until then 1."""
        other, number = rows.other, len(SLOPES)
        with np.errstate(divide="ignore", over="ignore"):
            powers(other / (1.0 - other), out[:number])
            if self._centre is not None:
                for slope, about_zero, about_centre in zip(SLOPES, out[:number], out[number:], strict=True):
                    move = (slope - 1.0) * self._centre
                    np.multiply(about_zero, np.where(rows.y > 0.0, math.exp(move), math.exp(-move)), out=about_centre)
        farthest = math.exp(FARTHEST)
        np.clip(out, 1.0 / farthest, farthest, out=out)
        inverse_ratios(out if self._centre is not None else out[:number], other, self._slack)


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
            bets = BETS if (where.first, where.last) == (0, CELLS) else LOCAL_BETS
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
        accumulate(so_far)
        upto = np.take(so_far.reshape(kinds, -1), ends, axis=1)
        np.divide(upto[where.factor, where.last], upto[where.factor, where.first], out=out)
