"""The monitor in simulated streams: how often is it wrong, how long does it take, and how many rows does it read?

Streams run side by side, all reading a row at a time. Scores stand on a few levels, so that the factors of every
component at every level and label are found once, by the code of the monitor itself; the prior over the start of a
change and the shift that follows the rows are also its own. `--parts` chooses what is simulated.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from calibrant.monitoring.components import log_odds
from calibrant.monitoring.evidence import Evidence, adaptive_shift
from calibrant.monitoring.families import Rows
from calibrant.monitoring.settings import Settings

LEVELS = 40
ROWS = 100_000
CALM = (0, 5_000, 50_000)
Array = np.ndarray[Any, Any]


def expit(z: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-z))


class Streams:
    """Streams of rows on levels of score, each with its monitor; float32 holds the evidence."""

    def __init__(self, levels: Array, streams: int, settings: Settings, reference: Array, seed: int = 0) -> None:
        self.levels, self.streams, self.settings = levels, streams, settings
        self.rng = np.random.default_rng(seed)
        self.model = Evidence(settings, reference)
        family = self.model.family
        factors = []
        for level in levels:
            for y in (0.0, 1.0):
                score = np.array([level])
                rows = Rows(np.array([y]), score, self.model.cells(score), np.ones(1), 0.0)
                factors.append(np.concatenate([value.ravel() for value in family.follow(rows)[1]]))
        self.factors = np.array(factors, dtype=np.float32)
        self.weights = np.concatenate([weight.ravel() for weight in family.weights]).astype(np.float32)
        self.w = np.zeros((streams, len(self.weights)), np.float32)
        self.positives, self.expected, self.spread, self.log_own = np.zeros((4, streams))
        self.row, self.mass = 0, np.zeros(streams)
        self.last = np.zeros(streams, np.int64)  # label of the row before

    def run(self, rows: int, draw: Callable[[Streams], tuple[Array, Array]], *, until_all: bool = False) -> Array:
        """Read so many rows and return the first alarm of each stream, counted from now, or 0."""
        first, own = np.zeros(self.streams, np.int64), self.model._own_share
        total = self.settings.mode == "total"
        for i in range(1, rows + 1):
            level, y = draw(self)
            score = self.levels[level]
            if own:
                shift = adaptive_shift(
                    np.full(self.streams, float(self.row)), self.positives, self.expected, self.spread
                )
                self.log_own += y * shift - np.log1p(score * np.expm1(shift))
            mass = self.model.mass_at(np.full(self.streams, self.row + 1.0), self.spread)
            self.w += (mass - self.mass).astype(np.float32)[:, None]
            self.w *= self.factors[2 * level + y]
            evidence = self.w @ self.weights
            if total:
                evidence = evidence + own * np.exp(np.minimum(self.log_own, 80.0)) + (1.0 - own - mass)
            first[(first == 0) & (evidence >= self.model.threshold)] = i
            self.mass, self.last = mass, y
            self.row += 1
            self.positives += y
            self.expected += score
            self.spread += score * (1.0 - score)
            if i % 50 == 0:
                np.minimum(self.w, np.float32(1e30), out=self.w)
                if until_all and first.all():
                    break
        return first

    def copy(self) -> Streams:
        """Return the same streams, to be continued otherwise."""
        found = object.__new__(Streams)
        vars(found).update({name: x.copy() if isinstance(x, np.ndarray) else x for name, x in vars(self).items()})
        found.rng = np.random.default_rng(self.row + 1)
        return found


def even(streams: Streams, rate: Array | None = None) -> tuple[Array, Array]:
    """Draw every level equally often; the rates are the levels unless others are given."""
    level = streams.rng.integers(0, len(streams.levels), streams.streams)
    true = streams.levels if rate is None else rate
    return level, (streams.rng.random(streams.streams) < true[level]).astype(np.int64)


def levels_of(quantile: Callable[[Array], Array], number: int = LEVELS) -> Array:
    """Return levels that stand for a continuous distribution: the middle of each of so many equal parts."""
    return quantile((np.arange(number) + 0.5) / number)


def worlds(streams: int) -> dict[str, tuple[Array, Callable[[Streams], tuple[Array, Array]], dict[str, Any]]]:
    """Return calibrated worlds, and worlds at the edge of a tolerance: levels, draw, and settings."""
    from scipy.stats import beta

    uniform = levels_of(lambda u: u)
    rare = levels_of(lambda u: beta.ppf(u, 0.5, 49.5))
    skewed = levels_of(lambda u: beta.ppf(u, 0.7, 1.6))
    exact: dict[str, Any] = {"tolerance": 0.0}

    def chosen(s: Streams) -> tuple[Array, Array]:
        """After a positive a score of the upper half comes, else one of the lower half."""
        half = len(s.levels) // 2
        level = s.rng.integers(0, half, s.streams) + half * s.last
        return level, (s.rng.random(s.streams) < s.levels[level]).astype(np.int64)

    def drifting(s: Streams) -> tuple[Array, Array]:
        """The scores move from low to high and back every 20,000 rows."""
        centre = 0.5 - 0.4 * math.cos(2 * math.pi * s.row / 20_000)
        level = np.clip((s.rng.normal(centre, 0.15, s.streams) * len(s.levels)).astype(int), 0, len(s.levels) - 1)
        return level, (s.rng.random(s.streams) < s.levels[level]).astype(np.int64)

    def flipping(s: Streams) -> tuple[Array, Array]:
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
            s = Streams(levels, streams, Settings(**settings, mode=mode), np.repeat(levels, 25), seed=1)
            found = s.run(rows, draw) > 0
            print(
                f"{name:34s} {mode:5s} {found.mean():.4f} of {streams} streams of {rows:,} rows"
                f"  ({time.process_time() - begin:.0f} s)",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="+", default=["false", "delay", "speed"])
    parser.add_argument("--streams", type=int, default=800)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--worlds", nargs="+", default=[])
    parser.add_argument("--modes", nargs="+", default=["total", "rate"])
    chosen = parser.parse_args()
    if "false" in chosen.parts:
        false_alarms(chosen.streams, chosen.rows, chosen.worlds, chosen.modes)


if __name__ == "__main__":
    main()
