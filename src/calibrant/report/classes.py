"""What the page of an audit of several classes has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from calibrant.auditing import class_facts
from calibrant.auditing.findings import ClassFindings
from calibrant.auditing.wording import words_of
from calibrant.decisions import ClassConfusion
from calibrant.plots.audit import ClassErrorDisplay, small_diagrams
from calibrant.printable import visible_name
from calibrant.report import view
from calibrant.report.parts import Content, PagePart, around, paragraphs, part, section, table
from calibrant.report.pictures import Picture
from calibrant.report.sections import folded_table, recalibration_part, segments_part
from calibrant.table.numbers import confidence
from calibrant.table.results import Fact, of_section

_SHOWN, _MOST = 30, 300  # classes of the table that are not folded, and that are on the page at all
# Classes of a matrix of all pairs, standard deviations that are marked in it, and rows that are written.
_PAIRS, _FAR, _VISIBLE = 12, 3.0, 0.05


def class_content(audit: ClassFindings, facts: Sequence[Fact]) -> Content:
    """Return what a page says of an audit of several classes."""
    statements: tuple[Any, ...] = (audit.certificate, audit.test, audit.decision)
    test = [fact.in_full for fact in facts if fact.key == "test"]
    p_values = [(name, f"{p:.4g}") for name, p in (getattr(audit.test, "p_values", None) or {}).items()]
    of_each = "P-value of each statistic by itself; the test is the one above"
    vectors = [*paragraphs(*test), table(of_each, ("Statistic", "p-value"), p_values) if p_values else None]
    sections = [
        section("Classes", *_classes(audit), id="classes"),
        segments_part(audit.segments, audit.name),
        _notions(audit, facts),
        _confusion(audit.confusion),
        _decision(audit),
        section("Test of whole vectors", *vectors, id="test") if test else None,
        recalibration_part(audit),
    ]
    return Content(
        section("Reliability diagrams", *_diagrams(audit), id="reliability", quiet=True),
        sections,
        said=[class_facts.sure(audit, words_of(audit))],
        assumed=list(dict.fromkeys(sentence for one in statements if one for sentence in one.assumptions)),
    )


def _diagrams(audit: ClassFindings) -> list[PagePart]:
    """Return the small diagrams with the words that explain them together."""
    displays, sure = small_diagrams(audit), confidence(audit.reliability[0].confidence_level)
    drawn = [
        part("small_picture", f"reliability-{i}", Picture(f"Reliability diagram {i}", one, audit.name))
        for i, one in enumerate(displays)
    ]
    scales = ", with square-root scales" if displays[0].view.square_root else ""
    explained = (
        "Above each diagram: the class and its error. x-axis: predicted probability; y-axis: observed rate, in bins in "
        f"which about equally many rows of the class are expected, each with its {sure} interval. On the dashed line "
        f"the two agree. All have the same axes{scales}. The class with the largest error bound is first."
    )
    return [around("box", "diagrams", *drawn), *paragraphs(explained, kind="remark")]


def _classes(audit: ClassFindings) -> Iterator[PagePart]:
    """Yield the errors of all classes, as a picture where not all have a diagram, and as a table."""
    together, *remarks = class_facts.sentences(audit)
    yield from paragraphs(" ".join(remarks))
    if len(audit.shown) < len(audit.table.name):
        picture = Picture("Errors of all classes", ClassErrorDisplay(audit), audit.name)
        yield part("picture", "errors", picture, folded=False)
    heads, *lines = class_facts.class_grid(audit, _MOST)
    marked = [_marked(line, heads) for line in lines]
    yield from folded_table(together, "classes", heads, marked, _SHOWN)
    if (left := len(audit.table.name) - _MOST) > 0:
        others = f"to_frame() and to_json() of the field `table` have the other {left} classes too."
        yield from paragraphs(others, kind="remark")


def _notions(audit: ClassFindings, facts: Sequence[Fact]) -> PagePart | None:
    lines = [fact.cells for fact in of_section(facts, "notions")]
    if not lines:
        return None
    sure = confidence(audit.too_sure.confidence_level)
    caption = f"Errors of the probabilities, each with bounds that hold with {sure} confidence by themselves"
    errors = table(caption, ("Error", "Value", "Bounds", "Remark"), lines, numeric=False)
    return section("Calibration errors", errors, id="errors")


def _confusion(confusion: ClassConfusion | None) -> PagePart | None:
    if confusion is None:
        return None
    matrix, (heads, *lines) = _matrix(confusion), confusion.lines()
    caption = (
        "Rows observed less rows expected, by the class predicted and, across, the class that occurred; in colour what "
        "is more than 3 standard deviations off"
    )
    furthest = table("Pairs of classes that are furthest from what is expected", heads, lines)
    pairs = table(caption, matrix[0], matrix[1:], scroll=True) if matrix else None
    return section("Confusion", pairs, *paragraphs(" ".join(confusion.sentences())), furthest, id="confusion")


def _decision(audit: ClassFindings) -> PagePart | None:
    decision = audit.decision
    if decision is None:
        return None
    heads, *lines = decision.lines()
    actions = table("Actions: where they are taken, and what would have been cheaper in their place", heads, lines)
    return section("Decisions", *paragraphs(" ".join(decision.sentences())), actions, id="decisions")


def _matrix(confusion: ClassConfusion) -> list[list[str | view.Cell]]:
    """Write observed less expected rows of each pair of classes, if these are few; what is far off is marked."""
    if len(confusion.classes) > _PAIRS:
        return []
    names = [*map(visible_name, confusion.classes)]
    lines: list[list[str | view.Cell]] = [["Predicted", *names]]
    gaps = confusion.observed - confusion.expected
    for name, line, deviations in zip(names, gaps, confusion.standardised, strict=True):
        kinds = ["more" if value > _FAR else "fewer" if value < -_FAR else "" for value in deviations]
        cells = [f"{gap:+.1f}" if abs(gap) >= _VISIBLE else "" for gap in line.tolist()]
        lines.append([name, *(view.Cell(cell, kind=kind) for cell, kind in zip(cells, kinds, strict=True))])
    return lines


def _marked(line: list[str], heads: list[str]) -> list[str | view.Cell]:
    """Give the verdict of a class, if there is one, its colour."""
    if heads[-1] != "Verdict":
        return list(line)
    return [*line[:-1], view.Cell(line[-1], kind=line[-1], verdict=line[-1])]
