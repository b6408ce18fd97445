"""`calibrant audit`: one model."""

from __future__ import annotations

from typing import Any

import typer

from calibrant.cli import terminal
from calibrant.cli.options import as_command, read_matrix, with_report
from calibrant.errors import ArgumentError


@as_command
def audit(context: typer.Context, details: bool, as_json: bool, json_curves: bool) -> None:
    """Assess calibration: error, certificate, cost and advice.

    Of predicted means of amounts, counts or shares with --outcome and --prediction.

    Exit code 0 means that all that was asked for is shown to hold: with --tolerance certified, with --by all segments
    listed too, with --scores all classes; with limits in --about that they are met; with --grade that no PDs are off.
    """
    from calibrant.auditing.audit import audit as run_audit

    given = context.params
    score, scores, cost_matrix = given["score"], given["scores"], given["cost_matrix"]
    further: dict[str, Any] = {"outcome_limits": (given["floor"], given["cap"])}
    amounts = given["outcome"] is not None or given["prediction"] is not None
    if amounts:
        further |= {"weight": None, "sample_weight": given["weight"]}
    elif given["label"] is None:
        expected = "--label with --score or --scores, or --outcome with --prediction"
        remedy = "name the column of classes, or that of amounts, counts or shares"
        raise ArgumentError(expected, "no column of outcomes", remedy)
    elif score is None and not scores:
        expected = "--score, or --scores where there are several classes"
        raise ArgumentError(expected, "neither", "name the column of probabilities, or those of all classes")
    costs = given["cost_fp"] is not None or given["cost_fn"] is not None
    if (cost_matrix is not None) > bool(scores) or (costs and (scores or amounts)):
        expected = "--cost-matrix with --scores, --cost-fp and --cost-fn with --score"
        raise ArgumentError(expected, "costs of the other kind", "leave them out, or give those that belong to it")
    if scores:
        further |= {"scores": scores[0] if len(scores) == 1 else list(scores), "costs": read_matrix(cost_matrix)}
    named = f"columns {' '.join(scores)}" if scores else f"column {given['prediction'] if amounts else score}"
    result: Any = with_report(run_audit, named, context, **further)
    if as_json or json_curves:
        typer.echo(result.to_json(curves=json_curves))
    else:
        terminal.print_audit(result, details=details)
    if not result.passed:
        raise typer.Exit(1)
