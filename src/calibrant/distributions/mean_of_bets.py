"""Lower limits of an error: some draws propose where to look for it, the others bet on what they propose.

What is independent of each other, a row or a cluster, is a draw: it brings X, what a proposed function of a draw is
worth, and a unit e, and the error is at least ``E X / E e``, whatever is proposed. Draws are divided into thirds, each
of which proposes once, and the mean of all bets decides. Statement and proof: docs/theory/2-lower-bound.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from calibrant.distributions.betting import largest_rise
from calibrant.table.pooling import FloatArray, IndexArray, IntArray, NumberArray
from calibrant.table.splitting import part_counts

# Each division into thirds gives three bets. With many draws hardly anything hangs on how they are divided.
_THIRDS, _MANY = 3, 100_000
_DIVISIONS = {False: 11, True: 2}
# The mean over all divisions is nearly one bet of all draws at two thirds of the rate: so the best rate is above that
# of a single bet.
_BOLD = 1.15
_NEARLY_1 = 0.9  # most that a rate times what it is for may be
_DOUBTS = 2.0  # standard errors off the error of an interval before it is compared with others
_POINTS = 4096  # at about so many of its points a walk is read for a proposal
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
class DrawKinds:
    """Kinds of draws: how many there are of each, the largest unit that there can be, and where limits were read off.

    Draws of the kinds `aside`, at which a limit was read off, keep their place without what speaks for an error.
    """

    count: NumberArray
    most: float = 1.0
    aside: IndexArray | None = None

    @cached_property
    def total(self) -> float:
        """Number of draws."""
        return float(self.count.sum())

    def thirds(self, rng: np.random.Generator) -> list[NumberArray]:
        """Divide the draws at random into thirds, several times; return how many of each kind are in each."""
        chances, kind = np.full(_THIRDS, 1.0 / _THIRDS), np.min_scalar_type(int(self.count.max(initial=0)))
        divisions = _DIVISIONS[self.total > _MANY]
        return [third for _ in range(divisions) for third in part_counts(self.count, chances, rng, kind)]

    def bet(self, proposal: Proposal | None, mine: NumberArray, delta: float) -> Wager | None:
        """Bet the other draws on what some, so many of each kind, propose; None if that is nothing."""
        if proposal is None or self.most == math.inf:
            return None
        gain, unit = proposal.gain, proposal.unit
        here, of_kinds = mine[proposal.kinds], self.count[proposal.kinds]

        def of(at: IndexArray) -> FloatArray | float:
            return unit[at] if isinstance(unit, np.ndarray) else unit

        at = np.flatnonzero(here > 0)
        count, worth, proposing = here[at].astype(np.float64), gain[at], float(mine.sum(dtype=np.int64))
        outside, others = proposing - float(count.sum()), self.total - proposing
        won, units = float(np.dot(count, worth)), outside + float((count * of(at)).sum())
        if not (won > 0.0 < min(others, units)):
            return None
        seen = won / units
        square = (float(np.dot(count, np.square(worth - seen * of(at)))) + outside * seen**2) / proposing
        loss = proposal.bottom + 2.0 * seen * self.most
        rate = _BOLD * math.sqrt(-2.0 * math.log(delta) / (others * max(square, loss**2 / self.total)))
        rate = min(rate, _NEARLY_1 / loss)
        if self.aside is not None:
            gain = gain.copy()
            gain[self.aside] = np.minimum(gain[self.aside], 0.0)
        at = np.flatnonzero(here < of_kinds)
        count = (of_kinds[at] - here[at]).astype(np.float64)
        return Wager(rate * gain[at], rate * of(at), count, others - float(count.sum()), rate, 2.0 * seen)

    def limit(self, bets: Sequence[Wager | None], delta: float) -> float:
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

    def steepest(self, mine: NumberArray, sides: Sequence[int]) -> Steepest | None:
        """Interval of keys and side on which the residuals of some draws, so many of each kind, add up to most."""
        weight = mine if self.kind is None else mine[self.kind]
        there = np.flatnonzero(weight > 0)  # far faster than a mask of random rows
        key, residual = self.key[there], self.residual[there]
        values, best = residual * weight[there], None
        ends = np.flatnonzero(np.append(key[1:] != key[:-1], True)[: len(key)])
        step = max(1, len(ends) // _POINTS)
        ends = ends[(len(ends) - 1) % step :: step]
        starts = np.append(0, ends + 1)[: len(ends)]
        blocks = np.add.reduceat(values, starts) if len(ends) else values
        for side in sides:
            rise, first, stop = largest_rise(side * blocks, np.arange(len(blocks)))
            if rise <= 0.0:
                continue
            inside = slice(starts[first], ends[stop - 1] + 1)
            # A large part would win by size alone, a tiny one by chance.
            above_chance = rise - _DOUBTS * math.sqrt(float(np.dot(values[inside], residual[inside])))
            if best is None or above_chance > best.above_chance:
                start = int(np.searchsorted(self.key, key[inside.start]))
                end = int(np.searchsorted(self.key, key[inside.stop - 1], side="right"))
                best = Steepest(above_chance, side, slice(start, end))
        return best

    def kinds(self, interval: Steepest) -> slice | IndexArray:
        """Return the kinds of the rows in an interval."""
        return interval.rows if self.kind is None else self.kind[interval.rows]

    def of_interval(self, interval: Steepest, bottom: float, unit: FloatArray | None = None) -> Proposal:
        """Propose an interval; `unit` is that of each kind, if they differ or several rows belong to one draw."""
        kinds, gain = self.kinds(interval), interval.side * self.residual[interval.rows]
        if unit is None:
            return Proposal(kinds, gain, 1.0, bottom)
        at = np.arange(interval.rows.start, interval.rows.stop) if isinstance(kinds, slice) else kinds
        return Proposal(slice(None), np.bincount(at, gain, len(unit)).astype(np.float64, copy=False), unit, bottom)


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
            interval, known = rows.steepest(mine, sides), best[i]
            if interval is not None and (known is None or interval.above_chance > known[0].above_chance):
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
