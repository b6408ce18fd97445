"""Claims 3, 4 and 6 of Gao, Parameswaran & Peng (2017). Claims 1, 2 and 5 are in test_claim1.py,
test_uniform_convergence.py and test_pava.py."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from calibrant import ScoreTable
from calibrant.certificates.widths import monotone_width
from calibrant.fits.isotonic import isotonic_fit
from calibrant.papers import rademacher_finite, rademacher_of_intervals
from support.counting import assert_failures_within
from support.worlds import WORLDS


@given(st.lists(st.integers(0, 1), min_size=1, max_size=12))
def test_claim_3_isotonic_calibration_minimises_the_calibration_error(labels):
    """The linear programme of the proof: no nondecreasing fit has a smaller range of cumulative residuals."""
    y = np.array(labels, dtype=float)
    n = len(y)
    score = np.arange(1, n + 1) / (n + 1)
    fit = isotonic_fit(ScoreTable.from_scores(labels, score)).linear(score)
    walk = np.concatenate([[0.0], np.cumsum(y - fit)])
    up_to = np.tril(np.ones((n, n)))
    above, below = np.zeros((n, 2)), np.zeros((n, 2))
    above[:, 0] = below[:, 1] = -1.0
    rising = np.hstack([-np.diff(np.eye(n), axis=0), np.zeros((n - 1, 2))])
    best = linprog(
        np.concatenate([np.zeros(n), [1.0, 1.0]]),
        A_ub=np.vstack([np.hstack([-up_to, above]), np.hstack([up_to, below]), rising]),
        b_ub=np.concatenate([-np.cumsum(y), np.cumsum(y), np.zeros(n - 1)]),
        bounds=[(0.0, 1.0)] * n + [(0.0, None)] * 2,
    )
    assert walk.max() - walk.min() == pytest.approx(best.fun, abs=1e-8)


@pytest.mark.parametrize("n", [10, 100, 1000, 10_000])
def test_claim_4_bounds_the_exact_complexity(n):
    """The sets {f <= p} of one score are nested: dimension 1; n distinct scores."""
    assert rademacher_of_intervals(n) < rademacher_finite(n, 1, n)


@pytest.mark.parametrize("shrink", [1.0, 0.05])
def test_claim_6_the_fit_converges_to_the_convex_hull(shrink):
    """Sup |G_e - cv(F)| <= kappa / sqrt(n) with probability 1 - delta, instead of 2 eps of the paper."""
    missed, repetitions = 0, 0
    for name in ("calibrated", "wave", "opposite", "several atoms", "rare, twice as many"):
        world = WORLDS[name]
        # The lower convex hull of the population is the cumulative sum of its isotonic fit.
        population = ScoreTable.from_counts(world.score, world.mass, world.mass * world.eta)
        hull = np.cumsum(world.mass * isotonic_fit(population).linear(world.score))
        for n in (30, 300, 3000):
            for table in world.samples(n, 60, np.random.default_rng([n, *name.encode()])):
                fitted = np.cumsum(world.mass * isotonic_fit(table).linear(world.score))
                missed += np.abs(fitted - hull).max() > shrink * monotone_width(n)
                repetitions += 1
    if shrink == 1.0:
        assert_failures_within(missed, repetitions, 0.05)
    else:
        with pytest.raises(AssertionError, match="failures"):
            assert_failures_within(missed, repetitions, 0.05)
