"""Classifiers with calibrators: against the same done by hand and scikit-learn's own, and manners of an estimator."""

import numpy as np
import pytest
import sklearn
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneOut,
    StratifiedGroupKFold,
    StratifiedKFold,
    cross_val_predict,
)
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
    MulticlassAutoCalibrator,
    PlattCalibrator,
    VennAbersCalibrator,
)
from calibrant.errors import ArgumentError

MODELS = [
    CalibratedClassifier(LogisticRegression(C=1), cv=2),
    CalibratedClassifier(LogisticRegression(C=1), BetaCalibrator(), cv=2),
    CalibratedClassifier(LinearSVC(random_state=0), PlattCalibrator(), cv=2, ensemble=True),
]


def differing(estimator):
    """Checks that take weights for numbers of rows: here they say nothing but how rows compare, see `count`."""
    names = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
    return dict.fromkeys(names, "weights do not count rows, which smoothing asks for")


@pytest.mark.grid
@parametrize_with_checks(MODELS, expected_failed_checks=differing)
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


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("cv", [4, GroupKFold(4)])
@pytest.mark.parametrize("classes", [2, 3])
def test_groups_stay_whole_in_all_folds(classes, cv, routing):
    """Of estimators, and of the calibrator: it is that of out-of-fold scores, fitted with groups."""
    rng = np.random.default_rng(3)
    groups, X = np.repeat(np.arange(40), 6), rng.normal(size=(240, 2))
    y = np.argmax(
        np.column_stack([X[:, 0], -X[:, 0], 0.7 * X[:, 1]])[:, :classes] + rng.gumbel(size=(240, classes)), axis=1
    )
    with sklearn.config_context(enable_metadata_routing=routing):
        model = CalibratedClassifier(LogisticRegression(), cv=cv).fit(X, y, groups=groups)
    splitter = StratifiedGroupKFold(4) if cv == 4 else cv
    scores = cross_val_predict(LogisticRegression(), X, y, groups=groups, cv=splitter, method="predict_proba")
    if classes == 2:
        expected = AutoCalibrator().fit(scores[:, 1], y, groups=groups).predict(scores[:, 1])
        np.testing.assert_allclose(model.pairs_[0].calibrator.predict(scores[:, 1]), expected, rtol=1e-9)
    else:
        expected = MulticlassAutoCalibrator().fit(scores, y, groups=groups)
        np.testing.assert_allclose(model.pairs_[0].calibrator.weights_, expected.weights_, atol=1e-6)
    frozen = FrozenEstimator(LogisticRegression().fit(X, y))
    assert CalibratedClassifier(frozen).fit(X, y, groups=groups).pairs_[0].calibrator.training_.n == 240


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
def test_counts_repeat_rows(ensemble):
    """Within 1e-8 where the folds agree, however the scores of repeated rows are rounded."""
    X, y = rows(200)
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    fold, again = np.arange(len(y)) % 4, np.repeat(np.arange(len(y)), weight)
    of_rows = [(np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in range(4)]
    of_repeated = [(np.flatnonzero(fold[again] != i), np.flatnonzero(fold[again] == i)) for i in range(4)]
    weighted = CalibratedClassifier(Rounding(), cv=of_rows, ensemble=ensemble).fit(X, y, count=weight)
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
    found = f"found none of the {y.sum()} rows of class 1 in fold 1"
    with pytest.raises(DataError, match="every class among the training rows of each fold, " + found):
        CalibratedClassifier(GaussianNB(), IsotonicCalibrator(), cv=folds).fit(X, y)


def test_a_map_of_one_class_is_not_fitted():
    """To a fold of one row, or to rows of which only those of one class have a weight."""
    X, y = rows(60)
    for folds in (LeaveOneOut(), KFold(60)):
        with pytest.raises(DataError, match=r"every class among the rows held out.*in fold 1; use ensemble=False"):
            CalibratedClassifier(GaussianNB(), PlattCalibrator(), cv=folds, ensemble=True).fit(X, y)
    CalibratedClassifier(GaussianNB(), PlattCalibrator(), cv=LeaveOneOut(), ensemble=False).fit(X, y)
    frozen = FrozenEstimator(GaussianNB().fit(X, y))
    with pytest.raises(DataError, match="rows of both classes"):
        CalibratedClassifier(frozen).fit(X, y, sample_weight=(y == 1).astype(int))


class Turned(LinearSVC):
    """Knows its two classes in the other order, so that its margin is that of the first of them."""

    def fit(self, X, y):
        super().fit(X, y)
        self.classes_ = self.classes_[::-1]
        return self

    def decision_function(self, X):
        return -super().decision_function(X)


@pytest.mark.parametrize("calibrator", [PlattCalibrator(), MulticlassAutoCalibrator(["temperature"])])
@pytest.mark.parametrize("frozen", [False, True])
def test_the_order_of_two_classes_of_the_estimator_does_not_matter(calibrator, frozen):
    X, y = rows()
    kinds = [kind(random_state=0) for kind in (LinearSVC, Turned)]
    wrapped = [FrozenEstimator(inner.fit(X, y)) if frozen else inner for inner in kinds]
    straight, turned = (CalibratedClassifier(inner, calibrator).fit(X, y).predict_proba(X) for inner in wrapped)
    np.testing.assert_allclose(turned, straight, rtol=1e-9)


@pytest.mark.parametrize("inner", [GaussianNB(), FrozenEstimator(GaussianNB().fit(*rows(classes=3)))])
def test_three_classes_are_refused_by_a_map_of_one_score(inner):
    message = r"two classes, found 3: 0, 1, 2; Only binary.* pass y == c.*MulticlassAutoCalibrator.*cost accuracy"
    with pytest.raises(DataError, match=message):
        CalibratedClassifier(inner, IsotonicCalibrator()).fit(*rows(classes=3))


class GivenMargins(ClassifierMixin, BaseEstimator):
    """Takes its features for margins: of two classes the only column, of more one column each."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return np.asarray(X)[:, 0] if len(self.classes_) == 2 else np.asarray(X)


def margins(n=1500):
    rng = np.random.default_rng(3)
    z = 2.0 * rng.standard_normal(n)
    return z[:, None], (rng.random(n) < expit(z)).astype(int)


MAPS = [IsotonicCalibrator(), VennAbersCalibrator(), PlattCalibrator(), AutoCalibrator()]


@pytest.mark.parametrize("size", [1e-300, 1e6, 1e300])
@pytest.mark.parametrize("calibrator", MAPS, ids=lambda one: type(one).__name__)
def test_the_size_of_margins_does_not_matter(calibrator, size):
    X, y = margins()
    once = CalibratedClassifier(GivenMargins(), calibrator).fit(X, y).predict_proba(X)
    of_size = CalibratedClassifier(GivenMargins(), calibrator).fit(size * X, y).predict_proba(size * X)
    np.testing.assert_allclose(of_size, once, atol=1e-7)


@pytest.mark.parametrize("far", [1e9, 1e12, -1e20, 9.97e36, 1e300])
@pytest.mark.parametrize("calibrator", MAPS, ids=lambda one: type(one).__name__)
def test_a_far_margin_leaves_the_others_their_order(calibrator, far):
    """Such as a value that stands for a missing feature."""
    X, y = margins()
    X[0] = far
    p = CalibratedClassifier(GivenMargins(), calibrator).fit(X, y).predict_proba(X)[1:, 1]
    assert roc_auc_score(y[1:], p) > roc_auc_score(y[1:], X[1:, 0]) - 0.001


@pytest.mark.parametrize("calibrator", MAPS, ids=lambda one: type(one).__name__)
def test_shifted_margins_keep_the_order_that_is_left_of_it(calibrator):
    X, y = margins()
    X += 1e12  # keeps steps of .0001
    p = CalibratedClassifier(GivenMargins(), calibrator).fit(X, y).predict_proba(X)[:, 1]
    assert roc_auc_score(y, p) > roc_auc_score(y, X[:, 0]) - 0.001


def test_isotonic_regression_of_far_margins_is_that_of_scikit_learn():
    """A hundredth of the margins is spread over 300 powers of ten, and keeps its order too."""
    X, y = margins()
    X[::100, 0] = np.sign(X[::100, 0]) * 10.0 ** np.linspace(2, 300, 15)
    expected = IsotonicRegression(out_of_bounds="clip").fit(X[:, 0], y).predict(X[:, 0])
    ours = CalibratedClassifier(GivenMargins(), IsotonicCalibrator(log_safe=False)).fit(X, y).predict_proba(X)[:, 1]
    np.testing.assert_allclose(ours, expected, atol=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_infinite_margins_are_refused(classes):
    X, y = rows(200, classes)
    X[7] = np.inf
    found = "inf in row 7" if classes == 2 else "nan or infinity"
    with pytest.raises(DataError, match=f"finite scores from the estimator, found {found}"):
        CalibratedClassifier(GivenMargins()).fit(X[:, :classes] if classes > 2 else X, y)


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
    with pytest.raises(DataError, match="labels that the estimator knows, such as 'benign', found 'no'"):
        CalibratedClassifier(frozen).fit(x, np.where(x[:, 0] > 0, "yes", "no"))


@pytest.mark.parametrize(("labels", "found"), [([1, 2], "2"), ([-1, 1], "-1"), (["0", "1"], "'0'")])
def test_a_frozen_estimator_is_told_labels_of_another_kind(labels, found):
    X, y = rows()
    frozen = FrozenEstimator(GaussianNB().fit(X, y))
    message = f"^expected labels that the estimator knows, such as 0, found {found}; fit with the labels"
    with pytest.raises(DataError, match=message):
        CalibratedClassifier(frozen).fit(X, np.array(labels)[y])


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
