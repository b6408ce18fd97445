"""Results as rows of tables: which numbers are shown, under which name, with which remark."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np

from calibrant.auditing.cluster_wording import about_clusters
from calibrant.auditing.error_wording import error_limits, error_number, error_place, hidden_error
from calibrant.auditing.findings import Findings
from calibrant.auditing.provenance import Provenance
from calibrant.auditing.wording import changes_of, classes_sentence, expected_error_condition, saving_caveat
from calibrant.certificates import Certificate, ExpectedErrorCertificate
from calibrant.curves import CumulativeResiduals, Curve, Histogram
from calibrant.decisions import Decision
from calibrant.table.numbers import (
    confidence,
    number,
    rows,
    score_fixed,
    score_text,
    share,
    signed,
    write_interval,
    write_lower,
    write_upper,
)
from calibrant.table.results import Estimate

__all__ = [
    "ResidualPoint",
    "Row",
    "assumptions",
    "bins",
    "calibration",
    "cost_facts",
    "costs",
    "further",
    "histogram",
    "in_brief",
    "performance",
    "provenance",
    "recalibration",
    "residual_points",
    "sample",
    "unseen",
]

# Points of the cumulative residuals in their table, besides the ends of the interval of the calibration error.
_RESIDUAL_ROWS = 36

# The cells of a row, the first its heading; of numbers by themselves: name, value, and what to make of it.
Row: TypeAlias = tuple[str, ...]


class ResidualPoint(NamedTuple):
    """A point of the cumulative residuals."""

    score: str
    share: float
    value: float
    mark: str


def in_brief(audit: Findings) -> list[Row]:
    """Return the numbers beside the picture on the first screen."""
    cutoff, sample, found = audit.cutoff, audit.sample, audit.performance
    chance = f"{number(cutoff.null_mean)} expected by chance" if math.isfinite(cutoff.null_mean) else ""
    estimates = (
        ("O:E", found.observed_expected),
        ("AUC", found.roc_auc),
        ("Calibration slope", found.calibration_slope),
    )
    return [
        ("Calibration error", error_number(audit), chance),
        *((name, *_with_interval(estimate)) for name, estimate in estimates),
        ("Rows" if sample.weights == "rows" else "Total weight", rows(sample.n), _counted(audit)),
        *_segments_in_brief(audit),
    ]


def _counted(audit: Findings) -> str:
    left_out = "" if audit.left_out is None else f"; {rows(audit.left_out.n)} left out"
    return f"{rows(audit.sample.positives)} positive{left_out}"


def _segments_in_brief(audit: Findings) -> list[Row]:
    found = audit.segments
    if found is None:
        return []
    off = f"none off by more than {write_upper(found.bound, found.tolerance)}"
    refuted = int((found.verdicts == "refuted").sum())
    return [("Segments", rows(found.n_segments), f"{rows(refuted)} refuted; {off}" if refuted else off)]


def calibration(audit: Findings) -> list[Row]:
    """Return the calibration error, what perfect calibration would show, and the bounds that are certified."""
    cutoff = audit.cutoff
    remark = "; ".join(filter(None, [hidden_error(audit), error_place(audit)]))
    facts: list[Row] = [("Calibration error", error_number(audit), remark)]
    if math.isfinite(cutoff.null_mean):
        remark = f"null mean; 95% limit under perfect calibration {number(cutoff.null_q95)}"
        facts.append(("Expected under perfect calibration", number(cutoff.null_mean), remark))
    if audit.certificate is not None:
        facts.append(_upper_bound(audit.certificate))
    if audit.expected_error is not None:
        facts.append(_expected_error(audit.expected_error))
    return facts


def performance(audit: Findings) -> list[Row]:
    """Return discrimination, accuracy and calibration: name, value, interval, and what to make of it."""
    found, rate = audit.performance, audit.sample.base_rate
    loss = (
        "smaller is better" if math.isfinite(found.log_loss.value) else "a positive had score 0, or a negative score 1"
    )
    facts: list[tuple[str, Estimate, str]] = [
        ("AUC", found.roc_auc, "probability that a positive scores higher than a negative, ties counted half"),
        (
            "Brier score",
            found.brier,
            f"smaller is better; predicting the base rate: {number(rate * (1.0 - rate))}",
        ),
        ("Scaled Brier score", found.scaled_brier, "1 is perfect, 0 is predicting the base rate"),
        ("Log loss", found.log_loss, loss),
        ("Calibration in the large", found.calibration_in_the_large, "mean predicted minus observed rate; 0 is ideal"),
        ("O:E", found.observed_expected, "observed over expected number of positives; 1 is ideal"),
        (
            "Calibration intercept",
            found.calibration_intercept,
            "log odds, slope fixed at 1; 0 is ideal; below 0, predictions are too high",
        ),
        ("Calibration slope", found.calibration_slope, "1 is ideal; below 1, predictions are too extreme"),
    ]
    if found.net_benefit is not None and audit.decision is not None:
        threshold = score_text(audit.decision.threshold)
        facts.append(("Net benefit", found.net_benefit, f"true positives per case at the threshold {threshold}"))
    return [
        (name, *_with_interval(estimate), "; ".join(filter(None, [remark, estimate.note])))
        for name, estimate, remark in facts
    ]


def unseen(audit: Findings) -> list[Row]:
    """Return the same with limits that allow for clusters of a kind that none shows; nothing if there are none."""
    return [] if audit.performance_unseen is None else performance(replace(audit, performance=audit.performance_unseen))


def _with_interval(estimate: Estimate) -> tuple[str, str]:
    """Write a number, and its interval with how it was found; that is empty if chance is not known."""
    if math.isnan(estimate.lower):
        return signed(estimate.value), ""
    written = write_interval(estimate.value, estimate.lower, estimate.upper, write=signed)
    return written.value, f"{written.ends} ({estimate.method})"


def sample(audit: Findings) -> list[Row]:
    """Return the numbers of rows."""
    found = audit.sample
    clusters = ""
    if found.clusters is not None:
        clusters = f"; in {rows(found.clusters)} clusters, within which rows may depend on each other"
    facts: list[Row] = [
        (
            "Rows" if found.weights == "rows" else "Total weight",
            rows(found.n),
            f"{rows(found.positives)} positive{clusters}",
        ),
        ("Observed rate", share(found.base_rate), f"mean predicted: {share(found.mean_score)}"),
    ]
    if found.distinct_scores is not None:
        tied = "" if found.tied_rows is None else f"{rows(found.tied_rows)} rows have a tied score"
        facts.append(("Distinct scores", rows(found.distinct_scores), tied))
    if found.classes is not None:
        facts.append(("Outcome", classes_sentence(audit), "the class that counts as 1 against the others"))
    if audit.left_out is not None:
        facts.append(("Left out", rows(audit.left_out.n), str(audit.left_out)))
    return facts


def _upper_bound(certificate: Certificate) -> Row:
    sure, capped = confidence(certificate.confidence_level), about_clusters(certificate)
    limits = error_limits(certificate)
    remark = f"true error at most this with {sure} confidence ({certificate.method} bound{capped})"
    if certificate.lower_bound > 0.0:
        remark += f"; at least {limits.lower} with {sure} confidence (one-sided bounds)"
    return "Upper confidence bound", limits.upper, remark


def _expected_error(found: ExpectedErrorCertificate) -> Row:
    name, sure = (
        "Upper bound on the expected calibration error",
        f"with {confidence(found.confidence_level)} confidence",
    )
    above = f"; at least {write_lower(found.lower_bound)} {sure}" if found.lower_bound > 0.0 else ""
    if found.contradicted or found.bound >= 1.0:
        return name, "none", (expected_error_condition(found) if found.contradicted else "too few rows") + above
    remark = f"mean absolute difference of score and event rate, {sure}, {expected_error_condition(found)}"
    return name, write_upper(found.bound), remark + above


def cost_facts(audit: Findings) -> list[Row]:
    """Return expected costs per case, if costs were given, and bounds on the saving at these and at any costs."""
    decision, regret = audit.decision, audit.max_regret
    facts = [] if decision is None else _at_given_costs(decision)
    if regret is not None:
        remark = (
            "upper bound, at any costs a of a false positive and b of a false negative, on what an "
            f"order-preserving recalibration saves per case, with {confidence(regret.confidence_level)} confidence"
        )
        facts.append(("Possible saving at any costs", f"{write_upper(regret.bound)} (a + b)", remark))
    return facts


def _at_given_costs(decision: Decision) -> list[Row]:
    sure = confidence(decision.confidence_level)
    if math.isnan(decision.cost_lower):
        return [
            (f"Predict positive from {score_text(decision.threshold)}", number(decision.cost), "no limits: see above"),
            ("Predicted by the scores", number(decision.cost_forecast), ""),
            *_without_limits(decision),
        ]
    cost = write_interval(decision.cost, decision.cost_lower, decision.cost_upper)
    least = write_lower(decision.forecast_error_lower, write=signed)
    error = f"{least} to {write_upper(decision.forecast_error_upper, write=signed)}"
    return [
        (
            f"Predict positive from {score_text(decision.threshold)}",
            cost.value,
            f"{sure} confidence interval {cost.ends}",
        ),
        (
            "Predicted by the scores",
            number(decision.cost_forecast),
            f"true cost minus this: {error}, with {sure} confidence",
        ),
        *_without_limits(decision),
        (
            "Possible saving",
            write_upper(decision.saving_bound),
            f"upper bound for order-preserving recalibration, with {sure} confidence ({decision.method})"
            + saving_caveat(decision),
        ),
    ]


def _without_limits(decision: Decision) -> list[Row]:
    return [
        ("Treat all", number(decision.cost_treat_all), "predict positive at every score"),
        ("Treat none", number(decision.cost_treat_none), "predict negative at every score"),
        ("Best threshold", number(decision.best_cost), "chosen on these rows: in-sample, optimistic"),
    ]


def recalibration(audit: Findings) -> list[Row]:
    """Return what recalibration changes, before and after; nothing if it was not assessed."""
    result = audit.recalibration
    if result is None:
        return []
    return [(f"{name[0].upper()}{name[1:]}", *written) for name, written in changes_of(result).items()]


def further(audit: Findings) -> list[Row]:
    """Return further common measures."""
    measures = audit.measures
    binned, integrated, local, parts = measures.binned, measures.integrated, measures.local, measures.brier_parts
    quantiles = f"E50 {number(integrated.e50)}, E90 {number(integrated.e90)}, Emax {number(integrated.emax)}"
    return [
        (
            "Expected calibration error",
            number(binned.value),
            f"{len(binned.n)} bins with about equally many rows{_null(binned.null_mean)}",
        ),
        (
            "Integrated calibration index",
            number(integrated.ici),
            f"mean distance to loess (degree 2, nearest 75% of rows); {quantiles}{_null(integrated.null_mean)}",
        ),
        (
            "Local Calibration Score",
            number(local.value),
            f"mean squared difference to local means{_null(local.null_mean)}",
        ),
        ("Smooth calibration error", number(measures.smooth), "kernel bandwidth equal to the error itself"),
        (
            "Miscalibration",
            number(parts.miscalibration),
            f"component of the Brier score (CORP), in-sample{_null(measures.miscalibration_null_mean)}",
        ),
        ("Discrimination", number(parts.discrimination), "component of the Brier score (CORP)"),
        ("Uncertainty", number(parts.uncertainty), "Brier score of predicting the base rate"),
    ]


def _null(null_mean: float) -> str:
    return "" if math.isnan(null_mean) else f"; expected under perfect calibration: {number(null_mean)}"


def costs(audit: Findings) -> list[Row]:
    """Return costs before and after, and the saving with its interval, at some cost parameters."""
    curve = None if audit.recalibration is None else audit.recalibration.costs
    if curve is None:
        return []
    names = ("cost_parameter", "cost_before", "cost_after", "difference", "difference_lower", "difference_upper")
    columns = [getattr(curve, name)[9::10].tolist() for name in names]
    return [
        (
            score_text(p),
            number(before),
            number(after),
            signed(saved) if math.isnan(low) else str(write_interval(saved, low, high, write=signed)),
        )
        for p, before, after, saved, low, high in zip(*columns, strict=True)
    ]


def bins(curve: Curve) -> list[Row]:
    """Return mean score, rows and observed rate of each bin."""
    return [
        (
            score_fixed(score),
            rows(float(n)),
            share(rate) if math.isnan(low) else str(write_interval(rate, low, high, write=share)),
        )
        for score, n, rate, low, high in zip(curve.score, curve.n, curve.rate, curve.lower, curve.upper, strict=True)
    ]


def histogram(counts: Histogram) -> list[Row]:
    """Return rows of each class for each bin that is not empty."""
    columns = (counts.edges[:-1], counts.edges[1:], counts.positives, counts.negatives)
    return [
        (f"{low:.4g} to {high:.4g}", rows(float(positives)), rows(float(negatives)))
        for low, high, positives, negatives in zip(*columns, strict=True)
        if positives or negatives
    ]


def residual_points(residuals: CumulativeResiduals) -> list[ResidualPoint]:
    """Return a few points, spread evenly over the rows, with the ends of the interval of the calibration error."""
    score = residuals.score
    nearest = np.searchsorted(residuals.share, np.linspace(0.0, 1.0, _RESIDUAL_ROWS))
    kept = set(np.minimum(nearest, len(score) - 1).tolist())
    start, marks = "", {}
    if residuals.interval is not None:
        low, high = (int(np.searchsorted(score, end, side="right")) - 1 for end in residuals.interval)
        marks = {high: "end of the shaded interval"}
        if low >= 0:
            marks[low] = "start of the shaded interval"
        else:
            start = "start of the shaded interval"
    shares, values = residuals.share.tolist(), residuals.value.tolist()
    return [
        ResidualPoint("start", 0.0, 0.0, start),
        *(
            ResidualPoint(score_fixed(score[i]), shares[i], values[i], marks.get(i, ""))
            for i in sorted(kept | set(marks))
        ),
    ]


def provenance(name: str, found: Provenance, *, what: str = "Audited", unit: str = "Rows") -> list[tuple[str, str]]:
    """Return where a result comes from: names and values, those that are not known left out."""
    settings = ", ".join(f"{name}={value!r}" for name, value in found.parameters.items() if value is not None)
    facts = {
        what: name,
        "Author": found.author,
        "Date": found.date,
        "Command or call": found.command,
        "Source": found.source,
        "Size": None if found.size is None else f"{found.size:,} bytes",
        "SHA-256": found.sha256,
        unit: rows(found.rows),
        "Digest of the rows": found.digest,
        "Parameters": settings,
        "Seed": None if found.seed is None else str(found.seed),
        "Version": f"calibrant {found.version}",
        "Fingerprint of the numbers": found.fingerprint,
    }
    return [(name, value) for name, value in facts.items() if value is not None]


def assumptions(audit: Findings) -> list[str]:
    """Return the assumptions of all claims, each sentence once."""
    band = audit.band if audit.band is not None and audit.band.consistent else None
    parts = (audit.certificate, audit.expected_error, audit.decision, audit.max_regret, band, audit.segments)
    return list(dict.fromkeys(sentence for part in parts if part is not None for sentence in part.assumptions))
