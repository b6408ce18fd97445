"""A fitted calibrator as one SQL expression."""

from __future__ import annotations

import math
from typing import Literal

from calibrant.calibrators.base import Calibrator
from calibrant.export.dialects import DIALECTS, Dialect
from calibrant.export.fitted import formula_of
from calibrant.export.formula import LEAST, MOST, Lines, Logistic, LogOdds, Mixture
from calibrant.export.writer import Writer
from calibrant.table.parameters import check_choice

__all__ = ["expression", "to_sql"]

# The exponential function stays a normal number up to the first, and does not matter to 1 beyond the second.
_LARGEST_EXPONENT = -math.log(LEAST)
_SMALLEST_EXPONENT = -40.0
# Where underflow is an error, probabilities are rounded up to this before a weight is put to them.
_WEIGHABLE = 2.0**-960


def to_sql(
    calibrator: Calibrator,
    column: str,
    *,
    dialect: Literal["duckdb", "postgresql", "sqlite", "spark", "bigquery"] = "duckdb",
) -> str:
    r"""Return an SQL expression that maps a column of scores as `predict` does.

    Parameters
    ----------
    calibrator : Calibrator
        Fitted.
    column : str
        Name of the column of scores; it is quoted.
    dialect : {"duckdb", "postgresql", "sqlite", "spark", "bigquery"}
        Dialect of SQL.

    Returns
    -------
    str
        NULL stays NULL; NaN and numbers outside [0, 1], for which `predict` raises an error, become NULL too. In
        SQLite so does text.

    Raises
    ------
    ArgumentError
        If the dialect is unknown, or the calibrator cannot be exported.

    Notes
    -----
    Maps made of steps and lines are balanced trees of CASE expressions, so that each row costs a number of comparisons
    that grows with the logarithm of the number of pieces. Some thousands of pieces are no burden; SQLite takes seconds
    to read an expression of ten thousand. Numbers are written so that the engine reads the same 64-bit floats, and the
    arithmetic is that of `predict`: the result is the same float. Logistic maps call LN and EXP, whose last digits
    differ between systems: the result agrees to about 1e-15. SQLite has these two functions if it was built with
    ``SQLITE_ENABLE_MATH_FUNCTIONS``, as most are.

    Examples
    --------
    >>> from calibrant.calibrators import IsotonicCalibrator
    >>> from calibrant.export import to_sql
    >>> fitted = IsotonicCalibrator(interpolation="step", log_safe=False).fit([0.2, 0.7], [0, 1])
    >>> print(to_sql(fitted, "p").replace(" THEN CASE", "\nTHEN CASE"))
    CASE WHEN CAST("p" AS DOUBLE) BETWEEN 0.0e0 AND 1.0e0
    THEN CASE WHEN CAST("p" AS DOUBLE) < 0.7e0 THEN 0.0e0 ELSE 1.0e0 END END
    """
    check_choice("dialect", dialect, tuple(DIALECTS))
    return expression(calibrator, DIALECTS[dialect].quote(column), dialect=dialect)


def expression(calibrator: Calibrator, operand: str, *, dialect: str = "duckdb") -> str:
    """Return the expression of `to_sql` for any SQL operand, such as a name that is quoted already."""
    spoken = DIALECTS[dialect]
    score = f"CAST({operand} AS {spoken.double})"
    guard = spoken.guard.format(operand=operand) + " AND " if spoken.guard else ""
    zero, one = spoken.literal(0.0), spoken.literal(1.0)
    formula = _SqlWriter(spoken, score).formula(formula_of(calibrator))
    return f"CASE WHEN {guard}{score} BETWEEN {zero} AND {one} THEN {formula} END"


class _SqlWriter(Writer):
    """Writes formulas of one score in one dialect."""

    def __init__(self, dialect: Dialect, score: str) -> None:
        self.dialect = dialect
        self.score = score
        self.literal = dialect.literal

    def lines(self, lines: Lines) -> str:
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
        logit = self.log_odds(logistic.logit) if isinstance(logistic.logit, LogOdds) else self.lines(logistic.logit)
        one = self.literal(1.0)
        exponent = self.least(self.greatest(f"-({logit})", _SMALLEST_EXPONENT), _LARGEST_EXPONENT)
        return self.least(f"{one} / ({one} + EXP({exponent}))", MOST)

    def mixture(self, mixture: Mixture) -> str:
        terms = []
        for weight, part in mixture.parts:
            text = self.formula(part)
            text = self.greatest(text, _WEIGHABLE) if self.dialect.underflow_raises else f"({text})"
            terms.append(f"{self.literal(weight)} * {text}")
        return self.least(self.greatest(" + ".join(terms), LEAST), MOST)

    def log_odds(self, logit: LogOdds) -> str:
        terms = []
        for term in logit.terms:
            argument = f"{self.literal(1.0)} - {self.score}" if term.of_rest else self.score
            logarithm = f"LN({self.greatest(argument, term.least)})"
            if term.most is not None:
                logarithm = self.least(logarithm, term.most)
            terms.append(f"{self.literal(term.coefficient)} * {logarithm}")
        return " + ".join([*terms, self.literal(logit.constant)])

    def least(self, text: str, limit: float) -> str:
        return f"{self.dialect.least}({text}, {self.literal(limit)})"

    def greatest(self, text: str, limit: float) -> str:
        return f"{self.dialect.greatest}({text}, {self.literal(limit)})"
