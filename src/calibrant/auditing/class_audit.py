"""The audit of several classes, which `calibrant.audit` makes of them, and the object it returns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from calibrant.auditing import class_facts
from calibrant.auditing.advice import NO_ADVICE, advise_on_parts
from calibrant.auditing.findings import ClassFindings
from calibrant.auditing.next_steps import Asked
from calibrant.auditing.provenance import complete, provenance_of
from calibrant.auditing.recalibration import ClassLosses, class_recalibration
from calibrant.auditing.segment_audit import segment_audit
from calibrant.auditing.summary import ShownAudit
from calibrant.auditing.warnings import few_clusters, wide_for_classes
from calibrant.auditing.wording import assumptions, limitations
from calibrant.certificates.class_test import judge_classes
from calibrant.certificates.classes import class_certificate, forbids_sums
from calibrant.certificates.clusters import LEAST_GROUPS
from calibrant.certificates.parts import has_enough
from calibrant.certificates.question import Question
from calibrant.curves import Curve, binned_curve
from calibrant.curves.reliability import cluster_bins
from calibrant.decisions import SwapRegret, confusion, swap_regret
from calibrant.distributions.binomial import share_interval
from calibrant.distributions.brownian import range_survival
from calibrant.distributions.null_distribution import null_mean
from calibrant.errors import ArgumentError
from calibrant.metrics import ClassSum, class_sum_calibration, class_wise_calibration
from calibrant.metrics.classes import PartErrors
from calibrant.metrics.estimates import SampledRows, difference_of
from calibrant.sources.given import READ, class_scores_of, row_options, segment_request, segments_of_classes
from calibrant.sources.named import names_of
from calibrant.table.class_scores import ClassScores, known_chances, tables_of
from calibrant.table.clusters import cap_clusters, cluster_rows
from calibrant.table.parameters import check_method
from calibrant.table.pooling import FloatArray
from calibrant.table.progress import report_progress, subtask
from calibrant.table.score_table import ScoreTable

FEW_CLASSES = 30  # up to which all pairs of classes are counted
_DIAGRAMS = 12  # up to so many classes all have a reliability diagram, else the worst nine
_WORST = 9
_BINS = 10  # of a reliability diagram
_TEST, _FOLDS = 0.15, 0.15  # shares of an audit that test, and assess recalibration


@dataclass(frozen=True, repr=False)
class ClassAudit(ShownAudit, ClassFindings):
    """Result of `calibrant.audit` of several classes: its numbers are those of `ClassFindings`.

    Examples
    --------
    >>> import calibrant
    >>> y, P = ["a", "b", "c", "c"] * 1_000, [[0.25, 0.25, 0.5]] * 4_000
    >>> calibrant.audit(y, P, tolerance=0.05).certificate.verdict
    'certified'
    """

    _pictured = "Reliability diagrams of the classes with the largest error bounds"

    def __repr__(self) -> str:
        table = self.table
        return (
            f"<ClassAudit {self.name!r}: n={self.n}, {len(self.classes)} classes, worst={table.worst_name!r}, "
            f"error={table.error.max():.4g}, verdict={self.verdict!r}>"
        )


def audit_classes(asked: Asked) -> ClassAudit:
    """Audit labels of several classes and the probabilities of all of them."""
    given = asked.given
    question = asked.question(costs=None)  # those of classes are a matrix
    question.need_for(clusters=given["cluster"] is not None)
    with subtask(READ):
        rows = class_scores_of(given["data"], given["prediction"], **row_options("classes", given))
    left_out, rows = rows.left_out, replace(rows, left_out=None)  # said once
    chance, as_drawn = known_chances(rows, given["smallest_chance"]), rows
    if chance is not None:  # estimates count each row as often as there are others like it
        check_method(question.bound_method, of="rows with chances")
        rows = replace(rows, chance=None, cluster=None, weight=1.0 / chance)
    top = rows.of_confidence()
    clustered = None
    if rows.cluster is not None:
        clustered = cluster_rows(top.outcome.view(np.int8), top.score, rows.cluster)
    decision = None if given["costs"] is None else _decision(rows, given["costs"], question)
    report_progress("Certificates")
    bounded = as_drawn.weight is None and (clustered is None or has_enough(clustered, question))
    certify = partial(class_certificate, as_drawn, smallest_chance=given["smallest_chance"])
    untold = replace(question, tolerance=None)
    sums = bounded and not forbids_sums(as_drawn, question)
    certificate = certify(question) if bounded else None
    table = class_wise_calibration(rows) if certificate is None or certificate.parts is None else certificate.parts
    segments = None
    if rows.by:
        request = segment_request(rows.by, *(given[name] for name in ("depth", "direction", "min_rows", "cuts")))
        totals = segments_of_classes(as_drawn, request, given["smallest_chance"])
        segments = segment_audit(totals, question, request.min_rows)
    test, recalibration, sum_estimates = None, None, None
    capped = None if clustered is None else cap_clusters(clustered, question.cluster_cap)
    enough = capped is None or capped.effective_clusters >= LEAST_GROUPS
    if rows.weight is None and enough:
        with subtask(_TEST):
            test = judge_classes(rows, question, question.cluster_cap)
    if alone := bounded and rows.weight is None and rows.cluster is None and not question.side:
        sum_estimates = class_sum_calibration(rows, random_state=question.random_state)
    shown = _shown(table)
    curves, null_errors = _of_classes(rows, shown, question.confidence_level)
    null_means = {} if sum_estimates is None else _by_chance(rows, null_errors, sum_estimates)
    if rows.weight is None:
        with subtask(_FOLDS):
            recalibration = class_recalibration(rows, n_folds=question.n_folds, random_state=question.random_state)
    named = {"by": None if given["by"] is None else names_of(given["by"])}
    statements: tuple[Any, ...] = (certificate, test, decision, segments)
    result = ClassAudit(
        name=given["name"] or asked.kind.predictions,
        n=len(rows),
        weights="rows" if rows.weight is None else "other" if as_drawn.chance is None else "chances",
        clusters=None if clustered is None else len(clustered.size),
        effective_clusters=None if clustered is None else clustered.effective_clusters,
        left_out=left_out,
        classes=tuple(map(str, rows.classes)),
        n_rescaled=rows.n_rescaled,
        certificate=certificate,
        total=certify(untold, notion="sum") if sums else None,
        top_label=certify(untold, notion="top_label") if sums else None,
        confidence=certify(untold, notion="confidence") if bounded else None,
        sum_estimates=sum_estimates,
        table=table,
        test=test,
        losses=ClassLosses.of(rows),
        too_sure=difference_of(
            SampledRows(top.table(), clustered, question.confidence_level, question.unseen_clusters)
        ),
        null_means=null_means,
        warnings=(
            *wide_for_classes(table, question.tolerance),
            *few_clusters(clustered, unseen=question.unseen_clusters),
        ),
        confusion=confusion(rows) if alone and len(rows.classes) <= FEW_CLASSES else None,
        decision=decision,
        recalibration=recalibration,
        null_errors=null_errors if alone else np.zeros(0),
        shown=shown,
        reliability=curves,
        segments=segments,
        advice=NO_ADVICE,
        references=tuple(dict.fromkeys(key for part in statements if part for key in part.references)),
        provenance=provenance_of(asked.function, given | named, asked.kind, rows=len(rows), digest=rows.digest),
    )
    advice = advise_on_parts(result, asked)
    return complete(replace(result, advice=advice), assumptions(result), limitations(result))


def _decision(rows: ClassScores, costs: Any, question: Question) -> SwapRegret:
    """Judge decisions of independent rows."""
    if rows.cluster is not None or rows.weight is not None:
        what = "clusters" if rows.weight is None else "weights"
        remedy = "leave `costs` out here, and give one row of each cluster to calibrant.decisions.classes"
        if rows.weight is not None:
            remedy = "leave `costs` out, or pass `count` if each weight is a number of equal rows"
        raise ArgumentError("independent rows that count the same, where there are `costs` of classes", what, remedy)
    asked: dict[str, Any] = {"confidence_level": question.confidence_level, "random_state": question.random_state}
    return swap_regret(rows, costs=costs, **asked)


def _by_chance(rows: ClassScores, null_errors: FloatArray, sums: ClassSum) -> dict[str, float]:
    """Return about what each error would be if all probabilities were right."""
    top = (null_mean(of) * of.total / len(rows) for _, of in tables_of(rows.by_predicted()))
    return {
        "worst_class": float(null_errors[0]),
        "sum": sums.null_mean,
        "top_label": math.fsum(top),
        "confidence": null_mean(rows.of_confidence().table()),
    }


def _shown(table: PartErrors) -> tuple[int, ...]:
    """Classes that have a reliability diagram."""
    order = class_facts.worst_first(table)
    return tuple(order if len(order) <= _DIAGRAMS else order[:_WORST])


def _of_classes(
    scores: ClassScores, shown: Sequence[int], confidence_level: float
) -> tuple[tuple[Curve, ...], FloatArray]:
    """Return the binned reliability curves of some classes, and the errors that all would show if they were right."""
    curves, variances = {}, []
    for k, part in enumerate(scores.by_class()):
        variances.append(float((part.score * (1.0 - part.score)).sum()) / len(scores))
        if k not in shown:
            continue
        if scores.cluster is not None:
            rows = cluster_rows(part.outcome.view(np.int8), part.score, scores.cluster)
            curves[k] = cluster_bins(rows, confidence_level)
        else:
            of_class = part.table()
            curves[k] = _binned(of_class, confidence_level) if scores.weight is None else binned_curve(of_class)
    return tuple(curves[k] for k in shown), _null_errors(np.sqrt(np.array(variances) / len(scores)))


def _binned(table: ScoreTable, confidence_level: float) -> Curve:
    """Return rates in bins in which about equally many rows of the class are expected: most rows are not of it."""
    expected = np.asarray(table.n * table.score)
    middle = np.cumsum(expected) - 0.5 * expected
    number = np.minimum(_BINS - 1, _BINS * middle / (expected.sum() or 1.0)).astype(np.int64)
    starts = np.flatnonzero(np.diff(number, prepend=-1))
    n, k, total = (np.add.reduceat(values, starts) for values in (table.n, table.k, expected))
    ends = share_interval(n, k, confidence_level, "wilson")
    return Curve(total / n, k / n, *ends, n, confidence_level, "binned", "wilson")


def _null_errors(scale: FloatArray) -> FloatArray:
    """Return about the median of the largest of several ranges of Brownian motions on these scales, the second, ..."""
    if not scale.max() > 0.0:
        return np.zeros(len(scale))
    ranges = np.linspace(0.0, 8.0, 801)
    survival = np.array([range_survival(r) for r in ranges.tolist()])
    size = scale.max() * ranges
    with np.errstate(divide="ignore"):
        # How many of them are expected above each size.
        above = sum(np.interp(size / one, ranges, survival, right=0.0) for one in scale[scale > 0.0])
    return np.asarray(np.interp(np.arange(len(scale)) + 0.5, above[::-1], size[::-1]))
