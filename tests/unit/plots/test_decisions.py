"""Cost curves and decision curves."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from calibrant import ScoreTable
from calibrant.decisions import cost_curve, net_benefit
from calibrant.errors import ArgumentError
from calibrant.plots import CostCurveDisplay, DecisionCurveDisplay


def axes():
    return Figure().subplots()


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def drawn(ax):
    return {line.get_label(): line.get_ydata().tolist() for line in ax.lines}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(4)
    s = rng.uniform(size=500)
    return (rng.uniform(size=500) < s**1.5).astype(int), s


class TestCosts:
    def test_lines_are_the_costs(self, rows):
        y, s = rows
        display = CostCurveDisplay(cost_curve(y, s, after=s**1.5)).plot(axes())
        curve = cost_curve(y, s, s**1.5)
        lines = drawn(display.ax_)
        assert display.line_.get_xdata().tolist() == curve.cost_parameter.tolist()
        assert lines["before recalibration"] == curve.cost_before.tolist()
        assert lines[f"after: {curve.overall_ratio:.3g} times the cost"] == curve.cost_after.tolist()
        assert lines["best threshold (in-sample)"] == curve.cost_best.tolist()
        assert "reduces the cost" in display.how_to_read

    def test_alone_it_is_not_called_before(self, rows):
        display = CostCurveDisplay(cost_curve(*rows)).plot(axes())
        assert labels(display.ax_)[0] == "thresholding the scores"
        assert "after" not in " ".join(labels(display.ax_))

    def test_ratio_that_is_not_defined(self):
        display = CostCurveDisplay(cost_curve([0, 1], [0.0, 1.0], after=[0.3, 0.6])).plot(axes())
        assert "after" in labels(display.ax_)

    def test_chosen_parameters(self, rows):
        display = CostCurveDisplay(cost_curve(*rows, at=[0.25, 0.5])).plot(axes())
        assert display.line_.get_xdata().tolist() == [0.25, 0.5]
        with pytest.raises(ArgumentError):
            CostCurveDisplay(cost_curve(*rows, at=[0.0, 0.5])).plot()
        with pytest.raises(ArgumentError, match="n_points"):
            CostCurveDisplay(cost_curve(*rows, n_points=0)).plot()

    def test_two_models(self, rows):
        y, s = rows
        ax = axes()
        CostCurveDisplay(cost_curve(y, s), name="one").plot(ax)
        CostCurveDisplay(cost_curve(y, 0.1 * s), name="two").plot(ax)
        assert labels(ax) == ["one", "two", "best threshold (in-sample)"]
        assert ax.get_xlim() == (0.0, 1.0)

    def test_a_table_has_no_after(self, rows):
        table = ScoreTable.from_scores(*rows)
        with pytest.raises(ArgumentError, match="scores after"):
            CostCurveDisplay(cost_curve(table, after=rows[1])).plot()


class TestDecisionCurve:
    def test_lines_are_the_net_benefits(self, rows):
        display = DecisionCurveDisplay(net_benefit(*rows)).plot(axes())
        curve, lines = net_benefit(*rows), drawn(display.ax_)
        assert lines["thresholding the scores, 95% intervals"] == curve.net_benefit.tolist()
        assert lines["treat all"] == curve.treat_all.tolist()
        assert lines["treat none"] == curve.treat_none.tolist()
        assert display.to_frame("polars")["net_benefit"].to_list() == curve.net_benefit.tolist()

    def test_strip_is_the_interval(self, rows):
        display = DecisionCurveDisplay(net_benefit(*rows, confidence_level=0.8)).plot(axes())
        (strip,) = display.ax_.collections
        reach = np.concatenate([path.vertices for path in strip.get_paths()])[:, 1]
        assert reach.min() == pytest.approx(np.nanmin(display.result.lower))
        assert reach.max() == pytest.approx(np.nanmax(display.result.upper))
        assert "thresholding the scores, 80% intervals" in labels(display.ax_)

    def test_no_strip_for_weights_that_are_no_rows(self, rows):
        display = DecisionCurveDisplay(net_benefit(*rows, sample_weight=np.full(500, 0.5))).plot(axes())
        assert not display.ax_.collections
        assert "strip" not in display.how_to_read
        assert "thresholding the scores" in labels(display.ax_)

    def test_what_counts_is_in_view(self, rows):
        display = DecisionCurveDisplay(net_benefit(*rows)).plot(axes())
        bottom, top = display.ax_.get_ylim()
        assert top > display.result.net_benefit.max()
        assert bottom > display.result.treat_all.min()
        assert bottom < 0.0

    def test_scores_that_do_harm(self, rows_of):
        y, s, _ = rows_of("three positives")
        display = DecisionCurveDisplay(net_benefit(y, s)).plot(axes())
        assert display.result.net_benefit.min() < 0.0
        assert display.ax_.get_ylim()[0] < -display.result.net_benefit.max()

    def test_two_models(self, rows):
        y, s = rows
        ax = axes()
        DecisionCurveDisplay(net_benefit(y, s), name="one").plot(ax)
        before = ax.get_ylim()
        DecisionCurveDisplay(net_benefit(y, 0.1 * s), name="two").plot(ax)
        assert labels(ax)[:2] == ["one, 95% intervals", "two, 95% intervals"]
        assert labels(ax).count("treat all") == 1
        assert ax.get_ylim()[1] >= before[1]
        assert ax.get_xlim() == (0.0, 1.0)


class TestSeveralModels:
    def test_lines_strips_and_table(self, rows):
        y, s = rows
        curves = [net_benefit(y, score, at=[0.2, 0.4]) for score in (s, s**2)]
        display = DecisionCurveDisplay(curves[0], name="old", beside={"new": curves[1]})
        figure = display.own_figure()
        labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
        assert labels[:2] == ["old, 95% intervals", "new, 95% intervals"]
        assert len(figure.axes[0].collections) == 2
        columns = display.columns()
        assert columns["model"].tolist() == ["old", "old", "new", "new"]
        assert columns["net_benefit"].tolist() == [*curves[0].net_benefit, *curves[1].net_benefit]
        (first, _) = display.readings()
        assert "net benefit old " in first.text
        assert ", new " in first.text
