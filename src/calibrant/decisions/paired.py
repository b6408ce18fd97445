"""Two scores of the same rows: where they decide differently."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.table.arguments import Weights
from calibrant.table.pooling import BoolArray, FloatArray, IndexArray, NumberArray, distinct_numbers, score_order
from calibrant.table.validation import clean_rows, clean_scores


class Pairs(NamedTuple):
    """Rows counted by their label and by how many of the thresholds, in increasing order, either score reaches.

    `order` puts the thresholds in increasing order; a row is predicted positive at the first so many of them. `n`
    counts all rows and is NaN where weights do not count rows, since chance is then unknown.
    """

    order: IndexArray
    positive: BoolArray
    first: IndexArray
    second: IndexArray
    rows: FloatArray
    n: float

    def changed(self) -> FloatArray:
        """Count the negatives and the positives decided differently, in the order in which thresholds were given."""
        size = len(self.order)
        counted = np.zeros((2, size))
        for label in (0, 1):
            for start, stop in ((self.first, self.second), (self.second, self.first)):
                rows = self.rows * ((self.positive == label) & (start < stop))
                steps = np.bincount(start, rows, size + 1) - np.bincount(stop, rows, size + 1)
                counted[label, self.order] += np.cumsum(steps)[:size]
        return counted

    def sums(self, which: IndexArray, of_positive: FloatArray, of_negative: FloatArray) -> FloatArray:
        """Add up over the thresholds what each row costs by one of the two scores, `first` or `second`.

        Costs of a false positive and of a false negative are those at each threshold, in the order given.
        """
        false_positives = np.concatenate([[0.0], np.cumsum(of_positive[self.order])])
        reached = np.concatenate([[0.0], np.cumsum(of_negative[self.order])])
        return np.where(self.positive, (reached[-1] - reached)[which], false_positives[which])


class MappedPart(NamedTuple):
    """Rows and positives at increasing scores, and what a nondecreasing map makes of these scores."""

    first: FloatArray
    second: FloatArray
    n: NumberArray
    k: NumberArray


def pair_rows(
    y_true: npt.ArrayLike,
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    thresholds: FloatArray,
    *,
    sample_weight: Weights,
    pos_label: Any,
) -> Pairs:
    """Count rows; as long as weights are whole numbers the result does not depend on the order of the rows."""
    rows = clean_rows(y_true, first, sample_weight=sample_weight, pos_label=pos_label)
    order = score_order(thresholds)
    i, j = (
        np.searchsorted(thresholds[order], score.astype(np.float64), side="right")
        for score in (rows.score, clean_scores(second))
    )
    weight = np.ones(len(i), dtype=np.int64) if rows.weight is None else rows.weight
    return _counted(order, rows.label, i, j, weight)


def pair_mapped(parts: Iterable[MappedPart], thresholds: FloatArray) -> Pairs:
    """Count rows whose second score is a nondecreasing map of the first, part by part with a map of its own."""
    order = score_order(thresholds)
    counted: list[tuple[NumberArray, ...]] = []
    for part in parts:
        # Both scores increase, so rows that reach as many thresholds by either stand together.
        cuts = [np.searchsorted(score, thresholds[order]) for score in (part.first, part.second)]
        starts = distinct_numbers(np.zeros(1, np.intp), *cuts)
        starts = starts[starts < len(part.n)]
        i, j = (np.searchsorted(cut, starts, side="right") for cut in cuts)
        n, k = np.add.reduceat(part.n, starts), np.add.reduceat(part.k, starts)
        counted += [(np.full(len(n), label), i, j, rows) for label, rows in ((0, n - k), (1, k))]
    return _counted(order, *(np.concatenate(columns) for columns in zip(*counted, strict=True)))


def _counted(
    order: IndexArray, label: npt.NDArray[np.integer], i: IndexArray, j: IndexArray, weight: NumberArray
) -> Pairs:
    kept = np.flatnonzero(weight > 0)  # sums are rounded by the number of their terms
    by_pair = kept[score_order(label[kept], i[kept], j[kept])]
    label, i, j, weight = label[by_pair], i[by_pair], j[by_pair], weight[by_pair]
    starts = np.flatnonzero(np.append(True, (np.diff(label) != 0) | (np.diff(i) != 0) | (np.diff(j) != 0)))
    return Pairs(
        order=order,
        positive=label[starts] == 1,
        first=i[starts],
        second=j[starts],
        rows=np.add.reduceat(weight, starts).astype(np.float64),
        n=float(weight.sum()) if weight.dtype.kind == "i" else math.nan,
    )
