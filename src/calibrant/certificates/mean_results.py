"""What a certificate of predicted means says, on each side, and in which words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from calibrant.table.numbers import amount, given, share, significant, write_lower, write_upper
from calibrant.table.outcome_table import OutcomeTable
from calibrant.table.results import Result
from calibrant.table.statements import Statement

_PER = {
    "predicted": "of the predicted total",
    "observed": "of the observed total",
    "exposure": "per unit of exposure",
    "rows": "per row",
}
_SHARES = ("predicted", "observed")
_WORDS = {1: "too low", -1: "too high"}


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
    method : {"betting", "moments", "asymptotic", "none"}
        How the upper bound was made.
    proved : bool
        Whether the upper bound holds for every number of rows and every distribution within the limits of outcomes.
    verdict : {"certified", "refuted", "undecided"} or None
        On the tolerance, by the bounds of this side.
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
        above it.
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
        If undecided: about how many rows a decision would take, were the true error what it seems.
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
        lines = [self.claim, self.too_low.sentence, self.too_high.sentence]
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
    table: OutcomeTable, side: int, bounds: SideBounds, tolerance: float | None, cluster_limit: float | None
) -> Side:
    """Say what the bounds of a side, 1 for predictions that are too low or -1, are, and what they rely on."""
    low, high = table.outcome_limits
    near = high if side == 1 else low
    method, words = bounds.method, _WORDS[side]
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
        proved = "asymptotic" if method == "asymptotic" else "proved"
        if limits:
            relies = f"for outcomes of at most {limits}"
        elif near is None:
            relies = "without a limit of outcomes"
        elif near:
            relies = f"for outcomes of at least {amount(near)}"
        else:
            relies = "whatever the size of outcomes"
        sentence += f"({proved}, {relies}).{bounds.note}"
    if bounds.lower > 0.0:
        relies = f", for outcomes of at most {capped}" if capped and not limits else ""
        sentence += f" They are {words} by at least {_amount(bounds.lower, table, tolerance, lower=True)}{relies}."
    return Side(
        estimate=bounds.estimate,
        upper=bounds.upper,
        lower=bounds.lower,
        cap=high if uses_cap else None,
        method=method,
        proved=method in ("betting", "moments"),
        verdict=mean_verdict(bounds.upper, bounds.lower, tolerance),
        sentence=sentence,
    )


def mean_verdict(upper: float, lower: float, tolerance: float | None) -> str | None:
    """Verdict on a tolerance, if there is one."""
    if tolerance is None:
        return None
    return "refuted" if lower > tolerance else "certified" if upper <= tolerance else "undecided"


def mean_claim(
    table: OutcomeTable, confidence_level: float, bound: float, tolerance: float | None, direction: str
) -> str:
    """Say what holds of the worse side, or of the one in a direction."""
    which = "of both sides together" if direction == "either" else f"of predictions that are {direction}"
    if bound == math.inf:
        return f"No limit is stated of the mean calibration error: {which} there is none."
    most = _amount(bound, table, tolerance)
    limited = "" if direction == "either" else f"as far as they are {direction}, "
    sure = table.sampling.sure(confidence_level)
    return f"{sure}, {limited}the mean calibration error of these predictions is at most {most}."


def _amount(value: float, table: OutcomeTable, tolerance: float | None, *, lower: bool = False) -> str:
    """Write a bound with its unit, rounded to the safe side."""
    write = share if table.relative_to in _SHARES else significant
    unit = _PER[table.relative_to]
    if table.weighting == "sample_weight":
        unit = unit.replace("exposure", "weight")
    return f"{(write_lower if lower else write_upper)(value, tolerance, write=write)} {unit}"
