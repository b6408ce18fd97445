"""The expectation of the evidence behind the finite-sample bounds is at most 1 in every world, exactly and sharply.

`certify` with clusters (Theorem 3.3), its default bound for few rows (Theorem 1.2) and its bound for all moments reject
a true error where their evidence exceeds 1 / delta. By Markov's inequality that happens with a probability of at most
delta, because the expectation of the evidence is at most 1 (Lemma 3.2). Markov's inequality leaves so much slack that
no count of failures would notice a charge for squares, psi, that is a few percent too small. The expectation does.

The expectation is computed, not simulated: rows, or clusters, are independent and alike, so it is a sum over the
exponentials of the mixture of powers of the expectation of one factor, which the code itself computes from the
residuals of one row or one cluster. Residuals take three values. Which ones, how often, and in clusters of which sizes
is searched for, at random and then around the worst found. That is no proof for all distributions; Lemma 3.1 is, and
its test (tests/unit/distributions/test_empirical_bernstein.py) shows that it is sharp.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binom

from calibrant.certificates.widths import anytime
from calibrant.distributions import cluster_bound, mean_limits
from calibrant.distributions.cluster_bound import _PARTS, ClusterSums, _Search, largest_ratio
from calibrant.distributions.mean_limits import psi

SMALLER = 0.97  # of psi: enough to break every bound
ROUNDING = 1e-9
CAP = 4.0
DRAWN, IMPROVED, ROUNDS = 2_000, 20, 25


def mean_evidence_of_rows(size, mass, residual, *, n: int, delta: float):
    """Expectation of the evidence of Theorem 1.2 in each world, for n rows; `size` does not count."""
    height, rate = mean_limits.exponentials(n, residual**2, delta)
    weight = np.array(mean_limits.MIXTURE)[:, 1]
    short = (mass * residual).sum(axis=-1, keepdims=True) - residual
    factor = (mass * np.exp(height + rate * short) / weight.reshape(-1, 1, 1)).sum(axis=-1)
    return weight @ factor**n


def mean_evidence_of_moments(size, mass, residual, *, n: int, delta: float):
    """The same for the bound that holds at every moment, after n rows; its rates do not depend on delta."""
    rate, charge, weight = (
        np.array(values) for values in (anytime._RATES, anytime._CHARGES, np.exp(anytime._LOG_WEIGHTS))
    )
    short = (mass * residual).sum(axis=-1, keepdims=True) - residual
    log = rate.reshape(-1, 1, 1) * short - charge.reshape(-1, 1, 1) * residual**2
    return weight @ (mass * np.exp(log)).sum(axis=-1) ** n


def mean_evidence_of_clusters(size, mass, residual, *, n: int, delta: float):
    """Expectation of the evidence of Theorem 3.3 at the true error, for n clusters that count up to four rows."""
    total = size * residual
    error = (mass * total).sum(axis=-1, keepdims=True) / (mass * size).sum(axis=-1, keepdims=True)
    low = (np.ceil((error + 1.0) * 64.0) - 1.0) / 64.0 - 1.0  # of the 128 cells of [-1, 1]
    search = _Search(size, size**2, n, CAP, -1.0, 1.0, -math.log(delta))
    sums = ClusterSums(total, total**2, total * size, np.zeros_like(total))
    expectation = 0.0
    for guess, weight in _PARTS:
        log = search._log(sums, error, error, 1.0 - low, guess, weight)
        expectation = expectation + weight * (mass * np.exp(log) / weight).sum(axis=-1) ** n
    return expectation


EVIDENCE = {
    "rows": mean_evidence_of_rows,
    "moments": mean_evidence_of_moments,
    "clusters": mean_evidence_of_clusters,
}


def largest(evidence: Callable, *, n: int, delta: float) -> float:
    """Largest expectation found: over worlds drawn, then, round by round, over worlds close to the worst so far."""
    rng = np.random.default_rng(0)
    shape = (DRAWN, 3)
    mass = 10.0 ** rng.uniform(-6.0, 0.0, shape)
    inner = rng.uniform(-1.0, 1.0, shape) * 10.0 ** rng.uniform(-4.0, 0.0, shape)
    residual = np.where(rng.random(shape) < 0.2, rng.choice([-1.0, 1.0], shape), inner)
    size = rng.choice([1.0, 2.0, CAP], shape)
    found = -math.inf
    for width in np.geomspace(0.5, 0.005, ROUNDS):
        mass /= mass.sum(axis=1, keepdims=True)
        value = evidence(size, mass, residual, n=n, delta=delta)
        worst = np.argsort(value)[-IMPROVED:]
        found = max(found, float(value[worst[-1]]))
        parent = np.append(worst, rng.choice(worst, DRAWN - IMPROVED))
        step = width * (np.arange(DRAWN) >= IMPROVED)[:, None]  # the worst stay as they are
        size, mass = size[parent], mass[parent] * np.exp(step * rng.standard_normal(shape))
        move = step * rng.choice([0.0, 0.01, 0.1], (DRAWN, 1)) * rng.standard_normal(shape)
        residual = np.clip(residual[parent] + move, -1.0, 1.0)
    return found


CASES = [(n, delta) for n in (40, 900) for delta in (0.05, 0.005)]


@pytest.mark.parametrize(("n", "delta"), CASES)
def test_evidence_has_an_expectation_of_at_most_1(n, delta):
    for evidence in EVIDENCE.values():
        assert largest(evidence, n=n, delta=delta) <= 1.0 + ROUNDING


@pytest.mark.parametrize(("n", "delta"), CASES)
def test_a_psi_3_percent_smaller_is_caught(monkeypatch, n, delta):
    for module in (mean_limits, cluster_bound):
        monkeypatch.setattr(module, "psi", lambda rate: SMALLER * psi(rate))
    monkeypatch.setattr(anytime, "_CHARGES", tuple(SMALLER * charge for charge in anytime._CHARGES))
    for evidence in EVIDENCE.values():
        assert largest(evidence, n=n, delta=delta) > 1.0 + 1e-6 * n


@pytest.mark.parametrize(("n", "p"), [(40, 1 / 64), (40, 0.25), (200, 1 / 32), (200, 1 / 3)])
def test_the_expectation_is_that_of_whole_samples_and_bounds_the_failures_of_the_limit(n, p):
    """Clusters of four rows, wrong in all or in none, by the evidence of every sample instead of a power."""
    delta, positive = 0.05, np.arange(n + 1)
    chance, size = binom.pmf(positive, n, p), np.full(n, CAP)
    low = (math.ceil((p + 1.0) * 64.0) - 1.0) / 64.0 - 1.0
    common = {"rows": CAP * n, "squared_sizes": CAP**2 * n, "clusters": n, "cap": CAP}
    search = _Search(**common, least=-1.0, most=1.0, log_inverse=-math.log(delta))
    samples = [ClusterSums.of(CAP * (np.arange(n) < k), size) for k in positive]
    evidence = np.array(
        [sum(np.exp(search._log(sums, p, p, 1.0 - low, *part)[0]) for part in _PARTS) for sums in samples]
    )
    world = np.full((1, 2), CAP), np.array([[p, 1.0 - p]]), np.array([[1.0, 0.0]])
    assert chance @ evidence == pytest.approx(mean_evidence_of_clusters(*world, n=n, delta=delta)[0], rel=1e-9)
    limit = np.array([largest_ratio(sums, **common, delta=delta) for sums in samples])
    failures = chance[limit < p].sum()
    assert failures <= chance[evidence > 1.0 / delta].sum() <= delta * (chance @ evidence) <= delta * (1.0 + ROUNDING)
