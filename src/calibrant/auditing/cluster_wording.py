"""Sentences about clusters, for the printed text and the report. Nothing is computed here."""

from __future__ import annotations

import math

from calibrant.auditing.findings import Findings
from calibrant.certificates import Certificate
from calibrant.table.numbers import number, rows, share, write_interval
from calibrant.table.sampling import weighting


def unseen_sentence(audit: Findings) -> str:
    """Say what limits would be if there may be clusters of a kind that none shows; empty where that is not known."""
    found, clusters = audit.performance_unseen, audit.sample.clusters
    if found is None or clusters is None:
        return ""
    tail = 0.5 - 0.5 * found.brier.confidence_level
    parts = (
        f"{name} {write_interval(estimate.value, estimate.lower, estimate.upper).ends}"
        for name, estimate in (("AUC", found.roc_auc), ("Brier score", found.brier), ("O:E", found.observed_expected))
    )
    return (
        f"if there may be clusters of a kind that none of these shows: {', '.join(parts)}; with {rows(clusters)} of "
        f"equal size such events may be in up to {share(-math.expm1(math.log(tail) / clusters))} of rows"
    )


def no_bounds(audit: Findings) -> str:
    """Why there is no bound on the calibration error."""
    if audit.sample.effective_clusters is None:
        return "the weights are not whole numbers of rows"
    return f"clusters are worth only {audit.sample.effective_clusters:.3g} of equal size, and a bound needs 5"


def about_clusters(certificate: Certificate) -> str:
    """Say how clusters are weighted, what the estimate is then, and why a proved bound is wide; empty without clusters.

    The bound that is shown without a tolerance is narrower: what it says is asymptotic, and of clusters like these.
    """
    how = counting(certificate)
    how = how and f"{how}; estimate so weighted {number(certificate.estimate)}"
    if certificate.n_clusters is None or certificate.method == "asymptotic":
        return how
    return f"{how}; proved, so it also allows for clusters of a kind that none of these shows: 'asymptotic' does not"


def counting(result: Certificate) -> str:
    """Say how clusters are weighted, where not every row counts the same."""
    return "" if result.max_rows_per_cluster is None else f", where {weighting(result.max_rows_per_cluster)}"
