"""Maps of several classes pooled: what is left alone, what does not matter, manners of an estimator, and bad input."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_checks

from calibrant import ClassScores, DataError
from calibrant.calibrators import AutoCalibrator, IsotonicCalibrator, MulticlassAutoCalibrator
from calibrant.errors import ArgumentError
from calibrant.fits import pool
from calibrant.fits.class_maps import ClassMap, ClassSample, Identity, OneVsRest, Shared, softmax
from calibrant.fits.isotonic import Isotonic
from calibrant.fits.pool import MEMBERS, Auto

QUICK = ("temperature", "vector", "shared isotonic")


def draw(n, classes=3, power=1.0, seed=0):
    """Labels, and their probabilities to a power."""
    rng = np.random.default_rng(seed)
    true = softmax(rng.normal(size=(n, classes)) * 1.5)
    label = np.minimum((rng.random((n, 1)) > true.cumsum(axis=1)).sum(axis=1), classes - 1)
    return softmax(power * np.log(true)), label, true


def loss(proba, label):
    return float(-np.log(proba[np.arange(len(label)), label]).mean())


def test_sharp_probabilities_are_repaired():
    scores, label, true = draw(1500, power=2.5)
    fitted = MulticlassAutoCalibrator().fit(scores[:500], label[:500])
    mapped = fitted.predict(scores[500:])
    np.testing.assert_allclose(mapped.sum(axis=1), 1.0, rtol=1e-12)
    assert fitted.decision_ == "pooled"
    assert loss(mapped, label[500:]) < loss(true[500:], label[500:]) + 0.02 < loss(scores[500:], label[500:]) - 0.1
    assert fitted.members_ == ["identity", "temperature", "vector", "matrix", "shared isotonic", "auto", "isotonic"]
    assert len(fitted.weights_) == len(fitted.maps_) == 7
    assert fitted.weights_.sum() == pytest.approx(1.0)
    assert fitted.gain_ > 0.1
    assert fitted.reason_.startswith("Mixture of maps (identity ")
    assert fitted.interpret() == fitted.reason_


def test_a_class_that_was_next_to_impossible_is_noticed():
    """One such row raises the gain and the spread of gains alike."""
    scores, label, _ = draw(100)
    scores[0], label[0] = [1e-12, 0.5, 0.5], 0
    assert MulticlassAutoCalibrator(QUICK).fit(scores, label).decision_ == "pooled"


def test_right_probabilities_are_left_alone():
    scores, label, _ = draw(300)
    fitted = MulticlassAutoCalibrator(QUICK).fit(scores, label)
    assert fitted.decision_ == "left alone"
    assert fitted.weights_.tolist() == [1.0, 0.0, 0.0, 0.0]
    assert fitted.reason_.startswith("Left alone: log loss 0.")
    assert (
        "on 300 held-out rows by the best mixture of maps; their plain mean changes the log likelihood by -0."
        in fitted.reason_
    )
    assert fitted.reason_.endswith(", and a change takes more than +2.3.")
    np.testing.assert_array_equal(fitted.predict(scores), scores)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "classes"), [(200, 3), (100, 10)])
def test_right_probabilities_are_rarely_changed(n, classes):
    """Also with ten rows of a class; with folds that share classes out evenly 4 of 60 are changed."""
    decisions = []
    for seed in range(60):
        scores, label, _ = draw(n, classes, seed=seed)
        decisions.append(MulticlassAutoCalibrator(QUICK).fit(scores, label).decision_)
    assert decisions.count("pooled") <= 2


class Frequencies(ClassMap):
    """How often each class occurred, whatever the probabilities."""

    def fit_rows(self, sample):
        count = np.bincount(sample.code, minlength=sample.proba.shape[1]) + 1.0
        self.share_ = count / count.sum()
        return self

    def map_rows(self, proba):
        return np.broadcast_to(self.share_, proba.shape)


def test_a_map_that_learns_chance_does_not_look_right():
    """As it would on folds with the same share of each class."""
    rng = np.random.default_rng(0)
    rises = []
    for _ in range(100):
        sample = ClassSample(np.full((100, 10), 0.1), rng.integers(10, size=100))
        likelihood, *_ = pool._class_predictions([Identity(), Frequencies()], sample, 5, rng)
        rises.append(np.log(likelihood[1] / likelihood[0]).sum())
    assert np.mean(rises) < -3.0  # half of the free frequencies, 9 / 2, and somewhat more or less


def test_labels_must_be_ten_times_as_likely():
    """The ratio is that of the mean of all members, which no choice of weights has raised."""
    risen = {"pooled": [], "left alone": []}
    for seed in range(12):
        scores, label, _ = draw(100, power=1.0 + 0.1 * seed, seed=seed)
        fitted = MulticlassAutoCalibrator("temperature").fit(scores, label)
        risen[fitted.decision_].append(float(re.search(r"log likelihood by ([-+]\d+\.\d\d)", fitted.reason_)[1]))
        assert fitted.decision_ == "left alone" or fitted.gain_ > 0.0
    assert max(risen["left alone"]) <= 2.3 < min(risen["pooled"])


def test_the_order_of_the_rows_does_not_show():
    scores, label, _ = draw(120, power=2.0)
    order = np.random.default_rng(1).permutation(120)
    names = np.array(["ant", "bee", "cat"])[label]
    first = MulticlassAutoCalibrator(QUICK).fit(scores, label)
    expected = first.predict(scores)
    for fitted in (
        MulticlassAutoCalibrator(QUICK).fit(scores[order], label[order]),
        MulticlassAutoCalibrator(QUICK).fit(scores.tolist(), names.tolist()),
        MulticlassAutoCalibrator(QUICK).fit(ClassScores.from_scores(label, scores)),
    ):
        np.testing.assert_array_equal(fitted.predict(scores), expected)
    other = MulticlassAutoCalibrator(QUICK, random_state=1).fit(scores, label)
    assert not np.array_equal(other.weights_, first.weights_)


def test_names_of_columns():
    scores, label, _ = draw(60)
    frame = pd.DataFrame(scores, columns=["p_ant", "p_bee", "p_cat"])
    names = np.array(["ant", "bee", "cat"])[label]
    fitted = MulticlassAutoCalibrator(["temperature"]).fit(frame, names)
    assert fitted.classes_ == ["ant", "bee", "cat"]
    assert fitted.feature_names_in_.tolist() == frame.columns.tolist()
    np.testing.assert_array_equal(fitted.predict(frame), fitted.predict(scores))
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame[frame.columns[::-1]])


def test_columns_in_another_order_are_refused():
    scores, label, _ = draw(60)
    names = np.array(["ant", "bee", "cat"])[label]
    columns = dict(zip(["p_ant", "p_bee", "p_cat"], scores.T, strict=True))
    fitted = MulticlassAutoCalibrator(["temperature"]).fit(columns, names)
    np.testing.assert_array_equal(fitted.predict(columns), fitted.predict(scores))
    with pytest.raises(DataError, match="columns in the order of the classes ant, bee, cat, found columns p_cat"):
        fitted.predict(dict(reversed(columns.items())))


def test_manners_of_an_estimator():
    scores, label, _ = draw(80, power=2.0)
    calibrator = MulticlassAutoCalibrator(QUICK)
    assert clone(calibrator).get_params() == calibrator.get_params()
    with pytest.raises(NotFittedError):
        calibrator.predict(scores)
    assert calibrator.fit(scores, label) is calibrator
    assert calibrator.n_features_in_ == 3
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(calibrator)).predict(scores), calibrator.predict(scores))
    assert all(name.endswith("_") for name in vars(calibrator).keys() - calibrator.get_params().keys())
    for check in (
        estimator_checks.check_estimator_cloneable,
        estimator_checks.check_valid_tag_types,
        estimator_checks.check_estimator_repr,
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_parameters_default_constructible,
        estimator_checks.check_get_params_invariance,
        estimator_checks.check_set_params,
    ):
        check("MulticlassAutoCalibrator", MulticlassAutoCalibrator())


def test_one_vs_rest_and_shared_maps_by_hand():
    scores, label, _ = draw(100, power=2.0)
    sample = ClassSample(scores, label)
    each = [AutoCalibrator().fit(column, label == k).predict(column) for k, column in enumerate(scores.T)]
    by_hand = np.stack(each, axis=1)
    mapped = OneVsRest(Auto(), Identity()).fit_rows(sample).map_rows(scores)
    np.testing.assert_allclose(mapped, by_hand / by_hand.sum(axis=1, keepdims=True))
    one = IsotonicCalibrator().fit(scores.ravel(), np.eye(3)[label].ravel()).predict(scores.ravel()).reshape(-1, 3)
    mapped = Shared(Isotonic()).fit_rows(sample).map_rows(scores)
    np.testing.assert_allclose(mapped, one / one.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("name", MEMBERS)
def test_small_and_extreme_samples_give_probabilities(name):
    certain = np.eye(5)
    for scores, label in (
        (draw(8, 5)[0], np.array([0, 1, 2, 0, 1, 2, 0, 1])),  # two classes without rows
        (certain, np.array([0, 1, 2, 3, 0])),  # wrong once
        (draw(2, 5)[0], np.array([3, 3])),  # one class
        (np.full((3, 5), 0.2), np.array([0, 1, 4])),
    ):
        fitted = MulticlassAutoCalibrator([name]).fit(scores, label, classes=range(5))
        mapped = fitted.predict(np.vstack([scores, certain]))
        assert (mapped >= 0.0).all()
        np.testing.assert_allclose(mapped.sum(axis=1), 1.0)
        if (scores == 0.0).any():
            assert (mapped > 0.0).all()


def test_one_row_cannot_be_held_out():
    fitted = MulticlassAutoCalibrator().fit([[0.2, 0.3, 0.5]], [1], classes=[0, 1, 2])
    assert fitted.decision_ == "left alone"
    assert np.isnan(fitted.gain_)
    assert "cannot be held out" in fitted.reason_


def test_a_zero_that_was_wrong_counts_as_infinite():
    scores, label, _ = draw(60)
    scores[0], label[0] = [0.0, 0.5, 0.5], 0
    fitted = MulticlassAutoCalibrator(QUICK).fit(scores, label)
    assert fitted.gain_ == np.inf
    assert "infinite (a score of 0 was wrong)" in fitted.reason_
    assert (fitted.predict(scores) > 0.0).all()


def test_of_many_rows_a_part_is_held_out_once_and_of_very_many_some_are_used(monkeypatch):
    scores, label, _ = draw(900, power=2.0)
    monkeypatch.setattr(pool, "MANY", 500)
    fitted = MulticlassAutoCalibrator(["temperature"]).fit(scores, label)
    assert 120 < int(fitted.reason_.split(" held-out")[0].split()[-1]) < 240
    monkeypatch.setattr(pool, "MANY", 300)
    monkeypatch.setattr(pool, "_MOST", 3 * 300)
    fewer = MulticlassAutoCalibrator(["temperature"]).fit(scores, label)
    assert " on 300 held-out rows" in fewer.reason_
    assert fewer.training_.n == 900


def test_members_by_rows_and_classes():
    def default_members(rows, classes):
        return MulticlassAutoCalibrator()._named(rows, classes)

    assert default_members(40, 3) == ["temperature", "vector", "shared isotonic"]
    assert default_members(300, 3) == ["temperature", "vector", "matrix", "shared isotonic", "auto", "isotonic"]
    assert default_members(199, 20) == ["temperature", "vector", "shared isotonic", "auto"]
    assert default_members(10_000, 1000) == ["temperature", "bias", "shared isotonic"]
    assert default_members(300, 30) == ["temperature", "vector", "shared isotonic", "auto"]


@pytest.mark.slow
def test_a_thousand_classes():
    scores, label, _ = draw(300, 1000, power=2.0)
    fitted = MulticlassAutoCalibrator(["temperature", "shared isotonic"]).fit(scores, label, classes=range(1000))
    assert loss(fitted.predict(scores), label) < loss(scores, label) - 0.2


def test_two_classes():
    scores, label, _ = draw(100, 2, power=2.0)
    fitted = MulticlassAutoCalibrator().fit(scores, label)
    assert fitted.predict(scores).shape == (100, 2)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"members": ["platt"]}, "members out of 'temperature', .* found 'platt'"),
        ({"members": []}, "at least one, found none"),
        ({"n_folds": 1}, "n_folds to be a whole number, at least 2"),
        ({"random_state": "a"}, "random_state to be a whole number"),
    ],
)
def test_bad_parameters(parameters, message):
    scores, label, _ = draw(10)
    with pytest.raises(ArgumentError, match=message):
        MulticlassAutoCalibrator(**parameters).fit(scores, label)


def test_bad_rows():
    scores, label, _ = draw(40)
    fitted = MulticlassAutoCalibrator(["temperature"]).fit(scores, label)
    with pytest.raises(ArgumentError, match="labels for the probabilities"):
        MulticlassAutoCalibrator().fit(scores)
    with pytest.raises(ValueError, match="has 2 features, but MulticlassAutoCalibrator is expecting 3"):
        fitted.predict([[0.5, 0.5]])
    with pytest.raises(DataError, match="add up to 1"):
        fitted.predict([[0.5, 0.5, 0.5]])
    with pytest.raises(DataError, match="look like logits"):
        MulticlassAutoCalibrator().fit(np.log(scores) + 1.0, label)


def groups_of_rows(seed, groups=40, rows=25):
    """Right probabilities of three classes, of rows that share one random number by group."""
    rng = np.random.default_rng(seed)
    group, P = np.repeat(np.arange(groups), rows), rng.dirichlet([4.0, 4.0, 4.0], groups * rows)
    return P, (rng.random((groups, 1))[group] > np.cumsum(P, axis=1)).sum(axis=1), group


@pytest.mark.slow
def test_groups_stay_whole_and_count_as_one_row_where_a_change_is_decided():
    """Right probabilities are changed in none of six samples by group, and in most by row."""
    by_row, by_group = [], []
    for seed in range(6):
        P, y, group = groups_of_rows(seed)
        by_row.append(MulticlassAutoCalibrator().fit(P, y).decision_)
        by_group.append(MulticlassAutoCalibrator().fit(P, y, groups=group).decision_)
    assert by_row.count("pooled") >= 4
    assert by_group.count("pooled") == 0


def test_neither_order_nor_names_of_groups_matter_to_classes():
    P, y, group = groups_of_rows(0, 12, 6)
    order = np.random.default_rng(0).permutation(len(y))
    one = MulticlassAutoCalibrator().fit(P, y, groups=group)
    other = MulticlassAutoCalibrator().fit(P[order], y[order], groups=[f"g{i}" for i in group[order]])
    np.testing.assert_allclose(other.weights_, one.weights_, rtol=1e-6)
    assert other.reason_ == one.reason_
    with pytest.raises(ArgumentError, match="labels and probabilities together with groups"):
        MulticlassAutoCalibrator().fit(ClassScores.from_scores(y, P), groups=group)
