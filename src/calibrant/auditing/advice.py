"""What to do with the scores: leave them alone, recalibrate, collect more data, or first mend the data."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from calibrant.auditing.findings import Action, Advice, Findings
from calibrant.auditing.next_steps import Asked, next_step
from calibrant.auditing.recalibration import Recalibration
from calibrant.auditing.warnings import DECISIONS, FEW_CLUSTERS, REVERSED, WIDE_TOLERANCE, error_of_half
from calibrant.auditing.wording import auto_gain, error_of, off_in_total
from calibrant.certificates import Certificate
from calibrant.printable import visible_name
from calibrant.segments.values import are_periods
from calibrant.table.numbers import write_interval

if TYPE_CHECKING:
    from calibrant.auditing.segment_audit import SegmentAudit

NO_ADVICE = Advice("none", "", None, None)  # of an audit that is not complete

_BEYOND_CHANCE = 0.05
# Where a tolerance is met, a number of positives that is off by less than this share is no reason to change the scores.
# Of rare events a tolerance allows much more: .002 is a third of a rate of .6%.
_MATERIAL = 0.05

_DRIFT = (
    "that is drift: no later row has a value of {name}, so a map for each of them is of no use. Fit to the rows of the "
    "latest ones, and watch the new rows with a monitor."
)

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
    certificate, segments, off = audit.certificate, audit.segments, ""
    if segments is not None:
        from calibrant.auditing.segment_audit import off_sentence

        off = off_sentence(segments)
    codes = {warning.code for warning in audit.warnings}
    first = next((advice for code, advice in _FIRST.items() if code in codes), None)
    named = {} if segments is None else _levels_of(segments)
    periods = [name for name, levels in named.items() if are_periods(levels)]
    columns = tuple(name for name in named if name not in periods)
    if first is None and off and not columns and segments_differ is not False:
        first = "recalibrate", f"{off}; {_DRIFT.format(name=visible_name(periods[0]))}"
    elif first is None and off and segments_differ is not False:
        # The verdict on all rows does not show it, and one map does not mend it.
        shown = "maps by segment lower the log loss of held-out rows beyond one map for all"
        tested = "whether one map for all mends it is not tested here; the command does"
        first = "recalibrate by segment", f"{off}; {shown if segments_differ else tested}."
    action, reason, *step = first or _weighed(audit)
    if off and segments_differ is False and action not in ("check the scores", "check the labels"):
        reason = (
            f"{reason[:-1]}; {off}. That stands, but maps by segment gain no more on held-out rows than chance can."
        )
    if action == "collect more data" and (certificate is None or certificate.n_clusters is not None):
        # A plan counts independent rows, and would ask for too few.
        return Advice(action, reason, None, None)
    next_ = next_step(step[0] if step else action, asked, certificate, columns, expected_brier=expected_brier)
    return Advice(action, reason, *next_)


def _levels_of(segments: SegmentAudit) -> dict[str, set[str]]:
    """Return the names of the levels of each column."""
    levels: dict[str, set[str]] = {}
    for names, of in zip(segments.columns_of, segments.levels, strict=True):
        for name, level in zip(names, of, strict=True):
            levels.setdefault(name, set()).add(level)
    return levels


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
    if certificate.bound >= error_of_half(audit.sample.base_rate):
        reason = f"{compatible}, but also with a large one: these {units} are too few to tell{meanwhile}."
        return "collect more data", reason
    return "leave alone", f"{compatible}{unchanged}."


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
    return audit.test.p_value <= _BEYOND_CHANCE


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
