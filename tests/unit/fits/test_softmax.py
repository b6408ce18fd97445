"""Softmax maps: derivatives by differences, the mode against a general solver, EM, and known maps found again."""

import numpy as np
import pytest
from scipy.optimize import minimize

from calibrant.fits import class_maps as module
from calibrant.fits.class_maps import ClassSample, Likelihood, Softmax, climb, log_features, softmax

KINDS = ("temperature", "bias", "vector", "matrix")


def draw(n, classes, seed=0, sharp=2.0):
    """Probabilities, and labels that are drawn from them."""
    rng = np.random.default_rng(seed)
    logit = rng.normal(size=(n, classes)) * sharp
    proba = softmax(logit)
    return proba, np.minimum((rng.random((n, 1)) > proba.cumsum(axis=1)).sum(axis=1), classes - 1)


def likelihood_of(kind, n=40, classes=4, seed=0):
    proba, code = draw(n, classes, seed)
    z, tail = log_features(proba, 1e-12)
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, n)
    return Likelihood(kind, z, tail, code, weight)


def size_of(likelihood):
    return likelihood.n_common + len(likelihood.group)


@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_are_those_of_differences(kind, monkeypatch):
    monkeypatch.setattr(module, "_NUMBERS", 200)  # several blocks
    likelihood = likelihood_of(kind)
    at = np.random.default_rng(1).normal(size=size_of(likelihood)) * 0.3
    _, slope, information = likelihood.derivatives(at)
    for i, step in enumerate(np.eye(len(at)) * 1e-5):
        by_height = (likelihood.derivatives(at + step)[0] - likelihood.derivatives(at - step)[0]) / 2e-5
        by_slope = (likelihood.derivatives(at + step)[1] - likelihood.derivatives(at - step)[1]) / 2e-5
        assert slope[i] == pytest.approx(by_height, abs=1e-5)
        np.testing.assert_allclose(information[i], -by_slope, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_the_mode_is_that_of_a_general_solver(kind):
    likelihood = likelihood_of(kind)
    centre = np.zeros(size_of(likelihood))
    centre[0] = 1.0
    precision = np.random.default_rng(2).uniform(0.5, 20.0, len(centre))
    mode, _, _ = climb(likelihood, centre, centre, precision)
    theirs = minimize(
        lambda at: -likelihood.derivatives(at)[0] + 0.5 * precision @ (at - centre) ** 2,
        centre,
        jac=lambda at: -likelihood.derivatives(at)[1] + precision * (at - centre),
        method="BFGS",
        options={"gtol": 1e-8},
    )
    np.testing.assert_allclose(mode, theirs.x, atol=1e-4)


@pytest.mark.slow
def test_em_climbs_to_the_largest_marginal_likelihood(monkeypatch):
    """Of one variance, that of biases, against the Laplace approximation of the evidence on a grid."""
    monkeypatch.setattr(module, "_ROUNDS", 200)
    monkeypatch.setattr(module, "_SETTLED", 1e-6)
    true, code = draw(3000, 6)
    off = np.linspace(-1.0, 1.0, 6)
    z, tail = log_features(softmax(np.log(true) + off), 1e-12)
    likelihood = Likelihood("bias", z, tail, code, np.ones(len(z)))
    _, bias = module.shrunk(likelihood, 1.0)
    centre = np.append(1.0, np.zeros(7))

    def evidence(variance):
        precision = np.r_[1.0, module._TAIL_SPREAD**-2, np.full(6, 1.0 / variance)]
        mode, information, _ = climb(likelihood, centre, centre, precision)
        drawn = -0.5 * module._COUNT * (np.log(variance) + module._SMALL[0] / variance)
        prior = 0.5 * np.log(precision).sum() - 0.5 * precision @ (mode - centre) ** 2
        return likelihood.derivatives(mode)[0] + prior - 0.5 * np.linalg.slogdet(information)[1] + drawn, mode[2:]

    best = max((evidence(variance) for variance in np.geomspace(0.05, 2.0, 100)), key=lambda pair: pair[0])
    np.testing.assert_allclose(bias[:, 0], best[1], atol=2e-3)


@pytest.mark.parametrize("kind", ["temperature", "vector", "matrix"])
def test_a_known_map_is_found_again(kind):
    """Scores are what becomes of the truth when the inverse of a map of that kind is applied."""
    classes = 4
    true, code = draw(6000, classes, seed=3)
    rng = np.random.default_rng(4)
    linear = np.eye(classes)
    bias = np.zeros(classes)
    if kind != "temperature":
        linear += np.diag(rng.uniform(-0.3, 0.3, classes))
        bias = rng.normal(size=classes) * 0.7
    if kind == "matrix":
        linear += rng.normal(size=(classes, classes)) * 0.2
    z = log_features(true, 1e-12)[0]
    scores = softmax(2.0 * z @ linear.T + bias)
    mapped = Softmax(kind).fit_rows(ClassSample(scores, code)).map_rows(scores)
    excess = (true * np.log(true / mapped)).sum(axis=1).mean()
    before = (true * np.log(true / scores)).sum(axis=1).mean()
    assert excess < 0.01 * before + 0.002


def test_right_probabilities_are_left_about_as_they_are():
    proba, code = draw(2000, 5)
    for kind in KINDS:
        mapped = Softmax(kind).fit_rows(ClassSample(proba, code)).map_rows(proba)
        assert (proba * np.log(proba / mapped)).sum(axis=1).mean() < 0.004


@pytest.mark.parametrize("kind", KINDS)
def test_weights_count_rows(kind):
    proba, code = draw(60, 3)
    weight = np.random.default_rng(1).integers(1, 4, 60)
    weighted = Softmax(kind).fit_rows(ClassSample(proba, code, weight.astype(float)))
    repeated = Softmax(kind).fit_rows(ClassSample(proba.repeat(weight, axis=0), code.repeat(weight)))
    np.testing.assert_allclose(weighted.map_rows(proba), repeated.map_rows(proba), atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_extreme_rows_give_probabilities(kind):
    for proba, code in (
        (np.eye(4), np.array([1, 1, 2, 3])),  # certain, and wrong once
        (np.full((3, 4), 0.25), np.array([0, 0, 0])),
        (np.eye(4)[[0]], np.array([2])),
        (np.array([[1.0 - 2e-300, 1e-300, 1e-300, 0.0]]), np.array([3])),
    ):
        mapped = Softmax(kind).fit_rows(ClassSample(proba, code)).map_rows(np.vstack([proba, np.eye(4)]))
        assert (mapped > 0.0).all()
        np.testing.assert_allclose(mapped.sum(axis=1), 1.0)


def test_zeros_of_votes_count_as_a_floor_and_small_probabilities_as_they_are():
    rng = np.random.default_rng(0)
    true, code = draw(1500, 5)
    votes = rng.multinomial(20, true) / 20
    of_votes = Softmax("vector").fit_rows(ClassSample(votes, code))
    assert of_votes.floor_ == 1e-2
    excess = (true * np.log(true / of_votes.map_rows(votes))).sum(axis=1).mean()
    assert excess < 0.15 < (true * np.log(true / np.maximum(votes, 1e-9))).sum(axis=1).mean()
    sharp, code = draw(1500, 5, sharp=6.0)
    assert Softmax("vector").fit_rows(ClassSample(sharp, code)).floor_ == module.FLOORS[0]


def test_cross_terms_of_many_classes_are_found():
    """EM from small variances leaves all of these at 0."""
    rng = np.random.default_rng(0)
    true, code = draw(400, 10)
    scores = softmax(np.log(true) @ (np.eye(10) + 0.25 * rng.normal(size=(10, 10))))
    fitted = {kind: Softmax(kind).fit_rows(ClassSample(scores, code)).map_rows(scores) for kind in ("vector", "matrix")}
    excess = {kind: (true * np.log(true / mapped)).sum(axis=1).mean() for kind, mapped in fitted.items()}
    assert excess["matrix"] < 0.6 * excess["vector"]
