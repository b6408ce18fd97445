"""Read labels and scores from files or the result of a query: into a score table, or row by row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.cells.frame_rows import CheckedRows, LazyRows, fetched
from calibrant.cells.gathering import table_of_rows
from calibrant.cells.slices import PackedRows
from calibrant.sources.checks import Summary, check
from calibrant.sources.connection import open_source
from calibrant.sources.faults import Columns
from calibrant.sources.paths import Place
from calibrant.sources.query import Query
from calibrant.sources.source import COPY, Source, Span
from calibrant.table.missing import Intake
from calibrant.table.score_table import FloatArray, ScoreTable

if TYPE_CHECKING:
    import narwhals as nw

__all__ = ["Rows", "ScoredRows", "SlicedRows", "read_rows", "read_scores", "read_table", "table_of_files"]

_LEAST = 1 << 17  # rows of a span; a query for fewer takes longer to begin than to read


def read_table(
    path: Place | Query,
    *,
    label: str,
    score: str,
    weight: str | None = None,
    pos_label: Any = None,
    missing: str = "raise",
) -> ScoreTable:
    r"""Read a file into a score table, in bounded memory whatever its length.

    Parameters
    ----------
    path : str, path-like, sequence of these, or Query
        A CSV (also with tabs, semicolons or bars), Parquet or JSON lines file, text formats also inside gzip; "-"
        for standard input; or a query of a database. Also several files of one format, whose rows then count
        together: a list; a folder, of which all Parquet files are meant; or a pattern with ``*``, ``?``, ``[...]`` and
        ``**`` (any number of folders), such as ``"part-*.csv"``. Patterns and folders pass over names that begin with a
        dot or an underscore, as Spark does.
    label : str
        Column of outcomes: 0 and 1, true and false, -1 and 1, or anything with `pos_label`.
    score : str
        Column of predicted probabilities.
    weight : str, optional
        Column of weights; whole numbers count as repeated rows.
    pos_label : scalar, optional
        The outcome that counts as 1, against all others; compared as text and, if it is a number, as number.
    missing : {"raise", "drop"}
        With "drop", rows without a label, a score or a weight are left out and counted, see `intake` of the table.
        Beside empty values these are NA, N/A, #N/A, <NA>, NaN, null, a point or a question mark, in any case.

    Returns
    -------
    ScoreTable
        Equal to that of `ScoreTable.from_scores`. With more than about two million different scores neighbours
        share cells, except where the cutoff calibration error lies: it and its interval stay exact.

    Raises
    ------
    SourceError
        If the file, the database or a column cannot be read.
    DataError
        If labels, scores or weights cannot be used; the message names the file and the first such row in it,
        counted from 1 after the header.
    KeyboardInterrupt
        If the user stopped it; nothing is left behind.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from calibrant.sources.files import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "scores.csv"
    ...     _ = file.write_text("outcome,p\n0,0.2\n1,0.7\n0,0.7\n")
    ...     read_table(file, label="outcome", score="p")
    ScoreTable(2 distinct scores, n=3, positives=1)
    """
    return table_of_files(path, Columns(label, score, weight, pos_label, missing=missing))


def table_of_files(path: Place | Query, columns: Columns) -> ScoreTable:
    """Do what `read_table` does."""
    with open_source(path, wanted=columns.names) as source:
        summary = check(source, columns)
        return source.run(lambda: table_of_rows(_checked_rows(source, summary)))


class Rows(NamedTuple):
    """Columns of a file, in memory."""

    label: npt.NDArray[np.bool_]  # whether each row is positive
    score: FloatArray
    weight: FloatArray | None  # None if no column of weights was named
    cluster: npt.NDArray[np.int64]  # number of its cluster, from 0, in the order of the clusters' names
    intake: Intake = Intake()


def read_rows(path: Place | Query, columns: Columns) -> Rows:
    """Read the rows of a file with the cluster each belongs to, in the order of the file.

    Clusters (a patient, a race, a customer) are named by one column or by several together; they are compared as text,
    and each row must have one. The rest, and the errors, are as in `read_table`. Memory grows with the file: 17 bytes
    per row and 8 more with weights.
    """
    with open_source(path, wanted=columns.names) as source:
        summary = check(source, columns)
        source.in_order()
        weight = "" if columns.weight is None else ", numbered.w"
        found = _in_order(source, summary, f"numbered.positive, numbered.s{weight}")
    number = found["number"].astype(np.int64)
    return Rows(found["positive"], found["s"], found.get("w"), number, summary.intake)


class ScoredRows(NamedTuple):
    """Labels and several columns of scores of a file, in memory."""

    label: npt.NDArray[np.bool_]  # whether each row is positive
    scores: dict[str, FloatArray]  # by the name of the column
    cluster: npt.NDArray[np.int64] | None  # as in `Rows`; None if no column names it


def read_scores(
    path: Place | Query,
    *,
    label: str,
    scores: Sequence[str],
    cluster: Sequence[str] = (),
    pos_label: Any = None,
) -> ScoredRows:
    """Read the scores of several models for the same rows, in the order of the file.

    The rest, and the errors, are as in `read_rows`. Memory grows with the file: 9 bytes per row, and 8 for every column
    of scores but the first.
    """
    by_score = [Columns(label, score, None, pos_label, tuple(cluster)) for score in scores]
    wanted = tuple(dict.fromkeys(name for columns in by_score for name in columns.names))
    with open_source(path, wanted=wanted) as source:
        summaries = [check(source, columns) for columns in by_score]
        source.in_order()
        found = [_in_order(source, summary, "numbered.positive, numbered.s") for summary in summaries]
    number = found[0].get("number")
    return ScoredRows(
        label=found[0]["positive"],
        scores={name: columns["s"] for name, columns in zip(scores, found, strict=True)},
        cluster=None if number is None else number.astype(np.int64),
    )


def _in_order(source: Source, summary: Summary, wanted: str) -> dict[str, npt.NDArray[Any]]:
    """Return columns of the rows in the order of the files, with the number of the cluster if there are clusters."""
    # Of several files each is numbered alone: DuckDB 1.4 does not keep their order in a UNION ALL.
    numbered = " UNION ALL ".join(
        f"SELECT {i} AS file, row_number() OVER () AS place, * FROM ({summary.shape(part.sql)})"
        for i, part in enumerate(source.parts or (source,))
    )
    join = ""
    if summary.clustered:
        names = f"SELECT c, row_number() OVER (ORDER BY c) - 1 AS number FROM (SELECT DISTINCT c FROM ({summary.sql}))"
        wanted, join = f"{wanted}, names.number", f" JOIN ({names}) AS names USING (c)"
    return source.arrays(f"SELECT {wanted} FROM ({numbered}) AS numbered{join} ORDER BY file, place")


def _checked_rows(source: Source, summary: Summary) -> CheckedRows:
    rows = LazyRows(_weighty(source, summary, "s", "positive", f"({summary.sql})"), summary.weights, fetched)
    slices = SlicedRows(source, summary, rows)
    return CheckedRows(rows, summary.low, summary.high, summary.distinct, slices, summary.intake)


def _weighty(source: Source, summary: Summary, score: str, positive: str, table: str) -> nw.LazyFrame[Any]:
    """Return scores and labels of the rows that have weight as a frame of DuckDB."""
    import narwhals as nw

    kept = "" if summary.weights == "none" else " WHERE w > 0"
    query = f"SELECT {score} AS s, CAST({positive} AS BIGINT) AS y{summary.weight} FROM {table}{kept}"
    return nw.from_native(source.connection.sql(query))


class SlicedRows:
    """Checked rows of a source, packed, to be read as often as needed.

    Those that cannot be read from the middle, or are in too many pieces, are copied to a temporary table first, which
    `rows` are then asked of too: text is not parsed again.
    """

    def __init__(self, source: Source, summary: Summary, rows: LazyRows) -> None:
        self._source = source
        self._summary = summary
        self._rows = rows
        # As `LazyRows.packed` has it, but of one span after the other.
        value = "CASE WHEN positive THEN abs(s) ELSE abs(s) * -1 END AS value"
        self._query = f"SELECT {value}{summary.weight} FROM ({{}})"
        self._spans: list[Span] = []

    def __call__(self) -> Iterator[PackedRows]:
        """Yield all rows."""
        if not self._spans:
            self._spans = self._cut()
        self._source.expect(sum(span.rows for span in self._spans))
        seen = 0
        with ThreadPoolExecutor(1, thread_name_prefix="calibrant-slice") as ahead:
            waiting: list[Future[PackedRows]] = []
            for span in self._spans:
                waiting.append(ahead.submit(self._read, span))
                if len(waiting) > 1:
                    yield waiting.pop(0).result()
                self._source.reached(seen)
                seen += span.rows
            yield waiting.pop().result()
        self._source.reached(None)

    def _cut(self) -> list[Span]:
        source, summary = self._source, self._summary
        spans = source.spans()
        if spans is None or sum(span.rows for span in spans) < _LEAST * len(spans):
            copy = source.copied(self._query.format(summary.sql))
            self._rows.frame = _weighty(source, summary, "abs(value)", "NOT signbit(value)", COPY)
            return copy
        return [Span(self._query.format(summary.shape(span.sql)), span.rows) for span in spans]

    def _read(self, span: Span) -> PackedRows:
        found = self._source.connection.execute(span.sql).fetchnumpy()
        columns = {name: np.ma.getdata(column) for name, column in found.items()}
        return PackedRows(columns["value"], columns.get("w"))
