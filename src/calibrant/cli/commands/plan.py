"""`calibrant plan`: how many rows a certificate takes."""

from typing import Annotated

import typer

from calibrant.cli.options import AsJson, Confidence, Database, Files, Sql
from calibrant.cli.sources import source_of
from calibrant.errors import ArgumentError


def plan(
    tolerance: Annotated[float, typer.Option("--tolerance", help="Calibration error to certify.")],
    files: Files = None,
    score: Annotated[
        str | None,
        typer.Option(
            "--score", help="Column of scores of FILE, in place of --brier; no outcomes needed.", metavar="COL"
        ),
    ] = None,
    query: Sql = None,
    database: Database = None,
    confidence: Confidence = 0.95,
    power: Annotated[
        float,
        typer.Option("--power", help="Probability of the certificate under perfect calibration."),
    ] = 0.8,
    width_only: Annotated[
        bool,
        typer.Option("--width-only", help="Plan for the width of the bound above the empirical error alone."),
    ] = False,
    brier: Annotated[
        float | None,
        typer.Option("--brier", help="Expected Brier score. Without it and --prevalence 0.25, which takes the most."),
    ] = None,
    prevalence: Annotated[
        float | None,
        typer.Option("--prevalence", help="Expected share of positives, in place of --brier."),
    ] = None,
    all_methods: Annotated[bool, typer.Option("--all", help="The rows of every method, side by side.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compute the number of rows that certifying a tolerance takes."""
    from calibrant.certificates import plan_table

    if score is not None or files or query is not None:
        from calibrant.sources.expected_brier import expected_brier

        if score is None:
            raise ArgumentError("--score with a file", "none", "name the column of scores")
        if brier is not None or prevalence is not None:
            other = "--brier" if brier is not None else "--prevalence"
            raise ArgumentError("scores of a file, --brier or --prevalence", f"a file and {other}", "give one of them")
        brier = expected_brier(source_of(files, query, database), score)
    table = plan_table(
        tolerance,
        confidence_level=confidence,
        power=None if width_only else power,
        brier=brier,
        prevalence=prevalence,
        all_methods=all_methods,
    )
    typer.echo(table.to_json() if as_json else str(table))
