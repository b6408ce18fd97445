"""Scorers of scikit-learn: minus the metrics on the second class, in searches and cross-validation."""

import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import calibrant as cal

METRICS = {
    "neg_cutoff_calibration_error": cal.metrics.cutoff_calibration_error,
    "neg_l1_calibration_error": cal.metrics.expected_calibration_error,
    "neg_l2_calibration_error": lambda *rows, **options: cal.expected_calibration_error(*rows, norm="l2", **options),
    "neg_max_calibration_error": lambda *rows, **options: cal.expected_calibration_error(*rows, norm="max", **options),
    "neg_smooth_calibration_error": cal.metrics.smooth_calibration_error,
}
LABELS = {
    "0 and 1": lambda y: y,
    "booleans": lambda y: y == 1,
    "-1 and 1": lambda y: 2 * y - 1,
    "-1 and 0": lambda y: y - 1,
    "1 and 2": lambda y: y + 1,
    "texts": lambda y: np.where(y == 1, "malignant?", "benign?"),
    "objects": lambda y: np.where(y == 1, "b", "a").astype(object),
}


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True)


def test_names():
    assert set(cal.scorers) == set(METRICS)


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("name", METRICS)
def test_scores_are_minus_the_metric_of_the_second_class(name, labels, cancer):
    X, y = cancer
    named = LABELS[labels](y)
    model = GaussianNB().fit(X[:300], named[:300])
    second = (named == model.classes_[1])[300:]
    weight = np.random.default_rng(0).integers(1, 4, len(second))
    scorer, p = cal.scorers[name], model.predict_proba(X[300:])[:, 1]
    assert scorer(model, X[300:], named[300:]) == -METRICS[name](second, p)
    weighted = scorer(model, X[300:], named[300:], sample_weight=weight)
    assert weighted == -METRICS[name](second, p, sample_weight=weight)


def test_a_grid_search_finds_what_the_metric_says(cancer):
    X, y = cancer
    folds = StratifiedKFold(4)
    grid = {"logisticregression__C": [1e-4, 1e-2, 1.0]}
    model = make_pipeline(StandardScaler(), LogisticRegression())
    search = GridSearchCV(model, grid, cv=folds, scoring=cal.scorers["neg_cutoff_calibration_error"]).fit(X, y)
    for candidate, found in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
        errors = [
            cal.cutoff_calibration_error(
                y[test], clone(model).set_params(**candidate).fit(X[train], y[train]).predict_proba(X[test])[:, 1]
            )
            for train, test in folds.split(X, y)
        ]
        assert found == pytest.approx(-np.mean(errors), rel=1e-12)
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()


def test_all_beside_those_of_scikit_learn(cancer):
    X, y = cancer
    scoring = {**cal.scorers, "log_loss": "neg_log_loss", "brier": get_scorer("neg_brier_score")}
    found = cross_validate(GaussianNB(), X, np.where(y, "yes", "no"), scoring=cal.scorers, error_score="raise")
    assert {f"test_{name}" for name in cal.scorers} < found.keys()
    assert all((found[f"test_{name}"] <= 0.0).all() for name in cal.scorers)
    assert found.keys() < cross_validate(GaussianNB(), X, y, scoring=scoring, error_score="raise").keys()


def test_weights_are_routed(cancer):
    X, y = cancer
    weight = np.random.default_rng(1).integers(1, 5, len(y))
    folds = StratifiedKFold(3)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = pickle.loads(pickle.dumps(cal.scorers["neg_l1_calibration_error"])).set_score_request(
            sample_weight=True
        )
        model = GaussianNB().set_fit_request(sample_weight=False)
        found = cross_validate(model, X, y, scoring=scorer, cv=folds, params={"sample_weight": weight})["test_score"]
    expected = [
        -cal.expected_calibration_error(
            y[test], GaussianNB().fit(X[train], y[train]).predict_proba(X[test])[:, 1], sample_weight=weight[test]
        )
        for train, test in folds.split(X, y)
    ]
    assert found.tolist() == expected


def test_what_cannot_be_scored_is_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(cal.CalibrantError):
        cal.scorers["neg_l1_calibration_error"](GaussianNB().fit(X, y), X, y)
    two = np.where(y == 0, "a", "b")
    with pytest.raises(cal.DataError, match="pos_label"):
        cal.scorers["neg_l1_calibration_error"](GaussianNB().fit(X, two), X[:50], two[:50])
