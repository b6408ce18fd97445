"""Isotonic calibration as a scikit-learn estimator."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.isotonic import IsotonicRegression

from calibrant import DataError, ScoreTable
from calibrant.calibrators import IsotonicCalibrator
from calibrant.errors import ArgumentError, CalibrantError
from calibrant.metrics import cutoff_calibration_error, log_loss
from support.parts import fit_rows


def sample(n=400, ties=True, seed=0):
    rng = np.random.default_rng(seed)
    score = rng.integers(0, 30, n) / 30 if ties else rng.uniform(size=n)
    return score, (rng.uniform(size=n) < score**1.5).astype(int)


def test_equals_scikit_learn_where_it_pools_ties():
    # sklearn.isotonic.IsotonicRegression 1.9.1 pools tied scores and interpolates linearly, as we do.
    score, y = sample()
    ours = IsotonicCalibrator(log_safe=False).fit(score, y)
    theirs = IsotonicRegression(out_of_bounds="clip").fit(score, y)
    at = np.linspace(0, 1, 301)
    np.testing.assert_allclose(ours.predict(at), theirs.predict(at), atol=1e-12)


def test_weights_repeat_rows():
    score, y = sample(60)
    weight = np.random.default_rng(1).integers(0, 4, 60)
    weighted = IsotonicCalibrator().fit(score, y, count=weight)
    repeated = IsotonicCalibrator().fit(np.repeat(score, weight), np.repeat(y, weight))
    np.testing.assert_array_equal(weighted.predict(score), repeated.predict(score))


def test_a_table_serves_as_well_as_rows():
    score, y = sample()
    by_rows = IsotonicCalibrator().fit(score, y)
    by_table = IsotonicCalibrator().fit(ScoreTable.from_scores(y, score))
    np.testing.assert_array_equal(by_rows.predict(score), by_table.predict(score))


def test_step_and_linear_agree_at_the_sample_and_differ_in_gaps():
    score, y = [0.1, 0.3, 0.7, 0.9], [0, 0, 1, 1]
    step = IsotonicCalibrator(interpolation="step", log_safe=False).fit(score, y)
    linear = IsotonicCalibrator(interpolation="linear", log_safe=False).fit(score, y)
    assert step.predict(score).tolist() == linear.predict(score).tolist() == [0, 0, 1, 1]
    assert step.predict([0.5, 0.69, 0.7]).tolist() == [0, 0, 1]
    assert linear.predict([0.5]) == pytest.approx([0.5])


@pytest.mark.parametrize("interpolation", ["linear", "step"])
def test_log_safe_is_never_certain_and_nearly_calibrated(interpolation):
    score, y = sample(200, ties=False)
    fitted = IsotonicCalibrator(interpolation=interpolation).fit(score, y)
    value = fitted.predict(score)
    assert value.min() > 0
    assert value.max() < 1
    assert cutoff_calibration_error(y, value) < 1 / (2 * len(y))  # below 1 / (2 n)
    assert np.isfinite(log_loss(y, value))


def test_one_class_gives_a_constant_short_of_certainty():
    fitted = fit_rows(IsotonicCalibrator(), [0.2, 0.6], [1, 1])
    # (2 + 1/2) positives of (2 + 1/2 + 1/2) rows
    assert fitted.predict([0.0, 0.5, 1.0]).tolist() == [2.5 / 3] * 3


def test_manners_of_an_estimator():
    calibrator = IsotonicCalibrator(interpolation="step", log_safe=False)
    assert clone(calibrator).get_params() == {"interpolation": "step", "log_safe": False}
    with pytest.raises(NotFittedError):
        calibrator.predict([0.5])
    score, y = sample()
    fitted = calibrator.fit(score, y)
    assert fitted is calibrator
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(score), fitted.predict(score))
    assert fitted.predict(score[:, None]).shape == score.shape
    assert "IsotonicCalibrator" in repr(fitted)


@pytest.mark.parametrize(
    ("score", "y", "message"),
    [
        ([0.1, np.nan], [0, 1], "finite scores, found nan in row 1"),
        ([0.1, -2.0], [0, 1], "look like logits"),
        ([], [], "no rows"),
        ([0.1, 0.2], [0, 1, 1], "3 labels and 2 scores"),
        ([0.1, 0.2], [0, 7], "labels 0 and 1"),
    ],
)
def test_bad_input(score, y, message):
    with pytest.raises(DataError, match=message):
        IsotonicCalibrator().fit(score, y)


def test_bad_parameters():
    with pytest.raises(ArgumentError, match="'linear', 'step'"):
        IsotonicCalibrator(interpolation="cubic").fit([0.1, 0.2], [0, 1])
    with pytest.raises(ArgumentError, match="labels"):
        IsotonicCalibrator().fit([0.1, 0.2])
    with pytest.raises(CalibrantError, match="no rows"):
        IsotonicCalibrator().fit([0.1, 0.2], [0, 1]).predict([])


def test_gaps_too_narrow_for_a_slope_are_jumps():
    fitted = IsotonicCalibrator(log_safe=False).fit([0.0, 1.5e-323], [0, 1])
    assert fitted.predict([0.0, 5e-324, 1e-323, 1.5e-323]).tolist() == [0.0, 0.0, 0.0, 1.0]
