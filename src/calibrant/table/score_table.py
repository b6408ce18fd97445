"""The score table: at each score, how many rows and how many positives stand there; what functions take for one.

Nearly everything calibrant computes is a function of this table. No order of rows shows, ties cannot be broken
the wrong way, weights live in one place and two tables merge into one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError, DataError
from calibrant.table.missing import Intake
from calibrant.table.numbers import html_table
from calibrant.table.pooling import NumberArray, pool_counts, pool_rows, pool_weighted
from calibrant.table.row_errors import describe_one_outcome
from calibrant.table.rules import IF_COUNTS, PROVED, WeightSums
from calibrant.table.seeding import digest_rows, split_counts
from calibrant.table.table_sums import CellSums, TableSums, join_cells
from calibrant.table.validation import Chunks, CleanRows, clean_counts, clean_rows
from calibrant.upward import resolve


@dataclass(frozen=True, eq=False)
class ScoreTable(TableSums):
    """Scores in increasing order, with the rows and the positives at each.

    Build one with `ScoreTable.from_scores`. Ties are pooled by exact equality (`-0.0` is `0.0`; float32 scores
    are judged in float64).

    Attributes
    ----------
    score : ndarray of float64, shape (m,)
        Distinct scores in [0, 1], increasing; for a cell, the mean score of its rows.
    n : ndarray of int64 or float64, shape (m,)
        Rows at each score. With weights that count no rows, their weight in units in which all add up to
        ``(sum w)**2 / sum w**2``, the equal rows that are worth as much: the scale of weights does not show.
    k : ndarray like `n`, shape (m,)
        Positives at each score, or their weight.
    cells : CellSums or None
        None if every row of the table is one distinct score. A cell is never wider than ``2**-17``.
    sampling : Sampling
        What was drawn: independent rows, or clusters of them, or rows with weights. It decides whether numbers that
        depend on chance may be computed from the table.
    intake : Intake
        What reading the rows did beside: `intake.left_out` counts those that ``missing="drop"`` left out, by cause, or
        is None; `intake.others` are the labels that count as 0 beside a `pos_label`.

    Examples
    --------
    >>> from calibrant import ScoreTable
    >>> table = ScoreTable.from_scores([0, 1, 1, 0], [0.2, 0.7, 0.7, 0.7])
    >>> table.score.tolist(), table.n.tolist(), table.k.tolist()
    ([0.2, 0.7], [1, 3], [0, 2])
    """

    intake: Intake = field(default_factory=Intake)

    @classmethod
    def from_scores(
        cls,
        y_true: npt.ArrayLike,
        y_proba: npt.ArrayLike,
        *,
        sample_weight: npt.ArrayLike | None = None,
        count: npt.ArrayLike | None = None,
        pos_label: Any = None,
        missing: str = "raise",
    ) -> ScoreTable:
        """Pool rows into a table.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Labels: {0, 1}, booleans, {-1, 1}, or anything with `pos_label`.
        y_proba : array-like of shape (n,)
            Predicted probabilities of the positive class, in [0, 1].
        sample_weight : array-like of shape (n,), optional
            Non-negative weights, of which only the ratios matter: for estimates, without anything that counts rows.
        count : array-like of shape (n,), optional
            Whole numbers: each row stands for so many equal, independent rows. Not together with `sample_weight`.
        pos_label : scalar, optional
            The label value that counts as 1, against all others.
        missing : {"raise", "drop"}
            With "drop", rows without a label, a score or a weight are left out and counted, see `intake`.

        Returns
        -------
        ScoreTable
            Exact, identical for every order of the rows.
        """
        further: dict[str, Any] = {"pos_label": pos_label, "missing": missing}
        return cls.from_clean(clean_rows(y_true, y_proba, sample_weight=sample_weight, count=count, **further))

    @classmethod
    def from_clean(cls, rows: CleanRows) -> ScoreTable:
        """Pool rows that were checked."""
        label, score, weight, others, weights, left_out = rows
        pooled = pool_rows(label, score) if weight is None else pool_weighted(label, score, weight)
        table = cls(*pooled, intake=Intake(left_out, others))
        return table if weights is None else table.weighing(weights)

    @classmethod
    def from_chunks(cls, chunks: Chunks, *, counted: bool = False, pos_label: Any = None) -> ScoreTable:
        """Pool rows that come a chunk at a time, in bounded memory.

        Parameters
        ----------
        chunks : callable or iterable
            Chunks ``(labels, scores)`` or ``(labels, scores, weights)``, each as in `from_scores`. A function is called
            for every reading and returns all chunks; a list can be read again too. An iterator is read once.
        counted : bool, default=False
            Whether weights are numbers of equal rows, as the `count` of `from_scores`.
        pos_label : scalar, optional
            The label value that counts as 1.

        Returns
        -------
        ScoreTable
            Equal to that of `from_scores` up to two million different scores. With more, neighbours share cells,
            except where the cutoff calibration error and the isotonic fit need single scores: both stay exact. That
            takes further readings, usually two. If the rows can be read only once, the error is known within limits,
            see `value_upper` of `calibrant.metrics.cutoff_calibration`. Neither the order of the rows nor the cuts
            between chunks show: not in one bit if weights are whole numbers, up to rounding if they are not.

        Raises
        ------
        DataError
            If a chunk cannot be used; the message names it, counted from 0. If chunks do not belong together, such as
            labels {0, 1} and {-1, 1}; if a later reading yields other rows than the first.

        Examples
        --------
        >>> from calibrant import ScoreTable
        >>> labels, scores = [0, 1, 1, 0], [0.2, 0.7, 0.7, 0.7]
        >>> ScoreTable.from_chunks(lambda: ((labels[i : i + 2], scores[i : i + 2]) for i in (0, 2)))
        ScoreTable(2 distinct scores, n=4, positives=2)
        """
        table: ScoreTable = resolve("sources.chunks.table_of_chunks")(chunks, pos_label, counted)
        return table

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        outcome: str,
        prediction: str,
        weight: str | None = None,
        count: str | None = None,
        pos_label: Any = None,
        missing: str = "raise",
    ) -> ScoreTable:
        """Pool the rows of a dataframe, whatever library it is of.

        Parameters
        ----------
        frame : dataframe
            Of pandas, Polars (also lazy), PyArrow, DuckDB, PySpark or another library that narwhals reads. One that
            lives in an engine (lazy Polars, DuckDB, PySpark) stays there: the engine checks the rows, and adds them up
            in one or a few scans or, where it can, hands them over in batches. Memory does not grow with their number.
        outcome, prediction, weight, count : str
            Names of columns, see `from_scores`.
        pos_label : scalar, optional
            The label value that counts as 1.
        missing : {"raise", "drop"}
            With "drop", rows without a label, a score or a weight are left out and counted, see `intake`.

        Returns
        -------
        ScoreTable
            As `from_chunks` gives it for rows that can be read again; of a dataframe in memory always exact.

        Examples
        --------
        >>> import pandas as pd
        >>> from calibrant import ScoreTable
        >>> frame = pd.DataFrame({"outcome": [0, 1, 1, 0], "p": [0.2, 0.7, 0.7, 0.7]})
        >>> ScoreTable.from_frame(frame, outcome="outcome", prediction="p")
        ScoreTable(2 distinct scores, n=4, positives=2)
        """
        schema = resolve("sources.schema.Schema")(outcome, prediction, weight, pos_label, count=count, missing=missing)
        table: ScoreTable = resolve("sources.frames.open_frame")(frame, schema).table()
        return table

    @classmethod
    def from_counts(cls, score: npt.ArrayLike, n: npt.ArrayLike, k: npt.ArrayLike) -> ScoreTable:
        """Make an exact table from totals per score, in any order and with repeats.

        Parameters
        ----------
        score : array-like of shape (m,)
            Scores in [0, 1].
        n, k : array-like of shape (m,)
            Rows and positives at each score, whole numbers, ``0 <= k <= n``. Scores without rows are dropped. Other
            numbers are weights, of one row each with a share of positives: for estimates, as in `from_scores`.

        Returns
        -------
        ScoreTable
            The one that `from_scores` makes of these rows.

        Examples
        --------
        >>> from calibrant import ScoreTable
        >>> ScoreTable.from_counts([0.2, 0.7], n=[1, 3], k=[0, 2])
        ScoreTable(2 distinct scores, n=4, positives=2)
        """
        scores, total, positive = clean_counts(score, n, k)
        table = cls(*pool_counts(scores, total, positive))
        return table if table.whole else table.weighing(WeightSums.of(total)._replace(low=0.0))

    @classmethod
    def from_cells(cls, n: NumberArray, k: NumberArray, cells: CellSums) -> ScoreTable:
        """Make a table from cells, in any order; cells that overlap become one.

        `n` and `k` are the rows and positives of each cell. One with ``low == high`` is a single score.
        """
        return cls(*join_cells(n, k, cells))

    @cached_property
    def digest(self) -> int:
        """A number below ``2**64`` made of the rows, for seeds (`calibrant.table.seeding`) and to recognise them.

        It depends neither on the order of the rows nor on how they were read, nor on the platform. The rows of a cell
        count as rows at its lowest score.
        """
        return digest_rows(self.low, self.n, self.k)

    def __repr__(self) -> str:
        kind = "distinct scores" if self.exact else "cells and scores"
        left_out = f", left out={self.intake.left_out.n}" if self.intake.left_out else ""
        positives = f"base rate={self.base_rate:g}, weighted" if self.weighted else f"positives={self.positives:g}"
        return f"ScoreTable({len(self)} {kind}, n={self.n_rows:g}, {positives}{left_out})"

    def _repr_html_(self) -> str:
        kind = "Distinct scores" if self.exact else "Cells and scores"
        positives = {"Base rate, weighted": self.base_rate} if self.weighted else {"Positives": self.positives}
        facts = {"Rows": self.n_rows, **positives, kind: len(self)}
        return html_table("ScoreTable", facts.items())

    def merge(self, other: ScoreTable) -> ScoreTable:
        """Add the rows of another table.

        Parameters
        ----------
        other : ScoreTable
            Of other rows.

        Returns
        -------
        ScoreTable
            Of both data sets, the same whichever is asked; cells that overlap become one.
        """
        if not isinstance(other, ScoreTable):
            raise ArgumentError("another ScoreTable to merge", repr(other), "build it with ScoreTable.from_scores")
        one, two = (table.times(table.sampling.unit_weight) for table in (self, other))
        n, k = np.concatenate([one.n, two.n]), np.concatenate([one.k, two.k])
        if one.cells is None and two.cells is None:
            merged = type(self)(*pool_counts(np.concatenate([one.score, two.score]), n, k))
        else:
            merged = type(self).from_cells(n, k, one._cell_sums() + two._cell_sums())
        if not (self.weighted or other.weighted):
            return merged
        return merged.weighing(_weights_of(self) + _weights_of(other))

    def times(self, factor: float) -> ScoreTable:
        """Return the table of rows of so much weight each."""
        if factor == 1.0:
            return self
        cells = None if self.cells is None else self.cells.times(factor)
        return replace(self, n=self.n * factor, k=self.k * factor, cells=cells)

    def weighing(self, weights: WeightSums) -> ScoreTable:
        """Return the table of rows with these weights in their unit, from sums of the weights as they were given."""
        weights.check()
        cells = None if self.cells is None else self.cells.times(1.0 / weights.unit)
        n, k = weights.in_units(self.n), weights.in_units(self.k)
        return replace(self, n=n, k=k, cells=cells, sampling=weights.sampling)

    def split(self, parts: int | Sequence[float], rng: np.random.Generator) -> list[ScoreTable]:
        """Split the rows at random into exact tables, each row independently.

        Parameters
        ----------
        parts : int or sequence of float
            Number of parts of equal chance, at least 2, or the chance of each, adding up to 1.
        rng : numpy.random.Generator
            Source of randomness.

        Returns
        -------
        list of ScoreTable
            One for each part; one may be empty if there are few rows. The split is done on counts, so it does not
            depend on the order of the rows and costs as much as the table is long. The rows of a cell are split as if
            all had its mean score.
        """
        if not self.whole:
            raise DataError("rows, or a `count` of equal ones", "weights that count no rows", IF_COUNTS)
        if not isinstance(rng, np.random.Generator):
            raise ArgumentError("rng to be a numpy.random.Generator", repr(rng), "pass numpy.random.default_rng(0)")
        return [self.with_counts(n, k) for n, k in split_counts(self.n, self.k, parts, rng)]

    def with_counts(self, n: NumberArray, k: NumberArray) -> ScoreTable:
        """Return the exact table of other rows at the same scores.

        Parameters
        ----------
        n, k : ndarray of whole numbers, shape (m,)
            Rows and positives at each score. Scores without rows are dropped.

        Examples
        --------
        >>> import numpy as np
        >>> from calibrant import ScoreTable
        >>> table = ScoreTable.from_scores([0, 1, 1], [0.2, 0.7, 0.9])
        >>> table.with_counts(np.array([5, 0, 2]), np.array([1, 0, 2]))
        ScoreTable(2 distinct scores, n=7, positives=3)
        """
        with_rows = np.flatnonzero(n != 0)
        whole = [counts[with_rows].astype(np.int64, copy=False) for counts in (n, k)]
        return type(self)(self.score[with_rows], whole[0], whole[1])


# What functions of rows take: labels, or a table in place of labels and scores; the scores; and weights.
Labels = npt.ArrayLike | ScoreTable
LabelsOrSums = npt.ArrayLike | TableSums  # of functions that take an `OutcomeTable` too
Scores = npt.ArrayLike | None
Weights = npt.ArrayLike | None


def as_table(y_true: LabelsOrSums, y_proba: Scores = None, **columns: Any) -> ScoreTable:
    """Return the table of labels given as first argument, or pool the rows given as two."""
    table = as_sums(y_true, y_proba, **columns)
    if not isinstance(table, ScoreTable):
        remedy = "pass labels, or judge predicted means of other numbers with `calibrant.audit` and `kind='amount'`"
        raise DataError("outcomes that are 0 or 1", "other numbers", remedy)
    return table


def as_sums(y_true: LabelsOrSums, y_proba: Scores = None, **columns: Any) -> TableSums:
    """Do the same for what carries over to other outcomes: the table may also be an `OutcomeTable`."""
    if isinstance(y_true, TableSums):
        if any(further is not None for further in (y_proba, *columns.values())):
            expected, remedy = "a table alone, or labels and scores", "the table already holds scores and weights"
            raise ArgumentError(expected, f"a {type(y_true).__name__} with further data", remedy)
        if len(y_true) == 0:
            raise DataError("at least one row", "an empty table", "check how it was built")
        return y_true
    if y_proba is None:
        remedy = "pass `prediction` as second argument, or to audit the names of columns: outcome='y', prediction='p'"
        raise ArgumentError("labels and scores", f"a {type(y_true).__name__} and no scores", remedy)
    return ScoreTable.from_scores(y_true, y_proba, **columns)


def has_both_classes(table: ScoreTable) -> bool:
    """Whether a table has positives and negatives."""
    return bool((table.k > 0).any() and (table.k < table.n).any())


def need_both_classes(table: ScoreTable) -> None:
    """Raise a `DataError` if all rows of a table are positive, or all are negative."""
    if not has_both_classes(table):
        count = f"{table.n_rows:,.15g} row{'' if table.n_rows == 1 else 's'}"
        raise describe_one_outcome(f"only {'positives' if (table.k > 0).any() else 'negatives'} in {count}")


def need_counts(table: ScoreTable, because: str) -> None:
    """Raise a `DataError` if weights are not numbers of rows, which finite samples are counted in."""
    if not table.independent:
        raise DataError("rows, or a `count` of equal ones", f"weights that count no rows: {because}", PROVED)


def _weights_of(table: ScoreTable) -> WeightSums:
    """Return the weights of a table; rows without weights have a weight of 1."""
    unit, same = table.sampling.unit_weight, table.whole
    low, high = (unit, unit) if same else (0.0, unit)
    return WeightSums(int(table.n_rows), table.total * unit, table.total * unit * unit, low, high)
