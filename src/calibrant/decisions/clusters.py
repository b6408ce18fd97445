"""What deciding by scores costs, and could save, for clusters (docs/theory/12-cluster-intervals.md)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.decisions.cost import COSTS_FIXED, CostLimits, Decision, check_costs, decision_at
from calibrant.decisions.cost_curves import CostCurve, MappedPart
from calibrant.decisions.decision_curve import NetBenefit
from calibrant.distributions.cluster_bound import ClusterSums, largest_ratio
from calibrant.distributions.cluster_jackknife import LOG, PLAIN, Jackknife, Link, Parts, log_products
from calibrant.table.clusters import ClusteredRows, cluster_blocks, squares_from
from calibrant.table.parameters import failure_probability
from calibrant.table.pooling import FloatArray
from calibrant.table.statements import FIXED_CLASSIFIER

_Index = npt.NDArray[np.int64]


def cluster_saving(
    rows: ClusteredRows,
    *,
    false_positive_cost: float,
    false_negative_cost: float,
    confidence_level: float = 0.95,
    unseen: bool = False,
) -> Decision:
    """Costs per row, each row counted once, and limits for clusters of these sizes; otherwise as `expected_cost`.

    If `unseen`, clusters of a kind that none shows are allowed for: limits are those of Corollaries 3.6 and 3.7.
    """
    a, b = check_costs(false_positive_cost, false_negative_cost)
    table, tau, half = rows.table, a / (a + b), 0.5 * failure_probability(confidence_level)
    cut = int(np.searchsorted(table.score, tau, side="left"))
    positive = rows.score >= tau
    negatives = rows.negatives
    paid = rows.by_cluster(np.where(positive, a * negatives, b * rows.k))
    mean_predicted = np.where(positive, a * rows.n * (1.0 - rows.score), b * rows.n * rows.score)
    # Moving the cut down by some rows gains b for a positive and costs a for a negative, moving it up the reverse.
    steps = np.where(positive, -1.0, 1.0) * (b * rows.k - a * negatives)
    excess = paid - rows.by_cluster(mean_predicted)
    limit = f" ({'' if unseen else 'asymptotic in the number of clusters; '}for clusters of these sizes)"
    return decision_at(
        table,
        (a, b),
        tau,
        float(mean_predicted.sum()) / table.total,
        CostLimits(*(_proved if unseen else _left_out)(rows, paid, excess, steps, cut, half, max(a, b))),
        rows.sampling.sure(confidence_level, limit),
        confidence_level=confidence_level,
        method="bernstein" if unseen else "cluster jackknife",
        assumptions=(
            "The clusters are independent draws from the population the statement is about.",
            FIXED_CLASSIFIER,
            f"The costs {COSTS_FIXED}",
        ),
        references=("gao2017", "fan2015") if unseen else ("gao2017",),
        n_clusters=len(rows.size),
    )


_Ends = tuple[float, float]


def _left_out(
    rows: ClusteredRows, paid: FloatArray, excess: FloatArray, steps: FloatArray, cut: int, half: float, dearest: float
) -> tuple[_Ends, _Ends, float]:
    """Limits from leaving out one cluster at a time: of the cost, of what it is above its forecast, of the saving.

    Each fails with probability `half`. `steps` is what each entry adds to the saving of a cut on its other side.

    The best cut of the population is one fixed cut: what it saves is below its own upper limit, and so below the
    largest of all.
    """
    jackknife, total = Jackknife(rows.size), rows.table.total

    def limits(sums: FloatArray, scale: Link) -> _Ends:
        without = jackknife.means_without(sums)
        lower, upper, _ = jackknife.limits(float(sums.sum()) / total, without, 1.0 - 2.0 * half, scale)
        return lower, upper

    if jackknife.refusal:
        return (math.nan, math.nan), (math.nan, math.nan), math.nan
    share = 1.0 / (total - rows.size)  # a change is (W - mean m) / (total - m)
    _, square, with_size, _ = squares_from(rows, steps * share[rows.cluster], cut, rows.size * share)
    saved = squares_from(rows, steps, cut)[0] / total
    changes = square - 2.0 * saved * with_size + saved**2 * float(np.dot(rows.size * share, rows.size * share))
    upper = saved + jackknife.quantile(half) * jackknife.deviation(changes)
    hidden = -dearest * math.expm1(math.log(half) / total)  # what rows that none has shown may save
    saving = min(dearest, max(hidden, float(upper.max())))
    error = limits(excess / dearest, PLAIN)
    return limits(paid, LOG), (error[0] * dearest, error[1] * dearest), saving


def _proved(
    rows: ClusteredRows, paid: FloatArray, excess: FloatArray, steps: FloatArray, cut: int, half: float, dearest: float
) -> tuple[_Ends, _Ends, float]:
    """Limits of Corollary 3.6 for cost and error of the forecast, and of Corollary 3.7 for the saving, at `half`."""

    def largest(sums: ClusterSums, least: float, most: float) -> float:
        squared = float(np.dot(rows.size, rows.size))
        sizes = {"rows": float(rows.size.sum()), "squared_sizes": squared, "clusters": len(rows.size)}
        return largest_ratio(sums, **sizes, cap=float(rows.size.max()), delta=half, least=least, most=most)

    def limits(sums: FloatArray, least: float) -> _Ends:
        lower = largest(ClusterSums.of(-sums, rows.size), -dearest, -least)
        return -lower + 0.0, largest(ClusterSums.of(sums, rows.size), least, dearest)

    saving = largest(ClusterSums(*squares_from(rows, steps, cut)), -dearest, dearest)
    return limits(paid, 0.0), limits(excess, -dearest), saving


def cluster_net_benefit(rows: ClusteredRows, curve: NetBenefit) -> NetBenefit:
    """Return a decision curve of these rows with limits from leaving out one cluster at a time."""
    jackknife, value = Jackknife(rows.size), curve.net_benefit
    odds, thresholds = curve.threshold / (1.0 - curve.threshold), len(curve.threshold)
    reached = np.searchsorted(curve.threshold, rows.score, side="right")  # thresholds that a score reaches
    squares, products = np.zeros(thresholds), np.zeros((3, thresholds))
    both = np.array([curve.true_positives, odds * curve.false_positives], dtype=np.float64)
    if jackknife.refusal:
        nothing = np.full(thresholds, np.nan)
        return replace(curve, standard_error=nothing, lower=nothing, upper=nothing)
    values = rows.k, rows.negatives
    for clusters, sums in cluster_blocks(rows.cluster, len(rows.size), reached, thresholds + 1, *values):
        positives, negatives = (np.cumsum(one[:, :0:-1], axis=1)[:, ::-1] for one in sums)
        size = rows.size[clusters, None]
        squares += (((value * size - positives + odds * negatives) / (curve.n - size)) ** 2).sum(axis=0)
        without = (both[:, None] - np.array([positives, odds * negatives])) * (curve.n / (curve.n - size))
        products += log_products(both, np.moveaxis(without, 1, -1))
    parts = Parts(both[0] / curve.n, both[1] / curve.n, products)
    lower, upper = jackknife.limits_of_many(value, squares, curve.confidence_level, parts=parts)
    return replace(curve, standard_error=jackknife.deviation(squares), lower=lower, upper=upper)


def cluster_cost_curve(size: FloatArray, cluster: _Index, rows: MappedPart, curve: CostCurve) -> CostCurve:
    """Return a cost curve of these rows with limits from leaving out one cluster at a time, and without bands.

    `cluster` is that of each entry of `rows`, the scores before and after of which need not increase.
    """
    jackknife, p, total = Jackknife(size), curve.cost_parameter, float(size.sum())
    before, after = curve.cost_before, curve.cost_after
    assert after is not None
    paid = (_paid(cluster, len(size), rows, score, p) for score in (rows.first, rows.second))

    def compared(one: FloatArray, two: FloatArray) -> dict[str, FloatArray]:
        """Numbers of both costs by p, the last axis, as they are on the scale on which limits are symmetric."""
        logs, sums = (np.log(one), np.log(two)), [np.log(cost.sum(axis=-1, keepdims=True)) for cost in (one, two)]
        numbers = (*logs, two - one, logs[1] - logs[0], sums[1] - sums[0])
        return dict(
            zip(("cost_before", "cost_after", "difference", "loss_ratio", "overall_ratio"), numbers, strict=True)
        )

    with np.errstate(divide="ignore", invalid="ignore"):
        values = compared(before, after)
        squares = {name: np.zeros(len(value)) for name, value in values.items()}
        for (clusters, first), (_, second) in zip(*paid, strict=True):
            others = total - size[clusters, None]
            without = compared((total * before - first) / others, (total * after - second) / others)
            for name, value in values.items():
                squares[name] += ((without[name] - value) ** 2).sum(axis=0)
    fields: dict[str, Any] = {}
    for name, on_scale in values.items():
        logs_of = name != "difference"
        value = np.exp(on_scale) if logs_of else on_scale
        lower, upper = jackknife.limits_of_many(value, squares[name], curve.confidence_level, LOG if logs_of else PLAIN)
        fields |= {f"{name}_lower": lower, f"{name}_upper": upper}
        if name in ("cost_before", "cost_after", "difference"):
            error = jackknife.deviation(squares[name]) * (value if logs_of else 1.0)
            fields[f"{name}_error"] = np.where(np.isnan(lower), np.nan, error)
    for end in ("overall_ratio_lower", "overall_ratio_upper"):
        fields[end] = float(fields[end][0])
    return replace(curve, **fields, band=math.nan, difference_band=math.nan)


def _paid(
    cluster: _Index, clusters: int, rows: MappedPart, score: FloatArray, p: FloatArray
) -> Iterator[tuple[slice, FloatArray]]:
    """What the rows of each cluster cost at each p, where those are predicted positive that reach it by a score."""
    reached = np.searchsorted(p, score, side="right")
    for block, (negatives, positives) in cluster_blocks(
        cluster, clusters, reached, len(p) + 1, rows.n - rows.k, rows.k
    ):
        false_positives = np.cumsum(negatives[:, :0:-1], axis=1)[:, ::-1]
        yield block, p * false_positives + (1.0 - p) * np.cumsum(positives, axis=1)[:, :-1]
