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
from calibrant.table.numbers import confidence, given, number, rows, significant, write_change, write_lower, write_upper
from calibrant.table.row_errors import OTHERS

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
        return f"{meaning} About {_needed(certificate)} would decide."
    if certificate.tolerance is not None and certificate.bound <= certificate.tolerance:
        return f"{meaning} Any classifier with these scores meets this tolerance, so meeting it would show nothing."
    if certificate.method == "anytime":
        return f"{meaning} The error appears to exceed it, but this method cannot refute."
    return f"{meaning} The error appears to be so close to it that no practicable number of rows would be enough."


def _needed(certificate: Certificate) -> str:
    """How many rows, or clusters, would decide."""
    if certificate.n_clusters is None:
        return f"{rows(certificate.rows_needed or 0)} rows"
    clusters = math.ceil((certificate.rows_needed or 0) * certificate.n_clusters / certificate.n)
    return f"{rows(clusters)} clusters like these"


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
    needed = ""
    if certificate.rows_needed is not None:
        needed = (
            f"; about {_needed(certificate)} would decide, if the true error equals the estimate less its null mean"
        )
    return f"true error at most {limits.upper} with {sure} confidence ({how}){above}{needed}"


def expected_error_sentence(audit: Findings) -> str:
    """Bounds on the expected calibration error, and what the upper one assumes."""
    found = audit.expected_error
    if found is None:
        return "no bounds: they need independent rows, or weights that are counts of rows"
    sure = f"with {confidence(found.confidence_level)} confidence"
    if found.contradicted:
        upper = _condition(found)
    elif found.bound >= 1.0:
        upper = "too few rows for an upper bound"
    else:
        most = write_upper(found.bound)
        upper = f"expected calibration error at most {most} {sure}, {_condition(found)}"
    return upper + (
        f"; at least {write_lower(found.lower_bound)} {sure}, unconditionally" if found.lower_bound > 0.0 else ""
    )


def _condition(found: ExpectedErrorCertificate) -> str:
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


def classes_sentence(audit: Findings) -> str:
    """Which label counts as 1, and against which others; empty where there is one other."""
    if audit.sample.classes is None:
        return ""
    positive, *others = map(repr, audit.sample.classes)
    return f"{positive} against {', '.join(others[: OTHERS - 1])}{' and others' if others[OTHERS - 1 :] else ''}"


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


def gain_sentence(result: Recalibration | None) -> str:
    """Whether recalibration lowers the Brier score, with the standard error; empty if it was not assessed."""
    if result is None:
        return ""
    fall = f"{number(abs(result.brier_gain))} (standard error {number(result.brier_gain_error)})"
    change = f"The Brier score {'falls' if result.brier_gain > 0.0 else 'rises'} by {fall}"
    if result.brier_gain > 0.0 and not result.unchanged:
        change += f", {'more' if result.improves_brier_score else 'no more'} than chance explains"
    return f"{change} (each map is assessed on rows it was not fitted on)."


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
