"""A column as segments: its levels, or the cuts of a number, fixed once and applied to any rows."""

from __future__ import annotations

import decimal
import itertools
import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from calibrant.errors import ArgumentError, DataError
from calibrant.segments.values import Level, alike, clean_levels, distinct_values, is_numeric
from calibrant.table.parameters import is_number
from calibrant.table.pooling import IntArray, score_order
from calibrant.table.row_errors import describe_no_rows
from calibrant.typed_json import RISING, Count

# Where to cut a column of numbers, if that is given.
Cuts = Sequence[float] | None
# Rows that a level needs not to be pooled with others.
MIN_ROWS = 100
# Numbers with more different values than that are cut, at these many quantiles.
_FEW, _INTERVALS = 20, 5
# Levels that stay by themselves: the largest ones.
_MOST_LEVELS = 1000
FEWER_ROWS = (
    "name a column of larger levels, or join small ones; lower `min_rows`, which `calibrant.audit_segments` takes"
)
# A column of which more than this share of the values are different, and more than so many, tells rows apart.
_TELLING, _MANY = 0.5, 50


@dataclass(frozen=True)
class SegmentColumn:
    """How the values of one column are turned into segments, which are numbered from 0.

    First come the levels, or the intervals between cuts, in increasing order; then, if there are any, the pool of rare
    levels; then the missing values.

    Attributes
    ----------
    name : str
        Name of the column.
    levels : tuple
        Text, booleans or numbers, each a segment; empty if the column is cut.
    cuts : tuple of numbers
        Where a column of numbers is cut: segments are ``x <= cuts[0]``, ``cuts[0] < x <= cuts[1]``, and so on.
    pooled : int
        Number of rare levels that are one segment together; 0 if there is none. A value that was not met before joins
        them; without a pool it belongs to no segment.
    missing : bool
        Whether missing values are a segment. Without it they belong to none.
    from_rows : bool
        Whether levels were pooled, or cuts chosen, by looking at these rows.
    """

    name: str
    levels: tuple[Level, ...] = ()
    cuts: Annotated[tuple[int | float, ...], RISING] = ()
    pooled: Count = 0
    missing: bool = False
    from_rows: bool = False

    @classmethod
    def fit(cls, values: Any, name: str, *, min_rows: int = MIN_ROWS, cuts: Cuts = None) -> SegmentColumn:
        """Choose the segments of a column.

        Text, booleans, and numbers with at most 20 different values have a segment for each level; those with fewer
        than `min_rows` rows are pooled, as are all but the 1000 largest. Other numbers are cut at their quintiles, or
        at `cuts`.

        Parameters
        ----------
        values : array-like of shape (n,)
            A list, an array or a column of a dataframe. Missing values are None, NaN or what the library has for them.
        name : str
            Name of the column, for messages.
        min_rows : int
            Rows that a level needs to be a segment by itself.
        cuts : sequence of numbers, optional
            Increasing; where to cut a column of numbers.

        Returns
        -------
        SegmentColumn
            The same for every order of the rows.

        Raises
        ------
        DataError
            If the values cannot name segments: dates, several kinds, one value only, or nearly one value per row.
        ArgumentError
            If the cuts are not increasing numbers.

        Examples
        --------
        >>> from calibrant.segments.columns import SegmentColumn
        >>> column = SegmentColumn.fit(["a", "b", None, "a", "rare"] * 60, "g")
        >>> column.labels, column.codes(["b", None, "new"]).tolist()
        (('a', 'other (2 levels)', 'missing'), [1, 2, 1])
        """
        distinct = distinct_values(values, name)
        if not len(distinct.number):
            raise describe_no_rows()
        missing = int((distinct.number < 0).sum())
        return cls.of_counts(name, distinct.levels, distinct.counts, missing, min_rows=min_rows, cuts=cuts)

    @classmethod
    def of_counts(
        cls, name: str, levels: tuple[Level, ...], counts: IntArray, missing: int, *, min_rows: int, cuts: Cuts
    ) -> SegmentColumn:
        """Choose the segments, as `fit`, from the different values in increasing order and how often each occurs."""
        rows, numeric = int(counts.sum()), is_numeric(levels)
        _need_two(name, len(levels) + bool(missing), levels)
        if cuts is not None:
            if not numeric:
                not_numbers = f"{name}, which holds {_shown(levels)}"
                raise ArgumentError("`cuts` of a column of numbers", not_numbers, "leave out its cuts")
            column = cls(name, cuts=clean_cuts(name, cuts), missing=bool(missing))
            _need_two(name, len(set(column._of_levels(levels).tolist())) + bool(missing), levels)
            return column
        whole = numeric and all(isinstance(level, int) for level in levels)
        if not numeric or (whole and len(levels) == rows):
            refuse_identifier(name, len(levels), rows, numbers=numeric)
        if numeric and len(levels) > _FEW:
            return cls(name, cuts=_quantiles(levels, counts), missing=bool(missing), from_rows=True)
        largest = np.zeros(len(counts), dtype=bool)
        largest[score_order(-counts)[:_MOST_LEVELS]] = True
        separate = largest & (counts >= min_rows)
        rare = int(len(counts) - separate.sum())
        if rare == 1:  # a pool of one level is that level
            separate[:], rare = True, 0
        _need_two(name, int(separate.sum()) + bool(rare) + bool(missing), levels, min_rows)
        return cls(name, tuple(itertools.compress(levels, separate)), (), rare, bool(missing), bool(rare))

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the segments, all different."""
        names = _intervals(self.cuts) if self.cuts else [_text(level) for level in self.levels]
        if self.pooled:
            names.append(_free(f"other ({self.pooled} levels)", names))
        if self.missing:
            names.append(_free("missing", names))
        return tuple(names)

    def __len__(self) -> int:
        """Return the number of segments."""
        return (len(self.cuts) + 1 if self.cuts else len(self.levels)) + bool(self.pooled) + self.missing

    def codes(self, values: Any) -> IntArray:
        """Return the number of the segment of each row; -1 where a value belongs to none.

        Parameters
        ----------
        values : array-like of shape (n,)
            As in `fit`.

        Returns
        -------
        ndarray of int64, shape (n,)
            From 0 to ``len(self) - 1``, or -1.

        Raises
        ------
        DataError
            If the values cannot name segments, or are no numbers where the column is cut.
        """
        distinct = distinct_values(values, self.name)
        of_level = self._of_levels(distinct.levels)
        of_missing = len(self) - 1 if self.missing else -1
        return np.append(of_level, np.int64(of_missing))[distinct.number]

    def _of_levels(self, levels: tuple[Level, ...]) -> IntArray:
        """Return the number of the segment of each of some values."""
        if self.cuts:
            # Compared as Python compares them: exact for whole numbers of any length.
            return np.array([bisect_left(self.cuts, value) for value in self._numbers(levels)], dtype=np.int64)
        pool = len(self.levels) if self.pooled else -1
        return np.array([next(iter(self._met(level)), pool) for level in levels], dtype=np.int64)

    def _met(self, level: Level) -> list[int]:
        """Return the segment of a value that was met in the fit, also as one of another type, such as '1' for 1."""
        number = self._segment_of
        return [number[of] for of in alike(level, self.levels[0]) if of in number][:1] if number else []

    @cached_property
    def _segment_of(self) -> dict[Level, int]:
        return {level: segment for segment, level in enumerate(self.levels)}

    def _numbers(self, levels: tuple[Level, ...]) -> list[Any]:
        """Return values as numbers, or raise a `DataError`."""
        numbers = [next(iter(alike(level, 0.0)), "") for level in levels]
        if "" in numbers or any(isinstance(level, bool) for level in levels):
            raise DataError(f"numbers in column {self.name}", _shown(levels), "pass the column that was cut")
        return numbers

    def unmet(self, values: Any) -> str:
        """Say so if most of the values that are there were not met in the fit; empty otherwise."""
        distinct = distinct_values(values, self.name)
        unmet = np.array([not self.cuts and not self._met(level) for level in distinct.levels], dtype=bool)
        new = tuple(itertools.compress(distinct.levels, unmet))
        rows, of_new = int(distinct.counts.sum()), int(distinct.counts[unmet].sum())
        if 2 * of_new <= rows:
            return ""
        shown = f"{_shown(new)} against {_shown(self.levels)}"
        return f"{of_new} of {rows} values of column {self.name} were not met in the fit: {shown}"


def clean_cuts(name: str, cuts: Any) -> tuple[int | float, ...]:
    """Return cuts of a column as increasing numbers, or raise an `ArgumentError`."""
    listed = list(cuts) if isinstance(cuts, (Sequence, np.ndarray)) and not isinstance(cuts, bytes) else []
    finite = all(is_number(cut) and not isinstance(cut, (bool, str)) and math.isfinite(cut) for cut in listed)
    clean = tuple(cut for cut in clean_levels(listed, name) if not isinstance(cut, str)) if finite else ()
    if not clean or any(after <= before for before, after in itertools.pairwise(clean)):
        expected = f"`cuts` of {name} as finite numbers in increasing order"
        raise ArgumentError(expected, repr(cuts), "pass for example [20, 40, 60]")
    return clean


def _quantiles(levels: tuple[Level, ...], counts: IntArray) -> tuple[int | float, ...]:
    """Return cuts at which a column of numbers falls into parts of about equal numbers of rows."""
    finite = [index for index, level in enumerate(levels) if isinstance(level, int) or abs(float(level)) < math.inf]
    below = np.cumsum(counts[finite])
    ranks = below[-1] * np.arange(1, _INTERVALS) / _INTERVALS
    at = np.minimum(np.searchsorted(below, ranks), len(finite) - 1)
    values = [level for level in levels if not isinstance(level, str)]
    # A cut at the largest value leaves nothing above it.
    below_all = [values[finite[index]] for index in at.tolist() if finite[index] < len(values) - 1]
    return short_cuts(below_all or [values[finite[-2]]], values[-1])


def short_cuts(quantiles: Sequence[int | float], largest: int | float) -> tuple[int | float, ...]:
    """Return cuts of few digits near some quantiles, all below the largest value of the column.

    Cuts are shown as they are, so that a segment holds what its name says. They are rounded up, by at most a hundredth
    of the smallest distance between them: no frequent value changes sides.
    """
    cuts = sorted(set(quantiles))
    least = min(after - before for before, after in itertools.pairwise([*cuts, largest]))
    for digits in range(4, 17):
        up = decimal.Context(prec=digits, rounding=decimal.ROUND_CEILING)
        rounded = [cut if isinstance(cut, int) else float(up.create_decimal_from_float(cut)) for cut in cuts]
        if all(100 * (new - cut) <= least for new, cut in zip(rounded, cuts, strict=True)):
            return tuple(rounded)
    return tuple(cuts)


def refuse_identifier(name: str, values: int, rows: int, *, numbers: bool) -> None:
    """Raise a `DataError` for a column of so many different values that it tells rows apart."""
    if values <= max(_MANY, _TELLING * rows):
        return
    remedy = "name a column with a few groups"
    if numbers:
        remedy += f", or of intervals; `calibrant.audit_segments` takes cuts of a measurement: {{{name!r}: [10, 20]}}"
    raise DataError(f"groups of rows in column {name}", f"{values} different values in {rows} rows", remedy)


def _need_two(name: str, segments: int, levels: tuple[Level, ...], min_rows: int | None = None) -> None:
    """Raise a `DataError` if a column does not divide the rows."""
    if segments > 1:
        return
    remedy = f"leave {name} out: one segment is all rows"
    if min_rows is not None:
        few = f"{len(levels)}, each with fewer than {min_rows} rows"
        raise DataError(f"at least one level of column {name} with {min_rows} rows", few, FEWER_ROWS)
    raise DataError(f"at least two segments in column {name}", f"one, {_shown(levels)}", remedy)


def _shown(levels: tuple[Level, ...]) -> str:
    return ", ".join(repr(level) for level in levels[:3]) + (", ..." if levels[3:] else "") or "no values"


def _text(level: Level) -> str:
    if isinstance(level, float):
        return str(int(level)) if level.is_integer() and abs(level) < 2.0**53 else repr(level)
    return level if isinstance(level, str) and level.strip() else str(level) if level != "" else "''"


def _intervals(cuts: tuple[int | float, ...]) -> list[str]:
    """Name the intervals between cuts, which are written in full: a segment holds what its name says."""
    shown = [_text(cut) for cut in cuts]
    between = [f"over {low} to {high}" for low, high in itertools.pairwise(shown)]
    return [f"up to {shown[0]}", *between, f"over {shown[-1]}"]


def _free(name: str, taken: list[str]) -> str:
    """Return a name that no level has."""
    while name in taken:
        name = f"({name})"
    return name
