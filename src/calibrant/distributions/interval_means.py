"""Limits of mean residuals over intervals of predictions, per unit, from rows or from clusters of rows.

What is independent of each other, a row or a cluster, is a draw: it brings residuals X, added up over its rows inside
an interval, and a unit e. An error is the supremum over intervals of ``E X / E e``. Statements and proofs:
docs/theory/16-means.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from calibrant.distributions.mean_limits import MANY, line_above, mean_width
from calibrant.distributions.mean_of_bets import betting_rate, concave_root, largest_rise, predictable_rates
from calibrant.table.pooling import BoolArray, FloatArray, IndexArray, IntArray

_Array = TypeVar("_Array", FloatArray, BoolArray)

_NODES = 96  # of the lines above a width, as in `widths.default`
_LINES = 2
_ROUNDS = 3  # in which a ratio and the width that depends on it are narrowed
_DOUBLINGS = 60
_NEARLY_1 = 0.9  # most that a rate times what it is for may be
_NOTHING = 1e-12
_LEAST = 1e-300
_PILOT = 1000  # draws at most that only foresee


@dataclass(frozen=True, eq=False)
class DrawnRows:
    """Rows in the order of their predictions, with residuals of the sign of a side, and the draws they belong to.

    Attributes
    ----------
    prediction, residual : ndarray
        Of each row.
    unit : ndarray
        Of each draw.
    cluster : ndarray of int or None
        Number of the draw of each row; None if every row is one.
    """

    prediction: FloatArray
    residual: FloatArray
    unit: FloatArray
    cluster: IntArray | None = None

    @property
    def n(self) -> int:
        """Number of draws."""
        return len(self.unit)

    @cached_property
    def ends(self) -> IndexArray:
        """Last row of each prediction."""
        return np.flatnonzero(np.append(self.prediction[1:] != self.prediction[:-1], True))

    def total(self, values: FloatArray) -> FloatArray:
        """Add up values of rows by draw."""
        if self.cluster is None:
            return values
        return np.bincount(self.cluster, values, self.n).astype(np.float64, copy=False)

    def largest(self, values: FloatArray) -> FloatArray:
        """Return the largest value of the rows of each draw."""
        if self.cluster is None:
            return values
        most = np.full(self.n, -np.inf)
        np.maximum.at(most, self.cluster, values)
        return most

    def of_row(self, values: _Array) -> _Array:
        """Return values of draws at each row."""
        return values if self.cluster is None else values[self.cluster]

    def pick(self, chosen: BoolArray) -> DrawnRows:
        """Return some of the draws."""
        rows = self.of_row(chosen)
        cluster = None if self.cluster is None else (np.cumsum(chosen) - 1)[self.cluster[rows]]
        return DrawnRows(self.prediction[rows], self.residual[rows], self.unit[chosen], cluster)

    def only_harm(self, extreme: BoolArray) -> DrawnRows:
        """Return the same without the units of extreme draws, and without their residuals below 0."""
        residual = np.where(self.of_row(extreme), np.maximum(self.residual, 0.0), self.residual)
        return replace(self, residual=residual, unit=np.where(extreme, 0.0, self.unit))

    def flip(self) -> DrawnRows:
        """Return the same for the other side."""
        return replace(self, residual=-self.residual)

    @cached_property
    def squares(self) -> FloatArray:
        """Shares of the rows in the square of a draw: over any interval they add up to X squared at least."""
        size = np.abs(self.residual)
        return size * self.of_row(self.total(size))


@dataclass(frozen=True)
class Reach:
    """What is known of a draw beforehand: ``X <= top``, ``-X <= bottom``, and ``least <= e <= most``."""

    top: float
    bottom: float
    least: float
    most: float

    @property
    def limited(self) -> bool:
        """Whether bounds by moments are possible."""
        return max(self.top, self.bottom, self.most) < math.inf


def betting_limit(
    draws: DrawnRows, order: IndexArray, delta: float, top: float, extreme: BoolArray | None = None
) -> float:
    """Theorem 16.2, for clusters with Lemma 16.3: upper limit of the error at predictable rates, for ``X <= top``.

    `order` is a random order of the draws. Those that are `extreme`, at which `top` was read off, only raise the limit.
    """
    sizes = draws.residual if draws.cluster is None else draws.total(np.abs(draws.residual))
    rates = predictable_rates(sizes, order, delta, top)
    if extreme is not None:
        draws = draws.only_harm(extreme)
    scaled, of_row = rates * draws.unit, draws.of_row
    if not scaled.any():
        return math.inf
    share, bets = _shares(draws, rates)
    scaled_rows = of_row(scaled)

    def excess(ratio: float) -> tuple[float, float]:
        """Least evidence against a ratio, over all intervals, above log(1 / delta), and its slope."""
        outside = 1.0 + ratio * scaled
        outside_rows, logs = of_row(outside), np.log(outside)
        inside = outside_rows - bets
        rise, first, stop = largest_rise(share * (of_row(logs) - np.log(inside)), draws.ends)
        slope = share * scaled_rows * (1.0 / inside - 1.0 / outside_rows)
        return float(logs.sum()) - rise + math.log(delta), float((scaled / outside).sum() + slope[first:stop].sum())

    below, slope = excess(0.0)
    high = -below / slope
    while excess(high)[0] <= 0.0:
        high *= 2.0
    return concave_root(excess, 0.0, high)


def _shares(draws: DrawnRows, rates: FloatArray) -> tuple[FloatArray | float, FloatArray]:
    """Shares p of the rows in their draw, and what they bet, rate times residual over p (Lemma 16.3)."""
    if draws.cluster is None:
        return 1.0, rates * draws.residual
    up, down = np.maximum(draws.residual, 0.0), np.maximum(-draws.residual, 0.0)
    gains, losses = draws.total(up), draws.total(down)
    size = np.maximum(gains, np.minimum(gains + losses, _NEARLY_1 / rates))
    size = np.where(size > 0.0, size, 1.0)
    left = 1.0 - gains / size
    of_gain, of_loss = rates * size, np.divide(-rates * losses, left, out=np.zeros(draws.n), where=left > _NOTHING)
    part = np.divide(left, losses, out=np.zeros(draws.n), where=(losses > 0.0) & (left > _NOTHING))
    gaining = draws.residual > 0.0
    share = np.where(gaining, up / draws.of_row(size), down * draws.of_row(part))
    return share, np.where(gaining, draws.of_row(of_gain), draws.of_row(of_loss))


def moment_width(
    n: float, delta: float, reach: Reach, middle: float, squares: npt.ArrayLike, ratio: float, *, lower: bool = False
) -> FloatArray:
    """Theorem 16.4: most that the mean of ``X - ratio e`` is below 0, or above it for a lower limit; n delta is large.

    By the mean of ``(X - ratio (e - middle))**2``, whatever the constant `middle`.
    """
    # In an interval that others chose, the mean of X may also be below 0, but X is never further from it than this.
    whole, below = reach.top + reach.bottom, reach.bottom + ratio * reach.most
    return mean_width(
        n,
        squares,
        delta,
        largest=max(reach.top + ratio * (middle - reach.least), reach.bottom + ratio * (reach.most - middle)),
        reach=max(whole if lower else reach.top, below),
        below=whole if lower else below,
    )


def width_limit(draws: DrawnRows, width: Callable[[npt.ArrayLike, float], FloatArray], middle: float) -> float:
    """Upper limit of the error, charged for squares inside the interval alone; infinite if there is none.

    `width` is that of Theorem 16.4, or another function of mean squares and the ratio that falls in neither and grows
    no faster than the ratio and the root of the squares do together.
    """
    n, unit, residual, squares = draws.n, float(draws.unit.sum()), draws.residual, draws.squares
    if not unit:
        return math.inf
    around = draws.unit - middle
    of_unit, around_rows = float(np.dot(around, around)), draws.of_row(around)
    total = max(float(squares.sum()), _NOTHING * float(np.abs(residual).max()) ** 2, _LEAST)
    rise, first, stop = largest_rise(residual, draws.ends)

    def highest_square(ratio: float) -> float:
        return (math.sqrt(total / n) + ratio * math.sqrt(of_unit / n)) ** 2

    def reached(ratio: float) -> float:
        return (rise + n * float(width(highest_square(ratio), ratio))) / unit

    limit = reached(0.0)
    for _ in range(_DOUBLINGS):
        if reached(limit) < limit:
            break
        limit *= 2.0
    else:
        return math.inf
    for _ in range(_ROUNDS):
        limit = reached(limit)
    nodes = highest_square(limit) * np.arange(_NODES + 1) / _NODES
    widths = width(nodes, limit)

    def below_line(limit: float, slope: float, level: float) -> tuple[float, int, int]:
        """Limit by a line above the width, if less, and the rows of the interval that allows the most."""
        rows, cross = residual + slope * squares, 2.0 * slope * around_rows * residual

        def excess(ratio: float) -> tuple[float, float]:
            """How far a ratio is above what every interval allows, a concave function, and its slope."""
            rise, first, stop = largest_rise(rows - ratio * cross, draws.ends)
            value = ratio * unit - n * level - rise - slope * ratio**2 * of_unit
            return value, unit - 2.0 * slope * ratio * of_unit + float(cross[first:stop].sum())

        if excess(limit)[0] > 0.0:
            limit = concave_root(excess, 0.0, limit)
        return limit, *largest_rise(rows - limit * cross, draws.ends)[1:]

    for _ in range(_LINES):
        charged = float(squares[first:stop].sum()) / n
        limit, first, stop = below_line(limit, *line_above(nodes, widths, charged))
    return limit


def upper_limit(
    draws: DrawnRows, at_top: BoolArray, aside: BoolArray, delta: float, reach: Reach, rng: np.random.Generator
) -> tuple[float, str]:
    """Proposition 16.5: upper limit of the error, and the method: "betting", or "moments" if some draws foresee less.

    These are chosen at random, and carry no limit. Draws `aside`, at which `reach` was read off, can only raise it; for
    betting those `at_top` alone, where the limit on its side was.
    """
    carry, chosen = np.ones(draws.n, dtype=bool), min(_PILOT, draws.n // 20)
    choose = reach.limited and (int(np.count_nonzero(~aside)) - chosen) * delta >= MANY
    if choose:
        carry[rng.permutation(draws.n)[:chosen]] = False
        carry |= aside
    rest, pilot = draws.pick(carry), draws.pick(~carry)
    if at_top[carry].all():
        return math.inf, "betting"
    if choose:
        middle, square = float(pilot.unit.mean()), max(float(pilot.squares.mean()), reach.top**2 / draws.n)
        width = partial(moment_width, rest.n, delta, reach, middle)
        foreseen = _betting_width(pilot.total(pilot.residual), rest.n, square, delta, reach.top)
        if float(width(square, 0.0)) < foreseen:
            return width_limit(rest.only_harm(aside[carry]), width, middle), "moments"
    return betting_limit(rest, rng.permutation(rest.n), delta, reach.top, at_top[carry]), "betting"


def _betting_width(
    sums: FloatArray, n: int, square: float, delta: float, top: float, chances: FloatArray | None = None
) -> float:
    """Width that a limit by betting on n draws can be expected to have, by what other draws bring, with chances."""
    rate = betting_rate(n, square, delta, top)
    charge = float(np.average(-np.log1p(-rate * sums) - rate * sums, weights=chances))
    return (charge - math.log(delta) / n) / rate


def expected_width(n: int, sums: FloatArray, chances: FloatArray, delta: float, reach: Reach) -> float:
    """Width that `upper_limit` of n draws can be expected to have, if they bring such sums with such chances."""
    square = max(float(np.dot(chances, sums**2)), reach.top**2 / n)
    rest = n - min(_PILOT, n // 20)
    if not reach.limited or rest * delta < MANY:
        return _betting_width(sums, n, square, delta, reach.top, chances)
    by_moments = float(moment_width(rest, delta, reach, reach.most, square, 0.0))
    return min(by_moments, _betting_width(sums, rest, square, delta, reach.top, chances))
