"""Classifiers of several classes with a calibrator: against the same done by hand, and classes that folds lack."""

from itertools import permutations

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import get_scorer, log_loss
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from calibrant import DataError
from calibrant.calibrators import CalibratedClassifier, MulticlassAutoCalibrator
from calibrant.fits.class_maps import softmax

QUICK = MulticlassAutoCalibrator(["temperature", "shared isotonic"])


def rows(n=300, classes=3, seed=0):
    return make_classification(n, 6, n_informative=4, n_redundant=0, n_classes=classes, flip_y=0.2, random_state=seed)


def test_one_calibrator_of_out_of_fold_scores():
    X, y = rows()
    model = CalibratedClassifier(GaussianNB(), QUICK).fit(X, y)
    scores = cross_val_predict(GaussianNB(), X, y, cv=StratifiedKFold(5), method="predict_proba")
    by_hand = clone(QUICK).fit(scores, y).predict(GaussianNB().fit(X, y).predict_proba(X))
    np.testing.assert_allclose(model.predict_proba(X), by_hand, rtol=1e-9)
    assert len(model.pairs_) == 1
    assert model.classes_.tolist() == [0, 1, 2]
    assert sklearn.utils.get_tags(model).classifier_tags.multi_class


def test_ensemble_is_a_mean():
    X, y = rows()
    model = CalibratedClassifier(GaussianNB(), QUICK, cv=3, ensemble=True).fit(X, y)
    total = np.zeros((len(y), 3))
    for train, test in StratifiedKFold(3).split(X, y):
        inner = GaussianNB().fit(X[train], y[train])
        total += clone(QUICK).fit(inner.predict_proba(X[test]), y[test]).predict(inner.predict_proba(X))
    np.testing.assert_allclose(model.predict_proba(X), total / 3, rtol=1e-9)
    assert len(model.pairs_) == 3


def test_margins_become_shares():
    X, y = rows()
    inner = RidgeClassifier().fit(X[:150], y[:150])
    model = CalibratedClassifier(FrozenEstimator(inner), QUICK).fit(X[150:], y[150:])
    margins = inner.decision_function(X[150:])
    scale = np.sqrt((margins**2).mean())
    by_hand = clone(QUICK).fit(softmax(margins / scale), y[150:]).predict(softmax(inner.decision_function(X) / scale))
    np.testing.assert_allclose(model.predict_proba(X), by_hand, rtol=1e-9)


@pytest.mark.slow
def test_naive_bayes_on_digits_keeps_its_accuracy():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:900], order[900:]
    plain = GaussianNB().fit(X[train], y[train])
    model = CalibratedClassifier(GaussianNB()).fit(X[train], y[train])
    assert isinstance(model.pairs_[0].calibrator, MulticlassAutoCalibrator)
    assert log_loss(y[test], model.predict_proba(X[test])) < 0.3 * log_loss(y[test], plain.predict_proba(X[test]))
    assert model.score(X[test], y[test]) > plain.score(X[test], y[test]) - 0.01


def test_a_class_that_the_calibration_rows_lack_keeps_its_column():
    """CalibratedClassifierCV of scikit-learn 1.9.1 raises an IndexError when this one predicts."""
    X, y = rows(classes=4)
    names = np.array(["ant", "bee", "cat", "dog"])[y]
    inner = GaussianNB().fit(X[:150], names[:150])
    use = np.flatnonzero((names != "dog") & (np.arange(300) >= 150))
    model = CalibratedClassifier(FrozenEstimator(inner), QUICK).fit(X[use], names[use])
    assert model.classes_.tolist() == ["ant", "bee", "cat", "dog"]
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert (p[:, 3] > 0.0).all()
    assert "dog" in model.predict(X)
    two = np.flatnonzero(y < 2)
    assert CalibratedClassifier(FrozenEstimator(inner), QUICK).fit(X[two], names[two]).predict_proba(X).shape[1] == 4


def in_own_order(order, classes="abc"):
    """A fitted classifier that gives the columns of X, those of its classes, in an order of its own."""

    class Known(GaussianNB):
        def predict_proba(self, X):
            return np.asarray(X)[:, [classes.index(name) for name in order]]

    known = Known()
    known.classes_ = np.array(list(order))
    return FrozenEstimator(known)


@pytest.mark.parametrize("order", ["".join(order) for order in permutations("abc")])
def test_the_order_of_the_classes_of_a_frozen_estimator_does_not_matter(order):
    """Probabilities that are right stay nearly so, in columns in increasing order, as scorers of scikit-learn ask."""
    rng = np.random.default_rng(18)
    P = rng.dirichlet([1, 1, 1], 600)
    y = np.array(list("abc"))[(rng.random((600, 1)) > np.cumsum(P, axis=1)).sum(axis=1).clip(0, 2)]
    model = CalibratedClassifier(in_own_order(order), QUICK).fit(P, y)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert np.abs(model.predict_proba(P) - P).max() < 0.1
    assert model.score(P, y) > (y == np.array(list("abc"))[P.argmax(axis=1)]).mean() - 0.03
    assert -get_scorer("neg_log_loss")(model, P, y) == pytest.approx(log_loss(y, P), abs=0.01)


@pytest.mark.parametrize("ensemble", [False, True])
@pytest.mark.parametrize("inner", [GaussianNB(), RidgeClassifier()])
def test_a_class_that_a_fold_lacks(inner, ensemble):
    """The map of all would learn that the class never occurs: of the rows of a fold alone in which all of it are."""
    X, y = rows(150)
    rare = np.flatnonzero(y == 2)
    common = np.flatnonzero(y < 2)
    first, second = np.r_[common[::2], rare], common[1::2]  # the second knows two classes
    message = f"among the training rows of each fold, found none of the {len(rare)} rows of class 2 in fold 2;"
    if ensemble:
        message = f"among the rows held out of each fold, found none of the {len(rare)} rows of class 2 in fold 1;"
    with pytest.raises(DataError, match=message):
        CalibratedClassifier(inner, QUICK, cv=[(first, second), (second, first)], ensemble=ensemble).fit(X, y)


def test_a_class_without_a_row_is_told_where_the_map_takes_its_probability_away():
    rng = np.random.default_rng(30)
    P = rng.dirichlet([1] * 4, 600)
    y = (rng.random((600, 1)) > np.cumsum(P, axis=1)).sum(axis=1).clip(0, 3)
    use = y < 3
    message = rf"No row of class 3 among {use.sum()} rows that the calibrator is fitted to.*falls from 0\.2\d+ to 0\.0"
    with pytest.warns(UserWarning, match=message):
        MulticlassAutoCalibrator(["vector"]).fit(P[use], y[use], classes=range(4))
    model = CalibratedClassifier(in_own_order("3210", "0123"), MulticlassAutoCalibrator(["vector"]))
    with pytest.warns(UserWarning, match=message):
        model.fit(P[use], y[use].astype(str))


def test_a_single_row_of_a_class():
    X, y = rows(100)
    y[y == 2] = 1
    y[0] = 2
    with pytest.warns(UserWarning, match="least populated class"):
        model = CalibratedClassifier(GaussianNB(), QUICK).fit(X, y)
    assert model.predict_proba(X).shape == (100, 3)


def test_labels_that_a_frozen_estimator_does_not_know():
    X, y = rows()
    for known in (y < 2, y >= 0):
        inner = FrozenEstimator(GaussianNB().fit(X[known], y[known]))
        labels = np.where(y == 2, 7, y)
        with pytest.raises(DataError, match="labels that the estimator knows, such as 0, found 7"):
            CalibratedClassifier(inner).fit(X, labels)


def test_counts_repeat_rows_and_the_scale_of_weights_does_not_show():
    X, y = rows()
    inner = FrozenEstimator(GaussianNB().fit(X[:150], y[:150]))
    X, y = X[150:], y[150:]
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    again = np.repeat(np.arange(len(y)), weight)
    weighted = CalibratedClassifier(inner, QUICK).fit(X, y, count=weight).predict_proba(X)
    repeated = CalibratedClassifier(inner, QUICK).fit(X[again], y[again]).predict_proba(X)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-9)
    plain = CalibratedClassifier(inner, QUICK).fit(X, y).predict_proba(X)
    half = [
        CalibratedClassifier(inner, QUICK).fit(X, y, sample_weight=scale * np.where(y == 0, 2.5, 0.5)).predict_proba(X)
        for scale in (1.0, 1e-9, 7.0)
    ]
    assert half[0][:, 0].mean() > plain[:, 0].mean()
    for other in half[1:]:
        np.testing.assert_allclose(other, half[0], rtol=1e-6)
    equal = CalibratedClassifier(inner, QUICK).fit(X, y, sample_weight=np.full(len(y), 1e-4)).predict_proba(X)
    np.testing.assert_array_equal(equal, plain)


def test_groups_are_routed():
    X, y = rows()
    with sklearn.config_context(enable_metadata_routing=True):
        model = CalibratedClassifier(LogisticRegression(), QUICK, cv=GroupKFold(3), ensemble=True)
        model.fit(X, y, groups=np.arange(300) // 10)
    train, _ = next(GroupKFold(3).split(X, y, np.arange(300) // 10))
    by_hand = LogisticRegression().fit(X[train], y[train])
    np.testing.assert_allclose(model.pairs_[0].estimator.coef_, by_hand.coef_)


def test_searches_reach_both():
    X, y = rows(120)
    grid = {"estimator__var_smoothing": [1e-9, 1.0], "calibrator__members": [["temperature"], ["shared isotonic"]]}
    search = GridSearchCV(CalibratedClassifier(GaussianNB(), QUICK, cv=2), grid, scoring="neg_log_loss", cv=2)
    assert search.fit(X, y).best_params_.keys() == grid.keys()


def test_a_multiclass_calibrator_serves_two_classes():
    X, y = rows(classes=2)
    p = CalibratedClassifier(GaussianNB(), QUICK).fit(X, y).predict_proba(X)
    assert p.shape == (300, 2)
    one_against_one = SVC(decision_function_shape="ovo").fit(*rows(classes=4))
    with pytest.raises(DataError, match=r"a column for each of 4 classes, found 6 of .*'ovr'"):
        CalibratedClassifier(FrozenEstimator(one_against_one)).fit(*rows(classes=4))


def test_scores_that_are_no_numbers_are_refused():
    class Broken(GaussianNB):
        def predict_proba(self, X):
            return np.where(np.arange(len(X))[:, None] == 3, np.nan, super().predict_proba(X))

    with pytest.raises(DataError, match="finite scores from the estimator"):
        CalibratedClassifier(Broken()).fit(*rows())


@pytest.mark.parametrize("size", [1e-15, 1e-14])
def test_rounding_of_the_scores_does_not_show(size):
    X, y = rows()

    class Rounding(GaussianNB):
        noise = 0.0

        def predict_proba(self, X):
            p = np.round(super().predict_proba(X), 1) + 0.01
            p *= 1.0 + self.noise * np.random.default_rng(0).random(p.shape)
            return p / p.sum(axis=1, keepdims=True)

    plain = CalibratedClassifier(Rounding(), QUICK).fit(X, y).predict_proba(X)
    Rounding.noise = size
    fitted = CalibratedClassifier(Rounding(), QUICK).fit(X, y)
    Rounding.noise = 0.0
    np.testing.assert_allclose(fitted.predict_proba(X), plain, rtol=1e-7)
