"""Right means are seldom rejected, of counts, amounts and shares; and what is left out is shown to be needed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from calibrant import OutcomeTable
from calibrant.certificates import calibration_test
from calibrant.certificates.mean_test import _tail_factor
from calibrant.distributions.total_ratio import range_p_value
from calibrant.errors import ArgumentError
from support.counting import assert_failures_within, assert_seldom

RNG = np.random.default_rng
# Amounts of mean 1 with ever heavier tails.
AMOUNTS = {
    "exponential": lambda m, rng: rng.exponential(size=m),
    "lognormal 1.5": lambda m, rng: np.exp(1.5 * rng.standard_normal(m) - 1.125),
    "Pareto 2.1": lambda m, rng: (rng.pareto(2.1, m) + 1.0) * 1.1 / 2.1,
    "Pareto 1.5": lambda m, rng: (rng.pareto(1.5, m) + 1.0) / 3.0,
}
SLACK = 1.6  # of an asymptotic test


def rates(n: int, rng: np.random.Generator):
    """Claims per year, and years."""
    return np.minimum(0.1 * np.exp(0.6 * rng.standard_normal(n) - 0.18), 1.0), rng.uniform(0.05, 1.0, n)


def amounts(name: str, n: int, rng: np.random.Generator) -> OutcomeTable:
    f, w = rates(n, rng)
    claims = rng.poisson(w * f)
    total = np.bincount(np.repeat(np.arange(n), claims), AMOUNTS[name](claims.sum(), rng), n)
    return OutcomeTable.from_outcomes(total, f, exposure=w)


def counts(dispersion: float, n: int, rng: np.random.Generator) -> OutcomeTable:
    f, w = rates(n, rng)
    mean = w * f if dispersion == 1.0 else rng.gamma(w * f / (dispersion - 1.0), dispersion - 1.0)
    return OutcomeTable.from_outcomes(rng.poisson(mean), f, exposure=w)


def shares(n: int, rng: np.random.Generator) -> OutcomeTable:
    f = 0.05 + 0.9 * rng.beta(2.0, 2.0, n)
    return OutcomeTable.from_outcomes(rng.beta(0.8 * f, 0.8 * (1.0 - f)), f, limits=(0, 1))


def rejected(draw, repetitions: int, level: float, seed: int, p_value=None, **keywords) -> Iterator[bool]:
    rng = RNG(seed)
    for _ in range(repetitions):
        table = draw(rng)
        try:
            p = (p_value or (lambda t: calibration_test(t, **keywords, kind="amount").p_value))(table)
        except ArgumentError:  # too few claims: nothing is said
            p = 1.0
        yield p <= level


def unmended(table: OutcomeTable) -> float:
    """The p-value without what is taken off for outcomes that were not seen."""
    return range_p_value(table.rows.residual, table.rows.ends)


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.05, 0.01])
@pytest.mark.parametrize("name", AMOUNTS)
def test_right_amounts_are_seldom_rejected(name, level):
    assert_seldom(rejected(lambda rng: amounts(name, 1000, rng), 400, level, 1), 400, SLACK * level)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Pareto 1.5"])
def test_without_what_was_not_seen_they_are_rejected(name):
    with pytest.raises(AssertionError, match="failures in"):
        assert_seldom(rejected(lambda rng: amounts(name, 1000, rng), 400, 0.05, 2, unmended), 400, SLACK * 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("draw", [shares, lambda n, rng: counts(1.0, n, rng), lambda n, rng: counts(2.0, n, rng)])
def test_right_shares_and_counts_are_seldom_rejected(draw):
    """Whether the counts vary as Poisson counts do or more."""
    tests = rejected(lambda rng: draw(2000, rng), 1000, 0.05, 3, lambda t: range_p_value(t.rows.residual, t.rows.ends))
    assert_seldom(tests, 1000, SLACK * 0.05)
    assert _tail_factor(shares(2000, RNG(0))) == 0


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 300])
def test_named_distributions_have_their_level(n):
    def p_value(table):
        return calibration_test(table, distribution="poisson", n_simulations=19, kind="amount").distribution_p_value

    assert_seldom(rejected(lambda rng: counts(1.0, n, rng), 1000, 0.05, 4, p_value), 1000, 0.05)
    over = rejected(lambda rng: counts(3.0, n, rng), 300, 0.05, 5, p_value)
    assert n == 20 or np.mean(list(over)) > 0.15  # Poisson is rejected, though the means are right


@pytest.mark.slow
def test_wrong_means_are_rejected():
    def draw(rng):
        table = counts(1.0, 4000, rng)
        rows = table.rows
        return OutcomeTable.from_outcomes(rows.outcome, rows.prediction / 1.4, exposure=rows.weight)

    assert np.mean(list(rejected(draw, 60, 0.05, 6, distribution="poisson", n_simulations=19))) > 0.9


def looked_at(rng, *, turned=False, amounts=False):
    """Right predictions of .1 of some 500 rows that weigh little, and of ten that weigh a hundred times as much."""
    many, few = rng.poisson(500), rng.poisson(10)
    chance, score = np.repeat([0.5, 0.005], [many, few]), np.full(many + few, 0.1)
    outcome = (rng.random(many + few) < score).astype(float)
    if turned:
        outcome, score = 1.0 - outcome, 1.0 - score
    if amounts:
        outcome, score = outcome * rng.gamma(2.0, 1.5, many + few), 3.0 * score
    return outcome, score, chance


@pytest.mark.slow
@pytest.mark.parametrize("how", [{}, {"turned": True}, {"amounts": True}], ids=["labels", "turned", "amounts"])
def test_right_predictions_of_few_rows_that_weigh_much_are_seldom_rejected(how):
    """In a third of samples none of the ten has an event; by the range alone a fifth and more would be rejected."""
    rng, samples, small, unmended_small = RNG(8), 300, 0, 0
    asked = {"kind": "amount"} if how.get("amounts") else {}
    for _ in range(samples):
        outcome, score, chance = looked_at(rng, **how)
        small += calibration_test(outcome, score, chance=chance, **asked).p_value <= 0.05
        order = np.argsort(score, kind="stable")
        ends = np.flatnonzero(np.append(np.diff(score[order]) != 0.0, True))
        unmended_small += range_p_value(((outcome - score) / chance)[order], ends) <= 0.05
    assert_failures_within(small, samples, SLACK * 0.05)
    assert unmended_small > 0.15 * samples


@pytest.mark.slow
def test_wrong_predictions_of_rows_that_weigh_differently_are_rejected():
    """Chances of events .7 and 1.3 times what is predicted, of 1,000 rows looked at with chances from .25 to 1."""
    rng, samples = RNG(9), 60
    for factor in (0.7, 1.3):
        rejected_at = 0
        for _ in range(samples):
            kind = rng.integers(3, size=1000)
            score = np.array([0.1, 0.2, 0.3])[kind] * rng.uniform(0.7, 1.3, 1000)
            label = rng.random(1000) < factor * score
            rejected_at += calibration_test(label, score, chance=np.array([0.25, 0.5, 1.0])[kind]).p_value <= 0.05
        assert rejected_at > 0.8 * samples
