"""Classifiers with calibrators: against the same done by hand and scikit-learn's own, and manners of an estimator."""

import numpy as np
import pytest
import sklearn
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from calibrant import DataError
from calibrant.calibrators import (
    AutoCalibrator,
    BetaCalibrator,
    CalibratedClassifier,
    IsotonicCalibrator,
    PlattCalibrator,
)
from calibrant.errors import ArgumentError

MODELS = [
    CalibratedClassifier(LogisticRegression(C=1), cv=2),
    CalibratedClassifier(LogisticRegression(C=1), BetaCalibrator(), cv=2),
    CalibratedClassifier(LinearSVC(random_state=0), PlattCalibrator(), ensemble=True),
]


@pytest.mark.grid
@parametrize_with_checks(MODELS)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


def rows(n=600, classes=2, seed=0):
    return make_classification(n, 6, n_informative=4, n_redundant=0, n_classes=classes, flip_y=0.2, random_state=seed)


def test_one_calibrator_of_out_of_fold_scores():
    X, y = rows()
    model = CalibratedClassifier(GaussianNB(), IsotonicCalibrator()).fit(X, y)
    scores = cross_val_predict(GaussianNB(), X, y, cv=StratifiedKFold(5), method="predict_proba")[:, 1]
    by_hand = IsotonicCalibrator().fit(scores, y).predict(GaussianNB().fit(X, y).predict_proba(X)[:, 1])
    np.testing.assert_array_equal(model.predict_proba(X)[:, 1], by_hand)
    assert len(model.pairs_) == 1


def test_ensemble_is_a_mean():
    X, y = rows()
    model = CalibratedClassifier(GaussianNB(), BetaCalibrator(), cv=3, ensemble=True).fit(X, y)
    total = np.zeros(len(y))
    for train, test in StratifiedKFold(3).split(X, y):
        inner = GaussianNB().fit(X[train], y[train])
        total += BetaCalibrator().fit(inner.predict_proba(X[test])[:, 1], y[test]).predict(inner.predict_proba(X)[:, 1])
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], total / 3, rtol=1e-13)
    assert len(model.pairs_) == 3


@pytest.mark.grid
@pytest.mark.parametrize("ensemble", [False, True])
def test_margins_with_platt_are_those_of_scikit_learn(ensemble):
    """CalibratedClassifierCV(method="sigmoid") of scikit-learn 1.9.1 fits Platt's curve to the same margins."""
    X, y = rows()
    inner = RidgeClassifier()
    ours = CalibratedClassifier(inner, PlattCalibrator(), ensemble=ensemble).fit(X, y)
    theirs = CalibratedClassifierCV(inner, method="sigmoid", ensemble=ensemble, cv=5).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=2e-4)


def test_frozen_estimator_is_left_as_it_is():
    X, y = rows()
    inner = GaussianNB().fit(X[:300], y[:300])
    model = CalibratedClassifier(FrozenEstimator(inner), BetaCalibrator()).fit(X[300:], y[300:])
    by_hand = BetaCalibrator().fit(inner.predict_proba(X[300:])[:, 1], y[300:])
    np.testing.assert_array_equal(model.predict_proba(X)[:, 1], by_hand.predict(inner.predict_proba(X)[:, 1]))


def test_default_calibrator_repairs_naive_bayes():
    X, digit = load_digits(return_X_y=True)
    y = (digit >= 5).astype(int)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:900], order[900:]
    plain = GaussianNB().fit(X[train], y[train])
    model = CalibratedClassifier(GaussianNB()).fit(X[train], y[train])
    assert isinstance(model.pairs_[0].calibrator, AutoCalibrator)
    p = model.predict_proba(X[test])
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    assert log_loss(y[test], p) < 0.5 * log_loss(y[test], plain.predict_proba(X[test]))


def test_strings_and_names_of_columns():
    X, y = load_iris(return_X_y=True, as_frame=True)
    X, names = X[y > 0], y[y > 0].map({1: "versicolor", 2: "virginica"})
    model = CalibratedClassifier(make_pipeline(StandardScaler(), LinearSVC(random_state=0)), PlattCalibrator())
    model.fit(X, names)
    assert model.classes_.tolist() == ["versicolor", "virginica"]
    assert model.feature_names_in_.tolist() == X.columns.tolist()
    assert model.n_features_in_ == 4
    assert model.score(X, names) > 0.9
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X.rename(columns={X.columns[0]: "other"}))


def test_weights_go_to_calibrator_and_estimator():
    X, y = rows()
    weight = np.where(y == 1, 3.0, 1.0)
    model = CalibratedClassifier(GaussianNB(), IsotonicCalibrator()).fit(X, y, sample_weight=weight)
    total = np.zeros(len(y))
    for train, test in StratifiedKFold(5).split(X, y):
        total[test] = GaussianNB().fit(X[train], y[train], weight[train]).predict_proba(X[test])[:, 1]
    whole = GaussianNB().fit(X, y, weight)
    by_hand = IsotonicCalibrator().fit(total, y, sample_weight=weight).predict(whole.predict_proba(X)[:, 1])
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], by_hand, rtol=1e-12)


def test_an_estimator_without_weights_takes_none():
    class Plain(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.classes_ = np.unique(y)
            return self

        def predict_proba(self, X):
            p = expit(np.asarray(X)[:, 0])
            return np.column_stack([1 - p, p])

    X, y = rows()
    weight = np.random.default_rng(0).uniform(size=len(y))
    p = expit(X[:, 0])
    model = CalibratedClassifier(Plain(), BetaCalibrator()).fit(X, y, weight)
    expected = BetaCalibrator().fit(p, y, weight).predict(p)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, rtol=1e-9)


def test_groups_and_weights_are_routed():
    X, y = rows()
    groups = np.arange(len(y)) // 10
    with sklearn.config_context(enable_metadata_routing=True):
        inner = LogisticRegression().set_fit_request(sample_weight=True)
        model = CalibratedClassifier(inner, BetaCalibrator(), cv=GroupKFold(4), ensemble=True)
        model.set_fit_request(sample_weight=True)
        weighted = clone(model).fit(X, y, sample_weight=np.where(y == 1, 9.0, 1.0), groups=groups)
        plain = clone(model).fit(X, y, groups=groups)
    train, _ = next(GroupKFold(4).split(X, y, groups))
    by_hand = LogisticRegression().fit(X[train], y[train])
    np.testing.assert_allclose(plain.pairs_[0].estimator.coef_, by_hand.coef_)
    assert weighted.pairs_[0].estimator.intercept_ > by_hand.intercept_ + 1.0


class Rounding(GaussianNB):
    """Probabilities from .1 to .9 in steps of .1, so that many are tied, times what rounding elsewhere may add."""

    def __init__(self, size=0.0, seed=0):
        super().__init__()
        self.size = size
        self.seed = seed

    def predict_proba(self, X):
        p = np.clip(np.round(super().predict_proba(X)[:, 1], 1), 0.1, 0.9)
        p *= 1.0 - self.size * np.random.default_rng(self.seed).random(len(p))
        return np.column_stack([1.0 - p, p])


@pytest.mark.slow
@pytest.mark.parametrize("ensemble", [False, True])
@pytest.mark.parametrize("calibrator", [None, IsotonicCalibrator(interpolation="step")])
def test_rounding_of_the_scores_does_not_show(calibrator, ensemble):
    """AutoCalibrator puts the rows of a broken tie into other folds, and an isotonic map tells them apart."""
    X, y = rows()
    plain = CalibratedClassifier(Rounding(), calibrator, ensemble=ensemble).fit(X, y).predict_proba(X)
    for seed in range(3):
        rounding = CalibratedClassifier(Rounding(1e-14, seed), calibrator, ensemble=ensemble).fit(X, y)
        for pair in rounding.pairs_:
            pair.estimator.size = 0.0
        np.testing.assert_allclose(rounding.predict_proba(X), plain, rtol=1e-8)


@pytest.mark.grid
@pytest.mark.parametrize("ensemble", [False, True])
def test_whole_weights_repeat_rows(ensemble):
    """Within 1e-8 where the folds agree, however the scores of repeated rows are rounded."""
    X, y = rows(200)
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    fold, again = np.arange(len(y)) % 4, np.repeat(np.arange(len(y)), weight)
    of_rows = [(np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in range(4)]
    of_repeated = [(np.flatnonzero(fold[again] != i), np.flatnonzero(fold[again] == i)) for i in range(4)]
    weighted = CalibratedClassifier(Rounding(), cv=of_rows, ensemble=ensemble).fit(X, y, sample_weight=weight)
    repeated = CalibratedClassifier(Rounding(1e-14), cv=of_repeated, ensemble=ensemble).fit(X[again], y[again])
    for pair in repeated.pairs_:
        pair.estimator.size = 0.0
    np.testing.assert_allclose(repeated.predict_proba(X), weighted.predict_proba(X), rtol=1e-8)


def test_scores_that_are_no_numbers_are_refused():
    class Broken(GaussianNB):
        def predict_proba(self, X):
            return np.where(np.arange(len(X))[:, None] == 3, np.nan, super().predict_proba(X))

    with pytest.raises(DataError, match="nan"):
        CalibratedClassifier(Broken()).fit(*rows())


def test_searches_reach_both():
    X, y = rows(200)
    grid = {"estimator__var_smoothing": [1e-9, 1.0], "calibrator": [BetaCalibrator(), PlattCalibrator()]}
    search = GridSearchCV(CalibratedClassifier(GaussianNB(), cv=2), grid, scoring="neg_log_loss", cv=2).fit(X, y)
    assert search.best_params_.keys() == grid.keys()


def test_a_class_missing_from_a_fold():
    X, y = rows(100)
    y[:50] = 0
    folds = [(np.arange(50), np.arange(50, 100)), (np.arange(50, 100), np.arange(50))]
    with pytest.raises(DataError, match="every class among the training rows of each fold, found none of class 1"):
        CalibratedClassifier(GaussianNB(), IsotonicCalibrator(), cv=folds).fit(X, y)


@pytest.mark.parametrize("inner", [GaussianNB(), FrozenEstimator(GaussianNB().fit(*rows(classes=3)))])
def test_three_classes_are_refused_by_a_map_of_one_score(inner):
    message = r"two classes, found 3: 0, 1, 2; Only binary.* pass y == c.*MulticlassAutoCalibrator.*cost accuracy"
    with pytest.raises(DataError, match=message):
        CalibratedClassifier(inner, IsotonicCalibrator()).fit(*rows(classes=3))


def test_huge_margins_keep_their_order():
    X, y = rows()
    once = CalibratedClassifier(LinearSVC(random_state=0), PlattCalibrator()).fit(X, y)

    class Huge(LinearSVC):
        def decision_function(self, X):
            return 1e6 * super().decision_function(X)

    huge = CalibratedClassifier(Huge(random_state=0), PlattCalibrator()).fit(X, y)
    np.testing.assert_allclose(huge.predict_proba(X), once.predict_proba(X), rtol=1e-7)


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (CalibratedClassifier(GaussianNB(), "isotonic"), ArgumentError, "calibrator"),
        (CalibratedClassifier(GaussianNB(), LogisticRegression()), ArgumentError, "calibrator"),
        (CalibratedClassifier(StandardScaler()), ArgumentError, "predict_proba"),
    ],
)
def test_bad_parameters(model, error, message):
    with pytest.raises(error, match=message):
        model.fit(*rows(50))


def test_one_class():
    with pytest.raises(DataError, match="one class"):
        CalibratedClassifier(GaussianNB()).fit(np.zeros((5, 1)), np.ones(5))


def test_a_frozen_estimator_must_know_the_labels():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 2))
    frozen = FrozenEstimator(LogisticRegression().fit(x, np.where(x[:, 0] > 0, "malign", "benign")))
    with pytest.raises(DataError, match="labels that the estimator knows, such as benign, found no"):
        CalibratedClassifier(frozen).fit(x, np.where(x[:, 0] > 0, "yes", "no"))


class WithStrength(LogisticRegression):
    """A classifier whose fit takes a number, and one for each row."""

    def fit(self, X, y, strength=1.0, order=None):
        self.strength_, self.n_ordered_ = strength, len(order)
        return super().fit(X, y)


def test_parameters_of_fit_may_be_numbers():
    rows, labels = make_classification(random_state=0)
    model = CalibratedClassifier(WithStrength(), cv=2, ensemble=True)
    model.fit(rows, labels, strength=np.float64(0.5), order=np.arange(100))
    assert [(pair.estimator.strength_, pair.estimator.n_ordered_) for pair in model.pairs_] == [(0.5, 50)] * 2
