"""A column as segments: clean values, its levels, or the cuts of a number, fixed once and applied to any rows."""

from __future__ import annotations

import datetime as dt
import decimal
import itertools
import math
import numbers
import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError, DataError
from calibrant.table.missing import is_missing
from calibrant.table.parameters import is_number
from calibrant.table.pooling import IntArray, number_values, score_order
from calibrant.table.row_errors import describe_nested, describe_no_rows
from calibrant.table.rules import column_values
from calibrant.typed_json import RISING, Count

# One value that names a segment: what JSON can hold.
Level = str | bool | int | float

# 2024-01, 202401, 2024-01-31, 2024Q1
_DURATIONS = "times or durations"
_DAY = re.compile(r"\d{4}-\d\d-\d\d(?:[ T].*)?")
_PERIOD = re.compile(r"(?:19|20)\d\d[-/. ]?(?:(?:0[1-9]|1[0-2])(?:[-/.]?(?:0[1-9]|[12]\d|3[01]))?|Q[1-4])")


class Distinct(NamedTuple):
    """Different values of a column, in increasing order, and which of them each row has."""

    levels: tuple[Level, ...]
    number: IntArray  # of each row, among the levels; -1 where the value is missing

    @property
    def counts(self) -> IntArray:
        """Rows at each level."""
        return np.bincount(self.number[self.number >= 0], minlength=len(self.levels)).astype(np.int64)


def is_numeric(levels: tuple[Level, ...]) -> bool:
    """Whether levels are numbers, which have an order and can be cut."""
    return bool(levels) and not isinstance(levels[0], (str, bool))


def are_periods(levels: Collection[str]) -> bool:
    """Whether these are names of months, quarters or days, each of which comes once.

    Examples
    --------
    >>> are_periods(["2024-01", "2024-02"]), are_periods(["202401"]), are_periods(["2024Q1"]), are_periods(["1", "12"])
    (True, True, True, False)
    """
    return bool(levels) and all(_PERIOD.fullmatch(level) for level in levels)


def are_days(levels: Collection[Level]) -> bool:
    """Whether these are dates of days or moments: as text, as which those that are typed are levels too.

    Examples
    --------
    >>> are_days(["2024-01-31", "2024-02-29 12:00:00"]), are_days(["2024-01"])
    (True, False)
    """
    return bool(levels) and all(isinstance(level, str) and _DAY.fullmatch(level) for level in levels)


def alike(value: Level, known: Level) -> list[Level]:
    """Return what a value of another kind than a known level may be as one of its kind, as SQL compares them.

    Examples
    --------
    >>> alike("1.0", 1), alike(2.0, "a"), alike("x", 1), alike("True", False)
    ([1.0], ['2.0', '2'], [], [True])
    """
    if isinstance(value, str) and isinstance(known, bool):
        truth = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}
        return [truth[value.lower()]] if value.lower() in truth else []
    if isinstance(value, str) and not isinstance(known, str):
        try:
            return [float(value)] if "_" not in value else []
        except ValueError:
            return []
    if isinstance(known, str) and not isinstance(value, str):
        text = str(value)
        return [text, text.removesuffix(".0") if text.endswith(".0") else f"{text}.0"]
    return [value]


def distinct_values(values: Any, name: str) -> Distinct:
    """Number the different values of a column; a `DataError` if they cannot name segments."""
    raw = column_values(values, name)
    if raw.dtype.kind == "m":
        raise describe_dates(name, _DURATIONS)
    if raw.dtype.kind == "M":
        raw = raw.astype("datetime64[us]").astype(object)
    if raw.dtype.kind in "biuf":
        missing = np.isnan(raw) if raw.dtype.kind == "f" else np.zeros(len(raw), dtype=bool)
        number = np.full(len(raw), -1, dtype=np.int64)
        levels, number[~missing] = _numbered(raw[~missing])
        return Distinct(tuple(levels.tolist()), number)
    numbers_of: dict[Hashable, int] = {}
    try:
        index = np.fromiter(
            (numbers_of.setdefault(value, len(numbers_of)) for value in raw.tolist()), np.int64, len(raw)
        )
    except TypeError:
        raise describe_nested(name, "values that cannot be told apart, such as lists") from None
    return _ordered(list(numbers_of), index, name)


def _numbered(values: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], IntArray]:
    """Return different values in increasing order, and which of them each is; numbers and booleans only."""
    if values.dtype.kind != "f":
        number = number_values(values.view(np.int8) if values.dtype.kind == "b" else values)
        levels = np.empty(int(number.max(initial=-1)) + 1, dtype=values.dtype)
        levels[number] = values
        return levels, number
    known = values + 0.0  # no -0.0
    order = score_order(known)
    new = np.append(True, known[order][1:] != known[order][:-1])[: len(known)]
    number = np.empty(len(known), dtype=np.int64)
    number[order] = np.cumsum(new) - 1
    return known[order][new], number


def _ordered(values: list[Any], index: IntArray, name: str) -> Distinct:
    """Put levels that were numbered in the order of their appearance into increasing order."""
    known = [code for code, value in enumerate(values) if not is_missing(value)]
    levels = clean_levels([values[code] for code in known], name)
    of = dict(zip(levels, (values[code] for code in known), strict=True))
    # Intervals have an order of their own, which their text has not.
    order = sorted(of, key=lambda level: of[level] if _is_interval(of[level]) else level)
    rank = {level: number for number, level in enumerate(order)}
    renumbered = np.full(len(values), -1, dtype=np.int64)
    renumbered[known] = [rank[level] for level in levels]
    return Distinct(tuple(order), renumbered[index] if len(index) else index)


def clean_levels(values: list[Any], name: str) -> list[Level]:
    """Return values, none of them missing, as text, booleans or numbers; a `DataError` if they are of several kinds."""
    kinds = {_kind(value) for value in values}
    if "duration" in kinds:
        raise describe_dates(name, _DURATIONS)
    if "other" in kinds:
        odd = next(value for value in values if _kind(value) == "other")
        raise describe_nested(name, f"{odd!r}, a {type(odd).__name__}")
    if len(kinds) > 1:
        shown = " and ".join(repr(next(value for value in values if _kind(value) == kind)) for kind in sorted(kinds))
        raise DataError(f"values of one kind in column {name}", f"{shown}", "make all of them numbers, or all text")
    if not values:
        return []
    clean: dict[str, Callable[[Any], Level]] = {"text": str, "boolean": bool, "number": _number, "date": _date_text}
    (kind,) = kinds
    return [clean[kind](value) for value in values]


def _kind(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "boolean"
    if isinstance(value, (numbers.Real, decimal.Decimal)):
        return "number"
    if isinstance(value, (dt.time, dt.timedelta, np.timedelta64)) or getattr(value, "tzinfo", None) is not None:
        return "duration"
    if isinstance(value, (dt.date, np.datetime64)):
        return "date"
    return "text" if isinstance(value, str) or _is_interval(value) or type(value).__name__ == "Period" else "other"


def _is_interval(value: Any) -> bool:
    """Whether a value is one of `pandas.cut`, which names it by its text."""
    return type(value).__name__ == "Interval"


def _date_text(value: Any) -> str:
    """Write a date as files have it: the day, and the time where it is not midnight."""
    moment = value.astype("datetime64[us]").item() if isinstance(value, np.datetime64) else value
    return re.sub(r"(\.\d*?)0+$", r"\1", str(moment).removesuffix(" 00:00:00"))


def _number(value: Any) -> int | float:
    """Return a number as an int if it is whole and was given as such, else as a float; -0.0 becomes 0.0."""
    return int(value) if isinstance(value, numbers.Integral) else float(value) + 0.0


def describe_dates(name: str, seen: str) -> DataError:
    """Phrase the error for a column of many dates, or of durations."""
    remedy = "make a column of the year, the month or the weekday, or of the number of days, and name that"
    return DataError(f"text, booleans, numbers or a few dates in column {name}", seen, remedy)


# Where to cut a column of numbers, if that is given.
Cuts = Sequence[float] | None
# Rows that a level needs not to be pooled with others.
MIN_ROWS = 100
# Numbers with more different values than that are cut, at these many quantiles.
_FEW, _INTERVALS = 20, 5
# Levels that stay by themselves: the largest ones.
_MOST_LEVELS = 1000
FEWER_ROWS = "name a column of larger levels, or join small ones; or lower `min_rows`"
# A column of which more than this share of the values are different, and more than so many, tells rows apart; so many
# dates are no periods.
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

        Text, booleans, at most 50 dates, and numbers with at most 20 different values have a segment for each level;
        those with fewer than `min_rows` rows are pooled, as are all but the 1000 largest. Other numbers are cut at
        their quintiles, or at `cuts`.

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
            If the values cannot name segments: many dates, several kinds, one value only, or nearly one value per row.
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
        if not levels:
            raise DataError(f"values in column {name}", "none", f"leave {name} out, or fill it")
        if cuts is not None:
            if not numeric:
                not_numbers = f"{name}, which holds {_shown(levels)}"
                raise ArgumentError("`cuts` of a column of numbers", not_numbers, "leave out its cuts")
            return cls(name, cuts=clean_cuts(name, cuts), missing=bool(missing))
        whole = numeric and all(isinstance(level, int) for level in levels)
        if not numeric or (whole and len(levels) == rows):
            refuse_identifier(name, len(levels), rows, numbers=numeric)
            refuse_days(name, levels)
        if numeric and len(levels) > _FEW:
            return cls(name, cuts=_quantiles(levels, counts), missing=bool(missing), from_rows=True)
        largest = np.zeros(len(counts), dtype=bool)
        largest[score_order(-counts)[:_MOST_LEVELS]] = True
        separate = largest & (counts >= min_rows)
        rare = int(len(counts) - separate.sum())
        if rare == 1:  # a pool of one level is that level
            separate[:], rare = True, 0
        if not (separate.any() or missing):
            few = f"{len(levels)}, each with fewer than {min_rows} rows"
            raise DataError(f"at least one level of column {name} with {min_rows} rows", few, FEWER_ROWS)
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
        remedy += ", or cut a measurement into intervals with `cuts`"
    raise DataError(f"groups of rows in column {name}", f"{values} different values in {rows} rows", remedy)


def refuse_days(name: str, levels: tuple[Level, ...]) -> None:
    """Raise a `DataError` for more dates than make periods, as text or typed."""
    if len(levels) > _MANY and are_days(levels):
        raise describe_dates(name, f"{len(levels)} different dates, {levels[0]} to {levels[-1]}")


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
