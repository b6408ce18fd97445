"""`calibrant audit`: one model."""

from __future__ import annotations

from typing import Any

import typer

from calibrant.cli import terminal
from calibrant.cli.options import as_command, read_matrix, with_report, words_of
from calibrant.errors import ArgumentError


@as_command
def audit(context: typer.Context, details: bool, as_json: bool, json_curves: bool) -> None:
    """Assess calibration: error, certificate, cost and advice.

    Of amounts, counts or shares, and their predicted means, with --kind amount.

    Exit code 0 means that all that was asked for is shown to hold: with --tolerance certified, with --by all segments
    listed too, and of several classes all; with limits in --about that they are met; with --grade that no PDs are off.
    """
    from calibrant.auditing.audit import audit as run_audit

    given = context.params
    columns, cost_matrix = list(given["prediction"]), given["cost_matrix"]
    further: dict[str, Any] = {"limits": (given["floor"], given["cap"])}
    further["words"] = words_of(given["words"])
    further["prediction"] = columns if columns[1:] else columns[0]
    several = given["kind"] == "classes" or bool(columns[1:] or given["classes"]) or "*" in columns[0]
    costs = given["cost_fp"] is not None or given["cost_fn"] is not None
    if (cost_matrix is not None) > several or (costs and (several or given["kind"] == "amount")):
        expected = "--cost-matrix of several classes, --cost-fp and --cost-fn of events"
        raise ArgumentError(expected, "costs of another kind", "leave them out, or give those that belong to it")
    if cost_matrix is not None:
        further["costs"] = read_matrix(cost_matrix)
    named = f"column{'s' * several} {' '.join(columns)}"
    result: Any = with_report(run_audit, named, context, **further)
    if as_json or json_curves:
        typer.echo(result.to_json(curves=json_curves))
    else:
        terminal.print_audit(result, details=details)
    if not result.passed:
        raise typer.Exit(1)
