"""Text files of many rows: parsed once into a temporary table, in which the rows are checked."""

from __future__ import annotations

from calibrant.sources.checks import WEIGHT_SUMS, Summary
from calibrant.sources.faults import weights_of
from calibrant.sources.fit_rows import LOOK
from calibrant.sources.protocol import Columns
from calibrant.sources.source import Source
from calibrant.table.fixed_point import MOST_ROWS
from calibrant.table.missing import Intake


def copy_if_fit(source: Source, columns: Columns, unchecked: str) -> Summary | None:
    """Copy scores s, labels y (2 where neither 0 nor 1) and weights w; say where the copy is, and what it holds.

    None if there are few rows, which are parsed again as fast, if one of them cannot be used as it is, or if weights
    are no whole numbers that are small enough to be added up.
    """
    if source.rows(f"SELECT count(*) FROM (SELECT 1 FROM ({source.sql}) LIMIT {LOOK})")[0][0] < LOOK:
        return None
    copy = source.run(lambda: source.copied(unchecked))
    low, high = columns.limits
    fit = f"s >= {low!r} AND s <= {high!r} AND y <= 1"
    told = {"weight_whole": "true", "weight_sum": "1.0"}
    if columns.weighting is not None:
        fit += " AND w >= 0 AND isfinite(w)"
        told = {"weight_whole": "bool_and(w = floor(w))"} | WEIGHT_SUMS
    all_fit = f"bool_and(coalesce({fit}, false))"
    asked = f"SELECT count(*), {all_fit}, min(s), max(s), approx_count_distinct(s), {', '.join(told.values())}"
    n, are_fit, least, most, distinct, *weighed = source.rows(f"{asked} FROM ({copy})")[0]
    seen = dict(zip(told, weighed, strict=True))
    if not (are_fit and seen["weight_whole"] and 0 < (seen["weight_sum"] or 0) < MOST_ROWS):
        return None
    source.runner.expect(int(n), "rows")
    rows = f"SELECT *, y = 1 AS positive FROM ({copy})"
    weights, sums = "none" if columns.weighting is None else "whole", None
    if columns.weight is not None:
        sums = weights_of(seen)
        sums.check()
    limits = float(least), float(most)
    return Summary(rows, lambda _: rows, weights, int(distinct), Intake(), *limits, sums, copied=True)
