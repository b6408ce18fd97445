"""Selective risk by coverage: what is drawn are the counts of the cut-offs."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import calibrant as cal
from calibrant.plots import RiskCoverageDisplay, draw


def judge(n=2_000, seed=0):
    rng = np.random.default_rng(seed)
    score = rng.choice([0.5, 0.8, 0.9, 0.95, 1.0], n)
    return rng.uniform(size=n) < np.where(score > 0.85, 0.98, score), score


def lines(display):
    return {line.get_label(): line for line in display.ax_.lines}


def test_lines_are_the_counts():
    correct, score = judge()
    result = cal.selective(correct, score)
    display = result.plot(ax=Figure().subplots())
    assert isinstance(display, RiskCoverageDisplay)
    drawn = lines(display)
    x, risk = display.line_.get_data()
    for cut, coverage, wrong in zip([1.0, 0.95, 0.9, 0.8, 0.5], x[1:], risk[1:], strict=True):
        accepted = score >= cut
        assert coverage == accepted.mean()
        assert wrong == (~correct[accepted]).mean()
    certified = drawn["certified"].get_ydata()[1:]
    np.testing.assert_array_equal(np.isfinite(certified), result.curve.certified)
    np.testing.assert_array_equal(certified[:3], risk[1:4])
    np.testing.assert_array_equal(drawn["allowed"].get_ydata()[1:], result.curve.allowed_errors / result.curve.accepted)
    assert drawn["target 5%"].get_ydata()[0] == 0.05
    assert [text.get_text() for text in display.ax_.texts] == [" 0.9 and above "]
    assert display.to_frame("polars")["threshold"].to_list() == [1.0, 0.95, 0.9, 0.8, 0.5]


def test_where_nothing_is_certified():
    correct, score = judge(60)
    display = cal.selective(correct, score, target_error=0.01).plot(ax=Figure().subplots())
    assert not {"certified"} & set(lines(display))
    assert not display.ax_.texts
    assert np.isnan(lines(display)["allowed"].get_ydata()).all()
    display.figure_.draw_without_rendering()


def test_of_negative_decisions():
    y, p = [0] * 450 + [1] * 450, [0.1] * 400 + [0.5] * 100 + [0.9] * 400
    result = cal.selective_binary(y, p)
    assert [text.get_text() for text in result.no.plot(ax=Figure().subplots()).ax_.texts] == [" 0.1 and below "]


@pytest.mark.parametrize("n", [1, 30])
def test_one_score(n):
    display = RiskCoverageDisplay(cal.selective(np.ones(n), np.zeros(n))).plot(Figure().subplots())
    assert display.line_.get_xdata().tolist() == [0.0, 1.0]
    display.figure_.draw_without_rendering()


def test_two_on_shared_axes():
    ax = Figure().subplots()
    for seed in (0, 1):
        draw(cal.selective(*judge(seed=seed)), ax, name=f"judge {seed}")
    colours = [line.get_color() for line in ax.lines if str(line.get_label()).startswith("judge")]
    assert len(set(colours)) == 2
