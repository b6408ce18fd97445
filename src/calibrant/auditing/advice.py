"""What to do with the scores: leave them alone, recalibrate, or collect more data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from calibrant.auditing.recalibration import Recalibration
from calibrant.certificates import Certificate
from calibrant.core.brownian import range_quantile
from calibrant.core.results import Result
from calibrant.metrics import CutoffCalibration

__all__ = ["Advice", "advise", "noise_limit"]

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
    noise_limit : float
        The calibration error has to exceed this to count as a sign of miscalibration: what calibrated scores
        would exceed once in twenty (limit for large n, safe for rare events). NaN without whole-number weights.
    """

    action: Action
    reason: str
    noise_limit: float


def noise_limit(n: float, brier: float, mean_variance: float) -> float:
    """Error that calibrated scores exceed with probability 0.05.

    The larger of Brier score and mean of ``s (1 - s)`` keeps that true where events are rare.
    """
    return range_quantile(0.95) * math.sqrt(max(brier, mean_variance) / n)


def advise(
    cutoff: CutoffCalibration,
    certificate: Certificate | None,
    recalibration: Recalibration | None,
    limit: float,
) -> Advice:
    """Weigh the verdict, the noise level and the cross-fitted gain.

    Parameters
    ----------
    cutoff : CutoffCalibration
        The error measured.
    certificate : Certificate or None
        None if the weights are not whole numbers.
    recalibration : Recalibration or None
        None if there were too few rows to judge.
    limit : float
        See `noise_limit`.
    """
    if certificate is None:
        return Advice("none", "weights that do not count rows leave the noise level unknown.", math.nan)
    verdict = certificate.verdict
    suspicious = cutoff.value > limit
    helps = recalibration is not None and recalibration.helps
    if verdict == "certified":
        more = ", though isotonic calibration would still lower the Brier score" if suspicious and helps else ""
        return Advice("leave alone", f"the calibration error is certified to be within your tolerance{more}.", limit)
    if (suspicious or verdict == "refuted") and helps:
        return Advice(
            "recalibrate",
            "the error is beyond chance, and isotonic calibration lowers the Brier score on rows it has not seen.",
            limit,
        )
    if suspicious or verdict == "refuted":
        return Advice(
            "collect more data",
            "the error is beyond chance, but on this many rows recalibration does not lower the Brier score.",
            limit,
        )
    if verdict is None:
        return Advice("leave alone", "the error is no larger than chance alone would show.", limit)
    return Advice(
        "collect more data",
        "the error is no larger than chance would show, but these rows are too few to certify your tolerance.",
        limit,
    )
