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
from calibrant.table.wording import counted, near_one

__all__ = [
    "Change",
    "CostPoint",
    "Fact",
    "WalkPoint",
    "assumptions",
    "bins",
    "cost_facts",
    "costs",
    "further",
    "histogram",
    "key_numbers",
    "recalibration",
    "walk_points",
]

# Points of the cumulative residuals in their table, besides the ends of the interval of the calibration error.
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
    """Mean cost per case where a false positive costs `parameter` and a false negative one minus that."""

    parameter: str
    before: str
    after: str
    difference: str


class WalkPoint(NamedTuple):
    """A point of the cumulative residuals."""

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
        remark = f"null mean; 95% limit under perfect calibration {number(cutoff.null_q95)}"
        facts.append(Fact("Expected under perfect calibration", number(cutoff.null_mean), remark))
    if certificate is not None:
        sure = confidence(certificate.confidence_level)
        above = f"; at least {number(certificate.lower_bound)} with {sure} confidence (one-sided bounds)"
        cap = certificate.max_rows_per_cluster
        capped = "" if cap is None else f", where {counted(cap)}; estimate so weighted {number(certificate.estimate)}"
        remark = f"true error at most this with {sure} confidence ({certificate.method} bound{capped})"
        facts.append(
            Fact(
                "Upper confidence bound",
                number(certificate.bound),
                remark + (above if certificate.lower_bound > 0 else ""),
            )
        )
    if audit.expected_error is not None:
        facts.append(_expected_error(audit.expected_error))
    unsure = f" \N{PLUS-MINUS SIGN} {audit.roc_auc_error:.1g}" if audit.roc_auc_error > 0.0 else ""
    loss = "smaller is better" if math.isfinite(audit.log_loss) else "a positive had score 0, or a negative score 1"
    unit = "Rows" if sample.weights == "rows" else "Total weight"
    facts += [
        Fact(
            "AUC",
            f"{audit.roc_auc:.4f}{unsure}",
            "probability that a positive scores higher than a negative, ties counted half",
        ),
        Fact(
            "Brier score",
            number(audit.brier),
            f"smaller is better; predicting the base rate: {number(audit.brier_of_base_rate)}",
        ),
        Fact("Log loss", number(audit.log_loss), loss),
        Fact(
            unit,
            rows(sample.n),
            f"{rows(sample.positives)} positive"
            + (
                ""
                if sample.clusters is None
                else f"; in {rows(sample.clusters)} clusters, within which rows may depend on each other"
            ),
        ),
        Fact("Observed rate", share(sample.base_rate), f"mean predicted: {share(sample.mean_score)}"),
        Fact("Calibration in the large", points(-cutoff.bias), "mean predicted minus observed rate"),
        Fact("O:E", number(sample.observed_over_expected), "observed over expected number of positives; 1 is ideal"),
    ]
    if sample.distinct_scores is not None:
        tied = "" if sample.tied_rows is None else f"{rows(sample.tied_rows)} rows have a tied score"
        facts.append(Fact("Distinct scores", rows(sample.distinct_scores), tied))
    return facts


def _expected_error(found: ExpectedErrorCertificate) -> Fact:
    name, sure = (
        "Upper bound on the expected calibration error",
        f"with {confidence(found.confidence_level)} confidence",
    )
    above = f"; at least {number(found.lower_bound)} {sure}" if found.lower_bound > 0.0 else ""
    if found.contradicted or found.bound >= 1.0:
        return Fact(name, "none", (expected_error_condition(found) if found.contradicted else "too few rows") + above)
    remark = f"mean absolute difference of score and event rate, {sure}, {expected_error_condition(found)}"
    return Fact(name, number(found.bound), remark + above)


def cost_facts(audit: Findings) -> list[Fact]:
    """Return expected costs per case, if costs were given, and bounds on the saving at these and at any costs."""
    decision, regret = audit.decision, audit.max_regret
    facts = [] if decision is None else _at_given_costs(decision)
    if regret is not None:
        facts.append(
            Fact(
                "Possible saving at any costs",
                f"{number(regret.bound)} (a + b)",
                "upper bound, at any costs a of a false positive and b of a false negative, on what an "
                f"order-preserving recalibration saves per case, with {confidence(regret.confidence_level)} confidence",
            )
        )
    return facts


def _at_given_costs(decision: Decision) -> list[Fact]:
    sure = confidence(decision.confidence_level)
    capped = "" if decision.max_rows_per_cluster is None else f"where {counted(decision.max_rows_per_cluster)}; "
    return [
        Fact(
            f"Predict positive from {decision.threshold:.4g}",
            number(decision.cost),
            f"{capped}{sure} confidence interval {number(decision.cost_lower)} to {number(decision.cost_upper)}",
        ),
        Fact(
            "Predicted by the scores",
            number(decision.cost_forecast),
            f"true cost minus this: {_signed(decision.forecast_error_lower)} to "
            f"{_signed(decision.forecast_error_upper)}, with {sure} confidence",
        ),
        Fact("Treat all", number(decision.cost_act_always), "predict positive at every score"),
        Fact("Treat none", number(decision.cost_act_never), "predict negative at every score"),
        Fact("Best threshold", number(decision.best_cost), "chosen on these rows: in-sample, optimistic"),
        Fact(
            "Possible saving",
            number(decision.saving_bound),
            f"upper bound for order-preserving recalibration, with {sure} confidence ({decision.method})",
        ),
    ]


def recalibration(audit: Findings) -> list[Change]:
    """Return what recalibration changes; nothing if it was not assessed."""
    result = audit.recalibration
    if result is None:
        return []
    return [
        Change("Calibration error", number(result.error_before), number(result.error_after)),
        Change("Brier score", number(result.brier_before), number(result.brier_after)),
        Change("Log loss", number(result.log_loss_before), number(result.log_loss_after)),
    ]


def further(audit: Findings) -> list[Fact]:
    """Return further common measures."""
    measures = audit.measures
    binned, integrated, local, slope = measures.binned, measures.integrated, measures.local, measures.slope
    facts = [
        Fact(
            "Expected calibration error",
            number(binned.value),
            f"{len(binned.n)} bins with about equally many rows{_null(binned.noise)}",
        ),
        Fact(
            "Integrated calibration index",
            number(integrated.ici),
            f"mean distance to a local regression; E50 {number(integrated.e50)}, E90 {number(integrated.e90)}, "
            f"Emax {number(integrated.emax)}{_null(integrated.null_mean)}",
        ),
        Fact(
            "Local Calibration Score",
            number(local.value),
            f"mean squared difference to local means{_null(local.null_mean)}",
        ),
        Fact("Smooth calibration error", number(measures.smooth), "kernel bandwidth equal to the error itself"),
    ]
    if slope is None:
        facts.append(Fact("Calibration slope", "none", f"not computed: {measures.slope_refused}"))
    else:
        ends = "" if math.isnan(slope.slope_standard_error) else "; {} to {}".format(*map(number, slope.slope_interval))
        facts += [
            Fact("Calibration slope", number(slope.slope), f"1 is ideal; below 1, predictions are too extreme{ends}"),
            Fact(
                "Calibration intercept",
                number(slope.in_the_large),
                "log odds, slope fixed at 1; 0 is ideal; below 0, predictions are too high",
            ),
        ]
    parts = measures.brier_parts
    return [
        *facts,
        Fact(
            "Miscalibration",
            number(parts.miscalibration),
            "component of the Brier score (CORP); in-sample, above 0 even under perfect calibration",
        ),
        Fact("Discrimination", number(parts.discrimination), "component of the Brier score (CORP)"),
        Fact("Uncertainty", number(parts.uncertainty), "Brier score of predicting the base rate"),
        Fact("Brier skill score", number(parts.skill), "1 is perfect, 0 is predicting the base rate"),
    ]


def _null(noise: float) -> str:
    return "" if math.isnan(noise) else f"; expected under perfect calibration: {number(noise)}"


def costs(audit: Findings) -> list[CostPoint]:
    """Return costs before and after, and the saving with its interval, at some cost parameters."""
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
    """Return mean score, rows and observed rate of each bin."""
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
    """Return a few points, spread evenly over the rows, with the ends of the interval of the calibration error."""
    last = len(walk.score) - 1
    kept = set(np.minimum(np.searchsorted(walk.share, np.linspace(0.0, 1.0, _WALK_ROWS)), last).tolist())
    start, marks = "", {}
    if walk.interval is not None:
        low, high = (int(np.searchsorted(walk.score, end, side="right")) - 1 for end in walk.interval)
        marks = {high: "end of the shaded interval"}
        if low >= 0:
            marks[low] = "start of the shaded interval"
        else:
            start = "start of the shaded interval"
    points = [
        WalkPoint(_score(walk.score[i]), float(walk.share[i]), float(walk.value[i]), marks.get(i, ""))
        for i in sorted(kept | set(marks))
    ]
    return [WalkPoint("start", 0.0, 0.0, start), *points]


def assumptions(audit: Findings) -> list[str]:
    """Return the assumptions of all claims, each sentence once."""
    band = audit.band if audit.band is not None and audit.band.consistent else None
    parts = (audit.certificate, audit.expected_error, audit.decision, audit.max_regret, band)
    return list(dict.fromkeys(sentence for part in parts if part is not None for sentence in part.assumptions))


def _score(value: float) -> str:
    """Write a score so that neighbours differ, and one close to 0 or 1 is not taken for it."""
    if 0.0 < value < 5e-5:
        return f"{value:.1e}"
    return near_one(value) if 5e-5 > 1.0 - value > 0.0 else f"{value:.6f}"
