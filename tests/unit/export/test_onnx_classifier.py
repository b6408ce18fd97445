"""A calibrated classifier and a pipeline that ends in it predict as ONNX, by skl2onnx, what they do in scikit-learn."""

import re

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from skl2onnx import to_onnx
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import calibrant.export
from calibrant.calibrators import (
    CalibratedClassifier,
    HistogramCalibrator,
    IsotonicCalibrator,
    MulticlassAutoCalibrator,
    PlattCalibrator,
    VennAbersCalibrator,
)
from calibrant.errors import ArgumentError

CLASSIFIERS = {
    "logistic": LogisticRegression(),
    "bayes": GaussianNB(),
    "neighbours": KNeighborsClassifier(15),
    "linear svm": LinearSVC(random_state=0),
}
# Whose scores skl2onnx gives in single precision only.
ROUNDED = {
    "svm": SVC(),
    "adaboost": AdaBoostClassifier(n_estimators=5, random_state=0),
    "tree": DecisionTreeClassifier(max_depth=5, random_state=0),
    "forest": RandomForestClassifier(12, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=12, random_state=0),
}
VECTOR = MulticlassAutoCalibrator(["vector"])
STEPS = [IsotonicCalibrator(interpolation="step"), VennAbersCalibrator(), HistogramCalibrator()]


def world(n_classes=2):
    X, y = make_classification(
        700, 6, n_informative=4, n_redundant=0, n_classes=n_classes, flip_y=0.1, random_state=n_classes
    )
    return X[:400], y[:400], X[400:]


def run(model, X, **options):
    """Labels and probabilities of the model as ONNX, run by ONNX Runtime."""
    converted = to_onnx(model, X[:1], **options)
    session = onnxruntime.InferenceSession(converted.SerializeToString(), providers=["CPUExecutionProvider"])
    columns = {given.name for given in session.get_inputs()}
    if not isinstance(X, pd.DataFrame):
        return session.run(["label", "probabilities"], {columns.pop(): X})
    feed = {re.sub(r"\W", "_", name): X[[name]].to_numpy() for name in X}  # as ONNX names them
    assert columns == feed.keys()
    return session.run(["label", "probabilities"], feed)


def assert_same(model, X, tolerance, **options):
    label, proba = run(model, X, **options)
    np.testing.assert_allclose(proba, model.predict_proba(X), rtol=0.0, atol=tolerance)
    assert label.tolist() == model.predict(X).tolist()


def assert_same_in_both(model, X, tolerance=1e-9):
    """In single precision the numbers of the features are what that has; all else is computed in double precision."""
    assert_same(model, X, tolerance)
    rounded = X.astype(np.float32)
    _, proba = run(model, rounded)
    assert proba.dtype == np.float32
    np.testing.assert_allclose(
        proba, model.predict_proba(rounded.astype(np.float64)), rtol=0.0, atol=max(tolerance, 1e-6)
    )


@pytest.mark.grid
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_steps_are_where_scores_of_the_rows_were(name):
    """Scores that rounding parts from those that a step was fitted to are on the same side of it."""
    X, y, new = world()
    fitted = FrozenEstimator(CLASSIFIERS[name].fit(X[:200], y[:200]))
    for calibrator in STEPS:
        model = CalibratedClassifier(fitted, calibrator).fit(X[200:], y[200:])
        assert_same_in_both(model, np.concatenate([X, new]))


@pytest.mark.slow
@pytest.mark.parametrize("name", ROUNDED)
def test_steps_of_scores_in_single_precision(name):
    X, y, new = world()
    for calibrator in STEPS:
        assert_same_in_both(CalibratedClassifier(ROUNDED[name], calibrator, cv=2).fit(X, y), new, 1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_several_classes(name):
    X, y, new = world(3)
    assert_same_in_both(CalibratedClassifier(CLASSIFIERS[name], cv=2).fit(X, y), new)


@pytest.mark.slow
@pytest.mark.parametrize("classifier", [LogisticRegression(), LinearSVC(random_state=0)])
def test_maps_of_all_classes(classifier):
    for n_classes in (2, 3):
        X, y, new = world(n_classes)
        calibrator = MulticlassAutoCalibrator(["temperature", "vector"])
        assert_same_in_both(CalibratedClassifier(classifier, calibrator, cv=2).fit(X, y), new)


@pytest.mark.parametrize(("calibrator", "n_classes"), [(PlattCalibrator(), 2), (VECTOR, 2), (VECTOR, 3)])
def test_far_margins_of_classes_in_another_order(calibrator, n_classes):
    """Of two classes the margin is that of the first in order; some margins are 1e12 times as far as the others."""
    X, y, new = world(n_classes)
    inner = LinearSVC(random_state=0).fit(X[:200], y[:200])
    order = [1, 0] if n_classes == 2 else [2, 0, 1]
    for name in ("coef_", "intercept_"):
        of = getattr(inner, name)
        setattr(inner, name, -of if n_classes == 2 else of[order])
    inner.classes_ = inner.classes_[order]
    X[200:210] *= 1e12
    new[:20] *= np.logspace(1, 14, 20)[:, None]
    model = CalibratedClassifier(FrozenEstimator(inner), calibrator).fit(X[200:], y[200:])
    assert model.score(X[210:], y[210:]) > 0.6
    assert_same(model, new, 1e-9)


def test_a_pipeline_that_ends_in_it():
    X, y, new = world()
    last = CalibratedClassifier(GaussianNB(), IsotonicCalibrator(), cv=3, ensemble=True)
    model = make_pipeline(StandardScaler(), last).fit(X, np.array(["no", "yes"])[y])
    for opset in (15, 18):
        assert_same(model, new, 1e-6, target_opset={"": opset, "ai.onnx.ml": 3})


@pytest.mark.slow
def test_a_pipeline_in_it_of_columns_of_all_kinds():
    X, y, new = world()

    def frame(X):
        gaps = np.where(X[:, 3] > 1.0, np.nan, X[:, 3])
        columns = {"a [y]": X[:, 0], "b": (X[:, 1] * 3).astype(np.int64), "c %": gaps}
        return pd.DataFrame(columns | {"d": np.array(["u", "v"])[(X[:, 2] > 0) + 0]})

    filled = make_pipeline(SimpleImputer(), StandardScaler())
    encoder = make_column_transformer((OneHotEncoder(), ["d"]), (filled, ["a [y]", "c %"]), remainder="passthrough")
    model = CalibratedClassifier(make_pipeline(encoder, LogisticRegression()), PlattCalibrator(), cv=2)
    assert_same(model.fit(frame(X), y == 1), frame(new), 1e-6)


def test_a_discriminant_that_skl2onnx_gets_wrong_is_refused():
    X, y, _ = world()
    for classifier in (LinearDiscriminantAnalysis(), make_pipeline(StandardScaler(), LinearDiscriminantAnalysis())):
        with pytest.raises(ArgumentError, match="whose log odds skl2onnx doubles"):
            to_onnx(CalibratedClassifier(classifier, PlattCalibrator(), cv=2).fit(X, y), X[:1])


def test_functions_for_calibrators_name_the_way():
    X, y, _ = world()
    with pytest.raises(ArgumentError, match=r"skl2onnx\.to_onnx"):
        calibrant.export.to_onnx(CalibratedClassifier(GaussianNB(), PlattCalibrator()).fit(X, y))


@pytest.mark.parametrize("whose", ["all", "object", "class", "all of a pipeline", "pipeline", "name in a pipeline"])
def test_the_option_for_one_matrix_is_taken(whose):
    """As by every classifier of scikit-learn; without it probabilities are a matrix too."""
    X, y, new = world()
    model = CalibratedClassifier(GaussianNB(), PlattCalibrator(), cv=2)
    if "pipeline" in whose:
        model = make_pipeline(StandardScaler(), model)
    model.fit(X, y)
    no = {"zipmap": False}
    forms = {"object": {id(model): no}, "class": {type(model): no}, "pipeline": {id(model): no}}
    options = forms.get(whose, {"calibratedclassifier__zipmap": False} if "name" in whose else no)
    assert_same(model, new, 1e-9, options=options)
    assert_same(model, new, 1e-9)
    with pytest.raises(ValueError, match="zipmap"):
        to_onnx(model, X[:1], options={id(model): {"zipmap": True}})
