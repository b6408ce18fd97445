"""Simulated worlds against their definitions and against published averages."""

from __future__ import annotations

import json

import numpy as np
import pytest

from calibrant.errors import ArgumentError
from calibrant.papers import distorted_probabilities, two_feature_logit


def logistic(eta):
    return 1.0 / (1.0 + np.exp(-eta))


def test_scores_follow_from_the_true_probability():
    """Arithmetic: eta is the logit of p, so the score is (1 / (1 + exp(-gamma eta)))**alpha."""
    drawn = distorted_probabilities(500, alpha=1.5, gamma=3.0, random_state=3)
    eta = np.log(drawn.p_true / (1.0 - drawn.p_true))
    assert drawn.y_proba == pytest.approx(logistic(3.0 * eta) ** 1.5, rel=1e-12)
    assert drawn.x.shape == (500, 4)
    assert (drawn.alpha, drawn.gamma) == (1.5, 3.0)


def test_no_distortion_gives_the_true_probabilities():
    drawn = distorted_probabilities(500)
    assert np.array_equal(drawn.y_proba, drawn.p_true)


def test_what_is_drawn_does_not_depend_on_the_distortion():
    one, other = (distorted_probabilities(300, alpha=a, gamma=g, random_state=9) for a, g in ((1 / 3, 1.0), (1.0, 3.0)))
    for name in ("y_true", "p_true", "x"):
        assert np.array_equal(getattr(one, name), getattr(other, name))


def test_log_odds_are_linear_in_the_features_plus_noise():
    """Definition: coefficients -.1, .05, .2, -.05, no intercept, noise of standard deviation .5."""
    drawn = distorted_probabilities(400_000, random_state=1)
    eta = np.log(drawn.p_true / (1.0 - drawn.p_true))
    design = np.column_stack([np.ones(len(eta)), drawn.x])
    fitted, squares, *_ = np.linalg.lstsq(design, eta)
    # Four standard errors: .5 / sqrt(400000) * sqrt(12) = .0027 for a slope, sqrt(13) for the intercept.
    assert fitted == pytest.approx([0.0, -0.1, 0.05, 0.2, -0.05], abs=0.0115)
    assert np.sqrt(squares[0] / len(eta)) == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(2 * 400_000))


# Mean squared distance of score and probability over the 800 test rows of 200 samples: the ebook of Fernandes
# Machado et al. (2024), tables 2.1 to 2.10, four decimals.
PUBLISHED_TRUE_MSE = {
    (1 / 3, 1.0): 0.0831,
    (2 / 3, 1.0): 0.0157,
    (3 / 2, 1.0): 0.0192,
    (3.0, 1.0): 0.1280,
    (1.0, 1 / 3): 0.0060,
    (1.0, 2 / 3): 0.0014,
    (1.0, 3 / 2): 0.0025,
    (1.0, 3.0): 0.0243,
}


@pytest.mark.grid
@pytest.mark.parametrize(("alpha", "gamma"), PUBLISHED_TRUE_MSE)
def test_distance_from_the_truth_is_the_published_one(alpha, gamma):
    """The published standard deviation over samples is at most .0010, so the error of a mean of 200 is .00007."""
    drawn = distorted_probabilities(400_000, alpha=alpha, gamma=gamma, random_state=2)
    found = np.mean((drawn.p_true - drawn.y_proba) ** 2)
    assert found == pytest.approx(PUBLISHED_TRUE_MSE[alpha, gamma], abs=5e-5 + 4 * 0.0010 / np.sqrt(200))


def test_labels_come_from_the_true_probabilities():
    """Binomial: in ten groups of p, positives differ from their expectation by less than 4.5 standard deviations."""
    drawn = distorted_probabilities(100_000, alpha=3.0, random_state=4)
    for group in np.array_split(np.argsort(drawn.p_true), 10):
        p = drawn.p_true[group]
        assert abs((drawn.y_true[group] - p).sum()) < 4.5 * np.sqrt((p * (1 - p)).sum())


def test_extreme_distortions_stay_probabilities():
    for alpha, gamma in ((1e-9, 1.0), (1e9, 1.0), (1.0, 1e-9), (1.0, 1e9)):
        drawn = distorted_probabilities(200, alpha=alpha, gamma=gamma)
        assert ((drawn.y_proba >= 0) & (drawn.y_proba <= 1)).all()


def test_two_features_determine_the_probability():
    """Equation 10 of the talk."""
    drawn = two_feature_logit(500, coefficients=(4, -3), random_state=5)
    assert drawn.p_true == pytest.approx(logistic(4 * drawn.x[:, 0] - 3 * drawn.x[:, 1] - 0.5), rel=1e-12)
    assert drawn.coefficients == (4.0, -3.0)


def test_two_features_by_the_published_figures():
    """Talk, table 2: with the true probabilities accuracy is .736 to .741 and the Brier score .174 to .176."""
    drawn = two_feature_logit(200_000, random_state=6)
    accuracy = np.mean((drawn.p_true > 0.5) == drawn.y_true)
    assert 0.7355 - 0.004 < accuracy < 0.7415 + 0.004  # four standard errors of 200,000 rows
    assert 0.1735 - 0.001 < np.mean((drawn.y_true - drawn.p_true) ** 2) < 0.1765 + 0.001


@pytest.mark.parametrize("draw", [distorted_probabilities, two_feature_logit])
def test_chance_comes_from_the_seed_alone(draw):
    first, again, other = draw(50, random_state=1), draw(50, random_state=1), draw(50, random_state=2)
    assert np.array_equal(first.p_true, again.p_true)
    assert not np.array_equal(first.p_true, other.p_true)
    assert np.array_equal(draw(50, random_state=np.random.default_rng(1)).y_true, first.y_true)
    assert json.loads(first.to_json())["y_true"] == first.y_true.tolist()


@pytest.mark.parametrize(
    "keywords", [{"n": 0}, {"n": 1.5}, {"alpha": 0.0}, {"alpha": np.nan}, {"gamma": -1.0}, {"gamma": np.inf}]
)
def test_bad_parameters_of_distorted_probabilities(keywords):
    with pytest.raises(ArgumentError, match=next(iter(keywords))):
        distorted_probabilities(**keywords)


@pytest.mark.parametrize("coefficients", [(1.0,), (1.0, 2.0, 3.0), 4.0, (1.0, np.inf), (np.nan, 1.0), ("a", 1.0)])
def test_bad_coefficients(coefficients):
    with pytest.raises(ArgumentError, match="coefficient"):
        two_feature_logit(10, coefficients=coefficients)


def test_no_rows_of_two_features():
    with pytest.raises(ArgumentError, match="n to be a whole number"):
        two_feature_logit(0)
