"""The reliability diagram: what is drawn is what was computed."""

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure

from calibrant import ScoreTable
from calibrant.certificates import isotonic_band
from calibrant.curves import binned_curve, isotonic_curve, local_curve, score_histogram
from calibrant.errors import ArgumentError
from calibrant.metrics import cutoff_calibration
from calibrant.plots import ReliabilityDisplay


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(4)
    s = rng.uniform(size=800)
    return ScoreTable.from_scores(rng.uniform(size=800) < s**1.5, s)


def axes():
    return Figure().subplots()


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def by_label(ax, start):
    return next(line for line in ax.lines if line.get_label().startswith(start))


def areas(ax):
    return {collection.get_label(): collection.get_paths()[0].vertices for collection in ax.collections}


def bar_heights(bars):
    return [path.vertices[1, 1] for path in bars.get_paths()]


class TestLayers:
    def test_points_and_intervals_are_those_of_the_curve(self, table):
        ax = axes()
        display = ReliabilityDisplay.from_predictions(table, n_bins=7, strategy="uniform", confidence_level=0.9, ax=ax)
        curve = binned_curve(table, n_bins=7, strategy="uniform", confidence_level=0.9)
        points, _, (bars,) = ax.containers[0]
        assert display.line_ is points
        assert np.array_equal(points.get_xdata(), curve.score)
        assert np.array_equal(points.get_ydata(), curve.rate)
        ends = np.array([segment[:, 1] for segment in bars.get_segments()])
        assert ends[:, 0] == pytest.approx(curve.lower)
        assert ends[:, 1] == pytest.approx(curve.upper)
        assert "bins with 90% intervals" in labels(ax)

    def test_isotonic_line(self, table):
        ax = axes()
        ReliabilityDisplay.from_predictions(table, ax=ax)
        line, curve = by_label(ax, "isotonic curve"), isotonic_curve(table)
        assert np.array_equal(line.get_xdata(), curve.score)
        assert np.array_equal(line.get_ydata(), curve.rate)

    def test_local_line_with_its_intervals(self, table):
        ax = axes()
        display = ReliabilityDisplay.from_predictions(table, n_bins=None, curve="local", span=0.3, ax=ax)
        curve = local_curve(table, span=0.3)
        assert np.array_equal(display.line_.get_ydata(), curve.rate)
        (strip,) = areas(ax).values()
        assert strip[:, 1].min() == pytest.approx(curve.lower.min())
        assert strip[:, 1].max() == pytest.approx(curve.upper.max())
        assert "local curve with 95% intervals" in labels(ax)
        assert "strip" in display.how_to_read
        assert "Each point" not in display.how_to_read

    def test_no_line(self, table):
        ax = axes()
        display = ReliabilityDisplay.from_predictions(table, curve=None, ax=ax)
        assert display.line is None
        assert labels(ax) == ["bins with 95% intervals", "perfect calibration"]

    @pytest.mark.slow
    def test_diagonal(self, table):
        ax, bare = Figure().subplots(1, 2)
        ReliabilityDisplay.from_predictions(table, ax=ax)
        line = by_label(ax, "perfect calibration")
        assert list(line.get_xdata()) == list(line.get_ydata()) == [0.0, 1.0]
        ReliabilityDisplay.from_predictions(table, ref_line=False, ax=bare)
        assert "perfect calibration" not in labels(bare)

    def test_worst_interval(self, table):
        ax, cutoff = axes(), cutoff_calibration(table)
        display = ReliabilityDisplay(binned_curve(table), worst=cutoff).plot(ax)
        extent = ax.patches[0].get_path().transformed(ax.patches[0].get_patch_transform()).get_extents()
        assert extent.x1 == cutoff.interval[1]
        assert any(label.startswith("mean predicted ") for label in labels(ax))
        assert "shaded" in display.how_to_read

    def test_keywords_reach_the_points(self, table):
        display = ReliabilityDisplay.from_predictions(table, ax=axes(), color="red", marker="s")
        assert display.line_.get_color() == "red"
        assert display.line_.get_marker() == "s"


class TestBand:
    def test_between_scores_it_has_the_limits_that_hold_there(self):
        band = SimpleNamespace(
            score=np.array([0.1, 0.5, 0.9]),
            lower=np.array([0.0, 0.2, 0.6]),
            upper=np.array([0.3, 0.7, 1.0]),
            confidence_level=0.9,
        )
        ax = axes()
        ReliabilityDisplay(band=band).plot(ax)
        outline = {tuple(vertex) for vertex in areas(ax)["simultaneous 90% band"].tolist()}
        # Right after 0.1 the lower limit is still that of 0.1, the upper one already that of 0.5.
        assert {(0.1, 0.0), (0.1, 0.7), (0.5, 0.0), (0.5, 0.2), (0.5, 1.0), (0.9, 0.2), (0.9, 1.0)} <= outline

    def test_certificate(self, table):
        ax, band = axes(), isotonic_band(table, confidence_level=0.95)
        display = ReliabilityDisplay.from_predictions(table, band=band, ax=ax)
        assert "simultaneous 95% band" in labels(ax)
        assert "holds at all scores simultaneously" in display.how_to_read
        frame = display.to_frame("polars")
        assert frame.filter(frame["part"] == "band")["upper"].to_list() == band.upper.tolist()

    def test_intervals_that_hold_by_themselves_are_no_band(self, table):
        with pytest.raises(ArgumentError, match="intervals are pointwise"):
            ReliabilityDisplay(band=binned_curve(table))

    @pytest.mark.parametrize(
        "band",
        [
            3,
            SimpleNamespace(score=np.zeros(2), lower=np.zeros(2)),
            SimpleNamespace(score=np.zeros(2), lower=np.zeros(2), upper=np.zeros(3)),
        ],
    )
    def test_what_is_no_band(self, table, band):
        with pytest.raises(ArgumentError, match="score, lower and upper"):
            ReliabilityDisplay.from_predictions(table, band=band)

    def test_wide_band_does_not_squeeze_the_points(self):
        rng = np.random.default_rng(0)
        s = rng.uniform(0, 0.001, 3000)
        table = ScoreTable.from_scores(rng.uniform(size=3000) < s, s)
        display = ReliabilityDisplay.from_predictions(table, band=isotonic_band(table), ax=axes(), distribution=False)
        assert isotonic_band(table).upper.max() == 1.0
        assert display.ax_.get_ylim()[1] < 0.05


class TestDistribution:
    def test_own_figure_has_a_panel(self, table):
        display = ReliabilityDisplay.from_predictions(table)
        ups, downs = map(bar_heights, display.distribution_ax_.collections)
        histogram = score_histogram(table)
        assert ups == (histogram.positives / histogram.positives.sum()).tolist()
        assert downs == (-histogram.negatives / histogram.negatives.sum()).tolist()
        assert display.distribution_ax_.get_xlim() == display.ax_.get_xlim()
        assert len(display.figure_.get_axes()) == 2

    @pytest.mark.slow
    def test_given_axes_have_a_strip_that_hides_nothing(self, table):
        ax = axes()
        display = ReliabilityDisplay.from_predictions(table, ax=ax)
        ax.figure.canvas.draw()
        strip = display.distribution_ax_.get_window_extent()
        lowest = ax.transData.transform((0.0, np.nanmin([display.points.lower, display.points.rate])))[1]
        assert strip.y1 < lowest
        assert strip.y1 < ax.get_legend().get_window_extent().y0
        assert display.distribution_ax_.get_xlim() == ax.get_xlim()
        assert min(ax.get_yticks()) >= 0.0

    def test_without(self, table):
        ax = axes()
        display = ReliabilityDisplay.from_predictions(table, ax=ax, distribution=False)
        assert display.distribution_ax_ is None
        assert ax.child_axes == []
        assert "Lower panel" not in display.how_to_read
        assert "Lower panel" in ReliabilityDisplay.from_predictions(table, ax=axes()).how_to_read

    def test_small_scores_are_drawn_by_class(self):
        rng = np.random.default_rng(0)
        s = 10 ** rng.uniform(-5, -3, 2000)
        y = np.arange(2000) < 5
        display = ReliabilityDisplay.from_predictions(y, s)
        assert display.ax_.get_xlim()[1] < 0.0012
        ups, downs = map(bar_heights, display.distribution_ax_.collections)
        assert (sum(ups), sum(downs)) == pytest.approx((1.0, -1.0))
        assert sum(height < 0 for height in downs) > 20

    def test_both_classes_have_one_scale(self, rows_of):
        y, s, _ = rows_of("three positives")
        ax = ReliabilityDisplay.from_predictions(y, s).distribution_ax_
        (_, zero), (_, up), (_, down) = ax.transData.transform([(0.01, 0.0), (0.01, 0.1), (0.01, -0.1)])
        assert up - zero == pytest.approx(zero - down)
        assert ax.get_yscale() == "linear"
        assert max(bar_heights(ax.collections[0])) >= 1 / 3


class TestSecondModel:
    def test_other_colour_one_diagonal_one_strip(self, table):
        ax = axes()
        first = ReliabilityDisplay.from_predictions(table, ax=ax, name="one")
        second = ReliabilityDisplay.from_predictions(table, ax=ax, name="two")
        assert first.line_.get_color() != second.line_.get_color()
        assert labels(ax) == [
            "one with 95% intervals",
            "two with 95% intervals",
            "isotonic curve",
            "perfect calibration",
        ]
        assert len(ax.child_axes) == 1
        assert second.distribution_ax_ is None

    def test_both_stay_in_view(self):
        ax = axes()
        ReliabilityDisplay.from_predictions([0, 1, 0], [0.01, 0.02, 0.03], ax=ax)
        ReliabilityDisplay.from_predictions([0, 1, 0], [0.9, 0.91, 0.92], ax=ax)
        assert ax.get_xlim()[0] <= 0.01
        assert ax.get_xlim()[1] >= 0.92

    def test_third_time_the_limits_stay(self, table):
        ax = axes()
        display = ReliabilityDisplay.from_predictions(table, ax=ax)
        before = ax.get_ylim()
        for _ in range(3):
            display.plot(ax)
        assert ax.get_ylim() == pytest.approx(before)


class TestTable:
    def test_parts_one_under_the_other(self, table):
        display = ReliabilityDisplay.from_predictions(table, n_bins=4, ax=axes())
        frame, curve, line = display.to_frame("polars"), binned_curve(table, n_bins=4), isotonic_curve(table)
        assert frame.columns == ["part", "score", "rate", "lower", "upper", "n"]
        assert frame["part"].to_list() == ["binned"] * 4 + ["isotonic"] * len(line.score)
        assert frame["rate"].to_list() == [*curve.rate, *line.rate]
        assert frame["n"].to_list() == [*curve.n, *line.n]
        assert display.distribution.to_frame("polars").columns == ["low", "high", "positives", "negatives"]


class TestArguments:
    def test_nothing_to_draw(self, table):
        with pytest.raises(ArgumentError, match="points, a line or a band"):
            ReliabilityDisplay.from_predictions(table, n_bins=None, curve=None)

    @pytest.mark.parametrize(
        ("keywords", "match"),
        [
            ({"curve": "spline"}, "curve"),
            ({"n_bins": 0}, "n_bins"),
            ({"confidence_level": 2.0}, "confidence_level"),
            ({"strategy": "x"}, "strategy"),
        ],
    )
    def test_out_of_range(self, table, keywords, match):
        with pytest.raises(ArgumentError, match=match):
            ReliabilityDisplay.from_predictions(table, **keywords)

    def test_positive_class_is_on_the_axis(self):
        display = ReliabilityDisplay.from_predictions(["a", "b"], [0.2, 0.9], pos_label="b", ax=axes())
        assert display.ax_.get_ylabel() == "observed rate (b)"


def test_who_does_not_see_it_is_told_of_its_line():
    curve = binned_curve([0, 1, 0, 0, 1, 1], [0.2, 0.2, 0.5, 0.5, 0.8, 0.8], n_bins=3)
    told = "Observed rate by mean predicted probability, at 3 points: "
    assert ReliabilityDisplay(curve).description == f"{told}0.5 at 0.2, 0 at 0.5 (lowest), 1 at 0.8 (highest)."
    level = ReliabilityDisplay(binned_curve([0, 1], [0.5, 0.5], n_bins=1))
    assert level.description.endswith("at 1 point: 0.5 at 0.5.")
