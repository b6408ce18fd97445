"""`calibrant apply`: use a stored model on a file."""

from pathlib import Path
from typing import Annotated

import typer

from calibrant.cli import options, terminal
from calibrant.cli.options import option, paths_of, source_of


def apply(
    context: typer.Context,
    score: options.Score,
    model: Annotated[
        Path, typer.Option(help="Model written by recalibrate.", metavar="M.json", rich_help_panel="Data")
    ],
    output: Annotated[Path, option("CSV, Parquet or JSON lines file.", metavar="OUT")],
    files: options.Files = None,
    query: options.Sql = None,
    database: options.Database = None,
    column: Annotated[str, option("Name of the new column.", metavar="COL")] = "calibrated",
    renamed: Annotated[
        bool, option("The column of scores had another name when the model was fitted.", "--renamed")
    ] = False,
) -> None:
    """Add a column of recalibrated probabilities, or means, to rows.

    Missing scores stay missing, such as NA or NaN. Rows and other columns stay as they are, in the same order.
    """
    from calibrant.atomic_write import check_writable
    from calibrant.export.apply import apply_to_file
    from calibrant.export.json_file import load_map

    source = source_of(context)
    check_writable(output, *paths_of(source), model)
    with terminal.progress():
        count = apply_to_file(load_map(model), source, output, score=score, column=column, renamed=renamed)
    terminal.print_note(f"{count:,} rows written to {output}")
