"""The monitor in simulated streams: how often is it wrong, how long does it take, and how many rows does it read?

Streams are drawn side by side. Where other monitors read them too, scores stand on a few levels, which makes what those
compute fast. `--parts` chooses what is simulated.
"""

from __future__ import annotations

import argparse
import copy
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp

from calibrant import Monitor
from calibrant.monitoring.evidence import Evidence
from calibrant.monitoring.families import GroupedRows, log_odds
from calibrant.monitoring.rows import Settings

LEVELS = 40
ROWS = 100_000
CALM = (0, 5_000, 50_000)
Array = np.ndarray[Any, Any]


def expit(z: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-z))


class Peer:
    """Streams of rows on levels of score, each read by a monitor of its own."""

    def __init__(self, levels: Array, streams: int, seed: int = 0) -> None:
        self.levels, self.streams, self.rng = levels, streams, np.random.default_rng(seed)
        self.row, self.last = 0, np.zeros(streams, np.int64)  # `last`: label of the row before

    def copy(self) -> Self:
        """Return the same streams, to be continued otherwise."""
        found = object.__new__(type(self))
        vars(found).update({name: x.copy() if isinstance(x, np.ndarray) else x for name, x in vars(self).items()})
        found.rng = np.random.default_rng(self.row + 1)
        return found

    def counts_of(self, rows: int, draw: Callable[[Any], tuple[Array, Array]]) -> Array:
        """Draw so many rows and count them by stream, label and level."""
        new, where = np.zeros((self.streams, 2, len(self.levels))), np.arange(self.streams)
        for _ in range(rows):
            level, y = draw(self)
            new[where, y, level] += 1.0
            self.row += 1
        return new


class Monitors(Peer):
    """Read by `Monitor` with these settings, of which intervals are known from the start."""

    def __init__(self, levels: Array, streams: int, seed: int = 0, **settings: Any) -> None:
        super().__init__(levels, streams, seed)
        self.monitors = [Monitor(**settings, reference=np.repeat(levels, 25)) for _ in range(streams)]

    def copy(self) -> Self:
        """Return the same streams, to be continued otherwise."""
        found = super().copy()
        found.monitors = copy.deepcopy(self.monitors)
        return found

    def run(self, rows: int, draw: Callable[[Any], tuple[Array, Array]], *, until_all: bool = False) -> Array:
        """Read so many rows and return the first alarm of each stream, counted from now, or 0."""
        first, start = np.zeros(self.streams, np.int64), self.row
        chunk = 1_000 if until_all else 10_000
        while self.row < start + rows and not (until_all and first.all()):
            drawn = []
            for _ in range(min(chunk, start + rows - self.row)):
                level, self.last = draw(self)
                drawn.append((level, self.last))
                self.row += 1
            levels, labels = (np.array(column).T for column in zip(*drawn, strict=True))
            for i, monitor in enumerate(self.monitors):
                if not first[i]:
                    state = monitor.update(labels[i], self.levels[levels[i]])
                    alarms = [row for row in monitor.history().alarms if row > start] if state.alarm else []
                    first[i] = alarms[0] - start if alarms else 0
        return first


def even(streams: Any, rate: Array | None = None) -> tuple[Array, Array]:
    """Draw every level equally often; the rates are the levels unless others are given."""
    level = streams.rng.integers(0, len(streams.levels), streams.streams)
    true = streams.levels if rate is None else rate
    return level, (streams.rng.random(streams.streams) < true[level]).astype(np.int64)


def levels_of(quantile: Callable[[Array], Array], number: int = LEVELS) -> Array:
    """Return levels that stand for a continuous distribution: the middle of each of so many equal parts."""
    return quantile((np.arange(number) + 0.5) / number)


def worlds(streams: int) -> dict[str, tuple[Array, Callable[[Any], tuple[Array, Array]], dict[str, Any]]]:
    """Return calibrated worlds, and worlds at the edge of a tolerance: levels, draw, and settings."""
    from scipy.stats import beta

    uniform = levels_of(lambda u: u)
    rare = levels_of(lambda u: beta.ppf(u, 0.5, 49.5))
    skewed = levels_of(lambda u: beta.ppf(u, 0.7, 1.6))
    exact: dict[str, Any] = {"tolerance": 0.0}

    def chosen(s: Any) -> tuple[Array, Array]:
        """After a positive a score of the upper half comes, else one of the lower half."""
        half = len(s.levels) // 2
        level = s.rng.integers(0, half, s.streams) + half * s.last
        return level, (s.rng.random(s.streams) < s.levels[level]).astype(np.int64)

    def drifting(s: Any) -> tuple[Array, Array]:
        """The scores move from low to high and back every 20,000 rows."""
        centre = 0.5 - 0.4 * math.cos(2 * math.pi * s.row / 20_000)
        level = np.clip((s.rng.normal(centre, 0.15, s.streams) * len(s.levels)).astype(int), 0, len(s.levels) - 1)
        return level, (s.rng.random(s.streams) < s.levels[level]).astype(np.int64)

    def flipping(s: Any) -> tuple[Array, Array]:
        """Rates are above and below the score by the tolerance, in turns of 5,000 rows."""
        return even(s, s.levels + (0.02 if (s.row // 5_000) % 2 else -0.02))

    odds = 1.2
    return {
        "uniform": (uniform, even, exact),
        "1% events": (rare, even, exact),
        "0.01% events": (rare / 100, even, exact),
        "Beta(.7, 1.6)": (skewed, even, exact),
        "one score .5": (np.array([0.5]), even, exact),
        "one score 1e-4": (np.array([1e-4]), even, exact),
        "scores chosen by the last label": (uniform, chosen, exact),
        "scores that drift": (uniform, drifting, exact),
        "tolerance .02, one score": (np.array([0.5]), lambda s: even(s, np.array([0.52])), {"tolerance": 0.02}),
        "tolerance .02, .01 at .03": (np.array([0.01]), lambda s: even(s, np.array([0.03])), {"tolerance": 0.02}),
        "tolerance .02, signs in turns": (uniform[1:-1], flipping, {"tolerance": 0.02}),
        "odds 1.2, all scores": (
            uniform,
            lambda s: even(s, expit(log_odds(s.levels) + math.log(odds))),
            {"odds_tolerance": odds},
        ),
        "odds 1.2, 1% events": (
            rare,
            lambda s: even(s, expit(log_odds(s.levels) + math.log(odds))),
            {"odds_tolerance": odds},
        ),
    }


def false_alarms(streams: int, rows: int, only: list[str], modes: list[str]) -> None:
    """Print the share of streams with an alarm."""
    for name, (levels, draw, settings) in worlds(streams).items():
        if only and name not in only:
            continue
        for mode in modes:
            begin = time.process_time()
            s = Monitors(levels, streams, seed=1, mode=mode, **settings)
            found = s.run(rows, draw) > 0
            print(
                f"{name:34s} {mode:5s} {found.mean():.4f} of {streams} streams of {rows:,} rows"
                f"  ({time.process_time() - begin:.0f} s)",
                flush=True,
            )


class Cusum(Peer):
    """Two-sided charts of likelihood ratios for one shift of the log odds (Steiner et al. 2000), limits simulated."""

    def __init__(self, levels: Array, streams: int, shift: float, seed: int = 0) -> None:
        super().__init__(levels, streams, seed)
        moves = np.array([shift, -shift])[:, None]
        below = np.log1p(levels * np.expm1(moves))
        self.terms = np.stack([-below, moves - below], axis=2).reshape(2, -1)
        self.sums = np.zeros((2, streams))
        self.limit = math.inf

    def run(self, rows: int, draw: Callable[[Any], tuple[Array, Array]], *, until_all: bool = False) -> Array:
        """Read so many rows and return the first alarm of each stream, counted from now, or 0."""
        first, self.highest = np.zeros(self.streams, np.int64), np.zeros(self.streams)
        for i in range(1, rows + 1):
            level, y = draw(self)
            self.sums += self.terms[:, 2 * level + y]
            np.maximum(self.sums, 0.0, out=self.sums)
            top = self.sums.max(axis=0)
            np.maximum(self.highest, top, out=self.highest)
            first[(first == 0) & (top >= self.limit)] = i
            self.row += 1
            if until_all and i % 50 == 0 and first.all():
                break
        return first


class Probcal(Peer):
    """What probcal 0.4.0 computes (its default offset and shape processes, no grades), in batches of 50 rows."""

    batch = 50

    def __init__(self, levels: Array, streams: int, seed: int = 0) -> None:
        super().__init__(levels, streams, seed)
        self.odds = log_odds(levels)
        self.counts = np.zeros((streams, 2, len(levels)))
        self.offset, self.shape, self.slope = np.zeros((3, streams))
        self.slope += 1.0
        self.grid = np.array([s * d for d in (0.1, 0.25, 0.5, 1.0) for s in (-1, 1)])
        self.log_grid = np.zeros((streams, len(self.grid)))
        self.log_plug, self.log_shape = np.zeros((2, streams))

    def _ratio(self, new: Array, moved: Array) -> Array:
        """Log-likelihood ratio of moved log odds of the levels, of shape (streams, levels), on new counts."""
        base = np.logaddexp(0.0, self.odds)
        return (new[:, 1] * (moved - self.odds) - new.sum(axis=1) * (np.logaddexp(0.0, moved) - base)).sum(axis=1)

    def _fit(self) -> None:
        """Newton steps from the last fit towards offset, and intercept with slope, of all rows so far."""
        n, k = self.counts.sum(axis=1), self.counts[:, 1].sum(axis=1)
        known = (k > 0) & (k < n.sum(axis=1))
        for _ in range(3):
            q = expit(self.odds + self.offset[:, None])
            step = (k - (n * q).sum(axis=1)) / np.maximum((n * q * (1 - q)).sum(axis=1), 1e-9)
            self.offset = np.where(known, np.clip(self.offset + np.clip(step, -1, 1), -4, 4), 0.0)
            q = expit(self.shape[:, None] + self.slope[:, None] * self.odds)
            r, v = self.counts[:, 1] - n * q, n * q * (1 - q)
            a, b, c = v.sum(axis=1), (v * self.odds).sum(axis=1), (v * self.odds**2).sum(axis=1)
            u, w, det = r.sum(axis=1), (r * self.odds).sum(axis=1), np.maximum(a * c - b * b, 1e-9)
            self.shape = np.where(known, self.shape + np.clip((c * u - b * w) / det, -1, 1), 0.0)
            self.slope = np.where(known, self.slope + np.clip((a * w - b * u) / det, -0.5, 0.5), 1.0)

    def run(self, rows: int, draw: Callable[[Any], tuple[Array, Array]], *, until_all: bool = False) -> Array:
        """Read so many rows and return the first alarm of each stream, counted from now, or 0."""
        first = np.zeros(self.streams, np.int64)
        for i in range(self.batch, rows + 1, self.batch):
            new = self.counts_of(self.batch, draw)
            if self.counts.any():
                self._fit()
                self.log_plug += self._ratio(new, self.odds + self.offset[:, None])
                self.log_shape += self._ratio(new, self.shape[:, None] + self.slope[:, None] * self.odds)
            for j, d in enumerate(self.grid):
                self.log_grid[:, j] += self._ratio(new, np.broadcast_to(self.odds + d, new[:, 0].shape))
            self.counts += new
            plug, shape = np.exp(np.minimum(self.log_plug, 300)), np.exp(np.minimum(self.log_shape, 300))
            mixture = np.exp(np.minimum(self.log_grid, 300)).mean(axis=1)
            first[(first == 0) & (0.5 * (0.5 * (plug + mixture) + shape) >= 20.0)] = i
            if until_all and first.all():
                break
        return first


class SafeHosmerLemeshow(Peer):
    """A sequential e-test in the manner of Henzi, Puke, Dimitriadis and Ziegel (2023), in batches of 50 rows.

    The factor of a row is the likelihood ratio of an isotonic regression of all earlier batches and of the score, and
    the product starts at the first row. Each level holds 25 further rows whose mean label is its score, so that no fit
    is 0 or 1, and the first batch has factors of 1; of 1/4, 1, 5, 25, 100 and 400, 25 find a shift from the first row
    on the soonest. It is not the test published for one fixed sample, but the product that may be read at any time.
    """

    batch, further = 50, 25.0

    def __init__(self, levels: Array, streams: int, seed: int = 0) -> None:
        super().__init__(levels, streams, seed)
        self.counts = np.tile(self.further * np.stack([1.0 - levels, levels]), (streams, 1, 1))
        self.log_product = np.zeros(streams)

    def _fit(self) -> Array:
        """Return the isotonic regression: the largest over first levels of the least mean over last levels."""
        upto = np.pad(self.counts.cumsum(axis=2), [(0, 0), (0, 0), (1, 0)])
        rows, positives = (x[:, None, 1:] - x[:, :-1, None] for x in (upto.sum(axis=1), upto[:, 1]))
        ordered = np.triu(np.ones(rows.shape[1:], bool))
        mean = np.divide(positives, rows, out=np.full(rows.shape, math.inf), where=ordered)
        least = np.minimum.accumulate(mean[:, :, ::-1], axis=2)[:, :, ::-1]
        return np.where(ordered, least, -math.inf).max(axis=1)

    def run(self, rows: int, draw: Callable[[Any], tuple[Array, Array]], *, until_all: bool = False) -> Array:
        """Read so many rows and return the first alarm of each stream, counted from now, or 0."""
        first = np.zeros(self.streams, np.int64)
        for i in range(self.batch, rows + 1, self.batch):
            fit = self._fit()
            new = self.counts_of(self.batch, draw)
            ratios = np.log(np.stack([(1.0 - fit) / (1.0 - self.levels), fit / self.levels], axis=1))
            self.log_product += (new * ratios).sum(axis=(1, 2))
            self.counts += new
            first[(first == 0) & (self.log_product >= math.log(20.0))] = i
            if until_all and first.all():
                break
        return first


class PitMonitor(Peer):
    """What PITMonitor computes, with 100 bins, of randomised probability integral transforms; exact at every row.

    Ranks among all earlier transforms are independent and uniform as long as nothing changes, whether scores are right
    or not. The histogram of earlier ranks, each bin with one further rank, is the density of the next; starts of a
    change have weights 1 / (t (t + 1)).
    """

    bins, chunk = 100, 250

    def __init__(self, levels: Array, streams: int, seed: int = 0) -> None:
        super().__init__(levels, streams, seed)
        self.past = np.zeros((streams, 0))  # transforms, sorted
        self.counts = np.ones((streams, self.bins))
        self.evidence = np.zeros(streams)

    def _transforms(self, rows: int, draw: Callable[[Any], tuple[Array, Array]]) -> Array:
        found = np.empty((self.streams, rows))
        for i in range(rows):
            level, y = draw(self)
            score, uniform = self.levels[level], self.rng.random(self.streams)
            found[:, i] = np.where(y > 0, 1.0 - score + score * uniform, (1.0 - score) * uniform)
            self.row += 1
        return found

    def _densities(self, new: Array) -> Array:
        """Return the factors of rows."""
        rows, found = new.shape[1], np.empty_like(new)
        before, numbers = np.tri(rows, k=-1, dtype=bool), self.past.shape[1] + np.arange(rows)
        for factors, past, counts, value in zip(found, self.past, self.counts, new, strict=True):
            rank = np.searchsorted(past, value) + (before & (value < value[:, None])).sum(axis=1)
            place = (self.bins * (rank + self.rng.random(rows)) / (numbers + 1)).astype(np.uint8)
            known = counts[place] + (before & (place == place[:, None])).sum(axis=1)
            factors[:] = self.bins * known / (numbers + self.bins)
            np.add.at(counts, place, 1.0)
        self.past = np.sort(np.concatenate([self.past, np.sort(new, axis=1)], axis=1), axis=1, kind="stable")
        return found

    def run(self, rows: int, draw: Callable[[Any], tuple[Array, Array]], *, until_all: bool = False) -> Array:
        """Read so many rows and return the first alarm of each stream, counted from now, or 0."""
        first = np.zeros(self.streams, np.int64)
        for begin in range(0, rows, self.chunk):
            number = self.past.shape[1]
            factors = self._densities(self._transforms(min(self.chunk, rows - begin), draw))
            for i, factor in enumerate(factors.T, start=1):
                t = number + i
                self.evidence = np.minimum(factor * (self.evidence + 1.0 / (t * (t + 1))), 1e200)
                first[(first == 0) & (self.evidence >= 20.0)] = begin + i
            if until_all and first.all():
                break
        return first


def changes(levels: Array, *, rare: bool) -> dict[str, Callable[[Any], tuple[Array, Array]]]:
    """Return ways in which calibration is lost."""
    z = log_odds(levels)
    if rare:
        centre = z.mean()
        return {
            "shift .5": lambda s: even(s, expit(z + 0.5)),
            "slope .7": lambda s: even(s, expit(centre + 0.7 * (z - centre))),
        }
    bump = levels + np.where((levels > 0.4) & (levels < 0.6), 0.1, 0.0)

    def drift(s: Any) -> tuple[Array, Array]:
        return even(s, expit(z + 0.3 * min(1.0, (s.row - s.begin) / 5_000)))

    return {
        "shift .3": lambda s: even(s, expit(z + 0.3)),
        "slope .7": lambda s: even(s, expit(0.7 * z)),
        "bump .4 to .6": lambda s: even(s, bump),
        "drift to .3": drift,
    }


def contestants(levels: Array, streams: int, shift: float, only: list[str]) -> dict[str, Callable[[], Any]]:
    """Return what is timed on each stream, as constructors."""

    def monitor(**settings: Any) -> Callable[[], Monitors]:
        return lambda: Monitors(levels, streams, seed=3, **settings)

    def chart(size: float) -> Callable[[], Cusum]:
        def made() -> Cusum:
            calm = Cusum(levels, 1_000, size, seed=4)
            calm.run(ROWS, even)
            found = Cusum(levels, streams, size, seed=3)
            found.limit = float(np.quantile(calm.highest, 0.95))
            return found

        return made

    every: dict[str, Callable[[], Any]] = {
        "total": monitor(tolerance=0.0),
        "rate": monitor(tolerance=0.0, mode="rate"),
        "rate, expect=shift": monitor(tolerance=0.0, mode="rate", expect="shift"),
        f"rate, expect={shift:g}": monitor(tolerance=0.0, mode="rate", expect=shift),
        "odds 1.1, total": monitor(odds_tolerance=1.1),
        "tolerance .01, total": monitor(tolerance=0.01),
        "probcal": lambda: Probcal(levels, streams, seed=3),
        "safe Hosmer-Lemeshow": lambda: SafeHosmerLemeshow(levels, streams, seed=3),
        "PITMonitor": lambda: PitMonitor(levels, streams, seed=3),
        "CUSUM odds x2": chart(math.log(2.0)),
        f"CUSUM +-{shift:g}": chart(shift),
    }
    return {name: make for name, make in every.items() if not only or name in only}


def delays(streams: int, only: list[str]) -> None:
    """Print median and 90% quantile of the rows from the change to the alarm, over streams without an alarm before."""
    from scipy.stats import beta

    uniform, rare = levels_of(lambda u: u), levels_of(lambda u: beta.ppf(u, 0.5, 49.5))
    for levels, shift in ((uniform, 0.3), (rare, 0.5)):
        limit = 12_000 if levels is uniform else 20_000
        for name, make in contestants(levels, streams, shift, only).items():
            begin = time.process_time()
            stream, early, calm_so_far = make(), np.zeros(streams, bool), 0
            for calm in CALM:
                early |= stream.run(calm - calm_so_far, even) > 0
                calm_so_far = calm
                for change, draw in changes(levels, rare=levels is rare).items():
                    after = stream.copy()
                    after.begin = after.row
                    found = after.run(limit, draw, until_all=True)[~early].astype(float)
                    found[found == 0] = math.inf
                    half, most = np.quantile(found, [0.5, 0.9], method="higher")
                    print(f"{name:22s} calm {calm:6,d} {change:14s} {half:6.0f} ({most:.0f})", flush=True)
            print(f"    {time.process_time() - begin:.0f} s of processor time", flush=True)


def default_arguments(streams: int, rows: int, modes: list[str]) -> None:
    """Print false alarms with continuous scores and intervals learned from the first of them."""
    for mode in modes:
        rng, alarms = np.random.default_rng(12), 0
        for _ in range(streams):
            score = rng.uniform(size=rows)
            alarms += Monitor(0.0, mode=mode).update(rng.uniform(size=rows) < score, score).alarm
        print(f"{mode:5s} {alarms / streams:.4f} of {streams} streams of {rows:,} rows", flush=True)


def late_labels(streams: int, rows: int, modes: list[str]) -> None:
    """Print false alarms where labels come late and rows are read as they come, or at a fixed age."""
    for mode in modes:
        rng, found = np.random.default_rng(7), {}
        for _ in range(streams):
            score = rng.uniform(size=rows)
            y = rng.uniform(size=rows) < score
            chance = rng.exponential(size=rows)
            arrival = {
                "in order": np.zeros(rows),
                "delay 1,000 on average": 1_000 * chance,
                "delay grows with the score": 2_000 * score * chance,
                "positives after 800, negatives after 1,200": np.where(y, 800, 1_200) * chance,
                "positives at once, negatives after 1,000": np.where(y, 0, 1_000),
            }
            for name, delay in arrival.items():
                order = np.argsort(np.arange(rows) + delay, kind="stable")
                # Where nearly every stream has an alarm, its first rows show it.
                part = order[:20_000] if name.startswith("positives") else order
                monitor = Monitor(tolerance=0.0, mode=mode, delay="independent")
                found.setdefault(name, []).append(monitor.update(y[part], score[part], time=part).alarm)
            monitor = Monitor(tolerance=0.0, mode=mode, maturity=1_500)
            state = monitor.update(y.astype(float), score, time=np.arange(rows))
            found.setdefault("every row at age 1,500", []).append(state.alarm)
        for name, alarms in found.items():
            print(f"{mode:5s} {name:44s} {np.mean(alarms):.4f} of {streams} streams of {rows:,} rows", flush=True)


def blocks(streams: int, rows: int, modes: list[str]) -> None:
    """Print false alarms where the rows of a block of 50 depend on each other."""
    size, calm = 50, 20_000
    block = np.arange(rows) // size
    for mode in modes:
        rng, found = np.random.default_rng(8), {}
        for _ in range(streams):
            score = rng.uniform(size=rows)
            shared = rng.uniform(size=rows // size)[block]
            copied = rng.uniform(size=rows) < math.sqrt(3 / (size - 1))  # design effect 4
            worlds = {
                "one uniform per block": shared,
                "design effect 4": np.where(copied, shared, rng.uniform(size=rows)),
            }
            for name, uniform in worlds.items():
                y = uniform < score
                rowwise = Monitor(tolerance=0.0, mode=mode).update(y[:calm], score[:calm]).alarm
                blockwise = Monitor(tolerance=0.0, mode=mode, blocks=True).update(y, score, block=block).alarm
                found.setdefault(f"{name}, rows, first {calm:,}", []).append(rowwise)
                found.setdefault(f"{name}, blocks", []).append(blockwise)
        for name, alarms in found.items():
            print(f"{mode:5s} {name:44s} {np.mean(alarms):.4f} of {streams} streams of {rows:,} rows", flush=True)
    rng, delay = np.random.default_rng(8), {"rows": [], "blocks": []}
    for _ in range(streams // 4):
        score = rng.uniform(size=calm)
        y = rng.uniform(size=calm) < expit(log_odds(score) + 0.3)
        for name, monitor in (("rows", Monitor(0.0)), ("blocks", Monitor(0.0, blocks=True))):
            state = monitor.update(y, score, block=block[:calm] if name == "blocks" else None)
            delay[name].append(state.alarm_row or calm)
    for name, found_rows in delay.items():
        print(f"rows until a shift of .3 is found, {name}: {np.median(found_rows):.0f}", flush=True)


def wrong_blocks(streams: int) -> None:
    """Print false alarms, of right scores, where blocks are as long as their labels say or scored by them."""
    customers, months = 2_000, 12
    where = np.repeat(np.arange(customers), months).reshape(customers, months)

    def until_event(rng: Any) -> tuple[Array, Array, Array]:
        """A row a month until the event."""
        score = rng.uniform(0.05, 0.3, (customers, months))
        y = rng.uniform(size=score.shape) < score
        last = np.where(y.any(axis=1), y.argmax(axis=1), months - 1)
        kept = np.arange(months) <= last[:, None]
        return y[kept], score[kept], where[kept]

    def repaired(rng: Any) -> tuple[Array, Array, Array]:
        """The score of a machine falls after its first failure."""
        y, score = np.zeros((customers, months), bool), np.full((customers, months), 0.3)
        for i in range(months):
            score[:, i] = np.where(y.any(axis=1), 0.05, 0.3)
            y[:, i] = rng.uniform(size=customers) < score[:, i]
        return y.ravel(), score.ravel(), where.ravel()

    for draw in (until_event, repaired):
        rng, as_blocks, as_rows = np.random.default_rng(20), 0, 0
        for _ in range(streams // 40):
            y, score, block = draw(rng)
            as_blocks += Monitor(0.0, blocks=True).update(y, score, block=block).alarm
        for _ in range(streams // 2):
            y, score, _ = draw(rng)
            as_rows += Monitor(0.0).update(y, score).alarm
        print(f"{draw.__name__}: {as_blocks} of {streams // 40} as blocks, {as_rows} of {streams // 2} as rows")


def diagnoses(streams: int) -> None:
    """Print how often the set of first rows holds the true one at the alarm, its reach, and which repair is named."""
    levels, calm, step = levels_of(lambda u: u), 5_000, 250
    z = log_odds(levels)
    rates = {
        "shift .3": expit(z + 0.3),
        "shift .6": expit(z + 0.6),
        "slope .7": expit(0.7 * z),
        "bump .4 to .6": levels + np.where((levels > 0.4) & (levels < 0.6), 0.1, 0.0),
    }
    rng = np.random.default_rng(9)
    for settings in ({"tolerance": 0.0}, {"tolerance": 0.01}, {"odds_tolerance": 1.1}):
        for name, rate in rates.items():
            found = []
            for _ in range(streams):
                monitor = Monitor(**settings)
                level = rng.integers(0, LEVELS, calm + 20_000)
                y = rng.uniform(size=len(level)) < np.where(np.arange(len(level)) < calm, levels[level], rate[level])
                state, at = monitor.update(y[:calm], levels[level[:calm]]), calm
                while not state.alarm and at < len(level):
                    state, at = monitor.update(y[at : at + step], levels[level[at : at + step]]), at + step
                if state.alarm and state.alarm_row > calm:
                    d = state.departure
                    held = d.row_lower <= calm + 1 <= d.row_upper
                    reach = (calm + 1 - d.row_lower, d.row_upper - calm - 1)
                    found.append((held, abs(d.row - calm - 1), *reach, d.repair))
            held, away, before, after, repair = zip(*found, strict=True)
            named = {kind: repair.count(kind) for kind in ("shift", "slope", "refit")}
            print(
                f"{settings} {name:14s} {len(found)} alarms, held {np.mean(held):.3f}, estimate off by "
                f"{np.median(away):.0f}, reach {np.median(before):.0f} before, {np.median(after):.0f} after, {named}",
                flush=True,
            )


def first_rows(streams: int) -> None:
    """Print the reach, at the alarm, of sets of first rows that hold the true one under a strong assumption.

    If every score is right before the change and exactly one component is right after it, the row and the component
    (j, k) of the change have, with R(j, k) the product of factors from row j on, R(j, k) >= a / 4 max_i R(i, k) and
    R(j, k) >= a / 2 M with probability 1 - a; and so they do with the mean over components of R(j, .) in place of M.
    """
    calm, rng, alpha = 5_000, np.random.default_rng(13), 0.05
    z = [lambda z: z + 0.3, lambda z: z + 0.6, lambda z: 0.7 * z]
    for name, moved in zip(("shift .3", "shift .6", "slope .7"), z, strict=True):
        lower: dict[str, list[int]] = {"M": [], "mean over components": []}
        upper: dict[str, list[int]] = {"M": [], "mean over components": []}
        for _ in range(streams):
            score = rng.uniform(size=calm + 15_000)
            rate = np.where(np.arange(len(score)) < calm, score, expit(moved(log_odds(score))))
            y = (rng.uniform(size=len(score)) < rate).astype(float)
            evidence = Evidence(Settings(tolerance=0.0), np.linspace(0.001, 0.999, 999))
            evidence.read(y, score)
            if not evidence.alarms or evidence.alarms[0] <= calm:
                continue
            n = evidence.alarms[0]
            single = GroupedRows(y[None, :n], score[None, :n], evidence.cells(score[:n])[:, None])
            log_factors = np.log(evidence.family.growth(single).product)
            r = np.cumsum(log_factors[::-1], axis=0)[::-1]
            likely = r >= math.log(alpha / 4) + r.max(axis=0)
            mean = logsumexp(r, axis=1, b=evidence.family.weights)[:, None]
            for kind, least in (("M", math.log(evidence.value)), ("mean over components", mean)):
                held = np.flatnonzero((likely & (r >= math.log(alpha / 2) + least)).any(axis=1))
                lower[kind].append(held[0] + 1)
                upper[kind].append(n - 1 - held[-1])
        for kind, first in lower.items():
            print(
                f"{name}, {kind}: {np.mean(np.array(first) == 1):.2f} of {len(first)} sets begin with row 1; they end "
                f"{np.median(upper[kind]):.0f} rows before that of the alarm",
                flush=True,
            )


def speed(rows: int) -> None:
    """Print rows a second in batches of 10,000, by the median and the fastest batch, and the size of the state."""
    rng, batch = np.random.default_rng(10), 10_000
    for settings in (
        {"tolerance": 0.0},
        {"odds_tolerance": 1.1},
        {"tolerance": 0.02},
        {"tolerance": 0.02, "blocks": True},
    ):
        monitor, taken = Monitor(**settings), []
        for begin in range(0, rows, batch):
            score = rng.uniform(size=batch)
            y = rng.uniform(size=batch) < score
            block = (begin + np.arange(batch)) // 100 if "blocks" in settings else None
            start = time.process_time()
            monitor.update(y, score, block=block)
            taken.append(time.process_time() - start)
        rate, best, size = batch / np.median(taken), batch / min(taken), len(monitor.to_json())
        print(f"{settings} {rate:,.0f} rows a second, at best {best:,.0f}; state {size:,} bytes", flush=True)


def covtype_stream(window: int, folder: Path | None) -> None:
    """Print when a monitor finds a classifier of COVTYPE out of calibration, in the order of the file and shuffled."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    from calibrant.certificates import certify
    from reproductions.datasets import covtype

    data = covtype(folder)
    features = np.column_stack([data.numbers, data.categories])
    rng = np.random.default_rng(11)
    begin, train, tolerance = 15_120, 60_000, 0.02
    orders = {"order of the file": np.arange(begin, len(features)), "shuffled": rng.permutation(len(features))}
    for name, order in orders.items():
        model = HistGradientBoostingClassifier(random_state=0).fit(features[order[:train]], data.label[order[:train]])
        rest = order[train:]
        score, y = model.predict_proba(features[rest])[:, 1], data.label[rest]
        monitor, refuted, errors = Monitor(tolerance), [], []
        for at in range(0, len(rest) - window + 1, window):
            part = slice(at, at + window)
            state = monitor.update(y[part], score[part])
            interval = certify(y[part], score[part], confidence_level=0.975)
            errors.append(interval.estimate)
            if interval.lower_bound > tolerance:
                refuted.append(at + window)
        shown = " ".join(f"{error:.3f}" for error in errors[:12])
        print(f"{name}: {len(rest):,} rows, alarm at row {state.alarm_row}, evidence {state.evidence:.3g}")
        print(f"  {len(refuted)} of {len(errors)} windows of {window:,} refute {tolerance}, at rows {refuted[:4]}")
        print(f"  errors of the first windows {shown}; mean of all {np.mean(errors):.4f}")
        print(state, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parts = ("false", "default", "delay", "late", "blocks", "wrong blocks", "diagnosis", "since", "speed", "covtype")
    parser.add_argument("--parts", nargs="+", choices=parts, default=parts)
    parser.add_argument("--streams", type=int, default=800)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--only", nargs="+", default=[], help="worlds of 'false', or contestants of 'delay'")
    parser.add_argument("--modes", nargs="+", default=["total", "rate"])
    parser.add_argument("--data", type=Path, help="folder with covtype/covtype.data.gz; by default it is fetched")
    chosen = parser.parse_args()
    runs: dict[str, Callable[[], None]] = {
        "false": lambda: false_alarms(chosen.streams, chosen.rows, chosen.only, chosen.modes),
        "default": lambda: default_arguments(chosen.streams, chosen.rows, chosen.modes),
        "delay": lambda: delays(chosen.streams // 2, chosen.only),
        "late": lambda: late_labels(chosen.streams, chosen.rows, chosen.modes),
        "blocks": lambda: blocks(chosen.streams, chosen.rows, chosen.modes),
        "wrong blocks": lambda: wrong_blocks(chosen.streams),
        "diagnosis": lambda: diagnoses(chosen.streams // 5),
        "since": lambda: first_rows(chosen.streams // 8),
        "speed": lambda: speed(10 * chosen.rows),
        "covtype": lambda: covtype_stream(10_000, chosen.data),
    }
    for part in chosen.parts:
        print(f"--- {part}", flush=True)
        runs[part]()


if __name__ == "__main__":
    main()
