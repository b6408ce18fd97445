"""`calibrant plan`: how many rows a certificate takes."""

from __future__ import annotations

from dataclasses import replace

import typer

from calibrant.cli.options import as_command, given_to, source_of
from calibrant.errors import ArgumentError


@as_command
def plan(context: typer.Context, brier: float | None, prevalence: float | None, precision: bool, as_json: bool) -> None:
    """Compute the number of rows that certifying a tolerance takes."""
    from calibrant.certificates import plan_table, validation_sample_size

    scores, score = None, context.params["score"]
    if score is not None or context.params["files"] or context.params["query"] is not None:
        from calibrant.sources.expected_scores import expected_scores

        if score is None:
            raise ArgumentError("--score with a file", "none", "name the column of scores")
        if brier is not None or prevalence is not None:
            other = "--brier" if brier is not None else "--prevalence"
            raise ArgumentError("scores of a file, --brier or --prevalence", f"a file and {other}", "give one of them")
        scores = expected_scores(source_of(context), score)
        brier = scores.brier
    widths = given_to(validation_sample_size, context)
    defaults = {param.name: param.default for param in context.command.params}
    of_precision = widths.keys() - given_to(plan_table, context).keys()
    validation = None
    if precision or any(widths[name] != defaults[name] for name in of_precision):
        distribution = {} if scores is None else {"y_proba": scores.score, "sample_weight": scores.rows}
        validation = validation_sample_size(**widths | distribution)
    overrides = {
        "power": None if context.params["width_only"] else context.params["power"],
        "brier": brier,
        "precision": validation,
    }
    table = plan_table(**given_to(plan_table, context) | overrides)
    table = replace(table, left_out=None if scores is None else scores.left_out)
    typer.echo(table.to_json() if as_json else str(table))
