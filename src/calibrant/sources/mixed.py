"""Columns given by name, as arrays or as series, freely mixed: a dataframe is given those that it does not have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calibrant.errors import ArgumentError, DataError
from calibrant.sources.rows import is_read
from calibrant.table.rules import column_values


class MixedColumns:
    """A source with the columns that were given as values beside those that it has.

    Of each argument `name` or `names` says what its columns are called; then `source` has all of them.
    """

    def __init__(self, source: Any) -> None:
        self._source = source
        self._given: dict[str, Any] = {}  # by name; they take the place of columns that nothing else asks for
        self._asked: list[Any] = []

    def name(self, what: str, value: Any) -> Any:
        """Return the name of a column that is given by name or as values; None if none is given."""
        if is_values(value):
            return self._added(own_name(value, what), value)
        if isinstance(value, str) and value in self._given:
            remedy = "rename one of them"
            raise ArgumentError(f"different names of columns, one of them {value!r}", "it twice", remedy)
        self._asked.append(value)
        return value

    def names(self, what: str, value: Any) -> list[Any]:
        """Return the names of columns of which there may be several: in a list or a mapping, or one."""
        if value is None:
            return []
        if isinstance(value, Mapping):
            return [
                self.name(what, one) if isinstance(one, str) and one == name else self._added(name, one)
                for name, one in value.items()
            ]
        if isinstance(value, list | tuple):
            texts = all(isinstance(one, str) for one in value)
            if any(map(is_values, value)) or (texts and not self._tells_rows(value)):
                return [self.name(what, one) for one in value]
            value = list(value)
        return [self.name(what, value)]

    @property
    def source(self) -> Any:
        """What was passed, with the columns that were given as values."""
        if not self._given:
            return self._source
        import narwhals as nw

        frame, added = self._frame(""), []
        for name, values in self._given.items():
            if isinstance(values, str):  # another name for a column
                added.append(frame[values].alias(name))
                continue
            if isinstance(values, list | tuple):  # tuples name clusters, which an array would take apart
                column = column_values([_in_one(value) for value in values], name)
            else:
                column = column_values(values, name)
            if len(column) != len(frame):
                lengths = f"{len(column)} values in column {name} and {len(frame)} rows"
                raise DataError("as many values as rows", lengths, "pass columns of the same table")
            listed = column.tolist() if column.dtype.kind in "OUS" else column
            added.append(nw.new_series(name, listed, backend=frame.implementation))
        return frame.with_columns(*added).to_native()

    def _added(self, name: str, values: Any) -> str:
        frame = self._frame(name)
        if name in self._asked and not isinstance(values, str):
            there = column_values(frame[name].to_native(), name)
            if np.array_equal(there, column_values(values, name)):
                return name
        while name in self._asked or name in self._given:
            name = f"{name} (given)"
        self._given[name] = values
        return name

    def _frame(self, given: str) -> Any:
        import narwhals as nw

        from calibrant.sources.frames import as_frame

        frame = None if is_read(self._source) else as_frame(self._source)
        if not isinstance(frame, nw.DataFrame):
            remedy = "name columns of the same source"
            raise ArgumentError("names of columns, where rows are not in memory", f"values of {given}", remedy)
        return frame

    def _tells_rows(self, texts: Any) -> bool:
        """Whether a list of texts is a value for each row of a dataframe, not names of its columns."""
        if is_read(self._source) or not texts:
            return False
        import narwhals as nw

        from calibrant.sources.frames import as_frame, names_of_frame

        frame = as_frame(self._source)
        known = names_of_frame(frame)
        return not set(texts) & set(known) and isinstance(frame, nw.DataFrame) and len(frame) == len(texts)


def by_names(names: Mapping[str, Any], arrays: Mapping[str, Any], example: str, **further: Any) -> bool:
    """Whether rows are given by the names of two columns; an `ArgumentError` if one is missing, or there are arrays.

    `further` are names of other columns, which need both. `example` is a right call.
    """
    given = [name for name, value in {**names, **further, **arrays}.items() if value is not None]
    if not any(name in given for name in (*names, *further)):
        return False
    if any(name in given for name in arrays) or not all(name in given for name in names):
        listed = " and ".join(f"`{name}`" for name in names)
        expected = f"the names of both columns, {listed}, and no arrays of the same"
        raise ArgumentError(expected, " and ".join(given), f"pass {example}")
    return True


def is_values(value: Any) -> bool:
    """Whether an argument is a column itself, not the name of one."""
    named = isinstance(value, str | bytes | tuple | Mapping)
    return not named and (hasattr(value, "__len__") or hasattr(value, "__array__"))


def _in_one(value: Any) -> Any:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else value


def own_name(values: Any, other: str) -> str:
    """Return the name that a series has, or another one."""
    name = getattr(values, "name", None)
    return name if isinstance(name, str) and name else other
