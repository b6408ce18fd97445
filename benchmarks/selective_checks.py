"""Is a certified selective risk ever above the target more often than stated? Populations that were searched for.

    python -m benchmarks.selective_checks --parts sizes random search variants clusters shares

`random` and `search` compute probabilities exactly, for populations of up to 25 scores; the others simulate. The page
docs/theory/13-selective.md quotes what is printed.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np
from scipy.special import gammaln
from scipy.stats import beta, binom

from benchmarks.selective import DELTA, last, limits, worlds
from calibrant.distributions.binomial import walk_boundary

Array = np.ndarray[Any, Any]

SETTINGS = ((30, 0.2), (60, 0.2), (100, 0.1), (200, 0.1), (200, 0.05))
EQUAL = 1.0 - 1e-12  # a risk at the target counts as one above it: populations just above it have the same probability


class Exact:
    """Probability that a cut-off is certified: the distribution of rows and errors is carried down the scores."""

    def __init__(self, allowed: Array) -> None:
        self.n, self.most = len(allowed) - 1, int(allowed.max())
        self.certified = np.arange(self.most + 1) <= allowed[:, None]
        before, after = np.meshgrid(np.arange(self.n + 1), np.arange(self.n + 1), indexing="ij")
        self.new, self.left = np.maximum(after - before, 0), np.minimum(self.n - after, self.n - before)
        ways = gammaln(self.n - before + 1) - gammaln(self.new + 1) - gammaln(self.left + 1)
        self.log_ways = np.where(after >= before, ways, -np.inf)

    def chance(self, masses: Array, rates: Array, counted: Array) -> float:
        """Return it for the cut-offs that count, given masses and rates of errors of the scores from the top."""
        state, rest, total = np.zeros((self.n + 1, self.most + 1)), 1.0, 0.0  # rows and errors so far
        state[0, 0] = 1.0
        for mass, rate, counts in zip(masses, rates, counted, strict=True):
            for share, wrong in ((mass * (1.0 - rate), False), (mass * rate, True)):
                state = self._after(state, min(share / rest, 1.0 - 1e-15), wrong=wrong) if share > 0 else state
                rest = max(rest - share, 1e-15)
            if counts:
                total += state[self.certified].sum()
                state[self.certified] = 0.0
        return float(total)

    def _after(self, state: Array, share: float, *, wrong: bool) -> Array:
        """Add the rows of one score that are right, or wrong: each of the other rows is one with this probability."""
        chances = np.exp(self.log_ways + self.new * math.log(share) + self.left * math.log1p(-share))
        if not wrong:
            return chances.T @ state
        after = np.zeros_like(state)
        for e in range(self.most + 1):
            after[e:, e:] += np.diagonal(chances, e)[:, None] * state[: self.n + 1 - e, : self.most + 1 - e]
        return after


def above(masses: Array, rates: Array, target: float) -> Array:
    """Tell which cut-offs have a risk at the target or above it."""
    return np.cumsum(masses * rates) >= EQUAL * target * np.cumsum(masses)


def boundary(n: int, target: float, delta: float = DELTA) -> Array:
    return walk_boundary(n, target, delta).allowed(np.arange(n + 1))


def sizes(target: float = 0.05) -> None:
    """What the boundary allows: how much of the probability it uses, its first rows, its level at all rows."""
    for n in (200, 1000, 3000, 20_000, 1_000_000):
        line = walk_boundary(n, target, DELTA)
        alone = float(binom.cdf(line.errors[-1], n, target))
        first = f"first at {line.first} rows without an error"
        print(f"n = {n:,}: crossed with probability {line.crossing:.5f}; {first}; at all rows ", end="")
        print(f"{line.errors[-1]:,} errors, which alone have probability {alone:.5f}")


def random_populations(seed: int = 0, each: int = 1500) -> None:
    """Random populations and boundaries beside the population of the same scores that is at the target everywhere."""
    rng = np.random.default_rng(seed)
    for steps in ((0, 1), (0, 1, 2, 3)):
        tried, worse, most = 0, 0, -1.0
        for n, target in ((5, 0.5), (8, 0.4), (12, 0.3), (20, 0.2), (30, 0.2), (40, 0.1)):
            for _ in range(each):
                rises = np.where(rng.uniform(size=n) < rng.uniform(0.05, 0.6), rng.choice(steps[1:], size=n), 0)
                allowed = np.minimum(np.append(-1, np.cumsum(rises) - 1), np.arange(n + 1) - 1)
                masses = rng.dirichlet(np.full(rng.integers(2, 12), rng.choice([0.3, 1.0, 3.0])))[:-1] + 1e-12
                excess = np.where(rng.uniform(size=len(masses)) < 0.5, 0.0, rng.exponential(0.05, size=len(masses)))
                rates = target + np.diff(excess, prepend=0.0) / masses
                rates = rng.uniform(size=len(masses)) if rng.uniform() < 0.25 else rates.clip(0.0, 1.0)
                counted = above(masses, rates, target)
                if allowed.max() < 0 or not counted.any():
                    continue
                exact, end = Exact(allowed), np.flatnonzero(counted)[-1] + 1
                masses, rates, counted = masses[:end], rates[:end], counted[:end]
                surplus = exact.chance(masses, rates, counted) - exact.chance(masses, 0.0 * rates + target, counted)
                tried, worse, most = tried + 1, worse + (surplus > 1e-10), max(most, surplus)
        print(f"steps of {steps}: {tried:,} populations, {worse} above the flat one, by at most {most:.1e}")


def search(seed: int = 0, tries: int = 4, iterations: int = 300) -> None:
    """Climb to the population in which a boundary is most often wrong."""
    rng = np.random.default_rng(seed)
    for n, target in SETTINGS:
        crossing = walk_boundary(n, target, DELTA).crossing
        for name, allowed in (("boundary", boundary(n, target)), ("limit at each rank", limits(n, target, DELTA))):
            exact, worst, evaluated = Exact(allowed), [], 0
            for scores in (3, 8, 25):
                best = 0.0
                for _ in range(tries):
                    at = np.append(rng.normal(0.0, 1.0, scores + 1), rng.normal(-2.0, 2.0, scores))
                    climbed, step = -1.0, 1.0
                    for _ in range(iterations):
                        moved = at + step * rng.normal(size=at.size) * (rng.uniform(size=at.size) < 0.4)
                        masses = np.exp(moved[: scores + 1])
                        masses = masses[:-1] / masses.sum()
                        excess = np.maximum(moved[scores + 1 :], 0.0) * masses * target
                        rates = target + np.diff(excess, prepend=0.0) / masses
                        if rates.min() < 0.0 or rates.max() > 1.0:
                            continue
                        chance = exact.chance(masses, rates, above(masses, rates, target))
                        evaluated += 1
                        if chance > climbed:
                            at, climbed, step = moved, chance, max(0.15, 0.97 * step)
                    best = max(best, climbed)
                worst.append(f"{best:.4f}")
            print(
                f"n = {n}, target {target}, {name}: {evaluated:,} populations; 3, 8, 25 scores: {', '.join(worst)}",
                end="",
            )
            print(f"; crossing {crossing:.4f}" if name == "boundary" else "", flush=True)


def flat_errors(n: int, samples: int, target: float, rng: np.random.Generator) -> Array:
    return np.cumsum(rng.uniform(size=(samples, n)) < target, axis=1)


def variants(seed: int = 0, samples: int = 20_000) -> None:
    """Two sides, groups, several targets and missed events in their least favourable populations."""
    rng = np.random.default_rng(seed)
    for n, target in ((200, 0.1), (1000, 0.1), (1000, 0.05)):
        allowed, upper = boundary(n, target, DELTA / 2), rng.binomial(n, 0.5, size=samples)[:, None]
        rank, wrong = np.arange(1, n + 1), np.zeros(samples, bool)
        for rows in (upper, n - upper):
            wrong |= ((flat_errors(n, samples, target, rng) <= allowed[1:]) & (rank <= rows)).any(axis=1)
        print(f"two sides, n = {n}, target {target}: wrong in {wrong.mean():.4f}")
    for shares in ((0.8, 0.15, 0.05), (0.34, 0.33, 0.33)):
        n, target, k = 600, 0.1, len(shares)
        sizes, wrong = rng.multinomial(n, shares, size=samples), np.zeros(samples, bool)
        for group in range(k):
            for size in np.unique(sizes[:, group]):
                these = np.flatnonzero(sizes[:, group] == size)
                allowed = boundary(int(size), target, DELTA * (0.5 / k + 0.5 * size / n))
                wrong[these] |= (flat_errors(size, len(these), target, rng) <= allowed[1:]).any(axis=1)
        print(f"groups of shares {shares}, n = {n}, target {target}: wrong in {wrong.mean():.4f}")
    targets = (0.01, 0.02, 0.05, 0.1)
    allowed_at = {target: boundary(1000, target, DELTA / 4)[1:] for target in targets}
    for rate in targets:
        errors = flat_errors(1000, samples, rate, rng)
        wrong = np.any([(errors <= allowed_at[t]).any(axis=1) for t in targets if t <= rate], axis=0)
        print(f"four targets, n = 1,000, all errors at {rate}: wrong in {wrong.mean():.4f}")
    worst, cases = 0.0, 0
    for missed in (0.01, 0.05, 0.1, 0.2):
        for positives in range(1, 401):
            least = limits(positives, missed, DELTA)[-1]
            worst, cases = max(worst, float(binom.cdf(least, positives, missed))), cases + 1
    print(f"missed events, {cases:,} cases: wrong with probability at most {worst:.5f}")


def clusters(seed: int = 0, samples: int = 1000, n: int = 1000, target: float = 0.05) -> None:
    """One row of each cluster, and one row of clusters chosen in proportion to their size, where large ones differ."""
    rng, allowed = np.random.default_rng(seed), {}
    for sizes, rates in (
        ((1, 10), (0.01, 0.06)),
        ((1, 4), (0.01, 0.07)),
        ((1, 4), (0.01, 0.06)),
        ((1, 10), (0.08, 0.01)),
    ):
        of_cluster = sum(rates) / 2
        of_case = sum(size * rate for size, rate in zip(sizes, rates, strict=True)) / sum(sizes)
        certified = {"one row each": 0, "chosen by size": 0}
        for _ in range(samples):
            large = rng.uniform(size=n) < 0.5
            errors = rng.uniform(size=n) < np.where(large, rates[1], rates[0])  # scores say nothing
            chosen = rng.uniform(size=n) < np.where(large, 1.0, sizes[0] / sizes[1])
            for name, rows in (("one row each", errors), ("chosen by size", errors[chosen])):
                size = len(rows)
                if size not in allowed:
                    allowed[size] = boundary(size, target)[1:]
                certified[name] += bool((np.cumsum(rows) <= allowed[size]).any())
        text = "; ".join(f"{name}: certified in {count / samples:.3f}" for name, count in certified.items())
        print(f"sizes {sizes}, errors {rates}: random cluster {of_cluster:.4f}, random case {of_case:.4f}; {text}")


def shares(seed: int = 0, target: float = 0.05) -> None:
    """How often the Clopper-Pearson interval of the share of the cases misses it, at the cut-off that was chosen."""
    rng = np.random.default_rng(seed)
    for n, samples in ((200, 4000), (1000, 4000), (3000, 2000)):
        allowed, rates = boundary(n, target)[1:], []
        for world in worlds(target):
            share, errors, ends = world.draw(n, samples, rng)
            rows = last((errors <= allowed) & ends)
            share, rows = share[rows > 0, rows[rows > 0] - 1], rows[rows > 0]
            low, high = beta.ppf(0.025, rows, n - rows + 1), beta.ppf(0.975, rows + 1, np.maximum(n - rows, 1))
            missed = (share < low) | ((share > high) & (rows < n))
            if len(rows) >= 500:
                rates.append(missed.mean())
            else:
                print(f"  n = {n}, {world.name}: missed in {missed.sum()} of {len(rows)} samples with a cut-off")
        print(f"n = {n}: missed in {min(rates):.3f} to {max(rates):.3f} of such samples in {len(rates)} others")
    allowed = boundary(1000, target)
    for top in (0.1, 0.09, 0.08):
        rows = rng.binomial(1000, top, size=200_000)  # no error at the one score that may be certified
        missed = (allowed[rows] >= 0) & (beta.ppf(0.025, rows, 1001 - rows) > top)
        certified = (allowed[rows] >= 0).mean()
        print(
            f"n = 1000, {top:g} good: certified in {certified:.4f}, of these missed in {missed.mean() / certified:.3f}"
        )


PARTS = {
    "sizes": sizes,
    "random": random_populations,
    "search": search,
    "variants": variants,
    "clusters": clusters,
    "shares": shares,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    for part in parser.parse_args().parts:
        print(f"## {part}", flush=True)
        PARTS[part]()


if __name__ == "__main__":
    main()
