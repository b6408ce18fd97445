"""Metrics by hand, and against published or independent numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from calibrant import ScoreTable
from calibrant.metrics import brier_score, cutoff_calibration, cutoff_calibration_error, log_loss, roc_auc


def test_error_by_hand():
    """Arithmetic: residuals -.6 + .4 at .6, .3 - .7 at .7, .1 at .9, so the walk times 5 is -.2, -.6, -.5."""
    found = cutoff_calibration([1, 1, 0, 1, 0], [0.9, 0.7, 0.6, 0.6, 0.7])
    assert found.value == pytest.approx(0.6 / 5)
    assert found.interval == (-np.inf, 0.7)
    assert (found.direction, found.share, found.n) == ("too high", 0.8, 5.0)
    assert (found.mean_predicted, found.observed_rate) == pytest.approx((2.6 / 4, 2 / 4))
    assert (found.under, found.over) == pytest.approx((0.1 / 5, 0.6 / 5))
    assert (found.mean_residual, found.ks) == pytest.approx((-0.5 / 5, 0.6 / 5))


def test_wrong_for_sure():
    """C is 1 only if every score is 0 and every label 1, or the reverse."""
    assert cutoff_calibration_error([1, 1], [0.0, 0.0]) == 1.0
    assert cutoff_calibration_error([0, 0], [1.0, 1.0]) == 1.0
    assert cutoff_calibration_error([1, 0], [0.0, 1.0]) == 0.5


def test_base_rate_as_constant_score_has_no_error():
    """The constant predictor of the base rate is perfectly calibrated, and useless."""
    y = [1] + [0] * 3
    assert cutoff_calibration_error(y, [0.25] * 4) == 0.0
    assert roc_auc(y, [0.25] * 4) == 0.5


def test_ties_are_not_separated():
    """Arithmetic: 500 of 1000 rows at .5 are positive; splitting the ties would show up to .25."""
    assert cutoff_calibration_error(np.repeat([1, 0], 500), np.full(1000, 0.5)) == 0.0


def test_null_mean_is_that_of_calibrated_rows():
    """If all scores differ: mean 1.596 sqrt(V) / n, 95% quantile (2.4977 sqrt(V) + 1/2) / n, V the sum of s (1 - s)."""
    score = (np.arange(1000) + 0.5) / 1000
    found = cutoff_calibration(np.tile([0, 1], 500), score)
    v = float((score * (1 - score)).mean())
    assert found.null_mean == pytest.approx(2 * math.sqrt(2 / math.pi) * math.sqrt(v / 1000))
    assert found.null_q95 == pytest.approx((2.4977 * math.sqrt(1000 * v) + 0.5) / 1000, rel=1e-4)


def test_noise_of_one_score_is_that_of_a_normal_number():
    found = cutoff_calibration([0, 1] * 500, [0.5] * 1000)
    assert found.null_mean == pytest.approx(math.sqrt(2 / math.pi) * math.sqrt(0.25 / 1000), rel=1e-3)
    assert found.null_q95 == pytest.approx((1.96 * math.sqrt(250) + 0.5) / 1000, rel=1e-3)


def test_no_label_is_in_doubt():
    """What the likeliest labels show is the limit where any other label has a chance of less than .05."""
    found = cutoff_calibration([0, 0, 1, 1], [0.0, 0.01, 0.99, 1.0])
    assert found.null_q95 == pytest.approx(0.01 / 4)
    assert found.value <= found.null_q95
    assert cutoff_calibration([0, 1], [0.0, 1.0]).null_q95 < 1e-12


def test_limit_is_never_above_what_the_scores_allow():
    assert cutoff_calibration([0], [0.5]).null_q95 == pytest.approx(0.5)


def test_noise_floor_needs_rows():
    found = cutoff_calibration([0, 1], [0.2, 0.5], sample_weight=[0.5, 0.7])
    assert math.isnan(found.null_mean)
    assert math.isnan(found.null_q95)


@pytest.mark.slow
def test_noise_of_calibrated_samples_is_what_the_floor_says():
    """Simulation: 2000 samples of 2000 calibrated rows; the asymptotic distribution is an upper limit up to 1%."""
    rng = np.random.default_rng(0)
    s = np.sort(rng.random(2000))
    errors, above = [], 0
    for _ in range(2000):
        found = cutoff_calibration(rng.random(2000) < s, s)
        errors.append(found.value)
        above += found.value > found.null_q95
    assert np.mean(errors) == pytest.approx(found.null_mean, rel=0.03)
    assert 0.03 < above / 2000 < 0.065


def test_brier_and_log_loss_by_hand():
    assert brier_score([1, 0], [0.75, 0.5]) == (0.0625 + 0.25) / 2
    assert log_loss([1, 0], [0.75, 0.5]) == pytest.approx(-(math.log(0.75) + math.log(0.5)) / 2)


@pytest.mark.parametrize(("y", "s", "loss"), [(1, 0.0, math.inf), (0, 1.0, math.inf), (1, 1.0, 0.0), (0, 0.0, 0.0)])
def test_log_loss_is_not_clipped(y, s, loss):
    assert log_loss([y], [s]) == loss


def test_auc_of_ties_is_a_half():
    assert roc_auc([0, 1], [0.3, 0.3]) == 0.5
    assert roc_auc([0, 1, 1], [0.3, 0.3, 0.4]) == 0.75


@pytest.mark.parametrize("weight", [1e-130, 1e130])
def test_auc_does_not_depend_on_the_unit_of_weights(weight):
    assert roc_auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], sample_weight=[weight] * 4) == pytest.approx(0.75)


@pytest.mark.parametrize("weight", [10**9, 10**13, 10**15, 10**17, 1e19, 1e100])
def test_huge_weights_give_the_same_error(weight):
    y, s = [0, 1, 0, 1], [0.1, 0.6, 0.6, 0.7]
    assert cutoff_calibration_error(y, s, sample_weight=[weight] * 4) == pytest.approx(0.075, abs=2.0**-42)


def test_one_row():
    found = cutoff_calibration([1], [0.25])
    assert (found.value, found.interval, found.share) == (0.75, (-np.inf, 0.25), 1.0)
    assert brier_score([1], [0.25]) == 0.5625


def test_metrics_take_a_table():
    table = ScoreTable.from_counts([0.25, 0.75], [4, 4], [1, 3])
    assert cutoff_calibration_error(table) == 0.0
    assert brier_score(table) == (1 * 0.75**2 + 3 * 0.25**2) * 2 / 8
    assert roc_auc(table) == (3 * 3 + 0.5 * (1 * 3 + 3 * 1)) / 16
