"""The report: complete, safe, the same every time, and readable by machines, people and a real browser."""

import json
import re
from datetime import datetime

import numpy as np
import pytest

import calibrant
from calibrant.auditing.verdict import verdict_meaning
from calibrant.curves import cumulative_residuals
from calibrant.errors import ArgumentError, SourceError
from calibrant.plots.style import DARK, LIGHT
from calibrant.report import render
from calibrant.report.view import residual_points
from calibrant.table.numbers import write_upper
from support import oracles
from support.html_page import NASTY, Page


def contrast(one, two):
    """Contrast ratio of two colours as the Web Content Accessibility Guidelines 2.2 define it."""

    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted([luminance(one), luminance(two)])
    return (high + 0.05) / (low + 0.05)


def make(name="scores", n=2000, power=1.4, **keywords):
    rng = np.random.default_rng(3)
    s = rng.uniform(size=n)
    return calibrant.audit(rng.uniform(size=n) < s**power, s, **{"name": name, "tolerance": 0.005} | keywords)


@pytest.fixture(scope="module")
def audit():
    return make(costs=(1, 4))


@pytest.fixture(scope="module")
def html(audit):
    return render([audit], title="Audit of the scores")


@pytest.fixture(scope="module")
def page(html):
    return Page(html)


class TestOneAudit:
    @pytest.mark.slow
    def test_headings_in_order(self, page):
        assert page.headings == [
            ("h1", "Audit of the scores"),
            ("h2", "Refuted"),
            ("h2", "Reliability diagram"),
            ("h2", "Performance"),
            ("h3", "Calibration error"),
            ("h3", "Rows"),
            ("h2", "Decisions"),
            ("h2", "Recalibration"),
            ("h2", "Cumulative residuals"),
            ("h2", "Numbers behind the pictures"),
            ("h2", "Assumptions and limitations"),
            ("h2", "Provenance"),
            ("h2", "References"),
        ]

    def test_needs_nothing_else(self, html, page):
        assert all(link.startswith("#") for link in page.links)
        assert page.count("link") == 0
        assert not any("src" in attrs for tag, attrs in page.tags if tag == "script")
        assert "@import" not in html
        assert not re.search(r"url\((?!#)", html)
        # The names of the two XML vocabularies are not fetched.
        assert set(re.findall(r"https?://[^\s\"<]*", html)) == {
            "http://www.w3.org/2000/svg",
            "http://www.w3.org/1999/xlink",
        }

    def test_language_title_and_landmarks(self, page):
        assert ("html", {"lang": "en"}) in page.tags
        assert [page.count(tag) for tag in ("header", "main", "footer", "h1")] == [1, 1, 1, 1]
        assert page.texts[page.texts.index("Audit of the scores")]

    def test_pictures_have_words(self, page):
        pictures = [attrs for tag, attrs in page.tags if tag == "svg" and attrs.get("role") == "img"]
        assert len(pictures) == page.count("figure") == 4
        for picture in pictures:
            assert set(picture["aria-labelledby"].split()) <= set(page.ids)
        assert len(page.described) > 8
        assert all(len(words) > 15 for words in page.described)
        assert all("aria-hidden" in attrs for tag, attrs in page.tags if tag == "svg" and "role" not in attrs)

    def test_tables_have_captions_and_scopes(self, page):
        assert page.count("caption") == page.count("table") == 10
        assert all(attrs.get("scope") in ("row", "col") for tag, attrs in page.tags if tag == "th")

    def test_ids_are_unique_and_links_lead_somewhere(self, page):
        assert len(page.ids) == len(set(page.ids))
        assert {link[1:] for link in page.links} <= set(page.ids)

    def test_says_what_the_audit_says(self, audit, page):
        text = page.text
        assert verdict_meaning(audit)[1:] in text
        assert audit.advice.reason in text
        for sentence in (*audit.certificate.assumptions, *audit.decision.assumptions):
            assert sentence in text
        for written in (
            f"{audit.cutoff.value:.4f}",
            write_upper(audit.certificate.bound),
            f"{audit.performance.brier.value:.4f}",
            write_upper(audit.decision.saving_bound),
        ):
            assert written in text
        assert calibrant.__version__ in text

    def test_recalibration_before_and_after(self, audit, page):
        found = audit.recalibration
        for name, before, after in (
            ("calibration error", found.error_before, found.error_after),
            ("Brier score", found.brier_before, found.brier_after),
            ("log loss", found.log_loss_before, found.log_loss_after),
        ):
            assert f"{name} {before:.4f} {after:.4f}" in " ".join(page.text.split())

    def test_tables_hold_the_worst_interval(self, page):
        assert "start of the shaded interval" in page.text
        assert "end of the shaded interval" in page.text

    @pytest.mark.slow
    def test_same_audit_same_page(self, html, monkeypatch):
        epoch = datetime.fromisoformat(re.search(r'<time datetime="([^"]*)"', html)[1]).timestamp()
        monkeypatch.setenv("SOURCE_DATE_EPOCH", str(int(epoch)))
        assert render([make(costs=(1, 4))], title="Audit of the scores") == html

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_text_can_be_told_from_its_ground(self, html, scheme):
        light, dark = (dict(re.findall(r"--([a-z]+): (#[0-9a-f]{6})", block)) for block in html.split(":root")[1:3])
        colours = light if scheme == "light" else light | dark
        for text in ("ink", "muted", "link", "good", "bad", "open", "plain"):
            for ground in ("paper", "tint"):
                assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
        plot = LIGHT if scheme == "light" else DARK
        assert all(contrast(getattr(plot, name), colours["paper"]) >= 4.5 for name in ("ink", "muted", "orange"))

    def test_is_small(self, html):
        assert len(html.encode()) < 400_000


@pytest.fixture(scope="module")
def three():
    audits = [make(f"model {i}", n=400, power=1 + i / 5) for i in range(3)]
    return Page(render(audits, title="Three models", note="They differ in their power."))


@pytest.mark.slow
class TestSeveralAudits:
    def test_comparison_first_then_one_section_each(self, three):
        tops = [text for tag, text in three.headings if tag == "h2"]
        assert tops == ["Comparison", *(f"model {i}" for i in range(3)), "References"]
        assert [tag for tag, _ in three.headings].count("h1") == 1
        assert "They differ in their power." in three.text

    def test_ids_are_unique_and_links_lead_somewhere(self, three):
        assert len(three.ids) == len(set(three.ids))
        assert {link[1:] for link in three.links} <= set(three.ids)
        assert {f"#audit-{i}" for i in range(1, 4)} <= set(three.links)

    def test_references_stand_once(self, three):
        assert three.text.count("Verification of forecasts expressed in terms of probability") == 1


class TestWhatMayBeMissing:
    @pytest.mark.slow
    def test_no_costs(self):
        page = Page(render([make()], title="t"))
        assert "Upper limit of what recalibration can save per case" in page.text
        assert "Predict positive from" not in page.text

    @pytest.mark.slow
    def test_no_target_error(self, page):
        title = "Which cases may be decided without review?"
        assert title not in page.text
        audit = make(target_error=(0.2, 0.1))
        asked = Page(render([audit], title="t"))
        headings = [text for _, text in asked.headings]
        assert headings.index(title) == headings.index("Decisions") + 1
        assert len(asked.ids) == len(set(asked.ids))
        for line in (*audit.selective.yes.lines(), *audit.selective.no.lines()):
            assert line in asked.text

    def test_no_costs_without_rows(self):
        audit = calibrant.audit([0, 1, 1, 0], [0.1, 0.6, 0.8, 0.7], weight=[0.5, 1.5, 1.0, 0.7])
        assert ("h2", "Performance") in Page(render([audit], title="t")).headings

    @pytest.mark.slow
    def test_no_tolerance(self):
        text = Page(render([make(tolerance=None)], title="t")).text
        assert "No verdict" in text
        assert "no tolerance was given" in text

    @pytest.mark.slow
    def test_weights_that_are_no_rows(self):
        audit = calibrant.audit([0, 1, 1, 0], [0.1, 0.6, 0.8, 0.7], weight=[0.5, 1.5, 1.0, 0.7])
        page = Page(render([audit], title="t"))
        assert ("h2", "No certificate") in page.headings
        assert "Not assessed: too few rows" in page.text
        assert "point estimates, without bounds or tests" in page.text
        assert "nan" not in page.text.lower().split()

    @pytest.mark.slow
    def test_no_error(self):
        page = Page(render([calibrant.audit([0, 1] * 50, [0.5] * 100)], title="t"))
        assert "agree at every score" in page.text
        assert "shaded interval" not in page.text

    @pytest.mark.slow
    def test_infinite_log_loss(self):
        page = Page(render([calibrant.audit([0, 1, 1, 0], [0.0, 0.0, 1.0, 0.3])], title="t"))
        assert "infinite" in page.text
        assert "a positive had score 0, or a negative score 1" in page.text

    @pytest.mark.slow
    def test_scores_pooled_into_cells(self):
        audit = calibrant.audit(oracles.cell_table(*_rows(500), None, [0.25, 0.5, 0.75]))
        assert audit.distinct_scores is None
        text = Page(render([audit], title="t")).text
        assert "pooled into cells" in text
        more = audit.cutoff.value_upper - audit.cutoff.value
        shown = f"{audit.cutoff.value:.4f} (up to {write_upper(more)} larger, since neighbouring scores were pooled)"
        assert shown in text
        assert "Reading the rows more than once" in text
        both = Page(render([audit, calibrant.audit(*_rows(500))], title="t")).text
        limits = f"{audit.cutoff.value:.4f} to {write_upper(audit.cutoff.value_upper)} {audit.cutoff.null_mean:.4f}"
        assert limits in both
        # First screen, calibration, AUC, and what cells do to the curves.
        assert both.count("scores were pooled") == 4
        assert both.count("Reading the rows more than once") == 1

    def test_no_audit(self):
        with pytest.raises(ArgumentError, match="at least one audit"):
            render([], title="t")


def _rows(n):
    rng = np.random.default_rng(8)
    s = rng.uniform(size=n)
    return rng.uniform(size=n) < s, s


@pytest.mark.slow
def test_words_of_the_user_are_only_words():
    html = render([make(NASTY, n=200), make(n=200)], title=NASTY, note=NASTY)
    page = Page(html)
    assert page.count("script") == 3  # the page's own, and the thresholds of two audits
    assert ("h1", NASTY) in page.headings
    assert ("h2", NASTY) in page.headings
    assert f"Cumulative residuals: {NASTY}" in page.described


class TestWriting:
    def test_file_is_the_page(self, audit, tmp_path):
        path = tmp_path / "audit.html"
        path.write_text("old", encoding="utf-8")
        page = audit.to_html(path)
        assert path.read_text(encoding="utf-8") == page
        assert list(tmp_path.iterdir()) == [path]

    @pytest.mark.slow
    def test_missing_folder(self, audit, tmp_path):
        with pytest.raises(SourceError, match="nowhere"):
            audit.to_html(tmp_path / "nowhere" / "audit.html")
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.slow
    def test_folder_in_place_of_a_file(self, audit, tmp_path):
        folder = tmp_path / "audit.html"
        folder.mkdir()
        with pytest.raises(SourceError, match=r"audit\.html"):
            audit.to_html(folder)
        assert list(tmp_path.iterdir()) == [folder]
        assert list(folder.iterdir()) == []


@pytest.mark.slow
def test_slider_looks_up_the_counts_of_every_threshold():
    y, s = _rows(700)
    audit = calibrant.audit(y, s, costs=(1, 4))
    curve = audit.decision_curve
    html = render([audit], title="t")
    rows = json.loads(re.search(r'<script type="application/json">(.*?)</script>', html)[1])
    assert len(rows) == len(curve.threshold) > 100
    assert 0.2 in curve.threshold
    for i, row in enumerate(rows):
        kinds = ("true_positives", "false_positives", "false_negatives", "true_negatives")
        counts = [getattr(curve, kind)[i] for kind in kinds]
        assert counts == oracles.decided(y, s, curve.threshold[i])
        assert row[0] == f"{curve.threshold[i]:.4g}"
        assert row[5:] == [str(int(count)) for count in counts]
        cost = counts[1] + counts[2] * (1 - curve.threshold[i]) / curve.threshold[i]
        assert curve.expected_cost[i] == pytest.approx(cost / 700)
        assert row[2] == f"{curve.expected_cost[i]:.4f}" or curve.expected_cost[i] < 0.001
    at = int(np.flatnonzero(curve.threshold == 0.2)[0])
    assert curve.expected_cost[at] == pytest.approx(audit.decision.cost)
    assert curve.net_benefit[at] == pytest.approx(audit.performance.net_benefit.value)
    assert set(audit.to_dict()["decision_curve"]) >= {"threshold", "true_positives", "expected_cost", "net_benefit"}


@pytest.mark.slow
def test_two_hundred_segments_stay_readable():
    """A sentence for all, pictures of some, a table of the most notable and the others folded."""
    rng = np.random.default_rng(0)
    y, p = rng.integers(0, 2, 40_000), rng.uniform(size=40_000)
    by = {NASTY: rng.integers(0, 19, 40_000), "b": rng.integers(0, 10, 40_000)}
    audit = calibrant.audit(y, p, by=by, depth=2)
    assert audit.segments.n_segments == 19 + 10 + 190
    text = audit.to_html()
    page = Page(text)
    assert "<script>alert(1)" not in text
    assert {"audit-1-segments", "audit-1-map-of-segments-title"} <= set(page.ids)
    assert "199 further segments" in text
    section = text[text.index('id="audit-1-segments"') :]
    shown, folded = section[: section.index("</section>")].split("<details", 1)
    assert shown.count('<th scope="row">') == 20
    assert folded.count('<th scope="row">') == 199


def test_rows_of_the_table_of_residuals_are_spread_over_all_rows():
    rng = np.random.default_rng(3)
    s = rng.uniform(size=2000)
    points = residual_points(cumulative_residuals(rng.uniform(size=2000) < s, s))
    shares = np.array([float(share.strip(">%")) / 100.0 for _, share, _, _ in points])
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert np.diff(shares).max() < 0.2
