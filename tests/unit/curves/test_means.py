"""Curves of predicted means, against brute force and scikit-learn."""

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from calibrant.curves import ConcentrationCurve, MeanCurve, binned_means, concentration_curve, isotonic_means
from calibrant.distributions.cluster_jackknife import LOG, Jackknife
from calibrant.errors import ArgumentError
from calibrant.metrics import concentration, mean_bias, mean_calibration_error
from calibrant.table.outcome_table import OutcomeTable


def book(n=300, seed=0, *, levels=None):
    rng = np.random.default_rng(seed)
    rate = 0.8 * np.exp(0.5 * rng.standard_normal(n))
    if levels is not None:
        rate = np.round(rate * levels) / levels + 0.1
    exposure = rng.uniform(0.1, 1.0, n)
    return rng.poisson(exposure * rate).astype(float), rate, exposure


class TestBins:
    @pytest.mark.parametrize("levels", [None, 4])
    def test_totals_are_those_of_the_rows(self, levels):
        z, f, w = book(levels=levels)
        curve = binned_means(z, f, exposure=w, n_bins=7)
        assert isinstance(curve, MeanCurve)
        sums = [curve.n.sum(), (curve.n * curve.rate).sum(), (curve.n * curve.score).sum()]
        assert sums == pytest.approx([w.sum(), z.sum(), (w * f).sum()])
        assert (np.diff(curve.score) > 0.0).all()
        if levels is None:
            assert len(curve.n) == 7
            assert curve.n.max() - curve.n.min() < 2.0  # of equal exposure, but for one row on either side

    def test_intervals_leave_out_one_row_at_a_time(self):
        z, f, w = book(10_000)
        curve, order = binned_means(z, f, exposure=w, n_bins=4, confidence_level=0.9), np.argsort(f)
        ends = np.rint(np.searchsorted(np.cumsum(w[order]), np.cumsum(curve.n) - 1e-9)).astype(int) + 1
        for i, rows in enumerate(np.split(order, ends[:-1])):
            mean, without = z[rows].sum() / w[rows].sum(), (z[rows].sum() - z[rows]) / (w[rows].sum() - w[rows])
            expected = Jackknife(w[rows]).limits(mean, without, 0.9, LOG)
            assert (curve.lower[i], curve.upper[i]) == pytest.approx(expected[:2], rel=1e-9)

    def test_intervals_of_clusters(self):
        z, f, w = (np.tile(part, 4) for part in book(100))
        rows = binned_means(z, f, exposure=w, n_bins=3)
        table = OutcomeTable.from_outcomes(z, f, exposure=w, cluster=np.tile(np.arange(100), 4))
        clusters = binned_means(table, n_bins=3)
        once = binned_means(*book(100)[:2], exposure=book(100)[2], n_bins=3)
        assert (clusters.lower, clusters.upper) == (pytest.approx(once.lower), pytest.approx(once.upper))
        assert (clusters.upper > rows.upper).all()

    def test_one_bin_is_the_mean(self):
        z, f, w = book()
        curve, whole = binned_means(z, f, exposure=w, n_bins=1), mean_bias(z, f, exposure=w)
        assert curve.rate[0] == pytest.approx(whole.observed)
        assert curve.score[0] == pytest.approx(whole.predicted)

    def test_without_an_event_there_is_no_interval(self):
        curve = binned_means([0] * 10 + [1, 2] * 5, [1.0] * 10 + [2.0] * 10, n_bins=2)
        assert np.isnan(curve.lower).tolist() == [True, False]

    def test_negative_outcomes(self):
        rng = np.random.default_rng(0)
        z = rng.standard_normal(400)
        curve = binned_means(z, np.zeros(400), n_bins=1)
        assert curve.upper[0] - curve.rate[0] == pytest.approx(curve.rate[0] - curve.lower[0])
        assert curve.upper[0] - curve.lower[0] == pytest.approx(2.0 * 1.966 * z.std(ddof=1) / 20.0, rel=1e-3)


@pytest.mark.parametrize("levels", [None, 4])
def test_isotonic_is_that_of_scikit_learn(levels):
    z, f, w = book(levels=levels)
    curve = isotonic_means(z, f, exposure=w)
    expected = IsotonicRegression().fit(f, z / w, sample_weight=w).predict(curve.score)
    assert curve.rate == pytest.approx(expected)
    assert np.isnan(curve.lower).all()


class TestConcentration:
    def test_curves_end_at_one_and_have_the_area(self):
        z, f, w = book()
        curve = concentration_curve(z, f, exposure=w)
        assert isinstance(curve, ConcentrationCurve)
        ends = curve.share[-1], curve.concentration[-1], curve.lorenz[-1]
        assert ends == (1.0, 1.0, 1.0)
        share, difference = (np.append(0.0, part) for part in (curve.share, curve.concentration - curve.lorenz))
        assert np.trapezoid(difference, share) == pytest.approx(concentration(z, f, exposure=w).area)

    def test_balanced_the_difference_is_the_cumulative_residual(self):
        z, f, w = book()
        curve = concentration_curve(z, f * z.sum() / (w * f).sum(), exposure=w)
        assert curve.value == pytest.approx(curve.concentration - curve.lorenz, abs=1e-12)

    def test_thinned_it_keeps_the_error(self):
        z, f, w = book(5000)
        curve = concentration_curve(z, f, exposure=w, n_points=90, relative_to="exposure")
        assert len(curve.score) <= 90
        expected = mean_calibration_error(z, f, exposure=w, relative_to="exposure")
        assert curve.error == expected
        assert np.ptp(np.append(0.0, curve.value)) == pytest.approx(expected)

    def test_a_number_of_points(self):
        with pytest.raises(ArgumentError, match="n_points"):
            concentration_curve([0, 1], [1.0, 2.0], n_points=3)
