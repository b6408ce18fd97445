"""Numbers of events: intervals for a share, tests, limits that hold for every number of rows, events in clusters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from calibrant.distributions.brownian import normal_quantile
from calibrant.table.parameters import check_between, check_choice
from calibrant.table.pooling import BoolArray, FloatArray, IntArray, NumberArray

UNLIKELY = 1e-12  # outcomes less likely are not listed, but counted as if they spoke for the hypothesis
_TAIL = 41.5  # exp(-41.5) = 1e-18: what a binomial distribution has beyond the counts looked at


def share_interval(n: NumberArray, k: NumberArray, level: float, method: str) -> tuple[FloatArray, FloatArray]:
    """Ends of the interval of the named method, "wilson" or "clopper-pearson"; NaN if `n` does not count rows."""
    level = check_between("confidence_level", level, 0.0, 1.0)
    method = check_choice("interval", method, ("wilson", "clopper-pearson"))
    if n.dtype.kind != "i":
        return np.full(len(n), np.nan), np.full(len(n), np.nan)
    return wilson(n, k, level) if method == "wilson" else clopper_pearson(n, k, level)


def wilson(n: NumberArray, k: NumberArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Score interval (Wilson 1927): covers the share with probability `level` on average over shares, less at some.

    `n` is at least 1. Where the rows have different probabilities, it covers their average, and if anything more often.
    """
    z = normal_quantile(0.5 + 0.5 * level)
    rate = k / n
    centre = (rate + z * z / (2.0 * n)) / (1.0 + z * z / n)
    half = z * np.sqrt(rate * (1.0 - rate) / n + z * z / (4.0 * n * n)) / (1.0 + z * z / n)
    return np.where(k > 0, centre - half, 0.0), np.where(k < n, centre + half, 1.0)


def clopper_pearson(n: NumberArray, k: NumberArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Exact interval (Clopper & Pearson 1934): covers the share with probability at least `level`, whatever it is.

    Exact for rows of equal probability. The average of different ones may be missed a little more often: with 99 sure
    rows of 100 and one doubtful one, the upper end alone holds with 0.9487 instead of 0.95.
    """
    from scipy.special import betaincinv

    tail = 0.5 - 0.5 * level
    some, all_but_some = np.maximum(k, 1), np.maximum(n - k, 1)
    lower = np.where(k > 0, betaincinv(some, n - k + 1, tail), 0.0)
    upper = np.where(k < n, 1.0 - betaincinv(all_but_some, k + 1, tail), 1.0)
    # SciPy gives up on quantiles at some levels below 1e-200: there is no limit then.
    return np.nan_to_num(lower, nan=0.0), np.nan_to_num(upper, nan=1.0)


def binomial_tails(n: NumberArray, k: NumberArray, mean: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Probabilities of at least, and of at most, `k` positives among `n` independent rows of one probability."""
    from scipy.special import betainc

    mean = np.clip(mean, 0.0, 1.0)
    fewer = n - k
    at_least = np.where(k > 0, betainc(np.maximum(k, 1), fewer + 1, mean), 1.0)
    at_most = np.where(fewer > 0, betainc(np.maximum(fewer, 1), k + 1, 1.0 - mean), 1.0)
    return at_least, at_most


def level_p_values(n: NumberArray, k: NumberArray, mean: FloatArray, equal: BoolArray, side: int = 0) -> FloatArray:
    """P-values of `k` positives among `n` independent rows, whose probabilities have the mean `mean`.

    Twice the smaller tail of the binomial distribution, at most 1, or that of more positives (`side` 1), or of fewer
    (-1): exact where all rows have an `equal` probability, too high otherwise. At least one positive away from its
    expectation, a sum of independent events of different probabilities has thinner tails (Hoeffding 1956, theorem 4);
    nearer to it the p-value of such rows is 1.
    """
    away, (more, fewer) = k - n * np.clip(mean, 0.0, 1.0), binomial_tails(n, k, mean)
    known = equal | ((side * away if side else np.abs(away)) >= 1.0)
    chance = (2.0 * np.minimum(more, fewer), more, fewer)[side]
    return np.asarray(np.where(known, np.minimum(1.0, chance), 1.0))


def mean_limits(n: NumberArray, k: NumberArray, below: float, above: float) -> tuple[FloatArray, FloatArray]:
    """Limits of the mean probability of `n` independent rows, each failing with its own probability of up to 1/4.

    They hold whatever the probabilities of the rows are. A limit of Clopper and Pearson fails where the count is far in
    a tail, which is thinner for unequal probabilities (Hoeffding 1956, theorem 4) from one positive away from the
    expectation on. Only the first count on its side can be nearer to it and still fail: there the limit is that of
    Markov's inequality. Counts further on would have a probability above 1/4 (Doerr 2018).
    """
    lower, upper = clopper_pearson(n, k, 1.0 - 2.0 * below)[0], clopper_pearson(n, k, 1.0 - 2.0 * above)[1]
    lower = np.where(k == 1, np.minimum(lower, below / n), lower)
    return lower, np.where(k == n - 1, np.maximum(upper, 1.0 - above / n), upper)


def likely_counts(n: int, s: float) -> tuple[IntArray, FloatArray]:
    """Numbers of positives among n rows, and their probabilities; by Bernstein's inequality no others matter."""
    variance = n * s * (1.0 - s)
    reach = _TAIL / 3.0 + math.sqrt((_TAIL / 3.0) ** 2 + 2.0 * _TAIL * variance)
    mode = min(n, int((n + 1) * s))
    k = np.arange(max(0, math.floor(n * s - reach)), min(n, math.ceil(n * s + reach)) + 1)
    # From one count to the next: (n - k) / (k + 1) * s / (1 - s).
    steps = np.log((n - k[:-1]) / (k[:-1] + 1.0)) + (math.log(s) - math.log1p(-s))
    logs = np.append(0.0, np.cumsum(steps))
    weight = np.exp(logs - logs[mode - k[0]])
    return k, weight / weight.sum()


# Rows up to which the distribution is computed where probabilities differ.
_MOST = 1 << 20
# Tails below this may be lost in the rounding of Fourier transforms: there stands this, or the binomial tail below it.
_ROUNDED = 1e-10


def event_tails(probability: FloatArray, mean: float) -> tuple[FloatArray, FloatArray]:
    """Probabilities of at least, and of at most, each number of events: what the exact test is made of.

    The distribution is binomial, or Poisson-binomial where the probabilities of the rows differ. Of more than a million
    rows it is then taken for binomial at their mean, as are tails of less than 1e-10 where that is less: at least one
    event away from the expectation binomial tails are the fatter ones (Hoeffding 1956, theorem 4).
    """
    n = len(probability)
    at_least, at_most = binomial_tails(np.full(n + 1, n), np.arange(n + 1), np.full(n + 1, mean))
    if n > _MOST or probability.min() == probability.max():
        return at_least, at_most
    mass = _convolved(probability)
    more, fewer = np.minimum(1.0, np.cumsum(mass[::-1])[::-1]), np.minimum(1.0, np.cumsum(mass))
    at_least, at_most = np.minimum(at_least, _ROUNDED), np.minimum(at_most, _ROUNDED)
    return np.maximum(more, at_least), np.maximum(fewer, at_most)


def jeffreys_tails(exact: tuple[FloatArray, FloatArray], mean: float) -> tuple[FloatArray, FloatArray]:
    """Posterior probabilities, after each number of events, that the rate is at most, and at least, the mean.

    After k events among n it has the distribution Beta(k + 1/2, n - k + 1/2) (Jeffreys' prior), and is never 0 or 1:
    for such a mean the `exact` tails stand, those of `event_tails`.
    """
    from scipy.special import betainc, betaincc

    k = np.arange(len(exact[0])) + 0.5
    return (betainc(k, k[::-1], mean), betaincc(k, k[::-1], mean)) if 0.0 < mean < 1.0 else exact


def p_values(tails: tuple[FloatArray, FloatArray], direction: str) -> FloatArray:
    """Return the tails that tell of probabilities "too low" or "too high", or twice the smaller ones."""
    both = np.minimum(1.0, 2.0 * np.minimum(*tails))
    return {"too low": tails[0], "too high": tails[1], "either": both}[direction]


def _convolved(probability: FloatArray) -> FloatArray:
    """Probabilities of each number of events, by multiplying the generating functions of rows in pairs, of pairs ..."""
    parts = np.column_stack([1.0 - probability, probability])
    while len(parts) > 1:
        if len(parts) % 2:
            parts = np.vstack([parts, np.eye(1, parts.shape[1])])
        size = 2 * parts.shape[1] - 1
        parts = np.fft.irfft(np.fft.rfft(parts[::2], size) * np.fft.rfft(parts[1::2], size), size)
    return np.asarray(np.maximum(parts[0, : len(probability) + 1], 0.0))


@dataclass(frozen=True, eq=False)
class ClusteredCounts:
    """Numbers of events, their variances, and the largest number that a cluster can have."""

    count: FloatArray
    variance: FloatArray
    largest: FloatArray

    def tails(self, expected: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Probabilities of at least, and of at most, so many events where these are expected."""
        from scipy.special import gammainc, gammaincc

        shape, scale = self._of_less()
        at_least = np.where(self.count > 0.0, gammainc(shape, expected / scale), 1.0)
        shape, scale = self._of_more()
        return at_least, np.asarray(gammaincc(shape, expected / scale))

    def limits(self, below: float, above: float) -> tuple[FloatArray, FloatArray]:
        """Limits of the expected numbers, of which each fails with its probability; 0 and infinity for none."""
        from scipy.special import gammainccinv, gammaincinv

        shape, scale = self._of_less()
        lower = np.where(self.count > 0.0, scale * gammaincinv(shape, below), 0.0)
        shape, scale = self._of_more()
        return lower, np.asarray(scale * gammainccinv(shape, above))

    def _of_less(self) -> tuple[FloatArray, FloatArray]:
        """Shape and scale of the gamma distribution of the lower limit; where there are no events, of any."""
        some = self.count > 0.0
        count, variance = np.where(some, self.count, 1.0), np.where(some, self.variance, 1.0)
        return count**2 / variance, variance / count

    def _of_more(self) -> tuple[FloatArray, FloatArray]:
        """Shape and scale of that of the upper limit."""
        count, variance = self.count + self.largest, self.variance + self.largest**2
        return count**2 / variance, variance / count


_STEP = 0.1  # between the numbers of rows at which it is computed, in standard deviations of the errors
_GROWTH = 0.25  # the level at k of n rows, each by itself, is proportional to (k / n) to this power
_SPENT, _CLOSE = 0.9985, 0.997  # shares of delta: aimed at, and near enough
_TRIES = 24
_UNLIKELY = 1e-4  # share of delta that may be spent on paths that are left out of the computation
_ROUNDING = 1e-15  # per number of rows
_MOST_REMEMBERED = 256


@dataclass(frozen=True, eq=False)
class WalkBoundary:
    """Errors that are allowed among the first rows, for every number of them up to n.

    Attributes
    ----------
    rows : ndarray of int64
        Increasing numbers of rows at which the boundary was computed; the last is n, or one above it where not even
        n rows without an error are enough.
    errors : ndarray of int64
        Errors that are allowed there; -1 where even none is too many.
    crossing : float
        Probability that the walk is ever at or below the boundary; at most delta.
    """

    rows: IntArray
    errors: IntArray
    crossing: float

    def allowed(self, rows: npt.ArrayLike) -> IntArray:
        """Errors that are allowed among so many rows, from none to n; -1 where even none is too many.

        Between two numbers of rows at which it was computed, the boundary is as high as it can be without being reached
        by a path that is above it at both: errors never become fewer, and at most as many more as there are rows more.
        """
        k = np.asarray(rows, dtype=np.int64)
        after = np.searchsorted(self.rows, k)
        before = np.where(after > 0, self.errors[after - 1], -1)
        return np.asarray(np.maximum(before, self.errors[after] - (self.rows[after] - k)))

    @property
    def first(self) -> int:
        """Smallest number of rows of which none may be an error; above n if no number up to n is enough."""
        i = int(np.argmax(self.errors >= 0))
        return int(self.rows[i] - self.errors[i])


def rows_without_error(rate: float, delta: float) -> int:
    """Smallest number of rows that show no error with probability at most `delta`, if errors have this rate."""
    return max(1, math.ceil(math.log(delta) / math.log1p(-rate)))


@lru_cache(maxsize=_MOST_REMEMBERED)
def walk_boundary(n: int, rate: float, delta: float) -> WalkBoundary:
    """Boundary for n steps that each are an error with chance `rate`, crossed with probability at most `delta`.

    The binomial limits at each number of rows, at a level such that a walk crosses them with nearly that probability.
    It is computed exactly, by carrying the distribution of the errors of paths that are still above the boundary from
    one number of rows to the next. What is dropped from it counts as crossing, so the level is never exceeded.
    """
    first = rows_without_error(rate, delta)
    best = WalkBoundary(np.array([max(first, n + 1)]), np.array([0]), 0.0)
    if first > n:
        return best
    rows, low, high = _rows(first, n, rate), math.log(delta) - 20.0, math.log(delta) + 0.01
    level = math.log(delta) - math.log1p(1.1 * math.log(n / first))  # near the answer for usual rates
    for _ in range(_TRIES):
        limits = binomial_limits(rows, rate, np.exp(level + _GROWTH * np.log(rows / n)))
        errors = np.minimum.accumulate(np.maximum.accumulate(limits) - rows) + rows  # to rise as they must
        crossing = _crossing(rows, errors, rate, _UNLIKELY * delta)
        low, high = (level, high) if crossing <= delta else (low, level)
        if best.crossing < crossing <= delta and errors[-1] >= 0:
            best = WalkBoundary(rows, errors, crossing)
        if best.crossing >= _CLOSE * delta:
            break
        level += math.log(_SPENT * delta / crossing)  # nearly proportional
        if not low < level < high:
            level = 0.5 * (low + high)
    return best


def _rows(first: int, n: int, rate: float) -> IntArray:
    """Numbers of rows from the first to n, near enough to each other for little to be lost between them."""
    rows = [first]
    while rows[-1] < n:
        rows.append(min(n, rows[-1] + max(1, int(_STEP * math.sqrt(rows[-1] * (1.0 - rate) / rate)))))
    return np.array(rows, dtype=np.int64)


def binomial_limits(rows: IntArray, rate: float, level: FloatArray) -> IntArray:
    """Most errors that so many rows or fewer show with probability at most `level`, each by itself; -1 if none is."""
    from scipy.special import bdtr, bdtrik

    errors = np.floor(np.nan_to_num(bdtrik(level, rows, rate), nan=-1.0))
    errors -= np.where(errors >= 0, bdtr(np.maximum(errors, 0), rows, rate) > level, 0)
    return np.asarray(errors, dtype=np.int64)


def _crossing(rows: IntArray, errors: IntArray, rate: float, dropped: float) -> float:
    """Probability that the walk is ever at or below the boundary, and at most `dropped` more."""
    tail = 0.25 * dropped / len(rows)
    chance, least = np.ones(1), 0  # of being above so far with `least` errors, one more and so on
    for step, limit in zip(np.diff(rows, prepend=0).tolist(), errors.tolist(), strict=True):
        fewest, steps = _binomial(step, rate, tail)
        chance = np.convolve(chance, steps)
        least += fewest
        below = max(0, limit - least + 1)
        above = len(chance) - int(np.searchsorted(np.cumsum(chance[::-1]), tail))
        chance, least = chance[below:above], least + below
    return float(1.0 - chance.sum() + _ROUNDING * len(rows))


@lru_cache(maxsize=4096)
def _binomial(n: int, rate: float, tail: float) -> tuple[int, FloatArray]:
    """Least number of errors that is likely, and the chances of it and of those that follow; tails are left out."""
    mode = min(n, int((n + 1) * rate))
    reach = 12.0 * math.sqrt(n * rate * (1.0 - rate)) + 30.0
    j = np.arange(max(0, int(mode - reach)), min(n, int(mode + reach)) + 1)
    # Products of ratios from the largest on, whose sum is known: that of logarithms of factorials would be off by more.
    ratio = (n - j[:-1]) / (j[:-1] + 1.0) * (rate / (1.0 - rate))
    at = mode - int(j[0])
    chance = np.concatenate([np.cumprod(1.0 / ratio[:at][::-1])[::-1], [1.0], np.cumprod(ratio[at:])])
    chance /= chance.sum()
    first, last = (int(np.searchsorted(np.cumsum(side), tail)) for side in (chance, chance[::-1]))
    return int(j[first]), chance[first : len(chance) - last]
