"""The columns that arguments of a verb stand for: names of a source, arrays or series, freely mixed.

A dataframe is given the columns that it lacks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from calibrant.errors import ArgumentError, DataError
from calibrant.sources.schema import CLASSES, EVENTS, MODELS, Call, Schema, check_names, is_read
from calibrant.table import rules
from calibrant.table.parameters import check_choice

if TYPE_CHECKING:
    pass


class Given(NamedTuple):
    """Rows as a verb was given them: a source and its schema; or None, and columns of arrays by what they hold."""

    source: Any
    schema: Any
    columns: dict[str, Any]


# Roles of one column each, beside outcome and prediction.
SINGLE = ("weight", "count", "chance", "exposure")


def columns_by_role(
    call: Call,
    data: Any,
    prediction: Any,
    outcome: Any,
    *,
    cluster: Any = None,
    by: Any = None,
    smallest_chance: float | None = None,
    missing: str = "raise",
    limits: tuple[float, float] = rules.PROBABILITIES,
    pos_label: Any = None,
    **single: Any,
) -> Given:
    """Return the columns that the arguments of a verb stand for: of `data` if there is an `outcome`, else arrays.

    Columns may be given as values beside the names of others. `single` may have what `SINGLE` lists.
    """
    if unknown := single.keys() - SINGLE:
        raise TypeError(f"columns by role are {', '.join(SINGLE)}, not {', '.join(sorted(unknown))}")
    check_choice("missing", missing, ("raise", "drop"))
    single = {"weight": None, **single}
    kinds = {role: single.get(role) for role in ("weight", "count", "chance")}
    rules.need_one_kind(**kinds, smallest_chance=smallest_chance)
    named = {"outcome": outcome, "prediction": prediction if outcome is not None or _is_name(prediction) else None}
    named |= {role: value for role, value in single.items() if isinstance(value, str)}
    asked = [name for name, value in named.items() if value is not None]
    if not asked:
        return Given(data, None, single | {"cluster": cluster, "by": None if by is None else columns_of_arrays(by)})
    remedy = f"pass {call.example}"
    if outcome is None or prediction is None:
        raise ArgumentError("the names of both columns, `outcome` and `prediction`", " and ".join(asked), remedy)
    if _is_column(data) or (call is CLASSES and not _is_name(prediction)):
        expected = "a table beside the names of its columns, or arrays and no `outcome`"
        raise ArgumentError(expected, f"a {type(data).__name__} and outcome", remedy)
    mixed = MixedColumns(data)
    columns: dict[str, Any] = {"outcome": mixed.name("outcome", outcome)}
    if call is MODELS:
        columns["predictions"] = tuple(mixed.names("prediction", prediction))
        columns["prediction"] = next(iter(columns["predictions"]), None)
    elif call is CLASSES:  # a pattern, or names, see `Schema.matching`
        columns["prediction"] = prediction
    else:
        several = _is_name(prediction) and not isinstance(prediction, str)
        names = mixed.names("prediction", prediction) if several else [mixed.name("prediction", prediction)]
        if len(names) > 1:
            remedy = "name one of them; of several classes pass `kind='classes'`"
            raise ArgumentError("`prediction` to name one column", " and ".join(map(repr, names)), remedy)
        columns["prediction"] = names[0]
    columns |= {role: mixed.name(role, value) for role, value in single.items()}
    columns["cluster"] = tuple(mixed.names("cluster", cluster))
    segments = {} if by is None else columns_of(by)
    if call is EVENTS:
        check_names(list(segments), columns["outcome"], columns["prediction"])
    columns["by"] = tuple(mixed.names("by", segments))
    columns |= {"limits": limits, "pos_label": pos_label, "smallest_chance": smallest_chance}
    return Given(mixed.source, Schema(**columns, missing=missing, call=call), columns)


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
                column = rules.column_values([_in_one(value) for value in values], name)
            else:
                column = rules.column_values(values, name)
            if len(column) != len(frame):
                lengths = f"{len(column)} values in column {name} and {len(frame)} rows"
                raise DataError("as many values as rows", lengths, "pass columns of the same table")
            listed = column.tolist() if column.dtype.kind in "OUS" else column
            added.append(nw.new_series(name, listed, backend=frame.implementation))
        return frame.with_columns(*added).to_native()

    def _added(self, name: str, values: Any) -> str:
        frame = self._frame(name)
        if name in self._asked and not isinstance(values, str):
            there = rules.column_values(frame[name].to_native(), name)
            if np.array_equal(there, rules.column_values(values, name)):
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


def _is_name(value: Any) -> bool:
    """Whether predictions are named: by one column, by a pattern, or by a list of columns."""
    return isinstance(value, str) or (isinstance(value, list | tuple) and bool(value) and isinstance(value[0], str))


def _is_column(data: Any) -> bool:
    """Whether what should be a table, or paths, is one column of values."""
    first = next(iter(data), "") if isinstance(data, list | tuple) else ""
    return not isinstance(first, str | PathLike) or len(getattr(data, "shape", ())) == 1


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


def names_of(by: Any) -> list[str]:
    """Return the names of the columns that make segments."""
    return list(columns_of(by))


def columns_of_arrays(by: Any) -> dict[str, Any]:
    """Return `by`, beside arrays, as columns by name."""
    columns = columns_of(by)
    if not isinstance(columns, dict) or any(isinstance(values, str) for values in columns.values()):
        expected = "`by` as a mapping of names to columns, beside arrays"
        raise ArgumentError(expected, ", ".join(map(repr, columns)), "pass by={'sex': sex}, with one value per row")
    return columns


def columns_of(by: Any) -> dict[str, Any] | list[str]:
    """Return `by` as columns by name, a text being the name of one, or as a list of names."""
    if isinstance(by, str):
        return [by]
    if isinstance(by, np.ndarray) and by.dtype.kind in "OU" and len(set(by.tolist())) == len(by):
        by = by.tolist()  # names
    elif isinstance(by, np.ndarray) or own_name(by, ""):
        by = {own_name(by, "by"): by}
    elif isinstance(by, list | tuple) and any(map(is_values, by)):
        by = {own_name(one, f"by {i}") if is_values(one) else one: one for i, one in enumerate(by, 1)}
    remedy = "pass for example ['sex', 'branch']"
    if hasattr(by, "columns") and not isinstance(by, np.ndarray | Mapping):
        import narwhals as nw

        frame, remedy = nw.from_native(by, eager_only=True), "give its columns names that are text"
        by = {name: frame[name].to_native() for name in frame.columns}
    accepted = "`by` as names of columns, or a mapping of names to columns"
    if by is None or isinstance(by, bytes) or not isinstance(by, Iterable):
        raise ArgumentError(accepted, repr(by), remedy)
    names = list(by)
    for name in names:
        if not isinstance(name, str):
            raise ArgumentError(accepted, f"{name!r} among them", remedy)
        if names.count(name) > 1:
            raise ArgumentError(
                "different columns in `by`",
                f"{name!r} more than once",
                "name each once; to pass values, write by={'sex': sex}",
            )
    return {str(name): by[name] for name in names} if isinstance(by, Mapping) else [str(name) for name in names]
