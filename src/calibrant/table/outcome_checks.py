"""Outcomes that are numbers, their predictions and exposures: clean arrays, or an error that says what to do."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError, DataError
from calibrant.table import row_errors
from calibrant.table.clusters import Clusters, cluster_numbers
from calibrant.table.missing import LeftOut, Moments, missing_values
from calibrant.table.outcome_rows import ANY_OUTCOME, Limits, OutcomeRows
from calibrant.table.parameters import check_choice, is_number
from calibrant.table.pooling import BoolArray, FloatArray, IndexArray
from calibrant.table.validation import as_array, as_floats, clean_weights, one_column
from calibrant.table.weights import WeightSums

RELATIVE_TO = ("predicted", "exposure", "observed", "rows")

LARGEST, LEAST = 1e140, 1e-140  # squares of numbers between them, and sums of many, stay in the range of floats
_CAUSES = {
    "y_true": "outcome",
    "y_pred": "prediction",
    "exposure": "exposure",
    "sample_weight": "weight",
    "clusters": "cluster",
}


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
    missing: str = "raise",
) -> OutcomeRows:
    """Validate columns, with arguments as in `OutcomeTable.from_outcomes`; an error tells the faults of all of them.

    `names` are those of the columns of "outcomes", "predictions", "exposures", "weights" and "clusters", if they have
    some.
    """
    if exposure is not None and sample_weight is not None:
        raise both_weightings()
    limits = _checked_limits(outcome_limits)
    if check_choice("relative_to", relative_to, RELATIVE_TO) == "rows" and sample_weight is not None:
        remedy = "pass `relative_to='exposure'`, for an error per unit of weight"
        raise ArgumentError("errors relative to weights, of which only the ratios matter", "'rows'", remedy)
    given = {"outcomes": y_true, "predictions": y_pred, "exposures": exposure}
    flat = {what: _one_column(values, what) for what, values in given.items() if values is not None}
    if len({len(raw) for raw in flat.values()}) > 1:
        lengths = " and ".join(f"{len(raw)} {what}" for what, raw in flat.items())
        raise DataError("as many of each", lengths, "pass columns of the same table")
    n = len(flat["outcomes"])
    if not n:
        raise row_errors.describe_no_rows()
    if check_choice("missing", missing, ("raise", "drop")) == "drop":
        columns, left_out, whole = _without_gaps(flat, sample_weight, clusters)
        settings: dict[str, Any] = {"outcome_limits": outcome_limits, "relative_to": relative_to, "names": names}
        try:
            return replace(clean_outcomes(**columns, **settings), left_out=left_out)
        except DataError as error:
            raise row_errors.renumbered(error, whole) from None
    checks: dict[str, Callable[[], Any]] = {
        "outcomes": lambda: _checked_outcomes(flat["outcomes"], limits, relative_to),
        "predictions": lambda: _checked_predictions(flat["predictions"], relative_to),
        "exposures": lambda: _checked_exposures(flat["exposures"]) if exposure is not None else None,
        "weights": lambda: None if sample_weight is None else clean_weights(sample_weight, n),
        "clusters": lambda: None if clusters is None else cluster_numbers(clusters, n),
    }
    results, errors = {}, []
    for what, check in checks.items():
        try:
            results[what] = check()
        except DataError as error:
            errors.append(row_errors.in_column(error, names[what]) if names else error)
    if errors:
        raise row_errors.all_of(errors) from None
    outcome, prediction, exposures, per_unit, cluster = (results[what] for what in checks)
    weight, weighting, unit = exposures, "exposure", 1.0
    if per_unit is not None:
        sums = WeightSums.of(per_unit)
        weight, weighting, unit = sums.in_units(per_unit).astype(np.float64), "sample_weight", sums.unit
        with np.errstate(over="ignore"):  # what is too large is refused below
            outcome *= weight
    weight = np.broadcast_to(1.0, n) if weight is None else weight
    rows = OutcomeRows(prediction, outcome, weight, cluster, weighting, limits, relative_to, unit_weight=unit)
    _refuse_sizes(rows)
    return rows.with_weight()


def _without_gaps(
    flat: Mapping[str, npt.NDArray[Any]], sample_weight: Any, clusters: Any
) -> tuple[dict[str, Any], LeftOut, IndexArray]:
    """Return the arguments of `clean_outcomes` for rows that lack nothing, an account of others, and their numbers."""
    columns = dict(zip(("y_true", "y_pred", "exposure"), flat.values(), strict=False))
    columns |= {} if sample_weight is None else {"sample_weight": _one_column(sample_weight, "weights")}
    if clusters is not None:
        columns["clusters"] = np.fromiter(clusters, dtype=object, count=len(clusters))
    n = len(columns["y_true"])
    if any(len(column) != n for column in columns.values()):
        lengths = ", ".join(f"{len(column)} of {name}" for name, column in columns.items())
        raise DataError("columns of equal length", lengths, "pass columns of the same table")
    gaps = {_CAUSES[name]: missing_values(column) for name, column in columns.items()}
    rows = np.flatnonzero(~np.logical_or.reduce(list(gaps.values())))
    scored = ~gaps["prediction"]
    known, unknown = (_moments(columns["y_pred"][scored & of]) for of in (~gaps["outcome"], gaps["outcome"]))
    left_out = LeftOut.of(n - len(rows), n, {cause: int(gap.sum()) for cause, gap in gaps.items()}, known, unknown)
    if not len(rows):
        raise row_errors.describe_all_left_out(str(left_out))
    return {name: column[rows] for name, column in columns.items()}, left_out, rows


def _moments(prediction: npt.NDArray[Any]) -> Moments:
    try:
        values = prediction.astype(np.float64)
    except (TypeError, ValueError):  # what is no number is refused later
        values = np.empty(0)
    with np.errstate(over="ignore", invalid="ignore"):  # such numbers are refused later
        mean, variance = (values.mean() if len(values) else None), values.var(ddof=1) if len(values) > 1 else None
    return Moments.of(len(values), mean, variance)


def both_weightings() -> ArgumentError:
    """Say that rows have an exposure or a weight, not both."""
    remedy = (
        "pass `exposure` if outcomes are totals of their rows and predictions rates, or `sample_weight` if outcomes "
        "are per unit of it already"
    )
    return ArgumentError("`exposure` or `sample_weight`", "both", remedy)


def _refuse_sizes(rows: OutcomeRows) -> None:
    """Raise a `DataError` if some are so large, or so near to 0, that squares and ratios leave the range of floats.

    A few outcomes may be as near to 0 as they like: nothing is divided by them.
    """
    limit = max(abs(limit or 0.0) for limit in rows.outcome_limits)
    with np.errstate(over="ignore", under="ignore"):
        predictions = (rows.expected, rows.prediction)
    sizes = [("outcomes", rows.outcome), *(("predictions", one) for one in predictions), ("weights", rows.weight)]
    sizes = [(what, np.abs(values)) for what, values in sizes]
    largest = [(what, float(size.max())) for what, size in sizes]
    for what, most in [*largest, ("weights times outcome limits", largest[-1][1] * limit)]:
        if most > LARGEST:
            raise DataError(f"{what} up to {LARGEST:g}", f"{most:g}", "count in a larger unit")
    for what, size in sizes:
        least, most = float(size.min(where=size > 0.0, initial=math.inf)), float(size.max())
        if 0.0 < most < LEAST or (least < LEAST and what != "outcomes"):
            remedy = "count in a smaller unit" if most < LEAST else "raise values so near to 0 to the least that can be"
            raise DataError(f"{what} of {LEAST:g} or more, or zeros", f"{least:g}", remedy)


def _checked_limits(limits: Any) -> Limits:
    """Return the least and the largest outcome, None where there is none, or raise an `ArgumentError`."""
    remedy = "pass (0, M) with the largest outcome that there can be, or (0, None) if there is no limit"
    expected = "`outcome_limits` to be two numbers, the first below the second, or None where there is no limit"
    error = ArgumentError(expected, repr(limits), remedy)
    if not isinstance(limits, (tuple, list)) or len(limits) != 2:
        raise error
    if any(isinstance(limit, str) or not (limit is None or is_number(limit)) for limit in limits):
        raise error
    low, high = (None if limit is None or math.isinf(limit) else float(limit) for limit in limits)
    if max(abs(limit or 0.0) for limit in (low, high)) > LARGEST:
        raise ArgumentError(f"`outcome_limits` up to {LARGEST:g} in size", repr(limits), "pass None for no limit")
    if not (-math.inf if low is None else low) < (math.inf if high is None else high):
        raise error
    return low, high


def _one_column(values: npt.ArrayLike, what: str) -> npt.NDArray[Any]:
    column = one_column(as_array(values, what), f"{what} in one column", "pass a one-dimensional array")
    if column.dtype.kind in "cmMV":
        kind = {"c": "complex numbers", "V": "records"}.get(column.dtype.kind, "dates or times")
        raise DataError(f"numbers as {what}", kind, "pass a column of numbers")
    return column


def _checked_outcomes(raw: npt.NDArray[Any], limits: Limits, relative_to: str) -> FloatArray:
    outcome = _finite(raw, "outcomes", "an infinite outcome has no mean; drop or repair these rows")
    low, high = limits
    advice = (
        "give the cap, or outcome limits, that every outcome keeps to: `outcome_limits=(0, M)`, in the unit of outcomes"
    )
    if low is not None:
        negative = "give outcome limits that allow it: `outcome_limits=(-M, None)`, or repair these rows"
        _refuse(outcome, outcome < low, f"outcomes of at least {low:g}", negative if low == 0.0 else advice)
    if high is not None:
        _refuse(outcome, outcome > high, f"outcomes of at most {high:g}", advice)
    if relative_to == "observed":
        other = "pass `relative_to='exposure'`, for an error per unit of exposure or per row"
        _refuse(outcome, outcome < 0.0, "outcomes of at least 0, since the error is a share of their total", other)
        if not outcome.any():
            remedy = "pass `relative_to='predicted'` or 'exposure': there is nothing observed to be relative to"
            raise DataError("some outcome above 0", "only zeros", remedy)
    return outcome


def _checked_predictions(raw: npt.NDArray[Any], relative_to: str) -> FloatArray:
    prediction = _finite(raw, "predictions", row_errors.REPAIR)
    if relative_to == "predicted":
        remedy = "pass `relative_to='exposure'`, for an error per unit of exposure or per row, or repair these rows"
        _refuse(prediction, prediction <= 0.0, "predictions above 0, since the error is a share of their total", remedy)
    return prediction


def clean_predictions(y_pred: npt.ArrayLike, least: float, words: str) -> FloatArray:
    """Return predictions to be mapped, as finite floats of at least so much; `words` say that."""
    prediction = _finite(_one_column(as_array(y_pred, "predictions"), "predictions"), "predictions", row_errors.REPAIR)
    remedy = "raise these predictions to the least that can be, or take another calibrator of means"
    _refuse(prediction, prediction < least, f"predictions {words}", remedy)
    return prediction


def _checked_exposures(raw: npt.NDArray[Any]) -> FloatArray:
    exposure = _finite(raw, "exposures", row_errors.REPAIR)
    remedy = "a row without exposure says nothing of a rate: drop it, or correct its exposure"
    _refuse(exposure, exposure <= 0.0, "exposures above 0", remedy)
    return exposure


def _finite(raw: npt.NDArray[Any], what: str, if_infinite: str) -> FloatArray:
    """Return a column as floats without -0.0, or name the first value that is no finite number."""
    values = as_floats(raw, what)
    values += 0.0
    _refuse(values, np.isnan(values), f"{what} in every row", row_errors.MISSING)
    _refuse(values, np.isinf(values), f"finite {what}", if_infinite)
    return values


def _refuse(values: FloatArray, bad: BoolArray, expected: str, remedy: str) -> None:
    """Raise a `DataError` that names the first bad value, if there is one."""
    if bad.any():
        where, count = int(np.argmax(bad)), int(np.count_nonzero(bad))
        raise DataError(expected, row_errors.and_more(repr(float(values[where])), f"row {where}", count), remedy)
