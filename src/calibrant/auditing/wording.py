"""Sentences about an audit that several texts, pictures and pages share. Nothing is computed here."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from calibrant.auditing.findings import Findings
from calibrant.auditing.recalibration import Recalibration
from calibrant.auditing.verdict import Said, asked_about, said_of
from calibrant.auditing.warnings import IN_SAMPLE
from calibrant.certificates import CalibrationTest, Certificate, ClassCertificate
from calibrant.decisions import Decision
from calibrant.decisions.selective import percent
from calibrant.metrics import BetweenClusters
from calibrant.table import numbers
from calibrant.table.numbers import (
    about,
    confidence,
    number,
    rows,
    share,
    write_interval,
    write_lower,
    write_p_value,
    write_upper,
)
from calibrant.table.results import joined
from calibrant.table.statements import verdict_on, weighting
from calibrant.table.weights import IF_COUNTS

if TYPE_CHECKING:
    from calibrant.auditing.class_findings import ClassFindings
    from calibrant.auditing.mean_findings import MeanFindings


TOO_FEW = "too few clusters to judge whether the error is more than chance explains"


def error_limits(certificate: Certificate | ClassCertificate) -> numbers.WrittenInterval:
    """Write estimate, lower and upper bound, with digits enough to see why there is this verdict on the tolerance."""
    return write_interval(certificate.estimate, certificate.lower_bound, certificate.bound, certificate.tolerance)


def bounds_text(certificate: Certificate | ClassCertificate, further: str = "") -> str:
    """Write both bounds on a calibration error, in a few words, and what `further` is to be said of them."""
    limits, two_sided = error_limits(certificate), certificate.lower_bound > 0.0
    sure = f"{confidence(certificate.confidence_level)} confidence" + " each" * two_sided + further
    either = isinstance(certificate, ClassCertificate) or certificate.direction == "either"
    way = "" if either else f"{certificate.direction} by {limits.value}, "
    return way + (f"at least {limits.lower}, " if two_sided else "") + f"at most {limits.upper} ({sure})"


def audit_bounds(audit: Findings) -> tuple[str, str]:
    """Write the bounds that decide, with what those of clusters allow for, and the narrower ones, if there are some."""
    certificate, ordinary = audit.certificate, audit.certificate_ordinary
    if certificate is None or certificate.n_clusters is None:
        return "" if certificate is None else bounds_text(certificate), ""
    how = ", asymptotic" if certificate.method == "asymptotic" else ", proved"
    if ordinary is None:
        return bounds_text(certificate, how + " for clusters of any kind" * (how == ", proved")), ""
    decides = bounds_text(certificate, f"{how} for clusters of any kind, which decides")
    return decides, f"for clusters like these {bounds_text(ordinary, ', asymptotic')}"


def error_text(audit: Findings) -> str:
    """Cutoff calibration error, and how much pooling of scores may hide of it."""
    hidden = hidden_error(audit)
    return _error_number(audit) + (f" ({hidden})" if hidden else "")


def _error_number(audit: Findings) -> str:
    """Cutoff calibration error, with as many digits as its bounds need."""
    value, certificate = audit.cutoff.value, audit.certificate
    if certificate is None or certificate.estimate != value:  # that of clusters is weighted
        return number(value)
    return error_limits(certificate).value


def hidden_error(audit: Findings) -> str:
    """How much pooling of scores may hide of the cutoff calibration error; empty if it is exact."""
    more = audit.cutoff.value_upper - audit.cutoff.value
    return f"up to {write_upper(more)} larger, since neighbouring scores were pooled" if more > 0.0 else ""


def error_range(audit: Findings) -> str:
    """Cutoff calibration error in few words: one number, or its limits if they differ as written."""
    least, most = _error_number(audit), audit.cutoff.value_upper
    return least if audit.cutoff.value == most else f"{least} to {write_upper(most)}"


def plain_sentence(audit: Findings) -> str:
    """What was predicted and what was observed where the calibration error is attained."""
    cutoff = audit.cutoff
    if cutoff.interval is None:
        return error_place(audit)
    where = "over all rows"
    if cutoff.share < 1.0:
        where = f"for scores {numbers.interval_text(cutoff.interval)}, {share(cutoff.share)} of rows"
    return f"predicted {share(cutoff.mean_predicted)}, observed {share(cutoff.observed_rate)} {where}"


def error_place(audit: Findings) -> str:
    """Where the cutoff calibration error is attained, with the mean prediction and the observed rate there."""
    cutoff = audit.cutoff
    if cutoff.interval is None:
        return f"mean predicted and observed rate agree at every score{' after pooling' if hidden_error(audit) else ''}"
    weight = "over all rows" if cutoff.share == 1.0 else f"difference times {share(cutoff.share)} of rows"
    return (
        f"predictions are {cutoff.direction} for scores {numbers.interval_text(cutoff.interval)}: "
        f"mean predicted {share(cutoff.mean_predicted)}, observed rate {share(cutoff.observed_rate)} ({weight})"
    )


@said_of.register
def _said(audit: Findings) -> Said:
    if audit.certificate is None:
        return Said(f"{no_bounds(audit)}, so these are point estimates only.", "")
    meaning = _meaning(audit.certificate) + _like_these(audit)
    if any(warning.code == IN_SAMPLE for warning in audit.warnings):
        meaning += " But this does not hold if these rows were used to fit, as it seems: see the warning."
    off = asked_about(audit.performance.observed_expected.value, audit.certificate.direction)
    return Said(meaning, off_in_total(audit) if off else "")


def off_in_total(audit: Findings) -> str:
    """How far the number of positives is from the prediction, if its interval excludes that; else empty."""
    ratio = audit.performance.observed_expected
    if not (ratio.lower > 1.0 or ratio.upper < 1.0):
        return ""
    side = "above" if ratio.value > 1.0 else "below"
    written = write_interval(ratio.value, ratio.lower, ratio.upper, 1.0)
    return f"positives are {share(abs(ratio.value - 1.0))} {side} prediction, O:E {written}"


def error_of(certificate: Certificate) -> str:
    """Name the error that a certificate is about."""
    alone = "" if certificate.direction == "either" else f" of predictions that are {certificate.direction}"
    return f"the calibration error{alone}"


def _meaning(certificate: Certificate) -> str:
    sure, error = f"{confidence(certificate.confidence_level)} confidence", error_of(certificate)
    if certificate.method == "asymptotic":  # it holds only so
        sure += " (asymptotic)" if certificate.n_clusters is None else " (asymptotic in the number of clusters)"
    sure += counting(certificate)
    if certificate.verdict is None:
        most = error_limits(certificate).upper
        return f"{error} is at most {most} with {sure}"
    tolerance = numbers.given(certificate.tolerance)
    if certificate.verdict in ("certified", "refuted"):
        side = "within" if certificate.verdict == "certified" else "above"
        return f"{error} is {side} {tolerance}, with {sure}."
    extent = f"{rows(certificate.n)} rows"
    if certificate.n_clusters is not None:
        extent += f" in {rows(certificate.n_clusters)} clusters"
    lacking = f"do not show whether {error} is within {tolerance}."
    if certificate.bound < min(certificate.trivial_bound, 1.0 - certificate.trivial_bound):
        lacking = f"{lacking[:-1]}{certified_from(certificate)}."
    if certificate.verdict == "uninformative":
        lacking = f"are too few for any statement about a tolerance of {tolerance}."
    if certificate.rows_needed is not None:
        lacking += f" About {rows_needed(certificate)} would decide."
    elif certificate.tolerance is not None and certificate.bound <= certificate.tolerance:
        lacking += " Any classifier with these scores meets this tolerance, so meeting it would show nothing."
    elif certificate.method == "anytime":
        lacking += " The error appears to exceed it, but this method cannot refute."
    return f"{extent} {lacking}"


def certified_from(certificate: Certificate | ClassCertificate) -> str:
    """Say which tolerances these rows do certify."""
    return f"; tolerances are certified from {error_limits(certificate).upper} on"


def _like_these(audit: Findings) -> str:
    """Say which assumption would decide where only bounds for clusters of any kind do not; else empty."""
    certificate, ordinary = audit.certificate, audit.certificate_ordinary
    if certificate is None or ordinary is None or certificate.tolerance is None:
        return ""
    of_these = verdict_on(ordinary.bound, ordinary.lower_bound, ordinary.trivial_bound, certificate.tolerance)
    if certificate.verdict in ("certified", "refuted"):
        return ""
    if of_these not in ("certified", "refuted"):
        if not ordinary.lower_bound > max(0.0, certificate.lower_bound):
            return ""
        shown = f"of at least {error_limits(ordinary).lower}, with {confidence(ordinary.confidence_level)} confidence"
        return f" What is shown of clusters like these is an error {shown} (asymptotic in their number)."
    side = "within" if of_these == "certified" else "above"
    return (
        " The verdict allows for clusters of a kind that none of these shows. If you assume that there are none, "
        f'method="asymptotic" (--method asymptotic) decides: the error is {side} '
        f"{numbers.given(certificate.tolerance)}."
    )


def rows_needed(certificate: Certificate) -> str:
    """How many rows, or clusters, would decide."""
    needed = certificate.rows_needed or 0
    if certificate.n_clusters is None:
        return f"{about(needed)} rows"
    return f"{about(math.ceil(needed * certificate.n_clusters / certificate.n))} clusters like these"


def no_bounds(audit: Findings) -> str:
    """Why there is no bound on the calibration error."""
    if audit.sample.effective_clusters is None:
        return f"weights do not count rows ({IF_COUNTS.replace('`count`', 'count= or --count')})"
    return f"clusters are worth only {audit.sample.effective_clusters:.3g} of equal size, and a bound needs 5"


def counting(result: Certificate) -> str:
    """Say how clusters are weighted, where not every row counts the same."""
    return "" if result.max_rows_per_cluster is None else f", where {weighting(result.max_rows_per_cluster)}"


def null_sentence(audit: Findings) -> str:
    """The calibration error expected under perfect calibration, and the p-value."""
    evidence = "" if audit.test is None else f"; {evidence_text(audit.test)}"
    if audit.sample.clusters is not None:
        return f"not known for clusters{evidence or f'; {TOO_FEW}'}"
    if not math.isfinite(audit.cutoff.null_mean):
        return "not known for weights that do not count rows"
    return (
        f"expected under perfect calibration with {rows(audit.sample.n)} rows: mean {number(audit.cutoff.null_mean)}, "
        f"95% limit {number(audit.cutoff.null_q95)}{evidence}"
    )


def evidence_text(test: CalibrationTest) -> str:
    """Write the p-value and how it was found."""
    how = "exact test" if test.method == "exact" else "asymptotic test"
    how += "" if test.n_clusters is None else " for clusters"
    return f"{write_p_value(test.p_value, test.n_simulations)} ({how})"


def saving_caveat(decision: Decision) -> str:
    """Say so where the bound on the saving is above the cost, of which more cannot be saved; empty otherwise."""
    return "too few rows for a bound below the present cost" if decision.saving_bound > decision.cost else ""


def recalibration_sentence(result: Recalibration | None) -> str:
    """What recalibration achieves, written with digits enough to see what changes."""
    if result is None:
        return "not assessed: too few rows or clusters for folds, or weights that do not count rows"
    measures = {
        "calibration error": (result.error_before, result.error_after),
        "Brier score": (result.brier_before, result.brier_after),
        "log loss": (result.log_loss_before, result.log_loss_after),
    }
    changes = ", ".join(f"{name} {' -> '.join(numbers.write_change(*ends))}" for name, ends in measures.items())
    whole = ""
    if result.unchanged:
        whole = "; fitted on all rows, it leaves the scores as they are"
    elif result.bound_after is not None:
        sure = f"{confidence(result.confidence_level)} confidence"
        sure += "" if result.n_clusters is None else f", asymptotic in the number of clusters, {result.n_clusters}"
        whole = f"; fitted on all rows, true error at most {write_upper(result.bound_after)} ({sure})"
    return f"{result.method}, {result.n_folds}-fold cross-validation: {changes}{whole}"


def gain_text(calibrator: str, gain: float, worst: float) -> str:
    """Say what a map is expected to gain on new rows, and at worst."""
    if gain == math.inf:
        return f"{calibrator} makes an infinite log loss finite"
    limit = f"{write_lower(worst)} ({confidence(0.95)} confidence)"
    return f"the expected gain of {calibrator} in log loss is {number(gain)}, at worst {limit}"


def auto_gain(result: Recalibration | None) -> str:
    """Say this of the map that is fitted by default; empty if it was not assessed."""
    if result is None:
        return ""
    if result.unchanged:
        return "AutoCalibrator leaves the scores as they are"
    return gain_text("AutoCalibrator", result.log_loss_gain, result.log_loss_gain_lower)


def cells_sentence(audit: Findings) -> str:
    """What pooling of neighbouring scores does to the numbers; empty if every score was kept."""
    if audit.sample.distinct_scores is not None:
        return ""
    return (
        "There were too many distinct scores to keep each, so neighbouring scores were pooled into cells. The "
        "interval of the AUC allows for their order, and the reliability curves use the mean score of each cell."
        + (" Reading the rows more than once would give the exact calibration error." if hidden_error(audit) else "")
    )


def advice_sentence(audit: Findings | ClassFindings | MeanFindings) -> str:
    """What to do and why."""
    action = audit.advice.action
    return f"{'No advice' if action == 'none' else action[0].upper() + action[1:]}: {audit.advice.reason}"


def review_sentence(audit: Findings) -> str:
    """Which cases may be decided without review; empty if that was not asked."""
    selection = audit.selective
    if selection is None:
        return ""
    calls = [
        f"{called} at no score"
        if side.threshold is None
        else f"{called} {side.decided} {numbers.given(side.threshold)} (at most {percent(side.target_error)} wrong)"
        for called, side in (("positive", selection.yes), ("negative", selection.no))
    ]
    return f"{', '.join(calls)}; {share(selection.review_share)} of rows left for review"


def new_cluster(audit: Findings) -> str:
    """Where O:E and AUC of a new cluster may be; empty where that is not known."""
    parts = audit.heterogeneity
    measures = () if parts is None else (parts.observed_expected, parts.roc_auc)
    known = [one for one in measures if one.prediction_text]
    return joined(*(f"{one.measure} {one.prediction_text}{used_clusters(one, audit)}" for one in known))


def used_clusters(one: BetweenClusters, audit: Findings) -> str:
    """Say of how many clusters a summary is; nothing if it is of all of them."""
    if len(one.cluster) == audit.sample.clusters:
        return ""
    clusters = f"{len(one.cluster)} of {audit.sample.clusters} clusters"
    return f" ({clusters}, {rows(one.positives.sum())} of {rows(audit.sample.positives or 0)} positives)"


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


def assumptions(audit: Findings) -> Iterator[str]:
    """Yield what an audit assumes."""
    yield "The classifier was fixed before these rows were seen: none of them was used to fit, tune or choose it."
    if audit.sample.weights != "rows":
        yield "Weights do not count rows, so these are point estimates, without bounds or tests."
    elif audit.sample.clusters is not None:
        yield "Clusters are independent draws from the population; rows of one cluster may depend on each other."
    else:
        yield "Rows are independent draws from the population that the statements are about."
    if audit.left_out is not None and audit.left_out.n:
        yield "Outcomes are recorded correctly, and none of the rows left out lacks a value because of its outcome."
    else:
        yield "Outcomes are recorded correctly, and no row is missing because of its outcome."
    ece = audit.expected_error
    if ece is not None and ece.assumes_monotone and not ece.contradicted:
        yield "For the upper bound on the expected calibration error: the event rate never falls as the score rises."


def limitations(audit: Findings) -> Iterator[str]:
    """Yield what an audit does not show."""
    yield "It is about the population that these rows were drawn from, not about another place or a later time."
    if audit.segments is None:
        yield "It is about all of these rows together: within a part of them, scores may be less well calibrated."
    else:
        yield "Within parts of the rows other than the segments listed, scores may be less well calibrated."
    yield "Calibrated scores can still rank poorly, or be of little use for a decision."
    if audit.certificate is not None:
        yield "Each statement holds with its own confidence level; that all of them hold has a lower one."
        if (direction := audit.certificate.direction) != "either":
            yield f"Bounds and verdict are about predictions that are {direction}, all else about both ways."
        if audit.certificate.n_clusters is not None:
            yield "Intervals of AUC, Brier score, O:E and the like are approximate, for clusters of these sizes."
        if audit.certificate.tolerance is None:
            yield "No tolerance was given, so whether the calibration error is acceptable was not decided."
