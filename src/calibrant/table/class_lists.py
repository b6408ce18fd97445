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
from calibrant.table.pooling import FloatArray, IntArray, row_order
from calibrant.table.validation import as_array

UNLISTED = "none of those listed"
_ROUNDED = 1e-5  # what may be missing of the sum of a list that has all classes of its row


class ClassLists(NamedTuple):
    """Classes and probabilities of each row, in the order of the classes."""

    classes: list[Any]
    code: IntArray
    listed: IntArray  # (n, m); the number of classes, or more, where a row lists fewer
    proba: FloatArray
    over: FloatArray  # how far the sum of each row was above 1


def clean_lists(
    y_true: npt.ArrayLike, listed: npt.ArrayLike, y_proba: npt.ArrayLike, classes: Sequence[Any] | None
) -> ClassLists:
    """Check the lists of each row, see `ClassScores.from_top`."""
    raw, values = as_array(listed, "classes listed"), as_array(y_proba, "probabilities")
    if raw.ndim != 2 or raw.shape != values.shape or not raw.shape[1]:
        shapes = f"arrays of shape {raw.shape} and {values.shape}"
        remedy = "pass two matrices with a row for each label, such as the indices and values of the m largest"
        raise DataError("listed classes and as many probabilities in each row", shapes, remedy)
    if not len(raw):
        raise row_errors.describe_no_rows()
    proba, labels = class_checks.finite_numbers(values), class_checks.clean_class_labels(y_true, len(raw))
    names, codes = _classes_listed(raw, classes)
    code = _codes_of_labels(labels, names, named=classes is not None)
    order = row_order(codes)
    codes, proba = np.take_along_axis(codes, order, axis=1), np.take_along_axis(proba, order, axis=1)
    _check_lists(codes, proba, names)
    total = proba.sum(axis=1)
    gap = total - 1.0
    bad = (gap > class_checks.TOLERANCE) | (proba < 0.0).any(axis=1)
    if bad.any():
        raise class_checks.describe_sums("at most 1", proba, bad, _remedy(proba))
    unlisted = ~(codes == code[:, None]).any(axis=1)
    if len(names) > 1 and not unlisted.any() and gap.min() >= -_ROUNDED:
        class_checks.divide_rows(proba, total, np.abs(gap))
        return ClassLists(names, code, codes, proba, gap)
    class_checks.divide_rows(proba, total, gap)
    code[unlisted] = len(names)
    codes = np.column_stack([codes, np.full(len(codes), len(names))])
    proba = np.column_stack([proba, np.maximum(0.0, -gap)])
    return ClassLists([*names, UNLISTED], code, codes, proba, gap)


def _classes_listed(raw: npt.NDArray[Any], classes: Sequence[Any] | None) -> tuple[list[Any], IntArray]:
    """Return all classes, and which of them each entry is; one more than their number where it is empty."""
    met, number = class_checks.number_labels(raw.ravel())
    labels = [label for label in met if not is_missing(label)]
    names = class_checks.in_order(labels) if classes is None else class_checks.named_classes(classes)
    entries = class_checks.ClassLabels(labels, np.arange(len(labels)))
    codes = np.full(len(met), len(names) + 1)
    codes[[not is_missing(label) for label in met]] = class_checks.codes_of(entries, names, other=-1)
    unknown = np.flatnonzero(codes[number] < 0)
    if len(unknown):
        example = f"{met[number[unknown[0]]]!r} in row {unknown[0] // raw.shape[1]}"
        expected = f"lists of the classes {class_checks.listed(names)}"
        raise DataError(expected, example + class_checks.more(len(unknown)), "name all classes that may be listed")
    return names, codes[number].reshape(raw.shape)


def _codes_of_labels(labels: class_checks.ClassLabels, names: list[Any], *, named: bool) -> IntArray:
    """Return which class each label is; the number of classes where no list has it, unless all classes were named."""
    if named:
        return class_checks.codes_of(labels, names)
    code = class_checks.codes_of(labels, names, other=len(names))
    if (code == len(names)).all():
        given = f"{class_checks.listed(labels.met)}, of which none is ever listed"
        remedy = "pass labels of the same kind as the classes listed, such as the number of a column for both"
        raise DataError(f"labels among the classes {class_checks.listed(names)}", given, remedy)
    return code


def _check_lists(codes: IntArray, proba: FloatArray, names: list[Any]) -> None:
    """Raise a `DataError` if a row lists no class, or one twice, or has a probability without a class."""
    empty = codes >= len(names)
    if empty[:, 0].any():
        without = f"none in row {int(empty[:, 0].argmax())}{class_checks.more(int(empty[:, 0].sum()))}"
        raise DataError("a class listed in every row", without, "drop rows without scores")
    twice = (codes[:, 1:] == codes[:, :-1]) & ~empty[:, 1:]
    if twice.any():
        row, column = np.argwhere(twice)[0].tolist()
        given = f"{names[codes[row, column]]!r} twice in row {row}{class_checks.more(int(twice.any(axis=1).sum()))}"
        remedy = "list each class once, and None with probability 0 where a row has fewer"
        raise DataError("different classes in every list", given, remedy)
    astray = empty & (proba != 0.0)
    if astray.any():
        row, column = np.argwhere(astray)[0].tolist()
        given = f"{proba[row, column]:.4g} in row {row}{class_checks.more(int(astray.any(axis=1).sum()))}"
        raise DataError("probability 0 where no class is listed", given, "fill in the class, or set it to 0")


def _remedy(proba: FloatArray) -> str:
    """Guess what lists are that cannot be parts of a sum of 1."""
    if proba.max() <= 0.0:
        return class_checks.LOGARITHMS
    if proba.max() > 1.0 and proba.min() >= 0.0:
        return class_checks.PERCENTAGES
    return "pass the probability of each class among all classes, as a softmax over all of them gives it"
