"""The picture of a monitor."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

import calibrant as cal
from calibrant.errors import ArgumentError
from calibrant.plots import MonitorDisplay


def rows(n=3000, power=0.6):
    rng = np.random.default_rng(1)
    score = rng.uniform(size=n)
    return rng.uniform(size=n) < np.where(np.arange(n) < n // 2, score, score**power), score


def test_a_figure_of_its_own_shows_the_bias_below():
    made = MonitorDisplay.from_predictions(*rows(), tolerance=0.01, name="$model$")
    evidence, bias = made.figure_.axes
    assert evidence is made.ax_
    assert {label.get_text() for label in evidence.get_legend().get_texts()} == {"alarm", "evidence"}
    assert bias.get_ylabel() == "bias"
    assert made.line_.get_xdata()[-1] == 2944
    assert "confidence sequence" in made.how_to_read
    made.figure_.draw_without_rendering()
    plt.close("all")


def test_on_given_axes_only_the_evidence_is_drawn():
    ax = Figure().subplots()
    made = MonitorDisplay.from_predictions(*rows(), odds_tolerance=1.1, ax=ax, color="red")
    assert made.figure_.axes == [ax]
    assert made.line_.get_color() == "red"
    assert ax.get_xlabel() == "rows read"
    assert len(made.to_frame("polars")) == len(made.line_.get_xdata())


def test_dates_stand_below_the_rows():
    monitor = cal.Monitor(tolerance=0.01)
    monitor.update(*rows(), time=np.datetime64("2026-01-01") + np.arange(3000) // 100)
    ax = Figure().subplots()
    monitor.history().plot(ax)
    assert ax.get_xticklabels()[-1].get_text().endswith("2026-01-30")


def test_infinite_evidence_stays_in_view():
    y, score = np.tile([0.0, 1.0], 32), np.full(64, 0.5)
    y[20], score[20] = 1.0, 0.0
    monitor = cal.Monitor(tolerance=0)
    monitor.update(y, score)
    ax = Figure().subplots()
    made = monitor.history().plot(ax)
    assert np.isfinite(made.line_.get_ydata()).all()
    assert monitor.history().log_evidence[-1] == np.inf


def test_what_cannot_be_drawn():
    with pytest.raises(ArgumentError, match="a monitor that has read 16 rows"):
        MonitorDisplay.from_predictions([0, 1], [0.2, 0.7], tolerance=0.1, ax=Figure().subplots())
    with pytest.raises(ArgumentError, match="row by row, in their order, found weights"):
        MonitorDisplay.from_predictions([0, 1], [0.2, 0.7], tolerance=0.1, sample_weight=[1, 2])
    with pytest.raises(ArgumentError, match="found a table"):
        MonitorDisplay.from_predictions(cal.ScoreTable.from_scores([0, 1], [0.2, 0.7]), tolerance=0.1)
