"""The lower bound by the mean of bets is above the true error with probability at most delta, for every kind."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit

from calibrant import ScoreTable, certify
from calibrant.cells import gathering
from calibrant.certificates.lower_bound import lower_bound
from calibrant.certificates.widths import monotone_width
from calibrant.distributions import mean_of_bets
from calibrant.distributions.mean_of_bets import DrawKinds, KeyedRows
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes
from support.counting import assert_seldom
from support.worlds import WORLDS, at, spread

# What could hurt: events that are rare but weigh much, few rows, errors of nearly 0 and nearly 1.
HARD = WORLDS | {
    "all wrong": at([1.0], [1.0], [0.0]),
    "nearly all wrong": at([1.0], [1.0], [0.02]),
    "hidden positives": at([1.0], [0.0], [0.004]),
    "rare and predicted": at([0.99, 0.01], [0.01, 0.9], [0.0, 0.99]),
    "just above": spread(lambda s: s + 1e-6, high=0.99),
    "two rare sides": at([0.5, 0.5], [0.001, 0.999], [0.011, 0.989]),
}


def failures(world, n: int, repetitions: int, delta: float, seed: int, raised: float = 0.0):
    """Whether the bound is above the true error, in each of some samples; raised by a share of its distance."""
    rng = np.random.default_rng(seed)
    for table in world.samples(n, repetitions, rng):
        bound = lower_bound(table, delta, 0)
        bound += raised * (extremes(cumulative_residuals(table)).value - bound)
        yield bound > world.error + 1e-12


@pytest.mark.parametrize("delta", [0.05, 0.2])
@pytest.mark.parametrize("n", [5, 30, 300])
@pytest.mark.parametrize("name", HARD)
def test_bound_is_seldom_above_the_truth(name, n, delta):
    assert_seldom(failures(HARD[name], n, 60, delta, n), 60, delta)


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 100, 1000, 10_000])
@pytest.mark.parametrize("name", HARD)
def test_bound_is_seldom_above_the_truth_in_many_samples(name, n):
    assert_seldom(failures(HARD[name], n, 500, 0.05, n), 500, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("name", HARD)
def test_bound_by_buckets_is_seldom_above_the_truth(monkeypatch, name):
    monkeypatch.setattr(gathering, "MOST_DISTINCT", 0)
    assert_seldom(failures(HARD[name], 1000, 500, 0.2, 7), 500, 0.2)


# One score: no interval has to be found, so all that is lost is what bets lose.
ONE = at([1.0], [0.5], [0.6])


@pytest.mark.slow
def test_one_score_is_the_hardest_world():
    assert 1 <= sum(failures(ONE, 2000, 1000, 0.2, 0)) <= 100


@pytest.mark.slow
def test_a_bound_raised_by_half_of_its_distance_would_be_caught():
    with pytest.raises(AssertionError, match="failures in"):
        assert_seldom(failures(ONE, 2000, 1000, 0.05, 0, raised=0.5), 1000, 0.05)


def clusters(rng, off):
    """Clusters that come out alike, in which every other row is predicted a little more."""
    size = rng.integers(1, 20, 60)
    number = np.repeat(np.arange(60), size)
    y = (rng.random(60) < 0.3 + off)[number].astype(int)
    return certify(y, np.full(len(y), 0.3), cluster=number, cluster_cap=10), off


def means(rng, off):
    """Amounts of 0 or the most that there can be, of which one in twelve is expected, with exposures."""
    exposure = rng.choice([0.5, 1.0], 400)
    z = 10.0 * (rng.random(400) < exposure * (1.0 + 4.0 * off) / 12.0)
    return certify(z, np.full(400, 10.0 / 12.0), exposure=exposure, limits=(0, 10), kind="amount"), 4.0 * off


def classes(notion):
    def draw(rng, off):
        shown, true = [0.4, 0.3, 0.2, 0.1], [0.4 - off, 0.3 + off, 0.2, 0.1]
        k = rng.choice(4, size=400, p=true)
        found = certify(k, np.tile(shown, (400, 1)), classes=range(4), notion=notion)
        return found, 2.0 * off if notion == "sum" else off

    return draw


KINDS = {"clusters": clusters, "means": means}
KINDS |= {notion: classes(notion) for notion in ("worst_class", "sum", "pooled", "top_label")}


def kind_fails(kind, off, repetitions, raised=0.0):
    """Whether the bound of a kind is above the truth, in each of some samples; raised by a share of its distance."""
    rng = np.random.default_rng([*kind.encode(), round(100 * off)])
    for _ in range(repetitions):
        found, truth = KINDS[kind](rng, off)
        yield found.lower_bound + raised * (found.estimate - found.lower_bound) > truth + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("off", [0.0, 0.02, 0.2])
@pytest.mark.parametrize("kind", KINDS)
def test_bounds_of_every_kind_are_seldom_above_the_truth(kind, off):
    assert_seldom(kind_fails(kind, off, 1000), 1000, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_raised_bounds_of_every_kind_would_be_caught(kind):
    """By seven tenths of their distance: one interval is all there is, and 1.2 sd of it are left for 5%."""
    with pytest.raises(AssertionError, match="failures in"):
        assert_seldom(kind_fails(kind, 0.2, 600, raised=0.7), 600, 0.05)


@pytest.mark.parametrize("off", [-0.05, 0.1])
@pytest.mark.parametrize("kind", KINDS)
def test_draws_keep_to_the_limits_that_rates_are_made_for(monkeypatch, kind, off):
    made, bet = [], DrawKinds.bet

    def watched(draws, proposal, mine, delta):
        made.append((draws, proposal))
        return bet(draws, proposal, mine, delta)

    monkeypatch.setattr(DrawKinds, "bet", watched)
    KINDS[kind](np.random.default_rng(0), off)
    proposed = [(draws, proposal) for draws, proposal in made if proposal is not None]
    assert len(proposed) > 20
    for draws, proposal in proposed:
        assert (proposal.gain >= -proposal.bottom - 1e-9).all()
        assert np.max(proposal.unit) <= draws.most + 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_of_every_kind_say_something_and_no_more_than_is_seen(kind):
    found = [KINDS[kind](np.random.default_rng(seed), 0.25)[0] for seed in range(20)]
    assert all(each.lower_bound <= each.estimate for each in found)
    assert sum(each.lower_bound > 0.0 for each in found) >= 10


@pytest.mark.parametrize(
    ("name", "n", "least"),
    [("one atom", 10_000, 0.083), ("overconfident", 10_000, 0.037), ("no one at all", 100, 0.23)],
)
def test_bound_says_something(name, n, least):
    tables = HARD[name].samples(n, 50, np.random.default_rng(1))
    assert np.mean([lower_bound(table, 0.05, 0) for table in tables]) > least


@pytest.mark.slow
@pytest.mark.parametrize("name", ["one atom", "overconfident", "ten grades", "zeros and ones", "opposite", "all wrong"])
def test_bound_is_higher_than_that_of_the_uniform_band(name):
    for n in (100, 1000, 10_000):
        tables = list(HARD[name].samples(n, 100, np.random.default_rng(n)))
        by_band = [max(0.0, extremes(cumulative_residuals(t)).value - monotone_width(n)) for t in tables]
        assert np.mean([lower_bound(t, 0.05, 0) for t in tables]) >= np.mean(by_band)


def test_bound_does_not_depend_on_the_order_of_rows_but_on_the_seed():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=2000)
    y = rng.uniform(size=2000) < p**2
    order = rng.permutation(2000)
    one, other = ScoreTable.from_scores(y, p), ScoreTable.from_scores(y[order], p[order])
    assert lower_bound(one, 0.05, 0) == lower_bound(other, 0.05, 0) > 0.0
    assert lower_bound(one, 0.05, 1) != lower_bound(one, 0.05, 0)


# Half as steep, too low by .03, half of the events predicted, and off in one place.
FAR = {
    "slope": (lambda s: expit(0.5 * logit(s)), (2, 2)),
    "level": (lambda s: np.minimum(s + 0.03, 1.0), (2, 5)),
    "rare": (lambda s: np.minimum(2.0 * s, 1.0), (0.5, 49.5)),
    "bump": (lambda s: np.where((s > 0.6) & (s < 0.7), s - 0.3, s), (2, 2)),
}


@pytest.mark.slow
@pytest.mark.parametrize(("n", "samples"), [(2000, 100), (10_000, 40)])
@pytest.mark.parametrize("world", FAR)
def test_bound_is_at_most_three_standard_errors_below_what_is_seen(world, n, samples):
    rng, (chance, scores), off = np.random.default_rng([*world.encode(), n]), FAR[world], []
    for _ in range(samples):
        score = rng.beta(*scores, n)
        table = ScoreTable.from_scores(rng.random(n) < chance(score), score)
        distance = extremes(cumulative_residuals(table)).value - lower_bound(table, 0.05, 0)
        off.append(distance * n / np.sqrt(table.squared_total))
    assert np.mean(off) <= 3.0


@pytest.mark.parametrize("side", [1, -1])
def test_small_bets_are_worth_hardly_less_by_their_series(monkeypatch, side):
    rng = np.random.default_rng(0)
    residual = rng.choice([-0.3, 0.7], size=20_000, p=[0.7 - 0.1 * side, 0.3 + 0.1 * side])
    draws, mine = DrawKinds(np.ones(20_000, dtype=np.int64)), (rng.random(20_000) < 1 / 3).astype(np.uint8)
    rows = KeyedRows(np.full(20_000, 0.3), residual)
    proposal = rows.of_interval(rows.steepest(mine, (side,)), 0.7)
    series = draws.bet(proposal, mine, 0.05)
    monkeypatch.setattr(mean_of_bets, "_SMALL", 0.0)
    exact = draws.bet(proposal, mine, 0.05)
    for error in np.linspace(0.0, exact.ceiling, 50):
        assert exact.log_wealth(error) - 1e-3 <= series.log_wealth(error) <= exact.log_wealth(error) + 1e-9
    assert series.log_wealth(1.01 * exact.ceiling) == -np.inf


def test_seeds_hardly_matter():
    """Bounds of other seeds differ by a seventh of a standard error, where single splits differ by one."""
    table = next(spread(lambda s: s + 0.04, high=0.96).samples(3000, 1, np.random.default_rng(3)))
    bounds = [lower_bound(table, 0.05, seed) for seed in range(12)]
    assert 0.0 < np.std(bounds) < 0.15 * np.sqrt(table.squared_total) / 3000


def test_few_or_agreeing_rows_give_no_bound():
    assert lower_bound(ScoreTable.from_scores([1], [0.5]), 0.05, 0) == 0.0
    assert lower_bound(ScoreTable.from_scores([1, 0] * 50, [1.0, 0.0] * 50), 0.05, 0) == 0.0
