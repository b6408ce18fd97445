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
    """Copy a file with one more column, in bounded memory.

    Parameters
    ----------
    calibrator : Calibrator
        Fitted; the column holds what its `predict` gives, for logistic maps to about 1e-15.
    path : path-like
        CSV, Parquet or JSON lines file, or "-" for standard input; one file, also where a pattern names it.
    output : path-like
        File to write; its ending chooses CSV, Parquet or JSON lines. It appears once it is complete.
    score : str
        Column of scores in [0, 1]. Missing scores stay missing.
    column : str
        Name of the new column.
    console : rich.console.Console, optional
        Where to show progress if it takes long.

    Returns
    -------
    int
        Number of rows. Their order and the other columns are kept.

    Raises
    ------
    SourceError
        If a file or column cannot be read or written.
    DataError
        If a score is not a probability.
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
