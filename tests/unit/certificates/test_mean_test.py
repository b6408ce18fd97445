"""Tests of predicted means: statistics by loops, distributions as of labels, and what is said of disagreement."""

import math

import numpy as np
import pytest
from scipy.stats import poisson

from calibrant import ArgumentError, DataError, OutcomeTable
from calibrant.certificates import calibration_test
from calibrant.distributions.bounded_mean import Draws, bounded_mean_limit
from calibrant.distributions.brownian import normal_quantile, range_survival
from calibrant.distributions.total_ratio import range_p_value, tail_index


def book(n=2000, seed=0, bend=1.0, dispersion=1.0):
    rng = np.random.default_rng(seed)
    rate, exposure = rng.gamma(2.0, 0.1, n).round(2) + 0.01, rng.uniform(0.1, 1.0, n)
    mean = bend * rate * exposure
    if dispersion > 1.0:
        mean = rng.gamma(mean / (dispersion - 1.0), dispersion - 1.0)
    return rng.poisson(mean), rate, exposure


def test_the_self_normalised_range_by_loops():
    z, f, w = book(60)
    z = z + (np.arange(60) < 30)
    residual = z - w * f
    sums = [residual[f <= at].sum() for at in np.unique(f)]
    size = max(0.0, *sums) - min(0.0, *sums)
    test = calibration_test(z, f, exposure=w, distribution="poisson", n_simulations=19, kind="amount")
    assert test.p_value == pytest.approx(range_survival(size / math.sqrt((residual**2).sum())))
    assert test.statistic == pytest.approx(max(size, 0.0) / (w * f).sum())
    balanced = w * f * z.sum() / (w * f).sum()
    assert test.dispersion == pytest.approx(((z - balanced) ** 2).sum() / balanced.sum())


@pytest.mark.parametrize("distribution", ["poisson", "binomial"])
@pytest.mark.parametrize("level", [0.5, 0.8, 1.25])
def test_dispersion_does_not_hang_on_the_level(distribution, level):
    """Counts of the distribution itself have 1, to four standard errors, however far predictions are off in total."""
    rng, n = np.random.default_rng(1), 20_000
    trials = rng.integers(1, 6, n) if distribution == "binomial" else np.ones(n)
    p = 0.2 * np.exp(0.4 * rng.standard_normal(n)).clip(0.3, 3.0)
    z = rng.binomial(trials.astype(int), p) if distribution == "binomial" else rng.poisson(p)
    test = calibration_test(z, level * p, exposure=trials, distribution=distribution, n_simulations=9, kind="amount")
    assert test.dispersion == pytest.approx(1.0, abs=0.08)


def test_nothing_observed_has_no_dispersion():
    test = calibration_test(np.zeros(50), np.full(50, 0.1), distribution="poisson", n_simulations=9, kind="amount")
    assert test.dispersion is None


@pytest.mark.parametrize("count", [3, 9, 14])
def test_one_prediction_of_poisson_counts_exactly(count):
    """The range of one residual is its size, so its p-value is that of the Poisson distribution."""
    test = calibration_test(
        np.arange(40) < count, np.full(40, 0.2), distribution="poisson", n_simulations=199, kind="amount"
    )
    away = abs(count - 8)
    exact = min(1.0, poisson.cdf(8 - away, 8.0) + poisson.sf(7 + away, 8.0))
    assert test.distribution_p_value == pytest.approx(exact, abs=0.1 * exact + 0.03)
    assert math.isnan(test.p_value)
    assert test.n_simulations in (199, 1999)


def test_binomial_is_the_test_of_labels():
    rng = np.random.default_rng(1)
    trials, p = rng.integers(1, 6, 300), rng.choice([0.1, 0.3, 0.6], 300)
    k = rng.binomial(trials, p)
    test = calibration_test(k, p, exposure=trials, distribution="binomial", kind="amount")
    y = np.concatenate([np.arange(m) < hits for m, hits in zip(trials, k, strict=True)])
    assert test.distribution_p_value == calibration_test(y, np.repeat(p, trials)).p_value
    with pytest.raises(DataError):
        calibration_test(k + 5, p, exposure=trials, distribution="binomial", kind="amount")


def test_over_dispersion_is_said():
    z, f, w = book(5000, 3, dispersion=3.0)
    test = calibration_test(z, f, exposure=w, distribution="poisson", n_simulations=99, kind="amount")
    assert 2.0 < test.dispersion < 4.5
    assert test.distribution_p_value <= 0.05 < test.p_value
    assert test.note.startswith("Only the test of the Poisson distribution rejects")
    assert "over-dispersion" in test.note
    assert (
        calibration_test(
            *book(1000, 1)[:2], exposure=book(1000, 1)[2], distribution="poisson", n_simulations=9, kind="amount"
        ).note
        == ""
    )


def test_wrong_means_are_rejected_by_both():
    z, f, w = book(4000, 2, bend=1.5)
    test = calibration_test(z, f, exposure=w, distribution="poisson", n_simulations=99, kind="amount")
    assert test.p_value < 1e-4
    assert test.distribution_p_value == 1 / 100
    assert f"p = {test.p_value:.4g}" in test.claim
    assert "exact test of Poisson counts" in test.claim


def test_what_is_taken_off_grows_with_the_tail():
    rng = np.random.default_rng(0)
    n = 3000
    f = rng.uniform(1.0, 2.0, n)
    light = calibration_test(f * rng.uniform(0.5, 1.5, n), f, kind="amount")
    # quantiles of Pareto's distribution, of a variance that is hardly finite: a sample of index 1.5 may look like it
    middle = calibration_test(((np.arange(n) + 0.5) / n) ** (-1.0 / 2.2) * 1.2 / 2.2, np.ones(n), kind="amount")
    heavy = calibration_test(f * (rng.pareto(1.3, n) + 1.0) * 0.3 / 1.3, f, kind="amount")
    capped = calibration_test(rng.uniform(size=n) ** 2, np.full(n, 1 / 3), limits=(0, 1), kind="amount")
    assert [one.tail_factor for one in (light, middle, heavy, capped)] == [1, 2, 3, 0]
    assert "less what residuals that were not seen, up to three times as large as the largest, may add" in heavy.claim


def test_what_is_taken_off_is_that_of_the_level():
    rng = np.random.default_rng(4)
    r, ends = rng.pareto(2.5, 500) - 1 / 1.5 + 0.2, np.arange(500)
    p = range_p_value(r, ends, (float(r.max()), 0.0))
    assert range_p_value(-r, ends, (0.0, float(r.max()))) == p
    size = np.ptp(np.append(0.0, r.cumsum()))
    scale, end = math.sqrt((r**2).sum()), r.max()
    assert range_p_value(r, ends) < p < 0.5
    for level, reached in ((0.97 * p, False), (1.03 * p, True)):
        limit = float(bounded_mean_limit(1, Draws(r, np.ones(500)), end, 1.0 - 2.0 * level))
        taken_off = 500 * (limit - r.mean()) + normal_quantile(level) * r.std() * math.sqrt(500)
        assert (range_survival((size - max(0.0, taken_off)) / scale) <= level) == reached
    assert range_p_value(np.zeros(3), np.arange(3), (1.0, 0.0)) == range_p_value(np.zeros(3), np.arange(3)) == 1.0


def test_tail_index_of_a_pareto_tail():
    rng = np.random.default_rng(0)
    assert tail_index(rng.pareto(1.5, 100_000) + 1.0) == pytest.approx(1.5, rel=0.1)
    assert math.isnan(tail_index(np.ones(20)))
    assert tail_index(np.ones(40)) == math.inf


def test_the_order_of_rows_does_not_matter():
    z, f, w = book(300)
    order = np.random.default_rng(1).permutation(300)
    one = calibration_test(z, f, exposure=w, distribution="poisson", n_simulations=99, kind="amount")
    assert one == calibration_test(
        z[order], f[order], exposure=w[order], distribution="poisson", n_simulations=99, kind="amount"
    )
    assert one == calibration_test(
        OutcomeTable.from_outcomes(z, f, exposure=w), distribution="poisson", n_simulations=99, kind="amount"
    )


def test_bad_input_is_named():
    z, f, w = book(400)
    for keywords, error, message in (
        ({"distribution": "gamma"}, ArgumentError, "distribution"),
        ({"n_simulations": 0}, ArgumentError, "n_simulations"),
        ({"random_state": "x"}, ArgumentError, "random_state"),
    ):
        with pytest.raises(error, match=message):
            calibration_test(z, f, exposure=w, **keywords, kind="amount")
    with pytest.raises(DataError, match=r"whole numbers of events.*found 0\.5"):
        calibration_test([0.5, 1], [1.0, 1.0], distribution="poisson", kind="amount")
    with pytest.raises(DataError, match="a prediction of -1"):
        calibration_test([0, 1], [-1.0, 1.0], distribution="poisson", relative_to="rows", kind="amount")
    with pytest.raises(
        ArgumentError, match="at least 25 outcomes other than 0, found 1; name the distribution of counts"
    ):
        calibration_test([0, 1], [1.0, 1.0], kind="amount")
    with pytest.raises(DataError, match="certify"):
        calibration_test(OutcomeTable.from_outcomes(z, f, exposure=w, cluster=z), kind="amount")
