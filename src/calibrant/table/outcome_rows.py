"""Rows with outcomes that are any numbers, one by one: clean arrays, or an error that says what to do."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError, DataError
from calibrant.table import row_errors
from calibrant.table.clusters import Clusters, cluster_numbers, number_by_content
from calibrant.table.missing import EMPTY, LeftOut
from calibrant.table.parameters import check_choice, is_number
from calibrant.table.pooling import BoolArray, FloatArray, IndexArray, IntArray, score_order
from calibrant.table.rules import (
    COUNTS,
    WEIGHTS,
    Chances,
    RowRule,
    WeightSums,
    above_zero,
    as_array,
    at_least,
    check_all,
    clean_chances,
    clean_numbers,
    clean_weights,
    finite,
    kept_rows,
    need_one_kind,
    need_same_length,
    one_column,
)
from calibrant.table.seeding import Words, hash_outcomes

Limits = tuple[float | None, float | None]
ANY_OUTCOME: Limits = (0.0, None)  # outcomes that cannot be negative, and may be as large as they like


@dataclass(frozen=True, eq=False)
class OutcomeRows:
    """Rows that were checked; those of a table in the order of their predictions, and then of what else they hold.

    Attributes
    ----------
    prediction : ndarray of float64, shape (n,)
        Predicted mean f per unit of weight.
    outcome : ndarray of float64, shape (n,)
        Total of the row, w z.
    weight : ndarray of float64, shape (n,)
        Exposure w; or weight w in units, see `calibrant.table.rules`; 1 if there is none.
    expected, residual : ndarray of float64, shape (n,)
        Predicted total w f, and the observed total less it.
    unit : ndarray of float64, shape (n,)
        What the error is relative to: w f, w, w z or 1.
    ends : ndarray of int64
        Last row at each distinct prediction.
    cluster : ndarray of int64, shape (n,), or None
        Number of the cluster of each row, from 0.
    weighting, outcome_limits, relative_to
        As in `OutcomeTable`.
    left_out : LeftOut or None
        Rows that lacked a value and are not here, where ``missing="drop"`` asked for that.
    unit_weight : float
        The unit of weights, in those that were given.
    chances : Chances or None
        That weights are 1 over chances, and what is known of these.
    by : mapping of str to ndarray
        Columns that make segments.
    """

    prediction: FloatArray
    outcome: FloatArray
    weight: FloatArray
    cluster: IntArray | None
    weighting: str
    outcome_limits: Limits
    relative_to: str
    left_out: LeftOut | None = None
    unit_weight: float = 1.0
    chances: Chances | None = None
    by: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.prediction)

    @cached_property
    def expected(self) -> FloatArray:  # noqa: D102 - described above, as the next three
        return _frozen(self.prediction if self.weighting == "none" else self.weight * self.prediction)

    @cached_property
    def residual(self) -> FloatArray:  # noqa: D102
        return _frozen(self.outcome - self.expected)

    @property
    def unit(self) -> FloatArray:  # noqa: D102
        ones = np.broadcast_to(1.0, len(self))  # takes no memory
        units = {"predicted": self.expected, "exposure": self.weight, "observed": self.outcome, "rows": ones}
        return units[self.relative_to]

    @cached_property
    def ends(self) -> IndexArray:  # noqa: D102
        return _frozen(np.flatnonzero(np.append(self.prediction[1:] != self.prediction[:-1], True)[: len(self)]))

    @property
    def most_weight(self) -> float:
        """Largest weight there can be by the design of chances, or, if that is not known, that of these rows."""
        if self.chances is not None and self.chances.smallest is not None:
            return 1.0 / (self.chances.smallest * self.unit_weight)
        return float(self.weight.max())

    def add(self, values: npt.NDArray[Any]) -> FloatArray:
        """Add up a value per row at each distinct prediction."""
        if len(self.ends) == len(self):  # no prediction twice
            return np.asarray(values, dtype=np.float64)
        return np.add.reduceat(values, np.append(0, self.ends[:-1] + 1), dtype=np.float64)

    def hashes(self) -> Words:
        """Hash each row without its cluster."""
        content = [self.outcome, np.ascontiguousarray(self.weight)]
        if self.weighting == "sample_weight":  # which units round
            content = [np.ldexp(np.rint(np.ldexp(part, 24)), size) for part, size in map(np.frexp, content)]
        return hash_outcomes(self.prediction, *content)

    def pick(self, rows: BoolArray | IndexArray) -> OutcomeRows:
        """Return some of the rows."""
        prediction, outcome = _frozen(self.prediction[rows]), _frozen(self.outcome[rows])
        ones = np.broadcast_to(1.0, len(prediction))
        weight = ones if self.weighting == "none" else _frozen(self.weight[rows])
        cluster = None if self.cluster is None else self.cluster[rows]
        by = {name: values[rows] for name, values in self.by.items()}
        return replace(self, prediction=prediction, outcome=outcome, weight=weight, cluster=cluster, by=by)

    def with_weight(self) -> OutcomeRows:
        """Return the rows that have a weight; where all are 1 there are none."""
        positive = self.weight > 0.0
        same = self.chances is None and bool((self.weight[positive] == 1.0).all())
        weighting = "none" if same else self.weighting
        return replace(self, weighting=weighting).pick(positive)

    def in_order(self) -> OutcomeRows:
        """Return all rows in the order that they alone decide, with clusters numbered by what they contain."""
        cluster = None if self.cluster is None else number_by_content(self.cluster, self.hashes())
        weight = None if self.weighting == "none" else self.weight
        content = [self.outcome, weight]
        if self.weighting == "sample_weight":  # an order that stays if weights are multiplied by a number, and rounded
            content.reverse()
        keys = [key for key in (*content, cluster) if key is not None]
        return replace(self, cluster=cluster).pick(score_order(self.prediction, *keys))


def _frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    array.setflags(write=False)
    return array


RELATIVE_TO = ("predicted", "exposure", "observed", "rows")

LARGEST, LEAST = 1e140, 1e-140  # squares of numbers between them, and sums of many, stay in the range of floats
_OTHER_UNIT = "pass `relative_to='exposure'`, for an error per unit of exposure or per row"


def clean_outcomes(
    y_true: npt.ArrayLike,
    y_pred: npt.ArrayLike,
    *,
    exposure: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
    chance: npt.ArrayLike | None = None,
    smallest_chance: float | None = None,
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
    need_no_exposure(exposure, sample_weight, chance)
    need_one_kind(weight=sample_weight, count=count, chance=chance, smallest_chance=smallest_chance)
    limits, weighed = _checked_limits(outcome_limits), sample_weight is not None or chance is not None
    if check_choice("relative_to", relative_to, RELATIVE_TO) == "rows" and weighed:
        remedy = "pass `relative_to='exposure'`, for an error per unit of weight"
        raise ArgumentError("errors relative to weights, of which only the ratios matter", "'rows'", remedy)
    flat = {"outcome": y_true, "prediction": y_pred, "exposure": exposure}
    given = {what: _one_column(values, f"{what}s") for what, values in flat.items() if values is not None}
    segments = {} if by is None else {f"value of {name}": column for name, column in by.items()}
    need_same_length({f"{what}s": column for what, column in given.items()} | segments)
    if not len(given["outcome"]):
        raise row_errors.describe_no_rows()
    times = None if count is None else _one_column(count, "counts")
    further = {"weight": sample_weight, "chance": chance, "cluster": clusters} | segments
    chosen = kept_rows(given | further, missing, count=times, words=dict.fromkeys(segments, EMPTY))
    rules = outcome_rules(limits, relative_to)
    checks: dict[str, Callable[[], Any]] = {
        what: partial(clean_numbers, chosen.columns[what], f"{what}s", rules[what]) for what in given
    }
    n = len(chosen.columns["outcome"])
    others: dict[str, Any] = {"weight": partial(clean_weights, n_rows=n)}
    others |= {"chance": partial(clean_chances, n_rows=n, smallest=smallest_chance)}
    others |= {"cluster": partial(cluster_numbers, n_rows=n)}
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
    if weighed:
        given_weight = clean["weight"] if chance is None else 1.0 / clean["chance"]
        sums = WeightSums.of(given_weight)
        weight, weighting, unit = sums.in_units(given_weight).astype(np.float64), "sample_weight", sums.unit
        with np.errstate(over="ignore"):  # what is too large is refused below
            outcome *= weight
    of_rows = (clean["prediction"], outcome, weight, clean.get("cluster"), weighting, limits, relative_to)
    columns = {} if by is None else {name: chosen.columns[f"value of {name}"] for name in by}
    chances = None if chance is None else Chances(smallest_chance)
    rows = OutcomeRows(*of_rows, chosen.left_out, unit, chances, columns)
    _refuse_sizes(rows)
    return rows.with_weight()


def need_no_exposure(exposure: Any, weight: Any, chance: Any = None) -> None:
    """Raise an `ArgumentError` if rows have an exposure beside a weight or a chance."""
    if exposure is None:
        return
    if weight is not None:
        remedy = (
            "pass `exposure` if outcomes are totals of their rows and predictions rates, or `sample_weight` if "
            "outcomes are per unit of it already"
        )
        raise ArgumentError("`exposure` or `sample_weight`", "both", remedy)
    if chance is not None:
        remedy = "divide outcomes by their exposure, and pass exposure / chance as `sample_weight`"
        raise ArgumentError("`exposure` or `chance`", "both", remedy)


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


def outcome_rules(limits: Limits, relative_to: str) -> dict[str, Sequence[RowRule]]:
    """Return the rules for each column of numbers."""
    low, high = limits
    outcome = [*finite("outcomes", "an infinite outcome has no mean; drop or repair these rows")]
    advice = (
        "give the cap, or outcome limits, that every outcome keeps to: `outcome_limits=(0, M)`, in the unit of outcomes"
    )
    if low is not None:
        negative = "give outcome limits that allow it: `outcome_limits=(-M, None)`, or repair these rows"
        outcome.append(at_least(low, f"outcomes of at least {low:g}", negative if low == 0.0 else advice))
    if high is not None:
        outcome.append(RowRule(lambda outcome: outcome > high, f"outcomes of at most {high:g}", advice))
    if relative_to == "observed":
        share = "outcomes of at least 0, since the error is a share of their total"
        outcome.append(at_least(0.0, share, _OTHER_UNIT))
    prediction = [*finite("predictions")]
    if relative_to == "predicted":
        share = "predictions above 0, since the error is a share of their total"
        prediction.append(above_zero(share, f"{_OTHER_UNIT}, or repair these rows"))
    no_rate = "a row without exposure says nothing of a rate: drop it, or correct its exposure"
    exposure = (*finite("exposures"), above_zero("exposures above 0", no_rate))
    return {"outcome": outcome, "prediction": prediction, "exposure": exposure, "weight": WEIGHTS, "count": COUNTS}


def clean_predictions(y_pred: npt.ArrayLike, least: float, words: str) -> FloatArray:
    """Return predictions to be mapped, as finite floats of at least so much; `words` say that."""
    remedy = "raise these predictions to the least that can be, or take another calibrator of means"
    rules = (*finite("predictions"), at_least(least, f"predictions {words}", remedy))
    return clean_numbers(_one_column(y_pred, "predictions"), "predictions", rules)
