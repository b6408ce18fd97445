"""What is in view, and colours that can be read on every ground."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from calibrant.errors import ArgumentError
from calibrant.plots.style import DARK, LIGHT, drawing_style, palette_on, tick_places
from calibrant.table.visible_scores import grid_in_view, score_view


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
    assert score_view(np.array(scores)) == pytest.approx(view)


def test_grid_has_no_ends():
    assert grid_in_view(np.array([0.1, 0.9]), 3).tolist() == [0.25, 0.5, 0.75]
    assert grid_in_view(np.array([0.0, 0.2]), 1) == pytest.approx([0.105])
    with pytest.raises(ArgumentError, match="n_points"):
        grid_in_view(np.array([0.1, 0.9]), 0)


def test_ticks_between_limits():
    assert tick_places(0.0, 1.0) == pytest.approx([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    assert all(0.003 <= place <= 0.021 for place in tick_places(0.003, 0.021))


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
