"""What a cell of rows is charged so that its squared residual sum bounds its error: Lemmas 4.3 and 4.4.

The rows of a cell have scores ``s``; S is the sum of ``y - s``, V0 that of ``s (1 - s)``, m the mean score and
``Y = S**2 - (1 - 2 m) S - V0``. With ``t = lam / (2 q)``, ``mu = E S`` and the Huber function H of width a,

    constant = sup over mu of log E exp(-t Y) / lam + H(mu) + kappa mu**2 / n.

The suprema are over upper bounds that also hold between the points of the grid.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibrant.table.pooling import FloatArray

_TILTS = (1.0, 0.5, 0.2)  # shares of the tilt that is best for a normal sum
_STEEPEST_TILT = 50.0
_RISES = np.geomspace(1e-4, 1.0, 100)
_LEAST = 1e-300


@dataclass(frozen=True, eq=False)
class SquareCells:
    """Cells charged by their squared residual sums, with `lam` and `q` of Lemma 4.3: ``lam * (1 + 2 kappa) < 1``.

    `variance` is the sum of ``s (1 - s)``, `kappa` the weight of squared distances in Theorem 4.1, `n_points` the size
    of the grid in mu.
    """

    n: FloatArray
    mean: FloatArray
    variance: FloatArray
    lam: FloatArray
    q: FloatArray
    kappa: float
    n_points: int = 65

    def constant(self, a: FloatArray) -> FloatArray:
        """Return what each cell is charged if its event rate is one number, for Huber widths `a` (Lemma 4.3)."""
        weight = self._log_weight(a)
        left, right = self._common
        inside = np.minimum(_log_peaks(left, right, weight), _log_peaks(*self._any, weight))
        return self._largest(inside, weight) / self.lam

    def jump_price(self, a: FloatArray, constant: FloatArray, loose: FloatArray) -> FloatArray:
        """Largest cost per unit of a rise of the event rate inside each cell (Lemma 4.4), from `constant` at `a`.

        `loose` is a quarter of the rows of each cell, or the rows outside its most frequent score if they are fewer.
        """
        charged, weight = self.lam * constant, self._log_weight(a)
        peaks = _log_peaks(*self._any, weight)
        most = np.maximum(self._largest(peaks, weight) - charged, 0.0)
        # Where the bound by tilting is below the constant a rise cannot matter: the largest weight elsewhere counts.
        heaviest = np.where(peaks > charged[:, None], np.maximum(weight[:, 1:], weight[:, :-1]), -np.inf).max(axis=1)
        log_slope = np.log(np.maximum(self._t[:, 0] * loose, _LEAST)) + self._top[:, 0] + heaviest - charged
        slope = np.exp(np.minimum(log_slope, 600.0))
        rise = _RISES
        by_rise = np.minimum(np.log1p(slope[:, None] * rise * rise), most[:, None]) / self.lam[:, None]
        wide = np.maximum(self.n[:, None] - a[:, None] / rise, 0.0) / 2.0
        per_unit = np.minimum(wide, 2.0 * loose[:, None]) + self.kappa * loose[:, None] * rise
        # Between two rises: the cost by the constant does not decrease, nor does the other cost per unit.
        between = by_rise[:, 1:] / rise[:-1] + per_unit[:, 1:]
        # log(1 + x**2) is at most x**2 and at most .81 x.
        below_first = np.minimum(slope * rise[0], 0.81 * np.sqrt(slope)) / self.lam + per_unit[:, 0]
        return np.asarray(np.maximum(between.max(axis=1), below_first))

    @cached_property
    def _t(self) -> FloatArray:
        return (self.lam / (2.0 * self.q))[:, None]

    @cached_property
    def _top(self) -> FloatArray:
        """Largest value of ``-t Y``."""
        return self._t * (self.variance + (0.5 - self.mean) ** 2)[:, None]

    @cached_property
    def _mu(self) -> FloatArray:
        """Grid in mu, so wide that beyond its ends the bound by tilting falls (it is concave there)."""
        lowest, highest = -self.n * self.mean, self.n * (1.0 - self.mean)
        # Where a normal sum would leave nothing: t mu**2 / (1 + 2 t V) = top + lam mu.
        t, top = self._t[:, 0], self._top[:, 0]
        reach = np.zeros_like(t)
        for _ in range(3):  # the variance grows with mu where scores are near 0 or 1
            curve = t / (1.0 + 2.0 * t * (self.variance + reach * np.abs(1.0 - 2.0 * self.mean)))
            reach = 1.0 + (self.lam + np.sqrt(self.lam * self.lam + 4.0 * curve * top)) / (2.0 * curve)
        while True:
            ends = np.stack([np.maximum(lowest, -reach), np.minimum(highest, reach)], axis=1)
            theta, p = self._tilt(ends, 1.0)
            slope = np.expm1(theta) / (1.0 + p * np.expm1(theta))
            falls = slope * (1.0, -1.0) >= (self.lam * (1.0 + 2.0 * self.kappa))[:, None]
            falls |= ends == np.stack([lowest, highest], axis=1)
            if falls.all():
                return np.asarray(ends[:, :1] + (ends[:, 1:] - ends[:, :1]) * np.linspace(0.0, 1.0, self.n_points))
            reach = np.where(falls.all(axis=1), reach, 2.0 * reach)

    def _tilt(self, mu: FloatArray, share: float) -> tuple[FloatArray, FloatArray]:
        """Tilt theta and mean event rate for each mu."""
        p = np.clip((self.mean[:, None] + mu / self.n[:, None]), 0.0, 1.0)
        t, centre = self._t, (0.5 - self.mean)[:, None]
        theta = -2.0 * t * share * (mu - centre) / (1.0 + 2.0 * t * self.n[:, None] * p * (1.0 - p))
        return np.clip(theta, -_STEEPEST_TILT, _STEEPEST_TILT), p

    def _line(self, theta: FloatArray, p: FloatArray) -> FloatArray:
        """Log bound of ``E exp(-t Y)`` by tilting, for any event rates of mean `p`."""
        n, mean = self.n[:, None], self.mean[:, None]
        fixed = self._top + theta * theta / (4.0 * self._t) - theta * (0.5 - mean + n * mean)
        return np.asarray(fixed + n * np.log1p(p * np.expm1(theta)))

    @cached_property
    def _any(self) -> tuple[FloatArray, FloatArray]:
        """Log bounds by tilting at both ends of each step of the grid, under one tilt per step.

        The exponential of a line is ``(1 + c p)**n`` times a number, convex in mu: below its chord.
        """
        theta, p = self._tilt(self._mu, 1.0)
        return self._line(theta[:, :-1], p[:, :-1]), self._line(theta[:, :-1], p[:, 1:])

    @cached_property
    def _common(self) -> tuple[FloatArray, FloatArray]:
        """Log bounds for one common event rate at both ends of each step, with a margin for what lies above the chord.

        The second derivative of ``E exp(-t Y)`` in mu is at least ``-2 t exp(top)``.
        """
        log_mean = np.full(self._mu.shape, np.inf)
        for share in _TILTS:
            theta, p = self._tilt(self._mu, share)
            log_mean = np.minimum(log_mean, self._line(theta, p) + self._log_tilted(theta, p))
        step = self._mu[:, 1:2] - self._mu[:, :1]
        above_chord = np.log(np.maximum(step * step * self._t / 4.0, _LEAST)) + self._top
        log_mean = np.logaddexp(log_mean, above_chord)
        return log_mean[:, :-1], log_mean[:, 1:]

    def _log_tilted(self, theta: FloatArray, p: FloatArray) -> FloatArray:
        """Log bound of ``E exp(-t z)`` under the tilted binomial, z a square, from its first two moments."""
        n, t = self.n[:, None], self._t
        rate = np.clip(p * np.exp(theta) / (1.0 + p * np.expm1(theta)), 0.0, 1.0)
        unevenness = 1.0 - rate
        v = n * rate * unevenness
        away = n * (rate - self.mean[:, None]) - (0.5 - self.mean)[:, None] + theta / (2.0 * t)
        square = away * away
        first = t * (v + square)
        second = v * (3.0 * v + 1.0 - 6.0 * rate * unevenness + 4.0 * away * (1.0 - 2.0 * rate) + 6.0 * square)
        second = t * t * (second + square * square)
        # exp(-z) is at most 1 - c1 z + c2 z**2, which equals it at 0 and touches it at x.
        x = np.clip(second / np.maximum(first, _LEAST), 1e-3, 50.0)
        e = np.exp(-x)
        bound = 1.0 - (2.0 * (1.0 - e) / x - e) * first + (1.0 - e - x * e) / (x * x) * second
        return np.asarray(np.log(np.clip(bound, _LEAST, 1.0)))

    def _log_weight(self, a: FloatArray) -> FloatArray:
        """``lam * (H(mu) + kappa mu**2 / n)`` on the grid; its exponential is convex: below its chord."""
        size, width = np.abs(self._mu), a[:, None]
        huber = np.where(size < width, width / 2.0 + size * size / np.maximum(2.0 * width, _LEAST), size)
        return np.asarray(self.lam[:, None] * (huber + self.kappa * size * size / self.n[:, None]))

    def _largest(self, peaks: FloatArray, weight: FloatArray) -> FloatArray:
        """Largest of the peaks, and of the bound by tilting at the ends of the grid and beyond."""
        theta, p = self._tilt(self._mu[:, [0, -1]], 1.0)
        ends = self._line(theta, p) + weight[:, [0, -1]]
        return np.asarray(np.maximum(peaks.max(axis=1), ends.max(axis=1)))


def _log_peaks(left: FloatArray, right: FloatArray, weight: FloatArray) -> FloatArray:
    """Log of the largest product of two chords on each step, given the logs of their ends."""
    before, after = weight[:, :-1], weight[:, 1:]
    scale = np.maximum(left, right) + np.maximum(before, after)
    first, last = np.exp(left + before - scale), np.exp(right + after - scale)
    mixed = np.exp(left + after - scale) + np.exp(right + before - scale)
    # (1 - u)**2 first + u (1 - u) mixed + u**2 last, for u in [0, 1]
    inside = mixed > 2.0 * np.maximum(first, last)
    between = (mixed * mixed / 4.0 - first * last) / np.where(inside, mixed - first - last, 1.0)
    return np.asarray(scale + np.log(np.maximum(np.where(inside, between, np.maximum(first, last)), _LEAST)))
