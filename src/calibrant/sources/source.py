"""A file, several files or the result of a query as one table, with errors that name the file.

Queries run so that a person can watch them and stop them.
"""

from __future__ import annotations

import difflib
import re
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy.typing as npt

from calibrant.errors import ROWS, SourceError
from calibrant.sources.formats import NO_OBJECT, describe_damaged_gzip, quote_name, quote_text
from calibrant.table.missing import NOT_KNOWN
from calibrant.table.progress import has_listener, report_progress

if TYPE_CHECKING:
    import duckdb

T = TypeVar("T")

_PATIENCE = 0.5  # seconds after which a query counts as a scan of the rows
_SCANS = 3  # how many there usually are: checks, sums, and the scores that matter; they take about as long
_POLL = 0.05  # seconds between two looks at the query

_activity: ContextVar[str | None] = ContextVar("activity", default=None)


@contextmanager
def doing(activity: str) -> Iterator[None]:
    """Tell a text such as "Writing a.csv" in a block, in place of "Reading" and the name."""
    token = _activity.set(activity)
    try:
        yield
    finally:
        _activity.reset(token)


class QueryRunner:
    """Runs queries of one connection in a thread of their own, one at a time.

    The calling thread stays free to tell how far the query is, if anybody listens, and to notice Ctrl-C, which stops
    the query at once. It tells that `name` is read, unless `doing` says otherwise.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, name: str) -> None:
        self._connection = connection
        self._name = name
        self._begun = 0.0  # when the present query began
        self._done, self._scans = 0.0, 0  # share of the reading that is done, by how many scans
        self._count, self._unit = 0, ""
        self._reached: int | None = None  # how much of `_count`; None where the query itself knows
        if has_listener():
            connection.execute("SET enable_progress_bar = true")  # else progress is not measured

    def expect(self, count: int, unit: str) -> None:
        """Tell how much a scan reads, in "rows" or "bytes", so that its speed can be shown."""
        self._count, self._unit = count, unit

    def reached(self, count: int | None) -> None:
        """Tell how much of it a scan has read so far, where it is done by many queries; None at its end."""
        if not count:
            self._begun = time.monotonic()
        self._reached = count

    def run(self, work: Callable[[], T]) -> T:
        """Return the result of `work`, which executes a query and fetches what it finds; its errors are raised here.

        At a KeyboardInterrupt the query has ended by the time it is raised.
        """
        outcome: list[T] = []
        failure: list[BaseException] = []
        claim = threading.Lock()  # whoever takes it first decides whether the work begins
        done = threading.Event()  # waited for in place of the thread: an interrupted join() calls it dead

        def target() -> None:
            if not claim.acquire(blocking=False):
                return
            try:
                outcome.append(work())
            except BaseException as error:  # handed over to the calling thread
                failure.append(error)
            finally:
                done.set()

        thread = threading.Thread(target=target, name="calibrant-query", daemon=True)
        try:
            thread.start()  # may be interrupted too, before or after the thread has begun
            self._wait(done)
        except BaseException:
            if not claim.acquire(blocking=False):
                self._stop(done)
                thread.join()
            raise
        thread.join()
        if failure:
            raise failure[0]
        return outcome[0]

    def _stop(self, done: threading.Event) -> None:
        """Interrupt the query and wait for its end: Python aborts if it ends while DuckDB still works."""
        while True:
            try:
                if done.wait(_POLL):
                    return
                self._connection.interrupt()  # again and again: a query that has not yet begun does not hear it
            except KeyboardInterrupt:
                continue  # asked for twice

    def _wait(self, done: threading.Event) -> None:
        self._begun, self._reached = time.monotonic(), None
        while not has_listener() or time.monotonic() < self._begun + _PATIENCE:
            if done.wait(_POLL):
                return
        stage, furthest = _activity.get() or f"Reading {self._name}", 0.0
        while True:
            reached = self._reached
            now = self._connection.query_progress() / 100.0 if reached is None else reached / self._count
            if 0.0 <= now < furthest - 0.5:  # the work has begun another scan
                self._begun, furthest = time.monotonic(), 0.0
                self._scanned()
            furthest = max(furthest, now)  # -1 is what DuckDB says before it can tell
            pace = speed(self._count * now, self._unit, time.monotonic() - self._begun)
            report_progress(stage, self._done + self._share() * min(1.0, furthest), pace)
            if done.wait(_POLL):
                break
        self._scanned()

    def _share(self) -> float:
        """Share of the reading that the present scan is, though how many follow is not known.

        Beyond the usual number each scan is half of what is left.
        """
        return (1.0 - self._done) / max(2, _SCANS - self._scans)

    def _scanned(self) -> None:
        self._done, self._scans = self._done + self._share(), self._scans + 1


def speed(done: float, unit: str, seconds: float) -> str:
    """Say how fast a scan is, such as "1,500,000 rows/s" or "84.0 MB/s"; "" where that is not known."""
    if done <= 0.0 or seconds <= 0.0:
        return ""
    return f"{done / seconds:,.0f} rows/s" if unit == "rows" else f"{done / seconds / 1e6:,.1f} MB/s"


_NUMERIC = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*|BIGNUM")

# What DuckDB says where not the input but memory or a place to write is at fault.
_FILE = re.compile(r'(?:write file|open file|create directory) \\?"(.+?)\\?": ([^"\n]+)')
_FULL = re.compile(r"No space left on device|File too large|Disk quota exceeded|max_temp_directory_size|Out of Memory")

_AGAIN = "copy or download it again, or write it anew"
_REWRITE = "write the file again with one program"
_CLOSE = 'repair the line; inside quotes write "" for a quote'
_LOOK_FOR_QUOTE = "check for a quote that is not closed"
_ONE_ENDING = "lines that all end in the same way"
_EQUAL = "a CSV file with {} values in every line"
_QUOTE = "unterminated quote"


class _Complaint(NamedTuple):
    """What DuckDB says of a CSV file, and the error to raise instead."""

    text: str  # part of what DuckDB says
    mixed: bool | None  # whether lines of the file end in several ways; None if it does not matter
    expected: str  # with {} for the number of columns
    actual: str  # with {} for where it is
    remedy: str


# The first that fits is said; the last two fit all that DuckDB says.
_COMPLAINTS = [
    _Complaint("Invalid unicode", None, "text in UTF-8", "another encoding in {}", "save it again in UTF-8"),
    _Complaint(_QUOTE, True, _ONE_ENDING, "another line ending, or a stray quote, in {}", _REWRITE),
    _Complaint(_QUOTE, False, "a closing quote for every opening one", "a stray quote in {}", _CLOSE),
    _Complaint("aximum line size", None, "lines of at most 2 MB", "a longer one in {}", _LOOK_FOR_QUOTE),
    _Complaint("", True, _EQUAL, "a mix of line endings in {}", _REWRITE),
    _Complaint("", False, _EQUAL, "lines of another form in {}, such as a stray quote", _REWRITE),
]


@dataclass(frozen=True)
class Source:
    """A file, several files, or the result of a query, as a table that can be asked."""

    connection: duckdb.DuckDBPyConnection  # for statements of your own; `arrays` and `rows` are to be preferred
    sql: str  # a SELECT of all columns under the names in `columns`, to stand in brackets after FROM
    original: str  # a SELECT of the same rows with raw values, for copying them; see `select_rows`
    columns: tuple[str, ...]  # names that differ in more than case
    header: tuple[str, ...]  # names of the same columns as they stand in the file
    types: tuple[str, ...]  # DuckDB types of the columns; all VARCHAR if the format is text
    typed: bool  # whether types are known (Parquet, queries but those of SQLite), and texts are no numbers
    format: str  # "CSV", "Parquet", "JSON lines" or "query"
    name: str  # what messages call it
    runner: QueryRunner  # of all queries; it is told how much they read
    folder: Path  # for temporary files; removed with all that is in it when the source is closed
    parts: tuple[Source, ...] = ()  # where several files are read as one: each alone, with the same columns
    renamed: tuple[str, ...] = ()  # fields inside columns that DuckDB gives other names, being equal but for case
    mixed: bool = False  # whether lines of a CSV file end in several ways

    @property
    def names(self) -> tuple[str, ...]:
        """Names of columns as they stand in the file, those left out that stand there more than once."""
        return tuple(name for name, columns in self._by_name.items() if len(columns) == 1)

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        """Return which of `columns` have a name in the file; that of a text file without the spaces around it."""
        columns: dict[str, list[str]] = {}
        for name, column in zip(self.header, self.columns, strict=True):
            columns.setdefault(name.strip() if self.format == "CSV" else name, []).append(column)
        return columns

    def column(self, name: str) -> str:
        """Return a column of that name as an SQL identifier; errors are those of `found`."""
        return quote_name(self.found(name))

    def found(self, name: str) -> str:
        """Return which of `columns` has that name in the file; a `SourceError` if none has, or more than one."""
        by_name = self._by_name
        meant = by_name.get(name, [])
        if len(meant) > 1:
            several = f"{len(meant)} in {self.name}"
            raise SourceError(f"one column named {name!r}", several, "give the columns different names")
        if meant:
            return meant[0]
        raise SourceError(*describe_no_column(name, list(by_name), f" in {self.name}"))

    def joined(self, names: Sequence[str]) -> str:
        """Return columns that name a cluster together as one text; NULL where all are empty."""
        named = [f"CAST({self.column(name)} AS VARCHAR)" for name in names]
        # A character that text does not hold is between them; some may be empty.
        joined = " || chr(31) || ".join(f"coalesce({name}, '')" for name in named)
        return f"CASE WHEN coalesce({', '.join(named)}) IS NOT NULL THEN {joined} END"

    def type_of(self, name: str) -> str:
        """Return the DuckDB type of a column."""
        return self.types[self.columns.index(self.found(name))]

    def kind(self, name: str) -> str:
        """Tell whether a column holds a "number", a "boolean" or "text" (also every other type)."""
        type_ = self.type_of(name)
        if _NUMERIC.fullmatch(type_):
            return "number"
        return "boolean" if type_ == "BOOLEAN" else "text"

    def arrays(self, query: str) -> dict[str, npt.NDArray[Any]]:
        """Return the result of a query as one array per column; values must not be missing."""
        return self.run(lambda: self.connection.execute(query).fetchnumpy())

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return the result of a query as tuples."""
        return self.run(lambda: self.connection.execute(query).fetchall())

    def relation(self, query: str) -> duckdb.DuckDBPyRelation:
        """Return the result of a query that is still to be run."""
        return self.run(lambda: self.connection.sql(query))

    def run(self, work: Callable[[], T]) -> T:
        """Call `work`, which uses the connection, with progress shown and Ctrl-C heard.

        A `SourceError` says that the file is damaged or memory short; after a KeyboardInterrupt nothing runs any more.
        """
        import duckdb

        try:
            return self.runner.run(work)
        except duckdb.Error as error:
            ours = (duckdb.BinderException, duckdb.ParserException, duckdb.CatalogException)
            if isinstance(error, ours) and "expected records" not in str(error):
                if self._has_its_columns():
                    raise  # a mistake in our SQL, not in the file
                remedy = "let nothing change the file while it is read"
                raise SourceError("the same columns at every reading", f"others in {self.name}", remedy) from None
            complaint = str(error)
        no_space = describe_no_space(complaint, self.name)
        if no_space is not None:
            raise no_space
        for part in self.parts:  # read alone, the damaged one says that it is
            part.rows(f"SELECT max(COLUMNS(*)) FROM ({part.sql})")
        raise _explain(complaint, self.name, self.format, len(self.columns), self.mixed)

    def _has_its_columns(self) -> bool:
        """Whether the columns are still those that were there when the source was opened."""
        import duckdb

        try:
            described = self.connection.execute(f"DESCRIBE {self.sql}").fetchall()
        except duckdb.Error:
            return False
        return tuple(str(column) for column, *_ in described) == self.columns

    def numbered(self, select: Callable[[Source], str]) -> str:
        """Return rows, of which `select` says what is to be had of a file, with their `file` and `position` in it."""
        # Of several files each is numbered alone: DuckDB 1.4 does not keep their order in a UNION ALL.
        arms = " UNION ALL ".join(
            f"SELECT {i} AS file, row_number() OVER () AS position, * FROM ({select(part)})"
            for i, part in enumerate(self.parts or (self,))
        )
        return f"({arms}) AS numbered"

    def copied(self, query: str) -> str:
        """Keep the result of a query in a temporary table; return a SELECT of all of it."""
        self.connection.execute(
            f"ATTACH IF NOT EXISTS {quote_text(str(self.folder / 'copy.duckdb'))} AS calibrant_copy"
        )
        self.connection.execute(f"CREATE OR REPLACE TABLE calibrant_copy.rows AS {query}")
        return "SELECT * FROM calibrant_copy.rows"

    def keep_order(self) -> None:
        """Make every later query give rows in the order of the file."""
        self.connection.execute("SET preserve_insertion_order = true")
        if self.format == "JSON lines":  # two threads of DuckDB before 2.0.1 give a last line without an end first
            self.connection.execute("SET threads = 1")

    def in_order(self) -> None:
        """Make every later query keep the order of the file, so that rows can be numbered; slower."""
        self.connection.execute("SET preserve_insertion_order = true")
        self.connection.execute("SET threads = 1")


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


def gap_of(column: str, kind: str) -> str:
    """Return the condition that rows meet which lack a value in a column, of a kind that `Source.kind` tells."""
    if kind == "number":
        return f"coalesce(isnan(CAST({column} AS DOUBLE)), true)"
    words = ", ".join(map(quote_text, sorted(NOT_KNOWN)))
    word = f"coalesce(lower(trim(CAST({column} AS VARCHAR))) IN ({words}), true)"
    return f"({column} IS NULL)" if kind == "boolean" else word


def describe_no_space(text: str, name: str) -> SourceError | None:
    """Return an error, which names the place, if `text` of DuckDB is about memory or files of our own; else None."""
    match = _FILE.search(text)
    if match is not None:
        file = Path(match[1])
        # Our own folders, gone by the time the message is read: that of a draft and that of temporary files.
        draft, temporary = (
            [folder.parent for folder in file.parents if folder.name.startswith(start)]
            for start in (".calibrant-", "calibrant-")
        )
        if draft or temporary:
            what = draft[-1] / file.name if draft else f"temporary files in {temporary[-1]}"
            remedy = "check permissions and free space, or choose another place"
            return SourceError(f"to write {what}", match[2], remedy if draft else f"{remedy} by setting TMPDIR")
    if _FULL.search(text) is None:
        return None
    remedy = "free space there, or set TMPDIR to a larger disk"
    return SourceError("enough memory and space for temporary files", f"too little of them for {name}", remedy)


def _explain(text: str, name: str, format_: str, n_columns: int, mixed: bool) -> SourceError:
    """Turn a complaint of DuckDB into one sentence about the file."""
    if format_ == "Parquet" and "not valid UTF8" in text:
        remedy = "leave the column out, or apply to a Parquet file"
        return SourceError("text in UTF-8", f"other bytes in a column of {name}", remedy)
    if format_ == "Parquet":
        return SourceError("a whole Parquet file", f"{name} damaged or cut short", _AGAIN)
    if "GZIP" in text.upper():
        return describe_damaged_gzip(name)
    if format_ == "JSON lines" and NO_OBJECT in text:
        shown = text.partition(NO_OBJECT)[2].splitlines()[0]
        return SourceError("one JSON object per line", f"{shown!r} in {name}", "repair or drop such lines")
    if format_ == "JSON lines":
        line = re.search(r"in line (\d+)|record/value (\d+)", text)
        location = f"near line {line[1] or line[2]} of {name}" if line else f"in {name}"  # off by one for some mistakes
        return SourceError("one JSON object per line", f"something else {location}", "repair or drop such lines")
    line = re.search(r"on Line: (\d+)", text)
    location = f"line {line[1]} of {name}" if line else name
    counts = re.search(r"Number of Columns: (\d+) Found: (\d+)", text)
    if counts:
        remedy = "repair the line, and put quotes around values that contain the delimiter"
        return SourceError(f"{counts[1]} values in every line, as in the header", f"{counts[2]} in {location}", remedy)
    complaint = next(each for each in _COMPLAINTS if each.text in text and each.mixed in (None, mixed))
    return SourceError(complaint.expected.format(n_columns), complaint.actual.format(location), complaint.remedy)


def describe_no_column(name: Hashable, there: Sequence[Hashable], place: str = "") -> tuple[str, str, str]:
    """Phrase what an error says of a column that is not there: expected, found and remedy."""
    lower = {str(column).lower(): column for column in there}  # names of pandas may be numbers or tuples
    asked = str(name).strip().lower()
    near = difflib.get_close_matches(asked, lower, n=1)
    if len(asked) > 2 and not any(asked in one for one in near):
        near = sorted((one for one in lower if asked in one), key=len)[:1] or near
    listed = ", ".join(map(str, there[:20])) + (", ..." if len(there) > 20 else "")
    if there and all(isinstance(column, str) and _is_datum(column) for column in there):
        remedy = "the first line seems to hold data: put a line with the names of the columns above it"
    elif str(name).partition(".")[0] in there and "." in str(name):  # a field of records
        field = ".".join(map(quote_name, str(name).split(".")))
        remedy = f"make a column of it; read it so: `query=SELECT *, {field} AS {quote_name(str(name))} FROM {ROWS}`"
    elif "*" in str(name) and "`" not in str(name):
        remedy = f"`calibrant.audit` takes a pattern, alone, for several classes: `prediction={name!r}`"
    else:
        remedy = f"did you mean {lower[near[0]]!r}?" if near else "choose one of these"
    return f"a column {name!r}{place}", f"the columns {listed}", remedy


def _is_datum(name: str) -> bool:
    """Whether a name of a column is a number, or empty, so that it will not be a name."""
    try:
        float(name or "0")
    except ValueError:
        return False
    return True
