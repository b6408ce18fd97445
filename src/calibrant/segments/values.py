"""Values of a column that names segments, of whatever library: clean, numbered, with the missing ones marked."""

from __future__ import annotations

import datetime as dt
import decimal
import numbers
import re
from collections.abc import Callable, Collection, Hashable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.errors import DataError
from calibrant.table.missing import is_missing
from calibrant.table.pooling import IntArray, number_values, score_order
from calibrant.table.row_errors import describe_nested
from calibrant.table.rules import column_values

# One value that names a segment: what JSON can hold.
Level = str | bool | int | float

# 2024-01, 202401, 2024-01-31, 2024Q1
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
    if raw.dtype.kind in "Mm":
        raise describe_dates(name)
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
    if "date" in kinds:
        raise describe_dates(name)
    if "other" in kinds:
        odd = next(value for value in values if _kind(value) == "other")
        raise describe_nested(name, f"{odd!r}, a {type(odd).__name__}")
    if len(kinds) > 1:
        shown = " and ".join(repr(next(value for value in values if _kind(value) == kind)) for kind in sorted(kinds))
        raise DataError(f"values of one kind in column {name}", f"{shown}", "make all of them numbers, or all text")
    if not values:
        return []
    clean: dict[str, Callable[[Any], Level]] = {"text": str, "boolean": bool, "number": _number}
    (kind,) = kinds
    return [clean[kind](value) for value in values]


def _kind(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "boolean"
    if isinstance(value, (numbers.Real, decimal.Decimal)):
        return "number"
    if isinstance(value, (dt.date, dt.time, dt.timedelta, np.datetime64, np.timedelta64)):
        return "date"
    if isinstance(value, str) or _is_interval(value):
        return "text"
    return "date" if type(value).__name__ == "Period" else "other"


def _is_interval(value: Any) -> bool:
    """Whether a value is one of `pandas.cut`, which names it by its text."""
    return type(value).__name__ == "Interval"


def _number(value: Any) -> int | float:
    """Return a number as an int if it is whole and was given as such, else as a float; -0.0 becomes 0.0."""
    return int(value) if isinstance(value, numbers.Integral) else float(value) + 0.0


def describe_dates(name: str) -> DataError:
    """Phrase the error for a column of dates or durations."""
    remedy = "make a column of the year, the month or the weekday, or of the number of days, and name that"
    return DataError(f"text, booleans or numbers in column {name}", "dates or times", remedy)
