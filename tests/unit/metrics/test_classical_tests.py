"""Calibration slope and KS statistic: by hand, by definition, and as others compute them."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from scipy import optimize

from calibrant import ArgumentError, DataError, ScoreTable
from calibrant.metrics import calibration_slope, cutoff_calibration
from support.oracles import cell_table
from support.strategies import small_rows


def tied():
    """600 rows, 30 at each of 20 scores; from arithmetic, so that anyone can make them again."""
    i = np.arange(600)
    s = (1 + i % 20) / 21
    return (((i * 7919 + 104729) % 1000) / 1000 < s**1.5).astype(int), s


class TestCalibrationSlope:
    def test_two_scores_are_met_exactly(self):
        """Arithmetic: log-odds -L and L become the observed ones, 0 and L / 2, so b = 1/4 and a = L / 4; L = log 9."""
        y = [1] * 6 + [0] * 6 + [1] * 9 + [0] * 3
        found = calibration_slope(y, [0.1] * 12 + [0.9] * 12)
        log9 = math.log(9)
        assert (found.intercept, found.slope) == (pytest.approx(log9 / 4), pytest.approx(1 / 4))
        # the information of a is 12 / 4 + 12 * 3 / 16, see McCullagh & Nelder; variances of both shares add up
        variance = 1 / (12 * 0.25) + 1 / (12 * 0.1875)
        assert found.slope_standard_error == pytest.approx(math.sqrt(variance) / (2 * log9))
        assert found.intercept_standard_error == pytest.approx(math.sqrt(variance) / 2)

    def test_equals_statsmodels(self):
        """statsmodels 0.15.0: GLM(y, [1, logit(s)], Binomial()) and GLM(y, 1, offset=logit(s)), .fit(tol=1e-14).

        The statistic is twice the difference of their log likelihoods to that of the scores. calzone-tool 0.1.0,
        cox_regression_analysis, gives the same slope, intercept and intervals.
        """
        found = calibration_slope(*tied())
        assert found.intercept == pytest.approx(-0.62565066, abs=5e-9)
        assert found.slope == pytest.approx(1.0895190848093343, rel=1e-9)
        assert (found.intercept_standard_error, found.slope_standard_error) == pytest.approx(
            (0.10562073, 0.09457248), abs=5e-9
        )
        assert (found.calibration_intercept, found.calibration_intercept_standard_error) == pytest.approx(
            (-0.59898983, 0.09948898), abs=5e-9
        )
        # with so many events of either kind, normal intervals are not far from ours
        assert found.intercept_interval == pytest.approx((-0.83266349, -0.41863784), abs=0.02)
        assert found.slope_interval == pytest.approx((0.90416042, 1.27487775), abs=0.03)
        assert found.calibration_intercept_interval == pytest.approx((-0.79398466, -0.40399501), abs=0.02)
        assert found.statistic == pytest.approx(37.84638958753442, rel=1e-9)
        assert found.p_value == pytest.approx(6.050077265868921e-09, rel=1e-8)

    @given(small_rows(most=12, both_classes=True))
    def test_no_other_line_is_more_likely(self, rows):
        """A general optimiser, started at what was found, finds nothing better."""
        found = calibration_slope(rows.y, rows.s, clip=0.01, **rows.keywords)
        if not math.isfinite(found.slope):
            assert "no slope" in found.slope_note or "infinite" in found.slope_note
            return
        w = np.ones(len(rows.y)) if rows.w is None else rows.w
        s = np.clip(rows.s.astype(float), 0.01, 0.99)
        x = np.log(s / (1 - s))

        def loss(line):
            logit = line[0] + line[1] * x
            return float((w * (np.logaddexp(0, logit) - rows.y * logit)).sum())

        best = optimize.minimize(loss, [found.intercept, found.slope], method="Nelder-Mead")
        at_found = loss([found.intercept, found.slope])
        assert at_found <= best.fun + 1e-9 * max(1.0, at_found)
        if rows.w is None or ScoreTable.from_scores(rows.y, rows.s, **rows.keywords).independent:
            assert found.statistic == pytest.approx(2 * (loss([0, 1]) - at_found), rel=1e-8, abs=1e-9)

    def test_undoes_a_known_distortion(self):
        """Scores with log-odds 2 x + 1 for chances with log-odds x: a = -1/2 and b = 1/2, by substitution."""
        x = np.linspace(-2, 2, 9)
        chance = 1 / (1 + np.exp(-x))
        found = calibration_slope(ScoreTable.from_counts(1 / (1 + np.exp(-2 * x - 1)), np.ones(9), chance))
        assert (found.intercept, found.slope) == (pytest.approx(-0.5), pytest.approx(0.5))

    def test_the_calibration_intercept_makes_prediction_and_outcome_meet(self):
        y, s = tied()
        x = np.log(s / (1 - s)) + calibration_slope(y, s).calibration_intercept
        assert (1 / (1 + np.exp(-x))).mean() == pytest.approx(y.mean(), rel=1e-12)

    def test_other_weights_have_no_standard_error(self):
        y, s = tied()
        found = calibration_slope(y, s, sample_weight=np.full(600, 0.5))
        assert found.slope == pytest.approx(calibration_slope(y, s).slope)
        names = (
            "intercept_standard_error",
            "slope_standard_error",
            "calibration_intercept_standard_error",
            "statistic",
            "p_value",
        )
        assert all(math.isnan(getattr(found, name)) for name in names)
        assert all(map(math.isnan, found.slope_interval))

    def test_scores_of_0_and_1_are_moved_by_a_stated_rule(self):
        """Arithmetic: 0 to half of .3, and 1 to half way between .6 and 1."""
        y, s = [0, 1, 0, 1, 1], [0.0, 0.3, 0.6, 0.6, 1.0]
        found = calibration_slope(y, s)
        assert found.slope == calibration_slope(y, [0.15, 0.3, 0.6, 0.6, 0.8]).slope
        assert found.moved == 2
        assert found.note == "2 rows with a score of 0 or 1 were moved, 0 to 0.15 and 1 to 0.8"
        clipped = calibration_slope(y, s, clip=0.01)
        assert clipped.slope == calibration_slope(y, np.clip(s, 0.01, 0.99)).slope
        assert clipped.clip == 0.01

    def test_only_0_and_1_have_no_log_odds(self):
        found = calibration_slope([0, 1, 0, 1], [0.0, 0.0, 1.0, 1.0])
        assert math.isnan(found.slope)
        assert math.isnan(found.calibration_intercept)
        assert found.note == "all scores are 0 or 1, whose log-odds are infinite"
        assert found.slope_interval == found.calibration_intercept_interval == (-math.inf, math.inf)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("y", "s", "slope", "note"),
        [
            ([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4], math.inf, "no negative has a score above a positive"),
            ([0, 0, 1, 1], [0.1, 0.3, 0.3, 0.4], math.inf, "no negative has a score above a positive"),
            ([1, 1, 0, 0], [0.1, 0.3, 0.3, 0.4], -math.inf, "no positive has a score above a negative"),
            ([1, 1, 1], [0.1, 0.3, 0.4], math.nan, "all rows are positive"),
            ([0, 0], [0.1, 0.3], math.nan, "no row is positive"),
            ([0, 1], [0.3, 0.3], math.nan, "only one score"),
        ],
    )
    def test_no_finite_slope(self, y, s, slope, note):
        found = calibration_slope(y, s)
        assert found.slope == pytest.approx(slope, nan_ok=True)
        assert note in found.slope_note
        assert math.isnan(found.intercept)
        lower, upper = found.slope_interval
        assert (lower == -math.inf) is (slope != math.inf)
        assert (upper == math.inf) is (slope != -math.inf)

    def test_one_class_has_an_intercept_with_one_end(self):
        """Clopper & Pearson: none of 50 has an upper limit of 1 - .025 ** (1 / 50), at a score of .1."""
        found = calibration_slope([0] * 50, [0.1] * 50)
        limit = 1 - 0.025 ** (1 / 50)
        odds = math.log(limit / (1 - limit)) - math.log(1 / 9)
        assert found.calibration_intercept == -math.inf
        assert found.calibration_intercept_interval == pytest.approx((-math.inf, odds), rel=1e-8)

    @pytest.mark.parametrize("clip", [0.0, 0.5, -1.0, math.nan, "a little"])
    def test_bad_clip(self, clip):
        with pytest.raises(ArgumentError, match="clip"):
            calibration_slope([0, 1, 0, 1], [0.2, 0.3, 0.4, 0.5], clip=clip)

    def test_bad_level(self):
        with pytest.raises(ArgumentError, match="level"):
            calibration_slope([0, 1, 0, 1], [0.2, 0.3, 0.4, 0.5], confidence_level=1.0)


def test_largest_distance_equals_mapie():
    """MAPIE 1.6.0 on distinct scores, which it jitters by 1e-8: its statistic of Kolmogorov and Smirnov, rescaled."""
    i = np.arange(900)
    s = ((i * 7) % 900 + 0.5) / 900
    y = (((i * 7919 + 104729) % 10007) / 10007 < np.clip(0.5 + 1.5 * (s - 0.5), 0, 1)).astype(int)
    assert cutoff_calibration(y, s).ks == pytest.approx(0.047311111266258234, abs=1e-8)


@pytest.mark.slow
@given(small_rows(weighted=("whole",)))
def test_weights_are_rows(rows):
    weighted = calibration_slope(rows.y, rows.s, **rows.keywords)
    repeated = calibration_slope(np.repeat(rows.y, rows.w), np.repeat(rows.s, rows.w))
    assert weighted.to_json() == repeated.to_json()


def test_results_are_json():
    assert json.loads(calibration_slope(*tied()).to_json())["p_value"] < 1


def test_cells():
    """One cell per distinct score loses nothing; wide ones still give an answer."""
    y, s = tied()
    exact = calibration_slope(y, s)
    fine = calibration_slope(cell_table(y, s, None, np.arange(1, 21) / 21 - 0.01))
    assert fine.p_value == pytest.approx(exact.p_value, rel=1e-9)
    assert 0.0 <= calibration_slope(cell_table(y, s, None, [0.2, 0.5, 0.7])).p_value <= 1.0


@pytest.mark.parametrize(("y", "s"), [([0, 1], [0.2, math.nan]), ([0, 1], [0.2, 1.7]), ([], []), ([0], [0.1, 0.2])])
def test_bad_data(y, s):
    with pytest.raises(DataError):
        calibration_slope(y, s)


def test_separated_classes_still_have_a_limit_on_one_side():
    """Scores are right: of 1,000 rows at .002 none was positive, as happens in one of seven samples."""
    y = np.r_[np.zeros(1000), np.arange(1000) % 2].astype(int)
    found = calibration_slope(y, np.repeat([0.002, 0.5], 1000))
    lower, upper = found.slope_interval
    assert (found.slope, upper) == (math.inf, math.inf)
    assert 0.7 < lower < 1.0
