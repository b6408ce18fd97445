"""What to do with the scores: leave them alone, recalibrate, collect more data, or first mend the data."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import NormalDist
from typing import TypeAlias

import numpy as np

from calibrant.auditing.findings import Action, Advice, ClassFindings, Findings, MeanFindings
from calibrant.auditing.next_steps import Asked, NextStep, next_step, recalibration
from calibrant.auditing.recalibration import Recalibration
from calibrant.auditing.verdict import OPEN
from calibrant.auditing.warnings import (
    ABOUT_UNITS,
    DECISIONS,
    FEW_CLUSTERS,
    FEW_DECIDE,
    ONE_OUTCOME,
    REVERSED,
    WIDE_TOLERANCE,
    error_of_half,
)
from calibrant.auditing.wording import (
    BEYOND_CHANCE,
    MAPS,
    auto_gain,
    changes,
    error_of,
    error_writer,
    gain_text,
    off_in_total,
)
from calibrant.certificates import Certificate
from calibrant.printable import visible_name
from calibrant.segments.columns import are_periods
from calibrant.table.numbers import counted, share, write_change, write_interval

NO_ADVICE = Advice("none", "")  # of an audit that is not complete

# Where a tolerance is met, a number of positives that is off by less than this share is no reason to change the scores.
# Of rare events a tolerance allows much more: .002 is a third of a rate of .6%.
_MATERIAL = 0.05

_DRIFT = (
    "that is drift: no later row has a value of {name}, so a map for each of them is of no use. Fit to the rows of the "
    "latest ones, and watch the new rows with a monitor."
)

_NO_MORE = "what maps gain on rows they were not fitted to may be chance, so MulticlassAutoCalibrator changes nothing"
_NO_LESS = "recalibration does not lower the log loss of rows that it was not fitted to"

# The action, why, and the action whose next step is shown, if that is another one.
_Weighed: TypeAlias = tuple[Action, str] | tuple[Action, str, str]

# Warnings that come before any other advice, the first first, with what they lead to.
_FIRST: dict[str, tuple[Action, str]] = {
    DECISIONS: ("check the scores", "decisions of 0 or 1 cannot be calibrated, the probabilities behind them can."),
    REVERSED: (
        "check the labels",
        "negatives tend to have the higher scores, as if the classes were reversed, which recalibration cannot mend.",
    ),
}


def advise(audit: Findings, asked: Asked, *, segments_differ: bool | None, expected_brier: float) -> Advice:
    """Weigh warnings, segments that differ, the verdict, the evidence, the level and the cross-fitted gain.

    Without a test of perfect calibration the 95% limit under perfect calibration decides. There is no certificate if
    weights do not count rows, and no recalibration if there were too few rows to assess it. `segments_differ`
    is None if segments are off and it was not tested: of too many rows, or of rows in clusters.
    """
    certificate, segments = audit.certificate, audit.segments
    named = {} if segments is None else segments.levels_by_column()
    off = "" if segments is None or not named else segments.off_sentence()
    codes = {warning.code for warning in audit.warnings}
    first: _Weighed | None = next((advice for code, advice in _FIRST.items() if code in codes), None)
    if first is None and ONE_OUTCOME in codes and certificate is not None and audit.weights != "chances":
        first = _of_one_outcome(audit, certificate, off)
    periods = [name for name, levels in named.items() if are_periods(levels)]
    columns = tuple(name for name in named if name not in periods)
    if audit.weights == "chances":
        off = ""
    if first is None and off and not columns and segments_differ is not False:
        first = "recalibrate", f"{off}; {_DRIFT.format(name=visible_name(periods[0]))}"
    elif first is None and off and segments_differ is not False:
        # The verdict on all rows does not show it, and one map does not mend it.
        shown = "maps by segment lower the log loss of held-out rows beyond one map for all"
        tested = "whether one map for all mends it is not tested here; the command does"
        first = "recalibrate by segment", f"{off}; {shown if segments_differ else tested}."
    if first is None and certificate is not None and audit.weights == "chances":
        first = _of_drawn(certificate)
    action, reason, *step = first or _weighed(audit)
    if off and segments_differ is False and action not in ("check the scores", "check the labels"):
        reason = (
            f"{reason[:-1]}; {off}. That stands, but maps by segment gain no more on held-out rows than chance can."
        )
    if audit.weights == "chances" or (
        action == "collect more data" and (certificate is None or certificate.n_clusters is not None)
    ):
        # A plan counts independent rows, and would ask for too few.
        return Advice(action, reason)
    next_ = next_step(step[0] if step else action, asked, certificate, columns, expected_brier=expected_brier)
    return Advice(action, reason, *next_)


def _weighed(audit: Findings) -> _Weighed:
    """Weigh verdict, evidence, level and gain."""
    certificate, recalibration, cutoff = audit.certificate, audit.recalibration, audit.cutoff
    if certificate is None:
        if any(warning.code == FEW_CLUSTERS for warning in audit.warnings):
            return "collect more data", "so few clusters do not show whether the error is more than chance explains."
        return "none", "with weights that do not count rows, the error under perfect calibration is not known."
    # Neither the test nor the 95% limit includes what pooling of scores hides.
    hidden = cutoff.value <= cutoff.null_q95 < cutoff.value_upper
    error = "the error, as far as it is known from pooled scores," if hidden else "the error"
    same = recalibration is not None and recalibration.unchanged
    unchanged = f", and {auto_gain(recalibration)}" if same else ""
    if certificate.verdict == "certified":
        return _certified(audit, certificate, unchanged)
    if _evidence(audit) or certificate.verdict == "refuted":
        return _repair(audit)
    compatible = f"{error} is compatible with perfect calibration"
    units = "rows" if certificate.n_clusters is None else "clusters"
    if recalibration is not None and recalibration.expects_gain:
        reason = f"{compatible}, but {auto_gain(recalibration)}"
        if recalibration.log_loss_gain_lower > 0.0:
            return "recalibrate", f"{reason}."
        return "recalibrate meanwhile", f"{reason}; then collect more {units}.", "recalibrate"
    meanwhile = _meanwhile(recalibration)
    if cluster := _worst_cluster(audit):
        reason = f"{compatible} over all rows, but not in cluster {cluster}: look at it by itself{meanwhile}."
        return "collect more data", reason
    if certificate.verdict is not None:
        return "collect more data", f"{compatible}, but these {units} are too few to certify the tolerance{meanwhile}."
    if certificate.bound >= error_of_half(audit.base_rate):
        reason = f"{compatible}, but also with a large one: these {units} are too few to tell{meanwhile}."
        return "collect more data", reason
    return "leave alone", f"{compatible}{unchanged}."


def _of_one_outcome(audit: Findings, certificate: Certificate, off: str) -> tuple[Action, str]:
    """Weigh rows that all have the same outcome, to which no map can be fitted."""
    shown = "; ".join(filter(None, [_evidence(audit), off]))
    if certificate.verdict == "certified":
        within = f"{error_of(certificate)} is certified to be within the tolerance"
        return "leave alone", "; but ".join(filter(None, [within, shown])) + "."
    fitted = "no map can be fitted to rows of one outcome"
    return "collect more data", f"{shown or 'the error is compatible with perfect calibration'}; {fitted}."


def _of_drawn(certificate: Certificate) -> tuple[Action, str]:
    """Weigh the bounds of rows that were looked at with known chances."""
    if certificate.verdict == "certified":
        return "leave alone", "the error of the population is within the tolerance."
    if certificate.lower_bound > 0.0:
        reason = "the error of the population is more than chance explains; fit a map with weights of 1 / chance."
        return "recalibrate", reason
    if certificate.verdict is None:
        return "none", "no error of the population is shown."
    return "collect more data", "these rows are too few to certify the tolerance."


def _evidence(audit: Findings) -> str:
    """What is shown to be wrong: number of positives, or else slope, error or grades; empty if nothing is."""
    excess = "the error is more than chance explains" if _suspicious(audit) else ""
    return off_in_total(audit) or _slope(audit) or excess or _off_grades(audit)


def _off_grades(audit: Findings) -> str:
    """Which grades are shown to be off; empty if none is."""
    return audit.grades.off_sentence() if audit.grades is not None and audit.grades.verdict else ""


def _suspicious(audit: Findings) -> bool:
    """Whether the error is more than chance explains."""
    if audit.test is None:
        return audit.cutoff.value > audit.cutoff.null_q95
    return audit.test.p_value <= BEYOND_CHANCE


def _slope(audit: Findings) -> str:
    """How predictions differ from each other, if the interval of the calibration slope excludes 1; else empty."""
    slope = audit.performance.calibration_slope
    if not (slope.lower > 1.0 or slope.upper < 1.0):
        return ""
    extreme = "too extreme" if slope.value < 1.0 else "not extreme enough"
    return f"predictions are {extreme}, calibration slope {write_interval(slope.value, slope.lower, slope.upper, 1.0)}"


def _worst_cluster(audit: Findings) -> str:
    """Name the cluster whose O:E is farthest from 1, if it is beyond chance among so many; else empty."""
    if audit.heterogeneity is None:
        return ""
    ratios = audit.heterogeneity.observed_expected
    with np.errstate(divide="ignore", invalid="ignore"):
        value, lower, upper = np.log([ratios.value, ratios.lower, ratios.upper])
        distance = np.nan_to_num(np.abs(value) / (upper - lower), posinf=0.0)
    i = int(np.argmax(distance))
    normal = NormalDist()
    width = 2.0 * normal.inv_cdf(0.5 + 0.5 * ratios.mean.confidence_level)
    if 2.0 * normal.cdf(-width * distance[i]) * len(distance) > BEYOND_CHANCE:
        return ""
    written = write_interval(float(ratios.value[i]), float(ratios.lower[i]), float(ratios.upper[i]), 1.0)
    return f"{visible_name(str(ratios.cluster[i]))}, where O:E is {written}"


def _certified(audit: Findings, certificate: Certificate, unchanged: str) -> _Weighed:
    """Leave the scores alone; say so if they are wrong in another way than the tolerance is about."""
    within, level = f"{error_of(certificate)} is certified to be within the tolerance", off_in_total(audit)
    if level:
        ratio = audit.performance.observed_expected
        if ratio.lower > 1.0 + _MATERIAL or ratio.upper < 1.0 - _MATERIAL:
            return "recalibrate", f"{level}, although {within}."
        return "leave alone", f"{within}; but {level}. Recalibrate if their number matters.", "recalibrate"
    which = "it" if certificate.direction == "either" else "the error in either direction"
    off = _slope(audit) or (f"{which} is more than chance explains" if _suspicious(audit) else "")
    if _off_grades(audit) or (off and any(warning.code == WIDE_TOLERANCE for warning in audit.warnings)):
        return _repair(audit)
    if off:
        helps = audit.recalibration is not None and audit.recalibration.expects_gain
        gain = f", and {auto_gain(audit.recalibration)}" if helps else ""
        return "leave alone", f"{within}, though {off}{gain}."
    return "leave alone", f"{within}{unchanged}."


def _repair(audit: Findings) -> _Weighed:
    """Advise where the error is significant or above the tolerance: name what is wrong, and what mends it."""
    recalibration, level = audit.recalibration, off_in_total(audit)
    excess = _evidence(audit) or "the error is above the tolerance"
    if recalibration is None:
        return "collect more data", f"{excess}, but the rows are too few to assess recalibration."
    # A slope that is off is a reason by itself, to which held-out rows only have to agree.
    agrees = not recalibration.unchanged and recalibration.log_loss_gain > 0.0 and _slope(audit)
    if recalibration.expects_gain or agrees:
        return "recalibrate", f"{excess}, and {auto_gain(recalibration)}."
    if level and recalibration.unchanged:
        more = "AutoCalibrator leaves the scores alone, and a shift of the log-odds mends the level."
        return "recalibrate", f"{excess}; {more}", "shift"
    if level:
        return "recalibrate", f"{excess}, which a map mends; {auto_gain(recalibration)}."
    return "collect more data", f"{excess}, but no map is sure to mend it{_meanwhile(recalibration)}."


def _meanwhile(recalibration: Recalibration | None) -> str:
    """What the map would do in the meantime where it is not expected to help."""
    return f"; meanwhile {auto_gain(recalibration)}" if recalibration is not None else ""


def advise_on_parts(audit: ClassFindings | MeanFindings, asked: Asked) -> Advice:
    """Advise on classes or amounts: by what is decided, what is shown to be off, and what recalibration does.

    Segments, or grades, that are off stand beside the advice on all rows, which no one map for all follows.
    """
    amounts = isinstance(audit, MeanFindings)
    advice = _on_amounts(audit, asked) if isinstance(audit, MeanFindings) else _on_classes(audit, asked)
    part, off = "segment", ""
    if audit.segments is not None:
        off = audit.segments.off_sentence()
    elif audit.grades is not None and audit.grades.verdict:
        part, off = "grade", f"p{audit.grades.off_sentence()[1:]}"
    if not off:
        return advice
    fit = f"fit a factor for each of these {part}s" if amounts else "fit these segments apart"
    mend = f"{off}: {fit}, or give the model their column."
    if amounts and advice.action != "recalibrate":
        return Advice("recalibrate by grade" if part == "grade" else "recalibrate by segment", mend)
    return replace(advice, reason=f"{advice.reason[:-1]}; {mend}")


def _on_classes(audit: ClassFindings, asked: Asked) -> Advice:
    """Advise on classes without segments."""
    effect, certificate = audit.recalibration, audit.certificate
    if certificate is not None and audit.weights == "chances":
        return Advice(*_of_drawn(certificate), None, None)
    if effect is None or certificate is None or audit.confidence is None:
        takes = "it takes all classes, two rows or clusters a fold, and rows that count the same"
        return Advice("none", f"recalibration was not assessed: {takes}.")
    before, after = write_change(effect.losses_before.log_loss, effect.losses_after.log_loss)
    # The largest probability is what people read: where it is shown to be off by more, classes alone do not suffice.
    sure = audit.confidence.lower_bound <= (certificate.tolerance or 0.0) and not audit.warnings
    if certificate.verdict == "certified" and sure:
        off = ", though the test rejects the probabilities" * audit.rejected
        gain = f"; recalibration would lower the log loss of rows not fitted to from {before} to {after}"
        reason = f"the error of every class is certified to be within the tolerance{off}{gain * effect.improves}."
        return Advice("leave alone", reason)
    if effect.improves:
        changed = f"{share(effect.decisions_changed)} of the most probable classes change"
        judged = counted(audit.n) if effect.n == audit.n else f"{effect.n:,} of {audit.n:,} rows"
        reason = f"on {judged} not fitted to, the log loss falls from {before} to {after}; {changed}"
        if math.isfinite(effect.gain):
            reason += f"; {gain_text('MulticlassAutoCalibrator', effect.gain, effect.gain_lower)}"
        return Advice("recalibrate", f"{reason}.", *recalibration(asked, "MulticlassAutoCalibrator()"))
    action: Action = "leave alone"
    lacking = _NO_MORE if effect.unchanged else _NO_LESS
    reason = f"{lacking}."
    if certificate.verdict in OPEN:
        action, reason = "collect more data", f"these rows do not decide, and {lacking}."
    elif certificate.verdict == "refuted" or audit.rejected:
        reason = f"{lacking}; what is wrong takes another model, or more rows."
    return Advice(action, reason)


def _on_amounts(audit: MeanFindings, asked: Asked) -> Advice:
    """Advise on amounts without segments."""
    effect, certificate = audit.recalibration, audit.certificate
    total = off_in_total(audit)
    if certificate.verdict == "certified":
        within = "the error is certified to be within the tolerance"
        if not total:
            return Advice("leave alone", f"{within}.")
        return Advice(
            "leave alone",
            f"{within}, though {total}. Recalibrate if the total matters.",
            *_fits(audit, asked, scale=True),
        )
    codes = {one.code for one in audit.warnings}
    checked = "if the units are right, " if ABOUT_UNITS & codes else ""
    if effect is not None and effect.chosen != "identity":
        p_value = math.nan if audit.test is None else audit.test.p_value
        shown = total or certificate.lower_bound > 0.0 or p_value <= BEYOND_CHANCE
        # Where a few rows decide, the deviance of right predictions falls too often by chance.
        falls = effect.deviance_after < effect.deviance_before and not FEW_DECIDE & codes
        if shown or falls:
            _, before, after = changes(effect, error_writer(certificate))[0]
            since = f"{total}; " if total and not checked else ""
            fitted = (
                f"{MAPS[effect.chosen]} brings the error of rows that it was not fitted to from {before} to {after}."
            )
            return Advice("recalibrate", f"{checked}{since}{fitted}", *_fits(audit, asked))
        otherwise = "no error is shown beyond chance"
    elif effect is None:
        otherwise = "recalibration was not assessed, as it takes predictions above 0, and some outcome above 0"
    else:
        otherwise = "no factor, power or isotonic map is clearly better than predictions as they are"
    if total and audit.deviance == "poisson" and audit.observed > 0.0:
        return Advice("recalibrate", f"{checked}{total}, which one factor mends.", *_fits(audit, asked, scale=True))
    if certificate.verdict in ("undecided", "uninformative"):
        return Advice("collect more data", f"these rows do not decide, and {otherwise}.")
    return Advice("none" if effect is None else "leave alone", f"{otherwise}.")


def _fits(audit: MeanFindings, asked: Asked, *, scale: bool = False) -> NextStep:
    """How the map that is chosen, or one factor, is fitted in a shell and in Python."""
    most = None if audit.recalibration is None else audit.recalibration.upper_limit
    kind = "calibrators.ScaleCalibrator" if scale else "AutoMeanCalibrator"
    calibrator = f"{kind}({'' if most is None else f'upper_limit={most!r}'})"
    return recalibration(asked, calibrator, cap=most, method="scale" if scale else None)
