"""`calibrant audit`: one model."""

from functools import partial
from typing import Annotated

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
    Missing,
    Note,
    PosLabel,
    Report,
    Score,
    Sql,
    Title,
    Weight,
    costs_of,
    given_to,
)
from calibrant.cli.reporting import with_report
from calibrant.cli.sources import name_of, source_of


def audit(
    context: typer.Context,
    label: Label,
    score: Score,
    files: Files = None,
    query: Sql = None,
    database: Database = None,
    weight: Weight = None,
    pos_label: PosLabel = None,
    missing: Missing = "raise",
    tolerance: Annotated[
        float | None, typer.Option("--tolerance", help="Largest acceptable calibration error; asks for a verdict.")
    ] = None,
    confidence_level: Confidence = 0.95,
    cost_fp: CostFp = None,
    cost_fn: CostFn = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            help="Bound: default, asymptotic (narrower, for many rows) or anytime (may be looked at "
            "after every row); with --cluster default or asymptotic. The reference of `certify` has others.",
        ),
    ] = None,
    clusters: Cluster = None,
    max_rows_per_cluster: Annotated[
        int | None,
        typer.Option(
            "--max-rows-per-cluster",
            help="With --cluster: largest weight of a cluster, in rows, in certificate and test; with 1 every cluster "
            "has equal weight. By default every row has, and in a verdict on a tolerance every cluster.",
            metavar="M",
        ),
    ] = None,
    guarantee: ClusterGuarantee = "ordinary",
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            help="Column that makes segments, each with bounds that hold for all of them together; repeatable.",
            metavar="COL",
        ),
    ] = None,
    depth: Annotated[
        int, typer.Option("--depth", help="With 2, also the segments of every pair of the columns of --by.")
    ] = 1,
    title: Title = None,
    note: Note = None,
    author: Author = None,
    details: Annotated[bool, typer.Option("--details", help="Print every statement, not only the summary.")] = False,
    as_json: AsJson = False,
    json_curves: Annotated[
        bool, typer.Option("--json-curves", help="Print JSON with the points of all curves.")
    ] = False,
    report: Report = None,
) -> None:
    """Assess calibration: error, certificate, cost and advice.

    With --tolerance, exit code 0 means certified, with --by all segments listed too; 1 means any other verdict.
    """
    from calibrant.auditing.audit import audit as run_audit

    source = source_of(files, query, database)
    compute = partial(
        run_audit,
        source,
        **given_to(run_audit, context),
        costs=costs_of(cost_fp, cost_fn),
        name=f"column {score} of {name_of(source)}",
    )
    result = with_report(compute, source, report, context)
    if as_json or json_curves:
        typer.echo(result.to_json(curves=json_curves))
    else:
        terminal.print_audit(result, details=details)
    if any(
        part is not None and part.verdict not in (None, "certified") for part in (result.certificate, result.segments)
    ):
        raise typer.Exit(1)
