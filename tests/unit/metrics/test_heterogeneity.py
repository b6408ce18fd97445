"""Clusters compared with each other: each with the numbers of its own rows, and what is said of all of them."""

import json

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from calibrant.distributions.cluster_jackknife import random_effects
from calibrant.errors import ArgumentError
from calibrant.metrics import calibration_slope, cluster_heterogeneity, observed_expected_ratio, roc_auc_interval


@pytest.fixture(scope="module")
def rows():
    """Twelve hospitals of 20 to 150 patients; one has no event."""
    rng = np.random.default_rng(7)
    number = np.repeat(np.arange(12), np.r_[np.full(9, 20), 100, 120, 150])
    score = 1 / (1 + np.exp(1.5 - rng.standard_normal(len(number))))
    chance = 1 / (1 + np.exp(0.2 - rng.normal(0, 0.6, 12)[number] - np.log(score / (1 - score))))
    label = (rng.uniform(size=len(number)) < chance) & (number != 3)
    return label, score, np.array([f"Hospital {n + 1}" for n in number])


@pytest.fixture(scope="module")
def compared(rows):
    return cluster_heterogeneity(*rows)


@pytest.mark.slow
def test_each_cluster_has_the_numbers_of_its_rows(rows, compared):
    label, score, hospital = rows
    for i, name in enumerate(compared.observed_expected.cluster):
        own = hospital == name
        ratio = observed_expected_ratio(label[own], score[own])
        of = compared.observed_expected
        assert (of.value[i], of.lower[i], of.upper[i]) == (ratio.value, ratio.lower, ratio.upper)
        assert (of.n[i], of.positives[i]) == (own.sum(), label[own].sum())
        intercept = calibration_slope(label[own], score[own]).calibration_intercept
        np.testing.assert_allclose(compared.calibration_intercept.value[i], intercept, atol=1e-9)
    for i, name in enumerate(compared.roc_auc.cluster):
        own = hospital == name
        area, slope = roc_auc_interval(label[own], score[own]), calibration_slope(label[own], score[own])
        assert (compared.roc_auc.value[i], compared.roc_auc.lower[i]) == (area.value, area.lower)
        assert compared.calibration_slope.value[i] == slope.slope
        assert (compared.calibration_slope.lower[i], compared.calibration_slope.upper[i]) == slope.slope_interval


def test_names_are_in_order_and_small_clusters_left_out_of_slope_and_area(rows, compared):
    assert compared.observed_expected.cluster.tolist() == [f"Hospital {i}" for i in range(1, 13)]
    events = dict(zip(compared.observed_expected.cluster, compared.observed_expected.positives, strict=True))
    large = [name for name in compared.observed_expected.cluster if events[name] >= 10]
    assert len(large) == 3
    assert compared.roc_auc.cluster.tolist() == compared.calibration_slope.cluster.tolist() == large


def test_a_cluster_without_events_counts_as_it_is(compared):
    ratio, intercept = compared.observed_expected, compared.calibration_intercept
    assert (ratio.value[3], ratio.lower[3]) == (0.0, 0.0)
    assert intercept.value[3] == -np.inf < intercept.upper[3]
    assert 0 < ratio.prediction[0] < ratio.mean.lower < ratio.mean.value < ratio.mean.upper < ratio.prediction[1]


def test_intercept_is_the_logarithm_of_the_ratio_where_positives_are_rare(rows):
    label, score, hospital = rows
    rare = cluster_heterogeneity(
        np.repeat(label, 300) & (np.arange(300 * len(label)) % 300 == 0),
        np.repeat(score / 300, 300),
        np.repeat(hospital, 300),
    )
    ratio, intercept = rare.observed_expected, rare.calibration_intercept
    np.testing.assert_allclose(intercept.mean.value, np.log(ratio.mean.value), atol=0.01)
    np.testing.assert_allclose(intercept.prediction, np.log(ratio.prediction), atol=0.05)
    np.testing.assert_allclose(intercept.tau.value, ratio.tau.value, atol=0.01)


def test_intercepts_of_the_other_class_have_the_other_sign(rows, compared):
    label, score, hospital = rows
    own, other = (
        compared.calibration_intercept,
        cluster_heterogeneity(~label, 1 - score, hospital).calibration_intercept,
    )
    np.testing.assert_allclose(other.mean.value, -own.mean.value)
    np.testing.assert_allclose(other.prediction, [-own.prediction[1], -own.prediction[0]])
    np.testing.assert_allclose(other.tau.value, own.tau.value)


@pytest.mark.parametrize(("high", "low", "rate"), [(0.7, 0.1, 0.2), (0.9, 0.1, 0.5)])
def test_mean_intercept_where_risks_differ(high, low, rate):
    """A large hospital with high risks, well predicted, and seven small ones with low scores, where more is observed.

    The mean is that of hospitals. At the risks of all rows, no intercept gives the mean O:E of the second.
    """
    size = np.array([1000, *[40] * 7])
    label = np.concatenate([np.arange(n) < round(n * p) for n, p in zip(size, [high, *[rate] * 7], strict=True)])
    score, own = np.repeat([high, *[low] * 7], size), np.log(rate / (1 - rate) / low * (1 - low))
    between = cluster_heterogeneity(label, score, np.repeat(np.arange(8), size)).calibration_intercept
    np.testing.assert_allclose(between.value, [0.0, *[own] * 7], atol=1e-9)
    np.testing.assert_allclose(between.mean.value, 7 / 8 * own, rtol=0.3)
    assert between.mean.lower < 7 / 8 * own < between.mean.upper
    assert -2 * own < between.prediction[0] < between.mean.lower < between.mean.upper < between.prediction[1] < 4 * own


@pytest.mark.parametrize("scores", [np.ceil, np.zeros_like, np.ones_like], ids=["0 and 1", "0", "1"])
def test_scores_without_odds(rows, scores):
    label, score, hospital = rows
    of = cluster_heterogeneity(label, scores(score - 0.2), hospital)
    assert len(of.calibration_intercept.cluster) == 0
    assert "too few clusters with any variance" in str(of.observed_expected)


@pytest.mark.grid
@pytest.mark.parametrize("score", [0.0, 1e-300, 1e-6, 1.0])
def test_a_cluster_without_odds_has_no_intercept(rows, compared, score):
    label, scores, hospital = rows
    own = hospital == "Hospital 11"
    of = cluster_heterogeneity(label, np.where(own, score, scores), hospital).calibration_intercept
    assert "Hospital 11" not in of.cluster
    assert len(of.cluster) == 11
    assert np.isfinite([of.mean.value, of.mean.lower, of.mean.upper, *of.prediction, of.tau.upper]).all()


def test_areas_are_summarised_by_their_distance_to_one():
    """Five clusters of which one is told apart without error."""
    rng, label, cluster = np.random.default_rng(0), np.tile([0, 0, 1], 75), np.repeat(np.arange(5), 45)
    score = 1 / (1 + np.exp(-rng.standard_normal(225) - label * np.where(cluster == 0, 30, 2.5)))
    of = cluster_heterogeneity(label, score, cluster).roc_auc
    single = [roc_auc_interval(label[cluster == i], score[cluster == i]) for i in range(5)]
    distance, variance = 1 - of.value, np.mean([one.standard_error**2 for one in single])
    effects = random_effects(distance - 1, np.full(5, variance), 0.95, skew=1.0)
    mean, lower, upper, low, high = 1 - np.exp(effects.ends[[0, 2, 1, 4, 3]])
    np.testing.assert_allclose(of.value[0], 1.0)
    np.testing.assert_allclose(
        [of.mean.value, of.mean.lower, of.mean.upper, *of.prediction], [mean, lower, upper, low, high]
    )
    np.testing.assert_allclose(of.tau.value, effects.tau[0])
    assert 0 < low < lower < mean < upper < high < 1


@pytest.mark.parametrize("score", [0.3, None], ids=["one score", "no error"])
def test_areas_without_variance_have_no_summary(score):
    label, cluster = np.tile([0, 0, 1], 30), np.repeat(np.arange(3), 30)
    scores = 0.6 * label + np.random.default_rng(0).uniform(0.1, 0.3, 90) if score is None else np.full(90, score)
    of = cluster_heterogeneity(label, scores, cluster).roc_auc
    assert len(of.value) == 3
    assert of.summary_text == "too few clusters with any variance for a summary"
    assert np.isnan([of.mean.value, *of.prediction, of.tau.value]).all()


def test_numbers_in_names_may_be_long(rows):
    label, score, _ = rows
    names = np.array(["a" + "9" * 5000, "a1" + "0" * 5000, "a7", "a10", "a08", "9x"])
    of = cluster_heterogeneity(label, score, names[np.arange(len(label)) % 6]).observed_expected
    assert of.cluster.tolist() == names[[5, 2, 4, 3, 0, 1]].tolist()


@pytest.mark.slow
def test_order_of_rows_and_kind_of_names_do_not_matter(rows, compared):
    label, score, hospital = rows
    order = np.random.default_rng(0).permutation(len(label))
    again = cluster_heterogeneity(label[order], score[order], hospital[order])
    assert again.to_json() == compared.to_json()
    number = pd.Series(hospital, index=range(7, 7 + len(hospital))).str.removeprefix("Hospital ").astype(int)
    numbered = cluster_heterogeneity(label, score, number)
    assert numbered.roc_auc.mean == compared.roc_auc.mean
    assert numbered.observed_expected.cluster.tolist() == [str(i) for i in range(1, 13)]
    pairs = cluster_heterogeneity(label, score, [("north", int(i)) for i in number])
    assert pairs.observed_expected.cluster[:2].tolist() == ["north, 1", "north, 2"]


def test_few_clusters_have_no_summary(rows):
    label, score, _ = rows
    two = cluster_heterogeneity(label, score, np.arange(len(label)) % 2)
    assert np.isnan(two.roc_auc.mean.value)
    assert "too few clusters" in str(two.roc_auc)
    assert len(two.roc_auc.value) == 2
    json.loads(two.to_json())


def test_a_tau_of_zero_is_no_evidence():
    label, score = [0, 0, 1, 0, 0] * 30, [0.1, 0.2, 0.3, 0.2, 0.2] * 30
    alike = cluster_heterogeneity(label, score, [i // 25 for i in range(150)]).observed_expected
    assert alike.tau.value == 0.0
    assert "tau 0, without limits" in str(alike)
    assert "no evidence that clusters are alike" in str(alike)


@pytest.mark.slow
def test_edges():
    """Scores of 0 and 1, one score, clusters of one class, and clusters that are told apart without error."""
    rng = np.random.default_rng(0)
    score, cluster = rng.uniform(0.01, 0.6, 400), np.arange(400) % 8
    label = rng.uniform(size=400) < score
    for scores in (label * 1.0, np.where(label, 0.9, 0.1), np.full(400, 0.2), np.where(score > 0.5, 1.0, score)):
        json.loads(cluster_heterogeneity(label, scores, cluster).to_json())
    json.loads(cluster_heterogeneity(label, np.where(cluster == 0, 0.0, score), cluster).to_json())
    json.loads(cluster_heterogeneity(np.where(cluster == 1, 1, label), score, cluster).to_json())
    with pytest.raises(ArgumentError, match="confidence_level"):
        cluster_heterogeneity(label, score, cluster, confidence_level=1.5)


@pytest.mark.slow
def test_an_audit_compares_clusters_however_they_are_read(rows, compared, tmp_path):
    label, score, hospital = rows
    frame = pd.DataFrame({"y": label.astype(int), "p": score, "hospital": hospital, "country": "NL"})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    found = cal.audit(frame, outcome="y", prediction="p", cluster="hospital")
    assert found.heterogeneity.to_json() == compared.to_json()
    file = cal.audit(tmp_path / "rows.csv", outcome="y", prediction="p", cluster=["country", "hospital"])
    assert file.heterogeneity.roc_auc.mean == found.heterogeneity.roc_auc.mean
    assert file.heterogeneity.observed_expected.cluster[0] == "NL, Hospital 1"
    assert file.to_dict(curves=False)["heterogeneity"]["roc_auc"]["cluster"][0] == "NL, Hospital 10"
    used = len(compared.roc_auc.cluster)
    assert "in a new cluster" in str(found)
    assert f"({used} of 12 clusters, " in " ".join(found.details().split())


@pytest.mark.slow
def test_an_audit_compares_neither_few_nor_many_nor_empty_clusters(rows):
    label, score, _ = rows
    row = np.arange(len(label))
    assert cal.audit(label, score, cluster=row % 2).heterogeneity is None
    assert cal.audit(label, score, cluster=row % 250).heterogeneity is None
    assert cal.audit(label, score).heterogeneity is None
