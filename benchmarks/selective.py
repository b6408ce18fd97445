"""Which share of the cases each rule certifies for decisions without review, and how often it is wrong.

    python -m benchmarks.selective --rows 1000 3000 20000 --targets 0.05

draws samples of 13 populations and prints, for each rule, the mean over populations of the share that is certified,
relative to the largest share whose risk is within the target, and in brackets the share of samples in which the
certified cases have a larger risk, in the population where this happens most. `--details` adds one line for each
population.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.stats import binom

from calibrant.distributions.binomial import rows_without_error, walk_boundary

Array = np.ndarray[Any, Any]
Rule = Callable[[Array, Array], Array]  # errors and whether a cut-off may be here, by rank -> rows that are certified

DELTA = 0.05
GRID = 100_000  # cells of the population in which risk is averaged
STARTS = 8
AT_ONCE = 3_000_000  # rows that are simulated at a time
SAMPLES = {200: 10_000, 1000: 10_000, 3000: 5000, 20000: 2000}
OURS = "walk boundary (calibrant)"


@dataclass(frozen=True)
class World:
    """A population: the rate of errors by share of the cases from the top, and where scores are few, their shares."""

    name: str
    rate: Callable[[Array], Array]
    values: tuple[float, ...] | None = None  # cumulative shares of the distinct scores
    level_only: bool = False  # whether it counts for wrong statements only

    @cached_property
    def risk(self) -> Array:
        """Risk of the cases from the top to each edge of the grid."""
        edges = np.linspace(0.0, 1.0, GRID + 1)
        rate = self.rate(0.5 * (edges[1:] + edges[:-1]))
        return np.append(rate[0], np.cumsum(rate) / np.arange(1, GRID + 1))

    def risk_at(self, share: Array) -> Array:
        """Return the risk of these shares of the cases."""
        return np.interp(share, np.linspace(0.0, 1.0, GRID + 1), self.risk)

    def largest_share(self, target: float) -> float:
        """Return the largest share of the cases whose risk is within the target."""
        shares = np.linspace(0.0, 1.0, GRID + 1)[1:] if self.values is None else np.array(self.values)
        within = shares[self.risk_at(shares) <= target + 1e-9]
        return float(within[-1]) if len(within) else 0.0

    def draw(self, n: int, samples: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        """Draw rows from the top on: share at each row, errors up to it, whether it is the last of its score."""
        share = np.sort(rng.uniform(size=(samples, n)), axis=1)
        errors = np.cumsum(rng.uniform(size=(samples, n)) < self.rate(share), axis=1, dtype=np.int32)
        ends = np.ones((samples, n), bool)
        if self.values is not None:
            value = np.searchsorted(self.values, share).clip(0, len(self.values) - 1)
            share = np.array(self.values)[value]
            ends[:, :-1] = value[:, :-1] != value[:, 1:]
        return share, errors, ends


def steps(ends: tuple[float, ...], rates: tuple[float, ...]) -> Callable[[Array], Array]:
    return lambda u: np.array(rates)[np.searchsorted(ends, u).clip(0, len(rates) - 1)]


def few_values(name: str, ends: tuple[float, ...], rates: tuple[float, ...]) -> World:
    return World(name, steps(ends, rates), ends)


def worlds(target: float) -> list[World]:
    """Return the populations; the last two, made for this target, are the least favourable ones."""
    zeros = 0.5 * (1.0 - target)
    return [
        World("rate .6 u", lambda u: 0.6 * u),
        World("rate .3 u", lambda u: 0.3 * u),
        World("rate .03 + .1 u", lambda u: 0.03 + 0.1 * u),
        World("rate .5 u^3", lambda u: 0.5 * u**3),
        World("noisy top: .2 in 2%, then .01 + .08 u", lambda u: np.where(u < 0.02, 0.2, 0.01 + 0.08 * u)),
        World("U: .10, .01, .30", steps((0.1, 0.6, 1.0), (0.10, 0.01, 0.30))),
        World("cliff: .01, .5", steps((0.4, 1.0), (0.01, 0.5))),
        World(".02 everywhere", lambda u: np.full_like(u, 0.02)),
        few_values("five scores", (0.15, 0.45, 0.7, 0.85, 1.0), (0.04, 0.02, 0.06, 0.15, 0.30)),
        few_values("two scores", (0.7, 1.0), (0.035, 0.25)),
        few_values("four scores, wrong at the top", (0.05, 0.4, 0.7, 1.0), (0.15, 0.02, 0.03, 0.2)),
        World("just above the target everywhere", lambda u: np.full_like(u, target + 1e-6), level_only=True),
        World(
            "no error, then at the target from one half on",
            steps((zeros, 0.5, 1.0), (0.0, 1.0, target + 1e-6)),
            level_only=True,
        ),
    ]


def limits(n: int, target: float, level: float) -> Array:
    """For 0 to n rows, most errors that they or fewer show with at most this probability; -1 for too few rows."""
    rows = np.arange(1, n + 1)
    errors = binom.ppf(level, rows, target)
    errors -= binom.cdf(errors, rows, target) > level
    return np.append(-1, errors).astype(np.int64)


def last(passing: Array) -> Array:
    """Last rank that passes in each sample, or 0."""
    return np.where(passing.any(axis=1), passing.shape[1] - np.argmax(passing[:, ::-1], axis=1), 0)


def any_cutoff(allowed: Array) -> Rule:
    """Certify every cut-off with few enough errors."""
    return lambda errors, ends: last((errors <= allowed[1:]) & ends)


def sequence(allowed: Array, start: int) -> Rule:
    """Test one cut-off after the other from so many rows on, and end at the first that fails."""

    def rule(errors: Array, ends: Array) -> Array:
        failing = ends & (errors > allowed[1:])
        failing[:, : start - 1] = False
        before = np.where(failing.any(axis=1), np.argmax(failing, axis=1), failing.shape[1])
        passing = ends & (np.arange(1, failing.shape[1] + 1) <= before[:, None])
        passing[:, : start - 1] = False
        return last(passing)

    return rule


def best_of(rules: list[Rule]) -> Rule:
    return lambda errors, ends: np.max([rule(errors, ends) for rule in rules], axis=0)


def at_ranks(allowed: Array, ranks: Array) -> Rule:
    """Test the last cut-off within each of these numbers of rows."""

    def rule(errors: Array, ends: Array) -> Array:
        cutoff = np.maximum.accumulate(np.where(ends, np.arange(1, errors.shape[1] + 1), 0), axis=1)[:, ranks - 1]
        passing = np.take_along_axis(errors, np.maximum(cutoff - 1, 0), axis=1) <= allowed[cutoff]
        return np.max(np.where(passing, cutoff, 0), axis=1)

    return rule


def bisection(n: int, target: float, delta: float) -> Rule:
    """SGR of Geifman and El-Yaniv: look for the last cut-off that passes by bisection; each look has its share."""
    looks = math.ceil(math.log2(n))
    allowed = limits(n, target, delta / looks)

    def rule(errors: Array, ends: Array) -> Array:
        ranks = np.where(ends, np.arange(1, n + 1), n)
        next_end = np.minimum.accumulate(ranks[:, ::-1], axis=1)[:, ::-1]
        low, high = np.zeros(len(errors), np.int64), np.full(len(errors), n - 1)  # rows that are left out
        best = np.zeros(len(errors), np.int64)
        for _ in range(looks):
            left_out = (low + high + 1) // 2
            rows = np.take_along_axis(next_end, (n - left_out - 1)[:, None], axis=1)[:, 0]
            passing = np.take_along_axis(errors, rows[:, None] - 1, axis=1)[:, 0] <= allowed[rows]
            best = np.where(passing, rows, best)
            low, high = np.where(passing, low, left_out), np.where(passing, left_out, high)
        return best

    return rule


def fallback(n: int, target: float, delta: float) -> Rule:
    """Sequences from several starts; one that has not failed when the next begins adds its share to the next."""
    first = min(n, rows_without_error(target, delta / STARTS))
    starts = np.unique(np.geomspace(first, n, STARTS + 1).astype(int)[:-1])
    bounds = np.append(starts, n + 1)
    allowed = {shares: limits(n, target, delta * shares / len(starts)) for shares in range(1, len(starts) + 1)}

    def rule(errors: Array, ends: Array) -> Array:
        since, best = np.full(len(errors), -1), np.zeros(len(errors), np.int64)  # first start that has not failed
        for j, (begin, end) in enumerate(pairwise(bounds)):
            since = np.where(since < 0, j, since)
            few_enough = np.stack([allowed[shares][begin:end] for shares in range(j + 1, 0, -1)])[since]
            failing = ends[:, begin - 1 : end - 1] & (errors[:, begin - 1 : end - 1] > few_enough)
            before = np.where(failing.any(axis=1), np.argmax(failing, axis=1), end - begin)
            passing = last(ends[:, begin - 1 : end - 1] & (np.arange(end - begin) < before[:, None]))
            best = np.where(passing > 0, begin - 1 + passing, best)
            since = np.where(before < end - begin, -1, since)
        return best

    return rule


def likelihood_ratios(n: int, target: float, delta: float) -> Array:
    """For 0 to n rows, most errors for which a mixture of likelihood ratios against the target reaches 1 / delta."""
    rows = np.arange(n + 1.0)
    rates = target * np.array([0.02, 0.1, 0.25, 0.4, 0.55, 0.7, 0.8, 0.87, 0.93])[:, None]
    log_weights = np.log([0.05, 0.05, 0.1, 0.1, 0.15, 0.2, 0.15, 0.12, 0.08])[:, None]
    low, high = np.full(n + 1, -1), np.floor(target * rows).astype(np.int64) + 1  # the ratio falls with the errors
    while (high - low > 1).any():
        errors = (low + high) // 2
        logs = errors * np.log(rates / target) + (rows - errors) * np.log((1 - rates) / (1 - target))
        passing = np.logaddexp.reduce(log_weights + logs, axis=0) >= -math.log(delta)
        low, high = np.where(passing, errors, low), np.where(passing, high, errors)
    return low


def rules(n: int, target: float, delta: float = DELTA) -> dict[str, Rule]:
    starts = np.unique(np.geomspace(min(n, rows_without_error(target, delta / STARTS)), n, STARTS).astype(int))
    by_start = limits(n, target, delta / len(starts))
    expected = np.floor(target * np.arange(n + 1) - 1.0 + 1e-9).astype(np.int64)
    return {
        OURS: any_cutoff(walk_boundary(n, target, delta).allowed(np.arange(n + 1))),
        "fixed sequence from the top": sequence(limits(n, target, delta), min(n, rows_without_error(target, delta))),
        "eight starts, Bonferroni": best_of([sequence(by_start, int(start)) for start in starts]),
        "eight starts, shares passed on": fallback(n, target, delta),
        "eight cut-offs, Bonferroni": at_ranks(by_start, starts),
        "all ranks, Bonferroni": any_cutoff(limits(n, target, delta / n)),
        "SGR": bisection(n, target, delta),
        "mixture of likelihood ratios": any_cutoff(likelihood_ratios(n, target, delta)),
        "in expectation: K + 1 <= target N": any_cutoff(expected),
        "binomial limit at each rank": any_cutoff(limits(n, target, delta)),
    }


@dataclass(frozen=True)
class Outcome:
    """One rule in one population: share certified relative to the largest, standard error, share of wrong samples."""

    ratio: float
    standard_error: float
    wrong: float


def simulate(n: int, target: float, samples: int, seed: int = 0) -> dict[str, dict[str, Outcome]]:
    """Apply every rule to the same samples of every population."""
    contestants, outcomes = rules(n, target), {}
    for number, world in enumerate(worlds(target)):
        rng, shares = np.random.default_rng([seed, number, n]), {name: [] for name in contestants}
        left = samples
        while left:
            share, errors, ends = world.draw(n, min(left, max(1, AT_ONCE // n)), rng)
            for name, rule in contestants.items():
                rows = rule(errors, ends)
                certified = np.take_along_axis(share, np.maximum(rows - 1, 0)[:, None], axis=1)[:, 0]
                shares[name].append(np.where(rows > 0, certified, 0.0))
            left -= len(share)
        possible = math.nan if world.level_only else world.largest_share(target) or math.nan
        outcomes[world.name] = {name: outcome(np.concatenate(x), world, target, possible) for name, x in shares.items()}
    return outcomes


def outcome(certified: Array, world: World, target: float, possible: float) -> Outcome:
    wrong = (certified > 0) & (world.risk_at(certified) > target + 1e-9)
    error = float(certified.std()) / math.sqrt(len(certified)) / possible
    return Outcome(float(certified.mean()) / possible, error, float(wrong.mean()))


def summary(outcomes: dict[str, dict[str, Outcome]], rule: str) -> tuple[float, float, float]:
    """Mean ratio of a rule over populations where something can be certified, its standard error, most often wrong."""
    of_rule = [by_rule[rule] for by_rule in outcomes.values()]
    ratios = [one for one in of_rule if not math.isnan(one.ratio)]
    error = math.hypot(*(one.standard_error for one in ratios)) / len(ratios)
    return float(np.mean([one.ratio for one in ratios])), error, max(one.wrong for one in of_rule)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[200, 1000, 3000, 20000])
    parser.add_argument("--targets", type=float, nargs="+", default=[0.05])
    parser.add_argument("--samples", type=int, help="for all numbers of rows; fewer for many by default")
    parser.add_argument("--details", action="store_true")
    arguments = parser.parse_args()
    settings = [(n, target) for target in arguments.targets for n in arguments.rows]
    columns = {}
    for n, target in settings:
        begin, samples = time.perf_counter(), arguments.samples or SAMPLES.get(n, 200)
        columns[n, target] = simulate(n, target, samples)
        seconds = time.perf_counter() - begin
        error = max(summary(columns[n, target], rule)[1] for rule in rules(n, target))
        print(f"n = {n:,}, target {target:g}: {samples:,} samples, {seconds:.0f} s; standard error at most {error:.4f}")
        if arguments.details:
            for world, by_rule in columns[n, target].items():
                print(
                    f"  {world}: " + "; ".join(f"{name} {x.ratio:.2f} ({x.wrong:.3f})" for name, x in by_rule.items())
                )
    print("\n| rule | " + " | ".join(f"{n:,} at {100 * target:g}%" for n, target in settings) + " |")
    print("|---|" + "---|" * len(settings))
    for rule in rules(*settings[0]):
        cells = [summary(columns[setting], rule) for setting in settings]
        print(f"| {rule} | " + " | ".join(f"{mean:.3f} ({wrong:.3f})" for mean, _, wrong in cells) + " |")


if __name__ == "__main__":
    main()
