"""R's random numbers against what R 3.6 and later prints; the calls stand in the tests."""

from __future__ import annotations

import numpy as np
import pytest

from reproductions.fernandes_machado2024.r_random import RRandom


@pytest.mark.parametrize(
    ("seed", "printed"),
    [(1, [0.2655087, 0.3721239, 0.5728534]), (123, [0.2875775, 0.7883051, 0.4089769])],
)
def test_uniform(seed, printed):
    """``set.seed(seed); runif(3)``."""
    assert RRandom(seed).uniform(3) == pytest.approx(printed, abs=5e-8)


@pytest.mark.parametrize(
    ("seed", "printed"),
    [(1, [-0.6264538, 0.1836433, -0.8356286]), (123, [-0.56047565, -0.23017749, 1.55870831])],
)
def test_normal(seed, printed):
    """``set.seed(seed); rnorm(3)``."""
    assert RRandom(seed).normal(3) == pytest.approx(printed, abs=5e-8)


def test_sample():
    """``set.seed(42); sample(1:10)``."""
    assert (RRandom(42).sample(10, 10) + 1).tolist() == [1, 5, 10, 8, 2, 4, 6, 9, 7, 3]


def test_a_sample_has_no_repeats():
    assert len(set(RRandom(7).sample(2000, 1200).tolist())) == 1200


def test_bernoulli_counts_from_the_likelier_side():
    """Inversion (Kemp 1986): u below the chance of the likelier label gives that label."""
    u = RRandom(3).uniform(1000)
    p = np.linspace(0.01, 0.99, 1000)
    expected = np.where(p > 0.5, np.where(u < p, 1, 0), np.where(u < 1 - p, 0, 1))
    assert RRandom(3).bernoulli(p).tolist() == expected.tolist()
