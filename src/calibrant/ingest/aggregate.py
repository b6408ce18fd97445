"""From checked rows in files or a database to a score table."""

from __future__ import annotations

from calibrant.ingest.checks import Summary
from calibrant.ingest.frame_rows import LazyRows, fetched
from calibrant.ingest.frames import LazySummary
from calibrant.ingest.gathering import table_of_rows
from calibrant.ingest.slices import SlicedRows
from calibrant.ingest.source import Source
from calibrant.table.score_table import ScoreTable

__all__ = ["aggregate"]


def aggregate(source: Source, summary: Summary) -> ScoreTable:
    """Add up checked rows: few different scores by one aggregation inside DuckDB, more from slices."""
    distinct = summary.pairs if summary.weights == "other" else summary.distinct
    rows, slices = _rows(source, summary), SlicedRows(source, summary)
    return source.run(lambda: table_of_rows(rows, LazySummary(summary.low, summary.high, distinct), slices))


def _rows(source: Source, summary: Summary) -> LazyRows:
    import narwhals as nw

    kept = "" if summary.weights == "none" else " WHERE w > 0"
    query = f"SELECT s, CAST(positive AS BIGINT) AS y{summary.weight} FROM ({summary.sql}){kept}"
    return LazyRows(nw.from_native(source.connection.sql(query)), summary.weights, fetched)
