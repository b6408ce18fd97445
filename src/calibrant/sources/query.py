"""Rows from a query of a database, copied once to a temporary table so that they can be read more than once."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from calibrant.errors import SourceError, need_package
from calibrant.sources.formats import quote_name, quote_text, unique_names
from calibrant.sources.source import describe_no_space
from calibrant.table.clusters import identifiers

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

COPIED = "calibrant_rows.rows"
_OURS = "rows AS SELECT c"  # in a line that shows a statement of ours, not the query
Names = tuple[str, ...]

_BATCH = 100_000  # rows of SQLite held in memory


class Query(NamedTuple):
    """A query of a database.

    Attributes
    ----------
    sql : str
        One SELECT. It is run once.
    database : str, optional
        File of DuckDB or SQLite, or the address of a PostgreSQL database (``postgresql://...``), for which the packages
        of ``calibrant[postgresql]`` are needed. Without one the query, in the SQL of DuckDB, names files itself:
        ``SELECT y, p FROM 'scores.parquet' WHERE year = 2024``.

    Examples
    --------
    >>> from calibrant import Query, read_table
    >>> query = Query("SELECT i % 2 AS y, i / 8 AS p FROM range(8) AS numbers(i)")
    >>> read_table(query, outcome="y", prediction="p")
    ScoreTable(8 distinct scores, n=8, positives=4)
    """

    sql: str
    database: str | None = None


class Copied(NamedTuple):
    """Columns of a query: names in the copy and in it, and their DuckDB types, "" of those that were not copied.

    SQLite is not `typed`: its values were copied as texts.
    """

    columns: Names
    header: Names
    types: Names
    typed: bool


def copy_rows(connection: DuckDBPyConnection, query: Query, wanted: Names, folder: Path) -> Copied:
    """Run a query and keep those of the wanted columns that it has in the table `COPIED`, on disk in `folder`.

    If none are wanted, all are kept. Raises a `SourceError` if there is no such database, or the query fails.
    """
    connection.execute(f"ATTACH {quote_text(str(folder / 'rows.duckdb'))} AS calibrant_rows")
    sql = query.sql.strip().rstrip(";").rstrip()
    if not sql:
        raise SourceError("a query", "an empty one", "write a SELECT")
    typed = True
    if query.database is not None and re.match("postgres(ql)?://", query.database):
        header = _from_postgresql(connection, sql, query.database, wanted)
    elif query.database is not None and _head(query.database).startswith(b"SQLite format 3"):
        header = _from_sqlite(connection, sql, query.database, wanted)
        typed = False
    else:
        header = _from_duckdb(connection, sql, query.database, wanted)
    types = {row[0]: str(row[1]) for row in connection.execute(f"DESCRIBE {COPIED}").fetchall()}
    columns = unique_names(header)
    copied_types = tuple(types.get(column, "") for column in columns)
    return Copied(columns, header, copied_types, typed)


def _head(database: str) -> bytes:
    try:
        with Path(database).open("rb") as file:
            return file.read(16)
    except FileNotFoundError:
        raise SourceError("an existing database", f"no file {database}", "check the path") from None
    except OSError as error:
        reason = f"{error.strerror or error} for {database}"
        raise SourceError("a database that can be read", reason, "check the path") from None


def _kept(header: Names, selected: Names) -> dict[int, str]:
    """Return the index of each selected column, and its name in the copy; if there is none, an error is to come.

    Identifiers are kept too, to tell whether they repeat.
    """
    names, copied = dict(enumerate(unique_names(header))), {*selected, *identifiers(header, selected)}
    return {i: name for i, name in names.items() if not selected or header[i] in copied} or {0: "none"}


def _selected(sql: str, header: Names, selected: Names) -> str:
    """Return a SELECT of the selected columns by their places, since names may differ in case alone."""
    columns = ", ".join(f"c{i} AS {quote_name(column)}" for i, column in _kept(header, selected).items())
    return f"SELECT {columns} FROM ({sql}\n) AS found({', '.join(f'c{i}' for i in range(len(header)))})"


def _failed(error: Exception) -> SourceError:
    """Phrase what a database says about a query: its first line, and the line of the query that it points at."""
    no_space = describe_no_space(str(error), "the result of the query")
    if no_space is not None:
        return no_space
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    query_line = next((line.replace("DESCRIBE ", "", 1) for line in lines[1:] if re.match(r"LINE \d+:", line)), "")
    complaint = lines[0] + (f" ({query_line})" if query_line and _OURS not in query_line else "")
    named = "name a table of `database`, or a file in quotes: FROM 'scores.parquet'"
    remedy = named if "Table with name" in complaint else "correct the query"
    return SourceError("a query that can be run", complaint, remedy)


def _from_duckdb(connection: DuckDBPyConnection, sql: str, database: str | None, selected: Names) -> Names:
    import duckdb

    try:
        kinds = [statement.type.name for statement in connection.extract_statements(sql)]
    except duckdb.Error as error:
        raise _failed(error) from None
    if len(kinds) != 1 or not kinds[0].startswith("SELECT"):
        raise SourceError("one SELECT", " and ".join(kind.lower() for kind in kinds), "write a query that only reads")
    if database is not None:
        try:
            connection.execute(f"ATTACH {quote_text(database)} AS calibrant_source (READ_ONLY)")
            connection.execute("USE calibrant_source")
        except duckdb.Error as error:
            complaint = f"{str(error).splitlines()[0]} for {database}"
            remedy = "check that this is the right file, and that no other program is writing to it"
            raise SourceError("a database of DuckDB or SQLite that can be read", complaint, remedy) from None
    connection.execute("SET preserve_insertion_order = true")  # so that rows can be numbered in messages
    try:
        names = tuple(row[0] for row in connection.execute(f"DESCRIBE {sql}").fetchall())
        connection.execute(f"CREATE TABLE {COPIED} AS {_selected(sql, names, selected)}")
    except duckdb.Error as error:
        raise _failed(error) from None
    connection.execute("SET preserve_insertion_order = false")
    return names


def _from_sqlite(connection: DuckDBPyConnection, sql: str, database: str, selected: Names) -> Names:
    """Copy as text, in which floats are exact: columns of SQLite hold values of any type."""
    try:
        with closing(sqlite3.connect(f"{Path(database).absolute().as_uri()}?mode=ro", uri=True)) as source:
            source.execute(f"SELECT * FROM ({sql}\n) LIMIT 0")  # so nothing else than a SELECT
            cursor = source.execute(sql)  # in the other, names that differ in case alone are changed
            header = tuple(column[0] for column in cursor.description)
            names = _kept(header, selected)
            columns = ", ".join(f"{quote_name(name)} VARCHAR" for name in names.values())
            connection.execute(f"CREATE TABLE {COPIED} ({columns})")
            while rows := cursor.fetchmany(_BATCH):
                values = [[row[i] for row in rows] for i in names]
                texts = [[None if v is None else str(v) for v in column] for column in values]
                batch = {name: np.array(text, dtype=object) for name, text in zip(names.values(), texts, strict=True)}
                connection.register("calibrant_batch", batch)
                connection.execute(f"INSERT INTO {COPIED} SELECT * FROM calibrant_batch")
                connection.unregister("calibrant_batch")
    except sqlite3.Error as error:
        raise _failed(error) from None
    return header


def _from_postgresql(connection: DuckDBPyConnection, sql: str, database: str, selected: Names) -> Names:
    for name in ("adbc_driver_postgresql", "pyarrow"):
        need_package(name, "calibrant[postgresql]")
    import duckdb
    from adbc_driver_postgresql import dbapi

    try:
        with dbapi.connect(database) as source, source.cursor() as cursor:
            cursor.execute("SET TRANSACTION READ ONLY")
            cursor.execute(f"SELECT * FROM ({sql}\n) AS found LIMIT 0")
            header = tuple(column[0] for column in cursor.description)
            cursor.execute(_selected(sql, header, selected))
            connection.register("calibrant_batch", cursor.fetch_record_batch())
            connection.execute(f"CREATE TABLE {COPIED} AS SELECT * FROM calibrant_batch")
            connection.unregister("calibrant_batch")
    except (dbapi.Error, duckdb.Error) as error:  # DuckDB passes on what goes wrong while rows are sent
        raise _failed(error) from None
    return header
