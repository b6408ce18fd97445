"""A fitted calibrator as one SQL expression."""

from __future__ import annotations

import math
from typing import Literal

from calibrant.calibrators import IsotonicCalibrator
from calibrant.core.parameters import check_choice

__all__ = ["expression", "to_sql"]


def to_sql(calibrator: IsotonicCalibrator, column: str, *, dialect: Literal["duckdb"] = "duckdb") -> str:
    r"""Return an SQL expression that maps a column of scores as `predict` does.

    Parameters
    ----------
    calibrator : IsotonicCalibrator
        Fitted.
    column : str
        Name of the column of scores; it is quoted.
    dialect : {"duckdb"}
        Dialect of SQL.

    Returns
    -------
    str
        A balanced tree of CASE expressions, so that each row costs a number of comparisons that grows with the
        logarithm of the number of blocks. NULL stays NULL.

    Examples
    --------
    >>> from calibrant.calibrators import IsotonicCalibrator
    >>> from calibrant.export import to_sql
    >>> fitted = IsotonicCalibrator(interpolation="step", log_safe=False).fit([0.2, 0.7], [0, 1])
    >>> print(to_sql(fitted, "p").replace(" ELSE CASE", "\nELSE CASE"))
    CASE WHEN CAST("p" AS DOUBLE) IS NULL THEN NULL
    ELSE CASE WHEN CAST("p" AS DOUBLE) < 0.7e0 THEN 0.0e0 ELSE 1.0e0 END END
    """
    check_choice("dialect", dialect, ("duckdb",))
    return expression(calibrator, '"' + column.replace('"', '""') + '"')


def expression(calibrator: IsotonicCalibrator, operand: str) -> str:
    """Return the expression of `to_sql` for any SQL operand, such as a name that is quoted already."""
    score = f"CAST({operand} AS DOUBLE)"
    if calibrator.interpolation == "step":
        starts = calibrator.fit_.low[1:].tolist()
        pieces = [_literal(value) for value in calibrator.fit_.value.tolist()]
    else:
        x, z = (knots.tolist() for knots in calibrator.fit_.knots())
        starts = x
        pieces = [_literal(z[0])]
        for j in range(len(x) - 1):
            if z[j] == z[j + 1]:
                pieces.append(_literal(z[j]))
            else:
                slope = (z[j + 1] - z[j]) / (x[j + 1] - x[j])
                line = f"{_literal(slope)} * ({score} - {_literal(x[j])}) + {_literal(z[j])}"
                pieces.append(line if math.isfinite(slope) else _literal(z[j]))
        pieces.append(_literal(z[-1]))
    return f"CASE WHEN {score} IS NULL THEN NULL ELSE {_tree(score, starts, pieces)} END"


def _tree(score: str, starts: list[float], pieces: list[str]) -> str:
    """Choose among pieces, of which the i-th begins at ``starts[i - 1]``, by halving."""
    if not starts:
        return pieces[0]
    middle = len(starts) // 2
    left = _tree(score, starts[:middle], pieces[: middle + 1])
    right = _tree(score, starts[middle + 1 :], pieces[middle + 1 :])
    return f"CASE WHEN {score} < {_literal(starts[middle])} THEN {left} ELSE {right} END"


def _literal(value: float) -> str:
    """Write a float so that SQL reads the same double, not a decimal number."""
    text = repr(value)
    return text if "e" in text else f"{text}e0"
