"""What the page of an audit of predicted means has."""

from __future__ import annotations

from collections.abc import Sequence

from calibrant.auditing.findings import MeanFindings
from calibrant.certificates.means import SHARES
from calibrant.plots.audit import mean_displays
from calibrant.report.parts import Content, paragraphs, part, section, table
from calibrant.report.pictures import Picture
from calibrant.report.sections import grades_part, recalibration_part, segments_part
from calibrant.table.numbers import confidence
from calibrant.table.results import Fact, of_section


def mean_content(audit: MeanFindings, facts: Sequence[Fact]) -> Content:
    """Return what a page says of an audit of predicted means."""
    certificate = audit.certificate
    means, residuals = mean_displays(audit)
    unit = ("as a share " if certificate.relative_to in SHARES else "") + str(certificate.unit)
    sure = confidence(certificate.confidence_level)
    sides = table(
        f"How far predictions are off, {unit}, each bound by itself with {sure} confidence",
        ("Predictions", "In these rows", "Bounds", "What that takes"),
        [fact.cells for fact in of_section(facts, "sides")],
        numeric=False,
    )
    claims = paragraphs(*(side.sentence for side in reversed(certificate.sides)))
    walk = part("picture", "residuals", Picture("Cumulative residuals", residuals, audit.name), folded=False)
    heads = ("Quantity", "Value", f"{sure} interval", "Remark")
    measures = [fact.cells for fact in of_section(facts, "performance")]
    worth = table("What predictions are worth", heads, measures, numeric=False)
    test = [fact.in_full for fact in facts if fact.key == "test"]
    sections = [
        section("Too high and too low", sides, *claims, walk, id="bounds"),
        segments_part(audit.segments, audit.name),
        grades_part(audit.grades, audit.name),
        section("Discrimination", worth, id="discrimination"),
        section("Test", *paragraphs(*test), id="test") if test else None,
        recalibration_part(audit),
    ]
    drawn = Picture("Observed and predicted means", means, audit.name)
    return Content(section(drawn.name, part("picture", "means", drawn), id="means", quiet=True), sections)
