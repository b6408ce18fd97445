"""Pictures of predicted means."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.linear_model import PoissonRegressor

from calibrant.curves import binned_means, concentration_curve, isotonic_means
from calibrant.errors import ArgumentError
from calibrant.plots import ConcentrationDisplay, MeanReliabilityDisplay, draw

both = pytest.mark.parametrize("display", [MeanReliabilityDisplay, ConcentrationDisplay])


def make(display, z, f, w, ax, **named):
    if display is ConcentrationDisplay:
        return display(concentration_curve(z, f, exposure=w), **named).plot(ax)
    return display.from_predictions(z, f, exposure=w, ax=ax, **named)


def book(n=400, size=1.0):
    rng = np.random.default_rng(0)
    rate = 0.8 * np.exp(0.5 * rng.standard_normal(n))
    exposure = rng.uniform(0.1, 1.0, n)
    return size * rng.poisson(exposure * rate), size * rate, exposure


def texts(ax):
    return [ax.get_xlabel(), ax.get_ylabel(), *(text.get_text() for text in ax.texts)]


@both
class TestBoth:
    def test_on_given_axes_and_pyplot_hears_nothing(self, display):
        ax = Figure().subplots()
        z, f, w = book()
        made = make(display, z, f, w, ax, name="GLM")
        assert made.ax_ is ax
        assert plt.get_fignums() == []
        ax.figure.draw_without_rendering()
        assert "GLM" in ax.get_legend_handles_labels()[1][-1] + ax.get_legend_handles_labels()[1][0]

    def test_for_a_page(self, display):
        z, f, w = book(size=20_000.0)
        made = make(display, z, f, w, Figure().subplots())
        figure = made.own_figure()
        figure.draw_without_rendering()
        for label in (made.ax_.xaxis.label, made.ax_.yaxis.label):
            box, whole = label.get_window_extent(), figure.bbox
            assert box.x0 >= whole.x0
            assert box.y0 >= whole.y0
            assert box.y1 <= whole.y1
        assert all("nan" not in reading.text for reading in made.readings())
        assert len(list(made.readings())) > 5
        assert len(made.how_to_read) < 600


class TestReliability:
    def test_of_a_regressor(self):
        z, f, _ = book()
        X = np.log(f)[:, None]
        regressor = PoissonRegressor().fit(X, z)
        made = MeanReliabilityDisplay.from_estimator(regressor, X, z, ax=Figure().subplots())
        same = MeanReliabilityDisplay.from_predictions(z, regressor.predict(X), ax=Figure().subplots())
        assert made.name == "PoissonRegressor"
        assert made.to_frame("pandas").equals(same.to_frame("pandas"))

    def test_from_results(self):
        z, f, w = book()
        points, line = binned_means(z, f, exposure=w), isotonic_means(z, f, exposure=w)
        for curve in (points, line):
            assert draw(curve, Figure().subplots()).line_.get_ydata() == pytest.approx(curve.rate)

    def test_logarithmic(self):
        z, f, w = book()
        made = MeanReliabilityDisplay.from_predictions(z, f, exposure=w, scale="log", ax=Figure().subplots())
        assert (made.ax_.get_xscale(), made.ax_.get_yscale()) == ("log", "log")
        assert 0.0 < made.ax_.get_xlim()[0] < made.points.score[0]
        assert made.ax_.get_ylim()[0] > 0.0
        assert "logarithmic" in made.how_to_read

    def test_logarithmic_axes_have_ticks_whatever_they_show(self):
        for low, high in ((0.55, 0.9), (90.0, 5_000.0)):
            f = np.repeat(np.geomspace(low, high, 20), 10)
            made = MeanReliabilityDisplay.from_predictions(f, f, scale="log", ax=Figure().subplots())
            for axis in (made.ax_.xaxis, made.ax_.yaxis):
                ends = axis.get_view_interval()
                assert 3 <= ((axis.get_majorticklocs() >= ends[0]) & (axis.get_majorticklocs() <= ends[1])).sum() <= 9

    def test_the_diagonal_is_where_both_agree(self):
        z, f, w = book()
        for scale in ("linear", "log"):
            made = MeanReliabilityDisplay.from_predictions(z, f, exposure=w, scale=scale, ax=Figure().subplots())
            (diagonal,) = (line for line in made.ax_.lines if line.get_label() == "perfect calibration")
            ends = diagonal.get_transform().transform(diagonal.get_path().vertices)
            across, up = made.ax_.transData.inverted().transform(ends).T
            assert across == pytest.approx(up)

    def test_far_intervals_do_not_squeeze_the_bins(self):
        z = np.array([0.0] * 30 + [1.0, 1e-3] + [1.0, 2.0, 3.0] * 11)
        f = np.append(np.full(32, 0.1), np.full(33, 2.0))
        made = MeanReliabilityDisplay.from_predictions(z, f, n_bins=2, ax=Figure().subplots())
        assert np.nanmax(made.points.upper) > 100.0
        assert made.ax_.get_ylim()[1] < 10.0

    def test_nothing_to_draw(self):
        with pytest.raises(ArgumentError, match="points, a line or a band"):
            MeanReliabilityDisplay()
        with pytest.raises(ArgumentError, match="scale='linear'"):
            MeanReliabilityDisplay(binned_means([0, 0], [0.0, 0.0]), scale="log").plot(Figure().subplots())

    def test_one_prediction(self):
        made = MeanReliabilityDisplay.from_predictions([0, 1, 3], [1.0, 1.0, 1.0], ax=Figure().subplots())
        made.figure_.draw_without_rendering()
        assert made.line_.get_xdata().tolist() == [1.0]


class TestConcentration:
    @pytest.mark.parametrize(
        ("unit", "label"),
        [("predicted", "share of predicted"), ("observed", "share of observed"), ("rows", "per row")],
    )
    def test_says_what_it_is_a_share_of(self, unit, label):
        z, f, w = book()
        made = ConcentrationDisplay(concentration_curve(z, f, exposure=w, relative_to=unit)).plot()
        assert made.ax_.get_ylabel() == f"cumulative residuals, {label}"
        assert any(f"% of {unit}" in text for text in texts(made.ax_)) == (unit != "rows")
        assert ("Lorenz" in made.how_to_read) == (unit != "rows")
        plt.close("all")

    @pytest.mark.parametrize(
        ("weights", "across", "unit"),
        [
            ({}, "rows", "row"),
            ({"exposure": 1}, "exposure", "unit of exposure"),
            ({"sample_weight": 1}, "weight", "unit of weight"),
        ],
    )
    def test_says_what_is_across(self, weights, across, unit):
        z, f, w = book()
        rows = dict.fromkeys(weights, w)
        made = ConcentrationDisplay(concentration_curve(z, f, **rows, relative_to="exposure")).plot(Figure().subplots())
        assert made.ax_.get_xlabel() == f"{across}, ordered by prediction"
        assert made.ax_.get_ylabel() == f"cumulative residuals, per {unit}"
        assert made.how_to_read.startswith(f"x-axis: {across}")
        assert next(made.readings()).text.split(":")[0].endswith(f"of {across}")

    def test_large_predictions_are_written_out(self):
        z, f, w = book(size=20_000.0)
        made = ConcentrationDisplay(concentration_curve(z, f, exposure=w)).plot(Figure().subplots())
        labels = [label.get_text() for label in made.ax_.child_axes[0].get_xticklabels()]
        assert all("," in label and "e" not in label for label in labels)

    def test_from_a_result(self):
        curve = concentration_curve(*book()[:2])
        assert draw(curve, Figure().subplots()).line_.get_ydata()[1:] == pytest.approx(curve.value)
