"""What is in view, and colours that can be read on every ground."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from calibrant.errors import ArgumentError
from calibrant.plots.canvas import tick_places
from calibrant.plots.style import DARK, LIGHT, drawing_style, palette_on
from calibrant.table.bins import View, score_view, spread_thresholds


@pytest.mark.parametrize(
    ("scores", "view"),
    [
        ([0.07, 0.97], (0.0, 1.0)),
        ([0.0, 0.25], (0.0, 1.0)),
        ([0.0, 0.2], (0.0, 0.21)),
        ([0.5, 0.6], (0.495, 0.605)),
        ([0.99, 0.999], (0.98955, 1.0)),
        ([0.35], (0.3, 0.4)),
        ([0.001], (0.0, 0.002)),
        ([0.0], (0.0, 0.05)),
        ([1.0], (0.95, 1.0)),
    ],
)
def test_all_of_the_scale_or_where_the_scores_are(scores, view):
    assert score_view(np.array(scores)) == pytest.approx((*view, False))


def test_scores_of_rare_events_are_shown_on_a_square_root_axis():
    score = np.array([0.01, 0.02, 0.03, 0.4])
    assert not score_view(score).square_root
    view = score_view(score, np.array([50, 30, 15, 5]))
    assert view == pytest.approx((0.0, 0.4195, True))
    assert view.to_axis(0.09) == pytest.approx(0.3)
    assert view.from_axis(view.to_axis([-0.01, 0.0, 0.25])) == pytest.approx([-0.01, 0.0, 0.25])
    assert np.diff(np.sqrt(view.edges(7))) == pytest.approx(np.full(7, np.sqrt(0.4195) / 7))
    left, right = view.limits()
    assert np.sqrt(right) - np.sqrt(view.high) == pytest.approx(np.sqrt(-left))


def test_scores_at_both_ends_are_not_rare_events():
    assert not score_view(np.array([0.0, 1.0]), np.array([70, 30])).square_root


def test_grid_has_no_ends():
    assert View(0.0, 1.0).grid(3).tolist() == [0.25, 0.5, 0.75]
    assert View(0.0, 0.21).grid(1) == pytest.approx([0.105])
    with pytest.raises(ArgumentError, match="n_points"):
        View(0.0, 1.0).grid(0)


def test_thresholds_are_spread_over_scores_and_rows():
    score = np.array([0.001234, 0.01, 0.5, 0.9])
    found = spread_thresholds(score, np.array([97, 1, 1, 1]), 60, 0.123456)
    assert {0.00123, 0.123456} <= set(found.tolist())
    assert (np.diff(found) > 0).all()
    assert 0 < found[0] < found[-1] < 1
    assert np.count_nonzero(found > 0.1) >= 5
    for extreme in (0.0, 1.0):
        assert len(spread_thresholds(np.array([extreme]), np.array([3]), 20))


def test_ticks_between_limits():
    assert tick_places(0.0, 1.0, View(0.0, 1.0)) == pytest.approx([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    assert all(0.003 <= place <= 0.021 for place in tick_places(0.003, 0.021, View(0.003, 0.021)))


@pytest.mark.parametrize("high", [1.0, 0.42, 0.05, 0.0031])
def test_ticks_of_a_square_root_axis_are_round_and_far_apart(high):
    ticks = tick_places(-1e-4, high, View(0.0, high, square_root=True))
    assert ticks[0] == 0.0
    assert 4 <= len(ticks) <= 9
    assert np.diff(np.sqrt(ticks)).min() >= 0.13 * np.sqrt(high) * (1 - 1e-9)
    assert {f"{tick:.0e}"[0] for tick in ticks[1:]} <= {"1", "2", "5"}


@pytest.mark.parametrize(
    ("ground", "palette"),
    [
        ("white", LIGHT),
        ("#fdf6e3", LIGHT),
        ("black", DARK),
        ("#1e1e1e", DARK),
        ((0.0, 0.0, 0.0, 0.0), LIGHT),
        ("none", LIGHT),
    ],
)
def test_palette_suits_the_ground(ground, palette):
    assert palette_on(ground) is palette


def luminance(colour):
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return float(np.dot([0.2126, 0.7152, 0.0722], parts))


# Web Content Accessibility Guidelines 2.2: 4.5 for text (1.4.3), 3 for graphics (1.4.11).
@pytest.mark.parametrize(("palette", "ground"), [(LIGHT, "white"), (DARK, "black"), (DARK, "#1e1e1e")])
def test_contrast(palette, ground):
    def contrast(colour):
        low, high = sorted([luminance(colour), luminance(ground)])
        return (high + 0.05) / (low + 0.05)

    assert all(contrast(colour) >= 4.5 for colour in (palette.ink, palette.muted, palette.orange))
    assert all(contrast(colour) >= 3.0 for colour in (palette.blue, palette.grey, *palette.series))


def test_settings_are_given_back_after_an_error():
    before = dict(mpl.rcParams)
    with pytest.raises(ZeroDivisionError), drawing_style():
        _ = 1 / 0
    assert dict(mpl.rcParams) == before
