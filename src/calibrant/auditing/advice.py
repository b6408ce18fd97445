"""What to do with the scores: leave them alone, recalibrate, collect more data, or first mend the data."""

from __future__ import annotations

from statistics import NormalDist
from typing import TypeAlias

import numpy as np

from calibrant.auditing.findings import Action, Advice, Findings
from calibrant.auditing.next_steps import CallTexts, next_step
from calibrant.auditing.recalibration import Recalibration
from calibrant.auditing.warnings import DECISIONS, FEW_CLUSTERS, REVERSED, WIDE_TOLERANCE, error_of_half
from calibrant.auditing.wording import error_of
from calibrant.certificates import Certificate
from calibrant.printable import visible_name
from calibrant.table.numbers import share, write_interval

NO_ADVICE = Advice("none", "", None, None)  # of an audit that is not complete

_BEYOND_CHANCE = 0.05
# Where a tolerance is met, a number of positives that is off by less than this share is no reason to change the scores.
# Of rare events a tolerance allows much more: .002 is a third of a rate of .6%.
_MATERIAL = 0.05

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


def advise(audit: Findings, texts: CallTexts, *, segments_differ: bool | None, expected_brier: float) -> Advice:
    """Weigh warnings, segments that differ, the verdict, the evidence, the level and the cross-fitted gain.

    Without a test of perfect calibration the 95% limit under perfect calibration decides. There is no certificate if
    the weights are not whole numbers, and no recalibration if there were too few rows to assess it. `segments_differ`
    is None if segments are off and too many rows were there to test it.
    """
    certificate, segments, off = audit.certificate, audit.segments, ""
    if segments is not None:
        from calibrant.auditing.segment_audit import off_sentence

        off = off_sentence(segments)
    codes = {warning.code for warning in audit.warnings}
    first = next((advice for code, advice in _FIRST.items() if code in codes), None)
    if first is None and off and segments_differ is not False:
        # The verdict on all rows does not show it, and one map does not mend it.
        shown = "maps by segment lower the log loss of held-out rows beyond one map for all"
        tested = "the rows are too many to test here whether one map for all mends it, which the command does"
        first = "recalibrate by segment", f"{off}; {shown if segments_differ else tested}."
    action, reason, *step = first or _weighed(audit)
    if off and segments_differ is False and action not in ("check the scores", "check the labels"):
        reason = (
            f"{reason[:-1]}; {off}. That stands, but maps by segment gain no more on held-out rows than chance can."
        )
    if action == "collect more data" and (certificate is None or certificate.n_clusters is not None):
        # A plan counts independent rows, and would ask for too few.
        return Advice(action, reason, None, None)
    columns = () if segments is None else tuple(dict.fromkeys(name for of in segments.columns_of for name in of))
    next_ = next_step(step[0] if step else action, texts, certificate, columns, expected_brier=expected_brier)
    return Advice(action, reason, *next_)


def _weighed(audit: Findings) -> _Weighed:
    """Weigh verdict, evidence, level and gain."""
    certificate, recalibration, cutoff = audit.certificate, audit.recalibration, audit.cutoff
    if certificate is None:
        if any(warning.code == FEW_CLUSTERS for warning in audit.warnings):
            return "collect more data", "so few clusters do not show whether the error is more than chance explains."
        return "none", "with weights that are not counts of rows, the error under perfect calibration is not known."
    # Neither the test nor the 95% limit includes what pooling of scores hides.
    hidden = cutoff.value <= cutoff.null_q95 < cutoff.value_upper
    error = "the error, as far as it is known from pooled scores," if hidden else "the error"
    same = recalibration is not None and recalibration.unchanged
    unchanged = ", and AutoCalibrator leaves the scores as they are" if same else ""
    if certificate.verdict == "certified":
        return _certified(audit, certificate, unchanged)
    if _evidence(audit) or certificate.verdict == "refuted":
        return _repair(audit)
    compatible = f"{error} is compatible with perfect calibration"
    if recalibration is not None and recalibration.improves_log_loss:
        action: Action = "recalibrate" if recalibration.improves_brier_score else "collect more data"
        return action, f"{compatible}, but recalibration lowers the cross-validated log loss more than chance explains."
    if cluster := _worst_cluster(audit):
        return "collect more data", f"{compatible} over all rows, but not in cluster {cluster}: look at it by itself."
    units = "rows" if certificate.n_clusters is None else "clusters"
    if certificate.verdict is not None:
        return "collect more data", f"{compatible}, but these {units} are too few to certify the tolerance."
    if certificate.bound >= error_of_half(audit.sample.base_rate):
        return "collect more data", f"{compatible}, but also with a large one: these {units} are too few to tell."
    return "leave alone", f"{compatible}{unchanged}."


def _evidence(audit: Findings) -> str:
    """What is shown to be wrong: the number of positives, or else the slope, or else the error; empty if nothing is."""
    return _level(audit) or _slope(audit) or ("the error is more than chance explains" if _suspicious(audit) else "")


def _suspicious(audit: Findings) -> bool:
    """Whether the error is more than chance explains."""
    if audit.test is None:
        return audit.cutoff.value > audit.cutoff.null_q95
    return audit.test.p_value <= _BEYOND_CHANCE


def _level(audit: Findings) -> str:
    """How far the number of positives is from the prediction, if its interval excludes that; else empty."""
    ratio = audit.performance.observed_expected
    if not (ratio.lower > 1.0 or ratio.upper < 1.0):
        return ""
    side = "above" if ratio.value > 1.0 else "below"
    written = write_interval(ratio.value, ratio.lower, ratio.upper, 1.0)
    return f"positives are {share(abs(ratio.value - 1.0))} {side} prediction, O:E {written}"


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
    if 2.0 * normal.cdf(-width * distance[i]) * len(distance) > _BEYOND_CHANCE:
        return ""
    written = write_interval(float(ratios.value[i]), float(ratios.lower[i]), float(ratios.upper[i]), 1.0)
    return f"{visible_name(str(ratios.cluster[i]))}, where O:E is {written}"


def _certified(audit: Findings, certificate: Certificate, unchanged: str) -> _Weighed:
    """Leave the scores alone; say so if they are wrong in another way than the tolerance is about."""
    within, level = f"{error_of(certificate)} is certified to be within the tolerance", _level(audit)
    if level:
        ratio = audit.performance.observed_expected
        if ratio.lower > 1.0 + _MATERIAL or ratio.upper < 1.0 - _MATERIAL:
            return "recalibrate", f"{level}, although {within}."
        return "leave alone", f"{within}; but {level}. Recalibrate if their number matters.", "recalibrate"
    which = "it" if certificate.direction == "either" else "the error in either direction"
    off = _slope(audit) or (f"{which} is more than chance explains" if _suspicious(audit) else "")
    if off and any(warning.code == WIDE_TOLERANCE for warning in audit.warnings):
        return _repair(audit)
    if off:
        helps = audit.recalibration is not None and audit.recalibration.improves_brier_score
        gain = f", and recalibration would lower the {_gained(audit.recalibration)}" if helps else ""
        return "leave alone", f"{within}, though {off}{gain}."
    return "leave alone", f"{within}{unchanged}."


def _repair(audit: Findings) -> _Weighed:
    """Advise where the error is significant or above the tolerance: name what is wrong, and what mends it."""
    recalibration, level, slope = audit.recalibration, _level(audit), _slope(audit)
    excess = _evidence(audit) or "the error is above the tolerance"
    if recalibration is not None and (
        recalibration.improves_brier_score or ((level or slope) and recalibration.improves_log_loss)
    ):
        return "recalibrate", f"{excess}, and recalibration lowers the cross-validated {_gained(recalibration)}."
    if level and recalibration is not None:
        if recalibration.unchanged:
            more = "AutoCalibrator leaves the scores alone, and a shift of the log-odds mends the level."
            return "recalibrate", f"{excess}; {more}", "shift"
        more = "these rows are too few to show a lower log loss, but a map mends the level."
        return "recalibrate", f"{excess}; {more}"
    if recalibration is None:
        lacking = "the rows are too few to assess recalibration"
    elif recalibration.unchanged:
        lacking = "AutoCalibrator leaves the scores as they are: no other map does better"
    elif recalibration.log_loss_gain > 0.0:
        units = "rows" if audit.sample.clusters is None else "clusters"
        lacking = f"these {units} are too few to show that recalibration lowers the log loss"
    else:
        lacking = "recalibration does not lower the cross-validated log loss"
    return "collect more data", f"{excess}, but {lacking}."


def _gained(recalibration: Recalibration | None) -> str:
    """Name the loss that recalibration lowers."""
    return "log loss" if recalibration is not None and recalibration.improves_log_loss else "Brier score"
