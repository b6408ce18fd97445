"""The columns of segments, in whatever form they are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from calibrant.errors import ArgumentError, DataError
from calibrant.table.rules import column_values


def columns_of(segments: Any, by: Sequence[str] | None, rows: int) -> dict[str, Any]:
    """Return the columns that name segments, each with a value for every row."""
    there = _as_mapping(segments)
    names = list(there) if by is None else list(by) if not isinstance(by, str) else [by]
    if not names:
        raise ArgumentError("a column of segments", "none", "pass a dataframe or a dictionary with columns")
    values: dict[str, Any] = {}
    for name in names:
        if not isinstance(name, str):
            raise ArgumentError("names of columns that are text", repr(name), "rename the columns")
        if name not in there:
            listed = ", ".join(map(repr, there)) or "none"
            raise DataError(f"a column {name!r} of segments", f"{listed}", "check the names of the columns")
        values[name] = column_values(there[name], name)
        if len(values[name]) != rows:
            lengths = f"{len(values[name])} values and {rows} scores"
            raise DataError(f"a value of column {name} for each score", lengths, "pass columns of the same table")
    return values


def taken_apart(frame: Any, by: Sequence[str] | None) -> tuple[Any, Mapping[str, Any]]:
    """Return the scores and the columns of segments of a dataframe that holds both and nothing else."""
    expected = "`segments`, or a dataframe of the columns `by` and one of scores"
    if by is None or not hasattr(frame, "columns"):
        remedy = "pass segments=df[['sex', 'branch']], or name them in `by`"
        raise ArgumentError(expected, "scores alone" if by is not None else "neither segments nor by", remedy)
    columns = _as_mapping(frame)
    others = [name for name in columns if name not in ([by] if isinstance(by, str) else by)]
    if len(others) != 1:
        listed = ", ".join(map(repr, others)) or "none"
        raise ArgumentError(expected, f"as columns not in by: {listed}", "pass the columns that are needed only")
    return columns[others[0]], columns


def _as_mapping(segments: Any) -> Mapping[str, Any]:
    if isinstance(segments, Mapping):
        return segments
    import narwhals as nw
    from narwhals.exceptions import DuplicateError

    try:
        frame = nw.from_native(segments, eager_only=True)
        return {name: frame[name].to_native() for name in frame.columns}
    except DuplicateError:
        actual = "a name that is there twice"
        raise DataError("different names of columns", actual, "give the columns different names") from None
    except TypeError:
        actual = f"a {type(segments).__module__}.{type(segments).__name__}".replace("builtins.", "")
        remedy = "pass df[['sex', 'branch']] or {'sex': ..., 'branch': ...}"
        raise ArgumentError("`segments` as a dataframe in memory or a dictionary of columns", actual, remedy) from None
