"""The pictures of an audit are tested by what they claim, not by their pixels."""

import math
import subprocess
import sys
from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

import calibrant
from calibrant.auditing.verdict import verdict_sentence
from calibrant.plots import AuditDisplay, figure_svg
from calibrant.plots.audit import costs_of, cumulative_residuals_of, decisions_of, reliability_of
from calibrant.plots.cumulative_residuals import crowded
from calibrant.plots.style import LIGHT


def boxes(ax):
    return [patch.get_path().transformed(patch.get_patch_transform()).get_extents() for patch in ax.patches]


def spans(ax):
    """Horizontal reach of the bands from bottom to top."""
    return [(box.x0, box.x1) for box in boxes(ax) if (box.y0, box.y1) == (0.0, 1.0)]


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.fixture
def audit(audit_of, kind):
    return audit_of(kind)


class TestEveryKind:
    @pytest.mark.slow
    def test_pictures_of_a_page_are_within_their_figures(self, audit):
        shown = (reliability_of(audit), cumulative_residuals_of(audit), decisions_of(audit), costs_of(audit))
        for display in filter(None, shown):
            figure = display.own_figure()
            FigureCanvasAgg(figure).draw()
            width, height = figure.get_size_inches()
            drawn = figure.get_tightbbox()
            assert 0.0 <= drawn.x0 < drawn.x1 <= width
            assert 0.0 <= drawn.y0 < drawn.y1 <= height
            panels = [ax.get_tightbbox() for ax in figure.axes]
            assert all(lower.y1 <= upper.y0 for upper, lower in pairwise(panels))

    @pytest.mark.slow
    @pytest.mark.grid
    def test_figure_can_be_drawn(self, audit, tmp_path):
        figure = AuditDisplay(audit).own_figure()
        figure.savefig(tmp_path / "audit.png", dpi=40)
        assert len(figure.get_axes()) == 3

    @pytest.mark.grid
    def test_everything_lies_inside_the_axes(self, audit):
        ax, beneath = reliability_of(audit).own_figure().get_axes()
        (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
        curve = audit.reliability
        assert left <= curve.score.min()
        assert curve.score.max() <= right
        assert bottom <= np.nanmin([curve.rate, curve.lower])
        assert np.nanmax([curve.rate, curve.upper]) <= top
        assert beneath.get_xlim() == ax.get_xlim()

    @pytest.mark.grid
    def test_cumulative_residuals_are_those_of_the_audit(self, audit):
        (ax,) = cumulative_residuals_of(audit).own_figure().get_axes()
        line = next(line for line in ax.lines if line.get_color() == LIGHT.blue)
        at = (
            audit.cumulative_residuals.share
            if crowded(audit.cumulative_residuals)
            else audit.cumulative_residuals.score
        )
        end = 1 + len(at)
        assert np.array_equal(line.get_xdata()[1:end], at)
        assert np.array_equal(line.get_ydata()[1:end], audit.cumulative_residuals.value)
        assert line.get_ydata()[0] == 0.0
        drawn = line.get_ydata()
        assert max(drawn) - min(drawn) == pytest.approx(audit.cutoff.value, abs=1e-12)
        assert ax.get_ylim()[0] < min(drawn)
        assert max(drawn) < ax.get_ylim()[1]


class TestReliability:
    @pytest.mark.slow
    def test_axes_say_what_they_are(self, audit_of):
        ax, beneath = reliability_of(audit_of("spread")).own_figure().get_axes()
        assert ax.get_ylabel() == "observed rate"
        assert beneath.get_xlabel() == "predicted probability"

    @pytest.mark.slow
    def test_shaded_span_is_the_interval(self, audit_of):
        audit = audit_of("spread")
        ax, _ = reliability_of(audit).own_figure().get_axes()
        assert spans(ax) == [pytest.approx(audit.cutoff.interval)]

    def test_interval_without_lower_end_starts_at_the_edge(self, audit_of):
        audit = audit_of("one score")
        assert audit.cutoff.interval == (-math.inf, 0.35)
        ax, _ = reliability_of(audit).own_figure().get_axes()
        assert spans(ax) == [pytest.approx((ax.get_xlim()[0], 0.35))]

    def test_no_error_no_span_and_no_word_about_it(self, audit_of):
        audit = audit_of("no error")
        ax, _ = reliability_of(audit).own_figure().get_axes()
        assert not spans(ax)
        assert "shaded" not in reliability_of(audit).how_to_read

    def test_legend_names_the_worst_interval(self, audit_of):
        ax, _ = reliability_of(audit_of("spread")).own_figure().get_axes()
        assert any(label.startswith("mean predicted ") and ", observed " in label for label in labels(ax))
        assert "bins with 95% intervals" in labels(ax)

    def test_no_intervals_mentioned_where_there_are_none(self, audit_of):
        ax, _ = reliability_of(audit_of("weights")).own_figure().get_axes()
        assert "bins" in labels(ax)
        assert "interval for" not in reliability_of(audit_of("weights")).how_to_read

    @pytest.mark.slow
    def test_close_scores_are_counted_where_they_are(self, audit_of):
        audit = audit_of("rare")
        _, beneath = reliability_of(audit).own_figure().get_axes()
        assert len(beneath.collections[0].get_paths()) == 40
        assert audit.histogram.view.high < 0.0011

    def test_readings_are_the_bins(self, audit_of):
        display = reliability_of(audit_of("spread"))
        figure = display.own_figure()
        bins = [reading for reading in display.readings() if reading.text.startswith("bin of ")]
        assert len(bins) == 10
        for reading, score, rate in zip(bins, display.points.score, display.points.rate, strict=True):
            assert reading.low <= score <= reading.high
            assert f"observed {100 * rate:.1f}%" in reading.text
        svg = figure_svg(figure, readings=display.readings())
        assert svg.count("<rect x=") >= svg.count("<title>") > 40

    def test_local_regression_is_drawn_and_in_the_table(self, audit_of):
        audit = audit_of("spread")
        ax, _ = reliability_of(audit).own_figure().get_axes()
        line = next(line for line in ax.lines if line.get_label().startswith("loess"))
        assert np.array_equal(line.get_ydata(), audit.local.rate)
        assert set(reliability_of(audit).columns()["part"]) == {"binned", "isotonic", "local", "band"}


class TestWalk:
    def test_span_and_height_are_those_of_the_error(self, audit_of):
        audit = audit_of("spread")
        (ax,) = cumulative_residuals_of(audit).own_figure().get_axes()
        assert spans(ax) == [pytest.approx(audit.cutoff.interval)]
        assert f"calibration error {audit.cutoff.value:.4f}" in {text.get_text() for text in ax.texts}
        assert ax.get_xlabel() == "score"

    @pytest.mark.slow
    def test_crowded_scores_are_drawn_over_rows_and_the_words_say_so(self, audit_of):
        audit = audit_of("crowded")
        (ax,) = cumulative_residuals_of(audit).own_figure().get_axes()
        assert ax.get_xlabel() == "rows, ordered by score"
        assert "ordered by score" in cumulative_residuals_of(audit).how_to_read
        assert "ordered by score" not in cumulative_residuals_of(audit_of("spread")).how_to_read
        low, high = audit.cutoff.interval
        at = dict(zip(audit.cumulative_residuals.score, audit.cumulative_residuals.share, strict=True))
        assert spans(ax) == [pytest.approx((at.get(low, 0.0), at[high]))]

    def test_noise_band_has_the_height_of_the_noise(self, audit_of):
        audit = audit_of("spread")
        (ax,) = cumulative_residuals_of(audit).own_figure().get_axes()
        band = next(box for box in boxes(ax) if box.height == pytest.approx(audit.cutoff.null_q95))
        assert band.y0 <= 0.0 <= band.y1  # where the line starts


class TestHeader:
    @pytest.mark.slow
    def test_a_long_verdict_is_inside_the_figure_and_below_the_name(self, monkeypatch):
        rng = np.random.default_rng(0)
        p = rng.uniform(size=4_000)
        y = rng.uniform(size=4_000) < 0.9 * p
        audit = calibrant.audit(y, p, tolerance=0.03, cluster=np.arange(4_000) // 50, name="A name")
        long = f"{verdict_sentence(audit)} {verdict_sentence(audit)}"
        monkeypatch.setattr("calibrant.plots.audit.verdict_sentence", lambda _: long)
        figure = AuditDisplay(audit).own_figure()
        figure.draw_without_rendering()
        name, verdict = figure.subfigs[0].texts
        assert verdict.get_text().replace("\n", " ") == long
        assert "\n" in verdict.get_text()
        drawn = verdict.get_window_extent()
        assert figure.bbox.x0 <= drawn.x0 < drawn.x1 <= figure.bbox.x1
        assert figure.subfigs[0].bbox.y0 <= drawn.y0 < drawn.y1 <= name.get_window_extent().y0


class TestNothingGlobal:
    @pytest.mark.slow
    def test_settings_of_the_user_stay_and_do_not_matter(self, audit_of):
        audit = audit_of("spread")
        plain = figure_svg(cumulative_residuals_of(audit).own_figure())
        with mpl.rc_context({"lines.linewidth": 9.0, "axes.facecolor": "black", "font.size": 30.0}):
            before = dict(mpl.rcParams)
            assert figure_svg(cumulative_residuals_of(audit).own_figure()) == plain
            AuditDisplay(audit).own_figure()
            assert dict(mpl.rcParams) == before

    @pytest.mark.slow
    def test_names_are_not_read_as_mathematics(self, tmp_path):
        audit = calibrant.audit([0, 1], [0.2, 0.7], name=r"$\frac$ & co")
        AuditDisplay(audit).own_figure().savefig(tmp_path / "a.png", dpi=20)

    @pytest.mark.slow
    def test_pyplot_is_not_imported(self):
        program = (
            "import sys, calibrant\n"
            "audit = calibrant.audit([0, 1, 1, 0], [0.1, 0.4, 0.8, 0.9])\n"
            "assert 'matplotlib' not in sys.modules\n"
            "from calibrant.plots import AuditDisplay\n"
            "AuditDisplay(audit).own_figure().canvas.draw()\n"
            "audit.to_html()\n"
            "assert 'matplotlib.pyplot' not in sys.modules\n"
        )
        subprocess.run([sys.executable, "-c", program], check=True)
