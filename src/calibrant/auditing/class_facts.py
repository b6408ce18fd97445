"""Every fact that an audit of several classes shows, each written in one place; sections are those of `facts`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from calibrant.auditing.class_findings import ClassFindings
from calibrant.auditing.facts import INDEPENDENT, audit_facts, provenance_sentence
from calibrant.auditing.next_steps import next_facts
from calibrant.auditing.verdict import Said, limits_text, said_of, verdict_sentence
from calibrant.auditing.wording import advice_sentence, bounds_text, certified_from, error_limits, evidence_text
from calibrant.certificates import ClassTable, ClassTest
from calibrant.table.numbers import (
    confidence,
    counted,
    given,
    interval_text,
    number,
    share,
    write_change,
    write_interval,
    write_upper,
)
from calibrant.table.pooling import score_order
from calibrant.table.results import Fact, joined
from calibrant.table.shown import short_name, text_grid, wrapped

_NAME, _CELL = 40, 24  # letters of the name of a class in a sentence, and in a table
_STATISTICS = {"SKCE": "SKCE, the kernel error of whole vectors"}
_PRINTED = 20  # classes of a printed table
_NOT_IN_GRID = ("Share", "Direction", "at")  # columns of a `ClassTable` that an audit leaves out
MARGINAL = (
    "The bounds are about one class at a time, the sum over classes, and the largest probability. Nothing "
    "here shows that the probabilities of all classes together are right."
)


@audit_facts.register
def class_facts(audit: ClassFindings) -> list[Fact]:
    """Write all facts of an audit of several classes, those of a section in the order in which they are read."""
    facts = [*_headline(audit), *_details(audit)]
    return [fact for fact in facts if fact.value]


def evidence(audit: ClassFindings) -> str:
    """Write the p-value of the test, and which statistic speaks most against the probabilities."""
    test = audit.test
    if not isinstance(test, ClassTest):
        return "" if test is None else evidence_text(test)
    return f"{evidence_text(test)}, most against it: {_STATISTICS.get(test.smallest, test.smallest)}"


@said_of.register
def _said(audit: ClassFindings) -> Said:
    """What is known of the class with the largest error; what people call the total, all classes together, is right."""
    return Said(_meaning(audit), "")


def _meaning(audit: ClassFindings) -> str:
    certificate = audit.certificate
    sure, limits = f"{confidence(certificate.confidence_level)} confidence", error_limits(certificate)
    largest = f"the largest error of these rows, {limits.value}, is that of class {worst_name(audit)}"
    tolerance = given(certificate.tolerance)
    each = f"the error of every class, each against the rest,{' in the rows that list it,' if audit.n_listed else ''}"
    if certificate.verdict is None:
        return f"{each} is at most {limits.upper} with {sure}; {largest}"
    if certificate.verdict == "certified":
        return f"{each} is within {tolerance}, with {sure}; {largest}."
    if certificate.verdict == "refuted":
        return f"the error of some class is above {tolerance}, with {sure}; {largest}."
    one = audit.n == 1
    lacking = f"{'is' if one else 'are'} too few for any statement about a tolerance of {tolerance}"
    if certificate.verdict == "undecided":
        lacking = f"{'does' if one else 'do'} not show whether the error of every class is within {tolerance}"
        lacking += certified_from(certificate)
    return f"{counted(audit.n)} {lacking}; {largest}."


def worst_first(table: ClassTable) -> list[int]:
    """Order of the classes: by the upper bound, and where all have that of the worst class by the error."""
    order: list[int] = score_order(-table.upper, -table.error).tolist()
    return order


def class_grid(audit: ClassFindings, most: int | None = None) -> list[list[str]]:
    """Heads and rows of the table of classes, the worst first."""
    heads, *lines = audit.table.lines(worst_first(audit.table)[:most])
    chosen = [i for i, head in enumerate(heads) if head not in _NOT_IN_GRID]
    return [[line[i] for i in chosen] for line in (heads, *lines)]


def together(audit: ClassFindings) -> str:
    """What the bounds of the table are."""
    sure = confidence(audit.table.confidence_level)
    return f"Errors of all classes, with bounds that hold together with {sure} confidence (lower ones asymptotic)."


def table_text(audit: ClassFindings, width: int | None) -> str:
    """Write what is claimed of all classes together, and the table of the worst of them."""
    lines = [[short_name(cells[0], _CELL), *cells[1:]] for cells in class_grid(audit)]
    said = [wrapped(sentence, width, indent=0) for sentence in (together(audit), *audit.table.remarks())]
    return "\n".join([*said, text_grid(lines, ("Verdict",), _PRINTED, "classes")])


def _headline(audit: ClassFindings) -> Iterator[Fact]:
    """Yield what matters most, the verdict first; where lines are cut, their first words are what has to stay."""
    fact = partial(Fact, section="headline")
    yield fact("verdict", "Verdict", verdict_sentence(audit), rank=1)
    yield fact("sure", "Accuracy", sure_sentence(audit), rank=1)
    for warning in audit.warnings:
        yield fact("warning", "Warning", warning.message, rank=2)
    yield fact("limits", "Limits", limits_text(audit), rank=1)
    if audit.test is not None:
        seen = "against" if audit.rejected else "no evidence against"
        yield fact("test", "Test", f"{seen} the probabilities: {evidence(audit)}", rank=5)
    yield fact("where", "Where", worst_place(audit), rank=7)
    value, bounds = error_limits(audit.certificate).value, bounds_text(audit.certificate)
    yield fact("error", "Error", joined(value, bounds, _by_chance(audit, "worst_class")), rank=2)
    cross_fitted = f"{number(audit.sum_estimates.cross_fitted)} cross-fitted"
    yield fact("sum", "Sum", f"{_at_most(audit, 'total')}; {_by_chance(audit, 'sum')}, {cross_fitted}", rank=7)
    for key, label, rank in (("top_label", "Top label", 6), ("confidence", "Confidence", 8)):
        yield fact(key, label, f"{_at_most(audit, key)}; {_by_chance(audit, key)}", rank=rank)
    yield fact("losses", "Losses", _losses(audit), rank=9)
    yield fact("left_out", "Left out", str(audit.left_out) if audit.left_out and audit.left_out.n else "", rank=2)
    yield fact("data", "Data", _data(audit), rank=6)
    yield fact("cost", "Cost", _cost(audit), rank=7)
    yield fact("advice", "Advice", advice_sentence(audit), rank=3)
    yield from next_facts(audit.advice)


def sure_sentence(audit: ClassFindings) -> str:
    """How sure probabilities are of the most probable class, how often it occurs, and by how much that is shown off."""
    losses, off = audit.losses, audit.too_sure
    text = f"says {share(losses.mean_confidence)}, right {share(losses.accuracy)}"
    if not (off.lower > 0.0 or off.upper < 0.0):
        return text
    written = write_interval(abs(off.value), *sorted(map(abs, (off.lower, off.upper))), write=share)
    way = "too sure" if off.value < 0.0 else "not sure enough"
    points = f"{written.value} points ({written.ends})".replace("%", "")
    return f"{text}: {way} by {points}"


def worst_name(audit: ClassFindings) -> str:
    """Name of the class with the largest error."""
    return short_name(audit.certificate.worst_class, _NAME)


def worst_place(audit: ClassFindings) -> str:
    """Where the probabilities of the class with the largest error are off, and how much that is for this class."""
    worst = audit.certificate
    i = int(worst.error.argmax())
    if worst.direction[i] == "none":
        return "mean predicted and observed rate agree at every probability of every class"
    interval = interval_text((float(worst.low[i]), float(worst.high[i])))
    return (
        f"class {worst_name(audit)} is {worst.direction[i]} {interval}; this error is {worst.relative_error[i]:.0%} of "
        f"its mean probability, {share(worst.mean_predicted[i])}"
    )


def _at_most(audit: ClassFindings, notion: str) -> str:
    limits = error_limits(getattr(audit, notion))
    return f"{limits.value}, at most {limits.upper}"


def _by_chance(audit: ClassFindings, notion: str) -> str:
    return f"{number(audit.null_means[notion])} by chance alone"


def _losses(audit: ClassFindings) -> str:
    return f"log loss {number(audit.losses.log_loss)}, Brier score {number(audit.losses.brier_score)}"


def _data(audit: ClassFindings) -> str:
    count = audit.certificate.n_rescaled
    rescaled = f"{count:,} of them, whose probabilities did not add up to 1, divided by their sum"
    counts = f"{counted(audit.n)}, {len(audit.classes):,} classes"
    if audit.n_listed is not None:
        counts += f" of which each row lists {audit.n_listed}: no test and no recalibration, which take all"
    return joined(counts, rescaled if count else "")


def changes(audit: ClassFindings) -> list[tuple[str, str, str]]:
    """Write what recalibration changes: names, and values before and after."""
    effect = audit.recalibration
    if effect is None:
        return []
    before, after = effect.losses_before, effect.losses_after
    return [
        ("log loss", *write_change(before.log_loss, after.log_loss)),
        ("Brier score", *write_change(before.brier_score, after.brier_score)),
        ("error of the worst class", *write_change(effect.worst_before, effect.worst_after)),
        ("accuracy", share(before.accuracy), share(after.accuracy)),
    ]


def recalibration_sentence(audit: ClassFindings, *effects: str) -> str:
    """How recalibration was judged, what of its effects is to be listed, and how many decisions it changes."""
    effect = audit.recalibration
    if effect is None:
        return "not assessed: too few rows, or lists of some classes only"
    judged = f"judged on {counted(effect.n)}, by maps fitted to {effect.n_fitted:,.0f} others each time"
    decisions = f"{share(effect.decisions_changed)} of the most probable classes change"
    return joined(": ".join(filter(None, [judged, ", ".join(effects)])), decisions)


def _cost(audit: ClassFindings) -> str:
    decision = audit.decision
    if decision is None:
        return ""
    costs = f"{number(decision.cost)} per case, {number(decision.predicted_cost)} predicted"
    return f"{costs}; another action in place of each one saves at most {write_upper(decision.bound)}"


def notion_facts(audit: ClassFindings) -> Iterator[Fact]:
    """Yield the errors that are bounded, each with what it is."""
    cross_fitted = f"of all classes, {number(audit.sum_estimates.cross_fitted)} cross-fitted"
    for key, label, certificate, note in (
        ("error", "Worst class", audit.certificate, "the largest error of a class against the rest"),
        ("sum", "Sum over classes", audit.total, cross_fitted),
        ("top_label", "Top label", audit.top_label, "of the largest probability, for each predicted class by itself"),
        ("confidence", "Confidence", audit.confidence, "of the largest probability, whatever class it is of"),
    ):
        further = joined(note, _by_chance(audit, certificate.notion))
        yield Fact(key, label, *error_limits(certificate), note=further, section="notions")


def _details(audit: ClassFindings) -> Iterator[Fact]:
    """Yield every statement of the audit as a sentence."""
    certificates = (audit.certificate, audit.total, audit.top_label, audit.confidence)
    for fact, certificate in zip(notion_facts(audit), certificates, strict=True):
        said = f"{certificate.claim} In these rows it is {fact.value}; lower bound {fact.lower}"
        yield Fact(fact.key, fact.label, joined(said, _by_chance(audit, certificate.notion)), section="calibration")
    yield Fact("sure", "Accuracy", sure_sentence(audit), section="accuracy")
    yield Fact("where", "Where", worst_place(audit), section="calibration")
    test = audit.test
    if test is not None:
        further = " ".join(test.sentences()) if isinstance(test, ClassTest) else test.claim
        yield Fact("test", "Test", further, section="calibration")
    yield Fact("losses", "Losses", _losses(audit), section="accuracy")
    yield Fact("data", "Data", _data(audit), section="data")
    yield Fact("left_out", "Left out", "" if audit.left_out is None else str(audit.left_out), section="data")
    if audit.confusion is not None:
        pairs = [
            f"{short_name(was, _NAME)} where {short_name(said, _NAME)} is predicted {off} ({n} observed, {expected})"
            for said, was, n, expected, off in audit.confusion.lines()[1:4]
        ]
        said = f"{' '.join(audit.confusion.sentences())} {'; '.join(pairs)}"
        yield Fact("confusion", "Confusion", said, section="accuracy")
    if audit.decision is not None:
        yield Fact("cost", "Decisions", " ".join(audit.decision.sentences()), section="cost")
    effects = [f"{name} {before} -> {after}" for name, before, after in changes(audit)]
    yield Fact("recalibration", "Recalibration", recalibration_sentence(audit, *effects), section="effect")
    yield Fact("advice", "Advice", advice_sentence(audit), section="conclusion")
    yield from next_facts(audit.advice, "conclusion")
    yield Fact("limits", "Not shown", MARGINAL, section="origin")
    yield Fact("assumptions", "Assumptions", INDEPENDENT, section="origin")
    yield Fact("provenance", "Provenance", provenance_sentence(audit.provenance), section="origin")


def assumptions(audit: ClassFindings) -> Iterator[str]:
    """Yield what an audit assumes."""
    yield "The classifier was fixed before these rows were seen: none of them was used to fit, tune or choose it."
    yield "Rows are independent draws from the population that the statements are about."
    which = "row is missing" if audit.left_out is None or not audit.left_out.n else "row was left out"
    yield f"Labels are recorded correctly, and no {which} because of its label."
    if audit.certificate.n_rescaled:
        yield "Probabilities are used after division by their sum, not as they were given."


def limitations(audit: ClassFindings) -> Iterator[str]:
    """Yield what an audit does not show."""
    yield MARGINAL
    yield "It is about the population that these rows were drawn from, not about another place or a later time."
    yield "It is about all of these rows together: within a part of them, probabilities may be less well calibrated."
    yield "Calibrated probabilities can still rank poorly, or be of little use for a decision."
    yield "Each statement holds with its own confidence level; that all of them hold has a lower one."
    if audit.certificate.tolerance is None:
        yield "No tolerance was given, so whether the calibration error is acceptable was not decided."
