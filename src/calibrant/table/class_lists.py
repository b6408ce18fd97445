"""Lists of the most probable classes of each row, as of a thousand classes: checked, and completed to a sum of 1.

A class that a row does not list has probability 0 there, and what is missing of the sum is the probability of a class
more: that the label is none of those listed, which then is what counts as having occurred. So lists are a matrix of
which only the entries above 0 are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.errors import DataError
from calibrant.table import class_checks, row_errors
from calibrant.table.missing import is_missing
from calibrant.table.pooling import BoolArray, FloatArray, IntArray, row_order
from calibrant.table.rules import as_array, clean_numbers, finite

UNLISTED = "none of those listed"
_REMEDY = (
    "pass the probability of each class among all classes: percentages divided by 100, np.exp of logarithms, the "
    "softmax of all logits"
)


class ClassLists(NamedTuple):
    """Classes and probabilities of each row, in the order of the classes."""

    classes: list[Any]
    listed: IntArray  # (n, m); more than the number of classes where a row lists fewer
    proba: FloatArray

    @property
    def complete(self) -> bool:
        """Whether every row lists all classes."""
        k = len(self.classes)
        return self.listed.shape[1] >= k > 1 and bool((self.listed[:, k - 1] < k).all())

    def with_rest(self, code: IntArray) -> tuple[ClassLists, IntArray, int]:
        """Add the class "none of those listed"; return with it which class each row is, and how many were rescaled."""
        total = self.proba.sum(axis=1)
        gap = total - 1.0
        bad = (gap > class_checks.tolerance(self.proba.shape[1])) | (self.proba < 0.0).any(axis=1)
        if bad.any():
            raise class_checks.describe_sums("at most 1", self.proba, bad, _REMEDY)
        class_checks.divide_rows(self.proba, total, gap)
        rest = len(self.classes)
        listed = np.column_stack([self.listed, np.full(len(code), rest)])
        proba = np.column_stack([self.proba, np.maximum(0.0, -gap)])
        code = np.where((self.listed == code[:, None]).any(axis=1), code, rest)
        return ClassLists([*self.classes, UNLISTED], listed, proba), code, int((gap > class_checks.ROUNDING).sum())


def clean_lists(listed: npt.ArrayLike, y_proba: npt.ArrayLike, classes: Sequence[Any] | None) -> ClassLists:
    """Check the lists of each row, but for their sums, see `ClassScores.from_top`."""
    raw, values = as_array(listed, "classes listed"), as_array(y_proba, "probabilities")
    if raw.ndim != 2 or raw.shape != values.shape or not raw.shape[1]:
        shapes = f"arrays of shape {raw.shape} and {values.shape}"
        remedy = "pass two matrices with a row for each label, such as the indices and values of the m largest"
        raise DataError("listed classes and as many probabilities in each row", shapes, remedy)
    if not len(raw):
        raise row_errors.describe_no_rows()
    names, codes = _classes_listed(raw, classes)
    proba = clean_numbers(values, "probabilities", finite("probabilities"))
    order = row_order(codes)
    codes, proba = np.take_along_axis(codes, order, axis=1), np.take_along_axis(proba, order, axis=1)
    empty = codes >= len(names)
    proba[empty] = 0.0  # so it is part of the rest
    if empty[:, 0].any():
        raise DataError("a class listed in every row", _first("none", empty[:, :1]), "drop rows without scores")
    twice = (codes[:, 1:] == codes[:, :-1]) & ~empty[:, 1:]
    if twice.any():
        name = names[codes[:, 1:][twice][0]]
        remedy = "list each class once, and None where a row has fewer"
        raise DataError("different classes in every list", _first(f"{name!r} twice", twice), remedy)
    return ClassLists(names, codes, proba)


def _first(value: str, bad: BoolArray) -> str:
    """Name the first row with an entry that is bad, and how many more there are."""
    rows = bad.any(axis=1)
    return row_errors.and_more(value, f"row {int(rows.argmax())}", int(rows.sum()))


def _classes_listed(raw: npt.NDArray[Any], classes: Sequence[Any] | None) -> tuple[list[Any], IntArray]:
    """Return all classes, and which of them each entry is; one more than their number where it is empty."""
    met, number = class_checks.number_labels(raw.ravel())
    labels = [label for label in met if not is_missing(label)]
    names = class_checks.in_order(labels) if classes is None else class_checks.named_classes(classes)
    entries = class_checks.ClassLabels(labels, np.arange(len(labels)))
    codes = np.full(len(met), len(names) + 1)
    codes[[not is_missing(label) for label in met]] = class_checks.codes_of(entries, names, other=-1)
    unknown = (codes < 0)[number]
    if unknown.any():
        given = _first(repr(met[number[unknown.argmax()]]), unknown.reshape(raw.shape))
        remedy = "name all classes that may be listed"
        raise DataError(f"lists of the classes {class_checks.listed(names)}", given, remedy)
    return names, codes[number].reshape(raw.shape)


def codes_of_labels(labels: class_checks.ClassLabels, names: list[Any], *, named: bool) -> IntArray:
    """Return which class each label is; the number of classes where no list has it, unless all classes were named."""
    code = class_checks.codes_of(labels, names, other=None if named else len(names))
    if (code == len(names)).all():
        given = f"{class_checks.listed(labels.met)}, of which none is ever listed"
        remedy = "pass labels of the same kind as the classes listed, such as the number of a column for both"
        raise DataError(f"labels among the classes {class_checks.listed(names)}", given, remedy)
    return code
