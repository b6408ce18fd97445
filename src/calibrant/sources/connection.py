"""Open files for queries, or the result of one: one connection, a bound on memory, nothing left behind.

Many files are one table: the same columns of all of them, whatever else they hold and in whatever order.
"""

from __future__ import annotations

import codecs
import gzip
import re
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from calibrant.errors import ROWS, CalibrantError, DataError, SourceError, need_package
from calibrant.sources import formats
from calibrant.sources.formats import FileLayout, PathSpec, find_files, name_of
from calibrant.sources.query import COPIED, Query, copy_rows
from calibrant.sources.source import QueryRunner, Source
from calibrant.table.progress import has_listener
from calibrant.table.row_errors import describe_no_rows

if TYPE_CHECKING:
    import duckdb

_INTEGER = re.compile("U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?")
_MEMORY = "2GB"  # beyond it DuckDB writes to the temporary folder


class Opened(NamedTuple):
    """One of several files, with its layout, and it alone as a source."""

    file: Path
    layout: FileLayout
    source: Source


@contextmanager
def open_source(path: PathSpec | Query, columns: tuple[str, ...] = ()) -> Iterator[Source]:
    """Open CSV, Parquet or JSON lines files for queries, or run a query and open its result.

    Standard input, "-", is copied to a temporary file because it is read more than once. `columns` are those
    needed of a query or of several files, by default all; those of one file are all there. The source is valid inside
    the block; temporary files are removed at its end, however it ends. A `SourceError` says that a file cannot be read,
    or several do not fit together, also later, by the queries; a `DataError` that all are empty.
    """
    with tempfile.TemporaryDirectory(prefix="calibrant-", ignore_cleanup_errors=True) as folder:
        if isinstance(path, Query):
            with closing(_connect(Path(folder))) as connection:
                source = _answer(connection, path, columns, Path(folder))
                inside = {} if path.database else {ROWS: f"({path.sql.strip().rstrip(';')})"}
                with _named(inside):
                    yield source
            return
        files = find_files(path)
        # A pattern or folder in which there is one file is that file.
        name = name_of(path if len(files) > 1 else files)
        with closing(_connect(Path(folder))) as connection:
            opened = _open_each(connection, files, name, Path(folder))
            source = opened[0].source if len(opened) == 1 else _combine(opened, columns, name)
            if has_listener():
                _expect(source, [one.file for one in opened])
            # A query reads neither standard input nor names without the spaces around them.
            plain = "-" not in files and all(name == name.strip() for name in source.header)
            with _named(formats.in_queries(files, source.format) if plain else {}):
                yield source


@contextmanager
def _named(slots: Mapping[str, str]) -> Iterator[None]:
    """Let the remedies of errors say how a query reads these rows."""
    try:
        yield
    except CalibrantError as error:
        for slot, text in slots.items():
            error.fill(slot, text)
        raise


def _open_each(connection: duckdb.DuckDBPyConnection, files: tuple[str, ...], name: str, folder: Path) -> list[Opened]:
    """Look at each file; of several, those without content are passed over, as parts written by a cluster may be."""
    opened, runner = [], QueryRunner(connection, name)
    for number, path in enumerate(files):
        own = name_of(path)
        file = _local_file(path, own, folder / f"stream{number}")
        try:
            layout = formats.recognise(file, own, ending="" if path == "-" else own)
            if layout.marked:  # DuckDB reads no such JSON
                file, layout = _without_mark(file, layout, own, folder / f"plain{number}")
            opened.append(Opened(file, layout, _describe(connection, file, layout, own, folder, runner)))
        except DataError:
            if len(files) == 1:
                raise
    if not opened:
        raise describe_no_rows(name)
    return opened


def _expect(source: Source, files: list[Path]) -> None:
    """Find how much there is to read, where a person waits for it: rows if the files say how many, else bytes."""
    if source.format != "Parquet":
        source.runner.expect(sum(file.stat().st_size for file in files), "bytes")
        return
    listed = ", ".join(formats.quote_text(formats.pattern_of(file)) for file in files)
    rows = source.rows(f"SELECT sum(num_rows) FROM parquet_file_metadata([{listed}])")[0][0]
    source.runner.expect(int(rows), "rows")


def _answer(connection: duckdb.DuckDBPyConnection, query: Query, selected: tuple[str, ...], folder: Path) -> Source:
    name = "the result of the query"
    runner = QueryRunner(connection, name)
    copied = runner.run(lambda: copy_rows(connection, query, selected, folder))
    sql = f"SELECT * FROM {COPIED}"
    return Source(connection, sql, sql, *copied, "query", name, runner, folder)


def _connect(folder: Path) -> duckdb.DuckDBPyConnection:
    need_package("duckdb", "calibrant[files]")
    import duckdb

    config: dict[str, Any] = {"memory_limit": _MEMORY, "temp_directory": str(folder / "spill")}
    config["preserve_insertion_order"] = "false"  # sums do not need it, and it costs memory
    # Nothing is fetched from the network behind the back of the user.
    config |= {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    connection = duckdb.connect(":memory:", config=config)
    # DuckDB draws a bar on standard output of its own accord where Python runs interactively or by `python -c`. In a
    # notebook it needs ipywidgets; without them it draws none, and refuses the setting.
    with suppress(duckdb.InvalidInputException):
        connection.execute("SET enable_progress_bar_print = false")
    # The least and largest value that a Parquet file declares leave NaN out, so conditions must not be decided by
    # them: DuckDB 2.0.0 would find no NaN in a column that declares 0 to 1.
    connection.execute("SET disabled_optimizers = 'statistics_propagation'")
    return connection


def _local_file(path: str, name: str, copy: Path) -> Path:
    """Return a regular file with the data; streams are copied to `copy`, since they cannot be read twice."""
    if path == "-":
        if sys.stdin is None or sys.stdin.isatty():
            raise SourceError("data on standard input", "a terminal", "pipe a file into it, or name a file")
        return _spool(sys.stdin.buffer, copy)
    file = Path(path)
    try:
        mode = file.stat().st_mode
    except FileNotFoundError:
        raise SourceError("an existing file", f"no file {name}", "check the path") from None
    except (OSError, ValueError) as error:
        raise SourceError("a file that can be read", f"{error} for {name}", "check the path") from None
    if stat.S_ISREG(mode):
        return file
    with file.open("rb") as stream:  # a pipe
        return _spool(stream, copy)


def _without_mark(file: Path, layout: FileLayout, name: str, copy: Path) -> tuple[Path, FileLayout]:
    """Copy a text file that begins with a byte order mark to `copy`, unpacked and without it."""
    try:
        with gzip.open(file) if layout.gzipped else file.open("rb") as stream:
            stream.read(len(codecs.BOM_UTF8))
            return _spool(stream, copy), layout._replace(gzipped=False)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise formats.describe_damaged_gzip(name) from None


def _spool(stream: Any, copy: Path) -> Path:
    try:
        with copy.open("wb") as file:
            shutil.copyfileobj(stream, file, 1 << 20)
    except OSError as error:
        reason, remedy = error.strerror or str(error), "free space, or set TMPDIR to a larger disk"
        raise SourceError(f"space for the stream in {copy.parent.parent}", reason, remedy) from None
    return copy


def _describe(
    connection: duckdb.DuckDBPyConnection, file: Path, layout: FileLayout, name: str, folder: Path, runner: QueryRunner
) -> Source:
    """Find the columns: their names in the file, and those under which DuckDB, which ignores case, tells them apart."""
    typed = layout.format == "Parquet"
    source = Source(connection, "", "", (), (), (), typed, layout.format, name, runner, folder, mixed=layout.mixed)
    if typed:
        sql = formats.select_rows([file], layout)
        described = source.rows(f"DESCRIBE {sql}")
        columns, types = (tuple(str(row[i]) for row in described) for i in (0, 1))
        header, renamed = _parquet_names(source, file)
        source = replace(source, renamed=renamed)
    else:
        header = layout.names or _json_names(source, formats.select_rows([file], layout, raw=True))
        columns = formats.unique_names(header)
        types = ("VARCHAR",) * len(columns)
        sql = formats.select_rows([file], layout, header, columns)
    original = formats.select_rows([file], layout, header, columns, raw=True)
    return replace(source, sql=sql, original=original, columns=columns, header=header, types=types)


def _parquet_names(source: Source, file: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the columns, in the order of DuckDB's, and of the fields inside them that are equal there."""
    elements = iter(
        source.rows(f"SELECT name, num_children FROM parquet_schema({formats.quote_text(formats.pattern_of(file))})")
    )
    equal: list[str] = []

    def below(count: int | None) -> list[str]:
        names = []
        for _ in range(count or 0):
            name, fields = next(elements)
            names.append(str(name))
            inside = below(fields)
            lower = [field.lower() for field in inside]
            equal.extend(field for field in inside if lower.count(field.lower()) > 1)
        return names

    return tuple(below(next(elements)[1])), tuple(equal)


def _json_names(source: Source, objects: str) -> tuple[str, ...]:
    """Return all keys of the objects, in the order in which they appear; a `DataError` if there is none."""
    numbered = f"SELECT json_keys({formats.OBJECT}) AS keys, row_number() OVER () AS row FROM ({objects})"
    different = f"SELECT keys, min(row) AS row FROM ({numbered}) GROUP BY keys"
    single = f"SELECT unnest(keys) AS key, generate_subscripts(keys, 1) AS place, keys, row FROM ({different})"
    keys = source.rows(
        f"SELECT key, min(row) FILTER (len(keys) > list_unique(keys)) FROM ({single}) "
        "GROUP BY key ORDER BY min((row, place))"
    )
    if not keys:
        raise describe_no_rows(source.name)
    twice = min((row for _, row in keys if row is not None), default=None)
    if twice is not None:
        repeated = f"one twice in row {twice} of {source.name}"
        raise SourceError("every key once in an object", repeated, "drop one of them")
    if any("\0" in key for key, _ in keys):
        raise SourceError("keys without the character NUL", f"one with it in {source.name}", "rename it")
    return tuple(key for key, _ in keys)


def _combine(files: Sequence[Opened], selected: tuple[str, ...], name: str) -> Source:
    """Return one source with the `selected` columns of two or more files; if none, with those that every file has once.

    `name` is what messages call all files together. A `SourceError` says which file is of another format, lacks a
    column or has it with another kind of values.
    """
    first = files[0].source
    for one in files:
        if one.source.format != first.format:
            two_formats = f"{first.format} in {first.name} and {one.source.format} in {one.source.name}"
            raise SourceError("files of one format", two_formats, "write them in one format, or read each alone")
    names = selected or tuple(name for name in first.names if all(name in one.source.names for one in files))
    columns = formats.unique_names(names)
    mixed = {name: _mixed(files, name) for name in names}

    def picked(source: Source, rows: str) -> str:
        values = [mixed[name].format(source.column(name)) for name in names]
        return formats.select_named(values, columns, rows)

    def part(source: Source) -> Source:
        sql, types = picked(source, source.sql), tuple(map(source.type_of, names))
        return replace(source, sql=sql, original=sql, columns=columns, header=names, types=types)

    parts = tuple(part(one.source) for one in files)
    arms = []
    for (_, header, columns_there), group in groupby(files, key=lambda one: _call(one, names)):
        alike = list(group)
        rows = formats.select_rows([one.file for one in alike], alike[0].layout, header, columns_there)
        arms.append(picked(alike[0].source, rows))
    sql = " UNION ALL ".join(arms)
    return replace(parts[0], sql=sql, original=sql, name=name, parts=parts)


def _mixed(files: Sequence[Opened], name: str) -> str:
    """Return how to read a column so that it has one type: as it is, unless files disagree."""
    first = files[0].source
    kind = first.kind(name)
    for one in files:
        if one.source.kind(name) != kind:
            expected = f"one kind of values in column {name!r} of all files"
            kinds = f"{first.type_of(name)} in {first.name} and {one.source.type_of(name)} in {one.source.name}"
            raise SourceError(expected, kinds, "write them with one type")
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
