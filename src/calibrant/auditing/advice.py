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

    Parameters
    ----------
    cutoff : CutoffCalibration
        The error measured.
    test : CalibrationTest or None
        Whether it is more than chance; if None, the noise level decides that.
    certificate : Certificate or None
        None if the weights are not whole numbers.
    recalibration : Recalibration or None
        None if there were too few rows to judge.
    """
    if certificate is None:
        return Advice("none", "weights that do not count rows leave the noise level unknown.")
    verdict = certificate.verdict
    suspicious = cutoff.value > cutoff.null_q95 if test is None else test.p_value <= _BEYOND_CHANCE
    helps = recalibration is not None and recalibration.helps
    # Neither the test nor the noise level knows of what cells hide.
    hidden = cutoff.value <= cutoff.null_q95 < cutoff.value_at_most
    error = "what is seen of the error" if hidden else "the error"
    if verdict == "certified":
        more = ", though isotonic calibration would still lower the Brier score" if suspicious and helps else ""
        return Advice("leave alone", f"the calibration error is certified to be within your tolerance{more}.")
    if suspicious or verdict == "refuted":
        return _repair(recalibration)
    if verdict is not None:
        return Advice(
            "collect more data",
            f"{error} is no larger than chance would show, but these rows are too few to certify your tolerance.",
        )
    if certificate.bound >= certificate.trivial_bound:
        return Advice(
            "collect more data",
            f"{error} is no larger than chance alone would show, but so few rows could not show a large one either.",
        )
    return Advice("leave alone", f"{error} is no larger than chance alone would show.")


def _repair(recalibration: Recalibration | None) -> Advice:
    """Advise where the error is beyond chance or above the tolerance."""
    if recalibration is None:
        return Advice("collect more data", "the error is beyond chance, but on so few rows no repair can be judged.")
    if not recalibration.helps:
        return Advice(
            "collect more data",
            "the error is beyond chance, but on this many rows recalibration does not lower the Brier score.",
        )
    return Advice(
        "recalibrate",
        "the error is beyond chance, and isotonic calibration lowers the Brier score on rows it has not seen.",
    )
