"""Maps of several classes as an SQL query, in steps: an expression could not name what it uses several times."""

from __future__ import annotations

from collections.abc import Sequence

from calibrant.errors import ArgumentError
from calibrant.export.class_writer import write_classes
from calibrant.export.layouts import check_fitted
from calibrant.export.sql import DIALECTS, Dialect, DialectName, SqlWriter
from calibrant.fits.class_pool import MulticlassAuto
from calibrant.table.class_checks import tolerance
from calibrant.table.parameters import check_choice

_MOST = 50  # classes: some engines have no more than 1,600 columns, of which a class takes about twenty


def classes_to_sql(
    calibrator: MulticlassAuto,
    columns: Sequence[str],
    *,
    table: str,
    keep: Sequence[str] = (),
    dialect: DialectName = "duckdb",
) -> str:
    """Return an SQL query that maps columns of the scores of several classes as `predict` does.

    Parameters
    ----------
    calibrator : MulticlassAutoCalibrator
        Fitted, of at most 50 classes.
    columns : sequence of str
        Names of the columns of scores, in the order of `classes_`; they are quoted.
    table : str
        Name of the table, as it is written in a query: it is not quoted, so that it may have a schema.
    keep : sequence of str
        Names of other columns to return, such as a key.
    dialect : {"duckdb", "postgresql", "sqlite", "spark", "bigquery"}
        Dialect of SQL.

    Returns
    -------
    str
        A SELECT of the columns in `keep`, and of the probability of each class, as "calibrated" and the name of the
        class. They are NULL where scores are, and where they do not add up to 1 as in `ClassScores`.

    Raises
    ------
    ArgumentError
        If the number of columns is not that of the classes, there are more than 50, or the dialect is unknown.

    Notes
    -----
    Agrees with `predict` to about 1e-12: LN and EXP differ between engines in the last digits.

    Examples
    --------
    >>> from calibrant import MulticlassAutoCalibrator
    >>> from calibrant.export import classes_to_sql
    >>> fitted = MulticlassAutoCalibrator().fit([[0.5, 0.3, 0.2]] * 3, [0, 1, 2])
    >>> print(classes_to_sql(fitted, ["p0", "p1", "p2"], table="scores", keep=["id"])[:29])
    WITH calibrant_0 AS MATERIALI
    """
    check_choice("dialect", dialect, tuple(DIALECTS))
    check_fitted(calibrator)
    n_classes, n_columns = len(calibrator.classes_), len(columns)
    if n_classes > _MOST:
        raise ArgumentError(f"at most {_MOST} classes in SQL", f"{n_classes}", "write the map as Python or ONNX")
    if isinstance(columns, str) or n_columns != n_classes:
        expected = f"the names of {n_classes} columns of scores, in the order of the classes"
        raise ArgumentError(expected, repr(columns), "name the column of each class")
    steps = _Steps(DIALECTS[dialect])
    scores = steps.checked(columns, table, keep)
    quote = steps.dialect.quote
    mapped = zip(calibrator.classes_, write_classes(steps, calibrator, scores), strict=True)
    results = [
        f"CASE WHEN {scores[0]} IS NOT NULL THEN {value} END AS {quote(f'calibrated {of}')}" for of, value in mapped
    ]
    return f"WITH {', '.join(steps.steps)} SELECT {', '.join([*map(quote, keep), *results])} FROM {steps.last}"


class _Steps(SqlWriter):
    """Writes values that are used several times as columns of subqueries, each of which has those of the one before."""

    def __init__(self, dialect: Dialect) -> None:
        super().__init__(dialect, "")
        self.steps: list[str] = []

    @property
    def last(self) -> str:
        """The name of the last subquery."""
        return f"calibrant_{len(self.steps) - 1}"

    def checked(self, columns: Sequence[str], table: str, keep: Sequence[str]) -> list[str]:
        """Write the scores over their sum, NULL where they are no probabilities of all classes."""
        spoken, names = self.dialect, range(len(columns))
        operands = [spoken.quote(column) for column in columns]
        given = [f"CAST({operand} AS {spoken.double}) AS given_{k}" for k, operand in zip(names, operands, strict=True)]
        guards = [spoken.guard.format(operand=operand) for operand in operands if spoken.guard] or ["1 = 1"]
        given.append(f"CASE WHEN {' AND '.join(guards)} THEN 1 ELSE 0 END AS are_numbers")
        self._step([*map(spoken.quote, keep), *given], table)
        (total,) = self.together("sum", [self.sum([f"given_{k}" for k in names])])
        zero, one, most = map(self.literal, (0.0, 1.0, tolerance(len(columns))))
        each = " AND ".join(f"given_{k} >= {zero}" for k in names)
        fit = f"are_numbers = 1 AND {each} AND ABS({total} - {one}) <= {most}"
        return self.together("score", [f"CASE WHEN {fit} THEN given_{k} / {total} END" for k in names])

    def together(self, name: str, values: Sequence[str]) -> list[str]:
        names = [f"{name}_{len(self.steps)}_{k}" for k in range(len(values))]
        columns = [f"{value} AS {each}" for value, each in zip(values, names, strict=True)]
        self._step(["*", *columns], self.last)
        return names

    def _step(self, columns: Sequence[str], table: str) -> None:
        materialized = self.dialect.materialized
        self.steps.append(f"calibrant_{len(self.steps)} AS {materialized}(SELECT {', '.join(columns)} FROM {table})")
