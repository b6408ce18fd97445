"""The picture of a monitor."""

import re

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


def history(**asked):
    monitor = cal.Monitor(**asked)
    monitor.update(*rows())
    return monitor.history()


def test_a_figure_of_its_own_shows_the_bias_below():
    made = MonitorDisplay(history(tolerance=0.01), name="$model$").plot()
    evidence, bias = made.figure_.axes
    assert evidence is made.ax_
    assert {label.get_text() for label in evidence.get_legend().get_texts()} == {"alarm", "evidence", "threshold"}
    assert bias.get_ylabel() == "bias"
    assert made.line_.get_xdata()[-1] == 2944
    assert "confidence sequence" in made.how_to_read
    made.figure_.draw_without_rendering()
    plt.close("all")


def test_on_given_axes_only_the_evidence_is_drawn():
    ax = Figure().subplots()
    made = MonitorDisplay(history(odds_tolerance=1.1)).plot(ax, color="red")
    assert made.figure_.axes == [ax]
    assert made.line_.get_color() == "red"
    assert ax.get_xlabel() == "rows read"
    assert len(made.to_frame("polars")) + len(made.result.alarms) == len(made.line_.get_xdata())


def test_dates_stand_below_the_rows():
    monitor = cal.Monitor(tolerance=0.01)
    monitor.update(*rows(), time=np.datetime64("2026-01-01") + np.arange(3000) // 100)
    ax = Figure().subplots()
    monitor.history().plot(ax)
    assert ax.get_xticklabels()[-1].get_text().endswith("2026-01-30")


def test_every_alarm_reaches_the_threshold():
    """Also those between rows that are kept, after which evidence begins anew."""
    monitor = cal.Monitor(tolerance=0.0, mode="rate", horizon=1000)
    monitor.update(*rows(power=0.2))
    history = monitor.history()
    assert len(history.alarms) > 2
    made = history.plot(Figure().subplots())
    row, evidence = made.line_.get_data()
    assert set(row[evidence >= history.log_threshold]) >= set(history.alarms)
    assert len(set(history.alarms) - set(history.row)) > 2
    assert (np.diff(row) >= 0).all()
    breaks = row[np.isnan(evidence)]
    assert set(history.alarms[:-1]) <= set(breaks) <= set(history.alarms)
    assert f"the latest {len(history.alarms)} alarms" in made.how_to_read


def test_before_the_first_block_there_is_no_bias():
    y, score = rows(100)
    monitor = cal.Monitor(tolerance=0.01, blocks=True)
    monitor.update(y, score, block=np.zeros(100))
    made = monitor.history().plot()
    made.figure_.draw_without_rendering()
    plt.close("all")
    assert made.figure_.axes[1].get_ylim() == (-1.1, 1.1)
    assert next(made.readings()).text == "row 32: evidence 1, bias unknown (unknown)"


def test_readings_say_row_time_and_numbers():
    monitor = cal.Monitor(tolerance=0.01)
    monitor.update(*rows(), time=np.datetime64("2026-01-01") + np.arange(3000) // 100)
    made = monitor.history().plot(Figure().subplots())
    found = [reading.text for reading in made.readings()]
    assert len(found) == len(made.result.row)
    assert re.fullmatch(r"row 2,944, 2026-01-30: evidence [\d.e+]+, bias 0\.\d+ \(0\.\d+ to 0\.\d+\)", found[-1])


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
    monitor = cal.Monitor(0.1)
    monitor.update([0, 1], [0.2, 0.7])
    with pytest.raises(ArgumentError, match="a monitor that has read 16 rows"):
        monitor.history().plot(Figure().subplots())


def test_what_is_not_finite_is_not_told():
    rng = np.random.default_rng(0)
    score = rng.uniform(size=3000)
    monitor = cal.Monitor(0.02, mode="rate")
    monitor.update(rng.uniform(size=3000) < score, score)
    assert "inf" not in MonitorDisplay(monitor.history()).description
