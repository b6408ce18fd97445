"""`calibrant compare`: several models on the same rows."""

from functools import partial

import typer

from calibrant.cli import terminal
from calibrant.cli.options import (
    AsJson,
    Author,
    Cluster,
    ClusterGuarantee,
    Confidence,
    CostFn,
    CostFp,
    Database,
    Files,
    Label,
    Note,
    PosLabel,
    Report,
    Scores,
    Sql,
    Title,
    costs_of,
    given_to,
)
from calibrant.cli.reporting import with_report
from calibrant.cli.sources import name_of, source_of


def compare(
    context: typer.Context,
    label: Label,
    scores: Scores,
    files: Files = None,
    query: Sql = None,
    database: Database = None,
    pos_label: PosLabel = None,
    confidence_level: Confidence = 0.95,
    cost_fp: CostFp = None,
    cost_fn: CostFn = None,
    clusters: Cluster = None,
    guarantee: ClusterGuarantee = "ordinary",
    title: Title = None,
    note: Note = None,
    author: Author = None,
    as_json: AsJson = False,
    report: Report = None,
) -> None:
    """Compare models on the same rows: which is better at what.

    All intervals hold together with the confidence.
    """
    from calibrant.comparing.compare import compare as run_compare
    from calibrant.comparing.results import summary

    source = source_of(files, query, database)
    compute = partial(
        run_compare,
        source,
        **given_to(run_compare, context),
        costs=costs_of(cost_fp, cost_fn),
        name=f"columns {', '.join(scores)} of {name_of(source)}",
    )
    result = with_report(compute, source, report, context)
    if as_json:
        typer.echo(result.to_json(curves=False))
    else:
        terminal.print_text(summary(result, terminal.width()))
