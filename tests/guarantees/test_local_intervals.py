"""How often pointwise intervals of local curves hold what they name: the smoothed probability around a point."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant import ScoreTable
from calibrant.curves import local_curve
from calibrant.fits.local_polynomial import local_fit
from support.counting import assert_failures_within

REPETITIONS = 400

WORLDS = {
    "calibrated": lambda s: s,
    "wave": lambda s: 0.5 + 0.4 * np.sin(12 * s),
    "rare": lambda s: 0.02 * s,
    "steps": lambda s: np.where(s < 0.5, 0.05, 0.95),
}


def misses(chance, n, **keywords):
    """Misses, misses of intervals half as wide, and intervals given, at each point in repeated samples."""
    rng = np.random.default_rng(0)
    s = np.sort(np.round(rng.random(n), 3))
    p = chance(s)
    points = np.linspace(s[0], s[-1], 9)
    truth = smoothed(s, p, points, **keywords)
    missed, halved, given = (np.zeros(9, dtype=int) for _ in range(3))
    for _ in range(REPETITIONS):
        curve = local_curve(rng.random(n) < p, s, at=points, **keywords)
        missed += (truth < curve.lower) | (truth > curve.upper)
        lower, upper = 0.5 * (curve.lower + curve.rate), 0.5 * (curve.upper + curve.rate)
        halved += (truth < lower) | (truth > upper)
        given += ~np.isnan(curve.lower)
    return missed, halved, given


def smoothed(s, p, points, *, span, degree=0, kernel="rectangular", **_):
    """The same smoother applied to the probabilities: counts in proportion to them."""
    table = ScoreTable.from_counts(s, np.ones(len(s)), p)
    assert (len(s) * span).is_integer()  # then windows by weight are windows by rows
    return local_fit(table, points, span=span, degree=degree, kernel=kernel).rate


@pytest.mark.parametrize("world", WORLDS)
def test_clopper_pearson_holds_the_average_of_the_window(world):
    missed, halved, given = misses(WORLDS[world], 400, span=0.25, interval="clopper-pearson")
    assert (given == REPETITIONS).all()
    for failures in missed:
        assert_failures_within(int(failures), REPETITIONS, 0.05)
    with pytest.raises(AssertionError):
        assert_failures_within(int(halved.max()), REPETITIONS, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("world", ["calibrated", "wave", "rare"])
@pytest.mark.parametrize(
    "keywords",
    [
        {"interval": "wilson"},
        {"degree": 1},
        {"degree": 2},
        {"degree": 0, "kernel": "tricube"},
        {"degree": 2, "kernel": "tricube"},
    ],
    ids=str,
)
def test_other_intervals_miss_about_as_often_as_they_say(world, keywords):
    """100 rows in a window, nine points; intervals that are not given cannot miss."""
    missed, halved, given = misses(WORLDS[world], 400, span=0.25, **keywords)
    assert missed.sum() <= 0.07 * given.sum() + 10
    assert missed.max() <= 0.12 * REPETITIONS
    if world != "rare":
        assert given.sum() > 0.4 * 9 * REPETITIONS
        assert halved.sum() > 0.15 * given.sum()
