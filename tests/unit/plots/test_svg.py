"""Figures as SVG: one element, the same bytes every time, ids of its own."""

import re
from xml.etree import ElementTree as ET

import pytest

from calibrant.plots import figure_svg
from calibrant.plots.audit import cumulative_residuals_of, reliability_of


@pytest.mark.slow
def test_same_figure_same_bytes(audit_of):
    audit = audit_of("spread")
    assert figure_svg(cumulative_residuals_of(audit).own_figure()) == figure_svg(
        cumulative_residuals_of(audit).own_figure()
    )


def test_leaves_the_figure_as_it_was(audit_of):
    figure = cumulative_residuals_of(audit_of("spread")).own_figure()
    before = figure.canvas, figure.get_layout_engine()
    figure_svg(figure)
    assert (figure.canvas, figure.get_layout_engine()) == before


def test_is_one_element_without_date_or_size(audit_of):
    svg = figure_svg(reliability_of(audit_of("spread")).own_figure(), title="A & B", description="<what it shows>")
    root = ET.fromstring(svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "width" not in root.attrib
    assert root[0].text == "A & B"
    assert root[1].text == "<what it shows>"
    assert "metadata" not in svg


def test_every_reference_is_to_an_id_of_its_own(audit_of):
    svg = figure_svg(cumulative_residuals_of(audit_of("spread")).own_figure(), prefix="seventh")
    ids = [element.get("id") for element in ET.fromstring(svg).iter() if element.get("id")]
    assert len(ids) == len(set(ids))
    assert all(name.startswith("seventh-") for name in ids)
    assert {found[1:] for found in re.findall(r'(?:href="|url\()(#[\w-]+)', svg)} <= set(ids)


@pytest.mark.slow
def test_text_is_not_shortened(audit_of):
    svg = figure_svg(reliability_of(audit_of("all within 1e-4")).own_figure())
    assert ">0.49998<" in svg
