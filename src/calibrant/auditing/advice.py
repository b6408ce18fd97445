"""What to do with the scores: leave them alone, recalibrate, collect more data, or first mend the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from calibrant.auditing.next_steps import CallTexts, NextStep, next_step
from calibrant.auditing.recalibration import Recalibration
from calibrant.auditing.segment_audit import SegmentAudit
from calibrant.auditing.segment_wording import off_sentence
from calibrant.auditing.warnings import DECISIONS, FEW_CLUSTERS, REVERSED, DataWarning
from calibrant.certificates import CalibrationTest, Certificate
from calibrant.metrics import CutoffCalibration
from calibrant.table.numbers import interval_text, share, write_interval
from calibrant.table.results import Estimate, Result

_BEYOND_CHANCE = 0.05
# Where a tolerance is met, a number of positives that is off by less than this share is no reason to change the scores.
# Of rare events a tolerance allows much more: .002 is a third of a rate of .6%.
_MATERIAL = 0.05

Action = Literal[
    "leave alone",
    "recalibrate",
    "recalibrate by segment",
    "collect more data",
    "check the scores",
    "check the labels",
    "none",
]

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


@dataclass(frozen=True)
class Advice(Result):
    """One recommendation and why.

    Attributes
    ----------
    action : str
        What to do: "leave alone", "recalibrate", "recalibrate by segment", "collect more data"; "check the scores" or
        "check the labels" if a warning comes first; "none" if the weights leave no basis for advice.
    reason : str
        Why, in one sentence.
    command, python : str or None
        Next shell command and next line of Python, where ``cal`` is `calibrant`; None if there is nothing to run.
        Columns and files are those audited, as far as they were named.
    """

    action: Action
    reason: str
    command: str | None
    python: str | None


class _Found(NamedTuple):
    """What advice rests on."""

    cutoff: CutoffCalibration
    test: CalibrationTest | None
    certificate: Certificate | None
    recalibration: Recalibration | None
    observed_expected: Estimate

    @property
    def suspicious(self) -> bool:
        """Whether the error is more than chance explains."""
        if self.test is None:
            return self.cutoff.value > self.cutoff.null_q95
        return self.test.p_value <= _BEYOND_CHANCE

    @property
    def level(self) -> str:
        """How far the number of positives is from the prediction, if its interval excludes that; else empty."""
        ratio = self.observed_expected
        if not (ratio.lower > 1.0 or ratio.upper < 1.0):
            return ""
        side = "above" if ratio.value > 1.0 else "below"
        written = write_interval(ratio.value, ratio.lower, ratio.upper, 1.0)
        return f"positives are {share(abs(ratio.value - 1.0))} {side} prediction, O:E {written}"

    @property
    def place(self) -> str:
        """Where predictions are off, and by how much."""
        cutoff = self.cutoff
        if cutoff.interval is None:
            return ""
        return (
            f"predictions are {cutoff.direction} for scores {interval_text(cutoff.interval)}, "
            f"{share(cutoff.mean_predicted)} where {share(cutoff.observed_rate)} is observed"
        )


def advise(
    cutoff: CutoffCalibration,
    test: CalibrationTest | None,
    certificate: Certificate | None,
    recalibration: Recalibration | None,
    segments: SegmentAudit | None,
    warnings: Sequence[DataWarning],
    texts: CallTexts,
    *,
    segments_differ: bool | None,
    observed_expected: Estimate,
    expected_brier: float,
) -> Advice:
    """Weigh warnings, segments that differ, the verdict, the evidence, the level and the cross-fitted gain.

    Without a test of perfect calibration the 95% limit under perfect calibration decides. There is no certificate if
    the weights are not whole numbers, and no recalibration if there were too few rows to assess it. `segments_differ`
    is None if segments are off and too many rows were there to test it.
    """
    off = "" if segments is None else off_sentence(segments)
    found = _Found(cutoff, test, certificate, recalibration, observed_expected)
    action, reason, *step = (
        _first(warnings)
        or _by_segment(off, segments_differ)
        or _too_few_clusters(certificate, warnings)
        or _weighed(found)
    )
    if off and segments_differ is False and action not in ("check the scores", "check the labels"):
        reason = f"{reason[:-1]}; {off}, but maps by segment gain no more than chance may beyond one map for all."
    tolerance = None if certificate is None else certificate.tolerance
    level = 0.95 if certificate is None else certificate.confidence_level
    clustered = certificate is None or certificate.n_clusters is not None
    if action == "collect more data" and clustered:
        # A plan counts independent rows, and would ask for too few.
        return Advice(action, reason, *NextStep())
    columns = () if segments is None else tuple(dict.fromkeys(name for of in segments.columns_of for name in of))
    next_ = next_step(step[0] if step else action, texts, tolerance, level, columns, expected_brier=expected_brier)
    return Advice(action, reason, *next_)


def _first(warnings: Sequence[DataWarning]) -> _Weighed | None:
    codes = {warning.code for warning in warnings}
    return next((advice for code, advice in _FIRST.items() if code in codes), None)


def _too_few_clusters(certificate: Certificate | None, warnings: Sequence[DataWarning]) -> _Weighed | None:
    """Advise where clusters are so few that there is no certificate."""
    if certificate is not None or all(warning.code != FEW_CLUSTERS for warning in warnings):
        return None
    return "collect more data", "so few clusters do not show whether the error is more than chance explains."


def _by_segment(off: str, differ: bool | None) -> _Weighed | None:
    """Advise where segments are off, which the verdict on all rows does not show, and one map does not mend them."""
    if not off or differ is False:
        return None
    tested = "the rows are too many to test here whether one map for all mends it, which the command does"
    shown = "maps by segment lower the log loss of held-out rows beyond one map for all"
    return "recalibrate by segment", f"{off}; {shown if differ else tested}."


def _weighed(found: _Found) -> _Weighed:
    """Weigh verdict, evidence, level and gain."""
    certificate, recalibration, cutoff = found.certificate, found.recalibration, found.cutoff
    if certificate is None:
        return "none", "with weights that are not counts of rows, the error under perfect calibration is not known."
    # Neither the test nor the 95% limit includes what pooling of scores hides.
    hidden = cutoff.value <= cutoff.null_q95 < cutoff.value_upper
    error = "the error, as far as it is known from pooled scores," if hidden else "the error"
    same = recalibration is not None and recalibration.unchanged
    unchanged = ", and AutoCalibrator leaves the scores as they are" if same else ""
    if certificate.verdict == "certified":
        return _certified(found, unchanged)
    if found.suspicious or found.level or certificate.verdict == "refuted":
        return _repair(found)
    if certificate.verdict is not None:
        return (
            "collect more data",
            f"{error} is compatible with perfect calibration, but these rows are too few to certify the tolerance.",
        )
    if certificate.bound >= certificate.trivial_bound:
        return (
            "collect more data",
            f"{error} is compatible with perfect calibration, but also with a large error, since the rows are so few.",
        )
    return "leave alone", f"{error} is compatible with perfect calibration{unchanged}."


def _certified(found: _Found, unchanged: str) -> _Weighed:
    """Leave the scores alone; say so if they are wrong in another way than the tolerance is about."""
    within = "the calibration error is certified to be within the tolerance"
    if found.level:
        ratio = found.observed_expected
        if ratio.lower > 1.0 + _MATERIAL or ratio.upper < 1.0 - _MATERIAL:
            return "recalibrate", f"{found.level}, although {within}."
        return "leave alone", f"{within}; but {found.level}. Recalibrate if their number matters.", "recalibrate"
    if found.suspicious:
        helps = found.recalibration is not None and found.recalibration.improves_brier_score
        gain = f" and recalibration would lower the {_gained(found.recalibration)}" if helps else ""
        return "leave alone", f"{within}, though it is more than chance explains{gain}."
    return "leave alone", f"{within}{unchanged}."


def _repair(found: _Found) -> _Weighed:
    """Advise where the error is significant or above the tolerance: name what is wrong, and what mends it."""
    recalibration = found.recalibration
    excess = found.level or "the error is more than chance explains"
    if recalibration is not None and (
        recalibration.improves_brier_score or (found.level and recalibration.improves_log_loss)
    ):
        return "recalibrate", f"{excess}, and recalibration lowers the cross-validated {_gained(recalibration)}."
    if found.level and recalibration is not None:
        if recalibration.unchanged:
            more = "AutoCalibrator leaves the scores alone, and a shift of the log-odds mends the level."
            return "recalibrate", f"{excess}; {more}", "shift"
        return ("recalibrate", f"{excess}; these rows are too few to show a lower log loss, but a map mends the level.")
    if recalibration is None:
        lacking = "the rows are too few to assess recalibration"
    elif recalibration.unchanged:
        lacking = "AutoCalibrator leaves the scores as they are: no other map does better"
    else:
        lacking = "recalibration does not lower the cross-validated log loss"
    shown = f" ({found.place})" if found.place and not found.level else ""
    return "collect more data", f"{excess}{shown}, but {lacking}."


def _gained(recalibration: Recalibration | None) -> str:
    """Name the loss that recalibration lowers."""
    return "log loss" if recalibration is not None and recalibration.improves_log_loss else "Brier score"
