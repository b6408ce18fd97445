"""The smooth calibration error against direct sums, its theory, and relplot."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

from calibrant import ArgumentError, DataError, ScoreTable
from calibrant.metrics import smooth_calibration_error
from support.oracles import cell_table, weights_or_ones
from support.strategies import small_rows


def direct_error(y, s, w, bandwidth: float, points: int = 20_001) -> float:
    """Integral of the size of the smoothed residuals: how far its antiderivative travels, by images of each row."""
    w = weights_or_ones(y, w)
    t = np.linspace(0.0, 1.0, points)
    sums = np.zeros(points)
    images = range(-1 - math.ceil(9 * bandwidth), 2 + math.ceil(9 * bandwidth))
    for yi, si, wi in zip(y, s, w, strict=True):
        for m in images:
            for centre in (2 * m + float(si), 2 * m - float(si)):
                sums += wi * (float(yi) - float(si)) * ndtr((t - centre) / bandwidth)
    return float(np.abs(np.diff(sums)).sum()) / math.fsum(w)


def waves():
    """2000 rows, ten at each of 200 scores; from arithmetic, so that anyone can make them again."""
    i = np.arange(2000)
    s = ((i * 7) % 2000 // 10 * 10 + 5) / 2000
    chance = np.clip(s + 0.1 * np.sin(8 * np.pi * s), 0.0, 1.0)
    return (((i * 7919 + 104729) % 10007) / 10007 < chance).astype(int), s


def crowded():
    """3000 distinct scores, most of them near 0, with labels that depend little on them."""
    i = np.arange(3000)
    s = (((i * 7) % 3000 + 0.5) / 3000) ** 2
    return (((i * 7919 + 104729) % 10007) / 10007 < 0.1 + 0.7 * s).astype(int), s


@pytest.mark.slow
@given(small_rows(most=6), st.sampled_from([0.004, 0.03, 0.2, 1.0]))
def test_equals_the_direct_sum(rows, bandwidth):
    found = smooth_calibration_error(rows.y, rows.s, bandwidth=bandwidth, **rows.keywords)
    assert found == pytest.approx(direct_error(*rows, bandwidth), abs=5e-6)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [waves(), crowded()], ids=["waves", "crowded"])
@pytest.mark.parametrize("bandwidth", [0.004, 0.05])
def test_equals_the_direct_sum_on_many_rows(rows, bandwidth):
    y, s = (column[:300] for column in rows)
    direct = direct_error(y, s, None, bandwidth)
    assert smooth_calibration_error(y, s, bandwidth=bandwidth) == pytest.approx(direct, abs=5e-6)


@pytest.mark.slow
@given(small_rows(most=6))
def test_default_is_the_bandwidth_that_equals_its_error(rows):
    """Within the accuracies that are stated."""
    value = smooth_calibration_error(rows.y, rows.s, **rows.keywords)
    if value >= 2.5e-4:
        assert direct_error(*rows, value) == pytest.approx(value, abs=5e-5)
    else:
        assert direct_error(*rows, 2.5e-4, points=40_001) <= 5e-4


@pytest.mark.parametrize("gap", [1e-3, 1e-5, 1e-7])
def test_neighbours_that_cancel(gap):
    """A step of height r and width gap has a smoothed derivative of size 2 r gap phi(0) / sigma, r = 1/4 here."""
    value = smooth_calibration_error([1, 0], [0.5 - gap / 2, 0.5 + gap / 2])
    assert value == pytest.approx(math.sqrt(0.5 * gap / math.sqrt(2 * math.pi)), rel=0.02, abs=3e-5)


@given(small_rows(most=6))
def test_between_the_bias_and_the_error_by_score(rows):
    """The kernel has mass 1, so smoothing lies between all residuals in one sum and each score by itself."""
    table = ScoreTable.from_scores(rows.y, rows.s, **rows.keywords)
    residual = table.k - table.n * table.score
    value = smooth_calibration_error(table)
    assert abs(residual.sum()) / table.total - 1e-6 <= value <= np.abs(residual).sum() / table.total + 1e-6


@given(small_rows(most=6))
def test_falls_with_the_bandwidth(rows):
    errors = [smooth_calibration_error(*rows[:2], bandwidth=b, **rows.keywords) for b in (1e-3, 0.01, 0.1, 1.0, 10.0)]
    assert (np.diff(errors) <= 2e-5).all()


def test_by_hand():
    """Arithmetic: scores are .5 and .3 too low, so nothing cancels at any bandwidth."""
    assert smooth_calibration_error([1, 1], [0.5, 0.7]) == pytest.approx(0.4, rel=1e-9)
    assert smooth_calibration_error([0, 0], [1.0, 1.0]) == pytest.approx(1.0, rel=1e-9)
    assert smooth_calibration_error([1], [0.25], bandwidth=100.0) == pytest.approx(0.75, rel=1e-9)
    assert smooth_calibration_error([0, 1], [0.5, 0.5]) == 0.0


# relplot 1.0.3 with numpy 2.4.6: relplot.smECE_sigma(s, y, bandwidth) for waves() and crowded(). It averages over 200
# points and counts a residual at score 0 once instead of with its reflection; the direct sums above are the closer
# reference. Its kernel ends at a distance of 1/2, so bandwidths above .1 are left out.
RELPLOT = {
    (waves, 0.01): 0.0606383798165335,
    (waves, 0.02): 0.0558981404744604,
    (waves, 0.05): 0.033168368875386885,
    (waves, 0.1): 0.01004431815287891,
    (crowded, 0.02): 0.07638743654049031,
    (crowded, 0.05): 0.07600455922942435,
    (crowded, 0.1): 0.07384690926507016,
}


@pytest.mark.parametrize(("rows", "bandwidth"), RELPLOT)
def test_equals_relplot_at_a_bandwidth(rows, bandwidth):
    value = smooth_calibration_error(*rows(), bandwidth=bandwidth)
    assert value == pytest.approx(RELPLOT[rows, bandwidth], abs=3e-4)


@pytest.mark.parametrize(
    ("rows", "error", "bandwidth"),
    [(waves, 0.04042083911184775, 0.041015625), (crowded, 0.075106693770926, 0.0751953125)],
)
def test_is_where_relplot_brackets_it(rows, error, bandwidth):
    """relplot.smECE(s, y, return_width=True): ten halvings of [0, 1], so its bandwidth is up to 1/1024 too large."""
    assert error - 3e-4 <= smooth_calibration_error(*rows()) <= bandwidth


def test_weights_are_rows():
    y, s = waves()
    w = np.arange(len(y)) % 3
    repeated = smooth_calibration_error(np.repeat(y, w), np.repeat(s, w))
    assert smooth_calibration_error(y, s, sample_weight=w) == repeated
    assert smooth_calibration_error(y, s, sample_weight=0.3 * w) == pytest.approx(repeated, rel=1e-9)
    assert smooth_calibration_error(y, s) != repeated


def test_rare_events_keep_their_digits():
    """Arithmetic: 2 and 3 more than predicted in 2 million rows, so nothing cancels."""
    table = ScoreTable.from_counts([1e-6, 2e-6], [10**6, 10**6], [3, 5])
    assert smooth_calibration_error(table) == pytest.approx((2 + 3) / 2e6, rel=1e-6)


def test_cells_count_at_their_mean():
    y, s = waves()
    cells = cell_table(y, s, None, np.linspace(0.0, 1.0, 401))
    assert smooth_calibration_error(cells) == pytest.approx(smooth_calibration_error(y, s), abs=1e-3)


@pytest.mark.parametrize("bandwidth", [0.0, -1.0, 1e-5, math.nan, math.inf, "wide", True])
def test_bad_bandwidth(bandwidth):
    with pytest.raises(ArgumentError, match="leave it out"):
        smooth_calibration_error([0, 1], [0.2, 0.7], bandwidth=bandwidth)


@pytest.mark.parametrize(("y", "s"), [([0, 1], [0.2, math.nan]), ([0, 1], [0.2, 1.7]), ([], []), ([0], [0.1, 0.2])])
def test_bad_data(y, s):
    with pytest.raises(DataError):
        smooth_calibration_error(y, s)
