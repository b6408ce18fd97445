"""Every fact that an audit shows, each written in one place.

Sections: "headline" is what a summary and the first screen say; "calibration", "accuracy", "data", "clusters",
"cost", "effect", "conclusion" and "origin" are the sentences of the details; "performance", "unseen", "costs",
"measures" and "recalibration" are tables of numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite, isnan, nan

from calibrant.auditing.cluster_wording import unseen_sentence
from calibrant.auditing.error_wording import error_limits, error_place, error_text, plain_sentence
from calibrant.auditing.findings import Findings
from calibrant.auditing.performance import Performance
from calibrant.auditing.wording import (
    advice_sentence,
    assumption_sentence,
    certificate_sentence,
    classes_sentence,
    evidence_text,
    expected_error_sentence,
    gain_sentence,
    null_sentence,
    provenance_sentence,
    recalibration_sentence,
    saving_caveat,
    verdict_sentence,
)
from calibrant.decisions import Decision
from calibrant.table.facts import Fact, estimated, joined
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

DETAILS = ("calibration", "accuracy", "data", "clusters", "cost", "effect", "conclusion", "origin")

_PERFORMANCE = {
    "roc_auc": ("AUC", "probability that a positive scores higher than a negative, ties counted half"),
    "brier": ("Brier score", "smaller is better"),
    "scaled_brier": ("Scaled Brier score", "1 is perfect, 0 is predicting the base rate"),
    "log_loss": ("Log loss", "smaller is better"),
    "calibration_in_the_large": ("Calibration in the large", "mean predicted minus observed rate; 0 is ideal"),
    "observed_expected": ("O:E", "observed over expected number of positives; 1 is ideal"),
    "calibration_intercept": (
        "Calibration intercept",
        "log odds, slope fixed at 1; 0 is ideal; below 0, predictions are too high",
    ),
    "calibration_slope": ("Calibration slope", "1 is ideal; below 1, predictions are too extreme"),
    "net_benefit": ("Net benefit", "true positives per case at the threshold of the costs"),
}
_SAVING = "Upper limit of what recalibration can save per case"
_INFINITE = "a positive had score 0, or a negative score 1"


def audit_facts(audit: Findings) -> list[Fact]:
    """Write all facts of an audit, those of a section in the order in which they are read."""
    numbers = [*_performance(audit, audit.performance, "performance"), *_costs(audit)]
    by_key = {fact.key: fact for fact in numbers}
    unseen = () if audit.performance_unseen is None else _performance(audit, audit.performance_unseen, "unseen")
    facts = [
        *_headline(audit, by_key),
        *_segments(audit),
        *_details(audit, by_key),
        *numbers,
        *unseen,
        *_measures(audit),
    ]
    return [fact for fact in facts if fact.value]


def _headline(audit: Findings, numbers: dict[str, Fact]) -> Iterator[Fact]:
    """Yield what matters most, the verdict first."""

    def fact(key: str, label: str, value: str, rank: int) -> Fact:
        return Fact(key, label, value, section="headline", rank=rank)

    sample, auc = audit.sample, numbers["roc_auc"]
    exact = ", exact" if auc.method == "exact" else ""  # where the usual interval would be wrong
    clusters = "" if sample.clusters is None else f" in {rows(sample.clusters)} cluster{'s' * (sample.clusters != 1)}"
    yield fact("verdict", "Verdict", verdict_sentence(audit), 1)
    yield fact("where", "Where", plain_sentence(audit), 8)
    for warning in audit.warnings:
        yield fact("warning", "Warning", warning.message, 2)
    yield fact("error", "Error", joined(error_text(audit), _bounds(audit)), 4)
    yield fact("chance", "By chance", _chance(audit), 9)
    yield fact(
        "accuracy",
        "Accuracy",
        f"AUC {auc._replace(upper=auc.upper + exact).with_limits()}, Brier score {numbers['brier'].with_limits()}",
        5,
    )
    yield fact(
        "data",
        "Data",
        f"{_rows(audit)}{clusters}, {rows(sample.positives)} positive: {share(sample.base_rate)}, "
        f"predicted {share(sample.mean_score)}, O:E {numbers['observed_expected'].value}",
        6,
    )
    yield fact("outcome", "Outcome", classes_sentence(audit), 2)
    yield fact(
        "left_out", "Left out", str(audit.left_out) if audit.left_out is not None and audit.left_out.n else "", 2
    )
    if "cost" in numbers:
        saving = f"; at most {numbers['saving'].value} can be saved" if "saving" in numbers else ""
        value, *ends = numbers["cost"].with_limits().partition(" ")
        yield fact("cost", "Cost", f"{value} per case{''.join(ends)}{saving}", 7)
    yield fact("advice", "Advice", advice_sentence(audit), 3)
    yield fact("command", "Next", audit.advice.command or "", 0)
    yield fact("python", "In Python", audit.advice.python or "", 0)


def _bounds(audit: Findings) -> str:
    """Both bounds on the calibration error, in a few words."""
    certificate = audit.certificate
    if certificate is None:
        return ""
    limits, two_sided = error_limits(certificate), certificate.lower_bound > 0.0
    proved = certificate.n_clusters is not None and certificate.method != "asymptotic"
    sure = f"{confidence(certificate.confidence_level)} confidence" + " each" * two_sided
    sure += ", proved for clusters of any kind" * proved
    return (f"at least {limits.lower}, " if two_sided else "") + f"at most {limits.upper} ({sure})"


def _chance(audit: Findings) -> str:
    """Calibration error under perfect calibration, in a few words."""
    clustered, evidence = audit.sample.clusters is not None, "" if audit.test is None else evidence_text(audit.test)
    if not clustered and audit.test is None:
        return null_sentence(audit)
    return joined("" if clustered else f"95% limit {number(audit.cutoff.null_q95)} under perfect calibration", evidence)


def _rows(audit: Findings) -> str:
    return f"{rows(audit.sample.n)} {'rows' if audit.sample.weights == 'rows' else 'total weight'}"


def _segments(audit: Findings) -> Iterator[Fact]:
    """Yield how many segments there are, and how far they may be off."""
    found = audit.segments
    if found is not None:
        refuted = int((found.verdicts == "refuted").sum())
        off = f"none off by more than {write_upper(found.bound, found.tolerance)}"
        text = joined(rows(found.n_segments), f"{rows(refuted)} refuted" if refuted else "", off)
        yield Fact("segments", "Segments", text, section="segments")


def _details(audit: Findings, numbers: dict[str, Fact]) -> Iterator[Fact]:
    """Yield every statement of the audit as a sentence."""
    sample, found = audit.sample, audit.performance
    sure = f"{confidence(found.roc_auc.confidence_level)} CI "

    def interval(key: str) -> str:
        why = getattr(found, key).note
        if not numbers[key].lower and why.startswith("no interval"):
            return f"{numbers[key].value} ({why})"
        return numbers[key].with_limits(sure)

    def fact(key: str, label: str, value: str, section: str, note: str = "") -> Fact:
        return Fact(key, label, value, note=note, section=section)

    reversed_ = " (below 0.5: negatives tend to have the higher scores)" if found.roc_auc.value < 0.5 else ""
    exact = found.roc_auc.note if found.roc_auc.method == "exact" else ""
    loss = interval("log_loss") if isfinite(found.log_loss.value) else f"infinite ({_INFINITE})"
    ties = ""
    if sample.distinct_scores is not None:
        ties = "one score" if sample.distinct_scores == 1 else f"{rows(sample.distinct_scores)} distinct scores"
        if sample.tied_rows is not None:
            ties += f", {rows(sample.tied_rows)} rows tied" if sample.tied_rows else ", no ties"
    command, python = audit.advice.command or "", audit.advice.python

    yield fact("error", "Calibration error", joined(error_text(audit), error_place(audit)), "calibration")
    yield fact("null", "Null distribution", null_sentence(audit), "calibration")
    yield fact("certificate", "Certificate", certificate_sentence(audit), "calibration")
    yield fact("expected_error", "ECE", expected_error_sentence(audit), "calibration")
    yield fact("discrimination", "Discrimination", joined(f"AUC {interval('roc_auc')}{reversed_}", exact), "accuracy")
    yield fact(
        "accuracy",
        "Accuracy",
        f"Brier score {interval('brier')}, predicting the base rate {_of_base_rate(audit)}, "
        f"scaled {interval('scaled_brier')}; log loss {loss}",
        "accuracy",
    )
    level = (
        f"{_rows(audit)}, {rows(sample.positives)} positive; mean predicted {share(sample.mean_score)}, observed rate "
        f"{share(sample.base_rate)}: calibration in the large {points(-audit.cutoff.mean_residual)}, "
        f"O:E {interval('observed_expected')}"
    )
    yield fact("data", "Data", joined(level, ties), "data")
    yield fact("outcome", "Outcome", classes_sentence(audit), "data")
    yield fact("left_out", "Left out", "" if audit.left_out is None else str(audit.left_out), "data")
    yield fact("unseen", "Unseen clusters", unseen_sentence(audit), "clusters")
    yield fact("cost", "Expected cost", _cost_sentence(audit, numbers), "cost")
    yield fact(
        "recalibration",
        "Recalibration",
        recalibration_sentence(audit.recalibration),
        "effect",
        gain_sentence(audit.recalibration),
    )
    yield fact("advice", "Advice", advice_sentence(audit), "conclusion")
    yield fact("next", "Next", joined(command, f"in Python: {python}" if python else ""), "conclusion")
    yield fact("assumptions", "Assumptions", assumption_sentence(audit), "origin")
    yield fact("provenance", "Provenance", provenance_sentence(audit), "origin")


def _of_base_rate(audit: Findings) -> str:
    return number(audit.sample.base_rate * (1.0 - audit.sample.base_rate))


def _performance(audit: Findings, found: Performance, section: str) -> Iterator[Fact]:
    """Yield discrimination, accuracy and calibration, each with its interval and what to make of it."""
    more = {"brier": f"predicting the base rate: {_of_base_rate(audit)}"}
    if not isfinite(found.log_loss.value):
        more["log_loss"] = _INFINITE
    for key, (label, note) in _PERFORMANCE.items():
        if getattr(found, key) is not None:
            yield estimated(key, label, getattr(found, key), section, joined(note, more.get(key, "")))


def _costs(audit: Findings) -> Iterator[Fact]:
    """Yield costs per case, if costs were given, and upper limits of what recalibration can save."""
    decision, regret = audit.decision, audit.max_regret
    if decision is not None:
        yield from _at_given_costs(decision)
    if regret is not None:
        note = (
            "at any costs a of a false positive and b of a false negative, if it keeps the order, with "
            f"{confidence(regret.confidence_level)} confidence"
        )
        yield Fact("regret", _SAVING, f"{write_upper(regret.bound)} (a + b)", note=note, section="costs")


def _at_given_costs(decision: Decision) -> Iterator[Fact]:
    def fact(key: str, label: str, value: str, note: str, lower: str = "", upper: str = "") -> Fact:
        return Fact(key, label, value, lower, upper, note=note, section="costs")

    sure, limited = confidence(decision.confidence_level), not isnan(decision.cost_lower)
    rule = f"Predict positive from {score_text(decision.threshold)}"
    error = ""
    if limited:
        cost = write_interval(decision.cost, decision.cost_lower, decision.cost_upper)
        yield fact("cost", rule, cost.value, "mean over all rows", cost.lower, cost.upper)
        error = (
            f"true cost minus this: {write_lower(decision.forecast_error_lower, write=signed)} to "
            f"{write_upper(decision.forecast_error_upper, write=signed)}, with {sure} confidence"
        )
    else:
        yield fact("cost", rule, number(decision.cost), note="no limits: see above")
    yield fact("forecast", "Predicted by the scores", number(decision.cost_forecast), note=error)
    yield fact("treat_all", "Treat all", number(decision.cost_treat_all), note="predict positive at every score")
    yield fact("treat_none", "Treat none", number(decision.cost_treat_none), note="predict negative at every score")
    yield fact("best", "Best threshold", number(decision.best_cost), note="chosen on these rows: in-sample, optimistic")
    if limited:
        note = joined(f"if it keeps the order, with {sure} confidence ({decision.method})", saving_caveat(decision))
        yield fact("saving", f"{_SAVING}, at these costs", write_upper(decision.saving_bound), note=note)


def _cost_sentence(audit: Findings, numbers: dict[str, Fact]) -> str:
    """Write expected costs, and an upper limit of what recalibration can save."""
    decision, regret = audit.decision, audit.max_regret
    if decision is None:
        if regret is None:
            return "no costs given"
        return (
            "no costs given; at any costs a of a false positive and b of a false negative, no order-preserving "
            f"recalibration saves more than {numbers['regret'].value} per case "
            f"({confidence(regret.confidence_level)} confidence)"
        )
    sure, cost = confidence(decision.confidence_level), numbers["cost"]
    limits = f" ({sure} confidence interval {cost.ends})" if cost.lower else ""
    saving = "no limits"
    if "saving" in numbers:
        sure = joined(f"{sure} confidence", saving_caveat(decision))
        saving = f"no order-preserving recalibration saves more than {numbers['saving'].value} ({sure})"
    return (
        f"predicting positive from {score_text(decision.threshold)} costs {cost.value} per case{limits}, "
        f"{numbers['forecast'].value} predicted by the scores; treat all {numbers['treat_all'].value}, treat "
        f"none {numbers['treat_none'].value}; {saving}"
    )


def _measures(audit: Findings) -> Iterator[Fact]:
    """Yield other common measures of calibration."""
    measures = audit.measures
    binned, integrated, local, parts = measures.binned, measures.integrated, measures.local, measures.brier_parts
    quantiles = f"E50 {number(integrated.e50)}, E90 {number(integrated.e90)}, Emax {number(integrated.emax)}"
    loess = f"mean distance to loess (degree 2, nearest 75% of rows); {quantiles}"
    of_brier = "component of the Brier score (CORP)"
    numbers = (
        (
            "ece",
            "Expected calibration error",
            binned.value,
            f"{len(binned.n)} bins with about equally many rows",
            binned.null_mean,
        ),
        ("ici", "Integrated calibration index", integrated.ici, loess, integrated.null_mean),
        ("local", "Local Calibration Score", local.value, "mean squared difference to local means", local.null_mean),
        ("smooth", "Smooth calibration error", measures.smooth, "kernel bandwidth equal to the error itself", nan),
        ("corp", "Miscalibration", parts.miscalibration, f"{of_brier}, in-sample", measures.miscalibration_null_mean),
        ("discrimination", "Discrimination", parts.discrimination, of_brier, nan),
        ("uncertainty", "Uncertainty", parts.uncertainty, "Brier score of predicting the base rate", nan),
    )
    for key, label, value, note, null_mean in numbers:
        expected = "" if isnan(null_mean) else f"expected under perfect calibration: {number(null_mean)}"
        yield Fact(key, label, number(value), note=joined(note, expected), section="measures")
