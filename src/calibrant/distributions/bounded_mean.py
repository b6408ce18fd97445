"""Confidence limits for the mean of bounded terms, which hold where few rows carry most of it, as with rare events."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.distributions.bisection import bisect_all
from calibrant.table.pooling import BoolArray, FloatArray

# Nodes and weights of the trapezoid rule on one half of the path, after v = sinh u.
_U = np.arange(0.0, 8.1, 0.2)
_NODES, _WEIGHTS = np.sinh(_U), 0.2 * np.cosh(_U) * np.where(_U > 0.0, 1.0, 0.5) / np.pi
_LEAN, _UPRIGHT = 1.0 / 8.0, 1e-6  # bend of the path per unit of skewness, and the least
_FARTHEST, _HALVINGS = 40.0, 13  # log-odds of the saddlepoint between 0 and the pole
_LARGEST = 1e3
_NEGLIGIBLE = -25.0  # logarithm of what may be left out


def tail_deviate(values: FloatArray, counts: FloatArray) -> FloatArray:
    """Return the standard normal deviate of P(S >= 0), for gamma variables of shape `counts` times `values`.

    The sum is over the last axis. Values that count nothing may not be outside the others.
    """
    from scipy.special import ndtri_exp

    # the side on which the probability is the smaller one, or nearly so
    turned = np.where((counts * values).sum(axis=-1) > 0.0, -1.0, 1.0)
    values = turned[..., None] * values
    most = values.max(axis=-1, keepdims=True)
    reached = most[..., 0] > 0.0
    with np.errstate(all="ignore"):  # where no value is above 0
        log_tail = np.where(reached, np.minimum(_log_tail(values / most, counts), 0.0), -np.inf)
        deviate = ndtri_exp(log_tail)
    return np.asarray(np.clip(turned * deviate, -_LARGEST, _LARGEST))


def _log_tail(values: FloatArray, counts: FloatArray) -> FloatArray:
    """Logarithm of P(S >= 0) for values of which the largest is 1, and a mean of at most 0."""

    def before(log_odds: FloatArray) -> BoolArray:
        saddle, ratio = _at(log_odds, values)
        return np.asarray(saddle * (counts * ratio).sum(axis=-1, keepdims=True) < 1.0)

    farthest = np.full((*values.shape[:-1], 1), _FARTHEST)
    saddle, ratio = _at(bisect_all(before, -farthest, farthest, _HALVINGS)[0], values)
    second = (counts * ratio**2).sum(axis=-1, keepdims=True) + saddle**-2.0
    third = 2.0 * (counts * ratio**3).sum(axis=-1, keepdims=True)
    # The path leans to the side on which the integrand falls, less than that of steepest descent, and ever less: far
    # out many small values may turn the integrand the other way.
    deviation = second**-0.5
    lean = _LEAN * third * deviation**3
    lean = np.where(np.abs(lean) < _UPRIGHT, _UPRIGHT, lean)
    away = deviation * (1j * _NODES + 0.5 / lean * np.log1p((lean * _NODES) ** 2))
    ahead = deviation * (1j + lean * _NODES / (1.0 + (lean * _NODES) ** 2)) * _WEIGHTS
    z = -ratio[..., None, :] * away[..., None]
    logs = 0.5 * np.log1p(2.0 * z.real + z.real**2 + z.imag**2) + 1j * np.arctan2(z.imag, 1.0 + z.real)
    exponent = -(counts[..., None, :] * logs).sum(axis=-1)
    # From where next to nothing is left, or the integrand would rise again, the path goes straight up, which adds less.
    rises = np.diff(exponent.real, axis=-1, prepend=0.0) > 0.0
    gone = np.logical_or.accumulate(rises | (exponent.real < _NEGLIGIBLE), axis=-1)
    integrand = np.exp(np.where(gone, -np.inf, exponent)) * ahead / (saddle + away)
    height = -(counts * np.log1p(-saddle * values)).sum(axis=-1)
    return np.asarray(height + np.log(integrand.imag.sum(axis=-1)))


def _at(log_odds: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Number between 0 and 1, and the derivative of ``-log(1 - s x)`` by s there."""
    left = 1.0 / (1.0 + np.exp(log_odds))
    return 1.0 / (1.0 + np.exp(-log_odds)), values / (left * values + (1.0 - values))


# From so many values on they are pooled, in bins in which the distance from the end changes by the factor exp(_WIDTH),
# but for distances that are small beside that of the mean.
_MANY, _WIDTH, _SMALL = 128, 0.2, 1e-4
_STEPS, _PRECISION = 100, 1e-7
_NOTHING = 1e-200  # share of the largest distance below which another is 0


class Draws(NamedTuple):
    """Values of independent draws along the last axis, and how many draws have each; a part of a draw counts as one."""

    values: FloatArray
    counts: FloatArray


def bounded_mean_limits(
    draws: Draws, low: npt.ArrayLike, high: npt.ArrayLike, level: float
) -> tuple[FloatArray, FloatArray]:
    """Limits, each for half of what `level` leaves, for the mean of terms in [low, high].

    For rows that depend on each other see `cluster_draws`. An end of the range may be infinite; so is the limit there.
    """
    return bounded_mean_limit(-1, draws, low, level), bounded_mean_limit(1, draws, high, level)


def bounded_mean_limit(side: int, draws: Draws, end: npt.ArrayLike, level: float) -> FloatArray:
    """One of the limits: the lower (-1), for which only the lower end of the range counts, or the upper one (1)."""
    high = side * np.asarray(end, dtype=np.float64)
    if np.isinf(high).any():
        return side * high
    weighted, deviate = _with_end(side, draws, high), _normal_deviate(level)
    mean, spread = _mean_and_spread(weighted)
    low, top = weighted.values.min(axis=-1), weighted.values.max(axis=-1)
    most = top
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        at = np.where(spread > 0.0, most - (most - mean) * np.exp(deviate * spread / (most - mean)), most)
        before, at_before, slope = at, np.zeros_like(at), most - at
        excess, settled = _excess(weighted, deviate, at), np.zeros(at.shape, dtype=bool)
        for _ in range(_STEPS):
            low, top = np.where(excess > 0.0, at, low), np.where(excess > 0.0, top, at)
            # The secant, in the logarithm of the distance from the end; or the middle of where the limit still may be.
            moved = np.log1p((before - at) / (most - before))
            slope = np.where(moved != 0.0, (excess - at_before) / moved, slope)
            new = at - (most - at) * np.expm1(-excess / slope)
            new = np.where((new > low) & (new < top), new, np.where(excess == 0.0, at, 0.5 * (low + top)))
            before, at_before, at = at, excess, np.where(settled, at, new)
            settled |= np.abs(at - before) <= _PRECISION * np.minimum(spread, most - at)
            if settled.all():
                break
            changed = at != before  # few of many, since most have settled by the time the last one does
            excess = excess.copy()
            excess[changed] = _excess(Draws(*(part[changed] for part in weighted)), deviate, at[changed])
    return np.asarray(side * np.minimum(at, high))


def limit_excess(side: int, draws: Draws, end: float, level: float) -> float:
    """How far a limit is above 0: of the right sign, of about the right size, and with less work than the limit."""
    if np.isinf(end):
        return end
    weighted = _with_end(side, draws, np.asarray(side * end))
    return side * float(_excess(weighted, _normal_deviate(level), np.zeros(())))


def mean_deviate(side: int, draws: Draws, end: float) -> float:
    """Normal deviate of the p-value of a mean of at least 0 (side 1), or of at most 0 (-1).

    It is the level at which the limit of that side, for which the end of the range counts, is 0.
    """
    if np.isinf(end):
        return np.inf
    weighted = _with_end(side, draws, np.asarray(side * end))
    if weighted.values.min() >= 0.0 or weighted.values.max() <= 0.0:
        return np.inf if weighted.values.min() >= 0.0 else -np.inf
    return float(_deviate_at(weighted, np.zeros(())))


def _normal_deviate(level: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(0.5 - 0.5 * level))


def _with_end(side: int, draws: Draws, high: FloatArray) -> Draws:
    """Draws whose upper limit is asked for, with one more at the upper end."""
    counts = np.asarray(draws.counts, dtype=np.float64)
    values = np.where(counts > 0.0, side * draws.values, high[..., None])
    if values.ndim == 1 and len(values) > _MANY:
        values, counts = _pooled(Draws(values, counts), float(high))
    shape = (*values.shape[:-1], 1)
    return Draws(
        np.concatenate([values, np.broadcast_to(high[..., None], shape)], axis=-1),
        np.concatenate([counts, np.ones(shape)], axis=-1),
    )


def _mean_and_spread(weighted: Draws) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of the mean weighted at random."""
    values, counts = weighted
    total = counts.sum(axis=-1)
    mean = (counts * values).sum(axis=-1) / total
    square = (counts * (values - mean[..., None]) ** 2).sum(axis=-1) / total
    return mean, np.sqrt(square / (total + 1.0))


def _excess(weighted: Draws, deviate: float, at: FloatArray) -> FloatArray:
    """How far the upper limit is above a number: exact in its sign, about right in its size, and falling by about 1."""
    mean, spread = _mean_and_spread(weighted)
    shifted = weighted.values - at[..., None]
    # Nothing on one side of the number, as where a score separates the classes: no chance to be there.
    one_sided = (shifted.min(axis=-1) >= 0.0) | (shifted.max(axis=-1) <= 0.0)
    return np.where(one_sided, mean - at, (_deviate_at(weighted, at) - deviate) * spread)


def _deviate_at(weighted: Draws, at: FloatArray) -> FloatArray:
    """Normal deviate of the probability that the mean weighted at random is at least a number."""
    shifted = weighted.values - at[..., None]
    size = np.abs(shifted)  # beside the largest, what would underflow is nothing
    shifted = np.where(size > _NOTHING * size.max(axis=-1, keepdims=True), shifted, 0.0)
    return tail_deviate(shifted, weighted.counts)


def _pooled(draws: Draws, high: float) -> Draws:
    """Two values for all in a bin, with the same count, mean, variance and third moment.

    The distribution is that of terms ``log(1 - s (x - t))``, s at most ``1 / (high - t)``, in which distances from the
    upper end count by their logarithm.
    """
    values, counts = draws
    mean = float(np.dot(values, counts) / counts.sum())
    distance = max(high, float(values.max())) - values
    least = _SMALL * max(high - mean, float(distance.mean())) or 1.0  # unless every value is the end
    bin_index = np.floor(np.log(distance + least) / _WIDTH).astype(np.intp)
    bin_index -= bin_index.min()
    number = np.bincount(bin_index, counts)
    used = number > 0.0
    number = np.where(used, number, 1.0)
    centre = np.bincount(bin_index, counts * values) / number
    values = values - centre[bin_index]
    squares = counts * values**2
    variance, third = np.bincount(bin_index, squares) / number, np.bincount(bin_index, squares * values) / number
    with np.errstate(divide="ignore", invalid="ignore"):
        half = np.where(variance > 0.0, 0.5 * third / variance, 0.0)
    root = np.sqrt(half**2 + variance)
    # the roots of z^2 - 2 half z - variance; the nearer one without cancellation
    far = half + np.copysign(root, half)
    near = np.where(far != 0.0, -variance / np.where(far != 0.0, far, 1.0), 0.0)
    share = np.where(root > 0.0, np.abs(far) / np.where(root > 0.0, 2.0 * root, 1.0), 0.5)
    return Draws(
        np.concatenate([(centre + near)[used], (centre + far)[used]]),
        np.concatenate([(number * share)[used], (number * (1.0 - share))[used]]),
    )
