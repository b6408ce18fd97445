"""The rotations of clusters: against whole matrices, Student's t, and each other."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import t as student

from calibrant import ArgumentError
from calibrant.distributions import null_distribution as module
from calibrant.distributions.null_distribution import rotate

NO_VARIANCE = np.zeros(3)


def of(sums, n_rotations=9999, seed=0, variance=None, **more):
    """Rotations of clusters of one row with these sums, all at the first of three scores."""
    walks = np.outer([0.0, 1.0, 1.0, 1.0], sums)
    size = np.ones(len(sums))
    return rotate(walks, size, NO_VARIANCE if variance is None else variance, n_rotations, rng(seed), **more)


def rng(seed):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("factors", [1, 1 << 21])
def test_ranges_are_those_of_rotated_walks(monkeypatch, factors):
    monkeypatch.setattr(module, "_FACTORS", factors)
    walks = np.concatenate([np.zeros((1, 7)), rng(0).standard_normal((5, 7)).cumsum(axis=0)])
    size, draws = rng(1).integers(1, 9, 7).astype(float), rng(2).standard_normal((49, 7))
    found = rotate(walks, size, np.ones(5), 49, rng(2))
    u = 1.04 * math.sqrt(7) * draws / np.linalg.norm(draws, axis=1)[:, None]
    np.testing.assert_allclose(found.rotated, u @ walks.T / size.sum(), atol=1e-12)
    np.testing.assert_allclose(found.walk, walks.sum(axis=1) / size.sum())
    np.testing.assert_allclose(found.size, u @ size / size.sum(), atol=1e-12)
    reached = np.count_nonzero(np.ptp(found.rotated, axis=1) >= np.ptp(found.walk))
    others = np.count_nonzero(found.independent >= np.ptp(found.walk))
    assert found.p_value() == (1 + max(reached, others)) / 50


@pytest.mark.parametrize("sums", [(1.0, 2.0, 3.0, 1.5, 2.5), (0.3, -0.1, 0.8, 0.2, 0.4, 0.1, 0.9, -0.5)])
def test_of_one_score_the_test_is_that_of_student(monkeypatch, sums):
    """Rotations of single numbers are a t-test: both know the sum over the root of the sum of squares alone."""
    monkeypatch.setattr(module, "_WIDER", 1.0)
    mean, error = np.mean(sums), np.std(sums, ddof=1) / math.sqrt(len(sums))
    expected = 2.0 * student.sf(mean / error, len(sums) - 1)
    assert of(sums, 99_999).p_value() == pytest.approx(expected, abs=4.0 * math.sqrt(expected / 1e5))


def test_the_worse_all_clusters_are_the_smaller_is_the_p_value():
    noise = rng(0).standard_normal(6)
    p = [of(noise + shift).p_value() for shift in (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 1e3)]
    assert np.diff(p).max() < 1e-3
    assert p[-1] < 0.01


def test_rows_that_would_go_as_far_by_themselves_reject_nothing():
    """Six clusters agree, but independent rows of variance 36 go 6 rows from 0 as often as a normal number passes 1."""
    assert of(np.ones(6)).p_value() < 0.01
    assert of(np.ones(6), variance=np.array([36.0, 0.0, 0.0])).p_value() == pytest.approx(0.317, abs=0.02)


@pytest.mark.parametrize("seed", range(8))
def test_the_lower_bound_is_above_0_where_the_test_rejects(seed):
    walks = np.concatenate([np.zeros((1, 9)), (rng(seed).standard_normal((6, 9)) + 0.25 * seed / 7).cumsum(axis=0)])
    found = rotate(walks, rng(seed).integers(1, 5, 9).astype(float), np.ones(6), 199, rng(seed))
    for delta in (0.01, 0.05, 0.1, 0.3):
        lower = found.lower_bound(delta)
        assert (lower > 0.0) == (found.p_value() <= delta + 1e-9)
        assert lower <= found.observed
        assert found.lower_bound(delta, 1) <= lower + 1e-9 or found.lower_bound(delta, -1) <= lower + 1e-9
        if lower:  # what is just above is not rejected, what is below is
            for share, rejected in ((lower / found.observed - 1e-9, True), (lower / found.observed + 2**-12, False)):
                moved = np.ptp(found.rotated - np.outer(share * found.size, found.walk), axis=1)
                rest = (1.0 - share) * found.observed - 1e-12
                reached = max(np.count_nonzero(moved >= rest), np.count_nonzero(found.independent >= rest))
                assert ((1 + reached) / 200 <= delta + 1e-9) == rejected


def test_one_side_counts_rises_or_falls():
    rising = of(np.array([3.0, 2.0, 2.5, 3.5, 3.0, 2.0]))
    assert rising.lower_bound(0.05, 1) == rising.lower_bound(0.05) > 0.0
    assert rising.lower_bound(0.05, -1) == 0.0


def test_the_band_of_one_score_is_that_of_student(monkeypatch):
    """Of clusters whose sums are 0 on average; of others their squares around 0 count."""
    monkeypatch.setattr(module, "_WIDER", 1.0)
    sums = np.array([1.0, -2.0, 0.5, 1.5, -1.0, 0.0])
    expected = student.ppf(0.975, 5) * np.std(sums, ddof=1) / math.sqrt(6)
    assert of(sums, 99_999).width(0.05) == pytest.approx(expected, rel=0.02)
    assert of(sums + 3.0, 9999).width(0.05) > 1.5 * expected


def test_what_is_hidden_widens():
    sums = np.array([3.0, 2.0, 2.5, 3.5, 3.0, 2.0])
    plain, hidden = of(sums, 199), of(sums, 199, hidden=lambda delta, share: 0.4 * (1.0 - delta))
    assert hidden.width(0.05) == pytest.approx(math.hypot(plain.width(0.05), 0.38))
    assert 0.0 < hidden.lower_bound(0.05) < plain.lower_bound(0.05)
    assert hidden.p_value() >= plain.p_value()


def test_too_few_rotations_for_a_level_are_refused():
    with pytest.raises(ArgumentError, match="at least 999 simulations"):
        of(np.ones(6), 998).lower_bound(0.001)
    assert of(np.ones(6), 999).width(0.001) > 0.0
