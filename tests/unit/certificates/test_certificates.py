"""Widths, sample sizes and verdicts against their formulas and against enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from calibrant import ArgumentError, DataError, ScoreTable
from calibrant.certificates import certify, required_sample_size, split_lower_bound
from calibrant.certificates import split as split_module
from calibrant.certificates.widths import bernstein_width, default_width, hoeffding_width, monotone_width
from calibrant.distributions.brownian import kuiper_upper_quantile
from calibrant.distributions.null_distribution import calibrated_limit
from calibrant.papers import rademacher_of_intervals, uniform_convergence_width
from calibrant.table.numbers import claim_upper
from support import oracles

ROWS = (1e3, 1e4, 1e5, 1e6)
PLANNED = (
    "default",
    "bernstein",
    "hoeffding",
    "uniform_convergence-sharp",
    "uniform_convergence-printed",
    "uniform_convergence-proof",
)
LIMIT = math.sqrt(math.pi / 2)  # of sqrt(n) times the Rademacher complexity (Levy), used here for R


def limit_theorem2(form):
    return lambda n: uniform_convergence_width(n, 0.05, LIMIT / math.sqrt(n), form=form)


# Constants over sqrt(n), delta = .05, n = 1e3, 1e4, 1e5, 1e6: 11.39, 8.88, 7.73, 2.88 and sqrt(2 log 20).
WIDTHS = {
    "theorem 2, proof": (limit_theorem2("proof"), (0.3600, 0.1139, 0.0360, 0.0114)),
    "theorem 2, printed": (limit_theorem2("printed"), (0.2808, 0.0888, 0.0281, 0.0089)),
    "theorem 2, sharp": (limit_theorem2("sharp"), (0.2444, 0.0773, 0.0244, 0.0077)),
    "all monotone maps": (monotone_width, (0.0911, 0.0288, 0.0091, 0.0029)),
    "Hoeffding": (hoeffding_width, (0.0774, 0.0245, 0.0077, 0.0024)),
}


@pytest.mark.parametrize("row", WIDTHS)
def test_widths(row):
    width, expected = WIDTHS[row]
    for n, printed in zip(ROWS, expected, strict=True):
        digits = 5 if printed < 0.001 else 4
        assert abs(width(n) - printed) <= 0.5001 * 10**-digits


# Rows so that the width is at most .10, .05, .02, .01.
TOLERANCES = (0.10, 0.05, 0.02, 0.01)
LIMIT_SIZES = {
    "proof": (12_963, 51_849, 324_056, 1_296_223),
    "printed": (7_883, 31_532, 197_072, 788_287),
}


def test_sample_sizes_by_hoeffding():
    """2 log(20) / tolerance^2."""
    for tolerance, size in zip(TOLERANCES, (600, 2_397, 14_979, 59_915), strict=True):
        assert required_sample_size(tolerance, method="hoeffding", power=None) == size


def test_the_default_needs_fewer_rows_than_one_bernstein_rate_did():
    """5,537 rows for a width of .01 at a Brier score of .15 instead of 9,499 with the single rate of version 0.1."""
    assert required_sample_size(0.01, brier=0.15, power=None) <= 5_600


@pytest.mark.parametrize("form", LIMIT_SIZES)
def test_sample_sizes_of_theorem_2(form):
    """The table takes the limit of the Rademacher complexity; the library its exact, smaller value."""
    for tolerance, size in zip(TOLERANCES, LIMIT_SIZES[form], strict=True):
        assert limit_theorem2(form)(size) <= tolerance < limit_theorem2(form)(size - 1)
    for tolerance, size in zip(TOLERANCES[:2], LIMIT_SIZES[form][:2], strict=True):
        assert 0.97 * size < required_sample_size(tolerance, method=f"uniform_convergence-{form}", power=None) <= size


def test_uniform_sizes():
    for tolerance, size in zip(TOLERANCES, (830, 3_318, 20_736, 82_944), strict=True):
        assert monotone_width(size) <= tolerance + 1e-15
        assert monotone_width(size - 1) > tolerance


@pytest.mark.grid
@pytest.mark.parametrize(
    "method",
    [
        "default",
        "bernstein",
        "hoeffding",
        "uniform_convergence-sharp",
        "uniform_convergence-printed",
        "uniform_convergence-proof",
    ],
)
@pytest.mark.parametrize("tolerance", [0.9, 0.31, 0.1, 0.033])
def test_sample_size_is_the_smallest_that_is_enough(method, tolerance):
    def width(n):
        if method == "default":
            return default_width(n, 0.2, 0.1)
        if method == "bernstein":
            return bernstein_width(n, 0.2, 0.1)
        if method == "hoeffding":
            return hoeffding_width(n, 0.1)
        return uniform_convergence_width(
            n, 0.1, rademacher_of_intervals(n), form=method.removeprefix("uniform_convergence-")
        )

    n = required_sample_size(tolerance, confidence_level=0.9, method=method, brier=0.2, power=None)
    assert width(n) <= tolerance < width(n - 1)


def test_constants_of_theorem_2():
    """Times sqrt(n), delta = .05: 11.39 (proof), 8.88 (printed), 7.73 (sharp)."""
    for form, constant in {"proof": 11.39, "printed": 8.88, "sharp": 7.73}.items():
        assert limit_theorem2(form)(1) == pytest.approx(constant, abs=0.0051)


def test_printed_form_is_above_the_sharp_one_where_the_note_says():
    """2 R + 2 sqrt(2 ln(8/d)/n) >= 4 R + sqrt(2 ln(2/d)/n) whenever sqrt(n) R <= 1.45, for any delta."""
    for delta in (0.999, 0.5, 0.1, 0.01, 1e-6):
        assert uniform_convergence_width(1, delta, 1.45, form="printed") >= uniform_convergence_width(
            1, delta, 1.45, form="sharp"
        )
    assert uniform_convergence_width(1, 0.9999, 1.46, form="printed") < uniform_convergence_width(
        1, 0.9999, 1.46, form="sharp"
    )


@pytest.mark.parametrize("n", range(1, 13))
def test_rademacher_is_the_mean_over_all_sign_vectors(n):
    assert rademacher_of_intervals(n) == pytest.approx(oracles.rademacher_of_intervals(n), abs=1e-13)


def test_rademacher_agrees_with_simulation():
    """20,000 sign vectors of 200: the mean of the largest climb is within 5 standard errors."""
    walks = np.random.default_rng(0).choice([-1, 1], size=(20_000, 200)).cumsum(axis=1)
    lowest = np.minimum.accumulate(np.minimum(walks, 0), axis=1)
    climbs = np.maximum((walks - lowest).max(axis=1), 0) / 200
    assert rademacher_of_intervals(200) == pytest.approx(climbs.mean(), abs=5 * climbs.std() / math.sqrt(20_000))


def test_rademacher_by_the_reflected_walk():
    """E max(|S_k + 1/2| - 1/2) / n; and sqrt(n) R = .5, .973, 1.157, 1.204 at n = 1, 10, 100, 400."""
    for n, value in {1: 0.5, 10: 0.973, 100: 1.157, 400: 1.204}.items():
        assert math.sqrt(n) * rademacher_of_intervals(n) == pytest.approx(value, abs=0.00051)


def test_rademacher_grows_towards_its_limit():
    values = [math.sqrt(n) * rademacher_of_intervals(n) for n in (1, 3, 10, 100, 1_000, 10_000, 100_000)]
    assert values == sorted(values)
    assert LIMIT - 0.005 < values[-1] < LIMIT


@pytest.mark.parametrize("n", [0, -1, 2.5, True])
def test_rademacher_refuses_what_is_no_number_of_rows(n):
    with pytest.raises(ArgumentError, match="whole number of rows"):
        rademacher_of_intervals(n)


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
    widths = [hoeffding_width, monotone_width, lambda n, d: bernstein_width(n, 0.1, d)]
    for width in widths:
        assert width(100, 0.05) > width(101, 0.05)
        assert width(100, 0.01) > width(100, 0.2)


CALIBRATED = ScoreTable.from_counts([0.25, 0.75], [40_000, 40_000], [10_000, 30_000])


@pytest.mark.parametrize("method", ["hoeffding", "uniform_convergence"])
def test_bounds_are_the_estimate_and_the_widths(method):
    n = 80_000
    off = ScoreTable.from_counts([0.25, 0.75], [40_000, 40_000], [26_000, 30_000])
    upper, lower_bound = {
        "hoeffding": (hoeffding_width(n, 0.1), split_lower_bound(off, confidence_level=0.9)),
        "uniform_convergence": (width := uniform_convergence_width(n, 0.1, rademacher_of_intervals(n)), 0.2 - width),
    }[method]
    found = certify(CALIBRATED, confidence_level=0.9, method=method)
    assert (found.estimate, found.lower_bound, found.n, found.verdict) == (0.0, 0.0, 80_000, None)
    assert found.bound == found.width == pytest.approx(upper, rel=1e-12)
    found = certify(off, confidence_level=0.9, method=method)
    assert found.estimate == pytest.approx(0.2)
    assert found.lower_bound == pytest.approx(lower_bound)


@pytest.mark.parametrize("method", ["default", "bernstein"])
def test_bounds_that_count_squares_inside_the_interval_are_within_the_width(method):
    """Where all is calibrated, an interval of half the rows has half the squares; where one score is off, all rows
    together have the error of that score and the squares of both.
    """
    n, delta = 80_000, 0.1
    width = {"default": default_width, "bernstein": bernstein_width}[method]
    found = certify(CALIBRATED, confidence_level=1 - delta, method=method)
    brier = 0.1875  # mean of s (1 - s), since the table is exactly calibrated; all intervals have an error of 0
    assert width(n, brier / 2, delta) < found.bound == found.width <= width(n, brier, delta) * (1 + 1e-9)
    off = ScoreTable.from_counts([0.25, 0.75], [40_000, 40_000], [26_000, 30_000])
    found = certify(off, confidence_level=1 - delta, method=method)
    assert found.estimate == pytest.approx(0.2)
    assert found.lower_bound == split_lower_bound(off, confidence_level=1 - delta)
    squares = (26_000 * 0.75**2 + 14_000 * 0.25**2) / n + brier / 2
    assert found.width == pytest.approx(width(n, squares, delta), rel=0.01)


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


@pytest.mark.parametrize("method", ["default", "hoeffding"])
def test_that_many_calibrated_rows_do_decide(method):
    """Arithmetic: with so many rows the width plus the noise that 80% of calibrated walks keep to is the tolerance."""
    small = ScoreTable.from_counts([0.25, 0.75], [400, 400], [100, 300])
    needed = certify(small, tolerance=0.02, method=method).rows_needed
    width = {"default": lambda n: default_width(n, 0.1875), "hoeffding": hoeffding_width}[method]
    assert width(needed) + calibrated_limit(needed * 0.1875, 0.8) / needed <= 0.02
    fewer = int(0.99 * needed)
    assert width(fewer) + calibrated_limit(fewer * 0.1875, 0.8) / fewer > 0.02


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


def test_the_terms_of_a_lower_bound_are_as_far_from_their_centre_as_one_of_their_ends(monkeypatch):
    """They reach from `top` below the centre to the rest of `reach` above it."""
    known, width = [], split_module.mean_width
    monkeypatch.setattr(
        split_module, "mean_width", lambda *sums, **limits: known.append(limits) or width(*sums, **limits)
    )
    score, chance = np.random.default_rng(0).uniform(size=(2, 1000))
    for rate in (np.where(score < 0.2, score + 0.4, score), 0.5 * score):
        split_lower_bound((chance < rate).astype(int), score)
    assert len({limits["top"] < 0.5 * limits["reach"] for limits in known}) == 2
    for limits in known:
        assert limits["largest"] == pytest.approx(max(limits["top"], limits["reach"] - limits["top"]))
