"""The page of an audit of predicted means."""

import pytest

from support.html_page import Page
from support.mean_audits import counts, flat_tariff, losses_given_default


@pytest.fixture(scope="module")
def html():
    return flat_tariff().to_html()


def test_headings_in_order(html):
    assert Page(html).headings == [
        ("h1", "Calibration audit: flat tariff"),
        ("h2", "Undecided"),
        ("h2", "Observed and predicted means"),
        ("h2", "Too high and too low"),
        ("h2", "Discrimination"),
        ("h2", "Test"),
        ("h2", "Recalibration"),
        ("h2", "Assumptions and limitations"),
        ("h2", "Provenance"),
        ("h2", "References"),
    ]


def test_sides_and_numbers_are_those_of_the_audit(html):
    audit = flat_tariff()
    for side in (audit.certificate.too_high, audit.certificate.too_low):
        assert side.sentence in html
    assert audit.advice.python in html
    assert html == flat_tariff().to_html()
    assert Page(html).count("figure") == 2


def test_markdown_tells_pictures_in_words():
    text = losses_given_default().to_markdown()
    assert "## No verdict" in text
    assert "Observed mean by mean prediction, at 10 points: " in text
    assert "Cumulative residual by prediction, at" in text
    assert "as Poisson counts" in counts().to_markdown()


def test_pictures_are_drawn_under_the_verdict():
    display = counts().plot()
    assert len(display.axes_) == 2
    assert "CERTIFIED" in display._verdict
