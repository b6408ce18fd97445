"""Certificate, test, costs and confidence limits of an audit, at a computing time that suits it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from calibrant.auditing.rows import AuditedRows
from calibrant.certificates import CalibrationTest, Certificate, ExpectedErrorCertificate, calibration_test, certify_ece
from calibrant.certificates.certify import certify_table
from calibrant.certificates.clusters import LEAST_GROUPS, certify_clusters, cluster_test, need_clusters
from calibrant.certificates.question import Question
from calibrant.decisions import Decision, saving_bound
from calibrant.decisions.clusters import cluster_saving
from calibrant.distributions.brownian import LEAST_EVENTS
from calibrant.errors import DataError
from calibrant.table.clusters import ClusteredRows, cap_clusters
from calibrant.table.progress import report_progress, subtask
from calibrant.table.score_table import ScoreTable

# Labels are simulated at every distinct score: a fifth of a second at so many, and some seconds at the second limit.
_EXACT, _MOST = 20_000, 200_000


def _affordable_test(table: ScoreTable, random_state: int | np.random.Generator) -> CalibrationTest | None:
    """Test by simulated labels where scores are few, by the asymptotic distribution where rows are many.

    None if the weights are not whole numbers, or if so many scores predict so few events that the asymptotic
    distribution is wrong and simulation would take long.
    """
    if not table.independent:
        return None
    asymptotic = table.total * table.mean_variance >= LEAST_EVENTS
    if table.exact and len(table) <= (_EXACT if asymptotic else _MOST):
        return calibration_test(table, random_state=random_state)
    return calibration_test(table, method="asymptotic") if asymptotic else None


def bounds_of_expected_error(table: ScoreTable, confidence_level: float) -> ExpectedErrorCertificate | None:
    """Bounds, or None if the weights are not whole numbers or the cells of the table were chosen by its maker."""
    if not table.independent:
        return None
    try:
        return certify_ece(table, confidence_level=confidence_level)
    except DataError:
        return None


class Statements(NamedTuple):
    """What is claimed of the population; None if the weights do not count rows, or nothing was asked."""

    certificate: Certificate | None
    test: CalibrationTest | None
    decision: Decision | None


def statements_about(rows: AuditedRows, question: Question) -> Statements:
    """Return certificate, test and, if there are prices, expected costs of independent or of clustered rows."""
    table, prices, decision = rows.table, question.prices, None
    costs: dict[str, Any] = {}
    if prices is not None:
        costs = {"false_positive_cost": prices[0], "false_negative_cost": prices[1]}
        costs["confidence_level"] = question.confidence_level
    if rows.clustered is not None:
        certificate, test = _of_clusters(rows.clustered, question)
        if costs:
            decision = cluster_saving(rows.clustered, **costs, guarantee=question.guarantee)
        return Statements(certificate, test, decision)
    if not table.independent:
        if question.tolerance is not None:
            raise _need_counts("a verdict was asked for", "`tolerance` to get point estimates only")
        if costs:
            raise _need_counts("costs were given", "`costs` to get the other point estimates")
        return Statements(None, None, None)
    report_progress("Certificate")
    certificate = certify_table(table, question)
    with subtask(1.0):
        test = _affordable_test(table, question.random_state)
    return Statements(certificate, test, saving_bound(table, **costs) if costs else None)


def _need_counts(since: str, omit: str) -> DataError:
    return DataError(
        f"weights that are whole numbers of independent rows, since {since}", "other weights", f"leave out {omit}"
    )


def _of_clusters(rows: ClusteredRows, question: Question) -> tuple[Certificate | None, CalibrationTest | None]:
    """Certificate and test; neither for clusters worth fewer than five, unless a verdict was asked for.

    A verdict allows for clusters of a kind that none shows, and is proved where clusters are many: those count the same
    then. A bound alone is about all rows, and asymptotic.
    """
    capped = cap_clusters(rows, question.max_rows_per_cluster)
    judged, verdict = capped, question
    if question.tolerance is not None:
        if question.bound_method == "default":
            judged = cap_clusters(rows, question.max_rows_per_cluster or 1)
            verdict = replace(question, guarantee="unseen clusters")
        need_clusters(judged)
    report_progress(f"Summing {len(rows.size):,} clusters")
    certificate = test = None
    with subtask(0.5):
        if judged.effective_clusters >= LEAST_GROUPS:
            certificate = certify_clusters(judged, verdict)
    with subtask(0.5):
        if capped.effective_clusters >= LEAST_GROUPS:
            test = cluster_test(capped, question)
    return certificate, test
