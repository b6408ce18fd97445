"""Right probabilities of several classes are seldom rejected, and errors are found as often as is said."""

import numpy as np
import pytest

from calibrant import calibration_test
from support.class_worlds import six_vectors, unseen
from support.counting import assert_failures_within, assert_seldom

LEVEL = 0.05


def drawn(proba, rng):
    return (proba.cumsum(axis=1) / proba.sum(axis=1, keepdims=True) <= rng.random((len(proba), 1))).sum(axis=1)


def p_values(make, repetitions, rng, **options):
    """Of samples whose labels are drawn from their probabilities."""
    for _ in range(repetitions):
        proba = make(rng)
        yield calibration_test(drawn(proba, rng), proba, classes=range(proba.shape[1]), **options)


WORLDS = {
    "distinct": lambda rng: rng.dirichlet([1, 1, 1], 30),
    "one vector": lambda rng: np.tile([0.5, 0.3, 0.2], (25, 1)),
    "ten classes, near certain": lambda rng: rng.dirichlet(np.full(10, 0.05), 40),
    "six vectors": lambda rng: six_vectors().proba[rng.integers(6, size=40)],
    "rare classes": lambda rng: np.tile(unseen(30, 0.1).rate, (40, 1)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["distinct", "one vector", "rare classes"])
def test_level_at_defaults(name):
    results = p_values(WORLDS[name], 40, np.random.default_rng(1))
    assert_seldom((result.p_value <= LEVEL for result in results), 40, LEVEL)


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_level_of_few_simulations(name):
    """The test is exact for every number of simulations: with 19 one value is at the level."""
    results = [r.p_value <= LEVEL for r in p_values(WORLDS[name], 300, np.random.default_rng(2), n_simulations=19)]
    print(f"{name}: {sum(results)} of 300 rejected")
    assert_failures_within(sum(results), 300, LEVEL)


def test_the_smallest_p_value_alone_would_be_seen():
    """Not judged in the simulations, it rejects far too often."""
    results = p_values(WORLDS["distinct"], 60, np.random.default_rng(3), n_simulations=39)
    rejected = sum(result.statistic <= LEVEL for result in results)
    with pytest.raises(AssertionError):
        assert_failures_within(rejected, 60, LEVEL)


def test_errors_that_no_single_class_shows_are_found():
    """Six vectors without any error by class, by confidence or by top label: SKCE sees them."""
    label, proba = six_vectors().draw(300, np.random.default_rng(4))
    result = calibration_test(label, proba, n_simulations=99)
    assert result.p_value <= 0.05
    assert result.smallest == "SKCE"


@pytest.mark.slow
def test_what_is_said_to_be_detectable_is_found():
    """An error of this size of one class, of the confidence, and a temperature, in samples of 400 rows."""
    rng = np.random.default_rng(5)
    proba = rng.dirichlet([1, 1, 1], 400)
    detectable = calibration_test(drawn(proba, rng), proba, n_simulations=399).detectable
    top, one_class = np.eye(3)[proba.argmax(axis=1)], proba[:, 1:2] / proba[:, 1].mean() * [1, -1, 0]
    gap = top - (1 - top) * proba / (1 - proba.max(axis=1, keepdims=True))
    worlds = {
        "temperature": proba ** (1 / detectable["temperature"]),
        "worst class": proba + detectable["worst class"] * one_class,
        "confidence": proba - detectable["confidence"] * gap,
    }
    for name, true in worlds.items():
        results = [calibration_test(drawn(true, rng), proba, n_simulations=99) for _ in range(10)]
        power = np.mean([result.p_value <= LEVEL for result in results])
        print(f"{name}: {power:.2f}")
        assert power > 0.6
