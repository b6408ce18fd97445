"""Open a file for queries, or the result of one: one connection, a bound on memory, errors that name the file."""

from __future__ import annotations

import difflib
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy.typing as npt

from calibrant.errors import SourceError
from calibrant.read.formats import Layout, quote_name, recognise, table_function, unique_names
from calibrant.read.progress import Watcher
from calibrant.read.query import COPIED, Query, copy_rows

if TYPE_CHECKING:
    import duckdb
    from rich.console import Console

__all__ = ["Source", "open_source"]

T = TypeVar("T")

_MEMORY = "2GB"  # beyond it DuckDB writes to the temporary folder
_NUMERIC = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*|BIGNUM")
_AGAIN = "copy or download it again, or write it anew"


@dataclass(frozen=True)
class Source:
    """A file, or the result of a query, as a table that can be asked.

    Attributes
    ----------
    connection : duckdb.DuckDBPyConnection
        For statements of your own; `arrays` and `rows` are to be preferred.
    sql : str
        A SELECT of all columns under the names in `columns`, to stand in brackets after FROM.
    original : str
        The same with JSON values as they stand in the file, for copying them.
    columns : tuple of str
        Names of the columns.
    types : tuple of str
        Their DuckDB types; all VARCHAR if the format is text.
    typed : bool
        Whether the file itself knows types (Parquet, query).
    format : {"CSV", "Parquet", "JSON lines", "query"}
        Its format.
    name : str
        What messages call it.
    """

    connection: duckdb.DuckDBPyConnection
    sql: str
    original: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    typed: bool
    format: str
    name: str
    _in_file: dict[str, list[str]]  # names in the file -> names in `columns`
    _watcher: Watcher

    def column(self, name: str) -> str:
        """Return a column of that name as an SQL identifier.

        Raises
        ------
        SourceError
            If there is none, or more than one.
        """
        meant = self._in_file.get(name, [])
        if len(meant) > 1:
            raise SourceError(
                f"one column named {name!r}", f"{len(meant)} in {self.name}", "give the columns different names"
            )
        if meant:
            return quote_name(meant[0])
        lower = {column.lower(): column for column in self._in_file}
        near = difflib.get_close_matches(name.strip().lower(), lower, n=1)
        shown = list(self._in_file)
        listed = ", ".join(shown[:20]) + (", ..." if len(shown) > 20 else "")
        remedy = f"did you mean {lower[near[0]]!r}?" if near else "check the name of the column"
        raise SourceError(f"a column {name!r} in {self.name}", f"the columns {listed}", remedy)

    def kind(self, name: str) -> str:
        """Tell whether a column holds a "number", a "boolean" or "text" (also every other type)."""
        type_ = self.types[self.columns.index(self._in_file[name][0])]
        if _NUMERIC.fullmatch(type_):
            return "number"
        return "boolean" if type_ == "BOOLEAN" else "text"

    def arrays(self, query: str) -> dict[str, npt.NDArray[Any]]:
        """Return the result of a query as one array per column; values must not be missing."""
        return self.run(lambda: self.connection.execute(query).fetchnumpy())

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return the result of a query as tuples."""
        return self.run(lambda: self.connection.execute(query).fetchall())

    def run(self, work: Callable[[], T]) -> T:
        """Call `work`, which uses the connection, with progress shown and Ctrl-C heard.

        Raises
        ------
        SourceError
            If the file turns out to be damaged or memory to be short.
        KeyboardInterrupt
            If the user stopped it.
        """
        import duckdb

        try:
            return self._watcher.run(work)
        except duckdb.Error as error:
            ours = (duckdb.BinderException, duckdb.ParserException, duckdb.CatalogException)
            if isinstance(error, ours) and "expected records" not in str(error):
                raise  # a mistake in our SQL, not in the file
            raise _explain(str(error), self.name, self.format, len(self.columns)) from None

    def in_order(self) -> None:
        """Make every later query keep the order of the file, so that rows can be numbered; slower."""
        self.connection.execute("SET preserve_insertion_order = true")
        self.connection.execute("SET threads = 1")


@contextmanager
def open_source(
    path: str | os.PathLike[str] | Query, *, wanted: tuple[str, ...] = (), console: Console | None = None
) -> Iterator[Source]:
    r"""Open a CSV, Parquet or JSON lines file for queries, or run a query and open its result.

    Parameters
    ----------
    path : str, path-like or Query
        The file, or "-" for standard input, which is copied to a temporary file because it is read more than once; or
        a query, of which the result is.
    wanted : tuple of str
        Columns of a query that are needed. Those of a file are all there.
    console : rich.console.Console, optional
        Where to show progress if reading takes long.

    Yields
    ------
    Source
        Valid inside the block; temporary files are removed at its end, however it ends.

    Raises
    ------
    SourceError
        If the file cannot be read; also later, by the queries.
    DataError
        If it is empty.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from calibrant.read import open_source
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "scores.csv"
    ...     _ = file.write_text("y,p\n0,0.2\n1,0.7\n")
    ...     with open_source(file) as source:
    ...         source.columns, source.rows(f"SELECT count(*) FROM ({source.sql})")
    (('y', 'p'), [(2,)])
    """
    with tempfile.TemporaryDirectory(prefix="calibrant-", ignore_cleanup_errors=True) as folder:
        if isinstance(path, Query):
            with closing(_connect(Path(folder))) as connection:
                yield _answer(connection, path, wanted, Path(folder), console)
            return
        name = "standard input" if os.fspath(path) == "-" else os.fspath(path)
        file = _local_file(path, name, Path(folder))
        layout = recognise(file, name, ending="" if os.fspath(path) == "-" else name)
        with closing(_connect(Path(folder))) as connection:
            yield _describe(connection, file, layout, name, Watcher(connection, name, console))


def _answer(
    connection: duckdb.DuckDBPyConnection, query: Query, wanted: tuple[str, ...], folder: Path, console: Console | None
) -> Source:
    name = "the result of the query"
    watcher = Watcher(connection, name, console)
    found, columns, types = watcher.run(lambda: copy_rows(connection, query, wanted, folder))
    sql = f"SELECT * FROM {COPIED}"
    in_file = {column: [column] * found.count(column) for column in found}
    return Source(connection, sql, sql, columns, types, True, "query", name, in_file, watcher)


def _connect(folder: Path) -> duckdb.DuckDBPyConnection:
    import duckdb

    connection = duckdb.connect(
        ":memory:",
        config={
            "memory_limit": _MEMORY,
            "temp_directory": str(folder / "spill"),
            "preserve_insertion_order": "false",  # sums do not need it, and it costs memory
            # Nothing is fetched from the network behind the back of the user.
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        },
    )
    # The least and largest value that a Parquet file declares leave NaN out, so conditions must not be decided by
    # them: DuckDB 2.0.0 would find no NaN in a column that declares 0 to 1.
    connection.execute("SET disabled_optimizers = 'statistics_propagation'")
    return connection


def _local_file(path: str | os.PathLike[str], name: str, folder: Path) -> Path:
    """Return a regular file with the data; streams are copied into `folder`, since they cannot be read twice."""
    if os.fspath(path) == "-":
        if sys.stdin is None or sys.stdin.isatty():
            raise SourceError("data on standard input", "a terminal", "pipe a file into it, or name a file")
        return _spool(sys.stdin.buffer, folder)
    file = Path(path)
    try:
        mode = file.stat().st_mode
    except FileNotFoundError:
        raise SourceError("an existing file", f"no file {name}", "check the path") from None
    except (OSError, ValueError) as error:
        raise SourceError("a file that can be read", f"{error} for {name}", "check the path") from None
    if stat.S_ISDIR(mode):
        raise SourceError("a file", f"the folder {name}", "name the file in it")
    if stat.S_ISREG(mode):
        return file
    with file.open("rb") as stream:  # a pipe
        return _spool(stream, folder)


def _spool(stream: Any, folder: Path) -> Path:
    copy = folder / "stream"
    try:
        with copy.open("wb") as file:
            shutil.copyfileobj(stream, file, 1 << 20)
    except OSError as error:
        raise SourceError(
            f"room for the stream in {folder.parent}",
            error.strerror or str(error),
            "free space, or set TMPDIR to a larger disk",
        ) from None
    return copy


def _describe(connection: duckdb.DuckDBPyConnection, file: Path, layout: Layout, name: str, watcher: Watcher) -> Source:
    """Find the columns."""

    def source(
        sql: str, names: tuple[str, ...], types: tuple[str, ...], old_names: tuple[str, ...], original: str = ""
    ) -> Source:
        in_file: dict[str, list[str]] = {}
        for old, new in zip(old_names, names, strict=True):
            in_file.setdefault(old.strip(), []).append(new)
        typed = layout.format == "Parquet"
        return Source(connection, sql, original or sql, names, types, typed, layout.format, name, in_file, watcher)

    names: tuple[str, ...]
    if layout.format == "CSV":
        names = unique_names(layout.names)
        sql = f"SELECT * FROM {table_function(file, layout, names)}"
        return source(sql, names, ("VARCHAR",) * len(names), layout.names)
    sql = f"SELECT * FROM {table_function(file, layout)}"
    described = source(sql, (), (), ()).rows(f"DESCRIBE {sql}")
    names, types = tuple(row[0] for row in described), tuple(str(row[1]) for row in described)
    if layout.format != "JSON lines":
        return source(sql, names, types, names)
    text, values = (f"SELECT * FROM {table_function(file, layout, names, type_=t)}" for t in ("VARCHAR", "JSON"))
    return source(text, names, ("VARCHAR",) * len(names), names, values)


def _explain(text: str, name: str, format_: str, n_columns: int) -> SourceError:
    """Turn a complaint of DuckDB into one sentence about the file."""
    if "Out of Memory" in text or "max_temp_directory_size" in text or "No space left" in text:
        return SourceError(
            "enough memory and room for temporary files",
            f"too little of them for {name}",
            "free space there and where output is written, or set TMPDIR to a larger disk",
        )
    if "GZIP" in text.upper():
        return SourceError("a whole gzip file", f"{name} damaged or cut short", "copy or download it again")
    if format_ == "Parquet":
        return SourceError("a whole Parquet file", f"{name} damaged or cut short", _AGAIN)
    if format_ == "JSON lines":
        line = re.search(r"in line (\d+)|record/value (\d+)", text)
        place = f"near line {line[1] or line[2]} of {name}" if line else f"in {name}"  # off by one for some mistakes
        return SourceError("one JSON object per line", f"something else {place}", "repair or drop such lines")
    line = re.search(r"on Line: (\d+)", text)
    place = f"line {line[1]} of {name}" if line else name
    counts = re.search(r"Number of Columns: (\d+) Found: (\d+)", text)
    if counts:
        return SourceError(
            f"{counts[1]} values in every line, as in the header",
            f"{counts[2]} in {place}",
            "repair the line, and put quotes around values that contain the delimiter",
        )
    if "Invalid unicode" in text:
        return SourceError("text in UTF-8", f"another encoding in {place}", "save it again in UTF-8")
    if "unterminated quote" in text:
        return SourceError(
            "a closing quote for every opening one",
            f"a stray quote in {place}",
            'repair the line; inside quotes write "" for a quote',
        )
    if "aximum line size" in text:
        return SourceError("lines of at most 2 MB", f"a longer one in {place}", "check for a quote that is not closed")
    return SourceError(
        f"a CSV file with {n_columns} values in every line",
        f"lines of another form in {place}, such as a mix of line endings or a stray quote",
        "write the file again with one program",
    )
