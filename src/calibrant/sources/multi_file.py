"""Many files as one table: the same columns of all of them, whatever else they hold and in whatever order."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from calibrant.errors import SourceError
from calibrant.sources.formats import Layout, select_named, select_rows, unique_names
from calibrant.sources.source import Source, Span

_INTEGER = re.compile("U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?")


class Opened(NamedTuple):
    """One of several files, with its layout, and it alone as a source."""

    file: Path
    layout: Layout
    source: Source


def combine(files: Sequence[Opened], wanted: tuple[str, ...], name: str) -> Source:
    """Return one source with the wanted columns of two or more files; if none are, with those that every file has once.

    `name` is what messages call all files together. A `SourceError` says which file is of another format, lacks a
    column or has it with another kind of values.
    """
    first = files[0].source
    for one in files:
        if one.source.format != first.format:
            found = f"{first.format} in {first.name} and {one.source.format} in {one.source.name}"
            raise SourceError("files of one format", found, "write them in one format, or read each alone")
    names = wanted or tuple(name for name in first.names if all(name in one.source.names for one in files))
    columns = unique_names(names)
    mixed = {name: _mixed(files, name) for name in names}

    def picked(source: Source, rows: str) -> str:
        values = [mixed[name].format(source.column(name)) for name in names]
        return select_named(values, columns, rows)

    def part(source: Source) -> Source:
        sql, types = picked(source, source.sql), tuple(map(source.type_of, names))
        named = replace(source, sql=sql, original=sql, columns=columns, header=names, types=types)
        return replace(named, spans=partial(_picked_spans, source, picked))

    parts = tuple(part(one.source) for one in files)
    arms = []
    for (_, header, columns_there), group in groupby(files, key=lambda one: _call(one, names)):
        alike = list(group)
        rows = select_rows([one.file for one in alike], alike[0].layout, header, columns_there)
        arms.append(picked(alike[0].source, rows))
    sql = " UNION ALL ".join(arms)
    return replace(parts[0], sql=sql, original=sql, name=name, parts=parts, spans=partial(_all_spans, parts))


def _picked_spans(source: Source, picked: Callable[[Source, str], str]) -> list[Span] | None:
    spans = source.spans()
    return None if spans is None else [Span(picked(source, span.sql), span.rows) for span in spans]


def _all_spans(parts: Sequence[Source]) -> list[Span] | None:
    """Return the spans of all parts; None if one cannot be read so."""
    spans = [part.spans() for part in parts]
    return None if None in spans else [span for of_part in spans for span in of_part or ()]


def _mixed(files: Sequence[Opened], name: str) -> str:
    """Return how to read a column so that it has one type: as it is, unless files disagree."""
    first = files[0].source
    kind = first.kind(name)
    for one in files:
        if one.source.kind(name) != kind:
            expected = f"one kind of values in column {name!r} of all files"
            found = f"{first.type_of(name)} in {first.name} and {one.source.type_of(name)} in {one.source.name}"
            raise SourceError(expected, found, "write them with one type")
    types = {one.source.type_of(name) for one in files}
    if len(types) == 1 or (kind == "number" and all(map(_INTEGER.fullmatch, types))):
        return "{}"
    # DuckDB would narrow a DECIMAL or BIGINT to the FLOAT of another file.
    return "CAST({} AS DOUBLE)" if kind == "number" else "CAST({} AS VARCHAR)"


def _call(one: Opened, names: tuple[str, ...]) -> tuple[Hashable, tuple[str, ...], tuple[str, ...]]:
    """Return what is equal for files that one call can read, and the names there and here of columns it has to list."""
    source = one.source
    if one.layout.format == "Parquet" and source.columns == source.header:
        return frozenset(zip(source.columns, source.types, strict=True)), (), ()
    if one.layout.format == "JSON lines":
        return one.layout, names, tuple(source.found(name) for name in names)
    # Parquet files with names that DuckDB changed, by calls of their own: in another file it may change them otherwise.
    # Each CSV file by a call of its own: in one call for several, DuckDB 2.0.0 drops a last row whose quote is not
    # closed, without a word, where it gives every file to one thread.
    return one.file, source.header, source.columns
