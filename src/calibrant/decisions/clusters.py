"""What deciding by scores costs, and could save, where rows belong to clusters (docs/theory/3-clusters.md)."""

from __future__ import annotations

import numpy as np

from calibrant.decisions.cost import check_costs, costs_by_cut
from calibrant.decisions.saving import Decision
from calibrant.distributions.cluster_bound import Sums, largest_ratio
from calibrant.table.cluster_residuals import squares_from
from calibrant.table.clusters import ClusteredRows
from calibrant.table.numbers import claim_upper
from calibrant.table.parameters import failure_probability
from calibrant.table.score_table import FloatArray
from calibrant.table.statements import FIXED_CLASSIFIER
from calibrant.table.wording import at_least, counted

__all__ = ["cluster_saving"]


def cluster_saving(
    rows: ClusteredRows, *, false_positive_cost: float, false_negative_cost: float, confidence_level: float = 0.95
) -> Decision:
    """Costs per row, as rows count, and bounds that hold for every number of clusters; otherwise as `saving_bound`.

    Limits for costs are those of Corollary 3.6, the bound on the saving that of Corollary 3.7.
    """
    a, b = check_costs(false_positive_cost, false_negative_cost)
    table, tau, dearest, half = rows.table, a / (a + b), max(a, b), 0.5 * failure_probability(confidence_level)
    costs = costs_by_cut(table, a, b)
    cut = int(np.searchsorted(table.score, tau, side="left"))
    cost, best = float(costs[cut]), float(costs.min())

    positive = rows.score >= tau
    negatives = rows.n - rows.k
    paid = rows.by_cluster(np.where(positive, a * negatives, b * rows.k))
    mean_predicted = np.where(positive, a * rows.n * (1.0 - rows.score), b * rows.n * rows.score)
    excess = paid - rows.by_cluster(mean_predicted)
    forecast = float(mean_predicted.sum()) / table.total
    lower, upper = _limits(rows, paid, half, least=0.0, most=dearest)
    error_lower, error_upper = _limits(rows, excess, half, least=-dearest, most=dearest)

    # Moving the cut down by some rows gains b for a positive and costs a for a negative, moving it up the reverse.
    steps = np.where(positive, -1.0, 1.0) * (b * rows.k - a * negatives)
    saving = largest_ratio(
        Sums(*squares_from(rows, steps, cut)), **_sizes(rows), cap=rows.cap, delta=half, least=-dearest, most=dearest
    )
    # What is saved is part of what is paid; both statements together fail with probability delta.
    bound = min(saving, upper)
    return Decision(
        claim=f"With probability at least {at_least(confidence_level)} over the draw of the clusters, no "
        f"order-preserving recalibration saves more than {claim_upper(bound)} per case in the population, in which "
        f"{counted(rows.cap)}, at costs {a:g} (false positive) and {b:g} (false negative).",
        false_positive_cost=a,
        false_negative_cost=b,
        threshold=tau,
        cost=cost,
        cost_lower=lower,
        cost_upper=upper,
        cost_forecast=forecast,
        forecast_error_lower=error_lower,
        forecast_error_upper=error_upper,
        cost_treat_all=float(costs[0]),
        cost_treat_none=float(costs[-1]),
        best_cost=best,
        saving=cost - best,
        saving_bound=bound,
        confidence_level=confidence_level,
        method="bernstein",
        assumptions=(
            "The clusters are independent draws from the population the statement is about.",
            f"The population is one in which {counted(rows.cap)}.",
            FIXED_CLASSIFIER,
            "The costs were fixed before these rows were seen, and are the same for every case.",
        ),
        references=("gao2017", "fan2015"),
        n_clusters=len(rows.size),
        max_rows_per_cluster=rows.cap,
    )


def _limits(rows: ClusteredRows, values: FloatArray, delta: float, *, least: float, most: float) -> tuple[float, float]:
    """Lower and upper confidence limit for the sum of a value over its rows, each failing with probability `delta`."""
    sizes = _sizes(rows)
    upper = largest_ratio(Sums.of(values, rows.size), **sizes, cap=rows.cap, delta=delta, least=least, most=most)
    lower = largest_ratio(Sums.of(-values, rows.size), **sizes, cap=rows.cap, delta=delta, least=-most, most=-least)
    return -lower + 0.0, upper


def _sizes(rows: ClusteredRows) -> dict[str, float]:
    return {
        "rows": float(rows.size.sum()),
        "squared_sizes": float(np.dot(rows.size, rows.size)),
        "clusters": len(rows.size),
    }
