"""Bounds on the calibration errors of several classes: of the worst one, of their sum, and of the classes predicted.

Each of these errors is the expectation of one function of a row, though nobody knows which: a sign and an interval for
each class, applied to what occurred less what was predicted. So each takes one bound for one mean, and the number of
classes enters the errors of the rows only, not the width. Derivation: docs/theory/14-classes.md.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from operator import attrgetter, methodcaller
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from calibrant.certificates.clusters import in_all
from calibrant.certificates.events import EventPart
from calibrant.certificates.part import SHARES, Part
from calibrant.certificates.part_table import PartTable, joint_verdicts
from calibrant.certificates.parts import Units, certify_rows, part_of
from calibrant.certificates.question import Question
from calibrant.certificates.results import Bounds, Certificate, conclude
from calibrant.distributions.mean_limits import single_width
from calibrant.distributions.mean_of_bets import DrawKinds, KeyedRows, all_lists, lower_limit, worst_event
from calibrant.errors import ArgumentError, DataError
from calibrant.metrics.classes import class_fields, pooled_error
from calibrant.sources.given import class_tables_of
from calibrant.sources.rows import drawn_labels
from calibrant.table.class_scores import ClassRows, ClassScores, known_chances, tables_of
from calibrant.table.clusters import ClusteredRows, cluster_rows
from calibrant.table.numbers import claim_upper
from calibrant.table.outcome_table import OutcomeTable
from calibrant.table.parameters import check_choice, check_method
from calibrant.table.pooling import BoolArray, FloatArray, IntArray, score_order
from calibrant.table.rules import PROVED_OF_CLASSES
from calibrant.table.seeding import generator_for
from calibrant.table.statements import INDEPENDENT

if TYPE_CHECKING:
    from calibrant.sources.class_files import FileClasses

Notion = Literal["worst_class", "sum", "pooled", "top_label", "confidence"]

_BY_CLASS = ("worst_class", "sum", "pooled")
_CLAIMS = {
    "worst_class": "the cutoff calibration error of every class against the rest is at most",
    "sum": "the cutoff calibration errors of all classes against the rest add up to at most",
    "pooled": "the cutoff calibration error of the probabilities of all classes in one list is at most",
    "top_label": "the cutoff calibration errors of the largest probability by predicted class, each times the share of "
    "its rows, add up to at most",
    "confidence": "the cutoff calibration error of the largest probability is at most",
}
# Largest size of the function of a row whose expectation the error is.
_SIZE = {"worst_class": 1.0, "sum": 2.0, "pooled": 1.0, "top_label": 1.0}
# What is said of each part, where a notion has parts with a bound each.
_TABLES = {
    "worst_class": "the cutoff calibration error of every class against the rest",
    "top_label": "the cutoff calibration error of the largest probability, where it is that of any one class,",
}
# From so many classes on it is said how many of them are far off: all but a hundredth, a tenth or a half at most.
_MANY, _SHARES_OF_CLASSES = 20, (100, 10, 2)
_ASSUMPTIONS = INDEPENDENT.assumptions("the confidence level, the tolerance and the notion")
NOT_ALL = (
    "Nothing is claimed of the vector of probabilities as a whole: errors that show only where several classes are "
    "looked at together can remain."
)


def certify_classes(
    data: Any,
    prediction: Any,
    question: Question,
    *,
    notion: Notion,
    smallest_chance: float | None = None,
    **columns: Any,
) -> Certificate:
    """Certificate of the error of several classes that a notion names; arguments are those of `certify`."""
    check_choice("notion", notion, tuple(_CLAIMS))
    if columns.get("chance") is not None:
        check_method(question.bound_method, of="rows with chances")
    # Of a file with very many probabilities one class is read at a time.
    with class_tables_of(data, prediction, whole=notion != "worst_class", **columns) as opened:
        known_chances(opened, smallest_chance)
        return class_certificate(opened, question, notion, smallest_chance)


def forbids_sums(data: ClassScores | FileClasses, question: Question) -> list[str]:
    """Return what forbids bounds on sums of errors: they are of independent rows, at one number of them, either way."""
    way, method = question.direction, question.bound_method
    asked = {"`cluster`": data.cluster is not None, "`chance`": data.chance is not None}
    asked |= {f"direction {way!r}": way != "either", f"method {method!r}": method != "default"}
    return [name for name, is_asked in asked.items() if is_asked]


def class_certificate(
    data: ClassScores | FileClasses,
    question: Question,
    notion: Notion = "worst_class",
    smallest_chance: float | None = None,
) -> Certificate:
    """Certificate of rows that were read."""
    if notion not in ("worst_class", "confidence") and (besides := forbids_sums(data, question)):
        remedy = "bound the worst class, or the largest probability"
        raise ArgumentError(f"`notion` 'worst_class' or 'confidence' with {besides[0]}", repr(notion), remedy)
    delta, n_classes = question.delta, len(data.classes)
    chosen = None if notion == "worst_class" else _parts(data, notion)  # type: ignore[arg-type]
    parts = class_parts(data, question, SHARES[2] * delta / n_classes, chosen, smallest_chance)
    one = next(parts)
    part, of_events = one[1], isinstance(one[1], EventPart)
    judged: dict[str, Callable[[Part], float]] = {}
    by_part = not of_events or not isinstance(data, ClassScores) or question.bound_method != "default"
    if notion == "worst_class" or by_part:
        judged["alone"] = Largest(delta)
    if by_part:  # each lower bound at its share: only upper ones of all classes hold at full confidence
        judged["least"] = methodcaller("lower", delta / n_classes)
    if notion in _TABLES:
        listed = n_classes if notion == "worst_class" else int(np.count_nonzero(np.bincount(data.predicted)))  # type: ignore[union-attr]
        judged["as_worst"] = Largest(SHARES[0] * delta)
        judged["upper"] = methodcaller("upper", SHARES[1] * delta / listed)
        judged["lower"] = methodcaller("lower", SHARES[2] * delta / listed)
        if sizes := _counted(notion, n_classes):
            judged["counted"] = Largest(0.5 * delta, sizes[-1] // 2 + 1)
    total = None if of_events else part.unit
    fields = class_fields(
        len(data), chain([one], parts), attrgetter("table"), total=total, side=question.side, **judged
    )
    trivial = _trivial_bound(data, notion, fields["mean_predicted"], question.side)  # type: ignore[arg-type]
    alone, least, estimate, summed = (fields.pop(name, None) for name in ("alone", "least", "worst", "total"))
    sure = f"{part.sampling.sure(question.confidence_level, f' ({part.limit})' if part.limit else '')}, "
    sure += question.as_far
    table = _part_table(data, question, part, notion, sure, fields) if notion in _TABLES else None
    if least is None:
        assert isinstance(data, ClassScores)
        bounds = _bounds(data, notion, question, summed if alone is None else estimate, alone)
    else:
        bound = float(np.max(alone))
        bounds = Bounds(estimate, bound, float(np.max(least)), bound - estimate)
    return conclude(
        question,
        bounds,
        kind="classes",
        sampling=part.sampling,
        trivial_bound=trivial,
        method=part.method,
        n=len(data),
        notion=notion,
        n_rescaled=data.n_rescaled,
        parts=table,
        left_out=data.left_out,
        claim=f"{sure}{_CLAIMS[notion]} {claim_upper(bounds.bound, question.tolerance)} ({part.how}).",
        assumptions=(*(_ASSUMPTIONS if of_events else part.assumptions), NOT_ALL),
        references=("gao2017", "bentkus2004", "shevtsova2013", "fan2015", "berger1982", "feller1951"),
    )


def _part_table(
    data: ClassScores | FileClasses, question: Question, part: Part, notion: str, sure: str, fields: dict[str, Any]
) -> PartTable:
    """Bounds of all classes that hold together.

    Every class gets an equal part of the probability of failure, whether it occurred or not: how often a class occurred
    is an outcome, unlike the size of a segment. What is said of the worst class, and all upper bounds, hold together,
    so the first caps the others.
    """
    bound, counted = float(fields.pop("as_worst").max()), sorted(fields.pop("counted", ()), reverse=True)
    upper, lower, n = np.minimum(fields.pop("upper"), bound), fields.pop("lower"), fields.pop("n")
    del fields["worst_class"]
    return PartTable(
        claim=f"{sure}{_TABLES[notion]} is at most {claim_upper(bound, question.tolerance)} ({part.how}), and between "
        f"its two bounds{'' if part.lower_proved else ' (the lower one asymptotic)'}.",
        lower_proved=part.lower_proved,
        confidence_level=question.confidence_level,
        tolerance=question.tolerance,
        bound=bound,
        lower_bound=float(lower.max()),
        rows=np.rint(fields["share"] * n).astype(np.int64),
        lower=lower,
        upper=upper,
        **joint_verdicts(lower, upper, bound, question.tolerance),
        count_bounds={
            size - 1: float(counted[min(size // 2, len(counted) - 1)]) for size in _counted(notion, len(data.classes))
        },
        **fields,
    )


def _parts(scores: ClassScores, notion: str) -> Iterable[ClassRows]:
    """Return what a notion is about: tables over all rows for each class, over those of each predicted one, or one."""
    if notion == "confidence":
        return [scores.of_confidence()]
    return scores.by_predicted() if notion == "top_label" else scores.by_class()


class Largest:
    """Upper bounds of one class after the other, of which so many count: a bound that is none of them may be -inf."""

    def __init__(self, delta: float, count: int = 1) -> None:
        self.delta, self.top = delta, [-math.inf] * count

    def __call__(self, part: Part) -> float:
        """Bound the error of one more class."""
        bound = part.upper(self.delta, enough=self.top[0])
        heapq.heappushpop(self.top, bound)
        return bound


def class_parts(
    data: Any, question: Question, delta: float, chosen: Iterable[ClassRows] | None, smallest_chance: float | None
) -> Iterator[tuple[str, Part]]:
    """Yield what each class is judged by, at probabilities of failure of at least delta; by default all classes."""
    if data.weight is not None:
        raise DataError("rows, or a `count` of equal ones", "weights that count no rows", PROVED_OF_CLASSES)

    def clustered(part: ClassRows) -> ClusteredRows:
        return cluster_rows(part.outcome.view(np.int8), part.score, data.cluster[part.rows])

    def drawn(part: ClassRows) -> OutcomeTable:
        return drawn_labels(part.outcome, part.score, data.chance, smallest_chance, cluster=data.cluster)

    tables: Iterable[tuple[str, Units]]
    together = None
    if data.cluster is None and data.chance is None:
        tables = data.tables() if chosen is None else tables_of(chosen)
    else:
        parts = list(data.by_class() if chosen is None else chosen)
        if data.chance is None:
            together = in_all(map(clustered, parts))
        tables = ((part.name, (clustered if data.chance is None else drawn)(part)) for part in parts)
    yield from ((name, part_of(table, question, delta, together)) for name, table in tables)


def _bounds(scores: ClassScores, notion: str, question: Question, estimate: float, alone: FloatArray | None) -> Bounds:
    """Bound the error that a notion is about from both sides; `alone` are the upper bounds of each class by itself."""
    if notion == "confidence" or (notion == "worst_class" and len(scores.classes) == 2 and not question.side):
        # One yes-or-no question: of two classes that of the second, since the first has the same errors.
        *_, part = _parts(scores, notion)
        binary = certify_rows(part.table(), question)
        return Bounds(binary.estimate, binary.bound, binary.lower_bound, binary.width)
    if notion == "worst_class":
        bound = float(np.max(alone))  # type: ignore[arg-type]
    else:
        estimate = pooled_error(scores) if notion == "pooled" else estimate
        most, squares = _SIZE[notion], np.square(scores.miss if notion in _BY_CLASS else scores.confidence_residuals)
        moments = squares.mean(), np.square(squares).mean()
        bound = min(most, estimate + most * single_width(len(scores), *moments, question.delta, estimate / most))
    rng, sides = generator_for(scores, question.random_state), (question.side,) if question.side else (1, -1)
    count, lists = np.ones(len(scores), dtype=np.int64), _lists(scores, notion)
    draws = DrawKinds(count, lists=1 if notion == "top_label" else len(scores.classes))
    if notion in ("sum", "top_label"):
        propose = partial(all_lists, lists, bottom=_SIZE[notion])
    elif notion == "pooled":  # of one row the probabilities of several classes may be in the interval
        propose = partial(worst_event, lists, bottom=lambda *_: _SIZE[notion], unit=np.ones(len(scores)))
    else:
        propose = partial(worst_event, lists, sides=sides)
    lower_bound = min(float(estimate), lower_limit(draws, question.delta, rng, propose))
    return Bounds(estimate, bound, lower_bound, bound - estimate)


def _lists(scores: ClassScores, notion: str) -> Iterator[KeyedRows]:
    """Rows of each part in the order of their probabilities; of all in one list where they are pooled."""
    parts: Iterable[tuple[FloatArray, BoolArray, IntArray]] = (
        (part.score, part.outcome, np.arange(len(scores))[part.rows]) for part in _parts(scores, notion)
    )
    if notion == "pooled":
        score, outcome, kind = (np.concatenate(each) for each in zip(*parts, strict=True))
        parts = [(score, outcome, kind)]
    for score, outcome, kind in parts:
        order = score_order(score)
        yield KeyedRows(score[order], (outcome - score)[order], kind[order])


def _trivial_bound(scores: ClassScores, notion: str, mean_predicted: FloatArray, side: int) -> float:
    """What the error can be at most, whatever the outcomes."""
    if notion in ("sum", "pooled"):
        return float(_SIZE[notion] * (1.0 - scores.least).mean())
    if notion == "top_label":
        top = scores.of_confidence().score
        return float(np.maximum(top, 1.0 - top).mean())
    limits = {1: 1.0 - mean_predicted, -1: mean_predicted}
    return float(limits.get(side, np.maximum(mean_predicted, 1.0 - mean_predicted)).max())


def _counted(notion: str, n_classes: int) -> list[int]:
    """Numbers M of classes: M - 1 at most exceed a bound, of those that each fail with half the probability allowed.

    If the j-th largest of all bounds is below the M-th largest error, of the M classes with the largest errors at least
    M - j + 1 have a bound below their own; with j = M // 2 + 1 that is half of them or more, and the expected number
    is at most half of M times the probability allowed (Markov's inequality). Classes that no row lists have the least
    bound that there can be, no larger than those that are given.
    """
    if notion != "worst_class" or n_classes < _MANY:
        return []
    return sorted({n_classes // part for part in _SHARES_OF_CLASSES} - {0, 1})
