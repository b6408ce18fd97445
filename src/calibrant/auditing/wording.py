"""Sentences about an audit of any kind that several texts, pictures and pages share. Nothing is computed here."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from calibrant.auditing.findings import AuditFindings, ClassFindings, Findings, MeanFindings
from calibrant.auditing.recalibration import ClassRecalibration, MeanRecalibration, Recalibration
from calibrant.auditing.verdict import Said, asked_about, said_of
from calibrant.auditing.warnings import IN_SAMPLE
from calibrant.certificates import CalibrationTest, Certificate
from calibrant.certificates.means import EXTRAPOLATED, SHARES
from calibrant.certificates.results import Side
from calibrant.decisions import Decision
from calibrant.metrics import BetweenClusters
from calibrant.table import numbers
from calibrant.table.numbers import (
    Writer,
    about,
    amount,
    confidence,
    counted,
    number,
    rows,
    share,
    short_name,
    write_interval,
    write_lower,
    write_p_value,
    write_upper,
)
from calibrant.table.results import joined
from calibrant.table.rules import IF_COUNTS
from calibrant.table.statements import verdict_on, weighting

TOO_FEW = "too few clusters to judge whether the error is more than chance explains"
MARGINAL = (
    "The bounds are about one class at a time, the sum over classes, and the largest probability. Nothing "
    "here shows that the probabilities of all classes together are right."
)
MAPS = {
    "identity": "no change",
    "scale": "one factor for all",
    "power": "a power of the prediction",
    "isotonic": "an isotonic map",
}
NAME = 40  # letters of the name of a class in a sentence
BEYOND_CHANCE = 0.05  # p-value up to which predictions are shown to be off
_NO_FOLDS = "too few rows or clusters for folds, rows of one outcome, or weights that do not count rows"


class Words(NamedTuple):
    """What the parts of an audit of a kind are called."""

    predictions: str = "scores"
    model: str = "classifier"
    off: str = "positives are"  # above or below prediction
    recorded: str = "recorded correctly"  # of outcomes
    not_assessed: str = _NO_FOLDS  # why the effect of recalibration is not known


OF_KIND: dict[type[AuditFindings], Words] = {
    Findings: Words(),
    ClassFindings: Words(
        predictions="probabilities",
        not_assessed=f"{_NO_FOLDS}, or lists of some classes only",
    ),
    MeanFindings: Words(
        predictions="predictions",
        model="model",
        off="the total is",
        recorded="complete: claims are reported and settled",
        not_assessed="it takes positive predictions, and outcomes of at least 0 of which some are above it",
    ),
}


def words_of(audit: AuditFindings) -> Words:
    """Return the words of an audit's kind."""
    return next(words for kind, words in OF_KIND.items() if isinstance(audit, kind))


def error_writer(certificate: Certificate | None) -> Writer:
    """Return what writes errors: as shares of a total, or as numbers."""
    return share if certificate is not None and certificate.relative_to in SHARES else number


def error_limits(certificate: Certificate) -> numbers.WrittenInterval:
    """Write estimate, lower and upper bound, with digits enough to see why there is this verdict on the tolerance."""
    ends = certificate.estimate, certificate.lower_bound, certificate.bound, certificate.tolerance
    return write_interval(*ends, write=error_writer(certificate))


def tolerance_text(certificate: Certificate) -> str:
    """Write the tolerance with all its digits, as a percentage of a total or in the unit of the outcome."""
    tolerance = certificate.tolerance or 0.0
    return f"{100.0 * tolerance:.6g}%" if certificate.relative_to in SHARES else numbers.given(tolerance)


def bounds_text(certificate: Certificate, further: str = "") -> str:
    """Write both bounds on a calibration error, in a few words, and what `further` is to be said of them."""
    limits, two_sided = error_limits(certificate), certificate.lower_bound > 0.0
    lower = f"at least {limits.lower}, " if two_sided else ""
    if certificate.sides:
        limited = " each" if any(math.isfinite(side.upper) for side in certificate.sides) else ""
        return f"{lower}{sides_text(certificate)} ({confidence(certificate.confidence_level)} confidence{limited})"
    sure = f"{confidence(certificate.confidence_level)} confidence" + " each" * two_sided + further
    way = "" if certificate.direction == "either" else f"{certificate.direction} by {limits.value}, "
    return f"{way}{lower}at most {limits.upper} ({sure})"


def sides_text(certificate: Certificate) -> str:
    """Say by how much predictions are at most too high and too low, and what that takes."""
    write = error_writer(certificate)
    return ", ".join(
        f"{label.lower()} by at most {write_upper(side.upper, certificate.tolerance, write=write)} "
        f"({side_takes(key, side)})"
        if math.isfinite(side.upper)
        else f"{label.lower()} without limit, as there is no cap"
        for key, label, side in named_sides(certificate)
    )


def named_sides(certificate: Certificate) -> tuple[tuple[str, str, Side], ...]:
    """Both sides, each with its name for programs and for readers."""
    too_low, too_high = certificate.sides
    return ("too_high", "Too high", too_high), ("too_low", "Too low", too_low)


def side_takes(key: str, side: Side) -> str:
    """What the bound on one side takes."""
    cap = "" if side.cap is None else f" for outcomes up to {amount(side.cap)}"
    if side.proved:
        return f"proved{cap or ', no cap needed'}"
    # The bound on "too high" is asymptotic only if that was asked for, whether there is a cap or not.
    missing = ", as no cap was given" if key == "too_low" else ""
    return f"asymptotic{cap or missing}"


def audit_bounds(audit: AuditFindings) -> tuple[str, str]:
    """Write the bounds that decide, with what those of clusters allow for, and the narrower ones, if there are some."""
    certificate, ordinary = audit.certificate, getattr(audit, "certificate_ordinary", None)
    if certificate is None:
        return "", ""
    how = {"asymptotic": ", asymptotic", "anytime": ", at any number of rows"}.get(certificate.method, "")
    if certificate.n_clusters is not None and not how:
        how = ", proved for clusters of any kind"
    if ordinary is None:
        return bounds_text(certificate, how), ""
    narrower = bounds_text(ordinary, ", asymptotic")
    how += "" if how.endswith("of any kind") else " for clusters of any kind"
    return bounds_text(certificate, f"{how}, which decides"), f"for clusters like these {narrower}"


def error_text(audit: AuditFindings) -> str:
    """Calibration error of these rows, with its unit, and how much pooling of scores may hide of it."""
    certificate, hidden = audit.certificate, hidden_error(audit)
    value = math.nan if certificate is None else certificate.estimate
    if isinstance(audit, Findings | ClassFindings):
        value = audit.cutoff.value if isinstance(audit, Findings) else float(audit.table.error.max())
    written = number(value)  # that of the certificate has the digits that its bounds need; of clusters it is weighted
    if certificate is not None and certificate.estimate == value:
        written = f"{error_limits(certificate).value}{f' {certificate.unit}' if certificate.unit else ''}"
    return written + (f" ({hidden})" if hidden else "")


def hidden_error(audit: AuditFindings) -> str:
    """How much pooling of scores may hide of the cutoff calibration error; empty if it is exact."""
    more = audit.cutoff.value_upper - audit.cutoff.value if isinstance(audit, Findings) else 0.0
    return f"up to {write_upper(more)} larger, since neighbouring scores were pooled" if more > 0.0 else ""


def error_range(audit: Findings) -> str:
    """Cutoff calibration error in few words: one number, or its limits if they differ as written."""
    least, most = error_text(audit).partition(" ")[0], audit.cutoff.value_upper
    return least if audit.cutoff.value == most else f"{least} to {write_upper(most)}"


def place(audit: AuditFindings) -> str:
    """Where the calibration error is attained, with what was predicted and observed there."""
    if isinstance(audit, ClassFindings):
        return _class_place(audit)
    if isinstance(audit, MeanFindings):
        return _mean_place(audit)
    assert isinstance(audit, Findings)
    cutoff = audit.cutoff
    if cutoff.interval is None:
        return f"mean predicted and observed rate agree at every score{' after pooling' if hidden_error(audit) else ''}"
    where = "over all rows"
    if cutoff.share < 1.0:
        where = f"for scores {numbers.interval_text(cutoff.interval)}, {share(cutoff.share)} of rows"
    return f"predicted {share(cutoff.mean_predicted)}, observed {share(cutoff.observed_rate)} {where}"


def _class_place(audit: ClassFindings) -> str:
    worst = audit.table
    i = int(worst.error.argmax())
    if worst.direction[i] == "none":
        return "mean predicted and observed rate agree at every probability of every class"
    interval = numbers.interval_text((float(worst.low[i]), float(worst.high[i])))
    return (
        f"class {short_name(worst.worst_name, NAME)} is {worst.direction[i]} {interval}; this error is "
        f"{worst.relative_error[i]:.0%} of its mean probability, {share(worst.mean_predicted[i])}"
    )


def _mean_place(audit: MeanFindings) -> str:
    band = audit.band
    if band is None:
        return "predicted and observed totals agree in every band of predictions"
    span = f"up to {amount(band.high)}" if band.low == -math.inf else f"from {amount(band.low)} to {amount(band.high)}"
    off = f"{share(abs(band.observed / band.predicted - 1.0))} " if band.predicted > 0.0 else ""
    return (
        f"predictions {span} are {off}{band.direction}: {amount(band.predicted)} predicted, {amount(band.observed)} "
        f"observed{on_average(audit)} in {rows(band.n)} rows{weight_text(audit, band.weight)}"
    )


def on_average(audit: MeanFindings) -> str:
    """Say so if what was predicted and observed are means."""
    return " on average by weight" if audit.weighting == "sample_weight" else ""


def weight_text(audit: MeanFindings, weight: float) -> str:
    """Name an exposure, or what weights are worth, if there is one beside the number of rows."""
    words = {"exposure": f", exposure {amount(weight)}", "sample_weight": f", worth {amount(weight)} of equal weight"}
    return words.get(audit.weighting, "")


@said_of.register
def _said(audit: AuditFindings) -> Said:
    certificate, ratio = audit.certificate, audit.estimated("observed_expected")
    if certificate is None:
        return Said(f"{no_bounds(audit)}, so these are point estimates only.", "")
    meaning = _meaning(audit, certificate) + _like_these(certificate, getattr(audit, "certificate_ordinary", None))
    if any(warning.code == IN_SAMPLE for warning in audit.warnings):
        meaning += " But this does not hold if these rows were used to fit, as it seems: see the warning."
    off = ratio is not None and asked_about(ratio.value, certificate.direction)
    # Of heavy tails the interval of a total misses more often than it says: something else has to agree.
    off &= (
        not isinstance(audit, MeanFindings)
        or certificate.lower_bound > 0.0
        or audit.clusters is not None
        or (audit.test is not None and audit.test.p_value <= BEYOND_CHANCE)
    )
    return Said(meaning, off_in_total(audit) if off else "")


def off_in_total(audit: AuditFindings) -> str:
    """How far the number of positives, or the total, is from the prediction, if its interval excludes that."""
    ratio = audit.estimated("observed_expected")
    if ratio is None or not (ratio.lower > 1.0 or ratio.upper < 1.0):
        return ""
    side, off = "above" if ratio.value > 1.0 else "below", words_of(audit).off
    written = write_interval(ratio.value, ratio.lower, ratio.upper, 1.0)
    return f"{off} {share(abs(ratio.value - 1.0))} {side} prediction, O:E {written}"


def error_of(certificate: Certificate) -> str:
    """Name the error that a certificate is about."""
    alone = "" if certificate.direction == "either" else f" of predictions that are {certificate.direction}"
    return f"the calibration error{alone}"


def _meaning(audit: AuditFindings, certificate: Certificate) -> str:
    """What a certificate means for the tolerance; without one what its upper bound is, and no full stop."""
    error = some = error_of(certificate)
    if isinstance(audit, ClassFindings):
        far = "" if certificate.direction == "either" else f" as far as probabilities are {certificate.direction},"
        error, some = f"the error of every class, each against the rest,{far}", "the error of some class"
    sure = f"{confidence(certificate.confidence_level)} confidence"
    if certificate.method == "asymptotic":  # it holds only so
        sure += " (asymptotic)" if certificate.n_clusters is None else " (asymptotic in the number of clusters)"
    elif any(side.verdict == "certified" and not side.proved for side in certificate.sides):
        sure += " (asymptotic)"
    sure += counting(certificate)
    if certificate.verdict is None and certificate.sides:
        return f"predictions are {sides_text(certificate)}, {certificate.unit}, with {sure} each"
    if certificate.verdict is None:
        return f"{error} is at most {error_limits(certificate).upper} with {sure}"
    tolerance = tolerance_text(certificate)
    if certificate.verdict == "certified":
        return f"{error} is within {tolerance}, with {sure}."
    if certificate.verdict == "refuted":
        return f"{some} is above {tolerance}, with {sure}."
    one, extent = audit.n == 1, counted(certificate.n)
    if certificate.n_clusters is not None:
        extent += f" in {rows(certificate.n_clusters)} clusters"
    lacking = f"{'does' if one else 'do'} not show whether {error} is within {tolerance}"
    if certificate.verdict == "uninformative":
        lacking = f"{'is' if one else 'are'} too few for any statement about a tolerance of {tolerance}"
    elif certificate.kind == "classes" or certificate.bound < min(
        certificate.trivial_bound, 1.0 - certificate.trivial_bound
    ):
        lacking += f"; tolerances are certified from {error_limits(certificate).upper} on"
    return f"{extent} {lacking}.{_what_decides(certificate)}"


def _what_decides(certificate: Certificate) -> str:
    """Say what would decide, or why nothing does."""
    if certificate.rows_needed is not None:
        return f" About {rows_needed(certificate)} would decide."
    if any(side.method == EXTRAPOLATED for side in certificate.sides):
        return " Without a cap no number of rows certifies."
    if certificate.kind != "event":
        return ""
    if certificate.tolerance is not None and certificate.bound <= certificate.tolerance:
        return " Any classifier with these scores meets this tolerance, so meeting it would show nothing."
    if certificate.method == "anytime":
        return " The error appears to exceed it, but this method cannot refute."
    return ""


def _like_these(certificate: Certificate, ordinary: Certificate | None) -> str:
    """Say which assumption would decide where only bounds for clusters of any kind do not; else empty."""
    if ordinary is None or certificate.tolerance is None:
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


def no_bounds(audit: Any) -> str:
    """Why there is no bound on the calibration error."""
    if audit.effective_clusters is None or getattr(audit, "weights", "rows") != "rows":
        return f"weights do not count rows ({IF_COUNTS.replace('`count`', 'count= or --count')})"
    return f"clusters are worth only {audit.effective_clusters:.3g} of equal size, and a bound needs 5"


def counting(result: Certificate) -> str:
    """Say how clusters are weighted, where not every row counts the same."""
    return "" if result.cluster_cap is None else f", where {weighting(result.cluster_cap)}"


def evidence_text(test: CalibrationTest) -> str:
    """Write the p-value and how it was found."""
    how = "exact test" if test.method == "exact" else "asymptotic test"
    how += "" if test.n_clusters is None else " for clusters"
    return f"{write_p_value(test.p_value, test.n_simulations)} ({how})"


def saving_caveat(decision: Decision) -> str:
    """Say so where the bound on the saving is above the cost, of which more cannot be saved; empty otherwise."""
    return "too few rows for a bound below the present cost" if decision.saving_bound > decision.cost else ""


Effect = Recalibration | ClassRecalibration | MeanRecalibration


def changes(effect: Effect | None, write: Writer = number) -> list[tuple[str, str, str]]:
    """Write what recalibration changes: names, and values before and after, with digits enough to see it."""
    change = numbers.write_change
    if isinstance(effect, Recalibration):
        return [
            ("calibration error", *change(effect.error_before, effect.error_after)),
            ("Brier score", *change(effect.brier_before, effect.brier_after)),
            ("log loss", *change(effect.log_loss_before, effect.log_loss_after)),
        ]
    if isinstance(effect, MeanRecalibration):
        return [
            ("calibration error", write(effect.error_before), write(effect.error_after)),
            ("deviance", *change(effect.deviance_before, effect.deviance_after)),
        ]
    if effect is None:
        return []
    before, after = effect.losses_before, effect.losses_after
    return [
        ("log loss", *change(before.log_loss, after.log_loss)),
        ("Brier score", *change(before.brier_score, after.brier_score)),
        ("error of the worst class", *change(effect.worst_before, effect.worst_after)),
        ("accuracy", share(before.accuracy), share(after.accuracy)),
    ]


def judged_by(effect: Effect) -> str:
    """Say which map was judged, and on which rows."""
    if isinstance(effect, Recalibration):
        return f"{effect.method}, {effect.n_folds}-fold cross-validation"
    if isinstance(effect, MeanRecalibration):
        chosen = MAPS[effect.chosen]
        return f"AutoMeanCalibrator chooses {chosen}; judged on {rows(effect.n)} rows, by maps fitted to others"
    return f"judged on {counted(effect.n)}, by maps fitted to {effect.n_fitted:,.0f} others each time"


def recalibration_sentence(
    effect: Effect | None, write: Writer = number, why: str = _NO_FOLDS, *, listed: bool = True
) -> str:
    """What recalibration achieves on rows that maps were not fitted to, each measure listed, or why it is not known."""
    if effect is None:
        return f"not assessed: {why}"
    changed = ", ".join(f"{name} {before} -> {after}" for name, before, after in changes(effect, write) if listed)
    whole = ""
    if isinstance(effect, ClassRecalibration):
        whole = f"{share(effect.decisions_changed)} of the most probable classes change"
    elif isinstance(effect, Recalibration) and effect.unchanged:
        whole = "fitted on all rows, it leaves the scores as they are"
    elif isinstance(effect, Recalibration) and effect.bound_after is not None:
        sure = f"{confidence(effect.confidence_level)} confidence"
        sure += "" if effect.n_clusters is None else f", asymptotic in the number of clusters, {effect.n_clusters}"
        whole = f"fitted on all rows, true error at most {write_upper(effect.bound_after)} ({sure})"
    return joined(f"{judged_by(effect)}: {changed}" if listed else judged_by(effect), whole)


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
    if audit.distinct_scores is not None:
        return ""
    return (
        "There were too many distinct scores to keep each, so neighbouring scores were pooled into cells. The "
        "interval of the AUC allows for their order, and the reliability curves use the mean score of each cell."
        + (" Reading the rows more than once would give the exact calibration error." if hidden_error(audit) else "")
    )


def advice_sentence(audit: AuditFindings) -> str:
    """What to do and why."""
    action = audit.advice.action
    return f"{'No advice' if action == 'none' else action[0].upper() + action[1:]}: {audit.advice.reason}"


def used_clusters(one: BetweenClusters, audit: Findings) -> str:
    """Say of how many clusters a summary is; nothing if it is of all of them."""
    if len(one.cluster) == audit.clusters:
        return ""
    clusters = f"{len(one.cluster)} of {audit.clusters} clusters"
    return f" ({clusters}, {rows(one.positives.sum())} of {rows(audit.positives or 0)} positives)"


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


def assumptions(audit: AuditFindings) -> Iterator[str]:
    """Yield what an audit assumes."""
    words, weights = words_of(audit), getattr(audit, "weights", "rows")
    yield f"The {words.model} was fixed before these rows were seen: none of them was used to fit, tune or choose it."
    if audit.certificate is not None and weights == "chances":
        yield from audit.certificate.assumptions[:1]
    elif weights != "rows":
        yield "Weights do not count rows, so these are point estimates, without bounds or tests."
    elif audit.clusters is not None:
        yield "Clusters are independent draws from the population; rows of one cluster may depend on each other."
    else:
        yield "Rows are independent draws from the population that the statements are about."
    which = "is missing" if audit.left_out is None or not audit.left_out.n else "was left out"
    yield f"Outcomes are {words.recorded}, and no row {which} because of its outcome."
    ece = getattr(audit, "expected_error", None)
    if ece is not None and ece.assumes_monotone and not ece.contradicted:
        yield "For the upper bound on the expected calibration error: the event rate never falls as the score rises."
    if getattr(audit, "n_rescaled", 0):
        yield "Probabilities are used after division by their sum, not as they were given."


def limitations(audit: AuditFindings) -> Iterator[str]:
    """Yield what an audit does not show, as it is about these rows, and as each statement has its own level."""
    predictions, certificate = words_of(audit).predictions, audit.certificate
    if isinstance(audit, ClassFindings):
        yield MARGINAL
    yield "It is about the population that these rows were drawn from, not about another place or a later time."
    if audit.segments is not None:
        yield f"Within parts of the rows other than the segments listed, {predictions} may be less well calibrated."
    else:
        less = f"within a part of them, {predictions} may be less well calibrated."
        yield f"It is about all of these rows together: {less}"
    yield f"Calibrated {predictions} can still rank poorly, or be of little use for a decision."
    if certificate is None:
        return
    yield "Each statement holds with its own confidence level; that all of them hold has a lower one."
    if certificate.direction != "either":
        yield f"Bounds and verdict are about predictions that are {certificate.direction}, all else about both ways."
    if certificate.tolerance is None:
        yield "No tolerance was given, so whether the calibration error is acceptable was not decided."
    if certificate.n_clusters is not None and isinstance(audit, Findings):
        yield "Intervals of AUC, Brier score, O:E and the like are approximate, for clusters of these sizes."
