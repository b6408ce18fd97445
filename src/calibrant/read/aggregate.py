"""From rows in a file or database to a score table, by aggregations inside the database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calibrant.core.frames import LazySummary
from calibrant.core.lazy_rows import Arrays, LazyRows, fetched
from calibrant.core.table import ScoreTable
from calibrant.read.checks import Summary
from calibrant.read.source import Source

if TYPE_CHECKING:
    import narwhals as nw

__all__ = ["aggregate"]


def aggregate(source: Source, summary: Summary) -> ScoreTable:
    """Add up the checked rows.

    Parameters
    ----------
    source : Source
        The open file.
    summary : Summary
        What the check found.

    Returns
    -------
    ScoreTable
        As `ScoreTable.from_frame` gives it for rows in an engine.
    """
    distinct = summary.pairs if summary.weights == "other" else summary.distinct
    return ScoreTable.from_rows(_rows(source, summary), LazySummary(summary.low, summary.high, distinct))


def _rows(source: Source, summary: Summary) -> LazyRows:
    import narwhals as nw

    weight = {"none": "", "whole": ", CAST(w AS BIGINT) AS w", "other": ", w"}[summary.weights]
    kept = "" if summary.weights == "none" else " WHERE w > 0"
    query = f"SELECT s, CAST(positive AS BIGINT) AS y{weight} FROM ({summary.sql}){kept}"
    relation = source.run(lambda: source.connection.sql(query))

    def fetch(frame: nw.LazyFrame[Any]) -> Arrays:
        return source.run(lambda: fetched(frame))

    return LazyRows(nw.from_native(relation), summary.weights, fetch)
