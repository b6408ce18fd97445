"""Statements that allow for unseen clusters keep their probability: few, unequal ones, rare events, shared outcomes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from calibrant.certificates import calibration_test, certify
from calibrant.certificates.clusters import clustered
from calibrant.errors import DataError
from calibrant.table.clusters import cluster_rows
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes
from support.counting import assert_failures_within, assert_seldom, decided

# Labels, scores, groups and the true error.
Sample = tuple[np.ndarray, np.ndarray, np.ndarray, float]


def equal(n_clusters: int, rows: int = 20) -> np.ndarray:
    return np.repeat(np.arange(n_clusters), rows)


def unequal(n_clusters: int, rng) -> np.ndarray:
    """Sizes with a heavy tail: P(m > x) about (3 / x)^1.5, at most 400."""
    sizes = np.minimum(np.ceil(3 * (1 - rng.random(n_clusters)) ** (-1 / 1.5)), 400)
    return np.repeat(np.arange(n_clusters), sizes.astype(int))


def single_rows(n_clusters, rng) -> Sample:
    return (rng.random(n_clusters) < 0.6) * 1, np.full(n_clusters, 0.5), np.arange(n_clusters), 0.1


def one_outcome(n_clusters, rng) -> Sample:
    """All rows of a group share their outcome; the calibration error is .1 by the one score."""
    g = equal(n_clusters)
    return (rng.random(n_clusters) < 0.6)[g] * 1, np.full(len(g), 0.5), g, 0.1


def one_outcome_unequal(n_clusters, rng) -> Sample:
    g = unequal(n_clusters, rng)
    return (rng.random(n_clusters) < 0.6)[g] * 1, np.full(len(g), 0.5), g, 0.1


def size_matters(n_clusters, rng) -> Sample:
    """A fifth of the groups has 20 rows and a rate of .8, the others one row and .3: (.2 20 .3 - .8 .2) / 4.8."""
    big = rng.random(n_clusters) < 0.2
    g = np.repeat(np.arange(n_clusters), np.where(big, 20, 1))
    return (rng.random(n_clusters) < np.where(big, 0.8, 0.3))[g] * 1, np.full(len(g), 0.5), g, 1.04 / 4.8


def small_groups_are_wrong(n_clusters, rng) -> Sample:
    """A fifth of the groups has 20 right rows, the others two at .2 with a rate of .7: .8 2 .5 / 5.6."""
    big = rng.random(n_clusters) < 0.2
    g = np.repeat(np.arange(n_clusters), np.where(big, 20, 2))
    y = (rng.random(n_clusters) < 0.7)[g] & ~big[g]
    return y * 1, np.where(big[g], 0.0, 0.2), g, 0.8 / 5.6


def calibrated(n_clusters, rng) -> Sample:
    """Scores differ within a group, one uniform number decides all its outcomes."""
    g = equal(n_clusters)
    s = rng.random(len(g))
    return (rng.random(n_clusters)[g] < s) * 1, s, g, 0.0


def calibrated_unequal(n_clusters, rng) -> Sample:
    g = unequal(n_clusters, rng)
    s = np.clip(rng.random(n_clusters)[g] + 0.1 * (rng.random(len(g)) - 0.5), 0.0, 1.0)
    return (rng.random(n_clusters)[g] < s) * 1, s, g, 0.0


def two_sides(n_clusters, rng) -> Sample:
    """Rows come in pairs, s and 1 - s, with opposite outcomes, as for two parties of one race."""
    g = equal(n_clusters)
    s = np.clip(rng.random(n_clusters)[g] + 0.05 * rng.standard_normal(len(g)), 0.0, 1.0)
    first = np.arange(len(g)) % 2 == 0
    won = rng.random(n_clusters)[g] < s
    return np.where(first, won, ~won) * 1, np.where(first, s, 1.0 - s), g, 0.0


def over_and_under(n_clusters, rng) -> Sample:
    """Half of the groups is overconfident, the other half underconfident by as much."""
    g = equal(n_clusters)
    s = rng.random(len(g))
    lean = rng.choice([-0.8, 0.8], n_clusters)[g]
    rate = s + lean * np.minimum(s, 1.0 - s) * np.sign(s - 0.5)
    return (rng.random(len(g)) < rate) * 1, s, g, 0.0


def hospitals(n_clusters, rng) -> Sample:
    """Rows depend on each other a little: rates are .05 too high on average, and differ by hospital."""
    g = unequal(n_clusters, rng)
    s = 0.1 + 0.8 * rng.random(len(g))
    return (rng.random(len(g)) < s + 0.05 + rng.choice([-0.05, 0.05], n_clusters)[g]) * 1, s, g, 0.05


def rare(expected: float, *, mean_predicted: bool, tails: bool = False) -> Callable[[int, np.random.Generator], Sample]:
    """So many clusters are expected to show an event, in all their rows; the scores predict it, or do not."""

    def draw(n_clusters, rng) -> Sample:
        g = unequal(n_clusters, rng) if tails else equal(n_clusters)
        p = expected / n_clusters
        return (rng.random(n_clusters) < p)[g] * 1, np.full(len(g), p * mean_predicted), g, p * (not mean_predicted)

    return draw


def seldom_not(n_clusters, rng) -> Sample:
    """Three clusters are expected to show a positive, where half of all rows are predicted to."""
    g, p = equal(n_clusters), 3.0 / n_clusters
    return (rng.random(n_clusters) < p)[g] * 1, np.full(len(g), 0.5), g, 0.5 - p


def noise_and_rare(n_clusters, rng) -> Sample:
    """Independent calibrated rows, and as many that should never be positive but are in about three groups."""
    g, p = equal(n_clusters, 40), 2.9 / n_clusters
    noise = np.arange(len(g)) % 2 == 0
    s = np.where(noise, 0.3 + 0.4 * rng.random(len(g)), 0.0)
    return np.where(noise, rng.random(len(g)) < s, (rng.random(n_clusters) < p)[g]) * 1, s, g, p / 2


def outbreaks(expected: float, base: float, *, mean_predicted: bool) -> Callable[[int, np.random.Generator], Sample]:
    """In so many clusters all rows are positive, in the others few, each by itself, at the one score of all rows.

    Where no group of the sample shows it, rows seem independent, and nothing hints at it.
    """

    def draw(n_clusters, rng) -> Sample:
        g, q = equal(n_clusters), expected / n_clusters
        y = (rng.random(n_clusters) < q)[g] | (rng.random(len(g)) < base)
        rise = q * (1.0 - base)
        return y * 1, np.full(len(g), base + rise * mean_predicted), g, rise * (not mean_predicted)

    return draw


WORLDS = {
    "outbreaks not predicted 2": outbreaks(2.0, 0.02, mean_predicted=False),
    "outbreaks not predicted 2.4": outbreaks(2.4, 0.01, mean_predicted=False),
    "outbreaks among noise": outbreaks(1.8, 0.1, mean_predicted=False),
    "outbreaks predicted 1.5": outbreaks(1.5, 0.02, mean_predicted=True),
    "outbreaks predicted 2": outbreaks(2.0, 0.02, mean_predicted=True),
    "single rows": single_rows,
    "one outcome": one_outcome,
    "one outcome, unequal": one_outcome_unequal,
    "size matters": size_matters,
    "small groups are wrong": small_groups_are_wrong,
    "calibrated": calibrated,
    "calibrated, unequal": calibrated_unequal,
    "two sides": two_sides,
    "over and under": over_and_under,
    "hospitals": hospitals,
    "never predicted 2.9": rare(2.9, mean_predicted=False),
    "never predicted 5": rare(5.0, mean_predicted=False),
    "never predicted 2.9, unequal": rare(2.9, mean_predicted=False, tails=True),
    "predicted 1": rare(1.0, mean_predicted=True),
    "predicted 3": rare(3.0, mean_predicted=True),
    "predicted 8": rare(8.0, mean_predicted=True),
    "predicted 3, unequal": rare(3.0, mean_predicted=True, tails=True),
    "predicted 8, unequal": rare(8.0, mean_predicted=True, tails=True),
    "seldom not": seldom_not,
    "noise and rare": noise_and_rare,
}
CALIBRATED = [name for name, draw in WORLDS.items() if draw(10, np.random.default_rng(0))[3] == 0.0]


def samples(name: str, n_clusters: int, repetitions: int) -> Iterator[Sample]:
    """Samples with clusters worth at least 5; others are refused, and then nothing is said."""
    rng = np.random.default_rng([n_clusters, *name.encode()])
    for _ in range(repetitions):
        y, s, g, error = WORLDS[name](n_clusters, rng)
        sizes = np.bincount(g)
        if sizes.sum() ** 2 >= 5 * (sizes**2).sum():
            yield y, s, g, error


# No group of these worlds has more rows, so that errors are those of all rows.
_NO_CAP = 400


def check(name: str, n_clusters: int, repetitions: int) -> None:
    failures, proved, said = np.zeros(4, dtype=int), 0, 0
    for y, s, g, error in samples(name, n_clusters, repetitions):
        rows = {"cluster": g, "cluster_cap": _NO_CAP, "unseen_clusters": True}
        bound = certify(y, s, method="asymptotic", n_simulations=99, **rows)
        interval = certify(y, s, method="asymptotic", n_simulations=99, confidence_level=0.975, **rows)
        failures += (
            bound.bound < error - 1e-9,
            bound.lower_bound > error + 1e-9,
            not interval.lower_bound - 1e-9 <= error <= interval.bound + 1e-9,
            error == 0.0 and calibration_test(y, s, method="asymptotic", n_simulations=99, **rows).p_value <= 0.05,
        )
        interval = certify(y, s, n_simulations=99, **rows)
        proved += not interval.lower_bound - 1e-9 <= error <= interval.bound + 1e-9
        said += 1
        if decided(failures, said, repetitions, 0.05).all() and decided(proved, said, repetitions, 0.1):
            break
    for count in failures.tolist():
        assert_failures_within(count, said, 0.05)
    assert_failures_within(proved, said, 0.1)


@pytest.mark.parametrize("n_clusters", [10, 40])
@pytest.mark.parametrize("name", WORLDS)
def test_statements_hold(name, n_clusters):
    check(name, n_clusters, 15)


@pytest.mark.slow
@pytest.mark.parametrize("n_clusters", [10, 20, 100, 400])
@pytest.mark.parametrize("name", WORLDS)
def test_statements_hold_in_many_samples(name, n_clusters):
    check(name, n_clusters, 60 if n_clusters < 100 else 30)


def upper_failures(name: str, n_clusters: int, repetitions: int, width: Callable) -> Iterator[bool]:
    """Whether the error is above the empirical one by more than a width of the clustered rows."""
    for y, s, g, error in samples(name, n_clusters, repetitions):
        found = clustered(cluster_rows(y, s, g), unseen=True)
        yield extremes(cumulative_residuals(found.rows.table)).value + width(found) < error - 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("name", ["one outcome", "size matters"])
def test_a_third_of_the_width_is_caught(name):
    assert_seldom(upper_failures(name, 400, 150, lambda found: found.upper_width(0.05)), 150, 0.05)
    with pytest.raises(AssertionError, match="failures"):
        assert_seldom(upper_failures(name, 400, 150, lambda found: found.upper_width(0.05) / 3), 150, 0.05)


@pytest.mark.slow
def test_without_the_term_for_hidden_events_the_bound_fails():
    """About three groups are expected to show an event: exp(-2.9) of the samples have none, others one."""
    with pytest.raises(AssertionError, match="failures"):
        assert_seldom(upper_failures("never predicted 2.9", 60, 200, lambda found: 1.7 * found.spread), 200, 0.05)


@pytest.mark.parametrize("name", ["one outcome", "one outcome, unequal"])
def test_taking_rows_as_independent_is_caught(name):
    missed = (certify(y, s, method="asymptotic").bound < error for y, s, _, error in samples(name, 100, 100))
    with pytest.raises(AssertionError, match="failures"):
        assert_seldom(missed, 100, 0.05)


def rejected(name: str, n_clusters: int, repetitions: int, p_value: Callable) -> Iterator[bool]:
    return (p_value(y, s, g) <= 0.05 for y, s, g, _ in samples(name, n_clusters, repetitions))


def test_a_test_of_independent_rows_rejects_too_often():
    of_rows = rejected("calibrated", 100, 60, lambda y, s, g: calibration_test(y, s, n_simulations=99).p_value)
    with pytest.raises(AssertionError, match="failures"):
        assert_seldom(of_rows, 60, 0.05)


def test_the_test_finds_errors():
    """A test that never rejected would be valid and useless; with 400 groups an error of .1 is beyond doubt."""
    drawn = samples("one outcome", 400, 50)
    p = [
        calibration_test(y, s, method="asymptotic", cluster=g, n_simulations=99, cluster_cap=_NO_CAP).p_value
        for y, s, g, _ in drawn
    ]
    assert sum(value <= 0.05 for value in p) >= 40


@pytest.mark.slow
@pytest.mark.parametrize("name", ["outbreaks not predicted 2", "outbreaks among noise"])
def test_without_a_term_for_what_no_cluster_has_shown_the_bound_fails(name):
    missed = upper_failures(name, 100, 300, lambda found: found.upper_width(0.05) - found.hidden(0.05))
    with pytest.raises(AssertionError, match="failures"):
        assert_seldom(missed, 300, 0.05)


@pytest.mark.slow
def test_statements_are_of_use():
    """200 groups of 50 rows that hardly depend on each other.

    To the width of 10,000 independent rows comes what groups may still hide, 1 - .05^(1/200) = .0149.
    """
    rng = np.random.default_rng(0)
    g = equal(200, 50)
    s = rng.random(len(g))
    y = (rng.random(len(g)) < s) * 1
    both = {"cluster": g, "unseen_clusters": True}
    grouped, plain = certify(y, s, method="asymptotic", **both), certify(y, s, method="asymptotic")
    assert plain.width < grouped.width < 0.0149 + 1.25 * plain.width
    ordinary = certify(y, s, method="asymptotic", cluster=g)
    assert 0.75 * plain.width < ordinary.width < 1.25 * plain.width
    interval = certify(y, s, method="asymptotic", confidence_level=0.975, **both)
    assert interval.bound - interval.lower_bound < 0.045
    # Shares of .25 of too many positives in half of the scores: an error of about .1, in groups that share outcomes.
    y, s, g, _ = one_outcome(400, rng)
    found = certify(y, s, method="asymptotic", cluster=g, tolerance=0.02)
    assert found.verdict == "refuted"
    assert found.bound < 0.18
    assert calibration_test(y, s, method="asymptotic", cluster=g).p_value <= 0.05


def amounts_of_clusters(n_clusters, rng, heavy):
    """Right predictions of clusters of unequal sizes with a common factor, and rows with one of their own."""
    g = unequal(n_clusters, rng)
    predicted = np.exp(0.5 * rng.standard_normal(len(g)))
    own = np.exp(1.5 * rng.standard_normal(len(g)) - 1.125) if heavy else rng.gamma(2.0, 0.5, len(g))
    return predicted * rng.gamma(4.0, 0.25, n_clusters)[g] * own, predicted, g


def classes_of_clusters(n_clusters, rng, rare):
    """Right probabilities of three classes, one uniform number of each cluster decides all of its labels."""
    g = unequal(n_clusters, rng)
    proba = rng.dirichlet([20.0, 0.4, 0.4] if rare else [1.0, 1.0, 1.0], len(g))
    return (proba.cumsum(axis=1) < rng.random(n_clusters)[g][:, None]).sum(axis=1), proba, g


OF_MANY_NUMBERS = {
    "amounts": (amounts_of_clusters, False, {"kind": "amount"}),
    "heavy amounts": (amounts_of_clusters, True, {"kind": "amount"}),
    "classes": (classes_of_clusters, False, {"classes": [0, 1, 2]}),
    "rare classes": (classes_of_clusters, True, {"classes": [0, 1, 2]}),
}


def count_rejected(draw, how, asked, n_clusters, runs, seed, wrong=None, clustered=True):
    """Count rejections at 5%; where clusters are worth fewer than five of equal size there is no test."""
    rng, count = np.random.default_rng(seed), 0
    for _ in range(runs):
        outcome, predicted, g = draw(n_clusters, rng, how)
        given = predicted if wrong is None else wrong(predicted)
        try:
            further = {"cluster": g} if clustered else {}
            count += calibration_test(outcome, given, n_simulations=199, **asked, **further).p_value <= 0.05
        except DataError:
            continue
    return count


@pytest.mark.slow
@pytest.mark.parametrize("n_clusters", [12, 30, 200])
@pytest.mark.parametrize("kind", OF_MANY_NUMBERS)
def test_right_amounts_and_classes_of_clusters_are_seldom_rejected(kind, n_clusters):
    draw, how, asked = OF_MANY_NUMBERS[kind]
    runs = 300 if n_clusters < 200 else 150
    count = count_rejected(draw, how, asked, n_clusters, runs, 20)
    print(f"{kind}, {n_clusters} clusters: {count} of {runs}")
    assert_failures_within(count, runs, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["amounts", "classes"])
def test_without_their_clusters_they_would_be_and_wrong_ones_are(kind):
    draw, how, asked = OF_MANY_NUMBERS[kind]
    runs, samples = 40, 100
    as_rows = count_rejected(draw, how, asked, 30, samples, 21, clustered=False)

    def wrong(predicted):
        return 1.6 * predicted if kind == "amounts" else predicted**2 / (predicted**2).sum(axis=1, keepdims=True)

    found = count_rejected(draw, how, asked, 200, runs, 22, wrong)
    print(f"{kind}: as rows {as_rows} of {samples}, wrong {found} of {runs}")
    assert found > 0.8 * runs
    with pytest.raises(AssertionError):
        assert_failures_within(as_rows, samples, 0.05)
