"""Outcomes that are numbers, with predicted means whose truth is known, and their audits."""

from functools import cache

import numpy as np

import calibrant as cal

CAP = 50_000.0


@cache
def tariff(n=6_000, seed=1):
    """Losses, premiums per year, exposures, numbers of claims and their rates; the premiums are too close together."""
    rng = np.random.default_rng(seed)
    years = rng.uniform(0.1, 1.0, n).round(2)
    risk = np.exp(rng.normal(0.0, 0.6, n) - 0.18)
    claims = rng.poisson(0.3 * risk * years)
    size = rng.gamma(1.5, 1400.0, n)
    premium = (630.0 * risk**0.6 * np.exp(0.072)).round(2)
    return np.minimum(claims * size, CAP).round(2), premium, years, claims, (0.3 * risk).round(5)


@cache
def flat_tariff(**settings):
    """Audit the losses."""
    loss, premium, years, *_ = tariff()
    asked = {"exposure": years, "limits": (0, CAP), "tolerance": 0.02, "name": "flat tariff"}
    return cal.audit(loss, premium, **asked | settings, kind="amount")


@cache
def counts():
    """Audit the numbers of claims, whose rates are right."""
    *_, years, claims, rate = tariff()
    return cal.audit(claims, rate, exposure=years, limits=(0, 30), tolerance=0.2, name="claims", kind="amount")


@cache
def losses_given_default():
    """Audit shares in [0, 1], predictions of which are right but for their level; without a tolerance."""
    rng = np.random.default_rng(2)
    mean = rng.beta(2, 4, 2_000).clip(0.02, 0.9)
    return cal.audit(rng.beta(0.6 * mean, 0.6 * (1 - mean)), 1.1 * mean, limits=(0, 1), name="LGD", kind="amount")
