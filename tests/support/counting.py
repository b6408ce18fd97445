"""How failures of a guarantee are counted, when there are too many of them, and when counting may end.

Where a sample takes long, counting ends as soon as more of them would hardly change what is found: by the ratio of
likelihoods of two rates of failures (Wald 1945), one that is allowed and one that all samples would find.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.stats import binom

# A guarantee that holds with equality fails its test with this probability.
FALSE_ALARM = 1e-4
# A rate of failures that all samples find with the first probability is missed by ending early with the second at most.
POWER, ENDED_TOO_EARLY = 0.9, 0.01
# Allowance for the rounding of a sum of binomial probabilities.
ROUNDING = 1e-12

FloatArray = npt.NDArray[np.float64]


def assert_failures_within(failures: int, repetitions: int, delta: float) -> None:
    """Raise if so many failures would be surprising for a failure probability of `delta`."""
    allowed = binom.ppf(1.0 - FALSE_ALARM, repetitions, delta)
    assert failures <= allowed, f"{failures} failures in {repetitions}, at most {allowed:.0f} expected at {delta}"


@cache
def _ends(planned: int, delta: float) -> tuple[float, float, float]:
    """Failures that are allowed, and what a failure and its absence add to the log of the ratio of likelihoods."""
    allowed = binom.ppf(1.0 - FALSE_ALARM, planned, delta)
    rate = brentq(lambda rate: binom.sf(allowed, planned, rate) - POWER, delta, 1.0)
    return float(allowed), np.log(rate / delta), np.log((1.0 - rate) / (1.0 - delta))


def decided(failures: npt.ArrayLike, seen: int, planned: int, delta: float) -> npt.NDArray[np.bool_]:
    """Whether the samples seen so far tell what all of those planned would, for each of some counts of failures.

    There are too many failures already, or so few that `ENDED_TOO_EARLY` bounds the chance of ever seeing as few at a
    rate that is found with `POWER`, or at a higher one. There is no alarm that all samples would not give.
    """
    allowed, failure, success = _ends(planned, delta)
    counts = np.asarray(failures)
    few = counts * failure + (seen - counts) * success < np.log(ENDED_TOO_EARLY)
    return np.asarray(few | (counts > allowed))


def assert_seldom(outcomes: Iterable[npt.ArrayLike], planned: int, delta: float) -> None:
    """Count failures sample after sample, until it is clear, and raise if there are too many.

    Parameters
    ----------
    outcomes : iterable
        Whether a statement failed in a sample, or an array that tells it of several statements.
    planned : int
        Samples to be drawn at most.
    delta : float
        Failure probability of each statement.
    """
    seen, failures = 0, np.zeros(1, dtype=int)
    for failed in outcomes:
        seen, failures = seen + 1, failures + np.asarray(failed, dtype=int)
        if decided(failures, seen, planned, delta).all():
            break
    for count in failures.tolist():
        assert_failures_within(count, seen, delta)


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
