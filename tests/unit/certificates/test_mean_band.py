"""Limits for a mean that never falls."""

import numpy as np
import pytest

from calibrant import DataError, OutcomeTable, ScoreTable
from calibrant.certificates import isotonic_band, isotonic_mean_band
from calibrant.certificates.widths import cumulative_width
from calibrant.certificates.widths.fixed_design import interval_width
from calibrant.errors import ArgumentError

RNG = np.random.default_rng
LIMITS = {"outcome_limits": (0, 1)}


def rows(n=60, seed=0):
    rng = RNG(seed)
    f = np.round(rng.random(n), 1)
    return rng.beta(0.5 + f, 1.5 - f), f, rng.uniform(0.2, 2.0, n)


@pytest.mark.parametrize("weighting", [None, "exposure", "sample_weight"])
def test_limits_are_those_of_all_intervals(weighting):
    y, f, w = rows()
    how = {} if weighting is None else {weighting: w}
    band = isotonic_mean_band(y, f, confidence_level=0.1, **how, **LIMITS)
    table = OutcomeTable.from_outcomes(y, f, relative_to="exposure", **how, **LIMITS)
    slack, m = band.width * table.n.sum(), len(table)
    ends = (0.0, 1.0 / w.min() if weighting == "exposure" else 1.0)
    runs = {(a, b): (table.k[a : b + 1].sum(), table.n[a : b + 1].sum()) for a in range(m) for b in range(a, m)}
    for j in range(m):
        below = max((k - slack) / n for (_, b), (k, n) in runs.items() if b <= j)
        above = min((k + slack) / n for (a, _), (k, n) in runs.items() if a >= j)
        assert band.lower[j] == pytest.approx(max(below, ends[0]), abs=1e-12)
        assert band.upper[j] == pytest.approx(min(above, ends[1]), abs=1e-12)
    assert (band.lower <= band.rate + 1e-12).all()
    assert (band.rate <= band.upper + 1e-12).all()


def test_labels_are_a_special_case():
    """The width is at most 3% more than that of `isotonic_band`, which knows that outcomes are labels."""
    rng = RNG(1)
    for rate in (0.01, 0.3):
        s = rate * (0.5 + rng.random(2_000))
        y = rng.random(2_000) < s
        one, other = isotonic_mean_band(1.0 * y, s, **LIMITS), isotonic_band(y, s, method="fixed_design")
        assert other.width <= one.width <= 1.03 * other.width
        np.testing.assert_allclose(one.rate, other.rate, rtol=0, atol=1e-12)
        assert (one.lower <= other.lower + 1e-12).all()
        assert (one.upper >= other.upper - 1e-12).all()


def test_units_and_order_do_not_matter():
    y, f, _ = rows()
    one, order = isotonic_mean_band(y, f, **LIMITS), RNG(2).permutation(len(y))
    other = isotonic_mean_band(7.0 * y[order] - 3.0, 7.0 * f[order] - 3.0, outcome_limits=(-3, 4))
    for name in ("rate", "lower", "upper"):
        np.testing.assert_allclose(getattr(other, name), 7.0 * getattr(one, name) - 3.0, rtol=0, atol=1e-9)


def test_predictions_outside_of_the_limits_are_allowed():
    y, f, _ = rows()
    assert isotonic_mean_band(y, f + 10.0, **LIMITS).width >= isotonic_mean_band(y, f, **LIMITS).width


def test_small_losses_are_known_better():
    n = 5_000
    f = np.linspace(0.01, 0.03, n)
    band = isotonic_mean_band(f * RNG(3).uniform(0.5, 1.5, n), f, **LIMITS)
    assert interval_width(n, 0.0) < band.width < 0.2 * interval_width(n, 0.25)


def test_a_mean_that_falls_is_refuted():
    f = np.repeat([0.2, 0.8], 500)
    assert not isotonic_mean_band(1.0 - f, f, **LIMITS).consistent
    assert isotonic_mean_band(np.repeat([0.51, 0.49], 500), f, **LIMITS).consistent


def test_what_is_refused():
    y, f, _ = rows()
    with pytest.raises(ArgumentError, match="two numbers as outcome_limits"):
        isotonic_mean_band(y, f)
    with pytest.raises(DataError, match="at least 6 rows"):
        isotonic_mean_band(y[:5], f[:5], **LIMITS)
    with pytest.raises(ArgumentError, match="clusters"):
        isotonic_mean_band(OutcomeTable.from_outcomes(y, f + 0.1, clusters=np.arange(len(y)) // 2, **LIMITS))


def test_width_tends_to_the_same_as_of_labels():
    table = ScoreTable.from_counts([0.5], [1_000_000], [500_000])
    assert interval_width(1_000_000, 0.25) == pytest.approx(cumulative_width(table), rel=1e-6)
