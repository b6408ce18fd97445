"""The Brier score that scores of a file have if they are calibrated; no outcomes are needed."""

from __future__ import annotations

from typing import Any

from calibrant.errors import DataError
from calibrant.sources.checks import check_scores
from calibrant.sources.connection import open_source
from calibrant.sources.source import as_number


def expected_brier(source: Any, score: str) -> float:
    """Return the mean of s (1 - s) over the scores s of files or a query, in which values may be missing."""
    with open_source(source, (score,)) as opened:
        opened.found(score)
        check_scores(opened, score)
        number = as_number(opened.column(score), opened.kind(score))
        mean = opened.rows(f"SELECT avg(s * (1 - s)) FROM (SELECT {number} AS s FROM ({opened.sql}))")[0][0]
        if mean is None:
            raise DataError("at least one score", f"none in column {score} of {opened.name}", "name another column")
        return float(mean)
