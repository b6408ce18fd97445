"""Signs that predicted means or their outcomes are not what an audit takes them for. Each asks a question."""

from __future__ import annotations

from collections.abc import Iterator

from calibrant.auditing.warnings import DataWarning
from calibrant.distributions.self_normalised import tail_index
from calibrant.table.numbers import amount, share
from calibrant.table.numbers import rows as count
from calibrant.table.outcome_table import OutcomeTable
from calibrant.table.results import Estimate

_FEW = 50  # outcomes other than 0: with fewer nothing is asymptotic
_HEAVY = 1.5  # tail index below which a normal approximation misses far more often than it says
_LARGE = 0.1  # share of the sum of squared residuals in one row


def mean_warnings(table: OutcomeTable, balance: Estimate) -> Iterator[DataWarning]:
    """Yield all signs that the rows show; `balance` is observed over predicted."""
    rows = table.rows
    if rows.prediction[0] == rows.prediction[-1]:
        message = (
            f"All predictions are {amount(float(rows.prediction[0]))}, so they tell no row from another: the error is "
            "that of their level alone, and 0 if it is right. Is this the column of predictions?"
        )
        yield DataWarning("constant_prediction", message)
    events = int((rows.outcome != 0.0).sum())
    if events < _FEW:
        message = f"Only {count(events)} outcomes differ from 0: what is asymptotic is not to be relied on."
        yield DataWarning("few_events", message)
    squares = rows.residual**2
    largest = int(squares.argmax())
    part = float(squares[largest] / squares.sum()) if squares[largest] > 0.0 else 0.0
    if part > _LARGE:
        message = (
            f"One row, with an outcome of {amount(float(rows.outcome[largest]))} where "
            f"{amount(float(rows.expected[largest]))} was predicted, has {share(part)} of the sum of squared "
            "residuals: test and bounds hang on it. Is it right?"
        )
        yield DataWarning("large_row", message)
    index = tail_index(rows.outcome)
    if index < _HEAVY and table.outcome_limits[1] is None:
        message = (
            f"The largest outcomes fall off so slowly (tail index {index:.2g}, Hill) that a few decide every mean. "
            "Give the largest outcome that there can be (--cap, outcome_limits=)."
        )
        yield DataWarning("heavy_tail", message)
    if balance.upper < 1.0 and (table.weighting == "exposure" or table.outcome_limits[1] is None):
        message = (
            f"Only {share(balance.value)} of what was predicted was observed. Is every outcome complete, every claim "
            "reported and settled?"
        )
        yield DataWarning("not_developed", message)
