"""Widths, sample sizes and verdicts against their formulas and against enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from calibrant import DataError, ScoreTable, plan
from calibrant.certificates import certify
from calibrant.certificates.widths import anytime_width, asymptotic_width, brownian_width, default_width, monotone_width
from calibrant.distributions.brownian import kuiper_upper_quantile
from calibrant.distributions.null_distribution import calibrated_limit
from calibrant.table.numbers import claim_upper

# Rows so that the width is at most .10, .05, .02, .01.
TOLERANCES = (0.10, 0.05, 0.02, 0.01)


def test_the_default_needs_fewer_rows_than_one_bernstein_rate_did():
    """5,537 rows for a width of .01 at a Brier score of .15 instead of 9,499 with the single rate of version 0.1."""
    assert plan("certify", tolerance=0.01, brier=0.15, power=0).n <= 5_600


def test_uniform_widths():
    """2.88 over the square root of the number of rows."""
    assert [round(monotone_width(n), 4) for n in (1e3, 1e4, 1e5, 1e6)] == [0.0911, 0.0288, 0.0091, 0.0029]


def test_uniform_sizes():
    for tolerance, size in zip(TOLERANCES, (830, 3_318, 20_736, 82_944), strict=True):
        assert monotone_width(size) <= tolerance + 1e-15
        assert monotone_width(size - 1) > tolerance


WIDTHS = {"default": default_width, "asymptotic": asymptotic_width, "anytime": anytime_width}


@pytest.mark.grid
@pytest.mark.parametrize("method", WIDTHS)
@pytest.mark.parametrize("tolerance", [0.9, 0.31, 0.1, 0.033])
def test_sample_size_is_the_smallest_that_is_enough(method, tolerance):
    n = plan("certify", tolerance=tolerance, confidence_level=0.9, method=method, brier=0.2, power=0).n
    assert WIDTHS[method](n, 0.2, 0.1) <= tolerance < WIDTHS[method](n - 1, 0.2, 0.1)


KAPPA = {0.2: 2.38, 0.1: 2.64, 0.05: 2.88, 0.025: 3.10, 0.01: 3.38, 0.005: 3.58, 0.001: 4.00}


def test_uniform_width_at_the_constants_and_beyond():
    """Theorem 6.6: linear in the normal quantile between the constants, at rate 1 beyond the last, flat above .2."""
    assert {d: pytest.approx(monotone_width(1, d)) for d in KAPPA} == KAPPA
    assert monotone_width(100, 0.5) == pytest.approx(0.238)
    middle = norm.sf(0.5 * (norm.isf(0.05) + norm.isf(0.1)))
    assert monotone_width(100, middle) == pytest.approx(0.276)
    assert monotone_width(100, 1e-6) == pytest.approx((4.0 + norm.isf(1e-6) - norm.isf(1e-3)) / 10)


def test_uniform_width_is_continuous_and_convex_in_the_normal_quantile():
    z = np.linspace(0.0, 8.0, 4001)
    kappa = np.array([monotone_width(1, float(d)) for d in norm.sf(z)])
    steps = np.diff(kappa) / np.diff(z)
    assert np.all(np.diff(steps) > -1e-6)
    assert 0.0 <= steps.min() <= steps.max() <= 1.0 + 1e-6


@pytest.mark.parametrize("delta", [1e-3, 1e-4, 1e-6, 1e-9])
def test_uniform_width_is_between_the_normal_and_the_closed_forms(delta):
    """The deviation at the base rate alone is normal; twice Kuiper's range and the DKW inequality are above."""
    assert norm.isf(delta / 2) < monotone_width(1, delta) < 2 * kuiper_upper_quantile(delta)
    assert monotone_width(1, delta) < 4 * math.sqrt(math.log(2 / delta) / 2)


def test_widths_shrink_with_rows_and_grow_with_confidence():
    widths = [monotone_width, *(lambda n, d, width=width: width(n, 0.1, d) for width in WIDTHS.values())]
    for width in widths:
        assert width(100, 0.05) > width(101, 0.05)
        assert width(100, 0.01) > width(100, 0.2)


CALIBRATED = ScoreTable.from_counts([0.25, 0.75], [40_000, 40_000], [10_000, 30_000])
OFF = ScoreTable.from_counts([0.25, 0.75], [40_000, 40_000], [26_000, 30_000])


@pytest.mark.parametrize("method", ["asymptotic", "anytime"])
def test_bounds_are_the_estimate_and_the_widths(method):
    n, brier = 80_000, 0.1875  # the mean of s (1 - s): the table is exactly calibrated, and its error is 0
    found = certify(CALIBRATED, confidence_level=0.9, method=method)
    assert (found.estimate, found.lower_bound, found.n, found.verdict) == (0.0, 0.0, n, None)
    assert found.bound == found.width == pytest.approx(WIDTHS[method](n, brier, 0.1), rel=1e-12)
    found = certify(OFF, confidence_level=0.9, method=method)
    assert found.estimate == pytest.approx(0.2)
    below = {
        "asymptotic": brownian_width(n, (26_000 * 0.75**2 + 14_000 * 0.25**2) / n + brier / 2, 0.1),
        "anytime": 1.0,
    }
    assert found.lower_bound == pytest.approx(max(0.0, 0.2 - below[method]))


def test_bounds_that_count_squares_inside_the_interval_are_within_the_width():
    """Where all is calibrated, an interval of half the rows has half the squares; where one score is off, all rows
    together have the error of that score and the squares of both.
    """
    n, delta = 80_000, 0.1
    found = certify(CALIBRATED, confidence_level=1 - delta)
    brier = 0.1875  # mean of s (1 - s), since the table is exactly calibrated; all intervals have an error of 0
    assert (
        default_width(n, brier / 2, delta) < found.bound == found.width <= default_width(n, brier, delta) * (1 + 1e-9)
    )
    found = certify(OFF, confidence_level=1 - delta)
    assert found.estimate == pytest.approx(0.2)
    assert 0.18 < found.lower_bound < found.estimate
    squares = (26_000 * 0.75**2 + 14_000 * 0.25**2) / n + brier / 2
    assert found.width == pytest.approx(default_width(n, squares, delta), rel=0.01)


def test_bounds_stay_in_the_range_of_the_error():
    found = certify([1, 1], [0.0, 0.0])
    assert (found.bound, found.lower_bound) == (1.0, 0.0)
    assert found.estimate + found.width > 1.0


VERDICTS = {
    "certified": (CALIBRATED, 0.02),
    "undecided": (CALIBRATED, 0.001),
    "refuted": (ScoreTable.from_counts([0.25], [40_000], [20_000]), 0.1),
    "uninformative": (ScoreTable.from_counts([0.25, 0.75], [4, 4], [1, 3]), 0.5),
}


@pytest.mark.parametrize("verdict", VERDICTS)
def test_verdicts(verdict):
    table, tolerance = VERDICTS[verdict]
    found = certify(table, tolerance=tolerance)
    assert found.verdict == verdict
    assert (found.rows_needed is None) == (verdict in ("certified", "refuted"))
    assert found.tolerance == tolerance


def test_a_bound_equal_to_the_tolerance_is_enough():
    bound = certify(CALIBRATED).bound
    assert certify(CALIBRATED, tolerance=bound).verdict == "certified"
    assert certify(CALIBRATED, tolerance=np.nextafter(bound, 0.0)).verdict == "undecided"


@pytest.mark.parametrize("method", WIDTHS)
def test_that_many_calibrated_rows_do_decide(method):
    """Arithmetic: with so many rows the width plus the noise that 80% of calibrated walks keep to is the tolerance."""
    small = ScoreTable.from_counts([0.25, 0.75], [400, 400], [100, 300])
    needed = certify(small, tolerance=0.02, method=method).rows_needed
    assert WIDTHS[method](needed, 0.1875) + calibrated_limit(needed * 0.1875, 0.8) / needed <= 0.02
    fewer = int(0.99 * needed)
    assert WIDTHS[method](fewer, 0.1875) + calibrated_limit(fewer * 0.1875, 0.8) / fewer > 0.02


def test_certificate_says_what_it_claims_and_on_what_grounds():
    found = certify(CALIBRATED, tolerance=0.02)
    assert found.claim.startswith("With probability at least 0.95 over the draw of the rows")
    assert f"at most {claim_upper(found.bound)} " in found.claim
    assert len(found.assumptions) == 3
    assert found.references == ("gao2017", "shevtsova2013", "fan2015")
    assert found.trivial_bound == 0.5


def test_tables_of_weights_are_refused():
    with pytest.raises(DataError, match="weights that count no rows"):
        certify(ScoreTable.from_counts([0.5], [1.0], [0.5]))
