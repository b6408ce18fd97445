"""Outcomes that are any numbers, such as claims, counts or losses, with their predicted means: rows, and their sums.

A `ScoreTable` knows of labels all that there is from two counts at each score. Of other outcomes the sums at each
prediction do not tell all, so an `OutcomeTable` has the rows too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError
from calibrant.table.clusters import Clusters, hash_clusters, number_by_content
from calibrant.table.fixed_point import UNIT
from calibrant.table.outcome_checks import (
    ANY_OUTCOME,
    CleanOutcomes,
    Limits,
    check_outcome_limits,
    check_relative_to,
    clean_outcomes,
)
from calibrant.table.pooling import BoolArray, FloatArray, IndexArray, IntArray, score_order
from calibrant.table.seeding import Words, hash_outcomes, scramble
from calibrant.table.shown import html_table
from calibrant.table.statements import Sampling
from calibrant.table.table_sums import TableSums
from calibrant.upward import resolve

_ALIKE = "build both tables with the same arguments"


@dataclass(frozen=True, eq=False)
class OutcomeRows:
    """Rows in the order of their predictions, equal ones in the order of what else they hold.

    Attributes
    ----------
    prediction : ndarray of float64, shape (n,)
        Predicted mean f per unit of weight.
    outcome : ndarray of float64, shape (n,)
        Total of the row, w z.
    weight : ndarray of float64, shape (n,)
        Exposure or weight w; 1 if there is none.
    expected, residual : ndarray of float64, shape (n,)
        Predicted total w f, and the observed total less it.
    unit : ndarray of float64, shape (n,)
        What the error is relative to: w f, w, w z or 1.
    ends : ndarray of int64
        Last row at each distinct prediction.
    cluster : ndarray of int64, shape (n,), or None
        Number of the cluster of each row, from 0.
    """

    prediction: FloatArray
    outcome: FloatArray
    weight: FloatArray
    expected: FloatArray
    residual: FloatArray
    unit: FloatArray
    ends: IndexArray
    cluster: IntArray | None = None

    def __post_init__(self) -> None:
        for array in (self.prediction, self.outcome, self.weight, self.expected, self.residual, self.unit, self.ends):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.prediction)

    def add(self, values: npt.NDArray[Any]) -> FloatArray:
        """Add up a value per row at each distinct prediction."""
        if len(self.ends) == len(self):  # no prediction twice
            return np.asarray(values, dtype=np.float64)
        return np.add.reduceat(values, np.append(0, self.ends[:-1] + 1)[: len(self.ends)], dtype=np.float64)

    def hashes(self) -> Words:
        """Hash each row without its cluster."""
        return hash_outcomes(self.prediction, self.outcome, self.weight)


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
        outcome_limits: Limits = ANY_OUTCOME,
        relative_to: str = "predicted",
        clusters: Clusters | None = None,
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
            Weights that are not negative; rows without weight are left out. `y_true` is per unit of weight, as
            scikit-learn has it: a row is off by ``sample_weight * (y_true - y_pred)``. Not together with `exposure`.
        outcome_limits : tuple of two numbers or None
            What all values of `y_true` that can occur are between, fixed beforehand; None if there is no limit.
        relative_to : {"predicted", "exposure", "observed", "rows"}
            Errors are a share of the predicted total, which takes positive predictions; per unit of exposure or weight;
            a share of the observed total; or per row.
        clusters : array-like of shape (n,), optional
            What the rows of each belong to that may depend on each other, such as a customer or a storm.

        Returns
        -------
        OutcomeTable
            The same for every order of the rows, and for all names of clusters.

        Raises
        ------
        DataError
            If rows cannot be used; the message names the first.
        """
        settings = check_outcome_limits(outcome_limits), check_relative_to(relative_to)
        columns: dict[str, Any] = {"exposure": exposure, "sample_weight": sample_weight, "clusters": clusters}
        rows = clean_outcomes(y_true, y_pred, outcome_limits=settings[0], relative_to=settings[1], **columns)
        return cls.from_clean(rows, *settings)

    @classmethod
    def from_source(
        cls,
        source: Any,
        *,
        outcome: str,
        prediction: str,
        exposure: str | None = None,
        weight: str | None = None,
        cluster: str | None = None,
        outcome_limits: Limits = ANY_OUTCOME,
        relative_to: str = "predicted",
    ) -> OutcomeTable:
        """Read rows from the columns of a dataframe, of files or of a query.

        Parameters
        ----------
        source : dataframe, path, sequence of paths, or Query
            A dataframe of any library that narwhals reads, in memory or in an engine; files, patterns, folders or a
            `calibrant.Query`, see `calibrant.read_table`.
        outcome, prediction, exposure, weight, cluster : str
            Names of columns; the last three need not be given, see `from_outcomes`.
        outcome_limits, relative_to
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
        settings = check_outcome_limits(outcome_limits), check_relative_to(relative_to)
        names = {"outcomes": outcome, "predictions": prediction, "exposures": exposure}
        names |= {"weights": weight, "clusters": cluster}
        return cls.from_clean(resolve("read_outcomes")(source, names, *settings), *settings)

    @classmethod
    def from_clean(cls, rows: CleanOutcomes, outcome_limits: Limits, relative_to: str) -> OutcomeTable:
        """Put rows that were checked into the order that they alone decide, and add them up."""
        if rows.cluster is not None:
            hashes = hash_outcomes(rows.prediction, rows.outcome, rows.weight)
            rows = rows._replace(cluster=number_by_content(rows.cluster, hashes))
        keys = [column for column in (rows.outcome, rows.weight, rows.cluster) if column is not None]
        prediction, outcome, weight, weighting, cluster = rows.pick(score_order(rows.prediction, *keys))
        ones = np.broadcast_to(1.0, len(prediction))  # takes no memory
        expected, weight = (prediction, ones) if weight is None else (prediction * weight, weight)
        unit = {"predicted": expected, "exposure": weight, "observed": outcome, "rows": ones}[relative_to]
        ends = np.flatnonzero(np.append(prediction[1:] != prediction[:-1], True))
        ordered = OutcomeRows(prediction, outcome, weight, expected, outcome - expected, unit, ends, cluster)
        return cls(
            score=prediction[ends],
            n=np.diff(ends, prepend=-1) if weight is ones else ordered.add(weight),
            k=ordered.add(outcome),
            sampling=Sampling() if cluster is None else Sampling("clusters", int(cluster.max()) + 1, np.inf),
            rows=ordered,
            outcome_limits=outcome_limits,
            relative_to=relative_to,
            weighting=weighting,
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
        return None if high is None else max(0.0, float((self._total_of(high) - self.rows.expected).max()))

    @cached_property
    def reach_high(self) -> float | None:
        """How far the predicted can be above the observed total of one of these rows; None without a lower limit.

        Of outcomes that cannot be negative this is the largest predicted total, whether they have a cap or not.
        """
        low = self.outcome_limits[0]
        return None if low is None else max(0.0, float((self.rows.expected - self._total_of(low)).max()))

    def _total_of(self, limit: float) -> FloatArray:
        """Return what a limit of outcomes is for the total of each row."""
        return np.asarray(limit * self.rows.weight if self.weighting == "sample_weight" else limit)

    @cached_property
    def digest(self) -> int:
        """A number below ``2**64`` made of the rows and of which belong together, for seeds, as of a `ScoreTable`."""
        hashes = self.rows.hashes()
        if self.rows.cluster is not None:
            hashes = scramble(hash_clusters(self.rows.cluster, hashes))
        return int(hashes.sum())

    def pick(self, rows: BoolArray | IndexArray) -> OutcomeTable:
        """Return the table of some of the rows; `rows` says which, in the order of `OutcomeTable.rows`."""
        return self.from_clean(self._clean.pick(rows), self.outcome_limits, self.relative_to)

    @property
    def _clean(self) -> CleanOutcomes:
        """The rows as they are when they were checked."""
        weight = None if self.weighting == "none" else self.rows.weight
        return CleanOutcomes(self.rows.prediction, self.rows.outcome, weight, self.weighting, self.rows.cluster)

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
        weightings = {self.weighting, other.weighting} - {"none"}
        if len(weightings) > 1:
            raise ArgumentError("tables with `exposure`, or with `sample_weight`", "one of each", _ALIKE)
        for name in ("outcome_limits", "relative_to"):
            mine, its = getattr(self, name), getattr(other, name)
            if mine != its:
                raise ArgumentError(f"tables with the same `{name}`", f"{mine!r} and {its!r}", _ALIKE)
        if (one.cluster is None) != (two.cluster is None):
            raise ArgumentError("clusters of both tables, or of none", "clusters of one of them", _ALIKE)
        cluster = None
        if one.cluster is not None and two.cluster is not None:
            cluster = np.concatenate([one.cluster, two.cluster + 1 + one.cluster.max()])
        rows = CleanOutcomes(
            np.concatenate([one.prediction, two.prediction]),
            np.concatenate([one.outcome, two.outcome]),
            np.concatenate([one.weight, two.weight]) if weightings else None,
            weightings.pop() if weightings else "none",
            cluster,
        )
        return self.from_clean(rows, self.outcome_limits, self.relative_to)

    def __repr__(self) -> str:
        observed, predicted = self._means
        return f"OutcomeTable({len(self):,} distinct predictions, n={self.n_rows:,}, {observed=:.4g}, {predicted=:.4g})"

    def _repr_html_(self) -> str:
        observed, predicted = self._means
        facts = {"Rows": self.n_rows, "Distinct predictions": len(self)}
        return html_table("OutcomeTable", (facts | {"Observed mean": observed, "Predicted mean": predicted}).items())

    @property
    def _means(self) -> tuple[float, float]:
        """Observed and predicted mean, per unit of weight."""
        return self.base_rate, self.mean_score


# What functions take for outcomes: a column of them, or a table that holds the predictions too.
Outcomes = npt.ArrayLike | OutcomeTable


def as_outcome_table(
    y_true: Outcomes,
    y_pred: npt.ArrayLike | None = None,
    *,
    exposure: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
    outcome_limits: Limits = ANY_OUTCOME,
    relative_to: str = "predicted",
    clusters: Clusters | None = None,
) -> OutcomeTable:
    """Return the `OutcomeTable` given as first argument, with its own limits, or make one of rows."""
    if isinstance(y_true, OutcomeTable):
        if any(given is not None for given in (y_pred, exposure, sample_weight, clusters)):
            remedy = "the table already holds predictions, exposure and clusters"
            raise ArgumentError("an OutcomeTable alone, or rows", "an OutcomeTable with further data", remedy)
        return y_true
    if y_pred is None:
        remedy = "pass the predicted means as second argument"
        raise ArgumentError("outcomes and predictions", f"a {type(y_true).__name__} and no predictions", remedy)
    return OutcomeTable.from_outcomes(
        y_true,
        y_pred,
        exposure=exposure,
        sample_weight=sample_weight,
        outcome_limits=outcome_limits,
        relative_to=relative_to,
        clusters=clusters,
    )
