"""Intervals for a share against SciPy, and how often they cover it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from calibrant.distributions.binomial import clopper_pearson, level_p_values, share_interval, wilson
from calibrant.errors import ArgumentError


@pytest.mark.slow
@pytest.mark.parametrize(("method", "name"), [("wilson", "wilson"), ("clopper-pearson", "exact")])
def test_ends_are_those_of_scipy(method, name):
    for n in (1, 2, 7, 40):
        k = np.arange(n + 1)
        for level in (0.5, 0.999):
            lower, upper = share_interval(np.full(n + 1, n), k, level, method)
            slow = [binomtest(int(v), n).proportion_ci(level, method=name) for v in k]
            assert lower == pytest.approx([end.low for end in slow], rel=1e-8, abs=1e-12)
            assert upper == pytest.approx([end.high for end in slow], rel=1e-8, abs=1e-12)


def test_ends_are_shares():
    n = np.array([5, 5, 1, 1])
    k = np.array([0, 5, 0, 1])
    for method in ("wilson", "clopper-pearson"):
        lower, upper = share_interval(n, k, 0.95, method)
        assert lower[[0, 2]].tolist() == [0.0, 0.0]
        assert upper[[1, 3]].tolist() == [1.0, 1.0]
        assert ((lower <= k / n) & (k / n <= upper)).all()


def covered(interval, n, share, level=0.95):
    """Exact probability that the interval holds the true share."""
    k = np.arange(n + 1)
    lower, upper = interval(np.full(n + 1, n), k, level)
    return float(binom.pmf(k[(lower <= share) & (share <= upper)], n, share).sum())


@pytest.mark.parametrize("n", [1, 10, 50])
def test_clopper_pearson_covers_every_share(n):
    ends = np.concatenate(clopper_pearson(np.full(n + 1, n), np.arange(n + 1), 0.95))
    shares = np.clip(np.concatenate([ends - 1e-9, ends + 1e-9, np.linspace(0, 1, 101)]), 0, 1)
    assert min(covered(clopper_pearson, n, share) for share in shares) >= 0.95 - 1e-12


def test_wilson_covers_on_average_and_would_not_if_narrower():
    """Brown, Cai and DasGupta (2001): the mean over shares is close to the level, single shares are below."""
    shares = np.linspace(0.005, 0.995, 199)
    mean = np.mean([covered(wilson, 50, share) for share in shares])
    assert 0.945 < mean < 0.96
    assert min(covered(wilson, 50, share) for share in shares) < 0.94
    assert np.mean([covered(lambda n, k, level: wilson(n, k, 0.9), 50, share) for share in shares]) < 0.945


def test_the_average_of_different_probabilities():
    """99 sure rows and one with chance p: the upper end at 99 positives is missed from p = 0.9487 on, instead of 0.95.

    A worst case found by search.
    """
    upper = clopper_pearson(np.array([100]), np.array([99]), 0.9)[1][0]
    assert 1.0 - 100 * (1.0 - upper) == pytest.approx(0.9487, abs=5e-5)


def test_weights_that_are_no_rows_have_none():
    lower, upper = share_interval(np.array([2.5]), np.array([1.0]), 0.95, "wilson")
    assert np.isnan([lower[0], upper[0]]).all()


@pytest.mark.parametrize(
    ("level", "method", "message"),
    [
        (0.0, "wilson", "expected confidence_level in"),
        (1.0, "wilson", "expected confidence_level in"),
        (0.95, "wald", "expected interval to be one of"),
    ],
)
def test_bad_parameters(level, method, message):
    with pytest.raises(ArgumentError, match=message):
        share_interval(np.array([2]), np.array([1]), level, method)


@pytest.mark.parametrize("spread", [0.0, 0.3, 1.0])
def test_p_values_of_a_level_are_never_too_low(spread):
    """Against the exact distribution of a sum of events of different probabilities, all counts of some rows."""
    rng = np.random.default_rng(0)
    for n in (1, 3, 20, 60):
        chances = np.clip(0.3 + spread * rng.uniform(-0.3, 0.7, n), 0.0, 1.0)
        exact = np.ones(1)
        for chance in chances:
            exact = np.convolve(exact, [1.0 - chance, chance])
        k, mean = np.arange(n + 1), float(chances.mean())
        found = level_p_values(np.full(n + 1, n), k, np.full(n + 1, mean), np.full(n + 1, spread == 0.0))
        for level in np.unique(found):
            assert exact[found <= level].sum() <= level + 1e-12
        if spread == 0.0 and n >= 20:
            assert any(exact[0.5 * found <= level].sum() > level for level in 0.5 * found), "half of it is caught"
            two_sided = 2.0 * np.minimum(np.cumsum(exact), np.cumsum(exact[::-1])[::-1])
            np.testing.assert_allclose(found, np.minimum(1.0, two_sided), rtol=1e-9)
        for side, tail in ((1, np.cumsum(exact[::-1])[::-1]), (-1, np.cumsum(exact))):
            one = level_p_values(np.full(n + 1, n), k, np.full(n + 1, mean), np.full(n + 1, spread == 0.0), side)
            assert (one >= tail - 1e-12).all()
            if spread == 0.0:
                np.testing.assert_allclose(one, tail, rtol=1e-9)


def test_ends_of_the_score_interval_are_those_of_shares():
    """Where all rows or none are positive its formula gives 1 or 0 but for rounding."""
    n = np.arange(1, 200)
    assert (wilson(n, n, 0.95)[1] == 1.0).all()
    assert (wilson(n, 0 * n, 0.95)[0] == 0.0).all()
