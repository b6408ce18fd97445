"""Add a column of recalibrated probabilities to a file."""

from __future__ import annotations

import csv
import functools
import io
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from calibrant.atomic_write import check_writable, replacing
from calibrant.errors import ArgumentError, DataError, SourceError
from calibrant.export.formula import columns_of
from calibrant.export.layouts import formula_of
from calibrant.export.sql import predictions
from calibrant.export.writer import holds_text
from calibrant.fits.score_map import FittedMap
from calibrant.segments.columns import SegmentColumn
from calibrant.sources.columns import check_column
from calibrant.sources.connection import open_source
from calibrant.sources.formats import OBJECT, PathSpec, find_files, json_value, name_of, quote_name, quote_text
from calibrant.sources.query import Query
from calibrant.sources.source import Source, as_number, doing, gap_of
from calibrant.table.row_errors import REPAIR
from calibrant.table.rules import score_rules

if TYPE_CHECKING:
    import duckdb

# File ending -> format.
ENDINGS = {".csv": "CSV", ".tsv": "CSV", ".parquet": "Parquet", ".pq": "Parquet"}
ENDINGS |= dict.fromkeys((".jsonl", ".ndjson"), "JSON lines")
_NESTED = ("STRUCT", "MAP", "UNION")  # types that hold others, beside lists, which end in a bracket
_PLAIN = "FORMAT csv, HEADER false"
_LINES = f"{_PLAIN}, QUOTE '', ESCAPE '', DELIMITER '\x01'"  # text as it is; JSON has no such character


def apply_to_file(
    fitted: FittedMap,
    path: PathSpec | Query,
    output: str | PathLike[str],
    *,
    score: str,
    column: str = "calibrated",
    renamed: bool = False,
) -> int:
    """Copy a file with one more column, what `fitted.predict` gives, in bounded memory; return the number of rows.

    The order of the rows, the other columns and their names are kept; what a format cannot hold is refused. Logistic
    maps agree to about 1e-15. `path` may be "-" for standard input; a pattern must name one file; of a query all
    columns are copied. The ending of `output` chooses CSV, Parquet or JSON lines; it appears once it is complete.
    A model that remembers its column is applied to no other, unless that is said to be the same, `renamed`. Missing
    scores stay missing, as NaN is and the words that ``read_table(missing="drop")`` knows; one that is not in the
    domain of the map is a `DataError`. The file is read once, JSON before that for its keys, and once more for the
    message if a score is wrong.
    """
    target = Path(output)
    if target.suffix.lower() not in ENDINGS:
        ending = f"{target.suffix or 'none'} in {target.name}"
        raise SourceError(f"an output ending in {', '.join(ENDINGS)}", ending, "rename it")
    files = () if isinstance(path, Query) else find_files(path)
    if len(files) > 1:
        raise SourceError("one file, since one is written", f"{len(files)} in {name_of(files)}", "apply to each alone")
    check_writable(target, *files)
    with open_source(path) as source:
        source.found(score)
        _check_column(fitted, score, renamed=renamed)
        if not column or "\0" in column:
            raise ArgumentError("a name for the new column", repr(column), "leave `column` out for 'calibrated'")
        copy = copy_of(source, target.suffix.lower(), column)
        raw, kind = copy.value(score), source.kind(score)
        operand = f"CASE WHEN NOT {gap_of(raw, kind)} THEN {raw} END"
        number = as_number(operand, kind)
        columns = columns_of(formula_of(fitted))
        segments = {of.name: _as_segments(of, copy.value(of.name), source) for of in columns}
        source.keep_order()
        unused = _unused(source)
        with replacing(target) as draft, doing(f"Writing {target.name}"):

            def statement(keep: Callable[[str], str] | None) -> str:
                value = f"{unused}value"
                query = predictions(
                    fitted,
                    rows=copy.rows,
                    score=operand,
                    number=number,
                    column=value,
                    unused=unused,
                    keep=keep,
                    operands=segments,
                )
                selected = copy.written(query, quote_name(value))
                return f"COPY ({selected}) TO {quote_text(str(draft))} ({copy.options})"

            writing = statement(functools.partial(_stored, source.connection))
            if not _in_order(source, writing):
                writing = statement(None)
            try:
                written = int(source.rows(writing)[0][0])
            except SourceError:
                with doing(f"Checking {source.name}"):
                    _check_domain(source, score, fitted)
                raise
            if not written and copy.empty:
                draft.write_text(copy.empty, encoding="utf-8", newline="\n")
            return written


def _check_column(fitted: FittedMap, score: str, *, renamed: bool) -> None:
    """Refuse a column that the model was not fitted to."""
    known = [str(name) for name in getattr(fitted, "feature_names_in_", [])]
    if known not in ([], [score]) and not renamed:
        fitted_to = " and ".join(map(repr, known))
        remedy = f"name that column; if {score!r} is it under another name, add `renamed`"
        raise ArgumentError(f"`score` to be what the model was fitted to, {fitted_to}", repr(score), remedy)


def _check_domain(source: Source, score: str, fitted: FittedMap) -> None:
    """Say which score is wrong, if one is."""
    least, most, words = fitted.domain
    try:
        check_column(source, score, score_rules((least, most)))
    except DataError as error:
        raise error if most == 1.0 else error.but(expected=f"predictions {words}", remedy=REPAIR) from None


def _unused(source: Source) -> str:
    """Return a text with which no name of a column begins."""
    names = [name.lower() for name in source.columns]
    prefixes = (f"calibrant{number}_" for number in count())
    return next(prefix for prefix in prefixes if not any(name.startswith(prefix) for name in names))


def _as_segments(column: SegmentColumn, operand: str, source: Source) -> str:
    """Write a column as what its segments are made of; in text files nothing is a missing value."""
    number = source.typed and source.kind(column.name) == "number"
    if number and not holds_text(column):
        return operand  # by way of text, single precision would become other numbers
    text = f"CAST({operand} AS VARCHAR)" if source.typed else f"nullif(CAST({operand} AS VARCHAR), '')"
    if holds_text(column):  # '1' is met by 1 and 1.0, as in `predict`
        whole = number and not any(str(level).endswith(".0") for level in column.levels)
        return f"regexp_replace({text}, '\\.0$', '')" if whole else text
    return f"TRY_CAST({text} AS {'BOOLEAN' if column.levels and isinstance(column.levels[0], bool) else 'DOUBLE'})"


def _stored(connection: duckdb.DuckDBPyConnection, values: str) -> str:
    """Keep a list in a table of its own: written into a query, it is built anew for every 2048 rows."""
    number = connection.execute("SELECT count(*) FROM duckdb_tables()").fetchall()[0][0]
    connection.execute(f"CREATE TABLE calibrant_list{number} AS SELECT {values} AS list")
    return f"(SELECT list FROM calibrant_list{number})"


def _in_order(source: Source, statement: str) -> bool:
    """Tell whether rows are written in the order of the file, which DuckDB before 2.0 gives up for tables in a query.

    Rows that several threads write in order are written in batches.
    """
    plan = json.loads(source.rows(f"EXPLAIN (FORMAT json) {statement}")[0][1])
    return bool(plan[0]["name"].startswith("BATCH"))


@dataclass(frozen=True)
class Copy:
    """How one file is copied with one more column, for each format of the copy.

    Names stay as they are in the file. Where the format of the copy cannot hold them, or a value, it is refused.
    """

    rows: str  # a SELECT of what is copied
    value: Callable[[str], str]  # returns a column of the file, by its name there, as SQL over `rows`
    written: Callable[[str, str], str]  # returns what is written, of a SELECT of rows and one more column, and its name
    options: str  # of COPY
    empty: str = ""  # what the copy of a file without rows is, if it is not what DuckDB writes


def copy_of(source: Source, ending: str, column: str) -> Copy:
    """Return how to copy a file with one more column of that name; `ending` is among `ENDINGS`.

    A `SourceError` says that the copy cannot hold the names of the columns.
    """
    header = [*source.header, column]
    names = [name.strip().lower() for name in header]
    if column.strip().lower() in names[:-1]:
        raise SourceError("a new column name", f"{column!r} in {source.name}", "choose another as `column`")
    if source.renamed:
        renamed = f"{', '.join(map(repr, source.renamed))} in {source.name}"
        raise SourceError("fields of a column that differ in more than case", renamed, "rename one of them")
    if ENDINGS[ending] == "CSV":
        delimiter = "\t" if ending == ".tsv" else ","
        head = io.StringIO()
        # Ended by both, so that names which hold either are quoted.
        csv.writer(head, delimiter=delimiter, lineterminator="\r\n").writerow(header)
        first = head.getvalue().removesuffix("\r\n") + "\n"
        # DuckDB's own header would have names that differ in more than case.
        options = f"{_PLAIN}, DELIMITER '{delimiter}', PREFIX {quote_text(first)}, SUFFIX '\n'"
        pairs = zip(source.columns, source.types, strict=True)
        nested = [quote_name(name) for name, type_ in pairs if type_.endswith("]") or type_.startswith(_NESTED)]
        as_json = f"REPLACE ({', '.join(f'to_json({name}) AS {name}' for name in nested)})" if nested else ""
        select = f"SELECT * {as_json} FROM"
        return Copy(source.sql, source.column, lambda rows, _: f"{select} ({rows})", options, first)
    if ENDINGS[ending] == "Parquet":
        _refuse(source, header, [name.lower() for name in header], "Parquet", "CSV or JSON lines")
        return _parquet(source, header)
    if source.format != "JSON lines":
        _refuse(source, header, header, "JSON", "CSV")
        return _json(source, header)
    key = quote_text(column)

    def with_key(rows: str, added: str) -> str:
        # Strings have no line ends in JSON, which mean nothing elsewhere. DuckDB allows a comma after the last value.
        ends = f"contains({OBJECT}, chr(10)) OR contains({OBJECT}, chr(13))"
        one_line = f"CASE WHEN {ends} THEN regexp_replace({OBJECT}, '[\\r\\n]+', ' ', 'g') ELSE {OBJECT} END"
        begin = f"regexp_replace({one_line}, '[\\s,]*\\}}$', '')"
        comma = f"CASE WHEN {begin} = '{{' THEN '' ELSE ',' END"
        end = f"to_json({key}) || ':' || coalesce(to_json({added}), 'null') || '}}'"
        return f"SELECT {begin} || {comma} || {end} FROM ({rows})"

    return Copy(source.original, json_value, with_key, _LINES)


def _refuse(source: Source, header: list[str], same: list[str], format_: str, others: str) -> None:
    """Raise a `SourceError` if two names are the `same`, or one cannot be written."""
    counts = Counter(same)
    nameless = format_ == "Parquet"
    clash = [name for name, key in zip(header, same, strict=True) if counts[key] > 1 or (nameless and not name)]
    if clash:
        refused = f"{', '.join(map(repr, clash))} in {source.name}"
        raise SourceError(f"names of columns that {format_} can hold", refused, f"rename them, or write {others}")


def _parquet(source: Source, header: list[str]) -> Copy:
    rows, bytes_ = source.sql, set()
    if source.format == "Parquet":
        rows = source.original
        bytes_ = {row[0] for row in source.rows(f"DESCRIBE {rows}") if row[1] == "BLOB"}

    def value(name: str) -> str:
        text = source.type_of(name) == "VARCHAR" and source.found(name) in bytes_
        return f"decode({source.column(name)})" if text else source.column(name)

    def renamed(rows: str, added: str) -> str:
        named = zip((*map(quote_name, source.columns), added), header, strict=True)
        return f"SELECT {', '.join(f'{old} AS {quote_name(new)}' for old, new in named)} FROM ({rows})"

    return Copy(rows, value, renamed, "FORMAT parquet")


def _json(source: Source, header: list[str]) -> Copy:
    def objects(rows: str, added: str) -> str:
        named = zip(header, (*map(quote_name, source.columns), added), strict=True)
        return f"SELECT json_object({', '.join(f'{quote_text(key)}, {old}' for key, old in named)}) FROM ({rows})"

    return Copy(source.sql, source.column, objects, _LINES)
