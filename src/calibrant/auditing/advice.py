"""What to do with the scores: leave them alone, recalibrate, collect more data, or first mend the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from calibrant.auditing.next_steps import NextStep, Place, next_step
from calibrant.auditing.recalibration import Recalibration
from calibrant.auditing.segment_audit import SegmentAudit
from calibrant.auditing.warnings import DECISIONS, DEPENDENCE, FEW_CLUSTERS, REVERSED, DataWarning
from calibrant.certificates import CalibrationTest, Certificate
from calibrant.metrics import CutoffCalibration
from calibrant.table.results import Result

__all__ = ["Action", "Advice", "advise"]

_BEYOND_CHANCE = 0.05

Action = Literal[
    "leave alone",
    "recalibrate",
    "recalibrate by segment",
    "collect more data",
    "check the scores",
    "check the labels",
    "name the clusters",
    "none",
]

# Warnings that come before any other advice, the first first, with what they lead to.
_FIRST: dict[str, tuple[Action, str]] = {
    DECISIONS: ("check the scores", "decisions of 0 or 1 cannot be calibrated, the probabilities behind them can."),
    REVERSED: (
        "check the labels",
        "negatives tend to have the higher scores, as if the classes were reversed, which recalibration cannot mend.",
    ),
    DEPENDENCE: (
        "name the clusters",
        "rows seem to depend on each other: before it is said which belong together, no verdict and no gain counts.",
    ),
}


@dataclass(frozen=True)
class Advice(Result):
    """One recommendation and why.

    Attributes
    ----------
    action : str
        What to do: "leave alone", "recalibrate", "recalibrate by segment", "collect more data"; "check the scores",
        "check the labels" or "name the clusters" if a warning comes first; "none" if the weights leave no basis for
        advice.
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


def advise(
    cutoff: CutoffCalibration,
    test: CalibrationTest | None,
    certificate: Certificate | None,
    recalibration: Recalibration | None,
    segments: SegmentAudit | None,
    warnings: Sequence[DataWarning],
    place: Place,
) -> Advice:
    """Weigh warnings, segments that are refuted, the verdict, the evidence and the cross-fitted gain.

    Without a test of perfect calibration the 95% limit under perfect calibration decides. There is no certificate if
    the weights are not whole numbers, and no recalibration if there were too few rows to assess it.
    """
    action, reason = (
        _first(warnings)
        or _segments(segments)
        or _too_few_clusters(certificate, warnings)
        or _weighed(cutoff, test, certificate, recalibration)
    )
    tolerance = None if certificate is None else certificate.tolerance
    level = 0.95 if certificate is None else certificate.confidence_level
    clustered = certificate is None or certificate.n_clusters is not None
    if action == "collect more data" and clustered:
        # A plan counts independent rows, and would ask for too few.
        return Advice(action, reason, *NextStep())
    columns = () if segments is None else tuple(dict.fromkeys(name for of in segments.columns_of for name in of))
    return Advice(action, reason, *next_step(action, place, tolerance, level, columns))


def _first(warnings: Sequence[DataWarning]) -> tuple[Action, str] | None:
    codes = {warning.code for warning in warnings}
    return next((advice for code, advice in _FIRST.items() if code in codes), None)


def _too_few_clusters(certificate: Certificate | None, warnings: Sequence[DataWarning]) -> tuple[Action, str] | None:
    """Advise where clusters are so few that there is no certificate."""
    if certificate is not None or all(warning.code != FEW_CLUSTERS for warning in warnings):
        return None
    return "collect more data", "so few clusters do not show whether the error is more than chance explains."


def _segments(segments: SegmentAudit | None) -> tuple[Action, str] | None:
    """Advise where segments are refuted, which the verdict on all rows does not show."""
    if segments is None or segments.verdict != "refuted":
        return None
    refuted = int((segments.verdicts == "refuted").sum())
    which = f"{refuted} of the {segments.n_segments} segments listed {'is' if refuted == 1 else 'are'} refuted"
    return "recalibrate by segment", f"{which}, and a map for all rows treats all segments alike."


def _weighed(
    cutoff: CutoffCalibration,
    test: CalibrationTest | None,
    certificate: Certificate | None,
    recalibration: Recalibration | None,
) -> tuple[Action, str]:
    if certificate is None:
        return "none", "with weights that are not counts of rows, the error under perfect calibration is not known."
    verdict = certificate.verdict
    suspicious = cutoff.value > cutoff.null_q95 if test is None else test.p_value <= _BEYOND_CHANCE
    helps = recalibration is not None and recalibration.helps
    # Neither the test nor the 95% limit includes what pooling of scores hides.
    hidden = cutoff.value <= cutoff.null_q95 < cutoff.value_at_most
    error = "the error, as far as it is known from pooled scores," if hidden else "the error"
    same = recalibration is not None and recalibration.unchanged
    unchanged = ", and AutoCalibrator leaves the scores as they are" if same else ""
    if verdict == "certified":
        more = unchanged
        if suspicious:
            more = ", though it is more than chance explains" + (
                " and recalibration would lower the Brier score" if helps else ""
            )
        return "leave alone", f"the calibration error is certified to be within the tolerance{more}."
    if suspicious or verdict == "refuted":
        return _repair(recalibration)
    if verdict is not None:
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


def _repair(recalibration: Recalibration | None) -> tuple[Action, str]:
    """Advise where the error is significant or above the tolerance."""
    excess = "the error is more than chance explains"
    if recalibration is None:
        return "collect more data", f"{excess}, but the rows are too few to assess recalibration."
    if recalibration.unchanged:
        return (
            "collect more data",
            f"{excess}, but AutoCalibrator leaves the scores as they are: no other map does better.",
        )
    if not recalibration.helps:
        return "collect more data", f"{excess}, but recalibration does not lower the cross-validated Brier score."
    return "recalibrate", f"{excess}, and recalibration lowers the cross-validated Brier score."
