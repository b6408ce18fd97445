"""Do two measurements agree? Both have errors, and many are compared at once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd
from scipy.special import ndtri

from reproductions.item import Number

__all__ = ["Comparison", "compare", "family_limit", "same_numbers"]

FAMILY_LEVEL = 0.05  # chance that any of the comparisons of an item fails although all expectations are equal


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
    kind : {"measured", "exact", "range"}
        "exact" where neither side has chance in it: arithmetic, statements, and runs on the same draws.
    z : float
        Difference, ours minus theirs, in standard errors of the difference; of both samples and of the rounding of the
        published number. NaN unless measured.
    agrees : bool
        Whether `z` is within the limit for all measured numbers of the item together; whether exact numbers are equal
        in every printed digit; whether ours is in the range, give or take two standard errors.
    """

    quantity: str
    theirs: str
    ours: Number
    kind: str
    z: float
    agrees: bool


def compare(theirs: pd.DataFrame, ours: Mapping[str, Number]) -> list[Comparison]:
    """Compare every published quantity with the measured one.

    Raises
    ------
    KeyError
        If a published quantity was not measured.
    """
    missing = [quantity for quantity in theirs["quantity"] if quantity not in ours]
    if missing:
        raise KeyError(f"published but not measured: {missing}")
    rows = theirs.to_dict("records")
    kinds = [_kind(row, ours[row["quantity"]]) for row in rows]
    limit = family_limit(kinds.count("measured"))
    return [_one(row, ours[row["quantity"]], kind, limit) for row, kind in zip(rows, kinds, strict=True)]


def _kind(row: Mapping[str, float], ours: Number) -> str:
    if math.isnan(row["value"]):
        return "range"
    return "exact" if math.isnan(row["sd"]) and ours.standard_error == 0.0 else "measured"


def family_limit(n_comparisons: int) -> float:
    """Return the largest ``|z|`` that chance explains among so many comparisons (Šidák 1967)."""
    if n_comparisons == 0:
        return math.inf
    each = -math.expm1(math.log1p(-FAMILY_LEVEL) / n_comparisons)
    return float(-ndtri(each / 2.0))


def _one(row: Mapping[str, float], ours: Number, kind: str, limit: float) -> Comparison:
    quantity = str(row["quantity"])
    if kind == "range":
        low, high, margin = float(row["low"]), float(row["high"]), 2.0 * ours.standard_error
        inside = low - margin <= ours.value <= high + margin
        return Comparison(quantity, f"{low:g} to {high:g}", ours, kind, math.nan, inside)
    digits = int(row["digits"])
    shown = f"{row['value']:.{digits}f}"
    difference = ours.value - row["value"]
    if kind == "exact":
        equal = abs(difference) <= 0.5000001 * 10.0**-digits
        return Comparison(quantity, shown, ours, kind, math.nan, equal)
    sampling = 0.0
    if not math.isnan(row["sd"]):
        shown += f" ({row['sd']:.{digits}f})"
        sampling = row["sd"] ** 2 / row["runs"]
    rounding = 10.0 ** (-2 * digits) / 12.0
    z = difference / math.sqrt(sampling + rounding + ours.standard_error**2)
    return Comparison(quantity, shown, ours, kind, z, abs(z) <= limit)


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
