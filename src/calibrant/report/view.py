"""Results as rows of tables: which numbers are shown, under which name, with which remark."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from calibrant.auditing.findings import Findings
from calibrant.auditing.wording import (
    confidence,
    error_place,
    expected_error_condition,
    hidden_error,
    number,
    points,
    rows,
    share,
)
from calibrant.certificates import ExpectedErrorCertificate
from calibrant.curves import CumulativeResiduals, Curve, Histogram
from calibrant.decisions import Decision
from calibrant.table.wording import counted

__all__ = [
    "Change",
    "CostPoint",
    "Fact",
    "WalkPoint",
    "assumptions",
    "bins",
    "costs",
    "further",
    "histogram",
    "key_numbers",
    "money",
    "recalibration",
    "walk_points",
]

# Points of the walk in its table, besides the ends of the worst interval.
_WALK_ROWS = 36


class Fact(NamedTuple):
    """A number, its name and what to make of it."""

    name: str
    value: str
    note: str


class Change(NamedTuple):
    """A number before and after recalibration."""

    name: str
    before: str
    after: str


class CostPoint(NamedTuple):
    """What a case costs where a false positive costs so much and a false negative the rest of 1."""

    parameter: str
    before: str
    after: str
    difference: str


class WalkPoint(NamedTuple):
    """A point of the residual walk."""

    score: str
    share: float
    value: float
    mark: str


def key_numbers(audit: Findings) -> list[Fact]:
    """Return the numbers that matter most, the calibration error first."""
    cutoff, sample, certificate = audit.cutoff, audit.sample, audit.certificate
    remark = "; ".join(filter(None, [hidden_error(audit), error_place(audit)]))
    facts = [Fact("Calibration error", number(cutoff.value), remark)]
    if math.isfinite(cutoff.null_mean):
        remark = (
            f"what calibrated scores would show on so many rows; above {number(cutoff.null_q95)} at most once in twenty"
        )
        facts.append(Fact("Noise", number(cutoff.null_mean), remark))
    if certificate is not None:
        sure = confidence(certificate.confidence_level)
        above = f"; at least {number(certificate.lower_bound)} with {sure} confidence"
        cap = certificate.max_rows_per_cluster
        capped = "" if cap is None else f", where {counted(cap)}; the error is then {number(certificate.estimate)}"
        remark = f"true error at most this with {sure} confidence ({certificate.method} bound{capped})"
        facts.append(Fact("Bound", number(certificate.bound), remark + (above if certificate.lower_bound > 0 else "")))
    if audit.expected_error is not None:
        facts.append(_expected_error(audit.expected_error))
    unsure = f" \N{PLUS-MINUS SIGN} {audit.roc_auc_error:.1g}" if audit.roc_auc_error > 0.0 else ""
    loss = "smaller is better" if math.isfinite(audit.log_loss) else "a score of exactly 0 or 1 was wrong"
    unit = "Rows" if sample.weights == "rows" else "Total weight"
    facts += [
        Fact("AUC", f"{audit.roc_auc:.4f}{unsure}", "how well scores tell positives from negatives; 0.5 is chance"),
        Fact(
            "Brier score",
            number(audit.brier),
            f"smaller is better; base rate alone: {number(audit.brier_of_base_rate)}",
        ),
        Fact("Log loss", number(audit.log_loss), loss),
        Fact(
            unit,
            rows(sample.n),
            f"{rows(sample.positives)} positive"
            + (
                ""
                if sample.clusters is None
                else f"; in {rows(sample.clusters)} clusters of rows that depend on each other"
            ),
        ),
        Fact("Base rate", share(sample.base_rate), f"happened; promised on average: {share(sample.mean_score)}"),
        Fact("Bias", points(cutoff.bias), "base rate minus average promise"),
    ]
    if sample.distinct_scores is not None:
        tied = "" if sample.tied_rows is None else f"{rows(sample.tied_rows)} rows share their score with another row"
        facts.append(Fact("Distinct scores", rows(sample.distinct_scores), tied))
    return facts


def _expected_error(found: ExpectedErrorCertificate) -> Fact:
    name, sure = "Bound on the expected calibration error", f"with {confidence(found.confidence_level)} confidence"
    above = f"; at least {number(found.lower_bound)} {sure}" if found.lower_bound > 0.0 else ""
    if found.contradicted or found.bound >= 1.0:
        return Fact(name, "none", (expected_error_condition(found) if found.contradicted else "too few rows") + above)
    remark = f"mean distance of score and event rate at most this {sure}, {expected_error_condition(found)}"
    return Fact(name, number(found.bound), remark + above)


def money(audit: Findings) -> list[Fact]:
    """Return costs per case, if costs were given, and the most that recalibration could save at these and at any."""
    decision, regret = audit.decision, audit.max_regret
    facts = [] if decision is None else _at_given_costs(decision)
    if regret is not None:
        facts.append(
            Fact(
                "Possible saving at any costs",
                f"{number(regret.bound)} (a + b)",
                "whatever a false positive (a) and a false negative (b) cost, no order-preserving recalibration could "
                f"save more per case, with {confidence(regret.confidence_level)} confidence",
            )
        )
    return facts


def _at_given_costs(decision: Decision) -> list[Fact]:
    sure = confidence(decision.confidence_level)
    capped = "" if decision.max_rows_per_cluster is None else f"where {counted(decision.max_rows_per_cluster)}; "
    return [
        Fact(
            f"Acting from score {decision.threshold:.4g}",
            number(decision.cost),
            f"{capped}truly {number(decision.cost_lower)} to {number(decision.cost_upper)}, with {sure} confidence",
        ),
        Fact(
            "What the scores promise",
            number(decision.cost_forecast),
            f"the true cost differs from it by {_signed(decision.forecast_error_lower)} to "
            f"{_signed(decision.forecast_error_upper)}, with {sure} confidence",
        ),
        Fact("Always acting", number(decision.cost_act_always), "whatever the score"),
        Fact("Never acting", number(decision.cost_act_never), "whatever the score"),
        Fact("Best threshold", number(decision.best_cost), "chosen on these very rows, so it flatters itself"),
        Fact(
            "Possible saving",
            number(decision.saving_bound),
            f"no order-preserving recalibration could save more, with {sure} confidence ({decision.method})",
        ),
    ]


def recalibration(audit: Findings) -> list[Change]:
    """Return what recalibration changes; nothing if it was not judged."""
    result = audit.recalibration
    if result is None:
        return []
    return [
        Change("Calibration error", number(result.error_before), number(result.error_after)),
        Change("Brier score", number(result.brier_before), number(result.brier_after)),
        Change("Log loss", number(result.log_loss_before), number(result.log_loss_after)),
    ]


def further(audit: Findings) -> list[Fact]:
    """Return the measures that other people report."""
    measures = audit.measures
    binned, integrated, local, slope = measures.binned, measures.integrated, measures.local, measures.slope
    facts = [
        Fact(
            "Expected calibration error",
            number(binned.value),
            f"{len(binned.n)} bins of about equally many rows{_by_chance(binned.noise)}",
        ),
        Fact(
            "Integrated calibration index",
            number(integrated.ici),
            f"mean distance to a local regression; E50 {number(integrated.e50)}, E90 {number(integrated.e90)}, "
            f"Emax {number(integrated.emax)}{_by_chance(integrated.null_mean)}",
        ),
        Fact(
            "Local Calibration Score",
            number(local.value),
            f"mean squared distance to local means{_by_chance(local.null_mean)}",
        ),
        Fact("Smooth calibration error", number(measures.smooth), "at the bandwidth that equals it"),
    ]
    if slope is None:
        facts.append(Fact("Calibration slope", "none", f"not computed: {measures.slope_refused}"))
    else:
        ends = "" if math.isnan(slope.slope_se) else "; {} to {}".format(*map(number, slope.slope_interval))
        facts += [
            Fact("Calibration slope", number(slope.slope), f"1 is ideal, below 1 scores are too extreme{ends}"),
            Fact("Calibration in the large", number(slope.in_the_large), "0 is ideal, below 0 scores are too high"),
        ]
    parts = measures.brier_parts
    return [
        *facts,
        Fact(
            "Miscalibration", number(parts.miscalibration), "part of the Brier score that recalibration would take off"
        ),
        Fact("Discrimination", number(parts.discrimination), "part of it that the order of the scores earns"),
        Fact("Uncertainty", number(parts.uncertainty), "Brier score of the base rate"),
        Fact("Brier skill", number(parts.skill), "1 is perfect, 0 no better than the base rate"),
    ]


def _by_chance(noise: float) -> str:
    return "" if math.isnan(noise) else f"; about {number(noise)} by chance alone"


def costs(audit: Findings) -> list[CostPoint]:
    """Return costs before and after, and the saving with its interval, at some trade-offs between the mistakes."""
    curve = None if audit.recalibration is None else audit.recalibration.costs
    if curve is None:
        return []
    columns = (
        curve.cost_parameter,
        curve.cost_before,
        curve.cost_after,
        curve.difference,
        curve.difference_lower,
        curve.difference_upper,
    )
    rows = zip(*(column[9::10].tolist() for column in columns if column is not None), strict=True)
    return [
        CostPoint(f"{p:.4g}", number(before), number(after), f"{_signed(saved)} ({_signed(low)} to {_signed(high)})")
        for p, before, after, saved, low, high in rows
    ]


def _signed(value: float) -> str:
    return f"\N{MINUS SIGN}{number(-value)}" if value < 0.0 else number(value)


def bins(curve: Curve) -> list[Fact]:
    """Return mean score, rows and what happened for each bin."""
    return [
        Fact(
            _score(score),
            rows(float(n)),
            share(rate) if math.isnan(low) else f"{share(rate)} ({share(low)} to {share(high)})",
        )
        for score, n, rate, low, high in zip(curve.score, curve.n, curve.rate, curve.lower, curve.upper, strict=True)
    ]


def histogram(counts: Histogram) -> list[Fact]:
    """Return rows of each class for each bin that is not empty."""
    return [
        Fact(f"{low:.4g} to {high:.4g}", rows(float(positives)), rows(float(negatives)))
        for low, high, positives, negatives in zip(
            counts.edges[:-1], counts.edges[1:], counts.positives, counts.negatives, strict=True
        )
        if positives or negatives
    ]


def walk_points(walk: CumulativeResiduals) -> list[WalkPoint]:
    """Return a few points of the walk, spread evenly over the rows, with the ends of the worst interval."""
    last = len(walk.score) - 1
    kept = set(np.minimum(np.searchsorted(walk.share, np.linspace(0.0, 1.0, _WALK_ROWS)), last).tolist())
    start, marks = "", {}
    if walk.interval is not None:
        low, high = (int(np.searchsorted(walk.score, end, side="right")) - 1 for end in walk.interval)
        marks = {high: "end of the worst interval"}
        if low >= 0:
            marks[low] = "start of the worst interval"
        else:
            start = "start of the worst interval"
    points = [
        WalkPoint(_score(walk.score[i]), float(walk.share[i]), float(walk.value[i]), marks.get(i, ""))
        for i in sorted(kept | set(marks))
    ]
    return [WalkPoint("start", 0.0, 0.0, start), *points]


def assumptions(audit: Findings) -> list[str]:
    """Return what must hold for what is claimed, each sentence once."""
    band = audit.band if audit.band is not None and audit.band.consistent else None
    parts = (audit.certificate, audit.expected_error, audit.decision, audit.max_regret, band)
    return list(dict.fromkeys(sentence for part in parts if part is not None for sentence in part.assumptions))


def _score(value: float) -> str:
    """Write a score so that neighbours differ, and one close to 0 or 1 is not taken for it."""
    if 0.0 < value < 5e-5:
        return f"{value:.1e}"
    if 5e-5 > 1.0 - value > 0.0:
        return f"1 \N{MINUS SIGN} {1.0 - value:.1e}"
    return f"{value:.6f}"
