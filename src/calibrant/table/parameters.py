"""Parameters in their range, or an error that says what to choose."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from calibrant.errors import ArgumentError

Direction: TypeAlias = Literal["either", "too low", "too high"]  # of predictions, beside what is observed
BoundMethod: TypeAlias = Literal["default", "asymptotic", "anytime"]  # see `calibrant.certificates.certify`
SIDES = {"either": 0, "too low": 1, "too high": -1}


def check_between(
    name: str, value: float, low: float, high: float, *, closed: str = "neither", remedy: str | None = None
) -> float:
    """Return `value` as a float if it is a number between `low` and `high`, else raise an `ArgumentError`.

    `closed` says which ends belong to the range: "neither", "left", "right" or "both".
    """
    left, right = ("[" if closed in ("left", "both") else "("), ("]" if closed in ("right", "both") else ")")
    advice = remedy or f"choose a `{name}` in that range"
    if isinstance(value, (bool, str, bytes)) or not is_number(value):
        raise ArgumentError(f"`{name}` to be a number in {left}{low:g}, {high:g}{right}", repr(value), advice)
    number = float(value)
    above = number >= low if closed in ("left", "both") else number > low
    below = number <= high if closed in ("right", "both") else number < high
    if not (above and below):
        raise ArgumentError(f"`{name}` in {left}{low:g}, {high:g}{right}", f"{number:g}", advice)
    return number


def check_choice(name: str, value: Any, choices: tuple[str, ...], remedy: str = "check the spelling") -> str:
    """Return `value` if it is one of `choices`, else raise an `ArgumentError` that lists them."""
    if not isinstance(value, str) or value not in choices:
        raise ArgumentError(f"`{name}` to be one of {', '.join(map(repr, choices))}", repr(value), remedy)
    return str(value)


def check_flag(name: str, value: Any) -> None:
    """Raise an `ArgumentError` if `value` is neither True nor False."""
    if not isinstance(value, bool):
        raise ArgumentError(f"`{name}` to be True or False", repr(value), f"leave `{name}` out, or pass True")


def check_method(value: Any, *, of: str = "", instead: str = "fix it before you look") -> str:
    """Return the name of a bound of `calibrant.certificates.certify`, else raise an `ArgumentError`.

    Bounds `of` other rows than 0/1 ones that count alike hold at one number of rows.
    """
    remedy = "check the spelling; the widths of Hoeffding and of uniform convergence are in calibrant.papers"
    if of and value == "anytime":
        remedy = f"bounds of {of} hold at one number of rows: leave `method` out, and {instead}"
        return check_choice("method", value, ("default", "asymptotic"), remedy)
    return check_choice("method", value, get_args(BoundMethod), remedy)


def check_count(name: str, value: Any, least: int, remedy: str) -> int:
    """Return `value` as an int if it is a whole number of at least `least`, else raise an `ArgumentError`."""
    whole = not isinstance(value, (bool, str, bytes)) and is_number(value) and float(value).is_integer()
    if not whole or int(value) < least:
        raise ArgumentError(f"`{name}` to be a whole number, at least {least}", repr(value), remedy)
    return int(value)


def check_random_state(value: Any) -> None:
    """Raise an `ArgumentError` if `numpy.random.default_rng` makes no generator of `value`; nothing is drawn."""
    try:
        np.random.default_rng(value)
    except (TypeError, ValueError):
        expected = "`random_state` to be a whole number that is not negative, or a numpy.random.Generator"
        raise ArgumentError(expected, repr(value), "leave it out for the seed 0") from None


def check_rows(n: float) -> float:
    """Return a number of rows as a float if it is finite and at least 1."""
    return check_between("n", n, 1.0, math.inf, closed="left", remedy="pass the number of independent rows")


def check_width(n: float, delta: float, brier: float | None = None) -> None:
    """Check what the width of a bound is a function of: rows, probability of failure and perhaps a Brier score."""
    check_rows(n)
    if brier is not None:
        check_between("brier", brier, 0.0, 1.0, closed="both")
    check_between("delta", delta, 0.0, 1.0)


def is_number(value: Any) -> bool:
    """Whether a value can be read as a float; whole numbers beyond its range cannot."""
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def failure_probability(confidence_level: float) -> float:
    """Check a confidence level and return one minus it, rounded once and below 1.

    That is 0.05 for 0.95, where ``1 - 0.95`` is not 0.05.
    """
    remedy = "it is the probability with which a statement holds, such as 0.95"
    level = check_between("confidence_level", confidence_level, 0.0, 1.0, remedy=remedy)
    return min(float(1 - Decimal(repr(level))), math.nextafter(1.0, 0.0))
