"""Limits for a cost and for its forecast, and the safe normal intervals, fail with probability at most delta."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom, multinomial

from calibrant import ScoreTable
from calibrant.decisions import cost_curve, expected_cost, net_benefit
from calibrant.decisions.cost_curves import normal_half_width
from support.counting import assert_probability_within, assert_seldom
from support.worlds import WORLDS, World, at, true_cost, true_forecast

PRICES = [(1.0, 1.0), (1.0, 3.0), (3.0, 1.0), (1.0, 50.0), (0.0, 1.0)]

# Mistakes that are rare and dear, predictions that are right or nearly so, and certain ones.
HARD = {
    "rare and dear": at([0.9, 0.09, 0.01], [0.001, 0.01, 0.3], [0.002, 0.01, 0.3]),
    "certain": at([1.0], [1.0], [0.999]),
    "certain, but for one in a thousand": at([1.0], [1.0], [1.0]),
    "never predicted": at([1.0], [0.0], [0.004]),
    "broken by a hair": at([0.5, 0.5], [0.0, 1.0], [1e-3, 1.0 - 1e-3]),
}
ALL = WORLDS | HARD


def found_in(table: ScoreTable, a: float, b: float, delta: float = 0.05, threshold: float | None = None):
    prices = {"false_positive_cost": a, "false_negative_cost": b}
    found = expected_cost(table, **prices, confidence_level=1 - delta, threshold=threshold)
    error = found.cost - found.cost_forecast
    limits = {"error_lower": found.forecast_error_lower, "error_upper": found.forecast_error_upper}
    costs = {name: getattr(found, name) for name in ("threshold", "cost", "cost_lower", "cost_upper")}
    return SimpleNamespace(error=error, **limits, **costs)


def shrunk(lower, value, upper, shrink: float):
    return value - shrink * (value - lower), value + shrink * (upper - value)


@cache
def at_one_score(score: float, n: int, a: float, b: float, delta: float):
    """What is found for each number of positives among n rows at one score."""
    return [found_in(ScoreTable.from_counts([score], [n], [k]), a, b, delta) for k in range(n + 1)]


def worst_two_sided(lower, upper, truth_at_0: float, truth_at_1: float) -> float:
    """Largest failure probability over all rates, where the truth is linear in the rate: just beyond each limit."""
    n, slope = len(lower) - 1, truth_at_1 - truth_at_0
    ends = (np.concatenate([lower, upper]) - truth_at_0) / slope
    rates = np.concatenate([ends - 1e-12, ends + 1e-12, np.linspace(0.0, 1.0, 101)])
    rates = rates[(rates >= 0.0) & (rates <= 1.0)]
    truths = truth_at_0 + slope * rates
    rounding = 1e-13 * abs(slope)
    missed = (truths[:, None] < lower - rounding) | (truths[:, None] > upper + rounding)
    return float((missed * binom.pmf(np.arange(n + 1), n, rates[:, None])).sum(axis=1).max())


def worst_at_one_score(part: str, score: float, n: int, a: float, b: float, delta: float, shrink: float = 1.0) -> float:
    found = at_one_score(score, n, a, b, delta)
    columns = [np.array([getattr(f, name) for f in found]) for name in (f"{part}_lower", part, f"{part}_upper")]
    acted = score >= a / (a + b)
    truths = np.array([a, 0.0] if acted else [0.0, b])
    if part == "error":
        truths = truths - (a * (1.0 - score) if acted else b * score)
    return worst_two_sided(*shrunk(*columns, shrink), *truths)


@pytest.mark.parametrize("part", ["cost", "error"])
@pytest.mark.parametrize("delta", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("n", [1, 2, 3, 10, 50, 200])
def test_no_rate_at_one_score_is_missed_too_often(n, delta, part):
    for a, b in PRICES[:4]:
        for score in (0.0, 1e-3, 0.3, 0.6, 1.0) if part == "error" else (0.0, 1.0):
            assert_probability_within(worst_at_one_score(part, score, n, a, b, delta), delta)


@pytest.mark.slow
@pytest.mark.parametrize("part", ["cost", "error"])
def test_no_rate_at_one_score_is_missed_too_often_in_large_samples(part):
    for a, b in ((1.0, 1.0), (1.0, 50.0)):
        for score in (0.0, 1.0):
            assert_probability_within(worst_at_one_score(part, score, 1000, a, b, 0.05), 0.05)


@pytest.mark.parametrize(("a", "b"), PRICES)
@pytest.mark.parametrize("n", [3, 8, 25])
def test_no_mixture_of_the_two_mistakes_is_missed_too_often(n, a, b):
    """All samples are listed: rows at 0 that turn out positive, rows at 1 that turn out negative, and the others."""
    counts = np.array([(i, j, n - i - j) for i in range(n + 1) for j in range(n + 1 - i)])
    tables = [ScoreTable.from_counts([0.0, 1.0], [i, j + rest], [i, rest]) for i, j, rest in counts]
    found = [found_in(table, a, b, 0.1, threshold=0.5) for table in tables]
    lower, upper = (np.array([getattr(f, name) for f in found]) for name in ("cost_lower", "cost_upper"))
    for missed in (0.0, 1e-3, 0.01, 0.05, 0.2, 0.4):
        for false_positives in (0.0, 1e-3, 0.02, 0.1, 0.3, 0.5):
            truth = a * false_positives + b * missed
            failed = (truth < lower - 1e-12) | (truth > upper + 1e-12)
            chances = multinomial.pmf(counts, n, [missed, false_positives, 1.0 - missed - false_positives])
            assert_probability_within(float(chances[failed].sum()), 0.1)


def failures(world: World, n: int, repetitions: int, a: float, b: float, shrink: float = 1.0):
    """Whether the cost and whether the error is outside its limits, in each of some samples."""
    cost, off = true_cost(world, a, b), true_cost(world, a, b) - true_forecast(world, a, b)
    rounding = 1e-12 * (a + b)
    for table in world.samples(n, repetitions, np.random.default_rng([n, len(world.mass)])):
        found, outside = found_in(table, a, b), []
        for truth, part in ((cost, "cost"), (off, "error")):
            ends = (getattr(found, name) for name in (f"{part}_lower", part, f"{part}_upper"))
            lower, upper = shrunk(*ends, shrink)
            outside.append(not lower - rounding <= truth <= upper + rounding)
        yield outside


@pytest.mark.parametrize("n", [3, 30, 1000])
@pytest.mark.parametrize("name", ALL)
def test_true_cost_and_error_are_seldom_outside(name, n):
    for a, b in ((1.0, 1.0), (1.0, 20.0)):
        assert_seldom(failures(ALL[name], n, 100, a, b), 100, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("n", [3, 30, 300, 10_000])
@pytest.mark.parametrize("name", ALL)
def test_true_cost_and_error_are_seldom_outside_in_many_samples(name, n):
    for a, b in ((1.0, 1.0), (1.0, 20.0), (9.0, 1.0)):
        assert_seldom(failures(ALL[name], n, 500, a, b), 500, 0.05)


# Exact limits cannot be made narrower; those of the forecast are half as wide again as 1.96 standard errors.
@pytest.mark.parametrize(("part", "shrink"), [("cost", 0.85), ("error", 0.55)])
def test_shrunk_limits_are_caught(part, shrink):
    with pytest.raises(AssertionError, match="failure probability"):
        assert_probability_within(worst_at_one_score(part, 0.5, 200, 1.0, 1.0, 0.05, shrink), 0.05)
    index = ("cost", "error").index(part)
    outside = (both[index] for both in failures(WORLDS["one atom"], 1000, 300, 1.0, 1.0, shrink - 0.15))
    with pytest.raises(AssertionError, match="failures in"):
        assert_seldom(outside, 300, 0.05)


def test_limits_say_something():
    """Against 1.96 standard errors, which no valid interval can be much narrower than.

    Equal prices: the exact limits of one share. Unequal ones: two shares at half of delta, whose standard deviations
    add up. Forecast: sqrt(2 log(80)) / 1.96 = 1.51 in the limit, the half weight of the first rate included, times
    what its rate loses where its guess of 1/4 is not the mean square of 1/6.
    """
    n = 10_000
    table = next(WORLDS["calibrated"].samples(n, 1, np.random.default_rng(0)))
    for (a, b), most in (((1.0, 1.0), 1.02), ((1.0, 4.0), 1.6)):
        found = found_in(table, a, b)
        acted = table.score >= a / (a + b)
        k, rest = table.k, table.n - table.k
        variance = float((np.where(acted, a**2 * rest, b**2 * k)).sum()) / n - found.cost**2
        assert found.cost_upper - found.cost_lower < most * 2 * 1.96 * np.sqrt(variance / n)
    found = found_in(table, 1.0, 1.0)
    half = (found.error_upper - found.error_lower) / 2
    assert half < 1.6 * 1.96 * np.sqrt(1 / 6 / n)
    assert half < 0.65 * 1.5 * np.sqrt(np.log(40.0) / (2 * n))  # Hoeffding's, for terms between -1/2 and 1


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("n", [1, 2, 3, 10, 50, 200, 500])
def test_normal_intervals_hold_at_every_rate(n, level):
    """Not proved, like the term for rare events of `certify`: exact sums over all rates of one mistake."""
    share = np.arange(n + 1) / n
    half = normal_half_width(share * (1 - share), 1.0, n, level)
    assert_probability_within(worst_two_sided(share - half, share + half, 0.0, 1.0), 1.0 - level)


@pytest.mark.slow
def test_normal_intervals_hold_at_every_rate_in_large_samples():
    n = 1500
    share = np.arange(n + 1) / n
    half = normal_half_width(share * (1 - share), 1.0, n, 0.95)
    assert_probability_within(worst_two_sided(share - half, share + half, 0.0, 1.0), 0.05)


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("n", [1, 3, 10, 50])
def test_intervals_of_curves_hold_at_every_rate_at_one_score(n, level):
    k = np.arange(n + 1)
    tables = [ScoreTable.from_counts([0.5], [n], [i]) for i in k]
    for p in (0.02, 0.4, 0.6, 0.98):
        curves = [cost_curve(table, at=[p], confidence_level=level) for table in tables]
        ends = (np.array([getattr(c, f"cost_before_{end}")[0] for c in curves]) for end in ("lower", "upper"))
        truths = (p, 0.0) if p <= 0.5 else (0.0, 1.0 - p)
        assert_probability_within(worst_two_sided(*ends, *truths), 1.0 - level)
    curves = [net_benefit(table, at=[0.4], confidence_level=level) for table in tables]
    ends = (np.array([getattr(c, end)[0] for c in curves]) for end in ("lower", "upper"))
    assert_probability_within(worst_two_sided(*ends, -0.4 / 0.6, 1.0), 1.0 - level)


def test_normal_intervals_without_their_rare_event_term_are_caught():
    """A rate of 1 / n: no positive in .37 of the samples, which gives an interval of one point."""
    n = 200
    share = np.arange(n + 1) / n
    half = normal_half_width(share * (1 - share), 0.0, n, 0.95)
    missed = np.abs(share - 1 / n) > half
    assert float(binom.pmf(np.arange(n + 1), n, 1 / n)[missed].sum()) == pytest.approx(0.37, abs=0.01)
    with pytest.raises(AssertionError, match="failure probability"):
        assert_probability_within(worst_two_sided(share - half, share + half, 0.0, 1.0), 0.05)
