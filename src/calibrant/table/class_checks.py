"""Checks of labels and probabilities of several classes: clean arrays, or an error that tells what to do."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError, DataError
from calibrant.table import row_errors
from calibrant.table.missing import NEVER_CLASSES, is_code, is_missing
from calibrant.table.numbers import counted
from calibrant.table.pooling import FloatArray, IntArray, number_values
from calibrant.table.row_errors import OFF_BY_ROUNDING
from calibrant.table.rules import KeptRows, as_array, clean_numbers, finite, kept_rows, need_same_length

ROUNDING = 1e-5  # rows whose sum is further from 1 are counted, and that is told
EXACT = 1e-12  # rows nearer to 1 are left as they are
_NAMED = 5  # values that a message names
_NAME_EACH = "name each column after its label; name all of these, in order, by `classes`, such as model.classes_"
# The order of columns must be wrong where so many more rows are predicted right in another one: as a share of all, and
# in standard deviations of that difference, which chance does not reach in few rows.
_MUCH_BETTER, _DEVIATIONS = 0.2, 4.0


def tolerance(classes: int) -> float:
    """Return how far the probabilities of a row may be from adding up to 1: what rounding to two digits moves them by.

    That of ten classes for more, so that a class that is missing is noticed; and 1e-9 for the rounding of floats.

    Examples
    --------
    >>> round(tolerance(2), 3), round(tolerance(3), 3), round(tolerance(10), 3), round(tolerance(1000), 3)
    (0.01, 0.015, 0.05, 0.05)
    """
    return 0.005 * min(max(classes, 2), 10) + 1e-9


class ClassLabels(NamedTuple):
    """Different labels, and which of them each row has."""

    met: list[Any]
    number: IntArray


def listed(values: Sequence[Any]) -> str:
    """Name a few of some values."""
    return ", ".join(map(str, values[:_NAMED])) + (", ..." if len(values) > _NAMED else "")


def need_different(names: Sequence[Any], what: str) -> None:
    """Raise an `ArgumentError` if one of the names, of "columns" or "classes", is there twice."""
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise ArgumentError(f"different {what}", f"{twice[0]!r} twice", "name each once")


def _text(value: Any) -> str:
    """Write a label as a name would be; a whole number without decimals, whatever its type."""
    return str(value).removesuffix(".0")


def names_of(frame: Any) -> list[Any]:
    """Return the names of columns."""
    if isinstance(frame, Mapping):
        return list(frame)
    return list(getattr(frame, "column_names", getattr(frame, "columns", ())))


def of_rescaled(count: int) -> tuple[str, ...]:
    """Say in how many rows probabilities were divided by their sum, if in some."""
    said = (
        f"The probabilities of {counted(count)} did not add up to 1 and were divided by their sum; the claim is about "
        "these quotients."
    )
    return (said,) if count else ()


def need_alone(remedy: str, **others: Any) -> None:
    """Raise an `ArgumentError` if more is given than labels and probabilities of several classes.

    The remedy may have ``{name}`` for what is too much.
    """
    given = [f"`{name}`" for name, value in others.items() if value is not None]
    if given:
        expected = f"the probabilities of several classes without {given[0]}"
        raise ArgumentError(expected, "both", remedy.format(name=given[0]))


def columns_of(y_proba: Any) -> tuple[list[Any] | None, npt.NDArray[Any]]:
    """Return probabilities as an array with one column for each class, and their names if they have some."""
    names = names_of(y_proba)
    if names:
        need_different(names, "columns")
        arrays = [as_array(y_proba[name], "probabilities") for name in names]
        lengths = {len(array) for array in arrays}
        if len(lengths) > 1 or any(array.ndim != 1 for array in arrays):
            raise DataError("columns of one length", "columns of several", "pass columns of the same table")
        raw = np.column_stack(arrays)
    else:
        raw = as_array(y_proba, "probabilities")
    if raw.ndim != 2:
        remedy = "pass the whole matrix of predict_proba; scores of one class are for calibrant.certify"
        raise DataError("probabilities with a column for each class", f"an array of shape {raw.shape}", remedy)
    if raw.shape[1] < 2:
        remedy = "pass the probabilities of all classes; scores of one class are for calibrant.certify"
        raise DataError("columns of at least two classes", f"{raw.shape[1]}", remedy)
    if not len(raw):
        raise row_errors.describe_no_rows()
    return names or None, raw


def clean_probabilities(raw: npt.NDArray[Any], *, copy: bool = True) -> tuple[FloatArray, FloatArray]:
    """Return probabilities whose rows add up to 1, and how far each row was from it."""
    proba = clean_numbers(raw, "probabilities", finite("probabilities"), copy=copy)
    total = proba.sum(axis=1)
    gap = np.abs(total - 1.0)
    bad = (gap > tolerance(proba.shape[1])) | (proba < 0.0).any(axis=1)
    if bad.any():
        fallback = "pass the probabilities of all classes, as predict_proba gives them"
        if proba.max() <= 1.0:
            fallback = (
                "if each column is a classifier of one class against the rest, divide every row by its sum first, or "
                "assess each column with calibrant.certify; if columns are missing, add them"
            )
        where = int(np.argmax(bad))
        values = ", ".join(f"{value:.4g}" for value in proba[where, :_NAMED].tolist())
        dots = ", ..." if proba.shape[1] > _NAMED else ""
        sums = row_errors.and_more(f"{values}{dots} (sum {proba[where].sum():.4g})", f"row {where}", int(bad.sum()))
        expected = f"probabilities that add up to 1 in every row, within {tolerance(proba.shape[1]):.3g}"
        raise DataError(expected, sums, _remedy(proba, total) or fallback)
    if proba.shape[1] == 2:
        np.minimum(proba[:, 1], 1.0, out=proba[:, 1])
        np.subtract(1.0, proba[:, 1], out=proba[:, 0])
        return proba, gap
    np.divide(proba, total[:, None], out=proba, where=(gap > EXACT)[:, None])
    np.minimum(proba, 1.0, out=proba)
    return proba, gap


def _remedy(proba: FloatArray, total: FloatArray) -> str | None:
    """Guess what rows are that do not add up to 1, from their size."""
    if proba.max() <= 0.0 and (np.abs(np.exp(proba).sum(axis=1) - 1.0) <= tolerance(proba.shape[1])).all():
        return "these look like logarithms of probabilities: pass np.exp of them"
    if -OFF_BY_ROUNDING <= proba.min() < 0.0:
        return "these are off by rounding alone: pass numpy.clip(probabilities, 0, 1)"
    if is_code(proba.min()) and 2 * np.count_nonzero(proba < 0.0) < proba.size:
        return f"{proba.min():g} seems to stand for a missing probability: drop those rows"
    if proba.min() < 0.0:
        return "these look like logits or margins: pass their softmax, exp(z) / sum(exp(z)) in every row"
    if (np.abs(total - 100.0) <= 100.0 * tolerance(proba.shape[1])).all():
        return "these look like percentages: divide them by 100"
    return None


def clean_class_labels(y_true: npt.ArrayLike, rows: int) -> ClassLabels:
    """Return the label of each row, of which some may be missing."""
    raw = as_array(y_true, "labels")
    if raw.ndim == 2 and raw.shape[1] == 1:
        raw = raw[:, 0]
    if raw.ndim != 1:
        one = raw.ndim == 2 and raw.dtype.kind in "biuf" and bool(((raw != 0).sum(axis=1) == 1).all())
        each = "of several labels that a row may have, audit each by itself, with its column of probabilities"
        remedy = "pass the argmax(axis=1) of this indicator matrix" if one else each
        raise DataError("one label per row", f"labels of shape {raw.shape}", remedy)
    need_same_length({"rows of probabilities": range(rows), "labels": raw})
    return number_labels(raw)


def kept_classes(
    labels: ClassLabels,
    raw: npt.NDArray[Any],
    missing: str,
    count: npt.ArrayLike | None,
    beside: Mapping[str, Any] | None = None,
    words: Mapping[str, Collection[str]] | None = None,
) -> tuple[ClassLabels, KeptRows]:
    """Return the labels, of which none is missing, and the probabilities of the rows that are used, see `kept_rows`.

    A label of the number -1 is missing too. `beside` are further columns, of which `words` stand for missing values.
    """
    drops = missing == "drop"
    absent = [is_missing(one) or (drops and str(one).strip().lower() in NEVER_CLASSES) for one in labels.met]
    gap = np.array([*absent, True])[labels.number]
    if gap.any() and not drops:
        row = int(gap.argmax())
        value = repr(labels.met[labels.number[row]]) if labels.number[row] >= 0 else "an empty value"
        raise row_errors.describe_missing("label", f"row {row}", int(gap.sum()), value)
    columns = {"outcome": np.where(gap, np.nan, labels.number) if drops else labels.number, "probability": raw}
    counts = None if count is None else as_array(count, "counts")
    chosen = kept_rows(columns | dict(beside or {}), missing, count=counts, words=words)
    position = np.cumsum(np.logical_not(absent)) - 1
    known = [label for label, no in zip(labels.met, absent, strict=True) if not no]
    return ClassLabels(known, position[chosen.columns["outcome"].astype(np.int64)]), chosen


def number_labels(raw: npt.NDArray[Any]) -> ClassLabels:
    """Find the different values of an array of one dimension."""
    if raw.dtype.kind in "biuf":
        number = number_values(raw)
        met = np.empty(int(number.max(initial=-1)) + 1, raw.dtype)
        met[number] = raw
        return ClassLabels(met.tolist(), number)
    values = raw.tolist()
    if any(map(row_errors.is_nested, values)):
        raise row_errors.describe_nested_labels()
    code = {value: i for i, value in enumerate(dict.fromkeys(values))}
    return ClassLabels(list(code), np.fromiter(map(code.__getitem__, values), np.int64, len(values)))


def named_classes(classes: Sequence[Any]) -> list[Any]:
    """Return classes that were named."""
    names = list(classes) if isinstance(classes, (list, tuple)) else as_array(classes, "classes").tolist()
    need_different(names, "classes")
    return names


def classes_of(
    met: list[Any], columns: list[Any] | None, classes: Sequence[Any] | None, n_columns: int
) -> tuple[list[Any], bool]:
    """Return the label of each column, and whether it is known by name, not only by the order of the columns."""
    if classes is not None:
        names = named_classes(classes)
        if len(names) != n_columns:
            counts = f"{len(names)} classes and {n_columns} columns"
            raise ArgumentError("a class for each column", counts, "name the class of every column, in their order")
        check_columns(columns, names)
        return names, True
    for names in () if columns is None else (columns, _without_prefix(columns)):
        known = {_text(name) for name in names}
        if all(_text(label) in known for label in met):
            return names, True
    if columns is not None and not all(isinstance(name, int) for name in columns):
        odd = next(label for label in met if _text(label) not in _without_prefix(columns))
        raise DataError(
            "columns that are named as the labels, or so after a common beginning",
            f"label {odd!r} and columns {listed(columns)}",
            _NAME_EACH,
        )
    if len(met) == 1:
        remedy = f"check how rows were selected; if it is right, {_NAME_EACH}"
        raise DataError("labels of at least two classes", f"one only, {met[0]!r}", remedy)
    if len(met) == n_columns:
        return in_order(met), False
    if all(label in range(n_columns) for label in met):
        return list(range(n_columns)), False
    raise DataError(
        f"labels of the {n_columns} classes that have a column",
        f"{len(met)} different labels: {listed(met)}",
        _NAME_EACH,
    )


def check_columns(columns: list[Any] | None, classes: list[Any]) -> None:
    """Refuse columns that are named as the classes are, but are in another order than these."""
    if columns is None or columns == list(range(len(columns))):  # the names of columns that have none
        return
    known = [_text(name) for name in classes]
    for names in (columns, _without_prefix(columns)):
        texts = [_text(name) for name in names]
        if texts != known and sorted(texts) == sorted(known):
            order = f"columns in the order of the classes {listed(classes)}"
            raise DataError(order, f"columns {listed(columns)}", "put the columns in this order")


def _without_prefix(columns: list[Any]) -> list[Any]:
    """Return names without what all of them begin with, up to the last character of it that is no letter or digit."""
    names = [str(name) for name in columns]
    common = 0
    while all(len(name) > common + 1 and name[common] == names[0][common] for name in names):
        common += 1
    while common and names[0][common - 1].isalnum():
        common -= 1
    return [name[common:] for name in names]


def in_order(labels: list[Any]) -> list[Any]:
    """Put labels in increasing order, those of several types in that of their texts."""
    try:
        return sorted(labels)
    except TypeError:
        return sorted(labels, key=str)


def label_order(classes: Sequence[Any]) -> IntArray:
    """Return which of some labels comes first, second and so on in increasing order."""
    position = {label: i for i, label in enumerate(classes)}
    return np.array([position[label] for label in in_order(list(classes))], dtype=np.int64)


def codes_of(labels: ClassLabels, names: list[Any]) -> IntArray:
    """Return which class each label is; names and labels of different types are compared as text."""
    need_different(list(map(str, names)), "classes")  # as they are shown
    met, number = labels.met, {name: k for k, name in enumerate(names)}
    if not all(label in number for label in met):
        need_different(list(map(_text, names)), "classes")
        number = {_text(name): k for k, name in enumerate(names)}
        met = [_text(label) for label in met]
    code = np.array([number.get(label, -1) for label in met], dtype=np.int64)[labels.number]
    outside = np.flatnonzero(code < 0)
    if len(outside):
        raise DataError(
            f"labels among the classes {listed(names)}",
            row_errors.and_more(repr(labels.met[labels.number[outside[0]]]), f"row {outside[0]}", len(outside)),
            "add the column of this class, or drop these rows if they are no part of the question",
        )
    return code


def check_order(code: IntArray, proba: FloatArray, names: list[Any]) -> None:
    """Refuse columns of more than two classes that predict the labels much better in another order."""
    n_classes = len(names)
    if n_classes == 2:
        return  # as where scores of one class are given, of which an audit warns
    rows = np.bincount(code, minlength=n_classes)
    sums = np.array([proba[code == k].sum(axis=0) for k in range(n_classes)])
    # Which column stands out most, among the rows of each class.
    best = (sums / np.maximum(rows, 1)[:, None] - proba.mean(axis=0)).argmax(axis=1)
    if len(set(best.tolist())) < n_classes or not rows.all():
        return
    predicted = proba.argmax(axis=1)
    change = (predicted == best[code]).astype(np.int64) - (predicted == code)
    right, otherwise = float((predicted == code).mean()), float((predicted == best[code]).mean())
    if change.sum() > max(_MUCH_BETTER * len(code), _DEVIATIONS * math.sqrt(float(np.abs(change).sum()))):
        raise DataError(
            f"columns in the order of the classes {listed(names)}",
            f"{right:.0%} of the rows predicted right, and {otherwise:.0%} were the columns in the order "
            f"{listed([names[best.tolist().index(k)] for k in range(n_classes)])}",
            _NAME_EACH,
        )
