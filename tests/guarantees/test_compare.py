"""The intervals of a comparison hold together: where either error is 0, models nearly agree, or few rows decide."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pytest
from scipy.special import expit

import calibrant as cal
from calibrant.comparing.calibration import calibration_limits
from calibrant.comparing.joint import Units, critical_value, paired_limits
from calibrant.comparing.losses import MEASURES, possible_changes, terms_of
from calibrant.metrics import cutoff_calibration_error
from support.compared import Compared, constant, independent, true_differences, true_differences_of, worlds
from support.counting import assert_failures_within, assert_seldom

COSTS = (1.0, 4.0)


def near_zero(h: float, n: int) -> Compared:
    """Scores whose calibration error is h / sqrt(n), and calibrated ones that see less."""

    def draw(rng, size):
        one, two = rng.uniform(size=(2, size))
        rate = 0.5 * (one + two)
        return rate, np.clip(rate - h / np.sqrt(n), 0.0, 1.0), 0.5 * one + 0.25

    return Compared(draw)


def decreasing(rng, n):
    score = rng.uniform(size=n)
    return score, score, 1.0 - score


def few_differ(count: float, n: int) -> Compared:
    """Models that agree but for about so many of n rows, of which nothing in the other rows tells."""

    def draw(rng, size):
        score = rng.uniform(0.1, 0.9, size)
        return score, score, np.where(rng.uniform(size=size) < count / n, 1.0 - score, score)

    return Compared(draw)


def worst_cases(n: int) -> dict[str, Compared]:
    return worlds(n) | {
        "never predicted": Compared(constant(3.0 / n, 0.0, 3.0 / n)),
        "decreasing": Compared(decreasing),
        **{f"{h} standard errors from 0": near_zero(h, n) for h in (0.5, 1.0, 3.0)},
        **{f"{count} rows differ": few_differ(count, n) for count in (1.0, 3.0)},
    }


def failures(world: Compared, n: int, runs: int, seed: int, **keywords) -> Iterator[bool]:
    """Whether any of the intervals leaves out the difference of the population, in each of some samples."""
    truth, rng = true_differences(world, keywords.get("costs")), np.random.default_rng(seed)
    for _ in range(runs):
        rate, first, second = world.draw(rng, n)
        y = rng.uniform(size=n) < rate
        if y.all() or not y.any():
            yield False
            continue
        found = cal.compare(y, {"first": first, "second": second}, **keywords)
        slack = 1e-4
        yield any(
            not one.lower - slack * abs(one.lower) <= truth[one.measure] <= one.upper + slack * abs(one.upper)
            for one in found.differences
            if one.measure in truth
        )


@pytest.mark.slow
@pytest.mark.parametrize("n", [500, 50])
@pytest.mark.parametrize("name", worst_cases(500))
def test_all_intervals_hold_together(name, n):
    assert_seldom(failures(worst_cases(n)[name], n, 25, 1), 25, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("n", [50, 500, 2000])
@pytest.mark.parametrize("name", worst_cases(500))
def test_all_intervals_hold_together_in_many_samples(name, n):
    assert_seldom(failures(worst_cases(n)[name], n, 500, 2, costs=COSTS), 500, 0.05)


def means_missed(truth, y, scores, units, rng):
    """Whether limits of means at the 97.5% that a comparison asks of them leave out any of these differences."""
    terms = np.array([[terms_of(MEASURES[key], y, score, (1.0, 1.0)) for score in scores] for key in truth])
    critical = critical_value(terms, [(0, 1)], units, 0.025)
    found = (
        paired_limits(of[1] - of[0], possible_changes(MEASURES[key], y, scores, (1.0, 1.0)), critical, units)
        for key, of in zip(truth, terms, strict=True)
    )
    return any(not one.lower <= true <= one.upper for one, true in zip(found, truth.values(), strict=True))


VERSIONS = (
    "recalibrated",
    "recalibrated, rare events",
    "moved by about .001",
    "1% of the rows differ",
    "an increasing map",
    "independent, equally good",
)


def two_versions(kind: str) -> Compared:
    """A model and one that is nearly the same, or as good; events are rare in one case, about 10 in 800 rows."""
    if kind == "independent, equally good":
        return Compared(independent(0.5))

    def draw(rng, size):
        odds = 1.5 * rng.standard_normal(size) - (5.3 if kind == "recalibrated, rare events" else 1.0)
        score = expit(odds)
        second = {
            "recalibrated": expit(1.05 * odds + 0.05),
            "recalibrated, rare events": expit(1.2 * odds + 1.0),
            "moved by about .001": np.clip(score + 1e-3 * rng.standard_normal(size), 1e-6, 1.0 - 1e-6),
            "1% of the rows differ": np.where(rng.random(size) < 0.01, rng.permutation(score), score),
            "an increasing map": score**1.2,
        }[kind]
        return score, score, second

    return Compared(draw)


def missed_by_limits(world: Compared, key: str, n: int, runs: int, seed: int, shrink: float = 1.0) -> list[int]:
    """How often each limit at a stated 2.5% is beyond the difference of the population: the lower, the upper one."""
    truth, rng, units, measure = (
        true_difference_of_means(world, key),
        np.random.default_rng(seed),
        Units(n),
        MEASURES[key],
    )
    rate, *scores = (part.reshape(runs, n) for part in world.draw(rng, n * runs))
    label = (rng.uniform(size=(runs, n)) < rate).astype(float)
    change = terms_of(measure, label, scores[1], COSTS) - terms_of(measure, label, scores[0], COSTS)
    value, deviation = change.mean(axis=1), change.std(axis=1) / np.sqrt(n)
    missed = [0, 0]
    # No limit at this level is nearer than 1.3 standard errors, which saves most of the work.
    for i in np.flatnonzero(np.abs(value - truth) >= 1.3 * shrink * deviation):
        possible = possible_changes(measure, label[i], (scores[0][i], scores[1][i]), COSTS)
        found = paired_limits(change[i], possible, 1.96, units)
        missed[0] += found.value + shrink * (found.lower - found.value) > truth
        missed[1] += found.value + shrink * (found.upper - found.value) < truth
    return missed


def true_difference_of_means(world: Compared, key: str) -> float:
    """Of a measure that is a mean over rows: that of its expectations, over very many rows."""
    rate, *scores = world.draw(np.random.default_rng(1), 400_000)
    means = []
    for score in scores:
        positive, negative = (terms_of(MEASURES[key], np.full(len(rate), y), score, COSTS) for y in (1.0, 0.0))
        means.append((rate * positive + (1.0 - rate) * negative).mean())
    return float(means[1] - means[0])


@pytest.mark.slow
@pytest.mark.parametrize("key", ["brier_score", "log_loss"])
@pytest.mark.parametrize("kind", VERSIONS)
def test_each_limit_of_two_versions_of_one_model_holds(kind, key):
    runs = 1000
    for missed in missed_by_limits(two_versions(kind), key, 800, runs, 7):
        assert_failures_within(missed, runs, 0.025)


@pytest.mark.slow
def test_limits_of_two_versions_that_are_narrower_fail():
    with pytest.raises(AssertionError):
        assert_failures_within(
            max(missed_by_limits(two_versions("recalibrated"), "brier_score", 800, 300, 7, 0.6)), 300, 0.025
        )


@pytest.mark.slow
def test_positives_that_only_one_model_finds_are_rarely_seen():
    """Both models put every positive first but for 15% of them, of which samples of few positives may hold none."""
    rng, failed, runs, n = np.random.default_rng(0), 0, 150, 500
    for _ in range(runs):
        y = (rng.uniform(size=n) < 0.016).astype(float)
        y[0] = 1.0
        among = rng.uniform(0.0, 0.3, n)
        first = np.where(y == 1.0, rng.uniform(0.7, 0.9, n), among)
        second = np.where((y == 1.0) & (rng.uniform(size=n) < 0.15), among, first)
        failed += means_missed({"roc_auc": -0.075}, y, (first, second), Units(n), rng)
    assert_failures_within(failed, runs, 0.025)


@pytest.mark.slow
@pytest.mark.parametrize(("sizes", "share"), [((100,) * 50, 0.02), ((258,) * 3 + (1,) * 226, 0.3)])
def test_clusters_that_hide_a_model_that_is_wrong_in_all_of_their_rows(sizes, share):
    """Noise in single rows makes clusters look independent, where the second model is wrong in a share of them."""
    rng, failed, runs = np.random.default_rng(1), 0, 100
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    n = len(cluster)

    def right(y):
        return np.where((y == 1.0) != (rng.uniform(size=n) < 0.1), 0.9, 0.1)

    for _ in range(runs):
        y = (rng.uniform(size=n) < 0.5).astype(float)
        first = right(y)
        second = np.where(rng.uniform(size=n) < 0.02, right(y), first)
        wrong = (rng.uniform(size=len(sizes)) < share)[cluster]
        second = np.where(wrong, np.where(y == 1.0, 0.1, 0.9), second)
        truth = {"expected_cost": 0.9 * share, "brier_score": 0.72 * share}
        failed += means_missed(truth, y, (first, second), Units(n, cluster, unseen=True), rng)
    assert_failures_within(failed, runs, 0.025)


@pytest.mark.slow
def test_errors_that_are_largest_where_only_one_model_tells_scores_apart():
    """Sixty scores, of which the second model pools the two between which the error of the first is largest."""
    rng, failed, runs, n, j = np.random.default_rng(4), 0, 60, 40_000, 30
    first = np.linspace(0.3, 0.7, 60)
    second = np.where(np.arange(60) == j, first[j + 1], first)
    rate = first + np.where(np.arange(60) < j, 0.1, -0.1)
    rate[[j, j + 1]] = first[j] + 0.25, first[j + 1] - 0.25
    truth = true_differences_of(rate, first, second)["calibration_error"]
    for _ in range(runs):
        level = rng.integers(0, 60, n)
        y = (rng.uniform(size=n) < rate[level]).astype(float)
        scores = first[level], second[level]
        errors = cutoff_calibration_error(y, scores[0]), cutoff_calibration_error(y, scores[1])
        lower, upper = calibration_limits(y, scores, errors, Units(n), 0.025)
        failed += not lower <= truth <= upper
    assert_failures_within(failed, runs, 0.025)


@pytest.mark.slow
@pytest.mark.parametrize(("part", "name"), [("calibration", "one score each"), ("means", "both calibrated")])
def test_intervals_that_are_narrower_fail(part, name):
    """Nearly by half for the calibration error, where it is tightest; by a quarter for the others, together."""
    world, n, runs, delta = worlds(400)[name], 400, 300, 0.05
    truth, rng, units = true_differences(world, COSTS), np.random.default_rng(3), Units(400)
    held, narrower = 0, 0
    for _ in range(runs):
        rate, *scores = world.draw(rng, n)
        y = (rng.uniform(size=n) < rate).astype(float)
        if part == "calibration":
            errors = [cutoff_calibration_error(y, score) for score in scores]
            ends = [(*calibration_limits(y, tuple(scores), tuple(errors), units, delta), errors[1] - errors[0])]
            true, shrink = [truth["calibration_error"]], 0.55
        else:
            keys = ("brier_score", "log_loss", "roc_auc", "expected_cost", "net_benefit")
            terms = np.array([[terms_of(MEASURES[key], y, score, COSTS) for score in scores] for key in keys])
            critical = critical_value(terms, [(0, 1)], units, delta)
            found = [
                paired_limits(
                    of[1] - of[0],
                    possible_changes(MEASURES[key], y, tuple(scores), COSTS),
                    critical,
                    units,
                )
                for key, of in zip(keys, terms, strict=True)
            ]
            ends = [(one.lower, one.upper, one.value) for one in found]
            true, shrink = [truth[key] for key in keys], 0.75
        held += any(not low <= t <= high for (low, high, _), t in zip(ends, true, strict=True))
        narrower += any(
            not value - shrink * (value - low) <= t <= value + shrink * (high - value)
            for (low, high, value), t in zip(ends, true, strict=True)
        )
    assert_failures_within(held, runs, delta)
    with pytest.raises(AssertionError):
        assert_failures_within(narrower, runs, delta)


def clustered(n_clusters: int, rng):
    """Clusters of 1 to 60 rows whose rates move together; both models see only a part of what moves them."""
    size = np.ceil(60.0 * rng.uniform(size=n_clusters) ** 3).astype(int)
    cluster = np.repeat(np.arange(n_clusters), size)
    one, two = rng.standard_normal((2, len(cluster)))
    together = rng.standard_normal(n_clusters)[cluster]
    odds = one + 0.7 * two + together
    return cluster, odds, one, two


@pytest.mark.slow
@pytest.mark.parametrize("n_clusters", [30, 200])
def test_intervals_hold_for_clusters_of_unequal_size(n_clusters):
    def draw(rng, size):
        _, odds, one, two = clustered(size // 16, rng)
        rate, first, second = (1.0 / (1.0 + np.exp(-part)) for part in (odds, one, one + 0.7 * two))
        return rate, first, second

    truth, rng, runs = true_differences(Compared(draw), COSTS), np.random.default_rng(4), 200

    def failed():
        for _ in range(runs):
            cluster, odds, one, two = clustered(n_clusters, rng)
            rate, first, second = (1.0 / (1.0 + np.exp(-part)) for part in (odds, one, one + 0.7 * two))
            y = rng.uniform(size=len(rate)) < rate
            found = cal.compare(y, {"first": first, "second": second}, cluster=cluster, costs=COSTS)
            yield any(not one.lower <= truth[one.measure] <= one.upper for one in found.differences)

    assert_seldom(failed(), runs, 0.05)


@pytest.mark.slow
def test_intervals_of_three_models_hold_together():
    rng, runs, n = np.random.default_rng(5), 100, 500
    draw = worlds(n)["both calibrated"].draw

    def three(size):
        rate, first, second = draw(rng, size)
        return rate, {"first": first, "second": second, "squared": first**2}

    rate, scores = three(2_000_000)
    truth = {pair: true_differences_of(rate, *(scores[name] for name in pair)) for pair in combinations(scores, 2)}

    def failed():
        for _ in range(runs):
            rate, scores = three(n)
            found = cal.compare(rng.uniform(size=n) < rate, scores)
            yield any(
                not one.lower <= truth[one.first, one.second][one.measure] <= one.upper for one in found.differences
            )

    assert_seldom(failed(), runs, 0.05)


@pytest.mark.slow
def test_costs_of_many_models_hold_together_where_few_rows_differ():
    """At 99%, where each limit has a tail of about .0001: rows that one model alone flags, mostly wrongly."""
    rng, runs, models, n = np.random.default_rng(6), 100, 10, 100
    gained, lost = 0.0056, 0.058  # chances that a model alone flags a positive, or a negative, in a row
    pairs, costs, measure = list(combinations(range(models), 2)), (1.0, 1.0), MEASURES["expected_cost"]
    truth = np.full(models, lost - gained)
    truth[0] = 0.0

    def missed():
        """Whether the interval of any pair leaves out the truth."""
        for _ in range(runs):
            y = rng.uniform(size=n) < 0.5
            flagged = rng.uniform(size=(models, n)) < np.where(y, 2.0 * gained, 2.0 * lost)
            flagged[0] = False
            scores = np.where(flagged, 0.6, 0.4)
            units = Units(n)
            terms = np.array([terms_of(measure, y, score, costs) for score in scores])
            critical = critical_value(terms[None], pairs, units, 0.005)
            limits = (
                paired_limits(
                    terms[two] - terms[one],
                    possible_changes(measure, y, [scores[one], scores[two]], costs),
                    critical,
                    units,
                )
                for one, two in pairs
            )
            yield any(
                not found.lower - 1e-9 <= truth[two] - truth[one] <= found.upper + 1e-9
                for found, (one, two) in zip(limits, pairs, strict=True)
            )

    assert_seldom(missed(), runs, 0.005)
