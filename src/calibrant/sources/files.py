"""Rows of files or of the result of a query: pooled, in slices, one by one, by segment, or in their order."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, partial
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from calibrant.cells.bucket_sums import BucketSet
from calibrant.cells.frame_rows import LazyRows, Seen, fetch_arrays
from calibrant.cells.slices import Slices
from calibrant.errors import DataError
from calibrant.segments.columns import describe_dates
from calibrant.segments.totals import Request, SegmentTotals
from calibrant.sources import engine
from calibrant.sources.columns import FileColumns, LazyColumns, inspect, look_at, seen_of
from calibrant.sources.connection import open_source
from calibrant.sources.formats import PathSpec, name_of
from calibrant.sources.query import Query
from calibrant.sources.rows import ArrayRows, EngineColumn, OrderedRows, Rows
from calibrant.sources.schema import Schema
from calibrant.sources.source import Source, as_number
from calibrant.table.clusters import MOST_COMPARED, Repeated, identifiers, repeated_of
from calibrant.table.missing import Intake
from calibrant.table.parameters import is_number
from calibrant.table.rules import column_values
from calibrant.table.score_table import ScoreTable
from calibrant.table.validation import CleanRows

_TYPES = {"time": "DOUBLE", "id": "BIGINT", "block": "VARCHAR"}  # of further columns; text if a value is of another


def read_table(
    path: PathSpec | Query,
    *,
    outcome: str,
    prediction: str,
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
    outcome : str
        Column of outcomes: 0 and 1, true and false, -1 and 1, or anything with `pos_label`.
    prediction : str
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
    ...     read_table(file, outcome="outcome", prediction="p")
    ScoreTable(2 distinct scores, n=3, positives=1)
    """
    schema = Schema(outcome, prediction, weight, pos_label, count=count, missing=missing)
    with open_source(path, schema.names) as source:
        return FileRows(source, schema).table()


class FileRows(Rows):
    """Rows of an open source."""

    schema: Schema

    def __init__(self, source: Source, schema: Schema) -> None:
        self._source = source
        self._columns = FileColumns(source, schema)
        self.schema = schema

    @cached_property
    def checked(self) -> Seen:
        """What one scan tells of the rows."""
        seen = inspect(self._columns)
        self._source.runner.expect(seen.n, "rows")
        return seen

    @cached_property
    def _segment_columns(self) -> list[tuple[str, EngineColumn]]:
        _, sql, named = self.checked, self._columns.sql(), enumerate(self.schema.by)
        return [segment_column(self._source, sql, f"by{i}", name) for i, name in named]

    @property
    def intake(self) -> Intake:
        """See `Rows`."""
        return self.checked.intake

    def table(self) -> ScoreTable:
        """See `Rows`."""
        source, table = self._source, None
        columns: LazyColumns = self._columns
        if "checked" not in vars(self) and engine.may_be_fit(columns, text=not source.typed):
            if source.typed:
                table = self._table_of_one_scan()
            else:
                columns = self._copied_if_fit() or columns
        if table is not None:
            return table
        seen = self.checked
        rows = source.run(lambda: engine.checked_rows(columns, seen))
        slices = FileSlices(source, rows, of_text=not source.typed and columns is self._columns)
        return source.run(lambda: engine.table_of_checked(rows, seen, Slices(slices.all, slices.inside)))

    def _table_of_one_scan(self) -> ScoreTable | None:
        """Check rows while they are added up; None if they are few, or one is not fit."""
        source, rows = self._source, engine.unchecked_rows(self._columns)
        slices, expect = FileSlices(source, rows), partial(source.runner.expect, unit="rows")
        read = source.run(lambda: engine.read_if_fit(rows, Slices(slices.all, slices.inside), self.schema, expect))
        if read is None:
            return None
        table, self.checked = read
        return table

    def _copied_if_fit(self) -> LazyColumns | None:
        """Copy rows of text as numbers, and check them there.

        None if there are few rows, which are parsed again as fast, if one of them cannot be used as it is, or if
        weights are no whole numbers that are small enough to be added up.
        """
        source, schema = self._source, self.schema
        if source.rows(f"SELECT count(*) FROM (SELECT 1 FROM ({source.sql}) LIMIT {engine.LOOK})")[0][0] < engine.LOOK:
            return None
        rows = engine.unchecked_rows(self._columns).handed_over().to_native().sql_query()
        copy = source.run(lambda: source.copied(rows))
        weights: dict[str, Any] = {"weight": schema.weight and "w", "count": schema.count and "w"}
        copied = LazyColumns(nw.from_native(source.relation(copy)), Schema("y", "s", **weights), self._columns.fetch)
        totals = source.run(lambda: look_at(copied))
        if not totals["fit"]:
            return None
        seen = source.run(lambda: seen_of(copied, totals))
        if seen.weights == "other":
            return None
        source.runner.expect(seen.n, "rows")
        self.checked = seen
        return copied

    @property
    def repeated(self) -> Repeated | None:
        """See `Rows`; in bounded memory, to a few percent."""
        source, schema = self._source, self.schema
        names = [] if schema.cluster else identifiers(source.names, schema.names)
        if not names:
            return None
        counts = ", ".join(f"approx_count_distinct({source.column(name)})" for name in names)
        ((rows, *values),) = source.rows(f"SELECT count(*), {counts} FROM ({source.sql})")
        return repeated_of(dict(zip(names, values, strict=True)), rows)

    def arrays(self) -> ArrayRows:
        """See `Rows`; all values are checked.

        Clusters (a patient, a race, a customer) are compared as text, and numbered from 0 in the order of their names.
        Memory grows with the file: 17 bytes per row, and 8 more for every further column of numbers.
        """
        schema, selected = self.schema, ["CAST(numbered.y AS TINYINT) AS y", "numbered.s"]
        selected += [] if schema.weighting is None else ["numbered.w"]
        models = {column.name: key for key, column in self._columns.numbers.items() if column.what == "score"}
        selected += [f"numbered.{key}" for key in models.values() if key != "s"]
        selected += [f"{sql} AS {column.key}" for sql, column in self._segment_columns]
        if schema.chance is not None:
            selected.append("numbered.h")
        arrays = self._in_order(selected)
        number, names = arrays.get("number"), None
        if number is not None and number.max() < MOST_COMPARED:
            listed = self._source.arrays(f"SELECT DISTINCT c FROM ({self._columns.sql()}) ORDER BY c")["c"]
            names = [str(name).replace("\x1f", ", ") for name in listed]  # which joins the columns, see `Source.joined`
        return ArrayRows(
            arrays["y"],
            arrays["s"],
            count=None if schema.count is None else arrays["w"].astype(np.int64),
            clusters=number,
            by={name: arrays[f"by{i}"] for i, name in enumerate(schema.by)},
            schema=schema,
            scores={name: arrays[models[name]] for name in schema.predictions},
            left_out=self.intake.left_out,
            limits=schema.limits,
            repeated=None if schema.chance is None else self.repeated,
            chance=arrays.get("h"),
            smallest_chance=schema.smallest_chance,
            names=names,
        )

    def segments(self, request: Request) -> SegmentTotals:
        """See `Rows`."""
        request.names(self.schema.by)
        segments = self._segment_columns[request.beside :]
        listed = "".join(f", {sql} AS {column.key}" for sql, column in segments)
        frame: nw.LazyFrame[Any] = nw.from_native(
            self._source.relation(f"SELECT s, y{listed} FROM ({self._columns.sql()})")
        )
        columns = [column for _, column in segments]
        return self._source.run(lambda: engine.segments_of_engine(frame, fetch_arrays, columns, request))

    def _in_order(self, selected: list[str]) -> dict[str, npt.NDArray[Any]]:
        """Return columns of the rows in the order of the files, with the `number` of the cluster if there are any."""
        _, join = self.checked, ""
        self._source.in_order()
        if self.schema.cluster:
            join = self._columns.join_clusters(self._columns.sql())
            selected = [*selected, "CAST(names.number AS BIGINT) AS number"]
        numbered = self._source.numbered(self._columns.sql)
        return self._source.arrays(f"SELECT {', '.join(selected)} FROM {numbered}{join} ORDER BY file, position")

    def in_order(self, *, missing_labels: bool = False) -> OrderedRows:
        """See `Rows`; a `DataError` if one of the further columns is empty in a row."""
        source, schema = self._source, self.schema
        source.in_order()
        if not missing_labels:
            _ = self.checked
        further = {"time": schema.date, "id": schema.id, "block": schema.block}
        score = as_number(source.column(schema.prediction), source.kind(schema.prediction))
        label = "DOUBLE" if schema.pos_label is None else "VARCHAR"
        selected = {"score": score, "label": _as_number_or_text(source, schema.outcome, label)}
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
        if labels.dtype.kind == "f":
            labels = np.ma.filled(labels, np.nan)
        elif schema.pos_label is None:
            strange = next(value for value in labels.tolist() if not (value is None or is_number(value)))
            remedy = "name the outcome that counts as 1 with `pos_label`, and leave labels that are not known empty"
            raise DataError("labels 0 and 1", repr(strange), remedy)
        else:
            labels = column_values(labels, schema.outcome)
        values = {what: np.ma.getdata(arrays[what]) if what in arrays else None for what in further}
        names = np.array([part.name for part in source.parts or (source,)], dtype=object)
        has_files = source.format != "query" and source.name != name_of("-")
        file = names[np.ma.getdata(arrays["file"])] if has_files else None
        return OrderedRows(labels, np.ma.filled(arrays["score"], np.nan), **values, file=file)


def _as_number_or_text(source: Source, name: str, type_: str) -> str:
    """Return a column as numbers of a type if all of its values are, as text otherwise; "true" and "false" are 1, 0."""
    written = f"nullif(trim(CAST({source.column(name)} AS VARCHAR)), '')"
    cast = as_number(written, "text", words=True) if type_ == "DOUBLE" else f"TRY_CAST({written} AS {type_})"
    if type_ == "VARCHAR" or source.rows(f"SELECT count({written}) = count({cast}) FROM ({source.sql})")[0][0]:
        return cast
    return written


def segment_column(source: Source, sql: str, key: str, name: str) -> tuple[str, EngineColumn]:
    """Return a column that makes segments, `key` of a SELECT, and what it is.

    It holds numbers, booleans or text; text of which all is numbers or booleans is such.
    """
    kind = source.type_of(name)
    if kind.startswith("DATE") or (kind.startswith("TIMESTAMP") and "ZONE" not in kind):
        text = f"regexp_replace(CAST({key} AS VARCHAR), ' 00:00:00$', '')"
        return text, EngineColumn(key, name, numeric=False, float_=False)
    if kind.startswith(("TIME", "INTERVAL")):
        raise describe_dates(name, "times or durations")
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


_CACHE = "400MB"


class FileSlices:
    """Rows with columns s (score), y (label) and perhaps w (weight).

    They are copied to a temporary table first if they are of text, which is not parsed again then.
    """

    def __init__(self, source: Source, rows: LazyRows, *, of_text: bool = False) -> None:
        self._source = source
        self._rows = rows
        self._is_text = of_text

    def all(self) -> Iterator[CleanRows]:
        """Yield all rows, in slices that are valid until the next is asked for."""
        source, seen = self._source, 0
        if self._is_text:
            copy = source.copied(self._rows.handed_over().to_native().sql_query())
            self._rows = LazyRows(nw.from_native(source.connection.sql(copy)), self._rows.weights, self._rows.fetch)
            self._is_text = False
        if source.format != "Parquet":
            # Of a table, DuckDB would keep in memory all that it has read, up to its limit.
            source.connection.execute(f"SET memory_limit = '{_CACHE}'")
        for columns in engine.read_batches(self._rows.handed_over().to_native()):
            source.runner.reached(seen)
            yield CleanRows(columns["y"], columns["s"], columns.get("w"))
            seen += len(columns["s"])
        source.runner.reached(None)

    def inside(self, buckets: BucketSet) -> CleanRows:
        """Return the rows in some buckets, and perhaps in some beside them."""
        return self._rows.fetch_rows(buckets)
