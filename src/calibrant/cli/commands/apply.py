"""`calibrant apply` and `calibrant export`: use a stored model on a file, or in another program."""

from __future__ import annotations

from pathlib import Path

import typer

from calibrant.cli import terminal
from calibrant.cli.options import as_command, paths_of, source_of
from calibrant.errors import ArgumentError, SourceError


@as_command
def apply(context: typer.Context, prediction: str, model: Path, output: Path, column: str, renamed: bool) -> None:
    """Add a column of recalibrated probabilities, or means, to rows.

    Missing scores stay missing, such as NA or NaN. Rows and other columns stay as they are, in the same order.
    """
    from calibrant.atomic_write import check_writable
    from calibrant.export.apply import apply_to_file
    from calibrant.export.json_file import load_map

    source = source_of(context)
    check_writable(output, *paths_of(source), model)
    with terminal.progress():
        count = apply_to_file(load_map(model), source, output, score=prediction, column=column, renamed=renamed)
    terminal.print_note(f"{count:,} rows written to {output}")


@as_command
def export(context: typer.Context, model: Path, to: str, dialect: str, column: str | None, output: Path | None) -> None:
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
