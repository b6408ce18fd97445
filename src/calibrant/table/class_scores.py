"""Probabilities of several classes: checked, in one order, and one table of scores for each question asked of them.

All that is asked of classes are yes-or-no questions: was it this class (`by_class`), was it the class predicted
(`of_confidence`), was it, where this class is predicted (`by_predicted`)? `ClassRows` are the rows of one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError
from calibrant.table import class_checks
from calibrant.table.pooling import BoolArray, FloatArray, IndexArray, IntArray, score_order
from calibrant.table.score_table import ScoreTable
from calibrant.table.seeding import digest_rows
from calibrant.table.shown import html_table
from calibrant.table.validation import CleanRows

_ROUNDING = 1e-5  # rows whose sum is further from 1 are counted, and that is told


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
            unlisted = int(chosen.sum()) - len(score) if self.unlisted else 0
        table = ScoreTable.from_clean(CleanRows(outcome.view(np.int8), score, None))
        return table.merge(ScoreTable.from_counts([0.0], [unlisted], [0])) if unlisted else table


@dataclass(frozen=True, eq=False)
class ClassScores:
    """Labels of two or more classes with the probabilities of all of them, in an order that the rows alone decide.

    Build it with `ClassScores.from_scores` or `ClassScores.from_frame`.

    Attributes
    ----------
    classes : tuple
        Labels, in the order of the columns.
    code : ndarray of int64, shape (n,)
        Which of the classes each row is.
    proba : ndarray of float64, shape (n, K)
        Probabilities; every row adds up to 1.
    n_rescaled : int
        Rows that were off by more than rounding, 1e-5, and were divided by their sum.

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

    @classmethod
    def from_scores(cls, y_true: npt.ArrayLike, y_proba: Any, *, classes: Sequence[Any] | None = None) -> ClassScores:
        """Check rows, and put them in order.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Label of each row: numbers, text or booleans.
        y_proba : array-like of shape (n, K), dataframe, or mapping of class to array-like
            Probabilities of K classes. Every row adds up to 1: within 0.01, and is then divided by its sum. Of two
            classes the probability of the second is taken as it is, and 1 minus it for the first.
        classes : sequence of length K, optional
            Label of each column. By default the names of the columns, such as ``cat`` or ``p_cat``; of an array the
            labels in increasing order, as in `classes_` of scikit-learn, or 0 to K - 1.

        Returns
        -------
        ClassScores
            The same for every order of the rows.

        Raises
        ------
        DataError
            If rows cannot be used, labels are none of the classes, or columns seem to be in another order than these.
        """
        columns, raw = class_checks.columns_of(y_proba)
        proba, gap = class_checks.clean_probabilities(raw)
        labels = class_checks.clean_class_labels(y_true, len(proba))
        names, certain = class_checks.classes_of(labels, columns, classes, proba.shape[1])
        code = class_checks.codes_of(labels, names)
        if not certain:
            class_checks.check_order(code, proba, names)
        order = score_order(*proba.T, code)
        rescaled = int((gap > _ROUNDING).sum()) if len(names) > 2 else 0
        return cls(tuple(names), code[order], proba[order], rescaled)

    @classmethod
    def from_frame(
        cls, frame: Any, *, label: str, scores: Sequence[str], classes: Sequence[Any] | None = None
    ) -> ClassScores:
        """Take labels and probabilities from the columns of a dataframe in memory.

        Parameters
        ----------
        frame : dataframe or mapping
            Of pandas, Polars, PyArrow, or anything with columns by name.
        label : str
            Name of the column of labels.
        scores : sequence of str
            Names of the columns of probabilities, one for each class.
        classes : sequence, optional
            Label of each of these columns, see `from_scores`.

        Returns
        -------
        ClassScores
            As of `from_scores`.

        Examples
        --------
        >>> from calibrant import ClassScores
        >>> frame = {"y": ["a", "b"], "p_b": [0.2, 0.9], "p_a": [0.8, 0.1]}
        >>> ClassScores.from_frame(frame, label="y", scores=["p_b", "p_a"]).classes
        ('b', 'a')
        """
        if isinstance(scores, str):
            raise ArgumentError("the names of several columns of scores", repr(scores), "pass scores=['p_a', 'p_b']")
        missing = [name for name in (label, *scores) if name not in class_checks.names_of(frame)]
        if missing:
            raise ArgumentError("names of columns", f"no column {missing[0]!r}", "check the spelling")
        class_checks.need_different(scores, "columns")
        return cls.from_scores(frame[label], {name: frame[name] for name in scores}, classes=classes)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.code)

    def __repr__(self) -> str:
        return f"ClassScores({len(self):,} rows, {len(self.classes)} classes: {class_checks.listed(self.classes)})"

    def _repr_html_(self) -> str:
        facts = {"Rows": len(self), "Classes": f"{len(self.classes)}: {class_checks.listed(self.classes)}"}
        return html_table("ClassScores", facts.items())

    @cached_property
    def digest(self) -> int:
        """A number below ``2**64`` made of the rows, for seeds, as that of a `ScoreTable`."""
        parts = ((part.score, part.outcome.astype(np.int64)) for part in self.by_class())
        digests = (digest_rows(score, np.ones_like(k), k) for score, k in parts)
        # An odd factor for each class: else labels that swap classes of equal probabilities would share a seed.
        return sum((2 * i + 1) * digest for i, digest in enumerate(digests)) % (1 << 64)

    def need_matrix(self, what: str) -> FloatArray:
        """Return the probabilities of all classes in all rows, for `what` cannot do with a list of some of them."""
        return self.proba

    @cached_property
    def predicted(self) -> IntArray:
        """The most probable class of each row; of equal ones the first."""
        return np.asarray(self.proba.argmax(axis=1), dtype=np.int64)

    @cached_property
    def miss(self) -> FloatArray:
        """One minus the probability of the class that occurred."""
        return np.asarray(1.0 - self.proba[np.arange(len(self)), self.code])

    def by_class(self) -> Iterator[ClassRows]:
        """Ask of each class, over all rows, whether it occurred."""
        for k, name in enumerate(self.classes):
            yield ClassRows(str(name), slice(None), np.ascontiguousarray(self.proba[:, k]), self.code == k)

    def of_confidence(self) -> ClassRows:
        """Ask whether the most probable class occurred."""
        top = self.proba[np.arange(len(self)), self.predicted]
        return ClassRows("the class predicted", slice(None), top, self.code == self.predicted)

    @property
    def confidence_residuals(self) -> FloatArray:
        """Whether the most probable class occurred, less its probability."""
        part = self.of_confidence()
        return np.asarray(part.outcome - part.score)

    def by_predicted(self) -> Iterator[ClassRows]:
        """Ask the same in the rows of each predicted class; classes that are never predicted are left out."""
        part = self.of_confidence()
        for k, name in enumerate(self.classes):
            rows = np.flatnonzero(self.predicted == k)
            if len(rows):
                yield ClassRows(str(name), rows, part.score[rows], part.outcome[rows])


def are_classes(y_proba: Any, classes: Sequence[Any] | None = None) -> bool:
    """Whether probabilities are those of several classes: these are named, or there are more than two columns."""
    shape: tuple[int, ...] = getattr(y_proba, "shape", ())
    if isinstance(y_proba, (list, tuple)):
        shape = np.shape(y_proba[:1])
    return classes is not None or len(class_checks.names_of(y_proba)) > 2 or (len(shape) == 2 and shape[1] > 2)


def as_class_scores(y_true: Any, y_proba: Any = None, *, classes: Sequence[Any] | None = None) -> ClassScores:
    """Return the `ClassScores` given as first argument, or make them of labels and probabilities."""
    if isinstance(y_true, ClassScores):
        if y_proba is not None or classes is not None:
            expected, remedy = "ClassScores alone, or labels and probabilities", "they hold probabilities and classes"
            raise ArgumentError(expected, "ClassScores with further data", remedy)
        return y_true
    if y_proba is None:
        remedy = "pass the matrix of probabilities as second argument, such as model.predict_proba(X)"
        raise ArgumentError("labels and probabilities", f"a {type(y_true).__name__} and no probabilities", remedy)
    return ClassScores.from_scores(y_true, y_proba, classes=classes)
