"""How a file is copied with one more column: what is read of it and what is written, for each format of the copy.

Names stay as they are in the file. Where the format of the copy cannot hold them, or a value, it is refused.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from calibrant.errors import SourceError
from calibrant.sources.formats import OBJECT, json_value, quote_name, quote_text
from calibrant.sources.source import Source

# File ending -> format.
ENDINGS = {".csv": "CSV", ".tsv": "CSV", ".parquet": "Parquet", ".pq": "Parquet"}
ENDINGS |= dict.fromkeys((".jsonl", ".ndjson"), "JSON lines")
_NESTED = ("STRUCT", "MAP", "UNION")  # types that hold others, beside lists, which end in a bracket
_PLAIN = "FORMAT csv, HEADER false"
_LINES = f"{_PLAIN}, QUOTE '', ESCAPE '', DELIMITER '\x01'"  # text as it is; JSON has no such character


@dataclass(frozen=True)
class Copy:
    """How one file is copied."""

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
