"""Labels, scores, weights and counts: clean arrays, or an error that tells all that is wrong and what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError, DataError
from calibrant.table import row_errors, rules
from calibrant.table.missing import LeftOut, is_missing, words_for_missing
from calibrant.table.pooling import FloatArray, IndexArray, LabelArray, ScoreArray
from calibrant.table.rules import WeightSums

# Rows checked at a time: small enough for the cache, so that checking costs one read of the data.
_CHUNK = 1 << 16
_ROUNDED = 0.011  # how far two probabilities, each rounded to two decimals, may be from adding up to 1
_LOOK = 100_000  # rows looked at to name some of the label values in a message

_Labels = tuple[LabelArray, tuple[str, ...]]  # labels as 0 and 1, and with `pos_label` what the 0 were

# Rows that come a chunk at a time: tuples of labels, scores and perhaps weights, or a function that returns them.
Chunks = Callable[[], Iterable[tuple[Any, ...]]] | Iterable[tuple[Any, ...]]


class CleanRows(NamedTuple):
    """Validated rows: labels as 0/1 bytes, finite scores in [0, 1], weights or None."""

    label: LabelArray
    score: ScoreArray
    weight: npt.NDArray[Any] | None  # as they were given
    others: tuple[str, ...] = ()  # labels that count as 0 beside `pos_label`; a few of many
    weights: WeightSums | None = None  # of weights that count no rows, unless these are a part of the data
    left_out: LeftOut | None = None  # where rows without a value were left out

    @property
    def rows(self) -> npt.NDArray[Any]:
        """How many equal rows each row counts, see `WeightSums`."""
        if self.weight is None:
            return np.ones(len(self.label), dtype=np.int64)
        return self.weight if self.weights is None else self.weights.in_units(self.weight)

    def pick(self, which: slice | IndexArray) -> CleanRows:
        """Return some of the rows."""
        weight = None if self.weight is None else self.weight[which]
        return self._replace(label=self.label[which], score=self.score[which], weight=weight)

    def pieces(self, size: int) -> Iterator[CleanRows]:
        """Yield all rows, so many at a time, so that temporaries stay in the cache."""
        return (self.pick(slice(start, start + size)) for start in range(0, len(self.score), size))


def clean_rows(
    y_true: npt.ArrayLike,
    y_proba: npt.ArrayLike,
    *,
    sample_weight: npt.ArrayLike | None = None,
    count: npt.ArrayLike | None = None,
    pos_label: Any = None,
    part: bool = False,
    names: Mapping[str, str] | None = None,
    limits: tuple[float, float] = rules.PROBABILITIES,
    missing: str = "raise",
) -> CleanRows:
    """Validate the three columns together, with arguments as in `ScoreTable.from_scores`.

    In a part of the data positive labels and positive weights may be missing: they may be in other parts. Scores keep
    float32 or float64; no copy is made of clean float scores. They are within `limits`. An error tells all faults of
    the columns, with the `names` of "score", "label" and "weight" if they have some. Rows without a value are left out
    if `missing` is "drop".
    """
    given = {"outcome": y_true, "score": y_proba, "weight": sample_weight, "count": count}
    chosen = rules.kept_rows(given, missing, words={"outcome": words_for_missing(pos_label)}, limits=limits)
    labels, proba, weight, count = chosen.named(*given)
    scores = _score_column(proba)
    raw = rules.one_column(rules.as_array(labels, "labels"), "labels in one column")
    rules.need_same_length({"scores": scores, "labels": raw})
    checks: dict[str, Callable[[], Any]] = {
        "score": lambda: _checked_scores(scores, limits),
        "label": lambda: _labels_or_swapped(raw, scores, pos_label, part=part),
        "weight": lambda: rules.weighting_of(weight, count, len(scores), part=part),
    }
    try:
        score, (label, rest), (counted, weights) = rules.check_all(checks, names)
    except DataError as error:
        raise chosen.renumbered(error) from None
    if pos_label is not None and np.shape(proba)[1:] == (2,):
        _need_second_class(raw[label == 0], pos_label)
    return CleanRows(label, score, counted, rest, weights, chosen.left_out)


def clean_scores(y_proba: npt.ArrayLike) -> ScoreArray:
    """Return the scores as a one-dimensional float32 or float64 array, without copying if possible."""
    return _checked_scores(_score_column(y_proba), rules.PROBABILITIES)


def _score_column(y_proba: Any) -> npt.NDArray[Any]:
    """Return scores as they are, in one column."""
    raw = rules.as_array(y_proba, "scores")
    if raw.ndim == 2 and raw.shape[1] == 2:
        raw = _of_second_class(raw)
    remedy = "pass the probabilities of the positive class"
    if raw.ndim == 2 and raw.shape[1] > 2:
        remedy = (
            f"{row_errors.ONE_CLASS}: for class c pass y == c and its column p[:, c]; or take all classes at once, "
            "with calibrant.audit or certify, and MulticlassAutoCalibrator to recalibrate"
        )
    raw = rules.one_column(raw, "scores in one column, or in two as predict_proba gives them", remedy)
    if raw.shape[0] == 0:
        raise row_errors.describe_no_rows()
    if raw.dtype.kind == "c":
        raise DataError("real numbers as scores", "complex numbers", "pass predicted probabilities")
    return raw


def _checked_scores(raw: npt.NDArray[Any], limits: tuple[float, float]) -> ScoreArray:
    """Return a column of scores as floats within limits."""
    if raw.dtype.kind != "f" or raw.dtype.itemsize not in (4, 8) or not raw.dtype.isnative:
        raw = rules.clean_numbers(raw, "scores", rules.score_rules(limits))
    for start in range(0, raw.shape[0], _CHUNK):
        chunk = raw[start : start + _CHUNK]
        # A NaN makes both comparisons false, so one test finds every kind of bad score.
        if not (float(chunk.min()) >= limits[0] and float(chunk.max()) <= limits[1]):
            rules.clean_numbers(raw, "scores", rules.score_rules(limits))
    return raw


def _of_second_class(raw: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the second of two columns, which must be the probabilities of both classes."""
    try:
        total = raw.sum(axis=1, dtype=np.float64)
    except (TypeError, ValueError):  # values that are no numbers are named later
        return np.asarray(raw[:, 1])
    unequal = np.abs(total - 1.0) > _ROUNDED
    if unequal.any():
        where = int(np.argmax(unequal))
        pair = f"{raw[where, 0]:g} and {raw[where, 1]:g} in row {where}"
        expected = "two columns of probabilities that add up to 1 in every row, as predict_proba gives them"
        raise DataError(expected, pair, "pass one column of scores: the probability of the positive class")
    return np.asarray(raw[:, 1])


def _need_second_class(others: npt.NDArray[Any], pos_label: Any) -> None:
    """Refuse two columns, which are in the order of the classes, if the positive class is the first."""
    try:
        first = bool(others.size) and bool(pos_label < others[0])
    except TypeError:  # not to be put in order
        return
    if first:
        swapped = f"two columns, of which the second is that of {others[0]}"
        remedy = f"pass the column of {pos_label!r}, such as model.predict_proba(X)[:, 0]"
        raise DataError(f"probabilities of the positive class {pos_label!r}", swapped, remedy)


def _labels_or_swapped(raw: npt.NDArray[Any], score: npt.NDArray[Any], pos_label: Any, *, part: bool) -> _Labels:
    try:
        return labels_and_others(raw, pos_label, part=part)
    except DataError as error:
        looks_binary = bool(((score == 0.0) | (score == 1.0)).all())
        looks_like_scores = raw.dtype.kind == "f" and bool(((raw >= 0.0) & (raw <= 1.0)).all())
        if looks_binary and looks_like_scores:
            raise row_errors.swapped_columns(error) from None
        raise


def clean_labels(y_true: npt.ArrayLike, pos_label: Any = None, *, part: bool = False) -> LabelArray:
    """Return the labels as an array of 0 and 1 bytes.

    Follows scikit-learn: without `pos_label`, {0, 1}, booleans and {-1, 1} are understood and the larger
    value is the positive class. In a part of the data the positive class may be missing.
    """
    return labels_and_others(rules.as_array(y_true, "labels"), pos_label, part=part)[0]


def check_same_rows(first: tuple[int, int], then: tuple[int, int]) -> None:
    """Raise a `DataError` if rows and positives of two readings differ."""
    if first != then:
        raise row_errors.describe_other_rows(
            f"{first[0]} rows with {first[1]} positives at first, then {then[0]} with {then[1]}"
        )


def labels_and_others(raw: npt.NDArray[Any], pos_label: Any, *, part: bool) -> _Labels:
    """Return labels as 0 and 1, and with `pos_label` what the 0 were; a `DataError` tells all faults."""
    missing = ~np.isfinite(raw) if raw.dtype.kind == "f" else np.zeros(0, dtype=bool)
    if raw.dtype.kind in "OmM":
        missing = np.array([is_missing(value) for value in raw.ravel().tolist()], dtype=bool)
    if not missing.any():
        return _classes(_from_objects(raw), pos_label, part=part)
    where = int(np.argmax(missing))
    value = repr(raw[where : where + 1].tolist()[0])
    errors = [row_errors.describe_missing("label", f"row {where}", int(missing.sum()), value)]
    try:
        present = raw[~missing]
        if len(present):
            _classes(_from_objects(present), pos_label, part=True, rows=np.flatnonzero(~missing))
    except DataError as error:
        errors.append(error)
    raise row_errors.all_of(errors)


def _classes(raw: npt.NDArray[Any], pos_label: Any, *, part: bool, rows: npt.NDArray[Any] | None = None) -> _Labels:
    """Do the same with labels of which none is missing; `rows` are their numbers, by default from 0."""
    if pos_label is not None:
        return _labels_by_name(raw, pos_label, part=part)
    if raw.dtype.kind == "b":
        return raw.view(np.int8), ()
    if raw.dtype.kind not in "iuf":
        raise _bad_labels(raw, rows)
    low = raw.min()
    if low >= -1 and raw.max() <= 1:
        small = raw.astype(np.int8, copy=False)
        whole = raw.dtype.kind != "f" or np.array_equal(small, raw)
        if whole and low >= 0:
            return small, ()
        if whole and (small != 0).all():
            return (small > 0).view(np.int8), ()
    raise _bad_labels(raw, rows)


def _bad_labels(raw: npt.NDArray[Any], rows: npt.NDArray[Any] | None) -> DataError:
    odd = ~np.isin(raw, (-1, 0, 1)) if raw.dtype.kind in "iuf" else np.ones(raw.shape, dtype=bool)
    where = int(np.argmax(odd))
    location = f"row {where if rows is None else rows[where]}" if odd.any() else ""
    return row_errors.describe_bad_labels(raw[:_LOOK].tolist(), place=location, count=int(odd.sum()))


def _labels_by_name(raw: npt.NDArray[Any], pos_label: Any, *, part: bool) -> _Labels:
    if isinstance(pos_label, (list, tuple, np.ndarray)):
        raise ArgumentError("`pos_label` to be one label value", repr(pos_label), "pass the value that counts as 1")
    if raw.dtype.kind in "US" and not isinstance(pos_label, (str, bytes)):
        pos_label = str(pos_label)
    positive = np.asarray(raw == pos_label)
    if positive.shape != raw.shape:
        positive = np.zeros(raw.shape, dtype=bool)
    rest = raw[~positive]
    different: set[Any] = set()
    for start in range(0, 1 if rest.size and (rest == rest[0]).all() else rest.size, _CHUNK):
        different.update(rest[start : start + _CHUNK].tolist())
    if len(different) > 1 and not (part or positive.any()):
        raise row_errors.describe_bad_labels(raw[:_LOOK].tolist(), pos_label)
    others = tuple(map(str, sorted(different)))
    row_errors.refuse_unknown(others, pos_label)
    return positive.view(np.int8), others[: row_errors.OTHERS]


def _from_objects(raw: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array of objects as one of numbers or text, and any other as it is."""
    if raw.dtype.kind != "O":
        return raw
    values = raw.tolist()
    if any(map(row_errors.is_nested, values)):
        raise row_errors.describe_nested_labels()
    try:
        plain = np.array([float(value) if isinstance(value, Decimal) else value for value in values])
    except ValueError:
        raise row_errors.describe_nested_labels() from None
    if plain.dtype.kind in "biufUS" and plain.shape == raw.shape:
        return plain
    return np.array([str(v) for v in values])


def clean_counts(
    score: npt.ArrayLike, n: npt.ArrayLike, k: npt.ArrayLike
) -> tuple[FloatArray, npt.NDArray[Any], npt.NDArray[Any]]:
    """Return scores, rows and positives of the totals that have rows; integers if all are whole, else floats."""
    s = clean_scores(score).astype(np.float64) + 0.0  # -0.0 + 0.0 is 0.0
    given = rules.as_array(n, "n"), rules.as_array(k, "k")
    if not given[0].shape == given[1].shape == s.shape:
        shapes = f"{len(s)} scores, n of shape {given[0].shape} and k of shape {given[1].shape}"
        raise DataError("as many n and k as scores", shapes, "pass three columns of the same table")
    total, positive = _as_counts(*given)
    if not ((positive >= 0) & (positive <= total) & (total < np.inf)).all():
        raise DataError("finite 0 <= k <= n at every score", "a row that breaks it", "check the aggregation")
    with_rows = total > 0
    return s[with_rows], total[with_rows], positive[with_rows]


def _as_counts(n: npt.NDArray[Any], k: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return rows and positives as whole numbers if all are, else as floats."""
    totals = [
        of if of.dtype.kind in "iu" else rules.clean_numbers(of, what) for what, of in zip("nk", (n, k), strict=True)
    ]
    with np.errstate(over="ignore", invalid="ignore"):  # a NaN or an infinite number is refused later
        exact = totals[0].sum(dtype=np.float64) < 2.0**53
        if exact and all((np.floor(of) == of).all() for of in totals):
            return totals[0].astype(np.int64), totals[1].astype(np.int64)
    return totals[0].astype(np.float64), totals[1].astype(np.float64)
