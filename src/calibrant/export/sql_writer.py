"""Formulas in dialects of SQL."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from calibrant.export.formula import LEAST, MOST, Lines, Logistic, LogOdds, Mixture, Writer
from calibrant.sources.formats import quote_name, quote_text

__all__ = ["DIALECTS", "Dialect", "SqlWriter"]

# The exponential function stays a normal number up to the first, and does not matter to 1 beyond the second.
_LARGEST_EXPONENT = -math.log(LEAST)
_SMALLEST_EXPONENT = -40.0
# Where underflow is an error, probabilities are rounded up to this before a weight is put to them.
_WEIGHABLE = 2.0**-960


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
    nan: str = "isnan({operand})"  # whether a number is NaN; empty where none can be
    text: Callable[[str], str] = quote_text  # writes a text
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


def _backticks(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _escaped_backticks(name: str) -> str:
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"


def _escaped_text(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"


DIALECTS = {
    "duckdb": Dialect("DOUBLE", _exponent, quote_name),
    "postgresql": Dialect(
        "DOUBLE PRECISION",
        lambda value: f"float8 '{value!r}'",
        quote_name,
        nan="{operand} = float8 'NaN'",
        underflow_raises=True,
    ),
    # A name in double quotes that is no column would be taken for a text.
    "sqlite": Dialect(
        "REAL", _ratio, _backticks, "MIN", "MAX", guard="typeof({operand}) IN ('real', 'integer')", nan=""
    ),
    "spark": Dialect("DOUBLE", lambda value: f"{value!r}D", _backticks, text=_escaped_text),
    "bigquery": Dialect("FLOAT64", repr, _escaped_backticks, nan="IS_NAN({operand})", text=_escaped_text),
}


class SqlWriter(Writer):
    """Writes formulas of one score in one dialect."""

    def __init__(self, dialect: Dialect, score: str) -> None:
        self.dialect = dialect
        self.score = score
        self.literal = dialect.literal

    def lines(self, lines: Lines) -> str:
        """Choose a piece by a tree of CASE."""
        start = lines.start.tolist()
        pieces = [
            self.piece(*piece) for piece in zip([0.0, *start], lines.slope.tolist(), lines.value.tolist(), strict=True)
        ]
        return self.tree(start, pieces)

    def tree(self, start: list[float], pieces: list[str]) -> str:
        """Choose among pieces, of which the i-th begins at ``start[i - 1]``, by quarters; SQLite limits nesting."""
        if not start:
            return pieces[0]
        text, first = "CASE", 0
        for end in sorted({len(pieces) * quarter // 4 for quarter in (1, 2, 3)} - {0}):
            part = self.tree(start[first : end - 1], pieces[first:end])
            text += f" WHEN {self.score} < {self.literal(start[end - 1])} THEN {part}"
            first = end
        return f"{text} ELSE {self.tree(start[first:], pieces[first:])} END"

    def piece(self, start: float, slope: float, value: float) -> str:
        """Write one piece."""
        if slope == 0.0:
            return self.literal(value)
        line = f"{self.literal(slope)} * ({self.score} - {self.literal(start)}) + {self.literal(value)}"
        if self.dialect.underflow_raises and slope * math.ulp(start) == 0.0:
            # Up to the turn the product is too small for a float.
            turn = start + math.ldexp(1.0, -1074) / (2.0 * abs(slope))
            while slope * (turn - start) == 0.0:
                turn = math.nextafter(turn, math.inf)
            line = self.tree([turn], [self.literal(value), line])
        return line

    def logistic(self, logistic: Logistic) -> str:
        """Write a logistic map."""
        return self.curve(self.logit(logistic))

    def curve(self, logit: str) -> str:
        """Write ``1 / (1 + exp(-logit))``, with exponents that no engine refuses."""
        one = self.literal(1.0)
        exponent = self.least(self.greatest(f"-({logit})", _SMALLEST_EXPONENT), _LARGEST_EXPONENT)
        return self.least(f"{one} / ({one} + EXP({exponent}))", MOST)

    def mixture(self, mixture: Mixture) -> str:
        """Write a weighted mean."""
        terms = []
        for weight, part in mixture.parts:
            text = self.formula(part)
            text = self.greatest(text, _WEIGHABLE) if self.dialect.underflow_raises else f"({text})"
            terms.append(f"{self.literal(weight)} * {text}")
        return self.least(self.greatest(" + ".join(terms), LEAST), MOST)

    def log_odds(self, logit: LogOdds) -> str:
        """Write a sum of logarithms."""
        terms = []
        for term in logit.terms:
            argument = f"{self.literal(1.0)} - {self.score}" if term.of_rest else self.score
            logarithm = f"LN({self.greatest(argument, term.least)})"
            if term.most is not None:
                logarithm = self.least(logarithm, term.most)
            terms.append(f"{self.literal(term.coefficient)} * {logarithm}")
        return " + ".join([*terms, self.literal(logit.constant)])

    def least(self, text: str, limit: float) -> str:
        """Write the smaller of two numbers."""
        return f"{self.dialect.least}({text}, {self.literal(limit)})"

    def greatest(self, text: str, limit: float) -> str:
        """Write the larger of two numbers."""
        return f"{self.dialect.greatest}({text}, {self.literal(limit)})"
