"""Worst cases found by a search: no claim fails with more than delta, at default arguments and the default seed."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import partial
from typing import get_args

import numpy as np
import pytest
from scipy.stats import beta

from calibrant import ScoreTable
from calibrant.calibrators import IsotonicCalibrator
from calibrant.certificates import (
    calibration_test,
    certify,
    certify_recalibrated,
    isotonic_band,
)
from calibrant.decisions import expected_cost, max_regret
from calibrant.fits.score_map import fit_part
from calibrant.metrics import cutoff_calibration
from support.counting import assert_probability_within, assert_seldom
from support.search import BEYOND, Claim, crowded, lower, upper, worst_failure
from support.worlds import World, rows_of, true_cost, true_forecast, true_largest_regret

DELTA = 0.05
SHARES = (0.5, 0.2, 0.01)  # false positive cost, where both costs add up to 1


def methods_of(function) -> tuple[str, ...]:
    """Methods that a function offers, from its annotation."""
    return get_args(inspect.signature(function, eval_str=True).parameters["method"].annotation)


def error(world: World) -> float:
    return world.error


def error_of_fitted(world: World, samples):
    """Calibration error of nondecreasing maps, by sample; scores that a map joins are one."""
    walk = np.cumsum(world.mass * (world.eta - samples.fitted), axis=1)
    joined = np.diff(samples.fitted, axis=1, append=2.0) == 0.0
    walk = np.where(joined, 0.0, walk)
    return np.maximum(walk.max(axis=1), 0.0) - np.minimum(walk.min(axis=1), 0.0)


def isotonic(table: ScoreTable, score):
    return fit_part(IsotonicCalibrator(log_safe=False), table).predict(score)


def recalibrated_limits(table: ScoreTable, **keywords):
    y, score = rows_of(table)
    return -np.inf, certify_recalibrated(y, score, isotonic(table, score), **keywords).bound


def both(result, low: str, high: str):
    return getattr(result, low), getattr(result, high)


def priced(function, share: float, **keywords):
    return partial(function, false_positive_cost=share, false_negative_cost=1.0 - share, **keywords)


CLAIMS = {
    "certify, lower": lower(lambda table: certify(table).lower_bound, error),
    "certify, both bounds": Claim(
        lambda table: both(certify(table, confidence_level=0.975), "lower_bound", "bound"), lambda world, _: world.error
    ),
    "isotonic_band": Claim(
        lambda table: both(isotonic_band(table), "lower", "upper"),
        lambda world, _: world.eta,
        rates="nondecreasing",
        given_rows=True,
    ),
    "max_regret": upper(lambda table: max_regret(table).bound, true_largest_regret),
    "calibration_test": Claim(
        lambda table: (-np.inf, calibration_test(table).p_value),
        lambda world, _: DELTA + 2.0 * BEYOND,  # a p-value of exactly .05 rejects
        rates="calibrated",
        given_rows=True,
    ),
    "cutoff_calibration": Claim(
        lambda table: (-np.inf, cutoff_calibration(table).null_q95 - cutoff_calibration(table).value),
        lambda world, _: 0.0,
        rates="calibrated",
        given_rows=True,
    ),
}
for method in methods_of(certify):
    CLAIMS[f"certify, {method}"] = upper(lambda table, method=method: certify(table, method=method).bound, error)
for method in methods_of(certify_recalibrated):
    limits = partial(recalibrated_limits, method=method)
    CLAIMS[f"certify_recalibrated, {method}"] = Claim(limits, error_of_fitted, fit=isotonic)
for share in SHARES:
    for method in methods_of(expected_cost):
        asked = priced(expected_cost, share, method=method)
        CLAIMS[f"expected_cost, {method}, {share}"] = upper(
            lambda table, asked=asked: asked(table).saving_bound, lambda world, share=share: world.saving(share)
        )
    asked = priced(expected_cost, share)
    CLAIMS[f"expected_cost, {share}"] = Claim(
        lambda table, asked=asked: both(asked(table), "cost_lower", "cost_upper"),
        lambda world, _, share=share: true_cost(world, share, 1.0 - share),
    )
    elsewhere = priced(expected_cost, share, threshold=0.5)
    CLAIMS[f"expected_cost, from 0.5, {share}"] = upper(
        lambda table, asked=elsewhere: asked(table).saving_bound,
        lambda world, share=share: world.saving(share, 0.5),
    )
    CLAIMS[f"expected_cost, error, {share}"] = Claim(
        lambda table, asked=asked: both(asked(table), "forecast_error_lower", "forecast_error_upper"),
        lambda world, _, share=share: true_cost(world, share, 1.0 - share) - true_forecast(world, share, 1.0 - share),
    )


def searched(name: str, scores: int, n: int, tries: int) -> float:
    """Worst failure probability found; where the rows are given, three times as many samples are no more."""
    claim = CLAIMS[name]
    return worst_failure(claim, scores=scores, n=3 * n if claim.given_rows else n, tries=tries).probability


@pytest.mark.parametrize("name", CLAIMS)
def test_no_population_found_in_which_a_claim_fails_too_often(name):
    for scores, n, tries in ((1, 30, 3), (2, 4, 2)):
        assert_probability_within(searched(name, scores, n, tries), DELTA)


@pytest.mark.slow
@pytest.mark.parametrize(("scores", "n", "tries"), [(1, 10, 8), (1, 300, 6), (2, 9, 6), (3, 5, 5), (4, 3, 5)])
@pytest.mark.parametrize("name", CLAIMS)
def test_no_population_found_in_a_longer_search(name, scores, n, tries):
    assert_probability_within(searched(name, scores, n, tries), DELTA)


def rejected(score, n, repetitions: int, rng) -> Iterator[bool]:
    """Whether calibrated scores are rejected, in each of some samples."""
    tables = (ScoreTable.from_counts(score, n, rng.binomial(n, score)) for _ in range(repetitions))
    return (calibration_test(table).p_value <= DELTA for table in tables)


def worst_scores(designs: int, repetitions: int, rng):
    """Scores, and rows at each, that are rejected most often of some that are drawn.

    Half of them are given up after a fifth of the samples, and half of the others after half of them.
    """
    drawn = []
    for i in range(designs):
        score = np.unique(crowded(rng.random(24 + 12 * (i % 3))))
        drawn.append((0, i, score, 1 + rng.multinomial(80, np.full(len(score), 1.0 / len(score)))))
    for share in (0.2, 0.3, 0.5):
        counted = [
            (count + sum(rejected(score, n, round(share * repetitions), rng)), i, score, n)
            for count, i, score, n in drawn
        ]
        drawn = sorted(counted)[len(counted) // 2 :]
    return drawn[-1][2:]


@pytest.mark.slow
@pytest.mark.parametrize(("designs", "repetitions"), [(8, 50), (12, 250)])
def test_no_scores_found_that_are_rejected_too_often(designs, repetitions):
    """What is worst in some samples is counted again in fresh ones: of many scores, outcomes are too many to sum up.

    Scores that are rejected 7.5% of the time fail with probability .83 in the longer search.
    """
    rng = np.random.default_rng(0)
    score, n = worst_scores(designs, repetitions, rng)
    assert_seldom(rejected(score, n, 8 * repetitions, rng), 8 * repetitions, DELTA)


def exact_upper(table: ScoreTable, factor: float = 1.0) -> float:
    """Limit of Clopper and Pearson for the rate, which fails with delta at some rates; its distance may be shrunk."""
    n, k = int(table.total), int(table.positives)
    limit = beta.ppf(1.0 - DELTA, k + 1, n - k) if k < n else 1.0
    return k / n + factor * (limit - k / n)


def rate_of(world: World) -> float:
    return float(world.mass @ world.eta)


def test_the_search_finds_where_a_sharp_limit_fails():
    for scores, n in ((1, 30), (2, 5), (3, 3)):
        found = worst_failure(upper(exact_upper, rate_of), scores=scores, n=n, tries=1).probability
        assert 0.99 * DELTA < found <= DELTA
        shrunk = upper(partial(exact_upper, factor=0.97), rate_of)
        with pytest.raises(AssertionError, match="failure probability"):
            assert_probability_within(worst_failure(shrunk, scores=scores, n=n, tries=1).probability, DELTA)


def test_the_search_finds_what_3_percent_of_the_normal_bound_keep():
    def narrow(table: ScoreTable) -> float:
        found = certify(table, method="asymptotic")
        return found.bound - 0.03 * found.width

    with pytest.raises(AssertionError, match="failure probability"):
        assert_probability_within(worst_failure(upper(narrow, error), scores=1, n=300, tries=1).probability, DELTA)


@pytest.mark.slow
def test_the_search_finds_bounds_that_are_no_bounds():
    """The values of the sample, each of which is below the truth half of the time."""
    claims = [
        upper(lambda table: max_regret(table).value, true_largest_regret),
        upper(lambda table: priced(expected_cost, 0.5)(table).saving, lambda world: world.saving(0.5)),
        Claim(
            lambda table: both(isotonic_band(table), "rate", "rate"),
            lambda world, _: world.eta,
            rates="nondecreasing",
            given_rows=True,
        ),
        Claim(lambda table: (-np.inf, 0.0), error_of_fitted, fit=isotonic),
    ]
    for claim in claims:
        for scores, n in ((1, 20), (2, 4)):
            assert worst_failure(claim, scores=scores, n=n, tries=2).probability > 0.3
