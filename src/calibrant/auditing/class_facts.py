"""Every fact that an audit of several classes shows, each written in one place; sections are those of `facts`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

from calibrant.auditing.class_findings import ClassFindings
from calibrant.auditing.facts import INDEPENDENT, audit_facts, provenance_sentence
from calibrant.auditing.wording import advice_sentence, evidence_text
from calibrant.certificates import ClassCertificate, ClassTable, ClassTest
from calibrant.table.numbers import (
    WrittenInterval,
    confidence,
    given,
    interval_text,
    number,
    rows,
    share,
    write_change,
    write_interval,
    write_lower,
    write_upper,
)
from calibrant.table.pooling import score_order
from calibrant.table.results import Fact, joined
from calibrant.table.shown import short_name, text_grid, wrapped

_NAME, _CELL = 40, 24  # letters of the name of a class in a sentence, and in a table
_STATISTICS = {"SKCE": "SKCE, the kernel error of whole vectors"}
_PRINTED = 20  # classes of a printed table
MARGINAL = (
    "Errors of one class at a time, of their sum and of the largest probability are bounded. Errors that show only "
    "where several classes are looked at together can remain: nothing here shows that whole vectors are right."
)


@audit_facts.register
def class_facts(audit: ClassFindings) -> list[Fact]:
    """Write all facts of an audit of several classes, those of a section in the order in which they are read."""
    facts = [*_headline(audit), *_details(audit)]
    return [fact for fact in facts if fact.value]


def error_limits(certificate: ClassCertificate) -> WrittenInterval:
    """Write estimate, lower and upper bound, with digits enough to see why there is this verdict on the tolerance."""
    return write_interval(certificate.estimate, certificate.lower_bound, certificate.bound, certificate.tolerance)


def verdict_word(audit: ClassFindings) -> str:
    """Verdict in one or two words: what the test says of whole vectors comes before what is certified of each class."""
    verdict = audit.certificate.verdict
    return "rejected" if audit.rejected and verdict != "refuted" else verdict or "no verdict"


def verdict_meaning(audit: ClassFindings) -> str:
    """What the verdict means, to be read after its word; it names the class with the largest error."""
    meaning = _meaning(audit)
    if verdict_word(audit) != "rejected":
        return meaning
    so = "" if audit.certificate.verdict is None else f" {audit.certificate.verdict}"
    return f"that labels are drawn from these probabilities: {evidence(audit)}. Class by class{so}: {meaning}"


def evidence(audit: ClassFindings) -> str:
    """Write the p-value of the test, and which statistic speaks most against the probabilities."""
    test = audit.test
    if not isinstance(test, ClassTest):
        return "" if test is None else evidence_text(test)
    return f"{evidence_text(test)}, most against it: {_STATISTICS.get(test.smallest, test.smallest)}"


def _meaning(audit: ClassFindings) -> str:
    """What is known of the class with the largest error."""
    certificate = audit.certificate
    sure, limits = f"{confidence(certificate.confidence_level)} confidence", error_limits(certificate)
    largest = f"the largest error of these rows, {limits.value}, is that of class {worst_name(audit)}"
    tolerance = given(certificate.tolerance)
    each = f"the error of every class, each against the rest,{' in the rows that list it,' if audit.n_listed else ''}"
    if certificate.verdict is None:
        no_verdict = "(no tolerance was given, so there is no verdict)"
        return f"{each} is at most {limits.upper} with {sure}; {largest} {no_verdict}."
    if certificate.verdict == "certified":
        return f"{each} is within {tolerance}, with {sure}; {largest}."
    if certificate.verdict == "refuted":
        return f"the error of some class is above {tolerance}, with {sure}; {largest}."
    if certificate.verdict == "undecided":
        lacking = f"do not show whether the error of every class is within {tolerance}"
    else:
        lacking = f"are too few for any statement about a tolerance of {tolerance}"
    return f"{rows(audit.n)} rows {lacking}: {largest}."


def verdict_sentence(audit: ClassFindings) -> str:
    """Verdict and what it means."""
    meaning = verdict_meaning(audit)
    if verdict_word(audit) == "no verdict":
        return meaning[0].upper() + meaning[1:]
    return f"{verdict_word(audit).upper()}: {meaning}"


def worst_first(table: ClassTable) -> list[int]:
    """Order of the classes: by the upper bound, and where all have that of the worst class by the error."""
    order: list[int] = score_order(-table.upper, -table.error).tolist()
    return order


def class_grid(audit: ClassFindings, most: int | None = None) -> list[list[str]]:
    """Heads and rows of the table of classes, the worst first."""
    table = audit.table
    heads = ["Class", "Observed", "Predicted", "Error", "of pred.", "Lower", "Upper"]
    lines = [heads if table.tolerance is None else [*heads, "Verdict"]]
    for i in worst_first(table)[:most]:
        numbers = (float(each[i]) for each in (table.observed_rate, table.mean_predicted, table.error))
        relative = float(table.relative_error[i])
        lower = write_lower(float(table.lower[i]), table.tolerance)
        upper = write_upper(float(table.upper[i]), table.tolerance)
        cells = [str(table.name[i]), *map(number, numbers)]
        cells += ["" if math.isnan(relative) else f"{relative:.0%}", lower, upper]
        lines.append(cells if table.tolerance is None else [*cells, str(table.verdicts[i])])
    return lines


def together(audit: ClassFindings) -> str:
    """What the bounds of the table are."""
    sure = confidence(audit.table.confidence_level)
    return f"Errors of all classes, with bounds that hold together with {sure} confidence (lower ones asymptotic)."


def table_text(audit: ClassFindings, width: int | None) -> str:
    """Write what is claimed of all classes together, and the table of the worst of them."""
    lines = [[short_name(cells[0], _CELL), *cells[1:]] for cells in class_grid(audit, _PRINTED)]
    said = [wrapped(sentence, width, indent=0) for sentence in (together(audit), *audit.table.remarks())]
    left = len(audit.table.name) + 1 - len(lines)
    more = [f"... and {rows(left)} more classes"] if left else []
    return "\n".join([*said, text_grid(lines, ("Verdict",)), *more])


def _headline(audit: ClassFindings) -> Iterator[Fact]:
    """Yield what matters most, the verdict first."""
    fact = partial(Fact, section="headline")
    yield fact("verdict", "Verdict", verdict_sentence(audit), rank=1)
    yield fact("where", "Where", worst_place(audit), rank=8)
    if audit.test is not None and verdict_word(audit) != "rejected":
        seen = "against" if audit.rejected else "no evidence against"
        yield fact("test", "Test", f"{seen} the probabilities: {evidence(audit)}", rank=4)
    yield fact("error", "Error", _bounds(audit.certificate), rank=4)
    yield fact("sum", "Sum", _bounds(audit.total, f" over all classes, {_by_chance(audit)}"), rank=7)
    yield fact("confidence", "Top label", _of_predicted(audit), rank=7)
    yield fact("accuracy", "Accuracy", _accuracy(audit), rank=5)
    yield fact("data", "Data", _data(audit), rank=6)
    yield fact("cost", "Cost", _cost(audit), rank=7)
    yield fact("advice", "Advice", advice_sentence(audit), rank=3)
    yield fact("command", "Next", audit.advice.command or "", rank=0)
    yield fact("python", "In Python", audit.advice.python or "", rank=0)


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
        f"probabilities of class {worst_name(audit)} {interval} are {worst.direction[i]}; this error is "
        f"{worst.relative_error[i]:.0%} of the mean probability of the class, {share(worst.mean_predicted[i])}"
    )


def _bounds(certificate: ClassCertificate, remark: str = "") -> str:
    """Estimate, with a remark on it, and both bounds, in a few words."""
    limits, two_sided = error_limits(certificate), certificate.lower_bound > 0.0
    sure = f"{confidence(certificate.confidence_level)} confidence" + " each" * two_sided
    lower = f"at least {limits.lower}, " if two_sided else ""
    return f"{limits.value}{remark}; {lower}at most {limits.upper} ({sure})"


def _by_chance(audit: ClassFindings) -> str:
    estimates = audit.sum_estimates
    return f"{number(estimates.null_mean)} expected if all were right, {number(estimates.cross_fitted)} cross-fitted"


def _of_predicted(audit: ClassFindings) -> str:
    """Errors of the largest probability, of the classes predicted and of all of them together."""
    confidence_, top_label = map(error_limits, (audit.confidence, audit.top_label))
    return (
        f"by predicted class {top_label.value}, at most {top_label.upper}; confidence alone {confidence_.value}, "
        f"at most {confidence_.upper}"
    )


def _accuracy(audit: ClassFindings) -> str:
    losses = audit.losses
    return f"{share(losses.accuracy)}, log loss {number(losses.log_loss)}, Brier score {number(losses.brier_score)}"


def _data(audit: ClassFindings) -> str:
    count = audit.certificate.n_rescaled
    rescaled = f"{rows(count)} of them did not add up to 1 and were divided by their sum" if count else ""
    counts = f"{rows(audit.n)} rows, {rows(len(audit.classes))} classes"
    if audit.n_listed is not None:
        counts += f" of which each row lists {audit.n_listed}: no test and no recalibration, which take all"
    return joined(counts, rescaled)


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


def recalibration_sentence(audit: ClassFindings) -> str:
    """What recalibration did to rows that it was not fitted to."""
    effect = audit.recalibration
    if effect is None:
        return "not assessed: too few rows, or lists of some classes only"
    written = ", ".join(f"{name} {before} -> {after}" for name, before, after in changes(audit))
    fitted = f"judged on {rows(effect.n)} rows, by maps fitted to {rows(effect.n_fitted)} others each time"
    return f"{fitted}: {written}; {share(effect.decisions_changed)} of the most probable classes change"


def _cost(audit: ClassFindings) -> str:
    decision = audit.decision
    if decision is None:
        return ""
    costs = f"{number(decision.cost)} per case, {number(decision.predicted_cost)} predicted"
    return f"{costs}; another action in place of each one saves at most {write_upper(decision.bound)}"


def notion_facts(audit: ClassFindings) -> Iterator[Fact]:
    """Yield the errors that are bounded, each with what it is."""
    for key, label, certificate, note in (
        ("error", "Worst class", audit.certificate, "the largest error of a class against the rest"),
        ("sum", "Sum over classes", audit.total, f"above 0 by chance alone: {_by_chance(audit)}"),
        ("top_label", "Top label", audit.top_label, "of the largest probability, for each predicted class by itself"),
        ("confidence", "Confidence", audit.confidence, "of the largest probability, whatever class it is of"),
    ):
        yield Fact(key, label, *error_limits(certificate), note=note, section="notions")


def _details(audit: ClassFindings) -> Iterator[Fact]:
    """Yield every statement of the audit as a sentence."""
    certificates = (audit.certificate, audit.total, audit.top_label, audit.confidence)
    for fact, certificate in zip(notion_facts(audit), certificates, strict=True):
        said = f"{certificate.claim} In these rows it is {fact.value}; lower bound {fact.lower}"
        yield Fact(fact.key, fact.label, said, section="calibration")
    test = audit.test
    if test is not None:
        further = " ".join(test.sentences()) if isinstance(test, ClassTest) else test.claim
        yield Fact("test", "Test", further, section="calibration")
    yield Fact("accuracy", "Accuracy", _accuracy(audit), section="accuracy")
    yield Fact("data", "Data", _data(audit), section="data")
    if audit.confusion is not None:
        lines = (
            (short_name(said, _NAME), short_name(was, _NAME), n) for said, was, n, *_ in audit.confusion.lines()[1:4]
        )
        cells = [f"{was} where {said} is predicted, {n} rows" for said, was, n in lines]
        yield Fact(
            "confusion", "Confusion", f"{' '.join(audit.confusion.sentences())} {'; '.join(cells)}", section="accuracy"
        )
    if audit.decision is not None:
        yield Fact("cost", "Decisions", " ".join(audit.decision.sentences()), section="cost")
    yield Fact("recalibration", "Recalibration", recalibration_sentence(audit), section="effect")
    yield Fact("advice", "Advice", advice_sentence(audit), section="conclusion")
    yield Fact("next", "Next", audit.advice.python or "", section="conclusion")
    yield Fact("limits", "Not shown", MARGINAL, section="origin")
    yield Fact("assumptions", "Assumptions", INDEPENDENT, section="origin")
    yield Fact("provenance", "Provenance", provenance_sentence(audit.provenance), section="origin")


def assumptions(audit: ClassFindings) -> Iterator[str]:
    """Yield what an audit assumes."""
    yield "The classifier was fixed before these rows were seen: none of them was used to fit, tune or choose it."
    yield "Rows are independent draws from the population that the statements are about."
    yield "Labels are recorded correctly, and no row is missing because of its label."
    if audit.certificate.n_rescaled:
        yield "Probabilities are used after division by their sum, not as they were given."


def limitations(audit: ClassFindings) -> Iterator[str]:
    """Yield what an audit does not show."""
    yield MARGINAL
    yield "It is about the population that these rows were drawn from, not about another place or a later time."
    yield "It is about all of these rows together: within a part of them, probabilities may be less well calibrated."
    yield "Probabilities can be calibrated and still rank poorly, or serve a decision badly."
    yield "Each statement holds with its own confidence level; that all of them hold has a lower one."
    if audit.certificate.tolerance is None:
        yield "No tolerance was given, so whether the calibration error is acceptable was not decided."
