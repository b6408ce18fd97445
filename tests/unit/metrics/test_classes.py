"""Errors of several classes against their definitions, with and without ties."""

import json
import math

import numpy as np
import pytest

from calibrant import ArgumentError, ClassScores
from calibrant.metrics import (
    class_sum_calibration,
    class_wise_calibration,
    confidence_calibration_error,
    cutoff_calibration,
    expected_calibration_error,
    multiclass_expected_calibration_error,
    top_label_calibration,
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
    top_label = top_label_calibration(label, proba, classes=names)
    assert top_label.total == pytest.approx(errors["top_label"], abs=1e-10)
    confidence = confidence_calibration_error(label, proba, classes=names)
    assert confidence == pytest.approx(errors["confidence"], abs=1e-11)
    assert confidence <= top_label.total + 1e-11
    assert top_label.share.sum() == pytest.approx(1.0)
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


def gaps_of_bins(right, score, n_bins):
    """Rows, and distances between rate and mean score, of bins of equal width, one after the other."""
    number = [min(n_bins - 1, math.floor(value * n_bins + 1e-12)) for value in score.tolist()]
    members = [[i for i, at in enumerate(number) if at == b] for b in range(n_bins)]
    return [(len(of), abs(right[of].mean() - score[of].mean())) for of in members if of]


def combine(bins, norm):
    rows = sum(n for n, _ in bins)
    if norm == "max":
        return max(gap for _, gap in bins)
    power = 1 if norm == "l1" else 2
    return (sum(n * gap**power for n, gap in bins) / rows) ** (1.0 / power)


@pytest.mark.parametrize("norm", ["l1", "l2", "max"])
@pytest.mark.parametrize("seed", range(4))
def test_errors_over_bins(seed, norm):
    label, proba = rows_at_random(seed, ties=seed % 2 == 0)
    names, top = list(range(proba.shape[1])), proba.argmax(axis=1)
    score, right = proba[np.arange(len(top)), top], label == top

    def found(average):
        keywords = {"classes": names, "average": average, "n_bins": 15, "strategy": "uniform", "norm": norm}
        return multiclass_expected_calibration_error(label, proba, **keywords)

    by_class = [bin for k in names for bin in gaps_of_bins(label == k, proba[:, k], 15)]
    by_label = [bin for k in set(top.tolist()) for bin in gaps_of_bins(right[top == k], score[top == k], 15)]
    assert found("class_wise") == pytest.approx(combine(by_class, norm))
    assert found("top_label") == pytest.approx(combine(by_label, norm))
    assert found("confidence") == pytest.approx(combine(gaps_of_bins(right, score, 15), norm))
    assert found("confidence") == pytest.approx(
        expected_calibration_error(right, score, n_bins=15, strategy="uniform", norm=norm)
    )


def test_confidence_over_bins_is_that_of_torchmetrics():
    """Its formula: boundaries at multiples of 1 / 15, bins closed below; norms as here."""
    label, proba = rows_at_random(5, ties=False)
    score, right = proba.max(axis=1), label == proba.argmax(axis=1)
    number = np.searchsorted(np.linspace(0.0, 1.0, 16), score, side="right") - 1
    n, hits, sums = (np.bincount(number, weights, 16) for weights in (None, right, score))
    gap = np.abs(hits - sums)[n > 0] / n[n > 0]
    weight = n[n > 0] / len(score)
    wanted = {"l1": (gap * weight).sum(), "l2": math.sqrt((gap**2 * weight).sum()), "max": gap.max()}
    for norm, value in wanted.items():
        result = multiclass_expected_calibration_error(
            label,
            proba,
            classes=list(range(proba.shape[1])),
            average="confidence",
            n_bins=15,
            strategy="uniform",
            norm=norm,
        )
        assert result == pytest.approx(value)


def test_the_mean_over_predicted_classes_alike_is_that_of_mapie():
    """Its formula: `num_bins` boundaries, so a bin less, and every predicted class with the same weight."""
    label, proba = rows_at_random(7, ties=False)
    score, top = proba.max(axis=1), proba.argmax(axis=1)
    errors, shares = [], []
    for k in set(top.tolist()):
        here, right = score[top == k], (label == top)[top == k]
        number = np.digitize(here, np.linspace(0.0, 1.0, 50), right=True)
        gaps = [abs(right[number == b].sum() - here[number == b].sum()) for b in set(number.tolist())]
        errors.append(sum(gaps) / len(here))
        shares.append(len(here) / len(label))
        ours = expected_calibration_error(right, here, n_bins=49, strategy="uniform")
        assert errors[-1] == pytest.approx(ours)
    result = multiclass_expected_calibration_error(
        label, proba, classes=list(range(proba.shape[1])), average="top_label", n_bins=49, strategy="uniform"
    )
    assert result == pytest.approx(np.dot(errors, shares))
    assert result != pytest.approx(np.mean(errors))


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


def test_errors_of_arguments():
    label, proba = calibrated(4, 30, np.random.default_rng(3))
    with pytest.raises(ArgumentError, match="average"):
        multiclass_expected_calibration_error(label, proba, average="macro")
    with pytest.raises(ArgumentError, match="norm"):
        multiclass_expected_calibration_error(label, proba, norm="l3")
