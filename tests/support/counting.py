"""How failures of a guarantee are counted, and when there are too many of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.stats import binom

# A guarantee that holds with equality fails its test with this probability.
FALSE_ALARM = 1e-4
# Allowance for the rounding of a sum of binomial probabilities.
ROUNDING = 1e-12

FloatArray = npt.NDArray[np.float64]


def assert_failures_within(failures: int, repetitions: int, delta: float) -> None:
    """Raise if so many failures would be surprising for a failure probability of `delta`."""
    allowed = binom.ppf(1.0 - FALSE_ALARM, repetitions, delta)
    assert failures <= allowed, f"{failures} failures in {repetitions}, at most {allowed:.0f} expected at {delta}"


def assert_probability_within(probability: float, delta: float) -> None:
    """Raise if an exact failure probability is above `delta`."""
    assert probability <= delta + ROUNDING, f"failure probability {probability:.6f} above {delta}"


def per_count(n: int, value: Callable[[int], float]) -> FloatArray:
    """A value for each number of positives that n rows at one score can have."""
    return np.array([value(k) for k in range(n + 1)])


def failure_probability(n: int, eta: float, failed: npt.NDArray[np.bool_]) -> float:
    """Probability that the number of positives among n rows, each positive with chance `eta`, is a failure."""
    return float(binom.pmf(np.flatnonzero(failed), n, eta).sum())


def failure_probability_by_count(n: int, eta: float, fails: Callable[[int], bool]) -> float:
    """The same where looking at a count takes long: those less likely than 1e-16 count as failures, unseen."""
    chance = binom.pmf(np.arange(n + 1), n, eta)
    seen = np.flatnonzero(chance >= 1e-16)
    failed = [k for k in seen.tolist() if fails(k)]
    return float(chance[failed].sum() + chance.sum() - chance[seen].sum())


def worst_failure_probability(bounds: FloatArray, centre: float, sides: tuple[int, ...] = (-1, 1)) -> float:
    """Largest probability, over all true rates, that a bound by number of positives is below the truth.

    The truth is the distance of the rate from `centre`, on the named sides of it. Which counts fail changes only
    where the truth passes a bound, and is least favourable just beyond: these rates are tried, and a grid.
    """
    n = len(bounds) - 1
    truths = np.concatenate([bounds + 1e-12, np.linspace(0.0, 1.0, 101)])
    worst = 0.0
    for side in sides:
        rates = centre + side * truths
        for eta, truth in zip(rates, truths, strict=True):
            if 0.0 <= eta <= 1.0:
                worst = max(worst, failure_probability(n, eta, bounds < truth))
    return worst
