"""Widths, intervals and the certificate after recalibration: their numbers, refusals, verdicts."""

import numpy as np
import pytest

import calibrant as cal
from calibrant import plan
from calibrant.certificates import certify, certify_recalibrated
from calibrant.certificates.widths import anytime_width, asymptotic_width, brownian_width

SIZES = (1e3, 1e4, 1e5, 1e6)


def test_widths():
    """Brier score .15, delta .05."""
    assert [round(asymptotic_width(n, 0.15), 4) for n in SIZES[:3]] == [0.0231, 0.0067, 0.0020]
    assert round(asymptotic_width(1e6, 0.15), 5) == 0.00064
    assert [round(brownian_width(n, 0.15), 4) for n in SIZES[:3]] == [0.0306, 0.0097, 0.0031]
    assert round(brownian_width(1e6, 0.15), 5) == 0.00097


def test_anytime_width():
    """Times sqrt(n) at Brier score .15: 1.35 / 1.29 / 1.33 / 1.33; the second is 1.2849, printed rounded up."""
    found = [anytime_width(n, 0.15) * n**0.5 for n in SIZES]
    assert found == pytest.approx([1.35, 1.29, 1.33, 1.33], abs=0.0055)


def test_sample_sizes():
    sizes = [plan("certify", tolerance=e, method="asymptotic", brier=0.15, power=0).n for e in (0.1, 0.05, 0.02, 0.01)]
    assert sizes == [91, 269, 1297, 4639]  # the page prints 4,640; at 4,639 the width is .009999


def world(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.uniform(size=n)
    return rng.uniform(size=n) < p, p


def test_anytime_never_refutes_and_says_why_not_n():
    y, p = world()
    found = certify(~y, p, method="anytime", tolerance=0.05)
    assert found.verdict in {"undecided", "uninformative"}
    assert found.lower_bound == 0.0
    assert any("the number of rows was not" in text for text in found.assumptions)
    assert found.rows_needed is None


def test_normal_certificate_says_that_it_is_asymptotic():
    y, p = world()
    assert "the probability is asymptotic in the number of rows" in certify(y, p, method="asymptotic").claim


def test_weights_that_are_no_counts_are_refused():
    y, p = world(100)
    weight = np.full(100, 0.5)
    with pytest.raises(cal.DataError, match="whole number of equal rows"):
        certify_recalibrated(y, p, p, count=weight)


class TestRecalibrated:
    def test_identity_is_allowed(self):
        y, p = world()
        found = certify_recalibrated(y, p, p, tolerance=0.1)
        assert found.estimate == cal.metrics.cutoff_calibration_error(y, p)
        assert found.width == pytest.approx(2.88 / 3000**0.5)
        assert found.verdict == "certified"

    def test_decreasing_maps_are_allowed(self):
        y, p = world()
        assert certify_recalibrated(~y, p, 1.0 - p).estimate < 0.05

    def test_other_maps_are_refused(self):
        y, p = world(200)
        with pytest.raises(cal.DataError, match="monotone"):
            certify_recalibrated(y, p, 4 * (p - 0.5) ** 2)

    def test_maps_that_split_ties_are_refused(self):
        with pytest.raises(cal.DataError, match="function of the score"):
            certify_recalibrated([0, 1, 1], [0.2, 0.5, 0.5], [0.1, 0.4, 0.6])

    def test_lengths(self):
        with pytest.raises(cal.DataError, match="2 for 3 rows"):
            certify_recalibrated([0, 1, 1], [0.2, 0.5, 0.5], [0.1, 0.4])

    @pytest.mark.parametrize(
        ("n", "tolerance", "verdict"), [(20, 0.1, "uninformative"), (500, 0.1, "undecided"), (500, None, None)]
    )
    def test_verdicts(self, n, tolerance, verdict):
        y, p = world(n)
        assert certify_recalibrated(y, p, p, tolerance=tolerance).verdict == verdict


def test_falls_by_rounding_are_no_falls():
    """exp is not monotone to the last digit, so neither are logistic maps."""
    p = np.linspace(0.1, 0.9, 50)
    y = np.tile([0, 1], 25)
    after = p.copy()
    after[20] = after[19] - 1e-16
    assert certify_recalibrated(y, p, after).bound > 0.0
    after[20] = after[19] - 1e-15
    with pytest.raises(cal.DataError, match="a monotone recalibration"):
        certify_recalibrated(y, p, after)
