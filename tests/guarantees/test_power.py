"""With the rows that are planned, an exactly calibrated classifier is certified at least as often as asked for."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom

from calibrant import ScoreTable, plan
from calibrant.certificates import certify
from support.counting import assert_seldom

METHODS = ["default", "anytime", "asymptotic"]
# Rate of events and tolerance: 0.1 to 30 expected events with the rarest, several hundred with the others.
PLANS = [(0.001, 0.003), (0.001, 0.01), (0.001, 0.05), (0.01, 0.03), (0.01, 0.1), (0.2, 0.03), (0.2, 0.2), (0.5, 0.1)]


def refused(rate: float, tolerance: float, method: str, repetitions: int, **keywords):
    """Whether samples of calibrated scores that all differ and are close to a rate are not certified."""
    n = plan("certify", tolerance=tolerance, method=method, brier=rate * (1 - rate), **keywords).n
    score = rate * (1.0 + 1e-6 * np.linspace(-1.0, 1.0, n))
    rng = np.random.default_rng([n, *method.encode()])
    bounds = (certify(rng.random(n) < score, score, method=method).bound for _ in range(repetitions))
    return (bound > tolerance for bound in bounds)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("rate", "tolerance"), PLANS[1:])
def test_certified_as_often_as_asked(rate, tolerance, method):
    """At default arguments: a power of .8."""
    assert_seldom(refused(rate, tolerance, method, 100), 100, 0.2)


@pytest.mark.slow
@pytest.mark.parametrize("power", [0.8, 0.95])
@pytest.mark.parametrize("method", METHODS[:2])
@pytest.mark.parametrize(("rate", "tolerance"), PLANS)
def test_certified_as_often_as_asked_where_events_are_few(rate, tolerance, method, power):
    assert_seldom(refused(rate, tolerance, method, 300, power=power), 300, 1.0 - power)


@pytest.mark.parametrize("power", [0.5, 0.8, 0.95, 0.99])
@pytest.mark.parametrize("method", METHODS[:2])
@pytest.mark.parametrize("rate", [0.001, 0.01, 0.2, 0.5])
def test_one_score_exactly(rate, method, power):
    """Enumerated: all rows at one score, 0.1 to 1000 expected events."""
    for tolerance in (0.3, 0.1, 0.03, 10 * rate, 3 * rate):
        if not 0.003 <= tolerance <= 0.5:
            continue
        n = plan("certify", tolerance=tolerance, method=method, brier=rate * (1 - rate), power=power).n
        if n > 40_000:
            continue
        low, high = (int(binom.ppf(q, n, rate)) for q in (1e-5, 1 - 1e-5))
        counts = np.unique(np.linspace(low, high, 60).astype(int))
        bounds = [certify(ScoreTable.from_counts([rate], [n], [k]), method=method).bound for k in counts]
        within = counts[np.array(bounds) <= tolerance]
        assert binom.cdf(within.max(), n, rate) - binom.cdf(within.min() - 1, n, rate) >= power


@pytest.mark.slow
def test_a_plan_for_the_width_alone_is_not_enough():
    """What the command used to name: at these rows hardly any calibrated sample is certified."""
    with pytest.raises(AssertionError, match="failures"):
        assert_seldom(refused(0.2, 0.03, "default", 100, power=0), 100, 0.2)


@pytest.mark.slow
def test_a_tenth_of_the_rows_less_is_caught(monkeypatch):
    """The plan is not far above what is needed: with 10% fewer rows the chance is too small."""
    whole = plan("certify", tolerance=0.03, method="anytime", brier=0.16).n
    monkeypatch.setitem(globals(), "plan", lambda *_, **__: SimpleNamespace(n=round(0.9 * whole)))
    with pytest.raises(AssertionError, match="failures"):
        assert_seldom(refused(0.2, 0.03, "anytime", 300), 300, 0.2)
