"""Add a column of recalibrated probabilities to a file."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from calibrant.atomic_write import check_writable, replacing
from calibrant.calibrators.base import Calibrator
from calibrant.errors import SourceError
from calibrant.export.sql import expression
from calibrant.ingest.checks import check_scores
from calibrant.ingest.connection import open_source
from calibrant.ingest.formats import quote_name, quote_text
from calibrant.ingest.paths import find_files

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["apply_to_file"]

# File ending -> how DuckDB writes it.
_FORMATS = {
    ".csv": "FORMAT csv, HEADER",
    ".tsv": "FORMAT csv, HEADER, DELIMITER '\t'",
    ".parquet": "FORMAT parquet",
    ".pq": "FORMAT parquet",
    ".jsonl": "FORMAT json",
    ".ndjson": "FORMAT json",
}


def apply_to_file(
    calibrator: Calibrator,
    path: str | PathLike[str],
    output: str | PathLike[str],
    *,
    score: str,
    column: str = "calibrated",
    console: Console | None = None,
) -> int:
    """Copy a file with one more column, what `calibrator.predict` gives, in bounded memory; return the number of rows.

    The order of the rows and the other columns are kept. Logistic maps agree to about 1e-15. `path` may be "-" for
    standard input; a pattern must name one file. The ending of `output` chooses CSV, Parquet or JSON lines; it appears
    once it is complete. Missing scores stay missing; a score that is no probability is a `DataError`.
    """
    target = Path(output)
    if target.suffix.lower() not in _FORMATS:
        raise SourceError(
            f"an output ending in {', '.join(_FORMATS)}", f"{target.suffix or 'none'} in {target.name}", "rename it"
        )
    files = find_files(path)
    if len(files) > 1:
        raise SourceError("one file, since one is written", f"{len(files)} in {path}", "apply to each alone")
    check_writable(target, *files)
    with open_source(files[0], console=console) as source:
        operand = source.column(score)
        if column.lower() in (name.lower() for name in source.columns):
            raise SourceError("a new column name", f"{column!r} in {source.name}", "choose another with --column")
        check_scores(source, score)
        rows = source.sql
        if source.format == "JSON lines" and "json" in _FORMATS[target.suffix.lower()]:
            rows, operand = source.original, f"json_extract_string({operand}, '$')"
        source.connection.execute("SET preserve_insertion_order = true")
        with replacing(target) as draft:
            copy = (
                f"COPY (SELECT *, {expression(calibrator, operand)} AS {quote_name(column)} FROM ({rows})) "
                f"TO {quote_text(str(draft))} ({_FORMATS[target.suffix.lower()]})"
            )
            return int(source.rows(copy)[0][0])
