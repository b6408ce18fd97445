"""Outcomes that are numbers, their predictions and exposures: clean arrays, or an error that says what to do."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError, DataError
from calibrant.table import row_errors
from calibrant.table.clusters import Clusters, cluster_numbers
from calibrant.table.missing import EMPTY
from calibrant.table.outcome_rows import ANY_OUTCOME, Limits, OutcomeRows
from calibrant.table.parameters import check_choice, is_number
from calibrant.table.pooling import FloatArray
from calibrant.table.rules import (
    RowRule,
    above_zero,
    as_array,
    at_least,
    check_all,
    clean_numbers,
    clean_weights,
    finite,
    kept_rows,
    need_same_length,
    one_column,
)
from calibrant.table.weights import WeightSums, both_kinds

RELATIVE_TO = ("predicted", "exposure", "observed", "rows")

LARGEST, LEAST = 1e140, 1e-140  # squares of numbers between them, and sums of many, stay in the range of floats
_OTHER_UNIT = "pass `relative_to='exposure'`, for an error per unit of exposure or per row"


def clean_outcomes(
    y_true: npt.ArrayLike,
    y_pred: npt.ArrayLike,
    *,
    exposure: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
    count: npt.ArrayLike | None = None,
    outcome_limits: Limits = ANY_OUTCOME,
    relative_to: str = "predicted",
    clusters: Clusters | None = None,
    by: Mapping[str, npt.NDArray[Any]] | None = None,
    names: Mapping[str, str] | None = None,
    missing: str = "raise",
) -> OutcomeRows:
    """Validate columns, with arguments as in `OutcomeTable.from_outcomes`; an error tells the faults of all of them.

    `names` are those of the columns of "outcome", "prediction" and so on, if they have some.
    """
    if exposure is not None and sample_weight is not None:
        raise both_weightings()
    if count is not None and sample_weight is not None:
        raise both_kinds()
    limits = _checked_limits(outcome_limits)
    if check_choice("relative_to", relative_to, RELATIVE_TO) == "rows" and sample_weight is not None:
        remedy = "pass `relative_to='exposure'`, for an error per unit of weight"
        raise ArgumentError("errors relative to weights, of which only the ratios matter", "'rows'", remedy)
    flat = {"outcome": y_true, "prediction": y_pred, "exposure": exposure}
    given = {what: _one_column(values, f"{what}s") for what, values in flat.items() if values is not None}
    segments = {} if by is None else {f"value of {name}": column for name, column in by.items()}
    need_same_length({f"{what}s": column for what, column in given.items()} | segments)
    if not len(given["outcome"]):
        raise row_errors.describe_no_rows()
    times = None if count is None else _one_column(count, "counts")
    further = {"weight": sample_weight, "cluster": clusters} | segments
    chosen = kept_rows(given | further, missing, count=times, words=dict.fromkeys(segments, EMPTY))
    rules = {
        "outcome": _outcome_rules(limits, relative_to),
        "prediction": _prediction_rules(relative_to),
        "exposure": _EXPOSURES,
    }
    checks: dict[str, Callable[[], Any]] = {
        what: partial(clean_numbers, chosen.columns[what], f"{what}s", rules[what]) for what in given
    }
    n = len(chosen.columns["outcome"])
    others = {"weight": partial(clean_weights, n_rows=n), "cluster": partial(cluster_numbers, n_rows=n)}
    checks |= {what: partial(check, chosen.columns[what]) for what, check in others.items() if what in chosen.columns}
    try:
        clean = dict(zip(checks, check_all(checks, names), strict=True))
    except DataError as error:
        raise chosen.renumbered(error) from None
    outcome = clean["outcome"]
    if relative_to == "observed" and not outcome.any():
        remedy = "pass `relative_to='predicted'` or 'exposure': there is nothing observed to be relative to"
        raise DataError("some outcome above 0", "only zeros", remedy)
    weight, weighting, unit = clean.get("exposure", np.broadcast_to(1.0, n)), "exposure", 1.0
    if "weight" in clean:
        sums = WeightSums.of(clean["weight"])
        weight, weighting, unit = sums.in_units(clean["weight"]).astype(np.float64), "sample_weight", sums.unit
        with np.errstate(over="ignore"):  # what is too large is refused below
            outcome *= weight
    of_rows = (clean["prediction"], outcome, weight, clean.get("cluster"), weighting, limits, relative_to)
    columns = {} if by is None else {name: chosen.columns[f"value of {name}"] for name in by}
    rows = OutcomeRows(*of_rows, chosen.left_out, unit, columns)
    _refuse_sizes(rows)
    return rows.with_weight()


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
    column = one_column(as_array(values, what), f"{what} in one column")
    if column.dtype.kind in "cmMV":
        kind = {"c": "complex numbers", "V": "records"}.get(column.dtype.kind, "dates or times")
        raise DataError(f"numbers as {what}", kind, "pass a column of numbers")
    return column


def _outcome_rules(limits: Limits, relative_to: str) -> list[RowRule]:
    low, high = limits
    rules = [*finite("outcomes", "an infinite outcome has no mean; drop or repair these rows")]
    advice = (
        "give the cap, or outcome limits, that every outcome keeps to: `outcome_limits=(0, M)`, in the unit of outcomes"
    )
    if low is not None:
        negative = "give outcome limits that allow it: `outcome_limits=(-M, None)`, or repair these rows"
        rules.append(at_least(low, f"outcomes of at least {low:g}", negative if low == 0.0 else advice))
    if high is not None:
        rules.append(RowRule(lambda outcome: outcome > high, f"outcomes of at most {high:g}", advice))
    if relative_to == "observed":
        share = "outcomes of at least 0, since the error is a share of their total"
        rules.append(at_least(0.0, share, _OTHER_UNIT))
    return rules


def _prediction_rules(relative_to: str) -> list[RowRule]:
    rules = [*finite("predictions")]
    if relative_to == "predicted":
        share = "predictions above 0, since the error is a share of their total"
        rules.append(above_zero(share, f"{_OTHER_UNIT}, or repair these rows"))
    return rules


_NO_EXPOSURE = "a row without exposure says nothing of a rate: drop it, or correct its exposure"
_EXPOSURES = (*finite("exposures"), above_zero("exposures above 0", _NO_EXPOSURE))


def clean_predictions(y_pred: npt.ArrayLike, least: float, words: str) -> FloatArray:
    """Return predictions to be mapped, as finite floats of at least so much; `words` say that."""
    remedy = "raise these predictions to the least that can be, or take another calibrator of means"
    rules = (*finite("predictions"), at_least(least, f"predictions {words}", remedy))
    return clean_numbers(_one_column(y_pred, "predictions"), "predictions", rules)
