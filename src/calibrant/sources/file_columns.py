"""Columns of a source as numbers or text, in SQL: what a file that knows no types holds is told by its values."""

from __future__ import annotations

from calibrant.errors import DataError
from calibrant.segments.values import describe_dates
from calibrant.sources.protocol import Columns, EngineColumn
from calibrant.sources.source import Source


def as_number(column: str, kind: str, *, words: bool = False) -> str:
    """Return a column, of a kind that `Source.kind` tells, as DOUBLE.

    Casting does not fail: text that is no number becomes NULL. float32 becomes float64 before anything else. `words`
    makes numbers of "true" and "false".
    """
    if kind == "number":
        return f"CAST({column} AS DOUBLE)"
    if kind == "boolean":
        return f"CAST(CAST({column} AS TINYINT) AS DOUBLE)"
    # A bare TRY_CAST is moved by DuckDB 2.0.0 into its CSV reader, where it is no longer allowed to fail.
    number = f"TRY_CAST(nullif(CAST({column} AS VARCHAR), '') AS DOUBLE)"
    if not words:
        return number
    word = f"lower(trim(CAST({column} AS VARCHAR)))"
    return f"coalesce({number}, CASE {word} WHEN 'true' THEN 1.0::DOUBLE WHEN 'false' THEN 0.0::DOUBLE END)"


def as_label(source: Source, columns: Columns) -> str:
    """Return labels, of which some may be missing: as text where one of them is named, else as numbers, if they are."""
    column, kind = source.column(columns.label), source.kind(columns.label)
    if columns.pos_label is not None:
        return f"nullif(CAST({column} AS VARCHAR), '')"
    number = as_number(column, kind, words=True)
    strange = source.rows(
        f"SELECT CAST({column} AS VARCHAR) FROM ({source.sql}) "
        f"WHERE nullif(CAST({column} AS VARCHAR), '') IS NOT NULL AND {number} IS NULL LIMIT 1"
    )
    if strange:
        remedy = "name the outcome that counts as 1 with `pos_label`, and leave labels that are not known empty"
        raise DataError("labels 0 and 1", repr(strange[0][0]), remedy)
    return number


def as_number_or_text(source: Source, name: str, type_: str) -> str:
    """Return a column as numbers of a type if all of its values are, as text otherwise."""
    written = f"nullif(trim(CAST({source.column(name)} AS VARCHAR)), '')"
    cast = f"TRY_CAST({written} AS {type_})"
    if type_ == "VARCHAR" or source.rows(f"SELECT count({written}) = count({cast}) FROM ({source.sql})")[0][0]:
        return cast
    return written


def segment_columns(source: Source, sql: str, columns: Columns) -> list[tuple[str, EngineColumn]]:
    """Return the columns that make segments, by0, by1 and so on of a SELECT, and what they are.

    They are numbers, booleans or text; text of which all is numbers or booleans is such.
    """
    return [_segment_column(source, sql, f"by{i}", name) for i, name in enumerate(columns.by)]


def _segment_column(source: Source, sql: str, key: str, name: str) -> tuple[str, EngineColumn]:
    kind = source.type_of(name)
    if kind.startswith(("DATE", "TIME", "INTERVAL")):
        raise describe_dates(name)
    as_float = EngineColumn(key, name, numeric=True, float_=True)
    if kind in ("HUGEINT", "UHUGEINT", "BIGNUM") or kind.startswith("DECIMAL"):
        return f"CAST({key} AS DOUBLE)", as_float
    if source.kind(name) == "number":
        return key, as_float._replace(float_=kind in ("FLOAT", "DOUBLE"))
    as_text = as_float._replace(numeric=False, float_=False)
    if source.kind(name) == "boolean":
        return key, as_text
    text = f"CAST({key} AS VARCHAR)"
    if source.typed:
        return text, as_text
    text = f"nullif({text}, '')"
    whole, number = f"TRY_CAST({text} AS BIGINT)", f"TRY_CAST({text} AS DOUBLE)"
    # TRY_CAST rounds 1.5 to a whole number.
    all_whole, all_numbers, all_truth = source.rows(
        f"SELECT bool_and(regexp_full_match({text}, '[+-]?[0-9]+') AND {whole} IS NOT NULL), "
        f"bool_and({number} IS NOT NULL), bool_and(lower({text}) IN ('false', 'true')) "
        f"FROM ({sql}) WHERE {text} IS NOT NULL"
    )[0]
    if all_whole:
        return whole, as_float._replace(float_=False)
    if all_truth:
        return f"CAST({text} AS BOOLEAN)", as_text
    return (number, as_float) if all_numbers else (text, as_text)
