"""Pictures of segments: what is drawn, and with which names."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from calibrant.errors import ArgumentError
from calibrant.plots import SegmentDisplay, SegmentMapDisplay, figure_svg
from support.tables import segments_of


@pytest.fixture(scope="module")
def rows():
    """One pair of levels is off by much."""
    rng = np.random.default_rng(0)
    score, sex, town = (
        rng.uniform(size=6000),
        rng.choice(["F", "M"], 6000),
        rng.choice([f"$t{i}$" for i in range(5)], 6000),
    )
    off = (sex == "F") & (town == "$t3$")
    return rng.uniform(size=6000) < np.where(off, 0.4 * score, score), score, {"sex": sex, "town": town}


@pytest.fixture(scope="module")
def audit(rows):
    y, p, by = rows
    return segments_of(y, p, by=by, depth=2, tolerance=0.05)


def test_forest_shows_errors_bounds_tolerance_and_the_bound_for_all(audit):
    display = SegmentDisplay(audit, most=6).plot(Figure().subplots())
    assert len(display.points_) == 6
    assert display.ax_.get_yticklabels()[0].get_text() == "sex = F, town = $t3$"
    first = int(np.argmax(audit.lower))
    assert display.points_[0].get_xdata() == [audit.error[first]]
    limits = display.ax_.collections[0].get_segments()[0][:, 0]
    assert limits.tolist() == [audit.lower[first], audit.upper[first]]
    labels = display.ax_.get_legend_handles_labels()[1]
    assert {"Refuted", "Tolerance", "Bound for all"} <= set(labels)
    assert f"{audit.n_segments - 6} further segments" in display.how_to_read
    assert display.to_frame("pandas")["segment"].tolist()[0] == "sex = F, town = $t3$"
    with pytest.raises(ArgumentError, match="most"):
        SegmentDisplay(audit, most=0)


def test_map_has_the_longer_side_downwards_and_frames_what_is_refuted(audit):
    display = SegmentMapDisplay(audit).plot(Figure().subplots())
    assert display.pair == ("sex", "town")
    assert np.shape(display.image_.get_array()) == (5, 2)
    assert display.down == [f"$t{i}$" for i in range(5)]
    assert len(display.ax_.patches) == int((audit.verdicts[display.places] == "refuted").sum()) == 1
    assert display.ax_.patches[0].get_xy() == pytest.approx((-0.46, 2.54))
    assert len(display.ax_.texts) == 10
    assert display.to_frame("pandas").shape[0] == 10


def test_map_follows_the_colours_of_a_page(audit):
    figure = Figure()
    display = SegmentMapDisplay(audit).plot(figure.subplots())
    drawing = figure_svg(figure)
    assert "<image" not in drawing
    # The stronger the blue the larger the error, never so strong that the words on it are lost.
    strengths = display.image_.cmap(display.image_.norm(audit.error[display.places]))[:, 3]
    assert 0.04 <= strengths.min() < strengths.max() == pytest.approx(0.5)
    assert drawing.count("fill: var(--plot-blue, #0072b2); fill-opacity") == 10


def test_segments_with_too_few_rows_are_empty(rows):
    y, p, by = rows
    kept = (by["sex"] == "M") | (by["town"] != "$t0$")
    found = segments_of(y[kept], p[kept], by={name: column[kept] for name, column in by.items()}, depth=2)
    shown = np.ma.getmaskarray(SegmentMapDisplay(found).plot(Figure().subplots()).image_.get_array())
    assert shown.sum() == 1


def test_pairs_are_asked_for_by_name(audit, rows):
    y, p, by = rows
    assert SegmentMapDisplay(audit, columns=("sex", "town")).pair == ("sex", "town")
    with pytest.raises(ArgumentError, match="in this order"):
        SegmentMapDisplay(audit, columns=("town", "sex"))
    with pytest.raises(ArgumentError, match="depth=2"):
        SegmentMapDisplay(segments_of(y, p, by=by))


@pytest.mark.parametrize("display", [SegmentDisplay, SegmentMapDisplay])
def test_both_can_stand_on_a_page(display, audit):
    svg = figure_svg(display(audit).own_figure())
    assert svg.startswith("<svg")
    assert "$t3$" in svg
