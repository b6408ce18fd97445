"""Scores of a file as those expected in a validation; no outcomes are needed."""

from __future__ import annotations

from typing import Any, NamedTuple

from calibrant.errors import DataError
from calibrant.sources.columns import check_column
from calibrant.sources.connection import open_source
from calibrant.table.missing import LeftOut, Moments
from calibrant.table.pooling import FloatArray
from calibrant.table.rules import score_rules

_CELLS = 1_000  # per unit of log-odds: far below what changes a number of rows


class ExpectedScores(NamedTuple):
    """Scores as they are expected.

    `score` and `rows` are mean scores and numbers of rows of narrow cells; `left_out` says of how many rows there is
    none.
    """

    score: FloatArray
    rows: FloatArray
    left_out: LeftOut | None


def expected_scores(source: Any, score: str) -> ExpectedScores:
    """Return the distribution of scores of files or a query, in which values may be missing."""
    with open_source(source, (score,)) as opened:
        opened.found(score)
        columns = check_column(opened, score, score_rules())
        cell = f"CASE WHEN s > 0 AND s < 1 THEN floor({_CELLS} * ln(s / (1 - s))) ELSE s * 1e9 END"
        cells = opened.arrays(
            f"SELECT avg(s) AS score, count(*)::DOUBLE AS rows FROM ({columns.sql()}) GROUP BY {cell} ORDER BY score"
        )
        if not len(cells["rows"]):
            raise DataError("at least one score", f"none in column {score} of {opened.name}", "name another column")
        n, known = opened.rows(f"SELECT count(*) FROM ({opened.sql})")[0][0], cells["rows"].sum()
        left_out = None
        if missing := n - int(known):
            left_out = LeftOut.of(missing, n, {"score": missing}, Moments.of(0, 0, 0), Moments.of(0, 0, 0))
        return ExpectedScores(cells["score"], cells["rows"], left_out)
