"""Where dialects of SQL differ in writing numbers, names and functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

__all__ = ["DIALECTS", "Dialect"]


@dataclass(frozen=True)
class Dialect:
    """How one SQL engine writes things."""

    double: str  # type of 64-bit floating point numbers
    literal: Callable[[float], str]  # writes a float so that the engine reads the same one
    quote: Callable[[str], str]  # writes the name of a column
    least: str = "LEAST"  # function that returns the smaller of two numbers
    greatest: str = "GREATEST"  # and the larger
    # Condition on ``{operand}`` besides ``{score} BETWEEN 0 AND 1``, for engines that turn text into 0.
    guard: str = ""
    underflow_raises: bool = False  # whether a product too small for a float is an error, not 0


def _exponent(value: float) -> str:
    """Write an exponent, without which 0.5 is a decimal number."""
    text = repr(value)
    return text if "e" in text else f"{text}e0"


def _ratio(value: float) -> str:
    """Write what decimals may not say exactly as a quotient of whole numbers.

    SQLite guarantees 15 digits, and 3.40 reads about one in 200 small floats as a neighbour. Whole numbers below 2**53
    and powers of two are exact in any case.
    """
    text = repr(value)
    if len(text) <= 15 and Fraction(text) == Fraction(value):
        return text
    mantissa, exponent = math.frexp(value)
    text, exponent = f"{int(mantissa * 2.0**53)}", exponent - 53
    while exponent != 0:
        power = min(abs(exponent), 52)
        text += f" {'*' if exponent > 0 else '/'} {2**power}.0"
        exponent -= int(math.copysign(power, exponent))
    return f"({text})"


def _double_quotes(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _backticks(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _escaped_backticks(name: str) -> str:
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"


DIALECTS = {
    "duckdb": Dialect("DOUBLE", _exponent, _double_quotes),
    "postgresql": Dialect(
        "DOUBLE PRECISION", lambda value: f"float8 '{value!r}'", _double_quotes, underflow_raises=True
    ),
    # A name in double quotes that is no column would be taken for a text.
    "sqlite": Dialect("REAL", _ratio, _backticks, "MIN", "MAX", guard="typeof({operand}) IN ('real', 'integer')"),
    "spark": Dialect("DOUBLE", lambda value: f"{value!r}D", _backticks),
    "bigquery": Dialect("FLOAT64", repr, _escaped_backticks),
}
