"""Labels as 0 and 1, or an error that tells all that is wrong with them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError, DataError
from calibrant.table import row_errors
from calibrant.table.missing import is_missing
from calibrant.table.pooling import LabelArray

_Labels = tuple[LabelArray, tuple[str, ...]]  # labels as 0 and 1, and with `pos_label` what the 0 were

_LOOK = 100_000  # rows looked at to name some of the label values in a message
_CHUNK = 1 << 16  # rows looked at at a time for the different labels


def labels_and_others(raw: npt.NDArray[Any], pos_label: Any, *, part: bool) -> _Labels:
    """Return labels as 0 and 1, and with `pos_label` what the 0 were; a `DataError` tells all faults."""
    missing = ~np.isfinite(raw) if raw.dtype.kind == "f" else np.zeros(0, dtype=bool)
    if raw.dtype.kind == "O":
        missing = np.array([is_missing(value) for value in raw.ravel().tolist()], dtype=bool)
    if not missing.any():
        return _classes(_from_objects(raw), pos_label, part=part)
    where = int(np.argmax(missing))
    errors = [
        row_errors.describe_missing(
            "label", f"row {where}", int(missing.sum()), repr(raw[where : where + 1].tolist()[0])
        )
    ]
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
    place = f"row {where if rows is None else rows[where]}" if odd.any() else ""
    return row_errors.describe_bad_labels(raw[:_LOOK].tolist(), place=place, count=int(odd.sum()))


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
