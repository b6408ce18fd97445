"""What the pages of audits have: of events with the decisions they serve, of several classes, and of means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from calibrant.auditing import class_facts, wording
from calibrant.auditing.findings import ClassFindings, Findings, MeanFindings
from calibrant.auditing.wording import words_of
from calibrant.certificates.means import SHARES
from calibrant.decisions import ClassConfusion
from calibrant.plots.audit import (
    ClassErrorDisplay,
    costs_of,
    cumulative_residuals_of,
    decisions_of,
    mean_displays,
    reliability_of,
    small_diagrams,
)
from calibrant.printable import visible_name
from calibrant.report import view
from calibrant.report.parts import Content, PagePart, around, deeper, fold, paragraphs, part, section, table
from calibrant.report.pictures import Picture, forests
from calibrant.report.sections import folded_table, grades_part, named, recalibration_part, segments_part
from calibrant.report.selective import TITLE, cutoff_table, selection_parts, sides
from calibrant.table.numbers import confidence, write_upper
from calibrant.table.results import Fact, of_section

_DECISIONS = ("Threshold", "Cost ratio", "Mean cost", "Net benefit", "Treat all", "True positives", "False positives",
              "False negatives", "True negatives")  # fmt: skip


def event_content(audit: Findings, facts: Sequence[Fact]) -> Content:
    """Return what a page says of an audit of events."""
    diagram = part("picture", "reliability", Picture("Reliability diagram", reliability_of(audit), audit.name))
    walk = Picture("Cumulative residuals", cumulative_residuals_of(audit), audit.name)
    sections = [
        section("Performance", *_performance(audit, facts), id="performance"),
        _heterogeneity(audit, facts),
        segments_part(audit.segments, audit.name),
        grades_part(audit.grades, audit.name),
        section("Decisions", *_decisions(audit, facts), id="decisions"),
        _review(audit),
        recalibration_part(audit, wording.auto_gain(audit.recalibration)),
        section("Cumulative residuals", part("picture", "residuals", walk, folded=False), id="residuals"),
        section("Numbers behind the pictures", *_behind(audit)),
    ]
    first = section("Reliability diagram", diagram, *_remarks_on_diagram(audit), id="reliability", quiet=True)
    assumed, references = view.assumptions(audit), audit.decision_curve.references
    return Content(first, sections, said=[wording.place(audit)], assumed=assumed, references=references)


def _estimates(audit: Findings, facts: Sequence[Fact], of: str, caption: str) -> PagePart | None:
    """Return a table of the estimates of a section, if there are some."""
    heads, lines = view.estimates(of_section(facts, of), confidence(audit.performance.roc_auc.confidence_level))
    return table(caption, heads, lines, numeric=False) if lines else None


def _remarks_on_diagram(audit: Findings) -> list[PagePart]:
    remarks = [wording.band_sentence(audit)]
    if audit.band and not audit.band.consistent:
        none = "No band is drawn around the isotonic curve: with"
        sure = confidence(audit.band.confidence_level)
        remarks.insert(0, f"{none} {sure} confidence, the event rate is not nondecreasing in the score.")
    if audit.clusters:
        limits = "The bins have limits for clusters. No band is drawn around the isotonic curve"
        remarks.append(f"{limits}: it holds for independent rows only.")
    return paragraphs(*remarks, kind="remark")


def _performance(audit: Findings, facts: Sequence[Fact]) -> Iterator[PagePart | None]:
    largest = "The largest difference of observed and predicted over an interval of scores, per row."
    yield _estimates(audit, facts, "performance", "Discrimination, accuracy and calibration")
    yield part("heading", 3, "Calibration error")
    yield from paragraphs(largest, kind="remark")
    yield named(facts, "calibration")
    yield part("heading", 3, "Rows")
    yield named(facts, "data")
    yield from paragraphs(wording.cells_sentence(audit), kind="remark")
    unlike = "clusters of a kind that none of these shows"
    unseen = _estimates(audit, facts, "unseen", f"Limits that allow for {unlike}")
    yield unseen and fold(f"If there may be {unlike}", named(facts, "clusters"), unseen)
    further, heads = "Further measures of calibration", ("Quantity", "Value", "Remark")
    measures = [(fact.label, fact.value, fact.note) for fact in of_section(facts, "measures")]
    yield fold(further, table(further, heads, measures, numeric=False))


def _heterogeneity(audit: Findings, facts: Sequence[Fact]) -> PagePart | None:
    if not audit.heterogeneity:
        return None
    drawn = forests(audit)
    remark = (
        "Each cluster by itself, and a random-effects summary of all; intervals and the range for a new cluster are "
        "approximate. tau is the standard deviation between clusters: of the logarithm of O:E and of 1 - AUC, of "
        "intercept and slope as they are. Where it is 0 clusters may still differ, as far as its upper limit says."
    )
    plots = [part("picture", f"forest-{i}", forest) for i, (forest, _) in enumerate(drawn, start=1)]
    numbers = [
        fold(of_each, table(f"{of_each}, with its interval for independent rows", lines[0], lines[1:]), screen=True)
        for forest, lines in drawn
        for of_each in [f"{forest.name} of each cluster"]
    ]
    inside = *paragraphs(remark, kind="remark"), named(facts, "between"), around("box", "pair", *plots), *numbers
    return section("Differences between clusters", *inside, id="heterogeneity")


def _decisions(audit: Findings, facts: Sequence[Fact]) -> Iterator[PagePart | None]:
    every, start, some = view.decisions(audit)
    decision, effect = audit.decision, audit.recalibration
    yield from paragraphs(
        "A case is predicted positive where its score reaches the threshold. A threshold t is right where a false "
        "positive costs t and a false negative 1 \N{MINUS SIGN} t, a cost ratio of t : 1 \N{MINUS SIGN} t."
    )
    yield part("slider", "", every, start, confidence(audit.decision_curve.confidence_level))
    shown = {"decisions": ("Decision curve", decisions_of(audit)), "costs": ("Cost curve", costs_of(audit))}
    drawn = {name: Picture(title, one, audit.name) for name, (title, one) in shown.items() if one is not None}
    yield around("box", "pair", *(part("picture", name, picture) for name, picture in drawn.items()))
    caption = "Decisions at some thresholds. Mean cost per case, where a false positive costs 1; net benefit with its "
    yield table(f"{caption}interval", _DECISIONS, some)
    costs = "whatever a false positive and a false negative cost"
    if decision is not None:
        costs = f"where a false positive costs {decision.false_positive_cost:g} and a false negative "
        costs += f"{decision.false_negative_cost:g}"
    yield _estimates(audit, facts, "costs", f"Mean cost per case, {costs}")
    if effect is None or effect.costs is None:
        return
    sure = confidence(effect.confidence_level)
    caption = (
        "Mean cost per case before and after recalibration, if a false positive costs p and a false negative "
        "1 \N{MINUS SIGN} p. After: of maps fitted to other rows (cross-validation). Difference with its "
        f"{sure} confidence interval for these maps"
    )
    within = write_upper(effect.costs.band)
    remark = f"With {sure} confidence the true cost of the decisions before recalibration is within {within} of the "
    remark += "line, at all p simultaneously."
    if audit.clusters:
        remark = (
            "The intervals are for clusters, at each p by itself. There is no band for all p simultaneously: it "
            "holds for independent rows only."
        )
    heads = ("Cost of a false positive", "Before", "After", "Difference")
    numbers = table(caption, heads, view.cost_curve_rows(audit)), *paragraphs(remark, kind="remark")
    yield fold("Numbers behind the cost curve", *numbers, screen=True)


def _review(audit: Findings) -> PagePart | None:
    if audit.selective is None:
        return None
    both = []
    for one in selection_parts(sides(audit.selective), "cut-off"):
        inside = *one.lines, part("picture", "risk-coverage", one.picture), cutoff_table(one.selection)
        both.append(deeper(section(one.heading, *inside, id=one.picture.anchor)))
    return section(TITLE, *paragraphs(*audit.selective.lines()), around("box", "pair", *both), id="review")


def _behind(audit: Findings) -> Iterator[PagePart]:
    points = audit.reliability
    caption = "Bins of the score"
    if not np.isnan(points.lower).all():
        caption += f", each observed rate with its {confidence(points.confidence_level)} confidence interval"
    bins = table(caption, ("Mean predicted", "Rows", "Observed rate"), view.bins(points))
    heads = ("Score", "Positives", "Negatives")
    counts = table("Distribution of the scores (bins that are not empty)", heads, view.histogram(audit.histogram))
    both = around("box", "side", bins, around("box", "screen", counts))
    yield fold("Bins and distribution of the scores", both)
    caption = "Cumulative residuals at some scores"
    heads_of_line = ("Score up to", "Share of rows", "Cumulative observed \N{MINUS SIGN} predicted", "Remark")
    line = table(caption, heads_of_line, view.residual_points(audit.cumulative_residuals))
    yield fold(caption, line, screen=True)


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
