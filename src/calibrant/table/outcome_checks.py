"""Outcomes that are numbers, their predictions and exposures: clean arrays, or an error that says what to do."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError, DataError
from calibrant.table import row_errors
from calibrant.table.clusters import Clusters, cluster_numbers
from calibrant.table.parameters import check_choice, is_number
from calibrant.table.pooling import BoolArray, FloatArray, IndexArray, IntArray
from calibrant.table.validation import as_array, as_floats, clean_weights, one_column

RELATIVE_TO = ("predicted", "exposure", "observed", "rows")
Limits = tuple[float | None, float | None]
ANY_OUTCOME: Limits = (0.0, None)  # outcomes that cannot be negative, and may be as large as they like

_LARGEST = 1e140  # squares of numbers up to it, and sums of many, stay in the range of floats
_REPAIR = "drop or repair these rows"


class CleanOutcomes(NamedTuple):
    """Validated rows with weight, in any order."""

    prediction: FloatArray
    outcome: FloatArray  # totals
    weight: FloatArray | None  # None where all are 1
    weighting: str  # "exposure", "sample_weight" or "none"
    cluster: IntArray | None

    def pick(self, rows: BoolArray | IndexArray) -> CleanOutcomes:
        """Return some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        cluster = None if self.cluster is None else self.cluster[rows]
        return CleanOutcomes(self.prediction[rows], self.outcome[rows], weight, self.weighting, cluster)


def clean_outcomes(
    y_true: npt.ArrayLike,
    y_pred: npt.ArrayLike,
    *,
    exposure: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
    outcome_limits: Limits = ANY_OUTCOME,
    relative_to: str = "predicted",
    clusters: Clusters | None = None,
    names: Mapping[str, str] = MappingProxyType({}),
) -> CleanOutcomes:
    """Validate columns, with arguments as in `OutcomeTable.from_outcomes`; an error tells the faults of all of them.

    `names` are those of the columns of "outcomes", "predictions", "exposures", "weights" and "clusters", if they have
    some.
    """
    if exposure is not None and sample_weight is not None:
        remedy = (
            "pass `exposure` if y_true is the total of a row and y_pred a rate, or `sample_weight` if y_true is per "
            "unit of it already"
        )
        raise ArgumentError("`exposure` or `sample_weight`", "both", remedy)
    given = {"outcomes": y_true, "predictions": y_pred, "exposures": exposure}
    flat = {what: _one_column(values, what) for what, values in given.items() if values is not None}
    if len({len(raw) for raw in flat.values()}) > 1:
        lengths = " and ".join(f"{len(raw)} {what}" for what, raw in flat.items())
        raise DataError("as many of each", lengths, "pass columns of the same table")
    n_rows = len(flat["outcomes"])
    if not n_rows:
        raise row_errors.describe_no_rows()
    checks: dict[str, Callable[[], Any]] = {
        "outcomes": lambda: _checked_outcomes(flat["outcomes"], outcome_limits, relative_to),
        "predictions": lambda: _checked_predictions(flat["predictions"], relative_to),
        "exposures": lambda: _checked_exposures(flat["exposures"]) if exposure is not None else None,
        "weights": lambda: None if sample_weight is None else clean_weights(sample_weight, n_rows),
        "clusters": lambda: None if clusters is None else cluster_numbers(clusters, n_rows),
    }
    results, errors = {}, []
    for what, check in checks.items():
        try:
            results[what] = check()
        except DataError as error:
            errors.append(row_errors.in_column(error, names[what]) if names else error)
    if errors:
        raise row_errors.all_of(errors) from None
    outcome, prediction, weight, per_unit, cluster = (results[what] for what in checks)
    rows = CleanOutcomes(prediction, outcome, weight, "none" if weight is None else "exposure", cluster)
    if per_unit is not None:
        weight = per_unit.astype(np.float64)
        rows = CleanOutcomes(prediction, outcome * weight, weight, "sample_weight", cluster).pick(weight > 0.0)
    if rows.weight is not None and (rows.weight == 1.0).all():
        rows = rows._replace(weight=None, weighting="none")
    _check_size(rows.outcome, rows.prediction if rows.weight is None else rows.prediction * rows.weight)
    return rows


def check_outcome_limits(limits: Any) -> Limits:
    """Return the least and the largest outcome, None where there is none, or raise an `ArgumentError`."""
    remedy = "pass (0, M) with the largest outcome that there can be, or (0, None) if there is no limit"
    if not isinstance(limits, (tuple, list)) or len(limits) != 2:
        raise ArgumentError("`outcome_limits` to be two numbers, or None for no limit", repr(limits), remedy)
    for limit in limits:
        if limit is not None and (isinstance(limit, str) or not is_number(limit) or math.isnan(float(limit))):
            raise ArgumentError("numbers or None as `outcome_limits`", repr(limit), remedy)
    low, high = (None if limit is None or math.isinf(limit) else float(limit) for limit in limits)
    if low is not None and high is not None and not low < high:
        raise ArgumentError("the first of `outcome_limits` below the second", repr(limits), remedy)
    return low, high


def check_relative_to(relative_to: Any) -> str:
    """Return what the error is relative to, or raise an `ArgumentError`."""
    return check_choice("relative_to", relative_to, RELATIVE_TO)


def _one_column(values: npt.ArrayLike, what: str) -> npt.NDArray[Any]:
    column = one_column(as_array(values, what), f"{what} in one column", "pass a one-dimensional array")
    if column.dtype.kind in "cmMV":
        kind = {"c": "complex numbers", "V": "records"}.get(column.dtype.kind, "dates or times")
        raise DataError(f"numbers as {what}", kind, "pass a column of numbers")
    return column


def _checked_outcomes(raw: npt.NDArray[Any], limits: Limits, relative_to: str) -> FloatArray:
    outcome = _finite(raw, "outcomes", "an infinite outcome has no mean; drop or repair these rows")
    low, high = limits
    advice = "give the cap, or outcome limits, that every outcome keeps to: `outcome_limits=(0, M)`"
    if low is not None:
        negative = "give outcome limits that allow it: `outcome_limits=(-M, None)`, or repair these rows"
        _refuse(outcome, outcome < low, f"outcomes of at least {low:g}", negative if low == 0.0 else advice)
    if high is not None:
        _refuse(outcome, outcome > high, f"outcomes of at most {high:g}", advice)
    if relative_to == "observed":
        other = "pass `relative_to='exposure'` or 'rows', which allow any outcome"
        _refuse(outcome, outcome < 0.0, "outcomes of at least 0, relative to which the error is told", other)
        if not outcome.any():
            remedy = "pass `relative_to='predicted'` or 'exposure': there is nothing observed to be relative to"
            raise DataError("some outcome above 0", "only zeros", remedy)
    return outcome


def _checked_predictions(raw: npt.NDArray[Any], relative_to: str) -> FloatArray:
    prediction = _finite(raw, "predictions", _REPAIR)
    if relative_to == "predicted":
        remedy = "pass `relative_to='exposure'` or 'rows', which allow any prediction, or repair these rows"
        _refuse(prediction, prediction <= 0.0, "predictions above 0, relative to which the error is told", remedy)
    return prediction


def clean_predictions(y_pred: npt.ArrayLike, least: float, words: str) -> FloatArray:
    """Return predictions to be mapped, as finite floats of at least so much; `words` say that."""
    prediction = _finite(_one_column(as_array(y_pred, "predictions"), "predictions"), "predictions", _REPAIR)
    remedy = "raise these predictions to the least that can be, or take another calibrator of means"
    _refuse(prediction, prediction < least, f"predictions {words}", remedy)
    return prediction


def _checked_exposures(raw: npt.NDArray[Any]) -> FloatArray:
    exposure = _finite(raw, "exposures", _REPAIR)
    remedy = "a row without exposure says nothing of a rate: drop it, or correct its exposure"
    _refuse(exposure, exposure <= 0.0, "exposures above 0", remedy)
    return exposure


def _finite(raw: npt.NDArray[Any], what: str, if_infinite: str) -> FloatArray:
    """Return a column as floats without -0.0, or name the first value that is no finite number."""
    values = as_floats(raw, what)
    values += 0.0
    _refuse(values, np.isnan(values), f"{what} in every row", _REPAIR)
    _refuse(values, np.isinf(values), f"finite {what}", if_infinite)
    return values


def _refuse(values: FloatArray, bad: BoolArray, expected: str, remedy: str) -> None:
    """Raise a `DataError` that names the first bad value, if there is one."""
    if bad.any():
        where, count = int(np.argmax(bad)), int(np.count_nonzero(bad))
        raise DataError(expected, row_errors.and_more(repr(float(values[where])), f"row {where}", count), remedy)


def _check_size(*columns: FloatArray) -> None:
    largest = max(float(np.abs(column).max()) for column in columns)
    if largest > _LARGEST:
        raise DataError(f"outcomes and predictions up to {_LARGEST:g}", f"{largest:g}", "count in a larger unit")
