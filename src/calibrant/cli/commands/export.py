"""`calibrant export`: a stored model in the language of another program."""

from pathlib import Path
from typing import Annotated

import typer

from calibrant.cli import terminal
from calibrant.cli.options import option
from calibrant.errors import ArgumentError, SourceError


def export(
    model: Annotated[
        Path, typer.Argument(help="Model written by recalibrate.", metavar="MODEL.json", rich_help_panel="Data")
    ],
    to: Annotated[str, option("sql, python, onnx or json.", metavar="FORM")],
    dialect: Annotated[str, option("Of SQL: duckdb, postgresql, sqlite, spark or bigquery.")] = "duckdb",
    column: Annotated[str | None, option("Column of scores in SQL; by default that of the fit.", metavar="COL")] = None,
    output: Annotated[Path | None, option("File to write instead of standard output.", metavar="OUT")] = None,
) -> None:
    """Write a model as SQL, Python, ONNX or JSON.

    SQL is an expression, Python a function, ONNX a graph, and JSON of the current format. ONNX needs the packages
    of calibrant[onnx] and --output.
    """
    from calibrant.atomic_write import check_writable, replacing
    from calibrant.export import to_json, to_onnx, to_python, to_sql
    from calibrant.export.json_file import load_map, model_at
    from calibrant.table.parameters import check_choice

    check_choice("to", to, ("sql", "python", "onnx", "json"))
    if output is not None:
        check_writable(output, model)
        if (there := model_at(output)) is not None:
            raise SourceError(f"no model at {output}", there, "write to another file")
    elif to == "onnx":
        raise ArgumentError("--output for a binary form", "none", "name the file to write")
    calibrator = load_map(model)
    if to == "onnx":
        content = to_onnx(calibrator).SerializeToString()
    elif to == "sql":
        if column is None:
            column = getattr(calibrator, "feature_names_in_", ["score"])[0]
        content = (to_sql(calibrator, column, dialect=dialect) + "\n").encode()  # type: ignore[arg-type]  # checked there
    else:
        content = (to_python(calibrator) if to == "python" else to_json(calibrator)).encode()
    if output is None:
        typer.echo(content, nl=False)
        return
    with replacing(output) as draft:
        draft.write_bytes(content)
    terminal.print_note(f"{to} written to {output}")
