"""The confusion of several classes, observed and as the probabilities expect it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.printable import visible_name
from calibrant.table.class_scores import as_class_scores
from calibrant.table.numbers import counted, rows
from calibrant.table.pooling import FloatArray, IndexArray, IntArray, merged_order, score_order
from calibrant.table.results import WithTable

_PRINTED = 10  # cells of a printed table


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassConfusion(WithTable):
    """How often each class occurred where each is predicted, beside how often the probabilities expect it to.

    Attributes
    ----------
    classes : tuple of str
        The classes.
    rows : ndarray of int64, shape (K,)
        Rows in which each class is predicted: has the largest probability, as the first of equal ones.
    observed : ndarray of int64, shape (K, K)
        Rows in which the class of the first index is predicted, and that of the second occurred.
    expected : ndarray, shape (K, K)
        Sum of the probabilities of the second class over the rows in which the first is predicted.
    standardised : ndarray, shape (K, K)
        Observed less expected over their standard deviation if the probabilities are right. One row is added to the
        variance, as a cell that expects next to nothing would else be conspicuous for a single row.
    """

    _words = ("Occurred",)

    classes: tuple[str, ...]
    rows: IntArray
    observed: IntArray
    expected: FloatArray
    standardised: FloatArray

    @property
    def difference(self) -> FloatArray:
        """Observed less expected, as shares of all rows; the entries of each predicted class add up to 0."""
        return np.asarray((self.observed - self.expected) / self.rows.sum())

    def largest(self, most: int = _PRINTED) -> list[tuple[int, int]]:
        """Return the cells that are furthest from what is expected: the class predicted, and the one that occurred."""
        order = score_order(-np.abs(self.standardised).ravel())[:most]
        return [(i // len(self.classes), i % len(self.classes)) for i in order.tolist()]

    def sentences(self) -> Iterator[str]:
        """Say how many rows are predicted right, and how many are expected to."""
        right, expected = np.trace(self.observed), np.trace(self.expected)
        yield (
            f"{counted(self.rows.sum())}: the class predicted occurred in {rows(right)}; if the probabilities are "
            f"right, {expected:,.1f} are expected. The cells furthest from what is expected, in standard deviations:"
        )

    def lines(self) -> list[list[str]]:
        """Return heads and rows of the table of the cells that are furthest from what is expected."""
        lines = [["Predicted", "Occurred", "Rows", "Expected", "Deviations"]]
        for cell in self.largest():
            names = [visible_name(self.classes[k]) for k in cell]
            facts = rows(self.observed[cell]), f"{self.expected[cell]:,.1f}", f"{self.standardised[cell]:+.1f}"
            lines.append([*names, *facts])
        return lines


def confusion(y_true: Any, y_proba: Any = None, *, classes: Sequence[Any] | None = None) -> ClassConfusion:
    """Count which class occurred where which is predicted, and what the probabilities expect.

    Parameters
    ----------
    y_true, y_proba, classes
        As in `certify_classes`.

    Returns
    -------
    ClassConfusion
        Print it for the cells that are furthest from what is expected.

    Notes
    -----
    If expected and observed agree in the rows of each decision, decisions cost what the probabilities predict, and no
    other decision in place of one saves anything (Zhao et al. 2021; docs/theory/15-class-decisions.md). Here the
    decision is the most probable class.

    Examples
    --------
    >>> from calibrant.decisions import confusion
    >>> result = confusion(["a", "b", "c", "c"] * 25, [[0.5, 0.3, 0.2]] * 100)
    >>> result.observed[0].tolist(), result.expected[0].round(6).tolist()
    ([25, 25, 50], [50.0, 30.0, 20.0])
    """
    scores = as_class_scores(y_true, y_proba, classes=classes)
    proba, count = scores.need_matrix("a confusion matrix"), len(scores.classes)
    observed = np.bincount(scores.predicted * count + scores.code, minlength=count**2).reshape(count, count)
    order = merged_order(scores.predicted)
    expected = _sums(proba, scores.predicted, order)
    variance = _sums(proba * (1.0 - proba), scores.predicted, order)
    return ClassConfusion(
        classes=tuple(map(str, scores.classes)),
        rows=observed.sum(axis=1),
        observed=observed,
        expected=expected,
        standardised=(observed - expected) / np.sqrt(variance + 1.0),
    )


def _sums(values: FloatArray, group: IntArray, order: IndexArray) -> FloatArray:
    """Add up the rows of each group, in an order by group; groups without rows have sums of 0."""
    ordered = group[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    sums = np.zeros((values.shape[1], values.shape[1]))
    sums[ordered[starts]] = np.add.reduceat(values[order], starts)
    return sums
