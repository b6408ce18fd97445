"""What an audit of several classes shows that no other does, and its table of classes."""

from __future__ import annotations

from collections.abc import Iterator

from calibrant.auditing.findings import ClassFindings
from calibrant.auditing.own_words import teller_of
from calibrant.auditing.wording import NAME, Words, error_limits, evidence_text
from calibrant.certificates import PartTable
from calibrant.metrics.classes import PartErrors
from calibrant.table.numbers import (
    confidence,
    number,
    share,
    short_name,
    text_grid,
    wrapped,
    write_interval,
    write_upper,
)
from calibrant.table.pooling import score_order
from calibrant.table.results import Fact, joined

_CELL = 24  # letters of the name of a class in a table
_STATISTICS = {"SKCE": "SKCE, the kernel error of whole vectors"}
_PRINTED = 20  # classes of a printed table
_NOT_IN_GRID = ("Share", "Direction", "at")  # columns of a `PartTable` that an audit leaves out


def worst_first(table: PartErrors) -> list[int]:
    """Order of the classes: by the upper bound, and where all have that of the worst class by the error."""
    bounds = [-table.upper] if isinstance(table, PartTable) else []
    order: list[int] = score_order(*bounds, -table.error).tolist()
    return order


def class_grid(audit: ClassFindings, most: int | None = None) -> list[list[str]]:
    """Heads and rows of the table of classes, the worst first."""
    heads, *lines = audit.table.lines(worst_first(audit.table)[:most])
    chosen = [i for i, head in enumerate(heads) if head not in _NOT_IN_GRID]
    return [[line[i] for i in chosen] for line in (heads, *lines)]


def sentences(audit: ClassFindings) -> list[str]:
    """Say what the bounds of the table of classes are, and what there is to say of it."""
    if not isinstance(audit.table, PartTable):
        return ["Errors of all classes in these rows."]
    sure = confidence(audit.table.confidence_level)
    bounds = f"Errors of all classes, with bounds that hold together with {sure} confidence (lower ones asymptotic)."
    return [bounds, *audit.table.remarks()]


def table_text(audit: ClassFindings, width: int | None) -> str:
    """Write what is claimed of all classes together, and the table of the worst of them."""
    lines = [[short_name(cells[0], _CELL), *cells[1:]] for cells in class_grid(audit)]
    told = [wrapped(teller_of(audit)(sentence), width, indent=0) for sentence in sentences(audit)]
    return "\n".join([*told, text_grid(lines, ("Verdict",), _PRINTED, "classes")])


def test(audit: ClassFindings, _: Words) -> Fact:
    """P-value of the test, and which statistic speaks most against the probabilities."""
    known = audit.test
    if known is None:
        return Fact("", "", "" if audit.clusters is None else "none: clusters are worth too few of equal size")
    most = "" if known.smallest is None else f", most against it: {_STATISTICS.get(known.smallest, known.smallest)}"
    seen = "against" if audit.rejected else "no evidence against"
    return Fact("", "", f"{seen} the probabilities: {evidence_text(known)}{most}", note=" ".join(known.sentences()))


def sure(audit: ClassFindings, _: Words) -> str:
    """How sure probabilities are of the most probable class, how often it occurs, and by how much that is shown off."""
    losses, off = audit.losses, audit.too_sure
    text = f"says {share(losses.mean_confidence)}, right {share(losses.accuracy)}"
    if not (off.lower > 0.0 or off.upper < 0.0):
        return text
    written = write_interval(abs(off.value), *sorted(map(abs, (off.lower, off.upper))), write=share)
    way = "too sure" if off.value < 0.0 else "not sure enough"
    points = f"{written.value} points ({written.ends})".replace("%", "")
    return f"{text}: {way} by {points}"


def by_chance(audit: ClassFindings, notion: str) -> str:
    """What an error would be on average if all probabilities were right."""
    return f"{number(audit.null_means[notion])} by chance alone" if notion in audit.null_means else ""


def notions(audit: ClassFindings, _: Words) -> Iterator[Fact]:
    """Yield the errors that are bounded, for a table, and but for that of the worst class for the summary."""
    fitted = "" if audit.sum_estimates is None else f", {number(audit.sum_estimates.cross_fitted)} cross-fitted"
    for key, label, certificate, note, rank in (
        ("error", "Worst class", audit.certificate, "the largest error of a class against the rest", None),
        ("sum", "Sum", audit.total, "of all classes", 7),
        (
            "top_label",
            "Top label",
            audit.top_label,
            "of the largest probability, by the class predicted",
            6,
        ),
        ("confidence", "Confidence", audit.confidence, "of the largest probability, whatever class it is of", 8),
    ):
        if certificate is None:
            continue
        limits, chance = error_limits(certificate), by_chance(audit, str(certificate.notion))
        chance += fitted * (key == "sum")
        yield Fact(key, label, *limits, note=joined(note, chance))
        if rank is not None:
            text = joined(f"{limits.value}, at most {limits.upper}", chance)
            yield Fact(key, label, text, note=note, section="calibration", rank=rank)


def losses(audit: ClassFindings, _: Words) -> str:
    """Log loss and Brier score."""
    return f"log loss {number(audit.losses.log_loss)}, Brier score {number(audit.losses.brier_score)}"


def extent(audit: ClassFindings) -> str:
    """How many classes there are, and what was done to probabilities."""
    text = f"{len(audit.classes):,} classes"
    rescaled = f"{audit.n_rescaled:,} of them, whose probabilities did not add up to 1, divided by their sum"
    return joined(text, rescaled if audit.n_rescaled else "")


def confusion(audit: ClassFindings, _: Words) -> str:
    """Which pairs of classes are furthest from what is expected."""
    if audit.confusion is None:
        return ""
    pairs = [
        f"{short_name(was, NAME)} where {short_name(told, NAME)} is predicted {off} ({n} observed, {expected})"
        for told, was, n, expected, off in audit.confusion.lines()[1:4]
    ]
    return f"{' '.join(audit.confusion.sentences())} {'; '.join(pairs)}"


def cost(audit: ClassFindings, _: Words) -> Fact:
    """What acting on the probabilities costs, and the most that other actions save."""
    decision = audit.decision
    if decision is None:
        return Fact("", "", "")
    costs = f"{number(decision.cost)} per case, {number(decision.predicted_cost)} predicted"
    text = f"{costs}; another action in place of each one saves at most {write_upper(decision.bound)}"
    return Fact("", "", text, note=" ".join(decision.sentences()))
