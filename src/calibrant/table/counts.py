"""Rows and positives that were added up already, at each score."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.errors import DataError
from calibrant.table.pooling import FloatArray
from calibrant.table.rules import as_array, clean_numbers
from calibrant.table.validation import clean_scores


def clean_counts(
    score: npt.ArrayLike, n: npt.ArrayLike, k: npt.ArrayLike
) -> tuple[FloatArray, npt.NDArray[Any], npt.NDArray[Any]]:
    """Return scores, rows and positives of the totals that have rows; integers if all are whole, else floats."""
    s = clean_scores(score).astype(np.float64) + 0.0  # -0.0 + 0.0 is 0.0
    given = as_array(n, "n"), as_array(k, "k")
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
    totals = [of if of.dtype.kind in "iu" else clean_numbers(of, what) for what, of in zip("nk", (n, k), strict=True)]
    with np.errstate(over="ignore", invalid="ignore"):  # a NaN or an infinite number is refused later
        exact = totals[0].sum(dtype=np.float64) < 2.0**53
        if exact and all((np.floor(of) == of).all() for of in totals):
            return totals[0].astype(np.int64), totals[1].astype(np.int64)
    return totals[0].astype(np.float64), totals[1].astype(np.float64)
