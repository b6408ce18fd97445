"""Learning under empirical calibration: manners of a classifier, falling loss, no error on the sample, the gain."""

import math
import runpy
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.utils.estimator_checks import check_estimator

from calibrant.errors import ArgumentError, DataError
from calibrant.metrics import cutoff_calibration_error
from calibrant.papers import SingleIndexClassifier
from calibrant.papers.single_index.search import index_rows, start_direction

ROOT = Path(__file__).parents[3]

ONES = [
    SingleIndexClassifier(),
    SingleIndexClassifier(loss="log"),
    SingleIndexClassifier(loss="hinge"),
    SingleIndexClassifier(link="lipschitz"),
    SingleIndexClassifier(update="matching"),
    SingleIndexClassifier(start="squared"),
]
every = pytest.mark.parametrize("classifier", ONES, ids=repr)
isotonic = pytest.mark.parametrize("classifier", [one for one in ONES if one.link == "isotonic"], ids=repr)


def sample(n=400, d=4, seed=0):
    """A step of the index, with a feature that is rounded so that rows and indices can be equal."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((n, d))
    features[:, 0] = features[:, 0].round(1)
    y = (rng.random(n) < np.where(features[:, 0] - features[:, 1] > 0.8, 0.9, 0.1)).astype(int)
    return features, y


@pytest.mark.slow
@pytest.mark.grid
@every
def test_manners_of_a_classifier(classifier):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # checks that are skipped for lack of an array library warn
        check_estimator(clone(classifier))


def loss_of(classifier, p, y):
    if classifier.loss == "squared":
        return np.mean((y - p) ** 2)
    with np.errstate(divide="ignore"):
        return -np.mean(np.where(y == 1, np.log(p), np.log1p(-p)))


@pytest.mark.grid
@isotonic
@pytest.mark.parametrize("turns", [0, 1, 2, 5, 100])
def test_every_turn_lowers_the_loss_and_leaves_no_calibration_error(classifier, turns):
    features, y = sample()
    fitted = clone(classifier).set_params(max_iter=turns, log_safe=False).fit(features, y)
    p = fitted.predict_proba(features)[:, 1]
    assert cutoff_calibration_error(y, p) == 0.0
    assert (np.diff(fitted.losses_) < 0.0).all()
    if classifier.loss != "hinge":
        assert fitted.losses_[-1] == pytest.approx(loss_of(classifier, p, y), rel=1e-12)
        assert len(fitted.losses_) - 1 <= fitted.n_iter_ <= turns
    safe = clone(classifier).set_params(max_iter=turns).fit(features, y)
    np.testing.assert_array_equal(safe.coef_, fitted.coef_)
    p = safe.predict_proba(features)[:, 1]
    assert ((p > 0.0) & (p < 1.0)).all()
    assert cutoff_calibration_error(y, p) < 1.0 / (2 * len(y))


@pytest.mark.slow
@given(data=st.data())
def test_any_small_sample(data):
    n = data.draw(st.integers(2, 9))
    d = data.draw(st.integers(1, 3))
    value = st.sampled_from([-1.0, -0.0, 0.0, 1.0, 1e-9, 3.0])
    features = np.array(data.draw(st.lists(value, min_size=n * d, max_size=n * d))).reshape(n, d)
    y = np.array([0, 1, *data.draw(st.lists(st.integers(0, 1), min_size=n - 2, max_size=n - 2))])
    for loss in ("squared", "log", "hinge"):
        fitted = SingleIndexClassifier(loss=loss, log_safe=False).fit(features, y)
        p = fitted.predict_proba(features)[:, 1]
        assert cutoff_calibration_error(y, p) <= 1e-12
        assert np.linalg.norm(fitted.coef_) == pytest.approx(1.0)
        assert (np.diff(fitted.losses_) < 0.0).all()


@pytest.mark.slow
def test_the_lipschitz_link_keeps_its_slope():
    features, y = sample()
    fitted = SingleIndexClassifier(link="lipschitz", lipschitz=0.5).fit(features, y)
    at = np.linspace(-4, 4, 2001)
    steps = np.diff(fitted.link_.linear(at)) / np.diff(at)
    assert steps.min() >= 0.0
    assert steps.max() <= 0.5 + 1e-9
    assert (np.diff(fitted.losses_) < 0.0).all()
    free = SingleIndexClassifier(link="lipschitz", lipschitz=math.inf).fit(features, y)
    plain = SingleIndexClassifier().fit(features, y)
    np.testing.assert_allclose(free.coef_, plain.coef_, atol=1e-9)


@every
def test_whole_weights_repeat_rows_and_order_does_not_show(classifier):
    features, y = sample(150)
    weight = np.random.default_rng(1).integers(0, 4, 150)
    weighted = clone(classifier).fit(features, y, sample_weight=weight)
    order = np.random.default_rng(2).permutation(weight.sum())
    repeated = clone(classifier).fit(np.repeat(features, weight, axis=0)[order], np.repeat(y, weight)[order])
    np.testing.assert_array_equal(repeated.coef_, weighted.coef_)
    np.testing.assert_array_equal(repeated.predict_proba(features), weighted.predict_proba(features))


@every
def test_units_of_the_features_do_not_matter(classifier):
    features, y = sample()
    plain = clone(classifier).fit(features, y)
    other = clone(classifier).fit(features * [1.0, 8.0, 0.25, 2.0] + [0.0, 4.0, -1.0, 2.0], y)
    np.testing.assert_allclose(other.coef_, plain.coef_, atol=1e-6)


def test_the_index_of_a_row_does_not_depend_on_the_others():
    features, y = sample(300, 7)
    fitted = SingleIndexClassifier().fit(features, y)
    index = fitted.index(features)
    for rows in (slice(0, 1), slice(1, 7), slice(299, None, -1), slice(None, None, 3)):
        np.testing.assert_array_equal(fitted.index(features[rows]), index[rows])
    np.testing.assert_array_equal(fitted.index(np.asfortranarray(features)), index)
    by_hand = ((features - fitted.mean_) / fitted.scale_) @ fitted.coef_[0]
    np.testing.assert_allclose(index, by_hand, atol=1e-12)
    np.testing.assert_array_equal(fitted.link_.linear(index), fitted.predict_proba(features)[:, 1])


@pytest.mark.parametrize("rate", [0.02, 0.5, 0.98])
def test_decision_has_the_sign_of_the_prediction_and_the_order_of_the_index(rate):
    rng = np.random.default_rng(0)
    features = rng.standard_normal((1000, 2))
    y = np.where(rng.random(1000) < np.clip(rate + 0.02 * features[:, 0], 0, 1), "yes", "no")
    fitted = SingleIndexClassifier(link="lipschitz", lipschitz=0.05).fit(features, y)
    new = 3.0 * rng.standard_normal((1000, 2))
    decision = fitted.decision_function(new)
    assert np.isfinite(decision).all()
    np.testing.assert_array_equal(decision > 0, fitted.predict_proba(new)[:, 1] > 0.5)
    np.testing.assert_array_equal(fitted.classes_[(decision > 0).astype(int)], fitted.predict(new))
    assert roc_auc_score(new[:, 0] > 0, decision) == roc_auc_score(new[:, 0] > 0, fitted.index(new))
    assert math.isinf(fitted.threshold_) == (rate != 0.5)


@pytest.mark.parametrize("loss", ["log", "squared", "hinge"])
def test_starts_are_minima(loss):
    """Against a simplex search on the same objective; the hinge is rounded within 0.05 of its corner."""
    features, y = sample(60, 2)
    rows = index_rows(features, y.astype(np.int8), np.ones(60, dtype=np.int64))
    z, sign = (features - rows.mean) / rows.scale, 2 * y - 1
    losses = {
        "log": lambda m: np.logaddexp(0, -m),
        "squared": lambda m: (1 - m) ** 2,
        "hinge": lambda m: np.maximum(0, 1 - m),
    }

    def objective(theta):
        return losses[loss](sign * (z @ theta[:2] + theta[2])).mean() + 0.5 * (theta[:2] @ theta[:2]) / 60

    best = minimize(
        objective, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000}
    )
    direction, loss_of_fit = start_direction(rows, loss)
    best_direction = best.x[:2] / np.linalg.norm(best.x[:2])
    assert direction @ best_direction > (0.995 if loss == "hinge" else 1.0 - 1e-9)
    mean = losses[loss](sign * (z @ best.x[:2] + best.x[2])).mean()
    assert loss_of_fit == pytest.approx(mean, rel=0.02 if loss == "hinge" else 1e-6)


def test_frames_names_and_labels():
    features, y = sample()
    frame = pd.DataFrame(features, columns=list("abcd"))
    fitted = SingleIndexClassifier().fit(frame, np.where(y == 1, "sick", "healthy"))
    assert fitted.classes_.tolist() == ["healthy", "sick"]
    assert fitted.feature_names_in_.tolist() == list("abcd")
    assert set(fitted.predict(frame)) == {"healthy", "sick"}
    np.testing.assert_array_equal(
        fitted.predict_proba(frame), SingleIndexClassifier().fit(features, y).predict_proba(features)
    )


def test_constant_features_give_the_share_of_positives():
    fitted = SingleIndexClassifier(log_safe=False).fit(np.full((4, 2), 0.1), [0, 0, 0, 1])
    assert fitted.predict_proba([[0.1, 0.1]]).tolist() == [[0.75, 0.25]]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"loss": "brier"}, "loss to be one of"),
        ({"link": "logit"}, "link to be one of"),
        ({"update": "newton"}, "update to be one of"),
        ({"start": "zero"}, "start to be one of"),
        ({"max_iter": -1}, "max_iter to be a whole number, at least 0"),
        ({"tol": -1.0}, r"tol in \[0, 1\)"),
        ({"link": "lipschitz", "lipschitz": -1}, r"lipschitz in \[0, inf\]"),
        ({"link": "lipschitz", "loss": "log"}, "use loss='squared', or link='isotonic'"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ArgumentError, match=message):
        SingleIndexClassifier(**parameters).fit(*sample(20))


def test_bad_rows():
    features, y = sample(30)
    with pytest.raises(DataError, match="one class only"):
        SingleIndexClassifier().fit(features, np.zeros(30))
    with pytest.raises(DataError, match="one class only"):
        SingleIndexClassifier().fit(features, y, sample_weight=1 - y)
    with pytest.raises(DataError, match="one class c against the rest pass y == c"):
        SingleIndexClassifier().fit(features, np.arange(30) % 3)
    with pytest.raises(DataError, match="finite weights"):
        SingleIndexClassifier().fit(features, y, sample_weight=-y)
    with pytest.raises(ValueError, match="NaN"):
        SingleIndexClassifier().fit(np.where(features > 2, np.nan, features), y)


@pytest.mark.slow
def test_what_a_fitted_link_gains_and_costs():
    """What simulation showed when the method was designed."""
    simulate = runpy.run_path(str(ROOT / "benchmarks" / "index_model.py"))["simulate"]
    found = {world: simulate(world, 4, seed=1) for world in ("logit", "step", "asymmetric", "skewed")}

    def measure(world, learner, which):
        return found[world][learner][("c", "log loss", "squared error", "cos").index(which)]

    plain, once, hinge = "logistic regression", "logistic, one isotonic fit", "hinge, one isotonic fit"
    in_turns = ("alternating, squared", "alternating, log", "L-Isotron (matching)")
    for learner in (once, hinge, *in_turns):
        # with the right link, logistic regression is better
        assert measure("logit", plain, "squared error") < measure("logit", learner, "squared error")
        for world in ("step", "asymmetric", "skewed"):
            # otherwise any loss in the first step does, and the error is at the level of noise, 1.2 / sqrt(1500)
            assert measure(world, learner, "squared error") < measure(world, plain, "squared error")
            assert measure(world, learner, "c") < min(1.2 / math.sqrt(1500), measure(world, plain, "c"))
    for learner in in_turns:
        # taking turns beats calibrating once where the link is far from that of the start
        for world in ("step", "skewed"):
            assert measure(world, learner, "squared error") < measure(world, once, "squared error")
    assert measure("step", "alternating, squared", "squared error") < 0.7 * measure("step", once, "squared error")


@pytest.mark.parametrize("scale", [1e160, 1e-170, 1e-200])
def test_the_scale_of_features_does_not_matter(scale):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 2))
    y = rng.random(200) < 1.0 / (1.0 + np.exp(-2.0 * x[:, 0] - x[:, 1]))
    plain = SingleIndexClassifier().fit(x, y)
    scaled = SingleIndexClassifier().fit(x * scale, y)
    np.testing.assert_allclose(scaled.predict_proba(x * scale), plain.predict_proba(x), rtol=1e-6)


def test_features_beyond_the_range_of_floats():
    x = np.array([[-1.7e308]] + [[1.7e308]] * 19)
    with pytest.raises(DataError, match="features whose differences are finite, found larger ones in column 0"):
        SingleIndexClassifier().fit(x, [0, 1] * 10)
