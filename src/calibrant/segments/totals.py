"""Families of segments, what is known of each of their cells, and the totals of rows in memory.

Every column, and every pair of columns, divides the rows into cells that do not overlap. Rows in memory are sorted once
and added up exactly.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError, DataError
from calibrant.segments.columns import SegmentColumn
from calibrant.table.missing import LeftOut
from calibrant.table.parameters import SIDES, Direction, check_count
from calibrant.table.pooling import BoolArray, FloatArray, IndexArray, IntArray, NumberArray, key_order, score_order
from calibrant.table.rules import column_values

# Cells of all families together: what fits memory and can be told apart in a result.
_MOST_CELLS = 1 << 18


@dataclass(frozen=True)
class Family:
    """A partition of the rows by one column or several; cells are numbered with the last column running fastest."""

    columns: tuple[SegmentColumn, ...]

    def __len__(self) -> int:
        """Return the number of cells, with or without rows."""
        return math.prod(len(column) for column in self.columns)

    @property
    def name(self) -> str:
        """Names of the columns."""
        return " and ".join(column.name for column in self.columns)

    def codes(self, of_column: Sequence[IntArray]) -> IntArray:
        """Return the number of the cell of each row, from the number of its segment in each of the columns."""
        code = of_column[0]
        for column, further in zip(self.columns[1:], of_column[1:], strict=True):
            code = code * len(column) + further
        return code

    def labels(self, cells: IntArray) -> list[str]:
        """Name some cells, such as ``sex = F, branch = north``."""
        names = [column.name for column in self.columns]
        return [", ".join(map("{} = {}".format, names, levels)) for levels in self.levels(cells)]

    def levels(self, cells: IntArray) -> list[tuple[str, ...]]:
        """Return the names of the levels of some cells, one for each column."""
        places = np.unravel_index(cells, [len(column) for column in self.columns])
        labels = [column.labels for column in self.columns]
        return list(zip(*([names[i] for i in codes] for names, codes in zip(labels, places, strict=True)), strict=True))

    @property
    def identical(self) -> BoolArray:
        """Whether the rows of each cell are identically distributed, given who is in which cell.

        They are not where rare levels were pooled, or a number was cut at quantiles of these rows.
        """
        result = np.ones(1, dtype=bool)
        for column in self.columns:
            of = np.full(len(column), not (column.cuts and column.from_rows))
            if column.pooled:
                of[len(column.levels)] = False
            result = np.logical_and.outer(result, of).ravel()
        return result


def families_of(columns: Sequence[SegmentColumn], depth: int) -> tuple[Family, ...]:
    """Return the families of single columns, then, with depth 2, those of all pairs."""
    return families_within(chosen for size in range(1, depth + 1) for chosen in itertools.combinations(columns, size))


def families_within(partitions: Iterable[tuple[SegmentColumn, ...]]) -> tuple[Family, ...]:
    """Return the families of some columns each, if they have no more cells than can be told apart."""
    families = tuple(map(Family, partitions))
    cells = sum(len(family) for family in families)
    if cells > _MOST_CELLS:
        remedy = "name fewer columns in `by`, or raise `min_rows`, which pools more levels"
        raise ArgumentError(f"at most {_MOST_CELLS:,} segments to list", f"{cells:,}", remedy)
    return families


def check_depth(depth: int, columns: int) -> int:
    """Return the depth if it is 1 or 2, and as many columns are named at least."""
    if check_count("depth", depth, 1, "1 for single columns, 2 for pairs too") > 2:
        raise ArgumentError("`depth` of 1 or 2", repr(depth), "join columns into one to look deeper")
    if depth > columns:
        raise ArgumentError("two columns in `by` for `depth=2`", f"{columns}", "name another one, or leave out `depth`")
    return depth


# Residuals are added up as whole numbers, so that the order of equal scores cannot show; in fewer binary digits the
# more rows there are, so that all sums fit 63 bits.
_MOST_BITS, _WORD = 42, 62
_NO_SPREAD = 1e-9  # rounding of sums of millions of rows adds less


@dataclass(frozen=True, eq=False)
class CellTotals:
    """Totals of the cells of a family, one entry per cell; zeros where a cell has no rows."""

    n: IntArray  # rows
    k: IntArray  # positives
    rise: FloatArray  # sum of 1 - s over positives
    fall: FloatArray  # sum of s over negatives
    squares: FloatArray  # sums of squared residuals and of their squares
    fourths: FloatArray
    value: FloatArray  # range, or largest rise or fall, of the cumulative residuals of the cell: its calibration error
    at_most: FloatArray  # more than `value` only where buckets of scores can hide the highest or lowest point
    low: FloatArray  # (low, high] attains the error; -inf if it starts below all scores, NaN if there is none
    high: FloatArray
    sign: IntArray  # 1 if residuals add up to more than 0 over that interval, -1 if to less, 0 if there is none

    def pick(self, which: npt.NDArray[np.generic]) -> CellTotals:
        """Return some of the cells."""
        return CellTotals(*(getattr(self, field.name)[which] for field in fields(self)))

    @classmethod
    def joined(cls, parts: Sequence[CellTotals]) -> CellTotals:
        """Put the cells of several one behind the other."""
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))

    @property
    def predicted(self) -> FloatArray:
        """Mean score."""
        return np.asarray((self.k - self.rise + self.fall) / self.n)

    @property
    def brier(self) -> FloatArray:
        """Mean squared residual."""
        return np.asarray(self.squares / self.n)

    @property
    def null_variance(self) -> FloatArray:
        """Mean of s (1 - s), the Brier score expected if scores were right."""
        return np.asarray(np.maximum(0.0, self.rise + self.fall - self.squares) / self.n)

    @property
    def equal_scores(self) -> BoolArray:
        """Whether all scores of a cell are equal, but for rounding: their variance is nothing beside mean s (1 - s)."""
        mean, chance = self.predicted, self.null_variance
        return np.asarray(mean * (1.0 - mean) - chance <= _NO_SPREAD * chance)

    @property
    def observed(self) -> FloatArray:
        """Share of positives."""
        return np.asarray(self.k / self.n)

    @property
    def ratio(self) -> FloatArray:
        """Observed over expected number of positives; NaN or infinite where all scores are 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.k / (self.n * self.predicted))


Take = Callable[[IndexArray], Any]


@dataclass(frozen=True, eq=False)
class CellRows:
    """The rows of each cell of a family, for bounds that need more than their sums."""

    n: IntArray  # rows
    ends: IntArray  # of each cell in `order`, from a 0 on
    order: IndexArray
    takes: Sequence[Take]  # rows at some places: of each class those of all cells

    @classmethod
    def of(cls, code: IntArray, cells: int, takes: Sequence[Take], count: NumberArray | None = None) -> CellRows:
        """Put rows into cells, of which `code` is the number of that of each row, which stands for `count` rows."""
        entries = np.bincount(code, minlength=cells)
        n = entries if count is None else np.bincount(code, count, cells)
        n = np.tile(n.astype(np.int64), len(takes))
        return cls(n, np.append(0, np.cumsum(entries)), key_order(code), takes)

    def __getitem__(self, cell: int) -> Any:
        """Return the rows of a cell."""
        which, within = divmod(cell, len(self.ends) - 1)
        return self.takes[which](self.order[self.ends[within] : self.ends[within + 1]])


@dataclass(frozen=True, eq=False)
class SortedRows:
    """Rows in the order of their scores."""

    score: FloatArray
    positive: BoolArray
    count: NumberArray | None = None  # of equal rows that each stands for; one each by default

    def totals(self, code: IntArray, cells: int, side: int = 0) -> CellTotals:
        """Add up the rows of each cell, of which `code` is the number of that of each row, from 0 to ``cells - 1``.

        With `side`, the error is the largest rise of cumulative residuals (1: scores too low), or fall (-1).
        """
        away = np.where(self.positive, 1.0 - self.score, self.score)
        squares = away * away
        count = np.broadcast_to(np.int64(1), len(code)) if self.count is None else self.count
        entries = np.bincount(code, minlength=cells).astype(np.int64)
        n, k = (_added(code, each, cells).astype(np.int64) for each in (count, count * self.positive))
        squared, fourths = (_added(code, count * each, cells) for each in (squares, squares * squares))
        away *= count
        risen = _added(code[self.positive], away[self.positive], cells)
        fallen = _added(code, away, cells) - risen
        del away, squares
        bits = min(_MOST_BITS, _WORD - math.ceil(math.log2(float(count.sum()) + 1.0)))
        order = key_order(code)
        score = self.score[order]
        units = (score * 2.0**bits + 0.5).astype(np.int64)
        steps = count[order] * np.where(self.positive[order], (1 << bits) - units, -units)
        same_cell = np.repeat(np.arange(cells), entries)
        ends = np.append((score[1:] != score[:-1]) | (same_cell[1:] != same_cell[:-1]), True)
        value, low, high, sign = _ranges(entries, np.cumsum(steps), score, ends, side)
        value = value * (2.0**-bits / np.maximum(n, 1))
        return CellTotals(
            n=n,
            k=k,
            rise=risen,
            fall=fallen,
            squares=squared,
            fourths=fourths,
            value=value,
            at_most=value,
            low=low,
            high=high,
            sign=sign,
        )


class RowTotals(NamedTuple):
    """What rows add up to by cell and bucket of scores; the names are those of `CellTotals`."""

    n: NumberArray
    k: NumberArray
    rise: NumberArray
    fall: NumberArray
    squares: NumberArray
    fourths: NumberArray


def bucket_totals(
    code: IntArray, cells: int, bucket: IntArray, sums: RowTotals, width: float, side: int = 0
) -> CellTotals:
    """Add up sums of rows by cell and bucket of scores, as `SortedRows.totals`: an entry for each, in any order.

    Buckets are counted from 0; scores are known as their ends.
    """
    order = key_order(code * (int(bucket.max(initial=0)) + 1) + bucket)
    code, bucket = code[order], bucket[order]
    starts = np.flatnonzero(np.append(True, (np.diff(code) != 0) | (np.diff(bucket) != 0))[: len(code)])
    n, k, rise, fall, squares, fourths = (np.add.reduceat(each[order], starts) for each in sums)
    code, end = code[starts], np.minimum(1.0, (bucket[starts] + 1) * width)
    entries = np.bincount(code, minlength=cells)
    after = np.cumsum(rise - fall)
    value, low, high, sign = _ranges(entries, after, end, np.ones(len(after), dtype=bool), side)
    # Inside a bucket the walk is never above where all that raises it comes first, nor below where it comes last.
    before = after - (rise - fall)
    base = before[np.repeat(np.cumsum(entries) - entries, entries)]
    above, below = before - base + rise, before - base - fall
    if side:
        high, low_points = (above, below) if side > 0 else (-below, -above)
        above, below = _rises(high, low_points, entries)[0], np.zeros(len(after))
    top, bottom = np.zeros(cells), np.zeros(cells)
    np.maximum.at(top, code, above)
    np.minimum.at(bottom, code, below)
    rows, positives = (np.round(_added(code, each, cells)).astype(np.int64) for each in (n, k))
    rise, fall, squares, fourths = (_added(code, each, cells) for each in (rise, fall, squares, fourths))
    total = np.maximum(rows, 1)
    at_most = np.minimum(1.0, (top - bottom) / total)
    return CellTotals(
        n=rows,
        k=positives,
        rise=rise,
        fall=fall,
        squares=squares,
        fourths=fourths,
        value=value / total,
        at_most=at_most,
        low=low,
        high=high,
        sign=sign,
    )


def _added(code: IntArray, values: NumberArray, cells: int) -> FloatArray:
    return np.bincount(code, values, cells).astype(np.float64)


def _ranges(
    n: IntArray, after: NumberArray, score: FloatArray, ends: BoolArray, side: int
) -> tuple[FloatArray, FloatArray, FloatArray, IntArray]:
    """Range of a walk within each cell, or its largest rise or fall, and the interval and direction of it.

    The walk is `after` each entry, in the order of cells, of `n` entries each, and of scores; it is read at `ends`.
    """
    cells = len(n)
    value, low, high = np.zeros(cells), np.full(cells, np.nan), np.full(cells, np.nan)
    sign = np.zeros(cells, dtype=np.int64)
    there = np.flatnonzero(n)
    if not len(there):
        return value, low, high, sign
    starts = (np.cumsum(n) - n)[there]
    base = np.append(np.zeros(1, dtype=after.dtype), after)[starts]
    read = np.flatnonzero(ends)
    firsts = np.searchsorted(read, starts)
    cumulative = after[read] - np.repeat(base, np.diff(firsts, append=len(read)))
    points = score[read]
    if side:
        rises, lowest = _rises(side * cumulative, side * cumulative, np.diff(firsts, append=len(read)))
        error, end = _extreme(rises, firsts)
        begin, direction = lowest[end], np.full(len(there), side)
    else:
        top, at_top = _extreme(cumulative, firsts)
        bottom, at_bottom = _extreme(-cumulative, firsts)
        error, climbs = top + bottom, np.where(at_bottom < 0, True, np.where(at_top < 0, False, at_top > at_bottom))
        begin, end = np.where(climbs, at_bottom, at_top), np.where(climbs, at_top, at_bottom)
        direction = np.where(climbs, 1, -1)
    some = error > 0
    value[there] = error.astype(np.float64)
    low[there] = np.where(some, np.where(begin < 0, -np.inf, points[begin]), np.nan)
    high[there] = np.where(some, points[end], np.nan)
    sign[there] = np.where(some, direction, 0)
    return value, low, high, sign


def _rises(high: NumberArray, low: NumberArray, n: IntArray) -> tuple[NumberArray, IntArray]:
    """Return how far each walk, of `n` points each, has risen at each point, and the index that it rose from.

    It rises to `high` from the lowest `low` up to there, the first one of several; from index -1 where that is its
    start at 0.
    """
    order = score_order(low)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(low))
    # Ranks of later walks are below those of earlier ones, so that each has minima of its own.
    below = len(low) * np.repeat(np.arange(len(n)), n)
    lowest = order[np.minimum.accumulate(rank - below) + below]
    start = np.minimum(low[lowest], 0)
    return high - start, np.where(start < 0, lowest, -1)


def _extreme(sums: NumberArray, firsts: IntArray) -> tuple[NumberArray, IntArray]:
    """Return the highest point of each walk, at least its start at 0, and the first index it is at; -1 at its start."""
    top = np.maximum(np.maximum.reduceat(sums, firsts), 0)
    reached = np.where(sums == np.repeat(top, np.diff(firsts, append=len(sums))), np.arange(len(sums)), len(sums))
    index = np.minimum.reduceat(reached, firsts)
    return top, np.where(top > 0, index, -1)


@dataclass(frozen=True)
class Request:
    """Which segments are asked for."""

    depth: int
    min_rows: int
    cuts: Mapping[str, Sequence[float]]
    direction: Direction = "either"  # which errors count
    beside: int = 0  # columns read before those that make segments

    def names(self, read: Iterable[str]) -> list[str]:
        """Return the columns that make segments of those read; an `ArgumentError` if others are cut."""
        names = list(read)[self.beside :]
        unknown = [name for name in self.cuts if name not in names]
        if unknown:
            expected = f"`cuts` of columns named in `by`: {', '.join(map(repr, names))}"
            raise ArgumentError(expected, f"cuts of {unknown[0]!r}", "check the spelling")
        return names


@dataclass(frozen=True, eq=False)
class SegmentTotals:
    """Totals of all families of segments."""

    n: int
    k: int
    families: tuple[Family, ...]
    totals: tuple[CellTotals | CellRows, ...]  # of the cells of each family
    exact: bool  # whether errors are known exactly, not only within limits
    direction: Direction = "either"  # which errors count
    left_out: LeftOut | None = None  # rows that lacked a value
    unit: float | None = None  # what errors of amounts of all rows are divided by
    times: int = 1  # how often each row is in a family: once for each class


def segments_of_arrays(
    label: npt.NDArray[Any],
    score: npt.NDArray[Any],
    by: Mapping[str, Any],
    request: Request,
    count: NumberArray | None = None,
) -> SegmentTotals:
    """Add up checked rows in arrays; `by` has a column of as many values for each name."""
    families, codes = families_of_rows(by, len(label), request)
    totals = totals_of(label, score, families, codes, request, count)
    n, k = int(totals[0].n.sum()), int(totals[0].k.sum())
    return SegmentTotals(n, k, families, totals, exact=True, direction=request.direction)


def totals_of(
    label: npt.NDArray[Any],
    score: npt.NDArray[Any],
    families: Sequence[Family],
    codes: Sequence[IntArray],
    request: Request,
    count: NumberArray | None = None,
) -> tuple[CellTotals, ...]:
    """Add up rows by the cells of families, of which `codes` are the numbers of that of each row."""
    score = score.astype(np.float64) + 0.0
    order = score_order(score, label)
    in_order = SortedRows(score[order], label[order].astype(bool), None if count is None else count[order])
    side, each = SIDES[request.direction], zip(families, codes, strict=True)
    return tuple(in_order.totals(code[order], len(family), side) for family, code in each)


def segments_of_rows(
    n: int,
    take: Take,
    by: Mapping[str, Any],
    request: Request,
    count: NumberArray | None = None,
) -> SegmentTotals:
    """Put rows into segments, of which `take` returns those at some places."""
    families, codes = families_of_rows(by, n, request)
    each = zip(families, codes, strict=True)
    cells = tuple(CellRows.of(code, len(family), [take], count) for family, code in each)
    return SegmentTotals(int(cells[0].n.sum()), 0, families, cells, exact=True, direction=request.direction)


def families_of_rows(by: Mapping[str, Any], n: int, request: Request) -> tuple[tuple[Family, ...], list[IntArray]]:
    """Return the families of columns, and for each the number of the cell of each row."""
    columns, codes = [], {}
    for name in request.names(by):
        array = column_values(by[name], name)
        if len(array) != n:
            lengths = f"{len(array)} values in column {name} and {n} scores"
            raise DataError("as many values as scores", lengths, "pass columns of the same table")
        columns.append(SegmentColumn.fit(array, name, min_rows=request.min_rows, cuts=request.cuts.get(name)))
        codes[name] = columns[-1].codes(array)
    families = families_of(columns, request.depth)
    return families, [family.codes([codes[column.name] for column in family.columns]) for family in families]
