"""Bentkus's inequality, against sums over all counts, and against tails that it must be above."""

import math

import numpy as np
import pytest
from scipy.stats import binom, norm

from calibrant.distributions.mean_limits import bentkus_distance, bentkus_tail


def by_sums(n, t, variance, top):
    """The bound over a grid of h, with expectations summed over all counts."""
    chance, unit = variance / (top**2 + variance), top + variance / top
    at = (n * t + n * variance / top) / unit
    count = np.arange(n + 1)
    mass = binom.pmf(count, n, chance)
    gaps = np.linspace(0.01, 14.0 * math.sqrt(n * chance * (1.0 - chance)) + 4.0, 3000)
    return min(1.0, *(np.maximum(count - at + gap, 0.0) ** 2 @ mass / gap**2 for gap in gaps))


@pytest.mark.parametrize(("n", "variance"), [(20, 0.05), (20, 0.3), (300, 0.001), (3000, 0.001), (3000, 0.3)])
def test_tail_is_that_of_sums_over_all_counts(n, variance):
    for z in (1.5, 2.5, 4.0, 6.0):
        t = z * math.sqrt(variance / n)
        oracle = by_sums(n, t, variance, 1.2)
        assert oracle * (1.0 - 1e-4) <= float(bentkus_tail(n, t, variance, 1.2)) <= oracle * 1.12


def test_tail_is_above_that_of_the_least_favourable_terms():
    """Two-valued terms: their count is binomial, so its tail is known."""
    for n in (1, 5, 100):
        for top, variance in ((1.0, 0.25), (1.5, 0.02)):
            chance, unit = variance / (top**2 + variance), top + variance / top
            count = np.arange(1, n + 1)
            t = (count * unit - n * variance / top) / n
            above = t > 0
            bound = bentkus_tail(n, t[above], variance, top)
            assert (bound >= binom.sf(count[above] - 1, n, chance) * (1.0 - 1e-9)).all()


def test_distance_gives_the_probability_and_not_more():
    delta = np.geomspace(1e-8, 0.05, 12)
    t = bentkus_distance(2000, 0.15, delta, 1.1)
    assert (bentkus_tail(2000, t, 0.15, 1.1) <= delta * (1.0 + 1e-6)).all()
    assert (bentkus_tail(2000, 0.999 * t, 0.15, 1.1) > delta).all()


def test_many_rows_are_nearly_normal():
    """By a factor of at most e^2 / 2 of the normal tail, so a little further out."""
    for delta in (1e-2, 1e-6):
        t = float(bentkus_distance(1e9, 0.15, delta, 1.0)) / math.sqrt(0.15 / 1e9)
        assert norm.isf(delta) < t < norm.isf(delta * 2.0 / math.e**2) * 1.001


def test_nothing_is_further_than_the_largest_term():
    assert float(bentkus_tail(10, 1.3, 0.2, 1.2)) == 0.0
    assert float(bentkus_distance(3, 1.0, 1e-9, 2.0)) <= 2.0
