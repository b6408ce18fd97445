"""Probabilities of several classes: checked, in one order, and one table of scores for each question asked of them.

All that is asked of classes are yes-or-no questions; `ClassRows` are the rows of one of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError, DataError
from calibrant.table import class_checks, rules
from calibrant.table.clusters import Clusters, cluster_numbers, hash_clusters
from calibrant.table.missing import EMPTY, LeftOut
from calibrant.table.numbers import html_table
from calibrant.table.pooling import (
    BoolArray,
    FloatArray,
    IndexArray,
    IntArray,
    key_order,
    places_of,
    score_order,
)
from calibrant.table.row_errors import renumbered
from calibrant.table.rules import WeightSums
from calibrant.table.score_table import ScoreTable
from calibrant.table.seeding import digest_rows, hash_rows, scramble
from calibrant.table.validation import CleanRows
from calibrant.upward import resolve


class ClassRows(NamedTuple):
    """Rows of which one yes-or-no question is asked: the probability of yes, and whether it was."""

    name: str
    rows: IndexArray | slice  # among all rows
    score: FloatArray
    outcome: BoolArray
    weight: FloatArray | None = None  # of each row, where weights count no rows,
    weights: WeightSums | None = None  # and of all rows

    def table(self, chosen: BoolArray | None = None) -> ScoreTable:
        """Pool the rows, or those that are among some `chosen` of all rows."""
        if chosen is None:
            return ScoreTable.from_clean(
                CleanRows(self.outcome.view(np.int8), self.score, self.weight, weights=self.weights)
            )
        here = chosen[self.rows]
        return ScoreTable.from_clean(CleanRows(self.outcome[here].view(np.int8), self.score[here], None))


@dataclass(frozen=True, eq=False)
class ClassScores:
    """Labels of two or more classes with the probabilities of all of them, in an order that the rows alone decide.

    Build it with `ClassScores.from_scores` or `ClassScores.from_source`.

    Attributes
    ----------
    classes : tuple
        Labels, in the order of the columns.
    code : ndarray of int64, shape (n,)
        Which of the classes each row is.
    proba : ndarray of float64, shape (n, K)
        Probabilities of all classes; every row adds up to 1.
    n_rescaled : int
        Rows that were off by more than rounding, 1e-5, and were divided by their sum.
    order : ndarray of int64, shape (n,), or None
        Where each row stood among those that were given, in files from 1 on, if that is known.
    left_out : LeftOut or None
        Rows that lack a value, where ``missing="drop"`` asked to leave them out.
    cluster : ndarray of int64, shape (n,), or None
        Number of the cluster of each row, if rows may depend on each other.
    weight : ndarray of float64, shape (n,), or None
        Weight of each row, if it counts no rows.
    chance : ndarray of shape (n,), or None
        Known chance with which each row was looked at, checked where it is used.
    by : dict of str to ndarray
        Columns that make segments.

    Examples
    --------
    >>> from calibrant import ClassScores
    >>> ClassScores.from_scores(["a", "c", "b"], [[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.2, 0.5, 0.3]])
    ClassScores(3 rows, 3 classes: a, b, c)
    """

    classes: tuple[Any, ...]
    code: IntArray
    proba: FloatArray
    n_rescaled: int = 0
    order: IntArray | None = None
    left_out: LeftOut | None = None
    cluster: IntArray | None = None
    weight: FloatArray | None = None
    chance: npt.NDArray[Any] | None = None
    by: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)

    @classmethod
    def from_scores(
        cls,
        y_true: npt.ArrayLike,
        y_proba: Any,
        *,
        classes: Sequence[Any] | None = None,
        sample_weight: npt.ArrayLike | None = None,
        count: npt.ArrayLike | None = None,
        chance: npt.ArrayLike | None = None,
        cluster: Clusters | None = None,
        by: Mapping[str, Any] | None = None,
        missing: str = "raise",
    ) -> ClassScores:
        """Check rows, and put them in order.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Label of each row: numbers, text or booleans.
        y_proba : array-like of shape (n, K), dataframe, or mapping of class to array-like
            Probabilities of K classes. Every row adds up to 1, within 0.005 for each class (at least 0.01, at most
            0.05), and is then divided by its sum. Of two classes the probability of the second is taken as it is, and 1
            minus it for the first.
        classes : sequence of length K, optional
            Label of each column. By default the names of the columns, such as ``cat`` or ``p_cat``; of an array the
            labels in increasing order, as in `classes_` of scikit-learn, or 0 to K - 1.
        sample_weight, count, missing
            As in `ScoreTable.from_scores`; rows that lack a value are counted in `left_out`.
        chance, cluster, by : optional
            Known chance with which each row was looked at, for `calibrant.certify`; its cluster; and columns by name
            that make segments.

        Returns
        -------
        ClassScores
            The same for every order of the rows.

        Raises
        ------
        DataError
            If rows cannot be used, or columns seem to be in another order than the classes.
        """
        columns, raw = class_checks.columns_of(y_proba)
        labels = class_checks.clean_class_labels(y_true, len(raw))
        beside = {"weight": sample_weight, "count": count, "chance": chance, "cluster": cluster, "by": by}
        return cls.from_numbered(labels, raw, (columns, classes), beside, missing=missing)

    @classmethod
    def from_numbered(
        cls,
        labels: class_checks.ClassLabels,
        raw: npt.NDArray[Any],
        named: tuple[list[Any] | None, Sequence[Any] | None],
        beside: Mapping[str, Any],
        *,
        missing: str = "raise",
        copy: bool = True,
    ) -> ClassScores:
        """Check the probabilities of labels that were numbered; without `copy` they are changed where they are.

        `named` are the names of columns and the classes, where they are given, `beside` what else there is by its role.
        """
        kinds = {role: beside.get(role) for role in ("weight", "count", "chance")}
        rules.need_one_kind(**kinds)
        by, chances = beside.get("by") or {}, kinds["chance"]
        of_by = {f"value of {name}": rules.column_values(values, name) for name, values in by.items()}
        chances = None if chances is None else rules.column_values(chances, "chance")
        further = {"weight": kinds["weight"], "chance": chances, "cluster": beside.get("cluster")} | of_by
        further = {cause: values for cause, values in further.items() if values is not None}
        rules.need_same_length({"rows": labels.number} | {f"values of {cause}": each for cause, each in of_by.items()})
        labels, chosen = class_checks.kept_classes(
            labels, raw, missing, kinds["count"], further, dict.fromkeys(of_by, EMPTY)
        )
        weight, chances, cluster, *columns_of = chosen.named("weight", "chance", "cluster", *of_by)
        try:
            cluster = None if cluster is None else cluster_numbers(cluster, len(labels.number))
            weight = rules.weighting_of(weight, None, len(labels.number))[0]
            proba, gap = class_checks.clean_probabilities(chosen.columns["probability"], copy=copy)
            names, certain = class_checks.classes_of(labels.met, *named, proba.shape[1])
            code = class_checks.codes_of(labels, names)
        except DataError as error:
            raise chosen.renumbered(error) from None
        if not certain:
            class_checks.check_order(code, proba, names)
        rescaled = int((gap > class_checks.ROUNDING).sum()) if len(names) > 2 else 0
        by_label = class_checks.label_order(names)
        order = score_order(*(proba[:, k] for k in by_label), key_order(by_label)[code])
        for column in proba.T:  # one by one, without a second matrix
            column[:] = column[order]
        places = order if chosen.places is None else chosen.places[order]
        of_rows: dict[str, Any] = {"cluster": cluster, "weight": weight, "chance": chances}
        of_rows = {role: column[order] for role, column in of_rows.items() if column is not None}
        if weight is not None:
            of_rows["weight"] = of_rows["weight"].astype(np.float64)
        by = {name: values[order] for name, values in zip(by, columns_of, strict=True)}
        return cls(tuple(names), code[order], proba, rescaled, places, chosen.left_out, by=by, **of_rows)

    @classmethod
    def from_source(
        cls,
        source: Any,
        *,
        outcome: str,
        prediction: str | Sequence[str],
        classes: Sequence[Any] | None = None,
        weight: str | None = None,
        count: str | None = None,
        cluster: str | Sequence[str] | None = None,
        by: str | Sequence[str] | None = None,
        missing: str = "raise",
    ) -> ClassScores:
        """Read labels and probabilities from the columns of a dataframe, of files or of a query.

        Parameters
        ----------
        source : dataframe, path, sequence of paths, or Query
            A dataframe of any library that narwhals reads, in memory or in an engine; files, patterns, folders or a
            `calibrant.Query`, see `calibrant.read_table`.
        outcome : str
            Name of the column of labels.
        prediction : str or sequence of str
            A pattern that the names of the columns of probabilities match, such as ``'p_*'``, in the order of the
            source; or all of these names.
        classes : sequence, optional
            Label of each of these columns. By default their names, or what is left of these after a common beginning.
        weight, count, cluster, by, missing
            Names of further columns; else as in `from_scores`.

        Returns
        -------
        ClassScores
            As of `from_scores`. Memory grows with rows times classes, 8 bytes for each probability; only the columns
            that are named are read.

        Examples
        --------
        >>> import pandas as pd
        >>> from calibrant import ClassScores
        >>> frame = pd.DataFrame({"y": ["a", "b"], "p_b": [0.2, 0.9], "p_a": [0.8, 0.1]})
        >>> ClassScores.from_source(frame, outcome="y", prediction="p_*").classes
        ('b', 'a')
        """
        columns: dict[str, Any] = {"outcome": outcome, "weight": weight, "count": count, "by": by}
        columns |= {"cluster": cluster, "classes": classes, "missing": missing}
        read: ClassScores = resolve("sources.given.class_scores_of")(source, prediction, **columns)
        return read

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.code)

    def __repr__(self) -> str:
        return f"ClassScores({len(self):,} rows, {self._classes_shown()})"

    def _repr_html_(self) -> str:
        return html_table("ClassScores", {"Rows": len(self), "Classes": self._classes_shown()}.items())

    def _classes_shown(self) -> str:
        return f"{len(self.classes)} classes: {class_checks.listed(self.classes)}"

    @cached_property
    def digest(self) -> int:
        """A number below ``2**64`` made of the rows, for seeds, as that of a `ScoreTable`."""
        count = np.ones(len(self), np.uint64) if self.weight is None else self.weight.view(np.uint64)
        digests = (
            digest_rows(part.score, count[part.rows], count[part.rows] * part.outcome) for part in self.by_class()
        )
        together = 0  # which rows belong together
        if self.cluster is not None:
            top = self.of_confidence()
            hashed = hash_rows(top.score, count, count * top.outcome)
            together = int(scramble(hash_clusters(self.cluster, hashed)).sum())
        # An odd factor for each class: else labels that swap classes of equal probabilities would share a seed.
        ranks: list[int] = key_order(self.label_order).tolist()
        return (together + sum((2 * rank + 1) * each for rank, each in zip(ranks, digests, strict=True))) % (1 << 64)

    @cached_property
    def label_order(self) -> IntArray:
        """The columns in increasing order of their labels: what is random goes by it, whatever order they have."""
        return class_checks.label_order(self.classes)

    @cached_property
    def weights(self) -> WeightSums | None:
        """Sums of weights that count no rows."""
        return None if self.weight is None else WeightSums.of(self.weight)

    @property
    def total(self) -> float:
        """What all rows count together."""
        return float(len(self)) if self.weights is None else self.weights.total / self.weights.unit

    @cached_property
    def predicted(self) -> IntArray:
        """The most probable class of each row; of equal ones the first."""
        return np.asarray(self.proba.argmax(axis=1), dtype=np.int64)

    @cached_property
    def miss(self) -> FloatArray:
        """One minus the probability of the class that occurred."""
        return np.asarray(1.0 - self.probability_of(self.code))

    @property
    def least(self) -> FloatArray:
        """The least probability of a class in each row."""
        return np.asarray(self.proba.min(axis=1))

    def probability_of(self, code: IntArray) -> FloatArray:
        """Return the probability of one class in each row."""
        return np.asarray(self.proba[np.arange(len(self)), code])

    def by_class(self) -> Iterator[ClassRows]:
        """Ask of each class, over all rows, whether it occurred."""
        weights: dict[str, Any] = {"weight": self.weight, "weights": self.weights}
        for k, name in enumerate(map(str, self.classes)):
            score = np.ascontiguousarray(self.proba[:, k])
            yield ClassRows(name, slice(None), score, self.code == k, **weights)

    def tables(self) -> Iterator[tuple[str, ScoreTable]]:
        """Give the table of each class."""
        return tables_of(self.by_class())

    def of_confidence(self) -> ClassRows:
        """Ask whether the most probable class occurred."""
        top = self.probability_of(self.predicted)
        right = self.code == self.predicted
        return ClassRows("the class predicted", slice(None), top, right, weight=self.weight, weights=self.weights)

    @property
    def confidence_residuals(self) -> FloatArray:
        """Whether the most probable class occurred, less its probability."""
        part = self.of_confidence()
        return np.asarray(part.outcome - part.score)

    def by_predicted(self) -> Iterator[ClassRows]:
        """Ask the same in the rows of each predicted class; classes that are never predicted are left out."""
        part = self.of_confidence()
        for name, rows in zip(self.classes, places_of(self.predicted, len(self.classes)), strict=True):
            if len(rows):
                weight = None if part.weight is None else part.weight[rows]
                yield ClassRows(str(name), rows, part.score[rows], part.outcome[rows], weight, part.weights)


def tables_of(parts: Iterable[ClassRows]) -> Iterator[tuple[str, ScoreTable]]:
    """Give the table of each of some questions, by the name of its class."""
    return ((part.name, part.table()) for part in parts)


def known_chances(rows: Any, smallest: float | None) -> FloatArray | None:
    """Return the chances of rows of classes, none of them below the smallest of the design.

    They are checked in the order in which they were given, of which errors name a row.
    """
    rules.need_one_kind(chance=rows.chance, smallest_chance=smallest)
    if rows.chance is None:
        return None
    row = np.arange(len(rows)) if rows.order is None else rows.order
    chance, at = np.empty(len(rows)), key_order(row)
    try:
        chance[at] = rules.clean_chances(rows.chance[at], len(rows), smallest)
    except DataError as error:
        raise renumbered(error, row[at]) from None
    return chance


def are_classes(y_true: Any, y_proba: Any, *named: Any) -> bool:
    """Whether rows are of several classes: of that kind, or of columns or classes that are `named`, or by shape."""
    several = isinstance(y_true, ClassScores) or _is_of_several(y_proba)
    return several or any(one is not None for one in named)


def _is_of_several(y_proba: Any) -> bool:
    """Whether these are probabilities of more than two classes, as far as their shape says."""
    if isinstance(y_proba, Mapping):
        return len(y_proba) > 2
    if isinstance(y_proba, (list, tuple)):
        first = next(iter(y_proba), None)
        return isinstance(first, Sized) and not isinstance(first, str) and len(first) > 2
    shape: Sequence[int] = getattr(y_proba, "shape", ())
    return len(shape) == 2 and shape[1] > 2


def as_class_scores(
    y_true: Any,
    y_proba: Any = None,
    *,
    classes: Sequence[Any] | None = None,
    missing: str = "raise",
    **beside: Any,
) -> ClassScores:
    """Return the `ClassScores` given as first argument, or make them of labels and probabilities."""
    if isinstance(y_true, ClassScores):
        if any(further is not None for further in (y_proba, classes, *beside.values())):
            expected = "ClassScores alone, or labels and probabilities"
            remedy = "give these columns to ClassScores.from_scores, or pass labels and probabilities"
            raise ArgumentError(expected, "ClassScores with further data", remedy)
        return y_true
    if y_proba is None:
        remedy = "pass the matrix of probabilities as second argument, such as model.predict_proba(X)"
        raise ArgumentError("labels and probabilities", f"a {type(y_true).__name__} and no probabilities", remedy)
    return ClassScores.from_scores(y_true, y_proba, classes=classes, missing=missing, **beside)
