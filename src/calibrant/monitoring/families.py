"""The components of one monitor: likelihood ratios of single rows, or bets on the residuals of rows or of blocks.

Both follow the recursion (1) of docs/theory/11-monitor.md over a slice of rows and say what they would hold after it,
without changing: a slice that ends at an alarm is read again up to there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from calibrant.monitoring.components import (
    CELLS,
    DEPTH,
    FARTHEST,
    LOCAL_SHIFTS,
    Cells,
    bet_shares,
    intervals_of,
    likelihood_ratio,
    log_odds,
    moved_and_allowed,
    ratio_moves,
)
from calibrant.monitoring.recursion import advance, lanes_of, one_list
from calibrant.table.pooling import FloatArray

__all__ = ["Bets", "Blocks", "Family", "Ratios", "Rows"]

_LANE = 64  # rows of a lane of an interval
_LEAST_LOSS = 1e-100
_BET_DEPTH = 3  # bets on smaller intervals gain little and would double the time of a row


class Rows(NamedTuple):
    """Rows in their order: labels 0.0 and 1.0, scores, cells, and the mass G after each and before the first."""

    y: FloatArray
    score: FloatArray
    cell: Cells
    mass: FloatArray
    mass_before: float


class Blocks(NamedTuple):
    """Blocks of rows in their order: sums over each cell, which is the last axis, divided by the rows of the block.

    `residual` adds up y - s; `most` is what the sum of s - y, and that of y - s, can reach (middle axis); `slack` how
    far the sum of y may lie above, and below, that of s under the null hypothesis.
    """

    residual: FloatArray
    most: FloatArray
    slack: FloatArray
    mass: FloatArray
    mass_before: float


class Family(Protocol):
    """What holds the evidence of components."""

    values: list[FloatArray]  # W of every component
    largest_slice: int  # of rows read at a time

    @property
    def weights(self) -> list[FloatArray]:
        """Weights of the components, in the shape of `values`."""
        ...

    def place(self, cuts: FloatArray, centre: float, mass: float) -> None:
        """Begin with intervals of scores, once it is known where they are; `mass` is G so far."""

    def follow(self, rows: Any) -> tuple[FloatArray, list[FloatArray]]:
        """Return the weighted sum of W after every row, and W after the last."""

    def by_kind(self) -> dict[str, float]:
        """Return the weighted sums of W by kind of component."""


class Ratios:
    """Likelihood ratios of every row: scores are right, or their log odds are off by at most `slack`.

    `shares` are the weights of shifts, slopes and intervals; with a `size`, shifts have that size.
    """

    largest_slice = 1 << 14

    def __init__(self, shares: tuple[float, float, float], slack: float = 0.0, size: float | None = None) -> None:
        self._shares, self._slack, self._size = shares, slack, size
        self._centre: float | None = None
        self._moves = ratio_moves(shares[:2], slack, 0.0, size)
        self._intervals: list[Any] = []
        signed = [sign * (slack + d) for sign in (1, -1) for d in LOCAL_SHIFTS]
        self._local = moved_and_allowed(np.array(signed)[:, None], slack)
        self.values = [np.zeros((len(self._moves.weights), 1)), np.zeros((len(signed), 0))]

    def place(self, cuts: FloatArray, centre: float, mass: float) -> None:
        """Begin with intervals of scores and slopes about their centre: until now their factors were 1."""
        self._centre = centre
        self._moves = ratio_moves(self._shares[:2], self._slack, centre, self._size)
        self._intervals = intervals_of(cuts) if self._shares[2] else []
        self.values[1] = np.full((len(self.values[1]), len(self._intervals)), mass)

    def follow(self, rows: Rows) -> tuple[FloatArray, list[FloatArray]]:
        """Return the weighted sum of W after every row, and W after the last."""
        everywhere, after = self._on_all(rows)
        where, after_local = self._on_intervals(rows)
        return everywhere + where, [after, after_local]

    def _on_all(self, rows: Rows) -> tuple[FloatArray, FloatArray]:
        moves, n = self._moves, len(rows.y)
        lanes = one_list(n)
        y, score = (np.append(column, 0.0)[lanes.rows] for column in (rows.y, rows.score))
        shifts = moved_and_allowed(moves.shifts[:, None], self._slack)
        known = len(moves.slopes) if self._centre is not None else len(moves.slopes) // 2
        slopes, centres = moves.slopes[:known, None], moves.centres[:known, None]
        odds = np.append(log_odds(rows.score), 0.0)[lanes.rows]
        fixed = len(moves.shifts)

        def factor(i: int, out: FloatArray) -> None:
            likelihood_ratio(y[i], score[i], *shifts, out[:fixed])
            away = odds[i] - centres
            away *= slopes
            np.clip(away, -FARTHEST, FARTHEST, out=away)
            turned = moved_and_allowed(away, self._slack)
            likelihood_ratio(y[i], score[i], *turned, out[fixed : fixed + known])
            out[fixed + known :] = 1.0

        masses = np.append(np.diff(rows.mass, prepend=rows.mass_before), 0.0)[lanes.rows]
        totals, after = advance(self.values[0], factor, masses, lanes, moves.weights)
        return totals.T.ravel()[:n], after

    def _on_intervals(self, rows: Rows) -> tuple[FloatArray, FloatArray]:
        """Follow each interval over the rows in it: elsewhere the factor is 1, and W grows with G."""
        share = self._shares[2]
        if not self._intervals:
            return share * rows.mass, self.values[1]
        n, before = len(rows.y), self.values[1]
        lists = [np.flatnonzero((rows.cell - np.uint8(i.first)) < np.uint8(i.last - i.first)) for i in self._intervals]
        lanes = lanes_of(lists, min(_LANE, n), n)
        beyond = lanes.rows == n
        # Intervals overlap: factors are found once for each row.
        factors = np.ones((len(before), n + 1))
        likelihood_ratio(rows.y, rows.score, *self._local, factors[:, :n])
        mass = np.append(rows.mass, 0.0)[lanes.rows]
        prior = np.empty_like(mass)  # G after the row before it in the same list
        prior[1:], prior[0, 1:] = mass[:-1], mass[-1, :-1]
        starts = lanes.first[:-1][np.diff(lanes.first) > 0]
        prior[0, starts] = rows.mass_before
        masses = mass - prior
        masses[beyond] = 0.0
        equal = np.full(len(before), 1.0 / len(before))

        def factor(i: int, out: FloatArray) -> None:
            np.take(factors, lanes.rows[i], axis=1, out=out, mode="clip")

        totals, after = advance(before, factor, masses, lanes, equal)
        # What an interval has beyond its share of G changes only at its rows.
        weights = share * np.array([i.weight for i in self._intervals])
        excess = (totals - mass) * np.repeat(weights, np.diff(lanes.first))
        initial = weights * (equal @ before - rows.mass_before)
        earlier = np.empty_like(excess)
        earlier[1:], earlier[0, 1:] = excess[:-1], excess[-1, :-1]
        earlier[0, starts] = initial[np.diff(lanes.first) > 0]
        steps = np.bincount(lanes.rows.ravel(), weights=(excess - earlier).ravel(), minlength=n + 1)[:n]
        last = np.array([rows.mass[found[-1]] if len(found) else rows.mass_before for found in lists])
        return initial.sum() + np.cumsum(steps) + share * rows.mass, after + (rows.mass[-1] - last)

    @property
    def weights(self) -> list[FloatArray]:
        """Weights of the components, in the shape of `values`."""
        intervals = self._shares[2] * np.array([i.weight for i in self._intervals])
        return [self._moves.weights[:, None], np.tile(intervals / len(self.values[1]), (len(self.values[1]), 1))]

    def by_kind(self) -> dict[str, float]:
        """Return the weighted sums of W by kind of component."""
        everywhere, where = (weight * value for weight, value in zip(self.weights, self.values, strict=True))
        fixed = len(self._moves.shifts)
        shift, slope = float(everywhere[:fixed].sum()), float(everywhere[fixed:].sum())
        return {"shift": shift, "slope": slope, "interval": float(where.sum())}


class Bets:
    """Bets that residuals of all scores, or of an interval, add up to more than a tolerance, equation (4).

    A bet is made on every row, or on the mean over a block of rows, whose labels may then depend on each other.
    `scores_first` says whether the scores of a block are known when the bet is made, and the null holds given them.
    """

    largest_slice = 1 << 12

    def __init__(self, shares: tuple[float, float], tolerance: float, *, scores_first: bool) -> None:
        self._shares, self._tolerance, self._scores_first = shares, tolerance, scores_first
        self._set_components([])
        self.values = [np.zeros((len(self._weight), 1))]

    def _set_components(self, intervals: list[Any]) -> None:
        """List all bets: those on all scores come first."""
        listed = []
        for where, share in [(None, self._shares[0]), *((i, self._shares[1] * i.weight) for i in intervals)]:
            bets = bet_shares(where)
            first, last = (0, CELLS) if where is None else (where.first, where.last)
            low, high = (0.0, 1.0) if where is None else (max(0.0, where.low), min(1.0, where.high))
            for sign in (1.0, -1.0):
                worst = (high if sign > 0 else 1.0 - low) + self._tolerance
                scale = 0.0 if self._scores_first else 1.0 / worst  # else the scores of a block say what it may lose
                listed += [(first, last, sign, bet, bet * scale, share / 2 / len(bets)) for bet in bets]
        first, last, *columns = (np.array(column) for column in zip(*listed, strict=True))
        self._first, self._last, self._sign, self._bet, self._rate, self._weight = first, last, *columns
        cells = np.arange(CELLS)
        inside = (cells >= first[:, None]) & (cells < last[:, None])
        self._slope = (self._sign * self._rate)[:, None] * inside  # of the factor in the residual, by cell
        self._inside = inside.astype(float)
        self._placed = bool(intervals) or not self._shares[1]

    def place(self, cuts: FloatArray, centre: float, mass: float) -> None:
        """Begin with bets on intervals: until now their factors were 1."""
        everywhere = self.values[0]
        # An interval of a share of the scores up to the tolerance cannot break it.
        depth = DEPTH if self._tolerance == 0.0 else int(np.log2(1.0 / (4.0 * self._tolerance)))
        self._set_components(intervals_of(cuts, max(1, min(_BET_DEPTH, depth))) if self._shares[1] else [])
        self._placed = True
        added = np.full((len(self._weight) - len(everywhere), 1), mass)
        self.values = [np.concatenate([everywhere, added])]

    def follow(self, rows: Rows | Blocks) -> tuple[FloatArray, list[FloatArray]]:
        """Return the weighted sum of W after every row or block, and W after the last."""
        n = len(rows.mass)
        lanes = one_list(n)
        factor = self._of_rows(rows, lanes.rows) if isinstance(rows, Rows) else self._of_blocks(rows, lanes.rows)
        masses = np.append(np.diff(rows.mass, prepend=rows.mass_before), 0.0)[lanes.rows]
        totals, after = advance(self.values[0], factor, masses, lanes, self._weight)
        waiting = 0.0 if self._placed else self._shares[1] * rows.mass
        return totals.T.ravel()[:n] + waiting, [after]

    def _of_rows(self, rows: Rows, place: Any) -> Callable[[int, FloatArray], None]:
        residual = np.append(rows.y - rows.score, 0.0)[place]
        cell = np.append(rows.cell, np.uint8(0))[place]
        elsewhere = np.repeat((1.0 - self._rate * self._tolerance)[:, None], place.shape[1], axis=1)
        beyond = place == len(rows.y)
        ends = beyond.any(axis=1)

        def factor(i: int, out: FloatArray) -> None:
            np.take(self._slope, cell[i], axis=1, out=out, mode="clip")
            out *= residual[i]
            out += elsewhere
            if ends[i]:
                out[:, beyond[i]] = 1.0

        return factor

    def _of_blocks(self, blocks: Blocks, place: Any) -> Callable[[int, FloatArray], None]:
        found, up = self._sign * (blocks.residual @ self._inside.T), self._sign > 0
        slack = np.where(up, *(blocks.slack[:, side] @ self._inside.T for side in (0, 1)))
        if self._scores_first:
            worst = np.where(up, *(blocks.most[:, side] @ self._inside.T for side in (0, 1))) + slack
            # Where nothing can be lost nothing is bet; a bet has an end where floats have theirs.
            rate = np.where(worst > 0.0, self._bet / np.maximum(worst, _LEAST_LOSS), 0.0)
        else:
            slack, rate = np.full_like(found, self._tolerance), self._rate
        factors: FloatArray = np.append(1.0 + rate * (found - slack), np.ones((1, found.shape[1])), axis=0)

        def factor(i: int, out: FloatArray) -> None:
            out[:] = factors[place[i]].T

        return factor

    @property
    def weights(self) -> list[FloatArray]:
        """Weights of the components, in the shape of `values`."""
        return [self._weight[:, None]]

    def by_kind(self) -> dict[str, float]:
        """Return the weighted sums of W by kind of component."""
        weighted = self._weight * self.values[0][:, 0]
        everywhere = int(((self._first == 0) & (self._last == CELLS)).sum())
        return {"all scores": float(weighted[:everywhere].sum()), "interval": float(weighted[everywhere:].sum())}
