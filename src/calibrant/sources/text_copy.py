"""Text files of many rows: parsed once into a temporary table, in which the rows are checked."""

from __future__ import annotations

from calibrant.sources.checks import Summary
from calibrant.sources.fit_rows import LOOK
from calibrant.sources.protocol import Columns
from calibrant.sources.source import Source
from calibrant.table.fixed_point import MOST_ROWS
from calibrant.table.missing import Intake


def copy_if_fit(source: Source, columns: Columns, unchecked: str) -> Summary | None:
    """Copy scores s, labels y (2 where neither 0 nor 1) and weights w; say where the copy is, and what it holds.

    None if there are few rows, which are parsed again as fast, if one of them cannot be used as it is, or if weights
    are no whole numbers.
    """
    if source.rows(f"SELECT count(*) FROM (SELECT 1 FROM ({source.sql}) LIMIT {LOOK})")[0][0] < LOOK:
        return None
    copy = source.run(lambda: source.copied(unchecked))
    low, high = columns.limits
    fit = f"s >= {low!r} AND s <= {high!r} AND y <= 1"
    told = "true, 1.0"
    if columns.weight is not None:
        fit += " AND w >= 0 AND isfinite(w)"
        told = "bool_and(w = floor(w)), sum(w)"
    all_fit = f"bool_and(coalesce({fit}, false))"
    asked = f"SELECT count(*), {all_fit}, min(s), max(s), approx_count_distinct(s), {told} FROM ({copy})"
    n, are_fit, least, most, distinct, whole, weight = source.rows(asked)[0]
    if not (are_fit and whole and 0 < weight < MOST_ROWS):
        return None
    source.runner.expect(int(n), "rows")
    rows = f"SELECT *, y = 1 AS positive FROM ({copy})"
    weights = "none" if columns.weight is None else "whole"
    return Summary(rows, lambda _: rows, weights, int(distinct), Intake(), float(least), float(most), copied=True)
