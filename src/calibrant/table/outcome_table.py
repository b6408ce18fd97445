"""Outcomes that are any numbers, such as claims, counts or losses, with their predicted means: rows, and their sums.

Rows become clean arrays, or an error that says what to do. A `ScoreTable` knows of labels all that there is from two
counts at each score. Of other outcomes the sums at each prediction do not tell all, so an `OutcomeTable` has the rows
too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError, DataError
from calibrant.table import row_errors, rules
from calibrant.table.clusters import Clusters, cluster_numbers, hash_clusters, number_by_content
from calibrant.table.missing import EMPTY, LeftOut
from calibrant.table.numbers import html_table
from calibrant.table.parameters import check_choice, is_number
from calibrant.table.pooling import BoolArray, FloatArray, IndexArray, IntArray, score_order
from calibrant.table.rules import Chances, RowRule, WeightSums
from calibrant.table.seeding import Words, hash_outcomes, scramble
from calibrant.table.statements import Sampling
from calibrant.table.table_sums import UNIT, TableSums
from calibrant.upward import resolve

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
    weighting, limits, relative_to
        As in `OutcomeTable`.
    left_out : LeftOut or None
        Rows that lacked a value and are not here, where ``missing="drop"`` asked for that.
    unit_weight : float
        The unit of weights, in those that were given.
    chances : Chances or None
        That weights are 1 over chances, and what is known of these.
    by : mapping of str to ndarray
        Columns that make segments.
    places : ndarray of int64 or None
        Of rows in the order in which they were given, where some are left out: the numbers they had.
    """

    prediction: FloatArray
    outcome: FloatArray
    weight: FloatArray
    cluster: IntArray | None
    weighting: str
    limits: Limits
    relative_to: str
    left_out: LeftOut | None = None
    unit_weight: float = 1.0
    chances: Chances | None = None
    by: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    places: IndexArray | None = None

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
        columns: dict[str, Any] = {"prediction": prediction, "outcome": outcome, "weight": weight, "cluster": cluster}
        return replace(self, **columns, by=by, places=None if self.places is None else self.places[rows])

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
    columns: Mapping[str, Any], limits: Limits, relative_to: str, missing: str, names: Mapping[str, str] | None = None
) -> OutcomeRows:
    """Validate columns by what they hold: "outcome", "prediction" and so on; an error tells the faults of all of them.

    Beside them are "smallest_chance", and "by", a mapping; the rest is as in `OutcomeTable.from_outcomes`. `names` are
    those of the columns, if they have some.
    """
    weight, chance, count = (columns.get(what) for what in ("weight", "chance", "count"))
    smallest, by = columns.get("smallest_chance"), columns.get("by") or {}
    need_no_exposure(columns.get("exposure"), weight, chance)
    rules.need_one_kind(weight=weight, count=count, chance=chance, smallest_chance=smallest)
    limits, weighed = _checked_limits(limits), weight is not None or chance is not None
    if check_choice("relative_to", relative_to, RELATIVE_TO) == "rows" and weighed:
        remedy = "pass `relative_to='exposure'`, for an error per unit of weight"
        raise ArgumentError("errors relative to weights, of which only the ratios matter", "'rows'", remedy)
    flat = [what for what in ("outcome", "prediction", "exposure") if columns.get(what) is not None]
    given = {what: _one_column(columns[what], f"{what}s") for what in flat}
    segments = {f"value of {name}": column for name, column in by.items()}
    rules.need_same_length(
        {f"{what}s": column for what, column in given.items()} | {f"values of {name}": one for name, one in by.items()}
    )
    if not len(given["outcome"]):
        raise row_errors.describe_no_rows()
    times = None if count is None else _one_column(count, "counts")
    further = {"weight": weight, "chance": chance, "cluster": columns.get("cluster")} | segments
    chosen = rules.kept_rows(given | further, missing, count=times, words=dict.fromkeys(segments, EMPTY))
    conditions = outcome_rules(limits, relative_to)
    checks: dict[str, Any] = {
        what: partial(rules.clean_numbers, chosen.columns[what], f"{what}s", conditions[what]) for what in given
    }
    n = len(chosen.columns["outcome"])
    others: dict[str, Any] = {
        "weight": partial(rules.clean_weights, n_rows=n),
        "cluster": partial(cluster_numbers, n_rows=n),
    }
    others["chance"] = partial(rules.clean_chances, n_rows=n, smallest=smallest)
    checks |= {what: partial(check, chosen.columns[what]) for what, check in others.items() if what in chosen.columns}
    try:
        clean = dict(zip(checks, rules.check_all(checks, names), strict=True))
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
    chances = None if chance is None else Chances(smallest)
    of_by = {name: chosen.columns[f"value of {name}"] for name in by}
    rows = OutcomeRows(*of_rows, chosen.left_out, unit, chances, of_by, chosen.places)
    _refuse_sizes(rows)
    return rows.with_weight()


def need_no_exposure(exposure: Any, weight: Any, chance: Any = None) -> None:
    """Raise an `ArgumentError` if rows have an exposure beside a weight or a chance."""
    if exposure is None:
        return
    if weight is not None:
        remedy = (
            "pass `exposure` if outcomes are totals of their rows and predictions rates, or `weight` if "
            "outcomes are per unit of it already"
        )
        raise ArgumentError("`exposure` or `weight`", "both", remedy)
    if chance is not None:
        remedy = "divide outcomes by their exposure, and pass exposure / chance as `weight`"
        raise ArgumentError("`exposure` or `chance`", "both", remedy)


def _refuse_sizes(rows: OutcomeRows) -> None:
    """Raise a `DataError` if some are so large, or so near to 0, that squares and ratios leave the range of floats.

    A few outcomes may be as near to 0 as they like: nothing is divided by them.
    """
    limit = max(abs(limit or 0.0) for limit in rows.limits)
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
    expected = "`limits` to be two numbers, the first below the second, or None where there is no limit"
    error = ArgumentError(expected, repr(limits), remedy)
    if not isinstance(limits, (tuple, list)) or len(limits) != 2:
        raise error
    if any(isinstance(limit, str) or not (limit is None or is_number(limit)) for limit in limits):
        raise error
    low, high = (None if limit is None or math.isinf(limit) else float(limit) for limit in limits)
    if max(abs(limit or 0.0) for limit in (low, high)) > LARGEST:
        raise ArgumentError(f"`limits` up to {LARGEST:g} in size", repr(limits), "pass None for no limit")
    if not (-math.inf if low is None else low) < (math.inf if high is None else high):
        raise error
    return low, high


def _one_column(values: npt.ArrayLike, what: str) -> npt.NDArray[Any]:
    column = rules.one_column(rules.as_array(values, what), f"{what} in one column")
    if column.dtype.kind in "cmMV":
        kind = {"c": "complex numbers", "V": "records"}.get(column.dtype.kind, "dates or times")
        raise DataError(f"numbers as {what}", kind, "pass a column of numbers")
    return column


def outcome_rules(limits: Limits, relative_to: str) -> dict[str, Sequence[RowRule]]:
    """Return the rules for each column of numbers."""
    low, high = limits
    outcome = [*rules.finite("outcomes", "an infinite outcome has no mean; drop or repair these rows")]
    advice = "give the cap, or outcome limits, that every outcome keeps to: `limits=(0, M)`, in the unit of outcomes"
    if low is not None:
        negative = "give outcome limits that allow it: `limits=(-M, None)`, or repair these rows"
        outcome.append(rules.at_least(low, f"outcomes of at least {low:g}", negative if low == 0.0 else advice))
    if high is not None:
        outcome.append(RowRule(lambda outcome: outcome > high, f"outcomes of at most {high:g}", advice))
    if relative_to == "observed":
        share = "outcomes of at least 0, since the error is a share of their total"
        outcome.append(rules.at_least(0.0, share, _OTHER_UNIT))
    prediction = [*rules.finite("predictions")]
    if relative_to == "predicted":
        share = "predictions above 0, since the error is a share of their total"
        prediction.append(rules.above_zero(share, f"{_OTHER_UNIT}, or repair these rows"))
    no_rate = "a row without exposure says nothing of a rate: drop it, or correct its exposure"
    exposure = (*rules.finite("exposures"), rules.above_zero("exposures above 0", no_rate))
    return {
        "outcome": outcome,
        "prediction": prediction,
        "exposure": exposure,
        "weight": rules.WEIGHTS,
        "count": rules.COUNTS,
    }


def clean_predictions(y_pred: npt.ArrayLike, least: float, words: str) -> FloatArray:
    """Return predictions to be mapped, as finite floats of at least so much; `words` say that."""
    remedy = "raise these predictions to the least that can be, or take another calibrator of means"
    conditions = (*rules.finite("predictions"), rules.at_least(least, f"predictions {words}", remedy))
    return rules.clean_numbers(_one_column(y_pred, "predictions"), "predictions", conditions)


_COLUMNS = ("by", "exposure", "sample_weight", "chance", "smallest_chance", "count", "cluster")
_ALIKE = "build both tables with the same arguments"


@dataclass(frozen=True, eq=False)
class OutcomeTable(TableSums):
    """Rows with outcomes that are numbers, and their sums at each distinct prediction, in increasing order.

    Build one with `OutcomeTable.from_outcomes` or `OutcomeTable.from_source`. Ties are pooled by exact equality.

    Attributes
    ----------
    score : ndarray of float64, shape (m,)
        Distinct predictions, increasing.
    n : ndarray of int64 or float64, shape (m,)
        Rows at each, or their total exposure or weight.
    k : ndarray of float64, shape (m,)
        Sum of outcomes at each: observed totals.
    rows : OutcomeRows
        The rows, one by one.
    limits : tuple
        The least and the largest outcome that there can be; None where there is no limit.
    relative_to : {"predicted", "exposure", "observed", "rows"}
        What errors are divided by.
    weighting : {"none", "exposure", "sample_weight"}
        Whether rows have weights, and what they mean.

    Examples
    --------
    >>> from calibrant import OutcomeTable
    >>> table = OutcomeTable.from_outcomes([0, 2, 1, 0], [0.5, 1.5, 1.5, 0.5], exposure=[1, 0.5, 1, 0.25])
    >>> table.score.tolist(), table.n.tolist(), table.k.tolist()
    ([0.5, 1.5], [1.25, 1.5], [0.0, 3.0])
    >>> table.rows.residual.tolist(), table.total_unit
    ([-0.125, -0.5, -0.5, 1.25], 2.875)
    """

    rows: OutcomeRows = field(kw_only=True)
    limits: Limits = field(kw_only=True)
    relative_to: str = field(kw_only=True)
    weighting: str = field(kw_only=True)

    @classmethod
    def from_outcomes(
        cls,
        y_true: npt.ArrayLike,
        y_pred: npt.ArrayLike,
        *,
        exposure: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        chance: npt.ArrayLike | None = None,
        smallest_chance: float | None = None,
        count: npt.ArrayLike | None = None,
        limits: Limits = ANY_OUTCOME,
        relative_to: str = "predicted",
        cluster: Clusters | None = None,
        by: Mapping[str, npt.NDArray[Any]] | None = None,
        missing: str = "raise",
    ) -> OutcomeTable:
        """Check rows, put them in order, and add them up.

        Parameters
        ----------
        y_true, y_pred : array-like of shape (n,)
            Outcomes, and their predicted means.
        exposure : array-like of shape (n,), optional
            Positive. `y_true` is then the total of a row, such as its number of claims, and `y_pred` a rate per unit of
            exposure: a row is off by ``y_true - exposure * y_pred``.
        sample_weight : array-like of shape (n,), optional
            Weights that are not negative, of which only the ratios matter; rows without weight are left out. `y_true`
            is per unit of weight, as scikit-learn has it: a row is off by ``sample_weight * (y_true - y_pred)``. Sums
            are those of as many equal rows as these are worth, ``(sum w)**2 / sum w**2``. Not together with `exposure`.
        chance : array-like of shape (n,), optional
            Known chance, in (0, 1], with which each row was looked at: of a stratum, of a survey, of active labelling,
            not estimated. A row is off by ``(y_true - y_pred) / chance``, and statements are about all cases. Neither
            together with `exposure` nor with weights.
        smallest_chance : float, optional
            Smallest chance of a case by the design, also of one that was not looked at; without it statements are about
            cases with a chance of at least the least of these rows.
        count : array-like of shape (n,), optional
            Whole numbers: each row stands for so many equal rows, independent ones where there are no clusters.
        limits : tuple of two numbers or None
            What all values of `y_true` that can occur are between, fixed beforehand; None if there is no limit.
        relative_to : {"predicted", "exposure", "observed", "rows"}
            Errors are a share of the predicted total, which takes positive predictions; per unit of exposure or weight;
            a share of the observed total; or per row, if rows have no weights.
        cluster : array-like of shape (n,), optional
            What the rows of each belong to that may depend on each other, such as a customer or a storm.
        by : mapping of str to ndarray of shape (n,), optional
            Columns that make segments, which `rows` keeps.
        missing : {"raise", "drop"}
            Refuse rows that lack a value, or leave them out; `rows.left_out` then says how many for which cause.

        Returns
        -------
        OutcomeTable
            The same for every order of the rows, and for all names of clusters.

        Raises
        ------
        DataError
            If rows cannot be used; the message names the first.
        """
        columns: dict[str, Any] = {"outcome": y_true, "prediction": y_pred, "exposure": exposure, "by": by}
        columns |= {"weight": sample_weight, "count": count, "chance": chance, "cluster": cluster}
        columns["smallest_chance"] = smallest_chance
        return cls.from_rows(clean_outcomes(columns, limits, relative_to, missing))

    @classmethod
    def from_source(
        cls,
        source: Any,
        *,
        outcome: str,
        prediction: str,
        exposure: str | None = None,
        weight: str | None = None,
        chance: str | None = None,
        smallest_chance: float | None = None,
        count: str | None = None,
        cluster: str | Sequence[str] | None = None,
        by: Sequence[str] = (),
        limits: Limits = ANY_OUTCOME,
        relative_to: str = "predicted",
        missing: str = "raise",
    ) -> OutcomeTable:
        """Read rows from the columns of a dataframe, of files or of a query.

        Parameters
        ----------
        source : dataframe, path, sequence of paths, or Query
            A dataframe of any library that narwhals reads, in memory or in an engine; files, patterns, folders or a
            `calibrant.Query`, see `calibrant.read_table`.
        outcome, prediction, exposure, weight, chance, count, cluster : str
            Names of columns, of a cluster one or several; the last five need not be given, see `from_outcomes`.
        by : sequence of str
            Names of columns that make segments.
        smallest_chance, limits, relative_to, missing
            As in `from_outcomes`.

        Returns
        -------
        OutcomeTable
            As of `from_outcomes`. Memory grows with the number of rows; only the columns that are named are read.

        Examples
        --------
        >>> import pandas as pd
        >>> from calibrant import OutcomeTable
        >>> frame = pd.DataFrame({"claims": [0, 2, 1], "years": [1, 0.5, 1], "rate": [0.5, 1.5, 1.5]})
        >>> OutcomeTable.from_source(frame, outcome="claims", prediction="rate", exposure="years")
        OutcomeTable(2 distinct predictions, n=3, observed=1.2, predicted=1.1)
        """
        names: dict[str, Any] = {"weight": weight, "chance": chance, "count": count, "exposure": exposure}
        names |= {"cluster": (cluster,) if isinstance(cluster, str) else tuple(cluster or ()), "by": tuple(by)}
        names |= {"smallest_chance": smallest_chance, "missing": missing}
        schema = resolve("sources.schema.of_amounts")(outcome, prediction, **names)
        return cls.from_rows(resolve("sources.given.read_outcomes")(source, schema, limits, relative_to))

    @classmethod
    def from_rows(cls, rows: OutcomeRows) -> OutcomeTable:
        """Put rows that were checked into order, and add them up."""
        rows = rows.in_order()
        cluster, chances = rows.cluster, rows.chances
        sampling = Sampling() if cluster is None else Sampling("clusters", int(cluster.max(initial=-1)) + 1, np.inf)
        if chances is not None and len(rows):
            least = 1.0 / (rows.most_weight * rows.unit_weight)
            sampling = replace(sampling, least_chance=least, designed=chances.smallest is not None)
        return cls(
            score=rows.prediction[rows.ends],
            n=np.diff(rows.ends, prepend=-1) if rows.weighting == "none" else rows.add(rows.weight),
            k=rows.add(rows.outcome),
            sampling=sampling,
            rows=rows,
            limits=rows.limits,
            relative_to=rows.relative_to,
            weighting=rows.weighting,
        )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @cached_property
    def total_unit(self) -> float:
        """What errors are relative to: the predicted total, the exposure, the observed total or the rows."""
        return float(self.rows.unit.sum())

    @cached_property
    def rise(self) -> FloatArray:
        """Sum of the positive residuals at each prediction."""
        return self.rows.add(np.maximum(self.rows.residual, 0.0))

    @cached_property
    def fall(self) -> FloatArray:
        """Sum of the sizes of the negative residuals at each prediction."""
        return self.rows.add(np.maximum(-self.rows.residual, 0.0))

    @cached_property
    def squared(self) -> FloatArray:
        """Sum of the squared residuals at each prediction: of totals, not of means."""
        return self.rows.add(self.rows.residual**2)

    def residual_sums(self) -> FloatArray:
        """Sum of the residuals at each prediction."""
        return self.rows.add(self.rows.residual)

    def cumulative_residual_sums(self) -> FloatArray:
        """Sum of the residuals of all rows up to each prediction."""
        return np.cumsum(self.residual_sums())

    @cached_property
    def resolution(self) -> float:
        """Range of the cumulative residuals that is no more than rounding."""
        return UNIT * float(np.abs(self.rows.residual).sum()) / self.total_unit

    @cached_property
    def reach_low(self) -> float | None:
        """How far the observed can be above the predicted total of one of these rows; None without a cap."""
        high = self.limits[1]
        return None if high is None else max(0.0, float((self.total_of(high) - self.rows.expected).max()))

    @cached_property
    def reach_high(self) -> float | None:
        """How far the predicted can be above the observed total of one of these rows; None without a lower limit.

        Of outcomes that cannot be negative this is the largest predicted total, whether they have a cap or not.
        """
        low = self.limits[0]
        return None if low is None else max(0.0, float((self.rows.expected - self.total_of(low)).max()))

    def total_of(self, limit: float) -> FloatArray:
        """Return what a limit of outcomes is for the total of each row."""
        return np.asarray(limit * self.rows.weight if self.weighting == "sample_weight" else limit)

    @cached_property
    def caps(self) -> FloatArray:
        """Largest total that each row can have; infinite without a cap."""
        high = self.limits[1]
        return np.broadcast_to(np.inf if high is None else self.total_of(high), len(self.rows))

    @cached_property
    def digest(self) -> int:
        """A number below ``2**64`` made of the rows and of which belong together, for seeds, as of a `ScoreTable`."""
        hashes = self.rows.hashes()
        if self.rows.cluster is not None:
            hashes = scramble(hash_clusters(self.rows.cluster, hashes))
        return int(hashes.sum())

    def pick(self, rows: BoolArray | IndexArray) -> OutcomeTable:
        """Return the table of some of the rows; `rows` says which, in the order of `OutcomeTable.rows`."""
        return self.from_rows(self.rows.pick(rows))

    def merge(self, other: OutcomeTable) -> OutcomeTable:
        """Add the rows of another table.

        Parameters
        ----------
        other : OutcomeTable
            Of other rows, with the same limits, relative to the same. Its clusters are others.

        Returns
        -------
        OutcomeTable
            Of both data sets, the same whichever is asked.
        """
        if not isinstance(other, OutcomeTable):
            raise ArgumentError("another OutcomeTable to merge", repr(other), "build it with from_outcomes")
        one, two = self.rows, other.rows
        weighed = [rows.weighting if rows.unit_weight == 1.0 else "sample_weight" for rows in (one, two)]
        if len(set(weighed) - {"none"}) > 1:
            raise ArgumentError("tables with `exposure`, or with `weight`", "one of each", _ALIKE)
        for name in ("limits", "relative_to", "chances"):
            mine, its = getattr(one, name), getattr(two, name)
            if mine != its:
                raise ArgumentError(f"tables with the same `{name}`", f"{mine!r} and {its!r}", _ALIKE)
        if (one.cluster is None) != (two.cluster is None):
            raise ArgumentError("clusters of both tables, or of none", "clusters of one of them", _ALIKE)
        cluster = None
        if one.cluster is not None and two.cluster is not None:
            cluster = np.concatenate([one.cluster, two.cluster + 1 + one.cluster.max()])
        given = np.concatenate([rows.weight * rows.unit_weight for rows in (one, two)])
        unit = WeightSums.of(given).unit if "sample_weight" in weighed else 1.0
        rows = replace(
            one,
            prediction=np.concatenate([one.prediction, two.prediction]),
            outcome=np.concatenate([rows.outcome * (rows.unit_weight / unit) for rows in (one, two)]),
            weight=np.concatenate([rows.weight * (rows.unit_weight / unit) for rows in (one, two)]),
            cluster=cluster,
            weighting=max(weighed, key="none".__ne__),  # the other, if there is one
            unit_weight=unit,
        )
        return self.from_rows(rows.with_weight())

    def __repr__(self) -> str:
        means = f"observed={self.base_rate:.4g}, predicted={self.mean_score:.4g}"
        return f"OutcomeTable({len(self):,} distinct predictions, n={self.n_rows:,}, {means})"

    def _repr_html_(self) -> str:
        facts = {"Rows": self.n_rows, "Distinct predictions": len(self)}
        means = {"Observed mean": self.base_rate, "Predicted mean": self.mean_score}
        return html_table("OutcomeTable", (facts | means).items())


# What functions take for outcomes: a column of them, or a table that holds the predictions too.
Outcomes = npt.ArrayLike | OutcomeTable


def as_outcome_table(y_true: Outcomes, y_pred: npt.ArrayLike | None = None, **further: Any) -> OutcomeTable:
    """Return the `OutcomeTable` given as first argument, with its own limits, or make one as `from_outcomes` does."""
    if isinstance(y_true, OutcomeTable):
        if y_pred is not None or any(further.get(name) is not None for name in _COLUMNS):
            remedy = "the table already holds predictions, exposure and clusters"
            raise ArgumentError("an OutcomeTable alone, or rows", "an OutcomeTable with further data", remedy)
        return y_true
    if y_pred is None:
        remedy = "pass the predicted means as second argument"
        raise ArgumentError("outcomes and predictions", f"a {type(y_true).__name__} and no predictions", remedy)
    return OutcomeTable.from_outcomes(y_true, y_pred, **further)
