"""Limits for a mean that never falls are seldom wrong anywhere, of outcomes in known limits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from calibrant import OutcomeTable
from calibrant.certificates import bands, isotonic_mean_band
from support.counting import assert_seldom

LOW, HIGH = -1.0, 3.0


def coin(m, rng):
    """Outcomes at the limits alone: the largest variance that a mean allows."""
    return rng.random(len(m)) < m


def skewed(m, rng):
    """Mostly a little below the mean, and seldom at the upper limit."""
    below = 0.9 * m
    return np.where(rng.random(len(m)) < (m - below) / (1.0 - below), 1.0, below)


def smooth(m, rng):
    return rng.beta(np.maximum(2.0 * m, 1e-9), np.maximum(2.0 * (1.0 - m), 1e-9))


# Means in [0, 1] by prediction. Where they are flat, limits fail as soon as any interval is outside of the band.
WORLDS = {
    "flat, coins": (lambda f: np.full(len(f), 0.5), coin),
    "flat, rare": (lambda f: np.full(len(f), 0.01), coin),
    "flat, frequent": (lambda f: np.full(len(f), 0.97), coin),
    "flat, skewed": (lambda f: np.full(len(f), 0.5), skewed),
    "flat, smooth": (lambda f: np.full(len(f), 0.3), smooth),
    "a step": (lambda f: np.where(f < 0.5, 0.1, 0.6), coin),
    "right": (lambda f: f, smooth),
    "one prediction": (lambda f: np.full(len(f), 0.5), coin),
}


def misses(name: str, n: int, repetitions: int, weighting: str | None = None) -> Iterator[bool]:
    """Whether limits are wrong at any prediction."""
    mean, draw = WORLDS[name]
    rng = np.random.default_rng([n, *name.encode()])
    for _ in range(repetitions):
        f = np.full(n, 0.5) if name == "one prediction" else rng.random(n)
        m, w = mean(f), rng.uniform(0.2, 1.0, n)
        how = {} if weighting is None else {weighting: w}
        limits = (LOW, HIGH)
        if weighting == "exposure":  # of totals, which the exposure makes smaller
            y, limits, scale = draw(w * m, rng), (0.0, 1.0), lambda m: m
        else:
            y, scale = LOW + (HIGH - LOW) * draw(m, rng), lambda m: LOW + (HIGH - LOW) * m
        table = OutcomeTable.from_outcomes(y, f, outcome_limits=limits, relative_to="exposure", **how)
        band, truth = isotonic_mean_band(table), scale(mean(table.score))
        yield bool(((truth < band.lower - 1e-9) | (truth > band.upper + 1e-9)).any())


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 300])
@pytest.mark.parametrize("name", WORLDS)
def test_means_are_seldom_outside_anywhere(name, n):
    assert_seldom(misses(name, n, 400), 400, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("weighting", ["exposure", "sample_weight"])
@pytest.mark.parametrize("name", ["flat, coins", "flat, rare", "a step"])
def test_rows_that_do_not_count_the_same(name, weighting):
    assert_seldom(misses(name, 300, 400, weighting), 400, 0.05)


def test_a_narrower_band_would_be_caught(monkeypatch):
    width = bands.interval_width
    monkeypatch.setattr(bands, "interval_width", lambda *how: 0.75 * width(*how))
    with pytest.raises(AssertionError, match="failures"):
        assert_seldom(misses("flat, coins", 300, 200), 200, 0.05)


def test_stopping_times_of_two_points():
    """The bound of Theorem 17.1 holds for all pairs of points at most 1 apart, and at the ends exactly."""
    rng = np.random.default_rng(0)
    k, apart, part = np.pi * rng.random(20_000), rng.random(20_000), rng.random(20_000)
    apart[:5_000] = 1.0
    variance = apart**2 * part * (1.0 - part)
    inner = np.sqrt(np.maximum(0.25 * apart**2 - variance, 0.0))
    exact = np.cos(k * inner) / np.cos(0.5 * k * apart)
    bound = 1.0 + 4.0 * variance * (1.0 / np.cos(0.5 * k) - 1.0)
    assert (exact <= bound * (1.0 + 1e-9)).all()
    assert (exact[:5_000] / bound[:5_000]).max() > 0.999
