"""Differences between models, one panel for each measure."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import calibrant as cal
from calibrant import compare
from calibrant.plots import DifferenceDisplay
from calibrant.plots.style import LIGHT
from calibrant.plots.svg import figure_svg


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(4)
    s = rng.uniform(0.02, 0.98, 500)
    return (rng.uniform(size=500) < s).astype(int), {"old": s**3, "new": s}


def test_a_panel_has_the_interval_and_the_colour_of_the_better_model(rows):
    found = cal.compare(*rows, costs=(1, 4))
    display = DifferenceDisplay(found).plot(Figure().subplots())
    assert len(display.axes_) == len(found.measures) == 6
    for ax, one in zip(display.axes_, found.differences, strict=True):
        line, point = ax.lines[1:]
        assert line.get_xdata() == pytest.approx((one.lower, one.upper))
        assert point.get_xdata() == pytest.approx([one.value])
        colour = LIGHT.muted if one.better is None else LIGHT.blue if one.better == "new" else LIGHT.orange
        assert to_hex(point.get_color()) == colour
        low, high = ax.get_xlim()
        assert low < min(0.0, one.lower)
        assert high > max(0.0, one.upper)
    display.figure_.draw_without_rendering()


def test_several_pairs_are_named_in_front(rows):
    y, scores = rows
    three = scores | {"a model with a very long name, $x$": scores["new"] ** 2}
    display = DifferenceDisplay(compare(y, three), name="all $three$").plot()
    names = [label.get_text() for label in display.axes_[0].get_yticklabels()]
    assert names[0] == "new \N{MINUS SIGN} old"
    assert names[1].startswith("a model with a ve...")
    display.figure_.canvas.draw()
    plt.close(display.figure_)


def test_what_has_no_limits_is_drawn_without_a_line():
    y = [0, 1, 0, 1, 1, 0, 0, 1]
    scores = {"sure": [0.2, 0.0, 0.3] + [0.5] * 5, "safe": [0.3, 0.6] * 4, "wrong": [1.0] * 8}
    display = DifferenceDisplay(compare(y, scores)).plot(Figure().subplots())
    assert "infinite" in figure_svg(display.figure_, readings=display.readings())


def test_its_table_and_how_to_read_it(rows):
    y, scores = rows
    display = DifferenceDisplay(compare(y, scores))
    assert set(display.to_frame("polars")["second"]) == {"new"}
    assert "hold together with 95% confidence" in display.how_to_read
