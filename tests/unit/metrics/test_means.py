"""Measures of predicted means, against brute force, scikit-learn and the measures of labels."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LinearRegression
from sklearn.metrics import make_scorer, mean_gamma_deviance, mean_poisson_deviance, mean_squared_error
from sklearn.model_selection import cross_val_score

import calibrant as cal
from calibrant.errors import DataError
from calibrant.metrics import concentration, mean_bias, mean_calibration_error, mean_decomposition, mean_deviance
from calibrant.table.outcome_table import OutcomeTable

SKLEARN = {"poisson": mean_poisson_deviance, "gamma": mean_gamma_deviance, "squared": mean_squared_error}


def book(n=60, seed=0, *, levels=None):
    """Claim totals, rates and exposures; rates of `levels` values only, if given."""
    rng = np.random.default_rng(seed)
    rate = 0.8 * np.exp(0.5 * rng.standard_normal(n))
    if levels is not None:
        rate = np.round(rate * levels) / levels + 0.1
    exposure = rng.uniform(0.1, 1.0, n)
    return rng.poisson(exposure * rate).astype(float), rate, exposure


def largest_sum(residual, prediction):
    """Largest sum of residuals over all intervals of predictions."""
    ends = [-np.inf, *np.unique(prediction)]
    intervals = ((prediction > low) & (prediction <= high) for low, high in combinations(ends, 2))
    return max(abs(residual[inside].sum()) for inside in intervals)


class TestCalibrationError:
    @pytest.mark.parametrize("levels", [None, 4])
    @pytest.mark.parametrize("seed", range(3))
    def test_is_the_largest_sum_over_all_intervals(self, seed, levels):
        z, f, w = book(seed=seed, levels=levels)
        sums = {"predicted": (w * f).sum(), "exposure": w.sum(), "observed": z.sum(), "rows": len(z)}
        most = largest_sum(z - w * f, f)
        for unit, total in sums.items():
            assert mean_calibration_error(z, f, exposure=w, relative_to=unit) == pytest.approx(most / total, rel=1e-12)

    def test_totals_with_exposure_are_rates_with_weights(self):
        z, f, w = book()
        expected = mean_calibration_error(z, f, exposure=w)
        assert mean_calibration_error(z / w, f, sample_weight=w) == pytest.approx(expected, rel=1e-12)

    def test_no_order_of_rows_shows(self):
        z, f, w = book(levels=3)
        order = np.random.default_rng(1).permutation(len(z))
        assert mean_calibration_error(z[order], f[order], exposure=w[order]) == mean_calibration_error(z, f, exposure=w)

    def test_balanced_it_is_the_range_of_concentration_curve_minus_lorenz_curve(self):
        z, f, w = book(500)
        f *= z.sum() / (w * f).sum()
        order = np.argsort(f)
        curves = [np.append(0.0, np.cumsum(part[order]) / part.sum()) for part in (z, w * f)]
        expected = np.ptp(curves[0] - curves[1])
        assert mean_calibration_error(z, f, exposure=w) == pytest.approx(expected, rel=1e-10)

    def test_of_labels_it_is_the_cutoff_calibration_error(self):
        rng = np.random.default_rng(0)
        s = np.round(rng.uniform(size=400), 2)
        y = (rng.uniform(size=400) < s**1.5).astype(int)
        expected = cal.cutoff_calibration_error(y, s)
        assert mean_calibration_error(y, s, relative_to="rows") == pytest.approx(expected, abs=1e-12)

    def test_of_a_table(self):
        z, f, w = book()
        table = OutcomeTable.from_outcomes(z, f, exposure=w, relative_to="rows")
        assert mean_calibration_error(table) == mean_calibration_error(z, f, exposure=w, relative_to="rows")

    def test_as_a_scorer(self):
        X, y = load_diabetes(return_X_y=True)
        scores = cross_val_score(
            LinearRegression(), X, y, scoring=make_scorer(mean_calibration_error, greater_is_better=False)
        )
        assert (scores < 0.0).all()
        assert (scores > -0.2).all()

    def test_a_constant_at_the_mean_has_none_and_tells_nothing(self):
        z, _, w = book()
        f = np.full(len(z), z.sum() / w.sum())
        assert mean_calibration_error(z, f, exposure=w) == 0.0
        assert concentration(z, f, exposure=w).gini == pytest.approx(0.0, abs=1e-12)
        assert mean_decomposition(z, f, exposure=w).discrimination == pytest.approx(0.0, abs=1e-12)

    def test_exposure_and_weights_together(self):
        with pytest.raises((DataError, cal.ArgumentError), match="exposure"):
            mean_calibration_error([1, 2], [1.0, 2.0], exposure=[1, 1], sample_weight=[1, 1])


class TestDeviance:
    @pytest.mark.parametrize("deviance", SKLEARN)
    def test_is_that_of_scikit_learn(self, deviance):
        z, f, w = book(seed=3)
        z = z + 0.5 if deviance == "gamma" else z
        expected = SKLEARN[deviance](z / w, f, sample_weight=w)
        assert mean_deviance(z, f, deviance=deviance, exposure=w) == pytest.approx(expected, rel=1e-12)
        assert mean_deviance(z / w, f, deviance=deviance, sample_weight=w) == pytest.approx(expected, rel=1e-12)

    def test_a_prediction_of_0(self):
        assert mean_deviance([0, 1], [0.0, 1.0]) == 0.0
        assert mean_deviance([1, 1], [0.0, 1.0]) == np.inf

    def test_negative_numbers_have_a_squared_error(self):
        assert mean_deviance([-1, 2], [-2.0, 2.0], deviance="squared") == 0.5

    @pytest.mark.parametrize(
        ("z", "f", "deviance"),
        [([-1, 1], [1.0, 1.0], "poisson"), ([1, 1], [-1.0, 1.0], "poisson"), ([0, 1], [1.0, 1.0], "gamma")],
    )
    def test_others_have_none(self, z, f, deviance):
        with pytest.raises(DataError, match="choose deviance="):
            mean_deviance(z, f, deviance=deviance)

    def test_its_name(self):
        with pytest.raises(cal.ArgumentError, match="'poisson', 'squared', 'gamma'"):
            mean_deviance([0, 1], [1.0, 1.0], deviance="tweedie")


class TestDecomposition:
    @pytest.mark.parametrize("deviance", SKLEARN)
    @pytest.mark.parametrize("levels", [None, 4])
    def test_against_scikit_learn(self, deviance, levels):
        z, f, w = book(300, seed=4, levels=levels)
        z = z + 0.5 if deviance == "gamma" else z
        rate = z / w
        recalibrated = IsotonicRegression().fit(f, rate, sample_weight=w).predict(f)
        # the first block may consist of zeros, which scikit-learn takes no logarithm of
        recalibrated = np.maximum(recalibrated, 1e-300)
        mean = np.full(len(f), np.average(rate, weights=w))
        value, least, uncertainty = (SKLEARN[deviance](rate, p, sample_weight=w) for p in (f, recalibrated, mean))
        parts = mean_decomposition(z, f, deviance=deviance, exposure=w)
        expected = (value, value - least, uncertainty - least, uncertainty, 1.0 - value / uncertainty)
        assert list(parts.to_dict().values()) == pytest.approx(expected, rel=1e-9, abs=1e-12)

    def test_a_block_of_zeros(self):
        parts = mean_decomposition([0, 0, 0, 1, 4], [0.1, 0.2, 0.3, 1.0, 3.0])
        assert np.isfinite(list(parts.to_dict().values())).all()
        assert parts.value == pytest.approx(parts.miscalibration - parts.discrimination + parts.uncertainty)
        assert parts.value - parts.miscalibration == pytest.approx(0.0, abs=1e-15)

    def test_of_labels_it_is_that_of_the_brier_score(self):
        rng = np.random.default_rng(0)
        s = rng.uniform(size=300)
        y = (rng.uniform(size=300) < s**2).astype(int)
        parts = mean_decomposition(y, s, deviance="squared").to_dict()
        assert parts == pytest.approx(cal.metrics.brier_decomposition(y, s).to_dict(), abs=1e-12)


class TestBias:
    def test_values(self):
        z, f, w = book()
        result = mean_bias(z, f, exposure=w)
        assert result.observed == pytest.approx(z.sum() / w.sum())
        assert result.predicted == pytest.approx((w * f).sum() / w.sum())
        difference = result.observed_minus_predicted
        assert difference.value == pytest.approx(result.observed - result.predicted)
        assert result.balance.value == pytest.approx(result.observed / result.predicted)
        assert difference.lower < difference.value < difference.upper
        assert (difference.lower > 0.0) == (result.balance.lower > 1.0)

    def test_many_alike_have_the_normal_interval(self):
        rng = np.random.default_rng(0)
        z = 10.0 + rng.standard_normal(4000)
        result = mean_bias(z, np.full(4000, 10.0), confidence_level=0.9)
        error, difference = 1.6449 * z.std() / np.sqrt(4000), result.observed_minus_predicted
        assert difference.upper - difference.value == pytest.approx(error, rel=0.03)
        assert difference.value - difference.lower == pytest.approx(error, rel=0.03)
        assert result.balance.upper - result.balance.value == pytest.approx(error / 10.0, rel=0.03)

    def test_clusters_of_one_row_each_are_rows(self):
        z, f, w = book()
        rows, clusters = mean_bias(z, f, exposure=w), mean_bias(z, f, exposure=w, cluster=np.arange(len(z)))
        assert (rows.balance.method, clusters.balance.method) == ("asymptotic", "cluster jackknife")
        for name in ("observed_minus_predicted", "balance"):
            one, two = getattr(rows, name), getattr(clusters, name)
            assert (one.lower, one.upper) == pytest.approx((two.lower, two.upper), rel=1e-9)

    def test_rows_that_depend_on_each_other_tell_less(self):
        z, f, w = (np.tile(part, 4) for part in book())
        alone, together = mean_bias(z, f, exposure=w), mean_bias(z, f, exposure=w, cluster=np.tile(np.arange(60), 4))
        ratio = (together.balance.upper - together.balance.lower) / (alone.balance.upper - alone.balance.lower)
        assert 1.8 < ratio < 2.5

    def test_no_interval(self):
        nothing = mean_bias([0, 0, 0, 0], [1.0, 1.0, 2.0, 2.0])
        assert nothing.balance.value == 0.0
        assert np.isnan(nothing.balance.lower)
        assert nothing.balance.note == "no interval: it is at the end of its range"
        assert mean_bias([1, 2], [1.0, 2.0]).balance.note == "no interval: 2 rows, and at least 3 are needed"

    @pytest.mark.slow
    def test_claims_of_exponential_size_are_missed_about_as_often_as_allowed(self):
        rng, missed = np.random.default_rng(0), np.zeros(2)
        for _ in range(1000):
            w = rng.uniform(0.05, 1.0, 1000)
            z = rng.poisson(0.05 * w) * rng.exponential(size=1000)
            limits = mean_bias(z, np.full(1000, 0.05), exposure=w).observed_minus_predicted
            missed += limits.lower > 0.0, limits.upper < 0.0
        assert (missed <= 45).all()  # 25 are allowed; a t-test misses 80 above


class TestConcentration:
    def test_is_that_of_scikit_learns_example(self):
        """``lorenz_curve`` of "Tweedie regression on insurance claims", with exposure on the x-axis."""
        z, f, w = book(200)
        order = np.argsort(f)
        share, claims = (np.append(0.0, np.cumsum(part[order]) / part.sum()) for part in (w, z))
        premium = np.append(0.0, np.cumsum((w * f)[order]) / (w * f).sum())
        result = concentration(z, f, exposure=w)
        assert result.gini == pytest.approx(1.0 - 2.0 * np.trapezoid(claims, share))
        assert result.gini_predicted == pytest.approx(1.0 - 2.0 * np.trapezoid(premium, share))
        assert result.area == pytest.approx(np.trapezoid(claims - premium, share))

    def test_predictions_too_far_apart(self):
        z, f, w = book(4000)
        assert concentration(z, f**2, exposure=w).area > 0.05
        assert concentration(z, np.sqrt(f), exposure=w).area < -0.03

    def test_ties_are_straight(self):
        assert concentration([0, 4], [1.0, 1.0]).gini == 0.0

    def test_nothing_observed(self):
        assert np.isnan(concentration([0, 0], [1.0, 2.0]).gini)
