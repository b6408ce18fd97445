"""Rows of arrays that lack something: left out and counted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.errors import DataError
from calibrant.segments.values import column_values
from calibrant.table.missing import NOT_KNOWN, LeftOut, Moments, is_missing, words_for_missing
from calibrant.table.row_errors import describe_all_left_out

__all__ = ["kept_rows"]


def kept_rows(
    columns: Mapping[str, Any], pos_label: Any
) -> tuple[dict[str, npt.NDArray[Any]], npt.NDArray[np.int64], LeftOut]:
    """Return the columns without the rows that lack something, which rows are left, and the account of the others.

    `columns` are named as in `LeftOut.causes`, outcome and score first.
    """
    words = {"outcome": words_for_missing(pos_label), "score": NOT_KNOWN, "weight": NOT_KNOWN}
    arrays = {cause: _column(values, cause) for cause, values in columns.items()}
    if len({len(array) for array in arrays.values()}) > 1:
        found = ", ".join(f"{len(array)} of {cause}" for cause, array in arrays.items())
        raise DataError("columns of equal length", found, "pass columns of the same table")
    gaps = {cause: _missing(array, words.get(cause, frozenset({""}))) for cause, array in arrays.items()}
    kept = np.flatnonzero(~np.logical_or.reduce(list(gaps.values())))
    known, unknown = (_moments(arrays["score"], ~gaps["score"] & of) for of in (~gaps["outcome"], gaps["outcome"]))
    n = len(arrays["score"])
    causes = {cause: int(gap.sum()) for cause, gap in gaps.items()}
    left_out = LeftOut.of(n - len(kept), n, causes, known, unknown)
    if n and not len(kept):
        raise describe_all_left_out(str(left_out))
    return {cause: array[kept] for cause, array in arrays.items()}, kept, left_out


def _column(values: Any, name: str) -> npt.NDArray[Any]:
    return np.asarray(values) if len(np.shape(values)) == 2 else column_values(values, name)


def _missing(array: npt.NDArray[Any], words: frozenset[str]) -> npt.NDArray[np.bool_]:
    """Return which rows have no value; with several columns, none in one of them."""
    if array.ndim == 2:
        return np.asarray(np.any([_missing(column, words) for column in array.T], axis=0))
    if array.dtype.kind == "f":
        return np.asarray(np.isnan(array))
    if array.dtype.kind not in "OUS":
        return np.zeros(len(array), dtype=bool)
    values = array.tolist()
    return np.array([is_missing(v) or (isinstance(v, str) and v.strip().lower() in words) for v in values], dtype=bool)


def _moments(score: npt.NDArray[Any], rows: npt.NDArray[np.bool_]) -> Moments:
    try:
        values = (score if score.ndim == 1 else score[:, -1])[rows].astype(np.float64)
    except (TypeError, ValueError):  # scores that are no numbers are refused later
        values = np.empty(0)
    values = values[(values >= 0.0) & (values <= 1.0)]
    if not len(values):
        return Moments(0, math.nan, math.nan)
    return Moments(len(values), float(values.mean()), float(values.var(ddof=1)) if len(values) > 1 else math.nan)
