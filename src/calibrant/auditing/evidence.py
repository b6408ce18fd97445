"""Certificate, test, costs and confidence limits of an audit, at a computing time that suits it."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from calibrant.certificates import CalibrationTest, Certificate, ExpectedErrorCertificate, calibration_test, certify_ece
from calibrant.certificates.clusters import LEAST_GROUPS, as_judged, cluster_test, need_clusters
from calibrant.certificates.mean_test import mean_test
from calibrant.certificates.parts import certify_rows
from calibrant.certificates.question import Question
from calibrant.decisions import Decision, MaxRegret, expected_cost, max_regret
from calibrant.decisions.clusters import cluster_saving
from calibrant.decisions.selections import BinarySelection, select_both, target_pair
from calibrant.distributions.brownian import LEAST_EVENTS
from calibrant.errors import DataError
from calibrant.sources.given import AuditedRows
from calibrant.table.clusters import ClusteredRows, cap_clusters
from calibrant.table.progress import report_progress, subtask
from calibrant.table.rules import PROVED
from calibrant.table.score_table import ScoreTable

# Labels are simulated at every distinct score: a fifth of a second at so many, and some seconds at the second limit.
_EXACT, _MOST = 20_000, 200_000


def _affordable_test(table: ScoreTable, random_state: int | np.random.Generator) -> CalibrationTest | None:
    """Test by simulated labels where scores are few, by the asymptotic distribution where rows are many.

    None if so many scores predict so few events that the asymptotic distribution is wrong and simulation would take
    long.
    """
    asymptotic = table.total * table.mean_variance >= LEAST_EVENTS
    if table.exact and len(table) <= (_EXACT if asymptotic else _MOST):
        return calibration_test(table, random_state=random_state)
    return calibration_test(table, method="asymptotic") if asymptotic else None


def _expected_error(table: ScoreTable, confidence_level: float) -> ExpectedErrorCertificate | None:
    """Bounds, or None if the cells of the table were chosen by its maker."""
    try:
        return certify_ece(table, confidence_level=confidence_level)
    except DataError:
        return None


class Statements(NamedTuple):
    """What is claimed of the population, in the order of an audit's references; None where chance is not known."""

    certificate: Certificate | None = None
    test: CalibrationTest | None = None  # None also where it would take too long
    decision: Decision | None = None  # None also without costs
    max_regret: MaxRegret | None = None  # these two only of independent rows
    expected_error: ExpectedErrorCertificate | None = None
    selective: BinarySelection | None = None  # None also without a target
    ordinary: Certificate | None = None  # of clusters, beside a verdict: the bound that is shown without one


def statements_about(rows: AuditedRows, question: Question) -> Statements:
    """Return certificate, test and, if there are prices, expected costs; of independent rows all statements."""
    table, prices, confidence_level = rows.table, question.prices, question.confidence_level
    decision = None
    if rows.drawn is not None:
        report_progress("Certificate")
        outcomes, tested = rows.drawn.rows, None
        if outcomes.cluster is None and np.count_nonzero(outcomes.outcome) >= LEAST_EVENTS:
            tested = replace(mean_test(rows.drawn, random_state=question.random_state), kind="event")
        return Statements(certify_rows(rows.drawn, question), tested)
    if rows.clustered is not None:
        certificate, ordinary, test = _of_clusters(rows.clustered, question)
        if prices is not None:
            decision = cluster_saving(
                rows.clustered,
                false_positive_cost=prices[0],
                false_negative_cost=prices[1],
                confidence_level=confidence_level,
                unseen=question.unseen_clusters,
            )
        return Statements(certificate, test, decision, ordinary=ordinary)
    if not table.independent:
        if question.tolerance is not None:
            raise _need_counts("a verdict was asked for", "`tolerance`")
        if prices is not None:
            raise _need_counts("costs were given", "`costs`")
        if question.target_error is not None:
            raise _need_counts("a target error was given", "`target_error`")
        return Statements()
    report_progress("Certificate")
    certificate = certify_rows(table, question)
    with subtask(1.0):
        test = _affordable_test(table, question.random_state)
    selection = None
    if question.target_error is not None:
        selection = select_both(table, target_pair(question.target_error), None, question.delta)
    if prices is not None:
        decision = expected_cost(
            table,
            false_positive_cost=prices[0],
            false_negative_cost=prices[1],
            confidence_level=confidence_level,
        )
    return Statements(
        certificate,
        test,
        decision,
        max_regret=max_regret(table, confidence_level=confidence_level),
        expected_error=_expected_error(table, confidence_level),
        selective=selection,
    )


def _need_counts(since: str, omit: str) -> DataError:
    remedy = f"leave out {omit} for point estimates; {PROVED}"
    return DataError(f"rows, or a `count` of equal ones, since {since}", "weights that count no rows", remedy)


def _of_clusters(
    rows: ClusteredRows, question: Question
) -> tuple[Certificate | None, Certificate | None, CalibrationTest | None]:
    """Certificate, bound beside it and test; without a verdict none for clusters worth fewer than five."""
    capped = cap_clusters(rows, question.cluster_cap)
    judged, verdict = as_judged(rows, question)
    if question.tolerance is not None:
        need_clusters(judged.size)
    report_progress(f"Summing {len(rows.size):,} clusters")
    certificate = ordinary = test = None
    with subtask(0.5):
        if judged.effective_clusters >= LEAST_GROUPS:
            certificate = certify_rows(judged, verdict)
    with subtask(0.5):
        if capped.effective_clusters >= LEAST_GROUPS:
            test = cluster_test(capped, question)
            if verdict.unseen_clusters and not question.unseen_clusters:
                ordinary = certify_rows(capped, replace(question, tolerance=None))
    return certificate, ordinary, test
