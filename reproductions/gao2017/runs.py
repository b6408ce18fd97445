"""Numbers from repeated runs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from reproductions.item import Number

__all__ = ["mean_number", "quantile_number"]

_RESAMPLES = 200


def mean_number(quantity: str, values: npt.ArrayLike) -> Number:
    """Return the mean over runs with its standard error."""
    runs = np.asarray(values, dtype=np.float64)
    return Number(quantity, float(runs.mean()), float(runs.std(ddof=1)) / len(runs) ** 0.5)


def quantile_number(quantity: str, values: npt.ArrayLike, level: float) -> Number:
    """Return a quantile over runs with its standard error, that of a quantile over resampled runs."""
    runs = np.asarray(values, dtype=np.float64)
    again = np.random.default_rng(0).choice(runs, (_RESAMPLES, len(runs)))
    spread = float(np.quantile(again, level, axis=1).std(ddof=1))
    return Number(quantity, float(np.quantile(runs, level)), spread)
