"""What to do with the scores: leave them alone, recalibrate, or collect more data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from calibrant.auditing.recalibration import Recalibration
from calibrant.certificates import CalibrationTest, Certificate
from calibrant.metrics import CutoffCalibration
from calibrant.table.results import Result

__all__ = ["Advice", "advise"]

_BEYOND_CHANCE = 0.05

Action = Literal["leave alone", "recalibrate", "collect more data", "none"]


@dataclass(frozen=True)
class Advice(Result):
    """One recommendation and why.

    Attributes
    ----------
    action : {"leave alone", "recalibrate", "collect more data", "none"}
        What to do. "none" if the weights leave no basis for advice.
    reason : str
        Why, in one sentence.
    """

    action: Action
    reason: str


def advise(
    cutoff: CutoffCalibration,
    test: CalibrationTest | None,
    certificate: Certificate | None,
    recalibration: Recalibration | None,
) -> Advice:
    """Weigh the verdict, the evidence and the cross-fitted gain.

    Without a test of perfect calibration the 95% limit under perfect calibration decides. There is no certificate if
    the weights are not whole numbers, and no recalibration if there were too few rows to assess it.
    """
    if certificate is None:
        return Advice(
            "none", "with weights that are not counts of rows, the error under perfect calibration is not known."
        )
    verdict = certificate.verdict
    suspicious = cutoff.value > cutoff.null_q95 if test is None else test.p_value <= _BEYOND_CHANCE
    helps = recalibration is not None and recalibration.helps
    # Neither the test nor the 95% limit includes what pooling of scores hides.
    hidden = cutoff.value <= cutoff.null_q95 < cutoff.value_at_most
    error = "the error, as far as it is known from pooled scores," if hidden else "the error"
    if verdict == "certified":
        more = ", though isotonic calibration would lower the Brier score further" if suspicious and helps else ""
        return Advice("leave alone", f"the calibration error is certified to be within the tolerance{more}.")
    if suspicious or verdict == "refuted":
        return _repair(recalibration)
    if verdict is not None:
        return Advice(
            "collect more data",
            f"{error} is compatible with perfect calibration, but these rows are too few to certify the tolerance.",
        )
    if certificate.bound >= certificate.trivial_bound:
        return Advice(
            "collect more data",
            f"{error} is compatible with perfect calibration, but also with a large error, since the rows are so few.",
        )
    return Advice("leave alone", f"{error} is compatible with perfect calibration.")


def _repair(recalibration: Recalibration | None) -> Advice:
    """Advise where the error is significant or above the tolerance."""
    if recalibration is None:
        return Advice(
            "collect more data",
            "the error is more than chance explains, but the rows are too few to assess recalibration.",
        )
    if not recalibration.helps:
        return Advice(
            "collect more data",
            "the error is more than chance explains, but recalibration does not lower the cross-validated Brier score.",
        )
    return Advice(
        "recalibrate",
        "the error is more than chance explains, and isotonic calibration lowers the cross-validated Brier score.",
    )
