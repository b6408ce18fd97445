"""Rows of files or of the result of a query: pooled, in slices, one by one, by segment, or in their order."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from calibrant.cells.frame_rows import CheckedRows, LazyRows, fetch_arrays
from calibrant.cells.slices import Slices
from calibrant.errors import DataError
from calibrant.segments.totals import Request, SegmentTotals
from calibrant.segments.values import describe_dates
from calibrant.sources.checks import Summary, check, summary_of_fit
from calibrant.sources.connection import open_source
from calibrant.sources.file_slices import FileSlices
from calibrant.sources.fit_rows import may_be_fit, most_differ, read_if_fit, rows_to_look_at, table_of_checked
from calibrant.sources.paths import PathSpec, name_of
from calibrant.sources.protocol import Columns, EngineColumn, HeldRows, ModelRows, OrderedRows, Rows
from calibrant.sources.query import Query
from calibrant.sources.segment_scan import segments_of_engine
from calibrant.sources.source import Source, as_number
from calibrant.sources.text_copy import copy_if_fit
from calibrant.table.clusters import MOST_COMPARED
from calibrant.table.identifiers import Repeated, identifiers, repeated_of
from calibrant.table.missing import Intake
from calibrant.table.score_table import ScoreTable

_TYPES = {"time": "DOUBLE", "id": "BIGINT", "block": "VARCHAR"}  # of further columns; text if a value is of another


def read_table(
    path: PathSpec | Query,
    *,
    label: str,
    score: str,
    weight: str | None = None,
    count: str | None = None,
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
    weight, count : str, optional
        Column of weights, of which only the ratios matter; or of whole numbers, if rows stand for so many equal ones.
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
    columns = Columns(label, score, weight, pos_label, count=count, missing=missing)
    with open_source(path, columns.names) as source:
        return FileRows(source, columns).table()


class FileRows(Rows):
    """Rows of an open source."""

    columns: Columns

    def __init__(self, source: Source, columns: Columns) -> None:
        self._source = source
        self.columns = columns

    @cached_property
    def checked(self) -> Summary:
        """What one scan tells of the rows."""
        return check(self._source, self.columns)

    @cached_property
    def _segment_columns(self) -> list[tuple[str, EngineColumn]]:
        sql, named = self.checked.sql, enumerate(self.columns.by)
        return [segment_column(self._source, sql, f"by{i}", name) for i, name in named]

    @property
    def intake(self) -> Intake:
        """See `Rows`."""
        return self.checked.intake

    def table(self) -> ScoreTable:
        """See `Rows`."""
        source, columns = self._source, self.columns
        table = self._table_if_fit() if "checked" not in vars(self) and may_be_fit(columns) else None
        summary = self.checked
        return source.run(lambda: table_of_checked(_rows_with_weight(source, summary))) if table is None else table

    def _table_if_fit(self) -> ScoreTable | None:
        """Check rows of text where they were copied to, others while they are added up; None if one is not fit.

        Rows have to be many for that, and if they are not text most scores different.
        """
        source, columns = self._source, self.columns
        unchecked = f"SELECT {_unchecked(source, columns)} FROM ({source.sql})"
        if not source.typed:
            copied = copy_if_fit(source, columns, unchecked)
            if copied is None:
                return None
            self.checked = summary_of_fit(source, columns, copied.distinct)
            return source.run(lambda: table_of_checked(_rows_with_weight(source, copied)))
        rows = _rows_for_one_scan(source, columns)
        if rows is None:
            return None
        slices = FileSlices(source, unchecked)
        read = source.run(lambda: read_if_fit(Slices(slices.all, slices.inside), rows, columns))
        if read is None:
            return None
        self.checked = summary_of_fit(source, columns, read.different)
        return read.table

    @property
    def repeated(self) -> Repeated | None:
        """See `Rows`; in bounded memory, to a few percent."""
        source, columns = self._source, self.columns
        names = [] if columns.clusters else identifiers(source.names, columns.names)
        if not names:
            return None
        counts = ", ".join(f"approx_count_distinct({source.column(name)})" for name in names)
        ((rows, *values),) = source.rows(f"SELECT count(*), {counts} FROM ({source.sql})")
        return repeated_of(dict(zip(names, values, strict=True)), rows)

    def held(self) -> HeldRows:
        """See `Rows`.

        Clusters (a patient, a race, a customer) are compared as text, and numbered from 0 in the order of their names.
        Memory grows with the file: 17 bytes per row, and 8 more with weights.
        """
        self._need_counts()
        columns, selected = self.columns, ["numbered.positive", "numbered.s"]
        selected += [] if columns.count is None else ["numbered.w"]
        selected += [f"{sql} AS {column.key}" for sql, column in self._segment_columns]
        arrays = self._in_order(selected)
        by = {name: arrays[f"by{i}"] for i, name in enumerate(columns.by)}
        number, names = arrays.get("number"), None
        count = None if columns.count is None else arrays["w"].astype(np.int64)
        if number is not None and number.max() < MOST_COMPARED:
            listed = self._source.arrays(f"SELECT DISTINCT c FROM ({self.checked.sql}) ORDER BY c")["c"]
            names = [str(name).replace("\x1f", ", ") for name in listed]  # which joins the columns, see `checks`
        return HeldRows(arrays["positive"], arrays["s"], count, number, by, names)

    def models(self) -> ModelRows:
        """See `Rows`.

        Memory grows with the file: 9 bytes per row, and 8 for every column of scores but the first.
        """
        names = self.columns.models
        counts = [] if self.columns.count is None else ["numbered.w"]
        arrays = self._in_order(["numbered.positive", *(f"numbered.m{i}" for i in range(len(names))), *counts])
        scores = {name: arrays[f"m{i}"] for i, name in enumerate(names)}
        return ModelRows(arrays["positive"], scores, arrays.get("number"), None, self.intake.left_out, arrays.get("w"))

    def segments(self, request: Request) -> SegmentTotals:
        """See `Rows`."""
        request.check_names(self.columns.by)
        listed = "".join(f", {sql} AS {column.key}" for sql, column in self._segment_columns)
        query = f"SELECT s, CAST(positive AS BIGINT) AS y{listed} FROM ({self.checked.sql})"
        frame: nw.LazyFrame[Any] = nw.from_native(self._source.connection.sql(query))
        columns = [column for _, column in self._segment_columns]
        return self._source.run(lambda: segments_of_engine(frame, fetch_arrays, columns, request))

    def _in_order(self, selected: list[str]) -> dict[str, npt.NDArray[Any]]:
        """Return columns of the rows in the order of the files, with the `number` of the cluster if there are any."""
        summary, join = self.checked, ""
        self._source.in_order()
        if self.columns.clusters:
            clusters = f"SELECT DISTINCT c FROM ({summary.sql})"
            names = f"SELECT c, row_number() OVER (ORDER BY c) - 1 AS number FROM ({clusters})"
            join = f" JOIN ({names}) AS names USING (c)"
            selected = [*selected, "CAST(names.number AS BIGINT) AS number"]
        numbered = self._source.numbered(lambda part: f"SELECT * FROM ({summary.shape(part.sql)})")
        return self._source.arrays(f"SELECT {', '.join(selected)} FROM {numbered}{join} ORDER BY file, position")

    def in_order(self, *, missing_labels: bool = False) -> OrderedRows:
        """See `Rows`; a `DataError` if one of the further columns is empty in a row."""
        source, columns = self._source, self.columns
        source.in_order()
        if not missing_labels:
            _ = self.checked
        further = {"time": columns.time, "id": columns.id, "block": columns.block}
        score = as_number(source.column(columns.score), source.kind(columns.score))
        selected = {"score": score, "label": _as_label(source, columns)}
        for what, name in further.items():
            if name is not None:
                selected[what] = _as_number_or_text(source, name, _TYPES[what])
        listed = ", ".join(f"{sql} AS {what}" for what, sql in selected.items())
        numbered = source.numbered(lambda part: f"SELECT {listed} FROM ({part.sql})")
        arrays = source.arrays(f"SELECT file, {', '.join(selected)} FROM {numbered} ORDER BY file, position")
        for what, name in further.items():
            if name is not None and np.ma.is_masked(arrays[what]):
                row = int(np.argmax(np.ma.getmaskarray(arrays[what]))) + 1
                raise DataError(f"a value of {name} in every row", f"none in row {row}", "fill it in, or drop the row")
        labels = arrays["label"]
        if columns.pos_label is None:
            labels = np.ma.filled(labels, np.nan)
        elif np.ma.is_masked(labels):
            missing, labels = np.ma.getmaskarray(labels), np.ma.getdata(labels).astype(object)
            labels[missing] = None
        values = {what: np.ma.getdata(arrays[what]) if what in arrays else None for what in further}
        names = np.array([part.name for part in source.parts or (source,)], dtype=object)
        has_files = source.format != "query" and source.name != name_of("-")
        file = names[np.ma.getdata(arrays["file"])] if has_files else None
        return OrderedRows(labels, np.ma.filled(arrays["score"], np.nan), **values, file=file)


def _as_label(source: Source, columns: Columns) -> str:
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


def _as_number_or_text(source: Source, name: str, type_: str) -> str:
    """Return a column as numbers of a type if all of its values are, as text otherwise."""
    written = f"nullif(trim(CAST({source.column(name)} AS VARCHAR)), '')"
    cast = f"TRY_CAST({written} AS {type_})"
    if type_ == "VARCHAR" or source.rows(f"SELECT count({written}) = count({cast}) FROM ({source.sql})")[0][0]:
        return cast
    return written


def segment_column(source: Source, sql: str, key: str, name: str) -> tuple[str, EngineColumn]:
    """Return a column that makes segments, `key` of a SELECT, and what it is.

    It holds numbers, booleans or text; text of which all is numbers or booleans is such.
    """
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


def _rows_for_one_scan(source: Source, columns: Columns) -> int | None:
    """Count the rows if they can be checked while they are added up, which takes most scores to be different."""
    if "text" in map(source.kind, columns.of_rows.values()):
        return None
    rows = int(source.rows(f"SELECT count(*) FROM ({source.sql})")[0][0])
    if not most_differ(rows, 1, 1):
        return None
    head = f"SELECT {source.column(columns.score)} AS s FROM ({source.sql}) LIMIT {rows_to_look_at(rows)}"
    counts = f"SELECT count(*) AS times FROM ({head}) GROUP BY s"
    if not most_differ(rows, *source.rows(f"SELECT sum(times), count(*) FILTER (times = 1) FROM ({counts})")[0]):
        return None
    source.runner.expect(rows, "rows")
    return rows


def _unchecked(source: Source, columns: Columns) -> str:
    """Return scores, labels and weights that are still to be checked, see `read_if_fit`."""
    label = as_number(source.column(columns.label), source.kind(columns.label), words=True)
    score = as_number(source.column(columns.score), source.kind(columns.score))
    selected = f"{score} AS s, CASE {label} WHEN 1 THEN 1::TINYINT WHEN 0 THEN 0::TINYINT ELSE 2::TINYINT END AS y"
    if columns.weighting is None:
        return selected
    return f"{selected}, {as_number(source.column(columns.weighting), source.kind(columns.weighting))} AS w"


def _rows_with_weight(source: Source, summary: Summary) -> CheckedRows:
    """Return the rows of a source that have weight, and ways to have them in slices."""
    condition = "" if summary.weights == "none" else " WHERE w > 0"
    rest = f"{summary.weight} FROM ({summary.sql}){condition}"
    frame = nw.from_native(source.connection.sql(f"SELECT s, CAST(positive AS BIGINT) AS y{rest}"))
    rows = LazyRows(frame, summary.weights, fetch_arrays)
    slices = FileSlices(
        source, f"SELECT s, CAST(positive AS TINYINT) AS y{rest}", of_text=not (source.typed or summary.copied)
    )
    of_source = Slices(slices.all, slices.inside)
    return CheckedRows(rows, summary.distinct, of_source, summary.intake, summary.low, summary.high, summary.sums)
