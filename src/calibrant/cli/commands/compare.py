"""`calibrant compare`: several models on the same rows."""

from __future__ import annotations

import typer

from calibrant.cli import terminal
from calibrant.cli.options import as_command, with_report


@as_command
def compare(context: typer.Context, prediction: list[str], as_json: bool) -> None:
    """Compare models on the same rows: which is better at what.

    All intervals hold together with the confidence.
    """
    from calibrant.comparing.compare import compare as run_compare
    from calibrant.comparing.compare import summary

    result = with_report(run_compare, f"columns {', '.join(prediction)}", context)
    if as_json:
        typer.echo(result.to_json(curves=False))
    else:
        terminal.print_text(summary(result, terminal.width()))
