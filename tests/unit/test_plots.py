"""Pictures are tested by what they claim, not by their pixels."""

import math
import re
import subprocess
import sys
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

import calibrant
from calibrant.curves import residual_walk
from calibrant.plots import (
    audit_figure,
    draw_distribution,
    draw_reliability,
    draw_walk,
    figure_svg,
    reliability_figure,
    walk_figure,
)
from calibrant.plots.style import BLUE, score_view
from calibrant.plots.walk import crowded


def audit_of(kind):
    rng = np.random.default_rng(5)
    weight = None
    if kind == "ten rows":
        y, s = np.array([0, 0, 1, 0, 1, 0, 1, 1, 0, 1]), np.linspace(0.05, 0.95, 10)
    elif kind == "spread":
        s = rng.uniform(size=2000)
        y = rng.uniform(size=2000) < s**1.4
    elif kind == "many":
        s = rng.uniform(size=200_000)
        y = rng.uniform(size=200_000) < s**1.1
    elif kind == "three positives":
        y, s = np.zeros(5000), rng.beta(1, 40, 5000)
        y[[1, 50, 900]] = 1
    elif kind == "one score":
        y, s = rng.uniform(size=500) < 0.3, np.full(500, 0.35)
    elif kind == "no error":
        y, s = np.array([0, 1] * 50), np.full(100, 0.5)
    elif kind == "all within 1e-4":
        s = 0.5 + rng.uniform(-5e-5, 5e-5, 1000)
        y = rng.uniform(size=1000) < 0.5
    elif kind == "rare":
        s = rng.uniform(0, 1e-3, 50_000)
        y = rng.uniform(size=50_000) < 2 * s
    elif kind == "crowded":
        s = 1 / (1 + np.exp(-rng.normal(0, 20, 3000)))
        y = rng.uniform(size=3000) < 0.2 + 0.6 * s
    elif kind == "zeros and ones":
        y, s = np.array([0, 1, 1, 0]), np.array([0.0, 0.0, 1.0, 1.0])
    else:
        s = rng.uniform(size=300)
        y, weight = rng.uniform(size=300) < s, rng.uniform(size=300)
    return calibrant.audit(y, s, sample_weight=weight, tolerance=0.02 if weight is None else None, name=kind)


KINDS = [
    "ten rows",
    "spread",
    "many",
    "three positives",
    "one score",
    "no error",
    "all within 1e-4",
    "rare",
    "crowded",
    "zeros and ones",
    "weights",
]


@pytest.fixture(scope="module", params=KINDS)
def audit(request):
    return audit_of(request.param)


def axes():
    return Figure().subplots()


def spans(ax):
    """Horizontal reach of the bands from bottom to top."""
    return [(box.x0, box.x1) for box in boxes(ax) if (box.y0, box.y1) == (0.0, 1.0)]


def boxes(ax):
    return [patch.get_path().transformed(patch.get_patch_transform()).get_extents() for patch in ax.patches]


class TestEveryKind:
    def test_figure_can_be_drawn(self, audit, tmp_path):
        figure = audit_figure(audit)
        figure.savefig(tmp_path / "audit.png", dpi=40)
        assert len(figure.get_axes()) == 3

    def test_everything_lies_inside_the_axes(self, audit):
        ax, hist_ax = Figure().subplots(2, 1, sharex=True)
        draw_reliability(audit, ax, hist_ax)
        (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
        curve = audit.reliability
        assert left <= curve.score.min()
        assert curve.score.max() <= right
        assert bottom <= np.nanmin([curve.rate, curve.lower])
        assert np.nanmax([curve.rate, curve.upper]) <= top
        assert hist_ax.get_xlim() == ax.get_xlim()

    def test_walk_is_that_of_the_audit(self, audit):
        ax = axes()
        draw_walk(audit.walk, ax, audit.cutoff)
        line = next(line for line in ax.lines if line.get_color() == BLUE)
        at = audit.walk.share if crowded(audit.walk) else audit.walk.score
        end = 1 + len(at)
        assert np.array_equal(line.get_xdata()[1:end], at)
        assert np.array_equal(line.get_ydata()[1:end], audit.walk.value)
        assert line.get_ydata()[0] == 0.0
        drawn = line.get_ydata()
        assert max(drawn) - min(drawn) == pytest.approx(audit.cutoff.value, abs=1e-12)
        assert ax.get_ylim()[0] < min(drawn)
        assert max(drawn) < ax.get_ylim()[1]


class TestReliability:
    def test_axes_say_what_they_are(self):
        ax, hist_ax = Figure().subplots(2, 1, sharex=True)
        draw_reliability(audit_of("spread"), ax, hist_ax)
        assert ax.get_ylabel() == "share that happened"
        assert hist_ax.get_xlabel() == "score = promised share"

    def test_alone_it_labels_its_own_axis(self):
        ax = axes()
        draw_reliability(audit_of("spread"), ax)
        assert ax.get_xlabel() == "score = promised share"

    def test_points_and_intervals_are_those_of_the_curve(self):
        audit, ax = audit_of("spread"), axes()
        draw_reliability(audit, ax)
        points, _, (bars,) = ax.containers[0]
        assert np.array_equal(points.get_xdata(), audit.reliability.score)
        assert np.array_equal(points.get_ydata(), audit.reliability.rate)
        ends = np.array([segment[:, 1] for segment in bars.get_segments()])
        assert ends[:, 0] == pytest.approx(audit.reliability.lower)
        assert ends[:, 1] == pytest.approx(audit.reliability.upper)

    def test_shaded_span_is_the_interval(self):
        audit, ax = audit_of("spread"), axes()
        draw_reliability(audit, ax)
        assert spans(ax) == [pytest.approx(audit.cutoff.interval)]

    def test_interval_without_lower_end_starts_at_the_edge(self):
        audit, ax = audit_of("one score"), axes()
        assert audit.cutoff.interval == (-math.inf, 0.35)
        draw_reliability(audit, ax)
        assert spans(ax) == [pytest.approx((ax.get_xlim()[0], 0.35))]

    def test_no_error_no_span(self):
        ax = axes()
        draw_reliability(audit_of("no error"), ax)
        assert not spans(ax)

    def test_legend_names_the_worst_interval(self):
        audit, ax = audit_of("spread"), axes()
        draw_reliability(audit, ax)
        labels = [text.get_text() for text in ax.get_legend().get_texts()]
        assert any(label.startswith("worst: ") and label.endswith("happened") for label in labels)
        assert "bins with 95% intervals" in labels

    def test_no_intervals_promised_where_there_are_none(self):
        ax = axes()
        draw_reliability(audit_of("weights"), ax)
        labels = [text.get_text() for text in ax.get_legend().get_texts()]
        assert "bins" in labels


class TestDistribution:
    def test_bars_are_numbers_of_rows(self):
        audit, ax = audit_of("three positives"), axes()
        draw_distribution(audit.histogram, audit.walk, ax)
        ups, downs = ([bar.get_height() for bar in bars] for bars in ax.containers)
        assert ups == audit.histogram.positives.tolist()
        assert downs == (-audit.histogram.negatives).tolist()

    def test_rare_class_is_as_high_as_the_common_one(self):
        audit, ax = audit_of("three positives"), axes()
        draw_distribution(audit.histogram, audit.walk, ax)
        up, zero, down = (
            ax.transData.transform((0.0, height))[1]
            for height in (audit.histogram.positives.max(), 0.0, -audit.histogram.negatives.max())
        )
        assert up - zero == pytest.approx(zero - down)

    def test_close_scores_are_drawn_as_shares(self):
        audit, ax = audit_of("rare"), axes()
        draw_distribution(audit.histogram, audit.walk, ax)
        assert not ax.containers
        assert np.array_equal(ax.lines[0].get_ydata()[1:-1], audit.walk.share)


class TestWalk:
    def test_span_and_height_are_those_of_the_error(self):
        audit, ax = audit_of("spread"), axes()
        draw_walk(audit.walk, ax, audit.cutoff)
        assert spans(ax) == [pytest.approx(audit.cutoff.interval)]
        assert f"error {audit.cutoff.value:.4f}" in {text.get_text() for text in ax.texts}
        assert ax.get_xlabel() == "score"

    def test_crowded_scores_are_drawn_over_rows_and_the_axis_says_so(self):
        audit, ax = audit_of("crowded"), axes()
        draw_walk(audit.walk, ax, audit.cutoff)
        assert ax.get_xlabel() == "rows, in the order of their scores"
        low, high = audit.cutoff.interval
        at = dict(zip(audit.walk.score, audit.walk.share, strict=True))
        assert spans(ax) == [pytest.approx((at.get(low, 0.0), at[high]))]

    def test_noise_band_has_the_height_of_the_noise(self):
        audit, ax = audit_of("spread"), axes()
        draw_walk(audit.walk, ax, audit.cutoff)
        assert pytest.approx(audit.cutoff.noise_95) in [box.height for box in boxes(ax)]

    def test_works_without_the_rest_of_the_audit(self):
        ax = axes()
        draw_walk(residual_walk([0, 1, 1], [0.2, 0.4, 0.9]), ax)
        assert ax.get_legend() is None


class TestView:
    @pytest.mark.parametrize(
        ("scores", "view"),
        [
            ([0.07, 0.97], (0.0, 1.0)),
            ([0.0, 0.25], (0.0, 1.0)),
            ([0.0, 0.2], (0.0, 0.21)),
            ([0.5, 0.6], (0.495, 0.605)),
            ([0.99, 0.999], (0.98955, 1.0)),
            ([0.35], (0.3, 0.4)),
            ([0.001], (0.0, 0.002)),
            ([0.0], (0.0, 0.05)),
            ([1.0], (0.95, 1.0)),
        ],
    )
    def test_all_of_the_scale_or_where_the_scores_are(self, scores, view):
        assert score_view(np.array(scores)) == pytest.approx(view)


class TestSvg:
    def test_same_figure_same_bytes(self):
        audit = audit_of("spread")
        assert figure_svg(walk_figure(audit)) == figure_svg(walk_figure(audit))

    def test_is_one_element_without_date_or_size(self):
        svg = figure_svg(reliability_figure(audit_of("spread")), title="A & B", description="<what it shows>")
        root = ET.fromstring(svg)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert "width" not in root.attrib
        assert root[0].text == "A & B"
        assert root[1].text == "<what it shows>"
        assert "metadata" not in svg

    def test_every_reference_is_to_an_id_of_its_own(self):
        svg = figure_svg(walk_figure(audit_of("spread")), prefix="seventh")
        ids = [element.get("id") for element in ET.fromstring(svg).iter() if element.get("id")]
        assert len(ids) == len(set(ids))
        assert all(name.startswith("seventh-") for name in ids)
        assert {found[1:] for found in re.findall(r'(?:href="|url\()(#[\w-]+)', svg)} <= set(ids)

    def test_text_is_not_shortened(self):
        svg = figure_svg(reliability_figure(audit_of("all within 1e-4")))
        assert ">0.49998<" in svg


class TestNothingGlobal:
    def test_settings_of_the_user_stay_and_do_not_matter(self):
        audit = audit_of("spread")
        plain = figure_svg(walk_figure(audit))
        with mpl.rc_context({"lines.linewidth": 9.0, "axes.facecolor": "black", "font.size": 30.0}):
            before = dict(mpl.rcParams)
            assert figure_svg(walk_figure(audit)) == plain
            audit_figure(audit)
            assert dict(mpl.rcParams) == before

    def test_names_are_not_read_as_mathematics(self, tmp_path):
        audit_figure(calibrant.audit([0, 1], [0.2, 0.7], name=r"$\frac$ & co")).savefig(tmp_path / "a.png", dpi=20)

    def test_pyplot_is_not_imported(self):
        program = (
            "import sys, calibrant\n"
            "audit = calibrant.audit([0, 1, 1, 0], [0.1, 0.4, 0.8, 0.9])\n"
            "assert 'matplotlib' not in sys.modules\n"
            "audit.plot().canvas.draw()\n"
            "audit.to_html()\n"
            "assert 'matplotlib.pyplot' not in sys.modules\n"
        )
        subprocess.run([sys.executable, "-c", program], check=True)
