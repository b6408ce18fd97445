"""Every fact that an audit shows, each written in one place.

Sections: "headline" is what a summary and the first screen say; "calibration", "accuracy", "data", "clusters",
"cost", "effect", "conclusion" and "origin" are the sentences of the details; "segments" is a line of the first screen;
"performance", "unseen", "costs" and "measures" are tables of numbers on the page.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial, singledispatch
from typing import TYPE_CHECKING, Any

from calibrant.auditing import wording
from calibrant.auditing.findings import Findings
from calibrant.auditing.next_steps import next_facts
from calibrant.auditing.performance import Performance
from calibrant.auditing.provenance import Provenance
from calibrant.auditing.verdict import limits_text, verdict_sentence
from calibrant.decisions import Decision
from calibrant.table.numbers import (
    confidence,
    number,
    points,
    rows,
    score_text,
    share,
    signed,
    write_interval,
    write_lower,
    write_upper,
)
from calibrant.table.results import Fact, estimated, joined
from calibrant.table.row_errors import OTHERS

if TYPE_CHECKING:
    from calibrant.auditing.segment_audit import SegmentAudit

DETAILS = ("calibration", "accuracy", "data", "between", "clusters", "cost", "effect", "conclusion", "origin")

_PERFORMANCE = {
    "roc_auc": ("AUC", "probability that a positive scores higher than a negative, ties counted half"),
    "brier": ("Brier score", "smaller is better"),
    "scaled_brier": ("Scaled Brier score", "1 is perfect, 0 is predicting the base rate"),
    "log_loss": ("Log loss", "smaller is better"),
    "observed_minus_predicted": (
        "Calibration in the large",
        "observed rate minus mean predicted; 0 is ideal; below 0, predictions are too high",
    ),
    "observed_expected": ("O:E", "observed over expected number of positives; 1 is ideal"),
    "calibration_intercept": (
        "Calibration intercept",
        "log odds, slope fixed at 1; 0 is ideal; below 0, predictions are too high",
    ),
    "calibration_slope": ("Calibration slope", "1 is ideal; below 1, predictions are too extreme"),
    "net_benefit": ("Net benefit", "true positives per case at the threshold of the costs"),
}
_SAVING = "Upper limit of what recalibration can save per case"
INDEPENDENT = "independent rows, and a classifier that was fixed before they were seen"
_INFINITE = "a positive had score 0, or a negative score 1"


@singledispatch
def audit_facts(audit: Any) -> list[Fact]:
    """Write all facts of an audit, those of a section in the order in which they are read; here of `Findings`."""
    tables = [*_performance(audit, audit.performance, "performance"), *_costs(audit)]
    by_key = {fact.key: fact for fact in tables}
    unseen = () if audit.performance_unseen is None else _performance(audit, audit.performance_unseen, "unseen")
    headline, details = _headline(audit, by_key), _details(audit, by_key)
    facts = [*headline, *_segments(audit), *details, *tables, *unseen, *_measures(audit)]
    return [fact for fact in facts if fact.value]


def _headline(audit: Findings, by_key: dict[str, Fact]) -> Iterator[Fact]:
    """Yield what matters most, the verdict first."""
    fact = partial(Fact, section="headline")
    sample = audit.sample
    clusters = "" if sample.clusters is None else f" in {rows(sample.clusters)} cluster{'s' * (sample.clusters != 1)}"
    level = f"{share(sample.base_rate)} positive by weight"
    if sample.positives is not None:
        level = f"{rows(sample.positives)} positive: {share(sample.base_rate)}"
    level += f", predicted {share(sample.mean_score)}"
    ratio = by_key["observed_expected"]
    total = f"O:E {ratio.value}"
    yield fact("verdict", "Verdict", verdict_sentence(audit), rank=1)
    yield fact("limits", "Limits", limits_text(audit), rank=1)
    if clusters:  # what few clusters show best
        yield fact("total", "Total", joined(f"O:E {ratio.with_limits()}", level), rank=1)
        level = total = ""
    yield fact("where", "Where", wording.plain_sentence(audit), rank=4)
    for warning in audit.warnings:
        yield fact("warning", "Warning", warning.message, rank=2)
    yield fact("error", "Error", joined(wording.error_text(audit), *wording.audit_bounds(audit)), rank=4)
    yield fact("chance", "By chance", _chance(audit), rank=1)
    yield fact(
        "accuracy",
        "Accuracy",
        f"AUC {by_key['roc_auc'].with_limits()}, Brier score {by_key['brier'].with_limits()}",
        rank=5,
    )
    yield fact("clusters", "Clusters", wording.new_cluster(audit), rank=7)
    yield fact("data", "Data", ", ".join(filter(None, [f"{_rows(audit)}{clusters}", level, total])), rank=6)
    yield fact("outcome", "Outcome", _classes(audit), rank=2)
    yield fact("left_out", "Left out", str(audit.left_out) if audit.left_out and audit.left_out.n else "", rank=2)
    if audit.decision is not None:
        yield fact("cost", "Cost", _cost(audit.decision, by_key), rank=7)
    yield fact("selective", "No review", wording.review_sentence(audit), rank=7)
    yield fact("advice", "Advice", wording.advice_sentence(audit), rank=3)
    yield from next_facts(audit.advice)


def _cost(decision: Decision, by_key: dict[str, Fact]) -> str:
    """Cost of decisions at the threshold of the costs, and the most that can be saved, in a few words."""
    value, *ends = by_key["cost"].with_limits().partition(" ")
    saving = ""
    if wording.saving_caveat(decision):
        saving = "too few rows to limit savings"
    elif "saving" in by_key:
        limit = " (asymptotic)" if decision.method == "cluster jackknife" else ""
        saving = f"at most {by_key['saving'].value} can be saved{limit}"
    return joined(f"{value} per case{''.join(ends)}", saving, f"threshold {score_text(decision.threshold)}")


def _chance(audit: Findings) -> str:
    """Calibration error under perfect calibration, in a few words."""
    if audit.sample.clusters is None and audit.test is None:
        return wording.null_sentence(audit)
    if audit.test is None:
        return wording.TOO_FEW
    limit = f"95% limit {number(audit.cutoff.null_q95)} under perfect calibration"
    return joined(limit if audit.sample.clusters is None else "", wording.evidence_text(audit.test))


def _rows(audit: Findings) -> str:
    return f"{rows(audit.sample.n)} rows{'' if audit.sample.weights == 'rows' else ' with weights'}"


def _classes(audit: Findings) -> str:
    """Which label counts as 1, and against which others; empty where there is one other."""
    if audit.sample.classes is None:
        return ""
    positive, *others = map(repr, audit.sample.classes)
    return f"{positive} against {', '.join(others[: OTHERS - 1])}{' and others' if others[OTHERS - 1 :] else ''}"


def segment_facts(segments: SegmentAudit | None) -> Iterator[Fact]:
    """Yield how many segments there are, and how far they may be off."""
    if segments is not None:
        from calibrant.auditing.segment_audit import bound_text, off_sentence

        text = joined(off_sentence(segments), f"{rows(segments.n_segments)} segments, {bound_text(segments)}")
        yield Fact("segments", "Segments", text, section="segments")


def _segments(audit: Findings) -> Iterator[Fact]:
    yield from segment_facts(audit.segments)
    if audit.grades is not None:
        yield Fact("grades", "Grades", audit.grades.off_sentence(), section="segments")


def _details(audit: Findings, by_key: dict[str, Fact]) -> Iterator[Fact]:
    """Yield every statement of the audit as a sentence."""
    sample, performance = audit.sample, audit.performance
    sure = f"{confidence(performance.roc_auc.confidence_level)} CI "

    def interval(key: str) -> str:
        why = getattr(performance, key).note
        if not by_key[key].lower and why.startswith("no interval"):
            return f"{by_key[key].value} ({why})"
        return by_key[key].with_limits(sure)

    reversed_ = " (below 0.5: negatives tend to have the higher scores)" if performance.roc_auc.value < 0.5 else ""
    few = performance.roc_auc.note if performance.roc_auc.method == "asymptotic" else ""
    loss = interval("log_loss") if math.isfinite(performance.log_loss.value) else f"infinite ({_INFINITE})"
    discrimination = joined(f"AUC {interval('roc_auc')}{reversed_}", few)
    accuracy = (
        f"Brier score {interval('brier')}, predicting the base rate {_of_base_rate(audit)}, "
        f"scaled {interval('scaled_brier')}; log loss {loss}"
    )
    ties = ""
    if sample.distinct_scores is not None:
        ties = "one score" if sample.distinct_scores == 1 else f"{rows(sample.distinct_scores)} distinct scores"
        if sample.tied_rows is not None:
            ties += f", {rows(sample.tied_rows)} rows tied" if sample.tied_rows else ", no ties"
    positive = "" if sample.positives is None else f", {rows(sample.positives)} positive"
    level = (
        f"{_rows(audit)}{positive}; mean predicted {share(sample.mean_score)}, observed rate "
        f"{share(sample.base_rate)}: calibration in the large {points(audit.cutoff.mean_residual)}, "
        f"O:E {interval('observed_expected')}"
    )

    error = joined(wording.error_text(audit), wording.error_place(audit))
    yield Fact("error", "Calibration error", error, section="calibration")
    yield Fact("null", "Null distribution", wording.null_sentence(audit), section="calibration")
    yield Fact("certificate", "Certificate", _certificate(audit), section="calibration")
    yield Fact("expected_error", "ECE", _expected_error(audit), section="calibration")
    yield Fact("discrimination", "Discrimination", discrimination, section="accuracy")
    yield Fact("accuracy", "Accuracy", accuracy, section="accuracy")
    yield Fact("data", "Data", joined(level, ties), section="data")
    yield Fact("outcome", "Outcome", _classes(audit), section="data")
    yield Fact("left_out", "Left out", "" if audit.left_out is None else str(audit.left_out), section="data")
    compared = () if audit.heterogeneity is None else vars(audit.heterogeneity).values()
    for name, one in zip(("O:E", "Intercept", "Slope", "AUC"), compared, strict=False):
        sentence = f"{one.summary_text}{wording.used_clusters(one, audit)}"
        yield Fact("between", name, sentence, section="between")
    yield Fact("unseen", "Unseen clusters", _unseen(audit), section="clusters")
    yield Fact("cost", "Expected cost", _cost_sentence(audit, by_key), section="cost")
    if audit.selective is not None:
        claims = f"{wording.review_sentence(audit)}. {audit.selective.claim}"
        yield Fact("selective", "Without review", claims, section="cost")
    yield Fact("recalibration", "Recalibration", wording.recalibration_sentence(audit.recalibration), section="effect")
    yield Fact("advice", "Advice", wording.advice_sentence(audit), section="conclusion")
    yield from next_facts(audit.advice, "conclusion")
    yield Fact("assumptions", "Assumptions", _assumptions(audit), section="origin")
    yield Fact("provenance", "Provenance", provenance_sentence(audit.provenance), section="origin")


def _certificate(audit: Findings) -> str:
    """Confidence bounds, and with clusters how these are weighted, and why that of a verdict is wide."""
    certificate = audit.certificate
    if certificate is None:
        return f"none: {wording.no_bounds(audit)}"
    sure, limits = confidence(certificate.confidence_level), wording.error_limits(certificate)
    how, above, needed = f"{certificate.method} bound", "", ""
    if certificate.n_clusters is not None:
        how += " for clusters"
        if certificate.max_rows_per_cluster is not None:
            how += f"{wording.counting(certificate)}; estimate so weighted {number(certificate.estimate)}"
        if certificate.method != "asymptotic":
            how += "; proved, so it also allows for clusters of a kind that none of these shows: 'asymptotic' does not"
        if audit.certificate_ordinary is not None:
            how += "; a tolerance asks for a verdict, which must hold for clusters of a kind that none of these shows; "
            how += f"for clusters like these the bound is {write_upper(audit.certificate_ordinary.bound)} (asymptotic)"
    if certificate.lower_bound > 0.0:
        above = f"; at least {limits.lower}, also with {sure} confidence (one-sided bounds)"
    if certificate.rows_needed is not None:
        needed = f"; about {wording.rows_needed(certificate)} would decide"
        needed += ", if the true error is the measured one less its mean under perfect calibration"
    which = "true error" if certificate.direction == "either" else f"predictions {certificate.direction} by"
    return f"{which} at most {limits.upper} with {sure} confidence ({how}){above}{needed}"


def _expected_error(audit: Findings) -> str:
    """Bounds on the expected calibration error, and what the upper one assumes."""
    ece = audit.expected_error
    if ece is None:
        why = "weights do not count rows" if audit.sample.clusters is None else "they need independent rows"
        return f"no bounds: {why}"
    sure = f"with {confidence(ece.confidence_level)} confidence"
    condition = "for any event rate, as every distinct score was assessed separately"
    if ece.assumes_monotone:
        condition = "if the event rate is nondecreasing in the score"
    upper = f"expected calibration error at most {write_upper(ece.bound)} {sure}, {condition}"
    if ece.contradicted:
        upper = "the data contradict a nondecreasing event rate, so there is no upper bound"
    elif ece.bound >= 1.0:
        upper = "too few rows for an upper bound"
    lower = f"at least {write_lower(ece.lower_bound)} {sure}, unconditionally" if ece.lower_bound > 0.0 else ""
    return joined(upper, lower)


def _unseen(audit: Findings) -> str:
    """Say what limits would be if there may be clusters of a kind that none shows; empty where that is not known."""
    unseen, clusters = audit.performance_unseen, audit.sample.clusters
    if unseen is None or clusters is None:
        return ""
    tail = 0.5 - 0.5 * unseen.brier.confidence_level
    limits = ", ".join(
        f"{name} {write_interval(estimate.value, estimate.lower, estimate.upper).ends}"
        for name, estimate in (
            ("AUC", unseen.roc_auc),
            ("Brier score", unseen.brier),
            ("O:E", unseen.observed_expected),
        )
    )
    return (
        f"allowing for kinds of clusters that none of these {rows(clusters)} shows (up to "
        f"{share(-math.expm1(math.log(tail) / clusters))} of rows, if all are of equal size): {limits}"
    )


def _assumptions(audit: Findings) -> str:
    """What must hold, in brief."""
    if audit.certificate is None:
        return "nothing: these are point estimates for these rows"
    if audit.sample.clusters is None:
        return INDEPENDENT
    return (
        f"independent clusters ({rows(audit.sample.clusters)}) that stand for all others, and a classifier that was "
        "fixed before the rows were seen"
    )


def provenance_sentence(made: Provenance) -> str:
    """When and by which version it was made, of what, and the fingerprint of its numbers."""
    file = "" if made.sha256 is None else f" ({rows(made.size or 0)} bytes, SHA-256 {made.sha256[:16]}...)"
    return (
        f"calibrant {made.version}, {made.date}; {made.source}{file}, digest of the rows {made.digest}; "
        f"fingerprint of these results {made.fingerprint}"
    )


def _of_base_rate(audit: Findings) -> str:
    return number(audit.sample.base_rate * (1.0 - audit.sample.base_rate))


def _performance(audit: Findings, performance: Performance, section: str) -> Iterator[Fact]:
    """Yield discrimination, accuracy and calibration, each with its interval and what to make of it."""
    more = {"brier": f"predicting the base rate: {_of_base_rate(audit)}"}
    if not math.isfinite(performance.log_loss.value):
        more["log_loss"] = _INFINITE
    for key, (label, note) in _PERFORMANCE.items():
        if getattr(performance, key) is not None:
            yield estimated(key, label, getattr(performance, key), section, joined(note, more.get(key, "")))


def _costs(audit: Findings) -> Iterator[Fact]:
    """Yield costs per case, if costs were given, and upper limits of what recalibration can save."""
    if audit.decision is not None:
        yield from _at_given_costs(audit.decision)
    if audit.max_regret is not None:
        note = (
            "a: cost of a false positive, b: of a false negative, whatever they are; maps that keep the order, "
            f"{confidence(audit.max_regret.confidence_level)} confidence"
        )
        yield Fact("regret", _SAVING, f"{write_upper(audit.max_regret.bound)} (a + b)", note=note, section="costs")


def _at_given_costs(decision: Decision) -> Iterator[Fact]:
    sure, rule = (
        confidence(decision.confidence_level),
        f"Predict positive from {score_text(decision.threshold)}",
    )
    limited, error = not math.isnan(decision.cost_lower), ""
    if limited:
        cost = write_interval(decision.cost, decision.cost_lower, decision.cost_upper)
        yield Fact("cost", rule, *cost, note="mean over all rows", section="costs")
        error = (
            f"true cost minus this: {write_lower(decision.forecast_error_lower, write=signed)} to "
            f"{write_upper(decision.forecast_error_upper, write=signed)}, with {sure} confidence"
        )
    else:
        yield Fact("cost", rule, number(decision.cost), note="no limits: see above", section="costs")
    for key, label, value, note in (
        ("forecast", "Predicted by the scores", decision.cost_forecast, error),
        ("treat_all", "Treat all", decision.cost_treat_all, "predict positive at every score"),
        ("treat_none", "Treat none", decision.cost_treat_none, "predict negative at every score"),
        ("best", "Best threshold", decision.best_cost, "chosen on these rows: in-sample, optimistic"),
    ):
        yield Fact(key, label, number(value), note=note, section="costs")
    if limited:
        how = f"if it keeps the order, with {sure} confidence ({decision.method})"
        note = joined(how, wording.saving_caveat(decision))
        most = write_upper(decision.saving_bound)
        yield Fact("saving", f"{_SAVING}, at these costs", most, note=note, section="costs")


def _cost_sentence(audit: Findings, by_key: dict[str, Fact]) -> str:
    """Write expected costs, and an upper limit of what recalibration can save."""
    decision, regret = audit.decision, audit.max_regret
    if decision is None:
        if regret is None:
            return "no costs given"
        return (
            "no costs given; if a false positive costs a and a false negative b, no order-preserving "
            f"recalibration saves more than {by_key['regret'].value} per case "
            f"({confidence(regret.confidence_level)} confidence)"
        )
    sure, cost = confidence(decision.confidence_level), by_key["cost"]
    limits = f" ({sure} confidence interval {cost.ends})" if cost.lower else ""
    saving = "no limits"
    if "saving" in by_key:
        sure = joined(f"{sure} confidence", wording.saving_caveat(decision))
        saving = f"no order-preserving recalibration saves more than {by_key['saving'].value} ({sure})"
    return (
        f"predicting positive from {score_text(decision.threshold)} costs {cost.value} per case{limits}, "
        f"{by_key['forecast'].value} predicted by the scores; treat all {by_key['treat_all'].value}, treat "
        f"none {by_key['treat_none'].value}; {saving}"
    )


def _measures(audit: Findings) -> Iterator[Fact]:
    """Yield other common measures of calibration."""
    measures = audit.measures
    binned, integrated, local, parts = measures.binned, measures.integrated, measures.local, measures.brier_parts
    bins = f"{len(binned.n)} bins with about equally many rows"
    quantiles = f"E50 {number(integrated.e50)}, E90 {number(integrated.e90)}, Emax {number(integrated.emax)}"
    loess = f"mean distance to loess (degree 2, nearest 75% of rows); {quantiles}"
    of_brier = "component of the Brier score (CORP)"
    for key, label, value, note, null_mean in (
        ("ece", "Expected calibration error", binned.value, bins, binned.null_mean),
        ("ici", "Integrated calibration index", integrated.ici, loess, integrated.null_mean),
        ("local", "Local Calibration Score", local.value, "mean squared difference to local means", local.null_mean),
        ("smooth", "Smooth calibration error", measures.smooth, "kernel bandwidth equal to the error itself", math.nan),
        ("corp", "Miscalibration", parts.miscalibration, f"{of_brier}, in-sample", measures.miscalibration_null_mean),
        ("discrimination", "Discrimination", parts.discrimination, of_brier, math.nan),
        ("uncertainty", "Uncertainty", parts.uncertainty, "Brier score of predicting the base rate", math.nan),
    ):
        expected = "" if math.isnan(null_mean) else f"expected under perfect calibration: {number(null_mean)}"
        yield Fact(key, label, number(value), note=joined(note, expected), section="measures")
