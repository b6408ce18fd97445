"""Outcomes that are any numbers, such as claims, counts or losses, with their predicted means: rows, and their sums.

A `ScoreTable` knows of labels all that there is from two counts at each score. Of other outcomes the sums at each
prediction do not tell all, so an `OutcomeTable` has the rows too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError
from calibrant.table.clusters import Clusters, hash_clusters
from calibrant.table.numbers import html_table
from calibrant.table.outcome_rows import ANY_OUTCOME, Limits, OutcomeRows, clean_outcomes
from calibrant.table.pooling import BoolArray, FloatArray, IndexArray
from calibrant.table.rules import WeightSums
from calibrant.table.seeding import scramble
from calibrant.table.statements import Sampling
from calibrant.table.table_sums import UNIT, TableSums
from calibrant.upward import resolve

_COLUMNS = ("by", "exposure", "sample_weight", "chance", "smallest_chance", "count", "clusters")
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
    outcome_limits : tuple
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
    outcome_limits: Limits = field(kw_only=True)
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
        outcome_limits: Limits = ANY_OUTCOME,
        relative_to: str = "predicted",
        clusters: Clusters | None = None,
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
        outcome_limits : tuple of two numbers or None
            What all values of `y_true` that can occur are between, fixed beforehand; None if there is no limit.
        relative_to : {"predicted", "exposure", "observed", "rows"}
            Errors are a share of the predicted total, which takes positive predictions; per unit of exposure or weight;
            a share of the observed total; or per row, if rows have no weights.
        clusters : array-like of shape (n,), optional
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
        columns: dict[str, Any] = {"exposure": exposure, "sample_weight": sample_weight, "clusters": clusters}
        columns |= {"count": count, "by": by, "chance": chance, "smallest_chance": smallest_chance}
        settings: dict[str, Any] = {"outcome_limits": outcome_limits, "relative_to": relative_to, "missing": missing}
        return cls.from_rows(clean_outcomes(y_true, y_pred, **columns, **settings))

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
        outcome_limits: Limits = ANY_OUTCOME,
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
        smallest_chance, outcome_limits, relative_to, missing
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
        return cls.from_rows(resolve("sources.given.read_outcomes")(source, schema, outcome_limits, relative_to))

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
            outcome_limits=rows.outcome_limits,
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
        high = self.outcome_limits[1]
        return None if high is None else max(0.0, float((self.total_of(high) - self.rows.expected).max()))

    @cached_property
    def reach_high(self) -> float | None:
        """How far the predicted can be above the observed total of one of these rows; None without a lower limit.

        Of outcomes that cannot be negative this is the largest predicted total, whether they have a cap or not.
        """
        low = self.outcome_limits[0]
        return None if low is None else max(0.0, float((self.rows.expected - self.total_of(low)).max()))

    def total_of(self, limit: float) -> FloatArray:
        """Return what a limit of outcomes is for the total of each row."""
        return np.asarray(limit * self.rows.weight if self.weighting == "sample_weight" else limit)

    @cached_property
    def caps(self) -> FloatArray:
        """Largest total that each row can have; infinite without a cap."""
        high = self.outcome_limits[1]
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
            raise ArgumentError("tables with `exposure`, or with `sample_weight`", "one of each", _ALIKE)
        for name in ("outcome_limits", "relative_to", "chances"):
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
