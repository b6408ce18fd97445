"""Isotonic calibration with a limited slope, as a scikit-learn estimator. Its fit is tested in core."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from calibrant import DataError, ScoreTable
from calibrant.calibrators import IsotonicCalibrator, LipschitzIsotonicCalibrator
from calibrant.errors import ArgumentError
from calibrant.metrics import log_loss
from calibrant.papers import true_mse
from support.parts import fit_rows
from support.strategies import small_rows


def sample(n=300, seed=0, levels=30):
    rng = np.random.default_rng(seed)
    score = rng.random(n) if levels is None else rng.integers(0, levels + 1, n) / levels
    return score, (rng.random(n) < 0.1 + 0.7 * score**1.5).astype(int)


@given(small_rows(), st.sampled_from([0.0, 0.7, 1.0, 5.0, 1e3]))
def test_nowhere_steeper_than_asked_and_never_certain(rows, limit):
    fitted = fit_rows(LipschitzIsotonicCalibrator(lipschitz=limit), rows.s, rows.y, rows.w)
    at = np.sort(np.append(rows.s.astype(float), np.linspace(0, 1, 101)))
    value = fitted.predict(at)
    assert ((value > 0) & (value < 1)).all()
    rise = np.diff(value)
    assert (rise >= -1e-16).all()
    assert (rise <= limit * np.diff(at) + 1e-15).all()


@pytest.mark.parametrize("log_safe", [True, False])
def test_without_limit_it_is_isotonic_calibration(log_safe):
    score, y = sample()
    at = np.linspace(0, 1, 301)
    ours = LipschitzIsotonicCalibrator(lipschitz=np.inf, log_safe=log_safe).fit(score, y)
    plain = IsotonicCalibrator(log_safe=log_safe).fit(score, y)
    np.testing.assert_allclose(ours.predict(at), plain.predict(at), rtol=0, atol=1e-14)


def test_limit_0_is_a_constant():
    score, y = sample()
    fitted = LipschitzIsotonicCalibrator(lipschitz=0, log_safe=False).fit(score, y)
    assert fitted.predict([0.0, 0.5, 1.0]) == pytest.approx([y.mean()] * 3, rel=1e-14)


def test_closer_to_the_truth_than_without_limit_where_the_limit_is_right():
    closer = 0
    for seed in range(30):
        score, y = sample(500, seed, levels=None)
        truth = 0.1 + 0.7 * score**1.5  # steepest at 1, with slope 1.05
        limited = LipschitzIsotonicCalibrator().fit(score, y).predict(score)
        closer += true_mse(truth, limited) < true_mse(truth, IsotonicCalibrator().fit(score, y).predict(score))
    assert closer >= 25  # a coin would reach this with probability 1.6e-4


def test_log_loss_is_finite_by_default():
    score, y = [0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1]
    assert np.isfinite(log_loss(y, LipschitzIsotonicCalibrator().fit(score, y).predict(score)))
    assert LipschitzIsotonicCalibrator(log_safe=False).fit(score, y).predict([0.0, 1.0]).tolist() == [0.0, 1.0]


def test_weights_repeat_rows_and_a_table_serves_as_well():
    score, y = sample(80)
    weight = np.random.default_rng(1).integers(0, 4, 80)
    weighted = LipschitzIsotonicCalibrator(lipschitz=1.2).fit(score, y, count=weight)
    repeated = clone(weighted).fit(np.repeat(score, weight), np.repeat(y, weight))
    by_table = clone(weighted).fit(ScoreTable.from_scores(y, score, count=weight))
    at = np.linspace(0, 1, 101)
    assert weighted.predict(at).tolist() == repeated.predict(at).tolist() == by_table.predict(at).tolist()


def test_gaps_too_narrow_for_a_slope_are_jumps():
    fitted = LipschitzIsotonicCalibrator(lipschitz=np.inf, log_safe=False).fit([0.0, 1.5e-323], [0, 1])
    assert fitted.predict([0.0, 5e-324, 1e-323, 1.5e-323]).tolist() == [0.0, 0.0, 0.0, 1.0]


def test_manners_of_an_estimator():
    calibrator = LipschitzIsotonicCalibrator(lipschitz=2.0, log_safe=False)
    assert clone(calibrator).get_params() == {"lipschitz": 2.0, "log_safe": False}
    with pytest.raises(NotFittedError):
        calibrator.predict([0.5])
    score, y = sample()
    fitted = calibrator.fit(score, y)
    assert pickle.loads(pickle.dumps(fitted)).predict(score).tolist() == fitted.predict(score).tolist()
    assert fitted.predict(score[:, None]).shape == score.shape


@pytest.mark.parametrize("limit", [-1.0, np.nan, "steep", None])
def test_bad_limits(limit):
    with pytest.raises(ArgumentError, match="lipschitz"):
        LipschitzIsotonicCalibrator(lipschitz=limit).fit([0.1, 0.2], [0, 1])


@pytest.mark.parametrize(
    ("score", "y", "message"),
    [
        ([0.1, np.inf], [0, 1], "finite scores, found inf in row 1"),
        ([0.1, -2.0], [0, 1], "look like logits"),
        ([], [], "no rows"),
        ([0.1, 0.2], [0, 1, 1], "3 labels and 2 scores"),
        ([0.1, 0.2], [0, 7], "labels 0 and 1"),
    ],
)
def test_bad_input(score, y, message):
    with pytest.raises(DataError, match=message):
        LipschitzIsotonicCalibrator().fit(score, y)
