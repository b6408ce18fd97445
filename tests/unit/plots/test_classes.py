"""Pictures of an audit of several classes."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from sklearn.naive_bayes import GaussianNB

import calibrant as cal
from calibrant import ArgumentError
from calibrant.plots import AuditDisplay, ClassErrorDisplay, ReliabilityDisplay
from calibrant.plots.audit import small_diagrams
from support.class_audits import many, wrong


def test_diagrams_have_shared_axes_and_the_worst_class_first():
    result = wrong()
    display = result.plot(ax=Figure().subplots(1, 3))
    assert isinstance(display, AuditDisplay)
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
    for display in (AuditDisplay(audit()), ClassErrorDisplay(audit()), *small_diagrams(audit())[:2]):
        figure = display.own_figure()
        FigureCanvasAgg(figure).draw()
        width, height = figure.get_size_inches()
        drawn = figure.get_tightbbox()
        assert -0.01 <= drawn.x0 < drawn.x1 <= width + 0.01
        assert -0.01 <= drawn.y0 < drawn.y1 <= height + 0.01


def test_long_names_are_cut_and_dollars_are_dollars():
    parts = replace(wrong().table, name=np.array(["$x$ " * 30, "b", "c"]))
    certificate = replace(wrong().certificate, parts=parts)
    (ax,) = replace(wrong(), certificate=certificate, shown=(0, 1, 2)).plot(ax=Figure().subplots()).axes_
    assert len(ax.get_title(loc="left")) <= 32
    ax.figure.draw_without_rendering()


def test_errors_in_their_order():
    display = ClassErrorDisplay(wrong())
    ax = Figure().subplots()
    assert display.plot(ax) is display
    assert display.line_.get_ydata().tolist() == sorted(wrong().table.error.tolist(), reverse=True)
    assert display.columns()["class"].tolist() == wrong().table.name[list(wrong().shown)].tolist()
    assert "all probabilities were right" in display.how_to_read


def test_what_draws_a_fitted_classifier_is_named():
    """Of three classes the message names what works, and that does."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    three = np.array(["a", "b", "c"])[rng.integers(3, size=300)]
    model = GaussianNB().fit(X, three)
    with pytest.raises(ArgumentError, match=r"calibrant.audit\(y, proba\).plot\(\)"):
        ReliabilityDisplay.from_estimator(model, X, three)
    assert isinstance(cal.audit(three, model.predict_proba(X)).plot(ax=Figure().subplots()), AuditDisplay)
