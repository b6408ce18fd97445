"""Probabilities of several classes: checked, in one order, and one table of scores for each question asked of them.

All that is asked of classes are yes-or-no questions; `ClassRows` are the rows of one of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError, DataError
from calibrant.table import class_checks
from calibrant.table.class_lists import clean_lists, codes_of_labels
from calibrant.table.missing import LeftOut
from calibrant.table.pooling import (
    BoolArray,
    FloatArray,
    IndexArray,
    IntArray,
    key_order,
    places_of,
    pool_counts,
    score_order,
)
from calibrant.table.score_table import ScoreTable
from calibrant.table.seeding import digest_rows
from calibrant.table.shown import html_table
from calibrant.table.validation import CleanRows
from calibrant.upward import resolve


class ClassRows(NamedTuple):
    """Rows of which one yes-or-no question is asked: the probability of yes, and whether it was."""

    name: str
    rows: IndexArray | slice  # among all rows
    score: FloatArray
    outcome: BoolArray
    unlisted: int = 0  # rows that do not list the class: its probability is 0 there, and the answer no

    def table(self, chosen: BoolArray | None = None) -> ScoreTable:
        """Pool the rows, or those that are among some `chosen` of all rows."""
        if chosen is None:
            outcome, score, unlisted = self.outcome, self.score, self.unlisted
        else:
            here = chosen[self.rows]
            outcome, score = self.outcome[here], self.score[here]
            unlisted = int(np.count_nonzero(chosen)) - len(score) if self.unlisted else 0
        if not unlisted:
            return ScoreTable.from_clean(CleanRows(outcome.view(np.int8), score, None))
        n = np.append(unlisted, np.ones(len(score), dtype=np.int64))
        return ScoreTable(*pool_counts(np.append(0.0, score), n, np.append(0, outcome)))


@dataclass(frozen=True, eq=False)
class ClassScores:
    """Labels of two or more classes with the probabilities of all of them, in an order that the rows alone decide.

    Build it with `ClassScores.from_scores`, `ClassScores.from_source` or, of lists of the most probable classes,
    `ClassScores.from_top`.

    Attributes
    ----------
    classes : tuple
        Labels, in the order of the columns; of lists perhaps "none of those listed" as the last.
    code : ndarray of int64, shape (n,)
        Which of the classes each row is.
    proba : ndarray of float64, shape (n, K) or (n, m)
        Probabilities of all classes, or of those that a row lists; every row adds up to 1.
    n_rescaled : int
        Rows that were off by more than rounding, 1e-5, and were divided by their sum.
    listed : ndarray of int64, shape (n, m), or None
        Which of the classes each entry of `proba` is of, K or more where it is of none; None if a column is of a class.
    order : ndarray of int64, shape (n,), or None
        Where each row stood among those that were given, if that is known.
    left_out : LeftOut or None
        Rows without a label or a probability, where ``missing="drop"`` asked to leave them out.

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
    listed: IntArray | None = None
    order: IntArray | None = None
    left_out: LeftOut | None = None

    @classmethod
    def from_scores(
        cls,
        y_true: npt.ArrayLike,
        y_proba: Any,
        *,
        classes: Sequence[Any] | None = None,
        count: npt.ArrayLike | None = None,
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
        count, missing
            As in `ScoreTable.from_scores`; rows without a label or a probability are counted in `left_out`.

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
        return cls.from_numbered(labels, raw, columns, classes, count=count, missing=missing)

    @classmethod
    def from_numbered(
        cls,
        labels: class_checks.ClassLabels,
        raw: npt.NDArray[Any],
        columns: list[Any] | None,
        classes: Sequence[Any] | None,
        *,
        count: npt.ArrayLike | None = None,
        missing: str = "raise",
        copy: bool = True,
    ) -> ClassScores:
        """Check the probabilities of labels that were numbered; without `copy` they are changed where they are."""
        labels, chosen = class_checks.kept_classes(labels, raw, missing, count)
        try:
            proba, gap = class_checks.clean_probabilities(chosen.columns["probability"], copy=copy)
            names, certain = class_checks.classes_of(labels.met, columns, classes, proba.shape[1])
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
        return cls(tuple(names), code[order], proba, rescaled, order=places, left_out=chosen.left_out)

    @classmethod
    def from_top(
        cls,
        y_true: npt.ArrayLike,
        listed: npt.ArrayLike,
        y_proba: npt.ArrayLike,
        *,
        classes: Sequence[Any] | None = None,
    ) -> ClassScores:
        """Check lists of the most probable classes of each row, as of thousands of classes, and put them in order.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Label of each row: numbers, text or booleans.
        listed : array-like of shape (n, m)
            Labels of m classes in each row, in any order; None or NaN where there are fewer.
        y_proba : array-like of shape (n, m)
            Their probabilities. In each row they add up to at most 1, within the same limits.
        classes : sequence, optional
            All labels that there may be; others are refused. By default those that are listed in some row.

        Returns
        -------
        ClassScores
            Memory and time grow with n times m, however many classes there are. A class is asked about in the rows that
            list it. What is missing of a sum of 1 is the probability of one class more, "none of those listed", which
            counts as having occurred where the row does not list its label. If all rows list all classes, as of
            `from_scores`.

        Raises
        ------
        DataError
            If rows cannot be used.

        Examples
        --------
        >>> from calibrant import ClassScores
        >>> listed, proba = [["a", "b"], ["a", "c"], ["c", "b"]], [[0.5, 0.3], [0.8, 0.1], [0.4, 0.4]]
        >>> ClassScores.from_top(["b", "a", "z"], listed, proba)
        ClassScores(3 rows, lists of 4 classes: a, b, c, none of those listed)
        """
        lists = clean_lists(listed, y_proba, classes)
        labels = class_checks.clean_class_labels(y_true, len(lists.proba))
        labels, _ = class_checks.kept_classes(labels, lists.proba, "raise", None)
        if lists.complete:
            names = lists.classes
            return cls.from_numbered(labels, lists.proba[:, : len(names)], None, names)
        code = codes_of_labels(labels, lists.classes, named=classes is not None)
        lists, code, rescaled = lists.with_rest(code)
        order = score_order(*lists.proba.T, *lists.listed.T, code)
        return cls(tuple(lists.classes), code[order], lists.proba[order], rescaled, lists.listed[order])

    @classmethod
    def from_source(
        cls,
        source: Any,
        *,
        label: str,
        scores: str | Sequence[str],
        classes: Sequence[Any] | None = None,
        count: str | None = None,
        missing: str = "raise",
    ) -> ClassScores:
        """Read labels and probabilities from the columns of a dataframe, of files or of a query.

        Parameters
        ----------
        source : dataframe, path, sequence of paths, or Query
            A dataframe of any library that narwhals reads, in memory or in an engine; files, patterns, folders or a
            `calibrant.Query`, see `calibrant.read_table`.
        label : str
            Name of the column of labels.
        scores : str or sequence of str
            A pattern that the names of the columns of probabilities match, such as ``'p_*'``, in the order of the
            source; or all of these names.
        classes : sequence, optional
            Label of each of these columns. By default their names, or what is left of these after a common beginning.
        count, missing
            As in `from_scores`; a column of counts is named.

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
        >>> ClassScores.from_source(frame, label="y", scores="p_*").classes
        ('b', 'a')
        """
        columns: dict[str, Any] = {"label": label, "scores": scores, "count": count}
        read: ClassScores = resolve("class_scores_of")(source, **columns, classes=classes, missing=missing)
        return read

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.code)

    def __repr__(self) -> str:
        return f"ClassScores({len(self):,} rows, {self._classes_shown()})"

    def _repr_html_(self) -> str:
        return html_table("ClassScores", {"Rows": len(self), "Classes": self._classes_shown()}.items())

    def _classes_shown(self) -> str:
        kind = "" if self.listed is None else "lists of "
        return f"{kind}{len(self.classes)} classes: {class_checks.listed(self.classes)}"

    @property
    def scope(self) -> str:
        """Words, before a claim about classes, that say of which rows it is; empty if every row has all classes."""
        return "" if self.listed is None else "among the classes listed in each row, "

    def need_matrix(self, what: str) -> FloatArray:
        """Return the probabilities of all classes in all rows, for what cannot do with lists of some of them."""
        if self.listed is not None:
            remedy = "pass the matrix of all classes, or keep to what lists allow, such as calibrant.certify_classes"
            raise ArgumentError(f"probabilities of all classes for {what}", "lists of some of them", remedy)
        return self.proba

    @cached_property
    def digest(self) -> int:
        """A number below ``2**64`` made of the rows, for seeds, as that of a `ScoreTable`."""
        parts = ((part.score, part.outcome.astype(np.int64)) for part in self.by_class())
        digests = (digest_rows(score, np.ones_like(k), k) for score, k in parts)
        # An odd factor for each class: else labels that swap classes of equal probabilities would share a seed.
        ranks: Iterable[int] = range(len(self.classes))
        if self.listed is None:
            ranks = key_order(self.label_order).tolist()
        return sum((2 * rank + 1) * digest for rank, digest in zip(ranks, digests, strict=False)) % (1 << 64)

    @cached_property
    def label_order(self) -> IntArray:
        """The columns in increasing order of their labels: what is random goes by it, whatever order they have."""
        return class_checks.label_order(self.classes)

    @cached_property
    def predicted(self) -> IntArray:
        """The most probable class of each row, of those that are listed; of equal ones the first."""
        if self.listed is None:
            return np.asarray(self.proba.argmax(axis=1), dtype=np.int64)
        is_class = self.listed < len(self.classes) - 1
        at = np.where(is_class, self.proba, -1.0).argmax(axis=1)
        return np.asarray(self.listed[np.arange(len(self)), at])

    @cached_property
    def miss(self) -> FloatArray:
        """One minus the probability of the class that occurred."""
        return np.asarray(1.0 - self.probability_of(self.code))

    @property
    def least(self) -> FloatArray:
        """The least probability of a class in each row."""
        return self.proba.min(axis=1) if self.proba.shape[1] >= len(self.classes) else np.zeros(len(self))

    def probability_of(self, code: IntArray) -> FloatArray:
        """Return the probability of one class in each row, which lists it."""
        if self.listed is None:
            return np.asarray(self.proba[np.arange(len(self)), code])
        return np.asarray(self.proba[self.listed == code[:, None]])

    def by_class(self) -> Iterator[ClassRows]:
        """Ask of each class, over all rows, whether it occurred; of lists, over the rows that have it, if any do."""
        for k, name in enumerate(map(str, self.classes)):
            if self.listed is None:
                yield ClassRows(name, slice(None), np.ascontiguousarray(self.proba[:, k]), self.code == k)
            elif len(self._entries[k]):
                rows, column = np.divmod(self._entries[k], self.proba.shape[1])
                unlisted = len(self) - len(rows)
                yield ClassRows(name, rows, self.proba[rows, column], self.code[rows] == k, unlisted)

    def tables(self) -> Iterator[tuple[str, ScoreTable]]:
        """Give the table of each class."""
        return tables_of(self.by_class())

    @cached_property
    def _entries(self) -> list[IndexArray]:
        """Where the entries of each class stand among those of all lists."""
        assert self.listed is not None
        return places_of(self.listed.ravel(), len(self.classes))

    def of_confidence(self) -> ClassRows:
        """Ask whether the most probable class occurred."""
        top = self.probability_of(self.predicted)
        return ClassRows("the class predicted", slice(None), top, self.code == self.predicted)

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
                yield ClassRows(str(name), rows, part.score[rows], part.outcome[rows])


def tables_of(parts: Iterable[ClassRows]) -> Iterator[tuple[str, ScoreTable]]:
    """Give the table of each of some questions, by the name of its class."""
    return ((part.name, part.table()) for part in parts)


def as_class_scores(
    y_true: Any,
    y_proba: Any = None,
    *,
    classes: Sequence[Any] | None = None,
    count: npt.ArrayLike | None = None,
    missing: str = "raise",
) -> ClassScores:
    """Return the `ClassScores` given as first argument, or make them of labels and probabilities."""
    if isinstance(y_true, ClassScores):
        if any(further is not None for further in (y_proba, classes, count)):
            expected, remedy = "ClassScores alone, or labels and probabilities", "they hold probabilities and classes"
            raise ArgumentError(expected, "ClassScores with further data", remedy)
        return y_true
    if y_proba is None:
        remedy = "pass the matrix of probabilities as second argument, such as model.predict_proba(X)"
        raise ArgumentError("labels and probabilities", f"a {type(y_true).__name__} and no probabilities", remedy)
    return ClassScores.from_scores(y_true, y_proba, classes=classes, count=count, missing=missing)
