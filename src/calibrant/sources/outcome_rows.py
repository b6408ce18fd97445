"""Outcomes, predictions and exposures from the columns of dataframes, files and queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.errors import DataError, SourceError
from calibrant.sources.protocol import Columns
from calibrant.sources.rows import is_read
from calibrant.table.outcome_checks import both_weightings, clean_outcomes
from calibrant.table.outcome_rows import Limits, OutcomeRows
from calibrant.table.row_errors import describe_no_rows, renumbered
from calibrant.table.rules import column_values

if TYPE_CHECKING:
    from calibrant.sources.source import Source

# What columns hold -> the argument of `clean_outcomes`.
_ARGUMENTS = {"outcome": "y_true", "prediction": "y_pred", "weight": "sample_weight", "cluster": "clusters"}


def read_outcomes(
    source: Any, columns: Mapping[str, Any], outcome_limits: Limits, relative_to: str, missing: str
) -> OutcomeRows:
    """Read the columns of a source that have a name, and check them; errors name columns, and rows of a file from 1."""
    names = {what: name for what, name in columns.items() if name is not None}
    by, clusters = tuple(names.pop("by", ())), names.pop("cluster", ())
    clusters = (clusters,) if isinstance(clusters, str) else tuple(clusters)
    if "exposure" in names and "weight" in names:
        raise both_weightings()
    given = [*names.items(), *(("cluster", name) for name in clusters)]
    if repeated := [(what, name) for what, name in given if [one for _, one in given].count(name) > 1]:
        twice = ", ".join(dict.fromkeys(repr(name) for _, name in repeated))
        uses = " and ".join(dict.fromkeys(f"{what}s" for what, _ in repeated))
        raise SourceError(f"different columns for {uses}", f"{twice} for both", "name the column of each")
    called = names | ({"cluster": " and ".join(clusters)} if clusters else {})
    settings: dict[str, Any] = {"outcome_limits": outcome_limits, "relative_to": relative_to, "missing": missing}
    # Imported here, since these load narwhals and DuckDB.
    if not is_read(source):
        from calibrant.sources.frames import clusters_of, in_memory

        of_rows = (names["outcome"], names["prediction"])
        frame = in_memory(source, Columns(*of_rows, clusters=clusters, by=(*names.values(), *by)))
        values = {_ARGUMENTS.get(what, what): frame[name].to_native() for what, name in names.items()}
        values["by"] = {name: column_values(frame[name].to_native(), name) for name in by}
        return clean_outcomes(**values, clusters=clusters_of(frame, clusters), names=called, **settings)
    from calibrant.sources.connection import open_source

    with open_source(source, (*names.values(), *clusters, *by)) as opened:
        try:
            if missing == "drop":  # text that is no number would be taken for a gap
                _check_numbers(opened, names, drops=True)
            return clean_outcomes(**_arrays(opened, names, clusters, by), **settings)
        except DataError:
            _describe(opened, names, clusters, by, settings)
            raise


def _arrays(
    source: Source, names: Mapping[str, str], clusters: Sequence[str], by: Sequence[str], *, in_order: bool = False
) -> dict[str, Any]:
    """Read columns of a file as the arguments of `clean_outcomes`; numbers that are missing are NaN, clusters None."""
    from calibrant.sources.files import segment_column
    from calibrant.sources.source import as_number

    columns = {
        what: f"coalesce({as_number(source.column(name), source.kind(name))}, 'nan'::DOUBLE)"
        for what, name in names.items()
    }
    segments = {f"by{i}": name for i, name in enumerate(by)}
    columns |= {key: segment_column(source, source.sql, source.column(name), name)[0] for key, name in segments.items()}
    selected = ", ".join(f"{sql} AS {what}" for what, sql in columns.items())
    sql = f"SELECT {selected} FROM ({source.sql})"
    if clusters:
        cluster = f"nullif({source.joined(clusters)}, '')"
        rows = f"SELECT {selected}, {cluster} AS c, row_number() OVER () AS row FROM ({source.sql})"
        different = f"SELECT DISTINCT c FROM ({rows}) WHERE c IS NOT NULL"
        numbered = f"SELECT c, row_number() OVER () - 1 AS number FROM ({different})"
        sql = f"SELECT {', '.join(columns)}, number AS cluster FROM ({rows}) LEFT JOIN ({numbered}) USING (c)"
        sql += " ORDER BY row" if in_order else ""  # a join puts rows without a match last, or anywhere
    arrays = source.arrays(sql)
    if not len(arrays["outcome"]):
        raise describe_no_rows(source.name)
    if np.ma.is_masked(arrays.get("cluster")):
        arrays["cluster"] = np.array(arrays["cluster"].tolist(), dtype=object)
    of_segment = {name: column_values(arrays.pop(key), name) for key, name in segments.items()}
    return {"by": of_segment} | {_ARGUMENTS.get(what, what): values for what, values in arrays.items()}


def _describe(
    source: Source,
    names: Mapping[str, str],
    clusters: Sequence[str],
    by: Sequence[str],
    settings: Mapping[str, Any],
) -> None:
    """Raise the error about rows of a file that cannot be used with their numbers in it, if it can be told."""
    _check_numbers(source, names, drops=settings["missing"] == "drop")
    source.in_order()
    for part in source.parts or (source,):
        called = {**names, "cluster": " and ".join(clusters)}
        located = {what: f"{name} in {part.name}" for what, name in called.items()}
        arrays = _arrays(part, names, clusters, by, in_order=True)
        try:
            clean_outcomes(**arrays, names=located, **settings)
        except DataError as error:
            raise renumbered(error, range(1, len(arrays["y_true"]) + 1)) from None


def _check_numbers(source: Source, names: Mapping[str, str], *, drops: bool) -> None:
    """Raise the error about a column that should have numbers and has not."""
    from calibrant.sources.checks import check_numbers

    for what, name in names.items():
        check_numbers(source, name, f"{what}s", drops=drops)
