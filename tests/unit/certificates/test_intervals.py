"""Widths, intervals and the certificate after recalibration: their numbers, refusals, verdicts."""

import numpy as np
import pytest

import calibrant as cal
from calibrant.certificates import certify, certify_recalibrated, cutoff_interval, required_sample_size
from calibrant.certificates.widths import anytime_width, asymptotic_width, brownian_width
from calibrant.papers import rademacher_finite, rademacher_linear, uniform_convergence_width

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
    sizes = [required_sample_size(e, method="asymptotic", brier=0.15, power=None) for e in (0.1, 0.05, 0.02, 0.01)]
    assert sizes == [91, 269, 1297, 4639]  # the page prints 4,640; at 4,639 the width is .009999


def test_rademacher_of_classes():
    """d = 2, 100 values: .218 .075 .026 .0087 at n = 1e3 ... 1e6; linear scores with the tail of the proof."""
    assert [round(rademacher_finite(n, 2, 100), 3) for n in SIZES[:3]] == [0.218, 0.075, 0.026]
    assert round(rademacher_finite(1e6, 2, 100), 4) == 0.0087
    widths = [uniform_convergence_width(n, 0.05, rademacher_linear(n, 5), form="proof") for n in (1e4, 1e5, 1e6, 1e7)]
    assert widths == pytest.approx([0.632, 0.223, 0.077, 0.026], abs=6e-4)


@pytest.mark.parametrize("function", [lambda: rademacher_finite(3, 2, 10), lambda: rademacher_linear(3, 2)])
def test_fewer_rows_than_dimensions(function):
    """Claim 2 of Gao et al. (2017): with so few rows nothing can be learned."""
    with pytest.raises(cal.ArgumentError, match="rows"):
        function()


def test_a_user_supplies_the_complexity_of_a_class():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=2000)
    y = rng.uniform(size=2000) < p
    own = certify(y, p, method="uniform_convergence", rademacher=rademacher_linear(2000, 3))
    assert own.width == uniform_convergence_width(2000, 0.05, rademacher_linear(2000, 3))
    assert own.width > certify(y, p, method="uniform_convergence").width
    # More than 1.45 / sqrt(n): the printed form is not known to be true there.
    with pytest.raises(cal.ArgumentError, match="printed"):
        certify(y, p, method="uniform_convergence", form="printed", rademacher=rademacher_linear(2000, 3))
    with pytest.raises(cal.ArgumentError, match="uniform_convergence"):
        certify(y, p, method="hoeffding", rademacher=0.01)
    assert any("belongs to a class" in text for text in own.assumptions)


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


def test_interval_contains_the_one_sided_bounds_at_half_delta():
    y, p = world()
    interval, certificate = cutoff_interval(y, p, confidence_level=0.9), certify(y, p, confidence_level=0.95)
    assert interval.upper == certificate.bound
    assert interval.lower == certificate.lower_bound


@pytest.mark.parametrize("arguments", [{"confidence_level": 0}, {"method": "bootstrap"}])
def test_interval_arguments(arguments):
    with pytest.raises(cal.ArgumentError):
        cutoff_interval(*world(), **arguments)


def test_weights_that_are_no_counts_are_refused():
    y, p = world(100)
    weight = np.full(100, 0.5)
    with pytest.raises(cal.DataError, match="whole number of equal rows"):
        cutoff_interval(y, p, count=weight)
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
