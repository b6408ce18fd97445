"""Errors of several classes against their definitions, with and without ties."""

import json
import math

import numpy as np
import pytest

from calibrant import ClassScores, certify
from calibrant.metrics import (
    class_sum_calibration,
    class_wise_calibration,
    confidence_calibration_error,
    cutoff_calibration,
)
from calibrant.metrics.classes import pooled_error
from support.class_worlds import errors_of_rows, largest_over_intervals, six_vectors


def rows_at_random(seed, *, ties):
    rng = np.random.default_rng(seed)
    n, classes = int(rng.integers(2, 50)), int(rng.integers(2, 6))
    proba = rng.dirichlet(np.ones(classes), n)
    if ties:
        proba = rng.multinomial(4, proba) / 4.0
    return rng.integers(classes, size=n), proba


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(30))
def test_errors_are_those_of_the_definition(seed, ties):
    label, proba = rows_at_random(seed, ties=ties)
    n, classes = proba.shape
    names = list(range(classes))
    errors = errors_of_rows(label, proba)
    by_class = class_wise_calibration(label, proba, classes=names)
    each = [largest_over_intervals(proba[:, k], (label == k) - proba[:, k]) / n for k in names]
    assert np.allclose(by_class.error, each, atol=1e-11)
    assert by_class.worst == pytest.approx(errors["worst_class"], abs=1e-11)
    assert by_class.total == pytest.approx(errors["sum"], abs=1e-10)
    top_label = certify(label, proba, classes=names, notion="top_label").estimate
    assert top_label == pytest.approx(errors["top_label"], abs=1e-10)
    confidence = confidence_calibration_error(label, proba, classes=names)
    assert confidence == pytest.approx(errors["confidence"], abs=1e-11)
    assert confidence <= top_label + 1e-11
    pooled = pooled_error(ClassScores.from_scores(label, proba, classes=names))
    assert pooled == pytest.approx(errors["pooled"], abs=1e-10)
    assert pooled <= by_class.total + 1e-10


@pytest.mark.parametrize("seed", range(5))
def test_of_two_classes_both_have_the_error_of_the_second(seed):
    rng = np.random.default_rng(seed)
    score = np.round(rng.uniform(size=300), int(rng.integers(1, 8)))
    label = (rng.uniform(size=300) < score**2).astype(int)
    binary = cutoff_calibration(label, score)
    by_class = class_wise_calibration(label, np.column_stack([1.0 - score, score]))
    assert by_class.error[1] == binary.value
    assert by_class.error[0] == pytest.approx(binary.value, abs=1e-11)
    assert (by_class.low[1], by_class.high[1]) == binary.interval
    assert by_class.direction[1] == binary.direction
    assert by_class.mean_predicted[1] == pytest.approx(score.mean())


def test_a_class_against_the_rest_is_the_binary_error_to_the_last_bit():
    label, proba = rows_at_random(3, ties=False)
    result = class_wise_calibration(label, proba, classes=list(range(proba.shape[1])))
    for k, error in enumerate(result.error):
        if abs(proba.sum(axis=1) - 1.0).max() < 1e-12:
            assert error == cutoff_calibration(label == k, proba[:, k]).value


def test_six_vectors_have_no_error_that_these_measures_see():
    """What docs/reference/classes.md says: right by class and by top label is not right as a whole."""
    world = six_vectors()
    assert all(error == pytest.approx(0.0, abs=1e-15) for error in world.errors().values())
    assert np.abs(world.rate - world.proba).sum(axis=1).min() > 0.5


def test_what_is_shown():
    label, proba = np.arange(60) % 30, np.full((60, 30), 1.0 / 30.0)
    result = class_wise_calibration(label, proba)
    assert "... and 10 more classes" in str(result)
    assert result.total == pytest.approx(0.0, abs=1e-10)
    assert json.loads(result.to_json())["n"] == 60
    assert len(result.to_frame()) == 30
    assert "<table>" in result._repr_html_()


def calibrated(classes, n, rng, sharper=1.0):
    logits = 3.2 * rng.normal(size=(n, classes))
    proba, shown = (np.exp(factor * logits) for factor in (1.0, sharper))
    proba, shown = (each / each.sum(axis=1, keepdims=True) for each in (proba, shown))
    return np.minimum(classes - 1, (proba.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)), shown


def test_sum_is_on_average_zero_where_probabilities_are_right():
    rng = np.random.default_rng(0)
    sums = [class_sum_calibration(*calibrated(8, 400, rng), classes=list(range(8))) for _ in range(40)]
    judged = np.array([each.cross_fitted for each in sums])
    assert abs(judged.mean()) < 4.0 * judged.std() / math.sqrt(40)
    total, null = (np.mean([getattr(each, name) for each in sums]) for name in ("total", "null_mean"))
    assert total == pytest.approx(null, rel=0.08)
    assert total > 0.1


def test_sum_shows_errors_without_the_part_that_is_chance():
    label, proba = calibrated(10, 5000, np.random.default_rng(1), sharper=1.5)
    result = class_sum_calibration(label, proba)
    assert result.total == class_wise_calibration(label, proba).total
    assert 0.0 < result.total - result.null_mean < result.cross_fitted < result.total
    order = np.random.default_rng(2).permutation(5000)
    assert class_sum_calibration(label[order], proba[order]) == result
    assert class_sum_calibration(label, proba, random_state=1).cross_fitted != result.cross_fitted
    assert (result.n, result.n_classes) == (5000, 10)
