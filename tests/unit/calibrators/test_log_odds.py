"""Platt, temperature and beta calibration reach the maximum of the likelihood that others find, inside its limits."""

import csv
import math

import numpy as np
import pytest
from hypothesis import given
from scipy.optimize import minimize
from scipy.special import expit

from calibrant import DataError, ScoreTable
from calibrant.calibrators import BetaCalibrator, PlattCalibrator, TemperatureCalibrator
from calibrant.metrics import calibration_slope
from support.data import LOCFIT
from support.parts import fit_rows
from support.strategies import Rows, small_rows

NAMES = ("smooth_50", "ties_500", "narrow_500", "extreme_500", "smooth_2000")


def gold(name):
    with (LOCFIT / "platt_beta.csv").open(encoding="utf-8") as file:
        row = next(row for row in csv.DictReader(file) if row["dataset"] == name)
    score, y = np.loadtxt(LOCFIT / f"input_{name}.csv", delimiter=",", skiprows=1).T
    return score, y, row


@pytest.mark.parametrize("name", NAMES)
def test_platt_on_the_score_equals_glm_of_r(name):
    score, y, row = gold(name)
    fitted = PlattCalibrator(on="score", smooth_targets=False).fit(score, y)
    # The file has ten digits.
    assert fitted.slope_ == pytest.approx(float(row["platt_a"]), rel=2e-9)
    assert fitted.intercept_ == pytest.approx(float(row["platt_b"]), rel=2e-9)


@pytest.mark.parametrize("name", NAMES)
def test_beta_equals_glm_of_r_with_its_refits(name):
    score, y, row = gold(name)
    clipped = np.clip(score, 1e-16, 1.0 - 1e-16)  # as R does it: the upper end rounds to 1 - 1.1e-16
    fitted = BetaCalibrator(smooth_targets=False, clip=1e-17).fit(clipped, y)
    expected = [float(row[f"beta_{parameter}"]) for parameter in "abc"]
    assert [fitted.a_, fitted.b_, fitted.c_] == pytest.approx(expected, rel=1e-6, abs=1e-9)


def targets(y, w, smooth=True):
    """Platt (1999), section 2.1, row by row."""
    if not smooth:
        return y.astype(float)
    positives = (w * y).sum()
    negatives = w.sum() - positives
    return np.where(y == 1, (positives + 1) / (positives + 2), 1 / (negatives + 2))


def logs(score):
    """log s and log (1 - s), with 0 and 1 moved half way to the nearest other score, at most by 1/4."""
    low = min([0.5 * s for s in score if s > 0.0] + [0.25])
    high = min([0.5 * (1.0 - s) for s in score if s < 1.0] + [0.25])
    clipped = np.where(score == 0.0, low, np.where(score == 1.0, 1.0 - high, score))
    return np.log(clipped), np.log(1.0 - clipped)


def mean_loss(logit, target, w):
    return float((w * (target * np.logaddexp(0, -logit) + (1 - target) * np.logaddexp(0, logit))).sum() / w.sum())


def least(design, target, w, bounds):
    """Smallest mean loss by a general optimiser under bounds."""

    def loss_and_slope(b):
        logit = design @ b
        return mean_loss(logit, target, w), design.T @ (w * (expit(logit) - target)) / w.sum()

    found = minimize(
        loss_and_slope, np.zeros(design.shape[1]), jac=True, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-15}
    )
    return found.fun


FREE, POSITIVE = (None, None), (0.0, None)


@given(rows=small_rows(most=12))
def test_no_other_parameters_do_better(rows):
    keep = (rows.s == 0.0) | (rows.s == 1.0) | ((rows.s > 1e-3) & (rows.s < 1 - 1e-3))  # the optimiser's range
    w = np.ones(len(rows.y)) if rows.w is None else rows.w
    keep &= w > 0
    if not keep.any():
        return
    s, y, w = rows.s[keep].astype(float), rows.y[keep], w[keep]
    kept = Rows(y, s, w)
    w = kept.as_they_count()
    x, rest = logs(s)
    one, target = np.ones(len(s)), targets(y, w)
    for calibrator, design, bounds in (
        (PlattCalibrator(), np.column_stack([x - rest, one]), [FREE, FREE]),
        (PlattCalibrator(on="score"), np.column_stack([s, one]), [FREE, FREE]),
        (TemperatureCalibrator(), (x - rest)[:, None], [POSITIVE]),
        (BetaCalibrator(), np.column_stack([x, -rest, one]), [POSITIVE, POSITIVE, FREE]),
    ):
        p = fit_rows(calibrator, s, y, **kept.keywords).predict(s)
        ours = mean_loss(np.log(p) - np.log1p(-p), target, w)
        assert ours <= least(design, target, w, bounds) + 1e-9


@pytest.mark.parametrize("smooth_targets", [True, False])
def test_the_likelihood_equations_hold_on_many_rows(smooth_targets):
    """At the maximum the residuals are orthogonal to every column."""
    rng = np.random.default_rng(0)
    s = rng.beta(0.7, 1.6, 40_000)
    y = (rng.random(len(s)) < s**1.2).astype(int)
    target = targets(y, np.ones(len(s)), smooth_targets)
    one = np.ones(len(s))
    logit, x, z = np.log(s) - np.log1p(-s), np.log(s), np.log1p(-s)
    for calibrator, columns in (
        (PlattCalibrator, [logit, one]),
        (TemperatureCalibrator, [logit]),
        (BetaCalibrator, [x, z, one]),
    ):
        residual = target - calibrator(smooth_targets=smooth_targets).fit(s, y).predict(s)
        assert max(abs(column @ residual) for column in columns) < 1e-10 * len(s)


@pytest.mark.parametrize("calibrator", [PlattCalibrator, TemperatureCalibrator, BetaCalibrator])
def test_without_smoothing_separated_classes_are_refused(calibrator):
    with pytest.raises(DataError, match="leave smooth_targets=True"):
        calibrator(smooth_targets=False).fit([0.2, 0.4, 0.6, 0.8], [0, 0, 1, 1])
    with pytest.raises(DataError, match="finite parameters"):
        fit_rows(calibrator(smooth_targets=False), [0.6, 0.8], [1, 1])


def test_one_class_gives_its_target():
    # (2 + 1) / (2 + 2) for two positives
    for calibrator in (PlattCalibrator(), PlattCalibrator(on="score"), BetaCalibrator()):
        assert fit_rows(calibrator, [0.3, 0.8], [1, 1]).predict([0, 0.5, 1]) == pytest.approx([0.75] * 3, abs=1e-12)


def test_equal_scores_give_a_constant():
    # targets (3 + 1) / (3 + 2) three times and 1 / (1 + 2) once
    for calibrator in (PlattCalibrator(), PlattCalibrator(on="score"), BetaCalibrator()):
        fitted = calibrator.fit([0.4] * 4, [1, 1, 1, 0])
        assert fitted.predict([0.1, 0.4, 0.9]) == pytest.approx([(3 * 4 / 5 + 1 / 3) / 4] * 3)
    same = TemperatureCalibrator(smooth_targets=False).fit([0.4] * 4, [1, 0, 0, 0])
    assert same.predict([0.4]) == pytest.approx([0.25])
    assert TemperatureCalibrator().fit([0.5] * 4, [1, 0, 0, 0]).inverse_temperature_ == 1.0


@pytest.mark.parametrize("base", [1e-5, 0.3, 0.5, 0.9])
def test_scores_that_rounding_parts_are_one_score(base):
    """Else slopes are about 1e14, and the last digit of a score decides."""
    rng = np.random.default_rng(0)
    scores = base + rng.integers(-4, 5, 200) * np.spacing(base)
    y = rng.integers(0, 2, 200)
    for calibrator in (PlattCalibrator(), PlattCalibrator(on="score"), BetaCalibrator(), TemperatureCalibrator()):
        apart, equal = calibrator.fit(scores, y).predict(scores), calibrator.fit(np.full(200, base), y).predict(scores)
        assert apart == pytest.approx(equal, abs=1e-9)
    assert math.isnan(calibration_slope(y, scores).slope)


def test_two_scores_cannot_tell_the_two_powers_apart():
    fitted = BetaCalibrator(smooth_targets=False).fit([0.2] * 4 + [0.7] * 4, [0, 0, 0, 1, 0, 1, 1, 1])
    assert fitted.a_ == fitted.b_ > 0
    assert fitted.predict([0.2, 0.7]) == pytest.approx([0.25, 0.75])


def test_scores_that_rank_the_wrong_way():
    rng = np.random.default_rng(0)
    s = rng.random(500)
    y = (rng.random(500) > s).astype(int)
    assert PlattCalibrator().fit(s, y).slope_ < 0
    temperature = TemperatureCalibrator().fit(s, y)
    assert (temperature.inverse_temperature_, temperature.temperature_) == (0.0, np.inf)
    assert set(temperature.predict(s)) == {0.5}
    beta = BetaCalibrator(smooth_targets=False).fit(s, y)
    assert (beta.a_, beta.b_) == (0.0, 0.0)
    assert beta.predict(s) == pytest.approx(np.full(500, y.mean()))


def test_dropped_power_is_refitted():
    """Rates that fall short at the upper end only want b < 0; what remains is a logistic fit on log s."""
    rng = np.random.default_rng(1)
    s = rng.uniform(0.01, 0.99, 5000)
    y = (rng.random(5000) < 0.6 * s / (1 + s)).astype(int)
    fitted = BetaCalibrator(smooth_targets=False).fit(s, y)
    assert fitted.b_ == 0.0
    residual = y - fitted.predict(s)
    assert abs(residual.sum()) < 1e-8
    assert abs(np.log(s) @ residual) < 1e-8


@pytest.mark.parametrize("calibrator", [PlattCalibrator, TemperatureCalibrator, BetaCalibrator])
def test_zeros_and_ones_are_clipped_where_asked(calibrator):
    score, y = [0.0, 0.0, 0.2, 0.6, 0.9, 1.0], [0, 1, 0, 1, 0, 1]
    assert calibrator().fit(score, y).clip_ == pytest.approx((0.1, 0.05))
    assert calibrator(clip=1e-6).fit(score, y).clip_ == (1e-6, 1e-6)
    automatic = calibrator().fit(score, y)
    by_hand = calibrator(clip=1e-12).fit([0.1, 0.1, 0.2, 0.6, 0.9, 0.95], y)
    inside = [0.2, 0.6, 0.9]
    assert automatic.predict(inside) == pytest.approx(by_hand.predict(inside), abs=1e-12)
    assert automatic.predict([0.0, 1.0]) == pytest.approx(by_hand.predict([0.1, 0.95]), abs=1e-12)
    assert automatic.predict([0.01]) == automatic.predict([0.0])


def test_clip_of_scores_that_are_all_certain():
    assert PlattCalibrator().fit([0, 0, 1, 1], [0, 1, 0, 1]).clip_ == (0.25, 0.25)
    assert PlattCalibrator().fit([0, 0], [0, 1]).clip_ == (0.25, 0.25)
    assert PlattCalibrator().fit([1, 1], [0, 1]).clip_ == (0.25, 0.25)
    assert PlattCalibrator(on="score").fit([0, 1], [0, 1]).clip_ == (0.0, 0.0)
    assert BetaCalibrator().fit([0.0, 5e-324, 0.5], [0, 1, 1]).clip_[0] == np.finfo(float).tiny


def test_new_scores_beyond_the_sample_are_hardly_clipped():
    score = np.linspace(0.01, 0.2, 100)
    fitted = PlattCalibrator().fit(score, np.tile([0, 1], 50))
    # half of .01, but at most 1 / (2 * 100); half of .8 at the other end, but at most the same
    assert fitted.clip_ == pytest.approx((0.005, 0.005))
    assert len(set(fitted.predict([0.5, 0.8, 0.99]))) == 3


@pytest.mark.parametrize("calibrator", [PlattCalibrator, BetaCalibrator])
def test_zeros_and_ones_alone_keep_what_they_tell(calibrator):
    fitted = calibrator(smooth_targets=False).fit([0] * 4 + [1] * 4, [0, 0, 0, 1, 0, 1, 1, 1])
    assert fitted.predict([0, 1]) == pytest.approx([0.25, 0.75])


def test_the_identity_is_found_in_calibrated_scores():
    """With exactly calibrated counts every family that holds the identity finds it."""
    score = np.arange(1, 100) / 100
    table = ScoreTable.from_counts(score, np.full(99, 100), np.arange(1, 100))
    platt = PlattCalibrator(smooth_targets=False).fit(table)
    beta = BetaCalibrator(smooth_targets=False).fit(table)
    assert (platt.slope_, platt.intercept_) == pytest.approx((1.0, 0.0), abs=1e-12)
    assert (beta.a_, beta.b_, beta.c_) == pytest.approx((1.0, 1.0, 0.0), abs=1e-11)
    assert TemperatureCalibrator(smooth_targets=False).fit(table).temperature_ == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("spread", [5e-324, 1e-181, 1e-151])
def test_scores_too_close_for_a_slope_are_taken_as_equal(spread):
    fitted = PlattCalibrator(on="score").fit([0.0, spread, 0.0, spread], [0, 1, 1, 1])
    assert fitted.slope_ == 0.0
    assert np.isfinite(fitted.predict([0.0, 0.5, 1.0])).all()
