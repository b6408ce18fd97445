"""A fitted calibrator as one SQL expression."""

from __future__ import annotations

from typing import Literal

from calibrant.errors import ArgumentError
from calibrant.export.layouts import Exported, formula_of
from calibrant.export.sql_writer import DIALECTS, SqlWriter
from calibrant.table.parameters import check_choice


def to_sql(
    calibrator: Exported,
    column: str,
    *,
    dialect: Literal["duckdb", "postgresql", "sqlite", "spark", "bigquery"] = "duckdb",
) -> str:
    r"""Return an SQL expression that maps a column of scores as `predict` does.

    Parameters
    ----------
    calibrator : Calibrator or SegmentCalibrator
        Fitted. The columns of segments keep the names that they had in the fit.
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
        If the dialect is unknown, the column has no name, or the calibrator cannot be exported.

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
    if not column or "\0" in column:
        raise ArgumentError("`column` to name the column of scores", repr(column), "pass its name, such as 'score'")
    spoken = DIALECTS[dialect]
    operand = spoken.quote(column)
    score = f"CAST({operand} AS {spoken.double})"
    guard = spoken.guard.format(operand=operand) + " AND " if spoken.guard else ""
    zero, one = spoken.literal(0.0), spoken.literal(1.0)
    formula = SqlWriter(spoken, score).formula(formula_of(calibrator))
    return f"CASE WHEN {guard}{score} BETWEEN {zero} AND {one} THEN {formula} END"
