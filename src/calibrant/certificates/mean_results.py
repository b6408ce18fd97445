"""What a certificate of predicted means says, on each side, and in which words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from calibrant.table.numbers import amount, confidence, given, share, significant, write_lower, write_upper
from calibrant.table.outcome_table import OutcomeTable
from calibrant.table.results import Result
from calibrant.table.statements import Statement

_PER = {
    "predicted": "of the predicted total",
    "observed": "of the observed total",
    "exposure": "per unit of exposure",
    "rows": "per row",
}
SHARES = ("predicted", "observed")
_WORDS = {1: "too low", -1: "too high"}
_PROVED, EXTRAPOLATED = ("betting", "moments"), "extrapolated"


@dataclass(frozen=True)
class Side(Result):
    """What is known of one of the two ways in which predictions can be wrong.

    Attributes
    ----------
    estimate : float
        Error of these rows on this side.
    upper, lower : float
        Confidence bounds, each wrong with probability at most ``1 - confidence_level``; `upper` is infinite if there is
        none.
    cap : float or None
        The largest outcome that the upper bound relies on; None if it relies on none.
    method : {"betting", "moments", "asymptotic", "extrapolated", "none"}
        How the upper bound was made; "extrapolated" is asymptotic too, without a limit of outcomes: from those seen.
    proved : bool
        Whether the upper bound holds for every number of rows and every distribution within the limits of outcomes.
    verdict : {"certified", "refuted", "undecided"} or None
        On the tolerance, by the bounds of this side. None that is extrapolated certifies.
    sentence : str
        The bounds, and what they rely on.
    """

    estimate: float
    upper: float
    lower: float
    cap: float | None
    method: str
    proved: bool
    verdict: str | None
    sentence: str


@dataclass(frozen=True, kw_only=True)
class MeanCertificate(Statement):
    """Bounds on the true calibration error of predicted means, on both sides, and the verdict on a tolerance.

    Attributes
    ----------
    claim, confidence_level, assumptions, references
        What is claimed, with which probability, on which assumptions, and keys of `calibrant.references`.
    verdict : {"certified", "refuted", "undecided"} or None
        Of the worse side, or the one asked for: whether its upper bound is within the tolerance, or the lower bound
        above it. Without a limit of outcomes nothing certifies that predictions are not too low.
    tolerance : float or None
        The tolerance asked for.
    estimate : float
        Error of these rows: the larger of the two sides, or that of the one asked for.
    bound, lower_bound : float
        Confidence bounds on that error of the population, each wrong with probability at most ``1 - confidence_level``.
        Neither side pays for the other.
    too_low, too_high : Side
        Predictions below, and above, what is observed.
    relative_to : {"predicted", "exposure", "observed", "rows"}
        What errors are told in.
    n : int
        Rows.
    n_clusters : int or None
        Clusters, if rows were clustered.
    rows_needed : int or None
        If undecided: about how many rows a decision would take, were the true error what it seems. None if it seems too
        near the tolerance to say, or above it while the lower bound is 0, or a bound is extrapolated.
    direction : {"either", "too low", "too high"}
        Which side was asked for.
    """

    verdict: str | None
    tolerance: float | None
    estimate: float
    bound: float
    lower_bound: float
    too_low: Side
    too_high: Side
    relative_to: str
    n: int
    n_clusters: int | None
    rows_needed: int | None
    direction: str = "either"

    def __str__(self) -> str:
        lines = [self.claim, *self.gaps, self.too_low.sentence, self.too_high.sentence]
        if self.tolerance is not None:
            lines.append(f"At tolerance {given(self.tolerance)}: {self.verdict}.")
        return "\n".join(lines)


class SideBounds(NamedTuple):
    """Error of one side and its bounds, how the upper one was made, and what more there is to say of it."""

    estimate: float
    upper: float
    lower: float
    method: str
    note: str = ""


def conclude_side(
    table: OutcomeTable,
    side: int,
    bounds: SideBounds,
    tolerance: float | None,
    cluster_limit: float | None,
    confidence_level: float,
) -> Side:
    """Say what the bounds of a side, 1 for predictions that are too low or -1, are, and what they rely on."""
    low, high = table.outcome_limits
    near = high if side == 1 else low
    method, words, sure = bounds.method, _WORDS[side], f"{confidence(confidence_level)} confidence"
    # Betting needs the limit of outcomes on the side of the bound alone, and of outcomes that are not negative the
    # lower one goes without saying.
    caps = {"": high, " in a cluster": cluster_limit}
    capped = " and ".join(f"{amount(cap)}{where}" for where, cap in caps.items() if cap is not None)
    uses_cap = method != "none" and (side == 1 or method == "moments")
    limits = capped if uses_cap else ""
    if method == "none":
        sentence = f"No limit is stated of how much predictions are {words}: {bounds.note}"
    else:
        sentence = f"Predictions are not {words} by more than {_amount(bounds.upper, table, tolerance)} "
        proved = "proved" if method in _PROVED else "asymptotic"
        if limits:
            relies = f"for outcomes of at most {limits}"
        elif near is None:
            relies = "without a limit of outcomes"
        elif near:
            relies = f"for outcomes of at least {amount(near)}"
        else:
            relies = "whatever the size of outcomes"
        sentence += f"({sure}, {proved}, {relies}).{bounds.note}"
    if bounds.lower > 0.0:
        relies = f", for outcomes of at most {capped}" if capped and not limits else ""
        sentence += f" They are {words} by at least {_amount(bounds.lower, table, tolerance, lower=True)} "
        sentence += f"({sure}{relies})."
    return Side(
        estimate=bounds.estimate,
        upper=bounds.upper,
        lower=bounds.lower,
        cap=high if uses_cap else None,
        method=method,
        proved=method in _PROVED,
        verdict=mean_verdict(bounds.upper, bounds.lower, tolerance, extrapolated=method == EXTRAPOLATED),
        sentence=sentence,
    )


def mean_verdict(upper: float, lower: float, tolerance: float | None, *, extrapolated: bool) -> str | None:
    """Verdict on a tolerance, if there is one."""
    if tolerance is None:
        return None
    return "refuted" if lower > tolerance else "certified" if upper <= tolerance and not extrapolated else "undecided"


def mean_claim(
    table: OutcomeTable, confidence_level: float, sides: Sequence[Side], tolerance: float | None, direction: str
) -> str:
    """Say what holds of the worse of some sides, or of the one in a direction."""
    bound, methods = max(side.upper for side in sides), {side.method for side in sides}
    which = "of both sides together" if direction == "either" else f"of predictions that are {direction}"
    if bound == math.inf:
        return f"No limit is stated of the mean calibration error: {which} there is none."
    most = _amount(bound, table, tolerance)
    limited = "" if direction == "either" else f"as far as they are {direction}, "
    asymptotic = " (asymptotic)" if methods & {"asymptotic", EXTRAPOLATED} else ""
    sure = table.sampling.sure(confidence_level, asymptotic)
    limited += "if the largest outcomes were seen, " if EXTRAPOLATED in methods else ""
    return f"{sure}, {limited}the mean calibration error of these predictions is at most {most}."


def _amount(value: float, table: OutcomeTable, tolerance: float | None, *, lower: bool = False) -> str:
    """Write a bound with its unit, rounded to the safe side."""
    write = share if table.relative_to in SHARES else significant
    unit = unit_of_error(table.relative_to, table.weighting)
    return f"{(write_lower if lower else write_upper)(value, tolerance, write=write)} {unit}"


def unit_of_error(relative_to: str, weighting: str) -> str:
    """Name the unit in which an error is told."""
    unit = _PER[relative_to]
    return unit.replace("exposure", "weight") if weighting == "sample_weight" else unit
