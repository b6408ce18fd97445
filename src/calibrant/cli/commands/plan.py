"""`calibrant plan`: how many rows a certificate takes."""

from dataclasses import replace
from typing import Annotated

import typer

from calibrant.cli import options
from calibrant.cli.options import column, given_to, option, source_of
from calibrant.errors import ArgumentError


def plan(
    context: typer.Context,
    tolerance: Annotated[float, option("Calibration error to certify.")],
    files: options.Files = None,
    score: Annotated[str | None, column("Column of scores of FILE, in place of --brier; no outcomes needed.")] = None,
    query: options.Sql = None,
    database: options.Database = None,
    confidence_level: options.Confidence = 0.95,
    power: Annotated[float, option("Probability of the certificate under perfect calibration.")] = 0.8,
    width_only: Annotated[
        bool, option("Plan for the width of the bound above the empirical error alone.", "--width-only")
    ] = False,
    brier: Annotated[
        float | None, option("Expected Brier score. Without it and --prevalence 0.25, which takes the most.")
    ] = None,
    prevalence: Annotated[float | None, option("Expected share of positives, in place of --brier.")] = None,
    all_methods: Annotated[bool, option("The rows of every method, side by side.", "--all")] = False,
    precision: Annotated[
        bool, option("Also the rows for intervals of the widths below; --auc implies it.", "--precision")
    ] = False,
    auc: Annotated[float | None, option("Expected C statistic, beside --prevalence.")] = None,
    threshold: Annotated[float | None, option("Decision threshold, for the row of net benefit.")] = None,
    oe_width: Annotated[float, option("Width of the interval of O:E.")] = 0.2,
    slope_width: Annotated[float, option("Width of the interval of the calibration slope.")] = 0.2,
    auc_width: Annotated[float, option("Width of the interval of the C statistic.")] = 0.1,
    net_benefit_width: Annotated[float, option("Width of the interval of the standardized net benefit.")] = 0.2,
    as_json: options.AsJson = False,
) -> None:
    """Compute the number of rows that certifying a tolerance takes."""
    from calibrant.certificates import plan_table, validation_sample_size

    scores = None
    if score is not None or files or query is not None:
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
    overrides = {"power": None if width_only else power, "brier": brier, "precision": validation}
    table = plan_table(**given_to(plan_table, context) | overrides)
    table = replace(table, left_out=None if scores is None else scores.left_out)
    typer.echo(table.to_json() if as_json else str(table))
