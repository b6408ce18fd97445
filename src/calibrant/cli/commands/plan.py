"""`calibrant plan`: how many rows it takes to reach a goal."""

from __future__ import annotations

from dataclasses import replace

import typer

from calibrant.cli.options import as_command, cuts_of, given_to, source_of
from calibrant.errors import ArgumentError


@as_command
def plan(context: typer.Context, as_json: bool, prediction: str | None, widths: list[str] | None) -> None:
    """Compute the number of rows that a goal takes."""
    from calibrant.certificates.plan import plan as plan_goals

    options, left_out = given_to(plan_goals, context), None
    if prediction is not None or context.params["files"] or context.params["query"] is not None:
        from calibrant.sources.expected_scores import expected_scores

        if prediction is None:
            raise ArgumentError("--prediction with a file", "none", "name the column of scores")
        scores = expected_scores(source_of(context), prediction)
        options |= {"y_proba": scores.score, "sample_weight": scores.rows}
        left_out = scores.left_out
    options["widths"] = {name: width for name, (width, *_) in (cuts_of(widths, "--widths", "o:e=0.4") or {}).items()}
    result = replace(plan_goals(**options), left_out=left_out)
    typer.echo(result.to_json() if as_json else str(result))
