"""Sentences about an audit, shared by the printed text, the report and the command line. Nothing is computed here."""

from __future__ import annotations

import math
from functools import partial

from calibrant.auditing.cluster_wording import about_clusters, counting, no_bounds
from calibrant.auditing.error_wording import error_limits, hidden_error
from calibrant.auditing.findings import Findings
from calibrant.auditing.recalibration import Recalibration
from calibrant.auditing.warnings import IN_SAMPLE
from calibrant.certificates import CalibrationTest, Certificate, ExpectedErrorCertificate
from calibrant.decisions import Decision
from calibrant.table.numbers import (
    confidence,
    given,
    number,
    points,
    rows,
    score_text,
    share,
    significant,
    write_change,
    write_interval,
    write_lower,
    write_upper,
)
from calibrant.table.results import Estimate
from calibrant.table.row_errors import OTHERS

__all__ = [
    "accuracy_sentence",
    "advice_sentence",
    "assumption_sentence",
    "band_sentence",
    "cells_sentence",
    "certificate_sentence",
    "changes_of",
    "classes_sentence",
    "cost_sentence",
    "data_sentence",
    "discrimination_sentence",
    "evidence_text",
    "expected_error_condition",
    "expected_error_sentence",
    "gain_sentence",
    "next_sentence",
    "null_sentence",
    "provenance_sentence",
    "recalibration_sentence",
    "saving_caveat",
    "verdict_meaning",
    "verdict_sentence",
    "verdict_word",
]

_IN_SAMPLE = "But this does not hold if these rows were used to fit, as it seems: see the warning."


def verdict_word(audit: Findings) -> str:
    """Verdict in one or two words."""
    certificate = audit.certificate
    if certificate is None:
        return "no certificate"
    return certificate.verdict or "no verdict"


def verdict_meaning(audit: Findings) -> str:
    """What the verdict means, to be read after its word."""
    if audit.certificate is None:
        return f"{no_bounds(audit)}, so these are point estimates only."
    meaning = _meaning(audit.certificate)
    return f"{meaning} {_IN_SAMPLE}" if any(warning.code == IN_SAMPLE for warning in audit.warnings) else meaning


def _meaning(certificate: Certificate) -> str:
    sure = f"{confidence(certificate.confidence_level)} confidence{_limit(certificate)}{counting(certificate)}"
    if certificate.verdict is None:
        return (
            f"the calibration error is at most {error_limits(certificate).upper} with {sure} "
            f"(no tolerance was given, so there is no verdict)."
        )
    tolerance = given(certificate.tolerance)
    meaning = {
        "certified": f"the calibration error is within {tolerance}, with {sure}.",
        "refuted": f"the calibration error is above {tolerance}, with {sure}.",
        "undecided": f"{_extent(certificate)} do not show whether the calibration error is within {tolerance}.",
        "uninformative": f"{_extent(certificate)} are too few for any statement about a tolerance of {tolerance}.",
    }[certificate.verdict]
    if certificate.verdict not in ("undecided", "uninformative"):
        return meaning
    if certificate.rows_needed is not None:
        needed = f"{rows(certificate.rows_needed)} rows"
        if certificate.n_clusters is not None:
            clusters = math.ceil(certificate.rows_needed * certificate.n_clusters / certificate.n)
            needed = f"{rows(clusters)} clusters like these"
        return f"{meaning} About {needed} would be needed, if the true error equals the estimate less its null mean."
    if certificate.tolerance is not None and certificate.bound <= certificate.tolerance:
        return f"{meaning} Any classifier with these scores meets this tolerance, so meeting it would show nothing."
    if certificate.method == "anytime":
        return f"{meaning} The error appears to exceed it, but this method cannot refute."
    return f"{meaning} The error appears to be so close to it that no practicable number of rows would be enough."


def _extent(certificate: Certificate) -> str:
    """How many rows, or rows in how many clusters."""
    clusters = "" if certificate.n_clusters is None else f" in {rows(certificate.n_clusters)} clusters"
    return f"{rows(certificate.n)} rows{clusters}"


def verdict_sentence(audit: Findings) -> str:
    """Verdict and what it means."""
    meaning = verdict_meaning(audit)
    if audit.certificate is not None and audit.certificate.verdict is None:
        return meaning[0].upper() + meaning[1:]
    return f"{verdict_word(audit).upper()}: {meaning}"


def null_sentence(audit: Findings) -> str:
    """The calibration error expected under perfect calibration, and the p-value."""
    evidence = "" if audit.test is None else f"; {evidence_text(audit.test)}"
    if audit.sample.clusters is not None:
        return f"not known for clusters{evidence}"
    if not math.isfinite(audit.cutoff.null_mean):
        return "not known for weights that are not counts of rows"
    return (
        f"expected under perfect calibration with {rows(audit.sample.n)} rows: mean {number(audit.cutoff.null_mean)}, "
        f"95% limit {number(audit.cutoff.null_q95)}{evidence}"
    )


def evidence_text(test: CalibrationTest) -> str:
    """Write the p-value and how it was found."""
    how = "exact test" if test.method == "exact" else "asymptotic test"
    how += "" if test.n_clusters is None else " for clusters"
    least = 0.0001 if test.n_simulations is None else 1.0 / (test.n_simulations + 1)  # no rank is higher than the first
    p_value = (
        f"p = {test.p_value:.2g}"
        if test.p_value > least
        else f"p <= {write_upper(least, write=partial(significant, digits=2))}"
    )
    return f"{p_value} ({how})"


def certificate_sentence(audit: Findings) -> str:
    """Confidence bounds."""
    certificate = audit.certificate
    if certificate is None:
        return f"none: {no_bounds(audit)}"
    sure, limits = confidence(certificate.confidence_level), error_limits(certificate)
    above = ""
    if certificate.lower_bound > 0.0:
        above = f"; at least {limits.lower}, also with {sure} confidence (one-sided bounds)"
    how = f"{certificate.method} bound"
    if certificate.n_clusters is not None:
        how += f" for clusters{about_clusters(certificate)}"
    return f"true error at most {limits.upper} with {sure} confidence ({how}){above}"


def expected_error_sentence(audit: Findings) -> str:
    """Bounds on the expected calibration error, and what the upper one assumes."""
    found = audit.expected_error
    if found is None:
        return "no bounds: they need independent rows, or weights that are counts of rows"
    sure = f"with {confidence(found.confidence_level)} confidence"
    if found.contradicted:
        upper = expected_error_condition(found)
    elif found.bound >= 1.0:
        upper = "too few rows for an upper bound"
    else:
        most = write_upper(found.bound)
        upper = f"expected calibration error at most {most} {sure}, {expected_error_condition(found)}"
    return upper + (
        f"; at least {write_lower(found.lower_bound)} {sure}, unconditionally" if found.lower_bound > 0.0 else ""
    )


def expected_error_condition(found: ExpectedErrorCertificate) -> str:
    """What the upper bound on the expected calibration error assumes, or that the rows contradict it."""
    if found.contradicted:
        return "the data contradict a nondecreasing event rate, so there is no upper bound"
    if found.assumes_monotone:
        return "if the event rate is nondecreasing in the score"
    return "for any event rate, as every distinct score was assessed separately"


def _limit(certificate: Certificate) -> str:
    """Say so where a statement holds only asymptotically."""
    if certificate.method != "asymptotic":
        return ""
    return " (asymptotic)" if certificate.n_clusters is None else " (asymptotic in the number of clusters)"


def _with_interval(estimate: Estimate) -> str:
    """Write a number with its interval."""
    if math.isnan(estimate.lower):
        value = number(estimate.value)
        return f"{value} ({estimate.note})" if estimate.note.startswith("no interval") else value
    written = write_interval(estimate.value, estimate.lower, estimate.upper)
    return f"{written.value} ({confidence(estimate.confidence_level)} CI {written.ends})"


def discrimination_sentence(audit: Findings) -> str:
    """Area under the ROC curve."""
    auc = audit.performance.roc_auc
    reversed_ = " (below 0.5: negatives tend to have the higher scores)" if auc.value < 0.5 else ""
    exact = f"; {auc.note}" if auc.method == "exact" else ""
    return f"AUC {_with_interval(auc)}{reversed_}{exact}"


def accuracy_sentence(audit: Findings) -> str:
    """Proper scores."""
    found, rate = audit.performance, audit.sample.base_rate
    loss = (
        f"log loss {_with_interval(found.log_loss)}"
        if math.isfinite(found.log_loss.value)
        else "log loss infinite (a positive had score 0, or a negative score 1)"
    )
    return (
        f"Brier score {_with_interval(found.brier)}, predicting the base rate {number(rate * (1.0 - rate))}, "
        f"scaled {_with_interval(found.scaled_brier)}; {loss}"
    )


def data_sentence(audit: Findings) -> str:
    """The rows."""
    sample = audit.sample
    unit = "rows" if sample.weights == "rows" else "total weight"
    ties = ""
    if sample.distinct_scores is not None:
        different = "one score" if sample.distinct_scores == 1 else f"{rows(sample.distinct_scores)} distinct scores"
        ties = f"; {different}"
        if sample.tied_rows is not None:
            ties += f", {rows(sample.tied_rows)} rows tied" if sample.tied_rows else ", no ties"
    return (
        f"{rows(sample.n)} {unit}, {rows(sample.positives)} positive; mean predicted {share(sample.mean_score)}, "
        f"observed rate {share(sample.base_rate)}: calibration in the large {points(-audit.cutoff.mean_residual)}, "
        f"O:E {_with_interval(audit.performance.observed_expected)}{ties}"
    )


def classes_sentence(audit: Findings) -> str:
    """Which label counts as 1, and against which others; empty where there is one other."""
    if audit.sample.classes is None:
        return ""
    positive, *others = map(repr, audit.sample.classes)
    return f"{positive} against {', '.join(others[: OTHERS - 1])}{' and others' if others[OTHERS - 1 :] else ''}"


def cost_sentence(audit: Findings) -> str:
    """Expected costs, and an upper bound on what recalibration can save."""
    decision, regret = audit.decision, audit.max_regret
    if decision is None:
        if regret is None:
            return "no costs given"
        return (
            "no costs given; at any costs a of a false positive and b of a false negative, no order-preserving "
            f"recalibration saves more than {write_upper(regret.bound)} (a + b) per case "
            f"({confidence(regret.confidence_level)} confidence)"
        )
    sure = confidence(decision.confidence_level)
    cost = write_interval(decision.cost, decision.cost_lower, decision.cost_upper)
    at_all = (
        f"{number(decision.cost_forecast)} predicted by the scores; treat all {number(decision.cost_treat_all)}, treat "
        f"none {number(decision.cost_treat_none)}"
    )
    start = f"predicting positive from {score_text(decision.threshold)} costs {cost.value} per case"
    if math.isnan(decision.cost_lower):
        return f"{start}, {at_all}; no limits"
    return (
        f"{start} ({sure} confidence interval {cost.ends}), {at_all}"
        f"; no order-preserving recalibration saves more than {write_upper(decision.saving_bound)} "
        f"({sure} confidence{saving_caveat(decision)})"
    )


def saving_caveat(decision: Decision) -> str:
    """Say so where the bound on the saving is above the cost, of which more cannot be saved; empty otherwise."""
    return "; too few rows for a bound below the present cost" if decision.saving_bound > decision.cost else ""


def recalibration_sentence(result: Recalibration | None) -> str:
    """What recalibration achieves."""
    if result is None:
        return "not assessed: too few rows, or weights that are not counts of rows"
    changes = (f"{name} {' -> '.join(written)}" for name, written in changes_of(result).items())
    return f"{result.method}, {result.n_folds}-fold cross-validation: {', '.join(changes)}{_on_all_rows(result)}"


def changes_of(result: Recalibration) -> dict[str, tuple[str, str]]:
    """Write the measures before and after, by name, with digits enough to see what changes."""
    return {
        "calibration error": write_change(result.error_before, result.error_after),
        "Brier score": write_change(result.brier_before, result.brier_after),
        "log loss": write_change(result.log_loss_before, result.log_loss_after),
    }


def _on_all_rows(result: Recalibration) -> str:
    if result.unchanged:
        return "; fitted on all rows, it leaves the scores as they are"
    if result.bound_after is None:
        return ""
    sure = confidence(result.confidence_level)
    return f"; fitted on all rows, true error at most {write_upper(result.bound_after)} ({sure} confidence)"


def gain_sentence(audit: Findings) -> str:
    """Whether recalibration lowers the Brier score, with the standard error."""
    result = audit.recalibration
    if result is None:
        return "Recalibration was not assessed: too few rows, or weights that are not counts of rows."
    fall = f"{number(abs(result.brier_gain))} (standard error {number(result.brier_gain_error)})"
    change = f"The Brier score {'falls' if result.brier_gain > 0.0 else 'rises'} by {fall}"
    if result.brier_gain > 0.0 and not result.unchanged:
        change += f", {'more' if result.improves_brier_score else 'no more'} than chance explains"
    judged = f"{change} ({result.n_folds}-fold cross-validation: each map is assessed on rows it was not fitted on)."
    if result.unchanged:
        return f"{judged} Fitted on all rows, AutoCalibrator leaves the scores as they are."
    if result.bound_after is None:
        return judged
    return (
        f"{judged} Fitted on all rows, recalibration leaves a true error of at most {write_upper(result.bound_after)}, "
        f"with {confidence(result.confidence_level)} confidence; this needs no held-out rows."
    )


def cells_sentence(audit: Findings) -> str:
    """What pooling of neighbouring scores does to the numbers; empty if every score was kept."""
    if audit.sample.distinct_scores is not None:
        return ""
    return (
        "There were too many distinct scores to keep each, so neighbouring scores were pooled into cells. The "
        "interval of the AUC allows for their order, and the reliability curves use the mean score of each cell."
        + (" Reading the rows more than once would give the exact calibration error." if hidden_error(audit) else "")
    )


def assumption_sentence(audit: Findings) -> str:
    """What must hold, in brief."""
    if audit.certificate is None:
        return "nothing: these are point estimates for these rows"
    if audit.sample.clusters is None:
        return "independent rows, and a classifier that was fixed before they were seen"
    return (
        f"independent clusters ({rows(audit.sample.clusters)}) that stand for all others, and a classifier that was "
        "fixed before the rows were seen"
    )


def provenance_sentence(audit: Findings) -> str:
    """When and by which version it was made, of what, and the fingerprint of its numbers."""
    made = audit.provenance
    file = "" if made.sha256 is None else f" ({rows(made.size or 0)} bytes, SHA-256 {made.sha256[:16]}...)"
    return (
        f"calibrant {made.version}, {made.date}; {made.source}{file}, digest of the rows {made.digest}; "
        f"fingerprint of these results {made.fingerprint}"
    )


def advice_sentence(audit: Findings) -> str:
    """What to do and why."""
    action = audit.advice.action
    return f"{'No advice' if action == 'none' else action[0].upper() + action[1:]}: {audit.advice.reason}"


def next_sentence(audit: Findings) -> str:
    """What to run next, in a shell and in Python; empty if there is nothing to run."""
    steps = {"": audit.advice.command, "in Python: ": audit.advice.python}
    return "; ".join(f"{where}{step}" for where, step in steps.items() if step is not None)


def band_sentence(audit: Findings) -> str:
    """Why the diagonal may be inside the band of the reliability diagram though scores are off; empty if it is not."""
    certificate, band = audit.certificate, audit.band
    if certificate is None or band is None or not band.consistent or not certificate.lower_bound > 0.0:
        return ""
    if (band.lower > band.score).any() or (band.upper < band.score).any():
        return ""
    return (
        f"The diagonal lies inside the band though the true error is at least {error_limits(certificate).lower}: the "
        "band holds at all scores at once, so it is wide at each; the calibration error adds up differences over an "
        "interval of scores, which chance explains less easily."
    )
