"""No cut-off of too many errors is certified more often than stated: exactly in small worlds, counted in larger ones.

Every certified cut-off counts, not only the one that is reported. Scores are those of blocks, from the top; many blocks
stand for continuous scores. A risk that equals the target counts as too high: one just above it is as probable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from math import factorial

import numpy as np
import pytest

import calibrant as cal
from calibrant.distributions.binomial import WalkBoundary, walk_boundary
from support.counting import assert_failures_within, assert_probability_within, assert_seldom

DELTA = 0.05
MANY = 2_000  # blocks of scores that are nearly continuous


class World:
    """Blocks of scores from the top: their shares, and how often a decision in each is wrong."""

    def __init__(self, weight, error) -> None:
        self.weight = np.asarray(weight, dtype=float) / np.sum(weight)
        self.error = np.clip(np.broadcast_to(error, len(self.weight)), 0.0, 1.0)
        self.risk = np.cumsum(self.weight * self.error) / np.cumsum(self.weight)
        self.score = np.arange(len(self.weight), 0.0, -1.0)

    def bad(self, target):
        return self.risk >= target - 1e-12

    def draw(self, n, rng):
        rows = rng.multinomial(n, self.weight)
        return rows, rng.binomial(rows, self.error)


def continuous(error: Callable[[np.ndarray], np.ndarray], least: float = 1e-4) -> World:
    """Errors as a function of the share u of rows with higher scores, in blocks of equal width of log u."""
    edges = np.append(0.0, np.geomspace(least, 1.0, MANY))
    return World(np.diff(edges), error(0.5 * (edges[1:] + edges[:-1])))


def at_target(risk: Callable[[np.ndarray], np.ndarray]) -> World:
    """Errors for which the risk of all scores above has this form, as far as it can."""
    edges = np.append(0.0, np.geomspace(1e-4, 1.0, MANY))
    errors = np.maximum.accumulate(edges * risk(edges))
    return World(np.diff(edges), np.diff(errors) / np.diff(edges))


# For a target of 5%.
WORLDS = {
    "on the boundary everywhere": World(np.full(MANY, 1.0), 0.05),
    "on the boundary, one score": World([1.0], [0.05]),
    "on the boundary, five scores": World([0.1, 0.2, 0.4, 0.2, 0.1], [0.05] * 5),
    "slope": continuous(lambda u: 0.6 * u),
    "steep at the end": continuous(lambda u: 0.5 * u**3),
    "noisy top": continuous(lambda u: np.where(u < 0.02, 0.2, 0.01 + 0.08 * u)),
    "overconfident top": World([0.15, 0.25, 0.3, 0.3], [0.09, 0.03, 0.04, 0.2]),
    "U-shaped": continuous(lambda u: np.select([u < 0.1, u < 0.6], [0.1, 0.01], 0.3)),
    "cliff": continuous(lambda u: np.where(u < 0.4, 0.01, 0.5)),
    "flat below": continuous(lambda u: np.full_like(u, 0.02)),
    "oscillating": at_target(lambda u: 0.05 * (1.0 + 0.4 * np.sin(12.0 * np.log(np.maximum(u, 1e-9))))),
    "no errors, then on the boundary": World(
        [0.19] + [0.01] + [0.8 / MANY] * MANY, np.append([0.0, 1.0], np.full(MANY, 0.05))
    ),
    "two values": World([0.7, 0.3], [0.051, 0.3]),
    "five values": World([0.3, 0.2, 0.2, 0.2, 0.1], [0.02, 0.06, 0.08, 0.12, 0.3]),
    "just too many everywhere": continuous(lambda u: 0.051 + 0.05 * u),
}


def violations(world: World, n: int, target: float = 0.05, seed: int = 0) -> Iterator[bool]:
    """Whether a bad cut-off is certified at default arguments, sample after sample."""
    rng, bad = np.random.default_rng([seed, n]), np.append(world.bad(target)[::-1], False)
    while True:
        rows, errors = world.draw(n, rng)
        drawn = np.flatnonzero(rows)
        table = cal.ScoreTable(
            *(np.ascontiguousarray(values[drawn][::-1]) for values in (world.score, rows, rows - errors))
        )
        ranges = cal.selective(table, target_error=target).certified_ranges
        # A number between two scores is a cut-off too: blocks that no row is in count with the next one above.
        yield any(bad[int(low) - 1 : int(high)].any() for low, high in _with_gaps(ranges, table.score))


def _with_gaps(ranges, score):
    """Extend certified ranges down to just above the next score that has rows."""
    for low, high in ranges:
        i = int(np.searchsorted(score, low))
        yield (score[i - 1] + 1.0 if i else 1.0), high


@pytest.mark.parametrize("name", WORLDS)
def test_seldom_certified_where_risk_is_too_high(name):
    assert_seldom(violations(WORLDS[name], 1_000), 600, DELTA)


@pytest.mark.slow
@pytest.mark.parametrize("n", [200, 1_000, 3_000, 20_000])
@pytest.mark.parametrize("name", WORLDS)
def test_seldom_certified_at_any_number_of_rows(name, n):
    assert_seldom(violations(WORLDS[name], n, seed=1), 4_000, DELTA)


@pytest.mark.parametrize("n", [6_000, 20_000])
@pytest.mark.slow
def test_a_boundary_that_is_too_generous_is_noticed(n, monkeypatch):
    """By 3%, where the risk is the target everywhere."""
    exact = WalkBoundary.allowed
    monkeypatch.setattr(WalkBoundary, "allowed", lambda self, rows: np.floor(1.03 * exact(self, rows)).astype(int))
    with pytest.raises(AssertionError, match="failures"):
        assert_seldom(violations(WORLDS["on the boundary everywhere"], n), 4_000, DELTA)


def outcomes(n):
    """All ways in which n rows fall into three blocks, without and with an error, and their multinomial counts."""
    counts = np.array([(*x, n - sum(x)) for x in product(range(n + 1), repeat=5) if sum(x) <= n])
    ways = factorial(n) / np.prod(np.array([factorial(i) for i in range(n + 1)], dtype=float)[counts], axis=1)
    return counts, ways


@pytest.mark.parametrize(("n", "target", "delta"), [(6, 0.4, 0.2), (8, 0.3, 0.15), (9, 0.5, 0.05), (7, 0.6, 0.3)])
def test_every_outcome_of_small_worlds(n, target, delta):
    """Three blocks of any shares, with risks at the target and elsewhere."""
    rng, boundary = np.random.default_rng(n), walk_boundary(n, target, delta)
    counts, ways = outcomes(n)
    rows, errors = np.cumsum(counts[:, 0::2] + counts[:, 1::2], axis=1), np.cumsum(counts[:, 1::2], axis=1)
    certified, worst = errors <= boundary.allowed(rows), 0.0
    assert certified.any()
    for i in range(300):
        weight = rng.dirichlet([0.6] * 3)
        error = np.minimum(1.0, rng.uniform(size=3) * rng.choice([0.0, 1.0, 1.0, 2.5]))
        if i % 2:  # risks at the target, where they can be
            risk = rng.choice([target, target, 1.02 * target, 0.9 * target], size=3)
            errors_above = np.maximum.accumulate(risk * np.cumsum(weight))
            error = np.minimum(1.0, np.diff(errors_above, prepend=0.0) / weight)
        world = World(weight, error)
        cells = np.stack([world.weight * (1.0 - world.error), world.weight * world.error], axis=1).ravel()
        chance = ways * np.prod(np.where(counts > 0, cells**counts, 1.0), axis=1)
        worst = max(worst, float(chance[(certified & world.bad(target)).any(axis=1)].sum()))
    assert_probability_within(worst, boundary.crossing)
    assert worst > 0.5 * boundary.crossing


def worst_world(n, target, blocks, rng, steps=60, samples=1_500):
    """Climb to a world in which a bad cut-off is certified often, by changes of shares and rates; and how often."""
    boundary = walk_boundary(n, target, DELTA)

    def rate(world, seed, samples):
        draws = np.random.default_rng(seed)
        rows = draws.multinomial(n, world.weight, size=samples)
        errors = draws.binomial(rows, world.error)
        certified = np.cumsum(errors, axis=1) <= boundary.allowed(np.cumsum(rows, axis=1))
        return float((certified & world.bad(target)).any(axis=1).mean())

    def made(shares, rates, at_risk):
        weight = np.exp(shares) / np.exp(shares).sum()
        error = 1.0 / (1.0 + np.exp(-rates))
        error = np.where(error < 1e-3, 0.0, error)
        for i in np.flatnonzero(at_risk):  # such that the risk there is the target
            short = target * weight[: i + 1].sum() - (weight[:i] * error[:i]).sum()
            error[i] = np.clip(short / weight[i], 0.0, 1.0)
        return World(weight, error)

    shares, rates = rng.normal(0.0, 1.5, blocks), np.log(target) + rng.normal(0.0, 1.0, blocks)
    at_risk = rng.uniform(size=blocks) < 0.3
    best, seed = made(shares, rates, at_risk), int(rng.integers(1 << 30))
    most = rate(best, seed, samples)
    for _ in range(steps):
        chosen = rng.uniform(size=(3, blocks)) < 0.3
        step = shares + chosen[0] * rng.normal(size=blocks), rates + chosen[1] * rng.normal(size=blocks)
        flipped = at_risk ^ (chosen[2] & (rng.uniform(size=blocks) < 0.5))
        world = made(*step, flipped)
        if (value := rate(world, seed, samples)) >= most:
            (shares, rates), at_risk, best, most = step, flipped, world, value
    return best, rate(best, seed + 1, 20_000)


@pytest.mark.parametrize(
    "blocks", [3, pytest.param(8, marks=pytest.mark.slow), pytest.param(25, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize(("n", "target"), [(200, 0.1), (1_000, 0.05)])
def test_no_world_was_found_by_search(n, target, blocks):
    for seed in range(2):
        _, rate = worst_world(n, target, blocks, np.random.default_rng([seed, n, blocks]))
        assert_failures_within(round(rate * 20_000), 20_000, DELTA)


@pytest.mark.slow
def test_several_targets_and_groups_hold_together():
    """A risk at the target in every group, and just above the other target."""
    rng = np.random.default_rng(0)

    def failed():
        while True:
            group, wrong = rng.integers(2, size=400), rng.uniform(size=400) < 0.1
            result = cal.selective(~wrong, rng.uniform(size=400), target_error=(0.1, 0.0999), by={"g": group})
            yield any(one.certified for one in result.selections)

    assert_seldom(failed(), 600, DELTA)


def test_both_sides_hold_together():
    """Scores that say nothing, with as many positives as are allowed below and negatives above."""
    rng = np.random.default_rng(0)

    def failed():
        while True:
            y = rng.uniform(size=400) < 0.3
            result = cal.selective_binary(y, rng.uniform(size=400), target_error=(0.7, 0.3))
            yield result.yes.certified + result.no.certified > 0

    assert_seldom(failed(), 600, DELTA)


def test_positives_that_are_missed():
    """Positives at one score, at few, or all at different ones; nearly any share of them may be called negative."""
    rng = np.random.default_rng(0)
    for ties in (1.0, 20.0, 1e6):

        def failed(ties=ties):
            while True:
                n = 400
                y = rng.uniform(size=n) < 0.5
                u = rng.uniform(size=n)
                score = np.ceil(ties * u)
                threshold = cal.selective_binary(y, score, target_error=0.999, missed=0.1).no.threshold
                yield threshold is not None and threshold / ties > 0.1 + 1e-9

        assert_seldom(failed(), 300, DELTA)


def test_clusters_of_any_dependence():
    """All rows of a cluster are right, or all wrong: as if it were one row."""
    rng = np.random.default_rng(0)

    def failed():
        while True:
            size = rng.integers(1, 9, size=300)
            wrong, cluster = np.repeat(rng.uniform(size=300) < 0.1, size), np.repeat(np.arange(300), size)
            yield cal.selective(~wrong, rng.uniform(size=len(wrong)), target_error=0.1, cluster=cluster).certified > 0

    assert_seldom(failed(), 600, DELTA)
