"""Does a measured number agree with a published one, and which difference would have been seen?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
from scipy.special import ndtri

from reproductions.item import Number

__all__ = ["KINDS", "LEAST", "Comparison", "Joint", "compare", "family_limit", "joint_tests", "same_numbers", "scaled"]

FAMILY_LEVEL = 0.05  # chance that any of the comparisons of an item fails although all expectations are equal
KINDS = {
    "draws": "on the authors' draws, digit by digit",
    "exact": "without chance, digit by digit",
    "samples": "on the authors' samples, within the error of what is not shared",
    "chance": "independent draws, within Monte Carlo error",
    "range": "within the range that the source states",
    "chosen": "chosen to fit",
}
LEAST = 4  # comparisons of a metric that are tested together
_EXACT = 1e-9


@dataclass(frozen=True)
class Comparison:
    """One quantity, theirs beside ours.

    Attributes
    ----------
    quantity : str
        Its name.
    theirs : str
        As published.
    ours : Number
        As measured.
    kind : str
        One of `KINDS`.
    difference : float
        Ours minus theirs. NaN for ranges.
    tolerance : float
        The largest difference that counts as agreement: half a unit of the last printed digit, or the limit for all
        comparisons with chance in them of the item together, times the standard error of the difference. For a range,
        two standard errors beyond its ends.
    z : float
        Difference in standard errors of the difference. NaN without chance.
    agrees : bool
        Whether the difference is within the tolerance.
    repeats : bool
        Whether it is another printing of a number that is counted already.
    smallest : float
        Smallest relative difference from the published number that would have been flagged; infinite where none would.
    """

    quantity: str
    theirs: str
    ours: Number
    kind: str
    difference: float
    tolerance: float
    z: float
    agrees: bool
    repeats: bool
    smallest: float


@dataclass(frozen=True)
class Joint:
    """All comparisons of one metric together.

    Attributes
    ----------
    metric : str
        Last part of the names of the quantities.
    n : int
        How many.
    mean_z : float
        Mean of their differences in standard errors.
    above : int
        How many of ours are larger than theirs.
    limit : float
        Largest ``|mean_z|`` that chance explains, for this metric alone: one in twenty fails by chance at most.
    agrees : bool
        Whether it is within.
    """

    metric: str
    n: int
    mean_z: float
    above: int
    limit: float
    agrees: bool


def compare(theirs: pd.DataFrame, ours: Mapping[str, Number]) -> list[Comparison]:
    """Compare every published quantity with the measured ones.

    A quantity q may be measured as ``q``, from draws of our own or without chance, and as ``q, their draws``, from the
    random numbers of the authors, then its published standard deviation with ``q, their draws, deviation``. If
    ``q, error on the same samples`` is known, q was measured on the authors' samples, and only what is not shared
    counts as chance. A published number without a standard deviation from so many runs takes that of a single run from
    ``q, standard deviation of one run``.

    Raises
    ------
    KeyError
        If a published quantity was not measured.
    """
    rows = theirs.to_dict("records")
    missing = [row["quantity"] for row in rows if row["quantity"] not in ours and _drawn(row) not in ours]
    if missing:
        raise KeyError(f"published but not measured: {missing}")
    kinds = [_kind(row, ours) if row["quantity"] in ours else "" for row in rows]
    limits = {
        kind: family_limit(sum(k == kind and not _repeats(row) for k, row in zip(kinds, rows, strict=True)))
        for kind in ("samples", "chance", "chosen")
    }
    found = []
    for row, kind in zip(rows, kinds, strict=True):
        if kind:
            found.append(_one(row, ours, kind, limits.get(kind, math.inf)))
        for column, name in (("value", _drawn(row)), ("sd", f"{_drawn(row)}, deviation")):
            if name in ours:
                found.append(_digits(row, row[column], ours[name], "draws", name))
    return found


def _drawn(row: Mapping[str, object]) -> str:
    return f"{row['quantity']}, their draws"


def _repeats(row: Mapping[str, object]) -> bool:
    return isinstance(row["repeats"], str)


def _kind(row: Mapping[str, object], ours: Mapping[str, Number]) -> str:
    if isinstance(row["kind"], str):
        return row["kind"]
    if math.isnan(row["value"]):  # type: ignore[arg-type]
        return "range"
    if f"{row['quantity']}, error on the same samples" in ours:
        return "samples"
    chance = ours[str(row["quantity"])].standard_error > 0.0 or row["sd"] > 0.0  # type: ignore[operator]
    return "chance" if chance else "exact"


def family_limit(n_comparisons: int) -> float:
    """Return the largest ``|z|`` that chance explains among so many comparisons (Šidák 1967)."""
    if n_comparisons == 0:
        return math.inf
    each = -math.expm1(math.log1p(-FAMILY_LEVEL) / n_comparisons)
    return float(-ndtri(each / 2.0))


def _one(row: Mapping[str, float], ours: Mapping[str, Number], kind: str, limit: float) -> Comparison:
    quantity = str(row["quantity"])
    number = ours[quantity]
    if kind == "range":
        low, high, margin = float(row["low"]), float(row["high"]), 2.0 * number.standard_error + _EXACT
        inside = low - margin <= number.value <= high + margin
        shown = f"{low:g} to {high:g}" if math.isfinite(high) else f"above {low:g}"
        return Comparison(quantity, shown, number, kind, math.nan, margin, math.nan, inside, _repeats(row), math.inf)
    if kind in ("exact", "draws"):
        return _digits(row, row["value"], number, kind, quantity)
    digits, rounding = int(row["digits"]), 10.0 ** (-2 * row["digits"]) / 12.0
    shown = f"{row['value']:.{digits}f}"
    if kind == "samples":
        variance = ours[f"{quantity}, error on the same samples"].value ** 2
    else:
        single = ours.get(f"{quantity}, standard deviation of one run")
        sd = row["sd"] if not math.isnan(row["sd"]) else single.value if single is not None else 0.0
        runs = row["runs"] if row["runs"] >= 1 else 1.0
        variance = sd**2 / runs + number.standard_error**2
    if not math.isnan(row["sd"]):
        shown += f" ({row['sd']:.{digits}f})"
    error = math.sqrt(variance + rounding)
    return _comparison(row, shown, number, kind, quantity, tolerance=limit * error, error=error)


def _digits(row: Mapping[str, float], published: float, ours: Number, kind: str, quantity: str) -> Comparison:
    """Compare in every printed digit; a number without digits is exact as it stands."""
    if math.isnan(row["digits"]):
        shown, tolerance = f"{published:g}", _EXACT * max(1.0, abs(published))
    else:
        shown, tolerance = f"{published:.{int(row['digits'])}f}", 0.5 * 10.0 ** -row["digits"] + _EXACT
    return _comparison(
        dict(row) | {"value": published}, shown, ours, kind, quantity, tolerance=tolerance, error=math.nan
    )


def _comparison(
    row: Mapping[str, float], shown: str, ours: Number, kind: str, quantity: str, *, tolerance: float, error: float
) -> Comparison:
    difference = ours.value - row["value"]
    smallest = tolerance / abs(row["value"]) if row["value"] != 0.0 else math.inf
    agrees = abs(difference) <= tolerance
    return Comparison(
        quantity, shown, ours, kind, difference, tolerance, difference / error, agrees, _repeats(row), smallest
    )


def joint_tests(comparisons: Sequence[Comparison]) -> list[Joint]:
    """Test all comparisons of each metric together: small differences that all go one way are found.

    The mean of differences with variance 1 has a standard deviation of at most 1, however they depend on each other.
    """
    groups: dict[str, list[float]] = {}
    for c in comparisons:
        if c.kind in ("chance", "samples") and not c.repeats:
            groups.setdefault(c.quantity.rsplit(", ", 1)[-1], []).append(c.z)
    groups = {metric: found for metric, found in groups.items() if len(found) >= LEAST}
    limit, joint = family_limit(1), []
    for metric, found in groups.items():
        mean = sum(found) / len(found)
        joint.append(Joint(metric, len(found), mean, sum(z > 0 for z in found), limit, abs(mean) <= limit))
    return joint


def scaled(theirs: pd.DataFrame, factor: float) -> pd.DataFrame:
    """Return the published numbers times a factor, to see whether the comparisons notice."""
    return theirs.assign(**{column: theirs[column] * factor for column in ("value", "low", "high")})


def same_numbers(stored: Mapping[str, Number], again: Mapping[str, Number]) -> list[str]:
    """Return what differs between the stored full form and another run by more than chance and rounding explain.

    Parameters
    ----------
    stored, again : mapping from str to Number
        The other run may have fewer quantities.

    Returns
    -------
    list of str
        A sentence for each quantity that differs, or that is not stored at all.
    """
    limit = family_limit(len(again)) + 1.0  # a step further out, since this runs again and again
    wrong = []
    for quantity, new in again.items():
        old = stored.get(quantity)
        if old is None:
            wrong.append(f"{quantity}: not among the stored numbers")
            continue
        margin = limit * math.hypot(old.standard_error, new.standard_error) + 1e-6 * max(1.0, abs(old.value))
        if not abs(new.value - old.value) <= margin:
            wrong.append(f"{quantity}: stored {old.value:.6g}, found {new.value:.6g}, margin {margin:.2g}")
    return wrong
