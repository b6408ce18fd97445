"""The number of events among independent rows of known probabilities, and tests of these probabilities."""

from __future__ import annotations

import numpy as np

from calibrant.distributions.binomial import binomial_tails
from calibrant.table.pooling import FloatArray

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
