"""The page of an audit of several classes."""

import re
from dataclasses import replace

import numpy as np
import pytest

from calibrant.plots import ClassErrorDisplay
from calibrant.report.audits import _matrix
from calibrant.table.numbers import number
from support.class_audits import many, wrong
from support.html_page import Page


@pytest.fixture(scope="module")
def html():
    return wrong().to_html()


@pytest.mark.slow
def test_headings_in_order(html):
    assert Page(html).headings == [
        ("h1", "Calibration audit: model"),
        ("h2", "Refuted"),
        ("h2", "Reliability diagrams"),
        ("h2", "Classes"),
        ("h2", "Calibration errors"),
        ("h2", "Confusion"),
        ("h2", "Decisions"),
        ("h2", "Test of whole vectors"),
        ("h2", "Recalibration"),
        ("h2", "Assumptions and limitations"),
        ("h2", "Provenance"),
        ("h2", "References"),
    ]


def test_verdict_advice_and_numbers_are_those_of_the_audit(html):
    result = wrong()
    for value in (result.certificate.estimate, result.total.estimate, result.losses.log_loss):
        assert number(value) in html
    assert f"class {result.table.worst_name} is {result.table.direction[result.table.error.argmax()]}" in html
    assert "MulticlassAutoCalibrator" in html
    assert html == wrong().to_html()
    assert result.to_html(title="T <b>").count("T &lt;b&gt;") >= 1


def test_pairs_of_classes_that_are_far_off_are_marked():
    confusion = wrong().confusion
    lines = _matrix(confusion)
    assert lines[0] == ["Predicted", "0", "1", "2"]
    for i, line in enumerate(lines[1:]):
        for j, cell in enumerate(line[1:]):
            assert (cell.kind == "more") == (confusion.standardised[i, j] > 3)
            assert float(cell.text or 0) == pytest.approx(confusion.observed[i, j] - confusion.expected[i, j], abs=0.06)


def test_every_diagram_is_described(html):
    page = Page(html)
    assert page.count("figure") == 3
    for i in wrong().shown:
        assert f"Error of class {wrong().table.name[i]}: " in html
    needs = [attrs for tag, attrs in page.tags if tag == "script" and "src" in attrs]
    assert not needs
    assert all(link.startswith("#") for link in page.links)


def test_markdown_tells_the_pictures(tmp_path):
    text = wrong().to_markdown(tmp_path / "audit.md")
    assert (tmp_path / "audit.md").read_text(encoding="utf-8") == text
    assert "## Test of whole vectors" in text
    assert "Observed rate by mean predicted probability, at 10 points: " in text
    assert "<svg" not in text


def test_recalibration_and_its_table_say_different_things(html):
    effect = wrong().recalibration
    (said,) = [text for text in re.findall(r"<p>([^<]*)</p>", html) if text.startswith("Judged on")]
    assert f"{number(effect.losses_after.log_loss)}" not in said
    assert "of the most probable classes change" in said


def test_captions_say_which_confidence(html):
    assert "with its 95% interval" in " ".join(html.split())
    assert "hold together with 95% confidence" in ClassErrorDisplay(wrong()).how_to_read


def test_the_matrix_of_pairs_is_moved_in_its_box(html):
    assert re.search(
        r'<div class="scroll" tabindex="0">\s*<table class="numeric">\s*<caption><span>Rows observed', html
    )


@pytest.mark.slow
def test_names_of_classes_are_escaped():
    table = replace(wrong().table, name=np.array(["<script>", "b|c", "*d*"]))
    result = replace(wrong(), table=table)
    assert "<script>alert" not in result.to_html()
    assert "&lt;script&gt;" in result.to_html()
    assert r"b\|c" in result.to_markdown()


@pytest.mark.slow
def test_of_many_classes_no_picture_has_all_pairs():
    html = many().to_html()
    page = Page(html)
    assert page.count("figure") == 9 + 1
    assert "10 further classes" in html
    assert "off by more than" in html
    assert "if all probabilities were right" in html.lower()
