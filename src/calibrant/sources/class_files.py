"""Files of the probabilities of several classes: read in batches, or one class after the other.

The second is for files with more probabilities than memory should hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calibrant.errors import DataError
from calibrant.sources.columns import FileColumns, check_numbers
from calibrant.sources.engine import read_batches
from calibrant.sources.files import FileRows, segment_column
from calibrant.sources.formats import quote_text
from calibrant.sources.schema import Schema
from calibrant.sources.source import Source, as_number
from calibrant.table import class_checks
from calibrant.table.missing import is_missing
from calibrant.table.pooling import FloatArray, IntArray
from calibrant.table.row_errors import describe_missing, describe_no_rows, describe_other_rows, renumbered
from calibrant.table.rules import column_values
from calibrant.table.score_table import ScoreTable


@dataclass(frozen=True)
class ClassFile:
    """A file with a column of labels, and one of probabilities for each class."""

    source: Source
    schema: Schema  # the probabilities of all classes are its `predictions`
    met: list[Any]  # different labels
    n: int
    # A SELECT of the number of the label, y, -1 where there is none, of numbers, p0, p1, ..., and of what is beside.
    sql: str

    @classmethod
    def of(cls, source: Source, schema: Schema) -> ClassFile:
        """Number the labels."""
        value = source.column(schema.outcome)
        if source.kind(schema.outcome) == "text":
            value = f"CAST({value} AS VARCHAR)" if source.typed else f"nullif(trim({value}), '')"
        text = f"CAST({value} AS VARCHAR)"
        met = source.rows(f"SELECT {value}, {text} AS text, count(*) FROM ({source.sql}) GROUP BY ALL ORDER BY text")
        n = sum(count for *_, count in met)
        if not n:
            raise describe_no_rows(source.name)
        known = [(value, text) for value, text, _ in met if not is_missing(value)]
        number = " ".join(f"WHEN {quote_text(text)} THEN {i}" for i, (_, text) in enumerate(known)) or "WHEN '' THEN -1"
        file = cls(source, schema, [value for value, _ in known], n, "")
        selected = [f"CAST(CASE {text} {number} ELSE -1 END AS BIGINT) AS y"]
        for k, name in enumerate(file.numbers):
            selected.append(f"coalesce({as_number(source.column(name), source.kind(name))}, 'nan'::DOUBLE) AS p{k}")
        if schema.cluster:
            selected.append(f"nullif({source.joined(schema.cluster)}, '') AS c")
        for i, name in enumerate(schema.by):
            selected.append(f"{segment_column(source, source.sql, source.column(name), name)[0]} AS by{i}")
        return replace(file, sql=f"SELECT {', '.join(selected)} FROM ({source.sql})")

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of probabilities."""
        return self.schema.predictions

    @property
    def numbers(self) -> list[str]:
        """The columns of numbers: probabilities, then weights or counts if there are any."""
        schema = self.schema
        return [*self.names, *filter(None, (schema.weight, schema.count, schema.chance))]

    @property
    def alone(self) -> bool:
        """Whether there are labels and probabilities only, of which none may be missing."""
        schema = self.schema
        return not (schema.cluster or schema.by or schema.drops) and self.numbers == [*self.names]

    def read(self, use: Callable[[int, IntArray, FloatArray], None]) -> dict[str, Any]:
        """Let `use` have the rows in batches: how many were before, numbers of labels, and numbers.

        A `DataError` tells afterwards if values are missing that may not be. Returns clusters and columns `by`, if
        there are some.
        """
        source, schema, complete, drops = self.source, self.schema, True, self.schema.drops
        gaps: list[int] = []
        beside: dict[str, Any] = {}

        def batches() -> Iterator[dict[str, Any]]:
            if not (schema.cluster or schema.by):
                yield from read_batches(source.connection.sql(self.sql))
                return
            arrays = source.connection.execute(self.sql).fetchnumpy()  # text is not read in batches
            beside["by"] = {name: column_values(arrays[f"by{i}"], name) for i, name in enumerate(schema.by)}
            if schema.cluster:
                beside["cluster"] = column_values(arrays["c"], " and ".join(schema.cluster))
            yield arrays

        def work() -> int:
            nonlocal complete
            source.keep_order()  # so that messages can number rows
            seen = 0
            for batch in batches():
                number = batch["y"]
                values = np.stack([batch[f"p{k}"] for k in range(len(self.numbers))], axis=1)
                gaps.extend((seen + np.flatnonzero(number < 0)).tolist())
                complete &= not (gaps or np.isnan(values).any())
                if seen + len(number) > self.n:
                    return seen + len(number)
                if complete or drops:
                    use(seen, number, values)
                seen += len(number)
            return seen

        if source.run(work) != self.n:
            raise describe_other_rows(f"another number of them than {self.n}, as at first,")
        if gaps and not drops:
            row = f"row {gaps[0] + 1} of column {schema.outcome} in {source.name}"
            raise describe_missing("label", row, len(gaps))
        if not complete:
            check_numbers(FileColumns(source, schema))
        return beside


@dataclass(frozen=True)
class FileClasses:
    """The classes of a file whose rows were checked, for statements that need no more than the table of each class.

    Each is read in scans of its own, in bounded memory, by the way of one score. The attributes are those of
    `ClassScores`.
    """

    file: ClassFile
    classes: tuple[Any, ...]
    numbers: IntArray  # the class of each label met
    n_rescaled: int
    left_out: None = None
    cluster: None = None
    weight: None = None
    chance: None = None

    @classmethod
    def of(cls, file: ClassFile, classes: Sequence[Any] | None) -> FileClasses:
        """Check all rows."""
        names, _ = class_checks.classes_of(file.met, list(file.names), classes, len(file.names))
        n_rescaled = 0

        def check(start: int, number: IntArray, proba: FloatArray) -> None:
            nonlocal n_rescaled
            rows = range(start + 1, start + len(number) + 1)  # from 1 on in files
            try:
                _, gap = class_checks.clean_probabilities(proba, copy=False)
                class_checks.codes_of(class_checks.ClassLabels(file.met, number), names)
            except DataError as error:
                raise renumbered(error, rows) from None
            n_rescaled += int((gap > class_checks.ROUNDING).sum()) if len(names) > 2 else 0

        file.read(check)
        numbers = class_checks.codes_of(class_checks.ClassLabels(file.met, np.arange(len(file.met))), names)
        return cls(file, tuple(names), numbers, n_rescaled)

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.file.n

    def tables(self) -> Iterator[tuple[str, ScoreTable]]:
        """Read the table of each class."""
        for k, name in enumerate(self.classes):
            number = [str(i) for i in np.flatnonzero(self.numbers == k).tolist()]
            occurred = f"y IN ({', '.join(number)})" if number else "false"
            rows = f"SELECT CAST({occurred} AS TINYINT) AS y, {self._probability(k)} AS s FROM ({self.file.sql})"
            part = replace(
                self.file.source,
                sql=rows,
                original=rows,
                columns=("y", "s"),
                header=("y", "s"),
                types=("TINYINT", "DOUBLE"),
                typed=True,
                format="query",
                parts=(),
            )
            yield str(name), FileRows(part, Schema("y", "s")).table()

    def _probability(self, k: int) -> str:
        """Return the probability of a class as the checks of a matrix leave it."""
        if len(self.classes) == 2:
            return "least(p1, 1.0)" if k else "1.0 - least(p1, 1.0)"
        total = " + ".join(f"p{i}" for i in range(len(self.classes)))
        # Rounding of the sum must not part equal probabilities, so rows nearer to 1 are left as they are.
        exact = f"abs({total} - 1.0) <= {class_checks.EXACT!r}"
        return f"least(CASE WHEN {exact} THEN p{k} ELSE p{k} / ({total}) END, 1.0)"
