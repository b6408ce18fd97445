"""Bets against mean residuals, and lower limits of an error: some draws propose where to look, and others bet."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from calibrant.distributions.mean_limits import bernstein_rate
from calibrant.table.pooling import BoolArray, FloatArray, IndexArray, IntArray, NumberArray
from calibrant.table.seeding import part_counts

# Roots are known up to this fraction of them, and rounded up.
_FINE_RATE = 1e-5
# The first rate is for a mean square of top^2 / sqrt(n), which counts like so many rows: from frequent to rare outcomes
# limits are then within 2% of those with the best fixed rate.
_GUESS = 1.0
_STEPS = 60


def largest_rise(values: FloatArray, ends: IndexArray) -> tuple[float, int, int]:
    """Largest sum over an interval of predictions, at least 0, and the rows ``first <= i < stop`` it is over.

    `ends` are the last rows of each prediction: rows of one prediction are in an interval together.
    """
    after = np.zeros(len(values) + 1)
    np.cumsum(values, out=after[1:])
    if len(ends) < len(values):
        after = np.append(0.0, after[ends + 1])
    rises = after - np.minimum.accumulate(after)
    stop = int(np.argmax(rises))
    first = int(np.argmin(after[: stop + 1]))
    return float(rises[stop]), int(ends[first - 1]) + 1 if first else 0, int(ends[stop - 1]) + 1 if stop else 0


def betting_rate(n: float, square: float, delta: float, top: float) -> float:
    """About the best fixed rate, below ``1 / top``, for n residuals of this mean square."""
    return bernstein_rate(top * math.sqrt(-2.0 * math.log(delta) / (n * square))) / top


def predictable_rates(residual: FloatArray, order: IndexArray, delta: float, top: float) -> FloatArray:
    """Rates below ``1 / top``, each made of the residuals before its row in `order`, a permutation of the rows.

    The order and `top` must not depend on the rows: chosen beforehand, drawn, or made of other rows.
    """
    n = len(residual)
    squares = np.append(0.0, np.cumsum(residual[order[:-1]] ** 2))
    mean = (_GUESS * top**2 / math.sqrt(n) + squares) / (_GUESS + np.arange(n))
    rates = np.empty(n)
    rates[order] = bernstein_rate(top * np.sqrt(-2.0 * math.log(delta) / (n * mean))) / top
    return rates


def concave_root(excess: Callable[[float], tuple[float, float]], low: float, high: float) -> float:
    """Root of a growing concave function, rounded up; it returns its value and slope, negative at `low` alone."""
    (below, slope), above = excess(low), excess(high)[0]
    # Newton's steps from below stay below the root, chords above it.
    while high - low > _FINE_RATE * max(abs(high), abs(low)) and below < 0.0 < above:
        newton, high = low - below / slope, low - below * (high - low) / (above - below)
        low, above = min(newton, high), excess(high)[0]
        below, slope = excess(low)
    return high


# Each division into thirds gives three bets. The fewer rows of all lists, the more divisions, which cost little then.
_THIRDS = 3
_DIVISIONS = ((20_000, 44), (100_000, 36), (math.inf, 3))  # below so many rows
# The mean over all divisions is nearly one bet of all draws at two thirds of the rate: so the best rate is above that
# of a single bet.
_BOLD = 1.15
_NEARLY_1 = 0.9  # most that a rate times what it is for may be
_DOUBTS = 1.0  # standard errors off the error of an interval before it is compared with others
# Where residuals beyond an interval add up to next to nothing, in standard errors, it is short by chance.
_LEEWAY = 0.3
# Terms that add up to less than log(1 + x) for x from -_SMALL on.
_SERIES, _SMALL = ((1, 1.0), (2, -1.0 / 2.0), (3, 1.0 / 3.0), (4, -0.3)), 0.2
_POWERS = np.arange(5)
_CHOICES = np.array([[math.comb(k, i) for i in _POWERS] for k in _POWERS])
_POINTS = 4096  # at about so many of its points a walk is read for a proposal
_BLOCK = 1 << 13  # draws at a time, so that temporaries stay in the cache
_APART = 0.02  # of a bracket, from its ends
_FINE = 1e-4  # limits are known up to this fraction of them, and rounded down


@dataclass(frozen=True, eq=False)
class Proposal:
    """A function X of a draw: what a draw of some kinds is worth, its unit, and a limit of -X known beforehand.

    Draws of other kinds are worth 0, of unit 1.
    """

    kinds: slice | IndexArray
    gain: FloatArray
    unit: FloatArray | float
    bottom: float


@dataclass(frozen=True, eq=False)
class Wager:
    """What other draws bet on a proposal, at a rate that is safe for errors up to a ceiling."""

    gain: FloatArray  # times the rate, as the unit is
    unit: FloatArray | float
    count: FloatArray  # draws of each kind
    idle: float  # draws of gain 0 and unit 1
    rate: float
    ceiling: float

    def log_wealth(self, error: float) -> float:
        """Logarithm of the product of ``1 + rate (X - error e)``."""
        if error > self.ceiling:
            return -math.inf
        factors = self.gain - (error * self.unit - 1.0)
        wealth = float(np.dot(self.count, np.log(factors, out=factors)))
        return wealth + self.idle * math.log1p(-self.rate * error) if self.idle else wealth


@dataclass(frozen=True, eq=False)
class SmallWager:
    """A wager of which no draw wins or loses much, all of unit 1: the sums of powers of ``rate X`` tell what it is."""

    sums: FloatArray
    rate: float
    ceiling: float

    def log_wealth(self, error: float) -> float:
        """Return what the logarithm is at least, by terms of its series."""
        if error > self.ceiling:
            return -math.inf
        shifts = (-self.rate * error) ** _POWERS
        return float(sum(s * np.dot(_CHOICES[k, : k + 1] * shifts[: k + 1], self.sums[k::-1]) for k, s in _SERIES))


Bet = Wager | SmallWager


@dataclass(frozen=True, eq=False)
class DrawKinds:
    """Kinds of draws: how many there are of each, the largest unit that there can be, and where limits were read off.

    Draws of the kinds `aside`, at which a limit was read off, keep their place without what speaks for an error.
    `lists` is how many lists of them make proposals.
    """

    count: NumberArray
    most: float = 1.0
    aside: IndexArray | None = None
    lists: int = 1

    @cached_property
    def total(self) -> float:
        """Number of draws."""
        return float(self.count.sum())

    def thirds(self, rng: np.random.Generator) -> list[NumberArray]:
        """Divide the draws at random into thirds, several times; return how many of each kind are in each."""
        chances, kind = np.full(_THIRDS, 1.0 / _THIRDS), np.min_scalar_type(int(self.count.max(initial=0)))
        rows = self.lists * len(self.count)
        divisions = next(divisions for below, divisions in _DIVISIONS if rows < below)
        return [third for _ in range(divisions) for third in part_counts(self.count, chances, rng, kind)]

    def bet(self, proposal: Proposal | None, mine: NumberArray, delta: float) -> Bet | None:
        """Bet the other draws on what some, so many of each kind, propose; None if that is nothing."""
        if proposal is None or self.most == math.inf:
            return None
        gain, unit = proposal.gain, proposal.unit
        here, of_kinds = mine[proposal.kinds], self.count[proposal.kinds]
        proposing = float(mine.sum(dtype=np.int64))
        others = self.total - proposing
        own = _sums(gain, here)
        units = proposing if not isinstance(unit, np.ndarray) else proposing - own[0] + float(np.dot(here, unit))
        if not (own[1] > 0.0 < min(others, units)):
            return None
        seen = own[1] / units
        if isinstance(unit, np.ndarray):
            square = (float(np.dot(here, np.square(gain - seen * unit))) + (proposing - own[0]) * seen**2) / proposing
        else:
            square = own[2] / proposing - seen**2
        loss = proposal.bottom + 2.0 * seen * self.most
        rate = _BOLD * math.sqrt(-2.0 * math.log(delta) / (others * max(square, loss**2 / self.total)))
        rate = min(rate, _NEARLY_1 / loss)
        if self.aside is not None:
            gain = gain.copy()
            gain[self.aside] = np.minimum(gain[self.aside], 0.0)
        if not isinstance(unit, np.ndarray) and rate * max(loss, float(gain.max(initial=0.0))) <= _SMALL:
            sums = np.array([others, *_sums(gain, of_kinds, here, rate)[1:]])
            return SmallWager(sums, rate, 2.0 * seen)
        at = np.flatnonzero(here < of_kinds)
        count = (of_kinds[at] - here[at]).astype(np.float64)
        some = unit[at] if isinstance(unit, np.ndarray) else unit
        return Wager(rate * gain[at], rate * some, count, others - float(count.sum()), rate, 2.0 * seen)

    def limit(self, bets: Sequence[Bet | None], delta: float) -> float:
        """Return a lower limit of the error: one at which the mean of all bets is just ``1 / delta``, or 0."""
        made = [bet for bet in bets if bet is not None]  # where nothing is proposed the stake is lost
        needed = math.log(max(1, len(bets)) / delta)

        def evidence(error: float) -> float:
            return float(np.logaddexp.reduce([bet.log_wealth(error) for bet in made])) - needed

        if not made or (above := evidence(0.0)) < 0.0:
            return 0.0
        # The ceilings are twice what is seen: the first guess is half of the highest.
        low, high, last, below = 0.0, max(bet.ceiling for bet in made), 0, -above
        # The method of Illinois: chords, for which an end that stays twice counts half; at a ceiling evidence falls.
        while high - low > _FINE * high:
            chord = above / (above - below) if below > -math.inf else 0.5
            middle = low + (high - low) * min(max(chord, _APART), 1.0 - _APART)
            if (value := evidence(middle)) >= 0.0:
                low, above, below, last = middle, value, below * (0.5 if last > 0 else 1.0), 1
            else:
                high, below, above, last = middle, value, above * (0.5 if last < 0 else 1.0), -1
        return low


def _sums(worth: FloatArray, count: NumberArray, less: NumberArray | float = 0.0, rate: float = 0.0) -> list[float]:
    """Sums of the powers 0 to 2 of what so many draws are worth, some left out; with a rate 0 to 4 of what they win."""
    sums = np.zeros(len(_POWERS) if rate else 3)
    for part in (slice(start, start + _BLOCK) for start in range(0, len(worth), _BLOCK)):
        number = count[part] - (less[part] if isinstance(less, np.ndarray) else less)
        each = rate * worth[part] if rate else worth[part]
        won, square = number * each, each * each
        further = (np.dot(won, square), np.dot(won * each, square)) if rate else ()
        sums += number.sum(), won.sum(), np.dot(number, square), *further
    return list(map(float, sums))


def lower_limit(
    draws: DrawKinds,
    delta: float,
    rng: np.random.Generator,
    propose: Callable[[Sequence[NumberArray]], Iterable[Proposal | None]],
) -> float:
    """Lower limit of an error by Theorem 2.1; `propose` says what each of the thirds proposes."""
    thirds = draws.thirds(rng)
    bets = [draws.bet(proposal, mine, delta) for proposal, mine in zip(propose(thirds), thirds, strict=True)]
    return draws.limit(bets, delta)


@dataclass(frozen=True, eq=False)
class KeyedRows:
    """Rows of one list in the order of their keys, with residuals that are positive where predictions are too low.

    `kind` is the kind of draw that each row is of, if rows are not these kinds themselves.
    """

    key: FloatArray
    residual: FloatArray
    kind: IntArray | None = None

    @cached_property
    def signed(self) -> dict[int, FloatArray]:
        """Residuals that are positive on each side."""
        return {1: self.residual, -1: -self.residual}

    def steepest(self, mine: NumberArray, sides: Sequence[int], above: float = -math.inf) -> Steepest | None:
        """Interval of keys and side on which the residuals of some draws, so many of each kind, add up to most.

        None if that is not above chance by more than `above`.
        """
        weight = mine if self.kind is None else mine[self.kind]
        there = np.flatnonzero(weight > 0)  # far faster than a mask of random rows
        key, residual = self.key[there], self.residual[there]
        values, best = residual * weight[there], None
        ends = np.flatnonzero(np.append(key[1:] != key[:-1], True)[: len(key)])
        step = max(1, len(ends) // _POINTS)
        ends = ends[(len(ends) - 1) % step :: step]
        starts = np.append(0, ends + 1)[: len(ends)]
        up = np.append(0.0, np.cumsum(np.add.reduceat(values, starts) if len(ends) else values))
        if up.max() - up.min() <= above:
            return None
        for side in sides:
            walk = side * up
            rises = walk - np.minimum.accumulate(walk)
            stop = int(np.argmax(rises))
            first = int(np.argmin(walk[: stop + 1]))
            if (rise := float(rises[stop])) <= max(0.0, above):
                continue
            inside = slice(starts[first], ends[stop - 1] + 1)
            chance = math.sqrt(float(np.dot(values[inside], residual[inside])))
            # A large part would win by size alone, a tiny one by chance.
            above_chance = rise - _DOUBTS * chance
            if above_chance <= above:
                continue
            above = above_chance
            first -= _leading(walk[:first][::-1] <= walk[first] + _LEEWAY * chance)
            stop += _leading(walk[stop + 1 :] >= walk[stop] - _LEEWAY * chance)
            start = int(np.searchsorted(self.key, key[starts[first]]))
            end = int(np.searchsorted(self.key, key[ends[stop - 1]], side="right"))
            best = Steepest(above_chance, side, slice(start, end))
        return best

    def kinds(self, interval: Steepest) -> slice | IndexArray:
        """Return the kinds of the rows in an interval."""
        return interval.rows if self.kind is None else self.kind[interval.rows]

    def of_interval(self, interval: Steepest, bottom: float, unit: FloatArray | None = None) -> Proposal:
        """Propose an interval; `unit` is that of each kind, if they differ or several rows belong to one draw."""
        kinds, gain = self.kinds(interval), self.signed[interval.side][interval.rows]
        if unit is None:
            return Proposal(kinds, gain, 1.0, bottom)
        at = np.arange(interval.rows.start, interval.rows.stop) if isinstance(kinds, slice) else kinds
        return Proposal(slice(None), np.bincount(at, gain, len(unit)).astype(np.float64, copy=False), unit, bottom)


def _leading(holds: BoolArray) -> int:
    """How many come before the first of which something does not hold."""
    return int(np.argmin(np.append(holds, False)))


class Steepest(NamedTuple):
    """Rows of a list, the side on which errors add up there, and how much of them is more than chance."""

    above_chance: float
    side: int
    rows: slice


def of_one_row(side: int, low: float, high: float) -> float:
    """Limit of how far one outcome of 0 or 1 can be off the other way, with scores between two limits."""
    return high if side > 0 else 1.0 - low


def worst_event(
    lists: Iterable[KeyedRows],
    thirds: Sequence[NumberArray],
    sides: Sequence[int] = (1, -1),
    bottom: Callable[[int, float, float], float] = of_one_row,
    unit: FloatArray | None = None,
) -> list[Proposal | None]:
    """For each third the list, interval and side with most above chance, where outcomes are 0 or 1.

    `bottom` limits ``-X`` by the side and the ends of the interval.
    """
    best: list[tuple[Steepest, KeyedRows] | None] = [None] * len(thirds)
    for rows in lists:
        for i, mine in enumerate(thirds):
            known = best[i]
            interval = rows.steepest(mine, sides, -math.inf if known is None else known[0].above_chance)
            if interval is not None:
                best[i] = interval, rows

    def proposal(interval: Steepest, rows: KeyedRows) -> Proposal:
        ends = rows.key[interval.rows]
        return rows.of_interval(interval, bottom(interval.side, float(ends[0]), float(ends[-1])), unit)

    return [None if each is None else proposal(*each) for each in best]


def all_lists(lists: Iterable[KeyedRows], thirds: Sequence[NumberArray], bottom: float) -> list[Proposal | None]:
    """For each third the sum of what it proposes of each list."""
    sums = [np.zeros(len(mine)) for mine in thirds]
    for rows in lists:
        for gain, mine in zip(sums, thirds, strict=True):
            interval = rows.steepest(mine, (1, -1))
            if interval is not None:
                gain[rows.kinds(interval)] += interval.side * rows.residual[interval.rows]
    return [Proposal(slice(None), gain, 1.0, bottom) for gain in sums]


def bets_width(n: float, square: float, delta: float) -> float:
    """About how far below the error the limit of n draws with this mean square of X lies, for planning."""
    return math.sqrt(-2.0 * math.log(delta) * square / n) - math.log(delta) / (3.0 * n)
