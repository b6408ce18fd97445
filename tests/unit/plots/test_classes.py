"""Pictures of an audit of several classes."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import calibrant as cal
from calibrant.plots import ClassAuditDisplay, ClassErrorDisplay
from calibrant.plots.classes import small_diagrams
from support.class_audits import many, world, wrong


def test_diagrams_have_shared_axes_and_the_worst_class_first():
    result = wrong()
    display = result.plot(ax=Figure().subplots(1, 3))
    assert isinstance(display, ClassAuditDisplay)
    assert len({(ax.get_xlim(), ax.get_ylim()) for ax in display.axes_}) == 1
    for ax, i, curve in zip(display.axes_, result.shown, result.reliability, strict=True):
        assert ax.get_title(loc="left") == f"class {result.table.name[i]}: {result.table.error[i]:.4f}"
        drawn = next(line for line in ax.lines if len(line.get_xdata()) == len(curve.score))
        assert np.array_equal(drawn.get_ydata(), curve.rate)
    upper = result.table.upper[list(result.shown)]
    assert list(upper) == sorted(upper, reverse=True)


def test_some_axes_and_too_many():
    assert len(wrong().plot(ax=Figure().subplots()).axes_) == 1
    with pytest.raises(cal.ArgumentError, match="one to 3 axes, found 4"):
        wrong().plot(ax=Figure().subplots(1, 4))


@pytest.mark.slow
@pytest.mark.parametrize("audit", [wrong, many])
def test_all_is_within_the_figure(audit):
    for display in (ClassAuditDisplay(audit()), ClassErrorDisplay(audit()), *small_diagrams(audit())[:2]):
        figure = display.own_figure()
        FigureCanvasAgg(figure).draw()
        width, height = figure.get_size_inches()
        drawn = figure.get_tightbbox()
        assert -0.01 <= drawn.x0 < drawn.x1 <= width + 0.01
        assert -0.01 <= drawn.y0 < drawn.y1 <= height + 0.01


def test_long_names_are_cut_and_dollars_are_dollars():
    table = replace(wrong().table, name=np.array(["$x$ " * 30, "b", "c"]))
    (ax,) = replace(wrong(), table=table, shown=(0, 1, 2)).plot(ax=Figure().subplots()).axes_
    assert len(ax.get_title(loc="left")) <= 32
    ax.figure.draw_without_rendering()


def test_errors_in_their_order():
    display = ClassErrorDisplay(wrong())
    ax = Figure().subplots()
    assert display.plot(ax) is display
    assert display.line_.get_ydata().tolist() == sorted(wrong().table.error.tolist(), reverse=True)
    assert display.columns()["class"].tolist() == wrong().table.name[list(wrong().shown)].tolist()
    assert "all probabilities were right" in display.how_to_read


@pytest.mark.slow
def test_from_predictions():
    y, proba = world(100)
    display = ClassErrorDisplay.from_predictions(y, proba, ax=Figure().subplots())
    assert len(display.columns()["null_error"]) == 3
    with pytest.raises(cal.ArgumentError, match="neither sample_weight nor pos_label"):
        ClassErrorDisplay.from_predictions(y, proba, pos_label=1)
