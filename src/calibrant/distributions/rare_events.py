"""Bounds for few expected events: a bet at a fixed rate, and the rule that says when it is used.

A bet on a mean of terms of at most 1 needs no limit of their variance, which costs more than the bound itself while
few events are expected. Which bound is used, and at which rate, follows from the variance that the scores predict, the
mean of ``s (1 - s)``. That depends on the rows, so everything that its expectation may ask for is computed, and the
largest reported. Statements and proofs: docs/theory/1-upper-bound.md, 1.5.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from calibrant.distributions.mean_limits import BERRY_ESSEEN, bernstein_rate, chernoff_limit, psi

# The bet is used while the error of Berry and Esseen's theorem is more than this share of delta, at the variance
# predicted: where both bounds are about as wide.
_SHARE = 0.8
# Share of delta spent on the limits of the expectation of the predicted variance.
_SPENT = 0.01
# Share of delta that makes no difference: less than half of its last digit.
_NOTHING = 1e-16
# Up to so many events, and above this rate, one rate serves: limits of their number are too wide to know a better one.
_LEAST, _LARGEST_RATE = 4.0, 0.75
# With fewer rows, or a delta so large that the border is below so many events, those limits cost more than bets gain.
_FEWEST_ROWS, _LEAST_BORDER = 300, 30.0

# Events for which the rate of each bet is best, over those predicted, and its share of delta. The second costs next to
# nothing, and keeps the bound small where there are many more events than predicted.
_BETS = ((1.0, 0.95), (8.0, 0.05))


class Bet(NamedTuple):
    """A bet at the rates that suit the lowest and highest expectation."""

    rates: tuple[float, ...]
    delta: float


class Choice(NamedTuple):
    """Bounds of which the largest is reported: the smallest of the bets, if any, and that by moments, if at all."""

    bets: tuple[Bet, ...]
    spent: float | None  # share of delta that the bound by moments must do without; None if it is not used


def choose_bound(n: float, variance: float, delta: float, *, most: float = 1000.0) -> Choice:
    """Choose by the number of rows and the mean of ``s (1 - s)`` alone; with more than `most` events never a bet."""
    left = _SHARE * delta - math.prod(BERRY_ESSEEN) / math.sqrt(n)
    border = min(most, (BERRY_ESSEEN[0] / left) ** 2 if left > 0.0 else math.inf)
    if n < _FEWEST_ROWS or border < _LEAST_BORDER:
        return Choice((), 0.0)
    border /= n
    if border < variance and _limits(n, variance, _NOTHING * delta)[0] > _limits(n, border, _NOTHING * delta)[1]:
        return Choice((), 0.0)
    low, high = _limits(n, variance, 0.5 * _SPENT * delta)
    bets = []
    for events, share in _BETS if low <= border else ():
        level = (1.0 - _SPENT) * share * delta
        rates = (_rate(events * max(_LEAST, n * each), level) for each in (low, min(high, border)))
        bets.append(Bet(tuple(rates), level))
    return Choice(tuple(bets), None if high <= border else 0.5 * _SPENT)


def _limits(n: float, variance: float, delta: float) -> tuple[float, float]:
    """Limits of the expectation of a mean of terms in [0, 1/4], each of which fails with probability delta."""
    high = chernoff_limit(4.0 * variance, n, delta)
    low = 1.0 - chernoff_limit(1.0 - 4.0 * variance, n, delta)
    return float(low) / 4.0, float(high) / 4.0


def _rate(events: float, delta: float) -> float:
    return min(_LARGEST_RATE, bernstein_rate(math.sqrt(-2.0 * math.log(delta) / events)))


def betting_width(n: float, squares: float, choice: Choice) -> float:
    """Most that the bets chosen are above the mean of n terms with this mean of squares."""

    def width(rate: float, delta: float) -> float:
        return (psi(rate) * n * squares - math.log(delta)) / (rate * n)

    return smallest_bet(choice, width)


def smallest_bet(choice: Choice, bound: Callable[[float, float], float]) -> float:
    """Bound by the bets chosen, from that by one of them at a rate and a delta."""
    return min(max(bound(rate, bet.delta) for rate in bet.rates) for bet in choice.bets)
