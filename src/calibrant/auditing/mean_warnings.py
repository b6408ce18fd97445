"""Signs that predicted means or their outcomes are not what an audit takes them for. Each asks a question."""

from __future__ import annotations

from collections.abc import Iterator

from calibrant.auditing.warnings import DataWarning
from calibrant.distributions.total_ratio import HEAVY, tail_index
from calibrant.table.numbers import amount, share
from calibrant.table.numbers import rows as count
from calibrant.table.outcome_table import OutcomeTable
from calibrant.table.results import Estimate

_FEW = 50  # outcomes other than 0: with fewer nothing is asymptotic
_LARGE = 0.1  # share of the sum of squared residuals in one row
_FAR_CAP = 50.0  # times the largest outcome: a limit of 100 of shares, or one in another currency unit
_OTHER_UNIT = 5.0  # times that observed and predicted differ: no tariff is as bad
# Exposure is taken to be used twice where totals differ by more than the first factor with it, and by less than the
# second without it.
_OFF, _NEAR = 1.25, 1.1
# Warnings that ask whether numbers are what they are taken for; advice depends on the answer.
ABOUT_UNITS = frozenset({"above_cap", "exposure_twice", "other_unit"})
FEW_DECIDE = frozenset({"few_events", "large_row", "heavy_tail"})


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
    size = float(rows.weight[largest]) if table.weighting == "sample_weight" else 1.0
    part = float(squares[largest] / squares.sum()) if squares[largest] > 0.0 else 0.0
    if part > _LARGE:
        message = (
            f"One row, with an outcome of {amount(float(rows.outcome[largest]) / size)} where "
            f"{amount(float(rows.expected[largest]) / size)} was predicted, has {share(part)} of the sum of squared "
            "residuals: test and bounds hang on it. Is it right?"
        )
        yield DataWarning("large_row", message)
    index = tail_index(rows.outcome)
    if index < HEAVY and table.limits[1] is None:
        message = (
            f"The largest outcomes fall off so slowly (tail index {index:.2g}, Hill) that a few decide every mean. "
            "Give the largest outcome that there can be (--cap, limits=)."
        )
        yield DataWarning("heavy_tail", message)
    units = list(_unit_warnings(table, balance))
    yield from units
    if ABOUT_UNITS & {one.code for one in units}:
        return
    if balance.upper < 1.0 and (table.weighting == "exposure" or table.limits[1] is None):
        message = (
            f"Only {share(balance.value)} of what was predicted was observed. Is every outcome complete, every claim "
            "reported and settled?"
        )
        if table.weighting == "none":
            message += (
                " And is each prediction that of its whole row? A rate takes the exposure (--exposure, exposure=)."
            )
        yield DataWarning("not_developed", message)


def _unit_warnings(table: OutcomeTable, balance: Estimate) -> Iterator[DataWarning]:
    """Yield signs that outcomes, predictions, exposures and cap are in different units."""
    rows, cap = table.rows, table.limits[1]
    weighted = table.weighting == "sample_weight"  # limits are then of outcomes per unit of weight
    largest = float((rows.outcome / rows.weight if weighted else rows.outcome).max())
    if cap is not None and largest > 0.0 and cap >= _FAR_CAP * largest:
        message = (
            f"The cap, {amount(cap)}, is {cap / largest:,.0f} times the largest outcome, {amount(largest)}, which "
            "widens the bound on 'too low'. Is it in the unit of the outcomes?"
        )
        yield DataWarning("far_cap", message)
    predicted = rows.prediction if weighted else rows.expected
    if cap is not None and (above := int((predicted > cap).sum())):
        message = (
            f"{count(above)} predictions, up to {amount(float(predicted.max()))}, are above the largest possible "
            f"outcome, {amount(cap)}, as no mean can be. Are outcomes and predictions in one unit, neither "
            "of them in percent?"
        )
        yield DataWarning("above_cap", message)
    elif once := _exposure_twice(table, balance):
        yield DataWarning("exposure_twice", once)
    elif not 1.0 / _OTHER_UNIT < balance.value < _OTHER_UNIT and rows.outcome.any():
        known = "Nothing was predicted"
        if rows.expected.sum() > 0.0:
            known = f"Observed is {share(balance.value)} of predicted"
        message = f"{known}. Are both in one unit: the same currency, shares or percent, for the same time?"
        if table.weighting == "none":
            message += " Is each prediction that of its whole row? A rate takes the exposure (--exposure, exposure=)."
        yield DataWarning("other_unit", message)


def _exposure_twice(table: OutcomeTable, balance: Estimate) -> str:
    """Ask whether outcomes and predictions are both totals, or both rates; empty if nothing speaks for it."""
    rows = table.rows
    if (
        table.weighting != "exposure"
        or balance.lower <= 1.0 <= balance.upper
        or (not (predicted := float(rows.prediction.sum())) > 0.0)
    ):
        return ""
    without = float(rows.outcome.sum()) / predicted
    if 1.0 / _OFF < balance.value < _OFF or not 1.0 / _NEAR < without < _NEAR:
        return ""
    return (
        f"With exposure, where outcomes are totals and predictions rates, observed is {share(balance.value)} of "
        f"predicted; without it, {share(without)}. Are both totals? Then leave the exposure out. Are both rates? Then "
        "pass it as a weight (--weight, sample_weight=)."
    )
