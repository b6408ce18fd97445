"""Outcomes, predictions and exposures from the columns of dataframes, files and queries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.errors import DataError, SourceError
from calibrant.sources.protocol import Columns
from calibrant.sources.rows import is_read
from calibrant.table.outcome_checks import both_weightings, clean_outcomes
from calibrant.table.outcome_rows import Limits, OutcomeRows
from calibrant.table.row_errors import describe_no_rows, renumbered

if TYPE_CHECKING:
    from calibrant.sources.source import Source

# What columns hold -> the argument of `clean_outcomes`.
_ARGUMENTS = {"outcome": "y_true", "prediction": "y_pred", "weight": "sample_weight", "cluster": "clusters"}


def read_outcomes(
    source: Any, columns: Mapping[str, str | None], outcome_limits: Limits, relative_to: str, missing: str
) -> OutcomeRows:
    """Read the columns of a source that have a name, and check them; errors name columns, and rows of a file from 1."""
    names = {what: name for what, name in columns.items() if name is not None}
    if "exposure" in names and "weight" in names:
        raise both_weightings()
    given = list(names.values())
    if repeated := [what for what, name in names.items() if given.count(name) > 1]:
        twice = ", ".join(dict.fromkeys(repr(names[what]) for what in repeated))
        remedy = "name the column of each"
        raise SourceError(
            f"different columns for {' and '.join(f'{what}s' for what in repeated)}", f"{twice} for both", remedy
        )
    settings: dict[str, Any] = {"outcome_limits": outcome_limits, "relative_to": relative_to, "missing": missing}
    # Imported here, since these load narwhals and DuckDB.
    if not is_read(source):
        from calibrant.sources.frames import in_memory

        frame = in_memory(source, Columns(names["outcome"], names["prediction"], by=tuple(names.values())))
        values = {_ARGUMENTS.get(what, what): frame[name].to_native() for what, name in names.items()}
        return clean_outcomes(**values, names=names, **settings)
    from calibrant.sources.connection import open_source

    with open_source(source, tuple(names.values())) as opened:
        try:
            if missing == "drop":  # text that is no number would be taken for a gap
                _check_numbers(opened, names, drops=True)
            return clean_outcomes(**_arrays(opened, names), **settings)
        except DataError:
            _describe(opened, names, settings)
            raise


def _arrays(source: Source, names: Mapping[str, str], *, in_order: bool = False) -> dict[str, Any]:
    """Read columns of a file as the arguments of `clean_outcomes`; numbers that are missing are NaN, clusters None."""
    from calibrant.sources.source import as_number

    numbers = [what for what in names if what != "cluster"]
    selected = ", ".join(
        f"coalesce({as_number(source.column(names[what]), source.kind(names[what]))}, 'nan'::DOUBLE) AS {what}"
        for what in numbers
    )
    sql = f"SELECT {selected} FROM ({source.sql})"
    if "cluster" in names:
        cluster = f"nullif(CAST({source.column(names['cluster'])} AS VARCHAR), '')"
        rows = f"SELECT {selected}, {cluster} AS c, row_number() OVER () AS row FROM ({source.sql})"
        different = f"SELECT DISTINCT c FROM ({rows}) WHERE c IS NOT NULL"
        numbered = f"SELECT c, row_number() OVER () - 1 AS number FROM ({different})"
        sql = f"SELECT {', '.join(numbers)}, number AS cluster FROM ({rows}) LEFT JOIN ({numbered}) USING (c)"
        sql += " ORDER BY row" if in_order else ""  # a join puts rows without a match last, or anywhere
    arrays = source.arrays(sql)
    if not len(arrays["outcome"]):
        raise describe_no_rows(source.name)
    if np.ma.is_masked(arrays.get("cluster")):
        arrays["cluster"] = np.array(arrays["cluster"].tolist(), dtype=object)
    return {_ARGUMENTS.get(what, what): values for what, values in arrays.items()}


def _describe(source: Source, names: Mapping[str, str], settings: Mapping[str, Any]) -> None:
    """Raise the error about rows of a file that cannot be used with their numbers in it, if it can be told."""
    _check_numbers(source, names, drops=settings["missing"] == "drop")
    source.in_order()
    for part in source.parts or (source,):
        located = {what: f"{name} in {part.name}" for what, name in names.items()}
        arrays = _arrays(part, names, in_order=True)
        try:
            clean_outcomes(**arrays, names=located, **settings)
        except DataError as error:
            raise renumbered(error, range(1, len(arrays["y_true"]) + 1)) from None


def _check_numbers(source: Source, names: Mapping[str, str], *, drops: bool) -> None:
    """Raise the error about a column that should have numbers and has not."""
    from calibrant.sources.checks import check_numbers

    for what, name in names.items():
        if what != "cluster":
            check_numbers(source, name, f"{what}s", drops=drops)
