"""Numbers from repeated runs."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from reproductions.item import Number

__all__ = ["mean_number", "one_run", "quantile_number", "rows_for", "same_samples", "share_of"]

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


def one_run(quantity: str, values: npt.ArrayLike) -> Number:
    """Return the standard deviation of a single run, for sources that print one run without an error."""
    runs = np.asarray(values, dtype=np.float64)
    spread = float(runs.std(ddof=1))
    return Number(f"{quantity}, standard deviation of one run", spread, spread / (2.0 * (len(runs) - 1.0)) ** 0.5)


def same_samples(quantity: str, values: npt.ArrayLike, noise: float = 0.0, *, their_runs: int = 100) -> Number:
    """Return the error of a mean over the first of a source's samples against the source's over all of them.

    Parameters
    ----------
    quantity : str
        What the mean is of.
    values : array-like
        Its values in the first samples; only the samples left out are not shared.
    noise : float
        Variance of the difference of two values from one sample, of what is drawn besides it.
    their_runs : int
        How many samples the source has.
    """
    runs = np.asarray(values, dtype=np.float64)
    variance = float(runs.var(ddof=1)) * (1.0 / len(runs) - 1.0 / their_runs) + noise / len(runs)
    return Number(f"{quantity}, error on the same samples", variance**0.5, 0.0)


def rows_for(width: Callable[[int], float], target: float, *, more_than: int = 0) -> int:
    """Return the fewest rows, above a number, with which a width that shrinks with them is within the target."""
    low, high = more_than, 10**9
    while high - low > 1:
        n = (low + high) // 2
        low, high = (n, high) if width(n) > target else (low, n)
    return high
