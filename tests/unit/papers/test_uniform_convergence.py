"""Widths of Theorem 2 of Gao et al. (2017) and of Hoeffding, and the complexity of the intervals of one score."""

from __future__ import annotations

import math

import numpy as np
import pytest

from calibrant import ArgumentError, ScoreTable
from calibrant.metrics import cutoff_calibration_error
from calibrant.papers import (
    hoeffding_width,
    rademacher_finite,
    rademacher_linear,
    rademacher_of_intervals,
    uniform_convergence_width,
)
from support import oracles
from support.counting import assert_probability_within, per_count, worst_failure_probability

ROWS = (1e3, 1e4, 1e5, 1e6)
FORMS = ("sharp", "printed", "proof")
LIMIT = math.sqrt(math.pi / 2)  # of sqrt(n) times the Rademacher complexity (Levy), used here for R


def limit_theorem2(form):
    return lambda n: uniform_convergence_width(n, 0.05, LIMIT / math.sqrt(n), form=form)


# Constants over sqrt(n), delta = .05, n = 1e3, 1e4, 1e5, 1e6: 11.39, 8.88, 7.73 and sqrt(2 log 20).
WIDTHS = {
    "proof": (limit_theorem2("proof"), (0.3600, 0.1139, 0.0360, 0.0114)),
    "printed": (limit_theorem2("printed"), (0.2808, 0.0888, 0.0281, 0.0089)),
    "sharp": (limit_theorem2("sharp"), (0.2444, 0.0773, 0.0244, 0.0077)),
    "Hoeffding": (hoeffding_width, (0.0774, 0.0245, 0.0077, 0.0024)),
}
# Rows so that the width is at most .10, .05, .02, .01.
SIZES = {
    "proof": (12_963, 51_849, 324_056, 1_296_223),
    "printed": (7_883, 31_532, 197_072, 788_287),
    "Hoeffding": (600, 2_397, 14_979, 59_915),
}


@pytest.mark.parametrize("name", WIDTHS)
def test_widths(name):
    width, expected = WIDTHS[name]
    assert [width(n) for n in ROWS] == pytest.approx(expected, abs=0.5001e-4)


def test_constants_of_theorem_2():
    """Times sqrt(n), delta = .05: 11.39 (proof), 8.88 (printed), 7.73 (sharp)."""
    for form, constant in {"proof": 11.39, "printed": 8.88, "sharp": 7.73}.items():
        assert limit_theorem2(form)(1) == pytest.approx(constant, abs=0.0051)


@pytest.mark.parametrize("name", SIZES)
def test_rows_for_a_width(name):
    width = WIDTHS[name][0]
    for tolerance, size in zip((0.10, 0.05, 0.02, 0.01), SIZES[name], strict=True):
        assert width(size) <= tolerance < width(size - 1)


def test_printed_form_is_above_the_sharp_one_where_the_note_says():
    """2 R + 2 sqrt(2 ln(8/d)/n) >= 4 R + sqrt(2 ln(2/d)/n) whenever sqrt(n) R <= 1.45, for any delta."""
    for delta in (0.999, 0.5, 0.1, 0.01, 1e-6):
        printed, sharp = (uniform_convergence_width(1, delta, 1.45, form=form) for form in ("printed", "sharp"))
        assert printed >= sharp
    printed, sharp = (uniform_convergence_width(1, 0.9999, 1.46, form=form) for form in ("printed", "sharp"))
    assert printed < sharp


def test_widths_shrink_with_rows_and_grow_with_confidence():
    for width in (hoeffding_width, lambda n, delta: uniform_convergence_width(n, delta, rademacher_of_intervals(n))):
        assert width(100, 0.05) > width(101, 0.05)
        assert width(100, 0.01) > width(100, 0.2)


def bounds(score: float, n: int, width: float):
    """Upper bound on the error for each number of positives among n rows at one score."""
    tables = [ScoreTable.from_counts([score], [n], [k]) for k in range(n + 1)]
    return per_count(n, lambda k: cutoff_calibration_error(tables[k]) + width)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("score", [0.0, 0.5])
def test_theorem_2_at_one_score(score, form):
    for n in (1, 10, 100):
        width = uniform_convergence_width(n, 0.05, rademacher_of_intervals(n), form=form)
        assert_probability_within(worst_failure_probability(bounds(score, n, width), score), 0.05)


def test_hoeffding_at_one_score():
    """Within delta whatever the rate is, and no longer with three tenths of the width."""
    for score, n, delta in ((0.0, 10, 0.05), (0.0, 6, 0.2), (0.5, 50, 0.05), (0.9, 200, 0.01)):
        width = hoeffding_width(n, delta)
        assert_probability_within(worst_failure_probability(bounds(score, n, width), score), delta)
        with pytest.raises(AssertionError, match="failure probability"):
            assert_probability_within(worst_failure_probability(bounds(score, n, 0.3 * width), score), delta)


@pytest.mark.parametrize("form", ["sharp", "proof"])
def test_claim_2_a_shattered_class_certifies_nothing(form):
    """No more linearly independent rows than features: the complexity is 1/2, and the bound says nothing."""
    assert uniform_convergence_width(1e12, 0.05, 0.5, form=form) >= 2.0


def test_rademacher_of_classes():
    """d = 2, 100 values: .218 .075 .026 .0087 at n = 1e3 ... 1e6; linear scores with the tail of the proof."""
    assert [round(rademacher_finite(n, 2, 100), 3) for n in ROWS[:3]] == [0.218, 0.075, 0.026]
    assert round(rademacher_finite(1e6, 2, 100), 4) == 0.0087
    widths = [uniform_convergence_width(n, 0.05, rademacher_linear(n, 5), form="proof") for n in (1e4, 1e5, 1e6, 1e7)]
    assert widths == pytest.approx([0.632, 0.223, 0.077, 0.026], abs=6e-4)


@pytest.mark.parametrize("function", [lambda: rademacher_finite(3, 2, 10), lambda: rademacher_linear(3, 2)])
def test_fewer_rows_than_dimensions(function):
    """Claim 2 of Gao et al. (2017): with so few rows nothing can be learned."""
    with pytest.raises(ArgumentError, match="rows"):
        function()


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
