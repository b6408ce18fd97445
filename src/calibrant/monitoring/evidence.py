"""The evidence against the null hypothesis, row by row or block by block, and where it suffices for an alarm."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.errors import DataError
from calibrant.monitoring import families
from calibrant.monitoring.families import CELLS, GROUP, Bets, Blocks, GroupedRows, Grouping, Ratios, log_odds
from calibrant.monitoring.rows import Settings
from calibrant.table.pooling import FloatArray, run_starts
from calibrant.typed_json import Count, Finite, sized, within

LEARNED = 500  # rows whose scores say where the intervals are
# Shares of the mass: on a shift that follows the rows, and on starts at row 1 and evenly up to the horizon. What is
# left never runs out: it is spent as the sum v of `spread_of` grows, as 1 - 1 / (1 + ln(1 + v / 150)).
_OWN, _FIRST, _EVEN = 0.2, 0.3, 0.35
_FIRST_WITHOUT, _EVEN_WITHOUT = 0.4, 0.4
_CLOCK = 150.0
_LARGEST_LOG = 600.0
KEPT_ALARMS = 20
_LARGEST = 1e250  # of a component in a state; beyond it has done its work: there was an alarm
_SIZES = (GROUP, 4, 1)  # of the groups in which rows are followed, the nearer an alarm the smaller
_ABOVE_ROUNDING = 1.0 + 1e-9  # so that a bound for a group also bounds what its rows come to one by one
_SLICE, _CLOSE = 16384, 1024  # rows or blocks that are read at a time; rows, where an alarm may be near


@dataclass(frozen=True)
class Progress:
    """What rows add up to, besides the evidence of components.

    Attributes
    ----------
    rows : int
        Number of rows.
    positives, expected, spread : float
        Sums of y, s and `spread_of`; with blocks the last one only.
    own_shift, log_own : float
        The shift that follows the rows, as it is now, and the logarithm of its evidence.
    mass : float
        G so far.
    """

    rows: Count = 0
    positives: Finite = 0.0
    expected: Finite = 0.0
    spread: Finite = 0.0
    own_shift: Annotated[float, within(-3.0, 3.0)] = 0.0
    log_own: Finite = 0.0
    mass: Finite = 0.0


@dataclass
class StoredEvidence:
    """What the state of a monitor holds of the evidence.

    Attributes
    ----------
    progress : Progress
        What rows add up to.
    value : float
        M after the last row.
    alarms : list of int
        Rows of the latest alarms, counted from 1, of all that there were: `number_of_alarms`.
    first_scores : ndarray
        Those of all rows so far, until they are enough to place the intervals.
    cuts, centre : ndarray or None, float
        Between which scores intervals lie, and about which log odds slopes turn, once that is known.
    components : ndarray
        W of each; rounded in the state.
    """

    progress: Progress = field(default_factory=Progress)
    value: Annotated[float, within(0.0, math.inf)] = 0.0
    alarms: Annotated[list[Count], sized(0, KEPT_ALARMS)] = field(default_factory=list)
    number_of_alarms: Count = 0
    first_scores: Annotated[FloatArray, within(0.0, 1.0)] = field(default_factory=lambda: np.zeros(0))
    cuts: Annotated[FloatArray, within(0.0, 1.0), sized(CELLS - 1, CELLS - 1)] | None = None
    centre: Annotated[float, within(-20.0, 20.0)] = 0.0
    components: Annotated[FloatArray, within(0.0, _LARGEST)] = field(default_factory=lambda: np.zeros(0))


class _Step(NamedTuple):
    """M after groups of rows, or blocks, of a slice, a bound on it on the way, and what holds after the last.

    `last` are the rows, or blocks, of the slice that end each group.
    """

    path: FloatArray
    peak: FloatArray
    last: npt.NDArray[np.int64]
    components: FloatArray
    after: Progress


class Evidence(StoredEvidence):
    """Evidence of all components together; it learns from the first rows where the scores are.

    `placed_at` is the number of rows that were read when the intervals were placed.
    """

    def __init__(
        self, settings: Settings, reference: FloatArray | None = None, *, stored: StoredEvidence | None = None
    ) -> None:
        self.settings, self.threshold = settings, 1.0 / settings.alpha
        self.family, self._own_share = _family(settings)
        if stored is None:
            start = 1.0 if settings.mode == "total" else 0.0
            stored = StoredEvidence(value=start, components=np.zeros(len(self.family.weights)))
        super().__init__(**vars(stored))
        self.placed_at = self.progress.rows
        if self.cuts is not None:
            self.family.place(self.cuts, self.centre)
        if reference is not None:
            self.place(reference)

    def stored(self) -> StoredEvidence:
        """Return what the evidence goes on from."""
        known = {field.name: getattr(self, field.name) for field in fields(StoredEvidence)}
        rounded = [float(f"{value:.12g}") for value in np.minimum(self.components, _LARGEST).tolist()]
        return StoredEvidence(**known | {"components": np.array(rounded)})

    @property
    def stopped(self) -> bool:
        """Whether the one alarm of mode "total" has been given: what comes later is not read for another."""
        return self.settings.mode == "total" and self.number_of_alarms > 0

    def place(self, scores: FloatArray) -> None:
        """Fix the intervals of scores by a sample of them: their components begin as what waited for them is."""
        self.cuts, self.placed_at = families.cut_points(scores), self.progress.rows
        self.centre = float(log_odds(np.clip(scores, 1e-6, 1.0 - 1e-6)).mean())
        self.family.place(self.cuts, self.centre)
        before, waiting = self.components[:-1], self.components[-1]
        self.components = np.append(before, np.full(len(self.family.weights) - len(before), waiting))

    def learn(self, score: FloatArray) -> None:
        """Take notice of scores, after their rows were read, until there are enough to place intervals."""
        if self.cuts is None:
            self.first_scores = np.append(self.first_scores, score)
            if len(self.first_scores) >= LEARNED:
                self.place(self.first_scores)
                self.first_scores = np.zeros(0)

    def cells(self, score: FloatArray) -> Any:
        """Return the cell of each score; 0 until intervals are known."""
        return np.zeros(len(score), np.uint8) if self.cuts is None else families.cell_of(score, self.cuts)

    def read(self, y: FloatArray, score: FloatArray) -> FloatArray:
        """Read rows and return M after each that ends a group, nan between; after the last alarm it stays the same."""
        return self._read_all(len(y), lambda part, size: self._over_rows(y[part], score[part], size), _SIZES, score)

    def read_blocks(self, blocks: Blocks) -> FloatArray:
        """Read complete blocks and return M after each."""
        return self._read_all(len(blocks.rows), lambda part, _: self._over_blocks(blocks, part), (1,), None)

    def _read_all(
        self, n: int, follow: Callable[[slice, int], _Step], sizes: tuple[int, ...], score: FloatArray | None
    ) -> FloatArray:
        """Read slice by slice, in groups of these sizes one after the other as long as there may be an alarm."""
        path, begin, most = np.full(n, math.nan), 0, _SLICE
        while begin < n and not self.stopped:
            learning = score is not None and self.cuts is None
            part = slice(begin, min(n, begin + (LEARNED - len(self.first_scores) if learning else most)))
            step = follow(part, sizes[0])
            alarms = np.flatnonzero(step.peak >= self.threshold)
            if len(alarms) and part.stop - begin > _CLOSE:
                most = _CLOSE
                continue
            if not len(alarms):
                most = min(2 * most, _SLICE)
            for size in sizes[1:]:
                if len(alarms):
                    step = follow(part, size)
                    # What a group may reach on the way says where to look; an alarm takes the evidence itself.
                    alarms = np.flatnonzero((step.path if size == 1 else step.peak) >= self.threshold)
            reached = step.path
            if len(alarms) and begin + alarms[0] + 1 < part.stop:
                part = slice(begin, begin + int(alarms[0]) + 1)
                reached, step = reached[: alarms[0] + 1], follow(part, 1)
            path[begin + step.last] = reached
            self.progress = step.after
            self.components = step.components
            self.value, begin = float(reached[-1]), part.stop
            if len(alarms):
                self.number_of_alarms += 1
                self.alarms = [*self.alarms[1 - KEPT_ALARMS :], self.progress.rows]
                if self.settings.mode == "rate":
                    self.components = np.zeros_like(self.components)
            if learning and score is not None:
                self.learn(score[part])
        path[begin:] = self.value
        return path

    def _over_rows(self, y: FloatArray, score: FloatArray, size: int) -> _Step:
        now, layout = self.progress, Grouping(self.progress.rows, len(y), size)
        label, scores = (np.ascontiguousarray(layout.of(column).T) for column in (y, score))
        rows = GroupedRows(label, scores, layout.of(self.cells(score), CELLS))
        columns = {
            "positives": (now.positives, y),
            "expected": (now.expected, score),
            "spread": (now.spread, spread_of(score, self.settings)),
        }
        sums = {
            name: np.cumsum(np.append(total, layout.of(column).sum(axis=1)))
            for name, (total, column) in columns.items()
        }
        before = {name: column[:-1] for name, column in sums.items()}
        mass = layout.since_start(self.mass_at(layout.first + 1.0, before["spread"]), now.mass)
        path, peak, w = self._follow(rows, mass)
        totals = {name: float(column[-1]) for name, column in sums.items()}
        after = replace(now, rows=now.rows + len(y), mass=float(mass[-1]), **totals)
        if self._own_share:
            shift = layout.since_start(adaptive_shift(layout.first, **before), now.own_shift)
            log_own, log_most = own_evidence(rows, shift, now.log_own)
            path = path + self._own_share * np.exp(np.minimum(log_own, _LARGEST_LOG))
            peak = peak + self._own_share * np.exp(np.minimum(log_most, _LARGEST_LOG))
            after = replace(after, own_shift=float(shift[-1]), log_own=float(log_own[-1]))
        impossible = layout.of(np.where(y > 0.0, score == 0.0, score == 1.0)).any(axis=1)
        path, peak = (self._with_reserve(values, mass, impossible) for values in (path, peak))
        return _Step(path, peak * _ABOVE_ROUNDING, layout.last, w, after)

    def _over_blocks(self, blocks: Blocks, part: slice) -> _Step:
        now, blocks = self.progress, Blocks(*(column[part] for column in blocks))
        rows, spread = np.cumsum(np.append(now.rows, blocks.rows)), np.cumsum(np.append(now.spread, blocks.spread))
        mass = self.mass_at(rows[:-1] + 1.0, spread[:-1])
        path, _, w = self._follow(blocks, mass)
        path = self._with_reserve(path, mass, blocks.impossible)
        after = replace(now, rows=int(rows[-1]), spread=float(spread[-1]), mass=float(mass[-1]))
        return _Step(path, path, np.arange(len(path)), w, after)

    def _follow(self, rows: Any, masses: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Follow the components over groups of rows, or blocks, with so much mass before each."""
        added = np.diff(masses, prepend=self.progress.mass)
        with np.errstate(over="ignore", invalid="ignore"):
            return families.follow(self.components, self.family.growth(rows), added, self.family.weights)

    def _with_reserve(self, path: FloatArray, mass: FloatArray, impossible: npt.NDArray[np.bool_]) -> FloatArray:
        """Add the mass that is not spent, and let a label that its score rules out be proof."""
        if self.settings.mode == "total":
            path = path + (1.0 - self._own_share - mass)
        return path if self.settings.tolerance else np.where(impossible, math.inf, path)

    def mass_at(self, row: FloatArray, spread: FloatArray) -> FloatArray:
        """Return G at rows, counted from 1, where v was so much before them."""
        if self.settings.mode == "rate":
            return row / self.settings.horizon
        first, even = (_FIRST, _EVEN) if self._own_share else (_FIRST_WITHOUT, _EVEN_WITHOUT)
        spent = 1.0 - 1.0 / (1.0 + np.log1p(spread / _CLOCK))
        rest = 1.0 - self._own_share - first - even
        return np.asarray(first + even * np.minimum(row / self.settings.horizon, 1.0) + rest * spent)

    def by_kind(self) -> dict[str, float]:
        """Return the evidence of each kind of component."""
        weighted = self.family.weights * self.components
        evidence = {kind: float(weighted[part].sum()) for kind, part in self.family.kinds.items()}
        if self._own_share:
            evidence["shift"] += self._own_share * math.exp(min(self.progress.log_own, _LARGEST_LOG))
        return evidence


def spread_of(score: FloatArray, settings: Settings) -> FloatArray:
    """Return s (1 - s), which labels vary by; at least what they may vary by at scores of 0 and 1."""
    tolerance = settings.tolerance or 0.0
    return np.maximum(score * (1.0 - score), tolerance * (1.0 - tolerance))


def _family(settings: Settings) -> tuple[Ratios | Bets, float]:
    """Return the components for a null hypothesis, and the share of the shift that follows the rows."""
    expect = settings.expect
    if settings.bets:
        shares = {"shift": (1.0, 0.0), "interval": (0.0, 1.0)}.get(str(expect), (0.5, 0.5))
        return Bets(shares, settings.tolerance or 0.0, scores_first=not settings.tolerance), 0.0
    own = _OWN if settings.exact and settings.mode == "total" and expect in (None, "shift") else 0.0
    kinds: dict[Any, tuple[float, float, float]]
    kinds = {None: (0.6, 0.2, 0.2), "slope": (0.0, 1.0, 0.0), "interval": (0.0, 0.0, 1.0)}
    size = expect if isinstance(expect, float) else None
    return Ratios(kinds.get(expect, (1.0, 0.0, 0.0)), settings.slack, size), own


def adaptive_shift(rows: FloatArray, positives: FloatArray, expected: FloatArray, spread: FloatArray) -> FloatArray:
    """Return the shift of the log odds that the rows before suggest, shrunk as by a normal prior of variance 1/4.

    Mean label and mean score say how far the log odds of the average are off; those of rows are off by more, by the
    ratio of the variance of a label to the mean of s (1 - s).
    """
    mean = (expected + 0.01) / (rows + 0.02)
    observed = (positives + 0.5 * mean) / (rows + 0.5)
    away = log_odds(observed) - log_odds(mean)
    widened = away * mean * (1.0 - mean) * (rows + 0.02) / (spread + 0.01)
    return np.asarray(np.clip(widened * spread / (spread + 4.0), -3.0, 3.0))


def own_evidence(rows: GroupedRows, shift: FloatArray, before: float) -> tuple[FloatArray, FloatArray]:
    """Return the log evidence of a shift that each group has its own of, after the group and at most on the way."""
    odds = np.where(rows.y > 0.0, np.exp(-shift), np.exp(shift))
    families.inverse_ratios(odds, rows.other, 0.0)
    families.accumulate(odds[None])
    begun = np.cumsum(np.append(before, -np.log(odds[-1])))
    return begun[1:], begun[:-1] - np.log(odds.min(axis=0))


_SUMS = 3 + 5 * CELLS


@dataclass(frozen=True)
class Block:
    """A block that waits until a row of another one comes.

    Attributes
    ----------
    name : str
        Its name.
    sums : ndarray
        Its rows, sum of `spread_of` and number of labels that their scores rule out; then by cell the sums of y - s, s
        and 1 - s, and how much more and less the labels may add up to.
    """

    name: str
    sums: Annotated[FloatArray, within(-(2.0**53), 2.0**53), sized(_SUMS, _SUMS)]


def read_blocks(
    y: FloatArray, score: FloatArray, block: npt.NDArray[Any], waiting: Block | None, evidence: Evidence
) -> tuple[FloatArray, FloatArray, FloatArray, Block | None]:
    """Read rows, those of one block together, and return M at each, after all blocks before its own.

    Also returns the mean of y - s over a block where the next begins, 0 elsewhere; 1 and 0 accordingly; and the last
    block, which waits.
    """
    starts = run_starts(block).tolist()
    names = block[starts].tolist()
    # The block that waits comes back if rows of another stand before its own.
    so_far = names if waiting is None or waiting.name == names[0] else [waiting.name, *names]
    if len(set(so_far)) < len(so_far):
        again = next(name for i, name in enumerate(so_far) if name in so_far[:i])
        repetition = f"block {again!r} again after another"
        raise DataError("the rows of a block one after the other", repetition, "sort the rows by block, or by time")
    bounds, path, at = [*starts, len(y)], np.empty(len(y)), 0
    terms, counted = np.zeros((2, len(y)))
    while at < len(names):
        if waiting is not None and waiting.name != names[at]:
            terms[starts[at]], counted[starts[at]] = _mean_residual(waiting.sums[None])[0], 1.0
            evidence.read_blocks(_complete(waiting.sums[None]))
            evidence.learn(np.empty(0))
            waiting = None
        # Until intervals are known every block may be the one after which they are.
        until = at + 1 if evidence.cuts is None else len(names)
        part, inner = slice(bounds[at], bounds[until]), np.diff(bounds[at : until + 1])
        sums = _sums(y[part], score[part], inner, evidence)
        if waiting is not None:
            sums[0] += waiting.sums
        if evidence.cuts is None:
            evidence.first_scores = np.append(evidence.first_scores, score[part])
        before, after = evidence.value, starts[at + 1 : until]
        terms[after], counted[after] = _mean_residual(sums[:-1]), 1.0
        path[part] = np.repeat(np.append(before, evidence.read_blocks(_complete(sums[:-1]))), inner)
        waiting, at = Block(names[until - 1], sums[-1].copy()), until
    return path, terms, counted, waiting


def _sums(y: FloatArray, score: FloatArray, sizes: npt.NDArray[np.intp], evidence: Evidence) -> FloatArray:
    """Add up rows by block and cell."""
    number = len(sizes)
    block = np.repeat(np.arange(number), sizes)
    row_cell = block * CELLS + evidence.cells(score)
    slack = evidence.settings.slack
    above, below = (score / (score + (1.0 - score) * np.exp(-sign * slack)) - score for sign in (1, -1))
    by_cell = [
        np.bincount(row_cell, weights=column, minlength=number * CELLS).reshape(number, CELLS)
        for column in (y - score, score, 1.0 - score, above, -below)
    ]
    impossible = np.where(y > 0.0, score == 0.0, score == 1.0)
    spread = spread_of(score, evidence.settings)
    whole = [np.bincount(block, weights=column, minlength=number) for column in (spread, impossible)]
    return np.column_stack([sizes, *whole, *by_cell]).astype(np.float64)


def _mean_residual(sums: FloatArray) -> FloatArray:
    return np.asarray(sums[:, 3 : 3 + CELLS].sum(axis=1) / sums[:, 0])


def _complete(sums: FloatArray) -> Blocks:
    rows = sums[:, 0]
    by_cell = (sums[:, 3:] / rows[:, None]).reshape(len(rows), 5, CELLS)
    return Blocks(rows, sums[:, 1], sums[:, 2] > 0.0, by_cell[:, 0], by_cell[:, 1:3], by_cell[:, 3:5])
