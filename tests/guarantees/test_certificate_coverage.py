"""The upper bound is below the true error with probability at most delta."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from calibrant import ScoreTable
from calibrant.certificates import certify
from calibrant.certificates.widths import bernstein_width, default_width
from calibrant.distributions import mean_limits
from support.counting import (
    assert_probability_within,
    assert_seldom,
    failure_probability,
    failure_probability_by_count,
    per_count,
    worst_failure_probability,
)
from support.worlds import WORLDS


@cache
def certificates(score: float, n: int, delta: float):
    """What the library says for each number of positives among n rows at one score."""
    tables = (ScoreTable.from_counts([score], [n], [k]) for k in range(n + 1))
    return [certify(table, confidence_level=1 - delta) for table in tables]


def upper_bounds(score: float, n: int, delta: float = 0.05):
    found = certificates(score, n, delta)
    return per_count(n, lambda k: found[k].bound)


def errors_and_brier_scores(score: float, n: int):
    """Empirical error and Brier score for each number of positives among n rows at one score."""
    k = np.arange(n + 1)
    estimate, brier = np.abs(k - n * score) / n, (k * (1 - score) ** 2 + (n - k) * score**2) / n
    return list(zip(estimate, np.minimum(brier, 1.0), strict=True))


def bernstein_bounds(score: float, n: int, delta: float):
    return np.array([e + bernstein_width(n, b, delta) for e, b in errors_and_brier_scores(score, n)])


# --- one score: exact statements about every true rate ---------------------------------------------------------


@pytest.mark.parametrize("delta", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("n", [1, 2, 3, 6, 10, 20, 50, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("score", [0.0, 1e-9, 0.01, 0.3, 0.5, 0.9, 1.0])
def test_no_rate_at_one_score_is_missed_too_often(score, n, delta):
    for bounds in (upper_bounds, bernstein_bounds):
        assert_probability_within(worst_failure_probability(bounds(score, n, delta), score), delta)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "delta"), [(500, 0.01), (1000, 0.05), (500, 0.2)])
@pytest.mark.parametrize("score", [0.0, 0.01, 0.5, 0.9])
def test_no_rate_at_one_score_is_missed_too_often_in_large_samples(score, n, delta):
    assert_probability_within(worst_failure_probability(upper_bounds(score, n, delta), score), delta)


# Found by search: score, true rate, n, delta. At the third the bound used up most of delta asymptotically.
WORST = [(0.0, 0.333, 10, 0.05), (0.0, 0.305, 6, 0.20), (0.9, 0.86790, 3000, 0.05), (0.5, 0.5645, 300, 0.2)]


@pytest.mark.parametrize(("score", "eta", "n", "delta"), WORST)
def test_worst_cases_found_by_search(score, eta, n, delta):
    def fails(k):
        table = ScoreTable.from_counts([score], [n], [k])
        return certify(table, confidence_level=1 - delta).bound < abs(eta - score)

    assert_probability_within(failure_probability_by_count(n, eta, fails), delta)
    failed = bernstein_bounds(score, n, delta) < abs(eta - score)
    assert_probability_within(failure_probability(n, eta, failed), delta)


def test_a_shrunk_bernstein_width_is_caught():
    for score, n in ((0.0, 10), (0.5, 200), (0.9, 50)):
        shrunk = np.array([e + 0.3 * bernstein_width(n, b) for e, b in errors_and_brier_scores(score, n)])
        with pytest.raises(AssertionError, match="failure probability"):
            assert_probability_within(worst_failure_probability(shrunk, score), 0.05)


# --- the default where rows are many: its constants are needed (docs/theory/1-upper-bound.md) ------------------------


def one_score_bounds(score: float, n: int, delta: float):
    return np.array([e + default_width(n, b, delta, estimate=e) for e, b in errors_and_brier_scores(score, n)])


@pytest.mark.slow
@pytest.mark.parametrize("score", [0.0, 0.02, 0.1, 0.5])
def test_no_rate_is_missed_too_often_by_the_normal_part(score):
    """Exact. The least is stated too: about half of delta is used, so that a much wider bound would be noticed."""
    worst = worst_failure_probability(one_score_bounds(score, 300, 0.2), score)
    assert 0.09 <= worst <= 0.2


@pytest.mark.parametrize(("score", "constants"), [(0.0, "moment"), (0.02, "both"), (0.1, "both"), (0.5, "both")])
def test_without_the_constants_of_its_proof_the_default_is_caught(monkeypatch, score, constants):
    monkeypatch.setattr(mean_limits, "chernoff_limit", lambda mean, n, delta: np.maximum(np.asarray(mean), 1e-300))
    if constants == "both":
        monkeypatch.setattr(mean_limits, "BERRY_ESSEEN", (1e-9, 0.0))
        monkeypatch.setattr(mean_limits.berry_esseen, "__defaults__", ((1e-9, 0.0),))
        monkeypatch.setattr(mean_limits, "_crossing", mean_limits._crossing.__wrapped__)  # nothing remembered
    with np.errstate(over="ignore"), pytest.raises(AssertionError, match="failure probability"):
        assert_probability_within(worst_failure_probability(one_score_bounds(score, 300, 0.2), score), 0.2)


# --- many scores: counted failures ----------------------------------------------------------------------------


def failures(name: str, n: int, repetitions: int, delta: float, shrink: float = 1.0):
    """Whether the bound, with its width times `shrink`, is below the true error, in some samples."""
    world = WORLDS[name]
    for table in world.samples(n, repetitions, np.random.default_rng([n, *name.encode()])):
        found = certify(table, confidence_level=1 - delta)
        yield found.estimate + shrink * found.width < world.error


@pytest.mark.slow
@pytest.mark.parametrize("n", [10, 100, 1000, 10_000])
@pytest.mark.parametrize("name", WORLDS)
def test_true_error_is_seldom_above_the_bound(name, n):
    assert_seldom(failures(name, n, 120, 0.05), 120, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.05, 0.2])
@pytest.mark.parametrize("n", [10, 100, 1000])
@pytest.mark.parametrize("name", WORLDS)
def test_true_error_is_seldom_above_the_bound_in_many_samples(name, n, delta):
    assert_seldom(failures(name, n, 500, delta), 500, delta)


def test_true_errors_of_the_worlds():
    """Closed forms: integrals of eta - s over half, all or one wave of the scores; sums over atoms."""
    expected = {
        "calibrated": 0.0,
        "overconfident": 0.4 / 8,
        "wave": 0.1 * 2 / (8 * np.pi),
        "opposite": 1 / 4,
        "rare, twice as many": 0.01,
        "one atom": 0.1,
        "several atoms": 0.05,
        "zeros and ones": 0.06,
        "no one at all": 0.3,
    }
    for name, error in expected.items():
        assert WORLDS[name].error == pytest.approx(error, abs=1e-5), name


@pytest.mark.slow
def test_scores_without_ties():
    """Uniform scores, overconfident: the error is .05 in closed form."""
    rng = np.random.default_rng(3)
    drawn = (rng.random((2, 500)) for _ in range(400))
    bounds = (certify(u < 0.5 + 0.6 * (s - 0.5), s).bound for s, u in drawn)
    assert_seldom((bound < 0.05 for bound in bounds), 400, 0.05)


# --- verdicts -------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("n", [50, 2000])
@pytest.mark.parametrize("name", ["overconfident", "one atom", "several atoms", "rare, never predicted", "ten grades"])
def test_wrong_verdicts_are_rare(name, n):
    world = WORLDS[name]
    wrong = (
        (
            certify(table, tolerance=world.error * (1.0 - 1e-9)).verdict == "certified",
            certify(table, tolerance=world.error).verdict == "refuted",
        )
        for table in world.samples(n, 120, np.random.default_rng([n, 1]))
    )
    assert_seldom(wrong, 120, 0.05)


@pytest.mark.slow
def test_wrong_verdicts_at_one_score_are_rare_exactly():
    """Between these rates the bounds decide, which are looked at for every rate above."""
    n, score = 60, 0.2
    tables = [ScoreTable.from_counts([score], [n], [k]) for k in range(n + 1)]
    for eta in np.linspace(0.0, 1.0, 21):
        error = abs(eta - score)
        for tolerance, wrong in ((error * 0.999999, "certified"), (error, "refuted")):
            if tolerance > 0:

                def fails(k, tolerance=tolerance, wrong=wrong):
                    return certify(tables[k], tolerance=tolerance).verdict == wrong

                assert_probability_within(failure_probability_by_count(n, eta, fails), 0.05)


# --- the bound says something ---------------------------------------------------------------------------------


def test_width_is_small():
    """The first-order limit, 1.645 sqrt(B / n), is .0064 at n = 10,000 and a Brier score of .15."""
    assert default_width(10_000, 0.15) < 0.0072
    found = certify(next(WORLDS["calibrated"].samples(10_000, 1, np.random.default_rng(0))))
    assert found.width < 0.0076
    assert found.bound < 0.018


# --- a bound that is too small is caught ----------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("shrink", [0.3, 0.0])
def test_a_shrunk_bound_is_caught_exactly(shrink):
    for score, n in ((0.0, 10), (0.5, 200), (0.9, 50)):
        found = certificates(score, n, 0.05)
        shrunk = per_count(n, lambda k, found=found: found[k].estimate + shrink * found[k].width)
        with pytest.raises(AssertionError, match="failure probability"):
            assert_probability_within(worst_failure_probability(shrunk, score), 0.05)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "n"), [("one atom", 1000), ("one atom", 50), ("shifted", 10_000)])
def test_a_shrunk_bound_is_caught_by_counting(name, n):
    for shrink in (0.3, 0.0):
        with pytest.raises(AssertionError, match="failures in"):
            assert_seldom(failures(name, n, 300, 0.05, shrink=shrink), 300, 0.05)


@pytest.mark.slow
def test_the_normal_bound_without_its_rare_event_term_is_caught():
    """Score 0 and a rate of 1/n: what the library returns is not this."""
    n = 200
    found = certificates(0.0, n, 0.05)
    naive = per_count(n, lambda k: found[k].estimate + 1.645 * np.sqrt(k / n / n))
    with pytest.raises(AssertionError, match="failure probability"):
        assert_probability_within(failure_probability(n, 1 / n, naive < 1 / n), 0.05)
