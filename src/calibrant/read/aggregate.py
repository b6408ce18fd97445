"""From rows to a score table, by aggregations inside the database."""

from __future__ import annotations

from calibrant.core.pooling import score_order
from calibrant.core.table import ScoreTable
from calibrant.read.cells import cell_table, exact_counts
from calibrant.read.checks import Summary
from calibrant.read.source import Source

__all__ = ["aggregate"]

# Up to so many different scores each has its own row in the table; beyond, neighbours share cells.
MOST_DISTINCT = 2_000_000


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
        Exact if there are at most about `MOST_DISTINCT` different scores. Otherwise cells, refined until the
        cutoff calibration error and its interval are exact.
    """
    if summary.distinct > MOST_DISTINCT:
        return cell_table(source, summary, most=MOST_DISTINCT)
    if summary.weights == "other" and summary.pairs <= MOST_DISTINCT:
        return _by_weight(source, summary)
    return ScoreTable.from_counts(*exact_counts(source, summary.sql, summary.weights))


def _by_weight(source: Source, summary: Summary) -> ScoreTable:
    """Add up broken weights in a fixed order, so that neither row order nor threads show in the last bit."""
    found = source.arrays(
        f"SELECT s, positive, w, count(*) AS rows FROM ({summary.sql}) WHERE w > 0 GROUP BY s, positive, w"
    )
    order = score_order(found["s"], found["positive"], found["w"])
    s, positive, n = found["s"][order], found["positive"][order], (found["w"] * found["rows"])[order]
    return ScoreTable.from_counts(s, n, n * positive)
