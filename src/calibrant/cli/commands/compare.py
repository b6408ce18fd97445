"""`calibrant compare`: several models on the same rows."""

from typing import Annotated

import typer

from calibrant.cli import options, terminal
from calibrant.cli.options import column, option
from calibrant.cli.reporting import with_report


def compare(
    context: typer.Context,
    label: options.Label,
    scores: Annotated[
        list[str],
        column("Column of predicted probabilities of a model, given once for each, the old one first.", "--score"),
    ],
    files: options.Files = None,
    query: options.Sql = None,
    database: options.Database = None,
    count: options.Count = None,
    pos_label: options.PosLabel = None,
    missing: options.Missing = "raise",
    confidence_level: options.Confidence = 0.95,
    cost_fp: options.CostFp = None,
    cost_fn: options.CostFn = None,
    clusters: options.Cluster = None,
    guarantee: Annotated[
        str,
        option(
            "Ordinary, or 'unseen rows' for intervals that also allow for rows of a kind that none of these shows; "
            "with --cluster 'unseen clusters'.",
            metavar="KIND",
        ),
    ] = "ordinary",
    title: options.Title = None,
    note: options.Note = None,
    author: options.Author = None,
    about: options.About = None,
    as_json: options.AsJson = False,
    report: options.Report = None,
) -> None:
    """Compare models on the same rows: which is better at what.

    All intervals hold together with the confidence.
    """
    from calibrant.comparing.compare import compare as run_compare
    from calibrant.comparing.results import summary

    result = with_report(run_compare, f"columns {', '.join(scores)}", report, context)
    if as_json:
        typer.echo(result.to_json(curves=False))
    else:
        terminal.print_text(summary(result, terminal.width()))
