"""The default statements about groups, proved for every number of them: worst cases, and what breaks the proof."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from calibrant.certificates import certify
from calibrant.decisions.clusters import cluster_saving
from calibrant.distributions import cluster_bound
from calibrant.distributions.cluster_bound import ClusterSums, largest_ratio
from calibrant.table.clusters import cluster_rows
from support.counting import assert_failures_within, assert_probability_within, assert_seldom

# Sizes P(m > x) = (3 / x)^1.5, seen often enough to know the errors of the population.
_MANY = np.ceil(3 * (1 - np.random.default_rng(9).random(1_000_000)) ** (-1 / 1.5))


def heavy(n_clusters: int, share: float, cap: int, rng):
    """The largest groups are wrong in all their rows: labels, sizes and the true error where groups are capped."""
    limit = np.quantile(_MANY, 1.0 - share)
    sizes = np.ceil(3 * (1 - rng.random(n_clusters)) ** (-1 / 1.5))
    counted = np.minimum(_MANY, cap)
    return (sizes > limit) * 1, sizes.astype(int), counted[limit < _MANY].sum() / counted.sum()


def heavy_failures(n_clusters, share, cap, method, repetitions):
    """Whether the bound is below the error, in each of some samples."""
    rng = np.random.default_rng(n_clusters)
    for _ in range(repetitions):
        y, sizes, error = heavy(n_clusters, share, cap, rng)
        scores, clusters = np.zeros(n_clusters), np.arange(n_clusters)
        options = {"cluster": clusters, "count": sizes, "cluster_cap": cap, "n_simulations": 19}
        options["unseen_clusters"] = True  # such as none of the sample shows
        yield certify(y, scores, method=method, **options).bound < error - 1e-9


@pytest.mark.parametrize("method", ["default", "asymptotic"])
@pytest.mark.parametrize("cap", [1, 30])
@pytest.mark.parametrize(("n_clusters", "share"), [(100, 0.05), (200, 0.03)])
def test_large_groups_that_are_wrong(n_clusters, share, cap, method):
    assert_seldom(heavy_failures(n_clusters, share, cap, method, 25), 25, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["default", "asymptotic"])
@pytest.mark.parametrize("cap", [1, 30])
@pytest.mark.parametrize(("n_clusters", "share"), [(100, 0.05), (200, 0.03), (400, 0.02), (800, 0.015)])
def test_large_groups_that_are_wrong_in_many_samples(n_clusters, share, cap, method):
    assert_seldom(heavy_failures(n_clusters, share, cap, method, 600), 600, 0.05)


@pytest.mark.slow
def test_without_a_cap_large_groups_that_are_wrong_break_the_asymptotic_bound():
    """Where samples worth fewer than 5 groups are refused, these do not count as failures; the others do."""
    rng = np.random.default_rng(1)

    def missed():
        for _ in range(600):
            y, sizes, error = heavy(200, 0.03, 10**9, rng)
            if sizes.sum() ** 2 < 5 * (sizes**2).sum():
                continue
            options = {
                "cluster": np.arange(200),
                "count": sizes,
                "cluster_cap": 10**9,
                "n_simulations": 19,
            }
            yield certify(y, np.zeros(200), method="asymptotic", **options).bound < error - 1e-9

    with pytest.raises(AssertionError, match="failures"):
        assert_seldom(missed(), 600, 0.05)


# Two kinds of groups whose outcomes are shared: residuals w_1, w_2 in [-1, 1] and rows m_1, m_2 up to the cap.
def exact_failure(n_clusters: int, chance: float, kinds, delta: float, cap: float = 1.0) -> float:
    """Probability that the limit is below the truth, by enumeration of how many clusters are of the second kind."""
    (w_1, m_1), (w_2, m_2) = kinds
    truth = ((1 - chance) * w_1 * m_1 + chance * w_2 * m_2) / ((1 - chance) * m_1 + chance * m_2)
    missed = 0.0
    for many, probability in enumerate(binom.pmf(np.arange(n_clusters + 1), n_clusters, chance).tolist()):
        if probability < 1e-9:
            continue
        few = n_clusters - many
        sums = ClusterSums(
            *(
                np.array([few * first + many * second])
                for first, second in ((w_1 * m_1, w_2 * m_2), ((w_1 * m_1) ** 2, (w_2 * m_2) ** 2))
            ),
            np.array([few * w_1 * m_1**2 + many * w_2 * m_2**2]),
            np.zeros(1),
        )
        rows, squared = few * m_1 + many * m_2, few * m_1**2 + many * m_2**2
        limit = largest_ratio(sums, rows=rows, squared_sizes=squared, clusters=n_clusters, cap=cap, delta=delta)
        missed += probability * (limit < truth - 1e-9)
    return missed


def search(n_clusters: int, delta: float, tries: int, seed: int) -> float:
    """Worst failure found by random starts, each followed by steps that get smaller."""
    rng, worst = np.random.default_rng(seed), 0.0
    for _ in range(tries):
        point = np.array([rng.random() ** 3, rng.uniform(-1, 1), rng.random(), 1.0, 1.0])
        here, step = 0.0, 0.3
        for _ in range(12):
            moved = point + step * rng.standard_normal(5) * [0.3, 1, 1, 0.5, 0.5]
            moved = np.clip(moved, [1e-4, -1, -1, 0.02, 0.02], [1 - 1e-4, 1, 1, 1, 1])
            chance, w_1, w_2, m_1, m_2 = moved
            found = exact_failure(n_clusters, float(chance), ((w_1, m_1), (w_2, m_2)), delta)
            if found >= here:
                here, point = found, moved
            else:
                step *= 0.8
        worst = max(worst, here)
    return worst


@pytest.mark.parametrize(("n_clusters", "delta"), [(8, 0.05), (25, 0.2)])
def test_no_sizes_and_outcomes_found_make_the_limit_fail(n_clusters, delta):
    assert_probability_within(search(n_clusters, delta, 2, n_clusters), delta)


@pytest.mark.slow
@pytest.mark.parametrize(("n_clusters", "delta"), [(5, 0.05), (30, 0.05), (80, 0.05), (30, 0.2), (80, 0.5)])
def test_a_longer_search(n_clusters, delta):
    worst = search(n_clusters, delta, 40, n_clusters)
    assert_probability_within(worst, delta)
    assert n_clusters == 5 or worst > delta / 20  # of five clusters the bound says next to nothing


# One group in forty is an outbreak that no score announces: the wanted error is missed where too few are seen.
_RARE = ((0.0, 1.0), (1.0, 1.0))


def worst_of_rare(n_clusters: int, delta: float) -> float:
    return max(exact_failure(n_clusters, events / n_clusters, _RARE, delta) for events in np.linspace(1.0, 12.0, 45))


@pytest.mark.slow
def test_outbreaks_use_much_of_the_budget():
    assert_probability_within(worst_of_rare(60, 0.05), 0.05)
    assert worst_of_rare(60, 0.05) > 0.01


@pytest.mark.slow
def test_a_level_that_is_too_small_is_found(monkeypatch):
    """Weights that add up to 6 instead of 1: outbreaks show that the limit is then wrong."""
    monkeypatch.setattr(cluster_bound, "_PARTS", tuple((guess, 6 * weight) for guess, weight in cluster_bound._PARTS))
    with pytest.raises(AssertionError, match="failure probability"):
        assert_probability_within(worst_of_rare(60, 0.05), 0.05)


def outbreak(rng, n_clusters, expected):
    """Sizes between 1 and 40; in so many clusters all is positive, at the score of all others; small groups, mostly."""
    sizes = rng.integers(1, 41, n_clusters)
    ill = rng.random(n_clusters) < expected / n_clusters * np.where(sizes < 10, 3.0, 0.3)
    g = np.repeat(np.arange(n_clusters), sizes)
    return (ill[g] | (rng.random(len(g)) < 0.02)) * 1, np.full(len(g), 0.02), g


@pytest.mark.slow
def test_defaults_on_fresh_data():
    """Upper and lower bound, interval, costs and saving, at their default arguments and seed."""
    rng = np.random.default_rng(0)
    shares = rng.integers(1, 41, 1_000_000)
    chance = 2.5 / 60 * np.where(shares < 10, 3.0, 0.3)
    capped = float(chance.mean() * 0.98)  # every cluster counts the same
    failures = np.zeros(5, dtype=int)
    for _ in range(40):
        y, s, g = outbreak(rng, 60, 2.5)
        found, interval = certify(y, s, cluster=g), certify(y, s, cluster=g, confidence_level=0.975)
        costs = cluster_saving(cluster_rows(y, s, g), false_positive_cost=1.0, false_negative_cost=9.0, unseen=True)
        error = float((2.5 / 60 * np.where(np.bincount(g) < 10, 3.0, 0.3) @ np.bincount(g)) / len(g) * 0.98)
        cost = 9.0 * (error + 0.02)  # a score of .02 is below the threshold of .1: one never acts
        saving = max(0.0, cost - (1.0 - error - 0.02))
        failures += [
            found.bound < capped - 1e-9,
            found.lower_bound > capped + 1e-9,
            not interval.lower_bound - 1e-9 <= capped <= interval.bound + 1e-9,
            not costs.cost_lower - 1e-9 <= cost <= costs.cost_upper + 1e-9,
            costs.saving_bound < saving - 1e-9,
        ]
    for count in failures:
        assert_failures_within(int(count), 40, 0.05)


def test_statements_are_of_use():
    """300 groups of 10 rows at .5 that share an outcome of chance .75: the error of .25 is found and bounded."""
    rng = np.random.default_rng(1)
    g = np.repeat(np.arange(300), 10)
    y, s = (rng.random(300) < 0.75)[g] * 1, np.full(3000, 0.5)
    found = certify(y, s, cluster=g, tolerance=0.05)
    assert found.verdict == "refuted"
    assert 0.1 < found.lower_bound < 0.25 < found.bound < 0.34
