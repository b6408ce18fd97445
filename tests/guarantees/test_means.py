"""Bounds on errors of predicted means, as they are delivered, seldom fail; least favourable populations first."""

import numpy as np
import pytest

import calibrant as cal
from calibrant import certify
from support.counting import assert_failures_within
from support.mean_worlds import exponential, half_wrong, lognormal, one_score, pareto

DELTA = 0.05
ROUNDING = 1e-12
WRONG = ("upper, too low", "upper, too high", "lower, too low", "lower, too high", "bound", "lower bound")


def wrong(certificate, errors):
    """Which of the bounds are wrong."""
    low, high = errors
    return [
        certificate.too_low.upper < low - ROUNDING,
        certificate.too_high.upper < high - ROUNDING,
        certificate.too_low.lower > low + ROUNDING,
        certificate.too_high.lower > high + ROUNDING,
        certificate.bound < max(errors) - ROUNDING,
        certificate.lower_bound > max(errors) + ROUNDING,
    ]


def failures(world, n, runs, seed, **how):
    """How often each bound is wrong, of so many samples."""
    rng, errors, count = np.random.default_rng(seed), world.errors, np.zeros(len(WRONG), dtype=int)
    for _ in range(runs):
        outcome, prediction, exposure = world.draw(n, rng)
        count += wrong(certify(outcome, prediction, exposure=exposure, **how, kind="amount"), errors)
    return count


def assert_seldom_wrong(count, runs, skip=()):
    print({name: int(each) for name, each in zip(WRONG, count, strict=True)}, "of", runs)
    for name, each in zip(WRONG, count, strict=True):
        if name not in skip:
            assert_failures_within(int(each), runs, DELTA)


def atoms(point, n, runs, seed, **how):
    """The same of one prediction, and outcomes of 0, `a` and 1 with chances of the latter two."""
    chance, a, chance_a, predicted = point
    rng, mean, count = np.random.default_rng(seed), chance + a * chance_a, np.zeros(len(WRONG), dtype=int)
    errors = max(0.0, mean - predicted) / predicted, max(0.0, predicted - mean) / predicted
    for _ in range(runs):
        draw = rng.random(n)
        outcome = np.where(draw < chance, 1.0, np.where(draw < chance + chance_a, a, 0.0))
        count += wrong(certify(outcome, np.full(n, predicted), limits=(0, 1), **how, kind="amount"), errors)
    return count


def random_atoms(n, rng):
    """A prediction that is half of the mean, or too high, and outcomes of two or three values, some of them rare."""
    chance = 10.0 ** rng.uniform(np.log10(0.3 / n), np.log10(0.7))
    a, chance_a = 10.0 ** rng.uniform(-3.0, -0.1), rng.choice([0.0, 10.0 ** rng.uniform(-2.0, 0.0) * (1.0 - chance)])
    mean = chance + a * chance_a
    return chance, a, chance_a, float(rng.choice([0.5 * mean, min(1.0, 1.3 * mean)]))


# Those with most failures of some hundred that were looked at: at 1,000 rows and below betting, above it moments.
LEAST_FAVOURABLE = {
    "200 rows, frequent": ((0.421, 0.0013, 0.066, 0.548), 200),
    "200 rows, rare": ((0.0692, 0.179, 0.0, 0.0346), 200),
    "2,000 rows, frequent": ((0.369, 0.0232, 0.0, 0.48), 2_000),
    "2,000 rows, rare": ((0.00534, 0.0686, 0.856, 0.032), 2_000),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LEAST_FAVOURABLE)
def test_least_favourable_points(name):
    point, n = LEAST_FAVOURABLE[name]
    assert_seldom_wrong(atoms(point, n, 200, seed=5), 200)


@pytest.mark.slow
@pytest.mark.parametrize("how", [{}, {"method": "asymptotic"}], ids=["default", "asymptotic"])
@pytest.mark.parametrize("n", [200, 2_000])
def test_no_points_were_found_by_search(n, how):
    """Those with most failures of a first look are looked at again with fresh rows."""
    rng = np.random.default_rng(7)
    points = [random_atoms(n, rng) for _ in range(10)]
    first = np.array([atoms(point, n, 20, seed=1, **how) for point in points])
    for worst in {int(first[:, i].argmax()) for i in range(len(WRONG))}:
        assert_seldom_wrong(atoms(points[worst], n, 80, seed=2, **how), 80)


CAPPED = {
    "exponential": (one_score(0.03, 0.05, severity=exponential(20.0)), 20.0),
    "exponential, too high": (one_score(0.06, 0.05, severity=exponential(20.0)), 20.0),
    "lognormal": (one_score(0.05, 0.1, severity=lognormal(1.5, 30.0)), 30.0),
    "lognormal, half of the book": (half_wrong(0.1, 1.5, severity=lognormal(1.5, 30.0)), 30.0),
    "Pareto 1.2": (one_score(0.05, 0.1, severity=pareto(1.2, 30.0)), 30.0),
    "Pareto 2, half too high, exposed": (half_wrong(0.1, 0.6, severity=pareto(2.0, 30.0), exposed=True), 30.0),
    "counts, exposed": (half_wrong(0.2, 1.3, exposed=True), 20.0),
    "counts, over-dispersed, exposed": (half_wrong(0.2, 0.7, dispersion=2.0, exposed=True), 30.0),
    "counts, one score, exposed": (one_score(0.25, 0.2, exposed=True), 20.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CAPPED)
def test_capped_outcomes(name):
    world, cap = CAPPED[name]
    for n in (200, 2_000):
        assert_seldom_wrong(failures(world, n, 80, seed=3, limits=(0, cap)), 80)


@pytest.mark.slow
@pytest.mark.parametrize("index", [1.2, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("predicted", [0.03, 0.06])
def test_too_high_needs_no_cap(index, predicted):
    """Amounts of any tail; the other side is asymptotic, and said to be safe for an index of 1.5 and more."""
    skip = ("upper, too low", "bound") if index < 1.5 else ()
    for n, runs in ((200, 80), (2_000, 80), (20_000, 15)):
        world = one_score(predicted, 0.05, severity=pareto(index))
        assert_seldom_wrong(failures(world, n, runs, seed=4), runs, skip)


@pytest.mark.slow
@pytest.mark.parametrize("severity", [exponential(), lognormal(1.5)], ids=["exponential", "lognormal"])
def test_without_a_cap(severity):
    for n, runs in ((2_000, 80), (20_000, 15), (100_000, 5)):
        assert_seldom_wrong(failures(one_score(0.03, 0.05, severity=severity), n, runs, seed=4), runs)


@pytest.mark.slow
@pytest.mark.parametrize("how", [{}, {"method": "asymptotic"}], ids=["default", "asymptotic"])
@pytest.mark.parametrize("together", [0.0, 1.0])
def test_clusters_of_any_dependence(together, how):
    """Clusters of 1 to 9 rows with one prediction or two, that have claims together or apart."""
    rng, count = np.random.default_rng(6), np.zeros(len(WRONG), dtype=int)
    runs, clusters, chance = 80, 300, 0.2
    for _ in range(runs):
        cluster = np.repeat(np.arange(clusters), rng.integers(1, 10, clusters))
        prediction = np.where(rng.random(len(cluster)) < 0.5, 0.15, 0.25)
        draw = np.where(rng.random(clusters) < together, rng.random(clusters), np.nan)[cluster]
        outcome = np.where(np.isnan(draw), rng.random(len(cluster)), draw) < chance
        certificate = certify(
            outcome, prediction, cluster=cluster, limits=(0, 1), cluster_limit=9, **how, kind="amount"
        )
        count += wrong(certificate, (0.125, 0.125))  # of the rows at each prediction: 0.05 beside 0.2, of half of them
    assert_seldom_wrong(count, runs)


@pytest.mark.slow
@pytest.mark.parametrize("how", [{}, {"method": "asymptotic"}], ids=["default", "asymptotic"])
def test_clusters_with_a_limit(how):
    """At most one claim in each cluster of 1 to 9 rows, whose rows all have the same chance of it."""
    rng, count, runs, clusters = np.random.default_rng(9), np.zeros(len(WRONG), dtype=int), 80, 1_000
    rate, predicted = 1 / 18, np.array([0.04, 0.07])
    errors = np.maximum(0.0, np.array([rate - predicted[0], predicted[1] - rate])) * 0.5 / predicted.mean()
    for _ in range(runs):
        cluster = np.repeat(np.arange(clusters), rng.integers(1, 10, clusters))
        prediction = rng.choice(predicted, len(cluster))
        claims = rng.random(clusters) * 9 * 2  # in a cluster of m rows that of row k if it is between k and k + 1
        position = np.arange(len(cluster)) - np.searchsorted(cluster, cluster)
        outcome = (claims[cluster] // 1).astype(int) == position
        certificate = certify(outcome, prediction, cluster=cluster, cluster_limit=1, **how, kind="amount")
        count += wrong(certificate, errors)
    assert_seldom_wrong(count, runs)


PLANS = {
    "counts": (half_wrong(0.2, 1.0), {"frequency": 0.2, "cap": 50.0}, 0.15),
    "exponential": (
        one_score(0.1, 0.1, severity=exponential()),
        {"frequency": 0.1, "variation": 1.0, "cap": 200.0},
        0.2,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANS)
def test_planned_rows_certify(name):
    """As often as asked for, at least about: 80%."""
    world, plan, tolerance = PLANS[name]
    n = cal.plan("certify", kind="amount", tolerance=tolerance, **plan).n
    rng, missed, limits = np.random.default_rng(2), 0, (0, plan["cap"] * world.prediction.mean())
    for _ in range(40):
        outcome, prediction, _ = world.draw(n, rng)
        missed += certify(outcome, prediction, limits=limits, tolerance=tolerance, kind="amount").verdict != "certified"
    print(f"{name}: {n} rows, {missed} of 40 not certified")
    assert_failures_within(missed, 40, 0.2)


@pytest.mark.slow
def test_narrower_bounds_would_be_seen():
    """With a fifth of their width both bounds fail in the least favourable points."""
    point, n = LEAST_FAVOURABLE["2,000 rows, frequent"]
    chance, _, _, predicted = point
    rng, error, narrow, high = np.random.default_rng(1), (predicted - chance) / predicted, 0, 0
    for _ in range(120):
        outcome = (rng.random(n) < chance).astype(float)
        certificate = certify(outcome, np.full(n, predicted), limits=(0, 1), kind="amount")
        narrow += 0.8 * certificate.estimate + 0.2 * certificate.bound < error
        high += 0.8 * certificate.estimate + 0.2 * certificate.lower_bound > error
    for count in (narrow, high):
        with pytest.raises(AssertionError):
            assert_failures_within(count, 120, DELTA)


@pytest.mark.slow
def test_weights_of_rows_that_were_looked_at_by_chance():
    """Half of the cases have three times their risk and are seldom looked at; weights are 1 / the chance of that."""
    rng, runs, error = np.random.default_rng(1), 100, 0.1
    whole, tenth, unweighted = np.zeros(2, dtype=int), np.zeros(2, dtype=int), 0
    for _ in range(runs):
        bad, predicted = rng.random(20_000) < 0.5, rng.uniform(0.02, 0.18, 20_000)
        chance = np.where(bad, 0.02, 0.2)
        seen = rng.random(20_000) < chance
        label, predicted = (rng.random(20_000) < np.where(bad, 3.0, 1.0) * predicted)[seen], predicted[seen]
        how = {"limits": (0, 1), "relative_to": "exposure", "weight": 1.0 / chance[seen]}
        known = certify(label, predicted, **how, kind="amount")
        off, width = error - known.estimate, np.array([known.bound, known.lower_bound]) - known.estimate
        for part, missed in ((1.0, whole), (0.1, tenth)):
            missed += [off > part * width[0], off < part * width[1]]
        unweighted += certify(label, predicted).bound < error
    print(f"{whole} of {runs} missed, {tenth} by bounds of a tenth of the width, {unweighted} without weights")
    for count in whole:
        assert_failures_within(int(count), runs, DELTA)
    for count in (*tenth, unweighted):
        with pytest.raises(AssertionError):
            assert_failures_within(int(count), runs, DELTA)


@pytest.mark.slow
@pytest.mark.parametrize("cap", [None, 30.0])
def test_few_rows_with_the_largest_prediction(cap):
    """Right predictions but for four of 500 rows, the largest: limits must not be read off at the row that shows it."""
    rng, runs, count, chance, largest = np.random.default_rng(8), 150, np.zeros(len(WRONG), dtype=int), 4 / 500, 20.0
    error = chance * largest / (1.0 - chance + chance * largest)
    for _ in range(runs):
        wide = rng.random(500) < chance
        prediction, outcome = np.where(wide, largest, 1.0), np.where(wide, 0.0, 1.0)
        certificate = certify(outcome, prediction, limits=(0, cap), kind="amount")
        count += wrong(certificate, (0.0, error if wide.any() else 0.0))  # of the population up to the largest
    assert_seldom_wrong(count, runs)
