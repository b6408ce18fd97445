"""Scores recalibrated on the rows that certify them: the bound still holds, for every monotone map."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from calibrant import ScoreTable
from calibrant.auditing import cross_fitted
from calibrant.calibrators import AutoCalibrator, IsotonicCalibrator
from calibrant.certificates import certify_recalibrated
from calibrant.distributions.brownian import range_quantile
from calibrant.fits.score_map import fit_part
from calibrant.metrics import brier_score
from calibrant.table.clusters import cluster_rows
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes
from support.counting import assert_failures_within, assert_seldom
from support.worlds import WORLDS, World, at, spread


def isotonic(table: ScoreTable, score):
    return fit_part(IsotonicCalibrator(log_safe=False), table).predict(score)


def overfitted(table: ScoreTable, score):
    """A map chosen to look good: isotonic, then stretched towards 0 and 1."""
    value = isotonic(table, score)
    return np.clip(0.5 + 1.2 * (value - 0.5), 0.0, 1.0)


def reversed_line(table: ScoreTable, score):
    """A decreasing map that hits the mean of the sample."""
    return np.clip(table.base_rate + 0.2 * (table.mean_score - score), 0.0, 1.0)


MAPS = {"isotonic": isotonic, "stretched": overfitted, "decreasing": reversed_line}


def certificate_and_truth(world: World, table: ScoreTable, fit, method: str):
    y = np.concatenate([np.repeat([1, 0], [k, n - k]) for n, k in zip(table.n, table.k, strict=True)])
    score = np.repeat(table.score, table.n)
    found = certify_recalibrated(y, score, fit(table, score), method=method)
    population = ScoreTable.from_counts(fit(table, world.score), world.mass, world.mass * world.eta)
    return found, extremes(cumulative_residuals(population)).value


@pytest.mark.parametrize("method", ["finite", "asymptotic"])
@pytest.mark.parametrize("fit", MAPS)
@pytest.mark.parametrize("n", [30, 300, 3000])
@pytest.mark.parametrize("name", ["calibrated", "overconfident", "rare, twice as many", "opposite", "ten grades"])
def test_true_error_is_seldom_above_the_bound(name, n, fit, method):
    world = WORLDS[name]
    tables = world.samples(n, 100, np.random.default_rng([n, *name.encode()]))
    found = (certificate_and_truth(world, table, MAPS[fit], method) for table in tables)
    assert_seldom((certificate.bound < truth - 1e-12 for certificate, truth in found), 100, 0.05)


def pieces(mass, eta) -> World:
    """Continuous pieces, here of 100 scores each."""
    return at(np.repeat(mass, 100) / 100, np.arange(1, 301) / 302, np.repeat(eta, 100))


HARD = {
    "three pieces": (pieces([0.28, 0.31, 0.41], [0.52, 0.996, 1.0]), 30),
    "nearly none": (pieces([0.98, 0.011, 0.009], [0.0, 0.5, 1.0]), 1000),
    "no information": (spread(lambda s: np.full_like(s, 0.5)), 200),
    "nearly all": (spread(lambda s: np.full_like(s, 1.0 - 1e-4)), 100),
}


@pytest.mark.parametrize("method", ["finite", "asymptotic"])
@pytest.mark.parametrize("name", HARD)
def test_hard_cases_found_by_search(name, method):
    """Worst cases found by search."""
    world, n = HARD[name]
    tables = world.samples(n, 300, np.random.default_rng(7))
    found = (certificate_and_truth(world, table, isotonic, method) for table in tables)
    assert_seldom((certificate.bound < truth - 1e-12 for certificate, truth in found), 300, 0.05)


def test_without_its_small_terms_the_asymptotic_bound_fails():
    """P(Y = 1) = 1 - 1e-4 everywhere, n = 100, coverage .01."""
    world, n = HARD["nearly all"]
    missed = 0
    for table in world.samples(n, 200, np.random.default_rng(7)):
        found, truth = certificate_and_truth(world, table, isotonic, "asymptotic")
        fitted = ScoreTable.from_counts(isotonic(table, table.score), table.n, table.k)
        missed += found.estimate + range_quantile(0.95) * np.sqrt(brier_score(fitted) / n) < truth
    with pytest.raises(AssertionError, match="failures"):
        assert_failures_within(missed, 200, 0.05)


def test_bound_is_of_use():
    """Isotonic calibration, error 0 on the sample, hence 2.88 / sqrt(n); and at most 1.25 / sqrt(n)."""
    table = next(WORLDS["overconfident"].samples(10_000, 1, np.random.default_rng(0)))
    finite, _ = certificate_and_truth(WORLDS["overconfident"], table, isotonic, "finite")
    asymptotic, _ = certificate_and_truth(WORLDS["overconfident"], table, isotonic, "asymptotic")
    assert finite.bound == pytest.approx(0.0288, abs=1e-9)
    assert asymptotic.bound < 0.0126


# --- the cases at hand (Theorem 8.2): scores are given, outcomes are drawn ------------------------------------------


def missed_cases(eta, fit, repetitions: int, shrink: float = 1.0):
    """Whether the bound, with its width times `shrink`, is below the error against the true probabilities."""
    rng, score = np.random.default_rng([len(eta), 1]), (np.arange(len(eta)) + 0.5) / len(eta)
    for _ in range(repetitions):
        y = rng.random(len(eta)) < eta
        after = fit(ScoreTable.from_scores(y, score), score)
        found = certify_recalibrated(y, score, after, about="cases")
        truth = extremes(cumulative_residuals(ScoreTable.from_counts(after, np.ones(len(eta)), eta))).value
        yield found.estimate + shrink * found.width < truth - 1e-12


CASES = {
    "no information": lambda s: np.full_like(s, 0.5),
    "calibrated": lambda s: s,
    "steps": lambda s: np.where(s < 0.5, 0.1, 0.6),
    "rare": lambda s: 0.02 * s,
    "falling": lambda s: 1.0 - s,
}


@pytest.mark.parametrize("fit", MAPS)
@pytest.mark.parametrize("n", [30, 400])
@pytest.mark.parametrize("name", CASES)
def test_error_of_these_cases_is_seldom_above_the_bound(name, n, fit):
    eta = CASES[name]((np.arange(n) + 0.5) / n)
    assert_seldom(missed_cases(eta, MAPS[fit], 100), 100, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_error_of_these_cases_is_seldom_above_the_bound_in_many_samples(name):
    eta = CASES[name]((np.arange(2000) + 0.5) / 2000)
    assert_seldom(missed_cases(eta, isotonic, 3000), 3000, 0.05)


def test_a_narrower_bound_for_these_cases_would_be_caught():
    """The band covers the largest of all intervals; isotonic errors come close to it where there is no information."""
    with pytest.raises(AssertionError, match="failures"):
        assert_seldom(missed_cases(np.full(400, 0.5), isotonic, 200, shrink=0.6), 200, 0.05)


def test_bound_for_these_cases_is_of_use():
    """1.29 / sqrt(n) where outcomes are balanced, in place of 2.88 / sqrt(n) for the population."""
    rng, score = np.random.default_rng(1), (np.arange(10_000) + 0.5) / 10_000
    y = rng.random(10_000) < 0.5
    after = isotonic(ScoreTable.from_scores(y, score), score)
    assert certify_recalibrated(y, score, after, about="cases").width < 0.0131


def test_what_rests_on_simulated_constants_says_so():
    rng = np.random.default_rng(0)
    score = rng.random(200)
    y = rng.random(200) < score
    finite, cases = (certify_recalibrated(y, score, score, about=about) for about in ("population", "cases"))
    assert "by simulation, not proved" in finite.claim
    assert any("not proved" in one for one in finite.assumptions)
    assert "not proved" not in cases.claim + "".join(cases.assumptions)


# --- rows of clusters -------------------------------------------------------------------------------------------------


def grouped(name, rng):
    """Calibrated scores: of 60 topics whose rows share one random number, or of 50 patients with a random effect."""
    if name == "patients":
        score, patient = rng.uniform(0.0, 0.3, 2000), np.repeat(np.arange(50), 40)
        latent = np.sqrt(0.1) * rng.normal(size=50)[patient] + np.sqrt(0.9) * rng.normal(size=2000)
        return score, (norm.cdf(latent) < score).astype(int), patient
    score = rng.uniform(0.2, 0.8, 2400) if name == "topics" else rng.uniform(0.2, 0.8, 60).repeat(40)
    topic = np.repeat(np.arange(60), 40)
    return score, (rng.random(60)[topic] < score).astype(int), topic


def missed_clusters(name, repetitions, units, calibrator=IsotonicCalibrator):
    """Whether bounds are below the true error of the map of all rows; scores are uniform and calibrated."""
    at = np.linspace(0.0, 0.3, 3001) if name == "patients" else np.linspace(0.2, 0.8, 3001)
    for seed in range(repetitions):
        score, y, cluster = grouped(name, np.random.default_rng([seed, *name.encode()]))
        rows = cluster_rows(y, score, cluster)
        fitted = fit_part(calibrator(), units(rows))
        truth = extremes(cumulative_residuals(ScoreTable.from_counts(fitted.predict(at), np.ones(3001), at))).value
        yield cross_fitted(units(rows), calibrator, whole=fitted).bound_after < truth


@pytest.mark.slow
@pytest.mark.parametrize("calibrator", [AutoCalibrator, IsotonicCalibrator])
@pytest.mark.parametrize("name", ["topics", "topics of one score", "patients"])
def test_bound_for_clusters_in_many_samples(name, calibrator):
    assert_seldom(missed_clusters(name, 200, lambda rows: rows, calibrator), 200, 0.05)


@pytest.mark.slow
def test_a_repair_that_ignores_clusters_is_caught():
    """Maps fitted and judged by rows, as they were: the bound missed in more than a fifth of samples."""
    with pytest.raises(AssertionError, match="failures"):
        assert_seldom(missed_clusters("topics of one score", 200, lambda rows: rows.table, AutoCalibrator), 200, 0.05)
