"""The audit of events, which `calibrant.audit` makes of labels and scores, and the object it returns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from calibrant.auditing.advice import NO_ADVICE, advise
from calibrant.auditing.evidence import statements_about
from calibrant.auditing.findings import Findings
from calibrant.auditing.grades import grade_audit, grading_of
from calibrant.auditing.measures import decision_curve, drawable_band, loess, measure
from calibrant.auditing.next_steps import Asked
from calibrant.auditing.performance import performance_of
from calibrant.auditing.provenance import complete, provenance_of
from calibrant.auditing.recalibration import cross_fitted
from calibrant.auditing.summary import ShownAudit
from calibrant.auditing.warnings import data_warnings
from calibrant.auditing.wording import assumptions, limitations
from calibrant.curves import binned_curve, cumulative_residuals, isotonic_curve, score_histogram
from calibrant.curves.reliability import cluster_bins
from calibrant.decisions.clusters import cluster_net_benefit
from calibrant.distributions.cluster_jackknife import LEAST_TO_SUMMARISE
from calibrant.metrics import ClusterHeterogeneity, cutoff_calibration
from calibrant.metrics.heterogeneity import heterogeneity_of
from calibrant.sources.given import READ, audited_rows, given_rows, row_options, segment_request
from calibrant.sources.named import names_of
from calibrant.table.clusters import MOST_COMPARED, ClusteredRows
from calibrant.table.progress import report_progress, subtask

# Points drawn of the cumulative residuals: more than a picture has pixels, few enough for a small file.
_CURVE_POINTS = 900
# Shares of an audit, beside the reading of the rows, that are its statements and the folds of recalibration.
_STATEMENTS, _FOLDS = 0.15, 0.1
# Arguments that say what segments are, and those with which there is no map by segment.
_OF_SEGMENTS = ("depth", "direction", "min_rows", "cuts")
_FURTHER = ("cluster", "count", "weight", "chance")


@dataclass(frozen=True, repr=False)
class Audit(ShownAudit, Findings):
    """Result of `calibrant.audit` of events: its numbers are those of `Findings`; print it, or show it otherwise."""

    _pictured = "Reliability diagram and cumulative residuals"

    def __repr__(self) -> str:
        n, error = self.n, self.cutoff.value
        return f"<Audit {self.name!r}: n={n:g}, error={error:.4g}, verdict={self.verdict!r}>"


def audit_events(asked: Asked) -> Audit:
    """Audit labels of two kinds and their scores."""
    given = asked.given
    question = asked.question()
    question.need_for(clusters=given["cluster"] is not None)
    by, grade, confidence_level, direction = (given[name] for name in ("by", "grade", "confidence_level", "direction"))
    asked_of: dict[str, Any] = {name: given[name] for name in _OF_SEGMENTS}
    segments, differ, grading = None, None, grading_of(grade, by, "event")
    request = None if by is None else segment_request(by, beside=grading.beside, **asked_of)
    source_rows = given_rows(
        given["data"], given["prediction"], asked.kind, **row_options("event", given) | {"by": grading.columns}
    )
    with subtask(READ), source_rows as source:
        rows = audited_rows(source, grouped=given["cluster"] is not None)
        if request is not None:
            from calibrant.auditing.segment_audit import judge_segments

            segments, differ = judge_segments(source, request, question, [given[name] for name in _FURTHER])
        grades = None if grade is None else grade_audit(source, grading, confidence_level, direction)
    with subtask(_STATEMENTS):
        statements = statements_about(rows, question)
    with subtask(_FOLDS):
        recalibration = cross_fitted(
            rows.units,
            n_folds=question.n_folds,
            confidence_level=confidence_level,
            random_state=question.random_state,
        )
    report_progress("Measures and curves")
    table, clustered, digest = rows.table, rows.clustered, rows.units.digest
    independent = table.independent  # before those of clusters are taken as dependent
    performance_for = partial(
        performance_of, rows.units, confidence_level=confidence_level, threshold=question.threshold
    )
    if clustered is not None:
        # Statistics that need independent rows stay unknown.
        table = replace(table, sampling=clustered.sampling)
    cutoff, reliability = cutoff_calibration(table), binned_curve(table)
    decisions, wider = decision_curve(table, statements.decision, confidence_level), None
    if clustered is not None and not question.unseen_clusters:
        wider = performance_for(unseen_clusters=True)
        reliability = cluster_bins(clustered, reliability.confidence_level)
        decisions = cluster_net_benefit(clustered, decisions)
    references = ["gao2017", "rossellini2025", "feller1951", "brier1950", "ayer1955"]
    for part in (*statements, segments, grades):
        references += part.references if part is not None else ()
    columns = {
        "by": None if by is None else names_of(by),
        "grade": grading.edges or grading.column or None,
    }
    result = Audit(
        name=given["name"] or asked.kind.predictions,
        n=table.n_rows,
        positives=None if table.weighted else table.positives,
        base_rate=table.base_rate,
        mean_score=table.mean_score,
        distinct_scores=len(table) if table.exact else None,
        tied_rows=float(table.n[table.n > 1].sum()) if table.exact and independent else None,
        weights="rows" if independent else "other" if rows.drawn is None else "chances",
        clusters=None if clustered is None else len(clustered.size),
        effective_clusters=None if clustered is None else clustered.effective_clusters,
        classes=(str(given["pos_label"]), *rows.intake.others) if rows.intake.others[1:] else None,
        cutoff=cutoff,
        certificate=statements.certificate,
        test=statements.test,
        expected_error=statements.expected_error,
        performance=performance_for(unseen_clusters=question.unseen_clusters),
        performance_unseen=wider,
        decision=statements.decision,
        max_regret=statements.max_regret,
        recalibration=recalibration,
        warnings=data_warnings(
            rows.units,
            cutoff,
            rows.order,
            repeated=rows.repeated,
            unseen=question.unseen_clusters,
            tolerance=question.tolerance,
        ),
        advice=NO_ADVICE,
        measures=measure(table),
        reliability=reliability,
        isotonic=isotonic_curve(table),
        local=loess(table),
        band=drawable_band(table, confidence_level),
        histogram=score_histogram(table, within="data"),
        cumulative_residuals=cumulative_residuals(table, n_points=_CURVE_POINTS),
        decision_curve=decisions,
        references=tuple(dict.fromkeys(references)),
        provenance=provenance_of(asked.function, given | columns, asked.kind, rows=table.n_rows, digest=digest),
        segments=segments,
        selective=statements.selective,
        certificate_ordinary=statements.ordinary,
        grades=grades,
        heterogeneity=_heterogeneity(clustered, confidence_level),
        left_out=rows.intake.left_out,
    )
    advice = advise(
        result,
        asked._replace(given=given | {"grade": grading.edges or grade}, others=rows.intake.others),
        segments_differ=differ,
        expected_brier=table.mean_variance,
    )
    result = replace(result, advice=advice)
    return complete(result, assumptions(result), limitations(result))


def _heterogeneity(rows: ClusteredRows | None, level: float) -> ClusterHeterogeneity | None:
    """Compare clusters with each other, where they are not too many and have positives."""
    if rows is None or not LEAST_TO_SUMMARISE <= len(rows.size) <= min(MOST_COMPARED, rows.table.positives):
        return None
    return heterogeneity_of(rows, level)
