"""How often the advice of an audit is right, harmless or wrong, in worlds whose truth is known."""

from __future__ import annotations

from collections import Counter
from itertools import tee

import numpy as np
import pytest
from scipy.stats import beta

import calibrant as cal
from calibrant.auditing import Recalibration, cross_fitted
from calibrant.auditing.advice import advise
from support.counting import assert_seldom
from support.next_steps import asked_of

_DRAWS = 8  # docs/reference/validation.md counts 30
_WAIT = {"leave alone", "collect more data"}


def _odds(p, shift=0.0, slope=1.0):
    """Probabilities with log-odds moved and stretched."""
    return 1.0 / (1.0 + np.exp(-(shift + slope * np.log(p / (1.0 - p)))))


def _rows(rng, n, a=1.2, b=3.0, **wrong):
    p = rng.beta(a, b, n)
    return {"data": rng.uniform(size=n) < _odds(p, **wrong), "prediction": p}


def _loans(rng, shift=0.0):
    p = np.exp(rng.normal(-5.9, 0.9, 40_000)).clip(1e-5, 0.5)
    return {"data": rng.uniform(size=len(p)) < _odds(p, shift), "prediction": p, "tolerance": 0.002}


def _hospitals(rng, shift=0.0, spread=0.2):
    clusters = rng.integers(0, 25, 3_000)
    p = rng.beta(1.2, 8.0, len(clusters))
    return {
        "data": rng.uniform(size=len(p)) < _odds(p, shift + spread * rng.normal(size=25)[clusters]),
        "prediction": p,
        "cluster": clusters,
    }


def _branches(rng, shifts):
    branch = rng.choice(4, 20_000, p=[0.4, 0.3, 0.2, 0.1])
    p = rng.beta(1.2, 4.0, len(branch))
    y = rng.uniform(size=len(p)) < _odds(p, np.asarray(shifts)[branch])
    return {"data": y, "prediction": p, "by": {"branch": branch.astype(str)}, "tolerance": 0.02}


# What is drawn, the right advice, what does no harm; anything else is wrong.
WORLDS = {
    "calibrated, few rows": (lambda rng: _rows(rng, 300), {"leave alone"}, {"collect more data"}),
    "calibrated, with a tolerance": (lambda rng: _rows(rng, 20_000) | {"tolerance": 0.03}, {"leave alone"}, set()),
    "too extreme": (lambda rng: _rows(rng, 5_000, slope=0.6), {"recalibrate"}, set()),
    "half too many, few rows": (lambda rng: _rows(rng, 300, shift=-0.6), {"recalibrate"}, {"collect more data"}),
    "nearly right, within the tolerance": (
        lambda rng: _rows(rng, 60_000, slope=0.95) | {"tolerance": 0.03}, {"leave alone"}, {"recalibrate"},
    ),
    "loans, defaults 30% above prediction": (lambda rng: _loans(rng, 0.26), {"recalibrate"}, {"leave alone"}),
    "loans, calibrated": (_loans, _WAIT, set()),
    "confidence of a language model": (
        lambda rng: _rows(rng, 800, 9.0, 1.0, slope=0.4) | {"tolerance": 0.05}, {"recalibrate"}, {"collect more data"},
    ),
    "hospitals that differ, right on the whole": (_hospitals, _WAIT, set()),
    "hospitals, deaths a third below prediction": (
        lambda rng: _hospitals(rng, -0.45), {"recalibrate"}, {"collect more data"},
    ),
    "branches with one fault": (lambda rng: _branches(rng, [0.4] * 4), {"recalibrate"}, {"recalibrate by segment"}),
    "branches with opposite faults": (
        lambda rng: _branches(rng, [0.4, -0.4, 0.3, 0.0]), {"recalibrate by segment"}, {"recalibrate"},
    ),
    "branches, calibrated": (lambda rng: _branches(rng, [0.0] * 4), _WAIT, set()),
}  # fmt: skip


def counted(name: str, draws: int = _DRAWS) -> Counter[str]:
    """Count right, harmless and wrong advice in one world, on fresh rows."""
    draw, right, harmless = WORLDS[name]
    found: Counter[str] = Counter()
    for seed in range(draws):
        action = cal.audit(**draw(np.random.default_rng([seed, len(name)]))).advice.action.removesuffix(" meanwhile")
        found["right" if action in right else "harmless" if action in harmless else f"wrong: {action}"] += 1
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_advice_is_right(name):
    """Mostly right, and wrong at most twice: a test at 5% may be wrong by chance."""
    found = counted(name)
    assert found["right"] >= _DRAWS // 2, found
    assert found["right"] + found["harmless"] >= _DRAWS - 2, found


def _effects(draws: int, **wrong: float):
    """Yield what is expected of the pool, and what its map gains in truth, of 60 to 500 rows of two populations."""
    at = np.linspace(0.0, 1.0, 2_002)[1:-1]
    for draw in range(draws):
        rng = np.random.default_rng([draw, 8])
        n, (a, b) = (60, 120, 250, 500)[draw % 4], ((1.2, 3.0), (1.5, 9.0))[draw // 4 % 2]
        rows = _rows(rng, n, a, b, **wrong)
        if 0 < rows["data"].sum() < n:
            fitted = cal.AutoCalibrator().fit(rows["prediction"], rows["data"])
            table = cal.ScoreTable.from_scores(rows["data"], rows["prediction"])
            p, truth = beta.ppf(at, a, b), _odds(beta.ppf(at, a, b), **wrong)
            q = fitted.predict(p)
            gain = float((truth * np.log(q / p) + (1.0 - truth) * np.log((1.0 - q) / (1.0 - p))).mean())
            yield cross_fitted(table, whole=fitted), gain


@pytest.mark.slow
def test_right_scores_are_seldom_changed_in_many_samples(monkeypatch):
    """By the whole rule at defaults. Where any map that changes scores is expected to gain, too many are."""
    draws = ((np.random.default_rng([draw, 21]), (60, 120, 250, 500)[draw % 4]) for draw in range(90))
    audits, again = tee(cal.audit(**_rows(*draw)) for draw in draws)
    assert_seldom(("recalibrate" in audit.advice.action for audit in audits), 90, 0.06)
    monkeypatch.setattr(Recalibration, "expects_gain", property(lambda effect: not effect.unchanged))
    asked = asked_of(cal.audit, [0, 1], [0.2, 0.8])
    actions = (advise(audit, asked, segments_differ=None, expected_brier=0.2).action for audit in again)
    with pytest.raises(AssertionError):
        assert_seldom(("recalibrate" in action for action in actions), 90, 0.06)


@pytest.mark.slow
def test_right_scores_seldom_show_a_gain_in_many_samples():
    """With a gain that is merely above 0, too many would be changed."""
    gains, again = tee(found for found, _ in _effects(400))
    assert_seldom((found.expects_gain for found in gains), 400, 0.05)
    with pytest.raises(AssertionError):
        assert_seldom((not found.unchanged and found.log_loss_gain > 0.0 for found in again), 400, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [{}, {"slope": 0.7}, {"shift": 0.4}])
def test_the_worst_case_is_seldom_exceeded_in_many_samples(wrong):
    """Half a standard error below the gain, in place of 2.5, is."""
    limits, halves = tee(_effects(300, **wrong))
    assert_seldom((gain < found.log_loss_gain_lower for found, gain in limits), 300, 0.05)
    with pytest.raises(AssertionError):
        assert_seldom(
            (gain < found.log_loss_gain - 0.5 * found.log_loss_gain_error for found, gain in halves), 300, 0.05
        )
