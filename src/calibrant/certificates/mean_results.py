"""What a certificate of predicted means says, on each side, and in which words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from calibrant.certificates.part_table import verdict_within
from calibrant.certificates.results import Side
from calibrant.table.numbers import amount, confidence, share, significant, write_lower, write_upper
from calibrant.table.outcome_table import OutcomeTable

_PER = {
    "predicted": "of the predicted total",
    "observed": "of the observed total",
    "exposure": "per unit of exposure",
    "rows": "per row",
}
SHARES = ("predicted", "observed")
REFERENCES = ("gao2017", "waudbysmith2024")
_WORDS = {1: "too low", -1: "too high"}
_PROVED, EXTRAPOLATED = ("betting", "moments"), "extrapolated"


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
    low, high = table.limits
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
        verdict=verdict_within(bounds.lower, math.inf if method == EXTRAPOLATED else bounds.upper, tolerance) or None,
        sentence=sentence,
    )


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
