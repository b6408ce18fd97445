"""What functions take for rows: a score table, or labels and scores."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from calibrant.errors import ArgumentError, DataError
from calibrant.table.row_errors import describe_one_outcome
from calibrant.table.score_table import ScoreTable

# What functions of rows take: labels, or a table in place of labels and scores; the scores; and weights.
Labels = npt.ArrayLike | ScoreTable
Scores = npt.ArrayLike | None
Weights = npt.ArrayLike | None


def as_table(
    y_true: Labels, y_proba: Scores = None, *, sample_weight: Weights = None, pos_label: Any = None
) -> ScoreTable:
    """Return the table given as first argument, or pool the rows given as two."""
    if isinstance(y_true, ScoreTable):
        if y_proba is not None or sample_weight is not None or pos_label is not None:
            wanted, remedy = "a ScoreTable alone, or labels and scores", "the table already holds scores and weights"
            raise ArgumentError(wanted, "a ScoreTable with further data", remedy)
        if len(y_true) == 0:
            raise DataError("at least one row", "an empty table", "check how it was built")
        return y_true
    if y_proba is None:
        remedy = "pass y_proba as second argument, or to audit the names of columns: label='y', score='p'"
        raise ArgumentError("labels and scores", f"a {type(y_true).__name__} and no scores", remedy)
    return ScoreTable.from_scores(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label)


def need_both_classes(table: ScoreTable) -> None:
    """Raise a `DataError` if all rows of a table are positive, or all are negative."""
    if not ((table.k > 0).any() and (table.k < table.n).any()):
        count = f"{table.total:,.15g} row{'' if table.total == 1 else 's'}" if table.whole else "rows with weights"
        raise describe_one_outcome(f"only {'positives' if (table.k > 0).any() else 'negatives'} in {count}")
