"""The rows of a question, however they were handed over: a way in for each kind of outcomes, and one for yours."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError, DataError
from calibrant.kinds import Kind
from calibrant.segments import totals
from calibrant.segments.columns import MIN_ROWS, SegmentColumn
from calibrant.segments.totals import Request, SegmentTotals
from calibrant.sources.named import SINGLE, columns_by_role, columns_of, names_of
from calibrant.sources.rows import ArrayRows, Rows, TableRows, drawn_labels
from calibrant.sources.schema import AMOUNTS, CLASSES, EVENTS, Schema, is_read
from calibrant.table import outcome_table, rules
from calibrant.table.class_checks import ClassLabels
from calibrant.table.class_scores import ClassRows, ClassScores, as_class_scores, known_chances
from calibrant.table.clusters import ClusteredRows, Repeated, cluster_numbers, cluster_rows
from calibrant.table.missing import Intake, LeftOut, missing_values
from calibrant.table.outcome_table import ANY_OUTCOME, Limits, OutcomeRows, OutcomeTable
from calibrant.table.parameters import SIDES, Direction, check_choice, check_count
from calibrant.table.pooling import FloatArray, IndexArray, IntArray
from calibrant.table.row_errors import MISSING, and_more, describe_no_rows, renumbered
from calibrant.table.rules import RowRule
from calibrant.table.score_table import ScoreTable, as_table

if TYPE_CHECKING:
    from calibrant.sources.class_files import ClassFile, FileClasses
    from calibrant.sources.columns import FileColumns


MOST_NUMBERS = 1 << 27  # probabilities of a file, a gigabyte of them, above which one class is read at a time
# What to do where there are no bounds that hold together for all segments: those of each, by Bonferroni.
EACH_ALONE = "audit each segment by itself, at a `confidence_level` of 1 - 0.05 / K for K of them: so all hold together"
READ = 0.6  # share of an audit that is the reading of the rows, where they are read


class RowOrder(NamedTuple):
    """Labels (0 or 1) and scores of rows of equal weight, in the order in which they were given."""

    label: npt.NDArray[np.int8]
    score: npt.NDArray[np.floating]


class AuditedRows(NamedTuple):
    """Rows, pooled."""

    table: ScoreTable
    clustered: ClusteredRows | None  # if they may depend on each other
    drawn: OutcomeTable | None  # if they were looked at with known chances, of which weights are made
    order: RowOrder | None  # if it is known, and means something
    intake: Intake
    repeated: Repeated | None

    @property
    def units(self) -> ScoreTable | ClusteredRows:
        """What is independent: rows, or clusters of them."""
        return self.table if self.clustered is None else self.clustered


@contextmanager
def given_rows(
    data: Any, prediction: Any, kind: Kind | None = None, *, outcome: Any = None, **given: Any
) -> Iterator[Rows]:
    """Open the rows that the arguments of `calibrant.audit` stand for.

    Others are those of `columns_by_role`: scores are within `limits`; `by` makes segments, or holds rating grades.
    """
    if kind is not None and kind.own:
        made = made_by(kind, data, prediction, outcome=outcome, **given)
        columns = made.columns | {"left_out": made.left_out, "places": made.places}
        columns["clusters"] = columns.pop("cluster")
        yield ArrayRows(made.outcome, made.prediction, **columns)
        return
    source, schema, columns = columns_by_role(EVENTS, data, prediction, outcome, **given)
    if schema is not None:
        with rows_of(source, schema) as opened:
            yield opened
    elif isinstance(source, ScoreTable) or prediction is None:
        if columns.get("chance") is not None:
            raise ArgumentError("rows, one by one, with `chance`", "a ScoreTable", "pass the rows")
        weights = {"sample_weight": columns["weight"], "count": columns.get("count")}
        yield TableRows(as_table(source, prediction, **weights, pos_label=given.get("pos_label")))
    else:
        further = {name: given[name] for name in ("pos_label", "limits", "smallest_chance") if name in given}
        columns |= {"by": columns["by"] or {}, "clusters": columns.pop("cluster")}
        rows = ArrayRows(source, prediction, **columns, **further)
        yield rows.without_gaps() if given.get("missing") == "drop" else rows


@contextmanager
def rows_of(source: Any, schema: Schema) -> Iterator[Rows]:
    """Open named columns of a dataframe, of files or of a query; the rows can be asked inside the block."""
    # Imported here, since they load narwhals and DuckDB, which an audit of arrays does without.
    if not is_read(source):
        from calibrant.sources.frames import open_frame

        rows: Rows = open_frame(source, schema)
        yield rows if schema.chance is None else rows.arrays()
        return
    from calibrant.sources.connection import open_source
    from calibrant.sources.files import FileRows

    with open_source(source, schema.names) as opened:
        rows = FileRows(opened, schema)
        yield rows if schema.chance is None else rows.arrays()


def audited_rows(rows: Rows, *, grouped: bool) -> AuditedRows:
    """Pool rows, if they are `grouped` by cluster too."""
    drawn = rows.drawn
    clustered = rows.clustered() if grouped and drawn is None else None
    table = replace(rows.table() if clustered is None else clustered.table, intake=Intake())  # said of the audit, once
    order = None
    if isinstance(rows, ArrayRows) and rows.weight is None and rows.count is None and drawn is None:
        order = RowOrder(*rows.clean[:2])
    return AuditedRows(table, clustered, drawn, order, rows.intake, rows.repeated)


# Base of a kind -> options that say what rows are.
_OF_ALL = ("outcome", "weight", "count", "chance", "cluster", "missing", "by")
_OF_ROWS = {
    "event": ("pos_label", "smallest_chance", *_OF_ALL),
    "classes": ("classes", *_OF_ALL),
    "amount": ("exposure", "limits", "relative_to", "smallest_chance", *_OF_ALL),
}


def row_options(base: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Choose the options of a verb that say what rows of a base are, but for the first two, which hold them."""
    return {name: given[name] for name in _OF_ROWS[base] if name in given}


def segment_totals(kind: Kind, request: Request, given: Mapping[str, Any]) -> SegmentTotals:
    """Add up rows by segment, however they were handed over, by the options of a verb of which a kind takes its own."""
    columns, rows = row_options(kind.base, given), (given["data"], given["prediction"])
    if kind.base == "classes":
        return segments_of_classes(class_scores_of(*rows, **columns), request, given.get("smallest_chance"))
    if kind.base == "amount":
        table = given_outcomes(*rows, kind, **columns)
        return replace(segments_of_outcomes(table, request), left_out=table.rows.left_out)
    with given_rows(*rows, kind, **columns) as opened:
        segments = segments_of(opened, request, given["cluster"], given["count"])
        return replace(segments, left_out=opened.intake.left_out)


def segments_of(rows: Rows, request: Request, *further: Any) -> SegmentTotals:
    """Add up rows by segment, one by one where they have further columns: clusters, a count, or weights (refused)."""
    if (drawn := rows.drawn) is not None:
        return segments_of_outcomes(drawn, request)
    if all(column is None for column in further):
        return rows.segments(request)
    arrays = rows.held()
    if arrays.clusters is None:
        return totals.segments_of_arrays(arrays.label, arrays.score, arrays.by, request, arrays.count)
    cluster, counts = cluster_numbers(arrays.clusters, len(arrays.label)), arrays.count

    def take(at: IndexArray) -> ClusteredRows:
        count = None if counts is None else counts[at]
        return cluster_rows(arrays.label[at], arrays.score[at], cluster[at], count=count, limits=rules.ANY_NUMBER)

    return totals.segments_of_rows(len(arrays.label), take, arrays.by, request, counts)


def given_outcomes(
    data: Any,
    prediction: Any = None,
    kind: Kind | None = None,
    *,
    outcome: Any = None,
    limits: Limits = ANY_OUTCOME,
    relative_to: str = "predicted",
    **given: Any,
) -> OutcomeTable:
    """Return the amounts that arguments stand for, with the columns of `by`; others are those of `columns_by_role`."""
    if kind is not None and kind.own:
        made = made_by(kind, data, prediction, outcome=outcome, **given)
        columns = made.columns | {"limits": limits if kind.limits == ANY_OUTCOME else kind.limits}
        columns |= {"sample_weight": columns.pop("weight", None), "relative_to": relative_to}
        try:
            table = OutcomeTable.from_outcomes(made.outcome, made.prediction, **columns)
        except DataError as error:
            raise made.renumbered(error) from None
        return replace(table, rows=replace(table.rows, left_out=made.left_out))
    source, schema, columns = columns_by_role(AMOUNTS, data, prediction, outcome, **given)
    if schema is not None:
        return OutcomeTable.from_rows(read_outcomes(source, schema, limits, relative_to))
    columns["sample_weight"] = columns.pop("weight")
    if columns["by"] is not None:
        columns["by"] = {name: rules.column_values(one, name) for name, one in columns["by"].items()}
    further: dict[str, Any] = {name: given[name] for name in ("missing", "smallest_chance") if name in given}
    further |= {"limits": limits, "relative_to": relative_to}
    return outcome_table.as_outcome_table(source, prediction, **columns, **further)


def read_outcomes(
    source: Any, schema: Schema, limits: Limits = ANY_OUTCOME, relative_to: str = "predicted"
) -> OutcomeRows:
    """Read the columns of a source, and check them; errors name columns, and rows of a file from 1."""
    names, clusters, settings = schema.numbers, schema.cluster, (limits, relative_to, schema.missing)
    # Imported here, since these load narwhals and DuckDB.
    if not is_read(source):
        from calibrant.sources.frames import clusters_of, in_memory

        frame = in_memory(source, schema)
        values: dict[str, Any] = {what: frame[name].to_native() for what, name in names.items()}
        values["by"] = {name: rules.column_values(frame[name].to_native(), name) for name in schema.by}
        values |= {"cluster": clusters_of(frame, clusters), "smallest_chance": schema.smallest_chance}
        return outcome_table.clean_outcomes(
            values, *settings, names | ({"cluster": " and ".join(clusters)} if clusters else {})
        )
    from calibrant.sources.columns import FileColumns, NumberColumn, check_numbers
    from calibrant.sources.connection import open_source

    with open_source(source, schema.names) as opened:
        conditions = outcome_table.outcome_rules(limits, relative_to) | {
            "chance": rules.chance_rules(schema.smallest_chance)
        }

        def columns(conditions: Mapping[str, Sequence[RowRule]]) -> FileColumns:
            numbers = {what: NumberColumn(what, name, conditions.get(what, ())) for what, name in names.items()}
            return FileColumns(opened, schema, numbers)

        try:
            if schema.drops:  # text that is no number would be taken for a gap
                check_numbers(columns({}))
            return outcome_table.clean_outcomes(_amounts_in(columns({}), schema), *settings)
        except DataError:  # said of the row of a file, if it is about one
            check_numbers(columns(conditions))
            raise


def _amounts_in(columns: FileColumns, schema: Schema) -> dict[str, Any]:
    """Read columns of a file as `clean_outcomes` takes them; numbers that are missing are NaN, clusters None."""
    from calibrant.sources.files import segment_column

    source, rows = columns.source, columns.sql(every=True)
    selected = {what: f"coalesce({what}, 'nan'::DOUBLE)" for what in schema.numbers}
    selected |= {f"by{i}": segment_column(source, rows, f"by{i}", name)[0] for i, name in enumerate(schema.by)}
    selected |= {"cluster": "number"} if schema.cluster else {}
    listed, join = ", ".join(f"{sql} AS {what}" for what, sql in selected.items()), columns.join_clusters(rows)
    arrays = source.arrays(f"SELECT {listed} FROM ({rows}){join if schema.cluster else ''}")
    if not len(arrays["outcome"]):
        raise describe_no_rows(source.name)
    if np.ma.is_masked(arrays.get("cluster")):
        arrays["cluster"] = np.array(arrays["cluster"].tolist(), dtype=object)
    of_segment = {name: rules.column_values(arrays.pop(f"by{i}"), name) for i, name in enumerate(schema.by)}
    return arrays | {"by": of_segment, "smallest_chance": schema.smallest_chance}


class MadeRows(NamedTuple):
    """Rows that a kind of outcomes made: arrays that its base takes, rows left out, and where these stood."""

    outcome: Any
    prediction: Any
    columns: dict[str, Any]
    left_out: LeftOut | None
    places: IndexArray | None

    def renumbered(self, error: DataError) -> DataError:
        """Return an error about them with the numbers of the rows that were given."""
        return error if self.places is None else renumbered(error, self.places)

    def without(self, gaps: npt.NDArray[np.bool_], cause: str) -> MadeRows:
        """Return the rows without some, which are counted under a cause."""
        rest, n, earlier = ~gaps, int(gaps.sum()), self.left_out
        if earlier is None:
            left_out = LeftOut(n, len(gaps), {cause: n}, math.nan, math.nan, math.nan)
        else:
            left_out = replace(earlier, n=earlier.n + n, causes=earlier.causes | {cause: n})
        columns = dict(self.columns) | {"by": {name: one[rest] for name, one in self.columns["by"].items()}}
        for role in {"cluster", *SINGLE, "exposure"} & columns.keys():
            if columns[role] is not None:
                columns[role] = rules.column_values(columns[role], role)[rest]
        places = (np.arange(len(gaps)) if self.places is None else self.places)[rest]
        return MadeRows(self.outcome[rest], self.prediction[rest], columns, left_out, places)


def made_by(
    kind: Kind,
    data: Any,
    prediction: Any,
    *,
    outcome: Any,
    cluster: Any = None,
    by: Any = None,
    missing: str = "raise",
    smallest_chance: float | None = None,
    **single: Any,
) -> MadeRows:
    """Read the columns of a kind, wherever they are, and make of them the outcomes and predictions that are judged.

    All others of the rows, `single` among them, come along as they are.
    """
    beside = {role: value for role, value in single.items() if value is not None} | kind.columns
    names = {role: value if isinstance(value, str) else role for role, value in beside.items()}
    for role in (role for role, value in kind.columns.items() if isinstance(value, str) and outcome is None):
        remedy = f"pass {type(kind).__name__}({role}=...) with one value per row"
        raise ArgumentError(f"values of {role} beside arrays", f"the name {names[role]!r}", remedy)
    segments = {} if by is None else columns_of(by)
    segments = segments if isinstance(segments, dict) else dict(zip(segments, segments, strict=True))
    listed = {name: beside[role] for role, name in names.items()}
    if twice := [name for name, value in segments.items() if not np.array_equal(listed.get(name, value), value)]:
        raise ArgumentError("different names of columns", f"{twice[0]!r} twice", "rename that of `by`")
    listed |= segments
    given = columns_by_role(AMOUNTS, data, prediction, outcome, cluster=cluster, by=listed, missing=missing)
    schema: Schema | None = given.schema
    if schema is not None:
        every = tuple(dict.fromkeys((*schema.by, *schema.cluster)))
        rows = read_outcomes(given.source, replace(schema, cluster=(), by=every), (None, None), "rows")
    elif prediction is None:
        actual = f"a {type(data).__name__} and no predictions"
        raise ArgumentError(f"rows, of which kind {kind.name!r} makes others", actual, "pass outcomes and predictions")
    else:
        arrays = {name: rules.column_values(one, name) for name, one in given.columns["by"].items()}
        columns = {"outcome": data, "prediction": prediction, "cluster": cluster, "by": arrays}
        rows = outcome_table.clean_outcomes(columns, (None, None), "rows", missing)
    taken, places = dict(zip(listed, rows.by.values(), strict=False)), rows.places
    if schema is None and cluster is not None and places is not None:
        cluster = rules.column_values(cluster, "cluster")[places]
    columns = {role: taken[names[role]] if role in names else None for role in SINGLE if role in single}
    columns |= {"cluster": cluster, "by": {name: taken[name] for name in segments}}
    columns |= {"smallest_chance": smallest_chance}
    if schema is not None and is_read(given.source):
        places = (np.arange(len(rows)) if places is None else places) + 1  # from 1 on in files
    made = MadeRows(rows.outcome, rows.prediction, columns, rows.left_out, places)
    try:
        if schema is not None and schema.cluster:  # by their names, which rows that were checked have lost
            named = [_complete(rows.by[name], name) for name in schema.cluster]
            columns["cluster"] = (
                named[0] if not named[1:] else [", ".join(map(str, one)) for one in zip(*named, strict=True)]
            )
        further = {role: _numbers(taken[names[role]], names[role]) for role in kind.columns}
        outcome, prediction, *exposure = _returned(kind, rows.outcome, rows.prediction, further)
    except DataError as error:
        raise made.renumbered(error) from None
    if exposure:
        if single.get("exposure") is not None:
            raise ArgumentError(f"no `exposure`, as kind {kind.name!r} makes it", "it", "leave it out")
        columns["exposure"] = exposure[0]
    made = made._replace(outcome=outcome, prediction=prediction)
    gaps = np.asarray(np.isnan(np.asarray((outcome, prediction, *exposure), dtype=np.float64)).any(axis=0))
    if gaps.any() and missing != "drop":
        row = and_more("none", f"row {np.argmax(gaps)}", int(gaps.sum()))
        remedy = "pass missing='drop' to leave such rows out, or correct its method rows"
        raise made.renumbered(DataError(f"numbers from kind {kind.name!r}", row, remedy))
    return made.without(gaps, f"value that kind {kind.name!r} makes") if gaps.any() else made


def _returned(kind: Kind, outcome: FloatArray, prediction: FloatArray, further: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what a kind makes of rows, if that is what it should be; else raise an error about the kind."""
    correct = "correct its method rows"
    try:
        made = kind.rows(outcome, prediction, **further)
    except DataError:
        raise
    except (TypeError, ValueError) as error:
        expected = f"rows of which kind {kind.name!r} makes outcomes and predictions"
        raise DataError(expected, str(error), "check the columns that it names") from error
    if not isinstance(made, tuple) or len(made) not in (2, 3):
        expected = f"outcomes, predictions and perhaps exposures from kind {kind.name!r}"
        raise ArgumentError(expected, f"a {type(made).__name__}", correct)
    if shapes := {np.shape(one) for one in made} - {outcome.shape}:
        expected = f"{len(outcome)} outcomes, predictions and exposures, as rows, from kind {kind.name!r}"
        raise ArgumentError(
            expected, f"an array of shape {shapes.pop()}", f"{correct}: a row that it leaves out is nan"
        )
    odd = np.isinf(np.asarray(made, dtype=np.float64)).any(axis=0)
    if odd.any():
        row = and_more("infinity", f"row {np.argmax(odd)}", int(odd.sum()))
        raise DataError(f"finite numbers from kind {kind.name!r}", row, correct)
    return made


def _complete(values: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """Return a column if it has a value in every row; else raise a `DataError`."""
    if (gaps := missing_values(values)).any():
        first = int(np.argmax(gaps))
        actual = and_more(str(values[first]), f"row {first}", int(gaps.sum()))
        raise DataError(f"a value of {name} in every row", actual, MISSING)
    return values


def _numbers(values: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """Return such a column, as floats if all are numbers."""
    kind = _complete(values, name).dtype.kind
    numbers = kind in "biuf" or (kind == "O" and all(isinstance(one, int | float) for one in values.tolist()))
    return values.astype(np.float64) if numbers else values


def class_scores_of(data: Any, prediction: Any = None, **columns: Any) -> ClassScores:
    """Return `ClassScores`, made of labels and probabilities, or of a source of rows with the names of its columns."""
    with class_tables_of(data, prediction, whole=True, **columns) as rows:
        assert isinstance(rows, ClassScores)
        return rows


@contextmanager
def class_tables_of(
    data: Any, prediction: Any = None, *, outcome: Any = None, classes: Any = None, whole: bool = False, **given: Any
) -> Iterator[ClassScores | FileClasses]:
    """Give the same, but of a file with very many probabilities, not `whole`, what reads one class at a time inside.

    Others are those of `columns_by_role`.
    """
    missing = given.get("missing", "raise")
    source, schema, columns = columns_by_role(CLASSES, data, prediction, outcome, **given)
    if schema is None:
        columns["sample_weight"] = columns.pop("weight")
        yield as_class_scores(source, prediction, classes=classes, missing=missing, **columns)
        return
    # Imported here, since these load DuckDB or narwhals, which arrays do without.
    if is_read(source):
        from calibrant.sources.class_files import ClassFile, FileClasses
        from calibrant.sources.connection import open_source

        listed = () if isinstance(prediction, str) else schema.matching([schema.outcome, *prediction]).names
        with open_source(source, listed) as opened:
            file = ClassFile.of(opened, schema.matching(opened.names))
            large = not whole and file.alone and file.n * len(file.names) > MOST_NUMBERS
            yield FileClasses.of(file, classes) if large else _matrix_of(file, classes)
        return
    from calibrant.sources.frames import as_frame, clusters_of, in_memory, names_of_frame

    schema = schema.matching(names_of_frame(as_frame(source)))
    frame = in_memory(source, schema)
    further = {"sample_weight": schema.weight, "count": schema.count, "chance": schema.chance}
    columns = {role: None if name is None else frame[name].to_numpy() for role, name in further.items()}
    columns |= {"cluster": clusters_of(frame, schema.cluster), "classes": classes, "missing": missing}
    columns["by"] = {name: frame[name].to_native() for name in schema.by}
    label, proba = frame[schema.outcome].to_native(), {name: frame[name].to_numpy() for name in schema.predictions}
    yield ClassScores.from_scores(label, proba, **columns)


def _matrix_of(file: ClassFile, classes: Sequence[Any] | None) -> ClassScores:
    """Read a file into one matrix."""
    number, values = np.empty(file.n, dtype=np.int64), np.empty((file.n, len(file.numbers)))

    def fill(start: int, part: IntArray, numbers: FloatArray) -> None:
        number[start : start + len(part)] = part
        values[start : start + len(part)] = numbers

    beside, schema, n_classes = file.read(fill), file.schema, len(file.names)
    beside |= {role: values[:, -1] for role in ("weight", "count", "chance") if getattr(schema, role) is not None}
    labels, named = ClassLabels(file.met, number), (list(file.names), classes)
    try:
        proba = values[:, :n_classes]
        rows = ClassScores.from_numbered(labels, proba, named, beside, missing=schema.missing, copy=False)
    except DataError as error:
        raise renumbered(error, range(1, file.n + 1)) from None  # from 1 on in files
    return replace(rows, order=None if rows.order is None else rows.order + 1)  # as later errors have to


def segments_of_outcomes(table: OutcomeTable, request: Request) -> SegmentTotals:
    """Part amounts by the columns of `by`."""
    rows = table.rows

    def take(at: IndexArray) -> OutcomeTable:
        return OutcomeTable.from_rows(rows.pick(at))

    return replace(totals.segments_of_rows(len(rows), take, rows.by, request), unit=table.total_unit)


def segments_of_classes(rows: ClassScores, request: Request, smallest_chance: float | None = None) -> SegmentTotals:
    """Part rows by class and the columns of `by`: every class is judged in every segment of these."""
    cluster, chance = rows.cluster, known_chances(rows, smallest_chance)
    if rows.weight is not None:
        raise DataError("rows, or a `count` of equal ones", "weights that count no rows", rules.PROVED_OF_CLASSES)
    families, codes = totals.families_of_rows(rows.by, len(rows), request)
    classes = SegmentColumn("class", tuple(map(str, rows.classes)))
    known: dict[str, Any] = {"families": totals.families_within((classes, *family.columns) for family in families)}
    known |= {"direction": request.direction, "left_out": rows.left_out, "times": len(rows.classes)}
    parts = list(rows.by_class())
    if chance is None and cluster is None:
        of_class = [totals.totals_of(part.outcome, part.score, families, codes, request) for part in parts]
        of_families: Any = map(totals.CellTotals.joined, zip(*of_class, strict=True))
    else:
        if chance is not None:
            known["unit"] = float((1.0 / chance).sum())

        def take(part: ClassRows) -> Callable[[IndexArray], Any]:
            def rows_at(at: IndexArray) -> ClusteredRows | OutcomeTable:
                of_cell = None if cluster is None else cluster[at]
                if chance is not None:
                    return drawn_labels(part.outcome[at], part.score[at], chance[at], smallest_chance, cluster=of_cell)
                assert of_cell is not None
                return cluster_rows(part.outcome[at].view(np.int8), part.score[at], of_cell)

            return rows_at

        takes = [take(part) for part in parts]
        of_families = (
            totals.CellRows.of(code, len(family), takes) for family, code in zip(families, codes, strict=True)
        )
    return SegmentTotals(len(rows), len(rows), totals=tuple(of_families), exact=True, **known)


def segment_request(
    by: Any,
    depth: int | None,
    direction: Direction,
    min_rows: int = MIN_ROWS,
    cuts: Mapping[str, Sequence[float]] | None = None,
    beside: int = 0,
) -> Request:
    """Check what is asked about segments."""
    check_choice("direction", direction, tuple(SIDES))
    check_count("min_rows", min_rows, 1, "segments with fewer rows are pooled or not judged")
    if cuts is not None and not isinstance(cuts, Mapping):
        raise ArgumentError("`cuts` as a mapping of names to numbers", repr(cuts), "pass for example {'age': [30, 60]}")
    names = names_of(by)
    if not names:
        raise ArgumentError("at least one column in `by`", "none", "name the columns that make segments")
    checked = totals.check_depth(min(2, len(names)) if depth is None else depth, len(names))
    return Request(checked, min_rows, dict(cuts or {}), direction, beside)
