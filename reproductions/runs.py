"""Numbers from repeated runs."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from reproductions.item import Number

__all__ = ["mean_number", "quantile_number", "share_of"]

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


def share_of(quantity: str, hits: float, trials: int) -> Number:
    """Return the share of trials that were hits; its error is that with one more hit and one more miss.

    So a share of 0 or 1 has an error too (Agresti & Coull 1998).
    """
    centre = (hits + 1.0) / (trials + 2.0)
    return Number(quantity, hits / trials, math.sqrt(centre * (1.0 - centre) / trials))
